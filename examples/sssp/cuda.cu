/* cuda.cu: the rounds of a search on a GPU: the kernels of relax.h on the context's stream, so that they come
 * between the library's calls without anybody waiting; and a whole search as one CUDA graph with a loop in
 * it. */
#include <cohort.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define SSSP_FENCE_TOLD __threadfence_system
#define SSSP_GLANCE32   __ldca
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#    define SSSP_AFTER cudaGridDependencySynchronize
#    define SSSP_BEGUN cudaTriggerProgrammaticLaunchCompletion
#endif
#include "relax.h"

extern "C" {
#include "search.h"
}

#define THREADS (32 * SSSP_WARPS)
#define SHARED \
    28 /* per cent of a multiprocessor's memory for blocks of sssp_relax_list; the rest caches distances */
#define WIDE   1024 /* threads of sssp_relax_hot */
#define QUEUES (WIDE / 32 * SSSP_QUEUE * 8)

struct gpu {
    cohort_context *context;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    struct sssp_state *state;  /* pinned */
    int told;                  /* the rounds write what they tell there themselves, */
    unsigned serial;           /* the last one with this number */
    unsigned blocks, resident; /* of a launch at most; of sssp_relax_list so many as run at a time */
    unsigned processors, hot;  /* blocks of sssp_relax_hot; nodes that it has room for */
    unsigned soon;             /* kernels know how to wait for the launch before theirs (SSSP_AFTER) */
};

/* Blocks come to the multiprocessors while the launch before this one ends. */
static void launch(const struct gpu *g, void (*kernel)(const struct sssp_relax), unsigned blocks,
                   unsigned threads, unsigned shared, const struct sssp_relax &round)
{
    cudaLaunchAttribute soon = {};
    cudaLaunchConfig_t how = {};
    soon.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    soon.val.programmaticStreamSerializationAllowed = 1;
    how.gridDim = dim3(blocks);
    how.blockDim = dim3(threads);
    how.dynamicSmemBytes = shared;
    how.stream = g->stream;
    how.attrs = &soon;
    how.numAttrs = g->soon;
    cudaLaunchKernelEx(&how, kernel, round);
}

static int relax(void *self, const struct sssp_relax *given)
{
    struct gpu *g = (struct gpu *)self;
    struct sssp_relax round = *given;
    round.hot = !round.list ? 0 : round.hot < g->hot ? round.hot : g->hot;
    unsigned long long lanes = round.n > round.hot / 16 ? round.n : round.hot / 16;
    unsigned long long enough = (lanes + THREADS - 1) / THREADS;
    unsigned blocks = enough < g->blocks ? (unsigned)enough : g->blocks;
    g->told = !round.resident;
    round.told = g->told ? g->state : NULL;
    round.serial = ++g->serial;
    if (!round.offsets && round.delta)
        sssp_find<<<1, 32, 0, g->stream>>>(round);
    launch(g, round.list ? sssp_list : sssp_relax, blocks, THREADS, 0, round);
    if (round.hot)
        launch(g, sssp_relax_hot, g->processors, WIDE, QUEUES + round.hot / 4, round);
    else if (round.list)
        launch(g, sssp_relax_list, g->resident, THREADS, 0, round);
    return cudaGetLastError() ? -1 : 0;
}

/* The host looks until it has been told, which is sooner than the stream's end is known; a stream that ends
 * without is a failure. */
static int wait_told(const struct gpu *g)
{
    const unsigned *serial = &g->state->serial;
    for (unsigned turns = 1; __atomic_load_n(serial, __ATOMIC_ACQUIRE) != g->serial; turns++) {
        cudaError_t state = turns % 65536 ? cudaErrorNotReady : cudaStreamQuery(g->stream);
        if (state == cudaSuccess)
            return __atomic_load_n(serial, __ATOMIC_ACQUIRE) == g->serial ? 0 : -1;
        if (state != cudaErrorNotReady)
            return -1;
    }
    return 0;
}

static int fetch(void *self, struct sssp_state *to, const struct sssp_state *from)
{
    struct gpu *g = (struct gpu *)self;
    if (g->told ? wait_told(g)
                : cudaMemcpyAsync(g->state, from, sizeof *to, cudaMemcpyDeviceToHost, g->stream) ||
                      cudaStreamSynchronize(g->stream))
        return -1;
    *to = *g->state;
    return 0;
}

/* ---- a loop on the device ------------------------------------------------------------------------------ */

#if CUDART_VERSION >= 12080

/* Chooses the next rounds, or none, and kills what they would find beyond the pool's entries, where no round
 * has done so. */
__global__ void choose(cudaGraphConditionalHandle loop, cudaGraphConditionalHandle rounds,
                       struct sssp_sizes z)
{
    const struct sssp_state *s = z.state;
    unsigned which = sssp_choose(&z, s->reach, s->turn);
    co_u64 from = s->reach > s->size ? s->reach : s->size, to = z.size[which / 2];
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        cudaGraphSetConditional(loop, s->more);
        cudaGraphSetConditional(rounds, s->more ? which : 2 * z.sizes);
    }
    co_u32 *keys = z.keys[s->turn];
    for (from += blockIdx.x * (co_u64)blockDim.x + threadIdx.x; keys && from < to;
         from += (co_u64)gridDim.x * blockDim.x)
        keys[from] = SSSP_FAR;
}

