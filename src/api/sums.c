/* sums.c: prefix sums and reductions. */
#include <string.h>

#include "api/bulk.h"

static cohort_status begin(struct bulk *b, cohort_context *context, const char *call, uint64_t n,
                           uint32_t bytes)
{
    if (!context)
        return context_fail(NULL, COHORT_NULL, "%s: context is NULL", call);
    bulk_open(b, context, call);
    if (bytes != 4 && bytes != 8)
        return bulk_fail(b, COHORT_RANGE, "bytes is %u; it must be 4 or 8", bytes);
    return bulk_check_n(b, n);
}

static cohort_status run(struct bulk *b)
{
    cohort_status status = bulk_check(b);
    if (status)
        return status;
    status = bulk_begin(b);
    if (!status)
        status = b->enter(b->context, b->step, NULL);
    return bulk_end(b, status, NULL);
}

/* In place the array is listed once, as the output. */
static cohort_status enter_prefix(cohort_context *context, const void *step, uint64_t *need)
{
    struct prefix p = *(const struct prefix *)step;
    if (!p.in)
        p.in = p.out;
    return context->backend->prefix(context, &p, need);
}

static cohort_status enter_reduce(cohort_context *context, const void *step, uint64_t *need)
{
    return context->backend->reduce(context, step, need);
}

cohort_status cohort_scan(cohort_context *context, uint64_t n, uint32_t bytes, const void *in, void *out,
                          int inclusive)
{
    struct bulk b;
    struct prefix p;
    cohort_status status = begin(&b, context, "cohort_scan", n, bytes);
    if (status)
        return status;
    if (inclusive != 0 && inclusive != 1)
        return bulk_fail(&b, COHORT_RANGE, "inclusive is %d; it must be 0 or 1", inclusive);
    memset(&p, 0, sizeof p);
    p.n = n;
    p.bytes = bytes;
    p.inclusive = (co_u32)inclusive;
    b.enter = enter_prefix;
    b.step = &p;
    b.step_workspace = &p.workspace;
    if (in == out) {
        bulk_array(&b, "in", BULK_IN | BULK_OUT, out, n, bytes, &p.out);
    } else {
        bulk_array(&b, "in", BULK_IN, in, n, bytes, &p.in);
        bulk_array(&b, "out", BULK_OUT, out, n, bytes, &p.out);
    }
    return run(&b);
}

cohort_status cohort_reduce(cohort_context *context, cohort_op op, uint64_t n, uint32_t bytes, const void *in,
                            uint64_t *out)
{
    struct bulk b;
    struct reduce r;
    cohort_status status = begin(&b, context, "cohort_reduce", n, bytes);
    if (status)
        return status;
    if (op != COHORT_OP_ADD && op != COHORT_OP_MIN && op != COHORT_OP_MAX)
        return bulk_fail(&b, COHORT_RANGE, "op is %d; it must be ADD (%d), MIN (%d) or MAX (%d)", (int)op,
                         COHORT_OP_ADD, COHORT_OP_MIN, COHORT_OP_MAX);
    memset(&r, 0, sizeof r);
    r.n = n;
    r.bytes = bytes;
    r.op = (co_u32)op;
    b.enter = enter_reduce;
    b.step = &r;
    b.step_workspace = &r.workspace;
    bulk_array(&b, "in", BULK_IN, in, n, bytes, &r.in);
    bulk_array(&b, "out", BULK_OUT | BULK_EITHER, out, 1, 8, &r.out);
    return run(&b);
}
