/* cpu/sets_meet.c: how many members two sets have in common, with nothing written. Of two sets that is
 * enough to tell the size of every operation: |A or B| = |A| + |B| - |A and B|, and so on. */
#include "sets_vector.h"

/* ---- two chunks ---------------------------------------------------------------------------------------- */

static co_u32 array_bitmap(const co_u16 *at, co_u32 n, const co_u64 *words)
{
    co_u32 sum = 0;
    for (co_u32 i = 0; i < n; i++)
        sum += (co_u32)(words[at[i] / 64] >> at[i] % 64 & 1);
    return sum;
}

/* Where runs are few, by searches. */
static co_u32 array_runs(const co_u16 *at, co_u32 n, const co_u16 *runs, co_u32 m)
{
    co_u32 sum = 0, i = 0;
    for (co_u32 r = 0; r < m && i < n; r++) {
        co_u32 first = runs[2 * r], last = co_chunk_run_last(runs, r);
        if (n > 16 * m && i + 1 < n && at[i] < first)
            i += co_chunk_array_lower(at + i, n - i, first);
        while (i < n && at[i] < first)
            i++;
        co_u32 from = i;
        if (n > 16 * m)
            i += co_chunk_array_lower(at + i, n - i, last + 1);
        while (i < n && at[i] <= last)
            i++;
        sum += i - from;
    }
    return sum;
}

static co_u32 bits_between(const co_u64 *words, co_u32 first, co_u32 last)
{
    co_u64 low = ~0ull << first % 64, high = ~0ull >> (63 - last % 64);
    if (first / 64 == last / 64)
        return (co_u32)__builtin_popcountll(words[first / 64] & low & high);
    co_u32 sum = (co_u32)__builtin_popcountll(words[first / 64] & low);
    for (co_u32 i = first / 64 + 1; i < last / 64; i++)
        sum += (co_u32)__builtin_popcountll(words[i]);
    return sum + (co_u32)__builtin_popcountll(words[last / 64] & high);
}

static co_u32 runs_runs(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m)
{
    co_u32 sum = 0, i = 0, j = 0;
    while (i < n && j < m) {
        co_u32 first_a = a[2 * i], last_a = co_chunk_run_last(a, i);
        co_u32 first_b = b[2 * j], last_b = co_chunk_run_last(b, j);
        if (last_a < first_b) {
            i++;
            continue;
        }
        if (last_b < first_a) {
            j++;
            continue;
        }
        co_u32 first = first_a > first_b ? first_a : first_b;
        if (last_a < last_b) {
            sum += last_a - first + 1;
            i++;
        } else {
            sum += last_b - first + 1;
            j++;
        }
    }
    return sum;
}

static co_u32 runs_any(const struct sets_chunk *runs, const struct sets_chunk *o)
{
    co_u32 sum = 0;
    if (o->kind == CO_CHUNK_RUNS)
        return runs_runs(runs->at, runs->entries, o->at, o->entries);
    if (o->kind == CO_CHUNK_ARRAY)
        return array_runs(o->at, o->entries, runs->at, runs->entries);
    for (co_u32 i = 0; i < runs->entries; i++)
        sum += bits_between(o->at, ((const co_u16 *)runs->at)[2 * i], co_chunk_run_last(runs->at, i));
    return sum;
}

co_u32 sets_chunks_meet(const struct sets_vectors *v, const struct sets_chunk *a, const struct sets_chunk *b)
{
    if (!(a->digest & b->digest))
        return 0;
    if (a->kind == CO_CHUNK_FULL || b->kind == CO_CHUNK_FULL)
        return a->kind == CO_CHUNK_FULL ? b->card : a->card;
    if (a->kind == CO_CHUNK_RUNS || b->kind == CO_CHUNK_RUNS)
        return a->kind == CO_CHUNK_RUNS ? runs_any(a, b) : runs_any(b, a);
    if (a->kind == CO_CHUNK_BITMAP && b->kind == CO_CHUNK_BITMAP)
        return v->words(NULL, a->at, b->at, SETS_AND).card;
    if (a->kind == CO_CHUNK_BITMAP)
        return array_bitmap(b->at, b->entries, a->at);
    if (b->kind == CO_CHUNK_BITMAP)
        return array_bitmap(a->at, a->entries, b->at);
    return a->entries <= b->entries ? v->filter(a->at, a->entries, b->at, b->entries, 1, NULL)
                                    : v->filter(b->at, b->entries, a->at, a->entries, 1, NULL);
}

/* ---- two sets ------------------------------------------------------------------------------------------ */

/* A short list in a long one. */
static co_u64 lists_meet_skewed(const cohort_sets_view *v, const struct co_sets_set *a,
                                const cohort_sets_view *w, const struct co_sets_set *b)
{
    co_u64 sum = 0, j = b->first, end = b->first + b->n;
    for (co_u64 i = a->first; i < a->first + a->n && j < end; i++) {
        co_u64 id = co_sets_listed(v, i);
        j = sets_list_seek(w, j, end, id);
        sum += j < end && co_sets_listed(w, j) == id;
    }
    return sum;
}

