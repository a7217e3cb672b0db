/* test_sets_errors.c: what looks into collections, queries and exports must refuse: numbers that are none,
 * sets that the collection has not, fields that the kind has no use for. Nothing is written then. */
#include "sets.h"

#include "api/sets.h"

#define SETS 5
#define N    6

struct asked {
    struct test *t;
    struct plains p;
    cohort_sets *sets;
    struct column *which, *values, *out; /* of N entries; `out` is 0x5a everywhere */
};

static struct asked asked_new(struct test *t)
{
    struct asked a = {.t = t, .p = plains_draw(t, SETS, 0)};
    a.sets = sets_of(t, &a.p, 0);
    a.which = column_new(t, N, 8);
    a.values = column_new(t, N, 4);
    a.out = column_new(t, 64 * N, 8);
    for (uint64_t i = 0; i < N; i++) {
        column_put(a.which, i, i % SETS);
        column_put(a.values, i, i);
    }
    memset(a.out->data, 0x5a, a.out->count * 8);
    return a;
}

static void nothing_written(struct asked *a)
{
    OK(a->t, cohort_wait(a->t->context));
    column_fetch(a->out);
    for (uint64_t i = 0; i < a->out->count; i++)
        REQUIREF(a->t, column_get(a->out, i) == UINT64_C(0x5a5a5a5a5a5a5a5a), "entry %llu is written",
                 (unsigned long long)i);
}

static void asked_end(struct asked *a)
{
    sets_judge(a->t, a->sets, &a->p, "after errors");
    cohort_sets_destroy(a->sets);
    plains_free(&a->p);
}

/* Spoils a copy of `good`, and has it refused. */
#define BAD(call, spoil, status, word, value)            \
    do {                                                 \
        d = good;                                        \
        spoil;                                           \
        FAILS(t, t->context, call, status, word, value); \
    } while (0)

/* ---- looks --------------------------------------------------------------------------------------------- */

static void looks(struct test *t)
{
    struct asked a = asked_new(t);
    cohort_sets_look_desc good = COHORT_SETS_LOOK_INIT, d;
    const void *values = column_send(a.values);
    const uint64_t *which = column_send(a.which);
    void *out = column_send(a.out);
    good.n = N;
    good.values = values;
    good.hit = out;
#define BAD_LOOK(...) BAD(cohort_sets_look(a.sets, &d), __VA_ARGS__)
    FAILS(t, NULL, cohort_sets_look(NULL, &good), COHORT_NULL, "sets", NULL);
    FAILS(t, t->context, cohort_sets_look(a.sets, NULL), COHORT_NULL, "desc", NULL);
    BAD_LOOK(d.size = 1, COHORT_BAD_STRUCT, "desc", "1");
    BAD_LOOK(d.kind = (cohort_look)0, COHORT_RANGE, "desc.kind", "0");
    BAD_LOOK(d.kind = (cohort_look)11, COHORT_RANGE, "desc.kind", "11");
    BAD_LOOK(d.reserved = 3, COHORT_RANGE, "desc.reserved", "3");
    BAD_LOOK(d.set = SETS, COHORT_RANGE, "desc.set", "5");
    BAD_LOOK(d.set = UINT64_MAX, COHORT_RANGE, "desc.set", "18446744073709551615");
    BAD_LOOK(d.n = UINT64_MAX, COHORT_OVERFLOW, "n", "18446744073709551615");
    BAD_LOOK(d.others = which, COHORT_RANGE, "desc.others", "1");
    BAD_LOOK(d.lasts = values, COHORT_RANGE, "desc.lasts", "1");
    BAD_LOOK(d.results = out, COHORT_RANGE, "desc.results", "1");
    BAD_LOOK((d.kind = COHORT_LOOK_RANK, d.results = out), COHORT_RANGE, "desc.hit", "2");
    BAD_LOOK(d.kind = COHORT_LOOK_MIN, COHORT_RANGE, "desc.values", "6");
    BAD_LOOK(d.values = NULL, COHORT_NULL, "desc.values", "6");
    BAD_LOOK(d.hit = NULL, COHORT_NULL, "desc.hit", "6");
    BAD_LOOK((d.kind = COHORT_LOOK_EQUAL, d.values = NULL), COHORT_NULL, "desc.others", "6");
    nothing_written(&a);
    good.set = SETS;
    good.n = 0;
    OK(t, cohort_sets_look(a.sets, &good)); /* no question is asked of it */
    asked_end(&a);
}

