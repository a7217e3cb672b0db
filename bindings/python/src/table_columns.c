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

/* The numbers of a frame of one column, without nulls and in one chunk, as the type. */
static array *column_as(handle *h, int type)
{
    struct ArrowSchema schema;
    struct ArrowArray values;
    if (!export_frame(h, true, &schema, &values))
        return NULL;
    schema.release(&schema);
    return from_arrow(&values, type, "column");
}

/* What is counted of a frame: the keys, and the column of counts. */
static cohort_status count_values(handle *h, bool sorted, handle *keys, handle *counts, bool *plain)
{
    enum { FEW = 32 };
    const uint32_t n = cohort_frame_columns(h->object);
    uint32_t few[FEW], *all = n <= FEW ? few : malloc(n * sizeof *all);
    cohort_frame *both = NULL;
    *plain = !all;
    for (uint32_t i = 0; all && i < n; ++i)
        all[i] = i;
    cohort_status s =
        all ? cohort_value_counts(h->object, sorted ? COHORT_SORTED : 0, &both) : COHORT_NO_MEMORY;
    if (!s)
        s = cohort_frame_select(both, n, all, NULL, (cohort_frame **)&keys->object);
    if (!s)
        s = cohort_frame_select(both, 1, &n, NULL, (cohort_frame **)&counts->object);
    cohort_frame_release(both);
    if (all != few)
        free(all);
    return s;
}

/* frame_value_counts(frame, sorted): (frame of the keys, how often each is there as int64). */
static PyObject *frame_value_counts(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]), *keys = h ? frame_new(h->on) : NULL,
           *counts = keys ? frame_new(h->on) : NULL;
    array *many = NULL;
    bool sorted = PyObject_IsTrue(arguments[1]);
    if (counts) {
        outcome o;
        call_begin(h->on, &o);
        o.status = count_values(h, sorted, keys, counts, &o.plain);
        if (call_end(h->on, &o))
            many = column_as(counts, COHORT_I64);
    }
    PyObject *pair = many ? PyTuple_Pack(2, keys, many) : NULL;
    DROP(keys);
    DROP(counts);
    DROP(many);
    return pair;
}

/* frame_column(frame, type): the numbers of a frame of one column, without nulls, as an Array. */
static PyObject *frame_column(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]);
    long type = h ? PyLong_AsLong(arguments[1]) : 0;
    return h && !PyErr_Occurred() ? (PyObject *)column_as(h, (int)type) : NULL;
}

PyMethodDef table_columns_functions[] = {
    FAST(frame_of_columns), FAST(frame_value_counts), FAST(frame_column), {NULL, NULL, 0, NULL}};
