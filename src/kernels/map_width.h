/* kernels/map_width.h: the map's kernels for one width. Included by map.cu once per instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"

#include "map_winner.h"

#include "map_hot.h"

#define NAME(kind)  CO_PASTE3(map_##kind, _, CO_MAP_SUFFIX)
#define FOLD_BLOCKS (CO_MAP_SLOT_BITS == 128 ? 4 : 5) /* at a time: 64 or 48 registers a lane hold it all */

/* One lane an entry, a warp on 32 entries in a row: their bits of a bitmap are one word. */
CO_INLINE void MAP(batch)(const struct map_batch *b, co_u32 step, co_u32 op)
{
    struct map_report report = map_report_begin();
    co_map_tally tally = {0, 0};
    if (b->gate && !co_read64(b->gate))
        return;
    CO_EACH_WARP (base, b->n) {
        co_u64 i = base + co_lane();
        int active = map_takes_part(b, base, i), r = CO_MAP_MISS;
        VALUE value = 0;
        if (active)
            r = MAP(entry)(b, step, op, i, &value, &tally);
        /* lanes end their walks at different times; the results are written side by side */
        co_warp_sync(CO_FULL_WARP);
        if (active && MAP(has_result)(b, step, r))
            MAP(put_value)(b->results, i, value);
        map_report_warp(b, step, base, active, r, &report);
    }
    map_report_end(b, &report);
    if (step == MAP_STEP_RUN || op != CO_OP_FIND)
        map_flush_warp(&b->view, &tally);
}

/* The operands of the lanes in `same` (those with this lane's key), folded in the order of the lanes into the
 * first of them, in as many rounds as their number has bits: in each, every other lane hands its fold to the
 * one before it and is done. */
CO_INLINE VALUE MAP(fold)(co_u32 op, VALUE v, co_u32 same)
{
    co_u32 before = (1u << co_lane()) - 1, behind = same & ~before & ~(1u << co_lane()),
           rank = map_bits(same & before);
    while (co_any(CO_FULL_WARP, behind != 0)) {
        co_u32 next = behind ? map_bits((behind & (0u - behind)) - 1) : co_lane();
        VALUE other = (VALUE)(sizeof(VALUE) == 4 ? co_shuffle32(CO_FULL_WARP, (co_u32)v, next)
                                                 : co_shuffle64(CO_FULL_WARP, v, next));
        v = behind ? MAP(combine)(op, v, other) : v;
        behind &= ~co_ballot(CO_FULL_WARP, rank & 1);
        rank >>= 1;
    }
    return v;
}

/* An operand that stands for those of all lanes of the warp with the key; `several`: there are others. */
CO_INLINE int MAP(fold_entry)(const struct map_batch *b, const struct MAP(hot) * hot, co_u32 op, KEY key,
                              VALUE operand, int several, co_map_tally *tally)
{
    if (hot->slots && co_load32(hot->any) && MAP(hot_fold)(hot, op, key, operand))
        return CO_MAP_HIT;
    int r = MAP(alone)(b, op, key, operand, tally);
    if (hot->slots && several && r != CO_MAP_FULL)
        MAP(hot_take)(hot, key);
    return r;
}

/* ASSIGN, and ADD to COUNT. Of the lanes of a warp that have one key the first goes for all, with their
 * operands folded: one access to a slot that many want. The others come right after it, and so find the key
 * there. Keys that come again and again have their operands folded by the whole block. */
CO_INLINE void MAP(fold_batch)(const struct map_batch *b, co_u32 kind)
{
    CO_SHARED(KEY, hot_keys, MAP_HOT_MOST);
    CO_SHARED(VALUE, hot_values, MAP_HOT_MOST);
    CO_SHARED(co_u32, hot_used, MAP_HOT_MOST / 32 + 1);
    struct MAP(hot) hot = {hot_keys, hot_values, hot_used, hot_used + MAP_HOT_MOST / 32, b->hot};
    struct map_report report = map_report_begin();
    co_map_tally tally = {0, 0};
    co_u32 op = kind == CO_OP_COUNT ? (co_u32)CO_OP_ADD : kind;
    if (b->gate && !co_read64(b->gate))
        return;
    if (hot.slots)
        MAP(hot_begin)(&hot, op);
    CO_EACH_WARP (base, b->n) {
        co_u64 i = base + co_lane();
        int active = map_takes_part(b, base, i), r = CO_MAP_MISS;
        KEY key = active ? MAP(key_at)(b->keys, i) : 0;
        VALUE operand = active ? MAP(value_at)(b->values, i) : 0;
        co_u32 same =
            sizeof(KEY) == 4 ? co_match32(CO_FULL_WARP, (co_u32)key) : co_match64(CO_FULL_WARP, key);
        same &= co_ballot(CO_FULL_WARP, active) & (active ? CO_FULL_WARP : 0);
        co_u32 first = same & (0u - same);
        int several = co_any(CO_FULL_WARP, same != first);
        if (kind == CO_OP_COUNT)
            operand = (VALUE)map_bits(same);
        else if (several)
            operand = MAP(fold)(op, operand, same);
        if (first == 1u << co_lane())
            r = MAP(fold_entry)(b, &hot, op, key, operand, same != first, &tally);
        co_warp_sync(CO_FULL_WARP);
        if (several) {
            int lead = (int)co_shuffle32(CO_FULL_WARP, (co_u32)r, first ? map_bits(first - 1) : 0);
            r = first == 1u << co_lane() ? r : lead == CO_MAP_FULL ? CO_MAP_FULL : CO_MAP_HIT;
        }
        map_report_warp(b, MAP_STEP_APPLY, base, active, r, &report);
    }
    if (hot.slots)
        MAP(hot_end)(&hot, b, op, &tally);
    map_report_end(b, &report);
    map_flush_warp(&b->view, &tally);
}

