/* search.c: the rounds of a search.
 *
 * Entries, nodes with the distances at which they were reached, are in one array, the pool. A round puts the pool in order, into
 * another array; takes the nearest entries off its front, the frontier; and follows the edges of these, which adds new
 * entries at its end. What is left between becomes the next pool where it is.
 *
 * multisplit  the pool is split into buckets `delta` wide, from the least distance that may be in it: the frontier is the first that
 *             is not empty. What is beyond the last bucket waits in it
 * sort        the pool is sorted by distance: the frontier is what lies in the same step of `delta` as the first entry
 * none        the frontier is all of the pool: Bellman and Ford's method, with the nodes that changed
 *
 * A round is a few launches and one small copy, by which the host learns how many entries the next pool has: the library
 * takes sizes as numbers. Nothing else waits. */
#define _POSIX_C_SOURCE 200809L

#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "relax.h"

struct search {
    const machine *m;
    const graph *g;
    uint32_t longest; /* edges of a node */
    void *first, *edge, *distance, *offsets, *chunk;
    struct sssp_counts *counts; /* two, for rounds by turns */
    struct {
        uint32_t *keys, *nodes;
    } pool[2];
    uint64_t room; /* of a pool */
    struct sssp_relax round;
    uint64_t base; /* the least distance that may be in the pool */
    search_plan plan;
};

