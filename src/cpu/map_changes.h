/* cpu/map_changes.h: INSERT, ASSIGN, apply and ERASE of a group of entries, and of those on the list of what
 * is left over, for one width. Included by map_width.h, whose head tells how they work together.
 *
 * Parameters: those of shape/map_entry.h. */

/* INSERT, ASSIGN, apply, among threads. */
CO_INLINE void MAP(put_group)(struct cpu_range *c, struct cpu_group *g, co_u32 op)
{
    const struct map_batch b = *c->b;
    const KEY *keys = g->keys;
    char *slots = b.view.slots;
    co_u32 hits = 0, left = 0, added = 0;
    for (unsigned k = 0; k < CPU_GROUP; k++) {
        __builtin_prefetch(slots + g->ahead->home[k]);
        hits >>= 1;
        left >>= 1;
        if (!(g->part >> k & 1))
            continue;
        VALUE operand = op == CO_OP_COUNT ? 0 : MAP(value_at)(b.values, g->base + k), value = operand;
        int r = MAP(put_in)(&b.view, op, slots + g->now->home[k], keys[k], operand, &value);
        hits |= r == CO_MAP_HIT ? 1u << 31 : 0;
        left |= r == CPU_GO_ON ? 1u << 31 : 0;
        added += r == CO_MAP_NEW;
        if (b.results && MAP(has_result)(&b, MAP_STEP_APPLY, r))
            MAP(put_value)(b.results, g->base + k, value);
    }
    c->report->added += added;
    c->report->tally.taken += added;
    g->hits = hits;
    g->left = left;
}

/* The same by one thread alone; `back`: from the last entry to the first. */
CO_INLINE void MAP(put_each_alone)(struct cpu_range *c, struct cpu_group *g, co_u32 op, int back, int asked,
                                   int pairs)
{
    static const VALUE zeros[CPU_GROUP];
    const struct map_batch *b = c->b;
    const VALUE *values = b->values && CO_MAP_VALUE_BITS ? (const VALUE *)b->values + g->base : zeros;
    const KEY *keys = g->keys;
    const co_u64 *home = g->now->home, *ahead = g->ahead->home;
    char *slots = b->view.slots;
    co_u32 hits = 0, left = 0, part = g->part;
    for (unsigned i = 0; i < CPU_GROUP; i++) {
        const unsigned k = back ? CPU_GROUP - 1 - i : i;
        VALUE value = 0;
        __builtin_prefetch(slots + ahead[k]);
        if (!(part >> k & 1))
            continue;
        int r = MAP(put_alone)(op, asked, pairs, slots + home[k], keys[k], values[k], &value);
        if (r == CO_MAP_HIT)
            hits |= 1u << k;
        if (r == CPU_GO_ON)
            left |= 1u << k;
        else if (asked)
            MAP(put_value)(b->results, g->base + k, value);
    }
    g->hits = hits;
    g->left = left;
    c->report->added += cpu_bits(part & ~(hits | left));
    c->report->tally.taken += (co_u32)cpu_bits(part & ~(hits | left));
}

CO_INLINE void MAP(put_group_alone)(struct cpu_range *c, struct cpu_group *g, co_u32 op, int back)
{
    const int asked = op == CO_OP_INSERT && c->b->results;
    if (asked && c->pairs)
        MAP(put_each_alone)(c, g, op, back, 1, PAIRS);
    else if (asked)
        MAP(put_each_alone)(c, g, op, back, 1, 0);
    else if (c->pairs)
        MAP(put_each_alone)(c, g, op, back, 0, PAIRS);
    else
        MAP(put_each_alone)(c, g, op, back, 0, 0);
}

