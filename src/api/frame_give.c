/* frame_give.c: frames handed out: as one array in the host's memory, as one in the device's, and chunk by
 * chunk. */
#include "frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A frame's columns in one piece each; in the host's memory, if asked. */
struct flats {
    cohort_context *context;
    uint32_t count;
    struct table_column **column;
};

static void drop_flats(struct flats *f)
{
    for (uint32_t i = 0; f->column && i < f->count; i++)
        table_column_release(f->column[i]);
    free(f->column);
}

/* ---- to the host --------------------------------------------------------------------------------------- */

static cohort_status fetch(cohort_context *context, struct table_column *to, const void **at, uint64_t bytes)
{
    void *memory;
    if (!*at || !bytes)
        return COHORT_OK;
    struct holder *h = holder_block(bytes, &memory);
    if (!h)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for %llu bytes of a column",
                            (unsigned long long)bytes);
    table_column_hold(to, h);
    const void *from = *at;
    *at = memory;
    return context_copy(context, memory, from, bytes);
}

/* A column of one piece, of a GPU's memory, in the host's. */
static cohort_status column_to_host(cohort_context *context, struct table_column **column)
{
    struct table_column *c = *column, *to = table_column_like(c, 1, 4);
    if (!to)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for a column");
    to->rows = c->rows;
    to->nulls = c->nulls;
    to->piece[0] = c->piece[0];
    if (c->dictionaries[0])
        to->dictionaries[0] = table_column_retain(c->dictionaries[0]);
    const void *validity = to->piece[0].validity;
    int bits = !c->is_dictionary && c->type.layout == TABLE_BITS;
    cohort_status s = fetch(context, to, &validity, (to->piece[0].validity_bit + c->rows + 7) / 8);
    to->piece[0].validity = validity;
    if (!s)
        s = fetch(context, to, &to->piece[0].data,
                  bits ? (to->piece[0].data_bit + c->rows + 7) / 8 : c->rows * table_column_element(c));
    table_column_release(s ? to : c);
    if (!s)
        *column = to;
    return s;
}

static cohort_status make_flats(cohort_frame *frame, int to_host, struct flats *f)
{
    cohort_context *context = frame->context;
    cohort_status s = COHORT_OK;
    f->context = context;
    f->count = frame->columns;
    f->column = zeroed((size_t)frame->columns + 1, sizeof(struct table_column *));
    if (!f->column)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for %u columns", frame->columns);
    for (uint32_t i = 0; !s && i < frame->columns; i++) {
        s = table_column_flat(context, frame->field[i].column, &f->column[i]);
        if (!s && to_host && context->backend->own_memory == MEMORY_DEVICE)
            s = column_to_host(context, &f->column[i]);
    }
    return s;
}

static cohort_status check_call(const char *call, const cohort_frame *frame, const char *name,
                                const void *out)
{
    cohort_status s = frame_need(NULL, call, "frame", frame);
    return s ? s : frame_need(frame->context, call, name, out);
}

/* Both or none of them. */
static cohort_status give(cohort_frame *frame, const struct flats *f, int host, struct ArrowSchema *schema,
                          struct ArrowArray *array)
{
    cohort_status s = export_schema(frame->context, frame, f->column, schema);
    if (s)
        return s;
    s = export_rows(frame->context, frame->rows, f->count, f->column, host, array);
    if (s)
        schema->release(schema);
    return s;
}

cohort_status cohort_frame_export(cohort_frame *frame, struct ArrowSchema *schema, struct ArrowArray *array)
{
    CALL_ON(frame);
    struct flats f = {0};
    cohort_status s = check_call("cohort_frame_export", frame, "schema", schema);
    if (!s)
        s = frame_need(frame->context, "cohort_frame_export", "array", array);
    if (s)
        return s;
    s = make_flats(frame, 1, &f);
    if (!s)
        s = context_wait(frame->context);
    if (!s)
        s = give(frame, &f, 1, schema, array);
    drop_flats(&f);
    return s;
}

/* ---- in the device's memory ---------------------------------------------------------------------------- */

/* The array with an event: what it is, and the buffer that keeps the context's struct until the event is
 * freed. */
struct device_data {
    struct ArrowArray inner;
    void *event;
    struct buffer *keeper;
};

static void release_device(struct ArrowArray *array)
{
    struct device_data *d = array->private_data;
    array->private_data = d->inner.private_data;
    array->release = d->inner.release;
    array->release(array);
    d->keeper->context->backend->table->event_free(d->keeper->context, d->event);
    holder_release(&d->keeper->holder);
    free(d);
}

