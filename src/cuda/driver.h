/* driver.h: the functions of the CUDA driver that cohort uses, as a typed table.
 *
 * driver.c fills it from libcuda.so.1 at run time; there is no link-time dependency and no CUDA header.
 * Whoever provides the same table is a device too: the simulated GPU registers itself under the name "sim"
 * (tests/sim/driver.c). Names follow the driver's: mem_alloc is cuMemAlloc. All return the driver's result
 * code, 0 for success. */
#ifndef COHORT_CUDA_DRIVER_H
#define COHORT_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "jit.h"

typedef int cuda_result;
typedef int cuda_device;
typedef uint64_t cuda_pointer; /* CUdeviceptr; with unified addressing also a host address */
typedef struct cuda_context_s *cuda_context;
typedef struct cuda_stream_s *cuda_stream;
typedef struct cuda_event_s *cuda_event;
typedef struct cuda_module_s *cuda_module;
typedef struct cuda_function_s *cuda_function;
typedef struct cuda_graph_s *cuda_graph;
typedef struct cuda_graph_exec_s *cuda_graph_exec;

enum {
    CUDA_OK = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_LAUNCH_FAILED = 719
};

/* Values of the driver's enumerations that are used here. */
enum {
    CUDA_ATTRIBUTE_MAX_SHARED_PER_BLOCK = 8,
    CUDA_ATTRIBUTE_CLOCK_RATE = 13,
    CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
    CUDA_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CUDA_ATTRIBUTE_L2_BYTES = 38,
    CUDA_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR = 39,
    CUDA_ATTRIBUTE_MAJOR = 75,
    CUDA_ATTRIBUTE_MINOR = 76,
    CUDA_ATTRIBUTE_MAX_SHARED_OPT_IN = 97,
    CUDA_POINTER_MEMORY_TYPE = 2,    /* pointer_attribute: uint32, CUDA_MEMORY_HOST or _DEVICE */
    CUDA_POINTER_IS_MANAGED = 8,     /* uint32 */
    CUDA_POINTER_DEVICE_ORDINAL = 9, /* int32 */
    CUDA_MEMORY_HOST = 1,            /* pinned; unknown addresses are pageable and give CUDA_INVALID_VALUE */
    CUDA_MEMORY_DEVICE = 2,
    CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_EVENT_TIMING = 0,
    CUDA_EVENT_NO_TIMING = 2,
    CUDA_LAUNCH_PROGRAMMATIC =
        6 /* a launch's attribute: begins while the kernel before it in its stream ends */
};

/* A launch with an attribute: the driver's CUlaunchAttribute and CUlaunchConfig. */
struct cuda_launch_attribute {
    int id, padding;
    union {
        int on;
        uint64_t words[8];
    } value;
};
struct cuda_launch {
    unsigned grid[3], block[3], shared_bytes;
    cuda_stream stream;
    struct cuda_launch_attribute *attribute;
    unsigned attributes;
};

struct cuda_driver {
    const char *name; /* "cuda" or "sim" */

    cuda_result (*init)(unsigned flags);
    cuda_result (*error_name)(cuda_result, const char **);
    cuda_result (*driver_version)(int *version);
    cuda_result (*device_count)(int *count);
    cuda_result (*device_get)(cuda_device *, int ordinal);
    cuda_result (*device_name)(char *name, int bytes, cuda_device);
    cuda_result (*device_attribute)(int *value, int attribute, cuda_device);
    cuda_result (*device_total_memory)(size_t *bytes, cuda_device);
    cuda_result (*primary_retain)(cuda_context *, cuda_device);
    cuda_result (*primary_release)(cuda_device);
    cuda_result (*context_push)(cuda_context);
    cuda_result (*context_pop)(cuda_context *);

    cuda_result (*memory_info)(size_t *free, size_t *total);
    cuda_result (*mem_alloc)(cuda_pointer *, size_t bytes);
    cuda_result (*mem_alloc_managed)(cuda_pointer *, size_t bytes, unsigned flags /* 1: global */);
    cuda_result (*mem_free)(cuda_pointer);
    cuda_result (*mem_host_alloc)(void **, size_t bytes, unsigned flags /* 1: portable */);
    cuda_result (*mem_free_host)(void *);
    cuda_result (*pointer_attribute)(void *value, int attribute, cuda_pointer);
    cuda_result (*memcpy_async)(cuda_pointer to, cuda_pointer from, size_t bytes, cuda_stream);
    cuda_result (*memset_d8_async)(cuda_pointer, unsigned char value, size_t bytes, cuda_stream);

    cuda_result (*stream_create)(cuda_stream *, unsigned flags);
    cuda_result (*stream_destroy)(cuda_stream);
    cuda_result (*stream_synchronize)(cuda_stream);
    cuda_result (*stream_wait_event)(cuda_stream, cuda_event, unsigned flags);
    cuda_result (*stream_is_capturing)(cuda_stream, int *status);
    cuda_result (*event_create)(cuda_event *, unsigned flags);
    cuda_result (*event_destroy)(cuda_event);
    cuda_result (*event_record)(cuda_event, cuda_stream);
    cuda_result (*event_query)(cuda_event);
    cuda_result (*event_synchronize)(cuda_event);
    cuda_result (*event_elapsed_ms)(float *, cuda_event start, cuda_event stop);

    cuda_result (*module_load_data)(cuda_module *, const void *image);
    cuda_result (*module_unload)(cuda_module);
    cuda_result (*module_get_function)(cuda_function *, cuda_module, const char *name);
    cuda_result (*function_set_attribute)(cuda_function, int attribute, int value);
    cuda_result (*launch_kernel)(cuda_function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 cuda_stream, void **parameters, void **extra);
    cuda_result (*launch_kernel_ex)(const struct cuda_launch *, cuda_function, void **parameters,
                                    void **extra); /* may be NULL */

    jit_compile compile; /* the compiler of its programs; NULL: none */

    /* Graph capture; a device without graphs has NULL here. */
    cuda_result (*stream_begin_capture)(cuda_stream, int mode /* 2: relaxed */);
    cuda_result (*stream_end_capture)(cuda_stream, cuda_graph *);
    cuda_result (*graph_instantiate)(cuda_graph_exec *, cuda_graph, unsigned long long flags);
    cuda_result (*graph_launch)(cuda_graph_exec, cuda_stream);
    cuda_result (*graph_exec_destroy)(cuda_graph_exec);
    cuda_result (*graph_destroy)(cuda_graph);
};

/* The real driver's table, loaded once for the process. NULL with *why a one-line reason if there is none.
 * Thread-safe. */
const struct cuda_driver *cuda_driver_load(const char **why);

/* A device that takes the driver's place: device strings that start with `prefix` and ':' (or are equal to
 * it) open it with the rest of the string ("42" of "sim:42"). One such device a process. Call before any
 * context is made. */
typedef const struct cuda_driver *(*cuda_driver_open)(const char *rest, const char **why);
void cuda_driver_register(const char *prefix, cuda_driver_open open);

/* The table that `device` ("cuda", "cuda:1", "sim:42") asks for, and the ordinal in it (0 for a registered
 * device). NULL with *why if there is none. */
const struct cuda_driver *cuda_driver_for(const char *device, int *ordinal, const char **why);

#endif
