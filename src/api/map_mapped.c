/* map_mapped.c: tables of maps in files, and maps that are read where their file is mapped.
 *
 * A file of a table is the table's memory behind its numbers, so that opening it builds nothing, and several
 * processes have it in memory once. What is opened is judged whole before anybody looks into it. */
#include "io/memory_file.h"

#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/map_table.h"
#include "api/stream.h"

#define TABLE_VERSION 1u /* of hash, walk and slots: who changes where a key lies changes this */

enum { VERSION, LAYOUT, WIDTH, PROBE, SLOTS, SEED, MAX_LOAD, FIXED, GROUP, FILTER };
static const char *const names[MAP_TABLE_NUMBERS] = {"version", "layout",   "width", "probe", "slots",
                                                     "seed",    "max_load", "fixed", "group", "filter"};

/* ---- saving -------------------------------------------------------------------------------------------- */

static void put_numbers(const cohort_map *map, uint64_t *v)
{
    const cohort_map_options *o = &map->options;
    v[VERSION] = TABLE_VERSION;
    v[LAYOUT] = o->layout;
    v[WIDTH] = o->width;
    v[PROBE] = o->probe;
    v[SLOTS] = map_table_slots(map);
    v[SEED] = map->view.seed;
    memcpy(&v[MAX_LOAD], &o->max_load, 8);
    v[FIXED] = o->fixed;
    v[GROUP] = o->group;
    v[FILTER] = map->view.far != 0;
}

cohort_status map_on_host(cohort_context *context, const char *call, const void *memory, uint64_t bytes,
                          const void **host, void **copy)
{
    *host = memory;
    if (context->backend->own_memory == MEMORY_HOST)
        return COHORT_OK;
    *host = *copy = bytes <= SIZE_MAX ? malloc((size_t)bytes) : NULL;
    if (!*copy)
        return context_fail(context, COHORT_NO_MEMORY, "%s: no host memory for a table of %llu bytes", call,
                            (unsigned long long)bytes);
    return context_copy(context, *copy, memory, bytes);
}

cohort_status map_table_to_file(const cohort_map *map, const char *call, struct memory_file *file,
                                void **copy)
{
    const void *table;
    cohort_status s = map_on_host(map->context, call, map->table, map->table_bytes, &table, copy);
    put_numbers(map, file->numbers);
    file->bytes[0] = map_table_counters_offset(map);
    file->bytes[1] = map->table_bytes - file->bytes[0];
    file->parts[0] = table;
    file->parts[1] = (const char *)table + file->bytes[0];
    return s;
}

static cohort_status save(cohort_map *map, const char *call, const struct file_stream *to)
{
    struct memory_file file = {{0}, {0}, {NULL}, 0, NULL, 0};
    void *copy = NULL;
    cohort_status s = context_wait(map->context);
    if (!s)
        s = map_table_to_file(map, call, &file, &copy);
    if (!s)
        s = memory_file_write(map->context, to, FILE_TABLE, &file);
    free(copy);
    return s;
}

