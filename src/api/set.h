/* api/set.h: what a working set is inside, and what the files of the API do with it.
 *
 * All of it lies in the context's memory: the directory, which says what chunks there are, which are full,
 * how many members each has, and which block; two rings of the blocks and the nodes that are free; the
 * blocks; and what the set knows of itself (struct set_words). The host keeps pointers and sizes. What it
 * wants to know of a set it copies, which waits. */
#ifndef COHORT_API_SET_H
#define COHORT_API_SET_H

#include "api/sets.h"
#include "backend/set.h"

#define SET_BLOCKS_MOST 0xfffffffeull /* blocks, and nodes, have numbers of 32 bits */

struct set_state {
    cohort_set_view view;
    struct set_work own; /* for steps: the set's memory, and no pieces */
};

struct cohort_set {
    cohort_context *context;
    cohort_set_layout layout;
    struct set_state state;
    uint64_t block_bytes, pool_bytes; /* of blocks; of the words, with the slots of blocks behind them */
};

/* ---- set_pool.c: the memory of a set ------------------------------------------------------------------- */

/* Chunks below a limit; 0 is 2^64. */
static inline uint64_t set_chunks_below(uint64_t limit)
{
    return limit ? (limit - 1) / CO_CHUNK_IDS + 1 : 1ull << (64 - CO_CHUNK_BITS);
}

/* Takes the memory of an empty set of so many blocks, whose view is there. If that fails set_give_memory is
 * due all the same. */
cohort_status set_take_memory(cohort_set *, uint64_t blocks);
void set_give_memory(cohort_set *);

static inline uint64_t set_node_bytes(uint64_t nodes)
{
    return nodes * (sizeof(struct co_set_node) + sizeof(co_u32));
}

/* What the set knows of itself. Waits. */
cohort_status set_read(const cohort_set *, struct set_words *);

/* One step. */
cohort_status set_do(const cohort_set *, struct set_work *, enum set_phase, co_u32 level);

/* Room for so many nodes in all, if there is less. COHORT_NO_MEMORY changes nothing. Waits. */
cohort_status set_grow(cohort_set *, uint64_t nodes);

/* From now on all blocks are bitmaps, as a view of the directory has them. */
cohort_status set_spread(cohort_set *);

/* Takes all members out. */
cohort_status set_empty(cohort_set *);

/* ---- set_tree.c: the directory, for the host ----------------------------------------------------------- */

struct set_chunk {
    co_u64 key;
    co_u32 card;  /* CO_CHUNK_IDS: full */
    co_u32 block; /* unless it is full; of a flat set always */
};

/* The set's chunks, ascending, of which there are n (set_read). Waits. */
cohort_status set_list(const cohort_set *, uint64_t n, struct set_chunk *chunks);

/* ---- between sets and collections ---------------------------------------------------------------------- */

/* set_collection.c: working sets of one context and type as a collection, a set each. wide: of 64 bits, which
 * no sets would not tell. Waits. */
cohort_status set_collection(cohort_context *context, cohort_set *const *sets, uint64_t n, uint32_t wide,
                             cohort_sets **out);

/* cohort_sets_build of COHORT_FORM_WORKING: what the form has no use for is checked already. */
cohort_status set_build(cohort_context *context, const cohort_sets_source *source, cohort_sets **out);

/* set_change.c: the set, changed by a set of a collection of its context and type. answers: REMOVE may have
 * members that are not below the limit. COHORT_RANGE, COHORT_FULL, COHORT_NO_MEMORY: nothing is changed then.
 * Waits. */
cohort_status set_change(cohort_set *set, const char *call, enum set_change_kind kind, int answers,
                         const cohort_sets *by, uint64_t number);

/* The same by another working set, whose blocks are read where they are. */
cohort_status set_change_by(cohort_set *set, const char *call, enum set_change_kind kind, int answers,
                            cohort_set *by);

/* The steps behind JUDGE. nodes: 0: none are needed. */
cohort_status set_go(const cohort_set *set, struct set_work *work, uint64_t nodes);

/* set_members.c: is the source one that a change without a wait can be made by? Then the change, whose
 * verdict cohort_wait tells. COHORT_NO_MEMORY. */
int set_members_fit(const cohort_set *set, const cohort_sets_source *source);
cohort_status set_members(cohort_set *set, enum set_change_kind kind, const cohort_sets_source *source);

/* set_few.c: is the source one of few integers in the host's memory, which is the context's? Then the
 * change. */
int set_few_fit(const cohort_set *set, const cohort_sets_source *source);
cohort_status set_few(cohort_set *set, const char *call, enum set_change_kind kind,
                      const cohort_sets_source *source);

/* set_in_place.c: is the query one of two working sets, in which nothing is wrong, and which the backend
 * answers at once? Then that is done. */
int set_at_once(cohort_context *context, const cohort_sets_query_desc *desc);

/* A query, all checked, of two operands, whose answer goes into one of them, or into a third set. sets: of
 * collections. *done: 0, it is none, or needs blocks that it would give back, or it is of a GPU's collection,
 * or ANDNOT into the second; nothing has been done. Waits. */
cohort_status set_in_place(cohort_context *context, const char *call, const cohort_sets_query_desc *desc,
                           uint64_t sets, int *done);

#endif
