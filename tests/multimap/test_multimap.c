/* test_multimap.c: every call of cohort/multimap.h against a sorted list of the pairs: on each width, with
 * host and with device pointers, for keys of all kinds. Files are in test_files.c, bad input in
 * test_multimap_errors.c. */
#include "backend/context.h"
#include "pairs.h"
#include "shape/multimap.h"

static const cohort_width widths[] = {COHORT_WIDTH_32_32, COHORT_WIDTH_64_32, COHORT_WIDTH_64_64};

/* ---- cases: all of it, for keys of a kind -------------------------------------------------------------- */

static void try_keys(struct test *t, cohort_width width, uint64_t n, enum pattern pattern, uint64_t range,
                     uint64_t queries)
{
    struct column *mark = t->columns;
    struct data d = data_new(t, width, n, pattern, range);
    cohort_multimap *m = build_of(t, &d);
    check_all(t, m, &d, queries);
    cohort_multimap_destroy(m);
    free(d.pairs);
    column_drop(t, mark);
}

static void each_pattern(struct test *t, enum pattern pattern)
{
    static const uint64_t sizes[] = {0, 1, 2, 31, 33, 64, 100, 257};
    uint64_t large = test_scale(t, 3000, test_size(t, 20011, 701), test_size(t, 100003, 2503));
    for (unsigned w = 0; w < 3; w++) {
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (test_size(t, 1, test_below(t, 2)))
                try_keys(t, widths[w], sizes[i], pattern, 1 + test_below(t, sizes[i] + 1), test_below(t, 70));
        try_keys(t, widths[w], large, pattern, 1 + large / (1 + test_below(t, 10)), 100);
    }
}

static void sequential_keys(struct test *t)
{
    each_pattern(t, SEQUENTIAL);
}
static void random_keys(struct test *t)
{
    each_pattern(t, RANDOM);
}
static void few_keys(struct test *t)
{
    each_pattern(t, FEW);
}
static void one_key(struct test *t)
{
    each_pattern(t, EQUAL_KEYS);
}
static void skewed_keys(struct test *t)
{
    each_pattern(t, SKEWED);
}
static void edge_keys(struct test *t)
{
    each_pattern(t, EDGES);
}

/* Some keys ten thousand times (on simulated lanes a thousand), among others that come once. */
static void ten_thousandfold(struct test *t)
{
    uint64_t fold = test_scale(t, 1000, test_size(t, 10000, 1000), test_size(t, 10000, 1000)), heavy = 3;
    for (unsigned w = 0; w < 3; w++) {
        struct column *mark = t->columns;
        struct data d = {.width = widths[w], .n = heavy * fold + fold / 2};
        d.keys = column_new(t, d.n, key_bytes(d.width));
        d.values = column_new(t, d.n, value_bytes(d.width));
        fill_values(t, d.values);
        for (uint64_t i = 0; i < d.n; i++)
            column_put(d.keys, i, i % 7 < 6 ? UINT64_MAX - i % heavy : test_mix(i));
        data_index(t, &d);
        cohort_multimap *m = build_of(t, &d);
        check_all(t, m, &d, 20);
        cohort_multimap_destroy(m);
        free(d.pairs);
        column_drop(t, mark);
    }
}

/* A query that nobody has, at the first and at the last place, and queries that are all absent. */
static void absent_queries(struct test *t)
{
    for (unsigned w = 0; w < 3; w++) {
        struct data d = {.width = widths[w], .n = 90};
        d.keys = column_new(t, d.n, key_bytes(d.width));
        d.values = column_new(t, d.n, value_bytes(d.width));
        fill_values(t, d.values);
        for (uint64_t i = 0; i < d.n; i++)
            column_put(d.keys, i, 2 * (i / 3));
        data_index(t, &d);
        cohort_multimap *m = build_of(t, &d);
        for (unsigned kind = 0; kind < 3; kind++) {
            struct column *q = column_new(t, 77, key_bytes(d.width));
            for (uint64_t i = 0; i < q->count; i++)
                column_put(q, i, kind == 0 ? 2 * i + 1 : i > 0 && i < 76 ? i : UINT64_MAX - kind);
            check_count(t, m, &d, q);
            check_find(t, m, &d, q);
            check_retrieve(t, m, &d, q, 0);
            check_retrieve(t, m, &d, q, 1);
        }
        cohort_multimap_destroy(m);
        free(d.pairs);
    }
}

