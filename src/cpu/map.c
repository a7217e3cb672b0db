/* cpu/map.c: maps on the host's threads. The protocol is device/map.h, the very one of the kernels; a lane is a thread. */
#include <string.h>

#include "backend.h"
#include "cpu.h"

#define CPU_BATCH_GRAIN 8192 /* entries that a thread takes at a time: a multiple of 32 */
#define CPU_SWEEP_GRAIN 1024 /* slots */
#define CPU_REPORT_GRAIN \
    (1u << 20) /* entries between two reports of a long range: tallies are 32 bits wide */

/* What a range of a batch has to report. */
struct cpu_report {
    co_u64 taken, hits, added, failed, first_full, first_bad;
    co_map_tally tally;
};

static void cpu_report_failure(struct cpu_report *r, co_u64 index, int outcome)
{
    co_u64 *first = outcome == CO_MAP_BAD ? &r->first_bad : &r->first_full;
    *first = index < *first ? index : *first;
    r->failed++;
}

static inline void cpu_report_words(const struct map_batch *b, co_u32 step, co_u64 base, co_u32 hit,
                                    co_u32 failed)
{
    if (step == MAP_STEP_CLAIM || step == MAP_STEP_GET)
        return;
    if (b->hit)
        b->hit[base / 32] = b->join ? b->hit[base / 32] | hit : hit;
    if (b->failed)
        b->failed[base / 32] = failed;
}

static void cpu_report_end(const struct map_batch *b, struct cpu_report *r)
{
    co_map_flush(&b->view, &r->tally);
    if (b->step == MAP_STEP_CLAIM || b->step == MAP_STEP_GET)
        return;
    if (r->first_full != ~0ull)
        co_min64(&b->deferred->first_full, r->first_full);
    if (r->first_bad != ~0ull)
        co_min64(&b->deferred->first_bad, r->first_bad);
    if (!b->counts)
        return;
    co_add64(&b->counts->taken, r->taken);
    co_add64(&b->counts->hits, r->hits);
    co_add64(&b->counts->added, r->added);
    co_add64(&b->counts->failed, r->failed);
    co_min64(&b->counts->first_failed, r->first_full < r->first_bad ? r->first_full : r->first_bad);
}

static void cpu_add_probes(struct map_probes *to, const struct map_probes *from)
{
    co_add64(&to->keys, from->keys);
    co_add64(&to->buckets, from->buckets);
    co_add64(&to->slots, from->slots);
    co_max64(&to->most_buckets, from->most_buckets);
    co_max64(&to->most_slots, from->most_slots);
    for (int i = 0; i < MAP_PROBE_BINS; i++)
        co_add64(&to->histogram[i], from->histogram[i]);
}

#define CO_MAP_FILE "cpu/map_width.h"
#include "cohort/device/map_instances.h"

/* ---- the entries of the backend's table ------------------------------------------------------------------------------ */

int cpu_map_offers(cohort_context *context, co_u32 width, co_u32 group)
{
    (void)context;
    return width >= COHORT_WIDTH_32_0 && width <= COHORT_WIDTH_64_64 && group <= 1;
}

static void batch_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    static void (*const by_width[])(const struct map_batch *, co_u64, co_u64, struct cpu_report *) = {
        NULL, co_map32_0_batch, co_map32_32_batch, co_map64_0_batch, co_map64_32_batch, co_map64_64_batch};
    const struct map_batch *b = arg;
    (void)worker;
    for (uint64_t from = begin, to; from < end; from = to) {
        struct cpu_report report = {0, 0, 0, 0, ~0ull, ~0ull, {0, 0}};
        to = end - from < CPU_REPORT_GRAIN ? end : from + CPU_REPORT_GRAIN;
        by_width[b->view.width](b, from, to, &report);
        cpu_report_end(b, &report);
    }
}

cohort_status cpu_map_batch(cohort_context *context, const struct map_batch *batch, enum memory_kind memory)
{
    struct map_batch b = *batch;
    (void)memory;
    cpu_parallel(context, b.n, CPU_BATCH_GRAIN, batch_range, &b);
    return COHORT_OK;
}

struct sweep_job {
    const struct map_sweep *sweep;
    enum map_sweep_kind kind;
};

static void sweep_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    static void (*const by_width[])(const struct map_sweep *, enum map_sweep_kind, co_u64, co_u64) = {
        NULL, co_map32_0_sweep, co_map32_32_sweep, co_map64_0_sweep, co_map64_32_sweep, co_map64_64_sweep};
    const struct sweep_job *job = arg;
    (void)worker;
    for (uint64_t from = begin, to; from < end; from = to) {
        to = end - from < CPU_SWEEP_GRAIN ? end : from + CPU_SWEEP_GRAIN;
        by_width[job->sweep->view.width](job->sweep, job->kind, from, to);
    }
}

cohort_status cpu_map_sweep(cohort_context *context, const struct map_sweep *sweep, enum map_sweep_kind kind)
{
    struct sweep_job job = {sweep, kind};
    cpu_parallel(context, sweep->slots, CPU_SWEEP_GRAIN, sweep_range, &job);
    return COHORT_OK;
}
