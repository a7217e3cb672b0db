/* cpu/keys_turn.c: which numbers are among others, the other way round: few distinct keys among many values.
 *
 * A table of ten million values takes long to make and is in no cache. A table of the keys is small if few of
 * them are distinct, which some of them tell. So all keys go into a table of slots, by linear probing and one
 * compare-and-swap; each value then lowers the row of the slot that has it. The values that were met, each
 * once with its first row, are all that matter: the keys are looked for among them (keys_members.c).
 *
 * If there are more distinct keys than those looked at first let hope for, all values are put in. */
#include "keys_vector.h"

#define EMPTY  (~0ull)
#define NO_ROW (~0u)
#define VALUES (1u << 16) /* at least, for this to pay, */
#define EACH   4u         /* and so many keys a value at most */
#define TRIED  (1u << 13) /* keys that are looked at first */
#define FEW    (1u << 12) /* distinct ones of them at most, if there are more keys */
#define LEAST  64u        /* there is room for so many distinct keys, or */
#define BEYOND 4u         /* so many times as many as were met, */
#define MOST   (1u << 14) /* but no more than these, */
#define SLOTS  4u         /* each with so many slots; and one more, of the key that looks like an empty one */

struct turn {
    const struct keys_members *ask;
    struct keys_words values, keys;
    const struct keys_seed *seed;
    enum cpu_level level;
    uint64_t *slot, mask;
    uint32_t *row; /* by slot: the first row of `values` that has it */
    uint32_t shift;
    uint32_t room, count; /* distinct keys: at most, and so far */
    uint32_t is_full, has_empty;
};

static const uint64_t *words_of(const struct keys_words *w, uint64_t begin, uint32_t count, uint64_t *own)
{
    uint8_t states[KEYS_BLOCK];
    const uint64_t *in_place = keys_words_in_place(w, begin);
    if (!in_place)
        keys_load(w->column, begin, count, own, states);
    return in_place ? in_place : own;
}

#if CPU_VECTORS
AVX512 static void homes_8(const struct turn *t, const uint64_t *word, uint64_t *at)
{
    const __m128i shift = _mm_cvtsi32_si128((int)t->shift);
    for (uint32_t i = 0; i < KEYS_BLOCK; i += 8) {
        __m512i hash = keys_hash_8(t->seed, _mm512_loadu_si512(word + i));
        _mm512_storeu_si512(at + i, _mm512_srl_epi64(hash, shift));
    }
}
#endif

