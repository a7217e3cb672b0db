/* sets_entries.c: see sets_entries.h.
 *
 * With AVX-512. Of an array each vector of 32 members is read twice, the second time one member before, and
 * compared with what it is read beside; of a bitmap each is counted. Digests: bit v >> 10 of each member v,
 * eight shifts at once; where an array has many members the first and the last of 32 tell of them all, since
 * they are in the same 1,024 or in two side by side. What is less than a vector is read by a mask, which
 * touches nothing behind the entries, and filled up with the last number, which changes no digest. */
#include "sets_entries.h"

#include <string.h>

static co_u32 get16(const unsigned char *p)
{
    return p[0] | (co_u32)p[1] << 8;
}

/* The members of an array or of runs; their number. */
static co_u32 members_of(const struct roaring_container *c, co_u16 *to)
{
    co_u32 n = 0;
    if (c->kind == ROARING_ARRAY) {
        memcpy(to, c->at, 2 * c->entries);
        return c->entries;
    }
    for (co_u32 i = 0; i < c->entries; i++)
        for (co_u32 v = get16(c->at + 4 * i), last = v + get16(c->at + 4 * i + 2); v <= last; v++)
            to[n++] = (co_u16)v;
    return n;
}

void sets_entries_put(const struct roaring_container *c, co_u32 kind, co_u16 *to)
{
    co_u64 *words = (co_u64 *)(void *)to;
    if (kind == CO_CHUNK_ARRAY) {
        sets_pad(to, members_of(c, to));
    } else if (kind == CO_CHUNK_RUNS) {
        memcpy(to, c->at, 4 * c->entries);
        sets_pad(to, 2 * c->entries);
    } else if (c->kind == ROARING_BITMAP) {
        memcpy(words, c->at, CO_CHUNK_BYTES);
    } else {
        memset(words, 0, CO_CHUNK_BYTES);
        for (co_u32 i = 0; i < c->entries; i++)
            sets_bitmap_set(words, get16(c->at + 4 * i), get16(c->at + 4 * i) + get16(c->at + 4 * i + 2));
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq")))

#    define CLOSE 2048u /* an array of so many members has few vectors of 32 that reach over three 1,024s */

/* The 1,024s of 32 members. */
AVX512 static inline __m512i bits_of(__m512i members)
{
    const __m512i one = _mm512_set1_epi64(1), high = _mm512_srli_epi16(members, 10);
    __m512i a = _mm512_sllv_epi64(one, _mm512_cvtepu16_epi64(_mm512_castsi512_si128(high)));
    __m512i b = _mm512_sllv_epi64(one, _mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(high, 1)));
    __m512i c = _mm512_sllv_epi64(one, _mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(high, 2)));
    __m512i d = _mm512_sllv_epi64(one, _mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(high, 3)));
    return _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
}

AVX512 static int take_array(const unsigned char *p, co_u32 n, co_u16 *to, co_u64 *digest)
{
    __m512i bits = _mm512_setzero_si512();
    __mmask32 falls = 0, not_first = ~1u; /* nothing is before the first */
    co_u64 ends = 0;
    co_u32 i = 0;
    for (; i + 32 <= n; i += 32, not_first = ~0u) {
        __m512i v = _mm512_loadu_si512(p + 2 * i);
        __m512i before = _mm512_maskz_loadu_epi16(not_first, p + 2 * i - 2);
        falls |= _mm512_mask_cmple_epu16_mask(not_first, v, before);
        _mm512_storeu_si512(to + i, v);
        co_u32 first = get16(p + 2 * i) >> 10, last = get16(p + 2 * i + 62) >> 10;
        if (n >= CLOSE && last <= first + 1)
            ends |= 1ull << first | 1ull << last;
        else
            bits = _mm512_or_si512(bits, bits_of(v));
    }
    if (i < n) {
        __mmask32 there = (1u << (n - i)) - 1, whole = (__mmask32)((1ull << ((n - i + 7) & ~7u)) - 1);
        __m512i last = _mm512_set1_epi16((short)get16(p + 2 * n - 2));
        __m512i v = _mm512_mask_loadu_epi16(last, there, p + 2 * i);
        __m512i before = _mm512_maskz_loadu_epi16(there & not_first, p + 2 * i - 2);
        falls |= _mm512_mask_cmple_epu16_mask(there & not_first, v, before);
        _mm512_mask_storeu_epi16(to + i, whole, v);
        bits = _mm512_or_si512(bits, bits_of(v));
    }
    *digest = ends | (co_u64)_mm512_reduce_or_epi64(bits);
    return !falls;
}

