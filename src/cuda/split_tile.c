/* split_tile.c: the launches of a pass by tiles (kernels/multisplit.cu): count, sum the counts up, put the
 * entries in their places. By spans (the method BLOCK) the count is of each span. By look-back (LOOK_BACK)
 * and by reserving (RESERVED) it is of all, and each tile finds what is before it itself. */
#include <stdio.h>
#include <string.h>

#include "split.h"

/* ---- numbers ------------------------------------------------------------------------------------------- */

#define TEST_BUCKETS 4u /* up to which there are instances for SPLIT_TEST */

/* Ids are left behind by the count, and go along as the first column. */
static void leave_ids(struct split_step *step, struct arena *arena)
{
    pass_add_part(step, step->part[0].in, step->part[0].out, step->part[0].bytes, step->part[0].stride);
    if (!step->part[0].out)
        step->parts--;
    step->ids_bytes = step->buckets + step->can_fail <= 256 ? 1 : 2;
    step->ids_out = arena_take(arena, at_least_one(step->n) * step->ids_bytes);
    step->part[0] = (struct split_part){step->ids_out, NULL, step->ids_bytes, step->ids_bytes};
}

/* A field of the entry, all of whose numbers are good, or not. The mask has no bits beyond the entry's end,
 * where the last key would have some too. */
static enum split_form by_field(struct split_step *step, unsigned from, co_u32 field, co_u32 ids)
{
    struct split_number *n = &step->number;
    unsigned bits = 8 * step->part[0].bytes;
    if (from >= bits)
        from = field = 0;
    if (step->can_fail) {
        n->from = from;
        n->field = field;
        n->ids = ids;
        return SPLIT_LOOSE;
    }
    n->mask &= n->shift < 32 ? field >> n->shift : 0;
    n->shift += from;
    if (n->shift >= bits)
        n->shift = n->mask = 0;
    if (bits - n->shift < 32)
        n->mask &= (1u << (bits - n->shift)) - 1;
    step->last_key = (co_u64)(n->mask < step->buckets ? n->mask : step->buckets - 1) << n->shift;
    return SPLIT_FIELD;
}

/* The last bucket may have more keys than the others: it ends where they would. A shift beyond the word
 * leaves nothing. */
static enum split_form by_ranges(struct split_step *step)
{
    const struct split_fn *fn = &step->fn;
    struct split_number *n = &step->number;
    co_u64 id = (co_u64)(step->buckets - 1) << step->shift, range = fn->b - fn->a, d = fn->by.divisor;
    n->low = fn->a;
    n->high = fn->a + (range / d < fn->buckets - 1 ? range : (fn->buckets - 1) * d);
    n->by = step->by;
    n->by.more -= n->low * n->by.factor;
    n->by.after += n->shift;
    if (n->by.after > 31)
        n->by.after = n->mask = 0;
    step->last_key = id > range / d ? fn->b : fn->a + id * d;
    return SPLIT_RANGED;
}

static enum split_form by_modulo(struct split_step *step)
{
    struct split_number *n = &step->number;
    n->by = step->by;
    n->divisor = step->fn.buckets;
    step->last_key = (co_u64)(step->buckets - 1) << step->shift;
    return SPLIT_REMAINDER;
}

static enum split_form by_pages(struct split_step *step)
{
    struct split_number *n = &step->number;
    n->low = step->fn.a;
    n->high = step->fn.count;
    n->shift += step->fn.by.after;
    step->last_key = step->buckets - 1;
    return SPLIT_PAGED;
}

/* Empty tests are never true: 0 - 1 <= 0. */
static enum split_form by_test(struct split_step *step)
{
    const struct split_fn *fn = &step->fn;
    struct split_number *n = &step->number;
    int between = fn->kind == SPLIT_BETWEEN, empty = between && fn->a > fn->b;
    n->keep = empty ? 0 : between ? ~0ull : fn->a;
    n->low = empty ? 1 : between ? fn->a : fn->b;
    n->high = empty || !between ? 0 : fn->b - fn->a;
    step->last_key = n->low;
    return SPLIT_TEST;
}

