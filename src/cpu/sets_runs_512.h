/* cpu/sets_runs_512.h: two chunks of arrays or runs put together with AVX-512.
 *
 * Each chunk becomes two arrays that ascend: where its runs start, and their last numbers. Members of an
 * array side by side make one run. Then the starts of both are merged, and the lasts of both, 32 at a time by
 * the network of sets_network.h; nothing is branched on. No number lies in more than two of these runs, so
 * what is in order tells the answer. With start s[k], last l[k], of N runs in all:
 *
 *   OR       a run of the answer ends with l[k] and the next one begins with s[k + 1], where s[k + 1] is
 *            above l[k] + 1; the first begins with s[0], and the last ends with l[N - 1].
 *   AND      [s[k + 1], l[k]] is a run of the answer, where s[k + 1] is not above l[k]: there both chunks
 *            have begun, and neither has ended.
 *   ANDNOT   AND with what lies between the second chunk's runs.
 *   XOR      the numbers at which one chunk begins or ends are, in order, s[0], then of each k the lesser and
 *            the greater of s[k + 1] and l[k] + 1, then l[N - 1] + 1. They begin and end the answer's runs by
 *            turns. Two that are equal go away: the run between them is empty, or the two runs touch.
 *
 * One behind the greatest number is 0 in 16 bits; it can be the last of all alone. */
#ifndef COHORT_CPU_SETS_RUNS_512_H
#define COHORT_CPU_SETS_RUNS_512_H

#include "sets_network.h"

#define ROOM (SETS_RUNS_SWEPT + 96u) /* greatest numbers stand behind: two vectors, and what fills one */

/* Runs of one chunk. */
struct side {
    _Alignas(64) co_u16 starts[ROOM], lasts[ROOM];
    co_u32 n;
};

/* Greatest numbers behind `n`. */
AVX512 static inline void put_ends(co_u16 *at, co_u32 n)
{
    _mm512_storeu_si512(at + n, _mm512_set1_epi16(-1));
    _mm512_storeu_si512(at + n + 32, _mm512_set1_epi16(-1));
}

AVX512 static inline void side_ends(struct side *s)
{
    put_ends(s->starts, s->n);
    put_ends(s->lasts, s->n);
}

/* Pairs of a start and a length less one; of bytes that are not what they should be nothing goes beyond the
 * chunk. */
