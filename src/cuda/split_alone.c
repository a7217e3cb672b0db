/* split_alone.c: splits of few entries, in one launch: of one tile (kernels/split_alone.cu), or of as many as are at work at a time
 * (kernels/split_together.cu).
 *
 * What tiles tell each other is in memory that the context keeps: launches on its stream follow one another, and each has a serial
 * of its own, so nothing is cleared between them. A launch that is recorded may be done at any time, next to others, and again and again with
 * the same serial: it has words in its workspace, and clears them. */
#include <string.h>

#include "split.h"

#define SPLIT_TOGETHER_BUCKETS 256u /* for so many there are words */
#define SPLIT_SEARCHED_BUCKETS 64u  /* for so many there are instances that search */

/* In the workspace. */
static cohort_status own_words(cohort_context *context, struct split_step *step, uint64_t bytes)
{
    step->serial = 1;
    return context->backend->fill(context, step->told, 0, bytes);
}

static cohort_status words(cohort_context *context, struct split_step *step, uint64_t bytes, uint64_t most)
{
    struct gpu *g = gpu_of(context);
    cohort_status status = COHORT_OK;
    int first = !g->told;
    if (gpu_capturing(context))
        return own_words(context, step, bytes);
    if (first)
        g->told = context->backend->alloc(context, most);
    if (!g->told)
        return own_words(context, step, bytes);
    if (first || g->told_serial == SPLIT_SERIALS) { /* begins near the end, so that this is met early */
        status = context->backend->fill(context, g->told, 0, most);
        g->told_serial = first ? SPLIT_SERIALS - 2 : 1;
    }
    step->told = g->told;
    step->serial = g->told_serial++;
    return status;
}

static cohort_status together(cohort_context *context, struct pass *p, struct arena *arena, int ask)
{
    struct split_step *step = &p->step;
    uint64_t tile = (uint64_t)p->tuning->items * p->tuning->threads,
             tiles = at_least_one(step->n / tile + (step->n % tile != 0));
    uint64_t bytes = tiles * step->buckets * sizeof *step->told;
    const struct gpu *g = gpu_of(context);
    uint64_t most = (uint64_t)g->multiprocessors * split_together_spans_most(g->driver) *
                    SPLIT_TOGETHER_BUCKETS * sizeof *step->told;
    step->way = SPLIT_TOGETHER;
    step->spans = tiles;
    step->told = take(arena, bytes);
    cohort_status status = ask ? COHORT_OK : words(context, step, bytes, most);
    return status || ask ? status : tile_launch(context, p, "split_together", tiles);
}

/* A pass in which keys tell numbers. Splitters, which other passes leave ids for, are here as ranges are. */
static void begin(struct pass *p, const struct split *s)
{
    struct arena none = {NULL, 0};
    struct split as = *s;
    if (as.fn.kind == SPLIT_SPLITTERS)
        as.fn.kind = SPLIT_RANGES;
    pass_begin_split(p, &as, &none);
    p->step.fn = s->fn;
    p->step.can_fail = (co_u32)split_can_fail(&s->fn);
}

/* A few splitters, among 4-byte keys: of more a search takes longer than a launch that leaves ids. What fills up the last tile is as
 * great as a key can be. */
static int searched(struct split_step *step)
{
    const struct split_fn *fn = &step->fn;
    struct split_number *n = &step->number;
    if (fn->kind != SPLIT_SPLITTERS || step->can_fail || step->buckets > SPLIT_SEARCHED_BUCKETS ||
        step->part[0].bytes != 4 || pass_widest(step) != 4)
        return 0;
    memset(n, 0, sizeof *n);
    n->mask = ~0u;
    n->splitters = fn->data;
    n->ids = (co_u32)fn->count;
    for (n->step = n->ids; n->step & (n->step - 1);)
        n->step &= n->step - 1;
    step->last_key = UINT32_MAX;
    return 1;
}

int split_at_once(cohort_context *context, const struct split *s, struct arena *arena, int ask,
                  cohort_status *status)
{
    const struct gpu *g = gpu_of(context);
    struct arena none = {NULL, 0};
    struct pass p;
    struct split_step *step = &p.step;
    begin(&p, s);
    p.form = step->ids_bytes ? SPLIT_LOOSE : searched(step) ? SPLIT_SEARCHED : tile_numbers(step, &none);
    if (step->ids_bytes || p.form == SPLIT_LOOSE)
        return 0;
    p.tuning = split_alone_tuning_for(g, s->n, step->buckets, pass_widest(step), tile_kind(&p));
    if (p.tuning) {
        step->way = SPLIT_BY_ITSELF;
        *status = ask ? COHORT_OK : tile_launch(context, &p, "split_alone", 1);
        return 1;
    }
    p.tuning = split_together_tuning_for(g, s->n, step->buckets, pass_widest(step), tile_kind(&p));
    if (p.tuning)
        *status = together(context, &p, arena, ask);
    return p.tuning != NULL;
}
