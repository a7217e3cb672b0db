/* test_map_reader.c: maps and multimaps that several threads look up in at once, each by a reader on a
 * context of its own. */
#include "readers.h"

#define THREADS 3

struct reading {
    struct test *t;
    cohort_context *context;
    cohort_map *map; /* or NULL: */
    cohort_multimap *multimap;
    uint64_t n, batch,
        wrong; /* keys 0 .. n - 1 of mix are in, with values beside them; from n on they are not */
    int rounds;
};

/* A batch of keys, half of them absent, looked up and looked at. */
static void look_once(struct reading *r, uint64_t first, uint64_t *keys, uint64_t *values)
{
    uint64_t fallback = UINT64_MAX;
    for (uint64_t i = 0; i < r->batch; i++)
        keys[i] = test_mix((first + i) % (2 * r->n));
    cohort_status s = r->map ? cohort_map_find(r->map, r->batch, keys, values, &fallback, NULL)
                             : cohort_multimap_count(r->multimap, r->batch, keys, values);
    r->wrong += s != COHORT_OK;
    for (uint64_t i = 0; i < r->batch; i++) {
        uint64_t key = (first + i) % (2 * r->n);
        uint64_t due = r->map ? (key < r->n ? key : fallback) : (key < r->n ? 1 + key % 2 : 0);
        r->wrong += values[i] != due;
    }
}

static void *read_much(void *arg)
{
    struct reading *r = arg;
    uint64_t *keys = malloc(r->batch * 8), *values = malloc(r->batch * 8);
    for (int i = 0; i < r->rounds && keys && values; i++)
        look_once(r, (uint64_t)i * 7919, keys, values);
    r->wrong += !keys || !values;
    free(values);
    free(keys);
    return NULL;
}

static void judge(struct test *t, const struct reading *r)
{
    for (int i = 0; i < THREADS; i++)
        EQUAL(t, r[i].wrong, 0);
}

static void refuses_changes(struct test *t, cohort_map *reader, cohort_map *map)
{
    cohort_context *c = t->context; /* the message is left on the reader's */
    uint64_t key = 1, value = 2, size;
    uint8_t op = COHORT_OP_FIND;
    cohort_map *copy;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    (void)c;
    OK(t, cohort_map_get_options(reader, &options));
    STATUS(t, cohort_map_insert(reader, 1, &key, &value, NULL), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_assign(reader, 1, &key, &value, NULL), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_apply(reader, COHORT_OP_ADD, 1, &key, &value, NULL), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_insert_and_find(reader, 1, &key, &value, NULL), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_erase(reader, 1, &key, NULL), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_run(reader, 1, &op, &key, &value, NULL, NULL), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_clear(reader), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_reserve(reader, 1 << 20), COHORT_UNSUPPORTED);
    STATUS(t, cohort_map_rehash(reader, 0), COHORT_UNSUPPORTED);
    OK(t, cohort_map_clone(reader, &copy));
    STATUS(t, cohort_map_merge(reader, copy, COHORT_OP_INSERT), COHORT_UNSUPPORTED);
    key = test_mix(1ull << 40);
    OK(t, cohort_map_insert(copy, 1, &key, &value, NULL)); /* which is a map of its own */
    OK(t, cohort_map_size(map, &size));
    uint64_t others;
    OK(t, cohort_map_size(copy, &others));
    EQUAL(t, others, size + 1);
    OK(t, cohort_map_size(reader, &others));
    EQUAL(t, others, size);
    cohort_map_destroy(copy);
}

