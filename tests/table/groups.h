/* groups.h: groups to test group-by with: tables and aggregates at random, and a walk over all rows that
 * tells what is due. */
#ifndef TEST_TABLE_GROUPS_H
#define TEST_TABLE_GROUPS_H

#include "model.h"

#define FRAMES 4
#define KEYS   60 /* at most */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_bits;

struct plan {
    uint32_t keys, values, aggregates;
    int reproducible, skips;
    const char *key[KEYS];
    uint8_t nulls_equal[KEYS];
    cohort_aggregate aggregate[64];
    uint32_t column[64]; /* of the model; ROWS: 0 */
    char name[KEYS + 8][16];
    const char *format[KEYS + 8];
    uint32_t frames;
    struct model model[FRAMES];
    cohort_frame *frame[FRAMES];
};

struct row {
    const struct model *model;
    uint64_t row;
};

struct due {
    uint64_t groups, rows;
    struct row *first; /* of each group */
    struct row *row;   /* all that belong to some */
    uint64_t *group;   /* theirs */
};

int is_float(const char *f);
void add_aggregates(struct test *t, struct plan *p);
/* keys 0: one to three; 60: of rows that often have the keys of another one. */
void plan_open(struct test *t, struct plan *p, uint32_t keys, uint64_t rows, uint64_t distinct);
void plan_close(struct plan *p);
cohort_group *group_of(struct test *t, cohort_context *context, const struct plan *p);
void walk(const struct plan *p, struct due *d);
void due_close(struct due *d);
int overflows(const struct plan *p, const struct due *d);
void check_result(struct test *t, const struct plan *p, const struct due *d, const struct model *m);
/* The group's frame; NULL if there is an overflow, for which the call must be refused. */
cohort_frame *group_result(struct test *t, const struct plan *p, cohort_group *g, uint32_t flags,
                           int overflow);
/* The group's frame against what is due, unless it is refused for an overflow. */
void check_finish(struct test *t, const struct plan *p, const struct due *d, cohort_group *g, int overflow);
int same_keys(const struct plan *p, struct row a, struct row b);

/* Groups by one column `key`, of a frame that has `v` beside it; and a column of a frame, as it lies
 * there. */
cohort_group *simple(struct test *t, cohort_context *context, uint32_t aggregates, const cohort_aggregate *a,
                     uint32_t reproducible);
cohort_frame *two_columns(struct test *t, cohort_context *context, uint64_t n, const uint32_t *key,
                          cohort_type type, const void *value);
/* A decimal of up to 38 digits, often the greatest one or half of it. */
wide decimal_value(struct test *, int positive);

const void *column_at(struct test *t, cohort_frame *frame, uint32_t column, uint64_t bytes, void *to);

#endif
