/* test_group_folds.c: aggregates that share what is kept of a group's values, where rows are enough for
 * several threads: variances of decimals in very few groups, and columns that are one and the same in some
 * frames and not in others. */
#include "groups.h"

/* ---- decimals of few groups ---------------------------------------------------------------------------- */

/* One column of keys, some of them null, and one of decimals. */
static void fill(struct test *t, struct plan *p, uint64_t rows, uint64_t distinct, wide *value)
{
    const struct model_plan keys = {rows, .distinct = distinct, .nulls = (uint32_t)test_below(t, 2) * 20},
                            values = {rows, .nulls = test_below(t, 4) ? 0 : 20};
    model_open(&p->model[0], rows, 2);
    model_fill(t, &p->model[0], 0, "k", p->format[0], &keys);
    model_fill(t, &p->model[0], 1, "v", p->format[1], &values);
    for (uint64_t i = 0; i < rows; i++) {
        struct cell *c = &p->model[0].column[1].cell[i];
        value[i] = (wide)(int64_t)test_random(t) * (1 + (int64_t)test_below(t, 1000));
        c->bytes = c->bytes ? (const void *)&value[i] : NULL;
    }
    p->frame[0] = model_frame(t, &p->model[0], t->context);
}

static void check_decimals(struct test *t, uint64_t rows, uint64_t distinct)
{
    struct plan p = {.keys = 1, .values = 1, .frames = 1, .key = {"k"}, .format = {"I", "d:38,4"}};
    struct due d;
    struct model m;
    cohort_frame *out = NULL;
    wide *value = calloc(rows, sizeof *value);
    REQUIRE(t, value);
    p.nulls_equal[0] = test_below(t, 2) != 0;
    snprintf(p.name[0], sizeof p.name[0], "k");
    snprintf(p.name[1], sizeof p.name[1], "v");
    add_aggregates(t, &p);
    fill(t, &p, rows, distinct, value);
    walk(&p, &d);
    cohort_group *g = group_of(t, t->context, &p);
    OK(t, cohort_group_add(g, p.frame[0]));
    OK(t, cohort_group_finish(g, 0, &out));
    model_of_frame(t, &m, out);
    check_result(t, &p, &d, &m);
    model_close(&m);
    cohort_frame_release(out);
    cohort_group_destroy(g);
    due_close(&d);
    plan_close(&p);
    free(value);
}

/* Numbers of groups about the most that masks take. */
static void decimals(struct test *t)
{
    static const unsigned threads[] = {1, 2, 5, 17};
    const uint64_t rows = t->kind == TEST_CPU ? 9000 : 900;
    for (uint64_t distinct = 1; distinct < 16; distinct++) {
        cohort_context_options options = test_context_options(t);
        options.threads = threads[test_below(t, 4)];
        OK(t, cohort_context_create(&options, &t->context));
        check_decimals(t, rows + test_below(t, rows), distinct);
        cohort_context_destroy(t->context);
        t->context = NULL;
    }
}

/* ---- columns that are the same now and then ------------------------------------------------------------ */

#define ALIKE 6
#define MOST  20 /* groups */

/* Sum, maximum and number of a group's values in both columns. */
struct both {
    int64_t sum[2], most[2];
    uint64_t count[2];
};

/* `value` is the second column of a frame of keys and two columns; or the first one is, once more. */
static cohort_frame *frame_of(struct test *t, uint64_t n, uint32_t *key, int32_t *const value[2], int is_same)
{
    static const uint32_t columns[] = {0, 1, 1};
    static const char *const names[] = {"key", "a", "b"};
    const cohort_array arrays[] = {{"key", COHORT_U32, 0, key, NULL},
                                   {"a", COHORT_I32, 0, value[0], NULL},
                                   {"b", COHORT_I32, 0, value[1], NULL}};
    cohort_frame *frame = NULL, *same = NULL;
    OK(t, cohort_frame_create(t->context, n, 3, arrays, &frame));
    if (!is_same)
        return frame;
    OK(t, cohort_frame_select(frame, 3, columns, names, &same));
    cohort_frame_release(frame);
    return same;
}