/* All the warps that there may be: it waits for memory. */
CO_KERNEL_BOUND(NAME(find), struct map_batch, 256, 8)
{
    MAP(batch)(args, MAP_STEP_APPLY, CO_OP_FIND);
}
/* To be compared: relaxed loads see what other kernels change meanwhile, and are slower. */
CO_KERNEL(NAME(find_relaxed), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_RELAXED, CO_OP_FIND);
}
CO_KERNEL_BOUND(NAME(insert), struct map_batch, 256, CO_MAP_SLOT_BITS == 128 ? 5 : 6)
{
    MAP(batch)(args, MAP_STEP_APPLY, CO_OP_INSERT);
}
CO_KERNEL_BOUND(NAME(assign), struct map_batch, 256, FOLD_BLOCKS)
{
    MAP(fold_batch)(args, CO_OP_ASSIGN);
}
CO_KERNEL_BOUND(NAME(erase), struct map_batch, 256, 5)
{
    MAP(batch)(args, MAP_STEP_APPLY, CO_OP_ERASE);
}
CO_KERNEL_BOUND(NAME(apply), struct map_batch, 256, FOLD_BLOCKS)
{
    MAP(fold_batch)(args, args->op);
}
#if CO_MAP_SLOT_BITS == 128
CO_KERNEL(NAME(ledger), struct map_batch)
{
    CO_EACH_WARP (base, args->ledger_mask + 1) {
        if (base + co_lane() <= args->ledger_mask)
            MAP(post)(args, base + co_lane());
    }
}
#endif
CO_KERNEL_BOUND(NAME(run), struct map_batch, 256, 4)
{
    MAP(batch)(args, MAP_STEP_RUN, 0);
}
CO_KERNEL_BOUND(NAME(claim), struct map_batch, 256, 6)
{
    MAP(claim_batch)(args);
}
CO_KERNEL_BOUND(NAME(rank), struct map_batch, 256, 6)
{
    MAP(rank_batch)(args);
}
CO_KERNEL(NAME(settle), struct map_batch)
{
    MAP(settle_batch)(args);
}
CO_KERNEL_BOUND(NAME(get), struct map_batch, 256, 6)
{
    MAP(batch)(args, MAP_STEP_GET, CO_OP_FIND);
}

/* ---- export -------------------------------------------------------------------------------------------- */

#define EXPORT_EACH (MAP_EXPORT_BYTES * 8 / CO_MAP_SLOT_BITS)

/* Where a warp's pairs go, of which it has `mine`: behind those of the block's warps before it, for all of
 * which one lane takes places. The block together; `counts` has a word a warp, `at` one. */
CO_INLINE co_u64 MAP(export_places)(const struct map_sweep *s, co_u32 mine, co_u32 *counts, co_u64 *at)
{
    co_u32 before = 0, all = 0;
    if (co_lane() == 0)
        co_write32(counts + co_warp(), mine);
    co_block_sync();
    for (co_u32 w = 0; w < co_threads() / 32; w++) {
        co_u32 there = co_read32(counts + w);
        before += w < co_warp() ? there : 0;
        all += there;
    }
    if (co_thread() == 0)
        co_write64(at, all ? co_add64(s->cursor, all) : 0);
    co_block_sync();
    return co_read64(at) + before;
}

