/* schedules_run.c: runs plans on the simulator, schedule by schedule.
 *
 * A schedule has one number, its seed, and nothing else decides it: eight in a row share a plan, which the
 * number drawn for all eight decides, and each is run under a schedule of its own. So a case with --seed S
 * begins with schedule S of any other run of it. */
#include "schedules.h"

enum { SCHEDULES_A_PLAN = 8, SEEN = 1 << 20, AROUND = 0x5a };

/* ---- what has been done -------------------------------------------------------------------------------- */

static struct {
    uint64_t schedules, plans;
    uint64_t seen[SEEN]; /* hashes of plans, open addressing */
} tally;

void tally_plan(uint64_t hash)
{
    hash += !hash;
    for (uint64_t i = hash, tries = 0; tries < 64; i++, tries++) {
        uint64_t *at = &tally.seen[i % SEEN];
        if (*at == hash)
            return;
        if (!*at) {
            *at = hash;
            tally.plans++;
            return;
        }
    }
}

void tally_schedules(uint64_t n)
{
    tally.schedules += n;
}

void tally_print(void)
{
    printf("schedules: %llu run, of %llu distinct cases\n", (unsigned long long)tally.schedules,
           (unsigned long long)tally.plans);
}

/* ---- the simulated device's memory --------------------------------------------------------------------- */

struct stage stage_new(void)
{
    struct stage s = {.memory = sim_alloc(PLAN_TABLE),
                      .counters = sim_alloc(sizeof(struct co_map_counters)),
                      .ops = sim_alloc(PLAN_LANES * PLAN_EACH * 8),
                      .records = sim_alloc(PLAN_LANES * PLAN_EACH * LIST_RECORD_WORDS * 8)};
    return s;
}

void stage_free(struct stage *s)
{
    sim_free(s->memory);
    sim_free(s->counters);
    sim_free(s->ops);
    sim_free(s->records);
}

/* The plan's table ends where its allocation ends, as near as alignment allows; around it lies a pattern. */
void stage_set(struct stage *s, const struct plan *p)
{
    uint64_t bytes = table_bytes(&p->shape);
    s->table = s->memory + ((PLAN_TABLE - bytes) & ~(uint64_t)31);
    memset(s->memory, AROUND, PLAN_TABLE);
    memcpy(s->table, p->table, bytes);
    *s->counters = p->counters;
    memcpy(s->ops, p->ops, p->lanes * p->each * sizeof *p->ops);
    memset(s->records, 0, p->lanes * p->each * LIST_RECORD_WORDS * sizeof *s->records);
}

static int is_kept_around(const struct stage *s, const struct plan *p)
{
    const unsigned char *end = s->table + table_bytes(&p->shape);
    for (const unsigned char *at = s->memory; at < s->memory + PLAN_TABLE; at++)
        if (*at != AROUND && (at < s->table || at >= end))
            return 0;
    return 1;
}

const char *plan_kernel(const struct shape *s)
{
    static const char *const kernels[2][7] = {
        {NULL, "list_32_0", "list_32_32", "list_64_0", "list_64_32", "list_64_64", NULL},
        {NULL, "list_lines_32_0", "list_lines_32_32", "list_lines_64_0", "list_lines_64_32",
         "list_lines_64_64", "list_lines_128_64"}};
    return kernels[s->lines][s->width];
}

/* ---- one schedule -------------------------------------------------------------------------------------- */

int stage_run(struct stage *s, const struct plan *p, const struct sim_schedule *schedule, unsigned blocks,
              char *text, size_t bytes)
{
    struct list_args args = {.ops = s->ops, .records = s->records, .cases = 1};
    stage_set(s, p);
    plan_args(p, &args);
    args.view = table_view(&p->shape, s->table, s->counters);
    struct sim_schedule patient = *schedule;
    if (p->shape.lines) /* making room is long */
        patient.operation_steps *= 5;
    if (sim_run(plan_kernel(&p->shape), &args, blocks, (p->lanes + blocks - 1) / blocks, 0, &patient)) {
        snprintf(text, bytes, "%s", sim_message());
        return 0;
    }
    if (!is_kept_around(s, p)) {
        snprintf(text, bytes, "something was written before or after the table");
        return 0;
    }
    struct aftermath o = {.records = s->records,
                          .table = s->table,
                          .counters = s->counters,
                          .clock = schedule->memory == SIM_STRONG ? CLOCK_STEPS : CLOCK_WEAK};
    return plan_judge(p, &o, text, bytes);
}

void draw_schedule(struct sim_schedule *schedule, struct dice *d, unsigned lanes, unsigned each)
{
    static const struct sim_schedule plain = SIM_SCHEDULE_INIT;
    *schedule = plain;
    schedule->kind = SIM_ANY;
    schedule->memory = dice_below(d, 4) ? SIM_WEAK : SIM_STRONG;
    schedule->seed = dice_next(d);
    schedule->length = lanes * each * (10 + (unsigned)dice_below(d, 10));
    schedule->operation_steps = 4000;
    schedule->clocks = schedule->memory == SIM_WEAK;
    schedule->quiet = 1;
}

/* ---- many ---------------------------------------------------------------------------------------------- */

void report(struct test *t, uint64_t seed, const struct plan *p, const char *text)
{
    printf("illegal: %s\n", text);
    if (p)
        plan_print(p, stdout);
    printf("  replay: --device sim:1 --filter %s --seed %llu\n", t->name, (unsigned long long)seed);
    test_fail(t, __FILE__, __LINE__, "seed %llu: %.*s", (unsigned long long)seed, (int)strcspn(text, "\n"),
              text);
}

void run_plans(struct test *t, cohort_width width, enum family family, uint64_t schedules)
{
    struct stage stage = stage_new();
    struct plan plan;
    char text[4000];
    for (uint64_t i = 0; i < schedules; i++) {
        uint64_t seed = t->seed + i;
        struct dice dice = {test_mix((seed / SCHEDULES_A_PLAN * 64 + (uint64_t)width * 8 + family) ^
                                     (uint64_t)t->layout << 60)};
        if (i == 0 || seed % SCHEDULES_A_PLAN == 0) {
            plan_draw(&plan, width, t->layout, family, &dice);
            tally_plan(plan_hash(&plan));
        }
        struct sim_schedule schedule;
        struct dice turn = {test_mix(seed * 2 + 1)};
        draw_schedule(&schedule, &turn, plan.lanes, plan.each);
        unsigned blocks = dice_below(&turn, 2) ? plan.lanes : 1 + (unsigned)dice_below(&turn, plan.lanes);
        tally_schedules(1);
        if (!stage_run(&stage, &plan, &schedule, blocks, text, sizeof text)) {
            report(t, seed, &plan, text);
            break;
        }
    }
    stage_free(&stage);
}
