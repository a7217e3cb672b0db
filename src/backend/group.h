/* backend/group.h: what a backend does for group-by: rows folded into the states of their groups
 * (shape/group.h), and states into states. Columns and states lie in the host's memory. */
#ifndef COHORT_BACKEND_GROUP_H
#define COHORT_BACKEND_GROUP_H

#include "backend/keys.h"
#include "shape/group.h"

struct group_fold {
    uint32_t state;            /* enum group_state */
    int rows;                  /* COUNT: null rows too; there is no column */
    struct keys_column column; /* not of bytes; FIRST, LAST: not KEYS_FLOAT, lest bits be lost */
    void *states;              /* groups of them */
};

struct group_batch {
    uint64_t n, groups;
    const uint32_t *ids; /* of n rows, below `groups`, or KEYS_NO_ID: the row belongs to none */
    uint32_t folds;
    const struct group_fold *fold;
};

struct group_backend {
    void (*fold)(cohort_context *, const struct group_batch *);

    /* State i of `from` goes to state ids[i] of `to`; KEYS_NO_ID: nowhere. */
    void (*merge)(cohort_context *, uint32_t state, void *to, const void *from, const uint32_t *ids,
                  uint64_t n);
};

#endif
