/* combine_plain.c: the loops of combine.c for any processor. */
#define CPU_LEVEL   0
#define CPU_COMBINE cpu_combine_plain
#include "combine_loops.h"
