/* ops.c: the calls of cohort/sort.h, multisplit.h, histogram.h, compact.h, runs.h. */
#include "core.h"

/* Where the results of a call with these keys are due. */
static context *memory_of(context *on, const array *keys)
{
    return keys->on ? on : NULL;
}

/* sort(context, keys, descending, want permutation, column or None, want keys (so if left out)): (keys,
 * permutation, column), None for what is not wanted. */
static PyObject *sort(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(5, 6)
    bool failed = false;
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "keys", 4, 8) : NULL;
    int descending = PyObject_IsTrue(arguments[2]), want_permutation = PyObject_IsTrue(arguments[3]);
    int want_keys = count < 6 || PyObject_IsTrue(arguments[5]);
    array *column = optional(arguments[4], "values", &failed);
    if (!keys || failed || !same_length(keys, column, "values"))
        return NULL;
    context *at = memory_of(on, keys);
    array *keys_out = want_keys ? array_on(at, keys->type, keys->n) : NULL;
    array *permutation = want_permutation && !PyErr_Occurred() ? array_on(at, COHORT_I64, keys->n) : NULL;
    array *column_out = column && !PyErr_Occurred() ? array_on(at, column->type, keys->n) : NULL;
    PyObject *result = NULL;
    if (!PyErr_Occurred()) {
        cohort_payload c = {DATA(column), DATA(column_out), column ? (uint32_t)type_bytes(column->type) : 0,
                            0};
        cohort_sort_desc d = COHORT_SORT_INIT;
        d.n = (uint64_t)keys->n;
        d.type = (cohort_type)keys->type;
        d.descending = (uint32_t)descending;
        d.keys = keys->data;
        d.keys_out = DATA(keys_out);
        d.payloads = column != NULL;
        d.payload = column ? &c : NULL;
        d.permutation = DATA(permutation);
        d.permutation_bytes = 8;
        outcome o;
        call_begin(on, &o);
        o.wait = keys->on;
        o.status = cohort_sort(on->c, &d);
        if (call_end(on, &o))
            result = PyTuple_Pack(3, or_none(keys_out), or_none(permutation), or_none(column_out));
    }
    DROP(keys_out);
    DROP(permutation);
    DROP(column_out);
    return result;
}

/* fn_of(on, {kind, a, b, data}): a function of keys. The data of MEMBER are a handle of sets. */
static bool fn_of(const context *on, PyObject *const *arguments, cohort_fn *fn)
{
    bool failed = false;
    long kind = PyLong_AsLong(arguments[0]);
    uint64_t a = PyLong_AsUnsignedLongLongMask(arguments[1]), b = PyLong_AsUnsignedLongLongMask(arguments[2]);
    if (kind == COHORT_FN_MEMBER) {
        handle *sets = handle_of(arguments[3], "sets");
        if (sets && sets->on != on)
            PyErr_SetString(PyExc_ValueError, "by: a collection of another context");
        *fn = cohort_fn_member(sets ? sets->object : NULL, a);
        return !PyErr_Occurred();
    }
    array *data = optional(arguments[3], "by", &failed);
    if (failed || PyErr_Occurred())
        return false;
    *fn = cohort_fn_make((cohort_fn_kind)kind, a, b, DATA(data), data ? (uint64_t)data->n : 0);
    return true;
}

static bool ids_fit(const cohort_fn *fn, const array *keys, PyObject *data)
{
    bool ids = fn->kind >= COHORT_FN_IDS8 && fn->kind <= COHORT_FN_IDS32;
    return !ids || data == Py_None || same_length(keys, (array *)data, "by");
}

/* The arrays that a split fills. */
struct parts {
    array *keys, *offsets, *column, *permutation, *rank;
};

/* Room for what is wanted of a split into this many buckets, in the memory of `at`. */
static bool make_parts(struct parts *p, context *at, const array *keys, const array *column, uint64_t buckets,
                       bool permutation, bool rank)
{
    p->keys = array_on(at, keys->type, keys->n);
    p->offsets = p->keys ? array_on(at, COHORT_I64, (Py_ssize_t)buckets + 1) : NULL;
    p->column = column && p->offsets ? array_on(at, column->type, keys->n) : NULL;
    p->permutation = permutation && !PyErr_Occurred() ? array_on(at, COHORT_I64, keys->n) : NULL;
    p->rank = rank && !PyErr_Occurred() ? array_on(at, COHORT_I64, keys->n) : NULL;
    return !PyErr_Occurred();
}

static void drop_parts(struct parts *p)
{
    DROP(p->keys);
    DROP(p->offsets);
    DROP(p->column);
    DROP(p->permutation);
    DROP(p->rank);
}

/* segments_of(object): offsets of segments, uint64, or NULL for None. Whether they fall, the library
 * checks. */
