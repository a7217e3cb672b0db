/* test_refusals_containing.c: cohort_sets_containing whose requests are refused, one after the other: the
 * first call, which makes the collection's index, and one that finds it. And collections that are made of
 * working sets. */
#include "refuse.h"

enum { FIRST, AGAIN };

#define SETS   40
#define VALUES 30

/* Set s has the multiples of s + 1 up to 600: lists and sets with chunks. */
static uint64_t due(uint64_t value, uint64_t s)
{
    return value <= 600 && value % (s + 1) == 0;
}

static void make_sets(struct test *t, struct scene *s)
{
    uint32_t members[SETS * 600];
    uint64_t offsets[SETS + 1], n = 0;
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    for (uint64_t set = 0; set < SETS; set++) {
        offsets[set] = n;
        for (uint32_t v = 0; v <= 600; v += (uint32_t)set + 1)
            if (set % 2 || v <= 5 * (set + 1))
                members[n++] = v;
    }
    offsets[SETS] = n;
    source.n = n;
    source.sets = SETS;
    source.members = members;
    source.offsets = offsets;
    OK(t, cohort_sets_build(t->context, &source, &s->sets));
}

static int has(uint64_t value, uint64_t set)
{
    return due(value, set) && (set % 2 || value <= 5 * (set + 1));
}

static uint64_t value_of(uint64_t i)
{
    return i * 37 % 620;
}

static void begin(struct test *t, struct scene *s)
{
    static const cohort_sets_containing_desc none = COHORT_SETS_CONTAINING_INIT;
    make_sets(t, s);
    if (refuse_deed->what == AGAIN)
        OK(t, cohort_sets_containing(s->sets, &none));
    s->c[0] = column_new(t, VALUES, 4);
    s->c[1] = column_new(t, VALUES + 1, 8);
    s->c[2] = column_new(t, VALUES * SETS, 8);
    for (uint64_t i = 0; i < VALUES; i++)
        column_put(s->c[0], i, value_of(i));
}

static cohort_status act(struct test *t, struct scene *s)
{
    cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT;
    (void)t;
    d.n = VALUES;
    d.values = s->at[0];
    d.offsets = s->at[1];
    d.sets = s->at[2];
    d.capacity = VALUES * SETS;
    return cohort_sets_containing(s->sets, &d);
}

/* The collection has what it had; the answers are right where there are some. */
static void check(struct test *t, struct scene *s, cohort_status status)
{
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    uint64_t at = 0, members = 0;
    OK(t, cohort_sets_get_info(s->sets, &info));
    for (uint64_t set = 0; set < SETS; set++)
        for (uint64_t v = 0; v <= 600; v++)
            members += (uint64_t)has(v, set);
    EQUAL(t, info.members, members);
    for (int i = 0; i < 3; i++)
        column_fetch(s->c[i]);
    for (uint64_t i = 0; i < VALUES; i++)
        EQUAL(t, column_get(s->c[0], i), value_of(i));
    for (uint64_t i = 0; i < VALUES && !status; i++) {
        EQUAL(t, column_get(s->c[1], i), at);
        for (uint64_t set = 0; set < SETS; set++)
            if (has(value_of(i), set))
                EQUAL(t, column_get(s->c[2], at++), set);
    }
    if (!status)
        EQUAL(t, column_get(s->c[1], VALUES), at);
}

static void containing(struct test *t)
{
    static const struct deed deeds[] = {{"the first call", begin, act, check, NULL, FIRST},
                                        {"another one", begin, act, check, NULL, AGAIN}};
    for (int i = 0; i < 2; i++)
        refuse_each(t, &deeds[i]);
}

/* ---- of working sets ----------------------------------------------------------------------------------- */

#define WORKING 3

static uint64_t working_member(uint64_t set, uint64_t i)
{
    return set ? 70000 * i + set : i;
}

/* A dense set and two short lists. */
static void begin_working(struct test *t, struct scene *s)
{
    cohort_set **sets = s->own = calloc(WORKING, sizeof(cohort_set *));
    REQUIRE(t, sets);
    for (uint64_t set = 0; set < WORKING; set++) {
        cohort_set_options o = COHORT_SET_OPTIONS_INIT;
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        uint32_t members[600];
        source.n = set ? 5 : 600;
        source.members = members;
        for (uint64_t i = 0; i < source.n; i++)
            members[i] = (uint32_t)working_member(set, i);
        o.layout = COHORT_SET_CHUNKS;
        o.limit = 1u << 20;
        o.blocks = 8;
        OK(t, cohort_set_create(t->context, &o, &sets[set]));
        OK(t, cohort_set_update(sets[set], COHORT_SET_ADD, &source));
    }
}

static cohort_status act_working(struct test *t, struct scene *s)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    source.form = COHORT_FORM_WORKING;
    source.n = WORKING;
    source.members = s->own;
    return cohort_sets_build(t->context, &source, &s->sets_made);
}

static void check_working(struct test *t, struct scene *s, cohort_status status)
{
    uint32_t members[700];
    uint64_t offsets[WORKING + 1];
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    CHECK(t, !status == (s->sets_made != NULL));
    if (status)
        return;
    target.capacity = 700;
    target.members = members;
    target.offsets = offsets;
    OK(t, cohort_sets_export(s->sets_made, &target));
    EQUAL(t, target.total, 610);
    for (uint64_t set = 0; set < WORKING; set++)
        for (uint64_t i = offsets[set]; i < offsets[set + 1]; i++)
            EQUAL(t, members[i], working_member(set, i - offsets[set]));
}

static void end_working(struct test *t, struct scene *s)
{
    cohort_set **sets = s->own;
    (void)t;
    for (uint64_t set = 0; set < WORKING; set++)
        cohort_set_destroy(sets[set]);
    free(sets);
}

static void of_working_sets(struct test *t)
{
    static const struct deed deed = {"build", begin_working, act_working, check_working, end_working, 0};
    refuse_each(t, &deed);
}

const struct test_case test_cases[] = {
    {"of_working_sets", of_working_sets, TEST_NO_CONTEXT},
    {"containing", containing, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
