/* listed.h: the two launches of a round of a graph whose nodes have many edges: the frontier's nodes are
 * listed with their edges end to end, then each warp follows as many edges as any other. A part of relax.h,
 * for GPUs. */
#ifndef SSSP_LISTED_H
#define SSSP_LISTED_H

/* A node of the frontier, and its distance; where its edges begin; how many are those of the nodes before it
 * in the list. */
struct sssp_listed {
    co_u32 distance, node, first, before;
};

CO_INLINE struct sssp_listed sssp_listed_read(const struct sssp_relax *r, co_u32 i)
{
    co_u128 v = co_read128(r->list + i);
    struct sssp_listed node;
    node.distance = (co_u32)v.lo;
    node.node = (co_u32)(v.lo >> 32);
    node.first = (co_u32)v.hi;
    node.before = (co_u32)(v.hi >> 32);
    return node;
}

CO_INLINE void sssp_listed_write(const struct sssp_relax *r, co_u32 i, struct sssp_listed node)
{
    co_write128(r->list + i,
                co_make128((co_u64)node.node << 32 | node.distance, (co_u64)node.before << 32 | node.first));
}

/* A few times 32 entries from `base` on. One addition takes their places in the list and among the edges. */
CO_INLINE void sssp_list_part(const struct sssp_relax *r, co_u64 base, co_u64 end)
{
    struct sssp_listed node[SSSP_AT_ONCE];
    co_u32 edges[SSSP_AT_ONCE];
    co_u64 mine = 0, before, at = 0;
    CO_EACH_ITEM (k, SSSP_AT_ONCE) {
        co_u64 i = base + k * 32 + co_lane();
        node[k].distance = i < end ? co_read32(r->keys + i) : SSSP_FAR;
        node[k].node = i < end ? co_read32(r->nodes + i) : 0;
    }
    CO_EACH_ITEM (k, SSSP_AT_ONCE) {
        co_u32 v = node[k].node, d = node[k].distance;
        int stale = d == SSSP_FAR || co_load32(r->distance + v) != d;
        node[k].first = stale ? 0 : co_read32(r->first + v);
        edges[k] = stale ? 0 : co_read32(r->first + v + 1) - node[k].first;
    }
    CO_EACH_ITEM (k, SSSP_AT_ONCE) {
        if (base + k * 32 + co_lane() < end)
            sssp_die(r, base + k * 32 + co_lane(), end);
        mine += edges[k] ? 1ull << 32 | edges[k] : 0;
    }
    before = co_warp_before(mine);
    if (co_lane() == 31 && before + mine)
        at = co_add64(&r->state->listed, before + mine);
    at = co_shuffle64(CO_FULL_WARP, at, 31) + before;
    CO_EACH_ITEM (k, SSSP_AT_ONCE) {
        node[k].before = (co_u32)at;
        if (edges[k]) {
            sssp_listed_write(r, (co_u32)(at >> 32), node[k]);
            at += 1ull << 32 | edges[k];
        }
    }
}

/* Is the round one in which distances are kept in shared memory, as far as is known before the frontier is
 * listed? */
CO_INLINE int sssp_is_large(co_u64 end)
{
    return end >= SSSP_MANY_EDGES / 64;
}

/* Distances of the first nodes for sssp_near. The last blocks begin, which have the fewest entries. */
CO_INLINE void sssp_list_near(const struct sssp_relax *r, co_u32 base)
{
    co_u32 lanes = co_blocks() * co_threads(), last = co_blocks() - 1 - co_block();
    for (co_u32 i = last * co_threads() + co_thread(); i < r->hot / 16; i += lanes) {
        co_u32 word = 0;
        CO_EACH_ITEM (k, 16) {
            co_u32 d = co_read32(r->distance + 16 * i + k);
            word |= sssp_steps(r, d < base ? 0 : d - base) << 2 * k;
        }
        co_write32(r->near + i, word);
    }
}

CO_KERNEL(sssp_list, struct sssp_relax)
{
    const co_u64 warps = co_blocks() * (co_threads() / 32), part = 32 * SSSP_AT_ONCE;
    co_u32 bucket;
    SSSP_AFTER();
    SSSP_BEGUN();
    if (sssp_passes(args))
        return;
    co_u64 end = sssp_end(args, &bucket);
    if (sssp_is_large(end))
        sssp_list_near(args, sssp_base(args, bucket));
    for (co_u64 base = (co_block() * (co_threads() / 32) + co_warp()) * part; base < end;
         base += warps * part)
        sssp_list_part(args, base, end);
}

