/* map_plain.c: the map's loops for any processor; on x86-64 each has SSE2. */
#include "map.h"

#if CPU_VECTORS
#    include <emmintrin.h>
#endif
#define CPU_LEVEL 0
#define CPU_LOOPS cpu_map_plain
#include "cpu/map_loops.h"
