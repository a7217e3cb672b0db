/* cpu/sets_network.h: 32 numbers put in order with AVX-512, as the merges of sets use it. */
#ifndef COHORT_CPU_SETS_NETWORK_H
#define COHORT_CPU_SETS_NETWORK_H

#include "sets_vector.h"

#if CPU_VECTORS
#    include <immintrin.h>

#    define AVX512      \
        __attribute__(( \
            target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi2,bmi,bmi2,popcnt")))

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

#endif
