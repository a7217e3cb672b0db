/* cpu/map_width.h: a batch on the host's threads, for one width. Included by map_loops.h once per instance.
 *
 * A random access to memory takes as long as a few hundred instructions, and a core can have a dozen of them
 * under way; so a thread must know where it will look long before it does. It takes its range a group of 32
 * entries at a time, a word of every bitmap:
 *
 * 1. Where the walks of the next group begin is computed, by vector instructions where there are some.
 * 2. For each entry of this group the home of an entry of the next is asked for (prefetched), and its own,
 *    which has come by now, is looked at: without branches where it can be, since what is there is a coin
 *    toss. A search looks at the bucket's partner at once, which lies beside it.
 * 3. Those that are not settled ask for their next bucket and go on a list. Once there is a group of them, it
 *    looks at the buckets that have come, and those that still are not settled ask again and go to the list's
 *    end.
 *
 * (A search in a table that is in the cache is map_near.h's, where the processor has AVX-512: there is
 * nothing to look ahead for.)
 *
 * So no look waits for memory but the last ones of a range, and long walks stay apart from the loop that does
 * most of the work. Entries of a batch are in no order; those that come later add their bits to the bitmaps'
 * words.
 *
 * What one thread does alone changes the table by plain stores. Mixed streams, and erasing by several
 * threads, are done by the protocol's own functions (shape/map_entry.h) once the bucket has come that settles
 * them.
 *
 * The winner rule is the order in which one thread alone does what it puts in: forward or backward
 * (map_goes_backward). Entries of one key take the same walk, whose buckets, once seen to be full, stay so;
 * and the list is a queue that goes round, each entry a step further in each round. So none of them overtakes
 * another: they come to the bucket that settles them in the order of their first looks.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"
#include "cpu/map_bucket.h"

/* Where the walks of the group begin whose keys these are; 1 if one of the keys is none of the buckets'. A
 * page has 1 << shift buckets. */
static __attribute__((noinline)) int MAP(starts)(const cohort_map_view *view, unsigned shift,
                                                 const KEY *restrict keys, struct cpu_starts *restrict starts)
{
    const co_u64 seed = view->seed;
    KEY greatest = 0;
    for (int i = 0; i < CPU_GROUP; i++)
        starts->hash[i] = co_hash(keys[i], seed);
    cpu_homes(starts, view->pages, view->mask, shift);
    for (int i = 0; i < CPU_GROUP; i++)
        greatest = keys[i] > greatest ? keys[i] : greatest;
    return greatest >= ERASED_KEY;
}

/* The keys of the group at `from`. Where the range ends in it they are in `room`, and then the last one again
 * and again, so that there is something to look at. */
static __attribute__((noinline)) const KEY *MAP(last_keys)(const KEY *keys, co_u64 count, KEY *room)
{
    for (co_u64 k = 0; k < CPU_GROUP; k++)
        room[k] = keys[k < count ? k : count - 1];
    return room;
}

CO_INLINE const KEY *MAP(group_keys)(const struct map_batch *b, co_u64 from, co_u64 end, KEY *room)
{
    const KEY *keys = (const KEY *)b->keys + from;
    return end - from >= CPU_GROUP ? keys : MAP(last_keys)(keys, end - from, room);
}

/* ---- entries apart from their group -------------------------------------------------------------------- */

/* Tells what has become of an entry whose group's words of the bitmaps are written. */
CO_INLINE void MAP(settled)(struct cpu_range *c, co_u64 i, int r, VALUE value)
{
    const struct map_batch *b = c->b;
    if (MAP(has_result)(b, b->step, r))
        MAP(put_value)(b->results, i, value);
    c->report->hits += r == CO_MAP_HIT;
    c->report->added += r == CO_MAP_NEW;
    if (b->hit)
        b->hit[i / 32] |= (co_u32)(r == CO_MAP_HIT) << (i % 32);
    if (__builtin_expect(r < CO_MAP_FULL, 1))
        return;
    if (b->failed)
        b->failed[i / 32] |= 1u << (i % 32);
    cpu_report_failure(c->report, b->first_index + i, r);
}

