/* table.c: the calls of cohort/table.h, keys.h and group.h on frames: handles of the kind "frame".
 * Where a call takes several frames they are of one context; the Python files see to it. */
#include "core.h"

#include <stdlib.h>

static void frame_destroy(void *frame)
{
    cohort_frame_release(frame);
}

handle *frame_of(PyObject *object)
{
    return handle_of(object, "frame");
}

handle *frame_new(context *on)
{
    handle *h = handle_new(on, "frame", frame_destroy);
    if (h)
        h->unlocked = true;
    return h;
}

PyObject *frame_answered(handle *h, outcome *o)
{
    context *on = h->on;
    if (!call_end(on, o))
        Py_CLEAR(h);
    return (PyObject *)h;
}

/* frame_shape(frame): (rows, columns). */
static PyObject *frame_shape(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = frame_of(object);
    return h ? Py_BuildValue("KI", cohort_frame_rows(h->object), cohort_frame_columns(h->object)) : NULL;
}

/* frame_info(frame): (rows, [(name, format, nulls, bytes of a dictionary's index or 0, chunks)]). */
static PyObject *frame_info(PyObject *module, PyObject *object)
{
    (void)module;
    enum { FEW = 8 };
    handle *h = frame_of(object);
    if (!h)
        return NULL;
    uint32_t columns = cohort_frame_columns(h->object);
    cohort_column_info few[FEW], *c = columns <= FEW ? few : malloc(columns * sizeof *c);
    PyObject *list = c ? PyList_New((Py_ssize_t)columns) : PyErr_NoMemory();
    outcome o;
    if (list) {
        call_begin(h->on, &o);
        for (uint32_t i = 0; i < columns && o.status == COHORT_OK; ++i) {
            c[i] = (cohort_column_info)COHORT_COLUMN_INFO_INIT;
            o.status = cohort_frame_get_column(h->object, i, &c[i]);
        }
        if (!call_end(h->on, &o))
            Py_CLEAR(list);
    }
    for (uint32_t i = 0; list && i < columns; ++i) {
        PyObject *about = Py_BuildValue("ssKIK", c[i].name, c[i].format, c[i].nulls,
                                        c[i].dictionary ? c[i].index_bytes : 0, c[i].chunks);
        if (!about || PyList_SetItem(list, (Py_ssize_t)i, about))
            Py_CLEAR(list);
    }
    if (c != few)
        free(c);
    return list ? Py_BuildValue("KN", cohort_frame_rows(h->object), list) : NULL;
}

/* frame_misses(frame): whether some row may be null or NaN. */
static PyObject *frame_misses(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = frame_of(object);
    if (!h)
        return NULL;
    bool misses = false;
    outcome o;
    call_begin(h->on, &o);
    for (uint32_t i = 0; i < cohort_frame_columns(h->object) && !o.status && !misses; ++i) {
        cohort_column_info c = COHORT_COLUMN_INFO_INIT;
        o.status = cohort_frame_get_column(h->object, i, &c);
        misses = !o.status && (c.nulls || c.dictionary || strchr("efg", *c.format));
    }
    return call_end(h->on, &o) ? PyBool_FromLong(misses) : NULL;
}

/* The strings of a list, which lives as long as they are used; *failed if one is no string. */
static const char **names_of(PyObject *list, bool *failed)
{
    Py_ssize_t n = PyList_Size(list);
    const char **names = n < 0 ? NULL : malloc(((size_t)n + 1) * sizeof *names);
    for (Py_ssize_t i = 0; names && i < n; ++i)
        *failed |= !(names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL));
    if (!names && !PyErr_Occurred())
        PyErr_NoMemory();
    *failed |= !names;
    return names;
}

const char *name_of(PyObject *name, bool *none)
{
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (text && strlen(text) == (size_t)length)
        return text;
    PyErr_Clear();
    *none = true;
    return "";
}

