/* cpu/map_near.h: a search in a table that is in a core's own cache, with AVX-512, for one width with values.
 * Included by map_width.h.
 *
 * There instructions bind, and branches that nobody can foresee. So nothing is asked for ahead, and nothing
 * depends on who is there:
 *
 * 1. Of eight keys (sixteen, if slots have 8 bytes) the slots of their homes' pairs are turned about in
 *    registers until a vector has slot s of each of them. A comparison a slot tells who is there, a move
 *    under that mask takes its value.
 * 2. What is not settled, a key in seven at most if half the slots are taken, is put side by side in a list
 *    of indices. When the span is through, those look at their next pairs in the same way, 32 at a time, and
 *    so on until none is left.
 *
 * A walk's place is computed from the key and the number of pairs seen. In a table of one page it goes
 * through all pairs in one row; in one of several what would leave its page goes by the protocol's own
 * functions.
 *
 * Parameters: those of shape/map_entry.h. */

#define AT_ONCE (CO_MAP_SLOT_BITS == 128 ? 8 : 16) /* keys */

/* Where the keys of a group look when they have seen `round` pairs: so many steps from home. 1 if one of the
 * keys is none of the buckets'. */
CO_INLINE unsigned MAP(near_homes)(const struct cpu_range *c, const KEY *keys, co_u32 round, co_u32 *home)
{
    const cohort_map_view *m = &c->b->view;
    const __m512i seed = _mm512_set1_epi64((long long)m->seed), many = _mm512_set1_epi64((long long)m->pages),
                  inside = _mm512_set1_epi64((long long)(m->mask & ~1u)), odd = _mm512_set1_epi64(1),
                  times = _mm512_set1_epi64((long long)2 * round);
    const __m128i by = _mm_cvtsi32_si128((int)c->shift);
    __mmask8 side = 0;
#pragma GCC unroll 4
    for (int i = 0; i < CPU_GROUP; i += 8) {
        const __m512i eight = sizeof(KEY) == 8
                                  ? _mm512_loadu_si512(keys + i)
                                  : _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(keys + i))),
                      hash = cpu_hash(eight, seed), step = _mm512_or_si512(_mm512_srli_epi64(hash, 16), odd);
        side |= _mm512_cmpge_epu64_mask(eight, _mm512_set1_epi64((long long)ERASED_KEY));
        __m512i at = round ? _mm512_add_epi64(hash, _mm512_mul_epu32(step, times)) : hash;
        at = _mm512_and_si512(at, inside);
        if (m->pages > 1)
            at = _mm512_add_epi64(at, cpu_page(hash, many, by));
        _mm256_store_si256((void *)(home + i), _mm512_cvtepi64_epi32(_mm512_slli_epi64(at, 5)));
    }
    return side != 0;
}

/* The 16 bytes after `from` bytes, and those behind them, of four pairs. */
CO_INLINE void MAP(near_quarters)(const char *slots, const co_u32 *home, const int of[4], int from,
                                  __m512i *first, __m512i *second)
{
#define HALF(k) _mm256_load_si256((const void *)(slots + home[of[k]] + from))
    __m512i low = _mm512_inserti64x4(_mm512_castsi256_si512(HALF(0)), HALF(1), 1),
            high = _mm512_inserti64x4(_mm512_castsi256_si512(HALF(2)), HALF(3), 1);
#undef HALF
    *first = _mm512_shuffle_i64x2(low, high, 0x88);
    *second = _mm512_shuffle_i64x2(low, high, 0xdd);
}

