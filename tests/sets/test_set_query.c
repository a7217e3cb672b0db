/* test_set_query.c: queries that have working sets for operands and for their answer. */
#include "working.h"

/* Rows of working sets and of a collection; `into` is one of the operands as often as not. */
static void queries(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 15, test_size(t, 150, 15), test_size(t, 600, 50));
         round++) {
        if (!test_drawn(t, round, test_size(t, 1, 3)))
            continue;
        int wide = (int)test_below(t, 2);
        struct working s[3];
        cohort_set *working[3];
        struct plains p = plains_draw(t, test_below(t, 3), wide);
        const struct plain *operands[6];
        cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
        cohort_sets *sets = p.n ? sets_of(t, &p, 0) : NULL, *result = NULL;
        for (int i = 0; i < 3; i++) {
            working_open(t, &s[i], wide, COHORT_SET_CHUNKS, 0, 300);
            struct plain q = working_draw_change(&s[i]);
            OK(t, working_change(&s[i], COHORT_SET_ADD, &q));
            working_change_due(&s[i], COHORT_SET_ADD, &q);
            plain_free(&q);
            working[i] = s[i].set;
        }
        uint64_t n = test_below(t, 5), into = test_below(t, 3);
        struct column *members = column_new(t, n, 8), *counts = column_new(t, 1, 8);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t k = test_below(t, p.n + 3);
            column_put(members, i, k);
            operands[i] = k < p.n ? &p.at[k] : &s[k - p.n].due;
        }
        d.op = (cohort_sets_op)(COHORT_SETS_AND + test_below(t, 5));
        d.least = d.op == COHORT_SETS_AT_LEAST ? 1 + test_below(t, 3) : 0;
        d.collections = &sets;
        d.collections_count = p.n > 0;
        d.working = working;
        d.working_count = 3;
        d.rows = 1;
        d.arity = n;
        d.members = column_send(members);
        d.counts = column_send(counts);
        d.into = working[into];
        if (test_below(t, 2))
            d.result = &result;
        struct plain due = plain_row(d.op, d.least, operands, n);
        OK(t, cohort_sets_query(t->context, &d));
        OK(t, cohort_wait(t->context));
        column_fetch(counts);
        EQUAL(t, column_get(counts, 0), due.n);
        if (d.result) {
            struct plains one = {&due, 1, wide};
            sets_judge(t, result, &one, "the answer");
        }
        plain_free(&s[into].due);
        s[into].due = due;
        for (int i = 0; i < 3; i++) {
            working_judge(&s[i], i == (int)into ? "into" : "an operand");
            working_close(&s[i]);
        }
        cohort_sets_destroy(result);
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* An answer that the set has no room for, or no place. */
static void queries_refused(struct test *t)
{
    struct working a, b;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    cohort_set *working[2];
    static const uint64_t both[2] = {0, 1};
    struct column *members = column_new(t, 2, 8);
    working_open(t, &a, 0, COHORT_SET_CHUNKS, 0, 10);
    working_open(t, &b, 0, COHORT_SET_CHUNKS, 20 << 16, 4);
    working_step(&a, COHORT_SET_ADD, 7, 4, 0, COHORT_OK);
    working_step(&b, COHORT_SET_ADD, 3, 4, 0, COHORT_OK);
    working[0] = a.set;
    working[1] = b.set;
    for (int i = 0; i < 2; i++)
        column_put(members, (uint64_t)i, both[i]);
    d.op = COHORT_SETS_OR;
    d.working = working;
    d.working_count = 2;
    d.rows = 1;
    d.arity = 2;
    d.members = column_send(members);
    d.into = b.set;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_FULL, "cohort_sets_query", "4");
    working_judge(&b, "refused");
    working_step(&a, COHORT_SET_ADD, 30, 1, 0, COHORT_OK);
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "limit", "1310720");
    working_judge(&b, "refused");
    d.into = a.set;
    OK(t, cohort_sets_query(t->context, &d));
    working_change_due(&a, COHORT_SET_ADD, &b.due);
    working_judge(&a, "or");
    /* a build of both */
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    struct plain two[2] = {a.due, b.due};
    struct plains due = {two, 2, 0};
    source.form = COHORT_FORM_WORKING;
    source.n = 2;
    source.members = working;
    OK(t, cohort_sets_build(t->context, &source, &sets));
    sets_judge(t, sets, &due, "a build");
    cohort_sets_destroy(sets);
    /* one of no sets, whose type is the source's */
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    source.n = 0;
    source.type = COHORT_U64;
    OK(t, cohort_sets_build(t->context, &source, &sets));
    OK(t, cohort_sets_get_info(sets, &info));
    CHECK(t, info.type == COHORT_U64 && !info.sets);
    cohort_sets_destroy(sets);
    working_close(&a);
    working_close(&b);
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* One thing wrong with a query of two working sets, which is answered at once where nothing is. */
static void query_of_two_refused(struct test *t, struct working *s)
{
    static const uint64_t members[2] = {0, 1};
    struct working other;
    working_open(t, &other, 0, COHORT_SET_CHUNKS, 100, 0);
    struct plain five = plain_of((const uint64_t[]){5}, 1);
    OK(t, working_change(&other, COHORT_SET_ADD, &five));
    working_change_due(&other, COHORT_SET_ADD, &five);
    plain_free(&five);
    cohort_set *const working[2] = {s->set, other.set};
    cohort_sets_query_desc good = COHORT_SETS_QUERY_INIT, d;
    good.op = COHORT_SETS_AND;
    good.working = working;
    good.working_count = 2;
    good.rows = 1;
    good.arity = 2;
    good.members = members;
    good.into = other.set;
#define BAD(spoil, status, word)                                                     \
    do {                                                                             \
        d = good;                                                                    \
        spoil;                                                                       \
        FAILS(t, t->context, cohort_sets_query(t->context, &d), status, word, NULL); \
        working_judge(&other, "refused");                                            \
    } while (0)
    BAD(d.size = 1, COHORT_BAD_STRUCT, "desc");
    BAD(d.rows = 2, COHORT_RANGE, "desc.rows");
    BAD(d.least = 1, COHORT_RANGE, "desc.least");
    BAD(d.first_most = 1, COHORT_NULL, "desc.first");
    BAD(d.members = NULL, COHORT_NULL, "desc.members");
    BAD(d.members = (const uint64_t *)(const void *)((const char *)members + 4), COHORT_BAD_POINTER,
        "desc.members");
    BAD(d.working_count = 1, COHORT_RANGE, "desc.members[1]");
    BAD(d.working_count = 9, COHORT_RANGE, "desc.working_count");
    BAD(d.collections_count = 1, COHORT_NULL, "desc.collections");
    BAD(d.each = 3, COHORT_RANGE, "desc.each");
#undef BAD
    working_close(&other);
}

static void query_arguments(struct test *t)
{
    struct working s, wide;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    cohort_set *working[2];
    working_open(t, &s, 0, COHORT_SET_CHOSEN, 100, 0);
    working_open(t, &wide, 1, COHORT_SET_CHOSEN, 100, 0);
    working[0] = s.set;
    working[1] = NULL;
    d.rows = 1;
    d.working_count = 2;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_NULL, "desc.working", "2");
    d.working = working;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_NULL, "desc.working[1]", NULL);
    working[1] = wide.set;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.working[1]", "64");
    d.working_count = 1;
    d.into = wide.set;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.into", "64");
    d.into = s.set;
    d.rows = 2;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.rows", "2");
    d.rows = 1;
    d.working_count = 9;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.working_count", "9");
    d.working_count = 1;
    d.into = NULL;
    d.each = 1;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.each", "1");
    query_of_two_refused(t, &s);
    working_close(&s);
    working_close(&wide);
}

const struct test_case test_cases[] = {
    {"queries", queries, TEST_EACH_MEMORY},
    {"queries_refused", queries_refused, TEST_EACH_MEMORY},
    {"query_arguments", query_arguments, 0},
    {NULL, NULL, 0},
};
