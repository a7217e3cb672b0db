/* cpu/map_bucket.h: what a thread of the host sees in one bucket, for one width. Included by map_width.h.
 *
 * A walk's outcome at a bucket is decided by the first slot that holds the key or nothing. Slots of a bucket
 * are taken from the first on, so if any is empty the last one is; and while nobody changes the map a match
 * alone is a hit. All keys are compared at once where the processor can. What was seen of a bucket that
 * others change is a hint: whoever acts on it does so by a whole word, as device/map_width.h does.
 *
 * Parameters: those of shape/map_entry.h. */

#define WORDS      (256 / CO_MAP_SLOT_BITS)
#define SLOT_BYTES (CO_MAP_SLOT_BITS / 8)
#define EMPTY_KEY  ((KEY) ~(KEY)0)
#define ERASED_KEY ((KEY)(EMPTY_KEY - 1))

/* A match of slot j is bit j * EACH of what MAP(matches) answers. TWO_IN_ONE: one comparison tells matches
 * and empty slots. */
#if CPU_LEVEL >= 2 && CO_MAP_VALUE_BITS
#    define TWO_IN_ONE 1
#    define EACH       2u
#    define MATCHES    (WORDS == 2 ? 0x5u : 0x55u)
#else
#    define TWO_IN_ONE 0
#    define EACH       1u
#endif

/* PAIRS: both buckets of a pair are looked at at once where that fits in a cpu_sight, their slots in the
 * order of memory. */
#define PAIRS (TWO_IN_ONE && (CPU_LEVEL >= 512 || WORDS == 2))

/* Searches in a table in the cache by map_near.h. */
#define IN_REGISTERS (PAIRS && CPU_LEVEL >= 512)

CO_INLINE KEY MAP(key_in)(const char *slot)
{
    return sizeof(KEY) == 4 ? (KEY)__atomic_load_n((const cpu_u32 *)(const void *)slot, __ATOMIC_RELAXED)
                            : (KEY)__atomic_load_n((const cpu_u64 *)(const void *)slot, __ATOMIC_ACQUIRE);
}

CO_INLINE VALUE MAP(value_in)(const char *slot)
{
    const void *value = slot + sizeof(KEY);
    if (!CO_MAP_VALUE_BITS)
        return 0;
    return sizeof(VALUE) == 4 ? (VALUE)__atomic_load_n((const cpu_u32 *)value, __ATOMIC_RELAXED)
                              : (VALUE)__atomic_load_n((const cpu_u64 *)value, __ATOMIC_RELAXED);
}

#if TWO_IN_ONE
/* Bit 2j: slot j holds the key; bit 2j + 1: it holds nothing. One comparison does both, since beside each key
 * there is its value, in whose place the key can be looked at again. */
CO_INLINE unsigned MAP(sight)(const char *bucket, KEY key)
{
    __m256i all = _mm256_load_si256((const __m256i *)(const void *)bucket);
    __asm__ volatile("" : "+x"(all));
#    if CO_MAP_SLOT_BITS == 128
    const __m256i nothing = _mm256_setr_epi64x(0, -1, 0, -1);
    __m256i twice = _mm256_unpacklo_epi64(all, all),
            wanted = _mm256_or_si256(_mm256_set1_epi64x((long long)key), nothing);
#    else
    const __m256i nothing = _mm256_set1_epi64x((long long)(~0ull << 32));
    __m256i twice = _mm256_shuffle_epi32(all, _MM_SHUFFLE(2, 2, 0, 0)),
            wanted = _mm256_or_si256(_mm256_set1_epi32((int)key), nothing);
#    endif
#    if CPU_LEVEL >= 512 && CO_MAP_SLOT_BITS == 128
    return _mm256_cmpeq_epi64_mask(twice, wanted);
#    elif CPU_LEVEL >= 512
    return _mm256_cmpeq_epi32_mask(twice, wanted);
#    elif CO_MAP_SLOT_BITS == 128
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(twice, wanted)));
#    else
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(twice, wanted)));
#    endif
}
#elif CPU_LEVEL >= 512
CO_INLINE unsigned MAP(compared)(__m256i all, KEY key)
{
#    if CO_MAP_SLOT_BITS == 64
    return _mm256_cmpeq_epi64_mask(all, _mm256_set1_epi64x((long long)key));
#    else
    return _mm256_cmpeq_epi32_mask(all, _mm256_set1_epi32((int)key));
#    endif
}
#elif CPU_LEVEL >= 2
CO_INLINE unsigned MAP(compared)(__m256i all, KEY key)
{
#    if CO_MAP_SLOT_BITS == 64
    __m256i same = _mm256_cmpeq_epi64(all, _mm256_set1_epi64x((long long)key));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same));
