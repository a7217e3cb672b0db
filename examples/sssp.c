/* sssp: shortest paths from one node of a graph, by delta-stepping over a multisplit, beside the same over a
 * radix sort and beside Bellman and Ford's method.
 *
 *     sssp --rmat 24                       a made-up network of 2^24 edges
 *     sssp --grid 2048                     a made-up road map of 2048 x 2048 crossings
 *     sssp --graph roads.gr --check        a file: lines FROM TO [WEIGHT], or DIMACS
 *
 * Its parts: sssp/graph.c graphs and the slow way, search.c the rounds over the library's calls, relax.h and
 * listed.h what a round does (the same text for GPU and CPU), cuda.cu and threads.c who does it. Every result
 * is proved: no edge makes a distance less, and each distance is explained by an edge. --check also compares
 * it with Dijkstra's. */
#define _POSIX_C_SOURCE 200809L

#include <cohort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sssp/search.h"

enum { RUNS = 32 };

static const char *const names[BUCKETINGS] = {"multisplit", "sort", "steps", "none"};

static const char usage[] =
    "usage: sssp (--rmat LOG2_EDGES | --grid SIDE | --graph FILE) [OPTION]...\n"
    "  --device D        cpu, cuda, cuda:N, or auto, a GPU if there is one (COHORT_DEVICE means the same)\n"
    "  --bucketing NAME  multisplit, sort, steps (a sort by buckets' numbers alone: --loop host, --delta "
    "2^k),\n"
    "                    none (Bellman and Ford's method), or all (default)\n"
    "  --source NODE     default: the one with the most edges; of a grid, its middle\n"
    "  --delta N         how wide a bucket is (default: from the weights and the number of edges)\n"
    "  --buckets N       of the multisplit, 2 to 256 (default: 32)\n"
    "  --weights N       of made-up graphs: from 1 to this (default: 1000)\n"
    "  --loop WHERE      host: it waits for every round; device: for the whole search; both (default: host)\n"
    "  --runs N          1 to 32 (default: 3)\n"
    "  --threads N       of the CPU\n"
    "  --check           also find the distances by Dijkstra's algorithm, and compare\n"
    "  --brief           print only what does not depend on the machine\n";

typedef struct options {
    const char *device, *graph, *how, *loop;
    unsigned long long rmat, grid, source, delta, buckets, weights, runs, threads;
    unsigned named; /* the source before nodes were renumbered */
    int source_given, check, brief;
} options;

static void fail(int status, const char *what, const char *why)
{
    fprintf(stderr, "sssp: %s%s%s\n", what, *why ? ": " : "", why);
    exit(status);
}

static unsigned long long number_of(const char *option, const char *text, unsigned long long least,
                                    unsigned long long most)
{
    char why[256], *end = NULL;
    unsigned long long value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    snprintf(why, sizeof why, "must be a whole number from %llu to %llu", least, most);
    if (!end || *end || value < least || value > most) {
        char what[256];
        snprintf(what, sizeof what, "%s %.100s", option, text ? text : "");
        fail(2, what, why);
    }
    return value;
}

static options options_read(int argc, char **argv)
{
    options o = {.how = "all", .loop = "host", .buckets = 32, .weights = 1000, .runs = 3};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--check"))
            o.check = 1;
        else if (!strcmp(name, "--brief"))
            o.brief = 1;
        else if (!strcmp(name, "--help"))
            exit(fputs(usage, stdout) < 0);
        else if (!value)
            fail(2, name, "unknown, or its value is missing (--help tells more)");
        else if (i++, !strcmp(name, "--device"))
            o.device = value;
        else if (!strcmp(name, "--graph"))
            o.graph = value;
        else if (!strcmp(name, "--bucketing"))
            o.how = value;
        else if (!strcmp(name, "--loop"))
            o.loop = value;
        else if (!strcmp(name, "--rmat"))
            o.rmat = number_of(name, value, 5, 31);
        else if (!strcmp(name, "--grid"))
            o.grid = number_of(name, value, 1, 32768);
        else if (!strcmp(name, "--source"))
            o.source = number_of(name, value, 0, UINT32_MAX - 2), o.source_given = 1;
        else if (!strcmp(name, "--delta"))
            o.delta = number_of(name, value, 1, UINT32_MAX);
        else if (!strcmp(name, "--buckets"))
            o.buckets = number_of(name, value, 2, SEARCH_BUCKETS);
        else if (!strcmp(name, "--weights"))
            o.weights = number_of(name, value, 1, 1u << 30);
        else if (!strcmp(name, "--runs"))
            o.runs = number_of(name, value, 1, RUNS);
        else if (!strcmp(name, "--threads"))
            o.threads = number_of(name, value, 1, 256);
        else
            fail(2, name, "no such option (--help tells more)");
    }
    if (strcmp(o.loop, "host") && strcmp(o.loop, "device") && strcmp(o.loop, "both"))
        fail(2, o.loop, "--loop must be host, device or both");
    if (!!o.rmat + !!o.grid + !!o.graph != 1)
        fail(2, "one graph is wanted: --rmat, --grid or --graph (--help tells more)", "");
    return o;
}

