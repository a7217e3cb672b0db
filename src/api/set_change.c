/* set_change.c: changes of a working set, by a set of a collection or by another working set.
 *
 * The host lists the chunks of the change, each a piece of work, and the backend takes them through the
 * directory step by step (shape/set_pool.h). The host hears of it once: when the pieces have said what they
 * need. If there is not enough the call fails, and nothing has been touched. Cardinalities are counted from
 * what is in the block, never taken from the collection. */
#include <stdlib.h>
#include <string.h>

#include "api/set_change.h"

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* KEEP: a piece for each chunk of the set, of nothing where the change has none. */
static cohort_status pieces_to_keep(struct changing *c)
{
    const struct set_pieces by = c->by;
    uint64_t k = 0;
    c->by.piece = NULL;
    cohort_status status = set_pieces_by(c->set, c->call, &c->by);
    for (uint64_t i = 0; i < c->by.n && !status; i++) {
        struct set_piece *p = &c->by.piece[i];
        while (k < by.n && by.piece[k].key < p->key)
            k++;
        if (k < by.n && by.piece[k].key == p->key)
            *p = by.piece[k];
        else
            p->kind = SET_CHUNK_NOTHING;
    }
    c->by.forms = by.forms;
    free(by.piece);
    return status;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

static cohort_status check_order(const struct changing *c)
{
    return set_pieces_ascend(&c->by)
               ? COHORT_OK
               : context_fail(c->context, COHORT_CORRUPT,
                              "%s: the members of a mapped collection are not in order", c->call);
}

co_u64 set_last_key(const struct changing *c)
{
    return (c->set->state.view.limit - 1) >> CO_CHUNK_BITS;
}

/* Can a member be beyond the limit, where it may not? */
static int comes_near(const struct changing *c)
{
    co_u64 key = c->by.n ? c->by.piece[c->by.n - 1].key : 0;
    if (c->kind == SET_KEEP || (c->kind == SET_REMOVE && c->answers))
        return 0;
    return c->by.n &&
           (key > set_last_key(c) || (key == set_last_key(c) && c->set->state.view.limit % CO_CHUNK_IDS));
}

/* The greatest member that the set is changed by. */
static cohort_status greatest_of(const cohort_sets *by, uint64_t number, co_u64 *greatest)
{
    cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
    co_u32 narrow = 0;
    d.kind = COHORT_LOOK_MAX;
    d.n = 1;
    d.set = number;
    d.results = by->view.wide ? (void *)greatest : &narrow;
    cohort_status status = cohort_sets_look(by, &d);
    if (!status && !by->view.wide)
        *greatest = narrow;
    return status;
}

/* What is not below the limit of the set is not in it: it cannot go out. */
static void leave_out(struct changing *c)
{
    while (c->by.n && c->by.piece[c->by.n - 1].key > set_last_key(c))
        c->by.n--;
}

cohort_status set_check_greatest(const struct changing *c, co_u64 greatest)
{
    const co_u64 limit = c->set->state.view.limit;
    if (!comes_near(c) || (greatest < limit && c->by.piece[c->by.n - 1].key <= set_last_key(c)))
        return COHORT_OK;
    return context_fail(c->context, COHORT_RANGE, "%s: the member %llu is not below the set's limit, %llu",
                        c->call, (unsigned long long)greatest, (unsigned long long)limit);
}

/* Members are below the limit. */
static cohort_status check_limit(const struct changing *c, const cohort_sets *by, uint64_t number)
{
    co_u64 greatest = 0;
    if (!comes_near(c))
        return COHORT_OK;
    cohort_status status = greatest_of(by, number, &greatest);
    return status ? status : set_check_greatest(c, greatest);
}

/* ---- what is needed ------------------------------------------------------------------------------------ */

static cohort_status no_blocks(const struct changing *c, const struct set_work *work,
                               const struct set_words *s)
{
    uint64_t left = work->empty ? work->block_room : s->blocks.given - s->blocks.taken;
    return context_fail(c->context, COHORT_FULL,
                        "%s: the set needs %llu %s more, and has %llu of its %llu left", c->call,
                        COUNTED(s->asked[0], "block", "blocks"), (unsigned long long)left,
                        (unsigned long long)work->block_room);
}

/* The pieces, and what they need. The set has room for the nodes then. */
static cohort_status see(struct changing *c, struct set_work *work, struct set_words *words)
{
    cohort_status status = COHORT_OK;
    for (int again = 1; again && !status;) {
        struct set_work step = c->set->state.own; /* as it has grown */
        step.items = work->items;
        step.piece = work->piece;
        step.kind = work->kind;
        step.empty = work->empty;
        step.by_forms = work->by_forms;
        step.second = work->second;
        *work = step;
        status = set_do(c->set, work, SET_SEE, 0);
        if (!status)
            status = set_do(c->set, work, SET_JUDGE, 0);
        if (!status)
            status = set_read(c->set, words);
        if (!status && words->verdict == SET_NO_BLOCKS)
            status = no_blocks(c, work, words);
        again = !status && words->verdict == SET_NO_NODES;
        uint64_t used = work->empty ? 1 : work->node_room - (words->nodes.given - words->nodes.taken);
        if (again)
            status = set_grow(c->set, used + words->asked[1]);
    }
    return status;
}

/* ---- the change ---------------------------------------------------------------------------------------- */

/* The steps that change something. Levels of nodes that nobody needs are left out. */
cohort_status set_go(const cohort_set *set, struct set_work *work, uint64_t nodes)
{
    const int shrinks = work->kind != SET_ADD || work->second;
    cohort_status status = COHORT_OK;
    for (co_u32 level = nodes ? work->levels - 1 : 0; level && !status; level--)
        status = set_do(set, work, SET_MAKE, level);
    if (!status)
        status = set_do(set, work, SET_HAND, 0);
    if (!status)
        status = set_do(set, work, SET_WORK, 0);
    if (!status)
        status = set_do(set, work, SET_SETTLE, 0);
    for (co_u32 level = 1; shrinks && level < work->levels && !status; level++)
        status = set_do(set, work, SET_PRUNE, level);
    return status;
}

/* Has the pieces, and what they are changed by next, where the backend reads them. */
static cohort_status place_pieces(struct changing *c, struct set_work *work)
{
    struct set_piece *piece = NULL;
    struct set_second *second = NULL;
    if (c->context->backend->own_memory == MEMORY_HOST)
        return COHORT_OK;
    cohort_status status = sets_room(&c->rooms, c->by.n, sizeof *piece, &piece);
    if (!status && c->second)
        status = sets_room(&c->rooms, c->by.n, sizeof *second, &second);
    if (!status)
        status = context_copy(c->context, piece, c->by.piece, c->by.n * sizeof *piece);
    if (!status && c->second)
        status = context_copy(c->context, second, c->second, c->by.n * sizeof *second);
    work->piece = piece;
    work->second = second;
    return status;
}

static cohort_status change_pieces(struct changing *c)
{
    struct set_words words;
    struct set_work work = {.items = c->by.n,
                            .piece = c->by.piece,
                            .kind = c->kind == SET_ASSIGN ? SET_ADD : c->kind,
                            .empty = c->kind == SET_ASSIGN,
                            .by_forms = c->by.forms,
                            .second = c->second};
    cohort_status status = place_pieces(c, &work);
    if (!status)
        status = see(c, &work, &words);
    if (!status && work.empty) /* as the pieces have seen it already */
        status = set_empty(c->set);
    return status ? status : set_go(c->set, &work, words.asked[1]);
}

/* With the pieces listed. */
cohort_status set_change_listed(struct changing *c)
{
    cohort_status status = c->kind == SET_KEEP ? pieces_to_keep(c) : COHORT_OK;
    if (!status)
        leave_out(c);
    if (!status && !c->by.n)
        return c->kind == SET_ASSIGN ? set_empty(c->set) : COHORT_OK;
    return status ? status : change_pieces(c);
}

static struct changing begin(cohort_set *set, const char *call, enum set_change_kind kind, int answers)
{
    return (struct changing){.context = set->context,
                             .call = call,
                             .set = set,
                             .kind = kind,
                             .rooms = sets_rooms_begin(set->context),
                             .answers = answers};
}

static cohort_status end(struct changing *c, cohort_status status)
{
    sets_rooms_end(&c->rooms);
    free(c->by.piece);
    return status;
}

cohort_status set_change(cohort_set *set, const char *call, enum set_change_kind kind, int answers,
                         const cohort_sets *by, uint64_t number)
{
    struct changing c = begin(set, call, kind, answers);
    cohort_sets_view view;
    void *copy = NULL;
    cohort_status status = sets_host_directory(by, &view, &copy);
    if (!status)
        status = set_pieces_of(set->context, call, &view, &by->view, number, &c.by);
    if (!status)
        status = check_order(&c);
    if (!status)
        status = check_limit(&c, by, number);
    if (!status)
        status = set_change_listed(&c);
    free(copy);
    return end(&c, status);
}

cohort_status set_change_by(cohort_set *set, const char *call, enum set_change_kind kind, int answers,
                            cohort_set *by)
{
    struct changing c = begin(set, call, kind, answers);
    co_u64 limit = set->state.view.limit, other = by->state.view.limit;
    cohort_sets *all = NULL;
    cohort_status status = set_pieces_by(by, call, &c.by);
    if (!status && comes_near(&c) && (!other || other > limit)) {
        status = set_collection(set->context, &by, 1, by->state.view.wide, &all);
        if (!status)
            status = check_limit(&c, all, 0);
        cohort_sets_destroy(all);
    }
    return end(&c, status ? status : set_change_listed(&c));
}
