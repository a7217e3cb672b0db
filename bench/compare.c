/* compare.c: `cohort bench compare OLD NEW`, the regression check, and `cohort bench show FILE...`, recorded
 * figures as a table and as drawings.
 *
 * A figure has moved if the spreads of the two, least to most, do not touch and the medians differ by more
 * than the tolerance: clocks and placement differ from run to run by more than they do within one. */
#include "bench.h"
#include "place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct comparison {
    const bench_row *old, *new;
    double ratio;
    int moved; /* -1: slower, 1: faster */
} comparison;

static int moved(const bench_row *old, const bench_row *new, double tolerance)
{
    double ratio = new->median / old->median;
    if (fabs(ratio - 1) <= tolerance)
        return 0;
    return new->most < old->least ? -1 : new->least > old->most ? 1 : 0;
}

static int by_ratio(const void *a, const void *b)
{
    double x = ((const comparison *)a)->ratio, y = ((const comparison *)b)->ratio;
    return (x > y) - (x < y);
}

static const bench_row *row_like(const bench_rows *rows, const bench_row *row)
{
    for (size_t i = 0; i < rows->count; i++)
        if (bench_row_same(&rows->row[i], row) && !strcmp(rows->row[i].peer, row->peer) &&
            !strcmp(rows->row[i].variant, row->variant) && !strcmp(rows->row[i].experiment, row->experiment))
            return &rows->row[i];
    return NULL;
}

static void print_moved(const comparison *all, size_t n, int direction, const char *word)
{
    char text[256];
    for (size_t i = 0; i < n; i++) {
        const comparison *c = &all[direction < 0 ? i : n - 1 - i];
        const bench_row *r = c->new;
        if (c->moved == direction)
            printf("%-6s %+6.1f %%  %8.4g -> %8.4g %-6s (%.4g - %.4g -> %.4g - %.4g)  %s%s%s\n", word,
                   100 * (c->ratio - 1), c->old->median * r->scale, r->median * r->scale, r->unit,
                   c->old->least * r->scale, c->old->most * r->scale, r->least * r->scale, r->most * r->scale,
                   bench_row_text(text, r), *r->peer ? ", " : "", r->peer);
    }
}

static int compare(const bench_results *old, const bench_results *new, double tolerance, fault *fault)
{
    size_t n = 0, slower = 0, faster = 0;
    comparison *all = malloc((new->rows.count + 1) * sizeof *all);
    if (!all)
        return fault_set(fault, CLI_FAILED, "bench compare: no memory for %zu rows", new->rows.count);
    for (size_t i = 0; i < new->rows.count; i++) {
        const bench_row *row = &new->rows.row[i], *before = row_like(&old->rows, row);
        if (!before)
            continue;
        comparison c = {before, row, row->median / before->median, moved(before, row, tolerance)};
        slower += c.moved < 0 && !*row->peer;
        faster += c.moved > 0 && !*row->peer;
        all[n++] = c;
    }
    if (!n) {
        free(all);
        return fault_set(fault, CLI_BAD_INPUT, "the two files have no row in common");
    }
    qsort(all, n, sizeof *all, by_ratio);
    if (strcmp(old->device, new->device))
        printf("measured on different devices: %s, %s\n", old->device, new->device);
    print_moved(all, n, -1, "slower");
    print_moved(all, n, 1, "faster");
    printf("%zu rows in both: %zu slower, %zu faster, the rest within the spread or %.3g %%; %zu only old, "
           "%zu only new\n",
           n, slower, faster, 100 * tolerance, old->rows.count - n, new->rows.count - n);
    free(all);
    if (slower)
        return fault_set(fault, CLI_FAILED, "%zu of %zu figures got slower", slower, n);
    return CLI_OK;
}

int bench_compare_main(int argc, char **argv, fault *fault)
{
    const char *tolerance_text = "3";
    arg args[] = {{"--tolerance", ARG_TEXT, &tolerance_text, 0, 0, 0}};
    bench_results old = {0}, new = {0};
    size_t rest;
    char *end;
    int status = args_read(args, 1, argc, argv, &rest, fault);
    if (status)
        return status;
    double tolerance = strtod(tolerance_text, &end);
    if (end == tolerance_text || *end || !(tolerance >= 0 && tolerance <= 100))
        return fault_set(fault, CLI_BAD_INPUT, "--tolerance %s: must be a number of percent from 0 to 100",
                         tolerance_text);
    if (rest != 2)
        return fault_set(fault, CLI_BAD_INPUT,
                         "bench compare takes two files, OLD.json and NEW.json; %zu given", rest);
    status = bench_results_read(&old, argv[0], "OLD", fault);
    if (!status)
        status = bench_results_read(&new, argv[1], "NEW", fault);
    if (!status)
        status = compare(&old, &new, tolerance / 100, fault);
    bench_rows_free(&old.rows);
    bench_rows_free(&new.rows);
    return status;
}

