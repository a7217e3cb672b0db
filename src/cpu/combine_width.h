/* cpu/combine_width.h: the loops of combine.c, for one width. Included by combine_loops.h once per
 * instance; those without values have none.
 *
 * A table is a row of lines of memory, each with 4 or 8 keys and, behind them, their values. A key's home
 * is a line, by the upper bits of a product, and it lies in that or in one of the next lines, or nowhere.
 * All keys of a line are compared at once, and which of them it was is computed: so there is nothing to
 * predict but that the home has the key, which nearly always it has, since lines fill up far less often
 * than single slots are taken. Slots are never freed, so what came in stays where it is. The key whose
 * bits are all 1 marks empty slots; its value is kept apart.
 *
 * Where keys are very few, there are four tables of single slots before that one, and entry i goes into
 * number i % 4, so that entries in a row do not wait for each other's sums. A key lies in its home there; if
 * another one has that, the key goes into the lines. All that is left of an entry is then a product, a
 * comparison that is foreseen, and an addition. An empty slot has a key that has its home elsewhere, so that
 * nobody asks whether the slot is empty. A key that is in several tables goes on from each.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"

#if CO_MAP_VALUE_BITS
#    define PLACES ((unsigned)(CPU_COMBINE_KEYS / sizeof(KEY)))

struct MAP(pot) {
    CO_ALIGN(64) KEY key[CPU_COMBINE_KEYS / sizeof(KEY)];
    VALUE value[CPU_COMBINE_KEYS / sizeof(KEY)];
};

#    define NOBODY ((KEY) ~(KEY)0)

/* In bytes. */
CO_INLINE co_u64 MAP(pot_home)(KEY key, unsigned shift)
{
    return key * 0x9e3779b97f4a7c15ull >> shift & ~(co_u64)(CPU_COMBINE_LINE - 1);
}

/* The places of a line where this key is, as bits. */
CO_INLINE unsigned MAP(pot_sight)(const struct MAP(pot) * line, const KEY *key)
{
#    if CPU_LEVEL >= 2
    const __m256i keys = _mm256_load_si256((const void *)line->key);
    if (sizeof(KEY) == 8)
        return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(
            _mm256_cmpeq_epi64(keys, _mm256_castpd_si256(_mm256_broadcast_sd((const void *)key)))));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(
        _mm256_cmpeq_epi32(keys, _mm256_castps_si256(_mm256_broadcast_ss((const void *)key)))));
#    else
    unsigned bits = 0;
    for (unsigned k = 0; k < PLACES; k++)
        bits |= (unsigned)(line->key[k] == *key) << k;
    return bits;
#    endif
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

/* An entry whose key is not in its home: 1 if there was room for it. */
static __attribute__((noinline)) int MAP(pot_probe)(struct cpu_combiner *t, struct MAP(pot) * line, co_u32 op,
                                                    KEY key, VALUE value)
{
    const KEY nobody = NOBODY;
    for (const struct MAP(pot) *end = line + CPU_COMBINE_PROBES; line < end; line++) {
        const unsigned own = MAP(pot_sight)(line, &key), room = MAP(pot_sight)(line, &nobody);
        if (own) {
            VALUE *at = &line->value[__builtin_ctz(own)];
            *at = MAP(combine)(op, *at, value);
            return 1;
        }
        if (!room)
            continue;
        if (t->held == t->limit)
            return 0;
        t->held++;
        line->key[__builtin_ctz(room)] = key;
        line->value[__builtin_ctz(room)] = value;
        return 1;
    }
    return 0;
}

static __attribute__((noinline)) void MAP(pot_other)(struct cpu_combiner *t, struct combine *c,
                                                     struct MAP(pot) * line, KEY key, VALUE value)
{
    const co_u32 op = c->op == CO_OP_COUNT ? CO_OP_ADD : c->op;
    if (key == NOBODY)
        MAP(pot_side)(t, op, value);
    else if (!MAP(pot_probe)(t, line, op, key, value))
        MAP(pot_stage)(t, c, key, value);
}

struct MAP(pot_work) {
    struct cpu_combiner *t;
    struct combine *c;
    const KEY *keys;
    const VALUE *values;
    char *lines;
    unsigned shift;
    co_u32 op;
};

CO_INLINE void MAP(pot_one)(const struct MAP(pot_work) * w, co_u64 i)
{
    struct MAP(pot) *line = (void *)(w->lines + MAP(pot_home)(w->keys[i], w->shift));
    const VALUE value = w->op == CO_OP_COUNT ? 1 : w->values[i];
    const unsigned own = MAP(pot_sight)(line, &w->keys[i]);
    if (__builtin_expect(own != 0 && w->keys[i] != NOBODY, 1)) {
        VALUE *at = &line->value[__builtin_ctz(own)];
        *at = MAP(combine)(w->op == CO_OP_COUNT ? CO_OP_ADD : w->op, *at, value);
    } else
        MAP(pot_other)(w->t, w->c, line, w->keys[i], value);
}

/* ---- very few keys ------------------------------------------------------------------------------------- */

struct MAP(pot_single) {
    KEY key;
    VALUE value;
};

CO_INLINE unsigned MAP(pot_single_home)(KEY key)
{
    return (unsigned)(key * 0x9e3779b97f4a7c15ull >> (64 - CPU_COMBINE_FEW_BITS));
}

