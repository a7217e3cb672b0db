/* plot.c: rows into panels.
 *
 * Rows of one experiment, name and width make a panel of lines over that of load, place, n and threads which
 * has the most different values among them; what else differs tells the lines apart. Names where nothing
 * differs become bars, all those of one experiment and width in one panel. Peers' figures for the same things
 * are lines or bars beside ours. Where a row tells what sectors an operation touches, so does its label. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double plot_value(const bench_row *row, plot_axis axis)
{
    return axis == AXIS_LOAD      ? row->load
           : axis == AXIS_AT      ? row->at
           : axis == AXIS_N       ? (double)row->n
           : axis == AXIS_THREADS ? (double)row->threads
                                  : 0;
}

static int same_name(const bench_row *a, const bench_row *b)
{
    return !strcmp(a->experiment, b->experiment) && !strcmp(a->width, b->width) &&
           !strcmp(a->name, b->name) && !strcmp(a->at_name, b->at_name);
}

enum { MANY = 32 };

/* How many different values the rows of the name of `like` have, up to MANY. */
static size_t values_of(const bench_rows *rows, const bench_row *like, plot_axis axis)
{
    double value[MANY];
    size_t count = 0;
    for (size_t i = 0; i < rows->count && count < MANY; i++) {
        double here = plot_value(&rows->row[i], axis);
        size_t k = 0;
        if (!same_name(&rows->row[i], like))
            continue;
        while (k < count && fabs(value[k] - here) > 1e-9)
            k++;
        value[k] = here;
        count += k == count;
    }
    return count;
}

static int differs(const bench_rows *rows, const bench_row *like, plot_axis axis)
{
    return values_of(rows, like, axis) > 1;
}

static int variants_differ(const bench_rows *rows, const bench_row *like)
{
    for (size_t i = 0; i < rows->count; i++)
        if (same_name(&rows->row[i], like) && strcmp(rows->row[i].variant, like->variant))
            return 1;
    return 0;
}

static int keys_differ(const bench_rows *rows, const bench_row *like)
{
    for (size_t i = 0; i < rows->count; i++)
        if (same_name(&rows->row[i], like) && strcmp(rows->row[i].keys, like->keys))
            return 1;
    return 0;
}

static plot_axis axis_of(const bench_rows *rows, const bench_row *like)
{
    plot_axis best = AXIS_NONE;
    size_t most = 1;
    for (plot_axis axis = AXIS_LOAD; axis <= AXIS_THREADS; axis++)
        if (values_of(rows, like, axis) > most) {
            most = values_of(rows, like, axis);
            best = axis;
        }
    return best;
}

/* "load 0.5": the value with what it is. */
static void value_text(char *to, size_t room, const bench_row *row, plot_axis axis)
{
    char number[TEXT_NUMBER_BYTES];
    double value = plot_value(row, axis);
    *to = 0;
    if (axis == AXIS_LOAD && value >= 0)
        snprintf(to, room, "load %g", value);
    else if (axis == AXIS_AT && *row->at_name)
        snprintf(to, room, "%s %g", row->at_name, value);
    else if (axis == AXIS_N)
        snprintf(to, room, "n = %s", text_grouped(number, row->n));
    else if (axis == AXIS_THREADS && row->threads)
        snprintf(to, room, "%s thread%s", text_grouped(number, row->threads), row->threads > 1 ? "s" : "");
}

static void append(char *to, size_t room, const char *text)
{
    size_t n = strlen(to);
    if (*text && n < room)
        snprintf(to + n, room - n, "%s%s", n ? ", " : "", text);
}

/* Sectors stand beside the name of a line or bar. */
static void sectors_append(char *to, size_t room, const bench_row *row)
{
    char part[32];
    const double sectors = bench_extra_get(row, BENCH_SECTORS);
    snprintf(part, sizeof part, "%.2f sectors", sectors);
    if (sectors > 0)
        append(to, room, part);
}

/* What tells a line from the others of its panel, or what all of them share. A peer's line has no variant of
 * ours. */
static void label_make(char *to, size_t room, const bench_rows *rows, const bench_row *row, plot_axis axis,
                       int shared, int peer)
{
    char part[64];
    *to = 0;
    if (!peer && variants_differ(rows, row) != shared)
        append(to, room, row->variant);
    if (keys_differ(rows, row) != shared)
        append(to, room, row->keys);
    for (plot_axis a = AXIS_LOAD; a <= AXIS_THREADS; a++) {
        value_text(part, sizeof part, row, a);
        if (a != axis && differs(rows, row, a) != shared)
            append(to, room, part);
    }
}

