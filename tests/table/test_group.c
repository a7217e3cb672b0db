/* test_group.c: group-by against a walk over the rows: every aggregate of every type, null rules, layouts,
 * chunks; parts that are merged, by Arrow too; sums with the same bits in any order; sums that do not fit;
 * calls that fail. */
#include "groups.h"

#include <float.h>
#include <math.h>

#define ROUNDS 50

/* ---- the whole ----------------------------------------------------------------------------------------- */

static cohort_frame *result(struct test *t, const struct plan *p, cohort_group *g, uint32_t flags,
                            int overflow)
{
    cohort_frame *out = NULL;
    cohort_status s = cohort_group_finish(g, flags, &out);
    if (overflow) {
        CHECKF(t, s == COHORT_OVERFLOW && strstr(cohort_message(t->context), "column 'v"), "status %d: %s", s,
               cohort_message(t->context));
        CHECK(t, !out);
    } else {
        REQUIREF(t, !s, "%u keys, %u aggregates: %s", p->keys, p->aggregates, cohort_message(t->context));
    }
    return out;
}

/* The group's frame against what is due, unless it is refused for an overflow. */
static void check_finish(struct test *t, const struct plan *p, const struct due *d, cohort_group *g,
                         int overflow)
{
    struct model m;
    cohort_frame *out = result(t, p, g, 0, overflow);
    if (!out)
        return;
    model_of_frame(t, &m, out);
    check_result(t, p, d, &m);
    model_close(&m);
    cohort_frame_release(out);
}

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
        cohort_frame *x = result(t, &p, whole, 0, overflow), *y = result(t, &p, merged, 0, overflow);
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
        cohort_frame *out = result(t, &p, g, COHORT_SORTED, 0);
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

/* ---- the same bits ------------------------------------------------------------------------------------- */

/* A sum of integers times 2^-18: exact in 128 bits, and in the three bins of a group, if the values are below
 * 2^52. (Bins end at multiples of 2^32 times 2^-1074, so the third one of these ends at 2^-18.) */
static double exact_sum(const double *v, const uint32_t *key, uint32_t k, uint64_t n)
{
    wide sum = 0;
    for (uint64_t i = 0; i < n; i++)
        if (key[i] == k)
            sum += (wide)ldexp(v[i], 18);
    return ldexp((double)sum, -18); /* __floattidf rounds to the nearest */
}

