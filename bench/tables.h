/* tables.h: frames for `bench table`, as Arrow arrays that are taken over, and answers read back. */
#ifndef COHORT_BENCH_TABLES_H
#define COHORT_BENCH_TABLES_H

#include "bench.h"
#include "table_inputs.h"

enum { TABLE_COLUMNS = 16 };

typedef enum table_form { TABLE_INT, TABLE_REAL, TABLE_TEXT } table_form;

/* A column whose row i is value(arg, i) - less, or null where value is 0; a real one is divided by a million.
 * TEXT: "id" and the value with `digits` digits at least, of 1 to `values`. */
typedef struct table_spec {
    char name[8];
    table_form form;
    int digits;
    uint64_t values;
    uint64_t (*value)(const struct table_spec *, uint64_t row);
    unsigned id, own;
    const table_shape *shape;
} table_spec;

/* A frame of these columns. Strings are dictionaries, or utf8 if the shape says so. */
int table_frame_make(const bench *b, uint64_t rows, const table_spec *specs, unsigned count,
                     cohort_frame **out, fault *fault);

/* What an answer comes to: its rows, and over all its value columns c = 1, 2, ... the sums of c x value, of c
 * x value x the row's weight, and of c where there is a value. The weight is made of the numbers of the row's
 * keys, column k = 1, 2, ...: 1 + (the sum of k x key) mod 1009. */
typedef struct table_answer {
    uint64_t rows;
    double sum, weighted, valid;
} table_answer;

/* Reads the answer: the first `keys` of the named columns are keys, the others values. */
int table_answer_read(const bench *b, cohort_frame *frame, const char *const *names, unsigned keys,
                      unsigned count, table_answer *out, fault *fault);

#endif
