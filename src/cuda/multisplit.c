/* multisplit.c: the launches of a multisplit and of a histogram (kernels/multisplit.cu), and what they need of workspace.
 *
 * By blocks: count the spans, sum the counts up, put the entries in their places. By digits, for more buckets than a block can keep apart:
 * one launch writes the low and the high half of each id, and two splits by blocks follow, the first by the low halves (what is bad is
 * left out there), the second, being stable, by the high ones. A user's function is a launch of its own that writes ids.
 * Everything that a launch depends on is known from n and the descriptor, so nothing waits. */
#include <stdio.h>
#include <string.h>

#include "shape/split_direct.h"
#include "split.h"

#define SPLIT_COUNT_BLOCKS 8u     /* a multiprocessor */
#define SPLIT_SHARED_BINS  49152u /* buckets below which a block counts them all in its shared memory */
#define SPLIT_DIGITS       256u   /* buckets of the first of two passes */

/* ---- a split by blocks ------------------------------------------------------------------------------------------------- */

static cohort_status plan_pass(cohort_context *context, struct pass *p, struct arena *arena)
{
    const struct gpu *g = gpu_of(context);
    struct split_step *step = &p->step;
    p->tuning = split_tuning_for(g->driver, g->architecture, step->fn.buckets, pass_widest(step));
    if (!p->tuning)
        return context_fail(context, COHORT_UNSUPPORTED, "desc.method is BLOCK, which does not do %u buckets",
                            step->fn.buckets);
    uint64_t tile = (uint64_t)p->tuning->items * p->tuning->threads;
    step->span = tile * p->tuning->tiles;
    step->spans = at_least_one(step->n / step->span + (step->n % step->span != 0));
    uint64_t entries = step->fn.buckets * step->spans + 1;
    step->first_bad = take(arena, sizeof *step->first_bad);
    step->table = take(arena, entries * sizeof *step->table);
    p->scan = take(arena, gpu_scan_bytes(context, entries));
    return COHORT_OK;
}

static cohort_status tally(cohort_context *context, const struct pass *p)
{
    char name[48];
    struct split_step step = p->step;
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * SPLIT_COUNT_BLOCKS;
    step.part[0] = p->source;
    snprintf(name, sizeof name, "multisplit_tally_%u", 8 * step.part[0].bytes);
    return gpu_launch_grid(context, name, (unsigned)(step.spans < most ? step.spans : most),
                           gpu_of(context)->tuning->block, (step.fn.buckets + 1) * 4, &step);
}

static cohort_status place(cohort_context *context, const struct pass *p)
{
    char name[64];
    const struct split_tuning *t = p->tuning;
    struct split_step step = p->step;
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * t->blocks;
    if (step.ids_out)
        step.fn.kind = SPLIT_IDS32;
    snprintf(name, sizeof name, "multisplit_place_%u_%u_%ux%u", t->widest, t->bits, t->items, t->threads);
    return gpu_launch_grid(context, name, (unsigned)(step.spans < most ? step.spans : most), t->threads,
                           split_layout(step.fn.buckets, t->items, t->threads, t->widest).end, &step);
}

static cohort_status run_pass(cohort_context *context, const struct pass *p)
{
    const struct backend *backend = context->backend;
    const struct split_step *step = &p->step;
    uint64_t entries = step->fn.buckets * step->spans + 1;
    cohort_status status = backend->fill(context, step->first_bad, 0xff, sizeof *step->first_bad);
    if (!status)
        status = backend->fill(context, step->table + entries - 1, 0, sizeof *step->table);
    if (!status)
        status = tally(context, p);
    if (!status)
        status = gpu_scan(context, step->table, entries, p->scan);
    return status ? status : place(context, p);
}

static cohort_status by_blocks(cohort_context *context, const struct split *s, struct arena *arena, int ask)
{
    struct pass p;
    pass_begin_split(&p, s, arena);
    cohort_status status = plan_pass(context, &p, arena);
    return status || ask ? status : run_pass(context, &p);
}

/* ---- counts ------------------------------------------------------------------------------------------------------------ */

