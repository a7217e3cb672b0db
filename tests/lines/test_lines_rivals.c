/* test_lines_rivals.c: the tables that the bench sets beside LINES and pages (bench/peers/rivals_kernels.h):
 * linear and quadratic probing, and cuckoo hashing, on the simulated GPU.
 *
 * Built in many schedules, at sizes from one pair to a full table: the pairs of the table are those that went
 * in, each once, and lookups answer as a plain list does. What finds no place is told. Then the sectors that
 * each of these tables touches, LINES and pages too: those of lookups in the rivals are predicted exactly, by
 * a walk on a copy of the table, and all are as the bench tells them (bench/sectors.h). */
#include "subject.h"

#include "../../bench/sectors.h"
#include "cohort/device/map.h"
#include "sim/sim.h"

enum { LINEAR, QUADRATIC, CUCKOO, RIVALS };
static const char *const names[] = {"linear", "quadratic", "cuckoo"};

struct rivals_args { /* as in rivals_kernels.h */
    uint64_t *slots;
    const uint32_t *keys, *values;
    uint32_t *results, *failed;
    uint64_t n, seed;
    uint32_t log, chain;
};

/* A table, and columns of n entries in the simulated memory. */
struct rival {
    struct test *t;
    int kind;
    uint64_t n, slots;
    struct rivals_args args;
    uint32_t *keys, *values, *absent;
};

static void *room(struct test *t, uint64_t bytes)
{
    void *memory = sim_alloc(bytes);
    REQUIRE(t, memory != NULL);
    return memory;
}

/* Keys of 32 bits that are all distinct: odd factors are bijections. */
static uint32_t key_of(uint64_t i, uint32_t salt)
{
    return (uint32_t)(i ^ salt) * 0x9e3779b1u;
}

static struct rival rival_new(struct test *t, int kind, unsigned log, uint64_t n)
{
    const uint32_t salt = (uint32_t)test_random(t);
    struct rival r = {.t = t, .kind = kind, .n = n, .slots = UINT64_C(1) << log};
    r.keys = room(t, n * 4);
    r.values = room(t, n * 4);
    r.absent = room(t, n * 4);
    for (uint64_t i = 0; i < n; i++) {
        r.keys[i] = key_of(i, salt);
        r.values[i] = (uint32_t)test_random(t) | 1;
        r.absent[i] = key_of(n + i, salt);
    }
    r.args =
        (struct rivals_args){room(t, r.slots * 8), r.keys,        r.values, room(t, n * 4), room(t, 4), n, 1,
                             (uint32_t)log,        16 * (log + 1)};
    return r;
}

static void rival_free(struct rival *r)
{
    sim_free(r->args.slots);
    sim_free(r->args.results);
    sim_free(r->args.failed);
    sim_free(r->keys);
    sim_free(r->values);
    sim_free(r->absent);
}

static void run(const struct rival *r, const char *what, const struct sim_schedule *schedule)
{
    char kernel[64];
    const unsigned threads = r->n < 256 ? (unsigned)(r->n + 31) / 32 * 32 : 256;
    snprintf(kernel, sizeof kernel, "rivals_%s_%s", names[r->kind], what);
    REQUIREF(r->t,
             sim_run(kernel, &r->args, (unsigned)((r->n + threads - 1) / threads), threads, 0, schedule) == 0,
             "%s", sim_message());
}

