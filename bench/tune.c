/* tune.c: what the map's kernels on a GPU are tuned by, and what it is worth.
 *
 * A context takes the grids of its kernels from the library's table, or from COHORT_MAP_TUNING in the
 * environment when it is made. So each candidate gets a context of its own, on the columns of the bench's.
 * --tune tries blocks of 64 to 256 threads and 8 blocks a multiprocessor to as many as there are entries,
 * takes for lookups and for changes the one whose product of rates over all widths and loads is the greatest,
 * and prints the row of src/cuda/tuning.c. */
#include "map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_BLOCKS 1048576u /* a multiprocessor: more than any batch has */

typedef struct candidate {
    unsigned block, blocks, relaxed;
    double find, insert; /* sums of the logarithms of rates */
} candidate;

/* ---- one candidate ------------------------------------------------------------------------------------- */

static int measure(map_bench *m, const char *name, const candidate *c, int finds, double *sum, fault *fault)
{
    bench *b = m->b;
    bench_row row = map_row(m, name, finds ? "all there" : "any wins");
    bench_job job = {finds ? NULL : work_clear, finds ? work_find : work_insert, m, (double)m->c.n, 1, 0};
    if (strcmp(m->experiment, "loads") == 0) {
        snprintf(row.variant, sizeof row.variant, "%s loads", c->relaxed ? "relaxed" : "plain");
    } else {
        snprintf(row.variant, sizeof row.variant, "%u threads", c->block);
        snprintf(row.at_name, sizeof row.at_name, "blocks");
        row.at = c->blocks;
    }
    bench_row_limit(&b->dev, &row, finds ? 'R' : 'C', map_table_bytes(m));
    int status = bench_measure(b, &row, &job, fault);
    if (!status)
        *sum += log(b->rows.row[b->rows.count - 1].median);
    return status;
}

/* Find, and insert if `changes`, at every load, in a context of the candidate's own. */
static int try_candidate(map_bench *m, candidate *c, int changes, fault *fault)
{
    char text[80];
    bench *b = m->b;
    const bench_device kept = b->dev;
    snprintf(text, sizeof text, "%u,%u,%u,%u,%u", c->block, c->blocks, c->block, c->blocks, c->relaxed);
    cohort_status s = cohort_wait(kept.context);
    if (s)
        return bench_fault(b, s, "bench map: tuning", fault);
    setenv("COHORT_MAP_TUNING", text, 1);
    int status = bench_device_open(&b->dev, b->options->device, b->options->threads, 0, 0, fault);
    unsetenv("COHORT_MAP_TUNING");
    b->dev.limits = kept.limits;
    for (size_t l = 0; l < m->plan->load_count && !status; l++) {
        m->load = m->plan->load[l];
        status = map_opened(m, map_open(m, COHORT_PROBE_DOUBLE, 0), "bench map: tuning", fault);
        if (m->map && !status)
            status = measure(m, "map find", c, 1, &c->find, fault);
        if (m->map && !status && changes)
            status = measure(m, "map insert", c, 0, &c->insert, fault);
        cohort_map_destroy(m->map);
        m->map = NULL;
    }
    bench_device_close(&b->dev);
    b->dev = kept;
    return status;
}

/* Every candidate at every width that has values. */
static int try_all(const map_plan *plan, const char *experiment, candidate *c, size_t count, int changes,
                   fault *fault)
{
    int status = CLI_OK;
    for (size_t w = 0; w < plan->width_count && !status; w++) {
        map_bench m = {.b = plan->b,
                       .plan = plan,
                       .experiment = experiment,
                       .width = plan->width[w],
                       .batch = {.size = sizeof(cohort_batch), .one_by_one = 1}};
        if (!m.width->value)
            continue;
        cohort_status s = columns_make(&plan->b->dev, &m.c, map_n(plan, 1u << 27, 1u << 26), m.width->key);
        status = s ? bench_fault(plan->b, s, "bench map: columns of keys", fault) : CLI_OK;
        m.ask = m.c.queries;
        for (size_t i = 0; i < count && !status; i++)
            status = try_candidate(&m, &c[i], changes, fault);
        columns_free(&plan->b->dev, &m.c);
    }
    return status;
}

static int on_gpu(const map_plan *plan, const char *what)
{
    if (plan->b->dev.cpu)
        bench_say(plan->b, "left out: %s, which is a matter of GPUs", what);
    return !plan->b->dev.cpu;
}

/* ---- the experiments ----------------------------------------------------------------------------------- */

int map_loads(const map_plan *plan, fault *fault)
{
    candidate c[] = {{256, ALL_BLOCKS, 0, 0, 0}, {256, ALL_BLOCKS, 1, 0, 0}};
    return on_gpu(plan, "plain beside relaxed loads") ? try_all(plan, "loads", c, 2, 0, fault) : CLI_OK;
}

int map_tune(const map_plan *plan, fault *fault)
{
    static const unsigned threads[] = {64, 128, 256}, blocks[] = {8, 32, 64, 128, 256, 512, ALL_BLOCKS};
    enum { THREADS = sizeof threads / sizeof *threads, BLOCKS = sizeof blocks / sizeof *blocks };
    candidate c[THREADS * BLOCKS] = {{0}};
    if (!on_gpu(plan, "tuning"))
        return CLI_OK;
    for (size_t i = 0; i < THREADS * BLOCKS; i++) {
        c[i].block = threads[i / BLOCKS];
        c[i].blocks = blocks[i % BLOCKS];
    }
    int status = try_all(plan, "tune", c, THREADS * BLOCKS, 1, fault);
    const candidate *find = c, *insert = c;
    for (size_t i = 1; i < THREADS * BLOCKS; i++) {
        find = c[i].find > find->find ? &c[i] : find;
        insert = c[i].insert > insert->insert ? &c[i] : insert;
    }
    if (!status)
        bench_say(plan->b, "the row of src/cuda/tuning.c:\n    {\"cuda\", %u, %u, %u, %u, %u, 0},",
                  (unsigned)plan->b->dev.info.architecture, find->block, find->blocks, insert->block,
                  insert->blocks);
    return status;
}
