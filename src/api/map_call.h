/* api/map_call.h: one call that takes a batch, under way. It goes down: map_batch.c checks and describes it,
 * map_combine.c may make one entry of those with equal keys, map_growth.c takes it apart so that each part
 * has room, map_part.c hands a part to the backend. */
#ifndef COHORT_API_MAP_CALL_H
#define COHORT_API_MAP_CALL_H

#include "api/map.h"

#define PART_ENTRIES \
    (1ull << 28) /* of a map that may grow: bounds the workspace of its bitmaps; a multiple of 32 */
#define TOLD_ENTRIES   (1ull << 24) /* where somebody is told of progress */
#define WINNER_ENTRIES (1ull << 30) /* that are ranked in one go, at most MAP_WINNER_BATCH */

struct call {
    cohort_map *map;
    const char *name;
    struct map_batch batch; /* of all entries */
    cohort_batch options;
    cohort_winner winner;
    int grows;                  /* it puts keys in, and the map may grow for them */
    int foreseen;               /* the table was made for all that the call puts in */
    int waits;                  /* also where it need not */
    int combines;               /* entries of equal keys may become one */
    int quiet;                  /* a part of another call, which tells of its progress */
    enum memory_kind memory;    /* of the arguments */
    struct batch_counts counts; /* of all parts, if the call waits */
    int bad;                    /* some op codes are none */
    int denied;                 /* there was no memory to grow */
    int reseeded;               /* a table that was half empty had no slot for a key, and got another seed; */
    int refused;                /* and then the same again */
    double rate;                /* keys put in per entry of the last part, to foresee growth */
    uint64_t last;              /* entries of the last part */
    uint64_t taken;             /* slots taken after the last part, at most */
};

/* ---- map_combine.c: an apply whose equal keys become one entry before they go to the map ---- */

/* Does that to all entries, as map_do_parts, if it pays: *done. */
cohort_status map_combine(struct call *c, int *done);

/* ---- map_growth.c ---- */

/* All parts of a call that waits. */
cohort_status map_do_parts(struct call *c);

/* ---- map_part.c ---- */

/* The next part of a batch of which `left` entries are left: at most `most` (32 or more) of them, from the
 * front or from the back, beginning at a multiple of 32. */
struct map_batch map_next_part(const struct call *c, uint64_t left, uint64_t most);

/* Does a part and waits for it: its counts, and whether an entry found no slot. */
cohort_status map_attempt(struct call *c, struct map_batch *b, struct batch_counts *got, int *full);

/* Enqueues a part. */
cohort_status map_enqueue(struct call *c, const struct map_batch *b);

int map_part_is_backward(const struct call *c); /* do parts go from the back to the front? */

#endif
