/* shape/table_check.h: which rows of a piece cannot be: offsets that fall, views that leave their heap,
 * indices that leave their dictionary. For memory that the host can read; parts of a piece are checked by
 * several threads. */
#ifndef COHORT_SHAPE_TABLE_CHECK_H
#define COHORT_SHAPE_TABLE_CHECK_H

#include "table.h"

#define TABLE_NO_ROW (~0ull)

CO_INLINE int table_check_view(const struct table_piece *p, const struct table_view *v)
{
    if (v->length <= TABLE_VIEW_INLINE)
        return 1;
    return v->length <= 0x7fffffffu && v->heap < p->heap_count && v->offset <= 0x7fffffffu &&
           v->offset + (co_u64)v->length <= p->heap_bytes[v->heap];
}

CO_INLINE co_u64 table_check_views(const struct table_piece *p, co_u64 begin, co_u64 end)
{
    const struct table_view *views = (const struct table_view *)p->data;
    for (co_u64 i = begin; i < end; i++)
        if (!table_check_view(p, &views[i]) && table_is_valid(p, i))
            return i;
    return TABLE_NO_ROW;
}

/* Offsets are signed numbers. */
CO_INLINE co_u64 table_check_offsets(const struct table_piece *p, int wide, co_u64 begin, co_u64 end)
{
    const int *narrow_at = (const int *)p->offsets;
    const long long *wide_at = (const long long *)p->offsets;
    for (co_u64 i = begin; i < end; i++) {
        long long from = wide ? wide_at[i] : narrow_at[i], to = wide ? wide_at[i + 1] : narrow_at[i + 1];
        if (from < 0 || to < from || (to > 0 && !p->data))
            return i;
    }
    return TABLE_NO_ROW;
}

#define TABLE_CHECK_INDICES(T)                                            \
    do {                                                                  \
        const T *index = (const T *)p->data;                              \
        for (co_u64 i = begin; i < end; i++)                              \
            if ((co_u64)(long long)index[i] >= n && table_is_valid(p, i)) \
                return i;                                                 \
    } while (0)

/* Indices into n values; signed ones below 0 are as good as too large. */
CO_INLINE co_u64 table_check_indices(const struct table_piece *p, const struct table_type *index, co_u64 n,
                                     co_u64 begin, co_u64 end)
{
    int is_signed = index->number == TABLE_SIGNED;
    if (index->bytes == 1 && is_signed)
        TABLE_CHECK_INDICES(signed char);
    else if (index->bytes == 1)
        TABLE_CHECK_INDICES(co_u8);
    else if (index->bytes == 2 && is_signed)
        TABLE_CHECK_INDICES(short);
    else if (index->bytes == 2)
        TABLE_CHECK_INDICES(co_u16);
    else if (index->bytes == 4 && is_signed)
        TABLE_CHECK_INDICES(int);
    else if (index->bytes == 4)
        TABLE_CHECK_INDICES(co_u32);
    else
        TABLE_CHECK_INDICES(long long);
    return TABLE_NO_ROW;
}

/* index: NULL if the piece is no dictionary's. The first bad row from begin to end, TABLE_NO_ROW: none. */
CO_INLINE co_u64 table_check(const struct table_piece *p, co_u32 layout, const struct table_type *index,
                             co_u64 values, co_u64 begin, co_u64 end)
{
    if (index)
        return table_check_indices(p, index, values, begin, end);
    if (layout == TABLE_OFFSETS_32 || layout == TABLE_OFFSETS_64)
        return table_check_offsets(p, layout == TABLE_OFFSETS_64, begin, end);
    return layout == TABLE_VIEWS ? table_check_views(p, begin, end) : TABLE_NO_ROW;
}

#endif
