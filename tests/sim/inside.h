/* inside.h: what the files of the simulator share: lanes, blocks, views, locations, the launch.
 *
 * launch.c       begins and ends lanes, blocks, launches; failures
 * schedule.c     who runs next, which value is read: every decision of a launch
 * merge.c        states of a search that were met before
 * memory.c       locations, messages, races: the words on memory; shared.c: a block's shared memory
 * view.c         views: what a lane has seen, location by location
 * collectives.c  lanes that meet: warps and blocks
 * arena.c        the device's address range: allocations and what was never written
 * clock.c        co_clock, and what happened before what
 * driver.c       the table of the CUDA driver's functions; streams.c: its queues; open.c: its options */
#ifndef SIM_INSIDE_H
#define SIM_INSIDE_H

#include "../../include/cohort/device/lane.h"
#include "coroutine.h"
#include "sim.h"

/* ---- views --------------------------------------------------------------------------------------------- */

/* What is known to have happened: for each location the newest message that is known, 0 (the memory before
 * the launch) where there is no entry. Open addressing, places by multiplication: location numbers are dense,
 * and runs of them that were their own hash would lie upon each other. */
struct entry {
    uint32_t location, time; /* location 0: a free place */
};
struct view {
    uint32_t count, mask, shift; /* mask + 1 places: 2^(32 - shift) */
    struct entry *table;
    struct entry small[8];
};
static inline uint32_t view_place(const struct view *v, uint32_t location)
{
    return (location * 2654435769u) >> v->shift;
}
void view_begin(struct view *v); /* empty, whatever was there */
struct view *view_new(void);     /* lives as long as the launch */
void view_clear(struct view *v);
void view_raise(struct view *v, uint32_t location, uint32_t time);
void view_join(struct view *v, const struct view *other);
static inline uint32_t view_time(const struct view *v, uint32_t location)
{
    if (!v->count)
        return 0;
    for (uint32_t i = view_place(v, location); v->table[i].location; i = (i + 1) & v->mask)
        if (v->table[i].location == location)
            return v->table[i].time;
    return 0;
}

/* ---- lanes, warps, blocks ------------------------------------------------------------------------------ */

enum lane_state { LANE_READY, LANE_WAITS_WARP, LANE_WAITS_BLOCK, LANE_ENDED };

struct lane {
    struct sim_who who;
    enum lane_state state;
    uint32_t ready_at; /* place in the list of ready lanes */
    uint32_t bit;      /* in its warp */
    uint32_t serial;   /* unique in the launch, from 1 */
    int stalled;
    uint64_t priority; /* of PCT */
    uint64_t steps, operation_began;
    const char *word; /* the word it is in, for messages */
    const void *address;
    uint64_t sector; /* touched last */
    uint32_t bytes;
    uint64_t result; /* of a collective */
    struct warp *warp;
    struct block *block;
    struct view current; /* seen since the last barriers; with the views of warp and block: all it has seen */
    struct view acquired;  /* what a fence would add */
    struct view *released; /* what a relaxed store carries: as of the last fence; NULL: nothing */
    uint32_t clock_location, clock_time;
    uint64_t trace;           /* with sim.merge: what its words have answered */
    int in_operation, pauses; /* since its last co_clock */
    int words;                /* of the operation, that matter to others, and were done */
    uint64_t begun;           /* `trace` when the operation began */
    struct coroutine coroutine;
};

/* Lanes of a warp that wait for each other at one collective. */
struct meeting {
    uint32_t mask, arrived;
    enum sim_vote kind;
};
struct warp {
    struct lane *lanes;
    uint32_t live, at_block; /* lanes that have not returned; that wait at the block's barrier */
    uint32_t meetings;
    struct meeting meeting[32];
    uint64_t value[32];
    uint32_t from[32];
    struct view view; /* seen by all its lanes: joined by full warp barriers */
};

