/* kernels/map_page.h: a page of a table in a block's shared memory, for one width: reading it in, taking
 * slots in it, writing it out. Included once per instance after shape/map_entry.h, whose words it uses.
 *
 * A page is 64 KiB, in shared memory as in the table. While a block has a page in its shared memory nobody
 * else may use the page. A slot is one word or two, each as wide as a key: whoever takes a key's word by a
 * compare-and-swap writes the value's, and nobody reads that before the page is complete. Empty slots are all
 * ones, their values too.
 *
 * A pair that goes its walk by itself keeps its warp waiting if the walk is long. So in a page that was empty
 * nearly all come in at once first, then the others:
 *
 *   page_take     counts the pairs of each bucket. The first to come have the bucket's free slots, by the
 *                 count; the others are put on a list.
 *   page_settle   one key may have several slots of its bucket then. All but one are freed, and those behind
 *                 move up.
 *   page_put      a pair from the list goes its walk.
 *
 * After that each key lies in the first bucket of its walk that had room for it: a pair on the list found its
 * home full, and goes its walk when all others are at home. In a page that was not empty, or in which keys
 * come again and again, every pair goes its walk (page_seek): most have no use for a slot at home.
 *
 * A key that comes to lie far from home has its bits set in the table's filter (device/map_far.h), which the
 * end of the launch makes known.
 *
 * Behind the page are the counts, of bucket b and of the one half a page further in one word, then the list:
 * how many there are, which may be more than have room, and their numbers.
 *
 * Parameters: those of shape/map_entry.h. */

#define PAGE_ALL     ((co_u32)(MAP_PAGE_BYTES * 8 / CO_MAP_SLOT_BITS)) /* slots of a page */
#define PAGE_BUCKET  ((co_u32)(256 / CO_MAP_SLOT_BITS))                /* and of a bucket */
#define PAGE_BUCKETS ((co_u32)(MAP_PAGE_BYTES / MAP_BUCKET_BYTES))
#define PAGE_WALK    co_walk_stretch(PAGE_BUCKETS - 1, PAGE_BUCKET)
#define PAGE_WORDS   ((co_u32)(CO_MAP_SLOT_BITS / 8 / sizeof(KEY))) /* of a slot */
#define PAGE_NONE    ((KEY) ~(KEY)0)

#define PAGE_COUNTS(page) ((co_u32 *)((char *)(page) + MAP_PAGE_BYTES))
#define PAGE_LISTED(page) (PAGE_COUNTS(page) + PAGE_BUCKETS / 2)
#define PAGE_LIST(page)   ((co_u16 *)(PAGE_LISTED(page) + 1))
#define PAGE_LIST_MOST    ((co_u32)((MAP_BUILD_BYTES - MAP_PAGE_BYTES - PAGE_BUCKETS * 2 - 4) / 2))

#define CO_EACH_UNIT(i)  for (co_u32 i = co_thread(); i < MAP_PAGE_BYTES / 16; i += co_threads())
#define CO_EACH_COUNT(i) for (co_u32 i = co_thread(); i < PAGE_BUCKETS / 2; i += co_threads())

/* ---- words of shared memory ---------------------------------------------------------------------------- */

CO_INLINE KEY MAP(page_cas)(KEY *at, KEY desired)
{
    return sizeof(KEY) == 4 ? (KEY)co_cas32((co_u32 *)at, ~0u, (co_u32)desired)
                            : (KEY)co_cas64((co_u64 *)at, ~0ull, (co_u64)desired);
}

CO_INLINE KEY MAP(page_get)(const KEY *at)
{
    return sizeof(KEY) == 4 ? (KEY)co_read32((const co_u32 *)at) : (KEY)co_read64((const co_u64 *)at);
}

CO_INLINE void MAP(page_set)(KEY *at, KEY word)
{
    if (sizeof(KEY) == 4)
        co_write32((co_u32 *)at, (co_u32)word);
    else
        co_write64((co_u64 *)at, (co_u64)word);
}

/* Several lanes may replace one value, in any order: by exchanges, so that the race checker sees what is
 * meant. */
