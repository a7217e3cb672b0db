/* cpu/table.h: what the CPU's files of tables share. */
#ifndef COHORT_CPU_TABLE_H
#define COHORT_CPU_TABLE_H

#include <string.h>

#include "backend/table.h"
#include "cpu.h"

/* Up to 64 bits from bit `at` on, the first one lowest. Reads no byte but those that they are in. */
static inline uint64_t cpu_bits(const co_u8 *bits, uint64_t at, unsigned count)
{
    const co_u8 *from = bits + at / 8;
    unsigned shift = at & 7, bytes = (shift + count + 7) / 8;
    uint64_t low = 0;
    memcpy(&low, from, bytes < 8 ? bytes : 8);
    low >>= shift;
    if (bytes > 8)
        low |= (uint64_t)from[8] << (64 - shift);
    return count < 64 ? low & ((1ull << count) - 1) : low;
}

cohort_status cpu_table_gather(cohort_context *context, struct table_gather *gather, co_u32 columns);

extern const struct table_backend cpu_table_backend;

#endif
