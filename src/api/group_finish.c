/* group_finish.c: the result: states as columns. */
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys_order.h"
#include "staged.h"

/* ---- columns ------------------------------------------------------------------------------------------- */

static void set_valid(struct table_column *c, uint64_t row)
{
    uint8_t *bits = (uint8_t *)(uintptr_t)c->piece[0].validity;
    bits[row / 8] |= (uint8_t)(1u << (row & 7));
    c->nulls = --c->piece[0].nulls;
}

cohort_status group_texts_column(cohort_group *g, const struct group_aggregate *a, const char *format,
                                 struct table_column **out)
{
    const struct group_text *text = a->texts.text;
    uint64_t n = g->of.count, total = 0;
    struct table_column *c = NULL;
    void *offsets = NULL;
    for (uint64_t i = 0; i < n; i++)
        total += text[i].length == GROUP_NO_TEXT ? 0 : text[i].length;
    cohort_status s = table_column_room(g->host, format, n, total, 1, &c);
    if (s)
        return s;
    int fixed = c->type.layout == TABLE_FIXED;
    if (fixed) { /* nulls have bytes, too */
        table_column_release(c);
        s = table_column_room(g->host, format, n, n * a->type.bytes, 1, &c);
    } else {
        s = table_column_zeros(g->host, c, (n + 1) * 8, &offsets);
    }
    if (s) {
        table_column_release(fixed ? NULL : c);
        return s;
    }
    char *data = (char *)(uintptr_t)c->piece[0].data;
    uint64_t at = 0, *offset = offsets;
    for (uint64_t i = 0; i < n; i++) {
        if (fixed)
            at = i * a->type.bytes;
        else
            offset[i] = at;
        if (text[i].length == GROUP_NO_TEXT)
            continue;
        if (text[i].length)
            memcpy(data + at, a->texts.heap + text[i].at, text[i].length);
        at += text[i].length;
        set_valid(c, i);
    }
    if (!fixed)
        offset[n] = at;
    c->piece[0].offsets = offsets;
    *out = c;
    return COHORT_OK;
}

#define FORMAT_BYTES 24

/* ---- formats ------------------------------------------------------------------------------------------- */

/* The sum of decimals has their scale, and all digits that there may be: in `own`. */
static const char *decimal_format(const struct group_aggregate *a, char own[FORMAT_BYTES])
{
    snprintf(own, FORMAT_BYTES, "d:38,%d", group_scale_of(a->format));
    return own;
}

static const char *result_format(const struct group_aggregate *a, char own[FORMAT_BYTES])
{
    switch (a->op) {
    case COHORT_AGGREGATE_ROWS:
    case COHORT_AGGREGATE_COUNT:
    case COHORT_AGGREGATE_NUNIQUE:
        return "L";
    case COHORT_AGGREGATE_SUM:
        return a->state == GROUP_WIDE           ? decimal_format(a, own)
               : a->type.number == TABLE_FLOAT  ? "g"
               : a->type.number == TABLE_SIGNED ? "l"
                                                : "L";
    case COHORT_AGGREGATE_MEAN:
    case COHORT_AGGREGATE_VAR:
    case COHORT_AGGREGATE_SD:
        return "g";
    case COHORT_AGGREGATE_ANY:
    case COHORT_AGGREGATE_ALL:
        return "b";
    default:
        if (a->way == GROUP_BY_TEXT && a->type.layout != TABLE_FIXED)
            return strpbrk(a->format, "uU") ? "U" : "Z";
        return a->format;
    }
}

/* ---- messages: which group ----------------------------------------------------------------------------- */

