/* frame_take.c: arrays and streams of arrays become frames. A stream is read to its end first; then its
 * arrays become the pieces of the frame's columns, all at once, so that a frame is there whole or not at
 * all. */
#include "frame.h"

#include <errno.h>
#include <string.h>

/* An array that was moved in, kept until the last column lets it go. */
struct arrow_holder {
    struct holder holder;
    struct ArrowArray array;
};

/* An array of an import, and where it lies. */
struct part {
    struct arrow_holder *holder;
    enum memory_kind kind;
};

/* What an import is made of: arrays of one schema. The first few need no list of their own. */
struct haul {
    cohort_context *context;
    const char *call;
    struct ArrowSchema schema;
    struct part *part; /* `few`, or a block of its own */
    uint32_t parts, room;
    struct part few[4];
};

static void end_arrow(struct holder *holder)
{
    struct arrow_holder *h = (struct arrow_holder *)(void *)holder;
    if (h->array.release)
        h->array.release(&h->array);
    free(h);
}

static cohort_status no_room(const struct haul *h)
{
    return context_fail(h->context, COHORT_NO_MEMORY, "%s: no host memory for %u arrays", h->call, h->parts);
}

static int more_room(struct haul *h)
{
    const uint32_t few = sizeof h->few / sizeof *h->few;
    if (!h->room) {
        h->part = h->few;
        h->room = few;
        return 1;
    }
    struct part *part = NULL, *own = h->part == h->few ? NULL : h->part;
    if (h->room <= UINT32_MAX / 64)
        part = realloc(own, 2 * (size_t)h->room * sizeof *part);
    if (!part)
        return 0;
    if (!own)
        memcpy(part, h->few, sizeof h->few);
    h->part = part;
    h->room *= 2;
    return 1;
}

/* Room for one more array; it is filled in by the caller. */
static cohort_status add_part(struct haul *h, enum memory_kind kind, struct ArrowArray **array)
{
    if (h->parts == h->room && !more_room(h))
        return no_room(h);
    struct arrow_holder *new = zeroed(1, sizeof *new);
    if (!new)
        return no_room(h);
    new->holder.count = 1;
    new->holder.end = end_arrow;
    h->part[h->parts++] = (struct part){new, kind};
    *array = &new->array;
    return COHORT_OK;
}

