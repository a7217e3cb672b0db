/* table_pickle.c: a column as a tuple of bytes, and back: what is pickled. Slices are cut out, strings of any
 * layout become offsets of 64 bits with their bytes, chunks are one.
 *
 *     (format, flags, rows, nulls, validity or None, values, offsets or None, the same of a dictionary or
 *     None) */
#include "core.h"

#include <stdlib.h>

static size_t width_of(const char *format)
{
    int type = type_of_arrow(format);
    return *format == 'w'   ? (size_t)strtoul(format + 2, NULL, 10)
           : *format == 'd' ? 16
           : *format == 'e' ? 2
           : type           ? type_bytes(type)
                            : 0;
}

/* Bits from .. from + n, as bytes from the first bit on. */
static PyObject *cut_bits(const uint8_t *bits, int64_t from, int64_t n)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((n + 7) / 8));
    uint8_t *to = bytes ? (uint8_t *)PyBytes_AsString(bytes) : NULL;
    if (to)
        memset(to, 0, (size_t)((n + 7) / 8));
    for (int64_t i = 0; to && i < n; ++i)
        to[i >> 3] |= (uint8_t)((bits[(from + i) >> 3] >> ((from + i) & 7) & 1) << (i & 7));
    return bytes;
}

/* Where text i is. */
static const char *text_at(const char *format, const struct ArrowArray *a, int64_t i, int64_t *bytes)
{
    if (*format == 'v') {
        const char *view = (const char *)a->buffers[1] + 16 * i;
        int32_t head[4];
        memcpy(head, view, 16);
        *bytes = head[0];
        return *bytes <= 12 ? view + 4 : (const char *)a->buffers[2 + head[2]] + head[3];
    }
    bool small = *format == 'u' || *format == 'z';
    const int32_t *o32 = a->buffers[1];
    const int64_t *o64 = a->buffers[1];
    int64_t first = small ? o32[i] : o64[i];
    *bytes = (small ? o32[i + 1] : o64[i + 1]) - first;
    return (const char *)a->buffers[2] + first;
}

/* Offsets and bytes of all texts; those of null rows are empty. */
static bool cut_texts(const char *format, const struct ArrowArray *a, PyObject *out[2])
{
    const uint8_t *valid = a->buffers[0];
    int64_t total = 0, bytes = 0, n = a->length;
    out[1] = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(8 * (n + 1)));
    int64_t *offset = out[1] ? (int64_t *)(void *)PyBytes_AsString(out[1]) : NULL;
    for (int64_t i = 0; offset && i < n; ++i, total += bytes) {
        int64_t at = a->offset + i;
        bytes = 0;
        if (!valid || (valid[at >> 3] >> (at & 7) & 1))
            text_at(format, a, at, &bytes);
        memcpy(&offset[i], &total, 8);
    }
    if (offset)
        memcpy(&offset[n], &total, 8);
    out[0] = offset ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total) : NULL;
    char *to = out[0] ? PyBytes_AsString(out[0]) : NULL;
    for (int64_t i = 0; to && i < n; ++i) {
        int64_t first, last;
        memcpy(&first, &offset[i], 8);
        memcpy(&last, &offset[i + 1], 8);
        if (first < last)
            memcpy(to + first, text_at(format, a, a->offset + i, &bytes), (size_t)(last - first));
    }
    return to;
}

static PyObject *parts_of(const struct ArrowSchema *s, const struct ArrowArray *a)
{
    const char *format = s->format;
    PyObject *values[2] = {NULL, NULL}, *valid = NULL, *dictionary = NULL;
    bool texts = strchr("uUzZv", *format) != NULL;
    size_t width = width_of(format);
    if (texts) {
        cut_texts(format, a, values);
    } else if (*format == 'b') {
        values[0] = cut_bits(a->buffers[1], a->offset, a->length);
    } else if (width) {
        const char *data = a->buffers[1];
        values[0] = PyBytes_FromStringAndSize(data ? data + width * (size_t)a->offset : NULL,
                                              (Py_ssize_t)(width * (size_t)a->length));
    } else {
        PyErr_Format(PyExc_NotImplementedError, "a column of the format '%s' cannot be pickled", format);
    }
    bool nulls = a->n_buffers && a->buffers[0] && a->null_count;
    if (values[0])
        valid = nulls ? cut_bits(a->buffers[0], a->offset, a->length) : Py_NewRef(Py_None);
    if (valid)
        dictionary = s->dictionary ? parts_of(s->dictionary, a->dictionary) : Py_NewRef(Py_None);
    PyObject *parts = NULL;
    bool blobs = texts && format[strlen(format) - 1] != 'u' && *format != 'U';
    if (dictionary)
        parts = Py_BuildValue("sLLLOOOO",
                              !texts  ? format
                              : blobs ? "Z"
                                      : "U",
                              (long long)s->flags, (long long)a->length, (long long)a->null_count, valid,
                              values[0], values[1] ? values[1] : Py_None, dictionary);
    DROP(values[0]);
    DROP(values[1]);
    DROP(valid);
    DROP(dictionary);
    return parts;
}

