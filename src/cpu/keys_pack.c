/* cpu/keys_pack.c: rows of several key columns as words: one column after the other, each adding its code.
 * With AVX-512 integers do so eight rows at a time. */
#include "keys_vector.h"

/* ---- row by row ---------------------------------------------------------------------------------------- */

static int add_codes(const struct keys_words *w, uint32_t column, uint64_t begin, uint32_t count,
                     uint64_t *words, uint8_t *states)
{
    uint64_t values[KEYS_BLOCK], base = w->base[column], span = w->span[column];
    uint8_t own[KEYS_BLOCK], any = 0;
    uint32_t shift = w->shift[column];
    keys_load(&w->column[column], begin, count, values, own);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t code = values[i] - base;
        int null = own[i] == KEYS_NULL;
        if (own[i] == KEYS_NONE || (!null && code > span))
            any = states[i] = KEYS_NONE;
        words[i] |= (null ? 0 : code + 1) << shift;
    }
    return any != 0;
}

/* ---- by vectors ---------------------------------------------------------------------------------------- */

#if CPU_VECTORS
static int is_fit(const struct keys_column *c)
{
    return (c->kind == KEYS_UNSIGNED || c->kind == KEYS_SIGNED || c->kind == KEYS_IDS) &&
           !(c->validity && c->skips_nulls);
}

/* Eight values, or as many of them as there are rows. */
AVX512 static inline __attribute__((always_inline)) __m512i load_8(const char *at, __mmask8 rows,
                                                                   uint32_t bytes, int is_signed)
{
    if (bytes == 1) {
        const __m128i v = _mm_maskz_loadu_epi8(rows, at);
        return is_signed ? _mm512_cvtepi8_epi64(v) : _mm512_cvtepu8_epi64(v);
    }
    if (bytes == 2) {
        const __m128i v = _mm_maskz_loadu_epi16(rows, at);
        return is_signed ? _mm512_cvtepi16_epi64(v) : _mm512_cvtepu16_epi64(v);
    }
    if (bytes == 4) {
        const __m256i v = _mm256_maskz_loadu_epi32(rows, at);
        return is_signed ? _mm512_cvtepi32_epi64(v) : _mm512_cvtepu32_epi64(v);
    }
    return _mm512_maskz_loadu_epi64(rows, at);
}

/* What a column adds: (value - base + 1) << shift, value - base being at most `span`; or 0, for null. */
struct codes_of {
    const struct keys_column *column;
    uint64_t base, span;
    uint32_t shift;
};

static void mark_none(uint8_t *states, uint32_t eight)
{
    for (; eight; eight &= eight - 1)
        states[__builtin_ctz(eight)] = KEYS_NONE;
}

AVX512 static inline __attribute__((always_inline)) int add_width(const struct codes_of *a, uint32_t bytes,
                                                                  int is_signed, uint64_t begin,
                                                                  uint32_t count, uint64_t *words,
                                                                  uint8_t *states)
{
    const struct keys_column *c = a->column;
    const char *data = (const char *)c->data + begin * bytes;
    const __m512i base = _mm512_set1_epi64((long long)a->base), span = _mm512_set1_epi64((long long)a->span),
                  one = _mm512_set1_epi64(1);
    const __m128i shift = _mm_cvtsi32_si128((int)a->shift);
    __mmask8 some = 0;
    for (uint32_t at = 0; at < count; at += 64) {
        const uint32_t n = count - at < 64 ? count - at : 64;
        uint64_t valid = c->validity ? keys_bits(c->validity, c->validity_bit + begin + at, n) : ~0ull;
        for (uint32_t i = at; i < at + n; i += 8, valid >>= 8) {
            const __mmask8 rows = count - i < 8 ? (__mmask8)((1u << (count - i)) - 1) : 0xff,
                           there = (__mmask8)valid & rows;
            const __m512i v = load_8(data + (size_t)i * bytes, rows, bytes, is_signed),
                          code = _mm512_sub_epi64(v, base);
            /* Above the span is no code. A string without a number has KEYS_NO_ID, above all spans. */
            const __mmask8 none = _mm512_mask_cmpgt_epu64_mask(there, code, span);
            if (none)
                mark_none(states + i, none);
            some |= none;
            const __m512i own = _mm512_sll_epi64(_mm512_maskz_add_epi64(there, code, one), shift);
            _mm512_mask_storeu_epi64(words + i, rows,
                                     _mm512_or_si512(own, _mm512_maskz_loadu_epi64(rows, words + i)));
        }
    }
    return some != 0;
}

AVX512 static int add_codes_512(const struct codes_of *a, uint64_t begin, uint32_t count, uint64_t *words,
                                uint8_t *states)
{
    const int is_signed = a->column->kind == KEYS_SIGNED;
    switch (a->column->bytes) {
    case 1:
        return add_width(a, 1, is_signed, begin, count, words, states);
    case 2:
        return add_width(a, 2, is_signed, begin, count, words, states);
    case 4:
        return add_width(a, 4, is_signed, begin, count, words, states);
    default:
        return add_width(a, 8, is_signed, begin, count, words, states);
    }
}
#endif

/* ---- either -------------------------------------------------------------------------------------------- */

static int add_column(enum cpu_level level, const struct keys_words *w, uint32_t column, uint64_t begin,
                      uint32_t count, uint64_t *words, uint8_t *states)
{
#if CPU_VECTORS
    if (level >= CPU_AVX512 && is_fit(&w->column[column])) {
        const struct codes_of a = {&w->column[column], w->base[column], w->span[column], w->shift[column]};
        return add_codes_512(&a, begin, count, words, states);
    }
#endif
    (void)level;
    return add_codes(w, column, begin, count, words, states);
}

static int skip_nulls(const struct keys_words *w, uint64_t begin, uint32_t count, uint8_t *states)
{
    uint64_t words[KEYS_BLOCK];
    uint8_t own[KEYS_BLOCK];
    int any = 0;
    for (uint32_t c = 0; c < w->skips; c++) {
        if (!keys_load(&w->skip[c], begin, count, words, own))
            continue;
        any = 1;
        for (uint32_t i = 0; i < count; i++)
            states[i] = own[i] ? KEYS_NONE : states[i];
    }
    return any;
}

int keys_load_rows(enum cpu_level level, const struct keys_words *w, uint64_t begin, uint32_t count,
                   uint64_t *words, uint8_t *states)
{
    if (!w->base)
        return keys_load(w->column, begin, count, words, states);
    int any = 0;
    memset(words, 0, count * sizeof *words);
    memset(states, KEYS_VALUE, count);
    for (uint32_t c = 0; c < w->columns; c++)
        any |= add_column(level, w, c, begin, count, words, states);
    return any | skip_nulls(w, begin, count, states);
}
