/* host.c: two experiments about the host.
 *
 * host:    keys and values lie in a host's memory and stream through the GPU: pageable, pinned, and managed
 *          memory, which moves page by page as it is touched. What binds is the link: keys and values one way
 *          for insert, keys one way and values the other for find, and the map itself behind that.
 * threads: the CPU's map on 1, 2, 4, ... threads, each held against the limits of as many threads. */
#include "map.h"
#include "pinned.h"

#include <math.h>
#include <string.h>

typedef struct host_bench {
    map_bench m;
    memory_kind kind;
    column_plan plan;
    void *keys, *queries, *values, *results;
} host_bench;

static cohort_status work_host_insert(void *arg)
{
    host_bench *h = arg;
    return cohort_map_insert(h->m.map, h->m.c.n, h->keys, h->values, NULL);
}

static cohort_status work_host_find(void *arg)
{
    /* Without a fallback the values come in as well: those of keys that are not there stay as they are. */
    static const uint64_t fallback = 0;
    host_bench *h = arg;
    return cohort_map_find(h->m.map, h->m.c.n, h->queries, h->results, &fallback, NULL);
}

/* Managed memory is where it was touched last: the columns are written anew, by the host. */
static void columns_write(host_bench *h)
{
    uint64_t n = h->m.c.n;
    unsigned key = h->m.width->key, value = h->m.width->value;
    column_fill_host(h->keys, 0, n, key, entry_key, &h->plan);
    column_fill_host(h->queries, 0, n, key, entry_query, &h->plan);
    column_fill_host(h->values, 0, n, value, entry_key, &h->plan);
    column_fill_host(h->results, 0, n, value, entry_key, &h->plan);
}

static cohort_status host_clear(void *arg)
{
    host_bench *h = arg;
    if (h->kind == MEMORY_MANAGED)
        columns_write(h);
    return cohort_map_clear(h->m.map);
}

static cohort_status host_touch(void *arg)
{
    host_bench *h = arg;
    if (h->kind == MEMORY_MANAGED)
        columns_write(h);
    return COHORT_OK;
}