/* ---- the graph and the machine ------------------------------------------------------------------------- */

static unsigned cores(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}

static graph graph_make(options *o)
{
    graph g = {0};
    char why[256] = "";
    uint32_t heaviest = (uint32_t)o->weights;
    int failed = o->graph  ? graph_read(&g, o->graph, why)
                 : o->rmat ? graph_rmat(&g, (unsigned)o->rmat, heaviest, cores(), why)
                           : graph_grid(&g, (uint32_t)o->grid, heaviest, cores(), why);
    if (failed)
        fail(o->graph ? 2 : 1, "the graph", why);
    if (!o->source_given)
        o->source = o->grid ? o->grid / 2 * o->grid + o->grid / 2 : graph_hub(&g);
    if (o->source >= g.nodes) {
        snprintf(why, sizeof why, "the graph has %u nodes, from 0 on", g.nodes);
        fail(2, "--source", why);
    }
    uint32_t source = (uint32_t)o->source;
    o->named = source;
    if (graph_renumber(&g, &source, cores()))
        fail(1, "the graph", "no memory to renumber its nodes");
    o->source = source;
    return g;
}

static void machine_open(machine *m, const options *o)
{
    char why[256] = "";
    const char *device = o->device ? o->device : getenv("COHORT_DEVICE");
    unsigned threads = (unsigned)o->threads;
    int any = !device || !strcmp(device, "auto"), cpu = !any && !strcmp(device, "cpu");
    if (!any && !cpu && strcmp(device, "cuda") && strncmp(device, "cuda:", 5))
        fail(2, "--device must be cpu, cuda, cuda:N or auto", "");
#ifdef SSSP_CUDA
    if (!cpu) {
        if (!cuda_open(m, device, why))
            return;
        m->close(m->self);
        if (!any)
            fail(2, "--device", why);
    }
#else
    if (!any && !cpu)
        fail(2, "--device", "built without a GPU's part: nvcc was not found");
#endif
    if (threads_open(m, threads, why))
        fail(1, "--device cpu", why);
}

/* The fewer edges a node has, the wider, so that there is enough to do in a round; as measured, a power of
 * two. */
static uint32_t delta_of(const graph *g)
{
    double degree = (double)g->edges / g->nodes, wide = 64.0 * g->heaviest / (degree * degree + 1);
    uint32_t delta = 1;
    while (delta < wide && delta < 1u << 30)
        delta *= 2;
    return delta;
}

/* ---- searches ------------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the runs, in seconds. */
static double measure(search *s, const search_plan *plan, const options *o, const char *name)
{
    char why[256];
    double seconds[RUNS];
    search_result r = {0};
    for (unsigned long long run = 0; run < o->runs + (o->runs > 1); run++) { /* one to warm up */
        if (search_run(s, plan, &r, why))
            fail(1, name, why);
        seconds[run ? run - 1 : 0] = r.seconds;
    }
    qsort(seconds, o->runs, sizeof *seconds, by_time);
    if (!o->brief)
        printf("%-12s %10.3f ms (%.3f - %.3f), %llu rounds, %llu entries put in, %llu put in order\n", name,
               1e3 * seconds[o->runs / 2], 1e3 * seconds[0], 1e3 * seconds[o->runs - 1],
               (unsigned long long)r.rounds, (unsigned long long)r.entries,
               (unsigned long long)(plan->how == BUCKETING_NONE ? 0 : r.moved));
    return seconds[o->runs / 2];
}

