/* shape/multisplit.h: bucket functions as every backend computes them. Plain C, seen by the API, by both
 * backends and by the kernels.
 *
 * A function is a kind and its numbers (cohort/fn.h). What divides (MODULO, RANGES, DELTA) multiplies by a
 * reciprocal that is exact for every key: T. Granlund and P. Montgomery, "Division by Invariant Integers
 * using Multiplication", PLDI 1994. */
#ifndef COHORT_SHAPE_MULTISPLIT_H
#define COHORT_SHAPE_MULTISPLIT_H

#include "cohort/device/hash.h"
#include "shape/batch.h"

#define SPLIT_BUCKETS_MOST 65536u
#define SPLIT_BAD          0xffffffffu /* the id of an entry that belongs to no bucket */

/* The kinds of cohort_fn_kind, by number. */
enum split_kind {
    SPLIT_BITS = 1,
    SPLIT_HASH = 2,
    SPLIT_MODULO = 3,
    SPLIT_RANGES = 4,
    SPLIT_SPLITTERS = 5,
    SPLIT_TABLE8 = 6,
    SPLIT_TABLE16 = 7,
    SPLIT_DELTA = 8,
    SPLIT_BETWEEN = 9,
    SPLIT_MASKED = 10,
    SPLIT_IDS8 = 11,
    SPLIT_IDS16 = 12,
    SPLIT_IDS32 = 13,
    SPLIT_USER = 14,
    SPLIT_MEMBER = 15,
    /* The library's own: a map's page (a: seed, count: pages), shifted right by `by.after`, masked by b; */
    SPLIT_PAGE = 64,
    /* the same where the kernels that place entries find it, and not the count. */
    SPLIT_PAGE_ANEW = 65,
    /* Whether a key differs from the one before it, of compactions alone: not a function of the key. */
    SPLIT_CHANGES = 66
};

/* n / divisor as (t + ((n - t) >> before)) >> after with t the high word of magic * n. */
struct split_divisor {
    co_u64 divisor, magic;
    co_u32 before, after;
};

struct split_fn {
    co_u32 kind;
    co_u32 buckets; /* m; ids from m on are bad */
    co_u64 a, b;    /* as in cohort_fn; BITS: shift and mask; RANGES, DELTA: first and last key, by `by`; with
                       4-byte keys none has more than 32 bits, nor those of BETWEEN and MASKED */
    struct split_divisor by;
    const void *data; /* in the context's memory */
    co_u64 count;
};

/* What the ids of USER and MEMBER come from, which no kernel of a split computes: backends make them
 * beforehand. */
struct split_source {
    const struct cohort_fn *user;        /* of USER, else NULL */
    const struct cohort_sets_view *sets; /* of MEMBER, else NULL; the set is number fn.a */
};

CO_INLINE int split_is_made(const struct split_fn *f)
{
    return f->kind == SPLIT_USER || f->kind == SPLIT_MEMBER;
}

__extension__ typedef unsigned __int128 split_wide;

CO_INLINE co_u64 split_high(co_u64 x, co_u64 y)
{
    return (co_u64)(((split_wide)x * y) >> 64);
}

/* For divisors from 1 on. */
CO_INLINE struct split_divisor split_divisor_of(co_u64 divisor)
{
    struct split_divisor d;
    co_u32 log = 0; /* ceil(log2(divisor)) */
    while (log < 64 && ((split_wide)1 << log) < divisor)
        log++;
    d.divisor = divisor;
    d.magic = (co_u64)(((((split_wide)1 << log) - divisor) << 64) / divisor) + 1;
    d.before = log < 1 ? log : 1;
    d.after = log > 1 ? log - 1 : 0;
    return d;
}

CO_INLINE co_u64 split_divide(co_u64 n, const struct split_divisor *d)
{
    co_u64 t = split_high(d->magic, n);
    return (t + ((n - t) >> d->before)) >> d->after;
}

/* floor(x / d) = (x * factor + more) >> 32 >> after, in 64 bits, for every x < 2^32.
 *
 * Let 2^s < d < 2^(s + 1), F = floor(2^(32 + s) / d), which is below 2^32, r = 2^(32 + s) - F * d, so that 0
 * < r < d, and x = q * d + t with t < d. Either d - r <= 2^s or r <= 2^s, since both come to d.
 *   factor F + 1, more 0:  (F + 1) * x / 2^(32 + s) = x / d + (d - r) * x / (d * 2^(32 + s)); what is added
 *                          is below 1 / d if d - r <= 2^s, so the quotient stays below q + 1. F + 1 is below
 *                          2^32 too, as (2^32 - 1) * d > 2^(32 + s) - 2^s.
 *   factor F, more F:      F * (x + 1) / 2^(32 + s) = q + (t + 1) / d - r * (x + 1) / (d * 2^(32 + s)); what
 *                          is taken away is above 0, and at most 1 / d if r <= 2^s: it stays below q + 1 and
 *                          does not fall below q.
 * d = 2^s: factor and more 2^32 - 1: (2^32 - 1) * (x + 1) = 2^32 * x + (2^32 - (x + 1)), whose high word is
 * x. No sum comes to 2^64. d >= 2^32: nothing. */
