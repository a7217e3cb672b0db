/* sets.c: the calls of cohort/set.h. A handle of the kind "sets" is a collection; it knows the type of its
 * members, and arrays are checked against that and against each other's lengths here. What the numbers in
 * them may be, the library checks. */
#include "core.h"

#include <stdlib.h>

static void destroy(void *sets)
{
    cohort_sets_destroy(sets);
}

static cohort_status reader(void *sets, cohort_context *by, void **out)
{
    return cohort_sets_reader(sets, by, (cohort_sets **)out);
}

/* numbers_of(object, argument, type): an Array of the type, or NULL for None. */
static array *numbers_of(PyObject *object, const char *argument, int type, bool *failed)
{
    array *a = *failed ? NULL : optional(object, argument, failed);
    if (a && a->type != type) {
        PyErr_Format(PyExc_TypeError, "%s: must be of type %s, not %s", argument, type_name(type),
                     type_name(a->type));
        *failed = true;
        return NULL;
    }
    return a;
}

static bool of_length(const array *a, uint64_t n, const char *argument)
{
    if (!a || (uint64_t)a->n == n)
        return true;
    PyErr_Format(PyExc_ValueError, "%s: has %zd %s, and must have %llu", argument, a->n, ENTRIES(a->n),
                 (unsigned long long)n);
    return false;
}

/* A new reference to a new collection, which knows its type and sizes from now on. */
static PyObject *known(handle *h, const cohort_sets_info *i)
{
    h->type = (int)i->type;
    h->sets = i->sets;
    h->members = i->members;
    return KEPT(h);
}

/* sets_alike(a, b): on one context and of one type, as the collections of a query are. */
static PyObject *sets_alike(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    const handle *a = handle_of(arguments[0], "sets"), *b = a ? handle_of(arguments[1], "sets") : NULL;
    return b ? PyBool_FromLong(a->on == b->on && a->type == b->type) : NULL;
}

/* sets_build(context, form, type, sets, members, lasts, offsets, groups, blob_type): the collection.
 */
static PyObject *sets_build(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(9, 9)
    bool failed = false;
    context *on = context_of(arguments[0]);
    cohort_sets_source s = COHORT_SETS_SOURCE_INIT;
    s.form = on ? (cohort_form)PyLong_AsLong(arguments[1]) : 0;
    s.type = on ? (cohort_type)PyLong_AsLong(arguments[2]) : 0;
    s.sets = on ? number_of(arguments[3], "sets", 0, UINT64_MAX) : 0;
    s.blob_type = on ? (cohort_type)PyLong_AsLong(arguments[8]) : 0;
    if (!on || PyErr_Occurred())
        return NULL;
    bool roaring = s.form == COHORT_FORM_ROARING;
    if (!roaring && s.form != COHORT_FORM_MEMBERS && s.form != COHORT_FORM_RANGES)
        return PyErr_Format(PyExc_ValueError, "form: %d cannot be built from here", (int)s.form);
    array *members = numbers_of(arguments[4], "members", roaring ? COHORT_U8 : (int)s.type, &failed);
    array *lasts = numbers_of(arguments[5], "lasts", (int)s.type, &failed);
    array *offsets = numbers_of(arguments[6], "offsets", COHORT_U64, &failed);
    array *groups = failed ? NULL : optional(arguments[7], "groups", &failed);
    if (failed || !members)
        return failed ? NULL : PyErr_Format(PyExc_TypeError, "members: an Array is due");
    if (groups && groups->type != COHORT_U32 && groups->type != COHORT_U64)
        return PyErr_Format(PyExc_TypeError, "groups: must be of type uint32 or uint64, not %s",
                            type_name(groups->type));
    if ((roaring && !offsets) || (offsets && !offsets->n))
        return PyErr_Format(PyExc_ValueError, "offsets: one more than sets are due");
    s.n = roaring ? (uint64_t)offsets->n - 1 : (uint64_t)members->n;
    if (!of_length(lasts, s.n, "lasts") || !of_length(groups, s.n, "groups"))
        return NULL;
    if (!roaring && offsets)
        s.sets = (uint64_t)offsets->n - 1;
    /* Blobs lie one behind the other, within the bytes. */
    const uint64_t *at = DATA(offsets);
    for (uint64_t b = 0; roaring && b < s.n; ++b)
        if (at[b] > at[b + 1] || at[b + 1] > (uint64_t)members->n)
            return PyErr_Format(PyExc_ValueError, "offsets[%llu]: is %llu, and there are %zd bytes",
                                (unsigned long long)b + 1, (unsigned long long)at[b + 1], members->n);
    s.members = members->data;
    s.lasts = DATA(lasts);
    s.offsets = at;
    s.groups = DATA(groups);
    s.group_type = groups ? (cohort_type)groups->type : (cohort_type)0;
    handle *h = handle_new(on, "sets", destroy);
    if (!h)
        return NULL;
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    outcome o;
    call_begin(on, &o);
    o.status = cohort_sets_build(on->c, &s, (cohort_sets **)&h->object);
    if (o.status == COHORT_OK)
        o.status = cohort_sets_get_info(h->object, &info);
    PyObject *result = call_end(on, &o) ? known(h, &info) : NULL;
    Py_DECREF(h);
    return result;
}

