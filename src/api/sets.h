/* api/sets.h: what a collection of sets is inside, and how one is put together; shared by the files of the
 * API that work on sets. */
#ifndef COHORT_API_SETS_H
#define COHORT_API_SETS_H

#include "api/batch.h"
#include "backend/sets.h"
#include "backend/sort.h"
#include "cohort/set.h"

struct cohort_sets {
    cohort_context *context;
    cohort_sets_view view;
    struct sets_counts counts;
    void *memory;   /* of the context's pool: the directory, the lists, */
    void *pool;     /* and the members, in the same piece, but not always right behind them */
    uint64_t taken; /* bytes of it */
    void *mapped;   /* or a file's */
    uint64_t mapped_bytes;
    struct sets_index index; /* sets_containing.c: made when it is first needed, */
    void *index_memory;      /* in memory of the context's pool; NULL: it is not there yet */
    uint64_t index_bytes;
};

/* Workspace from the pool, all of which goes back at once. */
#define SETS_ROOMS 40
struct sets_rooms {
    cohort_context *context;
    int count;
    void *taken[SETS_ROOMS];
    char *shared; /* what is left of a room that small ones share */
    uint64_t left;
};

struct sets_rooms sets_rooms_begin(cohort_context *context);
void sets_rooms_end(struct sets_rooms *);

/* *out = room for so many entries, one at least. COHORT_NO_MEMORY if the bytes do not fit in 64 bits. */
cohort_status sets_room(struct sets_rooms *, uint64_t entries, uint64_t unit, void *out);

/* Gives one back before its time. */
void sets_room_back(struct sets_rooms *, void *room);

/* Ascending by the bits of keys of 4 or 8 bytes below `bits`; columns are still to be told. */
struct sort sets_sort_of(uint64_t n, int wide, unsigned bits, const void *keys, void *keys_out);

/* A sort, with its workspace for as long as it goes on. */
cohort_status sets_sort(struct sets_rooms *, const struct sort *);

/* Words of flags of so many items, and the step's rooms for the flags and what they come to. */
static inline uint64_t sets_flag_words(uint64_t items)
{
    return items / 32 + (items % 32 != 0);
}
cohort_status sets_flag_rooms(struct sets_rooms *, struct sets_step *, uint64_t items);

static inline unsigned sets_member_bytes(cohort_type type)
{
    return type == COHORT_U64 ? 8 : 4;
}

/* Fails with "CALL: NAME is VALUE; it must be ..." unless the type is COHORT_U32 or COHORT_U64. */
cohort_status sets_check_type(cohort_context *context, const char *call, const char *name, cohort_type type);

/* From found chunks (shape/sets.h) to a collection whose lists and pool are still to be written: CHOOSE to
 * INDEX. The step has sets, found, sums, keys, found_places, found_digests, set_first. room: a collection as
 * large as this one can be, in whose pool the members lie already; its memory becomes the new one's, or the
 * pool is copied where little of it is used. NULL: memory is taken. Waits. */
cohort_status sets_assemble(struct sets_rooms *rooms, struct sets_step *step, cohort_sets *room,
                            cohort_sets **out);

/* The same of a collection whose parts somebody else writes: its memory is taken, and its view made. */
cohort_status sets_new(cohort_context *context, const struct sets_counts *counts, cohort_sets **out);

/* Chunks found by a query or in working sets (struct sets_found), as a collection. First, when it is told
 * what room there must be: the arrays, and a collection whose pool the members go into. */
cohort_status sets_found_rooms(struct sets_rooms *rooms, struct sets_found *f, uint64_t rows, uint32_t wide,
                               cohort_sets **room);

/* Then, when all is found, or something has failed: the collection; and `room` is given back. */
cohort_status sets_found_end(struct sets_rooms *rooms, cohort_status status, struct sets_found *f,
                             uint64_t rows, uint32_t wide, cohort_sets *room, cohort_sets **out);

/* One step, for so many items. */
cohort_status sets_do(cohort_context *context, struct sets_step *step, enum sets_step_kind kind,
                      uint64_t items);

/* Sums an array of n words up in place, n + 1 with their total at the end, which is read too. Waits if
 * `total` is not NULL. */
cohort_status sets_sum(cohort_context *context, co_u64 *a, uint64_t n, uint64_t *total);

cohort_status sets_read(cohort_context *context, uint64_t *to, const co_u64 *from); /* one word. Waits */

/* The host's copy of a collection, to read: of a context whose memory is the host's the collection itself. */
cohort_status sets_host_view(const cohort_sets *sets, cohort_sets_view *view, void **copy); /* free(*copy) */

/* The same without the pool. */
cohort_status sets_host_directory(const cohort_sets *sets, cohort_sets_view *view, void **copy);

/* sets_build.c: of a source whose numbers are checked, as is the next. */
cohort_status sets_build_arrays(cohort_context *context, const cohort_sets_source *source, cohort_sets **out);

/* sets_build_roaring.c */
cohort_status sets_build_roaring(cohort_context *context, const cohort_sets_source *source,
                                 cohort_sets **out);

/* sets_export_roaring.c */
cohort_status sets_export_roaring(const cohort_sets *sets, cohort_sets_target *target);

#endif
