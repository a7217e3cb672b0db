/* reading.c: each thread's own context, and maps and multimaps that several threads read at once.
 *
 * A thread reads an object of another context by a reader (cohort_map_reader) on its own. A context keeps
 * its readers, since the next call most likely reads the same objects. Who changes an object has the lock of
 * the object's context, counts the change, and waits until nobody reads the object by another context. A
 * reader of before the last change is made anew, which takes the lock of the object's context, and so waits
 * for the change to end.
 *
 * Nobody waits in a ring: who changes waits for those who read, and these have all that they need; who makes
 * a reader has the locks of both contexts, taken in the order of their addresses. */
#include "core.h"

#include <stdlib.h>

/* Of an object that has readers. The object has a reference, and so has each reader. */
struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t quiet;
    int references;
    unsigned process; /* `processes` when it was made */
    unsigned reading; /* calls under way by readers */
    bool gone;        /* the object is */
    uint64_t changes; /* that were begun */
};

struct reader {
    struct reader *next; /* of the same context */
    struct shared *of;
    uint64_t changes; /* of the object, when it was made */
    void *object;
    void (*destroy)(void *);
};

static unsigned processes; /* how often this process or one before it was forked */

/* What a process before a fork left may be in the middle of a change, and is as none. */
static struct shared *shared_of(handle *h)
{
    struct shared *s = __atomic_load_n(&h->shared, __ATOMIC_ACQUIRE);
    return s && s->process == processes ? s : NULL;
}

static void shared_drop(struct shared *s)
{
    if (!s || s->process != processes || __atomic_sub_fetch(&s->references, 1, __ATOMIC_ACQ_REL))
        return;
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->quiet);
    free(s);
}

static struct shared *shared_new(handle *h)
{
    struct shared *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->quiet, NULL);
    s->references = 1;
    s->process = processes;
    __atomic_store_n(&h->shared, s, __ATOMIC_RELEASE);
    return s;
}

static void reader_end(struct reader *r)
{
    if (r->object)
        r->destroy(r->object);
    shared_drop(r->of);
    free(r);
}

/* Its readers of objects that are gone, and that of `one`. With its lock held. */
static void readers_clean(context *on, const struct shared *one)
{
    for (struct reader **at = &on->readers; *at;) {
        struct reader *r = *at;
        if (r->of != one && !__atomic_load_n(&r->of->gone, __ATOMIC_ACQUIRE)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        reader_end(r);
    }
}

void readers_end(context *on)
{
    while (on->readers) {
        struct reader *r = on->readers;
        on->readers = r->next;
        reader_end(r);
    }
}

void readers_of_end(handle *h)
{
    struct shared *s = shared_of(h);
    if (!s)
        return;
    __atomic_store_n(&s->gone, true, __ATOMIC_RELEASE);
    shared_drop(s);
}

void readers_after_fork(context *contexts)
{
    ++processes;
    for (context *on = contexts; on; on = on->next)
        on->readers = NULL; /* a thread that is not here may have been about to change the list */
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The changes that were begun until now; the next one waits for `leave`. */
static uint64_t enter(struct shared *s)
{
    pthread_mutex_lock(&s->mutex);
    ++s->reading;
    uint64_t changes = s->changes;
    pthread_mutex_unlock(&s->mutex);
    return changes;
}

static void leave(struct shared *s)
{
    pthread_mutex_lock(&s->mutex);
    if (!--s->reading)
        pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->mutex);
}

/* The lock of another context beside that of the own one, which may be given back and taken again. */
static void lock_beside(context *own, context *other)
{
    if (!pthread_mutex_trylock(&other->lock))
        return;
    if ((uintptr_t)own < (uintptr_t)other) {
        pthread_mutex_lock(&other->lock);
        return;
    }
    pthread_mutex_unlock(&own->lock);
    pthread_mutex_lock(&other->lock);
    pthread_mutex_lock(&own->lock);
}

/* A new reader of the object, entered. With the lock of its context; nobody changes the object meanwhile. */
static cohort_status reader_make(reading *r, reader_of *make, bool *plain)
{
    handle *h = r->of;
    struct shared *s = shared_of(h);
    readers_clean(r->on, s);
    struct reader *new = calloc(1, sizeof *new);
    if (!new || (!s && !(s = shared_new(h)))) {
        free(new);
        *plain = true;
        return COHORT_NO_MEMORY;
    }
    cohort_status status = make(h->object, r->on->c, &new->object);
    if (status != COHORT_OK) {
        free(new);
        return status;
    }
    __atomic_add_fetch(&s->references, 1, __ATOMIC_RELAXED);
    new->of = s;
    new->changes = enter(s);
    new->destroy = h->destroy;
    new->next = r->on->readers;
    r->on->readers = new;
    r->by = new;
    return COHORT_OK;
}

/* The reader that the context has, entered; NULL: there is none, or it is of before a change. */
static struct reader *reader_known(reading *r)
{
    struct shared *s = shared_of(r->of);
    struct reader *known = s ? r->on->readers : NULL;
    while (known && known->of != s)
        known = known->next;
    if (!known)
        return NULL;
    if (known->changes == enter(s))
        return known;
    leave(s);
    return NULL;
}

reading read_by(handle *h)
{
    context *own = current_context();
    if (!own && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception))) {
        PyErr_Clear(); /* the default device cannot be used, and the object's can */
        own = (context *)KEPT(h->on);
    }
    if (own && own != h->on &&
        (own->ordinal != h->on->ordinal || strcmp(own->backend, h->on->backend) != 0)) {
        Py_DECREF(own);
        own = (context *)KEPT(h->on);
    }
    return (reading){h, own, NULL, NULL};
}

