/* api/multimap.h: what a multimap is inside, and how arrays in host memory get to a device and back; shared by the files of
 * the API that work on multimaps. */
#ifndef COHORT_API_MULTIMAP_H
#define COHORT_API_MULTIMAP_H

#include "backend.h"

struct cohort_multimap {
    cohort_context *context;
    cohort_multimap_options options; /* with the seed and the load that the index has */
    cohort_map *index;               /* the set of keys */
    cohort_map_view view;            /* its */
    uint64_t slots;                  /* its, side slots included */
    uint64_t keys, values;           /* how many */
    co_u64 *ends;                    /* slots + 2 words: shape/multimap.h */
    void *runs;
    uint64_t ends_bytes, runs_bytes;
};

/* A step of this multimap's, with all that does not depend on the call filled in. */
struct multimap_step multimap_step_of(const cohort_multimap *multimap);

/* ---- staging: workspace in the place of arrays that lie in another memory than the context's --------------------------- */

#define STAGED_ARRAYS 8

struct staging {
    cohort_context *context;
    int across; /* the arrays are host memory, and the context's memory is not */
    int count;
    void *taken[STAGED_ARRAYS];
};

struct staging staging_begin(cohort_context *context, int kind);

/* *own = memory of the context's with what `array` has (NULL for NULL); the array itself if it may be used. */
cohort_status stage_in(struct staging *, const void *array, uint64_t bytes, void **own);
/* The same without the contents: for results. */
cohort_status stage_room(struct staging *, void *array, uint64_t bytes, void **own);
/* Brings results to where they belong. Waits if it has to do anything. */
cohort_status stage_out(struct staging *, void *array, const void *own, uint64_t bytes);
/* Workspace that goes back with the rest. */
cohort_status stage_take(struct staging *, uint64_t bytes, void **own);
void staging_end(struct staging *);

#endif
