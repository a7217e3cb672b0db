/* multimap.c: the calls of cohort/multimap.h. A handle of the kind "multimap", which knows its width as
 * its type. */
#include "core.h"

static void destroy(void *multimap)
{
    cohort_multimap_destroy(multimap);
}

static size_t key_bytes(const handle *h)
{
    return h->type == COHORT_WIDTH_32_32 ? 4 : 8;
}
static size_t value_bytes(const handle *h)
{
    return h->type == COHORT_WIDTH_64_64 ? 8 : 4;
}

static cohort_status reader(void *multimap, cohort_context *by, void **out)
{
    return cohort_multimap_reader(multimap, by, (cohort_multimap **)out);
}

/* Where what a call with these keys writes is due. */
static context *memory_of(const reading *r, const array *keys)
{
    return keys->on ? r->on : NULL;
}

static array *keys_of(const handle *h, PyObject *object)
{
    return h ? array_of_bytes(object, "keys", key_bytes(h), key_bytes(h)) : NULL;
}

/* The types of keys and values that Python wants, of the multimap's width. */
static bool fits(long type, size_t bytes, const char *argument)
{
    if (type >= 1 && type < TYPES && type_bytes((int)type) == bytes)
        return true;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s: type %ld has not the %zu bytes of the multimap's", argument, type,
                     bytes);
    return false;
}

/* multimap_build(context, width, keys, values) */
static PyObject *multimap_build(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    context *on = context_of(arguments[0]);
    long width = on ? PyLong_AsLong(arguments[1]) : 0;
    handle *h = on && !PyErr_Occurred() ? handle_new(on, "multimap", destroy) : NULL;
    if (!h)
        return NULL;
    h->type = (int)width;
    array *keys = keys_of(h, arguments[2]);
    array *values = keys ? array_of_bytes(arguments[3], "values", value_bytes(h), value_bytes(h)) : NULL;
    if (values && same_length(keys, values, "values")) {
        cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
        options.width = (cohort_width)width;
        outcome o;
        call_begin(on, &o);
        o.wait = keys->on;
        o.status = cohort_multimap_build(on->c, &options, (uint64_t)keys->n, keys->data, values->data, NULL,
                                         (cohort_multimap **)&h->object);
        if (call_end(on, &o))
            return (PyObject *)h;
    }
    Py_DECREF(h);
    return NULL;
}

/* multimap_insert(multimap, keys, values) */
static PyObject *multimap_insert(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *h = handle_of(arguments[0], "multimap");
    array *keys = keys_of(h, arguments[1]);
    array *values = keys ? array_of_bytes(arguments[2], "values", value_bytes(h), value_bytes(h)) : NULL;
    if (!values || !same_length(keys, values, "values"))
        return NULL;
    outcome o;
    change_begin(h, &o);
    o.wait = keys->on;
    o.status = cohort_multimap_insert(h->object, (uint64_t)keys->n, keys->data, values->data, NULL);
    return Py_XNewRef(call_end(h->on, &o));
}

static bool size_of(reading *r, uint64_t *keys, uint64_t *values)
{
    outcome o;
    if (!r->on)
        return false;
    read_begin(r, &o, reader);
    if (o.status == COHORT_OK)
        o.status = cohort_multimap_size(r->object, keys, values);
    return read_end(r, &o);
}

/* multimap_size(multimap): (distinct keys, values). */
static PyObject *multimap_size(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "multimap");
    if (!h)
        return NULL;
    uint64_t keys = 0, values = 0;
    reading r = read_by(h);
    PyObject *result = size_of(&r, &keys, &values) ? Py_BuildValue("KK", keys, values) : NULL;
    read_forget(&r);
    return result;
}

/* multimap_count(multimap, keys): how many values each key has. */
static PyObject *multimap_count(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *h = handle_of(arguments[0], "multimap");
    array *keys = keys_of(h, arguments[1]);
    reading r = keys ? read_by(h) : (reading){0};
    array *counts = r.on ? array_on(memory_of(&r, keys), COHORT_I64, keys->n) : NULL;
    if (counts) {
        outcome o;
        read_begin(&r, &o, reader);
        o.wait = keys->on;
        if (o.status == COHORT_OK)
            o.status = cohort_multimap_count(r.object, (uint64_t)keys->n, keys->data, counts->data);
        if (!read_end(&r, &o))
            Py_CLEAR(counts);
    }
    read_forget(&r);
    return (PyObject *)counts;
}

