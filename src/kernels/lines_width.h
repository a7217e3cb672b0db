/* kernels/lines_width.h: the kernels of maps of LINES for one width. Included by lines.cu once per instance.
 *
 * Parameters: those of shape/lines_entry.h. */
#include "shape/lines_entry.h"

#include "lines_winner.h"

#define NAME(kind) CO_PASTE3(lines_##kind, _, CO_LINES_SUFFIX)

/* One lane an entry, a warp on 32 entries in a row: their bits of a bitmap are one word. */
CO_INLINE void LINES(batch)(const struct map_batch *b, co_u32 step, co_u32 op)
{
    struct map_report report = map_report_begin();
    co_lines_tally tally = {0, 0, 0, 0, 0};
    CO_EACH_WARP (base, b->n) {
        const co_u64 i = base + co_lane();
        const int active = map_takes_part(b, base, i);
        int r = CO_MAP_MISS;
        VALUE value = 0;
        if (active)
            r = LINES(entry)(b, step, op, i, LINES(home)(&b->view, LINES(key_at)(b->keys, i)), &value, &tally,
                             0);
        /* lanes are done at different times; the results are written side by side */
        co_warp_sync(CO_FULL_WARP);
        if (active && LINES(has_result)(b, step, r))
            LINES(put_value)(b->results, i, value);
        map_report_warp(b, step, base, active, r, &report);
    }
    map_report_end(b, &report);
    if (step == MAP_STEP_RUN || op != CO_OP_FIND)
        lines_flush_warp(&b->view, &tally);
}

CO_KERNEL_BOUND(NAME(find), struct map_batch, 256, 8)
{
    LINES(batch)(args, MAP_STEP_APPLY, CO_OP_FIND);
}
CO_KERNEL(NAME(insert), struct map_batch)
{
    LINES(batch)(args, MAP_STEP_APPLY, CO_OP_INSERT);
}
CO_KERNEL(NAME(assign), struct map_batch)
{
    LINES(batch)(args, MAP_STEP_APPLY, CO_OP_ASSIGN);
}
CO_KERNEL(NAME(erase), struct map_batch)
{
    LINES(batch)(args, MAP_STEP_APPLY, CO_OP_ERASE);
}
CO_KERNEL(NAME(apply), struct map_batch)
{
    LINES(batch)(args, MAP_STEP_APPLY, args->op);
}
CO_KERNEL(NAME(run), struct map_batch)
{
    LINES(batch)(args, MAP_STEP_RUN, 0);
}
CO_KERNEL(NAME(claim), struct map_batch)
{
    LINES(claim_batch)(args);
}
CO_KERNEL(NAME(rank), struct map_batch)
{
    LINES(rank_batch)(args);
}
CO_KERNEL(NAME(settle), struct map_batch)
{
    LINES(settle_batch)(args);
}
CO_KERNEL(NAME(get), struct map_batch)
{
    LINES(batch)(args, MAP_STEP_GET, CO_OP_FIND);
}

/* ---- sweeps: one lane a home --------------------------------------------------------------------------------------------- */

/* All pairs, packed: each warp counts those of its homes, takes that many places, and fills them. */
CO_KERNEL(NAME(export), struct map_sweep)
{
    CO_EACH_WARP (base, args->view.pages) {
        const co_u64 home = base + co_lane();
        co_u32 names = home < args->view.pages ? LINES(names)(&args->view, home) : 0;
        const co_u64 mine = co_ones32(names), all = co_warp_sum(mine), before = co_warp_before(mine);
        co_u64 at = 0;
        if (co_lane() == 0 && all)
            at = co_add64(args->cursor, all);
        at = co_shuffle64(CO_FULL_WARP, at, 0) + before;
        for (; names; names &= names - 1, at++) {
            KEY key;
            VALUE value;
            LINES(pair)(&args->view, home, co_first32(names), &key, &value);
            if (sizeof(KEY) == 4)
                co_write32((co_u32 *)args->keys + at, (co_u32)key);
            else
                co_write64((co_u64 *)args->keys + at, key);
            LINES(put_value)(args->values, at, value);
        }
        co_warp_sync(CO_FULL_WARP);
    }
}

/* Every pair of `view` goes into `into`, a table of LINES too: rehash, growth, merge. */
CO_KERNEL(NAME(absorb), struct map_sweep)
{
    co_lines_tally tally = {0, 0, 0, 0, 0};
    co_u64 full = ~0ull;
    CO_EACH_WARP (base, args->view.pages) {
        const co_u64 home = base + co_lane();
        co_u32 names = home < args->view.pages ? LINES(names)(&args->view, home) : 0;
        for (; names; names &= names - 1) {
            KEY key;
            VALUE value, old;
            LINES(pair)(&args->view, home, co_first32(names), &key, &value);
            if (LINES(apply)(&args->into, args->op, key, value, &old, &tally) == CO_MAP_FULL)
                full = home < full ? home : full;
        }
        co_warp_sync(CO_FULL_WARP);
    }
    full = co_warp_min(full);
    if (co_lane() == 0 && full != ~0ull)
        co_min64(&args->deferred->first_full, full);
    lines_flush_warp(&args->into, &tally);
}

/* Homes that are read to find the keys. The histogram is kept in shared memory first. */
CO_KERNEL(NAME(stats), struct map_sweep)
{
    CO_SHARED(co_u32, bins, MAP_PROBE_BINS);
    co_u64 keys = 0, homes = 0, most = 0;
    if (co_thread() < MAP_PROBE_BINS)
        co_store32(&bins[co_thread()], 0);
    co_block_sync();
    CO_EACH_WARP (base, args->view.pages) {
        const co_u64 home = base + co_lane();
        const co_u32 all = home < args->view.pages ? LINES(names)(&args->view, home) : 0;
        for (co_u32 names = all; names; names &= names - 1) {
            const co_u64 length = LINES(probe_length)(all, co_first32(names));
            keys++;
            homes += length;
            most = length > most ? length : most;
            co_add32(&bins[length < MAP_PROBE_BINS ? length - 1 : MAP_PROBE_BINS - 1], 1);
        }
    }
    co_block_sync();
    map_add_warp(&args->probes->keys, keys);
    map_add_warp(&args->probes->buckets, homes);
    most = co_warp_max(most);
    if (co_lane() == 0)
        co_max64(&args->probes->most_buckets, most);
    if (co_thread() < MAP_PROBE_BINS)
        co_add64(&args->probes->histogram[co_thread()], co_load32(&bins[co_thread()]));
}

/* Winner words of a fresh batch. */
CO_KERNEL(NAME(mark), struct map_sweep)
{
    CO_EACH_WARP (base, args->slots) {
        const co_u64 slot = base + co_lane();
        if (slot < args->slots)
            co_write32(&args->winners[slot], 0);
    }
}

#undef NAME
#include "shape/lines_end.h"
