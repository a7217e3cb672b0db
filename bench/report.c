/* report.c: timing, rows, the table for people, the JSON for machines. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#ifndef COHORT_COMMIT
#    define COHORT_COMMIT "unknown"
#endif

int bench_fault(bench *b, cohort_status status, const char *doing, fault *fault)
{
    return fault_library(fault, status, b->context, doing);
}

int bench_open(bench *b, const char *device, uint64_t threads, int limits, uint64_t table_bytes, fault *fault)
{
    const cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    const cohort_limits none = COHORT_LIMITS_INIT;
    b->info = info;
    b->limits = none;
    b->limits.table_bytes = table_bytes;
    int status = context_open(&b->context, device, threads, NULL, fault);
    if (status)
        return status;
    cohort_status s = cohort_context_get_info(b->context, &b->info);
    if (!s)
        s = cohort_timer_create(b->context, &b->timer);
    if (!s && limits)
        s = cohort_limits_measure(b->context, &b->limits);
    return s ? bench_fault(b, s, "the bench cannot begin", fault) : CLI_OK;
}

void bench_close(bench *b)
{
    cohort_timer_destroy(b->timer);
    cohort_context_destroy(b->context);
    free(b->rows);
}

/* ---- timing -------------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static cohort_status time_once(bench *b, bench_work prepare, bench_work work, void *arg, double *seconds)
{
    cohort_status s = prepare ? prepare(arg) : COHORT_OK;
    if (!s)
        s = cohort_wait(b->context);
    if (!s)
        s = cohort_timer_start(b->timer);
    if (!s)
        s = work(arg);
    if (!s)
        s = cohort_timer_stop(b->timer, seconds);
    return s ? s : cohort_wait(b->context);
}

int bench_measure(bench *b, const bench_row *row, double items, bench_work prepare, bench_work work, void *arg,
                  fault *fault)
{
    double seconds[BENCH_RUNS_MOST], warm;
    bench_row r = *row;
    cohort_status s = time_once(b, prepare, work, arg, &warm);
    for (size_t i = 0; i < b->runs && !s; i++)
        s = time_once(b, prepare, work, arg, &seconds[i]);
    if (s)
        return bench_fault(b, s, row->name, fault);
    qsort(seconds, b->runs, sizeof *seconds, by_number);
    r.runs = b->runs;
    r.least = items / seconds[b->runs - 1];
    r.median = items / seconds[b->runs / 2];
    r.most = items / seconds[0];
    return bench_add(b, &r, fault);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static void print_heading(void)
{
    printf("%-22s %-6s %-18s %13s %5s  %9s  %-17s %s\n", "", "width", "keys", "n", "load", "median", "least - most",
           "of the limit");
}

static void print_row(const bench_row *r)
{
    char n[TEXT_NUMBER_BYTES], load[16] = "", spread[40], limit[32] = "";
    if (r->load > 0)
        snprintf(load, sizeof load, "%.2f", r->load);
    if (r->limit > 0)
        snprintf(limit, sizeof limit, "%.2f %s", r->median / r->limit, r->limit_name);
    snprintf(spread, sizeof spread, "%.3g - %.3g", r->least * r->scale, r->most * r->scale);
    printf("%-22s %-6s %-18s %13s %5s  %9.4g  %-17s %-8s %s\n", r->name, r->width, r->keys, text_grouped(n, r->n), load,
           r->median * r->scale, spread, limit, r->unit);
    fflush(stdout);
}

int bench_add(bench *b, const bench_row *row, fault *fault)
{
    if (b->count == b->room) {
        size_t room = b->room ? 2 * b->room : 64;
        bench_row *rows = realloc(b->rows, room * sizeof *rows);
        if (!rows)
            return fault_set(fault, CLI_FAILED, "bench: no memory for %zu rows", room);
        b->rows = rows;
        b->room = room;
    }
    if (b->print && !b->count)
        print_heading();
    b->rows[b->count++] = *row;
    if (b->print)
        print_row(row);
    return CLI_OK;
}

void bench_limits_list(bench_limit list[BENCH_LIMITS], const cohort_limits *limits)
{
    const bench_limit all[BENCH_LIMITS] = {
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

void bench_print_machine(const bench *b)
{
    bench_limit list[BENCH_LIMITS];
    char table[TEXT_NUMBER_BYTES], text[TEXT_NUMBER_BYTES];
    bench_limits_list(list, &b->limits);
    printf("%s (%s, %s %s)\n", b->info.device, b->info.backend, text_grouped(text, b->info.threads),
           strcmp(b->info.backend, "cpu") ? "multiprocessors" : "threads");
    printf("limits, with a table of %s\n", text_bytes(table, b->limits.table_bytes));
    for (size_t i = 0; i < BENCH_LIMITS; i++) {
        double value = list[i].value * list[i].scale;
        if (list[i].value > 0)
            printf("  %-36s %10.*f %s\n", list[i].name, value < 10 ? 3 : value < 100 ? 2 : 1, value, list[i].unit);
        else
            printf("  %-36s %10s\n", list[i].name, "-");
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

/* Names come from a driver or a command line: quotes and backslashes are escaped, control characters dropped. */
static const char *json_text(char to[512], const char *text)
{
    size_t n = 0;
    for (; *text && n + 3 < 512; text++) {
        if (*text == '"' || *text == '\\')
            to[n++] = '\\';
        if ((unsigned char)*text >= 0x20)
            to[n++] = *text;
    }
    to[n] = 0;
    return to;
}

