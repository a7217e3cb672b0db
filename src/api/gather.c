/* gather.c: rows of a frame by their numbers. Elements are copied; strings become views, whose heaps are the
 * memory that they were in; indices keep their dictionary. */
#include <string.h>

#include "api/batch.h"
#include "frame.h"
#include "options.h"

#define WINDOW \
    (1ull << 30) /* bytes of a heap of offsets that one heap of views stands for (backend/table.h) */

static cohort_status no_memory(cohort_context *context)
{
    return context_fail(context, COHORT_NO_MEMORY, "cohort_gather: no host memory for a column");
}

/* ---- strings: the heaps of the views ------------------------------------------------------------------- */

static uint64_t heap_end(const struct table_column *c)
{
    const struct table_piece *p = &c->piece[0];
    if (!p->rows)
        return 0;
    return c->type.layout == TABLE_OFFSETS_64 ? ((const uint64_t *)p->offsets)[p->rows]
                                              : ((const uint32_t *)p->offsets)[p->rows];
}

static int windows(struct table_column *to, const struct table_column *from)
{
    /* A string begins in the first WINDOW bytes, and has less than two of them. */
    const uint64_t end = heap_end(from), count = end / WINDOW + (end % WINDOW != 0), most = 3 * WINDOW;
    struct table_piece *p = &to->piece[0];
    if (!count)
        return 1;
    if (count > UINT32_MAX || !table_column_heaps(to, p, (uint32_t)count))
        return 0;
    for (uint64_t k = 0; k < count; k++) {
        p->heaps[k] = (const char *)from->piece[0].data + k * WINDOW;
        p->heap_bytes[k] = end - k * WINDOW < most ? end - k * WINDOW : most;
    }
    return 1;
}

static int same_heaps(struct table_column *to, const struct table_column *from)
{
    const struct table_piece *p = &from->piece[0];
    if (!p->heap_count)
        return 1;
    if (!table_column_heaps(to, &to->piece[0], p->heap_count))
        return 0;
    memcpy(to->piece[0].heaps, p->heaps, p->heap_count * sizeof *p->heaps);
    memcpy(to->piece[0].heap_bytes, p->heap_bytes, p->heap_count * sizeof *p->heap_bytes);
    return 1;
}

/* A column of strings becomes one of views, which holds the memory of the old one. */
static cohort_status become_views(cohort_context *context, struct table_column *to,
                                  const struct table_column *from)
{
    const char kind = from->format[from->format[0] == 'v'];
    if (!table_column_set_format(to, kind == 'u' || kind == 'U' ? "vu" : "vz") ||
        !(from->type.layout == TABLE_VIEWS ? same_heaps(to, from) : windows(to, from)))
        return no_memory(context);
    to->type.layout = TABLE_VIEWS;
    for (uint32_t i = 0; i < from->holders; i++)
        table_column_hold(to, holder_retain(from->holder[i]));
    return COHORT_OK;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static cohort_status judge(cohort_context *context, const char *name, const struct table_gather *g)
{
    uint64_t row = 0;
    if (g->first_bad != ~0ull) {
        context_copy(context, &row, (const char *)g->rows + g->first_bad * g->number_bytes, g->number_bytes);
        return context_fail(context, COHORT_RANGE, "cohort_gather: rows[%llu] is %llu; the frame has %llu %s",
                            (unsigned long long)g->first_bad, (unsigned long long)row,
                            COUNTED(g->column->rows, "row", "rows"));
    }
    if (g->first_long != ~0ull)
        return context_fail(
            context, COHORT_OVERFLOW,
            "cohort_gather: column '%.100s': the string of row rows[%llu] has 2^31 bytes or more, "
            "which no view can hold",
            name, (unsigned long long)g->first_long);
    return COHORT_OK;
}

/* A column that is fetched, until it is kept. */
struct fetched {
    const char *name;
    struct table_column *from, *to; /* from: in one piece */
};

/* Takes the memory of a column of g->n rows. Fails or not, fetched_end is due. */
static cohort_status prepare(cohort_context *context, struct fetched *f, struct table_column *column,
                             struct table_gather *g)
{
    void *validity = NULL;
    cohort_status s = table_column_flat(context, column, &f->from);
    if (s)
        return s;
    const struct table_column *from = f->from;
    int bits = !from->is_dictionary && from->type.layout == TABLE_BITS;
    struct table_column *to = f->to = table_column_like(from, 1, from->holders + 2);
    if (!to)
        return no_memory(context);
    if (from->is_dictionary) {
        to->dictionaries[0] = from->dictionaries[0] ? table_column_retain(from->dictionaries[0]) : NULL;
        to->piece[0].dictionary = to->dictionaries[0];
    } else if (from->type.layout >= TABLE_OFFSETS_32) {
        s = become_views(context, to, from);
    }
    if (!s)
        s = table_column_memory(context, to, bits ? (g->n + 63) / 64 * 8 : g->n * table_column_element(to),
                                &g->data);
    if (!s)
        s = table_column_memory(context, to, (g->n + 63) / 64 * 8, &validity);
    g->validity = validity;
    g->column = from;
    return s;
}

static cohort_status keep(cohort_context *context, struct fetched *f, const struct table_gather *g)
{
    struct table_column *to = f->to;
    to->rows = to->piece[0].rows = g->n;
    to->nulls = to->piece[0].nulls = g->nulls;
    to->piece[0].data = g->data;
    to->piece[0].validity = g->nulls ? g->validity : NULL;
    return judge(context, f->name, g);
}

static void fetched_end(struct fetched *f)
{
    table_column_release(f->from);
    table_column_release(f->to);
}

/* out[i] becomes the rows of column[i]. */
static cohort_status fetch(cohort_context *context, uint32_t columns, const char *const *name,
                           struct table_column *const *column, const struct table_gather *what,
                           struct table_column **out)
{
    struct fetched *f = zeroed(columns + 1u, sizeof *f + sizeof(struct table_gather));
    if (!f)
        return no_memory(context);
    struct table_gather *g = (struct table_gather *)(f + columns + 1u);
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < columns; i++) {
        f[i].name = name[i];
        g[i] = *what;
        s = prepare(context, &f[i], column[i], &g[i]);
    }
    if (!s)
        s = context->backend->table->gather(context, g, columns);
    for (uint32_t i = 0; !s && i < columns; i++)
        s = keep(context, &f[i], &g[i]);
    for (uint32_t i = 0; i < columns; i++) {
        out[i] = s ? NULL : f[i].to;
        f[i].to = s ? f[i].to : NULL;
        fetched_end(&f[i]);
    }
    free(f);
    return s;
}

