/* map.c: the calls of cohort/map.h. A handle of the kind "map", which knows its width as its type; its arrays
 * are those of the map's width, which is checked. */
#include "core.h"

static void destroy(void *map)
{
    cohort_map_destroy(map);
}

static size_t key_bytes(cohort_width width)
{
    return width <= COHORT_WIDTH_32_32 ? 4 : 8;
}
static size_t value_bytes(cohort_width width)
{
    return width == COHORT_WIDTH_32_32 || width == COHORT_WIDTH_64_32 ? 4
           : width == COHORT_WIDTH_64_64                              ? 8
                                                                      : 0;
}

/* What every batch needs of its map; the width of a map never changes. */
static handle *map_of(PyObject *object, cohort_width *width)
{
    handle *h = handle_of(object, "map");
    if (h)
        *width = (cohort_width)h->type;
    return h;
}

static cohort_status reader(void *map, cohort_context *by, void **out)
{
    return cohort_map_reader(map, by, (cohort_map **)out);
}

/* Where what a change with these keys writes is due. */
static context *memory_of(handle *h, const array *keys)
{
    return keys->on ? h->on : NULL;
}

/* Room for a batch's counts, which lie where its arrays do: NULL for the host's memory. */
static array *counts_in(context *at)
{
    return at ? array_on(at, COHORT_U64, sizeof(cohort_counts) / 8) : NULL;
}

/* With the context's lock held. */
static cohort_status read_counts(context *on, const array *counted, cohort_counts *counts)
{
    return counted ? cohort_copy(on->c, counts, counted->data, sizeof *counts) : COHORT_OK;
}

static array *keys_of(PyObject *object, cohort_width width)
{
    return array_of_bytes(object, "keys", key_bytes(width), key_bytes(width));
}

/* values_of(object, width, keys): NULL without an exception where the width has none. */
static array *values_of(PyObject *object, cohort_width width, const array *keys, bool needed)
{
    size_t bytes = value_bytes(width);
    if (!bytes || (object == Py_None && !needed))
        return NULL;
    array *values = array_of_bytes(object, "values", bytes, bytes);
    if (values && values->n != keys->n) {
        PyErr_Format(PyExc_ValueError, "values: has %zd %s, and keys has %zd", values->n, ENTRIES(values->n),
                     keys->n);
        return NULL;
    }
    return values;
}

/* map_new(context, width, capacity, layout, keys, values or None): a map of them, or without both an empty
 * one. Of a key that comes several times the last value counts. */
static PyObject *map_new(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 6)
    context *on = context_of(arguments[0]);
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.width = on ? (cohort_width)PyLong_AsLong(arguments[1]) : 0;
    options.capacity = on ? number_of(arguments[2], "capacity", 0, UINT64_MAX) : 0;
    options.layout = on ? (cohort_layout)PyLong_AsLong(arguments[3]) : 0;
    array *keys = count == 6 && !PyErr_Occurred() ? keys_of(arguments[4], options.width) : NULL;
    array *values = keys ? values_of(arguments[5], options.width, keys, true) : NULL;
    handle *h = PyErr_Occurred() ? NULL : handle_new(on, "map", destroy);
    if (!h)
        return NULL;
    h->type = (int)options.width;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.winner = COHORT_WINNER_LAST;
    outcome o;
    call_begin(on, &o);
    o.wait = keys && keys->on;
    o.status = cohort_map_create(on->c, &options, (cohort_map **)&h->object);
    if (o.status == COHORT_OK && keys)
        o.status = cohort_map_assign(h->object, (uint64_t)keys->n, keys->data, DATA(values), &batch);
    if (!call_end(on, &o))
        Py_CLEAR(h);
    return (PyObject *)h;
}