CO_INLINE void MAP(export_tile)(const struct map_sweep *s, co_u64 first, co_u32 *counts, co_u64 *shared_at)
{
    KEY keys[EXPORT_EACH];
    VALUE values[EXPORT_EACH];
    co_u32 live[EXPORT_EACH], mine = 0;
    const co_u64 last = s->slots - 1;
    first += co_warp() * (32 * EXPORT_EACH) + co_lane();
    CO_EACH_ITEM (j, EXPORT_EACH) {
        co_u64 slot = first + 32 * j, there = slot < last ? slot : last;
        live[j] = (co_u32)MAP(pair)(&s->view, there, &keys[j], &values[j]) & (co_u32)(slot == there);
    }
    CO_EACH_ITEM (j, EXPORT_EACH) {
        live[j] = co_ballot(CO_FULL_WARP, (int)live[j]);
        mine += co_ones32(live[j]);
    }
    co_u64 at = MAP(export_places)(s, mine, counts, shared_at);
    CO_EACH_ITEM (j, EXPORT_EACH) {
        co_u64 to = at + co_ones32(live[j] & ((1u << co_lane()) - 1));
        at += co_ones32(live[j]);
        if (!(live[j] >> co_lane() & 1))
            continue;
        if (sizeof(KEY) == 4)
            co_write32((co_u32 *)s->keys + to, (co_u32)keys[j]);
        else
            co_write64((co_u64 *)s->keys + to, keys[j]);
        MAP(put_value)(s->values, to, values[j]);
    }
}

/* All pairs, packed. A block has a tile of slots, some a lane, in its registers, and takes places for all
 * that are live in it at once: one counter that each warp adds to for itself would bind. */
CO_KERNEL(NAME(export), struct map_sweep)
{
    CO_SHARED(co_u32, counts, 8);
    CO_SHARED(co_u64, at, 1);
    const co_u64 tile = (co_u64)co_threads() * EXPORT_EACH;
    for (co_u64 first = co_block() * tile; first < args->slots; first += co_blocks() * tile)
        MAP(export_tile)(args, first, counts, at);
}

#undef EXPORT_EACH

/* Every pair of `view` goes into `into`: rehash, growth, merge. */
CO_KERNEL_BOUND(NAME(absorb), struct map_sweep, 256, 5)
{
    co_map_tally tally = {0, 0};
    co_u64 full = ~0ull;
    if (args->gate && !co_read64(args->gate))
        return;
    CO_EACH_WARP (base, args->slots) {
        co_u64 slot = base + co_lane();
        if (slot < args->slots && MAP(absorb)(args, slot, &tally) == CO_MAP_FULL)
            full = slot < full ? slot : full;
    }
    full = co_warp_min(full);
    if (co_lane() == 0 && full != ~0ull)
        co_min64(&args->deferred->first_full, full);
    map_flush_warp(&args->into, &tally);
}

/* Probe lengths. The histogram is kept in shared memory first. */
CO_KERNEL(NAME(stats), struct map_sweep)
{
    CO_SHARED(co_u32, bins, MAP_PROBE_BINS);
    co_u64 keys = 0, buckets = 0, most_buckets = 0, slots = 0, most_slots = 0;
    if (co_thread() < MAP_PROBE_BINS)
        co_store32(&bins[co_thread()], 0);
    co_block_sync();
    CO_EACH_WARP (base, args->slots) {
        co_u64 slot = base + co_lane(), passed = 0;
        KEY key;
        VALUE value;
        if (slot >= args->slots || !MAP(pair)(&args->view, slot, &key, &value))
            continue;
        co_u64 length = MAP(probe_length)(&args->view, key, slot, &passed);
        keys++;
        buckets += length;
        slots += passed;
        most_buckets = length > most_buckets ? length : most_buckets;
        most_slots = passed > most_slots ? passed : most_slots;
        co_add32(&bins[length < MAP_PROBE_BINS ? length - 1 : MAP_PROBE_BINS - 1], 1);
    }
    co_block_sync();
    map_add_warp(&args->probes->keys, keys);
    map_add_warp(&args->probes->buckets, buckets);
    map_add_warp(&args->probes->slots, slots);
    most_buckets = co_warp_max(most_buckets);
    most_slots = co_warp_max(most_slots);
    if (co_lane() == 0) {
        co_max64(&args->probes->most_buckets, most_buckets);
        co_max64(&args->probes->most_slots, most_slots);
    }
    if (co_thread() < MAP_PROBE_BINS)
        co_add64(&args->probes->histogram[co_thread()], co_load32(&bins[co_thread()]));
}

/* Winner words of a fresh batch: slots that are taken already say so. */
CO_KERNEL(NAME(mark), struct map_sweep)
{
    CO_EACH_WARP (base, args->slots) {
        co_u64 slot = base + co_lane();
        KEY key;
        VALUE value;
        if (slot < args->slots)
            co_write32(&args->winners[slot], MAP(pair)(&args->view, slot, &key, &value) ? MAP_WINNER_OLD : 0);
    }
}

#undef NAME
#undef FOLD_BLOCKS
#include "shape/map_end.h"
