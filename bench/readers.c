/* readers.c: one map, or one multimap, looked up by 1, 2, 4, ... threads at once, each by a reader of its
 * own.
 *
 * Each reader belongs to a context of one thread and takes an equal share of the queries; a round is over
 * when the last one is done. The rounds of 1, 2, 4, ... readers follow each other in turn, and so do the
 * limits of as many threads, so that a machine that others use meanwhile disturbs all of them alike. `gain`
 * is the median, over the rounds, of what so many readers do against one; `gain of R` is the same of the
 * machine's random reads. */
#include "map.h"

#include <string.h>

#include "../cli/parallel.h"

enum { READERS_MOST = 16, STEPS_MOST = 5, RUNS_USUAL = 9 };

typedef struct reader {
    cohort_context *context;
    cohort_map *map;
    cohort_multimap *multimap;
    cohort_status status;
} reader;

typedef struct readers_bench {
    map_bench m;
    cohort_multimap *multimap; /* what is read instead of m.map if it is there */
    reader reader[READERS_MOST];
    unsigned count; /* readers that are there */
    unsigned steps[STEPS_MOST], step_count;
    double seconds[STEPS_MOST][BENCH_RUNS_MOST], limit[STEPS_MOST][BENCH_RUNS_MOST];
} readers_bench;

/* ---- the readers --------------------------------------------------------------------------------------- */

/* The list stays in its order. */
static double median_of(const double *list, uint64_t n)
{
    double sorted[BENCH_RUNS_MOST];
    memcpy(sorted, list, n * sizeof *sorted);
    return bench_median(sorted, n);
}

/* 1, 2, 4, ... and as many as the device has threads. */
static void steps_make(readers_bench *r)
{
    uint64_t most = r->m.b->dev.info.threads;
    most = most > READERS_MOST ? READERS_MOST : most;
    for (uint64_t n = 1; n < most && r->step_count < STEPS_MOST - 1; n *= 2)
        r->steps[r->step_count++] = (unsigned)n;
    r->steps[r->step_count++] = (unsigned)most;
}

static int readers_open(readers_bench *r, fault *fault)
{
    int status = CLI_OK;
    unsigned most = r->steps[r->step_count - 1];
    for (r->count = 0; r->count < most && !status; r->count++) {
        reader *one = &r->reader[r->count];
        status = context_open(&one->context, "cpu", 1, NULL, 0, fault);
        if (status)
            break;
        cohort_status s = r->multimap ? cohort_multimap_reader(r->multimap, one->context, &one->multimap)
                                      : cohort_map_reader(r->m.map, one->context, &one->map);
        status = s ? bench_fault(r->m.b, s, "bench map: readers", fault) : CLI_OK;
    }
    return status;
}

static void readers_close(readers_bench *r)
{
    for (unsigned i = 0; i < READERS_MOST; i++) {
        cohort_map_destroy(r->reader[i].map);
        cohort_multimap_destroy(r->reader[i].multimap);
        cohort_context_destroy(r->reader[i].context);
    }
    memset(r->reader, 0, sizeof r->reader);
    r->count = 0;
}

static void share_find(void *user, unsigned share, unsigned shares)
{
    readers_bench *r = user;
    reader *one = &r->reader[share];
    uint64_t first = parallel_first(r->m.c.n, share, shares);
    uint64_t n = parallel_first(r->m.c.n, share + 1, shares) - first;
    const char *keys = (const char *)r->m.ask + first * r->m.width->key;
    char *values = (char *)r->m.c.results + first * r->m.width->value;
    one->status = r->multimap ? cohort_multimap_find(one->multimap, n, keys, values, NULL, NULL)
                              : cohort_map_find(one->map, n, keys, values, NULL, NULL);
    if (!one->status)
        one->status = cohort_wait(one->context);
}

static int find_once(readers_bench *r, unsigned readers, double *seconds, fault *fault)
{
    double start = seconds_now();
    parallel_run(readers, share_find, r);
    *seconds = seconds_now() - start;
    for (unsigned i = 0; i < readers; i++)
        if (r->reader[i].status)
            return fault_library(fault, r->reader[i].status, r->reader[i].context, "bench map: readers");
    return CLI_OK;
}

/* Random reads a second of so many threads, from a table as large as the map's. */
static int limit_once(readers_bench *r, unsigned threads, double *limit, fault *fault)
{
    bench_device d;
    bench_row row = {.name = ""};
    int status = bench_device_open(&d, "cpu", threads, 1, map_table_bytes(&r->m), fault);
    if (!status)
        bench_row_limit(&d, &row, 'R', map_table_bytes(&r->m));
    *limit = row.limit;
    bench_device_close(&d);
    return status;
}

