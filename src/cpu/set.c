/* cpu/set.c: working sets on the host's threads: the table of entries. A turn has a chunk. */
#include "backend/set.h"

#include <string.h>

#include "cpu.h"
#include "shape/bits.h"
#include "shape/set_pool.h"
#include "shape/sets_chunk.h"

#define LOOK_GRAIN  4096 /* a multiple of 32 */
#define CHUNK_GRAIN 8
#define PIECE_GRAIN 4
#define STEP_GRAIN  512

/* ---- changes ------------------------------------------------------------------------------------------- */

/* An array's members one by one. */
static co_u32 change_each(co_u64 *words, enum set_change_kind kind, const struct sets_chunk *c, co_u32 card)
{
    for (co_u32 i = 0; i < c->entries; i++) {
        co_u16 v = sets_chunk_entry(c, i);
        co_u64 bit = 1ull << v % 64, old = words[v / 64];
        co_u64 word = kind == SET_ADD ? old | bit : kind == SET_REMOVE ? old & ~bit : old ^ bit;
        words[v / 64] = word;
        card += (co_u32)((word & bit) != 0) - (co_u32)((old & bit) != 0);
    }
    return card;
}

static co_u32 change_all(co_u64 *words, enum set_change_kind kind, const struct sets_chunk *c)
{
    co_u64 room[SETS_CHUNK_WORDS];
    const co_u64 *other = c->kind == CO_CHUNK_BITMAP ? c->at : room;
    co_u32 card = 0;
    if (other == room)
        sets_chunk_bitmap(c, room);
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        words[i] = kind == SET_ADD      ? words[i] | other[i]
                   : kind == SET_REMOVE ? words[i] & ~other[i]
                   : kind == SET_KEEP   ? words[i] & other[i]
                                        : words[i] ^ other[i];
        card += (co_u32)__builtin_popcountll(words[i]);
    }
    return card;
}

static co_u32 change_block(const struct set_work *s, const struct set_piece *p, co_u64 *words)
{
    struct sets_chunk chunk = {p->at, p->kind, p->entries, 0, 0};
    enum set_change_kind kind = (enum set_change_kind)s->kind;
    if (p->fill != SET_AS_IS || (p->kind == SET_CHUNK_NOTHING && s->flat))
        memset(words, p->fill == SET_ONES ? 0xff : 0, CO_CHUNK_BYTES);
    if (p->kind == SET_CHUNK_NOTHING) /* the block of a flat set stays where it is, others go back */
        return 0;
    return kind != SET_KEEP && sets_chunk_is_array(&chunk) ? change_each(words, kind, &chunk, p->before)
                                                           : change_all(words, kind, &chunk);
}

static void work_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_work *s = arg;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        struct set_piece *p = &s->piece[i];
        if (p->block != SET_NONE)
            p->after = change_block(s, p, (co_u64 *)(void *)s->blocks + (co_u64)p->block * SETS_CHUNK_WORDS);
    }
}

/* ---- the directory and the pool ------------------------------------------------------------------------ */

static void step_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_work *s = arg;
    struct set_sums all = {{0, 0, 0}};
    co_u64 *to = set_sums_of(s);
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        struct set_sums sums = set_piece_step(s, i);
        for (int k = 0; k < 3; k++)
            all.v[k] += sums.v[k];
    }
    for (int k = 0; to && k < 3; k++)
        co_add64(to + k, all.v[k]);
}

static void wipe_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_work *s = arg;
    (void)worker;
    for (uint64_t block = begin; block < end; block++)
        if (set_wipes(s, block))
            memset(s->blocks + block * CO_CHUNK_WORDS, 0, CO_CHUNK_BYTES);
}

static cohort_status cpu_set_step(cohort_context *context, const struct set_work *work)
{
    struct set_work s = *work;
    if (set_refused(&s))
        return COHORT_OK;
    if (s.phase == SET_WORK)
        cpu_parallel(context, set_pieces(&s), PIECE_GRAIN, work_range, &s);
    else if (s.phase == SET_WIPE)
        cpu_parallel(context, s.items, CHUNK_GRAIN, wipe_range, &s);
    else
        cpu_parallel(context, set_pieces(&s), STEP_GRAIN, step_range, &s);
    return COHORT_OK;
}

/* ---- into a collection --------------------------------------------------------------------------------- */

static const co_u64 *words_of(const struct set_chunks *s, co_u64 c)
{
    return (const co_u64 *)(uintptr_t)s->words[c];
}

static void measure_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_chunks *s = arg;
    (void)worker;
    for (uint64_t c = begin; c < end; c++) {
        struct sets_measure m = {CO_CHUNK_IDS, 1, ~0ull};
        if (s->words[c])
            m = sets_bitmap_measure(words_of(s, c));
        s->cards[c] = m.card;
        s->places[c] = sets_place(m.card, m.runs);
        s->digests[c] = m.digest;
    }
}

static cohort_status cpu_set_measure(cohort_context *context, const struct set_chunks *chunks)
{
    struct set_chunks s = *chunks;
    cpu_parallel(context, s.items, CHUNK_GRAIN, measure_range, &s);
    return COHORT_OK;
}

static void write_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_chunks *s = arg;
    (void)worker;
    for (uint64_t c = begin; c < end; c++) {
        co_u64 place = s->places[c];
        co_u32 entries = co_place_entries(place);
        co_u16 *to = (co_u16 *)(void *)((char *)s->pool + co_place_unit(place) * CO_PLACE_UNIT_BYTES);
        if (co_place_kind(place) == CO_CHUNK_BITMAP) {
            memcpy(to, words_of(s, c), CO_CHUNK_BYTES);
        } else if (co_place_kind(place) == CO_CHUNK_ARRAY) {
            sets_pad(to, sets_bitmap_array(words_of(s, c), to, entries));
        } else if (co_place_kind(place) == CO_CHUNK_RUNS) {
            sets_pad(to, 2 * sets_bitmap_runs(words_of(s, c), to, entries));
        }
    }
}

static cohort_status cpu_set_write(cohort_context *context, const struct set_chunks *chunks)
{
    struct set_chunks s = *chunks;
    cpu_parallel(context, s.items, CHUNK_GRAIN, write_range, &s);
    return COHORT_OK;
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

static void look_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_look *q = arg;
    (void)worker;
    for (uint64_t base = begin; base < end; base += 32) {
        co_u32 word = 0;
        for (uint64_t i = base; i < end && i < base + 32; i++)
            word |= (co_u32)co_set_contains(&q->view, sets_number(q->values, i, (int)q->view.wide))
                    << (i - base);
        bits_put_word(q->hit, base, q->n, word);
    }
}

static cohort_status cpu_set_look(cohort_context *context, const struct set_look *look)
{
    struct set_look q = *look;
    cpu_parallel(context, q.n, LOOK_GRAIN, look_range, &q);
    return COHORT_OK;
}

const struct set_backend cpu_set_backend = {
    .step = cpu_set_step,
    .measure = cpu_set_measure,
    .write = cpu_set_write,
    .look = cpu_set_look,
};
