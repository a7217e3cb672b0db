/* api/map.h: what a map is inside, shared by the files of the API that work on maps. */
#ifndef COHORT_API_MAP_H
#define COHORT_API_MAP_H

#include "backend.h"

struct cohort_map {
    cohort_context *context;
    cohort_map_options options; /* as made, with the defaults filled in */
    cohort_map_view view;
    void *table; /* what view.slots and view.counters point into */
    uint64_t table_bytes;
    int fresh;     /* nothing has been put in since the table was made or cleared */
    int viewed;    /* a kernel of the caller's may put something in at any time */
    uint64_t most; /* slots that are taken, at most, if it is not viewed */
    int all; /* a batch of which not all goes in is of no use: without memory to grow the call ends at once */
};

/* Slots that hold `pairs` pairs, one at least, at the map's greatest load; 0 if that is beyond 64 bits. */
uint64_t map_slots_for(const cohort_map *map, uint64_t pairs);

/* Slots, taken or not, that may be taken before the map must grow. */
uint64_t map_limit(const cohort_map *map);

/* Reads the counters. Waits. */
cohort_status map_counters(cohort_map *map, struct co_map_counters *counters);

/* A new table of at least `slots` slots with the pairs of the old one, which it replaces. Waits. On failure the map is as it
 * was. */
cohort_status map_rebuild(cohort_map *map, uint64_t slots, uint64_t seed);

/* INSERT, ASSIGN, or ADD to EXCHANGE of a batch, for the call `name`. Waits, whatever the map and the pointers. */
cohort_status map_put(cohort_map *map, const char *name, co_u32 op, uint64_t n, const void *keys,
                      const void *values);

/* What a call cannot do without. */
#define REQUIRE_MAP(map, call)                                            \
    do {                                                                  \
        if (!(map))                                                       \
            return context_fail(NULL, COHORT_NULL, call ": map is NULL"); \
    } while (0)

#define REQUIRE(context, pointer, call)                                               \
    do {                                                                              \
        if (!(pointer))                                                               \
            return context_fail(context, COHORT_NULL, call ": " #pointer " is NULL"); \
    } while (0)

#endif
