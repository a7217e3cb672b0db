/* json.c: the figures for machines: who measured what where, the limits, and a row for each figure. */
#include "bench.h"

#include <string.h>

extern const char cohort_commit[]; /* made by the build: cmake/commit.cmake */

/* Names come from a driver or a command line: quotes and backslashes are escaped, control characters
 * dropped. */
static const char *json_text(char to[1100], const char *text)
{
    size_t n = 0;
    for (; *text && n + 3 < 1100; text++) {
        if (*text == '"' || *text == '\\')
            to[n++] = '\\';
        if ((unsigned char)*text >= 0x20)
            to[n++] = *text;
    }
    to[n] = 0;
    return to;
}

static int write_peer(const bench_row *r, output *file, fault *fault)
{
    char name[1100], version[1100], machine[1100];
    return output_print(
        file, fault,
        ", \"peer\": {\"name\": \"%s\", \"version\": \"%s\", \"date\": \"%s\", \"machine\": \"%s\"}",
        json_text(name, r->peer), json_text(version, r->version), r->date, json_text(machine, r->machine));
}

static int write_row(const bench_row *r, output *file, fault *fault)
{
    int status = output_print(
        file, fault, "    {\"experiment\": \"%s\", \"name\": \"%s\", \"width\": \"%s\", \"keys\": \"%s\", ",
        r->experiment, r->name, r->width, r->keys);
    if (!status && *r->variant)
        status = output_print(file, fault, "\"variant\": \"%s\", ", r->variant);
    if (!status && *r->at_name)
        status = output_print(file, fault, "\"at_name\": \"%s\", \"at\": %.6g, ", r->at_name, r->at);
    if (!status)
        status = output_print(file, fault, "\"n\": %llu, \"threads\": %llu, ", (unsigned long long)r->n,
                              (unsigned long long)r->threads);
    if (!status && r->load >= 0)
        status = output_print(file, fault, "\"load\": %.4g, ", r->load);
    if (!status)
        status = output_print(
            file, fault,
            "\"unit\": \"%s\", \"scale\": %g, \"median\": %.6g, \"least\": %.6g, \"most\": %.6g, "
            "\"runs\": %llu",
            r->unit, r->scale, r->median, r->least, r->most, (unsigned long long)r->runs);
    if (!status && r->limit > 0)
        status = output_print(file, fault, ", \"limit\": \"%s\", \"limit_rate\": %.6g, \"of_limit\": %.4g",
                              r->limit_name, r->limit, r->median / r->limit);
    for (size_t i = 0; i < BENCH_EXTRAS && *r->extras[i].name && !status; i++)
        status = output_print(file, fault, "%s\"%s\": %.6g", i ? ", " : ", \"extras\": {", r->extras[i].name,
                              r->extras[i].value);
    if (!status && *r->extras[0].name)
        status = output_print(file, fault, "}");
    if (!status && *r->peer)
        status = write_peer(r, file, fault);
    return status ? status : output_print(file, fault, "}");
}

/* Our rows, then those of peers that were measured in the same run. */
static int write_rows(const bench *b, output *file, fault *fault)
{
    int status = output_print(file, fault, "  \"rows\": [");
    const char *before = "\n";
    for (int peers = 0; peers < 2; peers++) {
        const bench_rows *rows = peers ? &b->peers : &b->rows;
        for (size_t i = 0; i < rows->count && !status; i++) {
            if (!rows->row[i].here)
                continue;
            status = output_print(file, fault, "%s", before);
            before = ",\n";
            if (!status)
                status = write_row(&rows->row[i], file, fault);
        }
    }
    return status ? status : output_print(file, fault, "\n  ]\n}\n");
}

int bench_write_json(const bench *b, output *file, fault *fault)
{
    bench_limit list[BENCH_LIMITS];
    char device[1100], command[1100];
    const cohort_context_info *info = &b->dev.info;
    bench_limits_list(list, &b->dev.limits);
    int status = output_print(
        file, fault,
        "{\n  \"cohort\": \"%s\",\n  \"commit\": \"%s\",\n  \"date\": \"%s\",\n  \"command\": \"%s\",\n"
        "  \"backend\": \"%s\",\n  \"device\": \"%s\",\n  \"threads\": %llu,\n  \"architecture\": %llu,\n"
        "  \"memory_bytes\": %llu,\n  \"last_cache_bytes\": %llu,\n  \"table_bytes\": %llu,\n  "
        "\"per_second\": {\n",
        cohort_version(), cohort_commit, b->date, json_text(command, b->command), info->backend,
        json_text(device, info->device), (unsigned long long)info->threads,
        (unsigned long long)info->architecture, (unsigned long long)info->memory_bytes,
        (unsigned long long)info->l2_bytes, (unsigned long long)b->dev.limits.table_bytes);
    for (size_t i = 0; i < BENCH_LIMITS && !status; i++)
        status = output_print(file, fault, "    \"%s\": %.6g%s\n", list[i].key, list[i].value,
                              i + 1 < BENCH_LIMITS ? "," : "");
    if (!status)
        status = output_print(file, fault, "  },\n");
    return status ? status : write_rows(b, file, fault);
}
