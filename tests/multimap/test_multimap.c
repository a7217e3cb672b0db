/* test_multimap.c: every call of cohort/multimap.h against a sorted list of the pairs: on each width, with host and with device
 * pointers, for keys of all kinds. Files are in test_files.c, bad input in
 * test_multimap_errors.c. */
#include "backend/context.h"
#include "subject.h"

static const cohort_width widths[] = {COHORT_WIDTH_32_32, COHORT_WIDTH_64_32, COHORT_WIDTH_64_64};

/* ---- the oracle: the pairs, sorted ------------------------------------------------------------------------------------ */

struct pair {
    uint64_t key, value;
};

struct data {
    cohort_width width;
    uint64_t n;
    struct column *keys, *values, *where; /* where: NULL for all */
    struct pair *pairs;                   /* those that take part, sorted */
    uint64_t count, distinct;
};

static int by_pair(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->value > y->value) - (x->value < y->value);
}

static void data_index(struct test *t, struct data *d)
{
    d->pairs = malloc((d->n + 1) * sizeof *d->pairs);
    REQUIRE(t, d->pairs);
    d->count = d->distinct = 0;
    for (uint64_t i = 0; i < d->n; i++)
        if (!d->where || bitmap_get(d->where, i))
            d->pairs[d->count++] = (struct pair){column_get(d->keys, i), column_get(d->values, i)};
    qsort(d->pairs, d->count, sizeof *d->pairs, by_pair);
    for (uint64_t i = 0; i < d->count; i++)
        d->distinct += i == 0 || d->pairs[i].key != d->pairs[i - 1].key;
}

static struct data data_new(struct test *t, cohort_width width, uint64_t n, enum pattern pattern,
                            uint64_t range)
{
    struct data d = {.width = width, .n = n};
    d.keys = column_new(t, n, key_bytes(width));
    d.values = column_new(t, n, value_bytes(width));
    fill_keys(t, d.keys, pattern, range);
    fill_values(t, d.values);
    if (n && test_below(t, 2)) {
        d.where = column_new(t, bitmap_words(n), 4);
        fill_bits(t, d.where, n);
    }
    data_index(t, &d);
    return d;
}

/* The first pair whose key is not below `key`. */
static uint64_t lower(const struct data *d, uint64_t key)
{
    uint64_t low = 0, high = d->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (d->pairs[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t run_length(const struct data *d, uint64_t key)
{
    uint64_t first = lower(d, key), end = first;
    while (end < d->count && d->pairs[end].key == key)
        end++;
    return end - first;
}

static int has_pair(const struct data *d, uint64_t key, uint64_t value)
{
    struct pair pair = {key, value};
    return bsearch(&pair, d->pairs, d->count, sizeof pair, by_pair) != NULL;
}

/* ---- what is asked ------------------------------------------------------------------------------------------------------ */

static cohort_multimap *build(struct test *t, const struct data *d)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    options.width = d->width;
    options.seed = test_below(t, 2) ? test_random(t) : test_below(t, 2) ? COHORT_SEED_RANDOM : 0;
    options.max_load = test_below(t, 2) ? 0.95 : 0;
    OK(t, cohort_multimap_build(t->context, &options, d->n, column_send(d->keys), column_send(d->values),
                                column_pointer(d->where), &m));
    return m;
}

/* Keys that are there, keys that are not, and those whose patterns mark slots. */
static struct column *queries_of(struct test *t, const struct data *d, uint64_t n)
{
    struct column *queries = column_new(t, n, key_bytes(d->width));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t kind = test_below(t, 8);
        uint64_t key = kind < 5 && d->n ? column_get(d->keys, test_below(t, d->n)) : test_random(t);
        column_put(queries, i, kind == 7 ? UINT64_MAX - test_below(t, 3) : key);
    }
    return queries;
}

/* Something that no call may leave where it should have written. */
static void soil(struct column *c)
{
    memset(c->data, 0x5a, c->count * c->width);
}

static void check_sizes(struct test *t, cohort_multimap *m, const struct data *d)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    uint64_t keys = 77, values = 77;
    OK(t, cohort_multimap_size(m, &keys, &values));
    OK(t, cohort_multimap_size(m, NULL, NULL));
    EQUAL(t, keys, d->distinct);
    EQUAL(t, values, d->count);
    OK(t, cohort_multimap_get_options(m, &options));
    EQUAL(t, options.width, d->width);
    CHECK(t, options.max_load == 0.95 || options.max_load == 0.8);
}

