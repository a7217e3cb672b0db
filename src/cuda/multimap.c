/* multimap.c: which kernel does a step of a multimap's work.
 *
 * A kernel's name is the step and the bits of what it depends on: of the keys, of the values, or of both. A
 * single multimap has kernels of its own where it needs any. */
#include "backend/multimap.h"
#include "batch.h"
#include "device.h"

#include <stdio.h>

/* Blocks of a multiprocessor that make a sketch. */
#define SKETCH_BLOCKS 8

/* Blocks for `tiles` tiles of work, of which a block takes one at a time. */
static unsigned blocks_for(cohort_context *context, uint64_t tiles)
{
    const struct gpu *g = gpu_of(context);
    uint64_t most = (uint64_t)g->multiprocessors * g->tuning->blocks;
    return (unsigned)(tiles < most ? tiles : most);
}

static cohort_status launch_tiles(cohort_context *context, const char *kernel, uint64_t tiles,
                                  const void *args)
{
    return gpu_launch_grid(context, kernel, blocks_for(context, tiles), gpu_of(context)->tuning->block, 0,
                           args);
}

/* Few blocks, since each of them begins and ends with all registers. */
static cohort_status launch_sketch(cohort_context *context, const char *kernel, const struct multimap_step *s)
{
    uint64_t most = SKETCH_BLOCKS * (uint64_t)gpu_of(context)->multiprocessors;
    uint64_t all = s->n / SKETCH_REGISTERS + 1;
    return gpu_launch_grid(context, kernel, (unsigned)(all < most ? all : most),
                           gpu_of(context)->tuning->block, 0, s);
}

/* By what the instances of a kernel differ. */
enum { ALIKE = 0, BY_KEY = 1, BY_VALUE = 2, BY_BOTH = 3 };

struct kernel {
    const char *name;
    unsigned by;
};

static const struct kernel kernels[MULTIMAP_STEPS] = {
    [MULTIMAP_COUNT] = {"count", BY_KEY},   [MULTIMAP_PLACE] = {"place", BY_BOTH},
    [MULTIMAP_FIND] = {"find", BY_BOTH},    [MULTIMAP_SIZES] = {"sizes", BY_KEY},
    [MULTIMAP_ROWS] = {"rows", BY_VALUE},   [MULTIMAP_FLAGS] = {"flags", BY_KEY},
    [MULTIMAP_KEYS] = {"keys", BY_KEY},     [MULTIMAP_EXPAND] = {"expand", BY_KEY},
    [MULTIMAP_SKETCH] = {"sketch", BY_KEY}, [MULTIMAP_OFFSETS] = {"offsets", ALIKE}};

static const struct kernel single_kernels[MULTIMAP_STEPS] = {
    [MULTIMAP_SIZES] = {"single_sizes", ALIKE},
    [MULTIMAP_ROWS] = {"single_rows", BY_VALUE},
    [MULTIMAP_FLAGS] = {"single_flags", BY_BOTH},
    [MULTIMAP_KEYS] = {"single_keys", BY_BOTH},
};

static cohort_status launch(cohort_context *context, const struct multimap_step *s,
                            enum multimap_step_kind kind)
{
    const int single = multimap_is_single(s) && single_kernels[kind].name;
    const struct kernel *k = single ? &single_kernels[kind] : &kernels[kind];
    const unsigned key = 8 * map_key_bytes(s->index.width), value = 8 * s->value_bytes;
    char name[48];
    if (k->by == BY_BOTH)
        snprintf(name, sizeof name, "multimap_%s_%u_%u", k->name, key, value);
    else if (k->by == ALIKE)
        snprintf(name, sizeof name, "multimap_%s", k->name);
    else
        snprintf(name, sizeof name, "multimap_%s_%u", k->name, k->by == BY_KEY ? key : value);
    if (kind == MULTIMAP_SKETCH)
        return launch_sketch(context, name, s);
    if (kind != MULTIMAP_ROWS && kind != MULTIMAP_EXPAND)
        return gpu_launch(context, name, s->n, s);
    if (!s->rows)
        return COHORT_OK;
    /* Lanes of a single multimap's take queries, of which there may be many more than rows. */
    const uint64_t work = single && s->n > s->rows ? s->n : s->rows;
    return launch_tiles(context, name, work / MULTIMAP_TILE + (work % MULTIMAP_TILE != 0), s);
}

