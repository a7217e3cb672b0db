/* limits.c: what this machine's memory can do at most, with all the context's threads.
 *
 * Copies go from one table to another. Random accesses go to hashes of a counter; each line is asked for
 * 32 accesses ahead, so that each thread has as many misses under way as the processor allows all the time. A
 * compare-and-swap reads the word that it expects in the line that it has fetched for writing, so that it
 * succeeds and the line goes back to memory, once each way. Every figure is the median of five runs, each
 * long enough for the clock. */
#include "backend/limits.h"
#include "cpu.h"

#include <stdlib.h>
#include <time.h>

#define RUNS       5
#define AHEAD      32u
#define GRAIN      4096u
#define LEAST_RUN  0.06 /* seconds; of a table of FULL_BYTES and more: smaller ones have as much less */
#define FULL_BYTES (16ull << 20)
#define LEAST_PART 0.1
#define SECTOR     32u
#define LEAST_NEAR 65536ull

struct accesses {
    co_u64 *words;
    uint64_t places; /* sectors, or words */
    double least;    /* seconds that a run takes */
    uint64_t seed;   /* another in each run */
    co_u64 sum;      /* of what was read, so that it is */
};

typedef void access_work(void *arg, uint64_t begin, uint64_t end, unsigned worker);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static co_u64 mix(co_u64 x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* A place below `places`. */
static uint64_t somewhere(const struct accesses *a, uint64_t i)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)mix(i + a->seed) * a->places) >> 64);
}

/* Access i is asked for AHEAD accesses before it is done: the line has come then, and as many are under
 * way. */
#define EACH_ACCESS(TYPE, place, write, body)                                    \
    do {                                                                         \
        TYPE *ring[AHEAD];                                                       \
        for (uint64_t i = begin; i < end + AHEAD; i++) {                         \
            TYPE *p = ring[i % AHEAD];                                           \
            if (i >= begin + AHEAD)                                              \
                body;                                                            \
            if (i < end)                                                         \
                __builtin_prefetch(ring[i % AHEAD] = a->words + (place), write); \
        }                                                                        \
    } while (0)

static void read_sectors(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct accesses *a = arg;
    uint64_t sum = 0;
    (void)worker;
    EACH_ACCESS(const co_u64, somewhere(a, i) * (SECTOR / 8), 0, sum += p[0] ^ p[1] ^ p[2] ^ p[3]);
    co_add64(&a->sum, sum);
}

static void read_words(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct accesses *a = arg;
    uint64_t sum = 0;
    (void)worker;
    EACH_ACCESS(const co_u64, somewhere(a, i), 0, sum += *p);
    co_add64(&a->sum, sum);
}

static void swap_words(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct accesses *a = arg;
    (void)worker;
    EACH_ACCESS(co_u64, somewhere(a, i), 1, {
        co_u64 seen = co_load64(p);
        co_cas64(p, seen, seen + 1);
    });
}

static void fill_words(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct accesses *a = arg;
    (void)worker;
    for (uint64_t i = begin; i < end; i++)
        a->words[i] = mix(i + 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *runs)
{
    qsort(runs, RUNS, sizeof *runs, by_value);
    return runs[RUNS / 2];
}

static double seconds_of(cohort_context *context, struct accesses *a, access_work *work, uint64_t n)
{
    double start = now();
    a->seed = mix(a->seed + 1);
    cpu_parallel(context, n, GRAIN, work, a);
    return now() - start;
}

/* Seconds: enough for the clock, and for a table to leave the caches as it was used. */
static double least_run(uint64_t bytes)
{
    const double part = (double)bytes / (double)FULL_BYTES;
    return LEAST_RUN * (part > 1 ? 1 : part < LEAST_PART ? LEAST_PART : part);
}

/* Accesses a second. */
static double rate(cohort_context *context, struct accesses *a, access_work *work)
{
    double runs[RUNS];
    uint64_t n = 16 * GRAIN;
    double seconds = seconds_of(context, a, work, n);
    while (seconds < a->least) {
        n *= seconds < a->least / 8 ? 8 : 2;
        seconds = seconds_of(context, a, work, n);
    }
    for (int i = 0; i < RUNS; i++)
        runs[i] = (double)n / seconds_of(context, a, work, n);
    return median(runs);
}

/* Bytes a second, read and written. */
static double copy_rate(cohort_context *context, void *to, const void *from, uint64_t bytes, double least)
{
    double runs[RUNS];
    uint64_t times = 1;
    for (;;) {
        double start = now();
        for (uint64_t i = 0; i < times; i++)
            context_copy(context, to, from, bytes);
        if (now() - start >= least)
            break;
        times *= 2;
    }
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (uint64_t i = 0; i < times; i++)
            context_copy(context, to, from, bytes);
        runs[run] = 2.0 * (double)bytes * (double)times / (now() - start);
    }
    return median(runs);
}

static uint64_t cached_bytes(cohort_context *context, uint64_t table_bytes)
{
    uint64_t half = cpu_device(context)->cache_bytes / 2 / SECTOR * SECTOR;
    half = half < LEAST_NEAR ? LEAST_NEAR : half;
    return half < table_bytes ? half : table_bytes;
}

static cohort_status measure(cohort_context *context, co_u64 *table, void *other, cohort_limits *limits)
{
    uint64_t bytes = limits->table_bytes, near = cached_bytes(context, bytes);
    struct {
        access_work *work;
        double *out;
        uint64_t places;
    } const steps[] = {
        {read_sectors, &limits->random_reads_32, bytes / SECTOR},
        {read_words, &limits->random_reads_8, bytes / 8},
        {swap_words, &limits->random_cas_8, bytes / 8},
        {read_sectors, &limits->cached_reads_32, near / SECTOR},
        {swap_words, &limits->cached_cas_8, near / 8},
    };
    const uint64_t count = sizeof steps / sizeof steps[0];
    struct accesses a = {.words = table, .least = least_run(bytes), .seed = 1};
    cpu_parallel(context, bytes / 8, GRAIN, fill_words, &a);
    limits->copy_bytes = copy_rate(context, other, table, bytes, a.least);
    for (uint64_t i = 0; i < count; i++) {
        cohort_status s = context_progress(context, "limits", i, count);
        if (s)
            return s;
        a.places = steps[i].places;
        *steps[i].out = rate(context, &a, steps[i].work);
    }
    return context_progress(context, "limits", count, count);
}

static cohort_status cpu_limits_measure(cohort_context *context, cohort_limits *limits)
{
    void *table, *other;
    limits->table_bytes = limits->table_bytes / SECTOR * SECTOR;
    cohort_status status = system_take(context, limits->table_bytes, &table);
    if (status)
        return status;
    status = system_take(context, limits->table_bytes, &other);
    if (!status) {
        limits->link_to_device = limits->link_from_device = limits->link_both = 0;
        status = measure(context, table, other, limits);
        context_release(context, other, limits->table_bytes);
    }
    context_release(context, table, limits->table_bytes);
    return status;
}

const struct limits_backend cpu_limits_backend = {
    .measure = cpu_limits_measure,
};