static cohort_status change(handle *h, long op, const array *keys, const void *values,
                            const cohort_batch *batch)
{
    uint64_t n = (uint64_t)keys->n;
    switch (op) {
    case COHORT_OP_INSERT:
        return cohort_map_insert(h->object, n, keys->data, values, batch);
    case COHORT_OP_ASSIGN:
        return cohort_map_assign(h->object, n, keys->data, values, batch);
    case COHORT_OP_ERASE:
        return cohort_map_erase(h->object, n, keys->data, batch);
    default:
        return cohort_map_apply(h->object, (cohort_op)op, n, keys->data, values, batch);
    }
}

/* map_change(map, op, keys, values or None, winner): (entries taken, hits, added). */
static PyObject *map_change(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(5, 5)
    cohort_width width;
    handle *h = map_of(arguments[0], &width);
    long op = h ? PyLong_AsLong(arguments[1]) : 0, winner = h ? PyLong_AsLong(arguments[4]) : 0;
    array *keys = h ? keys_of(arguments[2], width) : NULL;
    array *values =
        keys && op != COHORT_OP_ERASE ? values_of(arguments[3], width, keys, op != COHORT_OP_COUNT) : NULL;
    array *counted = !keys || PyErr_Occurred() ? NULL : counts_in(memory_of(h, keys));
    if (!keys || PyErr_Occurred())
        return NULL;
    cohort_counts counts = COHORT_COUNTS_INIT;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.counts = counted ? counted->data : &counts;
    batch.winner = (cohort_winner)winner;
    outcome o;
    change_begin(h, &o);
    o.wait = keys->on;
    o.status = change(h, op, keys, DATA(values), &batch);
    if (o.status == COHORT_OK)
        o.status = read_counts(h->on, counted, &counts);
    PyObject *result =
        call_end(h->on, &o) ? Py_BuildValue("KKK", counts.taken, counts.hits, counts.added) : NULL;
    DROP(counted);
    return result;
}

/* map_contains(map, keys): booleans. */
static PyObject *map_contains(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    cohort_width width;
    handle *h = map_of(arguments[0], &width);
    array *keys = h ? keys_of(arguments[1], width) : NULL;
    reading r = keys ? read_by(h) : (reading){0};
    context *at = keys && keys->on ? r.on : NULL;
    array *bits = r.on ? array_on(at, COHORT_U32, keys->n / 32 + 1) : NULL;
    array *hit = bits ? array_on(at, TYPE_BOOL, keys->n) : NULL;
    if (hit) {
        outcome o;
        read_begin(&r, &o, reader);
        o.wait = keys->on;
        if (o.status == COHORT_OK)
            o.status = cohort_map_contains(r.object, (uint64_t)keys->n, keys->data, bits->data, NULL);
        if (o.status == COHORT_OK)
            o.status = spread_bits(r.on, bits, hit);
        if (!read_end(&r, &o))
            Py_CLEAR(hit);
    }
    read_forget(&r);
    DROP(bits);
    return (PyObject *)hit;
}

/* With values for the answers and, in a GPU's memory, room for the counts. */
static PyObject *found(reading *r, const array *keys, array *values, const array *fallback, array *counted)
{
    cohort_counts counts = COHORT_COUNTS_INIT;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.counts = counted ? counted->data : &counts;
    outcome o;
    read_begin(r, &o, reader);
    o.wait = keys->on;
    if (o.status == COHORT_OK)
        o.status =
            cohort_map_find(r->object, (uint64_t)keys->n, keys->data, values->data, fallback->data, &batch);
    if (o.status == COHORT_OK)
        o.status = read_counts(r->on, counted, &counts);
    return read_end(r, &o) ? Py_BuildValue("OK", values, counts.hits) : NULL;
}

