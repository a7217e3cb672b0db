/* cpu/context.c: the CPU as a device: opening it, its memory, its clock.
 *
 * Memory below a few megabytes is malloc's. Larger pieces are mapped, begin at a multiple of 2 MiB and ask
 * for huge pages: random access to a large table otherwise pays a miss of the address cache each time, and
 * touching it first a page fault every 4 KiB. Filling and copying large ranges is shared by all threads in
 * pieces of whole huge pages, so that the first touch of a table is too. */
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_NOLOAD */
#include "map.h"
#include "system.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HUGE_PAGE  (2ull << 20)
#define MAPPED     (4ull << 20)  /* pieces from this size on are mapped */
#define ASKED_FOR  (64ull << 20) /* from this size on the system is asked what it has left */
#define PARALLEL   (1ull << 20)  /* ranges from this size on are shared by the threads */
#define ALIGNMENT  256ull
#define CACHE_LINE 64

/* ---- the caller's GPU memory --------------------------------------------------------------------------- */

/* Asks libcuda about a pointer if this process has loaded it, and never loads it. Managed memory is usable
 * here. */
typedef int (*pointer_attribute)(void *value, int attribute, unsigned long long pointer);
#define POINTER_MEMORY_TYPE 2
#define POINTER_IS_MANAGED  8
#define MEMORY_TYPE_DEVICE  2

static int count_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = info->dlpi_adds + info->dlpi_subs;
    return 1; /* the first object tells for all */
}

/* A call's pointers were there before it, and so was libcuda if they are its. One look a call is enough,
 * which takes a lock of all libraries. */
static pointer_attribute find_pointer_attribute(cohort_context *context)
{
    struct cpu_device *device = cpu_device(context);
    const uint64_t call = __atomic_load_n(&context->calls, __ATOMIC_RELAXED) / (CONTEXT_CALL - 1);
    unsigned long long loads = 0;
    if (call == device->call)
        return device->pointer_attribute;
    device->call = call;
    dl_iterate_phdr(count_loads, &loads);
    if (loads == device->loads)
        return device->pointer_attribute;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    device->loads = loads;
    device->pointer_attribute = NULL;
    if (library) {
        void *symbol = dlsym(library, "cuPointerGetAttribute");
        memcpy(&device->pointer_attribute, &symbol, sizeof symbol);
        dlclose(library); /* whoever loaded it keeps it */
    }
    return device->pointer_attribute;
}

static enum memory_kind cpu_context_memory_kind(cohort_context *context, const void *pointer)
{
    struct cpu_device *device = cpu_device(context);
    pointer_attribute ask = device->asks_no_driver ? NULL : find_pointer_attribute(context);
    unsigned type = 0, managed = 0;
    unsigned long long address = (unsigned long long)(uintptr_t)pointer;
    if (!ask || ask(&type, POINTER_MEMORY_TYPE, address) || type != MEMORY_TYPE_DEVICE)
        return MEMORY_HOST;
    return !ask(&managed, POINTER_IS_MANAGED, address) && (managed & 1) ? MEMORY_HOST : MEMORY_DEVICE;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

/* `bytes`, a multiple of huge pages, at a multiple of them: maps one more and gives back what lies before and
 * after. */
static void *map_pages(uint64_t bytes)
{
    char *all = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    uint64_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    if (before)
        munmap(all, before);
    if (before < HUGE_PAGE)
        munmap(all + before + bytes, HUGE_PAGE - before);
    madvise(all + before, bytes, MADV_HUGEPAGE);
    return all + before;
}

/* Linux promises more than it has, and kills who takes it at its word. */
static int can_be_had(uint64_t bytes)
{
    uint64_t all, available;
    if (bytes < ASKED_FOR)
        return 1;
    system_memory(&all, &available);
    return !all || bytes <= available;
}

static void *cpu_context_alloc(cohort_context *context, uint64_t bytes)
{
    (void)context;
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE || !can_be_had(bytes))
        return NULL;
    return bytes < MAPPED ? aligned_alloc(ALIGNMENT, round_up(bytes, ALIGNMENT))
                          : map_pages(round_up(bytes, HUGE_PAGE));
}

static void cpu_context_free(cohort_context *context, void *memory, uint64_t bytes)
{
    (void)context;
    if (bytes < MAPPED)
        free(memory);
    else
        munmap(memory, round_up(bytes, HUGE_PAGE));
}

struct transfer {
    char *to;
    const char *from; /* NULL: fill */
    int byte;
    int streaming;
};

static void stream_copy(char *to, const char *from, uint64_t bytes)
{
    uint64_t head = (CACHE_LINE - (uintptr_t)to % CACHE_LINE) % CACHE_LINE;
    head = head < bytes ? head : bytes;
    uint64_t lines = (bytes - head) / CACHE_LINE * CACHE_LINE;
    memcpy(to, from, head);
    cpu_stream_lines(to + head, from + head, lines);
    memcpy(to + head + lines, from + head + lines, bytes - head - lines);
}

static void transfer_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct transfer *t = arg;
    (void)worker;
    if (!t->from)
        memset(t->to + begin, t->byte, end - begin);
    else if (t->streaming)
        stream_copy(t->to + begin, t->from + begin, end - begin);
    else
        memcpy(t->to + begin, t->from + begin, end - begin);
}