struct split_reciprocal {
    co_u64 more;
    co_u32 factor, after;
};

CO_INLINE struct split_reciprocal split_reciprocal_of(co_u64 d)
{
    struct split_reciprocal r = {0, 0, 0};
    if (d >> 32)
        return r;
    while (d >> r.after > 1)
        r.after++;
    if (d == 1ull << r.after) {
        r.factor = ~0u;
        r.more = r.factor;
        return r;
    }
    co_u64 whole = (co_u64)(((split_wide)1 << (32 + r.after)) / d);
    co_u64 rest = (co_u64)(((split_wide)1 << (32 + r.after)) - (split_wide)whole * d);
    int up = d - rest <= 1ull << r.after;
    r.factor = (co_u32)whole + (up ? 1 : 0);
    r.more = up ? 0 : whole;
    return r;
}

CO_INLINE co_u32 split_quotient(const struct split_reciprocal *r, co_u32 x)
{
    return (co_u32)((x * (co_u64)r->factor + r->more) >> 32) >> r->after;
}

/* How many of the sorted splitters are <= key. */
CO_INLINE co_u32 split_search(const struct split_fn *f, co_u64 key, int wide)
{
    co_u64 low = 0, high = f->count;
    while (low < high) {
        co_u64 middle = (low + high) / 2;
        co_u64 splitter =
            wide ? co_read64((const co_u64 *)f->data + middle) : co_read32((const co_u32 *)f->data + middle);
        if (splitter <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return (co_u32)low;
}

/* Keys outside of [a, b] count as the nearest of the two. */
CO_INLINE co_u32 split_clamp(const struct split_fn *f, co_u64 key)
{
    co_u64 inside = key < f->b ? key : f->b, at = inside < f->a ? 0 : split_divide(inside - f->a, &f->by);
    return at < f->buckets ? (co_u32)at : f->buckets - 1;
}

/* The id of the key with index i; may be f->buckets or more for the kinds that can be wrong. Not for USER,
 * whose ids are computed beforehand. */
CO_INLINE co_u32 split_id(const struct split_fn *f, co_u64 key, co_u64 i, int wide)
{
    switch (f->kind) {
    case SPLIT_BITS:
        return (co_u32)(key >> f->a) & (co_u32)f->b;
    case SPLIT_HASH:
        return (co_u32)split_high(co_hash(key, f->a), f->buckets);
    case SPLIT_MODULO:
        return (co_u32)(key - split_divide(key, &f->by) * f->by.divisor);
    case SPLIT_RANGES:
    case SPLIT_DELTA:
        return split_clamp(f, key);
    case SPLIT_SPLITTERS:
        return split_search(f, key, wide);
    case SPLIT_TABLE8:
        return key < f->count ? co_read8((const co_u8 *)f->data + key) : SPLIT_BAD;
    case SPLIT_TABLE16:
        return key < f->count ? co_read16((const co_u16 *)f->data + key) : SPLIT_BAD;
    case SPLIT_BETWEEN:
        return key >= f->a && key <= f->b;
    case SPLIT_MASKED:
        return (key & f->a) == f->b;
    case SPLIT_IDS8:
        return co_read8((const co_u8 *)f->data + i);
    case SPLIT_IDS16:
        return co_read16((const co_u16 *)f->data + i);
    case SPLIT_IDS32:
        return co_read32((const co_u32 *)f->data + i);
    case SPLIT_PAGE:
        return (co_u32)((((co_hash(key, f->a) >> 32) * f->count) >> 32) >> f->by.after) & (co_u32)f->b;
    default:
        return SPLIT_BAD;
    }
}

/* Can this function give an id that is none? */
CO_INLINE int split_can_fail(const struct split_fn *f)
{
    switch (f->kind) {
    case SPLIT_BITS:
        return f->b >= f->buckets;
    case SPLIT_SPLITTERS:
        return f->count >= f->buckets;
    case SPLIT_TABLE8:
    case SPLIT_TABLE16:
    case SPLIT_IDS8:
    case SPLIT_IDS16:
    case SPLIT_IDS32:
    case SPLIT_USER:
        return 1;
    case SPLIT_BETWEEN:
    case SPLIT_MASKED:
    case SPLIT_MEMBER:
        return f->buckets < 2;
    default:
        return 0;
    }
}

#endif
