/* test_context.c: contexts, option structs, memory, allocators, copies, timers, limits, progress, deferred failures. */
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "test.h"
#include "api/options.h"
#include "backend.h"
#include "cpu/cpu.h"

/* ---- making contexts ------------------------------------------------------------------------------------------------ */

static void makes(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_context *a, *b;
    OK(t, cohort_context_create(&a, &options));
    OK(t, cohort_context_create(&b, &options));
    CHECK(t, a != b);
    CHECK(t, !strcmp(cohort_message(a), ""));
    OK(t, cohort_context_get_info(a, &info));
    CHECKF(t, !strcmp(info.backend, t->kind == TEST_CPU ? "cpu" : "cuda"), "backend is %s", info.backend);
    CHECK(t, info.device && *info.device);
    CHECK(t, info.threads >= 1);
    CHECK(t, info.memory_bytes > 0);
    CHECK(t, info.memory_free > 0 && info.memory_free <= info.memory_bytes);
    CHECK(t, (info.architecture == 0) == (t->kind == TEST_CPU));
    OK(t, cohort_wait(a));
    cohort_context_destroy(a);
    OK(t, cohort_wait(b));
    cohort_context_destroy(b);
    cohort_context_destroy(NULL);
}

static void makes_with_defaults(struct test *t)
{
    cohort_context *context;
    OK(t, cohort_context_create(&context, NULL));
    OK(t, cohort_wait(context));
    cohort_context_destroy(context);
}

/* A context that must not come about. */
static void refuses(struct test *t, const cohort_context_options *options, cohort_status due,
                    const char *word, const char *value)
{
    cohort_context *context = (cohort_context *)(uintptr_t)64;
    FAILS(t, NULL, cohort_context_create(&context, options), due, word, value);
    CHECK(t, !context);
}

static void refuses_bad_options(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {0};
    FAILS(t, NULL, cohort_context_create(NULL, &options), COHORT_NULL, "out", NULL);
    options.threads = 1025;
    refuses(t, &options, COHORT_RANGE, "threads", "1025");
    options.threads = UINT64_MAX;
    refuses(t, &options, COHORT_RANGE, "threads", "18446744073709551615");
    options = test_context_options(t);
    options.alloc = test_allocator(t, &ledger);
    options.alloc.free = NULL;
    refuses(t, &options, COHORT_NULL, "alloc.free", "NULL");
    options.alloc = test_allocator(t, &ledger);
    options.alloc.alloc = NULL;
    refuses(t, &options, COHORT_NULL, "alloc.alloc", "NULL");
    options.size = 0;
    refuses(t, &options, COHORT_BAD_STRUCT, "options", "0");
    options.size = sizeof options - 1;
    refuses(t, &options, COHORT_BAD_STRUCT, "options", NULL);
    options.size = SIZE_MAX;
    refuses(t, &options, COHORT_BAD_STRUCT, "options", NULL);
    test_ledger_check(t, &ledger);
}

static void refuses_unknown_devices(struct test *t)
{
    static const char *const names[] = {"",          "cpux",
                                        "CPU",       "gpu",
                                        "cuda:",     "cuda:x",
                                        "cuda:-1",   "cuda:1x",
                                        "cuda:4096", "cuda:99999999999999999999",
                                        "nonsense"};
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        options.device = names[i];
        refuses(t, &options, COHORT_NO_DEVICE, "device", names[i]);
    }
    char name[5000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    options.device = name;
    refuses(t, &options, COHORT_NO_DEVICE, "device", "xxxx");
}

static void makes_on(struct test *t, const char *device, const char *backend)
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_context *context;
    options.device = device;
    OK(t, cohort_context_create(&context, &options));
    OK(t, cohort_context_get_info(context, &info));
    CHECKF(t, !backend || !strcmp(info.backend, backend), "device %s gives backend %s", device, info.backend);
    cohort_context_destroy(context);
}

static void obeys_the_environment(struct test *t)
{
    const char *backend = t->kind == TEST_CPU ? "cpu" : "cuda";
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    char *before = getenv("COHORT_DEVICE");
    before = before ? strdup(before) : NULL;
    setenv("COHORT_DEVICE", t->device, 1);
    makes_on(t, NULL, backend);
    makes_on(t, "auto", backend);
    makes_on(t, "cpu", "cpu"); /* what is said outright holds */
    setenv("COHORT_DEVICE", "", 1);
    makes_on(t, NULL, NULL);
    setenv("COHORT_DEVICE", "auto", 1);
    makes_on(t, NULL, NULL);
    setenv("COHORT_DEVICE", "cuda:4096", 1);
    refuses(t, &options, COHORT_NO_DEVICE, "COHORT_DEVICE", "cuda:4096");
    options.device = "auto";
    refuses(t, &options, COHORT_NO_DEVICE, "COHORT_DEVICE", "cuda:4096");
    if (before)
        setenv("COHORT_DEVICE", before, 1);
    else
        unsetenv("COHORT_DEVICE");
    free(before);
}

