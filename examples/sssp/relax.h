/* relax.h: one round of a shortest-path search, in the words of cohort/device/lane.h: the same text for a GPU
 * (cuda.cu), for the host's threads (threads.c) and for the simulated GPU of the tests.
 *
 * The pool holds entries, each a node and a distance at which it was reached. An entry is stale, and does
 * nothing, if the node has been reached at less since. A round takes the frontier, the entries at the front
 * of the pool with the least distances, and looks at every edge that leaves their nodes: where that makes the
 * target's distance less (an atomic minimum), the target goes into the pool. A distance is put in once, by
 * whoever made it the least, so nothing is done twice.
 *
 * On a GPU a warp takes 32 entries, lays their edges end to end, and looks at a few times 32 of them at a
 * time. What a warp finds goes into a queue in shared memory first. If nodes of the graph have many edges, a
 * round is two launches: the first lists the frontier's nodes with their edges end to end, the second gives
 * each warp as many of these edges as any other. The last block settles the round.
 *
 * Most edges lead to few nodes, which have the first numbers. If there are many nodes, the blocks of the
 * second launch keep distances of these hot ones in shared memory, rounded down to one of four, as the first
 * launch told them, and most edges need to look no farther. What is kept may be out of date, and then is too
 * great: it is of a distance at which the node was reached, and no distance ever becomes greater. There a
 * warp takes its share of the edges in parts, when it comes for them: many nodes have been brought nearer by
 * then, and take no time. */
#ifndef SSSP_RELAX_H
#define SSSP_RELAX_H

#include <cohort/device/lane.h>

#define SSSP_FAR 0xffffffffu /* the distance of a node that was not reached, and of a dead entry */
#define SSSP_HOT \
    524288u /* nodes whose distances are kept in shared memory, at most: room for others' caches is left */
#define SSSP_ALIGN 4u /* the pool begins at a multiple, so that multisplit reads 16 bytes at a time */
#ifndef SSSP_LONG
#    define SSSP_LONG 256u /* if a node has more edges, frontiers are listed */
#endif
#ifndef SSSP_MANY_NODES
#    define SSSP_MANY_NODES (1u << 20) /* from so many on they are, */
#    define SSSP_MANY_EDGES (1u << 20) /* in rounds of so many edges */
#endif
#ifndef SSSP_PART
#    define SSSP_PART 4096u /* edges that a warp takes at a time, at least, */
#endif
#define SSSP_TURNS 8u /* where it takes about so many times */
#ifndef SSSP_GLANCE32
#    define SSSP_GLANCE32 co_load32 /* a distance that may be out of date, and then is too great */
#endif
#ifndef SSSP_FENCE_TOLD
#    define SSSP_FENCE_TOLD co_fence /* before the host may see that it was told */
#endif
#ifndef SSSP_AFTER
#    define SSSP_AFTER() /* a launch that may begin before the one before it ends waits here for that */
#    define SSSP_BEGUN() /* and here the next one may begin */
#endif
#ifndef SSSP_AT_ONCE
#    define SSSP_AT_ONCE 4 /* edges that a lane has under way */
#endif

/* In the context's memory; all zero at the start. */
struct sssp_state {
    co_u64 pushed; /* entries put in, this round */
    co_u64 listed; /* nodes << 32 | their edges */
    co_u64 taken;  /* of these edges, beyond the warps' first parts */
    co_u32 done;   /* blocks that are through */
    co_u32 serial; /* which round has told, where the host reads it: written last */

    /* what the last round has told */
    co_u64 end;             /* of its frontier */
    co_u64 came;            /* entries put in */
    co_u32 bucket, full;    /* of a multisplit from the least on; of a sorted pool from distance 0 on */
    co_u64 rounds, entries; /* so far */

    /* of a resident search */
    co_u64 live;  /* entries in the pool, once in order: before those that are dead */
    co_u64 reach; /* up to where they lie before that */
    co_u64 base;  /* the least distance that may be in it */
    co_u64 size;  /* of the last round: what lies beyond `reach` is dead up to there */
    co_u64 moved; /* sizes of all rounds */
    co_u32 more;  /* it goes on */
    co_u32 turn;  /* the pool of the next round */
};

#define SSSP_SIZES 16

