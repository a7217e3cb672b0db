/* cohort/device/map_width.h: the map's protocol for one width. Included by map.h once per instance, never
 * alone.
 *
 * Parameters (undefined again at the end):
 *   CO_MAP_SUFFIX      of the names: 32_32 gives co_map32_32_find
 *   CO_MAP_KEY         co_u32 or co_u64
 *   CO_MAP_VALUE       co_u32 or co_u64 (for sets: a type that is never stored)
 *   CO_MAP_VALUE_BITS  0, 32, 64
 *   CO_MAP_SLOT_BITS   32, 64, 128: the word that changes in one compare-and-swap; a bucket is 32 bytes of
 *                      them */

#define CO_PASTE3_(a, b, c) a##b##c
#define CO_PASTE3(a, b, c)  CO_PASTE3_(a, b, c)
#define MAP(name)           CO_PASTE3(co_map, CO_MAP_SUFFIX, _##name)
#define MAP_STRUCT(name)    CO_PASTE3(co_map, CO_MAP_SUFFIX, _##name)
#define WORDS               (256 / CO_MAP_SLOT_BITS)
#define EMPTY_KEY           ((CO_MAP_KEY) ~(CO_MAP_KEY)0)
#define ERASED_KEY          ((CO_MAP_KEY)(EMPTY_KEY - 1))

/* ---- the slot: how a pair lies in a word --------------------------------------------------------------- */

#if CO_MAP_SLOT_BITS == 128
#    define WORD           co_u128
#    define LOAD(p)        co_load_pair(p)
#    define CAS(p, e, d)   co_swap_pair(p, e, d)
#    define SAME(a, b)     co_same128(a, b)
#    define SECTOR         co_sector128
#    define LOAD_SECTOR(p) co_load_pairs(p)
#    define READ_SECTOR(p) co_read_sector128(p)
#    define GLANCE_AT(p)   co_glance_pairs(p)
#    define KEY_OF(w)      ((w).lo)
#    define VALUE_OF(w)    ((CO_MAP_VALUE)(w).hi)
#    define PAIR(key, v)   co_make128((key), (co_u64)(v))
#    define EMPTY_WORD     co_make128(~0ull, ~0ull)
#else
#    define WORD           CO_PASTE3(co_u, CO_MAP_SLOT_BITS, )
#    define LOAD(p)        CO_PASTE3(co_load, CO_MAP_SLOT_BITS, )(p)
#    define CAS(p, e, d)   CO_PASTE3(co_cas, CO_MAP_SLOT_BITS, )(p, e, d)
#    define SAME(a, b)     ((a) == (b))
#    define SECTOR         CO_PASTE3(co_sector, CO_MAP_SLOT_BITS, )
#    define LOAD_SECTOR(p) CO_PASTE3(co_load_sector, CO_MAP_SLOT_BITS, )(p)
#    define READ_SECTOR(p) CO_PASTE3(co_read_sector, CO_MAP_SLOT_BITS, )(p)
#    define GLANCE_AT(p)   CO_PASTE3(co_glance_sector, CO_MAP_SLOT_BITS, )(p)
#    define KEY_OF(w)      ((CO_MAP_KEY)(w))
#    define EMPTY_WORD     ((WORD) ~(WORD)0)
#    if CO_MAP_VALUE_BITS
#        define VALUE_OF(w)  ((CO_MAP_VALUE)((w) >> 32))
#        define PAIR(key, v) ((WORD)(key) | (WORD)(v) << 32)
#    else
#        define VALUE_OF(w)  ((CO_MAP_VALUE)((void)(w), 0))
#        define PAIR(key, v) ((WORD)((void)(v), (key)))
#    endif
#endif

/* Where a seek ended. `key` is what the slot's key field holds while it is live: 0 in a side slot. */
struct MAP_STRUCT(place) {
    co_u64 slot;
    WORD word;
    CO_MAP_KEY key;
    int reused; /* a NEW key took an erased side slot */
};

CO_INLINE WORD *MAP(slot)(const cohort_map_view *m, co_u64 slot)
{
    return (WORD *)m->slots + slot;
}

CO_INLINE co_u64 MAP(slots)(const cohort_map_view *m)
{
    return co_map_buckets(m) * WORDS;
}

CO_INLINE struct co_walk MAP(walk)(const cohort_map_view *m, CO_MAP_KEY key)
{
    return co_walk_begin(co_hash(key, m->seed), m->pages, m->mask, m->linear);
}

