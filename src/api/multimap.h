/* api/multimap.h: what a multimap is inside; shared by the files of the API that work on multimaps. */
#ifndef COHORT_API_MULTIMAP_H
#define COHORT_API_MULTIMAP_H

#include "backend/map.h"
#include "backend/multimap.h"

struct cohort_multimap {
    cohort_context *context;
    cohort_multimap_options options; /* with the seed and the load that the index has */
    cohort_map *index;               /* the set of keys; if single, with their values */
    cohort_map_view view;            /* its */
    uint64_t slots;                  /* its, side slots included */
    uint64_t keys, values;           /* how many */
    co_u64 *ends;                    /* slots + 2 words: shape/multimap.h */
    void *runs;
    uint64_t ends_bytes, runs_bytes;
    int reader; /* ends, runs and the index's table are another multimap's */
    int single; /* all keys are distinct, and there are neither ends nor runs */
};

/* A step of this multimap's, with all that does not depend on the call filled in. */
struct multimap_step multimap_step_of(const cohort_multimap *multimap);

/* A step on arrays in the context's memory. */
cohort_status multimap_do(const cohort_multimap *multimap, const struct multimap_step *step,
                          enum multimap_step_kind kind);

/* The distinct keys in the order of their slots, which is the order of their runs, and where these begin; of a single multimap the values,
 * too. In the context's memory; each may be NULL. */
cohort_status multimap_all(cohort_multimap *multimap, void *keys, uint64_t *offsets, void *values);

/* a[i] = the sum of a[0 .. i - 1], in place, n entries of the context's memory. */
cohort_status multimap_scan(cohort_context *context, co_u64 *a, uint64_t n);

#endif