static void reproducible(struct test *t)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL},
                                         {COHORT_AGGREGATE_MEAN, 0, "v", NULL}};
    const uint64_t n = test_size(t, 100000, 20000);
    for (uint32_t round = 0; round < 12; round++) {
        if (!test_drawn(t, round, 4))
            continue;
        uint32_t groups = round % 3 ? 1 + (uint32_t)test_below(t, 50) : 1;
        uint32_t *key = malloc(n * 4);
        double *value = malloc(n * 8), *first = calloc(2 * groups, 8), *other = calloc(2 * groups, 8);
        if (!key || !value || !first || !other)
            abort();
        int exact = round & 1;
        for (uint64_t i = 0; i < n; i++) {
            key[i] = i < groups ? (uint32_t)i : (uint32_t)test_below(t, groups);
            uint64_t bits = test_random(t);
            double sign = bits & 1 ? -1 : 1;
            if (exact)
                value[i] = sign * ldexp((double)(bits >> 11), -18 + (int)test_below(t, 18));
            else
                value[i] =
                    sign * ldexp((double)(bits >> 11), -1074 + (int)test_below(t, round & 2 ? 2000 : 100));
        }
        for (int way = 0; way < 4; way++) {
            cohort_context_options options = test_context_options(t);
            cohort_context *context = t->context;
            options.threads = (unsigned)way + 1;
            if (t->kind == TEST_CPU)
                OK(t, cohort_context_create(&options, &context));
            cohort_frame *all = two_columns(t, context, n, key, COHORT_F64, value), *out = NULL;
            cohort_group *g = simple(t, context, 2, a, 1), *h = simple(t, context, 2, a, 1);
            for (uint64_t at = 0, step; at < n; at += step) {
                cohort_frame *some = NULL;
                step = way ? 1 + test_below(t, n / 2) : n;
                step = step < n - at ? step : n - at;
                OK(t, cohort_frame_slice(all, at, step, &some));
                /* the first rows fix the order of groups; the others in any order */
                OK(t, cohort_group_add(at && way & 1 ? h : g, some));
                cohort_frame_release(some);
            }
            if (way & 1)
                OK(t, cohort_group_merge(g, h));
            OK(t, cohort_group_finish(g, COHORT_SORTED, &out));
            struct test own = *t;
            own.context = context;
            double *to = way ? other : first;
            column_at(&own, out, 1, 8, to);
            column_at(&own, out, 2, 8, to + groups);
            for (uint32_t k = 0; k < 2 * groups; k++)
                REQUIREF(t, !memcmp(&first[k], &to[k], 8), "round %u, way %d, group %u: %a and %a", round,
                         way, k, first[k], to[k]);
            for (uint32_t k = 0; exact && k < groups; k++) {
                double due = exact_sum(value, key, k, n);
                REQUIREF(t, to[k] == due, "round %u, group %u: %a, not %a", round, k, to[k], due);
            }
            cohort_frame_release(out);
            cohort_frame_release(all);
            cohort_group_destroy(g);
            cohort_group_destroy(h);
            if (context != t->context)
                cohort_context_destroy(context);
        }
        free(key), free(value), free(first), free(other);
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

/* A plan's frame: keys, and decimals of which some are null, kept in `value`. */
static void decimals_fill(struct test *t, struct plan *p, uint64_t rows, uint64_t distinct, wide *value)
{
    const struct model_plan keys = {rows, .distinct = distinct}, values = {rows, .nulls = 20};
    const int positive = (int)test_below(t, 2);
    model_open(&p->model[0], rows, 2);
    model_fill(t, &p->model[0], 0, "k", p->format[0], &keys);
    model_fill(t, &p->model[0], 1, "v", p->format[1], &values);
    for (uint64_t i = 0; i < rows; i++) {
        struct cell *c = &p->model[0].column[1].cell[i];
        value[i] = decimal_value(t, positive);
        c->bytes = c->bytes ? (const void *)&value[i] : NULL;
    }
    p->frame[0] = model_frame(t, &p->model[0], t->context);
}

/* Ends the plan. */
static void decimals_judge(struct test *t, struct plan *p)
{
    struct due d;
    walk(p, &d);
    cohort_group *g = group_of(t, t->context, p);
    OK(t, cohort_group_add(g, p->frame[0]));
    check_finish(t, p, &d, g, overflows(p, &d));
    cohort_group_destroy(g);
    due_close(&d);
    plan_close(p);
}

/* Sums about the ends of 38 digits and of 128 bits, and the means and variances of such values. */
static void decimals(struct test *t)
{
    static const char *const formats[] = {"d:30,4", "d:38,0", "d:38,38", "d:38,-3"};
    for (uint64_t round = 0; round < test_scale(t, 400, 1000, 4000); round++) {
        struct plan p = {.keys = 1, .values = 1, .frames = 1, .aggregates = 2 + round / 8 % 2, .key = {"k"}};
        wide value[5];
        p.format[0] = "I", p.format[1] = formats[round % 4];
        p.column[0] = p.column[1] = p.column[2] = 1;
        p.aggregate[0] = (cohort_aggregate){COHORT_AGGREGATE_MEAN, 0, "v", NULL};
        p.aggregate[1] = (cohort_aggregate){COHORT_AGGREGATE_VAR + round / 4 % 2, 0, "v", "var"};
        p.aggregate[2] = (cohort_aggregate){COHORT_AGGREGATE_SUM, 0, "v", "sum"};
        decimals_fill(t, &p, 5, 1, value);
        decimals_judge(t, &p);
    }
}

/* The same of few groups and of many, in rows of several blocks. */
static void decimal_moments(struct test *t)
{
    static const cohort_aggregate_op op[] = {COHORT_AGGREGATE_MEAN, COHORT_AGGREGATE_VAR,
                                             COHORT_AGGREGATE_SD};
    for (uint64_t distinct = 5; distinct <= 500; distinct *= 100) {
        const uint64_t rows = 1500 + 2 * distinct;
        struct plan p = {.keys = 1, .values = 1, .frames = 1, .key = {"k"}};
        wide *value = calloc(rows, sizeof *value);
        REQUIRE(t, value);
        p.format[0] = "I", p.format[1] = "d:30,4";
        for (; p.aggregates < 3; p.aggregates++) {
            p.column[p.aggregates] = 1;
            p.aggregate[p.aggregates] = (cohort_aggregate){op[p.aggregates], 0, "v", NULL};
        }
        decimals_fill(t, &p, rows, distinct, value);
        decimals_judge(t, &p);
        free(value);
    }
}

static void overflow(struct test *t)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}};
    uint32_t key[4] = {7, 4711, 4711, 7};
    int64_t v[4] = {INT64_MAX, INT64_MAX, 1, -5}, got[2];
    cohort_frame *frame = two_columns(t, t->context, 4, key, COHORT_I64, v), *out = NULL;
    cohort_group *g = simple(t, t->context, 1, a, 0);
    OK(t, cohort_group_add(g, frame));
    FAILS(t, t->context, cohort_group_finish(g, 0, &out), COHORT_OVERFLOW, "'v'", "4711");
    CHECK(t, !out);
    cohort_frame_release(frame);
    v[1] = -2; /* what came is not lost: the next rows bring it back */
    frame = two_columns(t, t->context, 1, key + 1, COHORT_I64, v + 1);
    OK(t, cohort_group_add(g, frame));
    OK(t, cohort_group_finish(g, 0, &out));
    column_at(t, out, 1, 8, got);
    CHECK(t, got[0] == INT64_MAX - 5 && got[1] == INT64_MAX - 1);
    cohort_frame_release(out);
    cohort_frame_release(frame);
    cohort_group_destroy(g);
}

