/* test_stream.c: splits, histograms, compactions, sorts, runs, sums in a stream: captured into a graph, and
 * what a wait tells. */
#include "cuda/device.h"
#include "test.h"

/* ---- graphs -------------------------------------------------------------------------------------------- */

#define N 100003
#define M 64

/* All calls, one after the other, on what `keys` holds. */
struct works {
    struct column *keys, *split, *offsets, *bins, *kept, *total, *sorted, *sums, *greatest, *counts;
    struct column *distinct, *starts, *lengths, *runs; /* of what was sorted */
    void *workspace;
    uint64_t workspace_bytes;
};

static cohort_multisplit_desc split_of(struct works *w)
{
    static cohort_fn fn;
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    fn = cohort_fn_bits(0, 6);
    d.n = N;
    d.buckets = M;
    d.fn = &fn;
    d.keys = w->keys->device_block + w->keys->before;
    d.keys_out = w->split->device_block + w->split->before;
    d.offsets = (uint64_t *)(void *)(w->offsets->device_block + w->offsets->before);
    d.counts = (cohort_counts *)(void *)(w->counts->device_block + w->counts->before);
    return d;
}

static uint64_t *words_of(const struct column *c)
{
    return (uint64_t *)(void *)(c->device_block + c->before);
}

/* Of a sort's keys: all that there is of them, and lengths alone, which are made of starts of their own. */
static cohort_status do_runs(struct test *t, struct works *w)
{
    cohort_runs_desc r = COHORT_RUNS_INIT;
    r.n = N;
    r.keys = w->sorted->device_block + w->sorted->before;
    r.lengths = words_of(w->lengths);
    cohort_status status = cohort_runs(t->context, &r);
    r.distinct = w->distinct->device_block + w->distinct->before;
    r.starts = words_of(w->starts);
    r.total = words_of(w->runs);
    r.lengths = NULL;
    return status ? status : cohort_runs(t->context, &r);
}

