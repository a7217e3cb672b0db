/* frame_export.c: frames become Arrow's structs.
 *
 * Every array and every schema, children too, has private data of its own with all that it points to, so that
 * a consumer may move a child out and release the rest. An array holds its column, and through it the memory;
 * all begin at offset 0: a bitmap that does not begin with a byte is copied. */
#include "frame.h"

#include <string.h>

/* ---- schemas ------------------------------------------------------------------------------------------- */

/* Lists of children and texts lie behind it, in its block. */
struct schema_data {
    unsigned char *extra;
    struct ArrowSchema dictionary;
    struct ArrowSchema child[];
};

static void release_schema(struct ArrowSchema *schema)
{
    struct schema_data *d = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (d->child[i].release)
            d->child[i].release(&d->child[i]);
    if (d->dictionary.release)
        d->dictionary.release(&d->dictionary);
    free(d->extra);
    free(d);
    schema->release = NULL;
}

/* An empty schema that can be released. 0: no memory. */
static int begin_schema(struct ArrowSchema *s, const char *format, const char *name, int64_t children)
{
    const size_t count = (size_t)children, format_bytes = strlen(format) + 1, name_bytes = strlen(name) + 1;
    struct schema_data *d =
        zeroed(1, sizeof *d + count * (sizeof d->child[0] + sizeof *s->children) + format_bytes + name_bytes);
    memset(s, 0, sizeof *s);
    if (!d)
        return 0;
    struct ArrowSchema **list = (struct ArrowSchema **)(d->child + count);
    char *text = (char *)(list + count);
    s->private_data = d;
    s->release = release_schema;
    s->format = memcpy(text, format, format_bytes);
    s->name = memcpy(text + format_bytes, name, name_bytes);
    s->n_children = children;
    s->children = children ? list : NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = &d->child[i];
    return 1;
}

static const char *index_format(const struct table_type *index)
{
    static const char *const formats[2][9] = {{"", "C", "S", "", "I", "", "", "", "L"},
                                              {"", "c", "s", "", "i", "", "", "", "l"}};
    return formats[index->number == TABLE_SIGNED][index->bytes];
}

static int column_schema(struct ArrowSchema *s, const char *name, const struct table_column *c)
{
    if (!begin_schema(s, c->is_dictionary ? index_format(&c->index) : c->format, name, 0))
        return 0;
    struct schema_data *d = s->private_data;
    s->flags = ARROW_FLAG_NULLABLE;
    if (c->extra) {
        d->extra = malloc(c->extra_bytes);
        if (!d->extra)
            return 0;
        memcpy(d->extra, c->extra, c->extra_bytes);
        s->metadata = (const char *)d->extra;
    }
    if (!c->is_dictionary)
        return 1;
    s->dictionary = &d->dictionary;
    if (!begin_schema(&d->dictionary, c->format, "", 0))
        return 0;
    d->dictionary.flags = ARROW_FLAG_NULLABLE;
    return 1;
}