/* On the device under test: the variable with a value that says nothing known, and with one that does. */
static void refuses_in_the_environment(struct test *t, const char *name, const char *const *values, size_t n,
                                       const char *good)
{
    cohort_context_options options = test_context_options(t);
    for (size_t i = 0; i < n; i++) {
        setenv(name, values[i], 1);
        refuses(t, &options, COHORT_RANGE, name, values[i]);
    }
    setenv(name, good, 1);
    makes_on(t, t->device, t->kind == TEST_CPU ? "cpu" : "cuda");
    unsetenv(name);
}

static void refuses_a_bad_environment(struct test *t)
{
    static const char *const processors[] = {"", "avx", "PLAIN", "avx5120"};
    static const char *const tunings[] = {"",
                                          "256",
                                          "256,128,256,128",
                                          "256,128,256,128,0,",
                                          "256,128,256,128,2",
                                          "33,128,256,128,0",
                                          "256,128,512,128,0",
                                          "256,0,256,128,0",
                                          "x"};
    if (t->kind == TEST_CPU)
        refuses_in_the_environment(t, "COHORT_CPU", processors, sizeof processors / sizeof *processors,
                                   "plain");
    else
        refuses_in_the_environment(t, "COHORT_MAP_TUNING", tunings, sizeof tunings / sizeof *tunings,
                                   "32,4,64,8,1");
}

static void *make_many(void *arg)
{
    struct test *t = arg;
    cohort_context_options options = test_context_options(t);
    for (int i = 0; i < 8; i++) {
        cohort_context *context;
        void *memory;
        options.threads = 1 + i % 3;
        if (cohort_context_create(&context, &options))
            return (void *)"cohort_context_create failed";
        if (cohort_alloc(context, 1000, &memory) || cohort_fill(context, memory, i, 1000) ||
            cohort_wait(context))
            return (void *)"a new context does not work";
        cohort_context_destroy(context);
    }
    return NULL;
}

/* Creation is thread-safe, and contexts are independent. */
static void makes_in_many_threads(struct test *t)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(t, !pthread_create(&threads[i], NULL, make_many, t));
    for (int i = 0; i < THREADS; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        CHECKF(t, !complaint, "%s", (const char *)complaint);
    }
}

/* ---- names, messages, structs --------------------------------------------------------------------------------------- */

static void names(struct test *t)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", COHORT_VERSION_MAJOR, COHORT_VERSION_MINOR,
             COHORT_VERSION_PATCH);
    CHECK(t, !strcmp(cohort_version(), version));
    CHECK(t, !strcmp(cohort_status_name(COHORT_OK), "COHORT_OK"));
    CHECK(t, !strcmp(cohort_status_name(COHORT_CORRUPT), "COHORT_CORRUPT"));
    for (int i = COHORT_OK; i <= COHORT_CORRUPT; i++) {
        CHECK(t, !strncmp(cohort_status_name((cohort_status)i), "COHORT_", 7));
        for (int j = COHORT_OK; j < i; j++)
            CHECK(t, strcmp(cohort_status_name((cohort_status)i), cohort_status_name((cohort_status)j)));
    }
    CHECK(t, !strcmp(cohort_status_name((cohort_status)(COHORT_CORRUPT + 1)), "unknown status"));
    CHECK(t, !strcmp(cohort_status_name((cohort_status)99), "unknown status"));
    CHECK(t, !strcmp(cohort_status_name((cohort_status)-1), "unknown status"));
}

/* No entry of the backend's table is missing: calls do not ask. */
static void has_all_entries(struct test *t)
{
    const struct backend *backend = t->context->backend;
    for (size_t at = 0; at < sizeof *backend; at += sizeof(void *)) {
        uintptr_t word;
        memcpy(&word, (const char *)backend + at, sizeof word);
        if (at != offsetof(struct backend, own_memory) && at != offsetof(struct backend, compiles))
            CHECKF(t, word, "the entry at byte %zu of the table of %s is NULL", at, backend->name);
    }
}

static void *read_message(void *arg)
{
    (void)arg;
    return (void *)cohort_message(NULL);
}

