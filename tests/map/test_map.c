/* test_map.c: every operation of cohort/map.h, against the oracle: on each width, with host and with device
 * pointers, for batches of all sizes and kinds of keys. What concerns the table (growth, full maps, probing,
 * copies) is in test_map_table.c. */
#include "subject.h"

static const uint64_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 65, 100, 257};

static int has_values(const struct test *t)
{
    return value_bytes(t->width) != 0;
}

/* Batch sizes in turn; the last one fills pages. 0 after it. */
static int next_size(const struct test *t, unsigned *i, uint64_t *n)
{
    unsigned count = sizeof sizes / sizeof *sizes;
    *n = *i < count ? sizes[*i] : test_scale(t, 1000, test_size(t, 20011, 601), test_size(t, 100003, 2003));
    return (*i)++ <= count;
}

/* A growing map, or a fixed one in which all fits, with something in it. */
static struct subject ready(struct test *t, uint64_t n, uint64_t range)
{
    cohort_map_options options = subject_options(t);
    options.fixed = (uint32_t)test_below(t, 2);
    options.capacity = options.fixed ? 4 * n + 64 : 1 + test_below(t, 2) * n;
    options.probe = subject_probe(t, test_below(t, 4) ? COHORT_PROBE_DOUBLE : COHORT_PROBE_LINEAR);
    struct subject s = subject_new(t, &options);
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n / 2, RANDOM, range);
    return s;
}

/* The operation on maps of all kinds; on simulated lanes, on a sample of them. */
static void each_batch(struct test *t, enum trial_kind kind, cohort_op op, cohort_winner winner)
{
    uint64_t n, share = test_size(t, 1, 4);
    for (unsigned i = 0; next_size(t, &i, &n);)
        for (enum pattern pattern = SEQUENTIAL; pattern < PATTERNS; pattern++) {
            if (!test_take(t, share))
                continue;
            uint64_t range = 1 + n + test_below(t, n + 1);
            struct subject s = ready(t, n, range);
            subject_step(&s, kind, op, winner, n, pattern, range);
            subject_step(&s, kind, op, winner, n, pattern, range);
            subject_free(&s);
        }
}

static void insert(struct test *t)
{
    each_batch(t, TRIAL_INSERT, 0, COHORT_WINNER_ANY);
}
static void assign(struct test *t)
{
    each_batch(t, TRIAL_ASSIGN, 0, COHORT_WINNER_ANY);
}
static void find(struct test *t)
{
    each_batch(t, TRIAL_FIND, 0, COHORT_WINNER_ANY);
}
static void contains(struct test *t)
{
    each_batch(t, TRIAL_CONTAINS, 0, COHORT_WINNER_ANY);
}
static void insert_and_find(struct test *t)
{
    each_batch(t, TRIAL_INSERT_AND_FIND, 0, COHORT_WINNER_ANY);
}
static void erase(struct test *t)
{
    each_batch(t, TRIAL_ERASE, 0, COHORT_WINNER_ANY);
}
static void run(struct test *t)
{
    each_batch(t, TRIAL_RUN, 0, COHORT_WINNER_ANY);
}

static void winners(struct test *t)
{
    const enum trial_kind kinds[] = {TRIAL_INSERT, TRIAL_ASSIGN, TRIAL_INSERT_AND_FIND};
    for (int i = 0; i < 3; i++)
        for (cohort_winner winner = COHORT_WINNER_FIRST; winner <= COHORT_WINNER_LAST; winner++)
            each_batch(t, kinds[i], 0, winner);
}

static void apply(struct test *t)
{
    for (cohort_op op = COHORT_OP_ADD; op <= COHORT_OP_COUNT; op++)
        for (enum pattern pattern = SEQUENTIAL; pattern < PATTERNS; pattern++) {
            uint64_t n = test_below(t, 2) ? sizes[test_below(t, sizeof sizes / sizeof *sizes)]
                                          : test_size(t, 2000, 300);
            struct subject s = ready(t, n, n + 1);
            subject_step(&s, TRIAL_APPLY, op, COHORT_WINNER_ANY, n, pattern, n + 1);
            subject_step(&s, TRIAL_APPLY, op, COHORT_WINNER_ANY, n, pattern, n + 1);
            subject_free(&s);
        }
}

