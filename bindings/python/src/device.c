/* device.c: arrays in the memory of a GPU: made, copied, and what the passes of this module over arrays,
 * which are the host's, do for them. */
#include "core.h"

#include <stdlib.h>

/* An array that belongs to nobody yet: of the host if `on` is NULL or a CPU's. */
array *array_on(context *on, int type, Py_ssize_t n)
{
    if (!on || on->ordinal < 0)
        return array_new(type, n);
    size_t unit = type_bytes(type);
    if (n < 0 || (size_t)n > (size_t)PY_SSIZE_T_MAX / unit)
        return (array *)PyErr_NoMemory();
    array *a = array_empty(type, n);
    if (!a)
        return NULL;
    outcome o;
    call_begin(on, &o);
    o.status = cohort_alloc(on->c, n ? (uint64_t)n * unit : 1, &a->block);
    PyObject *done = call_end(on, &o);
    a->data = a->block;
    a->on = a->block ? (context *)KEPT(on) : NULL;
    if (!done)
        Py_CLEAR(a);
    return a;
}

/* All that was asked of the array's context is done. */
bool settled(array *a)
{
    if (!a->on)
        return true;
    outcome o;
    call_begin(a->on, &o);
    o.wait = true;
    return call_end(a->on, &o);
}

bool in_gpu(const array *a, const char *instead)
{
    if (a->on)
        PyErr_Format(PyExc_BufferError,
                     "the array lies in the memory of cuda:%d: use %s, or libcohort.to_host", a->on->ordinal,
                     instead);
    return a->on;
}

/* The bytes of an array to one of the same size, in any two memories. */
static bool copy_bytes(array *to, const array *from)
{
    context *on = to->on ? to->on : from->on;
    outcome o;
    call_begin(on, &o);
    o.wait = true;
    if (from->n)
        o.status = cohort_copy(on->c, to->data, from->data, (uint64_t)from->n * (uint64_t)from->stride);
    return call_end(on, &o);
}

array *array_to_host(array *a)
{
    if (!a->on)
        return (array *)KEPT(a);
    array *copy = array_new(a->type, a->n);
    if (copy && !copy_bytes(copy, a))
        Py_CLEAR(copy);
    return copy;
}

array *array_to_device(context *on, array *a)
{
    if (a->on || on->ordinal < 0)
        return (array *)KEPT(a);
    array *copy = array_on(on, a->type, a->n);
    if (copy && !copy_bytes(copy, a))
        Py_CLEAR(copy);
    return copy;
}

bool copy_element(const array *a, Py_ssize_t i, void *to)
{
    const char *from = (const char *)a->data + i * a->stride;
    if (!a->on) {
        memcpy(to, from, (size_t)a->stride);
        return true;
    }
    outcome o;
    call_begin(a->on, &o);
    o.status = cohort_copy(a->on->c, to, from, (uint64_t)a->stride);
    return call_end(a->on, &o);
}

/* ---- passes that are the host's ------------------------------------------------------------------------ */

context *gpu_among(PyObject *const *arguments, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; ++i)
        if (is_array(arguments[i]) && ((array *)arguments[i])->on)
            return ((array *)arguments[i])->on;
    return NULL;
}

/* The arrays among the parts of an answer, in the GPU's memory. Takes `answer` over, which may be NULL. */
static PyObject *back(context *on, PyObject *answer)
{
    if (!answer || (!is_array(answer) && !PyTuple_Check(answer)))
        return answer;
    PyObject *out = NULL;
    if (is_array(answer)) {
        out = (PyObject *)array_to_device(on, (array *)answer);
    } else if ((out = PyTuple_New(PyTuple_Size(answer)))) {
        for (Py_ssize_t i = 0; out && i < PyTuple_Size(answer); ++i) {
            PyObject *part = back(on, KEPT(PyTuple_GetItem(answer, i)));
            if (!part || PyTuple_SetItem(out, i, part))
                Py_CLEAR(out);
        }
    }
    Py_DECREF(answer);
    return out;
}

PyObject *by_host(context *on, fast *function, PyObject *const *arguments, Py_ssize_t count)
{
    enum { MOST = 4 }; /* arguments of a pass */
    PyObject *host[MOST] = {NULL}, *answer = NULL;
    bool fine = count <= MOST;
    for (Py_ssize_t i = 0; fine && i < count; ++i) {
        host[i] =
            is_array(arguments[i]) ? (PyObject *)array_to_host((array *)arguments[i]) : KEPT(arguments[i]);
        fine = host[i];
    }
    if (fine)
        answer = function(NULL, host, count);
    Py_ssize_t same = 0;
    while (same < count && host[same] != answer)
        ++same;
    if (answer && same < count) { /* nothing was to be changed */
        Py_DECREF(answer);
        answer = KEPT(arguments[same]);
    } else {
        answer = back(on, answer);
    }
    for (Py_ssize_t i = 0; i < MOST; ++i)
        DROP(host[i]);
    return answer;
}

/* With the context's lock held. */
cohort_status spread_bits(context *on, const array *bits, array *hit)
{
    if (!hit->on) {
        bits_to_bytes(bits->data, hit->data, hit->n);
        return COHORT_OK;
    }
    enum { ENTRIES = 1 << 20 };
    uint8_t *some = malloc(ENTRIES / 8), *bytes = malloc(ENTRIES);
    cohort_status status = some && bytes ? COHORT_OK : COHORT_NO_MEMORY;
    for (Py_ssize_t i = 0; !status && i < hit->n; i += ENTRIES) {
        Py_ssize_t n = hit->n - i < ENTRIES ? hit->n - i : ENTRIES;
        status = cohort_copy(on->c, some, (const uint8_t *)bits->data + i / 8, (uint64_t)(n + 7) / 8);
        bits_to_bytes(some, bytes, n);
        if (!status)
            status = cohort_copy(on->c, (uint8_t *)hit->data + i, bytes, (uint64_t)n);
    }
    free(some);
    free(bytes);
    return status;
}

