/* cpu/set.c: working sets on the host's threads: the table of entries, and what only reads: lookups, and
 * sets as found chunks for a collection. */
#include "set.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_GRAIN  4096 /* a multiple of 32 */
#define CHUNK_GRAIN 8

/* ---- lookups
 * ------------------------------------------------------------------------------------------------------------ */

static void look_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct set_look *q = arg;
    (void)worker;
    for (uint64_t base = begin; base < end; base += 32) {
        co_u32 word = 0;
        for (uint64_t i = base; i < end && i < base + 32; i++)
            word |= (co_u32)co_set_contains(&q->view, sets_number(q->values, i, (int)q->view.wide))
                    << (i - base);
        q->hit[base / 32] = word;
    }
}

static cohort_status cpu_set_look(cohort_context *context, const struct set_look *look)
{
    struct set_look q = *look;
    cpu_parallel(context, q.n, LOOK_GRAIN, look_range, &q);
    return COHORT_OK;
}

/* ---- found chunks
 * ------------------------------------------------------------------------------------------------------------ */

struct gathering {
    struct sets_found *found;
    const co_u64 **words; /* of each chunk its block; NULL: it is full */
};

/* Chunks of a set from entry `at` of the arrays on; without arrays only what they may take. */
static co_u64 list_chunks(const struct set_state *s, struct gathering *g, co_u64 at, co_u64 *units)
{
    co_u64 key = 0;
    for (co_u32 leaf; (leaf = set_next_leaf(s, key, &key)) != SET_NONE; key = (key | 63) + 1) {
        const struct co_set_node *node = &s->nodes[leaf];
        for (co_u64 some = node->some; some; some &= some - 1, at++) {
            co_u32 i = (co_u32)__builtin_ctzll(some);
            int full = (int)(node->full >> i & 1);
            if (!full)
                *units += node->card[i] <= SETS_ARRAY_MOST ? (node->card[i] + 7) / 8
                                                           : CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES + 3;
            if (!g->words)
                continue;
            g->found->keys[at] = (key & ~63ull) | i;
            g->words[at] = full ? NULL : s->blocks + (co_u64)node->child[i] * SETS_CHUNK_WORDS;
        }
    }
    return at;
}

static void measure_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct gathering *g = arg;
    (void)worker;
    for (uint64_t c = begin; c < end; c++) {
        struct sets_measure m = {CO_CHUNK_IDS, 1, ~0ull};
        if (g->words[c])
            m = sets_bitmap_measure(g->words[c]);
        g->found->cards[c] = m.card;
        g->found->places[c] = sets_place(m.card, m.runs);
        g->found->digests[c] = m.digest;
    }
}

/* Where each chunk's members go in the pool. */
static co_u64 place_all(struct sets_found *f)
{
    co_u64 unit = 0;
    for (co_u64 c = 0; c < f->chunks; c++) {
        co_u32 kind = co_place_kind(f->places[c]);
        if (kind == CO_CHUNK_BITMAP)
            unit = (unit + 3) & ~3ull;
        f->places[c] |= unit << CO_PLACE_UNIT;
        unit += co_place_units(kind, co_place_entries(f->places[c]));
    }
    return unit;
}

static void write_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct gathering *g = arg;
    (void)worker;
    for (uint64_t c = begin; c < end; c++) {
        co_u64 place = g->found->places[c];
        co_u32 entries = co_place_entries(place);
        co_u16 *to = (co_u16 *)(void *)((char *)g->found->pool + co_place_unit(place) * CO_PLACE_UNIT_BYTES);
        if (co_place_kind(place) == CO_CHUNK_BITMAP) {
            memcpy(to, g->words[c], CO_CHUNK_BYTES);
        } else if (co_place_kind(place) == CO_CHUNK_ARRAY) {
            sets_pad(to, sets_bitmap_array(g->words[c], to, entries));
        } else if (co_place_kind(place) == CO_CHUNK_RUNS) {
            sets_pad(to, 2 * sets_bitmap_runs(g->words[c], to, entries));
        }
    }
}

/* What there must be room for. */
static void ask_room(const struct set_gather *a)
{
    struct sets_found *f = a->found;
    struct gathering g = {f, NULL};
    memset(f, 0, sizeof *f);
    for (co_u64 i = 0; i < a->n; i++) {
        f->chunks = list_chunks(a->state[i], &g, f->chunks, &f->units);
        f->listed += a->state[i]->members < SETS_LIST_MOST ? a->state[i]->members : SETS_LIST_MOST;
    }
}

cohort_status cpu_set_gather(cohort_context *context, const struct set_gather *a)
{
    struct sets_found *f = a->found;
    co_u64 units = 0, at = 0;
    if (!f->pool) {
        ask_room(a);
        return COHORT_OK;
    }
    struct gathering g = {f, malloc((f->chunks + 1) * sizeof *g.words)};
    if (!g.words)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a list of %llu chunks",
                            (unsigned long long)f->chunks);
    for (co_u64 i = 0; i < a->n; i++) {
        f->row_first[i] = at;
        at = list_chunks(a->state[i], &g, at, &units);
    }
    f->row_first[a->n] = at;
    cpu_parallel(context, at, CHUNK_GRAIN, measure_range, &g);
    f->units = place_all(f);
    cpu_parallel(context, at, CHUNK_GRAIN, write_range, &g);
    free(g.words);
    return COHORT_OK;
}

/* ---- the table
 * -------------------------------------------------------------------------------------------------------------- */

static void cpu_set_clear(cohort_context *context, struct set_state *state)
{
    (void)context;
    set_empty(state);
}

const struct set_backend cpu_set_backend = {
    .change = cpu_set_change,
    .clear = cpu_set_clear,
    .gather = cpu_set_gather,
    .look = cpu_set_look,
};
