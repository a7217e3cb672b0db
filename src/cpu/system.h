/* system.h: what Linux tells of the machine. */
#ifndef COHORT_CPU_SYSTEM_H
#define COHORT_CPU_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* The processor's name as its maker spells it. */
void system_processor(char *name, size_t bytes);

/* Bytes of the last cache level, 0 if not known. */
uint64_t system_cache_bytes(void);

/* Bytes of memory: the machine's, or what the control groups of this process may have if that is less; and
 * what of it is free, page cache that can be dropped included. 0 if not known. */
void system_memory(uint64_t *all, uint64_t *available);

/* Cores that this process may run on, and has the time of: at least 1. */
unsigned system_cores(void);

#endif
