/* stream.c: what saving and loading refuse before they begin. */
#include "api/stream.h"

#include "core/context.h"

static cohort_status is_null(cohort_context *context, const char *call, const char *what)
{
    return context_fail(context, COHORT_NULL, "%s: %s is NULL", call, what);
}

cohort_status stream_check_save(cohort_context *context, const char *call, const char *name,
                                const void *object, const char *stream, const struct file_stream *to)
{
    if (!object)
        return is_null(context, call, name);
    if (!to->path && !to->output)
        return is_null(context, call, stream);
    return to->output && !to->output->write ? is_null(context, call, "output->write") : COHORT_OK;
}

cohort_status stream_check_load(cohort_context *context, const char *call, const char *stream,
                                const struct file_stream *from, const void *out)
{
    if (!context)
        return is_null(context, call, "context");
    if (!from->path && !from->input)
        return is_null(context, call, stream);
    if (from->input && !from->input->read)
        return is_null(context, call, "input->read");
    return out ? COHORT_OK : is_null(context, call, "out");
}
