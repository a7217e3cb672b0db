/* sums.c: sums by key: a batch of additions, or of counts, against the number of distinct keys, from one to a
 * hundred million.
 *
 * Keys are equally often, in scattered places, or by Zipf's law with exponent 1. A fixed map is made for just
 * so many keys and cleared before each run; a growing one is made anew, for one key, before each. When a
 * row has been measured the map must have as many pairs as there are keys (by Zipf's law no more). On a
 * CPU a plain loop of one thread (sums_loop.c) stands beside, in a table made for as many keys; and, of
 * 64-bit keys and values, polars, duckdb and pandas (peers/peer_sums.py), whose answers are judged by a
 * sum over all entries. */
#include "map.h"
#include "sums_loop.h"
#include "zipf.h"

#include <string.h>

typedef struct sums_bench {
    map_bench m;
    cohort_map_options options;
    uint64_t distinct;
    bench_zipf law;
    column_plan plan;
    sums_loop loop;
    int counts;
} sums_bench;

static uint64_t entry_equally(const void *arg, uint64_t i)
{
    const sums_bench *s = arg;
    return bench_key(bench_other(i, s->plan.n, s->plan.step) % s->distinct, s->plan.key_bytes);
}

static uint64_t entry_by_zipf(const void *arg, uint64_t i)
{
    const sums_bench *s = arg;
    return bench_key(bench_zipf_rank(&s->law, i), s->plan.key_bytes);
}

/* ---- the work ------------------------------------------------------------------------------------------ */

static cohort_status work_renew(void *arg)
{
    sums_bench *s = arg;
    cohort_map_destroy(s->m.map);
    s->m.map = NULL;
    return cohort_map_create(s->m.b->dev.context, &s->options, &s->m.map);
}

static cohort_status work_empty(void *arg)
{
    return cohort_map_clear(((sums_bench *)arg)->m.map);
}

static cohort_status work_add(void *arg)
{
    map_bench *m = &((sums_bench *)arg)->m;
    return cohort_map_apply(m->map, COHORT_OP_ADD, m->c.n, m->c.keys, m->c.values, NULL);
}

static cohort_status work_count(void *arg)
{
    map_bench *m = &((sums_bench *)arg)->m;
    return cohort_map_apply(m->map, COHORT_OP_COUNT, m->c.n, m->c.keys, NULL, NULL);
}

static cohort_status work_loop_clear(void *arg)
{
    sums_loop_clear(&((sums_bench *)arg)->loop);
    return COHORT_OK;
}

