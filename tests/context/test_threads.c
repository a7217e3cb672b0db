/* test_threads.c: the workers of a CPU context. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <pthread.h>
#include <sched.h>

#include "test.h"
#include "cpu/cpu.h"
#include "cpu/system.h"

struct visits {
    unsigned *count; /* of each index */
    uint64_t n, grain;
    unsigned threads, busy[64];
    unsigned wrong;
};

static void visit(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct visits *v = arg;
    int wrong = begin % v->grain || begin >= end || end > v->n || (end < v->n && end % v->grain) ||
                worker >= v->threads;
    wrong = wrong || __atomic_exchange_n(&v->busy[worker], 1, __ATOMIC_RELAXED);
    for (uint64_t i = begin; i < end && !wrong; i++)
        v->count[i]++;
    if (wrong)
        __atomic_add_fetch(&v->wrong, 1, __ATOMIC_RELAXED);
    else
        __atomic_store_n(&v->busy[worker], 0, __ATOMIC_RELAXED);
}

static cohort_context *with_threads(struct test *t, uint64_t threads)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *context;
    options.threads = threads;
    OK(t, cohort_context_create(&options, &context));
    return context;
}

/* Each index once, with what was written before seen inside and after. */
static void share_work(struct test *t, cohort_context *context, uint64_t n, uint64_t grain)
{
    struct visits v = {.count = calloc(n + 1, sizeof *v.count), .n = n, .grain = grain};
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    OK(t, cohort_context_get_info(context, &info));
    v.threads = (unsigned)info.threads;
    REQUIRE(t, v.count);
    for (int again = 0; again < 3; again++)
        cpu_parallel(context, n, grain, visit, &v);
    uint64_t right = 0;
    for (uint64_t i = 0; i < n; i++)
        right += v.count[i] == 3;
    CHECKF(t, right == n && !v.wrong, "n = %llu, grain = %llu, %u threads: %llu right, %u wrong",
           (unsigned long long)n, (unsigned long long)grain, v.threads, (unsigned long long)right, v.wrong);
    free(v.count);
}

static void shares_work(struct test *t)
{
    static const uint64_t threads[] = {1, 2, 3, 8, 33}, sizes[] = {0, 1, 31, 32, 33, 1000, 65537},
                          grains[] = {1, 7, 32, 1024, 1 << 20};
    for (int i = 0; i < 5; i++) {
        cohort_context *context = with_threads(t, threads[i]);
        for (int j = 0; j < 7; j++)
            for (int k = 0; k < 5; k++)
                share_work(t, context, sizes[j], grains[k]);
        cohort_context_destroy(context);
    }
}

static void add(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    (void)worker;
    __atomic_add_fetch((uint64_t *)arg, end - begin, __ATOMIC_RELAXED);
}

/* Many short jobs, some of them after the workers have gone to sleep. */
static void does_short_jobs(struct test *t)
{
    cohort_context *context = with_threads(t, 4);
    uint64_t sum = 0, due = 0, jobs = test_scale(t, 2000, 20000, 20000);
    for (uint64_t i = 0; i < jobs; i++) {
        uint64_t n = 1 + i % 9;
        cpu_parallel(context, n, 1, add, &sum);
        due += n;
        if (sum != due)
            break;
    }
    EQUAL(t, sum, due);
    cohort_context_destroy(context);
}

static void *work_alone(void *arg)
{
    cohort_context *context = arg;
    uint64_t sum = 0;
    for (int i = 0; i < 300; i++)
        cpu_parallel(context, 1000, 10, add, &sum);
    return sum == 300000 ? NULL : context;
}

/* Contexts, each in its own thread, do not get in each other's way. */
static void works_beside_others(struct test *t)
{
    enum { CONTEXTS = 3 };
    pthread_t threads[CONTEXTS];
    cohort_context *contexts[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++) {
        contexts[i] = with_threads(t, 3);
        REQUIRE(t, !pthread_create(&threads[i], NULL, work_alone, contexts[i]));
    }
    for (int i = 0; i < CONTEXTS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(t, !wrong);
        cohort_context_destroy(contexts[i]);
    }
}

/* A context may be handed from thread to thread. */
static void changes_hands(struct test *t)
{
    cohort_context *context = with_threads(t, 3);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *wrong;
        REQUIRE(t, !pthread_create(&thread, NULL, work_alone, context));
        pthread_join(thread, &wrong);
        CHECK(t, !wrong);
    }
    cohort_context_destroy(context);
}

static void counts_cores(struct test *t)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_context *context = with_threads(t, 0);
    OK(t, cohort_context_get_info(context, &info));
    EQUAL(t, info.threads, system_cores() < 1024 ? system_cores() : 1024);
    cohort_context_destroy(context);
    context = with_threads(t, 1024); /* the most; none is started before there is work */
    OK(t, cohort_context_get_info(context, &info));
    EQUAL(t, info.threads, 1024);
    cohort_context_destroy(context);
}

/* Who may run on one core alone has one. */
static void counts_own_cores(struct test *t)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cpu_set_t all, one;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof all, &all))
        test_skip(t, "more cores than this test knows");
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    REQUIRE(t, !sched_setaffinity(0, sizeof one, &one));
    unsigned cores = system_cores();
    cohort_context *context = with_threads(t, 0);
    REQUIRE(t, !sched_setaffinity(0, sizeof all, &all));
    OK(t, cohort_context_get_info(context, &info));
    EQUAL(t, cores, 1);
    EQUAL(t, info.threads, 1);
    cohort_context_destroy(context);
}

const struct test_case test_cases[] = {
    {"shares work", shares_work, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"does short jobs", does_short_jobs, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"works beside others", works_beside_others, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"changes hands", changes_hands, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"counts cores", counts_cores, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"counts own cores", counts_own_cores, TEST_NO_CONTEXT | TEST_ON_CPU},
    {NULL, NULL, 0},
};
