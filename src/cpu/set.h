/* cpu/set.h: what the files of the CPU backend share that work on working sets. */
#ifndef COHORT_CPU_SET_H
#define COHORT_CPU_SET_H

#include "backend/set.h"
#include "cpu.h"
#include "shape/sets_chunk.h"

/* ---- set_tree.c: the directory
 * ------------------------------------------------------------------------------------------------ */

#define SET_NONE 0xffffffffu

/* The leaf of a chunk's key, or SET_NONE. */
co_u32 set_leaf(const struct set_state *, co_u64 key);

/* The same, which is made if there is none. There is room (set_reserve). */
co_u32 set_leaf_make(struct set_state *, co_u64 key);

/* Nodes that leaves of two keys in a row need which are not there: those of `key`, without what those of
 * the key before it (has_before) need too. empty: as if there were none but the root. */
co_u32 set_nodes_missing(const struct set_state *, co_u64 key, int has_before, co_u64 before, int empty);

/* Room for so many nodes more; empty: beside the root alone. COHORT_NO_MEMORY changes nothing. */
cohort_status set_reserve(cohort_context *, struct set_state *, co_u64 nodes, int empty);

/* Gives the leaf back, and what is above it and has nothing else, if it has no chunk left. */
void set_prune(struct set_state *, co_u64 key);

/* The first leaf with a chunk of that key or above: its number and the key of its first chunk, or
 * SET_NONE. */
co_u32 set_next_leaf(const struct set_state *, co_u64 key, co_u64 *first);

/* Takes all members out. Of a flat set the bitmap is cleared where there were some. */
void set_empty(struct set_state *);

/* ---- entries of the table
 * ------------------------------------------------------------------------------------------------- */

cohort_status cpu_set_change(cohort_context *context, const struct set_change *change);
cohort_status cpu_set_gather(cohort_context *context, const struct set_gather *gather);

#endif
