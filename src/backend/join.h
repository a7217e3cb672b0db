/* backend/join.h: what a backend does for joins. All arrays lie in the context's memory.
 *
 * The right side is an index: each distinct key has a number, its group, and the rows of a group stand one
 * after the other. A left row is looked up once; what is put down for it is its group, or, where no key
 * has two rows, the right row itself. Pairs are counted by blocks of left rows, so that a page finds its
 * first pair by a search. */
#ifndef COHORT_BACKEND_JOIN_H
#define COHORT_BACKEND_JOIN_H

#include "backend/keys.h"
#include "shape/join_step.h"

struct join_index {
    uint64_t rows; /* of the right side */
    uint64_t groups;
    int unique;      /* no group has two rows */
    uint32_t *start; /* groups + 1: the rows of group g are row[start[g] .. start[g + 1]); NULL if unique */
    uint32_t *row;   /* if unique: of group g, or NONE; NULL: group g is row g */
    uint64_t repeated
        /* two rows of a group, if some has two: the first row that came again, and the first of its group */
        [2];
    uint32_t *met; /* a bitmap of groups (if unique: of rows), which probes set atomically */
};

struct join_probe {
    const struct join_index *index;
    enum join_rule rule;
    int marks; /* groups that are met are marked */
    uint64_t n;
    uint32_t *at;     /* by left row: in: its group or NONE; out: what matches keep */
    uint64_t *before; /* pairs before each block of left rows, and in all: blocks + 1 entries */
    uint64_t total;   /* out: pairs */
};

struct join_page {
    const struct join_probe *probe;
    uint64_t first, count; /* pairs, all of which exist */
    uint32_t bytes;
    void *left, *right; /* or NULL */
};

/* Right rows that were not met. */
struct join_rest {
    const struct join_index *index;
    uint64_t *met;    /* a bitmap of rows, of whole spans */
    uint64_t *before; /* rows not met before each span of rows, and in all: spans + 1 entries */
    uint64_t total;   /* out: rows not met */
};

/* Keys of one column of integers that lie close together: group = value - low, and one more for null. */
struct join_range {
    uint64_t low, span;
    uint32_t null; /* its group, or NONE */
};

struct join_backend {
    /* groups[i] = the group of row i, NONE where the value is outside the range. */
    cohort_status (*dense)(cohort_context *, const struct keys_column *, uint64_t n,
                           const struct join_range *, uint32_t *groups);

    /* Makes index->row of index->rows groups, by group, unless a group comes twice: index->unique tells. */
    cohort_status (*single)(cohort_context *, const uint32_t *groups, struct join_index *);

    /* The same where groups come twice: start, and row by start. */
    cohort_status (*group)(cohort_context *, const uint32_t *groups, struct join_index *);

    /* The first of n rows that is not the first of its group, which is given by group; and that one. Both
     * ~0: there is none. */
    cohort_status (*repeated)(cohort_context *, const uint32_t *groups, uint64_t n, const uint64_t *first,
                              uint64_t out[2]);
    cohort_status (*count)(cohort_context *, struct join_probe *);
    cohort_status (*pairs)(cohort_context *, const struct join_page *);
    cohort_status (*rest)(cohort_context *, struct join_rest *);
    cohort_status (*rest_rows)(cohort_context *, const struct join_rest *, uint64_t first, uint64_t count,
                               uint32_t bytes, void *rows);
};

static inline uint64_t join_blocks(uint64_t n)
{
    return n / JOIN_BLOCK + (n % JOIN_BLOCK != 0);
}

static inline uint64_t join_spans(uint64_t rows)
{
    return rows / JOIN_SPAN + (rows % JOIN_SPAN != 0);
}

#endif
