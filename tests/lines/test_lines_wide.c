/* test_lines_wide.c: keys of 16 bytes as they are, two words: what the other tests, which number their
 * keys by 64 bits, do not ask. Which words decide; keys of one word in common, or of one hash; where
 * arrays may begin; and that PAGES has no such keys. */
#include "subject.h"

#include "cohort/device/lines.h"

struct wide {
    uint64_t low, high;
};

static cohort_map_options options_of(uint64_t capacity, uint32_t fixed)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    o.width = COHORT_WIDTH_128_64;
    o.layout = COHORT_LAYOUT_LINES;
    o.capacity = capacity;
    o.fixed = fixed;
    return o;
}

/* Two words a key: an array of words begins at any multiple of 8. */
static struct column *keys_of(struct test *t, uint64_t n, struct wide (*key)(uint64_t i))
{
    struct column *keys = column_new(t, 2 * n, 8);
    for (uint64_t i = 0; i < n; i++) {
        const struct wide k = key(i);
        column_put(keys, 2 * i, k.low);
        column_put(keys, 2 * i + 1, k.high);
    }
    return keys;
}

static struct column *values_of(struct test *t, uint64_t n, uint64_t add)
{
    struct column *values = column_new(t, n, 8);
    for (uint64_t i = 0; i < n; i++)
        column_put(values, i, i + add);
    return values;
}

/* Each of the keys is in with its number + add, or none of them is. */
static void look(struct test *t, cohort_map *map, uint64_t n, struct wide (*key)(uint64_t i), int there,
                 uint64_t add)
{
    struct column *mark = t->columns, *keys = keys_of(t, n, key), *values = values_of(t, n, 0),
                  *counts = column_new(t, 5, 8);
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.counts = column_send(counts);
    OK(t, cohort_map_find(map, n, column_send(keys), column_send(values), NULL, &batch));
    OK(t, cohort_wait(t->context));
    column_fetch(values);
    column_fetch(counts);
    EQUAL(t, column_get(counts, 1), there ? n : 0);
    for (uint64_t i = 0; i < n && there; i++)
        EQUAL(t, column_get(values, i), i + add);
    column_drop(t, mark);
}

static cohort_status insert(struct test *t, cohort_map *map, uint64_t n, struct wide (*key)(uint64_t i),
                            uint64_t add)
{
    struct column *mark = t->columns, *keys = keys_of(t, n, key), *values = values_of(t, n, add);
    cohort_status s = cohort_map_insert(map, n, column_send(keys), column_send(values), NULL), waited;
    waited = cohort_wait(t->context);
    column_drop(t, mark);
    return s ? s : waited;
}

static uint64_t size_of(struct test *t, cohort_map *map)
{
    uint64_t size = 0;
    OK(t, cohort_map_size(map, &size));
    return size;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static struct wide low_differs(uint64_t i)
{
    return (struct wide){i, 0};
}
static struct wide high_differs(uint64_t i)
{
    return (struct wide){0, i + 1}; /* 0, 0 is of the others */
}

/* From all ones, in one bit; the last one in none. */
static struct wide bit_differs(uint64_t i)
{
    return (struct wide){i < 64 ? ~(UINT64_C(1) << i) : UINT64_MAX,
                         i >= 64 && i < 128 ? ~(UINT64_C(1) << (i - 64)) : UINT64_MAX};
}
/* Keys 2i and 2i + 1 have each other's words. */
static struct wide crossed(uint64_t i)
{
    const uint64_t a = test_mix(i / 2 + 100), b = test_mix(i / 2 + 5000);
    return i % 2 ? (struct wide){b, a} : (struct wide){a, b};
}

static void words(struct test *t)
{
    static struct {
        struct wide (*key)(uint64_t);
        uint64_t n;
    } const of[] = {{low_differs, 300}, {high_differs, 300}, {bit_differs, 129}, {crossed, 200}};
    for (int round = 0; round < 4; round++) { /* arrays begin elsewhere */
        const cohort_map_options o = options_of(1, 0);
        cohort_map *map;
        uint64_t size = 0;
        OK(t, cohort_map_create(t->context, &o, &map));
        for (unsigned k = 0; k < 4; k++) {
            look(t, map, of[k].n, of[k].key, 0, 0);
            OK(t, insert(t, map, of[k].n, of[k].key, 1000 * k));
            size += of[k].n;
            EQUAL(t, size_of(t, map), size);
        }
        for (unsigned k = 0; k < 4; k++)
            look(t, map, of[k].n, of[k].key, 1, 1000 * k);
        struct column *keys = keys_of(t, of[0].n, of[0].key);
        OK(t, cohort_map_erase(map, of[0].n, column_send(keys), NULL));
        look(t, map, of[0].n, of[0].key, 0, 0);
        for (unsigned k = 1; k < 4; k++)
            look(t, map, of[k].n, of[k].key, 1, 1000 * k);
        cohort_map_destroy(map);
        column_drop(t, NULL);
    }
}

/* All pairs as they went in, both words; and as a file has them. */
static void exported(struct test *t)
{
    enum { N = 77 };
    const cohort_map_options o = options_of(1, 0);
    cohort_map *map;
    uint64_t count = 0;
    OK(t, cohort_map_create(t->context, &o, &map));
    OK(t, insert(t, map, N, crossed, 7));
    struct column *keys = column_new(t, 2 * N, 8), *values = column_new(t, N, 8);
    OK(t, cohort_map_export(map, N, column_send(keys), column_send(values), &count));
    column_fetch(keys);
    column_fetch(values);
    EQUAL(t, count, N);
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t at = column_get(values, i) - 7;
        REQUIRE(t, at < N);
        const struct wide key = crossed(at);
        EQUAL(t, column_get(keys, 2 * i), key.low);
        EQUAL(t, column_get(keys, 2 * i + 1), key.high);
    }
    cohort_map_destroy(map);
}

