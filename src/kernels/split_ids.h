/* split_ids.h: the bucket function over several entries at once, where the one switch over its kind stands
 * outside of the loop; and over one entry, in the forms of the place kernel. */
#ifndef COHORT_KERNELS_SPLIT_IDS_H
#define COHORT_KERNELS_SPLIT_IDS_H

#include "shape/split_step.h"

/* How many of `many` splitters are no greater than the key; as many steps for every key, the first of
 * `step`. */
CO_INLINE co_u32 split_searched(const co_u32 *splitters, co_u32 many, co_u32 step, co_u32 key)
{
    co_u32 at = 0;
    for (; step; step >>= 1)
        at += at + step <= many && co_read32(splitters + at + step - 1) <= key ? step : 0;
    return at;
}

/* The greatest power of two up to v, which has 16 bits at most; or 0. */
CO_INLINE co_u32 split_power_below(co_u32 v)
{
    v |= v >> 1;
    v |= v >> 2;
    v |= v >> 4;
    v |= v >> 8;
    return v - (v >> 1);
}

/* As split_id of shape/multisplit.h; `kind` is a literal, and of ids IDS32. Some have a shorter way for
 * 4-byte keys. */
CO_INLINE co_u32 split_id_of(const struct split_fn *fn, const struct split_reciprocal *by, co_u32 kind,
                             co_u64 wide_key, int wide)
{
    struct split_fn f = *fn;
    co_u32 key = (co_u32)wide_key;
    f.kind = kind;
    if (kind == SPLIT_IDS32)
        return key;
    if (!wide && kind == SPLIT_BITS)
        return f.a < 32 ? key >> (co_u32)f.a & (co_u32)f.b : 0;
    if (!wide && kind == SPLIT_MODULO)
        return key - split_quotient(by, key) * f.buckets;
    if (!wide && kind == SPLIT_RANGES) {
        co_u32 low = (co_u32)f.a, high = (co_u32)f.b, inside = key > low ? key : low;
        co_u32 at = split_quotient(by, (inside < high ? inside : high) - low);
        return at < f.buckets ? at : f.buckets - 1;
    }
    if (!wide && kind == SPLIT_SPLITTERS)
        return split_searched((const co_u32 *)f.data, (co_u32)f.count, split_power_below((co_u32)f.count),
                              key);
    return split_id(&f, wide_key, 0, wide);
}

/* The cases of a switch over the kind, each with CALL(kind), where the kind is a literal. RANGES does DELTA
 * too. */
#define SPLIT_CASE(kind, CALL) \
case kind:                     \
    CALL(kind);                \
    break;
#define SPLIT_EASY_CASES(CALL)      \
    SPLIT_CASE(SPLIT_BITS, CALL)    \
    SPLIT_CASE(SPLIT_BETWEEN, CALL) \
    SPLIT_CASE(SPLIT_MASKED, CALL)
#define SPLIT_DIVIDING_CASES(CALL) \
    SPLIT_CASE(SPLIT_MODULO, CALL) \
case SPLIT_DELTA:                  \
    SPLIT_CASE(SPLIT_RANGES, CALL)
#define SPLIT_COSTLY_CASES(CALL)      \
    SPLIT_CASE(SPLIT_HASH, CALL)      \
    SPLIT_CASE(SPLIT_SPLITTERS, CALL) \
    SPLIT_CASE(SPLIT_TABLE8, CALL)    \
    SPLIT_CASE(SPLIT_TABLE16, CALL)   \
    SPLIT_CASE(SPLIT_PAGE, CALL)

/* ids[j] of keys[j]; where ids were read, they are the keys. */
CO_INLINE void split_ids(const struct split_step *s, const co_u64 *keys, co_u32 *ids, co_u32 n, int wide)
{
#define SPLIT_IDS(kind) \
    CO_EACH_ITEM (j, n) \
    ids[j] = split_id_of(&s->fn, &s->by, kind, keys[j], wide)
    switch (s->fn.kind) {
        SPLIT_EASY_CASES(SPLIT_IDS)
        SPLIT_DIVIDING_CASES(SPLIT_IDS)
        SPLIT_COSTLY_CASES(SPLIT_IDS)
    default:
        SPLIT_IDS(SPLIT_IDS32);
    }
#undef SPLIT_IDS
}

/* The id of entry i of the first part, whose entries have `width` bytes. */
CO_INLINE co_u32 split_entry_id(const struct split_step *s, co_u64 i, co_u32 width)
{
    co_u64 key = width == 1   ? co_read8((const co_u8 *)s->part[0].in + i)
                 : width == 2 ? co_read16((const co_u16 *)s->part[0].in + i)
                 : width == 4 ? co_read32((const co_u32 *)s->part[0].in + i)
                              : co_read64((const co_u64 *)s->part[0].in + i);
    co_u32 id = (co_u32)key;
    if (width >= 4)
        split_ids(s, &key, &id, 1, width == 8);
    return id;
}

/* As split_ids, of the kinds that are computed again: those that need few instructions. */
CO_INLINE void split_easy_ids(const struct split_step *s, const co_u64 *keys, co_u32 *ids, co_u32 n, int wide)
{
#define SPLIT_IDS(kind) \
    CO_EACH_ITEM (j, n) \
    ids[j] = split_id_of(&s->fn, &s->by, kind, keys[j], wide)
    if (wide)
        switch (s->fn.kind) {
            SPLIT_EASY_CASES(SPLIT_IDS)
        }
    else
        switch (s->fn.kind) {
            SPLIT_EASY_CASES(SPLIT_IDS)
            SPLIT_DIVIDING_CASES(SPLIT_IDS)
        default:
            SPLIT_IDS(SPLIT_IDS32);
        }
#undef SPLIT_IDS
}

/* The number of an entry's bucket; SPLIT_BAD, of SPLIT_LOOSE alone: it has none. `form` is a literal. */
CO_INLINE co_u32 split_number_of(const struct split_number *n, co_u64 key, co_u32 form, int wide)
{
    co_u32 word = (co_u32)key, id = word;
    if (form == SPLIT_LEFT)
        return word;
    if (form == SPLIT_FIELD)
        return (wide ? (co_u32)(key >> n->shift) : word >> n->shift) & n->mask;
    if (form == SPLIT_LOOSE) {
        id = (wide ? (co_u32)(key >> n->from) : word >> n->from) & n->field;
        return id < n->ids ? id >> n->shift & n->mask : SPLIT_BAD;
    }
    if (form == SPLIT_RANGED) {
        co_u32 low = (co_u32)n->low, high = (co_u32)n->high, inside = word > low ? word : low;
        inside = inside < high ? inside : high;
        return split_quotient(&n->by, inside) & n->mask;
    }
    if (form == SPLIT_PAGED)
        id = (co_u32)(((co_hash(word, n->low) >> 32) * n->high) >> 32);
    if (form == SPLIT_SEARCHED)
        id = split_searched(n->splitters, n->ids, n->step, word);
    if (form == SPLIT_REMAINDER)
        id = word - split_quotient(&n->by, word) * n->divisor;
    if (form == SPLIT_TEST)
        id = wide ? (key & n->keep) - n->low <= n->high
                  : (word & (co_u32)n->keep) - (co_u32)n->low <= (co_u32)n->high;
    return id >> n->shift & n->mask;
}

#endif
