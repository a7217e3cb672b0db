/* multimap.c: making multimaps of pairs. Inserts and merges are in multimap_levels.c, queries in
 * multimap_query.c, files in multimap_file.c.
 *
 * How many distinct keys there are is estimated by a sketch, and a map without values, the index, is made for
 * so many. The pairs are put in order of their keys' pages in it, or all that follows would be random access.
 * Then the keys are put into the index; each slot of it counts the values of its key; the counts are summed
 * up, which tells where each key's run of values begins; and each value goes to the next free place of its
 * key's run. An index that had to grow is rebuilt to fit before that. Pairs may come in several parts, as
 * those of a merge do.
 *
 * Where the sketch says that all keys may be distinct, the pairs are put into a map of keys and values first.
 * If no key was in already, that map is the multimap. */
#include "api/multimap.h"

#include <stdlib.h>
#include <string.h>

#include "api/batch.h"
#include "api/map.h"
#include "api/options.h"
#include "backend/multisplit.h"
#include "core/zeroed.h"

#define SKETCH_LEAST 4096ull /* pairs of which a sketch is made; fewer count as distinct */
#define ORDER_PAGES  512u    /* of an index that a GPU's caches do not hold, */
#define NEAR_PAGES   32u     /* and that a core's own do not */
#define LEAST_LOAD   0.1     /* what a file says of it sizes the table */
#define MOST_LOAD    0.95

/* ---- building ------------------------------------------------------------------------------------------ */

/* Of a map of the keys alone. */
static co_u32 index_width(const cohort_multimap *m)
{
    return map_key_bytes((co_u32)m->options.width) == 4 ? COHORT_WIDTH_32_0 : COHORT_WIDTH_64_0;
}

cohort_status multimap_take_memory(cohort_context *context, uint64_t bytes, const char *what, void **out)
{
    *out = context_alloc(context, bytes);
    if (*out)
        return COHORT_OK;
    return context_fail(context, COHORT_NO_MEMORY, "no memory for a multimap's %s (%llu bytes)", what,
                        (unsigned long long)bytes);
}

/* HyperLogLog's estimate, three standard deviations up; where it has a bias, as for few keys, what it has
 * none from on. */
static uint64_t estimate(const co_u32 *sketch)
{
    const double m = SKETCH_REGISTERS, least = 2.5 * m;
    double sum = 0;
    for (co_u32 i = 0; i < SKETCH_REGISTERS; i++) {
        int rarest = 0;
        while (sketch[i] >> rarest > 1)
            rarest++;
        sum += sketch[i] ? 1 / (double)(2ull << rarest) : 1;
    }
    double distinct = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return (uint64_t)((distinct < least ? least : distinct) * 1.05);
}

/* How many distinct keys there are, about, and rather more, but not more than the n pairs. Waits. */
static cohort_status count_distinct(const cohort_multimap *m, uint64_t n, int parts,
                                    const struct multimap_pairs *pairs, uint64_t *distinct)
{
    co_u32 sketch[SKETCH_REGISTERS];
    void *memory;
    *distinct = n ? n : 1;
    if (n < SKETCH_LEAST)
        return COHORT_OK;
    cohort_status status = pool_take(m->context, sizeof sketch, &memory);
    if (status)
        return status;
    status = context_fill(m->context, memory, 0, sizeof sketch);
    for (int i = 0; i < parts && !status; i++) {
        struct multimap_step step = multimap_step_of(m);
        step.index.width = index_width(m);
        step.n = pairs[i].n;
        step.keys = pairs[i].keys;
        step.where = pairs[i].where;
        step.sketch = memory;
        status = multimap_do(m, &step, MULTIMAP_SKETCH);
    }
    if (!status)
        status = context_copy(m->context, sketch, memory, sizeof sketch);
    pool_give(m->context, memory);
    uint64_t about = status ? n : estimate(sketch);
    *distinct = about < n ? about : n;
    return status;
}

