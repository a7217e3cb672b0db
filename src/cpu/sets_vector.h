/* cpu/sets_vector.h: the inner loops of sets: arrays against arrays, bitmaps against bitmaps, plain,
 * with AVX2, and with AVX-512. */
#ifndef COHORT_CPU_SETS_VECTOR_H
#define COHORT_CPU_SETS_VECTOR_H

#include "sets_plan.h"
#include "shape/set.h"

#define SETS_RUNS_SWEPT  1024u /* entries of two chunks that `sweep` takes at most */
#define SETS_VECTOR_ROOM 64u /* numbers that may be written behind an array that `members` or `merge` makes */

/* Of some lines of two bitmaps that were put together: the first one's members, but for AND; those of the
 * outcome, and the lines that have any. */
struct set_line_sums {
    co_u32 before, after;
    struct set_lines some;
};

struct sets_vectors {
    /* Those of a that are in b (keep 1) or not (0): their number, and in order to `to`, which may be a, or
     * NULL. Both arrays ascend. Costs a turn for each of the one array, and one for each 32 of the other. */
    co_u32 (*filter)(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to);
    /* to = a op b, op by enum sets_op_kind; to may be a, or NULL: only what it comes to, the runs left
     * out. */
    struct sets_measure (*words)(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op);
    /* The same, past the caches: `to` begins a line, and is neither a nor b; cpu_stream_end is called when
     * all is done. */
    struct sets_measure (*words_past)(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op);
    /* The members of a bitmap with this digest as an array; their number. */
    co_u32 (*members)(const co_u64 *words, co_u64 digest, co_u16 *to);
    /* a OR b, or XOR, of two arrays, neither empty, to `to`, which has room for both; how many. */
    co_u32 (*merge)(co_u32 op, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, co_u16 *to);
    co_u64 (*digest)(const co_u16 *a, co_u32 n); /* of an array */
    /* words = words op the array's members; op is not AND. */
    void (*change)(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n);
    /* Those of list a that are in list b (keep 1) or not (0), of members of 32 bits: their number, and in
     * order to `to`, or NULL; `to` is neither list, and has room for 16 more. Costs a turn for each of b, and
     * one for each 16 of a. NULL: there is no faster way than from member to member. */
    co_u64 (*lists)(const co_u32 *a, co_u64 n, const co_u32 *b, co_u64 m, int keep, co_u32 *to);
    /* Runs of a op b, of two chunks that are arrays or runs, neither empty, to `to`, which has room for a run
     * each entry and one more. */
    struct sets_measure (*sweep)(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b,
                                 co_u16 *to);
    co_u32 swept; /* entries of both that are worth it */
    /* Counts of rows from `begin` on, before `end`, for which sets_row_meets: the first row that is still to
     * be done. Rows of the sets of one collection of members of 32 bits are done. NULL: none are. */
    co_u64 (*pairs)(const struct sets_vectors *, const struct sets_query *, co_u64 begin, co_u64 end);
    /* to = a op b in those lines alone, of blocks of working sets; to may be a. */
    struct set_line_sums (*lines)(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op,
                                  const struct set_lines *);
};

const struct sets_vectors *sets_vectors_of(enum cpu_level level);

/* Those of any processor, and two of them alone, where no vectors are better. */
const struct sets_vectors *sets_plain(void);
co_u32 sets_merge_plain(co_u32 op, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, co_u16 *to);
co_u64 sets_digest_plain(const co_u16 *a, co_u32 n);

/* Those of one with AVX2. */
const struct sets_vectors *sets_avx2(void);

/* Those of a processor with AVX-512 that also has VPOPCNTDQ and VBMI2, and that need not have them. */
const struct sets_vectors *sets_avx512(void);
const struct sets_vectors *sets_avx512_bw(void);

/* ---- steps through a set ------------------------------------------------------------------------------- */

#define SETS_NEAR 8u /* so many are looked at one by one, then the search is by halves, or by the index */

/* The first chunk from `at` on whose key is not below; that at `at` is. */
CO_INLINE co_u64 sets_seek(const cohort_sets_view *v, const struct co_sets_set *s, co_u64 at, co_u64 key)
{
    co_u64 end = s->first + s->n, near = end - at > SETS_NEAR ? at + SETS_NEAR : end;
    co_u32 present;
    do
        at++;
    while (at < near && co_sets_key(v, at) < key);
    return at == near && at < end ? s->first + co_sets_lower(v, s, key, &present) : at;
}

/* The first entry of a list from `at` on, and before `end`, that is not below. */
CO_INLINE co_u64 sets_list_seek(const cohort_sets_view *v, co_u64 at, co_u64 end, co_u64 id)
{
    co_u64 near = end - at > SETS_NEAR ? at + SETS_NEAR : end;
    while (at < near && co_sets_listed(v, at) < id)
        at++;
    struct co_sets_set rest = {at, end - at, 0, 0, 0, 0};
    return at == near ? at + co_sets_list_lower(v, &rest, id) : at;
}

/* ---- two sets ------------------------------------------------------------------------------------------ */

/* Members of two chunks of the directory in common. */
co_u32 sets_chunks_meet(const struct sets_vectors *, const struct sets_chunk *a, const struct sets_chunk *b);

/* Most rows of small sets are over as soon as this is read. */
CO_INLINE int sets_lists_lie_apart(const struct sets_two_lists *l)
{
    const co_u32 *x = l->at[0], *y = l->at[1];
    return !l->n[0] || !l->n[1] || (x[l->n[0] - 1] < y[0]) | (y[l->n[1] - 1] < x[0]);
}

/* Members of two sets in common. */
co_u64 sets_meet(const struct sets_vectors *, const cohort_sets_view *v, const struct co_sets_set *a,
                 const cohort_sets_view *w, const struct co_sets_set *b);

/* What an operation on two sets comes to, by their sizes and what they have in common. */
CO_INLINE co_u64 sets_count_of(const struct sets_query *q, co_u64 first, co_u64 second, co_u64 both)
{
    return q->op == SETS_AND      ? both
           : q->op == SETS_OR     ? first + second - both
           : q->op == SETS_ANDNOT ? first - both
                                  : first + second - 2 * both;
}

/* One set asked against each of a collection, as counts or `any` and nothing else: sets_each.c does it. */
int sets_each_may(const struct sets_query *);

/* It does rows [begin, end), or none, where they are too few for it: the first row that is still to be
 * done. */
co_u64 sets_each_rows(const struct sets_vectors *, const struct sets_query *, co_u64 begin, co_u64 end);

/* The counts of rows of two sets, for which sets_row_meets. */
void sets_meet_rows(const struct sets_vectors *, const struct sets_query *, co_u64 begin, co_u64 end);

/* Adds the count of a part of such a row. */
void sets_meet_part(const struct sets_vectors *, const struct sets_query *,
                    const struct sets_piece_of_rows *);

#endif