static void read_map(struct test *t, cohort_layout layout)
{
    /* Of weak memory each simulated lane keeps what it has seen: time grows with the square of the keys. */
    uint64_t n = test_size(t, test_scale(t, 3000, 20000, 100000), test_scale(t, 3000, 6000, 10000));
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map, *reader;
    struct reading r[THREADS];
    uint64_t *keys = malloc(n * 8), *values = malloc(n * 8);
    REQUIRE(t, keys && values);
    for (uint64_t i = 0; i < n; i++)
        keys[i] = test_mix(values[i] = i);
    options.capacity = 100; /* it grows */
    options.layout = layout;
    OK(t, cohort_map_create(t->context, &options, &map));
    OK(t, cohort_map_insert(map, n, keys, values, NULL));
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct reading){
            t, i ? another_context(t, (uint64_t)i) : t->context, map, NULL, n, n / (1 + (uint64_t)i % 2), 0,
            4};
        if (i)
            OK(t, cohort_map_reader(map, r[i].context, &r[i].map));
    }
    read_at_once(t, read_much, r, sizeof *r, THREADS);
    judge(t, r);
    refuses_changes(t, r[1].map, map);
    OK(t, cohort_map_reader(r[1].map, r[2].context, &reader)); /* a reader of a reader */
    cohort_map_destroy(reader);
    for (uint64_t i = 0; i < n; i++)
        keys[i] = test_mix(i + n);
    OK(t, cohort_map_insert(map, n, keys, values, NULL)); /* a table twice as large: all that is left to do */
    cohort_map_destroy(r[1].map); /* with readers is to destroy them, before the map */
    cohort_map_destroy(map);      /* and after it */
    cohort_map_destroy(r[2].map);
    for (int i = 1; i < THREADS; i++)
        cohort_context_destroy(r[i].context);
    free(values);
    free(keys);
}

static void reads_pages(struct test *t)
{
    read_map(t, COHORT_LAYOUT_PAGES);
}

static void reads_lines(struct test *t)
{
    read_map(t, COHORT_LAYOUT_LINES);
}

/* Every second key has two values; `single`: each has one, which is another form inside. */
static void reads_multimaps(struct test *t)
{
    uint64_t n = test_scale(t, 2000, 10000, 50000), rows = 0;
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *multimap;
    struct reading r[THREADS];
    uint64_t *keys = malloc(2 * n * 8), *values = malloc(2 * n * 8);
    REQUIRE(t, keys && values);
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k <= i % 2; k++) {
            values[rows] = i;
            keys[rows++] = test_mix(i);
        }
    options.width = COHORT_WIDTH_64_64;
    OK(t, cohort_multimap_build(t->context, &options, rows, keys, values, NULL, &multimap));
    for (int i = 0; i < THREADS; i++) {
        r[i] =
            (struct reading){t, i ? another_context(t, (uint64_t)i) : t->context, NULL, multimap, n, n, 0, 4};
        if (i)
            OK(t, cohort_multimap_reader(multimap, r[i].context, &r[i].multimap));
    }
    read_at_once(t, read_much, r, sizeof *r, THREADS);
    judge(t, r);
    OK(t, cohort_multimap_insert(multimap, rows, keys, values, NULL)); /* as with maps */
    cohort_multimap_destroy(r[1].multimap);
    cohort_multimap_destroy(multimap);
    cohort_multimap_destroy(r[2].multimap);
    for (int i = 1; i < THREADS; i++)
        cohort_context_destroy(r[i].context);
    free(values);
    free(keys);
}

static void refuses(struct test *t)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_multimap *out;
    cohort_map *map, *reader;
    options.capacity = 10;
    OK(t, cohort_map_create(t->context, &options, &map));
    FAILS(t, t->context, cohort_map_reader(NULL, t->context, &reader), COHORT_NULL, "map", NULL);
    CHECK(t, !reader);
    FAILS(t, NULL, cohort_map_reader(map, NULL, &reader), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_map_reader(map, t->context, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, t->context, cohort_multimap_reader(NULL, t->context, &out), COHORT_NULL, "multimap", NULL);
    if (t->kind != TEST_CPU) {
        cohort_context_options cpu = COHORT_CONTEXT_OPTIONS_INIT;
        cohort_context *other;
        cpu.device = "cpu";
        OK(t, cohort_context_create(&cpu, &other));
        FAILS(t, other, cohort_map_reader(map, other, &reader), COHORT_UNSUPPORTED, "another device", NULL);
        cohort_context_destroy(other);
    }
    cohort_map_destroy(map);
}

const struct test_case test_cases[] = {
    {"reads pages", reads_pages, 0},
    {"reads lines", reads_lines, 0},
    {"reads multimaps", reads_multimaps, 0},
    {"refuses", refuses, 0},
    {NULL, NULL, 0},
};