/* bins[b] = the entries in bucket b, of m; the first bad one goes to `first_bad`. */
static cohort_status count(cohort_context *context, const struct split *s, co_u64 *bins, co_u64 *first_bad)
{
    const struct gpu *g = gpu_of(context);
    const struct backend *backend = context->backend;
    struct arena none = {NULL, 0};
    struct pass p;
    char name[48];
    pass_begin(&p, &s->fn, s->n, s->keys, s->key_bytes, NULL, &none);
    p.step.part[0] = p.source;
    p.step.ids_out = NULL;
    p.step.table = bins;
    p.step.first_bad = first_bad;
    p.step.counts = s->counts;
    p.step.deferred = s->deferred;
    int in_shared = s->fn.buckets < SPLIT_SHARED_BINS;
    unsigned shared = in_shared ? (s->fn.buckets + 1) * 4 : 16;
    unsigned each = shared > 65536 ? 1 : shared > 16384 ? 2 : SPLIT_COUNT_BLOCKS;
    p.step.spans = (uint64_t)g->multiprocessors * each;
    p.step.span = (s->n / p.step.spans + 4096) / 4096 * 4096;
    p.step.in_shared = (co_u32)in_shared;
    snprintf(name, sizeof name, "multisplit_count_%u", 8 * p.source.bytes);
    cohort_status status = backend->fill(context, bins, 0, s->fn.buckets * sizeof *bins);
    if (!status)
        status = backend->fill(context, first_bad, 0xff, sizeof *first_bad);
    if (!status)
        status = gpu_launch_grid(context, name, (unsigned)p.step.spans, g->tuning->block, shared, &p.step);
    if (!status && (s->counts || p.step.can_fail))
        status = gpu_launch_grid(context, "multisplit_count_outcome", 1, g->tuning->block, 0, &p.step);
    return status;
}

/* ---- by digits --------------------------------------------------------------------------------------------------------- */

struct digits {
    co_u16 *low, *high, *high_between;
    struct map_deferred *nobody;
    co_u64 *first_bad, *scan;
    char *between; /* the columns between the passes, one after the other */
    uint64_t between_bytes;
    struct pass first, last;
};

/* A column of both passes: from the caller's array to one in between, and from there to the caller's. */
static void through(struct digits *d, const void *in, void *out, unsigned bytes, uint64_t n,
                    struct arena *arena)
{
    if (!out)
        return;
    void *between = take(arena, n * bytes);
    pass_add_column(&d->first.step, in, between ? between : out, bytes);
    pass_add_column(&d->last.step, between, out, bytes);
}

static cohort_status plan_digits(cohort_context *context, const struct split *s, struct arena *arena,
                                 struct digits *d)
{
    struct split_fn fn = s->fn;
    uint64_t n = s->n;
    d->nobody = take(arena, sizeof *d->nobody);
    d->first_bad = take(arena, sizeof *d->first_bad);
    d->scan = take(arena, gpu_scan_bytes(context, s->fn.buckets + 1));
    d->low = take(arena, n * 2);
    d->high = take(arena, n * 2);
    d->high_between = take(arena, n * 2);
    fn.kind = SPLIT_IDS16;
    fn.data = d->low;
    fn.buckets = SPLIT_DIGITS;
    pass_begin(&d->first, &fn, n, NULL, 4, NULL, arena);
    fn.data = d->high_between;
    fn.buckets = (s->fn.buckets - 1) / SPLIT_DIGITS + 1;
    pass_begin(&d->last, &fn, n, NULL, 4, NULL, arena);
    pass_add_part(&d->first.step, d->high, d->high_between, 2, 2);
    uint64_t used = arena->used;
    d->between = arena->memory ? arena->memory + used : NULL;
    through(d, s->keys, s->keys_out, s->key_bytes, n, arena);
    for (unsigned c = 0; c < s->columns; c++)
        through(d, s->column[c].in, s->column[c].out, s->column[c].bytes, n, arena);
    if (s->permutation)
        through(d, NULL, s->permutation, s->permutation_bytes, n, arena);
    d->between_bytes = arena->used - used;
    d->first.step.counts = s->counts;
    d->first.step.deferred = s->deferred;
    d->last.step.deferred = d->nobody;
    cohort_status status = plan_pass(context, &d->first, arena);
    return status ? status : plan_pass(context, &d->last, arena);
}

/* What the first pass leaves out leaves the rest of high_between as it was: no bucket's. The second reads the rest of the columns too, and
 * drops it. */
