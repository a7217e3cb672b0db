/* array.c: the type Array, and the buffer protocol, which numpy and memoryview read. How arrays come in is in
 * array_in.c, how else they go out in array_out.c and dlpack.c, what is different in a GPU's memory in
 * device.c. */
#include "core.h"

#include <stdlib.h>
#include <sys/mman.h>

static PyTypeObject *array_type;

static const struct {
    const char *name;
    uint8_t bytes;
    char code; /* of the struct module */
    char arrow[2];
} types[TYPES] = {
    [COHORT_U8] = {"uint8", 1, 'B', "C"},    [COHORT_U16] = {"uint16", 2, 'H', "S"},
    [COHORT_U32] = {"uint32", 4, 'I', "I"},  [COHORT_U64] = {"uint64", 8, 'Q', "L"},
    [COHORT_I8] = {"int8", 1, 'b', "c"},     [COHORT_I16] = {"int16", 2, 'h', "s"},
    [COHORT_I32] = {"int32", 4, 'i', "i"},   [COHORT_I64] = {"int64", 8, 'q', "l"},
    [COHORT_F32] = {"float32", 4, 'f', "f"}, [COHORT_F64] = {"float64", 8, 'd', "g"},
    [TYPE_BOOL] = {"bool", 1, '?', "b"},
};

size_t type_bytes(int type)
{
    return types[type].bytes;
}
const char *type_name(int type)
{
    return types[type].name;
}
char type_code(int type)
{
    return types[type].code;
}
const char *type_arrow(int type)
{
    return types[type].arrow;
}

bool is_array(PyObject *object)
{
    return PyObject_TypeCheck(object, array_type);
}

array *array_empty(int type, Py_ssize_t n)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(array_type, Py_tp_alloc);
    array *a = (array *)alloc(array_type, 0);
    if (a) {
        a->n = n;
        a->type = type;
        a->stride = (Py_ssize_t)type_bytes(type);
    }
    return a;
}

array *array_new(int type, Py_ssize_t n)
{
    size_t bytes = type_bytes(type);
    if (n < 0 || (size_t)n > (size_t)(PY_SSIZE_T_MAX - 64) / bytes)
        return (array *)PyErr_NoMemory();
    array *a = array_empty(type, n);
    if (!a)
        return NULL;
    bytes = ((size_t)n * bytes + 63) / 64 * 64;
    bool huge = bytes >= (size_t)4 << 20;
    /* aligned_alloc does not look where a thread keeps the blocks that it freed. */
    a->block = huge ? aligned_alloc((size_t)2 << 20, (bytes + ((size_t)2 << 20) - 1) >> 21 << 21)
                    : malloc(bytes + 64);
    if (!a->block) {
        Py_DECREF(a);
        return (array *)PyErr_NoMemory();
    }
    if (huge)
        madvise(a->block, bytes, MADV_HUGEPAGE); /* fewer page faults; if it is refused, all is as before */
    a->data = (void *)(((uintptr_t)a->block + 63) / 64 * 64);
    return a;
}

