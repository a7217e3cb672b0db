/* map_check.c: tables of maps from outside. After this check no call on such a map reads or writes outside of
 * what it should: lookups end by themselves in any table of pages, but an export writes as many pairs as the
 * counters say, statistics expect a key on its own walk, and changes to a copy expect empty slots to be all
 * ones. In one of LINES lookups go where names lead, and changes to a copy wait for whoever has a lock. */
#include "api/map_table.h"
#include "shape/map_check_lines.h"

/* Every place of the table, a slot or a home of LINES, is what it may be. */
static cohort_status check_places(const cohort_map *map, const struct file_stream *from,
                                  struct map_check *seen)
{
    const cohort_map_view *m = &map->view;
    const int lines = map_has_lines(map);
    const co_u64 place = lines ? lines_check_homes(m, seen) : map_check_slots(m, seen);
    if (place < (lines ? m->pages : map_all_slots(map)))
        return file_fail(map->context, COHORT_CORRUPT, from, "%s %llu of the table is none of a map's",
                         lines ? "home" : "slot", (unsigned long long)place);
    if (!lines || seen->claimed == seen->taken)
        return COHORT_OK;
    return file_fail(map->context, COHORT_CORRUPT, from, "%llu slots are claimed, and %llu have a pair",
                     (unsigned long long)seen->claimed, (unsigned long long)seen->taken);
}

cohort_status map_check_table(const cohort_map *map, const struct file_stream *from)
{
    struct map_check seen = {0, 0, 0}, told = {0, 0, 0};
    const cohort_map_view *m = &map->view;
    cohort_status s = check_places(map, from, &seen);
    if (s)
        return s;
    for (co_u32 i = 0; i < map_table_spread(map); i++) {
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
