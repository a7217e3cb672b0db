/* test_multimap_errors.c: what bad input to the calls of cohort/multimap.h gets: its own status, a message
 * that names the argument and the value, and a multimap that is as it was. */
#include "subject.h"

#define PAIRS 50
#define KEYS  10

/* Pair i is (i % KEYS, i). */
struct sample {
    struct column *keys, *values;
    cohort_multimap *multimap;
};

static struct sample sample_new(struct test *t, cohort_width width)
{
    struct sample s = {column_new(t, PAIRS, key_bytes(width)), column_new(t, PAIRS, value_bytes(width)),
                       NULL};
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    options.width = width;
    for (uint64_t i = 0; i < PAIRS; i++) {
        column_put(s.keys, i, i % KEYS);
        column_put(s.values, i, i);
    }
    OK(t, cohort_multimap_build(t->context, &options, PAIRS, column_send(s.keys), column_send(s.values), NULL,
                                &s.multimap));
    return s;
}

static void sample_unharmed(struct test *t, const struct sample *s)
{
    struct column *counts = column_new(t, PAIRS, 8);
    uint64_t keys, values;
    OK(t, cohort_multimap_size(s->multimap, &keys, &values));
    EQUAL(t, keys, KEYS);
    EQUAL(t, values, PAIRS);
    OK(t, cohort_multimap_count(s->multimap, PAIRS, column_send(s->keys), column_send(counts)));
    column_fetch(counts);
    for (uint64_t i = 0; i < PAIRS; i++)
        EQUAL(t, column_get(counts, i), PAIRS / KEYS);
}

static void bad_build(struct test *t)
{
    struct column *keys = column_new(t, 8, 8), *values = column_new(t, 8, 8);
    uint64_t *k = column_send(keys), *v = column_send(values);
    cohort_multimap_options good = COHORT_MULTIMAP_OPTIONS_INIT, o = good;
    cohort_multimap *m = (cohort_multimap *)&good;
    cohort_context *c = t->context;
    FAILS(t, NULL, cohort_multimap_build(NULL, &o, 8, k, v, NULL, &m), COHORT_NULL, "context", NULL);
    FAILS(t, c, cohort_multimap_build(c, NULL, 8, k, v, NULL, &m), COHORT_NULL, "options", NULL);
    CHECK(t, m == NULL);
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, c, cohort_multimap_build(c, &o, 8, NULL, v, NULL, &m), COHORT_NULL, "keys", "8");
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, NULL, NULL, &m), COHORT_NULL, "values", "8");
    FAILS(t, c, cohort_multimap_build(c, &o, UINT64_MAX, k, v, NULL, &m), COHORT_OVERFLOW, "n",
          "18446744073709551615");
    FAILS(t, c, cohort_multimap_build(c, &o, 8, (char *)k + 1, v, NULL, &m), COHORT_BAD_POINTER, "keys",
          NULL);
    o.size = 8;
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, &m), COHORT_BAD_STRUCT, "options", "8");
    o = good;
    o.width = COHORT_WIDTH_64_0;
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, &m), COHORT_UNSUPPORTED, "width", "3");
    o.width = (cohort_width)9;
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, &m), COHORT_UNSUPPORTED, "width", "9");
    o = good;
    o.max_load = 0.96;
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, &m), COHORT_RANGE, "max_load", "0.96");
    o.max_load = 0.01;
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, &m), COHORT_RANGE, "max_load", "0.01");
    o.max_load = -1;
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, &m), COHORT_RANGE, "max_load", "-1");
    o = good;
    o.reserved = 7;
    FAILS(t, c, cohort_multimap_build(c, &o, 8, k, v, NULL, &m), COHORT_RANGE, "reserved", "7");
    OK(t, cohort_multimap_build(c, &good, 0, NULL, NULL, NULL, &m));
    cohort_multimap_destroy(m);
    cohort_multimap_destroy(NULL);
}