/* Of sets that the collection has not, in host memory; in a device's cohort_wait tells. */
static void looks_elsewhere(struct test *t)
{
    struct asked a = asked_new(t);
    cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
    column_put(a.which, 4, SETS);
    d.n = N;
    d.which = column_send(a.which);
    d.values = column_send(a.values);
    d.hit = column_send(a.out);
    cohort_status s = cohort_sets_look(a.sets, &d);
    const int later = t->memory == TEST_DEVICE && !s;
    if (later)
        s = cohort_wait(t->context);
    EQUAL(t, s, COHORT_RANGE);
    CHECKF(t, !later || strstr(cohort_message(t->context), "look at sets"), "%s", cohort_message(t->context));
    CHECKF(t, strstr(cohort_message(t->context), "entry 4") != NULL, "%s", cohort_message(t->context));
    OK(t, cohort_wait(t->context));
    asked_end(&a);
}

/* ---- queries ------------------------------------------------------------------------------------------- */

static void queries(struct test *t)
{
    struct asked a = asked_new(t);
    cohort_sets_query_desc good = COHORT_SETS_QUERY_INIT, d;
    cohort_sets *none[1] = {NULL};
    void *out = column_send(a.out);
    good.collections = &a.sets;
    good.collections_count = 1;
    good.rows = N / 2;
    good.arity = 2;
    good.members = column_send(a.which);
    good.counts = out;
#define BAD_QUERY(...) BAD(cohort_sets_query(t->context, &d), __VA_ARGS__)
    FAILS(t, NULL, cohort_sets_query(NULL, &good), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_sets_query(t->context, NULL), COHORT_NULL, "desc", NULL);
    BAD_QUERY(d.size = 1, COHORT_BAD_STRUCT, "desc", "1");
    BAD_QUERY(d.op = (cohort_sets_op)0, COHORT_RANGE, "desc.op", "0");
    BAD_QUERY(d.op = (cohort_sets_op)6, COHORT_RANGE, "desc.op", "6");
    BAD_QUERY(d.least = 2, COHORT_RANGE, "desc.least", "2");
    BAD_QUERY(d.op = COHORT_SETS_AT_LEAST, COHORT_RANGE, "desc.least", "0");
    BAD_QUERY(d.each = 3, COHORT_RANGE, "desc.each", "3");
    BAD_QUERY(d.collections_count = 9, COHORT_RANGE, "desc.collections_count", "9");
    BAD_QUERY(d.collections_count = 0, COHORT_RANGE, "desc.collections_count", "0");
    BAD_QUERY(d.collections = NULL, COHORT_NULL, "desc.collections", "1");
    BAD_QUERY(d.collections = none, COHORT_NULL, "desc.collections[0]", NULL);
    BAD_QUERY((d.each = 1, d.offsets = good.members), COHORT_RANGE, "desc.each", "1");
    BAD_QUERY(d.first_most = 3, COHORT_NULL, "desc.first", "3");
    BAD_QUERY((d.first = out, d.counts = NULL), COHORT_RANGE, "desc.first_most", "0");
    BAD_QUERY(d.rows = UINT64_MAX, COHORT_OVERFLOW, "18446744073709551615", NULL);
    BAD_QUERY(d.members = NULL, COHORT_NULL, "desc.members", NULL);
    nothing_written(&a);
    asked_end(&a);
}

