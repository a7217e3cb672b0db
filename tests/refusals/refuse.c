/* refuse.c: see refuse.h. The library asks from several threads, so the counts are atomic. */
#include "refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

#include "cuda/driver.h"

extern const struct cuda_driver *sim_open(const char *rest, const char **why) __attribute__((weak));

extern unsigned sim_leaks(FILE *out) __attribute__((weak));

/* Every request is tried up to this one, then fewer and fewer; of simulated devices, which are slow, fewer
 * still. */
#define EACH_UP_TO     50
#define EACH_UP_TO_SIM 3

const struct deed *refuse_deed;

static struct {
    enum refusal kind; /* REFUSE_NOTHING: none is counted */
    uint64_t at;       /* the number of the request that is refused, from 1 on */
    int on;            /* and all after it */
    atomic_ullong asked, refused;
} refusing;

/* What the library has of the host's memory: pieces. */
static atomic_llong pieces;

static int refuse(enum refusal kind)
{
    if (refusing.kind != kind)
        return 0;
    uint64_t number = atomic_fetch_add(&refusing.asked, 1) + 1;
    if (number != refusing.at && !(refusing.on && number > refusing.at))
        return 0;
    atomic_fetch_add(&refusing.refused, 1);
    return 1;
}

/* ---- what the library asks libc for -------------------------------------------------------------------- */

void *refusable_malloc(size_t bytes);
void *refusable_calloc(size_t n, size_t bytes);
void *refusable_realloc(void *old, size_t bytes);
void *refusable_aligned_alloc(size_t alignment, size_t bytes);
char *refusable_strdup(const char *text);
void refusable_free(void *memory);
char *refusable_realpath(const char *path, char *to);
int refusable_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *arg);
int refusable_open(const char *path, int how, ...);
ssize_t refusable_write(int file, const void *bytes, size_t n);
int refusable_fsync(int file);
int refusable_rename(const char *from, const char *to);

static void *piece(void *memory)
{
    if (memory)
        atomic_fetch_add(&pieces, 1);
    return memory;
}

void *refusable_malloc(size_t bytes)
{
    return refuse(REFUSE_HOST) ? NULL : piece(malloc(bytes));
}

void *refusable_calloc(size_t n, size_t bytes)
{
    return refuse(REFUSE_HOST) ? NULL : piece(calloc(n, bytes));
}

void *refusable_realloc(void *old, size_t bytes)
{
    if (refuse(REFUSE_HOST))
        return NULL;
    return old ? realloc(old, bytes) : piece(malloc(bytes));
}

void *refusable_aligned_alloc(size_t alignment, size_t bytes)
{
    return refuse(REFUSE_HOST) ? NULL : piece(aligned_alloc(alignment, bytes));
}

char *refusable_strdup(const char *text)
{
    return refuse(REFUSE_HOST) ? NULL : piece(strdup(text));
}

/* Counted, and never refused. */
char *refusable_realpath(const char *path, char *to)
{
    char *real = realpath(path, to);
    return to ? real : piece(real);
}

void refusable_free(void *memory)
{
    if (memory)
        atomic_fetch_sub(&pieces, 1);
    free(memory);
}

int refusable_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *arg)
{
    return refuse(REFUSE_THREAD) ? EAGAIN : pthread_create(thread, how, run, arg);
}

int refusable_open(const char *path, int how, ...)
{
    va_list arguments;
    va_start(arguments, how);
    unsigned mode = how & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (refuse(REFUSE_FILE)) {
        errno = EMFILE;
        return -1;
    }
    return open(path, how, mode);
}

/* The first half is written and the rest is refused, as by a disk that gets full. */
ssize_t refusable_write(int file, const void *bytes, size_t n)
{
    if (!refuse(REFUSE_FILE))
        return write(file, bytes, n);
    if (n > 1 && !refusing.on)
        return write(file, bytes, n / 2);
    errno = ENOSPC;
    return -1;
}

