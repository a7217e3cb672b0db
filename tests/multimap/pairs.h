/* pairs.h: the oracle of multimaps: their pairs, sorted. */
#ifndef TEST_MULTIMAP_PAIRS_H
#define TEST_MULTIMAP_PAIRS_H

#include "subject.h"

struct pair {
    uint64_t key, value;
};

struct data {
    cohort_width width;
    uint64_t n;
    struct column *keys, *values, *where; /* where: NULL for all */
    struct pair *pairs;                   /* those that take part, sorted */
    uint64_t count, distinct;
};

/* n pairs at random, some of which a selection may leave out. `pairs` is to be freed. */
struct data data_new(struct test *t, cohort_width width, uint64_t n, enum pattern pattern, uint64_t range);
void data_index(struct test *t, struct data *d); /* makes `pairs` of the columns */
struct data joined(struct test *t, const struct data *a, const struct data *b);
uint64_t run_length(const struct data *d, uint64_t key);
int has_pair(const struct data *d, uint64_t key, uint64_t value);

cohort_multimap *build_of(struct test *t, const struct data *d);

/* Inserts n pairs at random, which `all` has then too. */
void add(struct test *t, cohort_multimap *m, struct data *all, uint64_t n, enum pattern pattern,
         uint64_t range);

/* Keys that are there, keys that are not, and those whose patterns mark slots. */
struct column *queries_of(struct test *t, const struct data *d, uint64_t n);

/* Something that no call may leave where it should have written. */
void soil(struct column *c);

void check_sizes(struct test *t, cohort_multimap *m, const struct data *d);
void check_export(struct test *t, cohort_multimap *m, const struct data *d);
void check_count(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries);
void check_find(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries);
void check_retrieve(struct test *t, cohort_multimap *m, const struct data *d, struct column *queries,
                    int outer);
void check_lookups(struct test *t, cohort_multimap *m, const struct data *d,
                   uint64_t queries); /* all but exports, which make one level of all */
void check_all(struct test *t, cohort_multimap *m, const struct data *d, uint64_t queries);

#endif
