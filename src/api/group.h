/* api/group.h: group-by inside the library. Everything lies in the memory of `host`: the object's context, or
 * the one on the CPU that staging (staged.h) gives it. The types of the first frame decide.
 *
 * A call has two parts. The first one takes all memory that it needs and changes nothing that a caller can
 * see; it may fail. The second one folds, and cannot on a CPU; where it can, it folds into copies of the
 * states, which take their places in the end. */
#ifndef COHORT_API_GROUP_H
#define COHORT_API_GROUP_H

#include "api/factor.h"
#include "backend/group.h"
#include "cohort/group.h"

/* ---- group_keys.c: distinct rows, numbered, with the rows themselves ----------------------------------- */

struct group_keys {
    cohort_context *host;
    uint32_t columns;
    const uint8_t *nulls_equal; /* not its own */
    struct factor factor;
    int stale; /* the factor knows keys of a call that failed, or not all keys, and is made anew */
    uint64_t count;
    cohort_frame **piece; /* the keys in the order of their numbers */
    uint32_t pieces, room;
};

/* What an add brings, until it is kept. */
struct group_keys_step {
    cohort_frame *made;
    uint64_t count; /* of all keys then */
    int unnumbered; /* the factor does not know them */
};

cohort_status group_keys_open(struct group_keys *, cohort_context *host, uint32_t columns,
                              const uint8_t *nulls_equal);
void group_keys_close(struct group_keys *);
cohort_status group_keys_add(struct group_keys *, const char *call, cohort_frame *frame, uint32_t *ids,
                             struct group_keys_step *);
/* The same where nobody asks for ids: `room` is for so many. */
cohort_status group_keys_add_rows(struct group_keys *, const char *call, cohort_frame *frame, uint32_t *room,
                                  struct group_keys_step *);
void group_keys_keep(struct group_keys *, struct group_keys_step *);
void group_keys_forget(struct group_keys *, struct group_keys_step *);

/* All keys as one frame; of none that were ever added, COHORT_RANGE. */
cohort_status group_keys_frame(struct group_keys *, const char *call, cohort_frame **out);

/* ---- group_column.c ------------------------------------------------------------------------------------ */

/* A column in one piece, no dictionary. */
cohort_status group_plain(cohort_context *host, const char *name, struct table_column *column,
                          struct table_column **out);

/* The same where values are only to be told from each other: strings in a GPU's memory stay dictionaries. */
cohort_status group_codes(cohort_context *host, const char *name, struct table_column *column,
                          struct table_column **out);

/* The same where only nulls are asked for: of strings in a GPU's memory, with any values. */
cohort_status group_marks(cohort_context *host, const char *name, struct table_column *column,
                          struct table_column **out);

/* Views that were gathered get bytes of their own. */
cohort_status group_own_texts(cohort_context *host, struct table_column **column);

/* A column of the pieces, one behind the other. */
cohort_status group_one_column(cohort_context *host, cohort_frame *const *piece, uint32_t pieces,
                               uint32_t column, struct table_column **out);

/* ---- group_texts.c: a string of bytes for each group --------------------------------------------------- */

struct group_text {
    uint64_t at, length; /* in the heap; GROUP_NO_TEXT: there is none */
};
#define GROUP_NO_TEXT UINT64_MAX

struct group_texts {
    struct group_text *text;
    uint64_t *best; /* by group: while rows are looked at, the row that is to be its text; else all ones */
    uint64_t room;
    char *heap;
    uint64_t heap_room, used;
};

struct group_texts_step {
    void *touched; /* uint32_t: groups whose text is another one now; of the pool */
    uint64_t count;
};

void group_texts_close(cohort_context *host, struct group_texts *);
cohort_status group_texts_reserve(cohort_context *host, struct group_texts *, uint64_t groups,
                                  uint64_t known);

/* The rows of a column that are to be the groups' texts. is_decimal: they are numbers of 16 bytes. */
cohort_status group_texts_look(cohort_context *host, struct group_texts *, cohort_aggregate_op op,
                               int is_decimal, const struct keys_column *, uint64_t n, const uint32_t *ids,
                               uint64_t known, struct group_texts_step *);
void group_texts_keep(struct group_texts *, const struct keys_column *, struct group_texts_step *);
void group_texts_forget(cohort_context *host, struct group_texts *, struct group_texts_step *);

/* ---- group_place.c ------------------------------------------------------------------------------------- */

/* Before the types are known: puts the object into the memory where a frame that begins with its key columns
 * is worked on. format_of tells the type of what is aggregated as `i` (ROWS: NULL). */
typedef const char *group_formats(void *of, uint32_t i);
cohort_status group_place(struct cohort_group *, cohort_frame *, group_formats *format_of, void *of);

