/* set_members.c: updates of a working set by integers in the device's memory, without a wait: sorted, rid of
 * duplicates and cut into chunks by the steps that make collections (shape/sets.h), and then taken through
 * the directory (shape/set_pool.h). All of it has fixed room: how many chunks there are is read by the
 * device. */
#include <string.h>

#include "api/set.h"

struct updating {
    cohort_context *context;
    struct sets_rooms rooms;
    struct sets_step step;
};

int set_members_fit(const cohort_set *set, const cohort_sets_source *d)
{
    const unsigned bytes = sets_member_bytes(d->type);
    if (d->form != COHORT_FORM_MEMBERS || d->groups || d->offsets || d->sets > 1 || !d->n || !d->members)
        return 0;
    return d->n < ARENA_MOST / 64 && (uintptr_t)d->members % bytes == 0 &&
           set->context->backend->own_memory == MEMORY_DEVICE &&
           context_memory_kind(set->context, d->members) == MEMORY_DEVICE;
}

/* The members in order, duplicates too, in a room of their own. */
static cohort_status sort_members(struct updating *u, const void *members)
{
    struct sets_step *s = &u->step;
    struct sort sort = sets_sort_of(s->n, (int)s->wide, s->wide ? 64 : 32, members, NULL);
    cohort_status status = sets_room(&u->rooms, s->n, s->wide ? 8 : 4, &sort.keys_out);
    if (!status)
        status = sets_sort(&u->rooms, &sort);
    s->entries = sort.keys_out;
    return status;
}

/* Where chunks begin, and the members without duplicates. */
static cohort_status cut(struct updating *u)
{
    struct sets_step *s = &u->step;
    cohort_status status = sets_flag_rooms(&u->rooms, s, s->n);
    if (!status)
        status = sets_room(&u->rooms, s->n, s->wide ? 8 : 4, &s->entries_out);
    if (!status)
        status = sets_room(&u->rooms, s->n + 1, 8, &s->at);
    if (!status)
        status = sets_room(&u->rooms, 1, sizeof *s->disorder, &s->disorder);
    if (!status)
        status = context_fill(u->context, s->disorder, 0, sizeof *s->disorder);
    if (!status)
        status = sets_do(u->context, s, SETS_FLAGS, s->n);
    if (!status)
        status = sets_sum(u->context, s->unique_sums, sets_flag_words(s->n), NULL);
    if (!status)
        status = sets_sum(u->context, s->start_sums, sets_flag_words(s->n), NULL);
    if (!status)
        status = sets_do(u->context, s, SETS_STARTS, s->n);
    return status ? status : sets_do(u->context, s, SETS_UNIQUE, s->n);
}

static cohort_status change(struct updating *u, cohort_set *set, enum set_change_kind kind)
{
    const struct sets_step *s = &u->step;
    const uint64_t chunks = set_chunks_below(set->state.view.limit);
    struct set_work work = set->state.own;
    work.items = s->n < chunks ? s->n : chunks;
    work.kind = kind;
    work.count = s->start_sums + sets_flag_words(s->n);
    work.starts = s->at;
    work.members = s->entries_out;
    work.members_count = s->unique_sums + sets_flag_words(s->n);
    work.limit = set->state.view.limit;
    work.wide = set->state.view.wide;
    work.told = &u->context->outcome->ids.first_full;
    cohort_status status = sets_room(&u->rooms, work.items, sizeof *work.piece, &work.piece);
    if (!status)
        status = set_do(set, &work, SET_LIST, 0);
    if (!status)
        status = set_do(set, &work, SET_SEE, 0);
    if (!status)
        status = set_do(set, &work, SET_JUDGE, 0);
    return status ? status : set_go(set, &work, 1);
}

cohort_status set_members(cohort_set *set, enum set_change_kind kind, const cohort_sets_source *d)
{
    struct updating u;
    memset(&u, 0, sizeof u);
    u.context = set->context;
    u.rooms = sets_rooms_begin(u.context);
    u.step.n = d->n;
    u.step.sets = 1;
    u.step.wide = set->state.view.wide;
    u.step.item = u.step.wide ? SETS_WIDE : SETS_NARROW;
    cohort_status status = sort_members(&u, d->members);
    if (!status)
        status = cut(&u);
    if (!status)
        status = change(&u, set, kind);
    sets_rooms_end(&u.rooms);
    return status;
}