static void check_export(struct test *t, cohort_multimap *m, const struct data *d)
{
    struct column *keys = column_new(t, d->distinct, key_bytes(d->width));
    struct column *values = column_new(t, d->count, value_bytes(d->width));
    struct column *offsets = column_new(t, d->distinct + 1, 8);
    soil(keys);
    soil(values);
    soil(offsets);
    if (test_below(t, 4)) {
        OK(t, cohort_multimap_export(m, column_send(keys), column_send(offsets), column_send(values)));
    } else {
        OK(t, cohort_multimap_export(m, NULL, NULL, column_send(values)));
        OK(t, cohort_multimap_export(m, NULL, column_send(offsets), NULL));
        OK(t, cohort_multimap_export(m, column_send(keys), NULL, NULL));
    }
    column_fetch(keys);
    column_fetch(values);
    column_fetch(offsets);
    struct pair *pairs = malloc((d->count + 1) * sizeof *pairs);
    REQUIRE(t, pairs);
    EQUAL(t, column_get(offsets, 0), 0);
    EQUAL(t, column_get(offsets, d->distinct), d->count);
    uint64_t n = 0;
    for (uint64_t i = 0; i < d->distinct; i++)
        for (uint64_t j = column_get(offsets, i);
             j < column_get(offsets, i + 1) && j < d->count && n < d->count; j++)
            pairs[n++] = (struct pair){column_get(keys, i), column_get(values, j)};
    qsort(pairs, n, sizeof *pairs, by_pair);
    EQUAL(t, n, d->count);
    CHECK(t, memcmp(pairs, d->pairs, n * sizeof *pairs) == 0);
    free(pairs);
}

static void check_count(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries)
{
    struct column *counts = column_new(t, queries->count, 8);
    soil(counts);
    OK(t, cohort_multimap_count(m, queries->count, column_send(queries), column_send(counts)));
    column_fetch(counts);
    for (uint64_t i = 0; i < queries->count; i++)
        if (!EQUAL(t, column_get(counts, i), run_length(d, column_get(queries, i))))
            return;
}

static void check_find(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries)
{
    uint64_t n = queries->count, fallback = test_random(t) & value_mask(d->width), taken = 0, hits = 0;
    uint64_t dirt = 0x5a5a5a5a5a5a5a5au & value_mask(d->width);
    int with_fallback = (int)test_below(t, 2);
    struct column *values = column_new(t, n, value_bytes(d->width)),
                  *where = column_new(t, bitmap_words(n), 4);
    struct column *hit = column_new(t, bitmap_words(n), 4), *failed = column_new(t, bitmap_words(n), 4);
    struct column *counts = column_new(t, 5, 8);
    cohort_batch batch = COHORT_BATCH_INIT;
    fill_bits(t, where, n);
    soil(values);
    soil(hit);
    soil(failed);
    soil(counts);
    if (test_below(t, 2))
        batch.where = column_send(where);
    batch.hit = column_send(hit);
    batch.failed = column_send(failed);
    batch.counts = column_send(counts);
    OK(t, cohort_multimap_find(m, n, column_send(queries), column_send(values),
                               with_fallback ? &fallback : NULL, &batch));
    column_fetch(values);
    column_fetch(hit);
    column_fetch(failed);
    column_fetch(counts);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = column_get(queries, i), value = column_get(values, i);
        int active = !batch.where || bitmap_get(where, i), there = run_length(d, key) > 0;
        taken += (uint64_t)active;
        hits += (uint64_t)(active && there);
        EQUAL(t, bitmap_get(hit, i), active && there);
        if (active && there)
            CHECK(t, has_pair(d, key, value));
        else
            EQUAL(t, value, active && with_fallback ? fallback : dirt);
    }
    for (uint64_t i = 0; i < 32 * bitmap_words(n); i++) {
        CHECK(t, !bitmap_get(failed, i));
        CHECK(t, i < n || !bitmap_get(hit, i));
    }
    const uint64_t due[5] = {taken, hits, 0, 0, UINT64_MAX};
    for (uint64_t i = 0; i < 5; i++)
        EQUAL(t, column_get(counts, i), due[i]);
}

/* ---- retrieval ---------------------------------------------------------------------------------------------------------- */

/* The whole result of a retrieval, row by row. */
struct rows {
    uint64_t total;
    uint64_t *queries, *values;
    unsigned char *matched;
};

