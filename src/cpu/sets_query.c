/* cpu/sets_query.c: queries on the host's threads.
 *
 * Rows are cut into pieces, which threads take (sets_plan.c). A row goes through the keys of its operands in
 * ascending order, each operand with a cursor in its chunks (of a list: in its members, those of one key
 * being a chunk). What one key gives is a chunk of the answer: counted, looked for its first members, or put
 * down.
 *
 * A collection. What a piece may find at most is known before, so each piece writes its chunks and members
 * one after the other into room of its own; what was found is then moved together, the members stay where
 * they are. */
#include <stdlib.h>
#include <string.h>

#include "sets_combine.h"

/* ---- operands ------------------------------------------------------------------------------------------ */

struct operand {
    const cohort_sets_view *view;
    struct co_sets_set set;
    co_u64 at, end; /* chunk or list entry */
    co_u64 key;     /* of what is at `at`; at the end SETS_NO_KEY, which is above all */
};

struct row_state {
    const struct sets_query *q;
    const struct sets_vectors *vectors;
    struct cpu_scratch *scratch;
    struct operand *operands;
    struct sets_chunk *chunks;
    co_u64 n;
};

static void read_key(struct operand *o)
{
    o->key = o->at == o->end ? SETS_NO_KEY
             : o->set.large  ? co_sets_key(o->view, o->at)
                             : co_sets_listed(o->view, o->at) >> CO_CHUNK_BITS;
}

static void open_operand(const struct sets_query *q, co_u64 number, const struct sets_piece_of_rows *piece,
                         struct operand *o)
{
    struct co_sets_set set = sets_of_row(q, number, &o->view);
    if (!sets_piece_is_whole(piece))
        set = sets_part_of(o->view, set, piece->from, piece->limit);
    o->set = set;
    o->at = set.first;
    o->end = set.first + set.n;
    read_key(o);
}

/* The end of what has the operand's key. */
static co_u64 part_end(const struct operand *o)
{
    co_u64 end = o->at + 1;
    while (!o->set.large && end < o->end && co_sets_listed(o->view, end) >> CO_CHUNK_BITS == o->key)
        end++;
    return end;
}

static void step(struct operand *o)
{
    o->at = part_end(o);
    read_key(o);
}

/* To the first key that is not below. */
static void seek(struct operand *o, co_u64 key)
{
    if (o->key >= key)
        return;
    o->at = o->set.large ? sets_seek(o->view, &o->set, o->at, key)
                         : sets_list_seek(o->view, o->at, o->end, key << CO_CHUNK_BITS);
    read_key(o);
}

static struct sets_chunk chunk_of(const struct operand *o)
{
    if (o->set.large)
        return sets_chunk_of(o->view, o->at);
    int wide = (int)o->view->wide;
    struct sets_chunk c = {(const char *)o->view->lists + o->at * (wide ? 8 : 4),
                           wide ? SETS_CHUNK_LIST64 : SETS_CHUNK_LIST32, 0, 0, 0};
    c.entries = c.card = (co_u32)(part_end(o) - o->at);
    c.digest = sets_chunk_digest(&c);
    return c;
}

/* ---- what becomes of the answer ------------------------------------------------------------------------ */

#define STREAMED (1u << 21) /* units of room for an answer from which on its bitmaps go past the caches */

/* Found chunks of a piece. */
struct sink {
    const struct sets_found *found; /* NULL: none are wanted */
    co_u64 chunk, unit, chunk_end, unit_end;
    int large;    /* the answer is larger than the caches */
    int streamed; /* the last chunk that went down by itself is a bitmap, and went past them */
};

static co_u16 *place_of(const struct sink *s, co_u64 unit)
{
    return (co_u16 *)(void *)((char *)s->found->pool + unit * CO_PLACE_UNIT_BYTES);
}

static co_u64 bitmap_unit(const struct sink *s)
{
    return (s->unit + 3) & ~3ull;
}

/* Where the next bitmap goes past the caches as it is made: after one that went there, as it may turn out to
 * be an array. NULL: it is made in the scratch. */
static co_u64 *place_past(const struct sink *s)
{
    const co_u64 end = bitmap_unit(s) + CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES;
    if (!s->streamed || s->chunk == s->chunk_end || end > s->unit_end)
        return NULL;
    return (co_u64 *)(void *)place_of(s, bitmap_unit(s));
}

