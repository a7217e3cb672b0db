/* test_group_sums.c: sums of groups to the last bit: of floats, the same in any order and rounded right; of
 * decimals, about the ends of 38 digits and of 128 bits; and sums that do not fit, which the group's key
 * names. */
#include "groups.h"

#include <math.h>

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

/* ---- decimals ------------------------------------------------------------------------------------------ */

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

/* ---- sums that do not fit ------------------------------------------------------------------------------ */

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

const struct test_case test_cases[] = {
    {"reproducible", reproducible, 0},
    {"reproducible ties", reproducible_ties, 0},
    {"decimals", decimals, 0},
    {"moments of decimals", decimal_moments, 0},
    {"overflow", overflow, 0},
    {"overflow's key", overflow_key, 0},
    {"first overflow", first_overflow, 0},
    {NULL, NULL, 0},
};