static co_u64 lists_meet(const cohort_sets_view *v, const struct co_sets_set *a, const cohort_sets_view *w,
                         const struct co_sets_set *b)
{
    co_u64 sum = 0, i = a->first, j = b->first, a_end = a->first + a->n, b_end = b->first + b->n;
    if (a->n > 8 * b->n || b->n > 8 * a->n)
        return a->n < b->n ? lists_meet_skewed(v, a, w, b) : lists_meet_skewed(w, b, v, a);
    while (i < a_end && j < b_end) {
        co_u64 x = co_sets_listed(v, i), y = co_sets_listed(w, j);
        sum += x == y;
        i += x <= y;
        j += y <= x;
    }
    return sum;
}

/* A list, and a set of chunks. */
static co_u64 list_meets(const cohort_sets_view *v, const struct co_sets_set *list, const cohort_sets_view *w,
                         const struct co_sets_set *b)
{
    co_u64 sum = 0, at = b->first, end = b->first + b->n;
    for (co_u64 i = list->first; i < list->first + list->n; i++) {
        co_u64 id = co_sets_listed(v, i), key = id >> CO_CHUNK_BITS;
        if (co_sets_key(w, at) < key)
            at = sets_seek(w, b, at, key);
        if (at == end)
            break;
        if (co_sets_key(w, at) == key)
            sum += (co_u64)co_chunk_contains(w, w->places[at], (co_u32)id & (CO_CHUNK_IDS - 1));
    }
    return sum;
}

co_u64 sets_meet(const struct sets_vectors *vectors, const cohort_sets_view *v, const struct co_sets_set *a,
                 const cohort_sets_view *w, const struct co_sets_set *b)
{
    co_u64 sum = 0, i = a->first, j = b->first, a_end = a->first + a->n, b_end = b->first + b->n;
    if (!a->n || !b->n)
        return 0;
    if (!a->large || !b->large)
        return a->large    ? list_meets(w, b, v, a)
               : !b->large ? lists_meet(v, a, w, b)
                           : list_meets(v, a, w, b);
    while (i < a_end && j < b_end) {
        co_u64 x = co_sets_key(v, i), y = co_sets_key(w, j);
        if (x < y) {
            i = sets_seek(v, a, i, y);
        } else if (y < x) {
            j = sets_seek(w, b, j, x);
        } else {
            struct sets_chunk c = sets_chunk_of(v, i++), d = sets_chunk_of(w, j++);
            sum += sets_chunks_meet(vectors, &c, &d);
        }
    }
    return sum;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

CO_INLINE co_u64 lists_both(const struct sets_vectors *vectors, const struct sets_two_lists *l)
{
    const co_u32 *x = l->at[0], *y = l->at[1];
    co_u64 n = l->n[0], m = l->n[1];
    return sets_lists_lie_apart(l) ? 0 : vectors->lists(x, n, y, m, 1, NULL);
}

static co_u64 row_count(const struct sets_vectors *vectors, const struct sets_query *q, co_u64 row,
                        co_u64 from, co_u64 limit)
{
    const cohort_sets_view *view[2];
    struct co_sets_set set[2];
    for (co_u32 k = 0; k < 2; k++) {
        co_u64 number = sets_row_member(q, row, k);
        if (number >= q->first[SETS_OPERANDS_MOST])
            co_min64(q->first_bad, row);
        set[k] = sets_of_row(q, number, &view[k]);
        if (limit != SETS_NO_KEY || from)
            set[k] = sets_part_of(view[k], set[k], from, limit);
    }
    co_u64 both = sets_meet(vectors, view[0], &set[0], view[1], &set[1]);
    if (q->op == SETS_AND)
        return both;
    return sets_count_of(q, co_sets_size(view[0], &set[0]), co_sets_size(view[1], &set[1]), both);
}

void sets_meet_rows(const struct sets_vectors *vectors, const struct sets_query *q, co_u64 begin, co_u64 end)
{
    struct sets_two_lists l;
    for (co_u64 row = begin; row < end; row++) {
        if (vectors->pairs && (row = vectors->pairs(vectors, q, row, end)) == end)
            return;
        q->counts[row] = vectors->lists && sets_are_two_lists(q, row, &l)
                             ? sets_count_of(q, l.n[0], l.n[1], lists_both(vectors, &l))
                             : row_count(vectors, q, row, 0, SETS_NO_KEY);
    }
}

void sets_meet_part(const struct sets_vectors *vectors, const struct sets_query *q,
                    const struct sets_piece_of_rows *p)
{
    __atomic_fetch_add(&q->counts[p->row], row_count(vectors, q, p->row, p->from, p->limit),
                       __ATOMIC_RELAXED);
}
