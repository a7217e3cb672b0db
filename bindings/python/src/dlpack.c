/* dlpack.c: arrays in and out by DLPack (https://dmlc.github.io/dlpack): numpy, torch, jax, cupy. Its structs
 * are a binary interface and written down here. */
#include "core.h"

#include <stdlib.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_CUDA_HOST = 3, DLPACK_CUDA_MANAGED = 13 };
enum { CODE_INT = 0, CODE_UINT = 1, CODE_FLOAT = 2, CODE_BOOL = 6 };

struct tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t dimensions;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL: one behind the other */
    uint64_t byte_offset;
};

struct managed {
    struct tensor tensor;
    void *context;
    void (*deleter)(struct managed *);
};

/* ---- out ----------------------------------------------------------------------------------------------- */

struct exported {
    struct managed managed;
    int64_t shape;
    PyObject *owner;
};

static void end_export(struct managed *m)
{
    struct exported *e = m->context;
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(e->owner);
        PyGILState_Release(state);
    }
    free(e);
}

/* A capsule that nobody took has its first name still. */
static void end_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        struct managed *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    }
}

static uint8_t code_of(int type)
{
    return type == TYPE_BOOL    ? CODE_BOOL
           : type >= COHORT_F32 ? CODE_FLOAT
           : type >= COHORT_I8  ? CODE_INT
                                : CODE_UINT;
}

/* What of __dlpack__'s wishes matters: a stream of -1 says that nobody is to wait; another device is refused.
 * No copy is made where none is asked for, and max_version is what the caller can take at most. */
static bool wishes(array *a, PyObject *named, bool *wait)
{
    PyObject *stream = named ? PyDict_GetItemString(named, "stream") : NULL;
    PyObject *place = named ? PyDict_GetItemString(named, "dl_device") : NULL;
    *wait = !(stream && PyLong_Check(stream) && PyLong_AsLong(stream) == -1 && !PyErr_Occurred());
    PyErr_Clear(); /* of a number that is too large, which is another stream */
    if (!place || place == Py_None)
        return true;
    int kind, id;
    if (!PyArg_ParseTuple(place, "ii;dl_device: a pair of numbers is due", &kind, &id))
        return false;
    if (kind == (a->on ? DLPACK_CUDA : DLPACK_CPU) && (!a->on || id == a->on->ordinal))
        return true;
    PyErr_Format(PyExc_BufferError, "dl_device: (%d, %d) is not where the array lies", kind, id);
    return false;
}

/* A capsule. The work on a GPU's array is done before, so that no stream has to wait. */
PyObject *dlpack(PyObject *self, PyObject *arguments, PyObject *named)
{
    (void)arguments;
    array *a = (array *)self;
    bool wait;
    if (!wishes(a, named, &wait) || (wait && !settled(a)))
        return NULL;
    if (a->readonly) {
        PyErr_SetString(PyExc_BufferError, "the array is read-only, which DLPack before 1.0 cannot tell");
        return NULL;
    }
    struct exported *e = calloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    e->shape = a->n;
    e->owner = KEPT(a);
    int32_t kind = a->on ? DLPACK_CUDA : DLPACK_CPU, id = a->on ? a->on->ordinal : 0;
    e->managed = (struct managed){
        {a->data, kind, id, 1, code_of(a->type), (uint8_t)(8 * type_bytes(a->type)), 1, &e->shape, NULL, 0},
        e,
        end_export};
    PyObject *capsule = PyCapsule_New(&e->managed, "dltensor", end_capsule);
    if (!capsule)
        end_export(&e->managed);
    return capsule;
}

PyObject *dlpack_device(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    const array *a = (array *)self;
    return a->on ? Py_BuildValue("ii", DLPACK_CUDA, a->on->ordinal) : Py_BuildValue("ii", DLPACK_CPU, 0);
}

/* ---- in ------------------------------------------------------------------------------------------------ */

/* What the memory of an Array belongs to that came in: a capsule again, of a name of ours. */
static void end_kept(PyObject *capsule)
{
    struct managed *m = PyCapsule_GetPointer(capsule, "libcohort.tensor");
    PyObject *type, *value, *trace; /* of a failure that is under way: the deleter may run Python's code */
    PyErr_Fetch(&type, &value, &trace);
    if (m && m->deleter)
        m->deleter(m);
    PyErr_Restore(type, value, trace);
}

