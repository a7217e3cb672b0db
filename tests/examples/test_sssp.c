/* test_sssp.c: the shortest-path example as it is, its rounds on the device under test: all its ways to order
 * the pool against Dijkstra's distances, on made-up graphs; its reader of edge lists against hostile ones. */
#define _POSIX_C_SOURCE 200809L
#define SSSP_LONG       24u
#define SSSP_MANY_NODES 48u
#define SSSP_MANY_EDGES 100u
#define SSSP_PART       16u

#include <unistd.h>

#include "../../examples/sssp/graph.c"
#include "../../examples/sssp/search.c"
#include "../../examples/sssp/threads.c"
#include "cuda/device.h"
#include "test.h"

/* ---- a machine on the device under test ---------------------------------------------------------------- */

static int relax_on_gpu(void *self, const struct sssp_relax *round)
{
    cohort_context *context = self;
    unsigned blocks = (unsigned)(round->n / 64 < 3 ? round->n / 64 + 1 : 3);
    if (!round->offsets && round->delta && gpu_launch_grid(context, "sssp_find", 1, 32, 0, round))
        return -1;
    if (!round->list)
        return gpu_launch_grid(context, "sssp_relax", blocks, 64, 0, round) ? -1 : 0;
    if (gpu_launch_grid(context, "sssp_list", blocks, 64, 0, round))
        return -1;
    if (!round->hot)
        return gpu_launch_grid(context, "sssp_relax_list", 2, 64, 0, round) ? -1 : 0;
    unsigned shared =
        2 * 128 * 8 + round->hot / 4; /* two warps' entries on their way, and the hot nodes' distances */
    return gpu_launch_grid(context, "sssp_relax_hot", 2, 64, shared, round) ? -1 : 0;
}

static int fetch_by_copy(void *self, struct sssp_state *to, const struct sssp_state *from)
{
    return cohort_copy(self, to, from, sizeof *to) ? -1 : 0;
}

static void close_nothing(void *self)
{
    (void)self;
}

static machine machine_open(struct test *t, team *threads)
{
    machine m = {t->context, "GPU", t->context, relax_on_gpu, fetch_by_copy, NULL, close_nothing};
    if (t->kind != TEST_CPU)
        return m;
    *threads = (team){.context = t->context, .threads = 3};
    return (machine){t->context, "CPU", threads, relax, fetch, NULL, close_nothing};
}

/* ---- searches ------------------------------------------------------------------------------------------ */

static void compare(struct test *t, search *s, const graph *g, const search_plan *plan, const uint32_t *right)
{
    char why[256] = "";
    search_result result;
    uint32_t *distance = malloc((size_t)g->nodes * sizeof *distance);
    REQUIRE(t, distance != NULL);
    int failed = search_run(s, plan, &result, why) || search_distances(s, distance, why) ||
                 graph_prove(g, plan->source, distance, 2, why);
    if (CHECKF(t, !failed, "%s", why))
        for (uint32_t v = 0; v < g->nodes; v++)
            if (!CHECKF(t, distance[v] == right[v],
                        "node %u of %u is at %u, must be at %u (bucketing %d, delta %u, %u buckets)", v,
                        g->nodes, distance[v], right[v], (int)plan->how, plan->delta, plan->buckets))
                break;
    free(distance);
}

/* Every way, with buckets narrow and wide. `room`: of the pool at first, so that it has to grow. */
static void search_all(struct test *t, const graph *g, uint32_t source, uint64_t room)
{
    static const struct {
        uint32_t delta, power, buckets; /* a power of two for the way that needs one */
    } sizes[] = {{3, 2, 2}, {120, 128, 32}, {4800, 4096, 200}};
    char why[256] = "";
    team threads;
    machine m = machine_open(t, &threads);
    search *s;
    uint32_t *right = malloc((size_t)g->nodes * sizeof *right);
    REQUIRE(t, right != NULL);
    REQUIREF(t, !graph_dijkstra(g, source, right, why), "%s", why);
    REQUIREF(t, !search_open(&s, &m, g, why), "%s", why);
    if (room)
        REQUIREF(t, !pools_make(s, room, why), "%s", why);
    s->least = t->kind == TEST_SIM ? 16 : 64;
    for (int how = 0; how < 2 * BUCKETINGS; how++) {
        if (how == BUCKETINGS + BUCKETING_STEPS)
            continue;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !t->failures; i++) {
            if (t->kind == TEST_SIM && !test_drawn(t, g->nodes + (uint64_t)how + i, 3))
                continue;
            bucketing by = (bucketing)(how % BUCKETINGS);
            search_plan plan = {by, source, by == BUCKETING_STEPS ? sizes[i].power : sizes[i].delta,
                                sizes[i].buckets, how >= BUCKETINGS};
            compare(t, s, g, &plan, right);
        }
    }
    search_close(s);
    free(right);
}

/* All distances from a node together, as Dijkstra has them. */
static uint64_t sum_from(struct test *t, const graph *g, uint32_t source)
{
    char why[256] = "";
    uint64_t sum = 0;
    uint32_t *right = malloc((size_t)g->nodes * sizeof *right);
    REQUIRE(t, right != NULL);
    REQUIREF(t, !graph_dijkstra(g, source, right, why), "%s", why);
    for (uint32_t v = 0; v < g->nodes; v++)
        sum += right[v];
    free(right);
    return sum;
}

