/* group_partial.c: what a group object knows as a frame, and such a frame merged.
 *
 * Behind the keys there is a column for each aggregate. Its name is "OP|FORMAT|COLUMN". States of fixed
 * size are fixed binaries, texts binaries, and of distinct values a binary has all of a group
 * (group_pairs.c). Where one object takes all of another, it takes pairs as they are, and there are no such
 * binaries. */
#include "group.h"

#include <stdio.h>
#include <string.h>

#include "staged.h"

#define NAME_BYTES 400

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
        char name[NAME_BYTES];
        s = a->way == GROUP_BY_KEYS   ? distinct_out(g, call, a, packed, &c)
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
