/* fuzz_map_file.c: cohort_map_load of any bytes. What loads must hold as many pairs as it says, each found
 * with its value. */
#include "file_input.h"

static void check(cohort_map *map)
{
    uint64_t size, count, keys[2 * 512], values[512], found[512];
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    if (cohort_map_size(map, &size) || cohort_map_get_options(map, &options))
        abort();
    if (size > 512)
        return;
    memset(values, 0, sizeof values);
    memset(found, 0, sizeof found);
    int has_values = options.width != COHORT_WIDTH_32_0 && options.width != COHORT_WIDTH_64_0;
    if (cohort_map_export(map, 512, keys, has_values ? values : NULL, &count) || count != size)
        abort();
    if (has_values &&
        (cohort_map_find(map, count, keys, found, NULL, NULL) || memcmp(values, found, sizeof found)))
        abort();
}

static void load(const char *path)
{
    cohort_map *map = NULL;
    cohort_status status = cohort_map_load(fuzz_context(), path, &map);
    if (!status != (map != NULL) || status == COHORT_IO || status == COHORT_NULL ||
        status == COHORT_BAD_STRUCT)
        abort();
    if (map)
        check(map);
    cohort_map_destroy(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_both(data, size, FILE_MAP, 3, load);
    return 0;
}
