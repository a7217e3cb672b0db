/* table_columns.c: one frame of columns, each an Array or a frame of one column; and a column as an Array. */
#include "core.h"

#include <stdlib.h>

/* What a column is made of: an Array, of the host or of the context's GPU, that Arrow's structs lend; or a
 * frame. */
struct column {
    const char *name;
    handle *frame; /* NULL: */
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
};

static void columns_free(struct column *c, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; c && i < n; ++i)
        if (c[i].array.array.release)
            c[i].array.array.release(&c[i].array.array);
    free(c);
}

/* A column of a name and a value, which has as many rows as the columns before. */
static bool column_of(context *on, struct column *c, PyObject *name, PyObject *value, Py_ssize_t *rows)
{
    Py_ssize_t n;
    c->name = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!c->name)
        return false;
    if (is_array(value)) {
        array *a = (array *)value;
        n = a->n;
        c->schema = arrow_schema_of(type_arrow(a->type), 0);
        c->array.device_type = a->on ? ARROW_DEVICE_CUDA : ARROW_DEVICE_CPU;
        c->array.device_id = a->on ? a->on->ordinal : -1;
        if (a->on && a->on->ordinal != on->ordinal && in_gpu(a, "libcohort.to_host(a)"))
            return false;
        if (!settled(a) || !array_lend(a, &c->array.array))
            return false;
    } else {
        c->frame = frame_of(value);
        if (!c->frame)
            return false;
        if (cohort_frame_columns(c->frame->object) != 1)
            return PyErr_Format(PyExc_TypeError, "%U: one column is due", name) != NULL;
        n = (Py_ssize_t)cohort_frame_rows(c->frame->object);
    }
    if (*rows >= 0 && n != *rows)
        return PyErr_Format(PyExc_ValueError, "%U: has %zd rows, and those before it have %zd", name, n,
                            *rows) != NULL;
    *rows = n;
    return true;
}

/* The columns before, which end here, and this one. */
static cohort_status beside(context *on, struct column *c, cohort_frame **out)
{
    static const uint32_t first = 0;
    cohort_frame *before = *out, *given = NULL, *named = NULL;
    cohort_status s = COHORT_OK;
    if (!c->frame && c->array.device_type == ARROW_DEVICE_CPU)
        s = cohort_frame_import(on->c, &c->schema, &c->array.array, &given);
    else if (!c->frame)
        s = cohort_frame_import_device(on->c, &c->schema, &c->array, &given);
    if (!s)
        s = cohort_frame_select(c->frame ? c->frame->object : given, 1, &first, &c->name, &named);
    cohort_frame_release(given);
    *out = named;
    if (!s && before) {
        *out = NULL;
        s = cohort_frame_beside(before, named, "", out);
        cohort_frame_release(named);
    }
    cohort_frame_release(before);
    return s;
}

/* frame_of_columns(context, names, values): lists of strings, and of Arrays and frames of one column, which
 * are of this context. */
static PyObject *frame_of_columns(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = context_of(arguments[0]);
    if (!on || !PyList_Check(arguments[1]) || !PyList_Check(arguments[2]) ||
        PyList_Size(arguments[1]) != PyList_Size(arguments[2]))
        return on ? PyErr_Format(PyExc_TypeError, "two lists of one length are due") : NULL;
    Py_ssize_t n = PyList_Size(arguments[1]), rows = -1;
    struct column *c = calloc((size_t)n + 1, sizeof *c);
    handle *out = c ? frame_new(on) : (handle *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; out && i < n; ++i)
        if (!column_of(on, &c[i], PyList_GetItem(arguments[1], i), PyList_GetItem(arguments[2], i), &rows))
            Py_CLEAR(out);
    if (out) {
        outcome o;
        call_begin(on, &o);
        for (Py_ssize_t i = 0; i < n && o.status == COHORT_OK; ++i)
            o.status = beside(on, &c[i], (cohort_frame **)&out->object);
        out = (handle *)frame_answered(out, &o);
    }
    columns_free(c, n);
    return (PyObject *)out;
}

/* One column of numbers, without nulls and in one chunk, as the type. */
static array *column_as(handle *h, uint32_t column, int type)
{
    handle *one = frame_new(h->on);
    if (!one)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_frame_select(h->object, 1, &column, NULL, (cohort_frame **)&one->object);
    array *a = NULL;
    struct ArrowSchema schema;
    struct ArrowArray values;
    if (frame_answered(one, &o)) {
        if (export_frame(one, true, &schema, &values)) {
            schema.release(&schema);
            a = from_arrow(&values, type, "column");
        }
        Py_DECREF(one);
    }
    return a;
}

/* counts_apart(frame): what the library counted: (frame of the keys, Array of the last column as int64). */
static PyObject *counts_apart(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = frame_of(object), *keys = h ? frame_new(h->on) : NULL;
    if (!keys)
        return NULL;
    uint32_t n = cohort_frame_columns(h->object) - 1, *all = malloc((n + 1) * sizeof *all);
    for (uint32_t i = 0; all && i < n; ++i)
        all[i] = i;
    outcome o;
    call_begin(h->on, &o);
    o.plain = !all;
    o.status =
        all ? cohort_frame_select(h->object, n, all, NULL, (cohort_frame **)&keys->object) : COHORT_NO_MEMORY;
    keys = (handle *)frame_answered(keys, &o);
    free(all);
    array *counts = keys ? column_as(h, n, COHORT_I64) : NULL;
    PyObject *pair = counts ? PyTuple_Pack(2, keys, counts) : NULL;
    DROP(keys);
    DROP(counts);
    return pair;
}

/* frame_column(frame, type): the numbers of a frame of one column, without nulls, as an Array. */
static PyObject *frame_column(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]);
    long type = h ? PyLong_AsLong(arguments[1]) : 0;
    return h && !PyErr_Occurred() ? (PyObject *)column_as(h, 0, (int)type) : NULL;
}

PyMethodDef table_columns_functions[] = {FAST(frame_of_columns),
                                         {"counts_apart", counts_apart, METH_O, NULL},
                                         FAST(frame_column),
                                         {NULL, NULL, 0, NULL}};
