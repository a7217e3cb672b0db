/* map_batch.c: the calls that take a batch.
 *
 * A call is checked, described as a struct map_batch, and handed to the backend in parts. Most calls are one part. How long the
 * parts are that a map takes which may grow is decided in map_growth.c.
 *
 * The winner rule needs no state across parts: within a part the ranks decide, or the order that the backend keeps, and parts
 * go through the batch in the order in which what comes later may not undo what came before: an insert keeps what an earlier
 * part put in, so FIRST goes forward and LAST backward; an assign replaces it, so FIRST goes backward and LAST forward. */
#include <stdlib.h>
#include <string.h>

#include "api/batch.h"
#include "api/map_call.h"
#include "api/options.h"

/* ---- checks ------------------------------------------------------------------------------------------------------------ */

static cohort_status check_batch(struct call *c, const cohort_batch *batch)
{
    cohort_context *context = c->map->context;
    cohort_batch none = COHORT_BATCH_INIT;
    if (!batch)
        batch = &none;
    cohort_status s = options_check(context, "batch", batch, batch->size, sizeof c->options,
                                    sizeof c->options, &c->options);
    if (s)
        return s;
    c->winner = c->options.winner;
    if ((int)c->winner < COHORT_WINNER_ANY || (int)c->winner > COHORT_WINNER_LAST)
        return context_fail(context, COHORT_RANGE, "%s: batch.winner is %d; there are ANY, FIRST and LAST",
                            c->name, (int)c->winner);
    int ranked =
        c->batch.step == MAP_STEP_APPLY && (c->batch.op == CO_OP_INSERT || c->batch.op == CO_OP_ASSIGN);
    if (c->winner != COHORT_WINNER_ANY && !ranked)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "%s: batch.winner is %d, but this call has no winner rule", c->name,
                            (int)c->winner);
    if (c->options.one_by_one > 1)
        return context_fail(context, COHORT_RANGE, "%s: batch.one_by_one is %u; it must be 0 or 1", c->name,
                            (unsigned)c->options.one_by_one);
    c->batch.rank = c->winner == COHORT_WINNER_FIRST  ? MAP_RANK_FIRST
                    : c->winner == COHORT_WINNER_LAST ? MAP_RANK_LAST
                                                      : MAP_RANK_NONE;
    c->batch.where = c->options.where;
    c->batch.hit = c->options.hit;
    c->batch.failed = c->options.failed;
    return COHORT_OK;
}

/* `values` and `results` may be missing where the operation does not need them. */
static cohort_status check_arguments(struct call *c, int values_optional, int results_optional)
{
    const struct map_batch *m = &c->batch;
    const unsigned key = map_key_bytes(m->view.width), value = map_value_bytes(m->view.width);
    const int runs = m->step == MAP_STEP_RUN, applies = m->step == MAP_STEP_APPLY && m->op >= CO_OP_ADD;
    const unsigned in = BATCH_IN, out = BATCH_OUT, maybe = BATCH_OPTIONAL;
    struct batch b;
    batch_open(&b, c->map->context, c->name);
    batch_array(&b, "keys", in, m->keys, m->n, key, NULL);
    batch_array(&b, applies ? "operands" : "values", values_optional || !value ? in | maybe : in, m->values,
                m->n, value, NULL);
    batch_array(&b, runs ? "results" : "values", results_optional || !value ? out | maybe : out, m->results,
                m->n, value, NULL);
    batch_array(&b, "ops", runs ? in : in | maybe, m->ops, m->n, 1, NULL);
    batch_bitmap(&b, "batch.where", in | maybe, m->where, m->n, NULL);
    batch_bitmap(&b, "batch.hit", out | maybe, m->hit, m->n, NULL);
    batch_bitmap(&b, "batch.failed", out | maybe, m->failed, m->n, NULL);
    batch_array(&b, "batch.counts", out | maybe, c->options.counts, m->n ? 1 : 0, sizeof *c->options.counts,
                NULL)
        ->align = 8;
    cohort_status s = batch_check_n(&b, m->n);
    if (!s)
        s = batch_check_memory(&b);
    c->memory = b.kind < 0 ? MEMORY_HOST : (enum memory_kind)b.kind;
    return s;
}

