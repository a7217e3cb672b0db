/* api/factor.h: ids of key rows, inside the library: what joins and groups stand on.
 *
 * `context` here is whoever does the work, in its own memory: the caller's context, or the one on the CPU
 * that staging (staged.h) gives a GPU context. On a GPU rows are words, or indices of dictionaries. */
#ifndef COHORT_API_FACTOR_H
#define COHORT_API_FACTOR_H

#include "api/frame.h"
#include "backend/keys.h"

struct factor_node;

/* A key column over all adds. */
struct factor_column {
    char *format; /* Arrow's, of the values; NULL: no add yet */
    int nulls_equal;
    struct keys_table leaf; /* numbers strings and wide values; in the host's memory */
    /* A dictionary whose values have their places as numbers, though they are not in the leaf yet; else
     * NULL. */
    struct table_column *codes;
};

struct factor {
    cohort_context *context;
    uint32_t columns;
    struct factor_column *column;
    struct factor_node *root;
    enum keys_way way; /* of lookups */
    int by_leaf;       /* the only column's numbers are the ids, and the root has nothing */
    uint64_t count;    /* of ids */
};

/* nulls_equal NULL: all 1. */
cohort_status factor_open(struct factor *, cohort_context *, uint32_t columns, const uint8_t *nulls_equal);
void factor_close(struct factor *);

/* Nothing was added yet: the types are not known, nothing lies in memory, and `context` may be another. */
int factor_is_fresh(const struct factor *);

/* The frame's columns and types against the factor's; `call` and `name` for messages. */
cohort_status factor_check(const struct factor *, const char *call, const char *name,
                           const cohort_frame *keys);

/* ids of n = keys->rows rows. first: NULL, or where the first rows of new ids go, count before to count
 * after; to be given back by factor_give. */
struct factor_rows {
    uint64_t *at, count;
    uint32_t *near; /* of factor_add_rows: the rows, in place of `at` */
};
cohort_status factor_add(struct factor *, cohort_frame *keys, uint32_t *ids, struct factor_rows *first);

/* The same of a factor that knows no keys, where the first rows alone are asked for. They may be at `room`,
 * which is for n numbers, as first->near; then there are no ids, and the factor is to be made anew before
 * another add. */
cohort_status factor_add_rows(struct factor *, cohort_frame *keys, uint32_t *room, struct factor_rows *first);
cohort_status factor_find(struct factor *, cohort_frame *keys, uint32_t *ids);

/* A bit for each row that has an id, in whole bytes. COHORT_UNSUPPORTED: the ids are to be asked for, and
 * nothing was done. */
cohort_status factor_find_bits(struct factor *, cohort_frame *keys, uint8_t *bits);
void factor_give(const struct factor *, struct factor_rows *);

/* ---- factor_column.c ----------------------------------------------------------------------------------- */

/* A column of one piece, not a dictionary, as keys. */
struct keys_column factor_column_of(const struct table_column *);

/* ---- factor_node.c: words and bytes under it ----------------------------------------------------------- */

struct factor_node *factor_node_new(uint32_t columns);
void factor_node_end(cohort_context *, struct factor_node *);
uint64_t factor_node_count(const struct factor_node *);

/* ids of n rows whose columns are words. */
cohort_status factor_node_add(cohort_context *, struct factor_node *, const struct keys_column *, uint64_t n,
                              uint32_t *ids, struct factor_rows *first);
cohort_status factor_node_add_rows(cohort_context *, struct factor_node *, const struct keys_column *,
                                   uint64_t n, uint32_t *room, struct factor_rows *first);
cohort_status factor_node_find(cohort_context *, struct factor_node *, const struct keys_column *, uint64_t n,
                               enum keys_way, uint32_t *ids);

#endif
