/* shape/set.h: working sets: what a change of one is, and what else is done to their blocks. Plain C, seen by
 * the API, by both backends and by the kernels. cohort/device/set.h says how the directory lies,
 * shape/set_pool.h how a change goes through it. */
#ifndef COHORT_SHAPE_SET_H
#define COHORT_SHAPE_SET_H

#include "sets_ask.h"

#define SET_NONE 0xffffffffu /* no block, no node */

/* SETS_OR, SETS_ANDNOT, SETS_XOR and SETS_AND do the first four to a chunk. KEEP: what the change has not
 * goes out; it has a piece for each chunk of the set. ASSIGN: the set becomes what it is given. */
enum set_change_kind { SET_ADD = 1, SET_REMOVE = 2, SET_FLIP = 3, SET_KEEP = 4, SET_ASSIGN = 5 };

/* What a block holds before it is changed: its members, or whatever was left there. */
enum set_fill { SET_AS_IS = 0, SET_ZEROS = 1, SET_ONES = 2 };

#define SET_CHUNK_LIST    4u /* kinds of chunks: members of 32 bits, or one more: of 64; */
#define SET_CHUNK_NOTHING 7u /* no members. Of KEEP */

/* One chunk of a change. Keys ascend, and no two are the same. */
struct set_piece {
    const void *at; /* the chunk that the set is changed by (shape/sets_chunk.h), with */
    co_u64 key;
    co_u32 kind, entries;
    /* What the steps put down: */
    co_u32 leaf, block; /* SET_NONE: nothing is to be done */
    co_u32 fill;        /* a set_fill */
    co_u32 nodes;       /* that are to be made for it */
    co_u32 before, after;
};

/* Lines of a block, 512 bits each: where a bit is 0 the line is zeros. */
struct set_lines {
    co_u64 of[2];
};

#define SET_FEW_MOST  1024u /* entries of a block that is an array */
#define SET_NEAR_MOST 54u   /* of one that lies not in the block, but with what is known of it */

/* What a CPU knows of each block; a GPU's are all bitmaps. Arrays of few entries lie here, close together:
 * blocks are 8 KiB apart, so each of them is in another page. Two lines of the cache. */
struct set_form {
    struct set_lines lines;
    co_u32 entries; /* of the array of 16-bit numbers that it is (set_block_array); 0: a bitmap */
    co_u16 near[SET_NEAR_MOST];
};

/* The array of block k, which is one. */
CO_INLINE const co_u16 *set_block_array(const struct set_form *forms, const co_u32 *blocks, co_u64 k)
{
    return forms[k].entries <= SET_NEAR_MOST ? forms[k].near
                                             : (const co_u16 *)(const void *)(blocks + k * CO_CHUNK_WORDS);
}

/* What the block of a piece is changed by next: an operation on two sets whose answer goes into a third.
 * Lines, a CPU's: of the piece's own chunk, and of this one, where they are known. Sure, a CPU's: bit 0, the
 * piece's own chunk is a working set's, whose arrays ascend; bit 1, this one is. */
struct set_second {
    const void *at;
    const struct set_lines *first, *lines;
    co_u32 kind, entries;
    co_u32 change, sure; /* a set_change_kind; 0: nothing more is to be done */
};

/* ---- the directory and the pool, in the context's memory ----------------------------------------------- */

/* A queue of the numbers that are free, in a ring of as many slots as there are numbers. Taken and given:
 * ever since it was set up. Number k of those to be taken lies in slot k % room. A slot holds its number xor
 * its own place, so that slots of zeros hold all numbers in order. */
struct set_ring {
    co_u64 taken, given;
};

enum set_verdict { SET_ENOUGH = 0, SET_NO_BLOCKS = 1, SET_NO_NODES = 2, SET_BEYOND = 3 };

