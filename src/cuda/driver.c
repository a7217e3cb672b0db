/* driver.c: the table of driver.h, filled from libcuda.so.1.
 *
 * The library is opened once a process. Functions are asked for by their plain names through
 * cuGetProcAddress, with the version of the interface that they are called by here (12.0, or the driver's
 * own if that is older), so that a newer driver gives the form that this table declares. A driver without
 * cuGetProcAddress (before 11.3) is asked by dlsym for the versioned names. */
#include "driver.h"
#include "module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define INTERFACE_VERSION 12000

static struct cuda_driver table = {.name = "cuda", .compile = nvrtc_compile};
static char reason[200]; /* why there is no table; "" if there is one */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A pointer to a function, whatever its type: all have one size and one representation where libcuda runs. */
typedef void (*any_function)(void);

enum { REQUIRED, OPTIONAL };

struct entry {
    size_t offset;
    const char *name;   /* for cuGetProcAddress */
    const char *symbol; /* for dlsym */
    int need;
};

#define ENTRY(field, name)                                        \
    {                                                             \
        offsetof(struct cuda_driver, field), name, name, REQUIRED \
    }
#define ENTRY_V2(field, name)                                           \
    {                                                                   \
        offsetof(struct cuda_driver, field), name, name "_v2", REQUIRED \
    }
#define MAYBE(field, name, symbol)                                  \
    {                                                               \
        offsetof(struct cuda_driver, field), name, symbol, OPTIONAL \
    }

static const struct entry entries[] = {
    ENTRY(init, "cuInit"),
    ENTRY(error_name, "cuGetErrorName"),
    ENTRY(driver_version, "cuDriverGetVersion"),
    ENTRY(device_count, "cuDeviceGetCount"),
    ENTRY(device_get, "cuDeviceGet"),
    ENTRY(device_name, "cuDeviceGetName"),
    ENTRY(device_attribute, "cuDeviceGetAttribute"),
    ENTRY_V2(device_total_memory, "cuDeviceTotalMem"),
    ENTRY(primary_retain, "cuDevicePrimaryCtxRetain"),
    ENTRY_V2(primary_release, "cuDevicePrimaryCtxRelease"),
    ENTRY_V2(context_push, "cuCtxPushCurrent"),
    ENTRY_V2(context_pop, "cuCtxPopCurrent"),
    ENTRY_V2(memory_info, "cuMemGetInfo"),
    ENTRY_V2(mem_alloc, "cuMemAlloc"),
    ENTRY(mem_alloc_managed, "cuMemAllocManaged"),
    ENTRY_V2(mem_free, "cuMemFree"),
    ENTRY(mem_host_alloc, "cuMemHostAlloc"),
    ENTRY(mem_free_host, "cuMemFreeHost"),
    ENTRY(pointer_attribute, "cuPointerGetAttribute"),
    ENTRY(memcpy_async, "cuMemcpyAsync"),
    ENTRY(memset_d8_async, "cuMemsetD8Async"),
    ENTRY(stream_create, "cuStreamCreate"),
    ENTRY_V2(stream_destroy, "cuStreamDestroy"),
    ENTRY(stream_synchronize, "cuStreamSynchronize"),
    ENTRY(stream_wait_event, "cuStreamWaitEvent"),
    ENTRY(stream_is_capturing, "cuStreamIsCapturing"),
    ENTRY(event_create, "cuEventCreate"),
    ENTRY_V2(event_destroy, "cuEventDestroy"),
    ENTRY(event_record, "cuEventRecord"),
    ENTRY(event_query, "cuEventQuery"),
    ENTRY(event_synchronize, "cuEventSynchronize"),
    ENTRY(event_elapsed_ms, "cuEventElapsedTime"),
    ENTRY(module_load_data, "cuModuleLoadData"),
    ENTRY(module_unload, "cuModuleUnload"),
    ENTRY(module_get_function, "cuModuleGetFunction"),
    ENTRY(function_set_attribute, "cuFuncSetAttribute"),
    ENTRY(launch_kernel, "cuLaunchKernel"),
    MAYBE(launch_kernel_ex, "cuLaunchKernelEx", "cuLaunchKernelEx"),
    MAYBE(stream_begin_capture, "cuStreamBeginCapture", "cuStreamBeginCapture_v2"),
    MAYBE(stream_end_capture, "cuStreamEndCapture", "cuStreamEndCapture"),
    MAYBE(graph_instantiate, "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags"),
    MAYBE(graph_launch, "cuGraphLaunch", "cuGraphLaunch"),
    MAYBE(graph_exec_destroy, "cuGraphExecDestroy", "cuGraphExecDestroy"),
    MAYBE(graph_destroy, "cuGraphDestroy", "cuGraphDestroy"),
};

