/* frame_import.c: Arrow's structs become pieces of columns.
 *
 * The structs are judged before what they point to is used: children and buffers that must be there, lengths
 * and offsets that add up without overflow, null counts that can be. Then each buffer is settled: left where
 * it is if it lies in the context's memory and is aligned, else copied there. What the data itself claims
 * (nulls, offsets, views, indices) is checked last, where it lies then. Values of dictionaries stay in, or
 * come to, the host's memory, whatever the device. */
#include "frame.h"

#include <string.h>

#include "shape/table_check.h"

#define EXTRA_MOST (1 << 24) /* bytes of a field's metadata */
#define ROWS_MOST  (1ull << 56)

/* ---- schemas ------------------------------------------------------------------------------------------- */

static int32_t word_at(const char *at)
{
    int32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* Metadata: a count of pairs, then length and bytes of each key and value. Its size is told nowhere but
 * inside. 0: it cannot be. */
static uint64_t extra_bytes(const char *extra)
{
    int64_t at = sizeof(int32_t), strings = 2 * (int64_t)word_at(extra);
    if (strings < 0 || strings > EXTRA_MOST)
        return 0;
    for (int64_t i = 0; i < strings; i++) {
        int64_t length = word_at(extra + at);
        at += (int64_t)sizeof(int32_t) + length;
        if (length < 0 || at > EXTRA_MOST)
            return 0;
    }
    return (uint64_t)at;
}

static cohort_status take_extra(cohort_context *context, const struct ArrowSchema *schema,
                                struct table_column *c)
{
    if (!schema->metadata)
        return COHORT_OK;
    uint64_t bytes = extra_bytes(schema->metadata);
    if (!bytes)
        return context_fail(context, COHORT_CORRUPT, "column '%.100s': metadata has a length that cannot be",
                            schema->name ? schema->name : "");
    c->extra = malloc(bytes);
    if (!c->extra)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for metadata of %llu bytes",
                            (unsigned long long)bytes);
    memcpy(c->extra, schema->metadata, bytes);
    c->extra_bytes = bytes;
    return COHORT_OK;
}

static int is_index(const struct table_type *type, const char *format)
{
    return type->layout == TABLE_FIXED && strlen(format) == 1 && strchr("cCsSiIlL", format[0]);
}

static cohort_status refuse(cohort_context *context, const char *name, const char *what, const char *format)
{
    return context_fail(context, COHORT_UNSUPPORTED,
                        "column '%.100s': %s '%.60s' is none that a frame can have", name, what, format);
}

static cohort_status parse_types(cohort_context *context, const char *name, const struct ArrowSchema *schema,
                                 struct table_column *c)
{
    const struct ArrowSchema *values = schema->dictionary;
    struct table_type own;
    if (!table_type_parse(schema->format, &own))
        return refuse(context, name, "type", schema->format);
    if (!values) {
        c->type = own;
        return COHORT_OK;
    }
    if (!is_index(&own, schema->format))
        return refuse(context, name, "a dictionary's index", schema->format);
    if (!values->release || !values->format)
        return context_fail(context, COHORT_CORRUPT, "column '%.100s': the dictionary's schema was released",
                            name);
    if (values->dictionary || !table_type_parse(values->format, &c->type))
        return refuse(context, name, "a dictionary of type", values->format);
    c->index = own;
    c->is_dictionary = 1;
    return COHORT_OK;
}

cohort_status intake_schema(cohort_context *context, const struct ArrowSchema *schema, uint32_t pieces,
                            struct table_column **out)
{
    const char *name = schema->name ? schema->name : "";
    *out = NULL;
    if (!schema->release || !schema->format)
        return context_fail(context, COHORT_CORRUPT, "column '%.100s': its schema was released", name);
    struct table_column *c = table_column_new(pieces, 4 * pieces);
    cohort_status s = c ? parse_types(context, name, schema, c) : COHORT_NO_MEMORY;
    if (!s)
        s = take_extra(context, schema, c);
    if (!s && !table_column_set_format(c, c->is_dictionary ? schema->dictionary->format : schema->format))
        s = COHORT_NO_MEMORY;
    if (!s && context->backend->own_memory == MEMORY_DEVICE && !c->is_dictionary &&
        c->type.layout >= TABLE_OFFSETS_32)
        s = context_fail(context, COHORT_UNSUPPORTED,
                         "column '%.100s': type '%s' on a GPU; there strings must be dictionaries", name,
                         schema->format);
    if (s == COHORT_NO_MEMORY)
        context_fail(context, s, "no host memory for column '%.100s'", name);
    if (s)
        table_column_release(c);
    else
        *out = c;
    return s;
}

/* ---- arrays: the structs ------------------------------------------------------------------------------- */

