/* test_sim.c: the simulator itself: its words, its watchdogs, its schedules, its queues. The litmus programs
 * and the checker of histories have tests of their own. */
#include "cuda/driver.h"
#include "sim.h"
#include "test.h"

struct sim_args { /* as in kernels/sim.cu */
    uint32_t *a;
    uint64_t *b, *out;
    uint32_t what, n;
};

/* Zeroed memory for one case; `a` and `b` have 256 bytes and 64 KiB, `out` too. */
static struct sim_args new_args(struct test *t)
{
    struct sim_args args = {sim_alloc(256), sim_alloc(65536), sim_alloc(65536), 0, 0};
    REQUIRE(t, args.a && args.b && args.out);
    return args;
}

static void free_args(struct sim_args *args)
{
    sim_free(args->a);
    sim_free(args->b);
    sim_free(args->out);
}

static void reset(struct sim_args *args)
{
    memset(args->a, 0, 256);
    memset(args->b, 0, 1024);
}

static void run(struct test *t, const char *kernel, const struct sim_args *args, unsigned blocks,
                unsigned threads, unsigned shared, const struct sim_schedule *schedule)
{
    REQUIREF(t, sim_run(kernel, args, blocks, threads, shared, schedule) == 0, "%s", sim_message());
}

/* ---- words --------------------------------------------------------------------------------------------- */

static void words(struct test *t)
{
    static const uint64_t due[] = {
        0, 5, 3, 9, 15, 7, 5, 1, 1,  100, 0,  UINT64_MAX, 1, 0, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1,
        1, 3, 8, 9, 2,  1, 3, 4, 11, 200, 201};
    struct sim_args args = new_args(t);
    run(t, "sim_words", &args, 1, 1, 0, NULL);
    for (size_t i = 0; i < sizeof due / sizeof due[0]; i++)
        CHECKF(t, args.out[i] == due[i], "word %zu gives %llu, not %llu", i, (unsigned long long)args.out[i],
               (unsigned long long)due[i]);
    free_args(&args);
}

static void collectives(struct test *t)
{
    struct sim_args args = new_args(t);
    struct sim_schedule s = SIM_SCHEDULE_INIT;
    for (s.seed = 1; s.seed <= 20; s.seed++) {
        s.kind = SIM_ANY;
        run(t, "sim_together", &args, 3, 64, 0, &s);
        for (uint32_t i = 0; i < 3 * 64; i++) {
            uint32_t lane = i % 32, warp = i % 64 / 32, odd = lane & 1 ? 0xaaaaaaaau : 0x55555555u;
            const uint64_t *o = args.out + 8 * (size_t)i;
            EQUAL(t, o[0], 0x49249249u);
            EQUAL(t, o[1], odd & 0xff);
            EQUAL(t, o[2], (lane & 1) * 2 + 1);
            EQUAL(t, o[3], (uint64_t)((lane + 1) % 32) << 40);
            EQUAL(t, o[4], UINT64_C(0x42108421) << 32 | 0xfu << (lane / 4 * 4));
            EQUAL(t, o[5], 496);
            EQUAL(t, o[6], lane * (lane - 1) / 2);
            EQUAL(t, o[7], 31);
            (void)warp;
        }
    }
    free_args(&args);
}

static void shared_memory(struct test *t)
{
    struct sim_args args = new_args(t);
    struct sim_schedule s = SIM_SCHEDULE_INIT;
    for (uint64_t i = 0; i < 640; i++)
        args.b[i] = i * i;
    for (s.seed = 1; s.seed <= 30; s.seed++) {
        s.kind = SIM_ANY;
        s.memory = s.seed % 2 ? SIM_WEAK : SIM_STRONG;
        s.live = s.seed % 3 ? 0 : 64;
        run(t, "sim_shared_sum", &args, 10, 64, 64 * 8, &s);
        for (uint64_t b = 0; b < 10; b++) {
            uint64_t sum = 0;
            for (uint64_t i = 0; i < 64; i++)
                sum += (b * 64 + i) * (b * 64 + i);
            EQUAL(t, args.out[b], sum);
        }
    }
    free_args(&args);
}

