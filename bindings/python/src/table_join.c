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

/* A side of a join. */
struct side {
    handle *frame;
    uint32_t keys, rest;
    const char **name;     /* of the keys; to be freed */
    uint32_t *key, *other; /* their numbers, and the other columns' */
    cohort_frame *picked;  /* the keys alone */
};

/* A frame and a list of the names of its keys; *none if no column can have one of these. */
static bool side_of(struct side *s, PyObject *frame, PyObject *list, bool *none)
{
    *s = (struct side){.frame = frame_of(frame)};
    if (!s->frame || !PyList_Check(list))
        return s->frame && PyErr_Format(PyExc_TypeError, "a list of names is due") != NULL;
    const size_t n = (size_t)PyList_Size(list), columns = cohort_frame_columns(s->frame->object);
    s->keys = (uint32_t)n;
    s->name = malloc((n + 1) * sizeof *s->name + (n + columns) * sizeof *s->key);
    if (!s->name)
        return PyErr_NoMemory() != NULL;
    s->key = (uint32_t *)(s->name + n + 1);
    s->other = s->key + n;
    for (size_t i = 0; i < n; ++i)
        s->name[i] = name_of(PyList_GetItem(list, (Py_ssize_t)i), none);
    return true;
}

/* The keys of a side, with the context's lock. *none: one is not there. */
static cohort_status side_open(struct side *s, bool *none)
{
    cohort_status status = COHORT_OK;
    for (uint32_t i = 0; !status && i < s->keys; ++i)
        status = place_of(s->frame->object, s->name[i], &s->key[i], none);
    return status || *none ? status
                           : cohort_frame_select(s->frame->object, s->keys, s->key, NULL, &s->picked);
}

/* The columns that have not the name of a key. */
static cohort_status side_rest(struct side *s)
{
    const uint32_t columns = cohort_frame_columns(s->frame->object);
    cohort_status status = COHORT_OK;
    for (uint32_t i = 0; !status && i < columns; ++i) {
        cohort_column_info info = COHORT_COLUMN_INFO_INIT;
        uint32_t k = 0;
        status = cohort_frame_get_column(s->frame->object, i, &info);
        while (!status && k < s->keys && strcmp(s->name[k], info.name) != 0)
            k++;
        if (k == s->keys)
            s->other[s->rest++] = i;
    }
    return status;
}

/* For each key whether its nulls are equal; to be freed. */
static uint8_t *nulls_of(const struct side *s, int equal)
{
    uint8_t *flags = equal < 0 ? NULL : malloc((size_t)s->keys + 1);
    if (flags)
        memset(flags, equal, (size_t)s->keys + 1);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    return flags;
}

static void sides_end(struct side *s)
{
    for (int i = 0; i < 2; ++i) {
        cohort_frame_release(s[i].picked);
        free(s[i].name);
        s[i].picked = NULL;
        s[i].name = NULL;
    }
}

/* join_rows(left, right, names of the left keys, of the right ones, kind, shape, nulls are equal, want pairs):
 * (number of pairs, left rows, right rows); rows of 4 bytes where they fit, all ones for none; right rows are
 * None for semi and anti joins. None if a column is not there. */
static PyObject *join_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(8, 8)
    struct side side[2] = {{0}, {0}};
    bool none = false;
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    options.kind = (cohort_join_kind)PyLong_AsLong(arguments[4]);
    options.validate = (cohort_join_shape)PyLong_AsLong(arguments[5]);
    int want = PyObject_IsTrue(arguments[7]);
    uint8_t *flags = NULL;
    if (!PyErr_Occurred() && side_of(&side[0], arguments[0], arguments[2], &none) &&
        side_of(&side[1], arguments[1], arguments[3], &none) && !none)
        flags = nulls_of(&side[1], PyObject_IsTrue(arguments[6]));
    handle *left = side[0].frame, *right = side[1].frame;
    if (!flags) {
        sides_end(side);
        return none && !PyErr_Occurred() ? KEPT(Py_None) : NULL;
    }
    struct pairs p = {NULL, NULL, 0, 0, false};
    array *l = NULL, *r = NULL;
    PyObject *result = NULL;
    outcome o;
    call_begin(left->on, &o);
    o.status = side_open(&side[0], &none);
    if (!o.status)
        o.status = side_open(&side[1], &none);
    if (!o.status && !none)
        o.status = probe(&p, side[0].picked, side[1].picked, flags, &options);
    bool good = call_end(left->on, &o) != NULL && !none;
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
    sides_end(side);
    free(flags);
    return none && !PyErr_Occurred() ? KEPT(Py_None) : result;
}

/* All of it, with the context's lock. *none: a column is not there. */
static cohort_status join_all(struct side side[2], const uint8_t *flags, cohort_join_probe_options *options,
                              const char *suffix, handle *out, bool *none)
{
    struct pairs p = {NULL, NULL, 0, 0, false};
    cohort_frame *const left = side[0].frame->object, *right = NULL;
    cohort_status s = side_open(&side[0], none);
    if (!s)
        s = side_open(&side[1], none);
    if (!s && options->kind < COHORT_JOIN_SEMI)
        s = side_rest(&side[1]);
    if (s || *none)
        return s;
    s = probe(&p, side[0].picked, side[1].picked, flags, options);
    if (!s && side[1].rest)
        s = cohort_frame_select(side[1].frame->object, side[1].rest, side[1].other, NULL, &right);
    if (!s)
        s = cohort_join_frame(p.matches, 0, p.matched, left, right, suffix, (cohort_frame **)&out->object);
    cohort_frame_release(right);
    cohort_matches_destroy(p.matches);
    cohort_join_destroy(p.join);
    return s;
}

/* join_frames(left, right, names of the left keys, of the right ones, kind, shape, nulls are equal, suffix): a
 * frame; None if a column is not there. Not of RIGHT and FULL. */
static PyObject *join_frames(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(8, 8)
    struct side side[2] = {{0}, {0}};
    bool none = false;
    const char *suffix = PyUnicode_AsUTF8AndSize(arguments[7], NULL);
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    options.kind = (cohort_join_kind)PyLong_AsLong(arguments[4]);
    options.validate = (cohort_join_shape)PyLong_AsLong(arguments[5]);
    uint8_t *flags = NULL;
    if (!PyErr_Occurred() && side_of(&side[0], arguments[0], arguments[2], &none) &&
        side_of(&side[1], arguments[1], arguments[3], &none) && !none)
        flags = nulls_of(&side[1], PyObject_IsTrue(arguments[6]));
    handle *out = flags ? frame_new(side[0].frame->on) : NULL;
    if (out) {
        outcome o;
        call_begin(out->on, &o);
        o.status = join_all(side, flags, &options, suffix, out, &none);
        out = (handle *)frame_answered(out, &o);
    }
    sides_end(side);
    free(flags);
    if (none && !PyErr_Occurred()) {
        DROP(out);
        return KEPT(Py_None);
    }
    return (PyObject *)out;
}

PyMethodDef table_join_functions[] = {FAST(join_rows), FAST(join_frames), {NULL, NULL, 0, NULL}};
