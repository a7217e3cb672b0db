/* cpu/sets_combine.c: one chunk of an answer from those of the operands.
 *
 * AND of an array and anything else is that array, filtered; it ends when nothing is left. Otherwise chunks
 * are put together in a bitmap of 8 KiB, which the first cache holds. What has one operand only passes
 * through as it is. */
#include <string.h>

#include "sets_combine.h"

static struct cpu_answer empty(void)
{
    struct cpu_answer a;
    memset(&a, 0, sizeof a);
    return a;
}

static struct cpu_answer passed(const struct sets_chunk *c)
{
    struct cpu_answer a = {*c, 0};
    return a;
}

static struct cpu_answer full(void)
{
    struct cpu_answer a = empty();
    a.chunk.kind = CO_CHUNK_FULL;
    a.chunk.card = CO_CHUNK_IDS;
    a.chunk.digest = ~0ull;
    return a;
}

static struct cpu_answer array_of(const struct cpu_scratch *s, const co_u16 *at, co_u32 n)
{
    struct cpu_answer a = empty();
    a.chunk.at = at;
    a.chunk.kind = CO_CHUNK_ARRAY;
    a.chunk.entries = a.chunk.card = n;
    a.chunk.digest = s->vectors->digest(at, n);
    a.own = 1;
    return a;
}

/* The bitmap, of which this is known, as the kind that it is due. */
static struct cpu_answer bitmap_measured(struct cpu_scratch *s, const co_u64 *words, struct sets_measure m)
{
    struct cpu_answer a = empty();
    if (!m.card)
        return a;
    if (m.card == CO_CHUNK_IDS)
        return full();
    if (m.card <= SETS_ARRAY_MOST) {
        a.chunk.at = s->array;
        a.chunk.kind = CO_CHUNK_ARRAY;
        a.own = 1;
        a.chunk.entries = a.chunk.card = s->vectors->members(words, m.digest, s->array);
    } else {
        a.chunk.at = words;
        a.chunk.kind = CO_CHUNK_BITMAP;
        a.chunk.card = m.card;
        a.own = 1;
    }
    a.chunk.digest = m.digest;
    return a;
}

static struct cpu_answer bitmap_answer(struct cpu_scratch *s)
{
    return bitmap_measured(s, s->words, s->vectors->words(s->words, s->words, s->words, SETS_AND));
}

static struct cpu_answer of_two_bitmaps(co_u32 op, const co_u64 *a, const co_u64 *b, struct cpu_scratch *s)
{
    if (s->past)
        return bitmap_measured(s, s->past, s->vectors->words_past(s->past, a, b, op));
    return bitmap_measured(s, s->words, s->vectors->words(s->words, a, b, op));
}

#define RUNS_FEW 8u /* numbers of an array for each run, from which on a run's ends are searched for */

/* The first number of an array from `at` on that is not below v. */
CO_INLINE co_u32 seek_number(const co_u16 *from, co_u32 n, co_u32 at, co_u32 v)
{
    return at < n && from[at] < v ? at + co_chunk_array_lower(from + at, n - at, v) : at;
}

/* Those of the array that are in runs, or are not, where runs are few: what lies between two ends is moved
 * together. */
static co_u32 filter_stretches(const co_u16 *from, co_u32 n, const co_u16 *runs, co_u32 m, int keep,
                               co_u16 *to)
{
    co_u32 kept = 0, at = 0;
    for (co_u32 r = 0; r <= m && at < n; r++) {
        const co_u32 first = r < m ? seek_number(from, n, at, runs[2 * r]) : n;
        const co_u32 end = r < m ? seek_number(from, n, first, co_chunk_run_last(runs, r) + 1) : n;
        const co_u32 begin = keep ? first : at, count = (keep ? end : first) - begin;
        memmove(to + kept, from + begin, count * sizeof *to);
        kept += count;
        at = end;
    }
    return kept;
}