/* frame_parts(frame of one column): the tuple. */
static PyObject *frame_parts(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = frame_of(object);
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (!h || !export_frame(h, true, &schema, &array))
        return NULL;
    PyObject *parts = parts_of(&schema, &array);
    schema.release(&schema);
    array.release(&array);
    return parts;
}

/* ---- back ---------------------------------------------------------------------------------------------- */

/* A dictionary, which a capsule has. */
struct rebuilt {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static void drop_rebuilt(PyObject *capsule)
{
    struct rebuilt *r = PyCapsule_GetPointer(capsule, NULL);
    if (r->array.release)
        r->array.release(&r->array);
    free(r);
}

/* The bytes of an object, at least `least` of them; NULL if it is not so. */
static const void *bytes_of(PyObject *object, uint64_t least)
{
    if (!PyBytes_Check(object) || (uint64_t)PyBytes_Size(object) < least)
        return NULL;
    return PyBytes_AsString(object);
}

static bool rebuild(PyObject *parts, struct ArrowSchema *schema, struct ArrowArray *array);

/* A capsule with the dictionary, *out: a new reference. */
static PyObject *rebuild_dictionary(PyObject *parts, struct rebuilt **out)
{
    struct rebuilt *r = *out = calloc(1, sizeof *r);
    if (!r)
        return PyErr_NoMemory();
    PyObject *capsule = rebuild(parts, &r->schema, &r->array) ? PyCapsule_New(r, NULL, drop_rebuilt) : NULL;
    if (capsule)
        return capsule;
    if (r->array.release)
        r->array.release(&r->array);
    free(r);
    return NULL;
}

/* A column over the bytes of its parts, which the array holds on to. */
static bool rebuild(PyObject *parts, struct ArrowSchema *schema, struct ArrowArray *array)
{
    const char *format;
    long long flags, rows, nulls;
    PyObject *valid, *values, *offsets, *dictionary;
    if (!PyTuple_Check(parts)) {
        PyErr_SetString(PyExc_ValueError, "the parts are not those of a column");
        return false;
    }
    if (!PyArg_ParseTuple(parts, "sLLLOOOO", &format, &flags, &rows, &nulls, &valid, &values, &offsets,
                          &dictionary))
        return false;
    bool texts = *format == 'U' || *format == 'Z', bits = *format == 'b';
    uint64_t n = (uint64_t)rows, width = width_of(format);
    bool good = rows >= 0 && n < 1ull << 48 && (texts || bits || (width && width <= INT64_MAX / (n + 1)));
    const int64_t *offset = good && texts ? bytes_of(offsets, 8 * (n + 1)) : NULL;
    if (good && texts)
        good = offset && offset[n] >= 0;
    uint64_t least = !good ? 0 : texts ? (uint64_t)offset[n] : bits ? (n + 7) / 8 : n * width;
    const void *data = good ? bytes_of(values, least) : NULL;
    const void *valid_bits = good && valid != Py_None ? bytes_of(valid, (n + 7) / 8) : NULL;
    if (!data || (valid != Py_None && !valid_bits)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the parts are not those of a column");
        return false;
    }
    struct rebuilt *d = NULL;
    PyObject *capsule = dictionary == Py_None ? KEPT(Py_None) : rebuild_dictionary(dictionary, &d);
    PyObject *owner = capsule ? PyTuple_Pack(2, parts, capsule) : NULL;
    const void *buffers[ARROW_BUFFERS] = {valid_bits, texts ? (const void *)offset : data, data};
    good = owner && arrow_lend(array, rows, nulls, texts ? 3 : 2, buffers, owner);
    DROP(capsule);
    DROP(owner);
    if (!good)
        return false;
    *schema = arrow_schema_of(format, flags);
    schema->dictionary = d ? &d->schema : NULL;
    array->dictionary = d ? &d->array : NULL;
    return true;
}

/* frame_of_parts(context, tuple) */
static PyObject *frame_of_parts(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    context *on = context_of(arguments[0]);
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (!on || !rebuild(arguments[1], &schema, &array))
        return NULL;
    handle *h = frame_new(on);
    if (h) {
        outcome o;
        call_begin(on, &o);
        o.status = cohort_frame_import(on->c, &schema, &array, (cohort_frame **)&h->object);
        if (!call_end(on, &o))
            Py_CLEAR(h);
    }
    if (schema.release)
        schema.release(&schema);
    if (array.release)
        array.release(&array);
    return (PyObject *)h;
}

PyMethodDef table_pickle_functions[] = {
    {"frame_parts", frame_parts, METH_O, NULL}, FAST(frame_of_parts), {NULL, NULL, 0, NULL}};
