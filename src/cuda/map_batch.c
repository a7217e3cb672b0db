/* cuda/map_batch.c: which kernel does a batch, and the streaming of batches that lie in host memory.
 *
 * A kernel's name is the layout, what it does, and the map's width: map_find_32_32, lines_find_32_32. Kernels
 * walk their entries with the grid's stride and add to the counts themselves, so a batch of any size is one
 * launch, and a batch in host memory is one launch a chunk, with the columns' addresses replaced and the
 * chunk's place in the batch told. */
#include "map.h"

#include <stdio.h>

#include "batch.h"
#include "shape/lines.h"

static const char *const suffixes[] = {NULL, "32_0", "32_32", "64_0", "64_32", "64_64", "128_64"};

static int is_of_lines(const cohort_map_view *view)
{
    return view->version == CO_LINES_VIEW_VERSION;
}

const char *map_kernel_name(char name[MAP_NAME_BYTES], const char *kind, const cohort_map_view *view)
{
    snprintf(name, MAP_NAME_BYTES, "%s_%s_%s", is_of_lines(view) ? "lines" : "map", kind,
             suffixes[view->width]);
    return name;
}

cohort_status map_launch(cohort_context *context, const char *kind, const cohort_map_view *view, co_u64 items,
                         const void *args)
{
    char name[MAP_NAME_BYTES];
    return gpu_launch(context, map_kernel_name(name, kind, view), items, args);
}

/* ---- batches in device memory -------------------------------------------------------------------------- */

static const char *kind_of(const struct map_batch *b, const struct map_tuning *tuning)
{
    static const char *const steps[] = {NULL, "run", "claim", "settle", "get", "rank"};
    if (b->step != MAP_STEP_APPLY)
        return steps[b->step];
    switch (b->op) {
    case CO_OP_FIND:
        return b->group > 1                                ? "find_group"
               : tuning->relaxed && !is_of_lines(&b->view) ? "find_relaxed"
                                                           : "find";
    case CO_OP_INSERT:
        return b->group > 1 ? "insert_group" : "insert";
    case CO_OP_ASSIGN:
        return "assign";
    case CO_OP_ERASE:
        return "erase";
    default:
        return "apply";
    }
}

/* The blocks a multiprocessor of a batch that changes the table. Each warp adds to the same few words when it
 * ends, so a block has some turns if there are enough for all. Behind a gate, which is mostly shut, there are
 * few blocks, since they do no more than look at it then. Batches that the kernels fold have a table of hot
 * keys in each block then. */
static unsigned change_blocks(cohort_context *context, struct map_batch *b, const struct map_tuning *t)
{
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    uint64_t turns = b->n / t->change_block / gpu_of(context)->multiprocessors; /* of all blocks of one */
    uint64_t blocks = b->gate ? 0 : turns / tuning->change_turns;
    int folds = b->step == MAP_STEP_APPLY && (b->op == CO_OP_ASSIGN || b->op >= CO_OP_ADD);
    b->hot = folds && turns > tuning->change_least ? tuning->hot : 0;
    blocks = blocks > tuning->change_least ? blocks : tuning->change_least;
    return blocks < t->change_blocks ? (unsigned)blocks : t->change_blocks;
}

/* Lookups that add up nothing may have as many warps as they like: the others add to a few words when they
 * end. Behind a gate there are fewer blocks, for each costs time if it is shut, too. */
#define GATED_LOOK_BLOCKS 256u
static cohort_status launch_once(cohort_context *context, const struct map_batch *batch)
{
    const struct map_tuning *t = &gpu_of(context)->maps;
    struct map_batch b = *batch;
    int looks = b.step == MAP_STEP_GET || (b.step == MAP_STEP_APPLY && b.op == CO_OP_FIND && !b.counts);
    unsigned blocks = looks ? t->look_blocks : change_blocks(context, &b, t);
    if (looks && b.gate && blocks > GATED_LOOK_BLOCKS)
        blocks = GATED_LOOK_BLOCKS;
    char name[MAP_NAME_BYTES];
    map_kernel_name(name, kind_of(&b, t), &b.view);
    return gpu_launch_walks(context, name, b.n, looks ? t->look_block : t->change_block, blocks, &b);
}

