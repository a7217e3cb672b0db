/* test_limits.c: what a GPU can do at most, by a clock that the case sets: which of a figure's times counts,
 * and for how much work it stands. */
#include "test.h"

#include "cuda/device.h"

/* ---- the clock ----------------------------------------------------------------------------------------- */

/* Of each figure the first time does not count, and the median of the five after it does. */
#define TIMES  6
#define MEDIAN 3e-3 /* seconds */

static unsigned times_told;

static cuda_result elapsed(float *ms, cuda_event start, cuda_event stop)
{
    static const float told[TIMES] = {1000, 5, 1, 3, 2, 4};
    (void)start;
    (void)stop;
    *ms = told[times_told++ % TIMES];
    return CUDA_OK;
}

/* ---- the figures --------------------------------------------------------------------------------------- */

static void check_rate(struct test *t, const char *what, double rate, uint64_t work)
{
    double due = (double)work / MEDIAN;
    CHECKF(t, rate > due * 0.9999 && rate < due * 1.0001, "%s: %g in a second, not %g", what, rate, due);
}

/* The words of a table of this many bytes are all visited, or as many as there are accesses. */
static void check_limits(struct test *t, uint64_t table_bytes)
{
    const struct gpu *g = gpu_of(t->context);
    const uint64_t accesses = g->tuning->limit_accesses, words = table_bytes / 16;
    const uint64_t link = g->tuning->link_bytes < table_bytes ? g->tuning->link_bytes : table_bytes;
    cohort_limits l = COHORT_LIMITS_INIT;
    l.table_bytes = table_bytes;
    times_told = 0;
    OK(t, cohort_limits_measure(t->context, &l));
    EQUAL(t, l.table_bytes, table_bytes);
    EQUAL(t, times_told % TIMES, 0);
    check_rate(t, "copies", l.copy_bytes, 2 * 16 * (words < accesses ? words : accesses));
    check_rate(t, "reads of 32 bytes", l.random_reads_32, accesses);
    check_rate(t, "reads of 8 bytes", l.random_reads_8, accesses);
    check_rate(t, "compare-and-swaps", l.random_cas_8, accesses);
    check_rate(t, "reads of the cache", l.cached_reads_32, accesses);
    check_rate(t, "compare-and-swaps in the cache", l.cached_cas_8, accesses);
    check_rate(t, "to the device", l.link_to_device, link);
    check_rate(t, "from the device", l.link_from_device, link);
    check_rate(t, "both ways", l.link_both, 2 * link);
}

static void medians(struct test *t)
{
    struct gpu *g = gpu_of(t->context);
    const struct cuda_driver *before = g->driver;
    struct cuda_driver driver = *before;
    driver.event_elapsed_ms = elapsed;
    g->driver = &driver;
    check_limits(t, 1 << 16);
    check_limits(t, 1 << 18);
    g->driver = before;
}

const struct test_case test_cases[] = {
    {"medians", medians, TEST_ON_SIM},
    {NULL, NULL, 0},
};
