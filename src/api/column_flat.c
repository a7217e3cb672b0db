/* table_column_flat.c: a column of several pieces in one.
 *
 * Elements and bits are copied one piece behind the other. Views keep their heaps, of which the new column
 * has a longer list. Strings by offsets are copied with their bytes. Pieces with different dictionaries get
 * one that has the values of all, one after the other (it may say a value twice), and indices wide enough for
 * it. */
#include "frame.h"

#include <string.h>

struct flat {
    cohort_context *context;
    const struct table_column *from;
    struct table_column *to;
    int host; /* the column lies in the host's memory, whatever the context's is */
};

static cohort_status no_memory(const struct flat *f, uint64_t bytes)
{
    return context_fail(f->context, COHORT_NO_MEMORY, "no host memory for a column of %llu bytes",
                        (unsigned long long)bytes);
}

/* Memory that the column holds, where it is to lie. */
static cohort_status room(const struct flat *f, uint64_t bytes, void **memory)
{
    struct buffer *b = NULL;
    struct holder *h;
    *memory = NULL;
    if (f->host && f->context->backend->own_memory == MEMORY_DEVICE) {
        h = holder_block(bytes, memory);
        if (!h)
            return no_memory(f, bytes);
    } else {
        cohort_status s = loan_take(f->context, bytes, &b);
        if (s)
            return s;
        *memory = b->memory;
        h = &b->holder;
    }
    table_column_hold(f->to, h);
    return COHORT_OK;
}

static cohort_status move(const struct flat *f, void *to, const void *from, uint64_t bytes)
{
    return bytes ? context_copy(f->context, to, from, bytes) : COHORT_OK;
}

/* ---- bits ---------------------------------------------------------------------------------------------- */

static void host_bits(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!from || table_bit(from, from_bit + i))
            to[(to_bit + i) / 8] |= (uint8_t)(1u << ((to_bit + i) & 7));
}

/* Bits of one of the pieces' two bitmaps behind each other. A piece without validity has ones. */
static cohort_status flat_bits(const struct flat *f, int validity, void **out)
{
    cohort_status s = room(f, (f->from->rows + 63) / 64 * 8, out);
    int by_backend = !f->host || f->context->backend->own_memory == MEMORY_HOST;
    if (!s && by_backend)
        s = context_fill(f->context, *out, 0, (f->from->rows + 63) / 64 * 8);
    else if (!s)
        memset(*out, 0, (f->from->rows + 63) / 64 * 8);
    for (uint32_t i = 0; !s && i < f->from->pieces; i++) {
        const struct table_piece *p = &f->from->piece[i];
        const void *from = validity ? (const void *)p->validity : p->data;
        uint64_t bit = validity ? p->validity_bit : p->data_bit;
        if (by_backend)
            s = f->context->backend->table->copy_bits(f->context, *out, p->first, from, bit, p->rows);
        else
            host_bits(*out, p->first, from, bit, p->rows);
    }
    return s;
}

/* ---- elements ------------------------------------------------------------------------------------------ */

static cohort_status flat_elements(const struct flat *f)
{
    uint64_t bytes = table_column_element(f->from);
    void *to;
    cohort_status s = room(f, f->from->rows * bytes, &to);
    for (uint32_t i = 0; !s && i < f->from->pieces; i++)
        s = move(f, (char *)to + f->from->piece[i].first * bytes, f->from->piece[i].data,
                 f->from->piece[i].rows * bytes);
    f->to->piece[0].data = to;
    return s;
}

static cohort_status flat_views(const struct flat *f)
{
    struct table_piece *to = &f->to->piece[0];
    uint64_t heaps = 0;
    for (uint32_t i = 0; i < f->from->pieces; i++)
        heaps += f->from->piece[i].heap_count;
    if (heaps > INT32_MAX)
        return context_fail(f->context, COHORT_OVERFLOW, "a column of views into %llu buffers",
                            (unsigned long long)heaps);
    cohort_status s = flat_elements(f);
    if (s || !heaps)
        return s;
    if (!table_column_heaps(f->to, to, (uint32_t)heaps))
        return no_memory(f, heaps * sizeof(void *));
    struct table_view *views = (struct table_view *)(uintptr_t)to->data;
    uint32_t before = 0;
    for (uint32_t i = 0; i < f->from->pieces; i++) {
        const struct table_piece *p = &f->from->piece[i];
        for (uint64_t k = 0; before && k < p->rows; k++)
            if (views[p->first + k].length > TABLE_VIEW_INLINE)
                views[p->first + k].heap += before;
        for (uint32_t k = 0; k < p->heap_count; k++) {
            to->heaps[before + k] = p->heaps[k];
            to->heap_bytes[before + k] = p->heap_bytes[k];
        }
        before += p->heap_count;
    }
    for (uint32_t i = 0; i < f->from->holders; i++)
        table_column_hold(f->to, holder_retain(f->from->holder[i]));
    return COHORT_OK;
}

