/* backend/lines.h: what a backend does for maps with the layout COHORT_LAYOUT_LINES: the same as for those of
 * pages. The views in batches and sweeps are as shape/lines.h says, and a sweep goes over all homes, whatever
 * its `slots`. */
#ifndef COHORT_BACKEND_LINES_H
#define COHORT_BACKEND_LINES_H

#include "backend/map.h"
#include "shape/lines.h"

struct lines_backend {
    struct map_backend map;
};

#endif
