/* shape/sets_ask.h: what is asked of collections: to write sets out, to look into them, to answer queries.
 * Plain C, seen by the API, by both backends and by the kernels.
 *
 * Writing out. A set is written chunk by chunk: one job for each chunk of a large set, one for a list. Jobs
 * of all sets asked for are numbered through, and the sums of entries tell where each writes. Ranges go over
 * the borders of chunks: a range is written by the chunk in which it begins, its last member by the chunk in
 * which it ends. */
#ifndef COHORT_SHAPE_SETS_ASK_H
#define COHORT_SHAPE_SETS_ASK_H

#include "sets.h"

/* ---- writing out --------------------------------------------------------------------------------------- */

enum sets_take_kind {
    SETS_TAKE_SIZES, /* an asked set: its jobs and its entries */
    SETS_TAKE_COUNT, /* a job: how many ranges begin in it */
    /* an asked set, and one more: the ranges before its first job take the place of its entries */
    SETS_TAKE_OFFSETS,
    SETS_TAKE_MEMBERS, /* a job: its members */
    SETS_TAKE_RANGES,  /* a job: its ranges */
    SETS_TAKE_BITS,    /* a job: its bits */
    SETS_TAKES
};

struct sets_take {
    co_u64 items;
    cohort_sets_view view;
    co_u64 n; /* sets asked for */
    const co_u64 *which;
    co_u64 *jobs, *entries; /* n + 1 */
    co_u64 *ranges;         /* jobs + 1 */
    void *members, *lasts, *groups, *bitmaps;
    co_u32 group_bytes, reserved;
    co_u64 bits, stride;
    co_u64 *first_bad; /* the least index in `which` of a set that is none, ~0 */
};

CO_INLINE co_u64 sets_asked(const struct sets_take *t, co_u64 i)
{
    return t->which ? co_read64(t->which + i) : i;
}

/* SIZES, for an asked set. */
CO_INLINE void sets_take_size(const struct sets_take *t, co_u64 i)
{
    co_u64 set = sets_asked(t, i);
    struct co_sets_set s = co_sets_open(&t->view, set);
    if (set >= t->view.sets)
        co_min64(t->first_bad, i);
    co_write64(t->jobs + i, s.large ? s.n : s.n ? 1 : 0);
    co_write64(t->entries + i, co_sets_size(&t->view, &s));
}

/* OFFSETS, for an asked set. */
CO_INLINE void sets_take_offset(const struct sets_take *t, co_u64 i)
{
    co_write64(t->entries + i, co_read64(t->ranges + co_read64(t->jobs + i)));
}

/* A job: which of the asked sets, its own chunk of the directory or the whole list, and the entries before
 * it. */
struct sets_job {
    co_u64 asked, chunk, entry;
    struct co_sets_set set;
};

CO_INLINE struct sets_job sets_job_of(const struct sets_take *t, co_u64 job)
{
    struct sets_job j;
    j.asked = run_at(t->jobs, 0, t->n, job);
    j.set = co_sets_open(&t->view, sets_asked(t, j.asked));
    j.chunk = j.set.first + (job - co_read64(t->jobs + j.asked));
    j.entry = co_read64(t->entries + j.asked);
    if (j.set.large)
        j.entry += co_read64(t->view.before + j.chunk) - co_read64(t->view.before + j.set.first);
    return j;
}

/* Does the least number, or the greatest, belong to the chunk? */
CO_INLINE int sets_chunk_has_end(const cohort_sets_view *v, co_u64 chunk, int greatest)
{
    co_u64 place = co_read64(v->places + chunk);
    const co_u16 *at = co_place_at(v, place);
    co_u32 entries = co_place_entries(place);
    switch (co_place_kind(place)) {
    case CO_CHUNK_ARRAY:
        return greatest ? co_read16(at + entries - 1) == CO_CHUNK_IDS - 1 : co_read16(at) == 0;
    case CO_CHUNK_BITMAP:
        return greatest ? (int)(co_read32((const co_u32 *)(const void *)at + CO_CHUNK_WORDS - 1) >> 31)
                        : (int)(co_read32((const co_u32 *)(const void *)at) & 1);
    case CO_CHUNK_RUNS:
        return greatest ? co_chunk_run_last(at, entries - 1) == CO_CHUNK_IDS - 1 : co_read16(at) == 0;
    default:
        return 1;
    }
}

