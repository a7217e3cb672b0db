/* set_collection.c: from working sets to collections.
 *
 * Whatever a set is changed by is a collection of one set (set_change.c); what reads a set whole reads a
 * collection that is made from it. The host lists the chunks by the directory, the backend measures their
 * blocks, the host gives each a place in the pool, and the backend writes them. */
#include "api/set.h"

#include <stdlib.h>
#include <string.h>

/* The chunks of all sets, in the host's memory. */
struct chunks {
    cohort_context *context;
    struct sets_found *found;
    uint64_t n;       /* sets */
    uint64_t *first;  /* n + 1: of each set in */
    uint64_t *keys;   /* of each chunk, */
    uint64_t *places; /* what it comes to, */
    uint64_t *words;  /* and the address of its bitmap or array; 0: it is full */
    co_u64 *arrays;   /* a CPU's: entries of the block, if it is an array */
};

/* Units of the pool that a chunk of so many members takes, at most. */
static uint64_t units_most(co_u32 card)
{
    return card <= SETS_ARRAY_MOST ? (card + 7) / 8 : CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES + 3;
}

/* A set's chunks, from entry `at` of the arrays on. */
static cohort_status list_set(struct chunks *c, const cohort_set *set, uint64_t at, uint64_t n)
{
    const co_u32 *blocks = set->state.own.blocks;
    const struct set_form *forms = set->state.own.forms;
    struct set_chunk *list = malloc((n + 1) * sizeof *list);
    if (!list)
        return context_fail(c->context, COHORT_NO_MEMORY, "no memory for a list of %llu chunks",
                            (unsigned long long)n);
    cohort_status status = set_list(set, n, list);
    for (uint64_t i = 0; i < n && !status; i++) {
        int full = list[i].card == CO_CHUNK_IDS;
        const co_u64 block = list[i].block;
        c->keys[at + i] = list[i].key;
        c->arrays[at + i] = full || !forms ? 0 : forms[block].entries;
        c->words[at + i] = full                ? 0
                           : c->arrays[at + i] ? (uintptr_t)set_block_array(forms, blocks, block)
                                               : (uintptr_t)(blocks + block * CO_CHUNK_WORDS);
        c->found->units += full ? 0 : units_most(list[i].card);
    }
    free(list);
    return status;
}

/* How many chunks there are, and what there must be room for. */
static cohort_status count_all(struct chunks *c, cohort_set *const *sets)
{
    struct sets_found *f = c->found;
    cohort_status status = COHORT_OK;
    for (uint64_t i = 0; i < c->n && !status; i++) {
        struct set_words words;
        status = set_read(sets[i], &words);
        if (status)
            break;
        c->first[i] = f->chunks;
        f->chunks += words.has[1];
        f->listed += words.has[0] < SETS_LIST_MOST ? words.has[0] : SETS_LIST_MOST;
    }
    c->first[c->n] = f->chunks;
    return status;
}

static cohort_status list_all(struct chunks *c, cohort_set *const *sets)
{
    c->first = malloc((c->n + 1) * sizeof *c->first);
    cohort_status status = c->first
                               ? count_all(c, sets)
                               : context_fail(c->context, COHORT_NO_MEMORY,
                                              "no memory for a list of %llu sets", (unsigned long long)c->n);
    if (status)
        return status;
    uint64_t chunks = c->found->chunks;
    c->keys = malloc((4 * chunks + 1) * sizeof *c->keys);
    if (!c->keys)
        return context_fail(c->context, COHORT_NO_MEMORY, "no memory for a list of %llu chunks",
                            (unsigned long long)chunks);
    c->places = c->keys + chunks;
    c->words = c->places + chunks;
    c->arrays = (void *)(c->words + chunks);
    for (uint64_t i = 0; i < c->n && !status; i++)
        status = list_set(c, sets[i], c->first[i], c->first[i + 1] - c->first[i]);
    return status;
}

