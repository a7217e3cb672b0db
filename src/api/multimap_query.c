/* multimap_query.c: find, count, retrieve and export.
 *
 * Arrays in host memory of a GPU context go through workspace, a chunk of entries (or rows) at a time, so that the
 * workspace does not grow with the call. Arrays in the context's own memory are used where they lie, in one go.
 *
 * A retrieval looks each key up and notes where its run begins and how long it is; the lengths are summed up to the offsets
 * of the queries' rows; then each row asked for finds the query that it belongs to. */
#include "api/multimap.h"

#include <string.h>

#include "api/map.h"
#include "api/options.h"

#define CHUNK_ENTRIES (1ull << 22) /* in host memory that are staged at a time; a multiple of 32 */

static uint64_t chunk_of(const struct staging *staging, uint64_t left)
{
    return staging->across && left > CHUNK_ENTRIES ? CHUNK_ENTRIES : left;
}

static cohort_status check_n(cohort_context *context, const char *call, uint64_t n)
{
    if (n <= UINT64_MAX / 16)
        return COHORT_OK;
    return context_fail(context, COHORT_OVERFLOW,
                        "%s: n is %llu; so many entries do not fit in 64 bits of bytes", call,
                        (unsigned long long)n);
}

/* One value, in host memory, as a number; ~0 for NULL. */
static co_u64 value_of(const void *value, co_u32 bytes)
{
    co_u64 v = ~0ull;
    if (value) {
        v = 0;
        memcpy(&v, value, bytes); /* the least byte first */
    }
    return v;
}

/* ---- find -------------------------------------------------------------------------------------------------------------- */

struct find {
    cohort_multimap *multimap;
    const char *keys;
    char *values;
    const void *fallback;
    cohort_batch batch;
    struct map_counts counts;
};

/* Entries [begin, begin + n), whose counts are added up. Waits. */
static cohort_status find_chunk(struct find *f, struct staging *staging, uint64_t begin, uint64_t n)
{
    cohort_context *context = f->multimap->context;
    const struct backend *backend = context->backend;
    struct multimap_step step = multimap_step_of(f->multimap);
    uint64_t key_bytes = map_key_bytes(step.index.width), value_bytes = step.value_bytes;
    uint64_t bitmap_bytes = map_bitmap_words(n) * 4;
    char *values = f->values + begin * value_bytes;
    const uint32_t *where = f->batch.where ? f->batch.where + begin / 32 : NULL;
    uint32_t *hit = f->batch.hit ? f->batch.hit + begin / 32 : NULL;
    struct map_counts counts = {0, 0, 0, 0, ~0ull};
    void *own_keys, *own_where, *own_hit = NULL;
    cohort_status status = stage_in(staging, f->keys + begin * key_bytes, n * key_bytes, &own_keys);
    if (!status) /* with their contents, since some may stay as they are */
        status = stage_in(staging, values, n * value_bytes, &step.results);
    if (!status)
        status = stage_in(staging, where, bitmap_bytes, &own_where);
    if (!status)
        status = stage_room(staging, hit, bitmap_bytes, &own_hit);
    if (!status)
        status = backend->copy(context, &context->outcome->counts, &counts, sizeof counts);
    if (status)
        return status;
    step.n = n;
    step.keys = own_keys;
    step.where = own_where;
    step.hit = own_hit;
    step.counts = &context->outcome->counts;
    step.has_fallback = f->fallback != NULL;
    step.fallback = value_of(f->fallback, step.value_bytes);
    status = backend->multimap_step(context, &step, MULTIMAP_FIND);
    if (!status)
        status = backend->copy(context, &counts, &context->outcome->counts, sizeof counts);
    if (!status)
        status = stage_out(staging, values, step.results, n * value_bytes);
    if (!status)
        status = stage_out(staging, hit, own_hit, bitmap_bytes);
    f->counts.taken += counts.taken;
    f->counts.hits += counts.hits;
    return status;
}

