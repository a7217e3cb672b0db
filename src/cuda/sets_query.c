/* cuda/sets_query.c: queries on a GPU. One launch answers all rows (shape/sets_ask.h); with first members
 * wanted there is a second.
 *
 * A collection for an answer. The rows' keys are found first: a unit tells its row and its key, unless
 * another one has it, at its place in the order of rows and keys, which it finds by its ranks in all of the
 * row's operands. A warp makes each chunk, and takes as much of the pool as it comes to. What was found is
 * then moved together; the members stay where they are. The host waits twice: to take memory by what there
 * may be, and for what was found. */
#include "sets.h"

#include <string.h>

#include "backend/sums.h"

/* Warps that work with a bitmap each in shared memory. */
static cohort_status launch(cohort_context *context, const char *kernel, uint64_t items,
                            const struct sets_query_step *s)
{
    unsigned bitmaps = s->q.op == SETS_AT_LEAST ? 2 : 1;
    return gpu_launch_warps(context, kernel, items, bitmaps * CO_CHUNK_BYTES, s);
}

/* ---- a plan -------------------------------------------------------------------------------------------- */

static void describe(struct sets_query_step *s, const struct sets_query *q, unsigned phases)
{
    memset(s, 0, sizeof *s);
    s->q = *q;
    s->q.found = NULL;
    s->phases = phases;
}

/* Takes the memory of a plan, and clears what must be. */
static cohort_status plan_rooms(cohort_context *context, struct sets_query_step *s, struct arena *arena)
{
    uint64_t tiles = s->q.rows / 32 + (s->q.rows % 32 != 0);
    s->prefix = arena_take(arena, (s->q.rows + 1) * sizeof *s->prefix);
    uint64_t begin = arena->used;
    s->words = arena_take(arena, tiles * 8);
    s->tickets = arena_take(arena, sizeof *s->tickets);
    s->planned = arena_take(arena, sizeof *s->planned);
    s->next = arena_take(arena, sizeof *s->next);
    return arena->asks ? COHORT_OK : context_fill(context, s->words, 0, arena->used - begin);
}

/* Warps that are at work at a time, by what they take of shared memory: a row may be work for all of them. */
static uint64_t warps_for(cohort_context *context, const struct sets_query *q)
{
    const struct gpu *g = gpu_of(context);
    unsigned warps = g->tuning->block / 32, bitmaps = q->op == SETS_AT_LEAST ? 2 : 1;
    unsigned blocks = g->shared_most / (warps * bitmaps * CO_CHUNK_BYTES);
    return q->rows ? (uint64_t)g->multiprocessors * (blocks ? blocks : 1) * warps : 0;
}

static cohort_status run(cohort_context *context, const struct sets_query *q, struct arena *arena)
{
    struct sets_query_step s;
    describe(&s, q, SETS_PLAN | (q->counts || q->any ? SETS_WORK : 0));
    cohort_status status = plan_rooms(context, &s, arena);
    if (status || arena->asks || !q->rows)
        return status;
    status = launch(context, "sets_query", warps_for(context, q), &s);
    if (!status && (q->first_out || q->first_counts))
        status = launch(context, "sets_query_first", q->rows, &s);
    return status;
}

/* ---- a collection -------------------------------------------------------------------------------------- */

#define ROOMS 24

/* Work with memory of the pool, all of which goes back. */
struct finding {
    cohort_context *context;
    struct sets_query_step step;
    struct sets_found *found;
    void *taken[ROOMS];
    int count;
};

static cohort_status room(struct finding *f, uint64_t entries, uint64_t unit, void *out)
{
    void *memory = NULL;
    if (entries > ARENA_MOST / unit)
        return context_fail(f->context, COHORT_NO_MEMORY, "no memory for %llu chunks of an answer",
                            (unsigned long long)entries);
    cohort_status status = pool_take(f->context, entries * unit + unit, &memory);
    if (!status)
        f->taken[f->count++] = memory;
    memcpy(out, &memory, sizeof memory);
    return status;
}

static void end(struct finding *f)
{
    while (f->count)
        pool_give(f->context, f->taken[--f->count]);
}

