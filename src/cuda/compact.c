/* compact.c: compaction: tiles, workspace, the launch. */
#include "shape/compact.h"

#include <string.h>

#include "backend/compact.h"
#include "device.h"

static uint64_t tiles_of(cohort_context *context, co_u64 places, unsigned key_bytes)
{
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    uint64_t tile = (uint64_t)tuning->block * tuning->compact_chunks * (16 / key_bytes);
    return places / tile + (places % tile != 0);
}

/* BITS says whether some bits are 1: all keys but those whose masked bits are 0. */
static struct split_fn simpler(const struct split_fn *fn)
{
    struct split_fn f = *fn;
    if (f.kind == SPLIT_BITS && f.b == 0) { /* none is kept */
        f.kind = SPLIT_BETWEEN;
        f.a = 1;
    }
    return f;
}

/* No entries: nothing is kept, and no segment begins later than the first. */
static cohort_status nothing(cohort_context *context, const struct compact *c)
{
    cohort_status status = COHORT_OK;
    if (c->total)
        status = context_fill(context, c->total, 0, sizeof *c->total);
    if (!status && c->segment_kept)
        status = context_fill(context, c->segment_kept, 0, (c->segments + 1) * sizeof *c->segment_kept);
    return status;
}

static void describe(struct compact_step *s, const struct compact *c)
{
    memset(s, 0, sizeof *s);
    s->n = c->n;
    s->lead = c->keys ? (uintptr_t)c->keys % 16 / c->key_bytes : 0;
    s->keys = c->keys;
    s->kept = c->kept;
    s->rejected = c->rejected;
    s->fn = simpler(&c->fn);
    s->where = c->where;
    s->first_bad = c->deferred ? &c->deferred->first_bad : NULL; // none where workspace is asked for
    s->total = c->total;
    s->segments = c->segments;
    s->segment_offsets = c->segment_offsets;
    s->segment_kept = c->segments ? c->segment_kept : NULL;
    s->columns = c->columns;
    s->ordered = c->columns || s->segment_kept;
    s->others = c->rejected != NULL;
    for (co_u32 i = 0; i < c->columns; i++)
        s->others |= c->column_rejected[i] != NULL;
    s->vectors = s->fn.kind == 0 || s->fn.kind == SPLIT_BETWEEN || s->fn.kind == SPLIT_MASKED ||
                 s->fn.kind == SPLIT_CHANGES;
    memcpy(s->column, c->column, sizeof s->column);
    memcpy(s->column_rejected, c->column_rejected, sizeof s->column_rejected);
}

/* Blocks have two tiles in shared memory, or one and the order of its entries. */
static cohort_status launch(cohort_context *context, const struct compact *c, const struct compact_step *s)
{
    static const char *const kernels[] = {"compact_32", "compact_64", "compact_ordered_32",
                                          "compact_ordered_64"};
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    unsigned places = tuning->block * tuning->compact_chunks * (16 / c->key_bytes);
    unsigned shared = places * (s->ordered ? c->key_bytes + 2 : 2 * c->key_bytes);
    uint64_t blocks = s->ordered ? tuning->compact_blocks_ordered : tuning->compact_blocks;
    blocks *= gpu_of(context)->multiprocessors;
    return gpu_launch_grid(context, kernels[s->ordered * 2 + (c->key_bytes == 8)],
                           (unsigned)(s->tiles < blocks ? s->tiles : blocks), tuning->block, shared, s);
}

/* Asked, it does not know where the keys begin. */
static cohort_status cuda_compact_run(cohort_context *context, const struct compact *c, struct arena *arena)
{
    struct compact_step s;
    describe(&s, c);
    cohort_status status = cuda_fn_make_ids(context, &s.fn, &c->source, c->n, c->keys, c->key_bytes, arena);
    s.tiles = tiles_of(context, c->n + (arena->asks ? 16 / c->key_bytes - 1 : s.lead), c->key_bytes);
    if (!status && s.tiles > 1)
        status = gpu_look_back(context, arena, s.tiles * 8, &s.words, &s.tickets);
    if (status || arena->asks)
        return status;
    return c->n ? launch(context, c, &s) : nothing(context, c);
}

static cohort_status cuda_compact_lengths(cohort_context *context, const struct compact_lengths *step)
{
    return gpu_launch(context, "compact_lengths", step->n, step);
}

const struct compact_backend cuda_compact_backend = {
    .run = cuda_compact_run,
    .lengths = cuda_compact_lengths,
};