static cohort_status find_all(struct find *f, uint64_t n, int kind)
{
    cohort_context *context = f->multimap->context;
    cohort_status status = COHORT_OK;
    for (uint64_t begin = 0, part; begin < n && !status; begin += part) {
        struct staging staging = staging_begin(context, kind);
        part = chunk_of(&staging, n - begin);
        status = find_chunk(f, &staging, begin, part);
        staging_end(&staging);
    }
    if (!status && f->batch.failed && n) { /* a find cannot fail */
        if (kind == MEMORY_HOST)
            memset(f->batch.failed, 0, map_bitmap_words(n) * 4);
        else
            status = context->backend->fill(context, f->batch.failed, 0, map_bitmap_words(n) * 4);
    }
    if (!status && f->batch.counts)
        status = context->backend->copy(context, f->batch.counts, &f->counts, sizeof *f->batch.counts);
    return status ? status : context->backend->wait(context);
}

cohort_status cohort_multimap_find(cohort_multimap *m, uint64_t n, const void *keys, void *values,
                                   const void *fallback, const cohort_batch *batch)
{
    static const char call[] = "cohort_multimap_find";
    cohort_batch none = COHORT_BATCH_INIT;
    struct find f = {.multimap = m, .keys = keys, .values = values, .fallback = fallback};
    int kind = -1;
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    if (!batch)
        batch = &none;
    f.counts.first_failed = ~0ull;
    cohort_status status =
        options_check(m->context, "batch", batch, batch->size, sizeof f.batch, sizeof f.batch, &f.batch);
    if (status)
        return status;
    if ((int)f.batch.winner < COHORT_WINNER_ANY || (int)f.batch.winner > COHORT_WINNER_LAST)
        return context_fail(m->context, COHORT_RANGE, "%s: batch.winner is %d; there are ANY, FIRST and LAST",
                            call, (int)f.batch.winner);
    if (f.batch.winner != COHORT_WINNER_ANY)
        return context_fail(m->context, COHORT_UNSUPPORTED,
                            "%s: batch.winner is %d, but this call has no winner rule", call,
                            (int)f.batch.winner);
    const struct argument arguments[] = {
        {"keys", keys, map_key_bytes(m->view.width), 0},
        {"values", values, map_value_bytes((co_u32)m->options.width), 0},
        {"batch.where", f.batch.where, 4, 1},
        {"batch.hit", f.batch.hit, 4, 1},
        {"batch.failed", f.batch.failed, 4, 1},
        {"batch.counts", f.batch.counts, 8, 1},
    };
    status = check_n(m->context, call, n);
    if (!status)
        status = arguments_check(m->context, call, n, arguments, 6, &kind);
    if (!status && !n && f.batch.counts) /* its memory has not been looked at */
        status = arguments_check(m->context, call, 1, arguments + 5, 1, &kind);
    return status ? status : find_all(&f, n, kind);
}

/* ---- count ------------------------------------------------------------------------------------------------------------- */

static cohort_status count_chunk(cohort_multimap *m, struct staging *staging, uint64_t n, const void *keys,
                                 uint64_t *counts)
{
    struct multimap_step step = multimap_step_of(m);
    void *own_keys, *own_counts;
    cohort_status status = stage_in(staging, keys, n * map_key_bytes(m->view.width), &own_keys);
    if (!status)
        status = stage_room(staging, counts, n * sizeof *counts, &own_counts);
    if (status)
        return status;
    step.n = n;
    step.keys = own_keys;
    step.sizes = own_counts;
    status = m->context->backend->multimap_step(m->context, &step, MULTIMAP_SIZES);
    return status ? status : stage_out(staging, counts, own_counts, n * sizeof *counts);
}

cohort_status cohort_multimap_count(cohort_multimap *m, uint64_t n, const void *keys, uint64_t *counts)
{
    static const char call[] = "cohort_multimap_count";
    int kind = -1;
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    uint64_t key_bytes = map_key_bytes(m->view.width);
    const struct argument arguments[] = {{"keys", keys, (unsigned)key_bytes, 0}, {"counts", counts, 8, 0}};
    cohort_status status = check_n(m->context, call, n);
    if (!status)
        status = arguments_check(m->context, call, n, arguments, 2, &kind);
    for (uint64_t begin = 0, part; begin < n && !status; begin += part) {
        struct staging staging = staging_begin(m->context, kind);
        part = chunk_of(&staging, n - begin);
        status = count_chunk(m, &staging, part, (const char *)keys + begin * key_bytes, counts + begin);
        staging_end(&staging);
    }
    return status ? status : m->context->backend->wait(m->context);
}