/* ---- pairs in halves ----------------------------------------------------------------------------------- */

int map_has_halves(const struct gpu *g, co_u32 width)
{
    return map_slot_bytes(width) == 16 && g->architecture < 90;
}

/* Where a key that was put in has its value only when the launch has ended, what depends on values is a
 * launch of its own, after an INSERT of the keys, which also has all to say of the entries. Where an operand
 * may count twice the keys come with their operands, else with 0. */
static cohort_status launch_batch(cohort_context *context, const struct map_batch *batch)
{
    struct map_batch keys = *batch, values = *batch;
    const int sums = batch->op == CO_OP_ADD || batch->op == CO_OP_COUNT,
              combines = batch->op >= CO_OP_ADD && batch->op != CO_OP_EXCHANGE,
              finds = batch->op == CO_OP_INSERT && batch->results;
    if (is_of_lines(&batch->view) || !map_has_halves(gpu_of(context), batch->view.width) ||
        batch->step != MAP_STEP_APPLY || !(combines || finds))
        return launch_once(context, batch);
    keys.op = CO_OP_INSERT;
    keys.results = NULL;
    keys.values = sums ? NULL : batch->values;
    values.counts = NULL;
    values.hit = values.failed = NULL;
    if (finds)
        values.step = MAP_STEP_GET;
    cohort_status status = launch_once(context, &keys);
    return status ? status : launch_once(context, &values);
}

/* ---- the ledger ---------------------------------------------------------------------------------------- */

/* Additions to pairs of 16 bytes go by compare-and-swap, which fails the more the more lanes want one slot.
 * In batches that are large enough for that, an addition that fails is left in a ledger, and the ledger's
 * sums are added when the batch is done. */
cohort_status map_ledger_open(cohort_context *context, struct map_batch *b)
{
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    void *memory;
    int adds = b->step == MAP_STEP_APPLY && (b->op == CO_OP_ADD || b->op == CO_OP_COUNT);
    if (!adds || is_of_lines(&b->view) || map_slot_bytes(b->view.width) < 16 ||
        map_has_halves(gpu_of(context), b->view.width) || b->n < tuning->ledger_batch)
        return COHORT_OK;
    cohort_status status = pool_take(context, tuning->ledger * 16, &memory);
    if (status)
        return status;
    b->ledger = memory;
    b->ledger_mask = tuning->ledger - 1;
    return context_fill(context, memory, 0, tuning->ledger * 16);
}

/* After the batch, whose outcome is `status`. */
cohort_status map_ledger_close(cohort_context *context, struct map_batch *b, cohort_status status)
{
    if (!status && b->ledger)
        status = map_launch(context, "ledger", &b->view, b->ledger_mask + 1, b);
    pool_give(context, b->ledger);
    return status;
}

/* ---- batches in host memory ---------------------------------------------------------------------------- */

enum { KEYS, VALUES, RESULTS, OPS, WHERE, HIT, FAILED, COLUMNS };

/* The columns that the step reads and writes. Claims, ranks and gets say nothing of their entries. Results
 * that some entries may leave as they were go in too; where they are the operands' own array they are one
 * column with it. */
static void columns_of(const struct map_batch *b, struct stream_column *c)
{
    unsigned key = 8 * map_key_bytes(b->view.width), value = 8 * map_value_bytes(b->view.width);
    int ranked = b->step == MAP_STEP_CLAIM || b->step == MAP_STEP_RANK || b->step == MAP_STEP_SETTLE;
    int reports = b->step == MAP_STEP_SETTLE || (!ranked && b->step != MAP_STEP_GET);
    int all_written = b->step == MAP_STEP_APPLY && b->op == CO_OP_FIND && b->has_fallback && !b->where;
    const void *values = value && b->step != MAP_STEP_RANK ? b->values : NULL;
    const void *results = value && !ranked ? b->results : NULL;
    c[KEYS] = stream_column(b->keys, key, STREAM_IN);
    c[VALUES] = stream_column(results == values ? NULL : values, value, STREAM_IN);
    c[RESULTS] = stream_column(results, value, all_written ? STREAM_OUT : STREAM_IN | STREAM_OUT);
    c[OPS] = stream_column(b->step == MAP_STEP_RUN ? b->ops : NULL, 8, STREAM_IN);
    c[WHERE] = stream_column(b->where, 1, STREAM_IN);
    c[HIT] = stream_column(reports ? b->hit : NULL, 1, b->join ? STREAM_IN | STREAM_OUT : STREAM_OUT);
    c[FAILED] = stream_column(reports ? b->failed : NULL, 1, STREAM_OUT);
}