/* ---- panels -------------------------------------------------------------------------------------------- */

static int point_add(plot_panel *p, const bench_row *row, double x, double scale, const char *label,
                     fault *fault)
{
    size_t s = 0;
    while (s < p->series_count && strcmp(p->series[s].label, label))
        s++;
    if (s == PLOT_SERIES && p->axis != AXIS_NONE) {
        p->left_out++;
        return CLI_OK;
    }
    if (p->points == p->room) {
        p->room = p->room ? 2 * p->room : 32;
        plot_point *more = realloc(p->point, p->room * sizeof *more);
        if (!more)
            return fault_set(fault, CLI_FAILED, "--plot: no memory for %zu points", p->room);
        p->point = more;
    }
    if (s == p->series_count && s < PLOT_SERIES) {
        snprintf(p->series[s].label, sizeof p->series[s].label, "%s", label);
        p->series[s].peer = *row->peer != 0;
        p->series_count++;
    }
    plot_point *to = &p->point[p->points++];
    *to = (plot_point){row, x, row->median * scale, s, ""};
    snprintf(to->label, sizeof to->label, "%s", label);
    return CLI_OK;
}

static int has(const plot_panel *p, const bench_row *row, double x)
{
    for (size_t i = 0; i < p->points; i++)
        if (p->point[i].row == row && fabs(p->point[i].x - x) < 1e-9)
            return 1;
    return 0;
}

/* What the best of the peers is called in a panel of several lines: its name, if it is the same one at all
 * places. */
static const char *best_named(const bench_rows *rows, const bench_rows *peers, const bench_row *row)
{
    const char *name = bench_rows_best(peers, row)->peer;
    for (size_t i = 0; i < rows->count; i++) {
        const bench_row *best = same_name(&rows->row[i], row) ? bench_rows_best(peers, &rows->row[i]) : NULL;
        if (best && strcmp(best->peer, name))
            return "best of others";
    }
    return name;
}

/* A row of ours, and the peers' beside it; only the best of them where the panel has several lines of
 * ours. */
static int row_add(plot_panel *p, const bench_rows *rows, const bench_rows *peers, const bench_row *row,
                   fault *fault)
{
    char own[96], label[96];
    int crowded = keys_differ(rows, row) && p->axis != AXIS_NONE;
    double x = plot_value(row, p->axis);
    label_make(own, sizeof own, rows, row, p->axis, 0, 0);
    if (p->axis == AXIS_NONE) {
        snprintf(own, sizeof own, "%s", row->name);
        append(own, sizeof own, row->variant);
        append(own, sizeof own, row->keys);
    }
    sectors_append(own, sizeof own, row);
    int status = point_add(p, row, x, row->scale, *own ? own : "cohort", fault);
    for (size_t i = 0; i < peers->count && !status; i++) {
        const bench_row *peer = &peers->row[i];
        if (!bench_row_same(peer, row) || (crowded && peer != bench_rows_best(peers, row)) || has(p, peer, x))
            continue;
        snprintf(label, sizeof label, "%s", crowded ? best_named(rows, peers, row) : peer->peer);
        label_make(own, sizeof own, rows, row, p->axis, 0, 1);
        if (p->axis != AXIS_NONE)
            append(label, sizeof label, own);
        status = point_add(p, peer, x, row->scale, label, fault);
    }
    return status;
}

static void limit_find(plot_panel *p)
{
    p->limit = 0;
    for (size_t i = 0; i < p->points; i++) {
        const bench_row *row = p->point[i].row;
        if (*row->peer)
            continue;
        double limit = row->limit * row->scale;
        if (p->limit > 0 && fabs(limit - p->limit) > 0.01 * p->limit) {
            p->limit = 0;
            return;
        }
        p->limit = limit;
        snprintf(p->limit_name, sizeof p->limit_name, "%s", row->limit_name);
    }
}

static int by_x(const void *a, const void *b)
{
    const plot_point *p = a, *q = b;
    if (p->series != q->series)
        return p->series < q->series ? -1 : 1;
    return (p->x > q->x) - (p->x < q->x);
}

static void panel_name(plot_panel *p, const bench_rows *rows, const bench_row *row)
{
    static const char *const names[] = {"", "load", "", "n", "threads"};
    const char *what = p->axis == AXIS_NONE ? row->experiment : row->name;
    snprintf(p->title, sizeof p->title, "%s%s%s", what, *row->width ? ", " : "", row->width);
    if (p->axis != AXIS_NONE)
        label_make(p->fixed, sizeof p->fixed, rows, row, p->axis, 1, 0);
    if (bench_extra_get(row, BENCH_SECTORS) > 0)
        append(p->fixed, sizeof p->fixed, "sectors: of the table, an operation, on the simulated GPU");
    snprintf(p->axis_name, sizeof p->axis_name, "%s", p->axis == AXIS_AT ? row->at_name : names[p->axis]);
    snprintf(p->unit, sizeof p->unit, "%s", row->unit);
}

