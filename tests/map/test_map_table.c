/* test_map_table.c: what concerns a map's table: growth, shrinking, erased slots, copies, merging, export,
 * probing, statistics, seeds. Every case looks into the table itself too (subject_check_table). */
#include "subject.h"

#include "cohort/device/map.h"

static cohort_map_stats stats_of(struct subject *s)
{
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    OK(s->t, cohort_map_get_stats(s->map, &stats));
    return stats;
}

static uint64_t capacity_of(struct subject *s)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    OK(s->t, cohort_map_get_options(s->map, &options));
    return options.capacity;
}

static void *slots_of(struct subject *s)
{
    cohort_map_view view;
    OK(s->t, cohort_map_get_view(s->map, &view));
    return view.slots;
}

/* Slots of one page of the width under test. */
static uint64_t page_slots(const struct test *t)
{
    const uint64_t bytes[] = {0, 4, 8, 8, 16, 16, 24};
    return 65536 / bytes[t->width];
}

/* Erases keys first .. first + n - 1. */
static void take_away(struct subject *s, uint64_t first, uint64_t n)
{
    struct column *mark = s->t->columns;
    struct trial r = subject_trial(s, TRIAL_ERASE, n);
    for (uint64_t i = 0; i < n; i++)
        column_put(r.keys, i, first + i);
    subject_do(s, &r);
    column_drop(s->t, mark);
}

/* ---- growth -------------------------------------------------------------------------------------------- */

static void grows_from_one(struct test *t)
{
    const double loads[] = {0, 0.5, 0.93, 1};
    for (int i = 0; i < 4; i++) {
        cohort_map_options options = subject_options(t);
        options.max_load = loads[i];
        struct subject s = subject_new(t, &options);
        CHECK(t, capacity_of(&s) >= 1);
        uint64_t most = test_size(t, 3 * page_slots(t), 1500);
        for (uint64_t n = 1, first = 0; first < most; first += n, n = n * 3 / 2 + 1) {
            subject_fill(&s, first, n);
            CHECK(t, capacity_of(&s) >= oracle_size(s.oracle));
            CHECKF(t, stats_of(&s).load <= (loads[i] ? loads[i] : 0.8) + 1e-12 || oracle_size(s.oracle) < 4,
                   "load %g", stats_of(&s).load);
        }
        subject_check_table(&s);
        subject_free(&s);
    }
}

/* A batch of `each` entries for each of the keys first .. first + n - 1, over and over. */
static void put_often(struct subject *s, enum trial_kind kind, cohort_winner winner, uint64_t first,
                      uint64_t n, uint64_t each)
{
    struct column *mark = s->t->columns;
    struct trial r = subject_trial(s, kind, n * each);
    r.winner = winner;
    r.op = COHORT_OP_COUNT;
    for (uint64_t i = 0; i < n * each; i++) {
        column_put(r.keys, i, first + i % n);
        if (r.ops)
            column_put(r.ops, i, COHORT_OP_INSERT);
    }
    if (r.values)
        fill_values(s->t, r.values);
    subject_do(s, &r);
    column_drop(s->t, mark);
}

/* A map with room for all its keys never grows, however many entries a batch has; one key more, and it
 * does. */
static void keeps_to_capacity(struct test *t)
{
    const enum trial_kind kinds[] = {TRIAL_INSERT, TRIAL_ASSIGN, TRIAL_INSERT_AND_FIND, TRIAL_RUN,
                                     TRIAL_APPLY};
    const double loads[] = {0, 0.5, 0.93, 1};
    uint64_t count = value_bytes(t->width) ? 5 : 4, all = test_size(t, count * (t->quick ? 1 : 4), 3);
    for (uint64_t i = 0; i < all; i++) {
        enum trial_kind kind = subject_kind(t, kinds[t->kind == TEST_SIM ? test_below(t, count) : i % count]);
        cohort_winner winner = kind == TRIAL_INSERT || kind == TRIAL_ASSIGN || kind == TRIAL_INSERT_AND_FIND
                                   ? (cohort_winner)test_below(t, 3)
                                   : COHORT_WINNER_ANY;
        cohort_map_options options = subject_options(t);
        options.max_load =
            loads[test_below(t, t->layout ? 2 : 4)]; /* LINES fill to 0.9 only from 2^16 slots on */
        options.capacity = 1 + test_below(t, test_size(t, 2 * page_slots(t), 300));
        struct subject s = subject_new(t, &options);
        uint64_t n = capacity_of(&s), slots = stats_of(&s).slots, half = n / 2;
        put_often(&s, kind, winner, 0, half ? half : 1, 1 + test_below(t, 5));
        put_often(&s, kind, winner, 0, n, 1 + test_below(t, 4));
        put_often(&s, kind, winner, 0, n, 2);
        EQUAL(t, stats_of(&s).slots, slots);
        put_often(&s, kind, winner, 0, n + 1, 1);
        CHECKF(t, options.max_load == 1 || stats_of(&s).slots > slots, "%llu keys, %llu slots at load %g",
               (unsigned long long)n + 1, (unsigned long long)slots, options.max_load);
        CHECK(t, capacity_of(&s) >= n + 1);
        subject_check_table(&s);
        subject_free(&s);
    }
}

