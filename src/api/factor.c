/* factor.c: ids of key rows: columns of every type as words.
 *
 * Strings and values wider than 8 bytes are numbered first, each column by a table of its own. If there is no
 * other column, these numbers are the ids, until dictionaries come, whose values are in another order.
 *
 * Of a dictionary the values are made words once; rows are looked up among them. Where a factor's first
 * dictionary has no value twice, the indices are the numbers, and its values are looked at only when others
 * come.
 *
 * On a GPU the values of dictionaries lie in the host's memory. The context's helper numbers them there, and
 * their words go to the GPU; rows stay where they are. */
#include "factor.h"

#include <string.h>

#include "staged.h"

cohort_status factor_open(struct factor *f, cohort_context *context, uint32_t columns,
                          const uint8_t *nulls_equal)
{
    *f = (struct factor){.context = context, .columns = columns};
    f->column = zeroed(columns, sizeof *f->column);
    f->root = factor_node_new(columns);
    if (!f->column || !f->root) {
        factor_close(f);
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for a factor of %u columns", columns);
    }
    for (uint32_t i = 0; i < columns; i++) {
        f->column[i].nulls_equal = !nulls_equal || nulls_equal[i];
        keys_table_open(&f->column[i].leaf);
    }
    return COHORT_OK;
}

void factor_close(struct factor *f)
{
    int by_helper = f->context->backend->own_memory != MEMORY_HOST;
    cohort_context *host = by_helper ? f->context->helper : f->context; /* NULL: no string was numbered */
    for (uint32_t i = 0; f->column && i < f->columns; i++) {
        if (host)
            host->backend->keys->drop(host, &f->column[i].leaf);
        table_column_release(f->column[i].codes);
        free(f->column[i].format);
    }
    free(f->column);
    factor_node_end(f->context, f->root);
    *f = (struct factor){0};
}

int factor_is_fresh(const struct factor *f)
{
    return !f->column[f->columns - 1].format;
}

void factor_give(const struct factor *f, struct factor_rows *rows)
{
    pool_give(f->context, rows->at);
    *rows = (struct factor_rows){0};
}

cohort_status factor_check(const struct factor *f, const char *call, const char *name,
                           const cohort_frame *keys)
{
    if (keys->columns != f->columns)
        return context_fail(f->context, COHORT_RANGE, "%s: %s has %llu %s, and %u are due", call, name,
                            COUNTED(keys->columns, "column", "columns"), f->columns);
    char text[2][TYPE_TEXT];
    for (uint32_t i = 0; i < f->columns; i++) {
        const char *own = f->column[i].format, *other = keys->field[i].column->format;
        if (own && !table_types_agree(own, other))
            return context_fail(
                f->context, COHORT_RANGE,
                "%s: %s: key column %u, '%.100s', is of type %s; the other side's is of type %s", call, name,
                i, keys->field[i].name, table_type_name(other, text[0]), table_type_name(own, text[1]));
    }
    return COHORT_OK;
}

/* ---- a column as words --------------------------------------------------------------------------------- */

/* What an add or a find works with, column by column. */
struct look {
    struct factor *factor;
    cohort_context *context;
    cohort_context *host; /* who numbers strings: on a GPU the helper; NULL: nobody yet */
    uint64_t n;
    int adds;
    struct keys_column *column; /* with the next two behind it, in its block */
    struct table_column **flat;
    void **memory; /* three a column: of the pool of `host` the ids, of the context's words and states */
};

enum look_memory { LOOK_IDS, LOOK_WORDS, LOOK_STATES };

static cohort_status look_take(struct look *l, uint32_t c, enum look_memory which, uint64_t bytes, void *out)
{
    void *memory;
    cohort_status s = pool_take(which == LOOK_IDS ? l->host : l->context, bytes, &memory);
    if (s)
        return s;
    l->memory[3 * c + (uint32_t)which] = memory;
    memcpy(out, &memory, sizeof memory);
    return COHORT_OK;
}

/* A table in which the values of a dictionary that is used by its indices have these as numbers. */
static cohort_status number_codes(cohort_context *context, const struct table_column *codes,
                                  struct keys_table *table)
{
    struct keys_column values = factor_column_of(codes);
    struct keys_batch b = {.n = codes->rows, .bytes = &values, .passing = 1};
    void *ids;
    keys_table_open(table);
    cohort_status s = pool_take(context, codes->rows * 4, &ids);
    if (s)
        return s;
    b.ids = ids;
    s = context->backend->keys->add(context, table, &b);
    pool_give(context, b.first);
    pool_give(context, ids);
    if (s)
        context->backend->keys->drop(context, table);
    return s;
}

