/* cpu/sets_vector_512.h: the inner loops of sets with AVX-512, for sets_avx512.c and sets_avx512_bw.c.
 *
 * Arrays: each number of the one is compared with a block of 32 of the other at once; blocks whose last is
 * below are skipped (the "shuffling" intersections of Katsogridakis, Schlegel and Lemire compare 8 with 8;
 * with AVX-512 one with 32 needs no permutation, and skips more where one array is longer). Of short arrays
 * of like lengths a block's hits are put together over all numbers that may be in it, and looked at once;
 * longer ones are compared eight by eight (sets_eights.h): no branch is guessed.
 * Bitmaps: the operation, the count and the digest in one pass. Members of a bitmap: a vector of numbers,
 * compressed by a word of the bitmap at a time.
 *
 * OR and XOR of arrays: 32 numbers of each are merged by a bitonic network (Batcher); the lower 32 are next
 * in order, the upper ones are merged with the next 32 of the array whose next number is less. Numbers in
 * both arrays come out side by side: OR keeps what differs from the number before, XOR what differs from
 * both neighbours. Behind an array's end stand greatest numbers, which come last and are not counted. */
#ifndef COHORT_CPU_SETS_VECTOR_512_H
#define COHORT_CPU_SETS_VECTOR_512_H

#include "sets_change.h"
#include "set_lines_512.h"
#include "sets_lists.h"
#include "sets_network.h"

#define EIGHTS AVX512
#include "sets_eights.h"

/* Blocks of 32 of an array. */
struct block {
    __m512i v;
    __mmask32 there;
    co_u32 last, at;
};

AVX512 static inline struct block block_at(const co_u16 *b, co_u32 m, co_u32 at)
{
    struct block k;
    k.at = at;
    k.there = m - at >= 32 ? ~0u : (1u << (m - at)) - 1;
    k.v = _mm512_maskz_loadu_epi16(k.there, b + at);
    k.last = b[m - at >= 32 ? at + 31 : m - 1];
    return k;
}

/* The block behind `at` that v may be in, or the last one. */
AVX512 static inline struct block block_for(const co_u16 *b, co_u32 m, co_u32 at, co_u32 v)
{
    do
        at = at + 32 < m ? at + 32 : at;
    while (at + 32 < m && b[at + 31] < v);
    return block_at(b, m, at);
}

/* Those of a that are in b, or are not: the turns are the numbers of a. */
AVX512 static inline co_u32 singles_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep,
                                        co_u16 *to)
{
    co_u32 kept = 0, i = 0;
    if (m) {
        struct block k = block_at(b, m, 0);
        for (; i < n; i++) {
            co_u32 v = a[i];
            if (v > k.last) {
                k = block_for(b, m, k.at, v);
                if (v > k.last)
                    break;
            }
            int hit = _mm512_mask_cmpeq_epi16_mask(k.there, k.v, _mm512_set1_epi16((short)v)) != 0;
            if (to)
                to[kept] = (co_u16)v;
            kept += (co_u32)(hit == keep);
        }
    }
    if (!keep) { /* all that are left are above all of b */
        if (to)
            __builtin_memmove(to + kept, a + i, (n - i) * sizeof *a);
        kept += n - i;
    }
    return kept;
}

AVX512 static co_u32 singles_512(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    if (!to)
        return keep ? singles_any(a, n, b, m, 1, NULL) : singles_any(a, n, b, m, 0, NULL);
    return keep ? singles_any(a, n, b, m, 1, to) : singles_any(a, n, b, m, 0, to);
}

/* Numbers in all lanes. A load makes a vector of 32 bits in memory; of 16 bits it takes the port that also
 * compares. So numbers stand twice, side by side, 32 at a time. */
AVX512 static inline void twice_of(__m512i v, co_u32 *to)
{
    __m512i lower = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(v));
    __m512i upper = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(v, 1));
    _mm512_store_si512(to, _mm512_or_si512(lower, _mm512_slli_epi32(lower, 16)));
    _mm512_store_si512(to + 16, _mm512_or_si512(upper, _mm512_slli_epi32(upper, 16)));
}

