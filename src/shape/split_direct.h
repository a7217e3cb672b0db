/* shape/split_direct.h: the memory of a warp of the methods DIRECT and WARP. Plain C, seen by the CUDA
 * backend and by the kernels. */
#ifndef COHORT_SHAPE_SPLIT_DIRECT_H
#define COHORT_SHAPE_SPLIT_DIRECT_H

#include "shape/split_step.h"

#define SPLIT_DIRECT_BUCKETS 256u /* at most: a lane is in charge of every 32nd, 8 of them */

/* Rows of 32 entries that a warp has in hand, as the instances are compiled. */
#define SPLIT_DIRECT_ITEMS_GPU 8
#define SPLIT_WARP_ITEMS_GPU   16
#define SPLIT_DIRECT_ITEMS_SIM 3
#define SPLIT_WARP_ITEMS_SIM   3

/* A warp's part of its block's shared memory, in bytes from its beginning, where the slots are. DIRECT has
 * none of these, nor owners of them: widest is 0. Bases and counters have one more, of what is left out. */
struct split_warp_layout {
    co_u32 next, bases, counters, mine, owners, end;
};

CO_INLINE struct split_warp_layout split_warp_layout(co_u32 buckets, co_u32 entries, co_u32 widest)
{
    struct split_warp_layout l;
    l.next = entries * widest;
    l.bases = l.next + buckets * 8;
    l.counters = l.bases + (buckets + 1) * 8;
    l.mine = l.counters + (buckets + 1) * 4;
    l.owners = l.mine + entries * 4;
    l.end = (l.owners + (widest ? entries * 2 : 0) + 15) / 16 * 16;
    return l;
}

#endif
