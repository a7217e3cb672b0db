/* cpu/combine_width.h: the loops of combine.c, for one width. Included once per instance; those without
 * values have none.
 *
 * A table is a row of slots, a key and its value side by side, with linear probing: a key's home is the
 * upper bits of a product, and it lies in one of the 32 slots from there on or nowhere. Slots are never
 * freed, so what came in stays where it is. The key whose bits are all 1 marks empty slots; its value is
 * kept apart.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"

#if CO_MAP_VALUE_BITS
struct MAP(pot) {
    KEY key;
    VALUE value;
};

#    define NOBODY ((KEY) ~(KEY)0)

CO_INLINE co_u64 MAP(pot_home)(KEY key, unsigned shift)
{
    co_u64 k = key;
    return (k ^ k >> 32) * 0x9e3779b97f4a7c15ull >> shift;
}

/* What waits goes to the batch's `out`, where all threads' entries lie side by side. */
static void MAP(pot_pass)(struct cpu_combiner *t, struct combine *c)
{
    const co_u64 at = co_add64(&c->out, t->staged);
    memcpy((KEY *)c->out_keys + at, t->stage_keys, t->staged * sizeof(KEY));
    memcpy((VALUE *)c->out_values + at, t->stage_values, t->staged * sizeof(VALUE));
    t->staged = 0;
}

static __attribute__((noinline)) void MAP(pot_stage)(struct cpu_combiner *t, struct combine *c, KEY key,
                                                     VALUE value)
{
    ((KEY *)(void *)t->stage_keys)[t->staged] = key;
    ((VALUE *)(void *)t->stage_values)[t->staged++] = value;
    if (t->staged == CPU_COMBINE_STAGE)
        MAP(pot_pass)(t, c);
}

static __attribute__((noinline)) void MAP(pot_side)(struct cpu_combiner *t, co_u32 op, VALUE value)
{
    t->side = t->has_side ? MAP(combine)(op, (VALUE)t->side, value) : value;
    t->has_side = 1;
}

/* An entry whose home is another's: 1 if there was room for it. */
CO_INLINE int MAP(pot_probe)(struct cpu_combiner *t, struct MAP(pot) * at, co_u32 op, KEY key, VALUE value)
{
    const struct MAP(pot) *end = at + CPU_COMBINE_PROBES;
    for (; at->key != NOBODY; at++) {
        if (at == end)
            return 0;
        if (at->key == key) {
            at->value = MAP(combine)(op, at->value, value);
            return 1;
        }
    }
    if (at == end || t->held == t->limit)
        return 0;
    t->held++;
    at->key = key;
    at->value = value;
    return 1;
}

CO_INLINE void MAP(pot_one)(struct cpu_combiner *t, struct combine *c, struct MAP(pot) * slots,
                            unsigned shift, co_u32 op, co_u64 i)
{
    const KEY key = ((const KEY *)c->keys)[i];
    const VALUE value = op == CO_OP_COUNT ? 1 : ((const VALUE *)c->values)[i];
    struct MAP(pot) *at = slots + MAP(pot_home)(key, shift);
    if (__builtin_expect(key == NOBODY, 0))
        MAP(pot_side)(t, op, value);
    else if (at->key == key)
        at->value = MAP(combine)(op, at->value, value);
    else if (!MAP(pot_probe)(t, at, op, key, value))
        MAP(pot_stage)(t, c, key, value);
}

CO_INLINE void MAP(pot_range)(struct cpu_combiner *t, struct combine *c, co_u32 op, co_u64 begin, co_u64 end)
{
    struct MAP(pot) *slots = (void *)t->slots;
    const unsigned shift = t->shift;
    if (!c->where) {
        for (co_u64 i = begin; i < end; i++)
            MAP(pot_one)(t, c, slots, shift, op, i);
        return;
    }
    for (co_u64 i = begin; i < end; i++)
        if (c->where[i / 32] >> i % 32 & 1)
            MAP(pot_one)(t, c, slots, shift, op, i);
}

static void MAP(pot_entries)(struct cpu_combiner *t, struct combine *c, co_u64 begin, co_u64 end)
{
    if (!t->open) {
        memset(t->slots, 0xff, ((1ull << (64 - t->shift)) + CPU_COMBINE_PROBES) * sizeof(struct MAP(pot)));
        t->open = 1;
    }
    if (c->op == CO_OP_COUNT)
        MAP(pot_range)(t, c, CO_OP_COUNT, begin, end);
    else if (c->op == CO_OP_ADD)
        MAP(pot_range)(t, c, CO_OP_ADD, begin, end);
    else
        MAP(pot_range)(t, c, c->op, begin, end);
    if (t->staged)
        MAP(pot_pass)(t, c);
}

static void MAP(pot_empty)(struct cpu_combiner *t, struct combine *c)
{
    co_u64 at = co_add64(&c->out, t->held + (co_u64)t->has_side);
    const struct MAP(pot) *slots = (const void *)t->slots;
    KEY *keys = c->out_keys;
    VALUE *values = c->out_values;
    if (t->has_side) {
        keys[at] = NOBODY;
        values[at++] = (VALUE)t->side;
    }
    for (co_u64 i = 0; t->held; i++) {
        if (slots[i].key == NOBODY)
            continue;
        keys[at] = slots[i].key;
        values[at++] = slots[i].value;
        t->held--;
    }
    t->open = 0;
    t->has_side = 0;
}

#    undef NOBODY
#endif
#include "shape/map_end.h"
