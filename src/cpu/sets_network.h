/* cpu/sets_network.h: 32 numbers put in order with AVX-512, as the merges of sets use it. */
#ifndef COHORT_CPU_SETS_NETWORK_H
#define COHORT_CPU_SETS_NETWORK_H

#include "sets_vector.h"

#include <immintrin.h>

/* SETS_VBMI2, which the file that includes this defines: with VPOPCNTDQ and VBMI2 too (Ice Lake, Zen 4 and
 * later), or with what any AVX-512 of servers has. */
#if SETS_VBMI2
#    define AVX512      \
        __attribute__(( \
            target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi2,bmi,bmi2,popcnt")))
#else
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,popcnt")))
#endif

/* ---- numbers that are kept -----------------------------------------------------------------------------

 * sets_put: those of 32 numbers that the mask has, to `to`; up to 32 numbers are written whatever they are.
 * sets_put_exactly: nothing behind them is written.
 * sets_put_places: `base` and the place of each bit of a word; up to SETS_VECTOR_ROOM numbers are written.
 * sets_tally_*: the ones of many vectors, eight at a time. */

#if SETS_VBMI2
AVX512 static inline void sets_put(co_u16 *to, __mmask32 kept, __m512i v)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi16(kept, v));
}

AVX512 static inline void sets_put_exactly(co_u16 *to, __mmask32 kept, __m512i v)
{
    _mm512_mask_storeu_epi16(to, (__mmask32)((1ull << __builtin_popcount(kept)) - 1),
                             _mm512_maskz_compress_epi16(kept, v));
}

static const unsigned char sets_places[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                              16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                              32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                              48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

AVX512 static inline co_u32 sets_put_places(co_u16 *to, co_u64 word, co_u32 base)
{
    const co_u32 ones = (co_u32)__builtin_popcountll(word);
    const __m512i at = _mm512_set1_epi16((short)base);
    __m512i v = _mm512_maskz_compress_epi8(word, _mm512_loadu_si512(sets_places));
    _mm512_storeu_si512(to, _mm512_add_epi16(at, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(v))));
    if (ones > 32)
        _mm512_storeu_si512(to + 32,
                            _mm512_add_epi16(at, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(v, 1))));
    return ones;
}

struct sets_tally {
    __m512i sum;
};

AVX512 static inline struct sets_tally sets_tally_begin(void)
{
    struct sets_tally t = {_mm512_setzero_si512()};
    return t;
}

/* The ones of each 64 bits. */
AVX512 static inline __m512i sets_ones(__m512i v)
{
    return _mm512_popcnt_epi64(v);
}

AVX512 static inline void sets_tally_eight(struct sets_tally *t, const __m512i *v)
{
#    pragma GCC unroll 8
    for (co_u32 k = 0; k < 8; k++)
        t->sum = _mm512_add_epi64(t->sum, sets_ones(v[k]));
}

AVX512 static inline co_u32 sets_tally_end(const struct sets_tally *t)
{
    return (co_u32)_mm512_reduce_add_epi64(t->sum);
}
#else
/* 16 of them, as numbers of 32 bits, which AVX-512 compresses. */
AVX512 static inline __m256i sets_kept_half(__mmask16 kept, __m512i v)
{
    return _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(kept, v));
}

AVX512 static inline void sets_put(co_u16 *to, __mmask32 kept, __m512i v)
{
    const __mmask16 low = (__mmask16)kept, high = (__mmask16)(kept >> 16);
    __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(v));
    __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(v, 1));
    _mm256_storeu_si256((__m256i *)(void *)to, sets_kept_half(low, first));
    _mm256_storeu_si256((__m256i *)(void *)(to + __builtin_popcount(low)), sets_kept_half(high, second));
}

AVX512 static inline void sets_put_exactly(co_u16 *to, __mmask32 kept, __m512i v)
{
    const co_u32 low = (co_u32)__builtin_popcount(kept & 0xffff),
                 high = (co_u32)__builtin_popcount(kept >> 16);
    __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(v));
    __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(v, 1));
    _mm256_mask_storeu_epi16(to, (__mmask16)((1u << low) - 1), sets_kept_half((__mmask16)kept, first));
    _mm256_mask_storeu_epi16(to + low, (__mmask16)((1u << high) - 1),
                             sets_kept_half((__mmask16)(kept >> 16), second));
}