/* The address where a key's search begins, for prefetching. */
CO_INLINE const void *MAP(home)(const cohort_map_view *m, CO_MAP_KEY key)
{
    struct co_walk w = MAP(walk)(m, key);
    return MAP(slot)(m, co_map_walk_bucket(m, &w) * WORDS);
}

/* ---- seek: find a key, or the slot where it goes ------------------------------------------------------- */

/* The keys whose patterns mark empty and erased. Both halves of the protocol in one slot, with reuse. */
CO_INLINE int MAP(seek_side)(const cohort_map_view *m, CO_MAP_KEY key, int mode, CO_MAP_VALUE value,
                             struct MAP_STRUCT(place) * at)
{
    at->slot = MAP(slots)(m) + (key == ERASED_KEY);
    at->key = 0;
    WORD word = LOAD(MAP(slot)(m, at->slot));
    for (;;) {
        at->word = word;
        if (KEY_OF(word) == 0)
            return CO_MAP_HIT;
        if (mode != CO_SEEK_INSERT && mode != CO_SEEK_PUT)
            return CO_MAP_MISS;
        WORD seen = CAS(MAP(slot)(m, at->slot), word, PAIR((CO_MAP_KEY)0, value));
        if (SAME(seen, word)) {
            at->reused = KEY_OF(word) == ERASED_KEY;
            return CO_MAP_NEW;
        }
        word = seen;
    }
}

/* The key's slot in a bucket that was read, without branches, for lanes that only look: the first slot that
 * settles the matter does, a match or an empty one, as if they had been looked at one by one. A match behind
 * it must not count: a lane that has acted on it may still read an older word in front of it, in which the
 * key is live. HIT, MISS, or FULL: go on to the next bucket. */
CO_INLINE int MAP(look)(const SECTOR *s, co_u64 first, CO_MAP_KEY key, struct MAP_STRUCT(place) * at)
{
    int outcome = CO_MAP_FULL;
    for (int j = WORDS - 1; j >= 0; j--) {
        int match = KEY_OF(s->w[j]) == key;
        at->word = match ? s->w[j] : at->word;
        at->slot = match ? first + (co_u64)j : at->slot;
        outcome = match ? CO_MAP_HIT : KEY_OF(s->w[j]) == EMPTY_KEY ? CO_MAP_MISS : outcome;
    }
    return outcome;
}

/* The same for lanes that may put the key in: MISS: the first empty slot is at->slot. */
CO_INLINE int MAP(look_for_room)(const SECTOR *s, co_u64 first, CO_MAP_KEY key, struct MAP_STRUCT(place) * at)
{
    int outcome = CO_MAP_FULL, which = 0;
    for (int j = WORDS - 1; j >= 0; j--) {
        int match = KEY_OF(s->w[j]) == key, empty = KEY_OF(s->w[j]) == EMPTY_KEY;
        at->word = match ? s->w[j] : at->word;
        which = match || empty ? j : which;
        outcome = match ? CO_MAP_HIT : empty ? CO_MAP_MISS : outcome;
    }
    at->slot = first + (co_u64)which;
    return outcome;
}

/* Takes that slot; if another lane was there first, the bucket is looked at once more. It is read in one go:
 * half of it asked for when the other half has come costs more than both asked for at once. With `glance` the
 * first look may be at an old bucket: then the compare-and-swap fails, and the second look is not. */
CO_INLINE int MAP(look_or_take)(const cohort_map_view *m, co_u64 first, CO_MAP_KEY key, CO_MAP_VALUE value,
                                int glance, struct MAP_STRUCT(place) * at)
{
    for (;; glance = 0) {
        const void *bucket = MAP(slot)(m, first);
        SECTOR s = glance ? GLANCE_AT(bucket) : LOAD_SECTOR(bucket);
        int r = MAP(look_for_room)(&s, first, key, at);
#if CO_MAP_SLOT_BITS == 128
        if (r == CO_MAP_HIT && glance) /* its halves may be of different times */
            at->word = LOAD(MAP(slot)(m, at->slot));
#endif
        if (r != CO_MAP_MISS)
            return r;
        WORD seen = CAS(MAP(slot)(m, at->slot), EMPTY_WORD, PAIR(key, value));
        if (KEY_OF(seen) == EMPTY_KEY)
            return CO_MAP_NEW;
    }
}

/* HIT: the key is live in at->slot, whose word was at->word. Otherwise MISS; or, with CO_SEEK_INSERT, NEW or
 * FULL. Lock-free: a compare-and-swap fails only because another lane took that slot, and the walk is
 * finite. */
