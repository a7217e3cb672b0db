/* cohort/join.h: joins: which rows of two frames have the same key, as pairs of row numbers.
 *
 *     cohort_join_build(orders_keys, NULL, &join);               the right side, once
 *     cohort_join_probe(join, lines_keys, NULL, &matches);       the left side; as often as there are batches
 *                                                                of it
 *     cohort_join_size(matches)                                  how many pairs
 *     cohort_join_pairs(matches, &page);                         their row numbers, for cohort_gather;
 *     cohort_join_frame(matches, 0, n, lines, orders, NULL,      or the columns of both sides that n of them
 *                       &out);                                   stand for
 *
 * Keys are rows of frames, of as many columns on either side, as in keys.h: which types agree, how floats,
 * strings and dictionaries compare. nulls_equal says, column by column, whether a null is a value like
 * others, equal to itself, or equal to nothing, as in SQL.
 *
 * Kinds. What the pairs of a probe are, (left row, right row):
 *
 *     INNER   every two rows with the same key
 *     LEFT    the same, and (row, null) for each left row without any
 *     RIGHT   as INNER; the right rows that no probe met come from cohort_join_finish as (null, row)
 *     FULL    as LEFT; the right rows that no probe met come from cohort_join_finish as (null, row)
 *     SEMI    (left row, first right row) for each left row that has one
 *     ANTI    (left row, null) for each left row that has none
 *
 * null is a row number of all ones, which cohort_gather makes a row of nulls. Rows whose key has a null that
 * equals nothing match nothing: they come in LEFT, ANTI, FULL, and in finish.
 *
 * PARTITIONED is for keys of up to 64 bits on a CPU, where the table of right keys is larger than the caches.
 * Other keys, and left rows for which there is no memory of that kind, are looked up one by one, and so are
 * all on a GPU. AUTO takes it where the table has 2^21 slots or more (of 16 bytes, a third more than keys)
 * and there are an eighth as many left rows. Pairs are the same, whatever the method.
 *
 * Order. Pairs come in the order of left rows, those of one left row in the order of right rows; finish in
 * that of right rows. Both are the same for any number of threads.
 *
 * Memory. Besides columns and what comes out: DENSE takes at most 25 bytes a right row; FACTOR 34 bytes a
 * right row, and up to 6 MiB for a round of rows; a left row 4 bytes, and PARTITIONED while it is looked up
 * 12 more, of up to 2^25 rows at a time. Columns that do not fit into 64 bits together are held once more: 38
 * bytes a right row and their own, with a bit for each column, in whole words of 8. Strings are held once
 * more: 48 bytes a right row and 2.5 times their own. So two sides of equal size take at most 2 x (key bytes
 * + 8) bytes a row of both, besides those 6 MiB, if a key is numbers in any number of columns, or a string of
 * 8 bytes or more. (Where the first rows do not tell how many keys there are FACTOR's table grows, and the
 * bytes a right row may be half as many again; the bound of both sides holds.)
 *
 * In a GPU's memory (Where, below), of up to 2^26 right rows, it is at most 35 bytes a right row where no key
 * comes twice, and 56 where some do; columns that do not fit into 64 bits have tables of their halves: two of
 * 8 bytes take 86 bytes, each further one 51 more.
 *
 * Threads. A join is read only after it was built: any number of threads may probe it at the same time, each
 * with left frames of a context of its own. Matches belong to the context of the left frame. Destroy matches
 * before their join, and both before their contexts. All calls here wait.
 *
 * Where. On a GPU context a join by numbers (integers, floats, bool, dates, times, binaries of up to 8 bytes)
 * and by dictionaries of any values lies in the GPU's memory, as do its matches, and no column leaves it; the
 * values of dictionaries of strings are compared by the host, their rows are not read there. Such a join is
 * probed by left frames of contexts on the same GPU, others are COHORT_UNSUPPORTED. Joins with any
 * other column live in the host's memory: columns are copied there and pairs back, as keys are.
 * cohort_join_is_resident tells. A join in a GPU's memory tells no progress. */
#ifndef COHORT_JOIN_H
#define COHORT_JOIN_H

#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_join cohort_join;
typedef struct cohort_matches cohort_matches;

#define COHORT_NO_ROW UINT64_MAX /* in arrays of 4 bytes UINT32_MAX */

typedef enum cohort_join_kind {
    COHORT_JOIN_INNER = 0,
    COHORT_JOIN_LEFT = 1,
    COHORT_JOIN_RIGHT = 2,
    COHORT_JOIN_FULL = 3,
    COHORT_JOIN_SEMI = 4,
    COHORT_JOIN_ANTI = 5
} cohort_join_kind;

/* How often a key may be there: left : right. */
typedef enum cohort_join_shape {
    COHORT_JOIN_MANY_TO_MANY = 0,
    COHORT_JOIN_ONE_TO_ONE = 1,
    COHORT_JOIN_ONE_TO_MANY = 2,
    COHORT_JOIN_MANY_TO_ONE = 3
} cohort_join_shape;

/* How right rows are found. */
typedef enum cohort_join_method {
    /* DENSE where that takes at most 16 bytes a right row (and 4 KiB), else FACTOR, or PARTITIONED where a
     * probe is large and so is the table of right keys */
    COHORT_JOIN_AUTO = 0,
    /* one column of integers, dates, times: a table by value; else COHORT_UNSUPPORTED */
    COHORT_JOIN_DENSE = 1,
    /* as FACTOR, with left keys put in order of parts of the table, and their ids back in order of rows */
    COHORT_JOIN_PARTITIONED = 2,
    /* ids of keys, then the rows of each id: any columns; left keys are looked up one by one */
    COHORT_JOIN_FACTOR = 3
} cohort_join_method;

