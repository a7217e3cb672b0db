/* cohort/device/lines_width.h: the protocol of LINES for one width: words, slots and moves, and at its end
 * the operations (lines_operations.h). Included by lines.h once per instance, never alone. The steps are
 * those of the pseudo code in docs/hopscotch-protocol.md, and have its names.
 *
 * Parameters (undefined again at the end):
 *   CO_LINES_SUFFIX        of the names: 64_64 gives co_lines64_64_find
 *   CO_LINES_KEY           co_u32, co_u64 or co_u128
 *   CO_LINES_KEY_BITS      32, 64, 128
 *   CO_LINES_VALUE         co_u32 or co_u64 (for sets: a type that is never stored)
 *   CO_LINES_VALUE_BITS    0, 32, 64
 *   CO_LINES_SLOTS         of a home
 *   CO_LINES_NEAR, _FAR    homes of a window; CO_LINES_HOME: bytes of a home
 *
 * `alone` says that no other lane is at work on the table: then words are plain, and nothing is validated or
 * locked. */

#define CO_LINES_PASTE_(a, b, c) a##b##c
#define CO_LINES_PASTE(a, b, c)  CO_LINES_PASTE_(a, b, c)
#define LINES(name)              CO_LINES_PASTE(co_lines, CO_LINES_SUFFIX, _##name)
#define KEY                      CO_LINES_KEY
#define VALUE                    CO_LINES_VALUE

#define WINDOW     (CO_LINES_NEAR + CO_LINES_FAR) /* homes */
#define ALL_NAMES  (WINDOW * CO_LINES_SLOTS)      /* of slots: bits of a word from 0 on */
#define NAMES      ((1u << ALL_NAMES) - 1)
#define OWN_NAMES  ((1u << CO_LINES_SLOTS) - 1) /* of the home's own slots */
#define CLAIM(j)   (1ull << (ALL_NAMES + (j)))
#define CLAIMS     ((co_u64)OWN_NAMES << ALL_NAMES)
#define LOCK       (1ull << (ALL_NAMES + CO_LINES_SLOTS))
#define VERSION    (LOCK << 1) /* from there to the word's end */
#define AGAIN      (-1)        /* what an operation comes to: look again, beside the outcomes CO_MAP_... */
#define SAME(v, w) ((((v) ^ (w)) & ~(CLAIMS | LOCK)) == 0)

/* ---- keys ---------------------------------------------------------------------------------------------- */

CO_INLINE co_u64 LINES(hash)(KEY key, co_u64 seed)
{
#if CO_LINES_KEY_BITS == 128
    return co_hash128(key, seed);
#else
    return co_hash(key, seed);
#endif
}

CO_INLINE int LINES(same_key)(KEY a, KEY b)
{
#if CO_LINES_KEY_BITS == 128
    return co_same128(a, b);
#else
    return a == b;
#endif
}

/* ---- where things are ---------------------------------------------------------------------------------- */

CO_INLINE co_u64 LINES(home)(const cohort_map_view *m, KEY key)
{
    return ((LINES(hash)(key, m->seed) >> 32) * m->pages) >> 32;
}

/* Does the table have partner places? Else it is a window, of near homes alone. */
CO_INLINE int LINES(has_partners)(const cohort_map_view *m)
{
    return m->pages > WINDOW;
}

/* The first of the homes at a home's partner place: anywhere but so near that it overlaps the near ones. */
CO_INLINE co_u64 LINES(partner)(const cohort_map_view *m, co_u64 home)
{
    const co_u64 places = (co_u64)m->pages - WINDOW + 1,
                 at = home + CO_LINES_NEAR + (((co_hash(home, 0) >> 32) * places) >> 32);
    return at < m->pages ? at : at - m->pages;
}

/* How many homes the windows of this table have. */
CO_INLINE co_u32 LINES(window)(const cohort_map_view *m)
{
    return LINES(has_partners)(m) ? WINDOW : m->pages;
}