/* ---- resolving ----------------------------------------------------------------------------------------- */

struct resolver {
    void *library;
    int version;
    cuda_result (*get_v2)(const char *, void **, int, uint64_t, int *);
    cuda_result (*get)(const char *, void **, int, uint64_t);
};

/* ISO C has no conversion between pointers to objects and to functions; POSIX promises that the bytes are
 * the same. */
static void symbol(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static void *resolve(const struct resolver *r, const struct entry *e)
{
    void *found = NULL;
    int status = 0;
    if (r->get_v2 && r->get_v2(e->name, &found, r->version, 0, &status) == CUDA_OK && found)
        return found;
    if (!r->get_v2 && r->get && r->get(e->name, &found, r->version, 0) == CUDA_OK && found)
        return found;
    return dlsym(r->library, e->symbol);
}

static const char *error_name(cuda_result result)
{
    const char *name = NULL;
    return table.error_name(result, &name) == CUDA_OK && name ? name : "unknown error";
}

static void load(void)
{
    if (!cohort_fatbins[0].name) {
        snprintf(reason, sizeof reason, "this libcohort was built without GPU kernels (nvcc was not found)");
        return;
    }
    struct resolver r = {dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), 0, NULL, NULL};
    if (!r.library) {
        snprintf(reason, sizeof reason, "there is no NVIDIA driver (libcuda.so.1 cannot be opened)");
        return;
    }
    cuda_result (*version)(int *) = NULL;
    symbol(r.library, "cuDriverGetVersion", &version);
    if (!version || version(&r.version) != CUDA_OK || r.version > INTERFACE_VERSION)
        r.version = INTERFACE_VERSION;
    symbol(r.library, "cuGetProcAddress_v2", &r.get_v2);
    symbol(r.library, "cuGetProcAddress", &r.get);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *found = resolve(&r, &entries[i]);
        if (!found && entries[i].need == REQUIRED) {
            snprintf(reason, sizeof reason, "the NVIDIA driver is too old: it has no %s", entries[i].name);
            return;
        }
        memcpy((char *)&table + entries[i].offset, &found, sizeof(any_function));
    }
    int count = 0;
    cuda_result result = table.init(0);
    if (result == CUDA_OK)
        result = table.device_count(&count);
    if (result != CUDA_OK)
        snprintf(reason, sizeof reason, "the NVIDIA driver does not start: %s (%d)", error_name(result),
                 result);
    else if (count == 0)
        snprintf(reason, sizeof reason, "the NVIDIA driver finds no GPU");
}

const struct cuda_driver *cuda_driver_load(const char **why)
{
    pthread_once(&once, load);
    *why = reason;
    return reason[0] ? NULL : &table;
}

/* ---- devices by name ----------------------------------------------------------------------------------- */

static const char *registered_prefix;
static cuda_driver_open registered_open;
static _Thread_local char no_device[200];

void cuda_driver_register(const char *prefix, cuda_driver_open open)
{
    registered_prefix = prefix;
    registered_open = open;
}

/* What follows "prefix:" in `device`, "" if it is the prefix alone; NULL if it begins otherwise. */
static const char *after(const char *device, const char *prefix)
{
    size_t length = strlen(prefix);
    if (strncmp(device, prefix, length) != 0)
        return NULL;
    if (device[length] == ':')
        return device + length + 1;
    return device[length] ? NULL : "";
}

/* The number that `digits` spells; "" is 0. -1: none, or more than any machine has. */
static int ordinal_of(const char *digits)
{
    int n = 0;
    if (strlen(digits) > 6)
        return -1;
    for (; *digits; digits++) {
        if (*digits < '0' || *digits > '9')
            return -1;
        n = n * 10 + (*digits - '0');
    }
    return n;
}

const struct cuda_driver *cuda_driver_for(const char *device, int *ordinal, const char **why)
{
    *ordinal = 0;
    const char *rest = registered_prefix ? after(device, registered_prefix) : NULL;
    if (rest)
        return registered_open(rest, why);
    rest = after(device, "cuda");
    if (!rest || (*ordinal = ordinal_of(rest)) < 0 || (!*rest && strchr(device, ':'))) {
        *why = "must be \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"";
        return NULL;
    }
    const struct cuda_driver *driver = cuda_driver_load(why);
    int count = 0;
    if (!driver)
        return NULL;
    cuda_result r = driver->device_count(&count);
    if (r == CUDA_OK && *ordinal < count)
        return driver;
    snprintf(no_device, sizeof no_device, "the driver finds %d GPU%s, counted from cuda:0", count,
             count == 1 ? "" : "s");
    *why = no_device;
    return NULL;
}