/* It is the same graph, with other numbers. */
static void renumber(struct test *t, graph *g, uint32_t *source)
{
    uint32_t before = g->first[*source + 1] - g->first[*source], edges = g->edges;
    uint64_t sum = sum_from(t, g, *source);
    REQUIRE(t, !graph_renumber(g, source, 2));
    CHECK(t, g->first[*source + 1] - g->first[*source] == before);
    CHECK(t, g->first[0] == 0 && g->first[g->nodes] == edges && sum_from(t, g, *source) == sum);
}

static void rmat(struct test *t)
{
    char why[256] = "";
    uint64_t most = test_size(t, 16, test_scale(t, 8, 9, 10));
    for (unsigned edges = 5; edges <= most && !t->failures; edges += 1 + (edges > 10) * 5) {
        graph g = {0};
        REQUIREF(t, !graph_rmat(&g, edges, edges % 2 ? 100 : 5000, 2, why), "%s", why);
        uint32_t hub = graph_hub(&g);
        renumber(t, &g, &hub);
        search_all(t, &g, hub, 0);
        graph_free(&g);
    }
}

static void grid(struct test *t)
{
    char why[256] = "";
    uint32_t most = t->kind == TEST_SIM ? 8 : 60;
    for (uint32_t side = 1; side <= most && !t->failures; side = side * 2 + (side < 4)) {
        graph g = {0};
        REQUIREF(t, !graph_grid(&g, side, 1000, 3, why), "%s", why);
        search_all(t, &g, (uint32_t)(test_mix(t->seed + side) % g.nodes), 0);
        graph_free(&g);
    }
}

/* The pool has room for the source and little more. */
static void small_pool(struct test *t)
{
    char why[256] = "";
    graph g = {0};
    REQUIREF(t, !graph_rmat(&g, t->kind == TEST_SIM ? 9 : 13, 50, 2, why), "%s", why);
    search_all(t, &g, graph_hub(&g), 4);
    graph_free(&g);
}

/* ---- edge lists ---------------------------------------------------------------------------------------- */

static int read_text(struct test *t, graph *g, const char *text, size_t bytes, char why[256])
{
    char path[] = "/tmp/cohort-sssp-XXXXXX";
    int file = mkstemp(path);
    REQUIRE(t, file >= 0);
    int written = write(file, text, bytes) == (ssize_t)bytes;
    close(file);
    int failed = graph_read(g, path, why);
    unlink(path);
    REQUIRE(t, written);
    return failed;
}

static void edge_lists(struct test *t)
{
    static const struct {
        const char *text;
        size_t bytes;          /* 0: to its zero */
        uint32_t nodes, edges; /* 0: refused */
    } lists[] = {{"0 1\n1 2 7\n", 0, 3, 2},
                 {"c roads\np sp 3 2\na 1 2 5\na 2 1 5\n", 0, 3, 2},
                 {"# x\n\n% y\n\t0\t0 3\r\n0 0 3", 0, 1, 2},
                 {"", 0, 0, 0},
                 {"# nothing\n", 0, 0, 0},
                 {"0\n", 0, 0, 0},
                 {"0 1 0\n", 0, 0, 0},
                 {"0 1 2 3\n", 0, 0, 0},
                 {"0 -1\n", 0, 0, 0},
                 {"0 1.5\n", 0, 0, 0},
                 {"0 1x\n", 0, 0, 0},
                 {"0 99999999999999999999\n", 0, 0, 0},
                 {"0 4294967294\n", 0, 0, 0},
                 {"0 4294967293\n", 0, 0, 0},
                 {"0 1 4294967295\n", 0, 0, 0},
                 {"0 1 4294967294\n", 0, 2, 1},
                 {"0 1\0\n", 5, 0, 0},
                 {"0 1\n0 ", 0, 0, 0}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        graph g = {0};
        char why[256] = "";
        int failed =
            read_text(t, &g, lists[i].text, lists[i].bytes ? lists[i].bytes : strlen(lists[i].text), why);
        CHECKF(t, failed == (lists[i].edges ? 0 : -1), "list %zu: %s", i, failed ? why : "taken");
        CHECKF(t, g.nodes == lists[i].nodes || failed, "list %zu: %u nodes", i, g.nodes);
        CHECKF(t, g.edges == lists[i].edges || failed, "list %zu: %u edges", i, g.edges);
        CHECKF(t, !failed || *why, "list %zu: refused without a word", i);
        graph_free(&g);
    }
}

/* Distances that do not fit are told, not wrapped around. */
static void far_away(struct test *t)
{
    char why[256] = "";
    team threads;
    machine m = machine_open(t, &threads);
    search *s;
    graph g = {0};
    search_plan plan = {BUCKETING_NONE, 0, 1u << 30, 4, 0};
    search_result result;
    uint32_t distance[3];
    REQUIRE(t, !read_text(t, &g, "0 1 4294967290\n1 2 5\n", 21, why));
    REQUIREF(t, !search_open(&s, &m, &g, why), "%s", why);
    CHECKF(t, !search_run(s, &plan, &result, why) && !search_distances(s, distance, why), "%s", why);
    CHECK(t, distance[1] == 4294967290u && distance[2] == GRAPH_FAR);
    CHECK(t, graph_prove(&g, 0, distance, 1, why) == -1 && strstr(why, "node 2 does not fit"));
    distance[1]--;
    CHECK(t, graph_prove(&g, 0, distance, 1, why) == -1 && strstr(why, "is wrong"));
    search_close(s);
    graph_free(&g);
}

const struct test_case test_cases[] = {{"rmat", rmat, 0},
                                       {"grid", grid, 0},
                                       {"small pool", small_pool, 0},
                                       {"edge lists", edge_lists, TEST_ON_CPU},
                                       {"far away", far_away, 0},
                                       {NULL, NULL, 0}};
