/* map_growth.c: room for what a batch puts in.
 *
 * A map grows when it holds more than its limit, not because a batch might bring it there: most entries of a batch may be keys that
 * are in already. So a part of a batch is as large as surely fits, were every entry a new key: up to the limit and a little
 * above it (a sixteenth, and a quarter of the slots that the limit leaves free), so that parts do not become ever smaller.
 * Where few of the entries before were new, a longer part is looked at first: the keys that are not in the map are
 * counted by a find, and if no more than fit are absent the whole part is done. Parts grow at most four times at each look, and a
 * look that fails is followed by one of a quarter, so looking takes a bounded share of the work whatever the keys.
 * A map that is above its limit grows before the next part, or when the call ends.
 *
 * Entries that found no slot all the same (a page had more keys than its reach holds) are tried again after growth, named by
 * the `failed` bitmap. */
#include "api/map_call.h"

#include <stdlib.h>

#define LOOK_TIMES 4

/* A bigger table for `left` more entries, as far as they can be foreseen; or one of the same size, if enough is erased. */
static cohort_status grow(struct call *c, const struct co_map_counters *now, uint64_t left)
{
    double live = (double)(now->taken - now->erased), more = c->rate * (double)left;
    more = more < live ? live : more > 7 * live ? 7 * live : more;
    uint64_t slots = map_table_slots(c->map), wanted = map_slots_for(c->map, (uint64_t)(live + more) + 32);
    cohort_status s = map_rebuild(c->map, wanted > slots ? wanted : slots, c->map->view.seed);
    c->batch.view = c->map->view;
    return s;
}

/* How many of the next `look` entries have keys that are not in the map. */
static cohort_status count_absent(struct call *c, uint64_t left, uint64_t look, uint64_t *absent)
{
    struct map_batch b = map_next_part(c, left, look);
    struct batch_counts got;
    int full;
    b.step = MAP_STEP_APPLY;
    b.op = CO_OP_FIND;
    b.rank = MAP_RANK_NONE;
    b.has_fallback = 0;
    b.values = b.results = NULL;
    b.ops = NULL;
    b.hit = b.failed = NULL;
    cohort_status s = map_attempt(c, &b, &got, &full);
    *absent = s ? 0 : got.taken - got.hits;
    return s;
}

cohort_status map_make_room(struct call *c, uint64_t left, uint64_t *most)
{
    struct co_map_counters now;
    cohort_status s = map_counters(c->map, &now);
    if (!s && now.taken > map_limit(c->map)) {
        s = grow(c, &now, left);
        if (!s)
            s = map_counters(c->map, &now);
    }
    if (s)
        return s;
    uint64_t limit = map_limit(c->map), over = (map_table_slots(c->map) - limit) / 4;
    over = over < limit / 16 ? over : limit / 16;
    uint64_t fit = limit + over > now.taken ? limit + over - now.taken : 0, sure = fit < 32 ? 32 : fit;
    uint64_t look = left < *most ? left : *most;
    look = look < LOOK_TIMES * c->last ? look : LOOK_TIMES * c->last;
    c->taken = now.taken;
    if (sure >= left || sure >= *most)
        return COHORT_OK;
    *most = sure;
    for (; !s && c->rate * LOOK_TIMES <= 1 && look > sure; look /= LOOK_TIMES) {
        uint64_t absent = 0;
        s = count_absent(c, left, look, &absent);
        if (!s && absent <= fit) {
            *most = look;
            break;
        }
    }
    return s;
}

cohort_status map_end_room(struct call *c)
{
    struct co_map_counters now;
    if (!c->grows || c->taken <= map_limit(c->map))
        return COHORT_OK;
    cohort_status s = map_counters(c->map, &now);
    if (!s && now.taken > map_limit(c->map))
        s = grow(c, &now, 0);
    return s == COHORT_NO_MEMORY ? COHORT_OK : s; /* all is in */
}

/* After entries found no slot although there was room: the pages that they may lie in are full. By chance if the table
 * is well filled; else by design of the keys, against which a new seed helps and more room does not. Of LINES it helps once: then those entries
 * are refused, so that no keys make a table grow for ever. */
static cohort_status grow_after_overflow(struct call *c)
{
    struct co_map_counters now;
    cohort_status s = map_counters(c->map, &now);
    const int lines = c->map->options.layout == COHORT_LAYOUT_LINES;
    uint64_t slots = map_table_slots(c->map), seed = c->map->view.seed,
             little = (lines ? slots : map_limit(c->map)) / 2;
    if (!s && now.taken < little && lines && c->reseeded)
        c->refused = 1;
    else if (!s && now.taken < little)
        s = map_rebuild(c->map, slots, lines ? map_random_seed() : co_hash(seed, slots));
    else if (!s)
        s = map_rebuild(c->map, slots > UINT64_MAX / 2 ? 0 : slots * 2, seed);
    c->reseeded |= now.taken < little;
    c->batch.view = c->map->view;
    return s;
}

cohort_status map_take_bits(struct call *c, uint64_t n, uint32_t **bits)
{
    cohort_context *context = c->map->context;
    void *memory = NULL;
    cohort_status s = COHORT_OK;
    if (c->memory == context->backend->own_memory)
        s = pool_take(context, batch_bitmap_words(n) * 4, &memory);
    else if (!(memory = malloc(batch_bitmap_words(n) * 4)))
        s = context_fail(context, COHORT_NO_MEMORY, "%s: no host memory for a bitmap of %llu entries",
                         c->name, (unsigned long long)n);
    *bits = memory;
    return s;
}

void map_give_bits(struct call *c, uint32_t *bits)
{
    if (c->memory == c->map->context->backend->own_memory)
        pool_give(c->map->context, bits);
    else
        free(bits);
}

cohort_status map_retry(struct call *c, struct map_batch *b, struct batch_counts *part)
{
    uint32_t *where;
    cohort_status s = map_take_bits(c, b->n, &where);
    b->where = where;
    b->join = 1;
    for (int full = 1; !s && full;) {
        struct batch_counts got;
        s = grow_after_overflow(c);
        if (c->refused)
            break;
        if (!s)
            s = context_copy(c->map->context, where, b->failed, batch_bitmap_words(b->n) * 4);
        if (s)
            break;
        b->view = c->map->view;
        s = map_attempt(c, b, &got, &full);
        part->hits += got.hits;
        part->added += got.added;
        part->failed = got.failed;
        part->first_failed = got.first_failed;
    }
    map_give_bits(c, where);
    return s;
}
