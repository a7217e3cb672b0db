/* test_group.c: group-by against a walk over the rows: every aggregate of every type, null rules, layouts,
 * chunks; parts that are merged, by Arrow too; few groups, groups in order, and many rows for several
 * threads. */
#include "groups.h"

#define ROUNDS 50

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void wholes(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, ROUNDS, 4 * ROUNDS, 10 * ROUNDS); round++) {
        struct plan p;
        struct due d;
        plan_open(t, &p, round % 25 == 24 ? KEYS : 0, round % 7 ? 60 : 400, round % 3 ? 6 : 90);
        walk(&p, &d);
        int overflow = overflows(&p, &d);
        cohort_group *g = group_of(t, t->context, &p);
        for (uint32_t i = 0; i < p.frames; i++) {
            cohort_status s = cohort_group_add(g, p.frame[i]);
            REQUIREF(t, !s, "add: %s", cohort_message(t->context));
        }
        EQUAL(t, cohort_group_count(g), d.groups);
        check_finish(t, &p, &d, g, overflow);
        cohort_group_destroy(g);
        due_close(&d);
        plan_close(&p);
    }
    EQUAL(t, model_alive, 0);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

/* By Arrow there and back. */
static void send_partial(struct test *t, cohort_group *into, cohort_group *from)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_frame *partial = NULL, *back = NULL;
    OK(t, cohort_group_partial(from, &partial));
    OK(t, cohort_frame_export(partial, &schema, &array));
    cohort_frame_release(partial);
    OK(t, cohort_frame_import(t->context, &schema, &array, &back));
    cohort_status s = cohort_group_merge_partial(into, back);
    REQUIREF(t, !s, "%s", cohort_message(t->context));
    cohort_frame_release(back);
}

static int is_loose(const struct plan *p, uint32_t i)
{
    cohort_aggregate_op op = p->aggregate[i].op;
    return op == COHORT_AGGREGATE_VAR || op == COHORT_AGGREGATE_SD ||
           ((op == COHORT_AGGREGATE_SUM || op == COHORT_AGGREGATE_MEAN) &&
            is_float(p->format[p->column[i]]) && !p->reproducible);
}

/* Parts that are merged are the whole: the same groups in the same order with the same bits. */
static void parts(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, ROUNDS, 4 * ROUNDS, 10 * ROUNDS); round++) {
        struct plan p;
        struct due d;
        struct model a, b;
        cohort_group *part[FRAMES];
        plan_open(t, &p, round % 25 == 24 ? KEYS : 0, 80, round % 3 ? 6 : 40);
        walk(&p, &d);
        int overflow = overflows(&p, &d);
        cohort_group *whole = group_of(t, t->context, &p), *merged = group_of(t, t->context, &p);
        for (uint32_t i = 0; i < p.frames; i++) {
            OK(t, cohort_group_add(whole, p.frame[i]));
            part[i] = group_of(t, t->context, &p);
            OK(t, cohort_group_add(part[i], p.frame[i]));
        }
        for (uint32_t i = 0; i < p.frames; i++)
            if (test_below(t, 2))
                OK(t, cohort_group_merge(merged, part[i]));
            else
                send_partial(t, merged, part[i]);
        cohort_frame *x = group_result(t, &p, whole, 0, overflow),
                     *y = group_result(t, &p, merged, 0, overflow);
        if (x && y) {
            model_of_frame(t, &a, x);
            model_of_frame(t, &b, y);
            check_result(t, &p, &d, &b);
            for (uint32_t i = 0; i < p.aggregates; i++)
                for (uint64_t g = 0; is_loose(&p, i) && g < a.rows && g < b.rows; g++)
                    a.column[p.keys + i].cell[g] = b.column[p.keys + i].cell[g];
            model_same(t, &a, &b);
            model_close(&a);
            model_close(&b);
        }
        cohort_frame_release(x);
        cohort_frame_release(y);
        for (uint32_t i = 0; i < p.frames; i++)
            cohort_group_destroy(part[i]);
        cohort_group_destroy(whole);
        cohort_group_destroy(merged);
        due_close(&d);
        plan_close(&p);
    }
    EQUAL(t, model_alive, 0);
}