static void judge(search *s, const graph *g, const options *o, const char *name, uint32_t *distance,
                  const uint32_t *right)
{
    char why[256] = "";
    uint64_t reached = 0, sum = 0;
    uint32_t farthest = 0;
    if (search_distances(s, distance, why) ||
        graph_prove(g, (uint32_t)o->source, distance, o->threads ? (unsigned)o->threads : cores(), why))
        fail(1, name, why);
    for (uint32_t v = 0; v < g->nodes; v++) {
        if (right && distance[v] != right[v])
            fail(1, name, "a distance is not Dijkstra's");
        if (distance[v] == GRAPH_FAR)
            continue;
        reached++;
        sum += distance[v];
        farthest = distance[v] > farthest ? distance[v] : farthest;
    }
    if (o->brief)
        printf("%s: %llu nodes reached, the farthest at %u, %llu in all: %s\n", name,
               (unsigned long long)reached, farthest, (unsigned long long)sum,
               right ? "as Dijkstra's" : "proved");
}

static uint32_t *distances_make(const graph *g)
{
    uint32_t *distance = malloc(((size_t)g->nodes + 1) * sizeof *distance);
    if (!distance)
        fail(1, "the distances", "no memory");
    return distance;
}

/* How long Dijkstra's algorithm takes is told too. */
static uint32_t *distances_right(const graph *g, const options *o)
{
    char why[256];
    struct timespec from, to;
    uint32_t *right = distances_make(g);
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (graph_dijkstra(g, (uint32_t)o->source, right, why))
        fail(1, "Dijkstra", why);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (!o->brief)
        printf("%-12s %10.3f ms, one thread\n", "Dijkstra",
               1e3 * (double)(to.tv_sec - from.tv_sec) + 1e-6 * (double)(to.tv_nsec - from.tv_nsec));
    return right;
}

/* All ways that are wanted, with the loop in one place. */
static void search_by_all(search *s, const graph *g, const options *o, search_plan plan, uint32_t *distance,
                          const uint32_t *right)
{
    double seconds[BUCKETINGS] = {0};
    if (!o->brief)
        printf("the loop on the %s\n", plan.resident ? "device" : "host");
    for (int how = 0; how < BUCKETINGS; how++) {
        if ((strcmp(o->how, names[how]) && strcmp(o->how, "all")) ||
            (how == BUCKETING_STEPS && (plan.resident || plan.delta & (plan.delta - 1))))
            continue;
        plan.how = (bucketing)how;
        seconds[how] = measure(s, &plan, o, names[how]);
        judge(s, g, o, names[how], distance, right);
    }
    if (!o->brief && seconds[0] > 0)
        printf("distances %s\n", right ? "as Dijkstra's, and proved" : "proved");
    for (int how = 1; how < BUCKETINGS; how++)
        if (!o->brief && seconds[0] > 0 && seconds[how] > 0)
            printf("multisplit is %.2f times as fast as %s\n", seconds[how] / seconds[0], names[how]);
}

int main(int argc, char **argv)
{
    options o = options_read(argc, argv);
    char why[256];
    machine m;
    search *s;
    int any = 0;
    for (int how = 0; how < BUCKETINGS; how++)
        any |= !strcmp(o.how, names[how]) || !strcmp(o.how, "all");
    if (!any)
        fail(2, o.how, "--bucketing must be multisplit, sort, steps, none or all");
    if ((o.delta & (o.delta - 1) || strcmp(o.loop, "host")) && !strcmp(o.how, "steps"))
        fail(2, "--bucketing steps", "--delta must be a power of two, and --loop host");
    machine_open(&m, &o);
    graph g = graph_make(&o);
    search_plan plan = {0, (uint32_t)o.source, o.delta ? (uint32_t)o.delta : delta_of(&g),
                        (uint32_t)o.buckets, 0};
    if (!o.brief)
        printf("%u nodes, %u edges, weights up to %u, from node %u; buckets %u wide; on the %s\n", g.nodes,
               g.edges, g.heaviest, o.named, plan.delta, m.name);
    uint32_t *distance = distances_make(&g), *right = o.check ? distances_right(&g, &o) : NULL;
    if (search_open(&s, &m, &g, why))
        fail(1, "the search", why);
    for (plan.resident = 0; plan.resident < 2; plan.resident++)
        if (strcmp(o.loop, plan.resident ? "host" : "device"))
            search_by_all(s, &g, &o, plan, distance, right);
    search_close(s);
    m.close(m.self);
    graph_free(&g);
    free(distance);
    free(right);
    return fflush(stdout) ? 1 : 0;
}
