/* staged.c: contexts that help others, and copies there and back by Arrow's structs. */
#include "staged.h"

#include "api/batch.h"
#include "factor.h"

cohort_status staged_status(cohort_context *context, const cohort_context *host, cohort_status s)
{
    return s && host != context ? context_fail(context, s, "%s", cohort_message(host)) : s;
}

cohort_status staged_open(cohort_context *context, cohort_context **host)
{
    *host = context;
    if (context->backend->own_memory == MEMORY_HOST)
        return COHORT_OK;
    if (!context->helper) {
        cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
        options.device = "cpu";
        cohort_status s = cohort_context_create(&options, &context->helper);
        if (s)
            return context_fail(context, s, "%s", cohort_message(NULL));
    }
    *host = context->helper;
    cohort_status s = call_begin(*host); /* after a fork it takes over here */
    call_end(*host);
    return staged_status(context, *host, s);
}

cohort_status staged_keys(cohort_context *context, const cohort_frame *keys, cohort_context **host)
{
    for (uint32_t i = 0; i < keys->columns; i++) {
        const struct table_column *c = keys->field[i].column;
        if (!c->is_dictionary && factor_column_of(c).kind >= KEYS_WIDE)
            return staged_open(context, host);
    }
    *host = context;
    return COHORT_OK;
}

/* ---- frames -------------------------------------------------------------------------------------------- */

/* What fails on the frame's context or on `to` is told on `context`. */
static cohort_status move(cohort_context *context, cohort_context *to, cohort_frame *frame,
                          cohort_frame **out)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_status s = staged_status(context, frame->context, cohort_frame_export(frame, &schema, &array));
    if (s)
        return s;
    s = staged_status(context, to, cohort_frame_import(to, &schema, &array, out));
    if (schema.release)
        schema.release(&schema);
    if (array.release)
        array.release(&array);
    return s;
}

cohort_status staged_in(cohort_context *context, cohort_context *host, cohort_frame *frame,
                        cohort_frame **out)
{
    *out = host == context ? cohort_frame_retain(frame) : NULL;
    return host == context ? COHORT_OK : move(context, host, frame, out);
}

cohort_status staged_out(cohort_context *context, cohort_context *host, cohort_frame *made,
                         cohort_frame **out)
{
    *out = host == context ? made : NULL;
    if (host == context)
        return COHORT_OK;
    cohort_status s = move(context, context, made, out);
    cohort_frame_release(made);
    return s;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* A frame of one column. */
static cohort_status frame_of(cohort_context *context, const char *name, struct table_column *column,
                              cohort_frame **out)
{
    cohort_frame *frame = frame_new(context, column->rows, 1);
    cohort_status s = frame ? COHORT_OK : COHORT_NO_MEMORY;
    if (!s)
        s = frame_put(frame, 0, name, table_column_retain(column));
    if (s)
        cohort_frame_release(frame);
    else
        *out = frame;
    return s;
}

cohort_status staged_column_in(cohort_context *context, cohort_context *host, const char *name,
                               struct table_column *column, struct table_column **out)
{
    cohort_frame *frame = NULL, *own = NULL;
    *out = NULL;
    cohort_status s = frame_of(context, name, column, &frame);
    if (!s)
        s = staged_in(context, host, frame, &own);
    if (!s)
        s = staged_status(context, host, table_column_flat(host, own->field[0].column, out));
    cohort_frame_release(frame);
    cohort_frame_release(own);
    return s;
}

cohort_status staged_column_out(cohort_context *context, cohort_context *host, const char *name,
                                struct table_column *column, struct table_column **out)
{
    cohort_frame *frame = NULL, *own = NULL;
    *out = NULL;
    cohort_status s = frame_of(host, name, column, &frame);
    if (s)
        return staged_status(context, host, s);
    s = staged_out(context, host, frame, &own);
    if (!s)
        s = table_column_flat(context, own->field[0].column, out);
    cohort_frame_release(own);
    return s;
}

cohort_status staged_column(cohort_context *context, const char *name, struct table_column *column,
                            struct table_column **out)
{
    struct table_column *values = NULL;
    cohort_context *host = NULL;
    *out = NULL;
    if (context->backend->own_memory == MEMORY_HOST || column->is_dictionary ||
        factor_column_of(column).kind < KEYS_WIDE) {
        *out = table_column_retain(column);
        return COHORT_OK;
    }
    cohort_status s = staged_open(context, &host);
    if (!s)
        s = staged_column_in(context, host, name, column, &values);
    if (!s)
        s = table_column_by_row(context, values, out);
    table_column_release(values);
    return s;
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

cohort_status staged_array_open(struct staged_array *a, cohort_context *context, cohort_context *host,
                                const char *call, const char *name, void *to, uint64_t n, uint64_t unit,
                                int optional)
{
    struct batch b;
    *a = (struct staged_array){.context = context, .host = host, .to = to, .own = to, .bytes = n * unit};
    batch_open(&b, context, call);
    batch_array(&b, name, BATCH_OUT | (optional ? BATCH_OPTIONAL : 0), to, n, unit, NULL);
    cohort_status s = batch_check_memory(&b);
    if (s ||
        (to && host == context &&
         (host->backend->own_memory == MEMORY_HOST || context_memory_kind(context, to) == MEMORY_DEVICE)))
        return s;
    s = pool_take(host, a->bytes, &a->taken);
    a->own = a->taken;
    return staged_status(context, host, s);
}

cohort_status staged_array_close(struct staged_array *a, cohort_status s)
{
    if (!s && a->taken && a->to && a->bytes)
        s = context_copy(a->context, a->to, a->taken, a->bytes);
    pool_give(a->host, a->taken);
    a->taken = NULL;
    return s;
}
