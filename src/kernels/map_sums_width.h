/* kernels/map_sums_width.h: the kernels of sums by key for one width with values. Included by map_sums.cu
 * once per instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"

#if CO_MAP_VALUE_BITS

#    define NAME(kind)   CO_PASTE3(map_sums_##kind, _, CO_MAP_SUFFIX)
#    define SUMS_EACH    4u  /* entries that a lane reads at once */
#    define SUMS_WALK    12u /* places that a key may have, from its own on */
#    define SUMS_NOWHERE (~0u)
#    define SUMS_NONE    ((KEY) ~(KEY)0)
#    define SUMS_WIDE \
        (CO_MAP_SLOT_BITS == 128) /* blocks of 1,024 lanes, one a multiprocessor; else three of 512 */

/* ---- a block's table ----------------------------------------------------------------------------------------------------- */

struct MAP(sums) {
    KEY *
        keys; /* SUMS_NONE: the place is free. The key that is SUMS_NONE has the place behind the last, where 0 says so */
    co_u32 *values; /* folded operands: of 64 bits the low word, then the high one */
    co_u32 op;      /* never COUNT */
};

/* What a lane has done to the map. */
struct MAP(summed) {
    co_map_tally tally;
    co_u64 added;
    co_u32 full;
};

CO_INLINE KEY MAP(sums_key)(const struct MAP(sums) * t, co_u32 place)
{
    return sizeof(KEY) == 4 ? (KEY)co_load_shared32((const co_u32 *)t->keys + place)
                            : (KEY)co_load_shared64((const co_u64 *)t->keys + place);
}

CO_INLINE void MAP(sums_set_key)(const struct MAP(sums) * t, co_u32 place, KEY key)
{
    if (sizeof(KEY) == 4)
        co_store_shared32((co_u32 *)t->keys + place, (co_u32)key);
    else
        co_store_shared64((co_u64 *)t->keys + place, (co_u64)key);
}

/* Takes a free place. The key that has it then. */
CO_INLINE KEY MAP(sums_take)(const struct MAP(sums) * t, co_u32 place, KEY key)
{
    KEY seen = sizeof(KEY) == 4 ? (KEY)co_cas32((co_u32 *)t->keys + place, (co_u32)SUMS_NONE, (co_u32)key)
                                : (KEY)co_cas64((co_u64 *)t->keys + place, (co_u64)SUMS_NONE, (co_u64)key);
    return seen == SUMS_NONE ? key : seen;
}

/* The key's place, taken for it if need be; SUMS_NOWHERE. */
CO_INLINE co_u32 MAP(sums_place)(const struct map_sums *s, const struct MAP(sums) * t, KEY key)
{
    if (key == SUMS_NONE) {
        if (MAP(sums_key)(t, s->places) == SUMS_NONE)
            MAP(sums_set_key)(t, s->places, 0);
        return s->places;
    }
    co_u32 mixed =
        sizeof(KEY) == 4 ? (co_u32)key * 0x9e3779b1u : (co_u32)((key * 0x9e3779b97f4a7c15ull) >> 32);
    co_u32 place = mixed >> s->shift;
    CO_ROLLED
    for (co_u32 k = 0; k < SUMS_WALK; k++) {
        KEY there = MAP(sums_key)(t, place);
        if (there == SUMS_NONE)
            there = MAP(sums_take)(t, place, key);
        if (there == key)
            return place;
        place = (place + 1) & (s->places - 1);
    }
    return SUMS_NOWHERE;
}

/* What an operand is before any has been folded. */
CO_INLINE VALUE MAP(sums_nothing)(co_u32 op)
{
    return op == CO_OP_MIN || op == CO_OP_AND ? (VALUE) ~(VALUE)0 : 0;
}

CO_INLINE void MAP(sums_fold)(const struct MAP(sums) * t, co_u32 place, VALUE v)
{
#    if CO_MAP_VALUE_BITS == 64
    co_u64 *whole = (co_u64 *)(void *)t->values + place;
    co_u32 *low = t->values + 2 * place, lo = (co_u32)v, hi = (co_u32)(v >> 32);
    switch (t->op) {
    case CO_OP_ADD: /* two additions, which the memory does, for one, which it does not */
        hi += co_add32(low, lo) + lo < lo;
        if (hi)
            co_add32(low + 1, hi);
        break;
    case CO_OP_MIN:
        co_min64(whole, v);
        break;
    case CO_OP_MAX:
        co_max64(whole, v);
        break;
    case CO_OP_OR:
        co_or64(whole, v);
        break;
    default:
        co_and64(whole, v);
    }
#    else
    co_u32 *at = t->values + place;
    switch (t->op) {
    case CO_OP_ADD:
        co_add32(at, v);
        break;
    case CO_OP_MIN:
        co_min32(at, v);
        break;
    case CO_OP_MAX:
        co_max32(at, v);
        break;
    case CO_OP_OR:
        co_or32(at, v);
        break;
    default:
        co_and32(at, v);
    }
#    endif
}