AVX512 static inline co_u32 sets_put_places(co_u16 *to, co_u64 word, co_u32 base)
{
    const __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    co_u32 n = 0;
    for (co_u32 i = 0; i < 64; i += 16) {
        const __mmask16 part = (__mmask16)(word >> i);
        __m512i at = _mm512_add_epi32(places, _mm512_set1_epi32((int)(base + i)));
        _mm256_storeu_si256((__m256i *)(void *)(to + n), sets_kept_half(part, at));
        n += (co_u32)__builtin_popcount(part);
    }
    return n;
}

/* The ones of each 64 bits, by a table of the ones of four bits (Mula). */
AVX512 static inline __m512i sets_ones(__m512i v)
{
    const __m512i four = _mm512_set1_epi8(15);
    const __m512i table =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    __m512i low = _mm512_shuffle_epi8(table, _mm512_and_si512(v, four));
    __m512i high = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(v, 4), four));
    return _mm512_sad_epu8(_mm512_add_epi8(low, high), _mm512_setzero_si512());
}

/* Full adders put what three bits at a place come to into that place and the next one (Harley and Seal): of
 * eight vectors one is left to be counted, and what is carried on. */
struct sets_tally {
    __m512i sum, ones, twos, fours;
};

AVX512 static inline struct sets_tally sets_tally_begin(void)
{
    const __m512i zero = _mm512_setzero_si512();
    struct sets_tally t = {zero, zero, zero, zero};
    return t;
}

/* *to becomes the lower bits of *to + a + b; gives back the upper ones. */
AVX512 static inline __m512i sets_added(__m512i *to, __m512i a, __m512i b)
{
    const __m512i c = *to;
    *to = _mm512_ternarylogic_epi64(a, b, c, 0x96);
    return _mm512_ternarylogic_epi64(a, b, c, 0xe8);
}

AVX512 static inline void sets_tally_eight(struct sets_tally *t, const __m512i *v)
{
    __m512i two = sets_added(&t->ones, v[0], v[1]), more = sets_added(&t->ones, v[2], v[3]);
    const __m512i four = sets_added(&t->twos, two, more);
    two = sets_added(&t->ones, v[4], v[5]);
    more = sets_added(&t->ones, v[6], v[7]);
    const __m512i eight = sets_added(&t->fours, four, sets_added(&t->twos, two, more));
    t->sum = _mm512_add_epi64(t->sum, sets_ones(eight));
}

AVX512 static inline co_u32 sets_tally_end(const struct sets_tally *t)
{
    __m512i sum = _mm512_slli_epi64(t->sum, 3);
    sum = _mm512_add_epi64(sum, _mm512_slli_epi64(sets_ones(t->fours), 2));
    sum = _mm512_add_epi64(sum, _mm512_slli_epi64(sets_ones(t->twos), 1));
    return (co_u32)_mm512_reduce_add_epi64(_mm512_add_epi64(sum, sets_ones(t->ones)));
}
#endif

/* ---- order --------------------------------------------------------------------------------------------- */

/* The places of neighbours: the number before, and the one after, among two vectors; and the turned order. */
static const co_u16 sets_places_before[32] = {63, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                              15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
static const co_u16 sets_places_after[32] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                             17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
static const co_u16 sets_places_back[32] = {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                            15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0};

/* A bitonic sequence of 32, in order: halves by halves, the lesser of each two to the lower place. */
AVX512 static inline __m512i sets_in_order(__m512i v)
{
    __m512i w = _mm512_shuffle_i64x2(v, v, 0x4e);
    v = _mm512_mask_max_epu16(_mm512_min_epu16(v, w), 0xffff0000, v, w);
    w = _mm512_shuffle_i64x2(v, v, 0xb1);
    v = _mm512_mask_max_epu16(_mm512_min_epu16(v, w), 0xff00ff00, v, w);
    w = _mm512_shuffle_epi32(v, 0x4e);
    v = _mm512_mask_max_epu16(_mm512_min_epu16(v, w), 0xf0f0f0f0, v, w);
    w = _mm512_shuffle_epi32(v, 0xb1);
    v = _mm512_mask_max_epu16(_mm512_min_epu16(v, w), 0xcccccccc, v, w);
    w = _mm512_rol_epi32(v, 16);
    return _mm512_mask_max_epu16(_mm512_min_epu16(v, w), 0xaaaaaaaa, v, w);
}

#endif
