/* group_column.c: columns of keys: without dictionaries, with bytes of their own, and several as one.
 *
 * In a GPU's memory strings are dictionaries, whose values are the host's. There columns with different
 * dictionaries are united: the helper numbers all values, each distinct one once, and the backend makes
 * numbers of the indices. Rows stay where they are. */
#include "group.h"

#include <string.h>

#include "staged.h"

static cohort_status no_memory(cohort_context *host)
{
    return context_fail(host, COHORT_NO_MEMORY, "no host memory for the keys of groups");
}

static int is_text_dictionary(const struct table_column *flat)
{
    return flat->is_dictionary && flat->pieces && flat->dictionaries[0] &&
           factor_column_of(flat->dictionaries[0]).kind >= KEYS_WIDE;
}

/* ---- without a dictionary ------------------------------------------------------------------------------ */

/* The values of a dictionary column, in the host's memory. */
static cohort_status decode(cohort_context *host, const char *name, struct table_column *c,
                            struct table_column **out)
{
    const struct table_piece *p = &c->piece[0];
    void *memory;
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

/* Rows of a dictionary whose values are made words of `of`: as a column of such words, by the backend. */
static cohort_status decode_words(cohort_context *host, const struct table_column *c,
                                  const struct keys_column *of, const char *format, struct table_column **out)
{
    struct table_column *made = NULL;
    struct table_type type = {0};
    struct keys_column rows = factor_column_of(c);
    const uint64_t values = c->dictionaries[0]->rows;
    void *words = NULL, *states = NULL;
    uint64_t nulls = 0;
    table_type_parse(format, &type);
    const uint32_t width = type.layout == TABLE_BITS ? 0 : type.bytes;
    rows.kind = KEYS_DICTIONARY;
    rows.bytes = c->index.bytes;
    cohort_status s = pool_take(host, values * 8, &words);
    if (!s)
        s = pool_take(host, values, &states);
    if (!s)
        s = host->backend->keys->load(host, of, values, words, states);
    if (!s)
        s = table_column_room(host, format, c->rows, (c->rows + 64) * (width ? width : 1), 1, &made);
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

/* Values that are no words, of a column in a GPU's memory: by the helper. */
static cohort_status decode_staged(cohort_context *host, const char *name, struct table_column *c,
                                   struct table_column **out)
{
    cohort_context *helper = NULL;
    struct table_column *own = NULL, *plain = NULL;
    cohort_status s = staged_open(host, &helper);
    if (!s)
        s = staged_column_in(host, helper, name, c, &own);
    if (!s)
        s = staged_status(host, helper, decode(helper, name, own, &plain));
    if (!s)
        s = staged_column_out(host, helper, name, plain, out);
    table_column_release(own);
    table_column_release(plain);
    return s;
}

static cohort_status decode_any(cohort_context *host, const char *name, struct table_column *c,
                                struct table_column **out)
{
    if (!c->pieces || !c->dictionaries[0])
        return context_fail(host, COHORT_CORRUPT, "column '%.100s' has no dictionary", name);
    if (is_text_dictionary(c))
        return (host->backend->own_memory == MEMORY_HOST ? decode : decode_staged)(host, name, c, out);
    struct keys_column of = factor_column_of(c->dictionaries[0]);
    of.kind = of.kind == KEYS_FLOAT ? KEYS_UNSIGNED : of.kind; /* with all bits that they have */
    return decode_words(host, c, &of, c->format, out);
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
    s = decode_any(host, name, flat, out);
    table_column_release(flat);
    return s;
}

cohort_status group_codes(cohort_context *host, const char *name, struct table_column *column,
                          struct table_column **out)
{
    struct table_column *flat;
    *out = NULL;
    cohort_status s = table_column_flat(host, column, &flat);
    if (s)
        return s;
    if (host->backend->own_memory != MEMORY_HOST && is_text_dictionary(flat))
        *out = table_column_retain(flat);
    else
        s = group_plain(host, name, flat, out);
    table_column_release(flat);
    return s;
}

cohort_status group_marks(cohort_context *host, const char *name, struct table_column *column,
                          struct table_column **out)
{
    struct table_column *flat;
    *out = NULL;
    cohort_status s = table_column_flat(host, column, &flat);
    if (s)
        return s;
    if (is_text_dictionary(flat)) {
        struct keys_column of = factor_column_of(flat->dictionaries[0]);
        of.kind = KEYS_RAW;
        of.bytes = 0;
        s = decode_words(host, flat, &of, "C", out);
    } else {
        s = group_plain(host, name, flat, out);
    }
    table_column_release(flat);
    return s;
}

/* ---- with bytes of their own --------------------------------------------------------------------------- */

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

/* Where a row is null there may be anything. */
static void copy_views(const struct table_column *from, struct table_view *view)
{
    memcpy(view, from->piece[0].data, from->rows * sizeof *view);
    for (uint64_t i = 0; from->piece[0].validity && i < from->rows; i++)
        if (!table_is_valid(&from->piece[0], i))
            memset(&view[i], 0, sizeof *view);
}

cohort_status group_own_texts(cohort_context *host, struct table_column **column)
{
    struct table_column *from = *column, *c = table_column_like(from, 1, 3);
    void *views = NULL, *heap = NULL, *validity = NULL;
    uint64_t bytes = 0, bitmap = (from->rows + 63) / 64 * 8;
    if (!c)
        return no_memory(host);
    cohort_status s = table_column_memory(host, c, from->rows * sizeof(struct table_view), &views);
    if (!s)
        copy_views(from, views);
    uint32_t heaps = s ? 0 : heaps_of(views, from->rows, &bytes);
    if (!s && heaps && !table_column_heaps(c, &c->piece[0], heaps))
        s = no_memory(host);
    if (!s && heaps)
        s = table_column_memory(host, c, bytes, &heap);
    if (!s && from->piece[0].validity)
        s = table_column_memory(host, c, bitmap, &validity);
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

/* ---- several as one ------------------------------------------------------------------------------------ */

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

/* Dictionaries of strings that become one. */
struct unite {
    cohort_context *host, *helper;
    const char *name;
    struct table_column *const *part;
    uint32_t parts;
    struct keys_table table;
    struct table_column **fresh; /* by part: values that no part before has */
    void **ids;                  /* by part: of its values, by row; of the helper's pool */
    struct table_column *values; /* all, by number */
};

/* Whether a part has the dictionary of the part before it. */
static int is_same(const struct unite *u, uint32_t i)
{
    return i && u->part[i]->dictionaries[0] == u->part[i - 1]->dictionaries[0];
}

static cohort_status number_part(struct unite *u, uint32_t i)
{
    cohort_context *helper = u->helper;
    struct table_column *d = u->part[i]->dictionaries[0];
    struct keys_column values = factor_column_of(d);
    struct keys_batch b = {.n = d->rows, .bytes = &values};
    values.skips_nulls = 1;
    cohort_status s = pool_take(helper, d->rows * 4, &u->ids[i]);
    b.ids = u->ids[i];
    if (!s)
        s = helper->backend->keys->add(helper, &u->table, &b);
    if (!s)
        s = table_column_gather(helper, u->name, d, b.firsts, 8, b.first, &u->fresh[i]);
    pool_give(helper, b.first);
    return s;
}

/* The distinct values of all parts, with bytes of their own. */
static cohort_status unite_values(struct unite *u)
{
    uint32_t n = 0;
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < u->parts; i++)
        if (!is_same(u, i))
            s = number_part(u, i);
    struct table_column **fresh = zeroed(u->parts, sizeof(struct table_column *));
    if (!s && !fresh)
        s = no_memory(u->helper);
    for (uint32_t i = 0; !s && i < u->parts; i++)
        if (u->fresh[i])
            fresh[n++] = u->fresh[i];
    if (!s)
        s = chain(u->helper, fresh, n, &u->values);
    free(fresh);
    if (!s && u->values->type.layout == TABLE_VIEWS)
        s = group_own_texts(u->helper, &u->values);
    if (!s)
        u->values->distinct = TABLE_DISTINCT;
    return s;
}

/* The part by the numbers of its values. */
static cohort_status renumber(struct unite *u, uint32_t i, struct table_column **out)
{
    struct table_column *made = NULL;
    struct keys_column of = factor_column_of(u->part[i]->dictionaries[0]);
    uint32_t at = i;
    while (is_same(u, at))
        at--;
    of.kind = KEYS_IDS;
    of.bytes = 4;
    of.data = u->ids[at];
    cohort_status s = decode_words(u->host, u->part[i], &of, u->values->rows > INT32_MAX ? "l" : "i", &made);
    if (!s)
        s = table_column_become(u->host, made, u->values);
    if (s)
        table_column_release(made);
    else
        *out = made;
    return s;
}

static void unite_close(struct unite *u)
{
    for (uint32_t i = 0; i < u->parts; i++) {
        if (u->fresh)
            table_column_release(u->fresh[i]);
        if (u->ids && u->helper)
            pool_give(u->helper, u->ids[i]);
    }
    if (u->helper)
        u->helper->backend->keys->drop(u->helper, &u->table);
    table_column_release(u->values);
    free(u->fresh);
    free(u->ids);
}

/* Columns in a GPU's memory: dictionaries of strings, of one piece each, which get one dictionary. */
static cohort_status unite(cohort_context *host, const char *name, struct table_column **part, uint32_t parts)
{
    struct unite u = {.host = host, .name = name, .part = part, .parts = parts};
    struct table_column **made = zeroed(parts, sizeof(struct table_column *));
    u.fresh = zeroed(parts, sizeof(struct table_column *));
    u.ids = zeroed(parts, sizeof(void *));
    keys_table_open(&u.table);
    cohort_status s = made && u.fresh && u.ids ? staged_open(host, &u.helper) : no_memory(host);
    if (!s)
        s = staged_status(host, u.helper, unite_values(&u));
    for (uint32_t i = 0; !s && i < parts; i++)
        s = renumber(&u, i, &made[i]);
    unite_close(&u);
    for (uint32_t i = 0; made && i < parts; i++) {
        struct table_column *other = s ? made[i] : part[i];
        part[i] = s ? part[i] : made[i];
        table_column_release(other);
    }
    free(made);
    return s;
}

/* All are dictionaries of strings in a GPU's memory. */
static int are_to_unite(const cohort_context *host, struct table_column *const *part, uint32_t parts)
{
    int all = host->backend->own_memory != MEMORY_HOST;
    for (uint32_t i = 0; all && i < parts; i++)
        all = is_text_dictionary(part[i]);
    return all;
}

cohort_status group_one_column(cohort_context *host, cohort_frame *const *piece, uint32_t pieces,
                               uint32_t column, struct table_column **out)
{
    struct table_column **part = zeroed(pieces, sizeof(struct table_column *));
    const char *name = piece[0]->field[column].name;
    int same = 1;
    if (!part)
        return no_memory(host);
    for (uint32_t i = 1; i < pieces; i++)
        same &= same_layout(piece[0]->field[column].column, piece[i]->field[column].column);
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < pieces; i++)
        s = table_column_flat(host, piece[i]->field[column].column, &part[i]);
    if (!s && !same && are_to_unite(host, part, pieces)) {
        s = unite(host, name, part, pieces);
        same = 1;
    }
    for (uint32_t i = 0; !s && !same && i < pieces; i++) {
        struct table_column *flat = part[i];
        s = group_plain(host, name, flat, &part[i]);
        table_column_release(flat);
    }
    if (!s)
        s = chain(host, part, pieces, out);
    for (uint32_t i = 0; i < pieces; i++)
        table_column_release(part[i]);
    free(part);
    return s;
}
