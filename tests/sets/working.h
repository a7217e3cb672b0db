/* working.h: a working set under test beside the members that it is to have. */
#ifndef TEST_WORKING_H
#define TEST_WORKING_H

#include "sets.h"

struct working {
    struct test *t;
    cohort_set *set;
    struct plain due;
    int wide;
    uint64_t limit, blocks; /* limit 0: 2^64 */
};

extern const char *const working_ops[]; /* names, by cohort_set_op */

/* Makes an empty set; a layout of CHOSEN may become either. */
void working_open(struct test *, struct working *, int wide, cohort_set_layout layout, uint64_t limit,
                  uint64_t blocks);
/* Of any kind. Pools are small where memory is touched when it is taken. */
void working_draw(struct test *, struct working *, int wide);
void working_close(struct working *);

/* The set is what is due: members, chunks, blocks in use. */
void working_judge(struct working *, const char *what);

int working_below(const struct working *, uint64_t id); /* is it a number that the set may have? */

/* Members that the set may have; where it is small, others are brought in. */
struct plain working_draw_change(struct working *);

/* Changes the set, by members, ranges, a bitmap or another set. What is due stays as it is: that is the next
 * one. */
cohort_status working_change(struct working *, cohort_set_op, const struct plain *);
/* By members in the host's memory. Such a change waits, and makes room for nodes of the directory. */
cohort_status working_change_from_host(struct working *, cohort_set_op, const struct plain *);
void working_change_due(struct working *, cohort_set_op, const struct plain *);

/* A change by members of `chunks` chunks, some in each or all, judged; or one that is refused. */
void working_step(struct working *, cohort_set_op, uint64_t first, uint64_t chunks, int all,
                  cohort_status due);

#endif
