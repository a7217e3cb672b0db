/* map.c: making, sizing, copying and ending maps. Batches are in map_batch.c, tables in map_table.c, files in
 * map_file.c. */
#include "api/map_table.h"

#include <stdlib.h>
#include <string.h>

#include "api/batch.h"
#include "api/options.h"
#include "core/seed.h"
#include "core/zeroed.h"
#include "io/memory_file.h"

#define DEFAULT_MAX_LOAD 0.8
#define ROOMY_LOAD       0.5 /* of a table that is made for a capacity, where nobody asked for a denser one */
#define LEAST_MAX_LOAD   0.01

/* ---- making and ending --------------------------------------------------------------------------------- */

/* Of what a layout other than PAGES asks for. */
static cohort_status check_lines(cohort_context *context, const cohort_map_options *o)
{
    if (o->layout != COHORT_LAYOUT_LINES)
        return context_fail(context, COHORT_RANGE,
                            "options.layout is %d; it must be COHORT_LAYOUT_PAGES or _LINES", (int)o->layout);
    if (o->probe != COHORT_PROBE_DOUBLE)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.probe is %d, which is for pages; with COHORT_LAYOUT_LINES it must be 0",
                            (int)o->probe);
    if (o->group != 0)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.group is %u, which is for pages; with COHORT_LAYOUT_LINES it must be 0",
                            (unsigned)o->group);
    if (!context->backend->lines->map.offers(context, (co_u32)o->width, 0))
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.width %d with options.layout COHORT_LAYOUT_LINES is not offered by this "
                            "device (backend %s)",
                            (int)o->width, context->backend->name);
    return COHORT_OK;
}

cohort_status map_check_options(cohort_context *context, const cohort_map_options *o)
{
    if (o->width < COHORT_WIDTH_32_0 || o->width > COHORT_WIDTH_128_64)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.width is %d; there are 1 (32/0) to 6 (128/64)", (int)o->width);
    if (o->probe != COHORT_PROBE_DOUBLE && o->probe != COHORT_PROBE_LINEAR)
        return context_fail(context, COHORT_RANGE,
                            "options.probe is %d; it must be COHORT_PROBE_DOUBLE or _LINEAR", (int)o->probe);
    if (o->capacity == 0)
        return context_fail(context, COHORT_RANGE, "options.capacity is 0; it must be at least 1");
    if (o->max_load != 0.0 && !(o->max_load >= LEAST_MAX_LOAD && o->max_load <= 1.0))
        return context_fail(context, COHORT_RANGE,
                            "options.max_load is %g; it must be from %g to 1, or 0 for %g", o->max_load,
                            LEAST_MAX_LOAD, DEFAULT_MAX_LOAD);
    if (o->fixed > 1)
        return context_fail(context, COHORT_RANGE, "options.fixed is %u; it must be 0 or 1",
                            (unsigned)o->fixed);
    if (o->group > 32 || (o->group & (o->group - 1)))
        return context_fail(context, COHORT_RANGE, "options.group is %u; it must be 0, 1, 2, 4, 8, 16 or 32",
                            (unsigned)o->group);
    if (o->group > 1 && (o->width != COHORT_WIDTH_32_32 || o->probe != COHORT_PROBE_LINEAR))
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.group is %u, which needs width 32/32 and linear probing",
                            (unsigned)o->group);
    if (o->reserved)
        return context_fail(context, COHORT_RANGE, "options.reserved is %u; it must be 0",
                            (unsigned)o->reserved);
    if (o->layout != COHORT_LAYOUT_PAGES)
        return check_lines(context, o);
    if (o->width == COHORT_WIDTH_128_64)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.width is %d (128/64), which needs options.layout COHORT_LAYOUT_LINES",
                            (int)o->width);
    if (!context->backend->map->offers(context, (co_u32)o->width, o->group))
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.width %d with group %u is not offered by this device (backend %s)",
                            (int)o->width, (unsigned)o->group, context->backend->name);
    return COHORT_OK;
}

/* Fills in a map's options, defaults and view from what the caller gave, which has been checked. */
static void take_options(cohort_map *map, const cohort_map_options *o)
{
    map->options = *o;
    map->options.size = sizeof map->options;
    if (o->max_load == 0.0)
        map->options.max_load = DEFAULT_MAX_LOAD;
    map->view.version = map_has_lines(map) ? CO_LINES_VIEW_VERSION : CO_MAP_VIEW_VERSION;
    map->view.width = (co_u32)o->width;
    map->view.linear = o->probe == COHORT_PROBE_LINEAR;
    map->view.seed = o->seed == COHORT_SEED_RANDOM ? seed_draw() : o->seed ? o->seed : MAP_DEFAULT_SEED;
}