static void array_dealloc(PyObject *self)
{
    array *a = (array *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *kind, *value, *trace; /* an exception that is set stays, whatever the owners do */
    PyErr_Fetch(&kind, &value, &trace);
    if (a->block && a->on)
        context_free(a->on, a->block);
    else
        free(a->block);
    DROP(a->on);
    DROP(a->base);
    if (a->view.obj)
        PyBuffer_Release(&a->view);
    if (a->arrow.release)
        a->arrow.release(&a->arrow);
    PyErr_Restore(kind, value, trace);
    freefunc f = (freefunc)PyType_GetSlot(type, Py_tp_free);
    f(self);
    Py_DECREF(type);
}

PyThreadState *let_go(int64_t size)
{
    enum { MANY = 1 << 14 };
    return size > MANY ? PyEval_SaveThread() : NULL;
}

void take_back(PyThreadState *thread)
{
    if (thread)
        PyEval_RestoreThread(thread);
}

array *array_of(PyObject *object, const char *argument)
{
    if (is_array(object))
        return (array *)object;
    PyErr_Format(PyExc_TypeError, "%s: an Array is due, not %R", argument, Py_TYPE(object));
    return NULL;
}

array *array_of_bytes(PyObject *object, const char *argument, size_t x, size_t y)
{
    array *a = array_of(object, argument);
    if (a && type_bytes(a->type) != x && type_bytes(a->type) != y) {
        PyErr_Format(PyExc_TypeError, "%s: is of type %s, and must have %zu or %zu bytes an element",
                     argument, type_name(a->type), x, y);
        return NULL;
    }
    return a;
}

/* optional(object): an Array or NULL for None; *failed if it is neither. */
array *optional(PyObject *object, const char *argument, bool *failed)
{
    array *a = object == Py_None ? NULL : array_of(object, argument);
    *failed |= object != Py_None && !a;
    return a;
}

bool same_length(const array *a, const array *b, const char *argument)
{
    if (!b || a->n == b->n)
        return true;
    PyErr_Format(PyExc_ValueError, "%s: has %zd %s, and must have %zd", argument, b->n, ENTRIES(b->n), a->n);
    return false;
}

Py_ssize_t room_for(Py_ssize_t keys)
{
    return keys <= 1024 ? 4 * keys + 64 : 0;
}

PyObject *or_none(array *a)
{
    return a ? (PyObject *)a : Py_None;
}

/* retype(array, type): the same memory, its bits taken for another type of the same size. */
static PyObject *retype(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    array *from = array_of(arguments[0], "array");
    long type = from ? PyLong_AsLong(arguments[1]) : -1;
    if (!from || (type == -1 && PyErr_Occurred()))
        return NULL;
    if (type < 1 || type >= TYPES || type_bytes((int)type) != type_bytes(from->type)) {
        PyErr_Format(PyExc_ValueError, "type: %ld has not the size of %s", type, type_name(from->type));
        return NULL;
    }
    if (type == from->type)
        return KEPT(from);
    array *a = array_empty((int)type, from->n);
    if (a) {
        a->data = from->data;
        a->readonly = from->readonly;
        a->base = KEPT(from);
        a->on = from->on ? (context *)KEPT(from->on) : NULL;
    }
    return (PyObject *)a;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

static int get_buffer(PyObject *self, Py_buffer *out, int flags)
{
    array *a = (array *)self;
    out->obj = NULL;
    if (in_gpu(a, "__dlpack__ or __cuda_array_interface__"))
        return -1;
    if ((flags & PyBUF_WRITABLE) && a->readonly) {
        PyErr_SetString(PyExc_BufferError, "the array is read-only");
        return -1;
    }
    static const char *const formats[TYPES] = {NULL, "B", "H", "I", "Q", "b", "h", "i", "q", "f", "d", "?"};
    out->obj = KEPT(self);
    out->buf = a->data;
    out->len = a->n * a->stride;
    out->itemsize = a->stride;
    out->readonly = a->readonly;
    out->ndim = 1;
    out->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)formats[a->type] : NULL;
    out->shape = flags & PyBUF_ND ? &a->n : NULL;
    out->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &a->stride : NULL;
    out->suboffsets = NULL;
    out->internal = NULL;
    return 0;
}

static Py_ssize_t array_length(PyObject *self)
{
    return ((array *)self)->n;
}

static PyObject *element(PyObject *self, Py_ssize_t i)
{
    const array *a = (array *)self;
    if (i < 0 || i >= a->n) {
        PyErr_SetString(PyExc_IndexError, "array index out of range");
        return NULL;
    }
    uint64_t word;
    const void *at = &word;
    if (!copy_element(a, i, &word))
        return NULL;
    switch (a->type) {
    case COHORT_U8:
        return PyLong_FromLong(*(const uint8_t *)at);
    case COHORT_U16:
        return PyLong_FromLong(*(const uint16_t *)at);
    case COHORT_U32:
        return PyLong_FromUnsignedLong(*(const uint32_t *)at);
    case COHORT_U64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case COHORT_I8:
        return PyLong_FromLong(*(const int8_t *)at);
    case COHORT_I16:
        return PyLong_FromLong(*(const int16_t *)at);
    case COHORT_I32:
        return PyLong_FromLong(*(const int32_t *)at);
    case COHORT_I64:
        return PyLong_FromLongLong(*(const int64_t *)at);
    case COHORT_F32:
        return PyFloat_FromDouble(*(const float *)at);
    case COHORT_F64:
        return PyFloat_FromDouble(*(const double *)at);
    default:
        return PyBool_FromLong(*(const uint8_t *)at);
    }
}

static PyObject *to_list(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    array *host = array_to_host((array *)self);
    PyObject *list = host ? PyList_New(host->n) : NULL;
    for (Py_ssize_t i = 0; list && i < host->n; ++i) {
        PyObject *item = element((PyObject *)host, i);
        if (!item || PyList_SetItem(list, i, item))
            Py_CLEAR(list);
    }
    DROP(host);
    return list;
}

static PyObject *array_subscript(PyObject *self, PyObject *index);

/* A slice with a step of an array in a GPU's memory, by way of the host. */
static PyObject *device_slice(array *from, PyObject *slice)
{
    array *host = array_to_host(from);
    array *part = host ? (array *)array_subscript((PyObject *)host, slice) : NULL;
    array *a = part ? array_to_device(from->on, part) : NULL;
    DROP(host);
    DROP(part);
    return (PyObject *)a;
}

static PyObject *array_subscript(PyObject *self, PyObject *index)
{
    if (PySlice_Check(index)) { /* a view of the same memory, or a copy where it has a step */
        Py_ssize_t first, last, step, n = ((array *)self)->n;
        if (PySlice_Unpack(index, &first, &last, &step))
            return NULL;
        n = PySlice_AdjustIndices(n, &first, &last, step);
        if (step != 1 && ((array *)self)->on)
            return device_slice((array *)self, index);
        array *from = (array *)self, *a = step == 1 ? array_empty(from->type, n) : array_new(from->type, n);
        if (!a)
            return NULL;
        char *data = (char *)from->data + from->stride * first;
        if (step == 1) {
            a->data = data;
            a->readonly = from->readonly;
            a->base = KEPT(self);
            a->on = from->on ? (context *)KEPT(from->on) : NULL;
        }
        for (Py_ssize_t i = 0; step != 1 && i < n; ++i)
            memcpy((char *)a->data + from->stride * i, data + from->stride * step * i, (size_t)from->stride);
        return (PyObject *)a;
    }
    Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    return element(self, i < 0 ? i + ((array *)self)->n : i);
}

static PyObject *array_repr(PyObject *self)
{
    const array *a = (array *)self;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < a->n; ++i) {
        if (a->n > 12 && i == 6) {
            i = a->n - 6;
            PyObject *dots = PyUnicode_FromString("...");
            if (!dots || PyList_Append(list, dots))
                Py_CLEAR(list);
            DROP(dots);
            if (!list)
                break;
        }
        PyObject *item = element(self, i), *text = item ? PyObject_Repr(item) : NULL;
        if (!text || PyList_Append(list, text))
            Py_CLEAR(list);
        DROP(item);
        DROP(text);
    }
    PyObject *comma = PyUnicode_FromString(", "), *text = list && comma ? PyUnicode_Join(comma, list) : NULL;
    char more[64] = "", where[32] = "";
    if (a->n > 12)
        PyOS_snprintf(more, sizeof more, ", length=%lld", (long long)a->n);
    if (a->on)
        PyOS_snprintf(where, sizeof where, ", device='cuda:%d'", a->on->ordinal);
    PyObject *result = text ? PyUnicode_FromFormat("libcohort.Array([%U], type='%s'%s%s)", text,
                                                   type_name(a->type), more, where)
                            : NULL;
    DROP(list);
    DROP(comma);
    DROP(text);
    return result;
}