/* A frame that `host` has made, and is taken over, where the context has its frames. */
cohort_status group_out(cohort_context *context, cohort_context *host, cohort_frame *made,
                        cohort_frame **out);

/* A frame of `from`, or, if that is NULL, of the context, in the memory of g->host. Strings of `from` may
 * become dictionaries in the frame itself. */
cohort_status group_bring(struct cohort_group *g, struct cohort_group *from, cohort_frame *frame,
                          cohort_frame **own);

/* ---- group.c ------------------------------------------------------------------------------------------- */

enum group_way { GROUP_BY_STATE, GROUP_BY_TEXT, GROUP_BY_KEYS };

struct group_aggregate {
    cohort_aggregate_op op;
    char *column, *name;
    uint32_t source; /* the first aggregate of the same column, or this one */
    char *format;    /* of the column's values; NULL: not known yet, or there is no column */
    struct table_type type;
    int way;
    uint32_t state; /* enum group_state */
    void *states;
    uint64_t room; /* of them */
    struct group_texts texts;
    struct group_keys distinct; /* of pairs: number of the group, value */
};

struct cohort_group {
    cohort_context *context, *host;
    uint32_t keys, aggregates, reproducible;
    int typed; /* a frame was added */
    char **key;
    uint8_t *nulls_equal;
    struct group_keys of;
    struct group_aggregate *aggregate;
};

/* ---- group_step.c -------------------------------------------------------------------------------------- */

extern const char *const group_op_names[];

/* What an aggregate does with a call's rows. */
struct group_part {
    struct table_column *column; /* of rows, or of states; in one piece */
    struct keys_column values;
    void *states; /* that are folded into: the aggregate's, or, where that may fail, a copy */
    uint64_t room;
    struct group_texts_step texts;
    cohort_frame *pairs;
    void *pair_ids;
    struct group_keys_step distinct;
};

struct group_step {
    cohort_group *group;
    const char *call;
    cohort_frame *keys;
    uint64_t rows;
    void *ids;
    cohort_group *from; /* whose partial result is taken; NULL: a stranger's, or rows are added */
    struct group_keys_step of;
    struct group_part *part; /* one an aggregate */
};

/* The key columns of a frame that begins with them, as g->host works with them. */
cohort_status group_keys_of(cohort_group *g, const cohort_frame *from, cohort_frame *keys);

cohort_status group_step_open(struct group_step *, cohort_group *, const char *call, cohort_frame *keys);

/* Room for all groups' states, and for what each part brings. The states of new groups are zero, unless
 * `unset`. */
cohort_status group_step_ready(struct group_step *, int unset);

/* 0: everything is as it was before the call. */
void group_step_close(struct group_step *, int keep);

/* Whether the object's context itself works on the aggregate of a column of this type. */
int group_folds(const cohort_group *, uint32_t i, const char *format);

int group_scale_of(const char *format); /* digits behind a decimal's point; of other formats and NULL 0 */

/* Fixes the column's type, or compares it with the one before. NULL: there is no column. */
cohort_status group_type(cohort_group *, const char *call, uint32_t i, const char *format);
void group_types_forget(cohort_group *);

/* ---- group_pairs.c ------------------------------------------------------------------------------------- */

/* What a part brings of distinct values: those of a step's rows, of a column that is taken over; those of an
 * object whose partial result is taken; those of a partial result's binaries. */
cohort_status group_pairs_add(struct group_step *, uint32_t i, struct table_column *values);
cohort_status group_pairs_take(struct group_step *, uint32_t i, cohort_group *from);
cohort_status group_pairs_in(struct group_step *, uint32_t i, struct table_column *binaries);

/* A binary a group. */
cohort_status group_pairs_out(cohort_group *, const char *call, struct group_aggregate *,
                              struct table_column **out);

/* How many distinct values each group has, which is added to its count. */
cohort_status group_pairs_count(cohort_group *, const char *call, struct group_aggregate *, uint64_t *counts);

/* ---- group_finish.c ------------------------------------------------------------------------------------ */

cohort_status group_texts_column(cohort_group *, const struct group_aggregate *, const char *format,
                                 struct table_column **out);

/* ---- group_partial.c ----------------------------------------------------------------------------------- */

/* packed 0: for group_take in this process, which needs no distinct values in it. */
cohort_status group_partial(cohort_group *, const char *call, int packed, cohort_frame **out);

/* A partial result: what group_partial has made of `from`, or, if that is NULL, a frame of the context's. */
cohort_status group_take(cohort_group *into, const char *call, cohort_group *from, cohort_frame *partial);

#endif
