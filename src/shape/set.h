/* shape/set.h: working sets: what is done to their blocks, all at once. Plain C, seen by the API, by both
 * backends and by the kernels. cohort/device/set.h says how the directory lies; the API keeps it in the
 * host's memory (api/set.h), and knows from it which blocks there are. */
#ifndef COHORT_SHAPE_SET_H
#define COHORT_SHAPE_SET_H

#include "sets_ask.h"

#define SET_NONE 0xffffffffu /* no block, no node */

/* SETS_OR, SETS_ANDNOT and SETS_XOR do the first three to a chunk. ASSIGN: the set becomes what it is
 * given. */
enum set_change_kind { SET_ADD = 1, SET_REMOVE = 2, SET_FLIP = 3, SET_ASSIGN = 4 };

/* What a block holds before it is changed: its members, or whatever was left there. */
enum set_fill { SET_AS_IS = 0, SET_ZEROS = 1, SET_ONES = 2 };

/* One chunk of a change. No two have the same block. */
struct set_piece {
    const void *at; /* the chunk that the set is changed by (shape/sets_chunk.h), with */
    co_u32 kind, entries;
    co_u32 block;         /* SET_NONE: nothing is to be done */
    co_u32 fill;          /* a set_fill */
    co_u32 before, after; /* members; the last is told */
};

struct set_work {
    co_u64 items;
    struct set_piece *piece;
    co_u32 *blocks; /* CO_CHUNK_WORDS each */
    co_u32 kind;    /* ADD, REMOVE or FLIP */
    co_u32 reserved;
};

/* Chunks of working sets on their way into a collection: first each is measured, its place without a unit;
 * then, when places have units, its members are written. */
struct set_chunks {
    co_u64 items;
    const co_u64 *words; /* the address of each one's block; 0: it is full */
    co_u64 *cards, *places, *digests;
    void *pool;
};

struct set_look {
    cohort_set_view view;
    co_u64 n;
    const void *values;
    co_u32 *hit;
};

#endif
