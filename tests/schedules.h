/* schedules.h: small concurrent cases on one map, and what must hold of each whatever the schedule was.
 *
 *   schedules_table.c    tables as the protocol has them (docs/map-protocol.md), put together and looked
 *                        through by code of the tests' own
 *   schedules_lines.c    the same of LINES (docs/hopscotch-protocol.md)
 *   schedules_plan.c     plans: a table to begin with and a list of operations for each lane, drawn at random
 *                        by family
 *   schedules_judge.c    is what came of a plan legal?
 *   schedules_run.c      runs plans on the simulator, schedule by schedule
 *   schedules_search.c   tiny plans through all schedules
 *   schedules_small.c    LINES: plans of up to three operations through all schedules
 *   schedules_moves.c    LINES: keys that are moved while others are at work on them
 *   schedules_relay.c    a slot that goes from key to key while one of them is looked up
 *   schedules_torn.c     the same for keys of two words
 *   schedules_message.c  messages in other memory, published through a map
 *   schedules_batch.c    the same for whole warps: the kernels of batches, groups, winners
 *   schedules_api.c      the same through the host API, on simulated devices
 *   schedules_device.c   runs plans on a GPU, many at a time
 *   schedules_threads.c  on the host's threads */
#ifndef TEST_SCHEDULES_H
#define TEST_SCHEDULES_H

#include "test.h"
#include "kernels/op_list.h"
#include "cohort/device/lines.h"
#include "sim/history.h"
#include "sim/sim.h"

/* ---- random numbers that depend on one seed ------------------------------------------------------------ */