/* One call of the library's export. */
static bool export_once(reading *r, cohort_sets_target *t)
{
    outcome o;
    if (!r->on)
        return false;
    read_begin(r, &o, reader);
    if (o.status == COHORT_OK)
        o.status = cohort_sets_export(r->object, t);
    return read_end(r, &o);
}

/* sets_export(collection, form, which, sets, want groups, blob_type): (members, lasts, offsets, groups),
 * of the sets `which` (None: all, and `sets` of them). Lasts for ranges alone. */
static PyObject *sets_export(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(6, 6)
    bool failed = false;
    handle *h = handle_of(arguments[0], "sets");
    cohort_sets_target t = COHORT_SETS_TARGET_INIT;
    t.form = h ? (cohort_form)PyLong_AsLong(arguments[1]) : 0;
    array *which = h ? numbers_of(arguments[2], "which", COHORT_U64, &failed) : NULL;
    t.n = h ? PyLong_AsUnsignedLongLong(arguments[3]) : 0;
    int want_groups = h ? PyObject_IsTrue(arguments[4]) : 0;
    t.blob_type = h ? (cohort_type)PyLong_AsLong(arguments[5]) : 0;
    if (!h || failed || PyErr_Occurred())
        return NULL;
    bool roaring = t.form == COHORT_FORM_ROARING, ranges = t.form == COHORT_FORM_RANGES;
    if (t.form == COHORT_FORM_BITMAPS)
        return PyErr_Format(PyExc_ValueError, "form: bitmaps are not written from here");
    t.which = DATA(which);
    t.n = which ? (uint64_t)which->n : t.n;
    array *offsets = array_new(COHORT_U64, (Py_ssize_t)t.n + 1), *members = NULL, *lasts = NULL,
          *groups = NULL;
    PyObject *result = NULL;
    if (!offsets)
        return NULL;
    t.offsets = offsets->data;
    reading r = read_by(h);
    if (export_once(&r, &t)) {
        members = array_new(roaring ? COHORT_U8 : h->type, (Py_ssize_t)t.total);
        lasts = ranges ? array_new(h->type, (Py_ssize_t)t.total) : NULL;
        groups = want_groups ? array_new(COHORT_U64, (Py_ssize_t)t.total) : NULL;
        t.capacity = t.total;
        t.members = DATA(members);
        t.lasts = DATA(lasts);
        t.groups = DATA(groups);
        t.group_type = COHORT_U64;
        if (!PyErr_Occurred() && (!t.total || export_once(&r, &t)))
            result = PyTuple_Pack(4, members, or_none(lasts), offsets, or_none(groups));
    }
    read_forget(&r);
    DROP(offsets);
    DROP(members);
    DROP(lasts);
    DROP(groups);
    return result;
}