/* Time zones of any length and with any bytes go through merges and partial results. */
static void time_zones(struct test *t)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_MAX, 0, "v", NULL},
                                         {COHORT_AGGREGATE_NUNIQUE, 0, "v", NULL}};
    static char zones[][96] = {"tsu:", "tsu:a|v", "tsu:|"};
    const uint32_t key[3] = {7, 8, 7};
    const int64_t v[3] = {5, -9, 3};
    memset(zones[0] + 4, 'z', sizeof zones[0] - 5);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        cohort_frame *made = two_columns(t, t->context, 3, key, COHORT_I64, v), *frame = NULL,
                     *partial = NULL, *out = NULL;
        cohort_group *g = simple(t, t->context, 2, a, 0), *other = simple(t, t->context, 2, a, 0);
        struct ArrowSchema schema;
        struct ArrowArray array;
        cohort_column_info info = COHORT_COLUMN_INFO_INIT;
        int64_t got[2];
        OK(t, cohort_frame_export(made, &schema, &array));
        schema.children[1]->format = zones[i];
        OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
        OK(t, cohort_group_add(other, frame));
        OK(t, cohort_group_partial(other, &partial));
        OK(t, cohort_group_merge_partial(g, partial));
        OK(t, cohort_group_merge(g, other));
        OK(t, cohort_group_finish(g, 0, &out));
        OK(t, cohort_frame_get_column(out, 1, &info));
        CHECK(t, !strcmp(info.format, zones[i]));
        column_at(t, out, 1, 8, got);
        CHECK(t, got[0] == 5 && got[1] == -9);
        column_at(t, out, 2, 8, got);
        CHECK(t, got[0] == 2 && got[1] == 1);
        cohort_group_destroy(g);
        cohort_group_destroy(other);
        cohort_frame_release(made);
        cohort_frame_release(frame);
        cohort_frame_release(partial);
        cohort_frame_release(out);
    }
}

/* ---- few groups ---------------------------------------------------------------------------------------- */

/* Rows enough for several threads, of one key; values of any type, numbers mostly. */
static void plan_few(struct test *t, struct plan *p, cohort_context *context, uint64_t distinct)
{
    memset(p, 0, sizeof *p);
    p->keys = 1, p->values = 1 + (uint32_t)test_below(t, 5), p->frames = 2;
    p->reproducible = (int)test_below(t, 2);
    p->skips = 1;
    p->nulls_equal[0] = test_below(t, 2) != 0;
    for (uint32_t c = 0; c <= p->values; c++) {
        snprintf(p->name[c], sizeof p->name[c], "%c%u", c ? 'v' : 'k', c);
        p->format[c] = c ? model_formats[test_below(t, test_below(t, 4) ? 12 : 24)] : "I";
    }
    p->key[0] = p->name[0];
    add_aggregates(t, p);
    for (uint32_t i = 0; i < p->frames; i++) {
        struct model_plan plan = {.rows = 8000 + test_below(t, i ? 600 : 4000), .dictionaries = 1};
        model_open(&p->model[i], plan.rows, 1 + p->values);
        for (uint32_t c = 0; c <= p->values; c++) {
            plan.distinct = c ? 1 + test_below(t, 50) : distinct;
            plan.nulls = test_below(t, 2) ? (uint32_t)test_below(t, 60) : 0;
            plan.wild = c && test_below(t, 8) == 0;
            model_fill(t, &p->model[i], c, p->name[c], p->format[c], &plan);
        }
        p->frame[i] = model_frame(t, &p->model[i], context);
    }
}

/* One group of both frames, or one of each, the second taken by the first. */
static void check_few(struct test *t, uint64_t distinct)
{
    struct plan p;
    struct due d;
    plan_few(t, &p, t->context, distinct);
    walk(&p, &d);
    cohort_group *g = group_of(t, t->context, &p), *part = group_of(t, t->context, &p);
    int by_parts = test_below(t, 2) != 0;
    OK(t, cohort_group_add(g, p.frame[0]));
    OK(t, cohort_group_add(by_parts ? part : g, p.frame[1]));
    if (by_parts)
        send_partial(t, g, part);
    check_finish(t, &p, &d, g, overflows(&p, &d));
    cohort_group_destroy(g);
    cohort_group_destroy(part);
    due_close(&d);
    plan_close(&p);
}

/* Sums of integers of 4 bytes in very few groups: small ones alone, some that are large, or all as large as
 * can be. */
