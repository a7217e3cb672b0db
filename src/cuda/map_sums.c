/* cuda/map_sums.c: a large batch of sums by key, folded in the blocks' shared memory (kernels/map_sums.cu): whole, or in order of the
 * map's pages, which a multisplit makes; or one by one, as a sample of it tells on the device. Nothing is waited for. */
#include <stddef.h>
#include <string.h>

#include "map.h"

#define PAGE_FILL 3 /* entries of one whole page at most, in those of an average page and its slots */

/* The steps, laid out. */
struct plan {
    struct map_sums sums;
    struct map_build conclude;
    struct split split;
    struct arena of_split; /* its workspace, and what follows */
};

/* Bits of hits would need to know which entry of a key came first. */
int map_is_sums(cohort_context *context, const struct map_batch *b)
{
    return b->step == MAP_STEP_APPLY && b->op >= CO_OP_ADD && b->op != CO_OP_EXCHANGE && b->group <= 1 &&
           !b->where && !b->hit && !b->results && map_value_bytes(b->view.width) &&
           (b->values || b->op == CO_OP_COUNT) && b->n >= gpu_of(context)->tuning->sums_batch;
}

/* Pages that are many for the entries are each met by few of them. */
static int may_split(const struct map_batch *b)
{
    return b->view.pages > 1 && b->n >= map_slots(&b->view) / 4;
}

static unsigned wide(const struct map_batch *b)
{
    return map_slot_bytes(b->view.width) > 8;
}

/* As many places as the device has shared memory for. */
static co_u32 places_of(const struct gpu *g, const struct map_batch *b)
{
    co_u32 places = g->tuning->sums_places[wide(b)];
    while (places > 1 && map_sums_bytes(places, b->view.width) > g->shared_most)
        places /= 2;
    return places;
}

static uint64_t chunk_of(uint64_t entries, const struct gpu_tuning *t)
{
    return entries < t->sums_chunk_least ? t->sums_chunk_least
           : entries > t->sums_chunk     ? t->sums_chunk
                                         : entries;
}

static unsigned blocks_of(const struct gpu *g, const struct map_batch *b)
{
    return (unsigned)g->multiprocessors * g->tuning->sums_blocks[wide(b)];
}

static struct map_sums sums_of(const struct gpu *g, const struct map_batch *b)
{
    struct map_sums s;
    memset(&s, 0, sizeof s);
    s.batch = *b;
    s.chunk[0] = chunk_of(b->n / blocks_of(g, b) / 4, g->tuning);
    s.chunk[1] = chunk_of(b->n / b->view.pages, g->tuning);
    s.places = places_of(g, b);
    for (s.shift = 32; s.places >> (32 - s.shift) > 1;)
        s.shift--;
    s.has_split = (co_u32)may_split(b);
    s.whole_pages = (b->op == CO_OP_ADD || b->op == CO_OP_COUNT) && b->view.pages >= g->tuning->build_pages &&
                    g->shared_most >= MAP_BUILD_BYTES;
    s.most = (b->n / b->view.pages + MAP_PAGE_BYTES / map_slot_bytes(b->view.width)) * PAGE_FILL;
    s.sample = g->tuning->sums_sample;
    s.singles = s.places < g->tuning->sums_places[wide(b)] ? g->tuning->sums_singles / 2 : g->tuning->sums_singles;
    if (map_slots(&b->view) <= s.places)
        s.singles = s.sample; /* whatever there is */
    return s;
}

static cohort_status split(cohort_context *context, const struct split *s, struct arena *arena)
{
    return context->backend->multisplit->split(context, s, arena);
}