int refusable_fsync(int file)
{
    errno = EIO;
    return refuse(REFUSE_FILE) ? -1 : fsync(file);
}

int refusable_rename(const char *from, const char *to)
{
    errno = EACCES;
    return refuse(REFUSE_FILE) ? -1 : rename(from, to);
}

/* ---- the caller's allocator ---------------------------------------------------------------------------- */

static void *asked_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    cohort_allocator *inner = user;
    return refuse(REFUSE_ALLOCATOR) ? NULL : inner->alloc(inner->user, bytes, alignment, stream);
}

static void asked_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    cohort_allocator *inner = user;
    inner->free(inner->user, memory, bytes, alignment, stream);
}

/* ---- the driver ---------------------------------------------------------------------------------------- */

static const struct cuda_driver *under;

static cuda_result mem_alloc(cuda_pointer *out, size_t bytes)
{
    return refuse(REFUSE_DEVICE) ? CUDA_OUT_OF_MEMORY : under->mem_alloc(out, bytes);
}

static cuda_result mem_host_alloc(void **out, size_t bytes, unsigned flags)
{
    return refuse(REFUSE_PINNED) ? CUDA_OUT_OF_MEMORY : under->mem_host_alloc(out, bytes, flags);
}

#define REFUSABLE(name, kind, parameters, ...)                               \
    static cuda_result name parameters                                       \
    {                                                                        \
        return refuse(kind) ? CUDA_INVALID_VALUE : under->name(__VA_ARGS__); \
    }

REFUSABLE(memcpy_async, REFUSE_COPY, (cuda_pointer to, cuda_pointer from, size_t n, cuda_stream s), to, from,
          n, s)
REFUSABLE(memset_d8_async, REFUSE_COPY, (cuda_pointer to, unsigned char v, size_t n, cuda_stream s), to, v, n,
          s)
REFUSABLE(stream_create, REFUSE_STREAM, (cuda_stream * s, unsigned flags), s, flags)
REFUSABLE(stream_wait_event, REFUSE_STREAM, (cuda_stream s, cuda_event e, unsigned flags), s, e, flags)
REFUSABLE(event_create, REFUSE_STREAM, (cuda_event * e, unsigned flags), e, flags)
REFUSABLE(event_record, REFUSE_STREAM, (cuda_event e, cuda_stream s), e, s)
REFUSABLE(module_load_data, REFUSE_LAUNCH, (cuda_module * m, const void *image), m, image)
REFUSABLE(module_get_function, REFUSE_LAUNCH, (cuda_function * f, cuda_module m, const char *name), f, m,
          name)
REFUSABLE(function_set_attribute, REFUSE_LAUNCH, (cuda_function f, int what, int value), f, what, value)
REFUSABLE(launch_kernel, REFUSE_LAUNCH,
          (cuda_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
           unsigned shared, cuda_stream s, void **p, void **extra),
          f, gx, gy, gz, bx, by, bz, shared, s, p, extra)
REFUSABLE(launch_kernel_ex, REFUSE_LAUNCH,
          (const struct cuda_launch *l, cuda_function f, void **p, void **extra), l, f, p, extra)

static const struct cuda_driver *open_refusing(const char *rest, const char **why)
{
    static struct cuda_driver driver;
    under = sim_open(rest, why);
    if (!under)
        return NULL;
    driver = *under;
    driver.mem_alloc = mem_alloc;
    driver.mem_host_alloc = mem_host_alloc;
    driver.memcpy_async = memcpy_async;
    driver.memset_d8_async = memset_d8_async;
    driver.stream_create = stream_create;
    driver.stream_wait_event = stream_wait_event;
    driver.event_create = event_create;
    driver.event_record = event_record;
    driver.module_load_data = module_load_data;
    driver.module_get_function = module_get_function;
    driver.function_set_attribute = function_set_attribute;
    driver.launch_kernel = launch_kernel;
    if (under->launch_kernel_ex)
        driver.launch_kernel_ex = launch_kernel_ex;
    return &driver;
}