/* Why a search is given up: entries were lost; or all live entries are in the bucket of the dead. */
enum { SSSP_FULL = 1, SSSP_BEYOND = 2 };

/* What a resident search is made of: rounds of either turn, of several sizes, each a few times the one
 * before. */
struct sssp_sizes {
    struct sssp_state *state;
    co_u32 *keys[2]; /* of the pools; NULL: none are dead */
    co_u64 size[SSSP_SIZES];
    co_u32 sizes;
};

/* Which rounds are the next: 2 * size + turn. */
CO_INLINE co_u32 sssp_choose(const struct sssp_sizes *z, co_u64 reach, co_u32 turn)
{
    co_u32 c = 0;
    while (c + 1 < z->sizes && z->size[c] < reach)
        c++;
    return 2 * c + turn;
}

struct sssp_relax {
    const co_u32 *first; /* where the edges of a node begin; nodes + 1 */
    const co_u64 *edge;  /* target, and the weight in the upper half */
    co_u32 *distance;    /* of each node */

    /* The pool: entry i is nodes[i], reached at keys[i]; n of them, dead ones too. Of a resident search n is
     * a size: rounds whose entries reach beyond it do nothing. The frontier is the first bucket that is not
     * empty; with offsets NULL the pool is sorted, and the frontier those as near as its first, in steps of
     * delta (0: all). */
    co_u32 *keys, *nodes;
    co_u64 n;
    const co_u64 *offsets; /* of the pool's buckets */
    co_u32 buckets, delta;

    co_u32 *new_keys, *new_nodes; /* where new entries go; of a resident search behind the live ones */
    co_u64 room;                  /* for so many; what is beyond is counted, and lost */
    co_u64 base; /* the least distance that may be in the pool; of a resident search the state has it */
    struct sssp_state *state;
    co_u32 serial;           /* of the round */
    struct sssp_state *told; /* where the host reads what the round has told; NULL: it fetches the state */
    co_u128 *list;           /* of the frontier's nodes: sssp_listed; NULL: none has many edges */
    co_u32 *near;     /* sssp_steps of the first `hot` nodes, 16 to a word, when the frontier was listed */
    co_u32 hot, step; /* a multiple of 64; a step is 2^step wide */

    /* A resident search: nobody on the host reads between rounds. The frontier dies where it lies, the dead
     * go to the last bucket. The buckets' bounds stay, or `buckets` - 1 of them move on in memory. */
    co_u32 resident;
    co_u32 *splitters; /* NULL: they stay */
};

/* Follows an edge from a node at distance d. Is its target nearer now? Then entry is the target, and its
 * distance above. */
CO_INLINE int sssp_follow(const struct sssp_relax *r, co_u32 d, co_u64 edge, co_u64 *entry)
{
    co_u32 target = (co_u32)edge, beyond = d + (co_u32)(edge >> 32);
    *entry = (co_u64)beyond << 32 | target;
    if (beyond < d || beyond >= co_load32(r->distance + target)) /* beyond < d: it does not fit */
        return 0;
    return beyond < co_min32(r->distance + target, beyond);
}

/* Live entries of the pool. */
CO_INLINE co_u64 sssp_live(const struct sssp_relax *r)
{
    return r->resident ? co_read64(&r->state->live) : r->n;
}

/* A resident search's round that is too small. */
CO_INLINE int sssp_passes(const struct sssp_relax *r)
{
    return r->resident && co_read64(&r->state->reach) > r->n;
}

/* Where new entries go: behind the live ones of the same array, or to the beginning of another. */
CO_INLINE co_u64 sssp_behind(const struct sssp_relax *r)
{
    return r->resident && r->new_keys == r->keys ? sssp_live(r) : 0;
}

CO_INLINE void sssp_put(const struct sssp_relax *r, co_u64 at, co_u64 entry)
{
    if (at >= r->room)
        return;
    co_write32(r->new_keys + at, (co_u32)(entry >> 32));
    co_write32(r->new_nodes + at, (co_u32)entry);
}

/* Entries of the frontier that the next pool begins with, die. */
CO_INLINE void sssp_die(const struct sssp_relax *r, co_u64 i, co_u64 end)
{
    if (r->resident || i >= end / SSSP_ALIGN * SSSP_ALIGN)
        co_write32(r->keys + i, SSSP_FAR);
}

