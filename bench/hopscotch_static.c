/* hopscotch_static.c: tables that are built in one batch and then read, all with a power of two of slots
 * of which 0.8 are taken: LINES and pages of 32/32, and the rivals. On a CPU these are hopscotch_rivals.c,
 * on a GPU a program of their own, bench/peers/peer_rivals.cu, whose rows stand among ours. Every value that
 * is retrieved is checked. Rows tell how many sectors of its table a GPU touches, too. */
#include "hopscotch.h"
#include "hopscotch_rivals.h"
#include "sectors.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 10 };

typedef struct statics {
    const hop_plan *plan;
    uint64_t n;
    unsigned log;
    columns c;
    const void *asked; /* of c: what is retrieved */
    cohort_map *map;   /* or */
    rival *rival;
} statics;

/* What is done with a table, by the numbers of sectors.h. */
static const struct {
    const char *name, *keys;
} operations[SECTORS_KINDS] = {
    {"static build", "distinct"}, {"static retrieve", "all there"}, {"static absent", "none there"}};

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
    const uint32_t none = 0;
    return cohort_map_find(s->map, s->n, s->asked, s->c.results, &none, NULL);
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
    s->rival->seed = 0;
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
    rival_retrieve(s->rival, s->n, s->asked, s->c.results);
    return COHORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* What all rows of a table have. bytes: of the table. */
static void row_fill(const statics *s, bench_row *row, const char *variant, int operation, uint64_t bytes)
{
    row->n = s->n;
    row->load = 0.8;
    snprintf(row->variant, sizeof row->variant, "%s", variant);
    /* A pair goes in by a compare-and-swap, but into pages by whole pages. */
    const int swaps = operation == SECTORS_BUILD && strcmp(variant, "pages") != 0;
    bench_row_limit(&s->plan->b->dev, row, swaps ? 'C' : 'R', bytes);
    bench_extra_set(row, "bytes a pair", (double)bytes / (double)s->n);
    for (size_t i = 0; i < sizeof sectors_told / sizeof *sectors_told; i++)
        if (!strcmp(sectors_told[i].variant, variant))
            bench_extra_set(row, BENCH_SECTORS, sectors_told[i].an_operation[operation]);
}

/* What is retrieved has other results before: those of keys that are absent are 0. */
static cohort_status results_soil(const statics *s)
{
    const void *other = s->asked == s->c.queries ? s->c.absent : s->c.queries;
    return cohort_copy(s->plan->b->dev.context, s->c.results, other, s->n * 4);
}

/* NULL: right. Values are keys here: columns_make. */
static const char *results_wrong(const statics *s)
{
    cohort_context *context = s->plan->b->dev.context;
    const int there = s->asked == s->c.queries;
    uint32_t *got = malloc(s->n * 4), *due = malloc(s->n * 4);
    const char *wrong = NULL;
    if (!got || !due || cohort_copy(context, got, s->c.results, s->n * 4) ||
        cohort_copy(context, due, s->c.queries, s->n * 4) || cohort_wait(context))
        wrong = "no memory to check it";
    for (uint64_t i = 0; i < s->n && !wrong; i++)
        if (got[i] != (there ? due[i] : 0))
            wrong = "a value";
    free(got);
    free(due);
    return wrong;
}

static int row_measure(statics *s, const char *variant, int operation, uint64_t bytes, bench_job job,
                       fault *fault)
{
    bench *b = s->plan->b;
    bench_row row =
        bench_row_make(b, "static", operations[operation].name, "32/32", operations[operation].keys);
    double seconds[BENCH_RUNS_MOST];
    row_fill(s, &row, variant, operation, bytes);
    s->asked = operation == SECTORS_ABSENT ? s->c.absent : s->c.queries;
    cohort_status soiled = operation == SECTORS_BUILD ? COHORT_OK : results_soil(s);
    if (soiled)
        return bench_fault(b, soiled, "bench hopscotch: results", fault);
    if (bench_time(b, &row, &job, seconds, fault))
        return fault->status;
    const char *wrong = operation == SECTORS_BUILD ? NULL : results_wrong(s);
    return wrong
               ? hop_wrong(&row, wrong, fault)
               : bench_add_times(b, &row, job.items * (job.repeat ? job.repeat : 1), seconds, b->runs, fault);
}

