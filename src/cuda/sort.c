/* sort.c: which passes a sort takes, its workspace, its launches. */
#include "shape/sort.h"

#include <string.h>

#include "backend/sort.h"
#include "device.h"

/* All that the passes are made from. Arrays: keys, columns, permutation, numbers of segments. */
struct plan {
    struct sort_array array[SORT_ARRAYS];
    unsigned arrays;
    unsigned key_bytes, key_passes, passes;
    uint64_t n;
    unsigned shift[SORT_PASSES], bits[SORT_PASSES];
    uint64_t tiles;
    co_u64 *bins;
    struct sort_plan *plan;
    void *words;
    uint64_t words_each;
    co_u32 *tickets;
    void *cleared; /* bins and what follows */
    uint64_t cleared_bytes;
};

/* ---- passes -------------------------------------------------------------------------------------------- */

/* As few as can be, of about as many bits each. */
static void digits(struct plan *p, unsigned low, unsigned high)
{
    unsigned many = (high - low + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
    for (unsigned left = many; left; left--) {
        unsigned bits = (high - low + left - 1) / left;
        p->shift[p->passes] = low;
        p->bits[p->passes++] = bits;
        low += bits;
    }
}

static unsigned bits_of(uint64_t numbers)
{
    unsigned bits = 0;
    while (bits < 64 && (uint64_t)1 << bits < numbers)
        bits++;
    return bits;
}

static void passes(struct plan *p, const struct sort *s)
{
    digits(p, s->low_bit, s->high_bit);
    p->key_passes = p->passes;
    if (s->segments > 1)
        digits(p, 0, bits_of(s->segments));
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void add(struct plan *p, struct arena *arena, uint64_t n, const void *in, void *out, unsigned bytes)
{
    struct sort_array a = {in, out, NULL, bytes, 0};
    if (p->passes > 1)
        a.other = arena_take(arena, n * bytes);
    p->array[p->arrays++] = a;
}

static void arrays(struct plan *p, struct arena *arena, const struct sort *s)
{
    void *keys_out = s->keys_out ? s->keys_out : arena_take(arena, s->n * p->key_bytes);
    add(p, arena, s->n, s->keys, keys_out, p->key_bytes);
    for (co_u32 c = 0; c < s->columns; c++)
        add(p, arena, s->n, s->column[c].in, s->column[c].out, s->column[c].bytes);
    if (s->permutation)
        add(p, arena, s->n, NULL, s->permutation, s->permutation_bytes);
    if (s->segments > 1) {
        void *in = arena_take(arena, s->n * sizeof(co_u32)), *out = arena_take(arena, s->n * sizeof(co_u32));
        add(p, arena, s->n, in, out, sizeof(co_u32));
    }
}

static unsigned tile_of(const struct gpu *g, enum sort_kind kind)
{
    return g->tuning->sort_threads[kind] * g->tuning->sort_items[kind];
}

/* By blocks that go on from tile to tile, one a multiprocessor, each with two stages. */
static int is_far(enum sort_kind kind)
{
    return kind == SORT_FAR_32 || kind == SORT_FAR_PAIR_32;
}

/* What sort_lay_out of kernels/sort.cu lays out. */
static unsigned shared_of(const struct gpu *g, enum sort_kind kind)
{
    unsigned threads = g->tuning->sort_threads[kind], warps = threads / 32;
    int pair = kind == SORT_PAIR_32 || kind == SORT_FEW_PAIR_32 || kind == SORT_FEWEST_PAIR_32,
        wide = kind == SORT_KEYS_64 || kind == SORT_COLUMNS_32 || kind == SORT_COLUMNS_64;
    unsigned places = pair ? (g->tuning->sort_items[kind] + 1) / 2 * threads * 4 : 0;
    return tile_of(g, kind) * (wide || is_far(kind) ? 8 : 4) + places +
           SORT_DIGITS * (8 + warps * 4 + 4 + 4) + SORT_DIGITS / 32 * 4 + 4 +
           (is_far(kind) ? SORT_FAR_BYTES : 0);
}

/* The first of those for fewest, few, any and many entries that is for n; for many, where a block may have
 * the memory. */
static enum sort_kind kind_for(const struct gpu *g, const enum sort_kind *kinds, uint64_t n)
{
    unsigned i = 0;
    while (g->tuning->sort_most[kinds[i]] < n)
        i++;
    return is_far(kinds[i]) && shared_of(g, kinds[i]) > g->shared_most ? kinds[i - 1] : kinds[i];
}

/* The kernel of a pass by keys or by segments: no columns, one of 4 bytes beside numbers of 4 where a block
 * may have the memory, or any. */
static enum sort_kind kind_of(const struct gpu *g, const struct plan *p, int by_keys)
{
    static const enum sort_kind alone[] = {SORT_FEWEST_32, SORT_FEW_32, SORT_KEYS_32, SORT_FAR_32},
                                pairs[] = {SORT_FEWEST_PAIR_32, SORT_FEW_PAIR_32, SORT_PAIR_32,
                                           SORT_FAR_PAIR_32};
    int wide = by_keys && p->key_bytes == 8;
    enum sort_kind pair = kind_for(g, pairs, p->n);
    if (p->arrays == 1)
        return wide ? SORT_KEYS_64 : kind_for(g, alone, p->n);
    if (wide)
        return SORT_COLUMNS_64;
    return p->arrays == 2 && p->array[by_keys ? 1 : 0].bytes == 4 && shared_of(g, pair) <= g->shared_most
               ? pair
               : SORT_COLUMNS_32;
}

static uint64_t tiles_of(const struct gpu *g, const struct plan *p, int by_keys)
{
    unsigned tile = tile_of(g, kind_of(g, p, by_keys));
    return p->n / tile + (p->n % tile != 0);
}

/* Passes over segments may have other tiles than those over keys. More entries have no fewer, as if they were
 * all that a kind of smaller tiles is for, so that no less memory does for them. */
static uint64_t most_tiles(const struct gpu *g, const struct plan *p)
{
    uint64_t most = 0;
    for (unsigned k = 0; k < SORT_KINDS; k++)
        for (int by_keys = 0; by_keys < 2; by_keys++) {
            struct plan fewer = *p;
            fewer.n = p->n < g->tuning->sort_most[k] ? p->n : g->tuning->sort_most[k];
            uint64_t tiles = tiles_of(g, &fewer, by_keys);
            most = tiles > most ? tiles : most;
        }
    return most;
}

static void make_plan(cohort_context *context, struct plan *p, struct arena *arena, const struct sort *s)
{
    memset(p, 0, sizeof *p);
    p->n = s->n;
    p->key_bytes = s->order <= SORT_F32 ? 4 : 8;
    passes(p, s);
    arrays(p, arena, s);
    uint64_t tiles = most_tiles(gpu_of(context), p);
    p->plan = arena_take(arena, p->passes * sizeof *p->plan);
    uint64_t begin = arena->used;
    p->cleared = p->bins = arena_take(arena, p->passes * SORT_DIGITS * sizeof(co_u64));
    p->tickets = arena_take(arena, p->passes * sizeof(co_u32));
    p->words_each = tiles * SORT_DIGITS;
    p->words = arena_take(arena, p->words_each * sizeof(co_u64));
    p->cleared_bytes = arena->used - begin;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static cohort_status number_segments(cohort_context *context, const struct plan *p, const struct sort *s)
{
    struct sort_segments_step step = {s->n, s->segments, s->segment_offsets,
                                      (co_u32 *)(uintptr_t)p->array[p->arrays - 1].in};
    return gpu_launch(context, "sort_segments", s->n, &step);
}

/* Passes [first, end), which go by one array. */
static cohort_status count(cohort_context *context, const struct plan *p, const struct sort *s,
                           unsigned array, unsigned first, unsigned end)
{
    const struct gpu *g = gpu_of(context);
    const struct sort_array *a = &p->array[array];
    struct sort_count_step step = {.keys = a->in,
                                   .n = s->n,
                                   .lead = (uintptr_t)a->in % 16 / a->bytes,
                                   .order = s->order,
                                   .descending = s->descending,
                                   .by_keys = array == 0,
                                   .passes = end - first,
                                   .bins = p->bins + first * SORT_DIGITS};
    for (unsigned i = first; i < end; i++) {
        step.shift[i - first] = p->shift[i];
        step.mask[i - first] = (1u << p->bits[i]) - 1;
    }
    uint64_t vectors = (s->n + step.lead) / (16 / a->bytes) + 1, block = g->tuning->block;
    uint64_t blocks = vectors / (block * SORT_CHUNKS * SORT_TURNS) + 1;
    uint64_t most = (uint64_t)g->multiprocessors * SORT_COUNTS;
    return gpu_launch_grid(context, a->bytes == 8 ? "sort_count_64" : "sort_count_32",
                           (unsigned)(blocks < most ? blocks : most), (unsigned)block, 0, &step);
}

/* What the pass goes by comes first. */
static void order_arrays(struct sort_step *step, const struct plan *p, int by_keys)
{
    step->arrays = p->arrays;
    memcpy(step->array, p->array, sizeof p->array);
    if (by_keys)
        return;
    step->array[0] = p->array[p->arrays - 1];
    step->array[p->arrays - 1] = p->array[0];
}

static cohort_status pass(cohort_context *context, const struct plan *p, const struct sort *s, unsigned i)
{
    static const char *const kernels[] = {"sort_pass_32",     "sort_pass_64",    "sort_pair_32",
                                          "sort_columns_32",  "sort_columns_64", "sort_few_32",
                                          "sort_few_pair_32", "sort_fewest_32",  "sort_fewest_pair_32",
                                          "sort_far_32",      "sort_far_pair_32"};
    int by_keys = i < p->key_passes;
    struct sort_step step = {.n = s->n,
                             .order = s->order,
                             .descending = s->descending,
                             .by_keys = by_keys,
                             .shift = p->shift[i],
                             .shift_again = p->shift[i],
                             .mask = (1u << p->bits[i]) - 1,
                             .round = i,
                             .plan = p->plan + i,
                             .base = p->bins + i * SORT_DIGITS,
                             .words = p->words,
                             .half = s->n < gpu_of(context)->tuning->sort_short ? p->words_each : 0,
                             .tickets = p->tickets + i};
    order_arrays(&step, p, by_keys);
    const struct gpu *g = gpu_of(context);
    enum sort_kind kind = kind_of(g, p, by_keys);
    uint64_t blocks = tiles_of(g, p, by_keys);
    if (is_far(kind) && blocks > g->multiprocessors)
        blocks = g->multiprocessors;
    return gpu_launch_grid(context, kernels[kind], (unsigned)blocks, g->tuning->sort_threads[kind],
                           shared_of(g, kind), &step);
}

static cohort_status prepare(cohort_context *context, const struct plan *p, const struct sort *s)
{
    cohort_status status = context_fill(context, p->cleared, 0, p->cleared_bytes);
    if (!status && p->passes > p->key_passes)
        status = number_segments(context, p, s);
    if (!status)
        status = count(context, p, s, 0, 0, p->key_passes);
    if (!status && p->passes > p->key_passes)
        status = count(context, p, s, p->arrays - 1, p->key_passes, p->passes);
    struct sort_plan_step step = {s->n, p->passes, p->key_passes, p->bins, p->plan};
    if (!status)
        status = gpu_launch_grid(context, "sort_plan", 1, gpu_of(context)->tuning->block, 0, &step);
    return status;
}

static cohort_status cuda_sort_run(cohort_context *context, const struct sort *s, struct arena *arena)
{
    struct plan p;
    if (s->segments > UINT32_MAX)
        return context_fail(context, COHORT_UNSUPPORTED, "desc.segments is %llu; a GPU sorts at most %u",
                            (unsigned long long)s->segments, UINT32_MAX);
    make_plan(context, &p, arena, s);
    if (arena->asks || !s->n)
        return COHORT_OK;
    cohort_status status = prepare(context, &p, s);
    for (unsigned i = 0; i < p.passes && !status; i++)
        status = pass(context, &p, s, i);
    return status;
}

const struct sort_backend cuda_sort_backend = {
    .run = cuda_sort_run,
};
