/* group_partial.c: what a group object knows as a frame, and such a frame merged.
 *
 * Behind the keys there is a column for each aggregate. Its name is "OP|FORMAT|COLUMN". States of fixed
 * size are fixed binaries, texts binaries, and of distinct values a binary has all of a group: elements
 * behind each other, strings each with its length in 8 bytes before it. */
#include "group.h"

#include <stdio.h>
#include <string.h>

#include "staged.h"

#define NAME_BYTES 400

static cohort_status no_memory(cohort_context *host)
{
    return context_fail(host, COHORT_NO_MEMORY, "no host memory for a partial result");
}

static void name_part(const struct group_aggregate *a, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s|%s|%.250s", group_op_names[a->op], a->format ? a->format : "",
             a->column ? a->column : "");
}

/* ---- out ----------------------------------------------------------------------------------------------- */

static cohort_status states_out(cohort_group *g, const struct group_aggregate *a, struct table_column **out)
{
    char format[24];
    uint64_t bytes = g->of.count * group_state_bytes(a->state);
    snprintf(format, sizeof format, "w:%u", group_state_bytes(a->state));
    cohort_status s = table_column_room(g->host, format, g->of.count, bytes, 1, out);
    if (s)
        return s;
    (*out)->nulls = (*out)->piece[0].nulls = 0;
    (*out)->piece[0].validity = NULL;
    return g->host->backend->group->out(g->host, a->state, (void *)(uintptr_t)(*out)->piece[0].data,
                                        a->states, g->of.count);
}

/* The bytes of a value in a group's binary. */
static uint64_t value_bytes(const struct keys_column *k, uint64_t row)
{
    if (k->kind == KEYS_BITS)
        return 1;
    if (k->kind < KEYS_WIDE)
        return k->bytes;
    return keys_text_at(k, row).length + (k->kind == KEYS_WIDE ? 0 : 8);
}

static void put_value(const struct keys_column *k, uint64_t row, char *to)
{
    if (k->kind == KEYS_BITS) {
        to[0] = (char)table_bit(k->data, k->data_bit + row);
    } else if (k->kind < KEYS_WIDE) {
        memcpy(to, (const char *)k->data + row * k->bytes, k->bytes);
    } else {
        struct keys_text t = keys_text_at(k, row);
        if (k->kind != KEYS_WIDE) {
            memcpy(to, &t.length, 8);
            to += 8;
        }
        if (t.length)
            memcpy(to, t.at, t.length);
    }
}

/* Pairs of group and value, by groups. */
static cohort_status gather_values(cohort_group *g, const uint32_t *ids, const struct keys_column *k,
                                   uint64_t pairs, struct table_column **out)
{
    uint64_t n = g->of.count, *offset = zeroed(n + 2, 8);
    if (!offset)
        return no_memory(g->host);
    for (uint64_t i = 0; i < pairs; i++)
        offset[ids[i] + 2] += value_bytes(k, i);
    for (uint64_t i = 2; i < n + 2; i++)
        offset[i] += offset[i - 1];
    cohort_status s = table_column_room(g->host, "Z", n, offset[n + 1], 1, out);
    struct buffer *b = NULL;
    if (!s)
        s = loan_take(g->host, (n + 1) * 8, &b);
    if (s) {
        free(offset);
        return s;
    }
    struct table_column *c = *out;
    table_column_hold(c, &b->holder);
    for (uint64_t i = 0; i < pairs; i++) {
        put_value(k, i, (char *)(uintptr_t)c->piece[0].data + offset[ids[i] + 1]);
        offset[ids[i] + 1] += value_bytes(k, i);
    }
    memcpy(b->memory, offset, (n + 1) * 8);
    c->piece[0].offsets = b->memory;
    c->nulls = c->piece[0].nulls = 0;
    c->piece[0].validity = NULL;
    free(offset);
    return COHORT_OK;
}

static cohort_status distinct_out(cohort_group *g, const char *call, struct group_aggregate *a,
                                  struct table_column **out)
{
    cohort_frame *pairs = NULL;
    struct table_column *ids = NULL, *values = NULL;
    cohort_status s = group_keys_frame(&a->distinct, call, &pairs);
    if (!s)
        s = table_column_flat(g->host, pairs->field[0].column, &ids);
    if (!s)
        s = group_plain(g->host, a->column, pairs->field[1].column, &values);
    if (!s) {
        struct keys_column k = factor_column_of(values);
        s = gather_values(g, ids->piece[0].data, &k, pairs->rows, out);
    }
    table_column_release(values);
    table_column_release(ids);
    cohort_frame_release(pairs);
    return s;
}

