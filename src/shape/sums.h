/* shape/sums.h: what the kernels of sums are told. Plain C, seen by the CUDA backend and by the kernels.
 *
 * A tile is SUMS_CHUNKS chunks a warp, a chunk 16 bytes a lane. Tiles begin at addresses that are multiples of 16, so the
 * first one may begin before the array: its first `lead` entries are none. */
#ifndef COHORT_SHAPE_SUMS_H
#define COHORT_SHAPE_SUMS_H

#include "cohort/device/lane.h"

#define SUMS_CHUNKS_GPU 4u
#define SUMS_CHUNKS_SIM 1u
#define SUMS_WARPS      8u /* of a block, at most */

/* Of a reduction: chunks that a lane asks for at a time, and blocks a multiprocessor, at most. */
#define REDUCE_CHUNKS_GPU 4u
#define REDUCE_CHUNKS_SIM 2u
#define REDUCE_BLOCKS_GPU 64u
#define REDUCE_BLOCKS_SIM 2u

struct prefix_step {
    const void *in;
    void *out;
    co_u64 n, tiles;
    co_u64 lead;      /* entries of the first tile that lie before the array */
    co_u32 inclusive; /* 1: out[i] has in[i] in it */
    co_u32 vectors;   /* 1: `out` is aligned as `in` is */
    void *words;      /* of the look-back, cleared; and */
    co_u32 *tickets;  /* its counter. NULL: there is one tile */
};

struct reduce_step {
    const void *in;
    co_u64 n;
    co_u64 lead; /* entries of the first 16 bytes that lie before the array */
    co_u32 op;
    co_u32 reserved;
    co_u64 *out; /* holds the operation's neutral element */
};

enum { REDUCE_ADD = 0, REDUCE_MIN = 1, REDUCE_MAX = 2 };

#endif