/* Makes a place's operand what it is before any has been folded. */
CO_INLINE void MAP(sums_clear)(const struct MAP(sums) * t, co_u32 place)
{
    VALUE nothing = MAP(sums_nothing)(t->op);
#    if CO_MAP_VALUE_BITS == 64
    if (t->op == CO_OP_ADD) {
        co_store_shared32(t->values + 2 * place, 0);
        co_store_shared32(t->values + 2 * place + 1, 0);
    } else
        co_store_shared64((co_u64 *)(void *)t->values + place, nothing);
#    else
    co_store_shared32(t->values + place, nothing);
#    endif
}

CO_INLINE VALUE MAP(sums_value)(const struct MAP(sums) * t, co_u32 place)
{
#    if CO_MAP_VALUE_BITS == 64
    if (t->op != CO_OP_ADD)
        return co_load_shared64((const co_u64 *)(const void *)t->values + place);
    return (VALUE)co_load_shared32(t->values + 2 * place) | (VALUE)co_load_shared32(t->values + 2 * place + 1)
                                                                << 32;
#    else
    return co_load_shared32(t->values + place);
#    endif
}

/* An operand to the map. */
CO_INLINE void MAP(sums_out)(const struct map_sums *s, co_u32 op, KEY key, VALUE v, struct MAP(summed) * d)
{
    int r = MAP(alone)(&s->batch, op, key, v, &d->tally);
    d->added += r == CO_MAP_NEW;
    d->full |= r == CO_MAP_FULL;
}

CO_INLINE void MAP(sums_put)(const struct map_sums *s, const struct MAP(sums) * t, KEY key, VALUE v,
                             struct MAP(summed) * d)
{
    co_u32 place = MAP(sums_place)(s, t, key);
    if (place == SUMS_NOWHERE)
        MAP(sums_out)(s, t->op, key, v, d);
    else
        MAP(sums_fold)(t, place, v);
}

/* The block together, before the first entry. */
CO_INLINE void MAP(sums_begin)(const struct map_sums *s, const struct MAP(sums) * t)
{
    for (co_u32 p = co_thread(); p <= s->places; p += co_threads()) {
        MAP(sums_set_key)(t, p, SUMS_NONE);
        MAP(sums_clear)(t, p);
    }
    co_block_sync();
}

/* The block together: what it has goes to the map, and that is all. Blocks begin at different places, lest
 * all of them want one key of the map at a time. */
CO_INLINE void MAP(sums_end)(const struct map_sums *s, const struct MAP(sums) * t, struct MAP(summed) * d)
{
    co_u32 skew = co_block() * 0x9e3779b1u;
    co_block_sync();
    for (co_u32 p = co_thread(); p <= s->places; p += co_threads()) {
        co_u32 place = p < s->places ? (p + skew) & (s->places - 1) : p;
        KEY key = MAP(sums_key)(t, place);
        if (key == SUMS_NONE)
            continue;
        MAP(sums_out)(s, t->op, place < s->places ? key : SUMS_NONE, MAP(sums_value)(t, place), d);
    }
}

/* ---- entries --------------------------------------------------------------------------------------------------------------- */

/* Entries [begin, begin + n), the block together. A lane's entries of one key that follow each other are
 * folded before all else. */
CO_INLINE void MAP(sums_stretch)(const struct map_sums *s, const struct MAP(sums) * t, co_u64 begin, co_u32 n,
                                 struct MAP(summed) * d)
{
    const struct map_batch *b = &s->batch;
    KEY last = 0;
    VALUE sum = 0;
    int any = 0;
    for (co_u32 base = co_thread(); base < n; base += co_threads() * SUMS_EACH) {
        KEY keys[SUMS_EACH];
        VALUE values[SUMS_EACH];
        CO_EACH_ITEM (j, SUMS_EACH) {
            co_u32 i = base + j * co_threads();
            keys[j] = i < n ? MAP(key_at)(b->keys, begin + i) : 0;
            values[j] = i >= n ? 0 : b->op == CO_OP_COUNT ? 1 : MAP(value_at)(b->values, begin + i);
        }
        CO_EACH_ITEM (j, SUMS_EACH) {
            if (base + j * co_threads() >= n)
                continue;
            if (any && keys[j] == last) {
                sum = MAP(combine)(t->op, sum, values[j]);
                continue;
            }
            if (any)
                MAP(sums_put)(s, t, last, sum, d);
            last = keys[j];
            sum = values[j];
            any = 1;
        }
    }
    if (any)
        MAP(sums_put)(s, t, last, sum, d);
}

