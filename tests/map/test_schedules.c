/* test_schedules.c: small concurrent cases on one map, each under many schedules (schedules.h). */
#include "schedules.h"

static uint64_t budget(const struct test *t, uint64_t normal)
{
    const uint64_t quick = t->layout ? normal * 2 / 5 : normal / 10; /* moves are rare in tables of LINES */
    return test_scale(t, quick, normal, normal * 10);
}

#define FAMILY(name, family, schedules)                       \
    static void name(struct test *t)                          \
    {                                                         \
        run_plans(t, t->width, family, budget(t, schedules)); \
    }
FAMILY(mixed, FAMILY_MIXED, 12000)
FAMILY(collide, FAMILY_COLLIDE, 16000)
FAMILY(full, FAMILY_FULL, 12000)
FAMILY(wrap, FAMILY_WRAP, 12000)
FAMILY(churn, FAMILY_CHURN, 60000)
FAMILY(values, FAMILY_VALUES, 12000)

static void exhaustive(struct test *t)
{
    run_searches(t, t->width, (unsigned)(test_scale(t, 11, 1, 1) * (t->layout ? 3 : 1)));
}

static void small_lines(struct test *t)
{
    t->layout = COHORT_LAYOUT_LINES;
    run_small(t, t->width);
}

static void moves_lines(struct test *t)
{
    t->layout = COHORT_LAYOUT_LINES;
    run_moves(t, t->width, test_scale(t, 1, 2, 8));
}

static void batches(struct test *t)
{
    run_batches(t, t->width, budget(t, 1000));
}

static void crowds(struct test *t)
{
    int pairs_of_16_bytes =
        t->width == COHORT_WIDTH_64_32 || t->width == COHORT_WIDTH_64_64; /* they have a ledger */
    run_crowds(t, t->width, budget(t, pairs_of_16_bytes ? 12500 : 5000));
}

static void hot(struct test *t)
{
    run_hot(t, t->width, budget(t, 4000));
}

static void groups(struct test *t)
{
    run_groups(t, budget(t, 2000));
}

static void winners(struct test *t)
{
    run_winners(t, t->width, budget(t, 400));
}

static void relay(struct test *t)
{
    run_relay(t, t->width, budget(t, 10000));
}

static void torn_lines(struct test *t)
{
    run_torn(t, budget(t, 150000));
}

static void messages(struct test *t)
{
    run_messages(t, COHORT_WIDTH_32_32, budget(t, 5000));
    run_messages(t, COHORT_WIDTH_64_64, budget(t, 5000));
}

static void api(struct test *t)
{
    run_api(t, budget(t, 200));
}

static void halves(struct test *t)
{
    run_halves(t, budget(t, 2500));
}

static void retries(struct test *t)
{
    run_retries(t);
}

static void launches(struct test *t)
{
    run_launches(t, t->width, test_size(t, budget(t, 1000), budget(t, 100)));
}

static void threads(struct test *t)
{
    run_threads(t, t->width, budget(t, 300));
}

static void total(struct test *t)
{
    (void)t;
    tally_print();
}

enum { SIM = TEST_ON_SIM | TEST_NO_CONTEXT, WIDTHS = TEST_EACH_WIDTH };

const struct test_case test_cases[] = {
    {"messages", messages, SIM},
    {"groups", groups, SIM},
    {"winners", winners, SIM | WIDTHS},
    {"mixed", mixed, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"collide", collide, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"full", full, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"wrap", wrap, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"churn", churn, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"values", values, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"torn_lines", torn_lines, SIM},
    {"relay", relay, SIM | WIDTHS | TEST_VALUES | TEST_EACH_LAYOUT},
    {"batches", batches, SIM | WIDTHS},
    {"crowds", crowds, SIM | WIDTHS},
    {"hot", hot, SIM | WIDTHS},
    {"exhaustive", exhaustive, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"small_lines", small_lines, SIM | WIDTHS | TEST_OF_LINES},
    {"moves_lines", moves_lines, SIM | WIDTHS | TEST_OF_LINES},
    {"api", api, SIM | WIDTHS | TEST_EACH_LAYOUT},
    {"halves", halves, SIM | WIDTHS | TEST_VALUES},
    {"launches", launches, TEST_ON_SIM | TEST_ON_CUDA | TEST_NO_CONTEXT | WIDTHS | TEST_EACH_LAYOUT},
    {"threads", threads, TEST_ON_CPU | TEST_NO_CONTEXT | WIDTHS | TEST_EACH_LAYOUT},
    {"retries", retries, TEST_ON_CPU | TEST_ON_CUDA},
    {"total", total, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
