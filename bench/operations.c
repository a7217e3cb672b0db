/* operations.c: the map's operations one by one, on data that lies in the context's memory.
 *
 * What binds: random reads of single sectors (R) for find and contains, compare-and-swaps (C) for what
 * changes the table, the copy bandwidth (B) for export; the mixed stream has both, R for its finds and C
 * for the rest. Tables that fit in half of the last cache are held against the cached limits. */
#include "map.h"

#include <string.h>

int map_wanted(const map_plan *plan, const char *name)
{
    char word[64];
    for (const char *list = plan->only; list && *list;) {
        size_t n = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, list);
        if (strstr(name, word))
            return 1;
        list += n + (list[n] == ',');
    }
    return !plan->only;
}

uint64_t map_n(const map_plan *plan, uint64_t full, uint64_t quick)
{
    return plan->n_given ? plan->n[0] : plan->quick ? quick : full;
}

cohort_status map_open(map_bench *m, cohort_probe probe, uint32_t group)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    o.width = m->width->width;
    o.capacity = m->c.n;
    o.max_load = m->load;
    o.fixed = 1;
    o.probe = probe;
    o.group = group;
    o.layout = m->plan->layout;
    cohort_status s = cohort_map_create(m->b->dev.context, &o, &m->map);
    return s ? s : work_fill(m);
}

int map_opened(map_bench *m, cohort_status s, const char *doing, fault *fault)
{
    if (s != COHORT_UNSUPPORTED || m->map)
        return s ? bench_fault(m->b, s, doing, fault) : CLI_OK;
    bench_say(m->b, "left out: %s", cohort_message(m->b->dev.context));
    return CLI_OK;
}

uint64_t map_table_bytes(const map_bench *m)
{
    return (uint64_t)((double)m->c.n / m->load) * m->width->slot;
}

unsigned map_repeat(const map_bench *m)
{
    uint64_t enough = m->b->dev.cpu ? 1u << 18 : 1u << 23;
    return m->c.n >= enough ? 1 : m->c.n < enough / 64 ? 64 : (unsigned)(enough / m->c.n);
}

bench_row map_row(const map_bench *m, const char *name, const char *keys)
{
    bench_row row = bench_row_make(m->b, m->experiment, name, m->width->name, keys);
    row.n = m->c.n;
    row.load = m->load;
    if (m->plan->layout == COHORT_LAYOUT_LINES)
        snprintf(row.variant, sizeof row.variant, "lines");
    return row;
}

/* ---- the work ------------------------------------------------------------------------------------------ */

cohort_status work_clear(void *arg)
{
    return cohort_map_clear(((map_bench *)arg)->map);
}

cohort_status work_insert(void *arg)
{
    map_bench *m = arg;
    return cohort_map_insert(m->map, m->c.n, m->c.keys, m->width->value ? m->c.values : NULL, &m->batch);
}

/* As the library likes: by whole pages where that pays. */
static cohort_status work_build(void *arg)
{
    map_bench *m = arg;
    return cohort_map_insert(m->map, m->c.n, m->c.keys, m->width->value ? m->c.values : NULL, NULL);
}

/* The same of an assignment. */
static cohort_status work_rebuild(void *arg)
{
    map_bench *m = arg;
    return cohort_map_assign(m->map, m->c.n, m->c.queries, m->c.values, NULL);
}

static cohort_status work_half(void *arg)
{
    map_bench *m = arg;
    cohort_status s = work_clear(m);
    return s ? s
             : cohort_map_insert(m->map, m->c.n / 2, m->c.keys, m->width->value ? m->c.values : NULL, NULL);
}

cohort_status work_fill(void *arg)
{
    map_bench *m = arg;
    cohort_status s = work_clear(m);
    return s ? s : cohort_map_insert(m->map, m->c.n, m->c.keys, m->width->value ? m->c.values : NULL, NULL);
}

cohort_status work_find(void *arg)
{
    map_bench *m = arg;
    return cohort_map_find(m->map, m->c.n, m->ask, m->width->value ? m->c.results : NULL, NULL, NULL);
}

/* Widths without values have contains alone. */
static cohort_status work_contains(void *arg)
{
    map_bench *m = arg;
    return cohort_map_contains(m->map, m->c.n, m->ask, m->c.hit, NULL);
}

static cohort_status work_assign(void *arg)
{
    map_bench *m = arg;
    return cohort_map_assign(m->map, m->c.n, m->c.queries, m->c.values, &m->batch);
}

static cohort_status work_add(void *arg)
{
    map_bench *m = arg;
    return cohort_map_apply(m->map, COHORT_OP_ADD, m->c.n, m->c.queries, m->c.values, NULL);
}

static cohort_status work_erase(void *arg)
{
    map_bench *m = arg;
    return cohort_map_erase(m->map, m->c.n, m->c.queries, NULL);
}

static cohort_status work_run(void *arg)
{
    map_bench *m = arg;
    const void *values = m->width->value ? m->c.values : NULL;
    return cohort_map_run(m->map, m->c.n, m->c.ops, m->c.half, values, values ? m->c.results : NULL, NULL);
}

static cohort_status work_export(void *arg)
{
    map_bench *m = arg;
    uint64_t count;
    return cohort_map_export(m->map, m->c.n, m->c.spare, m->width->value ? m->c.results : NULL, &count);
}

/* ---- the measurements ---------------------------------------------------------------------------------- */

enum { QUERIES = 1, HALF, ABSENT };

typedef struct measurement {
    const char *name, *keys;
    bench_work prepare, work;
    int ask;
    cohort_winner winner;
    char bound; /* 'R', 'C', 'B' as above; 'M': the mixed stream */
    int values; /* needs a width with values */
} measurement;

