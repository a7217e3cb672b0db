/* rivals.cu: the tables that the bench measures beside maps, for the simulated GPU. */
#include "../../bench/peers/rivals_kernels.h"