cohort_status group_partial(cohort_group *g, const char *call, cohort_frame **out)
{
    cohort_frame *keys = NULL, *made = NULL;
    *out = NULL;
    cohort_status s = group_keys_frame(&g->of, call, &keys);
    if (!s && !(made = frame_new(g->host, keys->rows, g->keys + g->aggregates)))
        s = COHORT_NO_MEMORY;
    for (uint32_t i = 0; !s && i < g->keys; i++)
        s = frame_put(made, i, g->key[i], table_column_retain(keys->field[i].column));
    for (uint32_t i = 0; !s && i < g->aggregates; i++) {
        struct group_aggregate *a = &g->aggregate[i];
        struct table_column *c = NULL;
        char name[NAME_BYTES];
        s = a->way == GROUP_BY_KEYS   ? distinct_out(g, call, a, &c)
            : a->way == GROUP_BY_TEXT ? group_texts_column(g, a, "Z", &c)
                                      : states_out(g, a, &c);
        name_part(a, name);
        if (!s)
            s = frame_put(made, g->keys + i, name, c);
        else
            table_column_release(c);
    }
    cohort_frame_release(keys);
    if (s)
        cohort_frame_release(made);
    else
        *out = made;
    return s;
}

cohort_status cohort_group_partial(cohort_group *group, cohort_frame **out)
{
    CALL_ON(group);
    const char *call = "cohort_group_partial";
    cohort_frame *made = NULL;
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "group", group);
    if (!s)
        s = frame_need(group->context, call, "out", out);
    if (!s)
        s = staged_status(group->context, group->host, group_partial(group, call, &made));
    return s ? s : group_out(group, made, out);
}

/* ---- in: what a frame must be -------------------------------------------------------------------------- */

static cohort_status corrupt(cohort_group *g, const char *call, uint32_t column, const char *name,
                             const char *what)
{
    return context_fail(g->host, COHORT_CORRUPT, "%s: column %u of the partial result, '%.100s': %s", call,
                        column, name, what);
}

/* "OP|FORMAT|COLUMN" against the aggregate; its type. */
static cohort_status read_name(cohort_group *g, const char *call, uint32_t i, const char *name)
{
    const struct group_aggregate *a = &g->aggregate[i];
    size_t op = strlen(group_op_names[a->op]), format;
    char text[64], due[NAME_BYTES];
    struct table_type type;
    const char *at = name + op + 1;
    if (strncmp(name, group_op_names[a->op], op) || name[op] != '|' || !strchr(at, '|'))
        return corrupt(g, call, g->keys + i, name, "the aggregate is another one");
    format = (size_t)(strchr(at, '|') - at);
    snprintf(due, sizeof due, "%.250s", a->column ? a->column : "");
    if (format >= sizeof text || strcmp(at + format + 1, due))
        return corrupt(g, call, g->keys + i, name, "the aggregate's column is another one");
    memcpy(text, at, format);
    text[format] = 0;
    if (!a->column)
        return group_type(g, call, i, NULL);
    if (!table_type_parse(text, &type))
        return corrupt(g, call, g->keys + i, name, "there is no such type");
    return group_type(g, call, i, text);
}

static int is_binary(const struct table_column *c)
{
    return c->format[0] == 'z' || c->format[0] == 'Z' || !strcmp(c->format, "vz");
}

static cohort_status check_states(cohort_group *g, const char *call, uint32_t i, const char *name,
                                  const struct table_column *c)
{
    const struct group_aggregate *a = &g->aggregate[i];
    int good = c->type.layout == TABLE_FIXED && c->type.bytes == group_state_bytes(a->state) &&
               c->format[0] == 'w' && !c->nulls;
    cohort_status s =
        good ? g->host->backend->group->check(g->host, a->state, c->piece[0].data, c->rows, &good)
             : COHORT_OK;
    return s || good ? s : corrupt(g, call, g->keys + i, name, "these are not its states");
}

static int texts_are_good(const struct group_aggregate *a, const struct table_column *c)
{
    struct keys_column k = factor_column_of(c);
    if (!is_binary(c))
        return 0;
    for (uint64_t i = 0; a->type.bytes && i < c->rows; i++)
        if (table_is_valid(&c->piece[0], i) && keys_text_at(&k, i).length != a->type.bytes)
            return 0;
    return 1;
}

