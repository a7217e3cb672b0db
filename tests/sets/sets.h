/* sets.h: sets as plain sorted arrays, the oracle of the tests of sets; and collections made from them. */
#ifndef TEST_SETS_H
#define TEST_SETS_H

#include "test.h"

/* A set: ascending, no member twice. */
struct plain {
    uint64_t *at;
    uint64_t n;
};

/* Shapes that sets are drawn in. */
enum shape {
    SHAPE_EMPTY,
    SHAPE_ONE,      /* one member, at an edge as a rule */
    SHAPE_FEW,      /* members anywhere */
    SHAPE_SPARSE,   /* some in each of many chunks */
    SHAPE_CLUSTERS, /* many close together */
    SHAPE_RUNS,     /* long runs, also over borders of chunks */
    SHAPE_DENSE,    /* half of a few chunks */
    SHAPE_FULL,     /* whole chunks, and what is around them */
    SHAPE_EDGES,    /* 0, the greatest, borders of chunks, */
    SHAPE_CHUNKS,   /* one member in each of 63, 64 or 65 chunks */
    SHAPES
};

/* Members below 2^32, or of 64 bits. They lie in chunks that the sets of a collection share, as a rule. */
struct plain plain_draw(struct test *, enum shape, int wide);
struct plain plain_of(const uint64_t *members, uint64_t n); /* in any order */
struct plain plain_copy(const struct plain *);
void plain_free(struct plain *);
int plain_has(const struct plain *, uint64_t id);
uint64_t plain_rank(const struct plain *, uint64_t id); /* members below */
int plain_same(const struct plain *, const struct plain *);

/* Many of them. */
struct plains {
    struct plain *at;
    uint64_t n;
    int wide;
};

struct plains plains_draw(struct test *, uint64_t n, int wide);
struct plains plains_new(uint64_t n, int wide);
void plains_free(struct plains *);
uint64_t plains_members(const struct plains *);

/* The answer of a row, by looking every member up in every set. */
struct plain plain_row(cohort_sets_op op, uint64_t least, const struct plain **operands, uint64_t n);

/* Builds a collection of them from members by rows, in the memory under test; shuffled: and in no order, with
 * duplicates. */
cohort_sets *sets_of(struct test *, const struct plains *, int shuffled);

/* The collection's sets are these: by its sizes, its members, and its own account of itself. */
void sets_judge(struct test *, const cohort_sets *, const struct plains *, const char *what);

static inline cohort_type plains_type(const struct plains *p)
{
    return p->wide ? COHORT_U64 : COHORT_U32;
}

/* An array in the memory under test, of members or numbers. */
struct column *members_column(struct test *, const struct plains *, uint64_t extra);

#endif
