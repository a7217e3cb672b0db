/* cpu/sets_containing.c: which sets contain values (shape/sets_index.h), by the host's threads.
 *
 * Values at random would wait for memory at each step: where their spans begin, the entries of these,
 * digests, chunks. So 16 values go through the steps together, each of which asks for the memory of the
 * next one. Of a value's chunks 64 digests are looked at in a row; what of the chunks that are left will
 * be read is asked for, and then they are looked into.
 *
 * One thread writes as it finds. Several threads count all pieces first, and then write them at their
 * places. */
#include "sets.h"

#define TOGETHER 16u
#define DIGESTS  64u
#define GRAIN    256u   /* pieces that a thread takes at a time, where there are many */
#define EACH     8u     /* pieces that a thread should have, so that few values are work for all */
#define PIECE    4096u  /* entries of the index that a piece should have at least */
#define WORK     16384u /* entries that a thread looks at, at least: to wake one takes as long */
#define LOOKUP   64u    /* what finding a value's pieces takes, in entries */

/* ---- pieces -------------------------------------------------------------------------------------------- */

static void ask_span(const struct sets_table *t, co_u64 key)
{
    co_u64 span = (key - t->least) >> t->shift;
    if (key >= t->least && span < t->spans)
        __builtin_prefetch(t->firsts + span);
}

static void ask_key(const struct sets_table *t, const struct sets_range *r)
{
    if (r->first < r->end && t->shift)
        __builtin_prefetch((const char *)t->keys + (r->first + (r->end - r->first) / 2) * (t->wide ? 8 : 4));
}

/* What is read of a value when its pieces are known. */
static void ask_entries(const struct sets_index *x, const struct sets_piece_of_value *p, int sets)
{
    if (p->chunks.first < p->chunks.end)
        __builtin_prefetch(x->digests + p->chunks.first);
    if (sets && p->listed.first < p->listed.end)
        __builtin_prefetch((const char *)x->listed.owners + p->listed.first * x->owner_bytes);
}

/* `n` pieces from `item` on. */
static void open_pieces(const struct sets_containing *q, co_u64 item, co_u32 n, struct sets_piece_of_value *p)
{
    const struct sets_index *x = &q->index;
    co_u64 value[TOGETHER];
    for (co_u32 i = 0; q->pieces > 1 && i < n; i++)
        p[i] = sets_piece_at(q, item + i);
    if (q->pieces > 1)
        return;
    for (co_u32 i = 0; i < n; i++) {
        value[i] = sets_number(q->values, item + i, (int)q->view.wide);
        ask_span(&x->chunks, value[i] >> CO_CHUNK_BITS);
        ask_span(&x->listed, value[i]);
    }
    for (co_u32 i = 0; i < n; i++) {
        p[i].low16 = (co_u32)value[i] & (CO_CHUNK_IDS - 1);
        p[i].chunks = sets_table_span(&x->chunks, value[i] >> CO_CHUNK_BITS);
        p[i].listed = sets_table_span(&x->listed, value[i]);
        ask_key(&x->chunks, &p[i].chunks);
        ask_key(&x->listed, &p[i].listed);
    }
    for (co_u32 i = 0; i < n; i++) {
        p[i].chunks = sets_table_within(&x->chunks, p[i].chunks, value[i] >> CO_CHUNK_BITS);
        p[i].listed = sets_table_within(&x->listed, p[i].listed, value[i]);
        ask_entries(x, &p[i], q->sets != NULL);
    }
}

/* Of up to 64 chunks from `chunk` on those that contain the value; their number. */
static co_u32 hits_of(const struct sets_containing *q, const struct sets_piece_of_value *p, co_u64 chunk,
                      co_u64 *hits)
{
    const struct sets_index *x = &q->index;
    co_u64 end = p->chunks.end - chunk < DIGESTS ? p->chunks.end : chunk + DIGESTS;
    co_u32 n = 0, kept = 0;
    for (; chunk < end; chunk++) {
        hits[n] = chunk;
        n += (co_u32)sets_digest_has(x->digests[chunk], p->low16);
    }
    for (co_u32 i = 0; i < n; i++)
        cpu_sets_chunk_ask(&q->view, x->places[hits[i]], p->low16);
    for (co_u32 i = 0; i < n; i++) {
        co_u64 hit = hits[i];
        hits[kept] = hit;
        kept += (co_u32)cpu_sets_chunk_has(&q->view, x->places[hit], p->low16);
    }
    return kept;
}

static co_u64 count_piece(const struct sets_containing *q, const struct sets_piece_of_value *p)
{
    co_u64 n = p->listed.end - p->listed.first, hits[DIGESTS];
    for (co_u64 chunk = p->chunks.first; chunk < p->chunks.end; chunk += DIGESTS)
        n += hits_of(q, p, chunk, hits);
    return n;
}