/* ---- in: distinct values ------------------------------------------------------------------------------- */

/* The values of a group's binary: how many, and their bytes; ~0: it is not made of whole ones. */
static uint64_t values_in(const struct table_type *type, struct keys_text t, uint64_t *bytes)
{
    uint64_t unit = type->layout == TABLE_BITS ? 1 : type->bytes, n = 0;
    if (unit) {
        *bytes += t.length;
        return t.length % unit ? ~0ull : t.length / unit;
    }
    for (uint64_t at = 0, length; at < t.length; at += length, n++, *bytes += length) {
        if (t.length - at < 8)
            return ~0ull;
        memcpy(&length, t.at + at, 8);
        at += 8;
        if (length > t.length - at)
            return ~0ull;
    }
    return n;
}

/* Values of all groups, one behind the other. */
struct unpacked {
    struct table_column *column;
    char *data;
    uint64_t *offset, count, used;
    uint32_t *ids;
};

static void unpack(struct unpacked *u, const struct table_type *type, struct keys_text t, uint32_t group)
{
    uint64_t unit = type->bytes;
    for (uint64_t at = 0, length; at < t.length; at += length, u->count++) {
        u->ids[u->count] = group;
        if (type->layout == TABLE_BITS) {
            length = 1;
            u->data[u->count / 8] = (char)(u->data[u->count / 8] | (t.at[at] & 1) << (u->count & 7));
            continue;
        }
        length = unit;
        if (!unit) {
            memcpy(&length, t.at + at, 8);
            at += 8;
            u->offset[u->count] = u->used;
        }
        if (length)
            memcpy(u->data + u->used, t.at + at, length);
        u->used += length;
    }
}

static cohort_status unpack_column(struct group_step *st, uint32_t i, const struct keys_column *k)
{
    cohort_group *g = st->group;
    struct group_aggregate *a = &g->aggregate[i];
    const uint32_t *ids = st->ids;
    struct unpacked u = {0};
    uint64_t n = 0, bytes = 0;
    struct buffer *b = NULL;
    for (uint64_t row = 0; row < st->rows; row++) {
        uint64_t own = values_in(&a->type, keys_text_at(k, row), &bytes);
        if (own == ~0ull)
            return corrupt(g, st->call, g->keys + i, a->column, "distinct values end in the middle");
        n += own;
    }
    const char *format = a->type.bytes || a->type.layout == TABLE_BITS ? a->format
                         : strpbrk(a->format, "uU")                    ? "U"
                                                                       : "Z";
    cohort_status s = table_column_room(g->host, format, n, bytes + 8, 1, &u.column);
    if (!s && !(u.ids = malloc((n + 1) * 4)))
        s = no_memory(g->host);
    if (!s)
        s = loan_take(g->host, (n + 1) * 8, &b);
    if (s) {
        table_column_release(u.column);
        free(u.ids);
        return s;
    }
    table_column_hold(u.column, &b->holder);
    u.offset = b->memory;
    u.data = (char *)(uintptr_t)u.column->piece[0].data;
    for (uint64_t row = 0; row < st->rows; row++)
        if (ids[row] != KEYS_NO_ID)
            unpack(&u, &a->type, keys_text_at(k, row), ids[row]);
    u.offset[u.count] = u.used;
    u.column->rows = u.column->piece[0].rows = u.count;
    u.column->nulls = u.column->piece[0].nulls = 0;
    u.column->piece[0].validity = NULL;
    u.column->piece[0].offsets = a->type.bytes || a->type.layout == TABLE_BITS ? NULL : u.offset;
    s = group_part_pairs(st, i, u.column, u.count, u.ids);
    free(u.ids);
    return s;
}

/* ---- in ------------------------------------------------------------------------------------------------ */

static cohort_status take_part(struct group_step *st, uint32_t i, struct frame_field *field)
{
    cohort_group *g = st->group;
    struct group_aggregate *a = &g->aggregate[i];
    struct group_part *p = &st->part[i];
    cohort_status s = group_plain(g->host, field->name, field->column, &p->column);
    if (s)
        return s;
    p->values = factor_column_of(p->column);
    if (a->way == GROUP_BY_STATE)
        return check_states(g, st->call, i, field->name, p->column);
    if (a->way == GROUP_BY_TEXT)
        return texts_are_good(a, p->column)
                   ? COHORT_OK
                   : corrupt(g, st->call, g->keys + i, field->name, "these are not its values");
    if (!is_binary(p->column) || p->column->nulls)
        return corrupt(g, st->call, g->keys + i, field->name, "these are not its distinct values");
    return unpack_column(st, i, &p->values);
}

