/* cpu/sets_avx512_bw.c: the inner loops of sets with AVX-512, with no more of it than any server has that
 * has it at all. */
#include "sets_vector.h"

#if CPU_VECTORS
#    define SETS_VBMI2 0
#    include "sets_runs_512.h"
#    include "sets_vector_512.h"

const struct sets_vectors *sets_avx512_bw(void)
{
    return &vectors_512;
}
#endif