static cohort_status corrupt(const struct intake *in, const char *what, int64_t value)
{
    return context_fail(in->context, COHORT_CORRUPT, "column '%.100s': %s is %lld, which cannot be", in->name,
                        what, (long long)value);
}

static int64_t buffers_due(const struct table_type *type)
{
    return type->layout <= TABLE_FIXED ? 2 : 3;
}

static cohort_status check_array(const struct intake *in, const struct ArrowArray *a,
                                 const struct table_type *type)
{
    int64_t due = buffers_due(type);
    if (!a->release)
        return context_fail(in->context, COHORT_CORRUPT, "column '%.100s': the array was released", in->name);
    if (a->length < 0 || (uint64_t)a->length > ROWS_MOST)
        return corrupt(in, "length", a->length);
    if (a->offset < 0 || (uint64_t)a->offset > ROWS_MOST)
        return corrupt(in, "offset", a->offset);
    if (a->null_count < -1 || a->null_count > a->length)
        return corrupt(in, "null_count", a->null_count);
    if (a->n_children)
        return corrupt(in, "n_children", a->n_children);
    if (a->n_buffers < due || (a->n_buffers != due && type->layout != TABLE_VIEWS))
        return corrupt(in, "n_buffers", a->n_buffers);
    if (!a->buffers)
        return context_fail(in->context, COHORT_CORRUPT, "column '%.100s': buffers is NULL", in->name);
    if (a->null_count > 0 && !a->buffers[0])
        return context_fail(in->context, COHORT_CORRUPT,
                            "column '%.100s': null_count is %lld, and there is no validity", in->name,
                            (long long)a->null_count);
    if (a->length && !a->buffers[1])
        return context_fail(in->context, COHORT_CORRUPT, "column '%.100s': buffers[1] is NULL", in->name);
    return COHORT_OK;
}

/* ---- settling ------------------------------------------------------------------------------------------ */

static void keep_holder(const struct intake *in, struct table_column *c)
{
    for (uint32_t i = 0; i < c->holders; i++)
        if (c->holder[i] == in->holder)
            return;
    table_column_hold(c, holder_retain(in->holder));
}

/* Memory where the column is to lie, held by it. */
static cohort_status room_for(const struct intake *in, struct table_column *c, uint64_t bytes, void **memory)
{
    struct buffer *b;
    struct holder *h;
    if (in->to == in->context->backend->own_memory) {
        cohort_status s = loan_take(in->context, bytes, &b);
        if (s)
            return s;
        *memory = b->memory;
        h = &b->holder;
    } else {
        h = holder_block(bytes, memory);
        if (!h)
            return context_fail(in->context, COHORT_NO_MEMORY,
                                "no host memory for a dictionary of %llu bytes", (unsigned long long)bytes);
    }
    table_column_hold(c, h);
    return COHORT_OK;
}

/* Leaves `bytes` bytes where they are, or copies them. */
static cohort_status settle(const struct intake *in, struct table_column *c, const void **at, uint64_t bytes,
                            uint32_t align)
{
    void *memory;
    if (!*at || !bytes)
        return COHORT_OK;
    if (bytes > UINTPTR_MAX - (uintptr_t)*at)
        return corrupt(in, "a buffer's size", (int64_t)bytes);
    if (in->kind == in->to && (uintptr_t)*at % align == 0) {
        keep_holder(in, c);
        return COHORT_OK;
    }
    cohort_status s = room_for(in, c, bytes, &memory);
    if (!s)
        s = context_copy(in->context, memory, *at, bytes);
    if (!s)
        *at = memory;
    return s;
}

/* The bytes of n bits from *bit on; *bit becomes that of the first byte's. */
static cohort_status settle_bits(const struct intake *in, struct table_column *c, const void **at,
                                 co_u64 *bit, uint64_t n)
{
    if (!*at)
        return COHORT_OK;
    *at = (const char *)*at + *bit / 8;
    *bit %= 8;
    return settle(in, c, at, (*bit + n + 7) / 8, 1);
}

static uint32_t align_of(uint32_t bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? bytes : bytes == 16 ? 8 : 1;
}

static cohort_status settle_elements(const struct intake *in, struct table_column *c, struct table_piece *p,
                                     const struct ArrowArray *a, uint64_t skip)
{
    uint64_t bytes = table_column_element(c);
    if (skip + p->rows > INT64_MAX / bytes)
        return corrupt(in, "length", a->length);
    p->data = a->buffers[1] ? (const char *)a->buffers[1] + skip * bytes : NULL;
    return settle(in, c, &p->data, p->rows * bytes,
                  c->type.layout == TABLE_VIEWS && !c->is_dictionary ? 4 : align_of((uint32_t)bytes));
}

/* Offsets and the heap that they point into. Strings lie in the host's memory, always; what the last offset
 * says is how much of the heap there is. */
