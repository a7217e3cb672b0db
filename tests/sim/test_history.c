/* test_history.c: the checker of histories (tests/sim/history.h): on histories known to be right and wrong,
 * against a checker that tries all orders, and on what a map of one key records in the simulator. */
#include "history.h"
#include "sim.h"
#include "test.h"

/* ---- histories ----------------------------------------------------------------------------------------- */

#define OP(l, from, to, o, v, h, r)                                                                       \
    {                                                                                                     \
        .key = 7, .operand = v, .result = r, .invoke = from, .response = to, .lane = l, .op = o, .hit = h \
    }
#define FULL(from, to, o, v)                                                       \
    {                                                                              \
        .key = 7, .operand = v, .invoke = from, .response = to, .op = o, .full = 1 \
    }
#define START(v)                                                               \
    {                                                                          \
        .key = 7, .operand = v, .op = COHORT_OP_INSERT, .phase = HISTORY_START \
    }
#define END(v)                                                                      \
    {                                                                               \
        .key = 7, .result = v, .op = COHORT_OP_FIND, .hit = 1, .phase = HISTORY_END \
    }

static enum history_verdict judge(const struct history_op *ops, size_t n)
{
    struct history_op copy[16];
    struct history_rules rules = {.value_mask = UINT32_MAX};
    memcpy(copy, ops, n * sizeof *ops);
    return history_check(copy, n, &rules, NULL, 0);
}

#define JUDGE(t, due, ...)                                     \
    do {                                                       \
        const struct history_op ops[] = {__VA_ARGS__};         \
        EQUAL(t, judge(ops, sizeof ops / sizeof ops[0]), due); \
    } while (0)

enum { FIND = COHORT_OP_FIND, INSERT = COHORT_OP_INSERT, ASSIGN = COHORT_OP_ASSIGN, ERASE = COHORT_OP_ERASE };

static void histories(struct test *t)
{
    /* right */
    JUDGE(t, HISTORY_LEGAL, OP(0, 1, 2, INSERT, 5, 0, 0), OP(0, 3, 4, FIND, 0, 1, 5));
    JUDGE(t, HISTORY_LEGAL, OP(0, 1, 9, INSERT, 5, 0, 0), OP(1, 2, 3, FIND, 0, 1, 5),
          OP(2, 2, 3, FIND, 0, 0, 0));
    JUDGE(t, HISTORY_LEGAL, OP(0, 1, 5, INSERT, 5, 1, 6), OP(1, 2, 6, INSERT, 6, 0, 0),
          OP(0, 7, 8, FIND, 0, 1, 6));
    JUDGE(t, HISTORY_LEGAL, OP(0, 1, 9, COHORT_OP_ADD, 5, 0, 0), OP(1, 1, 9, COHORT_OP_ADD, 3, 1, 5),
          OP(2, 1, 9, COHORT_OP_COUNT, 0, 1, 8), OP(0, 10, 11, FIND, 0, 1, 9));
    JUDGE(t, HISTORY_LEGAL, OP(0, 1, 2, COHORT_OP_ADD, UINT32_MAX, 0, 0),
          OP(0, 3, 4, COHORT_OP_COUNT, 0, 1, UINT32_MAX), OP(0, 5, 6, FIND, 0, 1, 0));
    JUDGE(t, HISTORY_LEGAL, OP(0, 1, 9, ASSIGN, 5, 0, 0), OP(1, 1, 9, ERASE, 0, 1, 5),
          OP(2, 1, 9, ASSIGN, 6, 0, 0), OP(2, 10, 11, FIND, 0, 1, 6));
    JUDGE(t, HISTORY_LEGAL, START(1), OP(0, 1, 2, COHORT_OP_MAX, 9, 1, 1),
          OP(0, 3, 4, COHORT_OP_MIN, 4, 1, 9), OP(0, 5, 6, COHORT_OP_OR, 3, 1, 4),
          OP(0, 7, 8, COHORT_OP_AND, 6, 1, 7), OP(0, 9, 10, COHORT_OP_EXCHANGE, 2, 1, 6), END(2));
    JUDGE(t, HISTORY_LEGAL, FULL(1, 2, INSERT, 5), OP(0, 3, 4, FIND, 0, 0, 0));

    /* wrong */
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 2, INSERT, 5, 0, 0), OP(1, 3, 4, FIND, 0, 0, 0));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 9, INSERT, 5, 0, 0), OP(1, 2, 3, FIND, 0, 1, 5),
          OP(2, 4, 5, FIND, 0, 0, 0));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 9, INSERT, 5, 0, 0), OP(1, 1, 9, INSERT, 6, 0, 0));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 9, INSERT, 5, 0, 0), OP(1, 2, 3, FIND, 0, 1, 6));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 9, COHORT_OP_COUNT, 0, 0, 0), OP(1, 1, 9, COHORT_OP_COUNT, 0, 1, 1),
          OP(2, 1, 9, COHORT_OP_COUNT, 0, 1, 1));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 2, ASSIGN, 5, 0, 0), OP(0, 3, 4, ASSIGN, 6, 1, 5),
          OP(1, 5, 6, FIND, 0, 1, 5));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 9, ERASE, 0, 1, 0), OP(1, 1, 9, FIND, 0, 0, 0));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 9, ASSIGN, 1, 0, 0), OP(1, 1, 9, ASSIGN, 2, 1, 1), END(1));
    JUDGE(t, HISTORY_ILLEGAL, OP(0, 1, 2, INSERT, 5, 0, 0), FULL(3, 4, ASSIGN, 5));
    JUDGE(t, HISTORY_ILLEGAL, FULL(1, 2, ERASE, 0));
}

