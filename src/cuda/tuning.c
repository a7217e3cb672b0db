/* tuning.c: launch geometry and sizes, as data. The last row that fits a device is its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "shape/compact.h"
#include "shape/sort.h"
#include "shape/sums.h"

#define KiB 1024ull
#define MiB (1024 * KiB)

/* Chunks in a warp's part of a tile of sums, blocks that take such tiles; the same of compactions and
 * reductions. */
#define TILES_GPU                                                                               \
    .chunks = SUMS_CHUNKS_GPU, .tile_blocks = 3, .compact_chunks = COMPACT_CHUNKS_GPU,          \
    .compact_blocks = COMPACT_BLOCKS_GPU, .compact_blocks_ordered = COMPACT_BLOCKS_ORDERED_GPU, \
    .reduce_chunks = REDUCE_CHUNKS_GPU, .reduce_blocks = REDUCE_BLOCKS_GPU
#define TILES_SIM                                                                               \
    .chunks = SUMS_CHUNKS_SIM, .tile_blocks = 2, .compact_chunks = COMPACT_CHUNKS_SIM,          \
    .compact_blocks = COMPACT_BLOCKS_SIM, .compact_blocks_ordered = COMPACT_BLOCKS_ORDERED_SIM, \
    .reduce_chunks = REDUCE_CHUNKS_SIM, .reduce_blocks = REDUCE_BLOCKS_SIM

/* Threads of a block, entries a lane, and entries at most of each kind of pass; of fewer entries there are
 * words of 32 bits. */
#define ANY UINT64_MAX
#define SORT_GPU(keys, pairs)                                                                   \
    .sort_threads = {SORT_THREADS_GPU,     SORT_THREADS_GPU,        SORT_THREADS_PAIR_GPU,      \
                     SORT_THREADS_GPU,     SORT_THREADS_GPU,        SORT_THREADS_FEW_GPU,       \
                     SORT_THREADS_FEW_GPU, SORT_THREADS_FEWEST_GPU, SORT_THREADS_FEWEST_GPU,    \
                     SORT_THREADS_FAR_GPU, SORT_THREADS_FAR_GPU},                               \
    .sort_items = {SORT_ITEMS_32_GPU,         SORT_ITEMS_64_GPU,         SORT_ITEMS_PAIR_GPU,   \
                   SORT_ITEMS_COLUMNS_32_GPU, SORT_ITEMS_COLUMNS_64_GPU, SORT_ITEMS_FEW_GPU,    \
                   SORT_ITEMS_FEW_GPU,        SORT_ITEMS_FEWEST_GPU,     SORT_ITEMS_FEWEST_GPU, \
                   SORT_ITEMS_FAR_GPU,        SORT_ITEMS_FAR_GPU},                              \
    .sort_most = {keys, ANY, pairs, ANY, ANY, 1 << 22, 1 << 22, 1 << 19, 1 << 20, ANY, ANY},    \
    .sort_short = 1ull << 30
#define SORT_SIM                                                                             \
    .sort_threads = {SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM, \
                     SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM, \
                     SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM},                  \
    .sort_items = {SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM,           \
                   SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM,           \
                   SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM},                          \
    .sort_most = {1300, ANY, 1200, ANY, ANY, 600, 600, 300, 400, ANY, ANY}, .sort_short = 1500

/* Repeats in a sample of 4,096 entries from which on a batch goes one by one. By Zipf's law a sample of
 * 2^24 draws from as many keys has 2 at exponent 0.5, 24 (8 to 38) at 0.65, where pages are still faster,
 * 112 (80 to 150) at 0.75, where they are not, and 1,340 at 1; of 2^26 draws 1, 10 (2 to 26), 66 (43 to
 * 91) and 1,220. What the simulated GPU is given is hardly more than a sample, which meets its entries
 * twice. */
#define REPEATS_GPU 40
#define REPEATS_SIM 2048

/* What lookups by pages cost: on an H200 2^27 keys that are absent 1.03 to 1.13 reads of a bucket each
 * (4+4 bytes) and 1.6 to 1.8 (8+8), those that are there 2.7 to 2.9 more. */
#define SEEK .seek_dear = {9, 14}, .seek_found = 20

/* Sums by key. A sample of 4,096 entries has 1,470 keys that come once if there are 4,000 alike, 1,900 if
 * 5,300; of keys by Zipf's law with exponent 1, of which 10^4, 10^5, 2^26 may come, 1,100, 1,730, 2,640. */
#define SUMS_GPU                                                                             \
    .sums_places = {27648, 13824}, .sums_threads = {1024, 1024}, .sums_blocks = {1, 1},      \
    .sums_batch = 1 << 20, .sums_sample = 4096, .sums_singles = 1500, .sums_split = 1 << 21, \
    .sums_parts = 1 << 14, .sums_quarters = 16