cohort_status cohort_map_save_table(cohort_map *map, const char *path)
{
    static const char call[] = "cohort_map_save_table";
    CALL_ON(map);
    const struct file_stream to = stream_path(path);
    cohort_status s = stream_check_save(map ? map->context : NULL, call, "map", map, "path", &to);
    return s ? s : save(map, call, &to);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* The numbers, each within what it may be; of them `used` are not reserved. */
static cohort_status read_numbers(cohort_context *context, const struct file_stream *from,
                                  const struct memory_file *file, unsigned used, cohort_map_options *o)
{
    const uint64_t *v = file->numbers;
    if (v[VERSION] != TABLE_VERSION)
        return file_fail(context, COHORT_BAD_VERSION, from, "a table of version %llu, not %u",
                         (unsigned long long)v[VERSION], TABLE_VERSION);
    memcpy(&o->max_load, &v[MAX_LOAD], 8);
    const int lines = v[LAYOUT] == COHORT_LAYOUT_LINES,
              width = v[WIDTH] >= COHORT_WIDTH_32_0 &&
                      v[WIDTH] <= (lines ? COHORT_WIDTH_128_64 : COHORT_WIDTH_64_64);
    const uint64_t most = !width  ? 0
                          : lines ? lines_slots_most((co_u32)v[WIDTH])
                                  : map_slots_most((co_u32)v[WIDTH]);
    const int good[MAP_TABLE_NUMBERS] = {
        [VERSION] = 1,
        [LAYOUT] = lines || v[LAYOUT] == COHORT_LAYOUT_PAGES,
        [WIDTH] = width,
        [PROBE] = v[PROBE] <= (lines ? COHORT_PROBE_DOUBLE : COHORT_PROBE_LINEAR),
        [SLOTS] = v[SLOTS] >= 1 && v[SLOTS] <= most,
        [SEED] = 1,
        [MAX_LOAD] = o->max_load > 0 && o->max_load <= 1,
        [FIXED] = v[FIXED] <= 1,
        [GROUP] = v[GROUP] <= (lines ? 0 : 32),
        [FILTER] = v[FILTER] <= (!lines && v[PROBE] == COHORT_PROBE_DOUBLE),
    };
    for (unsigned i = 0; i < MAP_TABLE_NUMBERS; i++)
        if (!good[i])
            return memory_file_bad(context, from, file, i, names[i]);
    o->layout = (cohort_layout)v[LAYOUT];
    o->width = (cohort_width)v[WIDTH];
    o->probe = (cohort_probe)v[PROBE];
    o->capacity = v[SLOTS];
    o->seed = v[SEED];
    o->fixed = (uint32_t)v[FIXED];
    o->group = (uint32_t)v[GROUP];
    return memory_file_reserved(context, from, file, used);
}

/* Sets the map's shape, by which the parts must have so many bytes. */
static cohort_status take_shape(cohort_map *map, const struct file_stream *from,
                                const struct memory_file *file)
{
    const uint64_t *v = file->numbers;
    map->view.seed = v[SEED];
    map_table_shape(map, v[SLOTS]);
    map->view.far = v[FILTER] ? co_map_far_from(map->view.mask) : 0;
    if (map_table_slots(map) != v[SLOTS])
        return file_fail(map->context, COHORT_CORRUPT, from, "no table has %llu slots",
                         (unsigned long long)v[SLOTS]);
    map->table_bytes = map_table_all_bytes(map);
    const uint64_t first = map_table_counters_offset(map), second = map->table_bytes - first;
    if (file->bytes[0] == first && file->bytes[1] == second)
        return COHORT_OK;
    return file_fail(map->context, COHORT_CORRUPT, from,
                     "%llu and %llu bytes of slots and counters, not %llu and %llu",
                     (unsigned long long)file->bytes[0], (unsigned long long)file->bytes[1],
                     (unsigned long long)first, (unsigned long long)second);
}

/* The table where it is mapped, or on a device of other memory a copy of it there. */
static cohort_status take_table(cohort_map *map, const struct file_stream *from, struct memory_file *file)
{
    map->table = (void *)file->parts[0];
    map_table_place(map);
    cohort_status s = map_check_table(map, from);
    if (s)
        return s;
    if (map->context->backend->own_memory == MEMORY_HOST) {
        map->mapped_bytes = file->mapped_bytes;
        map->mapped = memory_file_give(file);
        return COHORT_OK;
    }
    s = map_table_make(map);
    if (s)
        return s;
    s = context_copy(map->context, map->table, file->parts[0], map->table_bytes);
    if (s)
        context_release(map->context, map->table, map->table_bytes);
    return s;
}

/* A map of the numbers' options, without a table. */
static cohort_status describe(cohort_context *context, const struct file_stream *from,
                              const struct memory_file *file, unsigned used, cohort_map **out)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_status s = read_numbers(context, from, file, used, &o);
    if (s)
        return s;
    /* A device that has no groups of lanes does without. */
    if (o.group > 1 && o.width == COHORT_WIDTH_32_32 && o.probe == COHORT_PROBE_LINEAR &&
        !context->backend->map->offers(context, (co_u32)o.width, o.group))
        o.group = 0;
    s = map_check_options(context, &o);
    if (s == COHORT_RANGE || (s && o.group > 1)) /* no map has such options, so none was saved */
        s = file_fail(context, COHORT_CORRUPT, from, "%s", cohort_message(context));
    if (s)
        return s;
    *out = map_describe(context, &o);
    return *out ? COHORT_OK : COHORT_NO_MEMORY;
}

cohort_status map_table_from_file(cohort_context *context, const struct file_stream *from,
                                  struct memory_file *file, unsigned used, cohort_map **out)
{
    cohort_map *map = NULL;
    cohort_status s = describe(context, from, file, used, &map);
    if (!s)
        s = take_shape(map, from, file);
    if (!s)
        s = take_table(map, from, file);
    if (s) {
        free(map);
        return s;
    }
    map->fresh = 0;
    map->most = UINT64_MAX;
    map->reader = MAP_READS_FILE;
    *out = map;
    return COHORT_OK;
}

static cohort_status open_table(cohort_context *context, const struct file_stream *from, cohort_map **out)
{
    struct memory_file file;
    cohort_status s = memory_file_map(context, from, FILE_TABLE, 1, &file);
    if (s)
        return s;
    s = map_table_from_file(context, from, &file, MAP_TABLE_NUMBERS, out);
    memory_file_free(&file);
    return s;
}

cohort_status cohort_map_map(cohort_context *context, const char *path, cohort_map **out)
{
    uint32_t kind = 0;
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_path(path);
    cohort_status s = stream_check_load(context, "cohort_map_map", "path", &from, out);
    if (!s)
        s = file_kind_of(context, &from, &kind);
    if (!s)
        s = kind == FILE_MAP ? map_load(context, &from, out) : open_table(context, &from, out);
    if (!s)
        (*out)->reader = MAP_READS_FILE;
    return s;
}
