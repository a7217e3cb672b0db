/* sums.c: prefix sums and reductions. */
#include <string.h>

#include "api/batch.h"
#include "backend/sums.h"
#include "cohort/sums.h"

static const char whole_names[] = "COHORT_U32, COHORT_U64, COHORT_I32 or COHORT_I64";

static cohort_status begin(struct batch *b, cohort_context *context, const char *call, uint64_t n,
                           cohort_type type, int floats, uint32_t *bytes)
{
    if (!context)
        return context_fail(NULL, COHORT_NULL, "%s: context is NULL", call);
    batch_open(b, context, call);
    cohort_status status =
        floats ? batch_check_type(b, "type", type, BATCH_TYPE_ALL, "one of 4 or 8 bytes", bytes)
               : batch_check_type(b, "type", type, BATCH_TYPE_WHOLE, whole_names, bytes);
    return status ? status : batch_check_n(b, n);
}

static cohort_status run(struct batch *b)
{
    cohort_status status = batch_check(b);
    if (status)
        return status;
    status = batch_begin(b);
    if (!status)
        status = b->enter(b->context, b->step, &b->arena);
    return batch_end(b, status, NULL);
}

/* In place the array is listed once, as the output. */
static cohort_status enter_scan(cohort_context *context, const void *step, struct arena *arena)
{
    struct scan p = *(const struct scan *)step;
    if (!p.in)
        p.in = p.out;
    return context->backend->sums->scan(context, &p, arena);
}

static cohort_status enter_reduce(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->sums->reduce(context, step, arena);
}

cohort_status cohort_scan(cohort_context *context, uint64_t n, cohort_type type, int inclusive,
                          const void *in, void *out)
{
    CALL(context);
    struct batch b;
    struct scan p;
    uint32_t bytes;
    cohort_status status = begin(&b, context, "cohort_scan", n, type, 0, &bytes);
    if (status)
        return status;
    if (inclusive != 0 && inclusive != 1)
        return batch_fail(&b, COHORT_RANGE, "inclusive is %d; it must be 0 or 1", inclusive);
    memset(&p, 0, sizeof p);
    p.n = n;
    p.bytes = bytes;
    p.inclusive = (co_u32)inclusive;
    b.enter = enter_scan;
    b.step = &p;
    if (in == out) {
        batch_array(&b, "in", BATCH_IN | BATCH_OUT, out, n, bytes, &p.out);
    } else {
        batch_array(&b, "in", BATCH_IN, in, n, bytes, &p.in);
        batch_array(&b, "out", BATCH_OUT, out, n, bytes, &p.out);
    }
    return run(&b);
}

cohort_status cohort_reduce(cohort_context *context, cohort_op op, uint64_t n, cohort_type type,
                            const void *in, void *out)
{
    CALL(context);
    struct batch b;
    struct reduce r;
    uint32_t bytes;
    cohort_status status = begin(&b, context, "cohort_reduce", n, type, op != COHORT_OP_ADD, &bytes);
    if (status)
        return status;
    if (op != COHORT_OP_ADD && op != COHORT_OP_MIN && op != COHORT_OP_MAX)
        return batch_fail(&b, COHORT_RANGE, "op is %d; it must be ADD (%d), MIN (%d) or MAX (%d)", (int)op,
                          COHORT_OP_ADD, COHORT_OP_MIN, COHORT_OP_MAX);
    memset(&r, 0, sizeof r);
    r.n = n;
    r.bytes = bytes;
    r.op = (co_u32)op;
    r.kind = type >= COHORT_F32 ? REDUCE_FLOAT : type >= COHORT_I8 ? REDUCE_SIGNED : REDUCE_UNSIGNED;
    b.enter = enter_reduce;
    b.step = &r;
    batch_array(&b, "in", BATCH_IN, in, n, bytes, &r.in);
    batch_array(&b, "out", BATCH_OUT | BATCH_EITHER, out, 1, 8, &r.out);
    return run(&b);
}
