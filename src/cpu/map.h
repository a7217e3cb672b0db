/* cpu/map.h: what the files of the CPU's maps share: the loops, in a form for each kind of processor, and the
 * ways that a batch may go. */
#ifndef COHORT_CPU_MAP_H
#define COHORT_CPU_MAP_H

#include "backend/map.h"
#include "cpu.h"

/* ---- map_batch.c --------------------------------------------------------------------------------------- */

/* Those for this processor. */
const struct cpu_map_loops *cpu_map_loops(cohort_context *context);
cohort_status cpu_map_batch(cohort_context *context, const struct map_batch *batch, enum memory_kind memory);

/* ---- map_plain.c, map_avx2.c, map_avx512.c: the same loops for different processors -------------------- */

#define CPU_LINE        64   /* bytes of memory that come together */
#define CPU_GROUP       32   /* entries that are worked on together: a word of a bitmap */
#define CPU_SWEEP_GRAIN 1024 /* slots that a thread takes at a time */

/* What a range of a batch has to report. */
struct cpu_report {
    co_u64 taken, hits, added, failed, first_full, first_bad;
    co_map_tally tally;
};

/* A long range of a batch is done in pieces, with a report each: tallies are 32 bits wide. */
#define CPU_PIECE (1u << 20)
struct cpu_piece {
    co_u64 begin, end;
};

/* The next piece of a range, in the order in which the batch is done; empty before the first one. 0: there is
 * none. */
int cpu_map_piece(const struct map_batch *b, co_u64 begin, co_u64 end, struct cpu_piece *piece);

/* Adds it to what the batch's counts and counters say. */
void cpu_map_report(const struct map_batch *b, struct cpu_report *r);

/* Who works on the table meanwhile: other threads too; one alone; or others, but not in the pages where this
 * batch's walks begin, in which case an entry that would leave its page is left out, and told as one that
 * found no slot. */
enum { CPU_TOGETHER = 0, CPU_ALONE = 1, CPU_OWNER = 2 };

/* Memory of the table that this thread will work on next: so many lines of it are asked for with each group
 * of entries. */
struct cpu_soon {
    const char *at, *end;
    co_u64 lines;
};

/* A thread's pages, and room for the entries whose walks begin there, with their numbers from `base` on. */
struct cpu_share {
    co_u64 first, pages, base;
    void *keys, *values; /* values: if the batch has some */
    co_u32 *index;
};

/* By width; `alone` is one of these; soon may be NULL. Sweeps take a grain of slots at most. ranges: range[i]
 * = the page in which the walk of entry i begins >> shift. share: puts the share's entries behind `count`
 * others, and counts on. */
struct cpu_map_loops {
    void (*batch[6])(const struct map_batch *, co_u64 begin, co_u64 end, int alone, struct cpu_soon *soon,
                     struct cpu_report *);
    void (*sweep[6])(const struct map_sweep *, enum map_sweep_kind, co_u64 begin, co_u64 end, int alone);
    void (*ranges[6])(const struct map_batch *, co_u64 begin, co_u64 end, unsigned shift, co_u16 *range);
    co_u32 (*share[6])(const struct map_batch *, co_u64 begin, co_u64 end, const struct cpu_share *,
                       co_u32 count);
};
extern const struct cpu_map_loops cpu_map_plain, cpu_map_avx2, cpu_map_avx512;

/* For a pass over a batch by ranges of pages (cpu_pass.make): the ranges of entries begin .. end - 1, `none`
 * of those that `where` leaves out. arg: a cpu_ranges. */
struct cpu_ranges {
    const struct map_batch *batch;
    const struct cpu_map_loops *loops;
    unsigned shift;
    co_u16 none;
    co_u16 *range;
};
void cpu_map_ranges(const void *arg, co_u64 begin, co_u64 end);

/* ---- map_pages.c --------------------------------------------------------------------------------------- */

cohort_status cpu_map_pages(cohort_context *context, const struct map_batch *batch, int fresh,
                            struct arena *arena);

/* ---- map_share.c --------------------------------------------------------------------------------------- */

int cpu_map_share_pays(cohort_context *context, const struct map_batch *batch);

/* As cpu_map_pages, of a batch for which this pays. */
cohort_status cpu_map_share(cohort_context *context, const struct map_batch *batch, struct arena *arena);

#endif