/* sets_counts(collection): what it is made of, as a dict. */
static PyObject *sets_counts(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "sets");
    cohort_sets_info i = COHORT_SETS_INFO_INIT;
    if (!h)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_sets_get_info(h->object, &i);
    return call_end(h->on, &o) ? Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "sets", i.sets,
                                               "members", i.members, "lists", i.lists, "listed", i.listed,
                                               "chunks", i.chunks, "arrays", i.arrays, "bitmaps", i.bitmaps,
                                               "runs", i.runs, "full", i.full, "bytes", i.bytes)
                               : NULL;
}

/* ---- queries ------------------------------------------------------------------------------------------- */

struct question {
    cohort_sets *collections[COHORT_QUERY_SETS_MOST];
    cohort_sets_query_desc d;
    handle *one; /* the collection, if it is one */
    context *on;
    int type;
    array *counts, *bits, *any, *first, *first_counts;
    handle *result;
    cohort_sets_info info; /* of the result */
};

static bool take_collections(struct question *q, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : 0;
    if (n < 1 || n > (Py_ssize_t)COHORT_QUERY_SETS_MOST) {
        PyErr_Format(PyExc_ValueError, "a query is of 1 to %d collections, not %zd",
                     (int)COHORT_QUERY_SETS_MOST, n);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        handle *h = handle_of(PyTuple_GetItem(tuple, i), "sets");
        if (!h)
            return false;
        if (i && (h->on != q->on || h->type != q->type)) {
            PyErr_Format(PyExc_TypeError, "the collections of a query are of one context and one type");
            return false;
        }
        q->on = h->on;
        q->type = h->type;
        q->collections[i] = h->object;
        q->one = n == 1 ? h : NULL;
    }
    q->d.collections = q->collections;
    q->d.collections_count = (uint32_t)n;
    return true;
}

/* The arrays of set numbers are as long as the description says. */
static bool take_rows(struct question *q, PyObject *const *arguments)
{
    bool failed = false;
    q->d.op = (cohort_sets_op)PyLong_AsLong(arguments[0]);
    q->d.each = (uint32_t)PyLong_AsUnsignedLong(arguments[1]);
    q->d.least = number_of(arguments[2], "least", 0, UINT64_MAX);
    q->d.rows = PyLong_AsUnsignedLongLong(arguments[3]);
    array *members = numbers_of(arguments[4], "rows", COHORT_U64, &failed);
    array *offsets = numbers_of(arguments[5], "offsets", COHORT_U64, &failed);
    q->d.arity = failed ? 0 : PyLong_AsUnsignedLongLong(arguments[6]);
    if (failed || PyErr_Occurred())
        return false;
    uint64_t n = members ? (uint64_t)members->n : 0;
    uint64_t lists = q->d.each ? 1 : q->d.rows;
    bool fits = offsets ? (uint64_t)offsets->n == q->d.rows + 1 && ((uint64_t *)offsets->data)[q->d.rows] == n
                : q->d.arity ? n % q->d.arity == 0 && n / q->d.arity == lists
                             : n == 0;
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "rows: %llu set numbers are not what %s", (unsigned long long)n,
                     offsets ? "offsets say" : "rows and arity say");
        return false;
    }
    q->d.members = DATA(members);
    q->d.offsets = DATA(offsets);
    return true;
}