static void small(struct test *t)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}};
    const uint64_t n = 20000 + test_below(t, 300);
    uint32_t *key = malloc(n * 4), *value = malloc(n * 4);
    for (unsigned bits = 1; key && value && bits <= 32; bits++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            int64_t due[5] = {0}, got[5] = {0};
            cohort_frame *out = NULL;
            for (uint64_t i = 0; i < n; i++) {
                const uint32_t most = (uint32_t)((1ull << (i < n / 2 ? bits : bits / 2)) - 1);
                key[i] = i < 5 ? (uint32_t)i : i % 7 ? 2 : (uint32_t)test_below(t, 5);
                value[i] = test_below(t, 9) ? most : most - (uint32_t)test_below(t, (uint64_t)most + 1);
                value[i] = is_signed && i % 2048 < 1024 ? 0 - value[i] : value[i];
                due[key[i]] += is_signed ? (int64_t)(int32_t)value[i] : (int64_t)value[i];
            }
            const cohort_type type = is_signed ? COHORT_I32 : COHORT_U32;
            cohort_frame *frame = two_columns(t, t->context, n, key, type, value);
            cohort_group *g = simple(t, t->context, 1, a, 0);
            OK(t, cohort_group_add(g, frame));
            OK(t, cohort_group_finish(g, 0, &out));
            EQUAL(t, cohort_frame_rows(out), 5);
            column_at(t, out, 1, 8, got);
            for (int i = 0; i < 5; i++)
                REQUIREF(t, got[i] == due[i], "%u bits: the sum of group %d is %lld, not %lld", bits, i,
                         (long long)got[i], (long long)due[i]);
            cohort_frame_release(frame);
            cohort_frame_release(out);
            cohort_group_destroy(g);
        }
    free(key), free(value);
}

/* Numbers of groups around those at which the CPU goes another way, with the vectors that it has and with
 * none. */
static void few(struct test *t)
{
    static const uint64_t distinct[] = {1, 2, 3, 7, 8, 9, 11, 12, 13, 15, 16, 17, 33, 64, 127, 128, 129};
    const uint64_t numbers = sizeof distinct / sizeof *distinct;
    static const unsigned threads[] = {1, 2, 5};
    const char *asked = getenv("COHORT_CPU");
    char level[8] = "";
    const uint64_t rounds = numbers * test_scale(t, 3, 10, 40);
    snprintf(level, sizeof level, "%s", asked ? asked : "");
    for (uint64_t round = 0; round < rounds; round++) {
        if (!test_drawn(t, round / numbers, 3))
            continue;
        cohort_context_options options = test_context_options(t);
        options.threads = threads[test_below(t, 3)];
        if (test_below(t, 3) == 0)
            setenv("COHORT_CPU", "plain", 1);
        OK(t, cohort_context_create(&options, &t->context));
        if (asked)
            setenv("COHORT_CPU", level, 1);
        else
            unsetenv("COHORT_CPU");
        check_few(t, distinct[round % numbers]);
        cohort_context_destroy(t->context);
        t->context = NULL;
    }
    EQUAL(t, model_alive, 0);
}

/* ---- groups in order ----------------------------------------------------------------------------------- */

/* Sorted: the same rows, in order of the keys. */
static void sorted(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, ROUNDS / 2, ROUNDS, 4 * ROUNDS); round++) {
        struct plan p;
        struct due d;
        struct model m;
        plan_open(t, &p, round % 20 == 19 ? KEYS : 0, 100, 20);
        p.aggregates = 1;
        walk(&p, &d);
        cohort_group *g = group_of(t, t->context, &p);
        for (uint32_t i = 0; i < p.frames; i++)
            OK(t, cohort_group_add(g, p.frame[i]));
        cohort_frame *out = group_result(t, &p, g, COHORT_SORTED, 0);
        model_of_frame(t, &m, out);
        EQUAL(t, m.rows, d.groups);
        for (uint64_t i = 0; i < m.rows; i++) {
            int order = i ? 0 : -1;
            struct row own = {&m, i};
            uint64_t rows = 0, number = 0;
            for (uint32_t c = 0; !order && c < p.keys; c++)
                order = cell_order(p.format[c], m.column[c].cell[i - 1], m.column[c].cell[i]);
            CHECK(t, order < 0);
            for (uint64_t k = 0; k < d.rows; k++)
                rows += (uint64_t)same_keys(&p, own, d.row[k]);
            memcpy(&number, m.column[p.keys].cell[i].bytes, 8);
            EQUAL(t, number, rows);
        }
        model_close(&m);
        cohort_frame_release(out);
        cohort_group_destroy(g);
        due_close(&d);
        plan_close(&p);
    }
}

/* ---- many rows ----------------------------------------------------------------------------------------- */

/* What is due of a group: its rows, then of values that are not null their sum, least, greatest, first, last
 * and number. */
enum { MANY = 7 };

static void many_due(int64_t *g, int64_t value, int is_valid)
{
    g[0]++;
    if (!is_valid)
        return;
    g[2] = !g[6] || value < g[2] ? value : g[2];
    g[3] = !g[6] || value > g[3] ? value : g[3];
    g[4] = g[6] ? g[4] : value;
    g[5] = value;
    g[1] += value;
    g[6]++;
}

