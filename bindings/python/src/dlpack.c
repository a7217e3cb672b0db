/* dlpack.c: arrays in and out by DLPack (https://dmlc.github.io/dlpack): numpy, torch, jax, cupy. Its structs are a
 * binary interface and written down here. Memory of the host alone; that of a GPU is refused by name. */
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

/* ---- out ------------------------------------------------------------------------------------------------------- */

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

/* dlpack_out(array): a capsule. */
PyObject *dlpack_out(PyObject *module, PyObject *object)
{
    (void)module;
    array *a = array_of(object, "array");
    if (!a)
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
    e->managed = (struct managed){{a->data, DLPACK_CPU, 0, 1, code_of(a->type),
                                   (uint8_t)(8 * type_bytes(a->type)), 1, &e->shape, NULL, 0},
                                  e,
                                  end_export};
    PyObject *capsule = PyCapsule_New(&e->managed, "dltensor", end_capsule);
    if (!capsule)
        end_export(&e->managed);
    return capsule;
}

/* ---- in -------------------------------------------------------------------------------------------------------- */

/* What the memory of an Array belongs to that came in: a capsule again, of a name of ours. */
static void end_kept(PyObject *capsule)
{
    struct managed *m = PyCapsule_GetPointer(capsule, "libcohort.tensor");
    if (m && m->deleter)
        m->deleter(m);
}

static int type_of_tensor(const struct tensor *t)
{
    for (int type = 1; type < TYPES; ++type)
        if (t->lanes == 1 && code_of(type) == t->code && 8 * type_bytes(type) == t->bits)
            return type;
    return 0;
}

/* What is against it, or NULL. */
static PyObject *refuse(const struct tensor *t, const char *argument)
{
    if (t->device_type != DLPACK_CPU && t->device_type != DLPACK_CUDA_HOST &&
        t->device_type != DLPACK_CUDA_MANAGED)
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

/* dlpack_in(capsule, argument): an Array. */
static PyObject *dlpack_in(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    const char *argument = PyUnicode_AsUTF8AndSize(arguments[1], NULL);
    struct managed *m = argument ? PyCapsule_GetPointer(arguments[0], "dltensor") : NULL;
    if (!m || !refuse(&m->tensor, argument))
        return NULL;
    if (PyCapsule_SetName(arguments[0], "used_dltensor"))
        return NULL;
    PyObject *owner = PyCapsule_New(m, "libcohort.tensor", end_kept);
    if (!owner) {
        if (m->deleter)
            m->deleter(m);
        return NULL;
    }
    array *a = array_of_tensor(&m->tensor, owner);
    Py_DECREF(owner);
    return (PyObject *)a;
}

PyMethodDef dlpack_functions[] = {
    {"dlpack_out", dlpack_out, METH_O, NULL}, FAST(dlpack_in), {NULL, NULL, 0, NULL}};