static bool make_rooms(struct question *q, bool counts, bool any, uint64_t first_most, bool result)
{
    cohort_sets_query_desc *d = &q->d;
    Py_ssize_t rows = (Py_ssize_t)d->rows;
    if (first_most && d->rows && first_most > (uint64_t)PY_SSIZE_T_MAX / 16 / d->rows) {
        PyErr_NoMemory();
        return false;
    }
    q->counts = counts ? array_new(COHORT_U64, rows) : NULL;
    q->bits = any ? array_new(COHORT_U32, rows / 32 + 1) : NULL;
    q->any = any ? array_new(TYPE_BOOL, rows) : NULL;
    q->first = first_most ? array_new(q->type, rows * (Py_ssize_t)first_most) : NULL;
    q->first_counts = first_most ? array_new(COHORT_U64, rows) : NULL;
    q->result = result ? handle_new(q->on, "sets", destroy) : NULL;
    if (PyErr_Occurred())
        return false;
    d->counts = DATA(q->counts);
    d->any = DATA(q->bits);
    d->first_most = first_most;
    d->first = DATA(q->first);
    d->first_counts = DATA(q->first_counts);
    d->result = q->result ? (cohort_sets **)&q->result->object : NULL;
    return true;
}

/* The first members row after row, without gaps: (members, offsets). */
static PyObject *close_up(const struct question *q)
{
    uint64_t most = q->d.first_most, rows = q->d.rows, to = 0, bytes = type_bytes(q->type);
    const uint64_t *n = q->first_counts->data;
    array *offsets = array_new(COHORT_U64, (Py_ssize_t)rows + 1);
    if (!offsets)
        return NULL;
    char *members = q->first->data;
    Py_BEGIN_ALLOW_THREADS for (uint64_t r = 0; r < rows; ++r)
    {
        ((uint64_t *)offsets->data)[r] = to;
        memmove(members + to * bytes, members + r * most * bytes, n[r] * bytes);
        to += n[r];
    }
    ((uint64_t *)offsets->data)[rows] = to;
    Py_END_ALLOW_THREADS q->first->n = (Py_ssize_t)to;
    PyObject *pair = PyTuple_Pack(2, q->first, offsets);
    Py_DECREF(offsets);
    return pair;
}

/* What was answered, as a tuple of four. */
static PyObject *answered(struct question *q)
{
    PyObject *first = q->first ? close_up(q) : KEPT(Py_None);
    PyObject *sets = first ? (q->result ? known(q->result, &q->info) : KEPT(Py_None)) : NULL;
    if (q->any) {
        PyThreadState *thread = let_go(q->any->n);
        bits_to_bytes(q->bits->data, q->any->data, q->any->n);
        take_back(thread);
    }
    PyObject *result = sets ? PyTuple_Pack(4, or_none(q->counts), or_none(q->any), first, sets) : NULL;
    DROP(first);
    DROP(sets);
    return result;
}

/* On the collections' own context. */
static bool ask_together(struct question *q)
{
    outcome o;
    call_begin(q->on, &o);
    o.status = cohort_sets_query(q->on->c, &q->d);
    if (o.status == COHORT_OK && q->result)
        o.status = cohort_sets_get_info(q->result->object, &q->info);
    return call_end(q->on, &o);
}

/* One collection, on the context of the thread that asks. */
static bool ask_one(struct question *q)
{
    reading r = read_by(q->one);
    outcome o;
    bool done = false;
    if (r.on) {
        read_begin(&r, &o, reader);
        q->collections[0] = r.object;
        if (o.status == COHORT_OK)
            o.status = cohort_sets_query(r.on->c, &q->d);
        done = read_end(&r, &o);
    }
    read_forget(&r);
    return done;
}

/* sets_query(collections, op, each, least, rows, members, offsets, arity, want counts, want any, first
 * most, want sets): (counts, any, (first members, offsets), collection), None for what is not
 * wanted. */
static PyObject *sets_query(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(12, 12)
    struct question q = {.d = COHORT_SETS_QUERY_INIT, .info = COHORT_SETS_INFO_INIT};
    PyObject *result = NULL;
    if (!take_collections(&q, arguments[0]) || !take_rows(&q, arguments + 1))
        return NULL;
    int counts = PyObject_IsTrue(arguments[8]), any = PyObject_IsTrue(arguments[9]),
        sets = PyObject_IsTrue(arguments[11]);
    uint64_t first = number_of(arguments[10], "k", 0, UINT64_MAX);
    if (!PyErr_Occurred() && make_rooms(&q, counts, any, first, sets) &&
        (q.one && !sets ? ask_one(&q) : ask_together(&q)))
        result = answered(&q);
    DROP(q.counts);
    DROP(q.bits);
    DROP(q.any);
    DROP(q.first);
    DROP(q.first_counts);
    DROP(q.result);
    return result;
}

