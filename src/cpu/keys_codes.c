/* cpu/keys_codes.c: rows as places in a table by word (keys_direct.c). With AVX-512, sixteen at a time: a
 * table has fewer than 2^31 places and all words lie in its range, so 32 bits of each word are enough. */
#include "keys_vector.h"

/* ---- word by word -------------------------------------------------------------------------------------- */

static int codes_plain(const struct keys_codes *k, uint64_t begin, uint32_t count, uint32_t *codes)
{
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    const int some = keys_load_rows(k->level, k->words, begin, count, words, states);
    for (uint32_t i = 0; i < count; i++)
        codes[i] = (uint32_t)(words[i] - k->low);
    for (uint32_t i = 0; some && i < count; i++) {
        const uint32_t code = codes[i], without = states[i] == KEYS_NULL ? k->null : KEYS_NO_ID;
        codes[i] = states[i] ? without : code;
    }
    return some;
}

/* ---- by vectors ---------------------------------------------------------------------------------------- */

#if CPU_VECTORS
static int is_fit(const struct keys_column *c)
{
    return c->kind == KEYS_UNSIGNED || c->kind == KEYS_SIGNED || c->kind == KEYS_IDS;
}

/* What a column adds to the codes: (value - base) << shift, or `null`. */
struct addend {
    const struct keys_column *column;
    uint32_t base, shift, null;
    int is_first; /* nothing is in the codes yet */
};

AVX512 static inline __attribute__((always_inline)) __m512i low_32(const char *at, __mmask16 rows,
                                                                   uint32_t bytes, int is_signed)
{
    if (bytes == 1) {
        const __m128i v = _mm_maskz_loadu_epi8(rows, at);
        return is_signed ? _mm512_cvtepi8_epi32(v) : _mm512_cvtepu8_epi32(v);
    }
    if (bytes == 2) {
        const __m256i v = _mm256_maskz_loadu_epi16(rows, at);
        return is_signed ? _mm512_cvtepi16_epi32(v) : _mm512_cvtepu16_epi32(v);
    }
    if (bytes == 4)
        return _mm512_maskz_loadu_epi32(rows, at);
    const __m256i low = _mm512_cvtepi64_epi32(_mm512_maskz_loadu_epi64((__mmask8)rows, at)),
                  high = _mm512_cvtepi64_epi32(_mm512_maskz_loadu_epi64((__mmask8)(rows >> 8), at + 64));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

AVX512 static inline __attribute__((always_inline)) int add_width(const struct addend *a, uint32_t bytes,
                                                                  int is_signed, uint64_t begin,
                                                                  uint32_t count, uint32_t *codes)
{
    const struct keys_column *c = a->column;
    const char *data = (const char *)c->data + begin * bytes;
    const __m512i base = _mm512_set1_epi32((int)a->base), null = _mm512_set1_epi32((int)a->null),
                  none = _mm512_set1_epi32(-1);
    const __m128i shift = _mm_cvtsi32_si128((int)a->shift);
    const int is_ids = c->kind == KEYS_IDS, is_first = a->is_first;
    __mmask16 some = 0;
    for (uint32_t at = 0; at < count; at += 64) {
        const uint32_t n = count - at < 64 ? count - at : 64;
        uint64_t valid = c->validity ? keys_bits(c->validity, c->validity_bit + begin + at, n) : ~0ull;
        for (uint32_t i = 0; i < n; i += 16, valid >>= 16) {
            const __mmask16 rows = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff,
                            there = (__mmask16)valid & rows;
            const __m512i v = low_32(data + (size_t)(at + i) * bytes, rows, bytes, is_signed);
            __m512i code = _mm512_sll_epi32(_mm512_sub_epi32(v, base), shift);
            code = _mm512_mask_mov_epi32(null, there, code);
            if (is_ids)
                code = _mm512_mask_mov_epi32(code, _mm512_mask_cmpeq_epi32_mask(there, v, none), none);
            if (!is_first)
                code = _mm512_or_si512(code, _mm512_maskz_loadu_epi32(rows, codes + at + i));
            some |= _mm512_mask_cmpeq_epi32_mask(rows, code, none);
            _mm512_mask_storeu_epi32(codes + at + i, rows, code);
        }
    }
    return some != 0;
}

AVX512 static int add_column(const struct addend *a, uint64_t begin, uint32_t count, uint32_t *codes)
{
    const int is_signed = a->column->kind == KEYS_SIGNED;
    switch (a->column->bytes) {
    case 1:
        return add_width(a, 1, is_signed, begin, count, codes);
    case 2:
        return add_width(a, 2, is_signed, begin, count, codes);
    case 4:
        return add_width(a, 4, is_signed, begin, count, codes);
    default:
        return add_width(a, 8, is_signed, begin, count, codes);
    }
}

AVX512 static int codes_512(const struct keys_codes *k, uint64_t begin, uint32_t count, uint32_t *codes)
{
    const struct keys_words *w = k->words;
    int some = 0;
    if (!w->base) {
        const struct addend a = {w->column, (uint32_t)k->low, 0,
                                 w->column->skips_nulls ? KEYS_NO_ID : k->null, 1};
        return add_column(&a, begin, count, codes);
    }
    for (uint32_t c = 0; c < w->columns; c++) { /* code 0 is null's */
        const struct addend a = {&w->column[c], (uint32_t)w->base[c] - 1, w->shift[c],
                                 w->column[c].skips_nulls ? KEYS_NO_ID : 0, !c};
        some |= add_column(&a, begin, count, codes);
    }
    return some;
}
#endif

/* ---- either -------------------------------------------------------------------------------------------- */

struct keys_codes keys_codes_of(const struct keys_words *w, enum cpu_level level, uint64_t low, uint32_t null)
{
    struct keys_codes k = {w, low, null, level, 0};
#if CPU_VECTORS
    k.by_vectors = level >= CPU_AVX512 && !w->skips;
    for (uint32_t c = 0; k.by_vectors && c < w->columns; c++)
        k.by_vectors = is_fit(&w->column[c]);
#endif
    return k;
}

int keys_codes_load(const struct keys_codes *k, uint64_t begin, uint32_t count, uint32_t *codes)
{
#if CPU_VECTORS
    if (k->by_vectors)
        return codes_512(k, begin, count, codes);
#endif
    return codes_plain(k, begin, count, codes);
}