/* Pickled as its bytes: restore(type, bytes). Of a GPU's memory it becomes one of the host's. */
static PyObject *array_reduce(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    array *a = array_to_host((array *)self);
    if (!a)
        return NULL;
    PyObject *module = PyImport_ImportModule("libcohort._core");
    PyObject *function = module ? PyObject_GetAttrString(module, "restore") : NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(a->data, a->n * a->stride);
    PyObject *result = function && bytes ? Py_BuildValue("O(iO)", function, a->type, bytes) : NULL;
    DROP(module);
    DROP(function);
    DROP(bytes);
    DROP(a);
    return result;
}

static PyObject *restore(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    long type = PyLong_AsLong(arguments[0]);
    char *bytes;
    Py_ssize_t n;
    if ((type == -1 && PyErr_Occurred()) || PyBytes_AsStringAndSize(arguments[1], &bytes, &n))
        return NULL;
    if (type < 1 || type >= TYPES || n % (Py_ssize_t)type_bytes((int)type)) {
        PyErr_Format(PyExc_ValueError, "%zd bytes are no array of type %ld", n, type);
        return NULL;
    }
    array *a = array_new((int)type, n / (Py_ssize_t)type_bytes((int)type));
    if (a)
        memcpy(a->data, bytes, (size_t)n);
    return (PyObject *)a;
}

