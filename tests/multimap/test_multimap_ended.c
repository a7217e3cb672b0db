/* test_multimap_ended.c: builds, inserts and lookups of multimaps on a CPU, ended wherever they tell. A build
 * that is ended gives nothing, an insert adds nothing. */
#include "ended.h"

#include <stdlib.h>

struct world {
    struct ending ending;
    uint64_t n, distinct, first; /* `first` pairs are built, the rest is inserted */
    uint64_t *keys, *values, *counts, *queries, *rows;
    uint64_t *times; /* of the first so many pairs, and of all */
};

static void world_open(struct world *w, struct test *t, uint64_t threads, uint64_t distinct)
{
    ending_open(&w->ending, t, threads);
    w->n = 120000;
    w->first = w->n / 2;
    w->distinct = distinct < w->n ? distinct : w->n;
    w->keys = malloc(w->n * 8);
    w->values = malloc(w->n * 8);
    w->counts = malloc(w->n * 8);
    w->queries = malloc(w->n * 8);
    w->rows = malloc(w->n * 8);
    w->times = calloc(2 * w->distinct, 8);
    for (uint64_t i = 0; i < w->n; i++) {
        uint64_t key = distinct < w->n ? test_mix(i) % distinct : i;
        w->keys[i] = key * 0x9e3779b97f4a7c15ull;
        w->values[i] = i;
        w->times[key] += i < w->first;
        w->times[w->distinct + key]++;
    }
    for (uint64_t i = 0; i < w->distinct; i++)
        w->queries[i] = i * 0x9e3779b97f4a7c15ull;
}

static void world_close(struct world *w)
{
    cohort_context_destroy(w->ending.context);
    free(w->keys);
    free(w->values);
    free(w->counts);
    free(w->queries);
    free(w->rows);
    free(w->times);
}

/* What a call was ended in goes on to be looked at undisturbed. */
static void judge(struct world *w, cohort_multimap *m, int all)
{
    struct test *t = w->ending.t;
    uint64_t stop = ending_pause(&w->ending), values, keys;
    OK(t, cohort_multimap_size(m, &keys, &values));
    EQUAL(t, values, all ? w->n : w->first);
    OK(t, cohort_multimap_count(m, w->distinct, w->queries, w->counts));
    for (uint64_t i = 0; i < w->distinct; i++)
        REQUIRE(t, w->counts[i] == w->times[all ? w->distinct + i : i]);
    w->ending.stop = stop;
}

static cohort_status build(struct world *w, uint64_t n, cohort_multimap **m)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    return cohort_multimap_build(w->ending.context, &options, n, w->keys, w->values, NULL, m);
}

static cohort_status build_once(void *world)
{
    struct world *w = world;
    cohort_multimap *m = NULL;
    cohort_status s = build(w, w->n, &m);
    CHECK(w->ending.t, !s == (m != NULL));
    if (!s)
        judge(w, m, 1);
    cohort_multimap_destroy(m);
    return s;
}

static cohort_status insert_once(void *world)
{
    struct world *w = world;
    struct test *t = w->ending.t;
    cohort_multimap *m = NULL;
    uint64_t stop = ending_pause(&w->ending);
    OK(t, build(w, w->first, &m));
    ending_go(&w->ending, stop);
    cohort_status s =
        cohort_multimap_insert(m, w->n - w->first, w->keys + w->first, w->values + w->first, NULL);
    judge(w, m, !s);
    cohort_multimap_destroy(m);
    return s;
}

static cohort_status retrieve_once(void *world)
{
    struct world *w = world;
    struct test *t = w->ending.t;
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    cohort_multimap *m = NULL;
    uint64_t stop = ending_pause(&w->ending);
    OK(t, build(w, w->n, &m));
    ending_go(&w->ending, stop);
    r.capacity = w->n;
    r.queries = w->counts;
    r.values = w->rows;
    cohort_status s = cohort_multimap_retrieve(m, w->distinct, w->queries, &r);
    EQUAL(t, s ? w->n : r.total, w->n);
    for (uint64_t i = 0; !s && i < w->n; i++)
        REQUIRE(t, w->rows[i] < w->n && w->keys[w->rows[i]] == w->queries[w->counts[i]]);
    cohort_multimap_destroy(m);
    return s;
}

static void multimaps(struct test *t)
{
    static const uint64_t distinct[] = {~0ull, 100000, 50};
    for (uint64_t i = 0; i < 6; i++) {
        struct world w;
        if (!test_drawn(t, i, 3))
            continue;
        world_open(&w, t, 1 + i % 2 * 2, distinct[i / 2]);
        end_everywhere(&w.ending, &w, build_once);
        end_everywhere(&w.ending, &w, insert_once);
        if (w.distinct > 50)
            end_everywhere(&w.ending, &w, retrieve_once);
        world_close(&w);
    }
}

const struct test_case test_cases[] = {
    {"multimaps", multimaps, TEST_ON_CPU},
    {NULL, NULL, 0},
};
