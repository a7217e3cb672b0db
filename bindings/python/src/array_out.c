/* array_out.c: how Arrays go out: Arrow's C data and C device interfaces, and CUDA's array interface. DLPack
 * is in dlpack.c, the buffer protocol in array.c. */
#include "core.h"

#include <stdlib.h>

/* What an exported Arrow array holds on to. */
struct exported {
    const void *buffers[2];
    PyObject *owner;
};

static void release_array(struct ArrowArray *array)
{
    struct exported *e = array->private_data;
    array->release = NULL;
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(e->owner);
        PyGILState_Release(state);
    }
    free(e);
}
static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void drop_schema(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release)
        schema->release(schema);
    free(schema);
}
static void drop_array(PyObject *capsule)
{
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release)
        array->release(array);
    free(array);
}
static void drop_device_array(PyObject *capsule)
{
    struct ArrowDeviceArray *array = PyCapsule_GetPointer(capsule, "arrow_device_array");
    if (array->array.release)
        array->array.release(&array->array);
    free(array);
}

static PyObject *capsule_of_schema(struct ArrowSchema *schema)
{
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", drop_schema);
    if (!capsule) {
        schema->release(schema);
        free(schema);
    }
    return capsule;
}

/* Two capsules as a pair; both references are taken over, and may be NULL. */
static PyObject *pair_of(PyObject *first, PyObject *second)
{
    PyObject *pair = first && second ? PyTuple_Pack(2, first, second) : NULL;
    DROP(first);
    DROP(second);
    return pair;
}

PyObject *arrow_pair(struct ArrowSchema *schema, struct ArrowArray *array)
{
    PyObject *first = capsule_of_schema(schema), *second = PyCapsule_New(array, "arrow_array", drop_array);
    if (!second) {
        array->release(array);
        free(array);
    }
    return pair_of(first, second);
}

static struct ArrowSchema *export_schema(int type)
{
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    if (!schema) {
        PyErr_NoMemory();
        return NULL;
    }
    schema->format = type_arrow(type);
    schema->name = "";
    schema->release = release_schema;
    return schema;
}

/* pack(array of booleans): their bits, eight a byte, as Arrow has them. */
static PyObject *pack(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(1, 1)
    BY_HOST(pack)
    array *a = array_of_bytes(arguments[0], "mask", 1, 1);
    array *out = a ? array_new(COHORT_U8, a->n / 8 + 1) : NULL;
    if (!out)
        return NULL;
    uint8_t *bits = out->data;
    memset(bits, 0, (size_t)out->n);
    for (Py_ssize_t i = 0; i < a->n; ++i)
        bits[i >> 3] |= (uint8_t)((((const uint8_t *)a->data)[i] != 0) << (i & 7));
    return (PyObject *)out;
}

/* Without a copy, but for booleans, which are bits there. */
static bool export_array(array *a, struct ArrowArray *out)
{
    PyObject *self = (PyObject *)a;
    PyObject *owner = a->type == TYPE_BOOL ? pack(NULL, &self, 1) : KEPT(a);
    struct exported *e = owner ? calloc(1, sizeof *e) : NULL;
    if (!e) {
        DROP(owner);
        if (owner)
            PyErr_NoMemory();
        return false;
    }
    e->owner = owner;
    e->buffers[1] = ((array *)owner)->data;
    *out = (struct ArrowArray){
        .length = a->n, .n_buffers = 2, .buffers = e->buffers, .private_data = e, .release = release_array};
    return true;
}

PyObject *arrow_schema(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    struct ArrowSchema *schema = export_schema(((array *)self)->type);
    return schema ? capsule_of_schema(schema) : NULL;
}

PyObject *arrow_array(PyObject *self, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL; /* a wish, which need not be granted */
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "|O", names, &requested) ||
        in_gpu((array *)self, "__arrow_c_device_array__"))
        return NULL;
    struct ArrowSchema *schema = export_schema(((array *)self)->type);
    struct ArrowArray *out = schema ? calloc(1, sizeof *out) : NULL;
    if (out && export_array((array *)self, out))
        return arrow_pair(schema, out);
    if (schema && !out)
        PyErr_NoMemory();
    free(out);
    free(schema); /* which holds nothing */
    return NULL;
}

/* The work on a GPU's array is done before it is handed out, so that there is no event to wait for. */
PyObject *arrow_device_array(PyObject *self, PyObject *arguments, PyObject *named)
{
    (void)arguments, (void)named; /* a schema that is wished for need not be given */
    array *a = (array *)self;
    struct ArrowDeviceArray *out = settled(a) ? calloc(1, sizeof *out) : NULL;
    if (!out)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    if (!export_array(a, &out->array)) {
        free(out);
        return NULL;
    }
    out->device_id = a->on ? a->on->ordinal : -1;
    out->device_type = a->on ? ARROW_DEVICE_CUDA : ARROW_DEVICE_CPU;
    PyObject *capsule = PyCapsule_New(out, "arrow_device_array", drop_device_array);
    if (!capsule) {
        out->array.release(&out->array);
        free(out);
        return NULL;
    }
    return pair_of(arrow_schema(self, NULL), capsule);
}

/* The third version; no stream is named, since nothing is to be waited for. */
PyObject *cuda_interface(PyObject *self, void *nothing)
{
    (void)nothing;
    array *a = (array *)self;
    if (!a->on) {
        PyErr_SetString(PyExc_AttributeError,
                        "__cuda_array_interface__: the array lies in the host's memory");
        return NULL;
    }
    if (!settled(a))
        return NULL;
    char kind = a->type == TYPE_BOOL ? 'b' : a->type >= COHORT_F32 ? 'f' : a->type >= COHORT_I8 ? 'i' : 'u';
    int bytes = (int)type_bytes(a->type);
    char text[8];
    PyOS_snprintf(text, sizeof text, "%c%c%d", bytes == 1 ? '|' : '<', kind, bytes);
    return Py_BuildValue("{s:(n),s:s,s:(K,O),s:i,s:O,s:O}", "shape", a->n, "typestr", text, "data",
                         (unsigned long long)(a->n ? (uintptr_t)a->data : 0),
                         a->readonly ? Py_True : Py_False, "version", 3, "strides", Py_None, "stream",
                         Py_None);
}