/* ---- show ---------------------------------------------------------------------------------------------- */

typedef struct showing {
    bench_rows rows, peers;
    char under[256];
    const char *experiment, *name, *width; /* lists of what is shown; NULL: all */
} showing;

static int take(showing *s, const char *path, const char *argument, fault *fault)
{
    bench_results results = {0};
    int against = !strcmp(argument, "--against"),
        status = bench_results_read(&results, path, argument, fault);
    for (size_t i = 0; i < results.rows.count && !status; i++) {
        bench_row *r = &results.rows.row[i];
        if (!*r->peer && !(bench_listed(s->experiment, r->experiment) && bench_listed(s->name, r->name) &&
                           bench_listed(s->width, r->width)))
            continue;
        if (against && !*r->peer)
            snprintf(r->peer, sizeof r->peer, "cohort %.32s", results.commit);
        status = bench_rows_add(*r->peer ? &s->peers : &s->rows, r, fault);
    }
    if (!status && !against)
        snprintf(s->under, sizeof s->under, "%s, %s, commit %s", results.device, results.date,
                 results.commit);
    bench_rows_free(&results.rows);
    return status;
}

static int show(const showing *s, const char *plot, fault *fault)
{
    output *file;
    if (!s->rows.count)
        return fault_set(fault, CLI_BAD_INPUT, "no row to show%s%s", s->experiment ? " of --experiment " : "",
                         s->experiment ? s->experiment : "");
    if (plot) {
        outputs_guard_signals();
        if (output_open(&file, plot, "--plot", fault) ||
            bench_plot_write(&s->rows, &s->peers, s->under, file, fault) || output_close(file, fault) ||
            !strcmp(plot, "-"))
            return fault->status;
    }
    printf("%s\n", s->under);
    bench_print_heading();
    for (size_t i = 0; i < s->rows.count; i++)
        bench_print_row(&s->rows.row[i], bench_rows_best(&s->peers, &s->rows.row[i]));
    bench_print_peers(&s->rows, &s->peers);
    if (ferror(stdout) || fflush(stdout))
        return fault_set(fault, CLI_FAILED, "cannot write to standard output");
    return CLI_OK;
}

/* A drawing over the figures that it shows would be all that is left of them. */
static int differs(const char *plot, const char *file, fault *fault)
{
    place in, out;
    place_of(&in, file, STDIN_FILENO);
    place_of(&out, plot, STDOUT_FILENO);
    return place_same(&in, &out) ? fault_set(fault, CLI_BAD_INPUT, "--plot %s: is also read", plot) : CLI_OK;
}

int bench_show_main(int argc, char **argv, fault *fault)
{
    const char *plot = NULL;
    arg_texts against = {0};
    showing s = {0};
    arg args[] = {{"--plot", ARG_TEXT, &plot, 0, 0, 0},
                  {"--against", ARG_TEXTS, &against, 0, 0, 0},
                  {"--experiment", ARG_TEXT, &s.experiment, 0, 0, 0},
                  {"--name", ARG_TEXT, &s.name, 0, 0, 0},
                  {"--width", ARG_TEXT, &s.width, 0, 0, 0}};
    size_t rest;
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (!status && !rest)
        status = fault_set(fault, CLI_BAD_INPUT, "bench show needs a FILE that --json wrote");
    for (size_t i = 0; i < rest + against.n && !status; i++) {
        const char *file = i < rest ? argv[i] : against.text[i - rest];
        status = plot ? differs(plot, file, fault) : CLI_OK;
        if (!status)
            status = take(&s, file, i < rest ? "FILE" : "--against", fault);
    }
    if (!status)
        status = show(&s, plot, fault);
    bench_rows_free(&s.rows);
    bench_rows_free(&s.peers);
    return status;
}
