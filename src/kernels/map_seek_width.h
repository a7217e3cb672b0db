/* kernels/map_seek_width.h: the kernels of finding by pages for one width. Included by map_seek.cu once per
 * instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"
#include "map_page.h"

#define NAME(kind) CO_PASTE3(map_seek_##kind, _, CO_MAP_SUFFIX)

#define UNITS       ((co_u32)(MAP_PAGE_BYTES / 16))
#define UNIT_SLOTS  (128 / CO_MAP_SLOT_BITS) /* slots of a unit of 16 bytes */
#define PAIR_UNITS  4u                       /* units of a pair of buckets */
#define PAIRS       (PAGE_BUCKETS / 2)       /* of a page */
#define SIEVE_BITS  (CO_MAP_SLOT_BITS == 128 ? 12 : 13)
#define SIEVE_WORDS (1u << SIEVE_BITS)
#define READS       4                   /* units, or keys, that a lane has under way */
#define QUEUE       (32u * READS + 32u) /* keys of a warp that wait until 32 of them are looked up at once */
#define WARPS_MOST  16u

/* What is written of keys that are absent, for all keys: the fallback, and bits that are 0. */
CO_KERNEL(NAME(begin), struct map_seek)
{
    const struct map_batch *b = &args->batch;
    const co_u64 lanes = (co_u64)co_blocks() * co_threads(),
                 mine = (co_u64)co_block() * co_threads() + co_thread();
    if (co_read64(args->gate))
        return;
    for (co_u64 i = mine; i < b->n && b->has_fallback; i += lanes)
        MAP(put_value)(b->results, i, (VALUE)b->fallback);
    for (co_u64 i = mine; i < batch_bitmap_words(b->n) && b->hit && !b->join; i += lanes)
        co_write32(b->hit + i, 0);
}

/* Entry i, in order of pages, is found. */
CO_INLINE void MAP(seek_found)(const struct map_seek *s, co_u64 i, VALUE value)
{
    co_u64 index = s->index_bytes == 4 ? co_read32((const co_u32 *)s->indices + i)
                                       : co_read64((const co_u64 *)s->indices + i);
    MAP(put_value)(s->batch.results, index, value);
    if (s->batch.hit)
        co_or32(s->batch.hit + index / 32, 1u << index % 32);
}

/* ---- what a block keeps of a page ---------------------------------------------------------------------- */

struct MAP(sieve) {
    co_u32 *words; /* two bits in one of the words for each key that is in a slot */
    co_u8 *open;   /* of each pair of buckets: has it an empty slot? */
    co_u32 *queue; /* of this lane's warp */
};

/* Of a key: where its bits are. Not its hash, for every slot's would be a long computation. */
CO_INLINE co_u32 MAP(sieve_of)(KEY key)
{
    co_u32 folded = (co_u32)key ^ (co_u32)((co_u64)key >> 32) * 0x85ebca6bu, mixed = folded * 0x9e3779b1u;
    return mixed ^ mixed >> 15;
}

CO_INLINE co_u32 MAP(sieve_bits)(co_u32 mixed)
{
    return 1u << (mixed & 31) | 1u << (mixed >> 5 & 31);
}

CO_INLINE KEY MAP(unit_key)(co_u128 unit, co_u32 j)
{
#if CO_MAP_SLOT_BITS == 128
    return (void)j, (KEY)unit.lo;
#elif CO_MAP_SLOT_BITS == 64
    return (KEY)(j ? unit.hi : unit.lo);
#else
    return (KEY)((j < 2 ? unit.lo : unit.hi) >> j % 2 * 32);
#endif
}

/* One unit's keys; has it an empty slot? */
CO_INLINE int MAP(sieve_unit)(const struct MAP(sieve) * sieve, co_u128 unit)
{
    int open = 0;
    CO_EACH_ITEM (j, UNIT_SLOTS) {
        KEY key = MAP(unit_key)(unit, j);
        co_u32 mixed = MAP(sieve_of)(key);
        open |= key == PAGE_NONE;
        if (key < PAGE_NONE - 1)
            co_or32(sieve->words + (mixed >> (32 - SIEVE_BITS)), MAP(sieve_bits)(mixed));
    }
    return open;
}

