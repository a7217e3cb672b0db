/* multisplit.c: checks of a multisplit and a histogram, and the one call of the backend. */
#include "cohort/multisplit.h"

#include <string.h>

#include "api/bulk.h"

static cohort_status check_keys(const struct bulk *b, uint64_t n, uint32_t key_bytes, uint32_t buckets)
{
    cohort_status status = bulk_check_n(b, n);
    if (status)
        return status;
    if (key_bytes != 4 && key_bytes != 8)
        return bulk_fail(b, COHORT_RANGE, "desc.key_bytes is %u; it must be 4 or 8", key_bytes);
    if (!buckets || buckets > COHORT_BUCKETS_MOST)
        return bulk_fail(b, COHORT_RANGE, "desc.buckets is %u; it must be from 1 to %u", buckets,
                         COHORT_BUCKETS_MOST);
    return COHORT_OK;
}

/* ---- multisplit -------------------------------------------------------------------------------------------------------- */

struct multisplit {
    cohort_multisplit_desc desc;
    struct bulk bulk;
    struct split split;
};

static cohort_status enter_split(cohort_context *context, const void *step, uint64_t *need)
{
    return context->backend->split(context, step, need);
}

static cohort_status check_numbers(const struct bulk *b, cohort_multisplit_desc *d)
{
    cohort_status status = check_keys(b, d->n, d->key_bytes, d->buckets);
    if (status)
        return status;
    if (d->unordered > 1)
        return bulk_fail(b, COHORT_RANGE, "desc.unordered is %u; it must be 0 or 1", d->unordered);
    if ((int)d->method < COHORT_SPLIT_AUTO || (int)d->method > COHORT_SPLIT_DIGITS)
        return bulk_fail(b, COHORT_RANGE, "desc.method is %d; there are %d to %d", (int)d->method,
                         COHORT_SPLIT_AUTO, COHORT_SPLIT_DIGITS);
    if (d->method == COHORT_SPLIT_RESERVED && !d->unordered)
        return bulk_fail(b, COHORT_UNSUPPORTED,
                         "desc.method is %d (RESERVED), which keeps no order; desc.unordered is 0",
                         (int)d->method);
    return bulk_check_permutation(b, d->n, d->permutation, &d->permutation_bytes);
}

static void list_outputs(struct bulk *b, const cohort_multisplit_desc *d, struct split *s)
{
    struct bulk_array *a;
    const unsigned flags = BULK_OUT | BULK_OPTIONAL;
    bulk_array(b, "desc.permutation", flags, d->permutation, d->n, d->permutation_bytes, &s->permutation)
        ->written = BULK_SOME;
    bulk_array(b, "desc.offsets", flags | BULK_EITHER, d->offsets, (uint64_t)d->buckets + 1, 8, &s->offsets);
    a = bulk_array(b, "desc.counts", flags | BULK_EITHER, d->counts, 1, sizeof *d->counts, &s->counts);
    a->align = 8;
    bulk_workspace(b, d->workspace, d->workspace_bytes);
}

/* Reads the descriptor: the numbers checked, the arrays listed. */
static cohort_status multisplit_of(struct multisplit *m, cohort_context *context, const char *call,
                                   const cohort_multisplit_desc *desc)
{
    cohort_multisplit_desc *d = &m->desc;
    struct split *s = &m->split;
    struct bulk *b = &m->bulk;
    cohort_status status = bulk_desc(b, context, call, desc, sizeof *d, d);
    if (status || (status = check_numbers(b, d)))
        return status;
    memset(s, 0, sizeof *s);
    b->enter = enter_split;
    b->step = s;
    b->step_workspace = &s->workspace;
    b->step_bad = &s->deferred;
    s->n = d->n;
    s->key_bytes = d->key_bytes;
    s->method = (co_u32)d->method;
    s->unordered = d->unordered;
    s->columns = d->columns;
    s->permutation_bytes = d->permutation_bytes;
    bulk_array(b, "desc.keys", BULK_IN, d->keys, d->n, d->key_bytes, &s->keys);
    struct bulk_array *out = bulk_array(b, "desc.keys_out", BULK_OUT | BULK_OPTIONAL, d->keys_out, d->n,
                                        d->key_bytes, &s->keys_out);
    out->from = 0;
    out->written = BULK_SOME;
    status = fn_check(b, &d->fn, d->n, d->key_bytes, d->buckets, &s->fn, &s->user);
    if (!status)
        status = bulk_columns(b, d->n, d->columns, d->column, s->column, BULK_SOME, 0);
    if (!status)
        list_outputs(b, d, s);
    return status;
}

