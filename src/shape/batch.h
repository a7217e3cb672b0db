/* shape/batch.h: what the batches of all structures have in common. Plain C, seen by the API, by the backends
 * and by the kernels. */
#ifndef COHORT_SHAPE_BATCH_H
#define COHORT_SHAPE_BATCH_H

#include "cohort/device/lane.h"

/* What became of a batch, in device memory on a GPU. What cohort_counts begins with. */
struct batch_counts {
    co_u64 taken, hits, added, failed, first_failed;
};

/* What a context remembers of failures until it is asked: indices, ~0 if there were none. */
struct batch_deferred {
    co_u64 first_full, first_bad;
};

#define BATCH_COLUMNS_MOST 16u

/* One payload column. */
struct batch_column {
    const void *in;
    void *out;
    co_u32 bytes; /* 1, 2, 4, 8 or 16 */
    co_u32 reserved;
};

/* Words of a bitmap of n bits. */
CO_INLINE co_u64 batch_bitmap_words(co_u64 n)
{
    return n / 32 + (n % 32 != 0);
}

#endif
