/* fused_lookup_cpu: a lookup in a map as part of a loop of one's own, on the host's threads.
 *
 * The device header is plain C: what fused_lookup.cu does in a kernel on a GPU context's map, this program
 * does in threads of its own on a CPU context's map, with the same text (fused_lookup.h). On x86-64 maps with
 * 16-byte pairs need -mcx16 where the header is used; this one has 8-byte pairs. */
#include <cohort.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fused_lookup.h"

#define THREADS 4

static struct sales sales;

static void must(cohort_context *context, cohort_status status)
{
    if (status) {
        fprintf(stderr, "fused_lookup_cpu: %s: %s\n", cohort_status_name(status), cohort_message(context));
        exit(1);
    }
}

/* A lane: every THREADS-th row. */
static void *total(void *first)
{
    co_map_tally tally = {0, 0};
    co_u64 sum = 0;
    for (co_u64 i = *(co_u64 *)first; i < sales.n; i += THREADS)
        sum += sale(&sales, i, &tally);
    co_map_flush(&sales.unknown, &tally); /* keeps cohort_map_size right */
    co_add64(sales.turnover, sum);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    co_u64 firsts[THREADS];
    for (int k = 0; k < THREADS; k++) {
        firsts[k] = (co_u64)k;
        if (pthread_create(&threads[k], NULL, total, &firsts[k])) {
            fprintf(stderr, "fused_lookup_cpu: cannot start a thread\n");
            exit(1);
        }
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
}

static cohort_map *fixed_map(cohort_context *context)
{
    cohort_map *map = NULL;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.width = COHORT_WIDTH_32_32;
    options.capacity = PRODUCTS;
    options.fixed = 1; /* so that a view of it stays valid */
    must(context, cohort_map_create(context, &options, &map));
    return map;
}

static void fill_prices(cohort_context *context, cohort_map *prices)
{
    static uint32_t products[PRODUCTS], costs[PRODUCTS];
    uint64_t count = 0;
    for (unsigned p = 0; p < PRODUCTS; p++)
        if (has_price(p)) {
            products[count] = p;
            costs[count++] = price_of(p);
        }
    must(context, cohort_map_insert_32_32(prices, count, products, costs, NULL));
}

int main(void)
{
    static uint32_t products[SALES], quantities[SALES];
    uint64_t missing, expected = 0;
    co_u64 turnover = 0;
    co_u32 full = 0;
    for (unsigned i = 0; i < SALES; i++) {
        products[i] = product_of(i);
        quantities[i] = quantity_of(i);
        expected += has_price(product_of(i)) ? (uint64_t)price_of(product_of(i)) * quantity_of(i) : 0;
    }

    cohort_context *context = NULL;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    options.device = "cpu";
    must(NULL, cohort_context_create(&options, &context));
    cohort_map *prices = fixed_map(context), *unknown = fixed_map(context);
    fill_prices(context, prices);
    must(context, cohort_map_get_view(prices, &sales.prices));
    must(context, cohort_map_get_view(unknown, &sales.unknown));
    sales.products = products;
    sales.quantities = quantities;
    sales.n = SALES;
    sales.turnover = &turnover;
    sales.full = &full;
    run_threads();

    must(context, cohort_map_size(unknown, &missing));
    int right = turnover == expected && missing == PRODUCTS / 8 && !full;
    printf("turnover %llu, %llu products without a price: %s\n", turnover, (unsigned long long)missing,
           right ? "right" : "wrong");
    cohort_map_destroy(prices);
    cohort_map_destroy(unknown);
    cohort_context_destroy(context);
    return right ? 0 : 1;
}
