/* shape/map_check_lines.h: is the memory of a table of LINES from outside one that a map may have? */
#ifndef COHORT_SHAPE_MAP_CHECK_LINES_H
#define COHORT_SHAPE_MAP_CHECK_LINES_H

#include "shape/lines.h"
#include "shape/map_check.h"

#define CO_LINES_FILE "shape/map_check_lines_width.h"
#include "cohort/device/lines_instances.h"

/* Looks at the homes, from 0 on, up to the first that is none of a map's, and says which that is; the number
 * of all if there is none such. Counts pairs and claims. The view has the shape of a table, and its memory is
 * the host's. */
CO_INLINE co_u64 lines_check_homes(const cohort_map_view *m, struct map_check *n)
{
    switch (m->width) {
    case 1:
        return co_lines32_0_check(m, n);
    case 2:
        return co_lines32_32_check(m, n);
    case 3:
        return co_lines64_0_check(m, n);
    case 4:
        return co_lines64_32_check(m, n);
    case 5:
        return co_lines64_64_check(m, n);
    default:
        return co_lines128_64_check(m, n);
    }
}

#endif