cohort_status place_of(cohort_frame *frame, const char *name, uint32_t *at, bool *none)
{
    cohort_status s = cohort_frame_find(frame, name, at);
    *none |= s == COHORT_RANGE;
    return s == COHORT_RANGE ? COHORT_OK : s;
}

/* frame_select(frame, columns, names): columns of these numbers, under these names. */
static PyObject *frame_select(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *h = frame_of(arguments[0]), *out = NULL;
    bool failed = !h;
    const char **names = h ? names_of(arguments[2], &failed) : NULL;
    Py_ssize_t n = failed ? 0 : PyList_Size(arguments[1]);
    uint32_t *columns = failed ? NULL : malloc(((size_t)n + 1) * sizeof *columns);
    for (Py_ssize_t i = 0; columns && i < n; ++i)
        columns[i] = (uint32_t)PyLong_AsUnsignedLong(PyList_GetItem(arguments[1], i));
    if (columns && !PyErr_Occurred() && n == PyList_Size(arguments[2]) && (out = frame_new(h->on))) {
        outcome o;
        call_begin(h->on, &o);
        o.status = cohort_frame_select(h->object, (uint32_t)n, columns, names, (cohort_frame **)&out->object);
        out = (handle *)frame_answered(out, &o);
    } else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "names: as many as columns are due");
    free(columns);
    free(names);
    return (PyObject *)out;
}

/* frame_here(frame): the frame as one of the thread's context, so that threads that read it do not wait for
 * each other, if both are a CPU's; else as it is. */
static PyObject *frame_here(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = frame_of(object);
    context *on = h ? current_context() : NULL;
    if (!on)
        return NULL;
    if (on == h->on || on->ordinal >= 0 || h->on->ordinal >= 0) {
        Py_DECREF(on);
        return KEPT(object);
    }
    handle *out = frame_new(on);
    if (out) {
        outcome o;
        call_begin(on, &o);
        o.status = cohort_frame_reader(h->object, on->c, (cohort_frame **)&out->object);
        out = (handle *)frame_answered(out, &o);
    }
    Py_DECREF(on);
    return (PyObject *)out;
}

/* frame_slice(frame, first, rows) */
static PyObject *frame_slice(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *h = frame_of(arguments[0]);
    uint64_t first = PyLong_AsUnsignedLongLong(arguments[1]), rows = PyLong_AsUnsignedLongLong(arguments[2]);
    handle *out = h && !PyErr_Occurred() ? frame_new(h->on) : NULL;
    if (!out)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_frame_slice(h->object, first, rows, (cohort_frame **)&out->object);
    return frame_answered(out, &o);
}

/* frame_beside(a, b, suffix) */
static PyObject *frame_beside(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *a = frame_of(arguments[0]), *b = a ? frame_of(arguments[1]) : NULL;
    const char *suffix = b ? PyUnicode_AsUTF8AndSize(arguments[2], NULL) : NULL;
    handle *out = suffix ? frame_new(a->on) : NULL;
    if (!out)
        return NULL;
    outcome o;
    call_begin(a->on, &o);
    o.status = cohort_frame_beside(a->object, b->object, suffix, (cohort_frame **)&out->object);
    return frame_answered(out, &o);
}

/* frame_gather(frame, rows): rows of 4 or 8 bytes; all ones make a row of nulls. */
static PyObject *frame_gather(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]);
    array *rows = h ? array_of_bytes(arguments[1], "rows", 4, 8) : NULL;
    handle *out = rows ? frame_new(h->on) : NULL;
    if (!out)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_gather(h->object, (uint64_t)rows->n, (uint32_t)type_bytes(rows->type), rows->data,
                             (cohort_frame **)&out->object);
    return frame_answered(out, &o);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

uint8_t *flags_of(const handle *h, int value)
{
    size_t n = cohort_frame_columns(h->object);
    uint8_t *flags = malloc(n + 1);
    if (flags)
        memset(flags, value, n + 1);
    else
        PyErr_NoMemory();
    return flags;
}

/* Ids of 4 bytes in the upper half of the memory of their codes become codes. Code i ends where id i + 1
 * begins at the latest, so a block that is copied first may be written over. */
