/* test_map_cpu.c: what only the CPU's loops have: one form for each kind of processor, a list of entries that
 * are left over, one thread alone or several that meet in one bucket. Contexts here ask by COHORT_CPU for
 * every form that this processor can do. */
#include <stdlib.h>

#include "subject.h"

static const char *const levels[] = {"plain", "avx2", "avx512"};

/* A context of the case's own, put in the place of the runner's. */
static void open_level(struct test *t, const char *level, uint64_t threads)
{
    cohort_context_options options = test_context_options(t);
    options.threads = threads;
    setenv("COHORT_CPU", level, 1);
    cohort_status status = cohort_context_create(&options, &t->context);
    unsetenv("COHORT_CPU");
    REQUIREF(t, !status, "cohort_context_create: %s", cohort_message(NULL));
}

static void close_level(struct test *t)
{
    column_drop(t, NULL);
    cohort_context_destroy(t->context);
    t->context = NULL;
}

static void each_level(struct test *t, uint64_t threads, void (*run)(struct test *))
{
    for (int i = 0; i < 3; i++) {
        open_level(t, levels[i], threads);
        run(t);
        close_level(t);
    }
}

/* A fixed map of some load, near or far beyond a cache's size, filled. */
static struct subject filled(struct test *t, uint64_t pairs, double load, cohort_probe probe)
{
    cohort_map_options options = subject_options(t);
    options.capacity = pairs;
    options.fixed = 1;
    options.max_load = load;
    options.probe = probe;
    struct subject s = subject_new(t, &options);
    subject_fill(&s, 0, pairs);
    return s;
}

static void every_operation(struct subject *s, uint64_t n, uint64_t range)
{
    struct test *t = s->t;
    enum pattern pattern = (enum pattern)test_below(t, PATTERNS);
    cohort_op op = (cohort_op)(COHORT_OP_ADD + test_below(t, COHORT_OP_COUNT - COHORT_OP_ADD + 1));
    subject_step(s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * range);
    subject_step(s, TRIAL_CONTAINS, 0, COHORT_WINNER_ANY, n, pattern, 2 * range);
    subject_step(s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 4, RANDOM, range);
    subject_step(s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n / 8, pattern, range);
    subject_step(s, TRIAL_ASSIGN, 0, COHORT_WINNER_ANY, n / 8, pattern, range);
    subject_step(s, TRIAL_INSERT_AND_FIND, 0, COHORT_WINNER_ANY, n / 8, pattern, range);
    subject_step(s, TRIAL_INSERT, 0, COHORT_WINNER_LAST, n / 8, pattern, range);
    subject_step(s, TRIAL_RUN, 0, COHORT_WINNER_ANY, n / 8, pattern, range);
    if (value_bytes(t->width))
        subject_step(s, TRIAL_APPLY, op, COHORT_WINNER_ANY, n / 8, pattern, range);
    subject_step(s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, pattern, 2 * range);
    subject_check_table(s);
}

/* Walks of all lengths: hardly any beyond the first bucket, many, and, in full tables, through all pages. */
static void walks(struct test *t)
{
    const double loads[] = {0.4, 0.8, 0.97, 1};
    for (int i = 0; i < 4; i++)
        for (cohort_probe probe = COHORT_PROBE_DOUBLE; probe <= COHORT_PROBE_LINEAR; probe++) {
            uint64_t pairs = i == 3 ? 1500 : test_scale(t, 9000, 20000, 100000);
            struct subject s = filled(t, pairs, loads[i], probe);
            s.blind = 1; /* nothing changes */
            for (uint64_t n = 1; n < 140; n += 1 + test_below(t, 40))
                subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * pairs);
            s.blind = 0;
            every_operation(&s, pairs / 2 + test_below(t, 33), pairs);
            subject_free(&s);
        }
}

static void walks_alone(struct test *t)
{
    each_level(t, 1, walks);
}

/* Tables of one, two and more pages without an empty slot, or with hardly one: who is not there looks at
 * every bucket. */
static void full(struct test *t)
{
    const uint64_t pages[] = {1, 2, test_scale(t, 3, 5, 5)},
                   slot = key_bytes(t->width) + value_bytes(t->width);
    for (int i = 0; i < 6; i++) {
        uint64_t slots = pages[i / 2] * 65536 / (slot > 8 ? 16 : slot), pairs = slots - (i % 2 ? 3 : 0);
        cohort_map_options options = subject_options(t);
        options.capacity = slots;
        options.fixed = 1;
        options.max_load = 1;
        struct subject s = subject_new(t, &options);
        subject_fill(&s, 0, pairs);
        s.blind = 1;
        for (uint64_t n = 1; n < 140; n += 1 + test_below(t, 70)) {
            subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * pairs);
            subject_step(&s, TRIAL_CONTAINS, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * pairs);
        }
        subject_free(&s);
    }
}

static void full_tables(struct test *t)
{
    each_level(t, 1, full);
}

static void walks_together(struct test *t)
{
    each_level(t, 3, walks);
}

/* Threads that meet on few keys, new to the map in each round: each key goes in once, whoever is first. */
static void crowd(struct test *t)
{
    uint64_t rounds = test_scale(t, 4, 12, 60), n = 40000;
    for (uint64_t round = 0; round < rounds; round++) {
        cohort_map_options options = subject_options(t);
        options.capacity = n;
        options.fixed = 1;
        options.max_load = round % 2 ? 0.95 : 0.5;
        struct subject s = subject_new(t, &options);
        uint64_t range = 1 + test_below(t, round % 3 ? 2000 : 30);
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n, RANDOM, range);
        subject_step(&s, TRIAL_RUN, 0, COHORT_WINNER_ANY, n, RANDOM, range);
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_FIRST, n, RANDOM, 2 * range);
        subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n, RANDOM, range);
        if (value_bytes(t->width))
            subject_step(&s, TRIAL_APPLY, COHORT_OP_ADD, COHORT_WINNER_ANY, n, SKEWED, 3 * range);
        subject_step(&s, TRIAL_ASSIGN, 0, COHORT_WINNER_ANY, n, RANDOM, 4 * range);
        subject_check_table(&s);
        subject_free(&s);
    }
}

static void crowds(struct test *t)
{
    each_level(t, 4, crowd);
}

#define ALONE (TEST_ON_CPU | TEST_EACH_WIDTH | TEST_NO_CONTEXT)
const struct test_case test_cases[] = {{"walks_alone", walks_alone, ALONE},
                                       {"walks_together", walks_together, ALONE},
                                       {"full_tables", full_tables, ALONE},
                                       {"crowds", crowds, ALONE},
                                       {NULL, NULL, 0}};