/* ---- strings by offsets -------------------------------------------------------------------------------- */

static int64_t offset_at(const struct table_column *c, const struct table_piece *p, uint64_t row)
{
    return c->type.layout == TABLE_OFFSETS_64 ? ((const int64_t *)p->offsets)[row]
                                              : ((const int32_t *)p->offsets)[row];
}

static void put_offset(const struct table_column *c, void *offsets, uint64_t row, uint64_t value)
{
    if (c->type.layout == TABLE_OFFSETS_64)
        ((int64_t *)offsets)[row] = (int64_t)value;
    else
        ((int32_t *)offsets)[row] = (int32_t)value;
}

/* More bytes than 32 bits can say: the large form of the type. */
static void widen(struct table_column *c)
{
    c->type.layout = TABLE_OFFSETS_64;
    c->format[0] = c->format[0] == 'u' ? 'U' : 'Z';
}

static cohort_status flat_offsets(const struct flat *f)
{
    uint64_t total = 0, at = 0;
    void *offsets, *heap;
    for (uint32_t i = 0; i < f->from->pieces; i++) {
        const struct table_piece *p = &f->from->piece[i];
        total += p->rows ? (uint64_t)(offset_at(f->from, p, p->rows) - offset_at(f->from, p, 0)) : 0;
    }
    if (total > INT32_MAX && f->to->type.layout == TABLE_OFFSETS_32)
        widen(f->to);
    cohort_status s =
        room(f, (f->from->rows + 1) * (f->to->type.layout == TABLE_OFFSETS_64 ? 8 : 4), &offsets);
    if (!s)
        s = room(f, total, &heap);
    for (uint32_t i = 0; !s && i < f->from->pieces; i++) {
        const struct table_piece *p = &f->from->piece[i];
        uint64_t first = p->rows ? (uint64_t)offset_at(f->from, p, 0) : 0;
        for (uint64_t k = 0; k < p->rows; k++)
            put_offset(f->to, offsets, p->first + k, at + (uint64_t)offset_at(f->from, p, k) - first);
        uint64_t bytes = p->rows ? (uint64_t)offset_at(f->from, p, p->rows) - first : 0;
        if (bytes) /* of empty strings alone there may be no data */
            s = move(f, (char *)heap + at, (const char *)p->data + first, bytes);
        at += bytes;
    }
    if (s)
        return s;
    put_offset(f->to, offsets, f->from->rows, total);
    f->to->piece[0].offsets = offsets;
    f->to->piece[0].data = heap;
    return COHORT_OK;
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

/* The values of all pieces' dictionaries, those that follow each other and are the same one taken once: a
 * column of as many pieces. before[i]: where those of piece i begin. */
static cohort_status all_values(const struct flat *f, uint64_t *before, struct table_column **out)
{
    const struct table_column *from = f->from;
    uint32_t holders = 0;
    for (uint32_t i = 0; i < from->pieces; i++)
        holders += from->dictionaries[i]->holders;
    struct table_column *values = table_column_like(from->dictionaries[0], from->pieces, holders);
    *out = values;
    if (!values)
        return no_memory(f, 0);
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->pieces; i++) {
        struct table_column *d = from->dictionaries[i], *flat;
        if (i && d == from->dictionaries[i - 1]) {
            before[i] = before[i - 1];
            continue;
        }
        cohort_status s =
            table_column_flat_in(f->context, d, 1, &flat); /* of one piece, so nothing is copied */
        if (s)
            return s;
        values->piece[n] = flat->piece[0];
        if (flat->piece[0].heaps &&
            !table_column_heaps(values, &values->piece[n], flat->piece[0].heap_count)) {
            table_column_release(flat);
            return no_memory(f, 0);
        }
        for (uint32_t k = 0; flat->piece[0].heaps && k < flat->piece[0].heap_count; k++) {
            values->piece[n].heaps[k] = flat->piece[0].heaps[k];
            values->piece[n].heap_bytes[k] = flat->piece[0].heap_bytes[k];
        }
        for (uint32_t k = 0; k < flat->holders; k++)
            table_column_hold(values, holder_retain(flat->holder[k]));
        before[i] = values->piece[n].first = values->rows;
        values->rows += d->rows;
        values->nulls += d->nulls;
        n++;
        table_column_release(flat);
    }
    values->pieces = n;
    return COHORT_OK;
}

