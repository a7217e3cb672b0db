/* cohort/keys.h: rows of key columns as numbers, and what follows from that: factorize, unique, counts,
 * membership.
 *
 * A key is a row of a frame: the values of all its columns. Two keys are equal if all values are. Floats: a
 * NaN equals every NaN, and 0 equals -0. Strings and binaries are compared as bytes, in whatever layout they
 * are, dictionaries by their values. Decimals must have the same scale, timestamps the same unit; both with
 * or both without a time zone. Other types must be the same on both sides: COHORT_RANGE names columns and
 * types if they are not.
 *
 * Nulls. nulls_equal says, column by column, whether null is a value like others, equal to itself (1), or
 * equal to nothing (0): a row with such a null has no id, COHORT_NO_ID. Where nulls_equal is NULL, null is a
 * value in all columns.
 *
 * Ids are 0, 1, 2, ... in the order of the keys' first rows, the same for any number of threads. 2^32 - 2^19
 * of them always fit; beyond, COHORT_OVERFLOW.
 *
 * Method. A column of up to 8 bytes is keys by its bits. Several columns are packed into 64 bits, each
 * counted from its least value, null as one more code; if that is too wide, keys are rows of words, numbered
 * by a hash of 64 bits and the comparison of all words. Strings and wider values are numbered by a hash of
 * 64 bits and the comparison of their bytes.
 *
 * GPU contexts. Where all columns are numbers of at most 8 bytes, or dictionaries, all calls work in the
 * GPU's memory; a factor does what its first add asks for. The values of dictionaries of strings and of wider
 * values are numbered by the host. For all else columns are copied to the host, the work is done there by
 * threads, and results are copied back. Calls wait.
 *
 * Cost: O(rows) a column, expected; sorted O(d log d) more for d distinct keys.
 *
 * Memory, on a CPU, besides columns and results. To number n rows takes at most 34 bytes a row where the
 * columns fit into 64 bits together, and to look rows up in a large table 12; else 40 and their own, with a
 * bit for each column, in whole words of 8. A column of strings or of wider values takes 48 bytes a row and
 * 2.5 times its own, and is a column of 4 bytes among the others. All that, and 6 MiB, is workspace and a
 * table; the table stays with a factor, and is workspace again afterwards: the context keeps it until
 * cohort_trim.
 * Where the first rows do not tell how many keys there are the table grows, and it may be half as much
 * again. A call that works with distinct keys takes 16 bytes more for each of them; sorted, and for counts,
 * 72 bytes and twice the key's own, and 4 bytes a row. Where 2^20 rows and more seem to bring a key each that
 * fits into 64 bits, it takes 16 bytes more a row (4, if there is no memory for that). Is in and index in
 * number the rows of `values`, and take 8 bytes more for each distinct one and 12 for each row of `keys`.
 *
 * Threads. One at a time, as for all that belongs to a context. */
#ifndef COHORT_KEYS_H
#define COHORT_KEYS_H

#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COHORT_NO_ID 0xffffffffu

/* ---- a factor: ids that last --------------------------------------------------------------------------- */

/* Knows all keys that were added to it. Belongs to the context, and is to be destroyed before it. */
typedef struct cohort_factor cohort_factor;

/* For keys of `columns` columns, 1 to 4096, else COHORT_RANGE. nulls_equal[columns] is copied; NULL: all
 * 1. */
COHORT_API cohort_status cohort_factor_create(cohort_context *context, uint32_t columns,
                                              const uint8_t *nulls_equal, cohort_factor **out);
/* NULL is allowed. */
COHORT_API void cohort_factor_destroy(cohort_factor *factor);

/* ids[i] = the id of row i of `keys`, a new one if its key is new. The first add fixes the types. ids may be
 * NULL; else 4 bytes a row of the host's or the context's memory. COHORT_RANGE: another number of columns,
 * or another type than before. COHORT_NO_MEMORY, COHORT_OVERFLOW: the keys of some rows may be in, and the
 * factor goes on. */
COHORT_API cohort_status cohort_factor_add(cohort_factor *factor, cohort_frame *keys, uint32_t *ids);

/* The same without adding: COHORT_NO_ID for keys that were never added. Here ids must be there. */
COHORT_API cohort_status cohort_factor_find(cohort_factor *factor, cohort_frame *keys, uint32_t *ids);

/* Of ids; 0 of NULL. */
COHORT_API uint64_t cohort_factor_count(const cohort_factor *factor);

/* ---- columns ------------------------------------------------------------------------------------------- */

/* ids[i] = the id of row i, in the host's or the context's memory; *values, unless `values` is NULL, a frame
 * whose row k is the key of id k. COHORT_RANGE: keys has no column, or more than 4096. COHORT_OVERFLOW: too
 * many keys. On failure *values is NULL, and what is in ids means nothing. */
COHORT_API cohort_status cohort_factorize(cohort_frame *keys, const uint8_t *nulls_equal, uint32_t *ids,
                                          cohort_frame **values);

enum {
    /* in ascending order, column by column, the first one first; NaN behind all numbers, null behind all
     * values; without it: in the order of first rows, counts in descending order */
    COHORT_SORTED = 1
};

/* The distinct keys. flags: 0 or COHORT_SORTED. */
COHORT_API cohort_status cohort_unique(cohort_frame *keys, uint32_t flags, cohort_frame **out);

/* The distinct keys and a column `count` (u64), how many rows have them, the most frequent key first and
 * among equals the one that came first; with COHORT_SORTED in order of the keys. */
COHORT_API cohort_status cohort_value_counts(cohort_frame *keys, uint32_t flags, cohort_frame **out);

/* rows[i] = the first row of `values` that equals row i of `keys`, of 4 or 8 bytes each; all ones: none.
 * What cohort_gather takes. `rows` lies in the host's or the context's memory. COHORT_RANGE: `bytes` is
 * neither, or 4 where values has 2^32 - 1 rows or more; or columns or types of both do not agree. */
COHORT_API cohort_status cohort_index_in(cohort_frame *keys, cohort_frame *values, const uint8_t *nulls_equal,
                                         uint32_t bytes, void *rows);

/* Bit i (least significant first) of `bits`, ceil(rows / 8) bytes of the host's or the context's memory: row
 * i of `keys` is a row of `values`. COHORT_RANGE: columns or types of both
 * do not agree. */
COHORT_API cohort_status cohort_is_in(cohort_frame *keys, cohort_frame *values, const uint8_t *nulls_equal,
                                      uint8_t *bits);

#ifdef __cplusplus
}
#endif
#endif
