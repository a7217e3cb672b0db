/* cpu/combine.h: a small table a thread, in which entries of equal keys become one: what combine.c and its
 * loops share. */
#ifndef COHORT_CPU_COMBINE_H
#define COHORT_CPU_COMBINE_H

#include "backend/map.h"
#include "cpu.h"
#include "shape/map.h"

#define CPU_COMBINE_LINE     64u  /* bytes of a line of a table, */
#define CPU_COMBINE_KEYS     32u  /* and of the keys in it */
#define CPU_COMBINE_PROBES   4u   /* lines that a key may lie in, from its home on */
#define CPU_COMBINE_STAGE    256u /* entries that go on together */
#define CPU_COMBINE_FEW_BITS 10u  /* single slots of each of four tables are 1 << this, */
#define CPU_COMBINE_SINGLE   16u  /* bytes each at most */

/* A thread's table. */
struct cpu_combiner {
    CO_ALIGN(128) char *slots;
    char *few;                         /* four tables of single slots, for very few keys */
    co_u64 *stage_keys, *stage_values; /* entries that found no room in it */
    co_u32 staged;
    co_u32 open;    /* it has been cleared */
    unsigned shift; /* a key's home, in bytes, is the hash >> shift */
    co_u64 lines;
    int is_few;   /* single slots come first */
    int has_side; /* the key that marks empty slots has come; */
    co_u64 side;  /* its value */
    co_u64 held;  /* slots that are taken, */
    co_u64 limit; /* at most */
};

/* By width: entries begin .. end - 1 into the table; what it holds, to the batch's `out`. */
struct cpu_combine_loops {
    void (*entries)(struct cpu_combiner *, struct combine *, co_u64 begin, co_u64 end);
    void (*empty)(struct cpu_combiner *, struct combine *);
};
extern const struct cpu_combine_loops cpu_combine_plain[6], cpu_combine_avx2[6];

extern const struct combine_ways cpu_combine_ways;

#endif
