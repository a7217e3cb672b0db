/* backend/compact.h: what a backend does for a compaction; arrays as of a multisplit. n may be 0: totals are
 * still written. */
#ifndef COHORT_BACKEND_COMPACT_H
#define COHORT_BACKEND_COMPACT_H

#include "core/arena.h"
#include "backend/context.h"
#include "shape/batch.h"
#include "shape/compact.h"

struct compact {
    co_u64 n;
    co_u32 key_bytes;
    co_u32 columns;
    struct split_fn fn; /* kept: id not 0; buckets is SPLIT_BAD; kind 0: where; SPLIT_CHANGES too */
    struct split_source source;
    const co_u32 *where;
    const void *keys;
    void *kept, *rejected;
    /* out: of the kept, may be NULL; in NULL: 8 bytes, the index of the entry */
    struct batch_column column[BATCH_COLUMNS_MOST];
    void *column_rejected[BATCH_COLUMNS_MOST];
    co_u64 segments; /* 0: none */
    const co_u64 *segment_offsets;
    co_u64 *segment_kept;
    co_u64 *total;
    /* first_bad: an id of TABLE that is none; the entry is rejected. NULL where no function can give one */
    struct batch_deferred *deferred;
};

struct compact_backend {
    cohort_status (*run)(cohort_context *, const struct compact *, struct arena *);
    cohort_status (*lengths)(cohort_context *, const struct compact_lengths *); /* n is not 0 */
};

#endif
