/* split_together.cu: splits of so few entries that all tiles are at work at a time (split_together.h): one launch, in which entries are
 * read once. Large blocks, one a multiprocessor: the fewer tiles there are, the less they tell each other. Few items where few
 * will do, because a lane goes through all of its own.
 *
 * Functions as in split_alone.cu, and keys alone or pairs, of 4 bytes each. */
#include "kernels/split_tile.h"

CO_INLINE void split_together(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    struct split_room r = split_room_of(s, memory, shape);
    split_tile(s, &r, split_entries(s), (co_u32)co_block(), shape);
}

/* As the instances of multisplit.cu. */
#define SPLIT_SOME(what, more, widest, bits, items, threads, name, form)                                    \
    CO_KERNEL_BOUND(split_together_##what##_##widest##_##bits##_##items##x##threads##_##name,               \
                    struct split_step, threads, 1)                                                          \
    {                                                                                                       \
        struct split_shape shape = {items, threads, widest, bits, form, more, SPLIT_ONE_EACH, SPLIT_WHOLE}; \
        CO_SHARED_DYNAMIC(co_u8, memory);                                                                   \
        split_together(args, memory, shape);                                                                \
    }
#define SPLIT_FORMS(what, more, widest, bits, items, threads)                  \
    SPLIT_SOME(what, more, widest, bits, items, threads, field, SPLIT_FIELD)   \
    SPLIT_SOME(what, more, widest, bits, items, threads, test, SPLIT_TEST)     \
    SPLIT_SOME(what, more, widest, bits, items, threads, ranged, SPLIT_RANGED) \
    SPLIT_SOME(what, more, widest, bits, items, threads, remainder, SPLIT_REMAINDER)
#define SPLIT_FORMS_OF_FEW(what, more, widest, bits, items, threads) \
    SPLIT_FORMS(what, more, widest, bits, items, threads)            \
    SPLIT_SOME(what, more, widest, bits, items, threads, searched, SPLIT_SEARCHED)

#if defined(COHORT_SIM)
SPLIT_FORMS_OF_FEW(keys, 0, 4, 8, 3, 64)
SPLIT_FORMS_OF_FEW(twins, 2, 8, 6, 1, 64)
SPLIT_FORMS_OF_FEW(twins, 2, 8, 8, 3, 64)
#else
SPLIT_FORMS_OF_FEW(keys, 0, 4, 8, 4, 1024)
SPLIT_FORMS_OF_FEW(keys, 0, 4, 8, 16, 1024)
SPLIT_FORMS_OF_FEW(twins, 2, 8, 6, 4, 1024)
SPLIT_FORMS_OF_FEW(twins, 2, 8, 6, 8, 1024)
SPLIT_FORMS_OF_FEW(twins, 2, 8, 6, 16, 1024)
SPLIT_FORMS(twins, 2, 8, 8, 4, 1024)
SPLIT_FORMS(twins, 2, 8, 8, 16, 1024)
#endif
