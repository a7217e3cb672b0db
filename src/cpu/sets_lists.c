/* cpu/sets_lists.c: pairs of lists with AVX-512.
 *
 * A block of 16 members of the one list is compared with each member of the other that may be in it. Where
 * both have up to 16, all of the shorter one's are compared, 8 or 16 turns whatever they are, so that nothing
 * is branched on. What rows come to is told for a batch in one function: the calls would cost as much. */
#include "sets_lists.h"

#if CPU_VECTORS
#    include <immintrin.h>

#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,popcnt")))

/* The turns are the numbers of y, beside the block of 16 of x that they may be in. What of a block was hit is
 * looked at once, when the numbers of y go beyond it. */
AVX512 static inline co_u64 lists_any(const co_u32 *x, co_u64 n, const co_u32 *y, co_u64 m, int keep,
                                      co_u32 *to)
{
    co_u64 kept = 0, j = 0;
    for (co_u64 at = 0; at < n && (!keep || j < m); at += 16) {
        co_u64 left = n - at;
        __mmask16 there = left >= 16 ? 0xffff : (__mmask16)((1u << left) - 1), hit = 0;
        __m512i v = _mm512_maskz_loadu_epi32(there, x + at);
        co_u32 last = x[left >= 16 ? at + 15 : n - 1];
        for (; j < m && y[j] <= last; j++)
            hit |= _mm512_mask_cmpeq_epi32_mask(there, v, _mm512_set1_epi32((int)y[j]));
        hit = (__mmask16)(keep ? hit : ~hit & there);
        if (to)
            _mm512_storeu_si512(to + kept, _mm512_maskz_compress_epi32(hit, v));
        kept += (co_u32)__builtin_popcount(hit);
    }
    return kept;
}

AVX512 co_u64 sets_lists_512(const co_u32 *a, co_u64 n, const co_u32 *b, co_u64 m, int keep, co_u32 *to)
{
    if (!keep)
        return lists_any(a, n, b, m, 0, to);
    if (n < m)
        return sets_lists_512(b, m, a, n, 1, to);
    return to ? lists_any(a, n, b, m, 1, to) : lists_any(a, n, b, m, 1, NULL);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Which of x are among the m members of y, of which there are no more than turns. Behind the last one it
 * stands again. */
AVX512 static inline __mmask16 equal_to(__m512i x, const co_u32 *y, co_u64 m, co_u32 turns)
{
    const __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i last = _mm512_set1_epi32((int)m - 1);
    const __m512i v = _mm512_permutexvar_epi32(_mm512_min_epi32(places, last),
                                               _mm512_maskz_loadu_epi32((__mmask16)((1u << m) - 1), y));
    __mmask16 hit = 0;
#    pragma GCC unroll 16
    for (co_u32 i = 0; i < turns; i++)
        hit = _kor_mask16(hit,
                          _mm512_cmpeq_epi32_mask(x, _mm512_permutexvar_epi32(_mm512_set1_epi32((int)i), v)));
    return hit;
}

AVX512 static inline co_u64 pair_meets(const struct sets_two_lists *l)
{
    if (sets_lists_lie_apart(l))
        return 0;
    const int turned = l->n[0] < l->n[1]; /* y is the shorter one */
    const co_u32 *x = l->at[turned], *y = l->at[!turned];
    const co_u64 n = l->n[turned], m = l->n[!turned];
    if (n > 16)
        return lists_any(x, n, y, m, 1, NULL);
    const __mmask16 there = (__mmask16)((1u << n) - 1);
    const __m512i v = _mm512_maskz_loadu_epi32(there, x);
    return (co_u32)__builtin_popcount(there & (m <= 8 ? equal_to(v, y, m, 8) : equal_to(v, y, m, 16)));
}

/* Members of a list in a set with an index: its presence bits and the chunk's digest say of most that they
 * are not there. */
AVX512 static inline co_u64 list_meets(const cohort_sets_view *v, const struct co_sets_set *list,
                                       const struct co_sets_set *set)
{
    const co_u32 *ids = (const co_u32 *)v->lists + list->first;
    co_u64 sum = 0;
    for (co_u64 i = 0; i < list->n; i++) {
        co_u32 present, low = ids[i] & (CO_CHUNK_IDS - 1);
        co_u64 at = set->first + co_sets_lower(v, set, ids[i] >> CO_CHUNK_BITS, &present);
        if (present && v->digests[at] >> (low >> 10) & 1)
            sum += (co_u64)co_chunk_contains(v, v->places[at], low);
    }
    return sum;
}

AVX512 static inline co_u64 row_meets(const struct sets_vectors *vectors, const cohort_sets_view *v,
                                      const struct co_sets_set *a, const struct co_sets_set *b)
{
    if (!a->large && b->words)
        return list_meets(v, a, b);
    if (!b->large && a->words)
        return list_meets(v, b, a);
    return sets_meet(vectors, v, a, v, b);
}

AVX512 co_u64 sets_pairs_512(const struct sets_vectors *vectors, const struct sets_query *q, co_u64 begin,
                             co_u64 end)
{
    const cohort_sets_view *v = &q->view[0];
    if (q->wide || q->collections != 1 || q->others || q->offsets || q->each || q->arity != 2)
        return begin;
    for (co_u64 row = begin; row < end; row++) {
        const co_u64 first = q->members[2 * row], second = q->members[2 * row + 1];
        struct sets_two_lists l;
        if (first >= v->sets || second >= v->sets)
            return row;
        if (sets_two_lists_of(v, first, second, &l)) {
            q->counts[row] = sets_count_of(q, l.n[0], l.n[1], pair_meets(&l));
            continue;
        }
        struct co_sets_set a = co_sets_open(v, first), b = co_sets_open(v, second);
        q->counts[row] =
            sets_count_of(q, co_sets_size(v, &a), co_sets_size(v, &b), row_meets(vectors, v, &a, &b));
    }
    return end;
}
#endif
