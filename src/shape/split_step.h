/* shape/split_step.h: what one launch of a multisplit hands to its kernels, and how a block's shared memory is laid out. Plain
 * C, seen by the CUDA backend and by the kernels.
 *
 * The input is cut into spans of whole tiles. A first launch counts each span by bucket; the counts, bucket by bucket and in each
 * bucket span by span, are summed up in place; then table[bucket][span] is where the span's entries of the bucket go. */
#ifndef COHORT_SHAPE_SPLIT_STEP_H
#define COHORT_SHAPE_SPLIT_STEP_H

#include "shape/map.h"
#include "shape/multisplit.h"

#define SPLIT_TILE_BUCKETS  2048u /* that one split can do */
#define SPLIT_COUNT_AT_ONCE 4     /* pieces of 16 bytes that a lane of the count has under way */

/* A column, or one half of a column of 16 bytes an entry. */
struct split_part {
    const void *in; /* NULL: the entries' numbers */
    void *out;      /* NULL: it is not written */
    co_u32 bytes;   /* 1, 2, 4, 8 */
    co_u32 stride;  /* of 8: bytes from one entry to the next, 8 or 16 */
};

#define SPLIT_PARTS_MOST (2 * SPLIT_COLUMNS_MOST + 4)

struct split_step {
    co_u64 n;
    struct split_fn fn;
    co_u64 inverse; /* of the divisor, for 4-byte keys: floor(2^64 / divisor) + 1, 0 for 1 */
    co_u32 can_fail;
    co_u32 parts;
    struct split_part
        part[SPLIT_PARTS_MOST]; /* the first is what ids come from: keys, or ids already computed */
    co_u64 spans, span;         /* how many, and entries of each; a multiple of the tile */
    co_u64 *table;              /* [bucket][span], and one more for the sum of all */
    co_u64 *first_bad;          /* ~0, or the least index of an entry with a bad id */
    void *ids_out;              /* of the count: ids for the second launch; NULL: none are kept */
    co_u32 ids_bytes;
    co_u32 in_shared; /* of a count without places: the bins are in shared memory */
    co_u16 *high_out; /* of the digits: the high halves; ids_out has the low ones */
    co_u64 *offsets;
    struct map_counts *counts;
    struct map_deferred *deferred;
};

/* Words of counters, two buckets each. */
CO_INLINE co_u32 split_rows(co_u32 buckets)
{
    return (buckets + 1) / 2;
}

/* The same of a warp, and one for what is left out, in whole 16 bytes. */
CO_INLINE co_u32 split_counter_words(co_u32 buckets)
{
    return (split_rows(buckets) + 4) / 4 * 4;
}

/* The parts of a block's shared memory, in bytes from its beginning, where the slots are. */
struct split_layout {
    co_u32 counters, marks, starts, numbers, sums, next, delta, end;
};

CO_INLINE struct split_layout split_layout(co_u32 buckets, co_u32 items, co_u32 threads, co_u32 widest)
{
    struct split_layout l;
    co_u32 rows = split_rows(buckets);
    l.counters = items * threads * widest;
    l.marks = l.counters + threads / 32 * split_counter_words(buckets) * 4;
    l.starts = l.marks + items * threads / 32 * 8;
    l.numbers = l.starts + 2 * rows * 4;
    l.sums = l.numbers + 2 * rows * 2;
    l.next = (l.sums + threads / 32 * 4 + 15) / 16 * 16;
    l.delta = l.next + buckets * 8;
    l.end = l.delta + buckets * 8;
    return l;
}

#endif
