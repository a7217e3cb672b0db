/* context.c: contexts, their locks, objects that belong to them, and errors as exceptions.
 *
 * A context is used by one thread at a time, so each has a lock. It is taken after the GIL was released,
 * and given back before the GIL is taken again: nobody ever waits for one while holding the other. */
#include "core.h"

#include <errno.h>
#include <stdlib.h>

static PyTypeObject *context_type, *handle_type;
static context *contexts;                                   /* all that live; */
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER; /* who has it waits for nothing */
static PyObject *exceptions;                                /* a list, one for each status */

static PyObject *class_of(cohort_status status)
{
    return exceptions ? PyList_GetItem(exceptions, (Py_ssize_t)status) : NULL;
}

static PyObject *raise_status(cohort_status status, const char *message)
{
    PyObject *class = class_of(status);
    if (class)
        PyErr_SetString(class, message && *message ? message : cohort_status_name(status));
    return NULL;
}

static void set_and_drop(PyObject *object, const char *name, PyObject *value)
{
    if (value)
        PyObject_SetAttrString(object, name, value);
    DROP(value);
}

/* An error of files, with errno where the message tells it, and the path. */
static PyObject *raise_of_file(const outcome *o)
{
    PyObject *class = class_of(o->status);
    PyObject *error = class ? PyObject_CallFunction(class, "s", o->message) : NULL;
    if (error && o->error && strstr(o->message, strerror(o->error)))
        set_and_drop(error, "errno", PyLong_FromLong(o->error));
    if (error && !PyErr_Occurred())
        set_and_drop(error, "filename", PyUnicode_DecodeFSDefault(PyBytes_AsString(o->path)));
    if (error && !PyErr_Occurred())
        PyErr_SetObject(class, error);
    DROP(error);
    return NULL;
}

uint64_t number_of(PyObject *object, const char *argument, uint64_t least, uint64_t most)
{
    PyObject *number = PyNumber_Index(object);
    uint64_t value = number ? PyLong_AsUnsignedLongLong(number) : 0;
    DROP(number);
    if (!PyErr_Occurred() && value >= least && value <= most)
        return value;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: a whole number is due, not %R", argument, object);
    else if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(class_of(COHORT_RANGE), "%s: must be from %llu to %llu, not %R", argument,
                     (unsigned long long)least, (unsigned long long)most, object);
    }
    return 0;
}

/* number(object, argument, least, most): a whole number of an argument. */
static PyObject *number(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    const char *argument = PyUnicode_AsUTF8AndSize(arguments[1], NULL);
    uint64_t least = PyLong_AsUnsignedLongLong(arguments[2]), most = PyLong_AsUnsignedLongLong(arguments[3]);
    uint64_t value = PyErr_Occurred() ? 0 : number_of(arguments[0], argument, least, most);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(value);
}

/* ---- progress ------------------------------------------------------------------------------------------ */

/* An object that was let go inside a callback, by the collector of garbage say: it is destroyed when the call
 * has ended, since the thread has a lock there and must wait for no other. */
struct later {
    struct later *next;
    context *on; /* a reference */
    void *object;
    void (*destroy)(void *);
    bool unlocked; /* as of a handle */
};

static _Thread_local context *inside; /* the context in whose callback this thread is */

/* Told by the library, in the thread that called it, a few times a second. Ctrl-C's handler runs here, and
 * what it raises ends the call, as does what the caller's function raises. The exception stays with the
 * thread until the call has ended; if it was raised at the end of a pass, the next pass is ended by it. */
static int told(void *user, const char *what, uint64_t done, uint64_t total)
{
    context *on = user;
    PyGILState_STATE state = PyGILState_Ensure();
    context *outer = inside;
    inside = on;
    bool failed = PyErr_Occurred() || PyErr_CheckSignals() != 0;
    if (!failed && on->tell) {
        PyObject *answer = PyObject_CallFunction(on->tell, "sKK", what, done, total);
        failed = !answer;
        DROP(answer);
    }
    inside = outer;
    on->stopped |= failed;
    PyGILState_Release(state);
    return failed;
}

static void destroy_on(context *on, void *object, void (*destroy)(void *))
{
    outcome o;
    call_begin(on, &o);
    destroy(object);
    call_end(on, &o);
}

