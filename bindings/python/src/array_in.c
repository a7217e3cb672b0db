/* array_in.c: how arrays come in: the buffer protocol, then Arrow's C data and stream interfaces.
 *
 * What comes in is borrowed where it is contiguous, aligned and of a native type, and copied else. */
#include "core.h"

#include <stdlib.h>

/* ---- in: buffers --------------------------------------------------------------------------------------- */

/* The type that a format of the struct module names, 0 for none. */
static int type_of_format(const char *format, Py_ssize_t itemsize)
{
    if (!format)
        format = "B";
    if (*format == '@' || *format == '=' || *format == '<')
        ++format;
    if (!*format || format[1])
        return 0;
    bool is_signed = strchr("bhilqn", *format), is_unsigned = strchr("BHILQN", *format);
    for (int t = 1; t < TYPES; ++t) {
        bool integer_signed = t >= COHORT_I8 && t <= COHORT_I64, integer_unsigned = t <= COHORT_U64;
        if ((Py_ssize_t)type_bytes(t) == itemsize &&
            ((is_signed && integer_signed) || (is_unsigned && integer_unsigned) ||
             (!is_signed && !is_unsigned && type_code(t) == *format)))
            return t;
    }
    return 0;
}

/* The elements of a buffer that are not one behind the other, or not aligned. */
static array *copy_strided(const Py_buffer *view, int type)
{
    Py_ssize_t n = view->shape[0], step = view->strides ? view->strides[0] : view->itemsize;
    array *a = array_new(type, n);
    if (!a)
        return NULL;
    const char *from = view->buf;
    char *to = a->data;
    Py_BEGIN_ALLOW_THREADS switch (view->itemsize)
    {
    case 8:
        for (Py_ssize_t i = 0; i < n; ++i)
            memcpy(to + 8 * i, from + step * i, 8);
        break;
    case 4:
        for (Py_ssize_t i = 0; i < n; ++i)
            memcpy(to + 4 * i, from + step * i, 4);
        break;
    default:
        for (Py_ssize_t i = 0; i < n; ++i)
            memcpy(to + view->itemsize * i, from + step * i, (size_t)view->itemsize);
    }
    Py_END_ALLOW_THREADS return a;
}

array *from_buffer(PyObject *object, const char *argument)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO))
        return NULL;
    array *a = NULL;
    int type = type_of_format(view.format, view.itemsize);
    if (view.ndim != 1)
        PyErr_Format(PyExc_ValueError, "%s: has %d dimensions, and must have one", argument, view.ndim);
    else if (!type)
        PyErr_Format(PyExc_TypeError,
                     "%s: elements of the format '%s' are not supported: integers of 8 to 64 bits, float32, "
                     "float64 and bool are",
                     argument, view.format);
    else if ((view.shape[0] > 1 && view.strides && view.strides[0] != view.itemsize) ||
             (uintptr_t)view.buf % (uintptr_t)view.itemsize)
        a = copy_strided(&view, type);
    else if ((a = array_empty(type, view.shape[0]))) {
        a->data = view.buf;
        a->readonly = view.readonly;
        a->view = view;
        return a;
    }
    PyBuffer_Release(&view);
    return a;
}

/* ---- in: Arrow ----------------------------------------------------------------------------------------- */

/* Times are the integers that they are stored as. */
int type_of_arrow(const char *format)
{
    for (int t = 1; t < TYPES; ++t)
        if (!strcmp(format, type_arrow(t)))
            return t;
    if (!strcmp(format, "tdD") || !strcmp(format, "tts") || !strcmp(format, "ttm"))
        return COHORT_I32;
    return format[0] == 't' && strchr("dtsD", format[1]) && format[1] ? COHORT_I64 : 0;
}

