/* shape/sets_index.h: the index of a collection, by which the sets that contain a value are found: how it
 * lies in memory, the steps by which it is made, and what a question is. Plain C, seen by the API, by
 * both backends and by the kernels.
 *
 * The index has two tables. One lists the chunks of the directory by key, each with its digest, its place
 * and its set; the other the members of all lists, each with its set. Both are sorted and keep the order
 * of sets among equals. So the chunks that may contain a value are one range of the first, in which the
 * digests spare most looks into chunks; and the lists that contain it are one range of the second, where
 * nothing is left to look for. The two ranges are merged by set.
 *
 * A table's keys are cut evenly into spans of 2^shift between the least and the greatest, about one for
 * each chunk or for four members of lists. Where each span begins is told by `firsts`; within a span it
 * is searched by halves. With shift 0 a span is a key, and nothing is searched. */
#ifndef COHORT_SHAPE_SETS_INDEX_H
#define COHORT_SHAPE_SETS_INDEX_H

#include "sets.h"

/* ---- the index ----------------------------------------------------------------------------------------- */

struct sets_table {
    co_u64 n, least, spans; /* spans: 0 of an empty table */
    co_u32 shift, wide;     /* wide: keys of 8 bytes, else of 4 */
    const void *keys;       /* n, ascending */
    const void *owners;     /* n: the set of each */
    co_u64 *firsts;         /* spans + 1 */
};

struct sets_index {
    struct sets_table chunks, listed;
    const co_u64 *digests, *places; /* of chunks.keys */
    co_u32 owner_bytes, reserved;   /* 4 or 8 */
};

#define SETS_SPANS_LEAST   64u /* spans that a table may have in any case */
#define SETS_SPAN_OF_LISTS 4u  /* members of lists for each span */

/* Spans that a table of n keys may have. */
CO_INLINE co_u64 sets_spans_most(co_u64 n, co_u64 each)
{
    return n / each + SETS_SPANS_LEAST;
}

/* The spans of a table whose least and greatest keys are known. */
CO_INLINE void sets_table_cut(struct sets_table *t, co_u64 least, co_u64 greatest, co_u64 most)
{
    t->least = least;
    t->shift = 0;
    while ((greatest - least) >> t->shift >= most)
        t->shift++;
    t->spans = ((greatest - least) >> t->shift) + 1;
}

