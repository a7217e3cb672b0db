/* table_out.c: how frames go out: Arrow's protocols (arrow.c), as a table or as one column; Python's lists;
 * and the nested tuples that are pickled. */
#include "core.h"

#include <stdlib.h>

/* ---- Arrow --------------------------------------------------------------------------------------------- */

/* Of a struct its first child: that is moved out, and the rest released. */
static void only_schema(struct ArrowSchema *s)
{
    struct ArrowSchema child = *s->children[0];
    s->children[0]->release = NULL;
    s->release(s);
    *s = child;
}
static void only_array(struct ArrowArray *a)
{
    struct ArrowArray child = *a->children[0];
    a->children[0]->release = NULL;
    a->release(a);
    *a = child;
}

bool export_frame(handle *h, bool column, struct ArrowSchema *schema, struct ArrowArray *array)
{
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_frame_export(h->object, schema, array);
    if (!call_end(h->on, &o))
        return false;
    if (column) {
        only_schema(schema);
        only_array(array);
    }
    return true;
}

static bool one_column(handle *h, int column)
{
    if (!column || cohort_frame_columns(h->object) == 1)
        return true;
    PyErr_SetString(PyExc_ValueError, "the frame has not one column");
    return false;
}

/* frame_export(frame, as a column): (capsule of the schema, capsule of the array). */
static PyObject *frame_export(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]);
    int column = PyObject_IsTrue(arguments[1]);
    if (!h || !one_column(h, column))
        return NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (!export_frame(h, column, &schema, &array))
        return NULL;
    return arrow_pair(arrow_schema_capsule(&schema), arrow_array_capsule(&array));
}

/* Of a frame, with an event that is to be waited for. Of a column the work is done, since the event ends with the
 * struct that the column is taken out of. */
static bool export_on_device(handle *h, bool column, struct ArrowSchema *schema,
                             struct ArrowDeviceArray *array)
{
    outcome o;
    call_begin(h->on, &o);
    o.wait = column;
    o.status = cohort_frame_export_device(h->object, schema, array);
    const bool given = o.status == COHORT_OK;
    if (!call_end(h->on, &o)) {
        if (given) {
            schema->release(schema);
            array->array.release(&array->array);
        }
        return false;
    }
    if (column) {
        only_schema(schema);
        only_array(&array->array);
        array->sync_event = NULL;
    }
    return true;
}

/* frame_export_device(frame, as a column): (capsule of the schema, capsule of the device array), in the memory
 * of the context's device. */
static PyObject *frame_export_device(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]);
    int column = PyObject_IsTrue(arguments[1]);
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    if (!h || !one_column(h, column) || !export_on_device(h, column, &schema, &array))
        return NULL;
    return arrow_pair(arrow_schema_capsule(&schema), arrow_device_capsule(&array));
}

/* A stream of a column, over that of its frame. */
static int column_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct ArrowArrayStream *under = stream->private_data;
    int bad = under->get_schema(under, out);
    if (!bad)
        only_schema(out);
    return bad;
}
static int column_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct ArrowArrayStream *under = stream->private_data;
    int bad = under->get_next(under, out);
    if (!bad && out->release)
        only_array(out);
    return bad;
}
static const char *column_error(struct ArrowArrayStream *stream)
{
    struct ArrowArrayStream *under = stream->private_data;
    return under->get_last_error(under);
}
static void column_end(struct ArrowArrayStream *stream)
{
    struct ArrowArrayStream *under = stream->private_data;
    stream->release = NULL;
    if (under->release)
        under->release(under);
    free(under);
}

/* frame_stream(frame, as a column): a capsule. */
static PyObject *frame_stream(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]);
    int column = PyObject_IsTrue(arguments[1]);
    if (!h || !one_column(h, column))
        return NULL;
    struct ArrowArrayStream stream, *under = malloc(sizeof *under);
    if (!under)
        return PyErr_NoMemory();
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_frame_export_stream(h->object, column ? under : &stream);
    bool good = call_end(h->on, &o) != NULL;
    if (good && column)
        stream = (struct ArrowArrayStream){column_schema, column_next, column_error, column_end, under};
    else
        free(under);
    return good ? arrow_stream_capsule(&stream) : NULL;
}

/* ---- Python's objects ---------------------------------------------------------------------------------- */

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double x = bits & 1023;
    uint64_t special = 0x7ff0000000000000u | (uint64_t)(bits & 1023) << 42;
    if (exponent == 31)
        memcpy(&x, &special, 8);
    else if (exponent)
        for (x = (x + 1024) / 1024; exponent != 15; exponent += exponent < 15 ? 1 : -1)
            x *= exponent < 15 ? 0.5 : 2;
    else
        x /= 1 << 24;
    return bits >> 15 ? -x : x;
}

