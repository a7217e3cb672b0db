/* multisplit.c: checks of a multisplit and a histogram, and the one call of the backend. */
#include <string.h>

#include "api/fn.h"
#include "backend/multisplit.h"
#include "cohort/histogram.h"
#include "cohort/multisplit.h"

static cohort_status check_keys(const struct batch *b, uint64_t n, cohort_type type, uint32_t buckets,
                                uint32_t *key_bytes)
{
    cohort_status status = batch_check_n(b, n);
    if (!status)
        status =
            batch_check_type(b, "desc.type", type, BATCH_TYPE_KEYS, "COHORT_U32 or COHORT_U64", key_bytes);
    if (status)
        return status;
    if (!buckets || buckets > COHORT_BUCKETS_MOST)
        return batch_fail(b, COHORT_RANGE, "desc.buckets is %u; it must be from 1 to %u", buckets,
                          COHORT_BUCKETS_MOST);
    return COHORT_OK;
}

/* ---- multisplit ---------------------------------------------------------------------------------------- */

struct multisplit {
    cohort_multisplit_desc desc;
    cohort_fn fn;
    struct batch batch;
    struct split split;
};

static cohort_status enter_split(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->multisplit->split(context, step, arena);
}

static cohort_status check_rank(const struct batch *b, cohort_multisplit_desc *d)
{
    if (!d->rank_bytes)
        d->rank_bytes = 4;
    if (d->rank_bytes != 4 && d->rank_bytes != 8)
        return batch_fail(b, COHORT_RANGE, "desc.rank_bytes is %u; it must be 4 or 8", d->rank_bytes);
    if (d->rank && d->rank_bytes == 4 && d->n >= 1ull << 32)
        return batch_fail(b, COHORT_RANGE, "desc.rank_bytes is 4; ranks of n = %llu entries need 8",
                          (unsigned long long)d->n);
    if (d->reserved)
        return batch_fail(b, COHORT_RANGE, "desc.reserved is %u; it must be 0", d->reserved);
    return batch_check_permutation(b, d->n, d->permutation, &d->permutation_bytes);
}

static cohort_status check_numbers(const struct batch *b, cohort_multisplit_desc *d, uint32_t *key_bytes)
{
    cohort_status status = check_keys(b, d->n, d->type, d->buckets, key_bytes);
    if (status)
        return status;
    if (d->unordered > 1)
        return batch_fail(b, COHORT_RANGE, "desc.unordered is %u; it must be 0 or 1", d->unordered);
    if ((int)d->method < COHORT_SPLIT_AUTO || (int)d->method > COHORT_SPLIT_DIGITS)
        return batch_fail(b, COHORT_RANGE, "desc.method is %d; there are %d to %d", (int)d->method,
                          COHORT_SPLIT_AUTO, COHORT_SPLIT_DIGITS);
    if (d->method == COHORT_SPLIT_RESERVED && !d->unordered)
        return batch_fail(b, COHORT_UNSUPPORTED,
                          "desc.method is %d (RESERVED), which keeps no order; desc.unordered is 0",
                          (int)d->method);
    return check_rank(b, d);
}

/* With segments the bucket's number is segment * buckets + bucket. */
static cohort_status check_cells(const struct batch *b, const cohort_multisplit_desc *d)
{
    if (d->segments > COHORT_SEGMENT_BUCKETS_MOST / d->buckets)
        return batch_fail(b, COHORT_UNSUPPORTED,
                          "desc.segments is %llu with desc.buckets = %u; the product may be %u at most",
                          (unsigned long long)d->segments, d->buckets, COHORT_SEGMENT_BUCKETS_MOST);
    return COHORT_OK;
}

static void list_outputs(struct batch *b, const cohort_multisplit_desc *d, struct split *s)
{
    struct batch_array *a;
    const unsigned flags = BATCH_OUT | BATCH_OPTIONAL;
    const uint64_t cells = (d->segments ? d->segments : 1) * d->buckets;
    batch_array(b, "desc.permutation", flags, d->permutation, d->n, d->permutation_bytes, &s->permutation)
        ->written = BATCH_SOME;
    batch_array(b, "desc.rank", flags, d->rank, d->n, d->rank_bytes, &s->rank);
    batch_array(b, "desc.offsets", flags | BATCH_EITHER, d->offsets, cells + 1, 8, &s->offsets);
    a = batch_array(b, "desc.counts", flags | BATCH_EITHER, d->counts, 1, sizeof(struct batch_counts),
                    &s->counts);
    a->align = 8;
    batch_workspace(b, d->workspace, d->workspace_bytes);
}

/* Reads the descriptor: the numbers checked, the arrays listed. */
static cohort_status multisplit_of(struct multisplit *m, cohort_context *context, const char *call,
                                   const cohort_multisplit_desc *desc)
{
    cohort_multisplit_desc *d = &m->desc;
    struct split *s = &m->split;
    struct batch *b = &m->batch;
    uint32_t key_bytes;
    cohort_status status = batch_desc(b, context, call, desc, sizeof *d, d);
    if (status || (status = check_numbers(b, d, &key_bytes)))
        return status;
    memset(s, 0, sizeof *s);
    b->enter = enter_split;
    b->step = s;
    b->step_bad = &s->deferred;
    s->n = d->n;
    s->key_bytes = key_bytes;
    s->method = (co_u32)d->method;
    s->unordered = d->unordered;
    s->columns = d->payloads;
    s->permutation_bytes = d->permutation_bytes;
    s->rank_bytes = d->rank_bytes;
    s->segments = d->segments;
    batch_array(b, "desc.keys", BATCH_IN, d->keys, d->n, key_bytes, &s->keys);
    struct batch_array *out = batch_array(b, "desc.keys_out", BATCH_OUT | BATCH_OPTIONAL, d->keys_out, d->n,
                                          key_bytes, &s->keys_out);
    out->from = 0;
    out->written = BATCH_SOME;
    status = fn_check(b, d->fn, &m->fn, d->n, key_bytes, d->buckets, &s->fn, &s->source);
    if (!status)
        status = batch_columns(b, d->n, d->payloads, d->payload, s->column, BATCH_SOME, 0);
    if (!status)
        status = check_cells(b, d);
    if (!status)
        status = batch_segments(b, d->segments, d->segment_offsets, &s->segment_offsets);
    if (!status)
        list_outputs(b, d, s);
    return status;
}

