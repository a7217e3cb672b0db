/* sim.c: goes into the extension module for test_gpu*.py alone, by libcohort_sim.a: the simulated GPU as the
 * device "sim:SEED", and as much of its driver as the tests need to stand in for torch, cupy and cudf: memory
 * and streams of their own. */
#include "cuda/driver.h"
#include "sim.h"

#define EXPORT __attribute__((visibility("default")))

static const struct cuda_driver *driver;

static const struct cuda_driver *open_sim(const char *rest, const char **why)
{
    return driver = sim_open(rest, why);
}

__attribute__((constructor)) static void register_sim(void)
{
    cuda_driver_register("sim", open_sim);
}

/* Each returns what it makes, or a result code; 0 is no memory, stream or event, and success. */
#define INSIDE(...)                                                                      \
    cuda_context context, before;                                                        \
    if (!driver || driver->primary_retain(&context, 0) || driver->context_push(context)) \
        return 0;                                                                        \
    __VA_ARGS__                                                                          \
    driver->context_pop(&before);                                                        \
    driver->primary_release(0);

EXPORT uint64_t other_alloc(uint64_t bytes)
{
    cuda_pointer memory = 0;
    INSIDE(if (driver->mem_alloc(&memory, bytes)) memory = 0;)
    return memory;
}
EXPORT int other_free(uint64_t memory)
{
    int result;
    INSIDE(result = driver->mem_free(memory);)
    return result;
}
EXPORT uint64_t other_stream(void)
{
    cuda_stream stream = NULL;
    INSIDE(driver->stream_create(&stream, CUDA_STREAM_NON_BLOCKING);)
    return (uintptr_t)stream;
}
EXPORT int other_stream_end(uint64_t stream)
{
    int result;
    INSIDE(result = driver->stream_destroy((cuda_stream)stream);)
    return result;
}
/* Enqueued; memory of the host is read now. Stream 1 is the legacy default one. */
EXPORT int other_copy(uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream)
{
    int result;
    INSIDE(result = driver->memcpy_async(to, from, bytes, (cuda_stream)(stream == 1 ? 0 : stream));)
    return result;
}
EXPORT int other_finish(uint64_t stream)
{
    int result;
    INSIDE(result = driver->stream_synchronize((cuda_stream)(stream == 1 ? 0 : stream));)
    return result;
}
/* An event after what is enqueued on a stream until now. */
EXPORT uint64_t other_event(uint64_t stream)
{
    cuda_event event = NULL;
    INSIDE(if (!driver->event_create(&event, CUDA_EVENT_NO_TIMING))
               driver->event_record(event, (cuda_stream)(stream == 1 ? 0 : stream));)
    return (uintptr_t)event;
}
EXPORT int other_await(uint64_t stream, uint64_t event)
{
    int result;
    INSIDE(result = driver->stream_wait_event((cuda_stream)(stream == 1 ? 0 : stream), (cuda_event)event, 0);)
    return result;
}
EXPORT int other_event_end(uint64_t event)
{
    int result;
    INSIDE(result = driver->event_destroy((cuda_event)event);)
    return result;
}

/* What nobody has given back; to be asked when no context is left. */
EXPORT unsigned other_leaks(void)
{
    return sim_leaks(stdout);
}