/* Outputs that are not asked for are not needed. */
static void partial_outputs(struct test *t)
{
    struct data d = data_new(t, COHORT_WIDTH_64_64, 300, FEW, 5);
    cohort_multimap *m = build_of(t, &d);
    struct column *q = queries_of(t, &d, 9), *values = column_new(t, 1000, 8);
    cohort_retrieve size = COHORT_RETRIEVE_INIT, r = COHORT_RETRIEVE_INIT;
    uint64_t total = 0;
    for (uint64_t i = 0; i < 9; i++)
        total += run_length(&d, column_get(q, i));
    OK(t, cohort_multimap_retrieve(m, 9, column_send(q), &size));
    EQUAL(t, size.total, total);
    r.capacity = 1000;
    OK(t, cohort_multimap_retrieve(m, 9, column_send(q), &r));
    EQUAL(t, r.written, total < 1000 ? total : 1000);
    r.values = column_send(values);
    OK(t, cohort_multimap_retrieve(m, 9, column_send(q), &r));
    column_fetch(values);
    for (uint64_t i = 0, row = 0; i < 9; i++)
        for (uint64_t j = run_length(&d, column_get(q, i)); j && row < 1000; j--, row++)
            CHECK(t, has_pair(&d, column_get(q, i), column_get(values, row)));
    OK(t, cohort_multimap_find(m, 9, column_send(q), column_send(values), NULL, NULL));
    cohort_multimap_destroy(m);
    free(d.pairs);
}

/* ---- merge --------------------------------------------------------------------------------------------- */

static void merge(struct test *t)
{
    uint64_t large = test_scale(t, 500, test_size(t, 5000, 200), test_size(t, 20000, 500));
    for (unsigned w = 0; w < 3; w++)
        for (unsigned i = 0; i < 4; i++) {
            struct column *mark = t->columns;
            struct data a = data_new(t, widths[w], i == 0 ? 0 : large, RANDOM, large);
            struct data b = data_new(t, widths[w], i == 1 ? 0 : large / 2, i == 2 ? EDGES : SKEWED, large);
            struct data both = joined(t, &a, &b);
            cohort_multimap *x = build_of(t, &a), *y = build_of(t, &b), *z = NULL, *twice = NULL;
            OK(t, cohort_multimap_union(x, y, &z));
            check_all(t, z, &both, 50);
            check_sizes(t, x, &a);
            check_sizes(t, y, &b);
            OK(t, cohort_multimap_union(y, y, &twice));
            struct data doubled = joined(t, &b, &b);
            check_all(t, twice, &doubled, 20);
            cohort_multimap_destroy(x);
            cohort_multimap_destroy(y);
            cohort_multimap_destroy(z);
            cohort_multimap_destroy(twice);
            free(a.pairs);
            free(b.pairs);
            free(both.pairs);
            free(doubled.pairs);
            column_drop(t, mark);
        }
}

/* ---- the scan, by itself ------------------------------------------------------------------------------- */

/* Sums around the sizes of tiles and of tiles of tiles; big numbers wrap around. */
static void scan(struct test *t)
{
    uint64_t most =
        test_size(t, test_scale(t, 300000, 3000000, 20000000), test_scale(t, 5000, 40000, 1200000));
    for (uint64_t n = 0; n <= most; n = n < 40 ? n + 1 : n < 20000 && n % 2 == 0 ? n + 1 : n * 2 - n % 2) {
        struct column *mark = t->columns;
        struct column *numbers = column_new(t, n, 8);
        uint64_t sum = 0, bits = test_below(t, 64), wrong = 0;
        uint64_t *was = malloc((n + 1) * 8);
        REQUIRE(t, was);
        for (uint64_t i = 0; i < n; i++)
            column_put(numbers, i, was[i] = test_random(t) >> bits);
        co_u64 *own = column_send(numbers);
        OK(t, cohort_scan(t->context, n, COHORT_U64, 0, own, own));
        OK(t, context_wait(t->context));
        column_fetch(numbers);
        for (uint64_t i = 0; i < n; sum += was[i++])
            wrong += column_get(numbers, i) != sum;
        EQUAL(t, wrong, 0);
        REQUIREF(t, !t->failures, "%llu numbers", (unsigned long long)n);
        free(was);
        column_drop(t, mark);
    }
}

static void scans(struct test *t)
{
    if (t->memory == TEST_HOST && t->kind != TEST_CPU)
        return; /* a scan works in the context's own memory */
    scan(t);
}

