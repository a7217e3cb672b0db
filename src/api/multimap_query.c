/* multimap_query.c: find, count, retrieve and export.
 *
 * Columns of queries and of rows go to the backend as the caller gave them: what lies in host memory is streamed through a GPU. What has
 * to be looked at as a whole (offsets, all keys) is workspace in the context's memory first.
 *
 * A retrieval looks each key up and notes where its run begins and how long it is; the lengths are summed up to the offsets
 * of the queries' rows; then each row asked for finds the query that it belongs to. */
#include "api/multimap.h"

#include <string.h>

#include "api/batch.h"
#include "api/map.h"
#include "api/options.h"

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

/* The arrays of a call, checked: the kind of memory that they are in; the context's own if there are none. */
static cohort_status check(struct batch *b, uint64_t n, enum memory_kind *memory)
{
    cohort_status status = batch_check_n(b, n);
    if (!status)
        status = batch_check_memory(b);
    *memory = b->kind < 0 ? b->context->backend->own_memory : (enum memory_kind)b->kind;
    return status;
}

static cohort_status do_step(const cohort_multimap *m, const struct multimap_step *step,
                             enum multimap_step_kind kind, enum memory_kind memory)
{
    return m->context->backend->multimap->step(m->context, step, kind, memory);
}

/* ---- find -------------------------------------------------------------------------------------------------------------- */

/* The call's counts are made in the context's memory. Waits. */
static cohort_status find(cohort_multimap *m, struct multimap_step *step, const cohort_batch *batch,
                          enum memory_kind memory)
{
    static const struct batch_counts none = {0, 0, 0, 0, ~0ull};
    cohort_context *context = m->context;
    const uint64_t bitmap_bytes = batch_bitmap_words(step->n) * 4;
    step->counts = &context->outcome->counts;
    cohort_status status = context_copy(context, step->counts, &none, sizeof none);
    if (!status && step->n)
        status = do_step(m, step, MULTIMAP_FIND, memory);
    if (!status && batch->failed && step->n) { /* a find cannot fail */
        if (memory == MEMORY_HOST)
            memset(batch->failed, 0, bitmap_bytes);
        else
            status = context_fill(context, batch->failed, 0, bitmap_bytes);
    }
    if (!status && batch->counts)
        status = context_copy(context, batch->counts, step->counts, sizeof none);
    return status ? status : context_wait(context);
}

static cohort_status check_batch(cohort_context *context, const char *call, const cohort_batch *given,
                                 cohort_batch *batch)
{
    static const cohort_batch none = COHORT_BATCH_INIT;
    given = given ? given : &none;
    cohort_status status =
        options_check(context, "batch", given, given->size, sizeof *batch, sizeof *batch, batch);
    if (status)
        return status;
    if ((int)batch->winner < COHORT_WINNER_ANY || (int)batch->winner > COHORT_WINNER_LAST)
        return context_fail(context, COHORT_RANGE, "%s: batch.winner is %d; there are ANY, FIRST and LAST",
                            call, (int)batch->winner);
    if (batch->winner != COHORT_WINNER_ANY)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "%s: batch.winner is %d, but this call has no winner rule", call,
                            (int)batch->winner);
    return COHORT_OK;
}

cohort_status cohort_multimap_find(cohort_multimap *m, uint64_t n, const void *keys, void *values,
                                   const void *fallback, const cohort_batch *given)
{
    CALL_ON(m);
    static const char call[] = "cohort_multimap_find";
    cohort_batch batch;
    struct batch b;
    enum memory_kind memory;
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    cohort_status status = check_batch(m->context, call, given, &batch);
    if (status)
        return status;
    struct multimap_step step = multimap_step_of(m);
    const unsigned maybe = BATCH_OUT | BATCH_OPTIONAL;
    batch_open(&b, m->context, call);
    batch_array(&b, "keys", BATCH_IN, keys, n, map_key_bytes(m->view.width), NULL);
    batch_array(&b, "values", BATCH_OUT, values, n, step.value_bytes, NULL);
    batch_bitmap(&b, "batch.where", BATCH_IN | BATCH_OPTIONAL, batch.where, n, NULL);
    batch_bitmap(&b, "batch.hit", maybe, batch.hit, n, NULL);
    batch_bitmap(&b, "batch.failed", maybe, batch.failed, n, NULL);
    batch_array(&b, "batch.counts", maybe, batch.counts, 1, sizeof *batch.counts, NULL)->align = 8;
    status = check(&b, n, &memory);
    if (status)
        return status;
    step.n = n;
    step.keys = keys;
    step.where = batch.where;
    step.results = values;
    step.hit = batch.hit;
    step.has_fallback = fallback != NULL;
    step.fallback = value_of(fallback, step.value_bytes);
    return find(m, &step, &batch, memory);
}

