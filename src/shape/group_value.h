/* shape/group_value.h: values on their way into the states of groups, and states as values: the same bits
 * from every backend. Plain C, read by the CPU's loops and by kernels. */
#ifndef COHORT_SHAPE_GROUP_VALUE_H
#define COHORT_SHAPE_GROUP_VALUE_H

#include "shape/group.h"
#include "shape/keys_step.h"

CO_INLINE co_u64 group_bits(double d)
{
    union {
        double value;
        co_u64 bits;
    } v;
    v.value = d;
    return v.bits;
}

CO_INLINE double group_real(co_u64 bits)
{
    union {
        double value;
        co_u64 bits;
    } v;
    v.bits = bits;
    return v.value;
}

/* ---- in ------------------------------------------------------------------------------------------------ */

CO_INLINE double group_half(co_u32 h)
{
    const co_u64 fraction = h & 0x3ff, exponent = h >> 10 & 31, sign = (co_u64)(h >> 15 & 1) << 63;
    if (exponent == 0)
        return group_real(group_bits((double)fraction / 16777216.0) | sign);
    return group_real(sign | (exponent == 31 ? 0x7ffull : exponent - 15 + 1023) << 52 | fraction << 42);
}

/* A number's word as the bits of a double. */
CO_INLINE co_u64 group_double(co_u32 kind, co_u32 bytes, co_u64 word)
{
    union {
        co_u32 bits;
        float value;
    } f;
    if (kind == KEYS_FLOAT && bytes == 8)
        return word;
    f.bits = (co_u32)word;
    return group_bits(kind == KEYS_FLOAT    ? (bytes == 4 ? (double)f.value : group_half(f.bits))
                      : kind == KEYS_SIGNED ? (double)(long long)word
                                            : (double)word);
}

/* A word in the order of its values. NaNs, which are one and positive, come last. */
CO_INLINE co_u64 group_ordered(co_u32 kind, co_u32 bytes, co_u64 word)
{
    const co_u64 sign = bytes ? 1ull << (8 * bytes - 1) : 0;
    if (kind == KEYS_SIGNED)
        return word ^ 1ull << 63;
    if (kind == KEYS_FLOAT)
        return word & sign ? sign - 1 - (word & (sign - 1)) : word | sign;
    return word;
}