#    else
    __m256i same = _mm256_cmpeq_epi32(all, _mm256_set1_epi32((int)key));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same));
#    endif
}
#elif CPU_VECTORS && CO_MAP_SLOT_BITS == 32
CO_INLINE unsigned MAP(compared)(__m128i low, __m128i high, KEY key)
{
    const __m128i keys = _mm_set1_epi32((int)key);
    return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(low, keys))) |
           (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(high, keys))) << 4;
}
#elif CPU_VECTORS && CO_MAP_SLOT_BITS == 64 && CO_MAP_VALUE_BITS
CO_INLINE unsigned MAP(compared)(__m128i low, __m128i high, KEY key)
{
    __m128 keys = _mm_shuffle_ps(_mm_castsi128_ps(low), _mm_castsi128_ps(high), _MM_SHUFFLE(2, 0, 2, 0));
    return (unsigned)_mm_movemask_ps(
        _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_castps_si128(keys), _mm_set1_epi32((int)key))));
}
#else
CO_INLINE unsigned MAP(compared)(const KEY *all, KEY key)
{
    unsigned seen = 0;
    for (unsigned j = 0; j < WORDS; j++)
        seen |= (unsigned)(all[j] == key) << j;
    return seen;
}
#endif

/* Which slots hold the key, and which hold nothing. Each is read once: what is neither now may not become the
 * key's between two looks, unseen by both; so the compiler is kept from reading a bucket again. */
CO_INLINE unsigned MAP(glance)(const char *bucket, KEY key, unsigned *empty)
{
#if TWO_IN_ONE
    unsigned sight = MAP(sight)(bucket, key);
    *empty = sight >> 1 & MATCHES;
    return sight & MATCHES;
#elif CPU_LEVEL >= 2
    __m256i all = _mm256_load_si256((const __m256i *)(const void *)bucket);
    __asm__ volatile("" : "+x"(all));
    *empty = MAP(compared)(all, EMPTY_KEY);
    return MAP(compared)(all, key);
#elif CPU_VECTORS && (CO_MAP_SLOT_BITS == 32 || (CO_MAP_SLOT_BITS == 64 && CO_MAP_VALUE_BITS))
    __m128i low = _mm_load_si128((const __m128i *)(const void *)bucket),
            high = _mm_load_si128((const __m128i *)(const void *)bucket + 1);
    __asm__ volatile("" : "+x"(low), "+x"(high));
    *empty = MAP(compared)(low, high, EMPTY_KEY);
    return MAP(compared)(low, high, key);
#else
    KEY all[WORDS];
    for (unsigned j = 0; j < WORDS; j++)
        all[j] = MAP(key_in)(bucket + j * SLOT_BYTES);
    *empty = MAP(compared)(all, EMPTY_KEY);
    return MAP(compared)(all, key);
#endif
}

/* Which slots hold the key, in a table that nobody changes; TWO_IN_ONE: and which hold nothing, in the bits
 * between. */
#if !TWO_IN_ONE
CO_INLINE unsigned MAP(sight)(const char *bucket, KEY key)
{
    unsigned empty;
    return MAP(glance)(bucket, key, &empty);
}
#endif

/* The first slot that matches; bits between those of matches may be set behind it. Without one: any slot, so
 * that there is something to read that has come. */
CO_INLINE char *MAP(first_of)(const char *bucket, unsigned matches)
{
    unsigned slot =
        WORDS == 2 ? matches >> EACH & 1 : (unsigned)__builtin_ctz(matches | 1u << (WORDS - 1) * EACH) / EACH;
    return (char *)bucket + slot * SLOT_BYTES;
}

/* Whether a walk is settled here: the key is in the bucket, or has room in it. */
CO_INLINE int MAP(settles)(const char *bucket, KEY key)
{
    unsigned empty, seen = MAP(glance)(bucket, key, &empty);
    return (seen | empty) != 0;
}

/* ---- a table that nobody changes ----------------------------------------------------------------------- */

CO_INLINE int MAP(is_open)(const char *bucket)
{
    const void *last = bucket + (WORDS - 1) * SLOT_BYTES;
    return sizeof(KEY) == 4 ? *(const cpu_u32 *)last == (co_u32)EMPTY_KEY
                            : *(const cpu_u64 *)last == (co_u64)EMPTY_KEY;
}

/* Of the bucket at `at`, or of the pair there: which slots hold the key (TWO_IN_ONE: and which hold nothing).
 * A walk sees both buckets of a pair unless it ends in the first, and then its key is in neither: so any
 * match or empty slot of theirs says what becomes of it. */