static void bad_find(struct test *t)
{
    struct sample d = sample_new(t, COHORT_WIDTH_64_64);
    struct column *out = column_new(t, 50, 8);
    uint64_t *k = column_send(d.keys), *v = column_send(out);
    cohort_multimap *m = d.multimap;
    cohort_context *c = t->context;
    cohort_batch batch = COHORT_BATCH_INIT;
    FAILS(t, NULL, cohort_multimap_find(NULL, 5, k, v, NULL, NULL), COHORT_NULL, "multimap", NULL);
    FAILS(t, c, cohort_multimap_find(m, 5, NULL, v, NULL, NULL), COHORT_NULL, "keys", "5");
    FAILS(t, c, cohort_multimap_find(m, 5, k, NULL, NULL, NULL), COHORT_NULL, "values", "5");
    FAILS(t, c, cohort_multimap_find(m, UINT64_MAX / 2, k, v, NULL, NULL), COHORT_OVERFLOW, "n",
          "9223372036854775807");
    batch.size = 1;
    FAILS(t, c, cohort_multimap_find(m, 5, k, v, NULL, &batch), COHORT_BAD_STRUCT, "batch", "1");
    batch.size = sizeof batch;
    batch.winner = COHORT_WINNER_LAST;
    FAILS(t, c, cohort_multimap_find(m, 5, k, v, NULL, &batch), COHORT_UNSUPPORTED, "winner", "2");
    batch.winner = (cohort_winner)3;
    FAILS(t, c, cohort_multimap_find(m, 5, k, v, NULL, &batch), COHORT_RANGE, "winner", "3");
    batch.winner = COHORT_WINNER_ANY;
    FAILS(t, NULL, cohort_multimap_count(NULL, 5, k, v), COHORT_NULL, "multimap", NULL);
    FAILS(t, c, cohort_multimap_count(m, 5, NULL, v), COHORT_NULL, "keys", "5");
    FAILS(t, c, cohort_multimap_count(m, 5, k, NULL), COHORT_NULL, "counts", "5");
    FAILS(t, c, cohort_multimap_count(m, UINT64_MAX, k, v), COHORT_OVERFLOW, "n", "18446744073709551615");
    OK(t, cohort_multimap_count(m, 0, NULL, NULL));
    OK(t, cohort_multimap_find(m, 0, NULL, NULL, NULL, NULL));
    sample_unharmed(t, &d);
    cohort_multimap_destroy(m);
}

static void bad_retrieve(struct test *t)
{
    struct sample d = sample_new(t, COHORT_WIDTH_64_32);
    struct column *out = column_new(t, 50, 8);
    uint64_t *k = column_send(d.keys);
    char *v = column_send(out);
    cohort_multimap *m = d.multimap;
    cohort_context *c = t->context;
    cohort_retrieve good = COHORT_RETRIEVE_INIT, r = good;
    FAILS(t, NULL, cohort_multimap_retrieve(NULL, 5, k, &r), COHORT_NULL, "multimap", NULL);
    FAILS(t, c, cohort_multimap_retrieve(m, 5, k, NULL), COHORT_NULL, "retrieve", NULL);
    FAILS(t, c, cohort_multimap_retrieve(m, 5, NULL, &r), COHORT_NULL, "keys", "5");
    FAILS(t, c, cohort_multimap_retrieve(m, UINT64_MAX, k, &r), COHORT_OVERFLOW, "n", "18446744073709551615");
    r.size = 0;
    FAILS(t, c, cohort_multimap_retrieve(m, 5, k, &r), COHORT_BAD_STRUCT, "retrieve", "0");
    r = good;
    r.outer = 2;
    FAILS(t, c, cohort_multimap_retrieve(m, 5, k, &r), COHORT_RANGE, "outer", "2");
    r = good;
    r.reserved = 1;
    FAILS(t, c, cohort_multimap_retrieve(m, 5, k, &r), COHORT_RANGE, "reserved", "1");
    r = good;
    r.capacity = 1;
    r.queries = (uint64_t *)(void *)(v + 1);
    FAILS(t, c, cohort_multimap_retrieve(m, 5, k, &r), COHORT_BAD_POINTER, "queries", NULL);
    r = good;
    r.offsets = (uint64_t *)(void *)(v + 1);
    FAILS(t, c, cohort_multimap_retrieve(m, 5, k, &r), COHORT_BAD_POINTER, "offsets", NULL);
    EQUAL(t, r.total, 0);
    FAILS(t, NULL, cohort_multimap_export(NULL, k, NULL, v), COHORT_NULL, "multimap", NULL);
    FAILS(t, c, cohort_multimap_export(m, v + 1, NULL, NULL), COHORT_BAD_POINTER, "keys", NULL);
    OK(t, cohort_multimap_export(m, NULL, NULL, NULL));
    r = good;
    OK(t, cohort_multimap_retrieve(m, 0, NULL, &r));
    EQUAL(t, r.total, 0);
    cohort_multimap_destroy(m);
}

