/* factor_node.c: rows of several columns of words as ids.
 *
 * A node is a table of words. One column is its word by itself. Several are packed: a column has as many bits
 * as its range needs. If a later batch widens a range, the words that the table has are packed anew. Where 64
 * bits are not enough, the node becomes wide: a key is a row of words, in which each column has the bits of
 * its type. Where the backend has no tables of these, it becomes a pair: two nodes number the halves of the
 * columns, and the word is both numbers. */
#include "factor.h"

#include <string.h>

struct factor_node {
    uint32_t columns;
    int is_pair, is_wide;
    struct factor_node *half[2];
    struct keys_rows rows; /* of a wide one, but for the columns of a batch; its places are in `shift` */
    struct keys_table table;
    /* By column, of packed ones; behind the node, in its block: */
    struct keys_range *range;
    uint64_t *base, *span;
    uint32_t *shift;
};

/* Bytes of a column's part of these four, which lie in this order: base, span, range, shift. */
#define NODE_COLUMN (2 * sizeof(uint64_t) + sizeof(struct keys_range) + sizeof(uint32_t))

struct factor_node *factor_node_new(uint32_t columns)
{
    struct factor_node *node = zeroed(1, sizeof *node + columns * NODE_COLUMN);
    if (!node)
        return NULL;
    node->columns = columns;
    keys_table_open(&node->table);
    node->base = (uint64_t *)(node + 1);
    node->span = node->base + columns;
    node->range = (struct keys_range *)(node->span + columns);
    node->shift = (uint32_t *)(node->range + columns);
    return node;
}

void factor_node_end(cohort_context *context, struct factor_node *node)
{
    if (!node)
        return;
    factor_node_end(context, node->half[0]);
    factor_node_end(context, node->half[1]);
    if (context)
        context->backend->keys->drop(context, &node->table);
    free(node);
}

uint64_t factor_node_count(const struct factor_node *node)
{
    return node->table.count;
}

static cohort_status no_memory(cohort_context *context)
{
    return context_fail(context, COHORT_NO_MEMORY, "no host memory for the layout of keys");
}

/* What is added or looked up: rows of one word, or of several. */
struct form {
    const struct keys_words *words;
    const struct keys_rows *rows;
};

static cohort_status add_rows(cohort_context *context, struct keys_table *t, struct form f, uint64_t n,
                              uint32_t *ids, struct factor_rows *first)
{
    struct keys_batch b = {.n = n, .words = f.words, .rows = f.rows, .ids = ids, .passing = !first};
    cohort_status s = context->backend->keys->add(context, t, &b);
    if (first && !s)
        *first = (struct factor_rows){b.first, b.firsts, NULL};
    else
        pool_give(context, b.first);
    return s;
}

/* ---- packing ------------------------------------------------------------------------------------------- */

static uint32_t bits_of(uint64_t span)
{
    /* codes 0 .. span + 1 */
    return span >= UINT64_MAX - 1 ? 65 : 64 - (uint32_t)__builtin_clzll(span + 1);
}

static int is_below(const struct keys_column *c, uint64_t a, uint64_t b)
{
    return c->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static void widen(const struct keys_column *c, struct keys_range *all, const struct keys_range *more)
{
    if (!more->any)
        return;
    if (!all->any || is_below(c, more->low, all->low))
        all->low = more->low;
    if (!all->any || is_below(c, all->high, more->high))
        all->high = more->high;
    all->any = 1;
}

/* How the ranges are packed. 0: they do not fit. */
static int pack(const struct keys_range *range, uint32_t columns, uint64_t *base, uint64_t *span,
                uint32_t *shift)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < columns; i++) {
        base[i] = range[i].any ? range[i].low : 0;
        span[i] = range[i].any ? range[i].high - range[i].low : 0;
        shift[i] = used;
        used += bits_of(span[i]);
        if (used > 64)
            return 0;
    }
    return 1;
}

/* What the table's words were made of, column by column, in the order of ids: in the context's memory. */
struct unpacked {
    cohort_context *context;
    uint64_t count;
    void *words; /* of the table */
    void *value; /* columns x count words */
    void *valid; /* a bitmap for each column, of `bytes` */
    uint64_t bytes;
    struct keys_column *column;
};

static void unpacked_end(struct unpacked *u)
{
    if (u->context) {
        pool_give(u->context, u->words);
        pool_give(u->context, u->value);
        pool_give(u->context, u->valid);
    }
    free(u->column);
}

