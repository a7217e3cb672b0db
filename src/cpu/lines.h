/* cpu/lines.h: what the files of the CPU's maps of LINES share. */
#ifndef COHORT_CPU_LINES_H
#define COHORT_CPU_LINES_H

#include "backend/lines.h"
#include "map.h"

#define CPU_LINES_GRAIN 1024 /* homes that a thread takes at a time in a sweep */

/* Loops, in lines_width.h; by width, NULL where there is none. alone: no other thread works on the table. */
struct cpu_lines_loops {
    void (*batch)(const struct map_batch *, co_u64 begin, co_u64 end, int alone, struct cpu_report *,
                  co_lines_tally *);
    void (*sweep)(const struct map_sweep *, enum map_sweep_kind, co_u64 begin, co_u64 end, int alone);
};
const struct cpu_lines_loops *cpu_lines_loops(co_u32 width);

cohort_status cpu_lines_batch(cohort_context *context, const struct map_batch *batch,
                              enum memory_kind memory);

#endif
