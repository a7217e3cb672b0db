/* test_fork_calls.c: a context that a fork has made useless. A child that was forked while a call was under
 * way has a copy of the context that cannot be used (test_fork.c), and every call says so before it looks at
 * anything else. Here the context is marked as such a copy, for as long as the calls are made: each call that
 * takes a context or an object and gives a status, in the order of the headers, with arguments that it would
 * refuse. Those on contexts, maps and multimaps that test_fork.c does are not here. */
#include "test.h"
#include "backend/context.h"

struct things {
    cohort_map *map;
    cohort_multimap *multimap;
    cohort_sets *sets;
    cohort_set *set;
    cohort_frame *frame;
    cohort_group *group;
    cohort_join *join;
    cohort_matches *matches;
    cohort_factor *factor;
    cohort_kmers *kmers;
};

/* One object of each type. */
static void make(struct test *t, struct things *x)
{
    static const uint32_t values[] = {3, 1, 4, 1, 5};
    static const char *const key[] = {"a"};
    const cohort_array array = {"a", COHORT_U32, 0, values, NULL};
    cohort_context *c = t->context;
    cohort_map_options map = COHORT_MAP_OPTIONS_INIT;
    cohort_multimap_options multimap = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_sets_source sets = COHORT_SETS_SOURCE_INIT;
    cohort_set_options set = COHORT_SET_OPTIONS_INIT;
    cohort_group_options group = COHORT_GROUP_OPTIONS_INIT;
    cohort_kmers_options kmers = COHORT_KMERS_OPTIONS_INIT;
    sets.n = 5;
    sets.members = values;
    map.capacity = 1;
    set.limit = 100;
    group.keys = 1;
    group.key = key;
    OK(t, cohort_map_create(c, &map, &x->map));
    OK(t, cohort_multimap_build(c, &multimap, 0, NULL, NULL, NULL, &x->multimap));
    OK(t, cohort_sets_build(c, &sets, &x->sets));
    OK(t, cohort_set_create(c, &set, &x->set));
    OK(t, cohort_frame_create(c, 5, 1, &array, &x->frame));
    OK(t, cohort_group_create(c, &group, &x->group));
    OK(t, cohort_join_build(x->frame, NULL, &x->join));
    OK(t, cohort_join_probe(x->join, x->frame, NULL, &x->matches));
    OK(t, cohort_factor_create(c, 1, NULL, &x->factor));
    OK(t, cohort_kmers_create(c, &kmers, &x->kmers));
}

static void unmake(const struct things *x)
{
    cohort_kmers_destroy(x->kmers);
    cohort_factor_destroy(x->factor);
    cohort_matches_destroy(x->matches);
    cohort_join_destroy(x->join);
    cohort_group_destroy(x->group);
    cohort_frame_release(x->frame);
    cohort_set_destroy(x->set);
    cohort_sets_destroy(x->sets);
    cohort_multimap_destroy(x->multimap);
    cohort_map_destroy(x->map);
}

#define REFUSED(call) FAILS(t, t->context, call, COHORT_UNSUPPORTED, "forked", NULL)

static void tables(struct test *t, const struct things *x)
{
    cohort_context *c = t->context;
    REFUSED(cohort_group_create(c, NULL, NULL));
    REFUSED(cohort_group_add(x->group, NULL));
    REFUSED(cohort_group_merge(x->group, NULL));
    REFUSED(cohort_group_finish(x->group, 9, NULL));
    REFUSED(cohort_group_partial(x->group, NULL));
    REFUSED(cohort_group_merge_partial(x->group, NULL));
    REFUSED(cohort_join_build(x->frame, NULL, NULL));
    REFUSED(cohort_join_probe(x->join, x->frame, NULL, NULL));
    REFUSED(cohort_join_pairs(x->matches, NULL));
    REFUSED(cohort_join_finish(x->join, NULL));
    REFUSED(cohort_factor_create(c, 0, NULL, NULL));
    REFUSED(cohort_factor_add(x->factor, NULL, NULL));
    REFUSED(cohort_factor_find(x->factor, NULL, NULL));
    REFUSED(cohort_factorize(x->frame, NULL, NULL, NULL));
    REFUSED(cohort_unique(x->frame, 9, NULL));
    REFUSED(cohort_value_counts(x->frame, 9, NULL));
    REFUSED(cohort_index_in(x->frame, NULL, NULL, 0, NULL));
    REFUSED(cohort_is_in(x->frame, NULL, NULL, NULL));
}

static void frames(struct test *t, const struct things *x)
{
    cohort_context *c = t->context;
    REFUSED(cohort_frame_import(c, NULL, NULL, NULL));
    REFUSED(cohort_frame_import_stream(c, NULL, NULL));
    REFUSED(cohort_frame_import_device(c, NULL, NULL, NULL));
    REFUSED(cohort_frame_import_device_stream(c, NULL, NULL));
    REFUSED(cohort_frame_create(c, 1, 1, NULL, NULL));
    REFUSED(cohort_frame_get_column(x->frame, 9, NULL));
    REFUSED(cohort_frame_find(x->frame, NULL, NULL));
    REFUSED(cohort_frame_select(x->frame, 1, NULL, NULL, NULL));
    REFUSED(cohort_frame_pick(x->frame, 1, NULL, NULL));
    REFUSED(cohort_frame_slice(x->frame, 9, 9, NULL));
    REFUSED(cohort_frame_beside(x->frame, NULL, NULL, NULL));
    REFUSED(cohort_gather(x->frame, 1, 0, NULL, NULL));
    REFUSED(cohort_frame_export(x->frame, NULL, NULL));
    REFUSED(cohort_frame_export_stream(x->frame, NULL));
    REFUSED(cohort_frame_export_device(x->frame, NULL, NULL));
}

