/* map_file.c: maps to files and back. */
#include "io/map_file.h"

#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/map.h"
#include "api/stream.h"

static cohort_status save(cohort_map *map, const struct file_stream *to)
{
    struct co_map_counters c;
    struct map_file file;
    cohort_status s = map_counters(map, &c);
    if (s)
        return s;
    memset(&file, 0, sizeof file);
    file.options.size = sizeof file.options;
    if ((s = cohort_map_get_options(map, &file.options)))
        return s;
    uint64_t pairs = c.taken - c.erased, value_bytes = map_value_bytes(map->view.width);
    file.keys = pairs ? malloc(pairs * map_key_bytes(map->view.width)) : NULL;
    file.values = pairs && value_bytes ? malloc(pairs * value_bytes) : NULL;
    if (pairs && (!file.keys || (value_bytes && !file.values)))
        s = context_fail(map->context, COHORT_NO_MEMORY, "no host memory to save %llu pairs",
                         (unsigned long long)pairs);
    if (!s)
        s = cohort_map_export(map, pairs, file.keys, file.values, &file.pairs);
    if (!s)
        s = map_file_write(map->context, to, &file);
    free(file.keys);
    free(file.values);
    return s;
}

cohort_status cohort_map_save(cohort_map *map, const char *path)
{
    CALL_ON(map);
    const struct file_stream to = stream_path(path);
    cohort_status s =
        stream_check_save(map ? map->context : NULL, "cohort_map_save", "map", map, "path", &to);
    return s ? s : save(map, &to);
}

cohort_status cohort_map_save_to(cohort_map *map, const cohort_output *output)
{
    CALL_ON(map);
    const struct file_stream to = stream_output(output);
    cohort_status s =
        stream_check_save(map ? map->context : NULL, "cohort_map_save_to", "map", map, "output", &to);
    return s ? s : save(map, &to);
}

/* A map with the options of a file; a growing one with room for its pairs, since what a file says of room to
 * grow does not size an allocation. Lanes a key are a matter of speed alone: a device that has no groups does
 * without. */
static cohort_status create_from_file(cohort_context *context, const struct file_stream *from,
                                      const struct map_file *file, cohort_map **out)
{
    cohort_map_options o = file->options;
    if (!o.fixed)
        o.capacity = file->pairs ? file->pairs : 1;
    if (o.group > 1 && !context->backend->map->offers(context, (co_u32)o.width, o.group))
        o.group = 0;
    cohort_status s = cohort_map_create(context, &o, out);
    if (s == COHORT_RANGE || s == COHORT_OVERFLOW) /* no map has such options, so none was saved */
        s = file_fail(context, COHORT_CORRUPT, from, "%s", cohort_message(context));
    return s;
}

/* All pairs of a file into its map. A fixed map that was nearly full may have no slot for some of them now:
 * each key takes the first free slot within its reach, and so the order in which keys come decides whether
 * the last ones still find one. Then the map gets a larger table with another seed, until all are in. */
static cohort_status insert_from_file(cohort_map *map, const struct file_stream *from,
                                      const struct map_file *file)
{
    const uint64_t most = map_all_slots(map);
    if (file->options.fixed && file->pairs > most)
        return file_fail(map->context, COHORT_CORRUPT, from, "%llu pairs in a fixed map of %llu slots",
                         (unsigned long long)file->pairs, (unsigned long long)most);
    char kept[MESSAGE_BYTES];
    context_keep_message(map->context, kept);
    cohort_status s = cohort_map_insert(map, file->pairs, file->keys, file->values, NULL);
    while (s == COHORT_FULL) {
        s = map_rebuild(map, map_more_slots(map_table_slots(map)), co_hash(map->view.seed, map->view.seed));
        if (!s)
            s = cohort_map_insert(map, file->pairs, file->keys, file->values, NULL);
    }
    if (!s)
        context_give_message_back(map->context, kept);
    return s;
}

/* Every key of a file is there once. */
static cohort_status check_from_file(cohort_map *map, const struct file_stream *from,
                                     const struct map_file *file)
{
    uint64_t size = 0;
    cohort_status s = cohort_map_size(map, &size);
    if (s || size == file->pairs)
        return s;
    return file_fail(map->context, COHORT_CORRUPT, from, "%llu pairs have only %llu keys",
                     (unsigned long long)file->pairs, (unsigned long long)size);
}

cohort_status map_load(cohort_context *context, const struct file_stream *from, cohort_map **out)
{
    struct map_file file;
    cohort_map *map = NULL;
    cohort_status s = map_file_read(context, from, &file);
    if (s)
        return s;
    s = create_from_file(context, from, &file, &map);
    if (!s)
        s = insert_from_file(map, from, &file);
    if (!s)
        s = check_from_file(map, from, &file);
    free(file.keys);
    free(file.values);
    if (s)
        cohort_map_destroy(map);
    else
        *out = map;
    return s;
}

cohort_status cohort_map_load(cohort_context *context, const char *path, cohort_map **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_path(path);
    cohort_status s = stream_check_load(context, "cohort_map_load", "path", &from, out);
    return s ? s : map_load(context, &from, out);
}

cohort_status cohort_map_load_from(cohort_context *context, const cohort_input *input, cohort_map **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_input(input);
    cohort_status s = stream_check_load(context, "cohort_map_load_from", "input", &from, out);
    return s ? s : map_load(context, &from, out);
}