CO_INLINE int MAP(seek)(const cohort_map_view *m, CO_MAP_KEY key, int mode, CO_MAP_VALUE value,
                        struct MAP_STRUCT(place) * at)
{
    const int puts = mode == CO_SEEK_INSERT || mode == CO_SEEK_PUT;
    at->reused = 0;
    if (key >= ERASED_KEY)
        return MAP(seek_side)(m, key, mode, value, at);
    at->key = key;
    at->slot = 0;
    at->word = EMPTY_WORD;
    struct co_walk w = MAP(walk)(m, key);
    for (;;) {
        co_u64 first = co_map_walk_bucket(m, &w) * WORDS;
        int r;
        if (puts) {
            r = MAP(look_or_take)(m, first, key, value, mode == CO_SEEK_PUT, at);
        } else {
            const void *bucket = MAP(slot)(m, first);
            SECTOR s = mode == CO_SEEK_QUIET ? READ_SECTOR(bucket) : LOAD_SECTOR(bucket);
            r = MAP(look)(&s, first, key, at);
        }
        if (r != CO_MAP_FULL)
            return r;
        if (!co_walk_next(&w, m->pages, m->mask, m->reach, WORDS))
            break;
        if (w.seen == m->far && co_map_far_ends(m->filter, m->pages, m->mask, key ^ m->seed, puts))
            return puts ? CO_MAP_FULL : CO_MAP_MISS;
    }
    if (puts && m->far)
        co_map_far_fill(m->filter, m->pages, m->mask, key ^ m->seed);
    return puts ? CO_MAP_FULL : CO_MAP_MISS;
}

CO_INLINE void MAP(tally)(const struct MAP_STRUCT(place) * at, co_map_tally *tally)
{
    if (at->reused)
        tally->erased--;
    else
        tally->taken++;
}

/* ---- change: a live slot's value ----------------------------------------------------------------------- */

CO_INLINE CO_MAP_VALUE MAP(combine)(co_u32 op, CO_MAP_VALUE old, CO_MAP_VALUE operand)
{
    switch (op) {
    case CO_OP_ADD:
        return (CO_MAP_VALUE)(old + operand);
    case CO_OP_COUNT:
        return (CO_MAP_VALUE)(old + 1);
    case CO_OP_MIN:
        return operand < old ? operand : old;
    case CO_OP_MAX:
        return operand > old ? operand : old;
    case CO_OP_OR:
        return old | operand;
    case CO_OP_AND:
        return old & operand;
    default: /* ASSIGN, EXCHANGE */
        return operand;
    }
}

#if CO_MAP_SLOT_BITS == 128
/* The same where pairs change by halves, to a key whose value nobody reads in this launch and nobody erases.
 * Of a value of 32 bits a sum may carry into what is above it, which nobody looks at. */
CO_INLINE void MAP(change_half)(const cohort_map_view *m, co_u64 slot, co_u32 op, CO_MAP_VALUE operand)
{
    co_u64 *half = &MAP(slot)(m, slot)->hi;
    if (op == CO_OP_ASSIGN || op == CO_OP_EXCHANGE) {
        co_store64(half, operand);
        return;
    }
    if (op == CO_OP_ADD || op == CO_OP_COUNT) {
        co_add64(half, op == CO_OP_COUNT ? 1 : operand);
        return;
    }
    co_u64 before = co_load64(half);
    for (;;) {
        CO_MAP_VALUE next = MAP(combine)(op, (CO_MAP_VALUE)before, operand);
        co_u64 seen = next == (CO_MAP_VALUE)before ? before : co_cas64(half, before, next);
        if (seen == before)
            return;
        before = seen;
    }
}
#endif

/* Sets the slot's value to op(value, operand), *old to the value before; 0, and *old as it was, if the key
 * was erased meanwhile. */
CO_INLINE int MAP(change)(const cohort_map_view *m, struct MAP_STRUCT(place) * at, co_u32 op,
                          CO_MAP_VALUE operand, CO_MAP_VALUE *old)
{
#if CO_MAP_SLOT_BITS == 64 && CO_MAP_VALUE_BITS == 32
    /* One addition to the whole word. On a slot that was erased meanwhile it changes a value that nobody
     * reads. */
    if (op == CO_OP_ADD || op == CO_OP_COUNT) {
        at->word = co_add64(MAP(slot)(m, at->slot), (co_u64)(op == CO_OP_COUNT ? 1 : operand) << 32);
        if (KEY_OF(at->word) != at->key)
            return 0;
        *old = VALUE_OF(at->word);
        return 1;
    }
#elif CO_MAP_SLOT_BITS == 128
    if (!co_has_cas128()) {
        *old = VALUE_OF(at->word);
        MAP(change_half)(m, at->slot, op, operand);
        return 1;
    }
#endif
    for (;;) {
        CO_MAP_VALUE before = VALUE_OF(at->word);
        WORD next = PAIR(at->key, MAP(combine)(op, before, operand));
        WORD seen = SAME(next, at->word) ? next : CAS(MAP(slot)(m, at->slot), at->word, next);
        if (SAME(seen, at->word)) {
            *old = before;
            return 1;
        }
        if (KEY_OF(seen) != at->key)
            return 0;
        at->word = seen;
    }
}

