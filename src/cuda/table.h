/* cuda/table.h: what the CUDA backend's files of tables share. */
#ifndef COHORT_CUDA_TABLE_H
#define COHORT_CUDA_TABLE_H

#include "backend/table.h"
#include "shape/table_step.h"

/* Room for what a kernel finds: count 0, first ~0. gpu_found_end waits, fetches it, and gives the room back,
 * whatever `s` is. */
cohort_status gpu_found_begin(cohort_context *context, struct table_found **found);
cohort_status gpu_found_end(cohort_context *context, struct table_found *found, cohort_status s,
                            struct table_found *seen);

extern const struct table_backend cuda_table_backend;

#endif