/* What all bars of ours share. */
static void bars_fixed(plot_panel *p)
{
    const bench_row *first = p->point[0].row;
    for (plot_axis a = AXIS_LOAD; a <= AXIS_THREADS; a++) {
        char part[64];
        int same = 1;
        for (size_t i = 1; i < p->points; i++)
            same = same && (*p->point[i].row->peer ||
                            fabs(plot_value(p->point[i].row, a) - plot_value(first, a)) < 1e-9);
        value_text(part, sizeof part, first, a);
        if (same)
            append(p->fixed, sizeof p->fixed, part);
    }
}

/* Whether the two belong into one panel. */
static int together(const bench_rows *rows, const bench_row *a, const bench_row *b, plot_axis axis)
{
    if (axis != AXIS_NONE)
        return same_name(a, b);
    return !strcmp(a->experiment, b->experiment) && !strcmp(a->width, b->width) &&
           !strcmp(a->unit, b->unit) && axis_of(rows, b) == AXIS_NONE;
}

static int panel_make(plot_panel *p, const bench_rows *rows, const bench_rows *peers, size_t first,
                      unsigned char *taken, fault *fault)
{
    const bench_row *like = &rows->row[first];
    *p = (plot_panel){.axis = axis_of(rows, like)};
    panel_name(p, rows, like);
    for (size_t i = first; i < rows->count; i++) {
        if (taken[i] || !together(rows, like, &rows->row[i], p->axis))
            continue;
        taken[i] = 1;
        if (row_add(p, rows, peers, &rows->row[i], fault))
            return fault->status;
    }
    limit_find(p);
    if (p->axis == AXIS_NONE)
        bars_fixed(p);
    if (p->axis != AXIS_NONE)
        qsort(p->point, p->points, sizeof *p->point, by_x);
    return CLI_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

const char *plot_text(char to[512], const char *text)
{
    size_t n = 0;
    for (; *text && n + 8 < 512; text++) {
        const char *word = *text == '<'   ? "&lt;"
                           : *text == '>' ? "&gt;"
                           : *text == '&' ? "&amp;"
                           : *text == '"' ? "&quot;"
                                          : NULL;
        if (word)
            n += (size_t)snprintf(to + n, 8, "%s", word);
        else
            to[n++] = *text;
    }
    to[n] = 0;
    return to;
}

enum { HEAD = 62 };

static int draw(const plot_panel *panels, size_t count, const char *under, output *file, fault *fault)
{
    char text[512];
    double height = HEAD + 10, top = HEAD;
    for (size_t i = 0; i < count; i++)
        height += plot_panel_height(&panels[i]);
    int status = output_print(
        file, fault,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "role=\"img\" "
        "aria-label=\"Measurements of cohort\">\n<title>Measurements of cohort</title>\n%s"
        "<rect class=\"ground\" width=\"%.0f\" height=\"%.0f\" rx=\"6\"/>\n"
        "<text x=\"24\" y=\"30\" font-size=\"17\" font-weight=\"600\">cohort, measured</text>\n"
        "<text class=\"soft\" x=\"24\" y=\"50\" font-size=\"13\">%s</text>\n",
        plot_width, height, plot_width, height, plot_style, plot_width, height, plot_text(text, under));
    for (size_t i = 0; i < count && !status; i++) {
        status = plot_panel_draw(&panels[i], top, file, fault);
        top += plot_panel_height(&panels[i]);
    }
    return status ? status : output_print(file, fault, "</svg>\n");
}

int bench_plot_write(const bench_rows *rows, const bench_rows *peers, const char *under, output *file,
                     fault *fault)
{
    size_t count = 0;
    plot_panel *panels = calloc(rows->count + 1, sizeof *panels);
    unsigned char *taken = calloc(rows->count + 1, 1);
    int status = panels && taken
                     ? CLI_OK
                     : fault_set(fault, CLI_FAILED, "--plot: no memory for %zu panels", rows->count);
    for (size_t i = 0; i < rows->count && !status; i++)
        if (!taken[i])
            status = panel_make(&panels[count++], rows, peers, i, taken, fault);
    if (!status)
        status = draw(panels, count, under, file, fault);
    for (size_t i = 0; i < count; i++)
        free(panels[i].point);
    free(panels);
    free(taken);
    return status;
}
