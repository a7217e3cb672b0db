/* sssp.cu: the kernels of examples/sssp, for test_sssp.c: with chunks so short that small graphs have them. */
#define SSSP_LONG 24u
#include "../../examples/sssp/relax.h"