/* Where each chunk's members go in the pool. */
static void place_all(struct chunks *c)
{
    uint64_t unit = 0;
    for (uint64_t i = 0; i < c->found->chunks; i++) {
        co_u32 kind = co_place_kind(c->places[i]);
        if (kind == CO_CHUNK_BITMAP)
            unit = (unit + 3) & ~3ull;
        c->places[i] |= unit << CO_PLACE_UNIT;
        unit += co_place_units(kind, co_place_entries(c->places[i]));
    }
    c->found->units = unit;
}

/* The chunks, into the found ones' arrays and pool. */
static cohort_status put_all(struct chunks *c, struct sets_rooms *rooms)
{
    struct sets_found *f = c->found;
    cohort_context *context = c->context;
    const struct set_backend *backend = context->backend->set;
    uint64_t bytes = f->chunks * sizeof *c->keys;
    co_u64 *words = NULL;
    cohort_status status = context_copy(context, f->row_first, c->first, (c->n + 1) * sizeof *c->first);
    if (!status)
        status = sets_room(rooms, f->chunks, sizeof *words, &words);
    if (status || !f->chunks) {
        f->units = 0;
        return status;
    }
    struct set_chunks step = {f->chunks, words, c->arrays, f->cards, f->places, f->digests, f->pool};
    status = context_copy(context, f->keys, c->keys, bytes);
    if (!status)
        status = context_copy(context, words, c->words, bytes);
    if (!status)
        status = backend->measure(context, &step);
    if (!status)
        status = context_copy(context, c->places, f->places, bytes);
    if (status)
        return status;
    place_all(c);
    status = context_copy(context, f->places, c->places, bytes);
    return status ? status : backend->write(context, &step);
}

cohort_status set_collection(cohort_context *context, cohort_set *const *sets, uint64_t n, uint32_t wide,
                             cohort_sets **out)
{
    struct sets_rooms rooms = sets_rooms_begin(context);
    struct sets_found f;
    struct chunks c = {.context = context, .found = &f, .n = n};
    cohort_sets *room = NULL;
    *out = NULL;
    memset(&f, 0, sizeof f);
    cohort_status status = list_all(&c, sets);
    if (!status)
        status = sets_found_rooms(&rooms, &f, n, wide, &room);
    if (!status)
        status = put_all(&c, &rooms);
    status = sets_found_end(&rooms, status, &f, n, wide, room, out);
    sets_rooms_end(&rooms);
    free(c.first);
    free(c.keys);
    if (status) {
        cohort_sets_destroy(*out);
        *out = NULL;
    }
    return status;
}

cohort_status set_build(cohort_context *context, const cohort_sets_source *d, cohort_sets **out)
{
    static const char call[] = "cohort_sets_build";
    cohort_set *const *sets = d->members;
    if (d->sets && d->sets != d->n)
        return context_fail(context, COHORT_RANGE,
                            "%s: source.sets is %llu with source.n = %llu working sets", call,
                            (unsigned long long)d->sets, (unsigned long long)d->n);
    if (d->n && !sets)
        return context_fail(context, COHORT_NULL, "%s: source.members is NULL with source.n = %llu", call,
                            (unsigned long long)d->n);
    for (uint64_t i = 0; i < d->n; i++) {
        if (!sets[i])
            return context_fail(context, COHORT_NULL, "%s: source.members[%llu] is NULL", call,
                                (unsigned long long)i);
        if (sets[i]->context != context)
            return context_fail(context, COHORT_OTHER_CONTEXT,
                                "%s: source.members[%llu] is of another context", call,
                                (unsigned long long)i);
        if (sets[i]->state.view.wide != (d->type == COHORT_U64))
            return context_fail(context, COHORT_RANGE,
                                "%s: source.members[%llu] has members of %u bits, which source.type has not",
                                call, (unsigned long long)i, sets[i]->state.view.wide ? 64u : 32u);
    }
    return set_collection(context, sets, d->n, d->type == COHORT_U64, out);
}
