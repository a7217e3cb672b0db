/* cpu/lines.c: which maps of LINES a CPU offers, walks over all homes of a table, and the table of what it
 * does for these maps. */
#include "combine.h"
#include "lines.h"

static int cpu_lines_offers(cohort_context *context, co_u32 width, co_u32 group)
{
    (void)context;
    return cpu_lines_loops(width) != NULL && group == 0;
}

/* There is no way by pages. */
static cohort_status cpu_lines_pages(cohort_context *context, const struct map_batch *batch, int fresh,
                                     struct arena *arena)
{
    return (void)context, (void)batch, (void)fresh, (void)arena, COHORT_OK;
}

struct sweep_job {
    const struct map_sweep *sweep;
    enum map_sweep_kind kind;
    int alone;
};

static void sweep_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sweep_job *job = arg;
    (void)worker;
    for (uint64_t from = begin, to; from < end; from = to) {
        to = end - from < CPU_LINES_GRAIN ? end : from + CPU_LINES_GRAIN;
        cpu_lines_loops(job->sweep->view.width)->sweep(job->sweep, job->kind, from, to, job->alone);
    }
}

static cohort_status cpu_lines_sweep(cohort_context *context, const struct map_sweep *sweep,
                                     enum map_sweep_kind kind)
{
    const uint64_t homes = sweep->view.pages;
    struct sweep_job job = {sweep, kind, cpu_is_alone(context, homes, CPU_LINES_GRAIN)};
    cpu_parallel(context, homes, CPU_LINES_GRAIN, sweep_range, &job);
    return COHORT_OK;
}

const struct lines_backend cpu_lines_backend = {.map = {
                                                    .keeps_order = 1,
                                                    .offers = cpu_lines_offers,
                                                    .batch = cpu_lines_batch,
                                                    .pages = cpu_lines_pages,
                                                    .sweep = cpu_lines_sweep,
                                                    .combine = &cpu_combine_ways,
                                                }};