CO_INLINE void MAP(page_give)(KEY *at, VALUE value, int replace)
{
    if (!CO_MAP_VALUE_BITS)
        return;
    if (!replace)
        MAP(page_set)(at, (KEY)value);
    else if (sizeof(KEY) == 4)
        co_exchange32((co_u32 *)at, (co_u32)value);
    else
        co_exchange64((co_u64 *)at, (co_u64)value);
}

/* The word of a key in a page. */
CO_INLINE KEY *MAP(page_slot)(KEY *page, co_u32 bucket, co_u32 j)
{
    return page + (bucket * PAGE_BUCKET + j) * PAGE_WORDS;
}

/* A pair into a slot of a page, whole. */
CO_INLINE void MAP(page_write)(KEY *at, KEY key, VALUE value)
{
#if CO_MAP_SLOT_BITS == 128
    co_write128((co_u128 *)(void *)at, co_make128((co_u64)key, (co_u64)value));
#elif CO_MAP_SLOT_BITS == 64
    co_write64((co_u64 *)(void *)at, CO_MAP_VALUE_BITS ? (co_u64)key | (co_u64)value << 32 : (co_u64)key);
#else
    (void)value;
    co_write32((co_u32 *)at, (co_u32)key);
#endif
}

/* ---- slots of the table -------------------------------------------------------------------------------- */

/* The key and the value in a slot, both in words as wide as a key. */
CO_INLINE KEY MAP(page_slot_read)(const cohort_map_view *m, co_u64 slot, VALUE *value)
{
#if CO_MAP_SLOT_BITS == 128
    co_u128 word = co_read128((const co_u128 *)m->slots + slot);
    *value = (VALUE)word.hi;
    return (KEY)word.lo;
#elif CO_MAP_SLOT_BITS == 64
    co_u64 word = co_read64((const co_u64 *)m->slots + slot);
    *value = (VALUE)(word >> 32);
    return (KEY)word;
#else
    *value = 0;
    return (KEY)co_read32((const co_u32 *)m->slots + slot);
#endif
}

/* ---- counts -------------------------------------------------------------------------------------------- */

/* How far the count of a bucket is from its word's end. */
CO_INLINE co_u32 MAP(page_shift)(co_u32 bucket)
{
    return bucket / (PAGE_BUCKETS / 2) * 16;
}

/* Slots of a bucket that are known to be taken, once all is settled. */
CO_INLINE co_u32 MAP(page_taken)(const KEY *page, co_u32 bucket)
{
    return co_read32(PAGE_COUNTS(page) + bucket % (PAGE_BUCKETS / 2)) >> MAP(page_shift)(bucket) & 0xffff;
}

/* The keys in a bucket, from any of them on: other lanes have other banks then. */
CO_INLINE void MAP(page_keys)(KEY *page, co_u32 bucket, KEY *keys)
{
    CO_EACH_ITEM (j, PAGE_BUCKET)
        keys[j] = MAP(page_get)(MAP(page_slot)(page, bucket, (co_thread() / 4 + j) % PAGE_BUCKET));
}

/* Notes that number `i` is to be put in later. */
CO_INLINE void MAP(page_defer)(KEY *page, co_u32 i)
{
    co_u32 at = co_add32(PAGE_LISTED(page), 1);
    if (at < PAGE_LIST_MOST)
        co_write16(PAGE_LIST(page) + at, (co_u16)i);
}

/* Puts a pair into its home, if there is room: 1. */
CO_INLINE int MAP(page_take)(KEY *page, co_u64 hash, KEY key, VALUE value)
{
    co_u32 bucket = (co_u32)hash & (PAGE_BUCKETS - 1), shift = MAP(page_shift)(bucket),
           word = co_add32(PAGE_COUNTS(page) + bucket % (PAGE_BUCKETS / 2), 1u << shift),
           place = word >> shift & 0xffff;
    if (place >= PAGE_BUCKET)
        return 0;
    MAP(page_write)(MAP(page_slot)(page, bucket, place), key, value);
    return 1;
}

/* Of the pairs of a bucket that have one key the first stays, with `replace` the last one's value: how many
 * pairs there are then. */
