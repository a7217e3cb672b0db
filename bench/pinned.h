/* pinned.h: host memory of the kinds that a GPU's driver offers, for the experiment that compares them. */
#ifndef COHORT_BENCH_PINNED_H
#define COHORT_BENCH_PINNED_H

#include <stdint.h>

typedef enum memory_kind { MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_MANAGED } memory_kind;

/* NULL if there is none: the driver offers pinned and managed memory only where there is a GPU. */
void *memory_take(memory_kind kind, uint64_t bytes);
void memory_give(memory_kind kind, void *memory);

#endif
