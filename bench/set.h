/* set.h: what the files of `bench set` share: the context's arrays, collections, rows of figures. */
#ifndef COHORT_BENCH_SET_H
#define COHORT_BENCH_SET_H

#include "columns.h"
#include "set_inputs.h"
#include "set_texts.h"

typedef struct set_bench {
    bench *b;
    set_sizes sizes;
    const char *data, *experiment; /* experiment: of the rows that several have */
} set_bench;

/* What a job works on. */
typedef struct set_work {
    cohort_context *context;
    cohort_sets *sets;
    cohort_sets_query_desc query;
    cohort_sets_look_desc look;
    cohort_sets_source source;
    cohort_sets_target target;
    int makes; /* a collection; else counts */
} set_work;

cohort_status set_work_query(void *arg);
cohort_status set_work_export(void *arg); /* a query, and its members */
cohort_status set_work_build(void *arg);
cohort_status set_work_look(void *arg);

bench_row set_row(const set_bench *s, const char *experiment, const char *name, const char *keys, uint64_t n);

/* wall: the work waits by itself. */
int set_measure(const set_bench *s, bench_row *row, bench_work work, set_work *w, double items,
                unsigned repeat, int wall, fault *fault);

int set_no_memory(fault *fault, uint64_t bytes);

/* *array, the host's, is given back, and becomes one of the same bytes in the context's memory: on a CPU it
 * stays. 0: no memory, *array is NULL. */
int set_placed(const set_bench *s, void *array, uint64_t bytes);
void *set_room(const set_bench *s, uint64_t bytes); /* in the context's memory; NULL: none */
void set_give(const set_bench *s, void *array);

/* A query of rows of `arity` sets each, as counts and as a collection: members is row after row, the host's,
 * and given back. `like`: the unit and the limit of the rows, where a limit
 * without a name is that of counts in bytes of the memory, of which a collection needs half as many more. */
typedef struct set_asked {
    const char *experiment, *keys, *suffix;
    cohort_sets *sets;
    cohort_sets_op op;
    uint64_t rows, arity;
    uint32_t each; /* as in the query: then `members` is one row's */
    uint64_t *members;
    double items;
    unsigned repeat;
    int counts, makes; /* which of the two */
    const bench_row *like;
} set_asked;
int set_measure_query(const set_bench *s, set_asked *asked, fault *fault);

/* Each set and the next one, by this operation. */
int set_measure_neighbours(const set_bench *s, const char *experiment, const char *keys, cohort_sets *sets,
                           cohort_sets_op op, uint64_t rows, double items, const bench_row *like,
                           fault *fault);

/* An experiment: measures its rows. */
typedef int (*set_experiment)(const set_bench *s, fault *fault);

/* For each folder of texts in --data; without --data it is told that they are left out. */
typedef int (*set_folder)(const set_bench *s, const char *name, fault *fault);
int set_folders(const set_bench *s, set_folder measure, fault *fault);

/* A folder's texts and their collection; both are given back by the caller, also after a failure. */
int set_folder_sets(const set_bench *s, const char *name, set_texts *t, cohort_sets **sets, fault *fault);

/* set_small.c: 10,000 sets of 1 to 200 members; as many tiny ones as the sizes say, and one more. */
int set_small_sets(const set_bench *s, cohort_sets **sets, fault *fault);
int set_tiny_sets(const set_bench *s, cohort_sets **sets, fault *fault);

/* set_loop.c: bits a second of a plain loop that puts the dense sets' bitmaps together. */
int set_loop_rate(const set_bench *s, double *rate, fault *fault);

/* set_made.c, set_small.c, set_containing.c, set_threads.c, set_working.c */
int set_dense(const set_bench *s, fault *fault);
int set_dense_lookups(const set_bench *s, fault *fault); /* those of `contains` in bitmaps */
int set_skewed(const set_bench *s, fault *fault);
int set_contains(const set_bench *s, fault *fault);
int set_built(const set_bench *s, fault *fault);
int set_small(const set_bench *s, fault *fault);
int set_densities(const set_bench *s, fault *fault);
int set_containing(const set_bench *s, fault *fault);
int set_threads(const set_bench *s, fault *fault);
int set_working(const set_bench *s, fault *fault);

#endif