static void widen_ids(int64_t *codes, Py_ssize_t n)
{
    const uint32_t *ids = (const uint32_t *)(const void *)codes + n;
    uint32_t block[1024];
    for (Py_ssize_t at = 0; at < n; at += 1024) {
        Py_ssize_t count = n - at < 1024 ? n - at : 1024;
        memcpy(block, ids + at, (size_t)count * 4);
        for (Py_ssize_t i = 0; i < count; ++i)
            codes[at + i] = block[i] == COHORT_NO_ID ? -1 : (int64_t)block[i];
    }
}

/* frame_factorize(frame, nulls are values, want keys): (numbers as int64, -1 for none; frame of the keys or
 * None). */
static PyObject *frame_factorize(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *h = frame_of(arguments[0]);
    int nulls = PyObject_IsTrue(arguments[1]), want = PyObject_IsTrue(arguments[2]);
    uint8_t *flags = h ? flags_of(h, nulls) : NULL;
    Py_ssize_t n = h ? (Py_ssize_t)cohort_frame_rows(h->object) : 0;
    array *codes = flags ? array_new(COHORT_I64, n) : NULL;
    handle *keys = codes ? frame_new(h->on) : NULL;
    PyObject *result = NULL;
    if (keys) {
        outcome o;
        call_begin(h->on, &o);
        o.status = cohort_factorize(h->object, flags, (uint32_t *)codes->data + n,
                                    want ? (cohort_frame **)&keys->object : NULL);
        if (o.status == COHORT_OK)
            widen_ids(codes->data, n);
        if (call_end(h->on, &o))
            result = PyTuple_Pack(2, codes, want ? (PyObject *)keys : Py_None);
    }
    DROP(codes);
    DROP(keys);
    free(flags);
    return result;
}

/* frame_unique(frame, sorted) */
static PyObject *frame_unique(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = frame_of(arguments[0]);
    int sorted = PyObject_IsTrue(arguments[1]);
    handle *out = h ? frame_new(h->on) : NULL;
    if (!out)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_unique(h->object, sorted ? COHORT_SORTED : 0, (cohort_frame **)&out->object);
    return frame_answered(out, &o);
}

/* frame_index_in(keys, values, nulls are values): int64, -1 for none. */
static PyObject *frame_index_in(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *keys = frame_of(arguments[0]), *values = keys ? frame_of(arguments[1]) : NULL;
    uint8_t *flags = values ? flags_of(keys, PyObject_IsTrue(arguments[2])) : NULL;
    array *rows = flags ? array_new(COHORT_I64, (Py_ssize_t)cohort_frame_rows(keys->object)) : NULL;
    if (rows) {
        outcome o;
        call_begin(keys->on, &o);
        o.status = cohort_index_in(keys->object, values->object, flags, 8, rows->data);
        if (!call_end(keys->on, &o))
            Py_CLEAR(rows);
    }
    free(flags);
    return (PyObject *)rows;
}

/* frame_is_in(keys, values, nulls are values): booleans. */
static PyObject *frame_is_in(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *keys = frame_of(arguments[0]), *values = keys ? frame_of(arguments[1]) : NULL;
    uint8_t *flags = values ? flags_of(keys, PyObject_IsTrue(arguments[2])) : NULL;
    Py_ssize_t n = flags ? (Py_ssize_t)cohort_frame_rows(keys->object) : 0;
    array *bits = flags ? array_new(COHORT_U32, n / 32 + 1) : NULL;
    array *hit = bits ? array_new(TYPE_BOOL, n) : NULL;
    if (hit) {
        outcome o;
        call_begin(keys->on, &o);
        o.status = cohort_is_in(keys->object, values->object, flags, bits->data);
        if (o.status == COHORT_OK)
            bits_to_bytes(bits->data, hit->data, n);
        if (!call_end(keys->on, &o))
            Py_CLEAR(hit);
    }
    DROP(bits);
    free(flags);
    return (PyObject *)hit;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* A tuple (op, column or None, name) as an aggregate; *none if no column can have that name. */
static bool aggregate_of(PyObject *tuple, cohort_aggregate *a, bool *none)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != 3)
        return PyErr_Format(PyExc_TypeError, "a tuple of three is due") != NULL;
    PyObject *column = PyTuple_GetItem(tuple, 1);
    *a = (cohort_aggregate){(cohort_aggregate_op)PyLong_AsLong(PyTuple_GetItem(tuple, 0)), 0, NULL, NULL};
    a->column = column == Py_None ? NULL : name_of(column, none);
    a->name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, 2), NULL);
    return !PyErr_Occurred();
}