static cohort_status unpack_column(struct unpacked *u, const struct factor_node *node, uint32_t c,
                                   const struct keys_column *like)
{
    uint64_t *value = (uint64_t *)u->value + c * u->count;
    uint8_t *valid = (uint8_t *)u->valid + c * u->bytes;
    const struct keys_unpack one = {.words = u->words,
                                    .n = u->count,
                                    .base = node->base[c],
                                    .shift = node->shift[c],
                                    .bits = bits_of(node->span[c]),
                                    .value = value,
                                    .valid = valid};
    u->column[c].kind = KEYS_UNSIGNED;
    u->column[c].is_signed = like->is_signed;
    u->column[c].fill = like->fill;
    u->column[c].bytes = 8;
    u->column[c].data = value;
    u->column[c].validity = valid;
    return u->context->backend->keys->unpack(u->context, &one);
}

static cohort_status unpack(cohort_context *context, const struct factor_node *node,
                            const struct keys_column *column, struct unpacked *u)
{
    memset(u, 0, sizeof *u);
    u->context = context;
    u->count = node->table.count;
    u->bytes = (u->count + 31) / 32 * 4;
    u->column = zeroed(node->columns, sizeof *u->column);
    if (!u->column)
        return no_memory(context);
    cohort_status s = pool_take(context, u->count * 8, &u->words);
    if (!s)
        s = pool_take(context, u->count * node->columns * 8, &u->value);
    if (!s)
        s = pool_take(context, u->bytes * node->columns, &u->valid);
    if (!s)
        s = context->backend->keys->list(context, &node->table, u->words);
    for (uint32_t c = 0; !s && c < node->columns; c++)
        s = unpack_column(u, node, c, &column[c]);
    return s;
}

/* A table with the keys of the rows, whose ids are 0, 1, 2, ..., since they are all different. */
static cohort_status again(cohort_context *context, struct form f, uint64_t n, struct keys_table *out)
{
    void *ids;
    keys_table_open(out);
    cohort_status s = pool_take(context, n * 4, &ids);
    if (s)
        return s;
    s = add_rows(context, out, f, n, ids, NULL);
    pool_give(context, ids);
    if (s)
        context->backend->keys->drop(context, out);
    return s;
}