/* The distance of the entry, if it is not stale. */
CO_INLINE co_u32 sssp_take(const struct sssp_relax *r, co_u64 i, co_u64 end, co_u32 *node)
{
    co_u32 d = co_read32(r->keys + i);
    sssp_die(r, i, end);
    if (d == SSSP_FAR)
        return SSSP_FAR;
    *node = co_read32(r->nodes + i);
    return co_load32(r->distance + *node) == d ? d : SSSP_FAR;
}

/* Of a sorted pool's frontier. */
CO_INLINE co_u64 sssp_limit(const struct sssp_relax *r)
{
    return ((co_u64)co_read32(r->keys) / r->delta + 1) * r->delta;
}

/* The first bucket that is not empty; the last is that of the dead, if the search is resident. */
CO_INLINE co_u32 sssp_bucket(const struct sssp_relax *r)
{
    co_u32 b = 0, last = r->buckets - 1 - r->resident;
    while (b < last && co_read64(r->offsets + b + 1) == 0)
        b++;
    return b;
}

#if defined(CO_HAS_WARPS)

/* The end of the frontier in a sorted pool; a warp looks at 32 places at a time. */
CO_INLINE co_u64 sssp_sorted_end(const struct sssp_relax *r)
{
    co_u64 low = 0, high = sssp_live(r), limit = sssp_limit(r);
    while (low < high) { /* entries below low are below the limit, those from high on are not */
        co_u64 step = (high - low + 31) / 32, at = low + step * (co_lane() + 1) - 1;
        co_u32 below = co_ones32(co_ballot(CO_FULL_WARP, at < high && co_read32(r->keys + at) < limit));
        high = low + step * (below + 1) - 1 < high ? low + step * (below + 1) - 1 : high;
        low += step * below;
    }
    return low;
}

#else