/* The index, empty. */
static cohort_status make_index(cohort_multimap *m, co_u32 width, uint64_t capacity)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.width = (cohort_width)width;
    options.capacity = capacity;
    options.seed = m->options.seed;
    options.max_load = m->options.max_load;
    cohort_status status = map_make(m->context, &options, &m->index);
    if (status)
        return status;
    m->index->all = 1;
    m->view = m->index->view;
    return COHORT_OK;
}

void multimap_take_index(cohort_multimap *m)
{
    m->view = m->index->view;
    m->slots = map_slots(&m->view) + MAP_SIDE_SLOTS;
    m->options.seed = m->view.seed;
    m->options.max_load = m->index->options.max_load;
}

/* Builds a map of the pairs, if all keys are distinct: m->single says so. Else there is no index when it
 * returns. */
static cohort_status build_single(cohort_multimap *m, const char *call, uint64_t capacity, int parts,
                                  const struct multimap_pairs *pairs)
{
    cohort_status status = make_index(m, (co_u32)m->options.width, capacity);
    int distinct = 1;
    for (int i = 0; i < parts && !status && distinct; i++) {
        struct batch_counts counts;
        const struct multimap_pairs *p = &pairs[i];
        status = map_put(m->index, call, CO_OP_INSERT, p->n, p->keys, p->values, p->where, &counts);
        distinct = !status && counts.added == counts.taken;
        m->values += status ? 0 : counts.added;
    }
    m->single = !status && distinct;
    if (m->single) {
        m->keys = m->values;
        multimap_take_index(m);
        return COHORT_OK;
    }
    map_end(m->index);
    m->index = NULL;
    m->values = 0;
    return status;
}

/* The index becomes the set of the keys of all parts, in a table that fits: it has at most a quarter more
 * slots than it would be made with for these. */
static cohort_status fill_index(cohort_multimap *m, const char *call, int parts,
                                const struct multimap_pairs *pairs)
{
    cohort_status status = COHORT_OK;
    for (int i = 0; i < parts && !status; i++)
        status = map_fill(m->index, call, pairs[i].n, pairs[i].keys, pairs[i].where);
    if (!status)
        status = map_size(m->index, &m->keys);
    uint64_t fit = map_slots_for(m->index, m->keys);
    if (!status && map_table_slots(m->index) > fit + fit / 4)
        status = map_rehash(m->index, call, 0);
    multimap_take_index(m);
    return status;
}

/* Counts, and what they sum up to: where the runs begin, and how many values there are. Waits. */
static cohort_status build_ends(cohort_multimap *m, int parts, const struct multimap_pairs *pairs)
{
    void *ends;
    m->ends_bytes = (m->slots + 2) * sizeof *m->ends;
    cohort_status status = multimap_take_memory(m->context, m->ends_bytes, "table of runs", &ends);
    if (status)
        return status;
    m->ends = ends;
    status = context_fill(m->context, m->ends, 0, m->ends_bytes);
    for (int i = 0; i < parts && !status; i++) {
        struct multimap_step step = multimap_step_of(m);
        step.n = pairs[i].n;
        step.keys = pairs[i].keys;
        step.where = pairs[i].where;
        step.kept = pairs[i].kept;
        status = multimap_do(m, &step, MULTIMAP_COUNT);
    }
    if (!status)
        status = multimap_scan(m->context, m->ends + 1, m->slots + 1);
    if (!status)
        status = context_copy(m->context, &m->values, m->ends + m->slots + 1, sizeof m->values);
    return status;
}