AVX512 static inline void runs_side(const co_u16 *at, co_u32 n, struct side *s)
{
    s->n = n;
    for (co_u32 i = 0; i < n; i += 16) {
        co_u32 left = n - i;
        __mmask16 there = left < 16 ? (__mmask16)((1u << left) - 1) : 0xffff;
        __m512i v = _mm512_maskz_loadu_epi32(there, at + 2 * i);
        __m512i last =
            _mm512_add_epi32(_mm512_and_si512(v, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(v, 16));
        _mm256_store_si256((__m256i *)(void *)(s->starts + i), _mm512_cvtepi32_epi16(v));
        _mm256_store_si256((__m256i *)(void *)(s->lasts + i), _mm512_cvtusepi32_epi16(last));
    }
    side_ends(s);
}

/* Members, which behind their end have nothing that is read. */
AVX512 static inline void array_side(const co_u16 *at, co_u32 n, struct side *s)
{
    const __m512i one = _mm512_set1_epi16(1);
    co_u32 starts = 0, lasts = 0;
    for (co_u32 i = 0; i < n; i += 32) {
        co_u32 left = n - i;
        __mmask32 there = left < 32 ? (1u << left) - 1 : ~0u;
        __mmask32 before = there & (i ? ~0u : ~1u), after = left > 32 ? there : there >> 1;
        __m512i v = _mm512_maskz_loadu_epi16(there, at + i);
        __m512i last = _mm512_maskz_loadu_epi16(before, at + i - 1);
        __m512i next = _mm512_maskz_loadu_epi16(after, at + i + 1);
        __mmask32 begins = there & ~_mm512_mask_cmpeq_epi16_mask(before, v, _mm512_add_epi16(last, one));
        __mmask32 ends = there & ~_mm512_mask_cmpeq_epi16_mask(after, next, _mm512_add_epi16(v, one));
        sets_put(s->starts + starts, begins, v);
        sets_put(s->lasts + lasts, ends, v);
        starts += (co_u32)__builtin_popcount(begins);
        lasts += (co_u32)__builtin_popcount(ends);
    }
    s->n = starts;
    side_ends(s);
}

AVX512 static inline void side_of(const struct sets_chunk *c, struct side *s)
{
    co_u16 listed[SETS_RUNS_SWEPT];
    if (c->kind == CO_CHUNK_RUNS) {
        runs_side(c->at, c->entries, s);
    } else if (c->kind == CO_CHUNK_ARRAY) {
        array_side(c->at, c->entries, s);
    } else {
        sets_chunk_members(c, listed);
        array_side(listed, c->entries, s);
    }
}

/* What lies between the runs, before and behind them. */
AVX512 static inline void gaps_of(const struct side *s, struct side *gaps)
{
    const __m512i one = _mm512_set1_epi16(1);
    co_u32 before = s->starts[0] != 0, behind = s->lasts[s->n - 1] != CO_CHUNK_IDS - 1;
    gaps->starts[0] = 0;
    for (co_u32 i = 0; i < s->n; i += 32) {
        _mm512_storeu_si512(gaps->starts + before + i,
                            _mm512_add_epi16(_mm512_load_si512(s->lasts + i), one));
        __m512i last = _mm512_sub_epi16(_mm512_loadu_si512(s->starts + i + !before), one);
        _mm512_storeu_si512(gaps->lasts + i, last);
    }
    gaps->n = s->n - 1 + before + behind;
    gaps->lasts[s->n - 1 + before] = CO_CHUNK_IDS - 1;
    side_ends(gaps);
}

/* ---- in order ------------------------------------------------------------------------------------------ */

/* One merge: what is next of both arrays, and what is carried on. */
struct merge {
    const co_u16 *a, *b, *a_end, *b_end;
    __m512i upper, next;
};

AVX512 static inline struct merge merge_begin(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m)
{
    struct merge s = {a + 32,
                      b + 32,
                      a + (n + 31) / 32 * 32,
                      b + (m + 31) / 32 * 32,
                      _mm512_loadu_si512(a),
                      _mm512_loadu_si512(b)};
    return s;
}

/* The 32 that are next. */
AVX512 static inline __m512i merge_lower(struct merge *s, __m512i back)
{
    s->next = _mm512_permutexvar_epi16(back, s->next);
    return sets_in_order(_mm512_min_epu16(s->upper, s->next));
}

/* Takes 32 more from the array whose next number is less; behind an end greatest numbers come again. */
AVX512 static inline void merge_on(struct merge *s)
{
    const co_u16 *a = s->a < s->a_end ? s->a : s->a_end, *b = s->b < s->b_end ? s->b : s->b_end;
    const int first = *a < *b;
    s->upper = sets_in_order(_mm512_max_epu16(s->upper, s->next));
    s->next = _mm512_loadu_si512(first ? a : b);
    s->a = a + (first ? 32 : 0);
    s->b = b + (first ? 0 : 32);
}

AVX512 static void merge_sides(const struct side *a, const struct side *b, struct side *to)
{
    const __m512i back = _mm512_loadu_si512(sets_places_back);
    struct merge s = merge_begin(a->starts, a->n, b->starts, b->n);
    struct merge l = merge_begin(a->lasts, a->n, b->lasts, b->n);
    to->n = a->n + b->n;
    for (co_u32 at = 0;; at += 32) {
        _mm512_store_si512(to->starts + at, merge_lower(&s, back));
        _mm512_store_si512(to->lasts + at, merge_lower(&l, back));
        if (at + 32 >= to->n) {
            _mm512_store_si512(to->starts + at + 32, _mm512_set1_epi16(-1));
            return;
        }
        merge_on(&s);
        merge_on(&l);
    }
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

/* 32 runs in order, with what is beside them. */
struct run_block {
    __m512i starts, lasts, next_starts; /* next: start k + 1 */
    __mmask32 there, inner;             /* inner: another one follows */
};

/* What of these begins a run of the answer, and what ends one, is put down. */
struct kept {
    struct side *to;
    co_u32 starts, lasts;
};

AVX512 static inline void keep(struct kept *k, __mmask32 begins, __m512i starts, __mmask32 ends,
                               __m512i lasts)
{
    sets_put(k->to->starts + k->starts, begins, starts);
    sets_put(k->to->lasts + k->lasts, ends, lasts);
    k->starts += (co_u32)__builtin_popcount(begins);
    k->lasts += (co_u32)__builtin_popcount(ends);
}

/* Where a run of the answer ends that others follow, with bit 31 of *carry for the run before. */
AVX512 static inline void or_block(const struct run_block *b, __mmask32 *carry, struct kept *k)
{
    __m512i behind = _mm512_adds_epu16(b->lasts, _mm512_set1_epi16(1));
    __mmask32 breaks = _mm512_mask_cmpgt_epu16_mask(b->inner, b->next_starts, behind);
    keep(k, (breaks << 1 | *carry >> 31) & b->there, b->starts, breaks | (b->there & ~b->inner), b->lasts);
    *carry = breaks;
}

AVX512 static inline void and_block(const struct run_block *b, struct kept *k)
{
    __mmask32 both = _mm512_mask_cmple_epu16_mask(b->inner, b->next_starts, b->lasts);
    keep(k, both, b->next_starts, both, b->lasts);
}

/* The run of k begins with the greater number of k - 1, and ends before the lesser one of k. */
struct turns {
    __m512i lesser, greater; /* of the block before */
};

AVX512 static inline void xor_block(const struct run_block *b, int first, struct turns *t, struct kept *k)
{
    const __m512i one = _mm512_set1_epi16(1), before = _mm512_loadu_si512(sets_places_before);
    __m512i behind = _mm512_add_epi16(b->lasts, one);
    __mmask32 both = _mm512_mask_cmple_epu16_mask(b->inner, b->next_starts, b->lasts);
    __m512i lesser = _mm512_mask_mov_epi16(behind, both, b->next_starts);
    __m512i greater = _mm512_mask_mov_epi16(b->next_starts, both, behind);
    __m512i begin = _mm512_permutex2var_epi16(greater, before, t->greater);
    __m512i end_before = _mm512_permutex2var_epi16(lesser, before, t->lesser);
    __mmask32 some = _mm512_mask_cmpneq_epi16_mask(b->there, begin, lesser);
    __mmask32 begins = _mm512_mask_cmpneq_epi16_mask(some, begin, end_before) | (some & (first ? 1 : 0));
    __mmask32 ends = some & (_mm512_cmpneq_epi16_mask(lesser, greater) | ~b->inner);
    keep(k, begins, begin, ends, _mm512_sub_epi16(lesser, one));
    t->lesser = lesser;
    t->greater = greater;
}

AVX512 static inline void answer_any(co_u32 op, const struct side *s, struct side *to)
{
    struct kept k = {to, 0, 0};
    struct turns t = {_mm512_setzero_si512(), _mm512_set1_epi16((short)s->starts[0])};
    __mmask32 carry = ~0u; /* the first run of all begins one */
    const __m512i after = _mm512_loadu_si512(sets_places_after);
    for (co_u32 at = 0; at < s->n; at += 32) {
        co_u32 left = s->n - at;
        struct run_block b;
        b.starts = _mm512_load_si512(s->starts + at);
        b.lasts = _mm512_load_si512(s->lasts + at);
        b.next_starts = _mm512_permutex2var_epi16(b.starts, after, _mm512_load_si512(s->starts + at + 32));
        b.there = left < 32 ? (1u << left) - 1 : ~0u;
        b.inner = left > 32 ? b.there : b.there >> 1;
        if (op == SETS_OR)
            or_block(&b, &carry, &k);
        else if (op == SETS_XOR)
            xor_block(&b, at == 0, &t, &k);
        else
            and_block(&b, &k);
    }
    to->n = k.starts < k.lasts ? k.starts : k.lasts;
}

/* The 1,024s from each start to its last number, of eight runs. */
AVX512 static inline __m512i bits_between(__m256i start, __m256i last)
{
    __m512i low = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_cvtepu32_epi64(start));
    return _mm512_sub_epi64(_mm512_sllv_epi64(_mm512_set1_epi64(2), _mm512_cvtepu32_epi64(last)), low);
}

/* The answer's runs as pairs. */
AVX512 static struct sets_measure put_runs(const struct side *s, co_u16 *to)
{
    struct sets_measure m = {0, s->n, 0};
    __m512i digest = _mm512_setzero_si512(), card = digest;
    for (co_u32 i = 0; i < s->n; i += 16) {
        co_u32 left = s->n - i;
        __mmask16 there = left < 16 ? (__mmask16)((1u << left) - 1) : 0xffff;
        __m512i start = _mm512_cvtepu16_epi32(_mm256_load_si256((const void *)(s->starts + i)));
        __m512i last = _mm512_cvtepu16_epi32(_mm256_load_si256((const void *)(s->lasts + i)));
        __m512i more = _mm512_and_si512(_mm512_sub_epi32(last, start), _mm512_set1_epi32(0xffff));
        _mm512_mask_storeu_epi32(to + 2 * i, there, _mm512_or_si512(start, _mm512_slli_epi32(more, 16)));
        card = _mm512_mask_add_epi32(card, there, card, _mm512_add_epi32(more, _mm512_set1_epi32(1)));
        start = _mm512_srli_epi32(start, 10);
        last = _mm512_srli_epi32(last, 10);
        __m512i low = bits_between(_mm512_castsi512_si256(start), _mm512_castsi512_si256(last));
        digest = _mm512_mask_or_epi64(digest, (__mmask8)there, digest, low);
        if (left > 8) {
            low = bits_between(_mm512_extracti64x4_epi64(start, 1), _mm512_extracti64x4_epi64(last, 1));
            digest = _mm512_mask_or_epi64(digest, (__mmask8)(there >> 8), digest, low);
        }
    }
    m.card = (co_u32)_mm512_reduce_add_epi32(card);
    m.digest = (co_u64)_mm512_reduce_or_epi64(digest);
    return m;
}

AVX512 static struct sets_measure sets_sweep_512(co_u32 op, const struct sets_chunk *a,
                                                 const struct sets_chunk *b, co_u16 *to)
{
    struct side x, y, gaps, merged, answer;
    side_of(a, &x);
    side_of(b, &y);
    if (op == SETS_ANDNOT)
        gaps_of(&y, &gaps);
    merge_sides(&x, op == SETS_ANDNOT ? &gaps : &y, &merged);
    if (op == SETS_OR)
        answer_any(SETS_OR, &merged, &answer);
    else if (op == SETS_XOR)
        answer_any(SETS_XOR, &merged, &answer);
    else
        answer_any(SETS_AND, &merged, &answer);
    return put_runs(&answer, to);
}
#endif