/* The first rows, and the others in another call. */
static void many_add(struct test *t, cohort_group *g, cohort_frame *frame, uint64_t n, uint64_t first)
{
    for (int i = 0; i < 2; i++) {
        cohort_frame *part = NULL;
        OK(t, cohort_frame_slice(frame, i ? first : 0, i ? n - first : first, &part));
        OK(t, cohort_group_add(g, part));
        cohort_frame_release(part);
    }
}

static void check_many(struct test *t, uint64_t n, uint64_t distinct, int nulls)
{
    static const cohort_aggregate a[MANY] = {
        {COHORT_AGGREGATE_ROWS, 0, NULL, NULL}, {COHORT_AGGREGATE_SUM, 0, "v", NULL},
        {COHORT_AGGREGATE_MIN, 0, "v", NULL},   {COHORT_AGGREGATE_MAX, 0, "v", NULL},
        {COHORT_AGGREGATE_FIRST, 0, "v", NULL}, {COHORT_AGGREGATE_LAST, 0, "v", NULL},
        {COHORT_AGGREGATE_COUNT, 0, "v", NULL}};
    uint32_t *key = malloc(n * 4), *place = malloc(distinct * 4), groups = 0;
    int64_t *value = malloc(n * 8), *due = calloc(MANY * distinct, 8), *got = calloc(n + 1, 8);
    uint8_t *valid = calloc(n / 8 + 1, 1);
    if (!key || !value || !due || !got || !place || !valid)
        abort();
    memset(place, 0xff, distinct * 4);
    for (uint64_t i = 0; i < n; i++) {
        const int is_valid = !nulls || test_below(t, 3);
        key[i] = (uint32_t)test_below(t, distinct);
        value[i] = (int64_t)(test_random(t) >> 20) - (1ll << 43);
        valid[i / 8] |= (uint8_t)(is_valid << (i & 7));
        if (place[key[i]] == ~0u)
            place[key[i]] = groups++;
        many_due(due + MANY * (uint64_t)place[key[i]], value[i], is_valid);
    }
    cohort_array arrays[2] = {{"key", COHORT_U32, 0, key, NULL},
                              {"v", COHORT_I64, 0, value, nulls ? valid : NULL}};
    cohort_frame *frame = NULL, *out = NULL;
    OK(t, cohort_frame_create(t->context, n, 2, arrays, &frame));
    cohort_group *g = simple(t, t->context, MANY, a, 0);
    /* What has a few rows a group and no nulls comes in one call: there threads share records. */
    const int is_whole = (distinct == n / 4 && !nulls) || test_below(t, 2);
    many_add(t, g, frame, n, is_whole ? n : test_below(t, n));
    OK(t, cohort_group_finish(g, 0, &out));
    EQUAL(t, cohort_frame_rows(out), groups);
    for (uint32_t c = 0; c < MANY; c++) {
        memset(got, 0, groups * 8ull);
        column_at(t, out, 1 + c, 8, got);
        for (uint64_t i = 0; i < groups; i++)
            REQUIREF(t, got[i] == due[MANY * i + c], "%llu keys: column %u of group %llu: %lld, not %lld",
                     (unsigned long long)distinct, c, (unsigned long long)i, (long long)got[i],
                     (long long)due[MANY * i + c]);
    }
    cohort_frame_release(frame);
    cohort_frame_release(out);
    cohort_group_destroy(g);
    free(key), free(value), free(due), free(got), free(place), free(valid);
}

/* Instead of the case's context, on a CPU: one that has several threads. */
static void open_threads(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    if (t->kind != TEST_CPU)
        return;
    cohort_context_destroy(t->context);
    options.threads = options.threads > 1 ? options.threads : 2;
    OK(t, cohort_context_create(&options, &t->context));
}

/* Sums, extremes and ends of many rows, for several threads: few groups and many. */
static void many(struct test *t)
{
    const uint64_t n = test_size(t, 600000, 40000);
    for (uint64_t distinct = 1; distinct < 4 * n; distinct *= 19)
        check_many(t, n, distinct, (int)test_below(t, 2));
    open_threads(t);
    check_many(t, n, n / 4, 0); /* a group has a few rows */
    check_many(t, n, n / 4, 1);
}

const struct test_case test_cases[] = {
    {"wholes", wholes, 0},
    {"parts", parts, 0},
    {"time zones", time_zones, 0},
    {"few", few, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"small", small, 0},
    {"sorted", sorted, 0},
    {"many", many, 0},
    {NULL, NULL, 0},
};
