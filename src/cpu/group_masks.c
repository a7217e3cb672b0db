/* cpu/group_masks.c: a block's values, for any number of groups, and rows folded into the records of very
 * few, by AVX-512.
 *
 * A comparison of a block's group numbers with one group's gives a mask, a bit a row; what is null is taken
 * out of it. A group's rows are as many as there are ones in its mask, and its sum is that of eight values at
 * a time of which the mask takes some and zeros stand for the others. No row waits for the one before it, and
 * no row takes a place of its own in memory. The work grows with the number of groups, so that more than a
 * few are folded a row at a time (group.c). */
#include "group.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    if defined(__clang__)
#        define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,popcnt")))
#    else
#        define AVX512 \
            __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,popcnt,prefer-vector-width=512")))
#    endif
#    define MASK_WORDS (KEYS_BLOCK / 64)

int group_masks_can(enum cpu_level level, uint64_t groups)
{
    return level >= CPU_AVX512 && groups <= GROUP_MASKS;
}

int group_masks_take(const struct group_share *s)
{
    return s->state == GROUP_COUNT || s->state == GROUP_SUM || s->state >= GROUP_STATES;
}

AVX512 void group_masks_make(struct group_masks *m, const uint32_t *ids, uint32_t count, uint32_t groups)
{
    memset(m, 0, sizeof *m);
    for (uint32_t at = 0; at < count; at += 16) {
        const __mmask16 rows = count - at < 16 ? (__mmask16)((1u << (count - at)) - 1) : 0xffff;
        const __m512i id = _mm512_maskz_loadu_epi32(rows, ids + at);
        for (uint32_t g = 0; g < groups; g++) {
            __mmask16 of = _mm512_mask_cmpeq_epi32_mask(rows, id, _mm512_set1_epi32((int)g));
            memcpy(m->of[g] + at / 8, &of, sizeof of);
        }
    }
}

AVX512 static uint64_t ones(const uint8_t *mask)
{
    uint64_t word[MASK_WORDS], n = 0;
    memcpy(word, mask, sizeof word);
    for (uint32_t i = 0; i < MASK_WORDS; i++)
        n += (uint64_t)__builtin_popcountll(word[i]);
    return n;
}

