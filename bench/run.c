/* run.c: a run of the bench from its options to its outputs, and how a job is timed. */
#define _XOPEN_SOURCE 700

#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int bench_fault(const bench *b, cohort_status status, const char *doing, fault *fault)
{
    return fault_library(fault, status, b->dev.context, doing);
}

void bench_say(const bench *b, const char *format, ...)
{
    va_list list;
    if (!b->print)
        return;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

int bench_device_open(bench_device *d, const char *device, uint64_t threads, int limits, uint64_t table_bytes,
                      fault *fault)
{
    const cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    const cohort_limits none = COHORT_LIMITS_INIT;
    memset(d, 0, sizeof *d);
    d->info = info;
    d->limits = none;
    d->limits.table_bytes = table_bytes;
    int status = context_open(&d->context, device, threads, NULL, 0, fault);
    if (status)
        return status;
    cohort_status s = cohort_context_get_info(d->context, &d->info);
    if (!s)
        s = cohort_timer_create(d->context, &d->timer);
    if (!s && limits)
        s = cohort_limits_measure(d->context, &d->limits);
    d->cpu = !s && !strcmp(d->info.backend, "cpu");
    return s ? fault_library(fault, s, d->context, "the bench cannot begin") : CLI_OK;
}

void bench_device_close(bench_device *d)
{
    cohort_timer_destroy(d->timer);
    cohort_context_destroy(d->context);
    memset(d, 0, sizeof *d);
}

static int against_read(bench *b, fault *fault)
{
    for (size_t i = 0; i < b->options->against.n; i++) {
        bench_results results = {0};
        const char *path = b->options->against.text[i];
        int status = bench_results_read(&results, path, "--against", fault);
        for (size_t j = 0; j < results.rows.count && !status; j++) {
            bench_row *r = &results.rows.row[j];
            if (!*r->peer) { /* a file of our own: an earlier commit */
                snprintf(r->peer, sizeof r->peer, "cohort %.32s", results.commit);
                snprintf(r->date, sizeof r->date, "%s", results.date);
                snprintf(r->machine, sizeof r->machine, "%s", results.device);
            }
            status = bench_rows_add(&b->peers, r, fault);
        }
        bench_rows_free(&results.rows);
        if (status)
            return status;
    }
    return CLI_OK;
}

static void date_write(char date[16])
{
    time_t now = time(NULL);
    struct tm tm;
    if (!gmtime_r(&now, &tm) || !strftime(date, 16, "%Y-%m-%d", &tm))
        *date = 0;
}

void bench_command_set(bench *b, const char *name, int argc, char **argv)
{
    static const char *const files[] = {"--json", "--plot", "--against", "--peers", "--reads"};
    size_t n = (size_t)snprintf(b->command, sizeof b->command, "cohort bench %s", name);
    for (int i = 0; i < argc && n < sizeof b->command; i++) {
        size_t length = strcspn(argv[i], "="), j = 0;
        while (j < 5 && (strlen(files[j]) != length || memcmp(argv[i], files[j], length)))
            j++;
        if (j == 5)
            n += (size_t)snprintf(b->command + n, sizeof b->command - n, " %s", argv[i]);
        else
            i += !argv[i][length];
    }
}

int bench_begin(bench *b, const bench_options *options, int limits, fault *fault)
{
    b->options = options;
    b->print = !options->json || strcmp(options->json, "-");
    b->runs = options->runs ? options->runs : b->runs ? b->runs : options->quick ? 3 : 5;
    date_write(b->date);
    outputs_guard_signals();
    int status = against_read(b, fault);
    if (!status && options->json)
        status = output_open(&b->json, options->json, "--json", fault);
    if (!status && options->plot)
        status = output_open(&b->plot, options->plot, "--plot", fault);
    uint64_t table_bytes = options->table_bytes ? options->table_bytes : options->quick ? 64u << 20 : 0;
    if (!status)
        status = bench_device_open(&b->dev, options->device, options->threads, limits, table_bytes, fault);
    if (!status && b->print)
        bench_print_machine(&b->dev);
    return status;
}

int bench_end(bench *b, fault *fault)
{
    char under[256];
    int status = CLI_OK;
    if (b->print)
        bench_print_peers(&b->rows, &b->peers);
    if (b->print && (ferror(stdout) || fflush(stdout)))
        return fault_set(fault, CLI_FAILED, "cannot write to standard output");
    if (b->json)
        status = bench_write_json(b, b->json, fault) ? fault->status : output_close(b->json, fault);
    snprintf(under, sizeof under, "%s, %s", b->dev.info.device, b->date);
    if (!status && b->plot)
        status = bench_plot_write(&b->rows, &b->peers, under, b->plot, fault) ? fault->status
                                                                              : output_close(b->plot, fault);
    return status;
}

void bench_close(bench *b)
{
    bench_device_close(&b->dev);
    bench_rows_free(&b->rows);
    bench_rows_free(&b->peers);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

bench_row bench_row_make(const bench *b, const char *experiment, const char *name, const char *width,
                         const char *keys)
{
    bench_row row = {.load = BENCH_NO_LOAD, .scale = 1e-9, .unit = "G/s"};
    snprintf(row.experiment, sizeof row.experiment, "%s", experiment);
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.width, sizeof row.width, "%s", width ? width : "");
    snprintf(row.keys, sizeof row.keys, "%s", keys);
    if (b->dev.cpu) {
        row.threads = b->dev.info.threads;
        row.scale = 1e-6;
        snprintf(row.unit, sizeof row.unit, "M/s");
    }
    return row;
}

void bench_extra_set(bench_row *row, const char *name, double value)
{
    for (size_t i = 0; i < BENCH_EXTRAS; i++)
        if (!*row->extras[i].name || !strcmp(row->extras[i].name, name)) {
            snprintf(row->extras[i].name, sizeof row->extras[i].name, "%s", name);
            row->extras[i].value = value;
            return;
        }
}

double bench_extra_get(const bench_row *row, const char *name)
{
    for (size_t i = 0; i < BENCH_EXTRAS; i++)
        if (!strcmp(row->extras[i].name, name))
            return row->extras[i].value;
    return 0;
}

void bench_row_limit(const bench_device *d, bench_row *row, char bound, uint64_t bytes)
{
    const cohort_limits *l = &d->limits;
    int cached = bytes <= d->info.l2_bytes / 2;
    row->limit = bound == 'R' ? cached ? l->cached_reads_32 : l->random_reads_32
                 : cached     ? l->cached_cas_8
                              : l->random_cas_8;
    snprintf(row->limit_name, sizeof row->limit_name, "%c%s", bound, cached ? " cached" : "");
}

int bench_add(bench *b, const bench_row *row, fault *fault)
{
    bench_row r = *row;
    r.here = 1;
    if (b->print && !b->headed)
        bench_print_heading();
    if (b->print)
        bench_print_row(&r, bench_rows_best(&b->peers, &r));
    b->headed = 1;
    return bench_rows_add(*r.peer ? &b->peers : &b->rows, &r, fault);
}

/* ---- timing -------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *list, uint64_t n)
{
    qsort(list, n, sizeof *list, by_number);
    return list[n / 2];
}

static cohort_status work_repeat(const bench_job *job)
{
    cohort_status s = job->work(job->arg);
    for (unsigned i = 1; i < job->repeat && !s; i++)
        s = job->work(job->arg);
    return s;
}

static cohort_status time_once(bench *b, const bench_job *job, double *seconds)
{
    bench_device *d = &b->dev;
    cohort_status s = cohort_wait(d->context); /* managed memory may be prepared by the host */
    if (!s && job->prepare)
        s = job->prepare(job->arg);
    if (!s)
        s = cohort_wait(d->context);
    double start = seconds_now();
    if (!s && !job->wall)
        s = cohort_timer_start(d->timer);
    if (!s)
        s = work_repeat(job);
    if (!s && !job->wall)
        return (s = cohort_timer_stop(d->timer, seconds)) ? s : cohort_wait(d->context);
    if (!s)
        s = cohort_wait(d->context);
    *seconds = seconds_now() - start;
    return s;
}

