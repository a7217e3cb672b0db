/* set_threads.c: the same work by 1, 2, 4, ... threads, and what the memory gives as many: rows of `bench
 * set --experiment threads`. How much threads gain is held against how much the row's limit gains. */
#include "set.h"

#include <string.h>

#define THREADS_MOST 16

static int rows_measure(const set_bench *s, fault *fault)
{
    int status = set_dense(s, fault);
    return status ? status : set_dense_lookups(s, fault);
}

/* As many threads, with limits of their own. */
static int threads_measure(const set_bench *s, uint64_t threads, fault *fault)
{
    bench_device one = s->b->dev;
    int status = bench_device_open(&s->b->dev, "cpu", threads, 1, one.limits.table_bytes, fault);
    if (!status)
        status = rows_measure(s, fault);
    bench_device_close(&s->b->dev);
    s->b->dev = one;
    return status;
}

/* Each row beside the same by one thread. */
static void sum_up(const bench *b)
{
    for (size_t i = 0; i < b->rows.count; i++)
        for (size_t k = 0; k < i; k++) {
            const bench_row *row = &b->rows.row[i], *one = &b->rows.row[k];
            if (strcmp(row->experiment, "threads") || strcmp(one->experiment, "threads") ||
                one->threads != 1 || row->threads < 2 || strcmp(row->name, one->name) ||
                strcmp(row->keys, one->keys) || !(one->limit > 0))
                continue;
            double gain = row->median / one->median, due = row->limit / one->limit;
            bench_say(b, "%s, %s: %llu threads do %.2f times as much as one, their limit is %.2f times: %.2f",
                      row->name, row->keys, (unsigned long long)row->threads, gain, due, gain / due);
        }
}

int set_threads(const set_bench *s, fault *fault)
{
    bench_device all;
    if (!s->b->dev.cpu) {
        bench_say(s->b, "threads: this experiment is the CPU's (--device cpu)");
        return CLI_OK;
    }
    int status = bench_device_open(&all, "cpu", 0, 0, 0, fault);
    uint64_t most = status ? 0 : all.info.threads;
    if (!status)
        bench_device_close(&all);
    for (uint64_t threads = 1; threads <= most && threads <= THREADS_MOST && !status; threads *= 2)
        status = threads_measure(s, threads, fault);
    sum_up(s->b);
    return status;
}
