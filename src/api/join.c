/* join.c: the right side of a join: its keys numbered, its rows by their numbers, and which of them no
 * probe met. */
#include "join.h"

#include <string.h>

#include "options.h"

#define MOST_COLUMNS 4096u

/* ---- ending -------------------------------------------------------------------------------------------- */

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

/* ---- building ------------------------------------------------------------------------------------------ */

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
    const struct join_backend *join = j->host->backend->join;
    cohort_status s = COHORT_OK;
    x->repeated[0] = x->repeated[1] = COHORT_NO_ROW;
    x->unique = j->method == COHORT_JOIN_FACTOR && x->groups == x->rows;
    if (!x->unique) {
        s = join_take(j->host, x->groups, sizeof *x->row, &x->row);
        if (!s)
            s = join->single(j->host, groups, x);
    }
    if (!s && !x->unique) {
        pool_give(j->host, x->row);
        x->row = NULL;
        s = join_take(j->host, x->rows, sizeof *x->row, &x->row);
        if (!s)
            s = join_take(j->host, x->groups + 1, sizeof *x->start, &x->start);
        if (!s)
            s = join->group(j->host, groups, x);
    }
    uint64_t marks = x->unique ? x->rows : x->groups;
    if (!s)
        s = join_take(j->host, marks / 32 + 1, sizeof *x->met, &x->met);
    if (!s)
        s = context_fill(j->host, x->met, 0, (marks / 32 + 1) * sizeof *x->met);
    return s;
}

/* The only key column, of integers, in one piece; of a dictionary with the words and states of its values. */
struct dense_column {
    struct table_column *flat;
    struct keys_column keys;
    void *words, *states;
};

static void dense_close(cohort_context *host, struct dense_column *d)
{
    table_column_release(d->flat);
    pool_give(host, d->words);
    pool_give(host, d->states);
}

static cohort_status dense_values(cohort_context *host, struct dense_column *d)
{
    const struct table_column *values = d->flat->pieces ? d->flat->dictionaries[0] : NULL;
    d->keys.kind = KEYS_DICTIONARY;
    d->keys.bytes = d->flat->index.bytes;
    d->keys.is_signed = 0;
    if (!values)
        return COHORT_OK;
    struct keys_column of = factor_column_of(values);
    cohort_status s = pool_take(host, values->rows * 8, &d->words);
    if (!s)
        s = pool_take(host, values->rows, &d->states);
    d->keys.words = d->words;
    d->keys.states = d->states;
    return s ? s : host->backend->keys->load(host, &of, values->rows, d->words, d->states);
}

/* Fails or not, dense_close is due. */
static cohort_status dense_open(cohort_context *host, const cohort_frame *keys, int nulls_equal,
                                struct dense_column *d)
{
    *d = (struct dense_column){0};
    cohort_status s = table_column_flat(host, keys->field[0].column, &d->flat);
    if (s)
        return s;
    d->keys = factor_column_of(d->flat);
    if (d->flat->is_dictionary)
        s = dense_values(host, d);
    d->keys.skips_nulls = !nulls_equal;
    return s;
}

cohort_status join_groups(cohort_join *j, cohort_context *host, cohort_frame *keys, int adds,
                          uint32_t *groups)
{
    if (j->method == COHORT_JOIN_DENSE) {
        struct dense_column d;
        cohort_status s = dense_open(host, keys, j->factor.column[0].nulls_equal, &d);
        if (!s)
            s = host->backend->join->dense(host, &d.keys, keys->rows, &j->range, groups);
        dense_close(host, &d);
        return s;
    }
    struct factor copy = j->factor;
    copy.context = host;
    return adds ? factor_add(&j->factor, keys, groups, NULL) : factor_find(&copy, keys, groups);
}

static cohort_status range_of(cohort_join *j, const cohort_frame *right, struct keys_range *range)
{
    struct dense_column d;
    cohort_status s = dense_open(j->host, right, j->factor.column[0].nulls_equal, &d);
    if (!s)
        s = j->host->backend->keys->range(j->host, &d.keys, right->rows, range);
    dense_close(j->host, &d);
    return s;
}

