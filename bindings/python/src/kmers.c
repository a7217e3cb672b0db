/* kmers.c: the calls of cohort/kmer.h. A handle of the kind "kmers". */
#include "core.h"

static void destroy(void *kmers)
{
    cohort_kmers_destroy(kmers);
}

/* kmers_new(context, k, canonical) */
static PyObject *kmers_new(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = context_of(arguments[0]);
    uint64_t k = on ? number_of(arguments[1], "k", 1, 32) : 0;
    cohort_kmers_options options = COHORT_KMERS_OPTIONS_INIT;
    options.k = (uint32_t)k;
    options.canonical = (uint32_t)PyObject_IsTrue(arguments[2]);
    handle *h = on && !PyErr_Occurred() ? handle_new(on, "kmers", destroy) : NULL;
    if (!h)
        return NULL;
    outcome o;
    call_begin(on, &o);
    o.status = cohort_kmers_create(on->c, &options, (cohort_kmers **)&h->object);
    if (!call_end(on, &o))
        Py_CLEAR(h);
    return (PyObject *)h;
}

/* kmers_begin(kmers, name) */
static PyObject *kmers_begin(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = handle_of(arguments[0], "kmers");
    const char *name = h ? PyUnicode_AsUTF8AndSize(arguments[1], NULL) : NULL;
    if (!name)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_kmers_begin(h->object, name);
    return Py_XNewRef(call_end(h->on, &o));
}

/* kmers_feed(kmers, bytes) */
static PyObject *kmers_feed(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = handle_of(arguments[0], "kmers");
    Py_buffer bytes;
    if (!h || PyObject_GetBuffer(arguments[1], &bytes, PyBUF_SIMPLE))
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_kmers_feed(h->object, bytes.buf, (size_t)bytes.len);
    PyObject *done = Py_XNewRef(call_end(h->on, &o));
    PyBuffer_Release(&bytes);
    return done;
}

static PyObject *kmers_end(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "kmers");
    if (!h)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_kmers_end(h->object);
    return Py_XNewRef(call_end(h->on, &o));
}

/* kmers_totals(kmers): (k-mers counted, sequences). */
static PyObject *kmers_totals(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "kmers");
    return h ? Py_BuildValue("KK", cohort_kmers_total(h->object), cohort_kmers_sequences(h->object)) : NULL;
}

/* kmers_items(kmers): (k-mers, how often each occurs), in no order. */
static PyObject *kmers_items(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "kmers");
    uint64_t size = 0;
    if (!h)
        return NULL;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_map_size(cohort_kmers_map(h->object), &size);
    if (!call_end(h->on, &o))
        return NULL;
    array *words = array_new(COHORT_U64, (Py_ssize_t)size);
    array *counts = words ? array_new(COHORT_I64, (Py_ssize_t)size) : NULL;
    PyObject *pair = NULL;
    if (counts) {
        call_begin(h->on, &o);
        o.status = cohort_map_export(cohort_kmers_map(h->object), size, words->data, counts->data, &size);
        if (call_end(h->on, &o))
            pair = PyTuple_Pack(2, words, counts);
    }
    DROP(words);
    DROP(counts);
    return pair;
}

/* kmers_letters(words, k): a list of strings. */
static PyObject *kmers_letters(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    array *words = array_of_bytes(arguments[0], "words", 8, 8);
    long k = words ? PyLong_AsLong(arguments[1]) : 0;
    if (!words || PyErr_Occurred())
        return NULL;
    if (k < 1 || k > COHORT_KMER_MOST)
        return PyErr_Format(PyExc_ValueError, "k: is %ld, and must be 1 to %d", k, COHORT_KMER_MOST);
    PyObject *list = PyList_New(words->n);
    for (Py_ssize_t i = 0; list && i < words->n; ++i) {
        char letters[COHORT_KMER_MOST + 4];
        cohort_kmer_letters(letters, ((const uint64_t *)words->data)[i], (uint32_t)k);
        PyObject *text = PyUnicode_FromStringAndSize(letters, k);
        if (!text || PyList_SetItem(list, i, text))
            Py_CLEAR(list);
    }
    return list;
}

PyMethodDef kmers_functions[] = {FAST(kmers_new),
                                 FAST(kmers_begin),
                                 FAST(kmers_feed),
                                 {"kmers_end", kmers_end, METH_O, NULL},
                                 {"kmers_totals", kmers_totals, METH_O, NULL},
                                 {"kmers_items", kmers_items, METH_O, NULL},
                                 FAST(kmers_letters),
                                 {NULL, NULL, 0, NULL}};
