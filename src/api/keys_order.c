/* keys_order.c: rows in order. A column's values are made ranks, words whose order as unsigned numbers is
 * that of the values; strings, binaries and decimals are compared where they are. Rows of words are sorted
 * column by column from the last, by the library's own stable sort of numbers; others by merging, on one
 * thread. On a GPU the strings of a dictionary are put in order by the helper, and their places are ranks; of
 * one that has more values than there are rows, only those of the rows. */
#include "keys_order.h"

#include <string.h>

#include "api/sort.h"
#include "factor.h"
#include "staged.h"

struct keys_rank {
    struct keys_column values;
    int is_decimal;
    uint64_t n;      /* values: rows, or the dictionary's */
    uint64_t *words; /* ranks, or NULL */
    uint8_t *states;
    uint64_t *index; /* of a dictionary: by row; or NULL */
    uint8_t *null;   /* by row */
};

/* ---- ranks --------------------------------------------------------------------------------------------- */

static cohort_status no_memory(cohort_context *context, uint64_t rows)
{
    return context_fail(context, COHORT_NO_MEMORY, "no host memory to order %llu rows",
                        (unsigned long long)rows);
}

static cohort_status rank_values(cohort_context *context, struct keys_rank *r,
                                 const struct table_column *values)
{
    r->values = factor_column_of(values);
    r->n = values->rows;
    r->is_decimal = values->format[0] == 'd';
    r->states = zeroed(r->n + 1, 1);
    if (!r->states)
        return no_memory(context, r->n);
    if (r->values.kind >= KEYS_WIDE) {
        for (uint64_t i = 0; r->values.validity && i < r->n; i++)
            r->states[i] = !table_bit(r->values.validity, r->values.validity_bit + i);
        return COHORT_OK;
    }
    r->words = zeroed(r->n + 1, 8);
    if (!r->words)
        return no_memory(context, r->n);
    cohort_status s = context->backend->keys->load(context, &r->values, r->n, r->words, r->states);
    for (uint64_t i = 0; i < r->n; i++)
        r->words[i] = keys_rank_of(r->values.kind, r->values.bytes, r->words[i]);
    return s;
}

/* Rows of a dictionary as numbers of its values. */
static cohort_status rank_rows(cohort_context *context, struct keys_rank *r,
                               const struct table_column *column)
{
    const struct table_piece *p = &column->piece[0];
    r->index = zeroed(column->rows + 1, 8);
    if (!r->index)
        return no_memory(context, column->rows);
    for (uint64_t i = 0; i < column->rows; i++) {
        r->null[i] = !table_is_valid(p, i);
        if (!r->null[i])
            memcpy(&r->index[i], (const char *)p->data + i * column->index.bytes, column->index.bytes);
        if (!r->null[i])
            r->null[i] = r->states[r->index[i]] != KEYS_VALUE;
    }
    return COHORT_OK;
}

cohort_status keys_rank_open(cohort_context *context, const struct table_column *column,
                             struct keys_rank **out)
{
    struct keys_rank *r = *out = zeroed(1, sizeof *r);
    if (!r || !(r->null = zeroed(column->rows + 1, 1)))
        return no_memory(context, column->rows);
    if (!column->is_dictionary) {
        cohort_status s = rank_values(context, r, column);
        if (!s)
            memcpy(r->null, r->states, column->rows);
        return s;
    }
    if (!column->pieces || !column->dictionaries[0])
        return COHORT_OK;
    cohort_status s = rank_values(context, r, column->dictionaries[0]);
    return s ? s : rank_rows(context, r, column);
}