static cohort_status ask_rooms(struct finding *f)
{
    uint64_t bounds[4] = {0, 0, 0, 0};
    struct sets_query_step *s = &f->step;
    cohort_status status = room(f, 4, 8, &s->bounds);
    if (!status)
        status = context_fill(f->context, s->bounds, 0, sizeof bounds);
    if (!status)
        status = gpu_launch(f->context, "sets_query_bounds", s->q.rows, s);
    if (!status)
        status = context_copy(f->context, bounds, s->bounds, sizeof bounds);
    f->found->chunks = bounds[0];
    f->found->units = bounds[1];
    f->found->listed = bounds[2];
    f->found->work = bounds[3];
    return status;
}

/* Units by row and key, in order. */
static cohort_status find_keys(struct finding *f)
{
    struct sets_query_step *s = &f->step;
    struct arena asked = {.asks = 1}, given = {NULL, 0, 0};
    cohort_status status = plan_rooms(f->context, s, &asked);
    if (!status)
        status = room(f, asked.used, 1, &given.memory);
    if (!status)
        status = plan_rooms(f->context, s, &given);
    if (!status) /* of no rows it is all there is */
        status = context_fill(f->context, s->prefix, 0, sizeof *s->prefix);
    if (!status)
        status = launch(f->context, "sets_query", warps_for(f->context, &s->q), s);
    s->units = f->found->work;
    if (!status)
        status = room(f, s->units, 8, &s->unit_rows);
    if (!status)
        status = room(f, s->units, 8, &s->unit_keys);
    return status ? status : gpu_launch_warps(f->context, "sets_query_keys", s->units, 0, s);
}

static cohort_status make_chunks(struct finding *f)
{
    struct sets_query_step *s = &f->step;
    cohort_status status = room(f, s->units, 8, &s->cards);
    if (!status)
        status = room(f, s->units, 8, &s->places);
    if (!status)
        status = room(f, s->units, 8, &s->digests);
    if (!status)
        status = room(f, s->units + 2, 8, &s->prefix);
    s->cursor = s->prefix + s->units + 1; /* behind the sums, so that both are read at once */
    if (!status)
        status = context_fill(f->context, s->cursor, 0, 8);
    s->pool = f->found->pool;
    s->pool_units = f->found->units;
    return status ? status : launch(f->context, "sets_query_found", s->units, s);
}

static cohort_status gather(struct finding *f)
{
    struct sets_query_step *s = &f->step;
    struct sets_found *found = f->found;
    struct sets_gather_step g = {.units = s->units,
                                 .rows = s->q.rows,
                                 .unit_rows = s->unit_rows,
                                 .unit_keys = s->unit_keys,
                                 .cards = s->cards,
                                 .places = s->places,
                                 .digests = s->digests,
                                 .row_first = found->row_first,
                                 .cards_out = found->cards,
                                 .keys_out = found->keys,
                                 .places_out = found->places,
                                 .digests_out = found->digests};
    uint64_t ends[2] = {0, 0}; /* chunks, and units of the pool */
    void *workspace = NULL;
    cohort_status status = room(f, gpu_scan_bytes(f->context, s->units + 1), 1, &workspace);
    if (!status)
        status = gpu_launch(f->context, "sets_query_flags", s->units + 1, s);
    if (!status)
        status = gpu_scan(f->context, s->prefix, s->units + 1, workspace);
    g.sums = s->prefix;
    if (!status)
        status =
            gpu_launch(f->context, "sets_query_gather", s->units > s->q.rows ? s->units : s->q.rows + 1, &g);
    if (!status)
        status = context_copy(f->context, ends, s->prefix + s->units, sizeof ends);
    found->chunks = ends[0];
    found->units = ends[1];
    return status;
}

static cohort_status run_found(cohort_context *context, const struct sets_query *q)
{
    struct finding f = {.context = context, .found = q->found};
    cohort_status status;
    describe(&f.step, q, SETS_PLAN);
    if (!q->found->pool) {
        status = ask_rooms(&f);
    } else {
        status = find_keys(&f);
        if (!status)
            status = make_chunks(&f);
        if (!status)
            status = gather(&f);
        if (!status && q->rows && (q->first_out || q->first_counts))
            status = launch(context, "sets_query_first", q->rows, &f.step);
    }
    end(&f);
    return status;
}

cohort_status cuda_sets_query(cohort_context *context, const struct sets_query *q, struct arena *arena)
{
    if (!q->found)
        return run(context, q, arena);
    return arena->asks ? COHORT_OK : run_found(context, q);
}