/* ---- watchdogs ----------------------------------------------------------------------------------------- */

static struct wrong {
    const char *what, *says;
    unsigned blocks, threads;
} const wrongs[] = {
    {"two plain writes", "race", 1, 2},
    {"a plain read beside a plain write", "race", 1, 2},
    {"a relaxed load beside a plain write", "race", 1, 2},
    {"memory never written", "never written", 1, 1},
    {"outside", "outside of any allocation", 1, 1},
    {"host memory", "not an address of the device", 1, 1},
    {"misaligned", "misaligned", 1, 1},
    {"two widths", "two widths", 1, 1},
    {"a lane that never comes", "watchdog", 1, 32},
    {"two masks", "masks disagree", 1, 32},
    {"two collectives", "wait in co_", 1, 32},
    {"a mask without the lane", "does not have the lane", 1, 32},
    {"two barriers", "wait", 1, 32},
    {"a circle of collectives", "deadlock", 1, 32},
    {"a loop without end", "watchdog", 1, 3},
    {"a long operation", "since the lane's last co_clock", 1, 1},
    {"past a shared array", "outside of any allocation", 1, 1},
    {"shared memory never written", "never written", 1, 1},
    {"shared memory of another block", "another block", 2, 1},
    {"a sector out of place", "misaligned", 1, 1},
    {"128 bits on sm_80", "needs sm_90", 1, 1},
    {"a vote for a barrier", "race", 1, 32},
    {"a copy read before it came", "race", 1, 32},
    {"a copy over what a lane still writes", "race", 1, 32},
};

/* Each is noticed, under every memory and schedule, in some seed of 20; the simulator goes on working after
 * it. */
static void watchdogs(struct test *t)
{
    static uint32_t host[64];
    struct sim_args args = new_args(t);
    uint32_t *a = args.a;
    for (uint32_t w = 0; w < sizeof wrongs / sizeof wrongs[0]; w++) {
        for (unsigned kind = 0; kind < 8; kind++) {
            struct sim_schedule s = SIM_SCHEDULE_INIT;
            s.kind = (enum sim_kind)(kind / 2);
            s.memory = kind % 2 ? SIM_WEAK : SIM_STRONG;
            s.quiet = 1;
            s.steps = 20000;
            s.operation_steps = 500;
            s.architecture = 80;
            args.what = w;
            args.n = 64;
            int noticed = 0;
            for (s.seed = 1; s.seed <= 20 && !noticed; s.seed++) {
                reset(&args);
                args.a = w == 5 ? host : a;
                if (w == 3)
                    sim_forget(a, 64);
                noticed = sim_run("sim_wrong", &args, wrongs[w].blocks, wrongs[w].threads, 0, &s) != 0;
                args.a = a;
                if (w == 3) { /* written again */
                    sim_free(a);
                    a = args.a = sim_alloc(256);
                }
            }
            CHECKF(t, noticed, "%s: not noticed, kind %u", wrongs[w].what, kind);
            CHECKF(t, !noticed || strstr(sim_message(), wrongs[w].says), "%s: %s", wrongs[w].what,
                   sim_message());
            CHECKF(t, !noticed || strstr(sim_message(), "sim_wrong"), "%s: %s", wrongs[w].what,
                   sim_message());
        }
    }
    reset(&args);
    run(t, "sim_words", &args, 1, 1, 0, NULL);
    free_args(&args);
}

static void freed_memory(struct test *t)
{
    struct sim_args args = new_args(t);
    struct sim_schedule s = SIM_SCHEDULE_INIT;
    s.quiet = 1;
    uint32_t *gone = sim_alloc(256), *keep = args.a;
    sim_free(gone);
    args.a = gone;
    args.what = 5;
    CHECK(t, sim_run("sim_wrong", &args, 1, 1, 0, &s) != 0);
    CHECKF(t, strstr(sim_message(), "outside of any allocation") != NULL, "%s", sim_message());
    args.a = keep;
    free_args(&args);
}