/* By the protocol's own functions, from the beginning of its walk. */
static __attribute__((noinline)) int MAP(by_protocol)(struct cpu_range *c, co_u64 i, VALUE *value)
{
    *value = 0;
    return MAP(entry)(c->b, c->b->step, c->b->op, i, value, &c->report->tally);
}

static void MAP(end_by_protocol)(struct cpu_range *c, co_u64 i)
{
    VALUE value;
    int r = MAP(by_protocol)(c, i, &value);
    MAP(settled)(c, i, r, value);
}

/* The two keys that look like marks lie apart: they are done at once. What is left of `part`. */
static __attribute__((noinline)) co_u32 MAP(side_keys)(struct cpu_range *c, co_u64 base, co_u32 part)
{
    co_u32 rest = part;
    for (co_u32 i = 0; i < CPU_GROUP; i++) {
        const co_u32 k = c->back ? CPU_GROUP - 1 - i : i;
        if (part >> k & 1 && MAP(key_at)(c->b->keys, base + k) >= ERASED_KEY) {
            rest &= ~(1u << k);
            MAP(end_by_protocol)(c, base + k);
        }
    }
    return rest;
}

/* ---- the list of what is left over --------------------------------------------------------------------- */

/* An entry has seen a stretch of its walk: 1 if there is another. Else it is over; or an owner leaves it out,
 * who may not go into other pages. */
static __attribute__((noinline)) int MAP(turn)(struct cpu_range *c, co_u64 entry, co_u64 step, co_u64 seen,
                                               co_u64 *bucket)
{
    const cohort_map_view *m = &c->b->view;
    const co_u64 at = *bucket / MAP_BUCKET_BYTES;
    struct co_walk w = {(co_u32)(at >> c->shift), (co_u32)at & m->mask, (co_u32)(step / MAP_BUCKET_BYTES),
                        (co_u32)seen};
    if (c->alone == CPU_OWNER) {
        MAP(settled)(c, entry, CO_MAP_FULL, 0);
        return 0;
    }
    if (!co_walk_turn(&w, m->pages, m->mask, m->reach, WORDS)) {
        MAP(end_by_protocol)(c, entry);
        return 0;
    }
    *bucket = co_map_walk_bucket(m, &w) * MAP_BUCKET_BYTES;
    return 1;
}

/* Does the filter (device/map_far.h) say that there is no more to see? */
CO_INLINE int MAP(far_settles)(const cohort_map_view *m, KEY key, int puts)
{
    return co_map_far_settles(m->filter, m->pages, m->mask, key ^ m->seed, puts);
}

/* An entry has seen so many buckets: its word of the filter is asked for a look before it is wanted. 1: there
 * is no more to see. */
static __attribute__((noinline)) int MAP(far_off)(struct cpu_range *c, co_u64 entry, co_u64 seen)
{
    const struct map_batch *b = c->b;
    const cohort_map_view *m = &b->view;
    const KEY key = MAP(key_at)(b->keys, entry);
    const co_u32 op = b->step == MAP_STEP_RUN ? b->ops[entry] : b->op;
    if (seen < c->far)
        __builtin_prefetch(co_map_far_word(m->filter, m->pages, m->mask, co_hash(key, m->seed)));
    if (seen != c->far || !MAP(far_settles)(m, key, op != CO_OP_FIND && op != CO_OP_ERASE))
        return 0;
    if (c->kind == CPU_PUT)
        MAP(settled)(c, entry, CO_MAP_FULL, 0);
    if (c->kind == CPU_OTHER)
        MAP(end_by_protocol)(c, entry);
    return 1; /* a miss has been told */
}

/* An entry has seen a number of buckets, `bucket` the last of them: asks for the next one, and puts it at the
 * list's end. */