static void keeps_messages(struct test *t)
{
    pthread_t thread;
    void *seen;
    FAILS(t, NULL, cohort_context_create(NULL, NULL), COHORT_NULL, "out", NULL);
    REQUIRE(t, !pthread_create(&thread, NULL, read_message, NULL));
    pthread_join(thread, &seen);
    CHECK(t, seen && seen != cohort_message(NULL)); /* each thread has its own */
    FAILS(t, t->context, cohort_alloc(t->context, 0, &seen), COHORT_RANGE, "bytes", "0");
    OK(t, cohort_wait(t->context));
    CHECK(t, strstr(cohort_message(t->context), "bytes")); /* success leaves it */
    context_fail(t->context, COHORT_RANGE, "outer: %s", cohort_message(t->context));
    CHECK(t, !strncmp(cohort_message(t->context), "outer: bytes", 12));
    for (int i = 0; i < 60; i++)
        context_fail(t->context, COHORT_RANGE, "again and again: %s", cohort_message(t->context));
    CHECK(t, strlen(cohort_message(t->context)) < sizeof t->context->message);
}

/* What the library knows of a struct, what an older program and a newer one have of it. */
struct known {
    size_t size;
    uint64_t a, b;
};
struct newer {
    struct known known;
    uint64_t c;
};

static void reads_structs_of_all_ages(struct test *t)
{
    struct known copy;
    struct newer newer = {{sizeof newer, 1, 2}, 0};
    const size_t least = offsetof(struct known, b);
    memset(&copy, 0xff, sizeof copy);
    OK(t, options_check(t->context, "x", &newer, sizeof newer, sizeof copy, least, &copy));
    CHECK(t, copy.size == sizeof copy && copy.a == 1 && copy.b == 2);
    OK(t, options_check(t->context, "x", &newer, least, sizeof copy, least, &copy));
    CHECK(t, copy.size == sizeof copy && copy.a == 1 && copy.b == 0);
    OK(t, options_check(t->context, "x", &newer, sizeof copy, sizeof copy, least, &copy));
    CHECK(t, copy.b == 2);
    for (size_t i = sizeof copy; i < sizeof newer; i++) {
        ((char *)&newer)[i] = 1;
        FAILS(t, t->context, options_check(t->context, "x", &newer, sizeof newer, sizeof copy, least, &copy),
              COHORT_BAD_STRUCT, "x", NULL);
        ((char *)&newer)[i] = 0;
    }
    for (size_t size = 0; size < least; size++)
        STATUS(t, options_check(t->context, "x", &newer, size, sizeof copy, least, &copy), COHORT_BAD_STRUCT);
    FAILS(t, t->context, options_check(t->context, "x", NULL, 0, sizeof copy, least, &copy), COHORT_NULL, "x",
          "NULL");
    copy = (struct known){77, 5, 6};
    options_return(&newer.known, least, sizeof copy, &copy);
    CHECK(t, newer.known.size == sizeof newer && newer.known.a == 5 && newer.known.b == 2 && newer.c == 0);
    options_return(&newer, sizeof newer, sizeof copy, &copy);
    CHECK(t, newer.known.size == sizeof newer && newer.known.b == 6 && newer.c == 0);
}

static void tells_about_itself(struct test *t)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    uint64_t count = 99;
    FAILS(t, NULL, cohort_context_get_info(NULL, &info), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_context_get_info(t->context, NULL), COHORT_NULL, "info", NULL);
    info.size = 3;
    FAILS(t, t->context, cohort_context_get_info(t->context, &info), COHORT_BAD_STRUCT, "info", "3");
    CHECK(t, !info.backend && !info.threads);
    info.size = 1 << 20;
    FAILS(t, t->context, cohort_context_get_info(t->context, &info), COHORT_BAD_STRUCT, "info", "1048576");
    FAILS(t, NULL, cohort_device_count(NULL), COHORT_NULL, "count", NULL);
    OK(t, cohort_device_count(&count));
    CHECK(t, t->kind != TEST_CUDA || count >= 1);
    CHECK(t, count || *cohort_message(NULL));
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

static void allocates(struct test *t)
{
    enum { COUNT = 40 };
    void *memory[COUNT];
    for (int i = 0; i < COUNT; i++) {
        uint64_t bytes = 1 + test_below(t, 1ull << (i % 16));
        OK(t, cohort_alloc(t->context, bytes, &memory[i]));
        CHECKF(t, (uintptr_t)memory[i] % 256 == 0, "%p is not aligned to 256 bytes", memory[i]);
        OK(t, cohort_fill(t->context, memory[i], i, bytes));
    }
    for (int i = 0; i < COUNT; i++)
        OK(t, cohort_free(t->context, memory[(i * 7) % COUNT]));
    OK(t, cohort_free(t->context, NULL));
}