AVX512 static inline __mmask32 equal_to(__m512i v, const co_u32 *twice)
{
    return _mm512_cmpeq_epi16_mask(v, _mm512_set1_epi32((int)*twice));
}

AVX512 static inline __mmask32 eight_of(__m512i v, const co_u32 *twice)
{
    __mmask32 hit = 0;
    for (co_u32 i = 0; i < 8; i++)
        hit |= equal_to(v, twice + i);
    return hit;
}

/* Those of x that are in y, or are not: the turns are blocks of x, and all of y that is not above a block's
 * last is compared with the block. `to` may be either array. */
AVX512 static inline co_u32 blocks_any(const co_u16 *x, co_u32 n, const co_u16 *y, co_u32 m, int keep,
                                       co_u16 *to)
{
    co_u32 kept = 0, j = 0;
    for (co_u32 at = 0; at < n; at += 32) {
        struct block k = block_at(x, n, at);
        __mmask32 hit = 0;
        co_u32 below = 32;
        while (below == 32 && m - j >= 32) {
            _Alignas(64) co_u32 twice[32];
            __m512i w = _mm512_loadu_si512(y + j), last = _mm512_set1_epi16((short)k.last);
            twice_of(w, twice);
            below = (co_u32)__builtin_popcount(_mm512_cmple_epu16_mask(w, last));
            for (co_u32 i = 0; i < below; i += 8)
                hit |= eight_of(k.v, twice + i);
            j += below;
        }
        for (; below == 32 && j < m && y[j] <= k.last; j++)
            hit |= _mm512_cmpeq_epi16_mask(k.v, _mm512_set1_epi16((short)y[j]));
        hit = (keep ? hit : ~hit) & k.there;
        if (to)
            sets_put_exactly(to + kept, hit, k.v);
        kept += (co_u32)__builtin_popcount(hit);
    }
    return kept;
}

AVX512 static co_u32 blocks_512(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    if (!to)
        return keep ? blocks_any(a, n, b, m, 1, NULL) : blocks_any(a, n, b, m, 0, NULL);
    return keep ? blocks_any(a, n, b, m, 1, to) : blocks_any(a, n, b, m, 0, to);
}

/* The last numbers of an array's blocks of 32, four blocks together: of the first, the second, the third and
 * the last of each four. */
struct lasts {
    _Alignas(64) co_u16 of[4][32];
};

#define SOUGHT_LEAST 32u  /* numbers for which the lasts of all blocks are worth to be gathered */
#define SOUGHT_ROUND 256u /* numbers whose blocks are found before the first of them is compared */

/* Behind the array's end greatest numbers: a search that ends there finds a block without the number. */
AVX512 static inline void lasts_of(const co_u16 *b, co_u32 m, struct lasts *l)
{
    co_u32 blocks = m / 32, k = 0;
    for (co_u32 i = 0; i < 4; i++)
        _mm512_store_si512(l->of[i], _mm512_set1_epi16(-1));
    for (; k + 4 <= blocks; k += 4)
        for (co_u32 i = 0; i < 4; i++)
            l->of[i][k / 4] = b[32 * (k + i) + 31];
    for (; k < blocks; k++)
        l->of[k % 4][k / 4] = b[32 * k + 31];
}

/* Of 32 numbers where the 32 of the array begin that each is among, if it is there at all: how many blocks
 * end below, by halves in all lanes at once, and then among four. */
