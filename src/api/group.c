/* group.c: group-by: the object, and what it is given.
 *
 * Keys are numbered by a factor; the number is the place of the group's states in arrays, one an
 * aggregate. Integers, floats and all that fits into 8 bytes have states of fixed size, which the backend
 * folds rows into; the extremes and ends of strings are texts; distinct values are numbered pairs of group
 * and value. A step first numbers keys and pairs and takes all memory; then nothing can fail. */
#include "group.h"

#include <string.h>

#include "options.h"
#include "staged.h"

#define MOST_COLUMNS 4096u

static cohort_status no_memory(cohort_context *context, const char *call, uint64_t count, const char *what)
{
    return context_fail(context, COHORT_NO_MEMORY, "%s: no host memory for %llu %s", call,
                        (unsigned long long)count, what);
}

/* ---- making -------------------------------------------------------------------------------------------- */

static cohort_status check_options(cohort_context *context, const cohort_group_options *o)
{
    const char *call = "cohort_group_create";
    if (!o->keys || o->keys > MOST_COLUMNS)
        return context_fail(context, COHORT_RANGE, "%s: keys is %u; it must be 1 to %u", call, o->keys,
                            MOST_COLUMNS);
    if (o->aggregates > MOST_COLUMNS)
        return context_fail(context, COHORT_RANGE, "%s: aggregates is %u; at most %u can be", call,
                            o->aggregates, MOST_COLUMNS);
    if (o->reproducible > 1 || o->reserved)
        return context_fail(context, COHORT_RANGE, "%s: reproducible is %u and reserved %u; 0 or 1, and 0",
                            call, o->reproducible, o->reserved);
    cohort_status s = frame_need(context, call, "key", o->key);
    for (uint32_t i = 0; !s && i < o->keys; i++)
        s = frame_need(context, call, "a name in key", o->key[i]);
    if (!s && o->aggregates)
        s = frame_need(context, call, "aggregate", o->aggregate);
    for (uint32_t i = 0; !s && i < o->aggregates; i++) {
        const cohort_aggregate *a = &o->aggregate[i];
        if (a->op < COHORT_AGGREGATE_ROWS || a->op > COHORT_AGGREGATE_NUNIQUE || a->reserved)
            return context_fail(context, COHORT_RANGE,
                                "%s: aggregate[%u] has op %u and reserved %u; 1 to %d, and 0", call, i,
                                (unsigned)a->op, a->reserved, COHORT_AGGREGATE_NUNIQUE);
        if (a->op != COHORT_AGGREGATE_ROWS && !a->column)
            return context_fail(context, COHORT_NULL, "%s: aggregate[%u] (%s) has no column", call, i,
                                group_op_names[a->op]);
    }
    return s;
}

/* Of a pair nothing is null. */
static const uint8_t neither[2];

/* "v_sum" */
static char *name_of(const cohort_aggregate *a)
{
    if (a->name || !a->column)
        return strdup(a->name ? a->name : group_op_names[a->op]);
    char *name = malloc(strlen(a->column) + strlen(group_op_names[a->op]) + 2);
    if (name) {
        strcpy(name, a->column);
        strcat(name, "_");
        strcat(name, group_op_names[a->op]);
    }
    return name;
}

/* The first aggregate of a column: of those that others are compared with. */
static uint32_t source_of(const cohort_group_options *o, uint32_t i)
{
    const cohort_aggregate *a = o->aggregate;
    for (uint32_t k = 0; a[i].op != COHORT_AGGREGATE_ROWS && k < i && k < GROUP_MOST_ALIKE; k++)
        if (a[k].op != COHORT_AGGREGATE_ROWS && !strcmp(a[k].column, a[i].column))
            return k;
    return i;
}

static cohort_status copy_options(cohort_group *g, const char *call, const cohort_group_options *o)
{
    g->key = zeroed(o->keys, sizeof(char *));
    g->nulls_equal = malloc(o->keys);
    g->aggregate = zeroed(o->aggregates + 1u, sizeof *g->aggregate);
    if (!g->key || !g->nulls_equal || !g->aggregate)
        return no_memory(g->context, call, (uint64_t)o->keys + o->aggregates, "keys and aggregates");
    g->keys = o->keys;
    g->aggregates = o->aggregates;
    g->reproducible = o->reproducible;
    for (uint32_t i = 0; i < o->keys; i++) {
        g->nulls_equal[i] = !o->nulls_equal || o->nulls_equal[i];
        if (!(g->key[i] = strdup(o->key[i])))
            return no_memory(g->context, call, strlen(o->key[i]) + 1, "bytes of a key's name");
    }
    for (uint32_t i = 0; i < o->aggregates; i++) {
        struct group_aggregate *a = &g->aggregate[i];
        const cohort_aggregate *from = &o->aggregate[i];
        int has_column = from->op != COHORT_AGGREGATE_ROWS;
        a->op = from->op;
        a->name = name_of(from);
        a->source = source_of(o, i);
        a->column = has_column ? strdup(from->column) : NULL;
        if (!a->name || (has_column && !a->column))
            return no_memory(g->context, call, 2, "names of an aggregate");
        cohort_status s = a->op == COHORT_AGGREGATE_NUNIQUE
                              ? group_keys_open(&a->distinct, g->host, 2, neither)
                              : COHORT_OK;
        if (s)
            return s;
    }
    return group_keys_open(&g->of, g->host, g->keys, g->nulls_equal);
}

