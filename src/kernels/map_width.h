/* kernels/map_width.h: the map's kernels for one width. Included by map.cu once per instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"

#define NAME(kind) CO_PASTE3(map_##kind, _, CO_MAP_SUFFIX)

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
    map_flush_warp(&b->view, &tally);
}

CO_KERNEL(NAME(find), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_APPLY, CO_OP_FIND);
}
CO_KERNEL(NAME(insert), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_APPLY, CO_OP_INSERT);
}
CO_KERNEL(NAME(assign), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_APPLY, CO_OP_ASSIGN);
}
CO_KERNEL(NAME(erase), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_APPLY, CO_OP_ERASE);
}
CO_KERNEL(NAME(apply), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_APPLY, args->op);
}
CO_KERNEL(NAME(run), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_RUN, 0);
}
CO_KERNEL(NAME(claim), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_CLAIM, args->op);
}
CO_KERNEL(NAME(settle), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_SETTLE, args->op);
}
CO_KERNEL(NAME(get), struct map_batch)
{
    MAP(batch)(args, MAP_STEP_GET, CO_OP_FIND);
}

/* All pairs, packed: each block counts its live slots of a stretch, takes that many places, and fills them. */
CO_KERNEL(NAME(export), struct map_sweep)
{
    CO_EACH_WARP (base, args->slots) {
        co_u64 slot = base + co_lane();
        KEY key = 0;
        VALUE value = 0;
        int live = slot < args->slots && MAP(pair)(&args->view, slot, &key, &value);
        co_u32 all = co_ballot(CO_FULL_WARP, live);
        co_u64 at = 0;
        if (co_lane() == 0 && all)
            at = co_add64(args->cursor, map_bits(all));
        at = co_shuffle64(CO_FULL_WARP, at, 0) + map_bits(all & ((1u << co_lane()) - 1));
        if (!live)
            continue;
        if (sizeof(KEY) == 4)
            co_write32((co_u32 *)args->keys + at, (co_u32)key);
        else
            co_write64((co_u64 *)args->keys + at, key);
        MAP(put_value)(args->values, at, value);
    }
}

/* Every pair of `view` goes into `into`: rehash, growth, merge. */
CO_KERNEL(NAME(absorb), struct map_sweep)
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
#include "shape/map_end.h"
