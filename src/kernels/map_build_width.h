/* kernels/map_build_width.h: the build's kernels for one width. Included by map_build.cu once per instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"
#include "map_page.h"

#define NAME(kind) CO_PASTE3(map_##kind, _, CO_MAP_SUFFIX)
#define EACH       (CO_MAP_SLOT_BITS == 128 ? 2 : 4) /* pairs that a lane reads before it puts the first in */

CO_INLINE co_u32 MAP(page_number)(const cohort_map_view *m, co_u64 hash)
{
    return (co_u32)(((hash >> 32) * m->pages) >> 32);
}

/* What goes into a page: n of the batch's pairs, or of the old table's slots. */
struct MAP(source) {
    co_u64 begin;
    co_u32 n, page, fresh;
    int split;
};

/* What a lane has done. */
struct MAP(built) {
    co_u64 added;       /* to pages */
    co_u32 side;        /* and to side slots */
    co_map_tally tally; /* of side slots, which are in no page and are taken as by anybody */
    int left_out;
};

/* The pair `more` after the i-th. */
CO_INLINE KEY MAP(source_key)(const struct map_build *b, const struct MAP(source) * s, co_u32 i, co_u32 more,
                              VALUE *value)
{
    if (s->split)
        return MAP(page_slot_read)(&b->from, s->begin + i + more, value);
    *value = MAP(value_at)(b->values, s->begin + i + more);
    return MAP(key_at)(b->keys, s->begin + i + more);
}

/* Whether a pair of the source is one of the page's. */
CO_INLINE int MAP(belongs)(const struct map_build *b, const struct MAP(source) * s, co_u32 i, KEY key,
                           co_u64 hash, struct MAP(built) * d)
{
    if (!s->split)
        return 1;
    if (key >= PAGE_NONE - 1)
        return 0;
    if (MAP(page_number)(&b->from, hash) != (co_u32)((s->begin + i) / PAGE_ALL)) {
        d->left_out = 1;
        return 0;
    }
    return MAP(page_number)(&b->view, hash) == s->page;
}

CO_INLINE void MAP(build_side)(const struct map_build *b, KEY key, VALUE value, struct MAP(built) * d)
{
    VALUE old;
    int r = MAP(perform)(&b->view, b->replace ? CO_OP_ASSIGN : CO_OP_INSERT, key, value, &old, &d->tally);
    d->side += r == CO_MAP_NEW;
}

/* A pair to its home, or on the list. */
CO_INLINE void MAP(build_home)(const struct map_build *b, KEY *page, const struct MAP(source) * s, co_u32 i,
                               KEY key, VALUE value, struct MAP(built) * d)
{
    co_u64 hash = co_hash(key, b->view.seed); /* as in the old table */
    if (!MAP(belongs)(b, s, i, key, hash, d))
        return;
    if (key < PAGE_NONE - 1 && MAP(page_take)(page, hash, key, value))
        d->added++;
    else
        MAP(page_defer)(page, i);
}

/* A pair by its walk; `counted`: one from the list. */
CO_INLINE void MAP(build_walk)(const struct map_build *b, KEY *page, const struct MAP(source) * s, co_u32 i,
                               KEY key, VALUE value, int counted, struct MAP(built) * d)
{
    co_u64 hash = co_hash(key, b->view.seed);
    if (!MAP(belongs)(b, s, i, key, hash, d))
        return;
    if (key >= PAGE_NONE - 1) {
        MAP(build_side)(b, key, value, d);
        return;
    }
    int r = counted ? MAP(page_put)(page, &b->view, hash, key, value, (int)b->replace)
                    : MAP(page_seek)(page, &b->view, hash, key, value, (int)b->replace);
    d->added += r == CO_MAP_NEW;
    d->left_out |= r == CO_MAP_FULL;
}

/* Every pair: to its `home`, or on the list; or by its walk. A lane reads some, then puts them in; a warp's
 * are in a row. Lanes that part on a walk meet before the next: left to themselves they go on one by one. */
CO_INLINE void MAP(build_all)(const struct map_build *b, KEY *page, const struct MAP(source) * s, int home,
                              struct MAP(built) * d)
{
    for (co_u32 base = (co_thread() & ~31u) * EACH; base < s->n; base += co_threads() * EACH) {
        KEY keys[EACH];
        VALUE values[EACH];
        co_u32 i = base + co_lane();
        CO_EACH_ITEM (j, EACH) {
            keys[j] = PAGE_NONE, values[j] = 0;
            if (i + 32 * j < s->n)
                keys[j] = MAP(source_key)(b, s, i, 32 * j, &values[j]);
        }
        CO_EACH_ITEM (j, EACH) {
            if (home && i + 32 * j < s->n)
                MAP(build_home)(b, page, s, i + 32 * j, keys[j], values[j], d);
            if (!home && i + 32 * j < s->n)
                MAP(build_walk)(b, page, s, i + 32 * j, keys[j], values[j], 0, d);
            if (!home)
                co_warp_sync(CO_FULL_WARP);
        }
    }
}

