/* cpu/set.c: working sets on the host's threads: the table of entries. A turn has a chunk. */
#include "backend/set.h"

#include <string.h>

#include "cpu.h"
#include "shape/bits.h"
#include "set_block.h"
#include "set_leaves.h"
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

static void work_all(cohort_context *context, const struct set_work *s)
{
    struct working w = {s, sets_vectors_of(cpu_device(context)->level)};
    set_block_know(s);
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
        if (s->phase == SET_HAND && s->piece[i].block != SET_NONE)
            set_block_ask_form(s, s->piece[i].block);
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
            set_block_clear(set_block_words(s, block), &s->forms[block].lines);
            s->forms[block].lines = (struct set_lines){{0, 0}};
        }
}

static void spread_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct working *w = arg;
    (void)worker;
    for (uint64_t block = begin; block < end; block++)
        set_block_spread(w->vectors, w->work, block);
}

static void spread_all(cohort_context *context, const struct set_work *s)
{
    struct working w = {s, sets_vectors_of(cpu_device(context)->level)};
    cpu_parallel(context, s->items, CHUNK_GRAIN, spread_range, &w);
}

static cohort_status cpu_set_step(cohort_context *context, const struct set_work *work)
{
    struct set_work s = *work;
    if (set_refused(&s))
        return COHORT_OK;
    if (s.phase == SET_WORK)
        work_all(context, &s);
    else if (s.phase == SET_SPREAD)
        spread_all(context, &s);
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

static struct sets_measure measure_array(const struct sets_vectors *vectors, const co_u16 *at, co_u32 n)
{
    struct sets_measure m = {n, 1, vectors->digest(at, n)};
    for (co_u32 i = 1; i < n; i++)
        m.runs += at[i] != at[i - 1] + 1;
    return m;
}

struct chunks {
    struct set_chunks of;
    const struct sets_vectors *vectors;
};

static void measure_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct chunks *w = arg;
    const struct set_chunks *s = &w->of;
    (void)worker;
    for (uint64_t c = begin; c < end; c++) {
        struct sets_measure m = {CO_CHUNK_IDS, 1, ~0ull};
        if (s->entries[c])
            m = measure_array(w->vectors, (const co_u16 *)(const void *)words_of(s, c),
                              (co_u32)s->entries[c]);
        else if (s->words[c])
            m = sets_bitmap_measure(words_of(s, c));
        s->cards[c] = m.card;
        s->places[c] = sets_place(m.card, m.runs);
        s->digests[c] = m.digest;
    }
}

static cohort_status cpu_set_measure(cohort_context *context, const struct set_chunks *chunks)
{
    struct chunks w = {*chunks, sets_vectors_of(cpu_device(context)->level)};
    cpu_parallel(context, w.of.items, CHUNK_GRAIN, measure_range, &w);
    return COHORT_OK;
}

/* The runs of an array. */
static co_u32 write_runs(const co_u16 *at, co_u32 n, co_u16 *to)
{
    co_u32 runs = 0;
    for (co_u32 i = 0; i < n; i++) {
        if (i && at[i] == at[i - 1] + 1) {
            to[2 * runs - 1]++;
            continue;
        }
        to[2 * runs] = at[i];
        to[2 * runs + 1] = 0;
        runs++;
    }
    return runs;
}

/* An array of the block, or of the bitmap. */
static void write_array(const struct chunks *w, co_u64 c, co_u16 *to, co_u32 kind, co_u32 entries)
{
    const struct set_chunks *s = &w->of;
    const co_u16 *at = (const co_u16 *)(const void *)words_of(s, c);
    if (kind == CO_CHUNK_RUNS) {
        sets_pad(to, 2 * (s->entries[c] ? write_runs(at, (co_u32)s->entries[c], to)
                                        : sets_bitmap_runs(words_of(s, c), to, entries)));
        return;
    }
    if (s->entries[c])
        memcpy(to, at, entries * sizeof *to);
    else
        sets_bitmap_array(words_of(s, c), to, entries);
    sets_pad(to, entries);
}

static void write_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct chunks *w = arg;
    const struct set_chunks *s = &w->of;
    (void)worker;
    for (uint64_t c = begin; c < end; c++) {
        co_u64 place = s->places[c];
        co_u32 kind = co_place_kind(place);
        co_u16 *to = (co_u16 *)(void *)((char *)s->pool + co_place_unit(place) * CO_PLACE_UNIT_BYTES);
        if (kind == CO_CHUNK_BITMAP)
            memcpy(to, words_of(s, c), CO_CHUNK_BYTES);
        else if (kind != CO_CHUNK_FULL)
            write_array(w, c, to, kind, co_place_entries(place));
    }
}

static cohort_status cpu_set_write(cohort_context *context, const struct set_chunks *chunks)
{
    struct chunks w = {*chunks, sets_vectors_of(cpu_device(context)->level)};
    cpu_parallel(context, w.of.items, CHUNK_GRAIN, write_range, &w);
    return COHORT_OK;
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

/* As co_set_contains does, of blocks that may be arrays. */
static int contains(const struct set_look *q, co_u64 id)
{
    const cohort_set_view *v = &q->view;
    const struct co_set_node *node = v->nodes;
    const co_u32 low = (co_u32)id & (CO_CHUNK_IDS - 1);
    const co_u64 key = id >> CO_CHUNK_BITS;
    if (v->limit && id >= v->limit)
        return 0;
    for (co_u32 level = v->levels; level > 1; level--) {
        if (!(node->some >> set_digit(key, level) & 1))
            return 0;
        node = v->nodes + node->child[set_digit(key, level)];
    }
    const co_u32 digit = set_digit(key, 1), block = node->child[digit];
    if (!(node->some >> digit & 1) || node->full >> digit & 1)
        return (int)(node->some >> digit & 1);
    const co_u32 *words = v->blocks + (co_u64)block * CO_CHUNK_WORDS;
    const co_u32 entries = q->forms[block].entries;
    if (!entries)
        return (int)(words[low / 32] >> (low & 31) & 1);
    const co_u16 *at = set_block_array(q->forms, v->blocks, block);
    const co_u32 i = co_chunk_array_lower(at, entries, low);
    return i < entries && at[i] == low;
}

static void look_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_look *q = arg;
    (void)worker;
    for (uint64_t base = begin; base < end; base += 32) {
        co_u32 word = 0;
        for (uint64_t i = base; i < end && i < base + 32; i++)
            word |= (co_u32)contains(q, sets_number(q->values, i, (int)q->view.wide)) << (i - base);
        bits_put_word(q->hit, base, q->n, word);
    }
}

static cohort_status cpu_set_look(cohort_context *context, const struct set_look *look)
{
    struct set_look q = *look;
    cpu_parallel(context, q.n, LOOK_GRAIN, look_range, &q);
    return COHORT_OK;
}

static int cpu_set_two(cohort_context *context, const struct set_two *two)
{
    return set_leaves(context, two);
}

const struct set_backend cpu_set_backend = {
    .step = cpu_set_step,
    .measure = cpu_set_measure,
    .write = cpu_set_write,
    .look = cpu_set_look,
    .two = cpu_set_two,
};
