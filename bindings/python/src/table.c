/* table.c: the calls of cohort/table.h, keys.h, join.h and group.h on frames: handles of the kind "frame".
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

/* What a call that made `h` answered. */
static PyObject *made(handle *h, outcome *o)
{
    context *on = h->on;
    if (!call_end(on, o))
        Py_CLEAR(h);
    return (PyObject *)h;
}

/* frame_info(frame): (rows, [(name, format, nulls, bytes of a dictionary's index or 0, chunks)]). */
static PyObject *frame_info(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = frame_of(object);
    PyObject *list = h ? PyList_New(0) : NULL;
    if (!list)
        return NULL;
    uint32_t columns = cohort_frame_columns(h->object);
    for (uint32_t i = 0; i < columns; ++i) {
        cohort_column_info c = COHORT_COLUMN_INFO_INIT;
        outcome o;
        call_begin(h->on, &o);
        o.status = cohort_frame_get_column(h->object, i, &c);
        PyObject *about = call_end(h->on, &o) ? Py_BuildValue("ssKIK", c.name, c.format, c.nulls,
                                                              c.dictionary ? c.index_bytes : 0, c.chunks)
                                              : NULL;
        if (!about || PyList_Append(list, about)) {
            DROP(about);
            DROP(list);
            return NULL;
        }
        Py_DECREF(about);
    }
    return Py_BuildValue("KN", cohort_frame_rows(h->object), list);
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
        out = (handle *)made(out, &o);
    } else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "names: as many as columns are due");
    free(columns);
    free(names);
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
    return made(out, &o);
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
    return made(out, &o);
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
    return made(out, &o);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* A flag a column, all `value`. */
static uint8_t *flags_of(const handle *h, int value)
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

static PyObject *distinct(PyObject *const *arguments,
                          cohort_status (*call)(cohort_frame *, uint32_t, cohort_frame **))
{
    handle *h = frame_of(arguments[0]);
    int sorted = PyObject_IsTrue(arguments[1]);
    handle *out = h ? frame_new(h->on) : NULL;
    if (!out)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = call(h->object, sorted ? COHORT_SORTED : 0, (cohort_frame **)&out->object);
    return made(out, &o);
}

/* frame_unique(frame, sorted), frame_value_counts(frame, sorted) */
static PyObject *frame_unique(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    return distinct(arguments, cohort_unique);
}
static PyObject *frame_value_counts(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    return distinct(arguments, cohort_value_counts);
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

/* ---- joins --------------------------------------------------------------------------------------------- */

/* The pairs of a probe, then those of finish, into columns of row numbers. */
struct pairs {
    cohort_join *join;
    cohort_matches *matches;
    uint64_t matched, rest;
    bool finish;
};

static cohort_status probe(struct pairs *p, handle *left, handle *right, const uint8_t *flags,
                           cohort_join_probe_options *options)
{
    cohort_join_options build = COHORT_JOIN_OPTIONS_INIT;
    build.nulls_equal = flags;
    cohort_status s = cohort_join_build(right->object, &build, &p->join);
    if (!s)
        s = cohort_join_probe(p->join, left->object, options, &p->matches);
    p->matched = cohort_join_size(p->matches);
    p->finish = options->kind == COHORT_JOIN_RIGHT || options->kind == COHORT_JOIN_FULL;
    if (!s && p->finish) {
        cohort_join_page page = COHORT_JOIN_PAGE_INIT;
        s = cohort_join_finish(p->join, &page);
        p->rest = page.total;
    }
    return s;
}

static cohort_status fetch(struct pairs *p, array *left, array *right)
{
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    page.bytes = (uint32_t)type_bytes(left->type);
    page.capacity = p->matched;
    page.left = left->data;
    page.right = DATA(right);
    cohort_status s = cohort_join_pairs(p->matches, &page);
    if (s || !p->finish)
        return s;
    size_t at = (size_t)p->matched * page.bytes;
    page.capacity = p->rest;
    page.left = (char *)left->data + at;
    page.right = right ? (char *)right->data + at : NULL;
    return cohort_join_finish(p->join, &page);
}

/* join_rows(left keys, right keys, kind, shape, nulls are equal, want pairs): (number of pairs, left rows,
 * right rows); rows of 4 bytes where they fit, all ones for none; right rows are None for semi and anti
 * joins. */
static PyObject *join_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(6, 6)
    handle *left = frame_of(arguments[0]), *right = left ? frame_of(arguments[1]) : NULL;
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    options.kind = right ? (cohort_join_kind)PyLong_AsLong(arguments[2]) : 0;
    options.validate = right ? (cohort_join_shape)PyLong_AsLong(arguments[3]) : 0;
    int want = PyObject_IsTrue(arguments[5]);
    uint8_t *flags = right && !PyErr_Occurred() ? flags_of(right, PyObject_IsTrue(arguments[4])) : NULL;
    if (!flags)
        return NULL;
    struct pairs p = {NULL, NULL, 0, 0, false};
    array *l = NULL, *r = NULL;
    PyObject *result = NULL;
    outcome o;
    call_begin(left->on, &o);
    o.status = probe(&p, left, right, flags, &options);
    bool good = call_end(left->on, &o) != NULL;
    uint64_t n = p.matched + p.rest;
    if (good && want) {
        uint64_t most = cohort_frame_rows(left->object) | cohort_frame_rows(right->object);
        int type = most < UINT32_MAX ? COHORT_U32 : COHORT_U64;
        l = array_new(type, n > PY_SSIZE_T_MAX ? -1 : (Py_ssize_t)n);
        r = l && options.kind < COHORT_JOIN_SEMI ? array_new(type, (Py_ssize_t)n) : NULL;
        good = !PyErr_Occurred();
        if (good) {
            call_begin(left->on, &o);
            o.status = fetch(&p, l, r);
            good = call_end(left->on, &o) != NULL;
        }
    }
    if (good)
        result = Py_BuildValue("KOO", n, or_none(l), or_none(r));
    if (p.join) { /* an exception that is set stays */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        call_begin(left->on, &o);
        cohort_matches_destroy(p.matches);
        cohort_join_destroy(p.join);
        call_end(left->on, &o);
        PyErr_Restore(type, value, trace);
    }
    DROP(l);
    DROP(r);
    free(flags);
    return result;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* A tuple (op, column or None, name) as an aggregate. */
static bool aggregate_of(PyObject *tuple, cohort_aggregate *a)
{
    PyObject *column, *name;
    int op;
    if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "iOO", &op, &column, &name))
        return false;
    *a = (cohort_aggregate){(cohort_aggregate_op)op, 0, NULL, NULL};
    if (column != Py_None && !(a->column = PyUnicode_AsUTF8AndSize(column, NULL)))
        return false;
    return (a->name = PyUnicode_AsUTF8AndSize(name, NULL)) != NULL;
}