AVX512 static inline __m512i blocks_for(__m512i v, const struct lasts *l, co_u32 m)
{
    const __m512i coarse = _mm512_load_si512(l->of[3]), one = _mm512_set1_epi16(1);
    __m512i at = _mm512_setzero_si512();
    for (short step = 16; step; step = (short)(step / 2)) {
        __m512i here = _mm512_add_epi16(at, _mm512_set1_epi16((short)(step - 1)));
        __mmask32 below = _mm512_cmplt_epu16_mask(_mm512_permutexvar_epi16(here, coarse), v);
        at = _mm512_mask_add_epi16(at, below, at, _mm512_set1_epi16(step));
    }
    __m512i first = _mm512_permutexvar_epi16(at, _mm512_load_si512(l->of[0]));
    __m512i second = _mm512_permutexvar_epi16(at, _mm512_load_si512(l->of[1]));
    __m512i third = _mm512_permutexvar_epi16(at, _mm512_load_si512(l->of[2]));
    __mmask32 half = _mm512_cmplt_epu16_mask(second, v);
    __mmask32 rest = _mm512_cmplt_epu16_mask(_mm512_mask_mov_epi16(first, half, third), v);
    at = _mm512_slli_epi16(at, 2);
    at = _mm512_mask_add_epi16(at, half, at, _mm512_set1_epi16(2));
    at = _mm512_mask_add_epi16(at, rest, at, one);
    return _mm512_min_epu16(_mm512_slli_epi16(at, 5), _mm512_set1_epi16((short)(m - 32)));
}

/* Numbers that are sought: each twice, where its block begins, and what of the block is equal to it. */
struct sought {
    _Alignas(64) co_u32 twice[SOUGHT_ROUND];
    _Alignas(64) co_u32 equal[SOUGHT_ROUND];
    _Alignas(64) co_u16 from[SOUGHT_ROUND];
};

AVX512 static inline void sought_equal(const co_u16 *a, co_u32 count, const co_u16 *b, co_u32 m,
                                       const struct lasts *l, struct sought *s)
{
    for (co_u32 at = 0; at < count; at += 32) {
        __m512i v = block_at(a, count, at).v;
        twice_of(v, s->twice + at);
        _mm512_store_si512(s->from + at, blocks_for(v, l, m));
    }
    for (co_u32 i = 0; i < count; i++)
        _store_mask32(s->equal + i, equal_to(_mm512_loadu_si512(b + s->from[i]), s->twice + i));
}

/* Those of a that are in b, or are not, each sought by itself: nothing waits for the number before. All of a
 * round find their blocks, then all are compared, then what was equal is looked at: what a step stores is
 * there when the next one loads it. */
AVX512 static inline co_u32 sought_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep,
                                       co_u16 *to)
{
    struct lasts l;
    struct sought s;
    co_u32 kept = 0;
    lasts_of(b, m, &l);
    for (co_u32 done = 0, count; done < n; done += count) {
        count = n - done < SOUGHT_ROUND ? n - done : SOUGHT_ROUND;
        sought_equal(a + done, count, b, m, &l, &s);
        for (co_u32 at = 0; at < count; at += 32) {
            struct block k = block_at(a + done, count, at);
            __m512i x = _mm512_load_si512(s.equal + at), y = _mm512_load_si512(s.equal + at + 16);
            __mmask32 hit = _mm512_test_epi32_mask(x, x) | (co_u32)_mm512_test_epi32_mask(y, y) << 16;
            hit = (keep ? hit : ~hit) & k.there;
            if (to)
                sets_put_exactly(to + kept, hit, k.v);
            kept += (co_u32)__builtin_popcount(hit);
        }
    }
    return kept;
}

AVX512 static co_u32 sought_512(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    return to ? sought_any(a, n, b, m, keep, to) : sought_any(a, n, b, m, keep, NULL);
}

#define EIGHTS_LEAST 512u /* numbers of the shorter array from which on eight by eight is less work */
#define BLOCKS_SKEW  4u   /* times as many in the long array, from which on the short one's are the turns */

/* What both have is found from either side. What is put down eight by eight may lie over numbers that are
 * still to be read: not where `to` is a. */
