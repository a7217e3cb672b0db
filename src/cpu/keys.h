/* cpu/keys.h: what the files of keys share: rows as words and as bytes. */
#ifndef COHORT_CPU_KEYS_H
#define COHORT_CPU_KEYS_H

#include <string.h>

#include "backend/keys.h"
#include "cpu.h"

#define KEYS_BLOCK 256u       /* rows that a thread does together */
#define KEYS_GRAIN (1u << 13) /* a multiple of KEYS_BLOCK: rows that it takes at a time */

/* Up to 64 bits of a bitmap from bit `at` on; no byte is read in which there is none of them. */
static inline uint64_t keys_bits(const uint8_t *bitmap, uint64_t at, uint32_t count)
{
    const uint8_t *from = bitmap + at / 8;
    const uint32_t shift = at % 8, bytes = (shift + count + 7) / 8;
    uint64_t word = 0;
    memcpy(&word, from, bytes < 8 ? bytes : 8);
    return word >> shift | (bytes > 8 ? (uint64_t)from[8] << (64 - shift) : 0);
}

/* Words and states of rows begin .. begin + count; 1: some state is not KEYS_VALUE. count is at most
 * KEYS_BLOCK. */
int keys_load(const struct keys_column *, uint64_t begin, uint32_t count, uint64_t *words, uint8_t *states);
int keys_load_rows(enum cpu_level, const struct keys_words *, uint64_t begin, uint32_t count, uint64_t *words,
                   uint8_t *states);

/* The states alone. */
int keys_load_states(const struct keys_column *, uint64_t begin, uint32_t count, uint8_t *states);

/* Keys of several words of rows begin .. begin + count, one behind the other; 1: some have no id. */
int keys_load_wide(const struct keys_rows *, uint64_t begin, uint32_t count, uint64_t *keys, uint8_t *states);
void keys_hash_wide(const struct keys_seed *, const uint64_t *keys, uint32_t words, uint32_t count,
                    uint64_t *hashes);

/* The words of rows where they lie, if they need no change and none is null; else NULL. */
static inline const uint64_t *keys_column_in_place(const struct keys_column *c, uint64_t begin)
{
    int is_word = c->bytes == 8 && (c->kind == KEYS_UNSIGNED || c->kind == KEYS_SIGNED);
    return is_word && !c->validity ? (const uint64_t *)c->data + begin : NULL;
}

static inline const uint64_t *keys_words_in_place(const struct keys_words *w, uint64_t begin)
{
    return w->base ? NULL : keys_column_in_place(w->column, begin);
}

cohort_status cpu_keys_add(cohort_context *, struct keys_table *, struct keys_batch *);
cohort_status cpu_keys_range(cohort_context *, const struct keys_column *, uint64_t n, struct keys_range *);
cohort_status cpu_keys_decode(cohort_context *, const struct keys_column *, uint64_t n, uint32_t width,
                              void *to, void *validity, uint64_t *nulls);
cohort_status cpu_keys_ranks(cohort_context *, const struct keys_ranks *);
cohort_status cpu_keys_members(cohort_context *, const struct keys_members *);

