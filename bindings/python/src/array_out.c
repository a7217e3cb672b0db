/* array_out.c: how Arrays go out: Arrow's C data and C device interfaces, by arrow.c, and CUDA's array
 * interface. DLPack is in dlpack.c, the buffer protocol in array.c. */
#include "core.h"

#include <stdlib.h>

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

bool array_lend(array *a, struct ArrowArray *out)
{
    PyObject *self = (PyObject *)a;
    PyObject *owner = a->type == TYPE_BOOL ? pack(NULL, &self, 1) : KEPT(a);
    const void *buffers[] = {NULL, owner ? ((array *)owner)->data : NULL};
    bool good = owner && arrow_lend(out, a->n, 0, 2, buffers, owner);
    DROP(owner);
    return good;
}

PyObject *arrow_schema(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    struct ArrowSchema schema = arrow_schema_of(type_arrow(((array *)self)->type), 0);
    return arrow_schema_capsule(&schema);
}

PyObject *arrow_array(PyObject *self, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL; /* a wish, which need not be granted */
    struct ArrowArray out;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "|O", names, &requested) ||
        in_gpu((array *)self, "__arrow_c_device_array__") || !array_lend((array *)self, &out))
        return NULL;
    return arrow_pair(arrow_schema(self, NULL), arrow_array_capsule(&out));
}

/* A stream of one array: its schema and its array, until they are given. */
struct one {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static int one_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    *out = ((struct one *)stream->private_data)->schema; /* it has nothing to release */
    return 0;
}
static int one_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct one *one = stream->private_data;
    *out = one->array;
    one->array.release = NULL;
    return 0;
}
static const char *one_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}
static void one_end(struct ArrowArrayStream *stream)
{
    struct one *one = stream->private_data;
    stream->release = NULL;
    if (one->array.release)
        one->array.release(&one->array);
    free(one);
}

PyObject *arrow_stream(PyObject *self, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL; /* a wish, which need not be granted */
    array *a = (array *)self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "|O", names, &requested) ||
        in_gpu(a, "__arrow_c_device_array__"))
        return NULL;
    struct one *one = malloc(sizeof *one);
    if (!one)
        return PyErr_NoMemory();
    one->schema = arrow_schema_of(type_arrow(a->type), 0);
    if (!array_lend(a, &one->array)) {
        free(one);
        return NULL;
    }
    struct ArrowArrayStream stream = {one_schema, one_next, one_error, one_end, one};
    return arrow_stream_capsule(&stream);
}

/* The work on a GPU's array is done before it is handed out, so that there is no event to wait for. */
PyObject *arrow_device_array(PyObject *self, PyObject *arguments, PyObject *named)
{
    (void)arguments, (void)named; /* a schema that is wished for need not be given */
    array *a = (array *)self;
    struct ArrowDeviceArray out = {.device_id = a->on ? a->on->ordinal : -1,
                                   .device_type = a->on ? ARROW_DEVICE_CUDA : ARROW_DEVICE_CPU};
    if (!settled(a) || !array_lend(a, &out.array))
        return NULL;
    return arrow_pair(arrow_schema(self, NULL), arrow_device_capsule(&out));
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
