/* cpu/combine_loops.h: the loops of combine.c. Included by combine_plain.c and combine_avx2.c, which say by
 * CPU_LEVEL (0, 2) for which processors the compiler makes them, and by CPU_COMBINE what the table of them is
 * called. */
#include <string.h>

#include "combine.h"

#define CO_MAP_FILE "cpu/combine_width.h"
#include "cohort/device/map_instances.h"

#define LOOPS(width)                                           \
    {                                                          \
        co_map##width##_pot_entries, co_map##width##_pot_empty \
    }
const struct cpu_combine_loops CPU_COMBINE[6] = {[COHORT_WIDTH_32_32] = LOOPS(32_32),
                                                 [COHORT_WIDTH_64_32] = LOOPS(64_32),
                                                 [COHORT_WIDTH_64_64] = LOOPS(64_64)};