CO_INLINE co_u64 sssp_sorted_end(const struct sssp_relax *r)
{
    co_u64 low = 0, high = sssp_live(r), limit = sssp_limit(r);
    while (low < high) {
        co_u64 middle = (low + high) / 2;
        if (co_read32(r->keys + middle) < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif

/* The end of the frontier, and its bucket. */
CO_INLINE co_u64 sssp_end(const struct sssp_relax *r, co_u32 *bucket)
{
    co_u64 live = sssp_live(r);
    *bucket = 0;
    if (!live || (!r->offsets && !r->delta))
        return live;
    if (!r->offsets) { /* sssp_find was there */
        *bucket = co_read32(&r->state->bucket);
        return co_read64(&r->state->end);
    }
    *bucket = sssp_bucket(r);
    return co_read64(r->offsets + *bucket + 1);
}

/* The least distance that may be in the frontier. */
CO_INLINE co_u32 sssp_base(const struct sssp_relax *r, co_u32 bucket)
{
    co_u64 from = r->resident ? co_read64(&r->state->base) : r->base;
    return r->delta * bucket + (r->offsets ? (co_u32)from : 0);
}

CO_INLINE void sssp_tell(const struct sssp_relax *r)
{
    const struct sssp_state *s = r->state;
    if (!r->told)
        return;
    co_write64(&r->told->end, co_read64(&s->end));
    co_write64(&r->told->came, co_read64(&s->came));
    co_write32(&r->told->bucket, co_read32(&s->bucket));
    co_write32(&r->told->full, co_read32(&s->full));
    co_write64(&r->told->rounds, co_read64(&s->rounds));
    co_write64(&r->told->entries, co_read64(&s->entries));
    SSSP_FENCE_TOLD();
    co_store32(&r->told->serial, r->serial);
}

/* When all are through: what the round has come to, and where the next one stands. */
CO_INLINE void sssp_settle(const struct sssp_relax *r, co_u64 end, co_u32 bucket)
{
    struct sssp_state *s = r->state;
    co_u64 came = co_load64(&s->pushed), behind = sssp_behind(r), live = sssp_live(r);
    co_u32 full = co_read32(&s->full) | (came > r->room - behind ? SSSP_FULL : 0) |
                  (r->resident && r->offsets && live && !end ? SSSP_BEYOND : 0);
    co_write64(&s->end, end);
    co_write64(&s->came, came);
    co_write32(&s->bucket, bucket);
    co_write32(&s->full, full);
    co_write64(&s->rounds, co_read64(&s->rounds) + (live != 0));
    co_write64(&s->entries, co_read64(&s->entries) + came);
    co_store64(&s->pushed, 0);
    co_store64(&s->listed, 0);
    co_store64(&s->taken, 0);
    co_store32(&s->done, 0);
    sssp_tell(r);
    if (!r->resident)
        return;
    co_u64 base = co_read64(&s->base) + (r->offsets ? (co_u64)bucket * r->delta : 0);
    co_write64(&s->reach, full ? 0 : behind + came);
    live = full ? 0 : live + came - end; /* the search is given up: further rounds do nothing */
    co_write64(&s->live, live);
    co_write64(&s->base, base);
    co_write32(&s->more, live && !full);
    co_write32(&s->turn, co_read32(&s->turn) ^ 1);
    co_write64(&s->size, r->n);
    co_write64(&s->moved, co_read64(&s->moved) + r->n);
    for (co_u32 b = 0; r->splitters && r->offsets && b + 2 < r->buckets; b++) {
        co_u64 bound = base + (co_u64)(b + 1) * r->delta;
        co_write32(r->splitters + b, bound < SSSP_FAR ? (co_u32)bound : SSSP_FAR);
    }
}

#if !defined(CO_HAS_WARPS)

/* ---- the host's threads -------------------------------------------------------------------------------- */

#    define SSSP_QUEUE 512u

CO_INLINE void sssp_flush(const struct sssp_relax *r, const co_u64 *queue, co_u32 held)
{
    co_u64 at = sssp_behind(r) + co_add64(&r->state->pushed, held);
    for (co_u32 i = 0; i < held; i++)
        sssp_put(r, at + i, queue[i]);
}

/* Entries [from, to) of a frontier that ends at `end`. */
CO_INLINE void sssp_relax_part(const struct sssp_relax *r, co_u64 from, co_u64 to, co_u64 end)
{
    co_u64 queue[SSSP_QUEUE];
    co_u32 held = 0, node = 0;
    for (co_u64 i = from; i < to; i++) {
        co_u32 d = sssp_take(r, i, end, &node);
        if (d == SSSP_FAR)
            continue;
        for (co_u32 e = co_read32(r->first + node), last = co_read32(r->first + node + 1); e < last; e++) {
            held += sssp_follow(r, d, co_read64(r->edge + e), queue + held);
            if (held == SSSP_QUEUE) {
                sssp_flush(r, queue, held);
                held = 0;
            }
        }
    }
    sssp_flush(r, queue, held);
}

#else

/* ---- a GPU --------------------------------------------------------------------------------------------- */

#    define SSSP_WARPS 8u
#    define SSSP_QUEUE 128u /* a warp's entries on their way */

CO_INLINE void sssp_flush(const struct sssp_relax *r, const co_u64 *queue, co_u32 held)
{
    co_u64 at = 0;
    if (!held)
        return;
    co_warp_sync(CO_FULL_WARP);
    if (co_lane() == 0)
        at = sssp_behind(r) + co_add64(&r->state->pushed, held);
    at = co_shuffle64(CO_FULL_WARP, at, 0);
    for (co_u32 i = co_lane(); i < held; i += 32)
        sssp_put(r, at + i, co_read64(queue + i));
    co_warp_sync(CO_FULL_WARP);
}

/* Each lane may have found several entries. */
CO_INLINE co_u32 sssp_push(const struct sssp_relax *r, co_u64 *queue, co_u32 held, const int *found,
                           const co_u32 *keys, const co_u32 *nodes)
{
    co_u32 who[SSSP_AT_ONCE], before = (1u << co_lane()) - 1, come = 0;
    CO_EACH_ITEM (k, SSSP_AT_ONCE) {
        who[k] = co_ballot(CO_FULL_WARP, found[k]);
        come += co_ones32(who[k]);
    }
    if (held + come > SSSP_QUEUE) {
        sssp_flush(r, queue, held);
        held = 0;
    }
    CO_EACH_ITEM (k, SSSP_AT_ONCE) {
        if (found[k])
            co_write64(queue + held + co_ones32(who[k] & before), (co_u64)keys[k] << 32 | nodes[k]);
        held += co_ones32(who[k]);
    }
    return held;
}

/* How far the first nodes were when the frontier was listed, in the block's shared memory: sssp_steps, 16
 * nodes to a word. */
struct sssp_near {
    const co_u32 *steps;
    co_u32 nodes, base;
};

/* A distance from where the frontier begins, rounded down to one of four. */
CO_INLINE co_u32 sssp_steps(const struct sssp_relax *r, co_u32 distance)
{
    co_u32 steps = distance >> r->step;
    return steps < 3 ? steps : 3;
}

/* May a node be farther than `beyond`, which is counted from where the frontier begins? */
CO_INLINE int sssp_may_gain(const struct sssp_relax *r, struct sssp_near near, co_u32 node, co_u32 beyond)
{
    co_u32 steps = node < near.nodes ? co_read32(near.steps + node / 16) >> node % 16 * 2 & 3 : 3;
    return sssp_steps(r, beyond) <= steps;
}

/* Several edges a lane, from nodes at distances d; FAR: there is none. All targets are looked at before the
 * first is changed, and all that are nearer now are changed before the first goes into the queue, so that the
 * loads are under way together, and the atomics are. */
CO_INLINE co_u32 sssp_follow_all(const struct sssp_relax *r, struct sssp_near near, co_u64 *queue,
                                 co_u32 held, const co_u32 *d, const co_u64 *edge)
{
    co_u32 target[SSSP_AT_ONCE], beyond[SSSP_AT_ONCE], seen[SSSP_AT_ONCE];
    int look[SSSP_AT_ONCE], found[SSSP_AT_ONCE];
    CO_EACH_ITEM (k, SSSP_AT_ONCE) {
        target[k] = co_anew32((co_u32)edge[k]);
        beyond[k] = d[k] + (co_u32)(edge[k] >> 32);
        look[k] = (beyond[k] > d[k]) & sssp_may_gain(r, near, target[k], beyond[k] - near.base);
    }
    CO_EACH_ITEM (k, SSSP_AT_ONCE)
        seen[k] = look[k] ? SSSP_GLANCE32(r->distance + target[k]) : 0;
    CO_EACH_ITEM (k, SSSP_AT_ONCE)
        seen[k] = beyond[k] < seen[k] ? co_min32(r->distance + target[k], beyond[k]) : 0;
    CO_EACH_ITEM (k, SSSP_AT_ONCE)
        found[k] = beyond[k] < seen[k];
    return sssp_push(r, queue, held, found, beyond, target);
}

/* Number n, from 0 on, of the lanes in a mask; some lane if there are no more. */
CO_INLINE co_u32 sssp_nth(co_u32 mask, co_u32 n)
{
    co_u32 lane = 0;
    CO_EACH_ITEM (i, 5) {
        co_u32 step = 16u >> i, ones = co_ones32(mask >> lane & ((1u << step) - 1));
        lane += n < ones ? 0 : step;
        n -= n < ones ? 0 : ones;
    }
    return lane;
}

/* Nodes with edges, one a lane, which lie end to end. */
struct sssp_row {
    co_u32 node, distance;
    co_u32 before, end; /* its edges are [before, end) of the row */
    co_u32 shift;       /* from there to where they are in memory */
    co_u32 all;         /* edges of the row */
};

/* Lane l's `edges` edges are from `first` on. The first lanes get the nodes with edges; to the rest no edge
 * of the row belongs. */
CO_INLINE struct sssp_row sssp_row(co_u32 node, co_u32 d, co_u32 first, co_u32 edges)
{
    co_u32 have = co_ballot(CO_FULL_WARP, edges != 0), from = sssp_nth(have, co_lane());
    co_u32 before = (co_u32)co_warp_before(edges);
    struct sssp_row row;
    row.node = co_shuffle32(CO_FULL_WARP, node, from);
    row.distance = co_shuffle32(CO_FULL_WARP, d, from);
    row.before = co_shuffle32(CO_FULL_WARP, before, from);
    row.end = co_shuffle32(CO_FULL_WARP, before + edges, from);
    row.shift = co_shuffle32(CO_FULL_WARP, first - before, from);
    row.all = co_shuffle32(CO_FULL_WARP, before + edges, 31);
    if (co_lane() >= co_ones32(have))
        row.before = row.end = 0xffffffffu;
    return row;
}

/* The edges of 32 nodes end to end. Which node an edge is of, is how many begin up to it: a bit for each of
 * 32 edges that is a node's first. Once a node has been brought nearer meanwhile, what is left of its edges
 * is left to the next round; that is told while the edges are under way. */
CO_INLINE co_u32 sssp_warp_edges(const struct sssp_relax *r, struct sssp_near near, co_u64 *queue,
                                 co_u32 held, co_u32 node, co_u32 d, co_u32 first, co_u32 edges)
{
    struct sssp_row row = sssp_row(node, d, first, edges);
    const co_u32 upto = (2u << co_lane()) - 1;
    for (co_u32 base = 0, begun = 0; base < row.all; base += 32 * SSSP_AT_ONCE) {
        co_u32 owner[SSSP_AT_ONCE], distance[SSSP_AT_ONCE], now = row.distance;
        co_u64 edge[SSSP_AT_ONCE];
        if (base && row.before < base + 32 * SSSP_AT_ONCE && row.end > base)
            now = co_load32(r->distance + row.node);
        CO_EACH_ITEM (k, SSSP_AT_ONCE) {
            co_u32 at = base + k * 32 + co_lane(), later = row.before - (base + k * 32);
            at = at < row.all ? at : row.all - 1; /* the last one again */
            co_u32 begin = co_unite32(later < 32 ? 1u << later : 0);
            owner[k] = begun + co_ones32(begin & upto) - 1;
            begun += co_ones32(begin);
            co_u32 shift = co_shuffle32(CO_FULL_WARP, row.shift, owner[k]);
            edge[k] = co_read_stream64(r->edge + (co_u32)(shift + at));
        }
        row.distance = now == row.distance ? now : SSSP_FAR;
        CO_EACH_ITEM (k, SSSP_AT_ONCE)
            distance[k] = co_shuffle32(CO_FULL_WARP, row.distance, owner[k]);
        held = sssp_follow_all(r, near, queue, held, distance, edge);
    }
    return held;
}

/* One lane of the grid, in the block that is through last. */
CO_INLINE int sssp_is_last(const struct sssp_relax *r)
{
    co_block_sync();
    if (co_thread() != 0)
        return 0;
    co_fence();
    if (co_add32(&r->state->done, 1) + 1 != co_blocks())
        return 0;
    co_fence();
    return 1;
}

/* One warp, before the round of a sorted pool: where its frontier ends. */
CO_KERNEL(sssp_find, struct sssp_relax)
{
    if (sssp_live(args) == 0)
        return;
    co_u64 end = sssp_sorted_end(args);
    if (co_lane() == 0) {
        co_write64(&args->state->end, end);
        co_write32(&args->state->bucket, co_read32(args->keys) / args->delta);
    }
}

/* A round of a graph whose nodes have few edges. */
CO_KERNEL(sssp_relax, struct sssp_relax)
{
    CO_SHARED(co_u64, queues, SSSP_WARPS * SSSP_QUEUE);
    const struct sssp_relax *r = args;
    const struct sssp_near none = {0, 0, 0};
    co_u64 *queue = queues + co_warp() * SSSP_QUEUE, end;
    co_u32 held = 0, bucket;
    SSSP_AFTER();
    if (sssp_passes(r))
        return;
    end = sssp_end(r, &bucket);
    CO_EACH_WARP (base, end) {
        co_u64 i = base + co_lane();
        co_u32 node = 0, d = i < end ? sssp_take(r, i, end, &node) : SSSP_FAR, first = 0, edges = 0;
        if (d != SSSP_FAR) {
            first = co_read32(r->first + node);
            edges = co_read32(r->first + node + 1) - first;
        }
        co_warp_sync(CO_FULL_WARP);
        held = sssp_warp_edges(r, none, queue, held, node, d, first, edges);
    }
    sssp_flush(r, queue, held);
    if (sssp_is_last(r))
        sssp_settle(r, end, bucket);
}

#    include "listed.h"

#endif
#endif