/* ---- one deed ------------------------------------------------------------------------------------------ */

static const char *const names[REFUSALS] = {
    "nothing",       "the caller's memory", "host memory", "a thread", "a file's call",
    "device memory", "pinned memory",       "a launch",    "a copy",   "an event or stream"};

/* A status that is due where this is refused. */
static int may_be(enum refusal kind, cohort_status status)
{
    if (status == COHORT_OK)
        return 1; /* it could do without */
    if (kind == REFUSE_FILE)
        return status == COHORT_IO;
    if (kind >= REFUSE_LAUNCH)
        return status == COHORT_DEVICE_ERROR ||
               status == COHORT_NO_DEVICE; /* of a context that is to be made */
    return status == COHORT_NO_MEMORY;
}

static void arm(enum refusal kind, uint64_t at, int on)
{
    refusing.at = at;
    refusing.on = on;
    atomic_store(&refusing.asked, 0);
    atomic_store(&refusing.refused, 0);
    refusing.kind = kind;
}

/* Calls, and then has the stream get there: the first error of both. */
static cohort_status act_and_wait(struct test *t, const struct deed *deed, struct scene *s)
{
    cohort_status status = deed->act(t, s);
    char message[300];
    const char *said = cohort_message(t->context);
    snprintf(message, sizeof message, "%s", said[0] ? said : cohort_message(NULL));
    enum refusal kind = refusing.kind;
    refusing.kind = REFUSE_NOTHING;
    CHECKF(t, !status || message[0], "%s: %s without a message", deed->name, cohort_status_name(status));
    cohort_status deferred = t->context ? cohort_wait(t->context) : COHORT_OK;
    CHECKF(t, !t->context || !cohort_wait(t->context), "%s: a deferred error is told twice", deed->name);
    refusing.kind = kind;
    return status ? status : deferred;
}

void scene_send(struct scene *s)
{
    for (int i = 0; i < SCENE_COLUMNS; i++)
        s->at[i] = column_pointer(s->c[i]);
}

static void end_scene(struct test *t, const struct deed *deed, struct scene *s)
{
    if (deed->end)
        deed->end(t, s);
    cohort_map_destroy(s->map);
    cohort_map_destroy(s->other);
    cohort_map_destroy(s->made);
    cohort_multimap_destroy(s->multimap);
    cohort_multimap_destroy(s->second);
    cohort_multimap_destroy(s->third);
    cohort_sets_destroy(s->sets);
    cohort_sets_destroy(s->sets_made);
    cohort_frame_release(s->frame);
    cohort_frame_release(s->frame_made);
    cohort_timer_destroy(s->timer);
    if (s->path[0])
        unlink(s->path);
    column_drop(t, NULL);
}

