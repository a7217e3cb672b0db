/* cpu/sets_avx2.c: the inner loops of sets for x86-64 with AVX2 (2013 and later).
 *
 * Arrays of like lengths: eight numbers of the one are compared with eight of the other by one instruction of
 * SSE4.2 (Schlegel, Willhalm and Lehner, "Fast sorted-set intersection using SIMD instructions", 2011). The
 * array whose eight end first goes on, without a branch: which one it is, nobody foresees. Where one array is
 * far longer, each number of the short one is compared with 32 of the long one, and blocks whose last is
 * below are skipped. Bitmaps: the operation, the count by nibbles (Mula) and the digest in one pass. Numbers
 * that are kept are put together four by four, by a table of 16 entries. What is not here is the plain
 * loop. */
#include "sets_change.h"
#include "sets_sweep.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    include <string.h>

#    define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

/* ---- four by four -------------------------------------------------------------------------------------- */

#    define FOUR(a, b, c, d) \
        ((co_u64)(a) | (co_u64)(b) << 16 | (co_u64)(c) << 32 | (co_u64)(d) << 48) /* places of four */
#    define EACH_OF_FOUR 0x0001000100010001ull

/* The places of the bits of four, in order. */
static const co_u64 places[16] = {FOUR(0, 0, 0, 0), FOUR(0, 0, 0, 0), FOUR(1, 0, 0, 0), FOUR(0, 1, 0, 0),
                                  FOUR(2, 0, 0, 0), FOUR(0, 2, 0, 0), FOUR(1, 2, 0, 0), FOUR(0, 1, 2, 0),
                                  FOUR(3, 0, 0, 0), FOUR(0, 3, 0, 0), FOUR(1, 3, 0, 0), FOUR(0, 1, 3, 0),
                                  FOUR(2, 3, 0, 0), FOUR(0, 2, 3, 0), FOUR(1, 2, 3, 0), FOUR(0, 1, 2, 3)};

/* Those of eight numbers that the mask has, to `to`; eight are written whatever they are. */
AVX2 static inline void put_eight(co_u16 *to, co_u32 kept, __m128i v)
{
    const co_u64 bytes = 0x0202, second = 0x0100 * EACH_OF_FOUR, upper = 0x0808 * EACH_OF_FOUR;
    const co_u64 low = places[kept & 15] * bytes + second, high = places[kept >> 4] * bytes + second + upper;
    __m128i out = _mm_shuffle_epi8(v, _mm_set_epi64x((long long)high, (long long)low));
    _mm_storel_epi64((__m128i *)(void *)to, out);
    _mm_storel_epi64((__m128i *)(void *)(to + __builtin_popcount(kept & 15)), _mm_unpackhi_epi64(out, out));
}

#    define ONES_MANY 10u /* of a word: from here on four bits at a time are less work than one */

