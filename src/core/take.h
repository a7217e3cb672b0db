/* take.h: memory for a context's work. Where there is none left, what lies idle in the pool and among the
 * loans goes back, and it is tried again. Each of these leaves a message if it fails. */
#ifndef COHORT_TAKE_H
#define COHORT_TAKE_H

#include <stdint.h>

#include "cohort/context.h"

struct buffer;

/* `bytes` of the context's memory, aligned to 256, past the pool: tables. Freed by context_release. */
cohort_status system_take(cohort_context *context, uint64_t bytes, void **out);

/* The same; NULL: none. */
void *context_alloc(cohort_context *context, uint64_t bytes);

/* At least `bytes` of workspace, aligned to 256; given back by pool_give. */
cohort_status pool_take(cohort_context *context, uint64_t bytes, void **out);

/* The same, for tables whose size is stated: at most a sixteenth more, and no more than that if it is new. */
cohort_status pool_take_close(cohort_context *context, uint64_t bytes, void **out);

/* At least `bytes` (0 is allowed), aligned to 256, for results; given back by holder_release. */
cohort_status loan_take(cohort_context *context, uint64_t bytes, struct buffer **out);

#endif
