/* api/reader.h: what all share that read an object by way of a context other than its own: maps, multimaps,
 * collections of sets, frames. */
#ifndef COHORT_API_READER_H
#define COHORT_API_READER_H

#include "api/call.h"
#include "backend/context.h"

/* Refuses that one of these is NULL. The message calls `object` `name`. */
cohort_status reader_need(const char *call, const char *name, const void *object, cohort_context *context,
                          const void *out);

/* Can it read what the other has in its memory? `call` is told if not. memory: some of that, or NULL. Waits
 * for the other's work. */
cohort_status reader_check(cohort_context *context, cohort_context *other, const void *memory,
                           const char *call);

#endif
