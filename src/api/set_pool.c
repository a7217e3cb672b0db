/* set_pool.c: the memory of a working set: blocks, the directory, the two rings of what is free, and the
 * words that count (shape/set_pool.h). */
#include "api/set.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_ROOM       256u                  /* bytes of the words */
#define NODES_FIRST      1024u                 /* that a set is made with, and */
#define NODES_BLOCKS     16u                   /* one for so many blocks; or all there can be */
#define NODE_SLOTS(n, r) ((void *)((n) + (r))) /* behind room for r nodes */

_Static_assert(sizeof(struct set_words) <= WORDS_ROOM, "the words fit");

/* ---- steps --------------------------------------------------------------------------------------------- */

cohort_status set_read(const cohort_set *set, struct set_words *words)
{
    return context_copy(set->context, words, set->state.own.words, sizeof *words);
}

cohort_status set_do(const cohort_set *set, struct set_work *work, enum set_phase phase, co_u32 level)
{
    struct set_work step = *work;
    step.phase = phase;
    step.level = level;
    if (phase == SET_JUDGE || phase == SET_CLEAR) {
        step.items = 1;
        step.count = NULL;
    }
    return set->context->backend->set->step(set->context, &step);
}

/* All numbers are free, and there are no members. slots: of blocks, the first ones, that may not be zeros. */
static cohort_status set_up(cohort_set *set, uint64_t slots)
{
    struct set_work *own = &set->state.own;
    cohort_status status = COHORT_OK;
    if (slots)
        status = context_fill(set->context, own->block_slots, 0, slots * sizeof(co_u32));
    if (!status)
        status = context_fill(set->context, own->node_slots, 0, own->node_room * sizeof(co_u32));
    return status ? status : set_do(set, own, SET_CLEAR, 0);
}

/* Slots of blocks that have been written since they were zeros: one for each block that was given back. Where
 * that is not at hand, all. */
static uint64_t written_slots(const cohort_set *set)
{
    const struct set_work *own = &set->state.own;
    if (set->context->backend->own_memory != MEMORY_HOST)
        return own->block_room;
    const uint64_t written = own->words->blocks.given - own->block_room;
    return written < own->block_room ? written : own->block_room;
}

cohort_status set_empty(cohort_set *set)
{
    struct set_work wipe = set->state.own;
    wipe.items = set_chunks_below(set->state.view.limit);
    cohort_status status = wipe.flat ? set_do(set, &wipe, SET_WIPE, 0) : COHORT_OK;
    return status ? status : set_up(set, written_slots(set));
}

cohort_status set_spread(cohort_set *set)
{
    struct set_work *own = &set->state.own;
    struct set_work spread = *own;
    if (!own->forms || own->flat || own->plain)
        return COHORT_OK;
    spread.items = own->words->known;
    own->plain = 1;
    return set_do(set, &spread, SET_SPREAD, 0);
}

/* ---- taking -------------------------------------------------------------------------------------------- */

/* Nodes that a directory of so many chunks has at most. */
static uint64_t nodes_most(uint64_t chunks, uint32_t levels)
{
    uint64_t nodes = 0;
    for (uint32_t level = 1; level <= levels; level++) {
        chunks = chunks / 64 + (chunks % 64 != 0);
        nodes += chunks;
    }
    return nodes;
}

/* With a limit of up to 2^32 all that there can be: a view of such a set stays. */
static uint64_t nodes_first(const struct set_state *s, uint64_t blocks)
{
    const uint64_t chunks = set_chunks_below(s->view.limit), most = nodes_most(chunks, s->view.levels);
    uint64_t first = NODES_FIRST + blocks / NODES_BLOCKS;
    return most < first || chunks <= 1u << 16 ? most : first;
}

static void put_nodes(struct set_state *s, void *memory, uint64_t room)
{
    struct co_set_node *nodes = memory;
    s->own.nodes = nodes;
    s->own.node_slots = NODE_SLOTS(nodes, room);
    s->own.node_room = room;
    s->view.nodes = nodes;
}

/* Of what a CPU knows of each block. */
static uint64_t form_bytes(const cohort_set *set, uint64_t blocks)
{
    const struct set_state *s = &set->state;
    if (set->context->backend->own_memory != MEMORY_HOST)
        return 0;
    return (s->view.flat ? set_chunks_below(s->view.limit) : blocks) * sizeof *s->own.forms;
}

/* The words, the forms, and the slots. */
static void put_pool(cohort_set *set, void *memory, uint64_t blocks)
{
    struct set_work *own = &set->state.own;
    char *behind = (char *)memory + WORDS_ROOM;
    uint64_t bytes = form_bytes(set, blocks);
    own->words = memory;
    own->forms = bytes ? (void *)behind : NULL;
    own->block_slots = (void *)(behind + bytes);
}

