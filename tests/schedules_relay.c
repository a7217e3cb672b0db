/* schedules_relay.c: one key looked up, while its slot is emptied, filled with another key, and the value
 * of that changed, by three lanes: in a map of LINES the slot is the same, and the looker may see the old
 * key and the newest value (docs/hopscotch-protocol.md, "Values that change in their place"). All else is
 * drawn: seeds, values, which change, what comes before and after. */
#include "schedules.h"

static void relay_plan(struct plan *p, cohort_width width, cohort_layout layout, struct dice *d)
{
    static const unsigned char changes[] = {CO_OP_ASSIGN, LIST_ASSIGN, CO_OP_ADD, CO_OP_EXCHANGE, CO_OP_MAX};
    const int lines = layout == COHORT_LAYOUT_LINES;
    const struct shape shape = {
        .width = width, .pages = 1, .reach = lines ? 0 : 1, .lines = lines, .seed = dice_next(d)};
    const unsigned change = changes[dice_below(d, sizeof changes)];
    plan_shape(p, shape);
    p->lanes = 3;
    p->each = 2;
    p->key_count = 2;
    p->operand_count = 6;
    p->keys[0] = 7;
    p->keys[1] = 11;
    for (unsigned i = 0; i < p->operand_count; i++)
        p->operands[i] = 20 + 10 * i + dice_below(d, 10);
    p->ops[0] = LIST_OP(dice_below(d, 2) ? CO_OP_FIND : LIST_FIND, 0, 0);
    p->ops[1] = dice_below(d, 2) ? LIST_OP(CO_OP_FIND, 1, 1) : LIST_END;
    p->ops[2] = LIST_OP(CO_OP_ERASE, 0, 2);
    p->ops[3] = LIST_OP(CO_OP_INSERT, 1, 3);
    p->ops[4] = LIST_OP(change, 1, 4);
    p->ops[5] = dice_below(d, 2) ? LIST_OP(change, 1, 5) : LIST_END;
    table_put(&p->shape, p->table, p->keys[0], 10);
    p->counters = table_count(&p->shape, p->table);
}

void run_relay(struct test *t, cohort_width width, uint64_t schedules)
{
    struct stage stage = stage_new();
    struct plan plan;
    char text[4000];
    int legal = 1;
    for (uint64_t i = 0; i < schedules && legal; i++) {
        struct dice dice = {test_mix((t->seed + i) * 8 + (uint64_t)width)};
        struct sim_schedule schedule;
        relay_plan(&plan, width, t->layout, &dice);
        draw_schedule(&schedule, &dice, plan.lanes, plan.each);
        schedule.memory = SIM_WEAK;
        schedule.clocks = 1;
        tally_plan(plan_hash(&plan));
        tally_schedules(1);
        legal = stage_run(&stage, &plan, &schedule, 3, text, sizeof text);
        if (!legal)
            report(t, t->seed + i, &plan, text);
    }
    stage_free(&stage);
}
