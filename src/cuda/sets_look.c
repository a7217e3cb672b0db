/* cuda/sets_look.c: questions to collections on a GPU: a lane each. */
#include "sets.h"

cohort_status cuda_sets_look(cohort_context *context, const struct sets_look *look)
{
    return gpu_launch(context, "sets_look", look->n, look);
}