cohort_status export_schema(cohort_context *context, const cohort_frame *frame,
                            struct table_column *const *columns, struct ArrowSchema *out)
{
    int made = begin_schema(out, "+s", "", frame->columns);
    for (uint32_t i = 0; made && i < frame->columns; i++)
        made = column_schema(out->children[i], frame->field[i].name, columns[i]);
    if (made)
        return COHORT_OK;
    if (out->release)
        out->release(out);
    out->release = NULL;
    return context_fail(context, COHORT_NO_MEMORY, "no host memory for a schema of %u columns",
                        frame->columns);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* Lists of children and of buffers lie behind it, in its block. */
struct array_data {
    struct table_column *column;
    struct holder *copied[2]; /* bitmaps that were copied */
    int64_t *sizes;
    struct ArrowArray dictionary;
    struct ArrowArray child[];
};

static void release_array(struct ArrowArray *array)
{
    struct array_data *d = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (d->child[i].release)
            d->child[i].release(&d->child[i]);
    if (d->dictionary.release)
        d->dictionary.release(&d->dictionary);
    table_column_release(d->column);
    holder_release(d->copied[0]);
    holder_release(d->copied[1]);
    free(d->sizes);
    free(d);
    array->release = NULL;
}

static int begin_array(struct ArrowArray *a, uint64_t rows, int64_t buffers, int64_t children)
{
    const size_t count = (size_t)children;
    struct array_data *d = zeroed(1, sizeof *d + count * (sizeof d->child[0] + sizeof *a->children) +
                                         ((size_t)buffers + 1) * sizeof *a->buffers);
    memset(a, 0, sizeof *a);
    if (!d)
        return 0;
    struct ArrowArray **list = (struct ArrowArray **)(d->child + count);
    a->private_data = d;
    a->release = release_array;
    a->length = (int64_t)rows;
    a->n_buffers = buffers;
    a->buffers = (const void **)(list + count);
    a->n_children = children;
    a->children = children ? list : NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = &d->child[i];
    return 1;
}

/* Where there is nothing, Arrow wants an address all the same. */
static const uint64_t nothing[2];

/* Memory that lives as long as the array: the context's, or the host's. */
static cohort_status copied_room(cohort_context *context, int host, uint64_t bytes, struct holder **holder,
                                 void **memory)
{
    struct buffer *b;
    if (host && context->backend->own_memory == MEMORY_DEVICE) {
        *holder = holder_block(bytes, memory);
        return *holder ? COHORT_OK : context_fail(context, COHORT_NO_MEMORY, "no host memory for a bitmap");
    }
    cohort_status s = loan_take(context, bytes, &b);
    *holder = s ? NULL : &b->holder;
    *memory = s ? NULL : b->memory;
    return s;
}

/* A bitmap that begins at the first bit of its address. host: what is `from` lies in the host's memory. */
static cohort_status whole_bits(cohort_context *context, int host, const void *from, uint64_t bit, uint64_t n,
                                struct holder **copied, const void **out)
{
    void *to;
    *out = from ? (const char *)from + bit / 8 : NULL;
    if (!from || bit % 8 == 0)
        return COHORT_OK;
    uint64_t bytes = (n + 63) / 64 * 8;
    cohort_status s = copied_room(context, host, bytes, copied, &to);
    if (s)
        return s;
    *out = to;
    if (host && context->backend->own_memory == MEMORY_DEVICE) {
        memset(to, 0, bytes);
        for (uint64_t i = 0; i < n; i++)
            if (table_bit(from, bit + i))
                ((uint8_t *)to)[i / 8] |= (uint8_t)(1u << (i & 7));
        return COHORT_OK;
    }
    s = context_fill(context, to, 0, bytes);
    return s ? s : context->backend->table->copy_bits(context, to, 0, from, bit, n);
}

static cohort_status put_views(cohort_context *context, const struct table_piece *p, struct ArrowArray *a)
{
    struct array_data *d = a->private_data;
    d->sizes = malloc((p->heap_count + 1) * sizeof *d->sizes);
    if (!d->sizes)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for a list of buffers");
    for (uint32_t i = 0; i < p->heap_count; i++) {
        d->sizes[i] = (int64_t)p->heap_bytes[i];
        a->buffers[2 + i] = p->heaps[i];
    }
    a->buffers[2 + p->heap_count] = d->sizes;
    return COHORT_OK;
}

static int64_t buffers_of(const struct table_column *c)
{
    if (c->is_dictionary || c->type.layout <= TABLE_FIXED)
        return 2;
    return c->type.layout == TABLE_VIEWS ? 3 + (int64_t)c->piece[0].heap_count : 3;
}

static cohort_status fill_array(cohort_context *context, int host, struct table_column *c,
                                struct ArrowArray *a)
{
    struct array_data *d = a->private_data;
    const struct table_piece *p = &c->piece[0];
    uint32_t layout = c->is_dictionary ? (uint32_t)TABLE_FIXED : c->type.layout;
    d->column = table_column_retain(c);
    a->null_count = (int64_t)c->nulls;
    cohort_status s =
        whole_bits(context, host, p->validity, p->validity_bit, p->rows, &d->copied[0], &a->buffers[0]);
    if (s)
        return s;
    if (layout == TABLE_BITS)
        s = whole_bits(context, host, p->data, p->data_bit, p->rows, &d->copied[1], &a->buffers[1]);
    else
        a->buffers[1] = layout == TABLE_OFFSETS_32 || layout == TABLE_OFFSETS_64 ? p->offsets : p->data;
    a->buffers[1] = a->buffers[1] ? a->buffers[1] : nothing;
    if (layout == TABLE_OFFSETS_32 || layout == TABLE_OFFSETS_64)
        a->buffers[2] = p->data ? p->data : nothing;
    return !s && layout == TABLE_VIEWS ? put_views(context, p, a) : s;
}

/* One column, of one piece. */
static cohort_status export_column(cohort_context *context, int host, struct table_column *c,
                                   struct ArrowArray *a)
{
    struct table_column *values = NULL;
    struct array_data *d;
    if (!begin_array(a, c->rows, buffers_of(c), 0))
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for an array");
    cohort_status s = fill_array(context, host, c, a);
    if (s || !c->is_dictionary)
        return s;
    d = a->private_data;
    a->dictionary = &d->dictionary;
    s = table_column_flat_in(context, c->dictionaries[0], 1, &values);
    if (!s)
        s = export_column(context, 1, values, &d->dictionary);
    table_column_release(values);
    return s;
}

cohort_status export_rows(cohort_context *context, uint64_t rows, uint32_t columns,
                          struct table_column *const *column, int host, struct ArrowArray *out)
{
    cohort_status s = begin_array(out, rows, 1, columns)
                          ? COHORT_OK
                          : context_fail(context, COHORT_NO_MEMORY, "no host memory for an array");
    for (uint32_t i = 0; !s && i < columns; i++)
        s = export_column(context, host, column[i], out->children[i]);
    if (s && out->release)
        out->release(out);
    if (s)
        out->release = NULL;
    return s;
}
