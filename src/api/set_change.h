/* api/set_change.h: a change of a working set that is under way: its pieces, and who lists them. */
#ifndef COHORT_API_SET_CHANGE_H
#define COHORT_API_SET_CHANGE_H

#include "api/set.h"

/* The chunks of a set, as pieces of a change. forms: of the blocks of a working set, of which bitmaps
 * have the numbers of their blocks as entries; NULL: of a collection, or a device's. */
struct set_pieces {
    struct set_piece *piece;
    uint64_t n;
    const struct set_form *forms;
};

struct changing {
    cohort_context *context;
    const char *call; /* for messages */
    cohort_set *set;
    enum set_change_kind kind;
    struct set_pieces by;
    struct set_second *second; /* of each piece, or NULL */
    struct sets_rooms rooms;
    int answers; /* a query's: what goes out need not be below the limit */
};

/* ---- set_pieces.c -------------------------------------------------------------------------------------- */

/* Room for so many pieces, all zeros, and given back by free. */
cohort_status set_pieces_room(cohort_context *, const char *call, uint64_t n, struct set_pieces *);

/* Of a set of a collection. v: its directory, for the host; own: as it lies in the context's memory. */
cohort_status set_pieces_of(cohort_context *, const char *call, const cohort_sets_view *v,
                            const cohort_sets_view *own, uint64_t number, struct set_pieces *);

/* Of a working set. Waits. */
cohort_status set_pieces_by(const cohort_set *by, const char *call, struct set_pieces *);

/* Do keys ascend? Those of a file need not that was mapped unseen. */
int set_pieces_ascend(const struct set_pieces *);

/* ---- set_change.c -------------------------------------------------------------------------------------- */

/* The change, whose pieces are listed. */
cohort_status set_change_listed(struct changing *);

/* Is the greatest member of the change below the set's limit, where it must be? COHORT_RANGE. */
cohort_status set_check_greatest(const struct changing *, co_u64 greatest);

/* The last chunk that is not beyond the limit. */
co_u64 set_last_key(const struct changing *);

/* ---- set_two.c ----------------------------------------------------------------------------------------- */

/* Where a query's operand is: a working set, or a set of a collection. */
struct set_operand {
    cohort_set *working;
    const cohort_sets *sets;
    uint64_t number;
};

/* The set becomes what comes of the two, of which it is none; op: AND, OR, ANDNOT or XOR. Both are working
 * sets, but on the host. *done: 0, blocks might lack or members be beyond the limit: nothing is done. */
cohort_status set_two(cohort_set *, const char *call, cohort_sets_op op, const struct set_operand *first,
                      const struct set_operand *second, int *done);

#endif
