/* api/stream.h: what saving and loading refuse before they begin, of every kind of object. */
#ifndef COHORT_API_STREAM_H
#define COHORT_API_STREAM_H

#include "io/file.h"

/* One of them is what the call takes; the others are NULL. */
static inline struct file_stream stream_path(const char *path)
{
    return (struct file_stream){path, NULL, NULL};
}

static inline struct file_stream stream_output(const cohort_output *output)
{
    return (struct file_stream){NULL, output, NULL};
}

static inline struct file_stream stream_input(const cohort_input *input)
{
    return (struct file_stream){NULL, NULL, input};
}

/* COHORT_NULL: `object`, which the message calls `name`, or what it is saved to; `stream` is what the message
 * calls the latter. The context may be NULL. */
cohort_status stream_check_save(cohort_context *context, const char *call, const char *name,
                                const void *object, const char *stream, const struct file_stream *to);

/* COHORT_NULL: the context, what it is loaded from, or `out`. */
cohort_status stream_check_load(cohort_context *context, const char *call, const char *stream,
                                const struct file_stream *from, const void *out);

#endif
