/* test_context.c: contexts, option structs, messages, deferred failures, streams, progress, timers,
 * limits. */
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "test.h"
#include "api/options.h"

/* ---- making contexts ----------------------------------------------------------------------------------- */

static void makes(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_context *a, *b;
    OK(t, cohort_context_create(&options, &a));
    OK(t, cohort_context_create(&options, &b));
    CHECK(t, a != b);
    CHECK(t, !strcmp(cohort_message(a), ""));
    OK(t, cohort_context_get_info(a, &info));
    CHECKF(t, !strcmp(info.backend, t->kind == TEST_CPU ? "cpu" : "cuda"), "backend is %s", info.backend);
    CHECK(t, info.device && *info.device);
    CHECK(t, info.threads >= 1);
    CHECK(t, info.memory_bytes > 0);
    CHECK(t, info.memory_free > 0 && info.memory_free <= info.memory_bytes);
    CHECK(t, (info.architecture == 0) == (t->kind == TEST_CPU));
    EQUAL(t, info.map_widths, 0x3e);
    EQUAL(t, info.map_run_widths, info.architecture && info.architecture < 90 ? 0x0e : 0x3e);
    EQUAL(t, info.lines_widths, 0x7e);
    OK(t, cohort_wait(a));
    cohort_context_destroy(a);
    OK(t, cohort_wait(b));
    cohort_context_destroy(b);
    cohort_context_destroy(NULL);
}

static void makes_with_defaults(struct test *t)
{
    cohort_context *context;
    OK(t, cohort_context_create(NULL, &context));
    OK(t, cohort_wait(context));
    cohort_context_destroy(context);
}

/* A context that must not come about. */
static void refuses(struct test *t, const cohort_context_options *options, cohort_status due,
                    const char *word, const char *value)
{
    cohort_context *context = (cohort_context *)(uintptr_t)64;
    FAILS(t, NULL, cohort_context_create(options, &context), due, word, value);
    CHECK(t, !context);
}

static void refuses_bad_options(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {0};
    FAILS(t, NULL, cohort_context_create(&options, NULL), COHORT_NULL, "out", NULL);
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
    OK(t, cohort_context_create(&options, &context));
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
        if (cohort_context_create(&options, &context))
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

/* ---- names, messages, structs -------------------------------------------------------------------------- */

static void names(struct test *t)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", COHORT_VERSION_MAJOR, COHORT_VERSION_MINOR,
             COHORT_VERSION_PATCH);
    CHECK(t, !strcmp(cohort_version(), version));
    CHECK(t, !strcmp(cohort_status_name(COHORT_OK), "COHORT_OK"));
    CHECK(t, !strcmp(cohort_status_name(COHORT_CORRUPT), "COHORT_CORRUPT"));
    for (int i = COHORT_OK; i <= COHORT_CANCELLED; i++) {
        CHECK(t, !strncmp(cohort_status_name((cohort_status)i), "COHORT_", 7));
        for (int j = COHORT_OK; j < i; j++)
            CHECK(t, strcmp(cohort_status_name((cohort_status)i), cohort_status_name((cohort_status)j)));
    }
    CHECK(t, !strcmp(cohort_status_name((cohort_status)(COHORT_CANCELLED + 1)), "unknown status"));
    CHECK(t, !strcmp(cohort_status_name((cohort_status)99), "unknown status"));
    CHECK(t, !strcmp(cohort_status_name((cohort_status)-1), "unknown status"));
}

