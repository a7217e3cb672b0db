/* set_working.c: working sets, in chunks and flat: made from integers in no order, AND of two into the first,
 * and into a third one. */
#include "set.h"

#include <stdlib.h>

typedef struct working {
    const set_bench *s;
    cohort_set *set[2], *first; /* first: the first set as it is before an AND */
    cohort_set *third;
    cohort_sets_source source;
    cohort_sets_query_desc query;
} working;

static cohort_status work_clear(void *arg)
{
    return cohort_set_clear(((working *)arg)->set[0]);
}

static cohort_status work_add(void *arg)
{
    working *w = arg;
    return cohort_set_update(w->set[0], COHORT_SET_ADD, &w->source);
}

static cohort_status work_again(void *arg)
{
    working *w = arg;
    return cohort_set_copy(w->set[0], w->first);
}

static cohort_status work_and(void *arg)
{
    working *w = arg;
    return cohort_sets_query(w->s->b->dev.context, &w->query);
}

static cohort_status work_third(void *arg)
{
    working *w = arg;
    cohort_sets_query_desc d = w->query;
    d.into = w->third;
    return cohort_sets_query(w->s->b->dev.context, &d);
}

static uint64_t member_entry(const void *arg, uint64_t i)
{
    return set_working_member(*(const uint64_t *)arg, i);
}

static int measure(working *w, const char *name, const char *keys, bench_work before, bench_work work,
                   fault *fault)
{
    const set_bench *s = w->s;
    bench_row row = set_row(s, "working", name, keys, s->sizes.working);
    bench_job job = {before, work, w, (double)s->sizes.working, 1, 1};
    const cohort_limits *l = &s->b->dev.limits;
    /* a member is read and put in its place; of two bitmaps each word is read, and the one written */
    if (work == work_add) {
        bench_row_limit(&s->b->dev, &row, 'R', SET_WORKING_LIMIT / 8);
        return bench_measure(s->b, &row, &job, fault);
    }
    row.limit = l->copy_bytes / (3.0 * SET_WORKING_LIMIT / 8) * job.items;
    snprintf(row.limit_name, sizeof row.limit_name, "B/bitmaps");
    return bench_measure(s->b, &row, &job, fault);
}

static cohort_status make(working *w, cohort_set_layout layout)
{
    cohort_set_options options = COHORT_SET_OPTIONS_INIT;
    cohort_context *context = w->s->b->dev.context;
    options.layout = layout;
    options.limit = SET_WORKING_LIMIT;
    cohort_status status = cohort_set_create(context, &options, &w->set[0]);
    if (!status)
        status = cohort_set_create(context, &options, &w->set[1]);
    if (!status)
        status = cohort_set_create(context, &options, &w->third);
    return status ? status : cohort_set_create(context, &options, &w->first);
}

/* Set `set` of the two as it is made, in `to`. */
static cohort_status fill(working *w, uint64_t set, cohort_set *to)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    void *members = NULL;
    cohort_status status = column_make(&w->s->b->dev, &members, w->s->sizes.working, 4, member_entry, &set);
    source.n = w->s->sizes.working;
    source.members = members;
    if (!status)
        status = cohort_set_update(to, COHORT_SET_ADD, &source);
    if (!status && !set) { /* these are added again */
        w->source = source;
        return COHORT_OK;
    }
    cohort_free(w->s->b->dev.context, members);
    return status;
}

static int measure_layout(const set_bench *s, cohort_set_layout layout, const char *keys, fault *fault)
{
    working w = {.s = s, .query = COHORT_SETS_QUERY_INIT};
    uint64_t *pair = malloc(2 * sizeof *pair);
    if (pair) {
        pair[0] = 0;
        pair[1] = 1;
    }
    int status = set_placed(s, &pair, 2 * sizeof *pair) ? CLI_OK : set_no_memory(fault, 16);
    cohort_status made = status ? COHORT_OK : make(&w, layout);
    if (!status && !made)
        made = fill(&w, 0, w.first);
    if (!status && !made)
        made = fill(&w, 1, w.set[1]);
    w.query.op = COHORT_SETS_AND;
    w.query.working = w.set;
    w.query.working_count = 2;
    w.query.rows = 1;
    w.query.arity = 2;
    w.query.members = pair;
    w.query.into = w.set[0];
    if (made)
        status = bench_fault(s->b, made, "bench set: working sets", fault);
    if (!status)
        status = measure(&w, "set update add", keys, work_clear, work_add, fault);
    if (!status)
        status = measure(&w, "set and into", keys, work_again, work_and, fault);
    if (!status)
        status = measure(&w, "set and to third", keys, work_again, work_third, fault);
    cohort_free(s->b->dev.context, (void *)(uintptr_t)w.source.members);
    cohort_set_destroy(w.set[0]);
    cohort_set_destroy(w.set[1]);
    cohort_set_destroy(w.first);
    cohort_set_destroy(w.third);
    set_give(s, pair);
    return status;
}

int set_working(const set_bench *s, fault *fault)
{
    int status = measure_layout(s, COHORT_SET_CHUNKS, "in chunks", fault);
    return status ? status : measure_layout(s, COHORT_SET_FLAT, "flat", fault);
}