/* ---- hashes -------------------------------------------------------------------------------------------- */

static void fills_with(struct test *t, struct wide (*key)(uint64_t))
{
    const uint64_t n = (UINT64_C(1) << 16) * 9 / 10;
    cohort_map_options o = options_of(n, 1);
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_map *map;
    o.max_load = 0.9;
    OK(t, cohort_map_create(t->context, &o, &map));
    OK(t, insert(t, map, n, key, 3));
    OK(t, cohort_map_get_stats(map, &stats));
    EQUAL(t, stats.pairs, n);
    CHECKF(t, stats.probe_mean < 2, "%g homes a key", stats.probe_mean);
    look(t, map, n, key, 1, 3);
    cohort_map_destroy(map);
}

/* Keys that count in one word spread, in either. */
static void spread(struct test *t)
{
    fills_with(t, low_differs);
    fills_with(t, high_differs);
}

/* The inverse of co_hash with the seed 0. */
static uint64_t unhash(uint64_t h)
{
    h = h ^ h >> 31 ^ h >> 62;
    h *= UINT64_C(0x319642b2d24d8ec3);
    h = h ^ h >> 27 ^ h >> 54;
    h *= UINT64_C(0x96de1b173f119089);
    return h ^ h >> 30 ^ h >> 60;
}

#define KNOWN UINT64_C(4711)

static struct wide colliding(uint64_t i)
{
    const uint64_t high = test_mix(i + 9);
    return (struct wide){unhash(UINT64_C(0x1234567890abcdef)) ^ KNOWN ^ co_hash(high, KNOWN), high};
}

/* Keys made to have one hash with a seed that is known have it with no other: a growing map takes another
 * seed, and takes them all, in as many slots as before. */
static void one_hash(struct test *t)
{
    cohort_map_options o = options_of(4000, 0);
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_map *map;
    o.seed = KNOWN;
    for (uint64_t i = 0; i < 40; i++)
        EQUAL(t, co_hash128(co_make128(colliding(i).low, colliding(i).high), KNOWN), 0x1234567890abcdef);
    OK(t, cohort_map_create(t->context, &o, &map));
    OK(t, cohort_map_get_stats(map, &stats));
    const uint64_t slots = stats.slots;
    OK(t, insert(t, map, 500, colliding, 1));
    look(t, map, 500, colliding, 1, 1);
    OK(t, cohort_map_get_stats(map, &stats));
    CHECK(t, stats.seed != KNOWN);
    EQUAL(t, stats.slots, slots);
    cohort_map_destroy(map);
    o.fixed = 1; /* a fixed one takes as many as a home has names */
    OK(t, cohort_map_create(t->context, &o, &map));
    EQUAL(t, insert(t, map, 500, colliding, 1), COHORT_FULL);
    EQUAL(t, size_of(t, map), 30);
    cohort_map_destroy(map);
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void refused(struct test *t)
{
    cohort_map_options o = options_of(10, 0);
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_map *map;
    OK(t, cohort_context_get_info(t->context, &info));
    EQUAL(t, info.lines_widths >> COHORT_WIDTH_128_64 & 1, 1);
    EQUAL(t, (info.map_widths | info.map_run_widths) >> COHORT_WIDTH_128_64 & 1, 0);
    OK(t, cohort_map_create(t->context, &o, &map));
    struct column *keys = keys_of(t, 3, crossed), *values = values_of(t, 3, 0);
    char *at = column_send(keys);
    FAILS(t, t->context, cohort_map_insert(map, 2, at + 4, column_send(values), NULL), COHORT_BAD_POINTER,
          "keys", "8");
    OK(t, cohort_map_insert(map, 2, at + 8, column_send(values), NULL));
    EQUAL(t, size_of(t, map), 2);
    cohort_map_destroy(map);
    o.layout = COHORT_LAYOUT_PAGES;
    FAILS(t, t->context, cohort_map_create(t->context, &o, &map), COHORT_UNSUPPORTED, "options.width is 6",
          "COHORT_LAYOUT_LINES");
    cohort_multimap *multimap;
    cohort_multimap_options wide = COHORT_MULTIMAP_OPTIONS_INIT;
    wide.width = COHORT_WIDTH_128_64;
    FAILS(t, t->context, cohort_multimap_build(t->context, &wide, 0, NULL, NULL, NULL, &multimap),
          COHORT_UNSUPPORTED, "width", "6");
}

const struct test_case test_cases[] = {
    {"words", words, TEST_EACH_MEMORY},       {"exported", exported, TEST_EACH_MEMORY}, {"spread", spread, 0},
    {"one_hash", one_hash, TEST_EACH_MEMORY}, {"refused", refused, TEST_EACH_MEMORY},   {NULL, NULL, 0}};