/* The leaf knows all values from now on. */
static cohort_status end_codes(struct look *l, struct factor_column *f)
{
    struct keys_table table;
    if (!f->codes)
        return COHORT_OK;
    cohort_status s = number_codes(l->host, f->codes, &table);
    if (s)
        return s;
    l->host->backend->keys->drop(l->host, &f->leaf); /* it has no keys, but perhaps room for some */
    f->leaf = table;
    table_column_release(f->codes);
    f->codes = NULL;
    return COHORT_OK;
}

/* Lookups change nothing in a factor: they may be several at a time. */
static cohort_status find_bytes(struct look *l, const struct factor_column *f, struct keys_batch *b)
{
    const struct keys_backend *keys = l->host->backend->keys;
    struct keys_table table;
    if (!f->codes)
        return keys->find(l->host, &f->leaf, b);
    cohort_status s = number_codes(l->host, f->codes, &table);
    if (s)
        return s;
    s = keys->find(l->host, &table, b);
    keys->drop(l->host, &table);
    return s;
}

/* A column of bytes, in the memory of `host`, becomes one of ids. */
static cohort_status number_bytes(struct look *l, uint32_t c, struct keys_column *k, uint64_t n)
{
    struct factor_column *f = &l->factor->column[c];
    struct keys_column of = *k;
    struct keys_batch b = {.n = n, .bytes = &of, .passing = 1};
    cohort_status s = l->host ? COHORT_OK : staged_open(l->context, &l->host);
    if (s)
        return s;
    s = look_take(l, c, LOOK_IDS, n * 4, &b.ids);
    if (!s && l->adds)
        s = end_codes(l, f);
    of.skips_nulls = 1;
    if (!s)
        s = l->adds ? l->host->backend->keys->add(l->host, &f->leaf, &b) : find_bytes(l, f, &b);
    pool_give(l->host, b.first);
    k->kind = KEYS_IDS;
    k->bytes = 4;
    k->is_signed = 0;
    k->data = b.ids;
    return staged_status(l->context, l->host, s);
}

/* Are the ids 0, 1, 2, ...? Nulls have none. */
static int are_codes(const uint32_t *ids, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (ids[i] != i)
            return 0;
    return 1;
}

/* Rows by their indices. */
static void use_codes(struct keys_column *rows)
{
    rows->kind = KEYS_UNSIGNED;
    rows->is_signed = 0;
}

/* The words of a dictionary's values; of strings these are ids, which are told. */
static cohort_status translate_values(struct look *l, uint32_t c, const struct table_column *dictionary,
                                      struct keys_column *rows, const uint32_t **ids)
{
    struct keys_column values = factor_column_of(dictionary);
    uint64_t *words = NULL;
    uint8_t *states = NULL;
    uint64_t n = dictionary->rows;
    cohort_status s = COHORT_OK;
    if (values.kind >= KEYS_WIDE)
        s = number_bytes(l, c, &values, n);
    *ids = values.data;
    if (!s)
        s = look_take(l, c, LOOK_WORDS, n * 8, &words);
    if (!s)
        s = look_take(l, c, LOOK_STATES, n, &states);
    if (!s)
        s = l->context->backend->keys->load(l->context, &values, n, words, states);
    rows->is_signed = values.is_signed;
    rows->words = words;
    rows->states = n ? states : NULL;
    return s;
}

/* The words of a dictionary's rows. */
static cohort_status translate(struct look *l, uint32_t c, struct table_column *dictionary,
                               struct keys_column *rows)
{
    struct factor_column *f = &l->factor->column[c];
    int is_text = factor_column_of(dictionary).kind >= KEYS_WIDE;
    unsigned distinct = __atomic_load_n(&dictionary->distinct, __ATOMIC_RELAXED);
    if (is_text && f->codes == dictionary) {
        use_codes(rows);
        return COHORT_OK;
    }
    if (is_text && l->adds && !f->codes && !f->leaf.count && distinct == TABLE_DISTINCT) {
        f->codes = table_column_retain(dictionary);
        use_codes(rows);
        return COHORT_OK;
    }
    int is_first = is_text && l->adds && !f->codes && !f->leaf.count;
    const uint32_t *ids = NULL;
    cohort_status s = translate_values(l, c, dictionary, rows, &ids);
    if (s || !is_first)
        return s;
    int are = are_codes(ids, dictionary->rows);
    __atomic_store_n(&dictionary->distinct, are ? TABLE_DISTINCT : TABLE_REPEATS, __ATOMIC_RELAXED);
    if (are)
        use_codes(rows);
    return COHORT_OK;
}

