/* pairs.c: pairs of keys and values as a sorted list, and every call of a multimap against it. */
#include "pairs.h"

/* ---- the oracle: the pairs, sorted --------------------------------------------------------------------- */

static int by_pair(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->value > y->value) - (x->value < y->value);
}

void data_index(struct test *t, struct data *d)
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

struct data data_new(struct test *t, cohort_width width, uint64_t n, enum pattern pattern, uint64_t range)
{
    struct data d = {.width = width, .n = n};
    d.keys = column_new(t, n, key_bytes(width));
    d.values = column_new(t, n, value_bytes(width));
    fill_keys(t, d.keys, pattern, range);
    fill_values(t, d.values);
    if (n && test_below(t, 2)) {
        d.where = bitmap_at_byte(t, n);
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

uint64_t run_length(const struct data *d, uint64_t key)
{
    uint64_t first = lower(d, key), end = first;
    while (end < d->count && d->pairs[end].key == key)
        end++;
    return end - first;
}

int has_pair(const struct data *d, uint64_t key, uint64_t value)
{
    struct pair pair = {key, value};
    return bsearch(&pair, d->pairs, d->count, sizeof pair, by_pair) != NULL;
}

/* ---- what is asked ------------------------------------------------------------------------------------- */

cohort_multimap *build_of(struct test *t, const struct data *d)
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

void add(struct test *t, cohort_multimap *m, struct data *all, uint64_t n, enum pattern pattern,
         uint64_t range)
{
    struct data d = data_new(t, all->width, n, pattern, range), both = joined(t, all, &d);
    OK(t, cohort_multimap_insert(m, n, column_send(d.keys), column_send(d.values),
                                 d.where ? column_send(d.where) : NULL));
    if (!n)
        both.n = all->n, both.keys = all->keys;
    free(all->pairs);
    free(d.pairs);
    *all = both;
}

/* Keys that are there, keys that are not, and those whose patterns mark slots. */
struct column *queries_of(struct test *t, const struct data *d, uint64_t n)
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
void soil(struct column *c)
{
    memset(c->data, 0x5a, c->count * c->width);
}

void check_sizes(struct test *t, cohort_multimap *m, const struct data *d)
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

void check_export(struct test *t, cohort_multimap *m, const struct data *d)
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

void check_count(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries)
{
    struct column *counts = column_new(t, queries->count, 8);
    soil(counts);
    OK(t, cohort_multimap_count(m, queries->count, column_send(queries), column_send(counts)));
    column_fetch(counts);
    for (uint64_t i = 0; i < queries->count; i++)
        if (!EQUAL(t, column_get(counts, i), run_length(d, column_get(queries, i))))
            return;
}

void check_find(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries)
{
    uint64_t n = queries->count, fallback = test_random(t) & value_mask(d->width), taken = 0, hits = 0;
    uint64_t dirt = 0x5a5a5a5a5a5a5a5au & value_mask(d->width);
    int with_fallback = (int)test_below(t, 2);
    struct column *values = column_new(t, n, value_bytes(d->width)), *where = bitmap_new(t, n);
    struct column *hit = bitmap_new(t, n), *failed = bitmap_new(t, n);
    struct column *counts = column_new(t, 5, 8);
    cohort_batch batch = COHORT_BATCH_INIT;
    fill_bits(t, where, n);
    soil(values);
    bitmap_soil(hit);
    bitmap_soil(failed);
    soil(counts);
    if (test_below(t, 2))
        batch.where = column_send(where);
    batch.where_offset = bitmap_offset(where);
    batch.hit = column_send(hit);
    batch.hit_offset = bitmap_offset(hit);
    batch.failed = column_send(failed);
    batch.failed_offset = bitmap_offset(failed);
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
    for (uint64_t i = 0; i < n; i++)
        CHECK(t, !bitmap_get(failed, i));
    bitmap_edges(hit);
    bitmap_edges(failed);
    const uint64_t due[5] = {taken, hits, 0, 0, UINT64_MAX};
    for (uint64_t i = 0; i < 5; i++)
        EQUAL(t, column_get(counts, i), due[i]);
}

/* ---- retrieval ----------------------------------------------------------------------------------------- */

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
    struct column *matched = bitmap_new(t, capacity);
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    soil(row_queries);
    soil(values);
    bitmap_soil(matched);
    r.outer = (uint32_t)outer;
    r.fallback = fallback;
    r.first = first;
    r.capacity = capacity;
    r.queries = column_send(row_queries);
    r.values = column_send(values);
    r.matched = column_send(matched);
    r.matched_offset = bitmap_offset(matched);
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
    matched->bits = r.written;
    bitmap_edges(matched);
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

void check_retrieve(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries,
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

void check_lookups(struct test *t, cohort_multimap *m, const struct data *d, uint64_t queries)
{
    uint64_t run = d->distinct ? d->count / d->distinct + 1 : 1, rows = test_size(t, 200000, 2000);
    struct column *q = queries_of(t, d, queries < rows / run + 2 ? queries : rows / run + 2);
    check_sizes(t, m, d);
    check_count(t, m, d, q);
    check_find(t, m, d, q);
    check_retrieve(t, m, d, q, 0);
    check_retrieve(t, m, d, q, 1);
    REQUIREF(t, !t->failures, "width %s, %llu pairs of %llu keys", width_name(d->width),
             (unsigned long long)d->count, (unsigned long long)d->distinct);
}

void check_all(struct test *t, cohort_multimap *m, const struct data *d, uint64_t queries)
{
    check_lookups(t, m, d, queries);
    check_export(t, m, d);
}

/* The pairs of both; keys to draw queries from are those of `b`. */
struct data joined(struct test *t, const struct data *a, const struct data *b)
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
