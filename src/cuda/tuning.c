/* tuning.c: launch geometry and sizes, as data. The last row that fits a device is its own. */
#include <string.h>

#include "device.h"

#define KiB 1024ull
#define MiB (1024 * KiB)

/* The simulated GPU has small blocks and chunks, so that small cases have several of each. */
static const struct gpu_tuning rows[] = {
    /* driver arch block blocks chunk, least, threads, accesses, link */
    {"cuda", 80, 256, 128, 16 * MiB, 1 * MiB, 4, 1ull << 27, 128 * MiB},
    {"cuda", 90, 256, 128, 16 * MiB, 1 * MiB, 4, 1ull << 28, 128 * MiB},
    {"sim", 0, 64, 4, 2 * KiB, 2 * KiB, 1, 1ull << 10, 64 * KiB},
};

const struct gpu_tuning *gpu_tuning_for(const struct cuda_driver *driver, unsigned architecture)
{
    const struct gpu_tuning *best = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].driver, driver->name) == 0 && rows[i].architecture <= architecture)
            best = &rows[i];
    return best;
}
