/* api/multimap.h: what a multimap is inside; shared by the files of the API that work on multimaps. */
#ifndef COHORT_API_MULTIMAP_H
#define COHORT_API_MULTIMAP_H

#include "api/map.h"
#include "backend/map.h"
#include "backend/multimap.h"
#include "io/file.h"

/* A level; the first one is the multimap that callers have. */
struct cohort_multimap {
    cohort_context *context;
    cohort_multimap_options options; /* with the seed and the load that the index has */
    cohort_map *index;               /* the set of keys; if single, with their values */
    cohort_map_view view;            /* its */
    uint64_t slots;                  /* its, side slots included */
    uint64_t keys, values;           /* how many */
    uint64_t all_keys, all_values;   /* the same, of this level and those before it together: each key once */
    cohort_multimap *next; /* the next level, which has at most half the values of this one; or NULL */
    co_u64 *ends;          /* slots + 2 words: shape/multimap.h */
    void *runs;
    uint64_t ends_bytes, runs_bytes;
    struct multimap_aside *aside; /* what was inserted and is in no level yet; NULL: nothing ever was */
    enum map_reader_kind reader;  /* of a file's that is mapped, ends and runs lie in the index's mapping */
    int single; /* all keys are distinct, and there are neither ends nor runs; then there is one level */
};

#define MULTIMAP_PARTS (2 * MULTIMAP_LEVELS) /* of a build, at most: a merge has all levels of two */

/* Pairs in the context's memory. */
struct multimap_pairs {
    uint64_t n;
    const void *keys, *values;
    const uint32_t *where;
    co_u32 *kept; /* the slot of each, from when the index is made; may be NULL */
};

/* A multimap of all parts, of one level; of single ones only if that may be. Waits: with the pairs the caller
 * may do as he likes when it returns. */
cohort_status multimap_build(cohort_context *context, const char *call,
                             const cohort_multimap_options *options, int may_be_single, int parts,
                             const struct multimap_pairs *pairs, cohort_multimap **out);
/* Before a call looks at the levels: what was put aside comes into them. If that fails all is as before. */
cohort_status multimap_bring_in(cohort_multimap *multimap, const char *call);

/* Puts few pairs of the host's memory aside. 0: there is no room, or no memory, for them. */
int multimap_put_aside(cohort_multimap *multimap, uint64_t n, const void *keys, const void *values,
                       const uint8_t *where);

uint64_t multimap_aside_n(const cohort_multimap *multimap); /* how many lie aside */
void multimap_aside_clear(cohort_multimap *multimap);

/* What lies aside, as pairs in the context's memory; *workspace is to be given back to the pool. */
cohort_status multimap_aside_pairs(const cohort_multimap *multimap, struct multimap_pairs *pairs,
                                   void **workspace);

cohort_status multimap_fold(cohort_multimap *multimap, const char *call); /* makes one level of all */
void multimap_end(cohort_multimap *multimap);                             /* all levels; NULL is allowed */

/* A multimap of all its pairs that has one level, with runs: itself, or else a new one, for the caller to
 * end. */
cohort_status multimap_with_runs(cohort_multimap *multimap, const char *call, cohort_multimap **out);

/* A multimap of the pairs of a file. */
cohort_status multimap_load(cohort_context *context, const struct file_stream *from, cohort_multimap **out);

/* Lets it have what callers are told of its index. */
void multimap_take_index(cohort_multimap *multimap);

cohort_status multimap_take_memory(cohort_context *context, uint64_t bytes, const char *what, void **out);

/* Is there such a load? */
int multimap_is_load(double load);

/* A step of this multimap's, with all that does not depend on the call filled in. */
struct multimap_step multimap_step_of(const cohort_multimap *multimap);

/* A step on arrays in the context's memory. */
cohort_status multimap_do(const cohort_multimap *multimap, const struct multimap_step *step,
                          enum multimap_step_kind kind);

/* The same on each level from `m` to the one before `end`, which may be NULL. Only the last one has the
 * fallback. */
cohort_status multimap_each(const cohort_multimap *m, const cohort_multimap *end,
                            const struct multimap_step *step, enum multimap_step_kind kind,
                            enum memory_kind memory);
co_u32 multimap_levels(const cohort_multimap *m, const cohort_multimap *end); /* how many that are */

/* The distinct keys of a level in the order of their slots, which is the order of their runs, and where these
 * begin; of a single multimap the values, too. In the context's memory; each may be NULL. */
cohort_status multimap_all(cohort_multimap *multimap, void *keys, uint64_t *offsets, void *values);

/* a[i] = the sum of a[0 .. i - 1], in place, n entries of the context's memory. */
cohort_status multimap_scan(cohort_context *context, co_u64 *a, uint64_t n);

#endif