CO_INLINE co_u32 MAP(page_drop)(KEY *page, co_u32 bucket, co_u32 taken, int replace)
{
    co_u32 kept = 0;
    for (co_u32 j = 0; j < taken; j++) {
        KEY *at = MAP(page_slot)(page, bucket, j), key = MAP(page_get)(at),
            value = PAGE_WORDS > 1 ? MAP(page_get)(at + 1) : 0;
        co_u32 i = 0;
        while (i < kept && (key >= PAGE_NONE - 1 || MAP(page_get)(MAP(page_slot)(page, bucket, i)) != key))
            i++;
        if (i == j || (i < kept && !replace))
            kept += i == j;
        else {
            KEY *to = MAP(page_slot)(page, bucket, i);
            MAP(page_set)(to, key);
            if (PAGE_WORDS > 1)
                MAP(page_set)(to + 1, value);
            kept += i == kept;
        }
    }
    for (co_u32 j = kept; j < taken; j++)
        for (co_u32 k = 0; k < PAGE_WORDS; k++)
            MAP(page_set)(MAP(page_slot)(page, bucket, j) + k, PAGE_NONE);
    return kept;
}

/* A bucket of which `count` pairs were counted: how many of its slots are taken in the end. */
CO_INLINE co_u32 MAP(page_settle_bucket)(KEY *page, co_u32 bucket, co_u32 count, int replace, co_u64 *freed)
{
    KEY keys[PAGE_BUCKET];
    int same = 0;
    MAP(page_keys)(page, bucket, keys);
    CO_EACH_ITEM (j, PAGE_BUCKET)
        CO_EACH_ITEM (i, j)
            same |= keys[i] == keys[j] && keys[i] < PAGE_NONE - 1;
    count = count < PAGE_BUCKET ? count : PAGE_BUCKET;
    if (!same)
        return count;
    co_u32 kept = MAP(page_drop)(page, bucket, count, replace);
    *freed += count - kept;
    return kept;
}

/* The block together, after all pairs have been counted: slots that this lane has freed. */
CO_INLINE co_u64 MAP(page_settle)(KEY *page, int replace)
{
    co_u64 freed = 0;
    co_block_recast(page, (co_u32)MAP_PAGE_BYTES);
    CO_EACH_COUNT(i)
    {
        co_u32 word = co_read32(PAGE_COUNTS(page) + i),
               low = MAP(page_settle_bucket)(page, i, word & 0xffff, replace, &freed),
               high = MAP(page_settle_bucket)(page, i + PAGE_BUCKETS / 2, word >> 16, replace, &freed);
        co_write32(PAGE_COUNTS(page) + i, low | high << 16);
    }
    co_block_sync();
    return freed;
}

/* ---- the page ------------------------------------------------------------------------------------------ */

/* Puts a pair into the page by the walk of the protocol: NEW; HIT (and with `replace` the value is the new
 * one); FULL: there is no slot for it in the first stretch of its walk, which leads into another page then,
 * by whoever may go there. Slots that were counted do not change any more, and are their home's keys: they
 * are looked at at home alone. Of the others a compare-and-swap looks and takes at once. */
CO_INLINE int MAP(page_put)(KEY *page, const cohort_map_view *m, co_u64 hash, KEY key, VALUE value,
                            int replace)
{
    struct co_walk w = co_walk_begin(hash, m->pages, PAGE_BUCKETS - 1, m->linear);
    while (w.seen < PAGE_WALK) {
        co_u32 taken = MAP(page_taken)(page, w.bucket);
        for (co_u32 j = w.seen ? taken : 0; j < PAGE_BUCKET; j++) {
            KEY *at = MAP(page_slot)(page, w.bucket, j),
                there = j < taken ? MAP(page_get)(at) : MAP(page_cas)(at, key);
            if (there != PAGE_NONE && there != key)
                continue;
            if (there == PAGE_NONE || replace)
                MAP(page_give)(at + 1, value, replace);
            if (there == PAGE_NONE && m->far - 1 < w.seen)
                co_map_far_note(m->filter, m->pages, m->mask, key ^ m->seed);
            return there == PAGE_NONE ? CO_MAP_NEW : CO_MAP_HIT;
        }
        co_walk_on(&w, PAGE_BUCKETS - 1);
    }
    return CO_MAP_FULL;
}

