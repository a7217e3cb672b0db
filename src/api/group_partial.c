/* group_partial.c: what a group object knows as a frame, and such a frame merged.
 *
 * Behind the keys there is a column for each aggregate. Its name is "OP|FORMAT|COLUMN". States of fixed
 * size are fixed binaries, texts binaries, and of distinct values a binary has all of a group
 * (group_pairs.c). Where one object takes all of another, it takes pairs as they are, and there are no such
 * binaries. */
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "staged.h"

#define COLUMN_BYTES 250u /* of a column's name, at most */

static size_t column_bytes(const struct group_aggregate *a)
{
    return a->column ? strnlen(a->column, COLUMN_BYTES) : 0;
}

/* Formats have any length, by a time zone. NULL: no memory. */
static char *part_name(const struct group_aggregate *a)
{
    const char *format = a->format ? a->format : "";
    const size_t column = column_bytes(a),
                 bytes = strlen(group_op_names[a->op]) + strlen(format) + column + 3;
    char *name = malloc(bytes);
    if (name)
        snprintf(name, bytes, "%s|%s|%.*s", group_op_names[a->op], format, (int)column,
                 column ? a->column : "");
    return name;
}

/* The format in the name of an aggregate's part, which is told by what is due on both sides of it. NULL: it
 * is of another column, or none. */
static const char *format_in(const struct group_aggregate *a, const char *name, size_t *bytes)
{
    const size_t op = strlen(group_op_names[a->op]), column = column_bytes(a), all = strlen(name);
    if (all < op + column + 2 || name[op] != '|' || name[all - column - 1] != '|' ||
        (column && memcmp(name + all - column, a->column, column)))
        return NULL;
    *bytes = all - op - column - 2;
    return name + op + 1;
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

/* A column of zeros, where nobody looks. */
static cohort_status nothing_out(cohort_group *g, struct table_column **out)
{
    return table_column_room(g->host, "C", g->of.count, g->of.count, 0, out);
}

static cohort_status distinct_out(cohort_group *g, const char *call, struct group_aggregate *a, int packed,
                                  struct table_column **out)
{
    return packed ? group_pairs_out(g, call, a, out) : nothing_out(g, out);
}

cohort_status group_partial(cohort_group *g, const char *call, int packed, cohort_frame **out)
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
        char *name = part_name(a);
        if (!name)
            s = context_fail(g->host, COHORT_NO_MEMORY, "%s: no host memory for a column's name", call);
        else
            s = a->way == GROUP_BY_KEYS   ? distinct_out(g, call, a, packed, &c)
                : a->way == GROUP_BY_TEXT ? group_texts_column(g, a, "Z", &c)
                                          : states_out(g, a, &c);
        if (!s)
            s = frame_put(made, g->keys + i, name, c);
        else
            table_column_release(c);
        free(name);
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
        s = staged_status(group->context, group->host, group_partial(group, call, 1, &made));
    return s ? s : group_out(group->context, group->host, made, out);
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
    const size_t op = strlen(group_op_names[a->op]);
    size_t bytes = 0;
    struct table_type type;
    if (strncmp(name, group_op_names[a->op], op) || name[op] != '|')
        return corrupt(g, call, g->keys + i, name, "the aggregate is another one");
    const char *format = format_in(a, name, &bytes);
    if (!format)
        return corrupt(g, call, g->keys + i, name, "the aggregate's column is another one");
    if (!a->column)
        return group_type(g, call, i, NULL);
    char *text = malloc(bytes + 1);
    if (!text)
        return context_fail(g->host, COHORT_NO_MEMORY, "%s: no host memory for a format", call);
    memcpy(text, format, bytes);
    text[bytes] = 0;
    cohort_status s = table_type_parse(text, &type)
                          ? group_type(g, call, i, text)
                          : corrupt(g, call, g->keys + i, name, "there is no such type");
    free(text);
    return s;
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

/* ---- in ------------------------------------------------------------------------------------------------ */

static cohort_status take_part(struct group_step *st, uint32_t i, struct frame_field *field)
{
    cohort_group *g = st->group;
    struct group_aggregate *a = &g->aggregate[i];
    struct group_part *p = &st->part[i];
    if (a->way == GROUP_BY_KEYS)
        return st->from ? group_pairs_take(st, i, st->from) : group_pairs_in(st, i, field->column);
    cohort_status s = group_plain(g->host, field->name, field->column, &p->column);
    if (s)
        return s;
    p->values = factor_column_of(p->column);
    if (a->way == GROUP_BY_STATE)
        return check_states(g, st->call, i, field->name, p->column);
    return texts_are_good(a, p->column)
               ? COHORT_OK
               : corrupt(g, st->call, g->keys + i, field->name, "these are not its values");
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
static cohort_status take_partial(cohort_group *g, const char *call, cohort_group *from,
                                  cohort_frame *partial)
{
    struct group_step st = {0};
    cohort_frame *keys = NULL;
    cohort_status s = COHORT_OK;
    if (partial->columns != g->keys + g->aggregates)
        return context_fail(g->host, COHORT_CORRUPT, "%s: the partial result has %llu %s; %u are due", call,
                            COUNTED(partial->columns, "column", "columns"), g->keys + g->aggregates);
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
    st.from = from;
    for (uint32_t i = 0; !s && i < g->aggregates; i++)
        s = take_part(&st, i, &partial->field[g->keys + i]);
    if (!s)
        s = group_step_ready(&st, 0);
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
    const struct group_aggregate *a = &f->group->aggregate[i];
    size_t bytes = 0;
    const char *format = format_in(a, f->partial->field[f->group->keys + i].name, &bytes);
    if (!a->column)
        return NULL;
    bytes = bytes < sizeof f->text ? bytes : sizeof f->text - 1; /* what a time zone is does not matter */
    memcpy(f->text, format ? format : "", bytes);
    f->text[bytes] = 0;
    return f->text;
}

static cohort_status place(cohort_group *g, cohort_frame *partial)
{
    struct formats of = {.group = g, .partial = partial};
    return group_place(g, partial, partial_format, &of);
}

cohort_status group_take(cohort_group *g, const char *call, cohort_group *from, cohort_frame *partial)
{
    cohort_frame *own = NULL;
    cohort_status s = partial->columns == g->keys + g->aggregates ? place(g, partial) : COHORT_OK;
    if (!s)
        s = group_bring(g, from, partial, &own);
    if (!s)
        s = staged_status(g->context, g->host, take_partial(g, call, from, own));
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
