/* test_allocator.c: the caller's allocator, and results that outlive their context. */
#include "test.h"
#include "cpu/cpu.h"
#include "cuda/driver.h"

/* ---- the caller's allocator ---------------------------------------------------------------------------- */

static void uses_the_callers_allocator(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {0};
    cohort_context *context;
    void *memory[3];
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&options, &context));
    for (int i = 0; i < 3; i++) {
        OK(t, cohort_alloc(context, 1000, &memory[i]));
        CHECK(t, (uintptr_t)memory[i] % 256 == 0);
        OK(t, cohort_fill(context, memory[i], i, 1000));
    }
    CHECK(t, ledger.bytes >= 3000);
    OK(t, cohort_free(context, memory[1]));
    cohort_context_destroy(context); /* two pieces are forgotten */
    test_ledger_check(t, &ledger);
}

/* An allocator that fails once, at one of its calls. */
struct failing {
    cohort_allocator inner;
    uint64_t calls, fail_at;
};

static void *failing_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    struct failing *f = user;
    return f->calls++ == f->fail_at ? NULL : f->inner.alloc(f->inner.user, bytes, alignment, stream);
}

static void failing_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    struct failing *f = user;
    f->inner.free(f->inner.user, memory, bytes, alignment, stream);
}

/* Makes a context, allocates, takes workspace, frees; whatever call fails, nothing leaks and nothing
 * breaks. */
static cohort_status some_work(struct test *t, const cohort_context_options *options)
{
    cohort_context *context;
    void *a, *b, *workspace;
    cohort_status status = cohort_context_create(options, &context);
    if (status) {
        CHECK(t, !context && strstr(cohort_message(NULL), "memory"));
        return status;
    }
    status = cohort_alloc(context, 5000, &a);
    if (!status) {
        OK(t, cohort_fill(context, a, 1, 5000));
        status = cohort_alloc(context, 6000, &b);
    }
    if (!status)
        status = pool_take(context, 7000, &workspace);
    if (status)
        CHECK(t, strstr(cohort_message(context), "memory"));
    OK(t, cohort_wait(context));
    cohort_context_destroy(context);
    return status;
}

static void survives_a_failing_allocator(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_status status = COHORT_NO_MEMORY;
    uint64_t fail_at = 0;
    for (; status && fail_at < 64; fail_at++) {
        struct ledger ledger = {0};
        struct failing failing = {test_allocator(t, &ledger), 0, fail_at};
        options.alloc = (cohort_allocator){failing_alloc, failing_free, &failing};
        status = some_work(t, &options);
        CHECKF(t, status == (failing.calls > fail_at ? COHORT_NO_MEMORY : COHORT_OK), "call %llu fails: %s",
               (unsigned long long)fail_at, cohort_status_name(status));
        test_ledger_check(t, &ledger);
    }
    CHECK(t, !status && fail_at >= 4);
}

/* An allocator whose memory is aligned to 64 bytes, from one of its calls on. */
static void *skewed_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    struct failing *f = user;
    char *memory = f->inner.alloc(f->inner.user, bytes + 256, alignment, stream);
    return memory && f->calls++ >= f->fail_at ? memory + 64 : memory;
}

static void skewed_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    failing_free(user, (void *)((uintptr_t)memory & ~(uintptr_t)255), bytes + 256, alignment, stream);
}

static void refuses_an_allocator_that_does_not_align(struct test *t)
{
    for (uint64_t skew_from = 0; skew_from < 3; skew_from++) {
        cohort_context_options options = test_context_options(t);
        struct ledger ledger = {0};
        struct failing failing = {test_allocator(t, &ledger), 0, skew_from};
        cohort_context *context = NULL;
        void *a = NULL, *b = NULL;
        options.alloc = (cohort_allocator){skewed_alloc, skewed_free, &failing};
        if (!skew_from) {
            FAILS(t, NULL, cohort_context_create(&options, &context), COHORT_BAD_POINTER, "alloc.alloc",
                  "256");
        } else {
            OK(t, cohort_context_create(&options, &context));
            if (skew_from == 2)
                OK(t, cohort_alloc(context, 1000, &a));
            FAILS(t, context, cohort_alloc(context, 1000, &b), COHORT_BAD_POINTER, "alloc.alloc", "256");
            cohort_context_destroy(context);
        }
        test_ledger_check(t, &ledger);
    }
}

static void *host_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    ++*(int *)user;
    (void)stream;
    return aligned_alloc(alignment, (bytes + 255) / 256 * 256);
}

static void host_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    (void)bytes;
    (void)alignment;
    (void)stream;
    --*(int *)user;
    free(memory);
}

