/* split_tile.c: the launches of a pass by tiles (kernels/multisplit.cu). By spans (the method BLOCK): count the spans, sum the counts up, put
 * the entries in their places. By look-back (LOOK_BACK) and by reserving (RESERVED): count all, sum the buckets up, put the entries
 * in their places, where each tile finds what is before it itself. */
#include <stdio.h>
#include <string.h>

#include "split.h"

/* ---- numbers ----------------------------------------------------------------------------------------------------------- */

static int is_ids(const struct split_step *step)
{
    return step->ids_out || step->fn.kind == SPLIT_IDS8 || step->fn.kind == SPLIT_IDS16 ||
           step->fn.kind == SPLIT_IDS32;
}

/* A key whose number none is above, of a cheap function. */
static co_u64 last_key(const struct split_step *step)
{
    const struct split_fn *fn = &step->fn;
    co_u64 id = (co_u64)(step->buckets - 1) << step->shift;
    switch (fn->kind) {
    case SPLIT_RANGES:
    case SPLIT_DELTA:
        return id > (fn->b - fn->a) / fn->by.divisor ? fn->b : fn->a + id * fn->by.divisor;
    case SPLIT_BETWEEN:
        return fn->a;
    case SPLIT_MASKED:
        return fn->b;
    default:
        return id;
    }
}

static void by_field(struct split_step *step, unsigned shift, co_u32 mask, unsigned bits)
{
    co_u64 most = mask < step->buckets ? mask : step->buckets - 1;
    step->number.shift = shift < bits ? shift : 0;
    step->number.mask = shift < bits ? mask : 0;
    step->last_key = shift < bits ? most << shift : 0;
}

/* How the place kernel finds numbers: the form of its instance. */
static unsigned find_numbers(struct split_step *step)
{
    const struct split_fn *fn = &step->fn;
    unsigned form = SPLIT_ANY, bits = 8 * step->part[0].bytes;
    step->number = (struct split_number){*fn, step->inverse, step->shift, step->mask};
    step->last_key = 0;
    if (step->ids_out) { /* they are numbers */
        step->number.fn.buckets = step->buckets;
        step->number.shift = 0;
        step->number.mask = ~0u;
    }
    if (is_ids(step)) {
        step->number.fn.kind = SPLIT_IDS32;
        if (!step->can_fail) {
            by_field(step, step->number.shift, step->number.mask, bits);
            form = SPLIT_FIELD;
        }
    } else if (!step->can_fail && fn->kind == SPLIT_BITS) {
        co_u32 mask = step->shift < 32 ? (co_u32)fn->b >> step->shift & step->mask : 0;
        by_field(step, (unsigned)fn->a + step->shift, mask, bits);
        form = SPLIT_FIELD;
    } else if (!step->can_fail && pass_widest(step) == 4) {
        step->last_key = last_key(step);
        form = SPLIT_WORD;
    }
    return form;
}

/* ---- plan -------------------------------------------------------------------------------------------------------------- */

/* As many spans as keep the device busy, of whole tiles; or one for each tile. */
static void cut(cohort_context *context, struct pass *p)
{
    struct split_step *step = &p->step;
    uint64_t tile = (uint64_t)p->tuning->items * p->tuning->threads,
             tiles = step->n / tile + (step->n % tile != 0);
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * p->tuning->spans, each = 1;
    if (step->way == SPLIT_BY_SPANS)
        each = at_least_one(tiles / most + (tiles % most != 0));
    step->span = tile * each;
    step->spans = at_least_one(tiles / each + (tiles % each != 0));
}