static const measurement measurements[] = {
    {"map insert", "any wins", work_clear, work_insert, 0, COHORT_WINNER_ANY, 'C', 0},
    {"map build", "any wins", work_clear, work_build, 0, COHORT_WINNER_ANY, 'C', 0},
    {"map insert", "first wins", work_clear, work_insert, 0, COHORT_WINNER_FIRST, 'C', 1},
    {"map insert", "last wins", work_clear, work_insert, 0, COHORT_WINNER_LAST, 'C', 1},
    {"map find", "all there", NULL, work_find, QUERIES, COHORT_WINNER_ANY, 'R', 1},
    {"map find", "half there", NULL, work_find, HALF, COHORT_WINNER_ANY, 'R', 1},
    {"map find", "none there", NULL, work_find, ABSENT, COHORT_WINNER_ANY, 'R', 1},
    {"map contains", "all there", NULL, work_contains, QUERIES, COHORT_WINNER_ANY, 'R', 0},
    {"map contains", "none there", NULL, work_contains, ABSENT, COHORT_WINNER_ANY, 'R', 0},
    {"map assign", "all there", NULL, work_assign, 0, COHORT_WINNER_ANY, 'C', 1},
    {"map build", "all there", NULL, work_build, 0, COHORT_WINNER_ANY, 'C', 0},
    {"map build", "assign, all there", NULL, work_rebuild, 0, COHORT_WINNER_ANY, 'C', 1},
    {"map build", "assign, half there", work_half, work_rebuild, 0, COHORT_WINNER_ANY, 'C', 1},
    {"map apply add", "all there", NULL, work_add, 0, COHORT_WINNER_ANY, 'C', 1},
    {"map export", "all there", NULL, work_export, 0, COHORT_WINNER_ANY, 'B', 0},
    {"map run", "20/20/60, half", work_fill, work_run, 0, COHORT_WINNER_ANY, 'M', 0},
    {"map erase", "all there", work_fill, work_erase, 0, COHORT_WINNER_ANY, 'C', 0},
};

static int offered(const map_bench *m, const measurement *t)
{
    if (t->values && !m->width->value)
        return 0;
    if (t->work == work_run && m->load > 0.85)
        return 0; /* a tenth of the entries put in a key that was not there */
    return map_wanted(m->plan, t->name);
}

static void row_limit(const map_bench *m, char bound, bench_row *row)
{
    const bench_device *d = &m->b->dev;
    if (bound == 'R' || bound == 'C') {
        bench_row_limit(d, row, bound, map_table_bytes(m));
    } else if (bound == 'B') {
        row->limit = d->limits.copy_bytes / (m->width->slot / m->load + m->width->key + m->width->value);
        snprintf(row->limit_name, sizeof row->limit_name, "B");
    } else {
        bench_row c = *row;
        bench_row_limit(d, row, 'R', map_table_bytes(m));
        bench_row_limit(d, &c, 'C', map_table_bytes(m));
        row->limit = row->limit > 0 && c.limit > 0 ? 1 / (0.6 / row->limit + 0.4 / c.limit) : 0;
        snprintf(row->limit_name, sizeof row->limit_name, "R and C");
    }
}

static int measure(map_bench *m, const measurement *t, fault *fault)
{
    const void *ask[] = {NULL, m->c.queries, m->c.half, m->c.absent};
    bench_row row = map_row(m, t->name, t->keys);
    bench_job job = {t->prepare, t->work, m, (double)m->c.n, 1, 0};
    if (!t->prepare)
        job.repeat = map_repeat(m);
    row_limit(m, t->bound, &row);
    m->batch.winner = t->winner;
    m->ask = ask[t->ask];
    return bench_measure(m->b, &row, &job, fault);
}

/* All measurements at one width, size and load. The map is full when it is made and after an insert; what
 * takes keys out comes last. */
static int measure_all(map_bench *m, fault *fault)
{
    cohort_status s = map_open(m, COHORT_PROBE_DOUBLE, 0);
    int status = map_opened(m, s, "bench map", fault);
    if (!m->map)
        return status;
    for (size_t i = 0; i < sizeof measurements / sizeof *measurements && !status; i++) {
        if (offered(m, &measurements[i]))
            status = measure(m, &measurements[i], fault);
    }
    cohort_map_destroy(m->map);
    m->map = NULL;
    return status;
}

/* Columns are made once for all widths with one size of key, and serve all loads. */
int map_operations(const map_plan *plan, fault *fault)
{
    int status = CLI_OK;
    for (unsigned key = 4; key <= 8; key += 4)
        for (size_t i = 0; i < plan->n_count && !status; i++) {
            map_bench m = {.b = plan->b,
                           .plan = plan,
                           .experiment = "operations",
                           .batch = {.size = sizeof(cohort_batch), .one_by_one = !plan->b->dev.cpu}};
            for (size_t w = 0; w < plan->width_count && !status; w++) {
                m.width = plan->width[w];
                if (m.width->key != key)
                    continue;
                cohort_status s = m.c.n ? COHORT_OK : columns_make(&plan->b->dev, &m.c, plan->n[i], key);
                status = s ? bench_fault(plan->b, s, "bench map: columns of keys", fault)
                           : map_peers(plan, m.width, m.c.n, "map", fault);
                for (size_t l = 0; l < plan->load_count && !status; l++) {
                    m.load = plan->load[l];
                    status = measure_all(&m, fault);
                }
            }
            columns_free(&plan->b->dev, &m.c);
        }
    return status;
}