static void refuses_bad_allocations(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *other;
    void *memory = t, *foreign;
    int local;
    FAILS(t, NULL, cohort_alloc(NULL, 8, &memory), COHORT_NULL, "context", NULL);
    CHECK(t, !memory);
    FAILS(t, t->context, cohort_alloc(t->context, 8, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, t->context, cohort_alloc(t->context, 0, &memory), COHORT_RANGE, "bytes", "0");
    static const uint64_t sizes[] = {1ull << 50, 1ull << 62, 1ull << 63, UINT64_MAX - 4096, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)sizes[i]);
        memory = t;
        FAILS(t, t->context, cohort_alloc(t->context, sizes[i], &memory), COHORT_NO_MEMORY, "bytes", text);
        CHECK(t, !memory);
    }
    OK(t, cohort_alloc(t->context, 100, &memory));
    OK(t, cohort_free(t->context, memory));
    FAILS(t, t->context, cohort_free(t->context, memory), COHORT_BAD_POINTER, "memory", NULL); /* twice */
    FAILS(t, t->context, cohort_free(t->context, &local), COHORT_BAD_POINTER, "memory", NULL);
    FAILS(t, NULL, cohort_free(NULL, &local), COHORT_NULL, "context", NULL);
    OK(t, cohort_context_create(&other, &options));
    OK(t, cohort_alloc(other, 100, &foreign));
    FAILS(t, t->context, cohort_free(t->context, foreign), COHORT_BAD_POINTER, "memory", NULL);
    OK(t, cohort_free(other, foreign));
    cohort_context_destroy(other);
}

static void pattern(struct test *t, unsigned char *data, uint64_t bytes)
{
    uint64_t seed = test_random(t), i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word = test_mix(seed + i);
        memcpy(data + i, &word, 8);
    }
    memset(data + i, (int)(seed & 0xff), bytes - i);
}

/* Host to the context's memory, from there to another piece of it, and back, at odd places and sizes. */
static void copy_around(struct test *t, uint64_t bytes, uint64_t skew)
{
    unsigned char *from = malloc(bytes + 64), *to = malloc(bytes + 64);
    void *a, *b;
    REQUIRE(t, from && to);
    pattern(t, from, bytes + 64);
    memset(to, 0xee, bytes + 64);
    OK(t, cohort_alloc(t->context, bytes + 64, &a));
    OK(t, cohort_alloc(t->context, bytes + 64, &b));
    OK(t, cohort_fill(t->context, b, 0x5a, bytes + 64));
    OK(t, cohort_copy(t->context, (char *)a + skew, from + 3, bytes));
    OK(t, cohort_copy(t->context, (char *)b + 5, (char *)a + skew, bytes));
    OK(t, cohort_copy(t->context, to, b, bytes + 64));
    CHECKF(t, !memcmp(to + 5, from + 3, bytes), "%llu bytes do not come back", (unsigned long long)bytes);
    for (int i = 0; i < 64; i++) {
        unsigned char beside = i < 5 ? to[i] : to[bytes + (uint64_t)i];
        CHECKF(t, beside == 0x5a, "a byte beside %llu changed", (unsigned long long)bytes);
    }
    OK(t, cohort_copy(t->context, to, from, bytes)); /* host to host */
    CHECK(t, !memcmp(to, from, bytes));
    OK(t, cohort_free(t->context, b));
    OK(t, cohort_free(t->context, a));
    free(from);
    free(to);
}