static array *segments_of(PyObject *object, bool *failed)
{
    array *a = optional(object, "segments", failed);
    if (a && (a->type != COHORT_U64 || a->n < 2)) {
        PyErr_Format(PyExc_ValueError, "segments: two or more offsets of type uint64 are due, not %zd of %s",
                     a->n, type_name(a->type));
        *failed = true;
    }
    return a;
}

/* split(context, keys, buckets, kind, a, b, data, column or None, want permutation, want rank, segments or
 * None): (keys, offsets, column, permutation, rank). */
static PyObject *split(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(11, 11)
    bool failed = false;
    cohort_fn fn;
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "keys", 4, 8) : NULL;
    uint32_t buckets = keys ? (uint32_t)number_of(arguments[2], "buckets", 1, COHORT_BUCKETS_MOST) : 0;
    array *column = optional(arguments[7], "values", &failed);
    int want_permutation = PyObject_IsTrue(arguments[8]), want_rank = PyObject_IsTrue(arguments[9]);
    array *segments = failed ? NULL : segments_of(arguments[10], &failed);
    if (!keys || failed || PyErr_Occurred() || !fn_of(on, arguments + 3, &fn) ||
        !ids_fit(&fn, keys, arguments[6]) || !same_length(keys, column, "values"))
        return NULL;
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    d.buckets = buckets;
    d.segments = segments ? (uint64_t)segments->n - 1 : 0;
    uint64_t cells = d.segments ? d.segments * d.buckets : d.buckets;
    /* more are refused */
    cells = cells > COHORT_SEGMENT_BUCKETS_MOST ? COHORT_SEGMENT_BUCKETS_MOST + 1 : cells;
    struct parts p = {NULL, NULL, NULL, NULL, NULL};
    PyObject *result = NULL;
    if (make_parts(&p, memory_of(on, keys), keys, column, cells, want_permutation, want_rank)) {
        cohort_payload c = {DATA(column), DATA(p.column), column ? (uint32_t)type_bytes(column->type) : 0, 0};
        d.n = (uint64_t)keys->n;
        d.type = type_bytes(keys->type) == 8 ? COHORT_U64 : COHORT_U32;
        d.fn = &fn;
        d.keys = keys->data;
        d.keys_out = p.keys->data;
        d.payloads = column != NULL;
        d.payload = column ? &c : NULL;
        d.permutation = DATA(p.permutation);
        d.rank = DATA(p.rank);
        d.permutation_bytes = d.rank_bytes = 8;
        d.segment_offsets = DATA(segments);
        d.offsets = p.offsets->data;
        outcome o;
        call_begin(on, &o);
        o.wait = keys->on;
        o.status = cohort_multisplit(on->c, &d);
        if (call_end(on, &o))
            result = PyTuple_Pack(5, p.keys, p.offsets, or_none(p.column), or_none(p.permutation),
                                  or_none(p.rank));
    }
    drop_parts(&p);
    return result;
}

/* histogram(context, keys, buckets, kind, a, b, data): counts. */
static PyObject *histogram(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(7, 7)
    cohort_fn fn;
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "keys", 4, 8) : NULL;
    uint32_t buckets = keys ? (uint32_t)number_of(arguments[2], "buckets", 1, COHORT_BUCKETS_MOST) : 0;
    if (!keys || PyErr_Occurred() || !fn_of(on, arguments + 3, &fn) || !ids_fit(&fn, keys, arguments[6]))
        return NULL;
    array *bins = array_on(memory_of(on, keys), COHORT_I64, (Py_ssize_t)buckets);
    if (!bins)
        return NULL;
    cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
    d.n = (uint64_t)keys->n;
    d.type = type_bytes(keys->type) == 8 ? COHORT_U64 : COHORT_U32;
    d.buckets = buckets;
    d.fn = &fn;
    d.keys = keys->data;
    d.bins = bins->data;
    outcome o;
    call_begin(on, &o);
    o.wait = keys->on;
    o.status = cohort_histogram(on->c, &d);
    if (!call_end(on, &o))
        Py_CLEAR(bins);
    return (PyObject *)bins;
}

/* chooser_of(on, keys, {object, set}): what keeps a key, a mask of a byte each or membership in a set. */
static bool chooser_of(const context *on, const array *keys, PyObject *const *arguments, cohort_fn *fn)
{
    if (is_array(arguments[0])) {
        array *mask = array_of_bytes(arguments[0], "mask", 1, 1);
        *fn = cohort_fn_ids8(mask ? mask->data : NULL);
        return mask && same_length(keys, mask, "mask");
    }
    handle *sets = handle_of(arguments[0], "sets");
    uint64_t set = sets ? PyLong_AsUnsignedLongLong(arguments[1]) : 0;
    if (sets && sets->on != on)
        PyErr_SetString(PyExc_ValueError, "mask: a collection of another context");
    *fn = cohort_fn_member(sets ? sets->object : NULL, set);
    return !PyErr_Occurred();
}