/* A hundred pairs come and go; what is erased does not pile up. */
static void purges_erased(struct test *t)
{
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    uint64_t erased_most = 0;
    for (uint64_t round = 0; round < test_size(t, 60, 25); round++) {
        subject_fill(&s, round * 100, 100);
        if (round)
            take_away(&s, (round - 1) * 100, 100);
        cohort_map_stats stats = stats_of(&s);
        EQUAL(t, stats.pairs, 100);
        CHECKF(t, stats.slots <= 2048, "%llu slots for 100 to 200 pairs", (unsigned long long)stats.slots);
        erased_most = stats.erased > erased_most ? stats.erased : erased_most;
    }
    CHECK(t, erased_most >= 100);
    subject_check_table(&s);
    subject_free(&s);
}

static void reserves(struct test *t)
{
    uint64_t n = test_size(t, 5000, 700);
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    subject_fill(&s, 0, 40);
    take_away(&s, 0, 10);
    OK(t, cohort_map_reserve(s.map, n));
    subject_observe(&s);
    CHECK(t, capacity_of(&s) >= n);
    void *slots = slots_of(&s);
    subject_fill(&s, 1000, n - 30);
    CHECK(t, slots_of(&s) == slots);
    uint64_t capacity = capacity_of(&s);
    OK(t, cohort_map_reserve(s.map, 1));
    OK(t, cohort_map_reserve(s.map, 0));
    EQUAL(t, capacity_of(&s), capacity);
    if (!t->layout) { /* slots of erased keys are none that it could take */
        take_away(&s, 1000, n - 30);
        OK(t, cohort_map_reserve(s.map, capacity));
        slots = slots_of(&s);
        subject_fill(&s, 1000000, capacity - 30);
        CHECK(t, slots_of(&s) == slots);
    }
    subject_check_table(&s);
    subject_free(&s);

    options.fixed = 1;
    options.capacity = 100;
    s = subject_new(t, &options);
    subject_fill(&s, 0, 50);
    OK(t, cohort_map_reserve(s.map, capacity_of(&s)));
    slots = slots_of(&s);
    FAILS(t, t->context, cohort_map_reserve(s.map, 1000000), COHORT_UNSUPPORTED, "capacity", "1000000");
    CHECK(t, slots_of(&s) == slots);
    subject_observe(&s);
    subject_free(&s);
}

static void rehashes(struct test *t)
{
    for (int fixed = 0; fixed <= 1; fixed++) {
        uint64_t n = test_size(t, 5000, 700);
        cohort_map_options options = subject_options(t);
        options.fixed = (uint32_t)fixed;
        options.capacity = n;
        struct subject s = subject_new(t, &options);
        subject_fill(&s, 5, n);
        take_away(&s, 20, n - 100);
        uint64_t slots = stats_of(&s).slots;
        EQUAL(t, stats_of(&s).erased, t->layout ? 0 : n - 100);
        OK(t, cohort_map_rehash(s.map, 0));
        subject_observe(&s);
        subject_check_table(&s);
        EQUAL(t, stats_of(&s).erased, 0);
        CHECK(t, stats_of(&s).slots < slots / 2);
        CHECK(t, capacity_of(&s) >= 100);
        OK(t, cohort_map_rehash(s.map, 2 * n));
        CHECK(t, capacity_of(&s) >= 2 * n);
        subject_observe(&s);
        subject_fill(&s, 100000, 2 * n - 100);
        subject_check_table(&s);
        OK(t, cohort_map_clear(s.map));
        oracle_clear(s.oracle);
        OK(t, cohort_map_rehash(s.map, 0));
        CHECK(t, stats_of(&s).slots <= 64);
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, fixed ? 1 : 50, RANDOM, 50);
        subject_free(&s);
    }
}

