/* api/map.h: what a map is inside, shared by the files of the API that work on maps. */
#ifndef COHORT_API_MAP_H
#define COHORT_API_MAP_H

#include "backend/lines.h"

/* Who may change a map: whoever has it; nobody by way of it, since its table is another map's; nobody, since
 * it is a file's; nobody, since the table was another's, and one of its own was made for a call. */
enum map_reader_kind { MAP_CHANGES = 0, MAP_READS_OTHER, MAP_READS_FILE, MAP_READS_OWN };

struct cohort_map {
    cohort_context *context;
    cohort_map_options options; /* as made, with the defaults filled in */
    cohort_map_view view;
    void *table; /* what view.slots and view.counters point into */
    uint64_t table_bytes;
    int fresh;     /* nothing has been put in since the table was made or cleared */
    int viewed;    /* a kernel of the caller's may put something in at any time */
    uint64_t most; /* slots that are taken, at most, if it is not viewed */
    enum map_reader_kind reader;
    void *mapped; /* the file that the table lies in; NULL: none */
    uint64_t mapped_bytes;
    int all; /* a batch of which not all goes in is of no use: without memory to grow the call ends at once */
};

/* ---- map_table.c --------------------------------------------------------------------------------------- */

/* What the backend does for maps of this layout. */
const struct map_backend *map_backend_of(const cohort_map *map);

/* Slots of the table; without side slots, which only a table of pages has, and with them. */
uint64_t map_table_slots(const cohort_map *map);
uint64_t map_all_slots(const cohort_map *map);

/* Slots that hold `pairs` pairs, one at least, at the map's greatest load; 0 if that is beyond 64 bits. */
uint64_t map_slots_for(const cohort_map *map, uint64_t pairs);

/* Slots, taken or not, that may be taken before the map must grow. */
uint64_t map_limit(const cohort_map *map);

/* The slots of the table to try next, where not all pairs found a slot in one of `slots`: a sixteenth more,
 * which is enough for keys that fall together by chance. Against keys that do so by design the next table
 * gets another seed, too. 0: beyond 64 bits. */
uint64_t map_more_slots(uint64_t slots);

/* Reads the counters. Waits. */
cohort_status map_counters(cohort_map *map, struct co_map_counters *counters);

/* A new table of at least `slots` slots with the pairs of the old one, which it replaces. Waits. On failure
 * the map is as it was. */
cohort_status map_rebuild(cohort_map *map, uint64_t slots, uint64_t seed);

/* ---- map_batch.c --------------------------------------------------------------------------------------- */

struct batch;
struct batch_array;

/* The array `keys` of a call, of the map's width. */
struct batch_array *map_batch_keys(struct batch *, const cohort_map *, unsigned flags, const void *keys,
                                   uint64_t n, void *own);

/* ---- map.c --------------------------------------------------------------------------------------------- */

/* The counters as a number of pairs: what is live. Waits. */
cohort_status map_size(cohort_map *map, uint64_t *pairs);

/* ---- what other structures are made of: what lies under the public functions, for arguments that have been
 * checked. An error speaks in the name of the call. ---- */

cohort_status map_make(cohort_context *context, const cohort_map_options *options, cohort_map **out);

/* A map without a table: what is known of it by its options. The caller gives it one, or frees it. NULL, with
 * the message: COHORT_NO_MEMORY. */
cohort_map *map_describe(cohort_context *context, const cohort_map_options *options);

/* Are there maps with such options on this device? */
cohort_status map_check_options(cohort_context *context, const cohort_map_options *options);
void map_end(cohort_map *map); /* waits; NULL is allowed */

/* INSERT, ASSIGN, or ADD to EXCHANGE of a batch in the context's memory, for the call `name`. Waits. where
 * and counts may be NULL. */
cohort_status map_put(cohort_map *map, const char *name, co_u32 op, uint64_t n, const void *keys,
                      const void *values, const uint32_t *where, struct batch_counts *counts);

/* INSERT of keys alone into a table that was made for them, so that about as many are new as it has room for.
 * In one pass where that is so; else the map grows. Waits. where may be NULL. */
cohort_status map_fill(cohort_map *map, const char *name, uint64_t n, const void *keys,
                       const uint32_t *where);

/* FIND of a batch in memory of one kind, for the call `name`. Waits. `fallback`, NULL for none, points to one
 * value; `counts` is the host's. values, where, hit and counts may be NULL. */
cohort_status map_get(cohort_map *map, const char *name, uint64_t n, const void *keys, void *values,
                      const void *fallback, const uint32_t *where, uint32_t *hit, enum memory_kind memory,
                      struct batch_counts *counts);

/* A new table for the larger of `capacity` and the pairs in the map, for the call `name`. Waits. */
cohort_status map_rehash(cohort_map *map, const char *name, uint64_t capacity);

/* ---- map_reader.c -------------------------------------------------------------------------------------- */

/* Fails: what is asked for would change a map that is to be read alone. */
cohort_status map_is_reader(const cohort_map *map, const char *call);

/* The map's table read by way of another context, which has been checked. */
cohort_status map_reader(cohort_map *map, cohort_context *context, cohort_map **out);

/* What a call cannot do without. */
#define REQUIRE_MAP(map, call)                                            \
    do {                                                                  \
        if (!(map))                                                       \
            return context_fail(NULL, COHORT_NULL, call ": map is NULL"); \
    } while (0)

/* The same of a call that changes the map. */
#define REQUIRE_CHANGES(map, call)           \
    do {                                     \
        REQUIRE_MAP(map, call);              \
        if ((map)->reader)                   \
            return map_is_reader(map, call); \
    } while (0)

#define REQUIRE(context, pointer, call)                                               \
    do {                                                                              \
        if (!(pointer))                                                               \
            return context_fail(context, COHORT_NULL, call ": " #pointer " is NULL"); \
    } while (0)

#endif
