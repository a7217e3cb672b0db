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

/* How a state is told, where it may be told in two ways. */
enum group_form {
    GROUP_AS_IT_IS,
    GROUP_AS_MEAN, /* SUM, FLOATS, EXACT; else the sum */
    GROUP_AS_ROOT, /* MOMENTS: the standard deviation; else the variance */
    GROUP_AS_ALL   /* TRUTH: were all true; else whether any was */
};

/* States as the elements of a column; a null's are 0. Besides `width` * n bytes there is room for 8 more. */
struct group_values {
    uint32_t state;
    enum group_form form;
    uint32_t kind, bytes; /* of what was folded: KEYS_UNSIGNED, SIGNED or FLOAT */
    uint64_t n;
    const void *states;
    uint32_t width; /* of an element; 0: a bit */
    void *data;
    uint64_t *validity; /* whole words */
    co_u64 nulls;       /* found: how many */
    co_u64 overflow;    /* the first group whose sum does not fit into 64 bits; all ones: none */
};

struct group_backend {
    void (*fold)(cohort_context *, const struct group_batch *);

    /* State i of `from` goes to state ids[i] of `to`; KEYS_NO_ID: nowhere. */
    void (*merge)(cohort_context *, uint32_t state, void *to, const void *from, const uint32_t *ids,
                  uint64_t n);

    void (*values)(cohort_context *, struct group_values *);
};

#endif