/* multimap_find(multimap, keys, type of the values, fallback): (one value of each key, hit as booleans). */
static PyObject *multimap_find(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    handle *h = handle_of(arguments[0], "multimap");
    array *keys = keys_of(h, arguments[1]);
    long type = keys ? PyLong_AsLong(arguments[2]) : 0;
    array *fallback = keys ? array_of_bytes(arguments[3], "default", value_bytes(h), value_bytes(h)) : NULL;
    if (!fallback || !fits(type, value_bytes(h), "values"))
        return NULL;
    if (fallback->n != 1)
        return PyErr_Format(PyExc_ValueError, "default: has %zd entries, and must have one", fallback->n);
    reading r = read_by(h);
    context *at = memory_of(&r, keys);
    array *values = r.on ? array_on(at, (int)type, keys->n) : NULL;
    array *bits = values ? array_on(at, COHORT_U32, keys->n / 32 + 1) : NULL;
    array *hit = bits ? array_on(at, TYPE_BOOL, keys->n) : NULL;
    PyObject *result = NULL;
    if (!PyErr_Occurred()) {
        cohort_batch batch = COHORT_BATCH_INIT;
        batch.hit = bits->data;
        outcome o;
        read_begin(&r, &o, reader);
        o.wait = keys->on;
        if (o.status == COHORT_OK)
            o.status = cohort_multimap_find(r.object, (uint64_t)keys->n, keys->data, values->data,
                                            fallback->data, &batch);
        if (o.status == COHORT_OK)
            o.status = spread_bits(r.on, bits, hit);
        if (read_end(&r, &o))
            result = PyTuple_Pack(2, values, hit);
    }
    read_forget(&r);
    DROP(values);
    DROP(bits);
    DROP(hit);
    return result;
}

static bool retrieve_once(reading *by, const array *keys, cohort_retrieve *r)
{
    outcome o;
    read_begin(by, &o, reader);
    o.wait = keys->on;
    if (o.status == COHORT_OK)
        o.status = cohort_multimap_retrieve(by->object, (uint64_t)keys->n, keys->data, r);
    return read_end(by, &o);
}

/* The arrays that a retrieval fills; queries and offsets are NULL where they are not wanted. */
struct rows {
    array *values, *queries, *offsets;
};

/* Arrays for so many rows, in the memory of the keys. */
static bool room_of_rows(cohort_retrieve *r, struct rows *rows, context *at, int type, bool queries,
                         uint64_t room)
{
    DROP(rows->values);
    DROP(rows->queries);
    rows->queries = NULL;
    rows->values = array_on(at, type, (Py_ssize_t)room);
    if (rows->values && queries)
        rows->queries = array_on(at, COHORT_I64, (Py_ssize_t)room);
    r->capacity = room;
    r->values = DATA(rows->values);
    r->queries = DATA(rows->queries);
    return !PyErr_Occurred();
}

/* Fetches the result, or sizes it first. The multimap is not locked in between: *grown if another thread has
 * inserted values of the keys meanwhile, so that the rows do not fit together. */
static bool retrieve_rows(reading *by, const array *keys, int type, const bool want[2], struct rows *rows,
                          bool *grown)
{
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    context *at = memory_of(by, keys);
    *grown = false;
    rows->offsets = want[1] ? array_on(at, COHORT_I64, keys->n + 1) : NULL;
    r.offsets = DATA(rows->offsets);
    if (PyErr_Occurred() || !room_of_rows(&r, rows, at, type, want[0], (uint64_t)room_for(keys->n)) ||
        !retrieve_once(by, keys, &r))
        return false;
    const uint64_t total = r.total;
    r.offsets = NULL;
    if (total > r.capacity &&
        (!room_of_rows(&r, rows, at, type, want[0], total) || !retrieve_once(by, keys, &r)))
        return false;
    rows->values->n = (Py_ssize_t)total;
    if (rows->queries)
        rows->queries->n = (Py_ssize_t)total;
    *grown = r.total != total;
    return true;
}

/* multimap_retrieve(multimap, keys, type of the values, want queries, want offsets): (values, queries,
 * offsets). */
static PyObject *multimap_retrieve(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(5, 5)
    handle *h = handle_of(arguments[0], "multimap");
    array *keys = keys_of(h, arguments[1]);
    long type = keys ? PyLong_AsLong(arguments[2]) : 0;
    bool want[2] = {PyObject_IsTrue(arguments[3]), PyObject_IsTrue(arguments[4])}, grown = true;
    if (!keys || !fits(type, value_bytes(h), "values"))
        return NULL;
    PyObject *result = NULL;
    reading r = read_by(h);
    while (grown && r.on) {
        struct rows rows = {NULL, NULL, NULL};
        if (retrieve_rows(&r, keys, (int)type, want, &rows, &grown) && !grown)
            result = PyTuple_Pack(3, rows.values, or_none(rows.queries), or_none(rows.offsets));
        DROP(rows.values);
        DROP(rows.queries);
        DROP(rows.offsets);
    }
    read_forget(&r);
    return result;
}

/* Everything into arrays for n keys and as many values as they hold; *grown if another thread has inserted
 * since they were made, and then nothing is written. The library puts the levels together for it, so it
 * counts as a change. */
static bool export_all(handle *h, context *at, array *keys, array *offsets, array *values, bool *grown)
{
    uint64_t n = 0, total = 0;
    outcome o;
    change_begin(h, &o);
    o.wait = at;
    o.status = cohort_multimap_size(h->object, &n, &total);
    *grown = n != (uint64_t)keys->n || total != (uint64_t)values->n;
    if (o.status == COHORT_OK && !*grown)
        o.status = cohort_multimap_export(h->object, keys->data, offsets->data, values->data);
    return call_end(h->on, &o);
}