enum split_form tile_numbers(struct split_step *step, struct arena *arena)
{
    const struct split_fn *fn = &step->fn;
    int narrow = step->part[0].bytes == 4 && pass_widest(step) == 4;
    int few = step->buckets <= 1u << SPLIT_WORD_BITS; /* up to which there are instances of every form */
    memset(&step->number, 0, sizeof step->number);
    step->number.shift = step->shift;
    step->number.mask = step->mask;
    step->last_key = 0;
    if (pass_ids_width(fn->kind))
        return by_field(step, 0, ~0u, fn->buckets);
    if (!step->ids_out && fn->kind == SPLIT_BITS)
        return by_field(step, (unsigned)fn->a, (co_u32)fn->b, fn->buckets);
    if (fn->kind == SPLIT_PAGE_ANEW)
        return by_pages(step);
    if (!step->ids_out && !step->can_fail) {
        if (narrow && few && (fn->kind == SPLIT_RANGES || fn->kind == SPLIT_DELTA))
            return by_ranges(step);
        if (narrow && few && fn->kind == SPLIT_MODULO)
            return by_modulo(step);
        if (step->buckets <= TEST_BUCKETS && (fn->kind == SPLIT_BETWEEN || fn->kind == SPLIT_MASKED))
            return by_test(step);
    }
    if (!step->ids_out)
        leave_ids(step, arena);
    step->number.shift = 0; /* what is left behind are numbers */
    step->number.mask = ~0u;
    return by_field(step, 0, ~0u, step->buckets);
}

/* ---- plan ---------------------------------------------------------------------------------------------- */

/* As many spans as keep the device busy, of whole tiles but few; or one for each tile. */
static void cut(cohort_context *context, struct pass *p)
{
    struct split_step *step = &p->step;
    uint64_t tile = (uint64_t)p->tuning->instance->items * p->tuning->instance->threads,
             tiles = step->n / tile + (step->n % tile != 0);
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * p->tuning->spans, each = 1;
    if (step->way == SPLIT_BY_SPANS)
        each = at_least_one(tiles / most + (tiles % most != 0));
    if (each > SPLIT_TILES_MOST)
        each = SPLIT_TILES_MOST;
    step->tiles = (co_u32)each;
    step->span = tile * each;
    step->spans = at_least_one(tiles / each + (tiles % each != 0));
}

#define SUMMED_BUCKETS \
    256u /* up to which one warp sums the table up, as the last of the count, and no launch of its own */

static int counts_sum_up(const struct split_step *step)
{
    return step->way != SPLIT_BY_SPANS && step->buckets <= SUMMED_BUCKETS;
}

/* The table, and behind it what is cleared before the launches together with its last entry, or with all of
 * it. */
static void plan_table(cohort_context *context, struct pass *p, struct arena *arena)
{
    struct split_step *step = &p->step;
    uint64_t buckets = step->buckets, entries = buckets * split_columns_of(step), begin = arena->used;
    uint64_t kept = counts_sum_up(step) ? 0 : entries;
    enum split_loading loading = p->tuning->instance->loading;
    step->table = arena_take(arena, (entries + 1) * sizeof *step->table);
    p->cleared = arena->memory ? step->table + kept : NULL;
    if (counts_sum_up(step))
        step->done = arena_take(arena, sizeof *step->done);
    if (split_is_ticketed(step) || loading == SPLIT_FETCHED)
        step->tickets = arena_take(arena, sizeof *step->tickets);
    if (step->way == SPLIT_BY_LOOK_BACK && !p->gathers)
        step->before = arena_take(arena, step->spans * buckets * (loading == SPLIT_TWO_PHASE ? 4 : 8));
    else if (step->way == SPLIT_BY_RESERVING)
        step->before = arena_take(arena, buckets * sizeof *step->before);
    else if (step->way == SPLIT_IN_TILES)
        step->runs.left = arena_take(arena, entries * sizeof *step->runs.left);
    p->scan = arena_take(arena, gpu_scan_bytes(context, entries + 1));
    p->cleared_bytes = arena->used - begin - kept * sizeof *step->table;
    if (step->way != SPLIT_BY_SPANS || step->tiles == 1)
        return;
    step->published_words = split_words_of(step->buckets, p->tuning->instance->bits);
    step->published =
        arena_take(arena, step->spans * step->tiles * step->published_words * sizeof *step->published);
}

