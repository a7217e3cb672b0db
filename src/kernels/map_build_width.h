/* kernels/map_build_width.h: the build's kernels for one width. Included by map_build.cu once per instance.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"
#include "map_page.h"

#define NAME(kind) CO_PASTE3(map_##kind, _, CO_MAP_SUFFIX)
#define EACH       (CO_MAP_SLOT_BITS == 128 ? 4 : 8) /* pairs that a lane reads before it puts the first in */

CO_INLINE co_u32 MAP(page_number)(const cohort_map_view *m, co_u64 hash)
{
    return (co_u32)(((hash >> 32) * m->pages) >> 32);
}

/* What a lane has done. */
struct MAP(built) {
    co_u64 added;
    co_map_tally tally; /* of side slots, which are in no page and are taken as by anybody */
    int left_out;
};

CO_INLINE void MAP(build_put)(const struct map_build *b, KEY *page, co_u64 hash, KEY key, VALUE value,
                              struct MAP(built) * d)
{
    VALUE old;
    if (key < PAGE_NONE - 1) {
        int r = MAP(page_put)(page, &b->view, hash, key, value, (int)b->replace);
        d->added += r == CO_MAP_NEW ? 1 : 0;
        d->tally.taken += r == CO_MAP_NEW ? 1 : 0;
        d->left_out |= r == CO_MAP_FULL;
    } else if (MAP(apply)(&b->view, b->replace ? CO_OP_ASSIGN : CO_OP_INSERT, key, value, &old, &d->tally) ==
               CO_MAP_NEW) {
        d->added++;
    }
}

/* A block's pairs: a lane reads some, then puts them in. */
CO_INLINE void MAP(build_page)(const struct map_build *b, KEY *page, co_u64 begin, co_u64 end,
                               struct MAP(built) * d)
{
    for (co_u64 base = begin + co_thread(); base < end; base += (co_u64)co_threads() * EACH) {
        KEY keys[EACH];
        VALUE values[EACH];
        for (co_u32 j = 0; j < EACH; j++) {
            co_u64 i = base + (co_u64)j * co_threads();
            keys[j] = i < end ? MAP(key_at)(b->keys, i) : PAGE_NONE;
            values[j] = i < end ? MAP(value_at)(b->values, i) : 0;
        }
        for (co_u32 j = 0; j < EACH; j++)
            if (base + (co_u64)j * co_threads() < end)
                MAP(build_put)(b, page, co_hash(keys[j], b->view.seed), keys[j], values[j], d);
    }
}

CO_INLINE void MAP(build_end)(const struct map_build *b, const struct MAP(built) * d)
{
    build_add(&co_map_counters_here(&b->view)->taken, d->tally.taken);
    build_add(&co_map_counters_here(&b->view)->erased, (co_u64)(long long)(int)d->tally.erased);
    if (b->counts)
        build_add(&b->counts->added, d->added);
    if (d->left_out)
        co_store64(b->gate, 1);
}

CO_KERNEL_BOUND(NAME(build), struct map_build, 512, 3)
{
    CO_SHARED_DYNAMIC(KEY, MAP(shared));
    KEY *page = (KEY *)co_kept(MAP(shared));
    struct MAP(built) done = {0, {0, 0}, 0};
    for (co_u32 p = co_block(); p < args->view.pages; p += co_blocks()) {
        co_u64 begin = co_read64(args->offsets + p), end = co_read64(args->offsets + p + 1);
        if (begin == end && !args->fresh)
            continue;
        if (end - begin > args->most) {
            end = begin + args->most;
            done.left_out = 1;
        }
        MAP(page_begin)(page, &args->view, p, (int)args->fresh);
        MAP(build_page)(args, page, begin, end, &done);
        MAP(page_end)(page, &args->view, p);
    }
    MAP(build_end)(args, &done);
}

/* ---- from another table ---------------------------------------------------------------------------------------------- */

/* The pairs in one old page that belong into new page q. A lane reads some slots before it looks at the first. */
CO_INLINE void MAP(scan_page)(const struct map_build *b, KEY *page, co_u32 old, co_u32 q,
                              struct MAP(built) * d)
{
    for (co_u32 base = co_thread(); base < PAGE_ALL; base += co_threads() * EACH) {
        KEY keys[EACH], values[EACH];
        for (co_u32 j = 0; j < EACH; j++) {
            co_u32 i = base + j * co_threads();
            keys[j] = PAGE_NONE;
            if (i < PAGE_ALL)
                keys[j] = MAP(page_slot_read)(&b->from, (co_u64)old * PAGE_ALL + i, &values[j]);
        }
        for (co_u32 j = 0; j < EACH; j++) {
            if (keys[j] >= PAGE_NONE - 1)
                continue;
            co_u64 hash = co_hash(keys[j], b->view.seed); /* as in the old table */
            if (MAP(page_number)(&b->from, hash) != old)
                d->left_out = 1;
            else if (MAP(page_number)(&b->view, hash) == q)
                MAP(build_put)(b, page, hash, keys[j], (VALUE)values[j], d);
        }
    }
}

/* The old table's side slots. */
CO_INLINE void MAP(split_side)(const struct map_build *b, struct MAP(built) * d)
{
    KEY key;
    VALUE value;
    if (co_block() == 0 && co_thread() < MAP_SIDE_SLOTS &&
        MAP(pair)(&b->from, MAP(slots)(&b->from) + co_thread(), &key, &value))
        MAP(build_put)(b, (KEY *)0, 0, key, value, d);
}

CO_KERNEL_BOUND(NAME(split), struct map_build, 512, 3)
{
    CO_SHARED_DYNAMIC(KEY, MAP(shared));
    KEY *page = (KEY *)co_kept(MAP(shared));
    const co_u64 news = args->view.pages, olds = args->from.pages;
    struct MAP(built) done = {0, {0, 0}, 0};
    MAP(split_side)(args, &done);
    for (co_u32 q = co_block(); q < args->view.pages; q += co_blocks()) {
        /* the halves h of hashes with floor(h * news / 2^32) == q, and their old pages */
        co_u64 least = (((co_u64)q << 32) + news - 1) / news,
               most = ((((co_u64)q + 1) << 32) + news - 1) / news - 1;
        co_u32 last = (co_u32)((most * olds) >> 32);
        MAP(page_begin)(page, &args->view, q, 1);
        for (co_u32 old = (co_u32)((least * olds) >> 32); old <= last; old++)
            MAP(scan_page)(args, page, old, q, &done);
        MAP(page_end)(page, &args->view, q);
    }
    MAP(build_end)(args, &done);
}

#undef NAME
#undef EACH
#undef PAGE_ALL
#undef PAGE_BUCKET
#undef PAGE_WALK
#undef PAGE_AT
#undef PAGE_NONE
#undef CO_EACH_SLOT
#include "shape/map_end.h"
