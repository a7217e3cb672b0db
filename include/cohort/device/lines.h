/* cohort/device/lines.h: the map with the layout COHORT_LAYOUT_LINES inside kernels and threads: find,
 * contains, insert, assign, apply, erase, by single lanes. Names and outcomes are those of
 * cohort/device/map.h, with `lines` in the place of `map`:
 *
 *     co_lines_tally tally = {0, 0, 0, 0, 0};
 *     co_u64 value;
 *     if (co_lines64_64_find(&view, key, &value) == CO_MAP_HIT) ...
 *     if (co_lines64_64_insert(&view, key, value, &tally) == CO_MAP_FULL) ...
 *     co_lines_flush(&view, &tally);        // once, at the end: keeps cohort_map_size right
 *
 * A key of co_lines128_64 is a co_u128: co_make128(low, high), as two words in the caller's arrays.
 *
 * The view is cohort_map_get_view's of a map of this layout; its `version` is CO_LINES_VIEW_VERSION. It stays
 * valid until the table grows.
 *
 * Order. The operations on one key are linearizable, in any mixture, and a slot whose key was erased is free
 * at once. Capacity is fixed while a view is in use: an insert can answer CO_MAP_FULL, which changes nothing,
 * and may do so while others hold slots that they will give back.
 *
 * Outcomes of co_lines64_64_apply(&view, op, key, operand, &old, &tally), where op is any CO_OP_...:
 *
 *     CO_MAP_HIT    the key was in; `old` is the value that it had just before (of a set: 0). FIND and
 *                   INSERT have changed nothing, ERASE has taken the key out, the others have set its value
 *     CO_MAP_MISS   FIND, ERASE: the key was not in
 *     CO_MAP_NEW    the others: the key was not in, and is in now, with the operand (COUNT: with 1)
 *     CO_MAP_FULL   the others: the key is not in, there is no slot for it, and nothing is changed
 *     CO_MAP_BAD    the op is none; of a set also ADD to COUNT. Nothing is done
 *
 * But for HIT, `old` stays as it was. The tally is that of insert, assign and erase.
 *
 * Cost. O(1). find and contains read the homes of the key's window that have keys of its home: 1 to 15, on
 * average less than 1.5 up to load 0.8. insert of a new key adds the way to the first free slot of the
 * window; where there is none it tries to move a key from each of its 30 slots, then CO_LINES_TRIES ways of
 * up to CO_LINES_MOVES moves, and while other lanes hold slots all of it up to CO_LINES_WAITS times. erase
 * moves one other key at most. In sectors: docs/hopscotch-protocol.md, "What an operation costs".
 *
 * Progress. find and contains never write, lock or wait, and look again only if an insert, an erase or a move
 * took effect in the key's home meanwhile. find_quiet, in a launch without changes, looks once. insert and
 * erase are lock-free, but for changes of values and moves in the same home, which hold its lock for one
 * value or one pair. assign and apply of a key that is there take that lock, unless the value stays as it is.
 * No lane waits for anything while it holds a lock. Sets have no locks: there all operations are lock-free.
 *
 * The algorithm and its proof are docs/hopscotch-protocol.md. A table is an array of homes of 64 bytes, in
 * the widths 32/0, 32/32 and 64/0 of 32: a word, then the keys of its slots (of 16 bytes: from byte 16
 * on), then their values. The word's low bits name the slots of the home's window that hold its keys; then
 * come claim bits of the home's own slots, a lock bit, and a version, which fills the word up. */
#ifndef COHORT_DEVICE_LINES_H
#define COHORT_DEVICE_LINES_H

#include "map.h"

#define CO_LINES_VIEW_VERSION 0x10001u

#define CO_LINES_MOVES 4u /* that make room for a key, at most */
#ifndef CO_LINES_TRIES
#    define CO_LINES_TRIES 256u /* ways at random to do so */
#endif
#ifndef CO_LINES_WAITS
#    define CO_LINES_WAITS \
        64u /* times that a slot is waited for which another lane holds and may give back */
#endif

/* What one lane has done since the last flush. */
typedef struct co_lines_tally {
    co_u32 added, erased; /* keys */
    co_u32 displaced;     /* keys that were moved to make room for others, */
    co_u32 pulled;        /* and into their own home, when a slot there became free */
    co_u32 retried;       /* looks at a home that had to be repeated, because another lane changed it */
} co_lines_tally;

/* Adds what the lane has tallied to the map's counters. */
CO_INLINE void co_lines_flush(const cohort_map_view *m, co_lines_tally *tally)
{
    const co_u64 more = (co_u64)tally->added - tally->erased;
    if (more)
        co_add64(&m->counters->taken, more);
    if (tally->displaced)
        co_add64(&m->counters->displaced, tally->displaced);
    if (tally->pulled)
        co_add64(&m->counters->pulled, tally->pulled);
    if (tally->retried)
        co_add64(&m->counters->retried, tally->retried);
    tally->added = tally->erased = tally->displaced = tally->pulled = tally->retried = 0;
}

#define CO_LINES_FILE "lines_width.h"
#include "lines_instances.h"

#endif
