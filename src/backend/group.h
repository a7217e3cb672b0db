/* backend/group.h: what a backend does for group-by: rows folded into the states of their groups
 * (shape/group.h), and states into states. Columns and states lie in the context's memory. */
#ifndef COHORT_BACKEND_GROUP_H
#define COHORT_BACKEND_GROUP_H

#include "backend/keys.h"
#include "shape/group_value.h"

struct group_fold {
    uint32_t state;  /* enum group_state */
    int rows;        /* COUNT: null rows too; there is no column */
    int decimal;     /* WIDE and MOMENTS: the column has integers of 16 bytes, and is marked as for COUNT */
    int scale;       /* of these: digits behind the point */
    uint32_t source; /* folds of one source are of the same column, in this call and in all others */
    /* not of bytes, but for decimals; FIRST, LAST: not KEYS_FLOAT, lest bits be lost */
    struct keys_column column;
    void *states; /* groups of them */
};

/* Are they always of the same values, and kept alike? So are variances and deviations, sums and means. Two
 * columns may be the same in one call and others in the next one. */
static inline int group_folds_alike(const struct group_fold *a, const struct group_fold *b)
{
    return a->source == b->source && a->state == b->state && a->rows == b->rows;
}

#define GROUP_MOST_ALIKE 64u /* folds that a later one is compared with */

struct group_batch {
    uint64_t n, groups;
    uint64_t known; /* the states of groups from this one on are new: zero, or unset where folds set them */
    const uint32_t *ids; /* of n rows, below `groups`, or KEYS_NO_ID: the row belongs to none */
    uint32_t folds;
    const struct group_fold *fold;
};

/* States as the elements of a column; a null's are 0. Besides `width` * n bytes there is room for 8 more. */
struct group_values {
    struct group_told told;
    uint64_t n;
    const void *states;
    uint32_t width; /* of an element; 0: a bit */
    void *data;
    uint64_t *validity; /* whole words */
    co_u64 nulls;       /* found: how many */
    co_u64 overflow;    /* the first group whose sum does not fit; all ones: none */
};

struct group_backend {
    /* Folds and merges may fail, and leave states that are neither before nor behind: they are to be given
     * states that nobody has yet. */
    int may_fail;

    int sets_new; /* folds set the states of groups that are new: what is in them does not matter */

    cohort_status (*fold)(cohort_context *, const struct group_batch *);

    /* State i of `from`, as `out` has written it, goes to state ids[i] of `to`, of `groups`; KEYS_NO_ID:
     * nowhere. */
    cohort_status (*merge)(cohort_context *, uint32_t state, void *to, const void *from, const uint32_t *ids,
                           uint64_t n, uint64_t groups);

    /* n states as shape/group.h has them. */
    cohort_status (*out)(cohort_context *, uint32_t state, void *to, const void *from, uint64_t n);

    /* Whether n states that came from elsewhere may be merged. */
    cohort_status (*check)(cohort_context *, uint32_t state, const void *from, uint64_t n, int *good);

    cohort_status (*values)(cohort_context *, struct group_values *);
};

#endif