/* How many members; the digest. */
AVX512 static co_u32 take_bitmap(const unsigned char *p, co_u16 *to, co_u64 *digest)
{
    __m512i ones = _mm512_setzero_si512();
    *digest = 0;
    for (co_u32 i = 0; i < 64; i++) {
        __m512i a = _mm512_loadu_si512(p + 128 * i), b = _mm512_loadu_si512(p + 128 * i + 64);
        __m512i any = _mm512_or_si512(a, b);
        _mm512_storeu_si512(to + 64 * i, a);
        _mm512_storeu_si512(to + 64 * i + 32, b);
        ones = _mm512_add_epi64(ones, _mm512_popcnt_epi64(a));
        ones = _mm512_add_epi64(ones, _mm512_popcnt_epi64(b));
        *digest |= (co_u64)(_mm512_test_epi64_mask(any, any) != 0) << i;
    }
    return (co_u32)_mm512_reduce_add_epi64(ones);
}

/* The 1,024s from each start to its end, of eight runs. */
AVX512 static inline __m512i bits_between(__m256i first, __m256i last)
{
    __m512i low = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_cvtepu32_epi64(first));
    return _mm512_sub_epi64(_mm512_sllv_epi64(_mm512_set1_epi64(2), _mm512_cvtepu32_epi64(last)), low);
}

/* Runs, which are right. */
AVX512 static void take_runs(const unsigned char *p, co_u32 runs, co_u16 *to, co_u64 *digest)
{
    __m512i bits = _mm512_setzero_si512();
    for (co_u32 i = 0; i < runs; i += 16) {
        co_u32 left = runs - i < 16 ? runs - i : 16;
        __mmask16 there = (__mmask16)((1u << left) - 1), whole = (__mmask16)((1u << ((left + 3) & ~3u)) - 1);
        __m512i v = _mm512_maskz_loadu_epi32(there, p + 4 * i);
        __m512i first = _mm512_and_si512(v, _mm512_set1_epi32(0xffff));
        __m512i last = _mm512_srli_epi32(_mm512_add_epi32(first, _mm512_srli_epi32(v, 16)), 10);
        first = _mm512_srli_epi32(first, 10);
        __m512i some = bits_between(_mm512_castsi512_si256(first), _mm512_castsi512_si256(last));
        bits = _mm512_or_si512(bits, _mm512_maskz_mov_epi64((__mmask8)there, some));
        if (left > 8) {
            some = bits_between(_mm512_extracti64x4_epi64(first, 1), _mm512_extracti64x4_epi64(last, 1));
            bits = _mm512_or_si512(bits, _mm512_maskz_mov_epi64((__mmask8)(there >> 8), some));
        }
        v = _mm512_mask_mov_epi32(_mm512_set1_epi16((short)get16(p + 4 * runs - 2)), there, v);
        _mm512_mask_storeu_epi32(to + 2 * i, whole, v);
    }
    *digest = (co_u64)_mm512_reduce_or_epi64(bits);
}

int sets_entries_take(const struct roaring_container *c, co_u16 *to, co_u64 *digest)
{
    if (c->kind == ROARING_ARRAY)
        return take_array(c->at, c->entries, to, digest);
    if (c->kind == ROARING_BITMAP)
        return take_bitmap(c->at, to, digest) == c->card;
    take_runs(c->at, c->entries, to, digest);
    return 1;
}
#else /* roaring_vectors() is 0, and nobody calls it */
int sets_entries_take(const struct roaring_container *c, co_u16 *to, co_u64 *digest)
{
    (void)c;
    (void)to;
    (void)digest;
    return 0;
}
#endif