/* ---- looks --------------------------------------------------------------------------------------------- */

static bool gives_hits(cohort_look kind)
{
    return kind != COHORT_LOOK_RANK && kind != COHORT_LOOK_COUNT;
}
/* 0: none */
static int type_of_results(const handle *h, cohort_look kind)
{
    switch (kind) {
    case COHORT_LOOK_RANK:
    case COHORT_LOOK_COUNT:
        return COHORT_U64;
    case COHORT_LOOK_SELECT:
    case COHORT_LOOK_NEXT:
    case COHORT_LOOK_MIN:
    case COHORT_LOOK_MAX:
        return h->type;
    default:
        return 0;
    }
}

/* Results and bits for a look, in the memory that the questions lie in: NULL for the host's. What is not
 * found is 0. */
static bool make_answers(context *at, int type, bool hits, uint64_t n, array *out[3])
{
    out[0] = type ? array_on(at, type, (Py_ssize_t)n) : NULL;
    out[1] = hits && !PyErr_Occurred() ? array_on(at, COHORT_U32, (Py_ssize_t)n / 32 + 1) : NULL;
    out[2] = out[1] ? array_on(at, TYPE_BOOL, (Py_ssize_t)n) : NULL;
    if (out[0] && !at)
        memset(out[0]->data, 0, (size_t)n * type_bytes(type));
    return !PyErr_Occurred();
}

/* sets_look(collection, kind, n, set, which, others, values, lasts): (results, hit as booleans), None for
 * what the kind has not. All arrays lie in one memory, the answers too. */
static PyObject *sets_look(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(8, 8)
    bool failed = false;
    handle *h = handle_of(arguments[0], "sets");
    cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
    d.kind = h ? (cohort_look)PyLong_AsLong(arguments[1]) : 0;
    d.n = h ? PyLong_AsUnsignedLongLong(arguments[2]) : 0;
    d.set = h ? PyLong_AsUnsignedLongLong(arguments[3]) : 0;
    if (!h || PyErr_Occurred())
        return NULL;
    array *which = numbers_of(arguments[4], "which", COHORT_U64, &failed);
    array *others = numbers_of(arguments[5], "others", COHORT_U64, &failed);
    array *values =
        numbers_of(arguments[6], "values", d.kind == COHORT_LOOK_SELECT ? COHORT_U64 : h->type, &failed);
    array *lasts = numbers_of(arguments[7], "lasts", h->type, &failed);
    if (failed || !of_length(which, d.n, "which") || !of_length(others, d.n, "others") ||
        !of_length(values, d.n, "values") || !of_length(lasts, d.n, "lasts"))
        return NULL;
    const array *asked = values ? values : which;
    reading r = read_by(h);
    context *at = asked && asked->on ? r.on : NULL;
    array *out[3] = {NULL, NULL, NULL};
    PyObject *result = NULL;
    if (r.on && make_answers(at, type_of_results(h, d.kind), gives_hits(d.kind), d.n, out)) {
        array *results = out[0], *bits = out[1], *hit = out[2];
        d.which = DATA(which);
        d.others = DATA(others);
        d.values = DATA(values);
        d.lasts = DATA(lasts);
        d.results = DATA(results);
        d.hit = DATA(bits);
        outcome o;
        read_begin(&r, &o, reader);
        o.wait = at;
        if (at && results && d.n && o.status == COHORT_OK)
            o.status = cohort_fill(r.on->c, d.results, 0, d.n * (uint64_t)results->stride);
        if (o.status == COHORT_OK)
            o.status = cohort_sets_look(r.object, &d);
        if (o.status == COHORT_OK && hit)
            o.status = spread_bits(r.on, bits, hit);
        if (read_end(&r, &o))
            result = PyTuple_Pack(2, or_none(results), or_none(hit));
    }
    read_forget(&r);
    for (int i = 0; i < 3; ++i)
        DROP(out[i]);
    return result;
}