static void cell_text(cohort_context *host, struct table_column *column, const char *name, char *to,
                      size_t room_of)
{
    struct table_column *c = NULL;
    uint64_t word = 0;
    uint8_t state = 0;
    snprintf(to, room_of, "%.60s ?", name);
    if (group_plain(host, name, column, &c))
        return;
    struct keys_column k = factor_column_of(c);
    if (k.validity && !table_bit(k.validity, k.validity_bit)) {
        snprintf(to, room_of, "%.60s null", name);
    } else if (c->format[0] == 'd') {
        uint64_t decimal[2];
        memcpy(decimal, k.data, sizeof decimal);
        snprintf(to, room_of, "%.60s %.15g", name,
                 group_decimal(decimal[0], decimal[1], group_scale_of(c->format)));
    } else if (k.kind >= KEYS_WIDE) {
        struct keys_text t = keys_text_at(&k, 0);
        snprintf(to, room_of, "%.60s '%.*s'", name, t.length < 60 ? (int)t.length : 60, t.at);
    } else if (!host->backend->keys->load(host, &k, 1, &word, &state)) {
        if (k.kind == KEYS_FLOAT)
            snprintf(to, room_of, "%.60s %.17g", name, group_real(group_double(k.kind, k.bytes, word)));
        else if (k.is_signed)
            snprintf(to, room_of, "%.60s %lld", name, (long long)word);
        else
            snprintf(to, room_of, "%.60s %llu", name, (unsigned long long)word);
    }
    table_column_release(c);
}

/* The row of a group in the host's memory. */
static cohort_status key_row(cohort_group *g, cohort_frame *keys, uint64_t group, cohort_context **host,
                             cohort_frame **out)
{
    cohort_frame *row = NULL;
    cohort_status s = cohort_frame_slice(keys, group, 1, &row);
    *out = NULL;
    if (!s)
        s = staged_open(g->context, host);
    if (!s)
        s = staged_in(g->host, *host, row, out);
    cohort_frame_release(row);
    return s;
}

/* The key of a group, as "id1 'id003', id2 7". */
static void key_text(cohort_group *g, cohort_frame *keys, uint64_t group, char *to, size_t bytes)
{
    cohort_context *host;
    cohort_frame *row = NULL;
    size_t used = 0;
    to[0] = 0;
    if (key_row(g, keys, group, &host, &row))
        return;
    for (uint32_t i = 0; i < g->keys && used + 140 < bytes; i++) {
        char cell[130];
        cell_text(host, row->field[i].column, g->key[i], cell, sizeof cell);
        used += (size_t)snprintf(to + used, bytes - used, "%s%s", i ? ", " : "", cell);
    }
    cohort_frame_release(row);
}

