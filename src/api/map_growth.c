/* map_growth.c: a call that waits, in parts, and room for what they put in.
 *
 * A map grows when it holds more than its limit, not because a batch might bring it there: most entries of a
 * batch may be keys that are in already. So a part of a batch is as large as surely fits, were every entry a
 * new key: up to the limit and a little above it (a sixteenth, and a quarter of the slots that the limit
 * leaves free), so that parts do not become ever smaller. Where few of the entries before were new, a longer
 * part is looked at first: the keys that are not in the map are counted by a find, and if no more than fit
 * are absent the whole part is done. Parts grow at most four times at each look, and a look that fails is
 * followed by one of a quarter, so looking takes a bounded share of the work whatever the keys. A map that is
 * above its limit grows before the next part, or when the call ends. Where the table was made for what comes
 * (a multimap's index, by a sketch), nothing is looked at beforehand and no part is short.
 *
 * Entries that found no slot all the same (a page had more keys than its reach holds) are tried again after
 * growth, named by the `failed` bitmap. */
#include "api/map_call.h"

#include <stdlib.h>
#include <string.h>

#include "core/seed.h"
#include "shape/bits.h"

#define LOOK_TIMES 4

/* A bigger table for `left` more entries, as far as they can be foreseen; or one of the same size, if enough
 * is erased. */
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

