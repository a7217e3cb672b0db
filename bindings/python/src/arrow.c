/* arrow.c: Arrow's structs as this module hands them out: filled in here, and put into capsules here, whoever
 * has the memory: Arrays (array_out.c), frames (table_out.c), what is pickled and made of lists. */
#include "core.h"

#include <stdlib.h>

/* ---- structs ------------------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

struct ArrowSchema arrow_schema_of(const char *format, int64_t flags)
{
    return (struct ArrowSchema){.format = format, .name = "", .flags = flags, .release = release_schema};
}

/* What an array that was lent holds on to. */
struct lent {
    const void *buffers[ARROW_BUFFERS];
    PyObject *owner;
};

static void give_back(struct ArrowArray *array)
{
    struct lent *l = array->private_data;
    array->release = NULL;
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        DROP(l->owner);
        PyGILState_Release(state);
    }
    free(l);
}

bool arrow_lend(struct ArrowArray *out, int64_t rows, int64_t nulls, int count, const void *const *buffers,
                PyObject *owner)
{
    struct lent *l = calloc(1, sizeof *l);
    if (!l) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(l->buffers, buffers, (size_t)count * sizeof *buffers);
    l->owner = Py_XNewRef(owner);
    *out = (struct ArrowArray){.length = rows,
                               .null_count = nulls,
                               .n_buffers = count,
                               .buffers = l->buffers,
                               .private_data = l,
                               .release = give_back};
    return true;
}

/* ---- capsules ------------------------------------------------------------------------------------------ */

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
static void drop_stream(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release)
        stream->release(stream);
    free(stream);
}

/* A capsule with a copy of a struct, which is released if there is none. */
#define CAPSULE(NAME, TYPE, LABEL, DROP_IT, RELEASE)                         \
    PyObject *NAME(struct TYPE *it)                                          \
    {                                                                        \
        struct TYPE *own = malloc(sizeof *own);                              \
        PyObject *capsule = own ? PyCapsule_New(own, LABEL, DROP_IT) : NULL; \
        if (capsule) {                                                       \
            *own = *it;                                                      \
            return capsule;                                                  \
        }                                                                    \
        if (!own)                                                            \
            PyErr_NoMemory();                                                \
        free(own);                                                           \
        RELEASE;                                                             \
        return NULL;                                                         \
    }
CAPSULE(arrow_schema_capsule, ArrowSchema, "arrow_schema", drop_schema, it->release(it))
CAPSULE(arrow_array_capsule, ArrowArray, "arrow_array", drop_array, it->release(it))
CAPSULE(arrow_device_capsule, ArrowDeviceArray, "arrow_device_array", drop_device_array,
        it->array.release(&it->array))
CAPSULE(arrow_stream_capsule, ArrowArrayStream, "arrow_array_stream", drop_stream, it->release(it))

PyObject *arrow_pair(PyObject *schema, PyObject *array)
{
    PyObject *pair = schema && array ? PyTuple_Pack(2, schema, array) : NULL;
    DROP(schema);
    DROP(array);
    return pair;
}