static void clears(struct test *t)
{
    for (int fixed = 0; fixed <= 1; fixed++) {
        cohort_map_options options = subject_options(t);
        options.fixed = (uint32_t)fixed;
        options.capacity = 900;
        struct subject s = subject_new(t, &options);
        for (int round = 0; round < 3; round++) {
            subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_LAST, 700, RANDOM, 600);
            subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_FIRST, 20, EDGES, 600);
            subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, 200, RANDOM, 600);
            void *slots = slots_of(&s);
            OK(t, cohort_map_clear(s.map));
            oracle_clear(s.oracle);
            CHECK(t, slots_of(&s) == slots);
            subject_observe(&s);
            subject_check_table(&s);
            subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, 300, RANDOM, 600);
            EQUAL(t, stats_of(&s).erased, 0);
        }
        subject_free(&s);
    }
}

/* ---- copies, merging, export --------------------------------------------------------------------------- */

static void copies(struct test *t)
{
    for (int fixed = 0; fixed <= 1; fixed++) {
        cohort_map_options options = subject_options(t), had = COHORT_MAP_OPTIONS_INIT,
                           has = COHORT_MAP_OPTIONS_INIT;
        cohort_map *made;
        options.fixed = (uint32_t)fixed;
        options.capacity = 1500;
        options.seed = 12345;
        options.max_load = 0.7;
        options.probe = subject_probe(t, COHORT_PROBE_LINEAR);
        struct subject s = subject_new(t, &options);
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 800, RANDOM, 700);
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 16, EDGES, 1);
        subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, 300, RANDOM, 700);
        OK(t, cohort_map_clone(s.map, &made));
        struct subject copy = subject_of(t, made, oracle_copy(s.oracle));
        subject_observe(&copy);
        subject_check_table(&copy);
        OK(t, cohort_map_get_options(s.map, &had));
        OK(t, cohort_map_get_options(copy.map, &has));
        CHECK(t, has.width == had.width && has.layout == had.layout && has.probe == had.probe &&
                     has.seed == had.seed && has.fixed == had.fixed && has.max_load == had.max_load &&
                     has.group == had.group);
        subject_step(&copy, TRIAL_ASSIGN, 0, COHORT_WINNER_ANY, 500, RANDOM, 700);
        subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, 300, RANDOM, 700);
        subject_observe(&copy);
        subject_observe(&s);
        subject_free(&s);
        subject_step(&copy, TRIAL_FIND, 0, COHORT_WINNER_ANY, 500, RANDOM, 700);
        subject_free(&copy);
    }
}

static void merge_by(struct test *t, cohort_op rule, int fixed)
{
    cohort_map_options options = subject_options(t);
    struct subject from = subject_new(t, &options);
    options.fixed = (uint32_t)fixed;
    options.capacity = fixed ? 2000 : 1;
    options.seed = 99;
    options.probe = subject_probe(t, COHORT_PROBE_LINEAR);
    struct subject to = subject_new(t, &options);
    subject_step(&from, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 500, RANDOM, 600);
    subject_step(&from, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 10, EDGES, 1);
    subject_step(&from, TRIAL_ERASE, 0, COHORT_WINNER_ANY, 100, RANDOM, 600);
    subject_step(&to, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 300, RANDOM, 600);
    subject_step(&to, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 10, EDGES, 1);
    OK(t, cohort_map_merge(to.map, from.map, rule));
    uint64_t cursor = 0, key, value, old;
    while (oracle_next(from.oracle, &cursor, &key, &value))
        oracle_put(to.oracle, key,
                   oracle_get(to.oracle, key, &old) ? oracle_combine(t->width, rule, old, value)
                                                    : oracle_first(t->width, rule, value));
    subject_observe(&to);
    subject_observe(&from);
    subject_check_table(&to);
    subject_free(&from);
    subject_free(&to);
}

static void merges(struct test *t)
{
    for (cohort_op rule = COHORT_OP_INSERT; rule <= COHORT_OP_EXCHANGE; rule++) {
        if (rule == COHORT_OP_ERASE || (rule >= COHORT_OP_ADD && !value_bytes(t->width)))
            continue;
        merge_by(t, rule, 0);
        merge_by(t, rule, 1);
    }
}

/* Into a fixed map with too little room: COHORT_FULL, all that was in still is, and nothing but pairs of
 * either. */