/* One try at the same in a launch in which no lane erases and no old values are asked for: 1 if the change
 * has been made, or need not be: an assign that was too late came just before the one that was quicker. 0:
 * at->word is what was there instead. */
CO_INLINE int MAP(change_alone)(const cohort_map_view *m, struct MAP_STRUCT(place) * at, co_u32 op,
                                CO_MAP_VALUE operand)
{
#if CO_MAP_SLOT_BITS == 64 && CO_MAP_VALUE_BITS == 32
    if (op == CO_OP_ADD) {
        at->word = co_add64(MAP(slot)(m, at->slot), (co_u64)operand << 32);
        return KEY_OF(at->word) ==
               at->key; /* it is; and the word that comes back keeps readers from running ahead */
    }
#elif CO_MAP_SLOT_BITS == 128
    if (!co_has_cas128()) {
        MAP(change_half)(m, at->slot, op, operand);
        return 1;
    }
#endif
    WORD next = PAIR(at->key, MAP(combine)(op, VALUE_OF(at->word), operand));
    WORD seen = SAME(next, at->word) ? next : CAS(MAP(slot)(m, at->slot), at->word, next);
    int done = SAME(seen, at->word) || op == CO_OP_ASSIGN || op == CO_OP_EXCHANGE;
    at->word = seen;
    return done;
}

/* ---- the operations ------------------------------------------------------------------------------------ */

/* HIT: *value is the key's; else it is left as it was. */
CO_INLINE int MAP(find)(const cohort_map_view *m, CO_MAP_KEY key, CO_MAP_VALUE *value)
{
    struct MAP_STRUCT(place) at;
    int r = MAP(seek)(m, key, CO_SEEK, 0, &at);
    if (r == CO_MAP_HIT)
        *value = VALUE_OF(at.word);
    return r;
}

/* find in a launch in which no lane changes the map: faster where plain loads are. */
CO_INLINE int MAP(find_quiet)(const cohort_map_view *m, CO_MAP_KEY key, CO_MAP_VALUE *value)
{
    struct MAP_STRUCT(place) at;
    int r = MAP(seek)(m, key, CO_SEEK_QUIET, 0, &at);
    if (r == CO_MAP_HIT)
        *value = VALUE_OF(at.word);
    return r;
}

CO_INLINE int MAP(contains)(const cohort_map_view *m, CO_MAP_KEY key)
{
    struct MAP_STRUCT(place) at;
    return MAP(seek)(m, key, CO_SEEK, 0, &at);
}

/* HIT: the key was in, *old is the value it had. If another lane erases it first it may have been put in
 * again further on, so the search begins anew. */
CO_INLINE int MAP(take)(const cohort_map_view *m, CO_MAP_KEY key, CO_MAP_VALUE *old, co_map_tally *tally)
{
    struct MAP_STRUCT(place) at;
    while (MAP(seek)(m, key, CO_SEEK, 0, &at) == CO_MAP_HIT) {
        for (;;) {
            CO_MAP_VALUE before = VALUE_OF(at.word);
            WORD seen = CAS(MAP(slot)(m, at.slot), at.word, PAIR(ERASED_KEY, before));
            if (SAME(seen, at.word)) {
                *old = before;
                tally->erased++;
                return CO_MAP_HIT;
            }
            if (KEY_OF(seen) != at.key)
                break;
            at.word = seen;
        }
    }
    return CO_MAP_MISS;
}

/* Any cohort_op, in a launch in which pairs that change by halves are owed what docs/map-protocol.md says.
 * HIT: the key was in, *old is the value it had just before; else *old is left as it was. */
