/* multisplit.c: the launches of a multisplit and of a histogram (kernels/multisplit.cu), and what they need of workspace.
 *
 * By blocks: count the spans, sum the counts up, put the entries in their places. Everything that a launch depends on is known
 * from n and the descriptor, so nothing waits. */
#include "device.h"

#include <stdio.h>
#include <string.h>

#include "shape/split_step.h"

#define SPLIT_COUNT_BLOCKS 8u /* a multiprocessor */

/* ---- workspace --------------------------------------------------------------------------------------------------------- */

/* Takes `bytes` from the workspace, or only counts them where there is none. */
struct arena {
    char *memory;
    uint64_t used;
};

static void *take(struct arena *a, uint64_t bytes)
{
    void *at = a->memory ? a->memory + a->used : NULL;
    a->used += (bytes + 255) / 256 * 256;
    return at;
}

/* ---- a split by blocks ------------------------------------------------------------------------------------------------- */

struct plan {
    const struct split_tuning *tuning;
    struct split_step step;
    co_u64 *scan;
};

static uint64_t at_least_one(uint64_t n)
{
    return n ? n : 1;
}

static unsigned ids_width(const struct split *s)
{
    switch (s->fn.kind) {
    case SPLIT_IDS8:
        return 1;
    case SPLIT_IDS16:
        return 2;
    case SPLIT_IDS32:
        return 4;
    default:
        return 0;
    }
}

/* Does the second launch compute ids again? Else the first leaves them behind. */
static int is_cheap(const struct split *s)
{
    switch (s->fn.kind) {
    case SPLIT_BITS:
    case SPLIT_BETWEEN:
    case SPLIT_MASKED:
        return 1;
    case SPLIT_MODULO:
    case SPLIT_RANGES:
    case SPLIT_DELTA:
        return s->key_bytes == 4;
    default:
        return ids_width(s) != 0;
    }
}

/* floor(2^64 / d) + 1, 0 for 1. */
static co_u64 inverse(co_u64 d)
{
    return d == 1 ? 0 : UINT64_MAX / d + 1;
}

static void add_column(struct split_step *step, const void *in, void *out, unsigned bytes)
{
    if (out)
        step->column[step->columns++] = (struct split_column){in, out, bytes, 0};
}

/* The widest of what passes through shared memory: entries of 16 bytes do not. */
static unsigned widest(const struct split *s, const struct split_step *step)
{
    unsigned most = step->source_bytes;
    for (unsigned c = 0; c < step->columns; c++)
        if (step->column[c].bytes <= 8 && step->column[c].bytes > most)
            most = step->column[c].bytes;
    (void)s;
    return most;
}

static cohort_status make_plan(cohort_context *context, const struct split *s, struct arena *arena,
                               struct plan *plan)
{
    const struct gpu *g = gpu_of(context);
    struct split_step *step = &plan->step;
    memset(plan, 0, sizeof *plan);
    step->n = s->n;
    step->fn = s->fn;
    step->inverse = inverse(s->fn.by.divisor);
    step->source = ids_width(s) ? s->fn.data : s->keys;
    step->source_bytes = ids_width(s) ? ids_width(s) : s->key_bytes;
    step->permutation = s->permutation;
    step->permutation_bytes = s->permutation_bytes;
    step->offsets = s->offsets;
    step->counts = s->counts;
    step->deferred = s->deferred;
    add_column(step, s->keys, s->keys_out, s->key_bytes);
    for (unsigned c = 0; c < s->columns; c++)
        add_column(step, s->column[c].in, s->column[c].out, s->column[c].bytes);
    step->raw_bytes = widest(s, step);
    plan->tuning = split_tuning_for(g->driver, g->architecture, s->fn.buckets, step->raw_bytes);
    if (!plan->tuning)
        return context_fail(context, COHORT_UNSUPPORTED, "desc.buckets is %u: no split by blocks has so many",
                            s->fn.buckets);
    uint64_t tile = (uint64_t)plan->tuning->items * plan->tuning->threads;
    step->span = tile * plan->tuning->tiles;
    step->spans = at_least_one(s->n / step->span + (s->n % step->span != 0));
    for (unsigned bits = 0; plan->tuning->rounds == 2 && bits * 2 < 11 && 1u << bits * 2 < s->fn.buckets;
         bits++)
        step->low_bits = bits + 1;
    uint64_t entries = s->fn.buckets * step->spans + 1;
    step->first_bad = take(arena, sizeof *step->first_bad);
    step->table = take(arena, entries * sizeof *step->table);
    plan->scan = take(arena, gpu_scan_bytes(context, entries));
    if (!is_cheap(s)) {
        step->ids_bytes = s->fn.buckets + (unsigned)split_can_fail(&s->fn) <= 256 ? 1 : 2;
        step->ids_out = take(arena, s->n * step->ids_bytes);
    }
    return COHORT_OK;
}

static cohort_status tally(cohort_context *context, const struct split_step *step)
{
    char name[48];
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * SPLIT_COUNT_BLOCKS;
    snprintf(name, sizeof name, "multisplit_tally_%u", 8 * step->source_bytes);
    return gpu_launch_grid(context, name, (unsigned)(step->spans < most ? step->spans : most),
                           gpu_of(context)->tuning->block, step->fn.buckets * 4, step);
}

static cohort_status place(cohort_context *context, const struct plan *plan)
{
    char name[64];
    const struct split_tuning *t = plan->tuning;
    struct split_step step = plan->step;
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * t->blocks;
    if (step.ids_out) {
        step.fn.kind = step.ids_bytes == 1 ? SPLIT_IDS8 : SPLIT_IDS16;
        step.source = step.ids_out;
        step.source_bytes = step.ids_bytes;
    }
    snprintf(name, sizeof name, "multisplit_place_%ux%u_%u_%u", t->items, t->threads, t->widest, t->rounds);
    return gpu_launch_grid(context, name, (unsigned)(step.spans < most ? step.spans : most), t->threads,
                           split_layout(&step, t->items, t->threads).end, &step);
}

static cohort_status by_blocks(cohort_context *context, const struct split *s, uint64_t *need)
{
    struct arena arena = {need ? NULL : s->workspace, 0};
    struct plan plan;
    cohort_status status = make_plan(context, s, &arena, &plan);
    if (need || status) {
        if (need)
            *need = arena.used;
        return status;
    }
    const struct backend *backend = context->backend;
    struct split_step *step = &plan.step;
    uint64_t entries = s->fn.buckets * step->spans + 1;
    status = backend->fill(context, step->first_bad, 0xff, sizeof *step->first_bad);
    if (!status)
        status = backend->fill(context, step->table + entries - 1, 0, sizeof *step->table);
    if (!status)
        status = tally(context, step);
    if (!status)
        status = gpu_scan(context, step->table, entries, plan.scan);
    return status ? status : place(context, &plan);
}

/* ---- entries ----------------------------------------------------------------------------------------------------------- */

cohort_status cuda_split(cohort_context *context, const struct split *s, uint64_t *need)
{
    if (s->user)
        return context_fail(context, COHORT_UNSUPPORTED, "desc.fn.kind is %u (USER)", s->fn.kind);
    return by_blocks(context, s, need);
}

cohort_status cuda_histogram(cohort_context *context, const struct split *s, uint64_t *need)
{
    return by_blocks(context, s, need);
}
