/* table_in.c: how frames come in: any object with Arrow's protocols, and lists of strings, numbers and None.
 *
 * A stream of the producer's is read to its end first, without the context's lock, since its functions may be
 * Python's; then the library gets a stream of what was read. What is plain numbers without nulls becomes an
 * Array instead, unless a frame is asked for. */
#include "core.h"

#include <errno.h>
#include <stdlib.h>

/* ---- arrays read, and a stream of them ----------------------------------------------------------------- */

typedef struct chunks {
    struct ArrowSchema schema;
    struct ArrowArray *array; /* `only`, or a block of its own */
    size_t count, room, next;
    struct ArrowArray only;
} chunks;

static void chunks_free(chunks *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; ++i)
        if (c->array[i].release)
            c->array[i].release(&c->array[i]);
    if (c->schema.release)
        c->schema.release(&c->schema);
    if (c->array != &c->only)
        free(c->array);
    free(c);
}

/* Room for one more array, released at first. */
static struct ArrowArray *chunks_more(chunks *c)
{
    if (!c->room) {
        c->array = &c->only;
        c->room = 1;
    } else if (c->count == c->room) {
        const size_t room = 4 * c->room;
        struct ArrowArray *own = c->array == &c->only ? NULL : c->array,
                          *array = realloc(own, room * sizeof *array);
        if (!array)
            return NULL;
        if (!own)
            *array = c->only;
        c->array = array;
        c->room = room;
    }
    memset(&c->array[c->count], 0, sizeof c->array[0]);
    return &c->array[c->count];
}

static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    chunks *c = stream->private_data;
    if (!c->schema.release)
        return EINVAL; /* given already */
    *out = c->schema;
    c->schema.release = NULL;
    return 0;
}
static int give_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    chunks *c = stream->private_data;
    memset(out, 0, sizeof *out);
    if (c->next < c->count) {
        *out = c->array[c->next];
        c->array[c->next++].release = NULL;
    }
    return 0;
}
static const char *give_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the schema was given already";
}
static void give_end(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
    chunks_free(stream->private_data);
}

/* Takes the chunks over. */
static PyObject *frame_of_chunks(context *on, chunks *c)
{
    handle *h = frame_new(on);
    if (!h) {
        chunks_free(c);
        return NULL;
    }
    struct ArrowArrayStream stream = {give_schema, give_next, give_error, give_end, c};
    outcome o;
    call_begin(on, &o);
    o.status = cohort_frame_import_stream(on->c, &stream, (cohort_frame **)&h->object);
    if (!call_end(on, &o))
        Py_CLEAR(h);
    return (PyObject *)h;
}

/* ---- from other libraries ------------------------------------------------------------------------------ */

static chunks *read_pair(PyObject *pair, const char *argument)
{
    PyObject *first = PyTuple_Check(pair) && PyTuple_Size(pair) == 2 ? PyTuple_GetItem(pair, 0) : NULL;
    struct ArrowSchema *schema = first ? PyCapsule_GetPointer(first, "arrow_schema") : NULL;
    struct ArrowArray *array = schema ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
    if (!array || !array->release || !schema->release) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError,
                         "%s: __arrow_c_array__ gave no pair of capsules that hold something", argument);
        return NULL;
    }
    chunks *c = calloc(1, sizeof *c);
    struct ArrowArray *to = c ? chunks_more(c) : NULL;
    if (!to) {
        free(c);
        PyErr_NoMemory();
        return NULL;
    }
    c->schema = *schema;
    *to = *array;
    c->count = 1;
    schema->release = NULL;
    array->release = NULL;
    return c;
}

/* 0, -1 without memory, 1 where the stream reports an error. Where `numbers` are due, and the schema is of
 * something else, nothing more is read. */
static int read_all(struct ArrowArrayStream *stream, bool numbers, chunks *c)
{
    if (stream->get_schema(stream, &c->schema))
        return 1;
    if (numbers && (c->schema.dictionary || !type_of_arrow(c->schema.format)))
        return 0;
    for (;;) {
        struct ArrowArray *to = chunks_more(c);
        if (!to)
            return -1;
        if (stream->get_next(stream, to))
            return 1;
        if (!to->release)
            return 0;
        c->count++;
    }
}

/* The producer is called without Python's lock; one that is Python takes it by itself. */
static chunks *read_stream(PyObject *capsule, bool numbers, const char *argument)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (!stream)
        return NULL;
    if (!stream->release) {
        PyErr_Format(PyExc_ValueError, "%s: the stream was read already", argument);
        return NULL;
    }
    chunks *c = calloc(1, sizeof *c);
    int bad = -1;
    Py_BEGIN_ALLOW_THREADS if (c) bad = read_all(stream, numbers, c);
    Py_END_ALLOW_THREADS if (!bad) return c;
    if (bad < 0)
        PyErr_NoMemory();
    else
        stream_failed(stream, argument);
    chunks_free(c);
    return NULL;
}