/* Those of the array that are in the other chunk, or are not; to may be from. */
static co_u32 filter(const struct cpu_scratch *s, const co_u16 *from, co_u32 n,
                     const struct sets_chunk *other, int keep, co_u16 *to)
{
    co_u32 kept = 0, run = 0;
    const co_u16 *at = other->at;
    const co_u64 *words = other->at;
    switch (other->kind) {
    case CO_CHUNK_ARRAY:
        return s->vectors->filter(from, n, at, other->entries, keep, to);
    case CO_CHUNK_BITMAP:
        for (co_u32 i = 0; i < n; i++) {
            co_u16 v = from[i];
            to[kept] = v;
            kept += (co_u32)((words[v / 64] >> v % 64 & 1) == (co_u64)keep);
        }
        return kept;
    case CO_CHUNK_RUNS: /* the first run that does not end below */
        if (n / RUNS_FEW >= other->entries)
            return filter_stretches(from, n, at, other->entries, keep, to);
        for (co_u32 i = 0; i < n; i++) {
            co_u16 v = from[i];
            while (run < other->entries && co_chunk_run_last(at, run) < v)
                run++;
            to[kept] = v;
            kept += (run < other->entries && at[2 * run] <= v) == keep;
        }
        return kept;
    default:
        for (co_u32 i = 0; i < n; i++) {
            co_u16 v = from[i];
            to[kept] = v;
            kept += sets_chunk_contains(other, v) == keep;
        }
        return kept;
    }
}

/* An array, or part of a list, as numbers of 16 bits. */
static const co_u16 *numbers_of(const struct sets_chunk *c, co_u16 *room)
{
    if (c->kind == CO_CHUNK_ARRAY)
        return c->at;
    sets_chunk_members(c, room);
    return room;
}

/* The bits of a run, given its first number and its length less one; most are in one word. Of bytes that are
 * not what they should be nothing goes beyond the chunk. */
CO_INLINE void set_run(co_u64 *words, co_u32 first, co_u32 more)
{
    const co_u32 place = first % 64, last = first + more;
    if (place + more < 64)
        words[first / 64] |= ~0ull >> (63 - more) << place;
    else
        sets_bitmap_set(words, first, last < CO_CHUNK_IDS ? last : CO_CHUNK_IDS - 1);
}

/* From four places on at a time, as `change` does. */
static void set_runs(co_u64 *words, const co_u16 *runs, co_u32 n)
{
    const co_u32 part = n / 4;
    for (co_u32 i = 0; i < part; i++)
        for (co_u32 k = 0; k < 4; k++)
            set_run(words, runs[2 * (k * part + i)], runs[2 * (k * part + i) + 1]);
    for (co_u32 i = 4 * part; i < n; i++)
        set_run(words, runs[2 * i], runs[2 * i + 1]);
}

/* words = words op the other chunk. What the words hold then is measured later. */
static void apply(struct cpu_scratch *s, co_u32 op, const struct sets_chunk *other)
{
    if (sets_chunk_is_array(other) && op != SETS_AND) {
        s->vectors->change(s->words, op, numbers_of(other, s->listed), other->entries);
        return;
    }
    if (other->kind == CO_CHUNK_RUNS && op == SETS_OR) {
        set_runs(s->words, other->at, other->entries);
        return;
    }
    if (other->kind != CO_CHUNK_BITMAP)
        sets_chunk_bitmap(other, s->other);
    s->vectors->words(s->words, s->words, other->kind == CO_CHUNK_BITMAP ? other->at : s->other, op);
}

/* Members of the runs in the scratch, four at a time: most runs that become an array have no more. */
static co_u32 runs_members(struct cpu_scratch *s, co_u32 runs)
{
    co_u32 n = 0;
    for (co_u32 r = 0; r < runs; r++) {
        const co_u32 first = s->runs[2 * r], count = s->runs[2 * r + 1] + 1u;
        for (co_u32 i = 0; i < count; i += 4)
            for (co_u32 k = 0; k < 4; k++)
                s->array[n + i + k] = (co_u16)(first + i + k);
        n += count;
    }
    return n;
}