static cohort_status run_digits(cohort_context *context, const struct split *s, struct digits *d)
{
    const struct backend *backend = context->backend;
    struct arena none = {NULL, 0};
    struct pass p;
    char name[48];
    pass_begin(&p, &s->fn, s->n, s->keys, s->key_bytes, NULL, &none);
    p.step.part[0] = p.source;
    p.step.ids_out = d->low;
    p.step.high_out = d->high;
    snprintf(name, sizeof name, "multisplit_digits_%u", 8 * p.source.bytes);
    cohort_status status = backend->fill(context, d->nobody, 0xff, sizeof *d->nobody);
    if (!status)
        status = gpu_launch(context, name, s->n, &p.step);
    if (!status && s->n)
        status = backend->fill(context, d->high_between, 0xff, s->n * 2);
    if (!status && split_can_fail(&s->fn) && d->between_bytes)
        status = backend->fill(context, d->between, 0, d->between_bytes);
    if (!status)
        status = run_pass(context, &d->first);
    if (!status)
        status = run_pass(context, &d->last);
    if (status || !s->offsets)
        return status;
    struct split bins = *s;
    bins.counts = NULL;
    bins.deferred = d->nobody;
    status = count(context, &bins, s->offsets, d->first_bad);
    if (!status)
        status = backend->fill(context, s->offsets + s->fn.buckets, 0, sizeof *s->offsets);
    return status ? status : gpu_scan(context, s->offsets, s->fn.buckets + 1, d->scan);
}

static cohort_status by_digits(cohort_context *context, const struct split *s, struct arena *arena, int ask)
{
    struct digits d;
    memset(&d, 0, sizeof d);
    cohort_status status = plan_digits(context, s, arena, &d);
    return status || ask ? status : run_digits(context, s, &d);
}

/* ---- entries ----------------------------------------------------------------------------------------------------------- */

/* A method, in the order of cohort_split_method: up to how many buckets, and how; no function: it is not there. */
struct method {
    const char *name;
    unsigned buckets;
    cohort_status (*split)(cohort_context *, const struct split *, struct arena *, int ask);
};

static const struct method methods[] = {
    {"AUTO", 0, NULL},
    {"DIRECT", SPLIT_DIRECT_BUCKETS, split_by_warps},
    {"WARP", SPLIT_DIRECT_BUCKETS, split_by_warps},
    {"BLOCK", SPLIT_TILE_BUCKETS, by_blocks},
    {"LOOK_BACK", 256, NULL},
    {"RESERVED", SPLIT_TILE_BUCKETS, NULL},
    {"DIGITS", SPLIT_BUCKETS_MOST, by_digits},
};

static cohort_split_method best(const struct split *s)
{
    return s->fn.buckets <= SPLIT_TILE_BUCKETS ? COHORT_SPLIT_BLOCK : COHORT_SPLIT_DIGITS;
}

static cohort_status choose(cohort_context *context, const struct split *s, struct arena *arena, int ask)
{
    const struct method *m = &methods[s->method == COHORT_SPLIT_AUTO ? best(s) : s->method];
    if (!m->split)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "desc.method is %u (%s), which a GPU does not have yet", s->method, m->name);
    if (s->fn.buckets > m->buckets)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "desc.method is %u (%s), which does at most %u buckets; desc.buckets is %u",
                            s->method, m->name, m->buckets, s->fn.buckets);
    return m->split(context, s, arena, ask);
}

/* The ids of a user's function, in workspace; from there on they are ids like others. */
static cohort_status own_ids(cohort_context *context, struct split *s, struct arena *arena, int ask)
{
    if (!s->user)
        return COHORT_OK;
    co_u32 *ids = take(arena, at_least_one(s->n) * sizeof *ids);
    cohort_status status =
        ask ? COHORT_OK : cuda_fn_ids(context, &s->fn, s->user, s->n, s->keys, s->key_bytes, ids);
    s->fn.kind = SPLIT_IDS32;
    s->fn.data = ids;
    s->user = NULL;
    return status;
}

cohort_status cuda_split(cohort_context *context, const struct split *given, uint64_t *need)
{
    struct split s = *given;
    struct arena arena = {need ? NULL : s.workspace, 0};
    cohort_status status = own_ids(context, &s, &arena, need != NULL);
    if (!status)
        status = choose(context, &s, &arena, need != NULL);
    if (need)
        *need = arena.used;
    return status;
}

cohort_status cuda_histogram(cohort_context *context, const struct split *given, uint64_t *need)
{
    struct split s = *given;
    struct arena arena = {need ? NULL : s.workspace, 0};
    cohort_status status = own_ids(context, &s, &arena, need != NULL);
    co_u64 *first_bad = take(&arena, sizeof *first_bad);
    if (need)
        *need = arena.used;
    return status || need ? status : count(context, &s, s.offsets, first_bad);
}
