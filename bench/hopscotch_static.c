/* hopscotch_static.c: tables that are built in one batch and then read, all with a power of two of slots
 * of which 0.8 are taken: LINES and pages of 32/32, and the rivals. Every value that is retrieved is
 * checked. */
#include "hopscotch.h"
#include "hopscotch_rivals.h"

#include <string.h>

enum { TRIES = 10 };

typedef struct statics {
    const hop_plan *plan;
    uint64_t n;
    unsigned log;
    columns c;
    cohort_map *map; /* or */
    rival *rival;
} statics;

static cohort_status map_clear(void *arg)
{
    return cohort_map_clear(((statics *)arg)->map);
}

static cohort_status map_build(void *arg)
{
    statics *s = arg;
    return cohort_map_insert(s->map, s->n, s->c.keys, s->c.values, NULL);
}

static cohort_status map_retrieve(void *arg)
{
    statics *s = arg;
    return cohort_map_find(s->map, s->n, s->c.queries, s->c.results, NULL, NULL);
}

static cohort_status rival_empty(void *arg)
{
    rival_clear(((statics *)arg)->rival);
    return COHORT_OK;
}

/* One that finds no place begins anew; that is part of its time. */
static cohort_status rival_fill(void *arg)
{
    statics *s = arg;
    for (int i = 0; i < TRIES; i++) {
        if (rival_build(s->rival, s->n, s->c.keys, s->c.values))
            return COHORT_OK;
        rival_clear(s->rival);
    }
    return COHORT_FULL;
}

static cohort_status rival_read(void *arg)
{
    statics *s = arg;
    rival_retrieve(s->rival, s->n, s->c.queries, s->c.results);
    return COHORT_OK;
}

/* Values are keys here: columns_make. */
static int row_measure(statics *s, const char *variant, int retrieves, uint64_t bytes, bench_job job,
                       fault *fault)
{
    bench *b = s->plan->b;
    bench_row row = bench_row_make(b, "static", retrieves ? "static retrieve" : "static build", "32/32",
                                   retrieves ? "all there" : "distinct");
    double seconds[BENCH_RUNS_MOST];
    row.n = s->n;
    row.load = 0.8;
    snprintf(row.variant, sizeof row.variant, "%s", variant);
    bench_row_limit(&b->dev, &row, 'R', bytes);
    bench_extra_set(&row, "bytes a pair", (double)bytes / (double)s->n);
    if (retrieves)
        memset(s->c.results, 0, s->n * 4);
    if (bench_time(b, &row, &job, seconds, fault))
        return fault->status;
    if (retrieves && memcmp(s->c.results, s->c.queries, s->n * 4))
        return hop_wrong(&row, "a value", fault);
    return bench_add_times(b, &row, job.items * (job.repeat ? job.repeat : 1), seconds, b->runs, fault);
}

/* What is over too soon is repeated. */
static unsigned repeats(uint64_t n)
{
    return n >= 1u << 18 ? 1 : (unsigned)((1u << 18) / n);
}

static int both_measure(statics *s, const char *variant, uint64_t bytes, const bench_work work[3],
                        fault *fault)
{
    bench_job build = {work[0], work[1], s, (double)s->n, 1, 0},
              retrieve = {NULL, work[2], s, (double)s->n, repeats(s->n), 0};
    return row_measure(s, variant, 0, bytes, build, fault)
               ? fault->status
               : row_measure(s, variant, 1, bytes, retrieve, fault);
}

static int map_measure(statics *s, cohort_layout layout, fault *fault)
{
    static const bench_work work[] = {map_clear, map_build, map_retrieve};
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    o.width = COHORT_WIDTH_32_32;
    o.layout = layout;
    o.capacity = s->n;
    o.max_load = 0.8;
    o.fixed = 1;
    cohort_status status = cohort_map_create(s->plan->b->dev.context, &o, &s->map);
    if (!status)
        status = cohort_map_get_stats(s->map, &stats);
    int code = status ? bench_fault(s->plan->b, status, "bench hopscotch: a static map", fault)
                      : both_measure(s, hop_layout_name(layout), stats.table_bytes, work, fault);
    cohort_map_destroy(s->map);
    s->map = NULL;
    return code;
}

static int rival_measure(statics *s, rival_kind kind, fault *fault)
{
    static const bench_work work[] = {rival_empty, rival_fill, rival_read};
    rival r;
    /* A thread that is started for a few pairs costs more than it does. */
    const unsigned threads = s->n >> 17 ? (unsigned)s->plan->b->dev.info.threads : 1;
    if (!rival_make(&r, kind, s->log, threads))
        return fault_set(fault, CLI_FAILED, "no memory for 2^%u slots", s->log);
    s->rival = &r;
    int status = both_measure(s, rival_names[kind], UINT64_C(8) << s->log, work, fault);
    rival_free(&r);
    return status;
}

static int size_measure(const hop_plan *plan, unsigned log, fault *fault)
{
    statics s = {.plan = plan, .n = (UINT64_C(4) << log) / 5, .log = log};
    cohort_status made = columns_make(&plan->b->dev, &s.c, s.n, 4);
    int status = made ? bench_fault(plan->b, made, "bench hopscotch: columns of keys", fault) : CLI_OK;
    if (!status && plan->lines)
        status = map_measure(&s, COHORT_LAYOUT_LINES, fault);
    if (!status && plan->pages)
        status = map_measure(&s, COHORT_LAYOUT_PAGES, fault);
    for (int kind = 0; kind < RIVALS && !status; kind++)
        status = rival_measure(&s, (rival_kind)kind, fault);
    columns_free(&plan->b->dev, &s.c);
    return status;
}

int hop_static(const hop_plan *plan, fault *fault)
{
    const unsigned first = 10, last = plan->quick ? 13 : 24, step = plan->quick ? 1 : 2;
    int status = CLI_OK;
    if (!plan->statics) {
        bench_say(plan->b, "static: left out: a pair is one word there, of 32/32");
        return CLI_OK;
    }
    if (!plan->b->dev.cpu)
        bench_say(plan->b, "static: this experiment is the CPU's (--device cpu)");
    for (unsigned log = first; plan->b->dev.cpu && log <= last && !status; log += step)
        status = size_measure(plan, log, fault);
    return status;
}
