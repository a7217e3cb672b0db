/* duplicates.c: batches in which keys occur more than once: each key equally often, or by Zipf's law; and the
 * multimap, from one value a key to ten thousand.
 *
 * A batch of n entries has n / m keys that occur m times each, in scattered places; or draws from n keys,
 * rank r with probability proportional to r^-s. The table has room for all the keys that may occur, at load
 * 0.5. */
#include "map.h"
#include "zipf.h"

#include <string.h>

/* ---- the keys ------------------------------------------------------------------------------------------ */

typedef struct zipf {
    bench_zipf law;
    unsigned key_bytes;
} zipf;

static uint64_t entry_zipf(const void *arg, uint64_t i)
{
    const zipf *z = arg;
    return bench_key(bench_zipf_rank(&z->law, i), z->key_bytes);
}

/* Entry i of n: key i / m of a scattered visit. */
typedef struct uniform {
    column_plan plan;
    uint64_t distinct;
} uniform;

static uint64_t entry_uniform(const void *arg, uint64_t i)
{
    const uniform *u = arg;
    return bench_key(bench_other(i, u->plan.n, u->plan.step) % u->distinct, u->plan.key_bytes);
}

/* ---- the operations ------------------------------------------------------------------------------------ */

static cohort_status work_assign(void *arg)
{
    map_bench *m = arg;
    return cohort_map_assign(m->map, m->c.n, m->c.keys, m->c.values, &m->batch);
}

/* As the library likes: by whole pages where that pays. */
static cohort_status work_put(void *arg)
{
    map_bench *m = arg;
    return cohort_map_insert(m->map, m->c.n, m->c.keys, m->c.values, NULL);
}

static cohort_status work_add(void *arg)
{
    map_bench *m = arg;
    return cohort_map_apply(m->map, COHORT_OP_ADD, m->c.n, m->c.keys, m->c.values, NULL);
}

static cohort_status work_count(void *arg)
{
    map_bench *m = arg;
    return cohort_map_apply(m->map, COHORT_OP_COUNT, m->c.n, m->c.keys, NULL, NULL);
}

static const struct operation {
    const char *name;
    bench_work work;
    cohort_winner winner;
} operations[] = {{"insert, any wins", work_insert, COHORT_WINNER_ANY},
                  {"build, any wins", work_put, COHORT_WINNER_ANY},
                  {"insert, last wins", work_insert, COHORT_WINNER_LAST},
                  {"assign, any wins", work_assign, COHORT_WINNER_ANY},
                  {"assign, last wins", work_assign, COHORT_WINNER_LAST},
                  {"apply add", work_add, COHORT_WINNER_ANY},
                  {"apply count", work_count, COHORT_WINNER_ANY}};

/* One column of keys through all operations, each on a map that is empty before. */
static int operations_measure(map_bench *m, const char *law, const char *at_name, double at,
                              uint64_t distinct, fault *fault)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    o.width = m->width->width;
    o.capacity = distinct;
    o.max_load = m->load;
    o.fixed = 1;
    cohort_status s = cohort_map_create(m->b->dev.context, &o, &m->map);
    int status = s ? bench_fault(m->b, s, "bench map: duplicates", fault) : CLI_OK;
    for (size_t i = 0; i < sizeof operations / sizeof *operations && !status; i++) {
        bench_row row = map_row(m, law, operations[i].name);
        bench_job job = {work_clear, operations[i].work, m, (double)m->c.n, 1, 0};
        snprintf(row.at_name, sizeof row.at_name, "%s", at_name);
        row.at = at;
        m->batch.winner = operations[i].winner;
        bench_row_limit(&m->b->dev, &row, 'C', (uint64_t)((double)distinct / m->load) * m->width->slot);
        if (map_wanted(m->plan, row.name) || map_wanted(m->plan, row.keys))
            status = bench_measure(m->b, &row, &job, fault);
    }
    cohort_map_destroy(m->map);
    m->map = NULL;
    return status;
}

