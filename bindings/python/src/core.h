/* core.h: what the files of the extension module libcohort._core share.
 *
 * The module is a thin layer: it takes arrays in, releases the GIL, makes one call of the library, and gives
 * arrays out. What the Python names mean is decided in the Python files of the package. Each structure of the
 * library is touched in one file here: context.c, ops.c, map.c, multimap.c, sets.c, and frames in the three
 * table files. Only CPython's limited API (3.11) is used; a free-threaded Python has none before 3.15, so for
 * that the same calls are compiled by its own headers (COHORT_FREE_THREADED). */
#ifndef LIBCOHORT_CORE_H
#define LIBCOHORT_CORE_H

#ifndef COHORT_FREE_THREADED
#    define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cohort.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A boolean of one byte: beside the library's types, for masks. */
enum { TYPE_BOOL = 11, TYPES = 12 };

typedef struct context context;

/* One-dimensional numbers: memory of its own, or borrowed of a buffer's or an Arrow array's owner, or of
 * another Array. */
typedef struct array {
    PyObject_HEAD void *data;
    Py_ssize_t n;
    Py_ssize_t stride; /* bytes an element: what a Py_buffer of it points to */
    int type;
    bool readonly;
    void *block;             /* its own memory */
    context *on;             /* that of the GPU whose memory it is; NULL: the host's */
    PyObject *base;          /* an Array, or a tensor's capsule, that has the memory */
    Py_buffer view;          /* .obj NULL: none */
    struct ArrowArray arrow; /* .release NULL: none */
} array;

struct later;
struct reader;
struct shared;

/* A context, and the lock that lets one thread in at a time. */
struct context {
    PyObject_HEAD cohort_context *c;
    pthread_mutex_t lock;
    struct later *later;    /* objects that were let go in a progress callback of it */
    struct reader *readers; /* on it, of others' objects */
    PyObject *tell;         /* a function of (what, done, total), or NULL */
    bool stopped;           /* it, or Ctrl-C, has set an exception, with which the call ends */
    int ordinal;            /* of the GPU; -1: a CPU's */
    char backend[8];        /* its name */
    void *stream;           /* that its work is enqueued on */
    struct context *next, *before;
};

/* An object of the library, which belongs to a context. */
typedef struct handle {
    PyObject_HEAD context *on;
    void *object;
    void (*destroy)(void *);
    const char *kind;
    int type;               /* of a collection's members; of a map or multimap its width */
    uint64_t sets, members; /* of a collection: how many */
    bool unlocked;          /* may be destroyed at any time by any thread */
    struct shared *shared;  /* with the readers of other contexts; NULL: none has read it */
} handle;

/* What a call of the library answered; the message is copied while the context is locked. */
typedef struct outcome {
    cohort_status status;
    bool wait;  /* the call's work is to be done when it ends */
    bool plain; /* the status is this module's own, and the context has no message of it */
    PyThreadState *thread;
    PyObject *path; /* the bytes of the file's path, borrowed; NULL: the call has none */
    int error;      /* errno as the call left it */
    char message[1024];
} outcome;

/* ---- array.c */
size_t type_bytes(int type);
const char *type_name(int type);
char type_code(int type);         /* of the struct module */
const char *type_arrow(int type); /* Arrow's format */
bool is_array(PyObject *object);
array *array_empty(int type, Py_ssize_t n);              /* without memory */
array *array_new(int type, Py_ssize_t n);                /* not initialised */
array *array_of(PyObject *object, const char *argument); /* object must be an Array */
array *array_of_bytes(PyObject *object, const char *argument, size_t a,
                      size_t b);                                       /* of a or b bytes an element */
array *optional(PyObject *object, const char *argument, bool *failed); /* NULL for None; *failed if neither */
bool same_length(const array *a, const array *b,
                 const char *argument); /* sets the exception; b may be NULL */
PyObject *or_none(array *a);
/* Room for what few keys have, before it is known how much that is: mostly one call does then. 0 for many. */
Py_ssize_t room_for(Py_ssize_t keys);
/* Passes of many elements, or bytes, are made without the GIL; NULL: they are few, and sooner done than it is
 * let go and taken back. */
PyThreadState *let_go(int64_t size);
void take_back(PyThreadState *thread);
int array_ready(PyObject *module);
extern PyMethodDef array_functions[];

