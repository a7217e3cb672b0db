/* cpu/lines_batch.c: a batch on the host's threads, entry by entry. The protocol is device/lines_width.h;
 * a lane is a thread. The loops are lines_width.h. */
#include "lines.h"

#include <string.h>

#define GRAIN 8192       /* entries that a thread takes at a time: a multiple of 32 */
#define SMALL (4u << 20) /* bytes of a table that is small, */
#define SHARE 4          /* which is at most this part of the last cache, too */

#define CO_LINES_FILE "cpu/lines_width.h"
#include "cohort/device/lines_instances.h"

static const struct cpu_lines_loops loops[] = {
    [COHORT_WIDTH_32_0] = {co_lines32_0_batch, co_lines32_0_sweep},
    [COHORT_WIDTH_32_32] = {co_lines32_32_batch, co_lines32_32_sweep},
    [COHORT_WIDTH_64_0] = {co_lines64_0_batch, co_lines64_0_sweep},
    [COHORT_WIDTH_64_32] = {co_lines64_32_batch, co_lines64_32_sweep},
    [COHORT_WIDTH_64_64] = {co_lines64_64_batch, co_lines64_64_sweep},
    [COHORT_WIDTH_128_64] = {co_lines128_64_batch, co_lines128_64_sweep},
};

const struct cpu_lines_loops *cpu_lines_loops(co_u32 width)
{
    return width < sizeof loops / sizeof *loops && loops[width].batch ? &loops[width] : NULL;
}

struct batch_job {
    struct map_batch batch;
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
        co_lines_tally tally = {0, 0, 0, 0, 0};
        cpu_lines_loops(b->view.width)->batch(b, piece.begin, piece.end, job->alone, &report, &tally);
        co_lines_flush(&b->view, &tally);
        cpu_map_report(b, &report);
    }
}

/* Whether a batch of changes is one thread's, though there are two: where a thread's own cache holds much of
 * the table, the atomics of two cost more than the second thread brings, and so do the lines that go to and
 * fro. */
static int is_small(cohort_context *context, const struct map_batch *batch)
{
    const int reads =
        batch->step == MAP_STEP_GET || (batch->step == MAP_STEP_APPLY && batch->op == CO_OP_FIND);
    const uint64_t bytes = batch->view.pages * lines_home_bytes(batch->view.width);
    return !reads && cpu_device(context)->threads == 2 && bytes <= SMALL &&
           bytes <= cpu_device(context)->cache_bytes / SHARE;
}

/* One thread does it where the order of the entries counts, too. */
cohort_status cpu_lines_batch(cohort_context *context, const struct map_batch *batch, enum memory_kind memory)
{
    struct batch_job job = {*batch, cpu_is_alone(context, batch->n, GRAIN)};
    (void)memory;
    job.alone |= batch->rank != MAP_RANK_NONE || is_small(context, batch);
    if (job.alone)
        batch_range(&job, 0, batch->n, 0);
    else
        cpu_parallel(context, batch->n, GRAIN, batch_range, &job);
    return COHORT_OK;
}