#if CO_MAP_SLOT_BITS == 128
/* Eight keys look at their pairs: who is there, who finds room; *values of those that are there. */
CO_INLINE co_u32 MAP(near_look)(const char *slots, const KEY *keys, const co_u32 *home, __m512i *values,
                                co_u32 *open)
{
    static const int even[4] = {0, 2, 4, 6}, odd[4] = {1, 3, 5, 7};
    const __m512i wanted = _mm512_loadu_si512(keys), none = _mm512_set1_epi64(-1);
    __mmask8 hits = 0, room = 0;
#    pragma GCC unroll 2
    for (int bucket = 0; bucket < 2; bucket++) {
        __m512i a[2], b[2], key = none;
        MAP(near_quarters)(slots, home, even, bucket * (int)MAP_BUCKET_BYTES, &a[0], &a[1]);
        MAP(near_quarters)(slots, home, odd, bucket * (int)MAP_BUCKET_BYTES, &b[0], &b[1]);
#    pragma GCC unroll 2
        for (int s = 0; s < WORDS; s++) {
            key = _mm512_unpacklo_epi64(a[s], b[s]);
            __mmask8 hit = _mm512_cmpeq_epi64_mask(key, wanted);
            *values = _mm512_mask_mov_epi64(*values, hit, _mm512_unpackhi_epi64(a[s], b[s]));
            hits |= hit;
        }
        room |= _mm512_cmpeq_epi64_mask(key, none);
    }
    *open = room;
    return hits;
}
#else
/* Sixteen keys look at their pairs. */
CO_INLINE co_u32 MAP(near_look)(const char *slots, const KEY *keys, const co_u32 *home, __m512i *values,
                                co_u32 *open)
{
    static const int of[4][4] = {{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}};
    const __m512i wanted = _mm512_loadu_si512(keys), none = _mm512_set1_epi32(-1);
    __mmask16 hits = 0, room = 0;
#    pragma GCC unroll 2
    for (int bucket = 0; bucket < 2; bucket++) {
        __m512i all[4][2], key = none;
#    pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            MAP(near_quarters)(slots, home, of[k], bucket * (int)MAP_BUCKET_BYTES, &all[k][0], &all[k][1]);
#    pragma GCC unroll 4
        for (int s = 0; s < WORDS; s++) {
            const int q = s / 2;
            __m512 low, high;
            if (s % 2) {
                low = _mm512_castsi512_ps(_mm512_unpackhi_epi64(all[0][q], all[1][q]));
                high = _mm512_castsi512_ps(_mm512_unpackhi_epi64(all[2][q], all[3][q]));
            } else {
                low = _mm512_castsi512_ps(_mm512_unpacklo_epi64(all[0][q], all[1][q]));
                high = _mm512_castsi512_ps(_mm512_unpacklo_epi64(all[2][q], all[3][q]));
            }
            key = _mm512_castps_si512(_mm512_shuffle_ps(low, high, 0x88));
            __mmask16 hit = _mm512_cmpeq_epi32_mask(key, wanted);
            *values =
                _mm512_mask_mov_epi32(*values, hit, _mm512_castps_si512(_mm512_shuffle_ps(low, high, 0xdd)));
            hits |= hit;
        }
        room |= _mm512_cmpeq_epi32_mask(key, none);
    }
    *open = room;
    return hits;
}
#endif

/* A group looks at its pairs: who of `part` is there. Their values go to `to`, and if there is a fallback,
 * that to where the others' would. */
CO_INLINE co_u32 MAP(near_group)(const struct map_batch *b, const KEY *keys, const co_u32 *home, co_u32 part,
                                 VALUE *to, co_u32 *open)
{
    const __m512i other =
        AT_ONCE == 16 ? _mm512_set1_epi32((int)b->fallback) : _mm512_set1_epi64((long long)b->fallback);
    const co_u32 whole = b->has_fallback ? part : 0;
    co_u32 hits = 0;
    *open = 0;
    for (int i = 0; i < CPU_GROUP; i += AT_ONCE) {
        __m512i found = other;
        co_u32 room, there = MAP(near_look)(b->view.slots, keys + i, home + i, &found, &room) & part >> i,
                     these = there | whole >> i;
        hits |= there << i;
        *open |= room << i;
        if (AT_ONCE == 16)
            _mm512_mask_storeu_epi32(to + i, (__mmask16)these, found);
        else if (sizeof(VALUE) == 8)
            _mm512_mask_storeu_epi64(to + i, (__mmask8)these, found);
        else
            _mm256_mask_storeu_epi32(to + i, (__mmask8)these, _mm512_cvtepi64_epi32(found));
    }
    return hits;
}

/* Of a group's indices those whose bit is set, to the list's end; CPU_GROUP more may be written. */
CO_INLINE co_u32 MAP(near_keep)(co_u32 *list, co_u32 tail, co_u32 left, __m512i low, __m512i high)
{
    _mm512_storeu_si512(list + tail, _mm512_maskz_compress_epi32((__mmask16)left, low));
    tail += (co_u32)__builtin_popcount(left & 0xffff);
    _mm512_storeu_si512(list + tail, _mm512_maskz_compress_epi32((__mmask16)(left >> 16), high));
    return tail + (co_u32)__builtin_popcount(left >> 16);
}

/* The entries of a group that take part. */
CO_INLINE co_u32 MAP(near_part)(const struct cpu_range *c, co_u64 base, co_u64 end)
{
    co_u32 part = c->b->where ? c->b->where[base / 32] : ~0u;
    return end - base < CPU_GROUP ? part & ((1u << (end - base)) - 1) : part;
}

