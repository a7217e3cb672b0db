/* cpu/set_block.h: what a CPU does to a block of a working set. */
#ifndef COHORT_CPU_SET_BLOCK_H
#define COHORT_CPU_SET_BLOCK_H

#include "shape/set_pool.h"
#include "sets_vector.h"

/* Block k as words. */
CO_INLINE co_u64 *set_block_words(const struct set_work *s, co_u64 k)
{
    return (co_u64 *)(void *)s->blocks + k * SETS_CHUNK_WORDS;
}

/* Writes zeros where there may be members. */
void set_block_clear(co_u64 *words, const struct set_lines *);

/* A block that is an array becomes a bitmap. */
void set_block_spread(const struct sets_vectors *, const struct set_work *, co_u64 block);

/* WORK for piece i, which has a block: members it has then. */
co_u32 set_block_change(const struct sets_vectors *, const struct set_work *, co_u64 i);

#endif