/* `base` and the place of each bit of a word; up to SETS_VECTOR_ROOM numbers are written. */
AVX2 static inline co_u32 put_places(co_u16 *to, co_u64 word, co_u32 base)
{
    const co_u32 ones = (co_u32)__builtin_popcountll(word);
    if (ones < ONES_MANY) {
        for (; word; word &= word - 1)
            *to++ = (co_u16)(base + (co_u32)__builtin_ctzll(word));
        return ones;
    }
    for (co_u64 at = base * EACH_OF_FOUR; word; word >>= 4, at += 4 * EACH_OF_FOUR) {
        co_u64 four = places[word & 15] + at;
        memcpy(to, &four, sizeof four);
        to += __builtin_popcount((unsigned)word & 15);
    }
    return ones;
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

#    define EQUAL_ANY (_SIDD_UWORD_OPS | _SIDD_CMP_EQUAL_ANY | _SIDD_BIT_MASK)

AVX2 static inline __m128i eight_at(const co_u16 *a)
{
    return _mm_loadu_si128((const __m128i *)(const void *)a);
}

/* The next eight numbers of an array, or as many as are left. */
AVX2 static inline __m128i next_eight(const co_u16 *a, co_u32 left)
{
    co_u16 some[8] = {0};
    if (left >= 8)
        return eight_at(a);
    memcpy(some, a, left * sizeof *a);
    return eight_at(some);
}

/* Where both arrays have come to, and which of the first one's eight numbers there have been met. */
struct pairing {
    co_u32 i, j, met, kept;
};

/* Goes on while both have eight numbers left. A number 0 ends what the instruction looks at: it may only be
 * the first of an array, so neither i nor j is 0. Numbers are put down in each turn, to be written over in
 * the next one unless the first array goes on. */
AVX2 static inline void pair_eights(struct pairing *at, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m,
                                    int keep, co_u16 *to)
{
    struct pairing p = *at;
    while (n - p.i >= 8 && m - p.j >= 8) {
        const __m128i x = eight_at(a + p.i), y = eight_at(b + p.j);
        const co_u32 last = a[p.i + 7], other = b[p.j + 7];
        const co_u32 on = 0u - ((last - other - 1) >> 31); /* all ones if last <= other */
        p.i += on & 8;
        p.j += ((other - last - 1) >> 31) * 8;
        p.met |= (co_u32)_mm_cvtsi128_si32(_mm_cmpistrm(y, x, EQUAL_ANY));
        const co_u32 out = keep ? p.met : p.met ^ 0xff;
        if (to)
            put_eight(to + p.kept, out, x);
        p.kept += (co_u32)__builtin_popcount(out & on);
        p.met &= ~on;
    }
    *at = p;
}

/* The numbers that are wanted of `many` at i, and on to the next ones. */
AVX2 static inline void put_pairing(struct pairing *p, const co_u16 *a, co_u32 many, int keep, co_u16 *to)
{
    const co_u32 out = (keep ? p->met : ~p->met) & ((1u << many) - 1);
    co_u16 some[8 + 4];
    put_eight(some, out, next_eight(a + p->i, many));
    if (to)
        memcpy(to + p->kept, some, 2 * (size_t)__builtin_popcount(out));
    p->kept += (co_u32)__builtin_popcount(out);
    p->i += many;
    p->met = 0;
}

/* Those of a that are in b, or are not: eight of each at a time. `to` is not a. */
AVX2 static inline co_u32 eights_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep,
                                     co_u16 *to)
{
    struct pairing p = {0, 0, 0, 0};
    while (p.i < n && p.j < m) {
        const co_u32 many = n - p.i < 8 ? n - p.i : 8, others = m - p.j < 8 ? m - p.j : 8;
        if (p.i && p.j && many + others == 16) {
            pair_eights(&p, a, n, b, m, keep, to);
            continue;
        }
        const co_u32 last = a[p.i + many - 1], other = b[p.j + others - 1];
        const __m128i x = next_eight(a + p.i, many), y = next_eight(b + p.j, others);
        p.met |= (co_u32)_mm_cvtsi128_si32(_mm_cmpestrm(y, (int)others, x, (int)many, EQUAL_ANY));
        p.j += other <= last ? others : 0;
        if (last <= other)
            put_pairing(&p, a, many, keep, to);
    }
    if (p.i < n)
        put_pairing(&p, a, n - p.i < 8 ? n - p.i : 8, keep, to);
    if (!keep) { /* all that are left are above all of b */
        if (to)
            memcpy(to + p.kept, a + p.i, (n - p.i) * sizeof *a);
        p.kept += n - p.i;
    }
    return p.kept;
}

/* Blocks of 32 of an array that has as many; the last one begins where 32 are left. */
struct block {
    __m256i low, high;
    co_u32 last, at;
};

AVX2 static inline struct block block_at(const co_u16 *b, co_u32 m, co_u32 at)
{
    const co_u16 *from = b + (m - at < 32 ? m - 32 : at);
    const __m256i *two = (const __m256i *)(const void *)from;
    return (struct block){_mm256_loadu_si256(two), _mm256_loadu_si256(two + 1), from[31], at};
}

/* The block behind k that v may be in, or the last one. */
AVX2 static inline struct block block_for(const co_u16 *b, co_u32 m, co_u32 at, co_u32 v)
{
    do
        at = at + 32 < m ? at + 32 : at;
    while (at + 32 < m && b[at + 31] < v);
    return block_at(b, m, at);
}

AVX2 static inline int block_has(const struct block *k, co_u32 v)
{
    const __m256i each = _mm256_set1_epi16((short)v);
    __m256i equal = _mm256_or_si256(_mm256_cmpeq_epi16(k->low, each), _mm256_cmpeq_epi16(k->high, each));
    return !_mm256_testz_si256(equal, equal);
}

/* Those of a that are in b, or are not: the turns are the numbers of a. */
AVX2 static inline co_u32 singles_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep,
                                      co_u16 *to)
{
    co_u32 kept = 0, i = 0;
    struct block k = block_at(b, m, 0);
    for (; i < n; i++) {
        const co_u32 v = a[i];
        if (v > k.last) {
            k = block_for(b, m, k.at, v);
            if (v > k.last)
                break;
        }
        if (to)
            to[kept] = (co_u16)v;
        kept += (co_u32)(block_has(&k, v) == keep);
    }
    if (!keep) {
        if (to)
            memmove(to + kept, a + i, (n - i) * sizeof *a);
        kept += n - i;
    }
    return kept;
}

#    define SKEWED 4u /* where lengths differ more, the numbers of the short array are the turns */

AVX2 static inline co_u32 filter_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep,
                                     co_u16 *to)
{
    if (m / SKEWED > n && m >= 32)
        return singles_any(a, n, b, m, keep, to);
    if (keep && n / SKEWED > m && n >= 32)
        return singles_any(b, m, a, n, 1, to);
    co_u16 own[SETS_ARRAY_MOST];
    if (to == a)
        a = memcpy(own, a, n * sizeof *a);
    return eights_any(a, n, b, m, keep, to);
}

AVX2 static co_u32 filter_avx2(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    if (!to)
        return keep ? filter_any(a, n, b, m, 1, NULL) : filter_any(a, n, b, m, 0, NULL);
    return keep ? filter_any(a, n, b, m, 1, to) : filter_any(a, n, b, m, 0, to);
}

