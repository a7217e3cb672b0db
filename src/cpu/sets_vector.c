/* cpu/sets_vector.c: see sets_vector.h.
 *
 * Arrays: each number of the one is compared with a block of 32 of the other at once; blocks whose last is
 * below are skipped (the "shuffling" intersections of Katsogridakis, Schlegel and Lemire compare 8 with 8;
 * with AVX-512 one with 32 needs no permutation, and skips more where one array is longer). Of arrays of
 * like lengths a block's hits are put together over all numbers that may be in it, and looked at once.
 * Bitmaps: the operation, the count (VPOPCNTDQ) and the digest in one pass. Members of a bitmap: a vector of
 * 64 numbers, compressed by a word of the bitmap at a time (VBMI2).
 *
 * OR and XOR of arrays: 32 numbers of each are merged by a bitonic network (Batcher); the lower 32 are next
 * in order, the upper ones are merged with the next 32 of the array whose next number is less. Numbers in
 * both arrays come out side by side: OR keeps what differs from the number before, XOR what differs from
 * both neighbours. Behind an array's end stand greatest numbers, which come last and are not counted. */
#include "sets_lists.h"
#include "sets_network.h"
#include "sets_sweep.h"

/* ---- plain --------------------------------------------------------------------------------------------- */

static co_u32 filter_plain(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    co_u32 kept = 0, j = 0;
    for (co_u32 i = 0; i < n; i++) {
        co_u16 v = a[i];
        while (j + 32 < m && b[j + 31] < v)
            j += 32;
        while (j < m && b[j] < v)
            j++;
        if (to)
            to[kept] = v;
        kept += (j < m && b[j] == v) == keep;
    }
    return kept;
}

CO_INLINE co_u64 word_of(co_u64 a, co_u64 b, co_u32 op)
{
    return op == SETS_AND ? a & b : op == SETS_OR ? a | b : op == SETS_ANDNOT ? a & ~b : a ^ b;
}

static struct sets_measure words_plain(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    struct sets_measure m = {0, 0, 0};
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        co_u64 w = word_of(a[i], b[i], op);
        if (to)
            to[i] = w;
        m.card += (co_u32)__builtin_popcountll(w);
        m.digest |= (co_u64)(w != 0) << i / 16;
    }
    return m;
}

static co_u32 members_plain(const co_u64 *words, co_u64 digest, co_u16 *to)
{
    (void)digest;
    return sets_bitmap_array(words, to, CO_CHUNK_IDS);
}

static co_u32 merge_plain(co_u32 op, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, co_u16 *to)
{
    co_u32 i = 0, j = 0, k = 0, both = op == SETS_OR;
    while (i < n && j < m) {
        co_u16 x = a[i], y = b[j];
        to[k] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
        k += both | (x != y);
    }
    while (i < n)
        to[k++] = a[i++];
    while (j < m)
        to[k++] = b[j++];
    return k;
}

static co_u64 digest_plain(const co_u16 *a, co_u32 n)
{
    co_u64 digest = 0;
    for (co_u32 i = 0; i < n; i++)
        digest |= 1ull << (a[i] >> 10);
    return digest;
}

CO_INLINE void change_one(co_u64 *words, co_u32 op, co_u32 v)
{
    co_u64 bit = 1ull << v % 64, *word = words + v / 64;
    *word = op == SETS_OR ? *word | bit : op == SETS_XOR ? *word ^ bit : *word & ~bit;
}

/* From four places of the array on at a time: members side by side often share a word, and each would wait
 * for what the one before it has written. */
CO_INLINE void change_any(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    const co_u32 part = n / 4;
    for (co_u32 i = 0; i < part; i++)
        for (co_u32 k = 0; k < 4; k++)
            change_one(words, op, a[k * part + i]);
    for (co_u32 i = 4 * part; i < n; i++)
        change_one(words, op, a[i]);
}

CO_INLINE void change_by(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    if (op == SETS_OR)
        change_any(words, SETS_OR, a, n);
    else if (op == SETS_XOR)
        change_any(words, SETS_XOR, a, n);
    else
        change_any(words, SETS_ANDNOT, a, n);
}

static void change_plain(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    change_by(words, op, a, n);
}

static const struct sets_vectors plain = {filter_plain, words_plain,  members_plain, merge_plain,
                                          digest_plain, change_plain, NULL,          sets_sweep_plain,
                                          256,          NULL};

