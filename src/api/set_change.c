/* set_change.c: changes of a working set, by a set of a collection or by another working set.
 *
 * The host lists the chunks of the change, each a piece of work, and the backend takes them through the
 * directory step by step (shape/set_pool.h). The host hears of it once: when the pieces have said what they
 * need. If there is not enough the call fails, and nothing has been touched. Cardinalities are counted from
 * what is in the block, never taken from the collection.
 *
 * The directory of what the set is changed by is read by the host, its members only where they lie. */
#include <stdlib.h>
#include <string.h>

#include "api/set.h"
#include "core/zeroed.h"
#include "shape/sets_chunk.h"

struct changing {
    cohort_context *context;
    const char *call; /* for messages */
    cohort_set *set;
    enum set_change_kind kind;
    struct set_piece *piece;
    uint64_t pieces;
    struct sets_rooms rooms;
    int answers; /* a query's: what goes out need not be below the limit */
};

/* ---- pieces -------------------------------------------------------------------------------------------- */

static cohort_status no_list(const struct changing *c, uint64_t chunks)
{
    return context_fail(c->context, COHORT_NO_MEMORY, "%s: no memory for a list of %llu chunks", c->call,
                        (unsigned long long)chunks);
}

static cohort_status room_for(struct changing *c, uint64_t pieces)
{
    c->pieces = pieces;
    c->piece = zeroed(pieces + 1, sizeof *c->piece);
    return c->piece ? COHORT_OK : no_list(c, pieces);
}

static void put_piece(struct changing *c, uint64_t i, co_u64 key, const void *at, co_u32 kind, co_u32 entries)
{
    c->piece[i].key = key;
    c->piece[i].at = at;
    c->piece[i].kind = kind;
    c->piece[i].entries = entries;
}

static co_u64 list_end(const cohort_sets_view *v, const struct co_sets_set *s, co_u64 at)
{
    co_u64 key = co_sets_listed(v, at) >> CO_CHUNK_BITS;
    do
        at++;
    while (at < s->first + s->n && co_sets_listed(v, at) >> CO_CHUNK_BITS == key);
    return at;
}

static co_u64 count_pieces(const cohort_sets_view *v, const struct co_sets_set *s)
{
    co_u64 n = 0;
    if (s->large)
        return s->n;
    for (co_u64 at = s->first; at < s->first + s->n; n++)
        at = list_end(v, s, at);
    return n;
}

/* Of a set of a collection. v: its directory, for the host; own: as it lies in the context's memory. */
static cohort_status pieces_of(struct changing *c, const cohort_sets_view *v, const cohort_sets_view *own,
                               uint64_t number)
{
    struct co_sets_set s = co_sets_open(v, number);
    cohort_status status = room_for(c, count_pieces(v, &s));
    const char *lists = own->lists;
    co_u64 end, i = 0;
    for (; s.large && i < s.n && !status; i++) {
        co_u64 place = v->places[s.first + i];
        put_piece(c, i, co_sets_key(v, s.first + i), co_place_at(own, place), co_place_kind(place),
                  co_place_entries(place));
    }
    for (co_u64 at = s.first; !s.large && at < s.first + s.n && !status; at = end, i++) {
        end = list_end(v, &s, at);
        put_piece(c, i, co_sets_listed(v, at) >> CO_CHUNK_BITS, lists + at * (v->wide ? 8 : 4),
                  v->wide ? SETS_CHUNK_LIST64 : SETS_CHUNK_LIST32, (co_u32)(end - at));
    }
    return status;
}

/* Of a working set. */
static cohort_status pieces_by(struct changing *c, const cohort_set *by)
{
    struct set_words words;
    struct set_chunk *list = NULL;
    cohort_status status = set_read(by, &words);
    if (!status)
        status = room_for(c, words.has[1]);
    if (!status && !(list = malloc((c->pieces + 1) * sizeof *list)))
        status = no_list(c, c->pieces);
    if (!status)
        status = set_list(by, c->pieces, list);
    for (uint64_t i = 0; i < c->pieces && !status; i++)
        if (list[i].card == CO_CHUNK_IDS)
            put_piece(c, i, list[i].key, NULL, CO_CHUNK_FULL, 0);
        else
            put_piece(c, i, list[i].key, by->state.own.blocks + (co_u64)list[i].block * CO_CHUNK_WORDS,
                      CO_CHUNK_BITMAP, 0);
    free(list);
    return status;
}