/* Batches of which each block of a GPU has several turns, and most entries few keys: into an empty map, and
 * into one that has them all. */
static void apply_hot(struct test *t)
{
    const uint64_t n = test_size(t, 600000, 1200);
    const enum pattern patterns[] = {SKEWED, FEW, EQUAL_KEYS};
    for (unsigned i = 0; i < 3; i++) {
        cohort_op op = (cohort_op)(COHORT_OP_ADD + test_below(t, COHORT_OP_COUNT - COHORT_OP_ADD + 1));
        struct subject s = ready(t, n, n);
        s.blind = 1;
        for (int again = 0; again < 2; again++) {
            subject_step(&s, TRIAL_APPLY, op, COHORT_WINNER_ANY, n, patterns[i], n);
            subject_step(&s, TRIAL_ASSIGN, 0, COHORT_WINNER_ANY, n, patterns[i], n);
            subject_observe(&s);
        }
        subject_free(&s);
    }
}

/* A long random walk through all operations on one map that grows from nothing, shrinks, is cleared. */
static void walk(struct test *t)
{
    cohort_map_options options = subject_options(t);
    uint64_t steps = test_scale(t, 40, test_size(t, 150, 60), test_size(t, 1000, 200)),
             most = test_size(t, 700, 150);
    options.max_load = 0.5 + 0.45 * (double)test_below(t, 11) / 10;
    struct subject s = subject_new(t, &options);
    for (uint64_t i = 0; i < steps; i++) {
        enum trial_kind kind = (enum trial_kind)test_below(t, TRIAL_RUN + 1);
        enum pattern pattern = (enum pattern)test_below(t, PATTERNS);
        cohort_op op = (cohort_op)(COHORT_OP_ADD + test_below(t, COHORT_OP_COUNT - COHORT_OP_ADD + 1));
        cohort_winner winner = COHORT_WINNER_ANY;
        if (kind == TRIAL_INSERT || kind == TRIAL_ASSIGN || kind == TRIAL_INSERT_AND_FIND)
            winner = (cohort_winner)test_below(t, 3);
        if (kind == TRIAL_APPLY && !has_values(t))
            kind = TRIAL_INSERT;
        if (test_below(t, 32) == 0) {
            OK(t, cohort_map_clear(s.map));
            oracle_clear(s.oracle);
        } else if (test_below(t, 16) == 0) {
            OK(t, cohort_map_rehash(s.map, test_below(t, most)));
        }
        subject_step(&s, kind, op, winner, test_below(t, most), pattern, 2 * most);
    }
    subject_free(&s);
}

/* ---- keys that the table marks slots with -------------------------------------------------------------- */

/* One operation on all the marking keys and 0, each twice. */
static void marker_step(struct subject *s, enum trial_kind kind, cohort_op op, cohort_winner winner)
{
    struct test *t = s->t;
    struct column *mark = t->columns;
    const uint64_t keys[] = {UINT64_MAX, UINT64_MAX - 1, 0, UINT64_MAX - 2};
    struct trial r = subject_trial(s, kind, 8);
    r.op = op;
    r.winner = winner;
    for (uint64_t i = 0; i < 8; i++) {
        column_put(r.keys, i, keys[i % 4]);
        if (r.ops)
            column_put(r.ops, i, (uint64_t)op);
    }
    if (r.values)
        fill_values(t, r.values);
    subject_do(s, &r);
    column_drop(t, mark);
}

