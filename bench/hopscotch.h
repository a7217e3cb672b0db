/* hopscotch.h: the experiments of `cohort bench hopscotch`, and what they share. */
#ifndef COHORT_BENCH_HOPSCOTCH_H
#define COHORT_BENCH_HOPSCOTCH_H

#include "columns.h"
#include "mix.h"

enum { HOP_SIZES = 16, HOP_LOADS = 16, HOP_EXPONENTS = 8 };

/* What the command asked for, with defaults filled in. */
typedef struct hop_plan {
    bench *b;
    const char *peers;
    uint64_t n[HOP_SIZES];
    size_t n_count;
    double load[HOP_LOADS];
    size_t load_count;
    double exponent[HOP_EXPONENTS]; /* of Zipf's law */
    size_t exponent_count;
    const width_name *width;
    int lines, pages; /* layouts that are measured */
    int statics;      /* tables of `static` can be of the width */
    int quick, runs_given;
    uint64_t row_seconds; /* that a row of streams, ours or a peer's, may take */
} hop_plan;

/* Streams on one range of keys. */
typedef struct hop_setting {
    const char *experiment, *at_name;
    double at;
    uint64_t n, range; /* operations, and keys of which half are in */
    /* Of that half in its table; BENCH_NO_LOAD: there is room for all of the range. LINES are fixed, pages
     * grow. */
    double load;
    double exponent;  /* of Zipf's law; 0: uniform */
    int finds, mixes; /* which rows */
} hop_setting;

/* Our rows of a setting, and before them the peers'. */
int hop_measure(const hop_plan *plan, const hop_setting *setting, fault *fault);

/* Rounds that each replace a share of the keys: a fixed table of LINES at `load`, and pages. */
int hop_age(const hop_plan *plan, uint64_t pairs, double load, double share, uint64_t rounds, fault *fault);

/* Tables that are built once and then read, beside linear, quadratic and cuckoo tables, at memory use 0.8. */
int hop_static(const hop_plan *plan, fault *fault);

/* A map of the layout for `pairs` at `load`: LINES are fixed, pages grow. */
cohort_status hop_open(const hop_plan *plan, cohort_layout layout, uint64_t pairs, double load,
                       cohort_map **map);
const char *hop_layout_name(cohort_layout layout);
/* The table's bytes bind by R; extras tell its load and what LINES did. */
int hop_row_finish(const hop_plan *plan, bench_row *row, cohort_map *map, double operations, fault *fault);
/* A wrong answer ends the bench. */
int hop_wrong(const bench_row *row, const char *wrong, fault *fault);

#endif