static bool ask_containing(handle *h, const cohort_sets_containing_desc *d, bool wait)
{
    outcome o;
    call_begin(h->on, &o);
    o.wait = wait;
    o.status = cohort_sets_containing(h->object, d);
    return call_end(h->on, &o);
}

/* sets_containing(collection, values, want sets): (counts, None), or (offsets, sets): which sets contain each
 * value; in the memory that the values lie in. */
static PyObject *sets_containing(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    bool failed = false;
    handle *h = handle_of(arguments[0], "sets");
    array *values = h ? numbers_of(arguments[1], "values", h->type, &failed) : NULL;
    int want = h ? PyObject_IsTrue(arguments[2]) : 0;
    if (!h || failed || PyErr_Occurred() || !values)
        return NULL;
    cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT;
    context *at = values->on ? h->on : NULL;
    array *told = array_on(at, COHORT_U64, values->n + (want ? 1 : 0)), *sets = NULL;
    uint64_t total = 0;
    PyObject *result = NULL;
    if (!told)
        return NULL;
    d.n = (uint64_t)values->n;
    d.values = values->data;
    d.counts = want ? NULL : told->data;
    d.offsets = want ? told->data : NULL;
    d.total = &total;
    Py_ssize_t room = want ? room_for(values->n) : 0;
    for (bool done = false; !done && !PyErr_Occurred();) {
        DROP(sets);
        sets = room ? array_on(at, COHORT_U64, room) : NULL;
        d.capacity = (uint64_t)room;
        d.sets = DATA(sets);
        done = !PyErr_Occurred() && ask_containing(h, &d, at) && (!want || total <= (uint64_t)room);
        room = (Py_ssize_t)total;
    }
    if (sets)
        sets->n = room;
    if (!PyErr_Occurred())
        result = PyTuple_Pack(2, told, or_none(sets));
    DROP(told);
    DROP(sets);
    return result;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static PyObject *sets_save(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = handle_of(arguments[0], "sets");
    PyObject *path = h ? path_of(arguments[1]) : NULL;
    if (!path)
        return NULL;
    char *name = PyBytes_AsString(path);
    outcome o;
    call_begin(h->on, &o);
    o.path = path;
    o.status = cohort_sets_save(h->object, name);
    PyObject *done = Py_XNewRef(call_end(h->on, &o));
    Py_DECREF(path);
    return done;
}

/* sets_load(context, path, map, validate): the collection. */
static PyObject *sets_load(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    context *on = context_of(arguments[0]);
    PyObject *path = on ? path_of(arguments[1]) : NULL;
    handle *h = path ? handle_new(on, "sets", destroy) : NULL;
    int map = PyObject_IsTrue(arguments[2]), validate = PyObject_IsTrue(arguments[3]);
    PyObject *result = NULL;
    if (h) {
        char *name = PyBytes_AsString(path);
        cohort_sets **out = (cohort_sets **)&h->object;
        cohort_sets_info info = COHORT_SETS_INFO_INIT;
        outcome o;
        call_begin(on, &o);
        o.path = path;
        o.status =
            map ? cohort_sets_map(on->c, name, (uint32_t)validate, out) : cohort_sets_load(on->c, name, out);
        if (o.status == COHORT_OK)
            o.status = cohort_sets_get_info(h->object, &info);
        if (call_end(on, &o))
            result = known(h, &info);
    }
    DROP(path);
    DROP(h);
    return result;
}

PyMethodDef sets_functions[] = {
    FAST(sets_build),     FAST(sets_export), {"sets_counts", sets_counts, METH_O, NULL},
    FAST(sets_query),     FAST(sets_look),   FAST(sets_containing),
    FAST(sets_save),      FAST(sets_load),   FAST(sets_alike),
    {NULL, NULL, 0, NULL}};