static void merges_into_full(struct test *t)
{
    cohort_map_options options = subject_options(t);
    struct subject from = subject_new(t, &options);
    options.fixed = 1;
    options.max_load = 1;
    options.capacity = 128;
    struct subject to = subject_new(t, &options);
    uint64_t slots = stats_of(&to).slots;
    subject_fill(&from, 1000, slots);
    subject_fill(&to, 0, slots / 2);
    STATUS(t, cohort_map_merge(to.map, from.map, COHORT_OP_INSERT), COHORT_FULL);
    OK(t, cohort_wait(t->context));
    for (uint64_t i = 0; i < slots; i++) { /* any half of them */
        uint64_t value = test_mix(1000 + i);
        oracle_choices(to.oracle, 1000 + i, 1, &value, 1);
    }
    subject_observe(&to);
    if (t->layout) /* which may refuse a key before the last slot is taken */
        CHECKF(t, oracle_size(to.oracle) > slots / 2 && oracle_size(to.oracle) <= slots,
               "%llu keys in %llu slots", (unsigned long long)oracle_size(to.oracle),
               (unsigned long long)slots);
    else
        EQUAL(t, oracle_size(to.oracle), slots);
    subject_check_table(&to);
    subject_observe(&from);
    subject_free(&from);
    subject_free(&to);
}

static void exports(struct test *t)
{
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    uint64_t count = 77, n = test_size(t, 3000, 300);
    OK(t, cohort_map_export(s.map, 0, NULL, NULL, &count));
    EQUAL(t, count, 0);
    subject_fill(&s, 0, n);
    struct column *keys = column_new(t, n + 9, key_bytes(t->width)),
                  *untouched = column_new(t, n + 9, key_bytes(t->width));
    struct column *values = value_bytes(t->width) ? column_new(t, n + 9, value_bytes(t->width)) : NULL;
    char message[300] = "";

    FAILS(t, t->context, cohort_map_export(s.map, n - 1, column_send(keys), column_pointer(values), &count),
          COHORT_FULL, "capacity", NULL);
    EQUAL(t, count, n);
    column_fetch(keys);
    CHECK(t, !memcmp(keys->data, untouched->data, keys->count * keys->width));

    OK(t, cohort_map_export(s.map, n + 9, column_send(keys), NULL, &count)); /* keys alone */
    column_fetch(keys);
    EQUAL(t, count, n);
    for (uint64_t i = 0; i < n; i++)
        CHECK(t, oracle_get(s.oracle, column_get(keys, i), NULL));
    CHECK(t, !memcmp((char *)keys->data + n * keys->width, untouched->data, 9 * keys->width));

    OK(t, cohort_map_export(s.map, n + 9, column_send(keys), column_pointer(values), &count));
    column_fetch(keys);
    if (values)
        column_fetch(values);
    CHECKF(t, oracle_observe(s.oracle, count, keys, values, message), "%s", message);
    subject_free(&s);
}

/* ---- probing ------------------------------------------------------------------------------------------- */

/* A map of a page or more, filled to a load, then half erased and filled again, looked into at each step. */
static void fill_and_look(struct test *t, cohort_probe probe, double load, uint32_t group)
{
    cohort_map_options options = subject_options(t);
    options.probe = subject_probe(t, probe);
    options.group = t->layout ? 0 : group;
    options.max_load = load;
    options.fixed = (uint32_t)test_below(t, 2);
    options.capacity = (uint64_t)((double)test_size(t, 3 * page_slots(t) - 100, 1024) * load);
    struct subject s = subject_new(t, &options);
    s.blind = 1;
    subject_fill(&s, 3, options.capacity);
    subject_check_table(&s);
    subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, 500, SEQUENTIAL, 2 * options.capacity);
    subject_step(&s, TRIAL_CONTAINS, 0, COHORT_WINNER_ANY, 500, RANDOM, 2 * options.capacity);
    take_away(&s, 3, options.capacity / 2);
    subject_check_table(&s);
    subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, 500, SEQUENTIAL, 2 * options.capacity);
    if (!options.fixed)
        subject_fill(&s, 1000000, options.capacity / 2);
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
}

static void probes(struct test *t)
{
    const double loads[] = {0.5, 0.8, 0.95};
    for (int i = 0; i < 3; i++) {
        fill_and_look(t, COHORT_PROBE_DOUBLE, loads[i], 0);
        fill_and_look(t, COHORT_PROBE_LINEAR, loads[i], 1);
    }
}