static PyObject *get_type(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyUnicode_FromString(type_name(((array *)self)->type));
}
static PyObject *get_code(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromLong(((array *)self)->type);
}
static PyObject *get_address(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromVoidPtr(((array *)self)->data);
}

static PyObject *get_device(PyObject *self, void *nothing)
{
    (void)nothing;
    const array *a = (array *)self;
    return a->on ? PyUnicode_FromFormat("cuda:%d", a->on->ordinal) : PyUnicode_FromString("cpu");
}
static PyObject *get_gpu(PyObject *self, void *nothing)
{
    (void)nothing;
    const array *a = (array *)self;
    return a->on ? PyLong_FromLong(a->on->ordinal) : KEPT(Py_None);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_VARARGS | METH_KEYWORDS,
     "DLPack: the array, without a copy."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "DLPack: the kind of memory, and which GPU's."},
    {"tolist", to_list, METH_NOARGS,
     "The elements as a list of Python's numbers.\n\n"
     ">>> import libcohort\n>>> libcohort.sort([3, 1.5]).tolist()\n[1.5, 3.0]"},
    {"__arrow_c_schema__", arrow_schema, METH_NOARGS, "Arrow's C data interface: the type."},
    {"__arrow_c_array__", (PyCFunction)(void (*)(void))arrow_array, METH_VARARGS | METH_KEYWORDS,
     "Arrow's C data interface: the array, without a copy (booleans are packed)."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))arrow_stream, METH_VARARGS | METH_KEYWORDS,
     "Arrow's C stream interface: the array, without a copy (booleans are packed)."},
    {"__arrow_c_device_array__", (PyCFunction)(void (*)(void))arrow_device_array,
     METH_VARARGS | METH_KEYWORDS,
     "Arrow's C device data interface: the array, without a copy (booleans are packed)."},
    {"__reduce__", array_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef attributes[] = {
    {"type", get_type, NULL, "The elements' type, named as numpy names it: 'int64', 'float32', 'bool'.",
     NULL},
    {"_code", get_code, NULL, NULL, NULL},
    {"device", get_device, NULL, "Where it lies: 'cpu', the host's memory, or 'cuda:0' and so on.", NULL},
    {"__cuda_array_interface__", cuda_interface, NULL,
     "CUDA's array interface, of an array in a GPU's memory.", NULL},
    {"_gpu", get_gpu, NULL, NULL, NULL},
    {"_address", get_address, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Numbers of one type in a row: what functions answer where no numpy array was given.\n\n"
     "In the host's memory numpy.asarray(a), memoryview(a) and pyarrow.array(a) use it without a copy; in a "
     "GPU's\n"
     "(see `device`) torch.from_dlpack(a), cupy.asarray(a) and whatever knows one of these protocols do.\n\n"
     ">>> import libcohort\n"
     ">>> a = libcohort.sort([3, 1, 2])\n"
     ">>> a[0], len(a), a.type, memoryview(a)[2]\n"
     "(1, 3, 'int64', 3)"},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_repr, array_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_iter, PySeqIter_New},
    {Py_sq_length, array_length},
    {Py_sq_item, element},
    {Py_mp_length, array_length},
    {Py_mp_subscript, array_subscript},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL}};
static PyType_Spec spec = {"libcohort.Array", sizeof(array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyMethodDef array_functions[] = {FAST(retype), FAST(restore), {NULL, NULL, 0, NULL}};

int array_ready(PyObject *module)
{
    array_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return array_type ? PyModule_AddObjectRef(module, "Array", (PyObject *)array_type) : -1;
}
