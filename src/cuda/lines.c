/* cuda/lines.c: maps with the layout LINES on a GPU: none is offered, so nothing else is ever asked. */
#include "backend/lines.h"

static int cuda_lines_offers(cohort_context *context, co_u32 width, co_u32 group)
{
    return (void)context, (void)width, (void)group, 0;
}

const struct lines_backend cuda_lines_backend = {.map = {.offers = cuda_lines_offers}};
