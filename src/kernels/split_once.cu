/* split_once.cu: splits in one launch, in which nothing is cleared and no table is made:
 *
 *   alone     of so few entries that one block has them all: it counts, ranks and writes them as any tile
 *             (split_tile.h), and since there is no other tile, its counts are the offsets. No workspace
 *   together  of so few that all tiles are at work at a time (split_together.h); entries are read once
 *   spans     of more than these tiles have shared memory for: a block has a span of some tiles
 *             (split_spans.h). One block a multiprocessor, with nearly all of its shared memory: on Hopper
 *             and later
 *
 * Only functions that tell a number from an entry without a branch and without failing, and splitters: the
 * others are counted first, as splits of many entries are. Of columns only alone does more than one of 4
 * bytes. */
#include "kernels/split_spans.h"

CO_INLINE void split_once(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    if (shape.way == SPLIT_SPANS_TOGETHER) {
        struct split_tile r = split_span_tile_of(s, memory, shape);
        split_span(s, &r, split_entries(s), shape);
    } else {
        struct split_tile r = split_tile_of(s, memory, shape);
        split_do_tile(s, &r, split_entries(s), shape.way == SPLIT_TOGETHER ? (co_u32)co_block() : 0, shape);
    }
}

#define SPLIT_KERNEL(form, way, payload, loading, bits, items, threads, blocks)                       \
    CO_KERNEL_BOUND(split_once_##way##_##payload##_##loading##_##bits##_##items##x##threads##_##form, \
                    struct split_step, threads, blocks)                                               \
    {                                                                                                 \
        struct split_shape shape = SPLIT_SHAPE(form, way, payload, loading, bits, items, threads);    \
        CO_SHARED_DYNAMIC(co_u8, memory);                                                             \
        split_once(args, memory, shape);                                                              \
    }
#define SPLIT_KERNELS(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    SPLIT_FORMS_##forms(SPLIT_KERNEL, way, payload, loading, bits, items, threads, blocks)

SPLIT_ONCE_INSTANCES(SPLIT_KERNELS)