CO_INLINE void MAP(leave)(struct cpu_range *c, co_u64 entry, co_u64 bucket, co_u64 step, co_u64 seen)
{
    struct cpu_list *l = &c->list;
    co_u32 at = l->tail % CPU_LATER;
    bucket = cpu_next(c->within, bucket, step, seen);
    if (__builtin_expect(seen >= c->ask, 0) && MAP(far_off)(c, entry, seen))
        return;
    if (__builtin_expect(!(seen & c->stretch), 0) && !MAP(turn)(c, entry, step, seen, &bucket))
        return;
    __builtin_prefetch((const char *)c->b->view.slots + bucket);
    l->entry[at] = entry;
    l->bucket[at] = bucket;
    l->step[at] = step;
    l->seen[at] = seen;
    l->tail++;
}

/* The same of an entry that has looked at `bucket`, or at its pair, having seen so many before. */
CO_INLINE void MAP(leave_looked)(struct cpu_range *c, co_u64 entry, co_u64 bucket, co_u64 step, co_u64 seen)
{
    const co_u64 pair = PAIRS ? (co_u64)c->pairs : 0;
    MAP(leave)(c, entry, bucket ^ pair * MAP_BUCKET_BYTES, step, seen + 1 + pair);
}

CO_INLINE void MAP(leave_group)(struct cpu_range *c, co_u64 base, co_u32 left,
                                const struct cpu_starts *starts)
{
    const co_u32 mask = c->b->view.mask, linear = c->b->view.linear;
    for (unsigned k; left; left &= ~(1u << k)) {
        k = (unsigned)(c->back ? CPU_GROUP - 1 - __builtin_clz(left) : __builtin_ctz(left));
        co_u64 step = co_walk_step(starts->hash[k], mask, linear) * MAP_BUCKET_BYTES;
        MAP(leave_looked)(c, base + k, starts->home[k], step, 0);
    }
}

/* ---- FIND ---------------------------------------------------------------------------------------------- */

/* Values to where they are wanted: to the hits, and if there is a fallback to all of `part`. */
CO_INLINE void MAP(hand_out)(const struct map_batch *b, co_u64 base, co_u32 part, co_u32 hits, VALUE *values)
{
    VALUE *results = (VALUE *)b->results + base;
    if (b->has_fallback && hits != part)
        for (unsigned k = 0; k < CPU_GROUP; k++)
            values[k] = hits >> k & 1 ? values[k] : (VALUE)b->fallback;
    part = b->has_fallback ? part : hits;
    if (part == ~0u)
        memcpy(results, values, CPU_GROUP * sizeof *values);
    else if (sizeof(VALUE) == 4)
        cpu_put_32((void *)results, (void *)values, part);
    else
        cpu_put_64((void *)results, (void *)values, part);
}

/* A group looks for its keys, each in one bucket, or in the pair of that: who is there, and where there is
 * room so that the key is nowhere else. While it looks it asks for the buckets `ahead`, if that is not
 * NULL. */
CO_INLINE co_u32 MAP(look_at)(const char *slots, const KEY *keys, const co_u64 *buckets, const co_u64 *ahead,
                              int pairs, VALUE *values, co_u32 *open)
{
    const co_u64 from = ~(pairs ? 2 * MAP_BUCKET_BYTES - 1 : 0);
    cpu_sight seen[CPU_GROUP], room[CPU_GROUP];
    for (unsigned k = 0; k < CPU_GROUP; k++) {
        if (ahead)
            __builtin_prefetch(slots + ahead[k]);
        const char *bucket = slots + (buckets[k] & from);
        unsigned sight = MAP(sight_of)(bucket, keys[k], pairs);
        seen[k] = (cpu_sight)sight;
        if (!TWO_IN_ONE)
            room[k] = (cpu_sight)MAP(is_open)(bucket);
        if (values)
            values[k] = MAP(value_in)(MAP(slot_of)(bucket, sight, pairs));
    }
    *open = TWO_IN_ONE ? cpu_any_of(seen, (cpu_sight)0xaaaa) : cpu_any_of(room, 0xff);
    return cpu_any_of(seen, TWO_IN_ONE ? (cpu_sight)0x5555 : 0xff);
}