/* It depends on no pointer, since workspace is asked for before there are any. */
enum split_payload tile_payload(const struct pass *p)
{
    const struct split_step *step = &p->step;
    if (p->form == SPLIT_LOOSE || pass_widest(step) > 4)
        return SPLIT_COLUMNS_8;
    if (step->part[0].bytes != 4 || step->parts > 2)
        return SPLIT_COLUMNS_4;
    if (step->parts == 1)
        return SPLIT_KEYS;
    return step->part[1].bytes == 4 ? SPLIT_PAIRS : SPLIT_COLUMNS_4;
}

#define FETCHED_KEYS  5u /* buckets from which on keys alone are fetched, */
#define FETCHED_PAIRS 2u /* and pairs, */

int tile_is_fetched(const struct gpu *g, enum split_payload payload, unsigned buckets, uint64_t n)
{
    struct split_request request = {.way = SPLIT_BY_TABLE,
                                    .payload = payload,
                                    .loading = SPLIT_FETCHED,
                                    .buckets = buckets,
                                    .needs_spans = 1};
    const struct split_tuning *t = split_tuning_for(g, &request);
    const struct split_instance *i = t ? t->instance : NULL;
    return buckets >= (payload == SPLIT_KEYS ? FETCHED_KEYS : FETCHED_PAIRS) && i &&
           i->loading == SPLIT_FETCHED &&
           n >= (uint64_t)g->multiprocessors * i->items * i->threads * t->least_tiles &&
           split_instance_shared(i) <= g->shared_most;
}

/* How keys alone and pairs go. They are fetched if they are many and do not look back, or numbers are those
 * of pages. Other pairs go in two phases, but where they look back and are more than words of 32 bits can
 * tell of. */
static enum split_loading loading_of(const struct gpu *g, const struct pass *p, enum split_payload payload)
{
    const struct split_step *step = &p->step;
    if (p->gathers)
        return SPLIT_GATHERED;
    if ((payload != SPLIT_KEYS && payload != SPLIT_PAIRS) || step->way == SPLIT_IN_TILES)
        return SPLIT_LOADED;
    if ((step->way != SPLIT_BY_LOOK_BACK || p->form == SPLIT_PAGED) &&
        tile_is_fetched(g, payload, step->buckets, step->n))
        return SPLIT_FETCHED;
    return payload == SPLIT_KEYS || (step->way == SPLIT_BY_LOOK_BACK && step->n >= g->tuning->sort_short)
               ? SPLIT_LOADED
               : SPLIT_TWO_PHASE;
}

/* Keys, alone or with a payload, whose numbers the count leaves behind, as bytes: where they are fetched,
 * these are no column. */
static void take_numbers(const struct gpu *g, struct pass *p)
{
    struct split_step *step = &p->step;
    if (p->form != SPLIT_FIELD || step->ids_bytes != 1 || step->parts < 2 || step->parts > 3 ||
        step->part[1].bytes != 4 || (step->parts == 3 && step->part[2].bytes != 4) || p->gathers ||
        step->way == SPLIT_IN_TILES || step->way == SPLIT_BY_LOOK_BACK ||
        !tile_is_fetched(g, step->parts == 2 ? SPLIT_KEYS : SPLIT_PAIRS, step->buckets, step->n))
        return;
    step->parts--;
    for (co_u32 i = 0; i < step->parts; i++)
        step->part[i] = step->part[i + 1];
    p->form = SPLIT_LEFT;
}

