/* backend/sort.h: what a backend does for a sort; arrays as of a multisplit. */
#ifndef COHORT_BACKEND_SORT_H
#define COHORT_BACKEND_SORT_H

#include "core/arena.h"
#include "backend/context.h"
#include "shape/multisplit.h"
#include "shape/sort.h"

struct sort {
    co_u64 n;
    co_u32 order; /* a SORT_.. of shape/sort.h */
    co_u32 descending;
    co_u32 low_bit, high_bit; /* high_bit not 0 */
    const void *keys;
    void *keys_out; /* NULL: not wanted, but columns or the permutation are */
    co_u32 columns;
    co_u32 permutation_bytes;
    struct batch_column column[BATCH_COLUMNS_MOST];
    void *permutation;
    co_u64 segments; /* 0: none */
    const co_u64 *segment_offsets;
};

struct sort_backend {
    cohort_status (*run)(cohort_context *, const struct sort *, struct arena *);
};

#endif