/* 0, 1, .. n - 1: how a split into one bucket moves its entries. */
array *iota_on(context *on, int type, Py_ssize_t n)
{
    array *keys = array_on(on, COHORT_U32, n), *a = keys ? array_on(on, type, n) : NULL;
    if (a) {
        cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
        d.n = (uint64_t)n;
        d.buckets = 1;
        const cohort_fn one = cohort_fn_modulo();
        d.fn = &one;
        d.keys = keys->data;
        d.permutation = a->data;
        d.permutation_bytes = (uint32_t)type_bytes(type);
        outcome o;
        call_begin(on, &o);
        o.wait = true;
        if (n)
            o.status = cohort_fill(on->c, keys->data, 0, (uint64_t)n * 4);
        if (n && o.status == COHORT_OK)
            o.status = cohort_multisplit(on->c, &d);
        if (!call_end(on, &o))
            Py_CLEAR(a);
    }
    DROP(keys);
    return a;
}

/* Whether floats of a GPU's memory have NaNs of more bits than one and, with `zeros`, negative zeros; without
 * it negative NaNs count alone, which a sort would put first. -1: the exception is set. */
int differs_on(const array *a, bool zeros)
{
    static const uint32_t bounds_32[] = {0x7f800001, 0x7fc00000, 0x7fc00001,
                                         0x80000000, 0x80000001, 0xff800001};
    static const uint64_t bounds_64[] = {0x7ff0000000000001, 0x7ff8000000000000, 0x7ff8000000000001,
                                         0x8000000000000000, 0x8000000000000001, 0xfff0000000000001};
    enum { BOUNDS = 6 };
    uint64_t bins[BOUNDS + 1] = {0};
    bool wide = a->stride == 8;
    cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
    d.n = (uint64_t)a->n;
    d.type = wide ? COHORT_U64 : COHORT_U32;
    d.buckets = BOUNDS + 1;
    const cohort_fn fn = cohort_fn_splitters(wide ? (const void *)bounds_64 : bounds_32, BOUNDS);
    d.fn = &fn;
    d.keys = a->data;
    d.bins = bins;
    outcome o;
    call_begin(a->on, &o);
    o.wait = true;
    o.status = cohort_histogram(a->on->c, &d);
    if (!call_end(a->on, &o))
        return -1;
    return bins[6] || (zeros && (bins[1] || bins[3] || bins[4]));
}

/* ---- for Python ---------------------------------------------------------------------------------------- */

/* to_host(array) */
static PyObject *to_host(PyObject *module, PyObject *object)
{
    (void)module;
    array *a = array_of(object, "array");
    return a ? (PyObject *)array_to_host(a) : NULL;
}

/* to_device(context, array): on a CPU's context the array itself. */
static PyObject *to_device(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    context *on = context_of(arguments[0]);
    array *a = on ? array_of(arguments[1], "array") : NULL;
    return a ? (PyObject *)array_to_device(on, a) : NULL;
}

/* settle(array): waits until nobody writes it any more, as far as its context knows. */
static PyObject *settle(PyObject *module, PyObject *object)
{
    (void)module;
    array *a = array_of(object, "array");
    return a && settled(a) ? KEPT(Py_None) : NULL;
}

/* device_view(context, address, n, type, read-only, owner): an Array of memory that `owner` has. */
static PyObject *device_view(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(6, 6)
    context *on = context_of(arguments[0]);
    unsigned long long address = on ? PyLong_AsUnsignedLongLong(arguments[1]) : 0;
    Py_ssize_t n = on ? PyLong_AsSsize_t(arguments[2]) : 0;
    long type = on ? PyLong_AsLong(arguments[3]) : 0;
    int readonly = PyObject_IsTrue(arguments[4]);
    if (!on || PyErr_Occurred())
        return NULL;
    if (type < 1 || type >= TYPES || n < 0 || on->ordinal < 0)
        return PyErr_Format(PyExc_ValueError, "type %ld, %zd entries, on cuda:%d", type, n, on->ordinal);
    return (PyObject *)array_of_gpu(on, (void *)(uintptr_t)address, n, (int)type, readonly, arguments[5]);
}

/* Memory that `owner` has. */
array *array_of_gpu(context *on, void *data, Py_ssize_t n, int type, bool readonly, PyObject *owner)
{
    if (!n)
        return array_on(on, type, n); /* an empty one may have no address */
    array *a = array_empty(type, n);
    if (a) {
        a->data = data;
        a->readonly = readonly;
        a->base = KEPT(owner);
        a->on = (context *)KEPT(on);
    }
    return a;
}

/* context_after(context, stream): its work from now on comes after what is enqueued on the stream. */
static PyObject *context_after(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    context *on = context_of(arguments[0]);
    void *stream = on ? stream_of(arguments[1]) : NULL;
    if (!on || PyErr_Occurred())
        return NULL;
    outcome o;
    call_begin(on, &o);
    o.status = cohort_set_stream(on->c, stream);
    if (!o.status)
        o.status = cohort_set_stream(on->c, on->stream);
    return Py_XNewRef(call_end(on, &o));
}

PyMethodDef device_functions[] = {{"to_host", to_host, METH_O, NULL},
                                  {"settle", settle, METH_O, NULL},
                                  FAST(to_device),
                                  FAST(device_view),
                                  FAST(context_after),
                                  {NULL, NULL, 0, NULL}};