CO_INLINE int MAP(perform)(const cohort_map_view *m, co_u32 op, CO_MAP_KEY key, CO_MAP_VALUE operand,
                           CO_MAP_VALUE *old, co_map_tally *tally)
{
    if (op == CO_OP_FIND)
        return MAP(find)(m, key, old);
    if (op == CO_OP_ERASE)
        return MAP(take)(m, key, old, tally);
    if (op >= (CO_MAP_VALUE_BITS ? CO_OPS : CO_OP_ERASE))
        return CO_MAP_BAD;
    for (;;) {
        struct MAP_STRUCT(place) at;
        int r = MAP(seek)(m, key, CO_SEEK_INSERT, op == CO_OP_COUNT ? (CO_MAP_VALUE)1 : operand, &at);
        if (r == CO_MAP_NEW)
            MAP(tally)(&at, tally);
        if (r != CO_MAP_HIT)
            return r;
        if (op == CO_OP_INSERT) {
            *old = VALUE_OF(at.word);
            return r;
        }
        if (MAP(change)(m, &at, op, operand, old))
            return r;
    }
}

/* The same in any launch; BAD where pairs change by halves. */
CO_INLINE int MAP(apply)(const cohort_map_view *m, co_u32 op, CO_MAP_KEY key, CO_MAP_VALUE operand,
                         CO_MAP_VALUE *old, co_map_tally *tally)
{
    if (CO_MAP_SLOT_BITS == 128 && !co_has_cas128() && op != CO_OP_FIND)
        return CO_MAP_BAD;
    return MAP(perform)(m, op, key, operand, old, tally);
}

/* The pair in a slot (the two side slots follow the table's): 1 if it is live. */
CO_INLINE int MAP(pair)(const cohort_map_view *m, co_u64 slot, CO_MAP_KEY *key, CO_MAP_VALUE *value)
{
    WORD word = LOAD(MAP(slot)(m, slot));
    co_u64 slots = MAP(slots)(m);
    *key = slot < slots ? KEY_OF(word) : (CO_MAP_KEY)(EMPTY_KEY - (CO_MAP_KEY)(slot - slots));
    *value = VALUE_OF(word);
    return slot < slots ? KEY_OF(word) < ERASED_KEY : KEY_OF(word) == 0;
}

/* HIT: it was in and keeps its value; NEW; FULL. */
CO_INLINE int MAP(insert)(const cohort_map_view *m, CO_MAP_KEY key, CO_MAP_VALUE value, co_map_tally *tally)
{
    CO_MAP_VALUE old;
    return MAP(apply)(m, CO_OP_INSERT, key, value, &old, tally);
}

/* The same in a launch in which nobody erases, and in which, where pairs change by halves, nobody looks at
 * *value. */
CO_INLINE int MAP(put)(const cohort_map_view *m, CO_MAP_KEY key, CO_MAP_VALUE *value, co_map_tally *tally)
{
    struct MAP_STRUCT(place) at;
    int r = MAP(seek)(m, key, CO_SEEK_PUT, *value, &at);
    if (r == CO_MAP_NEW)
        MAP(tally)(&at, tally);
    if (r == CO_MAP_HIT)
        *value = VALUE_OF(at.word);
    return r;
}

/* insert in a launch in which nobody erases: faster where plain loads are. HIT: *value is the one that it
 * keeps. */
CO_INLINE int MAP(insert_quiet)(const cohort_map_view *m, CO_MAP_KEY key, CO_MAP_VALUE *value,
                                co_map_tally *tally)
{
    return CO_MAP_SLOT_BITS == 128 && !co_has_cas128() ? CO_MAP_BAD : MAP(put)(m, key, value, tally);
}

/* HIT: its value was replaced; NEW; FULL. */
CO_INLINE int MAP(assign)(const cohort_map_view *m, CO_MAP_KEY key, CO_MAP_VALUE value, co_map_tally *tally)
{
    CO_MAP_VALUE old;
    return MAP(apply)(m, CO_OP_ASSIGN, key, value, &old, tally);
}

/* HIT: it was in, and is no more; MISS. */
CO_INLINE int MAP(erase)(const cohort_map_view *m, CO_MAP_KEY key, co_map_tally *tally)
{
    CO_MAP_VALUE old;
    return MAP(apply)(m, CO_OP_ERASE, key, 0, &old, tally);
}

#undef MAP
#undef MAP_STRUCT
#undef WORDS
#undef EMPTY_KEY
#undef ERASED_KEY
#undef WORD
#undef LOAD
#undef CAS
#undef SAME
#undef SECTOR
#undef LOAD_SECTOR
#undef READ_SECTOR
#undef GLANCE_AT
#undef KEY_OF
#undef VALUE_OF
#undef PAIR
#undef EMPTY_WORD
#undef CO_PASTE3
#undef CO_PASTE3_
#undef CO_MAP_SUFFIX
#undef CO_MAP_KEY
#undef CO_MAP_VALUE
#undef CO_MAP_VALUE_BITS
#undef CO_MAP_SLOT_BITS
