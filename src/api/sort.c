/* sort.c: checks of a sort, and the one call of the backend. */
#include <string.h>

#include "api/batch.h"
#include "api/sort.h"
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

/* What a backend calls a type's order. */
static const co_u32 orders[COHORT_F64 + 1] = {
    [COHORT_U32] = SORT_U32, [COHORT_I32] = SORT_I32, [COHORT_F32] = SORT_F32,
    [COHORT_U64] = SORT_U64, [COHORT_I64] = SORT_I64, [COHORT_F64] = SORT_F64,
};

static cohort_status check_numbers(const struct batch *b, cohort_sort_desc *d, uint32_t *key_bytes)
{
    cohort_status status = batch_check_n(b, d->n);
    if (!status)
        status = batch_check_type(b, "desc.type", d->type, BATCH_TYPE_ALL, "one of 4 or 8 bytes", key_bytes);
    if (status)
        return status;
    if (d->descending > 1)
        return batch_fail(b, COHORT_RANGE, "desc.descending is %u; it must be 0 or 1", d->descending);
    uint32_t bits = 8 * *key_bytes;
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
    uint32_t key_bytes;
    cohort_status status = batch_desc(b, context, call, desc, sizeof *d, d);
    if (status || (status = check_numbers(b, d, &key_bytes)))
        return status;
    memset(s, 0, sizeof *s);
    b->enter = enter;
    b->step = s;
    s->n = d->n;
    s->order = orders[d->type];
    s->descending = d->descending;
    s->low_bit = d->low_bit;
    s->high_bit = d->high_bit;
    s->columns = d->payloads;
    s->permutation_bytes = d->permutation_bytes;
    s->segments = d->segments;
    batch_array(b, "desc.keys", BATCH_IN, d->keys, d->n, key_bytes, &s->keys);
    unsigned optional = d->permutation || d->payloads ? BATCH_OPTIONAL : 0;
    batch_array(b, "desc.keys_out", BATCH_OUT | optional, d->keys_out, d->n, key_bytes, &s->keys_out)->from =
        0;
    status = batch_columns(b, d->n, d->payloads, d->payload, s->column, BATCH_ALL, 0);
    if (!status)
        status = batch_segments(b, d->segments, d->segment_offsets, &s->segment_offsets);
    if (status)
        return status;
    batch_array(b, "desc.permutation", BATCH_OUT | BATCH_OPTIONAL, d->permutation, d->n, d->permutation_bytes,
                &s->permutation);
    batch_workspace(b, d->workspace, d->workspace_bytes);
    return COHORT_OK;
}

cohort_status sort_for(cohort_context *context, const char *call, const cohort_sort_desc *desc)
{
    struct sorting g;
    cohort_status status = sort_of(&g, context, call, desc);
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

cohort_status cohort_sort(cohort_context *context, const cohort_sort_desc *desc)
{
    CALL(context);
    return sort_for(context, "cohort_sort", desc);
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