/* What a set knows of itself. */
struct set_words {
    co_u64 has[3]; /* members, chunks, full chunks */
    struct set_ring blocks, nodes;
    co_u64 need[3];  /* of the change that is being looked at: blocks, nodes; then 0 */
    co_u64 asked[2]; /* the same, when it has been judged */
    co_u64 verdict;  /* a set_verdict of the last change */
    co_u64 known;    /* a CPU's: of blocks from this one on nothing is known, as they were never taken */
};

/* The steps of a change. Each is done for all pieces before the next one begins, so none takes from a ring
 * that gives to it, and none needs to wait for another lane. */
enum set_phase {
    SET_LIST,   /* a piece of sorted members: which they are */
    SET_SEE,    /* a piece: what it finds, and what it needs */
    SET_JUDGE,  /* once: is there enough? If not, no later step does anything */
    SET_MAKE,   /* a piece: its node of `level`, if that is missing; from the highest level down */
    SET_HAND,   /* a piece: its block, one that it has or a new one */
    SET_WORK,   /* a piece: the block is changed, and its members counted */
    SET_SETTLE, /* a piece: planes, cardinality and counts; a block that is not needed any more goes back */
    SET_PRUNE,  /* a piece: its node of `level` goes back if it is empty; from the leaves up */
    SET_WIPE,   /* a block of a flat set: is cleared, if there are members */
    SET_SPREAD, /* a CPU's block: becomes a bitmap */
    SET_CLEAR,  /* once: no members, all numbers free but the root's; slots are cleared before */
    SET_PHASES
};

struct set_work {
    co_u64 items;
    const co_u64 *count; /* of pieces, if that is less than items; NULL: it is not. Of LIST always */
    struct set_piece *piece;
    struct set_words *words;
    struct co_set_node *nodes;
    co_u32 *blocks; /* CO_CHUNK_WORDS each */
    co_u32 *node_slots, *block_slots;
    co_u64 node_room, block_room; /* flat: no slots of blocks, block k is chunk k */
    co_u32 kind;                  /* ADD, REMOVE, FLIP or KEEP */
    co_u32 levels, flat;
    co_u32 empty; /* SEE and JUDGE: as if the set had no members */
    co_u32 phase, level;
    /* LIST: members in order and without duplicates, how many, and where chunks begin. JUDGE: those that are
     * not below the limit are no members; and whoever waits later is told what was lacking. */
    const void *members; /* NULL: pieces are the host's, which waits for the verdict */
    const co_u64 *members_count, *starts;
    co_u64 limit; /* 0: 2^64 */
    co_u64 *told; /* the least set_verdict that is not ENOUGH */
    co_u32 wide;
    co_u32 plain; /* a CPU's: there is a view, so all blocks are bitmaps */
    /* A CPU's; NULL of a GPU. Of each block; and of those of the working set that pieces are of, whose
     * bitmaps have the block's number as entries. NULL: of a collection. */
    struct set_form *forms;
    const struct set_form *by_forms;
    const struct set_second *second; /* of each piece; NULL: there are none */
};

/* A CPU's operation on two working sets of one limit, whose answer goes into a third one, which loses what it
 * has, or into one of the two. Sets in chunks; first and second may be flat where they are not the answer. */
enum set_held { SET_HELD_NONE = 0, SET_HELD_FIRST = 1, SET_HELD_SECOND = 2 };

struct set_two {
    const struct set_work *into, *first, *second;
    co_u32 op;   /* AND, OR, ANDNOT or XOR of enum sets_op_kind */
    co_u32 held; /* a set_held: which of the two `into` is. The second: of ANDNOT alone */
};

/* Chunks of working sets on their way into a collection: first each is measured, its place without a unit;
 * then, when places have units, its members are written. */
struct set_chunks {
    co_u64 items;
    const co_u64 *words;   /* the address of each one's bitmap or array; 0: it is full */
    const co_u64 *entries; /* a CPU's: of each block that is an array; else 0 */
    co_u64 *cards, *places, *digests;
    void *pool;
};

struct set_look {
    cohort_set_view view;
    const struct set_form *forms; /* a CPU's */
    co_u64 n;
    const void *values;
    co_u32 *hit;
};

#endif