static int uniform_measure(map_bench *m, uint64_t times, fault *fault)
{
    uniform u = {column_plan_make(m->c.n, m->width->key), m->c.n / times ? m->c.n / times : 1};
    cohort_status s = column_make(&m->b->dev, &m->c.keys, m->c.n, m->width->key, entry_uniform, &u);
    if (s)
        return bench_fault(m->b, s, "bench map: a column of duplicates", fault);
    int status =
        operations_measure(m, "duplicates uniform", "multiplicity", (double)times, u.distinct, fault);
    cohort_free(m->b->dev.context, m->c.keys);
    m->c.keys = NULL;
    return status;
}

static int zipf_measure(map_bench *m, double exponent, fault *fault)
{
    zipf z = {bench_zipf_make(m->c.n, exponent), m->width->key};
    cohort_status s = column_make(&m->b->dev, &m->c.keys, m->c.n, m->width->key, entry_zipf, &z);
    if (s)
        return bench_fault(m->b, s, "bench map: a column by Zipf's law", fault);
    int status = operations_measure(m, "duplicates zipf", "exponent", exponent, m->c.n, fault);
    cohort_free(m->b->dev.context, m->c.keys);
    m->c.keys = NULL;
    return status;
}

int map_duplicates(const map_plan *plan, fault *fault)
{
    static const uint64_t times[] = {1, 4, 16, 64, 256, 1024};
    static const double exponents[] = {0.5, 0.75, 1, 1.25, 1.5};
    size_t step = plan->quick ? 2 : 1; /* every other one */
    uint64_t n = map_n(plan, plan->b->dev.cpu ? 1u << 22 : 1u << 26, plan->b->dev.cpu ? 1u << 17 : 1u << 24);
    int status = CLI_OK;
    for (size_t w = 0; w < plan->width_count && !status; w++) {
        map_bench m = {.b = plan->b,
                       .plan = plan,
                       .experiment = "duplicates",
                       .batch = {.size = sizeof(cohort_batch), .one_by_one = 1},
                       .load = 0.5};
        m.width = plan->width[w];
        m.c.n = n;
        if (!m.width->value || (!plan->width_given && m.width->width != COHORT_WIDTH_32_32))
            continue;
        column_plan values = column_plan_make(n, 8);
        cohort_status s = column_make(&plan->b->dev, &m.c.values, n, 8, entry_key, &values);
        status = s ? bench_fault(plan->b, s, "bench map: a column of values", fault) : CLI_OK;
        for (size_t i = 0; i < sizeof times / sizeof *times && !status; i += step)
            status = uniform_measure(&m, times[i], fault);
        for (size_t i = 0; i < sizeof exponents / sizeof *exponents && !status; i += step)
            status = zipf_measure(&m, exponents[i], fault);
        columns_free(&plan->b->dev, &m.c);
    }
    return status;
}

/* ---- the multimap -------------------------------------------------------------------------------------- */

typedef struct multi_bench {
    map_bench m;
    cohort_multimap *multimap;
    uint64_t keys; /* distinct */
    void *queries;
    uint64_t *rows;
} multi_bench;

static cohort_status work_build(void *arg)
{
    multi_bench *m = arg;
    cohort_multimap_options o = COHORT_MULTIMAP_OPTIONS_INIT;
    o.width = m->m.width->width;
    o.max_load = m->m.load;
    return cohort_multimap_build(m->m.b->dev.context, &o, m->m.c.n, m->m.c.keys, m->m.c.values, NULL,
                                 &m->multimap);
}

static cohort_status work_unbuild(void *arg)
{
    multi_bench *m = arg;
    cohort_multimap_destroy(m->multimap);
    m->multimap = NULL;
    return COHORT_OK;
}