/* Chooses the method: a table by key itself where that takes at most 16 bytes a row. */
static cohort_status choose(cohort_join *j, cohort_frame *right, cohort_join_method asked)
{
    struct keys_range range = {0, 0, 0};
    const struct table_column *first = right->field[0].column;
    int nulls_equal = j->factor.column[0].nulls_equal;
    uint32_t kind = factor_column_of(first).kind;
    int whole =
        right->columns == 1 && !first->is_dictionary && (kind == KEYS_UNSIGNED || kind == KEYS_SIGNED);
    j->method = COHORT_JOIN_FACTOR;
    j->factor.way = asked == COHORT_JOIN_FACTOR        ? KEYS_BY_ROWS
                    : asked == COHORT_JOIN_PARTITIONED ? KEYS_BY_PARTS
                                                       : KEYS_BY_ANY;
    if (j->factor.way != KEYS_BY_ANY || (!whole && asked == COHORT_JOIN_AUTO))
        return COHORT_OK;
    cohort_status s = COHORT_OK;
    if (whole)
        s = range_of(j, right, &range);
    if (s)
        return s;
    uint64_t span = range.any ? range.high - range.low : 0;
    uint64_t most = asked == COHORT_JOIN_DENSE ? UINT32_MAX - 2 : 4 * right->rows + 1024;
    if (!whole || span >= most || span >= UINT32_MAX - 2)
        return asked == COHORT_JOIN_AUTO
                   ? COHORT_OK
                   : context_fail(
                         j->host, COHORT_UNSUPPORTED,
                         "cohort_join_build: options.method is DENSE (1); that is for one column of "
                         "integers, here of less than 2^32 - 3 values from the least to the greatest");
    j->method = COHORT_JOIN_DENSE;
    j->range = (struct join_range){range.low, span, nulls_equal ? (uint32_t)span + 1 : JOIN_NONE};
    j->index.groups = span + 2;
    j->factor.column[0].format = strdup(first->format);
    return j->factor.column[0].format
               ? COHORT_OK
               : context_fail(j->host, COHORT_NO_MEMORY, "no host memory for a format");
}

static cohort_status index_rows(cohort_join *j, cohort_frame *right, const cohort_join_options *o)
{
    uint8_t *none = NULL;
    uint32_t *groups = NULL;
    j->index.rows = right->rows;
    if (!o->nulls_equal && !(none = zeroed(right->columns, 1)))
        return context_fail(j->host, COHORT_NO_MEMORY, "no host memory for %u key columns", right->columns);
    cohort_status s =
        factor_open(&j->factor, j->host, right->columns, o->nulls_equal ? o->nulls_equal : none);
    free(none);
    if (!s)
        s = choose(j, right, o->method);
    if (!s)
        s = join_take(j->host, right->rows, sizeof *groups, &groups);
    if (!s)
        s = join_groups(j, j->host, right, 1, groups);
    if (j->method == COHORT_JOIN_FACTOR)
        j->index.groups = j->factor.count;
    if (!s)
        s = index_groups(j, groups);
    if (!s)
        s = context_wait(j->host); /* other contexts may probe it */
    pool_give(j->host, groups);
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
    if ((int)options->method < COHORT_JOIN_AUTO || (int)options->method > COHORT_JOIN_FACTOR)
        return context_fail(context, COHORT_RANGE,
                            "cohort_join_build: options.method is %d; it must be AUTO (0) to FACTOR (3)",
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
        s = staged_keys(right->context, right, &host);
    if (!s)
        s = staged_in(right->context, host, right, &own);
    if (s)
        return s;
    cohort_join *j = zeroed(1, sizeof *j);
    if (!j) {
        cohort_frame_release(own);
        return context_fail(right->context, COHORT_NO_MEMORY, "no host memory for a join");
    }
    j->context = right->context;
    j->host = host;
    s = index_rows(j, own, &options);
    cohort_frame_release(own);
    if (s)
        join_end(j);
    else
        *out = j;
    return staged_status(right->context, host, s);
}

int cohort_join_is_resident(const cohort_join *join)
{
    return join && join->host == join->context;
}

/* ---- pages --------------------------------------------------------------------------------------------- */

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
    if (!s)
        s = context_wait(w->host);
    s = close_rows(w, staged_status(w->context, w->host, s));
    if (!s)
        options_return(given, given->size, sizeof w->page, &w->page);
    return s;
}

/* ---- finish -------------------------------------------------------------------------------------------- */

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
    s = j->host->backend->join->rest(j->host, r);
    if (s)
        r->index = NULL; /* it is to be made anew */
    return s;
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
    uint64_t rows = join->index.rows, total = join->rest.total;
    s = join_window_open(&w, join->context, join->host, call, page, total, 0, rows);
    if (s)
        return s;
    if (w.left.own)
        s = context_fill(join->host, w.left.own, 0xff, w.page.written * w.page.bytes);
    if (!s && w.right.own)
        s = join->host->backend->join->rest_rows(join->host, &join->rest, w.page.first, w.page.written,
                                                 w.page.bytes, w.right.own);
    return join_window_close(&w, page, s);
}
