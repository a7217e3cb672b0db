/* kernels/map_sums_width.h: the kernels of sums by key for one width with values. Included by map_sums.cu
 * once per instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"

#if CO_MAP_VALUE_BITS

#    define NAME(kind)   CO_PASTE3(map_sums_##kind, _, CO_MAP_SUFFIX)
#    define SUMS_EACH    (CO_MAP_SLOT_BITS == 128 ? 4u : 8u) /* entries that a lane reads at once */
#    define SUMS_WALK    12u                                 /* places that a key may have, from its own on */
#    define SUMS_NOWHERE (~0u)
#    define SUMS_NONE    ((KEY) ~(KEY)0)
#    define SUMS_TAKEN   0x100u
#    define SUMS_REUSED  0x200u
#    define SUMS_THREADS 1024

/* ---- a block's table ------------------------------------------------------------------------------- */

struct MAP(sums) {
    /* SUMS_NONE: the place is free. The key that is SUMS_NONE has the place behind the last, where 0 says
     * so. */
    KEY *keys;
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

/* The place where a key's walk begins. */
CO_INLINE co_u32 MAP(sums_home)(const struct map_sums *s, KEY key)
{
    co_u32 mixed =
        sizeof(KEY) == 4 ? (co_u32)key * 0x9e3779b1u : (co_u32)((key * 0x9e3779b97f4a7c15ull) >> 32);
    return (co_u32)((co_u64)mixed * s->places >> 32);
}

/* The key's place, from its home on, taken for it if need be; SUMS_NOWHERE. */
CO_INLINE co_u32 MAP(sums_place)(const struct map_sums *s, const struct MAP(sums) * t, KEY key, co_u32 place)
{
    if (key == SUMS_NONE) {
        if (MAP(sums_key)(t, s->places) == SUMS_NONE)
            MAP(sums_take)(t, s->places, 0); /* several lanes may: what they leave is the same */
        return s->places;
    }
    CO_ROLLED
    for (co_u32 k = 0; k < SUMS_WALK; k++) {
        KEY there = MAP(sums_key)(t, place);
        if (there == SUMS_NONE)
            there = MAP(sums_take)(t, place, key);
        if (there == key)
            return place;
        place = place + 1 < s->places ? place + 1 : 0;
    }
    return SUMS_NOWHERE;
}

/* What an operand is before any has been folded. */
CO_INLINE VALUE MAP(sums_nothing)(co_u32 op)
{
    return op == CO_OP_MIN || op == CO_OP_AND ? (VALUE) ~(VALUE)0 : 0;
}

CO_INLINE void MAP(sums_fold)(const struct MAP(sums) * t, co_u32 op, co_u32 place, VALUE v)
{
#    if CO_MAP_VALUE_BITS == 64
    co_u64 *whole = (co_u64 *)(void *)t->values + place;
    co_u32 *low = t->values + 2 * place, lo = (co_u32)v, hi = (co_u32)(v >> 32);
    switch (op) {
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
    switch (op) {
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

/* An operand to the map: a CO_MAP_..., and what it did to the table, as SUMS_TAKEN and SUMS_REUSED.
 * Apart from what calls it, since it is large, and few entries need it. */
CO_APART co_u32 MAP(sums_apply)(const struct map_batch *b, co_u32 op, KEY key, VALUE v)
{
    co_map_tally tally = {0, 0};
    co_u32 r = (co_u32)MAP(alone)(b, op, key, v, &tally);
    return r | (tally.taken ? SUMS_TAKEN : 0) | (tally.erased ? SUMS_REUSED : 0);
}

CO_INLINE void MAP(sums_out)(const struct map_sums *s, co_u32 op, KEY key, VALUE v, struct MAP(summed) * d)
{
    co_u32 r = MAP(sums_apply)(&s->batch, op, key, v), outcome = r & (SUMS_TAKEN - 1);
    d->tally.taken += r & SUMS_TAKEN ? 1 : 0;
    d->tally.erased -= r & SUMS_REUSED ? 1 : 0;
    d->added += outcome == CO_MAP_NEW;
    d->full |= outcome == CO_MAP_FULL;
}

CO_INLINE void MAP(sums_put)(const struct map_sums *s, const struct MAP(sums) * t, co_u32 op, KEY key,
                             VALUE v, struct MAP(summed) * d)
{
    co_u32 place = MAP(sums_place)(s, t, key, MAP(sums_home)(s, key));
    if (place == SUMS_NOWHERE)
        MAP(sums_out)(s, op, key, v, d);
    else
        MAP(sums_fold)(t, op, place, v);
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

/* The block together: what it has goes to the map, and its table is empty again. Blocks begin at
 * different places, lest all of them want one key of the map at a time. */
CO_INLINE void MAP(sums_end)(const struct map_sums *s, const struct MAP(sums) * t, struct MAP(summed) * d)
{
    co_u32 skew = (co_u32)((co_u64)(co_block() * 0x9e3779b1u) * s->places >> 32);
    co_block_sync();
    for (co_u32 p = co_thread(); p <= s->places; p += co_threads()) {
        co_u32 place = p == s->places ? p : p + skew < s->places ? p + skew : p + skew - s->places;
        KEY key = MAP(sums_key)(t, place);
        if (key == SUMS_NONE)
            continue;
        MAP(sums_out)(s, t->op, place < s->places ? key : SUMS_NONE, MAP(sums_value)(t, place), d);
        MAP(sums_set_key)(t, place, SUMS_NONE);
        MAP(sums_clear)(t, place);
    }
    co_block_sync();
}

/* ---- entries --------------------------------------------------------------------------------------- */

/* Some entries of a stretch, a lane's in registers. */
struct MAP(several) {
    KEY keys[SUMS_EACH];
    VALUE values[SUMS_EACH];
    co_u32 todo; /* bit j: entry j is to be folded yet */
};

/* Entries first, first + threads, .. of which those before `end` are there; with `whole` all are. */
CO_INLINE void MAP(sums_read)(const struct map_sums *s, co_u64 first, co_u64 end, int whole,
                              struct MAP(several) * e)
{
    const co_u32 step = co_threads();
    e->todo = 0;
    CO_EACH_ITEM (j, SUMS_EACH) {
        int there = whole || first + j * step < end;
        e->keys[j] = there ? MAP(key_at)(s->keys, first + j * step) : 0;
        e->todo |= (co_u32)there << j;
    }
    CO_EACH_ITEM (j, SUMS_EACH) {
        int there = whole || first + j * step < end;
        e->values[j] = !s->values ? 1 : there ? MAP(value_at)(s->values, first + j * step) : 0;
    }
}

/* Where each lane's entries have one key, as all do if there is one, they are one entry. */
CO_INLINE void MAP(sums_unite)(co_u32 op, struct MAP(several) * e)
{
    int same = e->todo == (1u << SUMS_EACH) - 1;
    CO_EACH_ITEM (j, SUMS_EACH)
        same &= e->keys[j] == e->keys[0];
    if (!co_all(CO_FULL_WARP, same))
        return;
    CO_EACH_ITEM (j, SUMS_EACH)
        e->values[0] = j ? MAP(combine)(op, e->values[0], e->values[j]) : e->values[0];
    e->todo = 1;
}

/* The entries whose keys are at home, as most are: all homes are looked at before anything else is done. */
CO_INLINE void MAP(sums_at_home)(const struct map_sums *s, const struct MAP(sums) * t, co_u32 op,
                                 struct MAP(several) * e)
{
    co_u32 home[SUMS_EACH];
    KEY there[SUMS_EACH];
    CO_EACH_ITEM (j, SUMS_EACH) {
        home[j] = MAP(sums_home)(s, e->keys[j]);
        there[j] = MAP(sums_key)(t, home[j]);
    }
    CO_EACH_ITEM (j, SUMS_EACH) {
        int own = (e->todo >> j & 1) && there[j] == e->keys[j] && e->keys[j] != SUMS_NONE;
        if (own)
            MAP(sums_fold)(t, op, home[j], e->values[j]);
        e->todo &= ~((co_u32)own << j);
    }
}

/* The others: in each turn the next one of each lane walks. Lanes that part on their walks meet before
 * the next turn: left to themselves they would go on one by one. */
CO_INLINE void MAP(sums_walk)(const struct map_sums *s, const struct MAP(sums) * t, co_u32 op,
                              struct MAP(several) * e, struct MAP(summed) * d)
{
    co_warp_sync(CO_FULL_WARP);
    while (co_any(CO_FULL_WARP, e->todo != 0)) {
        KEY key = 0;
        VALUE value = 0;
        CO_EACH_ITEM (j, SUMS_EACH) {
            co_u32 k = SUMS_EACH - 1 - j;
            key = e->todo >> k & 1 ? e->keys[k] : key;
            value = e->todo >> k & 1 ? e->values[k] : value;
        }
        if (e->todo)
            MAP(sums_put)(s, t, op, key, value, d);
        e->todo &= e->todo - 1;
        co_warp_sync(CO_FULL_WARP);
    }
}

/* Entries [begin, begin + n), the block together. */
CO_INLINE void MAP(sums_stretch)(const struct map_sums *s, const struct MAP(sums) * t, co_u32 op,
                                 co_u64 begin, co_u64 n, struct MAP(summed) * d)
{
    const co_u64 turn = (co_u64)co_threads() * SUMS_EACH, end = begin + n;
    struct MAP(several) e;
    for (; begin < end; begin += turn) {
        if (end - begin >= turn) {
            MAP(sums_read)(s, begin + co_thread(), end, 1, &e);
            MAP(sums_unite)(op, &e);
        } else
            MAP(sums_read)(s, begin + co_thread(), end, 0, &e);
        MAP(sums_at_home)(s, t, op, &e);
        MAP(sums_walk)(s, t, op, &e, d);
    }
}

/* All of a chunk that begins in this part, part by part, each with a table of its own. */
CO_INLINE void MAP(sums_chunk)(const struct map_sums *s, const struct MAP(sums) * t, co_u32 op, co_u64 begin,
                               co_u64 end, struct MAP(summed) * d)
{
    co_u64 part = run_at(s->offsets, 0, s->parts, begin);
    for (; begin < end; part++) {
        co_u64 next = co_read64(s->offsets + part + 1), stop = next < end ? next : end;
        if (stop == begin)
            continue;
        MAP(sums_stretch)(s, t, op, begin, stop - begin, d);
        MAP(sums_end)(s, t, d);
        begin = stop;
    }
}

/* All entries, of which each block takes chunks; one table for them all if there are no parts. */
CO_INLINE void MAP(sums_all)(const struct map_sums *s, const struct MAP(sums) * t, co_u32 op, co_u64 n,
                             int parts, struct MAP(summed) * d)
{
    const co_u64 chunk = s->chunk;
    for (co_u64 begin = co_block() * chunk; begin < n; begin += co_blocks() * chunk) {
        co_u64 end = n - begin < chunk ? n : begin + chunk;
        if (parts)
            MAP(sums_chunk)(s, t, op, begin, end, d);
        else
            MAP(sums_stretch)(s, t, op, begin, end - begin, d);
    }
    if (!parts)
        MAP(sums_end)(s, t, d);
}

CO_INLINE void MAP(sums_work)(const struct map_sums *s, co_u64 *shared, co_u64 n, int parts)
{
    const struct map_batch *b = &s->batch;
    struct MAP(sums) t;
    struct MAP(summed) done = {{0, 0}, 0, 0};
    t.keys = (KEY *)(void *)shared;
    t.values = (co_u32 *)(void *)((char *)shared + map_sums_values_at(s->places, sizeof(KEY)));
    t.op = b->op == CO_OP_COUNT ? (co_u32)CO_OP_ADD : b->op;
    MAP(sums_begin)(s, &t);
    if (t.op == CO_OP_ADD) /* known to the compiler there */
        MAP(sums_all)(s, &t, CO_OP_ADD, n, parts, &done);
    else
        MAP(sums_all)(s, &t, t.op, n, parts, &done);
    map_flush_warp(&b->view, &done.tally);
    map_add_warp(&s->counts->added, done.added);
    if (done.full)
        co_store64(s->full, 1);
}

CO_KERNEL_BOUND(NAME(fold), struct map_sums, SUMS_THREADS, 1)
{
    CO_SHARED_DYNAMIC(co_u64, MAP(sums_shared));
    if (!co_read64(args->alone) && !co_read64(args->share))
        MAP(sums_work)(args, MAP(sums_shared), args->batch.n, 0);
}

/* The same of entries in order of parts: ranges of the keys' hashes, each with about as many keys as a
 * block has places for. */
CO_KERNEL_BOUND(NAME(parts), struct map_sums, SUMS_THREADS, 1)
{
    CO_SHARED_DYNAMIC(co_u64, MAP(sums_shared));
    co_u64 n = co_read64(args->share);
    if (n)
        MAP(sums_work)(args, MAP(sums_shared), n, 1);
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

/* ---- the sample ------------------------------------------------------------------------------------ */

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
    int many = co_load32(singles) > args->singles;
    co_write64(args->alone, (co_u64)(many && !args->parts));
    co_write64(args->share, many && args->parts ? args->batch.n : 0);
}

#    undef NAME
#    undef SUMS_EACH
#    undef SUMS_WALK
#    undef SUMS_NOWHERE
#    undef SUMS_NONE
#    undef SUMS_TAKEN
#    undef SUMS_REUSED
#    undef SUMS_THREADS
#endif
#include "shape/map_end.h"
