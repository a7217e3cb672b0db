/* cohort bench: measurements. Each has its name, its own file or function, and one row in the table below. */
#include <string.h>

#include "output.h"

const char bench_help[] =
    "usage: cohort bench limits [--device D] [--threads N] [--table-bytes N] [--json FILE]\n"
    "\n"
    "Measures what this machine's memory can do at most, which is what every other figure is held against:\n"
    "copies, random reads and compare-and-swaps, the same from the last cache, and the link to a GPU.\n"
    "\n"
    "  --device D        cpu, cuda, cuda:N, or auto (a GPU if there is one)\n"
    "  --threads N       CPU threads, 1 to 1024 (default: one a core)\n"
    "  --table-bytes N   the table of the random accesses (default: 2 GiB, or a quarter of the free memory)\n"
    "  --json FILE       also write the figures there; '-' is standard output, and then nothing else is\n"
    "\n"
    "example:\n"
    "  cohort bench limits --device cpu --json limits.json\n";

typedef struct limit {
    const char *name, *key, *unit;
    double value, scale;
} limit;

enum { LIMITS = 9 };

static void limits_list(limit list[LIMITS], const cohort_limits *limits)
{
    const limit all[LIMITS] = {
        {"copy, read and written", "copy_bytes", "GB/s", limits->copy_bytes, 1e-9},
        {"random reads, 32 bytes", "random_reads_32", "G/s", limits->random_reads_32, 1e-9},
        {"random reads, 8 bytes", "random_reads_8", "G/s", limits->random_reads_8, 1e-9},
        {"random compare-and-swaps, 8 bytes", "random_cas_8", "G/s", limits->random_cas_8, 1e-9},
        {"cached reads, 32 bytes", "cached_reads_32", "G/s", limits->cached_reads_32, 1e-9},
        {"cached compare-and-swaps, 8 bytes", "cached_cas_8", "G/s", limits->cached_cas_8, 1e-9},
        {"link to the device", "link_to_device", "GB/s", limits->link_to_device, 1e-9},
        {"link from the device", "link_from_device", "GB/s", limits->link_from_device, 1e-9},
        {"link, both at once", "link_both", "GB/s", limits->link_both, 1e-9},
    };
    memcpy(list, all, sizeof all);
}

static void limits_print(const cohort_context_info *info, const cohort_limits *limits)
{
    limit list[LIMITS];
    char table[TEXT_NUMBER_BYTES], text[TEXT_NUMBER_BYTES];
    limits_list(list, limits);
    printf("%s (%s, %s %s)\n", info->device, info->backend, text_grouped(text, info->threads),
           strcmp(info->backend, "cpu") ? "multiprocessors" : "threads");
    printf("table of %s\n", text_bytes(table, limits->table_bytes));
    for (size_t i = 0; i < LIMITS; i++) {
        double value = list[i].value * list[i].scale;
        if (list[i].value > 0)
            printf("  %-36s %10.*f %s\n", list[i].name,
                   value < 10    ? 3
                   : value < 100 ? 2
                                 : 1,
                   value, list[i].unit);
        else
            printf("  %-36s %10s\n", list[i].name, "-");
    }
}

/* The device's name comes from a driver: quotes and backslashes are escaped, control characters dropped. */
static const char *json_text(char to[256], const char *text)
{
    size_t n = 0;
    for (; *text && n + 3 < 256; text++) {
        if (*text == '"' || *text == '\\')
            to[n++] = '\\';
        if ((unsigned char)*text >= 0x20)
            to[n++] = *text;
    }
    to[n] = 0;
    return to;
}

static int limits_json(const cohort_context_info *info, const cohort_limits *limits, output *output,
                       fault *fault)
{
    limit list[LIMITS];
    char name[256];
    limits_list(list, limits);
    int status = output_print(
        output, fault,
        "{\n  \"cohort\": \"%s\",\n  \"backend\": \"%s\",\n  \"device\": \"%s\",\n"
        "  \"threads\": %llu,\n  \"architecture\": %llu,\n  \"memory_bytes\": %llu,\n"
        "  \"last_cache_bytes\": %llu,\n  \"table_bytes\": %llu,\n  \"per_second\": {\n",
        cohort_version(), info->backend, json_text(name, info->device), (unsigned long long)info->threads,
        (unsigned long long)info->architecture, (unsigned long long)info->memory_bytes,
        (unsigned long long)info->l2_bytes, (unsigned long long)limits->table_bytes);
    for (size_t i = 0; i < LIMITS && !status; i++)
        status = output_print(output, fault, "    \"%s\": %.6g%s\n", list[i].key, list[i].value,
                              i + 1 < LIMITS ? "," : "");
    return status ? status : output_print(output, fault, "  }\n}\n");
}

static int limits_measure(cohort_context *context, uint64_t table_bytes, const char *json, output *file,
                          fault *fault)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_limits limits = COHORT_LIMITS_INIT;
    limits.table_bytes = table_bytes;
    cohort_status status = cohort_context_get_info(context, &info);
    if (status == COHORT_OK)
        status = cohort_limits_measure(context, &limits);
    if (status != COHORT_OK)
        return fault_library(fault, status, context, "limits: cannot measure");
    if (!json || strcmp(json, "-"))
        limits_print(&info, &limits);
    if (fflush(stdout))
        return fault_set(fault, CLI_FAILED, "limits: cannot write to standard output");
    if (!file)
        return CLI_OK;
    return limits_json(&info, &limits, file, fault) ? fault->status : output_close(file, fault);
}

static int limits_main(int argc, char **argv, fault *fault)
{
    const char *device = NULL, *json = NULL;
    uint64_t threads = 0, table_bytes = 0;
    arg args[] = {{"--device", ARG_TEXT, &device, 0, 0, 0},
                  {"--threads", ARG_NUMBER, &threads, 1, 1024, 0},
                  {"--table-bytes", ARG_SIZE, &table_bytes, 4096, UINT64_MAX, 0},
                  {"--json", ARG_TEXT, &json, 0, 0, 0}};
    size_t rest;
    output *file = NULL;
    cohort_context *context;
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench limits takes no files", argv[0]);
    outputs_guard_signals();
    if ((json && output_open(&file, json, "--json", fault)) ||
        context_open(&context, device, threads, NULL, fault))
        return fault->status;
    status = limits_measure(context, table_bytes, json, file, fault);
    cohort_context_destroy(context);
    return status;
}

static const struct bench {
    const char *name;
    int (*run)(int argc, char **argv, fault *fault);
} benches[] = {{"limits", limits_main}};

int bench_main(int argc, char **argv, fault *fault)
{
    if (!argc)
        return fault_set(fault, CLI_BAD_INPUT,
                         "what is to be measured? limits (cohort bench --help tells more)");
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
        if (!strcmp(argv[0], benches[i].name))
            return benches[i].run(argc - 1, argv + 1, fault);
    return fault_set(fault, CLI_BAD_INPUT, "%s: no such measurement (limits; cohort bench --help tells more)",
                     argv[0]);
}
