/* cpu/keys_members.c: which numbers are among others, and where these have them first.
 *
 * Values that lie close together are a table by word: of bits, or of rows. Others are words in slots, found
 * by linear probing, and beside them their rows; a word that looks like an empty slot is kept apart. Few
 * values have many slots each, so that nearly every key is settled at its first one; without a branch, and
 * those that are not are looked for after the others of their block.
 *
 * Before the slots there is a filter. Where they are more than a core's own cache holds it has two bits of
 * one word for each value: keys that it does not know are settled, and the slots of the others are asked for
 * before any is read. Few values have one bit each, found by one product, of a bitmap that stays in the
 * nearest cache. A thread that sees a filter let many keys pass goes on without it.
 *
 * With AVX-512 eight keys are looked for at a time, sixteen in the bitmap of few values.
 *
 * Few distinct keys among many values turn this round (keys_turn.c): the values that are among the keys are
 * found first, and are all that is put in here.
 *
 * Values are put in by all threads: a slot is taken by one compare-and-swap and never changes, rows and bits
 * only fall and rise. So the outcome is the same for any threads. */
#include "keys_vector.h"

#define EMPTY     (~0ull)
#define NO_ROW    (~0u)
#define NEAR      (1u << 19)      /* bytes of slots that a core's own cache holds */
#define SLOTS     2u              /* a value, at least, */
#define SLOTS_FEW 16u             /* and where all are so near */
#define BITS_EACH 128u            /* a table of bits has so many a value, at most, */
#define BITS_FEW  (1u << 19)      /* or so many */
#define ROWS_EACH 8u              /* a table of rows has so many a value, at most, */
#define ROWS_FEW  (1u << 16)      /* or so many */
#define TRIED     (1u << 12)      /* keys after which a thread judges the filter, */
#define PASSING   (TRIED / 4 * 3) /* which goes if more pass; */
#define TRIED_1   (1u << 9)       /* and where a value has one bit */
#define PASSING_1 (TRIED_1 / 4)
#define BIT_EACH  32u /* bits of the filter of few values: so many a value, */
#define BIT_LEAST 12u /* a power of two: of 2 to this */
#define BIT_MOST  18u

struct members {
    const struct keys_members *ask;
    const uint32_t *number; /* the row that each value stands for; NULL: its own */
    struct keys_words values, keys;
    const struct keys_seed *seed;
    enum cpu_level level;
    int is_direct;
    uint64_t low, span; /* of values: DIRECT */
    uint64_t *bit;      /* DIRECT: by word - low; NULL: rows are wanted */
    uint32_t *row;      /* by word - low, or by slot; NULL: not wanted */
    uint64_t *slot, mask;
    uint32_t shift;   /* of a hash: its slot */
    uint64_t *filter; /* NULL: none */
    uint32_t filter_shift;
    uint32_t *bitmap; /* the filter of few values; NULL: none */
    uint32_t bitmap_shift;
    uint32_t has_empty, empty_row; /* of the value that looks like an empty slot */
};

/* A block of keys under way. */
struct block {
    uint64_t own[KEYS_BLOCK], at[KEYS_BLOCK], hit[KEYS_BLOCK / 64];
    uint8_t states[KEYS_BLOCK];
    uint16_t list[KEYS_BLOCK];
    const uint64_t *word;
    uint32_t count;
};

static void load(const struct keys_words *w, uint64_t begin, uint32_t count, struct block *b)
{
    b->count = count;
    b->word = keys_words_in_place(w, begin);
    if (!b->word) {
        keys_load(w->column, begin, count, b->own, b->states);
        b->word = b->own;
    }
}

/* The bits of a hash that are set in its word of the filter. */
static inline uint64_t filter_bits(uint64_t hash)
{
    return 1ull << (hash & 63) | 1ull << (hash >> 6 & 63);
}

