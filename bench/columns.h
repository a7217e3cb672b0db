/* columns.h: columns of keys, values and operations in the context's memory, made by all cores. */
#ifndef COHORT_BENCH_COLUMNS_H
#define COHORT_BENCH_COLUMNS_H

#include "bench.h"
#include "keys.h"

/* Entry i of a column. Called by several threads. */
typedef uint64_t (*column_entry)(const void *arg, uint64_t i);

/* n entries of `bytes` (1, 4 or 8), entry(arg, i) each, in the context's memory. */
cohort_status column_make(const bench_device *d, void **out, uint64_t n, unsigned bytes, column_entry entry,
                          const void *arg);
/* The same into memory that is there: host memory of anyone's. */
void column_fill_host(void *to, uint64_t first, uint64_t n, unsigned bytes, column_entry entry,
                      const void *arg);

/* The order of a visit, and the size of a key: what the entries below are told. */
typedef struct column_plan {
    uint64_t n, step;
    unsigned key_bytes;
} column_plan;
column_plan column_plan_make(uint64_t n, unsigned key_bytes);

uint64_t entry_key(const void *plan, uint64_t i);    /* key i */
uint64_t entry_query(const void *plan, uint64_t i);  /* a key that is in, in another order */
uint64_t entry_absent(const void *plan, uint64_t i); /* a key that is not in */
uint64_t entry_half(const void *plan, uint64_t i);   /* every other one is in */
uint64_t entry_op(const void *plan, uint64_t i);     /* cohort_op: 20 % insert, 20 % erase, 60 % find */

/* What the operations of one size of table and key work on. Widths with one key size share them. */
typedef struct columns {
    uint64_t n;
    unsigned key_bytes;
    void *keys, *queries, *absent, *half, *values, *results, *spare, *ops;
    uint8_t *hit;
} columns;
cohort_status columns_make(const bench_device *d, columns *c, uint64_t n, unsigned key_bytes);
void columns_free(const bench_device *d, columns *c);

/* ---- widths -------------------------------------------------------------------------------------------- */

typedef struct width_name {
    const char *name;
    cohort_width width;
    unsigned key, value; /* bytes in the caller's arrays */
    unsigned slot;       /* and in the table */
} width_name;
enum { WIDTHS = 5 };
extern const width_name bench_widths[WIDTHS];
const width_name *bench_width(cohort_width width);

#endif
