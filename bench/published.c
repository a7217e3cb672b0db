/* published.c: experiments as they were published by others, so that their figures can stand beside ours.
 *
 * headline: 2^27 pairs of 4+4 bytes at load 0.5, insert and then find, in bytes of pairs a second.
 * groups:   lanes of a GPU that work on one key together, 1 to 32, against the load, with linear probing.
 * deletes:  64 M inserts and 32 M deletes into 128 M slots, as calls alone, and from a host's memory to a
 *           host's memory with everything between: the map made, both batches, and what is left taken out.
 * sweep:    4 M keys at a time into 128 M slots up to load 0.97; a row's load is that before its batch, its
 *           probe lengths those after. */
#include "map.h"

#include <stdlib.h>
#include <string.h>

/* ---- headline ------------------------------------------------------------------------------------------ */

int map_headline(const map_plan *plan, fault *fault)
{
    map_bench m = {.b = plan->b,
                   .plan = plan,
                   .experiment = "headline",
                   .batch = {.size = sizeof(cohort_batch), .one_by_one = 1},
                   .load = 0.5};
    const bench_device *d = &plan->b->dev;
    m.width = bench_width(COHORT_WIDTH_32_32);
    cohort_status s =
        columns_make(d, &m.c, map_n(plan, d->cpu ? 1u << 24 : 1u << 27, d->cpu ? 1u << 19 : 1u << 26), 4);
    if (!s)
        s = map_open(&m, COHORT_PROBE_DOUBLE, 0);
    int status = s ? bench_fault(plan->b, s, "bench map: headline", fault) : CLI_OK;
    m.ask = m.c.queries;
    for (int find = 0; find < 2 && !status; find++) {
        bench_row row = map_row(&m, find ? "headline find" : "headline insert", "distinct");
        bench_job job = {
            find ? NULL : work_clear, find ? work_find : work_insert, &m, (double)m.c.n * 8, 1, 0};
        bench_row_limit(d, &row, find ? 'R' : 'C', map_table_bytes(&m));
        row.limit *= 8;
        row.scale = 1e-9;
        snprintf(row.unit, sizeof row.unit, "GB/s");
        status = bench_measure(plan->b, &row, &job, fault);
    }
    cohort_map_destroy(m.map);
    columns_free(d, &m.c);
    return status;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static int group_measure(map_bench *m, uint32_t group, fault *fault)
{
    static const struct {
        const char *name, *keys;
        bench_work work;
        char bound;
    } rows[] = {{"groups insert", "distinct", work_insert, 'C'},
                {"groups find", "all there", work_find, 'R'},
                {"groups find", "none there", work_find, 'R'}};
    cohort_status s = map_open(m, COHORT_PROBE_LINEAR, group);
    int status = map_opened(m, s, "bench map: groups", fault);
    if (!m->map)
        return status;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++) {
        bench_row row = map_row(m, rows[i].name, rows[i].keys);
        bench_job job = {rows[i].bound == 'C' ? work_clear : NULL, rows[i].work, m, (double)m->c.n, 1, 0};
        m->ask = i == 1 ? m->c.queries : m->c.absent;
        snprintf(row.at_name, sizeof row.at_name, "group size");
        row.at = group;
        bench_row_limit(&m->b->dev, &row, rows[i].bound, map_table_bytes(m));
        status = bench_measure(m->b, &row, &job, fault);
    }
    cohort_map_destroy(m->map);
    m->map = NULL;
    return status;
}

int map_groups(const map_plan *plan, fault *fault)
{
    const bench_device *d = &plan->b->dev;
    map_bench m = {.b = plan->b,
                   .plan = plan,
                   .experiment = "groups",
                   .batch = {.size = sizeof(cohort_batch), .one_by_one = 1}};
    uint32_t most = d->cpu ? 1 : 32;
    m.width = bench_width(COHORT_WIDTH_32_32);
    if (d->cpu)
        bench_say(plan->b, "groups of more than one lane need a GPU");
    cohort_status s =
        columns_make(d, &m.c, map_n(plan, d->cpu ? 1u << 22 : 1u << 26, d->cpu ? 1u << 18 : 1u << 24), 4);
    int status = s ? bench_fault(plan->b, s, "bench map: groups", fault) : CLI_OK;
    for (uint32_t group = 1; group <= most && !status; group *= 2)
        for (size_t l = 0; l < plan->load_count && !status; l++) {
            m.load = plan->load[l];
            status = group_measure(&m, group, fault);
        }
    columns_free(d, &m.c);
    return status;
}

/* ---- deletes ------------------------------------------------------------------------------------------- */