/* No structure's table is missing: calls do not ask. (tests/structure looks at the entries of each.) */
static void has_all_tables(struct test *t)
{
    const struct backend *backend = t->context->backend;
#define HAS(structure) CHECKF(t, backend->structure, "%s has no table of " #structure, backend->name);
    BACKEND_STRUCTURES(HAS)
#undef HAS
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

/* ---- waiting and streams ------------------------------------------------------------------------------- */

static void put_down(struct test *t, uint64_t first_full, uint64_t first_bad)
{
    struct batch_deferred deferred = {first_full, first_bad};
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
    OK(t, cohort_set_stream(t->context, COHORT_STREAM_OWN));
    OK(t, cohort_wait(t->context));
    if (t->kind != TEST_CPU)
        return;
    FAILS(t, t->context, cohort_set_stream(t->context, t), COHORT_UNSUPPORTED, "stream", NULL);
    options.stream = t;
    refuses(t, &options, COHORT_UNSUPPORTED, "stream", NULL);
}

/* ---- progress ------------------------------------------------------------------------------------------ */

struct told {
    int calls, wrong, stop; /* stop: from which call on work is to end; 0: never */
    uint64_t done, total;
    char what[32];
};

static int tell(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct told *told = user;
    told->wrong += told->calls && done < told->done;
    told->calls++;
    told->done = done;
    told->total = total;
    snprintf(told->what, sizeof told->what, "%s", what);
    return told->stop && told->calls >= told->stop;
}

static void tells_progress(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct told told = {0};
    cohort_context *context;
    context_progress(t->context, "nobody", 1, 2);
    options.progress = (cohort_progress){tell, &told};
    OK(t, cohort_context_create(&options, &context));
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

/* Work that is done is not ended; work that is not, is, and the next can be. */
static void is_ended(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct told told = {.stop = 1};
    cohort_context *context;
    options.progress = (cohort_progress){tell, &told};
    OK(t, cohort_context_create(&options, &context));
    for (int i = 0; i < 3; i++) {
        FAILS(t, context, context_progress(context, "counting", 5, 9), COHORT_CANCELLED, "counting",
              "5 of 9");
        EQUAL(t, told.calls, i + 1);
    }
    OK(t, context_progress(context, "counting", 9, 9));
    cohort_limits limits = COHORT_LIMITS_INIT;
    limits.table_bytes =
        t->kind == TEST_CPU ? 16 << 20 : 1 << 16; /* those of a small one are soon measured */
    if (t->kind == TEST_CPU)
        FAILS(t, context, cohort_limits_measure(context, &limits), COHORT_CANCELLED, "limits", "of 5 done");
    told.stop = 0;
    OK(t, cohort_limits_measure(context, &limits));
    cohort_context_destroy(context);
}

/* What went in before a batch was ended stays in, the map is whole, and the same batch can be done again. */
static void ends_batches(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct told told = {0};
    cohort_context *context;
    options.progress = (cohort_progress){tell, &told};
    OK(t, cohort_context_create(&options, &context));
    const uint64_t n = test_size(t, 300000, 4000);
    uint64_t *keys = malloc(n * 8), *found = malloc(n * 8), size = 0, in = 0, none = ~0ull;
    for (uint64_t i = 0; i < n; i++)
        keys[i] = test_mix(i);
    for (int apply = 0; apply < 2; apply++) {
        cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
        cohort_map *map = NULL;
        o.capacity = 32;
        OK(t, cohort_map_create(context, &o, &map));
        struct timespec pause = {0, 400000000};
        nanosleep(&pause, NULL); /* the last time was not just now */
        told.stop = 1;
        told.calls = 0;
        cohort_status s = apply ? cohort_map_apply(map, COHORT_OP_ADD, n, keys, keys, NULL)
                                : cohort_map_insert(map, n, keys, keys, NULL);
        told.stop = 0;
        OK(t, cohort_map_size(map, &size));
        REQUIREF(t, s == COHORT_CANCELLED && size < n, "%s, %llu of %llu are in", cohort_status_name(s),
                 (unsigned long long)size, (unsigned long long)n);
        OK(t, cohort_map_find(map, n, keys, found, &none, NULL));
        in = 0;
        for (uint64_t i = 0; i < n; i++) {
            in += found[i] != none;
            REQUIRE(t, found[i] == none || found[i] == keys[i]);
        }
        EQUAL(t, in, size);
        OK(t, cohort_map_insert(map, n, keys, keys, NULL));
        OK(t, cohort_map_size(map, &size));
        EQUAL(t, size, n);
        cohort_map_destroy(map);
    }
    free(keys);
    free(found);
    cohort_context_destroy(context);
}

/* Of sums by key on a CPU what was told as done is in: what was combined on the way is put before the end. */
static void ends_sums(struct test *t)
{
    enum { KEYS = 100 };
    cohort_context_options options = test_context_options(t);
    struct told told = {.stop = 1};
    cohort_context *context;
    options.progress = (cohort_progress){tell, &told};
    OK(t, cohort_context_create(&options, &context));
    const uint64_t n = (uint64_t)3 << 22;
    uint64_t *keys = malloc(n * 8), counts[KEYS] = {0}, asked[KEYS], none = 0, total = 0;
    for (uint64_t i = 0; i < n; i++)
        keys[i] = test_mix(i) % KEYS;
    for (uint64_t i = 0; i < KEYS; i++)
        asked[i] = i;
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map = NULL;
    o.capacity = 1000;
    OK(t, cohort_map_create(context, &o, &map));
    FAILS(t, context, cohort_map_apply(map, COHORT_OP_COUNT, n, keys, NULL, NULL), COHORT_CANCELLED,
          "cohort_map_apply", NULL);
    told.stop = 0;
    uint64_t done = told.done;
    OK(t, cohort_map_find(map, KEYS, asked, counts, &none, NULL));
    for (uint64_t i = 0; i < KEYS; i++)
        total += counts[i];
    CHECKF(t, done && done < n && total == done, "%llu of %llu were told as done, and %llu are in",
           (unsigned long long)done, (unsigned long long)n, (unsigned long long)total);
    free(keys);
    cohort_map_destroy(map);
    cohort_context_destroy(context);
}

/* ---- time and limits ----------------------------------------------------------------------------------- */

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

/* The least table does not fit a context of this much memory, which says so instead of measuring less. */
static void limits_know_the_memory_limit(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_limits limits = COHORT_LIMITS_INIT;
    cohort_context *context;
    options.memory_bytes = 8191;
    OK(t, cohort_context_create(&options, &context));
    FAILS(t, context, cohort_limits_measure(context, &limits), COHORT_NO_MEMORY, "memory_bytes", "8191");
    CHECK(t, !limits.table_bytes);
    cohort_context_destroy(context);
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
    {"has all tables", has_all_tables, 0},
    {"keeps messages", keeps_messages, 0},
    {"reads structs of all ages", reads_structs_of_all_ages, 0},
    {"tells about itself", tells_about_itself, 0},
    {"tells deferred failures once", tells_deferred_failures_once, 0},
    {"sets streams", sets_streams, 0},
    {"tells progress", tells_progress, 0},
    {"is ended", is_ended, 0},
    {"ends batches", ends_batches, 0},
    {"ends sums", ends_sums, TEST_ON_CPU},
    {"times", times, 0},
    {"refuses bad limits", refuses_bad_limits, 0},
    {"limits know the memory limit", limits_know_the_memory_limit, TEST_NO_CONTEXT},
    {"measures limits", measures_limits, 0},
    {NULL, NULL, 0},
};