CO_INLINE co_u64 group_unordered(co_u32 kind, co_u32 bytes, co_u64 word)
{
    const co_u64 sign = bytes ? 1ull << (8 * bytes - 1) : 0;
    if (kind == KEYS_SIGNED)
        return word ^ 1ull << 63;
    if (kind == KEYS_FLOAT)
        return word & sign ? word & (sign - 1) : (sign - 1 - word) | sign;
    return word;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

/* How a state is told, where it may be told in two ways. */
enum group_form {
    GROUP_AS_IT_IS,
    GROUP_AS_MEAN, /* SUM, WIDE, FLOATS, EXACT; else the sum */
    GROUP_AS_ROOT, /* MOMENTS: the standard deviation; else the variance */
    GROUP_AS_ALL   /* TRUTH: were all true; else whether any was */
};

struct group_told {
    co_u32 state, form;
    co_u32 kind, bytes; /* of what was folded: KEYS_UNSIGNED, SIGNED or FLOAT */
    int scale;          /* WIDE: digits behind the point */
};

/* The number of the highest bit that is 1; v is not 0. */
CO_INLINE co_u32 group_high_bit(co_u64 v)
{
    co_u32 at = 0;
    for (co_u32 by = 32; by; by >>= 1)
        if (v >> by) {
            v >>= by;
            at += by;
        }
    return at;
}

CO_INLINE double group_power_of_2(int e)
{
    return group_real(e >= -1022 ? (co_u64)(e + 1023) << 52 : 1ull << (e + 1074));
}

/* m * 2^e, m < 2^54, exact or infinite. */
CO_INLINE double group_scale(co_u64 m, int e)
{
    double d = (double)m;
    if (!m)
        return 0;
    for (; e > 1000; e -= 1000)
        d *= group_power_of_2(1000);
    return d * group_power_of_2(e); /* e >= -1074 */
}

/* A sum of 128 bits, rounded once, to the nearest, ties to even. */
CO_INLINE double group_sum_double(const struct group_sum *s, int is_signed)
{
    const int negative = is_signed && s->high >> 63;
    co_u64 low = negative ? 0 - s->low : s->low;
    co_u64 high = negative ? ~s->high + (s->low == 0) : s->high;
    if (!high)
        return negative ? -(double)low : (double)low;
    const co_u32 shift = 63 - group_high_bit(high);
    if (shift) {
        high = high << shift | low >> (64 - shift);
        low <<= shift;
    }
    double d = (double)(high | (low != 0)) * group_power_of_2(64 - (int)shift);
    return negative ? -d : d;
}

/* The same of 192 bits with a sign. */
CO_INLINE double group_wide_double(const struct group_wide *s)
{
    const co_u64 sign = 0 - (s->top >> 63);
    struct group_wide m = {s->low ^ sign, s->high ^ sign, s->top ^ sign, 0};
    group_wide_add(&m, sign & 1, 0, 0);
    const struct group_sum part = {m.low, m.high, 0};
    double d = 0;
    if (!m.top) {
        d = group_sum_double(&part, 0);
    } else {
        const co_u32 shift = 63 - group_high_bit(m.top);
        const co_u64 top = shift ? m.top << shift | m.high >> (64 - shift) : m.top;
        const co_u64 rest = (shift ? m.high << shift : m.high) | m.low;
        d = (double)(top | (rest != 0)) * group_power_of_2(128 - (int)shift);
    }
    return sign ? -d : d;
}

/* d / 10^scale; each step of 22 digits rounds once. */
CO_INLINE double group_scale_by_10(double d, int scale)
{
    for (int left = scale < 0 ? -scale : scale; left > 0; left -= 22) {
        double power = 1;
        for (int i = 0; i < left && i < 22; i++)
            power *= 10; /* exact */
        d = scale < 0 ? d * power : d / power;
    }
    return d;
}

/* A decimal of 128 bits. */
CO_INLINE double group_decimal(co_u64 low, co_u64 high, int scale)
{
    const struct group_sum s = {low, high, 0};
    return group_scale_by_10(group_sum_double(&s, 1), scale);
}

/* The bins as one number of 256 bits. */
CO_INLINE void group_exact_limbs(const struct group_exact *x, co_u64 limb[4])
{
    for (int i = 0; i < 4; i++)
        limb[i] = 0;
    for (int b = 0; b < GROUP_BINS; b++) { /* 2^(32 b) times a number of 128 bits */
        co_u64 sign = 0 - (x->high[b] >> 63), part[4], carry = 0;
        const int up = 32 * b / 64, shift = 32 * b % 64;
        part[0] = x->low[b];
        part[1] = x->high[b];
        part[2] = part[3] = sign;
        for (int i = 3; i >= 0; i--) {
            co_u64 v = i >= up ? part[i - up] << shift : 0;
            if (shift && i > up)
                v |= part[i - up - 1] >> (64 - shift);
            part[i] = v;
        }
        for (int i = 0; i < 4; i++) {
            co_u64 sum = limb[i] + part[i], more = sum < limb[i];
            limb[i] = sum + carry;
            carry = more | (limb[i] < sum);
        }
    }
}

/* The bins together, rounded once, to the nearest, ties to even. */
CO_INLINE double group_exact_value(const struct group_exact *x)
{
    co_u64 limb[4];
    if (x->special)
        return group_real(x->special == 1   ? 0x7ff0000000000000ull
                          : x->special == 2 ? 0xfff0000000000000ull
                                            : 0x7ff8000000000000ull);
    group_exact_limbs(x, limb);
    const int negative = (int)(limb[3] >> 63);
    int top = -1;
    for (co_u64 i = 0, carry = 1; negative && i < 4; i++) {
        limb[i] = ~limb[i] + carry;
        carry = carry && !limb[i];
    }
    for (int i = 0; i < 4; i++)
        if (limb[i])
            top = 64 * i + (int)group_high_bit(limb[i]);
    if (top < 0)
        return 0;
    const int unit = 32 * ((int)x->top - GROUP_BINS) - 1074;
    int drop = top - 52, half = 0, rest = 0;
    if (drop < -1074 - unit)
        drop = -1074 - unit;
    co_u64 m = 0;
    for (int i = top; i >= 0; i--) {
        int bit = (int)(limb[i / 64] >> (i & 63) & 1);
        if (i >= drop)
            m = 2 * m + (co_u64)bit;
        else if (i == drop - 1)
            half = bit;
        else
            rest |= bit;
    }
    if (drop < 0)
        m <<= -drop;
    else if (half && (rest || (m & 1)))
        m++;
    double d = group_scale(m, unit + drop);
    return negative ? -d : d;
}

/* A root by steps of Newton's, each of which doubles the digits: the same bits everywhere. What is below 0 by
 * rounding is 0. */
CO_INLINE double group_root(double x)
{
    if (!(x > 0) || x > 1.7976931348623157e308)
        return x > 0 || x == 0 || x != x ? x : x - x;
    const int scaled = x < group_power_of_2(-1000);
    x *= scaled ? group_power_of_2(108) : 1;
    double r = group_real((group_bits(x) >> 1) + (1023ull << 51));
    for (int i = 0; i < 5; i++)
        r = 0.5 * (r + x / r);
    return scaled ? r * group_power_of_2(-54) : r;
}

/* The variance of a sample, or its root. 0: there are less than two values. */
CO_INLINE int group_moments_told(const struct group_told *t, const struct group_moments *m, co_u64 *word)
{
    const double n = (double)m->count, squares = m->squares - m->sum * m->sum / n;
    const double of = (squares < 0 ? 0 : squares) / (n - 1);
    if (m->count < 2)
        return 0;
    *word = group_bits(t->form == GROUP_AS_ROOT ? group_root(of) : of);
    return 1;
}

/* 1: *word is the value; 0: it is null; -1: an overflow. */
CO_INLINE int group_sum_told(const struct group_told *t, const struct group_sum *sum, co_u64 *word)
{
    const int is_signed = t->kind == KEYS_SIGNED;
    *word = sum->low;
    if (!sum->count)
        return 0;
    if (t->form == GROUP_AS_MEAN) {
        *word = group_bits(group_sum_double(sum, 1) / (double)sum->count);
        return 1;
    }
    return (is_signed ? sum->high == 0 - (sum->low >> 63) : !sum->high) ? 1 : -1;
}

/* The most that 38 digits tell, 10^38 - 1. */
#define GROUP_DIGITS_LOW  0x098a223fffffffffull
#define GROUP_DIGITS_HIGH 0x4b3b4ca85a86c47aull

/* The same of 16 bytes, low word first, where a sum of more than 38 digits is one. */
CO_INLINE int group_wide_told(const struct group_wide *s, co_u64 word[2])
{
    const co_u64 sign = 0 - (s->top >> 63), low = (s->low ^ sign) - sign,
                 high = (s->high ^ sign) + (sign && !low);
    word[0] = s->low;
    word[1] = s->high;
    if (!s->count)
        return 0;
    if (s->top != sign || s->high >> 63 != (sign & 1) || high > GROUP_DIGITS_HIGH)
        return -1;
    return high < GROUP_DIGITS_HIGH || low <= GROUP_DIGITS_LOW ? 1 : -1;
}

/* The mean of such, as the bits of a double. 0: there is none. */
CO_INLINE int group_wide_mean(const struct group_told *t, const struct group_wide *s, co_u64 *word)
{
    const double mean = s->count ? group_wide_double(s) / (double)s->count : 0;
    *word = group_bits(group_scale_by_10(mean, t->scale));
    return s->count != 0;
}

/* The same of any state; of WIDE its mean alone. */
CO_INLINE int group_state_told(const struct group_told *t, const void *state, co_u64 *word)
{
    const struct group_floats *floats = (const struct group_floats *)state;
    const struct group_exact *exact = (const struct group_exact *)state;
    const struct group_word *w = (const struct group_word *)state;
    const co_u64 bits = *(const co_u64 *)state;
    const int mean = t->form == GROUP_AS_MEAN;
    switch (t->state) {
    case GROUP_SUM:
        return group_sum_told(t, (const struct group_sum *)state, word);
    case GROUP_WIDE:
        return group_wide_mean(t, (const struct group_wide *)state, word);
    case GROUP_MOMENTS:
        return group_moments_told(t, (const struct group_moments *)state, word);
    case GROUP_FLOATS:
        *word = group_bits(mean ? floats->sum / (double)floats->count : floats->sum);
        return floats->count != 0;
    case GROUP_EXACT:
        *word = group_bits(mean ? group_exact_value(exact) / (double)exact->count : group_exact_value(exact));
        return exact->count != 0;
    case GROUP_MIN:
    case GROUP_MAX:
        *word = group_unordered(t->kind, t->bytes, w->word);
        return w->any != 0;
    case GROUP_FIRST:
    case GROUP_LAST:
        *word = w->word;
        return w->any != 0;
    case GROUP_TRUTH:
        *word = t->form == GROUP_AS_ALL ? !(bits & 2) : bits & 1;
        return bits != 0;
    default:
        *word = bits;
        return 1;
    }
}

#endif
