/* group_place.c: in whose memory a group object lies: its context's, if the keys are words and there is a
 * kernel for each aggregate; else the helper's. */
#include "group.h"
#include "staged.h"

static cohort_status reopen(struct group_keys *k, cohort_context *host)
{
    struct group_keys made;
    cohort_status s = group_keys_open(&made, host, k->columns, k->nulls_equal);
    if (s)
        return s;
    group_keys_close(k);
    *k = made;
    return COHORT_OK;
}

cohort_status group_place(cohort_group *g, const cohort_frame *keys, group_formats *format_of, const void *of)
{
    cohort_context *host = NULL;
    if (g->typed)
        return COHORT_OK;
    cohort_status s = staged_keys(g->context, keys, &host);
    for (uint32_t i = 0; !s && host == g->context && i < g->aggregates; i++)
        if (!group_folds(g, i, format_of(of, i)))
            s = staged_open(g->context, &host);
    if (s || host == g->host)
        return s;
    s = reopen(&g->of, host);
    for (uint32_t i = 0; !s && i < g->aggregates; i++)
        if (g->aggregate[i].op == COHORT_AGGREGATE_NUNIQUE)
            s = reopen(&g->aggregate[i].distinct, host);
    if (!s)
        g->host = host;
    return staged_status(g->context, host, s);
}