/* ---- retrieve ---------------------------------------------------------------------------------------------------------- */

/* Where each query's run begins and which row is its first, in the context's memory: step->starts and step->sizes. Waits. */
static cohort_status retrieve_offsets(cohort_multimap *m, struct staging *staging, const void *keys,
                                      void *offsets, struct multimap_step *step, uint64_t *total)
{
    const struct backend *backend = m->context->backend;
    uint64_t n = step->n;
    void *own_keys = NULL, *starts, *sizes = offsets;
    cohort_status status =
        n ? stage_in(staging, keys, n * map_key_bytes(m->view.width), &own_keys) : COHORT_OK;
    if (!status)
        status = stage_take(staging, n * sizeof *step->starts, &starts);
    if (!status && (!offsets || staging->across))
        status = stage_take(staging, (n + 1) * sizeof *step->sizes, &sizes);
    if (status)
        return status;
    step->keys = own_keys;
    step->starts = starts;
    step->sizes = sizes;
    status = backend->fill(m->context, step->sizes + n, 0, sizeof *step->sizes);
    if (!status && n)
        status = backend->multimap_step(m->context, step, MULTIMAP_SIZES);
    if (!status)
        status = backend->scan(m->context, step->sizes, n + 1);
    if (!status)
        status = stage_out(staging, offsets, step->sizes, (n + 1) * sizeof *step->sizes);
    if (!status)
        status = backend->copy(m->context, total, step->sizes + n, sizeof *total);
    return status;
}

/* Rows [begin, begin + rows) of those asked for; begin is a multiple of 32. */
static cohort_status retrieve_rows(cohort_multimap *m, struct staging *staging, const cohort_retrieve *r,
                                   struct multimap_step step, uint64_t begin, uint64_t rows)
{
    uint64_t *queries = r->queries ? r->queries + begin : NULL;
    char *values = r->values ? (char *)r->values + begin * step.value_bytes : NULL;
    uint32_t *matched = r->matched ? r->matched + begin / 32 : NULL;
    uint64_t bitmap_bytes = map_bitmap_words(rows) * 4;
    void *own_queries = NULL, *own_matched = NULL;
    cohort_status status = stage_room(staging, queries, rows * sizeof *queries, &own_queries);
    if (!status)
        status = stage_room(staging, values, rows * step.value_bytes, &step.row_values);
    if (!status)
        status = stage_room(staging, matched, bitmap_bytes, &own_matched);
    if (status)
        return status;
    step.first = r->first + begin;
    step.rows = rows;
    step.row_queries = own_queries;
    step.row_matched = own_matched;
    status = m->context->backend->multimap_step(m->context, &step, MULTIMAP_ROWS);
    if (!status)
        status = stage_out(staging, queries, own_queries, rows * sizeof *queries);
    if (!status)
        status = stage_out(staging, values, step.row_values, rows * step.value_bytes);
    if (!status)
        status = stage_out(staging, matched, own_matched, bitmap_bytes);
    return status;
}

static cohort_status retrieve(cohort_multimap *m, uint64_t n, const void *keys, cohort_retrieve *r, int kind)
{
    struct staging staging = staging_begin(m->context, kind);
    struct multimap_step step = multimap_step_of(m);
    uint64_t total = 0, rows = 0;
    step.n = n;
    step.outer = r->outer;
    step.fallback = value_of(r->fallback, step.value_bytes);
    cohort_status status = retrieve_offsets(m, &staging, keys, r->offsets, &step, &total);
    if (!status && r->first < total)
        rows = total - r->first < r->capacity ? total - r->first : r->capacity;
    int wanted = r->queries || r->values || r->matched;
    for (uint64_t begin = 0, part; wanted && begin < rows && !status; begin += part) {
        struct staging chunk = staging_begin(m->context, kind);
        part = chunk_of(&chunk, rows - begin);
        status = retrieve_rows(m, &chunk, r, step, begin, part);
        staging_end(&chunk);
    }
    staging_end(&staging);
    if (!status)
        status = m->context->backend->wait(m->context);
    r->total = total;
    r->written = rows;
    return status;
}