static void copies(struct test *t)
{
    static const uint64_t sizes[] = {1, 7, 64, 4096, 100003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        copy_around(t, sizes[i], i * 9);
}

/* Sizes that several threads share, first in the caches, then past them. */
static void copies_much(struct test *t)
{
    for (int past = 0; past < 2; past++) {
        copy_around(t, (1ull << 20) - 1, 17);
        copy_around(t, (1ull << 20), 32);
        copy_around(t, (9ull << 20) + 77, 1);
        copy_around(t, test_scale(t, 1ull << 24, 1ull << 25, 1ull << 25) + 12345, 33);
        if (t->kind == TEST_CPU)
            cpu_device(t->context)->cache_bytes = 0;
    }
}

static void fills(struct test *t)
{
    static const uint64_t sizes[] = {1, 255, 1 << 16, (1 << 20) + 3, (17 << 20) + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t bytes = sizes[i];
        unsigned char *host = malloc(bytes + 2);
        void *memory;
        REQUIRE(t, host);
        OK(t, cohort_alloc(t->context, bytes + 2, &memory));
        OK(t, cohort_fill(t->context, memory, 1, bytes + 2));
        OK(t, cohort_fill(t->context, (char *)memory + 1, 0x1c3,
                          bytes)); /* the low byte counts, as with memset */
        OK(t, cohort_copy(t->context, host, memory, bytes + 2));
        CHECK(t, host[0] == 1 && host[bytes + 1] == 1);
        uint64_t right = 0;
        for (uint64_t j = 1; j <= bytes; j++)
            right += host[j] == 0xc3;
        EQUAL(t, right, bytes);
        OK(t, cohort_fill(t->context, host, 9, bytes)); /* host memory */
        CHECK(t, host[0] == 9 && host[bytes - 1] == 9);
        OK(t, cohort_free(t->context, memory));
        free(host);
    }
}

static void refuses_bad_copies(struct test *t)
{
    char host[64], other[64];
    void *memory;
    memset(host, 1, sizeof host);
    memset(other, 2, sizeof other);
    OK(t, cohort_alloc(t->context, 64, &memory));
    OK(t, cohort_fill(t->context, memory, 3, 64));
    FAILS(t, NULL, cohort_copy(NULL, host, other, 8), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_copy(t->context, NULL, other, 8), COHORT_NULL, "to", "NULL");
    FAILS(t, t->context, cohort_copy(t->context, memory, NULL, 8), COHORT_NULL, "from", "NULL");
    FAILS(t, t->context, cohort_copy(t->context, host, host + 4, 8), COHORT_RANGE, "from", "8");
    FAILS(t, t->context, cohort_copy(t->context, host + 4, host, 8), COHORT_RANGE, "from", "8");
    FAILS(t, t->context, cohort_copy(t->context, memory, (char *)memory + 31, 32), COHORT_RANGE, "from",
          "32");
    FAILS(t, t->context, cohort_copy(t->context, host, host, 8), COHORT_RANGE, "from", "8");
    FAILS(t, t->context, cohort_copy(t->context, host, other, UINT64_MAX), COHORT_OVERFLOW, "bytes",
          "18446744073709551615");
    FAILS(t, t->context, cohort_copy(t->context, memory, other, UINT64_MAX - 63), COHORT_OVERFLOW, "bytes",
          NULL);
    FAILS(t, NULL, cohort_fill(NULL, host, 0, 8), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_fill(t->context, NULL, 0, 8), COHORT_NULL, "memory", "NULL");
    FAILS(t, t->context, cohort_fill(t->context, memory, 0, UINT64_MAX), COHORT_OVERFLOW, "bytes", NULL);
    OK(t, cohort_copy(t->context, NULL, NULL, 0));
    OK(t, cohort_copy(t->context, host, host, 0));
    OK(t, cohort_fill(t->context, NULL, 0, 0));
    CHECK(t, host[0] == 1 && host[4] == 1 && other[0] == 2);
    OK(t, cohort_copy(t->context, host, memory, 64));
    CHECK(t, host[0] == 3 && host[63] == 3);
    OK(t, cohort_free(t->context, memory));
    FAILS(t, NULL, cohort_trim(NULL), COHORT_NULL, "context", NULL);
    OK(t, cohort_trim(t->context));
}

/* Where libcuda is in the process, a CPU context knows a GPU's memory when it sees it. */
static void knows_memory_of_a_gpu(struct test *t)
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context *cpu;
    char host[64];
    void *memory;
    options.device = "cpu";
    OK(t, cohort_context_create(&cpu, &options));
    OK(t, cohort_alloc(t->context, 64, &memory));
    FAILS(t, cpu, cohort_copy(cpu, host, memory, 64), COHORT_BAD_POINTER, "from", NULL);
    FAILS(t, cpu, cohort_copy(cpu, memory, host, 64), COHORT_BAD_POINTER, "to", NULL);
    FAILS(t, cpu, cohort_fill(cpu, memory, 0, 64), COHORT_BAD_POINTER, "memory", NULL);
    OK(t, cohort_free(t->context, memory));
    cohort_context_destroy(cpu);
}

/* ---- the caller's allocator ----------------------------------------------------------------------------------------- */

static void uses_the_callers_allocator(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {0};
    cohort_context *context;
    void *memory[3];
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&context, &options));
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

static void *failing_alloc(void *user, size_t bytes)
{
    struct failing *f = user;
    return f->calls++ == f->fail_at ? NULL : f->inner.alloc(f->inner.user, bytes);
}

static void failing_free(void *user, void *memory, size_t bytes)
{
    struct failing *f = user;
    f->inner.free(f->inner.user, memory, bytes);
}

