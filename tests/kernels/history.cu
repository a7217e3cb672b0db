/* history.cu: test kernels in words. list_W does each lane's list of operations on maps of one width
 * (op_lane.h), list_lines_W on those of LINES; publish_W passes messages in other memory through a map. */
#include "op_lane.h"

#define LIST_KERNEL(W)                                             \
    CO_KERNEL(list_##W, struct list_args)                          \
    {                                                              \
        co_u32 i = co_block() * co_threads() + co_thread();        \
        if (i >= args->cases * args->lanes)                        \
            return;                                                \
        if (args->apart)                                           \
            list_lane_##W(args, i % args->cases, i / args->cases); \
        else                                                       \
            list_lane_##W(args, i / args->lanes, i % args->lanes); \
    }

LIST_KERNEL(32_0)
LIST_KERNEL(32_32)
LIST_KERNEL(64_0)
LIST_KERNEL(64_32)
LIST_KERNEL(64_64)
LIST_KERNEL(lines_32_0)
LIST_KERNEL(lines_32_32)
LIST_KERNEL(lines_64_0)
LIST_KERNEL(lines_64_32)
LIST_KERNEL(lines_64_64)
LIST_KERNEL(lines_128_64)

/* The even lanes write a note each and put its number into the map under their key; the odd ones look for
 * the keys of all others, and read the notes that they find. The note is plain memory: it is the fences,
 * one on each side of the map, that make it safe. A note holds its number times 3 plus 1. records: what
 * each lane read of each note; 0: it was not there. */
#define PUBLISH_KERNEL(W, KEY, VALUE)                                                        \
    CO_KERNEL(publish_##W, struct list_args)                                                 \
    {                                                                                        \
        co_u32 i = co_block() * co_threads() + co_thread();                                  \
        co_map_tally tally = {0, 0};                                                         \
        if (i % 2 == 0) {                                                                    \
            co_write64(args->notes + i / 2, 3 * (co_u64)(i / 2) + 1);                        \
            co_fence();                                                                      \
            co_map##W##_insert(&args->view, (KEY)args->keys[i / 2], (VALUE)(i / 2), &tally); \
        }                                                                                    \
        for (co_u32 k = 0; i % 2 && 2 * k < args->lanes; k++) {                              \
            VALUE number;                                                                    \
            if (co_map##W##_find(&args->view, (KEY)args->keys[k], &number) != CO_MAP_HIT)    \
                continue;                                                                    \
            co_fence();                                                                      \
            co_write64(args->records + i * LIST_KEYS + k, co_read64(args->notes + number));  \
        }                                                                                    \
        co_map_flush(&args->view, &tally);                                                   \
    }

PUBLISH_KERNEL(32_32, co_u32, co_u32)
PUBLISH_KERNEL(64_64, co_u64, co_u64)
