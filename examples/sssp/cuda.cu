/* cuda.cu: the rounds of a search on a GPU: the kernels of relax.h on the context's stream, so that they come between the library's
 * calls without anybody waiting. */
#include <cohort.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "relax.h"

extern "C" {
#include "search.h"
}

struct gpu {
    cohort_context *context;
    cudaStream_t stream;
    struct sssp_counts *counts; /* pinned */
    unsigned blocks;
};

static int relax(void *self, const struct sssp_relax *round, uint32_t longest)
{
    struct gpu *g = (struct gpu *)self;
    unsigned long long warps = (round->n + 31) / 32, enough = (warps + SSSP_WARPS - 1) / SSSP_WARPS;
    unsigned blocks = enough < g->blocks ? (unsigned)enough : g->blocks;
    sssp_relax<<<blocks, 32 * SSSP_WARPS, 0, g->stream>>>(*round);
    if (longest > SSSP_LONG)
        sssp_relax_chunks<<<g->blocks, 32 * SSSP_WARPS, 0, g->stream>>>(*round);
    return cudaGetLastError() != cudaSuccess;
}

static int fetch(void *self, struct sssp_counts *to, const struct sssp_counts *from)
{
    struct gpu *g = (struct gpu *)self;
    if (cudaMemcpyAsync(g->counts, from, sizeof *to, cudaMemcpyDeviceToHost, g->stream) ||
        cudaStreamSynchronize(g->stream))
        return -1;
    *to = *g->counts;
    return 0;
}

static void close_gpu(void *self)
{
    struct gpu *g = (struct gpu *)self;
    if (!g)
        return;
    cohort_context_destroy(g->context);
    if (g->stream)
        cudaStreamDestroy(g->stream);
    cudaFreeHost(g->counts);
    free(g);
}

int cuda_open(machine *m, const char *device, char why[256])
{
    struct gpu *g = (struct gpu *)calloc(1, sizeof *g);
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    int count = 0, number = device && device[4] == ':' ? atoi(device + 5) : 0;
    machine made = {NULL, "GPU", g, relax, fetch, close_gpu};
    *m = made;
    if (!g || cudaGetDeviceCount(&count) || number >= count || cudaSetDevice(number) ||
        cudaStreamCreate(&g->stream) || cudaMallocHost((void **)&g->counts, sizeof *g->counts)) {
        snprintf(why, 256, "no GPU that the CUDA runtime can use");
        return -1;
    }
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", number);
    options.device = name;
    options.stream = g->stream;
    if (cohort_context_create(&g->context, &options)) {
        snprintf(why, 256, "%.200s", cohort_message(NULL));
        return -1;
    }
    m->context = g->context;
    int processors = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number);
    g->blocks = (unsigned)processors * 8;
    return 0;
}
