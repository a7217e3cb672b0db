/* watched.c: see watched.h. A context's driver is one of ours for a while, which hands all on. */
#include "watched.h"

#include "api/group.h"
#include "backend/context.h"
#include "cuda/device.h"

struct watched watched;

static cohort_context *context_watched;
static const struct cuda_driver *below;
static struct cuda_driver above;

#define REFUSED 719 /* CUDA_ERROR_LAUNCH_FAILED */

static cuda_result copy(cuda_pointer to, cuda_pointer from, size_t bytes, cuda_stream stream)
{
    int is_to = context_memory_kind(context_watched, (const void *)(uintptr_t)to) == MEMORY_DEVICE;
    int is_from = context_memory_kind(context_watched, (const void *)(uintptr_t)from) == MEMORY_DEVICE;
    uint64_t *most = is_from ? &watched.most : &watched.most_in;
    if (is_to != is_from && bytes > *most)
        *most = bytes;
    return below->memcpy_async(to, from, bytes, stream);
}

static cuda_result launch(cuda_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, cuda_stream stream, void **parameters, void **extra)
{
    if (++watched.launches == watched.refused)
        return REFUSED;
    return below->launch_kernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

static cuda_result launch_ex(const struct cuda_launch *l, cuda_function f, void **parameters, void **extra)
{
    if (++watched.launches == watched.refused)
        return REFUSED;
    return below->launch_kernel_ex(l, f, parameters, extra);
}

void watched_begin(cohort_context *context, uint64_t refused)
{
    struct gpu *g = gpu_of(context);
    watched = (struct watched){.refused = refused};
    context_watched = context;
    below = g->driver;
    above = *below;
    above.memcpy_async = copy;
    above.launch_kernel = launch;
    if (below->launch_kernel_ex)
        above.launch_kernel_ex = launch_ex;
    g->driver = &above;
}

void watched_end(void)
{
    gpu_of(context_watched)->driver = below;
}

void watched_within(struct test *t, cohort_status s, uint64_t most)
{
    watched_end();
    REQUIREF(t, !s, "%s", cohort_message(t->context));
    CHECKF(t, watched.most <= most, "%llu bytes went to the host", (unsigned long long)watched.most);
}

void watched_check(struct test *t, cohort_status s)
{
    watched_within(t, s, WATCHED_SMALL);
}

/* ---- allocations --------------------------------------------------------------------------------------- */

static void *refuser_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    struct refuser *r = user;
    return ++r->calls == r->refused ? NULL : r->inner.alloc(r->inner.user, bytes, alignment, stream);
}

static void refuser_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    struct refuser *r = user;
    r->inner.free(r->inner.user, memory, bytes, alignment, stream);
}

cohort_allocator refuser_of(struct refuser *r)
{
    return (cohort_allocator){refuser_alloc, refuser_free, r};
}

static int is_unjoined(const struct group_keys *k)
{
    return k->pieces > 1 && k->piece[k->pieces - 2]->rows <= 2 * k->piece[k->pieces - 1]->rows;
}

int watched_unjoined(const cohort_group *g)
{
    int is = is_unjoined(&g->of);
    for (uint32_t i = 0; i < g->aggregates; i++)
        is |= is_unjoined(&g->aggregate[i].distinct);
    return is;
}
