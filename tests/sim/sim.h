/* sim.h: the simulated GPU, for test programs.
 *
 * As a device: cuda_driver_register("sim", sim_open), and every "--device sim:SEED" runs the host code of
 * src/cuda on it. Directly: sim_alloc memory, sim_run a kernel on it under a schedule, look at the memory;
 * hundreds of thousands of times.
 *
 *     struct sim_schedule schedule = SIM_SCHEDULE_INIT;
 *     for (schedule.seed = 1; schedule.seed <= 100000; schedule.seed++) {
 *         memset(args.words, 0, 64);
 *         if (sim_run("litmus_mp", &args, 1, 2, 0, &schedule))
 *             return fail(sim_message());
 *     }
 *
 * docs/simulator.md says what is simulated, and how to read a failure. One launch runs at a time in a
 * process. */
#ifndef COHORT_SIM_H
#define COHORT_SIM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cuda_driver;
struct sim_search;

enum sim_kind {
    SIM_RANDOM, /* whoever is ready, a lane keeping its turn for a few words on average */
    SIM_PCT,    /* the highest random priority runs; at `depth` random steps the runner falls to the lowest */
    SIM_STALL_LANE, /* as random, but one lane stands still for long */
    SIM_STALL_WARP, /* as random, but one warp does */
    SIM_SEARCH,     /* exhaustive, see sim_search */
    SIM_ANY         /* one of the first four, drawn by the seed */
};

enum sim_memory {
    SIM_AUTO,  /* weak up to 1,024 lanes a launch, else strong */
    SIM_WEAK,  /* a relaxed load may return any value not older than what the lane has seen */
    SIM_STRONG /* sequentially consistent values; all checks stay, races included. For big launches */
};

struct sim_schedule {
    enum sim_kind kind;
    enum sim_memory memory;
    uint64_t seed;
    unsigned burst;  /* words that a lane keeps its turn on average; 0: drawn by the seed from 1 to 32 */
    unsigned depth;  /* of PCT: change points; 0: 3 */
    unsigned length; /* of PCT: words that the launch is expected to take; 0: 16 a lane */
    unsigned live;   /* lanes alive at once at most (at least 2 blocks are); 0: 512 */
    unsigned architecture;    /* 80 makes co_cas128 an error; 0: 90 */
    uint64_t steps;           /* watchdog: words a launch; 0: 2,000,000 and 100,000 a lane */
    uint64_t operation_steps; /* watchdog: words of one lane from one co_clock to its next; 0: no bound */
    int clocks;               /* keep what sim_happened_before needs */
    int quiet;                /* failures are not printed; sim_message has them */
    struct sim_search *search;
};
#define SIM_SCHEDULE_INIT                                        \
    {                                                            \
        SIM_RANDOM, SIM_AUTO, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL \
    }

/* ---- direct experiments -------------------------------------------------------------------------------- */

/* Memory of the simulated device, zeroed, and counted as written; the host may use it between launches. NULL:
 * none left. */
void *sim_alloc(size_t bytes);
void sim_free(void *memory);
/* Marks a range as never written: a lane that reads it before writing it fails the launch. */
void sim_forget(void *memory, size_t bytes);

/* Runs a kernel by its name. 0, or -1 after any failure; sim_message then has the kernel, block, lane, word,
 * address, seed. The simulator is usable afterwards; what the launch had written stays. schedule NULL:
 * SIM_SCHEDULE_INIT. */
int sim_run(const char *kernel, const void *args, unsigned blocks, unsigned threads, unsigned shared_bytes,
            const struct sim_schedule *schedule);
const char *sim_message(void);

/* Of the last launch. */
struct sim_counts {
    uint64_t steps, switches, locations, stale_loads, late_stores;
};
struct sim_counts sim_counts(void);

/* Sectors that words of all launches so far have touched: aligned ranges of 32 bytes, of any memory. Words of
 * one lane that touch the same one, one after the other, count once. */
uint64_t sim_sectors(void);
/* Those of them that are in this memory, from now on: what a kernel does to one table. */
void sim_watch(const void *memory, size_t bytes);
uint64_t sim_watched(void);

/* Whether what a lane had done at its co_clock() `a` happened before the co_clock() `b`, of the same launch:
 * by the order of one lane's program, by barriers, or by release and acquire. Needs schedule.clocks. */
int sim_happened_before(uint64_t a, uint64_t b);

/* Exhaustive search: every schedule with at most `preemptions` switches away from a lane that could go on,
 * and at most `stale` loads or stores that do not take the newest place, once.
 *
 *     struct sim_search search = {.preemptions = 2, .stale = 1};
 *     schedule.kind = SIM_SEARCH, schedule.search = &search;
 *     do { reset(); sim_run(...); check(); } while (sim_search_next(&search));
 *     sim_search_end(&search);
 *
 * `merge`: goes on from each state once. A launch that comes to a state that was met before is given up:
 * sim_run then answers -1 without a message, `given_up` is set, and there is nothing to check. Then either
 * may be SIM_UNBOUNDED. For kernels whose lanes do not meet at votes, shuffles and barriers. Lanes that read
 * the clock before and after operations have no turns between an operation's beginning and its first word;
 * what they tell by sim_outcome is all that strong memory keeps of an operation. */
enum { SIM_UNBOUNDED = 0x7fffffff };
struct sim_search {
    unsigned preemptions, stale;
    int merge;
    const void *aside; /* words on this memory come in any order, and what they answer is not used */
    size_t aside_bytes;
    uint64_t most;   /* runs, after which there is no next one; 0: any number */
    int cut;         /* out: so it was */
    uint64_t runs;   /* out: made so far */
    uint64_t states; /* out: that were met */
    int given_up;    /* out: the last run was */
    /* the rest belongs to the simulator */
    struct sim_choice *path;
    size_t length, capacity, position;
    unsigned preemptions_left, stale_left;
    uint64_t *met;
    size_t state_capacity;
};
int sim_search_next(struct sim_search *search);
void sim_search_end(struct sim_search *search);
/* The decisions of the last run ("0 1 0 0 2"), for messages. In a buffer that the next call reuses. */
const char *sim_search_path(const struct sim_search *search);

/* ---- as a device --------------------------------------------------------------------------------------- */

/* For cuda_driver_register: `rest` is SEED[,option=value]...: schedule=random|pct|lane|warp|any,
 * memory=auto|weak|strong, arch=80|90, sm=N multiprocessors (2), bytes=N of device memory (1 GiB), burst=N,
 * depth=N, live=N, steps=N. */
const struct cuda_driver *sim_open(const char *rest, const char **why);

/* Describes on `out` (NULL: not) what was not given back: allocations, streams, events, modules, contexts;
 * those that died with their context included. Returns how many, and forgets them. */
unsigned sim_leaks(FILE *out);

/* How many launches failed since the process began. */
uint64_t sim_failures(void);

#endif