void keys_rank_close(struct keys_rank *r)
{
    if (!r)
        return;
    free(r->words);
    free(r->states);
    free(r->index);
    free(r->null);
    free(r);
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* Numbers of 16 bytes, the most significant byte last. */
static int compare_decimals(const char *a, const char *b)
{
    uint64_t low[2];
    int64_t high[2];
    memcpy(&low[0], a, 8);
    memcpy(&low[1], b, 8);
    memcpy(&high[0], a + 8, 8);
    memcpy(&high[1], b + 8, 8);
    if (high[0] != high[1])
        return high[0] < high[1] ? -1 : 1;
    return (low[0] > low[1]) - (low[0] < low[1]);
}

static int compare_texts(const struct keys_rank *r, uint64_t a, uint64_t b)
{
    struct keys_text x = keys_text_at(&r->values, a), y = keys_text_at(&r->values, b);
    if (r->is_decimal)
        return compare_decimals(x.at, y.at);
    uint64_t both = x.length < y.length ? x.length : y.length;
    int order = both ? memcmp(x.at, y.at, both) : 0;
    return order ? order : (x.length > y.length) - (x.length < y.length);
}

int keys_rank_null(const struct keys_rank *r, uint64_t row)
{
    return r->null[row];
}

int keys_rank_compare(const struct keys_rank *r, uint64_t a, uint64_t b)
{
    if (r->null[a] || r->null[b])
        return r->null[a] - r->null[b];
    a = r->index ? r->index[a] : a;
    b = r->index ? r->index[b] : b;
    return r->words ? (r->words[a] > r->words[b]) - (r->words[a] < r->words[b]) : compare_texts(r, a, b);
}

/* ---- sorting ------------------------------------------------------------------------------------------- */

struct sorting {
    struct keys_rank **rank;
    uint32_t columns;
};

static int compare(const struct sorting *s, uint64_t a, uint64_t b)
{
    for (uint32_t i = 0; i < s->columns; i++) {
        int order = keys_rank_compare(s->rank[i], a, b);
        if (order)
            return order;
    }
    return 0;
}

static void merge(const struct sorting *s, const uint32_t *from, uint32_t *to, uint64_t left, uint64_t middle,
                  uint64_t right)
{
    uint64_t a = left, b = middle;
    for (uint64_t i = left; i < right; i++)
        to[i] = b >= right || (a < middle && compare(s, from[a], from[b]) <= 0) ? from[a++] : from[b++];
}

static cohort_status merge_sort(cohort_context *context, const struct sorting *s, uint64_t n, uint32_t *order)
{
    uint32_t *other = malloc((n + 1) * 4), *from = order, *to = other;
    if (!other)
        return no_memory(context, n);
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t left = 0; left < n; left += 2 * width) {
            uint64_t middle = left + width < n ? left + width : n;
            uint64_t right = left + 2 * width < n ? left + 2 * width : n;
            merge(s, from, to, left, middle, right);
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, n * 4);
    free(other);
    return COHORT_OK;
}

/* By merging: some columns are bytes. */
static cohort_status order_by_merging(cohort_frame *frame, struct table_column **flat, uint32_t *order)
{
    struct keys_rank **rank = zeroed(frame->columns + 1, sizeof *rank);
    cohort_status s = rank ? COHORT_OK : no_memory(frame->context, frame->rows);
    for (uint32_t i = 0; !s && i < frame->columns; i++)
        s = keys_rank_open(frame->context, flat[i], &rank[i]);
    for (uint64_t i = 0; !s && i < frame->rows; i++)
        order[i] = (uint32_t)i;
    struct sorting by = {rank, frame->columns};
    if (!s)
        s = merge_sort(frame->context, &by, frame->rows, order);
    for (uint32_t i = 0; rank && i < frame->columns; i++)
        keys_rank_close(rank[i]);
    free(rank);
    return s;
}

/* ---- by ranks ------------------------------------------------------------------------------------------ */

/* A column's ranks by the order so far, with what they are made of: of the pool. */
struct ranked {
    cohort_context *context;
    struct keys_ranks ranks;
    void *words, *nulls, *value_words, *value_states, *rows;
};

static void ranked_end(struct ranked *r)
{
    pool_give(r->context, r->words);
    pool_give(r->context, r->nulls);
    pool_give(r->context, r->value_words);
    pool_give(r->context, r->value_states);
    pool_give(r->context, r->rows);
}