/* A node that is bodies, of which one is done, or one again and again; `after` another node, if there is
 * one. */
static cudaGraph_t *conditional(cudaGraph_t graph, cudaGraphNode_t *after, cudaGraphConditionalHandle handle,
                                cudaGraphConditionalNodeType type, unsigned bodies)
{
    cudaGraphNodeParams node = {};
    cudaGraphNode_t made;
    node.type = cudaGraphNodeTypeConditional;
    node.conditional.handle = handle;
    node.conditional.type = type;
    node.conditional.size = bodies;
#    if CUDART_VERSION >= 13000
    if (cudaGraphAddNode(&made, graph, after, NULL, after != NULL, &node))
#    else
    if (cudaGraphAddNode(&made, graph, after, after != NULL, &node))
#    endif
        return NULL;
    return node.conditional.phGraph_out;
}

/* A loop over a choice, whose bodies are what `work` enqueues. */
static int record(struct gpu *g, cudaGraph_t graph, int (*work)(void *, unsigned), void *arg,
                  const struct sssp_sizes *sizes)
{
    cudaGraphConditionalHandle loop, rounds;
    struct sssp_sizes z = *sizes;
    void *args[] = {&loop, &rounds, &z};
    struct cudaKernelNodeParams kernel = {};
    cudaGraphNode_t chosen;
    cudaGraph_t *bodies;
    if (cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault) ||
        !(bodies = conditional(graph, NULL, loop, cudaGraphCondTypeWhile, 1)))
        return -1;
    cudaGraph_t body = bodies[0];
    kernel.func = (void *)choose;
    kernel.gridDim = dim3(g->blocks);
    kernel.blockDim = dim3(THREADS);
    kernel.kernelParams = args;
    if (cudaGraphConditionalHandleCreate(&rounds, body, 0, 0) ||
        cudaGraphAddKernelNode(&chosen, body, NULL, 0, &kernel) ||
        !(bodies = conditional(body, &chosen, rounds, cudaGraphCondTypeSwitch, 2 * z.sizes)))
        return -1;
    int failed = 0;
    for (unsigned i = 0; i < 2 * z.sizes && !failed; i++) {
        cudaGraph_t one = bodies[i];
        if (cudaStreamBeginCaptureToGraph(g->stream, one, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal))
            return -1;
        failed = work(arg, i);
        if (cudaStreamEndCapture(g->stream, &one))
            failed = -1;
    }
    return failed;
}

static int repeat(void *self, int (*work)(void *, unsigned), void *arg, const struct sssp_sizes *sizes,
                  double *seconds)
{
    struct gpu *g = (struct gpu *)self;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t program = NULL;
    float ms = 0;
    int failed = cudaGraphCreate(&graph, 0) || record(g, graph, work, arg, sizes) ||
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

#else
#    define repeat NULL /* a graph's choice came with CUDA 12.8 */
#endif

/* ---- opening ------------------------------------------------------------------------------------------- */

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

/* How many blocks there are at a time, and how much room sssp_relax_hot has. */
static int measure(struct gpu *g, int device)
{
    struct cudaFuncAttributes hot = {};
    int processors = 0, shared = 0, each = 0;
    if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) ||
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ||
        cudaFuncSetAttribute(sssp_relax_list, cudaFuncAttributePreferredSharedMemoryCarveout, SHARED) ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, sssp_relax_list, THREADS, 0) ||
        cudaFuncGetAttributes(&hot, sssp_relax_hot))
        return -1;
    shared -= (int)hot.sharedSizeBytes + QUEUES;
    g->hot = shared < 0 ? 0 : shared < (int)SSSP_HOT / 4 ? (unsigned)shared / 16 * 64 : SSSP_HOT;
    g->processors = (unsigned)processors;
    g->blocks = (unsigned)processors * 8;
    g->resident = (unsigned)(processors * each);
    g->soon = hot.ptxVersion >= 90;
    return g->hot && cudaFuncSetAttribute(sssp_relax_hot, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)(QUEUES + g->hot / 4))
               ? -1
               : 0;
}

int cuda_open(machine *m, const char *device, char why[256])
{
    struct gpu *g = (struct gpu *)calloc(1, sizeof *g);
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    int count = 0, number = device && device[4] == ':' ? atoi(device + 5) : 0;
    char name[32];
    machine made = {NULL, "GPU", g, relax, fetch, repeat, close_gpu};
    *m = made;
    if (!g || cudaGetDeviceCount(&count) || number >= count || cudaSetDevice(number) ||
        cudaStreamCreate(&g->stream) || cudaEventCreate(&g->start) || cudaEventCreate(&g->stop) ||
        cudaMallocHost((void **)&g->state, sizeof *g->state) || measure(g, number)) {
        snprintf(why, 256, "no GPU that the CUDA runtime can use");
        return -1;
    }
    snprintf(name, sizeof name, "cuda:%d", number);
    options.device = name;
    options.stream = g->stream;
    if (cohort_context_create(&options, &g->context)) {
        snprintf(why, 256, "%.200s", cohort_message(NULL));
        return -1;
    }
    m->context = g->context;
    return 0;
}
