/* column_made.c: columns of results, in the context's memory, before there is anything in them. */
#include <string.h>

#include "core/context.h"
#include "frame.h"

cohort_status table_column_memory(cohort_context *context, struct table_column *column, uint64_t bytes,
                                  void **memory)
{
    struct buffer *b;
    cohort_status s = loan_take(context, bytes, &b);
    if (s)
        return s;
    table_column_hold(column, &b->holder);
    *memory = b->memory;
    return COHORT_OK;
}

cohort_status table_column_zeros(cohort_context *context, struct table_column *column, uint64_t bytes,
                                 void **memory)
{
    cohort_status s = table_column_memory(context, column, bytes, memory);
    return s ? s : context_fill(context, *memory, 0, bytes);
}

cohort_status table_column_room(cohort_context *context, const char *format, uint64_t rows, uint64_t bytes,
                                int nulls, struct table_column **out)
{
    struct table_column *c = table_column_new(1, 4);
    void *data = NULL, *validity = NULL;
    cohort_status s = COHORT_OK;
    if (!c || !table_type_parse(format, &c->type) || !table_column_set_format(c, format))
        s = context_fail(context, COHORT_NO_MEMORY, "no host memory for a column");
    if (!s)
        s = table_column_zeros(context, c, bytes, &data);
    if (!s && nulls)
        s = table_column_zeros(context, c, (rows + 63) / 64 * 8, &validity);
    if (s) {
        table_column_release(c);
        return s;
    }
    c->rows = c->piece[0].rows = rows;
    c->nulls = c->piece[0].nulls = nulls ? rows : 0;
    c->piece[0].data = data;
    c->piece[0].validity = validity;
    *out = c;
    return COHORT_OK;
}

cohort_status table_column_become(cohort_context *context, struct table_column *rows,
                                  struct table_column *values)
{
    if (!table_column_set_format(rows, values->format))
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for a column");
    rows->index = rows->type;
    rows->type = values->type;
    rows->is_dictionary = 1;
    rows->dictionaries[0] = table_column_retain(values);
    rows->piece[0].dictionary = values;
    return COHORT_OK;
}

cohort_status table_column_by_row(cohort_context *context, struct table_column *values,
                                  struct table_column **out)
{
    const uint64_t n = values->rows;
    const uint32_t bytes = n > INT32_MAX ? 8 : 4;
    struct table_column *c = NULL;
    char *index = malloc(n * bytes + 1);
    cohort_status s = index ? table_column_room(context, bytes == 8 ? "l" : "i", n, n * bytes, 0, &c)
                            : context_fail(context, COHORT_NO_MEMORY, "no host memory for a column");
    for (uint64_t i = 0; !s && i < n; i++)
        memcpy(index + i * bytes, &i, bytes);
    if (!s)
        s = context_copy(context, (void *)(uintptr_t)c->piece[0].data, index, n * bytes);
    if (!s)
        s = table_column_become(context, c, values);
    free(index);
    if (s)
        table_column_release(c);
    else
        *out = c;
    return s;
}
