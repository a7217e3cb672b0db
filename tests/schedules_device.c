/* schedules_device.c: plans on a device's real lanes. A launch does hundreds of cases at once, each on a
 * table of its own; what they have in common is the table they begin with and the keys. They are timed by
 * the device's clock, which says of two operations of different lanes which came first only if one had
 * ended before the other began. */
#include "schedules.h"

#include "cuda/device.h"

enum { CASES = 256 };

/* The device's memory, and the host's for what goes there and comes back. */
struct field {
    cohort_context *context;
    unsigned cases;
    uint64_t table_step, table_bytes, list_bytes, record_bytes;
    void *tables, *counters, *ops, *records; /* the device's */
    unsigned char *host_tables;
    struct co_map_counters *host_counters;
    co_u64 *host_ops, *host_records;
};

static struct field field_new(struct test *t, cohort_context *context, unsigned cases)
{
    struct field f = {.context = context, .cases = cases, .table_step = PLAN_TABLE};
    f.table_bytes = cases * f.table_step;
    f.list_bytes = (uint64_t)cases * PLAN_LANES * PLAN_EACH * 8;
    f.record_bytes = f.list_bytes * LIST_RECORD_WORDS;
    f.host_tables = malloc(f.table_bytes);
    f.host_counters = aligned_alloc(128, cases * sizeof *f.host_counters);
    f.host_ops = malloc(f.list_bytes);
    f.host_records = malloc(f.record_bytes);
    REQUIRE(t, f.host_tables && f.host_counters && f.host_ops && f.host_records);
    OK(t, cohort_alloc(context, f.table_bytes, &f.tables));
    OK(t, cohort_alloc(context, cases * sizeof *f.host_counters, &f.counters));
    OK(t, cohort_alloc(context, f.list_bytes, &f.ops));
    OK(t, cohort_alloc(context, f.record_bytes, &f.records));
    return f;
}

static void field_free(struct test *t, struct field *f)
{
    OK(t, cohort_free(f->context, f->tables));
    OK(t, cohort_free(f->context, f->counters));
    OK(t, cohort_free(f->context, f->ops));
    OK(t, cohort_free(f->context, f->records));
    free(f->host_tables);
    free(f->host_counters);
    free(f->host_ops);
    free(f->host_records);
}

static void send(struct test *t, const struct field *f)
{
    OK(t, cohort_copy(f->context, f->tables, f->host_tables, f->table_bytes));
    OK(t, cohort_copy(f->context, f->counters, f->host_counters, f->cases * sizeof *f->host_counters));
    OK(t, cohort_copy(f->context, f->ops, f->host_ops, f->list_bytes));
    OK(t, cohort_fill(f->context, f->records, 0, f->record_bytes));
}

static void fetch(struct test *t, const struct field *f)
{
    OK(t, cohort_copy(f->context, f->host_tables, f->tables, f->table_bytes));
    OK(t, cohort_copy(f->context, f->host_counters, f->counters, f->cases * sizeof *f->host_counters));
    OK(t, cohort_copy(f->context, f->host_records, f->records, f->record_bytes));
}

/* The lists of case `number`, the same each time that it is asked. */
static void lists_of(struct plan *p, enum family family, uint64_t seed, unsigned number)
{
    struct dice dice = {test_mix(seed * CASES + number + 5)};
    plan_draw_ops(p, family, &dice);
}

static int judge_field(struct test *t, const struct field *f, struct plan *p, enum family family,
                       uint64_t seed, enum clock clock)
{
    char text[4000];
    for (unsigned i = 0; i < f->cases; i++) {
        struct aftermath o = {.records =
                                  f->host_records + (uint64_t)i * p->lanes * p->each * LIST_RECORD_WORDS,
                              .table = f->host_tables + i * f->table_step,
                              .counters = &f->host_counters[i],
                              .clock = clock};
        lists_of(p, family, seed, i);
        tally_plan(plan_hash(p));
        if (plan_judge(p, &o, text, sizeof text))
            continue;
        report(t, seed, p, text);
        return 0;
    }
    return 1;
}

static int one_launch(struct test *t, struct field *f, cohort_width width, uint64_t seed, enum clock clock)
{
    struct dice dice = {test_mix(seed * 8 + (uint64_t)width)};
    enum family family = (enum family)dice_below(&dice, FAMILIES);
    struct plan plan;
    plan_draw(&plan, width, t->layout, family, &dice);
    struct list_args args = {.cases = f->cases,
                             .apart = (co_u32)dice_below(&dice, 2),
                             .table_step = f->table_step,
                             .counters_step = sizeof *f->host_counters,
                             .ops = f->ops,
                             .records = f->records};
    plan_args(&plan, &args);
    args.view = table_view(&plan.shape, f->tables, f->counters);
    for (unsigned i = 0; i < f->cases; i++) {
        lists_of(&plan, family, seed, i);
        memcpy(f->host_tables + i * f->table_step, plan.table, PLAN_TABLE);
        f->host_counters[i] = plan.counters;
        for (unsigned k = 0; k < plan.lanes * plan.each; k++)
            f->host_ops[i * plan.lanes * plan.each + k] = plan.ops[k];
    }
    unsigned block = 32u << dice_below(&dice, 4), lanes = f->cases * plan.lanes;
    send(t, f);
    OK(t,
       gpu_launch_grid(f->context, plan_kernel(&plan.shape), (lanes + block - 1) / block, block, 0, &args));
    fetch(t, f);
    tally_schedules(f->cases);
    return judge_field(t, f, &plan, family, seed, clock);
}

void run_launches(struct test *t, cohort_width width, uint64_t launches)
{
    cohort_context_options options = test_context_options(t);
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    char device[64];
    int simulated = t->kind == TEST_SIM;
    snprintf(device, sizeof device, "%s%s", t->device, simulated ? ",memory=strong" : "");
    options.device = device;
    cohort_status status = cohort_context_create(&options, &t->context);
    REQUIREF(t, !status, "cohort_context_create: %s", cohort_message(NULL));
    OK(t, cohort_context_get_info(t->context, &info));
    if (t->layout == COHORT_LAYOUT_PAGES && info.architecture < 90 && value_bytes(width) &&
        key_bytes(width) == 8)
        test_skip(t, "64-bit keys with values need sm_90, this is sm_%u", (unsigned)info.architecture);
    struct field field = field_new(t, t->context, simulated ? 16 : CASES);
    for (uint64_t i = 0; i < launches; i++)
        if (!one_launch(t, &field, width, t->seed + i, simulated ? CLOCK_STEPS : CLOCK_TIME))
            break;
    field_free(t, &field);
    cohort_context_destroy(t->context);
    t->context = NULL;
}