/* map_find(map, keys, type of the values, bits of the fallback): (values, hits). */
static PyObject *map_find(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    cohort_width width;
    handle *h = map_of(arguments[0], &width);
    array *keys = h ? keys_of(arguments[1], width) : NULL,
          *fallback = keys ? array_of(arguments[3], "default") : NULL;
    long type = fallback ? PyLong_AsLong(arguments[2]) : -1;
    if (!fallback || PyErr_Occurred())
        return NULL;
    if (type < 1 || type >= TYPES || type_bytes((int)type) != value_bytes(width) ||
        type_bytes(fallback->type) != value_bytes(width) || fallback->n != 1) {
        PyErr_SetString(PyExc_ValueError, "default: is not one value of the map's width");
        return NULL;
    }
    reading r = read_by(h);
    array *values = r.on ? array_on(keys->on ? r.on : NULL, (int)type, keys->n) : NULL;
    array *counted = values ? counts_in(values->on) : NULL;
    PyObject *result = PyErr_Occurred() ? NULL : found(&r, keys, values, fallback, counted);
    read_forget(&r);
    DROP(counted);
    DROP(values);
    return result;
}

/* Values of keys: those given, or the keys' own numbers. */
static array *operands_of(handle *h, const array *keys, const array *values, cohort_width width)
{
    context *at = memory_of(h, keys);
    int type = values ? values->type : value_bytes(width) == 4 ? COHORT_U32 : COHORT_I64;
    if (!values)
        return at ? iota_on(at, type, keys->n) : iota_new(type, keys->n);
    array *out = array_on(at, type, keys->n);
    uint64_t bytes = (uint64_t)keys->n * type_bytes(type);
    if (!out || !bytes)
        return out;
    outcome o;
    call_begin(h->on, &o);
    if (at)
        o.status = cohort_copy(h->on->c, out->data, values->data, bytes);
    else
        memcpy(out->data, values->data, bytes);
    if (!call_end(h->on, &o))
        Py_CLEAR(out);
    return out;
}

/* map_put_and_find(map, keys, values or None, winner): inserts the values, or without them the keys' own
 * numbers, and gives the values that the map has then. */
static PyObject *map_put_and_find(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    cohort_width width;
    handle *h = map_of(arguments[0], &width);
    array *keys = h ? keys_of(arguments[1], width) : NULL,
          *values = keys ? values_of(arguments[2], width, keys, false) : NULL;
    long winner = keys ? PyLong_AsLong(arguments[3]) : 0;
    if (!keys || PyErr_Occurred())
        return NULL;
    array *out = operands_of(h, keys, values, width);
    if (!out)
        return NULL;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.winner = (cohort_winner)winner;
    outcome o;
    change_begin(h, &o);
    o.wait = keys->on;
    o.status = cohort_map_insert_and_find(h->object, (uint64_t)keys->n, keys->data, out->data, &batch);
    if (!call_end(h->on, &o))
        Py_CLEAR(out);
    return (PyObject *)out;
}

/* The results of a mixed stream before it runs: the fallback each. */
static array *results_of(context *on, int type, Py_ssize_t n, const array *fallback)
{
    array *host = array_new(type, n);
    for (Py_ssize_t i = 0; host && i < n; ++i)
        memcpy((char *)host->data + i * host->stride, fallback->data, (size_t)host->stride);
    if (!host || !on)
        return host;
    array *results = array_to_device(on, host);
    Py_DECREF(host);
    return results;
}

/* map_run(map, ops, keys, values or None, type of the results, bits of the fallback): what each key had just
 * before its operation, and whether it had something. */