/* A lock, with acquire and release, makes plain memory safe under every schedule; without either it does
 * not. */
static void lock(struct test *t)
{
    struct sim_args args = new_args(t);
    uint64_t runs = test_scale(t, 200, 1000, 5000);
    for (uint32_t what = 0; what < 4; what++) {
        struct sim_schedule s = SIM_SCHEDULE_INIT;
        uint64_t failed = 0;
        s.quiet = what != 0;
        for (s.seed = 1; s.seed <= runs; s.seed++) {
            reset(&args);
            s.kind = SIM_ANY;
            args.what = what;
            args.n = 3;
            failed += sim_run("sim_lock", &args, 2, 3, 0, &s) != 0;
            if (!what)
                EQUAL(t, args.b[0], 18);
            if (t->failures)
                break;
        }
        CHECKF(t, what ? failed > runs / 2 : failed == 0, "what %u: %llu of %llu runs failed", what,
               (unsigned long long)failed, (unsigned long long)runs);
    }
    free_args(&args);
}

/* ---- schedules ----------------------------------------------------------------------------------------- */

static uint64_t order_of(struct test *t, struct sim_args *args, const struct sim_schedule *s)
{
    reset(args);
    args->n = 5;
    run(t, "sim_order", args, 3, 20, 0, s);
    EQUAL(t, args->a[0], 300);
    uint64_t h = 1;
    for (int i = 0; i < 300; i++)
        h = test_mix(h ^ args->out[i]);
    return h;
}

static void replay(struct test *t)
{
    struct sim_args args = new_args(t);
    uint64_t first[50], same = 0;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct sim_schedule s = SIM_SCHEDULE_INIT;
        s.kind = (enum sim_kind)kind;
        for (int i = 0; i < 50; i++) {
            s.seed = (uint64_t)i;
            first[i] = order_of(t, &args, &s);
            same += i > 0 && first[i] == first[i - 1];
        }
        for (int i = 49; i >= 0; i--) {
            s.seed = (uint64_t)i;
            EQUAL(t, order_of(t, &args, &s), first[i]);
        }
    }
    CHECKF(t, same == 0, "%llu seeds of 200 have the schedule of the one before", (unsigned long long)same);
    free_args(&args);
}

/* How many schedules there are from here: the lane that runs has `mine` stores to go, the other `others`, the
 * first of which it was stopped at (and will do at once) if `stopped`; p preemptions are left. Once one is
 * done the other has no choice. */
static uint64_t schedules(uint32_t mine, uint32_t others, int stopped, unsigned p)
{
    if (!mine)
        return 1;
    return schedules(mine - 1, others, stopped, p) +
           (p ? schedules(others - (stopped ? 1 : 0), mine, 1, p - 1) : 0);
}

static void search(struct test *t)
{
    struct sim_args args = new_args(t);
    for (uint32_t n = 1; n <= 4; n++) {
        for (unsigned p = 0; p <= 3; p++) {
            struct sim_search search = {.preemptions = p};
            struct sim_schedule s = SIM_SCHEDULE_INIT;
            s.kind = SIM_SEARCH;
            s.search = &search;
            do {
                reset(&args);
                args.n = n;
                run(t, "sim_stores", &args, 1, 2, 0, &s);
                EQUAL(t, args.a[0], n - 1);
                EQUAL(t, args.a[1], n - 1);
            } while (sim_search_next(&search));
            EQUAL(t, search.runs, 2 * schedules(n, n, 0, p));
            sim_search_end(&search);
        }
    }
    free_args(&args);
}

/* Exhaustive litmus: with enough switches and stale values a search shows just what is allowed; so does one
 * without bounds that goes on from each state once. */
