/* cpu/map.c: which maps a CPU offers, walks over all slots of a table, and the table of what it does for
 * maps. */
#include "combine.h"
#include "map.h"

static int cpu_map_offers(cohort_context *context, co_u32 width, co_u32 group)
{
    (void)context;
    return width >= COHORT_WIDTH_32_0 && width <= COHORT_WIDTH_64_64 && group <= 1;
}

static int cpu_map_runs(cohort_context *context, co_u32 width)
{
    return cpu_map_offers(context, width, 0);
}

struct sweep_job {
    const struct map_sweep *sweep;
    enum map_sweep_kind kind;
    const struct cpu_map_loops *loops;
    int alone;
};

static void sweep_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sweep_job *job = arg;
    (void)worker;
    for (uint64_t from = begin, to; from < end; from = to) {
        to = end - from < CPU_SWEEP_GRAIN ? end : from + CPU_SWEEP_GRAIN;
        job->loops->sweep[job->sweep->view.width](job->sweep, job->kind, from, to, job->alone);
    }
}

static cohort_status cpu_map_sweep(cohort_context *context, const struct map_sweep *sweep,
                                   enum map_sweep_kind kind)
{
    struct sweep_job job = {sweep, kind, cpu_map_loops(context),
                            cpu_is_alone(context, sweep->slots, CPU_SWEEP_GRAIN)};
    cpu_parallel(context, sweep->slots, CPU_SWEEP_GRAIN, sweep_range, &job);
    return COHORT_OK;
}

const struct map_backend cpu_map_backend = {
    .keeps_order = 1,
    .offers = cpu_map_offers,
    .runs = cpu_map_runs,
    .batch = cpu_map_batch,
    .pages = cpu_map_pages,
    .sweep = cpu_map_sweep,
    .combine = &cpu_combine_ways,
};
