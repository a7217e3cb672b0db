/* cpu/set.c: working sets on the host's threads: the table of entries. A turn has a chunk. */
#include "backend/set.h"

#include <string.h>

#include "cpu.h"
#include "shape/bits.h"
#include "set_block.h"
#include "shape/sets_chunk.h"

#define LOOK_GRAIN  4096 /* a multiple of 32 */
#define CHUNK_GRAIN 8
#define PIECE_GRAIN 4
#define STEP_GRAIN  512

/* ---- changes ------------------------------------------------------------------------------------------- */

struct working {
    const struct set_work *work;
    const struct sets_vectors *vectors;
};

static void work_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct working *w = arg;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        struct set_piece *p = &w->work->piece[i];
        if (p->block != SET_NONE)
            p->after = set_block_change(w->vectors, w->work, i);
    }
}

/* Of blocks that are taken for the first time nothing is known: they may hold anything. */
static void know_blocks(const struct set_work *s)
{
    co_u64 *known = &s->words->known, taken = s->words->blocks.taken;
    const co_u64 to = taken < s->block_room ? taken : s->block_room;
    if (s->flat || to <= *known)
        return;
    memset(s->lines + *known, 0xff, (to - *known) * sizeof *s->lines);
    *known = to;
}

static void work_all(cohort_context *context, const struct set_work *s)
{
    struct working w = {s, sets_vectors_of(cpu_device(context)->level)};
    know_blocks(s);
    cpu_parallel(context, set_pieces(s), PIECE_GRAIN, work_range, &w);
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
        if (set_wipes(s, block)) {
            set_block_clear(set_block_words(s, block), &s->lines[block]);
            s->lines[block] = (struct set_lines){{0, 0}};
        }
}

static cohort_status cpu_set_step(cohort_context *context, const struct set_work *work)
{
    struct set_work s = *work;
    if (set_refused(&s))
        return COHORT_OK;
    if (s.phase == SET_WORK)
        work_all(context, &s);
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
