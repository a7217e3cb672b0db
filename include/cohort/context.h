/* cohort/context.h: contexts, statuses, memory, waiting, timers, limits, progress.
 *
 * A context is where work happens: one GPU and a stream of it, or a number of CPU threads. Every object
 * belongs to the context it was made on, and knows it. Contexts are independent of each other; one context
 * (with all its objects) is used by one thread at a time. Several threads look up in one map, or in one
 * collection of sets, by readers, each on a context of its own (cohort_map_reader, cohort_multimap_reader,
 * cohort_sets_reader).
 *
 * Memory. "The context's memory" is the GPU's on a GPU context and the host's on a CPU context. Data pointers
 * of a call may be host memory or device memory, all of one call the same kind; the call finds out which.
 * Managed memory counts as device memory. Host pointers on a GPU context: the call copies the data to the
 * device and back, batches of maps in chunks, and returns when it is done. A device pointer on a CPU context
 * is COHORT_BAD_POINTER where that can be known.
 *
 * Waiting. Each function says whether it waits. One that does not has enqueued its work on the context's
 * stream; its arguments must stay valid until that work is done. On a CPU context every call is done when it
 * returns, and cohort_wait returns at once.
 *
 * Fork. A child process gets copies of its parent's contexts and objects. On a CPU they can be used: the
 * first call on a context starts threads of the child's own. On a GPU every call is COHORT_UNSUPPORTED.
 * Contexts and objects can be destroyed on both: that frees this process's memory, and on a GPU calls neither
 * the driver nor a caller's allocator. If a call was under way on a context when the process was forked, by
 * another thread or around a callback, the context is lost to the child: every call on it is
 * COHORT_UNSUPPORTED, and destroying it or its objects does nothing. Do not return from a callback in a child
 * that was forked in it. The parent notices nothing. A child may make new contexts; CUDA works there only if
 * the parent had not used it. Forks are noticed by pthread_atfork, so not those of vfork, posix_spawn or a
 * bare clone, after which a program may only call exec anyway.
 *
 * Errors. Functions return a status and leave a message on the context that names the argument and the value.
 * A failed call leaves every object as it was, with three exceptions. After COHORT_FULL and COHORT_NO_MEMORY
 * of a map, what went in stays in, and so after COHORT_CANCELLED. After COHORT_RANGE of cohort_map_run for an
 * op code that is none, the other entries are done. After COHORT_DEVICE_ERROR a batch on a map may be done in
 * part, and a clear is to be done again. The library never exits, prints or aborts on what a caller can
 * cause. */
#ifndef COHORT_CONTEXT_H
#define COHORT_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#    define COHORT_API __attribute__((visibility("default")))
#else
#    define COHORT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define COHORT_VERSION_MAJOR 0
#define COHORT_VERSION_MINOR 1
#define COHORT_VERSION_PATCH 0

/* The version as one number, for comparisons: 1.2.3 is 10203. */
#define COHORT_VERSION (COHORT_VERSION_MAJOR * 10000 + COHORT_VERSION_MINOR * 100 + COHORT_VERSION_PATCH)

typedef enum cohort_status {
    COHORT_OK = 0,
    /* a pointer is NULL where data is due */
    COHORT_NULL = 1,
    /* a number or an enumerator is outside what the argument may be */
    COHORT_RANGE = 2,
    /* a product of sizes does not fit in 64 bits */
    COHORT_OVERFLOW = 3,
    /* an option struct's `size` is too small, or its unknown tail is not zero */
    COHORT_BAD_STRUCT = 4,
    /* objects of different contexts in one call */
    COHORT_OTHER_CONTEXT = 5,
    /* memory that the context cannot use, or kinds of memory mixed in one call */
    COHORT_BAD_POINTER = 6,
    /* this backend or this device does not offer the operation */
    COHORT_UNSUPPORTED = 7,
    /* the device asked for is not there, or cannot be used */
    COHORT_NO_DEVICE = 8,
    /* an allocation failed */
    COHORT_NO_MEMORY = 9,
    /* a fixed capacity, or a caller's buffer, is too small for all that was due */
    COHORT_FULL = 10,
    /* the driver reported an error; the message carries its name */
    COHORT_DEVICE_ERROR = 11,
    /* a file cannot be opened, read, or written; the message carries the reason */
    COHORT_IO = 12,
    /* a file ends before what it announces */
    COHORT_TRUNCATED = 13,
    /* a file of another kind, or of a version this library does not read */
    COHORT_BAD_VERSION = 14,
    /* a file whose contents contradict themselves or their checksum */
    COHORT_CORRUPT = 15,
    /* the caller's progress function ended the call */
    COHORT_CANCELLED = 16
} cohort_status;