/* Then those on the list, each by its walk. A lane reads the next one meanwhile. */
CO_INLINE void MAP(build_listed)(const struct map_build *b, KEY *page, const struct MAP(source) * s, co_u32 n,
                                 struct MAP(built) * d)
{
    co_u32 at = co_thread(), next = 0;
    KEY next_key = 0;
    VALUE next_value = 0;
    if (at < n) {
        next = co_read16(PAGE_LIST(page) + at);
        next_key = MAP(source_key)(b, s, next, 0, &next_value);
    }
    while (at < n) {
        co_u32 i = next;
        KEY key = next_key;
        VALUE value = next_value;
        at += co_threads();
        if (at < n) {
            next = co_read16(PAGE_LIST(page) + at);
            next_key = MAP(source_key)(b, s, next, 0, &next_value);
        }
        MAP(build_walk)(b, page, s, i, key, value, 1, d);
    }
}

/* All that goes into a page that has begun. In a page that was not empty many keys are there, and of more
 * pairs than a page has slots many have one key: such pairs have no use for free slots. Counts have 16 bits,
 * as the numbers on the list. */
CO_INLINE void MAP(build_fill)(const struct map_build *b, KEY *page, const struct MAP(source) * s,
                               struct MAP(built) * d)
{
    co_u32 listed = PAGE_LIST_MOST + 1;
    if (s->n <= (s->split ? 0xffff : PAGE_ALL) && s->fresh) {
        MAP(build_all)(b, page, s, 1, d);
        d->added -= MAP(page_settle)(page, (int)b->replace);
        listed = co_read32(PAGE_LISTED(page));
    }
    if (listed > PAGE_LIST_MOST)
        MAP(build_all)(b, page, s, 0, d);
    else
        MAP(build_listed)(b, page, s, listed, d);
}

CO_INLINE void MAP(build_end)(const struct map_build *b, const struct MAP(built) * d)
{
    build_add(&co_map_counters_here(&b->view)->taken, d->added + d->tally.taken);
    build_add(&co_map_counters_here(&b->view)->erased, (co_u64)(long long)(int)d->tally.erased);
    if (b->counts)
        build_add(&b->counts->added, d->added + d->side);
    if (d->left_out)
        co_store64(b->gate, 1);
}

#include "map_sample.h"

CO_KERNEL_BOUND(NAME(build), struct map_build, 512, 3)
{
    CO_SHARED_DYNAMIC(KEY, MAP(shared));
    KEY *page = (KEY *)co_kept(MAP(shared));
    struct MAP(built) done = {0, 0, {0, 0}, 0};
    if (!co_read64(args->offsets + args->view.pages)) /* the sample sent all of them one by one */
        return;
    for (co_u32 p = co_block(); p < args->view.pages; p += co_blocks()) {
        co_u64 begin = co_read64(args->offsets + p), n = co_read64(args->offsets + p + 1) - begin;
        if (!n) /* a fresh page is empty in memory, too */
            continue;
        MAP(page_begin)(page, &args->view, p, (int)args->fresh);
        if (n > args->most) {
            n = args->most;
            done.left_out = 1;
        }
        struct MAP(source) s = {begin, (co_u32)n, p, args->fresh, 0};
        MAP(build_fill)(args, page, &s, &done);
        MAP(page_end)(page, &args->view, p);
    }
    MAP(build_end)(args, &done);
}

/* ---- from another table -------------------------------------------------------------------------------- */

/* The old table's side slots. */
CO_INLINE void MAP(split_side)(const struct map_build *b, struct MAP(built) * d)
{
    KEY key;
    VALUE value;
    if (co_block() == 0 && co_thread() < MAP_SIDE_SLOTS &&
        MAP(pair)(&b->from, MAP(slots)(&b->from) + co_thread(), &key, &value))
        MAP(build_side)(b, key, value, d);
}

CO_KERNEL_BOUND(NAME(split), struct map_build, 512, 3)
{
    CO_SHARED_DYNAMIC(KEY, MAP(shared));
    KEY *page = (KEY *)co_kept(MAP(shared));
    const co_u64 news = args->view.pages, olds = args->from.pages;
    struct MAP(built) done = {0, 0, {0, 0}, 0};
    MAP(split_side)(args, &done);
    for (co_u32 q = co_block(); q < args->view.pages; q += co_blocks()) {
        /* the halves h of hashes with floor(h * news / 2^32) == q, and their old pages */
        co_u64 least = (((co_u64)q << 32) + news - 1) / news,
               most = ((((co_u64)q + 1) << 32) + news - 1) / news - 1;
        co_u64 first = (least * olds) >> 32, last = (most * olds) >> 32;
        struct MAP(source) s = {first * PAGE_ALL, (co_u32)((last - first + 1) * PAGE_ALL), q, 1, 1};
        MAP(page_begin)(page, &args->view, q, 1);
        MAP(build_fill)(args, page, &s, &done);
        MAP(page_end)(page, &args->view, q);
    }
    MAP(build_end)(args, &done);
}

#undef NAME
#undef EACH
#include "map_page_end.h"
#include "shape/map_end.h"
