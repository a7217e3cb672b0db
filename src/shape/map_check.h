/* shape/map_check.h: is the memory of a table from outside one that a map may have? */
#ifndef COHORT_SHAPE_MAP_CHECK_H
#define COHORT_SHAPE_MAP_CHECK_H

#include "shape/map.h"

/* Slots, as in co_map_counters; of LINES also those that are claimed. */
struct map_check {
    co_u64 taken, erased, claimed;
};

#define CO_MAP_FILE "shape/map_check_width.h"
#include "cohort/device/map_instances.h"

/* Counts the slots, from 0 on, up to the first that is none of a map's, and says which that is; the number of
 * all, side slots included, if there is none such. The view has the shape of a table, and its memory is the
 * host's. */
CO_INLINE co_u64 map_check_slots(const cohort_map_view *m, struct map_check *n)
{
    switch (m->width) {
    case 1:
        return co_map32_0_check(m, n);
    case 2:
        return co_map32_32_check(m, n);
    case 3:
        return co_map64_0_check(m, n);
    case 4:
        return co_map64_32_check(m, n);
    default:
        return co_map64_64_check(m, n);
    }
}

#endif