/* In a cache of the CPU's a walk in a table at load 0.8 costs twice one at 0.5. */
static int is_roomy(const cohort_map *map, const cohort_map_options *o)
{
    return o->max_load == 0.0 && !map_has_lines(map) && map->context->backend->own_memory == MEMORY_HOST;
}

static cohort_status table_of(cohort_map *map, uint64_t slots)
{
    map_table_shape(map, slots);
    return map_table_make(map);
}

/* A table with more room than the capacity needs; 0: there is no memory for that. */
static int table_roomy(cohort_map *map, uint64_t capacity)
{
    const uint64_t slots = map_table_slots_at(ROOMY_LOAD, capacity);
    return slots && slots <= map_table_most(map) && table_of(map, slots) == COHORT_OK;
}

cohort_map *map_describe(cohort_context *context, const cohort_map_options *o)
{
    cohort_map *map = zeroed(1, sizeof *map);
    if (!map) {
        context_fail(context, COHORT_NO_MEMORY, "no memory for a map's description");
        return NULL;
    }
    map->context = context;
    take_options(map, o);
    return map;
}

cohort_status map_make(cohort_context *context, const cohort_map_options *o, cohort_map **out)
{
    uint64_t slots;
    cohort_map *map = map_describe(context, o);
    if (!map)
        return COHORT_NO_MEMORY;
    cohort_status s = map_table_capacity(map, NULL, o->capacity, &slots);
    if (!s)
        s = is_roomy(map, o) && table_roomy(map, o->capacity) ? COHORT_OK : table_of(map, slots);
    if (s)
        free(map);
    else
        *out = map;
    return s;
}

cohort_status cohort_map_create(cohort_context *context, const cohort_map_options *options, cohort_map **out)
{
    cohort_map_options o;
    if (out)
        *out = NULL;
    CALL(context);
    if (!context || !options || !out)
        return context_fail(context, COHORT_NULL, "cohort_map_create: %s is NULL",
                            !context   ? "context"
                            : !options ? "options"
                                       : "out");
    cohort_status s = options_check(context, "options", options, options->size, sizeof o,
                                    offsetof(cohort_map_options, layout), &o);
    if (!s)
        s = map_check_options(context, &o);
    return s ? s : map_make(context, &o, out);
}

void map_end(cohort_map *map)
{
    if (!map)
        return;
    context_wait(map->context);
    if (map->mapped)
        memory_file_unmap(map->mapped, map->mapped_bytes);
    else if (map->reader != MAP_READS_OTHER)
        context_release(map->context, map->table, map->table_bytes);
    free(map);
}

void cohort_map_destroy(cohort_map *map)
{
    if (!map)
        return;
    CALL_TO_END(map->context);
    map_end(map);
}

cohort_status cohort_map_clone(cohort_map *map, cohort_map **out)
{
    if (out)
        *out = NULL;
    CALL_ON(map);
    if (!map || !out)
        return context_fail(map ? map->context : NULL, COHORT_NULL, "cohort_map_clone: %s is NULL",
                            map ? "out" : "map");
    cohort_map *made = malloc(sizeof *made);
    if (!made)
        return context_fail(map->context, COHORT_NO_MEMORY, "no memory for a map's description");
    *made = *map;
    made->viewed = 0;
    made->reader = MAP_CHANGES;
    made->mapped = NULL;
    cohort_status s = map_table_make(made);
    made->fresh = map->fresh;
    made->most = map->viewed ? UINT64_MAX : map->most;
    if (!s) {
        s = context_copy(map->context, made->table, map->table, map->table_bytes);
        if (s)
            context_release(map->context, made->table, made->table_bytes);
    }
    if (s)
        free(made);
    else
        *out = made;
    return s;
}

/* ---- sizing -------------------------------------------------------------------------------------------- */

cohort_status map_size(cohort_map *map, uint64_t *pairs)
{
    struct co_map_counters c;
    cohort_status s = map_counters(map, &c);
    if (!s)
        *pairs = c.taken - c.erased;
    return s;
}

cohort_status cohort_map_size(cohort_map *map, uint64_t *size)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_size");
    REQUIRE(map->context, size, "cohort_map_size");
    return map_size(map, size);
}

cohort_status cohort_map_clear(cohort_map *map)
{
    CALL_ON(map);
    REQUIRE_CHANGES(map, "cohort_map_clear");
    return map_table_clear(map);
}

