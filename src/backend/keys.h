/* backend/keys.h: what a backend does with key columns: their ranges, and tables that number distinct keys.
 *
 * A key is a word of 64 bits, a row of such words, or a string of bytes. Words are made of columns while they
 * are read: the bits of one column, or the codes of several, each counted from the least value of its column,
 * null as code 0. Columns lie in the context's memory, in one piece. A table gives the distinct keys that it
 * was shown the numbers 0, 1, 2, ... in the order of their first rows. */
#ifndef COHORT_BACKEND_KEYS_H
#define COHORT_BACKEND_KEYS_H

#include "backend/backend.h"
#include "shape/keys_step.h"

#define KEYS_MOST_IDS 0xfffffff0ull

struct keys_seed;

struct keys_column {
    uint32_t kind, bytes; /* of an element; DICTIONARY: of an index */
    uint32_t fill;        /* bytes that its words fill: 1, 2, 4 or 8 */
    const void *data;
    uint64_t data_bit;
    const void *offsets;
    const void **heaps;
    const uint8_t *validity; /* NULL: no row is null */
    uint64_t validity_bit;
    const uint64_t *words; /* DICTIONARY: of its values */
    const uint8_t *states;
    uint64_t values; /* of a dictionary; its indices are less, where a row is not null; 0: not known */
    int skips_nulls; /* a null is KEYS_NONE */
    int is_signed;   /* words are in order as signed numbers */
};

/* How rows become words. */
struct keys_words {
    uint32_t columns;
    const struct keys_column *column;
    /* code = value - base + 1 <= span + 1, shifted; NULL: the word is the value of the only column, and null
     * is beside the words */
    const uint64_t *base, *span;
    const uint32_t *shift;
    uint32_t skips; /* further columns, whose nulls alone are asked for */
    const struct keys_column *skip;
};

/* How rows become keys of several words: column c's word is at bit at[c], in one of them, a mark of its null
 * at bit nulls + c. */
struct keys_rows {
    uint32_t columns, words;
    const struct keys_column *column;
    const uint32_t *at;
    uint32_t nulls;
};

/* A slot is empty where its id is KEYS_NO_ID. Of words the key is the word, of others their hash. */
struct keys_slot {
    uint64_t key;
    uint32_t id;
    uint32_t row; /* while ids are given out: the first row, counted from the first of the round */
};

struct keys_table {
    uint32_t *direct; /* ids by word - low, of span + 1 words, and null's behind them; NULL: slots */
    uint64_t low, span;
    struct keys_slot *slot;
    uint64_t capacity;            /* of slots, a third more than keys at least; 0: no slots yet */
    const struct keys_seed *seed; /* of the hash; the backend's; NULL: no keys yet */
    int unsettled;                /* on a GPU: a round was broken off, and slots may tell of it */
    uint64_t count;               /* of ids */
    struct keys_slot null;
    /* Of bytes: key i is heap[start[i] .. start[i + 1]). */
    char *heap;
    uint64_t heap_used, heap_room;
    uint64_t *start, start_room;
    /* Of rows: key i is row[i * words .. (i + 1) * words); room for so many keys. */
    uint64_t *row, row_room;
    uint32_t words;
};

/* How words are looked up where a table has slots: row by row, or in order of its parts. */
enum keys_way { KEYS_BY_ANY, KEYS_BY_ROWS, KEYS_BY_PARTS };

struct keys_batch {
    uint64_t n;
    const struct keys_words *words; /* or, if NULL, */
    const struct keys_rows *rows;   /* or, if NULL, */
    const struct keys_column *bytes;
    uint32_t *ids; /* n of them; rows without one: KEYS_NO_ID */
    /* Find, of bytes: not the ids, but a bit for each row that has one, in whole bytes; or NULL. */
    uint8_t *bits;
    enum keys_way way; /* find, on a CPU */
    /* Add: the first rows of new ids, in their order; of the context's pool, or NULL. Passing: nobody
     * wants them, and what is there at the end are those of the last round. */
    uint64_t *first;
    uint64_t firsts, first_room;
    int passing;
};

struct keys_range {
    uint64_t low, high; /* as words */
    int any;            /* is there a value? */
};

/* Which of n keys are among m values, fewer than 2^32 - 1: a bit each, in whole bytes; or the first row of
 * each, of 4 or 8 bytes, all ones for none. Numbers of one type, of at most 8 bytes or bits, none of them
 * null. */
