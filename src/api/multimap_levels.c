/* multimap_levels.c: multimaps that grow: insert, merge, and the view of all levels.
 *
 * What is inserted becomes a level, a multimap of its own. A level that has less than twice the values of
 * what comes after it is taken into that, by a build from the pairs of both. So each level has at least twice
 * the values of the next, and a pair is built again only when what came after it is at least half as much as
 * its level: at most a logarithm of times (the logarithmic method of Bentley and Saxe, 1980).
 *
 * Exports, and so files, are of one level, or what several calls give would not fit together; they make one
 * of all for good.
 *
 * What small inserts bring waits (multimap_aside.c), and becomes part of the next level.
 *
 * Levels are made aside, and put in their place when nothing can fail any more. A single multimap
 * (multimap.c) is made anew with runs when it gets a second level or a view. */
#include "api/multimap.h"

#include "api/batch.h"
#include "api/map.h"

/* Values: a smaller level is taken into the next in any case. On a GPU to build a few more costs nothing, and
 * each level that is looked through costs a kernel. */
#define LEVEL_LEAST        64u
#define LEVEL_LEAST_ON_GPU 256u

/* ---- pairs of levels ----------------------------------------------------------------------------------- */

struct parts {
    int count;
    struct multimap_pairs pairs[MULTIMAP_PARTS];
    void *workspace[MULTIMAP_PARTS];
};

/* The pairs of a level: its values, and for each the key that it belongs to, in workspace. */
static cohort_status pairs_of(cohort_multimap *m, struct multimap_pairs *pairs, void **workspace)
{
    struct multimap_step step = multimap_step_of(m);
    const uint64_t key_bytes = (m->values * map_key_bytes(m->view.width) + 7) & ~7ull,
                   value_bytes = m->single ? m->values * step.value_bytes : 0;
    cohort_status status = pool_take(m->context, key_bytes + value_bytes, workspace);
    if (status)
        return status;
    *pairs = (struct multimap_pairs){m->values, *workspace, m->runs, NULL, NULL};
    if (m->single) {
        void *values = (char *)*workspace + key_bytes;
        pairs->values = values;
        return multimap_all(m, *workspace, NULL, values);
    }
    step.n = m->slots;
    step.rows = m->values;
    step.export_keys = *workspace;
    return multimap_do(m, &step, MULTIMAP_EXPAND);
}

/* Fails or not, parts_end is due. */
static cohort_status parts_add(struct parts *p, cohort_multimap *from)
{
    cohort_status status = COHORT_OK;
    for (; from && !status; from = from->next, p->count++)
        status = pairs_of(from, &p->pairs[p->count], &p->workspace[p->count]);
    return status;
}

/* The same for what lies aside. */
static cohort_status parts_add_aside(struct parts *p, cohort_multimap *m)
{
    if (!multimap_aside_n(m))
        return COHORT_OK;
    const int i = p->count++;
    return multimap_aside_pairs(m, &p->pairs[i], &p->workspace[i]);
}

static void parts_end(cohort_context *context, struct parts *p)
{
    for (int i = 0; i < p->count; i++)
        pool_give(context, p->workspace[i]);
}

/* ---- levels -------------------------------------------------------------------------------------------- */

/* `m`, which the caller has, becomes `made`, and what it was ends with it. What is to be read alone stays
 * so. */
static void become(cohort_multimap *m, cohort_multimap *made)
{
    const cohort_multimap old = *m;
    *m = *made;
    *made = old;
    made->aside = NULL;
    m->aside = old.aside;
    if (old.reader)
        m->reader = old.reader == MAP_READS_OTHER ? MAP_READS_OWN : old.reader;
    multimap_end(made);
}

cohort_status multimap_with_runs(cohort_multimap *m, const char *call, cohort_multimap **out)
{
    struct parts p = {0};
    *out = m;
    if (!m->single && !m->next)
        return COHORT_OK;
    cohort_status status = parts_add(&p, m);
    if (!status)
        status = multimap_build(m->context, call, &m->options, 0, p.count, p.pairs, out);
    parts_end(m->context, &p);
    return status;
}

/* A single multimap gets runs. */
static cohort_status settle(cohort_multimap *m, const char *call)
{
    cohort_multimap *made = NULL;
    cohort_status status = m->single ? multimap_with_runs(m, call, &made) : COHORT_OK;
    if (!status && made)
        become(m, made);
    return status;
}