/* How many of keys[first .. end) are below, or with `equal` not above. */
CO_INLINE co_u64 sets_table_lower(const struct sets_table *t, co_u64 first, co_u64 end, co_u64 key, int equal)
{
    while (first < end) {
        co_u64 middle = first + (end - first) / 2, k = sets_number(t->keys, middle, (int)t->wide);
        if (k < key || (equal && k == key))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Where entries of a table lie that have one key. */
struct sets_range {
    co_u64 first, end;
};

/* The span of a key: its entries are in there. */
CO_INLINE struct sets_range sets_table_span(const struct sets_table *t, co_u64 key)
{
    struct sets_range r = {0, 0};
    co_u64 span = (key - t->least) >> t->shift;
    if (key < t->least || span >= t->spans)
        return r;
    r.first = co_read64(t->firsts + span);
    r.end = co_read64(t->firsts + span + 1);
    return r;
}

CO_INLINE struct sets_range sets_table_within(const struct sets_table *t, struct sets_range r, co_u64 key)
{
    if (!t->shift)
        return r;
    r.first = sets_table_lower(t, r.first, r.end, key, 0);
    r.end = sets_table_lower(t, r.first, r.end, key, 1);
    return r;
}

/* ---- making it ----------------------------------------------------------------------------------------- */

enum sets_index_kind {
    SETS_INDEX_OWNERS, /* a set: it is put down for each of its chunks, with the key, or of its members */
    SETS_INDEX_SPANS,  /* a span, and one more: where it begins */
    SETS_INDEX_STEPS
};

struct sets_index_step {
    co_u64 items;
    cohort_sets_view view;
    co_u32 owner_bytes, reserved;
    void *chunk_keys, *chunk_owners, *listed_owners; /* of OWNERS; keys of 4 or 8 bytes, as members */
    struct sets_table table;                         /* of SPANS */
};

CO_INLINE void sets_put_number(void *array, co_u64 i, co_u64 v, int wide)
{
    if (wide)
        co_write64((co_u64 *)array + i, v);
    else
        co_write32((co_u32 *)array + i, (co_u32)v);
}

/* OWNERS, for entry i of an opened set. */
CO_INLINE void sets_index_own(const struct sets_index_step *s, const struct co_sets_set *set, co_u64 number,
                              co_u64 i)
{
    int wide = s->owner_bytes == 8;
    if (!set->large) {
        sets_put_number(s->listed_owners, set->first + i, number, wide);
        return;
    }
    sets_put_number(s->chunk_keys, set->first + i, co_sets_key(&s->view, set->first + i), (int)s->view.wide);
    sets_put_number(s->chunk_owners, set->first + i, number, wide);
}

/* SPANS, for span i. */
CO_INLINE void sets_index_span(const struct sets_index_step *s, co_u64 i)
{
    const struct sets_table *t = &s->table;
    co_u64 first = i < t->spans ? sets_table_lower(t, 0, t->n, t->least + (i << t->shift), 0) : t->n;
    co_write64(t->firsts + i, first);
}

/* ---- questions ----------------------------------------------------------------------------------------- */

/* Which sets contain each of n values. A value's chunks are cut into `pieces` as even as can be, with the
 * lists' members that lie between them by the number of their set; a piece is a warp's work, or a part of a
 * thread's. Pieces are counted, the counts summed up, and then sets written from there. */
struct sets_containing {
    cohort_sets_view view;
    struct sets_index index;
    co_u64 n, pieces;
    const void *values;
    co_u64 *sums; /* n * pieces + 1 */
    /* NULL: not wanted */
    co_u64 *counts, *offsets, *total, *sets;
    co_u64 first, capacity; /* of `sets`: entries from the first one on */
};

/* A piece: chunks of the index, and members of lists. */
struct sets_piece_of_value {
    struct sets_range chunks, listed;
    co_u32 low16;
};

CO_INLINE co_u64 sets_owner_at(const struct sets_index *x, const void *owners, co_u64 i)
{
    return sets_number(owners, i, x->owner_bytes == 8);
}

/* How many of the entries' sets are below. */
CO_INLINE co_u64 sets_owners_lower(const struct sets_index *x, const void *owners, co_u64 first, co_u64 end,
                                   co_u64 set)
{
    while (first < end) {
        co_u64 middle = first + (end - first) / 2;
        if (sets_owner_at(x, owners, middle) < set)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Entry number k of n pieces of a range; products of two numbers below 2^48 and 2^16 are right. */
CO_INLINE co_u64 sets_cut(const struct sets_range *r, co_u64 k, co_u64 pieces)
{
    return r->first + (r->end - r->first) * k / pieces;
}

/* Where piece k begins among the lists' members. */
CO_INLINE co_u64 sets_cut_listed(const struct sets_index *x, const struct sets_piece_of_value *all, co_u64 k,
                                 co_u64 pieces)
{
    const struct sets_range *c = &all->chunks, *l = &all->listed;
    if (!k || k == pieces)
        return k ? l->end : l->first;
    if (c->first == c->end)
        return sets_cut(l, k, pieces);
    return sets_owners_lower(x, x->listed.owners, l->first, l->end,
                             sets_owner_at(x, x->chunks.owners, sets_cut(c, k, pieces)));
}

CO_INLINE struct sets_piece_of_value sets_piece_at(const struct sets_containing *q, co_u64 item)
{
    const struct sets_index *x = &q->index;
    co_u64 value = sets_number(q->values, item / q->pieces, (int)q->view.wide), k = item % q->pieces;
    struct sets_piece_of_value all, p;
    all.chunks = sets_table_span(&x->chunks, value >> CO_CHUNK_BITS);
    all.chunks = sets_table_within(&x->chunks, all.chunks, value >> CO_CHUNK_BITS);
    all.listed = sets_table_within(&x->listed, sets_table_span(&x->listed, value), value);
    all.low16 = (co_u32)value & (CO_CHUNK_IDS - 1);
    if (q->pieces == 1)
        return all;
    p.chunks.first = sets_cut(&all.chunks, k, q->pieces);
    p.chunks.end = sets_cut(&all.chunks, k + 1, q->pieces);
    p.listed.first = sets_cut_listed(x, &all, k, q->pieces);
    p.listed.end = sets_cut_listed(x, &all, k + 1, q->pieces);
    p.low16 = all.low16;
    return p;
}

/* Is it worth a look into the chunk? */
CO_INLINE int sets_digest_has(co_u64 digest, co_u32 low16)
{
    return (int)(digest >> (low16 >> 10) & 1);
}

CO_INLINE int sets_index_has(const struct sets_containing *q, co_u64 chunk, co_u32 low16)
{
    return sets_digest_has(co_read64(q->index.digests + chunk), low16) &&
           co_chunk_contains(&q->view, co_read64(q->index.places + chunk), low16);
}

/* An entry of the answer, by its number among all of them. */
CO_INLINE void sets_containing_put(const struct sets_containing *q, co_u64 entry, co_u64 set)
{
    if (entry >= q->first && entry - q->first < q->capacity)
        co_write64(q->sets + (entry - q->first), set);
}

/* Is one of these entries to be written? */
CO_INLINE int sets_containing_is_asked(const struct sets_containing *q, co_u64 at, co_u64 end)
{
    return at < end && end > q->first && (at < q->first || at - q->first < q->capacity);
}

/* What is told of value i, and for i = n of all. */
CO_INLINE void sets_containing_tell(const struct sets_containing *q, co_u64 i)
{
    co_u64 before = co_read64(q->sums + i * q->pieces);
    if (q->offsets)
        co_write64(q->offsets + i, before);
    if (i < q->n && q->counts)
        co_write64(q->counts + i, co_read64(q->sums + (i + 1) * q->pieces) - before);
    if (i == q->n && q->total)
        co_write64(q->total, before);
}

#endif
