/* write.c: writes the files of this folder with whatever library it is linked with (README.md). Keys are i *
 * ODD cut to their width, for i from 0 on, and at last the two that look like marks; the value of key i is i
 * + 1, of a multimap's key i the values are i and i + 1000000 as often as i % 3 says.
 *
 *     write FOLDER         map-W.bin and table-W.bin of each width W, map-lines-W.bin and table-lines-W.bin
 *                      of the layout LINES, multimap-W.bin and multimap-table-W.bin of each that has
 *                      values, sets-32.bin and sets-64.bin */
#include <cohort.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ODD   0x9e3779b97f4a7c15u
#define PAIRS 20u

static const struct {
    cohort_width width;
    const char *name;
    unsigned key_bytes, value_bytes;
} widths[] = {{COHORT_WIDTH_32_0, "32-0", 4, 0},   {COHORT_WIDTH_32_32, "32-32", 4, 4},
              {COHORT_WIDTH_64_0, "64-0", 8, 0},   {COHORT_WIDTH_64_32, "64-32", 8, 4},
              {COHORT_WIDTH_64_64, "64-64", 8, 8}, {COHORT_WIDTH_128_64, "128-64", 16, 8}};

static uint64_t key_of(uint64_t i)
{
    return i < PAIRS - 2 ? i * ODD : UINT64_MAX - (i - (PAIRS - 2));
}

/* Of 16 bytes: the even bits of the value in one word, the odd ones in the other, each twice
 * (tests/test.h). */
static void put(void *array, uint64_t i, unsigned bytes, uint64_t value)
{
    const uint64_t even = value & 0x5555555555555555u, odd = value & ~UINT64_C(0x5555555555555555);
    const uint64_t wide[2] = {even | even << 1, odd | odd >> 1};
    memcpy((char *)array + i * bytes, bytes == 16 ? wide : &value, bytes); /* a little-endian machine */
}

static void must(cohort_status status, const cohort_context *context)
{
    if (!status)
        return;
    fprintf(stderr, "write: %s\n", cohort_message(context));
    exit(1);
}

static void write_map(cohort_context *context, unsigned w, cohort_layout layout, const char *path,
                      const char *table)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    uint64_t keys[2 * PAIRS], values[PAIRS];
    cohort_map *map;
    options.width = widths[w].width;
    options.layout = layout;
    options.capacity = 5;
    options.seed = 77;
    options.max_load = 0.7;
    options.fixed = w % 2;
    if (options.fixed)
        options.capacity = PAIRS;
    must(cohort_map_create(context, &options, &map), context);
    for (uint64_t i = 0; i < PAIRS; i++) {
        put(keys, i, widths[w].key_bytes, key_of(i));
        put(values, i, widths[w].value_bytes, i + 1);
    }
    must(cohort_map_insert(map, PAIRS, keys, widths[w].value_bytes ? values : NULL, NULL), context);
    must(cohort_map_save(map, path), context);
    must(cohort_map_save_table(map, table), context);
    cohort_map_destroy(map);
}

static void write_multimap(cohort_context *context, unsigned w, const char *path, const char *table)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    uint64_t keys[4 * PAIRS], values[4 * PAIRS], n = 0;
    cohort_multimap *multimap;
    options.width = widths[w].width;
    options.seed = 78;
    for (uint64_t i = 0; i < PAIRS; i++)
        for (uint64_t j = 0; j <= i % 3; j++, n++) {
            put(keys, n, widths[w].key_bytes, key_of(i));
            put(values, n, widths[w].value_bytes, i + j * 1000000);
        }
    must(cohort_multimap_build(context, &options, n, keys, values, NULL, &multimap), context);
    must(cohort_multimap_save(multimap, path), context);
    must(cohort_multimap_save_table(multimap, table), context);
    cohort_multimap_destroy(multimap);
}

/* Set s has `n` members, `step` apart: lists, nothing, and each kind of chunk. With 64 bits those of odd sets
 * are 2^40 further up. */
static const struct {
    uint64_t n, first, step;
} sets[] = {{3, 5, 60000},      {0, 0, 1},           {40, 0, 3},     {1000, 5000, 1},
            {8000, 0x30000, 8}, {65540, 0x20000, 1}, {2000, 7, 3000}};
#define SETS (sizeof sets / sizeof *sets)

static void write_sets(cohort_context *context, unsigned bytes, const char *path)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    uint64_t offsets[SETS + 1] = {0};
    cohort_sets *collection;
    for (unsigned s = 0; s < SETS; s++)
        offsets[s + 1] = offsets[s] + sets[s].n;
    char *members = malloc(offsets[SETS] * bytes);
    for (unsigned s = 0; members && s < SETS; s++)
        for (uint64_t i = 0; i < sets[s].n; i++)
            put(members, offsets[s] + i, bytes,
                sets[s].first + i * sets[s].step + (bytes == 8 && s % 2 ? UINT64_C(1) << 40 : 0));
    source.type = bytes == 8 ? COHORT_U64 : COHORT_U32;
    source.n = offsets[SETS];
    source.sets = SETS;
    source.members = members;
    source.offsets = offsets;
    must(cohort_sets_build(context, &source, &collection), context);
    must(cohort_sets_save(collection, path), context);
    cohort_sets_destroy(collection);
    free(members);
}

int main(int argc, char **argv)
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context *context;
    char path[4096], table[4096];
    if (argc != 2)
        return 2;
    options.device = "cpu";
    must(cohort_context_create(&options, &context), NULL);
    for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
        snprintf(path, sizeof path, "%s/map-%s.bin", argv[1], widths[w].name);
        snprintf(table, sizeof table, "%s/table-%s.bin", argv[1], widths[w].name);
        if (widths[w].key_bytes < 16)
            write_map(context, w, COHORT_LAYOUT_PAGES, path, table);
        snprintf(path, sizeof path, "%s/map-lines-%s.bin", argv[1], widths[w].name);
        snprintf(table, sizeof table, "%s/table-lines-%s.bin", argv[1], widths[w].name);
        write_map(context, w, COHORT_LAYOUT_LINES, path, table);
        snprintf(path, sizeof path, "%s/multimap-%s.bin", argv[1], widths[w].name);
        snprintf(table, sizeof table, "%s/multimap-table-%s.bin", argv[1], widths[w].name);
        if (widths[w].value_bytes && widths[w].key_bytes < 16)
            write_multimap(context, w, path, table);
    }
    for (unsigned bytes = 4; bytes <= 8; bytes += 4) {
        snprintf(path, sizeof path, "%s/sets-%u.bin", argv[1], 8 * bytes);
        write_sets(context, bytes, path);
    }
    cohort_context_destroy(context);
    return 0;
}