/* A row's answer so far. */
struct tally {
    co_u64 count, first;
    int done;
};

static void put_first(const struct sets_query *q, co_u64 row, struct tally *t, co_u64 key,
                      const struct sets_chunk *c, co_u16 *low)
{
    co_u32 n = sets_chunk_members(c, low);
    for (co_u32 i = 0; i < n && t->first < q->first_most; i++, t->first++) {
        co_u64 id = key << CO_CHUNK_BITS | low[i], at = row * q->first_most + t->first;
        if (q->first_out && q->wide)
            ((co_u64 *)q->first_out)[at] = id;
        else if (q->first_out)
            ((co_u32 *)q->first_out)[at] = (co_u32)id;
    }
}

static void put_found(struct sink *s, co_u64 key, const struct sets_chunk *c)
{
    const struct sets_found *f = s->found;
    const co_u64 unit = c->kind == CO_CHUNK_BITMAP ? bitmap_unit(s) : s->unit;
    co_u32 kind = c->kind >= SETS_CHUNK_LIST32 ? CO_CHUNK_ARRAY : c->kind;
    co_u32 units = co_place_units(kind, c->entries);
    if (s->chunk == s->chunk_end || unit + units > s->unit_end)
        return; /* bytes that are not what they should be */
    co_u16 *to = place_of(s, unit);
    s->streamed = s->large && c->kind == CO_CHUNK_BITMAP;
    if (s->streamed && c->at != to) {
        cpu_stream_lines(to, c->at, CO_CHUNK_BYTES);
    } else if (c->kind == CO_CHUNK_BITMAP && c->at != to) {
        memcpy(to, c->at, CO_CHUNK_BYTES);
    } else if (kind == CO_CHUNK_ARRAY) {
        sets_pad(to, sets_chunk_members(c, to));
    } else if (kind == CO_CHUNK_RUNS) {
        memcpy(to, c->at, c->entries * 4);
        sets_pad(to, 2 * c->entries);
    }
    f->cards[s->chunk] = c->card;
    f->keys[s->chunk] = key;
    f->places[s->chunk] =
        co_place_make(kind, kind == CO_CHUNK_BITMAP || kind == CO_CHUNK_FULL ? 0 : c->entries, unit);
    f->digests[s->chunk] = c->digest;
    s->chunk++;
    s->unit = unit + units;
}

/* How many chunks from `at` on, before `end`, are arrays or runs that lie in the pool one after the other;
 * their units. */
static co_u64 side_by_side(const cohort_sets_view *v, co_u64 at, co_u64 end, co_u64 *units)
{
    const co_u64 first = co_place_unit(v->places[at]);
    co_u64 next = first, c = at;
    for (; c < end; c++) {
        const co_u64 place = v->places[c];
        const co_u32 kind = co_place_kind(place);
        if ((kind != CO_CHUNK_ARRAY && kind != CO_CHUNK_RUNS) || co_place_unit(place) != next)
            break;
        next += co_place_units(kind, co_place_entries(place));
    }
    *units = next - first;
    return c - at;
}

/* Chunks of the directory [at, end), as they are. */
static void put_passed(struct sink *s, const cohort_sets_view *v, co_u64 at, co_u64 end)
{
    const struct sets_found *f = s->found;
    for (co_u64 n, units; at < end; at += n) {
        n = side_by_side(v, at, end, &units);
        if (!n) {
            struct sets_chunk c = sets_chunk_of(v, at);
            put_found(s, co_sets_key(v, at), &c);
            n = 1;
            continue;
        }
        if (n > s->chunk_end - s->chunk || units > s->unit_end - s->unit)
            return; /* bytes that are not what they should be */
        const co_u64 moved = s->unit - co_place_unit(v->places[at]);
        memcpy((char *)f->pool + s->unit * CO_PLACE_UNIT_BYTES, co_place_at(v, v->places[at]),
               units * CO_PLACE_UNIT_BYTES);
        for (co_u64 i = 0; i < n; i++) {
            f->cards[s->chunk + i] = v->cards[at + i] + 1u;
            f->keys[s->chunk + i] = co_sets_key(v, at + i);
            f->places[s->chunk + i] = v->places[at + i] + (moved << CO_PLACE_UNIT);
            f->digests[s->chunk + i] = v->digests[at + i];
        }
        s->chunk += n;
        s->unit += units;
    }
}