/* Makes a context, allocates, takes workspace, frees; whatever call fails, nothing leaks and nothing breaks. */
static cohort_status some_work(struct test *t, const cohort_context_options *options)
{
    cohort_context *context;
    void *a, *b, *workspace;
    cohort_status status = cohort_context_create(&context, options);
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

/* An allocator whose memory is aligned to 64 bytes and no more. */
static void *skewed_alloc(void *user, size_t bytes)
{
    char *memory = failing_alloc(user, bytes + 256);
    return memory ? memory + 64 : NULL;
}

static void skewed_free(void *user, void *memory, size_t bytes)
{
    failing_free(user, (char *)memory - 64, bytes + 256);
}

static void aligns_the_callers_memory(struct test *t)
{
    for (uint64_t fail_at = 0; fail_at < 12; fail_at++) {
        cohort_context_options options = test_context_options(t);
        struct ledger ledger = {0};
        struct failing failing = {test_allocator(t, &ledger), 0, fail_at < 11 ? fail_at : UINT64_MAX};
        cohort_context *context;
        void *a, *b;
        options.alloc = (cohort_allocator){skewed_alloc, skewed_free, &failing};
        if (!cohort_context_create(&context, &options)) {
            if (!cohort_alloc(context, 1000, &a)) {
                CHECK(t, (uintptr_t)a % 256 == 0);
                OK(t, cohort_fill(context, a, 7, 1000));
                if (!cohort_alloc(context, 300000, &b)) {
                    CHECK(t, (uintptr_t)b % 256 == 0);
                    OK(t, cohort_copy(context, b, a, 1000));
                }
                OK(t, cohort_free(context, a));
            }
            cohort_context_destroy(context);
        }
        test_ledger_check(t, &ledger);
    }
}

static void *host_alloc(void *user, size_t bytes)
{
    ++*(int *)user;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void host_free(void *user, void *memory, size_t bytes)
{
    (void)bytes;
    --*(int *)user;
    free(memory);
}

/* Memory that kernels cannot be given, from an allocator that was to give a GPU's. */
static void refuses_an_allocator_of_host_memory(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    int live = 0;
    options.alloc = (cohort_allocator){host_alloc, host_free, &live};
    refuses(t, &options, COHORT_BAD_POINTER, "alloc.alloc", NULL);
    EQUAL(t, live, 0);
}

/* ---- workspace ------------------------------------------------------------------------------------------------------ */

static void reuses_workspace(struct test *t)
{
    struct pool *pool = &t->context->pool;
    uint64_t before;
    void *a, *b, *c;
    OK(t, cohort_trim(t->context));
    before = pool->bytes;
    OK(t, pool_take(t->context, 100000, &a));
    OK(t, pool_take(t->context, 100000, &b));
    CHECK(t, a != b && (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0);
    uint64_t two = pool->bytes;
    CHECK(t, two - before >= 200000 && two - before <= 213000); /* a sixteenth at most */
    pool_give(t->context, a);
    OK(t, pool_take(t->context, 99000, &c));
    CHECK(t, c == a);
    EQUAL(t, pool->bytes, two);
    pool_give(t->context, b);
    pool_give(t->context, c);
    pool_give(t->context, NULL);
    OK(t, pool_take(t->context, 10, &a)); /* a small block does not tie up a large one */
    CHECK(t, pool->bytes > two);
    OK(t, cohort_trim(t->context));
    CHECK(t, pool->bytes < two);
    pool_give(t->context, a);
    OK(t, cohort_trim(t->context));
    EQUAL(t, pool->bytes, before);
    FAILS(t, t->context, pool_take(t->context, UINT64_MAX, &a), COHORT_NO_MEMORY, "bytes", NULL);
    FAILS(t, t->context, pool_take(t->context, 1ull << 60, &a), COHORT_NO_MEMORY, "bytes", NULL);
    EQUAL(t, pool->bytes, before);
}

static void rounds_workspace_little(struct test *t)
{
    for (int i = 0; i < 200; i++) {
        uint64_t bytes = test_below(t, 1ull << (1 + i % 21)), before = t->context->pool.bytes, most;
        void *memory;
        OK(t, pool_take(t->context, bytes, &memory));
        most = bytes < 1024 ? 1024 : bytes + bytes / 16 + 256;
        CHECKF(t, t->context->pool.bytes - before <= most, "%llu bytes take %llu", (unsigned long long)bytes,
               (unsigned long long)(t->context->pool.bytes - before));
        OK(t, cohort_fill(t->context, memory, 0, bytes));
        pool_give(t->context, memory);
        OK(t, cohort_trim(t->context));
    }
}

/* Idle workspace makes way where memory is short. */
static void gives_way(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {.limit = 100000};
    cohort_context *context;
    void *workspace, *memory;
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&context, &options));
    REQUIRE(t, !pool_take(context, 60000, &workspace));
    FAILS(t, context, cohort_alloc(context, 60000, &memory), COHORT_NO_MEMORY, "bytes", "60000");
    pool_give(context, workspace);
    STATUS(t, cohort_alloc(context, 60000, &memory), COHORT_OK);
    STATUS(t, pool_take(context, 60000, &workspace), COHORT_NO_MEMORY);
    STATUS(t, cohort_free(context, memory), COHORT_OK);
    STATUS(t, pool_take(context, 60000, &workspace), COHORT_OK);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
}

/* ---- waiting and streams -------------------------------------------------------------------------------------------- */

static void put_down(struct test *t, uint64_t first_full, uint64_t first_bad)
{
    struct map_deferred deferred = {first_full, first_bad};
    OK(t, cohort_copy(t->context, &t->context->outcome->deferred, &deferred, sizeof deferred));
}

static void tells_deferred_failures_once(struct test *t)
{
    FAILS(t, NULL, cohort_wait(NULL), COHORT_NULL, "context", NULL);
    OK(t, cohort_wait(t->context));
    put_down(t, 4000000000000ull, UINT64_MAX);
    FAILS(t, t->context, cohort_wait(t->context), COHORT_FULL, "4000000000000", "full");
    OK(t, cohort_wait(t->context));
    put_down(t, UINT64_MAX, 17);
    FAILS(t, t->context, cohort_wait(t->context), COHORT_RANGE, "ops[17]", NULL);
    OK(t, cohort_wait(t->context));
    put_down(t, 3, 0);
    FAILS(t, t->context, cohort_wait(t->context), COHORT_RANGE, "ops[0]", NULL);
    OK(t, cohort_wait(t->context));
}

static void sets_streams(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    FAILS(t, NULL, cohort_set_stream(NULL, NULL), COHORT_NULL, "context", NULL);
    OK(t, cohort_set_stream(t->context, NULL));
    OK(t, cohort_wait(t->context));
    if (t->kind != TEST_CPU)
        return;
    FAILS(t, t->context, cohort_set_stream(t->context, t), COHORT_UNSUPPORTED, "stream", NULL);
    options.stream = t;
    refuses(t, &options, COHORT_UNSUPPORTED, "stream", NULL);
}

/* ---- progress ------------------------------------------------------------------------------------------------------- */

struct told {
    int calls, wrong;
    uint64_t done, total;
    char what[32];
};

static void tell(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct told *told = user;
    told->wrong += told->calls && done < told->done;
    told->calls++;
    told->done = done;
    told->total = total;
    snprintf(told->what, sizeof told->what, "%s", what);
}

static void tells_progress(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct told told = {0};
    cohort_context *context;
    context_progress(t->context, "nobody", 1, 2);
    options.progress = (cohort_progress){tell, &told};
    OK(t, cohort_context_create(&context, &options));
    for (uint64_t i = 0; i <= 100000; i++)
        context_progress(context, "counting", i, 100000);
    CHECKF(t, told.calls >= 2 && told.calls <= 100, "%d calls", told.calls);
    CHECK(t, !told.wrong && told.done == 100000 && told.total == 100000 && !strcmp(told.what, "counting"));
    int calls = told.calls;
    for (uint64_t i = 0; i < 1000; i++) /* short works that follow each other closely */
        context_progress(context, "counting", 1, 1);
    CHECKF(t, told.calls - calls <= 4, "%d calls", told.calls - calls);
    cohort_context_destroy(context);
}

/* ---- time and limits ------------------------------------------------------------------------------------------------ */

static void times(struct test *t)
{
    cohort_timer *timer = (cohort_timer *)(uintptr_t)64;
    double seconds = -1;
    struct timespec pause = {0, 30000000};
    FAILS(t, NULL, cohort_timer_create(NULL, &timer), COHORT_NULL, "context", NULL);
    CHECK(t, !timer);
    FAILS(t, t->context, cohort_timer_create(t->context, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, NULL, cohort_timer_start(NULL), COHORT_NULL, "timer", NULL);
    FAILS(t, NULL, cohort_timer_stop(NULL, &seconds), COHORT_NULL, "timer", NULL);
    cohort_timer_destroy(NULL);
    OK(t, cohort_timer_create(t->context, &timer));
    FAILS(t, t->context, cohort_timer_stop(timer, &seconds), COHORT_RANGE, "timer", NULL);
    CHECK(t, seconds == -1);
    OK(t, cohort_timer_start(timer));
    FAILS(t, t->context, cohort_timer_stop(timer, NULL), COHORT_NULL, "seconds", NULL);
    OK(t, cohort_timer_stop(timer, &seconds));
    CHECKF(t, seconds >= 0 && seconds < 60, "%g s", seconds);
    OK(t, cohort_timer_start(timer));
    OK(t, cohort_wait(t->context)); /* a GPU that others use too may come to the start late */
    nanosleep(&pause, NULL);
    OK(t, cohort_timer_stop(timer, &seconds));
    CHECKF(t, t->kind == TEST_SIM || (seconds >= 0.029 && seconds < 60), "%g s", seconds);
    CHECKF(t, isfinite(seconds) && seconds >= 0, "%g s", seconds);
    cohort_timer_destroy(timer);
}

static void refuses_bad_limits(struct test *t)
{
    cohort_limits limits = COHORT_LIMITS_INIT;
    FAILS(t, NULL, cohort_limits_measure(NULL, &limits), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_limits_measure(t->context, NULL), COHORT_NULL, "limits", NULL);
    limits.size = 8;
    FAILS(t, t->context, cohort_limits_measure(t->context, &limits), COHORT_BAD_STRUCT, "limits", "8");
    limits = (cohort_limits)COHORT_LIMITS_INIT;
    limits.table_bytes = 4095;
    FAILS(t, t->context, cohort_limits_measure(t->context, &limits), COHORT_RANGE, "table_bytes", "4095");
    limits.table_bytes = UINT64_MAX;
    FAILS(t, t->context, cohort_limits_measure(t->context, &limits), COHORT_OVERFLOW, "table_bytes", NULL);
    limits.table_bytes = 1ull << 55;
    FAILS(t, t->context, cohort_limits_measure(t->context, &limits), COHORT_NO_MEMORY, NULL, NULL);
    CHECK(t, limits.copy_bytes == 0 && limits.table_bytes == 1ull << 55);
}

static void measures_limits(struct test *t)
{
    cohort_limits limits = COHORT_LIMITS_INIT;
    limits.table_bytes = test_size(t, 1 << 20, 1 << 16);
    OK(t, cohort_limits_measure(t->context, &limits));
    EQUAL(t, limits.table_bytes, test_size(t, 1 << 20, 1 << 16));
    EQUAL(t, limits.size, sizeof limits);
    const double rates[] = {limits.copy_bytes,   limits.random_reads_32, limits.random_reads_8,
                            limits.random_cas_8, limits.cached_reads_32, limits.cached_cas_8};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        CHECKF(t, isfinite(rates[i]) && rates[i] > 0, "rate %zu is %g", i, rates[i]);
    const double links[] = {limits.link_to_device, limits.link_from_device, limits.link_both};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        CHECKF(t, t->kind == TEST_CPU ? links[i] == 0 : links[i] > 0, "link %zu is %g", i, links[i]);
}

const struct test_case test_cases[] = {
    {"makes", makes, TEST_NO_CONTEXT},
    {"makes with defaults", makes_with_defaults, TEST_NO_CONTEXT},
    {"refuses bad options", refuses_bad_options, TEST_NO_CONTEXT},
    {"refuses unknown devices", refuses_unknown_devices, TEST_NO_CONTEXT},
    {"obeys the environment", obeys_the_environment, TEST_NO_CONTEXT},
    {"refuses a bad environment", refuses_a_bad_environment, TEST_NO_CONTEXT},
    {"makes in many threads", makes_in_many_threads, TEST_NO_CONTEXT},
    {"names", names, TEST_NO_CONTEXT},
    {"has all entries", has_all_entries, 0},
    {"keeps messages", keeps_messages, 0},
    {"reads structs of all ages", reads_structs_of_all_ages, 0},
    {"tells about itself", tells_about_itself, 0},
    {"allocates", allocates, 0},
    {"refuses bad allocations", refuses_bad_allocations, 0},
    {"copies", copies, 0},
    {"copies much", copies_much, TEST_ON_CPU | TEST_ON_CUDA},
    {"fills", fills, 0},
    {"refuses bad copies", refuses_bad_copies, 0},
    {"knows memory of a GPU", knows_memory_of_a_gpu, TEST_ON_CUDA},
    {"uses the caller's allocator", uses_the_callers_allocator, TEST_NO_CONTEXT},
    {"survives a failing allocator", survives_a_failing_allocator, TEST_NO_CONTEXT},
    {"aligns the caller's memory", aligns_the_callers_memory, TEST_NO_CONTEXT},
    {"refuses an allocator of host memory", refuses_an_allocator_of_host_memory,
     TEST_NO_CONTEXT | TEST_ON_SIM | TEST_ON_CUDA},
    {"reuses workspace", reuses_workspace, 0},
    {"rounds workspace little", rounds_workspace_little, 0},
    {"gives way", gives_way, TEST_NO_CONTEXT},
    {"tells deferred failures once", tells_deferred_failures_once, 0},
    {"sets streams", sets_streams, 0},
    {"tells progress", tells_progress, 0},
    {"times", times, 0},
    {"refuses bad limits", refuses_bad_limits, 0},
    {"measures limits", measures_limits, 0},
    {NULL, NULL, 0},
};