/* Strings in the host's memory, or rows of a dictionary of them: equal ones have one rank. */
static cohort_status rank_texts(cohort_context *host, const struct table_column *texts, uint64_t *words,
                                uint8_t *states)
{
    struct keys_rank *rank = NULL;
    uint32_t *order = NULL;
    if (texts->rows > UINT32_MAX)
        return context_fail(host, COHORT_OVERFLOW, "%llu strings are to be put in order",
                            (unsigned long long)texts->rows);
    order = malloc((texts->rows + 1) * 4);
    cohort_status s = order ? COHORT_OK : no_memory(host, texts->rows);
    if (!s)
        s = keys_rank_open(host, texts, &rank);
    for (uint64_t i = 0; !s && i < texts->rows; i++)
        order[i] = (uint32_t)i;
    struct sorting by = {&rank, 1};
    if (!s)
        s = merge_sort(host, &by, texts->rows, order);
    for (uint64_t i = 0, word = 0; !s && i < texts->rows; i++) {
        word += i && keys_rank_compare(rank, order[i - 1], order[i]);
        words[order[i]] = word;
        states[order[i]] = keys_rank_null(rank, order[i]) ? KEYS_NULL : KEYS_VALUE;
    }
    keys_rank_close(rank);
    free(order);
    return s;
}

/* The same in a GPU's memory. */
static cohort_status put_texts(struct ranked *r, cohort_context *host, const struct table_column *texts)
{
    const uint64_t n = texts->rows;
    uint64_t *words = zeroed(n + 1, 8);
    uint8_t *states = zeroed(n + 1, 1);
    cohort_status s = words && states
                          ? staged_status(r->context, host, rank_texts(host, texts, words, states))
                          : no_memory(r->context, n);
    if (!s)
        s = pool_take(r->context, n * 8, &r->value_words);
    if (!s)
        s = pool_take(r->context, n, &r->value_states);
    if (!s)
        s = context_copy(r->context, r->value_words, words, n * 8);
    if (!s)
        s = context_copy(r->context, r->value_states, states, n);
    free(words);
    free(states);
    return s;
}

/* Each row has a value of its own: its number. */
static cohort_status put_rows(struct ranked *r, uint64_t n)
{
    uint32_t *number = malloc((n + 1) * sizeof *number);
    cohort_status s = number ? pool_take(r->context, n * sizeof *number, &r->rows) : no_memory(r->context, n);
    for (uint64_t i = 0; !s && i < n; i++)
        number[i] = (uint32_t)i;
    if (!s)
        s = context_copy(r->context, r->rows, number, n * sizeof *number);
    free(number);
    r->ranks.column.data = r->rows;
    r->ranks.column.bytes = sizeof *number;
    r->ranks.column.validity = NULL;
    return s;
}

/* A GPU's dictionary of strings. Where it has more values than there are rows the rows' indices go to the
 * host, and the other values are not looked at. */
static cohort_status ranked_texts(struct ranked *r, struct table_column *column)
{
    struct table_column *rows = NULL;
    const struct table_column *values = column->dictionaries[0];
    cohort_context *host = NULL;
    const int by_row = values->rows > column->rows;
    cohort_status s = staged_open(r->context, &host);
    if (!s && by_row)
        s = staged_column_in(r->context, host, "key", column, &rows);
    if (!s && by_row)
        s = put_rows(r, column->rows);
    if (!s)
        s = put_texts(r, host, by_row ? rows : values);
    table_column_release(rows);
    r->ranks.kind = KEYS_UNSIGNED;
    r->ranks.bytes = 8;
    return s;
}

/* The words of a dictionary's values. */
static cohort_status ranked_values(struct ranked *r, struct table_column *column)
{
    struct keys_column *k = &r->ranks.column;
    struct table_column *values = column->pieces ? column->dictionaries[0] : NULL;
    k->kind = KEYS_DICTIONARY;
    k->bytes = column->index.bytes;
    if (!values)
        return COHORT_OK;
    struct keys_column of = factor_column_of(values);
    cohort_status s = COHORT_OK;
    if (of.kind >= KEYS_WIDE) {
        s = ranked_texts(r, column);
    } else {
        s = pool_take(r->context, values->rows * 8, &r->value_words);
        if (!s)
            s = pool_take(r->context, values->rows, &r->value_states);
        if (!s)
            s = r->context->backend->keys->load(r->context, &of, values->rows, r->value_words,
                                                r->value_states);
    }
    k->words = r->value_words;
    k->states = values->rows ? r->value_states : NULL;
    return s;
}