static PyObject *map_run(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(6, 6)
    cohort_width width;
    handle *h = map_of(arguments[0], &width);
    array *ops = h ? array_of_bytes(arguments[1], "ops", 1, 1) : NULL;
    array *keys = ops ? keys_of(arguments[2], width) : NULL;
    array *values = keys ? values_of(arguments[3], width, keys, false) : NULL;
    bool failed = false;
    array *fallback = keys ? optional(arguments[5], "default", &failed) : NULL;
    long type = keys ? PyLong_AsLong(arguments[4]) : -1;
    size_t bytes = keys ? value_bytes(width) : 0;
    if (!keys || failed || PyErr_Occurred() || !same_length(keys, ops, "ops"))
        return NULL;
    if (bytes && (type < 1 || type >= TYPES || type_bytes((int)type) != bytes || !fallback ||
                  type_bytes(fallback->type) != bytes || fallback->n != 1))
        return PyErr_Format(PyExc_ValueError, "default: is not one value of the map's width");
    context *at = memory_of(h, keys);
    array *results = bytes ? results_of(at, (int)type, keys->n, fallback) : NULL;
    array *bits = PyErr_Occurred() ? NULL : array_on(at, COHORT_U32, keys->n / 32 + 1);
    array *hit = bits ? array_on(at, TYPE_BOOL, keys->n) : NULL;
    PyObject *pair = NULL;
    if (!PyErr_Occurred()) {
        cohort_batch batch = COHORT_BATCH_INIT;
        batch.hit = bits->data;
        outcome o;
        change_begin(h, &o);
        o.wait = keys->on;
        o.status = cohort_map_run(h->object, (uint64_t)keys->n, ops->data, keys->data, DATA(values),
                                  DATA(results), &batch);
        if (o.status == COHORT_OK)
            o.status = spread_bits(h->on, bits, hit);
        if (call_end(h->on, &o))
            pair = PyTuple_Pack(2, or_none(results), hit);
    }
    DROP(results);
    DROP(bits);
    DROP(hit);
    return pair;
}

/* map_layout(map): 0 of pages, 1 of lines. */
static PyObject *map_layout(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "map");
    if (!h)
        return NULL;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_map_get_options(h->object, &options);
    return call_end(h->on, &o) ? PyLong_FromLong(options.layout) : NULL;
}

/* How many pairs there are, and then all of them; *grown if another thread has put some in in between. */
static PyObject *items_once(reading *r, bool there, int key_type, int value_type, bool *grown)
{
    uint64_t size = 0, got = 0;
    context *at = there ? r->on : NULL;
    outcome o;
    *grown = false;
    read_begin(r, &o, reader);
    if (o.status == COHORT_OK)
        o.status = cohort_map_size(r->object, &size);
    if (!read_end(r, &o))
        return NULL;
    array *keys = array_on(at, key_type, (Py_ssize_t)size);
    array *values = value_type && keys ? array_on(at, value_type, (Py_ssize_t)size) : NULL;
    PyObject *pair = NULL;
    if (!PyErr_Occurred()) {
        read_begin(r, &o, reader);
        o.wait = at;
        if (o.status == COHORT_OK)
            o.status = cohort_map_export(r->object, size, keys->data, DATA(values), &got);
        *grown = o.status == COHORT_FULL;
        if (read_end(r, &o)) {
            keys->n = (Py_ssize_t)got;
            if (values)
                values->n = (Py_ssize_t)got;
            pair = PyTuple_Pack(2, keys, or_none(values));
        }
    }
    DROP(keys);
    DROP(values);
    return pair;
}

/* map_items(map, type of the keys, type of the values or 0, in its GPU's memory): (keys, values or None). */
static PyObject *map_items(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    cohort_width width;
    handle *h = map_of(arguments[0], &width);
    int there = h ? PyObject_IsTrue(arguments[3]) : 0;
    long key_type = h ? PyLong_AsLong(arguments[1]) : 0, value_type = h ? PyLong_AsLong(arguments[2]) : 0;
    if (!h || PyErr_Occurred())
        return NULL;
    if (key_type < 1 || key_type >= TYPES || type_bytes((int)key_type) != key_bytes(width) ||
        value_type < 0 || value_type >= TYPES ||
        (value_type && type_bytes((int)value_type) != value_bytes(width))) {
        PyErr_SetString(PyExc_ValueError, "the types are not of the map's width");
        return NULL;
    }
    PyObject *pair = NULL;
    reading r = read_by(h);
    for (bool grown = r.on; grown;) {
        pair = items_once(&r, there, (int)key_type, (int)value_type, &grown);
        if (grown)
            PyErr_Clear();
    }
    read_forget(&r);
    return pair;
}