/* The home that is number `line` of a home's window. */
CO_INLINE co_u64 LINES(line)(const cohort_map_view *m, co_u64 home, co_u32 line)
{
    const co_u64 at = line < CO_LINES_NEAR || !LINES(has_partners)(m)
                          ? home + line
                          : LINES(partner)(m, home) + line - CO_LINES_NEAR;
    return at < m->pages ? at : at - m->pages;
}

/* A slot: the home that it lies in, and its number there. */
struct LINES(slot) {
    co_u64 home;
    co_u32 at;
};

CO_INLINE struct LINES(slot) LINES(slot_of)(const cohort_map_view *m, co_u64 home, co_u32 name)
{
    struct LINES(slot) s;
    s.home = LINES(line)(m, home, name / CO_LINES_SLOTS);
    s.at = name % CO_LINES_SLOTS;
    return s;
}

/* The name of a slot in a home's window, + 1; 0: it lies outside. */
CO_INLINE co_u32 LINES(name_of)(const cohort_map_view *m, co_u64 home, struct LINES(slot) s)
{
    const int partners = LINES(has_partners)(m);
    co_u64 line = s.home >= home ? s.home - home : s.home + m->pages - home;
    if (line >= CO_LINES_NEAR && partners) {
        const co_u64 far = LINES(partner)(m, home);
        line = s.home >= far ? s.home - far : s.home + m->pages - far;
        if (line >= CO_LINES_FAR)
            return 0;
        line += CO_LINES_NEAR;
    }
    return (co_u32)line * CO_LINES_SLOTS + s.at + 1;
}

CO_INLINE co_u64 *LINES(word)(const cohort_map_view *m, co_u64 home)
{
    return (co_u64 *)(void *)((char *)m->slots + home * CO_LINES_HOME);
}
/* A home's keys come right after its word; those of 16 bytes 8 bytes later, so that they are aligned. */
CO_INLINE KEY *LINES(keys)(const cohort_map_view *m, co_u64 home)
{
    return (KEY *)(void *)(LINES(word)(m, home) + (CO_LINES_KEY_BITS == 128 ? 2 : 1));
}
CO_INLINE KEY *LINES(key)(const cohort_map_view *m, struct LINES(slot) s)
{
    return LINES(keys)(m, s.home) + s.at;
}
CO_INLINE VALUE *LINES(value)(const cohort_map_view *m, struct LINES(slot) s)
{
    return (VALUE *)(void *)(LINES(keys)(m, s.home) + CO_LINES_SLOTS) + s.at;
}

/* ---- words --------------------------------------------------------------------------------------------- */

#if CO_LINES_KEY_BITS == 128
/* By two words. Whoever is not alone may have one of an old key and one of a new: no pair of words is a key
 * until the home's word has been looked at again. */
CO_INLINE KEY LINES(get_key)(const cohort_map_view *m, struct LINES(slot) s, int alone)
{
    const co_u64 *p = &LINES(key)(m, s)->lo;
    return alone ? co_make128(co_read64(p), co_read64(p + 1)) : co_make128(co_load64(p), co_load64(p + 1));
}

CO_INLINE void LINES(set_key)(const cohort_map_view *m, struct LINES(slot) s, KEY key, int alone)
{
    co_u64 *p = &LINES(key)(m, s)->lo;
    if (alone) {
        co_write64(p, key.lo);
        co_write64(p + 1, key.hi);
    } else {
        co_store64(p, key.lo);
        co_store64(p + 1, key.hi);
    }
}
#else
CO_INLINE KEY LINES(get_key)(const cohort_map_view *m, struct LINES(slot) s, int alone)
{
    const KEY *p = LINES(key)(m, s);
    if (sizeof(KEY) == 4)
        return (KEY)(alone ? co_read32((const co_u32 *)p) : co_load32((const co_u32 *)p));
    return (KEY)(alone ? co_read64((const co_u64 *)(const void *)p)
                       : co_load64((const co_u64 *)(const void *)p));
}

