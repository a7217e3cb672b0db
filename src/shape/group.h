/* shape/group.h: what is kept for each group, by aggregate, and how two of them become one. Plain C.
 *
 * All zero is the state of a group that nothing was seen of. */
#ifndef COHORT_SHAPE_GROUP_H
#define COHORT_SHAPE_GROUP_H

#include "cohort/device/lane.h"

enum group_state {
    GROUP_COUNT,   /* co_u64: rows */
    GROUP_SUM,     /* struct group_sum: of integers */
    GROUP_FLOATS,  /* struct group_floats: of floats, in some order */
    GROUP_EXACT,   /* struct group_exact: of floats, the same in any order */
    GROUP_MOMENTS, /* struct group_moments: for variances */
    GROUP_MIN,     /* struct group_word, in order as unsigned numbers */
    GROUP_MAX,
    GROUP_FIRST, /* struct group_word, any 8 bytes */
    GROUP_LAST,
    GROUP_TRUTH, /* co_u64: bit 0: there was a true one, bit 1: a false one */
    GROUP_WIDE,  /* struct group_wide: of integers of 16 bytes */
    GROUP_STATES
};

/* An integer of 128 bits, and how many were added to it: 2^64 of them cannot overflow. */
struct group_sum {
    co_u64 low, high, count;
};

/* An integer of 192 bits, likewise. */
struct group_wide {
    co_u64 low, high, top, count;
};

struct group_floats {
    double sum;
    co_u64 count;
};

struct group_word {
    co_u64 word, any;
};

/* Sums of x - shift and of its square, where the shift is one of the values: that is close enough to their
 * mean that the difference of squares keeps its digits. */
struct group_moments {
    double shift, sum, squares;
    co_u64 count;
};

/* A sum in bins. A value is an integer times 2^-1074; bin b has the sum of the values' digits b to the
 * base of 2^32, with their signs, in 128 bits. Kept are the bins from the highest digit of all values,
 * `top` - 1, down: three of them. So what is in a bin depends on the values alone, and not on their order. */
#define GROUP_BINS 3
struct group_exact {
    co_u64 low[GROUP_BINS], high[GROUP_BINS]; /* [0]: the lowest one */
    co_u32 top;                               /* 0: no value but zeros */
    co_u32 special;                           /* 1: +infinity was seen, 2: -infinity, 4: NaN */
    co_u64 count;
};

CO_INLINE void group_sum_add(struct group_sum *s, co_u64 low, co_u64 high)
{
    s->low += low;
    s->high += high + (s->low < low);
}

/* An integer of 16 bytes, with its sign. */
CO_INLINE void group_wide_add(struct group_wide *s, co_u64 low, co_u64 high, co_u64 top)
{
    s->low += low;
    const co_u64 carry = s->low < low, sum = s->high + high, more = sum < high;
    s->high = sum + carry;
    s->top += top + (more | (s->high < carry));
}

CO_INLINE void group_bin_add(struct group_exact *s, co_u32 bin, co_u64 low, co_u64 high)
{
    s->low[bin] += low;
    s->high[bin] += high + (s->low[bin] < low);
}

/* Makes `top` the highest bin. */
CO_INLINE void group_exact_raise(struct group_exact *s, co_u32 top)
{
    co_u32 by = s->top ? top - s->top : GROUP_BINS;
    for (co_u32 i = 0; i < GROUP_BINS; i++) {
        s->low[i] = by < GROUP_BINS - i ? s->low[i + by] : 0;
        s->high[i] = by < GROUP_BINS - i ? s->high[i + by] : 0;
    }
    s->top = top;
}

/* The bits of a double as digits to the base of 2^32. */
struct group_digits {
    co_u64 digit[3];
    co_u32 first, top; /* the place of digit[0]; behind the highest that is not 0; 0: all are */
    co_u32 special;    /* as in struct group_exact */
    co_u32 negative;
};

CO_INLINE void group_digits_of(co_u64 bits, struct group_digits *d)
{
    co_u64 fraction = bits & 0xfffffffffffffull;
    const co_u32 exponent = (co_u32)(bits >> 52) & 0x7ff;
    d->negative = (co_u32)(bits >> 63);
    d->special = exponent != 0x7ff ? 0 : fraction ? 4u : d->negative ? 2u : 1u;
    fraction |= (co_u64)(exponent != 0) << 52;
    const co_u32 at = exponent ? exponent - 1 : 0, shift = at & 31;
    d->digit[0] = (fraction << shift) & 0xffffffffu;
    d->digit[1] = (fraction >> (32 - shift)) & 0xffffffffu;
    d->digit[2] = shift ? fraction >> (64 - shift) : 0;
    d->first = at / 32;
    d->top = d->special || !fraction ? 0 : d->first + (d->digit[2] ? 3 : d->digit[1] ? 2 : 1);
}

