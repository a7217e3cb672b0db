/* set_loop.c: AND of two bitmaps into a third as one would write it in an hour: what the memory gives to a
 * collection's AND, with no chunks, counts or directory. Three bitmaps of the dense sets' size, all of whose
 * pages are there before; by as many threads as the bench has; with stores that go past the caches, where the
 * processor has such, and with common ones. */
#include "set.h"

#include <stdlib.h>

#include "../cli/parallel.h"

#if defined(__SSE2__)
#    include <emmintrin.h>
#    define PAST 1
#else
#    define PAST 0
#endif

enum { COMMON, PASSING, WAYS };

typedef struct loop {
    uint64_t *bitmap[3], words;
    unsigned threads, way;
} loop;

static uint64_t entry(const void *arg, uint64_t i)
{
    return set_dense_word(*(const uint64_t *)arg, i);
}

/* Bitmaps begin lines of the cache, and shares of words are whole lines. */
static void and_share(void *arg, unsigned share, unsigned shares)
{
    const loop *l = arg;
    const uint64_t from = parallel_first(l->words / 8, share, shares) * 8;
    const uint64_t end = parallel_first(l->words / 8, share + 1, shares) * 8;
    const uint64_t *a = l->bitmap[0], *b = l->bitmap[1];
    uint64_t *to = l->bitmap[2];
#if PAST
    if (l->way == PASSING) {
        for (uint64_t i = from; i < end; i += 2)
            _mm_stream_si128((__m128i *)(void *)(to + i),
                             _mm_and_si128(_mm_load_si128((const __m128i *)(const void *)(a + i)),
                                           _mm_load_si128((const __m128i *)(const void *)(b + i))));
        _mm_sfence();
        return;
    }
#endif
    for (uint64_t i = from; i < end; i++)
        to[i] = a[i] & b[i];
}

static cohort_status work_loop(void *arg)
{
    loop *l = arg;
    parallel_run(l->threads, and_share, l);
    return COHORT_OK;
}

/* The middle rate of the faster way. */
static int measure(const set_bench *s, loop *l, double *rate, fault *fault)
{
    double rates[WAYS] = {0, 0};
    bench_row row = set_row(s, s->experiment, "plain loop", "half of all", 1);
    bench_job job = {NULL, work_loop, l, 0, 1, 1};
    for (l->way = COMMON; l->way < (PAST ? WAYS : PASSING); l->way++) {
        double seconds[BENCH_RUNS_MOST];
        if (bench_time(s->b, &row, &job, seconds, fault))
            return fault->status;
        rates[l->way] = (double)l->words * 64 / bench_median(seconds, s->b->runs);
    }
    bench_say(s->b, "a plain loop: %.4g Gb/s, with stores past the caches %.4g", rates[COMMON] * 1e-9,
              rates[PASSING] * 1e-9);
    *rate = rates[PASSING] > rates[COMMON] ? rates[PASSING] : rates[COMMON];
    return CLI_OK;
}

int set_loop_rate(const set_bench *s, double *rate, fault *fault)
{
    loop l = {.words = s->sizes.dense_bits / 64, .threads = (unsigned)s->b->dev.info.threads};
    const uint64_t bytes = l.words * 8;
    int status = CLI_OK;
    for (uint64_t i = 0; i < 3 && !status; i++) {
        l.bitmap[i] = aligned_alloc(64, bytes);
        if (l.bitmap[i])
            column_fill_host(l.bitmap[i], 0, l.words, 8, entry, &i);
        else
            status = set_no_memory(fault, bytes);
    }
    if (!status)
        status = measure(s, &l, rate, fault);
    for (int i = 0; i < 3; i++)
        free(l.bitmap[i]);
    return status;
}