static int tried(struct test *t, const struct deed *deed, enum refusal kind, uint64_t at, int on)
{
    struct ledger ledger = {0};
    cohort_context_options options = test_context_options(t);
    cohort_allocator inner = test_allocator(t, &ledger);
    struct scene s = {.refusal = kind};
    const long long before = atomic_load(&pieces);
    refuse_deed = deed;
    options.threads = 2;
    if (kind == REFUSE_ALLOCATOR)
        options.alloc = (cohort_allocator){asked_alloc, asked_free, &inner};
    OK(t, cohort_context_create(&options, &t->context));
    deed->begin(t, &s);
    scene_send(&s);
    OK(t, cohort_wait(t->context));
    arm(kind, at, on);
    cohort_status status = act_and_wait(t, deed, &s);
    refusing.kind = REFUSE_NOTHING;
    const int refused = atomic_load(&refusing.refused) > 0;
    CHECKF(t, refused ? may_be(kind, status) : !status, "%s, %s refused at %llu%s: %s: %s", deed->name,
           names[kind], (unsigned long long)at, on ? " and on" : "", cohort_status_name(status),
           cohort_message(t->context));
    if (!t->failures)
        deed->check(t, &s, status);
    if (status && !t->failures) {
        scene_send(&s);
        status = act_and_wait(t, deed, &s);
        CHECKF(t, !status, "%s, done again: %s: %s", deed->name, cohort_status_name(status),
               cohort_message(t->context));
        if (!t->failures)
            deed->check(t, &s, COHORT_OK);
    }
    REQUIREF(t, !t->failures, "%s", deed->name);
    end_scene(t, deed, &s);
    cohort_context_destroy(t->context);
    t->context = NULL;
    test_ledger_check(t, &ledger);
    CHECK(t, t->kind != TEST_SIM || !sim_leaks(stdout));
    CHECKF(t, atomic_load(&pieces) == before, "%lld pieces of the host's memory are left",
           atomic_load(&pieces) - before);
    REQUIREF(t, !t->failures, "%s", deed->name);
    return refused;
}

/* 1: a request was refused; 0: it made fewer. What fails leaves by longjmp; it is caught here to tell
 * where. */
static int attempt(struct test *t, const struct deed *deed, enum refusal kind, uint64_t at, int on)
{
    jmp_buf leave;
    void *outer = t->exit;
    volatile int refused = 0;
    t->exit = &leave;
    if (!setjmp(leave))
        refused = tried(t, deed, kind, at, on);
    t->exit = outer;
    refusing.kind = REFUSE_NOTHING;
    if (t->failures) {
        printf("  %s, %s memory: %s refused at %llu%s\n", deed->name,
               t->memory == TEST_HOST ? "host" : "device", names[kind], (unsigned long long)at,
               on ? " and on" : "");
        test_leave(t, __FILE__, __LINE__, "%s", deed->name);
    }
    return refused;
}

int refuse_takes(struct test *t, uint64_t i, uint64_t of_sim)
{
    return test_drawn(t, i, t->kind == TEST_CUDA ? 2 : t->kind == TEST_SIM ? of_sim : 1);
}

/* The short form on a GPU: its primary context is set up for the first attempt and held for the others, which
 * would take a fifth of a second each for that alone. */
static void refuse_kind(struct test *t, const struct deed *deed, enum refusal kind)
{
    uint64_t at = 1;
    const int few = !t->ci && (t->kind == TEST_SIM || (t->quick && t->kind == TEST_CUDA));
    /* One refusal by the allocator is met by giving back what is idle and asking again, and does no harm. */
    const int both = !few && kind == REFUSE_ALLOCATOR;
    while (at < 2000 && attempt(t, deed, kind, at, both || test_below(t, 3) != 0)) {
        test_hold_gpu(t, few);
        if (both)
            attempt(t, deed, kind, at, 0);
        if (few)
            at += at < EACH_UP_TO_SIM ? 1 : 1 + test_below(t, at);
        else
            at += at < EACH_UP_TO ? 1 : 1 + test_below(t, at / 4);
    }
    CHECKF(t, at < 2000, "%s asks without end", deed->name);
    /* The last request is made when most of the result is there. */
    const uint64_t last = atomic_load(&refusing.asked);
    if (last)
        attempt(t, deed, kind, last, 0);
}

void refuse_each(struct test *t, const struct deed *deed)
{
    enum refusal last = t->kind == TEST_SIM ? REFUSE_STREAM : REFUSE_FILE;
    if (t->kind == TEST_SIM)
        cuda_driver_register("sim", open_refusing);
    for (enum refusal kind = REFUSE_ALLOCATOR; kind <= last; kind++)
        refuse_kind(t, deed, kind);
    test_hold_gpu(t, 0);
    if (t->kind == TEST_SIM)
        cuda_driver_register("sim", sim_open);
}
