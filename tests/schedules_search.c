/* schedules_search.c: tiny cases through all their schedules: two lanes, two operations each, one bucket;
 * all combinations of operations, from each state that the key's slot can be in at first. With at most two
 * preemptions: bugs that need more are rare, and the random schedules are not bounded. Memory is weak, one
 * read may be stale, which stands for the orders in which a bucket's words can be read too; where a bucket
 * has two words only, some plans are done in strong memory with these orders spelled out. */
#include "schedules.h"

static const unsigned char kinds[] = {CO_OP_FIND,   CO_OP_INSERT, CO_OP_ERASE,
                                      CO_OP_ASSIGN, CO_OP_ADD,    CO_OP_MIN};
enum { START_ABSENT, START_LIVE, START_ERASED, START_CROWDED, START_SIDE, STARTS };

static void tiny_plan(struct plan *p, cohort_width width, cohort_layout layout, unsigned start,
                      unsigned combination, unsigned kind_count)
{
    struct shape shape = {.width = width, .pages = 1, .mask = 0, .reach = layout ? 0 : 1, .lines = layout};
    plan_shape(p, shape);
    p->lanes = p->each = 2;
    p->key_count = 1;
    p->operand_count = 4;
    p->keys[0] = start == START_SIDE ? table_empty_key(&shape) - 1 : 7;
    for (unsigned i = 0; i < 4; i++, combination /= kind_count) {
        p->operands[i] = 3 + i;
        p->ops[i] = LIST_OP(kinds[combination % kind_count], 0, i);
    }
    if (start == START_LIVE || start == START_ERASED)
        table_put(&shape, p->table, p->keys[0], 10);
    if (start == START_ERASED)
        table_erase(&shape, p->table, p->keys[0]);
    for (uint64_t k = 100;
         start == START_CROWDED && table_count(&shape, p->table).taken + 1 < table_slots(&shape); k++)
        table_put(&shape, p->table, k, k); /* one slot is left */
    p->counters = table_count(&shape, p->table);
}

/* Compares the operations of the two lanes. */
static int lane_order(unsigned combination, unsigned kind_count)
{
    unsigned pairs = kind_count * kind_count, first = combination % pairs, second = combination / pairs;
    return (first > second) - (first < second);
}

/* All schedules of one plan: 0 if one is illegal. */
static int search_plan(struct test *t, struct stage *stage, const struct plan *p, enum sim_memory memory,
                       unsigned number)
{
    struct sim_search search = {.preemptions = 2, .stale = memory == SIM_WEAK};
    struct sim_schedule schedule = SIM_SCHEDULE_INIT;
    char text[4000], story[5200];
    int legal;
    schedule.kind = SIM_SEARCH;
    schedule.memory = memory;
    schedule.search = &search;
    schedule.operation_steps = 4000;
    schedule.clocks = memory == SIM_WEAK;
    schedule.quiet = 1;
    do {
        legal = stage_run(stage, p, &schedule, 2, text, sizeof text);
        if (!legal)
            snprintf(story, sizeof story, "%s\n  memory %s, decisions %.1000s", text,
                     memory == SIM_WEAK ? "weak" : "strong", sim_search_path(&search));
    } while (legal && sim_search_next(&search));
    tally_schedules(search.runs + !legal);
    sim_search_end(&search);
    if (!legal)
        report(t, number, p, story);
    return legal;
}

/* Every `share`th combination, beginning with the seed's. 64/32 is the code of 64/64 with another type: a
 * part will do. */
void run_searches(struct test *t, cohort_width width, unsigned share)
{
    share *= width == COHORT_WIDTH_64_32 ? 7 : 1;
    struct stage stage = stage_new();
    unsigned kind_count = value_bytes(width) ? 6 : 3, combinations = STARTS, legal = 1;
    for (int i = 0; i < 4; i++)
        combinations *= kind_count;
    for (unsigned i = 0; i < (combinations + share - 1) / share && legal; i++) {
        unsigned number = (unsigned)((t->seed + (uint64_t)i * share) % combinations);
        struct plan plan;
        if (lane_order(number / STARTS, kind_count) > 0)
            continue; /* the same with the lanes exchanged has its turn */
        tiny_plan(&plan, width, t->layout, number % STARTS, number / STARTS, kind_count);
        tally_plan(plan_hash(&plan));
        legal = search_plan(t, &stage, &plan, SIM_WEAK, number);
        if (legal && table_slot_bytes(&plan.shape) == 16 && number % 16 == 0)
            legal = search_plan(t, &stage, &plan, SIM_STRONG, number);
    }
    stage_free(&stage);
}