/* KEEP: a piece for each chunk of the set, of nothing where the change has none. */
static cohort_status pieces_to_keep(struct changing *c)
{
    struct set_piece *by = c->piece;
    uint64_t n = c->pieces, k = 0;
    c->piece = NULL;
    cohort_status status = pieces_by(c, c->set);
    for (uint64_t i = 0; i < c->pieces && !status; i++) {
        co_u64 key = c->piece[i].key;
        while (k < n && by[k].key < key)
            k++;
        if (k < n && by[k].key == key)
            c->piece[i] = by[k];
        else
            c->piece[i].kind = SET_CHUNK_NOTHING;
    }
    free(by);
    return status;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

/* Keys ascend, which those of a file need not that was mapped unseen. */
static cohort_status check_order(const struct changing *c)
{
    for (uint64_t i = 1; i < c->pieces; i++)
        if (c->piece[i].key <= c->piece[i - 1].key)
            return context_fail(c->context, COHORT_CORRUPT,
                                "%s: the members of a mapped collection are not in order", c->call);
    return COHORT_OK;
}

static co_u64 last_key(const struct changing *c)
{
    return (c->set->state.view.limit - 1) >> CO_CHUNK_BITS;
}

/* Can a member be beyond the limit, where it may not? */
static int comes_near(const struct changing *c)
{
    co_u64 key = c->pieces ? c->piece[c->pieces - 1].key : 0;
    if (c->kind == SET_KEEP || (c->kind == SET_REMOVE && c->answers))
        return 0;
    return c->pieces &&
           (key > last_key(c) || (key == last_key(c) && c->set->state.view.limit % CO_CHUNK_IDS));
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
    while (c->pieces && c->piece[c->pieces - 1].key > last_key(c))
        c->pieces--;
}

/* Members are below the limit. */
static cohort_status check_limit(const struct changing *c, const cohort_sets *by, uint64_t number)
{
    co_u64 limit = c->set->state.view.limit, greatest = 0;
    if (!comes_near(c))
        return COHORT_OK;
    cohort_status status = greatest_of(by, number, &greatest);
    if (!status && (greatest >= limit || c->piece[c->pieces - 1].key > last_key(c)))
        status =
            context_fail(c->context, COHORT_RANGE, "%s: the member %llu is not below the set's limit, %llu",
                         c->call, (unsigned long long)greatest, (unsigned long long)limit);
    return status;
}

/* ---- what is needed ------------------------------------------------------------------------------------ */

static cohort_status no_blocks(const struct changing *c, const struct set_work *work,
                               const struct set_words *s)
{
    uint64_t left = work->empty ? work->block_room : s->blocks.given - s->blocks.taken;
    return context_fail(
        c->context, COHORT_FULL, "%s: the set needs %llu blocks more, and has %llu of its %llu left", c->call,
        (unsigned long long)s->asked[0], (unsigned long long)left, (unsigned long long)work->block_room);
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
    const int shrinks = work->kind != SET_ADD;
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

static cohort_status change_pieces(struct changing *c, struct set_piece *room)
{
    struct set_words words;
    struct set_work work = {.items = c->pieces,
                            .piece = room,
                            .kind = c->kind == SET_ASSIGN ? SET_ADD : c->kind,
                            .empty = c->kind == SET_ASSIGN};
    cohort_status status = COHORT_OK;
    if (room != c->piece)
        status = context_copy(c->context, room, c->piece, c->pieces * sizeof *room);
    if (!status)
        status = see(c, &work, &words);
    if (!status && work.empty) {
        work.empty = 0;
        status = set_empty(c->set);
        if (!status)
            status = set_do(c->set, &work, SET_SEE, 0);
        if (!status)
            status = set_do(c->set, &work, SET_JUDGE, 0);
    }
    return status ? status : set_go(c->set, &work, words.asked[1]);
}

/* With the pieces listed. */
static cohort_status change(struct changing *c)
{
    cohort_status status = c->kind == SET_KEEP ? pieces_to_keep(c) : COHORT_OK;
    struct set_piece *room = c->piece;
    if (!status)
        leave_out(c);
    if (!status && !c->pieces)
        return c->kind == SET_ASSIGN ? set_empty(c->set) : COHORT_OK;
    if (!status && c->context->backend->own_memory != MEMORY_HOST)
        status = sets_room(&c->rooms, c->pieces, sizeof *room, &room);
    return status ? status : change_pieces(c, room);
}

static struct changing begin(cohort_set *set, const char *call, enum set_change_kind kind, int answers)
{
    return (struct changing){set->context, call, set, kind, NULL, 0, sets_rooms_begin(set->context), answers};
}

static cohort_status end(struct changing *c, cohort_status status)
{
    sets_rooms_end(&c->rooms);
    free(c->piece);
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
        status = pieces_of(&c, &view, &by->view, number);
    if (!status)
        status = check_order(&c);
    if (!status)
        status = check_limit(&c, by, number);
    if (!status)
        status = change(&c);
    free(copy);
    return end(&c, status);
}

cohort_status set_change_by(cohort_set *set, const char *call, enum set_change_kind kind, int answers,
                            cohort_set *by)
{
    struct changing c = begin(set, call, kind, answers);
    co_u64 limit = set->state.view.limit, other = by->state.view.limit;
    cohort_sets *all = NULL;
    cohort_status status = pieces_by(&c, by);
    if (!status && comes_near(&c) && (!other || other > limit)) {
        status = set_collection(set->context, &by, 1, &all);
        if (!status)
            status = check_limit(&c, all, 0);
        cohort_sets_destroy(all);
    }
    return end(&c, status ? status : change(&c));
}
