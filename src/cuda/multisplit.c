/* multisplit.c: which method does a multisplit, and the histogram. A method is a file of its own:
 * split_direct.c, split_tile.c, split_digits.c; what they count with is in split_count.c. A user's function
 * and membership are a launch of their own that writes ids, which from there on are ids like others.
 * Everything that a launch depends on is known from n and the descriptor, so nothing waits. */
#include <string.h>

#include "shape/split_direct.h"
#include "split.h"

#define FAR_BUCKETS 192u         /* into more of them pairs look back, */
#define FAR_PAIRS   (1ull << 26) /* if they are so many */

/* ---- histogram ----------------------------------------------------------------------------------------- */

/* bins[b] = the entries in bucket b, of m; and how it went. */
static cohort_status count(cohort_context *context, const struct split *s, co_u64 *bins, co_u64 *first_bad)
{
    struct arena none = {.memory = NULL};
    struct pass p;
    pass_begin(&p, &s->fn, s->n, s->keys, s->key_bytes, NULL, &none);
    p.step.ids_out = NULL;
    p.step.table = bins;
    p.step.first_bad = first_bad;
    p.step.counts = s->counts;
    p.step.deferred = s->deferred;
    cohort_status status = context_fill(context, first_bad, 0xff, sizeof *first_bad);
    if (!status)
        status = split_count_all(context, &p, bins);
    if (!status && (s->counts || p.step.can_fail))
        status = gpu_launch_grid(context, "multisplit_count_outcome", 1, gpu_of(context)->tuning->block, 0,
                                 &p.step);
    return status;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* A method, in the order of cohort_split_method: up to how many buckets, and how. AUTO is one of the
 * others. */
struct method {
    const char *name;
    unsigned buckets;
    cohort_status (*split)(cohort_context *, const struct split *, struct arena *);
};

static const struct method methods[] = {
    {"AUTO", 0, NULL},
    {"DIRECT", SPLIT_DIRECT_BUCKETS, split_by_warps},
    {"WARP", SPLIT_DIRECT_BUCKETS, split_by_warps},
    {"BLOCK", SPLIT_TILE_BUCKETS, split_by_blocks},
    {"LOOK_BACK", 256, split_by_look_back},
    {"RESERVED", SPLIT_TILE_BUCKETS, split_by_reserving},
    {"DIGITS", SPLIT_DIGITS_BUCKETS, split_by_digits},
};

/* Keys and one column, of 4 bytes each, so many, and into so many buckets, that looking back costs less than
 * counting by spans, but not more than words of 32 bits can tell of. */
static int is_far(const struct gpu *g, const struct split *s)
{
    return s->fn.buckets > FAR_BUCKETS && s->n >= FAR_PAIRS && s->n < g->tuning->sort_short &&
           pass_is_pair(s) && !split_can_fail(&s->fn) && pass_is_cheap(s->fn.kind, 4);
}

static cohort_split_method best(const struct gpu *g, const struct split *s)
{
    if (s->fn.buckets > 256)
        return COHORT_SPLIT_DIGITS;
    if (!s->unordered && is_far(g, s) && !tile_is_fetched(g, SPLIT_PAIRS, s->fn.buckets, s->n))
        return COHORT_SPLIT_LOOK_BACK;
    return s->unordered && s->fn.buckets > 16 ? COHORT_SPLIT_RESERVED : COHORT_SPLIT_BLOCK;
}

static cohort_status choose(cohort_context *context, const struct split *s, struct arena *arena)
{
    cohort_status status = COHORT_OK;
    if (s->method == COHORT_SPLIT_AUTO && s->fn.buckets <= 256 && !s->n_at &&
        split_at_once(context, s, arena, &status))
        return status;
    const struct method *m = &methods[s->method == COHORT_SPLIT_AUTO ? best(gpu_of(context), s) : s->method];
    if (s->fn.buckets > m->buckets)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "desc.method is %u (%s), which does at most %u buckets; desc.buckets is %u",
                            s->method, m->name, m->buckets, s->fn.buckets);
    return m->split(context, s, arena);
}

/* Ids that are made beforehand, in workspace; from there on they are ids like others. */
static cohort_status made_ids(cohort_context *context, struct split *s, struct arena *arena)
{
    return cuda_fn_make_ids(context, &s->fn, &s->source, s->n, s->keys, s->key_bytes, arena);
}

/* With segments: ids that have the segment's number in them, in workspace; from there on there are no
 * segments. */
static cohort_status segment_ids(cohort_context *context, struct split *s, struct arena *arena)
{
    if (!s->segments)
        return COHORT_OK;
    struct split_segments_step step = {s->n,  s->segments, s->segment_offsets,
                                       s->fn, s->keys,     arena_take(arena, at_least_one(s->n) * 4)};
    cohort_status status = COHORT_OK;
    if (!arena->asks && s->n)
        status = gpu_launch(context, s->key_bytes == 8 ? "multisplit_segments_64" : "multisplit_segments_32",
                            s->n, &step);
    s->fn = (struct split_fn){.kind = SPLIT_IDS32,
                              .buckets = (co_u32)s->segments * s->fn.buckets,
                              .by.divisor = 1,
                              .data = step.ids};
    s->segments = 0;
    return status;
}

/* What ranks are made from, in workspace where the caller has none of it: the permutation, and, if ids can be
 * bad, the offsets, of which the last is the number of entries that are written. */
static void rank_sources(struct split *s, struct arena *arena)
{
    if (!s->rank)
        return;
    if (!s->permutation) {
        s->permutation_bytes = s->n >> 32 ? 8 : 4;
        void *own = arena_take(arena, at_least_one(s->n) * s->permutation_bytes);
        s->permutation = arena->asks ? s->rank : own; /* there is one, wherever it will be */
    }
    if (!s->offsets && split_can_fail(&s->fn)) {
        void *own = arena_take(arena, 8ull * (s->fn.buckets + 1ull));
        s->offsets = arena->asks ? s->rank : own;
    }
}

static cohort_status ranks(cohort_context *context, const struct split *s)
{
    int some = split_can_fail(&s->fn);
    struct split_rank_step step = {
        s->n,         some ? s->offsets + s->fn.buckets : NULL, s->permutation, s->rank, s->permutation_bytes,
        s->rank_bytes};
    cohort_status status = some ? context_fill(context, s->rank, 0xff, s->n * s->rank_bytes) : COHORT_OK;
    return status ? status : gpu_launch(context, "multisplit_rank", s->n, &step);
}

static cohort_status cuda_multisplit_split(cohort_context *context, const struct split *given,
                                           struct arena *arena)
{
    struct split s = *given;
    cohort_status status = made_ids(context, &s, arena);
    if (!status)
        status = segment_ids(context, &s, arena);
    if (status)
        return status;
    rank_sources(&s, arena);
    status = choose(context, &s, arena);
    return status || arena->asks || !s.rank || !s.n ? status : ranks(context, &s);
}

static cohort_status cuda_multisplit_histogram(cohort_context *context, const struct split *given,
                                               struct arena *arena)
{
    struct split s = *given;
    cohort_status status = made_ids(context, &s, arena);
    co_u64 *first_bad = arena_take(arena, sizeof *first_bad);
    return status || arena->asks ? status : count(context, &s, s.offsets, first_bad);
}

const struct multisplit_backend cuda_multisplit_backend = {
    .split = cuda_multisplit_split,
    .histogram = cuda_multisplit_histogram,
};