AVX512 static co_u32 filter_512(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    const co_u32 longer = m > n ? m : n, shorter = m > n ? n : m;
    const int skewed = (keep || n < m) && longer / BLOCKS_SKEW >= shorter;
    if (skewed && shorter >= SOUGHT_LEAST && longer <= SETS_ARRAY_MOST)
        return n < m ? sought_512(a, n, b, m, keep, to) : sought_512(b, m, a, n, 1, to);
    if (skewed)
        return keep && m < n ? singles_512(b, m, a, n, 1, to) : singles_512(a, n, b, m, keep, to);
    if (shorter >= EIGHTS_LEAST && to != a)
        return eights(a, n, b, m, keep, to);
    return keep && m >= n ? blocks_512(b, m, a, n, 1, to) : blocks_512(a, n, b, m, keep, to);
}

/* Eight vectors at a time, which are four bits of the digest. */
AVX512 static inline struct sets_measure words_any(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op,
                                                   int past)
{
    struct sets_measure m = {0, 0, 0};
    struct sets_tally tally = sets_tally_begin();
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i += 64) {
        __m512i w[8];
#pragma GCC unroll 8
        for (co_u32 k = 0; k < 8; k++) {
            __m512i x = _mm512_loadu_si512(a + i + 8 * k), y = _mm512_loadu_si512(b + i + 8 * k);
            w[k] = op == SETS_AND      ? _mm512_and_si512(x, y)
                   : op == SETS_OR     ? _mm512_or_si512(x, y)
                   : op == SETS_ANDNOT ? _mm512_andnot_si512(y, x)
                                       : _mm512_xor_si512(x, y);
            if (to && past)
                _mm512_stream_si512((void *)(to + i + 8 * k), w[k]);
            else if (to)
                _mm512_storeu_si512(to + i + 8 * k, w[k]);
        }
#pragma GCC unroll 4
        for (co_u32 k = 0; k < 8; k += 2) {
            __m512i some = _mm512_or_si512(w[k], w[k + 1]);
            m.digest |= (co_u64)(_mm512_test_epi64_mask(some, some) != 0) << (i / 16 + k / 2);
        }
        sets_tally_eight(&tally, w);
    }
    m.card = sets_tally_end(&tally);
    return m;
}

AVX512 static inline __attribute__((always_inline)) struct sets_measure
words_by(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op, int past)
{
    switch (op) {
    case SETS_AND:
        return to ? words_any(to, a, b, SETS_AND, past) : words_any(NULL, a, b, SETS_AND, past);
    case SETS_OR:
        return words_any(to, a, b, SETS_OR, past);
    case SETS_ANDNOT:
        return words_any(to, a, b, SETS_ANDNOT, past);
    default:
        return words_any(to, a, b, SETS_XOR, past);
    }
}

AVX512 static struct sets_measure words_512(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    return words_by(to, a, b, op, 0);
}

AVX512 static struct sets_measure words_past_512(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    return words_by(to, a, b, op, 1);
}

/* Words of no bits are passed over. */
AVX512 static co_u32 members_512(const co_u64 *words, co_u64 digest, co_u16 *to)
{
    co_u32 n = 0;
    for (; digest; digest &= digest - 1) {
        const co_u32 first = (co_u32)__builtin_ctzll(digest) * 16;
        __m512i x = _mm512_loadu_si512(words + first), y = _mm512_loadu_si512(words + first + 8);
        co_u32 some = _mm512_test_epi64_mask(x, x) | (co_u32)_mm512_test_epi64_mask(y, y) << 8;
        for (; some; some &= some - 1) {
            co_u32 i = first + (co_u32)__builtin_ctz(some);
            n += sets_put_places(to + n, words[i], i * 64);
        }
    }
    return n;
}

/* The next 32 of an array, greatest numbers behind its end. */
AVX512 static inline __m512i next_block(const co_u16 *a, co_u32 n, co_u32 *at)
{
    co_u32 left = n - *at, take = left < 32 ? left : 32;
    __mmask32 there = take == 32 ? ~0u : (1u << take) - 1;
    __m512i v = _mm512_mask_loadu_epi16(_mm512_set1_epi16(-1), there, a + *at);
    *at += take;
    return v;
}

