/* map_table.c: the table of a map: how large it is to be, making and emptying it, its counters, and a larger
 * one with the same pairs. */
#include "api/map_table.h"

#include <string.h>

#define LARGE_TABLE (64ull << 20) /* bytes from which on a table is compared with the device's memory */
#define FILTER_LOAD 0.9           /* greatest load of a growing map whose walks are short without a filter */

/* ---- sizes --------------------------------------------------------------------------------------------- */

int map_has_lines(const cohort_map *map)
{
    return map->options.layout == COHORT_LAYOUT_LINES;
}

const struct map_backend *map_backend_of(const cohort_map *map)
{
    const struct backend *backend = map->context->backend;
    return map_has_lines(map) ? &backend->lines->map : backend->map;
}

uint64_t map_table_slots(const cohort_map *map)
{
    return map_has_lines(map) ? lines_slots(&map->view) : map_slots(&map->view);
}

uint64_t map_all_slots(const cohort_map *map)
{
    return map_has_lines(map) ? lines_slots(&map->view) : map_slots(&map->view) + MAP_SIDE_SLOTS;
}

uint64_t map_table_most(const cohort_map *map)
{
    return map_has_lines(map) ? lines_slots_most(map->view.width) : map_slots_most(map->view.width);
}

/* Can slots become few? Then walks that find nothing are bounded by a filter (device/map_far.h), which linear
 * probing would fill: its walks are far ones. */
static int wants_filter(const cohort_map *map)
{
    const cohort_map_options *o = &map->options;
    return o->probe == COHORT_PROBE_DOUBLE && (o->fixed || o->max_load > FILTER_LOAD);
}

int map_table_shape(cohort_map *map, uint64_t slots)
{
    if (map_has_lines(map))
        return lines_shape(&map->view, slots);
    if (!map_shape(&map->view, slots))
        return 0;
    map->view.far = wants_filter(map) ? co_map_far_from(map->view.mask) : 0;
    return 1;
}

uint64_t map_table_counters_offset(const cohort_map *map)
{
    return map_has_lines(map) ? lines_counters_offset(&map->view) : map_counters_offset(&map->view);
}

uint64_t map_table_all_bytes(const cohort_map *map)
{
    return map_has_lines(map) ? lines_table_bytes(&map->view) : map_table_bytes(&map->view);
}

co_u32 map_table_spread(const cohort_map *map)
{
    return map_has_lines(map) ? 1 : co_map_spread(&map->view);
}

uint64_t map_table_slots_at(double load, uint64_t pairs)
{
    pairs = pairs ? pairs : 1;
    if (load == 1.0)
        return pairs;
    if ((double)pairs / load >= 9e18)
        return 0;
    uint64_t slots = (uint64_t)((double)pairs / load);
    while ((uint64_t)((double)slots * load) < pairs)
        slots += slots / 4503599627370496ull + 1; /* the division rounded down, or doubles are too coarse */
    return slots;
}

uint64_t map_slots_for(const cohort_map *map, uint64_t pairs)
{
    return map_table_slots_at(map->options.max_load, pairs);
}

cohort_status map_table_capacity(const cohort_map *map, const char *call, uint64_t pairs, uint64_t *slots)
{
    *slots = map_slots_for(map, pairs);
    if (*slots && *slots <= map_table_most(map))
        return COHORT_OK;
    return context_fail(map->context, COHORT_OVERFLOW,
                        "%s%s is %llu; the largest table of this width has %llu slots", call ? call : "",
                        call ? ": capacity" : "options.capacity", (unsigned long long)pairs,
                        (unsigned long long)map_table_most(map));
}

uint64_t map_limit(const cohort_map *map)
{
    return (uint64_t)((double)map_table_slots(map) * map->options.max_load);
}

