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

/* The operands of the lanes in `same` (those with this lane's key), folded in the order of the lanes into
 * the first of them, in as many rounds as their number has bits: in each, every other lane hands its fold
 * to the one before it and is done. */
CO_INLINE VALUE LINES(fold)(co_u32 op, VALUE v, co_u32 same)
{
    const co_u32 before = (1u << co_lane()) - 1;
    co_u32 behind = same & ~before & ~(1u << co_lane()), rank = map_bits(same & before);
    while (co_any(CO_FULL_WARP, behind != 0)) {
        const co_u32 next = behind ? co_first32(behind) : co_lane();
        const VALUE other = (VALUE)(sizeof(VALUE) == 4 ? co_shuffle32(CO_FULL_WARP, (co_u32)v, next)
                                                       : co_shuffle64(CO_FULL_WARP, v, next));
        v = behind ? LINES(combine)(op, v, other) : v;
        behind &= ~co_ballot(CO_FULL_WARP, rank & 1);
        rank >>= 1;
    }
    return v;
}

/* The lanes of a full warp that have this lane's key. Lanes that are not active have any. */
CO_INLINE co_u32 LINES(match_lanes)(KEY key)
{
#if CO_LINES_KEY_BITS == 128
    return co_match64(CO_FULL_WARP, key.lo) & co_match64(CO_FULL_WARP, key.hi);
#else
    return sizeof(KEY) == 4 ? co_match32(CO_FULL_WARP, (co_u32)key) : co_match64(CO_FULL_WARP, key);
#endif
}

/* ASSIGN, and ADD to COUNT, which have no results. Of the lanes of a warp that have one key the first goes
 * for all, with their operands folded: a key that many want is locked once a warp. The others come right
 * after it, and so find the key there. */
CO_INLINE void LINES(fold_batch)(const struct map_batch *b, co_u32 kind)
{
    const co_u32 op = kind == CO_OP_COUNT ? (co_u32)CO_OP_ADD : kind;
    struct map_report report = map_report_begin();
    co_lines_tally tally = {0, 0, 0, 0, 0};
    CO_EACH_WARP (base, b->n) {
        const co_u64 i = base + co_lane();
        const int active = map_takes_part(b, base, i);
        const KEY key = LINES(key_at)(b->keys, active ? i : base);
        VALUE operand = active ? LINES(value_at)(b->values, i) : 0, old;
        int r = CO_MAP_MISS;
        co_u32 same = LINES(match_lanes)(key);
        same &= co_ballot(CO_FULL_WARP, active) & (active ? CO_FULL_WARP : 0);
        const co_u32 first = same & (0u - same);
        const int several = co_any(CO_FULL_WARP, same != first);
        if (kind == CO_OP_COUNT)
            operand = (VALUE)map_bits(same);
        else if (several)
            operand = LINES(fold)(op, operand, same);
        if (first == 1u << co_lane())
            r = LINES(do)(&b->view, LINES(home)(&b->view, key), op, key, operand, &old, &tally, 0);
        co_warp_sync(CO_FULL_WARP);
        if (several) {
            const int lead = (int)co_shuffle32(CO_FULL_WARP, (co_u32)r, first ? map_bits(first - 1) : 0);
            r = first == 1u << co_lane() ? r : lead == CO_MAP_FULL ? CO_MAP_FULL : CO_MAP_HIT;
        }
        map_report_warp(b, MAP_STEP_APPLY, base, active, r, &report);
    }
    map_report_end(b, &report);
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
    LINES(fold_batch)(args, CO_OP_ASSIGN);
}
CO_KERNEL(NAME(erase), struct map_batch)
{
    LINES(batch)(args, MAP_STEP_APPLY, CO_OP_ERASE);
}
CO_KERNEL(NAME(apply), struct map_batch)
{
    LINES(fold_batch)(args, args->op);
}
CO_KERNEL_BOUND(NAME(run), struct map_batch, 256, CO_LINES_KEY_BITS == 128 ? 4 : LINES_RUN_BLOCKS)
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

/* ---- sweeps: one lane a home --------------------------------------------------------------------------- */

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
            LINES(put_key)(args->keys, at, key);
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