static cohort_status work_loop(void *arg)
{
    sums_bench *s = arg;
    sums_loop_add(&s->loop, s->m.c.n, s->m.c.keys, s->counts ? NULL : s->m.c.values);
    return COHORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static int pairs_check(sums_bench *s, const bench_row *row, fault *fault)
{
    uint64_t pairs = 0;
    cohort_status status = cohort_map_size(s->m.map, &pairs);
    if (status)
        return bench_fault(s->m.b, status, "bench map: sums", fault);
    if (pairs == s->distinct || (s->law.n && pairs < s->distinct))
        return CLI_OK;
    return fault_set(fault, CLI_FAILED, "bench map: %s, %s: %llu pairs of %llu keys", row->name, row->keys,
                     (unsigned long long)pairs, (unsigned long long)s->distinct);
}

/* What an entry's bytes are read in. */
static void limit_by_bytes(const sums_bench *s, int counts, bench_row *row)
{
    double bytes = s->m.width->key + (counts ? 0.0 : s->m.width->value);
    row->limit = s->m.b->dev.limits.copy_bytes / bytes;
    snprintf(row->limit_name, sizeof row->limit_name, "B");
}

static int sums_row(sums_bench *s, int grows, int counts, fault *fault)
{
    bench_row row = map_row(&s->m, counts ? "sums count" : "sums add", s->law.n ? "zipf 1" : "uniform");
    bench_job job = {
        grows ? work_renew : work_empty, counts ? work_count : work_add, s, (double)s->m.c.n, 1, 0};
    snprintf(row.variant, sizeof row.variant, grows ? "growing" : "fixed");
    snprintf(row.at_name, sizeof row.at_name, "keys");
    row.at = (double)s->distinct;
    row.load = grows ? BENCH_NO_LOAD : s->m.load;
    limit_by_bytes(s, counts, &row);
    if (!map_wanted(s->m.plan, row.name) && !map_wanted(s->m.plan, row.keys) &&
        !map_wanted(s->m.plan, row.variant))
        return CLI_OK;
    s->options.fixed = (uint32_t)!grows;
    s->options.capacity = grows ? 1 : s->distinct;
    cohort_status made = work_renew(s);
    int status = made ? bench_fault(s->m.b, made, "bench map: sums", fault) : CLI_OK;
    if (!status)
        status = bench_measure(s->m.b, &row, &job, fault);
    if (!status)
        status = pairs_check(s, &row, fault);
    return status;
}

/* The plain loop beside both maps' rows. */
static int loop_row(sums_bench *s, int counts, fault *fault)
{
    const bench *b = s->m.b;
    bench_row row = map_row(&s->m, counts ? "sums count" : "sums add", s->law.n ? "zipf 1" : "uniform");
    const bench_job job = {work_loop_clear, work_loop, s, (double)s->m.c.n, 1, 0};
    if (!b->dev.cpu || s->m.width->key != s->m.width->value || !map_wanted(s->m.plan, row.name))
        return CLI_OK;
    if (!sums_loop_make(&s->loop, s->distinct, s->m.width->key))
        return fault_set(fault, CLI_FAILED, "bench map: no memory for a plain loop's table of %llu keys",
                         (unsigned long long)s->distinct);
    s->counts = counts;
    snprintf(row.peer, sizeof row.peer, "a plain loop");
    snprintf(row.date, sizeof row.date, "%s", b->date);
    snprintf(row.machine, sizeof row.machine, "%s", b->dev.info.device);
    snprintf(row.at_name, sizeof row.at_name, "keys");
    row.at = (double)s->distinct;
    row.load = BENCH_NO_LOAD;
    row.threads = 0;
    int status = bench_measure(s->m.b, &row, &job, fault);
    const uint64_t pairs = s->loop.pairs + (uint64_t)s->loop.is_odd_there;
    sums_loop_free(&s->loop);
    if (!status && pairs != s->distinct && !(s->law.n && pairs < s->distinct))
        status = fault_set(fault, CLI_FAILED, "bench map: %s, %s: the plain loop has %llu pairs of %llu keys",
                           row.name, row.keys, (unsigned long long)pairs, (unsigned long long)s->distinct);
    return status;
}

/* ---- engines of tables --------------------------------------------------------------------------------- */

static const char *const engines[] = {"polars", "duckdb", "pandas"};

/* Runs them on all columns of this width, and says in a line which are not here. */
static int engines_run(const sums_bench *s, fault *fault)
{
    bench *b = s->m.b;
    char n[24], runs[16], threads[16], missing[64] = "";
    const char *arguments[] = {
        "--n", n, "--runs", runs, "--step", s->m.plan->quick ? "100" : "10", "--threads", threads, NULL};
    const size_t before = b->peers.count;
    if (!s->m.plan->peers || s->m.width->width != COHORT_WIDTH_64_64 || !map_wanted(s->m.plan, "sums add"))
        return CLI_OK;
    snprintf(n, sizeof n, "%llu", (unsigned long long)s->m.c.n);
    snprintf(runs, sizeof runs, "%llu", (unsigned long long)b->runs);
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)b->dev.info.threads);
    int status = bench_peer_run(b, s->m.plan->peers, "peer_sums", "map sums", arguments, fault);
    for (size_t e = 0; e < sizeof engines / sizeof *engines && !status; e++) {
        int here = 0;
        for (size_t i = before; i < b->peers.count; i++)
            here |= !strcmp(b->peers.row[i].peer, engines[e]);
        if (!here)
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s",
                     *missing ? ", " : "", engines[e]);
    }
    for (size_t i = before; i < b->peers.count; i++)
        snprintf(b->peers.row[i].experiment, sizeof b->peers.row[i].experiment, "sums");
    if (*missing)
        bench_say(b, "sums: without %s (scripts/deps.sh --bench)", missing);
    return status;
}