/* Fails or not, ranked_end is due. order NULL: rows as they are. */
static cohort_status ranked_open(struct ranked *r, cohort_context *context, struct table_column *column,
                                 const uint32_t *order)
{
    *r = (struct ranked){.context = context};
    r->ranks = (struct keys_ranks){.column = factor_column_of(column), .order = order, .n = column->rows};
    r->ranks.kind = r->ranks.column.kind;
    r->ranks.bytes = r->ranks.column.bytes;
    cohort_status s = column->is_dictionary ? ranked_values(r, column) : COHORT_OK;
    if (!s)
        s = pool_take(context, column->rows * 8, &r->words);
    if (!s && (column->is_dictionary || r->ranks.column.validity))
        s = pool_take(context, column->rows * 4, &r->nulls);
    r->ranks.words = r->words;
    r->ranks.nulls = r->nulls;
    return s ? s : context->backend->keys->ranks(context, &r->ranks);
}

/* By ranks, then nulls behind all others. */
static cohort_status sort_ranked(struct ranked *r, int is_first, uint32_t *order)
{
    const cohort_payload along[2] = {{order, order, 4, 0}, {r->nulls, r->nulls, 4, 0}};
    cohort_sort_desc d = COHORT_SORT_INIT;
    d.n = r->ranks.n;
    d.type = COHORT_U64;
    d.keys = d.keys_out = r->words;
    d.permutation = is_first ? order : NULL;
    d.permutation_bytes = 4;
    d.payload = is_first ? along + 1 : along;
    d.payloads = !is_first + (r->nulls != NULL);
    cohort_status s = sort_for(r->context, "the order of rows", &d);
    if (s || !r->nulls)
        return s;
    d = (cohort_sort_desc)COHORT_SORT_INIT;
    d.n = r->ranks.n;
    d.type = COHORT_U32;
    d.high_bit = 1;
    d.keys = d.keys_out = r->nulls;
    d.payload = along;
    d.payloads = 1;
    return sort_for(r->context, "the order of rows", &d);
}

static cohort_status order_by_ranks(cohort_frame *frame, struct table_column **flat, uint32_t *order)
{
    cohort_status s = COHORT_OK;
    for (uint32_t c = frame->columns; !s && c > 0; c--) {
        struct ranked r;
        int is_first = c == frame->columns;
        s = ranked_open(&r, frame->context, flat[c - 1], is_first ? NULL : order);
        if (!s)
            s = sort_ranked(&r, is_first, order);
        ranked_end(&r);
    }
    return s;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* By their words: on a GPU all are, but for values that are no words, of which a dictionary is made. */
static int are_words(cohort_frame *frame, struct table_column **flat)
{
    if (frame->context->backend->own_memory != MEMORY_HOST)
        return 1;
    for (uint32_t i = 0; i < frame->columns; i++) {
        const struct table_column *values = flat[i];
        if (values->is_dictionary)
            values = values->pieces ? values->dictionaries[0] : NULL;
        if (values && factor_column_of(values).kind >= KEYS_WIDE)
            return 0;
    }
    return 1;
}

cohort_status keys_order(cohort_frame *frame, uint32_t *order)
{
    struct table_column **flat = zeroed(frame->columns + 1, sizeof(struct table_column *));
    cohort_status s = flat ? COHORT_OK : no_memory(frame->context, frame->rows);
    for (uint32_t i = 0; !s && i < frame->columns; i++) {
        struct table_column *column = NULL;
        s = staged_column(frame->context, frame->field[i].name, frame->field[i].column, &column);
        if (!s)
            s = table_column_flat(frame->context, column, &flat[i]);
        table_column_release(column);
    }
    if (!s)
        s = (are_words(frame, flat) ? order_by_ranks : order_by_merging)(frame, flat, order);
    for (uint32_t i = 0; flat && i < frame->columns; i++)
        table_column_release(flat[i]);
    free(flat);
    return s;
}

cohort_status keys_order_counts(cohort_context *context, uint64_t n, const uint64_t *counts, uint32_t *order)
{
    cohort_sort_desc d = COHORT_SORT_INIT;
    d.n = n;
    d.type = COHORT_U64;
    d.descending = 1;
    d.keys = counts;
    d.permutation = order;
    d.permutation_bytes = 4;
    return sort_for(context, "the order of rows", &d);
}
