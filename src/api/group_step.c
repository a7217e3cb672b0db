/* group_step.c: one step of a group-by: what all that adds rows or states has in common. It first numbers
 * keys and pairs and takes all memory; then nothing can fail. The columns' types become known with the first
 * step. */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "staged.h"

const char *const group_op_names[] = {"",    "rows", "count", "sum",  "mean", "min", "max",
                                      "var", "sd",   "first", "last", "any",  "all", "nunique"};

static cohort_status no_memory(cohort_context *context, const char *call, uint64_t count, const char *what)
{
    return context_fail(context, COHORT_NO_MEMORY, "%s: no host memory for %llu %s", call,
                        (unsigned long long)count, what);
}

/* ---- types --------------------------------------------------------------------------------------------- */

int group_scale_of(const char *format)
{
    const char *comma = format && format[0] == 'd' ? strchr(format, ',') : NULL;
    return comma ? atoi(comma + 1) : 0;
}

/* How an aggregate of a type is kept. 0: it is not for this type. */
static int choose(const cohort_group *g, struct group_aggregate *a)
{
    int is_float = a->type.number == TABLE_FLOAT,
        is_text = a->type.bytes > 8 || a->type.number == TABLE_BYTES;
    int is_number = a->type.sums && !is_text, is_wide = a->type.sums && a->type.bytes == 16;
    a->way = GROUP_BY_STATE;
    switch (a->op) {
    case COHORT_AGGREGATE_ROWS:
    case COHORT_AGGREGATE_COUNT:
        a->state = GROUP_COUNT;
        return 1;
    case COHORT_AGGREGATE_SUM:
    case COHORT_AGGREGATE_MEAN:
        a->state = is_wide           ? GROUP_WIDE
                   : !is_float       ? GROUP_SUM
                   : g->reproducible ? GROUP_EXACT
                                     : GROUP_FLOATS;
        return is_number || is_wide;
    case COHORT_AGGREGATE_VAR:
    case COHORT_AGGREGATE_SD:
        a->state = GROUP_MOMENTS;
        return is_number || is_wide;
    case COHORT_AGGREGATE_ANY:
    case COHORT_AGGREGATE_ALL:
        a->state = GROUP_TRUTH;
        return is_number && !is_float;
    case COHORT_AGGREGATE_NUNIQUE:
        a->way = GROUP_BY_KEYS;
        return 1;
    default:
        a->way = is_text ? GROUP_BY_TEXT : GROUP_BY_STATE;
        a->state = a->op == COHORT_AGGREGATE_MIN     ? GROUP_MIN
                   : a->op == COHORT_AGGREGATE_MAX   ? GROUP_MAX
                   : a->op == COHORT_AGGREGATE_FIRST ? GROUP_FIRST
                                                     : GROUP_LAST;
        return 1;
    }
}

int group_folds(const cohort_group *g, uint32_t i, const char *format)
{
    struct group_aggregate like = g->aggregate[i];
    if (format && !table_type_parse(format, &like.type))
        return 0;
    if (!choose(g, &like))
        return 0;
    /* of words, or of strings, which are dictionaries there */
    const int can_number = like.type.layout != TABLE_FIXED || like.type.bytes <= 8;
    return like.way == GROUP_BY_STATE || (like.way == GROUP_BY_KEYS && can_number);
}

cohort_status group_type(cohort_group *g, const char *call, uint32_t i, const char *format)
{
    struct group_aggregate *a = &g->aggregate[i];
    char text[2][TYPE_TEXT];
    if (!format)
        return choose(g, a) ? COHORT_OK : COHORT_UNSUPPORTED; /* ROWS */
    if (a->format && !table_types_agree(a->format, format))
        return context_fail(g->host, COHORT_RANGE, "%s: %s of column '%.100s' (%s): before it was %s", call,
                            group_op_names[a->op], a->column, table_type_name(format, text[0]),
                            table_type_name(a->format, text[1]));
    if (a->format)
        return COHORT_OK;
    table_type_parse(format, &a->type);
    if (!choose(g, a))
        return context_fail(g->host, COHORT_UNSUPPORTED, "%s: %s of column '%.100s' (%s): not for this type",
                            call, group_op_names[a->op], a->column, table_type_name(format, text[0]));
    a->format = strdup(format);
    return a->format ? COHORT_OK : no_memory(g->host, call, strlen(format) + 1, "bytes of a format");
}

/* After a call that failed: types of a first frame are not known, nor in whose memory the next one is. */
void group_types_forget(cohort_group *g)
{
    for (uint32_t i = 0; !g->typed && i < g->aggregates; i++) {
        struct group_aggregate *a = &g->aggregate[i];
        pool_give(g->host, a->states);
        a->states = NULL;
        a->room = 0;
        group_texts_close(g->host, &a->texts);
        free(a->format);
        a->format = NULL;
    }
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

cohort_status group_keys_of(cohort_group *g, const cohort_frame *from, cohort_frame *keys)
{
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < g->keys; i++) {
        struct table_column *c = NULL;
        s = staged_column(g->host, from->field[i].name, from->field[i].column, &c);
        if (!s)
            s = frame_put(keys, i, g->key[i], c);
    }
    return s;
}

