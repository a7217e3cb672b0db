/* limits.c: `cohort bench limits`: what this machine's memory can do at most. */
#include "bench.h"

#include <string.h>

/* The limits as rows too, so that they can be drawn and compared. */
static int rows_add(bench *b, fault *fault)
{
    bench_limit list[BENCH_LIMITS];
    bench_limits_list(list, &b->dev.limits);
    for (size_t i = 0; i < BENCH_LIMITS; i++) {
        if (!(list[i].value > 0))
            continue;
        bench_row row = bench_row_make(b, "limits", list[i].name, NULL, "");
        row.n = b->dev.limits.table_bytes;
        row.median = row.least = row.most = list[i].value;
        row.runs = row.here = 1;
        row.scale = list[i].scale;
        snprintf(row.unit, sizeof row.unit, "%s", list[i].unit);
        if (bench_rows_add(&b->rows, &row, fault))
            return fault->status;
    }
    return CLI_OK;
}

int bench_limits_main(int argc, char **argv, fault *fault)
{
    bench_options options = {0};
    arg args[] = {BENCH_ARGS(options)};
    size_t rest;
    bench b = {0};
    bench_command_set(&b, "limits", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench limits takes no files", argv[0]);
    status = bench_begin(&b, &options, 1, fault);
    if (!status)
        status = rows_add(&b, fault);
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
