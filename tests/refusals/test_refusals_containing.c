/* test_refusals_containing.c: cohort_sets_containing whose requests are refused, one after the other: the
 * first call, which makes the collection's index, and one that finds it. And collections that are made of
 * working sets, and changes of these. */
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

/* ---- changes of working sets --------------------------------------------------------------------------- */

/* INTO and an operation: on both sets, whose answer goes into a third one. */
enum { ADDS, REMOVES, KEEPS, INTO };

enum { SETS_CHANGED = 3 };

#define CHANGED 300

/* What is in the set, by chunks of which one is full, and what it is changed by, which is in the two others:
 * some of it, and new chunks. */
static int is_member(uint64_t v)
{
    return v < 600 || v >> 16 == 1 || v == 9 << 16;
}

static uint64_t change_of(uint64_t i)
{
    return (i % 5 << 16) + i * 7;
}

static int is_of_change(uint64_t v)
{
    const uint64_t of_chunk = v & 65535, chunk = v >> 16;
    return chunk < 5 && of_chunk % 7 == 0 && of_chunk / 7 < CHANGED && of_chunk / 7 % 5 == chunk;
}

/* Of the set that changes. */
static int is_due(uint64_t v, int what, int changed)
{
    const int in = is_member(v), of_change = is_of_change(v);
    if (!changed)
        return what < INTO ? in : of_change;
    switch (what) {
    case ADDS:
    case INTO + COHORT_SETS_OR:
        return in || of_change;
    case REMOVES:
    case INTO + COHORT_SETS_ANDNOT:
        return in && !of_change;
    case INTO + COHORT_SETS_XOR:
        return in != of_change;
    default:
        return in && of_change;
    }
}

static int changes(int what)
{
    return what < INTO ? 0 : 2;
}

static void make_changing(struct test *t, struct scene *s, int from)
{
    static const uint32_t first[] = {0, 1 << 16, 9 << 16}, last[] = {599, (2 << 16) - 1, 9 << 16};
    uint32_t members[CHANGED];
    cohort_set **sets = s->own;
    cohort_set_options o = COHORT_SET_OPTIONS_INIT;
    cohort_sets_source ranges = COHORT_SETS_SOURCE_INIT, source = COHORT_SETS_SOURCE_INIT;
    o.layout = COHORT_SET_CHUNKS;
    o.limit = 1u << 20;
    o.blocks = 8;
    ranges.form = COHORT_FORM_RANGES;
    ranges.n = 3;
    ranges.members = first;
    ranges.lasts = last;
    source.n = CHANGED;
    source.members = members;
    for (uint64_t i = 0; i < CHANGED; i++)
        members[i] = (uint32_t)change_of(i);
    for (int i = from; i < SETS_CHANGED; i++) {
        OK(t, cohort_set_create(t->context, &o, &sets[i]));
        OK(t, cohort_set_update(sets[i], COHORT_SET_ADD, i ? &source : &ranges));
    }
}

static void begin_change(struct test *t, struct scene *s)
{
    s->own = calloc(SETS_CHANGED, sizeof(cohort_set *));
    REQUIRE(t, s->own);
    make_changing(t, s, 0);
    s->c[0] = column_new(t, CHANGED, 4);
    for (uint64_t i = 0; i < CHANGED; i++)
        column_put(s->c[0], i, change_of((i * 11 + 5) % CHANGED));
    s->c[1] = column_new(t, 2, 8);
    for (uint64_t i = 0; i < 2; i++)
        column_put(s->c[1], i, i);
}

static cohort_status act_change(struct test *t, struct scene *s)
{
    cohort_set **sets = s->own;
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    const int what = refuse_deed->what;
    source.n = CHANGED;
    source.members = s->at[0];
    d.op = what < INTO ? COHORT_SETS_AND : (cohort_sets_op)(what - INTO);
    d.working = sets;
    d.working_count = 2;
    d.rows = 1;
    d.arity = 2;
    d.members = s->at[1];
    d.into = sets[changes(what)];
    if (what >= KEEPS)
        return cohort_sets_query(t->context, &d);
    return cohort_set_update(sets[0], what == ADDS ? COHORT_SET_ADD : COHORT_SET_REMOVE, &source);
}

static void end_change(struct test *t, struct scene *s)
{
    cohort_set **sets = s->own;
    (void)t;
    for (int i = 0; i < SETS_CHANGED; i++)
        cohort_set_destroy(sets[i]);
    free(sets);
}

/* The set is as it was where there was no memory. After an error of the device it can be destroyed. Those
 * that are only read are of use then: the answer that comes of them next is right. */
static void check_change(struct test *t, struct scene *s, cohort_status status)
{
    enum { MOST = 67000 };
    cohort_set **sets = s->own;
    const int what = refuse_deed->what, into = changes(what);
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    uint64_t due = 0;
    if (status == COHORT_DEVICE_ERROR) {
        for (int i = into; i < SETS_CHANGED; i++)
            cohort_set_destroy(sets[i]);
        make_changing(t, s, into);
    }
    uint32_t *members = malloc(MOST * sizeof *members);
    REQUIRE(t, members);
    target.capacity = MOST;
    target.members = members;
    OK(t, cohort_set_export(sets[into], &target));
    for (uint64_t v = 0; v < 10 << 16; v++)
        if (is_due(v, what, !status))
            CHECK(t, due < target.total && members[due++] == v);
    EQUAL(t, target.total, due);
    free(members);
}

static void of_changes(struct test *t)
{
    static const struct deed deeds[] = {
        {"update, add", begin_change, act_change, check_change, end_change, ADDS},
        {"update, remove", begin_change, act_change, check_change, end_change, REMOVES},
        {"and in place", begin_change, act_change, check_change, end_change, KEEPS},
        {"and into a third", begin_change, act_change, check_change, end_change, INTO + COHORT_SETS_AND},
        {"or into a third", begin_change, act_change, check_change, end_change, INTO + COHORT_SETS_OR},
        {"andnot into a third", begin_change, act_change, check_change, end_change,
         INTO + COHORT_SETS_ANDNOT},
        {"xor into a third", begin_change, act_change, check_change, end_change, INTO + COHORT_SETS_XOR}};
    for (uint64_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (refuse_takes(t, i, 3))
            refuse_each(t, &deeds[i]);
}

const struct test_case test_cases[] = {
    {"of_working_sets", of_working_sets, TEST_NO_CONTEXT},
    {"of_changes", of_changes, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {"containing", containing, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
