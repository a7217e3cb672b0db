/* cpu/keys_rows.c: keys of several words: columns that do not fit into one.
 *
 * A key is the columns' words side by side, each in as many bits as its type has, and a bit for each column's
 * null. Slots have hashes of them; the words are kept once more, key by key, and compared. A block of rows
 * becomes keys, column by column, then hashes; then first the slots are asked for and after them the keys of
 * their numbers, before any is used.
 *
 * Where threads do a round together its keys are all kept until it is over: a new key is compared with that
 * of the row that brought it. So such a round is only as long as its keys stay in a cache. */
#include "keys_round.h"

#define NEAR             (1u << 14) /* words that a core's own cache holds beside others */
#define BLOCK_WORDS      8448u      /* of a block's keys: more than two of the widest */
#define ROUND_WORDS_MOST (1ull << 18)
#define ROUND_ROWS_MOST  (1ull << 18)

static uint32_t block_of(uint32_t words)
{
    return BLOCK_WORDS / words < KEYS_BLOCK ? BLOCK_WORDS / words : KEYS_BLOCK;
}

/* ---- a block ------------------------------------------------------------------------------------------- */

struct block {
    uint64_t hash[KEYS_BLOCK], home[KEYS_BLOCK];
    uint8_t state[KEYS_BLOCK];
};

/* Their hashes, and what is at their homes on its way. */
static inline __attribute__((always_inline)) void ask(const struct keys_table *t, const uint64_t *keys,
                                                      uint32_t count, uint64_t base, struct block *b)
{
    keys_hash_wide(t->seed, keys, t->words, count, b->hash);
    for (uint32_t i = 0; i < count; i++) {
        b->home[i] = keys_home(t, b->hash[i]);
        __builtin_prefetch(&t->slot[b->home[i]], 1);
    }
    for (uint32_t i = 0; base * t->words >= NEAR && i < count; i++) {
        uint32_t id = __atomic_load_n(&t->slot[b->home[i]].id, __ATOMIC_RELAXED);
        if (id < base)
            __builtin_prefetch(t->row + (uint64_t)id * t->words);
    }
}

/* ---- a round ------------------------------------------------------------------------------------------- */

uint64_t keys_rows_round(const struct keys_rows *rows)
{
    uint64_t most = ROUND_WORDS_MOST / rows->words / KEYS_BLOCK * KEYS_BLOCK;
    return most < KEYS_BLOCK ? KEYS_BLOCK : most < ROUND_ROWS_MOST ? most : ROUND_ROWS_MOST;
}

/* Rows that a thread takes at a time. */
static uint64_t grain_of(const struct keys_rows *rows)
{
    return rows->words <= 8 ? 4 * KEYS_BLOCK : KEYS_BLOCK;
}

uint64_t keys_rows_own(cohort_context *context, const struct keys_rows *rows, uint64_t n)
{
    return cpu_is_alone(context, n, KEYS_BLOCK) ? 0 : n * rows->words;
}

cohort_status keys_rows_room(cohort_context *context, struct keys_table *t, uint64_t most, uint64_t expected)
{
    const uint64_t least = t->count + most, likely = t->count + expected + expected / 16;
    uint64_t wanted = t->row_room + t->row_room / 2;
    if (least <= t->row_room)
        return COHORT_OK;
    wanted = likely > wanted ? likely : wanted;
    wanted = least > wanted ? least : wanted;
    cohort_status s =
        keys_reserve(context, &t->row, &t->row_room, t->count, wanted, t->words * sizeof *t->row);
    if (s == COHORT_NO_MEMORY && least < wanted)
        s = keys_reserve(context, &t->row, &t->row_room, t->count, least, t->words * sizeof *t->row);
    return s;
}

static inline __attribute__((always_inline)) void look_block(struct round *r, uint64_t at, uint32_t count,
                                                             uint64_t *keys, int alone)
{
    struct keys_table *t = r->table;
    struct block b;
    keys_load_wide(r->batch->rows, r->begin + at, count, keys, b.state);
    ask(t, keys, count, r->base, &b);
    for (uint32_t i = 0; i < count; i++) {
        const struct round_key key = {.words = keys + (uint64_t)i * t->words};
        const struct keys_slot *home = &t->slot[b.home[i]];
        uint32_t row = (uint32_t)(at + i), id = __atomic_load_n(&home->id, __ATOMIC_RELAXED);
        uint64_t known = r->claimed;
        if (b.state[i])
            r->batch->ids[r->begin + row] = KEYS_NO_ID;
        else if (id < r->base && home->key == b.hash[i] && same_key(r, home, id, ROUND_ROWS, &key))
            r->batch->ids[r->begin + row] = id;
        else
            note(r, seek(r, b.hash[i], ROUND_ROWS, &key, row, alone), row, alone);
        if (alone && r->claimed != known)
            memcpy(t->row + (r->base + known) * t->words, key.words, t->words * sizeof *t->row);
    }
}