/* Lowers a row, or the like, which other threads lower too. */
static inline void keys_lower(uint32_t *at, uint32_t row)
{
    uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (row < old && !__atomic_compare_exchange_n(at, &old, row, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* keys_turn.c: cpu_keys_members for few distinct keys among many values; COHORT_UNSUPPORTED: they are not,
 * and nothing was done. */
cohort_status keys_members_turned(cohort_context *, const struct keys_members *);

/* keys_members.c: cpu_keys_members where value i stands for row number[i]; NULL: for row i. */
cohort_status keys_members_among(cohort_context *, const struct keys_members *, const uint32_t *number);

/* ---- keys_seed.c: what hashes of keys depend on ---- */

/* Odd numbers. */
struct keys_seed {
    uint64_t word[2], text[4], front, pair[4];
};

/* That of this process, drawn when it is first asked for. Any thread. */
const struct keys_seed *keys_seed(void);

void keys_seed_draw(struct keys_seed *);

/* The one that is made of a number. fix: it is that of the process; for tests, while no keys are numbered. */
void keys_seed_make(struct keys_seed *, uint64_t from);
void keys_seed_fix(uint64_t from);

/* ---- group_values.c ---- */

struct group_values;
cohort_status cpu_group_values(cohort_context *, struct group_values *);

/* ---- keys_grow.c ---- */

cohort_status keys_no_memory(cohort_context *, uint64_t bytes);

/* Room for `need` elements of `width` at *memory, which has `used` of them, with room to grow. */
cohort_status keys_grow(cohort_context *, void *memory, uint64_t *room, uint64_t used, uint64_t need,
                        uint64_t width);

/* Room for `wanted`, no more. */
cohort_status keys_reserve(cohort_context *, void *memory, uint64_t *room, uint64_t used, uint64_t wanted,
                           uint64_t width);

/* ---- keys_direct.c: a table by word -------------------------------------------------------------------- */

/* Whether the batch's words fit into a table by word, which is made if there are no keys yet. */
int keys_direct_open(cohort_context *, struct keys_table *, const struct keys_batch *);
cohort_status keys_direct_add(cohort_context *, struct keys_table *, struct keys_batch *);
void keys_direct_drop(cohort_context *, struct keys_table *);

static inline uint32_t keys_direct_find(const struct keys_table *t, uint64_t word)
{
    return word - t->low <= t->span ? t->direct[word - t->low] : KEYS_NO_ID;
}

/* ---- keys_codes.c: places in a table by word ---- */

struct keys_codes {
    const struct keys_words *words;
    uint64_t low;  /* the word of place 0 */
    uint32_t null; /* null's place, where it is no code of a column */
    enum cpu_level level;
    int by_vectors;
};

/* All words of the rows lie in the table's range. */
struct keys_codes keys_codes_of(const struct keys_words *, enum cpu_level, uint64_t low, uint32_t null);

/* Places of rows begin .. begin + count, at most KEYS_BLOCK, KEYS_NO_ID where they have none; 1: there are
 * such. */
int keys_codes_load(const struct keys_codes *, uint64_t begin, uint32_t count, uint32_t *codes);

/* ---- keys_firsts.c: distinct words without numbers ---- */

cohort_status cpu_keys_firsts(cohort_context *, const struct keys_words *, uint64_t n, uint32_t *rows,
                              uint64_t *count);

/* ---- keys_parts.c: many new words ---- */

/* Numbers rows of words for which the table has room. COHORT_NO_MEMORY, COHORT_UNSUPPORTED: nothing was
 * done. */
cohort_status keys_parts_add(cohort_context *, struct keys_table *, struct keys_batch *, uint64_t begin,
                             uint64_t rows);

/* ---- keys_apart.c: lookups of many words ---- */

/* COHORT_UNSUPPORTED: row by row, then; nothing was done. */
cohort_status keys_apart_find(cohort_context *, const struct keys_table *, const struct keys_batch *);

/* ---- keys_seek.c: words among slots ---- */

/* Homes of at most KEYS_BLOCK words, which has room for so many. */
void keys_homes_all(const struct keys_table *, enum cpu_level, uint32_t count, const uint64_t *words,
                    uint64_t *homes);

/* Ids of at most KEYS_BLOCK words, of a table that has slots; nobody adds to it. */
void keys_seek(const struct keys_table *, enum cpu_level, uint32_t count, const uint64_t *words,
               uint32_t *ids);

/* ---- keys_rows.c: keys of several words ---- */

cohort_status keys_rows_find(cohort_context *, const struct keys_table *, struct keys_batch *);

/* ---- keys_text.c: strings of bytes ---- */

/* Where rows begin .. begin + count are, and their states; 1: some state is not KEYS_VALUE, and there the
 * length is 0. */
int keys_locate_text(const struct keys_column *, uint64_t begin, uint32_t count, struct keys_text *texts,
                     uint8_t *states);

/* The same, and their hashes. */
int keys_load_text(const struct keys_seed *, enum cpu_level, const struct keys_column *, uint64_t begin,
                   uint32_t count, struct keys_text *texts, uint64_t *hashes, uint8_t *states);
uint64_t keys_hash_text(const struct keys_seed *, struct keys_text);

/* Ids of these rows, `absent` where the table has no such key: how many of them. */
uint32_t keys_find_text(const struct keys_table *, enum cpu_level, const struct keys_column *, uint64_t begin,
                        uint32_t count, uint32_t absent, uint32_t *ids);

static inline uint64_t keys_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

/* The bytes behind the last whole word, filled up with zeros; nothing else is read. */
static inline uint64_t keys_last_word(const char *at, uint64_t length)
{
    const uint64_t rest = length % 8;
    const unsigned char *byte = (const unsigned char *)at;
    uint32_t low, high;
    if (length >= 8)
        return rest ? keys_word(at + length - 8) >> (64 - 8 * rest) : 0;
    if (length >= 4) {
        memcpy(&low, at, 4);
        memcpy(&high, at + length - 4, 4);
        return low | (uint64_t)high << 8 * (length - 4);
    }
    return !length ? 0
                   : byte[0] | (uint64_t)byte[length / 2] << 8 * (length / 2) |
                         (uint64_t)byte[length - 1] << 8 * (length - 1);
}

/* The string between two places of a heap, which may be NULL if it has empty strings alone: a branch on that
 * would cost more than all else here. */
static inline struct keys_text keys_text_in(const char *heap, const uint64_t *start)
{
    return (struct keys_text){(const char *)((uintptr_t)heap + start[0]), start[1] - start[0]};
}

static inline int keys_same_text(struct keys_text a, struct keys_text b)
{
    if (a.length != b.length)
        return 0;
    if (a.length > 32)
        return !memcmp(a.at, b.at, a.length);
    uint64_t differ = keys_last_word(a.at, a.length) ^ keys_last_word(b.at, b.length);
    for (uint64_t i = 0; i + 8 <= a.length; i += 8)
        differ |= keys_word(a.at + i) ^ keys_word(b.at + i);
    return !differ;
}

/* ---- keys_front.c: keys that have their numbers: few words, or strings ---- */

#define KEYS_UNSEEN (KEYS_NO_ID - 3) /* in the place of an id: the row is still to be numbered */

struct keys_front {
    const struct keys_table *texts; /* of strings: the table itself; else NULL */
    struct keys_few *few;           /* of strings: the layout of few, whose memory may be NULL */
    uint64_t *word;                 /* buckets */
    uint32_t *id;                   /* KEYS_UNSEEN: nothing is there */
    uint64_t factor;
    uint32_t shift, null;
    uint64_t *key; /* all keys and their ids, while it is made */
    uint32_t *number;
    uint16_t *unseen; /* of a step, by blocks */
    void *memory;
    uint64_t knows, step; /* ids; rows of the next step */
    int pause, is_hopeless;
};

/* Makes a front, all zero at first, know the table's keys. 0: there is none for the next step. */
int keys_front_open(cohort_context *, struct keys_front *, const struct keys_table *);
void keys_front_close(cohort_context *, struct keys_front *);

/* Ids of a step's rows. */
void keys_front_look(cohort_context *, const struct keys_front *, const struct keys_batch *, uint64_t begin,
                     uint64_t rows);

/* How many of the step's rows from `begin`, a multiple of KEYS_BLOCK, are unseen. */
uint64_t keys_front_unseen(const struct keys_front *, uint64_t begin, uint64_t rows);

/* How long the next step may be, after one in which so many rows were unseen. */
void keys_front_heed(struct keys_front *, uint64_t rows, uint64_t unseen);

/* The product by a secret odd number, of which the upper bits are used, is a universal hash: whichever two
 * keys are chosen, the chance that they meet in one of n slots is at most 4 / n. The product before it, by
 * another, is there for what a line of slots makes of many keys: after it nobody knows which of them lie at
 * the same distance from each other. (keys_members.c has the same of eight keys.) */
static inline uint64_t keys_hash_by(uint64_t first, uint64_t second, uint64_t key)
{
    key ^= key >> 32;
    key *= first;
    key ^= key >> 32;
    key *= second;
    return key ^ key >> 32;
}

static inline uint64_t keys_hash(const struct keys_seed *s, uint64_t key)
{
    return keys_hash_by(s->word[0], s->word[1], key);
}

/* A hash's share of the slots: they are any number, so that a table takes no more memory than it must. */
struct keys_homes {
    uint64_t factor[2], capacity;
};

/* A copy that loops keep in registers. */
static inline struct keys_homes keys_homes_of(const struct keys_table *t)
{
    return (struct keys_homes){{t->seed->word[0], t->seed->word[1]}, t->capacity};
}

static inline uint64_t keys_home_in(struct keys_homes h, uint64_t key)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)keys_hash_by(h.factor[0], h.factor[1], key) * h.capacity >> 64);
}

static inline uint64_t keys_home(const struct keys_table *t, uint64_t key)
{
    return keys_home_in(keys_homes_of(t), key);
}

static inline uint64_t keys_after(const struct keys_table *t, uint64_t slot)
{
    return slot + 1 < t->capacity ? slot + 1 : 0;
}

#endif