static void put_answer(const struct row_state *r, co_u64 row, struct tally *t, struct sink *sink, co_u64 key,
                       const struct cpu_answer *a)
{
    const struct sets_query *q = r->q;
    if (!a->chunk.card)
        return;
    t->count += a->chunk.card;
    if (t->first < q->first_most)
        put_first(q, row, t, key, &a->chunk,
                  a->own && a->chunk.at == r->scratch->array ? (co_u16 *)r->scratch->counters
                                                             : r->scratch->array);
    if (sink->found)
        put_found(sink, key, &a->chunk);
    t->done = !sink->found && !q->counts && t->first >= q->first_most;
}

/* ---- a row --------------------------------------------------------------------------------------------- */

/* AND: to a key that all have: 0 if there is none. */
static int meet(struct row_state *r, co_u64 *key)
{
    co_u64 same = 0;
    *key = r->n ? r->operands[0].key : SETS_NO_KEY;
    for (co_u64 k = 0; same < r->n && *key != SETS_NO_KEY; k = k + 1 == r->n ? 0 : k + 1) {
        struct operand *o = &r->operands[k];
        seek(o, *key);
        same = o->key == *key ? same + 1 : 1;
        *key = o->key;
    }
    return *key != SETS_NO_KEY;
}

/* The next keys of a row: the least one, an operand that has it, and the least that another operand has. */
struct next_keys {
    co_u64 key, operand, limit;
};

/* The others: to the least key that one has, of ANDNOT that the first has. */
static int least(struct row_state *r, struct next_keys *next)
{
    const int first = r->q->op == SETS_ANDNOT && r->n; /* others are behind it or before it */
    next->key = first ? r->operands[0].key : SETS_NO_KEY;
    next->limit = SETS_NO_KEY;
    next->operand = 0;
    for (co_u64 k = (co_u64)first; k < r->n && (!first || next->key != SETS_NO_KEY); k++) {
        struct operand *o = &r->operands[k];
        if (first)
            seek(o, next->key);
        if (o->key < next->key) {
            next->limit = next->key;
            next->key = o->key;
            next->operand = k;
        } else if (o->key < next->limit) {
            next->limit = o->key;
        }
    }
    return next->key != SETS_NO_KEY;
}

/* The chunks with this key; operands go on behind it. */
static co_u32 gather(struct row_state *r, co_u64 key)
{
    co_u32 count = 0;
    for (co_u64 k = 0; k < r->n; k++) {
        struct operand *o = &r->operands[k];
        seek(o, key);
        if (o->key != key)
            continue;
        r->chunks[count++] = chunk_of(o);
        step(o);
    }
    return count;
}

/* Two lists of members of 32 bits, of which those of the first that are in the second, or are not, are
 * wanted. */
static int is_of_lists(const struct row_state *r, co_u64 row, struct sets_two_lists *l)
{
    const struct sets_query *q = r->q;
    return r->vectors->lists && (q->op == SETS_AND || q->op == SETS_ANDNOT) && sets_are_two_lists(q, row, l);
}

static void end_row(const struct sets_query *q, co_u64 row, const struct tally *t, int whole)
{
    if (q->counts && !whole)
        __atomic_fetch_add(&q->counts[row], t->count, __ATOMIC_RELAXED);
    else if (q->counts)
        q->counts[row] = t->count;
    if (q->first_counts)
        q->first_counts[row] = t->first;
    if (q->any && (t->count == 0) == q->negate)
        co_or32(q->any + row / 32, 1u << row % 32);
}

