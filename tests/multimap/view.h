/* view.h: a lookup by the device header: what a lane of view.cu, or a loop of the host's, does with one
 * key. */
#ifndef TEST_MULTIMAP_VIEW_H
#define TEST_MULTIMAP_VIEW_H

#include "cohort/device/multimap.h"

struct view_args {
    cohort_multimap_view view;
    co_u64 n;
    const void *keys;
    co_u64 *counts, *sums; /* of each key's values */
};

CO_INLINE void view_look(const struct view_args *a, co_u64 i)
{
    const int wide_key = a->view.width != 2, wide_value = a->view.width == 5;
    co_u64 sum = 0, count = 0, narrow = 0, key = 0;
    if (wide_key)
        key = co_read64((const co_u64 *)a->keys + i);
    else
        narrow = co_read32((const co_u32 *)a->keys + i);
    for (co_u32 level = 0; level < a->view.levels; level++) {
        const struct co_multimap_run run = wide_key ? co_multimap64_run(&a->view, level, key)
                                                    : co_multimap32_run(&a->view, level, (co_u32)narrow);
        for (co_u64 at = run.first; at < run.first + run.count; at++)
            sum += wide_value ? co_multimap_value64(&a->view, level, at)
                              : co_multimap_value32(&a->view, level, at);
        count += run.count;
    }
    /* of another width: none; all at once: the same */
    count += wide_key ? co_multimap32_count(&a->view, (co_u32)key) : co_multimap64_count(&a->view, narrow);
    count += wide_key ? co_multimap64_count(&a->view, key) : co_multimap32_count(&a->view, (co_u32)narrow);
    co_write64(a->counts + i, count);
    co_write64(a->sums + i, sum);
}

#endif