static cohort_status work_retrieve(void *arg)
{
    multi_bench *m = arg;
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    r.capacity = m->m.c.n;
    r.values = m->m.c.results;
    r.queries = m->rows;
    return cohort_multimap_retrieve(m->multimap, m->keys, m->queries, &r);
}

static cohort_status multi_columns(multi_bench *m, uint64_t values)
{
    const bench_device *d = &m->m.b->dev;
    uniform u = {column_plan_make(m->keys * values, m->m.width->key), m->keys};
    column_plan queries = column_plan_make(m->keys, m->m.width->key);
    m->m.c.n = u.plan.n;
    cohort_status s = column_make(d, &m->m.c.keys, u.plan.n, m->m.width->key, entry_uniform, &u);
    if (!s)
        s = column_make(d, &m->m.c.values, u.plan.n, m->m.width->value, entry_key, &u.plan);
    if (!s)
        s = column_make(d, &m->queries, m->keys, m->m.width->key, entry_query, &queries);
    if (!s)
        s = cohort_alloc(d->context, u.plan.n * m->m.width->value, &m->m.c.results);
    return s ? s : cohort_alloc(d->context, u.plan.n * sizeof *m->rows, (void **)&m->rows);
}

/* A value is read, and written with the number of its query; each key costs a random read. */
static void retrieve_limit(const multi_bench *m, double values, bench_row *row)
{
    const cohort_limits *l = &m->m.b->dev.limits;
    double bytes = 2.0 * m->m.width->value + sizeof *m->rows;
    bench_row_limit(&m->m.b->dev, row, 'R', (uint64_t)((double)m->keys / m->m.load) * 2 * m->m.width->key);
    row->limit =
        row->limit > 0 && l->copy_bytes > 0 ? 1 / (bytes / l->copy_bytes + 1 / (values * row->limit)) : 0;
    snprintf(row->limit_name, sizeof row->limit_name, "B and R");
}

static int multi_measure(multi_bench *m, uint64_t values, fault *fault)
{
    bench *b = m->m.b;
    cohort_status s = multi_columns(m, values);
    if (s)
        return bench_fault(b, s, "bench map: columns of a multimap", fault);
    bench_row row = map_row(&m->m, "multimap build", "equal");
    bench_job build = {work_unbuild, work_build, m, (double)m->m.c.n, 1, 0},
              retrieve = {NULL, work_retrieve, m, (double)m->m.c.n, 1, 0};
    snprintf(row.at_name, sizeof row.at_name, "values a key");
    row.at = (double)values;
    int status = bench_measure(b, &row, &build, fault);
    snprintf(row.name, sizeof row.name, "multimap retrieve");
    retrieve_limit(m, (double)values, &row);
    return status ? status : bench_measure(b, &row, &retrieve, fault);
}

int map_multimap(const map_plan *plan, fault *fault)
{
    static const uint64_t values[] = {1, 10, 100, 1000, 10000};
    const bench_device *d = &plan->b->dev;
    uint64_t n = map_n(plan, d->cpu ? 1u << 22 : 1u << 26, d->cpu ? 1u << 17 : 1u << 24);
    n = n > 10000 ? n / 10000 * 10000 : n; /* so that each number of values divides it */
    int status = CLI_OK;
    for (size_t w = 0; w < plan->width_count && !status; w++)
        for (size_t i = 0; i < sizeof values / sizeof *values && !status; i++) {
            multi_bench m = {.m = {.b = plan->b, .plan = plan, .experiment = "multimap", .load = 0.8}};
            m.m.width = plan->width[w];
            m.keys = n / values[i] ? n / values[i] : 1;
            if (m.m.width->value && (plan->width_given || m.m.width->width != COHORT_WIDTH_64_32) &&
                map_wanted(plan, "multimap"))
                status = multi_measure(&m, values[i], fault);
            cohort_multimap_destroy(m.multimap);
            cohort_free(d->context, m.queries);
            cohort_free(d->context, m.rows);
            columns_free(d, &m.m.c);
        }
    return status;
}
