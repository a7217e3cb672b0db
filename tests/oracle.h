/* oracle.h: what a map must answer, by the plainest means.
 *
 * The oracle is a table from key to value. It is told of each batch with all that the map under test answered
 * (a trial), says whether some order of the batch's entries explains those answers, and takes on the state
 * that they lead to. Where several states are legal (several entries with one key and COHORT_WINNER_ANY) it
 * keeps them all, until it is shown what the map holds. */
#ifndef TEST_ORACLE_H
#define TEST_ORACLE_H

#include "test.h"

struct oracle;

struct oracle *oracle_new(cohort_width);
struct oracle *oracle_copy(const struct oracle *);
void oracle_free(struct oracle *);
void oracle_clear(struct oracle *);
uint64_t oracle_size(const struct oracle *);
int oracle_get(const struct oracle *, uint64_t key, uint64_t *value); /* 1: it is in; value may be NULL */
void oracle_put(struct oracle *, uint64_t key, uint64_t value);       /* replaces */

/* Room for so many keys: before many are put in order of their ranks, which would crowd the beginning of a
 * small table. */
void oracle_reserve(struct oracle *, uint64_t size);

int oracle_remove(struct oracle *, uint64_t key); /* 1: it was in */
uint64_t oracle_rank(uint64_t key);               /* a bijection: in its order keys lie in memory */
cohort_width oracle_width(const struct oracle *);

/* The key has one of these values (count > 0), or may be absent: which is not known. */
void oracle_choices(struct oracle *, uint64_t key, uint64_t count, const uint64_t *values, int maybe_absent);
int oracle_allows(const struct oracle *, uint64_t key, uint64_t value);

/* The next pair from *cursor (0 at first) on: 0 if there is none. */
int oracle_next(const struct oracle *, uint64_t *cursor, uint64_t *key, uint64_t *value);

/* op(old, operand) for ADD to COUNT, INSERT and ASSIGN, on values of the width. */
uint64_t oracle_combine(cohort_width, cohort_op op, uint64_t old, uint64_t operand);

/* The value that `op` gives an absent key. */
uint64_t oracle_first(cohort_width, cohort_op op, uint64_t operand);

/* Shows it all pairs of the map under test. 0 with a message if it cannot be that; else those are the
 * state. */
int oracle_observe(struct oracle *, uint64_t n, const struct column *keys, const struct column *values,
                   char message[300]);

enum trial_kind {
    TRIAL_INSERT,
    TRIAL_ASSIGN,
    TRIAL_APPLY,
    TRIAL_FIND,
    TRIAL_CONTAINS,
    TRIAL_INSERT_AND_FIND,
    TRIAL_ERASE,
    TRIAL_RUN
};

/* One batch with its answers. Columns that were not given or not asked for are NULL. */
struct trial {
    enum trial_kind kind;
    cohort_op op; /* of APPLY */
    cohort_winner winner;
    uint64_t n;
    struct column *keys, *values, *ops, *where;
    int has_fallback;
    uint64_t fallback;
    struct column *before;  /* what `results` held before the call */
    struct column *results; /* of FIND, INSERT_AND_FIND, RUN */
    struct column *hit, *failed;
    struct column *counts; /* five words, as cohort_counts */
    int may_fail;          /* entries may find no slot */

    /* set by oracle_judge */
    uint64_t full, bad; /* entries that found no slot; that had an op code that is none */
};

/* 0 with a message if no order of the entries explains the answers. */
int oracle_judge(struct oracle *, struct trial *, char message[300]);

#endif