/* Where a word is in the filter of few values. */
static inline uint32_t bitmap_place(const struct members *s, uint64_t word)
{
    return (uint32_t)(word * s->seed->word[0] >> 32) >> s->bitmap_shift;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static void raise_bits(uint64_t *at, uint64_t bits)
{
    if ((__atomic_load_n(at, __ATOMIC_RELAXED) & bits) != bits)
        __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
}

static void put_direct(struct members *s, uint64_t word, uint32_t row)
{
    uint64_t code = word - s->low;
    if (s->row)
        keys_lower(&s->row[code], row);
    else
        raise_bits(&s->bit[code / 64], 1ull << code % 64);
}

static void put_slot(struct members *s, uint64_t word, uint64_t hash, uint32_t row)
{
    uint64_t at = hash >> s->shift;
    if (s->bitmap) {
        uint32_t place = bitmap_place(s, word), *part = &s->bitmap[place / 32];
        if (!(__atomic_load_n(part, __ATOMIC_RELAXED) >> place % 32 & 1))
            __atomic_fetch_or(part, 1u << place % 32, __ATOMIC_RELAXED);
    }
    if (word == EMPTY) {
        __atomic_store_n(&s->has_empty, 1, __ATOMIC_RELAXED);
        keys_lower(&s->empty_row, row);
        return;
    }
    for (;; at = (at + 1) & s->mask) {
        uint64_t there = __atomic_load_n(&s->slot[at], __ATOMIC_RELAXED);
        if (there == EMPTY &&
            __atomic_compare_exchange_n(&s->slot[at], &there, word, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
        if (there == word)
            break;
    }
    if (s->row)
        keys_lower(&s->row[at], row);
    if (s->filter)
        raise_bits(&s->filter[hash >> s->filter_shift], filter_bits(hash));
}

static void put_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct members *s = arg;
    struct block b;
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        load(&s->values, at, end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK, &b);
        for (uint32_t i = 0; !s->is_direct && i < b.count; i++) {
            b.at[i] = keys_hash(s->seed, b.word[i]);
            __builtin_prefetch(&s->slot[b.at[i] >> s->shift], 1);
        }
        for (uint32_t i = 0; i < b.count; i++) {
            uint32_t row = s->number ? s->number[at + i] : (uint32_t)(at + i);
            if (s->is_direct)
                put_direct(s, b.word[i], row);
            else
                put_slot(s, b.word[i], b.at[i], row);
        }
    }
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static inline uint64_t is_at_code(const struct members *s, uint64_t code)
{
    return s->row ? s->row[code] != NO_ROW : s->bit[code / 64] >> code % 64 & 1;
}

static void look_direct(const struct members *s, struct block *b)
{
    for (uint32_t from = 0; from < b->count; from += 64) {
        const uint32_t end = b->count - from < 64 ? b->count : from + 64;
        uint64_t hits = 0;
        for (uint32_t i = from; i < end; i++) {
            uint64_t code = b->word[i] - s->low, inside = code <= s->span;
            b->at[i] = code = inside ? code : 0;
            hits |= (inside & is_at_code(s, code)) << i % 64;
        }
        b->hit[from / 64] = hits;
    }
}

/* Those of the list, which are in neither their first slot nor is that empty. */
static void walk(const struct members *s, struct block *b, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = b->list[k];
        uint64_t at = b->at[i], there;
        do {
            at = (at + 1) & s->mask;
            there = s->slot[at];
        } while (there != EMPTY && there != b->word[i]);
        b->at[i] = at;
        b->hit[i / 64] |= (uint64_t)(there != EMPTY) << i % 64;
    }
}

/* Keys that look like an empty slot seem to be there wherever one is. */
static void look_empty(const struct members *s, struct block *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (b->word[i] == EMPTY) {
            b->hit[i / 64] &= ~(1ull << i % 64);
            b->hit[i / 64] |= (uint64_t)s->has_empty << i % 64;
        }
}

static void look_slots(const struct members *s, struct block *b)
{
    const uint64_t *slot = s->slot;
    uint32_t left = 0;
    uint64_t any = 0;
    for (uint32_t i = 0; i < b->count; i++)
        b->at[i] = keys_hash(s->seed, b->word[i]) >> s->shift;
    for (uint32_t i = 0; s->mask * 8 >= NEAR && i < b->count; i++)
        __builtin_prefetch(&slot[b->at[i]]);
    for (uint32_t from = 0; from < b->count; from += 64) {
        const uint32_t end = b->count - from < 64 ? b->count : from + 64;
        uint64_t hits = 0;
        for (uint32_t i = from; i < end; i++) {
            uint64_t word = b->word[i], there = slot[b->at[i]];
            any |= word == EMPTY;
            hits |= (uint64_t)(there == word) << i % 64;
            b->list[left] = (uint16_t)i;
            left += (there != word) & (there != EMPTY);
        }
        b->hit[from / 64] = hits;
    }
    walk(s, b, left);
    if (any)
        look_empty(s, b);
}

/* Puts those that pass on the list; *any: some look like an empty slot. */
static uint32_t filter(const struct members *s, struct block *b, int *any)
{
    uint32_t passing = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        b->at[i] = keys_hash(s->seed, b->word[i]);
        __builtin_prefetch(&s->filter[b->at[i] >> s->filter_shift]);
    }
    for (uint32_t i = 0; i < b->count; i++) {
        uint64_t hash = b->at[i], bits = filter_bits(hash);
        *any |= b->word[i] == EMPTY;
        b->list[passing] = (uint16_t)i;
        passing += (s->filter[hash >> s->filter_shift] & bits) == bits;
        b->at[i] = hash >> s->shift;
    }
    return passing;
}

