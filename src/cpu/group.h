/* cpu/group.h: what the files of group-by share: values on their way into states, and records of few
 * groups. */
#ifndef COHORT_CPU_GROUP_H
#define COHORT_CPU_GROUP_H

#include "backend/group.h"
#include "keys.h"

/* What a fold keeps in records, besides the states of shape/group.h. */
enum {
    GROUP_SHORT_SUM =
        GROUP_STATES,   /* a word: integers of at most 4 bytes, whose range of rows is below 2^31 */
    GROUP_SHORT_FLOATS, /* a sum; its count stands elsewhere, like those of the next two */
    GROUP_SHORT_MIN,    /* all ones before any */
    GROUP_SHORT_MAX,
    GROUP_SHORT_MOMENTS /* shift, sum and squares of struct group_moments; the shift: all ones before any */
};

/* Where a fold's part of a record is: state `state` at word `at`, and its count, unless the state has it, at
 * word `count`. */
struct group_share {
    uint32_t state, at, count;
    int masked; /* group_masks.c folds it */
    int same;   /* an earlier fold's part, of the same values, is this one's too */
};

static inline int group_is_ordered(uint32_t state)
{
    return state == GROUP_MIN || state == GROUP_MAX || state == GROUP_SHORT_MIN || state == GROUP_SHORT_MAX;
}

static inline int group_is_real(uint32_t state)
{
    return state == GROUP_FLOATS || state == GROUP_EXACT || state == GROUP_MOMENTS ||
           state == GROUP_SHORT_FLOATS || state == GROUP_SHORT_MOMENTS;
}

/* Words of a column as a state takes them: the bits of doubles, or numbers in the order of the values. */
static inline void group_make_words(uint32_t state, const struct keys_column *c, uint64_t *words, uint32_t n)
{
    const uint32_t kind = c->kind, bytes = c->bytes;
    const uint32_t from = kind != KEYS_FLOAT && c->is_signed ? KEYS_SIGNED : kind;
    if (group_is_real(state) && (kind != KEYS_FLOAT || bytes != 8))
        for (uint32_t i = 0; i < n; i++)
            words[i] = group_double(from, bytes, words[i]);
    if (group_is_ordered(state) && (kind == KEYS_SIGNED || kind == KEYS_FLOAT))
        for (uint32_t i = 0; i < n; i++)
            words[i] = group_ordered(kind, bytes, words[i]);
}

/* ---- group_pick.c -------------------------------------------------------------------------------------- */

#define GROUP_BEHIND 16u /* elements that may be written behind those that there are */

/* Rows of a block that are folded: their groups, and where they stand in the block. */
struct group_picked {
    uint32_t count;
    int whole; /* all of the block's */
    uint32_t group[KEYS_BLOCK + GROUP_BEHIND];
    uint8_t at[KEYS_BLOCK + GROUP_BEHIND];
};

/* Those of groups low .. low + span; `span` is at most KEYS_NO_ID - low. A group stands for 1 << lane_bits
 * places, the lanes, which its rows take in turn. */
void group_pick(struct group_picked *, enum cpu_level, const uint32_t *ids, uint32_t count, uint32_t low,
                uint32_t span, uint32_t lane_bits);

/* ---- group_masks.c: values and very few groups, with vectors ------------------------------------------- */

/* What keys_load does, of columns of numbers by vectors where the processor has them. */
int group_load(const struct keys_column *, enum cpu_level, uint64_t begin, uint32_t count, uint64_t *words,
               uint8_t *states);

#define GROUP_MASKS 12u /* groups at most */

/* The rows of a block that are each group's: a bit a row. */
struct group_masks {
    uint8_t of[GROUP_MASKS][KEYS_BLOCK / 8];
};

int group_masks_can(enum cpu_level, uint64_t groups);

/* Whether a share is folded by masks: its values may be null anywhere. */
int group_masks_take(const struct group_share *);

void group_masks_make(struct group_masks *, const uint32_t *ids, uint32_t count, uint32_t groups);

/* Of a block of rows: into the records of `groups` groups, `stride` words apart. */
void group_masks_count(const struct group_masks *, uint64_t *record, uint64_t stride, uint32_t groups);
void group_masks_fold(const struct group_masks *, const struct group_fold *, const struct group_share *,
                      uint64_t begin, uint32_t count, uint64_t *record, uint64_t stride, uint32_t groups);

#endif
