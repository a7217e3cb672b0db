/* backend/table.h: what a backend does with columns: counting, checking, gathering. Arguments were checked;
 * pieces lie in the context's memory, what they point to in the host's (heaps of strings) excepted. */
#ifndef COHORT_BACKEND_TABLE_H
#define COHORT_BACKEND_TABLE_H

#include "core/column.h"

/* Rows of a column of one piece by their numbers, into memory of the context's. Row number ~0 (in
 * `number_bytes`) is a null row. Of strings by offsets heap k of the views is the column's heap from byte k *
 * 2^30 on. */
struct table_gather {
    const struct table_column *column;
    co_u64 n;
    const void *rows; /* in the context's memory; NULL, on a CPU: n are all rows, in their order */
    co_u32 number_bytes;
    void *data;      /* elements; bits: of whole 8-byte words; strings: views */
    co_u8 *validity; /* of whole 8-byte words; NULL: nothing can be null, and row number ~0 is none */
    /* Found: how many rows of the result are null; the first entry that is no row, ~0: none; the first string
     * that no view can hold, ~0: none. */
    co_u64 nulls, first_bad, first_long;
};

/* So many of the column's rows have numbers: that of all ones is no row's. */
static inline co_u64 table_gather_rows(const struct table_gather *g)
{
    const co_u64 none = g->rows && g->number_bytes == 4 ? 0xffffffffull : ~0ull;
    return g->column->rows < none ? g->column->rows : none;
}

struct table_backend {
    /* The device's number in Arrow's device interface, and what an array's sync_event is: a pointer to the
     * driver's event. `await` makes the context's stream wait for it; `event` records one, which event_free
     * ends (from any thread, with the context's struct still there). A CPU has none. */
    int64_t (*device_id)(cohort_context *);
    cohort_status (*await)(cohort_context *, void *sync_event);
    cohort_status (*event)(cohort_context *, void **sync_event);
    void (*event_free)(cohort_context *, void *sync_event);

    cohort_status (*nulls)(cohort_context *, const struct table_piece *, co_u64 *nulls);

    /* The first row of a piece whose offsets, view or index cannot be (shape/table_check.h), ~0: none. */
    cohort_status (*check)(cohort_context *, const struct table_column *, const struct table_piece *,
                           co_u64 *first_bad);

    /* Of several columns, with the same rows. */
    cohort_status (*gather)(cohort_context *, struct table_gather *, co_u32 columns);

    /* Copies n bits (from NULL: ones), from any bit of any address to any bit of any address, as shape/bits.h
     * says. */
    cohort_status (*copy_bits)(cohort_context *, void *to, co_u64 to_bit, const void *from, co_u64 from_bit,
                               co_u64 n);
    /* The same, of zeros. */
    cohort_status (*clear_bits)(cohort_context *, void *to, co_u64 to_bit, co_u64 n);

    /* to[i] = from[i] + add, of indices; `to` has 1, 2, 4 or 8 bytes an index. Indices of null rows may be
     * anything. */
    cohort_status (*rebase)(cohort_context *, void *to, co_u32 to_bytes, const void *from,
                            const struct table_type *index, co_u64 add, co_u64 n);
};

#endif
