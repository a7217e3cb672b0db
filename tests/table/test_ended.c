/* test_ended.c: sorts, factors, joins, groups and gathers on a CPU, ended wherever they tell (ended.h). */
#include "model.h"

#include "ended.h"

struct world {
    struct test *t;
    struct ending ending;
    cohort_context *context;
    uint64_t n;
    uint64_t *keys, *sorted;
    cohort_frame *frame;
    cohort_join *join;
    cohort_group *group;
    uint64_t distinct;
};

static void world_open(struct world *w, struct test *t, uint64_t threads, uint64_t keys)
{
    memset(w, 0, sizeof *w);
    w->t = t;
    w->n = 300000;
    w->distinct = keys;
    ending_open(&w->ending, t, threads);
    w->context = w->ending.context;
    w->keys = malloc(w->n * 8);
    w->sorted = malloc(w->n * 8);
    for (uint64_t i = 0; i < w->n; i++)
        w->keys[i] = keys ? test_mix(test_mix(i) % keys) : test_mix(i) % 5000;
    if (!keys) { /* the first rows have the whole range */
        w->keys[0] = 0;
        w->keys[1] = 4999;
    }
    cohort_array array = {"k", COHORT_U64, 0, w->keys, NULL};
    OK(t, cohort_frame_create(w->context, w->n, 1, &array, &w->frame));
}

static void world_close(struct world *w)
{
    cohort_join_destroy(w->join);
    cohort_group_destroy(w->group);
    cohort_frame_release(w->frame);
    cohort_context_destroy(w->context);
    free(w->keys);
    free(w->sorted);
}

/* ---- sorts --------------------------------------------------------------------------------------------- */

static cohort_status sort_once(void *world)
{
    struct world *w = world;
    cohort_sort_desc d = COHORT_SORT_INIT;
    d.n = w->n;
    d.type = COHORT_U64;
    d.keys = w->keys;
    d.keys_out = w->sorted;
    cohort_status s = cohort_sort(w->context, &d);
    for (uint64_t i = 1; !s && i < w->n; i++)
        REQUIRE(w->t, w->sorted[i - 1] <= w->sorted[i]);
    return s;
}

