/* cpu/sets_eights.h: two arrays of like lengths, eight numbers by eight, with AVX2 and with AVX-512.
 *
 * Eight numbers of the one are compared with eight of the other by one instruction of SSE4.2 (Schlegel,
 * Willhalm and Lehner, "Fast sorted-set intersection using SIMD instructions", 2011). The array whose eight
 * end first goes on, without a branch: which one it is, nobody foresees. Two places of the arrays take turns,
 * since each waits for its own turn before. Numbers that are kept are put together by one instruction where
 * there is VBMI2, else four by four, by a table of 16 entries.
 *
 * EIGHTS is the attribute of what is compiled for; SETS_VBMI2 tells whether it has VBMI2. */
#ifndef COHORT_CPU_SETS_EIGHTS_H
#define COHORT_CPU_SETS_EIGHTS_H

#include "sets_vector.h"

#include <immintrin.h>
#include <string.h>

/* with the arguments of each place where it is called */
#define EIGHTS_LOOP EIGHTS static inline __attribute__((always_inline))

/* ---- four by four -------------------------------------------------------------------------------------- */

#define FOUR(a, b, c, d) \
    ((co_u64)(a) | (co_u64)(b) << 16 | (co_u64)(c) << 32 | (co_u64)(d) << 48) /* places of four */
#define EACH_OF_FOUR 0x0001000100010001ull

/* The places of the bits of four, in order. */
static const co_u64 places[16] = {FOUR(0, 0, 0, 0), FOUR(0, 0, 0, 0), FOUR(1, 0, 0, 0), FOUR(0, 1, 0, 0),
                                  FOUR(2, 0, 0, 0), FOUR(0, 2, 0, 0), FOUR(1, 2, 0, 0), FOUR(0, 1, 2, 0),
                                  FOUR(3, 0, 0, 0), FOUR(0, 3, 0, 0), FOUR(1, 3, 0, 0), FOUR(0, 1, 3, 0),
                                  FOUR(2, 3, 0, 0), FOUR(0, 2, 3, 0), FOUR(1, 2, 3, 0), FOUR(0, 1, 2, 3)};

/* Those of eight numbers that the mask has, to `to`; eight are written whatever they are. */
#if SETS_VBMI2
EIGHTS static inline void put_eight(co_u16 *to, co_u32 kept, __m128i v)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm_maskz_compress_epi16((__mmask8)kept, v));
}
#else
EIGHTS static inline void put_eight(co_u16 *to, co_u32 kept, __m128i v)
{
    const co_u64 bytes = 0x0202, second = 0x0100 * EACH_OF_FOUR, upper = 0x0808 * EACH_OF_FOUR;
    const co_u64 low = places[kept & 15] * bytes + second, high = places[kept >> 4] * bytes + second + upper;
    __m128i out = _mm_shuffle_epi8(v, _mm_set_epi64x((long long)high, (long long)low));
    _mm_storel_epi64((__m128i *)(void *)to, out);
    _mm_storel_epi64((__m128i *)(void *)(to + __builtin_popcount(kept & 15)), _mm_unpackhi_epi64(out, out));
}
#endif

/* ---- arrays ------------------------------------------------------------------------------------------- */

#define EQUAL_ANY (_SIDD_UWORD_OPS | _SIDD_CMP_EQUAL_ANY | _SIDD_BIT_MASK)

EIGHTS static inline __m128i eight_at(const co_u16 *a)
{
    return _mm_loadu_si128((const __m128i *)(const void *)a);
}

/* The next eight numbers of an array, or as many as are left. */
EIGHTS static inline __m128i next_eight(const co_u16 *a, co_u32 left)
{
    co_u16 some[8] = {0};
    if (left >= 8)
        return eight_at(a);
    memcpy(some, a, left * sizeof *a);
    return eight_at(some);
}

/* What is left of two arrays, which of the first one's next eight numbers have been met, and what is kept. */
struct pairing {
    const co_u16 *a, *b, *a_end, *b_end;
    co_u32 met, kept;
    co_u16 *to;
};

/* One turn: the array whose eight end first goes on, both if they end with the same number. A number 0 ends
 * what the instruction looks at: it may only be the first of an array, so neither is at its begin. Numbers
 * are put down in each turn, to be written over in the next one unless the first array goes on. `flip` has
 * eight ones where numbers that are met are not kept. */
EIGHTS_LOOP void pair_eights(struct pairing *p, co_u32 flip, int put)
{
    const __m128i x = eight_at(p->a), y = eight_at(p->b);
    const co_u32 last = p->a[7], other = p->b[7];
    const co_u32 on = 0u - ((last - other - 1) >> 31); /* all ones if last <= other */
    p->a += on & 8;
    p->b += ((other - last - 1) >> 31) * 8;
    p->met |= (co_u32)_mm_cvtsi128_si32(_mm_cmpistrm(y, x, EQUAL_ANY));
    const co_u32 out = p->met ^ flip;
    if (put)
        put_eight(p->to + p->kept, out, x);
    p->kept += (co_u32)__builtin_popcount(out & on);
    p->met &= ~on;
}