#define SUMS_SIM                                                                                 \
    .sums_places = {18, 20}, .sums_threads = {64, 64}, .sums_blocks = {2, 1}, .sums_batch = 128, \
    .sums_sample = 64, .sums_singles = 20, .sums_split = 256, .sums_parts = 300, .sums_quarters = 1

/* What all GPUs have. */
#define ROW_GPU                                                                                              \
    .driver = "cuda", .block = 256 /* threads */, .blocks = 128 /* a multiprocessor */,                      \
    .chunk_bytes = 16 * MiB, .least_chunk = 1 * MiB /* bytes */, .copy_threads = 4, .link_bytes = 128 * MiB, \
    TILES_GPU, .build_pages = 512 /* of the table */, .build_threads = 512,                                  \
    .build_repeats = REPEATS_GPU /* entries of the sample */, SEEK, .ledger = 65536 /* entries */,           \
    .ledger_batch = 1 << 14 /* entries */, .hot = 512 /* places */, .change_turns = 8 /* of a block */,      \
    .change_least = 32 /* blocks a multiprocessor */, .keys_round = 1 << 26 /* rows */,                      \
    .group_bytes = 48 * KiB, .group_blocks = 4 /* a multiprocessor */, SUMS_GPU

/* The simulated GPU has small blocks and chunks, so that small cases have several of each. */
static const struct gpu_tuning rows[] = {
    {
        ROW_GPU,
        .architecture = 80,
        .limit_accesses = 1ull << 27,
        .build_blocks = 2, /* a multiprocessor */
        SORT_GPU(ANY, ANY),
    },
    {
        ROW_GPU,
        .architecture = 90,
        .limit_accesses = 1ull << 28,
        .build_blocks = 3, /* a multiprocessor */
        SORT_GPU(1 << 26, 1 << 23),
    },
    {
        .driver = "sim",
        .architecture = 0,
        .block = 64, /* threads */
        .blocks = 4, /* a multiprocessor */
        .chunk_bytes = 2 * KiB,
        .least_chunk = 2 * KiB, /* bytes */
        .copy_threads = 1,
        .limit_accesses = 1ull << 10,
        .link_bytes = 64 * KiB,
        TILES_SIM,
        .build_pages = 2,  /* of the table */
        .build_blocks = 1, /* a multiprocessor */
        .build_threads = 64,
        .build_repeats = REPEATS_SIM, /* entries of the sample */
        SEEK,
        SORT_SIM,
        .ledger = 8,            /* entries */
        .ledger_batch = 1 << 6, /* entries */
        .hot = 4,               /* places */
        .change_turns = 2,      /* of a block */
        .change_least = 1,      /* blocks a multiprocessor */
        SUMS_SIM,
        .keys_round = 1100, /* rows */
        .group_bytes = 512,
        .group_blocks = 2, /* a multiprocessor */
    },
};

const struct gpu_tuning *gpu_tuning_for(const struct cuda_driver *driver, unsigned architecture)
{
    const struct gpu_tuning *best = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].driver, driver->name) == 0 && rows[i].architecture <= architecture)
            best = &rows[i];
    return best;
}

/* `cohort bench map --tune` prints these rows. */
static const struct map_tuning maps[] = {
    /* blocks: threads of one; how many a multiprocessor, at most */
    {.driver = "cuda",
     .architecture = 80,
     .look_block = 256,
     .look_blocks = 128,
     .change_block = 256,
     .change_blocks = 128,
     .relaxed = 0},
    {.driver = "cuda",
     .architecture = 90,
     .look_block = 128,
     .look_blocks = 1048576,
     .change_block = 256,
     .change_blocks = 512,
     .relaxed = 0},
    {.driver = "sim",
     .architecture = 0,
     .look_block = 64,
     .look_blocks = 5,
     .change_block = 64,
     .change_blocks = 4,
     .relaxed = 0},
};

static int is_block(unsigned threads)
{
    return threads >= 32 && threads <= 256 && threads % 32 == 0;
}

int map_tuning_for(const struct cuda_driver *driver, unsigned architecture, struct map_tuning *row)
{
    const char *given = getenv("COHORT_MAP_TUNING");
    char rest;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (strcmp(maps[i].driver, driver->name) == 0 && maps[i].architecture <= architecture)
            *row = maps[i];
    return !given || (sscanf(given, "%u,%u,%u,%u,%u%c", &row->look_block, &row->look_blocks,
                             &row->change_block, &row->change_blocks, &row->relaxed, &rest) == 5 &&
                      is_block(row->look_block) && row->look_blocks && is_block(row->change_block) &&
                      row->change_blocks && row->relaxed <= 1);
}