/* Numbers [at, at + 32) of `total` in order: those that are kept, given the 32 before and the 32 after. */
AVX512 static inline co_u32 put_merged(int both, __m512i before, __m512i v, __m512i after, co_u32 at,
                                       co_u32 total, co_u16 *to)
{
    co_u32 left = total - at;
    __mmask32 kept = left < 32 ? (1u << left) - 1 : ~0u;
    __m512i other = _mm512_permutex2var_epi16(v, _mm512_loadu_si512(sets_places_before), before);
    kept &= _mm512_cmpneq_epi16_mask(v, other) | (at ? 0 : 1);
    if (!both) {
        other = _mm512_permutex2var_epi16(v, _mm512_loadu_si512(sets_places_after), after);
        kept &= _mm512_cmpneq_epi16_mask(v, other) | (left <= 32 ? 1u << (left - 1) : 0);
    }
    sets_put(to, kept, v);
    return (co_u32)__builtin_popcount(kept);
}

AVX512 static inline co_u32 merge_any(int both, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m,
                                      co_u16 *to)
{
    const __m512i back = _mm512_loadu_si512(sets_places_back);
    co_u32 i = 0, j = 0, k = 0, total = n + m, at = 0;
    __m512i upper = next_block(a, n, &i), next = next_block(b, m, &j), before = upper, v = upper;
    for (co_u32 done = 0; done < total + 32; done += 32) { /* a turn later each is put down */
        __m512i turned = _mm512_permutexvar_epi16(back, next);
        __m512i lower = sets_in_order(_mm512_min_epu16(upper, turned));
        upper = sets_in_order(_mm512_max_epu16(upper, turned));
        if (done) {
            k += put_merged(both, before, v, lower, at, total, to + k);
            at += 32;
        }
        before = v;
        v = lower;
        co_u32 x = i < n ? a[i] : 0x10000, y = j < m ? b[j] : 0x10000;
        if (x < y)
            next = next_block(a, n, &i);
        else
            next = next_block(b, m, &j);
    }
    return k;
}

AVX512 static co_u32 merge_512(co_u32 op, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, co_u16 *to)
{
    return op == SETS_OR ? merge_any(1, a, n, b, m, to) : merge_any(0, a, n, b, m, to);
}

AVX512 static inline __m512i parts_of(const co_u16 *a, __mmask8 there)
{
    __m512i v = _mm512_cvtepu16_epi64(_mm_maskz_loadu_epi16(there, a));
    return _mm512_maskz_sllv_epi64(there, _mm512_set1_epi64(1), _mm512_srli_epi64(v, 10));
}

/* Of 32 numbers that lie in one part of the chunk, or two parts side by side, the ends tell. */
AVX512 static co_u64 digest_512(const co_u16 *a, co_u32 n)
{
    __m512i all = _mm512_setzero_si512();
    co_u64 ends = 0;
    co_u32 at = 0;
    for (; n - at >= 32; at += 32) {
        const co_u32 first = a[at] >> 10, last = a[at + 31] >> 10;
        ends |= 1ull << first | 1ull << last;
        for (co_u32 i = at; last > first + 1 && i < at + 32; i += 8)
            all = _mm512_or_si512(all, parts_of(a + i, 0xff));
    }
    for (; at < n; at += 8)
        all = _mm512_or_si512(all, parts_of(a + at, n - at >= 8 ? 0xff : (__mmask8)((1u << (n - at)) - 1)));
    return ends | (co_u64)_mm512_reduce_or_epi64(all);
}

AVX512 static void change_512(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    sets_change(words, op, a, n);
}

/* All of them; `lists` and `pairs` do with what any AVX-512 has. */
static const struct sets_vectors vectors_512 = {
    filter_512, words_512,      words_past_512, members_512,     merge_512,      digest_512,
    change_512, sets_lists_512, sets_sweep_512, SETS_RUNS_SWEPT, sets_pairs_512, set_lines_512};

#endif
