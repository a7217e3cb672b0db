/* test_lines.c: what maps of LINES promise beyond what all maps do: slots of erased keys are free at once,
 * so a fixed table takes any churn; FULL only where it is full; batches of several threads that mix
 * everything; options. What is the same for every layout is in tests/map. */
#include "subject.h"

static cohort_map_stats stats_of(struct subject *s)
{
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    OK(s->t, cohort_map_get_stats(s->map, &stats));
    return stats;
}

static struct subject fixed_map(struct test *t, uint64_t slots, double load)
{
    cohort_map_options options = subject_options(t);
    options.layout = t->layout = COHORT_LAYOUT_LINES;
    options.fixed = 1;
    options.max_load = load;
    options.capacity = (uint64_t)((double)slots * load);
    struct subject s = subject_new(t, &options);
    s.blind = 1;
    return s;
}

/* A batch of keys `first` to first + n - 1, every one of which must be done. */
static void all_of(struct subject *s, enum trial_kind kind, uint64_t first, uint64_t n)
{
    struct test *t = s->t;
    struct column *mark = t->columns;
    struct column *keys = column_new(t, n, key_bytes(s->width)),
                  *values = value_bytes(s->width) ? column_new(t, n, value_bytes(s->width)) : NULL;
    cohort_counts counts = {0};
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.counts = &counts;
    for (uint64_t i = 0; i < n; i++) {
        column_put(keys, i, first + i);
        if (values)
            column_put(values, i, test_mix(first + i));
    }
    if (kind == TRIAL_INSERT)
        OK(t, cohort_map_insert(s->map, n, keys->data, values ? values->data : NULL, &batch));
    else
        OK(t, cohort_map_erase(s->map, n, keys->data, &batch));
    EQUAL(t, kind == TRIAL_INSERT ? counts.added : counts.hits, n);
    for (uint64_t i = 0; i < n; i++)
        if (kind == TRIAL_INSERT)
            oracle_put(s->oracle, first + i, test_mix(first + i) & value_mask(s->width));
        else
            oracle_remove(s->oracle, first + i);
    column_drop(t, mark);
}

/* Rounds of a tenth erased and a tenth put in, at load 0.8. */
static void churn(struct test *t)
{
    const uint64_t slots = test_scale(t, 1 << 11, 1 << 15, test_size(t, 1 << 17, 1 << 15)),
                   pairs = slots * 8 / 10, each = pairs / 10;
    struct subject s = fixed_map(t, slots, 0.8);
    uint64_t first = 0;
    all_of(&s, TRIAL_INSERT, 0, pairs);
    for (int round = 0; round < 400; round++, first += each) {
        all_of(&s, TRIAL_ERASE, first, each);
        all_of(&s, TRIAL_INSERT, first + pairs, each);
        if (round % 100 == 0)
            subject_check_table(&s);
    }
    subject_observe(&s);
    subject_check_table(&s);
    CHECK(t, stats_of(&s).pulled_home > 0);
    CHECK(t, stats_of(&s).probe_mean < 1.6);
    subject_free(&s);
}

/* Keys that spread are never refused below load 0.9 from 2^16 slots on. */
static void fills_up(struct test *t)
{
    const uint64_t most = test_size(t, 1 << 16, test_scale(t, 1 << 12, 1 << 15, 1 << 16));
    const uint64_t slots = most + test_below(t, most / 16), n = slots * 9 / 10;
    struct subject s = fixed_map(t, slots, 1);
    all_of(&s, TRIAL_INSERT, test_random(t) >> 40, n);
    CHECK(t, stats_of(&s).displaced > 0);
    subject_check_table(&s);
    struct trial r = subject_trial(&s, TRIAL_INSERT, slots / 5);
    for (uint64_t i = 0; i < r.n; i++)
        column_put(r.keys, i, (UINT64_C(1) << 31) + i);
    if (r.values)
        fill_values(t, r.values);
    subject_do(&s, &r);
    CHECK(t, r.full >= slots / 10 - slots / 100);
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
}

