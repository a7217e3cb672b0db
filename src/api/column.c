/* column.c: making, sharing and ending columns. */
#include "core/column.h"

#include "backend/table.h"
#include "backend/context.h"

#include <stdio.h>
#include <string.h>

/* ---- texts: short ones lie in the record itself -------------------------------------------------------- */

char *table_text_copy(char *own, size_t room, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *to = bytes <= room ? own : malloc(bytes);
    return to ? memcpy(to, text, bytes) : NULL;
}

void table_text_free(char *text, const char *own)
{
    if (text != own)
        free(text);
}

/* ---- making, sharing and ending ------------------------------------------------------------------------ */

struct table_column *table_column_new(uint32_t pieces, uint32_t holders)
{
    const size_t piece = (size_t)pieces + 1, holder = (size_t)holders + 1;
    struct table_column *c =
        zeroed(1, sizeof *c + piece * sizeof *c->piece + holder * sizeof(struct holder *) +
                      piece * sizeof(struct table_column *));
    if (!c)
        return NULL;
    c->count = 1;
    c->piece = (struct table_piece *)(c + 1);
    c->holder = (struct holder **)(c->piece + piece);
    c->dictionaries = (struct table_column **)(c->holder + holder);
    c->pieces = pieces;
    return c;
}

int table_column_set_format(struct table_column *column, const char *format)
{
    char own[sizeof column->own] = {0}, *made = table_text_copy(own, sizeof own, format);
    if (!made)
        return 0;
    table_text_free(column->format, column->own);
    column->format = made == own ? memcpy(column->own, own, sizeof own) : made;
    return 1;
}

struct table_column *table_column_retain(struct table_column *column)
{
    __atomic_add_fetch(&column->count, 1, __ATOMIC_RELAXED);
    return column;
}

void table_column_release(struct table_column *column)
{
    if (!column || __atomic_sub_fetch(&column->count, 1, __ATOMIC_ACQ_REL))
        return;
    for (uint32_t i = 0; i < column->pieces; i++)
        table_column_release(column->dictionaries[i]);
    for (uint32_t i = 0; i < column->holders; i++)
        holder_release(column->holder[i]);
    for (struct table_column_list *list = column->lists, *next; list; list = next) {
        next = list->next;
        free(list);
    }
    table_text_free(column->format, column->own);
    free(column->extra);
    free(column);
}

struct holder_block {
    struct holder holder;
    char bytes[];
};

static void end_block(struct holder *holder)
{
    free(holder);
}

struct holder *holder_block(uint64_t bytes, void **memory)
{
    struct holder_block *b = bytes < SIZE_MAX - sizeof *b ? malloc(sizeof *b + bytes) : NULL;
    if (!b)
        return NULL;
    b->holder.count = 1;
    b->holder.end = end_block;
    *memory = b->bytes;
    return &b->holder;
}

struct table_column *table_column_like(const struct table_column *column, uint32_t pieces, uint32_t holders)
{
    struct table_column *c = table_column_new(pieces, holders);
    if (!c)
        return NULL;
    c->type = column->type;
    c->index = column->index;
    c->is_dictionary = column->is_dictionary;
    const int named = table_column_set_format(c, column->format);
    if (column->extra && (c->extra = malloc(column->extra_bytes)))
        memcpy(c->extra, column->extra, column->extra_bytes);
    c->extra_bytes = c->extra ? column->extra_bytes : 0;
    if (!named || (column->extra && !c->extra)) {
        table_column_release(c);
        return NULL;
    }
    return c;
}

void table_column_hold(struct table_column *column, struct holder *holder)
{
    column->holder[column->holders++] = holder;
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/* Rows from `skip` on of a piece. Offsets have a row more than others, and bits no address. */
static struct table_piece cut(const struct table_column *column, const struct table_piece *from,
                              uint64_t skip, uint64_t rows)
{
    struct table_piece p = *from;
    uint32_t layout = column->is_dictionary ? (uint32_t)TABLE_FIXED : column->type.layout;
    p.rows = rows;
    p.validity_bit += skip;
    if (layout == TABLE_BITS)
        p.data_bit += skip;
    else if (layout == TABLE_OFFSETS_32)
        p.offsets = p.offsets ? (const co_u32 *)p.offsets + skip : NULL;
    else if (layout == TABLE_OFFSETS_64)
        p.offsets = p.offsets ? (const co_u64 *)p.offsets + skip : NULL;
    else if (p.data)
        p.data = (const char *)p.data + skip * table_column_element(column);
    return p;
}

static cohort_status cut_pieces(cohort_context *context, struct table_column *to,
                                const struct table_column *from, uint64_t first, uint64_t rows)
{
    cohort_status s = COHORT_OK;
    uint32_t n = 0;
    for (uint32_t i = 0; !s && i < from->pieces && to->rows < rows; i++) {
        const struct table_piece *p = &from->piece[i];
        if (p->first + p->rows <= first)
            continue;
        uint64_t skip = p->first < first ? first - p->first : 0;
        uint64_t left = p->rows - skip, need = rows - to->rows;
        struct table_piece *q = &to->piece[n];
        *q = cut(from, p, skip, left < need ? left : need);
        q->first = to->rows;
        if (q->rows != p->rows && p->nulls)
            s = context->backend->table->nulls(context, q, &q->nulls);
        to->nulls += q->nulls;
        to->rows += q->rows;
        if (from->dictionaries[i])
            to->dictionaries[n] = table_column_retain(from->dictionaries[i]);
        n++;
    }
    to->pieces = n;
    return s;
}

int table_column_heaps(struct table_column *column, struct table_piece *p, uint32_t count)
{
    struct table_column_list *list = malloc(sizeof *list + count * (sizeof(void *) + sizeof(co_u64)));
    if (!list)
        return 0;
    list->next = column->lists;
    column->lists = list;
    p->heaps = (const void **)(void *)(list + 1);
    p->heap_bytes = (co_u64 *)(void *)(p->heaps + count);
    p->heap_count = count;
    return 1;
}

/* Lists of heaps belong to the column, and are copied with it. */
static int copy_heaps(struct table_column *to)
{
    for (uint32_t i = 0; i < to->pieces; i++) {
        struct table_piece *p = &to->piece[i], from = *p;
        if (!p->heaps)
            continue;
        if (!table_column_heaps(to, p, from.heap_count))
            return 0;
        memcpy(p->heaps, from.heaps, from.heap_count * sizeof *p->heaps);
        memcpy(p->heap_bytes, from.heap_bytes, from.heap_count * sizeof *p->heap_bytes);
    }
    return 1;
}

cohort_status table_column_slice(cohort_context *context, const struct table_column *column, uint64_t first,
                                 uint64_t rows, struct table_column **out)
{
    struct table_column *c = table_column_like(column, column->pieces, column->holders);
    cohort_status s = c ? cut_pieces(context, c, column, first, rows) : COHORT_NO_MEMORY;
    if (s || !copy_heaps(c)) {
        table_column_release(c);
        return s && s != COHORT_NO_MEMORY
                   ? s
                   : context_fail(context, COHORT_NO_MEMORY, "no host memory for a column of %u pieces",
                                  column->pieces);
    }
    for (uint32_t i = 0; i < column->holders; i++)
        table_column_hold(c, holder_retain(column->holder[i]));
    *out = c;
    return COHORT_OK;
}

const char *table_column_text(char text[COLUMN_TEXT], const char *name, const struct table_column *column)
{
    snprintf(text, COLUMN_TEXT, "column '%.100s' (%.40s%s)", name, column->format ? column->format : "?",
             column->is_dictionary ? ", a dictionary" : "");
    return text;
}
