/* set_collection.c: between working sets and collections, both ways.
 *
 * Whatever a set is changed by is a collection of one set; what reads a set whole reads a collection that
 * is made from it. The state lies in the memory of a context that has the backend's entries for it
 * (api/staged.h); there the collection is made, and moved over where the set's own context is another. */
#include "api/set.h"

#include <stdlib.h>
#include <string.h>

#include "api/staged.h"

/* A collection of the helper's in the context's memory. */
static cohort_status move_over(cohort_context *context, const cohort_sets *from, cohort_sets **out)
{
    co_u64 offset[SETS_PARTS + 1];
    sets_layout(&from->counts, offset);
    cohort_status status = sets_new(context, &from->counts, out);
    if (!status)
        status = context_copy(context, (*out)->memory, from->view.words, offset[SETS_PART_POOL]);
    if (!status && from->counts.units)
        status =
            context_copy(context, (*out)->pool, from->view.pool, from->counts.units * CO_PLACE_UNIT_BYTES);
    if (status) {
        cohort_sets_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* The collection, in the memory of the host's context. */
static cohort_status gather(cohort_context *host, const struct set_state *const *states, uint64_t n,
                            cohort_sets **out)
{
    struct sets_rooms rooms = sets_rooms_begin(host);
    struct sets_found f;
    cohort_sets *room = NULL;
    const struct set_gather step = {states, n, &f};
    memset(&f, 0, sizeof f);
    cohort_status status = host->backend->set->gather(host, &step);
    uint32_t wide = n ? states[0]->view.wide : 0;
    if (!status)
        status = sets_found_rooms(&rooms, &f, n, wide, &room);
    if (!status)
        status = host->backend->set->gather(host, &step);
    status = sets_found_end(&rooms, status, &f, n, wide, room, out);
    sets_rooms_end(&rooms);
    if (status) {
        cohort_sets_destroy(*out);
        *out = NULL;
    }
    return status;
}

cohort_status set_collection(cohort_context *context, cohort_set *const *sets, uint64_t n, cohort_sets **out)
{
    cohort_context *host;
    cohort_sets *made = NULL;
    *out = NULL;
    const struct set_state **states = malloc((n + 1) * sizeof *states);
    if (!states)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a list of %llu sets",
                            (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        states[i] = &sets[i]->state;
    cohort_status status = staged_open(context, &host);
    if (!status)
        status = staged_status(context, host, gather(host, states, n, &made));
    free(states);
    if (status || host == context) {
        *out = made;
        return status;
    }
    status = move_over(context, made, out);
    cohort_sets_destroy(made);
    return status;
}

cohort_status set_change(cohort_set *set, const char *call, enum set_change_kind kind, const cohort_sets *by)
{
    cohort_context *host;
    struct set_change change = {call, &set->state, kind, by->view};
    void *copy = NULL;
    cohort_status status = staged_open(set->context, &host);
    if (!status)
        status = sets_host_view(by, &change.view, &copy);
    if (!status)
        status = staged_status(set->context, host, host->backend->set->change(host, &change));
    free(copy);
    return status;
}

cohort_status set_build(cohort_context *context, const cohort_sets_source *d, cohort_sets **out)
{
    static const char call[] = "cohort_sets_build";
    cohort_set *const *sets = d->members;
    if (d->sets && d->sets != d->n)
        return context_fail(context, COHORT_RANGE,
                            "%s: source.sets is %llu with source.n = %llu working sets", call,
                            (unsigned long long)d->sets, (unsigned long long)d->n);
    if (d->n && !sets)
        return context_fail(context, COHORT_NULL, "%s: source.members is NULL with source.n = %llu", call,
                            (unsigned long long)d->n);
    for (uint64_t i = 0; i < d->n; i++) {
        if (!sets[i])
            return context_fail(context, COHORT_NULL, "%s: source.members[%llu] is NULL", call,
                                (unsigned long long)i);
        if (sets[i]->context != context)
            return context_fail(context, COHORT_OTHER_CONTEXT,
                                "%s: source.members[%llu] is of another context", call,
                                (unsigned long long)i);
        if (sets[i]->state.view.wide != (d->type == COHORT_U64))
            return context_fail(context, COHORT_RANGE,
                                "%s: source.members[%llu] has members of %u bits, which source.type has not",
                                call, (unsigned long long)i, sets[i]->state.view.wide ? 64u : 32u);
    }
    return set_collection(context, sets, d->n, out);
}
