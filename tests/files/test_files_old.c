/* test_files_old.c: files of every version ever written: tests/data, whose write.c says what is in them. */
#include <dirent.h>
#include <errno.h>

#include "subject.h"

#define OLD_PAIRS 20u

static uint64_t old_key(cohort_width width, uint64_t i)
{
    return (i < OLD_PAIRS - 2 ? i * 0x9e3779b97f4a7c15u : UINT64_MAX - (i - (OLD_PAIRS - 2))) &
           key_mask(width);
}

static struct column *old_keys(struct test *t, cohort_width width)
{
    struct column *keys = column_new(t, OLD_PAIRS, key_bytes(width));
    for (uint64_t i = 0; i < OLD_PAIRS; i++)
        column_put(keys, i, old_key(width, i));
    return keys;
}

static void check_old_map(struct test *t, cohort_map *map, unsigned w)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_batch batch = COHORT_BATCH_INIT;
    uint64_t size;
    OK(t, cohort_map_get_options(map, &options));
    CHECK(t, (unsigned)options.width == w + 1 && options.seed == 77 && options.max_load == 0.7);
    EQUAL(t, options.fixed, w % 2);
    CHECK(t, options.capacity >= OLD_PAIRS);
    OK(t, cohort_map_size(map, &size));
    EQUAL(t, size, OLD_PAIRS);
    struct column *keys = old_keys(t, options.width), *hit = column_new(t, 1, 4),
                  *values =
                      column_new(t, OLD_PAIRS, value_bytes(options.width) ? value_bytes(options.width) : 4);
    batch.hit = column_send(hit);
    OK(t, cohort_map_find(map, OLD_PAIRS, column_send(keys),
                          value_bytes(options.width) ? column_send(values) : NULL, NULL, &batch));
    OK(t, cohort_wait(t->context));
    column_fetch(hit);
    EQUAL(t, *(uint32_t *)hit->data & 0xffffff, (1u << OLD_PAIRS) - 1); /* in three bytes */
    if (value_bytes(options.width))
        column_fetch(values);
    for (uint64_t i = 0; value_bytes(options.width) && i < OLD_PAIRS; i++)
        EQUAL(t, column_get(values, i), i + 1);
}

static void check_old_multimap(struct test *t, cohort_multimap *m, unsigned w)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    uint64_t keys_count, values_count;
    OK(t, cohort_multimap_get_options(m, &options));
    CHECK(t, (unsigned)options.width == w + 1 && options.seed == 78);
    OK(t, cohort_multimap_size(m, &keys_count, &values_count));
    EQUAL(t, keys_count, OLD_PAIRS);
    unsigned bytes = (unsigned)value_bytes(options.width);
    struct column *keys = column_new(t, keys_count, key_bytes(options.width)),
                  *offsets = column_new(t, keys_count + 1, 8), *values = column_new(t, values_count, bytes);
    OK(t, cohort_multimap_export(m, column_send(keys), column_send(offsets), column_send(values)));
    column_fetch(keys);
    column_fetch(offsets);
    column_fetch(values);
    for (uint64_t k = 0, i = 0; k < keys_count; k++) {
        for (i = 0; i < OLD_PAIRS && old_key(options.width, i) != column_get(keys, k); i++)
            ;
        REQUIRE(t, i < OLD_PAIRS);
        uint64_t begin = column_get(offsets, k), end = column_get(offsets, k + 1), sum = 0;
        EQUAL(t, end - begin, i % 3 + 1);
        for (uint64_t j = begin; j < end; j++)
            sum += column_get(values, j);
        EQUAL(t, sum, (i % 3 + 1) * i + (i % 3 == 2 ? 3000000 : i % 3 * 1000000));
    }
}

/* Set s has `n` members, `step` apart; with 64 bits those of odd sets are 2^40 further up. */
static const struct {
    uint64_t n, first, step;
} old_sets[] = {{3, 5, 60000},      {0, 0, 1},           {40, 0, 3},     {1000, 5000, 1},
                {8000, 0x30000, 8}, {65540, 0x20000, 1}, {2000, 7, 3000}};