/* The keys of a bucket as they were a moment ago. */
CO_INLINE void MAP(page_look)(KEY *page, co_u32 bucket, KEY *keys)
{
    const KEY *at = MAP(page_slot)(page, bucket, 0);
#if CO_MAP_SLOT_BITS == 32 || (CO_MAP_SLOT_BITS == 64 && CO_MAP_VALUE_BITS)
    const co_sector32 s = co_load_sector32(at);
#else
    const co_sector64 s = co_load_sector64(at);
#endif
    CO_EACH_ITEM (j, PAGE_BUCKET)
        keys[j] = (KEY)s.w[j * PAGE_WORDS];
}

/* The same as page_put in a page of which nothing is counted: the first slot of a bucket that is empty or has
 * the key decides. If another lane takes it first, the bucket is looked at again. */
CO_INLINE int MAP(page_seek)(KEY *page, const cohort_map_view *m, co_u64 hash, KEY key, VALUE value,
                             int replace)
{
    struct co_walk w = co_walk_begin(hash, m->pages, PAGE_BUCKETS - 1, m->linear);
    while (w.seen < PAGE_WALK) {
        KEY keys[PAGE_BUCKET], there = 0;
        co_u32 slot = PAGE_BUCKET;
        MAP(page_look)(page, w.bucket, keys);
        CO_EACH_ITEM (j, PAGE_BUCKET) {
            co_u32 k = PAGE_BUCKET - 1 - j;
            int decides = keys[k] == key || keys[k] == PAGE_NONE;
            slot = decides ? k : slot;
            there = decides ? keys[k] : there;
        }
        if (slot == PAGE_BUCKET) {
            co_walk_on(&w, PAGE_BUCKETS - 1);
            continue;
        }
        KEY *at = MAP(page_slot)(page, w.bucket, slot);
        if (there == PAGE_NONE)
            there = MAP(page_cas)(at, key);
        if (there != PAGE_NONE && there != key)
            continue;
        if (there == PAGE_NONE || replace)
            MAP(page_give)(at + 1, value, 1); /* it is read, in vain, with its key */
        if (there == PAGE_NONE && m->far - 1 < w.seen)
            co_map_far_note(m->filter, m->pages, m->mask, key ^ m->seed);
        return there == PAGE_NONE ? CO_MAP_NEW : CO_MAP_HIT;
    }
    return CO_MAP_FULL;
}

/* The block together: the page as it is in the table, empty if that is known, and then all counts are 0.
 * Where another page has ended before, each lane overwrites what it has read itself. */
CO_INLINE void MAP(page_begin)(KEY *page, const cohort_map_view *m, co_u32 number, int fresh)
{
    const co_u128 *table = (const co_u128 *)m->slots + (co_u64)number * (MAP_PAGE_BYTES / 16);
    if (co_thread() == 0)
        co_write32(PAGE_LISTED(page), 0);
    if (fresh) {
        CO_EACH_UNIT(i) co_write128((co_u128 *)(void *)page + i, co_make128(~0ull, ~0ull));
        CO_EACH_COUNT(i) co_write32(PAGE_COUNTS(page) + i, 0);
    } else {
        CO_EACH_UNIT(i) co_write128((co_u128 *)(void *)page + i, co_read128(table + i));
    }
    co_block_recast(page, (co_u32)MAP_PAGE_BYTES);
}

/* The block together: into the table. */
CO_INLINE void MAP(page_end)(KEY *page, const cohort_map_view *m, co_u32 number)
{
    co_u128 *table = (co_u128 *)m->slots + (co_u64)number * (MAP_PAGE_BYTES / 16);
    co_block_recast(page, (co_u32)MAP_PAGE_BYTES);
    CO_EACH_UNIT(i) co_write_stream128(table + i, co_read128((const co_u128 *)(void *)page + i));
}