/* ---- array_out.c, dlpack.c: methods of Array */
bool array_lend(array *a,
                struct ArrowArray *out); /* without a copy, but for booleans, which are bits there */
PyObject *arrow_schema(PyObject *self, PyObject *nothing);
PyObject *arrow_array(PyObject *self, PyObject *arguments, PyObject *named);
PyObject *arrow_stream(PyObject *self, PyObject *arguments, PyObject *named);
PyObject *arrow_device_array(PyObject *self, PyObject *arguments, PyObject *named);
PyObject *cuda_interface(PyObject *self, void *nothing);
PyObject *dlpack(PyObject *self, PyObject *arguments, PyObject *named);
PyObject *dlpack_device(PyObject *self, PyObject *nothing);
extern PyMethodDef dlpack_functions[];

/* ---- arrow.c: what goes out as Arrow's structs */
enum { ARROW_BUFFERS = 3 };
struct ArrowSchema arrow_schema_of(const char *format, int64_t flags); /* the format must live on */
/* Rows in `count` buffers, which the owner has; it is held on to. */
bool arrow_lend(struct ArrowArray *out, int64_t rows, int64_t nulls, int count, const void *const *buffers,
                PyObject *owner);
/* Capsules of copies; the struct is taken over, in failure too. */
PyObject *arrow_schema_capsule(struct ArrowSchema *schema);
PyObject *arrow_array_capsule(struct ArrowArray *array);
PyObject *arrow_device_capsule(struct ArrowDeviceArray *array);
PyObject *arrow_stream_capsule(struct ArrowArrayStream *stream);
PyObject *arrow_pair(PyObject *schema, PyObject *array); /* takes both references over; either may be NULL */

