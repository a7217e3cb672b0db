/* group_keys.c: distinct rows, numbered by a factor, with the rows themselves, in frames that hold no
 * memory of who brought them, but dictionaries. */
#include "group.h"

#include <string.h>

static cohort_status no_memory(cohort_context *host)
{
    return context_fail(host, COHORT_NO_MEMORY, "no host memory for the keys of groups");
}

cohort_status group_keys_open(struct group_keys *k, cohort_context *host, uint32_t columns,
                              const uint8_t *nulls_equal)
{
    *k = (struct group_keys){.host = host, .columns = columns, .nulls_equal = nulls_equal};
    return factor_open(&k->factor, host, columns, nulls_equal);
}

void group_keys_close(struct group_keys *k)
{
    if (k->factor.context)
        factor_close(&k->factor);
    for (uint32_t i = 0; i < k->pieces; i++)
        cohort_frame_release(k->piece[i]);
    free(k->piece);
    *k = (struct group_keys){0};
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* The values of a dictionary column. */
static cohort_status decode(cohort_context *host, const char *name, const struct table_column *c,
                            struct table_column **out)
{
    const struct table_piece *p = &c->piece[0];
    void *memory;
    if (!c->pieces || !c->dictionaries[0])
        return context_fail(host, COHORT_CORRUPT, "column '%.100s' has no dictionary", name);
    cohort_status s = pool_take(host, c->rows * 8, &memory);
    if (s)
        return s;
    uint64_t *row = memory;
    for (uint64_t i = 0; i < c->rows; i++) {
        row[i] = 0;
        if (table_is_valid(p, i))
            memcpy(&row[i], (const char *)p->data + i * c->index.bytes, c->index.bytes);
        else
            row[i] = ~0ull;
    }
    s = table_column_gather(host, name, c->dictionaries[0], c->rows, 8, row, out);
    pool_give(host, memory);
    return s;
}

/* The same of words, by the backend. */
static cohort_status decode_words(cohort_context *host, const struct table_column *c,
                                  struct table_column **out)
{
    struct table_column *made = NULL, *values = c->dictionaries[0];
    struct keys_column rows = factor_column_of(c), of = factor_column_of(values);
    const uint32_t width = c->type.layout == TABLE_BITS ? 0 : c->type.bytes;
    void *words = NULL, *states = NULL;
    uint64_t nulls = 0;
    of.kind = of.kind == KEYS_FLOAT ? KEYS_UNSIGNED : of.kind; /* with all bits that they have */
    rows.kind = KEYS_DICTIONARY;
    rows.bytes = c->index.bytes;
    cohort_status s = pool_take(host, values->rows * 8, &words);
    if (!s)
        s = pool_take(host, values->rows, &states);
    if (!s)
        s = host->backend->keys->load(host, &of, values->rows, words, states);
    if (!s)
        s = table_column_room(host, c->format, c->rows, (c->rows + 64) * (width ? width : 1), 1, &made);
    rows.words = words;
    rows.states = states;
    if (!s)
        s = host->backend->keys->decode(host, &rows, c->rows, width, (void *)(uintptr_t)made->piece[0].data,
                                        (void *)(uintptr_t)made->piece[0].validity, &nulls);
    pool_give(host, words);
    pool_give(host, states);
    if (s) {
        table_column_release(made);
        return s;
    }
    made->nulls = made->piece[0].nulls = nulls;
    *out = made;
    return COHORT_OK;
}

cohort_status group_plain(cohort_context *host, const char *name, struct table_column *column,
                          struct table_column **out)
{
    struct table_column *flat;
    *out = NULL;
    cohort_status s = table_column_flat(host, column, &flat);
    if (s)
        return s;
    if (!flat->is_dictionary) {
        *out = flat;
        return COHORT_OK;
    }
    int are_words =
        flat->pieces && flat->dictionaries[0] && factor_column_of(flat->dictionaries[0]).kind < KEYS_WIDE;
    s = are_words ? decode_words(host, flat, out) : decode(host, name, flat, out);
    table_column_release(flat);
    return s;
}

#define HEAP_BYTES (1ull << 30) /* of a heap of views: whoever reads them has offsets of 31 bits */

/* How many heaps views need for strings that do not fit into a view. */
static uint32_t heaps_of(const struct table_view *view, uint64_t rows, uint64_t *bytes)
{
    uint32_t heaps = 0;
    *bytes = 0;
    for (uint64_t i = 0, used = HEAP_BYTES; i < rows; i++) {
        if (view[i].length <= TABLE_VIEW_INLINE)
            continue;
        if (used >= HEAP_BYTES) {
            used = 0;
            heaps++;
        }
        used += view[i].length;
        *bytes += view[i].length;
    }
    return heaps;
}

static void move_texts(struct table_column *c, const struct table_column *from, struct table_view *view,
                       char *to)
{
    struct table_piece *p = &c->piece[0];
    uint32_t heap = 0;
    uint64_t used = HEAP_BYTES;
    for (uint64_t i = 0; i < c->rows; i++) {
        uint32_t length = view[i].length;
        if (length <= TABLE_VIEW_INLINE)
            continue;
        if (used >= HEAP_BYTES) {
            p->heaps[heap] = to;
            p->heap_bytes[heap++] = used = 0;
        }
        memcpy(to, (const char *)from->piece[0].heaps[view[i].heap] + view[i].offset, length);
        view[i].heap = heap - 1;
        view[i].offset = (uint32_t)used;
        used += length;
        to += length;
        p->heap_bytes[heap - 1] = used;
    }
}

static cohort_status room(cohort_context *host, struct table_column *c, uint64_t bytes, void **memory)
{
    struct buffer *b;
    cohort_status s = loan_take(host, bytes, &b);
    if (s)
        return s;
    table_column_hold(c, &b->holder);
    *memory = b->memory;
    return COHORT_OK;
}

/* Where a row is null there may be anything. */
static void copy_views(const struct table_column *from, struct table_view *view)
{
    memcpy(view, from->piece[0].data, from->rows * sizeof *view);
    for (uint64_t i = 0; from->piece[0].validity && i < from->rows; i++)
        if (!table_is_valid(&from->piece[0], i))
            memset(&view[i], 0, sizeof *view);
}

/* Views that were gathered, with bytes of their own. */
static cohort_status own_texts(cohort_context *host, struct table_column **column)
{
    struct table_column *from = *column, *c = table_column_like(from, 1, 3);
    void *views = NULL, *heap = NULL, *validity = NULL;
    uint64_t bytes = 0, bitmap = (from->rows + 63) / 64 * 8;
    if (!c)
        return no_memory(host);
    cohort_status s = room(host, c, from->rows * sizeof(struct table_view), &views);
    if (!s)
        copy_views(from, views);
    uint32_t heaps = s ? 0 : heaps_of(views, from->rows, &bytes);
    if (!s && heaps && !table_column_heaps(c, &c->piece[0], heaps))
        s = no_memory(host);
    if (!s && heaps)
        s = room(host, c, bytes, &heap);
    if (!s && from->piece[0].validity)
        s = room(host, c, bitmap, &validity);
    if (s) {
        table_column_release(c);
        return s;
    }
    if (validity)
        memcpy(validity, from->piece[0].validity, bitmap);
    c->rows = c->piece[0].rows = from->rows;
    c->nulls = c->piece[0].nulls = from->nulls;
    c->piece[0].data = views;
    c->piece[0].validity = validity;
    if (heaps)
        move_texts(c, from, views, heap);
    table_column_release(from);
    *column = c;
    return COHORT_OK;
}

/* ---- adding -------------------------------------------------------------------------------------------- */

static cohort_status rebuild(struct group_keys *k)
{
    struct factor made;
    cohort_status s = factor_open(&made, k->host, k->columns, k->nulls_equal);
    if (s)
        return s;
    for (uint32_t i = 0; !s && i < k->pieces; i++) {
        void *ids;
        s = pool_take(k->host, k->piece[i]->rows * 4, &ids);
        if (s)
            break;
        s = factor_add(&made, k->piece[i], ids, NULL);
        pool_give(k->host, ids);
    }
    if (s) {
        factor_close(&made);
        return s;
    }
    factor_close(&k->factor);
    k->factor = made;
    k->stale = 0;
    return COHORT_OK;
}

static cohort_status new_rows(struct group_keys *k, cohort_frame *frame, const struct factor_rows *first,
                              struct group_keys_step *step)
{
    int are_all = first->count == frame->rows;
    cohort_status s = frame_gather(frame, first->count, 8, are_all ? NULL : first->at, &step->made);
    for (uint32_t i = 0; !s && i < k->columns; i++) {
        struct table_column **c = &step->made->field[i].column;
        if (!(*c)->is_dictionary && (*c)->type.layout == TABLE_VIEWS)
            s = own_texts(k->host, c);
    }
    return s;
}

cohort_status group_keys_add(struct group_keys *k, const char *call, cohort_frame *frame, uint32_t *ids,
                             struct group_keys_step *step)
{
    struct factor_rows first = {0};
    *step = (struct group_keys_step){0};
    if (k->pieces == k->room) {
        uint32_t more = 2 * k->room + 8;
        cohort_frame **piece = realloc(k->piece, more * sizeof(cohort_frame *));
        if (!piece)
            return no_memory(k->host);
        k->piece = piece;
        k->room = more;
    }
    cohort_status s = k->stale ? rebuild(k) : COHORT_OK;
    if (!s)
        s = factor_check(&k->factor, call, "frame", frame);
    if (s)
        return s;
    s = factor_add(&k->factor, frame, ids, &first);
    if (!s && (first.count || !k->pieces))
        s = new_rows(k, frame, &first, step);
    factor_give(&k->factor, &first);
    step->count = k->factor.count;
    k->stale = 1; /* until it is kept */
    return s;
}

void group_keys_forget(struct group_keys *k, struct group_keys_step *step)
{
    (void)k;
    cohort_frame_release(step->made);
    *step = (struct group_keys_step){0};
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static int same_layout(const struct table_column *a, const struct table_column *b)
{
    return a->is_dictionary == b->is_dictionary && a->type.layout == b->type.layout &&
           a->index.bytes == b->index.bytes && a->index.number == b->index.number &&
           a->dictionaries[0] == b->dictionaries[0];
}

/* The columns, of one piece each, behind each other. */
static cohort_status chain(cohort_context *host, struct table_column *const *part, uint32_t parts,
                           struct table_column **out)
{
    struct table_column *all;
    uint32_t holders = 0;
    for (uint32_t i = 0; i < parts; i++)
        holders += part[i]->holders;
    if (!(all = table_column_like(part[0], parts, holders)))
        return no_memory(host);
    for (uint32_t i = 0; i < parts; i++) {
        const struct table_piece *from = &part[i]->piece[0];
        struct table_piece *p = &all->piece[i];
        *p = *from;
        p->first = all->rows;
        p->heaps = NULL;
        p->heap_count = 0;
        if (from->heap_count) {
            if (!table_column_heaps(all, p, from->heap_count)) {
                table_column_release(all);
                return no_memory(host);
            }
            memcpy(p->heaps, from->heaps, from->heap_count * sizeof *p->heaps);
            memcpy(p->heap_bytes, from->heap_bytes, from->heap_count * sizeof *p->heap_bytes);
        }
        if (part[i]->dictionaries[0])
            all->dictionaries[i] = table_column_retain(part[i]->dictionaries[0]);
        for (uint32_t h = 0; h < part[i]->holders; h++)
            table_column_hold(all, holder_retain(part[i]->holder[h]));
        all->rows += part[i]->rows;
        all->nulls += part[i]->nulls;
    }
    cohort_status s = table_column_flat(host, all, out);
    table_column_release(all);
    return s;
}

static cohort_status one_column(cohort_context *host, cohort_frame *const *piece, uint32_t pieces,
                                uint32_t column, struct table_column **out)
{
    struct table_column **part = calloc(pieces, sizeof(struct table_column *));
    const char *name = piece[0]->field[column].name;
    int same = 1;
    if (!part)
        return no_memory(host);
    for (uint32_t i = 1; i < pieces; i++)
        same &= same_layout(piece[0]->field[column].column, piece[i]->field[column].column);
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < pieces; i++) {
        struct table_column *c = piece[i]->field[column].column;
        s = same ? table_column_flat(host, c, &part[i]) : group_plain(host, name, c, &part[i]);
    }
    if (!s)
        s = chain(host, part, pieces, out);
    for (uint32_t i = 0; i < pieces; i++)
        table_column_release(part[i]);
    free(part);
    return s;
}

static cohort_status one_frame(struct group_keys *k, uint32_t from, cohort_frame **out)
{
    uint64_t rows = 0;
    for (uint32_t i = from; i < k->pieces; i++)
        rows += k->piece[i]->rows;
    cohort_frame *made = frame_new(k->host, rows, k->columns);
    cohort_status s = made ? COHORT_OK : COHORT_NO_MEMORY;
    for (uint32_t c = 0; !s && c < k->columns; c++) {
        struct table_column *column = NULL;
        s = one_column(k->host, k->piece + from, k->pieces - from, c, &column);
        if (!s)
            s = frame_put(made, c, k->piece[0]->field[c].name, column);
    }
    if (s)
        cohort_frame_release(made);
    else
        *out = made;
    return s;
}

/* Pieces from `from` on become one. If there is no memory for that, they stay. */
static void join_pieces(struct group_keys *k, uint32_t from)
{
    cohort_frame *made = NULL;
    if (one_frame(k, from, &made))
        return;
    for (uint32_t i = from; i < k->pieces; i++)
        cohort_frame_release(k->piece[i]);
    k->piece[from] = made;
    k->pieces = from + 1;
}

/* A piece is more than twice as long as the next one, so there are few of them. */
void group_keys_keep(struct group_keys *k, struct group_keys_step *step)
{
    if (step->made)
        k->piece[k->pieces++] = step->made;
    k->count = step->count;
    k->stale = 0;
    uint32_t from = k->pieces;
    uint64_t rows = from ? k->piece[from - 1]->rows : 0;
    while (from > 1 && k->piece[from - 2]->rows <= 2 * rows)
        rows += k->piece[--from - 1]->rows;
    if (from && from < k->pieces)
        join_pieces(k, from - 1);
    *step = (struct group_keys_step){0};
}

cohort_status group_keys_frame(struct group_keys *k, cohort_frame **out)
{
    *out = NULL;
    if (!k->pieces)
        return context_fail(k->host, COHORT_RANGE, "no frame was added; the columns' types are not known");
    if (k->pieces == 1) {
        *out = cohort_frame_retain(k->piece[0]);
        return COHORT_OK;
    }
    return one_frame(k, 0, out);
}