struct keys_members {
    const struct keys_column *values, *keys;
    uint64_t m, n;
    uint8_t *bits; /* used if rows is NULL */
    void *rows;
    uint32_t bytes;
};

/* Words that were packed of several columns, as the values of one of them. */
struct keys_unpack {
    const uint64_t *words;
    uint64_t n;
    uint64_t base;
    uint32_t shift, bits; /* of its codes */
    uint64_t *value;      /* null's: 0 */
    uint8_t *valid;       /* a bit each, in whole words of 4 bytes */
};

/* Words of rows whose order as unsigned numbers is that of the column's values: of row order[i], or of row i
 * if that is NULL; null's: 0. */
struct keys_ranks {
    struct keys_column column;
    uint32_t kind, bytes; /* of the values, if it is a dictionary; else its own */
    const uint32_t *order;
    uint64_t n;
    uint64_t *words;
    uint32_t *nulls; /* 1: there is no value; or NULL */
};

struct keys_backend {
    int has_rows; /* are there tables of rows of words? */

    cohort_status (*range)(cohort_context *, const struct keys_column *, uint64_t n, struct keys_range *);

    /* COHORT_NO_MEMORY and COHORT_OVERFLOW: some keys may be in. `first` is to be given back in either
     * case. */
    cohort_status (*add)(cohort_context *, struct keys_table *, struct keys_batch *);
    cohort_status (*find)(cohort_context *, const struct keys_table *, struct keys_batch *);

    /* The first rows of distinct words, in their order, at `rows`, which has room for n. COHORT_UNSUPPORTED:
     * such words are to be added to a table. */
    cohort_status (*firsts)(cohort_context *, const struct keys_words *, uint64_t n, uint32_t *rows,
                            uint64_t *count);

    /* The words and states of n rows. */
    cohort_status (*load)(cohort_context *, const struct keys_column *, uint64_t n, uint64_t *words,
                          uint8_t *states);

    /* The word of each id (null's: 0), of a table of words. */
    cohort_status (*list)(cohort_context *, const struct keys_table *, uint64_t *words);
    cohort_status (*unpack)(cohort_context *, const struct keys_unpack *);

    cohort_status (*ranks)(cohort_context *, const struct keys_ranks *);

    /* Rows of a dictionary of words as values of `width` bytes, 0: bits, and their validity, in whole words
     * of 8 bytes. */
    cohort_status (*decode)(cohort_context *, const struct keys_column *, uint64_t n, uint32_t width,
                            void *to, void *validity, uint64_t *nulls);

    /* at[i] = rows[ids[i]], of 4 or 8 bytes; all ones for KEYS_NO_ID. */
    cohort_status (*rows)(cohort_context *, const uint32_t *ids, uint64_t n, const uint64_t *rows,
                          uint32_t bytes, void *at);

    /* Bit i: whether ids[i] is an id; in whole bytes. */
    cohort_status (*bits)(cohort_context *, const uint32_t *ids, uint64_t n, uint8_t *bits);

    /* counts[id] is raised for each row; there are `groups` of them. */
    cohort_status (*count)(cohort_context *, const uint32_t *ids, uint64_t n, uint64_t groups,
                           uint64_t *counts);

    cohort_status (*members)(cohort_context *, const struct keys_members *);

    void (*drop)(cohort_context *, struct keys_table *);
};

/* Where the bytes of a row are. */
struct keys_text {
    const char *at;
    uint64_t length;
};

static inline struct keys_text keys_text_at(const struct keys_column *c, uint64_t row)
{
    if (c->kind == KEYS_WIDE)
        return (struct keys_text){(const char *)c->data + row * c->bytes, c->bytes};
    if (c->kind == KEYS_OFFSETS_32) {
        const uint32_t *at = (const uint32_t *)c->offsets + row;
        return (struct keys_text){(const char *)c->data + at[0], at[1] - at[0]};
    }
    if (c->kind == KEYS_OFFSETS_64) {
        const uint64_t *at = (const uint64_t *)c->offsets + row;
        return (struct keys_text){(const char *)c->data + at[0], at[1] - at[0]};
    }
    const struct table_view *v = (const struct table_view *)c->data + row;
    if (v->length <= TABLE_VIEW_INLINE)
        return (struct keys_text){(const char *)v->prefix, v->length};
    return (struct keys_text){(const char *)c->heaps[v->heap] + v->offset, v->length};
}

/* A table without keys. */
static inline void keys_table_open(struct keys_table *t)
{
    *t = (struct keys_table){.null = {0, KEYS_NO_ID, 0}};
}

#endif
