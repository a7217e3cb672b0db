/* search.c: the rounds of a search.
 *
 * Entries, nodes with the distances at which they were reached, are in one array, the pool. A round puts the
 * pool in order, into another array; takes the nearest entries off its front, the frontier; and follows the
 * edges of these, which adds new entries at its end. What is left between becomes the next pool where it is.
 *
 * multisplit  the pool is split into buckets `delta` wide, from the least distance that may be in it: the
 *             frontier is the first that is not empty. What is beyond the last bucket waits in it
 * sort        the pool is sorted by distance: the frontier is what lies in the same step of `delta` as the
 *             first entry
 * steps       the pool is sorted by the number of the step alone, the distance without its low bits: as many
 *             passes fewer
 * none        the frontier is all of the pool: Bellman and Ford's method, with the nodes that changed
 *
 * The library takes sizes as numbers, so either the host learns after each round how many entries the next
 * pool has; or (resident) rounds go over arrays of a few sizes, 4,096 entries and each twice the one before,
 * in which what lies behind the pool's entries is dead and has the farthest distance there is. Then buckets
 * are numbered from distance 0 on, if as many as there are come as far as the farthest node; else their
 * bounds are splitters in memory and move on. The device chooses the rounds of the least size that will do,
 * two at a time (if the first has left more than that, the second does nothing), and nobody waits until the
 * end. That pays where pools are small and rounds many. */
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
    void *first, *edge, *distance, *offsets, *list, *near, *splitters;
    struct sssp_state *state;
    struct {
        uint32_t *keys, *nodes;
    } pool[2];
    uint64_t room;  /* of a pool */
    uint64_t least; /* entries that the smallest rounds of a resident search go over */
    struct sssp_sizes sizes;
    uint32_t fixed;       /* buckets of a resident search that are numbered from 0 on; 0: their bounds move */
    uint32_t fixed_delta; /* and how wide they were */
    void *workspace;      /* of a resident search */
    uint64_t workspace_bytes;
    struct sssp_relax round;
    uint64_t base; /* the least distance that may be in the pool */
    search_plan plan;
    char *why;
};

