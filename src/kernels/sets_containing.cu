/* sets_containing.cu: which sets contain a value (shape/sets_index.h): the index, and the questions, a warp a
 * piece of each. */
#include "sets_warp.h"
#include "shape/sets_index.h"

CO_KERNEL(sets_index_owners, struct sets_index_step)
{
    SETS_EACH_WARP(number, args->items)
    {
        struct co_sets_set set = co_sets_open(&args->view, number);
        for (co_u64 i = co_lane(); i < set.n; i += 32)
            sets_index_own(args, &set, number, i);
    }
}

CO_KERNEL(sets_index_spans, struct sets_index_step)
{
    SETS_EACH_LANE(i, args->items)
    sets_index_span(args, i);
}

/* Which of 32 chunks, from `base` on, contain the value. */
CO_INLINE co_u32 sets_warp_hits(const struct sets_containing *q, const struct sets_piece_of_value *p,
                                co_u64 base)
{
    co_u64 chunk = base + co_lane();
    return co_ballot(CO_FULL_WARP, chunk < p->chunks.end && sets_index_has(q, chunk, p->low16));
}

CO_KERNEL(sets_containing_count, struct sets_containing)
{
    SETS_EACH_WARP(item, args->n * args->pieces)
    {
        struct sets_piece_of_value p = sets_piece_at(args, item);
        co_u64 n = p.listed.end - p.listed.first;
        for (co_u64 base = p.chunks.first; base < p.chunks.end; base += 32)
            n += co_ones32(sets_warp_hits(args, &p, base));
        if (co_lane() == 0)
            co_write64(args->sums + item, n);
    }
}

CO_KERNEL(sets_containing_tell, struct sets_containing)
{
    SETS_EACH_LANE(i, args->n + 1)
    sets_containing_tell(args, i);
}

/* The lists' members from `from` to `to`, all of which contain the value: behind each entry of `at` come
 * those of the 32 chunks' `hits` whose set is below. */
CO_INLINE void sets_warp_put_listed(const struct sets_containing *q, const struct sets_piece_of_value *p,
                                    co_u64 base, co_u32 hits, co_u64 from, co_u64 to, co_u64 at)
{
    const struct sets_index *x = &q->index;
    co_u64 end = p->chunks.end - base < 32 ? p->chunks.end : base + 32;
    for (co_u64 i = from + co_lane(); i < to; i += 32) {
        co_u64 set = sets_owner_at(x, x->listed.owners, i);
        co_u32 below = hits ? (co_u32)(sets_owners_lower(x, x->chunks.owners, base, end, set) - base) : 0;
        co_u32 before = below < 32 ? hits & ((1u << below) - 1) : hits;
        sets_containing_put(q, at + (i - from) + co_ones32(before), set);
    }
}

/* 32 chunks, and the lists' members whose sets are below the last one's; the others come later. */
CO_INLINE co_u64 sets_warp_put(const struct sets_containing *q, struct sets_piece_of_value *p, co_u64 base,
                               co_u64 at)
{
    const struct sets_index *x = &q->index;
    co_u64 chunk = base + co_lane(), end = p->chunks.end - base < 32 ? p->chunks.end : base + 32;
    co_u32 hits = sets_warp_hits(q, p, base);
    if (!hits)
        return 0;
    co_u64 last = sets_owner_at(x, x->chunks.owners, end - 1);
    co_u64 to = sets_owners_lower(x, x->listed.owners, p->listed.first, p->listed.end, last);
    if (hits >> co_lane() & 1) {
        co_u64 set = sets_owner_at(x, x->chunks.owners, chunk);
        co_u64 before = sets_owners_lower(x, x->listed.owners, p->listed.first, to, set) - p->listed.first;
        sets_containing_put(q, at + before + co_ones32(hits & sets_lanes_before()), set);
    }
    sets_warp_put_listed(q, p, base, hits, p->listed.first, to, at);
    co_u64 put = co_ones32(hits) + (to - p->listed.first);
    p->listed.first = to;
    return put;
}

CO_KERNEL(sets_containing_write, struct sets_containing)
{
    SETS_EACH_WARP(item, args->n * args->pieces)
    {
        co_u64 at = co_read64(args->sums + item), end = co_read64(args->sums + item + 1);
        if (!sets_containing_is_asked(args, at, end))
            continue;
        struct sets_piece_of_value p = sets_piece_at(args, item);
        for (co_u64 base = p.chunks.first; base < p.chunks.end; base += 32)
            at += sets_warp_put(args, &p, base, at);
        sets_warp_put_listed(args, &p, p.chunks.end, 0, p.listed.first, p.listed.end, at);
    }
}