/* What is over too soon is repeated; on a GPU as often as peers' programs do it. */
static unsigned repeats(const bench *b, uint64_t n)
{
    const uint64_t enough = b->dev.cpu ? 1u << 18 : 1u << 23, times = n >= enough ? 1 : enough / n;
    return b->dev.cpu || times < 64 ? (unsigned)times : 64;
}

static int all_measure(statics *s, const char *variant, uint64_t bytes, const bench_work work[3],
                       fault *fault)
{
    bench_job build = {work[0], work[1], s, (double)s->n, 1, 0},
              retrieve = {NULL, work[2], s, (double)s->n, repeats(s->plan->b, s->n), 0};
    int status = row_measure(s, variant, SECTORS_BUILD, bytes, build, fault);
    for (int operation = SECTORS_RETRIEVE; operation < SECTORS_KINDS && !status; operation++)
        status = row_measure(s, variant, operation, bytes, retrieve, fault);
    return status;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

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
                      : all_measure(s, hop_layout_name(layout), stats.table_bytes, work, fault);
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
    int status = all_measure(s, rival_names[kind], UINT64_C(8) << s->log, work, fault);
    rival_free(&r);
    return status;
}

/* A row of the program's becomes one of ours. */
static int program_row(const statics *s, bench_row row, fault *fault)
{
    int operation = 0;
    while (operation < SECTORS_KINDS && strcmp(row.name, operations[operation].name))
        operation++;
    if (operation == SECTORS_KINDS || row.n != s->n)
        return CLI_OK;
    char variant[sizeof row.variant];
    snprintf(variant, sizeof variant, "%.*s", (int)sizeof variant - 1, row.peer);
    *row.peer = *row.version = *row.date = *row.machine = 0;
    row_fill(s, &row, variant, operation, UINT64_C(8) << s->log);
    return bench_add(s->plan->b, &row, fault);
}

/* The rivals on a GPU. *there: 0 where the program is not there, or has failed. */
static int program_measure(const statics *s, int *there, fault *fault)
{
    bench *b = s->plan->b;
    const size_t before = b->peers.count;
    char n[32], runs[32];
    snprintf(n, sizeof n, "%llu", (unsigned long long)s->n);
    snprintf(runs, sizeof runs, "%llu", (unsigned long long)b->runs);
    const char *arguments[] = {"--device", "cuda", "--n", n, "--width", "32/32", "--runs", runs, NULL};
    int status = bench_peer_run(b, s->plan->peers, "peer_rivals", "static", arguments, fault);
    const size_t after = b->peers.count;
    *there = after > before;
    b->peers.count = before; /* they are no peers beside our rows */
    for (size_t i = before; i < after && !status; i++)
        status = program_row(s, b->peers.row[i], fault);
    if (!*there && !status)
        bench_say(b, "no figures of peer_rivals, the linear, quadratic and cuckoo tables on a GPU (it needs "
                     "nvcc, and a new build)");
    return status;
}

static int rivals_measure(statics *s, int *program, fault *fault)
{
    int status = CLI_OK;
    if (!s->plan->b->dev.cpu)
        return *program ? program_measure(s, program, fault) : CLI_OK;
    for (int kind = 0; kind < RIVALS && !status; kind++)
        status = rival_measure(s, (rival_kind)kind, fault);
    return status;
}

static int size_measure(const hop_plan *plan, unsigned log, int *program, fault *fault)
{
    statics s = {.plan = plan, .n = (UINT64_C(4) << log) / 5, .log = log};
    cohort_status made = columns_make(&plan->b->dev, &s.c, s.n, 4);
    int status = made ? bench_fault(plan->b, made, "bench hopscotch: columns of keys", fault) : CLI_OK;
    if (!status && plan->lines)
        status = map_measure(&s, COHORT_LAYOUT_LINES, fault);
    if (!status && plan->pages)
        status = map_measure(&s, COHORT_LAYOUT_PAGES, fault);
    if (!status)
        status = rivals_measure(&s, program, fault);
    columns_free(&plan->b->dev, &s.c);
    return status;
}

int hop_static(const hop_plan *plan, fault *fault)
{
    const unsigned first = 10,
                   last = plan->quick        ? 13
                          : plan->b->dev.cpu ? 24
                                             : 26,
                   step = plan->quick ? 1 : 2;
    int status = CLI_OK, program = plan->peers != NULL;
    if (!plan->statics) {
        bench_say(plan->b, "static: left out: a pair is one word there, of 32/32");
        return CLI_OK;
    }
    for (unsigned log = first; log <= last && !status; log += step)
        status = size_measure(plan, log, &program, fault);
    return status;
}
