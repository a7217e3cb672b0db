/* set_in_place.c: queries of two operands whose answer goes into a working set. Where it is one of them,
 * `a &= b` and the like, they change the set where it is: no answer is written down first, and no second
 * set is in memory. The answer of two working sets goes into a third one directly, too: a CPU meets them at
 * once where it can, else it goes by pieces (set_two.c); on the host so does that of others. */
#include "api/set_change.h"

#include <string.h>

#define AT_ONCE_MOST 8u /* working sets */

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

/* Two working sets, side by side, where the backend does that. */
static int meet(cohort_set *into, cohort_sets_op op, const cohort_set *first, const cohort_set *second)
{
    const struct set_backend *backend = into->context->backend->set;
    const co_u64 limit = into->state.view.limit;
    if (!first || !second || into->state.own.flat || first->state.view.limit != limit ||
        second->state.view.limit != limit)
        return 0;
    const struct set_two of = {&into->state.own, &first->state.own, &second->state.own, (co_u32)op,
                               into == first    ? SET_HELD_FIRST
                               : into == second ? SET_HELD_SECOND
                                                : SET_HELD_NONE};
    return backend->two(into->context, &of);
}

static cohort_status change_by(const char *call, const cohort_sets_query_desc *d, uint64_t sets,
                               uint64_t other)
{
    const enum set_change_kind kind = kind_of(d->op);
    const struct set_operand by = operand_of(d, sets, other);
    if (by.working == d->into)
        return change_by_itself(by.working, kind);
    if (meet(d->into, d->op, d->into, by.working))
        return COHORT_OK;
    return by.working ? set_change_by(d->into, call, kind, 1, by.working)
                      : set_change(d->into, call, kind, 1, by.sets, by.number);
}

/* Into a set that is neither of the two. */
static cohort_status into_third(const char *call, const cohort_sets_query_desc *d, uint64_t sets,
                                const uint64_t *member, int *done)
{
    const struct set_operand first = operand_of(d, sets, member[0]), second = operand_of(d, sets, member[1]);
    const int host = d->into->context->backend->own_memory == MEMORY_HOST;
    *done = meet(d->into, d->op, first.working, second.working);
    if (*done || second.working == d->into || (!host && !(first.working && second.working)))
        return COHORT_OK;
    return set_two(d->into, call, d->op, &first, &second, done);
}

/* ---- few checks ---------------------------------------------------------------------------------------- */

/* Do all working sets of a query go together? */
static int are_alike(const cohort_context *context, const cohort_sets_query_desc *d)
{
    const co_u32 wide = d->into->state.view.wide;
    int alike = d->into->context == context;
    for (uint32_t i = 0; i < d->working_count; i++) {
        const cohort_set *set = d->working[i];
        alike = alike && set && set->context == context && set->state.view.wide == wide;
    }
    return alike;
}

/* Is it a query of two working sets, in which nothing is wrong? */
static int is_two_working(cohort_context *context, const cohort_sets_query_desc *d)
{
    if (!context || context->backend->own_memory != MEMORY_HOST || !d || d->size != sizeof *d ||
        !is_of_two(d) || d->offsets || d->collections_count)
        return 0;
    if (d->rows != 1 || d->least || d->any_offset || d->first_most || !d->working ||
        d->working_count > AT_ONCE_MOST || !are_alike(context, d))
        return 0;
    return d->members && (uintptr_t)d->members % sizeof *d->members == 0 &&
           context_memory_kind(context, d->members) == MEMORY_HOST && d->members[0] < d->working_count &&
           d->members[1] < d->working_count;
}

int set_at_once(cohort_context *context, const cohort_sets_query_desc *d)
{
    if (!is_two_working(context, d))
        return 0;
    cohort_set *const into = d->into;
    const cohort_set *first = d->working[d->members[0]], *second = d->working[d->members[1]];
    if (d->op != COHORT_SETS_ANDNOT && second == into) {
        second = first;
        first = into;
    }
    return first != second && meet(into, d->op, first, second);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

cohort_status set_in_place(cohort_context *context, const char *call, const cohort_sets_query_desc *d,
                           uint64_t sets, int *done)
{
    uint64_t member[2] = {0, 0};
    char kept[MESSAGE_BYTES];
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
    context_keep_message(context, kept);
    if (working_of(d, sets, member[0]) != d->into) {
        status = into_third(call, d, sets, member, done);
    } else {
        status = change_by(call, d, sets, member[1]);
        /* The blocks that the change gives back may do for the answer. */
        *done = status != COHORT_FULL;
        status = *done ? status : COHORT_OK;
    }
    if (!*done && !status)
        context_give_message_back(context, kept);
    return status;
}