/* The first of the levels that go into a new one of n values; NULL: none does. */
static cohort_multimap *first_taken(cohort_multimap *m, uint64_t n)
{
    cohort_multimap *level[MULTIMAP_LEVELS], *first = NULL;
    const uint64_t least = m->context->backend->own_memory == MEMORY_HOST ? LEVEL_LEAST : LEVEL_LEAST_ON_GPU;
    unsigned count = 0;
    for (cohort_multimap *l = m; l; l = l->next)
        level[count++] = l;
    while (count && (level[count - 1]->values < least || level[count - 1]->values / 2 < n ||
                     count == MULTIMAP_LEVELS)) {
        first = level[--count];
        n += first->values;
    }
    return first;
}

/* How many of the keys of `made` are in the levels from `m` to the one before `end`. */
static cohort_status count_known(cohort_multimap *m, const cohort_multimap *end, cohort_multimap *made,
                                 uint64_t *known)
{
    cohort_context *context = m->context;
    struct multimap_step step = multimap_step_of(m);
    struct batch_counts counts = {0, 0, 0, 0, ~0ull};
    const uint64_t n = made->keys, bytes[3] = {n * map_key_bytes(m->view.width), n * step.value_bytes,
                                               batch_bitmap_words(n) * 4};
    void *room[3] = {NULL, NULL, NULL};
    cohort_status status = COHORT_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = pool_take(context, bytes[i] + 4, &room[i]);
    if (!status)
        status = multimap_all(made, room[0], NULL, NULL);
    step.n = n;
    step.keys = room[0];
    step.results = room[1];
    step.hit = room[2];
    step.counts = &context->outcome->counts;
    if (!status)
        status = context_copy(context, step.counts, &counts, sizeof counts);
    if (!status && n)
        status = multimap_each(m, end, &step, MULTIMAP_FIND, context->backend->own_memory);
    if (!status)
        status = context_copy(context, &counts, step.counts, sizeof counts);
    if (!status)
        status = context_wait(context);
    *known = counts.hits;
    for (int i = 0; i < 3; i++)
        pool_give(context, room[i]);
    return status;
}

/* `made` takes the place of the levels from `first` on (NULL: it comes after all), or is given up. */
static cohort_status put_level(cohort_multimap *m, const char *call, cohort_multimap *first,
                               cohort_multimap *made)
{
    cohort_multimap *before = m;
    uint64_t known = 0;
    if (first == m) {
        become(m, made);
        return COHORT_OK;
    }
    while (before->next != first)
        before = before->next;
    cohort_status status = settle(m, call);
    if (!status)
        status = count_known(m, first, made, &known);
    if (status || !made->values) {
        multimap_end(made);
        return status;
    }
    made->all_keys = before->all_keys + made->keys - known;
    made->all_values = before->all_values + made->values;
    multimap_end(first);
    before->next = made;
    return COHORT_OK;
}

/* These pairs, if any, and those that lie aside. */
static cohort_status insert(cohort_multimap *m, const char *call, const struct multimap_pairs *pairs)
{
    struct parts p = {.count = 1, .pairs = {*pairs}};
    cohort_multimap *first = first_taken(m, pairs->n + multimap_aside_n(m)), *made = NULL;
    cohort_status status = parts_add_aside(&p, m);
    if (!status)
        status = parts_add(&p, first);
    if (!status)
        status = multimap_build(m->context, call, &m->options, 0, p.count, p.pairs, &made);
    parts_end(m->context, &p);
    if (!status)
        status = put_level(m, call, first, made);
    if (!status)
        multimap_aside_clear(m);
    return status;
}

