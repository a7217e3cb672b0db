/* column_made.c: columns of results, in the context's memory, before there is anything in them. */
#include <string.h>

#include "frame.h"

cohort_status table_column_zeros(cohort_context *context, struct table_column *column, uint64_t bytes,
                                 void **memory)
{
    struct buffer *b;
    cohort_status s = loan_take(context, bytes, &b);
    if (s)
        return s;
    table_column_hold(column, &b->holder);
    *memory = b->memory;
    return context_fill(context, b->memory, 0, bytes);
}

cohort_status table_column_room(cohort_context *context, const char *format, uint64_t rows, uint64_t bytes,
                                int nulls, struct table_column **out)
{
    struct table_column *c = table_column_new(1, 4);
    void *data = NULL, *validity = NULL;
    cohort_status s = COHORT_OK;
    if (!c || !table_type_parse(format, &c->type) || !(c->format = strdup(format)))
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
