/* api/map_table.h: what map.c asks of tables, beside what api/map.h offers to all. */
#ifndef COHORT_API_MAP_TABLE_H
#define COHORT_API_MAP_TABLE_H

#include "api/map.h"
#include "io/memory_file.h"

#define MAP_DEFAULT_SEED 0x9e3779b97f4a7c15ull

int map_has_lines(const cohort_map *map);

/* The slots of the largest table. */
uint64_t map_table_most(const cohort_map *map);

/* Slots that hold `pairs` pairs, one at least, at such a load; 0 if that is beyond 64 bits. */
uint64_t map_table_slots_at(double load, uint64_t pairs);

/* The slots of a table for so many pairs, for a call (NULL: the one that makes the map) that was given them
 * as `capacity`. */
cohort_status map_table_capacity(const cohort_map *map, const char *call, uint64_t pairs, uint64_t *slots);

/* Gives the view the sizes of a table of at least so many slots; 0: there is none. */
int map_table_shape(cohort_map *map, uint64_t slots);

/* Bytes of the table in the view before its counters, and all of them. */
uint64_t map_table_counters_offset(const cohort_map *map);
uint64_t map_table_all_bytes(const cohort_map *map);

/* How many structs of counters it has. */
co_u32 map_table_spread(const cohort_map *map);

/* Lets the view point into the map's table, whose shape it has. */
void map_table_place(cohort_map *map);

/* Gives the map an empty table of the shape in its view. */
cohort_status map_table_make(cohort_map *map);
cohort_status map_table_clear(cohort_map *map);

/* ---- map_mapped.c: tables in files, of maps and of what has a map in it -------------------------------- */

#define MAP_TABLE_NUMBERS 10u /* of a file's are the table's; what follows is the structure's own */

/* Memory of the context where files take it from: itself, or a copy, which the caller frees (NULL: none). The
 * call is told if there is no memory. */
cohort_status map_on_host(cohort_context *context, const char *call, const void *memory, uint64_t bytes,
                          const void **host, void **copy);

/* The first numbers and the first two parts of a file, by map_on_host. */
cohort_status map_table_to_file(const cohort_map *map, const char *call, struct memory_file *file,
                                void **copy);

/* A map to be read alone whose table is in these numbers and parts of a mapped file, judged whole; of the
 * numbers the first `used` have a meaning. On a CPU the mapping is the map's from now on. */
cohort_status map_table_from_file(cohort_context *context, const struct file_stream *from,
                                  struct memory_file *file, unsigned used, cohort_map **out);

/* ---- map_file.c, map_check.c: files -------------------------------------------------------------------- */

/* A map of the pairs of a file. */
cohort_status map_load(cohort_context *context, const struct file_stream *from, cohort_map **out);

/* The map's table, which lies in the host's memory, is one that a map may have. COHORT_CORRUPT, with the
 * path. O(slots). */
cohort_status map_check_table(const cohort_map *map, const struct file_stream *from);

#endif