cohort_status multimap_bring_in(cohort_multimap *m, const char *call)
{
    static const struct multimap_pairs none = {0, NULL, NULL, NULL, NULL};
    return multimap_aside_n(m) ? insert(m, call, &none) : COHORT_OK;
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

cohort_status cohort_multimap_insert(cohort_multimap *m, uint64_t n, const void *keys, const void *values,
                                     const uint8_t *where)
{
    CALL_ON(m);
    static const char call[] = "cohort_multimap_insert";
    struct multimap_pairs pairs = {.n = n};
    struct batch b;
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    if (m->reader)
        return context_fail(
            m->context, COHORT_UNSUPPORTED,
            m->reader == MAP_READS_FILE
                ? "%s: multimap was opened by cohort_multimap_map, to be read alone; a union can be changed"
                : "%s: multimap is a reader of another one, which cannot be changed by it",
            call);
    batch_open(&b, m->context, call);
    batch_array(&b, "keys", BATCH_IN, keys, n, map_key_bytes(m->view.width), &pairs.keys);
    batch_array(&b, "values", BATCH_IN, values, n, map_value_bytes((co_u32)m->options.width), &pairs.values);
    batch_bitmap(&b, "where", BATCH_IN | BATCH_OPTIONAL, where, 0, n, &pairs.where)->bits_flags =
        bits_of_maps(m->context);
    cohort_status status = batch_check_n(&b, n);
    if (!status)
        status = batch_check_memory(&b);
    if (status || !n)
        return status;
    if (b.kind == MEMORY_HOST) {
        status = context_wait(m->context); /* for who writes the pairs */
        if (status || multimap_put_aside(m, n, keys, values, where))
            return status;
    }
    status = batch_begin(&b);
    if (!status)
        status = insert(m, call, &pairs);
    return batch_end(&b, status, NULL);
}

cohort_status cohort_multimap_size(cohort_multimap *m, uint64_t *keys, uint64_t *values)
{
    CALL_ON(m);
    if (!m)
        return context_fail(NULL, COHORT_NULL, "cohort_multimap_size: multimap is NULL");
    cohort_status status = multimap_bring_in(m, "cohort_multimap_size");
    if (status)
        return status;
    while (m->next)
        m = m->next;
    if (keys)
        *keys = m->all_keys;
    if (values)
        *values = m->all_values;
    return COHORT_OK;
}

static cohort_status merge(cohort_multimap *a, cohort_multimap *b, const char *call, cohort_multimap **out)
{
    struct parts p = {0};
    cohort_status status = parts_add(&p, a);
    if (!status)
        status = parts_add(&p, b);
    if (!status)
        status = multimap_build(a->context, call, &a->options, 1, p.count, p.pairs, out);
    parts_end(a->context, &p);
    return status;
}

cohort_status multimap_fold(cohort_multimap *m, const char *call)
{
    cohort_multimap *made = NULL;
    cohort_status status = m->next ? merge(m, NULL, call, &made) : COHORT_OK;
    if (made)
        become(m, made);
    return status;
}

cohort_status cohort_multimap_union(cohort_multimap *a, cohort_multimap *b, cohort_multimap **out)
{
    static const char call[] = "cohort_multimap_union";
    if (out)
        *out = NULL;
    CALL_ON(a);
    if (!a || !b || !out)
        return context_fail(a   ? a->context
                            : b ? b->context
                                : NULL,
                            COHORT_NULL, "%s: %s is NULL", call,
                            !a   ? "a"
                            : !b ? "b"
                                 : "out");
    if (b->context != a->context)
        return context_fail(a->context, COHORT_OTHER_CONTEXT, "%s: b belongs to another context than a",
                            call);
    if (a->options.width != b->options.width)
        return context_fail(a->context, COHORT_RANGE, "%s: b has width %d, a has width %d", call,
                            (int)b->options.width, (int)a->options.width);
    cohort_status status = multimap_bring_in(a, call);
    if (!status)
        status = multimap_bring_in(b, call);
    return status ? status : merge(a, b, call, out);
}

cohort_status cohort_multimap_get_view(cohort_multimap *m, cohort_multimap_view *view)
{
    CALL_ON(m);
    static const char call[] = "cohort_multimap_get_view";
    if (!m || !view)
        return context_fail(m ? m->context : NULL, COHORT_NULL, "%s: %s is NULL", call,
                            m ? "view" : "multimap");
    cohort_status status = multimap_bring_in(m, call);
    if (!status)
        status = settle(m, call);
    if (status)
        return status;
    *view = (cohort_multimap_view){.version = CO_MULTIMAP_VIEW_VERSION, .width = (co_u32)m->options.width};
    for (; m; m = m->next)
        view->level[view->levels++] = (cohort_multimap_level){m->view, m->ends, m->runs};
    return COHORT_OK;
}