static void end_aggregate(cohort_group *g, struct group_aggregate *a)
{
    pool_give(g->host, a->states);
    group_texts_close(g->host, &a->texts);
    group_keys_close(&a->distinct);
    free(a->column);
    free(a->name);
    free(a->format);
}

static void end(cohort_group *g)
{
    group_keys_close(&g->of);
    for (uint32_t i = 0; g->aggregate && i < g->aggregates; i++)
        end_aggregate(g, &g->aggregate[i]);
    for (uint32_t i = 0; g->key && i < g->keys; i++)
        free(g->key[i]);
    free(g->aggregate);
    free(g->key);
    free(g->nulls_equal);
    free(g);
}

cohort_status cohort_group_create(cohort_context *context, const cohort_group_options *options,
                                  cohort_group **out)
{
    const char *call = "cohort_group_create";
    CALL(context);
    cohort_group_options o;
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "context", context);
    if (!s)
        s = frame_need(context, call, "out", out);
    if (!s)
        s = options_check(context, "options", options, options ? options->size : 0, sizeof o, sizeof o, &o);
    if (!s)
        s = check_options(context, &o);
    if (s)
        return s;
    cohort_group *g = zeroed(1, sizeof *g);
    if (!g)
        return no_memory(context, call, sizeof *g, "bytes of a group");
    g->context = context;
    g->host = context; /* until the types are known */
    s = copy_options(g, call, &o);
    if (s)
        end(g);
    else
        *out = g;
    return s;
}

void cohort_group_destroy(cohort_group *group)
{
    if (!group)
        return;
    CALL_TO_END(group->context);
    end(group);
}

uint64_t cohort_group_count(const cohort_group *group)
{
    return group ? group->of.count : 0;
}

/* ---- adding rows --------------------------------------------------------------------------------------- */

static cohort_status find_column(cohort_group *g, const char *call, cohort_frame *frame, const char *what,
                                 const char *name, uint32_t *column)
{
    for (*column = 0; *column < frame->columns; ++*column)
        if (!strcmp(frame->field[*column].name, name))
            return COHORT_OK;
    return context_fail(g->context, COHORT_RANGE,
                        "%s: frame has no column '%.200s', of which there is to be the %s", call, name, what);
}

/* The columns that are asked for: keys, then one an aggregate. */
static cohort_status pick(cohort_group *g, const char *call, cohort_frame *frame, cohort_frame **out)
{
    uint32_t n = 0, *columns = zeroed((size_t)g->keys + g->aggregates, sizeof *columns);
    cohort_status s =
        columns ? COHORT_OK : no_memory(g->context, call, (uint64_t)g->keys + g->aggregates, "columns");
    for (uint32_t i = 0; !s && i < g->keys; i++)
        s = find_column(g, call, frame, "key", g->key[i], &columns[n++]);
    for (uint32_t i = 0; !s && i < g->aggregates; i++)
        if (g->aggregate[i].column)
            s = find_column(g, call, frame, group_op_names[g->aggregate[i].op], g->aggregate[i].column,
                            &columns[n++]);
    if (!s)
        s = cohort_frame_select(frame, n, columns, NULL, out);
    free(columns);
    return s;
}

/* Is it folded from integers of 16 bytes? */
static int is_decimal(const struct group_aggregate *a)
{
    return a->way == GROUP_BY_STATE && (a->state == GROUP_WIDE || a->state == GROUP_MOMENTS) &&
           a->type.bytes == 16;
}

static cohort_status add_part(struct group_step *st, uint32_t i, struct frame_field *field)
{
    struct group_aggregate *a = &st->group->aggregate[i];
    struct group_part *p = &st->part[i];
    const int marks = a->way == GROUP_BY_STATE && a->state == GROUP_COUNT, is_keys = a->way == GROUP_BY_KEYS;
    cohort_status s = (marks     ? group_marks
                       : is_keys ? group_codes
                                 : group_plain)(st->group->host, field->name, field->column, &p->column);
    if (s)
        return s;
    if (is_keys)
        return group_pairs_add(st, i, table_column_retain(p->column));
    p->values = factor_column_of(p->column);
    if (a->way == GROUP_BY_TEXT && p->values.kind == KEYS_RAW)
        p->values.kind = KEYS_WIDE;
    if (a->state == GROUP_COUNT || is_decimal(a)) { /* nulls alone count, or are loaded */
        p->values.kind = KEYS_RAW;
        p->values.bytes = 0;
    }
    if (a->state == GROUP_FIRST || a->state == GROUP_LAST)
        p->values.kind = p->values.kind == KEYS_FLOAT ? KEYS_UNSIGNED : p->values.kind;
    return COHORT_OK;
}