static void marking_keys(struct test *t)
{
    cohort_map_options options = subject_options(t);
    for (options.fixed = 0; options.fixed <= 1; options.fixed++) {
        options.capacity = 16;
        struct subject s = subject_new(t, &options);
        for (int again = 0; again < 3; again++) {
            marker_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY);
            marker_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY);
            marker_step(&s, TRIAL_INSERT, 0, (cohort_winner)again);
            marker_step(&s, TRIAL_INSERT, 0, (cohort_winner)again);
            marker_step(&s, TRIAL_CONTAINS, 0, COHORT_WINNER_ANY);
            marker_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY);
            marker_step(&s, TRIAL_ASSIGN, 0, (cohort_winner)again);
            marker_step(&s, TRIAL_ASSIGN, 0, (cohort_winner)again);
            marker_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY);
            marker_step(&s, TRIAL_INSERT_AND_FIND, 0, (cohort_winner)again);
            for (cohort_op op = COHORT_OP_ADD; has_values(t) && op <= COHORT_OP_COUNT; op++) {
                marker_step(&s, TRIAL_APPLY, op, COHORT_WINNER_ANY);
                marker_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY);
                marker_step(&s, TRIAL_APPLY, op, COHORT_WINNER_ANY);
            }
            for (cohort_op op = COHORT_OP_FIND; op <= COHORT_OP_COUNT; op++)
                marker_step(&s, TRIAL_RUN, op, COHORT_WINNER_ANY);
            subject_check_table(&s);
            if (!options.fixed)
                OK(t, cohort_map_rehash(s.map, 0));
            subject_observe(&s);
            subject_check_table(&s);
        }
        subject_free(&s);
    }
}

/* ---- streams of operations ----------------------------------------------------------------------------- */

/* Two to six operations on each key, all kinds mixed: in most orders they come out differently. */
static void run_crowded(struct test *t)
{
    uint64_t rounds = test_scale(t, 4, test_size(t, 40, 10), test_size(t, 400, 60)),
             n = test_size(t, 2000, 200);
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.capacity = n * 8;
    for (uint64_t round = 0; round < rounds; round++) {
        struct subject s = subject_new(t, &options);
        for (int again = 0; again < 3; again++)
            subject_step(&s, TRIAL_RUN, 0, COHORT_WINNER_ANY, n, RANDOM, n / 4);
        subject_free(&s);
    }
}

/* Nothing but counting on few keys: results are 1 .. count - 1, each once. */
static void run_counts(struct test *t)
{
    if (!subject_runs(t))
        test_skip(t, "this device does not run streams on maps of this width");
    const uint64_t n = test_size(t, 30000, 1000), keys = 3;
    uint8_t *seen = calloc(n * keys, 1);
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    struct trial r = subject_trial(&s, TRIAL_RUN, n);
    memset(r.ops->data, COHORT_OP_COUNT, n);
    for (uint64_t i = 0; i < n; i++)
        column_put(r.keys, i, i % keys * 1000);
    OK(t,
       cohort_map_run(s.map, n, column_send(r.ops), column_send(r.keys), NULL, column_send(r.results), NULL));
    column_fetch(r.results);
    uint64_t untouched = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t before = column_get(r.results, i);
        if (before < n && before > 0 && !seen[before * keys + i % keys])
            seen[before * keys + i % keys] = 1;
        else
            untouched++;
    }
    free(seen);
    for (uint64_t k = 0; k < keys; k++)
        oracle_put(s.oracle, k * 1000, (n + keys - 1 - k) / keys);
    subject_observe(&s);
    EQUAL(t, untouched, keys);
    subject_free(&s);
}