/* Writes the sets from entry `at` on; their end. */
static co_u64 write_piece(const struct sets_containing *q, const struct sets_piece_of_value *p, co_u64 at)
{
    const struct sets_index *x = &q->index;
    co_u64 listed = p->listed.first, hits[DIGESTS];
    for (co_u64 chunk = p->chunks.first; chunk < p->chunks.end; chunk += DIGESTS) {
        co_u32 n = hits_of(q, p, chunk, hits);
        for (co_u32 i = 0; i < n; i++) {
            co_u64 set = sets_owner_at(x, x->chunks.owners, hits[i]);
            for (; listed < p->listed.end && sets_owner_at(x, x->listed.owners, listed) < set; listed++)
                sets_containing_put(q, at++, sets_owner_at(x, x->listed.owners, listed));
            sets_containing_put(q, at++, set);
        }
    }
    for (; listed < p->listed.end; listed++)
        sets_containing_put(q, at++, sets_owner_at(x, x->listed.owners, listed));
    return at;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static void count_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sets_containing *q = arg;
    struct sets_piece_of_value p[TOGETHER];
    (void)worker;
    for (co_u64 item = begin; item < end; item += TOGETHER) {
        co_u32 n = end - item < TOGETHER ? (co_u32)(end - item) : TOGETHER;
        open_pieces(q, item, n, p);
        for (co_u32 i = 0; i < n; i++)
            q->sums[item + i] = count_piece(q, &p[i]);
    }
}

static void write_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sets_containing *q = arg;
    struct sets_piece_of_value p[TOGETHER];
    (void)worker;
    for (co_u64 item = begin; item < end; item += TOGETHER) {
        co_u32 n = end - item < TOGETHER ? (co_u32)(end - item) : TOGETHER;
        open_pieces(q, item, n, p);
        for (co_u32 i = 0; i < n; i++)
            if (sets_containing_is_asked(q, q->sums[item + i], q->sums[item + i + 1]))
                write_piece(q, &p[i], q->sums[item + i]);
    }
}

/* In one thread, as they are found; what lies behind the page is counted. */
static void find_all(const struct sets_containing *q)
{
    struct sets_piece_of_value p[TOGETHER];
    co_u64 at = 0;
    for (co_u64 item = 0; item < q->n; item += TOGETHER) {
        co_u32 n = q->n - item < TOGETHER ? (co_u32)(q->n - item) : TOGETHER;
        open_pieces(q, item, n, p);
        for (co_u32 i = 0; i < n; i++) {
            co_u64 before = at;
            int room = q->sets && (at < q->first || at - q->first < q->capacity);
            at = room ? write_piece(q, &p[i], at) : at + count_piece(q, &p[i]);
            if (q->offsets)
                q->offsets[item + i] = before;
            if (q->counts)
                q->counts[item + i] = at - before;
        }
    }
    if (q->offsets)
        q->offsets[q->n] = at;
    if (q->total)
        *q->total = at;
}

static co_u64 pieces_for(cohort_context *context, const struct sets_containing *q)
{
    co_u64 wanted = (co_u64)cpu_device(context)->threads * EACH;
    co_u64 most = (q->index.chunks.n + q->index.listed.n) / PIECE + 1;
    co_u64 pieces = q->n && q->n < wanted ? wanted / q->n : 1;
    return pieces < most ? pieces : most;
}

/* Of a piece it is known how many entries it has at most. */
static co_u64 grain_for(cohort_context *context, const struct sets_containing *q)
{
    co_u64 grain = q->n * q->pieces / ((co_u64)cpu_device(context)->threads * EACH) + 1;
    co_u64 least = WORK / ((q->index.chunks.n + q->index.listed.n) / q->pieces + LOOKUP) + 1;
    grain = grain < GRAIN ? grain : GRAIN;
    return grain < least ? least : grain;
}

/* Counts become what comes before each, and at the end all. */
static void sum_up(co_u64 *sums, co_u64 items)
{
    co_u64 sum = 0;
    for (co_u64 i = 0; i < items; i++) {
        co_u64 one = sums[i];
        sums[i] = sum;
        sum += one;
    }
    sums[items] = sum;
}

cohort_status cpu_sets_containing(cohort_context *context, const struct sets_containing *asked,
                                  struct arena *arena)
{
    struct sets_containing q = *asked;
    q.pieces = pieces_for(context, &q);
    const co_u64 items = q.n * q.pieces, grain = grain_for(context, &q);
    if (cpu_is_alone(context, items, grain)) {
        q.pieces = 1;
        if (!arena->asks)
            find_all(&q);
        return COHORT_OK;
    }
    q.sums = arena_take(arena, (items + 1) * sizeof *q.sums);
    if (arena->asks)
        return COHORT_OK;
    cohort_status status = cpu_parallel_told(context, "sets", items, grain, count_range, &q);
    if (status)
        return status;
    sum_up(q.sums, items);
    for (co_u64 i = 0; i <= q.n; i++)
        sets_containing_tell(&q, i);
    if (q.sets && q.capacity)
        status = cpu_parallel_told(context, "sets", items, grain, write_range, &q);
    return status;
}