static bool bit(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

/* Bits from .. from + n as a byte each. */
static void unpack(const uint8_t *bits, int64_t from, uint8_t *bytes, int64_t n)
{
    int64_t i = 0;
    PyThreadState *thread = let_go(n);
    for (; i < n && (from + i) % 8; ++i)
        bytes[i] = bit(bits, from + i);
    bits_to_bytes(bits + (from + i) / 8, bytes + i, (Py_ssize_t)(n - i));
    take_back(thread);
}

static void copy(void *to, const void *from, size_t bytes)
{
    PyThreadState *thread = let_go((int64_t)bytes);
    memcpy(to, from, bytes);
    take_back(thread);
}

int64_t arrow_nulls(const struct ArrowArray *from)
{
    const uint8_t *validity = from->n_buffers ? from->buffers[0] : NULL;
    int64_t nulls = from->null_count;
    if (!validity || nulls >= 0)
        return validity ? nulls : 0;
    nulls = 0;
    PyThreadState *thread = let_go(from->length);
    for (int64_t i = 0; i < from->length; ++i)
        nulls += !bit(validity, from->offset + i);
    take_back(thread);
    return nulls;
}

static int check_nulls(const struct ArrowArray *from, const char *argument)
{
    int64_t nulls = arrow_nulls(from);
    if (nulls)
        PyErr_Format(PyExc_ValueError, "%s: %lld of %lld rows are null: fill or drop them first", argument,
                     (long long)nulls, (long long)from->length);
    return nulls ? -1 : 0;
}

/* Takes `from` over, in success and in failure. */
array *from_arrow(struct ArrowArray *from, int type, const char *argument)
{
    array *a = NULL;
    if (check_nulls(from, argument))
        goto done;
    const char *data = from->n_buffers > 1 ? from->buffers[1] : NULL;
    size_t bytes = type_bytes(type);
    const char *first = data ? data + bytes * (size_t)from->offset : NULL;
    if (type == TYPE_BOOL || (uintptr_t)first % bytes || !first) {
        a = array_new(type, first ? (Py_ssize_t)from->length : 0);
        if (a && first && type == TYPE_BOOL)
            unpack((const uint8_t *)data, from->offset, a->data, from->length);
        else if (a && first)
            copy(a->data, first, bytes * (size_t)from->length);
    } else if ((a = array_empty(type, (Py_ssize_t)from->length))) {
        a->data = (void *)(uintptr_t)first;
        a->readonly = true;
        a->arrow = *from;
        from->release = NULL;
    }
done:
    if (from->release)
        from->release(from);
    return a;
}

int type_of_schema(struct ArrowSchema *schema, const char *argument)
{
    int type = schema->dictionary ? 0 : type_of_arrow(schema->format);
    if (!type)
        PyErr_Format(PyExc_TypeError,
                     "%s: an Arrow array of the format '%s'%s is not supported: integers, floats, booleans "
                     "and times are",
                     argument, schema->format, schema->dictionary ? " with a dictionary" : "");
    if (schema->release)
        schema->release(schema);
    return type;
}

static array *from_arrow_array(PyObject *pair, const char *argument)
{
    PyObject *schema = PyTuple_Check(pair) && PyTuple_Size(pair) == 2 ? PyTuple_GetItem(pair, 0) : NULL;
    struct ArrowSchema *s = schema ? PyCapsule_GetPointer(schema, "arrow_schema") : NULL;
    struct ArrowArray *from = s ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
    if (!from) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s: __arrow_c_array__ gave no pair of capsules", argument);
        return NULL;
    }
    int type = type_of_schema(s, argument);
    return type ? from_arrow(from, type, argument) : NULL; /* the capsule releases what is not taken */
}

/* ---- in: Arrow's device interface ---------------------------------------------------------------------- */

/* Booleans, a bit each, as bytes, by way of the host. `pair` has the memory. */
static PyObject *bits_of_gpu(context *on, const char *data, int64_t offset, int64_t n, PyObject *pair)
{
    Py_ssize_t bytes = data ? (Py_ssize_t)((offset % 8 + n + 7) / 8) : 0;
    array *bits =
        array_of_gpu(on, (void *)(uintptr_t)(data ? data + offset / 8 : NULL), bytes, COHORT_U8, true, pair);
    array *host = bits ? array_to_host(bits) : NULL,
          *flags = host ? array_new(TYPE_BOOL, data ? n : 0) : NULL;
    if (flags && flags->n)
        unpack(host->data, offset % 8, flags->data, flags->n);
    array *a = flags ? array_to_device(on, flags) : NULL;
    DROP(bits);
    DROP(host);
    DROP(flags);
    return (PyObject *)a;
}

static struct ArrowDeviceArray *device_array_of(PyObject *pair, struct ArrowSchema **schema)
{
    PyObject *first = PyTuple_Check(pair) && PyTuple_Size(pair) == 2 ? PyTuple_GetItem(pair, 0) : NULL;
    *schema = first ? PyCapsule_GetPointer(first, "arrow_schema") : NULL;
    if (*schema)
        return PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_device_array");
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "__arrow_c_device_array__ gave no pair of capsules");
    return NULL;
}

