/* cpu/keys_front.c: a small table in front of the slots, for words that have their numbers.
 *
 * Of few keys nearly every row is a repetition. A front has all keys that are numbered, in buckets of four
 * words that are compared at once. No bucket has to hold more: the factor by which words are hashed is drawn
 * until all keys have a place, and if none is found there is no front. It is made between two steps and only
 * read in a step. Rows of its words get their ids; those of others, and of null before it has a number, are
 * UNSEEN and counted by blocks, and are then numbered as without a front (keys_add.c). So no table needs room
 * for as many keys as there are rows, and steps may be long.
 *
 * Of strings of bytes the table's own slots are the front: in a step they are only read (keys_text.c). Few
 * strings are laid out anew for each step that finds more of them than the one before (keys_few.c). */
#include "keys_few.h"

#if CPU_VECTORS
#    include <immintrin.h>
#endif

#define BUCKET     4u
#define MOST_KEYS  8192u
#define MOST_LANES (1u << 17)
#define TRIES      8 /* factors, before there are twice as many buckets */
#define LEAST_STEP (1ull << 18)
#define MOST_STEP  (1ull << 21)
#define PAUSE      4 /* steps without a front, after one that it did not help */

/* ---- making one ---------------------------------------------------------------------------------------- */

static cohort_status take_memory(cohort_context *context, struct keys_front *f)
{
    uint64_t unseen = MOST_STEP / KEYS_BLOCK * sizeof *f->unseen;
    char *memory;
    uint64_t lanes = f->texts ? 0 : MOST_LANES, keys = f->texts ? 0 : MOST_KEYS;
    cohort_status s =
        pool_take(context, sizeof *f->few + lanes * (8 + 4) + keys * (8 + 4) + unseen, (void **)&memory);
    if (s)
        return s;
    f->memory = memory;
    f->few = (struct keys_few *)(void *)memory;
    *f->few = (struct keys_few){.memory = NULL};
    f->word = (uint64_t *)(void *)(f->few + 1);
    f->key = f->word + lanes;
    f->id = (uint32_t *)(void *)(f->key + keys);
    f->number = f->id + lanes;
    f->unseen = (uint16_t *)(void *)(f->number + keys);
    return COHORT_OK;
}

void keys_front_close(cohort_context *context, struct keys_front *f)
{
    if (f->memory) {
        keys_few_close(context, f->few);
        pool_give(context, f->memory);
    }
    *f = (struct keys_front){0};
}

static inline uint64_t bucket_of(const struct keys_front *f, uint64_t word)
{
    return (word * f->factor) >> f->shift;
}

/* All keys, each in its bucket. 0: some bucket has not room enough. */
static int place(struct keys_front *f, uint64_t keys, uint64_t lanes)
{
    memset(f->word, 0, lanes * sizeof *f->word);
    memset(f->id, 0xff, lanes * sizeof *f->id);
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t at = bucket_of(f, f->key[i]) * BUCKET, end = at + BUCKET;
        while (at < end && f->id[at] != KEYS_NO_ID)
            at++;
        if (at == end)
            return 0;
        f->word[at] = f->key[i];
        f->id[at] = f->number[i];
    }
    for (uint64_t i = 0; i < lanes; i++)
        f->id[i] = f->id[i] == KEYS_NO_ID ? KEYS_UNSEEN : f->id[i];
    return 1;
}

static int place_all(struct keys_front *f, const struct keys_seed *seed, uint64_t keys)
{
    uint64_t lanes = 16;
    while (lanes < 4 * keys)
        lanes *= 2;
    f->factor = seed->front;
    for (; lanes <= MOST_LANES; lanes *= 2) {
        f->shift = 64 - (uint32_t)__builtin_ctzll(lanes / BUCKET);
        for (int i = 0; i < TRIES; i++) {
            if (place(f, keys, lanes))
                return 1;
            f->factor = (f->factor * 6364136223846793005ull + 1442695040888963407ull) | 1;
        }
    }
    return 0;
}

/* A place for each of the table's keys. */
static void place_keys(struct keys_front *f, const struct keys_table *t)
{
    uint64_t keys = 0;
    for (uint64_t i = 0; i < t->capacity; i++)
        if (t->slot[i].id != KEYS_NO_ID) {
            f->key[keys] = t->slot[i].key;
            f->number[keys++] = t->slot[i].id;
        }
    f->null = t->null.id == KEYS_NO_ID ? KEYS_UNSEEN : t->null.id;
    f->knows = t->count;
    f->is_hopeless = !place_all(f, t->seed, keys);
}

/* The table's strings, if they are few. */
static void place_texts(cohort_context *context, struct keys_front *f)
{
    keys_few_close(context, f->few);
    keys_few_open(context, f->few, f->texts, f->step);
    f->knows = f->texts->count;
}

int keys_front_open(cohort_context *context, struct keys_front *f, const struct keys_table *t)
{
    if (f->pause) {
        f->pause--;
        return 0;
    }
    f->texts = t->start ? t : NULL;
    if (!t->count || (t->count > MOST_KEYS && !f->texts) || f->is_hopeless)
        return 0;
    if (!f->memory && take_memory(context, f))
        return 0;
    f->step = f->step ? f->step : LEAST_STEP;
    if (f->texts && f->knows != t->count)
        place_texts(context, f);
    else if (f->knows != t->count)
        place_keys(f, t);
    return !f->is_hopeless;
}

