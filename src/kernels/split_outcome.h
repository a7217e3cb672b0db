/* split_outcome.h: what a split tells besides its columns, once the counts of its spans are summed up. */
#ifndef COHORT_KERNELS_SPLIT_OUTCOME_H
#define COHORT_KERNELS_SPLIT_OUTCOME_H

#include "shape/split_step.h"

/* Offsets, counts and the first bad id, written by one block. */
CO_INLINE void split_outcome(const struct split_step *s)
{
    co_u64 n = split_entries(s), columns = split_columns_of(s),
           kept = co_read64(s->table + s->buckets * columns);
    if (s->offsets)
        for (co_u64 b = co_thread(); b <= s->buckets; b += co_threads())
            co_write64(s->offsets + b, co_read64(s->table + b * columns));
    if (co_thread())
        return;
    co_u64 bad = kept < n ? co_read64(s->first_bad) : ~0ull;
    if (kept < n)
        co_min64(&s->deferred->first_bad, bad);
    if (!s->counts)
        return;
    co_write64(&s->counts->taken, n);
    co_write64(&s->counts->hits, 0);
    co_write64(&s->counts->added, kept);
    co_write64(&s->counts->failed, n - kept);
    co_write64(&s->counts->first_failed, bad);
}

#endif
