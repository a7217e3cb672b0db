/* cpu/group_values.c: states of groups as the elements of a column.
 *
 * Groups go in words of 64, as their validity does: a thread writes whole words, and nobody else the elements
 * that they tell of. */
#include "backend/group.h"
#include "keys.h"

#define GRAIN (1u << 13) /* groups; a multiple of 64 */

__extension__ typedef __int128 wide;

/* ---- numbers ------------------------------------------------------------------------------------------- */

static double sqrt_of(double x)
{
    if (!(x > 0) || x > 1.7976931348623157e308)
        return x > 0 || x == 0 || x != x ? x : x - x; /* below 0: rounding */
    uint64_t bits;
    int scaled = x < 0x1p-1000;
    x *= scaled ? 0x1p108 : 1;
    memcpy(&bits, &x, 8);
    bits = (bits >> 1) + (1023ull << 51);
    double r;
    memcpy(&r, &bits, 8);
    for (int i = 0; i < 5; i++) /* each step of Newton's doubles the digits */
        r = 0.5 * (r + x / r);
    return scaled ? r * 0x1p-54 : r;
}

static double power_of_2(int e)
{
    double d;
    uint64_t bits = e >= -1022 ? (uint64_t)(e + 1023) << 52 : 1ull << (e + 1074);
    memcpy(&d, &bits, 8);
    return d;
}

/* m * 2^e, m < 2^54, exact or infinite. */
static double scale(uint64_t m, int e)
{
    double d = (double)m;
    if (!m)
        return 0;
    for (; e > 1000; e -= 1000)
        d *= power_of_2(1000);
    return d * power_of_2(e); /* e >= -1074 */
}

/* The bins together, rounded once, to the nearest, ties to even. */
static double exact_value(const struct group_exact *x)
{
    uint64_t limb[4] = {0, 0, 0, 0};
    if (x->special)
        return x->special == 1   ? power_of_2(1023) * 4
               : x->special == 2 ? -power_of_2(1023) * 4
                                 : __builtin_nan("");
    for (int b = 0; b < GROUP_BINS; b++) { /* 2^(32 b) times a number of 128 bits */
        uint64_t sign = 0 - (x->high[b] >> 63), part[4] = {x->low[b], x->high[b], sign, sign}, carry = 0;
        for (int i = 3; i >= 0; i--) {
            int up = 32 * b / 64, shift = 32 * b % 64;
            uint64_t v = i >= up ? part[i - up] << shift : 0;
            if (shift && i > up)
                v |= part[i - up - 1] >> (64 - shift);
            part[i] = v;
        }
        for (int i = 0; i < 4; i++) {
            uint64_t sum = limb[i] + part[i], more = sum < limb[i];
            limb[i] = sum + carry;
            carry = more | (limb[i] < sum);
        }
    }
    int negative = (int)(limb[3] >> 63), top = -1;
    for (uint64_t i = 0, carry = 1; negative && i < 4; i++) {
        limb[i] = ~limb[i] + carry;
        carry = carry && !limb[i];
    }
    for (int i = 0; i < 4; i++)
        if (limb[i])
            top = 64 * i + 63 - __builtin_clzll(limb[i]);
    if (top < 0)
        return 0;
    int unit = 32 * ((int)x->top - GROUP_BINS) - 1074, drop = top - 52;
    if (drop < -1074 - unit)
        drop = -1074 - unit;
    uint64_t m = 0;
    int half = 0, rest = 0;
    for (int i = top; i >= 0; i--) {
        int bit = (int)(limb[i / 64] >> (i & 63) & 1);
        if (i >= drop)
            m = 2 * m + (uint64_t)bit;
        else if (i == drop - 1)
            half = bit;
        else
            rest |= bit;
    }
    if (drop < 0) {
        m <<= -drop;
    } else if (half && (rest || (m & 1)))
        m++;
    double d = scale(m, unit + drop);
    return negative ? -d : d;
}

/* ---- a state as a value -------------------------------------------------------------------------------- */

static wide sum_value(const struct group_sum *s)
{
    __extension__ typedef unsigned __int128 bits;
    return (wide)((bits)s->high << 64 | s->low);
}

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, 8);
    return bits;
}

/* What make_ordered of group.c did, undone. */
static uint64_t unordered(const struct group_values *v, uint64_t word)
{
    uint64_t sign = v->bytes ? 1ull << (8 * v->bytes - 1) : 0;
    if (v->kind == KEYS_SIGNED)
        return word ^ 1ull << 63;
    if (v->kind == KEYS_FLOAT)
        return word & sign ? word & (sign - 1) : (sign - 1 - word) | sign;
    return word;
}