static chunks *read_object(PyObject *object, const char *argument)
{
    bool stream = !PyObject_HasAttrString(object, "__arrow_c_array__");
    PyObject *method = PyObject_GetAttrString(object, stream ? "__arrow_c_stream__" : "__arrow_c_array__");
    if (!method) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Format(PyExc_TypeError, "%s: %R has neither __arrow_c_array__ nor __arrow_c_stream__",
                         argument, Py_TYPE(object));
        return NULL;
    }
    PyObject *given = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    chunks *c = !given ? NULL : stream ? read_stream(given, false, argument) : read_pair(given, argument);
    DROP(given);
    return c;
}

/* The type of the chunks as numbers without nulls; 0: they are something else, such as times. */
static int flat_type(const chunks *c)
{
    bool number = !c->schema.dictionary && c->schema.format[0] != 't';
    int type = number ? type_of_arrow(c->schema.format) : 0;
    for (size_t i = 0; type && i < c->count; ++i)
        if (arrow_nulls(&c->array[i]))
            type = 0;
    return type;
}

/* Releases the chunks. */
static PyObject *array_of_chunks(chunks *c, int type, const char *argument)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < c->count; ++i) {
        array *a = from_arrow(&c->array[i], type, argument);
        c->array[i].release = NULL; /* taken over */
        if (!a || PyList_Append(list, (PyObject *)a))
            Py_CLEAR(list);
        DROP(a);
    }
    array *all = list ? join_chunks(list, type) : NULL;
    DROP(list);
    chunks_free(c);
    return (PyObject *)all;
}

array *from_arrow_stream(PyObject *capsule, const char *argument)
{
    chunks *c = read_stream(capsule, true, argument);
    int type = c ? type_of_schema(&c->schema, argument) : 0;
    if (!type)
        chunks_free(c);
    return type ? (array *)array_of_chunks(c, type, argument) : NULL;
}

/* frame_in(context, object, argument, whole): a frame; unless `whole`, an Array where that can be. */
static PyObject *frame_in(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    context *on = context_of(arguments[0]);
    const char *argument = on ? PyUnicode_AsUTF8AndSize(arguments[2], NULL) : NULL;
    int whole = PyObject_IsTrue(arguments[3]);
    chunks *c = argument ? read_object(arguments[1], argument) : NULL;
    if (!c)
        return NULL;
    int type = whole ? 0 : flat_type(c);
    return type ? array_of_chunks(c, type, argument) : frame_of_chunks(on, c);
}

/* frame_chain(context, list of objects): the rows of the second behind those of the first, and so on; the
 * schema is the first one's. */
static PyObject *frame_chain(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    context *on = context_of(arguments[0]);
    if (!on || !PyList_Check(arguments[1]))
        return on ? PyErr_Format(PyExc_TypeError, "a list is due") : NULL;
    chunks *all = NULL;
    for (Py_ssize_t i = 0; i < PyList_Size(arguments[1]); ++i) {
        chunks *c = read_object(PyList_GetItem(arguments[1], i), "parts");
        if (c && !all) {
            all = c;
            continue;
        }
        for (size_t j = 0; c && j < c->count; ++j) {
            struct ArrowArray *to = chunks_more(all);
            if (!to) {
                chunks_free(c);
                c = NULL;
                PyErr_NoMemory();
                break;
            }
            *to = c->array[j];
            c->array[j].release = NULL;
            all->count++;
        }
        if (!c) {
            chunks_free(all);
            return NULL;
        }
        chunks_free(c);
    }
    return all ? frame_of_chunks(on, all) : PyErr_Format(PyExc_ValueError, "parts: there are none");
}

/* ---- from lists ---------------------------------------------------------------------------------------- */

/* What an array made of a list has. */
struct made {
    void *buffer[3];
    const void *pointer[3];
};

static void release_made(struct ArrowArray *array)
{
    struct made *m = array->private_data;
    array->release = NULL;
    for (int i = 0; i < 3; ++i)
        free(m->buffer[i]);
    free(m);
}

/* The format for the elements of a list, or NULL with the exception set. */
static const char *format_of_list(PyObject *list, const char *argument)
{
    enum { BOOLS = 1, INTEGERS = 2, FLOATS = 4, TEXTS = 8, BLOBS = 16, LARGE = 32 };
    int seen = 0;
    for (Py_ssize_t i = 0, n = PyList_Size(list); i < n; ++i) {
        PyObject *x = PyList_GetItem(list, i);
        int overflow = 0;
        if (x == Py_None)
            continue;
        if (PyUnicode_Check(x))
            seen |= TEXTS;
        else if (PyBytes_Check(x))
            seen |= BLOBS;
        else if (PyBool_Check(x))
            seen |= BOOLS;
        else if (PyFloat_Check(x))
            seen |= FLOATS;
        else if (PyLong_Check(x)) {
            PyLong_AsLongLongAndOverflow(x, &overflow);
            seen |= INTEGERS | (overflow ? LARGE : 0);
        } else {
            PyErr_Format(PyExc_TypeError, "%s[%zd]: %R is neither a number nor a string, bytes or None",
                         argument, i, Py_TYPE(x));
            return NULL;
        }
    }
    switch (seen) {
    case BOOLS:
        return "b";
    case 0:
    case INTEGERS:
    case INTEGERS | BOOLS:
        return "l";
    case INTEGERS | LARGE:
        return "L";
    case FLOATS:
    case FLOATS | INTEGERS:
    case FLOATS | INTEGERS | LARGE:
        return "g";
    case TEXTS:
        return "U";
    case BLOBS:
        return "Z";
    default:
        PyErr_Format(PyExc_TypeError, "%s: the list mixes types", argument);
        return NULL;
    }
}

