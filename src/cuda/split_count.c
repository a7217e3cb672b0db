/* split_count.c: counts of buckets, or of each digit of an id: one launch, in which each block has a span. */
#include <stdio.h>

#include "split.h"

#define SPLIT_COUNT_BLOCKS 8u     /* a multiprocessor */
#define SPLIT_SHARED_BINS  49152u /* buckets below which a block counts them in words of its shared memory */

/* How bins are counted: as words of a block's shared memory; else as halves of words, in one large block a
 * multiprocessor; else, on GPUs whose blocks have too little for that, in memory, entry by entry. */
struct counting {
    const char *kernel;
    unsigned shared, block;
};

static struct counting counting_of(const struct gpu *g, unsigned buckets, unsigned digits)
{
    unsigned block = g->tuning->block, words = (buckets + 1) * 4, halves = ((buckets + 1) / 2 + 1) * 4;
    if (digits)
        return (struct counting){"digits", (digits * SPLIT_DIGIT_BINS + 1) * 4, block};
    if (buckets < SPLIT_SHARED_BINS && words <= g->shared_most)
        return (struct counting){"count", words, block};
    if (halves <= g->shared_most)
        return (struct counting){"halves", halves,
                                 4 * block < SPLIT_HALVES_THREADS ? 4 * block : SPLIT_HALVES_THREADS};
    return (struct counting){"far", 0, block};
}

static uint64_t bins_of(const struct split_step *step)
{
    return step->digits.many ? step->digits.many * SPLIT_DIGIT_BINS : step->buckets;
}

/* Each block has a span. */
cohort_status split_count_into(cohort_context *context, const struct pass *p, co_u64 *bins)
{
    const struct gpu *g = gpu_of(context);
    struct split_step step = p->step;
    struct counting c = counting_of(g, step.buckets, step.digits.many);
    unsigned each = c.shared > 65536 ? 1 : c.shared > 16384 ? 2 : SPLIT_COUNT_BLOCKS;
    char name[48];
    step.part[0] = p->source;
    step.table = bins;
    step.span = (step.n / ((uint64_t)g->multiprocessors * each) + 4096) / 4096 * 4096;
    step.spans = at_least_one(step.n / step.span + (step.n % step.span != 0));
    snprintf(name, sizeof name, "multisplit_%s_%u", c.kernel, 8 * p->source.bytes);
    return gpu_launch_grid(context, name, (unsigned)step.spans, c.block, c.shared, &step);
}

cohort_status split_count_all(cohort_context *context, const struct pass *p, co_u64 *bins)
{
    cohort_status status = context_fill(context, bins, 0, bins_of(&p->step) * sizeof *bins);
    return status ? status : split_count_into(context, p, bins);
}