static void search_memory(struct test *t)
{
    struct litmus_args {
        uint32_t *words, *registers, *arrived;
        uint32_t instances, roles, stride, shift;
    } args = {sim_alloc(256), sim_alloc(16), NULL, 1, 2, 64, 0};
    static const struct {
        const char *kernel;
        enum sim_memory memory;
        unsigned outcomes; /* bit 2 r1 + r0 */
    } cases[] = {{"litmus_mp", SIM_WEAK, 15},          {"litmus_mp", SIM_STRONG, 13},
                 {"litmus_mp_both", SIM_WEAK, 13},     {"litmus_mp_fences", SIM_WEAK, 13},
                 {"litmus_sb", SIM_STRONG, 14},        {"litmus_sb_fence", SIM_WEAK, 15},
                 {"litmus_sb_fence_sc", SIM_WEAK, 14}, {"litmus_corr", SIM_WEAK, 13}};
    for (size_t n = 0; n < 2 * sizeof cases / sizeof cases[0]; n++) {
        const size_t i = n / 2;
        struct sim_search search = {.preemptions = 3, .stale = 3, .merge = n & 1};
        struct sim_schedule s = SIM_SCHEDULE_INIT;
        unsigned seen = 0;
        s.kind = SIM_SEARCH;
        s.memory = cases[i].memory;
        s.search = &search;
        if (search.merge)
            search.preemptions = search.stale = SIM_UNBOUNDED;
        do {
            memset(args.words, 0, 256);
            const int over = sim_run(cases[i].kernel, &args, 1, 2, 0, &s);
            REQUIREF(t, !over || search.given_up, "%s", sim_message());
            if (!over)
                seen |= 1u << (args.registers[0] + 2 * args.registers[1]);
        } while (sim_search_next(&search));
        CHECKF(t, seen == cases[i].outcomes, "%s: outcomes %x, not %x, in %llu runs", cases[i].kernel, seen,
               cases[i].outcomes, (unsigned long long)search.runs);
        CHECK(t, (search.states > 0) == search.merge);
        sim_search_end(&search);
    }
    sim_free(args.words);
    sim_free(args.registers);
}

/* A search ends after `most` runs, and tells whether there was another one. */
static void search_ends(struct test *t)
{
    struct litmus_args {
        uint32_t *words, *registers, *arrived;
        uint32_t instances, roles, stride, shift;
    } args = {sim_alloc(256), sim_alloc(16), NULL, 1, 2, 64, 0};
    uint64_t all = 0;
    for (int n = 0; n < 5; n++) {
        const uint64_t most[] = {0, 1, all - 1, all, all + 1};
        struct sim_search search = {.preemptions = 3, .stale = 3, .most = most[n]};
        struct sim_schedule s = SIM_SCHEDULE_INIT;
        uint64_t runs = 0;
        s.kind = SIM_SEARCH;
        s.search = &search;
        do {
            memset(args.words, 0, 256);
            REQUIREF(t, !sim_run("litmus_mp", &args, 1, 2, 0, &s), "%s", sim_message());
            runs++;
        } while (sim_search_next(&search));
        all = n ? all : runs;
        REQUIRE(t, all > 2);
        EQUAL(t, runs, most[n] && most[n] < all ? most[n] : all);
        EQUAL(t, search.runs, runs);
        EQUAL(t, search.cut, most[n] && most[n] < all);
        sim_search_end(&search);
    }
    sim_free(args.words);
    sim_free(args.registers);
}

/* ---- the device ---------------------------------------------------------------------------------------- */

struct device {
    const struct cuda_driver *d;
    cuda_context context;
    cuda_stream one, two;
    cuda_event event;
    cuda_module module;
    cuda_function order;
};

static struct device device_begin(struct test *t, uint64_t seed)
{
    struct device d = {0};
    const char *why = NULL;
    char text[40];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    d.d = sim_open(text, &why);
    REQUIREF(t, d.d != NULL, "%s", why);
    EQUAL(t, d.d->init(0), 0);
    EQUAL(t, d.d->primary_retain(&d.context, 0), 0);
    EQUAL(t, d.d->context_push(d.context), 0);
    EQUAL(t, d.d->stream_create(&d.one, CUDA_STREAM_NON_BLOCKING), 0);
    EQUAL(t, d.d->stream_create(&d.two, CUDA_STREAM_NON_BLOCKING), 0);
    EQUAL(t, d.d->event_create(&d.event, CUDA_EVENT_TIMING), 0);
    EQUAL(t, d.d->module_load_data(&d.module, NULL), 0);
    EQUAL(t, d.d->module_get_function(&d.order, d.module, "sim_order"), 0);
    return d;
}

