/* cuda/sets.h: what the files of the CUDA backend share that work on sets. */
#ifndef COHORT_CUDA_SETS_H
#define COHORT_CUDA_SETS_H

#include "backend/sets.h"
#include "device.h"

cohort_status cuda_sets_step(cohort_context *context, const struct sets_step *step, enum sets_step_kind kind);
cohort_status cuda_sets_take(cohort_context *context, const struct sets_take *take, enum sets_take_kind kind);
cohort_status cuda_sets_look(cohort_context *context, const struct sets_look *look);
cohort_status cuda_sets_query(cohort_context *context, const struct sets_query *query, struct arena *arena);
cohort_status cuda_sets_index(cohort_context *context, const struct sets_index_step *step,
                              enum sets_index_kind kind);
cohort_status cuda_sets_containing(cohort_context *context, const struct sets_containing *asked,
                                   struct arena *arena);

#endif