/* ---- exports ------------------------------------------------------------------------------------------- */

static void exports(struct test *t)
{
    struct asked a = asked_new(t);
    cohort_sets_target good = COHORT_SETS_TARGET_INIT, d;
    void *out = column_send(a.out);
    good.members = out;
#define BAD_EXPORT(...) BAD(cohort_sets_export(a.sets, &d), __VA_ARGS__)
    FAILS(t, NULL, cohort_sets_export(NULL, &good), COHORT_NULL, "sets", NULL);
    FAILS(t, t->context, cohort_sets_export(a.sets, NULL), COHORT_NULL, "target", NULL);
    BAD_EXPORT(d.size = 1, COHORT_BAD_STRUCT, "target", "1");
    BAD_EXPORT(d.form = (cohort_form)0, COHORT_RANGE, "target.form", "0");
    BAD_EXPORT(d.form = COHORT_FORM_WORKING, COHORT_RANGE, "target.form", "5");
    BAD_EXPORT(d.reserved = 2, COHORT_RANGE, "target.reserved", "2");
    BAD_EXPORT(d.lasts = out, COHORT_RANGE, "target.lasts", "1");
    BAD_EXPORT(d.bits = 8, COHORT_RANGE, "target.bits", "1");
    BAD_EXPORT(d.stride = 8, COHORT_RANGE, "target.stride", "1");
    BAD_EXPORT(d.bits_offset = 8, COHORT_RANGE, "target.bits_offset", "1");
    BAD_EXPORT(d.blob_type = COHORT_U32, COHORT_RANGE, "target.blob_type", "1");
    BAD_EXPORT((d.form = COHORT_FORM_BITMAPS, d.groups = out), COHORT_RANGE, "target.groups", "3");
    BAD_EXPORT((d.form = COHORT_FORM_BITMAPS, d.bits = 64, d.stride = 4), COHORT_RANGE, "target.stride", "4");
    BAD_EXPORT((d.groups = (char *)out + 8, d.group_type = COHORT_I8), COHORT_RANGE, "target.group_type",
               NULL);
    nothing_written(&a);
    asked_end(&a);
}

/* Sets that the collection has not, in every form; the first of them is told, and its place. */
static void exports_elsewhere(struct test *t)
{
    static const uint64_t sets[] = {SETS, SETS + 1, UINT64_MAX};
    static const char *const due[] = {"target.which[2] is 5;", "target.which[2] is 6;",
                                      "target.which[2] is 18446744073709551615;"};
    struct asked a = asked_new(t);
    for (cohort_form form = COHORT_FORM_MEMBERS; form <= COHORT_FORM_ROARING; form++)
        for (int i = 0; i < 3; i++)
            for (int counts = 0; counts < 2; counts++) {
                cohort_sets_target d = COHORT_SETS_TARGET_INIT;
                column_put(a.which, 2, sets[i]);
                column_put(a.which, 4, SETS);
                d.form = form;
                d.n = N;
                d.which = column_send(a.which);
                d.bits = form == COHORT_FORM_BITMAPS ? 64 : 0;
                d.members = counts && form != COHORT_FORM_BITMAPS ? NULL : column_send(a.out);
                d.capacity = 0; /* nothing fits; what is asked is wrong all the same */
                FAILS(t, t->context, cohort_sets_export(a.sets, &d), COHORT_RANGE, due[i], "5 sets");
                nothing_written(&a);
            }
    asked_end(&a);
}

/* A set asked for so often that its members are more than 64 bits count. What is told of its one chunk makes
 * it that large. */