static cohort_status multisplit_run(struct multisplit *m)
{
    struct bulk *b = &m->bulk;
    struct split *s = &m->split;
    uint64_t written[BULK_WRITTEN_KINDS] = {0, s->n, 0};
    struct map_counts counts;
    cohort_status status = bulk_begin(b);
    int some = b->waits && split_can_fail(&s->fn); /* perhaps not all are written: how many? */
    if (some && !s->counts)
        s->counts = &b->context->outcome->counts;
    if (!status)
        status = b->enter(b->context, s, NULL);
    if (!status && some) {
        status = b->context->backend->copy(b->context, &counts, s->counts, sizeof counts);
        written[BULK_SOME] = counts.added;
    }
    return bulk_end(b, status, written);
}

cohort_status cohort_multisplit(cohort_context *context, const cohort_multisplit_desc *desc)
{
    struct multisplit m;
    cohort_status status = multisplit_of(&m, context, "cohort_multisplit", desc);
    if (!status)
        status = bulk_check(&m.bulk);
    if (!status)
        status = fn_check_data(&m.bulk, &m.desc.fn, m.desc.key_bytes);
    return status ? status : multisplit_run(&m);
}

cohort_status cohort_multisplit_workspace(cohort_context *context, const cohort_multisplit_desc *desc,
                                          uint64_t *bytes)
{
    static const char call[] = "cohort_multisplit_workspace";
    struct multisplit m;
    if (!bytes)
        return context_fail(context, COHORT_NULL, "%s: bytes is NULL", call);
    *bytes = 0;
    cohort_status status = multisplit_of(&m, context, call, desc);
    return status ? status : bulk_need(&m.bulk, bytes);
}

/* ---- histogram --------------------------------------------------------------------------------------------------------- */

struct histogram {
    cohort_histogram_desc desc;
    struct bulk bulk;
    struct split split;
};

static cohort_status enter_histogram(cohort_context *context, const void *step, uint64_t *need)
{
    return context->backend->histogram(context, step, need);
}

static cohort_status histogram_of(struct histogram *h, cohort_context *context, const char *call,
                                  const cohort_histogram_desc *desc)
{
    cohort_histogram_desc *d = &h->desc;
    struct split *s = &h->split;
    struct bulk *b = &h->bulk;
    cohort_status status = bulk_desc(b, context, call, desc, sizeof *d, d);
    if (status || (status = check_keys(b, d->n, d->key_bytes, d->buckets)))
        return status;
    memset(s, 0, sizeof *s);
    b->enter = enter_histogram;
    b->step = s;
    b->step_workspace = &s->workspace;
    b->step_bad = &s->deferred;
    s->n = d->n;
    s->key_bytes = d->key_bytes;
    bulk_array(b, "desc.keys", BULK_IN, d->keys, d->n, d->key_bytes, &s->keys);
    status = fn_check(b, &d->fn, d->n, d->key_bytes, d->buckets, &s->fn, &s->user);
    if (status)
        return status;
    bulk_array(b, "desc.bins", BULK_OUT | BULK_EITHER, d->bins, d->buckets, 8, &s->offsets);
    struct bulk_array *a = bulk_array(b, "desc.counts", BULK_OUT | BULK_OPTIONAL | BULK_EITHER, d->counts, 1,
                                      sizeof *d->counts, &s->counts);
    a->align = 8;
    bulk_workspace(b, d->workspace, d->workspace_bytes);
    return COHORT_OK;
}

cohort_status cohort_histogram(cohort_context *context, const cohort_histogram_desc *desc)
{
    struct histogram h;
    cohort_status status = histogram_of(&h, context, "cohort_histogram", desc);
    if (!status)
        status = bulk_check(&h.bulk);
    if (!status)
        status = fn_check_data(&h.bulk, &h.desc.fn, h.desc.key_bytes);
    if (status)
        return status;
    status = bulk_begin(&h.bulk);
    if (!status)
        status = h.bulk.enter(context, &h.split, NULL);
    return bulk_end(&h.bulk, status, NULL);
}

cohort_status cohort_histogram_workspace(cohort_context *context, const cohort_histogram_desc *desc,
                                         uint64_t *bytes)
{
    static const char call[] = "cohort_histogram_workspace";
    struct histogram h;
    if (!bytes)
        return context_fail(context, COHORT_NULL, "%s: bytes is NULL", call);
    *bytes = 0;
    cohort_status status = histogram_of(&h, context, call, desc);
    return status ? status : bulk_need(&h.bulk, bytes);
}