CO_INLINE co_u32 MAP(look_up)(const struct cpu_range *c, const KEY *keys, const co_u64 *buckets,
                              const co_u64 *ahead, VALUE *values, co_u32 *open)
{
    const char *slots = c->b->view.slots;
    return c->pairs ? MAP(look_at)(slots, keys, buckets, ahead, PAIRS, values, open)
                    : MAP(look_at)(slots, keys, buckets, ahead, 0, values, open);
}

/* All of the group look, also those that take no part. `near`: the table is in the cache. */
CO_INLINE void MAP(find_group)(struct cpu_range *c, struct cpu_group *g, int near, int writes)
{
    const co_u64 *home = g->now->home, *ahead = near ? NULL : g->ahead->home;
    VALUE values[CPU_GROUP], *out = writes ? values : NULL;
    co_u32 open, hits = MAP(look_up)(c, g->keys, home, ahead, out, &open);
    g->hits = g->part & hits;
    g->left = g->part & ~(g->hits | open);
    if (writes)
        MAP(hand_out)(c->b, g->base, g->part, g->hits, values);
}

/* The first `count` of the list look at their buckets; those that are not settled go to its end. */
static __attribute__((noinline)) void MAP(find_again)(struct cpu_range *c, co_u32 count)
{
    const struct map_batch *b = c->b;
    struct cpu_list *l = &c->list;
    const co_u32 at = l->head % CPU_LATER, part = count < CPU_GROUP ? (1u << count) - 1 : ~0u;
    KEY keys[CPU_GROUP];
    VALUE values[CPU_GROUP];
    co_u32 open, hits;
    for (co_u32 k = 0; k < CPU_GROUP; k++)
        keys[k] = MAP(key_at)(b->keys, l->entry[at + (k < count ? k : 0)]);
    for (co_u32 k = count; k < CPU_GROUP; k++)
        l->bucket[at + k] = l->bucket[at];
    hits = part & MAP(look_up)(c, keys, l->bucket + at, NULL, values, &open);
    l->head += CPU_GROUP; /* it begins with a whole group always */
    l->tail = count < CPU_GROUP ? l->head : l->tail;
    for (co_u32 rest = hits; rest; rest &= rest - 1) {
        unsigned k = (unsigned)__builtin_ctz(rest);
        MAP(settled)(c, l->entry[at + k], CO_MAP_HIT, values[k]);
    }
    for (co_u32 rest = part & ~(hits | open); rest; rest &= rest - 1) {
        unsigned k = (unsigned)__builtin_ctz(rest);
        MAP(leave_looked)(c, l->entry[at + k], l->bucket[at + k], l->step[at + k], l->seen[at + k]);
    }
}

#if IN_REGISTERS
#    include "cpu/map_near.h"
#endif

#include "cpu/map_changes.h"

/* ---- a range ------------------------------------------------------------------------------------------- */

/* The loops that there are: the compiler knows what they do. */
#define GROUP(name, call)                                             \
    static void MAP(name)(struct cpu_range * c, struct cpu_group * g) \
    {                                                                 \
        call;                                                         \
    }
GROUP(find_near, MAP(find_group)(c, g, 1, 0))
GROUP(find_far, MAP(find_group)(c, g, 0, 0))
GROUP(find_values_near, MAP(find_group)(c, g, 1, CO_MAP_VALUE_BITS != 0))
GROUP(find_values_far, MAP(find_group)(c, g, 0, CO_MAP_VALUE_BITS != 0))
GROUP(insert_alone, MAP(put_group_alone)(c, g, CO_OP_INSERT, 0))
GROUP(insert_back, MAP(put_group_alone)(c, g, CO_OP_INSERT, 1))
GROUP(insert_together, MAP(put_group)(c, g, CO_OP_INSERT))
GROUP(assign_alone, MAP(put_group_alone)(c, g, CO_OP_ASSIGN, 0))
GROUP(assign_back, MAP(put_group_alone)(c, g, CO_OP_ASSIGN, 1))
GROUP(assign_together, MAP(put_group)(c, g, CO_OP_ASSIGN))
GROUP(add_alone, MAP(put_group_alone)(c, g, CO_OP_ADD, 0))
GROUP(count_alone, MAP(put_group_alone)(c, g, CO_OP_COUNT, 0))
GROUP(count_together, MAP(put_group)(c, g, CO_OP_COUNT))
GROUP(apply_alone, MAP(put_group_alone)(c, g, c->b->op, 0))
GROUP(apply_together, MAP(put_group)(c, g, c->b->op))
#undef GROUP