/* The first look of a span: how many are left. */
static __attribute__((noinline)) co_u32 MAP(near_first)(struct cpu_range *c, co_u64 begin, co_u64 end,
                                                        struct cpu_near *near)
{
    const struct map_batch *b = c->b;
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    VALUE aside[CPU_GROUP];
    co_u32 tail = 0, sides = 0;
    KEY room[CPU_GROUP];
    for (co_u64 base = begin; base < end; base += CPU_GROUP) {
        const KEY *keys = MAP(group_keys)(b, base, c->end, room);
        sides |= MAP(near_homes)(c, keys, 0, near->home + (base - begin)) << (base - begin) / CPU_GROUP;
    }
    for (co_u64 base = begin; base < end; base += CPU_GROUP, sides >>= 1) {
        co_u32 part = MAP(near_part)(c, base, end), open, hits;
        const KEY *keys = MAP(group_keys)(b, base, c->end, room);
        c->report->taken += (co_u32)__builtin_popcount(part);
        if (sides & 1) {
            cpu_report_words(b, base, 0, 0);
            part = MAP(side_keys)(c, base, part);
        }
        hits = MAP(near_group)(b, keys, near->home + (base - begin), part,
                               b->results ? (VALUE *)b->results + base : aside, &open);
        cpu_report_words(b, base, hits, sides & 1);
        c->report->hits += (co_u32)__builtin_popcount(hits);
        const __m512i low = _mm512_add_epi32(first, _mm512_set1_epi32((int)(base - begin)));
        tail = MAP(near_keep)(near->list, tail, part & ~(hits | open), low,
                              _mm512_add_epi32(low, _mm512_set1_epi32(16)));
    }
    return tail;
}

/* Those of the list that have seen `round` pairs look at the next one: how many are left. */
static __attribute__((noinline)) co_u32 MAP(near_again)(struct cpu_range *c, co_u64 begin,
                                                        struct cpu_near *near, co_u32 count, co_u32 round)
{
    const struct map_batch *b = c->b;
    CO_ALIGN(64) VALUE values[CPU_GROUP];
    CO_ALIGN(64) KEY keys[CPU_NEAR_SPAN];
    co_u32 tail = 0, *list = near->list;
    for (co_u32 k = count; k % CPU_GROUP; k++)
        list[k] = list[0];
    for (co_u32 k = 0; k < count; k++)
        keys[k] = MAP(key_at)(b->keys, begin + list[k]);
    for (co_u32 k = count; k % CPU_GROUP; k++)
        keys[k] = keys[0];
    for (co_u32 at = 0; at < count; at += CPU_GROUP)
        MAP(near_homes)(c, keys + at, round, near->home + at);
    for (co_u32 at = 0; at < count; at += CPU_GROUP) {
        co_u32 part = count - at < CPU_GROUP ? (1u << (count - at)) - 1 : ~0u, open, hits;
        hits = MAP(near_group)(b, keys + at, near->home + at, part, values, &open);
        for (co_u32 rest = hits; rest; rest &= rest - 1) {
            unsigned k = (unsigned)__builtin_ctz(rest);
            MAP(settled)(c, begin + list[at + k], CO_MAP_HIT, values[k]);
        }
        tail = MAP(near_keep)(list, tail, part & ~(hits | open), _mm512_load_si512(list + at),
                              _mm512_load_si512(list + at + 16));
    }
    return tail;
}

/* Those of the list are now far from home: how many the filter may know. */
static __attribute__((noinline)) co_u32 MAP(near_far)(const struct cpu_range *c, co_u64 begin,
                                                      struct cpu_near *near, co_u32 count)
{
    const cohort_map_view *m = &c->b->view;
    co_u32 tail = 0;
    for (co_u32 k = 0; k < count; k++) {
        const co_u32 i = near->list[k];
        near->list[tail] = i;
        tail += !MAP(far_settles)(m, MAP(key_at)(c->b->keys, begin + i), 0);
    }
    return tail;
}

static __attribute__((noinline)) void MAP(find_in_cache)(struct cpu_range *c, co_u64 begin)
{
    const cohort_map_view *m = &c->b->view;
    const co_u32 rounds = (co_u32)((m->pages == 1 ? m->mask : c->stretch) + 1) / 2;
    struct cpu_near near;
    co_u32 count;
    for (co_u64 end; begin < c->end; begin = end) {
        end = c->end - begin < CPU_NEAR_SPAN ? c->end : begin + CPU_NEAR_SPAN;
        count = MAP(near_first)(c, begin, end, &near);
        for (co_u32 round = 1; count && round < rounds; round++) {
            count = round == c->far / 2 ? MAP(near_far)(c, begin, &near, count) : count;
            count = count ? MAP(near_again)(c, begin, &near, count, round) : 0;
        }
        for (co_u32 k = 0; m->pages > 1 && k < count; k++)
            MAP(end_by_protocol)(c, begin + near.list[k]);
    }
}

#undef AT_ONCE
