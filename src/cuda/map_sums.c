/* cuda/map_sums.c: a large batch of sums by key, folded in the blocks' shared memory
 * (kernels/map_sums.cu), or one by one, as a sample tells on the device. Nothing is waited for. */
#include <stddef.h>
#include <string.h>

#include "map.h"

#define CHUNK_LEAST 64u /* entries that a block takes in a row, at least, and turns of each block, about */
#define TURNS       4u

/* Bits of hits would need to know which entry of a key came first. */
int map_is_sums(cohort_context *context, const struct map_batch *b)
{
    return b->step == MAP_STEP_APPLY && b->op >= CO_OP_ADD && b->op != CO_OP_EXCHANGE && b->group <= 1 &&
           !b->where && !b->hit && !b->results && map_value_bytes(b->view.width) &&
           !map_has_halves(gpu_of(context), b->view.width) && (b->values || b->op == CO_OP_COUNT) &&
           b->n >= gpu_of(context)->tuning->sums_batch;
}

static unsigned wide(const struct map_batch *b)
{
    return map_slot_bytes(b->view.width) > 8;
}

/* As many places as the device has shared memory for. */
static co_u32 places_of(const struct gpu *g, const struct map_batch *b)
{
    co_u32 places = g->tuning->sums_places[wide(b)];
    while (places > 2 && map_sums_bytes(places, b->view.width) > g->shared_most)
        places /= 2;
    return places;
}

static unsigned blocks_of(const struct gpu *g, const struct map_batch *b)
{
    return (unsigned)g->multiprocessors * g->tuning->sums_blocks[wide(b)];
}

static struct map_sums sums_of(const struct gpu *g, const struct map_batch *b)
{
    const struct gpu_tuning *t = g->tuning;
    uint64_t chunk = b->n / blocks_of(g, b) / TURNS;
    struct map_sums s;
    memset(&s, 0, sizeof s);
    s.batch = *b;
    s.chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk < 1u << 30 ? chunk : 1u << 30;
    s.places = places_of(g, b);
    for (s.shift = 32; s.places >> (32 - s.shift) > 1;)
        s.shift--;
    s.sample = t->sums_sample;
    s.singles = s.places < t->sums_places[wide(b)] ? t->sums_singles / 2 : t->sums_singles;
    if (map_slots(&b->view) <= s.places)
        s.singles = s.sample; /* whatever there is */
    return s;
}

/* The workspace, and what concludes the batch. */
static struct map_build lay_out(struct map_sums *s, struct arena *arena)
{
    struct map_build conclude;
    memset(&conclude, 0, sizeof conclude);
    s->counts = arena_take(arena, sizeof *s->counts);
    s->alone = arena_take(arena, sizeof *s->alone);
    s->full = arena_take(arena, sizeof *s->full);
    conclude.counts = s->counts;
    conclude.into = s->batch.counts;
    conclude.n = s->batch.n;
    return conclude;
}

static cohort_status clear(cohort_context *context, const struct map_sums *s)
{
    const struct map_batch *b = &s->batch;
    cohort_status status = context_fill(context, s->counts, 0, offsetof(struct batch_counts, first_failed));
    if (!status)
        status = context_fill(context, &s->counts->first_failed, 0xff, sizeof(co_u64));
    if (!status)
        status = context_fill(context, s->full, 0, sizeof *s->full);
    if (!status && b->failed)
        status = context_fill(context, b->failed, 0, batch_bitmap_words(b->n) * 4);
    return status;
}

static cohort_status launch(cohort_context *context, const char *kind, unsigned blocks, unsigned threads,
                            uint64_t shared, const struct map_sums *s)
{
    char name[MAP_NAME_BYTES];
    return gpu_launch_grid(context, map_kernel_name(name, kind, &s->batch.view), blocks, threads,
                           (unsigned)shared, s);
}

static cohort_status fold(cohort_context *context, struct map_sums *s)
{
    const struct gpu *g = gpu_of(context);
    const struct map_batch *b = &s->batch;
    cohort_status status = map_ledger_open(context, &s->batch);
    if (status)
        return status;
    status = launch(context, "sums_fold", blocks_of(g, b), g->tuning->sums_threads[wide(b)],
                    map_sums_bytes(s->places, b->view.width), s);
    status = map_ledger_close(context, &s->batch, status);
    s->batch.ledger = NULL;
    return status;
}

/* One by one, behind the gate. */
static cohort_status behind_gate(cohort_context *context, const struct map_sums *s)
{
    struct map_batch b = s->batch;
    b.gate = s->alone;
    b.counts = s->counts;
    return cuda_map_batch(context, &b, MEMORY_DEVICE);
}

cohort_status cuda_map_sums(cohort_context *context, const struct map_batch *b, struct arena *arena)
{
    struct map_sums s = sums_of(gpu_of(context), b);
    const struct map_build conclude = lay_out(&s, arena);
    char name[MAP_NAME_BYTES];
    if (arena->asks)
        return COHORT_OK;
    cohort_status status = clear(context, &s);
    if (!status)
        status = launch(context, "sums_sample", 1, gpu_of(context)->tuning->build_threads, 16 * s.sample, &s);
    if (!status)
        status = fold(context, &s);
    if (!status)
        status = behind_gate(context, &s);
    if (!status)
        status = gpu_launch(context, map_kernel_name(name, "sums_rest", &s.batch.view), s.batch.n, &s);
    return status ? status : gpu_launch_grid(context, "map_build_conclude", 1, 32, 0, &conclude);
}
