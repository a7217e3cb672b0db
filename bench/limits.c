/* limits.c: `cohort bench limits`: what this machine's memory can do at most. */
#include "bench.h"

#include <string.h>

int bench_limits_main(int argc, char **argv, fault *fault)
{
    const char *device = NULL, *json = NULL;
    uint64_t threads = 0, table_bytes = 0;
    arg args[] = {{"--device", ARG_TEXT, &device, 0, 0, 0},
                  {"--threads", ARG_NUMBER, &threads, 1, 1024, 0},
                  {"--table-bytes", ARG_SIZE, &table_bytes, 4096, UINT64_MAX, 0},
                  {"--json", ARG_TEXT, &json, 0, 0, 0}};
    size_t rest;
    output *file = NULL;
    bench b = {.command = "cohort bench limits", .runs = 1};
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench limits takes no files", argv[0]);
    outputs_guard_signals();
    if (json && output_open(&file, json, "--json", fault))
        return fault->status;
    status = bench_open(&b, device, threads, 1, table_bytes, fault);
    if (!status && (!json || strcmp(json, "-")))
        bench_print_machine(&b);
    if (!status && fflush(stdout))
        status = fault_set(fault, CLI_FAILED, "limits: cannot write to standard output");
    if (!status && file)
        status = bench_write_json(&b, file, fault) ? fault->status : output_close(file, fault);
    bench_close(&b);
    return status;
}
