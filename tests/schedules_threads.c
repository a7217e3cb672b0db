/* schedules_threads.c: plans on the host's threads. A round is many cases, each on a table of its own;
 * thread k does lane k of one case after the other, and before each waits a moment for the others, so that
 * they meet there more often than not. */
#include "schedules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Nothing that comes later in the program is done before the clock is read, nothing that came before it
 * after. */
static inline co_u64 co_clock(void)
{
    struct timespec now;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    clock_gettime(CLOCK_MONOTONIC, &now);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return (co_u64)now.tv_sec * 1000000000u + (co_u64)now.tv_nsec;
}
#define LIST_SETTLE(result, old) ((void)0)
#include "kernels/op_lane.h"

enum { CASES = 64, MOST_THREADS = 3, PATIENCE = 2000 };

struct round {
    struct list_args args;
    cohort_width width;
    cohort_layout layout;
    atomic_uint there[CASES]; /* threads that have come to a case */
    int over;
    pthread_barrier_t begin, end;
    _Alignas(128) unsigned char tables[CASES][PLAN_TABLE];
    struct co_map_counters counters[CASES];
    co_u64 ops[CASES * PLAN_LANES * PLAN_EACH], records[CASES * PLAN_LANES * PLAN_EACH * LIST_RECORD_WORDS];
};

struct worker {
    struct round *round;
    unsigned lane;
    pthread_t thread;
};

static void do_lane(const struct round *r, unsigned number, unsigned lane)
{
    static void (*const lists[2][7])(const struct list_args *, co_u32, co_u32) = {
        {NULL, list_lane_32_0, list_lane_32_32, list_lane_64_0, list_lane_64_32, list_lane_64_64, NULL},
        {NULL, list_lane_lines_32_0, list_lane_lines_32_32, list_lane_lines_64_0, list_lane_lines_64_32,
         list_lane_lines_64_64, list_lane_lines_128_64}};
    lists[r->layout][r->width](&r->args, number, lane);
}

static void *work(void *user)
{
    struct worker *w = user;
    struct round *r = w->round;
    for (;;) {
        pthread_barrier_wait(&r->begin);
        if (r->over)
            return NULL;
        for (unsigned i = 0; i < CASES && w->lane < r->args.lanes; i++) {
            atomic_fetch_add(&r->there[i], 1);
            for (unsigned k = 0; k < PATIENCE && atomic_load(&r->there[i]) < r->args.lanes; k++)
                co_pause();
            do_lane(r, i, w->lane);
        }
        pthread_barrier_wait(&r->end);
    }
}

static void draw_round(struct round *r, struct plan *plans, uint64_t seed)
{
    struct dice dice = {test_mix(seed * 8 + (uint64_t)r->width + 3)};
    enum family family = (enum family)dice_below(&dice, FAMILIES);
    plan_draw(&plans[0], r->width, r->layout, family, &dice);
    plans[0].lanes = 2 + (unsigned)dice_below(&dice, MOST_THREADS - 1);
    memset(&r->args, 0, sizeof r->args);
    r->args.cases = CASES;
    r->args.table_step = PLAN_TABLE;
    r->args.counters_step = sizeof r->counters[0];
    r->args.ops = r->ops;
    r->args.records = r->records;
    plan_args(&plans[0], &r->args);
    r->args.view = table_view(&plans[0].shape, r->tables, r->counters);
    for (unsigned i = 0; i < CASES; i++) {
        plans[i] = plans[0];
        plan_draw_ops(&plans[i], family, &dice);
        memcpy(r->tables[i], plans[i].table, PLAN_TABLE);
        r->counters[i] = plans[i].counters;
        atomic_store(&r->there[i], 0);
        for (unsigned k = 0; k < plans[i].lanes * plans[i].each; k++)
            r->ops[i * plans[i].lanes * plans[i].each + k] = plans[i].ops[k];
    }
}

static int judge_round(struct test *t, const struct round *r, const struct plan *plans, uint64_t seed)
{
    char text[4000];
    for (unsigned i = 0; i < CASES; i++) {
        const struct plan *p = &plans[i];
        struct aftermath o = {.records = r->records + (uint64_t)i * p->lanes * p->each * LIST_RECORD_WORDS,
                              .table = r->tables[i],
                              .counters = &r->counters[i],
                              .clock = CLOCK_TIME};
        tally_plan(plan_hash(p));
        if (plan_judge(p, &o, text, sizeof text))
            continue;
        report(t, seed, p, text);
        return 0;
    }
    return 1;
}

void run_threads(struct test *t, cohort_width width, uint64_t rounds)
{
    static struct plan plans[CASES];
    struct worker workers[MOST_THREADS];
    struct round *r = aligned_alloc(128, (sizeof *r + 127) / 128 * 128);
    REQUIRE(t, r);
    memset(r, 0, sizeof *r);
    r->width = width;
    r->layout = t->layout;
    pthread_barrier_init(&r->begin, NULL, MOST_THREADS + 1);
    pthread_barrier_init(&r->end, NULL, MOST_THREADS + 1);
    for (unsigned i = 0; i < MOST_THREADS; i++) {
        workers[i] = (struct worker){.round = r, .lane = i};
        REQUIRE(t, !pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (uint64_t i = 0; i < rounds; i++) {
        draw_round(r, plans, t->seed + i);
        pthread_barrier_wait(&r->begin);
        pthread_barrier_wait(&r->end);
        tally_schedules(CASES);
        if (!judge_round(t, r, plans, t->seed + i))
            break;
    }
    r->over = 1;
    pthread_barrier_wait(&r->begin);
    for (unsigned i = 0; i < MOST_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&r->begin);
    pthread_barrier_destroy(&r->end);
    free(r);
}