static void count_in(struct both *due, uint64_t n, const uint32_t *key, int32_t *const value[2], int is_same)
{
    for (uint64_t i = 0; i < n; i++)
        for (int c = 0; c < 2; c++) {
            struct both *d = &due[key[i]];
            const int32_t v = value[is_same ? 0 : c][i];
            d->most[c] = !d->count[c] || v > d->most[c] ? v : d->most[c];
            d->sum[c] += v;
            d->count[c]++;
        }
}

static void check_both(struct test *t, cohort_group *g, const struct both *due, uint32_t groups)
{
    cohort_frame *out = NULL;
    int64_t sum[2][MOST] = {{0}};
    int32_t most[2][MOST] = {{0}};
    double mean[2][MOST] = {{0}};
    OK(t, cohort_group_finish(g, COHORT_SORTED, &out));
    EQUAL(t, cohort_frame_rows(out), groups);
    for (uint32_t c = 0; c < 2; c++) {
        column_at(t, out, 1 + c, 8, sum[c]);
        column_at(t, out, 3 + c, 4, most[c]);
        column_at(t, out, 5 + c, 8, mean[c]);
        for (uint32_t k = 0; k < groups; k++) {
            const double m = (double)due[k].sum[c] / (double)due[k].count[c];
            REQUIREF(t, sum[c][k] == due[k].sum[c], "group %u: the sum of column %u is %lld, not %lld", k, c,
                     (long long)sum[c][k], (long long)due[k].sum[c]);
            REQUIRE(t, most[c][k] == due[k].most[c]);
            REQUIREF(t, mean[c][k] > m - 1e-6 && mean[c][k] < m + 1e-6,
                     "group %u: the mean of column %u is %g, not %g", k, c, mean[c][k], m);
        }
    }
    cohort_frame_release(out);
}

static void alike(struct test *t)
{
    static const cohort_aggregate a[ALIKE] = {
        {COHORT_AGGREGATE_SUM, 0, "a", NULL},  {COHORT_AGGREGATE_SUM, 0, "b", NULL},
        {COHORT_AGGREGATE_MAX, 0, "a", NULL},  {COHORT_AGGREGATE_MAX, 0, "b", NULL},
        {COHORT_AGGREGATE_MEAN, 0, "a", NULL}, {COHORT_AGGREGATE_MEAN, 0, "b", NULL}};
    const uint64_t n = t->kind == TEST_CPU ? 10000 : 500;
    uint32_t *key = malloc(n * 4);
    int32_t *value[2] = {malloc(n * 4), malloc(n * 4)};
    REQUIRE(t, key && value[0] && value[1]);
    for (int round = 0; round < 6; round++) {
        const uint32_t groups = round % 2 ? MOST : 3;
        struct both due[MOST] = {0};
        cohort_group *g = simple(t, t->context, ALIKE, a, 0);
        for (int k = 0; k < 4; k++) {
            const int is_same = (int)test_below(t, 2) ^ (k & 1);
            for (uint64_t i = 0; i < n; i++) {
                key[i] = i < groups ? (uint32_t)i : (uint32_t)test_below(t, groups);
                value[0][i] = (int32_t)test_random(t);
                value[1][i] = (int32_t)test_random(t);
            }
            cohort_frame *frame = frame_of(t, n, key, value, is_same);
            count_in(due, n, key, value, is_same);
            OK(t, cohort_group_add(g, frame));
            check_both(t, g, due, groups);
            cohort_frame_release(frame);
        }
        cohort_group_destroy(g);
    }
    free(key), free(value[0]), free(value[1]);
}

const struct test_case test_cases[] = {
    {"decimals", decimals, TEST_NO_CONTEXT}, {"alike", alike, 0}, {NULL, NULL, 0}};
