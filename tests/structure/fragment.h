/* What the pieces of C in the pages of docs/ take for granted: each is compiled as the body of a function
 * that sees these. */
#include <cohort.h>
#include <cohort/device/multimap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern cohort_context *context;
extern cohort_map *map, *other;
extern cohort_multimap *orders;
extern cohort_status status;
extern uint64_t n, *keys, *values, count;
extern uint8_t *hit;

/* docs/table.md */
extern cohort_frame *sales, *prices, *shops;

/* docs/multimap.md */
extern cohort_multimap_view view;
extern co_u64 key, sum;
extern uint64_t queries;
extern uint64_t *wanted;
extern cohort_retrieve rows;
void consume(uint64_t count, const uint64_t *queries, const void *values);
