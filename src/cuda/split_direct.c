/* split_direct.c: the launches of the methods DIRECT and WARP (kernels/split_direct.cu): each warp counts its
 * spans, the counts are summed up, each warp puts the entries of its spans in their places. */
#include <stdio.h>

#include "split.h"
#include "shape/split_direct.h"

#define WARPS_A_BLOCK(g) ((g)->tuning->block / 32)

struct warps {
    struct pass pass;
    const struct split_warp_tuning *tuning;
    int ordered; /* WARP */
    unsigned bits;
    unsigned shared; /* bytes of a block */
};

/* Spans are as long as leaves each warp of the device one, within limits, and of whole rows in hand of either
 * launch. */
static void cut(cohort_context *context, struct warps *w)
{
    struct split_step *step = &w->pass.step;
    const struct split_warp_tuning *t = w->tuning;
    uint64_t piece = 32ull * (t->direct_items > t->warp_items ? t->direct_items : t->warp_items);
    uint64_t each = step->n / ((uint64_t)gpu_of(context)->multiprocessors * t->warps) / piece + 1;
    step->span = piece * (each < t->pieces ? each : t->pieces);
    step->spans = at_least_one(step->n / step->span + (step->n % step->span != 0));
}

static void plan(cohort_context *context, struct warps *w, struct arena *arena)
{
    const struct gpu *g = gpu_of(context);
    struct split_step *step = &w->pass.step;
    w->tuning = split_warp_tuning_for(g);
    w->bits = step->fn.buckets <= 32 ? 5 : 8;
    unsigned items = w->ordered ? w->tuning->warp_items : w->tuning->direct_items;
    w->shared = WARPS_A_BLOCK(g) * split_warp_layout(step->fn.buckets, 32 * items, w->ordered ? 8 : 0).end;
    cut(context, w);
    uint64_t entries = step->fn.buckets * step->spans + 1;
    step->first_bad = arena_take(arena, sizeof *step->first_bad);
    step->table = arena_take(arena, entries * sizeof *step->table);
    w->pass.scan = arena_take(arena, gpu_scan_bytes(context, entries));
}

static cohort_status launch(cohort_context *context, const struct warps *w, const char *name, unsigned shared,
                            const struct split_step *step)
{
    const struct gpu *g = gpu_of(context);
    uint64_t blocks = (step->spans - 1) / WARPS_A_BLOCK(g) + 1;
    uint64_t most = (uint64_t)g->multiprocessors * w->tuning->blocks;
    return gpu_launch_grid(context, name, (unsigned)(blocks < most ? blocks : most), g->tuning->block, shared,
                           step);
}

static cohort_status histograms(cohort_context *context, const struct warps *w)
{
    char name[48];
    struct split_step step = w->pass.step;
    step.part[0] = w->pass.source;
    snprintf(name, sizeof name, "split_direct_histograms_%u_%u", 8 * step.part[0].bytes, w->bits);
    return launch(context, w, name, 0, &step);
}

static cohort_status place(cohort_context *context, const struct warps *w)
{
    char name[48];
    struct split_step step = w->pass.step;
    if (step.ids_out)
        step.fn.kind = SPLIT_IDS32;
    snprintf(name, sizeof name, "split_direct_%s_%u", w->ordered ? "warp" : "direct", w->bits);
    return launch(context, w, name, w->shared, &step);
}

static cohort_status run(cohort_context *context, const struct warps *w)
{
    const struct split_step *step = &w->pass.step;
    uint64_t entries = step->fn.buckets * step->spans + 1;
    cohort_status status = context_fill(context, step->first_bad, 0xff, sizeof *step->first_bad);
    if (!status)
        status = context_fill(context, step->table + entries - 1, 0, sizeof *step->table);
    if (!status)
        status = histograms(context, w);
    if (!status)
        status = gpu_scan(context, step->table, entries, w->pass.scan);
    return status ? status : place(context, w);
}

cohort_status split_by_warps(cohort_context *context, const struct split *s, struct arena *arena)
{
    struct warps w;
    w.ordered = s->method == COHORT_SPLIT_WARP;
    pass_begin_split(&w.pass, s, arena);
    plan(context, &w, arena);
    return arena->asks ? COHORT_OK : run(context, &w);
}
