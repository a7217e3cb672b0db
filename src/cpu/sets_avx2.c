/* cpu/sets_avx2.c: the inner loops of sets for x86-64 with AVX2 (2013 and later).
 *
 * Arrays of like lengths are compared eight by eight (sets_eights.h). Where one array is far longer, each
 * number of the short one finds the block of 32 of the long one that it may be in by a table of ranges, and
 * is compared with it; few numbers go from block to block. Bitmaps: the operation, the count by nibbles
 * (Mula) and the digest in one pass; members four by four, by a table of 16 entries. What is not here is the
 * plain loop. */
#include "sets_change.h"
#include "sets_sweep.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    include <string.h>

#    define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
/* with the arguments of each place where it is called */
#    define AVX2_LOOP  AVX2 static inline __attribute__((always_inline))
#    define EIGHTS     AVX2
#    define SETS_VBMI2 0
#    include "sets_eights.h"

/* ---- bits to members ---------------------------------------------------------------------------------- */

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

/* Blocks of 32 of an array that has as many; the last one begins where 32 are left. */
struct block {
    __m256i low, high;
    co_u32 last, at;
};

AVX2 static inline struct block block_from(const co_u16 *from, co_u32 at)
{
    const __m256i *two = (const __m256i *)(const void *)from;
    return (struct block){_mm256_loadu_si256(two), _mm256_loadu_si256(two + 1), from[31], at};
}

AVX2 static inline struct block block_at(const co_u16 *b, co_u32 m, co_u32 at)
{
    return block_from(b + (m - at < 32 ? m - 32 : at), at);
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

/* Where the numbers of an array of at least 32 are: the lasts of its blocks of 32, greatest numbers behind
 * them; where the blocks begin; and of each of 256 equal ranges of numbers how many blocks end before it. */
#    define RANGES 256u
struct finder {
    co_u16 last[SETS_ARRAY_MOST / 32 + 1], begin[SETS_ARRAY_MOST / 32 + 1];
    _Alignas(8) unsigned char before[RANGES];
    co_u32 base, top, shift;
};

/* One of the ranges, also of a number outside. */
AVX2 static inline co_u32 range_of(co_u32 v, co_u32 base, co_u32 shift)
{
    return (v - base) >> shift & (RANGES - 1);
}

AVX2 static inline void finder_of(const co_u16 *b, co_u32 m, struct finder *f)
{
    const co_u64 each = 0x0101010101010101ull;
    const co_u32 blocks = m / 32, base = b[0], top = b[m - 1];
    const co_u32 shift = top - base < RANGES ? 0 : 24u - (co_u32)__builtin_clz(top - base);
    co_u64 before = 0;
    memset(f->before, 0, sizeof f->before);
    for (co_u32 k = 0; k < blocks; k++) {
        f->last[k] = b[32 * k + 31];
        f->begin[k] = (co_u16)(32 * k);
        f->before[range_of(f->last[k], base, shift)]++;
    }
    f->last[blocks] = 0xffff;
    f->begin[blocks] = (co_u16)(m - 32);
    for (co_u32 r = 0; r < RANGES; r += 8) { /* sums of eight by a product */
        co_u64 ended, upto;
        memcpy(&ended, f->before + r, 8);
        upto = ended * each + before;
        ended = upto << 8 | (before & 0xff);
        memcpy(f->before + r, &ended, 8);
        before = (upto >> 56) * each;
    }
    f->base = base;
    f->top = top;
    f->shift = shift;
}

/* Where the block begins that v may be in. Of a number that is among the lasts of its range some are before;
 * seldom more than one, where numbers are spread. */
AVX2 static inline const co_u16 *find_block(const struct finder *f, const co_u16 *b, co_u32 v)
{
    co_u64 k = f->before[range_of(v, f->base, f->shift)];
    k += ((co_u32)f->last[k] - v) >> 31; /* no branch: nobody foresees it */
    while (f->last[k] < v)
        k++;
    return b + f->begin[k];
}

/* Those of a that are in b, or are not: each is sought by itself. */
AVX2_LOOP co_u32 sought_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    struct finder f;
    const co_u32 drop = !keep;
    co_u32 kept = 0, i = 0, end = n;
    finder_of(b, m, &f);
    while (i < n && a[i] < f.base)
        i++;
    while (end > i && a[end - 1] > f.top)
        end--;
    if (drop) {
        if (to)
            memmove(to, a, i * sizeof *a);
        kept = i;
    }
    for (; i < end; i++) {
        const co_u32 v = a[i];
        const struct block k = block_from(find_block(&f, b, v), 0);
        if (to)
            to[kept] = (co_u16)v;
        kept += (co_u32)block_has(&k, v) ^ drop;
    }
    if (drop) {
        if (to)
            memmove(to + kept, a + i, (n - i) * sizeof *a);
        kept += n - i;
    }
    return kept;
}

AVX2 static co_u32 sought_avx2(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    return to ? sought_any(a, n, b, m, keep, to) : sought_any(a, n, b, m, keep, NULL);
}

#    define SKEWED       4u  /* where lengths differ more, the numbers of the short array are the turns */
#    define SOUGHT_LEAST 64u /* numbers for which the ends of all blocks are worth to be gathered */

AVX2 static inline co_u32 filter_any(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep,
                                     co_u16 *to)
{
    const co_u32 longer = m > n ? m : n, shorter = m > n ? n : m;
    const int skewed = (keep || n < m) && longer / SKEWED > shorter && longer >= 32;
    if (skewed && (shorter < SOUGHT_LEAST || longer > SETS_ARRAY_MOST))
        return n < m ? singles_any(a, n, b, m, keep, to) : singles_any(b, m, a, n, 1, to);
    if (skewed && n < m)
        return sought_avx2(a, n, b, m, keep, to);
    /* what is put down may lie over numbers that are still to be read */
    co_u16 own[SETS_ARRAY_MOST];
    if (to == a)
        a = memcpy(own, a, n * sizeof *a);
    return skewed ? sought_avx2(b, m, a, n, 1, to) : eights(a, n, b, m, keep, to);
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
AVX2 static inline struct sets_measure words_any(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op,
                                                 int past)
{
    struct sets_measure m = {0, 0, 0};
    __m256i sum = _mm256_setzero_si256();
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i += 16) {
        __m256i some = _mm256_setzero_si256(), ones = some;
#    pragma GCC unroll 4
        for (co_u32 k = 0; k < 16; k += 4) {
            __m256i w = outcome_of(four_of(a + i + k), four_of(b + i + k), op);
            if (to && past)
                _mm256_stream_si256((__m256i *)(void *)(to + i + k), w);
            else if (to)
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

AVX2_LOOP struct sets_measure words_by(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op, int past)
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

AVX2 static struct sets_measure words_avx2(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    return words_by(to, a, b, op, 0);
}

AVX2 static struct sets_measure words_past_avx2(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    return words_by(to, a, b, op, 1);
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
    static const struct sets_vectors vectors = {filter_avx2,
                                                words_avx2,
                                                words_past_avx2,
                                                members_avx2,
                                                sets_merge_plain,
                                                sets_digest_plain,
                                                change_avx2,
                                                NULL,
                                                sets_sweep_plain,
                                                256,
                                                NULL,
                                                lines_avx2};
    return &vectors;
}
#endif