/* The first slots of words. */
static void homes(const struct turn *t, const uint64_t *word, uint32_t count, uint64_t *at)
{
#if CPU_VECTORS
    if (t->level >= CPU_AVX512 && count == KEYS_BLOCK) {
        homes_8(t, word, at);
        return;
    }
#endif
    for (uint32_t i = 0; i < count; i++)
        at[i] = keys_hash(t->seed, word[i]) >> t->shift;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* Puts a key into a slot that is empty, if there is room. 0: another thread took the slot. */
static int claim(struct turn *t, uint64_t word, uint64_t at)
{
    uint64_t there = EMPTY;
    if (__atomic_fetch_add(&t->count, 1, __ATOMIC_RELAXED) >= t->room) {
        __atomic_store_n(&t->is_full, 1, __ATOMIC_RELAXED);
        return 1;
    }
    if (__atomic_compare_exchange_n(&t->slot[at], &there, word, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return 1;
    __atomic_fetch_sub(&t->count, 1, __ATOMIC_RELAXED);
    return 0;
}

/* A key that is not in the first slot of its walk. */
static void put_key(struct turn *t, uint64_t word, uint64_t at)
{
    if (word == EMPTY) {
        __atomic_store_n(&t->has_empty, 1, __ATOMIC_RELAXED);
        return;
    }
    for (;;) {
        uint64_t there = __atomic_load_n(&t->slot[at], __ATOMIC_RELAXED);
        if (there == word || (there == EMPTY && claim(t, word, at)))
            return;
        if (there != EMPTY)
            at = (at + 1) & t->mask;
    }
}

static void put_keys(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct turn *t = arg;
    uint64_t own[KEYS_BLOCK], at[KEYS_BLOCK];
    (void)worker;
    for (uint64_t from = begin; from < end; from += KEYS_BLOCK) {
        const uint32_t count = end - from < KEYS_BLOCK ? (uint32_t)(end - from) : KEYS_BLOCK;
        const uint64_t *word = words_of(&t->keys, from, count, own);
        if (__atomic_load_n(&t->is_full, __ATOMIC_RELAXED))
            return;
        homes(t, word, count, at);
        for (uint32_t i = 0; i < count; i++)
            if (word[i] == EMPTY || __atomic_load_n(&t->slot[at[i]], __ATOMIC_RELAXED) != word[i])
                put_key(t, word[i], at[i]);
    }
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* One whose first slot has another key. */
static void meet(struct turn *t, uint64_t word, uint64_t at, uint32_t row)
{
    while (t->slot[at] != EMPTY && t->slot[at] != word)
        at = (at + 1) & t->mask;
    if (t->slot[at] == word)
        keys_lower(&t->row[at], row);
}

static void meet_values(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct turn *t = arg;
    uint64_t own[KEYS_BLOCK], at[KEYS_BLOCK];
    (void)worker;
    for (uint64_t from = begin; from < end; from += KEYS_BLOCK) {
        const uint32_t count = end - from < KEYS_BLOCK ? (uint32_t)(end - from) : KEYS_BLOCK;
        const uint64_t *word = words_of(&t->values, from, count, own);
        homes(t, word, count, at);
        for (uint32_t i = 0; i < count; i++)
            if (word[i] == EMPTY)
                keys_lower(&t->row[t->mask + 1], (uint32_t)(from + i));
            else if (t->slot[at[i]] != EMPTY)
                meet(t, word[i], at[i], (uint32_t)(from + i));
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static uint32_t room_for(uint64_t met)
{
    const uint64_t room = BEYOND * met < LEAST ? LEAST : BEYOND * met;
    return room < MOST ? (uint32_t)room : MOST;
}

static cohort_status table_open(cohort_context *context, struct turn *t, uint32_t room, void **memory)
{
    uint64_t slots = 64;
    t->room = room;
    t->count = t->is_full = 0;
    for (t->shift = 58; slots < (uint64_t)SLOTS * room; t->shift--)
        slots *= 2;
    t->mask = slots - 1;
    cohort_status s = pool_take(context, slots * 8 + (slots + 1) * 4, memory);
    if (s)
        return s;
    memset(*memory, 0xff, slots * 8 + (slots + 1) * 4);
    t->slot = *memory;
    t->row = (void *)(t->slot + slots);
    return s;
}

/* How many of the first look's keys are distinct: in pieces from all over. */
static cohort_status look_first(cohort_context *context, struct turn *t, uint64_t *met)
{
    const uint64_t n = t->ask->n, pieces = n <= TRIED ? 1 : TRIED / KEYS_BLOCK;
    void *memory = NULL;
    cohort_status s = table_open(context, t, TRIED, &memory);
    for (uint64_t i = 0; !s && i < pieces; i++) {
        const uint64_t begin = n / pieces * i;
        put_keys(t, begin, begin + (pieces == 1 ? n : KEYS_BLOCK), 0);
    }
    *met = t->count;
    pool_give(context, memory);
    return s;
}

/* The values that were met as a column and their rows, behind each other in `words`. */
static uint64_t gather(const struct turn *t, uint64_t *words, uint32_t *rows)
{
    uint64_t found = 0;
    for (uint64_t at = 0; at < t->mask + 2; at++)
        if (t->row[at] != NO_ROW) {
            words[found] = at > t->mask ? EMPTY : t->slot[at];
            rows[found++] = t->row[at];
        }
    return found;
}

/* The keys among the values that were met. */
static cohort_status finish(cohort_context *context, const struct turn *t)
{
    const uint64_t most = (uint64_t)t->count + 1;
    void *memory = NULL;
    cohort_status s = pool_take(context, most * 12, &memory);
    if (s)
        return s;
    uint64_t *words = memory;
    uint32_t *rows = (void *)(words + most);
    struct keys_members ask = *t->ask;
    const struct keys_column values = {
        .kind = KEYS_UNSIGNED, .bytes = 8, .fill = 8, .data = words, .is_signed = t->ask->values->is_signed};
    ask.m = gather(t, words, rows);
    ask.values = &values;
    s = keys_members_among(context, &ask, rows);
    pool_give(context, memory);
    return s;
}

/* COHORT_UNSUPPORTED: there are too many distinct keys; nothing was done. */
static cohort_status turned(cohort_context *context, struct turn *t)
{
    void *memory = NULL;
    uint64_t met;
    cohort_status s = look_first(context, t, &met);
    if (s || (met > FEW && t->ask->n > TRIED))
        return s ? s : COHORT_UNSUPPORTED;
    s = table_open(context, t, room_for(met), &memory);
    if (!s)
        s = cpu_parallel_told(context, "keys", t->ask->n, KEYS_GRAIN, put_keys, t);
    if (!s && t->is_full)
        s = COHORT_UNSUPPORTED;
    if (!s)
        s = cpu_parallel_told(context, "keys", t->ask->m, KEYS_GRAIN, meet_values, t);
    if (!s)
        s = finish(context, t);
    pool_give(context, memory);
    return s;
}

cohort_status keys_members_turned(cohort_context *context, const struct keys_members *ask)
{
    struct turn t = {.ask = ask,
                     .values = {.columns = 1, .column = ask->values},
                     .keys = {.columns = 1, .column = ask->keys},
                     .seed = keys_seed(),
                     .level = cpu_device(context)->level};
    return ask->m >= VALUES && ask->n / EACH <= ask->m ? turned(context, &t) : COHORT_UNSUPPORTED;
}