static double variance(const struct group_moments *m)
{
    double n = (double)m->count, squares = m->squares - m->sum * m->sum / n;
    return (squares < 0 ? 0 : squares) / (n - 1);
}

/* 0: null; -1: an overflow. */
static int sum_of(const struct group_values *v, const struct group_sum *sum, uint64_t *word)
{
    int mean = v->form == GROUP_AS_MEAN;
    *word = mean ? bits_of((double)sum_value(sum) / (double)sum->count) : sum->low;
    if (mean || !sum->count)
        return sum->count != 0;
    return (v->kind == KEYS_SIGNED ? sum->high == 0 - (sum->low >> 63) : !sum->high) ? 1 : -1;
}

static int value_of(const struct group_values *v, const void *state, uint64_t *word)
{
    const struct group_floats *floats = state;
    const struct group_exact *exact = state;
    const struct group_moments *moments = state;
    const struct group_word *w = state;
    uint64_t bits = *(const uint64_t *)state;
    int mean = v->form == GROUP_AS_MEAN;
    switch (v->state) {
    case GROUP_SUM:
        return sum_of(v, state, word);
    case GROUP_FLOATS:
        *word = bits_of(mean ? floats->sum / (double)floats->count : floats->sum);
        return floats->count != 0;
    case GROUP_EXACT:
        *word = bits_of(mean ? exact_value(exact) / (double)exact->count : exact_value(exact));
        return exact->count != 0;
    case GROUP_MOMENTS:
        if (moments->count < 2)
            return 0;
        *word = bits_of(v->form == GROUP_AS_ROOT ? sqrt_of(variance(moments)) : variance(moments));
        return 1;
    case GROUP_MIN:
    case GROUP_MAX:
        *word = unordered(v, w->word);
        return w->any != 0;
    case GROUP_FIRST:
    case GROUP_LAST:
        *word = w->word;
        return w->any != 0;
    case GROUP_TRUTH:
        *word = v->form == GROUP_AS_ALL ? !(bits & 2) : bits & 1;
        return bits != 0;
    default:
        *word = bits;
        return 1;
    }
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Where there is no value the word is 0. Which are there. */
static uint64_t load(struct group_values *v, uint64_t first, uint32_t count, uint64_t *words)
{
    uint64_t bytes = group_state_bytes(v->state), there = 0;
    const char *state = (const char *)v->states + first * bytes;
    for (uint32_t i = 0; i < count; i++) {
        int is = value_of(v, state + i * bytes, &words[i]);
        if (is < 0)
            co_min64(&v->overflow, first + i);
        words[i] = is > 0 ? words[i] : 0;
        there |= (uint64_t)(is > 0) << i;
    }
    return there;
}

#define STORE(T)                         \
    for (uint32_t i = 0; i < count; i++) \
        ((T *)v->data)[first + i] = (T)words[i];

static void store(const struct group_values *v, uint64_t first, uint32_t count, const uint64_t *words)
{
    uint64_t bits = 0;
    if (v->width == 8)
        memcpy((uint64_t *)v->data + first, words, count * sizeof *words);
    else if (v->width == 4)
        STORE(uint32_t)
    else if (v->width == 2)
        STORE(uint16_t)
    else if (v->width == 1)
        STORE(uint8_t)
    else if (v->width)
        for (uint32_t i = 0; i < count; i++)
            memcpy((char *)v->data + (first + i) * v->width, &words[i], v->width);
    else {
        for (uint32_t i = 0; i < count; i++)
            bits |= (words[i] & 1) << i;
        ((uint64_t *)v->data)[first / 64] = bits;
    }
}

static void values_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct group_values *v = arg;
    uint64_t words[64], nulls = 0;
    (void)worker;
    for (uint64_t first = begin; first < end; first += 64) {
        uint32_t count = end - first < 64 ? (uint32_t)(end - first) : 64;
        uint64_t there = load(v, first, count, words);
        store(v, first, count, words);
        v->validity[first / 64] = there;
        nulls += count - (unsigned)__builtin_popcountll(there);
    }
    __atomic_add_fetch(&v->nulls, nulls, __ATOMIC_RELAXED);
}

void cpu_group_values(cohort_context *context, struct group_values *v)
{
    cpu_parallel(context, v->n, GRAIN, values_part, v);
}