CO_INLINE void MAP(take_each_alone)(struct cpu_range *c, struct cpu_group *g, int pairs)
{
    const KEY *keys = g->keys;
    const co_u64 *home = g->now->home, *ahead = g->ahead->home;
    char *slots = c->b->view.slots;
    CO_ALIGN(16) char aside[16];
    co_u32 hits = 0, left = 0, part = g->part;
    for (unsigned k = 0; k < CPU_GROUP; k++) {
        unsigned none;
        __builtin_prefetch(slots + ahead[k]);
        if (!(part >> k & 1))
            continue;
        hits |= MAP(take_alone)(slots + home[k], pairs, keys[k], aside, &none) << k;
        left |= none << k;
    }
    g->hits = hits;
    g->left = left;
    c->report->tally.erased += (co_u32)cpu_bits(hits);
}

static void MAP(erase_group_alone)(struct cpu_range *c, struct cpu_group *g)
{
    if (c->pairs)
        MAP(take_each_alone)(c, g, PAIRS);
    else
        MAP(take_each_alone)(c, g, 0);
}

/* ERASE among threads, RUN: their words of the bitmaps are written before. */
static void MAP(other_group)(struct cpu_range *c, struct cpu_group *g)
{
    const struct map_batch *b = c->b;
    const KEY *keys = g->keys;
    for (unsigned k = 0; k < CPU_GROUP; k++) {
        __builtin_prefetch((char *)b->view.slots + g->ahead->home[k]);
        if (!(g->part >> k & 1))
            continue;
        VALUE value = 0;
        char *bucket = (char *)b->view.slots + g->now->home[k];
        int r = CPU_GO_ON;
        if (MAP(settles)(bucket, keys[k]))
            r = MAP(by_protocol)(c, g->base + k, &value);
        if (r == CPU_GO_ON)
            g->left |= 1u << k;
        else
            MAP(settled)(c, g->base + k, r, value);
    }
}

/* A key's bits are set before it can be seen far from home. */
static void MAP(note_far)(const cohort_map_view *m, KEY key)
{
    co_map_far_note(m->filter, m->pages, m->mask, key ^ m->seed);
    co_fence();
}

/* An entry of the list looks at its bucket, `far` from home or not. */
CO_INLINE int MAP(change_one)(struct cpu_range *c, co_u64 i, char *bucket, int far, VALUE *value)
{
    const struct map_batch *b = c->b;
    const KEY key = MAP(key_at)(b->keys, i);
    CO_ALIGN(16) char aside[16];
    unsigned none, hit;
    if (c->kind == CPU_OTHER)
        return MAP(settles)(bucket, key) ? MAP(by_protocol)(c, i, value) : CPU_GO_ON;
    *value = MAP(value_at)(b->values, i);
    if (!c->alone) {
        if (__builtin_expect(far, 0) && MAP(settles)(bucket, key))
            MAP(note_far)(&b->view, key);
        return MAP(put_in)(&b->view, b->op, bucket, key, *value, value);
    }
    if (c->kind == CPU_PUT) {
        int r = MAP(put_alone)(b->op, b->results != NULL, c->pairs, bucket, key, *value, value);
        if (__builtin_expect(far, 0) && r == CO_MAP_NEW)
            MAP(note_far)(&b->view, key);
        return r;
    }
    hit = MAP(take_alone)(bucket, c->pairs, key, aside, &none);
    c->report->tally.erased += hit;
    return none ? CPU_GO_ON : hit ? CO_MAP_HIT : CO_MAP_MISS;
}

/* The first `count` of the list, of whatever kind but FIND. */
static __attribute__((noinline)) void MAP(change_again)(struct cpu_range *c, co_u32 count)
{
    struct cpu_list *l = &c->list;
    for (; count; count--) {
        co_u32 at = l->head++ % CPU_LATER;
        co_u64 i = l->entry[at];
        VALUE value = 0;
        int r =
            MAP(change_one)(c, i, (char *)c->b->view.slots + l->bucket[at], l->seen[at] >= c->far, &value);
        if (r == CPU_GO_ON) {
            MAP(leave_looked)(c, i, l->bucket[at], l->step[at], l->seen[at]);
            continue;
        }
        c->report->tally.taken += c->kind == CPU_PUT && r == CO_MAP_NEW;
        MAP(settled)(c, i, r, value);
    }
}