static void destroy_later(struct later *l)
{
    while (l) {
        struct later *next = l->next;
        if (l->unlocked)
            l->destroy(l->object);
        else
            destroy_on(l->on, l->object, l->destroy);
        Py_DECREF(l->on);
        free(l);
        l = next;
    }
}

/* Whether this thread is in a callback; then the object is put aside (or, without memory, lost). */
static bool put_aside(context *on, void *object, void (*destroy)(void *), bool unlocked)
{
    if (!inside)
        return false;
    struct later *l = malloc(sizeof *l);
    if (l) {
        *l = (struct later){inside->later, (context *)KEPT(on), object, destroy, unlocked};
        inside->later = l;
    }
    return true;
}

void call_begin(context *on, outcome *o)
{
    o->status = COHORT_OK;
    o->wait = o->plain = false;
    o->path = NULL;
    o->thread = PyEval_SaveThread();
    pthread_mutex_lock(&on->lock);
    errno = 0;
}

PyObject *call_end(context *on, outcome *o)
{
    o->error = errno;
    if (o->wait && o->status == COHORT_OK)
        o->status = cohort_wait(on->c);
    if (o->status != COHORT_OK)
        PyOS_snprintf(o->message, sizeof o->message, "%s", o->plain ? "" : cohort_message(on->c));
    struct later *later = on->later;
    on->later = NULL;
    bool stopped = on->stopped;
    on->stopped = false;
    pthread_mutex_unlock(&on->lock);
    PyEval_RestoreThread(o->thread);
    destroy_later(later);
    if (stopped && PyErr_Occurred())
        return NULL; /* what ended the call, or came as it was done */
    if (o->status == COHORT_OK)
        return Py_None;
    return o->status == COHORT_IO && o->path ? raise_of_file(o) : raise_status(o->status, o->message);
}

context *context_of(PyObject *object)
{
    if (PyObject_TypeCheck(object, context_type))
        return (context *)object;
    PyErr_Format(PyExc_TypeError, "a Context is due, not %R", Py_TYPE(object));
    return NULL;
}

void *stream_of(PyObject *number)
{
    void *stream = PyLong_AsVoidPtr(number);
    return stream == (void *)1 ? NULL : stream;
}

/* Of the GPU that a device's name means. */
static int ordinal_of(const char *device)
{
    if (!device || !strcmp(device, "auto"))
        device = getenv("COHORT_DEVICE");
    return device && !strncmp(device, "cuda:", 5) ? atoi(device + 5) : 0;
}

/* context_new(device or None, threads, function of (what, done, total) or None, stream or None) */
static PyObject *context_new(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(4, 4)
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    if (arguments[0] != Py_None && !PyUnicode_Check(arguments[0]))
        return PyErr_Format(PyExc_TypeError, "name: the name of a device is due, not %R", arguments[0]);
    if (arguments[0] != Py_None && !(options.device = PyUnicode_AsUTF8AndSize(arguments[0], NULL)))
        return NULL;
    options.threads = number_of(arguments[1], "threads", 0, UINT32_MAX);
    if (arguments[3] != Py_None)
        options.stream = stream_of(arguments[3]);
    if (PyErr_Occurred())
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(context_type, Py_tp_alloc);
    context *on = (context *)alloc(context_type, 0);
    if (!on)
        return NULL;
    pthread_mutex_init(&on->lock, NULL);
    on->tell = arguments[2] == Py_None ? NULL : KEPT(arguments[2]);
    on->stream = options.stream;
    options.progress = (cohort_progress){told, on};
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    outcome o;
    o.thread = PyEval_SaveThread();
    o.status = cohort_context_create(&options, &on->c);
    if (o.status == COHORT_OK)
        o.status = cohort_context_get_info(on->c, &info);
    PyOS_snprintf(on->backend, sizeof on->backend, "%s", info.backend ? info.backend : "");
    on->ordinal = info.backend && !strcmp(info.backend, "cuda") ? ordinal_of(options.device) : -1;
    if (o.status != COHORT_OK)
        PyOS_snprintf(o.message, sizeof o.message, "%s", cohort_message(on->c));
    PyEval_RestoreThread(o.thread);
    if (o.status == COHORT_OK) {
        pthread_mutex_lock(&listing);
        on->next = contexts;
        if (contexts)
            contexts->before = on;
        contexts = on;
        pthread_mutex_unlock(&listing);
        return (PyObject *)on;
    }
    Py_DECREF(on);
    return raise_status(o.status, o.message);
}