typedef struct cohort_context cohort_context;

/* Where the context's memory comes from: tables, workspace, results, and cohort_alloc. On a GPU context
 * `alloc` returns device memory, on a CPU context host memory, aligned to `alignment`, a power of two (256
 * today); NULL means that there is none. `stream` is the stream (CUstream) that the context's work is
 * enqueued on at that time: the memory is used in its order, and by the host only after a wait for it. When
 * `free` is called, that work is done. On a CPU context it is NULL. Called from the thread that uses the
 * context. All zero: the library's own. */
typedef struct cohort_allocator {
    void *(*alloc)(void *user, size_t bytes, size_t alignment, void *stream);
    void (*free)(void *user, void *memory, size_t bytes, size_t alignment, void *stream);
    void *user;
} cohort_allocator;

#define COHORT_ALLOCATOR_INIT \
    {                         \
        NULL, NULL, NULL      \
    }

/* No stream that a driver knows: the context has one of its own. */
#define COHORT_STREAM_OWN ((void *)UINTPTR_MAX)

/* Told how far long work is: `done` of `total` units (0: not known) of `what`. Called from the thread that
 * uses the context, a few times a second at most; it must not call the library. What it returns: 0, or
 * anything else to end the call with COHORT_CANCELLED, unless the work is done. Calls that tell are batches
 * of maps that wait, cohort_limits_measure, k-mers, and on a CPU sorts, multisplits, histograms, compactions,
 * factors, joins, groups, gathers, multimaps and collections of sets, of each pass by itself; after their end
 * what they would have written is not defined, and objects are as after COHORT_NO_MEMORY. Others end by
 * themselves. All zero: nobody is told. */
typedef struct cohort_progress {
    int (*call)(void *user, const char *what, uint64_t done, uint64_t total);
    void *user;
} cohort_progress;

#define COHORT_PROGRESS_INIT \
    {                        \
        NULL, NULL           \
    }

/* Where an object is saved to, beside paths: `write` is given the bytes in order, n at a time (1 to 4 MiB),
 * and takes all of them. It returns 0, or anything else to end the call with COHORT_IO, whose message says
 * which byte that was; what it has taken until then is no whole file. Called from the thread that saves; it
 * must not call the library. */
typedef struct cohort_output {
    int (*write)(void *user, const void *bytes, size_t n);
    void *user;
} cohort_output;

#define COHORT_OUTPUT_INIT \
    {                      \
        NULL, NULL         \
    }

/* Where an object is loaded from, beside paths: `read` puts up to `room` of the next bytes (1 to 4 MiB) to
 * `into` and their number to *got, which may be any from 1 on; 0: there are no more, and the call is
 * COHORT_TRUNCATED. It returns 0, or anything else to end the call with COHORT_IO, whose message says which
 * byte that was; so does a number above `room`. No byte behind the object's last one is asked for, so that
 * several may follow each other. Called from the thread that loads; it must not call the library. */
typedef struct cohort_input {
    int (*read)(void *user, void *into, size_t room, size_t *got);
    void *user;
} cohort_input;

#define COHORT_INPUT_INIT \
    {                     \
        NULL, NULL        \
    }

