/* shape/map_check_width.h: every slot of a table from outside is what a map may have left there, for one
 * width. Included by map_check.h once per instance.
 *
 * Parameters: those of device/map_width.h. */
#define CO_PASTE3_(a, b, c) a##b##c
#define CO_PASTE3(a, b, c)  CO_PASTE3_(a, b, c)
#define MAP(name)           CO_PASTE3(co_map, CO_MAP_SUFFIX, _##name)

/* A slot that holds no pair: erased, or empty, which it is in all its bytes. */
CO_INLINE int MAP(check_free)(const void *slot, struct map_check *n)
{
    const co_u32 *words = (const co_u32 *)slot;
    const co_u64 key = co_read32(words) | (sizeof(CO_MAP_KEY) == 8 ? (co_u64)co_read32(words + 1) << 32 : 0);
    if (key == (CO_MAP_KEY) ~(CO_MAP_KEY)1) {
        n->taken++;
        n->erased++;
        return 1;
    }
    co_u32 all = ~0u;
    for (co_u32 i = 0; i < CO_MAP_SLOT_BITS / 32; i++)
        all &= co_read32(words + i);
    return all == ~0u;
}

/* The first slot that is none of a map's, or how many slots there are. A pair is where a search for its key
 * ends, so no key is there twice. */
CO_INLINE co_u64 MAP(check)(const cohort_map_view *m, struct map_check *n)
{
    const co_u64 slots = MAP(slots)(m) + MAP_SIDE_SLOTS;
    for (co_u64 slot = 0; slot < slots; slot++) {
        struct MAP(place) at;
        CO_MAP_KEY key;
        CO_MAP_VALUE value;
        if (!MAP(pair)(m, slot, &key, &value)) {
            if (!MAP(check_free)(MAP(slot)(m, slot), n))
                return slot;
            continue;
        }
        if (MAP(seek)(m, key, CO_SEEK_QUIET, 0, &at) != CO_MAP_HIT || at.slot != slot)
            return slot;
        n->taken++;
    }
    return slots;
}

#include "shape/map_end.h"