/* Puts the numbers of the set bits, from `from` on, on the list. */
static inline uint32_t list_bits(struct block *b, uint32_t count, uint64_t bits, uint32_t from)
{
    for (; bits; bits &= bits - 1)
        b->list[count++] = (uint16_t)(from + (uint32_t)__builtin_ctzll(bits));
    return count;
}

/* Puts those that pass the filter of few values on the list. */
static uint32_t filter_few(const struct members *s, struct block *b)
{
    uint32_t passing = 0;
    for (uint32_t from = 0; from < b->count; from += 64) {
        const uint32_t count = b->count - from < 64 ? b->count - from : 64;
        uint64_t pass = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t place = bitmap_place(s, b->word[from + i]);
            pass |= (uint64_t)(s->bitmap[place / 32] >> place % 32 & 1) << i;
        }
        passing = list_bits(b, passing, pass, from);
    }
    return passing;
}

/* The rows of a block's keys. */
static void tell_rows(const struct members *s, const struct block *b, char *to)
{
    for (uint32_t i = 0; i < b->count; i++)
        __builtin_prefetch(&s->row[b->hit[i / 64] >> i % 64 & 1 ? b->at[i] : 0]);
    for (uint32_t i = 0; i < b->count; i++) {
        const int hit = b->hit[i / 64] >> i % 64 & 1, apart = !s->is_direct && b->word[i] == EMPTY;
        uint32_t row = !hit ? NO_ROW : apart ? s->empty_row : s->row[b->at[i]];
        if (s->ask->bytes == 4)
            ((uint32_t *)(void *)to)[i] = row;
        else
            ((uint64_t *)(void *)to)[i] = hit ? row : ~0ull;
    }
}

/* ---- keys, eight at a time: of whole blocks ------------------------------------------------------------ */

#if CPU_VECTORS
AVX512 static void look_slots_8(const struct members *s, struct block *b)
{
    const __m512i empty = _mm512_set1_epi64(-1);
    const __m128i shift = _mm_cvtsi32_si128((int)s->shift);
    uint32_t left = 0;
    uint64_t any = 0;
    for (uint32_t i = 0; i < KEYS_BLOCK; i += 8) {
        __builtin_prefetch(b->word + i + KEYS_BLOCK);
        _mm512_storeu_si512(b->at + i,
                            _mm512_srl_epi64(keys_hash_8(s->seed, _mm512_loadu_si512(b->word + i)), shift));
    }
    for (uint32_t i = 0; s->mask * 8 >= NEAR && i < KEYS_BLOCK; i++)
        __builtin_prefetch(&s->slot[b->at[i]]);
    for (uint32_t from = 0; from < KEYS_BLOCK; from += 64) {
        uint64_t hits = 0, open = 0;
        for (uint32_t i = 0; i < 64; i += 8) {
            __m512i word = _mm512_loadu_si512(b->word + from + i);
            __m512i there = _mm512_i64gather_epi64(_mm512_loadu_si512(b->at + from + i), s->slot, 8);
            any |= _mm512_cmpeq_epi64_mask(word, empty);
            hits |= (uint64_t)_mm512_cmpeq_epi64_mask(there, word) << i;
            open |= (uint64_t)_mm512_cmpeq_epi64_mask(there, empty) << i;
        }
        b->hit[from / 64] = hits;
        left = list_bits(b, left, ~(hits | open), from);
    }
    walk(s, b, left);
    if (any)
        look_empty(s, b);
}

