/* split_digits.c: many buckets: one count for all digits of the ids, then a split by look-back a digit. The
 * first goes by the low bits of the id, and what is bad is left out there; if no order is asked for it
 * reserves. The others, being stable, go by the bits above. All compute ids from the keys where that is
 * cheap, and a map's pages where tiles are fetched; else the count writes the ids, which then go along as a
 * column. The last leaves entries in order of whole ids. Where these are few they are counted, which tells
 * the offsets too; else offsets are found by binary search in the output.
 *
 * Where tiles are long enough for it, nothing is counted before: the first pass leaves runs in its tiles,
 * which the second gathers (shape/split_step.h). Offsets are searched. */
#include <stdio.h>
#include <string.h>

#include "split.h"

struct digits {
    struct pass count;
    struct split_bases_step bases;
    co_u64 *bins; /* of ids or digits; where runs are left, of the second digit */
    unsigned passes;
    struct pass pass[SPLIT_DIGITS_MOST];
    void *cleared; /* what the passes need cleared, in a row */
    uint64_t cleared_bytes;
    struct split_step search; /* no offsets: nothing is searched */
    unsigned
        /* nothing is counted before: the first pass leaves runs in its tiles, the second gathers them */
        gathers;
    struct split_runs_step runs;
};

/* ---- ids ----------------------------------------------------------------------------------------------- */

static unsigned bits_of(co_u32 buckets)
{
    unsigned bits = 2;
    while (1u << bits < buckets)
        bits++;
    return bits;
}

/* Two or three digits, of as many bits each as can be; the low ones have fewer. */
static void choose_digits(const struct split_fn *fn, struct split_digits *digits)
{
    unsigned bits = bits_of(fn->buckets), shift = 0;
    digits->many = bits > 2 * SPLIT_DIGIT_BITS ? 3 : 2;
    for (co_u32 d = 0; d < digits->many; d++) {
        unsigned own = (bits - shift) / (digits->many - d);
        digits->shift[d] = shift;
        digits->mask[d] = (1u << own) - 1;
        shift += own;
    }
}

/* Do two passes do, of which the first leaves runs? Numbers come from 4-byte keys, all of which have one, and
 * one column of 4 bytes goes along at most; offsets are searched in the keys. */
static unsigned may_gather(cohort_context *context, const struct split *s, const struct split_digits *digits)
{
    const struct gpu *g = gpu_of(context);
    unsigned others = s->permutation != NULL, kind = s->fn.kind;
    for (unsigned c = 0; c < s->columns; c++)
        others += s->column[c].out ? s->column[c].bytes == 4 ? 1 : 2 : 0;
    if ((kind != SPLIT_BITS && kind != SPLIT_MODULO && kind != SPLIT_RANGES && kind != SPLIT_DELTA) ||
        s->key_bytes != 4 || !s->keys_out || split_can_fail(&s->fn) || others > 1 ||
        (s->permutation && s->permutation_bytes != 4) || digits->many != 2 || !s->n || s->n >> 32)
        return 0;
    unsigned low = digits->mask[0] + 1, high = ((s->fn.buckets - 1) >> digits->shift[1]) + 1;
    const struct split_tuning *t[2];
    for (int p = 0; p < 2; p++)
        t[p] = split_tuning_for(g, &(struct split_request){.way = SPLIT_IN_TILES,
                                                           .payload = others ? SPLIT_PAIRS : SPLIT_KEYS,
                                                           .loading = SPLIT_LOADED,
                                                           .buckets = p ? high : low});
    return t[0] && t[0] == t[1];
}

static unsigned widest_of(const struct split *s)
{
    unsigned most = s->permutation ? s->permutation_bytes : 0;
    for (unsigned c = 0; c < s->columns; c++)
        if (s->column[c].out && s->column[c].bytes > most)
            most = s->column[c].bytes;
    return most;
}