static void sorts(struct test *t)
{
    const uint64_t distinct[] = {~0ull, 3, 0};
    for (uint64_t i = 0; i < 6; i++) {
        struct world w;
        if (!test_drawn(t, i, 3))
            continue;
        world_open(&w, t, i < 3 ? 1 : 3, distinct[i % 3]);
        end_everywhere(&w.ending, &w, sort_once);
        world_close(&w);
    }
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static cohort_status factorize_once(void *world)
{
    struct world *w = world;
    uint32_t *ids = malloc(w->n * 4), next = 0;
    uint64_t *first = malloc(w->n * 8);
    cohort_status s = cohort_factorize(w->frame, NULL, ids, NULL);
    for (uint64_t i = 0; !s && i < w->n; i++) {
        if (ids[i] == next)
            first[next++] = i;
        REQUIRE(w->t, ids[i] < next && w->keys[first[ids[i]]] == w->keys[i]);
    }
    free(ids);
    free(first);
    return s;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint64_t distinct_of(struct world *w)
{
    uint64_t distinct = w->n != 0;
    memcpy(w->sorted, w->keys, w->n * 8);
    qsort(w->sorted, w->n, 8, by_value);
    for (uint64_t i = 1; i < w->n; i++)
        distinct += w->sorted[i] != w->sorted[i - 1];
    return distinct;
}

/* A factor that knows some keys gets all rows. (Keys that lie close together are in a table by word then.)
 * What was ended may have brought some of their keys. It goes on with others, and then with all: each key has
 * an id of its own. */
static cohort_status factor_once(void *world)
{
    struct world *w = world;
    uint32_t *ids = malloc(w->n * 4);
    uint64_t *row = malloc(w->n * 8), seen = 0;
    cohort_factor *factor = NULL;
    cohort_frame *some = NULL, *others = NULL;
    OK(w->t, cohort_factor_create(w->context, 1, NULL, &factor));
    OK(w->t, cohort_frame_slice(w->frame, 0, 1000, &some));
    OK(w->t, cohort_frame_slice(w->frame, 3000, 900, &others));
    cohort_status s = cohort_factor_add(factor, some, ids);
    if (!s)
        s = cohort_factor_add(factor, w->frame, ids);
    w->ending.stop = 0;
    if (s)
        OK(w->t, cohort_factor_add(factor, others, ids));
    if (s)
        OK(w->t, cohort_factor_add(factor, w->frame, ids));
    memset(row, 0xff, w->n * 8);
    for (uint64_t i = 0; i < w->n; i++) {
        REQUIRE(w->t, ids[i] < cohort_factor_count(factor) && ids[i] < w->n);
        seen += row[ids[i]] == ~0ull;
        row[ids[i]] = row[ids[i]] == ~0ull ? i : row[ids[i]];
        REQUIRE(w->t, w->keys[row[ids[i]]] == w->keys[i]);
    }
    EQUAL(w->t, cohort_factor_count(factor), seen);
    EQUAL(w->t, seen, distinct_of(w));
    cohort_factor_destroy(factor);
    cohort_frame_release(some);
    cohort_frame_release(others);
    free(ids);
    free(row);
    return s;
}

static cohort_status index_once(void *world)
{
    struct world *w = world;
    uint64_t *rows = malloc(w->n * 8);
    cohort_status s = cohort_index_in(w->frame, w->frame, NULL, 8, rows);
    for (uint64_t i = 0; !s && i < w->n; i++)
        REQUIRE(w->t, rows[i] <= i && w->keys[rows[i]] == w->keys[i]);
    free(rows);
    return s;
}

static void keys(struct test *t)
{
    const uint64_t distinct[] = {~0ull, 1000, 0};
    for (uint64_t i = 0; i < 6; i++) {
        struct world w;
        if (!test_drawn(t, i, 6))
            continue;
        world_open(&w, t, i < 3 ? 1 : 3, distinct[i % 3]);
        end_everywhere(&w.ending, &w, factorize_once);
        end_everywhere(&w.ending, &w, factor_once);
        end_everywhere(&w.ending, &w, index_once);
        world_close(&w);
    }
}

/* ---- joins --------------------------------------------------------------------------------------------- */

/* Each left row meets itself; no row of the right is left, however often a probe was ended. */
static cohort_status probe_once(void *world)
{
    struct world *w = world;
    cohort_matches *matches = NULL;
    cohort_join_page page = COHORT_JOIN_PAGE_INIT, rest = COHORT_JOIN_PAGE_INIT;
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    cohort_frame *some = NULL;
    uint64_t *left = malloc(w->n * 8), *right = malloc(w->n * 8), n = w->n / 3 * 2;
    options.kind = COHORT_JOIN_FULL;
    cohort_status s = w->join ? COHORT_OK : cohort_join_build(w->frame, NULL, &w->join);
    if (!s)
        s = cohort_frame_slice(w->frame, 0, n, &some);
    if (!s)
        s = cohort_join_probe(w->join, some, &options, &matches);
    if (s && w->join) { /* what was ended has met nothing */
        w->ending.stop = 0;
        OK(w->t, cohort_join_finish(w->join, &rest));
        EQUAL(w->t, rest.total, w->n);
    }
    page.bytes = 8;
    page.capacity = w->n;
    page.left = left;
    page.right = right;
    if (!s)
        s = cohort_join_pairs(matches, &page);
    if (!s)
        EQUAL(w->t, page.total, n);
    for (uint64_t i = 0; !s && i < n; i++)
        REQUIRE(w->t, left[i] == i && w->keys[right[i]] == w->keys[i]);
    if (!s) {
        OK(w->t, cohort_join_finish(w->join, &rest));
        EQUAL(w->t, rest.total, w->n - n);
    }
    cohort_matches_destroy(matches);
    cohort_frame_release(some);
    cohort_join_destroy(w->join);
    w->join = NULL;
    free(left);
    free(right);
    return s;
}

/* Few right keys and many left ones, by parts: in several steps. */
static cohort_status parts_once(void *world)
{
    struct world *w = world;
    cohort_matches *matches = NULL;
    cohort_frame *few = NULL;
    cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
    options.method = COHORT_JOIN_PARTITIONED;
    cohort_status s = cohort_frame_slice(w->frame, 0, 1000, &few);
    if (!s)
        s = cohort_join_build(few, &options, &w->join);
    if (!s)
        s = cohort_join_probe(w->join, w->frame, NULL, &matches);
    if (!s)
        EQUAL(w->t, cohort_join_size(matches), 1000);
    cohort_matches_destroy(matches);
    cohort_frame_release(few);
    cohort_join_destroy(w->join);
    w->join = NULL;
    return s;
}

static cohort_status gather_once(void *world)
{
    struct world *w = world;
    cohort_frame *out = NULL;
    for (uint64_t i = 0; i < w->n; i++)
        w->sorted[i] = w->n - 1 - i;
    cohort_status s = cohort_gather(w->frame, w->n, 8, w->sorted, &out);
    CHECK(w->t, !s == (out != NULL));
    cohort_frame_release(out);
    return s;
}

static void joins(struct test *t)
{
    for (uint64_t threads = 1; threads < 4; threads += 2) {
        struct world w;
        if (!test_drawn(t, threads / 2, 2))
            continue;
        world_open(&w, t, threads, ~0ull);
        end_everywhere(&w.ending, &w, probe_once);
        end_everywhere(&w.ending, &w, parts_once);
        end_everywhere(&w.ending, &w, gather_once);
        world_close(&w);
    }
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* Some rows, then all: what was ended has added nothing, and can be added again. */
static cohort_status group_once(void *world)
{
    struct world *w = world;
    const char *const names[] = {"k"};
    const cohort_aggregate rows = {COHORT_AGGREGATE_ROWS, 0, NULL, "n"};
    cohort_group_options options = COHORT_GROUP_OPTIONS_INIT;
    options.keys = options.aggregates = 1;
    options.key = names;
    options.aggregate = &rows;
    cohort_frame *out = NULL, *part = NULL;
    struct model m;
    uint64_t sum = 0;
    OK(w->t, cohort_group_create(w->context, &options, &w->group));
    OK(w->t, cohort_frame_slice(w->frame, 0, 100, &part));
    OK(w->t, cohort_group_add(w->group, part));
    cohort_frame_release(part);
    cohort_status s = cohort_group_add(w->group, w->frame);
    w->ending.stop = 0;
    EQUAL(w->t, s ? cohort_group_count(w->group) <= 100 : 1, 1);
    if (s)
        OK(w->t, cohort_group_add(w->group, w->frame));
    OK(w->t, cohort_group_finish(w->group, 0, &out));
    model_of_frame(w->t, &m, out);
    for (uint64_t i = 0; i < m.rows; i++) {
        uint64_t count;
        memcpy(&count, m.column[1].cell[i].bytes, 8);
        sum += count;
        CHECK(w->t, count);
    }
    EQUAL(w->t, sum, w->n + 100);
    model_close(&m);
    cohort_frame_release(out);
    cohort_group_destroy(w->group);
    w->group = NULL;
    return s;
}

static void groups(struct test *t)
{
    const uint64_t distinct[] = {3000, 0};
    for (uint64_t i = 0; i < 4; i++) {
        struct world w;
        if (!test_drawn(t, i, 4))
            continue;
        world_open(&w, t, i < 2 ? 1 : 3, distinct[i % 2]);
        end_everywhere(&w.ending, &w, group_once);
        world_close(&w);
    }
}

const struct test_case test_cases[] = {
    {"sorts", sorts, TEST_ON_CPU},
    {"keys", keys, TEST_ON_CPU},
    {"joins", joins, TEST_ON_CPU},
    {"groups", groups, TEST_ON_CPU},
    {NULL, NULL, 0},
};