/* The copies of one mbarrier, one after the other: what was asked for last. */
struct bulk {
    const co_u64 *arrived;
    char *to;
    const char *from;
    uint32_t bytes, turns; /* asked for */
    int under_way;
};

enum { MAX_WARPS = 32, MAX_SITES = 32, MAX_BULKS = 4, SHARED_BYTES = 232448 };
enum block_meeting { BLOCK_SYNC, BLOCK_COPY };
struct block {
    struct lane *lanes;
    uint32_t index, slot, live, arrived;
    enum block_meeting kind;
    void *copy_to;
    const void *copy_from;
    uint32_t copy_bytes;
    uint32_t bulks;
    struct bulk bulk[MAX_BULKS];
    struct warp warps[MAX_WARPS];
    struct view view; /* seen by all its lanes: joined by barriers */
    uint32_t shared_used, sites;
    const void *site[MAX_SITES];
    char *site_memory[MAX_SITES];
    uint32_t first_location; /* of its shared memory, a chain */
};

/* ---- locations ----------------------------------------------------------------------------------------- */

struct message {
    uint32_t time;
    uint32_t writer;         /* the lane's serial */
    unsigned char glued;     /* an atomic wrote it: nothing may come between it and the message before */
    unsigned char released;  /* a release store wrote it */
    unsigned char unwritten; /* memory that was never written */
    struct view *view;       /* what whoever acquires it learns; NULL: nothing */
    uint64_t trace;          /* with sim.merge: its writer's, as of then */
};
struct old_message {
    struct message m;
    co_u128 value;
};
struct location {
    char *address;
    uint32_t bytes;
    uint32_t strong; /* met a strong word */
    uint32_t plain;  /* the time of the newest plain write */
    uint32_t next;   /* of the block's shared memory */
    uint32_t old_count, old_capacity;
    struct old_message *old; /* by rising time; the newest message's value is in the memory itself */
    struct message last;
    uint64_t trace; /* with sim.merge: its messages, or its value */
};
enum { TIME_STEP = 64, HISTORY = 8 };

/* ---- the launch ---------------------------------------------------------------------------------------- */

struct launch {
    const struct sim_kernel *kernel;
    const void *args;
    uint32_t blocks, threads, dynamic_shared;
    uint64_t number;    /* of the device's launches; 0: sim_run */
    const char *device; /* as in --device sim:TEXT; NULL: sim_run */
    struct sim_schedule schedule;
};

struct sim {
    struct lane *lane; /* that runs */
    struct coroutine thread;
    struct launch launch;
    int running, failed, strong;
    uint64_t steps, step_limit;
    struct sim_counts counts;
    char message[2048];
    uint64_t failures, sectors;
    uintptr_t watch_from; /* of `sectors`, those there: */
    uint64_t watch_bytes, watched;

    struct lane **ready;
    uint32_t ready_count, stalled_count;
    struct lane **stalled;
    uint64_t random;
    uint32_t burst, burst_left, staleness;
    enum sim_kind kind;
    uint64_t lowest_priority;
    uint64_t change[16];
    uint32_t changes;
    uint64_t stall_from, stall_until;
    int merge; /* a search that goes on from each state once */
    uint64_t state, sc_trace, ended;
    uint32_t stall_serial;
    int stall_begun;
    uint32_t same_lane_steps;

    struct lane *lanes;
    uint32_t lane_capacity, lane_count;
    struct block *slots;
    uint32_t slot_capacity, slot_count;
    uint32_t blocks_begun, blocks_ended, next_serial, block_offset;
    int block_backwards;

    struct location *locations; /* [0] is not used */
    uint32_t location_count, location_capacity;
    struct view sc; /* what fences of sequential consistency have published */

    struct clock_record *clocks;
    size_t clock_count, clock_capacity;
    uint64_t clock;
};
extern struct sim sim;