typedef struct deletes {
    map_bench m;
    void *keys, *values, *out_keys, *out_values; /* in a host's memory */
} deletes;

/* Every other key that went in, in another order. */
static uint64_t entry_deleted(const void *plan, uint64_t i)
{
    const column_plan *p = plan;
    return bench_key(2 * bench_other(i, p->n, p->step), p->key_bytes);
}

static cohort_status work_delete(void *arg)
{
    map_bench *m = arg;
    return cohort_map_erase(m->map, m->c.n / 2, m->c.queries, NULL);
}

static cohort_status work_both(void *arg)
{
    map_bench *m = arg;
    cohort_status s = work_insert(m);
    return s ? s : work_delete(m);
}

static cohort_status work_end_to_end(void *arg)
{
    deletes *e = arg;
    map_bench *m = &e->m;
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map = NULL;
    uint64_t count, n = m->c.n;
    o.width = m->width->width;
    o.capacity = n;
    o.max_load = m->load;
    o.fixed = 1;
    cohort_status s = cohort_map_create(m->b->dev.context, &o, &map);
    if (!s)
        s = cohort_map_insert(map, n, e->keys, e->values, NULL);
    if (!s)
        s = cohort_map_erase(map, n / 2, (uint32_t *)e->keys + n, NULL);
    if (!s)
        s = cohort_map_export(map, n, e->out_keys, e->out_values, &count);
    cohort_map_destroy(map);
    return s;
}

static cohort_status deletes_columns(deletes *e)
{
    const bench_device *d = &e->m.b->dev;
    uint64_t n = e->m.c.n;
    column_plan all = column_plan_make(n, 4), half = column_plan_make(n / 2, 4);
    e->keys = malloc(n * 6);
    e->values = malloc(n * 4);
    e->out_keys = malloc(n * 4);
    e->out_values = malloc(n * 4);
    if (!e->keys || !e->values || !e->out_keys || !e->out_values)
        return COHORT_NO_MEMORY;
    column_fill_host(e->keys, 0, n, 4, entry_key, &all);
    column_fill_host((uint32_t *)e->keys + n, 0, n / 2, 4, entry_deleted, &half);
    memcpy(e->values, e->keys, n * 4);
    memset(e->out_keys, 1, n * 4); /* so that its pages are there */
    memset(e->out_values, 1, n * 4);
    cohort_status s = column_make(d, &e->m.c.keys, n, 4, entry_key, &all);
    if (!s)
        s = column_make(d, &e->m.c.values, n, 4, entry_key, &all);
    return s ? s : column_make(d, &e->m.c.queries, n / 2, 4, entry_deleted, &half);
}

static int deletes_measure(deletes *e, fault *fault)
{
    map_bench *m = &e->m;
    bench *b = m->b;
    double n = (double)m->c.n;
    const struct {
        const char *name;
        bench_job job;
        char bound;
    } rows[] = {{"deletes: insert", {work_clear, work_insert, m, n, 1, 0}, 'C'},
                {"deletes: erase", {work_fill, work_delete, m, n / 2, 1, 0}, 'C'},
                {"deletes: calls alone", {work_clear, work_both, m, n * 1.5, 1, 0}, 'C'},
                {"deletes: end to end", {NULL, work_end_to_end, e, n * 1.5, 1, 1}, 0}};
    int status = CLI_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++) {
        bench_row row = map_row(m, rows[i].name, "distinct");
        if (rows[i].bound)
            bench_row_limit(&b->dev, &row, rows[i].bound, map_table_bytes(m));
        bench_extra_set(&row, "ms", 0);
        status = bench_measure(b, &row, &rows[i].job, fault);
    }
    return status;
}

int map_deletes(const map_plan *plan, fault *fault)
{
    deletes e = {.m = {.b = plan->b,
                       .plan = plan,
                       .experiment = "deletes",
                       .batch = {.size = sizeof(cohort_batch), .one_by_one = 1},
                       .load = 0.5}};
    e.m.width = bench_width(COHORT_WIDTH_32_32);
    e.m.c.n = (map_n(plan, 1u << 26, plan->b->dev.cpu ? 1u << 20 : 1u << 24) + 1) / 2 * 2;
    int status = map_peers(plan, e.m.width, e.m.c.n, "deletes", fault);
    cohort_status s = status ? COHORT_OK : deletes_columns(&e);
    if (!s && !status)
        s = map_open(&e.m, COHORT_PROBE_DOUBLE, 0);
    if (s)
        status = bench_fault(plan->b, s, "bench map: deletes", fault);
    if (!status)
        status = deletes_measure(&e, fault);
    cohort_map_destroy(e.m.map);
    columns_free(&plan->b->dev, &e.m.c);
    free(e.keys);
    free(e.values);
    free(e.out_keys);
    free(e.out_values);
    return status;
}