/* arrow_place(pair): (the kind of memory, which GPU's), as __dlpack_device__ has them. */
static PyObject *arrow_place(PyObject *module, PyObject *pair)
{
    (void)module;
    struct ArrowSchema *schema;
    struct ArrowDeviceArray *from = device_array_of(pair, &schema);
    return from ? Py_BuildValue("iL", (int)from->device_type, (long long)from->device_id) : NULL;
}

/* The context's work from now on comes after the event: an import of an array without rows has the library
 * wait. */
static bool wait_for(context *on, const struct ArrowDeviceArray *from)
{
    if (!from->sync_event)
        return true;
    const void *const buffers[2] = {NULL, NULL};
    struct ArrowSchema schema = arrow_schema_of("l", 0);
    struct ArrowDeviceArray none = {
        .device_id = from->device_id, .device_type = from->device_type, .sync_event = from->sync_event};
    if (!arrow_lend(&none.array, 0, 0, 2, buffers, NULL))
        return false;
    cohort_frame *frame = NULL;
    outcome o;
    call_begin(on, &o);
    o.status = cohort_frame_import_device(on->c, &schema, &none, &frame);
    cohort_frame_release(frame);
    bool done = call_end(on, &o);
    if (none.array.release)
        none.array.release(&none.array);
    return done;
}

/* arrow_device_in(pair, argument, context): an Array of memory of the context's GPU, or of the host's with
 * None. */
static PyObject *arrow_device_in(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    const char *argument = PyUnicode_AsUTF8AndSize(arguments[1], NULL);
    context *on = argument && arguments[2] != Py_None ? context_of(arguments[2]) : NULL;
    struct ArrowSchema *schema = NULL;
    struct ArrowDeviceArray *from = PyErr_Occurred() ? NULL : device_array_of(arguments[0], &schema);
    int type = from ? type_of_schema(schema, argument) : 0;
    if (!type)
        return NULL;
    if (!on)
        return (PyObject *)from_arrow(&from->array, type, argument);
    if (from->array.n_buffers > 1 && from->array.buffers[0] && from->array.null_count)
        return PyErr_Format(PyExc_ValueError,
                            "%s: has nulls, or does not say that it has none: fill or drop them first",
                            argument);
    if (!wait_for(on, from))
        return NULL;
    const char *data = from->array.n_buffers > 1 ? from->array.buffers[1] : NULL;
    int64_t n = from->array.length, offset = from->array.offset;
    size_t bytes = type_bytes(type);
    if (type == TYPE_BOOL)
        return bits_of_gpu(on, data, offset, n, arguments[0]);
    data += data ? bytes * (size_t)offset : 0;
    if ((uintptr_t)data % bytes)
        return PyErr_Format(PyExc_ValueError, "%s: is not aligned", argument);
    return (PyObject *)array_of_gpu(on, (void *)(uintptr_t)data, data ? (Py_ssize_t)n : 0, type, true,
                                    arguments[0]);
}

/* Puts the arrays of `chunks` one behind the other. */
array *join_chunks(PyObject *chunks, int type)
{
    Py_ssize_t n = 0, count = PyList_Size(chunks), at = 0;
    if (count == 1) {
        PyObject *only = PyList_GetItem(chunks, 0);
        return (array *)KEPT(only);
    }
    for (Py_ssize_t i = 0; i < count; ++i)
        n += ((array *)PyList_GetItem(chunks, i))->n;
    array *a = array_new(type, n);
    for (Py_ssize_t i = 0; a && i < count; ++i) {
        array *chunk = (array *)PyList_GetItem(chunks, i);
        size_t bytes = type_bytes(type) * (size_t)chunk->n;
        if (bytes)
            copy((char *)a->data + at, chunk->data, bytes);
        at += (Py_ssize_t)bytes;
    }
    return a;
}

array *stream_failed(struct ArrowArrayStream *stream, const char *argument)
{
    const char *why = stream->get_last_error(stream);
    PyErr_Format(PyExc_OSError, "%s: the stream reports: %s", argument,
                 why ? why : "an error without a text");
    return NULL;
}