/* compact(context, keys, mask, 0): the keys where the mask is not 0. compact(context, keys, collection, set):
 * those that are members. */
static PyObject *compact(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    cohort_fn fn;
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "values", 4, 8) : NULL;
    if (!keys || !chooser_of(on, keys, arguments + 2, &fn))
        return NULL;
    array *kept = array_on(memory_of(on, keys), keys->type, keys->n);
    if (!kept)
        return NULL;
    uint64_t total = 0;
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    d.n = (uint64_t)keys->n;
    d.type = type_bytes(keys->type) == 8 ? COHORT_U64 : COHORT_U32;
    d.fn = &fn;
    d.keys = keys->data;
    d.kept = kept->data;
    d.total = &total;
    outcome o;
    call_begin(on, &o);
    o.wait = keys->on;
    o.status = cohort_compact(on->c, &d);
    if (!call_end(on, &o))
        Py_CLEAR(kept);
    else
        kept->n = (Py_ssize_t)total;
    return (PyObject *)kept;
}

/* The keys, starts and lengths of runs, cut to as many as there are; of starts and lengths what has room. */
static bool find_runs(context *on, const array *keys, array *const part[3])
{
    uint64_t total = 0;
    cohort_runs_desc d = COHORT_RUNS_INIT;
    d.n = (uint64_t)keys->n;
    d.type = type_bytes(keys->type) == 8 ? COHORT_U64 : COHORT_U32;
    d.keys = keys->data;
    d.distinct = part[0]->data;
    d.starts = part[1] ? part[1]->data : NULL;
    d.lengths = part[2] ? part[2]->data : NULL;
    d.total = &total;
    outcome o;
    call_begin(on, &o);
    o.wait = keys->on;
    o.status = cohort_runs(on->c, &d);
    if (!call_end(on, &o))
        return false;
    for (int i = 0; i < 3; i++)
        if (part[i])
            part[i]->n = (Py_ssize_t)total;
    return true;
}

/* runs(context, keys, starts, lengths): the key of each run of equal keys, where it begins, and how long it
 * is; None in place of what is not wanted. */
static PyObject *runs(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "keys", 4, 8) : NULL;
    if (!keys)
        return NULL;
    context *memory = memory_of(on, keys);
    array *part[3] = {array_on(memory, keys->type, keys->n)};
    bool ok = part[0];
    for (int i = 1; i < 3 && ok; i++)
        if (PyObject_IsTrue(arguments[1 + i]))
            ok = (part[i] = array_on(memory, COHORT_I64, keys->n));
    PyObject *all = NULL;
    if (ok && find_runs(on, keys, part))
        all = PyTuple_Pack(3, part[0], part[1] ? (PyObject *)part[1] : Py_None,
                           part[2] ? (PyObject *)part[2] : Py_None);
    for (int i = 0; i < 3; i++)
        DROP(part[i]);
    return all;
}

/* Numbers in the memory of the context, compared by their bits, as a frame. */
static cohort_status frame_made(const context *on, const array *a, cohort_frame **out)
{
    cohort_array column = COHORT_ARRAY_INIT;
    column.type = type_bytes(a->type) == 8 ? COHORT_U64 : COHORT_U32;
    column.values = a->data;
    return cohort_frame_create(on->c, (uint64_t)a->n, 1, &column, out);
}

/* rows_among(context, keys, values): the first of `values` that each key equals, as int64; -1 for none. In
 * the memory that both lie in. */
static PyObject *rows_among(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "keys", 4, 8) : NULL;
    array *values = keys ? array_of_bytes(arguments[2], "values", 4, 8) : NULL;
    if (!values)
        return NULL;
    if (type_bytes(keys->type) != type_bytes(values->type) || keys->on != values->on)
        return PyErr_Format(PyExc_ValueError, "values: must be of the keys' type and memory");
    array *rows = array_on(memory_of(on, keys), COHORT_I64, keys->n);
    if (!rows)
        return NULL;
    cohort_frame *of = NULL, *among = NULL;
    outcome o;
    call_begin(on, &o);
    o.wait = keys->on;
    o.status = frame_made(on, keys, &of);
    if (!o.status)
        o.status = frame_made(on, values, &among);
    if (!o.status)
        o.status = cohort_index_in(of, among, NULL, 8, rows->data);
    cohort_frame_release(of);
    cohort_frame_release(among);
    if (!call_end(on, &o))
        Py_CLEAR(rows);
    return (PyObject *)rows;
}

PyMethodDef ops_functions[] = {FAST(sort), FAST(split),      FAST(histogram),      FAST(compact),
                               FAST(runs), FAST(rows_among), {NULL, NULL, 0, NULL}};