/* The group that is named, by a key of each kind. */
static void overflow_key(struct test *t)
{
    static const struct {
        const char *format, *text;
        uint64_t bits[2];
    } keys[] = {{"f", "key 1.5", {0x3fc00000, 0}},
                {"e", "key -2", {0xc000, 0}},
                {"g", "key 0.25", {0x3fd0000000000000, 0}},
                {"c", "key -3", {0xfd, 0}},
                {"S", "key 65533", {0xfffd, 0}},
                {"d:20,2", "key 123.45", {12345, 0}},
                {"d:20,-1", "key -120", {-12ull, ~0ull}},
                {"w:9", "key 'abc'", {0x636261, 0}}};
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const uint64_t v[1] = {UINT64_MAX};
        cohort_frame *made = two_columns(t, t->context, 1, (const uint32_t[]){0}, COHORT_U64, v),
                     *frame = NULL, *out = NULL;
        cohort_group *g = simple(t, t->context, 1, a, 0);
        struct ArrowSchema schema;
        struct ArrowArray array;
        OK(t, cohort_frame_export(made, &schema, &array));
        schema.children[0]->format = keys[i].format;
        array.children[0]->buffers[1] = keys[i].bits;
        OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
        OK(t, cohort_group_add(g, frame));
        OK(t, cohort_group_add(g, frame));
        FAILS(t, t->context, cohort_group_finish(g, 0, &out), COHORT_OVERFLOW, "'v'", keys[i].text);
        cohort_group_destroy(g);
        cohort_frame_release(made);
        cohort_frame_release(frame);
    }
}