static int type_of_tensor(const struct tensor *t)
{
    for (int type = 1; type < TYPES; ++type)
        if (t->lanes == 1 && code_of(type) == t->code && 8 * type_bytes(type) == t->bits)
            return type;
    return 0;
}

/* What is against it, or NULL. Managed memory may be used from either side. */
static PyObject *refuse(const struct tensor *t, const context *on, const char *argument)
{
    bool managed = t->device_type == DLPACK_CUDA_MANAGED, host = t->device_type == DLPACK_CPU;
    if (on && t->device_type == DLPACK_CUDA && t->device_id != on->ordinal)
        return PyErr_Format(PyExc_BufferError,
                            "%s: lies in the memory of cuda:%d, and must lie in that of cuda:%d", argument,
                            (int)t->device_id, on->ordinal);
    if (!managed && (on ? t->device_type != DLPACK_CUDA : !host && t->device_type != DLPACK_CUDA_HOST))
        return PyErr_Format(PyExc_BufferError,
                            "%s: lies on the device %d of the kind %d (DLPack); bring it to the host first",
                            argument, (int)t->device_id, (int)t->device_type);
    if (t->dimensions != 1)
        return PyErr_Format(PyExc_ValueError, "%s: has %d dimensions, and must have one", argument,
                            (int)t->dimensions);
    if (!type_of_tensor(t))
        return PyErr_Format(PyExc_TypeError, "%s: elements of DLPack's code %d of %d bits are not supported",
                            argument, (int)t->code, (int)t->bits);
    return Py_None;
}

/* In the memory of the context's GPU; elements that are not one behind the other are refused. */
static array *array_on_gpu(const struct tensor *t, context *on, PyObject *owner, const char *argument)
{
    int type = type_of_tensor(t);
    int64_t step = t->strides ? t->strides[0] : 1, n = t->shape[0];
    uintptr_t at = t->data ? (uintptr_t)t->data + t->byte_offset : 0;
    if (n > 1 && step != 1)
        return (array *)PyErr_Format(
            PyExc_BufferError,
            "%s: has a stride of %lld elements: in a GPU's memory they must be one behind the "
            "other",
            argument, (long long)step);
    if (at % type_bytes(type))
        return (array *)PyErr_Format(PyExc_BufferError, "%s: is not aligned", argument);
    /* whether it may be written is not told */
    return array_of_gpu(on, (void *)at, (Py_ssize_t)n, type, true, owner);
}

/* Elements that are not one behind the other are copied. */
static array *array_of_tensor(const struct tensor *t, PyObject *owner)
{
    int type = type_of_tensor(t);
    size_t bytes = type_bytes(type);
    const char *data = t->data ? (const char *)t->data + t->byte_offset : NULL;
    int64_t step = t->strides ? t->strides[0] : 1, n = t->shape[0];
    if ((step == 1 || n < 2) && (uintptr_t)data % bytes == 0 && data) {
        array *a = array_empty(type, (Py_ssize_t)n);
        if (a) {
            a->data = (void *)(uintptr_t)data;
            a->readonly = true; /* whether it may be written is not told */
            a->base = Py_NewRef(owner);
        }
        return a;
    }
    array *a = array_new(type, (Py_ssize_t)n);
    for (int64_t i = 0; a && i < n; ++i)
        memcpy((char *)a->data + (size_t)i * bytes, data + i * step * (int64_t)bytes, bytes);
    return a;
}

/* dlpack_in(capsule, argument, context of the GPU that it is to lie on or None): an Array. */
static PyObject *dlpack_in(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(3, 3)
    context *on = arguments[2] == Py_None ? NULL : context_of(arguments[2]);
    if (PyErr_Occurred())
        return NULL;
    const char *argument = PyUnicode_AsUTF8AndSize(arguments[1], NULL);
    struct managed *m = argument ? PyCapsule_GetPointer(arguments[0], "dltensor") : NULL;
    if (!m || !refuse(&m->tensor, on, argument))
        return NULL;
    if (PyCapsule_SetName(arguments[0], "used_dltensor"))
        return NULL;
    PyObject *owner = PyCapsule_New(m, "libcohort.tensor", end_kept);
    if (!owner) {
        if (m->deleter)
            m->deleter(m);
        return NULL;
    }
    array *a = on ? array_on_gpu(&m->tensor, on, owner, argument) : array_of_tensor(&m->tensor, owner);
    Py_DECREF(owner);
    return (PyObject *)a;
}

PyMethodDef dlpack_functions[] = {FAST(dlpack_in), {NULL, NULL, 0, NULL}};
