/* cuda/lines.c: maps with the layout LINES on a GPU: which there are, walks over all homes of a table, and
 * the table of what is done for them. Batches, those in host memory too, go the same way as those of pages
 * (map_batch.c); only the kernels are others (kernels/lines.cu). */
#include "backend/lines.h"

#include "map.h"

static int cuda_lines_offers(cohort_context *context, co_u32 width, co_u32 group)
{
    return (void)context, lines_home_slots(width) != 0 && group == 0;
}

/* There is no way by pages. */
static cohort_status cuda_lines_pages(cohort_context *context, const struct map_batch *batch, int fresh,
                                      struct arena *arena)
{
    return (void)context, (void)batch, (void)fresh, (void)arena, COHORT_OK;
}

static cohort_status cuda_lines_sweep(cohort_context *context, const struct map_sweep *s,
                                      enum map_sweep_kind kind)
{
    static const char *const kinds[] = {"export", "absorb", "stats", "mark"};
    return map_launch(context, kinds[kind], &s->view, kind == MAP_SWEEP_MARK ? s->slots : s->view.pages, s);
}

const struct lines_backend cuda_lines_backend = {.map = {
                                                     .offers = cuda_lines_offers,
                                                     .batch = cuda_map_batch,
                                                     .pages = cuda_lines_pages,
                                                     .sweep = cuda_lines_sweep,
                                                 }};
