/* cohort/group.h: group-by on frames: sums, means, extremes and others of columns, for each distinct key.
 *
 * A group object is told once which columns are keys and what is wanted of which columns. Frames are added,
 * as many as there are; objects that saw other frames are merged into it, from other machines too, by an
 * Arrow form; and a frame comes out: a row a group, the key columns, then a column an aggregate.
 *
 * Keys are those of keys.h: columns of every type, NaN equal to NaN, 0 to -0; null is a value like others, or
 * rows with a null are left out, as nulls_equal says. Groups come in the order of their first rows (of frames
 * in the order of adds, of merges behind those), or sorted.
 *
 * Nulls of aggregated columns are skipped. Where a group has no value, the result is null; counts are 0.
 *
 *   aggregate      columns                  result
 *   ROWS           none                     rows, u64
 *   COUNT          all                      rows that are not null, u64
 *   SUM            integers, bool, floats   i64, u64 (of unsigned and bool), f64. Integers: exact, or
 *                                           COHORT_OVERFLOW by cohort_group_finish, which names the column
 *                                           and the group
 *                  decimals                 decimal128 of 38 digits and the same scale; exact, or
 *                                           COHORT_OVERFLOW
 *   MEAN VAR SD    integers, bool, floats,  f64. VAR and SD of a sample (n - 1; null of one value). MEAN of
 *                  decimals                 integers and decimals from the exact sum, VAR and SD of decimals
 *                                           from doubles
 *   MIN MAX        all                      the column's type; NaN is above all numbers; strings as bytes
 *   FIRST LAST     all                      the column's type: of the first or last row that is not null
 *   ANY ALL        bool, integers (not 0)   bool
 *   NUNIQUE        all                      distinct values, u64; NaNs are one, and so are 0 and -0
 *
 * Reproducible. Sums of floats depend on the order of additions, which threads do not keep. With
 * `reproducible` SUM and MEAN of floats have the same bits for any threads, frames, chunks, devices and order
 * of merges: each value is cut at fixed powers of 2^32 into integers, which are added exactly; those more
 * than 64 bits below the greatest value of the group are left out. The error is at most n * 2^-64 of that
 * value, which is below that of a plain sum. It costs 64 bytes a group instead of 16, and some time. (Demmel,
 * Nguyen: "Parallel Reproducible Summation", IEEE Trans. Computers 64, 2015, with integers for its bins.)
 * Sums of integers, and all else but VAR and SD, are always the same.
 *
 * Failure. A failed call leaves the object as it was before.
 *
 * Memory, on a CPU, besides the columns. The keys take what cohort_factor_add takes of them (keys.h), and 8
 * bytes and their own once more a group; a frame takes 4 bytes a row while it is added, and 16 more where
 * 2^20 rows and more seem to bring a group each. An aggregate has a group's
 *
 *     ROWS COUNT ANY ALL                                8 bytes
 *     MIN MAX FIRST LAST of up to 8 bytes              16
 *     SUM MEAN of floats 16, reproducible 64, of integers 24, of decimals 32
 *     VAR SD                                           32
 *     MIN MAX FIRST LAST of strings and wider values   24, and twice the bytes of the value; 4 bytes a row
 *     NUNIQUE: as keys of two columns, the group's number, of 4 bytes, and the value; and 28 bytes a row
 *
 * While a frame of more than 8,192 rows is added, and there are several aggregates or at most an eighth as
 * many groups as rows, threads have records of groups: 8 bytes and those of each aggregate (at least 64), at
 * most as many as rows.
 *
 * Where a later frame brings groups there is room for half as many more, and while it is made the old and the
 * new one are both there. What an object had is workspace again afterwards, kept until cohort_trim.
 *
 * GPU contexts. Where all keys are numbers or dictionaries, and all aggregates are of numbers, the work is
 * done in the GPU's memory, and the result is there; the first frame decides. COUNT may be of any column,
 * NUNIQUE of strings, SUM, MEAN, VAR and SD of decimals. Of dictionaries of strings the values are numbered
 * by the host; keys that came with several dictionaries have one in the result. While a frame is added there
 * the states are there twice. Else columns are copied to the host, and the work is done there by threads. The
 * results are the same to the bit, but for VAR, SD and sums of floats that are not reproducible. Calls wait.
 * One thread at a time, as for all that belongs to a context. */
#ifndef COHORT_GROUP_H
#define COHORT_GROUP_H

#include "keys.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_group cohort_group;

