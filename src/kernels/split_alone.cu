/* split_alone.cu: splits of so few entries that one block has them all: it counts, ranks and writes them as any tile (split_tile.h), and
 * since there is no other tile, its counts are the offsets. One launch, nothing to clear, no workspace. A large block, because all of it
 * runs on one multiprocessor; few items where few will do, because a lane goes through all of its own.
 *
 * Only functions that tell a number from an entry without a branch and without failing, and splitters: the others are counted first,
 * as splits of many entries are. */
#include "kernels/split_tile.h"

CO_INLINE void split_alone(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    struct split_room r = split_room_of(s, memory, shape);
    split_tile(s, &r, split_entries(s), 0, shape);
}

/* As the instances of multisplit.cu. */
#define SPLIT_ONE(what, more, widest, bits, items, threads, name, form)                                 \
    CO_KERNEL_BOUND(split_alone_##what##_##widest##_##bits##_##items##x##threads##_##name,              \
                    struct split_step, threads, 1)                                                      \
    {                                                                                                   \
        struct split_shape shape = {items, threads, widest, bits, form, more, SPLIT_ONLY, SPLIT_WHOLE}; \
        CO_SHARED_DYNAMIC(co_u8, memory);                                                               \
        split_alone(args, memory, shape);                                                               \
    }
#define SPLIT_FEW(what, more, widest, bits, items, threads)                 \
    SPLIT_ONE(what, more, widest, bits, items, threads, field, SPLIT_FIELD) \
    SPLIT_ONE(what, more, widest, bits, items, threads, test, SPLIT_TEST)
#define SPLIT_FEW_NARROW(what, more, widest, bits, items, threads)                  \
    SPLIT_FEW(what, more, widest, bits, items, threads)                             \
    SPLIT_ONE(what, more, widest, bits, items, threads, ranged, SPLIT_RANGED)       \
    SPLIT_ONE(what, more, widest, bits, items, threads, remainder, SPLIT_REMAINDER) \
    SPLIT_ONE(what, more, widest, bits, items, threads, searched, SPLIT_SEARCHED)

#if defined(COHORT_SIM)
SPLIT_FEW_NARROW(keys, 0, 4, 8, 3, 64)
SPLIT_FEW_NARROW(twins, 2, 8, 6, 1, 64)
SPLIT_FEW_NARROW(columns, 1, 4, 8, 3, 64)
SPLIT_FEW(columns, 1, 8, 8, 3, 64)
#else
SPLIT_FEW_NARROW(keys, 0, 4, 8, 8, 1024)
SPLIT_FEW_NARROW(twins, 2, 8, 6, 4, 1024)
SPLIT_FEW_NARROW(columns, 1, 4, 8, 8, 1024)
SPLIT_FEW(columns, 1, 8, 8, 4, 1024)
#endif