/* multimap_items(multimap, type of keys, type of values, in its GPU's memory): (distinct keys, offsets,
 * values). */
static PyObject *multimap_items(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    handle *h = handle_of(arguments[0], "multimap");
    context *at = h && PyObject_IsTrue(arguments[3]) ? h->on : NULL;
    long key_type = h ? PyLong_AsLong(arguments[1]) : 0, value_type = h ? PyLong_AsLong(arguments[2]) : 0;
    if (!h || !fits(key_type, key_bytes(h), "keys") || !fits(value_type, value_bytes(h), "values"))
        return NULL;
    PyObject *result = NULL;
    reading r = read_by(h);
    uint64_t n = 0, total = 0;
    for (bool grown = true; grown && size_of(&r, &n, &total);) {
        array *keys = array_on(at, (int)key_type, (Py_ssize_t)n);
        array *offsets = keys ? array_on(at, COHORT_I64, (Py_ssize_t)n + 1) : NULL;
        array *values = offsets ? array_on(at, (int)value_type, (Py_ssize_t)total) : NULL;
        grown = false;
        if (!PyErr_Occurred() && export_all(h, at, keys, offsets, values, &grown) && !grown)
            result = PyTuple_Pack(3, keys, offsets, values);
        DROP(keys);
        DROP(offsets);
        DROP(values);
    }
    read_forget(&r);
    return result;
}

/* multimap_union(a, b): a new one with the pairs of both, which are on one context. */
static PyObject *multimap_union(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    handle *a = handle_of(arguments[0], "multimap"), *b = a ? handle_of(arguments[1], "multimap") : NULL;
    handle *h = b ? handle_new(a->on, "multimap", destroy) : NULL;
    if (!h)
        return NULL;
    h->type = a->type;
    outcome o;
    call_begin(a->on, &o);
    o.status = cohort_multimap_union(a->object, b->object, (cohort_multimap **)&h->object);
    if (!call_end(a->on, &o))
        Py_CLEAR(h);
    return (PyObject *)h;
}

/* multimap_save(multimap, path, table): puts the levels together, and so counts as a change. */
static PyObject *multimap_save(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *h = handle_of(arguments[0], "multimap");
    PyObject *path = h ? path_of(arguments[1]) : NULL;
    int table = PyObject_IsTrue(arguments[2]);
    if (!path)
        return NULL;
    char *name = PyBytes_AsString(path);
    outcome o;
    change_begin(h, &o);
    o.path = path;
    o.status = table ? cohort_multimap_save_table(h->object, name) : cohort_multimap_save(h->object, name);
    PyObject *done = Py_XNewRef(call_end(h->on, &o));
    Py_DECREF(path);
    return done;
}

/* multimap_load(context, path, map): (multimap, width). */
static PyObject *multimap_load(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = context_of(arguments[0]);
    PyObject *path = on ? path_of(arguments[1]) : NULL;
    handle *h = path ? handle_new(on, "multimap", destroy) : NULL;
    int map = PyObject_IsTrue(arguments[2]);
    PyObject *result = NULL;
    if (h) {
        char *name = PyBytes_AsString(path);
        cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
        outcome o;
        call_begin(on, &o);
        o.path = path;
        o.status = map ? cohort_multimap_map(on->c, name, (cohort_multimap **)&h->object)
                       : cohort_multimap_load(on->c, name, (cohort_multimap **)&h->object);
        if (o.status == COHORT_OK)
            o.status = cohort_multimap_get_options(h->object, &options);
        if (call_end(on, &o)) {
            h->type = (int)options.width;
            result = Py_BuildValue("Oi", h, h->type);
        }
    }
    DROP(path);
    DROP(h);
    return result;
}

/* multimap_clone(multimap): a new one with the same pairs, on the same context: the union with none. */
static PyObject *multimap_clone(PyObject *module, PyObject *object)
{
    (void)module;
    handle *from = handle_of(object, "multimap"),
           *h = from ? handle_new(from->on, "multimap", destroy) : NULL;
    if (!h)
        return NULL;
    h->type = from->type;
    cohort_multimap *none = NULL;
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    options.width = (cohort_width)from->type;
    outcome o;
    call_begin(from->on, &o);
    o.status = cohort_multimap_build(from->on->c, &options, 0, NULL, NULL, NULL, &none);
    if (o.status == COHORT_OK)
        o.status = cohort_multimap_union(from->object, none, (cohort_multimap **)&h->object);
    if (none)
        cohort_multimap_destroy(none);
    if (!call_end(from->on, &o))
        Py_CLEAR(h);
    return (PyObject *)h;
}

PyMethodDef multimap_functions[] = {FAST(multimap_build),    {"multimap_size", multimap_size, METH_O, NULL},
                                    FAST(multimap_insert),   {"multimap_clone", multimap_clone, METH_O, NULL},
                                    FAST(multimap_count),    FAST(multimap_find),
                                    FAST(multimap_retrieve), FAST(multimap_items),
                                    FAST(multimap_union),    FAST(multimap_save),
                                    FAST(multimap_load),     {NULL, NULL, 0, NULL}};