CO_KERNEL_BOUND(NAME(fold), struct map_sums, SUMS_WIDE ? 1024 : 512, SUMS_WIDE ? 1 : 3)
{
    CO_SHARED_DYNAMIC(co_u64, MAP(sums_shared));
    const struct map_batch *b = &args->batch;
    const co_u64 chunk = args->chunk;
    struct MAP(sums) t;
    struct MAP(summed) done = {{0, 0}, 0, 0};
    if (co_read64(args->alone))
        return;
    t.keys = (KEY *)(void *)MAP(sums_shared);
    t.values = (co_u32 *)(void *)((char *)MAP(sums_shared) + map_sums_values_at(args->places, sizeof(KEY)));
    t.op = b->op == CO_OP_COUNT ? (co_u32)CO_OP_ADD : b->op;
    MAP(sums_begin)(args, &t);
    for (co_u64 begin = co_block() * chunk; begin < b->n; begin += co_blocks() * chunk)
        MAP(sums_stretch)(args, &t, begin, (co_u32)(b->n - begin < chunk ? b->n - begin : chunk), &done);
    MAP(sums_end)(args, &t, &done);
    map_flush_warp(&b->view, &done.tally);
    map_add_warp(&args->counts->added, done.added);
    if (done.full)
        co_store64(args->full, 1);
}

/* Entries whose key found no slot. */
CO_KERNEL(NAME(rest), struct map_sums)
{
    struct map_batch b = args->batch;
    struct map_report report = map_report_begin();
    if (!co_read64(args->full))
        return;
    b.counts = args->counts;
    CO_EACH_WARP (base, b.n) {
        co_u64 i = base + co_lane();
        VALUE value = 0;
        int active = i < b.n, r = CO_MAP_MISS;
        if (active)
            r = MAP(find_quiet)(&b.view, MAP(key_at)(b.keys, i), &value) == CO_MAP_HIT ? CO_MAP_HIT
                                                                                       : CO_MAP_FULL;
        co_warp_sync(CO_FULL_WARP);
        map_report_warp(&b, MAP_STEP_APPLY, base, active, r, &report);
    }
    map_report_end(&b, &report);
}

/* ---- the sample ------------------------------------------------------------------------------------------------------------ */

/* Entry i of the sample: one of a part of the batch, at random, for keys may come again in regular steps. */
CO_INLINE KEY MAP(sums_sampled)(const struct map_sums *s, co_u32 i)
{
    co_u64 part = s->batch.n / s->sample, random = co_hash(i, 0) >> 32;
    return MAP(key_at)(s->batch.keys, i * part + (random * part >> 32));
}

/* One block. Words of hashes, each in the first place from its own on that was free, and how often each
 * has come. */
CO_KERNEL_BOUND(NAME(sample), struct map_sums, 512, 1)
{
    CO_SHARED_DYNAMIC(co_u64, MAP(sums_shared));
    CO_SHARED(co_u32, singles, 1);
    co_u32 *seen = (co_u32 *)(void *)MAP(sums_shared), *times = seen + 2 * args->sample;
    if (co_block())
        return;
    for (co_u32 i = co_thread(); i < 4 * args->sample; i += co_threads())
        co_store32(seen + i, 0);
    if (!co_thread())
        co_store32(singles, 0);
    co_block_sync();
    for (co_u32 i = co_thread(); i < args->sample; i += co_threads()) {
        co_u64 hash = co_hash(MAP(sums_sampled)(args, i), args->batch.view.seed);
        co_u32 word = (co_u32)hash | 1, at = (co_u32)(hash >> 32) & (2 * args->sample - 1), old;
        while ((old = co_cas32(seen + at, 0, word)) && old != word)
            at = (at + 1) & (2 * args->sample - 1);
        co_add32(times + at, 1);
    }
    co_block_sync();
    for (co_u32 i = co_thread(); i < 2 * args->sample; i += co_threads())
        if (co_load32(times + i) == 1)
            co_add32(singles, 1);
    co_block_sync();
    if (co_thread())
        return;
    co_write64(args->alone, co_load32(singles) > args->singles);
}

#    undef NAME
#    undef SUMS_EACH
#    undef SUMS_WALK
#    undef SUMS_NOWHERE
#    undef SUMS_NONE
#    undef SUMS_WIDE
#endif
#include "shape/map_end.h"
