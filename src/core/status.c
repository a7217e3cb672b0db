/* status.c: how a call fails: a code, and a message on the context or, where there is none, on the thread. */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

static _Thread_local char thread_message[MESSAGE_BYTES];

cohort_status context_fail(cohort_context *context, cohort_status status, const char *format, ...)
{
    char *message = context ? context->message : thread_message;
    char text[sizeof thread_message]; /* the arguments may lie in the old message */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(message, text, strlen(text) + 1);
    return status;
}

void context_keep_message(const cohort_context *context, char kept[MESSAGE_BYTES])
{
    strcpy(kept, context->message);
}

void context_give_message_back(cohort_context *context, const char kept[MESSAGE_BYTES])
{
    strcpy(context->message, kept);
}

const char *cohort_message(const cohort_context *context)
{
    return context ? context->message : thread_message;
}

const char *cohort_status_name(cohort_status status)
{
    static const char *const names[] = {
        [COHORT_OK] = "COHORT_OK",
        [COHORT_NULL] = "COHORT_NULL",
        [COHORT_RANGE] = "COHORT_RANGE",
        [COHORT_OVERFLOW] = "COHORT_OVERFLOW",
        [COHORT_BAD_STRUCT] = "COHORT_BAD_STRUCT",
        [COHORT_OTHER_CONTEXT] = "COHORT_OTHER_CONTEXT",
        [COHORT_BAD_POINTER] = "COHORT_BAD_POINTER",
        [COHORT_UNSUPPORTED] = "COHORT_UNSUPPORTED",
        [COHORT_NO_DEVICE] = "COHORT_NO_DEVICE",
        [COHORT_NO_MEMORY] = "COHORT_NO_MEMORY",
        [COHORT_FULL] = "COHORT_FULL",
        [COHORT_DEVICE_ERROR] = "COHORT_DEVICE_ERROR",
        [COHORT_IO] = "COHORT_IO",
        [COHORT_TRUNCATED] = "COHORT_TRUNCATED",
        [COHORT_BAD_VERSION] = "COHORT_BAD_VERSION",
        [COHORT_CORRUPT] = "COHORT_CORRUPT",
        [COHORT_CANCELLED] = "COHORT_CANCELLED",
    };
    unsigned number = (unsigned)status;
    return number < sizeof names / sizeof names[0] ? names[number] : "unknown status";
}

const char *cohort_version(void)
{
    return TEXT(COHORT_VERSION_MAJOR) "." TEXT(COHORT_VERSION_MINOR) "." TEXT(COHORT_VERSION_PATCH);
}