/* ---- AVX-512 ------------------------------------------------------------------------------------------- */

#if CPU_VECTORS
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

AVX512 static inline __mmask32 eight_of(__m512i v, const co_u16 *y)
{
    __mmask32 hit = 0;
    for (co_u32 i = 0; i < 8; i++)
        hit |= _mm512_cmpeq_epi16_mask(v, _mm512_set1_epi16((short)y[i]));
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
            __m512i w = _mm512_loadu_si512(y + j), last = _mm512_set1_epi16((short)k.last);
            below = (co_u32)__builtin_popcount(_mm512_cmple_epu16_mask(w, last));
            for (co_u32 i = 0; i < below; i += 8)
                hit |= eight_of(k.v, y + j + i);
            j += below;
        }
        for (; below == 32 && j < m && y[j] <= k.last; j++)
            hit |= _mm512_cmpeq_epi16_mask(k.v, _mm512_set1_epi16((short)y[j]));
        hit = (keep ? hit : ~hit) & k.there;
        co_u32 ones = (co_u32)__builtin_popcount(hit);
        if (to)
            _mm512_mask_storeu_epi16(to + kept, (__mmask32)((1ull << ones) - 1),
                                     _mm512_maskz_compress_epi16(hit, k.v));
        kept += ones;
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

#    define SOUGHT_SKEW \
        24u /* times as many numbers in the long array: where there are fewer, turns are cheaper */
#    define SOUGHT_LEAST 32u /* numbers for which the lasts of all blocks are worth to be gathered */
#    define SOUGHT_MOST  (4u * 32 * 32) /* no array has more */

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

/* Which of the first `count` of 32 numbers are in the blocks that begin there. */
AVX512 static inline __mmask32 hits_of(const co_u16 *a, co_u32 count, const co_u16 *b, const co_u16 *from)
{
    _Alignas(64) co_u32 equal[32];
    for (co_u32 i = 0; i < count; i++) {
        __m512i w = _mm512_loadu_si512(b + from[i]);
        _store_mask32(equal + i, _mm512_cmpeq_epi16_mask(w, _mm512_set1_epi16((short)a[i])));
    }
    __m512i x = _mm512_load_si512(equal), y = _mm512_load_si512(equal + 16);
    return _mm512_test_epi32_mask(x, x) | (co_u32)_mm512_test_epi32_mask(y, y) << 16;
}

/* Those of a that are in b, or are not, each sought by itself: nothing waits for the number before. */
AVX512 static inline co_u32 sought_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep,
                                       co_u16 *to)
{
    struct lasts l;
    _Alignas(64) co_u16 from[32];
    co_u32 kept = 0;
    lasts_of(b, m, &l);
    for (co_u32 at = 0; at < n; at += 32) {
        struct block k = block_at(a, n, at);
        _mm512_store_si512(from, blocks_for(k.v, &l, m));
        __mmask32 hit = n - at < 32 ? hits_of(a + at, n - at, b, from) : hits_of(a + at, 32, b, from);
        hit = (keep ? hit : ~hit) & k.there;
        if (to)
            _mm512_mask_storeu_epi16(to + kept, (__mmask32)((1ull << __builtin_popcount(hit)) - 1),
                                     _mm512_maskz_compress_epi16(hit, k.v));
        kept += (co_u32)__builtin_popcount(hit);
    }
    return kept;
}

AVX512 static co_u32 sought_512(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    return to ? sought_any(a, n, b, m, keep, to) : sought_any(a, n, b, m, keep, NULL);
}

#    define BLOCKS_SKEW 4u /* where lengths differ more, the numbers of the short array are the turns */

/* What both have is found from either side. */
AVX512 static co_u32 filter_512(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    int skewed = m > BLOCKS_SKEW * n || (keep && n > BLOCKS_SKEW * m);
    co_u32 longer = m > n ? m : n, shorter = m > n ? n : m;
    if (skewed && longer / SOUGHT_SKEW > shorter && shorter >= SOUGHT_LEAST && longer <= SOUGHT_MOST)
        return n < m ? sought_512(a, n, b, m, keep, to) : sought_512(b, m, a, n, 1, to);
    if (keep && skewed == (m < n))
        return skewed ? singles_512(b, m, a, n, 1, to) : blocks_512(b, m, a, n, 1, to);
    return skewed ? singles_512(a, n, b, m, keep, to) : blocks_512(a, n, b, m, keep, to);
}

