/* shape/runs.h: what the kernels of runs are told. Plain C, seen by the backends and by the kernels. */
#ifndef COHORT_SHAPE_RUNS_H
#define COHORT_SHAPE_RUNS_H

#include "shape/batch.h"

#define RUNS_WORDS 4u /* of the bitmap that a warp makes at a time */

/* bits: of each entry whether its key is another one than that before it; the first has none before it. */
struct runs_begins {
    co_u64 n;
    const void *keys;
    co_u32 *bits;
};

/* Run i of *total ends where the next one begins, the last with the array. */
struct runs_lengths {
    co_u64 n;
    const co_u64 *total, *starts;
    co_u64 *lengths;
};

CO_INLINE co_u64 runs_length(const struct runs_lengths *s, co_u64 total, co_u64 i)
{
    return (i + 1 < total ? co_read64(s->starts + i + 1) : s->n) - co_read64(s->starts + i);
}

#endif
