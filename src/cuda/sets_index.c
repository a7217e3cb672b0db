/* cuda/sets_index.c: the steps by which a collection's index is made, on a GPU (shape/sets_index.h). */
#include "sets.h"

cohort_status cuda_sets_index(cohort_context *context, const struct sets_index_step *s,
                              enum sets_index_kind kind)
{
    return kind == SETS_INDEX_OWNERS ? gpu_launch_warps(context, "sets_index_owners", s->items, 0, s)
                                     : gpu_launch(context, "sets_index_spans", s->items, s);
}
