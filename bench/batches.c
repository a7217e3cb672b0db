/* batches.c: the experiment `batches`: finds in one map, and inserts into it while it is empty, by calls of 1
 * to n entries each that follow each other without a wait. What a call costs beside its entries shows where
 * it has few. By the host's clock, until all is done. */
#include "map.h"

#include <string.h>

typedef struct batches {
    map_bench m;
    uint64_t each, calls;
    int find; /* else insert */
} batches;

static const void *from(const void *column, uint64_t entry, unsigned bytes)
{
    return (const char *)column + entry * bytes;
}

static cohort_status work_calls(void *arg)
{
    batches *b = arg;
    const columns *c = &b->m.c;
    unsigned key = b->m.width->key, value = b->m.width->value;
    cohort_status s = COHORT_OK;
    for (uint64_t i = 0, n = b->each; i < b->calls * n && !s; i += n)
        s = b->find ? cohort_map_find(b->m.map, n, from(c->queries, i, key), (char *)c->results + i * value,
                                      NULL, NULL)
                    : cohort_map_insert(b->m.map, n, from(c->keys, i, key), from(c->values, i, value), NULL);
    return s;
}

/* Calls enough to be timed, on columns that last for them. */
static int size_measure(batches *b, uint64_t each, fault *fault)
{
    uint64_t most = b->m.b->dev.cpu ? 1u << 16 : 1u << 12;
    b->each = each;
    b->calls = b->m.c.n / each < most ? b->m.c.n / each : most;
    int status = CLI_OK;
    for (int find = 1; find >= 0 && !status; find--) {
        bench_row row =
            map_row(&b->m, find ? "batches find" : "batches insert", find ? "all there" : "any wins");
        bench_job job = {find ? NULL : work_clear, work_calls, b, (double)(each * b->calls), 1, 1};
        b->find = find;
        snprintf(row.at_name, sizeof row.at_name, "entries a call");
        row.at = (double)each;
        bench_row_limit(&b->m.b->dev, &row, find ? 'R' : 'C', map_table_bytes(&b->m));
        cohort_status s = find ? work_fill(&b->m) : COHORT_OK;
        status = s                                 ? bench_fault(b->m.b, s, "bench map: batches", fault)
                 : map_wanted(b->m.plan, row.name) ? bench_measure(b->m.b, &row, &job, fault)
                                                   : CLI_OK;
    }
    return status;
}

static int sizes_measure(batches *b, fault *fault)
{
    cohort_status s = map_open(&b->m, COHORT_PROBE_DOUBLE, 0);
    int status = map_opened(&b->m, s, "bench map: batches", fault);
    if (!b->m.map)
        return status;
    for (uint64_t each = 1; each < b->m.c.n && !status; each *= 16)
        status = size_measure(b, each, fault);
    if (!status)
        status = size_measure(b, b->m.c.n, fault);
    cohort_map_destroy(b->m.map);
    b->m.map = NULL;
    return status;
}

int map_batches(const map_plan *plan, fault *fault)
{
    int cpu = plan->b->dev.cpu, status = CLI_OK;
    uint64_t n = map_n(plan, cpu ? 1u << 24 : 1u << 27, cpu ? 1u << 18 : 1u << 24);
    for (size_t w = 0; w < plan->width_count && !status; w++) {
        batches b = {.m = {.b = plan->b, .plan = plan, .experiment = "batches", .load = 0.5}};
        b.m.width = plan->width[w];
        if (!b.m.width->value || (!plan->width_given && b.m.width->width != COHORT_WIDTH_32_32))
            continue;
        cohort_status s = columns_make(&plan->b->dev, &b.m.c, n, b.m.width->key);
        status = s ? bench_fault(plan->b, s, "bench map: columns of keys", fault) : sizes_measure(&b, fault);
        columns_free(&plan->b->dev, &b.m.c);
    }
    return status;
}