/* Runs in the scratch, as the kind that they are due. */
static struct cpu_answer runs_answer(struct cpu_scratch *s, struct sets_measure m)
{
    struct cpu_answer a = empty();
    co_u32 kind = sets_kind(m.card, m.runs);
    if (!m.card || kind == CO_CHUNK_FULL)
        return m.card ? full() : empty();
    a.chunk.at = s->runs;
    a.chunk.kind = CO_CHUNK_RUNS;
    a.chunk.entries = m.runs;
    a.chunk.card = m.card;
    a.chunk.digest = m.digest;
    a.own = 1;
    if (kind == CO_CHUNK_ARRAY) {
        a.chunk.kind = CO_CHUNK_ARRAY;
        a.chunk.entries = runs_members(s, m.runs);
        a.chunk.at = s->array;
    }
    return a; /* never a bitmap: so few runs take less */
}

/* OR or XOR of two arrays. What may be more than an array holds is put together in a bitmap. */
static struct cpu_answer merged(co_u32 op, const struct sets_chunk *chunks, struct cpu_scratch *s)
{
    const co_u16 *x = numbers_of(&chunks[0], s->listed), *y = numbers_of(&chunks[1], s->runs);
    const co_u32 n = chunks[0].entries, m = chunks[1].entries;
    if (n + m > SETS_ARRAY_MOST) {
        memset(s->words, 0, sizeof s->words);
        s->vectors->change(s->words, SETS_OR, x, n);
        s->vectors->change(s->words, op, y, m);
        return bitmap_answer(s);
    }
    co_u32 kept = s->vectors->merge(op, x, n, y, m, s->array);
    return kept ? array_of(s, s->array, kept) : empty();
}

/* Two short chunks, by their entries: 0 if they are not such. */
static int by_entries(co_u32 op, const struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s,
                      struct cpu_answer *a)
{
    co_u32 entries;
    if (count != 2)
        return 0;
    for (co_u32 i = 0; i < 2; i++)
        if (chunks[i].kind == CO_CHUNK_BITMAP || chunks[i].kind == CO_CHUNK_FULL)
            return 0;
    entries = chunks[0].entries + chunks[1].entries;
    if (sets_chunk_is_array(&chunks[0]) && sets_chunk_is_array(&chunks[1]) &&
        (op == SETS_OR || op == SETS_XOR)) {
        *a = merged(op, chunks, s);
        return 1;
    }
    if (entries > s->vectors->swept)
        return 0;
    *a = runs_answer(s, s->vectors->sweep(op, &chunks[0], &chunks[1], s->runs));
    return 1;
}

static struct cpu_answer by_bitmap(co_u32 op, const struct sets_chunk *chunks, co_u32 count,
                                   struct cpu_scratch *s)
{
    struct cpu_answer a;
    if (by_entries(op, chunks, count, s, &a))
        return a;
    if (count == 2 && chunks[0].kind == CO_CHUNK_BITMAP && chunks[1].kind == CO_CHUNK_BITMAP)
        return of_two_bitmaps(op, chunks[0].at, chunks[1].at, s);
    sets_chunk_bitmap(&chunks[0], s->words);
    for (co_u32 i = 1; i < count; i++)
        apply(s, op, &chunks[i]);
    return bitmap_answer(s);
}

static struct cpu_answer by_filter(struct sets_chunk *first, const struct sets_chunk *others, co_u32 count,
                                   int keep, struct cpu_scratch *s)
{
    const co_u16 *at = first->at;
    co_u32 n = first->entries;
    if (first->kind != CO_CHUNK_ARRAY) {
        n = sets_chunk_members(first, s->listed);
        at = s->listed;
    }
    for (co_u32 i = 0; i < count && n; i++) {
        n = filter(s, at, n, &others[i], keep, s->array);
        at = s->array;
    }
    return n ? array_of(s, s->array, n) : empty();
}

static void sort_by_card(struct sets_chunk *chunks, co_u32 count)
{
    for (co_u32 i = 1; i < count; i++)
        for (co_u32 j = i; j && chunks[j].card < chunks[j - 1].card; j--) {
            struct sets_chunk c = chunks[j];
            chunks[j] = chunks[j - 1];
            chunks[j - 1] = c;
        }
}

/* An array, or part of a list, to the front, if there is one: it bounds the answer as an array, however few
 * members runs before it have. */
static void array_first(struct sets_chunk *chunks, co_u32 count)
{
    co_u32 i = 0;
    while (i < count && !sets_chunk_is_array(&chunks[i]))
        i++;
    for (struct sets_chunk c = chunks[i < count ? i : 0]; i && i < count; i--) {
        chunks[i] = chunks[i - 1];
        chunks[i - 1] = c;
    }
}