/* Element i of a variable or view layout. */
static PyObject *text_at(const char *format, const struct ArrowArray *a, int64_t i)
{
    bool text = format[strlen(format) - 1] == 'u' || *format == 'U';
    const char *data;
    int64_t bytes;
    if (*format == 'v') {
        const char *view = (const char *)a->buffers[1] + 16 * i;
        int32_t head[4];
        memcpy(head, view, 16);
        bytes = head[0];
        data = bytes <= 12 ? view + 4 : (const char *)a->buffers[2 + head[2]] + head[3];
    } else if (*format == 'u' || *format == 'z') {
        const int32_t *offset = a->buffers[1];
        data = (const char *)a->buffers[2] + offset[i];
        bytes = offset[i + 1] - offset[i];
    } else {
        const int64_t *offset = a->buffers[1];
        data = (const char *)a->buffers[2] + offset[i];
        bytes = offset[i + 1] - offset[i];
    }
    return text ? PyUnicode_DecodeUTF8(data, (Py_ssize_t)bytes, "surrogateescape")
                : PyBytes_FromStringAndSize(data, (Py_ssize_t)bytes);
}

static PyObject *value_at(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t row);

static PyObject *number_at(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i, int type)
{
    const void *data = a->buffers[1];
    uint64_t bits = 0;
    double real;
    float single;
    memcpy(&bits, (const char *)data + (size_t)i * type_bytes(type), type_bytes(type));
    int64_t number = type == COHORT_I8    ? (int8_t)bits
                     : type == COHORT_I16 ? (int16_t)bits
                     : type == COHORT_I32 ? (int32_t)bits
                                          : (int64_t)bits;
    if (s->dictionary)
        return value_at(s->dictionary, a->dictionary, number);
    switch (type) {
    case COHORT_F32:
        memcpy(&single, &bits, 4);
        return PyFloat_FromDouble(single);
    case COHORT_F64:
        memcpy(&real, &bits, 8);
        return PyFloat_FromDouble(real);
    case COHORT_U8:
    case COHORT_U16:
    case COHORT_U32:
    case COHORT_U64:
        return PyLong_FromUnsignedLongLong(bits);
    default:
        return PyLong_FromLongLong(number);
    }
}

/* Row `row` as a Python object; dates and times as integers, decimals as their 16 bytes. */
static PyObject *value_at(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t row)
{
    int64_t i = row + a->offset;
    const uint8_t *valid = a->n_buffers ? a->buffers[0] : NULL;
    const char *format = s->format;
    if (valid && !(valid[i >> 3] >> (i & 7) & 1))
        Py_RETURN_NONE;
    if (strchr("uUzZv", *format))
        return text_at(format, a, i);
    if (*format == 'w' || *format == 'd') {
        long bytes = *format == 'w' ? strtol(format + 2, NULL, 10) : 16;
        return PyBytes_FromStringAndSize((const char *)a->buffers[1] + bytes * i, (Py_ssize_t)bytes);
    }
    if (*format == 'e')
        return PyFloat_FromDouble(half(((const uint16_t *)a->buffers[1])[i]));
    if (*format == 'b')
        return PyBool_FromLong(((const uint8_t *)a->buffers[1])[i >> 3] >> (i & 7) & 1);
    int type = type_of_arrow(format);
    if (!type)
        return PyErr_Format(PyExc_NotImplementedError, "elements of the format '%s' have no Python object",
                            format);
    return number_at(s, a, i, type);
}

/* frame_values(frame): the rows of its only column as a list. */
static PyObject *frame_values(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = frame_of(object);
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (!h || !one_column(h, true) || !export_frame(h, true, &schema, &array))
        return NULL;
    PyObject *list = PyList_New((Py_ssize_t)array.length);
    for (int64_t i = 0; list && i < array.length; ++i) {
        PyObject *item = value_at(&schema, &array, i);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item))
            Py_CLEAR(list);
    }
    schema.release(&schema);
    array.release(&array);
    return list;
}

PyMethodDef table_out_functions[] = {FAST(frame_export),
                                     FAST(frame_export_device),
                                     FAST(frame_stream),
                                     {"frame_values", frame_values, METH_O, NULL},
                                     {NULL, NULL, 0, NULL}};