static cohort_status build_runs(cohort_multimap *m, int parts, const struct multimap_pairs *pairs)
{
    uint64_t bytes = m->values * map_value_bytes((co_u32)m->options.width);
    m->runs_bytes = bytes ? bytes : 1;
    cohort_status status = multimap_take_memory(m->context, m->runs_bytes, "values", &m->runs);
    for (int i = 0; i < parts && !status; i++) {
        struct multimap_step step = multimap_step_of(m);
        step.n = pairs[i].n;
        step.keys = pairs[i].keys;
        step.values = pairs[i].values;
        step.where = pairs[i].where;
        step.kept = pairs[i].kept;
        status = multimap_do(m, &step, MULTIMAP_PLACE);
    }
    return status;
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* What holds the ordered pairs and their slots, until they are placed. */
struct order_memory {
    void *columns, *workspace, *kept;
};

/* Puts the pairs in order of their key's page in the index, by a multisplit into the pool's memory, so that
 * counting and placing stay among slots, sums and runs that the caches hold. Small tables, selections and
 * want of workspace leave them as they are. */
static cohort_status order_by_page(cohort_multimap *m, struct multimap_pairs *pairs,
                                   struct order_memory *memory)
{
    cohort_context *context = m->context;
    const struct backend *backend = context->backend;
    struct arena arena = {.asks = 1};
    uint64_t n = pairs->n, pages = m->view.pages;
    uint32_t key_bytes = map_key_bytes((co_u32)m->options.width), after = 0;
    uint32_t value_bytes = map_value_bytes((co_u32)m->options.width);
    const uint64_t least = backend->own_memory == MEMORY_HOST ? NEAR_PAGES : ORDER_PAGES;
    if (pages < least || n < pages || pairs->where)
        return COHORT_OK;
    while ((pages - 1) >> after >= SPLIT_BUCKETS_MOST)
        after++;
    uint64_t keys = (n * key_bytes + 255) & ~255ull;
    if (pool_take(context, keys + n * value_bytes, &memory->columns))
        return COHORT_OK;
    struct split s = split_by_pages(n, key_bytes, m->view.seed, pages, after);
    s.keys = pairs->keys;
    s.keys_out = memory->columns;
    split_carry(&s, pairs->values, (char *)memory->columns + keys, value_bytes);
    s.deferred = &context->outcome->now;
    cohort_status status = backend->multisplit->split(context, &s, &arena);
    if (status || pool_take(context, arena.used, &memory->workspace))
        return status;
    arena = (struct arena){.memory = memory->workspace};
    pairs->keys = s.keys_out;
    pairs->values = s.column[0].out;
    return backend->multisplit->split(context, &s, &arena);
}

/* Room for the pairs' slots. Without it they are sought twice. */
static void keep_slots(cohort_multimap *m, struct multimap_pairs *pairs, struct order_memory *memory)
{
    if (map_all_slots(m->index) < MULTIMAP_NOT_KEPT && pairs->n &&
        !pool_take(m->context, pairs->n * sizeof *pairs->kept, &memory->kept))
        pairs->kept = memory->kept;
}

static void order_end(cohort_context *context, const struct order_memory *memory)
{
    pool_give(context, memory->kept);
    pool_give(context, memory->workspace);
    pool_give(context, memory->columns);
}

static cohort_status build_runs_of(cohort_multimap *m, const char *call, uint64_t distinct, int parts,
                                   const struct multimap_pairs *given)
{
    struct multimap_pairs pairs[MULTIMAP_PARTS];
    struct order_memory memory[MULTIMAP_PARTS] = {{NULL, NULL, NULL}};
    cohort_status status = make_index(m, index_width(m), distinct);
    for (int i = 0; i < parts && !status; i++) {
        pairs[i] = given[i];
        status = order_by_page(m, &pairs[i], &memory[i]);
    }
    if (!status)
        status = fill_index(m, call, parts, pairs);
    for (int i = 0; i < parts && !status; i++)
        keep_slots(m, &pairs[i], &memory[i]);
    if (!status)
        status = build_ends(m, parts, pairs);
    if (!status)
        status = build_runs(m, parts, pairs);
    for (int i = 0; i < parts; i++)
        order_end(m->context, &memory[i]);
    return status;
}

static cohort_status build_all(cohort_multimap *m, const char *call, int may_be_single, int parts,
                               const struct multimap_pairs *pairs)
{
    uint64_t n = 0, distinct;
    for (int i = 0; i < parts; i++)
        n += pairs[i].n;
    cohort_status status = count_distinct(m, n, parts, pairs, &distinct);
    if (!status && may_be_single && distinct >= n)
        status = build_single(m, call, distinct, parts, pairs);
    return status || m->single ? status : build_runs_of(m, call, distinct, parts, pairs);
}

void multimap_end(cohort_multimap *m)
{
    if (m)
        context_wait(m->context);
    for (cohort_multimap *next; m; m = next) {
        next = m->next;
        const int owns = m->reader != MAP_READS_OTHER && !(m->index && m->index->mapped);
        if (m->ends && owns)
            context_release(m->context, m->ends, m->ends_bytes);
        if (m->runs && owns)
            context_release(m->context, m->runs, m->runs_bytes);
        map_end(m->index);
        free(m->aside);
        free(m);
    }
}

cohort_status multimap_build(cohort_context *context, const char *call,
                             const cohort_multimap_options *options, int may_be_single, int parts,
                             const struct multimap_pairs *pairs, cohort_multimap **out)
{
    cohort_multimap *m = zeroed(1, sizeof *m);
    if (!m)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a multimap's description");
    m->context = context;
    m->options = *options;
    m->options.size = sizeof m->options;
    cohort_status status = build_all(m, call, may_be_single, parts, pairs);
    cohort_status waited = context_wait(context);
    if (!status)
        status = waited;
    m->all_keys = m->keys;
    m->all_values = m->values;
    if (status)
        multimap_end(m);
    else
        *out = m;
    return status;
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

int multimap_is_load(double load)
{
    return load >= LEAST_LOAD && load <= MOST_LOAD;
}

static cohort_status check_options(cohort_context *context, const cohort_multimap_options *o)
{
    if (o->width != COHORT_WIDTH_32_32 && o->width != COHORT_WIDTH_64_32 && o->width != COHORT_WIDTH_64_64)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "options.width is %d; multimaps have 2 (32/32), 4 (64/32) and 5 (64/64)",
                            (int)o->width);
    if (o->reserved)
        return context_fail(context, COHORT_RANGE, "options.reserved is %u; it must be 0",
                            (unsigned)o->reserved);
    if (o->max_load != 0.0 && !multimap_is_load(o->max_load))
        return context_fail(context, COHORT_RANGE,
                            "options.max_load is %g; it must be from %g to %g, or 0 for 0.8", o->max_load,
                            LEAST_LOAD, MOST_LOAD);
    return COHORT_OK;
}

cohort_status cohort_multimap_build(cohort_context *context, const cohort_multimap_options *options,
                                    uint64_t n, const void *keys, const void *values, const uint8_t *where,
                                    cohort_multimap **out)
{
    static const char call[] = "cohort_multimap_build";
    cohort_multimap_options o;
    struct multimap_pairs pairs = {.n = n};
    struct batch b;
    if (out)
        *out = NULL;
    CALL(context);
    if (!context || !options || !out)
        return context_fail(context, COHORT_NULL, "%s: %s is NULL", call,
                            !context   ? "context"
                            : !options ? "options"
                                       : "out");
    cohort_status status = options_check(context, "options", options, options->size, sizeof o, sizeof o, &o);
    if (status || (status = check_options(context, &o)))
        return status;
    batch_open(&b, context, call);
    batch_array(&b, "keys", BATCH_IN, keys, n, map_key_bytes((co_u32)o.width), &pairs.keys);
    batch_array(&b, "values", BATCH_IN, values, n, map_value_bytes((co_u32)o.width), &pairs.values);
    batch_bitmap(&b, "where", BATCH_IN | BATCH_OPTIONAL, where, 0, n, &pairs.where)->bits_flags =
        bits_of_maps(context);
    status = batch_check_n(&b, n);
    if (!status)
        status = batch_check_memory(&b);
    if (status)
        return status;
    status = batch_begin(&b);
    if (!status)
        status = multimap_build(context, call, &o, 1, 1, &pairs, out);
    return batch_end(&b, status, NULL);
}

void cohort_multimap_destroy(cohort_multimap *m)
{
    if (!m)
        return;
    CALL_TO_END(m->context);
    multimap_end(m);
}

cohort_status cohort_multimap_get_options(cohort_multimap *m, cohort_multimap_options *options)
{
    CALL_ON(m);
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
