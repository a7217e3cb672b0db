/* split_once.c: splits of few entries, in one launch (kernels/split_once.cu): of one tile, or of as many as
 * are at work at a time, or of spans of a few such tiles.
 *
 * What blocks publish to each other is in memory that the context keeps: launches on its stream follow one
 * another, and each has a serial of its own, so nothing is cleared between them. A launch that is recorded
 * may be done at any time, next to others, and again and again with the same serial: it has words in its
 * workspace, and clears them. */
#include <string.h>

#include "split.h"

#define SPLIT_TOGETHER_BUCKETS 256u /* for so many there are words */
#define SPLIT_SEARCHED_BUCKETS 64u  /* for so many there are instances that search */

/* In the workspace. */
static cohort_status own_words(cohort_context *context, struct split_step *step, uint64_t bytes)
{
    step->serial = 1;
    return context_fill(context, step->published, 0, bytes);
}

static cohort_status words(cohort_context *context, struct split_step *step, uint64_t bytes, uint64_t most)
{
    struct gpu *g = gpu_of(context);
    cohort_status status = COHORT_OK;
    int first = !g->published;
    if (gpu_capturing(context))
        return own_words(context, step, bytes);
    if (first)
        g->published = context->backend->context->alloc(context, most);
    if (!g->published)
        return own_words(context, step, bytes);
    if (first || g->publish_serial == SPLIT_SERIALS) { /* begins near the end, so that this is met early */
        g->publish_serial = SPLIT_SERIALS;             /* what cannot be cleared now is the next time */
        status = context_fill(context, g->published, 0, most);
        if (status)
            return status;
        g->publish_serial = first ? SPLIT_SERIALS - 2 : 1;
    }
    step->published = g->published;
    step->serial = g->publish_serial++;
    return status;
}

/* A tile a block; or, of so many rows that spans are even, as many as must be. */
static void cut(const struct gpu *g, struct pass *p)
{
    struct split_step *step = &p->step;
    const struct split_instance *t = p->tuning->instance;
    int by_spans = t->way == SPLIT_SPANS_TOGETHER;
    uint64_t blocks = (uint64_t)g->multiprocessors * p->tuning->spans, most = blocks * t->items * t->threads;
    step->tiles = by_spans ? (co_u32)at_least_one(step->n / most + (step->n % most != 0)) : 1;
    step->rows = t->items;
    if (by_spans) {
        uint64_t each = blocks * step->tiles * t->threads * SPLIT_ROWS_STEP;
        step->rows = SPLIT_ROWS_STEP * (co_u32)at_least_one(step->n / each + (step->n % each != 0));
    }
    step->rows = step->rows < t->items ? step->rows : t->items;
    uint64_t span = (uint64_t)step->tiles * step->rows * t->threads;
    step->spans = at_least_one(step->n / span + (step->n % span != 0));
}

static cohort_status together(cohort_context *context, struct pass *p, struct arena *arena)
{
    struct split_step *step = &p->step;
    const struct gpu *g = gpu_of(context);
    cut(g, p);
    uint64_t bytes = step->spans * step->buckets * sizeof *step->published;
    uint64_t most = (uint64_t)g->multiprocessors * split_together_spans_most(g->driver) *
                    SPLIT_TOGETHER_BUCKETS * sizeof *step->published;
    step->published = arena_take(arena, bytes);
    cohort_status status = arena->asks ? COHORT_OK : words(context, step, bytes, most);
    return status || arena->asks ? status : tile_launch(context, p, step->spans);
}

/* A pass in which keys tell numbers. Splitters, which other passes leave ids for, are here as ranges are. */
static void begin(struct pass *p, const struct split *s)
{
    struct arena none = {.memory = NULL};
    struct split as = *s;
    if (as.fn.kind == SPLIT_SPLITTERS)
        as.fn.kind = SPLIT_RANGES;
    pass_begin_split(p, &as, &none);
    p->step.fn = s->fn;
    p->step.can_fail = (co_u32)split_can_fail(&s->fn);
}

/* A few splitters, among 4-byte keys: of more a search takes longer than a launch that leaves ids. What fills
 * up the last tile is as great as a key can be. */
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

/* The least of the three ways whose tiles hold all entries at a time. */
static const struct split_tuning *tuning_for(const struct gpu *g, const struct pass *p)
{
    static const enum split_way ways[] = {SPLIT_ALONE, SPLIT_TOGETHER, SPLIT_SPANS_TOGETHER};
    const struct split_tuning *t = NULL;
    for (int i = 0; i < 3 && !t; i++) {
        struct split_request request = {.way = ways[i],
                                        .payload = tile_payload(p),
                                        .loading = SPLIT_LOADED,
                                        .buckets = p->step.buckets,
                                        .forms = 1u << p->form,
                                        .entries = p->step.n};
        if (ways[i] == SPLIT_SPANS_TOGETHER && request.payload == SPLIT_PAIRS)
            request.loading = SPLIT_TWO_PHASE;
        t = split_tuning_for(g, &request);
    }
    return t;
}

int split_at_once(cohort_context *context, const struct split *s, struct arena *arena, cohort_status *status)
{
    struct arena none = {.memory = NULL};
    struct pass p;
    struct split_step *step = &p.step;
    begin(&p, s);
    p.form = step->ids_bytes ? SPLIT_LOOSE : searched(step) ? SPLIT_SEARCHED : tile_numbers(step, &none);
    if (step->ids_bytes || p.form == SPLIT_LOOSE)
        return 0;
    p.tuning = tuning_for(gpu_of(context), &p);
    if (!p.tuning)
        return 0;
    step->way = p.tuning->instance->way;
    if (step->way != SPLIT_ALONE)
        *status = together(context, &p, arena);
    else
        *status = arena->asks ? COHORT_OK : tile_launch(context, &p, 1);
    return 1;
}