static cohort_status overflow(cohort_group *g, const struct group_aggregate *a, cohort_frame *keys,
                              uint64_t group)
{
    char key[300], text[TYPE_TEXT];
    key_text(g, keys, group, key, sizeof key);
    return context_fail(
        g->host, COHORT_OVERFLOW,
        "cohort_group_finish: the sum of column '%.60s' (%s) does not fit into %s: row %llu of the "
        "groups, %s",
        a->column, table_type_name(a->format, text), a->state == GROUP_WIDE ? "38 digits" : "64 bits",
        (unsigned long long)group, key);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static enum group_form form_of(const struct group_aggregate *a)
{
    switch (a->op) {
    case COHORT_AGGREGATE_MEAN:
        return GROUP_AS_MEAN;
    case COHORT_AGGREGATE_SD:
        return GROUP_AS_ROOT;
    case COHORT_AGGREGATE_ALL:
        return GROUP_AS_ALL;
    default:
        return GROUP_AS_IT_IS;
    }
}

static cohort_status state_values(cohort_group *g, const struct group_aggregate *a, cohort_frame *keys,
                                  struct table_column *c)
{
    struct group_values v = {.told = {.state = a->state,
                                      .form = form_of(a),
                                      .kind = a->type.number == TABLE_SIGNED  ? KEYS_SIGNED
                                              : a->type.number == TABLE_FLOAT ? KEYS_FLOAT
                                                                              : KEYS_UNSIGNED,
                                      .bytes = a->type.bytes,
                                      .scale = group_scale_of(a->format)},
                             .n = g->of.count,
                             .states = a->states,
                             .width = c->type.layout == TABLE_BITS ? 0 : c->type.bytes,
                             .data = (void *)(uintptr_t)c->piece[0].data,
                             .validity = (uint64_t *)(uintptr_t)c->piece[0].validity,
                             .overflow = ~0ull};
    cohort_status s = g->host->backend->group->values(g->host, &v);
    if (s)
        return s;
    c->nulls = c->piece[0].nulls = v.nulls;
    return v.overflow == ~0ull ? COHORT_OK : overflow(g, a, keys, v.overflow);
}

static cohort_status aggregate_column(cohort_group *g, const char *call, struct group_aggregate *a,
                                      cohort_frame *keys, struct table_column **out)
{
    uint64_t n = g->of.count;
    char own[FORMAT_BYTES];
    const char *format = result_format(a, own);
    const int is_keys = a->way == GROUP_BY_KEYS;
    if (a->way == GROUP_BY_TEXT)
        return group_texts_column(g, a, format, out);
    cohort_status s =
        table_column_room(g->host, format, n, (n + 1) * (a->state == GROUP_WIDE ? 16 : 8), !is_keys, out);
    if (!s && is_keys)
        s = group_pairs_count(g, call, a, (uint64_t *)(uintptr_t)(*out)->piece[0].data);
    else if (!s)
        s = state_values(g, a, keys, *out);
    if (s) {
        table_column_release(*out);
        *out = NULL;
    }
    return s;
}

static cohort_status all_columns(cohort_group *g, const char *call, cohort_frame *keys, cohort_frame **out)
{
    cohort_frame *made = frame_new(g->host, g->of.count, g->keys + g->aggregates);
    cohort_status s = made ? COHORT_OK : COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < g->keys; i++)
        s = frame_put(made, i, g->key[i], table_column_retain(keys->field[i].column));
    for (uint32_t i = 0; !s && i < g->aggregates; i++) {
        struct table_column *c = NULL;
        s = aggregate_column(g, call, &g->aggregate[i], keys, &c);
        if (!s)
            s = frame_put(made, g->keys + i, g->aggregate[i].name, c);
    }
    if (s)
        cohort_frame_release(made);
    else
        *out = made;
    return s;
}

static cohort_status in_order(cohort_group *g, cohort_frame *keys, cohort_frame **made)
{
    cohort_frame *sorted = NULL;
    void *order;
    cohort_status s = pool_take(g->host, keys->rows * 4, &order);
    if (s)
        return s;
    s = keys_order(keys, order);
    if (!s)
        s = frame_gather(*made, keys->rows, 4, order, &sorted);
    pool_give(g->host, order);
    if (s)
        return s;
    cohort_frame_release(*made);
    *made = sorted;
    return COHORT_OK;
}

static cohort_status finish(cohort_group *g, const char *call, uint32_t flags, cohort_frame **made)
{
    cohort_frame *keys = NULL;
    cohort_status s = group_keys_frame(&g->of, call, &keys);
    if (!s)
        s = all_columns(g, call, keys, made);
    if (!s && flags & COHORT_SORTED)
        s = in_order(g, keys, made);
    cohort_frame_release(keys);
    if (s) {
        cohort_frame_release(*made);
        *made = NULL;
    }
    return s;
}

cohort_status cohort_group_finish(cohort_group *group, uint32_t flags, cohort_frame **out)
{
    CALL_ON(group);
    const char *call = "cohort_group_finish";
    cohort_frame *made = NULL;
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "group", group);
    if (!s)
        s = frame_need(group->context, call, "out", out);
    if (s)
        return s;
    if (flags & ~(uint32_t)COHORT_SORTED)
        return context_fail(group->context, COHORT_RANGE, "%s: flags is %u; only COHORT_SORTED (1) is known",
                            call, flags);
    s = staged_status(group->context, group->host, finish(group, call, flags, &made));
    return s ? s : group_out(group->context, group->host, made, out);
}
