/* plot_svg.c: one panel as SVG: lines over an axis with a legend at the right, or bars. The y axis begins at
 * zero; x is logarithmic where it spans a factor of 16 and more. The limit that binds is a dashed line.
 * Colours follow the reader's light or dark scheme; peers' lines are dashed. */
#include "plot.h"

#include <math.h>
#include <string.h>

const double plot_width = 880;

enum {
    LEFT = 64,
    RIGHT = 540,
    LEGEND = 562,
    UNDER = 50,
    OVER = 46,
    TALL = 200,
    BAR = 24,
    BAR_LEFT = 270,
    BAR_RIGHT = 700
};

const char plot_style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1f2328}\n"
    ".ground{fill:#fff}.grid{stroke:#e4e8ec}.axis{stroke:#8a929b}.soft{fill:#59636e}\n"
    ".limit{stroke:#b8430f;stroke-dasharray:5 4}.mark{fill:#b8430f}\n"
    ".line{fill:none;stroke-width:2}.peer{stroke-dasharray:6 3}\n"
    ".c0{stroke:#2f6fde;fill:#2f6fde}.c1{stroke:#1a7f37;fill:#1a7f37}.c2{stroke:#bc4c00;fill:#bc4c00}\n"
    ".c3{stroke:#8250df;fill:#8250df}.c4{stroke:#bf3989;fill:#bf3989}.c5{stroke:#0e7490;fill:#0e7490}\n"
    ".c6{stroke:#7d6608;fill:#7d6608}.c7{stroke:#57606a;fill:#57606a}\n"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.grid{stroke:#262c36}\n"
    ".axis{stroke:#6e7681}.soft{fill:#9198a1}.limit{stroke:#ff9b5e}.mark{fill:#ff9b5e}\n"
    ".c0{stroke:#6cb0ff;fill:#6cb0ff}.c1{stroke:#4ac26b;fill:#4ac26b}.c2{stroke:#ffa657;fill:#ffa657}\n"
    ".c3{stroke:#c297ff;fill:#c297ff}.c4{stroke:#ff80c8;fill:#ff80c8}.c5{stroke:#56d4dd;fill:#56d4dd}\n"
    ".c6{stroke:#e3c94f;fill:#e3c94f}.c7{stroke:#afb8c1;fill:#afb8c1}}\n"
    ".line{fill:none}\n"
    "</style>\n";

typedef struct frame {
    const plot_panel *panel;
    output *file;
    fault *fault;
    double top, bottom, x_low, x_high, y_high;
    int logarithmic;
} frame;

double plot_panel_height(const plot_panel *p)
{
    if (p->axis == AXIS_NONE)
        return OVER + (double)BAR * (double)p->points + 20;
    double legend = 18 * (double)(p->series_count + 1);
    return OVER + (legend > TALL ? legend : TALL) + UNDER + 16;
}

static double step_of(double high)
{
    double power = pow(10, floor(log10(high / 5))), part = high / 5 / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static double x_scaled(const frame *f, double x)
{
    return f->logarithmic ? log(x) : x;
}

static double x_of(const frame *f, double x)
{
    if (f->x_high <= f->x_low)
        return (LEFT + RIGHT) / 2.0;
    return LEFT + 14 + (x_scaled(f, x) - f->x_low) / (f->x_high - f->x_low) * (RIGHT - LEFT - 28);
}

static double y_of(const frame *f, double y)
{
    return f->bottom - y / f->y_high * (f->bottom - f->top);
}

static frame frame_make(const plot_panel *p, double top, output *file, fault *fault)
{
    frame f = {p,        file,      fault, top + OVER, top + plot_panel_height(p) - UNDER - 16,
               INFINITY, -INFINITY, 0,     0};
    for (size_t i = 0; i < p->points; i++) {
        f.x_low = fmin(f.x_low, p->point[i].x);
        f.x_high = fmax(f.x_high, p->point[i].x);
        f.y_high = fmax(f.y_high, p->point[i].y);
    }
    f.logarithmic = p->axis != AXIS_LOAD && f.x_low > 0 && f.x_high / f.x_low >= 16;
    f.x_low = x_scaled(&f, f.x_low);
    f.x_high = x_scaled(&f, f.x_high);
    if (p->limit > f.y_high && p->limit < 2.5 * f.y_high)
        f.y_high = p->limit;
    f.y_high *= 1.06;
    return f;
}

/* 134217728 as "2^27", 10000 as "10k", 0.95 as it is. */
static const char *x_label(char to[32], double x)
{
    int power;
    if (x >= 4096 && frexp(x, &power) == 0.5)
        snprintf(to, 32, "2^%d", power - 1);
    else if (x >= 1e6)
        snprintf(to, 32, "%.3gM", x / 1e6);
    else if (x >= 1e4)
        snprintf(to, 32, "%.3gk", x / 1e3);
    else
        snprintf(to, 32, "%.4g", x);
    return to;
}

/* One tick, labelled if the last label is far enough away. */
static int x_tick(const frame *f, double x, double *last)
{
    char label[32];
    double at = x_of(f, x);
    int wide = at - *last >= 34;
    if (output_print(f->file, f->fault,
                     "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", at,
                     f->bottom, at, f->bottom + (wide ? 5 : 3)))
        return f->fault->status;
    if (!wide)
        return CLI_OK;
    *last = at;
    return output_print(
        f->file, f->fault,
        "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" font-size=\"12\" text-anchor=\"middle\">%s</text>\n", at,
        f->bottom + 19, x_label(label, x));
}

/* The least x above `low` that occurs; infinite if there is none. */
static double x_next(const plot_panel *p, double low)
{
    double x = INFINITY;
    for (size_t i = 0; i < p->points; i++)
        if (p->point[i].x > low + 1e-9)
            x = fmin(x, p->point[i].x);
    return x;
}

/* Ticks at tenths where many loads occur, else at each x. */
static int x_axis(const frame *f)
{
    const plot_panel *p = f->panel;
    double last = -1e9, x = -INFINITY;
    size_t distinct = 0;
    while (!isinf(x = x_next(p, x)))
        distinct++;
    int tenths = p->axis == AXIS_LOAD && distinct > 8, status = CLI_OK;
    for (int i = 0; tenths && i <= 10 && !status; i++)
        if (i / 10.0 >= f->x_low - 1e-9 && i / 10.0 <= f->x_high + 1e-9)
            status = x_tick(f, i / 10.0, &last);
    x = -INFINITY;
    while (!tenths && !status && !isinf(x = x_next(p, x)))
        status = x_tick(f, x, &last);
    return status
               ? status
               : output_print(
                     f->file, f->fault,
                     "<line class=\"axis\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n"
                     "<text x=\"%.1f\" y=\"%.1f\" font-size=\"13\" text-anchor=\"middle\">%s</text>\n",
                     LEFT, f->bottom, RIGHT, f->bottom, (LEFT + RIGHT) / 2.0, f->bottom + 38, p->axis_name);
}

static int y_axis(const frame *f)
{
    double step = step_of(f->y_high), middle = (f->top + f->bottom) / 2;
    for (double y = 0; y <= f->y_high; y += step)
        if (output_print(
                f->file, f->fault,
                "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n"
                "<text class=\"soft\" x=\"%d\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\">%.4g</text>\n",
                LEFT, y_of(f, y), RIGHT, y_of(f, y), LEFT - 8, y_of(f, y) + 4, y))
            return f->fault->status;
    return output_print(f->file, f->fault,
                        "<text x=\"18\" y=\"%.1f\" font-size=\"13\" text-anchor=\"middle\" "
                        "transform=\"rotate(-90 18 %.1f)\">%s"
                        "</text>\n",
                        middle, middle, f->panel->unit);
}

static int limit_line(const frame *f)
{
    const plot_panel *p = f->panel;
    if (!(p->limit > 0) || p->limit > f->y_high)
        return CLI_OK;
    return output_print(f->file, f->fault,
                        "<line class=\"limit\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n"
                        "<text class=\"mark\" x=\"%d\" y=\"%.1f\" font-size=\"12\">limit %s: %.3g</text>\n",
                        LEFT, y_of(f, p->limit), RIGHT, y_of(f, p->limit), LEFT + 6, y_of(f, p->limit) - 5,
                        p->limit_name, p->limit);
}

static int series_line(const frame *f, size_t s)
{
    const plot_panel *p = f->panel;
    const char *class = p->series[s].peer ? " peer" : "";
    int status = output_print(f->file, f->fault, "<polyline class=\"c%zu line%s\" points=\"", s % 8, class);
    for (size_t i = 0; i < p->points && !status; i++)
        if (p->point[i].series == s)
            status =
                output_print(f->file, f->fault, "%.1f,%.1f ", x_of(f, p->point[i].x), y_of(f, p->point[i].y));
    return status ? status : output_print(f->file, f->fault, "\"/>\n");
}

static int series_points(const frame *f, size_t s)
{
    const plot_panel *p = f->panel;
    char text[512], label[32];
    int status = CLI_OK;
    for (size_t i = 0; i < p->points && !status; i++)
        if (p->point[i].series == s)
            status = output_print(f->file, f->fault,
                                  "<circle class=\"c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"><title>%s at %s: "
                                  "%.4g %s</title></circle>\n",
                                  s % 8, x_of(f, p->point[i].x), y_of(f, p->point[i].y),
                                  plot_text(text, p->point[i].label), x_label(label, p->point[i].x),
                                  p->point[i].y, p->unit);
    return status;
}

static int legend_line(const frame *f, size_t s)
{
    const plot_panel *p = f->panel;
    char text[512];
    double y = f->top + 6 + 18 * (double)s;
    return output_print(f->file, f->fault,
                        "<line class=\"c%zu line%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n"
                        "<text x=\"%d\" y=\"%.1f\" font-size=\"12\">%s</text>\n",
                        s % 8, p->series[s].peer ? " peer" : "", LEGEND, y, LEGEND + 20, y, LEGEND + 27,
                        y + 4, plot_text(text, p->series[s].label));
}

static int lines_draw(const plot_panel *p, double top, output *file, fault *fault)
{
    frame f = frame_make(p, top, file, fault);
    int status = y_axis(&f) || x_axis(&f) || limit_line(&f) ? fault->status : CLI_OK;
    for (size_t s = 0; s < p->series_count && !status; s++)
        status = series_line(&f, s) || series_points(&f, s) || legend_line(&f, s) ? fault->status : CLI_OK;
    if (!status && p->left_out)
        status = output_print(
            file, fault,
            "<text class=\"soft\" x=\"%d\" y=\"%.1f\" font-size=\"12\">and %zu points more</text>\n", LEGEND,
            f.top + 10 + 18 * (double)p->series_count, p->left_out);
    return status;
}

/* A bar for each figure, with a mark where its limit is. */
static int bars_draw(const plot_panel *p, double top, output *file, fault *fault)
{
    char text[512];
    double most = 0, y = top + OVER;
    for (size_t i = 0; i < p->points; i++) {
        const bench_row *row = p->point[i].row;
        most = fmax(most, fmax(p->point[i].y, row->limit * row->scale));
    }
    for (size_t i = 0; i < p->points; i++, y += BAR) {
        const bench_row *row = p->point[i].row;
        double wide = p->point[i].y / most * (BAR_RIGHT - BAR_LEFT),
               limit = BAR_LEFT + row->limit * row->scale / most * (BAR_RIGHT - BAR_LEFT);
        int status = output_print(
            file, fault,
            "<text x=\"%d\" y=\"%.1f\" font-size=\"13\" text-anchor=\"end\">%s</text>\n"
            "<rect class=\"c%d\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n"
            "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" font-size=\"12\">%.4g %s</text>\n",
            BAR_LEFT - 10, y + 13, plot_text(text, p->point[i].label), *row->peer ? 7 : 0, BAR_LEFT, y, wide,
            BAR - 8, fmax(BAR_LEFT + wide, row->limit > 0 ? limit : 0) + 8, y + 13, p->point[i].y, p->unit);
        if (!status && row->limit > 0)
            status = output_print(file, fault,
                                  "<line class=\"limit\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                                  "y2=\"%.1f\"><title>limit %s: %.4g %s"
                                  "</title></line>\n",
                                  limit, y - 3, limit, y + BAR - 5, plot_text(text, row->limit_name),
                                  row->limit * row->scale, row->unit);
        if (status)
            return status;
    }
    return CLI_OK;
}

int plot_panel_draw(const plot_panel *p, double top, output *file, fault *fault)
{
    char title[512], fixed[512];
    int status = output_print(
        file, fault,
        "<text x=\"24\" y=\"%.1f\" font-size=\"15\" font-weight=\"600\">%s"
        "<tspan class=\"soft\" font-size=\"12\" font-weight=\"400\" dx=\"10\">%s</tspan></text>\n",
        top + 26, plot_text(title, p->title), plot_text(fixed, p->fixed));
    if (status)
        return status;
    return p->axis == AXIS_NONE ? bars_draw(p, top, file, fault) : lines_draw(p, top, file, fault);
}