/* Folding is the last that can fail. */
static cohort_status fold(struct group_step *st)
{
    cohort_group *g = st->group;
    struct group_fold *folds = zeroed(g->aggregates + 1u, sizeof *folds);
    struct group_batch b = {st->rows, st->of.count, g->of.count, st->ids, 0, folds};
    if (!folds)
        return no_memory(g->host, st->call, g->aggregates, "aggregates");
    for (uint32_t i = 0; i < g->aggregates; i++) {
        const struct group_aggregate *a = &g->aggregate[i];
        if (a->way == GROUP_BY_STATE)
            folds[b.folds++] = (struct group_fold){a->state,          a->op == COHORT_AGGREGATE_ROWS,
                                                   is_decimal(a),     group_scale_of(a->format),
                                                   a->source,         st->part[i].values,
                                                   st->part[i].states};
    }
    cohort_status s = g->host->backend->group->fold(g->host, &b);
    free(folds);
    return s;
}

/* `own`: the picked columns, in the memory of g->host. */
static cohort_status add(cohort_group *g, const char *call, cohort_frame *own)
{
    struct group_step st = {0};
    cohort_frame *keys = frame_new(g->host, own->rows, g->keys);
    cohort_status s = keys ? COHORT_OK : COHORT_NO_MEMORY;
    if (!s)
        s = group_keys_of(g, own, keys);
    for (uint32_t i = 0, n = g->keys; !s && i < g->aggregates; i++)
        s = group_type(g, call, i, g->aggregate[i].column ? own->field[n++].column->format : NULL);
    if (s) {
        cohort_frame_release(keys);
        group_types_forget(g);
        return s;
    }
    s = group_step_open(&st, g, call, keys);
    for (uint32_t i = 0, n = g->keys; !s && i < g->aggregates; i++)
        if (g->aggregate[i].column)
            s = add_part(&st, i, &own->field[n++]);
    if (!s)
        s = group_step_ready(&st, g->host->backend->group->sets_new);
    if (!s)
        s = fold(&st);
    group_step_close(&st, !s);
    return s;
}

/* The picked columns: keys, then one for each aggregate that has one. */
struct picked {
    const cohort_group *group;
    const cohort_frame *frame;
};

static const char *picked_format(void *of, uint32_t i)
{
    const struct picked *p = of;
    uint32_t at = p->group->keys;
    for (uint32_t k = 0; k < i; k++)
        at += p->group->aggregate[k].column != NULL;
    return p->group->aggregate[i].column ? p->frame->field[at].column->format : NULL;
}

static cohort_status place(cohort_group *g, cohort_frame *picked)
{
    struct picked of = {g, picked};
    return group_place(g, picked, picked_format, &of);
}

cohort_status cohort_group_add(cohort_group *group, cohort_frame *frame)
{
    CALL_ON(group);
    const char *call = "cohort_group_add";
    cohort_frame *picked = NULL, *own = NULL;
    cohort_status s = frame_need(NULL, call, "group", group);
    if (!s)
        s = frame_need(group->context, call, "frame", frame);
    if (!s && frame->context != group->context)
        s = context_fail(group->context, COHORT_OTHER_CONTEXT,
                         "%s: frame belongs to another context than group", call);
    if (!s)
        s = pick(group, call, frame, &picked);
    if (!s)
        s = place(group, picked);
    if (!s)
        s = staged_in(group->context, group->host, picked, &own);
    if (!s)
        s = staged_status(group->context, group->host, add(group, call, own));
    cohort_frame_release(own);
    cohort_frame_release(picked);
    return s;
}

/* ---- merging ------------------------------------------------------------------------------------------- */

static int same_options(const cohort_group *a, const cohort_group *b)
{
    int same = a->keys == b->keys && a->aggregates == b->aggregates && a->reproducible == b->reproducible;
    for (uint32_t i = 0; same && i < a->keys; i++)
        same = !strcmp(a->key[i], b->key[i]) && !a->nulls_equal[i] == !b->nulls_equal[i];
    for (uint32_t i = 0; same && i < a->aggregates; i++) {
        const char *x = a->aggregate[i].column, *y = b->aggregate[i].column;
        same = a->aggregate[i].op == b->aggregate[i].op && (!x || !strcmp(x, y));
    }
    return same;
}

cohort_status cohort_group_merge(cohort_group *into, cohort_group *from)
{
    CALL_ON(into);
    const char *call = "cohort_group_merge";
    cohort_frame *partial = NULL;
    cohort_status s = frame_need(NULL, call, "into", into);
    if (!s)
        s = frame_need(into->context, call, "from", from);
    if (s)
        return s;
    if (from->context != into->context)
        return context_fail(into->context, COHORT_OTHER_CONTEXT,
                            "%s: from belongs to another context than into", call);
    if (!same_options(into, from))
        return context_fail(into->context, COHORT_RANGE,
                            "%s: from has other keys, aggregates or options than into", call);
    if (!from->typed)
        return COHORT_OK;
    s = staged_status(from->context, from->host, group_partial(from, call, 0, &partial));
    if (!s)
        s = group_take(into, call, from, partial);
    cohort_frame_release(partial);
    return s;
}