cohort_status tile_plan(cohort_context *context, struct pass *p, struct arena *arena)
{
    const struct gpu *g = gpu_of(context);
    struct split_step *step = &p->step;
    p->form = tile_numbers(step, arena);
    take_numbers(g, p);
    struct split_request request = {.way = step->way == SPLIT_IN_TILES ? SPLIT_IN_TILES : SPLIT_BY_TABLE,
                                    .payload = tile_payload(p),
                                    .buckets = step->buckets,
                                    .forms = 1u << p->form,
                                    .needs_spans = step->way == SPLIT_BY_SPANS};
    request.loading = loading_of(g, p, request.payload);
    p->tuning = split_tuning_for(g, &request);
    if (!p->tuning)
        return context_fail(context, COHORT_UNSUPPORTED, "a tile of a split does not do %u buckets",
                            step->buckets);
    cut(context, p);
    step->first_bad = arena_take(arena, sizeof *step->first_bad);
    plan_table(context, p, arena);
    return COHORT_OK;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static cohort_status histograms(cohort_context *context, const struct pass *p)
{
    char name[48];
    struct split_step step = p->step;
    step.part[0] = p->source;
    snprintf(name, sizeof name, "multisplit_histograms_%u", 8 * step.part[0].bytes);
    return gpu_launch_grid(context, name, (unsigned)step.spans, gpu_of(context)->tuning->block,
                           (step.buckets + 1) * 4, &step);
}

cohort_status tile_launch(cohort_context *context, const struct pass *p, uint64_t blocks)
{
    static const char *const forms[] = {
        [SPLIT_FIELD] = "field",         [SPLIT_LOOSE] = "loose", [SPLIT_RANGED] = "ranged",
        [SPLIT_REMAINDER] = "remainder", [SPLIT_TEST] = "test",   [SPLIT_SEARCHED] = "searched",
        [SPLIT_LEFT] = "left",           [SPLIT_PAGED] = "paged"};
    const struct split_instance *instance = p->tuning->instance;
    unsigned shared = split_instance_shared(instance);
    char name[80];
    snprintf(name, sizeof name, "%s_%s", instance->kernel, forms[p->form]);
    if (instance->way == SPLIT_IN_TILES)
        shared += p->step.runs.buckets * 4;
    return gpu_launch_grid(context, name, (unsigned)blocks, instance->threads, shared, &p->step);
}

cohort_status tile_place(cohort_context *context, const struct pass *p)
{
    uint64_t tiles = p->step.spans * p->step.tiles, at_work = gpu_of(context)->multiprocessors;
    int go_on = p->tuning->instance->loading == SPLIT_FETCHED;
    return tile_launch(context, p, go_on && tiles > at_work ? at_work : tiles);
}

static cohort_status clear(cohort_context *context, const struct pass *p)
{
    const struct split_step *step = &p->step;
    cohort_status status = COHORT_OK;
    if (step->can_fail)
        status = context_fill(context, step->first_bad, 0xff, sizeof *step->first_bad);
    if (!status)
        status = context_fill(context, p->cleared, 0, p->cleared_bytes);
    return status;
}

cohort_status tile_run(cohort_context *context, const struct pass *p)
{
    const struct split_step *step = &p->step;
    cohort_status status = clear(context, p);
    if (!status)
        status = step->way == SPLIT_BY_SPANS ? histograms(context, p)
                 : step->done                ? split_count_into(context, p, step->table)
                                             : split_count_all(context, p, step->table);
    if (!status && !step->done)
        status = gpu_scan_cleared(context, step->table, step->buckets * split_columns_of(step) + 1, p->scan);
    return status ? status : tile_place(context, p);
}

/* ---- the methods --------------------------------------------------------------------------------------- */

static cohort_status split_by(cohort_context *context, const struct split *s, struct arena *arena,
                              unsigned way)
{
    struct pass p;
    pass_begin_split(&p, s, arena);
    p.step.way = way;
    cohort_status status = tile_plan(context, &p, arena);
    return status || arena->asks ? status : tile_run(context, &p);
}

cohort_status split_by_blocks(cohort_context *context, const struct split *s, struct arena *arena)
{
    return split_by(context, s, arena, SPLIT_BY_SPANS);
}

cohort_status split_by_look_back(cohort_context *context, const struct split *s, struct arena *arena)
{
    return split_by(context, s, arena, SPLIT_BY_LOOK_BACK);
}

cohort_status split_by_reserving(cohort_context *context, const struct split *s, struct arena *arena)
{
    return split_by(context, s, arena, SPLIT_BY_RESERVING);
}
