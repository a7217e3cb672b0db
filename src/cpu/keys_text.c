/* cpu/keys_text.c: keys that are strings of bytes: where they lie, their hashes, their numbers in a table.
 *
 * Up to 32 bytes are four words, filled up with zeros. A secret number is added to each word, two of these
 * sums are a product of 128 bits, and the sum of both products is hashed together with the length (it is the
 * NH of Black and others' UMAC). Longer strings are hashed eight bytes at a time, by products whose halves
 * are folded. All factors are secret (keys_seed.c).
 *
 * With AVX-512 the four words are one load, which leaves out what is behind the end of the string. So no
 * branch depends on the length, which no processor could foretell. A comparison is two such loads.
 *
 * Rows are looked up in blocks, and each step is done for all rows of a block before the next one: the slot
 * whose hash is the same, then the place of its key's bytes, then these. What a step needs was asked for in
 * the one before it, so that many misses of the caches are under way at a time. */
#include "keys_hash.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2")))
#endif

#define SHORT 32u        /* bytes that are hashed as four words */
#define AHEAD 1536u      /* bytes */
#define NEAR  (1u << 12) /* keys whose bytes stay in the near caches */

static const struct keys_text nothing = {"", 0};

/* ---- where they are ------------------------------------------------------------------------------------ */

/* Asks for what comes so many bytes later: memory is read more evenly than the processor expects. */
static inline void ask_ahead(const void *at, uint32_t bytes)
{
    __builtin_prefetch((const void *)((uintptr_t)at + bytes));
}

static void locate_32(const struct keys_column *c, uint64_t begin, uint32_t count, struct keys_text *texts)
{
    const uint32_t *at = (const uint32_t *)c->offsets + begin;
    const char *data = c->data ? c->data : "";
    for (uint32_t i = 0; i < count; i++) {
        ask_ahead(data + at[i], AHEAD);
        texts[i] = (struct keys_text){data + at[i], at[i + 1] - at[i]};
    }
}

/* Where the bytes are is chosen without a branch. */
static void locate_views(const struct keys_column *c, uint64_t begin, uint32_t count, struct keys_text *texts)
{
    static const void *const none;
    const struct table_view *v = (const struct table_view *)c->data + begin;
    for (uint32_t i = 0; i < count; i++, v++) {
        const uintptr_t is_far = -(uintptr_t)(v->length > TABLE_VIEW_INLINE);
        const uintptr_t heap =
            (((uintptr_t)c->heaps + v->heap * sizeof *c->heaps) & is_far) | ((uintptr_t)&none & ~is_far);
        const uintptr_t at = (v->offset & is_far) | ((uintptr_t)v->prefix & ~is_far);
        texts[i] =
            (struct keys_text){(const char *)((uintptr_t) * (const void *const *)heap + at), v->length};
        __builtin_prefetch(texts[i].at);
        ask_ahead(v, AHEAD);
    }
}

/* 1: some have no value, and are `nothing`. */
int keys_locate_text(const struct keys_column *c, uint64_t begin, uint32_t count, struct keys_text *texts,
                     uint8_t *states)
{
    const int any = keys_load_states(c, begin, count, states);
    if (!any && c->kind == KEYS_OFFSETS_32)
        locate_32(c, begin, count, texts);
    else if (!any && c->kind == KEYS_VIEWS)
        locate_views(c, begin, count, texts);
    else
        for (uint32_t i = 0; i < count; i++) {
            texts[i] = states[i] ? nothing : keys_text_at(c, begin + i);
            __builtin_prefetch(texts[i].at);
        }
    return any;
}

/* ---- hashes -------------------------------------------------------------------------------------------- */

/* Different lengths of the same words differ. */
static inline __attribute__((always_inline)) uint64_t finish(const struct keys_seed *s, keys_product sum,
                                                             uint64_t length)
{
    uint64_t low = (uint64_t)sum + (length + 1) * s->text[0];
    return (keys_fold(low, s->text[1]) + (uint64_t)(sum >> 64)) & KEYS_HASH_BITS;
}

static inline __attribute__((always_inline)) uint64_t
hash_short(const struct keys_seed *s, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t length)
{
    keys_product first = (keys_product)(a + s->pair[0]) * (b + s->pair[1]);
    return finish(s, first + (keys_product)(c + s->pair[2]) * (d + s->pair[3]), length);
}

/* The length is a factor, since a word at the end is filled up with zeros: nobody can choose two lengths and
 * two words that begin alike. */
static uint64_t hash_long(const struct keys_seed *s, struct keys_text t)
{
    uint64_t h = (t.length + 1) * s->text[0];
    const char *end = t.at + t.length / 8 * 8;
    for (const char *at = t.at; at < end; at += 8)
        h = keys_fold(h ^ keys_word(at), s->text[1]) + s->text[2];
    return keys_fold(h ^ keys_last_word(t.at, t.length), s->text[3]) & KEYS_HASH_BITS;
}

uint64_t keys_hash_text(const struct keys_seed *s, struct keys_text t)
{
    uint64_t w[SHORT / 8 + 1] = {0};
    if (t.length > SHORT)
        return hash_long(s, t);
    for (uint32_t i = 0; i < t.length / 8; i++)
        w[i] = keys_word(t.at + 8 * i);
    w[t.length / 8] = keys_last_word(t.at, t.length);
    return hash_short(s, w[0], w[1], w[2], w[3], t.length);
}

static void hash_plain(const struct keys_seed *s, const struct keys_text *texts, uint32_t count,
                       uint64_t *hashes)
{
    for (uint32_t i = 0; i < count; i++)
        hashes[i] = keys_hash_text(s, texts[i]);
}