/* Lessens *most to how many of the `left` entries fit; grows first if the map holds more than it may. */
static cohort_status make_room(struct call *c, uint64_t left, uint64_t *most)
{
    struct co_map_counters now;
    cohort_status s = map_counters(c->map, &now);
    c->taken = s ? 0 : now.taken;
    if (s || c->foreseen)
        return s;
    if (now.taken > map_limit(c->map)) {
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

/* After the last part: grows if that brought the map above its limit. */
static cohort_status end_room(struct call *c)
{
    struct co_map_counters now;
    if (!c->grows || c->taken <= map_limit(c->map))
        return COHORT_OK;
    cohort_status s = map_counters(c->map, &now);
    if (!s && now.taken > map_limit(c->map))
        s = grow(c, &now, 0);
    return s == COHORT_NO_MEMORY ? COHORT_OK : s; /* all is in */
}

/* After entries found no slot although there was room: the pages that they may lie in are full. By chance if
 * the table is well filled; else by design of the keys, against which a new seed helps and more room does
 * not. Of LINES it helps once: then those entries are refused, so that no keys make a table grow for ever. */
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
        s = map_rebuild(c->map, slots, lines ? seed_draw() : co_hash(seed, slots));
    else if (!s)
        s = map_rebuild(c->map, slots > UINT64_MAX / 2 ? 0 : slots * 2, seed);
    c->reseeded |= now.taken < little;
    c->batch.view = c->map->view;
    return s;
}

/* Workspace for a bitmap in memory of the arguments' kind. */
static cohort_status take_bits(struct call *c, uint64_t n, co_u32 **bits)
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

static void give_bits(struct call *c, co_u32 *bits)
{
    if (c->memory == c->map->context->backend->own_memory)
        pool_give(c->map->context, bits);
    else
        free(bits);
}

/* Tries a part's failed entries again, each time in a bigger table, until all are in or there is no
 * memory. */
static cohort_status retry(struct call *c, struct map_batch *b, struct batch_counts *part)
{
    co_u32 *where;
    cohort_status s = take_bits(c, b->n, &where);
    b->where = where;
    b->join = 1;
    for (int full = 1; !s && full;) {
        struct batch_counts got;
        s = grow_after_overflow(c);
        if (c->refused)
            break;
        if (!s)
            s = context_copy(c->map->context, where, b->failed, bits_bytes(0, b->n));
        if (s)
            break;
        b->view = c->map->view;
        s = map_attempt(c, b, &got, &full);
        part->hits += got.hits;
        part->added += got.added;
        part->failed = got.failed;
        part->first_failed = got.first_failed;
    }
    give_bits(c, where);
    return s;
}

/* ---- parts --- */

static void add_counts(struct call *c, const struct batch_counts *part)
{
    c->counts.taken += part->taken;
    c->counts.hits += part->hits;
    c->counts.added += part->added;
    c->counts.failed += part->failed;
    if (part->first_failed < c->counts.first_failed)
        c->counts.first_failed = part->first_failed;
    c->taken += part->added;
    c->rate = part->taken ? (double)part->added / (double)part->taken : 1.0;
}

/* Growth that fails for want of memory ends growth, not the call: what fits still goes in, and the rest is
 * named. */
static cohort_status deny(struct call *c, cohort_status s)
{
    if (s != COHORT_NO_MEMORY || c->map->all)
        return s;
    c->grows = 0;
    c->denied = 1;
    return COHORT_OK;
}

/* A part of a call that waits. */
static cohort_status do_part(struct call *c, struct map_batch *b)
{
    struct batch_counts part;
    co_u32 *bits = NULL;
    int full;
    cohort_status s = COHORT_OK;
    if (c->grows && !b->failed) {
        s = take_bits(c, b->n, &bits);
        b->failed = bits;
    }
    if (!s)
        s = map_attempt(c, b, &part, &full);
    if (!s) {
        if (full && c->grows)
            s = retry(c, b, &part);
        add_counts(c, &part);
        c->grows &= !c->refused;
        s = deny(c, s);
    }
    give_bits(c, bits);
    return s;
}

/* Marks entries [begin, end) that took part as failed, begin a multiple of 32: there was no workspace to do
 * them with. */
static cohort_status name_failed(struct call *c, uint64_t begin, uint64_t end)
{
    uint32_t words[256], zeros[256] = {0};
    cohort_status s = COHORT_OK;
    for (uint64_t i = begin; i < end && !s; i += 32 * 256) {
        uint64_t n = end - i < 32 * 256 ? end - i : 32 * 256, bytes = bits_bytes(0, n);
        memset(words, 0xff, sizeof words);
        if (c->batch.where)
            s = context_copy(c->map->context, words, c->batch.where + i / 32, bytes);
        if (n % 32)
            words[n / 32] &= (1u << n % 32) - 1;
        for (uint64_t k = 0; k < batch_bitmap_words(n); k++)
            for (uint32_t w = words[k]; w; w &= w - 1) {
                uint64_t entry = i + 32 * k + (uint64_t)__builtin_ctz(w);
                c->counts.first_failed = entry < c->counts.first_failed ? entry : c->counts.first_failed;
                c->counts.failed++;
                c->counts.taken++;
            }
        if (!s && c->batch.failed)
            s = context_copy(c->map->context, c->batch.failed + i / 32, words, bytes);
        if (!s && c->batch.hit)
            s = context_copy(c->map->context, c->batch.hit + i / 32, zeros, bytes);
    }
    c->denied = 1;
    return s;
}

/* The most entries of the next part. Where somebody is told of progress a call can be ended between parts;
 * but a GPU puts more than these in at once, by whole pages, and is done soon. */
static uint64_t part_most(const struct call *c)
{
    const cohort_context *context = c->map->context;
    const int looks = c->batch.step == MAP_STEP_APPLY && c->batch.op == CO_OP_FIND;
    if (c->winner != COHORT_WINNER_ANY)
        return WINNER_ENTRIES;
    if (context->progress.call && (looks || context->backend->own_memory == MEMORY_HOST))
        return TOLD_ENTRIES;
    return c->grows ? PART_ENTRIES : UINT64_MAX;
}

cohort_status map_do_parts(struct call *c)
{
    cohort_status s = COHORT_OK;
    for (uint64_t left = c->batch.n; left && !s;) {
        uint64_t most = part_most(c);
        if (c->grows)
            s = deny(c, make_room(c, left, &most));
        if (s)
            break;
        struct map_batch b = map_next_part(c, left, most);
        s = do_part(c, &b);
        if (s == COHORT_NO_MEMORY && !c->map->all)
            return map_part_is_backward(c) ? name_failed(c, 0, left)
                                           : name_failed(c, c->batch.n - left, c->batch.n);
        left -= b.n;
        c->last = b.n;
        if (!c->quiet && !s)
            s = context_progress(c->map->context, c->name, c->batch.n - left, c->batch.n);
    }
    return s ? s : end_room(c);
}
