/* fused_lookup: a lookup in a map as part of a kernel of one's own.
 *
 * The map is made and filled by the host's calls, then goes into the kernel as a view, by value
 * (cohort_map_get_view). The kernel runs on the context's stream, so it comes after the calls before it and
 * before those after it without any waiting. Built by nvcc against the installed library:
 *
 *     nvcc -O3 -arch=sm_90 fused_lookup.cu $(pkg-config --cflags --libs cohort) -o fused_lookup
 *
 * What one row does is in fused_lookup.h. */
#include <cohort.h>
#include <stdio.h>
#include <stdlib.h>

#include "fused_lookup.h"

#define THREADS 256

/* Each lane takes rows with the grid's stride, and adds up what they bring in; a warp adds to the sum
 * once. */
__global__ void total(struct sales s)
{
    co_map_tally tally = {0, 0};
    co_u64 sum = 0;
    for (co_u64 i = (co_u64)blockIdx.x * blockDim.x + threadIdx.x; i < s.n;
         i += (co_u64)gridDim.x * blockDim.x)
        sum += sale(&s, i, &tally);
    co_map_flush(&s.unknown, &tally); /* keeps cohort_map_size right */
    __syncwarp();
    sum = co_warp_sum(sum);
    if (co_lane() == 0)
        co_add64(s.turnover, sum);
}

static void must(cohort_context *context, cohort_status status)
{
    if (status) {
        fprintf(stderr, "fused_lookup: %s: %s\n", cohort_status_name(status), cohort_message(context));
        exit(1);
    }
}

static void must_cuda(cudaError_t error)
{
    if (error) {
        fprintf(stderr, "fused_lookup: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

/* A map 32/32 of fixed capacity: it never moves, so that a view of it stays valid, and no call on it
 * waits. */
static cohort_map *fixed_map(cohort_context *context, uint64_t capacity)
{
    cohort_map *map = NULL;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.width = COHORT_WIDTH_32_32;
    options.capacity = capacity;
    options.fixed = 1;
    must(context, cohort_map_create(context, &options, &map));
    return map;
}

/* The price list, from host memory. */
static void fill_prices(cohort_context *context, cohort_map *prices)
{
    uint32_t *products = (uint32_t *)malloc(PRODUCTS * sizeof *products);
    uint32_t *costs = (uint32_t *)malloc(PRODUCTS * sizeof *costs), count = 0;
    for (unsigned p = 0; p < PRODUCTS; p++)
        if (has_price(p)) {
            products[count] = p;
            costs[count++] = price_of(p);
        }
    must(context, cohort_map_insert_32_32(prices, count, products, costs, NULL));
    free(products);
    free(costs);
}

/* A column of the sales, in device memory. */
static co_u32 *column(cohort_context *context, unsigned (*entry)(unsigned))
{
    void *device;
    uint32_t *host = (uint32_t *)malloc(SALES * sizeof *host);
    for (unsigned i = 0; i < SALES; i++)
        host[i] = entry(i);
    must(context, cohort_alloc(context, SALES * sizeof *host, &device));
    must(context, cohort_copy(context, device, host, SALES * sizeof *host));
    free(host);
    return (co_u32 *)device;
}

/* Compares with a plain loop. */
static int judge(co_u64 turnover, co_u64 unknown)
{
    co_u64 expected = 0;
    for (unsigned i = 0; i < SALES; i++)
        if (has_price(product_of(i)))
            expected += (co_u64)price_of(product_of(i)) * quantity_of(i);
    printf("turnover %llu, %llu products without a price: %s\n", turnover, unknown,
           turnover == expected && unknown == PRODUCTS / 8 ? "right" : "wrong");
    return turnover == expected && unknown == PRODUCTS / 8 ? 0 : 1;
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) || !devices) {
        printf("skipped: no GPU that the CUDA runtime can use\n");
        return 77;
    }
    cudaStream_t stream;
    must_cuda(cudaStreamCreate(&stream));
    cohort_context *context = NULL;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    options.device = "cuda:0";
    options.stream = stream;
    must(NULL, cohort_context_create(&options, &context));

    cohort_map *prices = fixed_map(context, PRODUCTS), *unknown = fixed_map(context, PRODUCTS);
    fill_prices(context, prices);
    struct sales s;
    must(context, cohort_map_get_view(prices, &s.prices));
    must(context, cohort_map_get_view(unknown, &s.unknown));
    s.products = column(context, product_of);
    s.quantities = column(context, quantity_of);
    s.n = SALES;
    void *results;
    must(context, cohort_alloc(context, 16, &results));
    must(context, cohort_fill(context, results, 0, 16));
    s.turnover = (co_u64 *)results;
    s.full = (co_u32 *)results + 2;

    int blocks = 0;
    must_cuda(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0));
    total<<<blocks * 8, THREADS, 0, stream>>>(s);
    must_cuda(cudaGetLastError());

    co_u64 got[2];
    uint64_t missing = 0;
    must(context, cohort_copy(context, got, results, sizeof got)); /* waits for the stream */
    must(context, cohort_map_size(unknown, &missing));
    int status = judge(got[0], (co_u32)got[1] ? 0 : missing);

    must(context, cohort_free(context, results));
    must(context, cohort_free(context, (void *)s.products));
    must(context, cohort_free(context, (void *)s.quantities));
    cohort_map_destroy(prices);
    cohort_map_destroy(unknown);
    cohort_context_destroy(context);
    must_cuda(cudaStreamDestroy(stream));
    return status;
}
