/* cpu/map_owners.h: whose an entry is, where each thread has pages of its own, for one width. Included by
 * map_width.h.
 *
 * In groups, so that all of it is vector instructions.
 *
 * Parameters: those of shape/map_entry.h. */

/* The ranges of a group's pages. */
CO_INLINE void MAP(ranges_of)(const cohort_map_view *view, const KEY *keys, unsigned shift, co_u16 *range)
{
#if CPU_LEVEL >= 512
    const __m512i seed = _mm512_set1_epi64((long long)view->seed), pages = _mm512_set1_epi64(view->pages);
    const __m128i none = _mm_setzero_si128(), by = _mm_cvtsi32_si128((int)shift);
    for (int i = 0; i < CPU_GROUP; i += 8) {
        const __m512i eight = sizeof(KEY) == 8
                                  ? _mm512_loadu_si512(keys + i)
                                  : _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(keys + i))),
                      page = cpu_page(cpu_hash(eight, seed), pages, none);
        _mm_storeu_si128((void *)(range + i), _mm512_cvtepi64_epi16(_mm512_srl_epi64(page, by)));
    }
#else
    struct cpu_starts starts;
    const unsigned page = (unsigned)__builtin_popcount(view->mask); /* a page has 1 << page buckets */
    MAP(starts)(view, page, keys, &starts);
    for (int i = 0; i < CPU_GROUP; i++)
        range[i] = (co_u16)(starts.home[i] / MAP_BUCKET_BYTES >> (page + shift));
#endif
}

/* range[i]: the range of pages in which the walk of entry i begins. */
static void MAP(ranges)(const struct map_batch *b, co_u64 begin, co_u64 end, unsigned shift, co_u16 *range)
{
    KEY room[CPU_GROUP];
    for (co_u64 at = begin; at < end; at += CPU_GROUP) {
        const KEY *keys = (const KEY *)b->keys + at;
        co_u64 count = end - at < CPU_GROUP ? end - at : CPU_GROUP;
        co_u16 made[CPU_GROUP], *to = count < CPU_GROUP ? made : range + at;
        if (count < CPU_GROUP)
            keys = MAP(last_keys)(keys, count, room);
        MAP(ask_keys)(b, at + CPU_GROUP * CPU_GROUPS_AHEAD, b->n);
        MAP(ranges_of)(&b->view, keys, shift, to);
        if (count < CPU_GROUP)
            memcpy(range + at, made, count * sizeof *made);
    }
}

/* Puts those of entries begin .. end - 1 that take part, and whose walks begin in the share's pages, behind
 * `count` others: how many there are then. */
static co_u32 MAP(share)(const struct map_batch *b, co_u64 begin, co_u64 end, const struct cpu_share *s,
                         co_u32 count)
{
    const unsigned page = (unsigned)__builtin_popcount(b->view.mask);
    struct cpu_starts starts;
    KEY room[CPU_GROUP], *own = s->keys;
    VALUE *values = CO_MAP_VALUE_BITS && b->values ? s->values : NULL;
    for (co_u64 at = begin; at < end; at += CPU_GROUP) {
        const KEY *keys = MAP(group_keys)(b, at, end, room);
        MAP(ask_entries)(b, at + CPU_GROUP * CPU_GROUPS_AHEAD, b->n);
        MAP(starts)(&b->view, page, keys, &starts);
        co_u32 bits = cpu_inside(&starts, s->first * MAP_PAGE_BYTES, s->pages * MAP_PAGE_BYTES);
        bits &= b->where ? b->where[at / 32] : ~0u;
        bits &= end - at < CPU_GROUP ? (1u << (end - at)) - 1 : ~0u;
        if (sizeof(KEY) == 4)
            cpu_take_32((co_u32 *)(void *)(own + count), (const void *)keys, bits);
        else
            cpu_take_64((co_u64 *)(void *)(own + count), (const void *)keys, bits);
        if (values && sizeof(VALUE) == 4)
            cpu_take_32((co_u32 *)(void *)(values + count), (const void *)((const VALUE *)b->values + at),
                        bits);
        else if (values)
            cpu_take_64((co_u64 *)(void *)(values + count), (const void *)((const VALUE *)b->values + at),
                        bits);
        cpu_take_indices(s->index + count, (co_u32)(at - s->base), bits);
        count += (co_u32)cpu_bits(bits);
    }
    return count;
}