static int write_row(const bench_row *r, int last, output *file, fault *fault)
{
    return output_print(file, fault,
                        "    {\"name\": \"%s\", \"width\": \"%s\", \"keys\": \"%s\", \"n\": %llu, \"load\": %.4g, "
                        "\"unit\": \"%s\", \"scale\": %g, \"median\": %.6g, \"least\": %.6g, \"most\": %.6g, \"runs\": %zu, "
                        "\"limit\": \"%s\", \"of_limit\": %.4g}%s\n",
                        r->name, r->width, r->keys, (unsigned long long)r->n, r->load, r->unit, r->scale, r->median,
                        r->least, r->most, r->runs, r->limit_name ? r->limit_name : "",
                        r->limit > 0 ? r->median / r->limit : 0.0, last ? "" : ",");
}

int bench_write_json(const bench *b, output *file, fault *fault)
{
    bench_limit list[BENCH_LIMITS];
    char device[512], command[512];
    bench_limits_list(list, &b->limits);
    int status = output_print(
        file, fault,
        "{\n  \"cohort\": \"%s\",\n  \"commit\": \"%s\",\n  \"command\": \"%s\",\n  \"backend\": \"%s\",\n"
        "  \"device\": \"%s\",\n  \"threads\": %llu,\n  \"architecture\": %llu,\n  \"memory_bytes\": %llu,\n"
        "  \"last_cache_bytes\": %llu,\n  \"table_bytes\": %llu,\n  \"per_second\": {\n",
        cohort_version(), COHORT_COMMIT, json_text(command, b->command), b->info.backend,
        json_text(device, b->info.device), (unsigned long long)b->info.threads, (unsigned long long)b->info.architecture,
        (unsigned long long)b->info.memory_bytes, (unsigned long long)b->info.l2_bytes,
        (unsigned long long)b->limits.table_bytes);
    for (size_t i = 0; i < BENCH_LIMITS && !status; i++)
        status = output_print(file, fault, "    \"%s\": %.6g%s\n", list[i].key, list[i].value,
                              i + 1 < BENCH_LIMITS ? "," : "");
    if (!status)
        status = output_print(file, fault, "  },\n  \"rows\": [\n");
    for (size_t i = 0; i < b->count && !status; i++)
        status = write_row(&b->rows[i], i + 1 == b->count, file, fault);
    return status ? status : output_print(file, fault, "  ]\n}\n");
}
