/* cpu/map.c: maps on the host's threads. The protocol is device/map.h, the very one of the kernels; a lane is a thread. The
 * loops are map_width.h, in the form that this processor is best at. */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "cpu.h"

#define CPU_BATCH_GRAIN 8192 /* entries that a thread takes at a time: a multiple of 32 */

/* COHORT_CPU=plain, avx2 or avx512 in the environment asks for less than the processor can. NULL: it asks for something else. */
const struct cpu_map_loops *cpu_map_loops(void)
{
    const char *asked = getenv("COHORT_CPU");
    if (asked && strcmp(asked, "plain") && strcmp(asked, "avx2") && strcmp(asked, "avx512"))
        return NULL;
#if CPU_VECTORS
    int level = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? 2
                : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")       ? 1
                                                                                         : 0;
    if (asked && !strcmp(asked, "plain"))
        level = 0;
    else if (asked && !strcmp(asked, "avx2"))
        level = level < 1 ? level : 1;
    return level == 2 ? &cpu_map_avx512 : level ? &cpu_map_avx2 : &cpu_map_plain;
#else
    return &cpu_map_plain;
#endif
}

enum cpu_level cpu_map_level(const struct cpu_map_loops *loops)
{
#if CPU_VECTORS
    return loops == &cpu_map_avx512 ? CPU_AVX512 : loops == &cpu_map_avx2 ? CPU_AVX2 : CPU_PLAIN;
#else
    (void)loops;
    return CPU_PLAIN;
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

/* ---- the entries of the backend's table ------------------------------------------------------------------------------ */

int cpu_map_offers(cohort_context *context, co_u32 width, co_u32 group)
{
    (void)context;
    return width >= COHORT_WIDTH_32_0 && width <= COHORT_WIDTH_64_64 && group <= 1;
}

/* Whether cpu_parallel does it in the caller's thread. */
static int is_alone(cohort_context *context, uint64_t n, uint64_t grain)
{
    return !cpu_device(context)->pool || n <= grain;
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
    struct batch_job job = {*batch, cpu_device(context)->loops, is_alone(context, batch->n, CPU_BATCH_GRAIN)};
    (void)memory;
    job.alone |= batch->rank != MAP_RANK_NONE;
    if (job.alone)
        batch_range(&job, 0, batch->n, 0);
    else
        cpu_parallel(context, batch->n, CPU_BATCH_GRAIN, batch_range, &job);
    return COHORT_OK;
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

cohort_status cpu_map_sweep(cohort_context *context, const struct map_sweep *sweep, enum map_sweep_kind kind)
{
    struct sweep_job job = {sweep, kind, cpu_device(context)->loops,
                            is_alone(context, sweep->slots, CPU_SWEEP_GRAIN)};
    cpu_parallel(context, sweep->slots, CPU_SWEEP_GRAIN, sweep_range, &job);
    return COHORT_OK;
}