static void exports_too_much(struct test *t)
{
    const uint64_t first = 0, last = 65535;
    struct column *which = column_new(t, 3, 8);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    cohort_sets *sets = NULL;
    for (uint64_t i = 0; i < 3; i++)
        column_put(which, i, 0);
    source.form = COHORT_FORM_RANGES;
    source.type = COHORT_U64;
    source.n = 1;
    source.members = &first;
    source.lasts = &last;
    OK(t, cohort_sets_build(t->context, &source, &sets));
    co_u64 *before = (co_u64 *)(uintptr_t)sets->view.before + 1;
    *before = 1ull << 63;
    target.which = column_send(which);
    target.n = 1;
    OK(t, cohort_sets_export(sets, &target));
    EQUAL(t, target.total, *before);
    for (target.n = 2; target.n < 4; target.n++)
        FAILS(t, t->context, cohort_sets_export(sets, &target), COHORT_OVERFLOW, "target.n is",
              "more members than fit in 64 bits");
    *before = last + 1;
    cohort_sets_destroy(sets);
}

/* A range that ends before it begins: the first such one is told, and what it is, in both types. */
static void ranges_turned(struct test *t)
{
    for (int wide = 0; wide < 2; wide++) {
        const uint64_t high = wide ? 1ull << 40 : 0;
        struct column *firsts = column_new(t, N, wide ? 8 : 4), *lasts = column_new(t, N, wide ? 8 : 4);
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        cohort_sets *sets = NULL;
        for (uint64_t i = 0; i < N; i++) {
            column_put(firsts, i, high + 10 * i + 7);
            column_put(lasts, i, high + 10 * i + (i % 2 || !i ? 8 : 6));
        }
        source.form = COHORT_FORM_RANGES;
        source.type = wide ? COHORT_U64 : COHORT_U32;
        source.n = N;
        source.members = column_send(firsts);
        source.lasts = column_send(lasts);
        FAILS(t, t->context, cohort_sets_build(t->context, &source, &sets), COHORT_RANGE,
              wide ? "source.lasts[2] is 1099511627802" : "source.lasts[2] is 26,",
              wide ? "source.members[2], 1099511627803" : "source.members[2], 27");
        REQUIRE(t, !sets);
        column_drop(t, NULL);
    }
}

/* Ranges over all integers of 64 bits, each of another set: 2^16 of them are in 2^64 chunks, which a sum of
 * 64 bits has for none; and one more, in few. */
static void ranges_endless(struct test *t)
{
    const uint64_t many = 1u << 16;
    struct column *firsts = column_new(t, many + 1, 8), *lasts = column_new(t, many + 1, 8);
    struct column *groups = column_new(t, many + 1, 4);
    for (uint64_t i = 0; i <= many; i++) {
        column_put(firsts, i, 0);
        column_put(lasts, i, i < many ? UINT64_MAX : 1000000);
        column_put(groups, i, i);
    }
    for (uint64_t more = 0; more < 2; more++) {
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        cohort_sets *sets = NULL;
        if (!test_drawn(t, more, test_size(t, 1, 2)))
            continue;
        source.form = COHORT_FORM_RANGES;
        source.type = COHORT_U64;
        source.n = many + more;
        source.members = column_send(firsts);
        source.lasts = column_send(lasts);
        source.groups = column_send(groups);
        FAILS(t, t->context, cohort_sets_build(t->context, &source, &sets), COHORT_OVERFLOW,
              more ? "source.n = 65537" : "source.n = 65536", "281474976710656 chunks");
        REQUIRE(t, !sets);
    }
}

const struct test_case test_cases[] = {
    {"looks", looks, TEST_EACH_MEMORY},
    {"looks_elsewhere", looks_elsewhere, TEST_EACH_MEMORY},
    {"queries", queries, TEST_EACH_MEMORY},
    {"exports", exports, TEST_EACH_MEMORY},
    {"exports_elsewhere", exports_elsewhere, TEST_EACH_MEMORY},
    {"exports_too_much", exports_too_much, TEST_ON_CPU},
    {"ranges_turned", ranges_turned, TEST_EACH_MEMORY},
    {"ranges_endless", ranges_endless, 0},
    {NULL, NULL, 0},
};