static cohort_status add_event(cohort_context *context, struct ArrowDeviceArray *array)
{
    struct device_data *d = zeroed(1, sizeof *d);
    if (!d)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for an array");
    cohort_status s = loan_take(context, 0, &d->keeper);
    if (!s)
        s = context->backend->table->event(context, &d->event);
    if (s) {
        holder_release(d->keeper ? &d->keeper->holder : NULL);
        free(d);
        return s;
    }
    d->inner = array->array;
    array->array.private_data = d;
    array->array.release = release_device;
    array->sync_event = d->event;
    return COHORT_OK;
}

cohort_status cohort_frame_export_device(cohort_frame *frame, struct ArrowSchema *schema,
                                         struct ArrowDeviceArray *array)
{
    CALL_ON(frame);
    struct flats f = {0};
    cohort_status s = check_call("cohort_frame_export_device", frame, "schema", schema);
    if (!s)
        s = frame_need(frame->context, "cohort_frame_export_device", "array", array);
    if (s)
        return s;
    cohort_context *context = frame->context;
    int device = context->backend->own_memory == MEMORY_DEVICE;
    for (uint32_t i = 0; device && i < frame->columns; i++)
        if (frame->field[i].column->is_dictionary)
            return context_fail(
                context, COHORT_UNSUPPORTED,
                "cohort_frame_export_device: column '%.100s' is a dictionary, whose values are in "
                "the host's memory; cohort_frame_export brings all to the host",
                frame->field[i].name);
    memset(array, 0, sizeof *array);
    s = make_flats(frame, 0, &f);
    if (!s)
        s = give(frame, &f, 0, schema, &array->array);
    drop_flats(&f);
    if (s)
        return s;
    array->device_type = device ? ARROW_DEVICE_CUDA : ARROW_DEVICE_CPU;
    array->device_id = context->backend->table->device_id(context);
    s = device ? add_event(context, array) : COHORT_OK;
    if (s) {
        array->array.release(&array->array);
        schema->release(schema);
    }
    return s;
}

/* ---- chunk by chunk ------------------------------------------------------------------------------------ */

struct stream {
    cohort_frame *frame;
    uint64_t at;
    char error[256];
};

static void release_stream(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;
    cohort_frame_release(s->frame);
    free(s);
    stream->release = NULL;
}

static const char *last_error(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;
    return s->error[0] ? s->error : NULL;
}

static int failed(struct stream *s, cohort_status status)
{
    snprintf(s->error, sizeof s->error, "%s", cohort_message(s->frame->context));
    return status == COHORT_NO_MEMORY ? ENOMEM : EIO;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct stream *s = stream->private_data;
    struct table_column **columns = zeroed((size_t)s->frame->columns + 1, sizeof(struct table_column *));
    if (!columns)
        return ENOMEM;
    for (uint32_t i = 0; i < s->frame->columns; i++)
        columns[i] = s->frame->field[i].column;
    cohort_status status = export_schema(s->frame->context, s->frame, columns, out);
    free(columns);
    return status ? failed(s, status) : 0;
}

/* The rows up to where the first of the columns' pieces ends. */
static uint64_t chunk_rows(const struct stream *s)
{
    uint64_t end = s->frame->rows;
    for (uint32_t i = 0; i < s->frame->columns; i++) {
        const struct table_column *c = s->frame->field[i].column;
        for (uint32_t k = 0; k < c->pieces; k++) {
            uint64_t last = c->piece[k].first + c->piece[k].rows;
            if (last > s->at) {
                end = last < end ? last : end;
                break;
            }
        }
    }
    return end - s->at;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *s = stream->private_data;
    struct ArrowSchema schema;
    cohort_frame *chunk;
    memset(out, 0, sizeof *out);
    if (s->at >= s->frame->rows)
        return 0;
    uint64_t rows = chunk_rows(s);
    cohort_status status = cohort_frame_slice(s->frame, s->at, rows, &chunk);
    if (status)
        return failed(s, status);
    status = cohort_frame_export(chunk, &schema, out);
    if (!status)
        schema.release(&schema);
    cohort_frame_release(chunk);
    if (status)
        return failed(s, status);
    s->at += rows;
    return 0;
}

cohort_status cohort_frame_export_stream(cohort_frame *frame, struct ArrowArrayStream *stream)
{
    CALL_ON(frame);
    cohort_status status = check_call("cohort_frame_export_stream", frame, "stream", stream);
    if (status)
        return status;
    struct stream *s = zeroed(1, sizeof *s);
    if (!s)
        return context_fail(frame->context, COHORT_NO_MEMORY, "no host memory for a stream");
    s->frame = cohort_frame_retain(frame);
    stream->get_schema = stream_schema;
    stream->get_next = stream_next;
    stream->get_last_error = last_error;
    stream->release = release_stream;
    stream->private_data = s;
    return COHORT_OK;
}
