/* cpu.h: what the files of the CPU backend share: the device's state, its threads, and the entries of its table. */
#ifndef COHORT_CPU_H
#define COHORT_CPU_H

#include "backend.h"

struct cpu_pool;
struct cpu_map_loops;

enum cpu_level { CPU_PLAIN, CPU_AVX2, CPU_AVX512 }; /* the vectors that may be used */

struct cpu_device {
    unsigned threads;                  /* workers, the caller's thread included; at least 1 */
    struct cpu_pool *pool;             /* NULL with one thread */
    const struct cpu_map_loops *loops; /* those for this processor */
    enum cpu_level level;
    uint64_t cache_bytes; /* of the last cache level, 0 if not known */
    uint64_t
        most_looks; /* at a batch's entries, of all threads, when each goes through the whole batch (map_share.c) */
    char name[64]; /* the processor's */
    /* libcuda's function if it is in this process, and how often libraries had come and gone when it was looked for. */
    int (*pointer_attribute)(void *value, int attribute, unsigned long long pointer);
    unsigned long long loads;
};

static inline struct cpu_device *cpu_device(cohort_context *context)
{
    return context->device;
}

/* ---- threads.c ----------------------------------------------------------------------------------------------- */

/* A pool of `threads` workers, of which the caller of cpu_pool_run is number 0; 2 at least. The others start at the
 * first run. NULL: no memory. */
struct cpu_pool *cpu_pool_create(unsigned threads);
void cpu_pool_destroy(struct cpu_pool *pool); /* NULL is allowed */

/* Calls work(arg, begin, end, worker) on ranges that make up [0, n), several at once, and returns when all are done. Each
 * `begin` is a multiple of `grain` (> 0), each range one or more whole grains, the last one excepted. worker, below the
 * device's `threads`, is a different number in each call under way. With one thread, or one grain of work, there is one
 * call, in the caller's thread. What was written before is seen inside, what is written inside is seen after. `work`
 * may not call cpu_parallel. */
void cpu_parallel(cohort_context *context, uint64_t n, uint64_t grain,
                  void (*work)(void *arg, uint64_t begin, uint64_t end, unsigned worker), void *arg);

/* ---- limits.c ------------------------------------------------------------------------------------------------ */

cohort_status cpu_limits(cohort_context *context, cohort_limits *limits);

/* ---- map.c --------------------------------------------------------------------------------------------------- */

const struct cpu_map_loops *cpu_map_loops(void);
enum cpu_level cpu_map_level(const struct cpu_map_loops *loops);
int cpu_map_offers(cohort_context *context, co_u32 width, co_u32 group);
cohort_status cpu_map_batch(cohort_context *context, const struct map_batch *batch, enum memory_kind memory);
cohort_status cpu_map_sweep(cohort_context *context, const struct map_sweep *sweep, enum map_sweep_kind kind);

/* ---- map_plain.c, map_avx2.c, map_avx512.c: the same loops for different processors --------------------------- */

/* The thread sanitizer would not understand that vector loads of buckets are only hints. */
#if defined(__SANITIZE_THREAD__)
#    define CPU_VECTORS 0
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define CPU_VECTORS 0
#    endif
#endif
#if !defined(CPU_VECTORS) && defined(__x86_64__) && defined(__GNUC__)
#    define CPU_VECTORS 1
#endif

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

/* The next piece of a range, in the order in which the batch is done; empty before the first one. 0: there is none. */
int cpu_map_piece(const struct map_batch *b, co_u64 begin, co_u64 end, struct cpu_piece *piece);

/* Adds it to what the batch's counts and counters say. */
void cpu_map_report(const struct map_batch *b, struct cpu_report *r);

/* Who works on the table meanwhile: other threads too; one alone; or others, but not in the pages where this batch's walks begin,
 * in which case an entry that would leave its page is left out, and told as one that found no slot. */
enum { CPU_TOGETHER = 0, CPU_ALONE = 1, CPU_OWNER = 2 };

/* Memory of the table that this thread will work on next: so many lines of it are asked for with each group of entries. */
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

/* By width; `alone` is one of these; soon may be NULL. Sweeps take a grain of slots at most. ranges: range[i] = the page in which
 * the walk of entry i begins >> shift. share: puts the share's entries behind `count` others, and counts on. */
struct cpu_map_loops {
    void (*batch[6])(const struct map_batch *, co_u64 begin, co_u64 end, int alone, struct cpu_soon *soon,
                     struct cpu_report *);
    void (*sweep[6])(const struct map_sweep *, enum map_sweep_kind, co_u64 begin, co_u64 end, int alone);
    void (*ranges[6])(const struct map_batch *, co_u64 begin, co_u64 end, unsigned shift, co_u16 *range);
    co_u32 (*share[6])(const struct map_batch *, co_u64 begin, co_u64 end, const struct cpu_share *,
                       co_u32 count);
};
extern const struct cpu_map_loops cpu_map_plain, cpu_map_avx2, cpu_map_avx512;

/* ---- map_split.c --------------------------------------------------------------------------------------------- */

cohort_status cpu_map_build(cohort_context *context, const struct map_batch *batch, int fresh,
                            void *workspace, uint64_t *need);

/* ---- map_share.c --------------------------------------------------------------------------------------------- */

#define CPU_MOST_LOOKS (1ull << 20)

int cpu_map_share_pays(cohort_context *context, const struct map_batch *batch);

/* As cpu_map_build, of a batch for which this pays. */
cohort_status cpu_map_share(cohort_context *context, const struct map_batch *batch, void *workspace,
                            uint64_t *need);

/* ---- multimap.c ---------------------------------------------------------------------------------------------- */

cohort_status cpu_multimap_step(cohort_context *context, const struct multimap_step *step,
                                enum multimap_step_kind kind);
cohort_status cpu_scan(cohort_context *context, co_u64 *a, co_u64 n);

/* ---- multisplit.c, compact.c, sort.c, sums.c ---------------------------------------------------------------- */

cohort_status cpu_split(cohort_context *context, const struct split *split, uint64_t *need);
cohort_status cpu_histogram(cohort_context *context, const struct split *split, uint64_t *need);
cohort_status cpu_compact(cohort_context *context, const struct compact *compact, uint64_t *need);
cohort_status cpu_sort(cohort_context *context, const struct sort *sort, uint64_t *need);
cohort_status cpu_prefix(cohort_context *context, const struct prefix *prefix, uint64_t *need);
cohort_status cpu_reduce(cohort_context *context, const struct reduce *reduce, uint64_t *need);

#endif