#define SIM_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SIM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* launch.c */
int launch_run(const struct launch *launch);
void sim_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void sim_host_error(const char *what) __attribute__((noreturn));
void launch_give_up(void) __attribute__((noreturn)); /* without a message */
const struct sim_kernel *sim_kernel_find(const char *name);
const char *
lane_name(const struct lane *lane); /* "block 0 thread 33 (warp 1 lane 1)"; two may be in use at once */
void *launch_alloc(size_t bytes);   /* lives until the launch ends */

/* schedule.c */
void schedule_begin(uint32_t lanes);
void schedule_add(struct lane *lane);    /* has become ready */
void schedule_remove(struct lane *lane); /* is not ready any more */
struct lane *schedule_pick(void);        /* who runs next; NULL if nobody can */
void schedule_give_way(void);            /* the lane that runs is not ready: goes on once it is */
void schedule_step(const char *word, const void *address, uint32_t bytes, int strong);
void schedule_wake(void);            /* those that sleep until somebody writes */
uint32_t choose_message(uint32_t n); /* 0: the newest */
uint32_t choose_order(uint32_t n);
uint64_t sim_random(void);
static inline uint32_t random_below(uint32_t n)
{
    return (uint32_t)(((sim_random() >> 32) * n) >> 32);
}

/* merge.c: all but the first with sim.merge alone */
void merge_begin(void);
int merge_matters(const struct lane *lane); /* its next word may matter to another lane */
void merge_lane(struct lane *lane, uint64_t what);
void merge_read(const struct location *l, const struct message *m, co_u128 value);
void merge_write(struct location *l, struct message *m, co_u128 value, uint32_t place);
void merge_fence(int sc);
void merge_clock(struct lane *lane);
void schedule_begin_operation(void); /* a point at which lanes may take turns */
int merge_meets(void);               /* the state was met before; notes it */

/* memory.c */
struct view *lane_view(const struct lane *lane); /* all that it has seen, as of now; NULL: nothing */
uint32_t location_number(void);                  /* of a new location, without an address yet */
void memory_begin(void);
void memory_take(
    char *p); /* a word of 32 bits that somebody else writes, from now on until lanes know of it */
void memory_learn(char *p); /* the lane knows what was written to it last */
void memory_end_block(struct block *block);
void memory_end(void);

/* shared.c */
void memory_copy_in(struct block *block);

/* clock.c */
void clock_begin(void);

/* collectives.c */
extern const char *const sim_vote_names[];
void collectives_exit(struct lane *lane);
void meet_block(enum block_meeting kind);

/* arena.c: memory[i] has state[i] and shadow[i], i the offset in the arena */
enum { STATE_NONE = 0, STATE_UNWRITTEN = 1, STATE_WRITTEN = 2 };
enum arena_kind { ARENA_DEVICE, ARENA_PINNED, ARENA_MANAGED, ARENA_OWN /* sim_alloc's */ };
struct arena {
    char *memory;
    size_t bytes;     /* all */
    size_t shared_at; /* where the blocks' shared memory begins: the device's memory ends there */
    unsigned char *state;
    uint32_t *shadow;   /* of the current launch: the number of the location that the byte belongs to */
    size_t limit, used; /* of device memory, without pinned */
};
extern struct arena arena;
int arena_open(void);
void *arena_alloc(size_t bytes, enum arena_kind kind);
int arena_free(void *p);
struct allocation {
    size_t at, bytes;
    enum arena_kind kind;
    uint64_t number;
};
const struct allocation *arena_find(const void *p); /* NULL: none of the arena's */
size_t arena_count(void);
const struct allocation *arena_at(size_t i);
static inline int arena_has(const void *p)
{
    return (size_t)((const char *)p - arena.memory) < arena.bytes;
}
void arena_mark(const void *p, size_t bytes, int state);
enum { SLOT_BYTES = 256 << 10 }; /* of shared memory a block: a place of its own */
static inline char *shared_begin(const struct block *b)
{
    return arena.memory + arena.shared_at + b->slot * (size_t)SLOT_BYTES;
}

#endif