static cohort_status multisplit_run(struct multisplit *m)
{
    struct batch *b = &m->batch;
    struct split *s = &m->split;
    uint64_t written[BATCH_WRITTEN_KINDS] = {0, s->n, 0};
    struct batch_counts counts;
    cohort_status status = batch_begin(b);
    int some = b->waits && split_can_fail(&s->fn); /* perhaps not all are written: how many? */
    if (some && !s->counts)
        s->counts = &b->context->outcome->counts;
    if (!status)
        status = b->enter(b->context, s, &b->arena);
    if (!status && some) {
        status = context_copy(b->context, &counts, s->counts, sizeof counts);
        written[BATCH_SOME] = counts.added;
    }
    return batch_end(b, status, written);
}

cohort_status cohort_multisplit(cohort_context *context, const cohort_multisplit_desc *desc)
{
    CALL(context);
    struct multisplit m;
    cohort_status status = multisplit_of(&m, context, "cohort_multisplit", desc);
    if (!status)
        status = batch_check(&m.batch);
    if (!status)
        status = fn_check_data(&m.batch, &m.fn, m.split.key_bytes);
    if (!status)
        status = batch_check_segments(&m.batch, m.desc.n, m.desc.segments, m.desc.segment_offsets);
    return status ? status : multisplit_run(&m);
}

cohort_status cohort_multisplit_workspace(cohort_context *context, const cohort_multisplit_desc *desc,
                                          uint64_t *bytes)
{
    CALL(context);
    static const char call[] = "cohort_multisplit_workspace";
    struct multisplit m;
    if (!bytes)
        return context_fail(context, COHORT_NULL, "%s: bytes is NULL", call);
    *bytes = 0;
    cohort_status status = multisplit_of(&m, context, call, desc);
    return status ? status : batch_need(&m.batch, bytes);
}

/* ---- histogram ----------------------------------------------------------------------------------------- */

struct histogram {
    cohort_histogram_desc desc;
    cohort_fn fn;
    struct batch batch;
    struct split split;
};

static cohort_status enter_histogram(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->multisplit->histogram(context, step, arena);
}

static cohort_status histogram_of(struct histogram *h, cohort_context *context, const char *call,
                                  const cohort_histogram_desc *desc)
{
    cohort_histogram_desc *d = &h->desc;
    struct split *s = &h->split;
    struct batch *b = &h->batch;
    uint32_t key_bytes;
    cohort_status status = batch_desc(b, context, call, desc, sizeof *d, d);
    if (status || (status = check_keys(b, d->n, d->type, d->buckets, &key_bytes)))
        return status;
    memset(s, 0, sizeof *s);
    b->enter = enter_histogram;
    b->step = s;
    b->step_bad = &s->deferred;
    s->n = d->n;
    s->key_bytes = key_bytes;
    batch_array(b, "desc.keys", BATCH_IN, d->keys, d->n, key_bytes, &s->keys);
    status = fn_check(b, d->fn, &h->fn, d->n, key_bytes, d->buckets, &s->fn, &s->source);
    if (status)
        return status;
    batch_array(b, "desc.bins", BATCH_OUT | BATCH_EITHER, d->bins, d->buckets, 8, &s->offsets);
    struct batch_array *a = batch_array(b, "desc.counts", BATCH_OUT | BATCH_OPTIONAL | BATCH_EITHER,
                                        d->counts, 1, sizeof(struct batch_counts), &s->counts);
    a->align = 8;
    batch_workspace(b, d->workspace, d->workspace_bytes);
    return COHORT_OK;
}

cohort_status cohort_histogram(cohort_context *context, const cohort_histogram_desc *desc)
{
    CALL(context);
    struct histogram h;
    cohort_status status = histogram_of(&h, context, "cohort_histogram", desc);
    if (!status)
        status = batch_check(&h.batch);
    if (!status)
        status = fn_check_data(&h.batch, &h.fn, h.split.key_bytes);
    if (status)
        return status;
    status = batch_begin(&h.batch);
    if (!status)
        status = h.batch.enter(context, &h.split, &h.batch.arena);
    return batch_end(&h.batch, status, NULL);
}

cohort_status cohort_histogram_workspace(cohort_context *context, const cohort_histogram_desc *desc,
                                         uint64_t *bytes)
{
    CALL(context);
    static const char call[] = "cohort_histogram_workspace";
    struct histogram h;
    if (!bytes)
        return context_fail(context, COHORT_NULL, "%s: bytes is NULL", call);
    *bytes = 0;
    cohort_status status = histogram_of(&h, context, call, desc);
    return status ? status : batch_need(&h.batch, bytes);
}