static void groups(struct test *t)
{
    const enum trial_kind kinds[] = {TRIAL_INSERT, TRIAL_FIND,   TRIAL_CONTAINS,
                                     TRIAL_ERASE,  TRIAL_ASSIGN, TRIAL_INSERT_AND_FIND};
    t->width = COHORT_WIDTH_32_32;
    for (uint32_t group = 2; group <= 32; group *= 2) {
        cohort_map_options options = subject_options(t);
        options.group = group;
        options.probe = COHORT_PROBE_LINEAR;
        if (t->kind == TEST_CPU) {
            cohort_map *map;
            FAILS(t, t->context, cohort_map_create(t->context, &options, &map), COHORT_UNSUPPORTED, "group",
                  NULL);
            continue;
        }
        struct subject s = subject_new(t, &options);
        for (int i = 0; i < 24; i++)
            subject_step(&s, kinds[i % 6], 0, COHORT_WINNER_ANY, test_below(t, 300),
                         (enum pattern)test_below(t, PATTERNS), 400);
        subject_check_table(&s);
        subject_free(&s);
        fill_and_look(t, COHORT_PROBE_LINEAR, 0.9, group);
    }
}

/* ---- seeds --------------------------------------------------------------------------------------------- */

/* A map of keys put in one after the other, so that nothing is left to chance. */
static cohort_map_stats one_by_one(struct test *t, uint64_t seed)
{
    cohort_map_options options = subject_options(t), has = COHORT_MAP_OPTIONS_INIT;
    options.capacity = 200;
    options.seed = seed;
    struct subject s = subject_new(t, &options);
    s.blind = 1;
    for (uint64_t i = 0; i < 200; i++)
        subject_fill(&s, i * 3, 1);
    subject_observe(&s);
    subject_check_table(&s);
    cohort_map_stats stats = stats_of(&s);
    OK(t, cohort_map_get_options(s.map, &has));
    EQUAL(t, has.seed, stats.seed);
    subject_free(&s);
    return stats;
}

static void seeds(struct test *t)
{
    cohort_map_stats a = one_by_one(t, 0), b = one_by_one(t, 0), c = one_by_one(t, 4711);
    cohort_map_stats d = one_by_one(t, COHORT_SEED_RANDOM), e = one_by_one(t, COHORT_SEED_RANDOM);
    EQUAL(t, a.seed, b.seed);
    CHECK(t, !memcmp(a.probe_histogram, b.probe_histogram, sizeof a.probe_histogram));
    CHECK(t, a.probe_mean == b.probe_mean && a.slot_mean == b.slot_mean && a.slot_max == b.slot_max);
    EQUAL(t, c.seed, 4711);
    CHECK(t, a.slot_mean != c.slot_mean || a.probe_mean != c.probe_mean || t->layout);
    CHECK(t, d.seed != e.seed && d.seed != a.seed);
}

/* The same batch, whose winners are by input order, on tables of any history. */
static void winners_repeat(struct test *t)
{
    uint64_t n = test_size(t, 20000, 1500), sums[2];
    for (int again = 0; again < 2; again++) {
        cohort_map_options options = subject_options(t);
        options.capacity = again ? n : 1;
        options.seed = again ? 7 : 0;
        struct subject s = subject_new(t, &options);
        struct trial r = subject_trial(&s, TRIAL_ASSIGN, n);
        r.winner = COHORT_WINNER_LAST;
        for (uint64_t i = 0; i < n; i++) {
            column_put(r.keys, i, test_mix(i * i % 1009));
            if (r.values)
                column_put(r.values, i, i);
        }
        subject_do(&s, &r);
        uint64_t cursor = 0, key, value;
        sums[again] = 0;
        while (oracle_next(s.oracle, &cursor, &key, &value))
            sums[again] += test_mix(key ^ test_mix(value));
        subject_free(&s);
    }
    EQUAL(t, sums[0], sums[1]);
}

/* Erased slots and groups of lanes are of pages alone. */
#define PAGES (TEST_EACH_WIDTH | TEST_EACH_MEMORY)
#define ALL   (PAGES | TEST_EACH_LAYOUT)
const struct test_case test_cases[] = {{"grows_from_one", grows_from_one, ALL},
                                       {"keeps_to_capacity", keeps_to_capacity, ALL},
                                       {"purges_erased", purges_erased, PAGES},
                                       {"reserves", reserves, ALL},
                                       {"rehashes", rehashes, ALL},
                                       {"clears", clears, ALL},
                                       {"copies", copies, ALL},
                                       {"merges", merges, ALL},
                                       {"merges_into_full", merges_into_full, ALL},
                                       {"exports", exports, ALL},
                                       {"probes", probes, ALL},
                                       {"groups", groups, TEST_EACH_MEMORY},
                                       {"seeds", seeds, TEST_EACH_WIDTH | TEST_EACH_LAYOUT},
                                       {"winners_repeat", winners_repeat, ALL},
                                       {NULL, NULL, 0}};
