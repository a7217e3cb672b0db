/* table_queries.h: what the files of `bench table` share: a join from two frames to one. */
#ifndef COHORT_BENCH_TABLE_QUERIES_H
#define COHORT_BENCH_TABLE_QUERIES_H

#include "tables.h"

typedef struct join_query {
    const char *name, *left, *right; /* key columns */
    unsigned own;
    cohort_join_kind kind;
} join_query;

/* All columns of both but the right key. */
cohort_status table_join_answer(cohort_context *context, const join_query *q, cohort_frame *x,
                                cohort_frame *right, cohort_frame **out);

/* The names of cohort_join_method, in its order. */
enum { JOIN_METHODS = 4 };
extern const char *const join_method_names[JOIN_METHODS];

/* Joins of n left rows by the size of the right side, the share of left rows that have a match, and how often
 * a right key is there, by the methods listed (NULL: auto). */
int table_sweep_measure(bench *b, uint64_t n, const char *methods, fault *fault);

#endif
