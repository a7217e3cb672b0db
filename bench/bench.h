/* bench.h: what the measurements share: how something is timed, the rows of figures, the table, the JSON.
 *
 * A measurement is timed by the context's own clock, several times after a warm-up; a row keeps the
 * median, the least and the greatest rate. Rows say which limit of the machine binds them, measured in the
 * same run, and print the ratio to it, and to the best figure of others where there is one: read from
 * files (--against) or measured by the peers' programs in the same run. Two rows are of the same thing if
 * their name, width, keys, n, load, threads, place (`at`) and variant agree; a row without a load or a
 * variant (others may not have one to set) agrees with every one. */
#ifndef COHORT_BENCH_H
#define COHORT_BENCH_H

#include "../cli/output.h"

enum { BENCH_RUNS_MOST = 32, BENCH_LIMITS = 9, BENCH_EXTRAS = 12, BENCH_PATH = 4096 };

#define BENCH_NO_LOAD (-1.0)
#define BENCH_SECTORS "GPU sectors" /* an extra: that an operation touches of a table, 32 bytes each */
#define BENCH_PREFIX  "prefix" /* an extra: of so many of the n entries, since all would have taken too long */

typedef struct bench_extra {
    char name[24];
    double value;
} bench_extra;

typedef struct bench_row {
    char experiment[24]; /* "operations" */
    char name[40];       /* "map find" */
    char width[8];       /* "32/32"; "" where there is none */
    char keys[40];       /* what the keys are: "all there", "zipf" */
    char variant[24];    /* one of several ways to do it: "look-back"; "" where there is one */
    char at_name[24];    /* what `at` is: "group size", "values a key"; "" where there is none */
    double at;
    uint64_t n;       /* entries */
    uint64_t threads; /* of the CPU; 0 on a GPU */
    double load;      /* of the table; BENCH_NO_LOAD where there is none */
    double scale;     /* printed: rate x scale, in `unit` */
    char unit[12];
    double median, least, most; /* rates a second */
    uint64_t runs;
    double limit; /* the rate of the limit that binds; 0: none named */
    char limit_name[24];
    bench_extra extras[BENCH_EXTRAS]; /* further figures of the row; those without a name are not there */
    char peer[48], version[48], date[16], machine[80]; /* whose figure it is; all "" for our own */
    int here;                                          /* measured in this run */
} bench_row;

typedef struct bench_rows {
    bench_row *row;
    size_t count, room;
} bench_rows;

/* A context with what belongs to it. */
typedef struct bench_device {
    cohort_context *context;
    cohort_context_info info;
    cohort_limits limits;
    cohort_timer *timer;
    int cpu;
} bench_device;

/* The options that every measurement takes. */
typedef struct bench_options {
    const char *device, *json, *plot;
    arg_texts against;
    uint64_t threads, runs, table_bytes;
    int quick;
} bench_options;

#define BENCH_ARGS(o)                                                                                  \
    {"--device", ARG_TEXT, &(o).device, 0, 0, 0}, {"--threads", ARG_NUMBER, &(o).threads, 1, 1024, 0}, \
        {"--json", ARG_TEXT, &(o).json, 0, 0, 0}, {"--plot", ARG_TEXT, &(o).plot, 0, 0, 0},            \
        {"--against", ARG_TEXTS, &(o).against, 0, 0, 0}, {"--quick", ARG_FLAG, &(o).quick, 0, 0, 0},   \
        {"--runs", ARG_NUMBER, &(o).runs, 1, BENCH_RUNS_MOST, 0},                                      \
    {                                                                                                  \
        "--table-bytes", ARG_SIZE, &(o).table_bytes, 65536, UINT64_MAX, 0                              \
    }

typedef struct bench {
    bench_device dev;
    const bench_options *options;
    char command[512];
    char date[16]; /* 2026-11-21 */
    uint64_t runs; /* timed runs of each measurement */
    int print;     /* rows are printed as they come */
    int headed;    /* the table's heading has been printed */
    bench_rows rows, peers;
    output *json, *plot;
} bench;

