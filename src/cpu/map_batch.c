/* cpu/map_batch.c: a batch on the host's threads, entry by entry. The protocol is device/map.h, the very one
 * of the kernels; a lane is a thread. The loops are map_width.h, in the form that this processor is best
 * at. */
#include "map.h"

#define CPU_BATCH_GRAIN 8192 /* entries that a thread takes at a time: a multiple of 32 */

const struct cpu_map_loops *cpu_map_loops(cohort_context *context)
{
#if CPU_VECTORS
    switch (cpu_device(context)->level) {
    case CPU_AVX512:
        return &cpu_map_avx512;
    case CPU_AVX2:
        return &cpu_map_avx2;
    default:
        return &cpu_map_plain;
    }
#else
    (void)context;
    return &cpu_map_plain;
#endif
}

int cpu_map_piece(const struct map_batch *b, co_u64 begin, co_u64 end, struct cpu_piece *p)
{
    const int first = p->begin == p->end;
    if (map_goes_backward(b->rank, b->op)) {
        p->end = first ? end : p->begin;
        p->begin = (p->end + CPU_PIECE - 1) / CPU_PIECE * CPU_PIECE;
        p->begin = p->begin > begin + CPU_PIECE ? p->begin - CPU_PIECE : begin;
    } else {
        p->begin = first ? begin : p->end;
        p->end = end - p->begin < CPU_PIECE ? end : p->begin + CPU_PIECE;
    }
    return p->begin < p->end;
}

void cpu_map_report(const struct map_batch *b, struct cpu_report *r)
{
    co_map_flush(&b->view, &r->tally);
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

void cpu_map_ranges(const void *arg, co_u64 begin, co_u64 end)
{
    const struct cpu_ranges *r = arg;
    const co_u32 *where = r->batch->where;
    r->loops->ranges[r->batch->view.width](r->batch, begin, end, r->shift, r->range);
    for (co_u64 i = begin; i < end && where; i++)
        if (!(where[i / 32] >> i % 32 & 1))
            r->range[i] = r->none;
}

struct batch_job {
    struct map_batch batch;
    const struct cpu_map_loops *loops;
    int alone;
};

static void batch_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct batch_job *job = arg;
    const struct map_batch *b = &job->batch;
    struct cpu_piece piece = {0, 0};
    (void)worker;
    while (cpu_map_piece(b, begin, end, &piece)) {
        struct cpu_report report = {.first_full = ~0ull, .first_bad = ~0ull};
        job->loops->batch[b->view.width](b, piece.begin, piece.end, job->alone, NULL, &report);
        cpu_map_report(b, &report);
    }
}

/* One thread does it where the order of the entries counts. */
cohort_status cpu_map_batch(cohort_context *context, const struct map_batch *batch, enum memory_kind memory)
{
    struct batch_job job = {*batch, cpu_map_loops(context), cpu_is_alone(context, batch->n, CPU_BATCH_GRAIN)};
    (void)memory;
    job.alone |= batch->rank != MAP_RANK_NONE;
    if (job.alone)
        batch_range(&job, 0, batch->n, 0);
    else
        cpu_parallel(context, batch->n, CPU_BATCH_GRAIN, batch_range, &job);
    return COHORT_OK;
}
