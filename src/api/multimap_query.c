/* multimap_query.c: find, count and retrieve.
 *
 * Columns of queries and of rows go to the backend as the caller gave them: what lies in host memory is
 * streamed through a GPU. What has to be looked at as a whole (offsets, all keys) is workspace in the
 * context's memory first.
 *
 * A retrieval looks each key up and notes where its run begins and how long it is; the lengths are summed up
 * to the offsets of the queries' rows; then each row asked for finds the query that it belongs to. Of a
 * single multimap (api/multimap.h) the lookup is that of a map, and what is noted is the value itself. Of one
 * with several levels each key is looked up in all of them, and the rows of a query are those of the first
 * level, then of the second, and so on. */
#include "api/multimap.h"

#include <stdlib.h>
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

/* ---- find ---------------------------------------------------------------------------------------------- */

/* The counts come to the context's memory. With several levels `hit` is needed. */
static cohort_status look(cohort_multimap *m, const char *call, const struct multimap_step *s,
                          enum memory_kind memory)
{
    struct batch_counts counts;
    if (!m->single)
        return multimap_each(m, NULL, s, MULTIMAP_FIND, memory);
    cohort_status status = map_get(m->index, call, s->n, s->keys, s->results,
                                   s->has_fallback ? &s->fallback : NULL, s->where, s->hit, memory, &counts);
    return status ? status : context_copy(m->context, s->counts, &counts, sizeof counts);
}

/* What is found, for several levels that nobody else wants to know it of: memory of the kind of the columns,
 * which find_end gives back. */
static cohort_status find_begin(cohort_multimap *m, struct multimap_step *step, enum memory_kind memory,
                                void **pooled, void **own)
{
    const uint64_t bytes = batch_bitmap_words(step->n) * 4;
    if (step->hit || !m->next)
        return COHORT_OK;
    if (memory == m->context->backend->own_memory) {
        cohort_status status = pool_take(m->context, bytes, pooled);
        step->hit = *pooled;
        return status;
    }
    step->hit = *own = malloc(bytes);
    return *own ? COHORT_OK
                : context_fail(m->context, COHORT_NO_MEMORY, "no host memory for the hits of %llu keys",
                               (unsigned long long)step->n);
}

static cohort_status find_all(cohort_multimap *m, const char *call, struct multimap_step *step,
                              enum memory_kind memory)
{
    void *pooled = NULL, *own = NULL;
    cohort_status status = find_begin(m, step, memory, &pooled, &own);
    if (!status)
        status = look(m, call, step, memory);
    if (own && !status)
        status = context_wait(m->context);
    pool_give(m->context, pooled);
    free(own);
    return status;
}

/* The call's counts are made in the context's memory. Waits. */
static cohort_status find(cohort_multimap *m, const char *call, struct multimap_step *step,
                          const cohort_batch *batch, enum memory_kind memory)
{
    static const struct batch_counts none = {0, 0, 0, 0, ~0ull};
    cohort_context *context = m->context;
    step->counts = &context->outcome->counts;
    cohort_status status = context_copy(context, step->counts, &none, sizeof none);
    if (!status && step->n)
        status = find_all(m, call, step, memory);
    if (!status && batch->failed && step->n) /* a find cannot fail */
        status = bits_clear(context, memory, batch->failed, batch->failed_offset, step->n);
    if (!status && batch->counts)
        status = context_copy(context, batch->counts, step->counts, sizeof none);
    return status ? status : context_wait(context);
}

/* The same on the caller's bitmaps, as words. */
static cohort_status find_on_bitmaps(cohort_multimap *m, const char *call, struct multimap_step *step,
                                     const cohort_batch *o, enum memory_kind memory)
{
    cohort_context *context = m->context;
    const unsigned flags = bits_of_maps(context);
    struct bits where, hit;
    memset(&hit, 0, sizeof hit);
    cohort_status s = bits_open(&where, context, memory, o->where, o->where_offset, step->n, flags, NULL);
    if (!s)
        s = bits_open(&hit, context, memory, o->hit, o->hit_offset, step->n, flags | BITS_OUT, NULL);
    step->where = where.words;
    step->hit = hit.words;
    if (!s)
        s = find(m, call, step, o, memory);
    s = bits_close(&hit, s, !s);
    return bits_close(&where, s, 0);
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
    if (!status)
        status = multimap_bring_in(m, call);
    if (status)
        return status;
    struct multimap_step step = multimap_step_of(m);
    const unsigned maybe = BATCH_OUT | BATCH_OPTIONAL;
    batch_open(&b, m->context, call);
    batch_array(&b, "keys", BATCH_IN, keys, n, map_key_bytes(m->view.width), NULL);
    batch_array(&b, "values", BATCH_OUT, values, n, step.value_bytes, NULL);
    batch_bitmap(&b, "batch.where", BATCH_IN | BATCH_OPTIONAL, batch.where, batch.where_offset, n, NULL);
    batch_bitmap(&b, "batch.hit", maybe, batch.hit, batch.hit_offset, n, NULL);
    batch_bitmap(&b, "batch.failed", maybe, batch.failed, batch.failed_offset, n, NULL);
    batch_array(&b, "batch.counts", maybe, batch.counts, 1, sizeof *batch.counts, NULL)->align = 8;
    status = check(&b, n, &memory);
    if (status)
        return status;
    step.n = n;
    step.keys = keys;
    step.results = values;
    step.has_fallback = fallback != NULL;
    step.fallback = value_of(fallback, step.value_bytes);
    return find_on_bitmaps(m, call, &step, &batch, memory);
}