/* The table's words in another layout. */
static cohort_status repack(cohort_context *context, struct factor_node *node,
                            const struct keys_column *column, const uint64_t *base, const uint64_t *span,
                            const uint32_t *shift)
{
    struct unpacked u = {0};
    struct keys_table table;
    keys_table_open(&table);
    cohort_status s = COHORT_OK;
    if (node->table.count) {
        s = unpack(context, node, column, &u);
        struct keys_words words = {node->columns, u.column, base, span, shift, 0, NULL};
        if (!s)
            s = again(context, (struct form){&words, NULL}, u.count, &table);
        unpacked_end(&u);
    }
    if (s)
        return s;
    context->backend->keys->drop(context, &node->table);
    node->table = table;
    memcpy(node->base, base, node->columns * sizeof *base);
    memcpy(node->span, span, node->columns * sizeof *span);
    memcpy(node->shift, shift, node->columns * sizeof *shift);
    return COHORT_OK;
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

static const uint64_t pair_base[2] = {0, 0}, pair_span[2] = {KEYS_MOST_IDS, KEYS_MOST_IDS};
static const uint32_t pair_shift[2] = {0, 32};

static void pair_columns(struct keys_column *pair, const uint32_t *left, const uint32_t *right)
{
    memset(pair, 0, 2 * sizeof *pair);
    pair[0].kind = pair[1].kind = KEYS_IDS;
    pair[0].bytes = pair[1].bytes = 4;
    pair[0].data = left;
    pair[1].data = right;
}

/* Columns whose nulls are no keys are plain nulls to the halves; the pair leaves their rows out. */
static struct keys_column *plain(const struct keys_column *column, uint32_t columns)
{
    struct keys_column *copy = malloc(columns * sizeof *copy);
    for (uint32_t i = 0; copy && i < columns; i++) {
        copy[i] = column[i];
        copy[i].skips_nulls = 0;
    }
    return copy;
}

/* The halves' ids of n rows, and then by `work` the pair's. */
struct pairing {
    cohort_context *context;
    struct factor_node *node;
    uint64_t n;
    uint32_t *ids[2];
    struct keys_column pair[2], *plain, *skip;
    struct keys_words words;
};

static cohort_status pairing_open(struct pairing *p, cohort_context *context, struct factor_node *node,
                                  const struct keys_column *column, uint64_t n, int adds)
{
    uint32_t left = node->half[0]->columns, skips = 0;
    *p = (struct pairing){.context = context, .node = node, .n = n};
    p->plain = plain(column, node->columns);
    p->skip = malloc(node->columns * sizeof *p->skip);
    if (!p->plain || !p->skip)
        return no_memory(context);
    for (uint32_t i = 0; i < node->columns; i++)
        if (column[i].skips_nulls)
            p->skip[skips++] = column[i];
    cohort_status s = COHORT_OK;
    for (int h = 0; !s && h < 2; h++) {
        const struct keys_column *own = p->plain + (h ? left : 0);
        s = pool_take(context, n * 4, (void **)&p->ids[h]);
        if (!s)
            s = adds ? factor_node_add(context, node->half[h], own, n, p->ids[h], NULL)
                     : factor_node_find(context, node->half[h], own, n, KEYS_BY_ANY, p->ids[h]);
    }
    pair_columns(p->pair, p->ids[0], p->ids[1]);
    p->words = (struct keys_words){2, p->pair, pair_base, pair_span, pair_shift, skips, p->skip};
    return s;
}

static void pairing_close(struct pairing *p)
{
    pool_give(p->context, p->ids[0]);
    pool_give(p->context, p->ids[1]);
    free(p->plain);
    free(p->skip);
}

static cohort_status pair_add(cohort_context *context, struct factor_node *node,
                              const struct keys_column *column, uint64_t n, uint32_t *ids,
                              struct factor_rows *first)
{
    struct pairing p;
    cohort_status s = pairing_open(&p, context, node, column, n, 1);
    if (!s)
        s = add_rows(context, &node->table, (struct form){&p.words, NULL}, n, ids, first);
    pairing_close(&p);
    return s;
}

/* A packed node becomes a pair. */
static cohort_status split(cohort_context *context, struct factor_node *node,
                           const struct keys_column *column)
{
    uint32_t left = node->columns / 2;
    struct factor_node made = *node;
    struct unpacked u = {0};
    struct pairing p = {0};
    made.half[0] = factor_node_new(left);
    made.half[1] = factor_node_new(node->columns - left);
    cohort_status s = made.half[0] && made.half[1] ? COHORT_OK : no_memory(context);
    keys_table_open(&made.table);
    if (!s && node->table.count) {
        s = unpack(context, node, column, &u);
        if (!s)
            s = pairing_open(&p, context, &made, u.column, u.count, 1);
        if (!s)
            s = again(context, (struct form){&p.words, NULL}, u.count, &made.table);
        if (p.context)
            pairing_close(&p);
        unpacked_end(&u);
    }
    if (s) {
        factor_node_end(context, made.half[0]);
        factor_node_end(context, made.half[1]);
        return s;
    }
    context->backend->keys->drop(context, &node->table);
    *node = made;
    node->is_pair = 1;
    return COHORT_OK;
}

/* ---- several words ------------------------------------------------------------------------------------- */

/* The widest columns come first, so that none lies across the end of a word. */
static struct keys_rows lay_out(const struct keys_column *column, uint32_t columns, uint32_t *at)
{
    struct keys_rows rows = {.columns = columns, .at = at};
    for (uint32_t fill = 8; fill; fill /= 2)
        for (uint32_t c = 0; c < columns; c++)
            if (column[c].fill == fill) {
                at[c] = rows.nulls;
                rows.nulls += 8 * fill;
            }
    rows.words = (rows.nulls + columns + 63) / 64;
    return rows;
}

/* A packed node becomes a wide one. */
static cohort_status widen_keys(cohort_context *context, struct factor_node *node,
                                const struct keys_column *column)
{
    struct unpacked u = {0};
    struct keys_table table;
    uint32_t *at = malloc(node->columns * sizeof *at);
    cohort_status s = at ? COHORT_OK : no_memory(context);
    keys_table_open(&table);
    struct keys_rows rows = at ? lay_out(column, node->columns, at) : node->rows;
    if (!s && node->table.count) {
        s = unpack(context, node, column, &u);
        rows.column = u.column;
        if (!s)
            s = again(context, (struct form){NULL, &rows}, u.count, &table);
        unpacked_end(&u);
    }
    if (s) {
        free(at);
        return s;
    }
    context->backend->keys->drop(context, &node->table);
    memcpy(node->shift, at, node->columns * sizeof *at);
    free(at);
    rows.at = node->shift;
    node->table = table;
    node->rows = rows;
    node->is_wide = 1;
    return COHORT_OK;
}

/* ---- a batch ------------------------------------------------------------------------------------------- */

/* Makes the layout wide enough for a batch. */
static cohort_status fit(cohort_context *context, struct factor_node *node, const struct keys_column *column,
                         uint64_t n)
{
    uint32_t columns = node->columns;
    uint64_t *base = malloc(columns * NODE_COLUMN);
    if (!base)
        return no_memory(context);
    uint64_t *span = base + columns;
    struct keys_range *range = (struct keys_range *)(span + columns);
    uint32_t *shift = (uint32_t *)(range + columns);
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < columns; i++) {
        struct keys_range own = {0, 0, 0};
        s = context->backend->keys->range(context, &column[i], n, &own);
        range[i] = node->range[i];
        widen(&column[i], &range[i], &own);
    }
    if (!s && !pack(range, columns, base, span, shift))
        s = context->backend->keys->has_rows ? widen_keys(context, node, column)
                                             : split(context, node, column);
    else if (!s && (memcmp(base, node->base, columns * sizeof *base) ||
                    memcmp(span, node->span, columns * sizeof *span) ||
                    memcmp(shift, node->shift, columns * sizeof *shift)))
        s = repack(context, node, column, base, span, shift);
    if (!s)
        memcpy(node->range, range, columns * sizeof *range);
    free(base);
    return s;
}