cohort_status cohort_map_reserve(cohort_map *map, uint64_t capacity)
{
    CALL_ON(map);
    struct co_map_counters c;
    REQUIRE_CHANGES(map, "cohort_map_reserve");
    cohort_status s = map_counters(map, &c);
    if (s || capacity <= map_limit(map) - (c.erased < map_limit(map) ? c.erased : map_limit(map)))
        return s;
    if (map->options.fixed && capacity > map_limit(map))
        return context_fail(map->context, COHORT_UNSUPPORTED,
                            "cohort_map_reserve: capacity %llu on a fixed map for %llu; rehash it instead",
                            (unsigned long long)capacity, (unsigned long long)map_limit(map));
    uint64_t slots, now = map_table_slots(map);
    s = map_table_capacity(map, "cohort_map_reserve", capacity, &slots);
    return s ? s : map_rebuild(map, slots > now ? slots : now, map->view.seed);
}

cohort_status map_rehash(cohort_map *map, const char *name, uint64_t capacity)
{
    uint64_t pairs, slots;
    cohort_status s = map_size(map, &pairs);
    if (!s)
        s = map_table_capacity(map, name, pairs > capacity ? pairs : capacity, &slots);
    return s ? s : map_rebuild(map, slots, map->view.seed);
}

cohort_status cohort_map_rehash(cohort_map *map, uint64_t capacity)
{
    CALL_ON(map);
    REQUIRE_CHANGES(map, "cohort_map_rehash");
    return map_rehash(map, "cohort_map_rehash", capacity);
}

/* ---- looking inside ------------------------------------------------------------------------------------ */

cohort_status cohort_map_get_options(cohort_map *map, cohort_map_options *options)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_get_options");
    REQUIRE(map->context, options, "cohort_map_get_options");
    cohort_map_options o;
    cohort_status s = options_check(map->context, "options", options, options->size, sizeof o,
                                    offsetof(cohort_map_options, layout), &o);
    if (s)
        return s;
    o = map->options;
    o.capacity = map_limit(map);
    o.seed = map->view.seed;
    options_return(options, options->size, sizeof o, &o);
    return COHORT_OK;
}

cohort_status cohort_map_get_view(cohort_map *map, struct cohort_map_view *view)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_get_view");
    REQUIRE(map->context, view, "cohort_map_get_view");
    *view = map->view;
    map->viewed = 1;
    map->fresh = 0;
    return COHORT_OK;
}

static cohort_status map_probes(cohort_map *map, struct map_probes *probes)
{
    cohort_context *context = map->context;
    struct map_sweep sweep;
    void *memory;
    memset(&sweep, 0, sizeof sweep);
    cohort_status s = pool_take(context, sizeof *probes, &memory);
    if (s)
        return s;
    sweep.view = map->view;
    sweep.slots = map_all_slots(map);
    sweep.probes = memory;
    s = context_fill(context, memory, 0, sizeof *probes);
    if (!s)
        s = map_backend_of(map)->sweep(context, &sweep, MAP_SWEEP_STATS);
    if (!s)
        s = context_copy(context, probes, memory, sizeof *probes);
    pool_give(context, memory);
    return s;
}

cohort_status cohort_map_get_stats(cohort_map *map, cohort_map_stats *stats)
{
    CALL_ON(map);
    struct co_map_counters c;
    struct map_probes p;
    cohort_map_stats out = COHORT_MAP_STATS_INIT;
    REQUIRE_MAP(map, "cohort_map_get_stats");
    REQUIRE(map->context, stats, "cohort_map_get_stats");
    cohort_status s = options_check(map->context, "stats", stats, stats->size, sizeof out,
                                    offsetof(cohort_map_stats, displaced), &out);
    if (s || (s = map_counters(map, &c)) || (s = map_probes(map, &p)))
        return s;
    out.slots = map_table_slots(map);
    out.pairs = c.taken - c.erased;
    out.erased = c.erased;
    out.table_bytes = map->table_bytes;
    out.page_bytes =
        map_has_lines(map) ? lines_home_bytes(map->view.width) : (map->view.mask + 1ull) * MAP_BUCKET_BYTES;
    out.pages = map->view.pages;
    out.seed = map->view.seed;
    out.load = (double)c.taken / (double)out.slots;
    out.probe_mean = p.keys ? (double)p.buckets / (double)p.keys : 0.0;
    out.probe_max = p.most_buckets;
    out.slot_mean = p.keys ? (double)p.slots / (double)p.keys : 0.0;
    out.slot_max = p.most_slots;
    for (int i = 0; i < COHORT_PROBE_BINS; i++)
        out.probe_histogram[i] = p.histogram[i];
    out.displaced = c.displaced;
    out.pulled_home = c.pulled;
    out.retries = c.retried;
    options_return(stats, stats->size, sizeof out, &out);
    return COHORT_OK;
}