static void do_lists(struct row_state *r, co_u64 row, const struct sets_two_lists *l, struct sink *sink)
{
    struct tally t = {0, 0, 0};
    co_u32 *ids = (co_u32 *)(void *)r->scratch->words;
    const int keep = r->q->op == SETS_AND;
    co_u64 n = keep && sets_lists_lie_apart(l)
                   ? 0
                   : r->vectors->lists(l->at[0], l->n[0], l->at[1], l->n[1], keep, ids);
    for (co_u64 i = 0, end; i < n && !t.done; i = end) {
        struct cpu_answer answer = {{ids + i, SETS_CHUNK_LIST32, 0, 0, 0}, 0};
        co_u64 key = ids[i] >> CO_CHUNK_BITS;
        for (end = i + 1; end < n && ids[end] >> CO_CHUNK_BITS == key;)
            end++;
        answer.chunk.entries = answer.chunk.card = (co_u32)(end - i);
        answer.chunk.digest = sets_chunk_digest(&answer.chunk);
        put_answer(r, row, &t, sink, key, &answer);
    }
    end_row(r->q, row, &t, 1);
}

/* Chunks of one operand whose keys no other has, up to the next one that another has, are the answer's as
 * they are. */
static void pass_chunks(struct row_state *r, const struct next_keys *next, struct tally *t, struct sink *sink)
{
    struct operand *o = &r->operands[next->operand];
    const co_u64 from = o->at;
    seek(o, next->limit);
    t->count += o->view->before[o->at] - o->view->before[from];
    if (sink->found)
        put_passed(sink, o->view, from, o->at);
    t->done = !sink->found && !r->q->counts;
}

static void do_chunks(struct row_state *r, co_u64 row, struct tally *t, struct sink *sink)
{
    const struct sets_query *q = r->q;
    struct next_keys next = {0, 0, 0};
    const int passes = q->op != SETS_AND && q->op != SETS_AT_LEAST && !q->first_most;
    while (!t->done && (q->op == SETS_AND ? meet(r, &next.key) : least(r, &next))) {
        const co_u64 key = next.key;
        if (passes && next.limit > key && r->operands[next.operand].set.large) {
            pass_chunks(r, &next, t, sink);
            continue;
        }
        co_u32 count = gather(r, key);
        r->scratch->past = place_past(sink);
        struct cpu_answer a = cpu_combine(q, r->chunks, count, r->n, r->scratch);
        put_answer(r, row, t, sink, key, &a);
    }
}

static void do_row(struct row_state *r, const struct sets_piece_of_rows *piece, co_u64 row, struct sink *sink)
{
    const struct sets_query *q = r->q;
    struct tally t = {0, 0, 0};
    r->n = sets_row_arity(q, row);
    for (co_u64 k = 0; k < r->n; k++) {
        co_u64 number = sets_row_member(q, row, k);
        open_operand(q, number, piece, &r->operands[k]);
        if (number >= q->first[SETS_OPERANDS_MOST])
            co_min64(q->first_bad, row);
    }
    do_chunks(r, row, &t, sink);
    end_row(q, row, &t, sets_piece_is_whole(piece));
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

struct plan {
    struct sets_plan rows;
    const struct sets_vectors *vectors;
    char *scratch;                                          /* of all workers; NULL: no row needs any */
    co_u64 chunks[2 * SETS_PIECES], units[2 * SETS_PIECES]; /* out: the ends of what was written */
    int failed;
};

/* ---- work ---------------------------------------------------------------------------------------------- */

#define SCRATCH_BYTES ((sizeof(struct cpu_scratch) + 255) / 256 * 256)

/* Rows that have as many operands each, and of which counts are all that is wanted, need no room to work
 * in. */
static int all_meet(const struct sets_query *q)
{
    return !q->offsets && (!q->rows || sets_row_meets(q, 0));
}

static void do_piece(struct plan *p, co_u32 i, struct row_state *r)
{
    const struct sets_piece_of_rows *piece = &p->rows.piece[i];
    const int large = p->rows.piece[p->rows.pieces].unit > STREAMED;
    struct sink sink = {r->q->found, piece->chunk, piece->unit, piece[1].chunk, piece[1].unit, large, 0};
    struct sets_two_lists l;
    co_u64 row = piece->row;
    if (sets_piece_is_whole(piece) && sets_each_may(r->q))
        row = sets_each_rows(r->vectors, r->q, row, piece->row_end);
    for (; row < piece->row_end; row++) {
        if (sink.found && !piece->from)
            sink.found->row_first[row] = sink.chunk;
        if (sets_row_meets(r->q, row) && sets_piece_is_whole(piece))
            sets_meet_rows(r->vectors, r->q, row, row + 1);
        else if (is_of_lists(r, row, &l)) /* such rows are not cut */
            do_lists(r, row, &l, &sink);
        else
            do_row(r, piece, row, &sink);
    }
    p->chunks[i] = sink.chunk;
    p->units[i] = sink.unit;
    if (large)
        cpu_stream_end();
}

static void meet_pieces(const struct plan *p, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++) {
        const struct sets_piece_of_rows *piece = &p->rows.piece[i];
        co_u64 row = piece->row;
        if (sets_piece_is_whole(piece) && sets_each_may(p->rows.q))
            row = sets_each_rows(p->vectors, p->rows.q, row, piece->row_end);
        if (sets_piece_is_whole(piece))
            sets_meet_rows(p->vectors, p->rows.q, row, piece->row_end);
        else
            sets_meet_part(p->vectors, p->rows.q, piece);
    }
}

