/* driver.c: the simulated GPU as a device: the table of the CUDA driver's functions that src/cuda works with.
 *
 * One device, one primary context, as the driver has them. Host memory that a copy reads is read at the call
 * if it is pageable and when the copy runs if it is pinned, as the driver may. Freeing memory waits for
 * nothing: the driver does not promise it. A failed launch makes every later call fail, until the primary
 * context is released for the last time. The table may be used by several threads: calls happen one at a
 * time. */
#include "device.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_CONTEXT = 201, INVALID_HANDLE = 400, MAX_CONTEXTS = 64 };

struct device device;
static struct cuda_context_s {
    int unused;
} primary;

struct cuda_function_s {
    struct cuda_function_s *next;
    const struct sim_kernel *kernel;
    int max_dynamic;
};
struct cuda_module_s {
    struct cuda_module_s *next;
    struct cuda_function_s *functions;
};
static struct cuda_module_s *modules;
static unsigned leaks;
static _Thread_local cuda_context stack[MAX_CONTEXTS];
static _Thread_local unsigned depth;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void device_lock(void)
{
    pthread_mutex_lock(&mutex);
}
void device_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}
static cuda_result leave(cuda_result r)
{
    pthread_mutex_unlock(&mutex);
    return r;
}

/* Begins a function that needs a context; ends it if there is none. */
#define ENTER()                            \
    do {                                   \
        pthread_mutex_lock(&mutex);        \
        if (!depth || !device.references)  \
            return leave(INVALID_CONTEXT); \
    } while (0)

uint64_t device_random(void)
{
    uint64_t z = device.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 27);
}

/* ---- device and context -------------------------------------------------------------------------------- */

static cuda_result sim_init(unsigned flags)
{
    return flags ? CUDA_INVALID_VALUE : arena_open() ? CUDA_OUT_OF_MEMORY : CUDA_OK;
}

