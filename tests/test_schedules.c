/* test_schedules.c: small concurrent cases on one map, each under many schedules (schedules.h). */
#include "schedules.h"

static uint64_t budget(const struct test *t, uint64_t normal)
{
    return test_scale(t, normal / 10, normal, normal * 5);
}

#define FAMILY(name, family)                             \
    static void name(struct test *t)                     \
    {                                                    \
        run_plans(t, t->width, family, budget(t, 6000)); \
    }
FAMILY(mixed, FAMILY_MIXED)
FAMILY(collide, FAMILY_COLLIDE)
FAMILY(full, FAMILY_FULL)
FAMILY(wrap, FAMILY_WRAP)
FAMILY(churn, FAMILY_CHURN)
FAMILY(values, FAMILY_VALUES)

static void exhaustive(struct test *t)
{
    run_searches(t, t->width, (unsigned)test_scale(t, 10, 1, 1));
}

static void batches(struct test *t)
{
    run_batches(t, t->width, budget(t, 1000));
}

static void groups(struct test *t)
{
    run_groups(t, budget(t, 2000));
}

static void winners(struct test *t)
{
    run_winners(t, t->width, budget(t, 400));
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

const struct test_case test_cases[] = {
    {"mixed", mixed, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"collide", collide, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"full", full, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"wrap", wrap, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"churn", churn, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"values", values, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"exhaustive", exhaustive, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"messages", messages, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"batches", batches, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"groups", groups, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"winners", winners, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"api", api, TEST_ON_SIM | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"launches", launches, TEST_ON_SIM | TEST_ON_CUDA | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"threads", threads, TEST_ON_CPU | TEST_NO_CONTEXT | TEST_EACH_WIDTH},
    {"retries", retries, TEST_ON_CPU | TEST_ON_CUDA},
    {"total", total, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
