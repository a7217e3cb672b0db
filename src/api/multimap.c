/* multimap.c: making multimaps: build, merge, load; and save. Queries are in multimap_query.c.
 *
 * A build goes twice over the pairs. The keys are put into a map without values, the index, which grows as it needs to and
 * is then rebuilt to fit. Each slot of it counts the values of its key; the counts are summed up, which tells where each
 * key's run of values begins; and each value goes to the next free place of its key's run. Before that the pairs are put in
 * order of their keys' pages, or all of it would be random access. Pairs may come in several parts: a merge is a build from two. */
#include "api/multimap.h"

#include <stdlib.h>
#include <string.h>

#include "api/map.h"
#include "api/options.h"
#include "io/multimap_file.h"

#define FIRST_CAPACITY 65536ull /* of the index, at most: it grows by what it meets, not by what may come */
#define PARTS_MOST     2        /* of a build: a merge has two */
#define ORDER_PAGES    512u     /* of an index that the caches do not hold */
#define LEAST_LOAD     0.1      /* what a file says of it sizes the table */
#define MOST_LOAD      0.95

/* ---- staging ----------------------------------------------------------------------------------------------------------- */

struct staging staging_begin(cohort_context *context, int kind)
{
    struct staging s;
    memset(&s, 0, sizeof s);
    s.context = context;
    s.across = kind >= 0 && kind != (int)context->backend->own_memory;
    return s;
}

cohort_status stage_take(struct staging *s, uint64_t bytes, void **own)
{
    cohort_status status = pool_take(s->context, bytes ? bytes : 1, own);
    if (!status)
        s->taken[s->count++] = *own;
    return status;
}

cohort_status stage_room(struct staging *s, void *array, uint64_t bytes, void **own)
{
    *own = array;
    return s->across && array ? stage_take(s, bytes, own) : COHORT_OK;
}

cohort_status stage_in(struct staging *s, const void *array, uint64_t bytes, void **own)
{
    cohort_status status = stage_room(s, (void *)(uintptr_t)array, bytes, own);
    if (status || *own == array || !bytes)
        return status;
    return s->context->backend->copy(s->context, *own, array, bytes);
}

cohort_status stage_out(struct staging *s, void *array, const void *own, uint64_t bytes)
{
    if (!array || own == array || !bytes)
        return COHORT_OK;
    return s->context->backend->copy(s->context, array, own, bytes);
}

void staging_end(struct staging *s)
{
    while (s->count)
        pool_give(s->context, s->taken[--s->count]);
}

/* ---- building ---------------------------------------------------------------------------------------------------------- */

/* Pairs in the context's memory. */
struct pairs {
    uint64_t n;
    const void *keys, *values;
    const uint32_t *where;
};

struct multimap_step multimap_step_of(const cohort_multimap *m)
{
    struct multimap_step s;
    memset(&s, 0, sizeof s);
    s.index = m->view;
    s.value_bytes = map_value_bytes((co_u32)m->options.width);
    s.ends = m->ends;
    s.runs = m->runs;
    return s;
}

static cohort_status take_memory(cohort_context *context, uint64_t bytes, const char *what, void **out)
{
    *out = context_alloc(context, bytes);
    if (*out)
        return COHORT_OK;
    return context_fail(context, COHORT_NO_MEMORY, "no memory for a multimap's %s (%llu bytes)", what,
                        (unsigned long long)bytes);
}

/* The index: the set of the keys of all parts, in a table that fits. */
static cohort_status build_index(cohort_multimap *m, int parts, const struct pairs *pairs)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    uint64_t n = 0;
    for (int i = 0; i < parts; i++)
        n = pairs[i].n > n ? pairs[i].n : n;
    options.width = map_key_bytes((co_u32)m->options.width) == 4 ? COHORT_WIDTH_32_0 : COHORT_WIDTH_64_0;
    options.capacity = n < 1 ? 1 : n < FIRST_CAPACITY ? n : FIRST_CAPACITY;
    options.seed = m->options.seed;
    options.max_load = m->options.max_load;
    cohort_status status = cohort_map_create(m->context, &options, &m->index);
    if (!status)
        m->index->all = 1;
    for (int i = 0; i < parts && !status; i++) {
        cohort_batch batch = COHORT_BATCH_INIT;
        batch.where = pairs[i].where;
        status = cohort_map_insert(m->index, pairs[i].n, pairs[i].keys, NULL, &batch);
    }
    if (!status)
        status = cohort_map_rehash(m->index, 0);
    if (!status)
        status = cohort_map_size(m->index, &m->keys);
    if (!status)
        status = cohort_map_get_view(m->index, &m->view);
    if (!status)
        status = cohort_map_get_options(m->index, &options);
    m->options.seed = options.seed;
    m->options.max_load = options.max_load;
    return status;
}