static cohort_status merge(struct group_step *st)
{
    cohort_group *g = st->group;
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < g->aggregates; i++) {
        const struct group_aggregate *a = &g->aggregate[i];
        if (a->way == GROUP_BY_STATE)
            s = g->host->backend->group->merge(g->host, a->state, st->part[i].states,
                                               st->part[i].column->piece[0].data, st->ids, st->rows,
                                               st->of.count);
    }
    return s;
}

/* In the memory of g->host. */
static cohort_status take_partial(cohort_group *g, const char *call, cohort_frame *partial)
{
    struct group_step st = {0};
    cohort_frame *keys = NULL;
    cohort_status s = COHORT_OK;
    if (partial->columns != g->keys + g->aggregates)
        return context_fail(g->host, COHORT_CORRUPT, "%s: the partial result has %u columns; %u are due",
                            call, partial->columns, g->keys + g->aggregates);
    for (uint32_t i = 0; i < g->keys; i++)
        if (strcmp(partial->field[i].name, g->key[i]))
            return corrupt(g, call, i, partial->field[i].name, "the key is another one");
    for (uint32_t i = 0; !s && i < g->aggregates; i++)
        s = read_name(g, call, i, partial->field[g->keys + i].name);
    if (!s && !(keys = frame_new(g->host, partial->rows, g->keys)))
        s = COHORT_NO_MEMORY;
    if (!s)
        s = group_keys_of(g, partial, keys);
    if (s) {
        cohort_frame_release(keys);
        group_types_forget(g);
        return s;
    }
    s = group_step_open(&st, g, call, keys);
    for (uint32_t i = 0; !s && i < g->aggregates; i++)
        s = take_part(&st, i, &partial->field[g->keys + i]);
    if (!s)
        s = group_step_ready(&st);
    if (!s)
        s = merge(&st);
    group_step_close(&st, !s);
    return s;
}

/* The types that a partial result's names tell; what is not one is found later. */
struct formats {
    const cohort_group *group;
    const cohort_frame *partial;
    char text[64];
};

static const char *partial_format(void *of, uint32_t i)
{
    struct formats *f = of;
    const char *name = f->partial->field[f->group->keys + i].name, *at = strchr(name, '|');
    size_t length = at ? strcspn(at + 1, "|") : 0;
    if (!f->group->aggregate[i].column)
        return NULL;
    length = length < sizeof f->text ? length : 0;
    memcpy(f->text, at ? at + 1 : "", length);
    f->text[length] = 0;
    return f->text;
}

static cohort_status place(cohort_group *g, cohort_frame *partial)
{
    struct formats of = {.group = g, .partial = partial};
    return group_place(g, partial, partial_format, &of);
}

cohort_status group_take(cohort_group *g, const char *call, cohort_group *from, cohort_frame *partial)
{
    cohort_context *host = from ? from->host : g->context;
    cohort_frame *own = NULL;
    cohort_status s = partial->columns == g->keys + g->aggregates ? place(g, partial) : COHORT_OK;
    if (s)
        return s;
    if (host == g->host)
        own = cohort_frame_retain(partial);
    else if (host == g->context)
        s = staged_in(g->context, g->host, partial, &own);
    else
        s = group_out(from, cohort_frame_retain(partial), &own);
    if (!s)
        s = staged_status(g->context, g->host, take_partial(g, call, own));
    cohort_frame_release(own);
    return s;
}

cohort_status cohort_group_merge_partial(cohort_group *into, cohort_frame *partial)
{
    CALL_ON(into);
    const char *call = "cohort_group_merge_partial";
    cohort_status s = frame_need(NULL, call, "into", into);
    if (!s)
        s = frame_need(into->context, call, "partial", partial);
    if (s)
        return s;
    if (partial->context != into->context)
        return context_fail(into->context, COHORT_OTHER_CONTEXT,
                            "%s: partial belongs to another context than into", call);
    return group_take(into, call, NULL, partial);
}