/* ---- count ------------------------------------------------------------------------------------------------------------- */

cohort_status cohort_multimap_count(cohort_multimap *m, uint64_t n, const void *keys, uint64_t *counts)
{
    CALL_ON(m);
    static const char call[] = "cohort_multimap_count";
    struct batch b;
    enum memory_kind memory;
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    batch_open(&b, m->context, call);
    batch_array(&b, "keys", BATCH_IN, keys, n, map_key_bytes(m->view.width), NULL);
    batch_array(&b, "counts", BATCH_OUT, counts, n, sizeof *counts, NULL);
    cohort_status status = check(&b, n, &memory);
    if (status)
        return status;
    struct multimap_step step = multimap_step_of(m);
    step.n = n;
    step.keys = keys;
    step.sizes = (co_u64 *)counts;
    if (n)
        status = do_step(m, &step, MULTIMAP_SIZES, memory);
    return status ? status : context_wait(m->context);
}

/* ---- retrieve ---------------------------------------------------------------------------------------------------------- */

/* Where each query's run begins and which row is its first, in workspace: step->starts and step->sizes; the latter in the caller's
 * offsets, if those are in the context's memory. To be given back by retrieve_end. */
static cohort_status retrieve_begin(cohort_multimap *m, struct multimap_step *step, uint64_t *offsets,
                                    void *workspace[2])
{
    cohort_context *context = m->context;
    cohort_status status = pool_take(context, step->n ? step->n * sizeof *step->starts : 1, &workspace[0]);
    step->sizes = (co_u64 *)offsets;
    if (!status && !offsets) {
        status = pool_take(context, (step->n + 1) * sizeof *step->sizes, &workspace[1]);
        step->sizes = workspace[1];
    }
    step->starts = workspace[0];
    return status;
}

static void retrieve_end(cohort_multimap *m, void *const workspace[2])
{
    pool_give(m->context, workspace[0]);
    pool_give(m->context, workspace[1]);
}

/* The runs of the queries; `total` rows. Waits. */
static cohort_status retrieve_runs(cohort_multimap *m, const struct multimap_step *step,
                                   enum memory_kind memory, uint64_t *offsets, uint64_t *total)
{
    cohort_context *context = m->context;
    const uint64_t n = step->n;
    cohort_status status = context_fill(context, step->sizes + n, 0, sizeof *step->sizes);
    if (!status && n)
        status = do_step(m, step, MULTIMAP_SIZES, memory);
    if (!status)
        status = multimap_scan(context, step->sizes, n + 1);
    if (!status && offsets && (co_u64 *)offsets != step->sizes)
        status = context_copy(context, offsets, step->sizes, (n + 1) * sizeof *step->sizes);
    if (!status)
        status = context_copy(context, total, step->sizes + n, sizeof *total);
    return status;
}

static cohort_status retrieve(cohort_multimap *m, struct multimap_step *step, cohort_retrieve *r,
                              enum memory_kind memory)
{
    void *workspace[2] = {NULL, NULL};
    uint64_t total = 0;
    const int across = memory != m->context->backend->own_memory;
    cohort_status status = retrieve_begin(m, step, across ? NULL : r->offsets, workspace);
    if (!status)
        status = retrieve_runs(m, step, memory, r->offsets, &total);
    if (!status && r->first < total)
        step->rows = total - r->first < r->capacity ? total - r->first : r->capacity;
    if (!status && step->rows && (r->queries || r->values || r->matched))
        status = do_step(m, step, MULTIMAP_ROWS, memory);
    retrieve_end(m, workspace);
    r->total = total;
    r->written = step->rows;
    return status ? status : context_wait(m->context);
}

static cohort_status check_retrieve(cohort_context *context, const char *call, const cohort_retrieve *given,
                                    cohort_retrieve *r)
{
    cohort_status status = options_check(context, "retrieve", given, given->size, sizeof *r, sizeof *r, r);
    if (status || (r->outer <= 1 && !r->reserved))
        return status;
    return context_fail(context, COHORT_RANGE, "%s: retrieve.%s is %u; it must be %s", call,
                        r->outer > 1 ? "outer" : "reserved",
                        (unsigned)(r->outer > 1 ? r->outer : r->reserved), r->outer > 1 ? "0 or 1" : "0");
}