/* ---- a step -------------------------------------------------------------------------------------------- */

cohort_status group_step_open(struct group_step *st, cohort_group *g, const char *call, cohort_frame *keys)
{
    *st = (struct group_step){.group = g, .call = call, .keys = keys, .rows = keys->rows};
    st->part = zeroed(g->aggregates + 1u, sizeof *st->part);
    if (!st->part)
        return no_memory(g->host, call, g->aggregates, "aggregates");
    cohort_status s = pool_take(g->host, keys->rows * 4, &st->ids);
    return s ? s : group_keys_add(&g->of, call, keys, st->ids, &st->of);
}

/* Folds on a CPU are into the states that there are, if there is room. */
static cohort_status take_states(struct group_step *st, const struct group_aggregate *a, struct group_part *p)
{
    cohort_group *g = st->group;
    const uint64_t groups = st->of.count, bytes = group_state_bytes(a->state);
    uint64_t more = a->room ? groups + groups / 2 : groups + 16;
    p->states = a->states;
    p->room = a->room;
    if (groups <= a->room && !g->host->backend->group->may_fail)
        return COHORT_OK;
    more = a->room && groups <= a->room ? a->room : more;
    void *states = NULL;
    cohort_status s = pool_take(g->host, more * bytes, &states);
    if (s == COHORT_NO_MEMORY)
        return context_fail(
            g->host, COHORT_NO_MEMORY, "%s: no memory of %llu bytes for the states of %llu groups (%s)",
            st->call, (unsigned long long)(more * bytes), (unsigned long long)groups, group_op_names[a->op]);
    if (s)
        return s;
    p->states = states; /* group_step_close gives them back, if they are not kept */
    p->room = more;
    return context_copy(g->host, states, a->states, a->room ? g->of.count * bytes : 0);
}

static cohort_status reserve_states(struct group_step *st, uint32_t i, int unset)
{
    const struct group_aggregate *a = &st->group->aggregate[i];
    struct group_part *p = &st->part[i];
    const uint64_t known = st->group->of.count, bytes = group_state_bytes(a->state),
                   added = st->of.count - known;
    cohort_status s = take_states(st, a, p);
    if (s || unset || !added)
        return s;
    return context_fill(st->group->host, (char *)p->states + known * bytes, 0, added * bytes);
}

/* The states that were folded into are the aggregate's. */
static void keep_states(cohort_group *g, struct group_aggregate *a, struct group_part *p)
{
    if (a->states != p->states)
        pool_give(g->host, a->states);
    a->states = p->states;
    a->room = p->room;
}

static void forget_states(cohort_group *g, const struct group_aggregate *a, struct group_part *p)
{
    if (p->states != a->states)
        pool_give(g->host, p->states);
    p->states = NULL;
}

cohort_status group_step_ready(struct group_step *st, int unset)
{
    cohort_group *g = st->group;
    cohort_status s = COHORT_OK;
    for (uint32_t i = 0; !s && i < g->aggregates; i++) {
        struct group_aggregate *a = &g->aggregate[i];
        struct group_part *p = &st->part[i];
        if (a->way == GROUP_BY_STATE)
            s = reserve_states(st, i, unset);
        else if (a->way == GROUP_BY_TEXT)
            s = group_texts_reserve(g->host, &a->texts, st->of.count, g->of.count);
        if (!s && a->way == GROUP_BY_TEXT)
            s = group_texts_look(g->host, &a->texts, a->op, a->format[0] == 'd', &p->values, st->rows,
                                 st->ids, g->of.count, &p->texts);
    }
    return s;
}

static void keep_step(struct group_step *st)
{
    cohort_group *g = st->group;
    for (uint32_t i = 0; i < g->aggregates; i++) {
        struct group_aggregate *a = &g->aggregate[i];
        if (a->way == GROUP_BY_STATE)
            keep_states(g, a, &st->part[i]);
        else if (a->way == GROUP_BY_TEXT)
            group_texts_keep(&a->texts, &st->part[i].values, &st->part[i].texts);
        else if (a->way == GROUP_BY_KEYS)
            group_keys_keep(&a->distinct, &st->part[i].distinct);
    }
    group_keys_keep(&g->of, &st->of);
    g->typed = 1;
}

void group_step_close(struct group_step *st, int keep)
{
    cohort_group *g = st->group;
    if (keep)
        keep_step(st);
    for (uint32_t i = 0; st->part && i < g->aggregates; i++) {
        struct group_part *p = &st->part[i];
        forget_states(g, &g->aggregate[i], p);
        group_texts_forget(g->host, &g->aggregate[i].texts, &p->texts);
        group_keys_forget(&g->aggregate[i].distinct, &p->distinct);
        cohort_frame_release(p->pairs);
        pool_give(g->host, p->pair_ids);
        table_column_release(p->column);
    }
    group_keys_forget(&g->of, &st->of);
    pool_give(g->host, st->ids);
    cohort_frame_release(st->keys);
    free(st->part);
    if (!keep)
        group_types_forget(g);
}