/* Bytes of a string or of bytes; NULL with the exception set. */
static const char *text_of(PyObject *x, Py_ssize_t *n)
{
    char *bytes;
    if (PyUnicode_Check(x))
        return PyUnicode_AsUTF8AndSize(x, n);
    return PyBytes_AsStringAndSize(x, &bytes, n) ? NULL : bytes;
}

/* Offsets, then bytes. */
static bool put_texts(PyObject *list, Py_ssize_t n, struct made *m)
{
    int64_t *offset = m->buffer[1] = malloc(((size_t)n + 1) * 8);
    int64_t total = 0;
    for (Py_ssize_t i = 0; offset && i < n; ++i) {
        PyObject *x = PyList_GetItem(list, i);
        Py_ssize_t bytes = 0;
        offset[i] = total;
        if (x != Py_None && !text_of(x, &bytes))
            return false;
        total += bytes;
    }
    char *to = m->buffer[2] = malloc((size_t)total + 1);
    if (!to || !offset)
        return PyErr_NoMemory() != NULL;
    offset[n] = total;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *x = PyList_GetItem(list, i);
        Py_ssize_t bytes;
        if (x != Py_None)
            memcpy(to + offset[i], text_of(x, &bytes), (size_t)(offset[i + 1] - offset[i]));
    }
    return true;
}

static bool put_numbers(PyObject *list, Py_ssize_t n, struct made *m, char format)
{
    uint64_t *to = m->buffer[1] = calloc((size_t)n + 1, 8);
    if (!to)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *x = PyList_GetItem(list, i);
        double real;
        if (x == Py_None)
            continue;
        switch (format) {
        case 'b':
            ((uint8_t *)to)[i >> 3] |= (uint8_t)((x == Py_True) << (i & 7));
            break;
        case 'g':
            real = PyFloat_AsDouble(x);
            memcpy(&to[i], &real, 8);
            break;
        case 'L':
            to[i] = PyLong_AsUnsignedLongLong(x);
            break;
        default:
            to[i] = (uint64_t)PyLong_AsLongLong(x);
        }
    }
    return !PyErr_Occurred();
}

/* frame_of_list(context, list, argument): a column of strings, bytes or numbers, None is null. */
static PyObject *frame_of_list(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = context_of(arguments[0]);
    const char *argument = on ? PyUnicode_AsUTF8AndSize(arguments[2], NULL) : NULL;
    PyObject *list = arguments[1];
    if (!argument || !PyList_Check(list))
        return argument ? PyErr_Format(PyExc_TypeError, "%s: a list is due", argument) : NULL;
    const char *format = format_of_list(list, argument);
    Py_ssize_t n = PyList_Size(list);
    chunks *c = format ? calloc(1, sizeof *c) : NULL;
    struct made *m = c ? calloc(1, sizeof *m) : NULL;
    uint8_t *valid = m ? calloc((size_t)n / 8 + 1, 1) : NULL;
    struct ArrowArray *to = valid ? chunks_more(c) : NULL;
    if (!to) {
        free(valid);
        free(m);
        free(c);
        return format ? PyErr_NoMemory() : NULL;
    }
    m->buffer[0] = valid;
    c->count = 1;
    c->schema = arrow_schema_of(format, ARROW_FLAG_NULLABLE);
    to->length = n;
    to->private_data = m;
    to->release = release_made;
    to->buffers = m->pointer;
    bool texts = *format == 'U' || *format == 'Z';
    to->n_buffers = texts ? 3 : 2;
    bool done = texts ? put_texts(list, n, m) : put_numbers(list, n, m, *format);
    for (Py_ssize_t i = 0; i < n; ++i) {
        bool there = PyList_GetItem(list, i) != Py_None;
        valid[i >> 3] |= (uint8_t)(there << (i & 7));
        to->null_count += !there;
    }
    for (int i = 0; i < 3; ++i)
        m->pointer[i] = m->buffer[i];
    if (!done) {
        chunks_free(c);
        return NULL;
    }
    return frame_of_chunks(on, c);
}

PyMethodDef table_in_functions[] = {
    FAST(frame_in), FAST(frame_chain), FAST(frame_of_list), {NULL, NULL, 0, NULL}};
