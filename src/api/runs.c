/* runs.c: runs of equal keys: a compaction that keeps the first entry of each, and its index. */
#include <string.h>

#include "api/batch.h"
#include "backend/compact.h"
#include "cohort/runs.h"

struct runs {
    cohort_runs_desc desc;
    uint32_t key_bytes;
    struct batch batch;
    const void *keys;
    void *distinct;
    co_u64 *starts, *lengths, *total;
};

/* The compaction that writes keys and starts; where only workspace is asked for, too. */
static struct compact compact_of(const struct runs *r, co_u64 *starts, co_u64 *total)
{
    struct compact c;
    memset(&c, 0, sizeof c);
    c.n = r->desc.n;
    c.key_bytes = r->key_bytes;
    c.fn.kind = SPLIT_CHANGES;
    c.keys = r->keys;
    c.kept = r->distinct;
    c.total = total;
    c.columns = r->desc.starts || r->desc.lengths;
    c.column[0] = (struct batch_column){NULL, starts, sizeof *starts, 0};
    return c;
}

static cohort_status enter(cohort_context *context, const void *step, struct arena *arena)
{
    const struct runs *r = step;
    const struct compact_backend *compact = context->backend->compact;
    const uint64_t n = r->desc.n;
    co_u64 *starts = !r->desc.starts && r->desc.lengths ? arena_take(arena, n * sizeof *starts) : r->starts;
    co_u64 *total = r->total ? r->total : arena_take(arena, sizeof *total);
    const struct compact c = compact_of(r, starts, total);
    const struct compact_lengths l = {n, total, starts, r->lengths};
    cohort_status s = compact->run(context, &c, arena);
    return s || arena->asks || !n || !r->lengths ? s : compact->lengths(context, &l);
}

static void list_arrays(struct runs *r)
{
    const cohort_runs_desc *d = &r->desc;
    struct batch *b = &r->batch;
    const unsigned flags = BATCH_OUT | BATCH_OPTIONAL | BATCH_PARTLY;
    batch_array(b, "desc.keys", BATCH_IN, d->keys, d->n, r->key_bytes, &r->keys);
    int keys = batch_last(b);
    struct batch_array *a =
        batch_array(b, "desc.distinct", flags, d->distinct, d->n, r->key_bytes, &r->distinct);
    a->from = keys;
    a->written = BATCH_SOME;
    batch_array(b, "desc.starts", flags, d->starts, d->n, 8, &r->starts)->written = BATCH_SOME;
    batch_array(b, "desc.lengths", flags, d->lengths, d->n, 8, &r->lengths)->written = BATCH_SOME;
    batch_array(b, "desc.total", BATCH_OUT | BATCH_OPTIONAL | BATCH_EITHER, d->total, 1, 8, &r->total);
    batch_workspace(b, d->workspace, d->workspace_bytes);
}

static cohort_status runs_of(struct runs *r, cohort_context *context, const char *call,
                             const cohort_runs_desc *desc)
{
    cohort_runs_desc *d = &r->desc;
    struct batch *b = &r->batch;
    cohort_status s = batch_desc(b, context, call, desc, sizeof *d, d);
    if (!s)
        s = batch_check_n(b, d->n);
    if (!s)
        s = batch_check_type(b, "desc.type", d->type, BATCH_TYPE_KEYS, "COHORT_U32 or COHORT_U64",
                             &r->key_bytes);
    if (!s && d->reserved)
        s = batch_fail(b, COHORT_RANGE, "desc.reserved is %u; it must be 0", d->reserved);
    if (s)
        return s;
    r->starts = r->lengths = r->total = NULL;
    b->enter = enter;
    b->step = r;
    list_arrays(r);
    return COHORT_OK;
}

/* Of what comes back from workspace it must be known how much it is. */
static cohort_status run(struct runs *r)
{
    struct batch *b = &r->batch;
    uint64_t written[BATCH_WRITTEN_KINDS] = {0, 0, 0};
    cohort_status s = batch_begin(b);
    if (b->waits && !r->total)
        r->total = &b->context->outcome->cursor;
    if (!s)
        s = b->enter(b->context, r, &b->arena);
    if (!s && b->waits)
        s = context_copy(b->context, &written[BATCH_SOME], r->total, sizeof *r->total);
    return batch_end(b, s, written);
}

cohort_status cohort_runs(cohort_context *context, const cohort_runs_desc *desc)
{
    CALL(context);
    struct runs r;
    cohort_status s = runs_of(&r, context, "cohort_runs", desc);
    if (!s)
        s = batch_check(&r.batch);
    return s ? s : run(&r);
}

cohort_status cohort_runs_workspace(cohort_context *context, const cohort_runs_desc *desc, uint64_t *bytes)
{
    CALL(context);
    static const char call[] = "cohort_runs_workspace";
    struct runs r;
    if (!bytes)
        return context_fail(context, COHORT_NULL, "%s: bytes is NULL", call);
    *bytes = 0;
    cohort_status s = runs_of(&r, context, call, desc);
    return s ? s : batch_need(&r.batch, bytes);
}
