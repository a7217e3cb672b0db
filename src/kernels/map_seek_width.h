/* kernels/map_seek_width.h: the kernels of finding by pages for one width. Included by map_seek.cu once per instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"
#include "map_page.h"

#define NAME(kind) CO_PASTE3(map_seek_##kind, _, CO_MAP_SUFFIX)

#define TAG_EACH  0x0001000100010001ull /* a tag, in every slot of a word: a word is the tags of four slots */
#define TAG_PAIR  (PAGE_BUCKET / 2)     /* words of a pair of buckets */
#define PAIRS     (PAGE_BUCKETS / 2)    /* of a page: 2^PAIR_BITS */
#define PAIR_BITS 10
#define TAG_BITS  12                                /* so a brief has 32 */
#define READS     (CO_MAP_SLOT_BITS == 128 ? 2 : 4) /* words of tags that a lane makes at once */
#define FEW       8 /* lanes of a warp that do not walk: they wait for so many */

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
    for (co_u64 i = mine; i < map_bitmap_words(b->n) && b->hit && !b->join; i += lanes)
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

/* ---- tags ------------------------------------------------------------------------------------------------------------------ */

/* Of a key, or of what an erased slot has in its place: not 0. Not of its hash, for every slot's would be a long computation. */
CO_INLINE co_u32 MAP(tag)(KEY key)
{
    co_u32 folded = (co_u32)key ^ (co_u32)((co_u64)key >> 32) * 0x85ebca6bu,
           tag = folded * 0x9e3779b1u >> (32 - TAG_BITS);
    return tag ? tag : 1;
}

/* Is one of a word's tags 0? */
CO_INLINE int MAP(has_zero)(co_u64 tags)
{
    return ((tags - TAG_EACH) & ~tags & TAG_EACH << 15) != 0;
}

/* The block together: the tags of a page, 0 where a slot is empty. */
CO_INLINE void MAP(tags_make)(co_u64 *tags, const cohort_map_view *m, co_u32 page)
{
    for (co_u32 base = co_thread(); base < PAGE_ALL / 4; base += READS * co_threads()) {
        KEY keys[READS][4];
        CO_EACH_ITEM (k, READS)
            CO_EACH_ITEM (j, 4) {
                VALUE value;
                co_u64 slot = (co_u64)page * PAGE_ALL + (base + k * co_threads()) * 4 + j;
                keys[k][j] = MAP(page_slot_read)(m, slot, &value);
            }
        CO_EACH_ITEM (k, READS) {
            co_u64 word = 0;
            CO_EACH_ITEM (j, 4)
                word |= (co_u64)(keys[k][j] == PAGE_NONE ? 0 : MAP(tag)(keys[k][j])) << (j * 16);
            co_write64(tags + base + k * co_threads(), word);
        }
    }
    co_block_sync();
}

/* ---- keys ------------------------------------------------------------------------------------------------------------------ */

enum { MAP(IDLE) = 0, MAP(WALKS) = 1, MAP(LOOKS) = 2 };

/* A key that a lane has taken up, entry `at` of its page's: it walks along tags, until the table must be looked at. */
struct MAP(sought) {
    co_u32 pair, step, left; /* where it is, and how many pairs it may still see */
    co_u32 tag;
    co_u32 at;
    int state;
};

/* What a walk must know of a key, in one word: the pair where it begins, its step, and the tag. */
CO_INLINE co_u32 MAP(brief)(const cohort_map_view *m, KEY key)
{
    struct co_walk w = co_walk_begin(co_hash(key, m->seed), m->pages, PAGE_BUCKETS - 1, 0);
    return w.bucket / 2 | w.step / 2 % PAIRS << PAIR_BITS | MAP(tag)(key) << 2 * PAIR_BITS;
}

CO_INLINE void MAP(seek_begin)(struct MAP(sought) * k, co_u32 brief, co_u32 at)
{
    k->pair = brief % PAIRS;
    k->step = brief >> PAIR_BITS & (PAIRS - 1);
    k->tag = brief >> 2 * PAIR_BITS;
    k->left = PAGE_WALK / 2;
    k->at = at;
    k->state = MAP(WALKS);
}

/* The next pair of buckets. An empty slot among them ends the walk, if none has the tag: it would have been taken by the key. */
CO_INLINE void MAP(seek_on)(const co_u64 *tags, struct MAP(sought) * k)
{
    const co_u64 mine = k->tag * TAG_EACH;
    int like = k->left == 0, empty = 0;
    CO_EACH_ITEM (j, TAG_PAIR) {
        co_u64 word = co_read64(tags + k->pair * TAG_PAIR + j);
        like |= MAP(has_zero)(word ^ mine);
        empty |= MAP(has_zero)(word);
    }
    k->pair = (k->pair + k->step) % PAIRS;
    k->left--;
    k->state = like ? MAP(LOOKS) : empty ? MAP(IDLE) : MAP(WALKS);
}

