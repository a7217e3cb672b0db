/* graph.c: graphs made up by all threads: an edge is a function of its number, so it is made twice, once to
 * count how many leave each node, once to be put in its place. */
#define _POSIX_C_SOURCE 200809L

#include "graph.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ------------------------------------------------------------------------------------------- */

enum { TEAM = 256 };

typedef struct member {
    void (*work)(void *arg, unsigned share, unsigned shares);
    void *arg;
    unsigned share, shares;
} member;

static void *member_run(void *arg)
{
    member *m = arg;
    m->work(m->arg, m->share, m->shares);
    return NULL;
}

void team_run(unsigned shares, void (*work)(void *arg, unsigned share, unsigned shares), void *arg)
{
    member members[TEAM];
    pthread_t threads[TEAM];
    int started[TEAM] = {0};
    shares = shares < 1 ? 1 : shares < TEAM ? shares : TEAM;
    for (unsigned i = 0; i < shares; i++)
        members[i] = (member){work, arg, i, shares};
    for (unsigned i = 1; i < shares; i++)
        started[i] = !pthread_create(&threads[i], NULL, member_run, &members[i]);
    member_run(&members[0]);
    for (unsigned i = 1; i < shares; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            member_run(&members[i]);
}

/* ---- making -------------------------------------------------------------------------------------------- */

typedef struct list {
    uint32_t from, to, weight; /* weight 0: there is no such edge */
} list;

typedef struct maker {
    graph *g;
    list (*edge)(const struct maker *m, uint64_t i);
    uint64_t count; /* numbers of edges, not all of which need exist */
    uint32_t side, heaviest;
    unsigned levels;
    const list *read;
    int put; /* the second time */
} maker;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

static uint32_t weight_of(const maker *m, uint64_t i)
{
    return 1 + (uint32_t)(mix(~i) % m->heaviest);
}

/* Numbers below 2^bits in another order. */
static uint32_t shuffled(uint32_t v, unsigned bits)
{
    uint32_t mask = bits < 32 ? (1u << bits) - 1 : UINT32_MAX;
    for (int round = 0; round < 2; round++) {
        v = (v + 0x68e31da4u) * 0x9e3779b1u & mask;
        v ^= v >> (bits / 2 + 1);
    }
    return v;
}

/* A level chooses a quarter of the matrix by 16 random bits. */
static list rmat_edge(const maker *m, uint64_t i)
{
    uint32_t from = 0, to = 0;
    uint64_t random = 0;
    for (unsigned level = 0; level < m->levels; level++, random >>= 16) {
        if (level % 4 == 0)
            random = mix(i * 8 + level / 4 + 1);
        uint32_t part = (uint32_t)random & 0xffff; /* of 65,536: 37,355, 12,452, 12,452, 3,277 */
        from = from << 1 | (part >= 49807);
        to = to << 1 | ((part >= 37355 && part < 49807) || part >= 62259);
    }
    return (list){shuffled(from, m->levels), shuffled(to, m->levels), weight_of(m, i)};
}

/* Edge i leaves node i / 4. */
static list grid_edge(const maker *m, uint64_t i)
{
    static const int right[] = {1, 0, -1, 0}, down[] = {0, 1, 0, -1};
    uint32_t node = (uint32_t)(i / 4), way = i % 4;
    int64_t x = node % m->side + right[way], y = node / m->side + down[way];
    if (x < 0 || y < 0 || x >= m->side || y >= m->side)
        return (list){0, 0, 0};
    return (list){node, (uint32_t)(y * m->side + x), weight_of(m, i)};
}

static list read_edge(const maker *m, uint64_t i)
{
    return m->read[i];
}

static void make_share(void *arg, unsigned share, unsigned shares)
{
    const maker *m = arg;
    graph *g = m->g;
    for (uint64_t i = m->count * share / shares; i < m->count * (share + 1) / shares; i++) {
        list e = m->edge(m, i);
        if (!e.weight)
            continue;
        uint32_t at = __atomic_fetch_add(&g->first[e.from], 1, __ATOMIC_RELAXED);
        if (m->put)
            g->edge[at] = (uint64_t)e.weight << 32 | e.to;
    }
}

/* first[] counts edges, then holds where they begin, then, put in, where they end. */
static int make(maker *m, uint32_t nodes, unsigned threads, char why[256])
{
    graph *g = m->g;
    uint64_t sum = 0;
    if (m->count > UINT64_C(1) << 32)
        return snprintf(why, 256, "%llu edges; at most %u", (unsigned long long)m->count, UINT32_MAX), -1;
    g->nodes = nodes;
    g->heaviest = m->heaviest;
    g->first = calloc((size_t)nodes + 1, sizeof *g->first);
    if (!g->first)
        return snprintf(why, 256, "no memory for %u nodes", nodes), -1;
    team_run(threads, make_share, m);
    for (uint32_t v = 0; v <= nodes; v++) {
        uint32_t here = g->first[v];
        g->first[v] = (uint32_t)sum;
        sum += here;
    }
    if (sum > UINT32_MAX)
        return snprintf(why, 256, "%llu edges; at most %u", (unsigned long long)sum, UINT32_MAX), -1;
    g->edges = (uint32_t)sum;
    g->edge = malloc((sum + 1) * sizeof *g->edge);
    if (!g->edge)
        return snprintf(why, 256, "no memory for %llu edges", (unsigned long long)sum), -1;
    m->put = 1;
    team_run(threads, make_share, m);
    memmove(g->first + 1, g->first, (size_t)nodes * sizeof *g->first);
    g->first[0] = 0;
    return 0;
}

int graph_rmat(graph *g, unsigned log_edges, uint32_t heaviest, unsigned threads, char why[256])
{
    maker m = {g,    rmat_edge, UINT64_C(1) << log_edges, 0, heaviest, log_edges > 4 ? log_edges - 4 : 0,
               NULL, 0};
    return make(&m, 1u << m.levels, threads, why);
}

int graph_grid(graph *g, uint32_t side, uint32_t heaviest, unsigned threads, char why[256])
{
    maker m = {g, grid_edge, (uint64_t)side * side * 4, side, heaviest, 0, NULL, 0};
    return make(&m, side * side, threads, why);
}

/* ---- renumbering --------------------------------------------------------------------------------------- */

#define FEW_BITS 3u /* nodes that fewer than 2^FEW_BITS edges lead to are alike, but those of none */
#define CLASSES  (34u - FEW_BITS)

typedef struct mover {
    const graph *from;
    graph *to;
    uint32_t *into, *number; /* of each node: edges that lead to it; what it is called then */
} mover;

static void count_share(void *arg, unsigned share, unsigned shares)
{
    const mover *m = arg;
    uint64_t edges = m->from->edges;
    for (uint64_t e = edges * share / shares; e < edges * (share + 1) / shares; e++)
        __atomic_fetch_add(&m->into[(uint32_t)m->from->edge[e]], 1, __ATOMIC_RELAXED);
}

/* The classes in which nodes are numbered: in each twice as many edges may lead to a node as in the next, and
 * none in the last. */
static unsigned class_of(uint32_t edges)
{
    unsigned above = edges > 0;
    for (uint32_t left = edges >> FEW_BITS; left; left /= 2)
        above++;
    return CLASSES - 1 - above;
}

/* Numbers, and where each node's edges begin. */
static void number_nodes(const mover *m)
{
    uint32_t next[CLASSES + 1] = {0}, nodes = m->from->nodes, *first = m->to->first;
    for (uint32_t v = 0; v < nodes; v++)
        next[class_of(m->into[v]) + 1]++;
    for (unsigned c = 1; c < CLASSES; c++)
        next[c] += next[c - 1];
    for (uint32_t v = 0; v < nodes; v++) {
        m->number[v] = next[class_of(m->into[v])]++;
        first[m->number[v] + 1] = m->from->first[v + 1] - m->from->first[v];
    }
    first[0] = 0;
    for (uint32_t v = 0; v < nodes; v++)
        first[v + 1] += first[v];
}

static void move_share(void *arg, unsigned share, unsigned shares)
{
    const mover *m = arg;
    uint64_t nodes = m->from->nodes;
    for (uint64_t v = nodes * share / shares; v < nodes * (share + 1) / shares; v++) {
        uint64_t *to = m->to->edge + m->to->first[m->number[v]];
        for (uint32_t e = m->from->first[v]; e < m->from->first[v + 1]; e++)
            *to++ = (m->from->edge[e] & ~(uint64_t)UINT32_MAX) | m->number[(uint32_t)m->from->edge[e]];
    }
}

int graph_renumber(graph *g, uint32_t *node, unsigned threads)
{
    graph made = *g;
    mover m = {g, &made, calloc((size_t)g->nodes + 1, 4), malloc(((size_t)g->nodes + 1) * 4)};
    made.first = malloc(((size_t)g->nodes + 1) * sizeof *made.first);
    made.edge = malloc(((size_t)g->edges + 1) * sizeof *made.edge);
    int failed = !m.into || !m.number || !made.first || !made.edge;
    if (!failed) {
        team_run(threads, count_share, &m);
        number_nodes(&m);
        team_run(threads, move_share, &m);
        *node = m.number[*node];
    }
    free(m.into);
    free(m.number);
    graph_free(failed ? &made : g);
    if (!failed)
        *g = made;
    return failed ? -1 : 0;
}

void graph_free(graph *g)
{
    free(g->first);
    free(g->edge);
    memset(g, 0, sizeof *g);
}

uint32_t graph_hub(const graph *g)
{
    uint32_t hub = 0;
    for (uint32_t v = 1; v < g->nodes; v++)
        if (g->first[v + 1] - g->first[v] > g->first[hub + 1] - g->first[hub])
            hub = v;
    return hub;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct reading {
    list *edge;
    size_t count, room;
    uint32_t greatest, heaviest;
} reading;

static const char *skip_space(const char *c)
{
    while (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n')
        c++;
    return c;
}

/* Digits up to `most`; NULL if there are none, or the number is greater. */
static const char *number_read(const char *c, uint64_t most, uint32_t *out)
{
    uint64_t value = 0;
    c = skip_space(c);
    if (*c < '0' || *c > '9')
        return NULL;
    for (; *c >= '0' && *c <= '9'; c++)
        if ((value = value * 10 + (uint64_t)(*c - '0')) > most)
            return NULL;
    *out = (uint32_t)value;
    return *c && *c != ' ' && *c != '\t' && *c != '\r' && *c != '\n' ? NULL : c;
}

/* 1 for an edge, 0 for none, -1 for neither. */
static int line_read(const char *c, list *e)
{
    c = skip_space(c);
    if (*c == 'a' && (c[1] == ' ' || c[1] == '\t'))
        c++;
    else if (!*c || *c == '#' || *c == '%' || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z'))
        return 0;
    e->weight = 1;
    if (!(c = number_read(c, UINT32_MAX - 2, &e->from)) || !(c = number_read(c, UINT32_MAX - 2, &e->to)))
        return -1;
    if (*skip_space(c) && !(c = number_read(c, UINT32_MAX - 1, &e->weight)))
        return -1;
    return *skip_space(c) || !e->weight ? -1 : 1;
}

static int edge_add(reading *r, list e)
{
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 1024;
        list *more = room > SIZE_MAX / sizeof *more ? NULL : realloc(r->edge, room * sizeof *more);
        if (!more)
            return -1;
        r->edge = more;
        r->room = room;
    }
    r->edge[r->count++] = e;
    r->greatest = e.from > r->greatest ? e.from : r->greatest;
    r->greatest = e.to > r->greatest ? e.to : r->greatest;
    r->heaviest = e.weight > r->heaviest ? e.weight : r->heaviest;
    return 0;
}

static int lines_read(reading *r, FILE *file, const char *path, char why[256])
{
    char *text = NULL;
    size_t room = 0;
    unsigned long long line = 0;
    ssize_t length;
    int failed = 0;
    while (!failed && (length = getline(&text, &room, file)) >= 0) {
        list e;
        int kind = memchr(text, 0, (size_t)length) ? -1 : line_read(text, &e);
        line++;
        if (kind < 0)
            failed = snprintf(
                why, 256,
                "%.160s:%llu: must be FROM TO [WEIGHT], nodes below 2^32 - 2, a weight from 1 to 2^32 - 2",
                path, line);
        else if (kind && edge_add(r, e))
            failed = snprintf(why, 256, "%.160s:%llu: no memory for so many edges", path, line);
    }
    if (!failed && ferror(file))
        failed = snprintf(why, 256, "%.160s: cannot be read", path);
    free(text);
    return failed ? -1 : 0;
}

int graph_read(graph *g, const char *path, char why[256])
{
    reading r = {NULL, 0, 0, 0, 0};
    FILE *file = fopen(path, "r");
    if (!file)
        return snprintf(why, 256, "%.160s: cannot be opened", path), -1;
    int failed = lines_read(&r, file, path, why);
    fclose(file);
    if (!failed && !r.count)
        failed = snprintf(why, 256, "%.160s: has no edges", path);
    if (!failed && r.greatest / 16 > r.count + (1u << 20)) /* else a line could ask for all memory */
        failed = snprintf(why, 256, "%.160s: node %u among %zu edges: nodes must be numbered from 0 or 1 on",
                          path, r.greatest, r.count);
    if (!failed) {
        maker m = {g, read_edge, r.count, 0, r.heaviest, 0, r.edge, 0};
        failed = make(&m, r.greatest + 1, 1, why);
    }
    free(r.edge);
    return failed ? -1 : 0;
}

/* ---- distances, the slow way --------------------------------------------------------------------------- */

/* A heap of distance << 32 | node, the least at its root. A node may be in it several times; all but its
 * least are stale. */
typedef struct heap {
    uint64_t *at;
    size_t count, room;
} heap;

static int heap_put(heap *h, uint64_t entry)
{
    if (h->count == h->room) {
        size_t room = h->room ? 2 * h->room : 1024;
        uint64_t *more = realloc(h->at, room * sizeof *more);
        if (!more)
            return -1;
        h->at = more;
        h->room = room;
    }
    size_t i = h->count++;
    for (; i && h->at[(i - 1) / 2] > entry; i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = entry;
    return 0;
}

static uint64_t heap_take(heap *h)
{
    uint64_t least = h->at[0], last = h->at[--h->count];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < h->count) {
        child += child + 1 < h->count && h->at[child + 1] < h->at[child];
        if (h->at[child] >= last)
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    if (h->count)
        h->at[i] = last;
    return least;
}

static int too_far(uint32_t node, char why[256])
{
    return snprintf(why, 256, "the distance of node %u does not fit in 32 bits", node), -1;
}

int graph_dijkstra(const graph *g, uint32_t source, uint32_t *distance, char why[256])
{
    heap h = {NULL, 0, 0};
    memset(distance, 0xff, (size_t)g->nodes * sizeof *distance);
    distance[source] = 0;
    int failed = heap_put(&h, source);
    while (h.count && !failed) {
        uint64_t entry = heap_take(&h);
        uint32_t v = (uint32_t)entry, d = (uint32_t)(entry >> 32);
        if (d != distance[v])
            continue;
        for (uint32_t e = g->first[v]; e < g->first[v + 1] && !failed; e++) {
            uint32_t to = (uint32_t)g->edge[e];
            uint64_t beyond = (uint64_t)d + (g->edge[e] >> 32);
            if (beyond >= distance[to])
                continue;
            distance[to] = (uint32_t)beyond;
            failed = heap_put(&h, beyond << 32 | to);
        }
    }
    free(h.at);
    if (failed)
        snprintf(why, 256, "no memory for Dijkstra's heap");
    return failed;
}

typedef struct proof {
    const graph *g;
    const uint32_t *distance;
    uint32_t *explained; /* a bit a node */
    uint32_t wrong, far; /* a node that is; GRAPH_FAR: none */
} proof;

static void prove_share(void *arg, unsigned share, unsigned shares)
{
    proof *p = arg;
    const graph *g = p->g;
    uint32_t begin = (uint32_t)((uint64_t)g->nodes * share / shares),
             end = (uint32_t)((uint64_t)g->nodes * (share + 1) / shares);
    for (uint32_t v = begin; v < end; v++) {
        uint32_t d = p->distance[v];
        for (uint32_t e = g->first[v]; d != GRAPH_FAR && e < g->first[v + 1]; e++) {
            uint32_t to = (uint32_t)g->edge[e];
            uint64_t beyond = (uint64_t)d + (g->edge[e] >> 32);
            if (beyond < p->distance[to])
                __atomic_store_n(&p->wrong, to, __ATOMIC_RELAXED);
            if (beyond >= GRAPH_FAR && p->distance[to] == GRAPH_FAR)
                __atomic_store_n(&p->far, to, __ATOMIC_RELAXED);
            if (beyond == p->distance[to])
                __atomic_fetch_or(&p->explained[to / 32], 1u << to % 32, __ATOMIC_RELAXED);
        }
    }
}

int graph_prove(const graph *g, uint32_t source, const uint32_t *distance, unsigned threads, char why[256])
{
    proof p = {g, distance, calloc((size_t)g->nodes / 32 + 1, 4), GRAPH_FAR, GRAPH_FAR};
    if (!p.explained)
        return snprintf(why, 256, "no memory to check %u nodes", g->nodes), -1;
    if (distance[source])
        p.wrong = source;
    team_run(threads, prove_share, &p);
    for (uint32_t v = 0; v < g->nodes && p.wrong == GRAPH_FAR; v++)
        if (v != source && distance[v] != GRAPH_FAR && !(p.explained[v / 32] >> v % 32 & 1))
            p.wrong = v;
    free(p.explained);
    if (p.wrong != GRAPH_FAR)
        return snprintf(why, 256, "the distance of node %u is wrong", p.wrong), -1;
    return p.far == GRAPH_FAR ? 0 : too_far(p.far, why);
}