static cohort_status group_all(context *on, const cohort_group_options *options, handle *frame, bool sorted,
                               handle *out)
{
    cohort_group *group = NULL;
    cohort_status s = cohort_group_create(on->c, options, &group);
    if (!s)
        s = cohort_group_add(group, frame->object);
    if (!s)
        s = cohort_group_finish(group, sorted ? COHORT_SORTED : 0, (cohort_frame **)&out->object);
    cohort_group_destroy(group);
    return s;
}

/* group(frame, names of keys, nulls are values, [(op, column, name)], reproducible, sorted): a frame. */
static PyObject *group(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(6, 6)
    handle *h = frame_of(arguments[0]), *out = NULL;
    bool failed = !h || !PyList_Check(arguments[1]) || !PyList_Check(arguments[3]);
    if (failed)
        return h ? PyErr_Format(PyExc_TypeError, "lists are due") : NULL;
    size_t keys = (size_t)PyList_Size(arguments[1]), n = (size_t)PyList_Size(arguments[3]);
    const char **names = names_of(arguments[1], &failed);
    uint8_t *flags = calloc(keys + 1, 1);
    cohort_aggregate *a = calloc(n + 1, sizeof *a);
    if (!flags || !a)
        failed = !PyErr_NoMemory();
    for (size_t i = 0; !failed && i < n; ++i)
        failed = !aggregate_of(PyList_GetItem(arguments[3], (Py_ssize_t)i), &a[i]);
    if (!failed && (out = frame_new(h->on))) {
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
        o.status = group_all(h->on, &options, h, sorted, out);
        out = (handle *)made(out, &o);
    }
    free(names);
    free(flags);
    free(a);
    return (PyObject *)out;
}

PyMethodDef table_functions[] = {{"frame_info", frame_info, METH_O, NULL},
                                 FAST(frame_select),
                                 FAST(frame_slice),
                                 FAST(frame_beside),
                                 FAST(frame_gather),
                                 FAST(frame_factorize),
                                 FAST(frame_unique),
                                 FAST(frame_value_counts),
                                 FAST(frame_index_in),
                                 FAST(frame_is_in),
                                 FAST(join_rows),
                                 FAST(group),
                                 {NULL, NULL, 0, NULL}};
