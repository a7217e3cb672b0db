/* cpu.h: what the files of the CPU backend share: the device's state and its threads. */
#ifndef COHORT_CPU_H
#define COHORT_CPU_H

#include "backend/context.h"
#include "level.h"

struct cpu_pool;

#define CPU_MOST_LOOKS (1ull << 20)

struct cpu_device {
    unsigned threads;      /* workers, the caller's thread included; at least 1 */
    struct cpu_pool *pool; /* NULL with one thread, or where there was no memory for it after a fork */
    int asks_no_driver;    /* of pointers: after a fork libcuda is another process's */
    enum cpu_level level;  /* of the vectors that may be used */
    uint64_t cache_bytes;  /* of the last cache level, 0 if not known */
    /* At a batch's entries, of all threads, when each goes through the whole batch (map_share.c). */
    uint64_t most_looks;
    char name[64]; /* the processor's */
    /* libcuda's function if it is in this process; how often libraries had come and gone when it was
     * looked for; and in which call that was asked last, as the context numbers them. */
    int (*pointer_attribute)(void *value, int attribute, unsigned long long pointer);
    unsigned long long loads;
    uint64_t call;
};

static inline struct cpu_device *cpu_device(cohort_context *context)
{
    return context->device;
}

/* ---- threads.c ----------------------------------------------------------------------------------------- */

/* A pool of `threads` workers, of which the caller of cpu_pool_run is number 0; 2 at least. The others start
 * at the first run. NULL: no memory. */
struct cpu_pool *cpu_pool_create(unsigned threads);
void cpu_pool_destroy(struct cpu_pool *pool); /* NULL is allowed */

/* Frees a pool whose workers are another process's, and touches nothing of theirs. NULL is allowed. */
void cpu_pool_forget(struct cpu_pool *pool);

/* Calls work(arg, begin, end, worker) on ranges that make up [0, n), several at once, and returns when all
 * are done. Each `begin` is a multiple of `grain` (> 0), each range one or more whole grains, the last one
 * excepted. worker, below the device's `threads`, is a different number in each call under way. With one
 * thread, or one grain of work, there is one call, in the caller's thread. What was written before is seen
 * inside, what is written inside is seen after. `work` may not call cpu_parallel. */
void cpu_parallel(cohort_context *context, uint64_t n, uint64_t grain,
                  void (*work)(void *arg, uint64_t begin, uint64_t end, unsigned worker), void *arg);

/* The same for work that may be long: the caller's progress function is told of it, and may end it:
 * COHORT_CANCELLED, and some ranges were not done. With one thread there are several calls, one behind the
 * other, if somebody is told. what NULL: nobody is. */
cohort_status cpu_parallel_told(cohort_context *context, const char *what, uint64_t n, uint64_t grain,
                                void (*work)(void *arg, uint64_t begin, uint64_t end, unsigned worker),
                                void *arg);

/* stream.c: copies whole lines of 64 bytes past the caches, for what does not fit there; `to` is aligned. */
void cpu_stream_lines(void *to, const void *from, uint64_t bytes);

/* All that this thread wrote past the caches is there for others. */
void cpu_stream_end(void);

/* Whether that is one call in the caller's thread. */
static inline int cpu_is_alone(cohort_context *context, uint64_t n, uint64_t grain)
{
    return !cpu_device(context)->pool || n <= grain;
}

#endif