/* Turns for which both surely have eight numbers. */
EIGHTS static inline size_t turns_of(const struct pairing *p)
{
    const size_t n = (size_t)(p->a_end - p->a) / 8, m = (size_t)(p->b_end - p->b) / 8;
    return n < m ? n : m;
}

EIGHTS_LOOP void pair_alone(struct pairing *at, co_u32 flip, int put)
{
    struct pairing p = *at;
    for (size_t turns = turns_of(&p); turns; turns = turns_of(&p))
        for (; turns; turns--)
            pair_eights(&p, flip, put);
    *at = p;
}

EIGHTS_LOOP void pair_two(struct pairing *x, struct pairing *y, co_u32 flip, int put)
{
    struct pairing p = *x, q = *y;
    for (;;) {
        size_t turns = turns_of(&p), others = turns_of(&q);
        turns = turns < others ? turns : others;
        if (!turns)
            break;
        for (; turns; turns--) {
            pair_eights(&p, flip, put);
            pair_eights(&q, flip, put);
        }
    }
    *x = p;
    *y = q;
}

/* The numbers that are kept of `many` of the first array, and on to the next ones. */
EIGHTS static inline void put_pairing(struct pairing *p, co_u32 many, co_u32 flip)
{
    const co_u32 out = (p->met ^ flip) & ((1u << many) - 1);
    co_u16 some[8 + 4]; /* room for two times four that are put down */
    put_eight(some, out, next_eight(p->a, many));
    if (p->to)
        memcpy(p->to + p->kept, some, 2 * (size_t)__builtin_popcount(out));
    p->kept += (co_u32)__builtin_popcount(out);
    p->a += many;
    p->met = 0;
}

EIGHTS static inline co_u32 eight_before(const co_u16 *a, const co_u16 *end)
{
    return end - a < 8 ? (co_u32)(end - a) : 8;
}

/* One turn of up to eight of each. */
EIGHTS static inline void pair_some(struct pairing *p, co_u32 flip)
{
    const co_u32 many = eight_before(p->a, p->a_end), others = eight_before(p->b, p->b_end);
    const co_u32 last = p->a[many - 1], other = p->b[others - 1];
    const __m128i x = next_eight(p->a, many), y = next_eight(p->b, others);
    p->met |= (co_u32)_mm_cvtsi128_si32(_mm_cmpestrm(y, (int)others, x, (int)many, EQUAL_ANY));
    p->b += other <= last ? others : 0;
    if (last <= other)
        put_pairing(p, many, flip);
}

EIGHTS static inline int both_left(const struct pairing *p)
{
    return p->a < p->a_end && p->b < p->b_end;
}

/* All that is left. */
EIGHTS static inline void pair_rest(struct pairing *p, co_u32 flip)
{
    while (both_left(p))
        pair_some(p, flip);
    if (p->a < p->a_end)
        put_pairing(p, eight_before(p->a, p->a_end), flip);
    const size_t left = (size_t)(p->a_end - p->a);
    if (flip) { /* all that are left are above all of b */
        if (p->to)
            memcpy(p->to + p->kept, p->a, left * sizeof *p->a);
        p->kept += (co_u32)left;
    }
}

#define CUT_LEAST 128u /* numbers of each array for which two places in turn are worth a search */

/* How many of the array are below v. */
EIGHTS static inline co_u32 below(const co_u16 *b, co_u32 m, co_u32 v)
{
    co_u32 at = 0;
    for (co_u32 left = m, half; left; left -= half) {
        half = (left + 1) / 2;
        at += b[at + half - 1] < v ? half : 0;
    }
    return at;
}

/* Those of a that are in b, or are not: eight of each at a time. What a turn is about, the turn before tells;
 * so both arrays are cut at one number, and turns of the two parts alternate. `to` is not a. */
EIGHTS_LOOP co_u32 eights_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, co_u32 flip, co_u16 *to)
{
    const int cut = n >= CUT_LEAST && m >= CUT_LEAST;
    const co_u32 i = cut ? n / 2 : n, j = cut ? below(b, m, a[i]) : m;
    struct pairing lower = {a, b, a + i, b + j, 0, 0, to};
    struct pairing upper = {a + i, b + j, a + n, b + m, 0, 0, to ? to + i : to};
    while (both_left(&lower) && (lower.a == a || lower.b == b))
        pair_some(&lower, flip);
    if (both_left(&lower))
        pair_two(&lower, &upper, flip, to != NULL);
    if (both_left(&lower))
        pair_alone(&lower, flip, to != NULL);
    pair_alone(&upper, flip, to != NULL); /* no number of either is 0 */
    pair_rest(&lower, flip);
    pair_rest(&upper, flip);
    if (to)
        memmove(to + lower.kept, upper.to, upper.kept * sizeof *to);
    return lower.kept + upper.kept;
}

EIGHTS static co_u32 eights(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    return to ? eights_any(a, n, b, m, keep ? 0 : 0xff, to) : eights_any(a, n, b, m, keep ? 0 : 0xff, NULL);
}

#endif