static void sets(struct test *t, const struct things *x)
{
    cohort_context *c = t->context;
    REFUSED(cohort_sets_build(c, NULL, NULL));
    REFUSED(cohort_sets_export(x->sets, NULL));
    REFUSED(cohort_sets_get_info(x->sets, NULL));
    REFUSED(cohort_sets_get_view(x->sets, NULL));
    REFUSED(cohort_sets_save(x->sets, NULL));
    REFUSED(cohort_sets_load(c, NULL, NULL));
    REFUSED(cohort_sets_save_to(x->sets, NULL));
    REFUSED(cohort_sets_load_from(c, NULL, NULL));
    REFUSED(cohort_sets_map(c, NULL, 9, NULL));
    REFUSED(cohort_sets_query(c, NULL));
    REFUSED(cohort_sets_look(x->sets, NULL));
    REFUSED(cohort_sets_containing(x->sets, NULL));
    REFUSED(cohort_sets_reader(x->sets, c, NULL));
    REFUSED(cohort_set_create(c, NULL, NULL));
    REFUSED(cohort_set_get_info(x->set, NULL));
    REFUSED(cohort_set_update(x->set, COHORT_SET_ADD, NULL));
    REFUSED(cohort_set_clear(x->set));
    REFUSED(cohort_set_copy(x->set, NULL));
    REFUSED(cohort_set_export(x->set, NULL));
    REFUSED(cohort_set_contains(x->set, 1, NULL, NULL));
    REFUSED(cohort_set_get_view(x->set, NULL));
}

static void others(struct test *t, const struct things *x)
{
    cohort_context *c = t->context;
    REFUSED(cohort_kmers_create(c, NULL, NULL));
    REFUSED(cohort_kmers_begin(x->kmers, NULL));
    REFUSED(cohort_kmers_feed(x->kmers, NULL, 1));
    REFUSED(cohort_kmers_end(x->kmers));
    REFUSED(cohort_map_reader(x->map, c, NULL));
    REFUSED(cohort_map_save_table(x->map, NULL));
    REFUSED(cohort_map_map(c, NULL, NULL));
    REFUSED(cohort_map_save_to(x->map, NULL));
    REFUSED(cohort_multimap_insert(x->multimap, 1, NULL, NULL, NULL));
    REFUSED(cohort_multimap_get_view(x->multimap, NULL));
    REFUSED(cohort_multimap_reader(x->multimap, c, NULL));
    REFUSED(cohort_multimap_save_table(x->multimap, NULL));
    REFUSED(cohort_multimap_map(c, NULL, NULL));
    REFUSED(cohort_multimap_save_to(x->multimap, NULL));
    REFUSED(cohort_runs(c, NULL));
    REFUSED(cohort_runs_workspace(c, NULL, NULL));
}

static void every_call(struct test *t)
{
    struct things x = {0};
    uint64_t size = 1;
    make(t, &x);
    t->context->origin = CONTEXT_LOST;
    tables(t, &x);
    frames(t, &x);
    sets(t, &x);
    others(t, &x);
    t->context->origin = CONTEXT_OURS;
    OK(t, cohort_map_size(x.map, &size)); /* none of them counts as under way any more */
    EQUAL(t, size, 0);
    EQUAL(t, t->context->calls % (CONTEXT_CALL - 1), 0);
    unmake(&x);
}

/* A child's own context does not read a map that a call may have left half changed. */
static void readers(struct test *t)
{
    struct things x = {0};
    cohort_context_options options = test_context_options(t);
    cohort_context *other = NULL;
    cohort_map *map = NULL;
    cohort_multimap *multimap = NULL;
    cohort_sets *sets = NULL;
    make(t, &x);
    OK(t, cohort_context_create(&options, &other));
    t->context->origin = CONTEXT_LOST;
    FAILS(t, other, cohort_map_reader(x.map, other, &map), COHORT_UNSUPPORTED, "cohort_map_reader", "forked");
    FAILS(t, other, cohort_multimap_reader(x.multimap, other, &multimap), COHORT_UNSUPPORTED,
          "cohort_multimap_reader", "forked");
    FAILS(t, other, cohort_sets_reader(x.sets, other, &sets), COHORT_UNSUPPORTED, "cohort_sets_reader",
          "forked");
    CHECK(t, !map && !multimap && !sets);
    t->context->origin = CONTEXT_OURS;
    EQUAL(t, t->context->calls % (CONTEXT_CALL - 1), 0);
    REQUIRE(t, !cohort_map_reader(x.map, other, &map));
    cohort_map_destroy(map);
    cohort_context_destroy(other);
    unmake(&x);
}

const struct test_case test_cases[] = {
    {"every call", every_call, 0}, {"readers", readers, 0}, {NULL, NULL, 0}};
