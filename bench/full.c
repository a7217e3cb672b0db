/* full.c: fixed maps near full, and under churn: what goes in vain, and what the last slots cost. On a CPU.
 *
 * A map of max_load 1 is filled in steps to 0.8, 0.97, 0.99 and all of its slots. At each step absent keys
 * are looked up; when it is full, inserts are refused, too, and none of them may get in. Churn: a map of a
 * tenth as many pairs as its capacity, at max_load 0.8, erases the oldest tenth of its pairs in a round and
 * puts in as many new ones, until a round is refused: a fixed map does not use erased slots again. Every
 * erase must hit, every insert must be new. */
#include "map.h"

enum { STEPS = 4 };

typedef struct full_bench {
    map_bench m;
    uint64_t asked; /* entries of a batch in vain */
} full_bench;

/* The keys (or values) of a column from entry `first` on. */
static const void *column_at(const void *column, uint64_t first, unsigned bytes)
{
    return column ? (const char *)column + first * bytes : NULL;
}

static cohort_status range_insert(map_bench *m, uint64_t first, uint64_t n, const cohort_batch *batch)
{
    const void *values = m->width->value ? column_at(m->c.values, first, m->width->value) : NULL;
    return cohort_map_insert(m->map, n, column_at(m->c.keys, first, m->width->key), values, batch);
}

/* ---- steps towards full -------------------------------------------------------------------------------- */

static cohort_status work_absent(void *arg)
{
    full_bench *f = arg;
    return cohort_map_contains(f->m.map, f->asked, f->m.c.absent, f->m.c.hit, &f->m.batch);
}

static cohort_status work_refused(void *arg)
{
    full_bench *f = arg;
    const void *values = f->m.width->value ? f->m.c.values : NULL;
    cohort_status s = cohort_map_insert(f->m.map, f->asked, f->m.c.absent, values, &f->m.batch);
    return s == COHORT_FULL ? COHORT_OK : s;
}

static int vain_measure(full_bench *f, const char *name, const char *keys, bench_work work, fault *fault)
{
    cohort_counts counts = {0};
    bench_row row = map_row(&f->m, name, keys);
    bench_job job = {NULL, work, f, (double)f->asked, 1, 0};
    bench_row_limit(&f->m.b->dev, &row, 'R', map_table_bytes(&f->m));
    if (!map_wanted(f->m.plan, name))
        return CLI_OK;
    f->m.batch.counts = &counts;
    int status = bench_measure(f->m.b, &row, &job, fault);
    f->m.batch.counts = NULL;
    if (status || (!counts.hits && !counts.added))
        return status;
    return fault_set(fault, CLI_FAILED,
                     "bench map: %s, %s: %llu hits and %llu new keys, where there are none", name, keys,
                     (unsigned long long)counts.hits, (unsigned long long)counts.added);
}

static int steps_measure(full_bench *f, uint64_t slots, fault *fault)
{
    static const double loads[STEPS] = {0.8, 0.97, 0.99, 1};
    uint64_t in = 0;
    int status = CLI_OK;
    for (unsigned i = 0; i < STEPS && !status; i++) {
        /* some more keys than slots: of the last ones most find none */
        uint64_t until = loads[i] < 1 ? (uint64_t)((double)slots * loads[i]) : slots + slots / 16;
        cohort_status s = range_insert(&f->m, in, until - in, NULL);
        if (s && !(s == COHORT_FULL && loads[i] > 0.98))
            return bench_fault(f->m.b, s, "bench map: full", fault);
        in = until;
        f->m.load = loads[i];
        status = vain_measure(f, "full contains", "none there", work_absent, fault);
        if (!status && i + 1 == STEPS)
            status = vain_measure(f, "full insert", "refused", work_refused, fault);
    }
    return status;
}

/* ---- churn --------------------------------------------------------------------------------------------- */

/* A round that leaves out the oldest `change` keys and puts in as many behind the youngest. 1: refused. */
static int round_run(map_bench *m, uint64_t oldest, uint64_t live, uint64_t change, double *seconds,
                     fault *fault)
{
    cohort_counts erased = {0}, put = {0};
    cohort_batch batch = COHORT_BATCH_INIT;
    double start = seconds_now();
    batch.counts = &erased;
    cohort_status s = cohort_map_erase(m->map, change, column_at(m->c.keys, oldest, m->width->key), &batch);
    batch.counts = &put;
    if (!s)
        s = range_insert(m, oldest + live, change, &batch);
    *seconds = seconds_now() - start;
    if (s && s != COHORT_FULL) {
        bench_fault(m->b, s, "bench map: churn", fault);
        return -1;
    }
    if (erased.hits != change || put.added + put.failed != change) {
        fault_set(fault, CLI_FAILED, "bench map: churn: %llu of %llu keys erased, %llu put in, %llu refused",
                  (unsigned long long)erased.hits, (unsigned long long)change, (unsigned long long)put.added,
                  (unsigned long long)put.failed);
        return -1;
    }
    return s == COHORT_FULL;
}