struct dice {
    uint64_t state;
};
static inline uint64_t dice_next(struct dice *d)
{
    return test_mix(d->state += 0x9e3779b97f4a7c15u);
}
static inline uint64_t dice_below(struct dice *d, uint64_t n)
{
    return (dice_next(d) >> 32) * n >> 32;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

struct shape {
    cohort_width width;
    uint32_t pages, mask, reach, linear; /* of LINES: pages are homes, the others 0 */
    uint32_t lines;                      /* 1: COHORT_LAYOUT_LINES, 0: _PAGES */
    uint32_t far; /* buckets from home on from which there is a filter; 0: there is none */
    uint64_t seed;
};

enum slot_state { SLOT_EMPTY, SLOT_LIVE, SLOT_ERASED };
enum { SIDE_SLOTS = 2 };

uint64_t table_slot_bytes(const struct shape *);
uint64_t table_slots(const struct shape *); /* without side slots */
uint64_t table_side_slots(const struct shape *);
uint64_t table_bytes(const struct shape *); /* with them, and with the filter that follows them */
uint64_t table_empty_key(const struct shape *);
void table_clear(const struct shape *, void *table);

/* What is in slot i (side slots follow the others): the state, and of a live one key and value. */
enum slot_state table_get(const struct shape *, const void *table, uint64_t i, uint64_t *key,
                          uint64_t *value);

/* The slots in which a key may be, in the order of its search: fills slots[], which has room for
 * table_slots + 1. */
uint64_t table_walk(const struct shape *, uint64_t key, uint64_t *slots);
uint32_t table_home_page(const struct shape *, uint64_t key);
uint32_t table_home_bucket(const struct shape *, uint64_t key);

int table_put(const struct shape *, void *table, uint64_t key,
              uint64_t value); /* 0: there is no slot for it */
int table_erase(const struct shape *, void *table, uint64_t key);
int table_find(const struct shape *, const void *table, uint64_t key, uint64_t *value);
int table_is_full_for(const struct shape *, const void *table, uint64_t key);
struct co_map_counters table_count(const struct shape *, const void *table);

/* 0 with a message unless every live key lies where the protocol puts it, and once, and the counters are
 * exact. */
int table_check(const struct shape *, const void *table, const struct co_map_counters *, char *text,
                size_t bytes);

cohort_map_view table_view(const struct shape *, void *table, struct co_map_counters *);

/* ---- plans --------------------------------------------------------------------------------------------- */

enum { PLAN_LANES = 6, PLAN_EACH = 4, PLAN_TABLE = 1280, PLAN_SLOTS = 256 };

enum family { FAMILY_MIXED, FAMILY_COLLIDE, FAMILY_FULL, FAMILY_WRAP, FAMILY_CHURN, FAMILY_VALUES, FAMILIES };
extern const char *const family_names[];

struct plan {
    struct shape shape;
    unsigned key_count, operand_count, lanes, each;
    int one_home; /* LINES: all keys are of the first one's home */
    uint64_t keys[LIST_KEYS], operands[LIST_OPERANDS];
    uint64_t ops[PLAN_LANES * PLAN_EACH];         /* LIST_OP */
    _Alignas(32) unsigned char table[PLAN_TABLE]; /* as it is at first */
    struct co_map_counters counters;
};

void plan_draw(struct plan *, cohort_width, cohort_layout, enum family, struct dice *);
void plan_draw_ops(struct plan *, enum family,
                   struct dice *);            /* others, for the same lanes on the same keys */
void plan_shape(struct plan *, struct shape); /* an empty table, no keys, no operations */
uint64_t plan_hash(const struct plan *);
const char *plan_kernel(const struct shape *); /* that does lists on such tables */
void plan_args(const struct plan *,
               struct list_args *); /* keys, operands, each, lanes; nothing that lies elsewhere */

/* ---- verdicts ------------------------------------------------------------------------------------------ */

/* What has come of a plan. */
struct aftermath {
    const co_u64 *records; /* LIST_RECORD_WORDS for each operation */
    const void *table;
    const struct co_map_counters *counters;
    enum clock {
        CLOCK_STEPS, /* of the simulator, with strong memory: no two readings are equal */
        CLOCK_WEAK,  /* the same with weak memory: what counts is what happened before what */
        /* nanoseconds, coarse: a lane's operations may have equal times, and have their order all the same */
        CLOCK_TIME
    } clock;
};

/* 0 with a message unless the records are legal key by key, what is left in the table agrees, and the
 * table is in order. */
int plan_judge(const struct plan *, const struct aftermath *, char *text, size_t bytes);
void plan_print(const struct plan *, FILE *);

/* The same for operations told one by one, on the plan's keys, from the plan's table. ops has room for
 * JUDGE_MORE more. */
enum { JUDGE_MORE = 2 * LIST_KEYS };
int judge_ops(const struct plan *, const struct aftermath *, struct history_op *ops, size_t n, char *text,
              size_t bytes);

/* ---- on the simulator ---------------------------------------------------------------------------------- */

/* Memory of the simulated device for one plan after the other. */
struct stage {
    unsigned char *memory, *table;
    struct co_map_counters *counters;
    co_u64 *ops, *records;
};
struct stage stage_new(void);
void stage_free(struct stage *);
void stage_set(struct stage *,
               const struct plan *); /* table and counters as at first; operations; no records */

/* Resets the memory, runs the plan, judges: 0 with a message if it is not legal or the simulator objects. */
int stage_run(struct stage *, const struct plan *, const struct sim_schedule *, unsigned blocks, char *text,
              size_t bytes);

/* A schedule of any kind, weak memory three times out of four. `each` operations a lane: how long it will
 * be, about. */
void draw_schedule(struct sim_schedule *, struct dice *, unsigned lanes, unsigned each);

/* Fails the case: the story on stdout, with how to replay it, the first line in the test's message. plan
 * NULL: none. */
void report(struct test *, uint64_t seed, const struct plan *, const char *text);

/* Plans of a family under schedules t->seed, t->seed + 1, .. until one fails. */
void run_plans(struct test *, cohort_width, enum family, uint64_t schedules); /* of the test's layout */

/* Batches: the map's own kernels, by warps (schedules_batch.c). */
void run_batches(struct test *, cohort_width, uint64_t schedules);
void run_crowds(struct test *, cohort_width, uint64_t schedules); /* batches that crowd on few keys */
void run_hot(struct test *, cohort_width, uint64_t schedules);
void run_groups(struct test *, uint64_t schedules);
void run_winners(struct test *, cohort_width, uint64_t schedules);

/* Batches through the host API, each few on a device of their own. */
void run_api(struct test *, uint64_t schedules);
void run_halves(
    struct test *,
    uint64_t schedules); /* batches of few keys, mostly of apply, on a device by its architecture */
void run_retries(struct test *);

/* A slot that goes from key to key. */
void run_relay(struct test *, cohort_width, uint64_t schedules);

/* Keys of 16 bytes that have words in common, of which one is read while its slot goes to another. */
void run_torn(struct test *, uint64_t schedules);

/* Messages through a map. */
void run_messages(struct test *, cohort_width, uint64_t schedules);

/* Tiny cases through all their schedules: every `share`th of them. */
void run_searches(struct test *, cohort_width, unsigned share);

/* LINES: up to three operations on two keys of one home, through all schedules. */
void run_small(struct test *, cohort_width);

/* All schedules of a plan, as the search bounds them: 0, and the case has failed, if one is illegal. */
struct search_told { /* NULL: is not asked */
    uint64_t ended;  /* schedules that went on to the end, */
    uint64_t moved;  /* and in which a key was moved */
};
int search_all(struct test *, struct stage *, const struct plan *, struct sim_search *, enum sim_memory,
               uint64_t number, struct search_told *);

/* LINES: so many tables in which a key must be moved, while another lane is at work on it, through all
 * schedules. */
void run_moves(struct test *, cohort_width, uint64_t tables);

/* Thousands of cases at once on a device's real lanes (on the simulator: with strong memory), through the
 * context's launches. */
void run_launches(struct test *, cohort_width, uint64_t launches);

/* The same on the host's threads. */
void run_threads(struct test *, cohort_width, uint64_t rounds);

/* What has been run so far in this process. */
void tally_plan(uint64_t hash);
void tally_schedules(uint64_t n);
void tally_print(void);

#endif
