/* map.h: the experiments of `cohort bench map`, and what they share. */
#ifndef COHORT_BENCH_MAP_H
#define COHORT_BENCH_MAP_H

#include "columns.h"

enum { MAP_SIZES = 16, MAP_LOADS = 24 };

/* What the command asked for, with defaults filled in. */
typedef struct map_plan {
    bench *b;
    const char *only; /* rows whose name holds one of these; NULL: all */
    const char *peers;
    uint64_t n[MAP_SIZES]; /* pairs */
    size_t n_count;
    double load[MAP_LOADS];
    size_t load_count;
    const width_name *width[WIDTHS];
    size_t width_count;
    int n_given, load_given, width_given;
    cohort_layout layout; /* of the maps that map_open makes */
    int quick;
} map_plan;

/* One experiment: measures its rows. */
typedef int (*map_experiment)(const map_plan *plan, fault *fault);

int map_operations(const map_plan *plan, fault *fault);
int map_threads(const map_plan *plan, fault *fault);
int map_readers(const map_plan *plan, fault *fault);
int map_headline(const map_plan *plan, fault *fault);
int map_groups(const map_plan *plan, fault *fault);
int map_duplicates(const map_plan *plan, fault *fault);
int map_multimap(const map_plan *plan, fault *fault);
int map_deletes(const map_plan *plan, fault *fault);
int map_sweep(const map_plan *plan, fault *fault);
int map_host(const map_plan *plan, fault *fault);
int map_loads(const map_plan *plan, fault *fault);
int map_batches(const map_plan *plan, fault *fault);
int map_sums(const map_plan *plan, fault *fault);
int map_full(const map_plan *plan, fault *fault);
int map_tune(const map_plan *plan, fault *fault);

/* A fixed map and the columns that it is worked with. */
typedef struct map_bench {
    bench *b;
    const map_plan *plan;
    const char *experiment;
    const width_name *width;
    double load;
    columns c;
    cohort_map *map;
    const void *ask; /* what a find asks for */
    cohort_batch batch;
} map_bench;

/* Whether --only lets the row of this name through. */
int map_wanted(const map_plan *plan, const char *name);
/* --n, or what the experiment does without it. */
uint64_t map_n(const map_plan *plan, uint64_t full, uint64_t quick);
/* A fixed map for n pairs at `load`, filled. */
cohort_status map_open(map_bench *m, cohort_probe probe, uint32_t group);
/* Its outcome: a fault, but where the device does not offer such a map, which is told; there is no map
 * then. */
int map_opened(map_bench *m, cohort_status s, const char *doing, fault *fault);
uint64_t map_table_bytes(const map_bench *m);
/* How often to repeat what changes nothing, so that it takes some time. */
unsigned map_repeat(const map_bench *m);
bench_row map_row(const map_bench *m, const char *name, const char *keys);

cohort_status work_clear(void *m);
cohort_status work_fill(void *m);
cohort_status work_insert(void *m);
cohort_status work_find(void *m);

/* Runs the peers' programs for this size and width, once each. Rows go among the peers. */
int map_peers(const map_plan *plan, const width_name *width, uint64_t n, const char *experiment,
              fault *fault);

#endif
