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
#define TILES_GPU                                                                           \
    SUMS_CHUNKS_GPU, 3, COMPACT_CHUNKS_GPU, COMPACT_BLOCKS_GPU, COMPACT_BLOCKS_ORDERED_GPU, \
        REDUCE_CHUNKS_GPU, REDUCE_BLOCKS_GPU
#define TILES_SIM                                                                           \
    SUMS_CHUNKS_SIM, 2, COMPACT_CHUNKS_SIM, COMPACT_BLOCKS_SIM, COMPACT_BLOCKS_ORDERED_SIM, \
        REDUCE_CHUNKS_SIM, REDUCE_BLOCKS_SIM

/* Threads of a block, entries a lane, and entries at most of each kind of pass; of fewer entries there are
 * words of 32 bits. */
#define ANY UINT64_MAX
#define SORT_GPU(keys, pairs)                                                                           \
    {SORT_THREADS_GPU,        SORT_THREADS_GPU,     SORT_THREADS_PAIR_GPU, SORT_THREADS_GPU,            \
     SORT_THREADS_GPU,        SORT_THREADS_FEW_GPU, SORT_THREADS_FEW_GPU,  SORT_THREADS_FEWEST_GPU,     \
     SORT_THREADS_FEWEST_GPU, SORT_THREADS_FAR_GPU, SORT_THREADS_FAR_GPU},                              \
        {SORT_ITEMS_32_GPU,         SORT_ITEMS_64_GPU,  SORT_ITEMS_PAIR_GPU, SORT_ITEMS_COLUMNS_32_GPU, \
         SORT_ITEMS_COLUMNS_64_GPU, SORT_ITEMS_FEW_GPU, SORT_ITEMS_FEW_GPU,  SORT_ITEMS_FEWEST_GPU,     \
         SORT_ITEMS_FEWEST_GPU,     SORT_ITEMS_FAR_GPU, SORT_ITEMS_FAR_GPU},                            \
        {keys, ANY, pairs, ANY, ANY, 1 << 22, 1 << 22, 1 << 19, 1 << 20, ANY, ANY}, 1ull << 30
#define SORT_SIM                                                                                         \
    {SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM,                             \
     SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM,                             \
     SORT_THREADS_SIM, SORT_THREADS_SIM, SORT_THREADS_SIM},                                              \
        {SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, \
         SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM, SORT_ITEMS_SIM},                \
        {1300, ANY, 1200, ANY, ANY, 600, 600, 300, 400, ANY, ANY}, 1500

/* Repeats in a sample of 4,096 entries from which on a batch goes one by one. By Zipf's law a sample of
 * 2^24 draws from as many keys has 2 at exponent 0.5, 24 (8 to 38) at 0.65, where pages are still faster,
 * 112 (80 to 150) at 0.75, where they are not, and 1,340 at 1; of 2^26 draws 1, 10 (2 to 26), 66 (43 to
 * 91) and 1,220. What the simulated GPU is given is hardly more than a sample, which meets its entries
 * twice. */
#define REPEATS_GPU 40
#define REPEATS_SIM 2048

/* What lookups by pages cost: on an H200 2^27 keys that are absent 1.03 to 1.13 reads of a bucket each
 * (4+4 bytes) and 1.6 to 1.8 (8+8), those that are there 2.7 to 2.9 more. */
#define SEEK {9, 14}, 20

/* Sums by key. A sample of 4,096 entries has 1,470 keys that come once if there are 4,000 alike, 1,900 if
 * 5,300; of keys by Zipf's law with exponent 1, of which 2^26 may come, 2,640. */
#define SUMS_GPU {8192, 8192}, {512, 1024}, {3, 1}, 1 << 20, 4096, 1900
#define SUMS_SIM {16, 16}, {64, 64}, {2, 1}, 128, 64, 20

/* The simulated GPU has small blocks and chunks, so that small cases have several of each. */
static const struct gpu_tuning rows[] = {
    /* driver arch block blocks chunk, least, threads, accesses, link, tiles, build, sort, ledger, its batch, hot keys, turns,
     * least blocks */
    {"cuda",    80,        256, 128, 16 * MiB, 1 * MiB,     4,    1ull << 27,
     128 * MiB, TILES_GPU, 512, 2,   512,      REPEATS_GPU, SEEK, SORT_GPU(ANY, ANY),
     65536,     1 << 14,   512, 8,   32,       SUMS_GPU},
    {"cuda",    90,        256, 128, 16 * MiB, 1 * MiB,     4,    1ull << 28,
     128 * MiB, TILES_GPU, 512, 3,   512,      REPEATS_GPU, SEEK, SORT_GPU(1 << 26, 1 << 23),
     65536,     1 << 14,   512, 8,   32,       SUMS_GPU},
    {"sim", 0,  64,          4,    2 * KiB,  2 * KiB, 1,      1ull << 10, 64 * KiB, TILES_SIM, 2,
     1,     64, REPEATS_SIM, SEEK, SORT_SIM, 8,       1 << 6, 4,          2,        1,         SUMS_SIM},
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
    /* driver arch; lookups: block, blocks; changes: block, blocks; relaxed loads */
    {"cuda", 80, 256, 128, 256, 128, 0},
    {"cuda", 90, 128, 1048576, 256, 512, 0},
    {"sim", 0, 64, 5, 64, 4, 0},
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