cohort_status tile_plan(cohort_context *context, struct pass *p, struct arena *arena)
{
    const struct gpu *g = gpu_of(context);
    struct split_step *step = &p->step;
    p->form = find_numbers(step);
    int alone = step->parts == 1 && step->part[0].bytes == 4 && p->form != SPLIT_ANY;
    p->tuning = split_tuning_for(g->driver, g->architecture, step->buckets,
                                 p->form == SPLIT_ANY ? 8 : pass_widest(step), !alone);
    if (!p->tuning)
        return context_fail(context, COHORT_UNSUPPORTED, "a tile of a split does not do %u buckets",
                            step->buckets);
    cut(context, p);
    uint64_t entries = step->buckets * split_columns_of(step) + 1;
    step->first_bad = take(arena, sizeof *step->first_bad);
    step->table = take(arena, entries * sizeof *step->table);
    p->scan = take(arena, gpu_scan_bytes(context, entries));
    if (step->way == SPLIT_BY_LOOK_BACK)
        step->tickets = take(arena, sizeof *step->tickets);
    p->before_bytes = step->way == SPLIT_BY_SPANS       ? 0
                      : step->way == SPLIT_BY_RESERVING ? step->buckets * sizeof(co_u64)
                                                        : step->spans * step->buckets * sizeof(co_u64);
    if (p->before_bytes)
        step->before = take(arena, p->before_bytes);
    return COHORT_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------------- */

static cohort_status tally(cohort_context *context, const struct pass *p)
{
    char name[48];
    struct split_step step = p->step;
    step.part[0] = p->source;
    snprintf(name, sizeof name, "multisplit_tally_%u", 8 * step.part[0].bytes);
    return gpu_launch_grid(context, name, (unsigned)step.spans, gpu_of(context)->tuning->block,
                           (step.buckets + 1) * 4, &step);
}

static cohort_status place(cohort_context *context, const struct pass *p)
{
    static const char *const forms[] = {"field", "word", "any"};
    const struct split_tuning *t = p->tuning;
    char name[64];
    snprintf(name, sizeof name, "multisplit_%s_%u_%u_%ux%u_%s", t->columns ? "columns" : "keys", t->widest,
             t->bits, t->items, t->threads, forms[p->form]);
    return gpu_launch_grid(context, name, (unsigned)p->step.spans, t->threads,
                           split_layout(t->bits, t->items, t->threads, t->widest).end, &p->step);
}

static cohort_status clear(cohort_context *context, const struct pass *p)
{
    const struct backend *backend = context->backend;
    const struct split_step *step = &p->step;
    cohort_status status = backend->fill(context, step->first_bad, 0xff, sizeof *step->first_bad);
    if (!status)
        status = backend->fill(context, step->table + step->buckets * split_columns_of(step), 0,
                               sizeof *step->table);
    if (!status && step->way == SPLIT_BY_LOOK_BACK)
        status = backend->fill(context, step->tickets, 0, sizeof *step->tickets);
    if (!status && p->before_bytes)
        status = backend->fill(context, step->before, 0, p->before_bytes);
    return status;
}

cohort_status tile_run(cohort_context *context, const struct pass *p)
{
    const struct split_step *step = &p->step;
    cohort_status status = clear(context, p);
    if (!status)
        status = step->way == SPLIT_BY_SPANS ? tally(context, p) : split_count_all(context, p, step->table);
    if (!status)
        status = gpu_scan(context, step->table, step->buckets * split_columns_of(step) + 1, p->scan);
    return status ? status : place(context, p);
}

/* ---- the methods ------------------------------------------------------------------------------------------------------- */

static cohort_status split_by(cohort_context *context, const struct split *s, struct arena *arena, int ask,
                              unsigned way)
{
    struct pass p;
    pass_begin_split(&p, s, arena);
    p.step.way = way;
    cohort_status status = tile_plan(context, &p, arena);
    return status || ask ? status : tile_run(context, &p);
}

cohort_status split_by_blocks(cohort_context *context, const struct split *s, struct arena *arena, int ask)
{
    return split_by(context, s, arena, ask, SPLIT_BY_SPANS);
}

cohort_status split_by_look_back(cohort_context *context, const struct split *s, struct arena *arena, int ask)
{
    return split_by(context, s, arena, ask, SPLIT_BY_LOOK_BACK);
}

cohort_status split_by_reserving(cohort_context *context, const struct split *s, struct arena *arena, int ask)
{
    return split_by(context, s, arena, ask, SPLIT_BY_RESERVING);
}