static cohort_status look_column(struct look *l, uint32_t c, const struct table_column *column)
{
    struct keys_column *k = &l->column[c];
    *k = factor_column_of(column);
    cohort_status s = COHORT_OK;
    if (column->is_dictionary) {
        struct table_column *d = column->pieces ? column->dictionaries[0] : NULL;
        k->kind = KEYS_DICTIONARY;
        k->bytes = column->index.bytes;
        k->is_signed = 0;
        k->values = d ? d->rows : 0;
        if (d)
            s = translate(l, c, d, k);
    } else if (k->kind >= KEYS_WIDE) {
        s = number_bytes(l, c, k, l->n);
    }
    k->skips_nulls = !l->factor->column[c].nulls_equal;
    return s;
}

static void look_close(struct look *l)
{
    for (uint32_t i = 0; l->column && i < l->factor->columns; i++)
        table_column_release(l->flat[i]);
    for (uint32_t i = 0; l->column && i < 3 * l->factor->columns; i++)
        if (l->memory[i])
            pool_give(i % 3 == LOOK_IDS ? l->host : l->context, l->memory[i]);
    free(l->column);
}

static cohort_status look_open(struct look *l, struct factor *f, const cohort_frame *keys, int adds)
{
    *l = (struct look){.factor = f, .context = f->context, .n = keys->rows, .adds = adds};
    l->column = zeroed(f->columns, sizeof *l->column + sizeof *l->flat + 3 * sizeof *l->memory);
    if (!l->column)
        return context_fail(f->context, COHORT_NO_MEMORY, "no host memory for %u key columns", f->columns);
    l->flat = (struct table_column **)(l->column + f->columns);
    l->memory = (void **)(l->flat + f->columns);
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < f->columns; i++) {
        struct table_column *column = NULL;
        s = staged_column(f->context, keys->field[i].name, keys->field[i].column, &column);
        if (!s)
            s = table_column_flat(f->context, column, &l->flat[i]);
        table_column_release(column);
        if (!s)
            s = look_column(l, i, l->flat[i]);
    }
    return s;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Of all columns or of none. */
static cohort_status fix_types(struct factor *f, const cohort_frame *keys)
{
    uint32_t made = 0;
    if (!factor_is_fresh(f))
        return COHORT_OK;
    for (; made < f->columns && (f->column[made].format = strdup(keys->field[made].column->format)); made++)
        ;
    if (made == f->columns)
        return COHORT_OK;
    for (; made; made--) {
        free(f->column[made - 1].format);
        f->column[made - 1].format = NULL;
    }
    return context_fail(f->context, COHORT_NO_MEMORY, "no host memory for a format");
}

/* What is done with rows. */
enum { FIND, ADD, ADD_ROWS };

static cohort_status by_root(struct factor *f, cohort_frame *keys, uint32_t *ids, struct factor_rows *first,
                             int adds)
{
    struct look l;
    cohort_status s = look_open(&l, f, keys, adds != FIND);
    if (!s && adds == ADD_ROWS)
        s = factor_node_add_rows(f->context, f->root, l.column, l.n, ids, first);
    else if (!s && adds)
        s = factor_node_add(f->context, f->root, l.column, l.n, ids, first);
    else if (!s)
        s = factor_node_find(f->context, f->root, l.column, l.n, f->way, ids);
    look_close(&l);
    return s;
}

/* ---- one column of bytes ------------------------------------------------------------------------------- */

/* Whether the frame's only column may be numbered by its leaf: in the host's memory. */
static int has_leaf_alone(const struct factor *f, const cohort_frame *keys)
{
    const struct table_column *c = keys->field[0].column;
    const int is_new = !factor_node_count(f->root) && !f->column[0].leaf.count && !f->column[0].codes;
    return f->columns == 1 && !c->is_dictionary && factor_column_of(c).kind >= KEYS_WIDE &&
           f->context->backend->own_memory == MEMORY_HOST && (f->by_leaf || is_new);
}

/* bits: of the rows that have ids, in place of these; NULL: the ids. */
static cohort_status by_leaf(struct factor *f, cohort_frame *keys, uint32_t *ids, uint8_t *bits,
                             struct factor_rows *first, int adds)
{
    const struct keys_backend *backend = f->context->backend->keys;
    struct table_column *flat = NULL;
    struct keys_table *leaf = &f->column[0].leaf;
    cohort_status s = table_column_flat(f->context, keys->field[0].column, &flat);
    if (s)
        return s;
    struct keys_column column = factor_column_of(flat);
    struct keys_batch b = {.n = keys->rows, .bytes = &column, .ids = ids, .bits = bits, .passing = !first};
    column.skips_nulls = !f->column[0].nulls_equal;
    s = adds ? backend->add(f->context, leaf, &b) : backend->find(f->context, leaf, &b);
    if (first && !s)
        *first = (struct factor_rows){b.first, b.firsts, NULL};
    else
        pool_give(f->context, b.first);
    table_column_release(flat);
    return s;
}

