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

static struct cpu_answer array_of(const co_u16 *at, co_u32 n)
{
    struct cpu_answer a = empty();
    a.chunk.at = at;
    a.chunk.kind = CO_CHUNK_ARRAY;
    a.chunk.entries = a.chunk.card = n;
    a.chunk.digest = sets_chunk_digest(&a.chunk);
    a.own = 1;
    return a;
}

/* The bitmap in the scratch, as the kind that it is due. */
static struct cpu_answer bitmap_answer(struct cpu_scratch *s)
{
    struct sets_measure m = sets_bitmap_measure(s->words);
    struct cpu_answer a = empty();
    if (m.card == CO_CHUNK_IDS)
        return full();
    if (m.card <= SETS_ARRAY_MOST)
        return array_of(s->array, sets_bitmap_array(s->words, s->array, SETS_ARRAY_MOST));
    a.chunk.at = s->words;
    a.chunk.kind = CO_CHUNK_BITMAP;
    a.chunk.card = m.card;
    a.chunk.digest = m.digest;
    a.own = 1;
    return a;
}

/* Those of the array that are in the other chunk, or are not; to may be from. */
static co_u32 filter(const co_u16 *from, co_u32 n, const struct sets_chunk *other, int keep, co_u16 *to)
{
    co_u32 kept = 0;
    for (co_u32 i = 0; i < n; i++) {
        co_u16 v = from[i];
        to[kept] = v;
        kept += sets_chunk_contains(other, v) == keep;
    }
    return kept;
}

/* words = words op the other chunk. */
static void apply(co_u64 *words, co_u32 op, const struct sets_chunk *other, co_u64 *room)
{
    sets_chunk_bitmap(other, room);
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++)
        words[i] = op == SETS_AND      ? words[i] & room[i]
                   : op == SETS_OR     ? words[i] | room[i]
                   : op == SETS_ANDNOT ? words[i] & ~room[i]
                                       : words[i] ^ room[i];
}

static struct cpu_answer by_bitmap(co_u32 op, const struct sets_chunk *chunks, co_u32 count,
                                   struct cpu_scratch *s)
{
    sets_chunk_bitmap(&chunks[0], s->words);
    for (co_u32 i = 1; i < count; i++)
        apply(s->words, op, &chunks[i], s->other);
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
        n = filter(at, n, &others[i], keep, s->array);
        at = s->array;
    }
    return n ? array_of(s->array, n) : empty();
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

static struct cpu_answer and_chunks(struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s)
{
    sort_by_card(chunks, count);
    while (count > 1 && chunks[count - 1].kind == CO_CHUNK_FULL)
        count--;
    if (count == 1)
        return passed(&chunks[0]);
    if (sets_chunk_is_array(&chunks[0]))
        return by_filter(&chunks[0], chunks + 1, count - 1, 1, s);
    return by_bitmap(SETS_AND, chunks, count, s);
}

static struct cpu_answer or_chunks(const struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s)
{
    if (count == 1)
        return passed(&chunks[0]);
    for (co_u32 i = 0; i < count; i++)
        if (chunks[i].kind == CO_CHUNK_FULL)
            return full();
    return by_bitmap(SETS_OR, chunks, count, s);
}

static struct cpu_answer andnot_chunks(struct sets_chunk *chunks, co_u32 count, struct cpu_scratch *s)
{
    if (count == 1)
        return passed(&chunks[0]);
    for (co_u32 i = 1; i < count; i++)
        if (chunks[i].kind == CO_CHUNK_FULL)
            return empty();
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