uint64_t map_more_slots(uint64_t slots)
{
    return slots / 16 >= UINT64_MAX - slots ? 0 : slots + slots / 16 + 1;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

cohort_status map_table_clear(cohort_map *map)
{
    uint64_t slots = map_table_counters_offset(map), others = map_table_all_bytes(map) - slots;
    cohort_status s = context_fill(map->context, map->table, map_has_lines(map) ? 0 : 0xff, slots);
    if (!s)
        s = context_fill(map->context, (char *)map->table + slots, 0, others);
    if (s)
        return s;
    map->fresh = !map->viewed;
    map->most = 0;
    return COHORT_OK;
}

void map_table_place(cohort_map *map)
{
    map->view.slots = map->table;
    map->view.counters =
        (struct co_map_counters *)(void *)((char *)map->table + map_table_counters_offset(map));
    map->view.filter = NULL;
    if (map->view.far)
        map->view.filter = (co_u64 *)(void *)((char *)map->table + map_filter_offset(&map->view));
}

/* To ask what memory there is takes ten times as long as to make a small table: that is done for large ones,
 * before the system promises what it does not have, and for the message. */
cohort_status map_table_make(cohort_map *map)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_status s = COHORT_OK;
    map->table_bytes = map_table_all_bytes(map);
    info.memory_bytes = UINT64_MAX;
    if (map->table_bytes >= LARGE_TABLE)
        s = map->context->backend->context->info(map->context, &info);
    if (s)
        return s;
    map->table = map->table_bytes <= info.memory_bytes ? context_alloc(map->context, map->table_bytes) : NULL;
    if (!map->table && map->table_bytes < LARGE_TABLE)
        s = map->context->backend->context->info(map->context, &info);
    if (s)
        return s;
    if (!map->table)
        return context_fail(
            map->context, COHORT_NO_MEMORY,
            "no memory for a table of %llu slots (%llu bytes); the device has %llu bytes, %llu of them free",
            (unsigned long long)map_table_slots(map), (unsigned long long)map->table_bytes,
            (unsigned long long)info.memory_bytes, (unsigned long long)info.memory_free);
    map_table_place(map);
    s = map_table_clear(map);
    if (s)
        context_release(map->context, map->table, map->table_bytes);
    return s;
}

cohort_status map_counters(cohort_map *map, struct co_map_counters *counters)
{
    struct co_map_counters all[CO_MAP_SPREAD];
    const co_u32 spread = map_table_spread(map);
    cohort_status s = context_copy(map->context, all, map->view.counters, spread * sizeof *all);
    memset(counters, 0, sizeof *counters);
    for (co_u32 i = 0; i < spread && !s; i++) {
        counters->taken += all[i].taken;
        counters->erased += all[i].erased;
        counters->displaced += all[i].displaced;
        counters->pulled += all[i].pulled;
        counters->retried += all[i].retried;
    }
    if (!s)
        map->most = counters->taken;
    return s;
}

/* Puts all pairs of `from` into `to`, an empty map; *full says whether some found no slot. Waits. */
static cohort_status table_absorb(cohort_map *to, cohort_map *from, int *full)
{
    cohort_context *context = to->context;
    struct batch_deferred *now = &context->outcome->now, seen;
    struct map_sweep sweep;
    memset(&sweep, 0, sizeof sweep);
    sweep.view = from->view;
    sweep.slots = map_all_slots(from);
    sweep.into = to->view;
    sweep.op = CO_OP_INSERT;
    sweep.deferred = now;
    sweep.fresh = from->view.seed == to->view.seed;
    to->fresh = 0;
    to->most = from->viewed ? UINT64_MAX : from->most;
    cohort_status s = context_fill(context, now, 0xff, sizeof *now);
    if (!s)
        s = map_backend_of(to)->sweep(context, &sweep, MAP_SWEEP_ABSORB);
    if (!s)
        s = context_copy(context, &seen, now, sizeof seen);
    *full = !s && seen.first_full != ~0ull;
    return s;
}

cohort_status map_rebuild(cohort_map *map, uint64_t slots, uint64_t seed)
{
    cohort_map made = *map;
    made.viewed = 0;
    for (int full = 1; full;) {
        made.view.seed = seed;
        if (!slots || !map_table_shape(&made, slots))
            return context_fail(map->context, COHORT_NO_MEMORY, "a table of %llu slots is beyond the largest",
                                (unsigned long long)slots);
        cohort_status s = map_table_make(&made);
        if (s)
            return s;
        s = table_absorb(&made, map, &full);
        if (s || full)
            context_release(map->context, made.table, made.table_bytes);
        if (s)
            return s;
        slots = map_more_slots(map_table_slots(&made));
        seed = co_hash(seed, MAP_DEFAULT_SEED);
    }
    context_release(map->context, map->table, map->table_bytes);
    *map = made;
    return COHORT_OK;
}
