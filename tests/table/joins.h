/* joins.h: what joins are held against: pairs by loops over both tables, or by the arithmetic of keys; and a
 * walk over the pages of what came out. */
#ifndef TEST_TABLE_JOINS_H
#define TEST_TABLE_JOINS_H

#include "model.h"

struct pairs {
    uint64_t count, room;
    uint64_t *left, *right;
};

void pairs_add(struct pairs *p, uint64_t left, uint64_t right);
void pairs_free(struct pairs *p);

/* Whether the two rows have the same key. */
int rows_match(const struct model *a, uint64_t i, const struct model *b, uint64_t j,
               const uint8_t *nulls_equal);

/* The pairs of a probe; met[j] is set for right rows that have one. And those of finish. */
struct pairs pairs_naive(const struct model *left, const struct model *right, const uint8_t *nulls_equal,
                         int kind, uint8_t *met);
struct pairs pairs_naive_rest(uint64_t rows, const uint8_t *met);

/* Reads all pairs of `from` (or, if NULL, of the join's rest) in pages of this size. */
void pairs_check(struct test *t, cohort_join *join, cohort_matches *from, const struct pairs *due,
                 uint64_t capacity, uint32_t bytes, int want);

/* Right rows in the order of their keys: `order` by counting, those of key k at start[k]. */
struct known {
    uint64_t distinct, *start, *row;
};

void known_open(struct known *k, uint64_t n, const uint64_t *keys, uint64_t distinct);
void known_close(struct known *k);

/* A method for any keys, drawn. */
cohort_join_method any_method(struct test *t);

/* The keys 0, 1, 2, ... as something that is dense, or not. */
uint64_t spread(uint64_t key, int how);

#endif