/* Asked, how much the split takes is added up last; no split has so many buckets: it is left out. */
static cohort_status lay_out(cohort_context *context, const struct map_batch *b, struct plan *p,
                             struct arena *arena)
{
    struct map_sums *s = &p->sums;
    memset(p, 0, sizeof *p);
    *s = sums_of(gpu_of(context), b);
    struct batch_deferred *nobody = arena_take(arena, sizeof *nobody);
    s->counts = arena_take(arena, sizeof *s->counts);
    s->way = arena_take(arena, sizeof *s->way);
    s->share = arena_take(arena, sizeof *s->share);
    s->alone = arena_take(arena, sizeof *s->alone);
    s->full = arena_take(arena, sizeof *s->full);
    s->any_left = arena_take(arena, sizeof *s->any_left);
    p->conclude.counts = s->counts;
    p->conclude.into = b->counts;
    p->conclude.n = b->n;
    if (!s->has_split)
        return COHORT_OK;
    const uint64_t before = arena->used;
    const unsigned value = b->op == CO_OP_COUNT ? 0 : map_value_bytes(b->view.width);
    co_u64 *offsets = arena_take(arena, (b->view.pages + 1ull) * sizeof *offsets);
    void *keys = arena_take(arena, b->n * map_key_bytes(b->view.width));
    void *values = value ? arena_take(arena, b->n * value) : NULL;
    struct map_batch of = *b;
    of.values = value ? b->values : NULL;
    s->keys = keys;
    s->values = values;
    s->offsets = offsets;
    s->left_out = s->whole_pages ? arena_take(arena, batch_bitmap_words(b->n) * 4) : NULL;
    p->split = map_split_of(&of, s->share, offsets, keys, values, nobody);
    p->of_split = *arena;
    struct arena asks = {.asks = 1};
    cohort_status status = split(context, &p->split, arena->asks ? arena : &asks);
    if (status == COHORT_UNSUPPORTED) {
        arena->used = before;
        s->has_split = 0;
        return COHORT_OK;
    }
    return status;
}

static cohort_status clear(cohort_context *context, const struct plan *p)
{
    const struct map_sums *s = &p->sums;
    const struct map_batch *b = &s->batch;
    cohort_status status = context_fill(context, s->counts, 0, offsetof(struct batch_counts, first_failed));
    if (!status)
        status = context_fill(context, &s->counts->first_failed, 0xff, sizeof(co_u64));
    if (!status)
        status = context_fill(context, s->full, 0, sizeof *s->full);
    if (!status)
        status = context_fill(context, s->any_left, 0, sizeof *s->any_left);
    if (!status && s->has_split && s->whole_pages)
        status = context_fill(context, s->left_out, 0, batch_bitmap_words(b->n) * 4);
    if (!status && b->failed)
        status = context_fill(context, b->failed, 0, batch_bitmap_words(b->n) * 4);
    return status;
}

static cohort_status launch(cohort_context *context, const char *kind, unsigned blocks, unsigned threads,
                            const struct map_sums *s)
{
    char name[MAP_NAME_BYTES];
    unsigned bytes = map_sums_bytes(s->places, s->batch.view.width), of_sample = 16 * s->sample;
    return gpu_launch_grid(context, map_kernel_name(name, kind, &s->batch.view), blocks, threads,
                           bytes > of_sample ? bytes : of_sample, s);
}

/* One by one, behind the gate. */
static cohort_status behind_gate(cohort_context *context, const struct map_sums *s)
{
    struct map_batch b = s->batch;
    b.gate = s->alone;
    b.counts = s->counts;
    return cuda_map_batch(context, &b, MEMORY_DEVICE);
}

static cohort_status run(cohort_context *context, struct plan *p)
{
    struct map_sums *s = &p->sums;
    const struct gpu *g = gpu_of(context);
    char name[MAP_NAME_BYTES];
    cohort_status status = clear(context, p);
    if (!status)
        status = launch(context, "sums_sample", 1, g->tuning->build_threads, s);
    if (!status && s->has_split)
        status = split(context, &p->split, &p->of_split);
    if (!status)
        status = map_ledger_open(context, &s->batch);
    if (status)
        return status;
    status = launch(context, "sums_fold", blocks_of(g, &s->batch), g->tuning->sums_threads[wide(&s->batch)], s);
    if (!status && s->has_split && s->whole_pages) {
        status = map_launch_pages(context, "sums_pages", &s->batch.view, MAP_BUILD_BYTES, s);
        s->left = s->left_out;
        if (!status)
            status =
                launch(context, "sums_fold", blocks_of(g, &s->batch), g->tuning->sums_threads[wide(&s->batch)], s);
        s->left = NULL;
    }
    status = map_ledger_close(context, &s->batch, status);
    s->batch.ledger = NULL;
    if (!status && !s->has_split)
        status = behind_gate(context, s);
    if (!status)
        status = gpu_launch(context, map_kernel_name(name, "sums_rest", &s->batch.view), s->batch.n, s);
    return status ? status : gpu_launch_grid(context, "map_build_conclude", 1, 32, 0, &p->conclude);
}

cohort_status cuda_map_sums(cohort_context *context, const struct map_batch *b, struct arena *arena)
{
    struct plan plan;
    cohort_status s = lay_out(context, b, &plan, arena);
    return s || arena->asks ? s : run(context, &plan);
}