static void look_together(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct round *r = arg;
    const uint32_t most = block_of(r->table->words);
    (void)worker;
    for (uint64_t at = begin; at < end; at += most)
        look_block(r, at, end - at < most ? (uint32_t)(end - at) : most, r->own + at * r->table->words, 0);
}

static void look_alone(struct round *r)
{
    const uint32_t most = block_of(r->table->words);
    uint64_t keys[BLOCK_WORDS];
    for (uint64_t at = 0; at < r->rows; at += most)
        look_block(r, at, r->rows - at < most ? (uint32_t)(r->rows - at) : most, keys, 1);
}

void keys_rows_look(cohort_context *context, struct round *r, int alone)
{
    if (alone)
        look_alone(r);
    else
        cpu_parallel(context, r->rows, grain_of(r->batch->rows), look_together, r);
}

static void keep_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct round *r = arg;
    struct keys_table *t = r->table;
    const uint64_t *first = r->batch->first + r->batch->firsts;
    (void)worker;
    for (uint64_t i = begin; i < end; i++)
        memcpy(t->row + (r->base + i) * t->words, r->own + (first[i] - r->begin) * t->words,
               t->words * sizeof *t->row);
}

void keys_rows_keep(cohort_context *context, struct round *r, uint64_t added)
{
    cpu_parallel(context, added, KEYS_GRAIN, keep_part, r);
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

struct rows_find {
    const struct keys_table *table;
    const struct keys_batch *batch;
    enum cpu_level level;
};

static uint32_t find_key(const struct keys_table *t, uint64_t hash, const uint64_t *key)
{
    for (uint64_t i = keys_home(t, hash);; i = keys_after(t, i)) {
        const struct keys_slot *s = &t->slot[i];
        if (s->id == KEYS_NO_ID)
            return KEYS_NO_ID;
        if (s->key == hash && same_words(t->row + (uint64_t)s->id * t->words, key, t->words))
            return s->id;
    }
}

/* like: of each row the id of the first slot that has its hash, which becomes its id. */
static void settle(const struct keys_table *t, const struct block *b, uint32_t count, const uint64_t *keys,
                   uint32_t *like)
{
    for (uint32_t i = 0; t->count * t->words >= NEAR && i < count; i++)
        __builtin_prefetch(t->row + (like[i] == KEYS_NO_ID ? 0 : (uint64_t)like[i] * t->words));
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *key = keys + (uint64_t)i * t->words;
        if (b->state[i])
            like[i] = KEYS_NO_ID;
        else if (like[i] != KEYS_NO_ID && !same_words(t->row + (uint64_t)like[i] * t->words, key, t->words))
            like[i] = find_key(t, b->hash[i], key);
    }
}

static void find_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct rows_find *f = arg;
    const struct keys_table *t = f->table;
    const uint32_t most = block_of(t->words);
    uint64_t keys[BLOCK_WORDS];
    struct block b;
    (void)worker;
    for (uint64_t at = begin; at < end; at += most) {
        const uint32_t count = end - at < most ? (uint32_t)(end - at) : most;
        keys_load_wide(f->batch->rows, at, count, keys, b.state);
        keys_hash_wide(t->seed, keys, t->words, count, b.hash);
        keys_seek(t, f->level, count, b.hash, f->batch->ids + at);
        settle(t, &b, count, keys, f->batch->ids + at);
    }
}

cohort_status keys_rows_find(cohort_context *context, const struct keys_table *t, struct keys_batch *b)
{
    struct rows_find f = {t, b, cpu_device(context)->level};
    if (!t->capacity)
        return context_fill(context, b->ids, 0xff, b->n * sizeof *b->ids);
    return cpu_parallel_told(context, "keys", b->n, grain_of(b->rows), find_part, &f);
}