#if CPU_VECTORS
/* A bit for each of the first bytes. */
static inline uint32_t first_bytes(uint64_t length)
{
    return (uint32_t)((1ull << length) - 1);
}

AVX512 static void hash_512(const struct keys_seed *seed, const struct keys_text *texts, uint32_t count,
                            uint64_t *hashes)
{
    const struct keys_seed s = *seed;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t length = texts[i].length;
        if (length > SHORT) {
            hashes[i] = hash_long(&s, texts[i]);
            continue;
        }
        const __m256i words = _mm256_maskz_loadu_epi8(first_bytes(length), texts[i].at);
        const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
        hashes[i] =
            hash_short(&s, (uint64_t)_mm_cvtsi128_si64(low), (uint64_t)_mm_extract_epi64(low, 1),
                       (uint64_t)_mm_cvtsi128_si64(high), (uint64_t)_mm_extract_epi64(high, 1), length);
    }
}
#else
#    define hash_512 hash_plain
#endif

int keys_load_text(const struct keys_seed *s, enum cpu_level level, const struct keys_column *c,
                   uint64_t begin, uint32_t count, struct keys_text *texts, uint64_t *hashes, uint8_t *states)
{
    const int any = keys_locate_text(c, begin, count, texts, states);
    (level >= CPU_AVX512 ? hash_512 : hash_plain)(s, texts, count, hashes);
    return any;
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

/* A block of rows under way. */
struct block {
    struct keys_text text[KEYS_BLOCK];
    uint64_t hash[KEYS_BLOCK];
    uint32_t like[KEYS_BLOCK]; /* the id of the first slot that has the same hash */
    uint8_t state[KEYS_BLOCK], differs[KEYS_BLOCK];
};

static inline struct keys_text text_of(const struct keys_table *t, uint32_t id)
{
    return keys_text_in(t->heap, t->start + id);
}

static uint32_t find_text(const struct keys_table *t, uint64_t hash, struct keys_text text)
{
    for (uint64_t i = keys_home(t, hash);; i = keys_after(t, i)) {
        const struct keys_slot *s = &t->slot[i];
        if (s->id == KEYS_NO_ID || (s->key == hash && keys_same_text(text_of(t, s->id), text)))
            return s->id;
    }
}

static void seek_alike(const struct keys_table *t, enum cpu_level level, uint32_t count, struct block *b)
{
    keys_seek(t, level, count, b->hash, b->like);
    for (uint32_t i = 0; t->count > NEAR && i < count; i++)
        __builtin_prefetch(&t->start[b->like[i] == KEYS_NO_ID ? 0 : b->like[i]]);
    for (uint32_t i = 0; t->count > NEAR && i < count; i++)
        __builtin_prefetch(t->heap + t->start[b->like[i] == KEYS_NO_ID ? 0 : b->like[i]]);
}

/* Whether rows differ from the keys of those slots. */
static void compare_plain(const struct keys_table *t, uint32_t count, struct block *b)
{
    for (uint32_t i = 0; i < count; i++)
        b->differs[i] = b->like[i] != KEYS_NO_ID && !keys_same_text(text_of(t, b->like[i]), b->text[i]);
}

#if CPU_VECTORS
AVX512 static void compare_512(const struct keys_table *t, uint32_t count, struct block *b)
{
    const struct keys_table keys = {.heap = t->heap, .start = t->start}; /* stays in registers */
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t like = b->like[i];
        const int is_there = like != KEYS_NO_ID;
        const struct keys_text text = b->text[i], key = text_of(&keys, like + !is_there); /* 0 */
        const uint64_t length = key.length < text.length ? key.length : text.length;
        const __mmask32 bytes = first_bytes(length < SHORT ? length : SHORT);
        const __m256i one = _mm256_maskz_loadu_epi8(bytes, key.at);
        const __m256i two = _mm256_maskz_loadu_epi8(bytes, text.at);
        b->differs[i] = is_there & ((key.length != text.length) | !!_mm256_cmpneq_epu8_mask(one, two));
        if (text.length > SHORT)
            b->differs[i] = is_there && !keys_same_text(key, text);
    }
}
#else
#    define compare_512 compare_plain
#endif

/* Rows whose states are not KEYS_VALUE. */
static void tell_states(const struct keys_table *t, const uint8_t *states, uint32_t count, uint32_t absent,
                        uint32_t *ids)
{
    const uint32_t null = t->null.id == KEYS_NO_ID ? absent : t->null.id;
    for (uint32_t i = 0; i < count; i++)
        if (states[i])
            ids[i] = states[i] == KEYS_NULL ? null : KEYS_NO_ID;
}

static uint32_t count_absent(const uint32_t *ids, uint32_t count, uint32_t absent)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += ids[i] == absent;
    return sum;
}

uint32_t keys_find_text(const struct keys_table *t, enum cpu_level level, const struct keys_column *c,
                        uint64_t begin, uint32_t count, uint32_t absent, uint32_t *ids)
{
    struct block b;
    int any;
    if (t->count) {
        any = keys_load_text(t->seed, level, c, begin, count, b.text, b.hash, b.state);
        seek_alike(t, level, count, &b);
        (level >= CPU_AVX512 ? compare_512 : compare_plain)(t, count, &b);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t id = b.like[i];
            if (b.differs[i])
                id = find_text(t, b.hash[i], b.text[i]);
            ids[i] = id == KEYS_NO_ID ? absent : id;
        }
    } else {
        any = keys_load_states(c, begin, count, b.state);
        for (uint32_t i = 0; i < count; i++)
            ids[i] = absent;
    }
    if (any)
        tell_states(t, b.state, count, absent, ids);
    return count_absent(ids, count, absent);
}
