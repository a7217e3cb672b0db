/* schedules_message.c: messages in other memory, published through a map: written, fenced, their number
 * put in; found, fenced, read. The memory is plain, so that reading it too early is a race, which the
 * simulator reports, and so is reading it in an order that only some schedules show. */
#include "schedules.h"

enum { WRITERS = 4 };

struct post {
    struct stage stage;
    co_u64 *notes, *reads;
};

static void draw_keys(struct plan *p, struct dice *dice, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        p->keys[k] =
            k && dice_below(dice, 6) == 0 ? table_empty_key(&p->shape) - k : dice_next(dice) >> 34 << 2 | k;
    p->key_count = count;
}

static int check_reads(const struct post *p, unsigned writers, char *text, size_t bytes)
{
    for (unsigned lane = 1; lane < 2 * writers; lane += 2)
        for (unsigned k = 0; k < writers; k++) {
            co_u64 got = p->reads[lane * LIST_KEYS + k];
            if (!got || got == 3 * (co_u64)k + 1)
                continue;
            snprintf(text, bytes, "lane %u found note %u and read %#llx in it", lane, k, got);
            return 0;
        }
    return 1;
}

static int pass(struct post *p, struct plan *plan, struct dice *dice, char *text, size_t bytes)
{
    unsigned writers = plan->key_count, lanes = 2 * writers, blocks = dice_below(dice, 2) ? lanes : 1;
    struct sim_schedule schedule;
    stage_set(&p->stage, plan);
    sim_forget(p->notes, WRITERS * 8);
    memset(p->reads, 0, 2 * WRITERS * LIST_KEYS * 8);
    struct list_args args = {.notes = p->notes, .records = p->reads, .lanes = lanes};
    memcpy(args.keys, plan->keys, sizeof args.keys);
    args.view = table_view(&plan->shape, p->stage.table, p->stage.counters);
    draw_schedule(&schedule, dice, lanes, 2);
    schedule.operation_steps = 0;
    schedule.steps = 20000;
    if (!sim_run(plan->shape.width == COHORT_WIDTH_32_32 ? "publish_32_32" : "publish_64_64", &args, blocks,
                 lanes / blocks, 0, &schedule))
        return check_reads(p, writers, text, bytes);
    snprintf(text, bytes, "%s", sim_message());
    return 0;
}

void run_messages(struct test *t, cohort_width width, uint64_t schedules)
{
    struct post post = {stage_new(), sim_alloc(WRITERS * 8), sim_alloc(2 * WRITERS * LIST_KEYS * 8)};
    char text[4000];
    for (uint64_t i = 0; i < schedules && !t->failures; i++) {
        uint64_t seed = t->seed + i;
        struct dice dice = {test_mix(seed * 2 + 3)};
        struct plan plan;
        plan_draw(&plan, width, COHORT_LAYOUT_PAGES, FAMILY_COLLIDE, &dice);
        plan_shape(&plan, plan.shape);
        draw_keys(&plan, &dice, 1 + (unsigned)dice_below(&dice, WRITERS));
        tally_schedules(1);
        tally_plan(plan_hash(&plan));
        if (!pass(&post, &plan, &dice, text, sizeof text))
            report(t, seed, &plan, text);
    }
    sim_free(post.notes);
    sim_free(post.reads);
    stage_free(&post.stage);
}