void keys_front_heed(struct keys_front *f, uint64_t rows, uint64_t unseen)
{
    f->step = unseen || f->step == MOST_STEP ? f->step : 2 * f->step;
    if (unseen > rows / 4) {
        f->pause = PAUSE;
        f->step = LEAST_STEP;
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

struct front_job {
    const struct keys_front *front;
    const struct keys_batch *batch;
    uint64_t begin;
    enum cpu_level level;
};

static inline __attribute__((always_inline)) uint32_t look_plain(const struct keys_front *f, uint64_t word)
{
    uint64_t at = bucket_of(f, word) * BUCKET;
    for (uint64_t end = at + BUCKET; at < end; at++)
        if (f->word[at] == word)
            return f->id[at];
    return KEYS_UNSEEN;
}

/* Ids of words: how many are UNSEEN. */
static uint32_t block_plain(const struct keys_front *f, const uint64_t *words, uint32_t count, uint32_t *ids)
{
    uint32_t unseen = 0;
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = look_plain(f, words[i]);
        unseen += ids[i] == KEYS_UNSEEN;
    }
    return unseen;
}

#if CPU_VECTORS
__attribute__((target("avx2,bmi"))) static uint32_t
block_avx2(const struct keys_front *f, const uint64_t *words, uint32_t count, uint32_t *ids)
{
    uint32_t unseen = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = bucket_of(f, words[i]) * BUCKET;
        __m256i bucket = _mm256_loadu_si256((const __m256i *)(const void *)(f->word + at));
        __m256i is = _mm256_cmpeq_epi64(bucket, _mm256_set1_epi64x((long long)words[i]));
        unsigned lanes = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(is));
        ids[i] = lanes ? f->id[at + (unsigned)__builtin_ctz(lanes)] : KEYS_UNSEEN;
        unseen += ids[i] == KEYS_UNSEEN;
    }
    return unseen;
}
#else
#    define block_avx2 block_plain
#endif

/* Rows of nulls, whose words say nothing. */
static uint32_t block_nulls(const struct keys_front *f, const uint8_t *states, uint32_t count, uint32_t *ids)
{
    uint32_t unseen = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (states[i])
            ids[i] = states[i] == KEYS_NULL ? f->null : KEYS_NO_ID;
        unseen += ids[i] == KEYS_UNSEEN;
    }
    return unseen;
}

static void look_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct front_job *j = arg;
    const struct keys_words *w = j->batch->words;
    uint64_t copy[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK, unseen;
        uint32_t *ids = j->batch->ids + j->begin + at;
        const uint64_t *words = keys_words_in_place(w, j->begin + at);
        int some = words ? 0 : keys_load_rows(j->level, w, j->begin + at, count, copy, states);
        unseen =
            (j->level >= CPU_AVX2 ? block_avx2 : block_plain)(j->front, words ? words : copy, count, ids);
        if (some)
            unseen = block_nulls(j->front, states, count, ids);
        j->front->unseen[at / KEYS_BLOCK] = (uint16_t)unseen;
    }
}

/* As keys_find_text has them with UNSEEN for absent ones. */
static uint32_t find_few(const struct front_job *j, uint64_t begin, uint32_t count, uint32_t *ids)
{
    const uint32_t null = j->front->texts->null.id;
    uint8_t states[KEYS_BLOCK];
    const int some = keys_few_find(j->front->few, j->batch->bytes, begin, count, ids, states);
    uint32_t unseen = 0;
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = ids[i] == KEYS_NO_ID ? KEYS_UNSEEN : ids[i];
        unseen += ids[i] == KEYS_UNSEEN;
    }
    for (uint32_t i = 0; some && i < count; i++)
        if (states[i]) {
            unseen -= ids[i] == KEYS_UNSEEN;
            ids[i] = states[i] != KEYS_NULL ? KEYS_NO_ID : null == KEYS_NO_ID ? KEYS_UNSEEN : null;
            unseen += ids[i] == KEYS_UNSEEN;
        }
    return unseen;
}

static void look_texts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct front_job *j = arg;
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        uint32_t *ids = j->batch->ids + j->begin + at;
        j->front->unseen[at / KEYS_BLOCK] =
            (uint16_t)(j->front->few->memory ? find_few(j, j->begin + at, count, ids)
                                             : keys_find_text(j->front->texts, j->level, j->batch->bytes,
                                                              j->begin + at, count, KEYS_UNSEEN, ids));
    }
}

void keys_front_look(cohort_context *context, const struct keys_front *f, const struct keys_batch *b,
                     uint64_t begin, uint64_t rows)
{
    struct front_job j = {f, b, begin, cpu_device(context)->level};
    cpu_parallel(context, rows, KEYS_GRAIN, f->texts ? look_texts : look_part, &j);
}

uint64_t keys_front_unseen(const struct keys_front *f, uint64_t begin, uint64_t rows)
{
    uint64_t sum = 0;
    for (uint64_t at = begin; at < begin + rows; at += KEYS_BLOCK)
        sum += f->unseen[at / KEYS_BLOCK];
    return sum;
}
