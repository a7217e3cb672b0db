/* set_members.c: updates of a working set by integers in the device's memory, without a wait: sorted, rid of
 * duplicates and cut into chunks by the steps that make collections (shape/sets.h), and then taken through
 * the directory (shape/set_pool.h). All of it has fixed room: how many chunks there are is read by the
 * device. */
#include <string.h>

#include "api/set.h"
#include "backend/sort.h"

#define WORD 32u /* items that are flagged together */

struct updating {
    cohort_context *context;
    struct sets_rooms rooms;
    struct sets_step step;
    uint64_t words;
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

static cohort_status take_rooms(struct updating *u, unsigned bytes, void **sorted)
{
    struct sets_step *s = &u->step;
    const struct {
        uint64_t entries, unit;
        void *out;
    } rooms[] = {{s->n, bytes, sorted},
                 {s->n, bytes, &s->entries_out},
                 {s->n + 1, 8, &s->at},
                 {u->words, 4, &s->unique},
                 {u->words, 4, &s->starts},
                 {1, 4, &s->disorder},
                 {u->words + 1, 8, &s->unique_sums},
                 {u->words + 1, 8, &s->start_sums}};
    cohort_status status = COHORT_OK;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms && !status; i++)
        status = sets_room(&u->rooms, rooms[i].entries, rooms[i].unit, rooms[i].out);
    return status;
}

static cohort_status sort_members(struct updating *u, const void *members, void *sorted)
{
    const struct sort_backend *backend = u->context->backend->sort;
    struct arena arena = {.asks = 1}, given = {NULL, 0, 0};
    struct sort sort;
    memset(&sort, 0, sizeof sort);
    sort.n = u->step.n;
    sort.order = u->step.wide ? SORT_U64 : SORT_U32;
    sort.high_bit = u->step.wide ? 64 : 32;
    sort.keys = members;
    sort.keys_out = sorted;
    cohort_status status = backend->run(u->context, &sort, &arena);
    if (!status)
        status = sets_room(&u->rooms, arena.used, 1, &given.memory);
    return status ? status : backend->run(u->context, &sort, &given);
}

/* Where chunks begin, and the members without duplicates. */
static cohort_status cut(struct updating *u)
{
    struct sets_step *s = &u->step;
    cohort_status status = context_fill(u->context, s->disorder, 0, sizeof *s->disorder);
    if (!status)
        status = sets_do(u->context, s, SETS_FLAGS, s->n);
    if (!status)
        status = sets_sum(u->context, s->unique_sums, u->words, NULL);
    if (!status)
        status = sets_sum(u->context, s->start_sums, u->words, NULL);
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
    work.count = s->start_sums + u->words;
    work.starts = s->at;
    work.members = s->entries_out;
    work.members_count = s->unique_sums + u->words;
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
    void *sorted = NULL;
    memset(&u, 0, sizeof u);
    u.context = set->context;
    u.rooms = sets_rooms_begin(u.context);
    u.step.n = d->n;
    u.step.sets = 1;
    u.step.wide = set->state.view.wide;
    u.step.item = u.step.wide ? SETS_WIDE : SETS_NARROW;
    u.words = d->n / WORD + (d->n % WORD != 0);
    cohort_status status = take_rooms(&u, sets_member_bytes(d->type), &sorted);
    if (!status)
        status = sort_members(&u, d->members, sorted);
    u.step.entries = sorted;
    if (!status)
        status = cut(&u);
    if (!status)
        status = change(&u, set, kind);
    sets_rooms_end(&u.rooms);
    return status;
}