/* ---- one part ----------------------------------------------------------------------------------------------------------- */

static int goes_backward(const struct call *c)
{
    return map_goes_backward(c->batch.rank, c->batch.op);
}

struct map_batch map_next_part(const struct call *c, uint64_t left, uint64_t most)
{
    struct map_batch b = c->batch;
    uint64_t key = map_key_bytes(b.view.width), value = map_value_bytes(b.view.width), begin = b.n - left;
    b.n = left < most ? left : most & ~31ull;
    if (goes_backward(c)) {
        begin = left > most ? (left - most + 31) & ~31ull : 0;
        b.n = left - begin;
    }
    b.first_index = begin;
    b.keys = (const char *)b.keys + begin * key;
    b.values = b.values ? (const char *)b.values + begin * value : NULL;
    b.results = b.results ? (char *)b.results + begin * value : NULL;
    b.ops = b.ops ? b.ops + begin : NULL;
    b.where = b.where ? b.where + begin / 32 : NULL;
    b.hit = b.hit ? b.hit + begin / 32 : NULL;
    b.failed = b.failed ? b.failed + begin / 32 : NULL;
    return b;
}

/* Workspace of the winner rule: a word a slot, and what the passes tell each other of n entries. *memory: to be given back. */
static cohort_status take_claims(cohort_context *context, uint64_t slots, struct map_batch *b, void **memory)
{
    const uint64_t words = batch_bitmap_words(b->n);
    cohort_status s = pool_take(context, sizeof(co_u64) + (slots + 2 * words) * sizeof(co_u32), memory);
    if (s)
        return s;
    b->claims.contested = *memory;
    b->winners = (co_u32 *)(void *)(b->claims.contested + 1);
    b->claims.first = b->winners + slots;
    b->claims.full = b->claims.first + words;
    return context_fill(context, b->claims.contested, 0, sizeof(co_u64));
}

/* Enqueues the passes of the winner rule, and one more that reads the outcome if there are results to write. */
static cohort_status enqueue_ranked(struct call *c, struct map_batch b)
{
    cohort_context *context = c->map->context;
    const struct map_backend *backend = map_backend_of(c->map);
    struct map_sweep mark;
    void *memory = NULL, *results = b.results;
    memset(&mark, 0, sizeof mark);
    mark.view = b.view;
    mark.slots = map_all_slots(c->map);
    cohort_status s = take_claims(context, mark.slots, &b, &memory);
    mark.winners = b.winners;
    b.results = NULL;
    if (!s)
        s = backend->sweep(context, &mark, MAP_SWEEP_MARK);
    b.step = MAP_STEP_CLAIM;
    if (!s)
        s = backend->batch(context, &b, c->memory);
    b.step = MAP_STEP_SETTLE;
    if (!s)
        s = backend->batch(context, &b, c->memory);
    b.step = MAP_STEP_GET;
    b.results = results;
    if (!s && results)
        s = backend->batch(context, &b, c->memory);
    pool_give(context, memory);
    return s;
}

/* Can walks be long, as far as is known? Then lookups by whole pages may pay. */
static int is_crowded(const cohort_map *map)
{
    return map->viewed || map->most > map_table_slots(map) / 8 * 5;
}