/* ---- all pairs ----------------------------------------------------------------------------------------- */

/* Into memory of the context. Waits. */
static cohort_status export_own(cohort_map *map, void *keys, void *values, uint64_t *count)
{
    cohort_context *context = map->context;
    struct map_sweep sweep;
    memset(&sweep, 0, sizeof sweep);
    sweep.view = map->view;
    sweep.slots = map_all_slots(map);
    sweep.keys = keys;
    sweep.values = values;
    sweep.cursor = &context->outcome->cursor;
    cohort_status s = context_fill(context, sweep.cursor, 0, sizeof *sweep.cursor);
    if (!s)
        s = map_backend_of(map)->sweep(context, &sweep, MAP_SWEEP_EXPORT);
    co_u64 written = 0;
    if (!s)
        s = context_copy(context, &written, sweep.cursor, sizeof written);
    *count = written;
    return s;
}

cohort_status cohort_map_export(cohort_map *map, uint64_t capacity, void *keys, void *values, uint64_t *count)
{
    CALL_ON(map);
    static const char call[] = "cohort_map_export";
    struct batch b;
    void *own_keys = NULL, *own_values = NULL;
    uint64_t pairs, written[BATCH_WRITTEN_KINDS] = {0, 0, 0};
    REQUIRE_MAP(map, "cohort_map_export");
    REQUIRE(map->context, count, "cohort_map_export");
    cohort_status s = map_size(map, &pairs);
    if (s)
        return s;
    if (capacity < pairs) {
        *count = pairs;
        return context_fail(map->context, COHORT_FULL, "%s: capacity is %llu, the map holds %llu %s", call,
                            (unsigned long long)capacity, COUNTED(pairs, "pair", "pairs"));
    }
    batch_open(&b, map->context, call);
    map_batch_keys(&b, map, BATCH_OUT, keys, pairs, &own_keys)->written = BATCH_SOME;
    batch_array(&b, "values", BATCH_OUT | BATCH_OPTIONAL, values, pairs, map_value_bytes(map->view.width),
                &own_values)
        ->written = BATCH_SOME;
    s = batch_check_memory(&b);
    if (s)
        return s;
    *count = 0;
    if (!pairs)
        return COHORT_OK;
    s = batch_begin(&b);
    if (!s)
        s = export_own(map, own_keys, own_values, count);
    written[BATCH_SOME] = *count;
    return batch_end(&b, s, written);
}

/* By way of workspace and a batch, which knows how to grow and how to go on after it. */
cohort_status cohort_map_merge(cohort_map *into, cohort_map *from, cohort_op rule)
{
    CALL_ON(into);
    struct co_map_counters c;
    void *keys = NULL, *values = NULL;
    uint64_t count = 0;
    if (!into || !from)
        return context_fail(into   ? into->context
                            : from ? from->context
                                   : NULL,
                            COHORT_NULL, "cohort_map_merge: %s is NULL", into ? "from" : "into");
    REQUIRE_CHANGES(into, "cohort_map_merge");
    cohort_context *context = into->context;
    if (from->context != context)
        return context_fail(context, COHORT_OTHER_CONTEXT,
                            "cohort_map_merge: `from` belongs to another context than `into`");
    if (into == from || into->view.width != from->view.width)
        return context_fail(context, COHORT_RANGE, "cohort_map_merge: `from` %s",
                            into == from ? "is `into` itself" : "has another width than `into`");
    int last = map_value_bytes(into->view.width) ? COHORT_OP_EXCHANGE : COHORT_OP_ASSIGN;
    if ((int)rule < COHORT_OP_INSERT || rule == COHORT_OP_ERASE || (int)rule > last)
        return context_fail(context, COHORT_RANGE,
                            "cohort_map_merge: rule is %d, which does not merge maps of this width",
                            (int)rule);
    cohort_status s = map_counters(from, &c);
    uint64_t pairs = c.taken - c.erased, value_bytes = map_value_bytes(into->view.width);
    if (s || !pairs)
        return s;
    s = pool_take(context, pairs * map_key_bytes(into->view.width), &keys);
    if (!s && value_bytes)
        s = pool_take(context, pairs * value_bytes, &values);
    if (!s)
        s = export_own(from, keys, values, &count);
    if (!s)
        s = map_put(into, "cohort_map_merge", (co_u32)rule, count, keys, values, NULL, NULL);
    pool_give(context, values);
    pool_give(context, keys);
    return s;
}
