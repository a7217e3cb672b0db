/* map_file.c: maps to files and back. */
#include "io/map_file.h"

#include <stdlib.h>
#include <string.h>

#include "api/map.h"

cohort_status cohort_map_save(cohort_map *map, const char *path)
{
    struct co_map_counters c;
    struct map_file file;
    REQUIRE_MAP(map, "cohort_map_save");
    REQUIRE(map->context, path, "cohort_map_save");
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
        s = map_file_write(map->context, path, &file);
    free(file.keys);
    free(file.values);
    return s;
}

/* A map with the options of a file; a growing one with room for its pairs, since what a file says of room to grow does not size an
 * allocation. Lanes a key are a matter of speed alone: a device that has no groups does without. */
static cohort_status create_from_file(cohort_context *context, const char *path, const struct map_file *file,
                                      cohort_map **out)
{
    cohort_map_options o = file->options;
    if (!o.fixed)
        o.capacity = file->pairs ? file->pairs : 1;
    if (o.group > 1 && !context->backend->map_offers(context, (co_u32)o.width, o.group))
        o.group = 0;
    cohort_status s = cohort_map_create(context, &o, out);
    if (s == COHORT_RANGE || s == COHORT_OVERFLOW) /* no map has such options, so none was saved */
        s = context_fail(context, COHORT_CORRUPT, "path '%.256s': %s", path, cohort_message(context));
    return s;
}

cohort_status cohort_map_load(cohort_context *context, const char *path, cohort_map **out)
{
    struct map_file file;
    cohort_map *map = NULL;
    if (out)
        *out = NULL;
    if (!context || !path || !out)
        return context_fail(context, COHORT_NULL, "cohort_map_load: %s is NULL",
                            !context ? "context"
                            : !path  ? "path"
                                     : "out");
    cohort_status s = map_file_read(context, path, &file);
    if (s)
        return s;
    uint64_t size = 0;
    s = create_from_file(context, path, &file, &map);
    if (!s)
        s = cohort_map_insert(map, file.pairs, file.keys, file.values, NULL);
    if (s == COHORT_FULL)
        s = context_fail(context, COHORT_CORRUPT,
                         "path '%.256s': %llu pairs do not fit in the capacity that it says, %llu", path,
                         (unsigned long long)file.pairs, (unsigned long long)file.options.capacity);
    if (!s)
        s = cohort_map_size(map, &size);
    if (!s && size != file.pairs)
        s = context_fail(context, COHORT_CORRUPT, "path '%.256s': %llu pairs have only %llu keys", path,
                         (unsigned long long)file.pairs, (unsigned long long)size);
    free(file.keys);
    free(file.values);
    if (s)
        cohort_map_destroy(map);
    else
        *out = map;
    return s;
}
