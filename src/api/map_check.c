/* map_check.c: tables of maps from outside. After this check no call on such a map reads or writes outside of
 * what it should: lookups end by themselves in any table, but an export writes as many pairs as the counters
 * say, statistics expect a key on its own walk, and changes to a copy expect empty slots to be all ones. */
#include "api/map_table.h"
#include "shape/map_check.h"

cohort_status map_check_table(const cohort_map *map, const struct file_stream *from)
{
    struct map_check seen = {0, 0}, told = {0, 0};
    const cohort_map_view *m = &map->view;
    const co_u64 slot = map_check_slots(m, &seen);
    if (slot < map_all_slots(map))
        return file_fail(map->context, COHORT_CORRUPT, from, "slot %llu of the table is none of a map's",
                         (unsigned long long)slot);
    for (co_u32 i = 0; i < co_map_spread(m); i++) {
        told.taken += m->counters[i].taken;
        told.erased += m->counters[i].erased;
    }
    if (told.taken == seen.taken && told.erased == seen.erased)
        return COHORT_OK;
    return file_fail(map->context, COHORT_CORRUPT, from,
                     "%llu slots are taken and %llu erased, not %llu and %llu",
                     (unsigned long long)seen.taken, (unsigned long long)seen.erased,
                     (unsigned long long)told.taken, (unsigned long long)told.erased);
}