/* The table says what becomes of entry `at` of those from `begin` on: 1: it is found. */
CO_INLINE co_u32 MAP(seek_look)(const struct map_seek *s, co_u64 begin, co_u32 at)
{
    VALUE value = 0;
    if (MAP(find_quiet)(&s->batch.view, MAP(key_at)(s->keys, begin + at), &value) != CO_MAP_HIT)
        return 0;
    MAP(seek_found)(s, begin + at, value);
    return 1;
}

/* A warp's keys of a page, of which the first is entry `begin`: 32 at a time, a brief a lane, from `base` on, of which `given` have been
 * taken up. */
struct MAP(supply) {
    co_u64 begin;
    co_u32 base, n, given;
    co_u32 brief; /* 0: the key is one of those with slots of their own, and done with */
};

CO_INLINE co_u32 MAP(supply_read)(const struct map_seek *s, struct MAP(supply) * from)
{
    co_u32 i = from->base + co_lane(), found = 0;
    from->given = 0;
    from->brief = 0;
    if (i < from->n) {
        KEY key = MAP(key_at)(s->keys, from->begin + i);
        if (key >= PAGE_NONE - 1)
            found = MAP(seek_look)(s, from->begin, i);
        else
            from->brief = MAP(brief)(&s->batch.view, key);
    }
    co_warp_sync(CO_FULL_WARP);
    return found;
}

/* Lanes without a key take up the next ones, in order. */
CO_INLINE co_u32 MAP(supply_give)(const struct map_seek *s, struct MAP(supply) * from, struct MAP(sought) * k)
{
    co_u32 idle = co_ballot(CO_FULL_WARP, k->state == MAP(IDLE)),
           next = from->given + co_ones32(idle & ((1u << co_lane()) - 1)),
           brief = co_shuffle32(CO_FULL_WARP, from->brief, next % 32);
    if (k->state == MAP(IDLE) && next < 32 && brief)
        MAP(seek_begin)(k, brief, from->base + next);
    from->given += co_ones32(idle);
    if (from->given < 32)
        return 0;
    from->base += co_threads();
    return MAP(supply_read)(s, from);
}

/* A warp's share of a page's keys: how many this lane has found. Walks differ in length, so lanes whose walks are over look and
 * take up other keys when they are a few. */
CO_INLINE co_u32 MAP(seek_keys)(const struct map_seek *s, const co_u64 *tags, co_u64 begin, co_u32 n)
{
    struct MAP(sought) k = {0, 0, 0, 0, 0, MAP(IDLE)};
    struct MAP(supply) from = {begin, co_thread() & ~31u, n, 0, 0};
    co_u32 found = MAP(supply_read)(s, &from), walking = 0;
    for (;;) {
        if (co_ones32(walking) <= 32 - FEW) {
            if (k.state == MAP(LOOKS)) {
                found += MAP(seek_look)(s, begin, k.at);
                k.state = MAP(IDLE);
            }
            co_warp_sync(CO_FULL_WARP);
            if (from.base < n)
                found += MAP(supply_give)(s, &from, &k);
            else if (!walking)
                return found;
        }
        if (k.state == MAP(WALKS))
            MAP(seek_on)(tags, &k);
        walking = co_ballot(CO_FULL_WARP, k.state == MAP(WALKS));
    }
}

CO_KERNEL_BOUND(NAME(pages), struct map_seek, 512, 3)
{
    CO_SHARED(co_u64, tags, PAGE_ALL / 4);
    const struct map_batch *b = &args->batch;
    co_u64 found = 0;
    if (co_read64(args->gate))
        return;
    for (co_u32 p = co_block(); p < b->view.pages; p += co_blocks()) {
        co_u64 begin = co_read64(args->offsets + p), n = co_read64(args->offsets + p + 1) - begin;
        if (!n)
            continue;
        MAP(tags_make)(tags, &b->view, p);
        found += MAP(seek_keys)(args, tags, begin, (co_u32)n);
        co_block_sync();
    }
    found = co_warp_sum(found);
    if (co_lane() == 0 && found && b->counts)
        co_add64(&b->counts->hits, found);
    if (co_block() == 0 && co_thread() == 0 && b->counts)
        co_add64(&b->counts->taken, b->n);
}

#undef NAME
#undef TAG_EACH
#undef TAG_PAIR
#undef PAIRS
#undef PAIR_BITS
#undef TAG_BITS
#undef READS
#undef FEW
#include "map_page_end.h"
#include "shape/map_end.h"