/* So many keys that the pairs are put in order of the index's pages first; `fold` pairs a key. */
static void many_keys(struct test *t, uint64_t n, uint64_t fold)
{
    struct column *mark = t->columns;
    struct column *keys = column_new(t, n, 8), *values = column_new(t, n, 8), *got = column_new(t, n, 8),
                  *sizes = column_new(t, n, 8);
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *multimap;
    uint64_t distinct, all, at = 0;
    for (uint64_t i = 0; i < n; i++) {
        column_put(keys, i, test_mix(i / fold));
        column_put(values, i, i * 3);
    }
    OK(t, cohort_multimap_build(t->context, &options, n, column_send(keys), column_send(values), NULL,
                                &multimap));
    OK(t, cohort_multimap_size(multimap, &distinct, &all));
    EQUAL(t, distinct, (n + fold - 1) / fold);
    EQUAL(t, all, n);
    OK(t, cohort_multimap_find(multimap, n, column_send(keys), column_send(got), NULL, NULL));
    OK(t, cohort_multimap_count(multimap, n, column_send(keys), column_send(sizes)));
    OK(t, cohort_wait(t->context));
    column_fetch(got);
    column_fetch(sizes);
    while (at < n && column_get(got, at) % 3 == 0 && column_get(got, at) / 3 / fold == at / fold &&
           column_get(sizes, at) == (at / fold * fold + fold > n ? n - at / fold * fold : fold))
        at++;
    EQUAL(t, at, n);
    cohort_multimap_destroy(multimap);
    column_drop(t, mark);
}

static void many_pages(struct test *t)
{
    many_keys(t, 4400003, 1);
    many_keys(t, 2200003, 4);
}

/* Pairs enough for a sketch, of keys that are distinct, distinct but for the last one, and few. */
static void sketched(struct test *t)
{
    for (unsigned w = 0; w < 3; w++)
        for (unsigned kind = 0; kind < 3; kind++) {
            struct column *mark = t->columns;
            struct data d = {.width = widths[w], .n = 4100 + test_below(t, 300)};
            d.keys = column_new(t, d.n, key_bytes(d.width));
            d.values = column_new(t, d.n, value_bytes(d.width));
            fill_values(t, d.values);
            for (uint64_t i = 0; i < d.n; i++)
                column_put(d.keys, i, UINT64_MAX - (kind == 2 ? i % 50 : kind == 1 && i == d.n - 1 ? 9 : i));
            data_index(t, &d);
            cohort_multimap *m = build_of(t, &d);
            check_all(t, m, &d, 40);
            cohort_multimap_destroy(m);
            free(d.pairs);
            column_drop(t, mark);
        }
}

/* Keys that the sketch takes for some 10,000, all of them in four of its registers, while there are thousands
 * more. The index is too small for them at first. */
static void misled(struct test *t)
{
    struct data d = {.width = widths[test_below(t, 3)], .n = 21000 + test_below(t, 300)};
    d.keys = column_new(t, d.n, key_bytes(d.width));
    d.values = column_new(t, d.n, value_bytes(d.width));
    fill_values(t, d.values);
    uint64_t key = test_random(t) >> 40;
    for (uint64_t i = 0; i < d.n; key++)
        if ((co_hash(key, SKETCH_SEED) & (SKETCH_REGISTERS - 1)) < 4)
            column_put(d.keys, i++, key);
    data_index(t, &d);
    cohort_multimap *m = build_of(t, &d);
    check_all(t, m, &d, 40);
    cohort_multimap_destroy(m);
    free(d.pairs);
    column_drop(t, NULL);
}

const struct test_case test_cases[] = {
    {"sequential_keys", sequential_keys, TEST_EACH_MEMORY},
    {"random_keys", random_keys, TEST_EACH_MEMORY},
    {"few_keys", few_keys, TEST_EACH_MEMORY},
    {"one_key", one_key, TEST_EACH_MEMORY},
    {"skewed_keys", skewed_keys, TEST_EACH_MEMORY},
    {"edge_keys", edge_keys, TEST_EACH_MEMORY},
    {"ten_thousandfold", ten_thousandfold, TEST_EACH_MEMORY},
    {"absent_queries", absent_queries, TEST_EACH_MEMORY},
    {"partial_outputs", partial_outputs, TEST_EACH_MEMORY},
    {"sketched", sketched, TEST_EACH_MEMORY},
    {"misled", misled, TEST_EACH_MEMORY},
    {"merge", merge, TEST_EACH_MEMORY},
    {"scans", scans, TEST_EACH_MEMORY},
    {"many_pages", many_pages, TEST_ON_CPU | TEST_ON_CUDA | TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
