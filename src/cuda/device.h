/* device.h: what the files of the CUDA backend share: the state of a context on a GPU, and how work is
 * launched.
 *
 * Every entry runs with the device's primary context current and leaves the caller's as it was: gpu_enter
 * and gpu_leave, which nest. gpu_launch does so by itself, so an entry that only launches need not. */
#ifndef COHORT_CUDA_DEVICE_H
#define COHORT_CUDA_DEVICE_H

#include "core/arena.h"
#include "backend/context.h"
#include "driver.h"
#include "module.h"
#include "shape/multisplit.h"

/* ---- tuning.c: numbers that depend on the device ------------------------------------------------------- */

/* A row serves the devices of `driver` from this architecture on, up to the next row's. */
struct gpu_tuning {
    const char *driver;
    unsigned architecture;
    unsigned block;          /* threads of a block, a multiple of 32; kernels are compiled for at most 256 */
    unsigned blocks;         /* blocks a multiprocessor, at most; a grid walks what is more */
    uint64_t chunk_bytes;    /* of host data in one piece of a stream, all columns together; at most, */
    uint64_t least_chunk;    /* and at least, where the data is not less */
    unsigned copy_threads;   /* that copy between the caller's memory and pinned memory */
    uint64_t limit_accesses; /* random accesses in one run of a limit */
    uint64_t link_bytes;     /* bytes in one run of a host-link limit */
    unsigned chunks;         /* in a warp's part of a tile of sums, each 16 bytes a lane */
    unsigned tile_blocks;    /* blocks a multiprocessor that take such tiles, one after the other */
    unsigned compact_chunks, compact_blocks; /* the same of compactions, */
    unsigned compact_blocks_ordered;         /* blocks where the order of entries is wanted, */
    unsigned reduce_chunks, reduce_blocks;   /* and of reductions */
    unsigned build_pages;                    /* of a table, from which on large batches go by whole pages */
    unsigned build_blocks;  /* blocks a multiprocessor that have a page each in shared memory, */
    unsigned build_threads; /* and threads of such a block; kernels are compiled for at most 512 */
    unsigned build_repeats; /* entries of a sample whose key came before it, from which on no page is built */
    /* What a lookup by pages costs, in eighths of a bucket's read, by slots of up to 8 bytes and of 16; and
     * how much more if it finds its key. */
    unsigned seek_dear[2], seek_found;
    unsigned sort_threads[11]; /* of a block, of each sort_kind of shape/sort.h, */
    unsigned sort_items[11];   /* entries a lane, */
    uint64_t sort_most[11];    /* and of how many entries it is, at most */
    uint64_t sort_short;       /* of fewer entries a look-back has words of 32 bits; at most 2^30 */
    uint64_t ledger;           /* entries of a ledger of additions, a power of two */
    uint64_t ledger_batch;     /* entries of a batch that gets one, at least */
    unsigned hot;              /* places of a block's table of hot keys, a power of two */
    unsigned change_turns;     /* that a block of a batch that changes a map has, at least, */
    unsigned change_least;     /* if so many blocks a multiprocessor have them */
    /* Sums by key (kernels/map_sums.cu), of slots of up to 8 bytes and of 16: places of a block's table,
     * threads of a block, blocks a multiprocessor. Entries of a batch at least, and of a sample; keys that
     * come once in it at most if they are few. */
    unsigned sums_places[2], sums_threads[2], sums_blocks[2];
    unsigned sums_batch, sums_sample, sums_singles;
    /* Entries of a batch, at least, that go by parts, and parts, at most; and entries for four slots of the
     * table, at least: keys that hardly repeat are quicker one by one, and a sample does not see it. */
    unsigned sums_split, sums_parts, sums_quarters;
    uint64_t keys_round; /* rows that a table of keys takes at a time, at most; less than 2^32 - 2 */
    /* Of few groups: bytes of a block's table of them, at most, and blocks a multiprocessor. */
    unsigned group_bytes, group_blocks;
};

const struct gpu_tuning *gpu_tuning_for(const struct cuda_driver *driver, unsigned architecture);

/* The grids of the map's batches: threads of a block and blocks a multiprocessor, at most. A row serves
 * devices as above. Lookups want more lanes than what changes the table. */
struct map_tuning {
    const char *driver;
    unsigned architecture;
    unsigned look_block, look_blocks;
    unsigned change_block, change_blocks;
    unsigned relaxed; /* 1: lookups by relaxed loads, to be compared */
};

/* The device's row, or what COHORT_MAP_TUNING says in the environment: the numbers after `architecture`,
 * with commas. 0: it says something else. */
int map_tuning_for(const struct cuda_driver *driver, unsigned architecture, struct map_tuning *row);

/* ---- device.c: errors, entering, launching ------------------------------------------------------------- */

struct gpu_stream;
struct gpu_user;