cohort_status table_column_gather(cohort_context *context, const char *name, struct table_column *column,
                                  uint64_t n, uint32_t bytes, const void *rows, struct table_column **out)
{
    const struct table_gather what = {.n = n, .rows = rows, .number_bytes = bytes};
    *out = NULL;
    return fetch(context, 1, &name, &column, &what, out);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

cohort_status frame_gather(cohort_frame *frame, uint64_t n, uint32_t bytes, const void *rows,
                           cohort_frame **out)
{
    const struct table_gather what = {.n = n, .rows = rows, .number_bytes = bytes};
    uint32_t columns = frame->columns;
    struct table_column **column = zeroed(3 * (size_t)columns + 1, sizeof *column);
    if (!column)
        return no_memory(frame->context);
    struct table_column **got = column + columns;
    const char **name = (const char **)(void *)(got + columns);
    cohort_frame *made = frame_new(frame->context, n, columns);
    cohort_status s = made ? COHORT_OK : COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < columns; i++) {
        name[i] = frame->field[i].name;
        column[i] = frame->field[i].column;
    }
    if (!s)
        s = fetch(frame->context, columns, name, column, &what, got);
    for (uint32_t i = 0; !s && i < columns; i++) {
        s = frame_put(made, i, name[i], got[i]);
        got[i] = NULL;
    }
    for (uint32_t i = 0; i < columns; i++)
        table_column_release(got[i]);
    free(column);
    if (s)
        cohort_frame_release(made);
    else
        *out = made;
    return s;
}

cohort_status cohort_gather(cohort_frame *frame, uint64_t n, uint32_t bytes, const void *rows,
                            cohort_frame **out)
{
    CALL_ON(frame);
    const char *call = "cohort_gather";
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "frame", frame);
    if (!s)
        s = frame_need(frame->context, call, "out", out);
    if (s)
        return s;
    cohort_context *context = frame->context;
    if (bytes != 4 && bytes != 8)
        return context_fail(context, COHORT_RANGE, "cohort_gather: bytes is %u; it must be 4 or 8", bytes);
    if (n > INT64_MAX / 64)
        return context_fail(context, COHORT_OVERFLOW, "cohort_gather: n is %llu", (unsigned long long)n);
    struct batch b;
    const void *own_rows = rows;
    batch_open(&b, context, call);
    batch_array(&b, "rows", BATCH_IN, rows, n, bytes, &own_rows);
    s = batch_check_memory(&b);
    if (s)
        return s;
    s = batch_begin(&b);
    if (!s)
        s = frame_gather(frame, n, bytes, own_rows, out);
    return batch_end(&b, s, NULL);
}