/* Counts, and what they sum up to: where the runs begin, and how many values there are. Waits. */
static cohort_status build_ends(cohort_multimap *m, int parts, const struct pairs *pairs)
{
    const struct backend *backend = m->context->backend;
    void *ends;
    m->slots = map_slots(&m->view) + MAP_SIDE_SLOTS;
    m->ends_bytes = (m->slots + 2) * sizeof *m->ends;
    cohort_status status = take_memory(m->context, m->ends_bytes, "table of runs", &ends);
    if (status)
        return status;
    m->ends = ends;
    status = backend->fill(m->context, m->ends, 0, m->ends_bytes);
    for (int i = 0; i < parts && !status; i++) {
        struct multimap_step step = multimap_step_of(m);
        step.n = pairs[i].n;
        step.keys = pairs[i].keys;
        step.where = pairs[i].where;
        status = backend->multimap_step(m->context, &step, MULTIMAP_COUNT);
    }
    if (!status)
        status = backend->scan(m->context, m->ends + 1, m->slots + 1);
    if (!status)
        status = backend->copy(m->context, &m->values, m->ends + m->slots + 1, sizeof m->values);
    return status;
}

static cohort_status build_runs(cohort_multimap *m, int parts, const struct pairs *pairs)
{
    uint64_t bytes = m->values * map_value_bytes((co_u32)m->options.width);
    m->runs_bytes = bytes ? bytes : 1;
    cohort_status status = take_memory(m->context, m->runs_bytes, "values", &m->runs);
    for (int i = 0; i < parts && !status; i++) {
        struct multimap_step step = multimap_step_of(m);
        step.n = pairs[i].n;
        step.keys = pairs[i].keys;
        step.values = pairs[i].values;
        step.where = pairs[i].where;
        status = m->context->backend->multimap_step(m->context, &step, MULTIMAP_PLACE);
    }
    return status;
}

/* ---- order ------------------------------------------------------------------------------------------------------------- */

/* What holds the ordered pairs, until they are placed. */
struct order_memory {
    void *columns, *workspace;
};

/* Puts the pairs in order of their key's page in the index, by a multisplit into the pool's memory, so that counting and placing stay
 * among slots, sums and runs that the caches hold. Small tables, selections and want of workspace leave them as they are. */
static cohort_status order_by_page(cohort_multimap *m, struct pairs *pairs, struct order_memory *memory)
{
    cohort_context *context = m->context;
    const struct backend *backend = context->backend;
    uint64_t n = pairs->n, pages = m->view.pages, need = 0;
    struct split s;
    memset(&s, 0, sizeof s);
    if (pages < ORDER_PAGES || n < pages || pairs->where)
        return COHORT_OK;
    while ((pages - 1) >> s.fn.by.after >= SPLIT_BUCKETS_MOST)
        s.fn.by.after++;
    s.n = n;
    s.unordered = 1;
    s.key_bytes = map_key_bytes((co_u32)m->options.width);
    s.fn.kind = SPLIT_PAGE;
    s.fn.buckets = (co_u32)((pages - 1) >> s.fn.by.after) + 1;
    s.fn.a = m->view.seed;
    s.fn.b = UINT32_MAX;
    s.fn.count = pages;
    s.fn.by.divisor = 1;
    s.keys = pairs->keys;
    s.columns = 1;
    s.column[0].in = pairs->values;
    s.column[0].bytes = map_value_bytes((co_u32)m->options.width);
    s.deferred = &context->outcome->now;
    uint64_t keys = (n * s.key_bytes + 255) & ~255ull;
    if (pool_take(context, keys + n * s.column[0].bytes, &memory->columns))
        return COHORT_OK;
    s.keys_out = memory->columns;
    s.column[0].out = (char *)memory->columns + keys;
    cohort_status status = backend->split(context, &s, &need);
    if (status || pool_take(context, need, &memory->workspace))
        return status;
    s.workspace = memory->workspace;
    pairs->keys = s.keys_out;
    pairs->values = s.column[0].out;
    return backend->split(context, &s, NULL);
}

static void order_end(cohort_context *context, const struct order_memory *memory)
{
    pool_give(context, memory->workspace);
    pool_give(context, memory->columns);
}

static cohort_status build_all(cohort_multimap *m, int parts, const struct pairs *given)
{
    struct pairs pairs[PARTS_MOST];
    struct order_memory memory[PARTS_MOST] = {{NULL, NULL}};
    cohort_status status = build_index(m, parts, given);
    for (int i = 0; i < parts && !status; i++) {
        pairs[i] = given[i];
        status = order_by_page(m, &pairs[i], &memory[i]);
    }
    if (!status)
        status = build_ends(m, parts, pairs);
    if (!status)
        status = build_runs(m, parts, pairs);
    for (int i = 0; i < parts; i++)
        order_end(m->context, &memory[i]);
    return status;
}

