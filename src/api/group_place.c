/* group_place.c: in whose memory a group object lies: its context's, if the keys are words and there is a
 * kernel for each aggregate; else the helper's. And frames on their way from one to the other. */
#include "group.h"

#include <stdlib.h>

#include "staged.h"

static cohort_status reopen(struct group_keys *k, cohort_context *host)
{
    struct group_keys made;
    if (k->host == host)
        return COHORT_OK;
    cohort_status s = group_keys_open(&made, host, k->columns, k->nulls_equal);
    if (s)
        return s;
    group_keys_close(k);
    *k = made;
    return COHORT_OK;
}

/* Whose memory that is, by the keys. */
static cohort_status host_of_keys(const cohort_group *g, cohort_frame *frame, cohort_context **host)
{
    *host = g->context;
    if (g->context->backend->own_memory == MEMORY_HOST)
        return COHORT_OK;
    uint32_t *columns = zeroed(g->keys, sizeof *columns);
    cohort_frame *keys = NULL;
    cohort_status s =
        columns ? COHORT_OK
                : context_fail(g->context, COHORT_NO_MEMORY, "no host memory for the keys of groups");
    for (uint32_t i = 0; !s && i < g->keys; i++)
        columns[i] = i;
    if (!s)
        s = cohort_frame_select(frame, g->keys, columns, NULL, &keys);
    if (!s)
        s = staged_keys(g->context, keys, host);
    cohort_frame_release(keys);
    free(columns);
    return s;
}

cohort_status group_place(cohort_group *g, cohort_frame *frame, group_formats *format_of, void *of)
{
    cohort_context *host = NULL;
    if (g->typed)
        return COHORT_OK;
    cohort_status s = host_of_keys(g, frame, &host);
    for (uint32_t i = 0; !s && host == g->context && i < g->aggregates; i++)
        if (!group_folds(g, i, format_of(of, i)))
            s = staged_open(g->context, &host);
    if (s)
        return s;
    /* What an earlier call left half done is done here, too. */
    s = reopen(&g->of, host);
    for (uint32_t i = 0; !s && i < g->aggregates; i++)
        if (g->aggregate[i].op == COHORT_AGGREGATE_NUNIQUE)
            s = reopen(&g->aggregate[i].distinct, host);
    if (!s)
        g->host = host;
    return staged_status(g->context, host, s);
}

/* ---- frames -------------------------------------------------------------------------------------------- */

/* On a GPU strings and binaries are dictionaries: here each row has a value of its own. */
static cohort_status as_dictionary(cohort_context *host, struct table_column **column)
{
    struct table_column *c = NULL;
    cohort_status s = table_column_by_row(host, *column, &c);
    if (s)
        return s;
    table_column_release(*column);
    *column = c;
    return COHORT_OK;
}

cohort_status group_out(cohort_context *context, cohort_context *host, cohort_frame *made, cohort_frame **out)
{
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && host != context && i < made->columns; i++) {
        struct table_column **c = &made->field[i].column;
        if (!(*c)->is_dictionary && (*c)->type.layout >= TABLE_OFFSETS_32)
            s = as_dictionary(host, c);
    }
    if (!s)
        return staged_out(context, host, made, out);
    cohort_frame_release(made);
    return staged_status(context, host, s);
}

cohort_status group_bring(cohort_group *g, cohort_group *from, cohort_frame *frame, cohort_frame **own)
{
    cohort_context *host = from ? from->host : g->context;
    *own = NULL;
    if (host == g->host)
        *own = cohort_frame_retain(frame);
    else if (host == g->context)
        return staged_in(g->context, g->host, frame, own);
    else
        return group_out(g->context, host, cohort_frame_retain(frame), own);
    return COHORT_OK;
}
