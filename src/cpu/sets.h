/* cpu/sets.h: what the files of the CPU backend share that work on sets. */
#ifndef COHORT_CPU_SETS_H
#define COHORT_CPU_SETS_H

#include "backend/sets.h"
#include "cpu.h"
#include "shape/sets_chunk.h"

/* ---- entries of the table ------------------------------------------------------------------------------ */

cohort_status cpu_sets_step(cohort_context *context, const struct sets_step *step, enum sets_step_kind kind);
cohort_status cpu_sets_take(cohort_context *context, const struct sets_take *take, enum sets_take_kind kind);
cohort_status cpu_sets_look(cohort_context *context, const struct sets_look *look);

/* ids[i] = 1 if keys[i] is a member of the set, else 0. */
void cpu_sets_member_ids(const cohort_sets_view *view, co_u64 set, co_u32 count, const void *keys,
                         co_u32 key_bytes, co_u32 *ids);

/* Is the number a member of the chunk at this place? And, before: what will be read of it is asked for. */
int cpu_sets_chunk_has(const cohort_sets_view *view, co_u64 place, co_u32 low16);
void cpu_sets_chunk_ask(const cohort_sets_view *view, co_u64 place, co_u32 low16);

cohort_status cpu_sets_index(cohort_context *context, const struct sets_index_step *step,
                             enum sets_index_kind kind);
cohort_status cpu_sets_containing(cohort_context *context, const struct sets_containing *asked,
                                  struct arena *arena);
cohort_status cpu_sets_query(cohort_context *context, const struct sets_query *query, struct arena *arena);

#endif
