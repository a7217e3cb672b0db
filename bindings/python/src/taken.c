/* taken.c: what callers give, as Arrays, and answers as the caller's kind of array.
 *
 * Arrays in the host's memory, arrays of numpy and lists of integers take the short way here. All else is a
 * function of Python's. */
#include "core.h"

static PyObject *other; /* the function of (values, argument, where): (Array, numpy or None) */
/* The module, from when one of its arrays was met, and what is used of it: its class, functions, and
 * dtypes. */
static PyObject *numpy, *ndarray, *asarray, *frombuffer, *dtypes[TYPES];

/* set_taker(function): what takes in all else. */
static PyObject *set_taker(PyObject *module, PyObject *function)
{
    (void)module;
    DROP(other);
    other = KEPT(function);
    Py_RETURN_NONE;
}

/* set_numpy(module) */
static PyObject *set_numpy(PyObject *module, PyObject *met)
{
    (void)module;
    if (met == numpy)
        Py_RETURN_NONE;
    PyObject *class = PyObject_GetAttrString(met, "ndarray");
    if (!class || !(asarray = PyObject_GetAttrString(met, "asarray")) ||
        !(frombuffer = PyObject_GetAttrString(met, "frombuffer")))
        return NULL;
    for (int t = 1; t < TYPES; ++t)
        if (!(dtypes[t] = PyObject_CallMethod(met, "dtype", "s", type_name(t))))
            return NULL;
    numpy = KEPT(met);
    ndarray = class;
    Py_RETURN_NONE;
}

/* ---- in ------------------------------------------------------------------------------------------------ */

/* Integers of a list or tuple, as int64; NULL without an exception: some are none, or do not fit. */
static array *of_integers(PyObject *list)
{
    Py_ssize_t n = PySequence_Size(list);
    array *a = n < 0 ? NULL : array_new(COHORT_I64, n);
    for (Py_ssize_t i = 0; a && i < n; ++i) {
        int beyond = 1;
        PyObject *item = PySequence_GetItem(list, i);
        if (item && PyLong_CheckExact(item))
            ((int64_t *)a->data)[i] = PyLong_AsLongLongAndOverflow(item, &beyond);
        DROP(item);
        if (beyond)
            Py_CLEAR(a);
    }
    return a;
}

/* Numbers of a list, tuple or range, as floats. */
static array *of_floats(PyObject *list, int type, const char *argument)
{
    Py_ssize_t n = PySequence_Size(list);
    array *a = n < 0 ? NULL : array_new(type, n);
    for (Py_ssize_t i = 0; a && i < n; ++i) {
        PyObject *item = PySequence_GetItem(list, i);
        double x = item ? PyFloat_AsDouble(item) : -1;
        DROP(item);
        if (x == -1 && PyErr_Occurred())
            Py_CLEAR(a);
        else if (type == COHORT_F32)
            ((float *)a->data)[i] = (float)x;
        else
            ((double *)a->data)[i] = x;
    }
    if (!a && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: a list of numbers is due", argument);
    return a;
}

/* What Python's function takes in. */
static array *taken_there(PyObject *values, PyObject *argument, PyObject *where, PyObject **from)
{
    PyObject *pair = PyObject_CallFunctionObjArgs(other, values, argument, where, NULL);
    PyObject *first = pair ? PyTuple_GetItem(pair, 0) : NULL,
             *second = first ? PyTuple_GetItem(pair, 1) : NULL;
    array *a = second ? array_of(first, "values") : NULL;
    a = a ? (array *)KEPT(a) : NULL;
    *from = a ? KEPT(second) : NULL;
    DROP(pair);
    return a;
}

/* What has the short way: a new reference, and in *from one to what the answers are made by: None, or the
 * module numpy. NULL, without an exception for what has none. */
static array *taken_here(PyObject *values, PyObject *argument, PyObject **from)
{
    array *a = NULL;
    *from = NULL;
    if (is_array(values) && !((array *)values)->on) {
        a = (array *)KEPT(values);
        *from = KEPT(Py_None);
    } else if ((PyObject *)Py_TYPE(values) == ndarray) {
        const char *name = PyUnicode_AsUTF8AndSize(argument, NULL);
        a = name ? from_buffer(values, name) : NULL;
        *from = a ? KEPT(numpy) : NULL;
        if (!a && PyErr_ExceptionMatches(PyExc_ValueError))
            PyErr_Clear(); /* dates have no buffer */
    } else if (PyList_CheckExact(values) || PyTuple_CheckExact(values)) {
        a = of_integers(values);
        *from = a ? KEPT(Py_None) : NULL;
    }
    return a;
}

/* The same of all that can be taken in. */
static array *taken(PyObject *values, PyObject *argument, PyObject *where, PyObject **from)
{
    array *a = taken_here(values, argument, from);
    return a || PyErr_Occurred() ? a : taken_there(values, argument, where, from);
}

/* (a, from), whose references are taken over; NULL with an exception if there is no `a`. */
static PyObject *pair_of(array *a, PyObject *from)
{
    PyObject *pair = a ? PyTuple_Pack(2, a, from) : NULL;
    DROP(a);
    DROP(from);
    return pair;
}

/* take_in(values, argument, where): the Array of `values`, and what makes the answers. `where` says whether
 * they may lie in a GPU's memory: False, True, or by which context. */
static PyObject *take_in(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 3)
    PyObject *from;
    array *a = taken(arguments[0], arguments[1], count > 2 ? arguments[2] : Py_False, &from);
    return pair_of(a, from);
}

