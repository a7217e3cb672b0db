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

struct split_step {
    co_u64 n;
    struct split_fn fn; /* IDS..: data is `source` */
    co_u64 inverse;     /* of the divisor, for 4-byte keys: floor(2^64 / divisor) + 1, 0 for 1 */
    const void *source; /* what ids come from: keys, or ids already computed */
    co_u32 source_bytes;
    co_u32 raw_bytes;   /* of the widest column that goes through shared memory, an entry */
    co_u64 spans, span; /* how many, and entries of each; a multiple of the tile */
    co_u64 *table;      /* [bucket][span], and one more for the sum of all */
    co_u64 *first_bad;  /* ~0, or the least index of an entry with a bad id */

    void *ids_out; /* of the count: ids for the second launch; NULL: none are kept */
    co_u32 ids_bytes;

    co_u32 low_bits; /* of the low digit, where a tile is sorted in two rounds; else 0 */
    co_u32 columns;  /* keys among them */
    co_u32 permutation_bytes;
    void *permutation;
    struct split_column column[SPLIT_COLUMNS_MOST + 1];

    co_u64 *offsets;
    struct map_counts *counts;
    struct map_deferred *deferred;
};

/* Rows of counters, of two buckets each, in a round of `buckets` digits. */
CO_INLINE co_u32 split_rows(co_u32 buckets)
{
    return (buckets + 1) / 2;
}

/* Digits of a round. */
CO_INLINE co_u32 split_low_digits(const struct split_step *s)
{
    return s->low_bits ? 1u << s->low_bits : s->fn.buckets;
}
CO_INLINE co_u32 split_high_digits(const struct split_step *s)
{
    return ((s->fn.buckets - 1) >> s->low_bits) + 1;
}

CO_INLINE co_u32 split_most_rows(const struct split_step *s)
{
    co_u32 low = split_rows(split_low_digits(s)), high = s->low_bits ? split_rows(split_high_digits(s)) : 0;
    return low > high ? low : high;
}

/* The parts of a block's shared memory, in bytes from its beginning. */
struct split_layout {
    co_u32 words, sums, bases, starts, next, delta, end;
};

CO_INLINE struct split_layout split_layout(const struct split_step *s, co_u32 items, co_u32 threads)
{
    struct split_layout l;
    co_u32 rows = split_most_rows(s), m = s->fn.buckets;
    co_u32 words = items * threads * 4, counters = rows * threads * 4;
    l.words = items * threads * s->raw_bytes;
    l.sums = l.words + (words > counters ? words : counters);
    l.bases = l.sums + threads / 32 * rows * 4;
    l.starts = l.bases + threads / 32 * rows * 4;
    l.next = (l.starts + 2 * rows * 4 + 15) / 16 * 16;
    l.delta = l.next + m * 8;
    l.end = l.delta + m * 8;
    return l;
}

#endif
