/* test_keys_memory.c: factors of more rows than a CPU numbers at a time, of whose allocations each is refused
 * once. A call that says that all is well has numbered every row; after one that failed the same call does
 * so. */
#include "watched.h"

#define ROWS 300000u

struct kind {
    uint32_t columns;
    uint64_t distinct;
    int close; /* keys lie close together */
};

static cohort_frame *frame_of(struct test *t, const struct kind *k)
{
    uint64_t *values = malloc(k->columns * ROWS * sizeof *values);
    cohort_array array[3];
    cohort_frame *frame = NULL;
    REQUIRE(t, values);
    for (uint32_t c = 0; c < k->columns; c++) {
        uint64_t *of = values + (uint64_t)c * ROWS;
        for (uint64_t i = 0; i < ROWS; i++)
            of[i] = k->close ? i % k->distinct : test_mix(i % k->distinct + c * ROWS);
        array[c] = (cohort_array){c ? c > 1 ? "c" : "b" : "a", COHORT_U64, 0, of, NULL};
    }
    OK(t, cohort_frame_create(t->context, ROWS, k->columns, array, &frame));
    free(values);
    return frame;
}

/* Allocation `refused` fails: whether there were so many. */
static int add(struct test *t, const struct kind *k, cohort_frame *frame, uint64_t threads, uint64_t refused,
               uint32_t *ids)
{
    struct ledger ledger = {0};
    struct refuser refuser = {test_allocator(t, &ledger), 0, 0};
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    cohort_factor *factor = NULL;
    options.threads = threads;
    options.alloc = refuser_of(&refuser);
    OK(t, cohort_context_create(&options, &context));
    OK(t, cohort_factor_create(context, k->columns, NULL, &factor));
    memset(ids, 0x5c, ROWS * sizeof *ids);
    refuser.calls = 0;
    refuser.refused = refused;
    cohort_status s = cohort_factor_add(factor, frame, ids);
    const int met = refuser.calls >= refused;
    REQUIREF(t, s == COHORT_OK || (met && s == COHORT_NO_MEMORY), "allocation %llu of %llu: %s",
             (unsigned long long)refused, (unsigned long long)refuser.calls, cohort_message(context));
    if (s)
        OK(t, cohort_factor_add(factor, frame, ids));
    for (uint64_t i = 0; i < ROWS; i++)
        REQUIREF(t, ids[i] == i % k->distinct, "allocation %llu refused, %s: row %llu has id %u",
                 (unsigned long long)refused, cohort_status_name(s), (unsigned long long)i, ids[i]);
    EQUAL(t, cohort_factor_count(factor), k->distinct);
    cohort_factor_destroy(factor);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
    return met;
}

static void refused(struct test *t)
{
    static const struct kind kinds[] = {{1, ROWS, 0}, {1, 5000, 0}, {1, 5000, 1},
                                        {1, ROWS, 1}, {3, ROWS, 0}, {3, 700, 0}};
    uint32_t *ids = malloc(ROWS * sizeof *ids);
    REQUIRE(t, ids);
    for (uint64_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cohort_frame *frame = frame_of(t, &kinds[i]);
        const uint64_t threads = test_below(t, 2) ? 1 : 3;
        for (uint64_t k = 1; add(t, &kinds[i], frame, threads, k, ids); k++)
            ;
        cohort_frame_release(frame);
    }
    free(ids);
}

const struct test_case test_cases[] = {{"refused", refused, TEST_ON_CPU}, {NULL, NULL, 0}};