typedef struct cohort_join_options {
    /* sizeof(cohort_join_options) */
    size_t size;
    /* by key column; NULL: all 0 */
    const uint8_t *nulls_equal;
    cohort_join_method method;
    /* 0 */
    uint32_t reserved;
} cohort_join_options;

#define COHORT_JOIN_OPTIONS_INIT                               \
    {                                                          \
        sizeof(cohort_join_options), NULL, COHORT_JOIN_AUTO, 0 \
    }

/* The right side: its key columns, 1 to 4096, of less than 2^32 - 1 rows. options may be NULL. O(rows) a
 * column, expected. The frame is not needed after it. */
COHORT_API cohort_status cohort_join_build(cohort_frame *right, const cohort_join_options *options,
                                           cohort_join **out);
/* NULL is allowed. */
COHORT_API void cohort_join_destroy(cohort_join *join);
/* 1: the join lies in its context's memory, which on a GPU is the GPU's; 0: in the host's, though its context
 * is on a GPU (Where, above). 0 of NULL. From any thread. */
COHORT_API int cohort_join_is_resident(const cohort_join *join);

typedef struct cohort_join_probe_options {
    /* sizeof(cohort_join_probe_options) */
    size_t size;
    cohort_join_kind kind;
    cohort_join_shape validate;
    /* out: where `validate` is broken, two rows of one side that have the same key, the later one second;
     * else COHORT_NO_ROW */
    uint64_t repeated_left[2], repeated_right[2];
} cohort_join_probe_options;

#define COHORT_JOIN_PROBE_OPTIONS_INIT                                                          \
    {                                                                                           \
        sizeof(cohort_join_probe_options), COHORT_JOIN_INNER, COHORT_JOIN_MANY_TO_MANY, {0, 0}, \
        {                                                                                       \
            0, 0                                                                                \
        }                                                                                       \
    }

/* Looks the rows of `left` up. options may be NULL: an inner join. O(rows) a column, expected, whatever
 * the number of pairs; 4 bytes a left row stay with the matches. COHORT_RANGE: columns or types do not
 * agree, or rows break `validate`, of the right, or of this very left frame; the message names them. Rows
 * whose key equals nothing break nothing. */
COHORT_API cohort_status cohort_join_probe(cohort_join *join, cohort_frame *left,
                                           cohort_join_probe_options *options, cohort_matches **out);
/* NULL is allowed. */
COHORT_API void cohort_matches_destroy(cohort_matches *matches);

/* How many pairs there are; they may be more than 2^32. 0 of NULL. */
COHORT_API uint64_t cohort_join_size(const cohort_matches *matches);

/* A window on a sequence of pairs: [first, first + capacity), as far as they exist. A result too large for
 * memory is read by raising `first` by `written` until it is `total`. */
typedef struct cohort_join_page {
    /* sizeof(cohort_join_page) */
    size_t size;
    /* of a row number: 8, or 4 where both sides have less than 2^32 - 1 rows */
    uint32_t bytes;
    /* 0 */
    uint32_t reserved;
    uint64_t first, capacity;
    /* out, host memory or the context's; NULL: not wanted. Room for `capacity`, or as many as there are */
    void *left, *right;
    /* out: pairs of the whole sequence, and of this page */
    uint64_t total, written;
} cohort_join_page;

#define COHORT_JOIN_PAGE_INIT                                  \
    {                                                          \
        sizeof(cohort_join_page), 8, 0, 0, 0, NULL, NULL, 0, 0 \
    }

/* O(written), and a search: so a page costs the same wherever it is. COHORT_RANGE: page.bytes is not 4 or 8,
 * or 4 where a side has too many rows; COHORT_BAD_POINTER: an array is not aligned to its elements. */
COHORT_API cohort_status cohort_join_pairs(cohort_matches *matches, cohort_join_page *page);

/* Pairs first .. first + n of the whole sequence, as far as they exist, as a frame: the columns of `left` at
 * their left rows, then those of `right` at their right rows, null throughout where a row number is null. A
 * side that is NULL has no columns there. A name of right's that left has too gets `suffix` (NULL: "_right")
 * behind it. The frames are the sides of the join, as probed and as built, or other columns of as many rows;
 * on a CPU strings are not copied, as with cohort_gather. Row numbers take 4 bytes a pair and side while the
 * call lasts, 8 where a side has 2^32 - 1 rows or more. O(n) a column, and a search. COHORT_RANGE: a frame
 * has not as many rows as its side; COHORT_OTHER_CONTEXT: it is not of the matches' context; COHORT_NULL:
 * both are NULL; else what cohort_gather says. */
COHORT_API cohort_status cohort_join_frame(cohort_matches *matches, uint64_t first, uint64_t n,
                                           cohort_frame *left, cohort_frame *right, const char *suffix,
                                           cohort_frame **out);

/* The right rows that no probe of kind RIGHT or FULL has met so far, as pairs (null, row). On the join's own
 * context, while no probe is under way; the join may be probed again after it. O(right rows / 64) where
 * probes were since the last call, and O(written). COHORT_RANGE: page.bytes is not 4 or 8. */
COHORT_API cohort_status cohort_join_finish(cohort_join *join, cohort_join_page *page);

#ifdef __cplusplus
}
#endif
#endif
