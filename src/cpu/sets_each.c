/* cpu/sets_each.c: one set asked against each set of a collection, counted or asked whether there is a
 * member. Lists lie side by side, so the members of many rows' lists are looked up one after the other, and
 * rows are looked for only where one is found.
 *
 * Most members of most sets are in no set that is asked for. A filter of 2^16 bits says so by one read of the
 * first cache: of a set with chunks a bit for each key, of a list one for a hash of each member. What it lets
 * through is searched for. */
#include "sets_vector.h"

#include <string.h>

#define ROWS      512u
#define BITS_EACH 4u /* bits of the filter that a row may cost */

struct one {
    const cohort_sets_view *view;
    struct co_sets_set set;
    co_u64 size;
    co_u64 filter[SETS_CHUNK_WORDS];
};

/* The bit of a member. */
CO_INLINE co_u32 bit_of(const struct one *o, co_u64 id)
{
    return o->set.large ? (co_u32)(id >> CO_CHUNK_BITS) & (CO_CHUNK_IDS - 1)
                        : (co_u32)((id ^ id >> 32) * 0x9e3779b1u >> CO_CHUNK_BITS) & (CO_CHUNK_IDS - 1);
}

CO_INLINE void let_through(struct one *o, co_u32 bit)
{
    o->filter[bit / 64] |= 1ull << bit % 64;
}

static void open_one(struct one *o, const struct sets_query *q)
{
    o->set = sets_of_row(q, co_read64(q->members), &o->view);
    o->size = co_sets_size(o->view, &o->set);
    memset(o->filter, 0, sizeof o->filter);
    for (co_u64 i = o->set.first; i < o->set.first + o->set.n; i++)
        let_through(o, bit_of(o, o->set.large ? co_sets_key(o->view, i) << CO_CHUNK_BITS
                                              : co_sets_listed(o->view, i)));
}

static int search(const struct one *o, co_u64 id)
{
    if (!o->set.large) {
        co_u64 i = co_sets_list_lower(o->view, &o->set, id);
        return i < o->set.n && co_sets_listed(o->view, o->set.first + i) == id;
    }
    co_u64 chunk = co_sets_chunk(o->view, &o->set, id >> CO_CHUNK_BITS);
    return chunk != CO_SETS_NONE &&
           co_chunk_contains(o->view, o->view->places[chunk], (co_u32)id & (CO_CHUNK_IDS - 1));
}

/* Rows that are done together: their lists lie side by side. */
struct rows {
    co_u64 begin, from; /* the first row; where the first list begins */
    co_u32 n;
    co_u64 ends[ROWS]; /* of each row's list, as entries of all lists; a set with chunks has none */
    co_u64 size[ROWS]; /* members of each row's set, */
    co_u64 both[ROWS]; /* and which of them the one set has */
};

static void open_rows(struct rows *r, const struct sets_vectors *vectors, const cohort_sets_view *v,
                      const struct one *o)
{
    co_u64 at = 0;
    memset(r->both, 0, r->n * sizeof *r->both);
    r->from = 0;
    for (co_u32 k = 0; k < r->n; k++) {
        co_u64 word = v->words[r->begin + k], n = word & CO_SETS_LARGE ? 0 : word >> CO_SETS_LIST_COUNT;
        if (n && !at)
            at = r->from = word & ((1ull << CO_SETS_LIST_COUNT) - 1);
        r->ends[k] = at += n;
        r->size[k] = n;
        if (word & CO_SETS_LARGE) {
            struct co_sets_set set = co_sets_open(v, r->begin + k);
            r->size[k] = co_sets_size(v, &set);
            r->both[k] = sets_meet(vectors, v, &set, o->view, &o->set);
        }
    }
}

/* Looks the members of all lists up. */
CO_INLINE void look_up(struct rows *r, const struct one *o, const void *lists, int wide)
{
    co_u64 end = r->ends[r->n - 1];
    co_u32 k = 0;
    for (co_u64 i = r->from; i < end; i++) {
        co_u64 id = sets_number(lists, i, wide);
        co_u32 bit = bit_of(o, id);
        if (!(o->filter[bit / 64] >> bit % 64 & 1) || !search(o, id))
            continue;
        while (r->ends[k] <= i)
            k++;
        r->both[k]++;
    }
}

static void put_rows(const struct rows *r, const struct sets_query *q, const struct one *o)
{
    for (co_u32 k = 0; k < r->n; k++) {
        co_u64 row = r->begin + k, both = r->both[k];
        co_u64 count = q->each == 1 ? sets_count_of(q, o->size, r->size[k], both)
                                    : sets_count_of(q, r->size[k], o->size, both);
        if (q->counts)
            q->counts[row] = count;
        if (q->any && (count == 0) == q->negate)
            co_or32(q->any + row / 32, 1u << row % 32);
    }
}

int sets_each_may(const struct sets_query *q)
{
    return q->each && q->arity == 1 && !q->offsets && !q->others && q->op <= SETS_XOR && !q->found &&
           !q->first_most && (q->counts || q->any) && co_read64(q->members) < q->first[SETS_OPERANDS_MOST];
}

co_u64 sets_each_rows(const struct sets_vectors *vectors, const struct sets_query *q, co_u64 begin,
                      co_u64 end)
{
    const cohort_sets_view *v = &q->view[0], *view;
    struct one o;
    struct rows r;
    if (sets_of_row(q, co_read64(q->members), &view).n > BITS_EACH * (end - begin))
        return begin;
    open_one(&o, q);
    for (r.begin = begin; r.begin < end; r.begin += r.n) {
        r.n = end - r.begin < ROWS ? (co_u32)(end - r.begin) : ROWS;
        open_rows(&r, vectors, v, &o);
        if (v->wide)
            look_up(&r, &o, v->lists, 1);
        else
            look_up(&r, &o, v->lists, 0);
        put_rows(&r, q, &o);
    }
    return end;
}