static int library(const search *s, cohort_status status, const char *doing, char why[256])
{
    if (status)
        snprintf(why, 256, "%s: %s: %.180s", doing, cohort_status_name(status),
                 cohort_message(s->m->context));
    return status ? -1 : 0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

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

/* Has a node many edges? */
static int has_long(const graph *g)
{
    for (uint32_t v = 0; v < g->nodes; v++)
        if (g->first[v + 1] - g->first[v] > SSSP_LONG)
            return 1;
    return 0;
}

int search_open(search **out, const machine *m, const graph *g, char why[256])
{
    search *s = *out = calloc(1, sizeof *s);
    if (!s)
        return snprintf(why, 256, "no memory"), -1;
    s->m = m;
    s->g = g;
    cohort_status status = place(s, &s->first, ((uint64_t)g->nodes + 1) * 4, g->first);
    if (!status)
        status = place(s, &s->edge, (uint64_t)g->edges * 8, g->edge);
    if (!status)
        status = place(s, &s->distance, (uint64_t)g->nodes * 4, NULL);
    if (!status)
        status = place(s, &s->offsets, (COHORT_BUCKETS_MOST + 1) * 8, NULL);
    if (!status && has_long(g))
        status = place(s, &s->list, (uint64_t)g->nodes * sizeof *s->round.list, NULL);
    if (!status && s->list)
        status = place(s, &s->near, SSSP_HOT / 4, NULL);
    if (!status)
        status = place(s, (void **)&s->state, sizeof *s->state, NULL);
    if (!status)
        status = place(s, &s->splitters, COHORT_BUCKETS_MOST * 4, NULL);
    s->round.first = s->first;
    s->round.edge = s->edge;
    s->round.distance = s->distance;
    s->round.list = s->list;
    s->round.near = s->near;
    s->round.hot = g->nodes < SSSP_MANY_NODES ? 0 : (g->nodes < SSSP_HOT ? g->nodes : SSSP_HOT) / 64 * 64;
    s->round.state = s->state;
    s->least = 1 << 12;
    return status ? library(s, status, "memory for the graph", why)
                  : pools_make(s, (uint64_t)g->nodes * 3 + 4096, why);
}

void search_close(search *s)
{
    if (!s)
        return;
    void *all[] = {s->first, s->edge,  s->distance,  s->offsets,  s->list,
                   s->near,  s->state, s->splitters, s->workspace};
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

/* ---- rounds -------------------------------------------------------------------------------------------- */

/* No more than have entries, and one for the dead: nothing lies farther from the least distance than an edge
 * beyond its bucket. */
static uint32_t buckets_of(const search *s)
{
    uint64_t enough = (uint64_t)s->g->heaviest / s->plan.delta + 3;
    if (s->plan.resident && s->fixed)
        return s->fixed;
    return enough < s->plan.buckets ? (uint32_t)enough : s->plan.buckets;
}

static cohort_status split_pool(search *s, int to, uint64_t at, uint64_t n, uint64_t *need)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_payload nodes = {s->pool[!to].nodes + at, s->pool[to].nodes, 4, 0};
    d.n = n;
    d.buckets = buckets_of(s);
    const cohort_fn fn = s->plan.resident && !s->fixed ? cohort_fn_splitters(s->splitters, d.buckets - 1)
                                                       : cohort_fn_delta(s->base, s->plan.delta);
    d.fn = &fn;
    d.keys = s->pool[!to].keys + at;
    d.keys_out = s->pool[to].keys;
    d.payloads = 1;
    d.payload = &nodes;
    d.unordered = 1;
    d.offsets = s->offsets;
    d.workspace = s->plan.resident ? s->workspace : NULL;
    d.workspace_bytes = s->plan.resident ? s->workspace_bytes : 0;
    return need ? cohort_multisplit_workspace(s->m->context, &d, need) : cohort_multisplit(s->m->context, &d);
}

/* Bits of what no distance in the pool reaches: all were put in from nodes of this step or of one before
 * it. */
static uint32_t highest_bit(const search *s)
{
    uint64_t beyond = s->base + s->plan.delta + s->g->heaviest;
    uint32_t bits = 1;
    while (bits < 32 && beyond >> bits)
        bits++;
    return bits;
}

static cohort_status sort_pool(search *s, int to, uint64_t at, uint64_t n, uint64_t *need)
{
    cohort_sort_desc d = COHORT_SORT_INIT;
    if (s->plan.how == BUCKETING_STEPS) {
        while (2u << d.low_bit <= s->plan.delta)
            d.low_bit++;
        d.high_bit = highest_bit(s);
        d.high_bit = d.high_bit > d.low_bit ? d.high_bit : d.low_bit + 1;
    }
    cohort_payload nodes = {s->pool[!to].nodes + at, s->pool[to].nodes, 4, 0};
    d.n = n;
    d.type = COHORT_U32;
    d.keys = s->pool[!to].keys + at;
    d.keys_out = s->pool[to].keys;
    d.payloads = 1;
    d.payload = &nodes;
    d.workspace = s->plan.resident ? s->workspace : NULL;
    d.workspace_bytes = s->plan.resident ? s->workspace_bytes : 0;
    return need ? cohort_sort_workspace(s->m->context, &d, need) : cohort_sort(s->m->context, &d);
}

/* What is near in pool `to`, n entries, is relaxed; what it reaches goes behind. */
static void near_round(search *s, int to, uint64_t n)
{
    struct sssp_relax *r = &s->round;
    int resident = s->plan.resident;
    r->base = s->base;
    r->keys = s->pool[to].keys;
    r->nodes = s->pool[to].nodes;
    r->n = n;
    r->offsets = s->plan.how == BUCKETING_MULTISPLIT ? s->offsets : NULL;
    r->buckets = buckets_of(s);
    r->splitters = s->fixed ? NULL : s->splitters;
    r->delta = s->plan.delta;
    r->new_keys = resident ? r->keys : r->keys + n;
    r->new_nodes = resident ? r->nodes : r->nodes + n;
    r->room = resident ? s->room : s->room - n;
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

/* One round with the pool at [at, at + n) of array !to. */
static int round_enqueue(search *s, int to, uint64_t at, uint64_t n)
{
    cohort_status status = COHORT_OK;
    s->round.resident = (co_u32)s->plan.resident;
    if (s->plan.how == BUCKETING_NONE) {
        whole_round(s, to, at, n);
    } else {
        status = s->plan.how == BUCKETING_MULTISPLIT ? split_pool(s, to, at, n, NULL)
                                                     : sort_pool(s, to, at, n, NULL);
        near_round(s, to, n);
    }
    if (status)
        return library(s, status, "a round", s->why);
    if (s->m->relax(s->m->self, &s->round))
        return snprintf(s->why, 256, "a round failed on the %s", s->m->name), -1;
    return 0;
}

/* Bounds of a resident search's buckets, to begin with; the last begins with the dead. */
static cohort_status bounds_begin(search *s)
{
    uint32_t bounds[SEARCH_BUCKETS], count = buckets_of(s) - 1;
    for (uint32_t b = 0; b < count; b++) {
        uint64_t bound = (uint64_t)(b + 1) * s->plan.delta;
        bounds[b] = b + 1 < count && bound < SSSP_FAR ? (uint32_t)bound : SSSP_FAR;
    }
    return cohort_copy(s->m->context, s->splitters, bounds, count * 4);
}

/* The search begins with its source in pool 0. */
static cohort_status begin(search *s)
{
    cohort_context *context = s->m->context;
    const uint32_t near = 0;
    const struct sssp_state state = {.live = 1, .reach = 1, .more = 1, .size = s->room};
    cohort_status status = cohort_fill(context, s->distance, 0xff, (uint64_t)s->g->nodes * 4);
    if (!status)
        status = cohort_copy(context, (uint32_t *)s->distance + s->plan.source, &near, 4);
    for (int i = 0; i < 2 && s->plan.resident && !status; i++) {
        status = cohort_fill(context, s->pool[i].keys, 0xff, s->room * 4);
        if (!status)
            status = cohort_fill(context, s->pool[i].nodes, 0, s->room * 4);
    }
    if (!status && s->plan.resident)
        status = bounds_begin(s);
    if (!status)
        status = cohort_copy(context, s->pool[0].keys, &near, 4);
    if (!status)
        status = cohort_copy(context, s->pool[0].nodes, &s->plan.source, 4);
    if (!status)
        status = cohort_copy(context, s->state, &state, sizeof state);
    s->base = 0;
    return status ? status : cohort_wait(context);
}

/* ---- the host between rounds --------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fetch_state(search *s, struct sssp_state *state)
{
    if (!s->m->fetch(s->m->self, state, s->state))
        return 0;
    return snprintf(s->why, 256, "what a round has told could not be fetched from the %s", s->m->name), -1;
}

/* SSSP_FULL: the pool was too small, and entries were lost. */
static int rounds_run(search *s, search_result *result)
{
    uint64_t at = 0, n = 1;
    struct sssp_state state;
    double start = now();
    for (int to = 1; n; to = !to) {
        if (round_enqueue(s, to, at, n) || fetch_state(s, &state))
            return -1;
        result->moved += n;
        if (state.full)
            return SSSP_FULL;
        s->base = s->plan.how == BUCKETING_MULTISPLIT ? s->base + (uint64_t)state.bucket * s->plan.delta
                                                      : (uint64_t)state.bucket * s->plan.delta;
        if (s->plan.how == BUCKETING_NONE) {
            at = 0;
            n = state.came;
        } else if (state.end == n && !state.came) {
            n = 0;
        } else { /* a few that were taken off stay, dead; not where the dead may be taken for others */
            at = s->plan.how == BUCKETING_STEPS ? state.end : state.end / SSSP_ALIGN * SSSP_ALIGN;
            n += state.came - at;
        }
    }
    result->seconds = now() - start;
    result->rounds = state.rounds;
    result->entries = state.entries;
    return 0;
}

/* ---- resident ------------------------------------------------------------------------------------------ */

/* Two rounds, there and back. */
static int two_rounds(void *arg, unsigned which)
{
    search *s = arg;
    uint64_t n = s->sizes.size[which / 2];
    int turn = which % 2;
    return round_enqueue(s, !turn, 0, n) || round_enqueue(s, turn, 0, n) ? -1 : 0;
}

/* The next rounds, and before them what they would find beyond the pool's entries is killed, where no round
 * has done so. */
static int next_rounds(search *s, const struct sssp_state *state)
{
    unsigned which = sssp_choose(&s->sizes, state->reach, state->turn);
    uint64_t from = state->reach > state->size ? state->reach : state->size, to = s->sizes.size[which / 2];
    uint32_t *keys = s->sizes.keys[state->turn];
    cohort_status status =
        keys && from < to ? cohort_fill(s->m->context, keys + from, 0xff, (to - from) * 4) : COHORT_OK;
    return status ? library(s, status, "a round", s->why) : two_rounds(s, which);
}

static int repeat_by_host(search *s, double *seconds)
{
    struct sssp_state state;
    double start = now();
    if (fetch_state(s, &state))
        return -1;
    while (state.more)
        if (next_rounds(s, &state) || fetch_state(s, &state))
            return -1;
    *seconds = now() - start;
    return 0;
}

static void sizes_make(search *s)
{
    struct sssp_sizes *z = &s->sizes;
    uint64_t size = s->least;
    z->sizes = 0;
    for (; size < s->room && z->sizes + 1 < SSSP_SIZES; size *= 2)
        z->size[z->sizes++] = size;
    z->size[z->sizes++] = s->room;
    z->state = s->state;
    for (int i = 0; i < 2; i++)
        z->keys[i] = s->plan.how == BUCKETING_NONE ? NULL : s->pool[i].keys;
}

/* Workspace of its own, which recorded calls keep. */
static cohort_status resident_make(search *s)
{
    uint64_t most = 0;
    cohort_status status = COHORT_OK;
    cohort_free(s->m->context, s->workspace);
    s->workspace = NULL;
    s->workspace_bytes = 0;
    sizes_make(s);
    for (unsigned i = 0; i < s->sizes.sizes && s->plan.how != BUCKETING_NONE && !status; i++) {
        uint64_t need = 0, n = s->sizes.size[i];
        status = s->plan.how == BUCKETING_MULTISPLIT ? split_pool(s, 1, 0, n, &need)
                                                     : sort_pool(s, 1, 0, n, &need);
        most = need > most ? need : most;
    }
    if (!status && most)
        status = place(s, &s->workspace, most, NULL);
    s->workspace_bytes = s->workspace ? most : 0;
    return status;
}

/* All rounds once in vain: what the library makes when it is called so for the first time, it has then
 * made. */
static int resident_run(search *s, search_result *result)
{
    struct sssp_state state;
    for (unsigned i = 0; i < s->sizes.sizes; i++)
        if (two_rounds(s, 2 * i))
            return -1;
    cohort_status status = begin(s);
    if (status)
        return library(s, status, "the search's beginning", s->why);
    int failed = s->m->repeat ? s->m->repeat(s->m->self, two_rounds, s, &s->sizes, &result->seconds)
                              : repeat_by_host(s, &result->seconds);
    if (failed)
        return *s->why ? -1 : (snprintf(s->why, 256, "the loop failed on the %s", s->m->name), -1);
    if (fetch_state(s, &state))
        return -1;
    result->rounds = state.rounds;
    result->entries = state.entries;
    result->moved = state.moved;
    return (int)state.full;
}

/* ---- a search ------------------------------------------------------------------------------------------ */

/* What did not do: a pool is doubled; buckets that stay become such as move. */
static int enlarge(search *s, int why_not, char why[256])
{
    if (why_not & SSSP_FULL)
        return pools_make(s, 2 * s->room, why);
    s->fixed = 0;
    return 0;
}

/* What turns out too small is enlarged, also for later searches, and the search begins again. */
int search_run(search *s, const search_plan *plan, search_result *result, char why[256])
{
    int again = 1;
    if (plan->delta != s->fixed_delta || plan->buckets != s->plan.buckets)
        s->fixed = plan->buckets;
    s->fixed_delta = plan->delta;
    s->plan = *plan;
    s->round.step = 0;
    while (plan->delta >> s->round.step >= 8) /* four to a bucket */
        s->round.step++;
    s->why = why;
    *why = 0;
    while (again > 0) {
        cohort_status status = begin(s);
        memset(result, 0, sizeof *result);
        if (!status && plan->resident)
            status = resident_make(s);
        if (status)
            return library(s, status, "the search's beginning", why);
        again = plan->resident ? resident_run(s, result) : rounds_run(s, result);
        if (again > 0 && enlarge(s, again, why))
            return -1;
    }
    return again;
}