static cohort_status flat_indices(const struct flat *f)
{
    struct table_column *values = NULL, *flat = NULL;
    uint64_t *before = zeroed(f->from->pieces + 1, sizeof *before);
    cohort_status s = before ? all_values(f, before, &values) : no_memory(f, 0);
    if (!s)
        s = table_column_flat_in(f->context, values, 1, &flat);
    void *to = NULL;
    if (!s &&
        values->rows > (f->from->index.bytes >= 4 ? INT32_MAX : (1u << (8 * f->from->index.bytes - 1)) - 1)) {
        f->to->index.bytes = values->rows > INT32_MAX ? 8 : 4;
        f->to->index.number = TABLE_SIGNED;
    }
    if (!s)
        s = room(f, f->from->rows * f->to->index.bytes, &to);
    for (uint32_t i = 0; !s && i < f->from->pieces; i++) {
        const struct table_piece *p = &f->from->piece[i];
        s = f->context->backend->table->rebase(f->context, (char *)to + p->first * f->to->index.bytes,
                                               f->to->index.bytes, p->data, &f->from->index, before[i],
                                               p->rows);
    }
    f->to->piece[0].data = to;
    f->to->dictionaries[0] = flat;
    f->to->piece[0].dictionary = flat;
    table_column_release(values);
    free(before);
    return s;
}

static int has_one_dictionary(const struct table_column *c)
{
    for (uint32_t i = 1; i < c->pieces; i++)
        if (c->dictionaries[i] != c->dictionaries[0])
            return 0;
    return 1;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static cohort_status flat_data(const struct flat *f)
{
    if (f->from->is_dictionary && !has_one_dictionary(f->from))
        return flat_indices(f);
    if (f->from->is_dictionary) {
        f->to->dictionaries[0] = table_column_retain(f->from->dictionaries[0]);
        f->to->piece[0].dictionary = f->to->dictionaries[0];
        return flat_elements(f);
    }
    switch (f->from->type.layout) {
    case TABLE_BITS: {
        void *bits;
        cohort_status s = flat_bits(f, 0, &bits);
        f->to->piece[0].data = bits;
        return s;
    }
    case TABLE_FIXED:
        return flat_elements(f);
    case TABLE_VIEWS:
        return flat_views(f);
    default:
        return flat_offsets(f);
    }
}

/* A column without rows has no pieces, where it came of a stream without arrays: one without anything in
 * it. */
static cohort_status flat_nothing(const struct flat *f, struct table_column **out)
{
    if (f->to->is_dictionary) {
        struct table_column *values = table_column_new(1, 0);
        f->to->dictionaries[0] = values;
        f->to->piece[0].dictionary = values;
        if (!values || !table_column_set_format(values, f->to->format)) {
            table_column_release(f->to);
            return no_memory(f, 0);
        }
        values->type = f->to->type;
    }
    *out = f->to;
    return COHORT_OK;
}

cohort_status table_column_flat_in(cohort_context *context, struct table_column *column, int host,
                                   struct table_column **out)
{
    if (column->pieces == 1) {
        *out = table_column_retain(column);
        return COHORT_OK;
    }
    struct flat f = {context, column, table_column_like(column, 1, column->holders + 8), host};
    *out = NULL;
    if (!f.to)
        return no_memory(&f, 0);
    f.to->rows = f.to->piece[0].rows = column->rows;
    f.to->nulls = f.to->piece[0].nulls = column->nulls;
    if (!column->pieces)
        return flat_nothing(&f, out);
    void *validity = NULL;
    cohort_status s = column->nulls ? flat_bits(&f, 1, &validity) : COHORT_OK;
    f.to->piece[0].validity = validity;
    if (!s)
        s = flat_data(&f);
    if (s)
        table_column_release(f.to);
    else
        *out = f.to;
    return s;
}

cohort_status table_column_flat(cohort_context *context, struct table_column *column,
                                struct table_column **out)
{
    return table_column_flat_in(context, column, 0, out);
}
