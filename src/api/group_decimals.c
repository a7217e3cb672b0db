/* group_decimals.c: decimals as doubles, for variances. Sums and means of decimals are exact, or come from
 * exact sums (shape/group.h). */
#include "group.h"

#include <stdlib.h>
#include <string.h>

int group_scale_of(const char *format)
{
    const char *comma = format && format[0] == 'd' ? strchr(format, ',') : NULL;
    return comma ? atoi(comma + 1) : 0;
}

static double real_of(const void *decimal, int scale)
{
    struct group_sum s = {0, 0, 0};
    memcpy(&s.low, decimal, 8);
    memcpy(&s.high, (const char *)decimal + 8, 8);
    return group_scale_by_10(group_sum_double(&s, 1), scale);
}

cohort_status group_reals(cohort_context *host, struct table_column **column)
{
    struct table_column *from = *column, *made = NULL;
    const int scale = group_scale_of(from->format);
    const uint64_t n = from->rows;
    cohort_status s = table_column_room(host, "g", n, (n + 1) * 8, 1, &made);
    if (s)
        return s;
    const struct table_piece *p = &from->piece[0];
    double *to = (double *)(uintptr_t)made->piece[0].data;
    uint8_t *valid = (uint8_t *)(uintptr_t)made->piece[0].validity;
    uint64_t nulls = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int is = table_is_valid(p, i);
        to[i] = is ? real_of((const char *)p->data + 16 * i, scale) : 0;
        valid[i / 8] |= (uint8_t)(is << i % 8);
        nulls += !is;
    }
    made->nulls = made->piece[0].nulls = nulls;
    table_column_release(from);
    *column = made;
    return COHORT_OK;
}