/* Whether digit i is kept in bins up to `top`, and in which. */
CO_INLINE int group_digit_kept(const struct group_digits *d, co_u32 i, co_u32 top, co_u32 *bin)
{
    *bin = d->first + i + GROUP_BINS - top; /* bin top - 3 of all is the lowest one that is kept */
    return d->top && d->first + i + GROUP_BINS >= top && d->digit[i];
}

CO_INLINE void group_exact_add(struct group_exact *s, co_u64 bits)
{
    struct group_digits d;
    co_u32 bin;
    group_digits_of(bits, &d);
    s->count++;
    s->special |= d.special;
    if (d.top > s->top)
        group_exact_raise(s, d.top);
    for (co_u32 i = 0; i < 3; i++)
        if (group_digit_kept(&d, i, s->top, &bin))
            group_bin_add(s, bin, d.negative ? 0 - d.digit[i] : d.digit[i], d.negative ? ~0ull : 0);
}

/* Of a state that came from elsewhere: is `top` a place that there is? */
CO_INLINE int group_exact_is_good(const struct group_exact *s)
{
    return s->top <= 66 && s->special <= 7;
}

CO_INLINE void group_exact_merge(struct group_exact *s, const struct group_exact *from)
{
    s->count += from->count;
    s->special |= from->special;
    if (!from->top)
        return;
    if (from->top > s->top)
        group_exact_raise(s, from->top);
    for (co_u32 i = 0; i < GROUP_BINS; i++)
        if (i + from->top >= s->top)
            group_bin_add(s, i + from->top - s->top, from->low[i], from->high[i]);
}

CO_INLINE void group_moments_add(struct group_moments *s, double x)
{
    if (!s->count)
        s->shift = x;
    double d = x - s->shift;
    s->sum += d;
    s->squares += d * d;
    s->count++;
}

CO_INLINE void group_moments_merge(struct group_moments *s, const struct group_moments *from)
{
    if (!s->count) {
        *s = *from;
        return;
    }
    if (!from->count)
        return;
    double by = from->shift - s->shift, n = (double)from->count;
    s->squares += from->squares + 2 * by * from->sum + n * by * by;
    s->sum += from->sum + n * by;
    s->count += from->count;
}

CO_INLINE co_u32 group_state_bytes(co_u32 state)
{
    switch (state) {
    case GROUP_SUM:
        return sizeof(struct group_sum);
    case GROUP_WIDE:
        return sizeof(struct group_wide);
    case GROUP_FLOATS:
        return sizeof(struct group_floats);
    case GROUP_EXACT:
        return sizeof(struct group_exact);
    case GROUP_MOMENTS:
        return sizeof(struct group_moments);
    case GROUP_MIN:
    case GROUP_MAX:
    case GROUP_FIRST:
    case GROUP_LAST:
        return sizeof(struct group_word);
    default:
        return sizeof(co_u64);
    }
}

/* What was seen behind what `to` has seen. */
CO_INLINE void group_state_merge(co_u32 state, void *to, const void *from)
{
    struct group_word *word = (struct group_word *)to;
    const struct group_word *other = (const struct group_word *)from;
    switch (state) {
    case GROUP_COUNT:
        *(co_u64 *)to += *(const co_u64 *)from;
        return;
    case GROUP_SUM:
        group_sum_add((struct group_sum *)to, ((const struct group_sum *)from)->low,
                      ((const struct group_sum *)from)->high);
        ((struct group_sum *)to)->count += ((const struct group_sum *)from)->count;
        return;
    case GROUP_WIDE:
        group_wide_add((struct group_wide *)to, ((const struct group_wide *)from)->low,
                       ((const struct group_wide *)from)->high, ((const struct group_wide *)from)->top);
        ((struct group_wide *)to)->count += ((const struct group_wide *)from)->count;
        return;
    case GROUP_FLOATS:
        ((struct group_floats *)to)->sum += ((const struct group_floats *)from)->sum;
        ((struct group_floats *)to)->count += ((const struct group_floats *)from)->count;
        return;
    case GROUP_EXACT:
        group_exact_merge((struct group_exact *)to, (const struct group_exact *)from);
        return;
    case GROUP_MOMENTS:
        group_moments_merge((struct group_moments *)to, (const struct group_moments *)from);
        return;
    case GROUP_MIN:
        if (other->any && (!word->any || other->word < word->word))
            *word = *other;
        return;
    case GROUP_MAX:
        if (other->any && (!word->any || other->word > word->word))
            *word = *other;
        return;
    case GROUP_FIRST:
        if (!word->any)
            *word = *other;
        return;
    case GROUP_LAST:
        if (other->any)
            *word = *other;
        return;
    default:
        *(co_u64 *)to |= *(const co_u64 *)from;
        return;
    }
}

#endif