CO_INLINE void LINES(set_key)(const cohort_map_view *m, struct LINES(slot) s, KEY key, int alone)
{
    void *p = LINES(key)(m, s);
    if (sizeof(KEY) == 4) {
        if (alone)
            co_write32((co_u32 *)p, (co_u32)key);
        else
            co_store32((co_u32 *)p, (co_u32)key);
    } else {
        if (alone)
            co_write64((co_u64 *)p, key);
        else
            co_store64((co_u64 *)p, key);
    }
}
#endif

CO_INLINE VALUE LINES(get_value)(const cohort_map_view *m, struct LINES(slot) s, int alone)
{
    const void *p = LINES(value)(m, s);
    if (!CO_LINES_VALUE_BITS)
        return 0;
    if (sizeof(VALUE) == 4)
        return (VALUE)(alone ? co_read32((const co_u32 *)p) : co_load32((const co_u32 *)p));
    return (VALUE)(alone ? co_read64((const co_u64 *)p) : co_load64((const co_u64 *)p));
}

CO_INLINE void LINES(set_value)(const cohort_map_view *m, struct LINES(slot) s, VALUE value, int alone)
{
    void *p = LINES(value)(m, s);
    if (!CO_LINES_VALUE_BITS)
        return;
    if (sizeof(VALUE) == 4) {
        if (alone)
            co_write32((co_u32 *)p, (co_u32)value);
        else
            co_store32((co_u32 *)p, (co_u32)value);
    } else {
        if (alone)
            co_write64((co_u64 *)p, value);
        else
            co_store64((co_u64 *)p, value);
    }
}

/* A slot that is ours gets its pair. What is written comes after the claim, and what was seen by it goes
 * along with the pair: hence the fence, which is the claim's acquire and the fill's release in one. */
CO_INLINE void LINES(fill)(const cohort_map_view *m, struct LINES(slot) s, KEY key, VALUE value, int alone)
{
    if (!alone)
        co_fence();
    LINES(set_key)(m, s, key, alone);
    LINES(set_value)(m, s, value, alone);
}

/* A home's word, before the slots that it names are looked at. */
CO_INLINE co_u64 LINES(load)(const cohort_map_view *m, co_u64 home, int alone)
{
    return alone ? co_read64(LINES(word)(m, home)) : co_load_acquire64(LINES(word)(m, home));
}

/* Do names and version still stand, after slots have been looked at? */
CO_INLINE int LINES(still)(const cohort_map_view *m, co_u64 home, co_u64 w, int alone)
{
    if (alone)
        return 1;
    co_fence();
    return SAME(co_load64(LINES(word)(m, home)), w);
}

/* Adds to a home's word that was w, if names and version still are, and it is not locked; 1: done. Claims
 * in it may come and go. */
CO_INLINE int LINES(commit)(const cohort_map_view *m, co_u64 home, co_u64 w, co_u64 add, int alone)
{
    co_u64 *p = LINES(word)(m, home), expected = w & ~LOCK;
    if (alone) {
        co_write64(p, co_read64(p) + add);
        return 1;
    }
    for (;;) {
        const co_u64 seen = co_cas64(p, expected, expected + add);
        if (seen == expected)
            return 1;
        if (!SAME(seen, w) || seen & LOCK)
            return 0;
        expected = seen;
    }
}

/* 1: the home's names are ours alone to change, and the values under them. */
CO_INLINE int LINES(lock)(const cohort_map_view *m, co_u64 home, co_u64 w, int alone)
{
    if (alone)
        return 1;
    if (!LINES(commit)(m, home, w, LOCK, 0))
        return 0;
    co_fence();
    return 1;
}

CO_INLINE void LINES(unlock)(const cohort_map_view *m, co_u64 home, co_u64 add, int alone)
{
    co_u64 *p = LINES(word)(m, home);
    if (alone) {
        co_write64(p, co_read64(p) + add);
        return;
    }
    co_fence();
    co_add64(p, add - LOCK);
}

/* ---- slots: free, claimed, named ----------------------------------------------------------------------- */

