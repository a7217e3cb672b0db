/* cpu/sets.h: what the files of the CPU backend share that work on sets. */
#ifndef COHORT_CPU_SETS_H
#define COHORT_CPU_SETS_H

#include "backend/sets.h"
#include "cpu.h"
#include "shape/sets_chunk.h"

/* ---- entries of the table
 * ------------------------------------------------------------------------------------------------- */

cohort_status cpu_sets_step(cohort_context *context, const struct sets_step *step, enum sets_step_kind kind);
cohort_status cpu_sets_take(cohort_context *context, const struct sets_take *take, enum sets_take_kind kind);
cohort_status cpu_sets_look(cohort_context *context, const struct sets_look *look);
cohort_status cpu_sets_query(cohort_context *context, const struct sets_query *query, struct arena *arena);

#endif