/* ---- a run: opened, measured, reported (run.c) --------------------------------------------------------- */

/* What the report says was run: the arguments, without the files that are read and written, which mean
 * something on this machine only. */
void bench_command_set(bench *b, const char *name, int argc, char **argv);
/* Opens the outputs, reads --against, makes the context, measures its limits (if `limits`), prints the
 * machine. */
int bench_begin(bench *b, const bench_options *options, int limits, fault *fault);
/* Prints who the peers are, and writes the JSON and the plot. */
int bench_end(bench *b, fault *fault);
/* Frees everything; also after a fault. */
void bench_close(bench *b);

/* `table_bytes` as in cohort_limits; limits are measured if `limits`. */
int bench_device_open(bench_device *d, const char *device, uint64_t threads, int limits, uint64_t table_bytes,
                      fault *fault);
void bench_device_close(bench_device *d);

/* ---- timing (run.c) ------------------------------------------------------------------------------------ */

typedef cohort_status (*bench_work)(void *arg);

typedef struct bench_job {
    bench_work prepare; /* before each run, not timed; may be NULL */
    bench_work work;
    void *arg;
    double items;    /* of one call of work */
    unsigned repeat; /* calls of work in one timed run, for what is over too soon; 0 is 1 */
    int wall;        /* by the host's clock: work that allocates, copies and waits */
} bench_job;

/* The middle one of n numbers, which it puts in order; of two in the middle the greater one. */
double bench_median(double *list, uint64_t n);

/* Times the job b->runs times after a warm-up and adds `row` with its rates filled in. A failing call ends
 * it. */
int bench_measure(bench *b, const bench_row *row, const bench_job *job, fault *fault);

/* The first half of it: the seconds of each run, in their order. */
int bench_time(bench *b, const bench_row *row, const bench_job *job, double *seconds, fault *fault);

/* The same for a measurement that times itself: `seconds` of each run, `items` in each. Sorts `seconds`.
 * An extra figure that is called "ms" becomes the median time. */
int bench_add_times(bench *b, const bench_row *row, double items, double *seconds, uint64_t runs,
                    fault *fault);

/* A row with its name, width (may be NULL) and keys, in G/s (CPU: M/s), without load or limit, on the
 * bench's device. */
bench_row bench_row_make(const bench *b, const char *experiment, const char *name, const char *width,
                         const char *keys);

/* Adds a row whose rates are known, and prints it. */
int bench_add(bench *b, const bench_row *row, fault *fault);
void bench_extra_set(bench_row *row, const char *name, double value);
double bench_extra_get(const bench_row *row, const char *name); /* 0 if it is not there */

/* What random accesses to a table of `bytes` are bound by: 'R', random reads, or 'C', compare-and-swaps;
 * those of the last cache if it fits in half of it. */
void bench_row_limit(const bench_device *d, bench_row *row, char bound, uint64_t bytes);

/* One line of text for people; nothing if only JSON is asked for. */
void bench_say(const bench *b, const char *format, ...) CLI_PRINTF(2, 3);

/* Every ordinary fault of the library in a bench. */
int bench_fault(const bench *b, cohort_status status, const char *doing, fault *fault);

/* ---- rows (rows.c) ------------------------------------------------------------------------------------- */

int bench_rows_add(bench_rows *rows, const bench_row *row, fault *fault);
void bench_rows_free(bench_rows *rows);
/* The fastest row of `peers` that is of the same thing, or NULL. */
const bench_row *bench_rows_best(const bench_rows *peers, const bench_row *row);
int bench_row_same(const bench_row *a, const bench_row *b);
/* "map find 32/32, all there, n = 1,048,576, load 0.5" */
const char *bench_row_text(char to[256], const bench_row *row);

/* ---- the peers' programs (peers.c) --------------------------------------------------------------------- */

