/* split_digits.c: more buckets than a tile can keep apart: two passes by tiles, the first by the low bits of the id (what is bad is left
 * out there), the second, being stable, by the high ones. Both compute ids from the keys where that is cheap; else a launch writes
 * the ids, which then go along as a column. What the second pass leaves is in order of whole ids, so offsets are found by binary
 * search. */
#include <stdio.h>
#include <string.h>

#include "split.h"

struct digits {
    struct pass ids; /* its launch writes ids; n 0 and no output: there is none */
    struct pass first, last;
    struct split_step search;
};

static unsigned bits_of(co_u32 buckets)
{
    unsigned bits = 2;
    while (1u << bits < buckets)
        bits++;
    return bits;
}

static unsigned ids_bytes(const struct split_fn *fn)
{
    return fn->buckets + (co_u32)split_can_fail(fn) <= 65536 ? 2 : 4;
}

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

/* The function that the passes go by: the caller's, or that of ids made from it. */
static struct split_fn plan_ids(const struct split *s, struct arena *arena, struct digits *d)
{
    struct split_fn fn = s->fn;
    if (pass_is_cheap(fn.kind, s->key_bytes))
        return fn;
    struct arena none = {NULL, 0};
    pass_begin(&d->ids, &s->fn, s->n, s->keys, s->key_bytes, NULL, &none);
    d->ids.step.part[0] = d->ids.source;
    d->ids.step.ids_bytes = ids_bytes(&s->fn);
    d->ids.step.ids_out = take(arena, at_least_one(s->n) * d->ids.step.ids_bytes);
    fn.kind = d->ids.step.ids_bytes == 2 ? SPLIT_IDS16 : SPLIT_IDS32;
    fn.data = d->ids.step.ids_out;
    return fn;
}

/* What numbers come from goes through both passes; the last writes it where that is wanted, or where offsets are searched. */
static void plan_source(const struct split *s, struct split_fn fn, struct arena *arena, struct digits *d)
{
    pass_begin(&d->first, &fn, s->n, s->keys, s->key_bytes, NULL, arena);
    unsigned bytes = d->first.source.bytes;
    int by_ids = pass_ids_width(fn.kind) != 0;
    void *between = take(arena, at_least_one(s->n) * bytes), *out = by_ids ? NULL : s->keys_out;
    if (!out && s->offsets)
        out = take(arena, at_least_one(s->n) * bytes);
    d->first.step.part[0].out = between;
    fn.data = by_ids ? between : fn.data;
    pass_begin(&d->last, &fn, s->n, between, s->key_bytes, NULL, arena);
    d->last.step.part[0].out = out;
    d->search = d->last.step;
    d->search.part[0].in = out;
    d->search.offsets = s->offsets;
    if (by_ids)
        through(d, s->keys, s->keys_out, s->key_bytes, s->n, arena);
}

static cohort_status plan(cohort_context *context, const struct split *s, struct arena *arena,
                          struct digits *d)
{
    unsigned low = bits_of(s->fn.buckets) / 2;
    memset(d, 0, sizeof *d);
    struct split_fn fn = plan_ids(s, arena, d);
    plan_source(s, fn, arena, d);
    for (unsigned c = 0; c < s->columns; c++)
        through(d, s->column[c].in, s->column[c].out, s->column[c].bytes, s->n, arena);
    if (s->permutation)
        through(d, NULL, s->permutation, s->permutation_bytes, s->n, arena);
    struct split_step *first = &d->first.step, *last = &d->last.step;
    first->buckets = 1u << low;
    first->mask = first->buckets - 1;
    first->counts = s->counts;
    first->deferred = s->deferred;
    last->buckets = ((s->fn.buckets - 1) >> low) + 1;
    last->shift = low;
    last->can_fail = 0;
    last->deferred = s->deferred;
    cohort_status status = tile_plan(context, &d->first, arena);
    if (first->can_fail)
        d->search.n_at = last->n_at = first->table ? first->table + first->buckets * first->spans : NULL;
    return status ? status : tile_plan(context, &d->last, arena);
}

static cohort_status run(cohort_context *context, const struct digits *d)
{
    char name[48];
    cohort_status status = COHORT_OK;
    if (d->ids.step.ids_out) {
        snprintf(name, sizeof name, "multisplit_ids_%u", 8 * d->ids.source.bytes);
        status = gpu_launch(context, name, d->ids.step.n, &d->ids.step);
    }
    if (!status)
        status = tile_run(context, &d->first);
    if (!status)
        status = tile_run(context, &d->last);
    if (status || !d->search.offsets)
        return status;
    snprintf(name, sizeof name, "multisplit_offsets_%u", 8 * d->last.source.bytes);
    return gpu_launch(context, name, d->search.buckets + 1ull, &d->search);
}

cohort_status split_by_digits(cohort_context *context, const struct split *s, struct arena *arena, int ask)
{
    struct digits d;
    cohort_status status = plan(context, s, arena, &d);
    return status || ask ? status : run(context, &d);
}