/* The low 32 bits of the sum of values times mixed keys. */
static double column_check(const sums_bench *s)
{
    const uint64_t *keys = s->m.c.keys, *values = s->m.c.values;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < s->m.c.n; i++)
        sum += bench_mix_64(keys[i]) * values[i];
    return (double)(sum & UINT32_MAX);
}

/* Were the engines' rows of this column of our entries, and are there as many groups as keys? */
static int engines_check(const sums_bench *s, fault *fault)
{
    const bench *b = s->m.b;
    const char *law = s->law.n ? "zipf 1" : "uniform";
    double due = -1;
    for (size_t i = 0; i < b->peers.count; i++) {
        const bench_row *row = &b->peers.row[i];
        if (strcmp(row->experiment, "sums") || strcmp(row->keys, law) || row->at != (double)s->distinct ||
            row->n != s->m.c.n || strcmp(row->width, s->m.width->name) ||
            !(bench_extra_get(row, "groups") > 0))
            continue;
        due = due < 0 ? column_check(s) : due;
        const double groups = bench_extra_get(row, "groups"), keys = (double)s->distinct;
        if (bench_extra_get(row, "check") != due || groups > keys || (!s->law.n && groups != keys))
            return fault_set(fault, CLI_FAILED, "bench map: sums, %s, %llu keys: another answer of %s", law,
                             (unsigned long long)s->distinct, row->peer);
    }
    return CLI_OK;
}

/* All rows of one column of keys. */
static int column_measure(sums_bench *s, column_entry entry, fault *fault)
{
    const bench_device *d = &s->m.b->dev;
    cohort_status made = column_make(d, &s->m.c.keys, s->m.c.n, s->m.width->key, entry, s);
    int status = made ? bench_fault(s->m.b, made, "bench map: a column of keys", fault) : CLI_OK;
    if (!status && d->cpu)
        status = engines_check(s, fault);
    for (int counts = 0; counts < 2 && !status; counts++)
        status = loop_row(s, counts, fault);
    for (int grows = 0; grows < 2 && !status; grows++)
        for (int counts = 0; counts < 2 && !status; counts++)
            status = sums_row(s, grows, counts, fault);
    cohort_map_destroy(s->m.map);
    s->m.map = NULL;
    cohort_free(d->context, s->m.c.keys);
    s->m.c.keys = NULL;
    return status;
}

static int width_measure(sums_bench *s, int quick, fault *fault)
{
    int status = s->m.b->dev.cpu ? engines_run(s, fault) : CLI_OK;
    for (uint64_t keys = 1; keys <= 100000000 && keys <= s->m.c.n && !status; keys *= quick ? 100 : 10) {
        s->distinct = keys;
        s->law = (bench_zipf){0};
        status = column_measure(s, entry_equally, fault);
        if (keys < 100 || status)
            continue;
        s->law = bench_zipf_make(keys, 1);
        status = column_measure(s, entry_by_zipf, fault);
    }
    return status;
}

int map_sums(const map_plan *plan, fault *fault)
{
    const bench_device *d = &plan->b->dev;
    uint64_t n = map_n(plan, d->cpu ? 1u << 24 : 1u << 27, d->cpu ? 1u << 17 : 1u << 24);
    int status = CLI_OK;
    for (size_t w = 0; w < plan->width_count && !status; w++) {
        sums_bench s = {.m = {.b = plan->b, .plan = plan, .experiment = "sums", .load = 0.8},
                        .options = COHORT_MAP_OPTIONS_INIT};
        s.m.width = plan->width[w];
        if (!s.m.width->value || (!plan->width_given && s.m.width->width == COHORT_WIDTH_64_32))
            continue;
        s.m.c.n = n;
        s.plan = column_plan_make(n, s.m.width->key);
        s.options.width = s.m.width->width;
        s.options.max_load = s.m.load;
        column_plan values = column_plan_make(n, 8);
        cohort_status made = column_make(d, &s.m.c.values, n, s.m.width->value, entry_key, &values);
        status = made ? bench_fault(plan->b, made, "bench map: a column of values", fault)
                      : width_measure(&s, plan->quick, fault);
        columns_free(d, &s.m.c);
    }
    return status;
}
