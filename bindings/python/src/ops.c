/* ops.c: the calls of cohort/sort.h, multisplit.h, histogram.h, compact.h. */
#include "core.h"

/* Where the results of a call with these keys are due. */
static context *memory_of(context *on, const array *keys)
{
    return keys->on ? on : NULL;
}

/* sort(context, keys, descending, want permutation, column or None): (keys, permutation or None, column or
 * None). */
static PyObject *sort(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(5, 5)
    bool failed = false;
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "keys", 4, 8) : NULL;
    int descending = PyObject_IsTrue(arguments[2]), want_permutation = PyObject_IsTrue(arguments[3]);
    array *column = optional(arguments[4], "values", &failed);
    if (!keys || failed || !same_length(keys, column, "values"))
        return NULL;
    context *at = memory_of(on, keys);
    array *keys_out = array_on(at, keys->type, keys->n);
    array *permutation = want_permutation && keys_out ? array_on(at, COHORT_I64, keys->n) : NULL;
    array *column_out = column && keys_out ? array_on(at, column->type, keys->n) : NULL;
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
            result = PyTuple_Pack(3, keys_out, or_none(permutation), or_none(column_out));
    }
    DROP(keys_out);
    DROP(permutation);
    DROP(column_out);
    return result;
}

/* fn_of(kind, a, b, data): a function of keys. */
static bool fn_of(PyObject *const *arguments, cohort_fn *fn)
{
    bool failed = false;
    long kind = PyLong_AsLong(arguments[0]);
    uint64_t a = PyLong_AsUnsignedLongLongMask(arguments[1]), b = PyLong_AsUnsignedLongLongMask(arguments[2]);
    array *data = optional(arguments[3], "by", &failed);
    if (failed || PyErr_Occurred())
        return false;
    *fn = cohort_fn_make((cohort_fn_kind)kind, a, b, DATA(data), data ? (uint64_t)data->n : 0);
    return true;
}

static bool ids_fit(const cohort_fn *fn, const array *keys, PyObject *data)
{
    return fn->kind < COHORT_FN_IDS8 || data == Py_None || same_length(keys, (array *)data, "by");
}

/* split(context, keys, buckets, kind, a, b, data, column or None, want permutation): (keys, offsets,
 * column, permutation). */
static PyObject *split(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(9, 9)
    bool failed = false;
    cohort_fn fn;
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "keys", 4, 8) : NULL;
    unsigned long m = keys ? PyLong_AsUnsignedLong(arguments[2]) : 0;
    array *column = optional(arguments[7], "values", &failed);
    int want_permutation = PyObject_IsTrue(arguments[8]);
    if (!keys || failed || PyErr_Occurred() || !fn_of(arguments + 3, &fn) ||
        !ids_fit(&fn, keys, arguments[6]) || !same_length(keys, column, "values"))
        return NULL;
    uint32_t buckets = m > COHORT_BUCKETS_MOST ? COHORT_BUCKETS_MOST + 1 : (uint32_t)m;
    context *at = memory_of(on, keys);
    array *keys_out = array_on(at, keys->type, keys->n);
    array *offsets = keys_out ? array_on(at, COHORT_I64, (Py_ssize_t)buckets + 1) : NULL;
    array *column_out = column && offsets ? array_on(at, column->type, keys->n) : NULL;
    array *permutation = want_permutation && offsets ? array_on(at, COHORT_I64, keys->n) : NULL;
    PyObject *result = NULL;
    if (!PyErr_Occurred()) {
        cohort_payload c = {DATA(column), DATA(column_out), column ? (uint32_t)type_bytes(column->type) : 0,
                            0};
        cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
        d.n = (uint64_t)keys->n;
        d.type = type_bytes(keys->type) == 8 ? COHORT_U64 : COHORT_U32;
        d.buckets = buckets;
        d.fn = &fn;
        d.keys = keys->data;
        d.keys_out = keys_out->data;
        d.payloads = column != NULL;
        d.payload = column ? &c : NULL;
        d.permutation = DATA(permutation);
        d.permutation_bytes = 8;
        d.offsets = offsets->data;
        outcome o;
        call_begin(on, &o);
        o.wait = keys->on;
        o.status = cohort_multisplit(on->c, &d);
        if (call_end(on, &o))
            result = PyTuple_Pack(4, keys_out, offsets, or_none(column_out), or_none(permutation));
    }
    DROP(keys_out);
    DROP(offsets);
    DROP(column_out);
    DROP(permutation);
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
    unsigned long m = keys ? PyLong_AsUnsignedLong(arguments[2]) : 0;
    if (!keys || PyErr_Occurred() || !fn_of(arguments + 3, &fn) || !ids_fit(&fn, keys, arguments[6]))
        return NULL;
    uint32_t buckets = m > COHORT_BUCKETS_MOST ? COHORT_BUCKETS_MOST + 1 : (uint32_t)m;
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

/* compact(context, keys, mask): the keys where the mask, a byte each, is not 0. */
static PyObject *compact(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = context_of(arguments[0]);
    array *keys = on ? array_of_bytes(arguments[1], "values", 4, 8) : NULL;
    array *mask = keys ? array_of_bytes(arguments[2], "mask", 1, 1) : NULL;
    if (!mask || !same_length(keys, mask, "mask"))
        return NULL;
    array *kept = array_on(memory_of(on, keys), keys->type, keys->n);
    if (!kept)
        return NULL;
    uint64_t total = 0;
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    d.n = (uint64_t)keys->n;
    d.type = type_bytes(keys->type) == 8 ? COHORT_U64 : COHORT_U32;
    const cohort_fn fn = cohort_fn_ids8(mask->data);
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

PyMethodDef ops_functions[] = {
    FAST(sort), FAST(split), FAST(histogram), FAST(compact), {NULL, NULL, 0, NULL}};
