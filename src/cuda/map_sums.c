/* cuda/map_sums.c: a large batch of sums by key, folded in the blocks' shared memory (kernels/map_sums.cu).
 *
 * Few keys: each block has all of them. More: a multisplit puts the entries in order of parts, ranges of the
 * keys' hashes, of which each has fewer keys than a block has places. Which it is a sample tells on the
 * device, unless the map has no room for many. A batch that is small for its table goes one by one, if it
 * has many keys. Nothing is waited for. */
#include <stddef.h>
#include <string.h>

#include "backend/multisplit.h"
#include "backend/table.h"
#include "map.h"

#define CHUNK_LEAST 512u /* entries that a block takes in a row, at least, and turns of each block, about */
#define TURNS       4u
#define REST_BLOCKS 16u /* blocks a multiprocessor that look whether some keys found no slot */

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

/* As many parts as leave three quarters of a block's places free if the table, or the batch, is full of
 * keys: then most keys are at home. One pass of a multisplit does 256, which are worth half of the places.
 * 0: none pay. */
static co_u32 parts_of(const struct gpu *g, const struct map_batch *b, co_u32 places)
{
    const struct gpu_tuning *t = g->tuning;
    uint64_t slots = map_slots(&b->view), keys = b->n < slots ? b->n : slots, each = places / 4,
             parts = keys / each + 1;
    if (slots <= places || b->n < slots / 4 * t->sums_quarters || b->n < t->sums_split)
        return 0;
    if (parts > 256 && keys <= 128ull * places)
        parts = 256;
    return parts < t->sums_parts ? (co_u32)parts : t->sums_parts;
}

static struct map_sums sums_of(const struct gpu *g, const struct map_batch *b)
{
    const struct gpu_tuning *t = g->tuning;
    uint64_t chunk = b->n / blocks_of(g, b) / TURNS;
    struct map_sums s;
    memset(&s, 0, sizeof s);
    s.batch = *b;
    s.keys = b->keys;
    s.values = b->op == CO_OP_COUNT ? NULL : b->values;
    s.chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk < 1u << 30 ? chunk : 1u << 30;
    s.places = places_of(g, b);
    s.parts = parts_of(g, b, s.places);
    s.sample = t->sums_sample;
    s.singles = s.places < t->sums_places[wide(b)] ? t->sums_singles / 2 : t->sums_singles;
    return s;
}

/* There is no room for more keys than a block has places. */
static int is_few(const struct map_sums *s)
{
    return map_slots(&s->batch.view) <= s->places;
}

/* ---- workspace ----------------------------------------------------------------------------------------- */

struct words {
    struct batch_counts counts;
    co_u64 share, alone, full;
};

struct plan {
    struct map_sums fold, parts; /* the batch as it is; and in order of parts */
    struct map_build conclude;
    struct split split;
    struct arena of_split; /* its workspace, and what follows */
    struct batch_deferred *nobody;
};

/* Where workspace is only counted, there is some array for each that will be. */
static struct split split_of(const struct map_sums *s, struct batch_deferred *nobody)
{
    void *some = (void *)(uintptr_t)s->batch.keys;
    const cohort_map_view *view = &s->batch.view;
    struct split split = split_by_pages(s->batch.n, map_key_bytes(view->width), view->seed, s->parts, 0);
    split.n_at = s->share ? s->share : &s->batch.n;
    split.offsets = (co_u64 *)(uintptr_t)s->offsets;
    split.keys = s->batch.keys;
    split.keys_out = s->keys ? (void *)(uintptr_t)s->keys : some;
    split.deferred = nobody;
    if (s->batch.op != CO_OP_COUNT)
        split_carry(&split, s->batch.values, s->values ? (void *)(uintptr_t)s->values : some,
                    map_value_bytes(view->width));
    return split;
}

static cohort_status split(cohort_context *context, const struct split *s, struct arena *arena)
{
    return context->backend->multisplit->split(context, s, arena);
}

/* Asked, how much the split takes is added up last. */
static cohort_status lay_out_parts(cohort_context *context, struct plan *p, struct arena *arena)
{
    const struct map_batch *b = &p->fold.batch;
    p->parts = p->fold;
    p->nobody = arena_take(arena, sizeof *p->nobody);
    p->parts.offsets = arena_take(arena, (p->parts.parts + 1ull) * sizeof(co_u64));
    p->parts.keys = arena_take(arena, b->n * map_key_bytes(b->view.width));
    p->parts.values = b->op == CO_OP_COUNT ? NULL : arena_take(arena, b->n * map_value_bytes(b->view.width));
    p->split = split_of(&p->parts, p->nobody);
    p->of_split = *arena;
    return arena->asks ? split(context, &p->split, arena) : COHORT_OK;
}