struct gpu {
    const struct cuda_driver *driver;
    const struct gpu_tuning *tuning;
    struct map_tuning maps;
    cuda_device device;
    int ordinal;
    cuda_context primary;
    cuda_stream own;    /* the context's own stream */
    cuda_stream stream; /* where work goes: `own`, or the caller's */
    cuda_event order;   /* between an old stream and a new one */
    unsigned architecture, multiprocessors;
    unsigned shared_most; /* bytes of shared memory that a block may ask for */
    unsigned overlaps;    /* a kernel may be launched while the one before it ends */
    uint64_t l2_bytes, memory_bytes;
    struct gpu_modules modules;
    struct gpu_stream *streaming; /* batch.c: made when first needed */
    struct gpu_user *users;       /* jit.c: functions of the user's that have been met */
    co_u32
        *published; /* split_once.c: what blocks of a launch publish to each other; made when first needed */
    unsigned publish_serial;   /* of the next such launch */
    struct gpu_advice *advice; /* map_build.c: what samples of lookups came to; made when first needed */
    char name[256];
};

static inline struct gpu *gpu_of(cohort_context *context)
{
    return context->device;
}

/* COHORT_OK, or the driver's error as a status with a message: what was being done, and the error's name. */
cohort_status gpu_check(cohort_context *context, cuda_result result, const char *doing);

/* COHORT_OK: the device is current, and gpu_leave is due, which returns `status`. */
cohort_status gpu_enter(cohort_context *context);
cohort_status gpu_leave(cohort_context *context, cohort_status status);

/* Is the context's stream being captured, or does nobody know? */
int gpu_capturing(cohort_context *context);

/* Enqueues a kernel on the context's stream. `args` is the kernel's one parameter, a struct, which is
 * copied. The grid has a thread for each of `items`, or as many as the tuning says: the kernel walks its
 * items with the grid's stride. With 0 items nothing is done. */
cohort_status gpu_launch(cohort_context *context, const char *kernel, uint64_t items, const void *args);

/* The same of kernels that walk in a map's table: with the grid's two numbers spelled out, and only when
 * the kernel before has ended. */
cohort_status gpu_launch_walks(cohort_context *context, const char *kernel, uint64_t items, unsigned block,
                               unsigned blocks, const void *args);

/* The same with the grid spelled out: `blocks` blocks of `block` threads, and bytes of shared memory for
 * each. */
cohort_status gpu_launch_grid(cohort_context *context, const char *kernel, unsigned blocks, unsigned block,
                              unsigned shared_bytes, const void *args);

/* The same with a warp for each of the items, and so many bytes of shared memory a warp. */
cohort_status gpu_launch_warps(cohort_context *context, const char *kernel, uint64_t items,
                               unsigned shared_bytes, const void *args);

/* ---- jit.c: functions of the user's -------------------------------------------------------------------- */

/* Enqueues ids[i] = the user's function of keys[i], n of them, with the state that fn->data is. The first
 * time that a function is met it is compiled: seconds. COHORT_UNSUPPORTED: no source, no compiler;
 * COHORT_RANGE: it does not compile. With n = 0 it is compiled all the same. */
cohort_status gpu_user_ids(cohort_context *context, const struct split_fn *fn, const cohort_fn *user,
                           uint64_t n, const void *keys, uint32_t key_bytes, co_u32 *ids);

/* With the device current. */
void gpu_users_free(struct gpu *g);

/* ---- fn.c: ids that are made beforehand ---------------------------------------------------------------- */

/* Of USER and MEMBER, in workspace: `fn` becomes IDS32 of them. Other kinds stay as they are. Fails as
 * gpu_user_ids does. */
cohort_status cuda_fn_make_ids(cohort_context *context, struct split_fn *fn,
                               const struct split_source *source, uint64_t n, const void *keys,
                               uint32_t key_bytes, struct arena *arena);

/* ---- sums.c: the memory of a look-back (kernels/look_back.h) ------------------------------------------ */

/* `bytes` of words, and a counter of tickets, cleared unless the arena only asks. */
cohort_status gpu_look_back(cohort_context *context, struct arena *arena, uint64_t bytes, void **words,
                            co_u32 **tickets);

/* How many blocks take `tiles` tiles in turn. */
unsigned gpu_look_back_blocks(cohort_context *context, uint64_t tiles);

/* The sums that other operations need: exclusive, of 64-bit words, in place. As many bytes of workspace as
 * gpu_scan_bytes says. */
uint64_t gpu_scan_bytes(cohort_context *context, uint64_t n);
cohort_status gpu_scan(cohort_context *context, co_u64 *a, uint64_t n, co_u64 *workspace);

/* The same with the workspace cleared already. */
cohort_status gpu_scan_cleared(cohort_context *context, co_u64 *a, uint64_t n, co_u64 *workspace);

/* ---- context_inherit.c --------------------------------------------------------------------------------- */

cohort_status cuda_context_inherit(cohort_context *context);

#endif