/* Waits: with the pairs the caller may do as he likes when it returns. */
static cohort_status build(cohort_context *context, const cohort_multimap_options *options, int parts,
                           const struct pairs *pairs, cohort_multimap **out)
{
    cohort_multimap *m = calloc(1, sizeof *m);
    if (!m)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a multimap's description");
    m->context = context;
    m->options = *options;
    m->options.size = sizeof m->options;
    cohort_status status = build_all(m, parts, pairs);
    cohort_status waited = context->backend->wait(context);
    if (!status)
        status = waited;
    if (status)
        cohort_multimap_destroy(m);
    else
        *out = m;
    return status;
}

/* ---- the calls --------------------------------------------------------------------------------------------------------- */

static cohort_status check_options(cohort_context *context, const cohort_multimap_options *o)
{
    if (o->width != COHORT_WIDTH_32_32 && o->width != COHORT_WIDTH_64_32 && o->width != COHORT_WIDTH_64_64)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.width is %d; multimaps have 2 (32/32), 4 (64/32) and 5 (64/64)",
                            (int)o->width);
    if (o->reserved)
        return context_fail(context, COHORT_RANGE, "options.reserved is %u; it must be 0",
                            (unsigned)o->reserved);
    if (o->max_load != 0.0 && !(o->max_load >= LEAST_LOAD && o->max_load <= MOST_LOAD))
        return context_fail(context, COHORT_RANGE,
                            "options.max_load is %g; it must be from %g to %g, or 0 for 0.8", o->max_load,
                            LEAST_LOAD, MOST_LOAD);
    return COHORT_OK;
}

cohort_status cohort_multimap_build(cohort_context *context, const cohort_multimap_options *options,
                                    uint64_t n, const void *keys, const void *values, const uint32_t *where,
                                    cohort_multimap **out)
{
    cohort_multimap_options o;
    int kind = -1;
    if (out)
        *out = NULL;
    if (!context || !options || !out)
        return context_fail(context, COHORT_NULL, "cohort_multimap_build: %s is NULL",
                            !context   ? "context"
                            : !options ? "options"
                                       : "out");
    cohort_status status = options_check(context, "options", options, options->size, sizeof o, sizeof o, &o);
    if (status || (status = check_options(context, &o)))
        return status;
    if (n > UINT64_MAX / 16)
        return context_fail(context, COHORT_OVERFLOW,
                            "cohort_multimap_build: n is %llu; so many pairs do not fit in 64 bits of bytes",
                            (unsigned long long)n);
    unsigned key_bytes = map_key_bytes((co_u32)o.width), value_bytes = map_value_bytes((co_u32)o.width);
    const struct argument arguments[] = {
        {"keys", keys, key_bytes, 0}, {"values", values, value_bytes, 0}, {"where", where, 4, 1}};
    status = arguments_check(context, "cohort_multimap_build", n, arguments, 3, &kind);
    if (status)
        return status;
    struct staging staging = staging_begin(context, kind);
    void *own_keys = NULL, *own_values = NULL, *own_where = NULL;
    if (n)
        status = stage_in(&staging, keys, n * key_bytes, &own_keys);
    if (n && !status)
        status = stage_in(&staging, values, n * value_bytes, &own_values);
    if (n && !status)
        status = stage_in(&staging, where, map_bitmap_words(n) * 4, &own_where);
    struct pairs pairs = {n, own_keys, own_values, own_where};
    if (!status)
        status = build(context, &o, 1, &pairs, out);
    staging_end(&staging);
    return status;
}

void cohort_multimap_destroy(cohort_multimap *m)
{
    if (!m)
        return;
    m->context->backend->wait(m->context);
    if (m->ends)
        context_release(m->context, m->ends, m->ends_bytes);
    if (m->runs)
        context_release(m->context, m->runs, m->runs_bytes);
    cohort_map_destroy(m->index);
    free(m);
}

cohort_status cohort_multimap_size(cohort_multimap *m, uint64_t *keys, uint64_t *values)
{
    if (!m)
        return context_fail(NULL, COHORT_NULL, "cohort_multimap_size: multimap is NULL");
    if (keys)
        *keys = m->keys;
    if (values)
        *values = m->values;
    return COHORT_OK;
}

cohort_status cohort_multimap_get_options(cohort_multimap *m, cohort_multimap_options *options)
{
    cohort_multimap_options o;
    if (!m || !options)
        return context_fail(m ? m->context : NULL, COHORT_NULL, "cohort_multimap_get_options: %s is NULL",
                            m ? "options" : "multimap");
    cohort_status status =
        options_check(m->context, "options", options, options->size, sizeof o, sizeof o, &o);
    if (!status)
        options_return(options, options->size, sizeof o, &m->options);
    return status;
}