static cohort_status do_all(struct test *t, void *of)
{
    struct works *w = of;
    cohort_context *c = t->context;
    cohort_multisplit_desc d = split_of(w);
    cohort_histogram_desc h = COHORT_HISTOGRAM_INIT;
    cohort_compact_desc k = COHORT_COMPACT_INIT;
    cohort_sort_desc s = COHORT_SORT_INIT;
    d.workspace = w->workspace;
    d.workspace_bytes = w->workspace_bytes;
    h.n = k.n = s.n = N;
    h.buckets = M;
    h.fn = d.fn;
    h.keys = k.keys = s.keys = d.keys;
    h.bins = (uint64_t *)(void *)(w->bins->device_block + w->bins->before);
    const cohort_fn half = cohort_fn_between(0, 1u << 31);
    k.fn = &half;
    k.kept = w->kept->device_block + w->kept->before;
    k.total = (uint64_t *)(void *)(w->total->device_block + w->total->before);
    s.keys_out = w->sorted->device_block + w->sorted->before;
    cohort_status status = cohort_multisplit(c, &d);
    if (!status)
        status = cohort_histogram(c, &h);
    if (!status)
        status = cohort_compact(c, &k);
    if (!status)
        status = cohort_sort(c, &s);
    if (!status)
        status = do_runs(t, w);
    if (!status)
        status = cohort_scan(c, N, COHORT_U32, 0, d.keys, w->sums->device_block + w->sums->before);
    if (!status)
        status = cohort_reduce(c, COHORT_OP_MAX, N, COHORT_U32, d.keys,
                               (uint64_t *)(void *)(w->greatest->device_block + w->greatest->before));
    return status;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Of the sorted keys. */
static void judge_runs(struct test *t, struct works *w, const uint32_t *sorted)
{
    uint64_t runs = 0;
    for (uint64_t i = 0, end; i < N; i = end, runs++) {
        for (end = i + 1; end < N && sorted[end] == sorted[i];)
            end++;
        REQUIRE(t, column_get(w->distinct, runs) == sorted[i] && column_get(w->starts, runs) == i);
        REQUIRE(t, column_get(w->lengths, runs) == end - i);
    }
    EQUAL(t, column_get(w->runs, 0), runs);
}

static void judge_all(struct test *t, struct works *w)
{
    struct column *const all[] = {w->split, w->offsets,  w->bins,     w->kept,   w->total,   w->sorted,
                                  w->sums,  w->greatest, w->distinct, w->starts, w->lengths, w->runs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        column_fetch(all[i]);
    uint64_t begin[M + 1] = {0}, next[M], kept = 0;
    uint32_t sum = 0, greatest = 0, *sorted = malloc(N * 4), *keys = w->keys->data;
    REQUIRE(t, sorted);
    memcpy(sorted, keys, N * 4);
    qsort(sorted, N, 4, compare);
    for (uint64_t i = 0; i < N; i++)
        begin[keys[i] % M + 1]++;
    for (uint64_t b = 0; b < M; b++) {
        EQUAL(t, column_get(w->bins, b), begin[b + 1]);
        begin[b + 1] += begin[b];
        next[b] = begin[b];
    }
    for (uint64_t b = 0; b <= M; b++)
        EQUAL(t, column_get(w->offsets, b), begin[b]);
    for (uint64_t i = 0; i < N; i++) {
        REQUIRE(t, column_get(w->split, next[keys[i] % M]++) == keys[i]);
        REQUIRE(t, column_get(w->sorted, i) == sorted[i]);
        REQUIRE(t, column_get(w->sums, i) == sum);
        sum += keys[i];
        greatest = keys[i] > greatest ? keys[i] : greatest;
        if (keys[i] <= 1u << 31)
            REQUIRE(t, column_get(w->kept, kept++) == keys[i]);
    }
    EQUAL(t, column_get(w->total, 0), kept);
    EQUAL(t, column_get(w->greatest, 0), greatest);
    judge_runs(t, w, sorted);
    free(sorted);
}

static struct works works_new(struct test *t)
{
    struct works w = {.keys = column_new(t, N, 4),
                      .split = column_new(t, N, 4),
                      .offsets = column_new(t, M + 1, 8),
                      .bins = column_new(t, M, 8),
                      .kept = column_new(t, N, 4),
                      .total = column_new(t, 1, 8),
                      .sorted = column_new(t, N, 4),
                      .sums = column_new(t, N, 4),
                      .greatest = column_new(t, 1, 8),
                      .counts = column_new(t, 5, 8),
                      .distinct = column_new(t, N, 4),
                      .starts = column_new(t, N, 8),
                      .lengths = column_new(t, N, 8),
                      .runs = column_new(t, 1, 8)};
    struct column *const all[] = {w.split,    w.offsets, w.bins,     w.kept,   w.total,   w.sorted, w.sums,
                                  w.greatest, w.counts,  w.distinct, w.starts, w.lengths, w.runs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        column_send(all[i]);
    cohort_multisplit_desc d = split_of(&w);
    OK(t, cohort_multisplit_workspace(t->context, &d, &w.workspace_bytes));
    if (w.workspace_bytes)
        OK(t, cohort_alloc(t->context, w.workspace_bytes, &w.workspace));
    return w;
}

/* Sometimes of few values, so that runs are long. */
static void new_keys(struct test *t, struct works *w)
{
    const uint64_t spread = test_below(t, 2) ? 1 : (1ull << 32) / (1 + test_below(t, 300));
    for (uint64_t i = 0; i < N; i++)
        column_put(w->keys, i, (uint32_t)test_random(t) / spread * spread);
    column_send(w->keys);
}

/* The same calls in a stream without a wait between them, also on a device that has no graphs. */
static void stream_order(struct test *t)
{
    if (t->kind == TEST_SIM && !test_drawn(t, 0, 3))
        return;
    t->memory = TEST_DEVICE;
    struct works w = works_new(t);
    for (int i = 0; i < 2; i++) {
        new_keys(t, &w);
        OK(t, do_all(t, &w));
        OK(t, cohort_wait(t->context));
        judge_all(t, &w);
    }
    OK(t, cohort_free(t->context, w.workspace));
}

static void graphs(struct test *t)
{
    struct test_graph g;
    test_graph_open(t, &g);
    struct works w = works_new(t);
    new_keys(t, &w);
    OK(t, do_all(t, &w)); /* one like it has run */
    OK(t, cohort_wait(t->context));
    judge_all(t, &w);
    OK(t, test_graph_capture(t, &g, do_all, &w));
    for (int i = 0; i < 4; i++) {
        new_keys(t, &w);
        OK(t, cohort_wait(t->context));
        test_graph_launch(t, &g);
        OK(t, cohort_wait(t->context));
        judge_all(t, &w);
    }
    OK(t, cohort_free(t->context, w.workspace));
    test_graph_close(t, &g);
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

/* Bad ids of calls that do not wait come out at cohort_wait, once, with the first of all. */
static void deferred(struct test *t)
{
    t->memory = TEST_DEVICE;
    struct column *keys = column_new(t, 100, 4), *out = column_new(t, 100, 4), *bins = column_new(t, 4, 8);
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_histogram_desc h = COHORT_HISTOGRAM_INIT;
    for (uint64_t i = 0; i < 100; i++)
        column_put(keys, i, i >= 60 ? 4 + i % 3 : i % 4);
    d.n = h.n = 100;
    d.buckets = h.buckets = 4;
    const cohort_fn fn = cohort_fn_bits(0, 3);
    d.fn = h.fn = &fn;
    d.keys = h.keys = column_send(keys);
    d.keys_out = column_send(out);
    h.bins = column_send(bins);
    OK(t, cohort_multisplit(t->context, &d));
    h.n = 70;
    OK(t, cohort_histogram(t->context, &h));
    FAILS(t, t->context, cohort_wait(t->context), COHORT_RANGE, "entry 60 ", "multisplit");
    OK(t, cohort_wait(t->context));
    d.n = 60;
    OK(t, cohort_multisplit(t->context, &d));
    OK(t, cohort_wait(t->context));
}

#define GPU (TEST_ON_SIM | TEST_ON_CUDA)

const struct test_case test_cases[] = {
    {"graphs", graphs, GPU},
    {"stream_order", stream_order, GPU},
    {"deferred", deferred, GPU},
    {NULL, NULL, 0},
};
