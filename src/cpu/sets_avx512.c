/* cpu/sets_avx512.c: the inner loops of sets with AVX-512, and VPOPCNTDQ and VBMI2: Ice Lake, Zen 4
 * and later. */
#include "sets_vector.h"

#if CPU_VECTORS
#    define SETS_VBMI2 1
#    include "sets_runs_512.h"
#    include "sets_vector_512.h"

const struct sets_vectors *sets_avx512(void)
{
    return &vectors_512;
}
#endif