static double least_of(double a, double b)
{
    return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

/* Entries a second that the link lets through, or the map if that is less. */
static void host_limit(const host_bench *h, int find, bench_row *row)
{
    const cohort_limits *l = &h->m.b->dev.limits;
    double key = h->m.width->key, value = h->m.width->value, link;
    bench_row_limit(&h->m.b->dev, row, find ? 'R' : 'C', map_table_bytes(&h->m));
    if (find)
        link = least_of(least_of(l->link_to_device / key, l->link_from_device / value),
                        l->link_both / (key + value));
    else
        link = l->link_to_device / (key + value);
    if (link > 0 && link < row->limit) {
        row->limit = link;
        snprintf(row->limit_name, sizeof row->limit_name, "link");
    }
}

static int host_rows(host_bench *h, fault *fault)
{
    static const char *const kinds[] = {"pageable", "pinned", "managed"};
    cohort_status s = map_open(&h->m, COHORT_PROBE_DOUBLE, 0); /* filled from h's own columns below */
    int status = s ? bench_fault(h->m.b, s, "bench map: host", fault) : CLI_OK;
    for (int find = 0; find < 2 && !status; find++) {
        bench_row row = map_row(&h->m, find ? "host find" : "host insert", kinds[h->kind]);
        bench_job job = {find ? host_touch : host_clear,
                         find ? work_host_find : work_host_insert,
                         h,
                         (double)h->m.c.n,
                         1,
                         1};
        host_limit(h, find, &row);
        status = bench_measure(h->m.b, &row, &job, fault);
    }
    cohort_map_destroy(h->m.map);
    h->m.map = NULL;
    return status;
}

static int host_measure(host_bench *h, fault *fault)
{
    uint64_t n = h->m.c.n;
    unsigned key = h->m.width->key, value = h->m.width->value;
    int status = CLI_OK;
    h->keys = memory_take(h->kind, n * key);
    h->queries = memory_take(h->kind, n * key);
    h->values = memory_take(h->kind, n * value);
    h->results = memory_take(h->kind, n * value);
    if (h->keys && h->queries && h->values && h->results) {
        columns_write(h);
        h->m.c.keys = h->keys;
        h->m.c.values = h->values;
        status = host_rows(h, fault);
    } else if (h->kind == MEMORY_PAGEABLE) {
        status =
            fault_set(fault, CLI_FAILED, "bench map: host: no memory for %llu pairs", (unsigned long long)n);
    } else {
        bench_say(h->m.b, "host: no %s memory here", h->kind == MEMORY_PINNED ? "pinned" : "managed");
    }
    memory_give(h->kind, h->keys);
    memory_give(h->kind, h->queries);
    memory_give(h->kind, h->values);
    memory_give(h->kind, h->results);
    return status;
}

int map_host(const map_plan *plan, fault *fault)
{
    int cpu = plan->b->dev.cpu, kinds = cpu ? 1 : 3, status = CLI_OK;
    uint64_t n = map_n(plan, cpu ? 1u << 24 : 1u << 28, cpu ? 1u << 20 : 1u << 26);
    for (size_t w = 0; w < plan->width_count && !status; w++)
        for (int kind = 0; kind < kinds && !status; kind++) {
            host_bench h = {.m = {.b = plan->b,
                                  .plan = plan,
                                  .experiment = "host",
                                  .batch = {.size = sizeof(cohort_batch), .one_by_one = 1},
                                  .load = 0.5},
                            .kind = (memory_kind)kind};
            h.m.width = plan->width[w];
            h.m.c.n = n;
            h.plan = column_plan_make(n, h.m.width->key);
            if (h.m.width->value && (plan->width_given || h.m.width->width == COHORT_WIDTH_32_32))
                status = host_measure(&h, fault);
        }
    return status;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static int threads_rows(map_bench *m, fault *fault)
{
    static const struct {
        const char *name, *keys;
        bench_work prepare, work;
        char bound;
    } rows[] = {{"map insert", "any wins", work_clear, work_insert, 'C'},
                {"map find", "all there", NULL, work_find, 'R'},
                {"map find", "none there", NULL, work_find, 'R'}};
    cohort_status s = columns_make(&m->b->dev, &m->c, m->c.n, m->width->key);
    if (!s)
        s = map_open(m, COHORT_PROBE_DOUBLE, 0);
    int status = s ? bench_fault(m->b, s, "bench map: threads", fault) : CLI_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++) {
        bench_row row = map_row(m, rows[i].name, rows[i].keys);
        bench_job job = {rows[i].prepare, rows[i].work, m, (double)m->c.n, 1, 0};
        if (!rows[i].prepare)
            job.repeat = map_repeat(m);
        m->ask = i == 1 ? m->c.queries : m->c.absent;
        bench_row_limit(&m->b->dev, &row, rows[i].bound, map_table_bytes(m));
        status = bench_measure(m->b, &row, &job, fault);
    }
    cohort_map_destroy(m->map);
    columns_free(&m->b->dev, &m->c);
    return status;
}

static int threads_measure(const map_plan *plan, uint64_t threads, fault *fault)
{
    bench *b = plan->b;
    bench_device all = b->dev;
    const uint64_t most = 512u << 20; /* one thread takes long to fill more */
    uint64_t table = all.limits.table_bytes < most ? all.limits.table_bytes : most;
    int status = bench_device_open(&b->dev, "cpu", threads, 1, table, fault);
    for (size_t w = 0; w < plan->width_count && !status; w++)
        for (size_t i = 0; i < plan->n_count && !status; i++)
            for (size_t l = 0; l < plan->load_count && !status; l++) {
                map_bench m = {
                    .b = b, .plan = plan, .experiment = "threads", .batch = {.size = sizeof(cohort_batch)}};
                m.width = plan->width[w];
                m.c.n = plan->n[i];
                m.load = plan->load[l];
                if (m.width->value && (plan->width_given || m.width->width == COHORT_WIDTH_64_64) &&
                    (plan->load_given || l == 0))
                    status = threads_rows(&m, fault);
            }
    bench_device_close(&b->dev);
    b->dev = all;
    return status;
}

int map_threads(const map_plan *plan, fault *fault)
{
    int status = CLI_OK;
    if (!plan->b->dev.cpu) {
        bench_say(plan->b, "threads: this experiment is the CPU's (--device cpu)");
        return CLI_OK;
    }
    for (size_t w = 0; w < plan->width_count && !status; w++)
        for (size_t i = 0; i < plan->n_count && !status; i++)
            if (plan->width[w]->value && (plan->width_given || plan->width[w]->width == COHORT_WIDTH_64_64))
                status = map_peers(plan, plan->width[w], plan->n[i], "map", fault);
    uint64_t most = plan->b->dev.info.threads;
    for (uint64_t threads = 1; threads <= most && !status;
         threads = threads < most && 2 * threads > most ? most : 2 * threads)
        status = threads_measure(plan, threads, fault);
    return status;
}
