/* shape/map_check_lines_width.h: every home of a table of LINES from outside is what a map may have left
 * there, for one width. Included by map_check_lines.h once per instance.
 *
 * Parameters: those of device/lines_width.h. */
#define CO_PASTE3_(a, b, c) a##b##c
#define CO_PASTE3(a, b, c)  CO_PASTE3_(a, b, c)
#define LINES(name)         CO_PASTE3(co_lines, CO_LINES_SUFFIX, _##name)
/* Of names in a word; then come claims, and the lock. */
#define BITS ((CO_LINES_NEAR + CO_LINES_FAR) * CO_LINES_SLOTS)

/* The pair under a name of a home whose word is w: it is where a search for its key ends, and its slot is
 * claimed. */
CO_INLINE int LINES(check_name)(const cohort_map_view *m, co_u64 home, co_u64 w, co_u32 name)
{
    const struct LINES(slot) s = LINES(slot_of)(m, home, name);
    const CO_LINES_KEY key = LINES(get_key)(m, s, 1);
    struct LINES(slot) found;
    return LINES(home)(m, key) == home && LINES(scan)(m, home, w, key, &found, 1) == name + 1 &&
           LINES(load)(m, s.home, 1) >> (BITS + s.at) & 1;
}

/* The first home that is none of a map's, or how many homes there are. The names of a home lead to slots that
 * differ, and a key's home alone names its slot, so no slot is named twice. */
CO_INLINE co_u64 LINES(check)(const cohort_map_view *m, struct map_check *n)
{
    const co_u32 slots = LINES(window)(m) * CO_LINES_SLOTS;
    for (co_u64 home = 0; home < m->pages; home++) {
        const co_u64 w = LINES(load)(m, home, 1);
        co_u32 names = (co_u32)w & ((1u << BITS) - 1);
        if (names >> slots || w >> (BITS + CO_LINES_SLOTS) & 1)
            return home;
        n->claimed += co_ones32((co_u32)(w >> BITS) & ((1u << CO_LINES_SLOTS) - 1));
        for (; names; names &= names - 1, n->taken++)
            if (!LINES(check_name)(m, home, w, co_first32(names)))
                return home;
    }
    return m->pages;
}

#undef CO_PASTE3_
#undef CO_PASTE3
#undef LINES
#undef BITS
#include "cohort/device/lines_end.h"
