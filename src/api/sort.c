/* sort.c: checks of a sort, and the one call of the backend. */
#include <string.h>

#include "api/batch.h"
#include "backend/sort.h"

struct sorting {
    cohort_sort_desc desc;
    struct batch batch;
    struct sort sort;
};

static cohort_status enter(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->sort->run(context, step, arena);
}

static uint32_t key_bytes_of(cohort_order order)
{
    return order <= COHORT_ORDER_F32 ? 4 : 8;
}

static cohort_status check_numbers(const struct batch *b, cohort_sort_desc *d)
{
    cohort_status status = batch_check_n(b, d->n);
    if (status)
        return status;
    if ((int)d->order < COHORT_ORDER_U32 || (int)d->order > COHORT_ORDER_F64)
        return batch_fail(b, COHORT_RANGE, "desc.order is %d; there are %d to %d", (int)d->order,
                          COHORT_ORDER_U32, COHORT_ORDER_F64);
    if (d->descending > 1)
        return batch_fail(b, COHORT_RANGE, "desc.descending is %u; it must be 0 or 1", d->descending);
    uint32_t bits = 8 * key_bytes_of(d->order);
    if (d->high_bit > bits)
        return batch_fail(b, COHORT_RANGE, "desc.high_bit is %u; keys have %u bits", d->high_bit, bits);
    if (!d->high_bit)
        d->high_bit = bits;
    if (d->low_bit >= d->high_bit)
        return batch_fail(b, COHORT_RANGE, "desc.low_bit is %u; it must be less than the high bit, %u",
                          d->low_bit, d->high_bit);
    return batch_check_permutation(b, d->n, d->permutation, &d->permutation_bytes);
}

static cohort_status sort_of(struct sorting *g, cohort_context *context, const char *call,
                             const cohort_sort_desc *desc)
{
    cohort_sort_desc *d = &g->desc;
    struct sort *s = &g->sort;
    struct batch *b = &g->batch;
    cohort_status status = batch_desc(b, context, call, desc, sizeof *d, d);
    if (status || (status = check_numbers(b, d)))
        return status;
    memset(s, 0, sizeof *s);
    b->enter = enter;
    b->step = s;
    s->n = d->n;
    s->order = (co_u32)d->order;
    s->descending = d->descending;
    s->low_bit = d->low_bit;
    s->high_bit = d->high_bit;
    s->columns = d->columns;
    s->permutation_bytes = d->permutation_bytes;
    s->segments = d->segments;
    uint32_t key_bytes = key_bytes_of(d->order);
    batch_array(b, "desc.keys", BATCH_IN, d->keys, d->n, key_bytes, &s->keys);
    batch_array(b, "desc.keys_out", BATCH_OUT, d->keys_out, d->n, key_bytes, &s->keys_out)->from = 0;
    status = batch_columns(b, d->n, d->columns, d->column, s->column, BATCH_ALL, 0);
    if (!status)
        status = batch_segments(b, d->segments, d->segment_offsets, &s->segment_offsets);
    if (status)
        return status;
    batch_array(b, "desc.permutation", BATCH_OUT | BATCH_OPTIONAL, d->permutation, d->n, d->permutation_bytes,
                &s->permutation);
    batch_workspace(b, d->workspace, d->workspace_bytes);
    return COHORT_OK;
}

cohort_status cohort_sort(cohort_context *context, const cohort_sort_desc *desc)
{
    CALL(context);
    struct sorting g;
    cohort_status status = sort_of(&g, context, "cohort_sort", desc);
    if (!status)
        status = batch_check(&g.batch);
    if (!status)
        status = batch_check_segments(&g.batch, g.desc.n, g.desc.segments, g.desc.segment_offsets);
    if (status)
        return status;
    status = batch_begin(&g.batch);
    if (!status)
        status = g.batch.enter(context, &g.sort, &g.batch.arena);
    return batch_end(&g.batch, status, NULL);
}

cohort_status cohort_sort_workspace(cohort_context *context, const cohort_sort_desc *desc, uint64_t *bytes)
{
    CALL(context);
    static const char call[] = "cohort_sort_workspace";
    struct sorting g;
    if (!bytes)
        return context_fail(context, COHORT_NULL, "%s: bytes is NULL", call);
    *bytes = 0;
    cohort_status status = sort_of(&g, context, call, desc);
    return status ? status : batch_need(&g.batch, bytes);
}