static cohort_status settle_offsets(const struct intake *in, struct table_column *c, struct table_piece *p,
                                    const struct ArrowArray *a, uint64_t skip)
{
    uint32_t bytes = c->type.layout == TABLE_OFFSETS_64 ? 8 : 4;
    int64_t end = 0;
    int32_t narrow = 0;
    if (!p->rows)
        return COHORT_OK;
    p->offsets = (const char *)a->buffers[1] + skip * bytes;
    cohort_status s = settle(in, c, &p->offsets, (p->rows + 1) * bytes, bytes);
    if (s)
        return s;
    memcpy(bytes == 8 ? (void *)&end : (void *)&narrow, (const char *)p->offsets + p->rows * bytes, bytes);
    end = bytes == 8 ? end : narrow;
    if (end < 0)
        return corrupt(in, "the last offset", end);
    p->data = a->buffers[2];
    return settle(in, c, &p->data, (uint64_t)end, 1);
}

/* Views: the heaps' addresses, and their sizes in the last buffer. */
static cohort_status take_heaps(const struct intake *in, struct table_column *c, struct table_piece *p,
                                const struct ArrowArray *a)
{
    uint64_t count = (uint64_t)a->n_buffers - 3;
    const char *sizes = a->buffers[a->n_buffers - 1];
    if (in->kind != in->to)
        return context_fail(in->context, COHORT_UNSUPPORTED,
                            "column '%.100s': a dictionary of views in a GPU's memory", in->name);
    if (!count)
        return COHORT_OK;
    if (count > UINT32_MAX / 2)
        return corrupt(in, "n_buffers", a->n_buffers);
    if (!sizes)
        return context_fail(in->context, COHORT_CORRUPT, "column '%.100s': the sizes of its buffers are NULL",
                            in->name);
    if (!table_column_heaps(c, p, (uint32_t)count))
        return context_fail(in->context, COHORT_NO_MEMORY, "no host memory for a list of %llu buffers",
                            (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++) {
        int64_t size;
        memcpy(&size, sizes + i * sizeof size, sizeof size);
        if (size < 0 || (size && !a->buffers[2 + i]))
            return corrupt(in, "the size of a buffer of strings", size);
        p->heaps[i] = a->buffers[2 + i];
        p->heap_bytes[i] = (co_u64)size;
    }
    keep_holder(in, c);
    return COHORT_OK;
}

static cohort_status settle_data(const struct intake *in, struct table_column *c, struct table_piece *p,
                                 const struct ArrowArray *a, uint64_t skip)
{
    uint32_t layout = c->is_dictionary ? (uint32_t)TABLE_FIXED : c->type.layout;
    if (layout == TABLE_BITS) {
        p->data = a->buffers[1];
        p->data_bit = skip;
        return settle_bits(in, c, &p->data, &p->data_bit, p->rows);
    }
    if (layout == TABLE_OFFSETS_32 || layout == TABLE_OFFSETS_64)
        return settle_offsets(in, c, p, a, skip);
    cohort_status s = settle_elements(in, c, p, a, skip);
    return s || layout != TABLE_VIEWS ? s : take_heaps(in, c, p, a);
}

/* ---- what the data says -------------------------------------------------------------------------------- */

static uint64_t host_nulls(const struct table_piece *p)
{
    uint64_t nulls = 0;
    for (uint64_t i = 0; p->validity && i < p->rows; i++)
        nulls += !table_is_valid(p, i);
    return nulls;
}

/* What is not in the context's memory is the values of a dictionary, which this file reads by itself. */
static int backend_reads(const struct intake *in)
{
    return in->to == in->context->backend->own_memory;
}

static cohort_status check_nulls(const struct intake *in, struct table_piece *p, int64_t claimed)
{
    cohort_status s = COHORT_OK;
    if (p->validity && backend_reads(in))
        s = in->context->backend->table->nulls(in->context, p, &p->nulls);
    else
        p->nulls = host_nulls(p);
    if (!s && claimed >= 0 && p->nulls != (uint64_t)claimed)
        return context_fail(in->context, COHORT_CORRUPT,
                            "column '%.100s': null_count is %lld, but its validity has %llu %s", in->name,
                            (long long)claimed, COUNTED(p->nulls, "null", "nulls"));
    if (!p->nulls)
        p->validity = NULL;
    return s;
}

static cohort_status check_rows(const struct intake *in, const struct table_column *c,
                                const struct table_piece *p)
{
    co_u64 bad = TABLE_NO_ROW;
    cohort_status s = COHORT_OK;
    if (backend_reads(in))
        s = in->context->backend->table->check(in->context, c, p, &bad);
    else
        bad = table_check(p, c->type.layout, NULL, 0, 0, p->rows);
    if (s || bad == TABLE_NO_ROW)
        return s;
    return context_fail(in->context, COHORT_CORRUPT, "column '%.100s': row %llu has %s", in->name,
                        (unsigned long long)(p->first + bad),
                        c->is_dictionary                ? "an index that its dictionary lacks"
                        : c->type.layout == TABLE_VIEWS ? "a view that leaves its buffer"
                                                        : "offsets that fall or lead nowhere");
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

/* Views into the same buffers? */
static int has_same_heaps(const struct table_piece *p, const struct ArrowArray *a)
{
    int same = (uint64_t)a->n_buffers == p->heap_count + 3u;
    for (uint32_t i = 0; same && i < p->heap_count; i++)
        same = p->heaps[i] == a->buffers[2 + i];
    return same;
}

/* Is it the dictionary that the piece before had, in the same place? One with nulls may be another one. */
static int is_same_dictionary(const struct table_column *values, const struct ArrowArray *a)
{
    const struct table_piece *p = &values->piece[0];
    if (values->rows != (uint64_t)a->length || a->offset || values->nulls ||
        (a->buffers[0] && a->null_count) || values->type.layout == TABLE_BITS)
        return 0;
    if (values->type.layout >= TABLE_OFFSETS_32 && values->type.layout <= TABLE_OFFSETS_64)
        return p->offsets == a->buffers[1] && p->data == a->buffers[2];
    return p->data == a->buffers[1] && (values->type.layout != TABLE_VIEWS || has_same_heaps(p, a));
}

static cohort_status fill_piece(const struct intake *in, struct table_column *c, const struct ArrowArray *a,
                                uint64_t skip, uint64_t rows, uint32_t at);

/* The values as a column of one piece in the host's memory. */
static cohort_status take_values(const struct intake *in, const struct ArrowSchema *schema,
                                 const struct ArrowArray *a, struct table_column **out)
{
    struct intake host = *in;
    struct table_column *c = table_column_new(1, 4);
    *out = NULL;
    if (!c || !table_column_set_format(c, schema->format)) {
        table_column_release(c);
        return context_fail(in->context, COHORT_NO_MEMORY, "no host memory for a dictionary");
    }
    table_type_parse(schema->format, &c->type);
    host.to = MEMORY_HOST;
    cohort_status s = check_array(in, a, &c->type);
    if (!s)
        s = fill_piece(&host, c, a, (uint64_t)a->offset, (uint64_t)a->length, 0);
    if (s)
        table_column_release(c);
    else
        *out = c;
    return s;
}

static cohort_status take_dictionary(const struct intake *in, struct table_column *c,
                                     const struct ArrowSchema *schema, const struct ArrowArray *a,
                                     uint32_t at)
{
    if (!a->dictionary)
        return context_fail(in->context, COHORT_CORRUPT, "column '%.100s': its dictionary is NULL", in->name);
    struct table_column *before = at ? c->dictionaries[at - 1] : NULL;
    cohort_status s = COHORT_OK;
    if (before && a->dictionary->n_buffers >= buffers_due(&c->type) && a->dictionary->buffers &&
        is_same_dictionary(before, a->dictionary))
        c->dictionaries[at] = table_column_retain(before);
    else
        s = take_values(in, schema->dictionary, a->dictionary, &c->dictionaries[at]);
    c->piece[at].dictionary = c->dictionaries[at];
    return s;
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static cohort_status fill_piece(const struct intake *in, struct table_column *c, const struct ArrowArray *a,
                                uint64_t skip, uint64_t rows, uint32_t at)
{
    struct table_piece *p = &c->piece[at];
    const void *validity = rows ? a->buffers[0] : NULL;
    int whole = skip == (uint64_t)a->offset && rows == (uint64_t)a->length;
    p->first = c->rows;
    p->rows = rows;
    p->validity_bit = skip;
    cohort_status s = settle_bits(in, c, &validity, &p->validity_bit, rows);
    p->validity = validity;
    if (!s)
        s = settle_data(in, c, p, a, skip);
    if (!s)
        s = check_nulls(in, p, whole ? a->null_count : -1);
    if (!s && rows)
        s = check_rows(in, c, p);
    c->rows += rows;
    c->nulls += p->nulls;
    return s;
}

cohort_status intake_piece(const struct intake *in, struct table_column *column,
                           const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t skip,
                           uint64_t rows, uint32_t at)
{
    const struct table_type *type = column->is_dictionary ? &column->index : &column->type;
    cohort_status s = check_array(in, array, type);
    if (s)
        return s;
    if (skip > (uint64_t)array->length || rows > (uint64_t)array->length - skip)
        return context_fail(in->context, COHORT_CORRUPT,
                            "column '%.100s': length is %lld, but its struct has rows up to %llu", in->name,
                            (long long)array->length, (unsigned long long)(skip + rows));
    if (column->is_dictionary)
        s = take_dictionary(in, column, schema, array, at);
    return s ? s : fill_piece(in, column, array, (uint64_t)array->offset + skip, rows, at);
}