static void context_dealloc(PyObject *self)
{
    context *on = (context *)self;
    PyTypeObject *type = Py_TYPE(self);
    pthread_mutex_lock(&listing);
    if (on->before)
        on->before->next = on->next;
    else if (contexts == on)
        contexts = on->next;
    if (on->next)
        on->next->before = on->before;
    pthread_mutex_unlock(&listing);
    readers_end(on);
    cohort_context_destroy(on->c);
    DROP(on->tell);
    pthread_mutex_destroy(&on->lock);
    freefunc f = (freefunc)PyType_GetSlot(type, Py_tp_free);
    f(self);
    Py_DECREF(type);
}

/* after_fork(): locks that threads of the parent held would never be given back in the child. The library
 * knows which contexts a call was under way on. */
static PyObject *after_fork(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    pthread_mutex_init(&listing, NULL);
    for (context *on = contexts; on; on = on->next)
        pthread_mutex_init(&on->lock, NULL); /* whatever it was */
    readers_after_fork(contexts);
    Py_RETURN_NONE;
}

/* context_gpu(context): (number of the GPU or -1, the caller's stream or None). */
static PyObject *context_gpu(PyObject *module, PyObject *object)
{
    (void)module;
    context *on = context_of(object);
    if (!on)
        return NULL;
    if (on->stream == COHORT_STREAM_OWN)
        return Py_BuildValue("iO", on->ordinal, Py_None);
    return Py_BuildValue("iK", on->ordinal, (unsigned long long)(uintptr_t)on->stream);
}

static PyObject *version(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    return PyUnicode_FromString(cohort_version());
}

/* Of the sources, as the build found it. */
static PyObject *commit(PyObject *module, PyObject *nothing)
{
    extern const char cohort_commit[]; /* made by the build: cmake/commit.cmake */
    (void)module, (void)nothing;
    return PyUnicode_FromString(cohort_commit);
}

/* context_info(context): a dict. */
static PyObject *context_info(PyObject *module, PyObject *object)
{
    (void)module;
    context *on = context_of(object);
    if (!on)
        return NULL;
    cohort_context_info i = COHORT_CONTEXT_INFO_INIT;
    outcome o;
    call_begin(on, &o);
    o.status = cohort_context_get_info(on->c, &i);
    if (!call_end(on, &o))
        return NULL;
    return Py_BuildValue("{s:s,s:s,s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "version", cohort_version(),
                         "backend", i.backend, "device", i.device, "threads", i.threads, "memory_bytes",
                         i.memory_bytes, "memory_free", i.memory_free, "pool_bytes", i.pool_bytes,
                         "architecture", i.architecture, "l2_bytes", i.l2_bytes, "map_widths",
                         (uint64_t)i.map_widths, "map_run_widths", (uint64_t)i.map_run_widths, "lines_widths",
                         (uint64_t)i.lines_widths, "memory_held", i.memory_held);
}

/* context_limits(context, table_bytes): a dict. */
static PyObject *context_limits(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    context *on = context_of(arguments[0]);
    cohort_limits l = COHORT_LIMITS_INIT;
    l.table_bytes = on ? number_of(arguments[1], "table_bytes", 0, UINT64_MAX) : 0;
    if (PyErr_Occurred())
        return NULL;
    outcome o;
    call_begin(on, &o);
    o.status = cohort_limits_measure(on->c, &l);
    if (!call_end(on, &o))
        return NULL;
    return Py_BuildValue("{s:K,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d}", "table_bytes", l.table_bytes,
                         "copy_bytes", l.copy_bytes, "random_reads_32", l.random_reads_32, "random_reads_8",
                         l.random_reads_8, "random_cas_8", l.random_cas_8, "cached_reads_32",
                         l.cached_reads_32, "cached_cas_8", l.cached_cas_8, "link_to_device",
                         l.link_to_device, "link_from_device", l.link_from_device, "link_both", l.link_both);
}

