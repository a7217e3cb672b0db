/* test_map_fold.c: sums by key in large batches, which a GPU folds in shared memory, or does one by one,
 * as a sample tells. The answers are those of any other batch, whatever way it goes and whatever finds no
 * slot. */
#include "subject.h"

#include "cuda/map.h"

/* The tuning for a GPU wants a million entries: here fewer do. */
static void lower_bar(struct test *t)
{
    static struct gpu_tuning lower;
    if (t->kind == TEST_CPU)
        return;
    const struct gpu *g = gpu_of(t->context);
    lower = *gpu_tuning_for(g->driver, g->architecture);
    if (t->kind == TEST_CUDA)
        lower.sums_batch = lower.sums_split = 1 << 14;
    gpu_of(t->context)->tuning = &lower;
}

/* A batch that is large enough, and asks nothing of single entries but which of them failed, and that only
 * where `failed` says so. */
static struct trial sums_trial(struct subject *s, cohort_op op, uint64_t n, int failed)
{
    struct trial r = subject_trial(s, TRIAL_APPLY, n);
    r.op = op;
    r.hit = NULL;
    r.results = NULL;
    r.failed = failed ? r.failed : NULL;
    r.where = NULL;
    return r;
}

/* The two keys with slots of their own are among them. */
static uint64_t sum(struct subject *s, cohort_op op, uint64_t n, enum pattern pattern, uint64_t range,
                    int failed)
{
    struct column *mark = s->t->columns;
    struct trial r = sums_trial(s, op, n, failed);
    fill_keys(s->t, r.keys, pattern, range);
    for (uint64_t i = 0; i < 6 && n > 6; i++)
        column_put(r.keys, test_below(s->t, n), key_mask(s->width) - i % 2);
    if (r.values)
        fill_values(s->t, r.values);
    subject_do(s, &r);
    if (r.failed && r.full)
        subject_check_failed(s, &r);
    column_drop(s->t, mark);
    return r.full;
}

static uint64_t batch_size(const struct test *t)
{
    return t->kind == TEST_CUDA ? 1u << 16 : test_size(t, 3000, 700);
}

static struct subject fixed_map(struct test *t, uint64_t capacity, double load)
{
    lower_bar(t);
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.capacity = capacity;
    options.max_load = load;
    return subject_new(t, &options);
}

static const cohort_op ops[] = {COHORT_OP_ADD, COHORT_OP_COUNT, COHORT_OP_MIN,
                                COHORT_OP_MAX, COHORT_OP_OR,    COHORT_OP_AND};
enum { OPS = sizeof ops / sizeof *ops };

/* One key, few, more than a block has places, many more; and a map that knows some of them. */
static void numbers_of_keys(struct test *t)
{
    const uint64_t n = batch_size(t), ranges[] = {1, 2, 10, n / 200 + 3, n / 50, n / 20, n / 2, 4 * n};
    for (unsigned k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        struct subject s = fixed_map(t, ranges[k] < n ? ranges[k] + 8 : n + 8, 0.8);
        for (unsigned o = 0; o < OPS; o++)
            if (k == 3 || k == 5 || test_take(t, 3))
                sum(&s, ops[o], n + test_below(t, 40), RANDOM, ranges[k], ranges[k] >= n || o % 2);
        subject_check_table(&s);
        subject_free(&s);
    }
}

/* Sorted keys, few at many entries' distance, a few with most of the entries, and after each other without
 * a wait between. */
static void patterns(struct test *t)
{
    const uint64_t n = batch_size(t);
    struct subject s = fixed_map(t, n + 8, 0.7);
    for (int p = 0; p < PATTERNS; p++)
        sum(&s, ops[p % OPS], n + 5, (enum pattern)p, n / 3, p % 2);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 4, RANDOM, n / 3);
    sum(&s, COHORT_OP_ADD, n, RANDOM, n / 3, 1);
    subject_check_table(&s);
    subject_free(&s);
}

/* Keys that find no slot: their entries are named, all of them and no others, and the counts say so. */
static void full(struct test *t)
{
    const uint64_t n = batch_size(t), room[] = {1, n / 300 + 1, n / 20, n / 4};
    for (unsigned k = 0; k < sizeof room / sizeof *room; k++) {
        struct subject s = fixed_map(t, room[k], 1);
        uint64_t failed = sum(&s, COHORT_OP_ADD, n, RANDOM, n, 1);
        CHECKF(t, failed, "a map of capacity %llu took %llu entries of as many keys",
               (unsigned long long)room[k], (unsigned long long)n);
        sum(&s, COHORT_OP_MAX, n, SKEWED, n, 1);
        sum(&s, COHORT_OP_COUNT, n, FEW, 50, 1);
        subject_check_table(&s);
        subject_free(&s);
    }
}

static void growing(struct test *t)
{
    const uint64_t n = batch_size(t);
    lower_bar(t);
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    for (unsigned o = 0; o < OPS; o++)
        sum(&s, ops[o], n, o % 2 ? SKEWED : RANDOM, n << o >> 3, (int)(o / 2 % 2));
    subject_check_table(&s);
    subject_free(&s);
}

/* Sums carry from the low word to the high one, from any number of lanes. */
static void carries(struct test *t)
{
    const uint64_t n = batch_size(t);
    struct subject s = fixed_map(t, 64, 0.8);
    for (unsigned turn = 0; turn < 3; turn++) {
        struct column *mark = t->columns;
        struct trial r = sums_trial(&s, COHORT_OP_ADD, n, 0);
        fill_keys(t, r.keys, RANDOM, 1 + 9 * turn);
        for (uint64_t i = 0; i < n; i++)
            column_put(r.values, i, turn == 1 ? ~0ull - i : 0xffffffffull - i % 3);
        subject_do(&s, &r);
        column_drop(t, mark);
    }
    subject_free(&s);
}

const struct test_case test_cases[] = {
    {"numbers_of_keys", numbers_of_keys, TEST_EACH_MEMORY | TEST_EACH_WIDTH | TEST_VALUES},
    {"patterns", patterns, TEST_EACH_MEMORY | TEST_EACH_WIDTH | TEST_VALUES},
    {"full", full, TEST_EACH_MEMORY | TEST_EACH_WIDTH | TEST_VALUES},
    {"growing", growing, TEST_EACH_MEMORY | TEST_EACH_WIDTH | TEST_VALUES},
    {"carries", carries, TEST_EACH_MEMORY | TEST_EACH_WIDTH | TEST_VALUES},
    {NULL, NULL, 0},
};
