/* set_tree.c: the directory of a working set: a tree over the keys of chunks, 64 children a node, all
 * nodes in one array that grows. A node whose last child goes is given back; the root stays. */
#include "api/set.h"

#include <stdlib.h>
#include <string.h>

static co_u32 digit_of(co_u64 key, co_u32 level)
{
    return (co_u32)(key >> CO_SET_DIGIT_BITS * (level - 1)) & 63;
}

/* The key without what is below a node of that level. */
static co_u64 prefix_of(co_u64 key, co_u32 level)
{
    return CO_SET_DIGIT_BITS * level < 64 ? key >> CO_SET_DIGIT_BITS * level : 0;
}

co_u32 set_leaf(const struct set_state *s, co_u64 key)
{
    co_u32 node = 0;
    for (co_u32 level = s->view.levels; level > 1; level--) {
        co_u32 digit = digit_of(key, level);
        if (!(s->nodes[node].some >> digit & 1))
            return SET_NONE;
        node = s->nodes[node].child[digit];
    }
    return node;
}

static co_u32 take_node(struct set_state *s)
{
    co_u32 node = s->free_node;
    if (s->free_nodes) {
        s->free_node = s->nodes[node].child[0];
        s->free_nodes--;
    } else {
        node = (co_u32)s->nodes_used++;
    }
    memset(&s->nodes[node], 0, sizeof s->nodes[node]);
    return node;
}

co_u32 set_leaf_make(struct set_state *s, co_u64 key)
{
    co_u32 node = 0;
    for (co_u32 level = s->view.levels; level > 1; level--) {
        co_u32 digit = digit_of(key, level);
        if (!(s->nodes[node].some >> digit & 1)) {
            s->nodes[node].child[digit] = take_node(s);
            s->nodes[node].some |= 1ull << digit;
        }
        node = s->nodes[node].child[digit];
    }
    return node;
}

co_u32 set_nodes_missing(const struct set_state *s, co_u64 key, int has_before, co_u64 before, int empty)
{
    co_u32 node = 0, level = s->view.levels;
    while (!empty && level > 1 && s->nodes[node].some >> digit_of(key, level) & 1)
        node = s->nodes[node].child[digit_of(key, level--)];
    while (has_before && level > 1 && prefix_of(key, level - 1) == prefix_of(before, level - 1))
        level--;
    return level - 1;
}

cohort_status set_reserve(cohort_context *context, struct set_state *s, co_u64 nodes, int empty)
{
    co_u64 due = empty ? 1 + nodes : s->nodes_used + (nodes > s->free_nodes ? nodes - s->free_nodes : 0);
    co_u64 room = 2 * s->node_room > due ? 2 * s->node_room : due;
    void *memory;
    if (due <= s->node_room)
        return COHORT_OK;
    if (due > SET_BLOCKS_MOST)
        return context_fail(context, COHORT_NO_MEMORY, "a working set's directory cannot have %llu nodes",
                            (unsigned long long)due);
    room = room < SET_BLOCKS_MOST ? room : SET_BLOCKS_MOST;
    memory = realloc(s->nodes, room * sizeof *s->nodes);
    if (!memory)
        return context_fail(context, COHORT_NO_MEMORY,
                            "no memory for %llu nodes of a working set's directory",
                            (unsigned long long)room);
    s->view.nodes = s->nodes = memory;
    s->node_room = room;
    return COHORT_OK;
}

void set_prune(struct set_state *s, co_u64 key)
{
    co_u32 path[12], node = 0, level;
    for (level = s->view.levels; level > 1; level--) {
        path[level] = node;
        if (!(s->nodes[node].some >> digit_of(key, level) & 1))
            return;
        node = s->nodes[node].child[digit_of(key, level)];
    }
    while (level < s->view.levels && !s->nodes[node].some) {
        s->nodes[node].child[0] = s->free_node;
        s->free_node = node;
        s->free_nodes++;
        node = path[++level];
        s->nodes[node].some &= ~(1ull << digit_of(key, level));
    }
}

static co_u32 next_below(const struct set_state *s, co_u32 node, co_u32 level, co_u64 from, co_u64 *first)
{
    co_u32 from_digit = digit_of(from, level), shift = CO_SET_DIGIT_BITS * (level - 1);
    co_u64 mask = (1ull << shift) - 1;
    for (co_u64 some = s->nodes[node].some & ~0ull << from_digit; some; some &= some - 1) {
        co_u32 digit = (co_u32)__builtin_ctzll(some);
        if (level == 1) {
            *first = digit;
            return node;
        }
        co_u32 leaf = next_below(s, s->nodes[node].child[digit], level - 1,
                                 digit == from_digit ? from & mask : 0, first);
        if (leaf != SET_NONE) {
            *first |= (co_u64)digit << shift;
            return leaf;
        }
    }
    return SET_NONE;
}

co_u32 set_next_leaf(const struct set_state *s, co_u64 key, co_u64 *first)
{
    if (prefix_of(key, s->view.levels)) /* beyond what the directory can hold */
        return SET_NONE;
    return next_below(s, 0, s->view.levels, key, first);
}

/* A leaf's blocks from the first with members to the last. */
static cohort_status clear_leaf(cohort_set *set, co_u64 key, co_u64 some)
{
    co_u64 first = key | co_low64(some), last = key | (63u - (co_u32)__builtin_clzll(some));
    return context_fill(set->context, set->state.blocks + first * CO_CHUNK_WORDS, 0,
                        (last - first + 1) * CO_CHUNK_BYTES);
}

cohort_status set_empty(cohort_set *set)
{
    struct set_state *s = &set->state;
    cohort_status status = COHORT_OK;
    co_u64 key = 0;
    for (co_u32 leaf; s->view.flat && !status && (leaf = set_next_leaf(s, key, &key)) != SET_NONE;
         key = (key | 63) + 1)
        status = clear_leaf(set, key & ~63ull, s->nodes[leaf].some);
    if (status)
        return status;
    memset(&s->nodes[0], 0, sizeof s->nodes[0]);
    s->nodes_used = 1;
    s->free_nodes = s->fresh = s->spares = 0;
    s->members = s->chunks = s->full = 0;
    set->copy_is_old = 1;
    return COHORT_OK;
}
