/* join_matches.c: the left side of a join: what its rows met, and the pairs of that, page by page.
 *
 * A probe reads the join and writes nothing in it but the marks of groups that were met, by atomic
 * operations. Lookups work with the memory and the threads of the probe's own context. */
#include <string.h>

#include "join.h"
#include "options.h"

/* ---- what is asked for --------------------------------------------------------------------------------- */

static const char *const shapes[] = {"MANY_TO_MANY", "ONE_TO_ONE", "ONE_TO_MANY", "MANY_TO_ONE"};

static int left_is_one(cohort_join_shape shape)
{
    return shape == COHORT_JOIN_ONE_TO_ONE || shape == COHORT_JOIN_ONE_TO_MANY;
}

static int right_is_one(cohort_join_shape shape)
{
    return shape == COHORT_JOIN_ONE_TO_ONE || shape == COHORT_JOIN_MANY_TO_ONE;
}

static cohort_status check_options(cohort_context *context, const cohort_join_probe_options *given,
                                   cohort_join_probe_options *o)
{
    static const cohort_join_probe_options standard = COHORT_JOIN_PROBE_OPTIONS_INIT;
    const char *call = "cohort_join_probe";
    given = given ? given : &standard;
    cohort_status s = options_check(context, "options", given, given->size, sizeof *o, sizeof *o, o);
    if (s)
        return s;
    if ((int)o->kind < COHORT_JOIN_INNER || (int)o->kind > COHORT_JOIN_ANTI)
        return context_fail(context, COHORT_RANGE, "%s: options.kind is %d; it must be INNER (0) to ANTI (5)",
                            call, (int)o->kind);
    if ((int)o->validate < COHORT_JOIN_MANY_TO_MANY || (int)o->validate > COHORT_JOIN_MANY_TO_ONE)
        return context_fail(context, COHORT_RANGE,
                            "%s: options.validate is %d; it must be MANY_TO_MANY (0) to MANY_TO_ONE (3)",
                            call, (int)o->validate);
    o->repeated_left[0] = o->repeated_left[1] = COHORT_NO_ROW;
    o->repeated_right[0] = o->repeated_right[1] = COHORT_NO_ROW;
    return COHORT_OK;
}

static enum join_rule rule_of(cohort_join_kind kind)
{
    return kind == COHORT_JOIN_SEMI                               ? JOIN_SEMI
           : kind == COHORT_JOIN_ANTI                             ? JOIN_ANTI
           : kind == COHORT_JOIN_LEFT || kind == COHORT_JOIN_FULL ? JOIN_OUTER
                                                                  : JOIN_INNER;
}

/* ---- rows that must not repeat ------------------------------------------------------------------------- */

static cohort_status repeats(cohort_context *context, cohort_join_shape shape, const char *side,
                             const uint64_t rows[2])
{
    return context_fail(context, COHORT_RANGE,
                        "cohort_join_probe: options.validate is %s, but rows %llu and %llu of the %s side "
                        "have the same key",
                        shapes[shape], (unsigned long long)rows[0], (unsigned long long)rows[1], side);
}

/* The first row of `left` whose key was there before, and where. */
static cohort_status find_repeated(cohort_matches *m, cohort_frame *left, uint64_t repeated[2])
{
    const struct factor *like = &m->join->factor;
    struct factor own;
    struct factor_rows first = {0};
    void *taken = NULL;
    uint8_t *nulls_equal = malloc(like->columns);
    cohort_status s =
        nulls_equal ? COHORT_OK
                    : context_fail(m->host, COHORT_NO_MEMORY,
                                   "cohort_join_probe: no host memory for %u key columns", like->columns);
    for (uint32_t i = 0; !s && i < like->columns; i++)
        nulls_equal[i] = (uint8_t)like->column[i].nulls_equal;
    if (!s)
        s = factor_open(&own, m->host, like->columns, nulls_equal);
    free(nulls_equal);
    if (s)
        return s;
    s = pool_take(m->host, left->rows * 4, &taken);
    if (!s)
        s = factor_add(&own, left, taken, &first);
    if (!s)
        s = m->host->backend->join->repeated(m->host, taken, left->rows, first.at, repeated);
    pool_give(m->host, taken);
    factor_give(&own, &first);
    factor_close(&own);
    return s;
}

static cohort_status validate(cohort_matches *m, cohort_frame *left, cohort_join_probe_options *o)
{
    const struct join_index *x = &m->join->index;
    cohort_status s = COHORT_OK;
    if (right_is_one(o->validate) && !x->unique) {
        memcpy(o->repeated_right, x->repeated, sizeof x->repeated);
        return repeats(m->host, o->validate, "right", o->repeated_right);
    }
    if (left_is_one(o->validate))
        s = find_repeated(m, left, o->repeated_left);
    if (!s && o->repeated_left[1] != COHORT_NO_ROW)
        s = repeats(m->host, o->validate, "left", o->repeated_left);
    return s;
}