static void device_end(struct test *t, struct device *d)
{
    d->d->stream_destroy(d->one);
    d->d->stream_destroy(d->two);
    d->d->event_destroy(d->event);
    d->d->module_unload(d->module);
    EQUAL(t, d->d->context_pop(&d->context), 0);
    EQUAL(t, d->d->primary_release(0), 0);
}

/* Work on one stream, read on another: with an event between them always right, without one not always. */
static void streams(struct test *t)
{
    unsigned early[2] = {0, 0}, pinned_late = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct device d = device_begin(t, seed);
        cuda_pointer p;
        void *pinned;
        uint32_t host, pageable = 5;
        EQUAL(t, d.d->mem_alloc(&p, 4), 0);
        EQUAL(t, d.d->mem_host_alloc(&pinned, 4, 1), 0);
        for (int ordered = 0; ordered < 2; ordered++) {
            EQUAL(t, d.d->memset_d8_async(p, 0, 4, d.one), 0);
            EQUAL(t, d.d->stream_synchronize(d.one), 0);
            EQUAL(t, d.d->memset_d8_async(p, 1, 4, d.one), 0);
            EQUAL(t, d.d->event_record(d.event, d.one), 0);
            if (ordered)
                EQUAL(t, d.d->stream_wait_event(d.two, d.event, 0), 0);
            EQUAL(t, d.d->memcpy_async((uintptr_t)&host, p, 4, d.two), 0);
            early[ordered] += host == 0;
            EQUAL(t, d.d->stream_synchronize(d.one), 0);
        }
        EQUAL(t, d.d->memcpy_async(p, (uintptr_t)&pageable, 4, d.one), 0);
        pageable = 6;
        EQUAL(t, d.d->memcpy_async((uintptr_t)&host, p, 4, d.one), 0);
        EQUAL(t, host, 5);
        *(uint32_t *)pinned = 5;
        EQUAL(t, d.d->memcpy_async(p, (uintptr_t)pinned, 4, d.one), 0);
        *(uint32_t *)pinned = 6;
        EQUAL(t, d.d->memcpy_async((uintptr_t)&host, p, 4, d.one), 0);
        pinned_late += host == 6;
        EQUAL(t, d.d->mem_free(p), 0);
        EQUAL(t, d.d->mem_free_host(pinned), 0);
        device_end(t, &d);
    }
    EQUAL(t, early[1], 0);
    CHECKF(t, early[0] > 0, "a missing wait never showed");
    EQUAL(t, pinned_late, 60);
    EQUAL(t, sim_leaks(NULL), 0);
}

