/* shape/search.h: which run of a row of runs a place is in. Plain C, shared by backends and kernels. */
#ifndef COHORT_SHAPE_SEARCH_H
#define COHORT_SHAPE_SEARCH_H

#include "cohort/device/lane.h"

/* The last i in [low, high) with a[i] <= v, where a[low] <= v and a never falls: whose run place v is in.
 * Runs of no length begin where the next one begins, so it is never one of those. */
CO_INLINE co_u64 run_at(const co_u64 *a, co_u64 low, co_u64 high, co_u64 v)
{
    while (high - low > 1) {
        co_u64 middle = low + (high - low) / 2;
        if (co_read64(a + middle) <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
