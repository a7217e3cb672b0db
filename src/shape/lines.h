/* shape/lines.h: the sizes of a map with the layout COHORT_LAYOUT_LINES. What a batch or a sweep hands down
 * is shape/map.h's; `pages` of its view are homes, mask and reach are 0.
 *
 * Shape. A table is homes of 64 bytes, or 32, then padding to 128 bytes, then one struct of counters. A free
 * table is all zeros. */
#ifndef COHORT_SHAPE_LINES_H
#define COHORT_SHAPE_LINES_H

#include "cohort/device/lines.h"
#include "shape/map.h"

/* Slots of a home; 0: there is no such table of this width. */
CO_INLINE co_u32 lines_home_slots(co_u32 width)
{
    switch (width) {
    case 1: /* 32/0 */
        return 6;
    case 2: /* 32/32 */
    case 3: /* 64/0 */
        return 3;
    case 4: /* 64/32 */
        return 4;
    case 5: /* 64/64 */
        return 3;
    case 6: /* 128/64 */
        return 2;
    default:
        return 0;
    }
}

/* Bytes of a home. */
CO_INLINE co_u64 lines_home_bytes(co_u32 width)
{
    return width <= 3 ? 32 : 64;
}

CO_INLINE co_u64 lines_slots(const cohort_map_view *m)
{
    return (co_u64)m->pages * lines_home_slots(m->width);
}

CO_INLINE co_u64 lines_counters_offset(const cohort_map_view *m)
{
    return (m->pages * lines_home_bytes(m->width) + 127) & ~127ull;
}

CO_INLINE co_u64 lines_table_bytes(const cohort_map_view *m)
{
    return lines_counters_offset(m) + sizeof(struct co_map_counters);
}

/* The slots of the largest table: homes are numbered by 32 bits. */
CO_INLINE co_u64 lines_slots_most(co_u32 width)
{
    return lines_home_slots(width) * 0xffffffffull;
}

/* Sets the view's sizes for at least `slots` slots. 0 if no table can have that many. */
CO_INLINE int lines_shape(cohort_map_view *m, co_u64 slots)
{
    const co_u32 each = lines_home_slots(m->width);
    if (!each || slots > lines_slots_most(m->width))
        return 0;
    m->pages = slots > each ? (co_u32)((slots + each - 1) / each) : 1;
    m->mask = m->reach = 0;
    return 1;
}

#endif