static int round_told(map_bench *m, uint64_t round, uint64_t change, double seconds, const char *keys,
                      fault *fault)
{
    bench_row row = map_row(m, "churn", keys);
    snprintf(row.at_name, sizeof row.at_name, "round");
    row.at = (double)round;
    row.load = BENCH_NO_LOAD;
    return bench_add_times(m->b, &row, 2 * (double)change, &seconds, 1, fault);
}

static int churn_measure(full_bench *f, uint64_t keys, fault *fault)
{
    uint64_t live = f->m.c.n / 10 + !(f->m.c.n / 10), change = live / 10 + !(live / 10), oldest = 0;
    cohort_status s = range_insert(&f->m, 0, live, NULL);
    int refused = s ? bench_fault(f->m.b, s, "bench map: churn", fault) : 0;
    if (s || !map_wanted(f->m.plan, "churn"))
        return refused;
    /* the 1st, 2nd, 4th, .. round is told, and the one that was refused */
    for (uint64_t round = 1; !refused && oldest + live + change <= keys; round++) {
        double seconds;
        refused = round_run(&f->m, oldest, live, change, &seconds, fault);
        if (refused < 0)
            return fault->status;
        oldest += change;
        if ((refused || !(round & (round - 1)) || round % 16 == 0) &&
            round_told(&f->m, round, change, seconds, refused ? "refused at the end" : "erase, insert",
                       fault))
            return fault->status;
    }
    return CLI_OK;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int map_with(full_bench *f, double max_load, uint64_t *slots, fault *fault)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    o.width = f->m.width->width;
    o.capacity = f->m.c.n;
    o.max_load = max_load;
    o.fixed = 1;
    cohort_status s = cohort_map_create(f->m.b->dev.context, &o, &f->m.map);
    if (!s)
        s = cohort_map_get_stats(f->m.map, &stats);
    *slots = stats.slots;
    return s ? bench_fault(f->m.b, s, "bench map: full", fault) : CLI_OK;
}

static void map_drop(full_bench *f)
{
    cohort_map_destroy(f->m.map);
    f->m.map = NULL;
}

/* Of a step the keys are those of one column, in order; absent ones come behind them. */
static int width_measure(full_bench *f, fault *fault)
{
    const bench_device *d = &f->m.b->dev;
    uint64_t slots = 0, keys = 0;
    int status = map_with(f, 1, &slots, fault);
    keys = slots + slots / 2;
    column_plan plan = column_plan_make(keys, f->m.width->key);
    cohort_status made = COHORT_OK;
    if (!status)
        made = column_make(d, &f->m.c.keys, keys, f->m.width->key, entry_key, &plan);
    if (!status && !made)
        made = column_make(d, &f->m.c.absent, f->asked, f->m.width->key, entry_absent, &plan);
    if (!status && !made)
        made = cohort_alloc(d->context, (f->asked + 31) / 32 * 4, (void **)&f->m.c.hit);
    if (!status && !made && f->m.width->value)
        made = column_make(d, &f->m.c.values, keys, f->m.width->value, entry_key, &plan);
    if (made)
        status = bench_fault(f->m.b, made, "bench map: columns of keys", fault);
    if (!status)
        status = steps_measure(f, slots, fault);
    map_drop(f);
    if (!status)
        status = map_with(f, 0.8, &slots, fault);
    if (!status)
        status = churn_measure(f, keys, fault);
    map_drop(f);
    columns_free(d, &f->m.c);
    return status;
}

int map_full(const map_plan *plan, fault *fault)
{
    int status = CLI_OK;
    if (!plan->b->dev.cpu) {
        bench_say(plan->b, "left out: full: it is measured on a CPU (--device cpu)");
        return CLI_OK;
    }
    for (size_t w = 0; w < plan->width_count && !status; w++) {
        full_bench f = {.m = {.b = plan->b, .plan = plan, .experiment = "full", .width = plan->width[w]}};
        f.m.batch = (cohort_batch)COHORT_BATCH_INIT;
        f.m.c.n = map_n(plan, 1u << 22, 1u << 16);
        f.asked = f.m.c.n < 1u << 20 ? f.m.c.n : 1u << 20;
        status = width_measure(&f, fault);
    }
    return status;
}