/* Puts those that pass on the list; *any: some look like an empty slot. */
AVX512 static uint32_t filter_8(const struct members *s, struct block *b, int *any)
{
    const __m512i empty = _mm512_set1_epi64(-1), one = _mm512_set1_epi64(1), low = _mm512_set1_epi64(63);
    const __m128i shift = _mm_cvtsi32_si128((int)s->shift), at = _mm_cvtsi32_si128((int)s->filter_shift);
    uint32_t passing = 0;
    for (uint32_t from = 0; from < KEYS_BLOCK; from += 64) {
        uint64_t pass = 0;
        for (uint32_t i = 0; i < 64; i += 8) {
            __m512i word = _mm512_loadu_si512(b->word + from + i), hash = keys_hash_8(s->seed, word);
            __m512i known = _mm512_i64gather_epi64(_mm512_srl_epi64(hash, at), s->filter, 8);
            __m512i second = _mm512_and_si512(_mm512_srli_epi64(hash, 6), low);
            __m512i bits = _mm512_or_si512(_mm512_sllv_epi64(one, _mm512_and_si512(hash, low)),
                                           _mm512_sllv_epi64(one, second));
            _mm512_storeu_si512(b->at + from + i, _mm512_srl_epi64(hash, shift));
            *any |= _mm512_cmpeq_epi64_mask(word, empty);
            pass |= (uint64_t)_mm512_cmpeq_epi64_mask(_mm512_and_si512(known, bits), bits) << i;
        }
        passing = list_bits(b, passing, pass, from);
    }
    return passing;
}

/* The upper halves of sixteen products. */
AVX512 static inline __m512i upper_products(const uint64_t *word, __m512i factor)
{
    __m512i low = _mm512_mullo_epi64(_mm512_loadu_si512(word), factor);
    __m512i high = _mm512_mullo_epi64(_mm512_loadu_si512(word + 8), factor);
    __m256i first = _mm512_cvtepi64_epi32(_mm512_srli_epi64(low, 32));
    __m256i second = _mm512_cvtepi64_epi32(_mm512_srli_epi64(high, 32));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

AVX512 static uint32_t filter_few_16(const struct members *s, struct block *b)
{
    const __m512i factor = _mm512_set1_epi64((long long)s->seed->word[0]), one = _mm512_set1_epi32(1);
    const __m512i low = _mm512_set1_epi32(31);
    const __m128i shift = _mm_cvtsi32_si128((int)s->bitmap_shift);
    uint32_t passing = 0;
    for (uint32_t from = 0; from < KEYS_BLOCK; from += 64) {
        uint64_t pass = 0;
        for (uint32_t i = 0; i < 64; i += 16) {
            __m512i place = _mm512_srl_epi32(upper_products(b->word + from + i, factor), shift);
            __m512i known = _mm512_i32gather_epi32(_mm512_srli_epi32(place, 5), s->bitmap, 4);
            __m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(place, low));
            pass |= (uint64_t)_mm512_test_epi32_mask(known, bit) << i;
        }
        passing = list_bits(b, passing, pass, from);
    }
    return passing;
}