void read_forget(reading *r)
{
    Py_CLEAR(r->on);
}

void read_begin(reading *r, outcome *o, reader_of *make)
{
    call_begin(r->on, o);
    r->object = r->of->object;
    r->by = NULL;
    if (r->on == r->of->on)
        return;
    r->by = reader_known(r);
    if (!r->by) {
        lock_beside(r->on, r->of->on);
        o->status = reader_make(r, make, &o->plain);
        pthread_mutex_unlock(&r->of->on->lock);
    }
    r->object = r->by ? r->by->object : NULL;
}

PyObject *read_end(reading *r, outcome *o)
{
    if (r->by) {
        if (o->wait && o->status == COHORT_OK)
            o->status = cohort_wait(r->on->c);
        o->wait = false;
        leave(r->by->of);
    }
    return call_end(r->on, o);
}

/* ---- changing ------------------------------------------------------------------------------------------ */

void change_begin(handle *h, outcome *o)
{
    call_begin(h->on, o);
    struct shared *s = shared_of(h);
    if (!s)
        return;
    pthread_mutex_lock(&s->mutex);
    ++s->changes;
    while (s->reading)
        pthread_cond_wait(&s->quiet, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

/* ---- each thread's context ----------------------------------------------------------------------------- */

static PyObject *key, *maker, *gpus;

context *current_context(void)
{
    PyObject *thread = PyThreadState_GetDict(); /* borrowed, and ends with the thread */
    PyObject *on = thread ? PyDict_GetItemWithError(thread, key) : NULL;
    if (on)
        return (context *)KEPT(on);
    if (PyErr_Occurred() || !thread || !maker)
        return NULL;
    on = PyObject_CallNoArgs(maker);
    if (on && (!context_of(on) || PyDict_SetItem(thread, key, on)))
        Py_CLEAR(on);
    return (context *)on;
}

/* current(): the thread's context; its first call makes one. */
static PyObject *current(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    return (PyObject *)current_context();
}

/* context_for(array): where a call on it runs: the thread's context, or one of the GPU that the array is
 * on. */
static PyObject *context_for(PyObject *module, PyObject *object)
{
    (void)module;
    const array *a = array_of(object, "array");
    if (!a || !a->on)
        return a ? (PyObject *)current_context() : NULL;
    return PyObject_CallFunction(gpus, "i", a->on->ordinal);
}

/* use(context or None): the thread's from now on; what it had before, or None. */
static PyObject *use(PyObject *module, PyObject *on)
{
    (void)module;
    PyObject *thread = PyThreadState_GetDict();
    if (!thread || (on != Py_None && !context_of(on)))
        return NULL;
    PyObject *before = PyDict_GetItemWithError(thread, key);
    if (!before && PyErr_Occurred())
        return NULL;
    before = Py_NewRef(before ? before : Py_None);
    if (on != Py_None ? PyDict_SetItem(thread, key, on) : before != Py_None ? PyDict_DelItem(thread, key) : 0)
        Py_CLEAR(before);
    return before;
}

/* set_maker(function, function of a number): what makes the context of a thread that has none, and gives the
 * thread's context on a GPU. */
static PyObject *set_maker(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    ARGUMENTS(2, 2)
    DROP(maker);
    DROP(gpus);
    maker = KEPT(arguments[0]);
    gpus = KEPT(arguments[1]);
    if (!key && !(key = PyUnicode_InternFromString("libcohort.context")))
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef reading_functions[] = {{"current", current, METH_NOARGS, NULL},
                                   {"use", use, METH_O, NULL},
                                   FAST(set_maker),
                                   {"context_for", context_for, METH_O, NULL},
                                   {NULL, NULL, 0, NULL}};