/* One array in host memory, the others in the device's. */
static void mixed_memory(struct test *t)
{
    if (t->memory == TEST_HOST)
        return;
    struct sample d = sample_new(t, COHORT_WIDTH_64_64);
    struct column *out = column_new(t, 60, 8);
    uint64_t *k = column_send(d.keys), *v = column_send(out);
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = d.multimap, *none = NULL;
    cohort_context *c = t->context;
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    FAILS(t, c, cohort_multimap_build(c, &options, 50, k, out->data, NULL, &none), COHORT_BAD_POINTER,
          "values", "host");
    FAILS(t, c, cohort_multimap_find(m, 50, d.keys->data, v, NULL, NULL), COHORT_BAD_POINTER, "values",
          "device");
    FAILS(t, c, cohort_multimap_count(m, 50, k, out->data), COHORT_BAD_POINTER, "counts", "host");
    r.offsets = out->data;
    FAILS(t, c, cohort_multimap_retrieve(m, 50, k, &r), COHORT_BAD_POINTER, "offsets", "host");
    FAILS(t, c, cohort_multimap_export(m, k, out->data, NULL), COHORT_BAD_POINTER, "offsets", "host");
    cohort_multimap_destroy(m);
}

static void bad_merge(struct test *t)
{
    struct sample a = sample_new(t, COHORT_WIDTH_64_64), b = sample_new(t, COHORT_WIDTH_64_32);
    cohort_multimap *x = a.multimap, *y = b.multimap, *z = x, *foreign = NULL;
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_context_options other = test_context_options(t);
    cohort_context *stranger = NULL;
    FAILS(t, t->context, cohort_multimap_union(x, NULL, &z), COHORT_NULL, "b is NULL", NULL);
    CHECK(t, z == NULL);
    FAILS(t, t->context, cohort_multimap_union(NULL, x, &z), COHORT_NULL, "a is NULL", NULL);
    FAILS(t, t->context, cohort_multimap_union(x, x, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, t->context, cohort_multimap_union(x, y, &z), COHORT_RANGE, "width", "4");
    OK(t, cohort_context_create(&other, &stranger));
    OK(t, cohort_multimap_build(stranger, &options, 0, NULL, NULL, NULL, &foreign));
    FAILS(t, t->context, cohort_multimap_union(x, foreign, &z), COHORT_OTHER_CONTEXT, "b belongs", NULL);
    cohort_multimap_destroy(foreign);
    cohort_context_destroy(stranger);
    FAILS(t, NULL, cohort_multimap_size(NULL, NULL, NULL), COHORT_NULL, "multimap", NULL);
    FAILS(t, NULL, cohort_multimap_get_options(NULL, &options), COHORT_NULL, "multimap", NULL);
    FAILS(t, t->context, cohort_multimap_get_options(x, NULL), COHORT_NULL, "options", NULL);
    sample_unharmed(t, &a);
    cohort_multimap_destroy(x);
    cohort_multimap_destroy(y);
}

/* Memory that runs out at each allocation in turn: an error, nothing lost, nothing kept. */
static void out_of_memory(struct test *t)
{
    struct ledger ledger = {.test = t};
    cohort_context_options options = test_context_options(t);
    cohort_multimap_options o = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_context *context = NULL;
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&options, &context));
    uint64_t n = 3000, *pairs = malloc(n * 8), base = ledger.bytes;
    REQUIRE(t, pairs);
    for (uint64_t i = 0; i < n; i++)
        pairs[i] = test_mix(i / 3);
    for (uint64_t limit = base + 1; limit < base + 4000000; limit += limit / 8) {
        cohort_multimap *m = NULL;
        ledger.limit = limit;
        cohort_status status = cohort_multimap_build(context, &o, n, pairs, pairs, NULL, &m);
        CHECK(t, status == COHORT_NO_MEMORY || status == COHORT_OK);
        if (status) {
            CHECK(t, m == NULL);
            const char *message = cohort_message(context);
            CHECKF(t, strstr(message, "memory") && !strstr(message, "cohort_map_insert"), "it says: %s",
                   message);
        } else {
            uint64_t count[2] = {0, 0};
            ledger.limit = 0;
            OK(t, cohort_multimap_size(m, &count[0], &count[1]));
            EQUAL(t, count[0], n / 3);
            EQUAL(t, count[1], n);
            cohort_multimap_destroy(m);
        }
        ledger.limit = 0;
        cohort_trim(context);
        EQUAL(t, ledger.bytes, base);
    }
    free(pairs);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
}

const struct test_case test_cases[] = {
    {"bad_build", bad_build, TEST_EACH_MEMORY},
    {"bad_find", bad_find, TEST_EACH_MEMORY},
    {"bad_retrieve", bad_retrieve, TEST_EACH_MEMORY},
    {"bad_merge", bad_merge, 0},
    {"mixed_memory", mixed_memory, TEST_EACH_MEMORY},
    {"out_of_memory", out_of_memory, 0},
    {NULL, NULL, 0},
};