/* The checker against one that tries all orders, on small random histories; and twenty-four operations at
 * once. */
static int try_all(const struct history_op *ops, unsigned n, unsigned done, int present, uint64_t value)
{
    if (done == (1u << n) - 1)
        return 1;
    for (unsigned i = 0; i < n; i++) {
        const struct history_op *o = &ops[i];
        int early = done >> i & 1;
        for (unsigned j = 0; j < n; j++)
            early |= !(done >> j & 1) && ops[j].response < o->invoke;
        if (early || o->hit != present || (present && o->result != value))
            continue;
        int after = o->op == FIND ? present : o->op != ERASE;
        uint64_t v = o->op == FIND || (o->op == INSERT && present) ? value : o->operand;
        if (try_all(ops, n, done | 1u << i, after, v))
            return 1;
    }
    return 0;
}

static void random_histories(struct test *t)
{
    static const uint8_t kinds[] = {FIND, INSERT, ASSIGN, ERASE};
    uint64_t legal = 0, n = test_scale(t, 5000, 30000, 200000);
    for (uint64_t i = 0; i < n; i++) {
        struct history_op ops[6] = {{0}};
        unsigned count = 1 + (unsigned)test_below(t, 6);
        for (unsigned k = 0; k < count; k++) {
            ops[k].op = kinds[test_below(t, 4)];
            ops[k].operand = test_below(t, 2);
            ops[k].hit = (uint8_t)test_below(t, 2);
            ops[k].result = test_below(t, 2);
            ops[k].invoke = test_below(t, 10);
            ops[k].response = ops[k].invoke + 1 + test_below(t, 10);
        }
        int due = try_all(ops, count, 0, 0, 0);
        legal += (uint64_t)due;
        REQUIRE(t, judge(ops, count) == (due ? HISTORY_LEGAL : HISTORY_ILLEGAL));
    }
    CHECKF(t, legal > n / 50 && legal < n - n / 50, "%llu of %llu legal", (unsigned long long)legal,
           (unsigned long long)n);
    struct history_op many[24] = {{0}};
    struct history_rules rules = {.value_mask = UINT64_MAX};
    for (unsigned k = 0; k < 24; k++)
        many[k] = (struct history_op){
            .key = 1, .result = k, .response = 100, .lane = k, .op = COHORT_OP_COUNT, .hit = k > 0};
    EQUAL(t, history_check(many, 24, &rules, NULL, 0), HISTORY_LEGAL);
    for (unsigned k = 0; k < 24; k++)
        many[k].result = many[k].hit ? many[k].result + (many[k].result > 11) : 0;
    EQUAL(t, history_check(many, 24, &rules, NULL, 0), HISTORY_ILLEGAL);
}

/* ---- recorded in the simulator ------------------------------------------------------------------------- */

struct sim_args { /* as in kernels/sim.cu */
    uint32_t *a;
    uint64_t *b, *out;
    uint32_t what, n;
};

/* A one-key map under the simulator: right in strong memory by time, in weak memory by what happened before;
 * not by time in weak memory, and not at all if it is broken. */
static uint64_t bad_registers(struct test *t, struct sim_args *args, enum sim_memory memory,
                              history_before before, int broken, uint64_t runs)
{
    struct sim_schedule s = SIM_SCHEDULE_INIT;
    struct history_rules rules = {.value_mask = UINT64_MAX, .before = before};
    uint64_t bad = 0;
    s.memory = memory;
    s.clocks = 1;
    for (s.seed = 1; s.seed <= runs; s.seed++) {
        struct history_op ops[6] = {{0}};
        s.kind = SIM_ANY;
        memset(args->b, 0, 1024);
        args->n = 12;
        args->what = (uint32_t)broken;
        for (int i = 0; i < 6; i++) {
            args->b[2 * i] = test_below(t, 4);
            args->b[2 * i + 1] = test_below(t, 100);
        }
        REQUIREF(t, !sim_run("sim_register", args, 2, 3, 0, &s), "%s", sim_message());
        for (uint32_t i = 0; i < 6; i++) {
            const uint64_t *o = args->out + 4 * (size_t)i;
            ops[i] = (struct history_op){.key = 1,
                                         .operand = args->b[2 * i + 1],
                                         .result = o[2],
                                         .invoke = o[0],
                                         .response = o[3],
                                         .lane = i,
                                         .op = (uint8_t)args->b[2 * i],
                                         .hit = o[1] != 0};
        }
        bad += history_check(ops, 6, &rules, NULL, 0) != HISTORY_LEGAL;
    }
    return bad;
}

static void recorded_histories(struct test *t)
{
    struct sim_args args = {sim_alloc(256), sim_alloc(1024), sim_alloc(1024), 0, 0};
    REQUIRE(t, args.a && args.b && args.out);
    uint64_t runs = test_scale(t, 1000, 5000, 50000);
    EQUAL(t, bad_registers(t, &args, SIM_STRONG, history_in_time, 0, runs), 0);
    EQUAL(t, bad_registers(t, &args, SIM_WEAK, history_in_sim, 0, runs), 0);
    CHECK(t, bad_registers(t, &args, SIM_WEAK, history_in_time, 0, runs) > 0);
    CHECK(t, bad_registers(t, &args, SIM_STRONG, history_in_time, 1, runs) > runs / 50);
    CHECK(t, bad_registers(t, &args, SIM_WEAK, history_in_sim, 1, runs) > runs / 50);
    sim_free(args.a);
    sim_free(args.b);
    sim_free(args.out);
}

const struct test_case test_cases[] = {
    {"right_and_wrong", histories, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"all_orders", random_histories, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"recorded", recorded_histories, TEST_ON_SIM | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
