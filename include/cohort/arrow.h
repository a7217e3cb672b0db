/* cohort/arrow.h: Arrow's C data interface, C stream interface and C device interface, as their
 * specifications give them (https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html,
 * CDeviceDataInterface.html).
 *
 * Every library that speaks Arrow declares these structs behind the same guards, so that they may be included
 * in any order. They are a binary interface: they do not change. */
#ifndef COHORT_ARROW_H
#define COHORT_ARROW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#    define ARROW_C_DATA_INTERFACE

#    define ARROW_FLAG_DICTIONARY_ORDERED 1
#    define ARROW_FLAG_NULLABLE           2
#    define ARROW_FLAG_MAP_KEYS_SORTED    4

/* The type of an array. `release` NULL: it was released, or moved elsewhere. */
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

/* Its data. */
struct ArrowArray {
    int64_t length;
    /* -1: not known */
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#    define ARROW_C_STREAM_INTERFACE

/* Arrays of one type, one after the other. The functions return 0 or an errno; the stream has ended where
 * get_next gives an array whose release is NULL. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#    define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;
#    define ARROW_DEVICE_CPU          1
#    define ARROW_DEVICE_CUDA         2
#    define ARROW_DEVICE_CUDA_HOST    3
#    define ARROW_DEVICE_OPENCL       4
#    define ARROW_DEVICE_VULKAN       7
#    define ARROW_DEVICE_METAL        8
#    define ARROW_DEVICE_VPI          9
#    define ARROW_DEVICE_ROCM         10
#    define ARROW_DEVICE_ROCM_HOST    11
#    define ARROW_DEVICE_EXT_DEV      12
#    define ARROW_DEVICE_CUDA_MANAGED 13
#    define ARROW_DEVICE_ONEAPI       14
#    define ARROW_DEVICE_WEBGPU       15
#    define ARROW_DEVICE_HEXAGON      16

/* An array whose buffers are in a device's memory. sync_event, if not NULL, points to an event (of CUDA: a
 * cudaEvent_t) to be waited for before they are read. */
struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    ArrowDeviceType device_type;
    void *sync_event;
    int64_t reserved[3];
};

#endif

#ifndef ARROW_C_DEVICE_STREAM_INTERFACE
#    define ARROW_C_DEVICE_STREAM_INTERFACE

struct ArrowDeviceArrayStream {
    ArrowDeviceType device_type;
    int (*get_schema)(struct ArrowDeviceArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowDeviceArrayStream *, struct ArrowDeviceArray *out);
    const char *(*get_last_error)(struct ArrowDeviceArrayStream *);
    void (*release)(struct ArrowDeviceArrayStream *);
    void *private_data;
};

#endif

#ifdef __cplusplus
}
#endif
#endif
