/* shape/set.h: one working set in memory, and what a change of it goes down with. Plain C for the host,
 * seen by the API and the CPU backend. cohort/device/set.h says how the directory lies. */
#ifndef COHORT_SHAPE_SET_H
#define COHORT_SHAPE_SET_H

#include "sets_ask.h"

#define SET_BLOCKS_MOST 0xfffffffeull /* blocks, and nodes, have numbers of 32 bits */
#define SET_NODES_LEAST 16u

struct set_state {
    cohort_set_view view;
    struct co_set_node *nodes; /* of the context's memory; number 0 is the root */
    co_u64 node_room, nodes_used;
    co_u64 free_nodes; /* among those used, in a list by child[0] that begins at */
    co_u32 free_node;
    co_u32 reserved;
    co_u64 *blocks; /* SETS_CHUNK_WORDS words each; flat: block k is chunk k */
    co_u64 room;    /* blocks; flat: 0 */
    co_u64 fresh;   /* those from here on have never been handed out */
    co_u32 *spare;  /* others that are free, a stack */
    co_u64 spares;
    co_u64 members, chunks, full;
};

enum set_change_kind { SET_ADD = 1, SET_REMOVE = 2, SET_FLIP = 3, SET_ASSIGN = 4 };

/* The state becomes what it and set 0 of a collection in the host's memory come to. ASSIGN: that set. */
struct set_change {
    const char *call; /* for messages */
    struct set_state *state;
    enum set_change_kind kind;
    cohort_sets_view view;
};

/* Working sets as found chunks (sets_ask.h), a row each. */
struct set_gather {
    const struct set_state *const *state;
    co_u64 n;
    struct sets_found *found;
};

struct set_look {
    cohort_set_view view;
    co_u64 n;
    const void *values;
    co_u32 *hit;
};

#endif