static void rows_new(struct test *t, struct rows *r, uint64_t total)
{
    r->total = total;
    r->queries = calloc(total + 1, 8);
    r->values = calloc(total + 1, 8);
    r->matched = calloc(total + 1, 1);
    REQUIRE(t, r->queries && r->values && r->matched);
}

static void rows_free(struct rows *r)
{
    free(r->queries);
    free(r->values);
    free(r->matched);
}

/* One call for `capacity` rows from `first` on. */
static void fetch_rows(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries,
                       int outer, const uint64_t *fallback, uint64_t first, uint64_t capacity,
                       struct rows *out)
{
    struct column *mark = t->columns;
    struct column *row_queries = column_new(t, capacity, 8),
                  *values = column_new(t, capacity, value_bytes(d->width));
    struct column *matched = column_new(t, bitmap_words(capacity), 4);
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    soil(row_queries);
    soil(values);
    r.outer = (uint32_t)outer;
    r.fallback = fallback;
    r.first = first;
    r.capacity = capacity;
    r.queries = column_send(row_queries);
    r.values = column_send(values);
    r.matched = column_send(matched);
    OK(t, cohort_multimap_retrieve(m, queries->count, column_send(queries), &r));
    column_fetch(row_queries);
    column_fetch(values);
    column_fetch(matched);
    EQUAL(t, r.total, out->total);
    EQUAL(t, r.written,
          first >= out->total             ? 0
          : out->total - first < capacity ? out->total - first
                                          : capacity);
    REQUIRE(t, !t->failures);
    for (uint64_t i = 0; i < r.written; i++) {
        out->queries[first + i] = column_get(row_queries, i);
        out->values[first + i] = column_get(values, i);
        out->matched[first + i] = (unsigned char)bitmap_get(matched, i);
    }
    for (uint64_t i = r.written; i < (r.written ? 32 * bitmap_words(r.written) : 0); i++)
        CHECK(t, !bitmap_get(matched, i));
    for (uint64_t i = r.written; i < capacity; i++) /* rows beyond the end are left alone */
        CHECK(t, column_get(row_queries, i) == 0x5a5a5a5a5a5a5a5au);
    column_drop(t, mark);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The rows of query q are [begin, end): all the key's values, each once. */
static int check_query(struct test *t, const struct data *d, uint64_t q, uint64_t key, struct rows *r,
                       uint64_t begin, uint64_t end, uint64_t fallback)
{
    uint64_t first = lower(d, key), length = run_length(d, key);
    int good = CHECK(t, end - begin == (length ? length : end - begin)), matched = length > 0;
    for (uint64_t i = begin; good && i < end; i++)
        good = EQUAL(t, r->queries[i], q) && EQUAL(t, r->matched[i], matched);
    if (!good)
        return 0;
    qsort(r->values + begin, end - begin, 8, by_number);
    for (uint64_t i = begin; good && i < end; i++)
        good = EQUAL(t, r->values[i], matched ? d->pairs[first + i - begin].value : fallback);
    return good;
}

static void check_retrieve(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries,
                           int outer)
{
    uint64_t n = queries->count, number = test_random(t) & value_mask(d->width);
    const uint64_t *fallback = test_below(t, 2) ? &number : NULL;
    struct column *offsets = column_new(t, n + 1, 8);
    struct rows all, pieces;
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    soil(offsets);
    r.outer = (uint32_t)outer;
    r.offsets = column_send(offsets);
    OK(t, cohort_multimap_retrieve(m, n, column_send(queries), &r)); /* capacity 0: the size */
    column_fetch(offsets);
    EQUAL(t, r.written, 0);
    for (uint64_t i = 0, total = 0; i <= n; i++) {
        if (!EQUAL(t, column_get(offsets, i), total))
            return;
        uint64_t length = i < n ? run_length(d, column_get(queries, i)) : 0;
        total += length ? length : (uint64_t)outer;
        if (i + 1 == n)
            EQUAL(t, r.total, total);
    }
    rows_new(t, &all, r.total);
    rows_new(t, &pieces, r.total);
    fetch_rows(t, m, d, queries, outer, fallback, 0, r.total + test_below(t, 3), &all);
    for (uint64_t first = 0, cut; first < r.total; first += cut) { /* written = cut but at the end */
        cut = 1 + test_below(t, test_below(t, 4) ? r.total / 3 + 2 : 67);
        fetch_rows(t, m, d, queries, outer, fallback, first, cut, &pieces);
    }
    fetch_rows(t, m, d, queries, outer, fallback, r.total, 1, &pieces);
    fetch_rows(t, m, d, queries, outer, fallback, UINT64_MAX, 3, &pieces);
    CHECK(t, memcmp(all.queries, pieces.queries, r.total * 8) == 0);
    CHECK(t, memcmp(all.values, pieces.values, r.total * 8) == 0);
    CHECK(t, memcmp(all.matched, pieces.matched, r.total) == 0);
    for (uint64_t q = 0; q < n; q++)
        if (!check_query(t, d, q, column_get(queries, q), &all, column_get(offsets, q),
                         column_get(offsets, q + 1), fallback ? number : value_mask(d->width)))
            break;
    rows_free(&all);
    rows_free(&pieces);
}

/* ---- cases: all of it, for keys of a kind -------------------------------------------------------------------------------- */

static void check_all(struct test *t, cohort_multimap *m, const struct data *d, uint64_t queries)
{
    uint64_t run = d->distinct ? d->count / d->distinct + 1 : 1, rows = test_size(t, 200000, 2000);
    struct column *q = queries_of(t, d, queries < rows / run + 2 ? queries : rows / run + 2);
    check_sizes(t, m, d);
    check_export(t, m, d);
    check_count(t, m, d, q);
    check_find(t, m, d, q);
    check_retrieve(t, m, d, q, 0);
    check_retrieve(t, m, d, q, 1);
    REQUIREF(t, !t->failures, "width %s, %llu pairs of %llu keys", width_name(d->width),
             (unsigned long long)d->count, (unsigned long long)d->distinct);
}

static void try_keys(struct test *t, cohort_width width, uint64_t n, enum pattern pattern, uint64_t range,
                     uint64_t queries)
{
    struct column *mark = t->columns;
    struct data d = data_new(t, width, n, pattern, range);
    cohort_multimap *m = build(t, &d);
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
        cohort_multimap *m = build(t, &d);
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
        cohort_multimap *m = build(t, &d);
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
    cohort_multimap *m = build(t, &d);
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

/* ---- merge ---------------------------------------------------------------------------------------------------------------- */

static struct data joined(struct test *t, const struct data *a, const struct data *b)
{
    struct data d = {.width = a->width};
    d.count = a->count + b->count;
    d.pairs = malloc((d.count + 1) * sizeof *d.pairs);
    REQUIRE(t, d.pairs);
    memcpy(d.pairs, a->pairs, a->count * sizeof *d.pairs);
    memcpy(d.pairs + a->count, b->pairs, b->count * sizeof *d.pairs);
    qsort(d.pairs, d.count, sizeof *d.pairs, by_pair);
    for (uint64_t i = 0; i < d.count; i++)
        d.distinct += i == 0 || d.pairs[i].key != d.pairs[i - 1].key;
    d.n = b->n;
    d.keys = b->keys; /* to draw queries from */
    return d;
}

static void merge(struct test *t)
{
    uint64_t large = test_scale(t, 500, test_size(t, 5000, 200), test_size(t, 20000, 500));
    for (unsigned w = 0; w < 3; w++)
        for (unsigned i = 0; i < 4; i++) {
            struct column *mark = t->columns;
            struct data a = data_new(t, widths[w], i == 0 ? 0 : large, RANDOM, large);
            struct data b = data_new(t, widths[w], i == 1 ? 0 : large / 2, i == 2 ? EDGES : SKEWED, large);
            struct data both = joined(t, &a, &b);
            cohort_multimap *x = build(t, &a), *y = build(t, &b), *z = NULL, *twice = NULL;
            OK(t, cohort_multimap_merge(x, y, &z));
            check_all(t, z, &both, 50);
            check_sizes(t, x, &a);
            check_sizes(t, y, &b);
            OK(t, cohort_multimap_merge(y, y, &twice));
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

/* ---- the scan, by itself --------------------------------------------------------------------------------------------------- */

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
        OK(t, cohort_scan(t->context, n, sizeof *own, own, own, 0));
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
            cohort_multimap *m = build(t, &d);
            check_all(t, m, &d, 40);
            cohort_multimap_destroy(m);
            free(d.pairs);
            column_drop(t, mark);
        }
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
    {"merge", merge, TEST_EACH_MEMORY},
    {"scans", scans, TEST_EACH_MEMORY},
    {"many_pages", many_pages, TEST_ON_CPU | TEST_ON_CUDA | TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