/* ---- sweep --------------------------------------------------------------------------------------------- */

enum { STEPS = 31 }; /* of a 32nd of the slots each: the last begins at load 0.94 and ends at 0.97 */

typedef struct sweep {
    double seconds[STEPS][BENCH_RUNS_MOST];
    cohort_map_stats stats[STEPS];
} sweep;

/* One sweep; its probe lengths too if `stats`. */
static cohort_status sweep_once(map_bench *m, sweep *w, uint64_t run, int stats)
{
    const bench_device *d = &m->b->dev;
    uint64_t part = m->c.n / STEPS;
    cohort_status s = cohort_map_clear(m->map);
    for (size_t i = 0; i < STEPS && !s; i++) {
        uint64_t at = i * part * 4;
        s = cohort_wait(d->context);
        if (!s)
            s = cohort_timer_start(d->timer);
        if (!s)
            s = cohort_map_insert(m->map, part, (char *)m->c.keys + at, (char *)m->c.values + at, NULL);
        if (!s)
            s = cohort_timer_stop(d->timer, &w->seconds[i][run]);
        if (!s)
            s = cohort_wait(d->context);
        if (!s && stats) {
            w->stats[i] = (cohort_map_stats)COHORT_MAP_STATS_INIT;
            s = cohort_map_get_stats(m->map, &w->stats[i]);
        }
    }
    return s;
}

static int sweep_rows(map_bench *m, sweep *w, const char *probe, fault *fault)
{
    for (size_t i = 0; i < STEPS; i++) {
        bench_row row = map_row(m, "sweep insert", probe);
        row.n = m->c.n / STEPS;
        row.load = (double)i / 32;
        bench_row_limit(&m->b->dev, &row, 'C', row.n * 32 * m->width->slot);
        bench_extra_set(&row, "probe_mean", w->stats[i].probe_mean);
        bench_extra_set(&row, "probe_max", (double)w->stats[i].probe_max);
        if (!strcmp(probe, "linear")) {
            bench_extra_set(&row, "slot_mean", w->stats[i].slot_mean);
            bench_extra_set(&row, "slot_max", (double)w->stats[i].slot_max);
        }
        if (bench_add_times(m->b, &row, (double)row.n, w->seconds[i], m->b->runs, fault))
            return fault->status;
    }
    return CLI_OK;
}

static int sweep_measure(map_bench *m, cohort_probe probe, fault *fault)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    sweep *w = malloc(sizeof *w);
    o.width = m->width->width;
    o.capacity = m->c.n / STEPS * 32;
    o.max_load = 1;
    o.fixed = 1;
    o.probe = probe;
    cohort_status s = w ? cohort_map_create(m->b->dev.context, &o, &m->map) : COHORT_NO_MEMORY;
    if (!s)
        s = sweep_once(m, w, 0, 1); /* the warm-up */
    for (uint64_t run = 0; run < m->b->runs && !s; run++)
        s = sweep_once(m, w, run, 0);
    int status = s ? bench_fault(m->b, s, "bench map: sweep", fault)
                   : sweep_rows(m, w, probe == COHORT_PROBE_LINEAR ? "linear" : "double", fault);
    cohort_map_destroy(m->map);
    m->map = NULL;
    free(w);
    return status;
}

int map_sweep(const map_plan *plan, fault *fault)
{
    map_bench m = {.b = plan->b,
                   .plan = plan,
                   .experiment = "sweep",
                   .batch = {.size = sizeof(cohort_batch), .one_by_one = 1},
                   .load = 1};
    const bench_device *d = &plan->b->dev;
    m.width = bench_width(COHORT_WIDTH_32_32);
    m.c.n = map_n(plan, 1u << 27, d->cpu ? 1u << 20 : 1u << 26) / 32 * STEPS;
    if (!m.c.n)
        m.c.n = STEPS;
    column_plan keys = column_plan_make(m.c.n, 4);
    cohort_status s = column_make(d, &m.c.keys, m.c.n, 4, entry_key, &keys);
    if (!s)
        s = column_make(d, &m.c.values, m.c.n, 4, entry_query, &keys);
    int status = s ? bench_fault(plan->b, s, "bench map: sweep", fault) : CLI_OK;
    if (!status)
        status = sweep_measure(&m, COHORT_PROBE_DOUBLE, fault);
    if (!status)
        status = sweep_measure(&m, COHORT_PROBE_LINEAR, fault);
    columns_free(d, &m.c);
    return status;
}