static int library(const search *s, cohort_status status, const char *doing, char why[256])
{
    if (status)
        snprintf(why, 256, "%s: %s: %.180s", doing, cohort_status_name(status),
                 cohort_message(s->m->context));
    return status ? -1 : 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------- */

static cohort_status place(search *s, void **out, uint64_t bytes, const void *from)
{
    cohort_status status = cohort_alloc(s->m->context, bytes ? bytes : 1, out);
    return status || !from ? status : cohort_copy(s->m->context, *out, from, bytes);
}

static void pools_free(search *s)
{
    for (int i = 0; i < 2; i++) {
        cohort_free(s->m->context, s->pool[i].keys);
        cohort_free(s->m->context, s->pool[i].nodes);
        s->pool[i].keys = s->pool[i].nodes = NULL;
    }
}

static int pools_make(search *s, uint64_t room, char why[256])
{
    cohort_status status = COHORT_OK;
    pools_free(s);
    for (int i = 0; i < 2 && !status; i++) {
        status = place(s, (void **)&s->pool[i].keys, room * 4, NULL);
        if (!status)
            status = place(s, (void **)&s->pool[i].nodes, room * 4, NULL);
    }
    s->room = room;
    return library(s, status, "memory for the pool", why);
}

/* Chunks of all nodes whose edges are cut into such. */
static uint32_t measure(search *s)
{
    uint32_t chunks = 0;
    for (uint32_t v = 0; v < s->g->nodes; v++) {
        uint32_t edges = s->g->first[v + 1] - s->g->first[v];
        s->longest = edges > s->longest ? edges : s->longest;
        chunks += edges > SSSP_LONG ? (edges + SSSP_LONG - 1) / SSSP_LONG : 0;
    }
    return chunks;
}

int search_open(search **out, const machine *m, const graph *g, char why[256])
{
    search *s = *out = calloc(1, sizeof *s);
    if (!s)
        return snprintf(why, 256, "no memory"), -1;
    s->m = m;
    s->g = g;
    uint32_t chunks = measure(s);
    cohort_status status = place(s, &s->first, ((uint64_t)g->nodes + 1) * 4, g->first);
    if (!status)
        status = place(s, &s->edge, (uint64_t)g->edges * 8, g->edge);
    if (!status)
        status = place(s, &s->distance, (uint64_t)g->nodes * 4, NULL);
    if (!status)
        status = place(s, &s->offsets, (COHORT_BUCKETS_MOST + 1) * 8, NULL);
    if (!status)
        status = place(s, &s->chunk, chunks * sizeof(struct sssp_chunk), NULL);
    if (!status)
        status = place(s, (void **)&s->counts, 2 * sizeof *s->counts, NULL);
    s->round.first = s->first;
    s->round.edge = s->edge;
    s->round.distance = s->distance;
    s->round.chunk = s->chunk;
    s->round.chunk_room = chunks;
    return status ? library(s, status, "memory for the graph", why)
                  : pools_make(s, (uint64_t)g->nodes * 3 + 4096, why);
}

void search_close(search *s)
{
    if (!s)
        return;
    void *all[] = {s->first, s->edge, s->distance, s->offsets, s->chunk, s->counts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cohort_free(s->m->context, all[i]);
    pools_free(s);
    free(s);
}

int search_distances(search *s, uint32_t *distance, char why[256])
{
    return library(s, cohort_copy(s->m->context, distance, s->distance, (uint64_t)s->g->nodes * 4),
                   "the distances", why);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------------- */

static cohort_status split_pool(search *s, int to, uint64_t at, uint64_t n)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_column nodes = {s->pool[!to].nodes + at, s->pool[to].nodes, 4};
    d.n = n;
    d.buckets = s->plan.buckets;
    d.fn = cohort_fn_delta(s->base, s->plan.delta);
    d.keys = s->pool[!to].keys + at;
    d.keys_out = s->pool[to].keys;
    d.columns = 1;
    d.column = &nodes;
    d.unordered = 1;
    d.offsets = s->offsets;
    return cohort_multisplit(s->m->context, &d);
}

static cohort_status sort_pool(search *s, int to, uint64_t at, uint64_t n)
{
    cohort_sort_desc d = COHORT_SORT_INIT;
    cohort_column nodes = {s->pool[!to].nodes + at, s->pool[to].nodes, 4};
    d.n = n;
    d.order = COHORT_ORDER_U32;
    d.keys = s->pool[!to].keys + at;
    d.keys_out = s->pool[to].keys;
    d.columns = 1;
    d.column = &nodes;
    return cohort_sort(s->m->context, &d);
}

/* What is near of pool `to`, n entries, is relaxed; what it reaches goes behind. */
static void near_round(search *s, int to, uint64_t n)
{
    struct sssp_relax *r = &s->round;
    r->keys = s->pool[to].keys;
    r->nodes = s->pool[to].nodes;
    r->n = n;
    r->offsets = s->plan.how == BUCKETING_MULTISPLIT ? s->offsets : NULL;
    r->buckets = s->plan.buckets;
    r->delta = s->plan.delta;
    r->new_keys = r->keys + n;
    r->new_nodes = r->nodes + n;
    r->room = s->room - n;
}

/* All of the other pool, n entries from `at` on, is relaxed; what it reaches goes to pool `to`. */
static void whole_round(search *s, int to, uint64_t at, uint64_t n)
{
    struct sssp_relax *r = &s->round;
    r->keys = s->pool[!to].keys + at;
    r->nodes = s->pool[!to].nodes + at;
    r->n = n;
    r->offsets = NULL;
    r->delta = 0;
    r->new_keys = s->pool[to].keys;
    r->new_nodes = s->pool[to].nodes;
    r->room = s->room;
}

/* The search begins with its source in pool 0. */
static cohort_status begin(search *s)
{
    cohort_context *context = s->m->context;
    const uint32_t near = 0;
    cohort_status status = cohort_fill(context, s->distance, 0xff, (uint64_t)s->g->nodes * 4);
    if (!status)
        status = cohort_copy(context, (uint32_t *)s->distance + s->plan.source, &near, 4);
    if (!status)
        status = cohort_copy(context, s->pool[0].keys, &near, 4);
    if (!status)
        status = cohort_copy(context, s->pool[0].nodes, &s->plan.source, 4);
    if (!status)
        status = cohort_fill(context, s->counts, 0, 2 * sizeof *s->counts);
    s->base = 0;
    return status;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One round with the pool at [at, at + n) of array !to. */
static int round_run(search *s, int to, uint64_t at, uint64_t n, struct sssp_counts *counts, char why[256])
{
    cohort_status status = COHORT_OK;
    if (s->plan.how == BUCKETING_NONE) {
        whole_round(s, to, at, n);
    } else {
        status = s->plan.how == BUCKETING_SORT ? sort_pool(s, to, at, n) : split_pool(s, to, at, n);
        near_round(s, to, n);
    }
    s->round.counts = s->counts + to;
    s->round.after = s->counts + !to;
    if (status)
        return library(s, status, "a round", why);
    if (s->m->relax(s->m->self, &s->round, s->longest) || s->m->fetch(s->m->self, counts, s->round.counts))
        return snprintf(why, 256, "a round failed on the %s", s->m->name), -1;
    return 0;
}

/* 1: the pool was too small, and entries were lost. */
static int rounds_run(search *s, search_result *result, char why[256])
{
    uint64_t at = 0, n = 1;
    int to = 1;
    for (; n; to = !to) {
        struct sssp_counts counts;
        if (round_run(s, to, at, n, &counts, why))
            return -1;
        result->rounds++;
        result->entries += counts.pushed;
        result->moved += n;
        if (counts.pushed > s->round.room)
            return 1;
        s->base += (uint64_t)counts.bucket * s->plan.delta;
        if (s->plan.how == BUCKETING_NONE) {
            at = 0;
            n = counts.pushed;
        } else if (counts.end == n && !counts.pushed) {
            n = 0;
        } else { /* a few that were taken off stay, dead */
            at = counts.end / SSSP_ALIGN * SSSP_ALIGN;
            n += counts.pushed - at;
        }
    }
    return 0;
}

/* A pool that turns out too small is doubled, and the search begins again. */
int search_run(search *s, const search_plan *plan, search_result *result, char why[256])
{
    int again = 1;
    s->plan = *plan;
    while (again > 0) {
        cohort_status status = begin(s);
        if (!status)
            status = cohort_wait(s->m->context);
        if (status)
            return library(s, status, "the search's beginning", why);
        memset(result, 0, sizeof *result);
        double start = now();
        again = rounds_run(s, result, why);
        result->seconds = now() - start;
        if (again > 0 && pools_make(s, 2 * s->room, why))
            return -1;
    }
    return again;
}