/* ---- the rows ------------------------------------------------------------------------------------------ */

static int step_row(readers_bench *r, unsigned step, const char *keys, fault *fault)
{
    bench_row row = map_row(&r->m, r->multimap ? "multimap readers find" : "readers find", keys);
    uint64_t runs = r->m.b->runs;
    double gain[BENCH_RUNS_MOST], gain_of_limit[BENCH_RUNS_MOST], seconds[BENCH_RUNS_MOST];
    for (uint64_t i = 0; i < runs; i++) {
        gain[i] = r->seconds[0][i] / r->seconds[step][i];
        gain_of_limit[i] = r->limit[0][i] > 0 ? r->limit[step][i] / r->limit[0][i] : 0;
    }
    row.threads = r->steps[step];
    row.limit = median_of(r->limit[step], runs);
    snprintf(row.limit_name, sizeof row.limit_name, "R");
    if (step) {
        bench_extra_set(&row, "gain", median_of(gain, runs));
        bench_extra_set(&row, "gain of R", median_of(gain_of_limit, runs));
    }
    memcpy(seconds, r->seconds[step], sizeof seconds);
    return bench_add_times(r->m.b, &row, (double)r->m.c.n, seconds, runs, fault);
}

static int limits_measure(readers_bench *r, fault *fault)
{
    int status = CLI_OK;
    for (uint64_t run = 0; run < r->m.b->runs && !status; run++)
        for (unsigned step = 0; step < r->step_count && !status; step++)
            status = limit_once(r, r->steps[step], &r->limit[step][run], fault);
    return status;
}

static int keys_measure(readers_bench *r, const char *keys, const void *ask, fault *fault)
{
    double warm;
    r->m.ask = ask;
    int status = find_once(r, 1, &warm, fault);
    for (uint64_t run = 0; run < r->m.b->runs && !status; run++)
        for (unsigned step = 0; step < r->step_count && !status; step++)
            status = find_once(r, r->steps[step], &r->seconds[step][run], fault);
    for (unsigned step = 0; step < r->step_count && !status; step++)
        status = step_row(r, step, keys, fault);
    return status;
}

static int subject_measure(readers_bench *r, fault *fault)
{
    int status = readers_open(r, fault);
    if (!status)
        status = keys_measure(r, "all there", r->m.c.queries, fault);
    if (!status)
        status = keys_measure(r, "none there", r->m.c.absent, fault);
    readers_close(r);
    return status;
}

static int both_measure(readers_bench *r, fault *fault)
{
    const bench_device *d = &r->m.b->dev;
    cohort_multimap_options o = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_status s = columns_make(d, &r->m.c, r->m.c.n, r->m.width->key);
    if (!s)
        s = map_open(&r->m, COHORT_PROBE_DOUBLE, 0);
    int status = s ? bench_fault(r->m.b, s, "bench map: readers", fault) : limits_measure(r, fault);
    if (!status)
        status = subject_measure(r, fault);
    cohort_map_destroy(r->m.map);
    r->m.map = NULL;
    o.width = r->m.width->width;
    o.max_load = r->m.load;
    if (!status) {
        s = cohort_multimap_build(d->context, &o, r->m.c.n, r->m.c.keys, r->m.c.values, NULL, &r->multimap);
        status = s ? bench_fault(r->m.b, s, "bench map: readers", fault) : subject_measure(r, fault);
    }
    cohort_multimap_destroy(r->multimap);
    columns_free(d, &r->m.c);
    return status;
}

int map_readers(const map_plan *plan, fault *fault)
{
    bench *b = plan->b;
    uint64_t runs = b->runs;
    int status = CLI_OK;
    if (!b->dev.cpu) {
        bench_say(b, "readers: this experiment is the CPU's (--device cpu)");
        return CLI_OK;
    }
    if (!b->options->runs && !plan->quick)
        b->runs = RUNS_USUAL;
    for (size_t w = 0; w < plan->width_count && !status; w++) {
        const width_name *width = plan->width[w];
        readers_bench r = {.m = {.b = b, .plan = plan, .experiment = "readers", .width = width}};
        r.m.c.n = map_n(plan, 1u << 24, 1u << 18);
        r.m.load = plan->load_given ? plan->load[0] : 0.8;
        steps_make(&r);
        if (width->value && (plan->width_given || width->width == COHORT_WIDTH_64_64))
            status = both_measure(&r, fault);
    }
    b->runs = runs;
    return status;
}