static cohort_status launch_chunk(cohort_context *context, void *user, uint64_t first, uint64_t n,
                                  void *const *c)
{
    struct map_batch *whole = user, b = *whole;
    b.n = n;
    b.first_index += first;
    b.rank_before += first;
    b.rank_after += whole->n - first - n;
    b.keys = c[KEYS];
    b.results = c[RESULTS];
    b.values = !c[VALUES] && whole->values == whole->results ? c[RESULTS] : c[VALUES];
    b.ops = c[OPS];
    b.where = c[WHERE];
    b.hit = c[HIT];
    b.failed = c[FAILED];
    return launch_batch(context, &b);
}

/* With the device current. */
static cohort_status stream_batch(cohort_context *context, const struct map_batch *host, void *counts)
{
    struct gpu *g = gpu_of(context);
    struct stream_column columns[COLUMNS];
    struct map_batch b = *host;
    const uint64_t bytes = sizeof *host->counts;
    cuda_result r = CUDA_OK;
    columns_of(&b, columns);
    b.counts = counts;
    if (counts)
        r = g->driver->memcpy_async((uintptr_t)counts, (uintptr_t)host->counts, bytes, g->stream);
    cohort_status status = gpu_check(context, r, "counts");
    if (!status)
        status = gpu_stream(context, b.n, columns, COLUMNS, launch_chunk, &b);
    if (!status && counts) {
        r = g->driver->memcpy_async((uintptr_t)host->counts, (uintptr_t)counts, bytes, g->stream);
        if (r == CUDA_OK)
            r = g->driver->stream_synchronize(g->stream);
        status = gpu_check(context, r, "counts");
    }
    return status;
}

static cohort_status stream_in(cohort_context *context, const struct map_batch *b)
{
    void *counts = NULL;
    cohort_status status = b->counts ? pool_take(context, sizeof *b->counts, &counts) : COHORT_OK;
    if (status)
        return status;
    status = gpu_enter(context);
    if (!status)
        status = gpu_leave(context, stream_batch(context, b, counts));
    pool_give(context, counts);
    return status;
}

/* CLAIM, RANK, SETTLE: a claim is followed by its ranks. Where there was no contest nothing is left to look
 * up: a batch in host memory, which waits anyway, then leaves out what only looks. */
static cohort_status stream_ranked(cohort_context *context, struct map_batch *b)
{
    uint64_t contested = 1;
    cohort_status status = b->step == MAP_STEP_CLAIM ? stream_in(context, b) : COHORT_OK;
    if (!status)
        status = context_copy(context, &contested, b->claims.contested, sizeof contested);
    if (b->step == MAP_STEP_CLAIM)
        b->step = MAP_STEP_RANK;
    else if (!contested) {
        b->values = NULL;
        b->keys = b->hit || b->failed ? NULL : b->keys; /* a stream has something to stream */
    }
    if (b->step == MAP_STEP_RANK && !contested)
        return status;
    return status ? status : stream_in(context, b);
}

static cohort_status launch_ranked(cohort_context *context, struct map_batch *b)
{
    cohort_status status = launch_batch(context, b);
    if (status || b->step != MAP_STEP_CLAIM)
        return status;
    b->step = MAP_STEP_RANK;
    return launch_batch(context, b);
}

cohort_status cuda_map_batch(cohort_context *context, const struct map_batch *batch, enum memory_kind memory)
{
    struct map_batch b = *batch;
    if (b.step == MAP_STEP_CLAIM || b.step == MAP_STEP_SETTLE)
        return memory == MEMORY_DEVICE ? launch_ranked(context, &b) : stream_ranked(context, &b);
    cohort_status status = map_ledger_open(context, &b);
    if (!status)
        status = memory == MEMORY_DEVICE ? launch_batch(context, &b) : stream_in(context, &b);
    return map_ledger_close(context, &b, status);
}