/* Do the tiles find numbers in what is given? */
static int go_by_given(const struct split *s)
{
    switch (s->fn.kind) {
    case SPLIT_BITS:
        return 1;
    case SPLIT_MODULO:
    case SPLIT_RANGES:
    case SPLIT_DELTA:
        return s->key_bytes == 4 && widest_of(s) <= 4;
    default:
        return pass_ids_width(s->fn.kind) != 0;
    }
}

/* Pairs of 4 + 4 bytes, so many that their tiles are fetched: there the place kernels have time to find pages
 * anew. */
static int go_by_pages(const struct gpu *g, const struct split *s, const struct split_digits *digits)
{
    unsigned low = digits->mask[0] + 1, high = ((s->fn.buckets - 1) >> digits->shift[1]) + 1;
    return s->fn.kind == SPLIT_PAGE && s->fn.b == ~0u && s->keys_out && digits->many == 2 &&
           pass_is_pair(s) && tile_is_fetched(g, SPLIT_PAIRS, low, s->n) &&
           tile_is_fetched(g, SPLIT_PAIRS, high, s->n);
}

/* The count, and the function that the passes go by: the caller's, or that of ids left behind. */
static struct split_fn plan_count(const struct gpu *g, const struct split *s, struct arena *arena,
                                  struct digits *d)
{
    struct arena none = {.memory = NULL};
    struct split_fn fn = s->fn;
    struct split_step *step = &d->count.step;
    pass_begin(&d->count, &fn, s->n, s->keys, s->key_bytes, NULL, &none);
    step->n_at = s->n_at;
    step->ids_out = NULL;
    step->first_bad = arena_take(arena, sizeof *step->first_bad);
    if (fn.buckets > SPLIT_WHOLE_BUCKETS)
        step->digits = d->bases.digits;
    if (go_by_pages(g, s, &d->bases.digits))
        fn.kind = SPLIT_PAGE_ANEW;
    if (go_by_given(s) || fn.kind == SPLIT_PAGE_ANEW)
        return fn;
    step->ids_bytes = fn.buckets + step->can_fail <= 65536 ? 2 : 4;
    step->ids_out = arena_take(arena, at_least_one(s->n) * step->ids_bytes);
    fn.kind = step->ids_bytes == 2 ? SPLIT_IDS16 : SPLIT_IDS32;
    fn.data = step->ids_out;
    return fn;
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* Where a column of `bytes` an entry is after each pass: at last in the caller's array, if there is one. Of
 * two passes the first writes nothing of the caller's, so arrays may be split in place. */
static void plan_stops(const struct digits *d, void *out, unsigned bytes, uint64_t n, struct arena *arena,
                       void **stop)
{
    void *between = arena_take(arena, at_least_one(n) * bytes), *other = out;
    if (d->passes > 2 && !out)
        other = arena_take(arena, at_least_one(n) * bytes);
    for (unsigned p = 0; p + 1 < d->passes; p++)
        stop[p] = (d->passes - p) % 2 ? other : between;
    stop[d->passes - 1] = out;
}

static void through(struct digits *d, const void *in, void *out, unsigned bytes, uint64_t n,
                    struct arena *arena)
{
    void *stop[SPLIT_DIGITS_MOST];
    if (!out)
        return;
    plan_stops(d, out, bytes, n, arena, stop);
    for (unsigned p = 0; p < d->passes; p++)
        pass_add_column(&d->pass[p].step, p ? stop[p - 1] : in, stop[p] ? stop[p] : out, bytes);
}

/* What numbers come from goes through all passes; the last writes it where that is wanted, or where offsets
 * are searched in it. */
static void plan_source(const struct split *s, struct split_fn fn, struct arena *arena, struct digits *d)
{
    int by_ids = pass_ids_width(fn.kind) != 0;
    int search = s->offsets && (fn.buckets > SPLIT_WHOLE_BUCKETS || d->gathers);
    int in_keys = !pass_ids_width(s->fn.kind) && s->keys_out;
    unsigned bytes = by_ids ? pass_ids_width(fn.kind) : s->key_bytes;
    void *stop[SPLIT_DIGITS_MOST], *out = by_ids ? NULL : s->keys_out;
    if (search && !in_keys)
        out = arena_take(arena, at_least_one(s->n) * bytes);
    plan_stops(d, out, bytes, s->n, arena, stop);
    for (unsigned p = 0; p < d->passes; p++) {
        struct split_fn at = fn;
        const void *in = p ? stop[p - 1] : by_ids ? fn.data : s->keys;
        if (by_ids)
            at.data = in;
        pass_begin(&d->pass[p], &at, s->n, in, s->key_bytes, NULL, arena);
        d->pass[p].step.part[0].out = stop[p];
    }
    if (by_ids)
        through(d, s->keys, s->keys_out, s->key_bytes, s->n, arena);
    if (!search)
        return;
    struct arena none = {.memory = NULL};
    struct pass in_output;
    pass_begin(&in_output, in_keys ? &s->fn : &fn, s->n, s->keys, s->key_bytes, NULL, &none);
    d->search = in_output.step;
    d->search.part[0] = in_output.source;
    d->search.part[0].in = in_keys ? s->keys_out : out;
    d->search.offsets = s->offsets;
}

/* ---- plan ---------------------------------------------------------------------------------------------- */

static cohort_status plan_passes(cohort_context *context, const struct split *s, struct arena *arena,
                                 struct digits *d)
{
    uint64_t begin = arena->used;
    d->cleared = arena->memory ? arena->memory + begin : NULL;
    for (unsigned p = 0; p < d->passes; p++) {
        struct split_step *step = &d->pass[p].step;
        if (p && d->gathers) { /* the first pass clears what it needs, but for what sums its runs up */
            begin = arena->memory ? (uint64_t)((char *)d->pass[0].scan - arena->memory) : arena->used;
            d->cleared = d->pass[0].scan;
        }
        step->way = p || !s->unordered ? SPLIT_BY_LOOK_BACK : SPLIT_BY_RESERVING;
        if (d->gathers) {
            step->way = p ? SPLIT_BY_LOOK_BACK : SPLIT_IN_TILES;
            d->pass[p].gathers = p == 1;
        }
        step->shift = d->bases.digits.shift[p];
        step->mask = d->bases.digits.mask[p];
        step->buckets = p + 1 < d->passes ? step->mask + 1 : ((s->fn.buckets - 1) >> step->shift) + 1;
        step->can_fail = p ? 0 : d->count.step.can_fail; /* ids left behind are as good as the function */
        step->counts = p == d->gathers ? s->counts : NULL;
        step->deferred = s->deferred;
        step->n_at = s->n_at;
        cohort_status status = tile_plan(context, &d->pass[p], arena);
        if (status)
            return status;
        d->bases.bases[p] = step->table;
        d->bases.buckets[p] = step->buckets;
        if (!p)
            step->first_bad = d->count.step.first_bad;
        else if (d->count.step.can_fail && step->table)
            step->n_at = d->pass[0].step.table + d->pass[0].step.buckets;
    }
    d->search.n_at = d->pass[1].step.n_at;
    if (d->gathers)
        d->bins = arena_take(arena, d->bases.buckets[1] * sizeof *d->bins);
    d->cleared_bytes = arena->used - begin;
    return COHORT_OK;
}

/* What the second pass needs of the first. */
static void plan_runs(struct arena *arena, struct digits *d)
{
    struct split_step *first = &d->pass[0].step, *second = &d->pass[1].step;
    struct split_runs *r = &d->runs.runs;
    uint64_t tile = (uint64_t)d->pass[1].tuning->instance->items * d->pass[1].tuning->instance->threads;
    d->runs.n = second->n;
    r->runs = first->buckets * first->spans;
    r->sums = first->table;
    r->left = first->runs.left;
    r->begins = arena_take(arena, (r->runs + 1) * sizeof *r->begins);
    r->at = arena_take(arena, r->runs * sizeof *r->at);
    r->first = arena_take(arena, (second->n / tile + 2) * sizeof *r->first);
    r->next = d->bins;
    r->bases = second->table;
    r->tiles = (co_u32)first->spans;
    r->size = (co_u32)tile;
    r->buckets = second->buckets;
    r->number = second->number;
    first->runs = second->runs = *r;
    first->before = second->before =
        arena_take(arena, second->spans * second->buckets * sizeof *second->before);
}

/* The bins, and what they come to. */
static void plan_bases(const struct split *s, struct arena *arena, struct digits *d)
{
    int whole = s->fn.buckets <= SPLIT_WHOLE_BUCKETS;
    co_u32 bins = whole ? s->fn.buckets : d->passes * SPLIT_DIGIT_BINS;
    d->bases.whole = whole ? bins : 0;
    d->bases.bins = d->bins = arena_take(arena, bins * sizeof *d->bins);
    d->bases.sums = whole && s->offsets ? s->offsets : arena_take(arena, (bins + 1) * sizeof *d->bins);
}

static cohort_status plan(cohort_context *context, const struct split *s, struct arena *arena,
                          struct digits *d)
{
    memset(d, 0, sizeof *d);
    choose_digits(&s->fn, &d->bases.digits);
    d->passes = d->bases.digits.many;
    d->gathers = may_gather(context, s, &d->bases.digits);
    struct split_fn fn = plan_count(gpu_of(context), s, arena, d);
    plan_source(s, fn, arena, d);
    for (unsigned c = 0; c < s->columns; c++)
        through(d, s->column[c].in, s->column[c].out, s->column[c].bytes, s->n, arena);
    if (s->permutation)
        through(d, NULL, s->permutation, s->permutation_bytes, s->n, arena);
    if (!d->gathers)
        plan_bases(s, arena, d);
    cohort_status status = plan_passes(context, s, arena, d);
    if (!status && d->gathers)
        plan_runs(arena, d);
    return status;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static cohort_status prepare(cohort_context *context, const struct digits *d)
{
    co_u64 *first_bad = d->count.step.first_bad;
    cohort_status status = context_fill(context, first_bad, 0xff, sizeof *first_bad);
    if (!status)
        status = context_fill(context, d->cleared, 0, d->cleared_bytes);
    if (!status)
        status = split_count_all(context, &d->count, d->bins);
    return status ? status
                  : gpu_launch_grid(context, "multisplit_bases", 1, gpu_of(context)->tuning->block, 0,
                                    &d->bases);
}

/* Of the first pass what runs it leaves is yet to be summed up. */
static cohort_status gather(cohort_context *context, const struct digits *d)
{
    const struct split_runs *r = &d->runs.runs;
    cohort_status status = context_fill(context, d->cleared, 0, d->cleared_bytes);
    if (!status)
        status = tile_place(context, &d->pass[0]);
    if (!status)
        status = gpu_scan_cleared(context, r->sums, r->runs + 1, d->pass[0].scan);
    if (!status)
        status = gpu_launch(context, "multisplit_runs", r->runs, &d->runs);
    return status ? status : tile_place(context, &d->pass[1]);
}

/* Count, then pass after pass. */
static cohort_status pass_by_pass(cohort_context *context, const struct digits *d)
{
    cohort_status status = prepare(context, d);
    for (unsigned p = 0; p < d->passes && !status; p++)
        status = tile_place(context, &d->pass[p]);
    return status;
}

static cohort_status run(cohort_context *context, const struct digits *d)
{
    cohort_status status = d->gathers ? gather(context, d) : pass_by_pass(context, d);
    if (status || !d->search.offsets)
        return status;
    char name[48];
    snprintf(name, sizeof name, "multisplit_offsets_%u", 8 * d->search.part[0].bytes);
    uint64_t lanes = (d->search.buckets + 1ull) * split_search_lanes(d->search.buckets);
    return gpu_launch(context, name, lanes, &d->search);
}

cohort_status split_by_digits(cohort_context *context, const struct split *s, struct arena *arena)
{
    struct digits d;
    cohort_status status = plan(context, s, arena, &d);
    return status || arena->asks ? status : run(context, &d);
}
