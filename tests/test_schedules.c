/* test_schedules.c: small concurrent cases on one map, each under many schedules (schedules.h). */
#include "schedules.h"

static uint64_t budget(const struct test *t, uint64_t normal)
{
    return test_scale(t, normal / 10, normal, normal * 5);
}

#define FAMILY(name, family)                                     \
    static void name(struct test *t)                             \
    {                                                            \
        run_plans(t, t->width, family, budget(t, 6000)); \
    }
FAMILY(mixed, FAMILY_MIXED)
FAMILY(collide, FAMILY_COLLIDE)
FAMILY(full, FAMILY_FULL)
FAMILY(wrap, FAMILY_WRAP)
FAMILY(churn, FAMILY_CHURN)
FAMILY(values, FAMILY_VALUES)

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
    {"total", total, TEST_ON_SIM | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
