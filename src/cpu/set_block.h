/* cpu/set_block.h: what a CPU does to a block of a working set. */
#ifndef COHORT_CPU_SET_BLOCK_H
#define COHORT_CPU_SET_BLOCK_H

#include "shape/set_pool.h"
#include "sets_vector.h"

#define SET_BLOCK_ASKED 1024u /* bytes of a block that are asked for at most */

/* Block k as words. */
CO_INLINE co_u64 *set_block_words(const struct set_work *s, co_u64 k)
{
    return (co_u64 *)(void *)s->blocks + k * SETS_CHUNK_WORDS;
}

/* Asks for what is known of a block; and later, when that is here, for what is in it: all of an array, and
 * where a bitmap begins. */
CO_INLINE void set_block_ask_form(const struct set_work *s, co_u32 block)
{
    __builtin_prefetch(&s->forms[block]);
}

CO_INLINE void set_block_ask(const struct set_work *s, co_u32 block)
{
    const co_u32 entries = s->forms[block].entries, bytes = entries * (co_u32)sizeof(co_u16);
    const char *at = (const char *)set_block_words(s, block);
    if (entries && entries <= SET_NEAR_MOST)
        return;
    for (co_u32 k = 0; k <= bytes && k < SET_BLOCK_ASKED; k += 64)
        __builtin_prefetch(at + k);
}

/* Writes zeros where there may be members. */
void set_block_clear(co_u64 *words, const struct set_lines *);

/* A block that is an array becomes a bitmap. */
void set_block_spread(const struct sets_vectors *, const struct set_work *, co_u64 block);

/* Of blocks that are taken for the first time nothing is known yet: they may hold anything. */
void set_block_know(const struct set_work *);

/* WORK for piece i, which has a block: members it has then. */
co_u32 set_block_change(const struct sets_vectors *, const struct set_work *, co_u64 i);

/* A block of a working set. */
struct set_block_of {
    const struct set_work *set;
    co_u32 block;
};

/* What a block becomes. */
struct set_block_turn {
    const struct sets_vectors *vectors;
    struct set_block_of first, second;
    co_u32 op;     /* AND, OR, ANDNOT or XOR of both; 0: the first one alone, and */
    co_u32 others; /* 1: all that is not in it */
    co_u32 held;   /* a set_held: which of the two the block is; if it is neither it was taken just now */
    co_u32 block, card; /* its number, its members now */
};

/* Members it has then. */
co_u32 set_block_of_two(const struct set_work *, const struct set_block_turn *);

#endif
