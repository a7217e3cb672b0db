/* cpu/keys_few.c: which of few strings rows are.
 *
 * Few strings are laid out anew, so that what rows ask of them stays in the near caches: the first 32 bytes
 * of each, filled up with zeros; their numbers in slots, found by linear probing, of which each string has
 * many; and before the slots a bitmap, in which each string has a bit. Rows that have not their bit there are
 * none of the strings. The others are listed, and compared with the string of their first slot; those that
 * are not the same walk on.
 *
 * The hash is NH of Black and others' UMAC, with words of 32 bits: a secret number is added to each of the
 * eight words, each two of these sums are a product of 64 bits, and all products are added. The words are one
 * load, which leaves out what is behind the end of the string. They are kept, for a comparison is of whole
 * words. Longer strings are hashed as tables hash them (keys_text.c), and always walk. So no branch depends
 * on the length or on the answer, unless strings are long or slots are shared. Where most of the strings are
 * long the table itself is faster.
 *
 * All this is for processors with AVX-512; others look in the table itself. */
#include "keys_few.h"

#include "keys_hash.h"
#include "keys_vector.h"

#define BLOCK     64u /* rows that are done together: the nearest cache has them and the strings */
#define SHORT     32u
#define MOST      (1u << 14) /* strings, */
#define ROWS_EACH 8u         /* and so many rows a string at least, for this to pay */
#define BITS_EACH 32u        /* bits of the bitmap a string, at least, */
#define BITS_MOST 18u        /* but no more than 2 to this */
#define NONE      (-1)       /* in the place of a length: as 64 bits it is that of no string */
#define SLOTS     16u        /* slots a string, at least */

#if CPU_VECTORS
/* A block of rows under way. */
struct block {
    __m256i words[BLOCK];
    __m128i sums[BLOCK]; /* of products: two halves of a sum */
    struct keys_text text[BLOCK];
    uint32_t hash[BLOCK];
    uint8_t differs[BLOCK]; /* by place in the list */
    uint32_t list[BLOCK];
};

_Static_assert(sizeof(struct keys_text) == sizeof(__m128i), "two words: where it is, and its length");

/* ---- hashes -------------------------------------------------------------------------------------------- */

/* The first bytes of each and the sums of their products; 1: some string is long. */
AVX512 static int load(const struct keys_seed *seed, uint32_t count, struct block *b)
{
    const __m256i secret = _mm256_loadu_si256((const void *)seed->text);
    uint64_t longest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t length = b->text[i].length;
        const __m256i words = _mm256_maskz_loadu_epi8(_bzhi_u32(~0u, (uint32_t)length), b->text[i].at);
        const __m256i sums = _mm256_add_epi32(words, secret);
        const __m256i products = _mm256_mul_epu32(sums, _mm256_srli_epi64(sums, 32));
        longest = length > longest ? length : longest;
        b->words[i] = words;
        b->sums[i] = _mm_add_epi64(_mm256_castsi256_si128(products), _mm256_extracti128_si256(products, 1));
    }
    return longest > SHORT;
}

/* Of each two words of sixteen those that are the first, or the second. */
AVX512 static inline __m512i every_other(const void *at, long long which)
{
    const __m512i from =
        _mm512_add_epi64(_mm512_set1_epi64(which), _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14));
    const char *low = at;
    return _mm512_permutex2var_epi64(_mm512_loadu_si512(low), from, _mm512_loadu_si512(low + 64));
}

/* Behind the last row there may be anything. */
AVX512 static void hash_short(const struct keys_seed *seed, uint32_t count, struct block *b)
{
    const __m512i first = _mm512_set1_epi64((long long)seed->pair[0]);
    const __m512i second = _mm512_set1_epi64((long long)seed->pair[1]);
    for (uint32_t i = 0; i < count; i += 8) {
        __m512i h = _mm512_mullo_epi64(every_other(b->text + i, 1), first);
        h = _mm512_add_epi64(h, _mm512_add_epi64(every_other(b->sums + i, 0), every_other(b->sums + i, 1)));
        h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 32)), second);
        h = _mm512_and_si512(_mm512_srli_epi64(h, 32), _mm512_set1_epi64((long long)KEYS_HASH_BITS));
        _mm256_storeu_si256((void *)(b->hash + i), _mm512_cvtepi64_epi32(h));
    }
}

