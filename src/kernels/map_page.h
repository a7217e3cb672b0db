/* kernels/map_page.h: a page of a table in a block's shared memory, for one width: taking slots in it, reading it in, writing it
 * out. Included once per instance after shape/map_entry.h, whose words it uses.
 *
 * A page is 64 KiB. In shared memory the keys of its slots come first, then the values, each a word as wide as a key: whoever
 * takes a key's word by a compare-and-swap writes the value's, and nobody reads that before the page is complete. While a block has
 * a page here nobody else may use the page.
 *
 * Parameters: those of shape/map_entry.h. */

#define PAGE_ALL    ((co_u32)(MAP_PAGE_BYTES * 8 / CO_MAP_SLOT_BITS)) /* slots of a page */
#define PAGE_BUCKET ((co_u32)(256 / CO_MAP_SLOT_BITS))                /* and of a bucket */
#define PAGE_WALK   co_walk_stretch((co_u32)(MAP_PAGE_BYTES / MAP_BUCKET_BYTES) - 1, PAGE_BUCKET)
#define PAGE_NONE   ((KEY) ~(KEY)0)

/* Where in shared memory slot i is. A walk begins at the first slot of a bucket: left in order, those would share a few of the banks. So
 * within its bucket a slot is moved on by as much as its 128 bytes of keys lie behind others. */
#define PAGE_AT(i) ((i) ^ ((i) / (128u / (co_u32)sizeof(KEY)) % PAGE_BUCKET))

#define CO_EACH_SLOT(i) for (co_u32 i = co_thread(); i < PAGE_ALL; i += co_threads())

/* ---- words of shared memory ---------------------------------------------------------------------------------------------- */

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

/* Several lanes may replace one value, in any order: by exchanges, so that the race checker sees what is meant. */
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

/* ---- slots of the table ---------------------------------------------------------------------------------------------------- */

/* The key and the value in a slot, both in words as wide as a key. */
CO_INLINE KEY MAP(page_slot_read)(const cohort_map_view *m, co_u64 slot, KEY *value)
{
#if CO_MAP_SLOT_BITS == 128
    co_u128 word = co_read128((const co_u128 *)m->slots + slot);
    *value = (KEY)word.hi;
    return (KEY)word.lo;
#elif CO_MAP_SLOT_BITS == 64
    co_u64 word = co_read64((const co_u64 *)m->slots + slot);
    *value = (KEY)(word >> 32);
    return (KEY)word;
#else
    *value = 0;
    return (KEY)co_read32((const co_u32 *)m->slots + slot);
#endif
}

CO_INLINE void MAP(page_slot_write)(const cohort_map_view *m, co_u64 slot, KEY key, KEY value)
{
#if CO_MAP_SLOT_BITS == 128
    co_write_stream128((co_u128 *)m->slots + slot, co_make128((co_u64)key, (co_u64)value));
#elif CO_MAP_SLOT_BITS == 64
    co_write_stream64((co_u64 *)m->slots + slot,
                      CO_MAP_VALUE_BITS ? (co_u64)key | (co_u64)value << 32 : (co_u64)key);
#else
    (void)value;
    co_write_stream32((co_u32 *)m->slots + slot, (co_u32)key);
#endif
}

/* ---- the page ---------------------------------------------------------------------------------------------------------------- */

/* Puts a pair into the page by the walk of the protocol: NEW; HIT (and with `replace` the value is the new one); FULL: there is
 * no slot for it in the first stretch of its walk, which leads into another page then, by whoever may go there. A compare-and-swap looks and
 * takes at once: in shared memory one that fails costs little more than a load. */
CO_INLINE int MAP(page_put)(KEY *page, const cohort_map_view *m, co_u64 hash, KEY key, VALUE value,
                            int replace)
{
    struct co_walk w = co_walk_begin(hash, m->pages, m->mask, m->linear);
    while (w.seen < PAGE_WALK) {
        for (co_u32 j = 0; j < PAGE_BUCKET; j++) {
            co_u32 slot = w.bucket * PAGE_BUCKET + j;
            KEY *at = page + PAGE_AT(slot), there = MAP(page_cas)(at, key);
            if (there != PAGE_NONE && there != key)
                continue;
            if (there == PAGE_NONE || replace)
                MAP(page_give)(at + PAGE_ALL, value, replace);
            return there == PAGE_NONE ? CO_MAP_NEW : CO_MAP_HIT;
        }
        co_walk_on(&w, m->mask);
    }
    return CO_MAP_FULL;
}

/* The block together: the page empty, or as it is in the table. */
CO_INLINE void MAP(page_begin)(KEY *page, const cohort_map_view *m, co_u32 number, int fresh)
{
    CO_EACH_SLOT(i)
    {
        KEY value = 0,
            key = fresh ? PAGE_NONE : MAP(page_slot_read)(m, (co_u64)number * PAGE_ALL + i, &value);
        MAP(page_set)(page + PAGE_AT(i), key);
        if (CO_MAP_VALUE_BITS && !fresh)
            MAP(page_set)(page + PAGE_ALL + PAGE_AT(i), value);
    }
    co_block_sync();
}

/* The block together: into the table. Empty slots are all ones there, their values too. */
CO_INLINE void MAP(page_end)(const KEY *page, const cohort_map_view *m, co_u32 number)
{
    co_block_sync();
    CO_EACH_SLOT(i)
    {
        KEY key = MAP(page_get)(page + PAGE_AT(i)), value = PAGE_NONE;
        if (CO_MAP_VALUE_BITS && key != PAGE_NONE)
            value = MAP(page_get)(page + PAGE_ALL + PAGE_AT(i));
        MAP(page_slot_write)(m, (co_u64)number * PAGE_ALL + i, key, value);
    }
    co_block_sync();
}