AVX512 static inline struct sets_measure words_any(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    struct sets_measure m = {0, 0, 0};
    __m512i sum = _mm512_setzero_si512();
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i += 16) {
        __m512i some = _mm512_setzero_si512();
        for (co_u32 j = i; j < i + 16; j += 8) {
            __m512i x = _mm512_loadu_si512(a + j), y = _mm512_loadu_si512(b + j);
            __m512i w = op == SETS_AND      ? _mm512_and_si512(x, y)
                        : op == SETS_OR     ? _mm512_or_si512(x, y)
                        : op == SETS_ANDNOT ? _mm512_andnot_si512(y, x)
                                            : _mm512_xor_si512(x, y);
            if (to)
                _mm512_storeu_si512(to + j, w);
            sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(w));
            some = _mm512_or_si512(some, w);
        }
        m.digest |= (co_u64)(_mm512_test_epi64_mask(some, some) != 0) << i / 16;
    }
    m.card = (co_u32)_mm512_reduce_add_epi64(sum);
    return m;
}

AVX512 static struct sets_measure words_512(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    switch (op) {
    case SETS_AND:
        return to ? words_any(to, a, b, SETS_AND) : words_any(NULL, a, b, SETS_AND);
    case SETS_OR:
        return words_any(to, a, b, SETS_OR);
    case SETS_ANDNOT:
        return words_any(to, a, b, SETS_ANDNOT);
    default:
        return words_any(to, a, b, SETS_XOR);
    }
}

static const unsigned char places_in_word[64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Words of no bits are passed over; of the others the places of their bits are compressed, as bytes. */
AVX512 static co_u32 members_512(const co_u64 *words, co_u64 digest, co_u16 *to)
{
    const __m512i places = _mm512_loadu_si512(places_in_word);
    co_u32 n = 0;
    for (; digest; digest &= digest - 1) {
        const co_u32 first = (co_u32)__builtin_ctzll(digest) * 16;
        __m512i x = _mm512_loadu_si512(words + first), y = _mm512_loadu_si512(words + first + 8);
        co_u32 some = _mm512_test_epi64_mask(x, x) | (co_u32)_mm512_test_epi64_mask(y, y) << 8;
        for (; some; some &= some - 1) {
            co_u32 i = first + (co_u32)__builtin_ctz(some), ones = (co_u32)__builtin_popcountll(words[i]);
            __m512i at = _mm512_set1_epi16((short)(i * 64));
            __m512i v = _mm512_maskz_compress_epi8(words[i], places);
            _mm512_storeu_si512(to + n,
                                _mm512_add_epi16(at, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(v))));
            if (ones > 32)
                _mm512_storeu_si512(
                    to + n + 32, _mm512_add_epi16(at, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(v, 1))));
            n += ones;
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
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi16(kept, v));
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

AVX512 static co_u64 digest_512(const co_u16 *a, co_u32 n)
{
    __m512i all = _mm512_setzero_si512();
    const __m512i one = _mm512_set1_epi64(1);
    for (co_u32 i = 0; i < n; i += 8) {
        __mmask8 there = n - i >= 8 ? 0xff : (__mmask8)((1u << (n - i)) - 1);
        __m512i v = _mm512_cvtepu16_epi64(_mm_maskz_loadu_epi16(there, a + i));
        all = _mm512_or_si512(all, _mm512_maskz_sllv_epi64(there, one, _mm512_srli_epi64(v, 10)));
    }
    return (co_u64)_mm512_reduce_or_epi64(all);
}

AVX512 static void change_512(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    change_by(words, op, a, n);
}

static const struct sets_vectors vectors_512 = {
    filter_512, words_512,      members_512,    merge_512,       digest_512,
    change_512, sets_lists_512, sets_sweep_512, SETS_RUNS_SWEPT, sets_pairs_512};
#endif

const struct sets_vectors *sets_vectors_of(enum cpu_level level)
{
#if CPU_VECTORS
    if (level == CPU_AVX512 && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vbmi2"))
        return &vectors_512;
#endif
    (void)level;
    return &plain;
}