static PyObject *map_size(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "map");
    if (!h)
        return NULL;
    uint64_t size = 0;
    reading r = read_by(h);
    outcome o;
    if (!r.on)
        return NULL;
    read_begin(&r, &o, reader);
    if (o.status == COHORT_OK)
        o.status = cohort_map_size(r.object, &size);
    PyObject *result = read_end(&r, &o) ? PyLong_FromUnsignedLongLong(size) : NULL;
    read_forget(&r);
    return result;
}

static PyObject *map_clear(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "map");
    if (!h)
        return NULL;
    outcome o;
    change_begin(h, &o);
    o.status = cohort_map_clear(h->object);
    return Py_XNewRef(call_end(h->on, &o));
}

static PyObject *map_clone(PyObject *module, PyObject *object)
{
    (void)module;
    handle *h = handle_of(object, "map"), *copy = h ? handle_new(h->on, "map", destroy) : NULL;
    if (!copy)
        return NULL;
    copy->type = h->type;
    outcome o;
    call_begin(h->on, &o);
    o.status = cohort_map_clone(h->object, (cohort_map **)&copy->object);
    if (!call_end(h->on, &o))
        Py_CLEAR(copy);
    return (PyObject *)copy;
}

/* map_merge(to, from, rule): both on one context. */
static PyObject *map_merge(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *to = handle_of(arguments[0], "map"), *from = to ? handle_of(arguments[1], "map") : NULL;
    long rule = from ? PyLong_AsLong(arguments[2]) : 0;
    if (!from || PyErr_Occurred())
        return NULL;
    outcome o;
    change_begin(to, &o);
    o.status = cohort_map_merge(to->object, from->object, (cohort_op)rule);
    return Py_XNewRef(call_end(to->on, &o));
}

/* map_save(map, path, table) */
static PyObject *map_save(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    handle *h = handle_of(arguments[0], "map");
    PyObject *path = h ? path_of(arguments[1]) : NULL;
    int table = PyObject_IsTrue(arguments[2]);
    if (!path)
        return NULL;
    char *name = PyBytes_AsString(path);
    outcome o;
    call_begin(h->on, &o);
    o.path = path;
    o.status = table ? cohort_map_save_table(h->object, name) : cohort_map_save(h->object, name);
    PyObject *done = Py_XNewRef(call_end(h->on, &o));
    Py_DECREF(path);
    return done;
}

/* map_load(context, path, map): (map, width). */
static PyObject *map_load(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = context_of(arguments[0]);
    PyObject *path = on ? path_of(arguments[1]) : NULL;
    handle *h = path ? handle_new(on, "map", destroy) : NULL;
    int map = PyObject_IsTrue(arguments[2]);
    PyObject *result = NULL;
    if (h) {
        char *name = PyBytes_AsString(path);
        cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
        outcome o;
        call_begin(on, &o);
        o.path = path;
        o.status = map ? cohort_map_map(on->c, name, (cohort_map **)&h->object)
                       : cohort_map_load(on->c, name, (cohort_map **)&h->object);
        if (o.status == COHORT_OK)
            o.status = cohort_map_get_options(h->object, &options);
        if (call_end(on, &o)) {
            h->type = (int)options.width;
            result = Py_BuildValue("Oi", h, h->type);
        }
    }
    DROP(path);
    DROP(h);
    return result;
}

PyMethodDef map_functions[] = {FAST(map_new),
                               FAST(map_change),
                               FAST(map_contains),
                               FAST(map_find),
                               FAST(map_put_and_find),
                               FAST(map_items),
                               FAST(map_run),
                               {"map_layout", map_layout, METH_O, NULL},
                               {"map_size", map_size, METH_O, NULL},
                               {"map_clear", map_clear, METH_O, NULL},
                               {"map_clone", map_clone, METH_O, NULL},
                               FAST(map_merge),
                               FAST(map_save),
                               FAST(map_load),
                               {NULL, NULL, 0, NULL}};