/* The leaf's numbers as words of a root, which gives them the same ids. */
static cohort_status root_of_leaf(const struct factor *f, struct factor_node *root)
{
    const struct keys_table *leaf = &f->column[0].leaf;
    const uint64_t n = leaf->count, bytes = (n + 31) / 32 * 4;
    uint32_t *word;
    if (!n)
        return COHORT_OK;
    cohort_status s = pool_take(f->context, 2 * n * 4 + bytes, (void **)&word);
    if (s)
        return s;
    uint8_t *valid = (uint8_t *)(word + 2 * n);
    memset(valid, 0xff, bytes);
    for (uint64_t i = 0; i < n; i++)
        word[i] = (uint32_t)i;
    if (leaf->null.id != KEYS_NO_ID)
        valid[leaf->null.id / 8] &= (uint8_t) ~(1u << (leaf->null.id & 7));
    const struct keys_column column = {
        .kind = KEYS_UNSIGNED, .bytes = 4, .fill = 4, .data = word, .validity = valid};
    s = factor_node_add(f->context, root, &column, n, word + n, NULL);
    pool_give(f->context, word);
    return s;
}

/* Dictionaries are added by a root. */
static cohort_status leave_leaf(struct factor *f, cohort_frame *keys, uint32_t *ids,
                                struct factor_rows *first)
{
    struct factor_node *root = factor_node_new(1);
    if (!root)
        return context_fail(f->context, COHORT_NO_MEMORY, "no host memory for the layout of keys");
    cohort_status s = root_of_leaf(f, root);
    if (s) {
        factor_node_end(f->context, root);
        return s;
    }
    factor_node_end(f->context, f->root);
    f->root = root;
    f->by_leaf = 0;
    return by_root(f, keys, ids, first, ADD);
}

/* A dictionary's rows are looked up by its values' numbers, which are the ids. */
static cohort_status find_by_leaf(struct factor *f, cohort_frame *keys, uint32_t *ids)
{
    struct look l;
    uint64_t *words = NULL;
    uint8_t *states = NULL;
    cohort_status s = look_open(&l, f, keys, 0);
    if (!s)
        s = pool_take(f->context, l.n * 8, (void **)&words);
    if (!s)
        s = pool_take(f->context, l.n, (void **)&states);
    if (!s)
        s = f->context->backend->keys->load(f->context, l.column, l.n, words, states);
    for (uint64_t i = 0; !s && i < l.n; i++)
        ids[i] = states[i] == KEYS_VALUE  ? (uint32_t)words[i]
                 : states[i] == KEYS_NULL ? f->column[0].leaf.null.id
                                          : KEYS_NO_ID;
    pool_give(f->context, words);
    pool_give(f->context, states);
    look_close(&l);
    return s;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static cohort_status work(struct factor *f, cohort_frame *keys, uint32_t *ids, struct factor_rows *first,
                          int adds)
{
    if (first)
        *first = (struct factor_rows){0};
    cohort_status s = adds ? fix_types(f, keys) : COHORT_OK;
    if (s)
        return s;
    if (has_leaf_alone(f, keys)) {
        f->by_leaf |= adds != FIND;
        s = by_leaf(f, keys, ids, NULL, first, adds);
    } else if (f->by_leaf) {
        s = adds ? leave_leaf(f, keys, ids, first) : find_by_leaf(f, keys, ids);
    } else {
        s = by_root(f, keys, ids, first, adds);
    }
    if (adds)
        f->count = f->by_leaf ? f->column[0].leaf.count : factor_node_count(f->root);
    return s;
}

cohort_status factor_add(struct factor *f, cohort_frame *keys, uint32_t *ids, struct factor_rows *first)
{
    return work(f, keys, ids, first, ADD);
}

cohort_status factor_add_rows(struct factor *f, cohort_frame *keys, uint32_t *room, struct factor_rows *first)
{
    return work(f, keys, room, first, ADD_ROWS);
}

cohort_status factor_find(struct factor *f, cohort_frame *keys, uint32_t *ids)
{
    return work(f, keys, ids, NULL, FIND);
}

cohort_status factor_find_bits(struct factor *f, cohort_frame *keys, uint8_t *bits)
{
    return has_leaf_alone(f, keys) ? by_leaf(f, keys, NULL, bits, NULL, 0) : COHORT_UNSUPPORTED;
}
