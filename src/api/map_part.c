/* map_part.c: one part of a call that takes a batch: which entries it has, and how it goes to the backend: by
 * whole pages, by the passes of the winner rule, or plainly.
 *
 * The winner rule needs no state across parts: within a part the ranks decide, or the order that the backend
 * keeps, and parts go through the batch in the order in which what comes later may not undo what came before:
 * an insert keeps what an earlier part put in, so FIRST goes forward and LAST backward; an assign replaces
 * it, so FIRST goes backward and LAST forward. */
#include <string.h>

#include "api/map_call.h"

int map_part_is_backward(const struct call *c)
{
    return map_goes_backward(c->batch.rank, c->batch.op);
}

struct map_batch map_next_part(const struct call *c, uint64_t left, uint64_t most)
{
    struct map_batch b = c->batch;
    uint64_t key = map_key_bytes(b.view.width), value = map_value_bytes(b.view.width), begin = b.n - left;
    b.n = left < most ? left : most & ~31ull;
    if (map_part_is_backward(c)) {
        begin = left > most ? (left - most + 31) & ~31ull : 0;
        b.n = left - begin;
    }
    b.first_index = begin;
    b.keys = (const char *)b.keys + begin * key;
    b.values = b.values ? (const char *)b.values + begin * value : NULL;
    b.results = b.results ? (char *)b.results + begin * value : NULL;
    b.ops = b.ops ? b.ops + begin : NULL;
    b.where = b.where ? b.where + begin / 32 : NULL;
    b.hit = b.hit ? b.hit + begin / 32 : NULL;
    b.failed = b.failed ? b.failed + begin / 32 : NULL;
    return b;
}

/* Workspace of the winner rule: a word a slot, and what the passes tell each other of n entries. *memory: to
 * be given back. */
static cohort_status take_claims(cohort_context *context, uint64_t slots, struct map_batch *b, void **memory)
{
    const uint64_t words = batch_bitmap_words(b->n);
    cohort_status s = pool_take(context, sizeof(co_u64) + (slots + 2 * words) * sizeof(co_u32), memory);
    if (s)
        return s;
    b->claims.contested = *memory;
    b->winners = (co_u32 *)(void *)(b->claims.contested + 1);
    b->claims.first = b->winners + slots;
    b->claims.full = b->claims.first + words;
    return context_fill(context, b->claims.contested, 0, sizeof(co_u64));
}

/* Enqueues the passes of the winner rule, and one more that reads the outcome if there are results to
 * write. */
static cohort_status enqueue_ranked(struct call *c, struct map_batch b)
{
    cohort_context *context = c->map->context;
    const struct map_backend *backend = map_backend_of(c->map);
    struct map_sweep mark;
    void *memory = NULL, *results = b.results;
    memset(&mark, 0, sizeof mark);
    mark.view = b.view;
    mark.slots = map_all_slots(c->map);
    cohort_status s = take_claims(context, mark.slots, &b, &memory);
    mark.winners = b.winners;
    b.results = NULL;
    if (!s)
        s = backend->sweep(context, &mark, MAP_SWEEP_MARK);
    b.step = MAP_STEP_CLAIM;
    if (!s)
        s = backend->batch(context, &b, c->memory);
    b.step = MAP_STEP_SETTLE;
    if (!s)
        s = backend->batch(context, &b, c->memory);
    b.step = MAP_STEP_GET;
    b.results = results;
    if (!s && results)
        s = backend->batch(context, &b, c->memory);
    pool_give(context, memory);
    return s;
}

/* Can walks be long, as far as is known? */
static int is_crowded(const cohort_map *map)
{
    return map->viewed || map->most > map_table_slots(map) / 8 * 5;
}

/* By whole pages where the backend offers that and there is workspace for it. *done: it was. */
static cohort_status enqueue_pages(struct call *c, const struct map_batch *all, int *done)
{
    cohort_context *context = c->map->context;
    const struct backend *backend = context->backend;
    struct arena arena = {.asks = 1};
    void *memory;
    *done = 0;
    struct map_batch b = *all;
    b.crowded = (co_u32)is_crowded(c->map);
    if (c->options.one_by_one || c->memory != backend->own_memory)
        return COHORT_OK;
    cohort_status s = map_backend_of(c->map)->pages(context, &b, c->map->fresh, &arena);
    if (s || !arena.used || pool_take(context, arena.used, &memory))
        return s;
    *done = 1;
    arena = (struct arena){.memory = memory};
    s = map_backend_of(c->map)->pages(context, &b, c->map->fresh, &arena);
    pool_give(context, memory);
    return s;
}

cohort_status map_enqueue(struct call *c, const struct map_batch *b)
{
    const struct map_backend *backend = map_backend_of(c->map);
    int done = 0;
    cohort_status s = COHORT_OK;
    const int ranked = b->rank != MAP_RANK_NONE && !backend->keeps_order;
    if (!ranked)
        s = enqueue_pages(c, b, &done);
    if (b->step != MAP_STEP_APPLY || b->op != CO_OP_FIND) {
        c->map->fresh = 0;
        c->map->most = c->map->most > UINT64_MAX - b->n ? UINT64_MAX : c->map->most + b->n;
    }
    if (s || done)
        return s;
    if (ranked)
        return enqueue_ranked(c, *b);
    return backend->batch(c->map->context, b, c->memory);
}

cohort_status map_attempt(struct call *c, struct map_batch *b, struct batch_counts *got, int *full)
{
    static const struct batch_counts none = {0, 0, 0, 0, ~0ull};
    cohort_context *context = c->map->context;
    struct batch_deferred seen;
    int across = c->memory == MEMORY_HOST; /* then the counts come to the host's memory */
    *got = none;
    b->counts = across ? got : &context->outcome->counts;
    b->deferred = &context->outcome->now;
    cohort_status s = context_fill(context, b->deferred, 0xff, sizeof *b->deferred);
    if (!s && !across)
        s = context_copy(context, b->counts, &none, sizeof none);
    if (!s)
        s = map_enqueue(c, b);
    if (!s && !across)
        s = context_copy(context, got, b->counts, sizeof *got);
    if (!s)
        s = context_copy(context, &seen, b->deferred, sizeof seen);
    *full = !s && seen.first_full != ~0ull;
    c->bad |= !s && seen.first_bad != ~0ull;
    return s;
}