AVX512 static void tell_rows_8(const struct members *s, const struct block *b, char *to)
{
    const __m256i none = _mm256_set1_epi32(-1), apart = _mm256_set1_epi32((int)s->empty_row);
    const __m512i empty = _mm512_set1_epi64(-1);
    for (uint32_t i = 0; i < KEYS_BLOCK; i += 8) {
        const __mmask8 hit = (__mmask8)(b->hit[i / 64] >> i % 64);
        const __m512i word = _mm512_loadu_si512(b->word + i);
        const __mmask8 beside = s->is_direct ? 0 : _mm512_cmpeq_epi64_mask(word, empty) & hit;
        __m256i row =
            _mm512_mask_i64gather_epi32(none, hit & ~beside, _mm512_loadu_si512(b->at + i), s->row, 4);
        row = _mm256_mask_mov_epi32(row, beside, apart);
        if (s->ask->bytes == 4)
            _mm256_storeu_si256((void *)(to + i * 4), row);
        else
            _mm512_storeu_si512(to + i * 8, _mm512_mask_cvtepu32_epi64(empty, hit, row));
    }
}
#endif

/* ---- a block ------------------------------------------------------------------------------------------- */

/* Whether it is whole, and the processor looks for eight at a time. */
static int by_eights(const struct members *s, const struct block *b)
{
    return CPU_VECTORS && s->level >= CPU_AVX512 && b->count == KEYS_BLOCK;
}

/* How many keys the filter lets pass. */
static uint32_t look_filtered(const struct members *s, struct block *b)
{
    uint32_t left = 0;
    int any = 0;
#if CPU_VECTORS
    const uint32_t passing = by_eights(s, b) ? filter_8(s, b, &any) : filter(s, b, &any);
#else
    const uint32_t passing = filter(s, b, &any);
#endif
    for (uint32_t k = 0; k < passing; k++)
        __builtin_prefetch(&s->slot[b->at[b->list[k]]]);
    for (uint32_t k = 0; k < passing; k++) {
        const uint32_t i = b->list[k];
        uint64_t there = s->slot[b->at[i]];
        b->hit[i / 64] |= (uint64_t)(there == b->word[i]) << i % 64;
        b->list[left] = (uint16_t)i;
        left += (there != b->word[i]) & (there != EMPTY);
    }
    walk(s, b, left);
    if (any)
        look_empty(s, b);
    return passing;
}

/* The same with the filter of few values, which knows the one that looks like an empty slot. */
static uint32_t look_few(const struct members *s, struct block *b)
{
    uint32_t left = 0;
#if CPU_VECTORS
    const uint32_t passing = by_eights(s, b) ? filter_few_16(s, b) : filter_few(s, b);
#else
    const uint32_t passing = filter_few(s, b);
#endif
    for (uint32_t k = 0; k < passing; k++) {
        const uint32_t i = b->list[k];
        const uint64_t word = b->word[i], at = keys_hash(s->seed, word) >> s->shift, there = s->slot[at];
        const int hit = word == EMPTY ? (int)s->has_empty : there == word;
        b->at[i] = at;
        b->hit[i / 64] |= (uint64_t)hit << i % 64;
        b->list[left] = (uint16_t)i;
        left += (there != word) & (there != EMPTY) & (word != EMPTY);
    }
    walk(s, b, left);
    return passing;
}

static void look_unfiltered(const struct members *s, struct block *b)
{
#if CPU_VECTORS
    if (by_eights(s, b)) {
        look_slots_8(s, b);
        return;
    }
#endif
    look_slots(s, b);
}

static void tell(const struct members *s, const struct block *b, uint64_t begin)
{
    if (!s->row) {
        memcpy(s->ask->bits + begin / 8, b->hit, (b->count + 7) / 8);
        return;
    }
    char *to = (char *)s->ask->rows + begin * s->ask->bytes;
#if CPU_VECTORS
    if (by_eights(s, b) && (s->is_direct || s->mask * 8 < NEAR)) {
        tell_rows_8(s, b, to);
        return;
    }
#endif
    tell_rows(s, b, to);
}

static void look_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct members *s = arg;
    struct block b;
    uint64_t passed = 0;
    const uint32_t tried = s->bitmap ? TRIED_1 : TRIED;
    int filtered = s->filter || s->bitmap;
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        load(&s->keys, at, end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK, &b);
        memset(b.hit, 0, sizeof b.hit);
        if (s->is_direct)
            look_direct(s, &b);
        else if (filtered)
            passed += s->bitmap ? look_few(s, &b) : look_filtered(s, &b);
        else
            look_unfiltered(s, &b);
        tell(s, &b, at);
        if (at - begin == tried - KEYS_BLOCK && passed > (s->bitmap ? PASSING_1 : PASSING))
            filtered = 0;
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* What a table takes: bytes that begin as ones, then those that begin as zeros. */
struct sizes {
    uint64_t ones, zeros;
};