/* A launch that fails makes all that follows fail; a new context works. What is not given back is told. */
static void sticky_errors(struct test *t)
{
    struct device d = device_begin(t, 1);
    const char *name = NULL;
    float ms;
    uint32_t type;
    cuda_pointer p;
    struct sim_args args = {(uint32_t *)(void *)&d, NULL, NULL, 0, 1};
    void *parameters[] = {&args};
    EQUAL(t, d.d->mem_alloc(&p, 64), 0);
    EQUAL(t, d.d->pointer_attribute(&type, CUDA_POINTER_MEMORY_TYPE, p + 63), 0);
    EQUAL(t, type, CUDA_MEMORY_DEVICE);
    EQUAL(t, d.d->pointer_attribute(&type, CUDA_POINTER_MEMORY_TYPE, p + 64), CUDA_INVALID_VALUE);
    EQUAL(t, d.d->pointer_attribute(&type, CUDA_POINTER_MEMORY_TYPE, (uintptr_t)&d), CUDA_INVALID_VALUE);
    EQUAL(t, d.d->memset_d8_async(p, 0, 65, d.one), CUDA_INVALID_VALUE);
    EQUAL(t, d.d->launch_kernel(d.order, 1, 1, 1, 512, 1, 1, 0, d.one, parameters, NULL), CUDA_INVALID_VALUE);
    EQUAL(t, d.d->event_record(d.event, d.one), 0);
    EQUAL(t, d.d->event_synchronize(d.event), 0);
    EQUAL(t, d.d->event_elapsed_ms(&ms, d.event, d.event), 0);
    uint64_t failures = sim_failures();
    fprintf(stderr, "(one failure of the simulated GPU follows, on purpose)\n");
    EQUAL(t, d.d->launch_kernel(d.order, 1, 1, 1, 1, 1, 1, 0, d.one, parameters, NULL), 0);
    EQUAL(t, d.d->stream_synchronize(d.one), CUDA_LAUNCH_FAILED);
    CHECK(t, strstr(sim_message(), "sim_order") && strstr(sim_message(), "--device sim:1"));
    EQUAL(t, sim_failures(), failures + 1);
    EQUAL(t, d.d->stream_synchronize(d.two), CUDA_LAUNCH_FAILED);
    EQUAL(t, d.d->mem_alloc(&p, 64), CUDA_LAUNCH_FAILED);
    EQUAL(t, d.d->error_name(CUDA_LAUNCH_FAILED, &name), 0);
    EQUAL(t, strcmp(name, "CUDA_ERROR_LAUNCH_FAILED"), 0);
    fprintf(stderr, "(and one leak)\n");
    device_end(t, &d);
    EQUAL(t, sim_leaks(NULL), 1);
    d = device_begin(t, 1);
    EQUAL(t, d.d->mem_alloc(&p, 64), 0);
    EQUAL(t, d.d->memset_d8_async(p, 0, 64, d.one), 0);
    EQUAL(t, d.d->stream_synchronize(d.one), 0);
    EQUAL(t, d.d->mem_free(p), 0);
    EQUAL(t, d.d->mem_free(p), CUDA_INVALID_VALUE);
    device_end(t, &d);
    EQUAL(t, sim_leaks(NULL), 0);
}

static void options(struct test *t)
{
    const char *why = NULL;
    int v;
    static const char *const bad[] = {
        "x", "1,schedule=fair", "1,arch", "1,sm=0", "1,colour=red", "1,bytes=many", "1 2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why = NULL;
        CHECKF(t, !sim_open(bad[i], &why) && why && *why, "\"%s\" was taken", bad[i]);
    }
    const struct cuda_driver *d = sim_open("7,arch=80,sm=3,schedule=pct,memory=strong,bytes=1000000", &why);
    REQUIREF(t, d != NULL, "%s", why);
    EQUAL(t, d->device_attribute(&v, CUDA_ATTRIBUTE_MAJOR, 0), 0);
    EQUAL(t, v, 8);
    EQUAL(t, d->device_attribute(&v, CUDA_ATTRIBUTE_MULTIPROCESSORS, 0), 0);
    EQUAL(t, v, 3);
    REQUIRE(t, sim_open(strchr(t->device, ':') ? strchr(t->device, ':') + 1 : "", &why) != NULL);
}

#define ON_SIM (TEST_ON_SIM | TEST_NO_CONTEXT)
const struct test_case test_cases[] = {{"words", words, ON_SIM},
                                       {"collectives", collectives, ON_SIM},
                                       {"shared_memory", shared_memory, ON_SIM},
                                       {"watchdogs", watchdogs, ON_SIM},
                                       {"freed_memory", freed_memory, ON_SIM},
                                       {"lock", lock, ON_SIM},
                                       {"replay", replay, ON_SIM},
                                       {"search", search, ON_SIM},
                                       {"search_ends", search_ends, ON_SIM},
                                       {"search_memory", search_memory, ON_SIM},
                                       {"streams", streams, ON_SIM},
                                       {"sticky_errors", sticky_errors, ON_SIM},
                                       {"options", options, ON_SIM},
                                       {NULL, NULL, 0}};