static void hash(const struct keys_seed *seed, uint32_t count, struct block *b)
{
    const int some_long = load(seed, count, b);
    hash_short(seed, count, b);
    for (uint32_t i = 0; some_long && i < count; i++)
        if (b->text[i].length > SHORT)
            b->hash[i] = (uint32_t)(keys_hash_text(seed, b->text[i]) >> 32) & (uint32_t)KEYS_HASH_BITS;
}

/* ---- making one ---------------------------------------------------------------------------------------- */

static inline struct keys_text text_of(const struct keys_few *f, uint32_t id)
{
    return keys_text_in(f->table->heap, f->table->start + id);
}

static void put(struct keys_few *f, uint32_t id, uint32_t hash)
{
    const uint32_t bit = hash >> f->bit_shift;
    uint32_t at = hash >> f->slot_shift;
    f->bitmap[bit / 32] |= 1u << bit % 32;
    while (f->slot[at] != f->vacant)
        at = (at + 1) & f->mask;
    f->slot[at] = (uint16_t)id;
}

static void put_all(struct keys_few *f)
{
    const struct keys_table *t = f->table;
    struct block b;
    for (uint32_t begin = 0; begin < t->count; begin += BLOCK) {
        const uint32_t count = t->count - begin < BLOCK ? (uint32_t)t->count - begin : BLOCK;
        for (uint32_t i = 0; i < count; i++) {
            b.text[i] = text_of(f, begin + i);
            f->length[begin + i] = b.text[i].length > SHORT ? NONE : (int8_t)b.text[i].length;
        }
        hash(f->seed, count, &b);
        memcpy(f->first + (uint64_t)begin * SHORT, b.words, (uint64_t)count * SHORT);
        for (uint32_t i = 0; i < count; i++)
            if (begin + i != t->null.id)
                put(f, begin + i, b.hash[i]);
    }
}

/* Long strings gain nothing here. */
static int are_short(const struct keys_table *t)
{
    uint64_t longs = 0;
    for (uint64_t i = 0; i < t->count; i++)
        longs += t->start[i + 1] - t->start[i] > SHORT;
    return longs <= t->count / 2;
}

/* The logarithm of a power of two that is enough, if `most` is. */
static uint32_t log_of(uint64_t enough, uint32_t most)
{
    uint32_t bits = 6;
    while (bits < most && 1ull << bits < enough)
        bits++;
    return bits;
}

void keys_few_open(cohort_context *context, struct keys_few *f, const struct keys_table *t, uint64_t rows)
{
    *f = (struct keys_few){.table = t, .seed = t->seed, .vacant = (uint16_t)t->count};
    if (cpu_device(context)->level < CPU_AVX512 || !t->count || t->count > MOST ||
        rows / ROWS_EACH < t->count || !are_short(t))
        return;
    const uint32_t bits = log_of(t->count * BITS_EACH, BITS_MOST), slots = log_of(t->count * SLOTS, 31);
    const uint64_t strings = t->count + 1, bitmap = (1ull << bits) / 8;
    if (pool_take(context, strings * SHORT + bitmap + (2ull << slots) + strings, &f->memory))
        return;
    f->first = f->memory;
    f->bitmap = (void *)(f->first + strings * SHORT);
    f->slot = (void *)((char *)f->bitmap + bitmap);
    f->length = (void *)(f->slot + (1ull << slots));
    f->bit_shift = 32 - bits;
    f->slot_shift = 32 - slots;
    f->mask = (1u << slots) - 1;
    memset(f->bitmap, 0, bitmap);
    for (uint32_t i = 0; i <= f->mask; i++)
        f->slot[i] = f->vacant;
    memset(f->first + t->count * SHORT, 0, SHORT);
    f->length[t->count] = NONE;
    put_all(f);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Puts those that have their bit on the list: how many. */
AVX512 static uint32_t filter(const struct keys_few *f, uint32_t count, struct block *b)
{
    const __m512i low = _mm512_set1_epi32(31), one = _mm512_set1_epi32(1);
    const __m128i shift = _mm_cvtsi32_si128((int)f->bit_shift);
    __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t passing = 0;
    for (uint32_t i = 0; i < count; i += 16) {
        const __m512i place = _mm512_srl_epi32(_mm512_loadu_si512(b->hash + i), shift);
        const __m512i known = _mm512_i32gather_epi32(_mm512_srli_epi32(place, 5), f->bitmap, 4);
        const __m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(place, low));
        const __mmask16 there = (__mmask16)(count - i < 16 ? (1u << (count - i)) - 1 : 0xffffu);
        const __mmask16 pass = _mm512_mask_test_epi32_mask(there, known, bit);
        _mm512_storeu_si512(b->list + passing, _mm512_maskz_compress_epi32(pass, row));
        passing += (uint32_t)__builtin_popcount(pass);
        row = _mm512_add_epi32(row, _mm512_set1_epi32(16));
    }
    return passing;
}

