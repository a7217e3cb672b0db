/* map_reader.c: maps that are looked up by way of a context other than their own; multimaps so are in
 * multimap_reader.c.
 *
 * A reader is a map whose table is another's: the same view on another context of the same device. Lookups
 * never write to a table, so readers and the map itself may look up at once, each context in a thread of its
 * own, while nobody changes the map. */
#include "api/map.h"
#include "api/reader.h"

#include <stdlib.h>

cohort_status map_is_reader(const cohort_map *map, const char *call)
{
    return context_fail(map->context, COHORT_UNSUPPORTED,
                        map->reader == MAP_READS_FILE
                            ? "%s: map was opened by cohort_map_map, to be read alone; a copy can be changed"
                            : "%s: map is a reader of another map, which cannot be changed by it",
                        call);
}

cohort_status map_reader(cohort_map *map, cohort_context *context, cohort_map **out)
{
    cohort_map *made = malloc(sizeof *made);
    if (!made)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a reader's description");
    *made = *map;
    made->context = context;
    made->reader = MAP_READS_OTHER;
    made->mapped = NULL;
    *out = made;
    return COHORT_OK;
}

cohort_status cohort_map_reader(cohort_map *map, cohort_context *context, cohort_map **out)
{
    static const char call[] = "cohort_map_reader";
    if (out)
        *out = NULL;
    CALL(context);
    cohort_status s = reader_need(call, "map", map, context, out);
    if (!s)
        s = reader_check(context, map->context, map->table, call);
    return s ? s : map_reader(map, context, out);
}