/* What lies in the middle of two doubles goes to the even one, and what is a bit off it to the nearer one. */
static void reproducible_ties(struct test *t)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}};
    static const double big = 9007199254740992.0; /* 2^53 */
    static const struct {
        double v[3], due;
    } sums[] = {{{9007199254740992.0, 1, 0}, 9007199254740992.0},
                {{9007199254740994.0, 1, 0}, 9007199254740996.0},
                {{9007199254740992.0, 1, 1e-3}, 9007199254740994.0},
                {{9007199254740994.0, 1, -1e-3}, 9007199254740994.0},
                {{-9007199254740992.0, -1, 0}, -9007199254740992.0},
                {{-9007199254740994.0, -1, 0}, -9007199254740996.0},
                {{9007199254740992.0, 3, 0}, 9007199254740996.0},
                {{4503599627370495.5, 4503599627370495.5, 1}, 9007199254740992.0}};
    enum { SUMS = sizeof sums / sizeof *sums };
    uint32_t key[3 * SUMS];
    double v[3 * SUMS], got[SUMS];
    for (uint32_t i = 0; i < 3 * SUMS; i++) {
        key[i] = i / 3;
        v[i] = sums[i / 3].v[i % 3];
    }
    for (int scale = 0; scale < 2; scale++) {
        cohort_frame *frame = two_columns(t, t->context, 3 * SUMS, key, COHORT_F64, v), *out = NULL;
        cohort_group *g = simple(t, t->context, 1, a, 1);
        OK(t, cohort_group_add(g, frame));
        OK(t, cohort_group_finish(g, 0, &out));
        column_at(t, out, 1, 8, got);
        for (uint32_t i = 0; i < SUMS; i++)
            CHECKF(t, got[i] == sums[i].due * (scale ? big : 1), "sum %u: %.17g", i, got[i]);
        for (uint32_t i = 0; i < 3 * SUMS; i++)
            v[i] *= big;
        cohort_frame_release(frame);
        cohort_frame_release(out);
        cohort_group_destroy(g);
    }
}

/* Of many groups whose sums are too large the first one is told. */
static void first_overflow(struct test *t)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}};
    enum { GROUPS = 300, FIRST = 70 };
    for (int is_decimal = 0; is_decimal < 2; is_decimal++) {
        wide *wides = calloc(GROUPS, sizeof *wides);
        int64_t *v = calloc(GROUPS, sizeof *v);
        uint32_t key[GROUPS];
        REQUIRE(t, wides && v);
        for (uint32_t i = 0; i < GROUPS; i++) {
            key[i] = 5000 + i;
            v[i] = i < FIRST ? 1 : INT64_MAX;
            wides[i] = i < FIRST ? 1 : (wide)(((wide_bits)1 << 127) - 1);
        }
        cohort_frame *made = two_columns(t, t->context, GROUPS, key, COHORT_I64, v), *frame = NULL,
                     *out = NULL;
        cohort_group *g = simple(t, t->context, 1, a, 0);
        struct ArrowSchema schema;
        struct ArrowArray array;
        OK(t, cohort_frame_export(made, &schema, &array));
        schema.children[1]->format = is_decimal ? "d:38,0" : "l";
        array.children[1]->buffers[1] = is_decimal ? (const void *)wides : v;
        OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
        OK(t, cohort_group_add(g, frame));
        OK(t, cohort_group_add(g, frame));
        FAILS(t, t->context, cohort_group_finish(g, 0, &out), COHORT_OVERFLOW, "row 70 of the groups",
              "key 5070");
        cohort_group_destroy(g);
        cohort_frame_release(made);
        cohort_frame_release(frame);
        free(wides);
        free(v);
    }
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

/* What belongs to another context works there, and not here. */
static void refuses_strangers(struct test *t, cohort_group *g, const uint32_t *k, const float *v)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}};
    cohort_context_options options = test_context_options(t);
    cohort_context *other = NULL, *on = t->context;
    OK(t, cohort_context_create(&options, &other));
    cohort_frame *frame = two_columns(t, other, 2, k, COHORT_F32, v);
    cohort_group *there = simple(t, other, 1, a, 0);
    CHECK(t, !cohort_group_add(there, frame));
    FAILS(t, on, cohort_group_add(g, frame), COHORT_OTHER_CONTEXT, "frame", NULL);
    FAILS(t, on, cohort_group_merge(g, there), COHORT_OTHER_CONTEXT, "from", NULL);
    FAILS(t, on, cohort_group_merge_partial(g, frame), COHORT_OTHER_CONTEXT, "partial", NULL);
    cohort_frame_release(frame);
    cohort_group_destroy(there);
    cohort_context_destroy(other);
}

