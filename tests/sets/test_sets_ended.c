/* test_sets_ended.c: builds, queries, lookups, exports and updates of sets on a CPU, ended wherever they
 * tell. What is ended gives no collection and changes no set. */
#include "ended.h"

#include <stdlib.h>

#define SETS  1100u /* rows of queries, too: one thread cuts so many into pieces */
#define EACH  100u
#define LIMIT (1u << 22)

struct world {
    struct ending ending;
    uint32_t *members, *groups, *out;
    uint64_t *counts, *pairs, *both, *offsets; /* both: what the pairs have in common */
    cohort_sets *sets;
    cohort_set *set;
};

/* Set s has members by a step of its own, so that pairs of sets share some. */
static uint32_t member_of(uint32_t set, uint32_t i)
{
    return (uint32_t)(test_mix(set % 50) % 1000 + (uint64_t)i * (1 + set % 7) * 8192) % LIMIT;
}

static int is_less(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static cohort_status build(struct world *w, cohort_sets **sets)
{
    cohort_sets_source from = COHORT_SETS_SOURCE_INIT;
    from.n = SETS * EACH;
    from.sets = SETS;
    from.members = w->members;
    from.groups = w->groups;
    return cohort_sets_build(w->ending.context, &from, sets);
}

static void world_open(struct world *w, struct test *t, uint64_t threads)
{
    *w = (struct world){.set = NULL};
    ending_open(&w->ending, t, threads);
    w->members = malloc(4 * SETS * EACH);
    w->groups = malloc(4 * SETS * EACH);
    w->out = malloc(4 * SETS * EACH);
    w->counts = calloc(SETS * EACH, 8);
    w->pairs = malloc(16 * SETS);
    w->both = calloc(SETS, 8);
    w->offsets = malloc(8 * (SETS + 1));
    for (uint32_t i = 0; i < SETS * EACH; i++) {
        uint32_t at = (uint32_t)(test_mix(i) % (i + 1));
        w->members[i] = w->members[at];
        w->groups[i] = w->groups[at];
        w->members[at] = member_of(i / EACH, i % EACH);
        w->groups[at] = i / EACH;
    }
    OK(t, build(w, &w->sets));
    for (uint32_t s = 0; s < SETS; s++) {
        uint32_t a[EACH], b[EACH];
        w->pairs[2 * s] = s;
        w->pairs[2 * s + 1] = (s + 50) % SETS;
        for (uint32_t i = 0; i < EACH; i++) {
            a[i] = member_of(s, i);
            b[i] = member_of((s + 50) % SETS, i);
        }
        qsort(b, EACH, 4, is_less);
        qsort(a, EACH, 4, is_less);
        for (uint32_t i = 0; i < EACH; i++)
            w->both[s] += (!i || a[i] != a[i - 1]) && bsearch(&a[i], b, EACH, 4, is_less);
    }
}

static void world_close(struct world *w)
{
    cohort_set_destroy(w->set);
    cohort_sets_destroy(w->sets);
    cohort_context_destroy(w->ending.context);
    free(w->members);
    free(w->groups);
    free(w->out);
    free(w->counts);
    free(w->pairs);
    free(w->both);
    free(w->offsets);
}

static cohort_status build_once(void *world)
{
    struct world *w = world;
    struct test *t = w->ending.t;
    cohort_sets *sets = NULL;
    cohort_sets_info info = COHORT_SETS_INFO_INIT, wanted = COHORT_SETS_INFO_INIT;
    cohort_status s = build(w, &sets);
    CHECK(t, !s == (sets != NULL));
    if (!s) {
        OK(t, cohort_sets_get_info(sets, &info));
        OK(t, cohort_sets_get_info(w->sets, &wanted));
        EQUAL(t, info.members, wanted.members);
    }
    cohort_sets_destroy(sets);
    return s;
}

static cohort_sets_query_desc query_of(struct world *w, cohort_sets_op op)
{
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    d.op = op;
    d.collections = &w->sets;
    d.collections_count = 1;
    d.rows = SETS;
    d.members = w->pairs;
    d.arity = 2;
    return d;
}

static cohort_status count_once(void *world)
{
    struct world *w = world;
    cohort_sets_query_desc d = query_of(w, COHORT_SETS_AND);
    d.counts = w->counts;
    cohort_status s = cohort_sets_query(w->ending.context, &d);
    for (uint32_t i = 0; !s && i < SETS; i++)
        REQUIRE(w->ending.t, w->counts[i] == w->both[i]);
    return s;
}

static cohort_status make_once(void *world)
{
    struct world *w = world;
    struct test *t = w->ending.t;
    cohort_sets *made = NULL;
    cohort_sets_query_desc d = query_of(w, COHORT_SETS_AND);
    cohort_sets_target to = COHORT_SETS_TARGET_INIT;
    d.result = &made;
    cohort_status s = cohort_sets_query(w->ending.context, &d);
    CHECK(t, !s == (made != NULL));
    to.members = w->out;
    to.capacity = SETS * EACH;
    to.offsets = w->offsets;
    if (!s)
        s = cohort_sets_export(made, &to);
    for (uint32_t i = 0; !s && i < SETS; i++)
        REQUIRE(t, w->offsets[i + 1] - w->offsets[i] == w->both[i]);
    cohort_sets_destroy(made);
    return s;
}

static cohort_status look_once(void *world)
{
    struct world *w = world;
    struct test *t = w->ending.t;
    cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
    uint8_t *hit = calloc(1, SETS * EACH / 8 + 8);
    d.n = SETS * EACH;
    for (uint64_t i = 0; i < d.n; i++)
        w->counts[i] = w->groups[i];
    d.which = w->counts;
    d.values = w->members;
    d.hit = hit;
    cohort_status s = cohort_sets_look(w->sets, &d);
    for (uint64_t i = 0; !s && i < d.n; i++)
        REQUIRE(t, hit[i / 8] >> i % 8 & 1);
    free(hit);
    return s;
}

static cohort_status containing_once(void *world)
{
    struct world *w = world;
    struct test *t = w->ending.t;
    cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT;
    uint64_t *counts = malloc(8 * SETS);
    d.n = SETS;
    d.values = w->members;
    d.counts = counts;
    cohort_status s = cohort_sets_containing(w->sets, &d);
    for (uint64_t i = 0; !s && i < d.n; i++)
        REQUIRE(t, counts[i] >= 1 && counts[i] <= SETS);
    free(counts);
    return s;
}

/* The members of one set more, into a set that has those of another. */
static cohort_status update_once(void *world)
{
    struct world *w = world;
    struct test *t = w->ending.t;
    cohort_set_options options = COHORT_SET_OPTIONS_INIT;
    cohort_set_info info = COHORT_SET_INFO_INIT;
    cohort_sets_source from = COHORT_SETS_SOURCE_INIT;
    uint64_t stop = ending_pause(&w->ending);
    options.limit = (uint64_t)LIMIT * 64;
    OK(t, cohort_set_create(w->ending.context, &options, &w->set));
    from.n = EACH;
    from.members = w->members;
    OK(t, cohort_set_update(w->set, COHORT_SET_ADD, &from));
    OK(t, cohort_set_get_info(w->set, &info));
    uint64_t had = info.members;
    from.n = SETS * EACH;
    ending_go(&w->ending, stop);
    cohort_status s = cohort_set_update(w->set, COHORT_SET_ADD, &from);
    w->ending.stop = 0;
    OK(t, cohort_set_get_info(w->set, &info));
    CHECK(t, s ? info.members == had : info.members > had);
    cohort_set_destroy(w->set);
    w->set = NULL;
    return s;
}

static void sets(struct test *t)
{
    static cohort_status (*const works[])(void *) = {build_once, count_once,      make_once,
                                                     look_once,  containing_once, update_once};
    for (uint64_t i = 0; i < 12; i++) {
        struct world w;
        if (!test_drawn(t, i, 4))
            continue;
        world_open(&w, t, 1 + i % 2 * 2);
        end_everywhere(&w.ending, &w, works[i / 2]);
        world_close(&w);
    }
}

const struct test_case test_cases[] = {
    {"sets", sets, TEST_ON_CPU},
    {NULL, NULL, 0},
};