/* A free slot of one home, whose word was w lately, ours now: its number + 1; 0: there is none. */
CO_INLINE co_u32 LINES(claim_in)(const cohort_map_view *m, co_u64 home, co_u64 w, int alone)
{
    co_u64 *p = LINES(word)(m, home);
    for (;;) {
        const co_u32 free = ~(co_u32)(w >> ALL_NAMES) & OWN_NAMES;
        if (!free)
            return 0;
        const co_u32 j = co_first32(free);
        if (alone) {
            co_write64(p, w | CLAIM(j));
            return j + 1;
        }
        w = co_or64(p, CLAIM(j));
        if (!(w & CLAIM(j)))
            return j + 1;
    }
}

/* A home's word, for its claims. */
CO_INLINE co_u64 LINES(glimpse)(const cohort_map_view *m, co_u64 home, int alone)
{
    return alone ? co_read64(LINES(word)(m, home)) : co_load64(LINES(word)(m, home));
}

/* A free slot of the window of a home whose word was w lately, ours now: its name + 1; 0: there is none. */
CO_INLINE co_u32 LINES(claim)(const cohort_map_view *m, co_u64 home, co_u64 w, int alone)
{
    const co_u32 lines = LINES(window)(m);
    for (co_u32 i = 0; i < lines; i++) {
        const co_u64 at = LINES(line)(m, home, i);
        const co_u32 got = LINES(claim_in)(m, at, i ? LINES(glimpse)(m, at, alone) : w, alone);
        if (got)
            return i * CO_LINES_SLOTS + got;
    }
    return 0;
}

CO_INLINE void LINES(retire)(const cohort_map_view *m, struct LINES(slot) s, int alone)
{
    co_u64 *p = LINES(word)(m, s.home);
    if (alone) {
        co_write64(p, co_read64(p) & ~CLAIM(s.at));
        return;
    }
    co_fence();
    co_and64(p, ~CLAIM(s.at));
}

/* ---- moves --------------------------------------------------------------------------------------------- */

/* The key under the name `from` of a home goes to the slot of the name `to`, which is ours. 1: done, and
 * the other slot is ours. 0: it was not to be had, and all is as before. */
CO_INLINE int LINES(move)(const cohort_map_view *m, co_u64 home, co_u32 from, co_u32 to, int alone)
{
    const struct LINES(slot) s = LINES(slot_of)(m, home, from), d = LINES(slot_of)(m, home, to);
    const co_u64 w = LINES(load)(m, home, alone), add = (1ull << to) - (1ull << from) + VERSION;
    if (!(w >> from & 1) || w & LOCK)
        return 0;
    if (CO_LINES_VALUE_BITS && !LINES(lock)(m, home, w, alone))
        return 0;
    LINES(fill)(m, d, LINES(get_key)(m, s, alone), LINES(get_value)(m, s, alone), alone);
    if (CO_LINES_VALUE_BITS) {
        LINES(unlock)(m, home, add, alone);
        return 1;
    }
    if (!alone)
        co_fence();
    if (!LINES(commit)(m, home, w, add, alone))
        return 0;
    if (!alone)
        co_fence();
    return 1;
}

/* Who has a slot: the home of the key in it, and the slot's name there; 0: no home names it now, so that
 * some lane holds it. */
CO_INLINE int LINES(owner)(const cohort_map_view *m, struct LINES(slot) s, co_u64 *home, co_u32 *name,
                           int alone)
{
    *home = LINES(home)(m, LINES(get_key)(m, s, alone));
    *name = LINES(name_of)(m, *home, s);
    return *name && LINES(load)(m, *home, alone) >> --*name & 1;
}

/* One way at random: from a slot of the home's window to a slot of its key's window, and so on to a free
 * slot, and then all keys on it move by one, the last one first. The name of the slot that is ours then, +
 * 1. */