#define OLD_SETS (sizeof old_sets / sizeof *old_sets)

static uint64_t old_member(int wide, uint64_t set, uint64_t i)
{
    return old_sets[set].first + i * old_sets[set].step + (wide && set % 2 ? UINT64_C(1) << 40 : 0);
}

static void check_old_sets(struct test *t, cohort_sets *sets, int wide)
{
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    OK(t, cohort_sets_get_info(sets, &info));
    REQUIRE(t, info.sets == OLD_SETS && info.type == (wide ? COHORT_U64 : COHORT_U32));
    CHECK(t, info.lists && info.arrays && info.bitmaps && info.runs && info.full);
    struct column *members = column_new(t, info.members, wide ? 8 : 4),
                  *offsets = column_new_in(t, TEST_HOST, OLD_SETS + 1, 8);
    target.members = column_send(members);
    target.offsets = column_send(offsets);
    target.capacity = info.members;
    OK(t, cohort_sets_export(sets, &target));
    column_fetch(members);
    column_fetch(offsets);
    for (uint64_t s = 0, at = 0; s < OLD_SETS; s++) {
        EQUAL(t, column_get(offsets, s), at);
        REQUIRE(t, at + old_sets[s].n <= info.members);
        for (uint64_t i = 0; i < old_sets[s].n; i++, at++)
            REQUIREF(t, column_get(members, at) == old_member(wide, s, i), "set %llu: member %llu is %llu",
                     (unsigned long long)s, (unsigned long long)i,
                     (unsigned long long)column_get(members, at));
    }
}

static void load_old_sets(struct test *t, const char *path)
{
    cohort_sets *sets = NULL;
    struct column *mark = t->columns;
    for (int mapped = 0; mapped < 2; mapped++) {
        OK(t,
           mapped ? cohort_sets_map(t->context, path, 1, &sets) : cohort_sets_load(t->context, path, &sets));
        check_old_sets(t, sets, strstr(path, "sets-64") != NULL);
        cohort_sets_destroy(sets);
        column_drop(t, mark);
    }
}

static void load_old(struct test *t, const char *folder, const char *name)
{
    static const char *const widths[] = {"32-0", "32-32", "64-0", "64-32", "64-64", "128-64"};
    char path[4096];
    struct column *mark = t->columns;
    cohort_map *map;
    cohort_multimap *multimap;
    unsigned w = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!strncmp(name, "sets-", 5)) {
        load_old_sets(t, path);
        return;
    }
    while (w < 6 && !strstr(name, widths[w]))
        w++;
    REQUIREF(t, w < 6, "%s: of no width", path);
    if (strstr(name, "multimap")) {
        OK(t, strstr(name, "table") ? cohort_multimap_map(t->context, path, &multimap)
                                    : cohort_multimap_load(t->context, path, &multimap));
        check_old_multimap(t, multimap, w);
        cohort_multimap_destroy(multimap);
    } else {
        OK(t, strstr(name, "table") ? cohort_map_map(t->context, path, &map)
                                    : cohort_map_load(t->context, path, &map));
        check_old_map(t, map, w);
        cohort_map_destroy(map);
    }
    column_drop(t, mark);
}

static void old_files(struct test *t)
{
    static const char *const folders[] = {"1-a", "1-b", "1-c", "1-d", "1-e", "1-f"};
    static const unsigned files_due[] = {8, 8, 13, 26, 28, 2};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[2048];
        snprintf(path, sizeof path, TEST_DATA "/%s", folders[i]);
        DIR *folder = opendir(path);
        struct dirent *entry;
        unsigned files = 0;
        REQUIREF(t, folder, "%s: %s", path, strerror(errno));
        while ((entry = readdir(folder)))
            if (*entry->d_name != '.') {
                load_old(t, path, entry->d_name);
                files++;
            }
        closedir(folder);
        EQUAL(t, files, files_due[i]);
    }
}

const struct test_case test_cases[] = {
    {"old_files", old_files, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
