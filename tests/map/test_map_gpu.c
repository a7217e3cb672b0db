/* test_map_gpu.c: what maps owe to programs that use the driver's own things: memory of other kinds, streams,
 * graphs. */
#include "subject.h"

#include "cohort/device/map.h"
#include "cuda/driver.h"

#define N 500

static struct subject fixed_map(struct test *t)
{
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.capacity = 4 * N;
    return subject_new(t, &options);
}

/* Key i and value i of a batch in memory that the host can write to. */
static uint64_t nth_key(uint64_t i)
{
    return i * 3 + 1;
}
static uint64_t nth_value(uint64_t i)
{
    return test_mix(i);
}

/* Inserts N pairs, finds twice as many keys, all with these arrays of 2 N entries, and compares. */
static void insert_and_look(struct test *t, uint64_t *keys, uint64_t *values, uint8_t *hit)
{
    struct subject s = fixed_map(t);
    cohort_batch batch = COHORT_BATCH_INIT;
    for (uint64_t i = 0; i < 2 * N; i++) {
        keys[i] = nth_key(i);
        values[i] = nth_value(i);
    }
    for (uint64_t i = 0; i < N; i++)
        oracle_put(s.oracle, nth_key(i), nth_value(i));
    OK(t, cohort_map_insert(s.map, N, keys, values, NULL));
    OK(t, cohort_wait(t->context));
    memset(values, 0, 2 * N * sizeof *values);
    batch.hit = hit;
    OK(t, cohort_map_find(s.map, 2 * N, keys, values, &(uint64_t){77}, &batch));
    OK(t, cohort_wait(t->context));
    for (uint64_t i = 0; i < 2 * N; i++) {
        EQUAL(t, values[i], i < N ? nth_value(i) : 77);
        EQUAL(t, hit[i / 8] >> (i % 8) & 1, i < N);
    }
    subject_observe(&s);
    subject_free(&s);
}

/* Memory that host and device share counts as the device's. */
static void managed_memory(struct test *t)
{
    cuda_pointer keys, values, hit;
    struct test_gpu g = test_gpu_enter(t);
    REQUIRE(t, g.driver);
    REQUIRE(t, !g.driver->mem_alloc_managed(&keys, 2 * N * 8, 1) &&
                   !g.driver->mem_alloc_managed(&values, 2 * N * 8, 1) &&
                   !g.driver->mem_alloc_managed(&hit, N / 2, 1));
    insert_and_look(t, (uint64_t *)(uintptr_t)keys, (uint64_t *)(uintptr_t)values, (uint8_t *)(uintptr_t)hit);

    struct subject s = fixed_map(t);
    uint64_t pageable[N] = {0};
    FAILS(t, t->context, cohort_map_insert(s.map, N, (uint64_t *)(uintptr_t)keys, pageable, NULL),
          COHORT_BAD_POINTER, "values", NULL);
    subject_observe(&s);
    subject_free(&s);
    CHECK(t, !g.driver->mem_free(keys) && !g.driver->mem_free(values) && !g.driver->mem_free(hit));
    test_gpu_leave(g);
}

/* Pinned memory of the caller's is host memory. */
static void pinned_memory(struct test *t)
{
    void *keys, *values, *hit;
    struct test_gpu g = test_gpu_enter(t);
    REQUIRE(t, g.driver);
    REQUIRE(t, !g.driver->mem_host_alloc(&keys, 2 * N * 8, 1) &&
                   !g.driver->mem_host_alloc(&values, 2 * N * 8, 1) &&
                   !g.driver->mem_host_alloc(&hit, N / 2, 1));
    insert_and_look(t, keys, values, hit);
    CHECK(t, !g.driver->mem_free_host(keys) && !g.driver->mem_free_host(values) &&
                 !g.driver->mem_free_host(hit));
    test_gpu_leave(g);
}

/* Batches on the caller's stream, on another of theirs, and on the context's own again come one after the
 * other. */
static void streams(struct test *t)
{
    struct test_gpu g = test_gpu_enter(t);
    cuda_stream stream[2];
    REQUIRE(t, g.driver);
    REQUIRE(t, !g.driver->stream_create(&stream[0], CUDA_STREAM_NON_BLOCKING) &&
                   !g.driver->stream_create(&stream[1], CUDA_STREAM_NON_BLOCKING));
    struct subject s = fixed_map(t);
    struct column *keys = column_new(t, N, 8), *ones = column_new(t, N, 8);
    for (uint64_t i = 0; i < N; i++) {
        column_put(keys, i, nth_key(i));
        column_put(ones, i, 1);
        oracle_put(s.oracle, nth_key(i), 60);
    }
    const void *k = column_send(keys), *v = column_send(ones);
    void *const turn[] = {stream[0], stream[1], COHORT_STREAM_OWN,
                          NULL}; /* the last is the legacy default stream */
    for (int i = 0; i < 60; i++) {
        OK(t, cohort_set_stream(t->context, turn[i % 4]));
        OK(t, cohort_map_apply(s.map, COHORT_OP_ADD, N, k, v, NULL));
    }
    OK(t, cohort_wait(t->context));
    OK(t, cohort_set_stream(t->context, COHORT_STREAM_OWN));
    subject_observe(&s);
    subject_free(&s);
    CHECK(t, !g.driver->stream_destroy(stream[0]) && !g.driver->stream_destroy(stream[1]));
    test_gpu_leave(g);
}