/* No 1,024 numbers side by side have members of all chunks. */
static int lie_apart(const struct sets_chunk *chunks, co_u32 count)
{
    co_u64 both = chunks[0].digest;
    for (co_u32 i = 1; i < count; i++)
        both &= chunks[i].digest;
    return !both;
}

static struct cpu_answer and_chunks(struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s)
{
    if (lie_apart(chunks, count))
        return empty();
    sort_by_card(chunks, count);
    while (count > 1 && chunks[count - 1].kind == CO_CHUNK_FULL)
        count--;
    if (count == 1)
        return passed(&chunks[0]);
    array_first(chunks, count);
    if (sets_chunk_is_array(&chunks[0]))
        return by_filter(&chunks[0], chunks + 1, count - 1, 1, s);
    return by_bitmap(SETS_AND, chunks, count, s);
}

/* Bitmaps first: once they fill the chunk, nothing else matters. */
static struct cpu_answer or_many(const struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s)
{
    memset(s->words, 0, sizeof s->words);
    for (co_u32 i = 0; i < count; i++)
        if (chunks[i].kind == CO_CHUNK_BITMAP &&
            s->vectors->words(s->words, s->words, chunks[i].at, SETS_OR).card == CO_CHUNK_IDS)
            return full();
    for (co_u32 i = 0; i < count; i++)
        if (chunks[i].kind != CO_CHUNK_BITMAP)
            apply(s, SETS_OR, &chunks[i]);
    return bitmap_answer(s);
}

static struct cpu_answer or_chunks(const struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s)
{
    if (count == 1)
        return passed(&chunks[0]);
    for (co_u32 i = 0; i < count; i++)
        if (chunks[i].kind == CO_CHUNK_FULL)
            return full();
    return count == 2 ? by_bitmap(SETS_OR, chunks, count, s) : or_many(chunks, count, s);
}

static struct cpu_answer andnot_chunks(struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s)
{
    if (count == 1)
        return passed(&chunks[0]);
    for (co_u32 i = 1; i < count; i++)
        if (chunks[i].kind == CO_CHUNK_FULL)
            return empty();
    if (count == 2 && lie_apart(chunks, count))
        return passed(&chunks[0]);
    if (sets_chunk_is_array(&chunks[0]))
        return by_filter(&chunks[0], chunks + 1, count - 1, 0, s);
    return by_bitmap(SETS_ANDNOT, chunks, count, s);
}

static struct cpu_answer at_least(const struct sets_chunk *chunks, co_u32 count, co_u64 least,
                                  struct cpu_scratch *s)
{
    memset(s->counters, 0, sizeof s->counters);
    for (co_u32 i = 0; i < count; i++) {
        sets_chunk_bitmap(&chunks[i], s->other);
        for (co_u32 v = 0; v < CO_CHUNK_IDS; v++)
            s->counters[v] += s->other[v / 64] >> v % 64 & 1;
    }
    memset(s->words, 0, sizeof s->words);
    for (co_u32 v = 0; v < CO_CHUNK_IDS; v++)
        s->words[v / 64] |= (co_u64)(s->counters[v] >= least) << v % 64;
    return bitmap_answer(s);
}

struct cpu_answer cpu_combine(const struct sets_query *q, struct sets_chunk *chunks, co_u32 count, co_u64 all,
                              struct cpu_scratch *s)
{
    (void)all;
    switch (q->op) {
    case SETS_AND:
        return and_chunks(chunks, count, s);
    case SETS_OR:
        return or_chunks(chunks, count, s);
    case SETS_ANDNOT:
        return andnot_chunks(chunks, count, s);
    case SETS_XOR:
        return count == 1 ? passed(&chunks[0]) : by_bitmap(SETS_XOR, chunks, count, s);
    default:
        if (count < q->least)
            return empty();
        if (q->least == 1)
            return or_chunks(chunks, count, s);
        return q->least == count ? and_chunks(chunks, count, s) : at_least(chunks, count, q->least, s);
    }
}
