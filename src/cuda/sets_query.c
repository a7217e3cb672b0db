/* cuda/sets_query.c: queries on a GPU. One launch answers all rows (shape/sets_ask.h); with first members
 * wanted there is a second.
 *
 * A collection for an answer. The rows' keys are found first: a unit tells its row and its key, unless
 * another one has it; sorted, they are the answer's chunks in order. A warp makes each, and takes as much of
 * the pool as it comes to. What was found is then moved together; the members stay where they are. */
#include "sets.h"

#include <string.h>

#include "backend/sort.h"
#include "backend/sums.h"

/* Warps that work with a bitmap each in shared memory. */
static cohort_status launch(cohort_context *context, const char *kernel, uint64_t items,
                            const struct sets_query_step *s)
{
    unsigned bitmaps = s->q.op == SETS_AT_LEAST ? 2 : 1;
    return gpu_launch_warps(context, kernel, items, bitmaps * CO_CHUNK_BYTES, s);
}

/* ---- a plan
 * ---------------------------------------------------------------------------------------------------------------- */

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

/* ---- a collection
 * ------------------------------------------------------------------------------------------------------------- */

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

static cohort_status read64(cohort_context *context, uint64_t *to, const co_u64 *from)
{
    return context_copy(context, to, from, sizeof *to);
}

static cohort_status ask_rooms(struct finding *f)
{
    uint64_t bounds[3] = {0, 0, 0};
    struct sets_query_step *s = &f->step;
    cohort_status status = room(f, 3, 8, &s->bounds);
    if (!status)
        status = context_fill(f->context, s->bounds, 0, sizeof bounds);
    if (!status)
        status = gpu_launch(f->context, "sets_query_bounds", s->q.rows, s);
    if (!status)
        status = context_copy(f->context, bounds, s->bounds, sizeof bounds);
    f->found->chunks = bounds[0];
    f->found->units = bounds[1];
    f->found->listed = bounds[2];
    return status;
}

/* Sorts keys with a column, into new rooms. */
static cohort_status sort_by(struct finding *f, co_u64 **keys, co_u64 **column, unsigned bits)
{
    struct sort sort;
    struct arena asked = {.asks = 1}, given = {NULL, 0, 0};
    memset(&sort, 0, sizeof sort);
    sort.n = f->step.units;
    sort.order = COHORT_ORDER_U64;
    sort.high_bit = bits;
    sort.keys = *keys;
    sort.columns = 1;
    sort.column[0].in = *column;
    sort.column[0].bytes = 8;
    cohort_status status = room(f, sort.n, 8, &sort.keys_out);
    if (!status)
        status = room(f, sort.n, 8, &sort.column[0].out);
    if (!status)
        status = cuda_sort_backend.run(f->context, &sort, &asked);
    if (!status)
        status = room(f, asked.used, 1, &given.memory);
    if (!status)
        status = cuda_sort_backend.run(f->context, &sort, &given);
    *keys = sort.keys_out;
    *column = sort.column[0].out;
    return status;
}

static unsigned bits_of(uint64_t most)
{
    unsigned bits = 1;
    while (bits < 64 && most >> bits)
        bits++;
    return bits;
}

/* Units by row and key, in order. */
static cohort_status find_keys(struct finding *f)
{
    struct sets_query_step *s = &f->step;
    struct arena asked = {.asks = 1}, given = {NULL, 0, 0};
    uint64_t units = 0;
    cohort_status status = plan_rooms(f->context, s, &asked);
    if (!status)
        status = room(f, asked.used, 1, &given.memory);
    if (!status)
        status = plan_rooms(f->context, s, &given);
    if (!status) /* of no rows it is all there is */
        status = context_fill(f->context, s->prefix, 0, sizeof *s->prefix);
    if (!status)
        status = launch(f->context, "sets_query", warps_for(f->context, &s->q), s);
    if (!status)
        status = read64(f->context, &units, s->prefix + s->q.rows);
    s->units = units;
    if (!status)
        status = room(f, units, 8, &s->unit_rows);
    if (!status)
        status = room(f, units, 8, &s->unit_keys);
    if (!status)
        status = gpu_launch_warps(f->context, "sets_query_keys", units, 0, s);
    if (!status && units)
        status = sort_by(f, &s->unit_keys, &s->unit_rows, s->q.wide ? 48 : 16);
    if (!status && units)
        status = sort_by(f, &s->unit_rows, &s->unit_keys, bits_of(s->q.rows));
    return status;
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
        status = room(f, 1, 8, &s->cursor);
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
    uint64_t chunks = 0, units = 0, workspace_bytes = gpu_scan_bytes(f->context, s->units + 1);
    void *workspace = NULL;
    cohort_status status = room(f, s->units + 1, 8, &s->prefix);
    if (!status)
        status = room(f, workspace_bytes, 1, &workspace);
    if (!status)
        status = gpu_launch(f->context, "sets_query_flags", s->units + 1, s);
    if (!status)
        status = gpu_scan(f->context, s->prefix, s->units + 1, workspace);
    g.sums = s->prefix;
    if (!status)
        status =
            gpu_launch(f->context, "sets_query_gather", s->units > s->q.rows ? s->units : s->q.rows + 1, &g);
    if (!status)
        status = read64(f->context, &chunks, s->prefix + s->units);
    if (!status)
        status = read64(f->context, &units, s->cursor);
    found->chunks = chunks;
    found->units = units;
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