AVX512 void group_masks_count(const struct group_masks *m, uint64_t *record, uint64_t stride, uint32_t groups)
{
    for (uint32_t g = 0; g < groups; g++)
        record[g * stride] += ones(m->of[g]);
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* Those rows of a block that are not null. 0: all are. */
static int valid_of(const struct keys_column *c, uint64_t begin, uint32_t count, uint64_t *valid)
{
    for (uint32_t i = 0; c->validity && i < MASK_WORDS; i++) {
        const uint32_t at = 64 * i, n = at >= count ? 0 : count - at < 64 ? count - at : 64;
        valid[i] = n ? keys_bits(c->validity, c->validity_bit + begin + at, n) : 0;
    }
    return c->validity != NULL;
}

#    define LOAD(T)                                     \
        do {                                            \
            const T *from = (const T *)c->data + begin; \
            for (uint32_t i = 0; i < count; i++)        \
                words[i] = (uint64_t)from[i];           \
        } while (0)

/* Integers of 4 and 8 bytes, doubles: the words of keys_load. 0: the column is another one. */
AVX512 static int load(const struct keys_column *c, uint64_t begin, uint32_t count, uint64_t *words)
{
    const int is_signed = c->kind == KEYS_SIGNED, is_real = c->kind == KEYS_FLOAT;
    if ((c->bytes != 4 && c->bytes != 8) || (c->kind != KEYS_UNSIGNED && !is_signed && !is_real) ||
        (is_real && c->bytes == 4))
        return 0;
    if (c->bytes == 8)
        LOAD(uint64_t);
    else if (is_signed)
        LOAD(int32_t);
    else
        LOAD(uint32_t);
    for (uint32_t i = 0; is_real && i < count; i++) { /* one NaN, one zero */
        const uint64_t size = words[i] & (~0ull >> 1), infinity = 0x7ffull << 52;
        words[i] = size > infinity ? infinity | 1ull << 51 : size ? words[i] : 0;
    }
    return 1;
}

int group_load(const struct keys_column *c, enum cpu_level level, uint64_t begin, uint32_t count,
               uint64_t *words, uint8_t *states)
{
    if (level >= CPU_AVX512 && load(c, begin, count, words))
        return keys_load_states(c, begin, count, states);
    return keys_load(c, begin, count, words, states);
}

/* A block's values as a share takes them; 1: only those of `valid` are some. */
AVX512 static int values_of(const struct group_fold *f, uint32_t state, uint64_t begin, uint32_t count,
                            uint64_t *words, uint64_t *valid)
{
    uint8_t states[KEYS_BLOCK];
    int some;
    if (state == GROUP_COUNT || load(&f->column, begin, count, words)) {
        some = valid_of(&f->column, begin, count, valid);
    } else {
        some = keys_load(&f->column, begin, count, words, states);
        memset(valid, 0, MASK_WORDS * sizeof *valid);
        for (uint32_t i = 0; some && i < count; i++)
            valid[i / 64] |= (uint64_t)!states[i] << i % 64;
    }
    if (state != GROUP_COUNT)
        group_make_words(state, &f->column, words, count);
    return some;
}

/* ---- folds --------------------------------------------------------------------------------------------- */

/* s, by `BODY` of each eight values x of which `rows` are the group's, and then of all eight: four sums, so
 * that none waits for itself. */
#    define FOLD(T, OPEN, LOAD, BODY, JOIN)                                         \
        T s[4] = {OPEN, OPEN, OPEN, OPEN};                                          \
        for (uint32_t at = 0; at < count; at += 32)                                 \
            for (uint32_t j = 0; j < 4; j++) {                                      \
                const __mmask8 rows = mask[at / 8 + j];                             \
                const T x = LOAD(rows, (const void *)(words + at + (size_t)8 * j)); \
                s[j] = BODY;                                                        \
            }                                                                       \
        s[0] = JOIN(JOIN(s[0], s[1]), JOIN(s[2], s[3]))
#    define FOLD_WORDS(OPEN, BODY, JOIN) \
        FOLD(__m512i, _mm512_set1_epi64(OPEN), _mm512_maskz_loadu_epi64, BODY, JOIN)

AVX512 static uint64_t sum_words(const uint8_t *mask, const uint64_t *words, uint32_t count)
{
    FOLD_WORDS(0, _mm512_add_epi64(s[j], x), _mm512_add_epi64);
    return (uint64_t)_mm512_reduce_add_epi64(s[0]);
}

/* Of the lower halves. */
AVX512 static uint64_t sum_low(const uint8_t *mask, const uint64_t *words, uint32_t count)
{
    const __m512i low = _mm512_set1_epi64(0xffffffff);
    FOLD_WORDS(0, _mm512_add_epi64(s[j], _mm512_and_si512(x, low)), _mm512_add_epi64);
    return (uint64_t)_mm512_reduce_add_epi64(s[0]);
}

/* Of the upper halves: numbers without a sign, or with one. */
AVX512 static uint64_t sum_high(const uint8_t *mask, const uint64_t *words, uint32_t count)
{
    FOLD_WORDS(0, _mm512_add_epi64(s[j], _mm512_srli_epi64(x, 32)), _mm512_add_epi64);
    return (uint64_t)_mm512_reduce_add_epi64(s[0]);
}

AVX512 static uint64_t sum_signed_high(const uint8_t *mask, const uint64_t *words, uint32_t count)
{
    FOLD_WORDS(0, _mm512_add_epi64(s[j], _mm512_srai_epi64(x, 32)), _mm512_add_epi64);
    return (uint64_t)_mm512_reduce_add_epi64(s[0]);
}

AVX512 static double sum_reals(const uint8_t *mask, const uint64_t *words, uint32_t count)
{
    FOLD(__m512d, _mm512_setzero_pd(), _mm512_maskz_loadu_pd, _mm512_add_pd(s[j], x), _mm512_add_pd);
    return _mm512_reduce_add_pd(s[0]);
}

AVX512 static uint64_t least(const uint8_t *mask, const uint64_t *words, uint32_t count)
{
    FOLD_WORDS(-1, _mm512_mask_min_epu64(s[j], rows, s[j], x), _mm512_min_epu64);
    return _mm512_reduce_min_epu64(s[0]);
}

AVX512 static uint64_t most(const uint8_t *mask, const uint64_t *words, uint32_t count)
{
    FOLD_WORDS(0, _mm512_mask_max_epu64(s[j], rows, s[j], x), _mm512_max_epu64);
    return _mm512_reduce_max_epu64(s[0]);
}

/* The least row of those in `mask`, of which there are some. */
AVX512 static uint32_t first_of(const uint8_t *mask)
{
    uint64_t word[MASK_WORDS];
    uint32_t i = 0;
    memcpy(word, mask, sizeof word);
    while (!word[i])
        i++;
    return 64 * i + (uint32_t)__builtin_ctzll(word[i]);
}

/* Shift, sum and squares: the shift is the first value. */
AVX512 static void fold_moments(const uint8_t *mask, const uint64_t *words, uint32_t count, uint64_t *share)
{
    if (share[0] == ~0ull)
        share[0] = words[first_of(mask)];
    const __m512d shift = _mm512_set1_pd(group_real(share[0]));
    __m512d sum[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()}, squares[2] = {sum[0], sum[0]};
    for (uint32_t at = 0; at < count; at += 16)
        for (uint32_t j = 0; j < 2; j++) {
            const __mmask8 rows = mask[at / 8 + j];
            const __m512d x = _mm512_maskz_loadu_pd(rows, (const void *)(words + at + (size_t)8 * j));
            const __m512d d = _mm512_maskz_sub_pd(rows, x, shift);
            sum[j] = _mm512_add_pd(sum[j], d);
            squares[j] = _mm512_fmadd_pd(d, d, squares[j]);
        }
    share[1] = group_bits(group_real(share[1]) + _mm512_reduce_add_pd(_mm512_add_pd(sum[0], sum[1])));
    share[2] = group_bits(group_real(share[2]) + _mm512_reduce_add_pd(_mm512_add_pd(squares[0], squares[1])));
}

/* Values of the rows of `mask`, of which there are some, into a share. */
static void fold(uint32_t state, int is_signed, const uint8_t *mask, const uint64_t *words, uint32_t count,
                 uint64_t *share)
{
    switch (state) {
    case GROUP_SUM: {
        const uint64_t low = sum_low(mask, words, count);
        const uint64_t high = (is_signed ? sum_signed_high : sum_high)(mask, words, count);
        struct group_sum *sum = (struct group_sum *)(void *)share;
        group_sum_add(sum, low, 0);
        group_sum_add(sum, high << 32, is_signed ? (uint64_t)((int64_t)high >> 32) : high >> 32);
        sum->count += ones(mask);
        return;
    }
    case GROUP_SHORT_SUM:
        *share += sum_words(mask, words, count);
        return;
    case GROUP_SHORT_FLOATS:
        *share = group_bits(group_real(*share) + sum_reals(mask, words, count));
        return;
    case GROUP_SHORT_MOMENTS:
        fold_moments(mask, words, count, share);
        return;
    case GROUP_SHORT_MIN: {
        const uint64_t x = least(mask, words, count);
        *share = x < *share ? x : *share;
        return;
    }
    default: {
        const uint64_t x = most(mask, words, count);
        *share = x > *share ? x : *share;
        return;
    }
    }
}

/* ---- sums of small integers of 4 bytes: sixteen at a time ---------------------------------------------- */

#    define VECTORS (KEYS_BLOCK / 16)
#    define SMALL   (1u << 23) /* the sum of a block of such fits into 32 bits, with a sign or without */

/* 0: the column is another one, or some value is not small. */
AVX512 static int load_small(const struct keys_column *c, uint64_t begin, uint32_t count, __m512i *v)
{
    const uint32_t *from = (const uint32_t *)c->data + begin;
    const int is_signed = c->kind == KEYS_SIGNED;
    __m512i all = _mm512_setzero_si512();
    if (c->bytes != 4 || (c->kind != KEYS_UNSIGNED && !is_signed))
        return 0;
    for (uint32_t i = 0, at = 0; i < VECTORS; i++, at += 16) {
        const __mmask16 rows = at >= count        ? 0
                               : count - at >= 16 ? 0xffff
                                                  : (__mmask16)((1u << (count - at)) - 1);
        v[i] = _mm512_maskz_loadu_epi32(rows, from + at);
        all = _mm512_or_si512(all, is_signed ? _mm512_xor_si512(v[i], _mm512_srai_epi32(v[i], 31)) : v[i]);
    }
    return !_mm512_test_epi32_mask(all, _mm512_set1_epi32(-(int)SMALL));
}

AVX512 static uint64_t sum_small(const uint8_t *mask, const __m512i *v)
{
    __m512i s[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                    _mm512_setzero_si512()};
    uint16_t rows[VECTORS];
    memcpy(rows, mask, sizeof rows);
    for (uint32_t i = 0; i < VECTORS; i += 4)
        for (uint32_t j = 0; j < 4; j++)
            s[j] = _mm512_mask_add_epi32(s[j], rows[i + j], s[j], v[i + j]);
    const __m512i all = _mm512_add_epi32(_mm512_add_epi32(s[0], s[1]), _mm512_add_epi32(s[2], s[3]));
    return (uint64_t)(int64_t)_mm512_reduce_add_epi32(all);
}

AVX512 void group_masks_fold(const struct group_masks *m, const struct group_fold *f,
                             const struct group_share *s, uint64_t begin, uint32_t count, uint64_t *record,
                             uint64_t stride, uint32_t groups)
{
    uint64_t words[KEYS_BLOCK], valid[MASK_WORDS];
    __m512i small[VECTORS];
    const int is_small = s->state == GROUP_SHORT_SUM && load_small(&f->column, begin, count, small);
    const int some = is_small ? valid_of(&f->column, begin, count, valid)
                              : values_of(f, s->state, begin, count, words, valid);
    for (uint32_t g = 0; g < groups; g++, record += stride) {
        uint64_t mask[MASK_WORDS];
        memcpy(mask, m->of[g], sizeof mask);
        for (uint32_t i = 0; some && i < MASK_WORDS; i++)
            mask[i] &= valid[i];
        const uint64_t rows = ones((const uint8_t *)mask);
        if (s->count && s->count != ~0u)
            record[s->count] += rows;
        if (is_small)
            record[s->at] += sum_small((const uint8_t *)mask, small);
        else if (rows && s->state != GROUP_COUNT)
            fold(s->state, f->column.kind == KEYS_SIGNED, (const uint8_t *)mask, words, count,
                 record + s->at);
    }
}
#else
int group_load(const struct keys_column *c, enum cpu_level level, uint64_t begin, uint32_t count,
               uint64_t *words, uint8_t *states)
{
    (void)level;
    return keys_load(c, begin, count, words, states);
}

int group_masks_can(enum cpu_level level, uint64_t groups)
{
    (void)level, (void)groups;
    return 0;
}

int group_masks_take(const struct group_share *s)
{
    (void)s;
    return 0;
}

void group_masks_make(struct group_masks *m, const uint32_t *ids, uint32_t count, uint32_t groups)
{
    (void)m, (void)ids, (void)count, (void)groups;
}

void group_masks_count(const struct group_masks *m, uint64_t *record, uint64_t stride, uint32_t groups)
{
    (void)m, (void)record, (void)stride, (void)groups;
}

void group_masks_fold(const struct group_masks *m, const struct group_fold *f, const struct group_share *s,
                      uint64_t begin, uint32_t count, uint64_t *record, uint64_t stride, uint32_t groups)
{
    (void)m, (void)f, (void)s, (void)begin, (void)count, (void)record, (void)stride, (void)groups;
}
#endif
