/* cpu/combine.h: a small table a thread, in which entries of equal keys become one: what combine.c and its
 * widths share. */
#ifndef COHORT_CPU_COMBINE_H
#define COHORT_CPU_COMBINE_H

#include "backend/map.h"
#include "cpu.h"
#include "shape/map.h"

#define CPU_COMBINE_PROBES 32u  /* slots that a key may lie in; so many lie behind the last home */
#define CPU_COMBINE_STAGE  256u /* entries that go on together */

/* A thread's table. */
struct cpu_combiner {
    CO_ALIGN(128) char *slots;
    co_u64 *stage_keys, *stage_values; /* entries that found no room in it */
    co_u32 staged;
    co_u32 open;    /* it has been cleared */
    unsigned shift; /* a key's home is the hash >> shift */
    int has_side;   /* the key that marks empty slots has come; */
    co_u64 side;    /* its value */
    co_u64 held;    /* slots that are taken, */
    co_u64 limit;   /* at most */
};

/* By width: entries begin .. end - 1 into the table; what it holds, to the batch's `out`; bytes of a table
 * with so many homes. */
struct cpu_combine_loops {
    void (*entries)(struct cpu_combiner *, struct combine *, co_u64 begin, co_u64 end);
    void (*empty)(struct cpu_combiner *, struct combine *);
};
extern const struct cpu_combine_loops cpu_combine_loops[6];

extern const struct combine_ways cpu_combine_ways;

#endif