/* Small tables: of one home, of a window, of one home more. */
static void small(struct test *t)
{
    for (uint64_t slots = 1; slots < 60; slots++) {
        struct subject s = fixed_map(t, slots, 1);
        for (int i = 0; i < 12; i++) {
            subject_step(&s, TRIAL_INSERT, 0, (cohort_winner)test_below(t, 3), slots, RANDOM, slots);
            subject_check_table(&s);
            subject_step(&s, TRIAL_RUN, 0, COHORT_WINNER_ANY, slots, RANDOM, slots);
            subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, slots / 2, RANDOM, slots);
            subject_observe(&s);
            subject_check_table(&s);
        }
        subject_free(&s);
        column_drop(t, NULL);
    }
}

/* Mixed streams long enough for every thread, on a table near its load: histories are judged key by key. */
static void stream(struct test *t)
{
    const uint64_t slots = 1 << 15, n = test_scale(t, 20000, 40000, test_size(t, 200000, 40000));
    struct subject s = fixed_map(t, slots, 0.9);
    for (uint64_t round = 0; round < test_scale(t, 2, 3, test_size(t, 40, 4)); round++) {
        subject_step(&s, TRIAL_RUN, 0, COHORT_WINNER_ANY, n, round % 2 ? RANDOM : SKEWED, slots * 7 / 10);
        subject_observe(&s);
        subject_check_table(&s);
        subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n / 4, RANDOM, slots);
    }
    subject_free(&s);
}

/* Of a small table like this one two threads of a CPU leave the changes to one. So there is a second context,
 * whose three to six threads all change it. */
static void streams(struct test *t)
{
    stream(t);
    if (t->kind != TEST_CPU)
        return;
    cohort_context *first = t->context;
    cohort_context_options options = test_context_options(t);
    options.threads = 3 + test_below(t, 4);
    REQUIRE(t, !cohort_context_create(&options, &t->context));
    stream(t);
    column_drop(t, NULL);
    cohort_context_destroy(t->context);
    t->context = first;
}

static void create_fails(struct test *t, const cohort_map_options *options, cohort_status status,
                         const char *word, const char *value)
{
    cohort_map *map;
    FAILS(t, t->context, cohort_map_create(t->context, options, &map), status, word, value);
    CHECK(t, !map);
}

static void options(struct test *t)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT, good = o, has = o;
    cohort_map *map;
    good.capacity = 100;
    good.layout = COHORT_LAYOUT_LINES;
    o = good;
    o.layout = (cohort_layout)2;
    create_fails(t, &o, COHORT_RANGE, "options.layout", "2");
    o = good;
    o.reserved = 7;
    create_fails(t, &o, COHORT_RANGE, "options.reserved", "7");
    o = good;
    o.probe = COHORT_PROBE_LINEAR;
    create_fails(t, &o, COHORT_UNSUPPORTED, "options.probe", "1");
    for (uint32_t group = 1; group <= 32; group *= 2) {
        char text[8];
        snprintf(text, sizeof text, "%u", group);
        o = good;
        o.group = group;
        o.width = COHORT_WIDTH_32_32;
        create_fails(t, &o, COHORT_UNSUPPORTED, "options.group", group == 1 ? text : NULL);
    }
    OK(t, cohort_map_create(t->context, &good, &map));
    OK(t, cohort_map_get_options(map, &has));
    EQUAL(t, has.layout, COHORT_LAYOUT_LINES);
    cohort_map_destroy(map);
    o = good;
    o.capacity = UINT64_C(0xffffffff) * 3 + 1;
    create_fails(t, &o, COHORT_OVERFLOW, "capacity", NULL);
}

/* A caller who does not know of layouts gets pages. */
static void old_callers(struct test *t)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT, has = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map;
    o.size = offsetof(cohort_map_options, layout);
    o.capacity = 10;
    o.layout = (cohort_layout)77;
    OK(t, cohort_map_create(t->context, &o, &map));
    OK(t, cohort_map_get_options(map, &has));
    EQUAL(t, has.layout, COHORT_LAYOUT_PAGES);
    cohort_map_destroy(map);
}

enum { HERE = TEST_EACH_WIDTH | TEST_OF_LINES };

const struct test_case test_cases[] = {{"churn", churn, HERE},  {"fills_up", fills_up, HERE},
                                       {"small", small, HERE},  {"streams", streams, HERE},
                                       {"options", options, 0}, {"old_callers", old_callers, 0},
                                       {NULL, NULL, 0}};