/* By whole pages where the backend offers that and there is workspace for it. *done: it was. */
static cohort_status enqueue_pages(struct call *c, const struct map_batch *b, int *done)
{
    cohort_context *context = c->map->context;
    const struct backend *backend = context->backend;
    struct arena arena = {.asks = 1};
    void *memory;
    *done = 0;
    int looks = b->step == MAP_STEP_APPLY && b->op == CO_OP_FIND;
    if (c->options.one_by_one || c->memory != backend->own_memory || (looks && !is_crowded(c->map)))
        return COHORT_OK;
    cohort_status s = map_backend_of(c->map)->pages(context, b, c->map->fresh, &arena);
    if (s || !arena.used || pool_take(context, arena.used, &memory))
        return s;
    *done = 1;
    arena = (struct arena){.memory = memory};
    s = map_backend_of(c->map)->pages(context, b, c->map->fresh, &arena);
    pool_give(context, memory);
    return s;
}

static cohort_status enqueue(struct call *c, const struct map_batch *b)
{
    const struct map_backend *backend = map_backend_of(c->map);
    int done = 0;
    cohort_status s = COHORT_OK;
    const int ranked = b->rank != MAP_RANK_NONE && !backend->keeps_order;
    if (!ranked)
        s = enqueue_pages(c, b, &done);
    if (b->step != MAP_STEP_APPLY || b->op != CO_OP_FIND) {
        c->map->fresh = 0;
        c->map->most = c->map->most > UINT64_MAX - b->n ? UINT64_MAX : c->map->most + b->n;
    }
    if (s || done)
        return s;
    if (ranked)
        return enqueue_ranked(c, *b);
    return backend->batch(c->map->context, b, c->memory);
}

cohort_status map_attempt(struct call *c, struct map_batch *b, struct batch_counts *got, int *full)
{
    static const struct batch_counts none = {0, 0, 0, 0, ~0ull};
    cohort_context *context = c->map->context;
    struct batch_deferred seen;
    int across = c->memory == MEMORY_HOST; /* then the counts come to the host's memory */
    *got = none;
    b->counts = across ? got : &context->outcome->counts;
    b->deferred = &context->outcome->now;
    cohort_status s = context_fill(context, b->deferred, 0xff, sizeof *b->deferred);
    if (!s && !across)
        s = context_copy(context, b->counts, &none, sizeof none);
    if (!s)
        s = enqueue(c, b);
    if (!s && !across)
        s = context_copy(context, got, b->counts, sizeof *got);
    if (!s)
        s = context_copy(context, &seen, b->deferred, sizeof seen);
    *full = !s && seen.first_full != ~0ull;
    c->bad |= !s && seen.first_bad != ~0ull;
    return s;
}

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

/* Growth that fails for want of memory ends growth, not the call: what fits still goes in, and the rest is named. */
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
    uint32_t *bits = NULL;
    int full;
    cohort_status s = COHORT_OK;
    if (c->grows && !b->failed) {
        s = map_take_bits(c, b->n, &bits);
        b->failed = bits;
    }
    if (!s)
        s = map_attempt(c, b, &part, &full);
    if (!s) {
        if (full && c->grows)
            s = map_retry(c, b, &part);
        add_counts(c, &part);
        c->grows &= !c->refused;
        s = deny(c, s);
    }
    map_give_bits(c, bits);
    return s;
}

/* ---- a whole call ------------------------------------------------------------------------------------------------------- */