cohort_status cohort_multimap_retrieve(cohort_multimap *m, uint64_t n, const void *keys,
                                       cohort_retrieve *given)
{
    CALL_ON(m);
    static const char call[] = "cohort_multimap_retrieve";
    cohort_retrieve r;
    struct batch b;
    enum memory_kind memory;
    if (!m || !given)
        return context_fail(m ? m->context : NULL, COHORT_NULL, "%s: %s is NULL", call,
                            m ? "retrieve" : "multimap");
    cohort_status status = check_retrieve(m->context, call, given, &r);
    if (status)
        return status;
    struct multimap_step step = multimap_step_of(m);
    const unsigned maybe = BATCH_OUT | BATCH_OPTIONAL;
    const uint64_t some =
        r.capacity ? 1 : 0; /* there may be less room than the capacity says, if there are fewer rows */
    batch_open(&b, m->context, call);
    batch_array(&b, "keys", BATCH_IN, keys, n, map_key_bytes(m->view.width), NULL);
    batch_array(&b, "retrieve.offsets", maybe, r.offsets, n + 1, sizeof *r.offsets, NULL);
    batch_array(&b, "retrieve.queries", maybe, r.queries, some, sizeof *r.queries, NULL);
    batch_array(&b, "retrieve.values", maybe, r.values, some, step.value_bytes, NULL);
    batch_bitmap(&b, "retrieve.matched", maybe, r.matched, some, NULL);
    status = check(&b, n, &memory);
    if (status)
        return status;
    step.n = n;
    step.keys = keys;
    step.outer = r.outer;
    step.fallback = value_of(r.fallback, step.value_bytes);
    step.first = r.first;
    step.row_queries = (co_u64 *)r.queries;
    step.row_values = r.values;
    step.row_matched = r.matched;
    status = retrieve(m, &step, &r, memory);
    if (!status)
        options_return(given, given->size, sizeof r, &r);
    return status;
}

/* ---- export ------------------------------------------------------------------------------------------------------------ */

/* The distinct keys in the order of their slots, which is the order of their runs, and where these begin. In the context's memory. */
static cohort_status export_keys(cohort_multimap *m, void *keys, uint64_t *offsets)
{
    cohort_context *context = m->context;
    const enum memory_kind own = context->backend->own_memory;
    struct multimap_step step = multimap_step_of(m);
    void *flags;
    cohort_status status = pool_take(context, m->slots * sizeof *step.flags, &flags);
    if (status)
        return status;
    step.n = m->slots;
    step.flags = flags;
    step.export_keys = keys;
    step.export_offsets = (co_u64 *)offsets;
    status = do_step(m, &step, MULTIMAP_FLAGS, own);
    if (!status)
        status = multimap_scan(context, step.flags, m->slots);
    if (!status)
        status = do_step(m, &step, MULTIMAP_KEYS, own);
    if (!status && offsets)
        status = context_copy(context, offsets + m->keys, &m->values, sizeof m->values);
    pool_give(context, flags);
    return status;
}

cohort_status cohort_multimap_export(cohort_multimap *m, void *keys, uint64_t *offsets, void *values)
{
    CALL_ON(m);
    static const char call[] = "cohort_multimap_export";
    const unsigned maybe = BATCH_OUT | BATCH_OPTIONAL;
    void *own_keys;
    uint64_t *own_offsets;
    struct batch b;
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    const uint64_t value_bytes = map_value_bytes((co_u32)m->options.width);
    batch_open(&b, m->context, call);
    batch_array(&b, "keys", maybe, keys, m->keys, map_key_bytes(m->view.width), &own_keys);
    batch_array(&b, "offsets", maybe, offsets, m->keys + 1, sizeof *offsets, &own_offsets);
    batch_array(&b, "values", maybe, values, m->values, value_bytes, NULL);
    cohort_status status = batch_check_memory(&b);
    if (status)
        return status;
    if (keys || offsets) {
        status = batch_begin(&b);
        if (!status)
            status = export_keys(m, own_keys, own_offsets);
        status = batch_end(&b, status, NULL);
    }
    if (!status && values && m->values)
        status = context_copy(m->context, values, m->runs, m->values * value_bytes);
    return status ? status : context_wait(m->context);
}