/* ---- device.c: `on` NULL, or a CPU's, means the host's memory */
typedef PyObject *fast(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
array *array_on(context *on, int type, Py_ssize_t n); /* not initialised */
array *array_of_gpu(context *on, void *data, Py_ssize_t n, int type, bool readonly, PyObject *owner);
array *array_to_host(array *a); /* itself where it is there; a new reference */
array *array_to_device(context *on, array *a);
bool settled(array *a); /* its context's work is done; else the exception is set */
array *iota_on(context *on, int type, Py_ssize_t n); /* `on` is a GPU's */
int differs_on(const array *a, bool zeros);
bool in_gpu(const array *a, const char *instead); /* sets the exception if so */
bool copy_element(const array *a, Py_ssize_t i, void *to);
cohort_status spread_bits(context *on, const array *bits, array *hit); /* to a boolean each */
context *gpu_among(PyObject *const *arguments, Py_ssize_t count); /* of the first array in a GPU's memory */
PyObject *by_host(context *on, fast *function, PyObject *const *arguments, Py_ssize_t count);
extern PyMethodDef device_functions[];
/* In a pass over arrays: what lies in a GPU's memory is copied to the host, and the answer back. */
#define BY_HOST(function)                                    \
    {                                                        \
        context *gpu = gpu_among(arguments, count);          \
        if (gpu)                                             \
            return by_host(gpu, function, arguments, count); \
    }

/* ---- taken.c */
extern PyMethodDef taken_functions[];

/* ---- array_in.c */
array *from_buffer(PyObject *object, const char *argument);
int type_of_arrow(const char *format);               /* 0: none; times are integers */
int64_t arrow_nulls(const struct ArrowArray *array); /* how many rows are null */
array *from_arrow(struct ArrowArray *from, int type,
                  const char *argument);                              /* takes it over, in failure too */
array *join_chunks(PyObject *list, int type);                         /* of Arrays, one behind the other */
int type_of_schema(struct ArrowSchema *schema, const char *argument); /* releases it; 0: no numbers */
array *stream_failed(struct ArrowArrayStream *stream, const char *argument); /* NULL */
extern PyMethodDef array_in_functions[];

/* ---- loops.c */
extern PyMethodDef loop_functions[];
/* Of the host's memory; a new reference. In errors it is argument[at], or, if that is below 0, the
 * argument. */
array *cast_to(array *from, int type, const char *argument, Py_ssize_t at);
array *cast_where(array *from, int type, PyObject *argument);          /* in the memory that it lies in */
array *canonical_of(array *from, bool zeros);                          /* floats with one NaN, and one zero */
array *iota_new(int type, Py_ssize_t n);                               /* 0, 1, .. n - 1, of 4 or 8 bytes */
void bits_to_bytes(const uint8_t *bits, uint8_t *bytes, Py_ssize_t n); /* 0 or 1 each */

/* ---- context.c */
context *context_of(PyObject *object);
void *stream_of(PyObject *number);            /* as DLPack numbers them: 1 is the legacy default one */
void context_free(context *on, void *memory); /* of cohort_alloc */
void call_begin(context *on, outcome *o);
PyObject *call_end(context *on,
                   outcome *o); /* Py_None (borrowed) if all is well; NULL with the exception set */
handle *handle_new(context *on, const char *kind, void (*destroy)(void *));
handle *handle_of(PyObject *object, const char *kind);
PyObject *path_of(PyObject *object); /* the bytes of a path, a new reference */
/* A whole number from `least` to `most`; 0 with an exception that names the argument and the value if it is
 * none. */
uint64_t number_of(PyObject *object, const char *argument, uint64_t least, uint64_t most);
int context_ready(PyObject *module);
extern PyMethodDef context_functions[];

/* ---- reading.c: calls that read a map or a multimap, on the thread's own context where that is of the same
 * device, and calls that change one, which wait until nobody reads */
typedef cohort_status reader_of(void *object, cohort_context *by, void **out); /* cohort_map_reader, say */
typedef struct reading {
    handle *of;
    context *on;       /* of the call and of what it writes: a reference; NULL: the exception is set */
    void *object;      /* to be read by this call, once it has begun */
    struct reader *by; /* NULL: the object itself is read */
} reading;
reading read_by(handle *h);
void read_forget(reading *r); /* gives the context back */
void read_begin(reading *r, outcome *o, reader_of *make);
PyObject *read_end(reading *r, outcome *o); /* as call_end */
void change_begin(handle *h, outcome *o);   /* call_begin, and waits for those who read; call_end is due */
void readers_end(context *on);              /* of a context that ends */
void readers_of_end(handle *h);             /* of an object that ends */
void readers_after_fork(context *contexts);
context *current_context(void); /* the thread's, a new reference */
extern PyMethodDef reading_functions[];

/* ---- table.c, table_out.c */
handle *frame_of(PyObject *object);
handle *frame_new(context *on);                  /* an empty handle for what a call makes */
PyObject *frame_answered(handle *h, outcome *o); /* what a call that made `h` answered */
uint8_t *flags_of(const handle *h, int value);   /* for each column; to be freed */
const char *name_of(PyObject *name, bool *none); /* *none if no column can have this name */
/* The number of the column of this name. Else *none, and Python tells it; the context is locked. */
cohort_status place_of(cohort_frame *frame, const char *name, uint32_t *at, bool *none);
bool export_frame(handle *h, bool column, struct ArrowSchema *schema, struct ArrowArray *array);

/* ---- table_in.c, table.c, table_out.c, table_pickle.c */
array *from_arrow_stream(PyObject *capsule, const char *argument); /* of numbers, joined */
extern PyMethodDef table_pickle_functions[];
extern PyMethodDef table_in_functions[];
extern PyMethodDef table_functions[];
extern PyMethodDef table_columns_functions[];
extern PyMethodDef table_join_functions[];
extern PyMethodDef table_out_functions[];

/* ---- ops.c, map.c, multimap.c, sets.c, kmers.c */
extern PyMethodDef ops_functions[];
extern PyMethodDef map_functions[];
extern PyMethodDef multimap_functions[];
extern PyMethodDef sets_functions[];
extern PyMethodDef kmers_functions[];

/* In a message, for "%zd %s". */
#define ENTRIES(n) ((n) == 1 ? "entry" : "entries")

#define ARGUMENTS(least, most)                                               \
    if (count < (least) || count > (most)) {                                 \
        PyErr_Format(PyExc_TypeError, "%s: %zd arguments", __func__, count); \
        return NULL;                                                         \
    }
#define FAST(function)                                                        \
    {                                                                         \
#        function, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL \
    }
#define DROP(x) Py_XDECREF((PyObject *)(x))
#define KEPT(x) Py_NewRef((PyObject *)(x))
#define DATA(a) ((a) ? (a)->data : NULL)

#endif