/* Two calls on a map, of the same keys. */
struct pair {
    cohort_map *map;
    const void *keys;
    void *found;
};

static cohort_status count_and_find(struct test *t, void *of)
{
    struct pair *p = of;
    (void)t;
    cohort_status s = cohort_map_apply(p->map, COHORT_OP_COUNT, N, p->keys, NULL, NULL);
    return s ? s : cohort_map_find(p->map, N, p->keys, p->found, NULL, NULL);
}

static struct column *some_keys(struct test *t)
{
    struct column *keys = column_new(t, N, 8);
    for (uint64_t i = 0; i < N; i++)
        column_put(keys, i, nth_key(i));
    return keys;
}

/* Captures two calls on a fixed map; each launch of the graph does them again. */
static void capture(struct test *t, struct test_graph *g, struct subject *s)
{
    struct column *found = column_new(t, N, 8);
    struct pair p = {s->map, column_send(some_keys(t)), column_send(found)};
    OK(t, count_and_find(t, &p)); /* one like it has run */
    OK(t, test_graph_capture(t, g, count_and_find, &p));
    for (int i = 0; i < 5; i++)
        test_graph_launch(t, g);
    OK(t, cohort_wait(t->context));
    column_fetch(found);
    for (uint64_t i = 0; i < N; i++) {
        EQUAL(t, column_get(found, i), 6);
        oracle_put(s->oracle, nth_key(i), 6);
    }
}

static cohort_status insert(struct test *t, void *of)
{
    struct pair *p = of;
    (void)t;
    return cohort_map_insert(p->map, N, p->keys, p->keys, NULL);
}

/* Growing maps wait, so they cannot be captured; they say so, and the capture goes on. */
static void refuse_capture(struct test *t, struct test_graph *g)
{
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    struct pair p = {s.map, column_send(some_keys(t)), NULL};
    CHECKF(t, test_graph_capture(t, g, insert, &p) != COHORT_OK, "a growing map was captured");
    OK(t, cohort_wait(t->context));
    subject_observe(&s);
    subject_free(&s);
}

static void graphs(struct test *t)
{
    struct test_graph g;
    test_graph_open(t, &g);
    struct subject s = fixed_map(t);
    refuse_capture(t, &g);
    capture(t, &g, &s);
    subject_observe(&s);
    subject_free(&s);
    test_graph_close(t, &g);
}

/* A table that has many counters, to which many blocks add: their sum is the size, whoever put a key in and
 * whoever took it out. Tables of LINES have one set of counters. */
static void counters(struct test *t)
{
    cohort_map_options options = subject_options(t);
    struct subject s;
    uint64_t keys[N], size = 0;
    cohort_map_view view;
    options.fixed = 1;
    options.capacity = 1u << 16;
    s = subject_new(t, &options);
    for (uint64_t i = 0; i < N; i++)
        keys[i] = nth_key(i);
    OK(t, cohort_map_get_view(s.map, &view));
    CHECK(t, co_map_spread(&view) > 1);
    OK(t, cohort_map_insert(s.map, N, keys, keys, NULL));
    OK(t, cohort_map_size(s.map, &size));
    EQUAL(t, size, N);
    OK(t, cohort_map_erase(s.map, N / 4, keys + N / 2, NULL));
    OK(t, cohort_map_size(s.map, &size));
    EQUAL(t, size, N - N / 4);
    OK(t, cohort_map_clear(s.map));
    OK(t, cohort_map_size(s.map, &size));
    EQUAL(t, size, 0);
    subject_free(&s);
}

#define GPU (TEST_ON_SIM | TEST_ON_CUDA)
const struct test_case test_cases[] = {{"managed_memory", managed_memory, GPU | TEST_EACH_LAYOUT},
                                       {"pinned_memory", pinned_memory, GPU | TEST_EACH_LAYOUT},
                                       {"streams", streams, GPU | TEST_EACH_MEMORY | TEST_EACH_LAYOUT},
                                       {"graphs", graphs, GPU | TEST_EACH_LAYOUT},
                                       {"counters", counters, GPU},
                                       {NULL, NULL, 0}};