/* ---- count --------------------------------------------------------------------------------------------- */

/* Of each query how many values it has, and where they are. `found`, of a single multimap alone, is room for
 * a bit a query; then the keys are in the context's memory. */
static cohort_status find_runs(cohort_multimap *m, const char *call, struct multimap_step *step,
                               co_u32 *found, enum memory_kind memory)
{
    if (!step->n)
        return COHORT_OK;
    if (!m->single)
        return multimap_each(m, NULL, step, MULTIMAP_SIZES, memory);
    step->found = found;
    cohort_status status =
        map_get(m->index, call, step->n, step->keys, step->starts, step->outer ? &step->fallback : NULL, NULL,
                found, m->context->backend->own_memory, NULL);
    return status ? status : multimap_do(m, step, MULTIMAP_SIZES);
}

static cohort_status take_found(cohort_multimap *m, uint64_t n, void **found)
{
    return m->single ? pool_take(m->context, batch_bitmap_words(n + 1) * sizeof(co_u32), found) : COHORT_OK;
}

/* Counts of a single multimap on a device, of keys in the host's memory: a bit each comes back. */
static cohort_status count_across(cohort_multimap *m, const char *call, const struct multimap_step *step)
{
    co_u32 *found = malloc(batch_bitmap_words(step->n + 1) * sizeof *found);
    if (!found)
        return context_fail(m->context, COHORT_NO_MEMORY, "no host memory for the hits of %llu keys",
                            (unsigned long long)step->n);
    cohort_status status =
        step->n ? map_get(m->index, call, step->n, step->keys, NULL, NULL, NULL, found, MEMORY_HOST, NULL)
                : COHORT_OK;
    for (uint64_t i = 0; i < step->n && !status; i++)
        step->sizes[i] = found[i / 32] >> i % 32 & 1;
    free(found);
    return status;
}

static cohort_status count(cohort_multimap *m, const char *call, struct multimap_step *step,
                           enum memory_kind memory)
{
    void *found = NULL;
    if (m->single && memory != m->context->backend->own_memory)
        return count_across(m, call, step);
    cohort_status status = take_found(m, step->n, &found);
    if (!status)
        status = find_runs(m, call, step, found, memory);
    pool_give(m->context, found);
    return status;
}

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
    if (!status)
        status = multimap_bring_in(m, call);
    if (status)
        return status;
    struct multimap_step step = multimap_step_of(m);
    step.n = n;
    step.keys = keys;
    step.sizes = (co_u64 *)counts;
    status = count(m, call, &step, memory);
    return status ? status : context_wait(m->context);
}

/* ---- retrieve ------------------------------------------------------------------------------------------ */

/* What a retrieval takes from the pool. */
enum { STARTS, ENDS, FOUND, OFFSETS, KEYS, ROOMS };

/* Where each query's run begins and which row is its first, in workspace: step->starts and step->sizes, a
 * word for each level. To be given back by retrieve_end. Where there is one level the sizes are in `offsets`,
 * if these are in the context's memory (else NULL). */
static cohort_status retrieve_begin(cohort_multimap *m, struct multimap_step *step, uint64_t *offsets,
                                    void *workspace[ROOMS])
{
    cohort_context *context = m->context;
    const uint64_t entries = step->n * step->levels;
    cohort_status status =
        pool_take(context, entries ? entries * sizeof *step->starts : 1, &workspace[STARTS]);
    step->sizes = (co_u64 *)offsets;
    if (!status && !offsets) {
        status = pool_take(context, (entries + 1) * sizeof *step->sizes, &workspace[ENDS]);
        step->sizes = workspace[ENDS];
    }
    step->starts = workspace[STARTS];
    return status ? status : take_found(m, step->n, &workspace[FOUND]);
}