int bench_time(bench *b, const bench_row *row, const bench_job *job, double *seconds, fault *fault)
{
    double warm;
    cohort_status s = time_once(b, job, &warm);
    for (size_t i = 0; i < b->runs && !s; i++)
        s = time_once(b, job, &seconds[i]);
    if (s) {
        char doing[256];
        return bench_fault(b, s, bench_row_text(doing, row), fault);
    }
    return CLI_OK;
}

int bench_measure(bench *b, const bench_row *row, const bench_job *job, fault *fault)
{
    double seconds[BENCH_RUNS_MOST];
    int status = bench_time(b, row, job, seconds, fault);
    return status ? status
                  : bench_add_times(b, row, job->items * (job->repeat ? job->repeat : 1), seconds, b->runs,
                                    fault);
}

int bench_add_times(bench *b, const bench_row *row, double items, double *seconds, uint64_t runs,
                    fault *fault)
{
    bench_row r = *row;
    qsort(seconds, runs, sizeof *seconds, by_number);
    for (size_t i = 0; i < runs; i++)
        seconds[i] = fmax(seconds[i], 1e-9); /* a clock may be too coarse for a handful of entries */
    r.runs = runs;
    r.least = items / seconds[runs - 1];
    r.median = items / seconds[runs / 2];
    r.most = items / seconds[0];
    for (size_t i = 0; i < BENCH_EXTRAS; i++)
        if (!strcmp(r.extras[i].name, "ms"))
            r.extras[i].value = 1e3 * seconds[runs / 2];
    return bench_add(b, &r, fault);
}