static cohort_status lay_out(cohort_context *context, const struct map_batch *b, struct plan *p,
                             struct arena *arena)
{
    struct map_sums *s = &p->fold;
    memset(p, 0, sizeof *p);
    *s = sums_of(gpu_of(context), b);
    struct words *words = arena_take(arena, sizeof *words);
    if (words) {
        s->counts = &words->counts;
        s->share = &words->share;
        s->alone = &words->alone;
        s->full = &words->full;
    }
    p->conclude.counts = s->counts;
    p->conclude.into = b->counts;
    p->conclude.n = b->n;
    return s->parts ? lay_out_parts(context, p, arena) : COHORT_OK;
}

/* ---- the steps ----------------------------------------------------------------------------------------- */

/* The counts and the words behind them, in few steps: a launch costs as much as a million entries. */
static cohort_status clear(cohort_context *context, const struct map_sums *s)
{
    const struct map_batch *b = &s->batch;
    cohort_status status = context_fill(context, s->counts, 0, sizeof(struct words));
    if (!status)
        status = context_fill(context, &s->counts->first_failed, 0xff, sizeof(co_u64));
    if (!status && b->failed)
        status = context->backend->table->clear_bits(context, b->failed, 0, b->n);
    return status;
}

static cohort_status launch(cohort_context *context, const char *kind, unsigned blocks, unsigned threads,
                            uint64_t shared, const struct map_sums *s)
{
    char name[MAP_NAME_BYTES];
    return gpu_launch_grid(context, map_kernel_name(name, kind, &s->batch.view), blocks, threads,
                           (unsigned)shared, s);
}

static cohort_status launch_blocks(cohort_context *context, const char *kind, const struct map_sums *s)
{
    const struct gpu *g = gpu_of(context);
    const struct map_batch *b = &s->batch;
    return launch(context, kind, blocks_of(g, b), g->tuning->sums_threads[wide(b)],
                  map_sums_bytes(s->places, b->view.width), s);
}

/* One by one, behind the gate. */
static cohort_status behind_gate(cohort_context *context, const struct map_sums *s)
{
    struct map_batch b = s->batch;
    b.ledger = NULL;
    b.gate = s->alone;
    b.counts = s->counts;
    return cuda_map_batch(context, &b, MEMORY_DEVICE);
}

/* The ways, of which the sample has left one. */
static cohort_status fold(cohort_context *context, struct plan *p)
{
    cohort_status status = map_ledger_open(context, &p->fold.batch);
    if (status)
        return status;
    p->parts.batch.ledger = p->fold.batch.ledger;
    p->parts.batch.ledger_mask = p->fold.batch.ledger_mask;
    status = launch_blocks(context, "sums_fold", &p->fold);
    if (!status && p->parts.parts)
        status = split(context, &p->split, &p->of_split);
    if (!status && p->parts.parts)
        status = launch_blocks(context, "sums_parts", &p->parts);
    return map_ledger_close(context, &p->fold.batch, status);
}

/* Entries whose key found no slot. */
static cohort_status name_rest(cohort_context *context, const struct map_sums *s)
{
    const struct gpu *g = gpu_of(context);
    return launch(context, "sums_rest", g->multiprocessors * REST_BLOCKS, g->tuning->block, 0, s);
}

cohort_status cuda_map_sums(cohort_context *context, const struct map_batch *b, struct arena *arena)
{
    struct plan p;
    cohort_status status = lay_out(context, b, &p, arena);
    if (status || arena->asks)
        return status;
    const int few = is_few(&p.fold);
    status = clear(context, &p.fold);
    if (!status && !few)
        status = launch(context, "sums_sample", 1, gpu_of(context)->tuning->build_threads, 16 * p.fold.sample,
                        &p.fold);
    if (!status)
        status = fold(context, &p);
    if (!status && !few && !p.fold.parts)
        status = behind_gate(context, &p.fold);
    if (!status)
        status = name_rest(context, &p.fold);
    return status ? status : gpu_launch_grid(context, "map_build_conclude", 1, 32, 0, &p.conclude);
}
