/* cuda/map.h: what the files of the GPU's maps share. map_sweep.c, map_pages.c, map_sums.c and lines.c
 * build on map_batch.c; map.c is the table of all. */
#ifndef COHORT_CUDA_MAP_H
#define COHORT_CUDA_MAP_H

#include "backend/map.h"
#include "device.h"

/* ---- map_batch.c --------------------------------------------------------------------------------------- */

#define MAP_NAME_BYTES 48
const char *map_kernel_name(char name[MAP_NAME_BYTES], const char *kind,
                            const cohort_map_view *view); /* map_find_32_32, lines_find_32_32 */

/* A kernel of this kind for the layout and the width, a lane for each of `items`. */
cohort_status map_launch(cohort_context *context, const char *kind, const cohort_map_view *view, co_u64 items,
                         const void *args);

/* Do slots of this width change by halves, key and value each for itself? Before sm_90 no compare-and-swap is
 * as wide as they are. */
int map_has_halves(const struct gpu *g, co_u32 width);

cohort_status cuda_map_batch(cohort_context *context, const struct map_batch *batch, enum memory_kind memory);

/* A ledger for the batch, if it needs one; and what is in it to the map, after a batch whose outcome is
 * `status`. */
cohort_status map_ledger_open(cohort_context *context, struct map_batch *b);
cohort_status map_ledger_close(cohort_context *context, struct map_batch *b, cohort_status status);

/* ---- map_sums.c ---------------------------------------------------------------------------------------- */

/* Is it a large batch of sums by key? And that batch: asked, its workspace. */
int map_is_sums(cohort_context *context, const struct map_batch *b);
cohort_status cuda_map_sums(cohort_context *context, const struct map_batch *b, struct arena *arena);

/* ---- map_pages.c --------------------------------------------------------------------------------------- */

cohort_status cuda_map_pages(cohort_context *context, const struct map_batch *batch, int fresh,
                             struct arena *arena);

/* Blocks that take page after page of `view`, with bytes of shared memory for each. */
cohort_status map_launch_pages(cohort_context *context, const char *kind, const cohort_map_view *view,
                               uint64_t shared, const void *args);

int map_is_advised(const struct gpu *g, const cohort_map_view *view); /* to look keys up one by one */
void map_forget(struct gpu *g);                                       /* frees the advice */

/* ---- map_sweep.c --------------------------------------------------------------------------------------- */

cohort_status cuda_map_sweep(cohort_context *context, const struct map_sweep *sweep,
                             enum map_sweep_kind kind);

#endif
