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
 * Where keys are very few, entries in a row would wait for each other's sums: then there are four tables
 * in one, and entry i goes into number i % 4 (`stride`; else it is 0, and they are all the same). A key
 * that is in several goes on from each.
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
    unsigned shift;
    co_u32 op;
};

CO_INLINE void MAP(pot_add)(const struct MAP(pot_work) * w, char *lines, const KEY *key, VALUE value)
{
    struct MAP(pot) *line = (void *)(lines + MAP(pot_home)(*key, w->shift));
    const unsigned own = MAP(pot_sight)(line, key);
    if (__builtin_expect(own != 0 && *key != NOBODY, 1)) {
        VALUE *at = &line->value[__builtin_ctz(own)];
        *at = MAP(combine)(w->op == CO_OP_COUNT ? CO_OP_ADD : w->op, *at, value);
    } else
        MAP(pot_other)(w->t, w->c, line, *key, value);
}

CO_INLINE void MAP(pot_one)(const struct MAP(pot_work) * w, char *lines, co_u64 i)
{
    MAP(pot_add)(w, lines, &w->keys[i], w->op == CO_OP_COUNT ? 1 : w->values[i]);
}

/* Four entries are of one key: 1, and its value is theirs, combined. */
CO_INLINE int MAP(pot_alike)(const struct MAP(pot_work) * w, co_u64 i, VALUE *value)
{
    const KEY *k = w->keys + i;
    if ((k[0] ^ k[1]) | (k[0] ^ k[2]) | (k[0] ^ k[3]))
        return 0;
    *value = 4;
    for (unsigned j = 0; j < 4 && w->op != CO_OP_COUNT; j++)
        *value = j ? MAP(combine)(w->op, *value, w->values[i + j]) : w->values[i];
    return 1;
}

/* Very few keys; all entries take part. Where the range ends. */
CO_INLINE co_u64 MAP(pot_few)(const struct MAP(pot_work) * w, co_u64 i, co_u64 end)
{
    const co_u64 stride = w->t->stride * CPU_COMBINE_LINE;
    char *l0 = w->t->slots, *l1 = l0 + stride, *l2 = l1 + stride, *l3 = l2 + stride;
    for (; i + 4 <= end; i += 4) {
        VALUE all;
        if (MAP(pot_alike)(w, i, &all)) {
            MAP(pot_add)(w, l0, &w->keys[i], all);
            continue;
        }
        MAP(pot_one)(w, l0, i);
        MAP(pot_one)(w, l1, i + 1);
        MAP(pot_one)(w, l2, i + 2);
        MAP(pot_one)(w, l3, i + 3);
    }
    return i;
}

CO_INLINE void MAP(pot_range)(struct cpu_combiner *t, struct combine *c, co_u32 op, co_u64 begin, co_u64 end)
{
    const struct MAP(pot_work) w = {t, c, c->keys, c->values, t->shift, op};
    const co_u32 *where = c->where;
    char *lines = t->slots;
    if (t->stride && !where)
        begin = MAP(pot_few)(&w, begin, end);
    for (co_u64 i = begin; i < end && !where; i++)
        MAP(pot_one)(&w, lines, i);
    for (co_u64 i = begin; i < end && where; i++)
        if (where[i / 32] >> i % 32 & 1)
            MAP(pot_one)(&w, lines, i);
}

static void MAP(pot_entries)(struct cpu_combiner *t, struct combine *c, co_u64 begin, co_u64 end)
{
    if (!t->open) {
        memset(t->slots, 0xff, t->lines * sizeof(struct MAP(pot)));
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