typedef struct cohort_context_options {
    /* sizeof(cohort_context_options) */
    size_t size;
    /* NULL or "auto": a usable GPU, else the CPU (the environment's COHORT_DEVICE overrides what auto
     * means); "cpu"; "cuda" or "cuda:N" */
    const char *device;
    /* CPU threads; 0: one a core that this process may run on; at most 1,024 */
    uint64_t threads;
    /* COHORT_STREAM_OWN, or a CUstream (cudaStream_t): 0 is one as well, the legacy default stream. Of a CPU
     * context COHORT_STREAM_OWN or 0 */
    void *stream;
    cohort_allocator alloc;
    cohort_progress progress;
    /* What the context holds at a time at most, 0: as much as there is: tables, the pool of workspace,
     * results, and cohort_alloc. A call that needs more is COHORT_NO_MEMORY, after idle workspace has gone
     * back. On a GPU the device's memory is meant, without what a context has once for all (a few megabytes)
     * and the host's buffers */
    uint64_t memory_bytes;
} cohort_context_options;

#define COHORT_CONTEXT_OPTIONS_INIT                                                                      \
    {                                                                                                    \
        sizeof(cohort_context_options), NULL, 0, COHORT_STREAM_OWN, {NULL, NULL, NULL}, {NULL, NULL}, 0, \
    }

/* Makes a context. `options` may be NULL: all defaults. On failure *out is NULL and cohort_message(NULL)
 * tells why. COHORT_NO_DEVICE names the device that is not there; COHORT_RANGE a number of the options, or
 * COHORT_CPU (of a CPU) or COHORT_MAP_TUNING (of a GPU) in the environment, that says nothing known.
 * Thread-safe. Costs a GPU's context start the first time (about 0.3 s); after that, microseconds. Uses the
 * device's primary context, so memory and streams are shared with the CUDA runtime, PyTorch and CuPy in the
 * same process. */
COHORT_API cohort_status cohort_context_create(const cohort_context_options *options, cohort_context **out);

/* Waits for the context's work and frees it with its pool. Destroy its objects first. NULL is allowed. In a
 * forked process it does not wait: see "Fork" above. */
COHORT_API void cohort_context_destroy(cohort_context *context);

/* From now on work is enqueued on `stream` (a CUstream, which may be 0, the legacy default stream;
 * COHORT_STREAM_OWN: the context's own), after what was enqueued before. Does not wait. COHORT_UNSUPPORTED on
 * a CPU context unless `stream` is COHORT_STREAM_OWN or 0. */
COHORT_API cohort_status cohort_set_stream(cohort_context *context, void *stream);

/* Waits until the context's work is done, and returns (once) the first deferred error of the calls since the
 * last cohort_wait: COHORT_FULL of a fixed map, COHORT_RANGE of bad data in device memory,
 * COHORT_DEVICE_ERROR. */
COHORT_API cohort_status cohort_wait(cohort_context *context);

/* The message of the last failed call on `context` ("" if none failed), also after others that succeeded; of
 * one of these it may be where it did without memory that it wanted. With NULL, of this thread's last failed
 * call that had no context. Valid until another one comes. Never NULL. */
COHORT_API const char *cohort_message(const cohort_context *context);

/* "COHORT_FULL" and so on; "unknown status" for a number that is none. */
COHORT_API const char *cohort_status_name(cohort_status status);

/* "0.1.0" */
COHORT_API const char *cohort_version(void);

/* What a context runs on. */
typedef struct cohort_context_info {
    /* in: sizeof(cohort_context_info) */
    size_t size;
    /* "cpu" or "cuda"; lives as long as the context, as does `device` */
    const char *backend;
    /* "NVIDIA H200", or the processor's name */
    const char *device;
    /* CPU threads; on a GPU: multiprocessors */
    uint64_t threads;
    /* all of the device's memory (CPU: of the machine) */
    uint64_t memory_bytes;
    /* what is free now, within the context's bound */
    uint64_t memory_free;
    /* workspace that the context holds at present, in use or not */
    uint64_t pool_bytes;
    /* 90 for sm_90; 0 on a CPU */
    uint64_t architecture;
    /* the last cache level's size, 0 if not known */
    uint64_t l2_bytes;
    /* which maps there are on it: bit w of each for a cohort_width w (cohort/map.h): */
    /* of COHORT_LAYOUT_PAGES: every call but cohort_map_run */
    uint64_t map_widths;
    /* cohort_map_run, and changes by kernels of the user's own, as well */
    uint64_t map_run_widths;
    /* of COHORT_LAYOUT_LINES: all calls */
    uint64_t lines_widths;
    /* what counts against `memory_bytes` of the options, idle workspace included */
    uint64_t memory_held;
} cohort_context_info;

