/* set_in_place.c: queries of two operands whose answer goes into a working set. Where it is one of them,
 * `a &= b` and the like, they change the set where it is: no answer is written down first, and no second
 * set is in memory. On the host the answer goes into a third set directly, too (set_two.c). */
#include "api/set_change.h"

#include <string.h>

/* Does the query ask for nothing but an answer of two operands that goes into a set? */
static int is_of_two(const cohort_sets_query_desc *d)
{
    if (!d->into || d->result || d->counts || d->any || d->first || d->first_counts || d->each)
        return 0;
    return d->op >= COHORT_SETS_AND && d->op <= COHORT_SETS_XOR && (d->offsets || d->arity == 2);
}

/* The numbers of the two; *two: there are two. */
static cohort_status read_two(cohort_context *context, const cohort_sets_query_desc *d, uint64_t *member,
                              int *two)
{
    uint64_t offsets[2] = {0, 2};
    cohort_status status = COHORT_OK;
    if (d->offsets)
        status = context_copy(context, offsets, d->offsets, sizeof offsets);
    *two = !status && offsets[0] == 0 && offsets[1] == 2;
    return *two ? context_copy(context, member, d->members, 2 * sizeof *member) : status;
}

static cohort_set *working_of(const cohort_sets_query_desc *d, uint64_t sets, uint64_t member)
{
    return member >= sets && member - sets < d->working_count ? d->working[member - sets] : NULL;
}

static enum set_change_kind kind_of(cohort_sets_op op)
{
    return op == COHORT_SETS_AND      ? SET_KEEP
           : op == COHORT_SETS_OR     ? SET_ADD
           : op == COHORT_SETS_ANDNOT ? SET_REMOVE
                                      : SET_FLIP;
}

/* By itself. */
static cohort_status change_by_itself(cohort_set *set, enum set_change_kind kind)
{
    return kind == SET_KEEP || kind == SET_ADD ? COHORT_OK : set_empty(set);
}

static struct set_operand operand_of(const cohort_sets_query_desc *d, uint64_t sets, uint64_t member)
{
    struct set_operand o = {working_of(d, sets, member), NULL, member};
    uint32_t c = 0;
    if (o.working)
        return o;
    while (o.number >= d->collections[c]->view.sets)
        o.number -= d->collections[c++]->view.sets;
    o.sets = d->collections[c];
    return o;
}

static cohort_status change_by(const char *call, const cohort_sets_query_desc *d, uint64_t sets,
                               uint64_t other)
{
    const enum set_change_kind kind = kind_of(d->op);
    const struct set_operand by = operand_of(d, sets, other);
    if (by.working == d->into)
        return change_by_itself(by.working, kind);
    return by.working ? set_change_by(d->into, call, kind, 1, by.working)
                      : set_change(d->into, call, kind, 1, by.sets, by.number);
}

/* Into a set that is neither of the two. */
static cohort_status into_third(const char *call, const cohort_sets_query_desc *d, uint64_t sets,
                                const uint64_t *member, int *done)
{
    const struct set_operand first = operand_of(d, sets, member[0]), second = operand_of(d, sets, member[1]);
    if (second.working == d->into || d->into->context->backend->own_memory != MEMORY_HOST)
        return COHORT_OK;
    return set_two(d->into, call, d->op, &first, &second, done);
}

cohort_status set_in_place(cohort_context *context, const char *call, const cohort_sets_query_desc *d,
                           uint64_t sets, int *done)
{
    uint64_t member[2] = {0, 0};
    int two = 0;
    *done = 0;
    cohort_status status = is_of_two(d) ? read_two(context, d, member, &two) : COHORT_OK;
    if (status || !two || member[0] >= sets + d->working_count || member[1] >= sets + d->working_count)
        return status;
    if (d->op != COHORT_SETS_ANDNOT && working_of(d, sets, member[0]) != d->into) {
        uint64_t first = member[0];
        member[0] = member[1];
        member[1] = first;
    }
    if (working_of(d, sets, member[0]) != d->into)
        return into_third(call, d, sets, member, done);
    status = change_by(call, d, sets, member[1]);
    /* The blocks that the change gives back may do for the answer. */
    *done = status != COHORT_FULL;
    return *done ? status : COHORT_OK;
}
