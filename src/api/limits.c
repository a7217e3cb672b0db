/* limits.c: what the device can do at most. */
#include "backend/limits.h"
#include "options.h"

#define LEAST_TABLE_BYTES 65536ull

/* The table asked for, or what the header promises where none is. */
static cohort_status limits_table(cohort_context *context, cohort_limits *limits)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    if (limits->table_bytes && limits->table_bytes < LEAST_TABLE_BYTES)
        return context_fail(context, COHORT_RANGE, "limits->table_bytes is %llu: at least %llu, or 0",
                            (unsigned long long)limits->table_bytes, LEAST_TABLE_BYTES);
    if (limits->table_bytes > UINT64_MAX / 2)
        return context_fail(context, COHORT_OVERFLOW,
                            "limits->table_bytes is %llu: twice that does not fit in 64 bits",
                            (unsigned long long)limits->table_bytes);
    if (limits->table_bytes)
        return COHORT_OK;
    cohort_status status = context->backend->context->info(context, &info);
    if (status)
        return status;
    uint64_t left = context->memory.most - context->memory.held;
    uint64_t quarter = (info.memory_free < left ? info.memory_free : left) / 4;
    limits->table_bytes = quarter > 1ull << 31 ? 1ull << 31 : quarter;
    if (limits->table_bytes < LEAST_TABLE_BYTES)
        limits->table_bytes = LEAST_TABLE_BYTES;
    return COHORT_OK;
}

cohort_status cohort_limits_measure(cohort_context *context, cohort_limits *limits)
{
    CALL(context);
    cohort_limits copy;
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    cohort_status status = options_check(context, "limits", limits, limits ? limits->size : 0, sizeof copy,
                                         sizeof(cohort_limits), &copy);
    if (!status)
        status = limits_table(context, &copy);
    if (!status)
        status = context->backend->limits->measure(context, &copy);
    if (!status)
        options_return(limits, limits->size, sizeof copy, &copy);
    return status;
}