/* ---- probing ------------------------------------------------------------------------------------------- */

static void matches_end(cohort_matches *m)
{
    pool_give(m->host, m->probe.at);
    pool_give(m->host, m->probe.before);
    free(m);
}

void cohort_matches_destroy(cohort_matches *matches)
{
    if (!matches)
        return;
    CALL_TO_END(matches->context);
    matches_end(matches);
}

static cohort_status look_up(cohort_matches *m, cohort_join *j, cohort_frame *left)
{
    struct join_probe *p = &m->probe;
    cohort_status s = join_take(m->host, p->n, sizeof *p->at, &p->at);
    if (!s)
        s = join_take(m->host, join_blocks(p->n) + 1, sizeof *p->before, &p->before);
    if (!s)
        s = join_groups(j, m->host, left, 0, p->at);
    if (!s)
        s = m->host->backend->join->count(m->host, p);
    if (!s && p->marks)
        __atomic_store_n(&j->changed, 1, __ATOMIC_RELAXED);
    return s;
}

/* Who does the work: where the join lies in a GPU's memory, a context of that GPU. */
static cohort_status place(const cohort_join *j, cohort_context *context, cohort_context **host)
{
    const struct backend *backend = j->host->backend;
    if (backend->own_memory == MEMORY_HOST)
        return staged_open(context, host);
    *host = context;
    if (context->backend == backend &&
        backend->table->device_id(context) == backend->table->device_id(j->host))
        return COHORT_OK;
    return context_fail(
        context, COHORT_UNSUPPORTED,
        "cohort_join_probe: the join lies in the memory of GPU %lld; left's context is not on "
        "that GPU",
        (long long)backend->table->device_id(j->host));
}

static cohort_status probe(cohort_join *j, cohort_frame *left, cohort_join_probe_options *o,
                           cohort_matches **out)
{
    cohort_context *context = left->context, *host;
    cohort_frame *own = NULL;
    cohort_status s = place(j, context, &host);
    if (!s)
        s = staged_in(context, host, left, &own);
    if (s)
        return s;
    cohort_matches *m = zeroed(1, sizeof *m);
    if (!m) {
        cohort_frame_release(own);
        return context_fail(context, COHORT_NO_MEMORY,
                            "cohort_join_probe: no host memory of %llu bytes for matches",
                            (unsigned long long)sizeof *m);
    }
    *m = (struct cohort_matches){.context = context, .host = host, .join = j};
    m->probe.index = &j->index;
    m->probe.rule = rule_of(o->kind);
    m->probe.marks = o->kind == COHORT_JOIN_RIGHT || o->kind == COHORT_JOIN_FULL;
    m->probe.n = left->rows;
    s = validate(m, own, o);
    if (!s)
        s = look_up(m, j, own);
    cohort_frame_release(own);
    if (s)
        matches_end(m);
    else
        *out = m;
    return staged_status(context, host, s);
}

cohort_status cohort_join_probe(cohort_join *join, cohort_frame *left, cohort_join_probe_options *given,
                                cohort_matches **out)
{
    CALL_ON(left);
    const char *call = "cohort_join_probe";
    cohort_join_probe_options options;
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "left", left);
    if (!s)
        s = frame_need(left->context, call, "join", join);
    if (!s)
        s = frame_need(left->context, call, "out", out);
    if (!s)
        s = check_options(left->context, given, &options);
    if (s)
        return s;
    struct factor factor = join->factor;
    factor.context = left->context;
    s = factor_check(&factor, call, "left", left);
    if (s)
        return s;
    s = probe(join, left, &options, out);
    if (given)
        options_return(given, given->size, sizeof options, &options);
    return s;
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

static uint64_t total_of(const cohort_matches *m)
{
    return m->probe.total;
}

uint64_t cohort_join_size(const cohort_matches *matches)
{
    return matches ? total_of(matches) : 0;
}

cohort_status cohort_join_pairs(cohort_matches *matches, cohort_join_page *page)
{
    CALL_ON(matches);
    const char *call = "cohort_join_pairs";
    struct join_window w;
    cohort_status s = frame_need(NULL, call, "matches", matches);
    if (s)
        return s;
    s = join_window_open(&w, matches->context, matches->host, call, page, total_of(matches), matches->probe.n,
                         matches->join->index.rows);
    if (s)
        return s;
    struct join_page p = {&matches->probe, w.page.first, w.page.written,
                          w.page.bytes,    w.left.own,   w.right.own};
    if (p.count && (p.left || p.right))
        s = matches->host->backend->join->pairs(matches->host, &p);
    return join_window_close(&w, page, s);
}
