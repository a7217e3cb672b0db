/* api/staged.h: work that the device has no kernels for, in the host's memory; and which work that is.
 *
 * A GPU context has a helper, a context on the CPU, made at the first such call. Frames are copied to it, the
 * work is done there, and results are copied back. A CPU context is its own helper, and nothing is copied. */
#ifndef COHORT_API_STAGED_H
#define COHORT_API_STAGED_H

#include "api/frame.h"

cohort_status staged_open(cohort_context *context, cohort_context **host);

/* Who works with these keys: the context itself, if all columns are words (backend/keys.h) or dictionaries;
 * else its helper. */
cohort_status staged_keys(cohort_context *context, const cohort_frame *keys, cohort_context **host);

/* The same of a column, in one piece. */
cohort_status staged_column_in(cohort_context *context, cohort_context *host, const char *name,
                               struct table_column *column, struct table_column **out);
cohort_status staged_column_out(cohort_context *context, cohort_context *host, const char *name,
                                struct table_column *column, struct table_column **out);

/* A column as a context works with it. On a GPU plain values that are no words become a dictionary, in which
 * each row has a value of its own: their bytes go to the host. Any other is itself, retained. */
cohort_status staged_column(cohort_context *context, const char *name, struct table_column *column,
                            struct table_column **out);

/* The frame in the host's memory; to be released. */
cohort_status staged_in(cohort_context *context, cohort_context *host, cohort_frame *frame,
                        cohort_frame **out);

/* A frame of `host`, which is released, in the context's memory. */
cohort_status staged_out(cohort_context *context, cohort_context *host, cohort_frame *made,
                         cohort_frame **out);

/* The helper's failure as the context's. */
cohort_status staged_status(cohort_context *context, const cohort_context *host, cohort_status s);

/* An output of the caller's: where it is written in the memory of `host`, and how it gets to its place. `to`
 * may be NULL. */
struct staged_array {
    cohort_context *context, *host;
    void *to, *own, *taken;
    uint64_t bytes;
};
cohort_status staged_array_open(struct staged_array *, cohort_context *context, cohort_context *host,
                                const char *call, const char *name, void *to, uint64_t n, uint64_t unit,
                                int optional);
cohort_status staged_array_close(struct staged_array *, cohort_status s);

#endif
