/* schedules_torn.c: keys of 16 bytes, of which a lane reads one word after the other. A slot that has key
 * A is emptied and filled with key B while others look for a key of A's low word and B's high one, or the
 * other way round: whoever takes what was read for a key before the home's word has been looked at again
 * finds a key that was never in (docs/hopscotch-protocol.md, "Keys of two words"). All else is drawn:
 * seeds, values, where the slot lies, which operation looks, what comes before and after. */
#include "schedules.h"

enum { A, B, LOW_A, LOW_B, TORN_KEYS }; /* LOW_A: the low word is A's, the high one B's */

/* What looks for a torn key. What puts it in must find that it is not there. */
static uint64_t a_look(struct dice *d, unsigned key, unsigned operand)
{
    static const unsigned char kinds[] = {CO_OP_FIND, LIST_FIND,   LIST_CONTAINS, CO_OP_ERASE,
                                          LIST_ERASE, LIST_INSERT, LIST_ASSIGN,   CO_OP_ADD};
    return LIST_OP(kinds[dice_below(d, dice_below(d, 2) ? 3 : sizeof kinds)], key, operand);
}

static void torn_plan(struct plan *p, struct dice *d)
{
    const struct shape shape = {.width = COHORT_WIDTH_128_64,
                                .pages = 1 + (uint32_t)dice_below(d, 2),
                                .lines = 1,
                                .seed = dice_next(d)};
    const uint64_t a = dice_next(d), b = dice_next(d);
    plan_shape(p, shape);
    p->lanes = 3;
    p->each = 2;
    p->key_count = TORN_KEYS;
    p->operand_count = 6;
    p->keys[A] = a;
    p->keys[B] = b;
    p->keys[LOW_A] = (a & KEY_EVEN) | (b & ~KEY_EVEN);
    p->keys[LOW_B] = (b & KEY_EVEN) | (a & ~KEY_EVEN);
    for (unsigned i = 0; i < p->operand_count; i++)
        p->operands[i] = 20 + 10 * i + dice_below(d, 10);
    p->ops[0] = a_look(d, LOW_A, 0);
    p->ops[1] = dice_below(d, 2) ? a_look(d, LOW_B, 1) : LIST_END;
    p->ops[2] = LIST_OP(CO_OP_ERASE, A, 2);
    p->ops[3] = LIST_OP(LIST_INSERT, B, 3);
    p->ops[4] = a_look(d, LOW_B, 4);
    p->ops[5] = dice_below(d, 2) ? LIST_OP(CO_OP_ERASE, B, 5) : LIST_END;
    if (dice_below(d, 2))
        table_put(&p->shape, p->table, test_mix(a), 5);
    table_put(&p->shape, p->table, p->keys[A], 10);
    p->counters = table_count(&p->shape, p->table);
}

void run_torn(struct test *t, uint64_t schedules)
{
    struct stage stage = stage_new();
    struct plan plan;
    char text[4000];
    int legal = 1;
    for (uint64_t i = 0; i < schedules && legal; i++) {
        struct dice dice = {test_mix((t->seed + i) * 8 + COHORT_WIDTH_128_64)};
        struct sim_schedule schedule;
        torn_plan(&plan, &dice);
        draw_schedule(&schedule, &dice, plan.lanes, plan.each);
        tally_plan(plan_hash(&plan));
        tally_schedules(1);
        legal = stage_run(&stage, &plan, &schedule, 3, text, sizeof text);
        if (!legal)
            report(t, t->seed + i, &plan, text);
    }
    stage_free(&stage);
}