/* view(object, argument): an Array of what the object holds. */
static PyObject *view(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    PyObject *object = arguments[0];
    if (is_array(object))
        return KEPT(object);
    const char *argument = PyUnicode_AsUTF8AndSize(arguments[1], NULL);
    if (!argument)
        return NULL;
    if (PyObject_CheckBuffer(object))
        return (PyObject *)from_buffer(object, argument);
    bool stream = !PyObject_HasAttrString(object, "__arrow_c_array__");
    PyObject *method = PyObject_GetAttrString(object, stream ? "__arrow_c_stream__" : "__arrow_c_array__");
    if (!method) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Format(
                PyExc_TypeError,
                "%s: %R has neither the buffer protocol nor __arrow_c_array__ nor __arrow_c_stream__",
                argument, Py_TYPE(object));
        return NULL;
    }
    PyObject *given = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    array *a = !given   ? NULL
               : stream ? from_arrow_stream(given, argument)
                        : from_arrow_array(given, argument);
    DROP(given);
    return (PyObject *)a;
}

/* The same in a GPU's memory, of `n` entries together. */
static array *join_on(context *on, PyObject *chunks, int type, Py_ssize_t n)
{
    Py_ssize_t count = PyList_Size(chunks);
    const array **from = malloc((size_t)(count ? count : 1) * sizeof(array *));
    array *all = from ? array_on(on, type, n) : (array *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; all && i < count; ++i)
        from[i] = (const array *)PyList_GetItem(chunks, i);
    if (all) {
        outcome o;
        char *to = all->data;
        call_begin(on, &o);
        o.wait = true;
        for (Py_ssize_t i = 0; i < count && o.status == COHORT_OK; ++i) {
            uint64_t bytes = (uint64_t)from[i]->n * type_bytes(type);
            if (bytes)
                o.status = cohort_copy(on->c, to, from[i]->data, bytes);
            to += bytes;
        }
        if (!call_end(on, &o))
            Py_CLEAR(all);
    }
    free(from);
    return all;
}

/* The arrays of a list in one type, as a new list; `name` is theirs in errors. Those of a GPU are of it. */
static PyObject *in_one_type(PyObject *list, int type, const char *name)
{
    Py_ssize_t n = PyList_Size(list);
    PyObject *all = PyList_New(n);
    for (Py_ssize_t i = 0; all && i < n; ++i) {
        array *a = array_of(PyList_GetItem(list, i), name), *one = NULL;
        if (a && a->on && a->type != type)
            PyErr_Format(PyExc_TypeError, "%s[%zd]: is of type %s, and must be of type %s", name, i,
                         type_name(a->type), type_name(type));
        else if (a)
            one = cast_to(a, type, name, i);
        if (!one || PyList_SetItem(all, i, (PyObject *)one))
            Py_CLEAR(all);
    }
    return all;
}

/* concat(list of Arrays, type, their name, context of their memory or None): (all one behind the other in
 * that type, where each begins and the last ends, as uint64), both in the memory of the context's GPU or in
 * the host's. */
static PyObject *concat(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 4)
    context *on = count > 3 && !Py_IsNone(arguments[3]) ? context_of(arguments[3]) : NULL;
    long type = PyLong_AsLong(arguments[1]);
    const char *name = PyUnicode_AsUTF8AndSize(arguments[2], NULL);
    if (PyErr_Occurred() || type < 1 || type >= TYPES || !PyList_Check(arguments[0]))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "a list and a type are due");
    PyObject *list = in_one_type(arguments[0], (int)type, name);
    Py_ssize_t n = list ? PyList_Size(list) : 0;
    array *offsets = list ? array_new(COHORT_U64, n + 1) : NULL;
    uint64_t at = 0, *to = DATA(offsets);
    for (Py_ssize_t i = 0; offsets && i < n; ++i) {
        to[i] = at;
        at += (uint64_t)((array *)PyList_GetItem(list, i))->n;
    }
    array *all = NULL, *where = NULL;
    if (offsets) {
        to[n] = at;
        all = on ? join_on(on, list, (int)type, (Py_ssize_t)at) : join_chunks(list, (int)type);
        where = all && on ? array_to_device(on, offsets) : (array *)KEPT(offsets);
    }
    PyObject *pair = all && where ? PyTuple_Pack(2, all, where) : NULL;
    DROP(all);
    DROP(where);
    DROP(offsets);
    DROP(list);
    return pair;
}

PyMethodDef array_in_functions[] = {FAST(view),
                                    FAST(concat),
                                    {"arrow_place", arrow_place, METH_O, NULL},
                                    FAST(arrow_device_in),
                                    {NULL, NULL, 0, NULL}};