static struct keys_words words_of(const struct factor_node *node, const struct keys_column *column)
{
    struct keys_words w = {node->columns, column, NULL, NULL, NULL, 0, NULL};
    if (node->columns > 1) {
        w.base = node->base;
        w.span = node->span;
        w.shift = node->shift;
    }
    return w;
}

static struct keys_rows rows_of(const struct factor_node *node, const struct keys_column *column)
{
    struct keys_rows r = node->rows;
    r.column = column;
    return r;
}

static struct form form_of(const struct factor_node *node, const struct keys_words *w,
                           const struct keys_rows *r)
{
    return node->is_wide ? (struct form){NULL, r} : (struct form){w, NULL};
}

/* Behind `fit`. */
static cohort_status add_fitted(cohort_context *context, struct factor_node *node,
                                const struct keys_column *column, uint64_t n, uint32_t *ids,
                                struct factor_rows *first)
{
    if (node->is_pair)
        return pair_add(context, node, column, n, ids, first);
    struct keys_words w = words_of(node, column);
    struct keys_rows r = rows_of(node, column);
    return add_rows(context, &node->table, form_of(node, &w, &r), n, ids, first);
}

static cohort_status fit_packed(cohort_context *context, struct factor_node *node,
                                const struct keys_column *column, uint64_t n)
{
    const int is_packed = node->columns > 1 && !node->is_pair && !node->is_wide;
    return is_packed ? fit(context, node, column, n) : COHORT_OK;
}

cohort_status factor_node_add(cohort_context *context, struct factor_node *node,
                              const struct keys_column *column, uint64_t n, uint32_t *ids,
                              struct factor_rows *first)
{
    cohort_status s = fit_packed(context, node, column, n);
    return s ? s : add_fitted(context, node, column, n, ids, first);
}

cohort_status factor_node_add_rows(cohort_context *context, struct factor_node *node,
                                   const struct keys_column *column, uint64_t n, uint32_t *room,
                                   struct factor_rows *first)
{
    const struct keys_backend *keys = context->backend->keys;
    struct keys_words w = words_of(node, column);
    cohort_status s = fit_packed(context, node, column, n);
    if (s)
        return s;
    s = node->is_pair || node->is_wide ? COHORT_UNSUPPORTED
                                       : keys->firsts(context, &w, n, room, &first->count);
    if (s == COHORT_UNSUPPORTED)
        return add_fitted(context, node, column, n, room, first);
    first->near = room;
    return s;
}

cohort_status factor_node_find(cohort_context *context, struct factor_node *node,
                               const struct keys_column *column, uint64_t n, enum keys_way way, uint32_t *ids)
{
    struct keys_words w = words_of(node, column);
    struct keys_rows r = rows_of(node, column);
    struct form f = form_of(node, &w, &r);
    struct pairing p = {0};
    cohort_status s = COHORT_OK;
    if (node->is_pair) {
        s = pairing_open(&p, context, node, column, n, 0);
        w = p.words;
    }
    struct keys_batch b = {.n = n, .words = f.words, .rows = f.rows, .ids = ids, .way = way};
    if (!s)
        s = context->backend->keys->find(context, &node->table, &b);
    if (p.context)
        pairing_close(&p);
    return s;
}
