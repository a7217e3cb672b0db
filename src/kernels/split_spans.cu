/* split_spans.cu: splits of more entries than the tiles of split_together.cu have room for, in one launch as well (split_spans.h). One block
 * a multiprocessor, with nearly all of its shared memory: on Hopper and later.
 *
 * Functions as in split_together.cu. */
#include "kernels/split_spans.h"

CO_INLINE void split_spans(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    struct split_room r = split_span_room(s, memory, shape);
    split_span(s, &r, split_entries(s), shape);
}

/* As the instances of multisplit.cu. */
#define SPLIT_SPAN(what, more, bits, items, threads, name, form)                                        \
    CO_KERNEL_BOUND(split_spans_##what##_4_##bits##_##items##x##threads##_##name, struct split_step,    \
                    threads, 1)                                                                         \
    {                                                                                                   \
        struct split_shape shape = {items, threads, 4, bits, form, more, SPLIT_SPAN_EACH, SPLIT_WHOLE}; \
        CO_SHARED_DYNAMIC(co_u8, memory);                                                               \
        split_spans(args, memory, shape);                                                               \
    }
#define SPLIT_SPANS(what, more, bits, items, threads)                  \
    SPLIT_SPAN(what, more, bits, items, threads, field, SPLIT_FIELD)   \
    SPLIT_SPAN(what, more, bits, items, threads, ranged, SPLIT_RANGED) \
    SPLIT_SPAN(what, more, bits, items, threads, remainder, SPLIT_REMAINDER)
#define SPLIT_SPANS_OF_FEW(what, more, bits, items, threads)       \
    SPLIT_SPANS(what, more, bits, items, threads)                  \
    SPLIT_SPAN(what, more, bits, items, threads, test, SPLIT_TEST) \
    SPLIT_SPAN(what, more, bits, items, threads, searched, SPLIT_SEARCHED)

#if defined(COHORT_SIM)
SPLIT_SPANS_OF_FEW(keys, 0, 6, 6, 64)
SPLIT_SPANS(keys, 0, 8, 6, 64)
SPLIT_SPANS_OF_FEW(turns, 3, 6, 6, 64)
SPLIT_SPANS(turns, 3, 8, 6, 64)
#else
SPLIT_SPANS_OF_FEW(keys, 0, 6, 36, 896)
SPLIT_SPANS(keys, 0, 8, 36, 896)
SPLIT_SPANS_OF_FEW(turns, 3, 5, 36, 896)
SPLIT_SPANS_OF_FEW(turns, 3, 6, 36, 896)
SPLIT_SPANS(turns, 3, 8, 36, 896)
#endif