static void refuses(struct test *t)
{
    static const char *const key[] = {"key"}, *const missing[] = {"nothing"};
    cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL}},
                     any[] = {{COHORT_AGGREGATE_ANY, 0, "v", NULL}};
    cohort_aggregate none[] = {{COHORT_AGGREGATE_MEAN, 0, "w", NULL}};
    cohort_context *on = t->context;
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    uint32_t k[2] = {1, 2};
    float v[2] = {1, 2};
    int32_t w[2] = {1, 2};
    cohort_frame *f = two_columns(t, on, 2, k, COHORT_F32, v), *h = two_columns(t, on, 2, k, COHORT_I32, w),
                 *out = NULL;
    cohort_group *g = NULL, *other = NULL;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "keys", "0");
    o.keys = 4097;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "keys", "4097");
    o.keys = 1;
    o.aggregates = 4097;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "aggregates", "4097");
    o.aggregates = 0;
    o.reproducible = 2;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "reproducible", "2");
    o.reproducible = 0;
    o.reserved = 7;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "reserved", "7");
    o.reserved = 0;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_NULL, "key", NULL);
    o.key = key;
    o.aggregates = 1;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_NULL, "aggregate", NULL);
    a[0].op = 99;
    o.aggregate = a;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "aggregate[0]", "99");
    a[0].op = COHORT_AGGREGATE_SUM;
    a[0].reserved = 5;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_RANGE, "aggregate[0]", "5");
    a[0].reserved = 0;
    a[0].column = NULL;
    FAILS(t, on, cohort_group_create(on, &o, &g), COHORT_NULL, "aggregate[0] (sum)", NULL);
    a[0].column = "v";
    FAILS(t, on, cohort_group_create(on, &o, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, NULL, cohort_group_create(NULL, &o, &g), COHORT_NULL, "context", NULL);
    OK(t, cohort_group_create(on, &o, &g));
    FAILS(t, on, cohort_group_finish(g, 0, &out), COHORT_RANGE, "cohort_group_finish", "1 key");
    FAILS(t, on, cohort_group_partial(g, &out), COHORT_RANGE, "cohort_group_partial", "1 key");
    FAILS(t, on, cohort_group_finish(g, 2, &out), COHORT_RANGE, "flags", "2");
    FAILS(t, on, cohort_group_add(g, NULL), COHORT_NULL, "frame", NULL);
    OK(t, cohort_group_add(g, f));
    FAILS(t, on, cohort_group_add(g, h), COHORT_RANGE, "'v'", "(int32)");
    EQUAL(t, cohort_group_count(g), 2);
    o.aggregate = none;
    OK(t, cohort_group_create(on, &o, &other));
    FAILS(t, on, cohort_group_add(other, f), COHORT_RANGE, "mean", "'w'");
    FAILS(t, on, cohort_group_merge(g, other), COHORT_RANGE, "from", NULL);
    cohort_group_destroy(other);
    o.aggregate = any;
    OK(t, cohort_group_create(on, &o, &other));
    FAILS(t, on, cohort_group_add(other, f), COHORT_UNSUPPORTED, "any of column 'v'", "(float32)");
    OK(t, cohort_group_add(other, h)); /* the type of the frame that was refused is forgotten */
    cohort_group_destroy(other);
    o.key = missing;
    o.aggregate = a;
    OK(t, cohort_group_create(on, &o, &other));
    FAILS(t, on, cohort_group_add(other, f), COHORT_RANGE, "key", "'nothing'");
    FAILS(t, on, cohort_group_merge_partial(g, f), COHORT_CORRUPT, "'v'", NULL);
    FAILS(t, on, cohort_group_merge_partial(g, NULL), COHORT_NULL, "partial", NULL);
    refuses_strangers(t, g, k, v);
    FAILS(t, NULL, cohort_group_merge(NULL, g), COHORT_NULL, "into", NULL);
    cohort_group_destroy(other);
    cohort_group_destroy(g);
    cohort_group_destroy(NULL);
    EQUAL(t, cohort_group_count(NULL), 0);
    cohort_frame_release(f);
    cohort_frame_release(h);
}

