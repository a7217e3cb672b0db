/* cuda.cu: the rounds of a search on a GPU: the kernels of relax.h on the context's stream, so that they come between the library's
 * calls without anybody waiting; and a whole search as one CUDA graph with a loop in it. */
#include <cohort.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "relax.h"

extern "C" {
#include "search.h"
}

#define THREADS (32 * SSSP_WARPS)

struct gpu {
    cohort_context *context;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    struct sssp_state *state; /* pinned */
    int told;                 /* the rounds write what they tell there themselves */
    unsigned blocks;
};

static int relax(void *self, const struct sssp_relax *given)
{
    struct gpu *g = (struct gpu *)self;
    struct sssp_relax round = *given;
    unsigned long long enough = (round.n + THREADS - 1) / THREADS;
    unsigned blocks = enough < g->blocks ? (unsigned)enough : g->blocks;
    g->told = !round.resident;
    round.told = g->told ? g->state : NULL;
    if (!round.offsets && round.delta)
        sssp_find<<<1, 32, 0, g->stream>>>(round);
    sssp_relax<<<blocks, THREADS, 0, g->stream>>>(round);
    if (round.chunk_room)
        sssp_relax_chunks<<<blocks, THREADS, 0, g->stream>>>(round);
    return cudaGetLastError() ? -1 : 0;
}

static int fetch(void *self, struct sssp_state *to, const struct sssp_state *from)
{
    struct gpu *g = (struct gpu *)self;
    if (!g->told && cudaMemcpyAsync(g->state, from, sizeof *to, cudaMemcpyDeviceToHost, g->stream))
        return -1;
    if (cudaStreamSynchronize(g->stream))
        return -1;
    *to = *g->state;
    return 0;
}

/* ---- a loop on the device ---------------------------------------------------------------------------------------------- */

__global__ void go_on(cudaGraphConditionalHandle loop, const struct sssp_state *state)
{
    cudaGraphSetConditional(loop, state->more);
}

/* A graph of one node, a loop whose body is what `work` enqueues. */
static int record(struct gpu *g, cudaGraph_t graph, int (*work)(void *), void *arg,
                  const struct sssp_state *state)
{
    cudaGraphConditionalHandle loop;
    cudaGraphNodeParams node = {};
    cudaGraphNode_t made;
    cudaGraph_t body;
    if (cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault))
        return -1;
    node.type = cudaGraphNodeTypeConditional;
    node.conditional.handle = loop;
    node.conditional.type = cudaGraphCondTypeWhile;
    node.conditional.size = 1;
#if CUDART_VERSION >= 13000
    if (cudaGraphAddNode(&made, graph, NULL, NULL, 0, &node))
#else
    if (cudaGraphAddNode(&made, graph, NULL, 0, &node))
#endif
        return -1;
    body = node.conditional.phGraph_out[0];
    if (cudaStreamBeginCaptureToGraph(g->stream, body, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal))
        return -1;
    int failed = work(arg);
    go_on<<<1, 1, 0, g->stream>>>(loop, state);
    if (cudaStreamEndCapture(g->stream, &body))
        failed = -1;
    return failed;
}

static int repeat(void *self, int (*work)(void *), void *arg, const struct sssp_state *state, double *seconds)
{
    struct gpu *g = (struct gpu *)self;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t program = NULL;
    float ms = 0;
    int failed = cudaGraphCreate(&graph, 0) || record(g, graph, work, arg, state) ||
                 cudaGraphInstantiate(&program, graph, 0) || cudaGraphUpload(program, g->stream) ||
                 cudaEventRecord(g->start, g->stream) || cudaGraphLaunch(program, g->stream) ||
                 cudaEventRecord(g->stop, g->stream) || cudaEventSynchronize(g->stop) ||
                 cudaEventElapsedTime(&ms, g->start, g->stop);
    *seconds = 1e-3 * ms;
    if (program)
        cudaGraphExecDestroy(program);
    if (graph)
        cudaGraphDestroy(graph);
    return failed ? -1 : 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------ */

static void close_gpu(void *self)
{
    struct gpu *g = (struct gpu *)self;
    if (!g)
        return;
    cohort_context_destroy(g->context);
    if (g->start)
        cudaEventDestroy(g->start);
    if (g->stop)
        cudaEventDestroy(g->stop);
    if (g->stream)
        cudaStreamDestroy(g->stream);
    cudaFreeHost(g->state);
    free(g);
}

int cuda_open(machine *m, const char *device, char why[256])
{
    struct gpu *g = (struct gpu *)calloc(1, sizeof *g);
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    int count = 0, processors = 0, number = device && device[4] == ':' ? atoi(device + 5) : 0;
    char name[32];
    machine made = {NULL, "GPU", g, relax, fetch, repeat, close_gpu};
    *m = made;
    if (!g || cudaGetDeviceCount(&count) || number >= count || cudaSetDevice(number) ||
        cudaStreamCreate(&g->stream) || cudaEventCreate(&g->start) || cudaEventCreate(&g->stop) ||
        cudaMallocHost((void **)&g->state, sizeof *g->state) ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number)) {
        snprintf(why, 256, "no GPU that the CUDA runtime can use");
        return -1;
    }
    snprintf(name, sizeof name, "cuda:%d", number);
    options.device = name;
    options.stream = g->stream;
    if (cohort_context_create(&g->context, &options)) {
        snprintf(why, 256, "%.200s", cohort_message(NULL));
        return -1;
    }
    m->context = g->context;
    g->blocks = (unsigned)processors * 8;
    return 0;
}