/* Do the chunk's members go on in the next one of the directory? */
CO_INLINE int sets_chunk_goes_on(const cohort_sets_view *v, co_u64 chunk)
{
    return co_sets_key(v, chunk) + 1 == co_sets_key(v, chunk + 1) && sets_chunk_has_end(v, chunk, 1) &&
           sets_chunk_has_end(v, chunk + 1, 0);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

enum sets_look_kind { /* as cohort_look; those of pairs of sets are queries */
                      SETS_LOOK_CONTAINS = 1,
                      SETS_LOOK_RANK,
                      SETS_LOOK_SELECT,
                      SETS_LOOK_NEXT,
                      SETS_LOOK_COUNT,
                      SETS_LOOK_MIN,
                      SETS_LOOK_MAX
};

struct sets_look {
    cohort_sets_view view;
    co_u32 kind, reserved;
    co_u64 n, set;
    const co_u64 *which;
    const void *values, *lasts;
    void *results;
    co_u32 *hit; /* words: the caller's bitmap has room for whole ones */
    co_u64 *first_bad;
};

CO_INLINE co_u64 sets_value(const struct sets_look *q, const void *values, co_u64 i)
{
    return q->view.wide || q->kind == SETS_LOOK_SELECT ? co_read64((const co_u64 *)values + i)
                                                       : co_read32((const co_u32 *)values + i);
}

/* Whether keys are members of one set, as ids of a split: 0 or 1. */
struct sets_member_ids {
    cohort_sets_view view;
    co_u64 set, n;
    const void *keys;
    co_u32 *ids;
    co_u32 key_bytes;
};

CO_INLINE co_u64 sets_member_key(const struct sets_member_ids *m, co_u64 i)
{
    return m->key_bytes == 8 ? co_read64((const co_u64 *)m->keys + i)
                             : co_read32((const co_u32 *)m->keys + i);
}

/* Members from the first to the last. */
CO_INLINE co_u64 sets_between(const struct sets_look *q, co_u64 set, co_u64 first, co_u64 last)
{
    if (first > last)
        return 0;
    co_u64 before = co_sets_rank(&q->view, set, first), to = co_sets_rank(&q->view, set, last);
    return to - before + (co_sets_contains(&q->view, set, last) ? 1 : 0);
}

CO_INLINE void sets_put_member(const struct sets_look *q, co_u64 i, co_u64 id)
{
    if (!q->results)
        return;
    if (q->view.wide)
        co_write64((co_u64 *)q->results + i, id);
    else
        co_write32((co_u32 *)q->results + i, (co_u32)id);
}

/* Question i: 1 if its bit of `hit` is due. */
CO_INLINE int sets_look_one(const struct sets_look *q, co_u64 i)
{
    co_u64 set = q->which ? co_read64(q->which + i) : q->set, id = 0, n = 0;
    struct co_sets_set s;
    int hit = 0;
    if (set >= q->view.sets)
        co_min64(q->first_bad, i);
    switch (q->kind) {
    case SETS_LOOK_CONTAINS:
        return co_sets_contains(&q->view, set, sets_value(q, q->values, i));
    case SETS_LOOK_RANK:
        n = co_sets_rank(&q->view, set, sets_value(q, q->values, i));
        break;
    case SETS_LOOK_COUNT:
        s = co_sets_open(&q->view, set);
        n = q->values ? sets_between(q, set, sets_value(q, q->values, i), sets_value(q, q->lasts, i))
                      : co_sets_size(&q->view, &s);
        break;
    case SETS_LOOK_SELECT:
        hit = co_sets_select(&q->view, set, sets_value(q, q->values, i), &id);
        break;
    case SETS_LOOK_NEXT:
        hit = co_sets_next(&q->view, set, sets_value(q, q->values, i), &id);
        break;
    case SETS_LOOK_MIN:
        hit = co_sets_select(&q->view, set, 0, &id);
        break;
    default:
        s = co_sets_open(&q->view, set);
        hit = co_sets_select(&q->view, set, co_sets_size(&q->view, &s) - 1, &id);
        break;
    }
    if (q->kind == SETS_LOOK_RANK || q->kind == SETS_LOOK_COUNT)
        co_write64((co_u64 *)q->results + i, n);
    else if (hit)
        sets_put_member(q, i, id);
    return hit;
}

/* ---- queries ------------------------------------------------------------------------------------------- */

enum sets_op_kind { SETS_AND = 1, SETS_OR = 2, SETS_ANDNOT = 3, SETS_XOR = 4, SETS_AT_LEAST = 5 };

#define SETS_OPERANDS_MOST 9u /* collections of a call, and one of its working sets */

/* Chunks that a query with a collection for its answer has found: row by row, ascending, with their members
 * in the pool. The query is called twice: with no pool, to tell what room there must be; then to write, and
 * to tell how much it was. Both calls wait. */
struct sets_found {
    co_u64 *row_first; /* rows + 1 */
    co_u64 *cards, *keys, *places, *digests;
    void *pool;
    co_u64 chunks, units; /* room; then what was found, and the end of what was written */
    co_u64 listed;        /* room: members of rows that may become lists */
    co_u64 work;          /* units of work, which a GPU tells itself */
};

struct sets_query {
    co_u32 op, each;
    co_u64 least;
    co_u32 collections, wide;
    cohort_sets_view view[SETS_OPERANDS_MOST];
    co_u64 first[SETS_OPERANDS_MOST + 1]; /* number of each collection's first set */
    co_u64 rows;
    const co_u64 *members, *offsets;
    co_u64 arity;                 /* without offsets; with `each` of the list */
    const co_u64 *which, *others; /* or rows of two: which[row] (NULL: set) and others[row], */
    co_u64 set;
    co_u32 negate, reserved; /* and 1: `any` says that there is none */
    co_u64 *counts;
    co_u32 *any; /* words */
    co_u64 first_most;
    void *first_out;
    co_u64 *first_counts;
    struct sets_found *found;
    co_u64 *first_bad; /* the least row with a set that is none, ~0 */
    void *workspace;
};

/* Operands of a row. */
CO_INLINE co_u64 sets_row_arity(const struct sets_query *q, co_u64 row)
{
    if (q->others)
        return 2;
    if (q->offsets)
        return co_read64(q->offsets + row + 1) - co_read64(q->offsets + row);
    return q->arity + (q->each ? 1 : 0);
}

/* The number of operand k of a row. */
CO_INLINE co_u64 sets_row_member(const struct sets_query *q, co_u64 row, co_u64 k)
{
    if (q->others)
        return k ? co_read64(q->others + row) : q->which ? co_read64(q->which + row) : q->set;
    if (q->offsets)
        return co_read64(q->members + co_read64(q->offsets + row) + k);
    if (!q->each)
        return co_read64(q->members + row * q->arity + k);
    if (q->each == 1)
        return k < q->arity ? co_read64(q->members + k) : row;
    return k ? co_read64(q->members + k - 1) : row;
}

/* A query as a GPU does it. Units are numbered through: of AND and ANDNOT a row has one for each chunk (of a
 * list: each member) of one operand, its driver; of the others one for each of every operand. A unit is
 * worked on where no operand before has a chunk with its key.
 *
 * One launch plans and works. Warps take tiles of 32 rows; each row's units are counted, and summed up over
 * all rows by a look-back. Who finds no tile left waits until all tiles are planned, and then takes some
 * units at a time. So a row of a million chunks and a million rows of one cost the same. Rows whose first
 * members are wanted are gone through in order, a warp each. */
enum { SETS_PLAN = 1, SETS_WORK = 2, SETS_FIRSTS_ROWS = 4 };

struct sets_query_step {
    struct sets_query q;
    co_u32 phases, reserved;
    co_u64 *prefix; /* rows + 1: units before each row */
    void *words;    /* of the look-back, cleared, as what follows */
    co_u32 *tickets;
    co_u32 *planned; /* tiles */
    co_u64 *next;    /* unit, and then row */
    /* a collection: units by row and key, given or to be told; what each gives */
    co_u64 units;
    co_u64 *unit_rows, *unit_keys;
    co_u64 *cards, *places, *digests;
    void *pool;
    co_u64 *cursor; /* units of the pool so far */
    co_u64 pool_units;
    /* of all rows: chunks, units and members of lists, at most; and units of work */
    co_u64 *bounds;
};

#define SETS_NO_KEY (~0ull) /* of a unit without an answer */

/* What a set comes to, or a row's answer, at most. */
struct sets_bound {
    co_u64 members, chunks, low, high; /* keys */
};

/* `keys`: which of them matters too. */
CO_INLINE struct sets_bound sets_bound_of(const struct sets_query *q, co_u64 number, int keys)
{
    struct sets_bound b = {0, 0, 0, 0};
    co_u32 c = 0;
    while (c + 1 < q->collections && number >= q->first[c + 1])
        c++;
    const cohort_sets_view *v = &q->view[c];
    struct co_sets_set s = co_sets_open(v, number - q->first[c]);
    b.members = co_sets_size(v, &s);
    b.chunks = s.n;
    if (!s.n || !keys)
        return b;
    co_u64 last = s.first + s.n - 1;
    b.low = s.large ? co_sets_key(v, s.first) : co_sets_listed(v, s.first) >> CO_CHUNK_BITS;
    b.high = s.large ? co_sets_key(v, last) : co_sets_listed(v, last) >> CO_CHUNK_BITS;
    return b;
}

CO_INLINE struct sets_bound sets_row_bound(const struct sets_query *q, co_u64 row)
{
    struct sets_bound sum = {0, 0, ~0ull, 0};
    co_u64 n = sets_row_arity(q, row);
    for (co_u64 k = 0; k < n; k++) {
        struct sets_bound b =
            sets_bound_of(q, sets_row_member(q, row, k), q->op != SETS_AND && q->op != SETS_ANDNOT);
        if (q->op == SETS_ANDNOT)
            return b;
        if (q->op == SETS_AND) {
            sum.members = k && sum.members < b.members ? sum.members : b.members;
            sum.chunks = k && sum.chunks < b.chunks ? sum.chunks : b.chunks;
            continue;
        }
        sum.members += b.members;
        sum.chunks += b.chunks;
        sum.low = b.chunks && b.low < sum.low ? b.low : sum.low;
        sum.high = b.chunks && b.high > sum.high ? b.high : sum.high;
    }
    if (q->op != SETS_AND && sum.chunks && sum.chunks - 1 > sum.high - sum.low)
        sum.chunks = sum.high - sum.low + 1;
    return sum;
}

/* Units of the pool: of bitmaps with what they are aligned by, or of arrays. */
CO_INLINE co_u64 sets_units_most(const struct sets_bound *b)
{
    co_u64 bitmaps = b->chunks * (CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES + 3),
           arrays = b->members / 8 + 4 * b->chunks;
    return arrays < bitmaps ? arrays : bitmaps;
}

/* What units have found, moved together. */
struct sets_gather_step {
    co_u64 units, rows;
    const co_u64 *sums, *unit_rows, *unit_keys, *cards, *places, *digests;
    co_u64 *row_first, *cards_out, *keys_out, *places_out, *digests_out;
};

CO_INLINE void sets_gather_unit(const struct sets_gather_step *s, co_u64 u)
{
    co_u64 k = co_read64(s->sums + u);
    if (co_read64(s->sums + u + 1) == k)
        return;
    co_write64(s->cards_out + k, co_read64(s->cards + u));
    co_write64(s->keys_out + k, co_read64(s->unit_keys + u));
    co_write64(s->places_out + k, co_read64(s->places + u));
    co_write64(s->digests_out + k, co_read64(s->digests + u));
}

/* Units are in order of their rows. */
CO_INLINE void sets_gather_row(const struct sets_gather_step *s, co_u64 row)
{
    co_u64 low = 0, high = s->units;
    while (low < high) {
        co_u64 middle = low + (high - low) / 2;
        if (co_read64(s->unit_rows + middle) < row)
            low = middle + 1;
        else
            high = middle;
    }
    co_write64(s->row_first + row, co_read64(s->sums + low));
}

/* Units of an operand. */
CO_INLINE co_u64 sets_operand_units(const struct sets_query *q, co_u64 number)
{
    co_u32 c = 0;
    while (c + 1 < q->collections && number >= q->first[c + 1])
        c++;
    return co_sets_open(&q->view[c], number - q->first[c]).n;
}

#endif
