/* map_batch.c: the calls that take a batch.
 *
 * A call is checked and described as a struct map_batch, which goes to the backend in parts (map_part.c).
 * Most calls are one part. How long the parts are that a map takes which may grow is decided in
 * map_growth.c. */
#include <string.h>

#include "api/batch.h"
#include "api/map_call.h"
#include "api/options.h"

#define KEY_WORD 8u /* bytes of a word of keys of 16 bytes */

/* ---- checks -------------------------------------------------------------------------------------------- */

struct batch_array *map_batch_keys(struct batch *b, const cohort_map *map, unsigned flags, const void *keys,
                                   uint64_t n, void *own)
{
    struct batch_array *a = batch_array(b, "keys", flags, keys, n, map_key_bytes(map->view.width), own);
    a->align = a->unit < KEY_WORD ? (uint32_t)a->unit : KEY_WORD;
    return a;
}

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
    return COHORT_OK;
}

/* `values` and `results` may be missing where the operation does not need them. */
static cohort_status check_arguments(struct call *c, int values_optional, int results_optional)
{
    const struct map_batch *m = &c->batch;
    const cohort_batch *o = &c->options;
    const unsigned value = map_value_bytes(m->view.width);
    const int runs = m->step == MAP_STEP_RUN, applies = m->step == MAP_STEP_APPLY && m->op >= CO_OP_ADD;
    const unsigned in = BATCH_IN, out = BATCH_OUT, maybe = BATCH_OPTIONAL;
    struct batch b;
    batch_open(&b, c->map->context, c->name);
    map_batch_keys(&b, c->map, in, m->keys, m->n, NULL);
    batch_array(&b, applies ? "operands" : "values", values_optional || !value ? in | maybe : in, m->values,
                m->n, value, NULL);
    batch_array(&b, runs ? "results" : "values", results_optional || !value ? out | maybe : out, m->results,
                m->n, value, NULL);
    batch_array(&b, "ops", runs ? in : in | maybe, m->ops, m->n, 1, NULL);
    batch_bitmap(&b, "batch.where", in | maybe, o->where, o->where_offset, m->n, NULL);
    batch_bitmap(&b, "batch.hit", out | maybe, o->hit, o->hit_offset, m->n, NULL);
    batch_bitmap(&b, "batch.failed", out | maybe, o->failed, o->failed_offset, m->n, NULL);
    batch_array(&b, "batch.counts", out | maybe, c->options.counts, m->n ? 1 : 0, sizeof(struct batch_counts),
                NULL)
        ->align = 8;
    cohort_status s = batch_check_n(&b, m->n);
    if (!s)
        s = batch_check_memory(&b);
    c->memory = b.kind < 0 ? MEMORY_HOST : (enum memory_kind)b.kind;
    return s;
}

/* ---- a whole call -------------------------------------------------------------------------------------- */

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
        s = map_enqueue(c, &b);
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
        cohort_status copied = context_copy(context, c->options.counts, &c->counts, sizeof c->counts);
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

/* The same on the caller's bitmaps, as words. */
static cohort_status work_on_bitmaps(struct call *c)
{
    cohort_context *context = c->map->context;
    const cohort_batch *o = &c->options;
    const unsigned flags = bits_of_maps(context);
    const uint64_t n = c->batch.n;
    struct bits where, hit, failed;
    memset(&hit, 0, sizeof hit);
    memset(&failed, 0, sizeof failed);
    cohort_status s = bits_open(&where, context, c->memory, o->where, o->where_offset, n, flags, NULL);
    if (!s)
        s = bits_open(&hit, context, c->memory, o->hit, o->hit_offset, n, flags | BITS_OUT, NULL);
    if (!s)
        s = bits_open(&failed, context, c->memory, o->failed, o->failed_offset, n, flags | BITS_OUT, NULL);
    c->batch.where = where.words;
    c->batch.hit = hit.words;
    c->batch.failed = failed.words;
    if (!s)
        s = work(c);
    const int written = !s || c->counts.failed; /* which conclude fails for */
    s = bits_close(&failed, s, written);
    s = bits_close(&hit, s, written);
    return bits_close(&where, s, 0);
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
    if (c->map->reader && (c->batch.step != MAP_STEP_APPLY || c->batch.op != CO_OP_FIND))
        return map_is_reader(c->map, c->name);
    cohort_status s = check_batch(c, batch);
    if (!s)
        s = check_arguments(c, values_optional, results_optional);
    if (!s)
        s = check_runs(c);
    return s ? s : work_on_bitmaps(c);
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

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

/* Work on arrays that have been checked. */
static cohort_status work_inside(struct call *c, enum memory_kind memory, struct batch_counts *counts)
{
    c->waits = 1;
    c->memory = memory;
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
    return work_inside(&c, map->context->backend->own_memory, counts);
}

cohort_status map_fill(cohort_map *map, const char *name, uint64_t n, const void *keys, const uint32_t *where)
{
    struct call c = call_of(map, name, MAP_STEP_APPLY, CO_OP_INSERT, n, keys);
    c.batch.where = where;
    c.foreseen = 1;
    return work_inside(&c, map->context->backend->own_memory, NULL);
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
                      const void *fallback, const uint32_t *where, uint32_t *hit, enum memory_kind memory,
                      struct batch_counts *counts)
{
    struct call c = call_of(map, name, MAP_STEP_APPLY, CO_OP_FIND, n, keys);
    take_fallback(&c, fallback);
    c.batch.results = values;
    c.batch.where = where;
    c.batch.hit = hit;
    return work_inside(&c, memory, counts);
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

cohort_status cohort_map_contains(cohort_map *map, uint64_t n, const void *keys, uint8_t *hit,
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
