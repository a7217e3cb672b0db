/* split_planes.c: counting the entries of few buckets, where the processor has AVX-512 with counts of bits.
 *
 * One bit of the bucket numbers of 64 entries makes a word, a plane of them. Which of these entries are of a
 * bucket is a word as well: the planes, each turned where the bucket's number has no one, and-ed together;
 * and its ones are the bucket's entries. A vector has the words of eight buckets, whose numbers differ in the
 * three lowest bits; and each higher plane divides every vector into two. So nothing is counted in memory,
 * where a count waits for the one before. */
#include "split.h"

#if defined(__x86_64__)
#    include <immintrin.h>
#    define AVX512    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq")))
#    define LINE      64u
#    define TOGETHER  64u /* entries */
#    define LANES     8u
#    define LANE_BITS 3u
#    define NOINLINE  __attribute__((noinline))

int cpu_planes_fit(const struct cpu_pass *p)
{
    return p->level == CPU_AVX512 && p->buckets <= CPU_PLANES_MOST && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}

/* `some` of 64 bucket numbers, a byte each. */
AVX512 CO_INLINE __m512i numbers_of(const co_u16 *digits, co_u64 some)
{
    __m512i low = _mm512_maskz_loadu_epi16((__mmask32)some, digits),
            high = _mm512_maskz_loadu_epi16((__mmask32)(some >> 32), digits + TOGETHER / 2);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)), _mm512_cvtepi16_epi8(high),
                              1);
}

/* In every lane: which numbers have bit b set. */
AVX512 CO_INLINE __m512i plane(__m512i numbers, co_u32 b)
{
    return _mm512_set1_epi64((long long)_mm512_test_epi8_mask(numbers, _mm512_set1_epi8((char)(1u << b))));
}

/* Lane i: all ones where bit b of i is not set. */
AVX512 CO_INLINE __m512i clear_of(co_u32 b)
{
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), one = _mm512_set1_epi64(1);
    return _mm512_sub_epi64(_mm512_and_si512(_mm512_srli_epi64(lane, b), one), one);
}

/* Lane i of vector v: which of `some` entries, if they have a bucket at all, are of bucket LANES * v + i. */
AVX512 CO_INLINE void entries_of(__m512i numbers, co_u64 some, co_u32 buckets, co_u32 bits, __m512i *of)
{
    of[0] = _mm512_set1_epi64(
        (long long)_mm512_mask_cmplt_epu8_mask(some, numbers, _mm512_set1_epi8((char)buckets)));
#    pragma GCC unroll 3
    for (co_u32 b = 0; b < LANE_BITS; b++) /* 0x60: the first, and what of the others is not alike */
        of[0] = _mm512_ternarylogic_epi64(of[0], plane(numbers, b), clear_of(b), 0x60);
#    pragma GCC unroll 4
    for (co_u32 b = LANE_BITS; b < bits; b++) {
        const co_u32 vectors = 1u << (b - LANE_BITS);
        const __m512i set = plane(numbers, b);
#    pragma GCC unroll 16
        for (co_u32 v = 0; v < vectors; v++) {
            of[v + vectors] = _mm512_and_si512(set, of[v]);
            of[v] = _mm512_andnot_si512(set, of[v]);
        }
    }
}

/* Adds a chunk's to the sums of 1 << bits buckets. */
AVX512 CO_INLINE void count(const struct cpu_pass *p, const co_u16 *digits, co_u32 entries, const char *ahead,
                            co_u32 bytes, co_u32 bits, co_u64 *sums)
{
    const co_u32 vectors = 1u << (bits - LANE_BITS);
    __m512i sum[CPU_PLANES_MOST / LANES], of[CPU_PLANES_MOST / LANES];
#    pragma GCC unroll 16
    for (co_u32 v = 0; v < vectors; v++)
        sum[v] = _mm512_loadu_si512(sums + LANES * v);
    for (co_u32 i = 0; i < entries; i += TOGETHER) {
        for (co_u32 line = 0; line < TOGETHER * bytes; line += LINE)
            __builtin_prefetch(ahead + (size_t)i * bytes + line, 0, 2);
        const co_u64 some = entries - i < TOGETHER ? (1ull << (entries - i)) - 1 : ~0ull;
        entries_of(numbers_of(digits + i, some), some, p->buckets, bits, of);
#    pragma GCC unroll 16
        for (co_u32 v = 0; v < vectors; v++)
            sum[v] = _mm512_add_epi64(sum[v], _mm512_popcnt_epi64(of[v]));
    }
#    pragma GCC unroll 16
    for (co_u32 v = 0; v < vectors; v++)
        _mm512_storeu_si512(sums + LANES * v, sum[v]);
}

#    define COUNT(bits)                                                                           \
        AVX512 static NOINLINE void count_##bits(const struct cpu_pass *p, const co_u16 *digits,  \
                                                 co_u32 entries, const char *ahead, co_u32 bytes, \
                                                 co_u64 *sums)                                    \
        {                                                                                         \
            count(p, digits, entries, ahead, bytes, bits, sums);                                  \
        }
COUNT(3)
COUNT(4)
COUNT(5)
COUNT(6)
COUNT(7)

void cpu_planes_count(const struct cpu_pass *p, const co_u16 *digits, co_u32 entries, const char *ahead,
                      co_u32 bytes, co_u64 *sums)
{
    (p->buckets <= 8    ? count_3
     : p->buckets <= 16 ? count_4
     : p->buckets <= 32 ? count_5
     : p->buckets <= 64 ? count_6
                        : count_7)(p, digits, entries, ahead, bytes, sums);
}
#else
int cpu_planes_fit(const struct cpu_pass *p)
{
    (void)p;
    return 0;
}

void cpu_planes_count(const struct cpu_pass *p, const co_u16 *digits, co_u32 entries, const char *ahead,
                      co_u32 bytes, co_u64 *sums)
{
    (void)p;
    (void)digits;
    (void)entries;
    (void)ahead;
    (void)bytes;
    (void)sums;
}
#endif
