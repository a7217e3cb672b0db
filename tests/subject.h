/* subject.h: a map under test, next to the oracle that says what it must answer. */
#ifndef TEST_SUBJECT_H
#define TEST_SUBJECT_H

#include "oracle.h"

struct subject {
    struct test *t;
    cohort_map *map;
    struct oracle *oracle;
    cohort_width width;
    int fixed;
    int scarce;  /* memory may run out: entries may fail though the map grows */
    int refuses; /* keys have one home, whatever the seed: a growing map of LINES answers COHORT_FULL */
    int blind;   /* the map's pairs are not compared after each batch, but by subject_observe */
    uint64_t batches;
};

/* A growing map of capacity 1 and the test's width and layout. */
cohort_map_options subject_options(const struct test *);

/* The probe where the layout has some, else the only one. */
cohort_probe subject_probe(const struct test *, cohort_probe);

struct subject subject_new(struct test *, const cohort_map_options *);
void subject_free(struct subject *);

/* Takes a map that the case has made itself, with what it must hold. */
struct subject subject_of(struct test *, cohort_map *, struct oracle *);

/* A trial of n entries with all outputs asked for, results and bitmaps full of what must be overwritten, keys
 * and values left to the case. Its columns live until column_drop. */
struct trial subject_trial(struct subject *, enum trial_kind, uint64_t n);

/* Is cohort_map_run offered with the test's width and layout? Where it is not, subject_do sees to it that it
 * is refused. */
int subject_runs(struct test *);

/* The kind, or ASSIGN for RUN where that is not offered. */
enum trial_kind subject_kind(struct test *, enum trial_kind);

/* Does the batch and has it judged: statuses, answers, the inputs untouched, and then all pairs of the
 * map. */
void subject_do(struct subject *, struct trial *);

/* Compares size and pairs with the oracle's. */
void subject_observe(struct subject *);

/* Looks into the table itself: every pair in a slot that a search for it ends at, counters as the slots say,
 * and the statistics as a walk to each pair gives them. */
void subject_check_table(struct subject *);

/* Tries each entry that the trial says failed once more, on a copy of the table: there must be no slot within
 * its reach. */
void subject_check_failed(struct subject *, const struct trial *);

enum pattern { SEQUENTIAL, RANDOM, EQUAL_KEYS, FEW, SKEWED, EDGES, PATTERNS };

/* Keys of a pattern, drawn from `range` different ones where it is not EDGES. */
void fill_keys(struct test *, struct column *keys, enum pattern, uint64_t range);
void fill_values(struct test *, struct column *values);
void fill_bits(struct test *, struct column *bitmap, uint64_t n); /* of one in two, of few, of nearly all */

/* A trial with keys and values filled in, sometimes with `where`, done, and dropped. */
void subject_step(struct subject *, enum trial_kind, cohort_op, cohort_winner, uint64_t n, enum pattern,
                  uint64_t range);

/* Puts keys[0 .. n) in, one by one different, as `fill_keys` SEQUENTIAL would: key i is `first` + i, value i
 * mixed. */
void subject_fill(struct subject *, uint64_t first, uint64_t n);

#endif
