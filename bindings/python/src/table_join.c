/* table_join.c: the calls of cohort/join.h on frames. join_rows gives the pairs of rows; join_frames the
 * joined frame in one call, for the kinds whose keys are all the left side's. */
#include "core.h"

#include <stdlib.h>

/* The pairs of a probe, then those of finish, into columns of row numbers. */
struct pairs {
    cohort_join *join;
    cohort_matches *matches;
    uint64_t matched, rest;
    bool finish;
};

static cohort_status probe(struct pairs *p, cohort_frame *left, cohort_frame *right, const uint8_t *flags,
                           cohort_join_probe_options *options)
{
    cohort_join_options build = COHORT_JOIN_OPTIONS_INIT;
    build.nulls_equal = flags;
    cohort_status s = cohort_join_build(right, &build, &p->join);
    if (!s)
        s = cohort_join_probe(p->join, left, options, &p->matches);
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
    o.status = probe(&p, left->object, right->object, flags, &options);
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

/* Column numbers of a list; *failed where they are none. */
static uint32_t *numbers_of(PyObject *list, uint32_t *n, bool *failed)
{
    Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;
    uint32_t *numbers = malloc(((size_t)count + 1) * sizeof *numbers);
    for (Py_ssize_t i = 0; numbers && i < count; ++i)
        numbers[i] = (uint32_t)PyLong_AsUnsignedLong(PyList_GetItem(list, i));
    *n = (uint32_t)count;
    if (!numbers)
        PyErr_NoMemory();
    *failed |= PyErr_Occurred() != NULL;
    return numbers;
}

/* The columns of a side that take part: keys, and those that the result has. */
struct columns {
    uint32_t keys, rest;
    uint32_t *key, *other;
};

/* The rows of the pairs: *left, and *right behind them, to be freed. */
static cohort_status fetch_rows(struct pairs *p, uint32_t bytes, void **rows, bool *plain)
{
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    uint64_t n = p->matched;
    *rows = n < SIZE_MAX / 32 ? malloc((size_t)n * bytes * 2 + 1) : NULL;
    if (!*rows) {
        *plain = true;
        return COHORT_NO_MEMORY;
    }
    page.bytes = bytes;
    page.capacity = n;
    page.left = *rows;
    page.right = (char *)*rows + n * bytes;
    return cohort_join_pairs(p->matches, &page);
}

/* The frame of these rows of both sides. */
static cohort_status gather_both(cohort_frame *left, cohort_frame *right, const struct columns *c, uint64_t n,
                                 uint32_t bytes, const void *rows, const char *suffix, cohort_frame **out)
{
    cohort_frame *a = NULL, *rest = NULL, *b = NULL;
    cohort_status s = cohort_gather(left, n, bytes, rows, &a);
    if (!s && c->rest) {
        s = cohort_frame_select(right, c->rest, c->other, NULL, &rest);
        if (!s)
            s = cohort_gather(rest, n, bytes, (const char *)rows + n * bytes, &b);
        if (!s)
            s = cohort_frame_beside(a, b, suffix, out);
    } else if (!s) {
        *out = a;
        a = NULL;
    }
    cohort_frame_release(a);
    cohort_frame_release(b);
    cohort_frame_release(rest);
    return s;
}

/* All of it, with the context's lock. */
static cohort_status join_all(handle *left, handle *right, const struct columns c[2], const uint8_t *flags,
                              cohort_join_probe_options *options, const char *suffix, handle *out,
                              bool *plain)
{
    struct pairs p = {NULL, NULL, 0, 0, false};
    cohort_frame *key[2] = {NULL, NULL};
    void *rows = NULL;
    cohort_status s = cohort_frame_select(left->object, c[0].keys, c[0].key, NULL, &key[0]);
    if (!s)
        s = cohort_frame_select(right->object, c[1].keys, c[1].key, NULL, &key[1]);
    if (!s)
        s = probe(&p, key[0], key[1], flags, options);
    const uint64_t most = cohort_frame_rows(left->object) | cohort_frame_rows(right->object);
    const uint32_t bytes = most < UINT32_MAX ? 4 : 8;
    if (!s)
        s = fetch_rows(&p, bytes, &rows, plain);
    if (!s)
        s = gather_both(left->object, right->object, &c[1], p.matched, bytes, rows, suffix,
                        (cohort_frame **)&out->object);
    free(rows);
    cohort_matches_destroy(p.matches);
    cohort_join_destroy(p.join);
    cohort_frame_release(key[0]);
    cohort_frame_release(key[1]);
    return s;
}

/* join_frames(left, right, numbers of the left keys, of the right ones, of the right columns that come out,
 * kind, shape, nulls are equal, suffix): a frame. Not of RIGHT and FULL. */
static PyObject *join_frames(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(9, 9)
    handle *left = frame_of(arguments[0]), *right = left ? frame_of(arguments[1]) : NULL;
    const char *suffix = right ? PyUnicode_AsUTF8AndSize(arguments[8], NULL) : NULL;
    if (!suffix)
        return NULL;
    bool failed = false;
    struct columns c[2] = {{0, 0, NULL, NULL}, {0, 0, NULL, NULL}};
    c[0].key = numbers_of(arguments[2], &c[0].keys, &failed);
    c[1].key = numbers_of(arguments[3], &c[1].keys, &failed);
    c[1].other = numbers_of(arguments[4], &c[1].rest, &failed);
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    options.kind = (cohort_join_kind)PyLong_AsLong(arguments[5]);
    options.validate = (cohort_join_shape)PyLong_AsLong(arguments[6]);
    uint8_t *flags = failed ? NULL : flags_of(right, PyObject_IsTrue(arguments[7])); /* more than keys */
    handle *out = flags && !PyErr_Occurred() ? frame_new(left->on) : NULL;
    if (out) {
        if (options.kind >= COHORT_JOIN_SEMI)
            c[1].rest = 0;
        outcome o;
        call_begin(left->on, &o);
        o.status = join_all(left, right, c, flags, &options, suffix, out, &o.plain);
        out = (handle *)frame_answered(out, &o);
    }
    free(flags);
    free(c[0].key);
    free(c[1].key);
    free(c[1].other);
    return (PyObject *)out;
}

PyMethodDef table_join_functions[] = {FAST(join_rows), FAST(join_frames), {NULL, NULL, 0, NULL}};
