/* test_multisplit_ended.c: multisplits, histograms and compactions on a CPU, ended wherever they tell. */
#include "ended.h"

#include <stdlib.h>
#include <string.h>

struct world {
    struct ending ending;
    uint64_t n, segments;
    uint32_t buckets;
    int by_hash; /* ids that are kept, else ids made twice */
    uint32_t *keys, *out, *rank;
    uint64_t *offsets, *begins;
};

static void world_open(struct world *w, struct test *t, uint64_t threads)
{
    ending_open(&w->ending, t, threads);
    w->n = 600000;
    w->keys = malloc(w->n * 4);
    w->out = malloc(w->n * 4);
    w->rank = malloc(w->n * 4);
    w->offsets = malloc(8 * (w->segments + 1) * (w->buckets + 1));
    w->begins = malloc(8 * (w->segments + 1));
    for (uint64_t i = 0; i < w->n; i++)
        w->keys[i] = (uint32_t)test_mix(i);
    for (uint64_t s = 0; s <= w->segments; s++)
        w->begins[s] = w->segments ? w->n / w->segments * s : 0;
    w->begins[w->segments] = w->n;
}

static void world_close(struct world *w)
{
    cohort_context_destroy(w->ending.context);
    free(w->keys);
    free(w->out);
    free(w->rank);
    free(w->offsets);
    free(w->begins);
}

static cohort_fn function_of(const struct world *w)
{
    return cohort_fn_make(w->by_hash ? COHORT_FN_HASH : COHORT_FN_MODULO, 0, 0, NULL, 0);
}

/* Each key is where its rank says; of a function that is told here, in its bucket. */
static void judge_order(const struct world *w)
{
    struct test *t = w->ending.t;
    for (uint64_t i = 0; i < w->n; i++)
        REQUIRE(t, w->rank[i] < w->n && w->out[w->rank[i]] == w->keys[i]);
    for (uint64_t b = 0, most = (w->segments ? w->segments : 1) * w->buckets; b < most && !w->by_hash; b++)
        for (uint64_t i = w->offsets[b]; i < w->offsets[b + 1]; i++)
            REQUIRE(t, w->out[i] % w->buckets == b % w->buckets);
}

static cohort_status split_once(void *world)
{
    struct world *w = world;
    cohort_fn f = function_of(w);
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_counts counts = COHORT_COUNTS_INIT;
    d.n = w->n;
    d.type = COHORT_U32;
    d.buckets = w->buckets;
    d.fn = &f;
    d.keys = w->keys;
    d.keys_out = w->out;
    d.rank = w->rank;
    d.segments = w->segments;
    d.segment_offsets = w->segments ? w->begins : NULL;
    d.offsets = w->offsets;
    d.counts = &counts;
    memset(w->rank, 0xff, w->n * 4);
    cohort_status s = cohort_multisplit(w->ending.context, &d);
    if (s)
        return s;
    EQUAL(w->ending.t, counts.added, w->n);
    judge_order(w);
    return s;
}

static cohort_status histogram_once(void *world)
{
    struct world *w = world;
    cohort_fn f = function_of(w);
    cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
    uint64_t sum = 0;
    d.n = w->n;
    d.buckets = w->buckets;
    d.fn = &f;
    d.keys = w->keys;
    d.bins = w->offsets;
    cohort_status s = cohort_histogram(w->ending.context, &d);
    for (uint32_t b = 0; !s && b < w->buckets; b++)
        sum += w->offsets[b];
    EQUAL(w->ending.t, s ? w->n : sum, w->n);
    return s;
}

static void splits(struct test *t)
{
    static const struct {
        uint32_t buckets;
        uint64_t segments;
        int by_hash;
    } plans[] = {{8, 0, 0}, {3000, 0, 0}, {200, 0, 1}, {7, 5, 0}, {2500, 3, 0}};
    for (uint64_t i = 0; i < 10; i++) {
        struct world w = {.buckets = plans[i / 2].buckets,
                          .segments = plans[i / 2].segments,
                          .by_hash = plans[i / 2].by_hash};
        if (!test_drawn(t, i, 5))
            continue;
        world_open(&w, t, 1 + i % 2 * 2);
        end_everywhere(&w.ending, &w, split_once);
        end_everywhere(&w.ending, &w, histogram_once);
        world_close(&w);
    }
}

/* ---- compactions --------------------------------------------------------------------------------------- */

static cohort_status compact_once(void *world)
{
    struct world *w = world;
    cohort_fn f = cohort_fn_make(COHORT_FN_BETWEEN, 0, 1u << 30, NULL, 0);
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    uint64_t kept = 0;
    d.n = w->n;
    d.type = COHORT_U32;
    d.fn = &f;
    d.keys = w->keys;
    d.kept = w->out;
    d.rejected = w->rank;
    cohort_status s = cohort_compact(w->ending.context, &d);
    for (uint64_t i = 0; !s && i < w->n; i++)
        if (w->keys[i] < 1u << 30)
            REQUIRE(w->ending.t, w->out[kept++] == w->keys[i]);
        else
            REQUIRE(w->ending.t, w->rank[i - kept] == w->keys[i]);
    return s;
}

static void compactions(struct test *t)
{
    for (uint64_t threads = 1; threads < 4; threads += 2) {
        struct world w = {.buckets = 1};
        world_open(&w, t, threads);
        end_everywhere(&w.ending, &w, compact_once);
        world_close(&w);
    }
}

const struct test_case test_cases[] = {
    {"splits", splits, TEST_ON_CPU},
    {"compactions", compactions, TEST_ON_CPU},
    {NULL, NULL, 0},
};