static struct sizes lay_out_direct(struct members *s)
{
    s->is_direct = 1;
    if (s->ask->rows)
        return (struct sizes){(s->span + 1) * 4, 0};
    return (struct sizes){0, (s->span / 64 + 1) * 8};
}

static struct sizes lay_out_slots(struct members *s)
{
    uint64_t slots = 64, words = 1;
    uint32_t bits = 6, filter_bits = 0;
    while (slots < SLOTS * s->ask->m || (slots < SLOTS_FEW * s->ask->m && slots * 16 <= NEAR)) {
        slots *= 2;
        bits++;
    }
    s->mask = slots - 1;
    s->shift = 64 - bits;
    struct sizes sizes = {slots * (s->ask->rows ? 12 : 8), 0};
    if (slots * 8 <= NEAR) {
        uint32_t few = BIT_LEAST;
        while (few < BIT_MOST && 1u << few < BIT_EACH * s->ask->m)
            few++;
        s->bitmap_shift = 32 - few;
        sizes.zeros = s->ask->n > s->ask->m ? (1u << few) / 8 : 0;
        return sizes;
    }
    while (words < s->ask->m / 4) {
        words *= 2;
        filter_bits++;
    }
    s->filter_shift = 64 - filter_bits;
    sizes.zeros = words * 8;
    return sizes;
}

static struct sizes lay_out(cohort_context *context, struct members *s)
{
    const uint64_t m = s->ask->m;
    const uint64_t most = s->ask->rows               ? m * ROWS_EACH > ROWS_FEW ? m * ROWS_EACH : ROWS_FEW
                          : m * BITS_EACH > BITS_FEW ? m * BITS_EACH
                                                     : BITS_FEW;
    struct keys_range range;
    cpu_keys_range(context, s->values.column, m, &range);
    s->low = range.low;
    s->span = range.high - range.low;
    return range.any && s->span < most ? lay_out_direct(s) : lay_out_slots(s);
}

struct filling {
    char *at;
    int with;
};

static void fill_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct filling *f = arg;
    (void)worker;
    memset(f->at + begin, f->with, end - begin);
}

static void open_tables(cohort_context *context, struct members *s, char *memory, struct sizes sizes)
{
    struct filling ones = {memory, 0xff}, zeros = {memory + sizes.ones, 0};
    cpu_parallel(context, sizes.ones, 1u << 16, fill_part, &ones);
    cpu_parallel(context, sizes.zeros, 1u << 16, fill_part, &zeros);
    if (s->is_direct && s->ask->rows) {
        s->row = (void *)memory;
    } else if (s->is_direct) {
        s->bit = (void *)memory;
    } else {
        s->slot = (void *)memory;
        s->row = s->ask->rows ? (void *)(s->slot + s->mask + 1) : NULL;
        if (sizes.zeros && (s->mask + 1) * 8 <= NEAR)
            s->bitmap = (void *)zeros.at;
        else if (sizes.zeros)
            s->filter = (void *)zeros.at;
    }
}

cohort_status keys_members_among(cohort_context *context, const struct keys_members *ask,
                                 const uint32_t *number)
{
    struct members s = {.ask = ask,
                        .number = number,
                        .values = {.columns = 1, .column = ask->values},
                        .keys = {.columns = 1, .column = ask->keys},
                        .seed = keys_seed(),
                        .level = cpu_device(context)->level,
                        .empty_row = NO_ROW};
    void *memory;
    struct sizes sizes = lay_out(context, &s);
    cohort_status status = pool_take(context, sizes.ones + sizes.zeros, &memory);
    if (status)
        return status;
    open_tables(context, &s, memory, sizes);
    status = cpu_parallel_told(context, "keys", ask->m, KEYS_GRAIN, put_part, &s);
    if (!status)
        status = cpu_parallel_told(context, "keys", ask->n, KEYS_GRAIN, look_part, &s);
    pool_give(context, memory);
    return status;
}