/* set_exceptions(list): the class for each status. */
static PyObject *set_exceptions(PyObject *module, PyObject *list)
{
    (void)module;
    if (!PyList_Check(list) || PyList_Size(list) != COHORT_CANCELLED + 1) {
        PyErr_SetString(PyExc_ValueError, "a class for each status is due");
        return NULL;
    }
    DROP(exceptions);
    exceptions = KEPT(list);
    Py_RETURN_NONE;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* What is put aside of an array that was let go inside a callback. */
struct block {
    cohort_context *c;
    void *memory;
};
static void free_block(void *object)
{
    struct block *b = object;
    cohort_free(b->c, b->memory);
    free(b);
}

void context_free(context *on, void *memory)
{
    struct block *b = inside ? malloc(sizeof *b) : NULL;
    if (b) {
        *b = (struct block){on->c, memory};
        put_aside(on, b, free_block, false);
    } else if (!inside) {
        outcome o;
        call_begin(on, &o);
        cohort_free(on->c, memory);
        call_end(on, &o);
    }
}

/* ---- objects ------------------------------------------------------------------------------------------- */

handle *handle_new(context *on, const char *kind, void (*destroy)(void *))
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(handle_type, Py_tp_alloc);
    handle *h = (handle *)alloc(handle_type, 0);
    if (h) {
        h->on = (context *)KEPT(on);
        h->kind = kind;
        h->destroy = destroy;
    }
    return h;
}

handle *handle_of(PyObject *object, const char *kind)
{
    if (PyObject_TypeCheck(object, handle_type) && !strcmp(((handle *)object)->kind, kind))
        return (handle *)object;
    PyErr_Format(PyExc_TypeError, "a handle of a %s is due, not %R", kind, Py_TYPE(object));
    return NULL;
}

PyObject *path_of(PyObject *object)
{
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(object, &bytes) ? bytes : NULL;
}

static void handle_dealloc(PyObject *self)
{
    handle *h = (handle *)self;
    PyTypeObject *type = Py_TYPE(self);
    readers_of_end(h);
    if (h->object && put_aside(h->on, h->object, h->destroy, h->unlocked)) {
        h->object = NULL;
    } else if (h->object && h->unlocked) {
        Py_BEGIN_ALLOW_THREADS h->destroy(h->object);
        Py_END_ALLOW_THREADS
    } else if (h->object)
        destroy_on(h->on, h->object, h->destroy);
    DROP(h->on);
    freefunc f = (freefunc)PyType_GetSlot(type, Py_tp_free);
    f(self);
    Py_DECREF(type);
}

static PyObject *handle_context(PyObject *self, void *nothing)
{
    (void)nothing;
    return KEPT(((handle *)self)->on);
}
static PyObject *handle_type_number(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromLong(((handle *)self)->type);
}
static PyObject *handle_sets(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromUnsignedLongLong(((handle *)self)->sets);
}
static PyObject *handle_members(PyObject *self, void *nothing)
{
    (void)nothing;
    return PyLong_FromUnsignedLongLong(((handle *)self)->members);
}
static PyGetSetDef handle_attributes[] = {{"context", handle_context, NULL, NULL, NULL},
                                          {"type", handle_type_number, NULL, NULL, NULL},
                                          {"sets", handle_sets, NULL, NULL, NULL},
                                          {"members", handle_members, NULL, NULL, NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot context_slots[] = {{Py_tp_dealloc, context_dealloc}, {0, NULL}};
static PyType_Spec context_spec = {"libcohort._core.Context", sizeof(context), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, context_slots};
static PyType_Slot handle_slots[] = {
    {Py_tp_dealloc, handle_dealloc}, {Py_tp_getset, handle_attributes}, {0, NULL}};
static PyType_Spec handle_spec = {"libcohort._core.Handle", sizeof(handle), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

PyMethodDef context_functions[] = {FAST(context_new),
                                   {"version", version, METH_NOARGS, NULL},
                                   {"commit", commit, METH_NOARGS, NULL},
                                   {"after_fork", after_fork, METH_NOARGS, NULL},
                                   {"context_info", context_info, METH_O, NULL},
                                   {"context_gpu", context_gpu, METH_O, NULL},
                                   FAST(context_limits),
                                   FAST(number),
                                   {"set_exceptions", set_exceptions, METH_O, NULL},
                                   {NULL, NULL, 0, NULL}};

int context_ready(PyObject *module)
{
    context_type = (PyTypeObject *)PyType_FromSpec(&context_spec);
    handle_type = (PyTypeObject *)PyType_FromSpec(&handle_spec);
    if (!context_type || !handle_type)
        return -1;
    return PyModule_AddObjectRef(module, "Context", (PyObject *)context_type) ||
                   PyModule_AddObjectRef(module, "Handle", (PyObject *)handle_type)
               ? -1
               : 0;
}