static void MAP(choose)(struct cpu_range *c)
{
    const struct map_batch *b = c->b;
    const int near = co_map_buckets(&b->view) * MAP_BUCKET_BYTES <= CPU_NEAR,
              find = b->step == MAP_STEP_APPLY && b->op == CO_OP_FIND;
    c->kind = CPU_PUT;
    c->near = near;
    c->back = map_goes_backward(b->rank, b->op);
    /* In a table in the cache four slots are rarely full, and who looks at eight does more. */
    c->pairs = PAIRS && !b->view.linear && (find || (c->alone && (WORDS == 2 || !near)));
    if (find) {
        c->kind = CPU_FIND;
        if (b->results && CO_MAP_VALUE_BITS != 0)
            c->group = near ? MAP(find_values_near) : MAP(find_values_far);
        else
            c->group = near ? MAP(find_near) : MAP(find_far);
    } else if (b->step == MAP_STEP_APPLY && b->op == CO_OP_ERASE && c->alone) {
        c->kind = CPU_TAKE;
        c->group = MAP(erase_group_alone);
    } else if (b->step != MAP_STEP_APPLY || b->op == CO_OP_ERASE) {
        c->kind = CPU_OTHER;
        c->pairs = 0;
        c->group = MAP(other_group);
    } else if (c->back)
        c->group = b->op == CO_OP_INSERT ? MAP(insert_back) : MAP(assign_back);
    else if (b->op == CO_OP_INSERT)
        c->group = c->alone ? MAP(insert_alone) : MAP(insert_together);
    else if (b->op == CO_OP_ASSIGN)
        c->group = c->alone ? MAP(assign_alone) : MAP(assign_together);
    else if (b->op == CO_OP_COUNT)
        c->group = c->alone ? MAP(count_alone) : MAP(count_together);
    else if (b->op == CO_OP_ADD && c->alone)
        c->group = MAP(add_alone);
    else
        c->group = c->alone ? MAP(apply_alone) : MAP(apply_together);
}

/* Entries look a group at a time, so that the buckets of the last of them have time to come; all of them at
 * the end. */
CO_INLINE void MAP(look_at_list)(struct cpu_range *c, co_u32 least)
{
    for (co_u32 waiting; (waiting = c->list.tail - c->list.head) >= least;) {
        co_u32 count = waiting < CPU_GROUP ? waiting : CPU_GROUP;
        if (c->kind == CPU_FIND)
            MAP(find_again)(c, count);
        else
            MAP(change_again)(c, count);
    }
}

/* One group, from its first look on. */
CO_INLINE void MAP(group)(struct cpu_range *c, struct cpu_group *g)
{
    const struct map_batch *b = c->b;
    g->part = b->where ? b->where[g->base / 32] : ~0u;
    g->part &= c->end - g->base < CPU_GROUP ? (1u << (c->end - g->base)) - 1 : ~0u;
    g->hits = g->left = 0;
    c->report->taken += cpu_bits(g->part);
    if (c->soon)
        cpu_ask(c->soon);
    if (c->kind == CPU_OTHER || g->side)
        cpu_report_words(b, g->base, 0, 0);
    if (g->side)
        g->part = MAP(side_keys)(c, g->base, g->part);
    c->group(c, g);
    if (c->kind != CPU_OTHER)
        cpu_report_words(b, g->base, g->hits, g->side);
    c->report->hits += cpu_bits(g->hits);
    MAP(leave_group)(c, g->base, g->left, g->now);
    MAP(look_at_list)(c, CPU_GROUP);
}

