/* compact.c: checks of a compaction, and the one call of the backend. */
#include <string.h>

#include "api/fn.h"
#include "backend/compact.h"
#include "cohort/compact.h"

struct compaction {
    cohort_compact_desc desc;
    cohort_fn fn;
    struct batch batch;
    struct compact compact;
};

static cohort_status enter(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->compact->run(context, step, arena);
}

/* What says which entries are kept. */
static cohort_status check_choice(struct compaction *k)
{
    const cohort_compact_desc *d = &k->desc;
    struct compact *c = &k->compact;
    struct batch *b = &k->batch;
    if (!d->where)
        return fn_check(b, d->fn, &k->fn, d->n, c->key_bytes, 0, &c->fn, &c->source);
    if (d->fn)
        return batch_fail(b, COHORT_RANGE, "desc.fn is %p; it must be NULL where desc.where is given",
                          (const void *)d->fn);
    batch_bitmap(b, "desc.where", BATCH_IN, d->where, d->where_offset, d->n, &c->where);
    return COHORT_OK;
}

static void list_keys(struct batch *b, const cohort_compact_desc *d, struct compact *c)
{
    struct batch_array *a;
    const unsigned flags = BATCH_OUT | BATCH_OPTIONAL | BATCH_PARTLY;
    batch_array(b, "desc.keys", BATCH_IN, d->keys, d->n, c->key_bytes, &c->keys);
    int keys = batch_last(b);
    a = batch_array(b, "desc.kept", flags, d->kept, d->n, c->key_bytes, &c->kept);
    a->from = keys;
    a->written = BATCH_SOME;
    a = batch_array(b, "desc.rejected", flags, d->rejected, d->n, c->key_bytes, &c->rejected);
    a->from = keys;
    a->written = BATCH_REST;
}

static cohort_status list_columns(struct batch *b, const cohort_compact_desc *d, struct compact *c)
{
    int first = b->count;
    cohort_status status =
        batch_columns(b, d->n, d->payloads, d->payload, c->column, BATCH_SOME, BATCH_OPTIONAL | BATCH_PARTLY);
    for (uint32_t i = 0; !status && d->payload_rejected && i < d->payloads; i++) {
        struct batch_array *a =
            batch_array(b, "desc.payload_rejected[%d]", BATCH_OUT | BATCH_OPTIONAL | BATCH_PARTLY,
                        d->payload_rejected[i], d->n, d->payload[i].bytes, &c->column_rejected[i]);
        a->number = (int)i;
        a->from = first + 2 * (int)i;
        a->written = BATCH_REST;
    }
    return status;
}

static cohort_status compact_of(struct compaction *k, cohort_context *context, const char *call,
                                const cohort_compact_desc *desc)
{
    cohort_compact_desc *d = &k->desc;
    struct compact *c = &k->compact;
    struct batch *b = &k->batch;
    const unsigned either = BATCH_OUT | BATCH_OPTIONAL | BATCH_EITHER;
    cohort_status status = batch_desc(b, context, call, desc, sizeof *d, d);
    if (status || (status = batch_check_n(b, d->n)))
        return status;
    uint32_t key_bytes;
    status =
        batch_check_type(b, "desc.type", d->type, BATCH_TYPE_KEYS, "COHORT_U32 or COHORT_U64", &key_bytes);
    if (status)
        return status;
    memset(c, 0, sizeof *c);
    b->enter = enter;
    b->step = c;
    b->step_bad = &c->deferred;
    c->n = d->n;
    c->key_bytes = key_bytes;
    c->columns = d->payloads;
    c->segments = d->segments;
    list_keys(b, d, c);
    status = check_choice(k);
    if (!status)
        status = list_columns(b, d, c);
    if (!status)
        status = batch_segments(b, d->segments, d->segment_offsets, &c->segment_offsets);
    if (status)
        return status;
    if (d->segment_kept && !d->segments)
        return batch_fail(b, COHORT_RANGE, "desc.segment_kept is %p with desc.segments = 0",
                          (void *)d->segment_kept);
    batch_array(b, "desc.segment_kept", either, d->segment_kept, d->segments + 1, 8, &c->segment_kept);
    batch_array(b, "desc.total", either, d->total, 1, 8, &c->total);
    batch_workspace(b, d->workspace, d->workspace_bytes);
    return COHORT_OK;
}

/* Of what comes back from workspace it must be known how much it is. */
static cohort_status compact_run(struct compaction *k)
{
    struct batch *b = &k->batch;
    struct compact *c = &k->compact;
    uint64_t written[BATCH_WRITTEN_KINDS] = {0, 0, 0};
    cohort_status status = batch_begin(b);
    if (b->waits && !c->total)
        c->total = &b->context->outcome->cursor;
    if (!status)
        status = b->enter(b->context, c, &b->arena);
    if (!status && b->waits) {
        status = context_copy(b->context, &written[BATCH_SOME], c->total, sizeof *c->total);
        written[BATCH_REST] = c->n - written[BATCH_SOME];
    }
    return batch_end(b, status, written);
}

cohort_status cohort_compact(cohort_context *context, const cohort_compact_desc *desc)
{
    CALL(context);
    struct compaction k;
    cohort_status status = compact_of(&k, context, "cohort_compact", desc);
    if (!status)
        status = batch_check(&k.batch);
    if (!status && !k.desc.where)
        status = fn_check_data(&k.batch, &k.fn, k.compact.key_bytes);
    if (!status)
        status = batch_check_segments(&k.batch, k.desc.n, k.desc.segments, k.desc.segment_offsets);
    return status ? status : compact_run(&k);
}

cohort_status cohort_compact_workspace(cohort_context *context, const cohort_compact_desc *desc,
                                       uint64_t *bytes)
{
    CALL(context);
    static const char call[] = "cohort_compact_workspace";
    struct compaction k;
    if (!bytes)
        return context_fail(context, COHORT_NULL, "%s: bytes is NULL", call);
    *bytes = 0;
    cohort_status status = compact_of(&k, context, call, desc);
    return status ? status : batch_need(&k.batch, bytes);
}
