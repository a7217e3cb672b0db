/* cohort/device/hash.h: the hash of keys, and where a key's search begins and goes.
 *
 * The hash is a bijective 64-bit finaliser (the second variant of MurmurHash3's, with D. Stafford's constants "Mix13") of
 * key ^ seed. Its high 32 bits choose the page by multiply-shift, the low bits the home bucket inside it, bits from 16 on
 * the step. Buckets of a page are a power of two and the step is odd, so a walk meets every bucket of a page once. */
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

/* One key's walk over buckets. */
struct co_walk {
    co_u32 page, bucket; /* where it stands */
    co_u32 step;
    co_u32 seen;  /* buckets of this page seen before this one */
    co_u32 reach; /* pages that may still be entered, this one included */
};

CO_INLINE struct co_walk co_walk_begin(co_u64 hash, co_u32 pages, co_u32 mask, co_u32 reach, co_u32 linear)
{
    struct co_walk w;
    w.page = (co_u32)(((hash >> 32) * pages) >> 32);
    w.bucket = (co_u32)hash & mask;
    w.step = linear ? 1u : ((co_u32)(hash >> 16) | 1u);
    w.seen = 0;
    w.reach = reach;
    return w;
}

/* To the next bucket; 0 if there is none. */
CO_INLINE int co_walk_next(struct co_walk *w, co_u32 pages, co_u32 mask)
{
    w->bucket = (w->bucket + w->step) & mask;
    if (w->seen++ < mask)
        return 1;
    w->seen = 0;
    w->page = w->page + 1 == pages ? 0 : w->page + 1;
    return --w->reach != 0;
}

#endif
