/* shape/keys_step.h: how key columns lie, and what the kernels of keys are told. Plain C, seen by the API, by
 * both backends and by the kernels. */
#ifndef COHORT_SHAPE_KEYS_STEP_H
#define COHORT_SHAPE_KEYS_STEP_H

#include "table.h"

#define KEYS_NO_ID 0xffffffffu

enum keys_kind {
    KEYS_BITS,
    KEYS_UNSIGNED,
    KEYS_SIGNED,
    KEYS_FLOAT, /* NaNs are one, and so are zeros */
    KEYS_RAW,   /* at most 8 bytes that are no number */
    KEYS_DICTIONARY,
    KEYS_IDS,  /* 4 bytes; KEYS_NO_ID: a value that is not known */
    KEYS_WIDE, /* from here on keys are strings of bytes: `bytes` of them */
    KEYS_OFFSETS_32,
    KEYS_OFFSETS_64,
    KEYS_VIEWS
};

enum keys_state {
    KEYS_VALUE = 0,
    KEYS_NULL = 1,
    KEYS_NONE = 2 /* the row has no id: a null that equals nothing, or a value that is not known */
};

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* A column of words from row `begin` on. */
struct keys_look {
    co_u32 kind, bytes;
    const void *data;
    co_u64 data_bit;
    const co_u8 *validity; /* NULL: no row is null */
    co_u64 validity_bit;
    const co_u64 *words; /* DICTIONARY: of its values */
    const co_u8 *states;
    co_u64 begin;
    co_u32 null; /* what a null is: KEYS_NULL or KEYS_NONE */
    co_u32 reserved;
};

/* What a column does to the rows' words: it is the word; its code is added to it; only its nulls matter. */
enum keys_how { KEYS_ALONE, KEYS_CODE, KEYS_SKIP };

struct keys_words_step {
    struct keys_look column;
    co_u64 n;
    co_u32 how;   /* a KEYS_.. */
    co_u32 first; /* nothing is in `words` and `states` yet */
    co_u64 base, span;
    co_u32 shift;
    co_u32 reserved;
    co_u64 *words;
    co_u8 *states; /* NULL: all rows are values */
};

/* As numbers of 64 bits, of signed columns with the sign turned. Before: ~0, 0, 0. */
struct keys_found {
    co_u64 low, high, any;
};

struct keys_range_step {
    struct keys_look column;
    co_u64 n;
    co_u64 turn; /* the sign, if there is one */
    struct keys_found *found;
};

/* A slot of a table on a GPU. It is empty while the key is KEYS_EMPTY. Behind the table's slots are two more:
 * null's, and that of the key KEYS_EMPTY itself. */
#define KEYS_EMPTY 0xffffffffffffffffull
#define KEYS_ODD   2u   /* slots behind the others */
#define KEYS_BITE  256u /* rows that are counted together */

struct keys_cell {
    co_u64 key;
    co_u32 id;  /* KEYS_NO_ID: none yet */
    co_u32 row; /* the first of the round, while it has no id */
};

/* A round of rows: slots claimed, first rows found, numbered, ids given out. */
struct keys_round {
    struct keys_cell *cell;
    co_u64 capacity; /* of slots, less than 2^32 - 2 */
    co_u64 seed;
    co_u64 n;
    const co_u64 *words;
    const co_u8 *states; /* NULL: all are values */
    co_u32 *ids;         /* by row: its slot, in the end its id */
    co_u32 *bits;        /* first rows, a bit each, of whole bites */
    co_u64 *before;      /* first rows before each bite, and in all */
    co_u64 count;        /* ids before the round */
    co_u64 begin;        /* the number of row 0 */
    co_u64 *first;       /* by id from `count` on, or NULL */
};

/* What is told of rows by their ids: rows of 4 or 8 bytes, all ones for KEYS_NO_ID; or bits. */
struct keys_tell_step {
    const co_u32 *ids;
    co_u64 n;
    const co_u64 *rows; /* by id */
    co_u32 bytes;
    co_u32 reserved;
    void *at;
    co_u8 *bits;
};

/* Keys of a table that have ids go into another one. */
struct keys_rehash_step {
    const struct keys_cell *from;
    struct keys_cell *to;
    co_u64 from_capacity, to_capacity;
    co_u64 seed;
    co_u64 count; /* of ids */
};

/* words[id] = the key; null's: 0. */
struct keys_list_step {
    const struct keys_cell *cell;
    co_u64 capacity, count;
    co_u64 *words;
};

/* What words were packed of, in one column: the values, and a bit for each that is not null. */
struct keys_unpack_step {
    const co_u64 *words;
    co_u64 n;
    co_u64 base, mask;
    co_u32 shift;
    co_u32 reserved;
    co_u64 *value;
    co_u32 *valid;
};

/* Rows by ids: counts[id] is raised. A block may count in shared memory first: each of `groups` in so many
 * places, a power of two, lanes side by side in different ones. */
struct keys_count_step {
    const co_u32 *ids;
    co_u64 n, groups;
    co_u64 *counts;
    co_u32 places;
    co_u32 reserved;
};

/* Rows of a dictionary as values of `width` bytes; 0: bits. */
struct keys_decode_step {
    struct keys_look column;
    co_u64 n;
    co_u32 width, reserved;
    void *to;
    co_u32 *validity;
    co_u64 *nulls;
};

/* Ranks of rows: words whose order as unsigned numbers is that of the column's values. */
struct keys_rank_step {
    struct keys_look column;
    co_u32 kind, bytes;  /* of the values, if `column` is a dictionary; else its own */
    const co_u32 *order; /* rank i is that of row order[i]; NULL: of row i */
    co_u64 n;
    co_u64 *words;
    co_u32 *nulls; /* 1: there is no value; or NULL */
};

/* Of a value's word: one whose order as an unsigned number is that of the values. */
CO_INLINE co_u64 keys_rank_of(co_u32 kind, co_u32 bytes, co_u64 word)
{
    const co_u64 sign = 1ull << (8 * (bytes ? bytes : 8) - 1);
    co_u64 turned = 0;
    if (kind == KEYS_SIGNED)
        return word ^ 1ull << 63;
    if (kind == KEYS_FLOAT)
        return word & sign ? sign - (word & (sign - 1)) : word + sign;
    if (kind != KEYS_RAW)
        return word;
    for (co_u32 k = 0; k < bytes; k++) /* the first byte weighs most */
        turned = turned << 8 | (word >> 8 * k & 0xff);
    return turned;
}

#endif
