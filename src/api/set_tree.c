/* set_tree.c: the chunks of a working set, listed by the host from its directory (cohort/device/set.h). Where
 * the directory is a device's it is copied first. */
#include "api/set.h"

#include <stdlib.h>
#include <string.h>

struct listing {
    const struct co_set_node *nodes;
    struct set_chunk *next, *end;
};

/* The chunks below a node, `key` is what lies above its digits. */
static void list_below(struct listing *l, co_u32 number, co_u32 level, co_u64 key)
{
    const struct co_set_node *node = &l->nodes[number];
    for (co_u64 some = node->some; some && l->next < l->end; some &= some - 1) {
        co_u32 i = co_low64(some);
        co_u64 below = key << CO_SET_DIGIT_BITS | i;
        if (level > 1) {
            list_below(l, node->child[i], level - 1, below);
            continue;
        }
        *l->next++ =
            (struct set_chunk){below, node->full >> i & 1 ? CO_CHUNK_IDS : node->card[i], node->child[i]};
    }
}

cohort_status set_list(const cohort_set *set, uint64_t n, struct set_chunk *chunks)
{
    const struct set_work *own = &set->state.own;
    struct listing l = {own->nodes, chunks, chunks + n};
    struct co_set_node *copy = NULL;
    cohort_status status = COHORT_OK;
    if (!n)
        return COHORT_OK;
    if (set->context->backend->own_memory != MEMORY_HOST) {
        uint64_t bytes = own->node_room * sizeof *copy;
        l.nodes = copy = malloc(bytes);
        status = copy
                     ? context_copy(set->context, copy, own->nodes, bytes)
                     : context_fail(set->context, COHORT_NO_MEMORY, "no memory for %llu nodes of a directory",
                                    (unsigned long long)own->node_room);
    }
    if (!status)
        list_below(&l, 0, own->levels, 0);
    free(copy);
    return status;
}
