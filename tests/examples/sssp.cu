/* sssp.cu: the kernels of examples/sssp, for test_sssp.c: with chunks so short, and rounds so soon large,
 * that small graphs have them. */
#define SSSP_LONG       24u
#define SSSP_MANY_NODES 48u
#define SSSP_MANY_EDGES 100u
#define SSSP_PART       16u
#include "../../examples/sssp/relax.h"