/* The pairs of a multimap: its values, and for each the key that it belongs to. */
static cohort_status pairs_of(struct staging *staging, const cohort_multimap *m, struct pairs *pairs)
{
    struct multimap_step step = multimap_step_of(m);
    cohort_status status = stage_take(staging, m->values * map_key_bytes(m->view.width), &step.export_keys);
    if (status)
        return status;
    step.n = m->slots;
    step.rows = m->values;
    pairs->n = m->values;
    pairs->keys = step.export_keys;
    pairs->values = m->runs;
    pairs->where = NULL;
    return m->context->backend->multimap_step(m->context, &step, MULTIMAP_EXPAND);
}

cohort_status cohort_multimap_merge(cohort_multimap *a, cohort_multimap *b, cohort_multimap **out)
{
    struct pairs pairs[2];
    if (out)
        *out = NULL;
    if (!a || !b || !out)
        return context_fail(a   ? a->context
                            : b ? b->context
                                : NULL,
                            COHORT_NULL, "cohort_multimap_merge: %s is NULL",
                            !a   ? "a"
                            : !b ? "b"
                                 : "out");
    cohort_context *context = a->context;
    if (b->context != context)
        return context_fail(context, COHORT_OTHER_CONTEXT,
                            "cohort_multimap_merge: b belongs to another context than a");
    if (a->options.width != b->options.width)
        return context_fail(context, COHORT_RANGE, "cohort_multimap_merge: b has width %d, a has width %d",
                            (int)b->options.width, (int)a->options.width);
    struct staging staging = staging_begin(context, -1);
    cohort_status status = pairs_of(&staging, a, &pairs[0]);
    if (!status)
        status = pairs_of(&staging, b, &pairs[1]);
    if (!status)
        status = build(context, &a->options, 2, pairs, out);
    staging_end(&staging);
    return status;
}

/* ---- files ------------------------------------------------------------------------------------------------------------- */

cohort_status cohort_multimap_save(cohort_multimap *m, const char *path)
{
    struct multimap_file file;
    if (!m || !path)
        return context_fail(m ? m->context : NULL, COHORT_NULL, "cohort_multimap_save: %s is NULL",
                            m ? "path" : "multimap");
    memset(&file, 0, sizeof file);
    file.options = m->options;
    file.keys_count = m->keys;
    file.values_count = m->values;
    file.keys = malloc(m->keys * map_key_bytes(m->view.width) + 1);
    file.offsets = malloc((m->keys + 1) * sizeof *file.offsets);
    file.values = malloc(m->values * map_value_bytes((co_u32)m->options.width) + 1);
    cohort_status status = COHORT_OK;
    if (!file.keys || !file.offsets || !file.values)
        status =
            context_fail(m->context, COHORT_NO_MEMORY, "no host memory to save %llu keys and %llu values",
                         (unsigned long long)m->keys, (unsigned long long)m->values);
    if (!status)
        status = cohort_multimap_export(m, file.keys, file.offsets, file.values);
    if (!status)
        status = multimap_file_write(m->context, path, &file);
    multimap_file_free(&file);
    return status;
}

/* For each value its key: what a build takes. NULL: no memory. */
static void *expand_keys(const struct multimap_file *file)
{
    uint64_t bytes = map_key_bytes((co_u32)file->options.width);
    unsigned char *keys = malloc(file->values_count * bytes + 1);
    for (uint64_t i = 0; keys && i < file->keys_count; i++)
        for (uint64_t j = file->offsets[i]; j < file->offsets[i + 1]; j++)
            memcpy(keys + j * bytes, (const unsigned char *)file->keys + i * bytes, bytes);
    return keys;
}

cohort_status cohort_multimap_load(cohort_context *context, const char *path, cohort_multimap **out)
{
    struct multimap_file file;
    cohort_multimap *m = NULL;
    if (out)
        *out = NULL;
    if (!context || !path || !out)
        return context_fail(context, COHORT_NULL, "cohort_multimap_load: %s is NULL",
                            !context ? "context"
                            : !path  ? "path"
                                     : "out");
    cohort_status status = multimap_file_read(context, path, &file);
    if (status)
        return status;
    void *keys = expand_keys(&file);
    if (!keys)
        status = context_fail(context, COHORT_NO_MEMORY, "path '%.256s': no host memory for %llu pairs", path,
                              (unsigned long long)file.values_count);
    if (!status)
        status =
            cohort_multimap_build(context, &file.options, file.values_count, keys, file.values, NULL, &m);
    if (!status && m->keys != file.keys_count)
        status = context_fail(context, COHORT_CORRUPT, "path '%.256s': of %llu keys only %llu are distinct",
                              path, (unsigned long long)file.keys_count, (unsigned long long)m->keys);
    free(keys);
    multimap_file_free(&file);
    if (status)
        cohort_multimap_destroy(m);
    else
        *out = m;
    return status;
}
