/* join.c: the right side of a join: its keys numbered, its rows by their numbers, and which of them no probe met. */
#include "join.h"

#include <string.h>

#include "options.h"

#define MOST_COLUMNS 4096u

/* ---- ending ------------------------------------------------------------------------------------------------------------------- */

static void join_end(cohort_join *j)
{
    if (j->factor.context)
        factor_close(&j->factor);
    pool_give(j->host, j->index.start);
    pool_give(j->host, j->index.row);
    pool_give(j->host, j->index.met);
    pool_give(j->host, j->rest.met);
    pool_give(j->host, j->rest.before);
    free(j);
}

void cohort_join_destroy(cohort_join *join)
{
    if (!join)
        return;
    CALL_TO_END(join->context);
    join_end(join);
}

/* ---- building ----------------------------------------------------------------------------------------------------------------- */

cohort_status join_take(cohort_context *context, uint64_t entries, uint64_t unit, void *out)
{
    void *memory;
    cohort_status s = pool_take(context, entries * unit, &memory);
    if (!s)
        memcpy(out, &memory, sizeof memory);
    return s;
}

/* Rows by their groups; nothing to do where every row is its own group. */
static cohort_status index_groups(cohort_join *j, const uint32_t *groups)
{
    struct join_index *x = &j->index;
    x->repeated[0] = x->repeated[1] = COHORT_NO_ROW;
    x->unique = x->groups == x->rows;
    cohort_status s = COHORT_OK;
    if (!x->unique) {
        s = join_take(j->host, x->groups + 1, sizeof *x->start, &x->start);
        if (!s)
            s = join_take(j->host, x->rows, sizeof *x->row, &x->row);
        if (!s)
            s = j->host->backend->join->group(j->host, groups, x);
        if (!s && x->unique) {
            pool_give(j->host, x->start);
            x->start = NULL;
        }
    }
    uint64_t marks = x->unique ? x->rows : x->groups;
    if (!s)
        s = join_take(j->host, marks / 32 + 1, sizeof *x->met, &x->met);
    if (!s)
        memset(x->met, 0, (marks / 32 + 1) * sizeof *x->met);
    return s;
}

static cohort_status index_rows(cohort_join *j, cohort_frame *right, const uint8_t *nulls_equal)
{
    uint8_t *none = NULL;
    uint32_t *groups = NULL;
    j->index.rows = right->rows;
    if (!nulls_equal && !(none = calloc(right->columns, 1)))
        return context_fail(j->host, COHORT_NO_MEMORY, "no host memory for %u key columns", right->columns);
    cohort_status s = factor_open(&j->factor, j->host, right->columns, nulls_equal ? nulls_equal : none);
    if (!s)
        s = join_take(j->host, right->rows, sizeof *groups, &groups);
    if (!s)
        s = factor_add(&j->factor, right, groups, NULL);
    j->index.groups = j->factor.count;
    if (!s)
        s = index_groups(j, groups);
    pool_give(j->host, groups);
    free(none);
    return s;
}

static cohort_status check_build(const cohort_frame *right, const cohort_join_options *given,
                                 cohort_join_options *options)
{
    static const cohort_join_options standard = COHORT_JOIN_OPTIONS_INIT;
    cohort_context *context = right->context;
    given = given ? given : &standard;
    cohort_status s =
        options_check(context, "options", given, given->size, sizeof *options, sizeof *options, options);
    if (s)
        return s;
    if (!right->columns || right->columns > MOST_COLUMNS)
        return context_fail(context, COHORT_RANGE,
                            "cohort_join_build: right has %u columns; it must be 1 to %u", right->columns,
                            MOST_COLUMNS);
    if (right->rows >= JOIN_NONE)
        return context_fail(context, COHORT_OVERFLOW,
                            "cohort_join_build: right has %llu rows; it must be less than 2^32 - 1",
                            (unsigned long long)right->rows);
    if (options->method != COHORT_JOIN_AUTO && options->method != COHORT_JOIN_FACTOR)
        return context_fail(context, COHORT_RANGE,
                            "cohort_join_build: options.method is %d; it must be AUTO (0) or FACTOR (3)",
                            (int)options->method);
    if (options->reserved)
        return context_fail(context, COHORT_RANGE, "cohort_join_build: options.reserved is %u; it must be 0",
                            options->reserved);
    return COHORT_OK;
}