/* The node that edge number `at` of the list is of; a warp looks at 32 places at a time. */
CO_INLINE co_u32 sssp_owner(const struct sssp_relax *r, co_u32 nodes, co_u32 at)
{
    co_u32 low = 0;
    while (nodes > 1) { /* it is one of `nodes` from `low` on */
        co_u32 step = (nodes + 31) / 32, i = co_lane() * step;
        int begun = i < nodes && sssp_listed_read(r, low + i).before <= at;
        co_u32 skipped = (co_ones32(co_ballot(CO_FULL_WARP, begun)) - 1) * step;
        low += skipped;
        nodes = nodes - skipped < step ? nodes - skipped : step;
    }
    return low;
}

/* Edges [from, to) of the list, which has `all`; not of nodes that have been brought nearer meanwhile. */
CO_INLINE co_u32 sssp_relax_share(const struct sssp_relax *r, struct sssp_near near, co_u64 *queue,
                                  co_u32 held, co_u32 nodes, co_u32 all, co_u32 from, co_u32 to)
{
    for (co_u32 i = sssp_owner(r, nodes, from) + co_lane(); from < to; i += 32) {
        struct sssp_listed node = {SSSP_FAR, 0, 0, 0};
        co_u32 end = to, edges = 0;
        if (i < nodes) {
            node = sssp_listed_read(r, i);
            end = i + 1 < nodes ? sssp_listed_read(r, i + 1).before : all;
            end = end < to ? end : to;
            co_u32 begin = node.before > from ? node.before : from;
            edges = begin < end && co_load32(r->distance + node.node) == node.distance ? end - begin : 0;
            node.first += begin - node.before;
        }
        held = sssp_warp_edges(r, near, queue, held, node.node, node.distance, node.first, edges);
        from = co_shuffle32(CO_FULL_WARP, end, 31);
    }
    return held;
}

/* Where a warp's next part of the list begins: each has its first one, the rest go to those that come for
 * more. */
CO_INLINE co_u64 sssp_next(const struct sssp_relax *r, co_u64 warps, co_u64 part)
{
    co_u64 taken = 0;
    if (co_lane() == 0)
        taken = co_add64(&r->state->taken, part);
    return warps * part + co_shuffle64(CO_FULL_WARP, taken, 0);
}

/* The list in parts, about `turns` a warp: those whose nodes have been brought nearer are soon through. The
 * last block settles the round. */
CO_INLINE void sssp_relax_listed(const struct sssp_relax *r, struct sssp_near near, co_u64 *queue,
                                 co_u32 turns)
{
    co_u64 listed = co_read64(&r->state->listed), edges = listed & 0xffffffffu;
    co_u64 warps = co_blocks() * (co_threads() / 32);
    co_u64 part = (edges / (warps * 32) + (edges % (warps * 32) != 0)) * 32;
    if (turns > 1 && part > SSSP_PART)
        part = part / turns < SSSP_PART ? SSSP_PART : part / turns;
    co_u64 from = (co_block() * (co_threads() / 32) + co_warp()) * part;
    co_u32 held = 0;
    while (from < edges) {
        co_u64 to = from + part < edges ? from + part : edges;
        held = sssp_relax_share(r, near, queue, held, (co_u32)(listed >> 32), (co_u32)edges, (co_u32)from,
                                (co_u32)to);
        from = turns > 1 && warps * part < edges ? sssp_next(r, warps, part) : edges;
    }
    sssp_flush(r, queue, held);
    if (!sssp_is_last(r))
        return;
    co_u32 bucket;
    co_u64 end = sssp_end(r, &bucket);
    sssp_settle(r, end, bucket);
}

/* So few registers that five blocks run at a time. */
CO_KERNEL_BOUND(sssp_relax_list, struct sssp_relax, 32 * SSSP_WARPS, 5)
{
    CO_SHARED(co_u64, queues, SSSP_WARPS * SSSP_QUEUE);
    const struct sssp_near none = {0, 0, 0};
    SSSP_AFTER();
    if (!sssp_passes(args))
        sssp_relax_listed(args, none, queues + co_warp() * SSSP_QUEUE, 1);
}

/* One block a multiprocessor. Its shared memory: SSSP_QUEUE entries of each warp, and what is kept of the hot
 * nodes. */
CO_KERNEL_BOUND(sssp_relax_hot, struct sssp_relax, 1024, 1)
{
    CO_SHARED_DYNAMIC(co_u64, queues);
    struct sssp_near near = {(const co_u32 *)(queues + co_threads() / 32 * SSSP_QUEUE), 0, 0};
    SSSP_AFTER();
    if (sssp_passes(args))
        return;
    co_u32 bucket;
    if (sssp_is_large(sssp_end(args, &bucket)) &&
        (co_u32)co_read64(&args->state->listed) >= SSSP_MANY_EDGES) {
        near.nodes = args->hot;
        near.base = sssp_base(args, bucket);
        co_bulk_copy((void *)near.steps, args->near, near.nodes / 4);
    }
    sssp_relax_listed(args, near, queues + co_warp() * SSSP_QUEUE, SSSP_TURNS);
}

#endif
