/* cpu/keys_load.c: rows of a key column as words: a loop for each width. (Several columns in one word:
 * keys_pack.c.) Keys of several words are hashed a word at a time, by products of 128 bits whose
 * halves are folded. All factors are secret (keys_seed.c), and what they begin with is, too. */
#include "keys_hash.h"

#define NAN_64 0x7ff8000000000000ull

/* ---- one column ---------------------------------------------------------------------------------------- */

#define LOAD(T, CAST)                               \
    do {                                            \
        const T *from = (const T *)c->data + begin; \
        for (uint32_t i = 0; i < count; i++)        \
            words[i] = (uint64_t)(CAST)from[i];     \
    } while (0)

static void load_unsigned(const struct keys_column *c, uint64_t begin, uint32_t count, uint64_t *words)
{
    if (c->bytes == 1)
        LOAD(uint8_t, uint64_t);
    else if (c->bytes == 2)
        LOAD(uint16_t, uint64_t);
    else if (c->bytes == 4)
        LOAD(uint32_t, uint64_t);
    else
        LOAD(uint64_t, uint64_t);
}

static void load_signed(const struct keys_column *c, uint64_t begin, uint32_t count, uint64_t *words)
{
    if (c->bytes == 1)
        LOAD(int8_t, int64_t);
    else if (c->bytes == 2)
        LOAD(int16_t, int64_t);
    else if (c->bytes == 4)
        LOAD(int32_t, int64_t);
    else
        LOAD(uint64_t, uint64_t);
}

/* Exponent all ones and a fraction: a NaN. Only the sign: a zero. */
static void make_canonical(uint64_t *words, uint32_t count, uint64_t sign, uint64_t infinity, uint64_t nan)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = words[i] & (sign - 1);
        words[i] = size > infinity ? nan : size ? words[i] : 0;
    }
}

static void load_float(const struct keys_column *c, uint64_t begin, uint32_t count, uint64_t *words)
{
    load_unsigned(c, begin, count, words);
    if (c->bytes == 2)
        make_canonical(words, count, 0x8000, 0x7c00, 0x7e00);
    else if (c->bytes == 4)
        make_canonical(words, count, 0x80000000u, 0x7f800000u, 0x7fc00000u);
    else
        make_canonical(words, count, 1ull << 63, 0x7ff0000000000000ull, NAN_64);
}

/* Eight bits as bytes, bit i as byte i: `mark` where there is a one. */
static inline uint64_t spread(uint64_t bits, uint8_t mark)
{
    const uint64_t each = (bits & 0xff) * 0x0101010101010101ull & 0x8040201008040201ull;
    return (((each + 0x7f7f7f7f7f7f7f7full) >> 7) & 0x0101010101010101ull) * mark;
}

int keys_load_states(const struct keys_column *c, uint64_t begin, uint32_t count, uint8_t *states)
{
    const uint8_t null = c->skips_nulls ? KEYS_NONE : KEYS_NULL;
    uint64_t any = 0;
    memset(states, KEYS_VALUE, count);
    for (uint32_t at = 0; c->validity && at < count; at += 64) {
        const uint32_t n = count - at < 64 ? count - at : 64;
        const uint64_t rows = n < 64 ? (1ull << n) - 1 : ~0ull,
                       nulls = ~keys_bits(c->validity, c->validity_bit + begin + at, n) & rows;
        any |= nulls;
        for (uint32_t i = 0; nulls && i < n; i += 8) {
            const uint64_t eight = spread(nulls >> i, null);
            memcpy(states + at + i, &eight, n - i < 8 ? n - i : 8);
        }
    }
    return any != 0;
}

/* Of a dictionary that has values. Indices of null rows may be anything: they stand for the first one. */
static int load_dictionary(const struct keys_column *c, uint64_t begin, uint32_t count, uint64_t *words,
                           uint8_t *states, int any)
{
    uint8_t seen = 0;
    load_unsigned(c, begin, count, words);
    for (uint32_t i = 0; any && i < count; i++)
        words[i] = states[i] ? 0 : words[i];
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = words[i], there = 0 - (uint64_t)!states[i];
        uint8_t state = c->states[at];
        state = state == KEYS_NULL && c->skips_nulls ? KEYS_NONE : state;
        states[i] |= state & (uint8_t)there;
        words[i] = c->words[at] & there;
        seen |= states[i];
    }
    return seen != 0;
}