#define COHORT_CONTEXT_INFO_INIT                                              \
    {                                                                         \
        sizeof(cohort_context_info), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

COHORT_API cohort_status cohort_context_get_info(cohort_context *context, cohort_context_info *info);

/* How many GPUs are usable: *count. COHORT_OK with 0 when there is no driver; cohort_message(NULL) then says
 * in one line why there is none. Thread-safe. */
COHORT_API cohort_status cohort_device_count(uint64_t *count);

/* ---- memory -------------------------------------------------------------------------------------------- */

/* `bytes` (> 0) of the context's memory, aligned to 256 bytes, not initialised. May wait on a GPU. Free it
 * with cohort_free on the same context, which does so in stream order: work enqueued before may still use
 * it. */
COHORT_API cohort_status cohort_alloc(cohort_context *context, uint64_t bytes, void **out);
/* NULL is allowed. */
COHORT_API cohort_status cohort_free(cohort_context *context, void *memory);

/* Copies between any two kinds of memory that the context can use. Waits if one side is host memory; between
 * device pointers it is enqueued. The ranges must not overlap. */
COHORT_API cohort_status cohort_copy(cohort_context *context, void *to, const void *from, uint64_t bytes);

/* Sets every byte. Does not wait with device memory. */
COHORT_API cohort_status cohort_fill(cohort_context *context, void *memory, int byte, uint64_t bytes);

/* Gives unused workspace back to the system. Waits. */
COHORT_API cohort_status cohort_trim(cohort_context *context);

/* ---- time and limits ----------------------------------------------------------------------------------- */

/* Seconds of the work enqueued between start and stop, by the device's own clock on a GPU. `stop` waits; on a
 * timer that was never started it is COHORT_RANGE. */
typedef struct cohort_timer cohort_timer;
COHORT_API cohort_status cohort_timer_create(cohort_context *context, cohort_timer **out);
/* NULL is allowed. */
COHORT_API void cohort_timer_destroy(cohort_timer *timer);
COHORT_API cohort_status cohort_timer_start(cohort_timer *timer);
COHORT_API cohort_status cohort_timer_stop(cohort_timer *timer, double *seconds);

/* What this machine can do at most, measured now; medians of several runs on data that is not zeros. Rates
 * are per second. 0 where a limit does not apply to the backend. */
typedef struct cohort_limits {
    /* in: sizeof(cohort_limits) */
    size_t size;
    /* in: the size of the table for random access, at least 64 KiB (0: 2 GiB, or a quarter of the free
     * memory if that is less); out: the size used */
    uint64_t table_bytes;
    /* B: bytes read plus bytes written by a copy */
    double copy_bytes;
    /* R: random 32-byte sectors read from the table */
    double random_reads_32;
    /* random 8-byte words read (the GUPS of the field, reads only) */
    double random_reads_8;
    /* C: random 8-byte compare-and-swaps on the table */
    double random_cas_8;
    /* the same from a table that fits in half of the last cache level */
    double cached_reads_32;
    double cached_cas_8;
    /* bytes a second from pinned host memory to the device */
    double link_to_device;
    double link_from_device;
    /* both directions at once, bytes added up */
    double link_both;
} cohort_limits;

#define COHORT_LIMITS_INIT                                  \
    {                                                       \
        sizeof(cohort_limits), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/* Waits; takes some seconds and `table_bytes` (twice that for B) of the context's memory. */
COHORT_API cohort_status cohort_limits_measure(cohort_context *context, cohort_limits *limits);

#ifdef __cplusplus
}
#endif
#endif
