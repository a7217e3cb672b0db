/* multimap.c: which kernel does a step of a multimap's work, and scans.
 *
 * A kernel's name is the step and the bits of what it depends on: of the keys, of the values, or of both. */
#include "device.h"

#include <stdio.h>

/* Blocks for `tiles` tiles of work, of which a block takes one at a time. */
static unsigned blocks_for(cohort_context *context, uint64_t tiles)
{
    const struct gpu *g = gpu_of(context);
    uint64_t most = (uint64_t)g->multiprocessors * g->tuning->blocks;
    return (unsigned)(tiles < most ? tiles : most);
}

static cohort_status launch_tiles(cohort_context *context, const char *kernel, uint64_t tiles,
                                  const void *args)
{
    return gpu_launch_grid(context, kernel, blocks_for(context, tiles), gpu_of(context)->tuning->block, 0,
                           args);
}

cohort_status cuda_multimap_step(cohort_context *context, const struct multimap_step *s,
                                 enum multimap_step_kind kind)
{
    static const char *const kinds[MULTIMAP_STEPS] = {"count", "place", "find", "sizes",
                                                      "rows",  "flags", "keys", "expand"};
    unsigned key = 8 * map_key_bytes(s->index.width), value = 8 * s->value_bytes;
    char name[48];
    if (kind == MULTIMAP_PLACE || kind == MULTIMAP_FIND)
        snprintf(name, sizeof name, "multimap_%s_%u_%u", kinds[kind], key, value);
    else
        snprintf(name, sizeof name, "multimap_%s_%u", kinds[kind], kind == MULTIMAP_ROWS ? value : key);
    if (kind != MULTIMAP_ROWS && kind != MULTIMAP_EXPAND)
        return gpu_launch(context, name, s->n, s);
    if (!s->rows)
        return COHORT_OK;
    return launch_tiles(context, name, s->rows / MULTIMAP_TILE + (s->rows % MULTIMAP_TILE != 0), s);
}

cohort_status cuda_scan(cohort_context *context, co_u64 *a, co_u64 n)
{
    void *workspace = NULL;
    uint64_t bytes = gpu_scan_bytes(context, n);
    cohort_status status = bytes ? pool_take(context, bytes, &workspace) : COHORT_OK;
    if (!status)
        status = gpu_scan(context, a, n, workspace);
    pool_give(context, workspace);
    return status;
}
