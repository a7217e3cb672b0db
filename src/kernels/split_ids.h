/* split_ids.h: the bucket function over several entries at once. The one switch over its kind stands outside of the loop. */
#ifndef COHORT_KERNELS_SPLIT_IDS_H
#define COHORT_KERNELS_SPLIT_IDS_H

#include "shape/split_step.h"

/* floor(x / divisor) for x < 2^32: the error of the inverse, below 1 in 2^64 / divisor, times x stays below 1 / divisor. */
CO_INLINE co_u32 split_quotient(const struct split_step *s, co_u32 x)
{
    return s->inverse ? (co_u32)split_high(s->inverse, x) : x;
}

/* As split_id of shape/multisplit.h; `kind` is a literal. Some have a shorter way for 4-byte keys. */
CO_INLINE co_u32 split_id_of(const struct split_step *s, co_u32 kind, co_u64 wide_key, int wide)
{
    struct split_fn f = s->fn;
    co_u32 key = (co_u32)wide_key;
    f.kind = kind;
    if (!wide && kind == SPLIT_BITS)
        return f.a < 32 ? key >> (co_u32)f.a & (co_u32)f.b : 0;
    if (!wide && kind == SPLIT_MODULO)
        return key - split_quotient(s, key) * f.buckets;
    if (!wide && kind == SPLIT_RANGES) {
        co_u32 inside = key < f.b ? key : (co_u32)f.b;
        co_u32 at = inside < f.a ? 0 : split_quotient(s, inside - (co_u32)f.a);
        return at < f.buckets ? at : f.buckets - 1;
    }
    return split_id(&f, wide_key, 0, wide);
}

#define SPLIT_IDS_CASE(name)                          \
case name:                                            \
    CO_EACH_ITEM (j, n)                               \
        ids[j] = split_id_of(s, name, keys[j], wide); \
    return

/* ids[j] of keys[j], for kinds that go by the key; where ids were read, they are in `keys`. `all`: a literal; 0: the kinds that
 * need few instructions, and ids. */
CO_INLINE void split_ids(const struct split_step *s, const co_u64 *keys, co_u32 *ids, co_u32 n, int wide,
                         int all)
{
    switch (s->fn.kind) {
        SPLIT_IDS_CASE(SPLIT_BITS);
        SPLIT_IDS_CASE(SPLIT_BETWEEN);
        SPLIT_IDS_CASE(SPLIT_MASKED);
    default:
        break;
    }
    if (all || !wide)
        switch (s->fn.kind) {
            SPLIT_IDS_CASE(SPLIT_MODULO);
        case SPLIT_DELTA:
            SPLIT_IDS_CASE(SPLIT_RANGES);
        default:
            break;
        }
    if (all)
        switch (s->fn.kind) {
            SPLIT_IDS_CASE(SPLIT_HASH);
            SPLIT_IDS_CASE(SPLIT_SPLITTERS);
            SPLIT_IDS_CASE(SPLIT_TABLE8);
            SPLIT_IDS_CASE(SPLIT_TABLE16);
            SPLIT_IDS_CASE(SPLIT_PAGE);
        default:
            break;
        }
    CO_EACH_ITEM (j, n)
        ids[j] = (co_u32)keys[j];
}

#undef SPLIT_IDS_CASE

#endif