/* The numbers stand in partial results. */
typedef enum cohort_aggregate_op {
    COHORT_AGGREGATE_ROWS = 1,
    COHORT_AGGREGATE_COUNT = 2,
    COHORT_AGGREGATE_SUM = 3,
    COHORT_AGGREGATE_MEAN = 4,
    COHORT_AGGREGATE_MIN = 5,
    COHORT_AGGREGATE_MAX = 6,
    COHORT_AGGREGATE_VAR = 7,
    COHORT_AGGREGATE_SD = 8,
    COHORT_AGGREGATE_FIRST = 9,
    COHORT_AGGREGATE_LAST = 10,
    COHORT_AGGREGATE_ANY = 11,
    COHORT_AGGREGATE_ALL = 12,
    COHORT_AGGREGATE_NUNIQUE = 13
} cohort_aggregate_op;

typedef struct cohort_aggregate {
    cohort_aggregate_op op;
    /* 0 */
    uint32_t reserved;
    /* ROWS: NULL */
    const char *column;
    /* of the result's column; NULL: "v_sum" for a SUM of v and so on, "rows" */
    const char *name;
} cohort_aggregate;

#define COHORT_AGGREGATE_INIT                 \
    {                                         \
        (cohort_aggregate_op)0, 0, NULL, NULL \
    }

typedef struct cohort_group_options {
    /* sizeof(cohort_group_options) */
    size_t size;
    /* 1 to 4096 */
    uint32_t keys;
    /* 0 to 4096 */
    uint32_t aggregates;
    /* names of columns */
    const char *const *key;
    /* by key, as in keys.h; NULL: null is a value in all */
    const uint8_t *nulls_equal;
    const cohort_aggregate *aggregate;
    /* 1: see above */
    uint32_t reproducible;
    /* 0 */
    uint32_t reserved;
} cohort_group_options;

#define COHORT_GROUP_OPTIONS_INIT                                  \
    {                                                              \
        sizeof(cohort_group_options), 0, 0, NULL, NULL, NULL, 0, 0 \
    }

/* Belongs to the context, and is to be destroyed before it. All that the options point to is copied, names
 * too. COHORT_RANGE: a number or an `op` that is not allowed; COHORT_NULL: a name that must be there;
 * COHORT_BAD_STRUCT: `size`. Whether the columns are there is found by the first add. O(keys + aggregates);
 * does not wait. */
COHORT_API cohort_status cohort_group_create(cohort_context *context, const cohort_group_options *options,
                                             cohort_group **out);
/* NULL is allowed. */
COHORT_API void cohort_group_destroy(cohort_group *group);

/* Rows of a frame, in which columns are found by their names. The first frame (of 0 rows, too) fixes the
 * columns' types: later ones must agree, as keys must; strings may change their layout, and come as
 * dictionaries or not. COHORT_RANGE: a column is not there, or has another type than before;
 * COHORT_UNSUPPORTED: the aggregate is not for its type. The frame is not held. O(rows) for each key
 * column and aggregate. */
COHORT_API cohort_status cohort_group_add(cohort_group *group, cohort_frame *frame);

/* All that `from` was given, as if it came behind all that `into` was given. `from` stays as it is. Both
 * must have the same keys (names and nulls_equal), the same aggregates of the same columns, the same
 * `reproducible`: else COHORT_RANGE, as where the columns' types differ; and one context: else
 * COHORT_OTHER_CONTEXT. If nothing was added to `from`, nothing is done. O(groups of `from`) for each key
 * column and aggregate. */
COHORT_API cohort_status cohort_group_merge(cohort_group *into, cohort_group *from);

/* The result. flags: 0 or COHORT_SORTED. The object goes on: more may be added. COHORT_RANGE: nothing was
 * added, so the columns' types are not known. COHORT_OVERFLOW: see SUM. O(groups) for each key column and
 * aggregate, and of NUNIQUE O(distinct values); sorted as cohort_unique. The result lies in the context's
 * memory and lives on without the object. */
COHORT_API cohort_status cohort_group_finish(cohort_group *group, uint32_t flags, cohort_frame **out);

/* Of groups; 0 of NULL. */
COHORT_API uint64_t cohort_group_count(const cohort_group *group);

/* ---- partial results between processes ----------------------------------------------------------------- */

/* All that the object knows as a frame, which may go by Arrow to another machine: the key columns, and for
 * each aggregate a column of fixed binaries or binaries, whose name tells aggregate, column and type. In
 * the order of bytes of this machine. COHORT_RANGE: nothing was added. O(groups) for each key column and
 * aggregate, and of NUNIQUE and texts O(bytes). */
COHORT_API cohort_status cohort_group_partial(cohort_group *group, cohort_frame **out);

/* cohort_group_merge of an object with the same options that cohort_group_partial was called on.
 * COHORT_CORRUPT: the frame is not what that call makes, or of other options; COHORT_RANGE: the columns'
 * types are others than before; COHORT_OTHER_CONTEXT. Nothing in a frame from strangers is followed
 * unchecked; whether its numbers are true nobody can tell. O(groups of `partial`) for each key column and
 * aggregate. */
COHORT_API cohort_status cohort_group_merge_partial(cohort_group *into, cohort_frame *partial);

#ifdef __cplusplus
}
#endif
#endif