AVX2 static void change_avx2(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    sets_change(words, op, a, n);
}

/* ---- bitmaps ------------------------------------------------------------------------------------------- */

AVX2 static inline __m256i four_of(const co_u64 *words)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)words);
}

AVX2 static inline __m256i outcome_of(__m256i x, __m256i y, co_u32 op)
{
    return op == SETS_AND      ? _mm256_and_si256(x, y)
           : op == SETS_OR     ? _mm256_or_si256(x, y)
           : op == SETS_ANDNOT ? _mm256_andnot_si256(y, x)
                               : _mm256_xor_si256(x, y);
}

/* The ones of each byte. */
AVX2 static inline __m256i ones_of(__m256i v)
{
    const __m256i nibbles = _mm256_set1_epi8(15);
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2,
                                          3, 1, 2, 2, 3, 2, 3, 3, 4);
    __m256i low = _mm256_and_si256(v, nibbles), high = _mm256_and_si256(_mm256_srli_epi16(v, 4), nibbles);
    return _mm256_add_epi8(_mm256_shuffle_epi8(ones, low), _mm256_shuffle_epi8(ones, high));
}

/* Adds the bytes of eight to each 64 bits. */
AVX2 static inline __m256i add_bytes(__m256i sum, __m256i bytes)
{
    return _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
}

AVX2 static inline co_u32 sum_of(__m256i sum)
{
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    return (co_u32)(_mm_extract_epi64(two, 0) + _mm_extract_epi64(two, 1));
}

/* Sixteen words at a time, which are a bit of the digest. */
AVX2 static inline struct sets_measure words_any(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    struct sets_measure m = {0, 0, 0};
    __m256i sum = _mm256_setzero_si256();
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i += 16) {
        __m256i some = _mm256_setzero_si256(), ones = some;
#    pragma GCC unroll 4
        for (co_u32 k = 0; k < 16; k += 4) {
            __m256i w = outcome_of(four_of(a + i + k), four_of(b + i + k), op);
            if (to)
                _mm256_storeu_si256((__m256i *)(void *)(to + i + k), w);
            some = _mm256_or_si256(some, w);
            ones = _mm256_add_epi8(ones, ones_of(w));
        }
        m.digest |= (co_u64)!_mm256_testz_si256(some, some) << i / 16;
        sum = add_bytes(sum, ones);
    }
    m.card = sum_of(sum);
    return m;
}

AVX2 static struct sets_measure words_avx2(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
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

AVX2 static inline struct set_line_sums lines_any(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op,
                                                  const struct set_lines *lines)
{
    struct set_line_sums sums = {0, 0, {{0, 0}}};
    __m256i before = _mm256_setzero_si256(), after = before;
    for (co_u32 half = 0; half < 2; half++)
        for (co_u64 left = lines->of[half]; left; left &= left - 1) {
            const co_u32 line = (co_u32)__builtin_ctzll(left), at = half * 512 + line * 8;
            const __m256i x = four_of(a + at), y = four_of(a + at + 4);
            const __m256i v = outcome_of(x, four_of(b + at), op), w = outcome_of(y, four_of(b + at + 4), op);
            const __m256i some = _mm256_or_si256(v, w);
            _mm256_storeu_si256((__m256i *)(void *)(to + at), v);
            _mm256_storeu_si256((__m256i *)(void *)(to + at + 4), w);
            sums.some.of[half] |= (co_u64)!_mm256_testz_si256(some, some) << line;
            if (op != SETS_AND)
                before = add_bytes(before, _mm256_add_epi8(ones_of(x), ones_of(y)));
            after = add_bytes(after, _mm256_add_epi8(ones_of(v), ones_of(w)));
        }
    sums.before = sum_of(before);
    sums.after = sum_of(after);
    return sums;
}

AVX2 static struct set_line_sums lines_avx2(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op,
                                            const struct set_lines *lines)
{
    switch (op) {
    case SETS_AND:
        return lines_any(to, a, b, SETS_AND, lines);
    case SETS_OR:
        return lines_any(to, a, b, SETS_OR, lines);
    case SETS_ANDNOT:
        return lines_any(to, a, b, SETS_ANDNOT, lines);
    default:
        return lines_any(to, a, b, SETS_XOR, lines);
    }
}

AVX2 static co_u32 members_avx2(const co_u64 *words, co_u64 digest, co_u16 *to)
{
    co_u32 n = 0;
    for (; digest; digest &= digest - 1) {
        const co_u32 first = (co_u32)__builtin_ctzll(digest) * 16;
        for (co_u32 i = first; i < first + 16; i++)
            n += put_places(to + n, words[i], i * 64);
    }
    return n;
}

const struct sets_vectors *sets_avx2(void)
{
    static const struct sets_vectors vectors = {
        filter_avx2,      words_avx2, members_avx2, sets_merge_plain, sets_digest_plain, change_avx2, NULL,
        sets_sweep_plain, 256,        NULL,         lines_avx2};
    return &vectors;
}
#endif