/* Memory that kernels cannot be given, from an allocator that was to give a GPU's. */
static void refuses_an_allocator_of_host_memory(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    int live = 0;
    options.alloc = (cohort_allocator){host_alloc, host_free, &live};
    FAILS(t, NULL, cohort_context_create(&options, &context), COHORT_BAD_POINTER, "alloc.alloc", NULL);
    CHECK(t, !context);
    EQUAL(t, live, 0);
}

/* Handle 0 is a stream, the legacy default one; the context's own has another handle. */
static void tells_the_allocator_the_stream(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {0};
    cohort_context *context;
    cuda_stream stream;
    void *memory;
    struct test_gpu g = test_gpu_enter(t);
    REQUIRE(t, g.driver && !g.driver->stream_create(&stream, CUDA_STREAM_NON_BLOCKING));
    void *const turn[] = {NULL, stream, COHORT_STREAM_OWN};
    for (int i = 0; i < 3; i++) {
        options.alloc = test_allocator(t, &ledger);
        options.stream = turn[i];
        ledger.stream = t; /* which is none */
        OK(t, cohort_context_create(&options, &context));
        void *own = ledger.stream;
        CHECK(t, i == 2 ? own && own != COHORT_STREAM_OWN && own != t : own == turn[i]);
        for (int k = 0; k < 3; k++) {
            OK(t, cohort_set_stream(context, turn[k]));
            OK(t, cohort_alloc(context, 100, &memory));
            CHECK(t, k == 2 || ledger.stream == turn[k]);
            CHECK(t,
                  k != 2 || (ledger.stream && ledger.stream != stream && ledger.stream != COHORT_STREAM_OWN));
            OK(t, cohort_fill(context, memory, 1, 100));
            OK(t, cohort_free(context, memory));
            CHECK(t, k == 2 || ledger.stream == turn[k]);
        }
        cohort_context_destroy(context);
        test_ledger_check(t, &ledger);
    }
    CHECK(t, !g.driver->stream_destroy(stream));
    test_gpu_leave(g);
}

/* ---- results that outlive the context ------------------------------------------------------------------ */

/* An allocator under whose `free` another thread gives a result back, once. */
struct handing {
    cohort_allocator inner;
    struct buffer *buffer;
};

static void *handing_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    struct handing *h = user;
    return h->inner.alloc(h->inner.user, bytes, alignment, stream);
}

static void *give_buffer(void *buffer)
{
    holder_release(&((struct buffer *)buffer)->holder);
    return NULL;
}

static void handing_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    struct handing *h = user;
    struct buffer *buffer = h->buffer;
    pthread_t thread;
    h->buffer = NULL;
    if (buffer && !pthread_create(&thread, NULL, give_buffer, buffer))
        pthread_join(thread, NULL);
    h->inner.free(h->inner.user, memory, bytes, alignment, stream);
}

/* A result comes back while the context, which goes, gives others to the system: nothing stays behind. */
static void results_come_back_while_the_context_goes(struct test *t)
{
    for (int late = 0; late < 2; late++) {
        cohort_context_options options = test_context_options(t);
        struct ledger ledger = {0};
        struct handing handing = {test_allocator(t, &ledger), NULL};
        cohort_context *context;
        struct buffer *idle, *out, *last = NULL;
        options.alloc = (cohort_allocator){handing_alloc, handing_free, &handing};
        OK(t, cohort_context_create(&options, &context));
        OK(t, cohort_trim(context));
        OK(t, loan_take(context, 1000, &idle));
        OK(t, loan_take(context, 3000, &out));
        if (late)
            OK(t, loan_take(context, 9000, &last));
        holder_release(&idle->holder);
        pool_destroy(context); /* so that the idle buffer is what is given back first */
        handing.buffer = out;
        cohort_context_destroy(context);
        CHECK(t, !handing.buffer);
        if (late)
            holder_release(&last->holder);
        test_ledger_check(t, &ledger);
    }
}

const struct test_case test_cases[] = {
    {"uses the caller's allocator", uses_the_callers_allocator, TEST_NO_CONTEXT},
    {"survives a failing allocator", survives_a_failing_allocator, TEST_NO_CONTEXT},
    {"refuses an allocator that does not align", refuses_an_allocator_that_does_not_align, TEST_NO_CONTEXT},
    {"tells the allocator the stream", tells_the_allocator_the_stream,
     TEST_NO_CONTEXT | TEST_ON_SIM | TEST_ON_CUDA},
    {"refuses an allocator of host memory", refuses_an_allocator_of_host_memory,
     TEST_NO_CONTEXT | TEST_ON_SIM | TEST_ON_CUDA},
    {"results come back while the context goes", results_come_back_while_the_context_goes, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
