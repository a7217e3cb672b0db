/* cpu/sets_plan.h: how the rows of a query are cut into pieces, which threads take. */
#ifndef COHORT_CPU_SETS_PLAN_H
#define COHORT_CPU_SETS_PLAN_H

#include "sets.h"

#define SETS_PIECES 64u /* that a plan is about; of rows that are cut there may be half as many more */

/* Whole rows; or of one row the keys from `from` on and below `limit`. */
struct sets_piece_of_rows {
    co_u64 row, row_end;
    co_u64 from, limit; /* whole rows: 0 and SETS_NO_KEY; of a row that is cut only the first has from 0 */
    co_u64 chunk, unit; /* of the room for found chunks: where this piece's begins */
};

struct sets_plan {
    const struct sets_query *q;
    co_u64 arity;  /* the most of a row */
    co_u64 listed; /* members of rows that may become lists, at most */
    co_u32 pieces;
    struct sets_piece_of_rows piece[2 * SETS_PIECES + 1]; /* behind the last one the end of the room */
};

/* Sets the counts of rows that are cut to 0: each piece adds its own. told: somebody is told of the work. */
void sets_plan_make(struct sets_plan *, const struct sets_query *, unsigned threads, int told);

/* What of the set has these keys, as a set of its own, which has no index. */
struct co_sets_set sets_part_of(const cohort_sets_view *, struct co_sets_set set, co_u64 from, co_u64 limit);

/* Counts alone are wanted of this query, and this row is of two sets: what they have in common tells the
 * rest. */
int sets_row_meets(const struct sets_query *, co_u64 row);

/* The set with this number, and the collection that it is of. A number that is none is taken for an empty set
 * of the last. */
CO_INLINE struct co_sets_set sets_of_row(const struct sets_query *q, co_u64 number,
                                         const cohort_sets_view **view)
{
    co_u32 c = 0;
    while (c + 1 < q->collections && number >= q->first[c + 1])
        c++;
    *view = &q->view[c];
    return co_sets_open(*view, number - q->first[c]);
}

/* Two lists of members of 32 bits, known by their words alone. */
struct sets_two_lists {
    const co_u32 *at[2];
    co_u64 n[2];
};

/* These sets of the collection are such two. */
CO_INLINE int sets_two_lists_of(const cohort_sets_view *v, co_u64 first, co_u64 second,
                                struct sets_two_lists *l)
{
    if (first >= v->sets || second >= v->sets)
        return 0;
    co_u64 a = co_read64(v->words + first), b = co_read64(v->words + second);
    l->n[0] = a >> CO_SETS_LIST_COUNT;
    l->n[1] = b >> CO_SETS_LIST_COUNT;
    l->at[0] = (const co_u32 *)v->lists + (a & ((1ull << CO_SETS_LIST_COUNT) - 1));
    l->at[1] = (const co_u32 *)v->lists + (b & ((1ull << CO_SETS_LIST_COUNT) - 1));
    return !((a | b) & CO_SETS_LARGE);
}

/* The row is of such two, of the query's one collection. */
CO_INLINE int sets_are_two_lists(const struct sets_query *q, co_u64 row, struct sets_two_lists *l)
{
    if (q->wide || q->collections != 1 || sets_row_arity(q, row) != 2)
        return 0;
    return sets_two_lists_of(&q->view[0], sets_row_member(q, row, 0), sets_row_member(q, row, 1), l);
}

CO_INLINE int sets_piece_is_whole(const struct sets_piece_of_rows *p)
{
    return !p->from && p->limit == SETS_NO_KEY;
}

#endif