/* Memory ends at some place of an add or a merge: the object goes on from where it was. */
static void no_memory(struct test *t)
{
    for (uint64_t limit = 1;; limit += 1 + limit / 5) {
        struct ledger ledger = {.limit = limit};
        cohort_context_options options = test_context_options(t);
        cohort_context *context = NULL;
        struct plan p;
        struct due d;
        struct model m;
        int whole = 0;
        options.alloc = test_allocator(t, &ledger);
        if (!cohort_context_create(&options, &context)) {
            memset(&p, 0, sizeof p);
            p.keys = 2, p.values = 2, p.frames = 3;
            p.format[0] = "vu", p.format[1] = "l", p.format[2] = "i", p.format[3] = "u";
            for (uint32_t c = 0; c < 4; c++)
                snprintf(p.name[c], sizeof p.name[c], "%c%u", c < 2 ? 'k' : 'v', c);
            p.key[0] = p.name[0], p.key[1] = p.name[1];
            add_aggregates(t, &p);
            for (uint32_t i = 0; i < p.frames; i++) {
                struct model_plan plan = {.rows = 100 + 150 * i, .distinct = 20, .nulls = 10, .wild = 0};
                model_open(&p.model[i], plan.rows, 4);
                for (uint32_t c = 0; c < 4; c++, plan.wild = c != 2)
                    model_fill(t, &p.model[i], c, p.name[c], p.format[c], &plan);
                p.frame[i] = model_frame(t, &p.model[i], context);
            }
            cohort_group *g = group_of(t, context, &p), *part = group_of(t, context, &p);
            uint32_t done = 0;
            cohort_frame *out = NULL;
            for (int tries = 0; g && part && done < p.frames && tries < 3; tries++) {
                cohort_status s = COHORT_OK;
                for (; !s && done < p.frames; done += !s) {
                    if (done != 1)
                        s = cohort_group_add(g, p.frame[done]);
                    else if (!cohort_group_count(part))
                        s = cohort_group_add(part, p.frame[done]);
                    if (!s && done == 1)
                        s = cohort_group_merge(g, part);
                }
                CHECKF(t, !s || s == COHORT_NO_MEMORY, "%d: %s", s, cohort_message(context));
                whole = done == p.frames;
                ledger.limit = tries ? 0 : ledger.limit * 2; /* what failed is done again with more memory */
            }
            if (g && part && done == p.frames && !cohort_group_finish(g, 0, &out)) {
                walk(&p, &d);
                struct test own = *t;
                own.context = context;
                model_of_frame(&own, &m, out);
                check_result(t, &p, &d, &m);
                model_close(&m);
                due_close(&d);
            }
            whole = whole && limit > 1u << 22;
            cohort_frame_release(out);
            cohort_group_destroy(g);
            cohort_group_destroy(part);
            plan_close(&p);
            cohort_context_destroy(context);
        }
        test_ledger_check(t, &ledger);
        if (whole || limit > 1u << 27)
            break;
    }
}

const struct test_case test_cases[] = {
    {"wholes", wholes, 0},
    {"parts", parts, 0},
    {"few", few, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"small", small, 0},
    {"sorted", sorted, 0},
    {"many", many, 0},
    {"reproducible", reproducible, 0},
    {"reproducible ties", reproducible_ties, 0},
    {"decimals", decimals, 0},
    {"moments of decimals", decimal_moments, 0},
    {"overflow", overflow, 0},
    {"overflow's key", overflow_key, 0},
    {"first overflow", first_overflow, 0},
    {"time zones", time_zones, 0},
    {"refuses", refuses, 0},
    {"no memory", no_memory, TEST_ON_CPU | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