/* What is no array of numpy's may be a set, or anything that goes through its members once. */
static PyObject *listed(PyObject *values)
{
    if (PyAnySet_Check(values) || (!is_array(values) && PyObject_HasAttrString(values, "__next__")))
        return PySequence_List(values);
    return KEPT(values);
}

/* take_integers(values, argument, where): the same as take_in, also of sets and iterators. */
static PyObject *take_integers(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 3)
    PyObject *from;
    array *a = taken_here(arguments[0], arguments[1], &from);
    if (!a && !PyErr_Occurred()) {
        PyObject *values = listed(arguments[0]);
        a = values ? taken(values, arguments[1], count > 2 ? arguments[2] : Py_False, &from) : NULL;
        DROP(values);
    }
    return pair_of(a, from);
}

/* Number i of a list as take_integers takes it in. */
static array *taken_at(PyObject *list, Py_ssize_t i, PyObject *argument, PyObject *where, PyObject **from)
{
    PyObject *item = PySequence_GetItem(list, i), *values = NULL, *name = NULL;
    array *a = item ? taken_here(item, argument, from) : NULL;
    if (!a && item) { /* the long way tells which one is amiss */
        PyErr_Clear();
        values = listed(item);
        name = PyUnicode_FromFormat("%U[%zd]", argument, i);
        a = values && name ? taken(values, name, where, from) : NULL;
    }
    DROP(item);
    DROP(values);
    DROP(name);
    return a;
}

/* Appends the Array to the list, and puts down what makes the answers, if that is not known yet, whether
 * it has elements of 8 bytes, and the first that lies in a GPU's memory. */
struct each {
    PyObject *list, *from;
    Py_ssize_t on_gpu;
    bool wide;
};
static bool each_add(struct each *e, const array *a, PyObject *from, Py_ssize_t i)
{
    if (Py_IsNone(e->from) && !Py_IsNone(from)) {
        DROP(e->from);
        e->from = KEPT(from);
    }
    e->wide |= type_bytes(a->type) == 8;
    if (a->on && e->on_gpu < 0)
        e->on_gpu = i;
    return !PyList_Append(e->list, (PyObject *)a);
}

/* take_each(list, argument, where): (list of the Arrays of its items, what makes the answers, whether any has
 * elements of 8 bytes, the first that lies in a GPU's memory or -1). */
static PyObject *take_each(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    struct each e = {PyList_New(0), KEPT(Py_None), -1, false};
    Py_ssize_t n = PySequence_Size(arguments[0]);
    bool good = e.list && n >= 0;
    for (Py_ssize_t i = 0; good && i < n; ++i) {
        PyObject *from = NULL;
        array *a = taken_at(arguments[0], i, arguments[1], arguments[2], &from);
        good = a && each_add(&e, a, from, i);
        DROP(a);
        DROP(from);
    }
    PyObject *all =
        good ? Py_BuildValue("OOOn", e.list, e.from, e.wide ? Py_True : Py_False, e.on_gpu) : NULL;
    DROP(e.list);
    DROP(e.from);
    return all;
}

/* array_if_plain(values, argument): the Array of values that are one of the host's memory, or an array of
 * numpy whose elements are numbers; None for all else. */
static PyObject *array_if_plain(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    PyObject *from = NULL;
    const bool plain = is_array(arguments[0]) || (PyObject *)Py_TYPE(arguments[0]) == ndarray;
    array *a = plain ? taken_here(arguments[0], arguments[1], &from) : NULL;
    DROP(from);
    if (!a && PyErr_Occurred() &&
        (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)))
        PyErr_Clear(); /* strings, objects, more than one dimension */
    return a || PyErr_Occurred() ? (PyObject *)a : KEPT(Py_None);
}

/* In place of a reference to an array one to its values in another type. */
static array *turned(array *a, int type, PyObject *argument)
{
    if (!a || a->type == type)
        return a;
    array *to = cast_where(a, type, argument);
    Py_DECREF(a);
    return to;
}

/* The same as values of a type: integers in a list may be floats. */
static array *taken_as(PyObject *values, int type, PyObject *argument, PyObject *where, PyObject **from)
{
    const bool list = PyList_Check(values) || PyTuple_Check(values) || PyRange_Check(values);
    if (!list || (type != COHORT_F32 && type != COHORT_F64))
        return turned(taken(values, argument, where, from), type, argument);
    const char *name = PyUnicode_AsUTF8AndSize(argument, NULL);
    *from = KEPT(Py_None);
    return name ? of_floats(values, type, name) : NULL;
}

static int type_of(PyObject *number)
{
    long type = PyLong_AsLong(number);
    if (type >= 1 && type < TYPES)
        return (int)type;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "type: %ld is none", type);
    return 0;
}