/* The block together. */
CO_INLINE void MAP(sieve_make)(const struct MAP(sieve) * sieve, const cohort_map_view *m, co_u32 page)
{
    const co_u128 *table = (const co_u128 *)m->slots + (co_u64)page * UNITS;
    for (co_u32 i = co_thread(); i < SIEVE_WORDS; i += co_threads())
        co_write32(sieve->words + i, 0);
    co_block_sync();
    for (co_u32 base = co_thread(); base < UNITS; base += READS * co_threads()) {
        co_u128 units[READS];
        CO_EACH_ITEM (k, READS)
            units[k] = co_read128(table + base + k * co_threads());
        CO_EACH_ITEM (k, READS) {
            co_u32 open = co_ballot(CO_FULL_WARP, MAP(sieve_unit)(sieve, units[k]));
            if (co_lane() % PAIR_UNITS == 0)
                co_write8(sieve->open + (base + k * co_threads()) / PAIR_UNITS,
                          (open >> co_lane() & ((1u << PAIR_UNITS) - 1)) != 0);
        }
    }
    co_block_sync();
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* May the walk lead out of the page? If there is an empty slot in its first stretch, the key would have taken
 * it. */
CO_INLINE int MAP(seek_leaves)(const struct MAP(sieve) * sieve, const cohort_map_view *m, KEY key)
{
    struct co_walk w = co_walk_begin(co_hash(key, m->seed), m->pages, PAGE_BUCKETS - 1, 0);
    co_u32 pair = w.bucket / 2, step = w.step / 2, left = PAGE_WALK / 4, open;
    CO_ROLLED
    do {
        open = co_read8(sieve->open + pair);
        pair = (pair + step) % PAIRS;
        open |= co_read8(sieve->open + pair);
        pair = (pair + step) % PAIRS;
    } while (!open && --left);
    return !open;
}

/* Must the table be looked at? */
CO_INLINE int MAP(seek_asks)(const struct MAP(sieve) * sieve, const cohort_map_view *m, KEY key)
{
    co_u32 mixed = MAP(sieve_of)(key), bits = MAP(sieve_bits)(mixed);
    if (key >= PAGE_NONE - 1 || !(bits & ~co_read32(sieve->words + (mixed >> (32 - SIEVE_BITS)))))
        return 1;
    return MAP(seek_leaves)(sieve, m, key);
}

/* The table says what becomes of entry `i`: 1: it is found. */
CO_INLINE co_u32 MAP(seek_look)(const struct map_seek *s, co_u64 i)
{
    VALUE value = 0;
    if (MAP(find_quiet)(&s->batch.view, MAP(key_at)(s->keys, i), &value) != CO_MAP_HIT)
        return 0;
    MAP(seek_found)(s, i, value);
    return 1;
}

/* Entry `i` joins those of the warp that wait, if it must. */
CO_INLINE void MAP(seek_join)(const struct MAP(sieve) * sieve, co_u32 i, int asks, co_u32 *waiting)
{
    co_u32 joining = co_ballot(CO_FULL_WARP, asks), before = (1u << co_lane()) - 1;
    if (asks)
        co_write32(sieve->queue + *waiting + co_ones32(joining & before), i);
    *waiting += co_ones32(joining);
}

/* Those that wait are looked up, 32 at a time, until fewer than `most` are left: how many this lane has
 * found. */
CO_INLINE co_u32 MAP(seek_serve)(const struct map_seek *s, const struct MAP(sieve) * sieve, co_u64 begin,
                                 co_u32 *waiting, co_u32 most)
{
    co_u32 found = 0;
    co_warp_sync(CO_FULL_WARP);
    while (*waiting >= most) {
        co_u32 many = *waiting < 32 ? *waiting : 32;
        *waiting -= many;
        if (co_lane() < many)
            found += MAP(seek_look)(s, begin + co_read32(sieve->queue + *waiting + co_lane()));
    }
    co_warp_sync(CO_FULL_WARP);
    return found;
}

/* A warp's share of a page's keys, of which the first is entry `begin`: how many this lane has found. */
CO_INLINE co_u32 MAP(seek_keys)(const struct map_seek *s, const struct MAP(sieve) * sieve, co_u64 begin,
                                co_u32 n)
{
    co_u32 found = 0, waiting = 0;
    for (co_u32 base = (co_thread() & ~31u) * READS; base < n; base += co_threads() * READS) {
        KEY keys[READS];
        co_u32 i = base + co_lane(), last = n - base <= co_threads() * READS;
        CO_EACH_ITEM (k, READS)
            keys[k] = i + 32 * k < n ? MAP(key_at)(s->keys, begin + i + 32 * k) : 0;
        CO_EACH_ITEM (k, READS) {
            int asks = i + 32 * k < n && MAP(seek_asks)(sieve, &s->batch.view, keys[k]);
            MAP(seek_join)(sieve, i + 32 * k, asks, &waiting);
        }
        found += MAP(seek_serve)(s, sieve, begin, &waiting, last ? 1 : 32);
    }
    return found;
}

CO_KERNEL_BOUND(NAME(pages), struct map_seek, 512, 3)
{
    CO_SHARED(co_u32, words, SIEVE_WORDS);
    CO_SHARED(co_u8, open, PAIRS);
    CO_SHARED(co_u32, queues, QUEUE * WARPS_MOST);
    const struct map_batch *b = &args->batch;
    struct MAP(sieve) sieve = {words, open, queues + QUEUE * co_warp()};
    co_u64 found = 0;
    if (co_read64(args->gate))
        return;
    for (co_u32 p = co_block(); p < b->view.pages; p += co_blocks()) {
        co_u64 begin = co_read64(args->offsets + p), n = co_read64(args->offsets + p + 1) - begin;
        if (!n)
            continue;
        MAP(sieve_make)(&sieve, &b->view, p);
        found += MAP(seek_keys)(args, &sieve, begin, (co_u32)n);
        co_block_sync();
    }
    found = co_warp_sum(found);
    if (co_lane() == 0 && found && b->counts)
        co_add64(&b->counts->hits, found);
    if (co_block() == 0 && co_thread() == 0 && b->counts)
        co_add64(&b->counts->taken, b->n);
}

#undef NAME
#undef UNITS
#undef UNIT_SLOTS
#undef PAIR_UNITS
#undef PAIRS
#undef SIEVE_BITS
#undef SIEVE_WORDS
#undef READS
#undef QUEUE
#undef WARPS_MOST
#include "map_page_end.h"
#include "shape/map_end.h"
