/* plot.h: between rows and drawing: panels, each one chart. */
#ifndef COHORT_BENCH_PLOT_H
#define COHORT_BENCH_PLOT_H

#include "bench.h"

enum { PLOT_SERIES = 16 };

typedef enum plot_axis { AXIS_NONE, AXIS_LOAD, AXIS_AT, AXIS_N, AXIS_THREADS } plot_axis; /* NONE: bars */

typedef struct plot_point {
    const bench_row *row; /* ours or a peer's */
    double x, y;
    size_t series;
    char label[96]; /* of a bar */
} plot_point;

typedef struct plot_series {
    char label[96];
    int peer;
} plot_series;

typedef struct plot_panel {
    plot_axis axis;
    char title[160], fixed[160], axis_name[32], unit[12];
    plot_point *point; /* those of a series lie in the order of x */
    size_t points, room;
    plot_series series[PLOT_SERIES];
    size_t series_count, left_out;
    double limit; /* of all points, as y; 0 if they differ */
    char limit_name[24];
} plot_panel;

double plot_value(const bench_row *row, plot_axis axis);

/* One panel's drawing, its upper edge at `top`. */
double plot_panel_height(const plot_panel *panel);
int plot_panel_draw(const plot_panel *panel, double top, output *file, fault *fault);
extern const double plot_width;
extern const char plot_style[];

/* Letters that mean something in XML are written as such. */
const char *plot_text(char to[512], const char *text);

#endif
