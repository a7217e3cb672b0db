/* cohort/device/hash.h: the hash of keys, and where a key's search begins and goes.
 *
 * The hash is a bijective 64-bit finaliser (the second variant of MurmurHash3's, with D. Stafford's constants
 * "Mix13") of key ^ seed. Its high 32 bits choose the page by multiply-shift, the low bits the home bucket
 * inside it, bits from 16 on the step. Of a key of 128 bits the high word is hashed first, and then the low
 * word ^ that hash.
 *
 * A walk goes by pairs of buckets, which are 64 bytes in a row: it sees one bucket, then its partner, which
 * has come with it out of memory into the cache, and then goes on to another pair. Pairs of a page are a
 * power of two and the step from pair to pair is odd, so every bucket of a page is met once. (With linear
 * probing it goes from bucket to bucket.)
 *
 * It goes in two rounds. In the first it sees a sixteenth of the buckets of its own page (an eighth, if a
 * bucket has but two slots), then of each page after it that is within reach; in the second, in the same
 * order, the others. So a page that is full costs a walk 128 buckets instead of 2,048, and yet every bucket
 * within reach is met, each once. */
#ifndef COHORT_DEVICE_HASH_H
#define COHORT_DEVICE_HASH_H

#include "lane.h"

CO_INLINE co_u64 co_hash(co_u64 key, co_u64 seed)
{
    co_u64 h = key ^ seed;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
    return h ^ (h >> 31);
}

/* The seed is in both steps: else keys made to have one hash would have it with any seed. */
CO_INLINE co_u64 co_hash128(co_u128 key, co_u64 seed)
{
    return co_hash(key.lo ^ co_hash(key.hi, seed), seed);
}

/* One key's walk over buckets. */
struct co_walk {
    co_u32 page, bucket; /* where it stands */
    co_u32 step;         /* from pair to pair, in buckets; odd: from bucket to bucket */
    co_u32 seen;         /* buckets seen before this one */
};

/* How many buckets of a page the first round sees, by the slots of a bucket: whole pairs, a power of two. */
CO_INLINE co_u32 co_walk_share(co_u32 slots)
{
    return slots > 2 ? 4 : 3;
}

CO_INLINE co_u32 co_walk_stretch(co_u32 mask, co_u32 slots)
{
    return ((mask >> co_walk_share(slots) | 1) & mask) + 1;
}

CO_INLINE co_u32 co_walk_step(co_u64 hash, co_u32 mask, co_u32 linear)
{
    return linear || !mask ? 1u : ((co_u32)(hash >> 16) | 1u) << 1;
}

CO_INLINE struct co_walk co_walk_begin(co_u64 hash, co_u32 pages, co_u32 mask, co_u32 linear)
{
    struct co_walk w;
    w.page = (co_u32)(((hash >> 32) * pages) >> 32);
    w.bucket = (co_u32)hash & mask;
    w.step = co_walk_step(hash, mask, linear);
    w.seen = 0;
    return w;
}

/* On inside the page. */
CO_INLINE void co_walk_on(struct co_walk *w, co_u32 mask)
{
    w->bucket = ~(w->seen | w->step) & 1 ? w->bucket ^ 1 : (w->bucket + w->step) & mask;
    w->seen++;
}

/* The bucket of a page that a walk sees after `from` others, `bucket`: the one that it sees after `to`
 * others. */
CO_INLINE co_u32 co_walk_shift(co_u32 bucket, co_u32 step, co_u32 from, co_u32 to, co_u32 mask)
{
    co_u32 pairs = ~step & 1, changes = pairs & ((from + 1) >> 1 ^ (to + 1) >> 1);
    return ((bucket + ((to >> pairs) - (from >> pairs)) * step) & mask) ^ changes;
}

/* Where a stretch may have been seen, and the walk stands on the bucket after it: on to the next page, if
 * this one is done with for now; 0 if there is none. All from `seen`: a division, rarely, instead of
 * registers all the time. */
CO_INLINE int co_walk_turn(struct co_walk *w, co_u32 pages, co_u32 mask, co_u32 reach, co_u32 slots)
{
    mask = co_anew32(mask);
    const co_u32 stretch = co_walk_stretch(mask, slots), rest = mask + 1 - stretch, round = stretch * reach;
    if (w->seen <= round ? w->seen & (stretch - 1) : (w->seen - round) % rest)
        return 1;
    w->page = w->page + 1 == pages ? 0 : w->page + 1;
    if (w->seen < round) {
        w->bucket = co_walk_shift(w->bucket, w->step, stretch, 0, mask);
    } else if (w->seen == round) {
        w->page = w->page >= reach ? w->page - reach : w->page + pages - reach; /* back */
        return rest != 0;
    } else {
        w->bucket = co_walk_shift(w->bucket, w->step, mask + 1, stretch, mask);
    }
    return w->seen - round != rest * reach;
}

/* To the next bucket; 0 if there is none. */
CO_INLINE int co_walk_next(struct co_walk *w, co_u32 pages, co_u32 mask, co_u32 reach, co_u32 slots)
{
    co_walk_on(w, mask);
    return w->seen & (mask >> co_walk_share(slots)) ? 1 : co_walk_turn(w, pages, mask, reach, slots);
}

#endif