/* The key of an empty slot. Key 0 has its home in slot 0, key 1 has not. */
CO_INLINE KEY MAP(pot_single_empty)(unsigned slot)
{
    return slot == 0;
}

/* An entry whose key is not in its slot. */
static __attribute__((noinline)) void MAP(pot_single_other)(struct cpu_combiner *t, struct combine *c,
                                                            struct MAP(pot_single) * slot, KEY key,
                                                            VALUE value)
{
    if (slot->key != MAP(pot_single_empty)(MAP(pot_single_home)(key)) || t->held == t->limit) {
        MAP(pot_other)(t, c, (void *)(t->slots + MAP(pot_home)(key, t->shift)), key, value);
        return;
    }
    t->held++;
    slot->key = key;
    slot->value = value;
}

CO_INLINE void MAP(pot_single_one)(const struct MAP(pot_work) * w, struct MAP(pot_single) * table, co_u64 i)
{
    const KEY key = w->keys[i];
    const VALUE value = w->op == CO_OP_COUNT ? 1 : w->values[i];
    struct MAP(pot_single) *slot = table + MAP(pot_single_home)(key);
    if (__builtin_expect(slot->key == key, 1))
        slot->value = MAP(combine)(w->op == CO_OP_COUNT ? CO_OP_ADD : w->op, slot->value, value);
    else
        MAP(pot_single_other)(w->t, w->c, slot, key, value);
}

/* All entries take part. Where the range ends. */
CO_INLINE co_u64 MAP(pot_few)(const struct MAP(pot_work) * w, co_u64 i, co_u64 end)
{
    struct MAP(pot_single) *table = (void *)w->t->few;
    for (; i + 4 <= end; i += 4)
        for (unsigned k = 0; k < 4; k++)
            MAP(pot_single_one)(w, table + (k << CPU_COMBINE_FEW_BITS), i + k);
    return i;
}

static void MAP(pot_few_open)(struct cpu_combiner *t)
{
    struct MAP(pot_single) *slot = (void *)t->few;
    for (unsigned k = 0; k < 4u << CPU_COMBINE_FEW_BITS; k++)
        slot[k].key = MAP(pot_single_empty)(k % (1u << CPU_COMBINE_FEW_BITS));
}

/* What slots hold goes to the batch's `out` from `at` on. Where that ends. */
static co_u64 MAP(pot_few_empty)(struct cpu_combiner *t, struct combine *c, co_u64 at)
{
    const struct MAP(pot_single) *slot = (const void *)t->few;
    for (unsigned k = 0; k < 4u << CPU_COMBINE_FEW_BITS; k++)
        if (slot[k].key != MAP(pot_single_empty)(k % (1u << CPU_COMBINE_FEW_BITS))) {
            ((KEY *)c->out_keys)[at] = slot[k].key;
            ((VALUE *)c->out_values)[at++] = slot[k].value;
            t->held--;
        }
    return at;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

CO_INLINE void MAP(pot_range)(struct cpu_combiner *t, struct combine *c, co_u32 op, co_u64 begin, co_u64 end)
{
    const struct MAP(pot_work) w = {t, c, c->keys, c->values, t->slots, t->shift, op};
    const co_u32 *where = c->where;
    if (t->is_few && !where)
        begin = MAP(pot_few)(&w, begin, end);
    for (co_u64 i = begin; i < end && !where; i++)
        MAP(pot_one)(&w, i);
    for (co_u64 i = begin; i < end && where; i++)
        if (where[i / 32] >> i % 32 & 1)
            MAP(pot_one)(&w, i);
}

static void MAP(pot_entries)(struct cpu_combiner *t, struct combine *c, co_u64 begin, co_u64 end)
{
    if (!t->open) {
        memset(t->slots, 0xff, t->lines * sizeof(struct MAP(pot)));
        if (t->is_few)
            MAP(pot_few_open)(t);
        t->open = 1;
    }
    if (c->op == CO_OP_COUNT)
        MAP(pot_range)(t, c, CO_OP_COUNT, begin, end);
    else if (c->op == CO_OP_ADD)
        MAP(pot_range)(t, c, CO_OP_ADD, begin, end);
    else if (c->op == CO_OP_MIN)
        MAP(pot_range)(t, c, CO_OP_MIN, begin, end);
    else if (c->op == CO_OP_MAX)
        MAP(pot_range)(t, c, CO_OP_MAX, begin, end);
    else
        MAP(pot_range)(t, c, c->op, begin, end);
    if (t->staged)
        MAP(pot_pass)(t, c);
}

static void MAP(pot_empty)(struct cpu_combiner *t, struct combine *c)
{
    co_u64 at = co_add64(&c->out, t->held + (co_u64)t->has_side);
    const struct MAP(pot) *line = (const void *)t->slots;
    KEY *keys = c->out_keys;
    VALUE *values = c->out_values;
    if (t->has_side) {
        keys[at] = NOBODY;
        values[at++] = (VALUE)t->side;
    }
    if (t->is_few)
        at = MAP(pot_few_empty)(t, c, at);
    for (; t->held; line++)
        for (unsigned k = 0; k < PLACES && line->key[k] != NOBODY; k++, t->held--) {
            keys[at] = line->key[k];
            values[at++] = line->value[k];
        }
    t->open = 0;
    t->has_side = 0;
}

#    undef NOBODY
#    undef PLACES
#endif
#include "shape/map_end.h"