/* A whole group's keys are asked for: a processor follows a stream by itself to the end of a page only. */
CO_INLINE void MAP(ask_keys)(const struct map_batch *b, co_u64 from, co_u64 end)
{
    const char *keys = b->keys;
    const co_u64 to = from + CPU_GROUP;
    if (from >= end || to > end)
        return;
    for (co_u64 i = from * sizeof(KEY); i < to * sizeof(KEY); i += CPU_LINE)
        __builtin_prefetch(keys + i);
}

/* And its values. */
CO_INLINE void MAP(ask_entries)(const struct map_batch *b, co_u64 from, co_u64 end)
{
    const char *values = CO_MAP_VALUE_BITS ? b->values : NULL;
    const co_u64 to = from + CPU_GROUP;
    MAP(ask_keys)(b, from, end);
    if (!values || from >= end || to > end)
        return;
    for (co_u64 i = from * sizeof(VALUE); i < to * sizeof(VALUE); i += CPU_LINE)
        __builtin_prefetch(values + i);
}

static void MAP(batch)(const struct map_batch *b, co_u64 begin, co_u64 end, int alone, struct cpu_soon *soon,
                       struct cpu_report *report)
{
    struct cpu_range c;
    struct cpu_starts starts[2];
    KEY room[CPU_GROUP];
    if (begin == end)
        return;
    c.b = b;
    c.end = end;
    c.alone = alone;
    c.soon = soon;
    c.report = report;
    c.within = b->view.mask * MAP_BUCKET_BYTES;
    c.shift = (unsigned)__builtin_popcount(b->view.mask);
    c.stretch = co_walk_stretch(b->view.mask, WORDS) - 1;
    c.far = b->view.far ? b->view.far : ~0ull;
    c.ask = b->view.far > 2 ? b->view.far - 2 : c.far;
    c.list.head = c.list.tail = 0;
    MAP(choose)(&c);
#if IN_REGISTERS
    if (c.kind == CPU_FIND && c.near && c.pairs) {
        MAP(find_in_cache)(&c, begin);
        return;
    }
#endif
    const co_u64 groups = (end - begin + CPU_GROUP - 1) / CPU_GROUP, last = begin + (groups - 1) * CPU_GROUP,
                 on = c.back ? 0 - (co_u64)CPU_GROUP : CPU_GROUP;
    struct cpu_group g = {.base = c.back ? last : begin};
    g.keys = MAP(group_keys)(b, g.base, end, room);
    g.side = MAP(starts)(&b->view, c.shift, g.keys, starts);
    for (unsigned k = 0; k < CPU_GROUP; k++)
        __builtin_prefetch((const char *)b->view.slots + starts->home[k]);
    starts[1] = starts[0]; /* what is ahead of the last group */
    for (co_u64 left = groups, turn = 0; left; left--, turn ^= 1) {
        const KEY *next = g.keys;
        int side = 0;
        g.now = &starts[turn];
        g.ahead = &starts[turn ^ 1];
        MAP(ask_entries)(b, g.base + on * CPU_GROUPS_AHEAD, end);
        if (left > 1) {
            next = MAP(group_keys)(b, g.base + on, end, room);
            side = MAP(starts)(&b->view, c.shift, next, &starts[turn ^ 1]);
        }
        MAP(group)(&c, &g);
        g.base += on;
        g.keys = next;
        g.side = side;
    }
    MAP(look_at_list)(&c, 1);
}

#include "cpu/map_owners.h"
#include "cpu/map_sweep.h"

#undef WORDS
#undef SLOT_BYTES
#undef EMPTY_KEY
#undef ERASED_KEY
#undef TWO_IN_ONE
#undef PAIRS
#undef IN_REGISTERS
#undef MATCHES
#undef EACH
#include "shape/map_end.h"