static void transfer(cohort_context *context, struct transfer *t, uint64_t bytes)
{
    t->streaming = bytes > MAPPED && 2 * bytes > cpu_device(context)->cache_bytes;
    cpu_parallel(context, bytes,
                 bytes < PARALLEL        ? bytes
                 : bytes < 8 * HUGE_PAGE ? PARALLEL / 8
                                         : HUGE_PAGE,
                 transfer_part, t);
}

static cohort_status cpu_context_copy(cohort_context *context, void *to, const void *from, uint64_t bytes)
{
    struct transfer t = {.to = to, .from = from};
    if (bytes)
        transfer(context, &t, bytes);
    return COHORT_OK;
}

static cohort_status cpu_context_fill(cohort_context *context, void *memory, int byte, uint64_t bytes)
{
    struct transfer t = {.to = memory, .byte = byte};
    if (bytes)
        transfer(context, &t, bytes);
    return COHORT_OK;
}

/* ---- time ---------------------------------------------------------------------------------------------- */

static cohort_status cpu_context_timer_create(cohort_context *context, void **timer)
{
    *timer = calloc(1, sizeof(struct timespec));
    return *timer ? COHORT_OK : context_fail(context, COHORT_NO_MEMORY, "no memory for a timer");
}

static void cpu_context_timer_destroy(cohort_context *context, void *timer)
{
    (void)context;
    free(timer);
}

static cohort_status cpu_context_timer_start(cohort_context *context, void *timer)
{
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, timer);
    return COHORT_OK;
}

static cohort_status cpu_context_timer_stop(cohort_context *context, void *timer, double *seconds)
{
    const struct timespec *start = timer;
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *seconds = (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
    return COHORT_OK;
}

/* ---- the context --------------------------------------------------------------------------------------- */

static void cpu_context_close(cohort_context *context)
{
    struct cpu_device *device = cpu_device(context);
    cpu_pool_destroy(device->pool);
    free(device);
}

/* The workers stayed behind: new ones start at the first job. Without memory for them the calling thread does
 * all. */
static cohort_status cpu_context_inherit(cohort_context *context)
{
    struct cpu_device *device = cpu_device(context);
    if (device->pool) {
        cpu_pool_forget(device->pool);
        device->pool = cpu_pool_create(device->threads);
    }
    device->asks_no_driver = 1;
    return COHORT_OK;
}

static cohort_status cpu_context_info(cohort_context *context, cohort_context_info *info)
{
    const struct cpu_device *device = cpu_device(context);
    info->backend = context->backend->name;
    info->device = device->name;
    info->threads = device->threads;
    system_memory(&info->memory_bytes, &info->memory_free);
    info->architecture = 0;
    info->l2_bytes = device->cache_bytes;
    return COHORT_OK;
}

/* There is no stream to mean: 0, which nobody has set, is as good as the context's own. */
static int means_a_stream(const void *stream)
{
    return stream && stream != COHORT_STREAM_OWN;
}

static cohort_status cpu_context_set_stream(cohort_context *context, void *stream)
{
    if (means_a_stream(stream))
        return context_fail(context, COHORT_UNSUPPORTED, "stream is %p: a CPU context has no streams",
                            stream);
    return COHORT_OK;
}

static void *cpu_context_stream(cohort_context *context)
{
    (void)context;
    return NULL;
}

static cohort_status cpu_context_wait(cohort_context *context)
{
    (void)context;
    return COHORT_OK;
}

const struct context_backend cpu_context_backend = {
    .inherit = cpu_context_inherit,
    .close = cpu_context_close,
    .info = cpu_context_info,
    .set_stream = cpu_context_set_stream,
    .stream = cpu_context_stream,
    .wait = cpu_context_wait,
    .memory_kind = cpu_context_memory_kind,
    .alloc = cpu_context_alloc,
    .free = cpu_context_free,
    .copy = cpu_context_copy,
    .fill = cpu_context_fill,
    .timer_create = cpu_context_timer_create,
    .timer_destroy = cpu_context_timer_destroy,
    .timer_start = cpu_context_timer_start,
    .timer_stop = cpu_context_timer_stop,
};

#define TABLE(structure) .structure = &cpu_##structure##_backend,
static const struct backend cpu_backend = {
    .name = "cpu", .own_memory = MEMORY_HOST, BACKEND_STRUCTURES(TABLE)};

cohort_status cpu_backend_open(cohort_context *context, const cohort_context_options *options)
{
    if (means_a_stream(options->stream))
        return context_fail(NULL, COHORT_UNSUPPORTED, "options->stream is %p: a CPU context has no streams",
                            options->stream);
    enum cpu_level level;
    if (!cpu_level_find(&level))
        return context_fail(NULL, COHORT_RANGE, "COHORT_CPU is \"%s\"; it must be plain, avx2 or avx512",
                            getenv("COHORT_CPU"));
    struct cpu_device *device = calloc(1, sizeof *device);
    if (!device)
        return context_fail(NULL, COHORT_NO_MEMORY, "no memory for a CPU context");
    unsigned cores = system_cores();
    device->threads = options->threads ? (unsigned)options->threads : cores < 1024 ? cores : 1024;
    if (device->threads > 1 && !(device->pool = cpu_pool_create(device->threads))) {
        context_fail(NULL, COHORT_NO_MEMORY, "no memory for %u threads", device->threads);
        free(device);
        return COHORT_NO_MEMORY;
    }
    device->level = level;
    device->cache_bytes = system_cache_bytes();
    device->most_looks = CPU_MOST_LOOKS;
    system_processor(device->name, sizeof device->name);
    context->backend = &cpu_backend;
    context->device = device;
    return COHORT_OK;
}
