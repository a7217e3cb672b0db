/* shape/compact.h: what the kernels of compaction are told. Plain C, seen by the CUDA backend and by the
 * kernels.
 *
 * A tile is COMPACT_CHUNKS chunks a warp, a chunk 16 bytes of keys a lane; tiles begin at addresses that are
 * multiples of 16, so the first `lead` entries of the first one are none. */
#ifndef COHORT_SHAPE_COMPACT_H
#define COHORT_SHAPE_COMPACT_H

#include "shape/multisplit.h"

#define COMPACT_CHUNKS_GPU 7u
#define COMPACT_CHUNKS_SIM 1u
/* Blocks a multiprocessor, that take tiles one after the other, and those whose tiles have orders too. */
#define COMPACT_BLOCKS_GPU         3u
#define COMPACT_BLOCKS_SIM         2u
#define COMPACT_BLOCKS_ORDERED_GPU 4u
#define COMPACT_BLOCKS_ORDERED_SIM 2u
#define COMPACT_THREADS            256u /* of a block, at most */

struct compact_step {
    co_u64 n, tiles, lead;
    const void *keys;
    void *kept, *rejected; /* NULL: not wanted */
    struct split_fn fn;    /* kept: id not 0. Kind 0: */
    const co_u32 *where;   /* kept: bit is 1 */
    co_u64 *first_bad;     /* the least index whose key is in no table */
    co_u64 *total;         /* NULL: not wanted */
    co_u64 segments;
    const co_u64 *segment_offsets;
    co_u64 *segment_kept; /* NULL: not wanted */
    void *words;          /* of the look-back, cleared; and */
    co_u32 *tickets;      /* its counter. NULL: there is one tile */
    co_u32 columns;
    co_u32 ordered; /* 1: columns or segments need to know which entry came to which place */
    co_u32 others;  /* 1: rejected entries go somewhere */
    co_u32 vectors; /* 1: keys may be read 16 bytes at a time */
    struct batch_column column[BATCH_COLUMNS_MOST]; /* in NULL: 8 bytes, the index of the entry */
    void *column_rejected[BATCH_COLUMNS_MOST];
};

/* Run i of *total ends where the next one begins, the last with the array. */
struct compact_lengths {
    co_u64 n;
    const co_u64 *total, *starts;
    co_u64 *lengths;
};

CO_INLINE co_u64 compact_length(const struct compact_lengths *s, co_u64 total, co_u64 i)
{
    return (i + 1 < total ? co_read64(s->starts + i + 1) : s->n) - co_read64(s->starts + i);
}

#endif