cohort_status cohort_join_build(cohort_frame *right, const cohort_join_options *given, cohort_join **out)
{
    CALL_ON(right);
    const char *call = "cohort_join_build";
    cohort_join_options options;
    cohort_context *host = NULL;
    cohort_frame *own = NULL;
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "right", right);
    if (!s)
        s = frame_need(right->context, call, "out", out);
    if (!s)
        s = check_build(right, given, &options);
    if (!s)
        s = staged_open(right->context, &host);
    if (!s)
        s = staged_in(right->context, host, right, &own);
    if (s)
        return s;
    cohort_join *j = calloc(1, sizeof *j);
    if (!j) {
        cohort_frame_release(own);
        return context_fail(right->context, COHORT_NO_MEMORY, "no host memory for a join");
    }
    j->context = right->context;
    j->host = host;
    s = index_rows(j, own, options.nulls_equal);
    cohort_frame_release(own);
    if (s)
        join_end(j);
    else
        *out = j;
    return staged_status(right->context, host, s);
}

/* ---- pages ---------------------------------------------------------------------------------------------------------------------- */

static cohort_status check_page(cohort_context *context, const char *call, const cohort_join_page *p,
                                uint64_t left_rows, uint64_t right_rows)
{
    if (p->bytes != 4 && p->bytes != 8)
        return context_fail(context, COHORT_RANGE, "%s: page.bytes is %u; it must be 4 or 8", call, p->bytes);
    if (p->bytes == 4 && (left_rows >= UINT32_MAX || right_rows >= UINT32_MAX))
        return context_fail(context, COHORT_RANGE,
                            "%s: page.bytes is 4; there are %llu left and %llu right rows, which want 8",
                            call, (unsigned long long)left_rows, (unsigned long long)right_rows);
    if (p->reserved)
        return context_fail(context, COHORT_RANGE, "%s: page.reserved is %u; it must be 0", call,
                            p->reserved);
    return COHORT_OK;
}

static cohort_status open_rows(struct join_window *w, const char *call, const char *name, void *rows,
                               struct staged_array *to)
{
    if (!rows || !w->page.written)
        return COHORT_OK;
    return staged_array_open(to, w->context, w->host, call, name, rows, w->page.written, w->page.bytes, 0);
}

static cohort_status close_rows(struct join_window *w, cohort_status s)
{
    if (w->left.host)
        s = staged_array_close(&w->left, s);
    if (w->right.host)
        s = staged_array_close(&w->right, s);
    return s;
}

cohort_status join_window_open(struct join_window *w, cohort_context *context, cohort_context *host,
                               const char *call, const cohort_join_page *given, uint64_t total,
                               uint64_t left_rows, uint64_t right_rows)
{
    cohort_join_page *p = &w->page;
    *w = (struct join_window){.context = context, .host = host};
    cohort_status s = options_check(context, "page", given, given ? given->size : 0, sizeof *p, sizeof *p, p);
    if (!s)
        s = check_page(context, call, p, left_rows, right_rows);
    if (s)
        return s;
    p->total = total;
    p->written = p->first < total ? total - p->first : 0;
    if (p->written > p->capacity)
        p->written = p->capacity;
    s = open_rows(w, call, "page.left", p->left, &w->left);
    if (!s)
        s = open_rows(w, call, "page.right", p->right, &w->right);
    return s ? close_rows(w, s) : s;
}

cohort_status join_window_close(struct join_window *w, cohort_join_page *given, cohort_status s)
{
    s = close_rows(w, staged_status(w->context, w->host, s));
    if (!s)
        options_return(given, given->size, sizeof w->page, &w->page);
    return s;
}

/* ---- finish -------------------------------------------------------------------------------------------------------------------- */

static cohort_status make_rest(cohort_join *j)
{
    struct join_rest *r = &j->rest;
    uint64_t spans = join_spans(j->index.rows);
    cohort_status s = COHORT_OK;
    if (r->index && !__atomic_load_n(&j->changed, __ATOMIC_RELAXED))
        return s;
    if (!r->met)
        s = join_take(j->host, spans + 1, JOIN_SPAN / 8, &r->met);
    if (!s && !r->before)
        s = join_take(j->host, spans + 1, sizeof *r->before, &r->before);
    if (s)
        return s;
    r->index = &j->index;
    __atomic_store_n(&j->changed, 0, __ATOMIC_RELAXED);
    return j->host->backend->join->rest(j->host, r);
}

cohort_status cohort_join_finish(cohort_join *join, cohort_join_page *page)
{
    CALL_ON(join);
    const char *call = "cohort_join_finish";
    struct join_window w;
    cohort_status s = frame_need(NULL, call, "join", join);
    if (!s)
        s = staged_status(join->context, join->host, make_rest(join));
    if (s)
        return s;
    uint64_t rows = join->index.rows, total = join->rest.before[join_spans(rows)];
    s = join_window_open(&w, join->context, join->host, call, page, total, 0, rows);
    if (s)
        return s;
    if (w.left.own)
        memset(w.left.own, 0xff, w.page.written * w.page.bytes);
    if (w.right.own)
        s = join->host->backend->join->rest_rows(join->host, &join->rest, w.page.first, w.page.written,
                                                 w.page.bytes, w.right.own);
    return join_window_close(&w, page, s);
}