CO_INLINE unsigned MAP(sight_of)(const char *at, KEY key, int pair)
{
#if PAIRS && CPU_LEVEL >= 512
    if (pair) {
        const __m512i all = _mm512_load_si512((const void *)at);
#    if CO_MAP_SLOT_BITS == 128
        const __m512i wanted = _mm512_mask_set1_epi64(_mm512_set1_epi64(-1), 0x55, (long long)key);
        return _mm512_cmpeq_epi64_mask(_mm512_unpacklo_epi64(all, all), wanted);
#    else
        const __m512i wanted = _mm512_mask_set1_epi32(_mm512_set1_epi32(-1), 0x5555, (int)key);
        return _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi32(all, _MM_PERM_CCAA), wanted);
#    endif
    }
#elif PAIRS
    if (pair)
        return MAP(sight)(at, key) | MAP(sight)(at + MAP_BUCKET_BYTES, key) << WORDS * EACH;
#endif
    (void)pair;
    return MAP(sight)(at, key);
}

/* The slot of a match; without one: any of them. */
CO_INLINE char *MAP(slot_of)(const char *at, unsigned sight, int pair)
{
#if PAIRS
    const unsigned matches = MATCHES | MATCHES << WORDS * EACH, last = 1u << (2 * WORDS - 1) * EACH;
    if (pair)
        return (char *)at + (unsigned)__builtin_ctz((sight & matches) | last) / EACH * (unsigned)SLOT_BYTES;
#endif
    (void)pair;
    return MAP(first_of)(at, sight);
}

/* ---- changes among threads that all do the same -------------------------------------------------------- */

/* Makes an empty slot the key's; 0 if another was faster. */
CO_INLINE int MAP(take_slot)(char *slot, KEY key, VALUE value)
{
    if (CO_MAP_SLOT_BITS == 32)
        return co_cas32((co_u32 *)(void *)slot, ~0u, (co_u32)key) == ~0u;
    if (CO_MAP_SLOT_BITS == 64)
        return co_cas64((co_u64 *)(void *)slot, ~0ull,
                        CO_MAP_VALUE_BITS ? (co_u64)key | (co_u64)value << 32 : (co_u64)key) == ~0ull;
    return co_cas128((co_u128 *)(void *)slot, co_make128(~0ull, ~0ull),
                     co_make128((co_u64)key, (co_u64)value))
               .lo == ~0ull;
}

/* INSERT: reads the value of the key's slot; other operations change it, *value being the one before. */
CO_INLINE void MAP(update)(const cohort_map_view *view, co_u32 op, char *slot, KEY key, VALUE operand,
                           VALUE *value)
{
    struct MAP(place) at;
    if (op == CO_OP_INSERT) {
        *value = MAP(value_in)(slot);
        return;
    }
#if CO_MAP_SLOT_BITS == 128
    /* Keys stay where they are while all do the same, so the value alone is changed, by one addition and not
     * by a comparison of the whole pair. */
    if (op == CO_OP_ADD || op == CO_OP_COUNT) {
        VALUE more = op == CO_OP_COUNT ? 1 : operand;
        void *at_value = slot + sizeof(KEY);
        *value = sizeof(VALUE) == 4
                     ? (VALUE)__atomic_fetch_add((cpu_u32 *)at_value, (co_u32)more, __ATOMIC_RELAXED)
                     : (VALUE)__atomic_fetch_add((cpu_u64 *)at_value, (co_u64)more, __ATOMIC_RELAXED);
        return;
    }
#endif
    at.slot = (co_u64)(slot - (char *)view->slots) / SLOT_BYTES;
    at.key = key;
    at.word = CO_PASTE3(co_load, CO_MAP_SLOT_BITS, )((const void *)slot);
    MAP(change)(view, &at, op, operand, value); /* it cannot fail: nobody erases while keys are put in */
}

/* INSERT, ASSIGN, apply: HIT, NEW, or CPU_GO_ON. */
CO_INLINE int MAP(put_in)(const cohort_map_view *view, co_u32 op, char *bucket, KEY key, VALUE operand,
                          VALUE *value)
{
    for (;;) {
        unsigned empty, seen = MAP(glance)(bucket, key, &empty), any = seen | empty;
        if (!any)
            return CPU_GO_ON;
        char *slot = MAP(first_of)(bucket, WORDS == 2 ? (any & 1 ? 1u : any) : any);
        if (seen & (any & (0u - any))) {
            MAP(update)(view, op, slot, key, operand, value);
            return CO_MAP_HIT;
        }
        if (MAP(take_slot)(slot, key, op == CO_OP_COUNT ? (VALUE)1 : operand))
            return CO_MAP_NEW;
    }
}