/* 1: all are in. */
static int build(struct rival *r, const struct sim_schedule *schedule)
{
    memset(r->args.slots, 0, r->slots * 8);
    *r->args.failed = 0;
    r->args.keys = r->keys;
    run(r, "build", schedule);
    return !*r->args.failed;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The pairs of the table are those that went in. */
static void pairs_check(const struct rival *r)
{
    uint64_t *in = calloc(r->n, 8), *due = calloc(r->n, 8), found = 0;
    for (uint64_t i = 0; i < r->slots; i++)
        if (r->args.slots[i] && found++ < r->n)
            in[found - 1] = r->args.slots[i];
    for (uint64_t i = 0; i < r->n; i++)
        due[i] = (uint64_t)r->keys[i] << 32 | r->values[i];
    qsort(in, r->n, 8, by_number);
    qsort(due, r->n, 8, by_number);
    CHECKF(r->t, found == r->n && !memcmp(in, due, r->n * 8),
           "%s, %llu slots: %llu pairs of %llu are in, or others", names[r->kind],
           (unsigned long long)r->slots, (unsigned long long)found, (unsigned long long)r->n);
    free(in);
    free(due);
}

/* Looks for all keys, which are in and have these values, or are absent. */
static void lookups_check(struct rival *r, const uint32_t *keys, const uint32_t *values,
                          const struct sim_schedule *schedule)
{
    uint64_t wrong = 0;
    r->args.keys = keys;
    memset(r->args.results, 0xff, r->n * 4);
    run(r, "retrieve", schedule);
    for (uint64_t i = 0; i < r->n; i++)
        wrong += r->args.results[i] != (values ? values[i] : 0);
    CHECKF(r->t, !wrong, "%s, %llu slots, %llu pairs: %llu lookups of %s keys are wrong", names[r->kind],
           (unsigned long long)r->slots, (unsigned long long)r->n, (unsigned long long)wrong,
           values ? "these" : "absent");
}

/* ---- answers ------------------------------------------------------------------------------------------- */

/* A table that refuses is built with other seeds, as the bench does. */
static void size_check(struct test *t, int kind, unsigned log, uint64_t n, struct sim_schedule *schedule)
{
    struct rival r = rival_new(t, kind, log, n);
    int in = 0;
    for (int i = 0; i < 10 && !in; i++) {
        r.args.seed = test_random(t);
        in = build(&r, schedule);
    }
    if (CHECKF(t, in, "%s: %llu pairs find no place in %llu slots", names[kind], (unsigned long long)n,
               (unsigned long long)r.slots)) {
        pairs_check(&r);
        lookups_check(&r, r.keys, r.values, schedule);
        lookups_check(&r, r.absent, NULL, schedule);
    }
    rival_free(&r);
}

/* Probing fills a table to its last slot. */
static void answers(struct test *t)
{
    struct sim_schedule schedule = SIM_SCHEDULE_INIT;
    const uint64_t turns = test_scale(t, 40, 400, 4000);
    schedule.kind = SIM_ANY;
    for (uint64_t turn = 0; turn < turns; turn++)
        for (int kind = 0; kind < RIVALS; kind++) {
            const unsigned log = 2 + (unsigned)test_below(t, 6);
            const uint64_t slots = UINT64_C(1) << log, most = kind == CUCKOO ? slots * 4 / 5 : slots;
            schedule.seed = test_random(t);
            size_check(t, kind, log, turn % 4 ? 1 + test_below(t, most) : most, &schedule);
        }
}

/* One pair more than there are slots; and chains that end before they have found an empty slot. */
static void refusals(struct test *t)
{
    struct sim_schedule schedule = SIM_SCHEDULE_INIT;
    schedule.kind = SIM_ANY;
    for (int kind = 0; kind < RIVALS; kind++)
        for (unsigned log = 2; log < 7; log++) {
            struct rival r = rival_new(t, kind, log, (UINT64_C(1) << log) + 1);
            uint64_t in = 0;
            schedule.seed = test_random(t);
            CHECKF(t, !build(&r, &schedule), "%s: a pair too many is not told of", names[kind]);
            for (uint64_t i = 0; i < r.slots; i++)
                in += r.args.slots[i] != 0;
            CHECKF(t, kind == CUCKOO || in == r.slots, "%s: a slot is left empty", names[kind]);
            rival_free(&r);
        }
    struct rival r = rival_new(t, CUCKOO, 6, 51);
    r.args.chain = 1;
    CHECKF(t, !build(&r, &schedule), "cuckoo: what was driven out is lost, and that is not told of");
    rival_free(&r);
}

/* ---- sectors ------------------------------------------------------------------------------------------- */

static uint64_t place(const struct rival *r, uint32_t key, uint64_t i)
{
    const uint64_t mask = r->slots - 1, seed = r->args.seed;
    if (r->kind == LINEAR || r->kind == QUADRATIC)
        return (test_mix(key ^ seed) + (r->kind == LINEAR ? i : i * (i + 1) / 2)) & mask;
    const uint64_t h = test_mix(key ^ (seed + (i / 2 << 40)));
    return (i % 2 ? h >> 32 : h) & mask;
}

/* Sectors that a lookup goes through: until the key, or an empty slot, or the last place. */
static uint64_t walk(const struct rival *r, uint32_t key)
{
    uint64_t touched = 0, last = UINT64_MAX;
    for (uint64_t i = 0; i < (r->kind == CUCKOO ? 4 : r->slots); i++) {
        const uint64_t at = place(r, key, i), pair = r->args.slots[at];
        touched += at / 4 != last;
        last = at / 4;
        if (!pair || pair >> 32 == key)
            break;
    }
    return touched;
}

static void told_check(struct test *t, const char *variant, int operation, uint64_t sectors, uint64_t n)
{
    const double counted = (double)sectors / (double)n;
    for (size_t i = 0; i < sizeof sectors_told / sizeof *sectors_told; i++)
        if (!strcmp(sectors_told[i].variant, variant)) {
            const double told = sectors_told[i].an_operation[operation];
            CHECKF(t, counted > 0.92 * told - 0.05 && counted < 1.08 * told + 0.05,
                   "%s: %.3f sectors an operation (%d), %.2f are told", variant, counted, operation, told);
            return;
        }
    CHECKF(t, 0, "%s: nothing is told", variant);
}

enum { LOG = 14, TABLES = 4 };
static const uint64_t entries = (4u << LOG) / 5;

/* Adds what one table's operations touch. */
static void table_sectors(struct test *t, int kind, uint64_t counted[SECTORS_KINDS])
{
    struct rival r = rival_new(t, kind, LOG, entries);
    struct sim_schedule schedule = SIM_SCHEDULE_INIT;
    do {
        r.args.seed = test_random(t);
        schedule.seed = test_random(t);
        sim_watch(r.args.slots, r.slots * 8);
    } while (!build(&r, &schedule));
    counted[SECTORS_BUILD] += sim_watched();
    for (int operation = SECTORS_RETRIEVE; operation < SECTORS_KINDS; operation++) {
        const int absent = operation == SECTORS_ABSENT;
        uint64_t due = 0;
        for (uint64_t i = 0; i < r.n; i++)
            due += walk(&r, (absent ? r.absent : r.keys)[i]);
        sim_watch(r.args.slots, r.slots * 8);
        lookups_check(&r, absent ? r.absent : r.keys, absent ? NULL : r.values, &schedule);
        CHECKF(t, sim_watched() == due, "%s: %llu sectors, %llu predicted", names[kind],
               (unsigned long long)sim_watched(), (unsigned long long)due);
        counted[operation] += sim_watched();
    }
    rival_free(&r);
}

/* Of several tables: how long the runs of a table with linear probing are is a matter of luck. */
static void rival_sectors(struct test *t, int kind)
{
    uint64_t counted[SECTORS_KINDS] = {0};
    for (int i = 0; i < TABLES; i++)
        table_sectors(t, kind, counted);
    for (int operation = 0; operation < SECTORS_KINDS; operation++)
        told_check(t, names[kind], operation, counted[operation], TABLES * entries);
}

/* Maps of the library, built and read by its calls. */
static void map_sectors(struct test *t, cohort_layout layout, const char *variant)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    struct cohort_map_view view;
    cohort_map *map;
    struct column *keys = column_new(t, entries, 4), *absent = column_new(t, entries, 4),
                  *results = column_new(t, entries, 4);
    const uint32_t salt = (uint32_t)test_random(t), none = 0;
    for (uint64_t i = 0; i < entries; i++) {
        column_put(keys, i, key_of(i, salt));
        column_put(absent, i, key_of(entries + i, salt));
    }
    options.width = COHORT_WIDTH_32_32;
    options.layout = layout;
    options.fixed = 1;
    options.max_load = 0.8;
    options.capacity = entries;
    OK(t, cohort_map_create(t->context, &options, &map));
    OK(t, cohort_map_get_stats(map, &stats));
    OK(t, cohort_map_get_view(map, &view));
    for (int operation = 0; operation < SECTORS_KINDS; operation++) {
        sim_watch(view.slots, stats.table_bytes);
        OK(t, operation == SECTORS_BUILD
                  ? cohort_map_insert(map, entries, keys->data, keys->data, NULL)
                  : cohort_map_find(map, entries, (operation == SECTORS_RETRIEVE ? keys : absent)->data,
                                    results->data, &none, NULL));
        OK(t, cohort_wait(t->context));
        told_check(t, variant, operation, sim_watched(), entries);
    }
    cohort_map_destroy(map);
}

static void sectors(struct test *t)
{
    map_sectors(t, COHORT_LAYOUT_LINES, "lines");
    map_sectors(t, COHORT_LAYOUT_PAGES, "pages");
    for (int kind = 0; kind < RIVALS; kind++)
        rival_sectors(t, kind);
}

const struct test_case test_cases[] = {{"answers", answers, TEST_ON_SIM | TEST_NO_CONTEXT},
                                       {"refusals", refusals, TEST_ON_SIM | TEST_NO_CONTEXT},
                                       {"sectors", sectors, TEST_ON_SIM},
                                       {NULL, NULL, 0}};