cohort_status cohort_multimap_retrieve(cohort_multimap *m, uint64_t n, const void *keys,
                                       cohort_retrieve *given)
{
    static const char call[] = "cohort_multimap_retrieve";
    cohort_retrieve r;
    int kind = -1;
    if (!m || !given)
        return context_fail(m ? m->context : NULL, COHORT_NULL, "%s: %s is NULL", call,
                            m ? "retrieve" : "multimap");
    cohort_status status = options_check(m->context, "retrieve", given, given->size, sizeof r, sizeof r, &r);
    if (status)
        return status;
    if (r.outer > 1 || r.reserved)
        return context_fail(m->context, COHORT_RANGE, "%s: retrieve.%s is %u; it must be %s", call,
                            r.outer > 1 ? "outer" : "reserved",
                            (unsigned)(r.outer > 1 ? r.outer : r.reserved), r.outer > 1 ? "0 or 1" : "0");
    const struct argument key = {"keys", keys, map_key_bytes(m->view.width), 0};
    const struct argument offsets = {"retrieve.offsets", r.offsets, 8, 1};
    const struct argument rows[] = {
        {"retrieve.queries", r.queries, 8, 1},
        {"retrieve.values", r.values, map_value_bytes((co_u32)m->options.width), 1},
        {"retrieve.matched", r.matched, 4, 1}};
    status = check_n(m->context, call, n);
    if (!status)
        status = arguments_check(m->context, call, n, &key, 1, &kind);
    if (!status)
        status = arguments_check(m->context, call, 1, &offsets, 1, &kind);
    if (!status)
        status = arguments_check(m->context, call, r.capacity, rows, 3, &kind);
    if (!status)
        status = retrieve(m, n, keys, &r, kind);
    if (!status)
        options_return(given, given->size, sizeof r, &r);
    return status;
}

/* ---- export ------------------------------------------------------------------------------------------------------------ */

/* The distinct keys in the order of their slots, which is the order of their runs, and where these begin. */
static cohort_status export_keys(cohort_multimap *m, struct staging *staging, void *keys, uint64_t *offsets)
{
    const struct backend *backend = m->context->backend;
    struct multimap_step step = multimap_step_of(m);
    uint64_t key_bytes = map_key_bytes(m->view.width), offset_bytes = (m->keys + 1) * sizeof *offsets;
    void *flags, *own_offsets;
    cohort_status status = stage_take(staging, m->slots * sizeof *step.flags, &flags);
    if (!status)
        status = stage_room(staging, keys, m->keys * key_bytes, &step.export_keys);
    if (!status)
        status = stage_room(staging, offsets, offset_bytes, &own_offsets);
    if (status)
        return status;
    step.n = m->slots;
    step.flags = flags;
    step.export_offsets = own_offsets;
    status = backend->multimap_step(m->context, &step, MULTIMAP_FLAGS);
    if (!status)
        status = backend->scan(m->context, step.flags, m->slots);
    if (!status)
        status = backend->multimap_step(m->context, &step, MULTIMAP_KEYS);
    if (!status && offsets)
        status = backend->copy(m->context, step.export_offsets + m->keys, &m->values, sizeof m->values);
    if (!status)
        status = stage_out(staging, keys, step.export_keys, m->keys * key_bytes);
    if (!status)
        status = stage_out(staging, offsets, own_offsets, offset_bytes);
    return status;
}

cohort_status cohort_multimap_export(cohort_multimap *m, void *keys, uint64_t *offsets, void *values)
{
    static const char call[] = "cohort_multimap_export";
    int kind = -1;
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    unsigned value_bytes = map_value_bytes((co_u32)m->options.width);
    const struct argument arguments[] = {{"keys", keys, map_key_bytes(m->view.width), 1},
                                         {"offsets", offsets, 8, 1},
                                         {"values", values, value_bytes, 1}};
    cohort_status status = arguments_check(m->context, call, m->keys, &arguments[0], 1, &kind);
    if (!status)
        status = arguments_check(m->context, call, 1, &arguments[1], 1, &kind);
    if (!status)
        status = arguments_check(m->context, call, m->values, &arguments[2], 1, &kind);
    struct staging staging = staging_begin(m->context, kind);
    if (!status && (keys || offsets))
        status = export_keys(m, &staging, keys, offsets);
    if (!status && values && m->values)
        status = m->context->backend->copy(m->context, values, m->runs, m->values * value_bytes);
    staging_end(&staging);
    return status ? status : m->context->backend->wait(m->context);
}