/* ---- by one thread alone ------------------------------------------------------------------------------- */

CO_INLINE void MAP(store)(char *slot, KEY key, VALUE value)
{
    cpu_u64 *words = (cpu_u64 *)(void *)slot;
    if (CO_MAP_SLOT_BITS == 32)
        *(cpu_u32 *)(void *)slot = (co_u32)key;
    else
        words[0] = CO_MAP_SLOT_BITS == 64 && CO_MAP_VALUE_BITS != 0 ? (co_u64)key | (co_u64)value << 32
                                                                    : (co_u64)key;
    if (CO_MAP_SLOT_BITS == 128)
        words[1] = (co_u64)value;
}

/* The first slot of a walk that holds the key, *hit, or nothing; NULL if there is none. Which it is, a coin
 * toss, is no branch. `pair`: of the walk's first two buckets, from `bucket` on and round to the other
 * one. */
CO_INLINE char *MAP(place)(char *bucket, KEY key, int pair, unsigned *hit)
{
#if TWO_IN_ONE
    const unsigned second = pair ? (unsigned)(uintptr_t)bucket & MAP_BUCKET_BYTES : 0;
    char *at = bucket - second;
    unsigned any = MAP(sight_of)(at, key, pair), place;
    if (!pair || WORDS == 2) { /* of no more than four slots */
        place = cpu_places[second * (256 / MAP_BUCKET_BYTES) + any];
        *hit = place & 1;
        return any ? at + (place & ~1u) * SLOT_BYTES / 16 : NULL;
    }
    const unsigned slots = 2 * WORDS, turn = second / SLOT_BYTES, seen = 0x5555;
    any = (any | any << slots * EACH) >> turn * EACH;
    place = ((unsigned)__builtin_ctz(any | 1u << 16) / EACH + turn) % slots;
#else
    unsigned empty, seen = MAP(glance)(bucket, key, &empty), any = seen | empty,
                    place = WORDS == 2 ? (any & 1) ^ 1 : (unsigned)__builtin_ctz(any | 256);
    char *at = bucket;
    (void)pair;
#endif
    *hit = (seen & any & (0u - any)) != 0;
    return any ? at + place * (unsigned)SLOT_BYTES : NULL;
}

/* INSERT, ASSIGN, apply: HIT, NEW, or CPU_GO_ON. What the outcome is mostly is the same for all of a batch.
 * `asked`: an INSERT's *value is. */
CO_INLINE int MAP(put_alone)(co_u32 op, int asked, int pair, char *bucket, KEY key, VALUE operand,
                             VALUE *value)
{
    unsigned hit;
    char *slot = MAP(place)(bucket, key, pair, &hit);
    if (!slot)
        return CPU_GO_ON;
    if (!hit) {
        *value = op == CO_OP_COUNT ? (VALUE)1 : operand;
        MAP(store)(slot, key, *value);
        return CO_MAP_NEW;
    }
    if (op != CO_OP_INSERT)
        MAP(store)(slot, key, MAP(combine)(op, MAP(value_in)(slot), operand));
    else if (asked)
        *value = MAP(value_in)(slot);
    return CO_MAP_HIT;
}

/* ERASE: whether the key was there, in the bucket or, with `pair`, in both. *none: it is not, and may be
 * elsewhere. Without a branch on that: what has no slot to mark marks one of nobody's. */
CO_INLINE unsigned MAP(take_alone)(char *bucket, int pair, KEY key, char *aside, unsigned *none)
{
    bucket -= pair ? (uintptr_t)bucket & MAP_BUCKET_BYTES : 0;
#if TWO_IN_ONE
    unsigned any = MAP(sight_of)(bucket, key, pair), hit = (any & 0x5555) != 0;
    uintptr_t slot = (uintptr_t)MAP(slot_of)(bucket, any, pair);
    *none = any == 0;
#else
    unsigned empty, seen = MAP(glance)(bucket, key, &empty), hit = seen != 0;
    uintptr_t slot = (uintptr_t)MAP(first_of)(bucket, seen);
    *none = (seen | empty) == 0;
#endif
    const uintptr_t mask = 0 - (uintptr_t)hit;
    void *to = (void *)((slot & mask) | ((uintptr_t)aside & ~mask));
    if (sizeof(KEY) == 4)
        *(cpu_u32 *)to = (co_u32)ERASED_KEY;
    else
        *(cpu_u64 *)to = (co_u64)ERASED_KEY;
    return hit;
}
