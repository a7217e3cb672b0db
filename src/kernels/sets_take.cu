/* sets_take.cu: collections written out (shape/sets_ask.h): a warp a job. */
#include "sets_warp.h"

CO_KERNEL(sets_take_sizes, struct sets_take)
{
    SETS_EACH_LANE(i, args->items)
    sets_take_size(args, i);
}

CO_KERNEL(sets_take_offsets, struct sets_take)
{
    SETS_EACH_LANE(i, args->items)
    sets_take_offset(args, i);
}

/* ---- members ------------------------------------------------------------------------------------------- */

CO_KERNEL(sets_take_members, struct sets_take)
{
    SETS_EACH_WARP(job, args->items)
    {
        struct sets_job j = sets_job_of(args, job);
        struct sets_out o;
        co_u64 n = j.set.n;
        o.to = args->members;
        o.at = j.entry;
        o.bytes = args->view.wide ? 8 : 4;
        if (j.set.large) {
            n = co_read64(args->view.before + j.chunk + 1) - co_read64(args->view.before + j.chunk);
            o.key = co_sets_key(&args->view, j.chunk);
            o.room = n;
            struct sets_warp_chunk c =
                sets_warp_chunk_of(args->view.pool, co_read64(args->view.places + j.chunk));
            if (args->members)
                sets_warp_members(&c, &o);
        } else if (args->members) {
            for (co_u64 i = co_lane(); i < n; i += 32)
                sets_put(args->members, j.entry + i, co_sets_listed(&args->view, j.set.first + i), o.bytes);
        }
        for (co_u64 i = co_lane(); args->groups && i < n; i += 32)
            sets_put(args->groups, j.entry + i, j.asked, args->group_bytes);
    }
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* Of numbers that rise, 32 at a time: get(i) by kind. */
CO_INLINE co_u64 sets_entry_of(const struct sets_take *t, const struct sets_job *j,
                               const struct sets_warp_chunk *c, co_u64 i)
{
    return j->set.large ? co_read16(c->at + i) : co_sets_listed(&t->view, j->set.first + i);
}

CO_INLINE co_u32 sets_take_entries(const struct sets_take *t, const struct sets_job *j,
                                   const struct sets_warp_chunk *c, co_u64 n, int from, int on,
                                   const struct sets_ranges_out *o)
{
    co_u32 begun = 0;
    co_u64 key = j->set.large ? o->key << CO_CHUNK_BITS : 0;
    for (co_u64 base = 0; base < n; base += 32) {
        co_u64 i = base + co_lane(), v = i < n ? sets_entry_of(t, j, c, i) : 0;
        int begins = i < n && (i ? sets_entry_of(t, j, c, i - 1) + 1 != v : !from);
        int ends = i < n && (i + 1 < n ? v + 1 != sets_entry_of(t, j, c, i + 1) : !on);
        co_u32 all = co_ballot(CO_FULL_WARP, begins);
        co_u64 k = begun + co_ones32(all & sets_lanes_before());
        if (begins && o->at + k < o->room) {
            if (o->firsts)
                sets_put(o->firsts, o->at + k, key | v, o->bytes);
            if (o->groups)
                sets_put(o->groups, o->at + k, o->group, o->group_bytes);
        }
        k = begins ? k : k - 1;
        if (ends && o->lasts && o->at + k < o->room)
            sets_put(o->lasts, o->at + k, key | v, o->bytes);
        begun += co_ones32(all);
    }
    return begun;
}

CO_INLINE co_u32 sets_take_runs(const struct sets_warp_chunk *c, int from, int on,
                                const struct sets_ranges_out *o)
{
    co_u32 runs = c->kind == CO_CHUNK_FULL ? 1 : c->entries, less = from ? 1 : 0;
    for (co_u32 r = co_lane(); r < runs; r += 32) {
        int full = c->kind == CO_CHUNK_FULL;
        if (r || !from)
            sets_range_first(o, r - less, full ? 0 : co_read16(c->at + 2 * r));
        if (r + 1 < runs || !on)
            sets_range_last(o, (co_u64)r - less, full ? CO_CHUNK_IDS - 1 : co_chunk_run_last(c->at, r));
    }
    return runs - less;
}

CO_INLINE co_u32 sets_take_ranges_of(const struct sets_take *t, const struct sets_job *j,
                                     struct sets_ranges_out *o)
{
    struct sets_warp_chunk c = {0, 0, 0};
    co_u64 first = j->set.first, end = first + j->set.n;
    o->bytes = t->view.wide ? 8 : 4;
    if (!j->set.large)
        return sets_take_entries(t, j, &c, j->set.n, 0, 0, o);
    int from = j->chunk > first && sets_chunk_goes_on(&t->view, j->chunk - 1);
    int on = j->chunk + 1 < end && sets_chunk_goes_on(&t->view, j->chunk);
    o->key = co_sets_key(&t->view, j->chunk);
    c = sets_warp_chunk_of(t->view.pool, co_read64(t->view.places + j->chunk));
    if (c.kind == CO_CHUNK_ARRAY)
        return sets_take_entries(t, j, &c, c.entries, from, on, o);
    if (c.kind != CO_CHUNK_BITMAP)
        return sets_take_runs(&c, from, on, o);
    struct sets_words w = sets_warp_chunk_words(&c);
    return sets_warp_words_ranges(&w, from, on, o);
}

CO_KERNEL(sets_take_count, struct sets_take)
{
    SETS_EACH_WARP(job, args->items)
    {
        struct sets_ranges_out o = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        struct sets_job j = sets_job_of(args, job);
        co_u32 begun = sets_take_ranges_of(args, &j, &o);
        if (co_lane() == 0)
            co_write64(args->ranges + job, begun);
    }
}

CO_KERNEL(sets_take_ranges, struct sets_take)
{
    SETS_EACH_WARP(job, args->items)
    {
        struct sets_job j = sets_job_of(args, job);
        struct sets_ranges_out o = {args->members, args->lasts, args->groups,     0, 0, 0,
                                    j.asked,       0,           args->group_bytes};
        o.at = co_read64(args->ranges + job);
        o.room = co_read64(args->ranges + job + 1);
        sets_take_ranges_of(args, &j, &o);
    }
}

/* ---- bits ---------------------------------------------------------------------------------------------- */

CO_INLINE void sets_take_bit(const struct sets_take *t, co_u32 *row, co_u64 id)
{
    if (id < t->bits)
        co_or32(row + id / 32, 1u << id % 32);
}

/* Bits of the word that are asked for. */
CO_INLINE co_u32 sets_take_mask(const struct sets_take *t, co_u64 word)
{
    co_u64 left = t->bits - word * 32;
    return word * 32 >= t->bits ? 0 : left < 32 ? (1u << left) - 1 : ~0u;
}

CO_INLINE void sets_take_run(const struct sets_take *t, co_u32 *row, co_u64 first, co_u64 last)
{
    for (co_u64 w = first / 32; w <= last / 32; w++) {
        co_u32 mask = sets_take_mask(t, w);
        mask &= w == first / 32 ? ~0u << first % 32 : ~0u;
        mask &= w == last / 32 ? ~0u >> (31 - last % 32) : ~0u;
        if (mask)
            co_or32(row + w, mask);
    }
}

CO_KERNEL(sets_take_bits, struct sets_take)
{
    SETS_EACH_WARP(job, args->items)
    {
        struct sets_job j = sets_job_of(args, job);
        co_u32 *row = (co_u32 *)((char *)args->bitmaps + j.asked * args->stride);
        if (!j.set.large) {
            for (co_u64 i = co_lane(); i < j.set.n; i += 32)
                sets_take_bit(args, row, co_sets_listed(&args->view, j.set.first + i));
            continue;
        }
        co_u64 first = co_sets_key(&args->view, j.chunk) << CO_CHUNK_BITS;
        struct sets_warp_chunk c =
            sets_warp_chunk_of(args->view.pool, co_read64(args->view.places + j.chunk));
        if (first >= args->bits)
            continue;
        if (c.kind == CO_CHUNK_RUNS) {
            for (co_u32 r = co_lane(); r < c.entries; r += 32)
                sets_take_run(args, row, first + co_read16(c.at + 2 * r), first + co_chunk_run_last(c.at, r));
        } else if (c.kind == CO_CHUNK_ARRAY) {
            for (co_u32 i = co_lane(); i < c.entries; i += 32)
                sets_take_bit(args, row, first + co_read16(c.at + i));
        } else {
            for (co_u32 i = co_lane(); i < CO_CHUNK_WORDS; i += 32) {
                co_u32 word =
                    c.kind == CO_CHUNK_FULL ? ~0u : co_read32((const co_u32 *)(const void *)c.at + i);
                co_u32 mask = sets_take_mask(args, first / 32 + i);
                if (mask && (word & mask))
                    co_or32(row + first / 32 + i, word & mask);
            }
        }
    }
}