cohort_status set_take_memory(cohort_set *set, uint64_t blocks)
{
    struct set_state *s = &set->state;
    void *memory = NULL;
    uint64_t nodes = nodes_first(s, blocks);
    set->block_bytes = (s->view.flat ? set_chunks_below(s->view.limit) : blocks) * CO_CHUNK_BYTES;
    set->pool_bytes = WORDS_ROOM + form_bytes(set, blocks) + blocks * sizeof(co_u32);
    s->own.levels = s->view.levels;
    s->own.flat = s->view.flat;
    s->own.block_room = blocks;
    cohort_status status = system_take(set->context, set->block_bytes, &memory);
    s->own.blocks = memory;
    s->view.blocks = memory;
    if (!status)
        status = system_take(set->context, set->pool_bytes, &memory);
    if (status)
        return status;
    put_pool(set, memory, blocks);
    status = system_take(set->context, set_node_bytes(nodes), &memory);
    if (status)
        return status;
    put_nodes(s, memory, nodes);
    status = context_fill(set->context, s->own.words, 0, WORDS_ROOM);
    if (!status && s->view.flat)
        status = context_fill(set->context, s->own.blocks, 0, set->block_bytes);
    if (!status && s->view.flat && s->own.forms)
        status = context_fill(set->context, s->own.forms, 0, form_bytes(set, blocks));
    return status ? status : set_up(set, blocks);
}

void set_give_memory(cohort_set *set)
{
    struct set_work *own = &set->state.own;
    if (own->blocks)
        context_release(set->context, own->blocks, set->block_bytes);
    if (own->words)
        context_release(set->context, own->words, set->pool_bytes);
    if (own->nodes)
        context_release(set->context, own->nodes, set_node_bytes(own->node_room));
}

/* ---- growing ------------------------------------------------------------------------------------------- */

/* The nodes that are free, and those that are new, as the slots of a larger ring. */
static void move_slots(const co_u32 *old, uint64_t old_room, co_u32 *slots, uint64_t room,
                       struct set_ring *ring)
{
    uint64_t n = 0;
    for (uint64_t k = ring->taken; k < ring->given; k++, n++) {
        uint64_t at = k % old_room;
        slots[n] = (old[at] ^ (co_u32)at) ^ (co_u32)n;
    }
    for (uint64_t node = old_room; node < room; node++, n++)
        slots[n] = (co_u32)node ^ (co_u32)n;
    ring->taken = 0;
    ring->given = n;
}

static cohort_status copy_nodes(const cohort_set *set, void *to, uint64_t room, struct set_ring *ring)
{
    const struct set_work *own = &set->state.own;
    struct co_set_node *nodes = to;
    co_u32 *old = malloc((own->node_room + room) * sizeof *old), *slots = old + own->node_room;
    if (!old)
        return context_fail(set->context, COHORT_NO_MEMORY, "no memory for a list of %llu nodes",
                            (unsigned long long)room);
    memset(slots, 0, room * sizeof *slots);
    cohort_status status = context_copy(set->context, old, own->node_slots, own->node_room * sizeof *old);
    if (!status)
        move_slots(old, own->node_room, slots, room, ring);
    if (!status)
        status = context_copy(set->context, nodes, own->nodes, own->node_room * sizeof *nodes);
    if (!status)
        status = context_copy(set->context, NODE_SLOTS(nodes, room), slots, room * sizeof *slots);
    free(old);
    return status;
}

cohort_status set_grow(cohort_set *set, uint64_t nodes)
{
    struct set_work *own = &set->state.own;
    uint64_t room = 2 * own->node_room > nodes ? 2 * own->node_room : nodes;
    struct set_words words;
    void *memory = NULL;
    if (nodes <= own->node_room)
        return COHORT_OK;
    if (nodes > SET_BLOCKS_MOST)
        return context_fail(set->context, COHORT_NO_MEMORY,
                            "a working set's directory cannot have %llu nodes", (unsigned long long)nodes);
    room = room < SET_BLOCKS_MOST ? room : SET_BLOCKS_MOST;
    cohort_status status = set_read(set, &words);
    if (!status)
        status = system_take(set->context, set_node_bytes(room), &memory);
    if (status)
        return status;
    status = copy_nodes(set, memory, room, &words.nodes);
    if (!status)
        status = context_copy(set->context, &own->words->nodes, &words.nodes, sizeof words.nodes);
    if (status) {
        context_release(set->context, memory, set_node_bytes(room));
        return status;
    }
    context_release(set->context, own->nodes, set_node_bytes(own->node_room));
    put_nodes(&set->state, memory, room);
    return COHORT_OK;
}