static void retrieve_end(cohort_multimap *m, void *const workspace[ROOMS])
{
    for (int i = 0; i < ROOMS; i++)
        pool_give(m->context, workspace[i]);
}

/* The queries' own offsets, of all that there are. */
static cohort_status give_offsets(cohort_multimap *m, const struct multimap_step *step,
                                  enum memory_kind memory, void **workspace, uint64_t *offsets)
{
    cohort_context *context = m->context;
    struct multimap_step s = *step;
    const uint64_t bytes = (step->n + 1) * sizeof *offsets;
    cohort_status status = COHORT_OK;
    if (!offsets || (co_u64 *)offsets == step->sizes)
        return COHORT_OK;
    if (step->levels == 1)
        return context_copy(context, offsets, step->sizes, bytes);
    s.n = step->n + 1;
    s.offsets = (co_u64 *)offsets;
    if (memory != context->backend->own_memory) {
        status = pool_take(context, bytes, workspace);
        s.offsets = *workspace;
    }
    if (!status)
        status = multimap_do(m, &s, MULTIMAP_OFFSETS);
    if (!status && *workspace)
        status = context_copy(context, offsets, *workspace, bytes);
    return status;
}

/* The keys of a single multimap's queries, in the context's memory. */
static cohort_status bring_keys(cohort_multimap *m, struct multimap_step *step, enum memory_kind memory,
                                void **keys)
{
    const uint64_t bytes = step->n * map_key_bytes(m->view.width);
    if (!m->single || memory == m->context->backend->own_memory || !bytes)
        return COHORT_OK;
    cohort_status status = pool_take(m->context, bytes, keys);
    if (!status)
        status = context_copy(m->context, *keys, step->keys, bytes);
    step->keys = *keys;
    return status;
}

/* The runs of the queries; `total` rows. Waits. */
static cohort_status retrieve_runs(cohort_multimap *m, const char *call, struct multimap_step *step,
                                   void *workspace[ROOMS], enum memory_kind memory, uint64_t *total)
{
    cohort_context *context = m->context;
    const uint64_t entries = step->n * step->levels;
    cohort_status status = context_fill(context, step->sizes + entries, 0, sizeof *step->sizes);
    if (!status)
        status = bring_keys(m, step, memory, &workspace[KEYS]);
    if (!status)
        status = find_runs(m, call, step, workspace[FOUND], memory);
    if (!status)
        status = multimap_scan(context, step->sizes, entries + 1);
    if (!status)
        status = context_copy(context, total, step->sizes + entries, sizeof *total);
    return status;
}

/* The rows asked for, of entries: a query and a level. */
static cohort_status retrieve_rows(const cohort_multimap *m, const struct multimap_step *step,
                                   const cohort_retrieve *r, enum memory_kind memory)
{
    struct multimap_step s = *step;
    struct bits matched;
    co_u32 level = 0;
    s.n = step->n * step->levels;
    for (const cohort_multimap *l = m; l; l = l->next)
        s.level_runs[level++] = l->runs;
    cohort_status status = bits_open(&matched, m->context, memory, r->matched, r->matched_offset, s.rows,
                                     bits_of_maps(m->context) | BITS_OUT, NULL);
    s.row_matched = matched.words;
    if (!status)
        status = m->context->backend->multimap->step(m->context, &s, MULTIMAP_ROWS, memory);
    return bits_close(&matched, status, !status);
}

static cohort_status retrieve(cohort_multimap *m, const char *call, struct multimap_step *step,
                              cohort_retrieve *r, enum memory_kind memory)
{
    void *workspace[ROOMS] = {NULL, NULL, NULL, NULL, NULL};
    uint64_t total = 0;
    const int across = memory != m->context->backend->own_memory;
    step->levels = multimap_levels(m, NULL);
    cohort_status status = retrieve_begin(m, step, across || m->next ? NULL : r->offsets, workspace);
    if (!status)
        status = retrieve_runs(m, call, step, workspace, memory, &total);
    if (!status)
        status = give_offsets(m, step, memory, &workspace[OFFSETS], r->offsets);
    if (!status && r->first < total)
        step->rows = total - r->first < r->capacity ? total - r->first : r->capacity;
    if (!status && step->rows && (r->queries || r->values || r->matched))
        status = retrieve_rows(m, step, r, memory);
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
    if (!status)
        status = multimap_bring_in(m, call);
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
    batch_bitmap(&b, "retrieve.matched", maybe, r.matched, r.matched_offset, some, NULL);
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
    status = retrieve(m, call, &step, &r, memory);
    if (!status)
        options_return(given, given->size, sizeof r, &r);
    return status;
}