/* Ids of those on the list, each that of its first slot or none. Long ones always differ. */
AVX512 static void compare_first(const struct keys_few *few, uint32_t passing, struct block *b, uint32_t *ids)
{
    const struct keys_few f = *few; /* stays in registers */
    for (uint32_t k = 0; k < passing; k++) {
        const uint32_t i = b->list[k], id = f.slot[b->hash[i] >> f.slot_shift];
        const __m256i key = _mm256_load_si256((const void *)(f.first + (uint64_t)id * SHORT));
        const uint32_t differs = ((uint64_t)(int64_t)f.length[id] != b->text[i].length) |
                                 !!_mm256_cmpneq_epu8_mask(key, b->words[i]);
        ids[i] = id | -differs; /* KEYS_NO_ID */
        b->differs[k] = (uint8_t)differs;
    }
}

/* Of a row that is not the string of its first slot. */
static uint32_t walk(const struct keys_few *f, struct keys_text text, uint32_t hash)
{
    uint32_t at = hash >> f->slot_shift;
    while (f->slot[at] != f->vacant && !keys_same_text(text_of(f, f->slot[at]), text))
        at = (at + 1) & f->mask;
    return f->slot[at] == f->vacant ? KEYS_NO_ID : f->slot[at];
}

AVX512 static void compare(const struct keys_few *f, uint32_t passing, struct block *b, uint32_t *ids)
{
    compare_first(f, passing, b, ids);
    for (uint32_t from = 0; from < passing; from += 64) {
        const __mmask64 there = passing - from < 64 ? (1ull << (passing - from)) - 1 : ~0ull;
        const __m512i differs = _mm512_loadu_si512(b->differs + from);
        __mmask64 left = _mm512_mask_test_epi8_mask(there, differs, differs);
        for (; left; left &= left - 1) {
            const uint32_t i = b->list[from + (uint32_t)__builtin_ctzll(left)];
            ids[i] = walk(f, b->text[i], b->hash[i]);
        }
    }
}

int keys_few_find(const struct keys_few *f, const struct keys_column *c, uint64_t begin, uint32_t count,
                  uint32_t *ids, uint8_t *states)
{
    struct block b;
    int any = 0;
    for (uint32_t from = 0; from < count; from += BLOCK) {
        const uint32_t part = count - from < BLOCK ? count - from : BLOCK;
        any |= keys_locate_text(c, begin + from, part, b.text, states + from);
        memset(ids + from, 0xff, part * sizeof *ids);
        hash(f->seed, part, &b);
        compare(f, filter(f, part, &b), &b, ids + from);
    }
    return any;
}
#else
void keys_few_open(cohort_context *context, struct keys_few *f, const struct keys_table *t, uint64_t rows)
{
    (void)context, (void)t, (void)rows;
    *f = (struct keys_few){.memory = NULL};
}

int keys_few_find(const struct keys_few *f, const struct keys_column *c, uint64_t begin, uint32_t count,
                  uint32_t *ids, uint8_t *states)
{
    (void)f, (void)c, (void)begin, (void)count, (void)ids, (void)states;
    return 0;
}
#endif

void keys_few_close(cohort_context *context, struct keys_few *f)
{
    if (f->memory)
        pool_give(context, f->memory);
    f->memory = NULL;
}