/* ---- columns in host memory ---------------------------------------------------------------------------- */

enum { KEYS, WHERE, RESULTS, HIT, SIZES, COLUMNS };
enum { QUERIES, VALUES, MATCHED, ROW_COLUMNS };

struct streamed {
    struct multimap_step step;
    enum multimap_step_kind kind;
};

/* Keys that are not in, and entries that do not take part, leave their results as they were; so do those that
 * an earlier level has. */
static void columns_of(const struct multimap_step *s, enum multimap_step_kind kind, struct stream_column *c)
{
    int finds = kind == MULTIMAP_FIND, all_written = s->has_fallback && !s->where && !s->level;
    const unsigned added = s->level ? STREAM_IN | STREAM_OUT : STREAM_OUT;
    c[KEYS] = stream_column(s->keys, 8 * map_key_bytes(s->index.width), STREAM_IN);
    c[WHERE] = stream_column(finds ? s->where : NULL, 1, STREAM_IN);
    c[RESULTS] = stream_column(finds ? s->results : NULL, 8 * s->value_bytes,
                               all_written ? STREAM_OUT : STREAM_IN | STREAM_OUT);
    c[HIT] = stream_column(finds ? s->hit : NULL, 1, added);
    c[SIZES] = stream_column(finds || s->starts ? NULL : s->sizes, 64, added);
}

static cohort_status launch_chunk(cohort_context *context, void *user, uint64_t first, uint64_t n,
                                  void *const *c)
{
    const struct streamed *whole = user;
    struct multimap_step s = whole->step;
    s.n = n;
    s.keys = c[KEYS];
    s.where = c[WHERE];
    s.results = c[RESULTS];
    s.hit = c[HIT];
    s.sizes = s.starts ? s.sizes + first * s.levels : c[SIZES];
    s.starts = s.starts ? s.starts + first * s.levels : NULL;
    return launch(context, &s, whole->kind);
}

static cohort_status launch_rows(cohort_context *context, void *user, uint64_t first, uint64_t n,
                                 void *const *c)
{
    struct multimap_step s = *(const struct multimap_step *)user;
    s.first += first;
    s.rows = n;
    s.row_queries = c[QUERIES];
    s.row_values = c[VALUES];
    s.row_matched = c[MATCHED];
    return launch(context, &s, MULTIMAP_ROWS);
}

static cohort_status stream_rows(cohort_context *context, const struct multimap_step *step)
{
    struct multimap_step s = *step;
    const struct stream_column columns[ROW_COLUMNS] = {
        [QUERIES] = stream_column(s.row_queries, 64, STREAM_OUT),
        [VALUES] = stream_column(s.row_values, 8 * s.value_bytes, STREAM_OUT),
        [MATCHED] = stream_column(s.row_matched, 1, STREAM_OUT)};
    return gpu_stream(context, s.rows, columns, ROW_COLUMNS, launch_rows, &s);
}

static cohort_status stream_queries(cohort_context *context, const struct multimap_step *step,
                                    enum multimap_step_kind kind)
{
    struct streamed s = {*step, kind};
    struct stream_column columns[COLUMNS];
    columns_of(step, kind, columns);
    return gpu_stream(context, step->n, columns, COLUMNS, launch_chunk, &s);
}

static cohort_status cuda_multimap_step(cohort_context *context, const struct multimap_step *s,
                                        enum multimap_step_kind kind, enum memory_kind memory)
{
    if (memory == MEMORY_DEVICE)
        return launch(context, s, kind);
    return kind == MULTIMAP_ROWS ? stream_rows(context, s) : stream_queries(context, s, kind);
}

const struct multimap_backend cuda_multimap_backend = {
    .step = cuda_multimap_step,
};
