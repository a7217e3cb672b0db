/* fuzz_table_file.c: cohort_map_map of any bytes. What opens holds as many pairs as it says, each found with
 * its value, and a copy of it can be changed. */
#include "file_input.h"

static int has_values(cohort_width width)
{
    return width != COHORT_WIDTH_32_0 && width != COHORT_WIDTH_64_0;
}

static void check(cohort_map *map, cohort_width width, uint64_t size)
{
    uint64_t count, bytes = (size + 1) * 8;
    unsigned char *keys = calloc(2, bytes), *values = calloc(1, bytes), *found = calloc(1, bytes);
    uint8_t *hit = calloc(size / 8 + 1, 1);
    void *to = has_values(width) ? values : NULL;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.hit = hit;
    if (!keys || !values || !found || !hit || cohort_map_export(map, size, keys, to, &count) || count != size)
        abort();
    if (cohort_map_find(map, size, keys, to ? found : NULL, NULL, &batch) || memcmp(values, found, bytes))
        abort();
    for (uint64_t i = 0; i < size; i++)
        if (!(hit[i / 8] >> i % 8 & 1))
            abort();
    free(hit);
    free(found);
    free(values);
    free(keys);
}

/* A copy takes other keys and loses some; where there is no slot or no memory, it says so. */
static void change(cohort_map *map, cohort_width width)
{
    uint64_t keys[2 * 64];
    cohort_map *copy = NULL;
    for (unsigned i = 0; i < 2 * 64; i++)
        keys[i] = i * 0x9e3779b97f4a7c15u;
    if (cohort_map_insert(map, 64, keys, keys, NULL) != COHORT_UNSUPPORTED || cohort_map_clone(map, &copy))
        return;
    const void *values = has_values(width) ? keys : NULL;
    cohort_status status = cohort_map_insert(copy, 64, keys, values, NULL);
    if (status && status != COHORT_FULL && status != COHORT_NO_MEMORY)
        abort();
    if (cohort_map_erase(copy, 64, keys, NULL))
        abort();
    cohort_map_destroy(copy);
}

static void load(const char *path)
{
    cohort_map *map = NULL;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_status status = cohort_map_map(fuzz_context(), path, &map);
    if (!status != (map != NULL) || status == COHORT_IO || status == COHORT_NULL ||
        status == COHORT_BAD_STRUCT)
        abort();
    if (!map)
        return;
    if (cohort_map_get_options(map, &options) || cohort_map_get_stats(map, &stats))
        abort();
    if (stats.pairs <= 1u << 16)
        check(map, options.width, stats.pairs);
    change(map, options.width);
    cohort_map_destroy(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_both(data, size, FILE_TABLE, 3, load);
    return 0;
}