static void pieces_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct plan *p = arg;
    struct row_state r = {p->rows.q, p->vectors, NULL, NULL, NULL, 0};
    if (!p->scratch) {
        meet_pieces(p, begin, end);
        return;
    }
    r.scratch = (struct cpu_scratch *)(void *)(p->scratch + worker * SCRATCH_BYTES);
    r.scratch->vectors = p->vectors;
    r.operands = malloc((p->rows.arity + 1) * sizeof *r.operands);
    r.chunks = malloc((p->rows.arity + 1) * sizeof *r.chunks);
    if (!r.operands || !r.chunks)
        __atomic_store_n(&p->failed, 1, __ATOMIC_RELAXED);
    for (uint64_t i = begin; i < end && r.operands && r.chunks; i++)
        do_piece(p, (co_u32)i, &r);
    free(r.operands);
    free(r.chunks);
}

/* Moves what pieces have found together; the members stay. */
static void gather_found(struct plan *p)
{
    const struct sets_query *q = p->rows.q;
    struct sets_found *f = q->found;
    co_u64 to = 0, units = 0;
    for (co_u32 i = 0; i < p->rows.pieces; i++) {
        const struct sets_piece_of_rows *piece = &p->rows.piece[i];
        co_u64 from = piece->chunk, n = p->chunks[i] - from, moved = from == to ? 0 : n;
        memmove(f->cards + to, f->cards + from, moved * sizeof *f->cards);
        memmove(f->keys + to, f->keys + from, moved * sizeof *f->keys);
        memmove(f->places + to, f->places + from, moved * sizeof *f->places);
        memmove(f->digests + to, f->digests + from, moved * sizeof *f->digests);
        for (co_u64 row = piece->row; row < piece->row_end && !piece->from; row++)
            f->row_first[row] -= from - to;
        to += n;
        units = p->units[i] > piece->unit ? p->units[i] : units;
    }
    f->row_first[q->rows] = f->chunks = to;
    f->units = units;
}

cohort_status cpu_sets_query(cohort_context *context, const struct sets_query *q, struct arena *arena)
{
    struct plan *p;
    char *scratch =
        all_meet(q) ? NULL : arena_take(arena, (uint64_t)cpu_device(context)->threads * SCRATCH_BYTES);
    if (arena->asks)
        return COHORT_OK;
    p = malloc(sizeof *p);
    if (!p)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for the plan of a query");
    p->failed = 0;
    sets_plan_make(&p->rows, q, cpu_device(context)->threads, context->progress.call != NULL);
    p->vectors = sets_vectors_of(cpu_device(context)->level);
    p->scratch = scratch;
    if (q->found && !q->found->pool) {
        q->found->chunks = p->rows.piece[p->rows.pieces].chunk;
        q->found->units = p->rows.piece[p->rows.pieces].unit;
        q->found->listed = p->rows.listed;
        free(p);
        return COHORT_OK;
    }
    if (q->any)
        memset(q->any, 0, (q->rows / 32 + (q->rows % 32 != 0)) * 4);
    cohort_status status = cpu_parallel_told(context, "sets", p->rows.pieces, 1, pieces_range, p);
    int failed = p->failed;
    co_u64 arity = p->rows.arity;
    if (q->found && !failed && !status)
        gather_found(p);
    free(p);
    return failed ? context_fail(context, COHORT_NO_MEMORY, "no memory to work on rows of %llu sets",
                                 (unsigned long long)arity)
                  : status;
}