int keys_load(const struct keys_column *c, uint64_t begin, uint32_t count, uint64_t *words, uint8_t *states)
{
    int any = keys_load_states(c, begin, count, states);
    switch (c->kind) {
    case KEYS_BITS:
        for (uint32_t i = 0; i < count; i++)
            words[i] = (uint64_t)table_bit(c->data, c->data_bit + begin + i);
        return any;
    case KEYS_SIGNED:
        load_signed(c, begin, count, words);
        return any;
    case KEYS_FLOAT:
        load_float(c, begin, count, words);
        return any;
    case KEYS_RAW:
        for (uint32_t i = 0; i < count; i++) {
            words[i] = 0;
            memcpy(&words[i], (const char *)c->data + (begin + i) * c->bytes, c->bytes);
        }
        return any;
    case KEYS_DICTIONARY:
        if (c->states)
            return load_dictionary(c, begin, count, words, states, any);
        memset(words, 0, count * sizeof *words);
        return any;
    case KEYS_IDS:
        load_unsigned(c, begin, count, words);
        for (uint32_t i = 0; i < count; i++)
            if (words[i] == KEYS_NO_ID && !states[i])
                any = states[i] = KEYS_NONE;
        return any;
    default:
        load_unsigned(c, begin, count, words);
        return any;
    }
}

/* ---- several columns, several words -------------------------------------------------------------------- */

/* value_states NULL: there are values in all rows. */
static int put_column(const struct keys_rows *r, uint32_t c, uint32_t count, const uint64_t *values,
                      const uint8_t *value_states, uint64_t *keys, uint8_t *states)
{
    const uint32_t bits = 8 * r->column[c].fill, shift = r->at[c] % 64, null = r->nulls + c;
    const uint64_t mask = bits < 64 ? (1ull << bits) - 1 : ~0ull;
    uint64_t *to = keys + r->at[c] / 64, *mark = keys + null / 64;
    int any = 0;
    if (!value_states && bits == 64) {
        for (uint32_t i = 0; i < count; i++, to += r->words)
            *to = values[i];
        return 0;
    }
    for (uint32_t i = 0; !value_states && i < count; i++, to += r->words)
        *to |= (values[i] & mask) << shift;
    for (uint32_t i = 0; value_states && i < count; i++, to += r->words, mark += r->words) {
        if (value_states[i] == KEYS_VALUE)
            *to |= (values[i] & mask) << shift;
        else if (value_states[i] == KEYS_NULL)
            *mark |= 1ull << null % 64;
        else
            any = states[i] = KEYS_NONE;
    }
    return any;
}

int keys_load_wide(const struct keys_rows *r, uint64_t begin, uint32_t count, uint64_t *keys, uint8_t *states)
{
    uint64_t values[KEYS_BLOCK];
    uint8_t own[KEYS_BLOCK];
    int any = 0;
    memset(keys, 0, (uint64_t)count * r->words * sizeof *keys);
    memset(states, KEYS_VALUE, count);
    for (uint32_t c = 0; c < r->columns; c++) {
        const uint64_t *there = keys_column_in_place(&r->column[c], begin);
        int some = there ? 0 : keys_load(&r->column[c], begin, count, values, own);
        any |= put_column(r, c, count, there ? there : values, some ? own : NULL, keys, states);
    }
    return any;
}

/* ---- hashes of several words --------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void hash_keys(const struct keys_seed *seed, const uint64_t *key,
                                                            uint32_t words, uint32_t count, uint64_t *hashes)
{
    const struct keys_seed s = *seed;
    for (uint32_t row = 0; row < count; row++, key += words) {
        uint64_t h = s.text[0];
        for (uint32_t i = 0; i + 1 < words; i++)
            h = keys_fold(h ^ key[i], s.text[1]) + s.text[2];
        hashes[row] = keys_fold(h ^ key[words - 1], s.text[3]) & KEYS_HASH_BITS;
    }
}

/* Few words: without a loop. */
void keys_hash_wide(const struct keys_seed *s, const uint64_t *keys, uint32_t words, uint32_t count,
                    uint64_t *hashes)
{
    if (words == 2)
        hash_keys(s, keys, 2, count, hashes);
    else if (words == 3)
        hash_keys(s, keys, 3, count, hashes);
    else if (words == 4)
        hash_keys(s, keys, 4, count, hashes);
    else
        hash_keys(s, keys, words, count, hashes);
}