/* *none: a column is not there. */
static cohort_status group_all(context *on, const cohort_group_options *options, handle *frame, bool sorted,
                               handle *out, bool *none)
{
    cohort_group *group = NULL;
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0, at; !s && i < options->aggregates; i++)
        if (options->aggregate[i].column)
            s = place_of(frame->object, options->aggregate[i].column, &at, none);
    if (s || *none)
        return s;
    s = cohort_group_create(on->c, options, &group);
    if (!s)
        s = cohort_group_add(group, frame->object);
    if (!s)
        s = cohort_group_finish(group, sorted ? COHORT_SORTED : 0, (cohort_frame **)&out->object);
    cohort_group_destroy(group);
    return s;
}

/* group(frame, names of keys, nulls are values, [(op, column, name)], reproducible, sorted): a frame; None if
 * a column is not there. */
static PyObject *group(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(6, 6)
    handle *h = frame_of(arguments[0]), *out = NULL;
    bool failed = !h || !PyList_Check(arguments[1]) || !PyList_Check(arguments[3]), none = false;
    if (failed)
        return h ? PyErr_Format(PyExc_TypeError, "lists are due") : NULL;
    size_t keys = (size_t)PyList_Size(arguments[1]), n = (size_t)PyList_Size(arguments[3]);
    const char **names = names_of(arguments[1], &failed);
    uint8_t *flags = calloc(keys + 1, 1);
    cohort_aggregate *a = calloc(n + 1, sizeof *a);
    if (!flags || !a)
        failed = !PyErr_NoMemory();
    for (size_t i = 0; !failed && i < n; ++i)
        failed = !aggregate_of(PyList_GetItem(arguments[3], (Py_ssize_t)i), &a[i], &none);
    if (!failed && !none && (out = frame_new(h->on))) {
        memset(flags, PyObject_IsTrue(arguments[2]), keys);
        cohort_group_options options = COHORT_GROUP_OPTIONS_INIT;
        options.keys = (uint32_t)keys;
        options.aggregates = (uint32_t)n;
        options.key = names;
        options.nulls_equal = flags;
        options.aggregate = a;
        options.reproducible = (uint32_t)PyObject_IsTrue(arguments[4]);
        bool sorted = PyObject_IsTrue(arguments[5]);
        outcome o;
        call_begin(h->on, &o);
        o.status = group_all(h->on, &options, h, sorted, out, &none);
        out = (handle *)frame_answered(out, &o);
    }
    free(names);
    free(flags);
    free(a);
    if (none && !PyErr_Occurred()) {
        DROP(out);
        return KEPT(Py_None);
    }
    return (PyObject *)out;
}

PyMethodDef table_functions[] = {{"frame_shape", frame_shape, METH_O, NULL},
                                 {"frame_misses", frame_misses, METH_O, NULL},
                                 {"frame_info", frame_info, METH_O, NULL},
                                 FAST(frame_select),
                                 {"frame_here", frame_here, METH_O, NULL},
                                 FAST(frame_slice),
                                 FAST(frame_beside),
                                 FAST(frame_gather),
                                 FAST(frame_factorize),
                                 FAST(frame_unique),
                                 FAST(frame_index_in),
                                 FAST(frame_is_in),
                                 FAST(group),
                                 {NULL, NULL, 0, NULL}};
