/* bench.h: what the measurements share: how something is timed, the rows of figures, the table, the JSON.
 *
 * A measurement is timed by the context's own clock, several times after a warm-up; a row keeps the median, the least and the
 * greatest rate. Rows say which limit of the machine binds them, measured in the same run, and print the ratio to it. */
#ifndef COHORT_BENCH_H
#define COHORT_BENCH_H

#include "../cli/output.h"

enum { BENCH_RUNS_MOST = 32, BENCH_LIMITS = 9 };

typedef struct bench_row {
    char name[40];   /* "map find" */
    char width[8];   /* "32/32"; "" where there is none */
    char keys[40];   /* what the keys are: "all there", "zipf 1.0" */
    uint64_t n;      /* entries */
    double load;     /* of the table; 0 where there is none */
    double scale;    /* printed: rate x scale, in `unit` */
    const char *unit;
    double median, least, most; /* rates a second */
    double limit;               /* the rate of the limit that binds; 0: none named */
    const char *limit_name;
    size_t runs;
} bench_row;

typedef struct bench {
    cohort_context *context;
    cohort_context_info info;
    cohort_limits limits;
    cohort_timer *timer;
    const char *command;
    size_t runs;  /* timed runs of each measurement */
    int print;    /* rows are printed as they come */
    bench_row *rows;
    size_t count, room;
} bench;

/* Context, limits (if `limits`) and timer. `command` is what the report says was run. */
int bench_open(bench *b, const char *device, uint64_t threads, int limits, uint64_t table_bytes, fault *fault);
void bench_close(bench *b);

/* Times work(arg) `runs` times, prepare(arg) before each (untimed, may be NULL), and adds the row: `row` with its rates
 * filled in, items / seconds. A failing call ends it: its status goes to `fault`. */
typedef cohort_status (*bench_work)(void *arg);
int bench_measure(bench *b, const bench_row *row, double items, bench_work prepare, bench_work work, void *arg,
                  fault *fault);

/* Adds a row whose rates are known. */
int bench_add(bench *b, const bench_row *row, fault *fault);

/* Names and values of the limits, for the table and the JSON. */
typedef struct bench_limit {
    const char *name, *key, *unit;
    double value, scale;
} bench_limit;
void bench_limits_list(bench_limit list[BENCH_LIMITS], const cohort_limits *limits);

void bench_print_machine(const bench *b);
int bench_write_json(const bench *b, output *file, fault *fault);

/* Every ordinary fault of the library in a bench. */
int bench_fault(bench *b, cohort_status status, const char *doing, fault *fault);

/* ---- the measurements -------------------------------------------------------------------------------------------- */

int bench_map_main(int argc, char **argv, fault *fault);
int bench_limits_main(int argc, char **argv, fault *fault);
extern const char bench_map_help[];

#endif