CO_APART co_u32 LINES(make_way)(const cohort_map_view *m, co_u64 home, co_u64 dice, co_lines_tally *tally,
                                int alone)
{
    co_u64 homes[CO_LINES_MOVES];
    co_u32 from[CO_LINES_MOVES], to[CO_LINES_MOVES];
    const co_u32 names = LINES(window)(m) * CO_LINES_SLOTS;
    const co_u32 first = (co_u32)(dice & 0xffff) * names >> 16;
    struct LINES(slot) s = LINES(slot_of)(m, home, first);
    co_u32 n = 0;
    for (;; n++) {
        if (n == CO_LINES_MOVES || !LINES(owner)(m, s, &homes[n], &from[n], alone))
            return 0;
        const co_u32 got = LINES(claim)(m, homes[n], LINES(glimpse)(m, homes[n], alone), alone);
        to[n] = got ? got - 1 : (co_u32)(dice >> 16 * ((n + 1) % 4) & 0xffff) * names >> 16;
        s = LINES(slot_of)(m, homes[n], to[n]);
        if (got)
            break;
    }
    for (;; n--) {
        if (!LINES(move)(m, homes[n], from[n], to[n], alone)) {
            LINES(retire)(m, LINES(slot_of)(m, homes[n], to[n]), alone);
            return 0;
        }
        tally->displaced++;
        if (!n)
            return first + 1;
    }
}

/* A slot of a home's window in which there is no free one, ours after moves: its name + 1; 0: there is
 * none. far: by the ways at random, too. *held: some lane holds a slot of the window, and may give it
 * back. */
CO_APART co_u32 LINES(make_room)(const cohort_map_view *m, co_u64 home, co_u64 w, int far, int *held,
                                 co_lines_tally *tally, int alone)
{
    const co_u32 names = LINES(window)(m) * CO_LINES_SLOTS;
    *held = 0;
    for (co_u32 i = 0; i < names; i++) {
        if (w >> i & 1)
            continue; /* a key of the home's own */
        const struct LINES(slot) s = LINES(slot_of)(m, home, i);
        co_u64 g;
        co_u32 from;
        if (!LINES(owner)(m, s, &g, &from, alone)) {
            *held = 1;
            continue;
        }
        const co_u32 to = g == home ? 0 : LINES(claim)(m, g, LINES(glimpse)(m, g, alone), alone);
        if (!to)
            continue;
        if (LINES(move)(m, g, from, to - 1, alone)) {
            tally->displaced++;
            return i + 1;
        }
        LINES(retire)(m, LINES(slot_of)(m, g, to - 1), alone);
        *held = 1;
    }
    for (co_u32 i = 0; far && LINES(has_partners)(m) && i < CO_LINES_TRIES; i++) {
        const co_u32 got =
            LINES(make_way)(m, home, co_hash(home * CO_LINES_TRIES + i, m->seed), tally, alone);
        if (got)
            return got;
    }
    return 0;
}

/* A slot that is ours goes to a key of the home that it lies in which lies elsewhere; what is ours then is
 * free again. */
CO_INLINE void LINES(pull_home)(const cohort_map_view *m, struct LINES(slot) s, co_lines_tally *tally,
                                int alone)
{
    const co_u64 w = LINES(glimpse)(m, s.home, alone);
    co_u32 away = (co_u32)w & NAMES & ~OWN_NAMES, last = 0;
    if (away) {
        while (away) { /* the last one: it lies furthest */
            last = co_first32(away);
            away &= away - 1;
        }
        if (LINES(move)(m, s.home, last, s.at, alone)) {
            tally->pulled++;
            s = LINES(slot_of)(m, s.home, last);
        }
    }
    LINES(retire)(m, s, alone);
}

#include "lines_operations.h"

#undef LINES
#undef KEY
#undef VALUE
#undef WINDOW
#undef ALL_NAMES
#undef NAMES
#undef OWN_NAMES
#undef CLAIM
#undef CLAIMS
#undef LOCK
#undef VERSION
#undef SAME
#undef AGAIN
#undef CO_LINES_PASTE
#undef CO_LINES_PASTE_
#include "lines_end.h"