static void run_bad_ops(struct test *t)
{
    const uint64_t n = 77;
    for (int fixed = 0; fixed <= 1; fixed++) {
        cohort_map_options options = subject_options(t);
        options.fixed = (uint32_t)fixed;
        options.capacity = 1000;
        struct subject s = subject_new(t, &options);
        subject_fill(&s, 0, 50);
        for (int round = 0; round < 4; round++) {
            struct trial r = subject_trial(&s, TRIAL_RUN, n);
            for (uint64_t i = 0; i < n; i++) {
                column_put(r.keys, i, i < 4 ? UINT64_MAX - i : i + 10);
                uint64_t bad = has_values(t) ? COHORT_OP_COUNT + 1 : COHORT_OP_ADD;
                int is_bad = round < 3 ? i % 5 == (uint64_t)round : 1;
                column_put(r.ops, i,
                           is_bad ? bad + test_below(t, 256 - bad) : test_below(t, COHORT_OP_ERASE + 1));
            }
            if (r.values)
                fill_values(t, r.values);
            subject_do(&s, &r);
        }
        subject_free(&s);
    }
}

/* Outputs that are not asked for, operands that are not due. */
static void left_out(struct test *t)
{
    const uint64_t n = 45;
    cohort_map_options options = subject_options(t);
    for (int mask = 0; mask < 16; mask++) {
        struct subject s = subject_new(t, &options);
        for (enum trial_kind kind = TRIAL_INSERT; kind <= TRIAL_RUN; kind++) {
            if (kind == TRIAL_APPLY && !has_values(t))
                continue;
            struct column *mark = t->columns;
            struct trial r = subject_trial(&s, kind, n);
            for (uint64_t i = 0; i < n; i++) {
                column_put(r.keys, i, test_below(t, 2) ? i : i * 7);
                if (r.ops)
                    column_put(r.ops, i, test_below(t, 3));
            }
            r.op = COHORT_OP_COUNT;
            if (r.values)
                fill_values(t, r.values);
            if (kind != TRIAL_CONTAINS && mask & 1)
                r.hit = NULL;
            r.failed = mask & 2 ? r.failed : NULL;
            r.counts = mask & 4 ? r.counts : NULL;
            if (kind == TRIAL_RUN && mask & 8)
                r.results = NULL;
            if (kind == TRIAL_APPLY && mask & 8)
                r.values = NULL;
            if (kind == TRIAL_RUN && mask & 8)
                r.values = NULL; /* operands are then 0 */
            subject_do(&s, &r);
            column_drop(t, mark);
        }
        subject_free(&s);
    }
}

/* ---- many entries -------------------------------------------------------------------------------------- */

/* More than one chunk of a stream and more than one page, half of the entries duplicates. */
static void many(struct test *t)
{
    uint64_t n =
        test_scale(t, test_size(t, 50000, 3000), test_size(t, 1500000, 6000), test_size(t, 4000000, 20000));
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    s.blind = 1;
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_LAST, n, RANDOM, n / 2);
    subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, RANDOM, n / 2);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 2, RANDOM, n / 2);
    subject_observe(&s);
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_FIRST, n, SKEWED, n);
    subject_step(&s, TRIAL_CONTAINS, 0, COHORT_WINNER_ANY, n, SKEWED, n);
    subject_observe(&s);
    subject_free(&s);
}

#define GPU (TEST_ON_SIM | TEST_ON_CUDA)
#define ALL (TEST_EACH_WIDTH | TEST_EACH_MEMORY | TEST_EACH_LAYOUT)
const struct test_case test_cases[] = {{"insert", insert, ALL},
                                       {"assign", assign, ALL},
                                       {"winners", winners, ALL},
                                       {"apply", apply, ALL | TEST_VALUES},
                                       {"apply_hot", apply_hot, GPU | ALL | TEST_VALUES},
                                       {"find", find, ALL},
                                       {"contains", contains, ALL},
                                       {"insert_and_find", insert_and_find, ALL},
                                       {"erase", erase, ALL},
                                       {"run", run, ALL},
                                       {"run_crowded", run_crowded, ALL},
                                       {"run_counts", run_counts, ALL | TEST_VALUES},
                                       {"run_bad_ops", run_bad_ops, ALL},
                                       {"marking_keys", marking_keys, ALL},
                                       {"left_out", left_out, ALL},
                                       {"walk", walk, ALL},
                                       {"many", many, ALL},
                                       {NULL, NULL, 0}};