/* keep: arrays and schema are still the caller's. */
static void drop_haul(struct haul *h, int keep)
{
    for (uint32_t i = 0; i < h->parts; i++) {
        if (keep)
            h->part[i].holder->array.release = NULL;
        holder_release(&h->part[i].holder->holder);
    }
    if (!keep && h->schema.release)
        h->schema.release(&h->schema);
    if (h->part != h->few)
        free(h->part);
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static int is_struct(const struct haul *h)
{
    return !strcmp(h->schema.format, "+s");
}

static cohort_status corrupt(const struct haul *h, const char *what, int64_t value)
{
    return context_fail(h->context, COHORT_CORRUPT, "%s: %s is %lld, which cannot be", h->call, what,
                        (long long)value);
}

static cohort_status check_schema(const struct haul *h)
{
    if (!h->schema.release || !h->schema.format)
        return context_fail(h->context, COHORT_CORRUPT, "%s: the schema was released, or has no format",
                            h->call);
    if (!is_struct(h))
        return COHORT_OK;
    if (h->schema.n_children < 0 || h->schema.n_children > INT32_MAX)
        return corrupt(h, "schema->n_children", h->schema.n_children);
    for (int64_t i = 0; i < h->schema.n_children; i++)
        if (!h->schema.children || !h->schema.children[i])
            return context_fail(h->context, COHORT_CORRUPT, "%s: schema->children[%lld] is NULL", h->call,
                                (long long)i);
    return COHORT_OK;
}

/* Nulls of the struct itself: rows that are not there at all. */
static cohort_status check_struct_nulls(const struct haul *h, const struct ArrowArray *a,
                                        enum memory_kind kind)
{
    struct table_piece p = {.rows = (co_u64)a->length, .validity_bit = (co_u64)a->offset};
    p.validity = a->n_buffers > 0 && a->buffers ? a->buffers[0] : NULL;
    if (!p.validity)
        return COHORT_OK;
    int readable = kind == h->context->backend->own_memory;
    cohort_status s = readable ? h->context->backend->table->nulls(h->context, &p, &p.nulls) : COHORT_OK;
    if (!readable)
        for (uint64_t i = 0; i < p.rows; i++)
            p.nulls += !table_is_valid(&p, i);
    if (!s && p.nulls)
        return context_fail(h->context, COHORT_UNSUPPORTED,
                            "%s: %llu %s null as a whole; columns may have nulls, and frames not", h->call,
                            COUNTED(p.nulls, "row is", "rows are"));
    return s;
}

static cohort_status check_part(const struct haul *h, uint32_t i)
{
    const struct ArrowArray *a = &h->part[i].holder->array;
    if (!a->release)
        return context_fail(h->context, COHORT_CORRUPT, "%s: the array was released", h->call);
    if (a->length < 0 || a->length > INT64_MAX / 256)
        return corrupt(h, "array->length", a->length);
    if (a->offset < 0 || a->offset > INT64_MAX / 256)
        return corrupt(h, "array->offset", a->offset);
    if (!is_struct(h))
        return COHORT_OK;
    if (a->n_children != h->schema.n_children)
        return corrupt(h, "array->n_children", a->n_children);
    for (int64_t c = 0; c < a->n_children; c++)
        if (!a->children || !a->children[c])
            return context_fail(h->context, COHORT_CORRUPT, "%s: array->children[%lld] is NULL", h->call,
                                (long long)c);
    return check_struct_nulls(h, a, h->part[i].kind);
}

static cohort_status make_column(const struct haul *h, uint32_t c, struct table_column **out)
{
    const struct ArrowSchema *schema = is_struct(h) ? h->schema.children[c] : &h->schema;
    struct intake in = {.context = h->context, .name = schema->name ? schema->name : ""};
    cohort_status s = intake_schema(h->context, schema, h->parts, out);
    in.to = h->context->backend->own_memory;
    for (uint32_t i = 0; !s && i < h->parts; i++) {
        const struct ArrowArray *top = &h->part[i].holder->array;
        in.kind = h->part[i].kind;
        in.holder = &h->part[i].holder->holder;
        if (is_struct(h))
            s = intake_piece(&in, *out, schema, top->children[c], (uint64_t)top->offset,
                             (uint64_t)top->length, i);
        else
            s = intake_piece(&in, *out, schema, top, 0, (uint64_t)top->length, i);
    }
    if (s) {
        table_column_release(*out);
        *out = NULL;
    }
    return s;
}

static cohort_status make_frame(const struct haul *h, cohort_frame **out)
{
    cohort_status s = check_schema(h);
    uint64_t rows = 0;
    for (uint32_t i = 0; !s && i < h->parts; i++) {
        s = check_part(h, i);
        rows += s ? 0 : (uint64_t)h->part[i].holder->array.length;
    }
    if (s)
        return s;
    uint32_t columns = is_struct(h) ? (uint32_t)h->schema.n_children : 1;
    cohort_frame *f = frame_new(h->context, rows, columns);
    if (!f)
        return COHORT_NO_MEMORY;
    for (uint32_t c = 0; !s && c < columns; c++) {
        struct table_column *column = NULL;
        s = make_column(h, c, &column);
        if (!s)
            s = frame_put(f, c, is_struct(h) ? h->schema.children[c]->name : h->schema.name, column);
    }
    if (!s)
        s = context_wait(h->context); /* copies from the arrays are done */
    if (s)
        cohort_frame_release(f);
    else
        *out = f;
    return s;
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static cohort_status check_call(const char *call, cohort_context *context, const void *schema,
                                const void *array, cohort_frame **out)
{
    cohort_status s = frame_need(NULL, call, "context", context);
    if (out)
        *out = NULL;
    if (!s)
        s = frame_need(context, call, "schema", schema);
    if (!s)
        s = frame_need(context, call, "array", array);
    return s ? s : frame_need(context, call, "out", out);
}

/* The move: on success nothing is left in the caller's structs. */
static cohort_status take(cohort_context *context, const char *call, struct ArrowSchema *schema,
                          struct ArrowArray *array, enum memory_kind kind, cohort_frame **out)
{
    struct haul h = {.context = context, .call = call, .schema = *schema};
    struct ArrowArray *own = NULL;
    cohort_status s = add_part(&h, kind, &own);
    if (!s) {
        *own = *array;
        s = make_frame(&h, out);
    }
    drop_haul(&h, s != COHORT_OK);
    if (!s) {
        schema->release = NULL;
        array->release = NULL;
    }
    return s;
}

cohort_status cohort_frame_import(cohort_context *context, struct ArrowSchema *schema,
                                  struct ArrowArray *array, cohort_frame **out)
{
    CALL(context);
    cohort_status s = check_call("cohort_frame_import", context, schema, array, out);
    return s ? s : take(context, "cohort_frame_import", schema, array, MEMORY_HOST, out);
}

/* Which memory a device's number means to this context. */
static cohort_status kind_of(cohort_context *context, const char *call, ArrowDeviceType type, int64_t id,
                             void *sync_event, enum memory_kind *kind)
{
    *kind = MEMORY_HOST;
    if (type == ARROW_DEVICE_CPU || type == ARROW_DEVICE_CUDA_HOST)
        return sync_event ? context->backend->table->await(context, sync_event) : COHORT_OK;
    if (type != ARROW_DEVICE_CUDA && type != ARROW_DEVICE_CUDA_MANAGED)
        return context_fail(context, COHORT_UNSUPPORTED, "%s: array->device_type is %d", call, (int)type);
    if (context->backend->own_memory == MEMORY_HOST && type == ARROW_DEVICE_CUDA)
        return context_fail(context, COHORT_BAD_POINTER,
                            "%s: array->device_type is %d, a GPU's memory, and this is a CPU context", call,
                            (int)type);
    if (type == ARROW_DEVICE_CUDA && id != context->backend->table->device_id(context))
        return context_fail(context, COHORT_BAD_POINTER,
                            "%s: array->device_id is %lld; the context's is %lld", call, (long long)id,
                            (long long)context->backend->table->device_id(context));
    *kind = context->backend->own_memory;
    return sync_event ? context->backend->table->await(context, sync_event) : COHORT_OK;
}

cohort_status cohort_frame_import_device(cohort_context *context, struct ArrowSchema *schema,
                                         struct ArrowDeviceArray *array, cohort_frame **out)
{
    CALL(context);
    const char *call = "cohort_frame_import_device";
    enum memory_kind kind;
    cohort_status s = check_call(call, context, schema, array, out);
    if (!s)
        s = kind_of(context, call, array->device_type, array->device_id, array->sync_event, &kind);
    return s ? s : take(context, call, schema, &array->array, kind, out);
}

/* ---- streams ------------------------------------------------------------------------------------------- */

static cohort_status stream_failed(const struct haul *h, int error, const char *text)
{
    return context_fail(h->context, COHORT_IO, "%s: the stream reports error %d (%s): %.300s", h->call, error,
                        strerror(error), text ? text : "no more is told");
}

static cohort_status read_stream(struct haul *h, struct ArrowArrayStream *stream)
{
    int error = stream->get_schema(stream, &h->schema);
    cohort_status s = error ? stream_failed(h, error, stream->get_last_error(stream)) : COHORT_OK;
    if (error)
        h->schema.release = NULL;
    for (struct ArrowArray *array = NULL; !s;) {
        s = add_part(h, MEMORY_HOST, &array);
        if (s)
            break;
        error = stream->get_next(stream, array);
        if (error) {
            array->release = NULL;
            s = stream_failed(h, error, stream->get_last_error(stream));
        } else if (!array->release) {
            free(h->part[--h->parts].holder);
            break;
        }
    }
    return s;
}

cohort_status cohort_frame_import_stream(cohort_context *context, struct ArrowArrayStream *stream,
                                         cohort_frame **out)
{
    CALL(context);
    struct haul h = {.context = context, .call = "cohort_frame_import_stream"};
    cohort_status s = check_call(h.call, context, stream, stream, out);
    if (s)
        return s;
    if (!stream->release)
        return context_fail(context, COHORT_CORRUPT, "%s: the stream was released", h.call);
    s = read_stream(&h, stream);
    if (!s)
        s = make_frame(&h, out);
    drop_haul(&h, 0);
    stream->release(stream);
    return s;
}

static cohort_status read_device_stream(struct haul *h, struct ArrowDeviceArrayStream *stream)
{
    int error = stream->get_schema(stream, &h->schema);
    cohort_status s = error ? stream_failed(h, error, stream->get_last_error(stream)) : COHORT_OK;
    if (error)
        h->schema.release = NULL;
    while (!s) {
        struct ArrowDeviceArray next = {.device_type = stream->device_type};
        struct ArrowArray *array = NULL;
        error = stream->get_next(stream, &next);
        if (error)
            s = stream_failed(h, error, stream->get_last_error(stream));
        else if (!next.array.release)
            break;
        else if ((s = add_part(h, MEMORY_HOST, &array)))
            next.array.release(&next.array);
        else {
            *array = next.array;
            s = kind_of(h->context, h->call, next.device_type, next.device_id, next.sync_event,
                        &h->part[h->parts - 1].kind);
        }
    }
    return s;
}

cohort_status cohort_frame_import_device_stream(cohort_context *context,
                                                struct ArrowDeviceArrayStream *stream, cohort_frame **out)
{
    CALL(context);
    struct haul h = {.context = context, .call = "cohort_frame_import_device_stream"};
    cohort_status s = check_call(h.call, context, stream, stream, out);
    if (s)
        return s;
    if (!stream->release)
        return context_fail(context, COHORT_CORRUPT, "%s: the stream was released", h.call);
    s = read_device_stream(&h, stream);
    if (!s)
        s = make_frame(&h, out);
    drop_haul(&h, 0);
    stream->release(stream);
    return s;
}

/* ---- plain arrays -------------------------------------------------------------------------------------- */

static const char *format_of(cohort_type type)
{
    static const char *const formats[] = {"", "C", "S", "I", "L", "c", "s", "i", "l", "f", "g"};
    return (unsigned)type < sizeof formats / sizeof formats[0] ? formats[type] : "";
}

static cohort_status copy_in(cohort_context *context, struct table_column *c, const void *from,
                             uint64_t bytes, const void **to)
{
    struct buffer *b;
    cohort_status s = loan_take(context, bytes, &b);
    if (s)
        return s;
    table_column_hold(c, &b->holder);
    *to = b->memory;
    return context_copy(context, b->memory, from, bytes);
}

static cohort_status fill_plain(cohort_context *context, struct table_column *c, uint64_t rows,
                                const cohort_array *array)
{
    struct table_piece *p = &c->piece[0];
    const void *validity = NULL;
    p->rows = c->rows = rows;
    cohort_status s = rows ? copy_in(context, c, array->values, rows * c->type.bytes, &p->data) : COHORT_OK;
    if (!s && rows && array->validity)
        s = copy_in(context, c, array->validity, (rows + 7) / 8, &validity);
    p->validity = validity;
    if (!s && validity)
        s = context->backend->table->nulls(context, p, &p->nulls);
    p->validity = p->nulls ? p->validity : NULL;
    c->nulls = p->nulls;
    return s;
}

static cohort_status plain_column(cohort_context *context, uint64_t rows, uint32_t i,
                                  const cohort_array *array, struct table_column **out)
{
    const char *format = format_of(array->type);
    if (!*format)
        return context_fail(context, COHORT_RANGE, "cohort_frame_create: arrays[%u].type is %d", i,
                            (int)array->type);
    if (rows && !array->values)
        return context_fail(context, COHORT_NULL, "cohort_frame_create: arrays[%u].values is NULL", i);
    if (rows > INT64_MAX / 16)
        return context_fail(context, COHORT_OVERFLOW, "cohort_frame_create: rows is %llu",
                            (unsigned long long)rows);
    struct table_column *c = table_column_new(1, 2);
    cohort_status s = c && table_column_set_format(c, format) && table_type_parse(format, &c->type)
                          ? fill_plain(context, c, rows, array)
                          : context_fail(context, COHORT_NO_MEMORY, "no host memory for a column");
    if (s)
        table_column_release(c);
    else
        *out = c;
    return s;
}

cohort_status cohort_frame_create(cohort_context *context, uint64_t rows, uint32_t columns,
                                  const cohort_array *arrays, cohort_frame **out)
{
    CALL(context);
    cohort_status s =
        check_call("cohort_frame_create", context, context, columns ? (const void *)arrays : context, out);
    cohort_frame *f = s ? NULL : frame_new(context, rows, columns);
    if (s || !f)
        return s ? s : COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < columns; i++) {
        struct table_column *column = NULL;
        s = plain_column(context, rows, i, &arrays[i], &column);
        if (!s)
            s = frame_put(f, i, arrays[i].name, column);
    }
    if (s)
        cohort_frame_release(f);
    else
        *out = f;
    return s;
}