/* take_in_as(values, type, argument, where): the same as take_in, as values of the type. */
static PyObject *take_in_as(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 4)
    PyObject *from = NULL;
    int type = type_of(arguments[1]);
    array *a =
        type ? taken_as(arguments[0], type, arguments[2], count > 3 ? arguments[3] : Py_False, &from) : NULL;
    return pair_of(a, from);
}

/* In place of a reference to keys one to what can be compared by its bits, in a type of 4 or 8 bytes. */
static array *comparable(array *keys, int type, PyObject *argument)
{
    if (keys && (keys->type == COHORT_F32 || keys->type == COHORT_F64)) {
        array *to = canonical_of(keys, true);
        Py_DECREF(keys);
        keys = to;
    }
    return turned(keys, type, argument);
}

/* Of (values, type, stored type, argument, where): the values in their type, and in *stored the other one. */
static array *taken_to_store(PyObject *const *arguments, int *stored, PyObject **from)
{
    const int type = type_of(arguments[1]);
    *stored = type ? type_of(arguments[2]) : 0;
    *from = NULL;
    return *stored ? taken_as(arguments[0], type, arguments[3], arguments[4], from) : NULL;
}

/* take_keys(values, type, stored type, argument, where): the same of keys, as they are stored. */
static PyObject *take_keys(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(5, 5)
    PyObject *from;
    int stored;
    array *a = taken_to_store(arguments, &stored, &from);
    return pair_of(comparable(a, stored, arguments[3]), from);
}

/* take_values(values, type, stored type, argument, where): the Array alone, in the type that is stored. */
static PyObject *take_values(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(5, 5)
    PyObject *from;
    int stored;
    array *a = taken_to_store(arguments, &stored, &from);
    DROP(from);
    return (PyObject *)turned(a, stored, arguments[3]);
}

/* is_one(object): one number, and no array or list of them. */
static PyObject *is_one(PyObject *module, PyObject *object)
{
    (void)module;
    if (PyLong_Check(object) || PyFloat_Check(object))
        Py_RETURN_TRUE;
    if (is_array(object) || (PyObject *)Py_TYPE(object) == ndarray)
        Py_RETURN_FALSE;
    return PyBool_FromLong(
        !PyObject_HasAttrString(object, "__len__") &&
        (PyObject_HasAttrString(object, "__index__") || PyObject_HasAttrString(object, "__float__")));
}

/* The type of 4 or 8 bytes that a type is stored in. */
static int storage_of(int type)
{
    if (type_bytes(type) >= 4)
        return type;
    return type >= COHORT_I8 && type <= COHORT_I16 ? COHORT_I32 : COHORT_U32;
}

/* storage(type) */
static PyObject *storage(PyObject *module, PyObject *number)
{
    (void)module;
    int type = type_of(number);
    return type ? PyLong_FromLong(storage_of(type)) : NULL;
}

/* stored(array, argument): keys in 4 or 8 bytes each, floats with one NaN and one zero. */
static PyObject *stored(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    array *a = array_of(arguments[0], "array");
    return a ? (PyObject *)comparable((array *)KEPT(a), storage_of(a->type), arguments[1]) : NULL;
}

/* narrowed(array, type): back from the storage of a type to the type. */
static PyObject *narrowed(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    array *a = array_of(arguments[0], "array");
    int type = a ? type_of(arguments[1]) : 0;
    if (!type || a->type == type)
        return type ? KEPT(a) : NULL;
    PyObject *argument = PyUnicode_FromString("values");
    a = argument ? turned((array *)KEPT(a), type == TYPE_BOOL ? COHORT_U8 : type, argument) : NULL;
    DROP(argument);
    if (a)
        a->type = type; /* nobody else has the cast array */
    return (PyObject *)a;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

/* give_out(array, numpy or None): as the caller's kind of array. */
static PyObject *give_out(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    const array *a = arguments[1] == Py_None ? NULL : array_of(arguments[0], "array");
    if (arguments[1] == Py_None || !a)
        return arguments[1] == Py_None ? KEPT(arguments[0]) : NULL;
    if (arguments[1] != numpy)
        return PyObject_CallMethod(arguments[1], "asarray", "O", arguments[0]);
    if (a->on || !a->n) /* `frombuffer` wants at least one */
        return PyObject_CallFunctionObjArgs(asarray, arguments[0], NULL);
    return PyObject_CallFunctionObjArgs(frombuffer, arguments[0], dtypes[a->type], NULL);
}

PyMethodDef taken_functions[] = {{"set_taker", set_taker, METH_O, NULL},
                                 {"set_numpy", set_numpy, METH_O, NULL},
                                 FAST(take_in),
                                 FAST(take_integers),
                                 FAST(take_each),
                                 FAST(array_if_plain),
                                 FAST(take_in_as),
                                 FAST(take_keys),
                                 FAST(take_values),
                                 {"is_one", is_one, METH_O, NULL},
                                 {"storage", storage, METH_O, NULL},
                                 FAST(stored),
                                 FAST(narrowed),
                                 FAST(give_out),
                                 {NULL, NULL, 0, NULL}};
