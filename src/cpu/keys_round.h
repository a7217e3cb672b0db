/* cpu/keys_round.h: a round of numbering (keys_add.c): what a row does to the slots. */
#ifndef COHORT_CPU_KEYS_ROUND_H
#define COHORT_CPU_KEYS_ROUND_H

#include "keys.h"

#define BUSY    (KEYS_NO_ID - 1)
#define PENDING (KEYS_NO_ID - 2)

struct round {
    struct keys_table *table;
    struct keys_batch *batch;
    enum cpu_level level;
    uint64_t begin, rows;
    uint64_t most;          /* rows that may bring new keys */
    const uint16_t *unseen; /* of a front, by blocks; NULL: all rows are to be done */
    uint64_t expected;      /* keys that the rows from it on are likely to bring */
    uint64_t base;          /* ids before it */
    uint64_t *where;        /* by row: its slot, if that is pending; the table's capacity: null's */
    uint64_t *is_first;     /* a bitmap of rows */
    uint64_t *rank;         /* by its words: first rows before */
    uint64_t *own;          /* of rows of several words, where threads do them together: the rows' keys */
    uint64_t claimed;       /* atomic: is any slot pending? */
};

/* Release: who compares with the row (same_key) sees its words. */
static inline void lower(uint32_t *at, uint32_t row)
{
    uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (row < old && !__atomic_compare_exchange_n(at, &old, row, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static inline int same_words(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    uint64_t differ = 0;
    for (uint32_t i = 0; i < words; i++)
        differ |= a[i] ^ b[i];
    return !differ;
}

/* What is compared where two keys have the same word or hash. */
enum round_form { ROUND_WORDS, ROUND_TEXTS, ROUND_ROWS };

struct round_key {
    struct keys_text text;
    const uint64_t *words;
};

/* Is it the key of a slot with this hash? */
static inline int same_key(const struct round *r, const struct keys_slot *s, uint32_t id,
                           enum round_form form, const struct round_key *key)
{
    const struct keys_table *t = r->table;
    if (form == ROUND_WORDS)
        return 1;
    if (form == ROUND_ROWS && id != PENDING)
        return same_words(t->row + (uint64_t)id * t->words, key->words, t->words);
    if (id < r->base)
        return keys_same_text(keys_text_in(t->heap, t->start + id), key->text);
    uint64_t row = __atomic_load_n(&s->row, __ATOMIC_ACQUIRE);
    if (form == ROUND_ROWS)
        return same_words(r->own + row * t->words, key->words, t->words);
    return keys_same_text(keys_text_at(r->batch->bytes, r->begin + row), key->text);
}

/* Takes an empty slot for the key. 0: another thread took it. */
static inline int claim(struct round *r, struct keys_slot *s, uint64_t key, uint32_t row, int alone)
{
    uint32_t none = KEYS_NO_ID;
    if (alone) {
        s->key = key;
        s->row = row;
        s->id = (uint32_t)(r->base + r->claimed);
        r->batch->first[r->batch->firsts + r->claimed++] = r->begin + row;
        return 1;
    }
    if (!__atomic_compare_exchange_n(&s->id, &none, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 0;
    s->key = key;
    __atomic_store_n(&s->row, row, __ATOMIC_RELAXED);
    __atomic_store_n(&s->id, PENDING, __ATOMIC_RELEASE);
    if (!__atomic_load_n(&r->claimed, __ATOMIC_RELAXED))
        __atomic_store_n(&r->claimed, 1, __ATOMIC_RELAXED);
    return 1;
}

static inline uint32_t wait_while_busy(const struct keys_slot *s)
{
    uint32_t id;
    while ((id = __atomic_load_n(&s->id, __ATOMIC_ACQUIRE)) == BUSY)
        co_pause();
    return id;
}

static inline __attribute__((always_inline)) struct keys_slot *seek(struct round *r, uint64_t hash,
                                                                    enum round_form form,
                                                                    const struct round_key *key, uint32_t row,
                                                                    int alone)
{
    struct keys_table *t = r->table;
    for (uint64_t i = keys_home(t, hash);; i = keys_after(t, i)) {
        struct keys_slot *s = &t->slot[i];
        uint32_t id = alone ? s->id : wait_while_busy(s);
        if (id == KEYS_NO_ID) {
            if (claim(r, s, hash, row, alone))
                return s;
            id = wait_while_busy(s);
        }
        if (s->key == hash && same_key(r, s, id, form, key))
            return s;
    }
}

static inline struct keys_slot *seek_null(struct round *r, uint32_t row, int alone)
{
    struct keys_slot *s = &r->table->null;
    if ((alone ? s->id : wait_while_busy(s)) == KEYS_NO_ID)
        claim(r, s, 0, row, alone);
    if (!alone)
        wait_while_busy(s);
    return s;
}

static inline __attribute__((always_inline)) void note(struct round *r, const struct keys_slot *s,
                                                       uint32_t row, int alone)
{
    uint32_t id = alone ? s->id : __atomic_load_n(&s->id, __ATOMIC_RELAXED);
    r->batch->ids[r->begin + row] = id;
    if (alone || id != PENDING)
        return;
    lower((uint32_t *)(uintptr_t)&s->row, row);
    r->where[row] = s == &r->table->null ? r->table->capacity : (uint64_t)(s - r->table->slot);
}

/* ---- keys_rows.c: rows of several words ---------------------------------------------------------------- */

/* Rows of a round. */
uint64_t keys_rows_round(const struct keys_rows *);

/* Words that `own` needs; 0: one thread alone does the rounds. */
uint64_t keys_rows_own(cohort_context *, const struct keys_rows *, uint64_t rows);

/* Room for the keys of a round and for what the rows after it are likely to bring. */
cohort_status keys_rows_room(cohort_context *, struct keys_table *, uint64_t most, uint64_t expected);

/* Looks all rows of the round up. alone: they have their numbers then, and their keys are kept. */
void keys_rows_look(cohort_context *, struct round *, int alone);

/* Keeps the keys of numbers that were given after that. */
void keys_rows_keep(cohort_context *, struct round *, uint64_t added);

#endif