static cuda_result sim_error_name(cuda_result r, const char **name)
{
    static const struct {
        cuda_result result;
        const char *name;
    } names[] = {{CUDA_OK, "CUDA_SUCCESS"},
                 {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
                 {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
                 {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                 {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
                 {CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                 {CUDA_NOT_READY, "CUDA_ERROR_NOT_READY"},
                 {CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].result == r) {
            *name = names[i].name;
            return CUDA_OK;
        }
    }
    *name = NULL;
    return CUDA_INVALID_VALUE;
}

static cuda_result sim_driver_version(int *version)
{
    *version = 12080;
    return CUDA_OK;
}

static cuda_result sim_device_count(int *n)
{
    *n = 1;
    return CUDA_OK;
}

static cuda_result sim_device_get(cuda_device *out, int ordinal)
{
    *out = ordinal;
    return ordinal ? CUDA_INVALID_DEVICE : CUDA_OK;
}

static cuda_result sim_device_name(char *name, int bytes, cuda_device d)
{
    if (d)
        return CUDA_INVALID_DEVICE;
    snprintf(name, (size_t)bytes, "simulated GPU, sm_%u", device.schedule.architecture);
    return CUDA_OK;
}

/* Bytes of shared memory that a block may ask for: of sm_80, of sm_90, and of the small ones, such as
 * sm_86. */
static int shared_opt_in(void)
{
    return device.schedule.architecture >= 90   ? SHARED_BYTES
           : device.schedule.architecture == 80 ? 166912
                                                : 101376;
}

static cuda_result sim_device_attribute(int *value, int attribute, cuda_device d)
{
    if (d)
        return CUDA_INVALID_DEVICE;
    switch (attribute) {
    case CUDA_ATTRIBUTE_MAX_SHARED_PER_BLOCK:
        *value = 49152;
        break;
    case CUDA_ATTRIBUTE_CLOCK_RATE:
        *value = 1980000;
        break;
    case CUDA_ATTRIBUTE_MULTIPROCESSORS:
        *value = (int)device.multiprocessors;
        break;
    case CUDA_ATTRIBUTE_MEMORY_CLOCK_RATE:
        *value = 3201000;
        break;
    case CUDA_ATTRIBUTE_L2_BYTES:
        *value = 1 << 20;
        break;
    case CUDA_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR:
        *value = 2048;
        break;
    case CUDA_ATTRIBUTE_MAJOR:
        *value = (int)device.schedule.architecture / 10;
        break;
    case CUDA_ATTRIBUTE_MINOR:
        *value = (int)device.schedule.architecture % 10;
        break;
    case CUDA_ATTRIBUTE_MAX_SHARED_OPT_IN:
        *value = shared_opt_in();
        break;
    default:
        return CUDA_INVALID_VALUE;
    }
    return CUDA_OK;
}

static cuda_result sim_device_total_memory(size_t *bytes, cuda_device d)
{
    *bytes = arena.limit;
    return d ? CUDA_INVALID_DEVICE : CUDA_OK;
}

static cuda_result sim_primary_retain(cuda_context *out, cuda_device d)
{
    if (d)
        return CUDA_INVALID_DEVICE;
    pthread_mutex_lock(&mutex);
    device.references++;
    *out = &primary;
    return leave(CUDA_OK);
}

static void module_free(struct cuda_module_s *m)
{
    while (m->functions) {
        struct cuda_function_s *f = m->functions;
        m->functions = f->next;
        free(f);
    }
    free(m);
}

/* Everything dies with the context; what should have been given back before is told. */
static unsigned end_context(FILE *out)
{
    unsigned left = streams_end(out);
    for (size_t i = arena_count(); i-- > 0;) {
        const struct allocation *a = arena_at(i);
        if (a->kind == ARENA_OWN)
            continue;
        if (out)
            fprintf(out, "simulated GPU: allocation %" PRIu64 " of %zu bytes was not freed\n", a->number,
                    a->bytes);
        left++;
        arena_free(arena.memory + a->at);
    }
    while (modules) {
        struct cuda_module_s *m = modules;
        modules = m->next;
        module_free(m);
        left++;
        if (out)
            fprintf(out, "simulated GPU: a module was not unloaded\n");
    }
    device.error = 0;
    return left;
}

static cuda_result sim_primary_release(cuda_device d)
{
    if (d)
        return CUDA_INVALID_DEVICE;
    pthread_mutex_lock(&mutex);
    if (!device.references)
        return leave(INVALID_CONTEXT);
    if (--device.references == 0)
        leaks += end_context(stderr);
    return leave(CUDA_OK);
}

static cuda_result sim_context_push(cuda_context c)
{
    if (c != &primary)
        return INVALID_CONTEXT;
    if (depth == MAX_CONTEXTS)
        sim_host_error("64 contexts pushed and never popped");
    stack[depth++] = c;
    return CUDA_OK;
}

static cuda_result sim_context_pop(cuda_context *out)
{
    if (!depth)
        return INVALID_CONTEXT;
    *out = stack[--depth];
    return CUDA_OK;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static cuda_result sim_memory_info(size_t *available, size_t *total)
{
    ENTER();
    *available = arena.limit - arena.used;
    *total = arena.limit;
    return leave(CUDA_OK);
}

static cuda_result take(void **out, size_t bytes, enum arena_kind kind)
{
    ENTER();
    if (device.error || !bytes)
        return leave(device.error ? device.error : CUDA_INVALID_VALUE);
    *out = arena_alloc(bytes, kind);
    return leave(*out ? CUDA_OK : CUDA_OUT_OF_MEMORY);
}

static cuda_result sim_mem_alloc(cuda_pointer *out, size_t bytes)
{
    void *p = NULL;
    cuda_result r = take(&p, bytes, ARENA_DEVICE);
    *out = (uintptr_t)p;
    return r;
}

static cuda_result sim_mem_alloc_managed(cuda_pointer *out, size_t bytes, unsigned flags)
{
    void *p = NULL;
    cuda_result r = flags != 1 ? CUDA_INVALID_VALUE : take(&p, bytes, ARENA_MANAGED);
    *out = (uintptr_t)p;
    return r;
}

static cuda_result sim_mem_host_alloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return take(out, bytes, ARENA_PINNED);
}

static cuda_result give(void *p, int pinned)
{
    ENTER();
    const struct allocation *a = arena_find(p);
    if (!a || (a->kind == ARENA_PINNED) != pinned || a->kind == ARENA_OWN || arena_free(p))
        return leave(CUDA_INVALID_VALUE);
    return leave(device.error);
}

static cuda_result sim_mem_free(cuda_pointer p)
{
    return give((void *)(uintptr_t)p, 0);
}
static cuda_result sim_mem_free_host(void *p)
{
    return give(p, 1);
}

static cuda_result sim_pointer_attribute(void *value, int attribute, cuda_pointer p)
{
    ENTER();
    const struct allocation *a = arena_find((void *)(uintptr_t)p);
    cuda_result r = a ? CUDA_OK : CUDA_INVALID_VALUE;
    if (a && attribute == CUDA_POINTER_MEMORY_TYPE)
        *(uint32_t *)value = a->kind == ARENA_PINNED ? CUDA_MEMORY_HOST : CUDA_MEMORY_DEVICE;
    else if (a && attribute == CUDA_POINTER_IS_MANAGED)
        *(uint32_t *)value = a->kind == ARENA_MANAGED;
    else if (a && attribute == CUDA_POINTER_DEVICE_ORDINAL)
        *(int32_t *)value = 0;
    else
        r = CUDA_INVALID_VALUE;
    return leave(r);
}

/* All of the range in one allocation, or none of it in the device's range of addresses. */
static int range_is_good(const char *p, size_t bytes)
{
    if (!arena_has(p))
        return p != NULL;
    const struct allocation *a = arena_find(p);
    return a && bytes <= a->bytes - ((size_t)(p - arena.memory) - a->at);
}

static cuda_result sim_memcpy_async(cuda_pointer to, cuda_pointer from, size_t bytes, cuda_stream stream)
{
    ENTER();
    char *t = (char *)(uintptr_t)to;
    const char *f = (const char *)(uintptr_t)from;
    cuda_stream s = streams_resolve(stream);
    if (!s || !bytes)
        return leave(s ? device.error : INVALID_HANDLE);
    if (!range_is_good(t, bytes) || !range_is_good(f, bytes))
        return leave(CUDA_INVALID_VALUE);
    struct op *op = op_new(OP_COPY, arena_has(f) ? 0 : bytes);
    op->to = t;
    op->from = arena_has(f) ? f : NULL;
    op->bytes = bytes;
    if (!op->from)
        memcpy(op->data, f, bytes);
    cuda_result r = streams_add(s, op);
    if (r == CUDA_OK && !arena_has(t)) /* to pageable memory: returns when it is there */
        r = streams_finish(s);
    return leave(r);
}

static cuda_result sim_memset_d8_async(cuda_pointer to, unsigned char value, size_t bytes, cuda_stream stream)
{
    ENTER();
    cuda_stream s = streams_resolve(stream);
    if (!s || !bytes)
        return leave(s ? device.error : INVALID_HANDLE);
    char *t = (char *)(uintptr_t)to;
    if (!arena_has(t) || !range_is_good(t, bytes))
        return leave(CUDA_INVALID_VALUE);
    struct op *op = op_new(OP_SET, 0);
    op->to = t;
    op->value = value;
    op->bytes = bytes;
    return leave(streams_add(s, op));
}

/* ---- streams and events -------------------------------------------------------------------------------- */

static cuda_result stream_create(cuda_stream *out, unsigned flags)
{
    ENTER();
    return leave(device.error ? device.error : sim_stream_create(out, flags));
}

static cuda_result stream_destroy(cuda_stream s)
{
    ENTER();
    return leave(sim_stream_destroy(s));
}

static cuda_result stream_synchronize(cuda_stream stream)
{
    ENTER();
    cuda_stream s = streams_resolve(stream);
    return leave(s ? streams_finish(s) : INVALID_HANDLE);
}

static cuda_result stream_wait_event(cuda_stream stream, cuda_event e, unsigned flags)
{
    ENTER();
    cuda_stream s = streams_resolve(stream);
    if (!s || !event_known(e) || flags)
        return leave(s && event_known(e) ? CUDA_INVALID_VALUE : INVALID_HANDLE);
    struct op *op = op_new(OP_WAIT, 0);
    op->event = e;
    op->version = e->recorded;
    return leave(streams_add(s, op));
}

static cuda_result stream_is_capturing(cuda_stream stream, int *status)
{
    ENTER();
    *status = 0;
    return leave(!stream || streams_resolve(stream) ? device.error : INVALID_HANDLE);
}

static cuda_result event_create(cuda_event *out, unsigned flags)
{
    ENTER();
    return leave(device.error ? device.error : sim_event_create(out, flags));
}

static cuda_result event_destroy(cuda_event e)
{
    ENTER();
    return leave(sim_event_destroy(e));
}

static cuda_result event_record(cuda_event e, cuda_stream stream)
{
    ENTER();
    cuda_stream s = streams_resolve(stream);
    if (!s || !event_known(e))
        return leave(INVALID_HANDLE);
    struct op *op = op_new(OP_RECORD, 0);
    op->event = e;
    op->version = e->recorded + 1;
    cuda_result r = streams_add(s, op);
    if (r == CUDA_OK)
        e->recorded++;
    return leave(r);
}

static cuda_result event_query(cuda_event e)
{
    ENTER();
    if (!event_known(e))
        return leave(INVALID_HANDLE);
    if (!event_is_done(e))
        streams_work();
    return leave(device.error ? device.error : event_is_done(e) ? CUDA_OK : CUDA_NOT_READY);
}

static cuda_result event_synchronize(cuda_event e)
{
    ENTER();
    return leave(event_known(e) ? streams_finish_event(e) : INVALID_HANDLE);
}

static cuda_result event_elapsed_ms(float *ms, cuda_event start, cuda_event stop)
{
    ENTER();
    if (!event_known(start) || !event_known(stop) || !start->recorded || !stop->recorded)
        return leave(INVALID_HANDLE);
    if (!event_is_done(start) || !event_is_done(stop))
        return leave(CUDA_NOT_READY);
    *ms = (float)((stop->nanoseconds - start->nanoseconds) * 1e-6);
    return leave(device.error);
}

/* ---- modules and launches ------------------------------------------------------------------------------ */

static cuda_result module_load_data(cuda_module *out, const void *image)
{
    ENTER();
    if (image && !sim_image_load(image))
        return leave(CUDA_INVALID_VALUE);
    struct cuda_module_s *m = calloc(1, sizeof *m);
    if (!m || device.error) {
        free(m);
        return leave(device.error ? device.error : CUDA_OUT_OF_MEMORY);
    }
    m->next = modules;
    modules = m;
    *out = m;
    return leave(CUDA_OK);
}

static cuda_result module_unload(cuda_module m)
{
    ENTER();
    for (struct cuda_module_s **at = &modules; *at; at = &(*at)->next) {
        if (*at != m)
            continue;
        *at = m->next;
        module_free(m);
        return leave(CUDA_OK);
    }
    return leave(INVALID_HANDLE);
}

static cuda_result module_get_function(cuda_function *out, cuda_module m, const char *name)
{
    ENTER();
    const struct sim_kernel *kernel = sim_kernel_find(name);
    if (!kernel)
        return leave(CUDA_NOT_FOUND);
    struct cuda_function_s *f = m->functions;
    while (f && f->kernel != kernel)
        f = f->next;
    if (!f) {
        f = calloc(1, sizeof *f);
        if (!f)
            return leave(CUDA_OUT_OF_MEMORY);
        f->kernel = kernel;
        f->max_dynamic = 49152;
        f->next = m->functions;
        m->functions = f;
    }
    *out = f;
    return leave(CUDA_OK);
}

static cuda_result function_set_attribute(cuda_function f, int attribute, int value)
{
    ENTER();
    if (attribute != CUDA_FUNCTION_MAX_DYNAMIC_SHARED || value < 0 || value > shared_opt_in())
        return leave(CUDA_INVALID_VALUE);
    f->max_dynamic = value;
    return leave(CUDA_OK);
}

static cuda_result launch_kernel(cuda_function f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 cuda_stream stream, void **parameters, void **extra)
{
    ENTER();
    cuda_stream s = streams_resolve(stream);
    if (!s)
        return leave(INVALID_HANDLE);
    if (!grid_x || !block_x || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || block_x > 256 ||
        extra || !parameters || shared_bytes > (unsigned)f->max_dynamic)
        return leave(CUDA_INVALID_VALUE); /* CO_KERNEL's launch bound is 256 */
    struct op *op = op_new(OP_LAUNCH, f->kernel->bytes);
    memcpy(op->data, parameters[0], f->kernel->bytes);
    op->launch = (struct launch){f->kernel,         NULL,        grid_x,         block_x, shared_bytes,
                                 ++device.launches, device.text, device.schedule};
    op->launch.schedule.seed = device.schedule.seed * 0x9e3779b97f4a7c15u + device.launches;
    return leave(streams_add(s, op));
}

const struct cuda_driver device_table = {
    .name = "sim",
    .init = sim_init,
    .error_name = sim_error_name,
    .driver_version = sim_driver_version,
    .device_count = sim_device_count,
    .device_get = sim_device_get,
    .device_name = sim_device_name,
    .device_attribute = sim_device_attribute,
    .device_total_memory = sim_device_total_memory,
    .primary_retain = sim_primary_retain,
    .primary_release = sim_primary_release,
    .context_push = sim_context_push,
    .context_pop = sim_context_pop,
    .memory_info = sim_memory_info,
    .mem_alloc = sim_mem_alloc,
    .mem_alloc_managed = sim_mem_alloc_managed,
    .mem_free = sim_mem_free,
    .mem_host_alloc = sim_mem_host_alloc,
    .mem_free_host = sim_mem_free_host,
    .pointer_attribute = sim_pointer_attribute,
    .memcpy_async = sim_memcpy_async,
    .memset_d8_async = sim_memset_d8_async,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_wait_event = stream_wait_event,
    .stream_is_capturing = stream_is_capturing,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed_ms = event_elapsed_ms,
    .module_load_data = module_load_data,
    .module_unload = module_unload,
    .module_get_function = module_get_function,
    .function_set_attribute = function_set_attribute,
    .launch_kernel = launch_kernel,
    .compile = sim_compile,
};

/* ---- the account at the end -------------------------------------------------- */

unsigned sim_leaks(FILE *out)
{
    pthread_mutex_lock(&mutex);
    unsigned n = leaks;
    if (device.references) {
        n += 1 + end_context(out);
        if (out)
            fprintf(out, "simulated GPU: the primary context was not released\n");
    }
    leaks = device.references = 0;
    pthread_mutex_unlock(&mutex);
    return n;
}