/* Marks entries [begin, end) that took part as failed, begin a multiple of 32: there was no workspace to do them with. */
static cohort_status name_failed(struct call *c, uint64_t begin, uint64_t end)
{
    uint32_t words[256], zeros[256] = {0};
    cohort_status s = COHORT_OK;
    for (uint64_t i = begin; i < end && !s; i += 32 * 256) {
        uint64_t n = end - i < 32 * 256 ? end - i : 32 * 256, bytes = batch_bitmap_words(n) * 4;
        memset(words, 0xff, sizeof words);
        if (c->batch.where)
            s = context_copy(c->map->context, words, c->batch.where + i / 32, bytes);
        if (n % 32)
            words[n / 32] &= (1u << n % 32) - 1;
        for (uint64_t k = 0; k < bytes / 4; k++)
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

/* Lookups lose nothing by going in parts, between which they can be ended. */
static int looks_and_tells(const struct call *c)
{
    return c->map->context->progress.call && c->batch.step == MAP_STEP_APPLY && c->batch.op == CO_OP_FIND;
}

cohort_status map_do_parts(struct call *c)
{
    cohort_status s = COHORT_OK;
    for (uint64_t left = c->batch.n; left && !s;) {
        uint64_t most = c->winner != COHORT_WINNER_ANY ? WINNER_ENTRIES
                        : c->grows                     ? PART_ENTRIES
                        : looks_and_tells(c)           ? TOLD_ENTRIES
                                                       : UINT64_MAX;
        if (c->grows)
            s = deny(c, map_make_room(c, left, &most));
        if (s)
            break;
        struct map_batch b = map_next_part(c, left, most);
        s = do_part(c, &b);
        if (s == COHORT_NO_MEMORY && !c->map->all)
            return goes_backward(c) ? name_failed(c, 0, left) : name_failed(c, c->batch.n - left, c->batch.n);
        left -= b.n;
        c->last = b.n;
        if (!c->quiet && !s)
            s = context_progress(c->map->context, c->name, c->batch.n - left, c->batch.n);
    }
    return s ? s : map_end_room(c);
}

static cohort_status do_waiting(struct call *c)
{
    int done = 0;
    cohort_status s = c->combines ? map_combine(c, &done) : COHORT_OK;
    return s || done ? s : map_do_parts(c);
}

static cohort_status do_enqueueing(struct call *c)
{
    cohort_context *context = c->map->context;
    cohort_counts *counts = c->options.counts;
    cohort_status s = COHORT_OK;
    if (counts) {
        s = context_fill(context, counts, 0, offsetof(cohort_counts, first_failed));
        if (!s)
            s = context_fill(context, &counts->first_failed, 0xff, sizeof counts->first_failed);
    }
    c->batch.counts = (struct batch_counts *)(void *)counts;
    c->batch.deferred = &context->outcome->deferred;
    for (uint64_t left = c->batch.n; left && !s;) {
        struct map_batch b =
            map_next_part(c, left, c->winner != COHORT_WINNER_ANY ? WINNER_ENTRIES : UINT64_MAX);
        s = enqueue(c, &b);
        left -= b.n;
    }
    return s;
}

/* The caller's counts and the status of a call that waited. */
static cohort_status conclude(struct call *c, cohort_status s)
{
    cohort_context *context = c->map->context;
    if (s)
        return s;
    if (c->options.counts) {
        cohort_status copied = context_copy(context, c->options.counts, &c->counts, sizeof(cohort_counts));
        if (copied)
            return copied;
    }
    if (!c->counts.failed)
        return COHORT_OK;
    const char *why = c->denied    ? "there is no memory to grow"
                      : c->refused ? "too many keys have one home, though the table is half empty"
                                   : "the map's capacity is fixed";
    if (c->bad)
        return context_fail(
            context, COHORT_RANGE,
            "%s: %llu of %llu entries failed, the first is entry %llu; some of ops are no op code", c->name,
            (unsigned long long)c->counts.failed, (unsigned long long)c->counts.taken,
            (unsigned long long)c->counts.first_failed);
    return context_fail(context, c->denied ? COHORT_NO_MEMORY : COHORT_FULL,
                        "%s: %llu of %llu entries found no slot, the first is entry %llu; %s", c->name,
                        (unsigned long long)c->counts.failed, (unsigned long long)c->counts.taken,
                        (unsigned long long)c->counts.first_failed, why);
}

/* A call whose arguments have been checked. */
static cohort_status work(struct call *c)
{
    const cohort_map *map = c->map;
    int reads = c->batch.step == MAP_STEP_APPLY && (c->batch.op == CO_OP_FIND || c->batch.op == CO_OP_ERASE);
    c->batch.group = map->options.group;
    c->counts.first_failed = ~0ull;
    c->rate = 1.0;
    c->grows = !map->options.fixed && !reads;
    if (c->memory == MEMORY_HOST || c->grows || c->waits)
        return conclude(c, do_waiting(c));
    return do_enqueueing(c);
}

/* Before sm_90 pairs of 128 bits do not do operations of all kinds at once. */
static cohort_status check_runs(struct call *c)
{
    const cohort_map *map = c->map;
    if (c->batch.step != MAP_STEP_RUN || !c->batch.n ||
        map_backend_runs(map->context, map_backend_of(map), map->options.width))
        return COHORT_OK;
    return context_fail(map->context, COHORT_UNSUPPORTED,
                        "%s: with options.width %d this device (backend %s) offers it for options.layout "
                        "COHORT_LAYOUT_LINES, not for COHORT_LAYOUT_PAGES",
                        c->name, (int)map->options.width, map->context->backend->name);
}

static cohort_status perform(struct call *c, const cohort_batch *batch, int values_optional,
                             int results_optional)
{
    cohort_status s = check_batch(c, batch);
    if (!s)
        s = check_arguments(c, values_optional, results_optional);
    if (!s)
        s = check_runs(c);
    return s ? s : work(c);
}

/* ---- the calls ---------------------------------------------------------------------------------------------------------- */

static struct call call_of(cohort_map *map, const char *name, co_u32 step, co_u32 op, uint64_t n,
                           const void *keys)
{
    struct call c;
    memset(&c, 0, sizeof c);
    c.map = map;
    c.name = name;
    c.batch.view = map->view;
    c.batch.step = step;
    c.batch.op = op;
    c.batch.n = n;
    c.batch.keys = keys;
    return c;
}

/* Work on arrays in the context's memory, which has been checked. */
static cohort_status work_inside(struct call *c, struct batch_counts *counts)
{
    c->waits = 1;
    c->memory = c->map->context->backend->own_memory;
    cohort_status s = work(c);
    if (counts)
        *counts = c->counts;
    return s;
}

cohort_status map_put(cohort_map *map, const char *name, co_u32 op, uint64_t n, const void *keys,
                      const void *values, const uint32_t *where, struct batch_counts *counts)
{
    struct call c = call_of(map, name, MAP_STEP_APPLY, op, n, keys);
    c.batch.values = values;
    c.batch.where = where;
    return work_inside(&c, counts);
}

/* The low bytes of a little-endian word. */
static void take_fallback(struct call *c, const void *fallback)
{
    const unsigned bytes = map_value_bytes(c->map->view.width);
    if (!fallback || !bytes)
        return;
    c->batch.has_fallback = 1;
    memcpy(&c->batch.fallback, fallback, bytes);
}

cohort_status map_get(cohort_map *map, const char *name, uint64_t n, const void *keys, void *values,
                      const void *fallback, const uint32_t *where, uint32_t *hit, struct batch_counts *counts)
{
    struct call c = call_of(map, name, MAP_STEP_APPLY, CO_OP_FIND, n, keys);
    take_fallback(&c, fallback);
    c.batch.results = values;
    c.batch.where = where;
    c.batch.hit = hit;
    return work_inside(&c, counts);
}

cohort_status cohort_map_insert(cohort_map *map, uint64_t n, const void *keys, const void *values,
                                const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_insert");
    struct call c = call_of(map, "cohort_map_insert", MAP_STEP_APPLY, CO_OP_INSERT, n, keys);
    c.batch.values = values;
    return perform(&c, batch, 0, 1);
}

cohort_status cohort_map_assign(cohort_map *map, uint64_t n, const void *keys, const void *values,
                                const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_assign");
    struct call c = call_of(map, "cohort_map_assign", MAP_STEP_APPLY, CO_OP_ASSIGN, n, keys);
    c.batch.values = values;
    return perform(&c, batch, 0, 1);
}

cohort_status cohort_map_apply(cohort_map *map, cohort_op op, uint64_t n, const void *keys,
                               const void *operands, const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_apply");
    if ((int)op < COHORT_OP_ADD || (int)op > COHORT_OP_COUNT)
        return context_fail(map->context, COHORT_RANGE,
                            "cohort_map_apply: op is %d; it must be ADD (%d) to COUNT (%d)", (int)op,
                            (int)COHORT_OP_ADD, (int)COHORT_OP_COUNT);
    if (!map_value_bytes(map->view.width))
        return context_fail(map->context, COHORT_UNSUPPORTED, "cohort_map_apply: width %d has no values",
                            (int)map->options.width);
    struct call c = call_of(map, "cohort_map_apply", MAP_STEP_APPLY, (co_u32)op, n, keys);
    c.batch.values = op == COHORT_OP_COUNT ? NULL : operands;
    c.combines = 1;
    return perform(&c, batch, op == COHORT_OP_COUNT, 1);
}

cohort_status cohort_map_find(cohort_map *map, uint64_t n, const void *keys, void *values,
                              const void *fallback, const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_find");
    struct call c = call_of(map, "cohort_map_find", MAP_STEP_APPLY, CO_OP_FIND, n, keys);
    take_fallback(&c, fallback);
    c.batch.results = map_value_bytes(map->view.width) ? values : NULL;
    return perform(&c, batch, 1, 0);
}

cohort_status cohort_map_contains(cohort_map *map, uint64_t n, const void *keys, uint32_t *hit,
                                  const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_contains");
    struct call c = call_of(map, "cohort_map_contains", MAP_STEP_APPLY, CO_OP_FIND, n, keys);
    cohort_batch b = COHORT_BATCH_INIT;
    if (batch) {
        cohort_status s = options_check(map->context, "batch", batch, batch->size, sizeof b, sizeof b, &b);
        if (s)
            return s;
    }
    if (n && !hit)
        return context_fail(map->context, COHORT_NULL, "cohort_map_contains: hit is NULL with n = %llu",
                            (unsigned long long)n);
    if (b.hit && b.hit != hit)
        return context_fail(map->context, COHORT_RANGE,
                            "cohort_map_contains: batch.hit is %p and hit is %p; give one", (void *)b.hit,
                            (void *)hit);
    b.hit = hit;
    return perform(&c, &b, 1, 1);
}

cohort_status cohort_map_insert_and_find(cohort_map *map, uint64_t n, const void *keys, void *values,
                                         const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_insert_and_find");
    struct call c = call_of(map, "cohort_map_insert_and_find", MAP_STEP_APPLY, CO_OP_INSERT, n, keys);
    c.batch.values = values;
    c.batch.results = map_value_bytes(map->view.width) ? values : NULL;
    return perform(&c, batch, 0, 0);
}

cohort_status cohort_map_erase(cohort_map *map, uint64_t n, const void *keys, const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_erase");
    struct call c = call_of(map, "cohort_map_erase", MAP_STEP_APPLY, CO_OP_ERASE, n, keys);
    return perform(&c, batch, 1, 1);
}

cohort_status cohort_map_run(cohort_map *map, uint64_t n, const uint8_t *ops, const void *keys,
                             const void *values, void *results, const cohort_batch *batch)
{
    CALL_ON(map);
    REQUIRE_MAP(map, "cohort_map_run");
    if (results && results == values)
        return context_fail(map->context, COHORT_RANGE,
                            "cohort_map_run: results is the same array as values");
    struct call c = call_of(map, "cohort_map_run", MAP_STEP_RUN, 0, n, keys);
    c.batch.ops = ops;
    c.batch.values = values;
    c.batch.results = map_value_bytes(map->view.width) ? results : NULL;
    return perform(&c, batch, 1, 1);
}
