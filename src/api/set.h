/* api/set.h: what a working set is inside, and what the files of the API do with it.
 *
 * The directory is in the host's memory: which chunks there are, which are full, how many members each has,
 * and which block. Blocks are in the context's memory, and only its backend touches them
 * (backend/set.h). So what an update needs is known before anything is changed, on every backend alike. */
#ifndef COHORT_API_SET_H
#define COHORT_API_SET_H

#include "api/sets.h"
#include "backend/set.h"

#define SET_BLOCKS_MOST 0xfffffffeull /* blocks, and nodes, have numbers of 32 bits */
#define SET_NODES_LEAST 16u

struct set_state {
    cohort_set_view view;      /* nodes are the host's */
    struct co_set_node *nodes; /* number 0 is the root */
    co_u64 node_room, nodes_used;
    co_u64 free_nodes; /* among those used, in a list by child[0] that begins at */
    co_u32 free_node;
    co_u32 reserved;
    co_u32 *blocks; /* CO_CHUNK_WORDS each, of the context's memory; flat: block k is chunk k */
    co_u64 room;    /* blocks; flat: 0 */
    co_u64 fresh;   /* those from here on have never been handed out */
    co_u32 *spare;  /* others that are free, a stack */
    co_u64 spares;
    co_u64 members, chunks, full;
};

struct cohort_set {
    cohort_context *context;
    cohort_set_layout layout;
    struct set_state state;
    uint64_t block_bytes;
    /* A device's copy of the nodes, for kernels; made when it is asked for, and out of date after a
     * change. */
    struct co_set_node *copy;
    uint64_t copy_room;
    int copy_is_old;
};

/* ---- set_tree.c: the directory ------------------------------------------------------------------------- */

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
cohort_status set_empty(cohort_set *);

/* ---- between sets and collections ---------------------------------------------------------------------- */

/* set_collection.c: working sets of one context and type as a collection, a set each. Waits. */
cohort_status set_collection(cohort_context *context, cohort_set *const *sets, uint64_t n, cohort_sets **out);

/* cohort_sets_build of COHORT_FORM_WORKING: what the form has no use for is checked already. */
cohort_status set_build(cohort_context *context, const cohort_sets_source *source, cohort_sets **out);

/* set_change.c: the set, changed by set 0 of a collection of its context and type. COHORT_RANGE,
 * COHORT_FULL, COHORT_NO_MEMORY: nothing is changed then. Waits. */
cohort_status set_change(cohort_set *set, const char *call, enum set_change_kind kind, const cohort_sets *by);

#endif