/* Where they are: `given` (--peers), or beside this program if `usual`. *found is NULL if none is to be
 * run. */
int bench_peers_find(const bench *b, const char *given, int usual, char folder[BENCH_PATH],
                     const char **found, fault *fault);
/* Runs each program there whose name begins with peer_, with these arguments (up to a NULL) after
 * --experiment. Its rows go among the peers. A program that fails is told of, and does not end the bench. */
int bench_peers_run(bench *b, const char *folder, const char *experiment, const char *const *arguments,
                    fault *fault);

/* The same of one of them, if it is there. */
int bench_peer_run(bench *b, const char *folder, const char *name, const char *experiment,
                   const char *const *arguments, fault *fault);

/* ---- options that are lists (lists.c) ------------------------------------------------------------------ */

/* The next word of a list, cut at 31 letters; 0 at the end. */
int bench_list_next(const char **list, char word[32]);
/* Does the list hold the word? No list (NULL) holds every word. */
int bench_listed(const char *list, const char *word);
int bench_numbers_take(const char *option, const char *list, double least, double most, double *out,
                       size_t room, size_t *count, fault *fault);
/* The same, as whole numbers, which may end in K, M or G like sizes. */
int bench_wholes_take(const char *option, const char *list, double least, double most, uint64_t *out,
                      size_t room, size_t *count, fault *fault);
/* Each word's index among `names`; `out` has room for as many as there are names. */
int bench_names_take(const char *option, const char *list, const char *const *names, size_t names_count,
                     unsigned *out, size_t *count, fault *fault);

/* ---- the table (table.c) ------------------------------------------------------------------------------- */

typedef struct bench_limit {
    const char *name, *key, *unit;
    double value, scale;
} bench_limit;
void bench_limits_list(bench_limit list[BENCH_LIMITS], const cohort_limits *limits);
void bench_print_machine(const bench_device *d);
void bench_print_heading(void);
void bench_print_row(const bench_row *row, const bench_row *best);
void bench_print_peers(const bench_rows *rows, const bench_rows *peers);

/* ---- JSON (json.c, results.c) -------------------------------------------------------------------------- */

int bench_write_json(const bench *b, output *file, fault *fault);

/* What a file of ours says. Reading needs libjansson when the tool is built; without it the fault says so. */
typedef struct bench_results {
    bench_rows rows;
    char device[80], commit[48], date[16], command[512];
    double limits[BENCH_LIMITS]; /* in the order of bench_limits_list; 0: not told */
} bench_results;
int bench_results_read(bench_results *results, const char *path, const char *argument, fault *fault);
/* The same from memory; `from` is what faults call it. */
int bench_results_parse(bench_results *results, const char *text, size_t bytes, const char *from,
                        fault *fault);
int bench_results_possible(void);

/* ---- drawings (plot.c) --------------------------------------------------------------------------------- */

/* The rows and, beside them, those of the peers that are of the same things. */
int bench_plot_write(const bench_rows *rows, const bench_rows *peers, const char *under, output *file,
                     fault *fault);

/* ---- the measurements ---------------------------------------------------------------------------------- */

int bench_limits_main(int argc, char **argv, fault *fault);
int bench_map_main(int argc, char **argv, fault *fault);
int bench_hopscotch_main(int argc, char **argv, fault *fault);
int bench_multisplit_main(int argc, char **argv, fault *fault);
int bench_set_main(int argc, char **argv, fault *fault);
int bench_sort_main(int argc, char **argv, fault *fault);
int bench_table_main(int argc, char **argv, fault *fault);
int bench_count_main(int argc, char **argv, fault *fault);
int bench_compare_main(int argc, char **argv, fault *fault);
int bench_show_main(int argc, char **argv, fault *fault);
/* fold.c: text whose lines end at a blank before they are longer than 110 columns; but rows of tables. */
void bench_fold(const char *text, FILE *out);

int bench_pages_main(int argc, char **argv, fault *fault);

#endif
