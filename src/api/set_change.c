/* set_change.c: changes of a working set.
 *
 * The change is a set of a collection. Each of its chunks is a piece of work. First it is seen what the
 * pieces need: a block for each chunk that is absent or full and becomes partly filled, nodes of the
 * directory. If there is not enough the call fails, and nothing has been touched. Then blocks and nodes
 * are handed out, the backend works on all pieces at once, each on a block of its own, and at last the planes
 * and counts are brought up to date and blocks that are not needed any more go back. Cardinalities are
 * counted from what is in the block, never taken from the collection.
 *
 * The directory of the collection is read by the host, its members only where they lie. */
#include <stdlib.h>
#include <string.h>

#include "api/set.h"
#include "shape/sets_chunk.h"

/* What the host keeps of a piece. */
struct place {
    co_u64 key;
    co_u32 leaf; /* SET_NONE: none */
};

struct changing {
    cohort_context *context;
    const char *call; /* for messages */
    struct set_state *state;
    const cohort_sets *by;
    cohort_sets_view view; /* of `by`: all but the pool for the host to read */
    enum set_change_kind kind;
    int empty; /* ASSIGN: the kind is ADD then */
    struct place *place;
    struct set_piece *piece;
    co_u64 pieces, blocks, nodes; /* the last two: needed */
};

/* ---- pieces -------------------------------------------------------------------------------------------- */

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

static void put_piece(struct changing *c, co_u64 i, co_u64 key, const void *at, co_u32 kind, co_u32 entries)
{
    struct set_piece *p = &c->piece[i];
    memset(p, 0, sizeof *p);
    c->place[i].key = key;
    c->place[i].leaf = p->block = SET_NONE;
    p->at = at;
    p->kind = kind;
    p->entries = entries;
}

static void list_pieces(struct changing *c, const struct co_sets_set *s)
{
    const cohort_sets_view *v = &c->view;
    if (s->large) {
        for (co_u64 i = 0; i < s->n; i++) {
            co_u64 place = v->places[s->first + i];
            put_piece(c, i, co_sets_key(v, s->first + i), co_place_at(&c->by->view, place),
                      co_place_kind(place), co_place_entries(place));
        }
        return;
    }
    const char *lists = c->by->view.lists;
    co_u64 i = 0;
    for (co_u64 at = s->first, end; at < s->first + s->n; at = end, i++) {
        end = list_end(v, s, at);
        put_piece(c, i, co_sets_listed(v, at) >> CO_CHUNK_BITS, lists + at * (v->wide ? 8 : 4),
                  v->wide ? SETS_CHUNK_LIST64 : SETS_CHUNK_LIST32, (co_u32)(end - at));
    }
}

/* The greatest member that the set is changed by. */
static cohort_status greatest_of(const struct changing *c, co_u64 *greatest)
{
    cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
    co_u32 narrow = 0;
    d.kind = COHORT_LOOK_MAX;
    d.n = 1;
    d.results = c->view.wide ? (void *)greatest : &narrow;
    cohort_status status = cohort_sets_look(c->by, &d);
    if (!status && !c->view.wide)
        *greatest = narrow;
    return status;
}

/* Members are below the limit; keys ascend, which those of a file need not that was mapped unseen. */
static cohort_status check_pieces(const struct changing *c)
{
    co_u64 limit = c->state->view.limit, greatest = 0;
    if (!c->pieces)
        return COHORT_OK;
    for (co_u64 i = 1; i < c->pieces; i++)
        if (c->place[i].key <= c->place[i - 1].key)
            return context_fail(c->context, COHORT_CORRUPT,
                                "%s: the members of a mapped collection are not in order", c->call);
    co_u64 key = c->place[c->pieces - 1].key, last = (limit - 1) >> CO_CHUNK_BITS;
    if (!limit || key < last || (key == last && !(limit % CO_CHUNK_IDS)))
        return COHORT_OK;
    cohort_status status = greatest_of(c, &greatest);
    if (!status && (greatest >= limit || key > last))
        status =
            context_fail(c->context, COHORT_RANGE, "%s: the member %llu is not below the set's limit, %llu",
                         c->call, (unsigned long long)greatest, (unsigned long long)limit);
    return status;
}

/* ---- what is needed ------------------------------------------------------------------------------------ */

static co_u32 card_of(const struct set_state *s, co_u32 leaf, co_u64 key)
{
    const struct co_set_node *node = &s->nodes[leaf];
    co_u32 i = (co_u32)key & 63;
    if (leaf == SET_NONE || !(node->some >> i & 1))
        return 0;
    return node->full >> i & 1 ? CO_CHUNK_IDS : node->card[i];
}

/* Does a chunk that has no block need one? */
static int needs_block(const struct changing *c, const struct set_piece *p)
{
    if (c->state->view.flat || p->kind == CO_CHUNK_FULL)
        return 0;
    return c->kind == SET_ADD      ? p->before == 0
           : c->kind == SET_REMOVE ? p->before == CO_CHUNK_IDS
                                   : p->before == 0 || p->before == CO_CHUNK_IDS;
}

static void see_needs(struct changing *c)
{
    const struct place *last = NULL;
    for (co_u64 i = 0; i < c->pieces; i++) {
        struct place *at = &c->place[i];
        struct set_piece *p = &c->piece[i];
        at->leaf = c->empty ? SET_NONE : set_leaf(c->state, at->key);
        p->before = p->after = card_of(c->state, at->leaf, at->key);
        c->blocks += (co_u64)needs_block(c, p);
        if (at->leaf == SET_NONE && c->kind != SET_REMOVE) {
            c->nodes += set_nodes_missing(c->state, at->key, last != NULL, last ? last->key : 0, c->empty);
            last = at;
        }
    }
}

static cohort_status check_needs(const struct changing *c)
{
    struct set_state *s = c->state;
    co_u64 free = c->empty ? s->room : s->spares + s->room - s->fresh;
    if (c->blocks > free)
        return context_fail(
            c->context, COHORT_FULL, "%s: the set needs %llu blocks more, and has %llu of its %llu left",
            c->call, (unsigned long long)c->blocks, (unsigned long long)free, (unsigned long long)s->room);
    return set_reserve(c->context, s, c->nodes, c->empty);
}

/* ---- handing out --------------------------------------------------------------------------------------- */

static co_u32 take_block(struct set_state *s)
{
    return s->spares ? s->spare[--s->spares] : (co_u32)s->fresh++;
}

/* A full chunk of the change, on a chunk that has no block and needs none. */
static co_u32 change_whole(enum set_change_kind kind, co_u32 before)
{
    return kind == SET_ADD ? CO_CHUNK_IDS : kind == SET_REMOVE ? 0 : CO_CHUNK_IDS - before;
}

static void hand_out(struct changing *c)
{
    for (co_u64 i = 0; i < c->pieces; i++) {
        struct place *at = &c->place[i];
        struct set_piece *p = &c->piece[i];
        if (at->leaf == SET_NONE && c->kind != SET_REMOVE)
            at->leaf = set_leaf_make(c->state, at->key);
        if (at->leaf == SET_NONE)
            continue;
        if (c->state->view.flat) {
            p->block = (co_u32)at->key;
        } else if (p->before && p->before < CO_CHUNK_IDS) {
            p->block = c->state->nodes[at->leaf].child[at->key & 63];
        } else if (needs_block(c, p)) {
            p->block = take_block(c->state);
            p->fill = p->before ? SET_ONES : SET_ZEROS;
        } else if (p->kind == CO_CHUNK_FULL) {
            p->after = change_whole(c->kind, p->before);
        }
    }
}

/* ---- work ---------------------------------------------------------------------------------------------- */

/* room: where the backend can read the pieces; it may be where they are. */
static cohort_status work(const struct changing *c, struct set_piece *room)
{
    struct set_work s = {c->pieces, room, c->state->blocks, (co_u32)c->kind, 0};
    co_u64 bytes = c->pieces * sizeof *room;
    cohort_status status = COHORT_OK;
    if (room != c->piece)
        status = context_copy(c->context, room, c->piece, bytes);
    if (!status)
        status = c->context->backend->set->work(c->context, &s);
    return status || room == c->piece ? status : context_copy(c->context, c->piece, room, bytes);
}

/* ---- the directory again ------------------------------------------------------------------------------- */

static void settle(struct set_state *s, const struct place *at, const struct set_piece *p)
{
    struct co_set_node *node = &s->nodes[at->leaf];
    co_u32 i = (co_u32)at->key & 63;
    co_u64 bit = 1ull << i;
    int partly = p->after && p->after < CO_CHUNK_IDS;
    if (!s->view.flat && p->block != SET_NONE && !partly)
        s->spare[s->spares++] = p->block;
    node->some = p->after ? node->some | bit : node->some & ~bit;
    node->full = p->after == CO_CHUNK_IDS ? node->full | bit : node->full & ~bit;
    node->card[i] = p->after;
    node->child[i] = p->block;
    s->members += (co_u64)p->after - p->before;
    s->chunks += (co_u64)(p->after != 0) - (p->before != 0);
    s->full += (co_u64)(p->after == CO_CHUNK_IDS) - (p->before == CO_CHUNK_IDS);
}

/* Is it the last piece of its leaf? */
static int ends_leaf(const struct changing *c, co_u64 i)
{
    return i + 1 == c->pieces ||
           c->place[i + 1].key >> CO_SET_DIGIT_BITS != c->place[i].key >> CO_SET_DIGIT_BITS;
}

static void settle_all(struct changing *c)
{
    for (co_u64 i = 0; i < c->pieces; i++)
        if (c->place[i].leaf != SET_NONE)
            settle(c->state, &c->place[i], &c->piece[i]);
    for (co_u64 i = 0; i < c->pieces; i++) /* a leaf once: before its last piece others may be in it */
        if (c->place[i].leaf != SET_NONE && ends_leaf(c, i) && !c->state->nodes[c->place[i].leaf].some)
            set_prune(c->state, c->place[i].key);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* Sees whether it can be done; room: memory of the context for the pieces, or where they are if it is the
 * host's. */
static cohort_status prepare(struct changing *c, struct sets_rooms *rooms, struct set_piece **room)
{
    struct co_sets_set s = co_sets_open(&c->view, 0);
    c->pieces = count_pieces(&c->view, &s);
    c->place = malloc((c->pieces + 1) * sizeof *c->place);
    c->piece = malloc((c->pieces + 1) * sizeof *c->piece);
    if (!c->place || !c->piece)
        return context_fail(c->context, COHORT_NO_MEMORY, "%s: no memory for a list of %llu chunks", c->call,
                            (unsigned long long)c->pieces);
    list_pieces(c, &s);
    cohort_status status = check_pieces(c);
    *room = c->piece;
    if (!status && c->context->backend->own_memory != MEMORY_HOST)
        status = sets_room(rooms, c->pieces, sizeof **room, room);
    if (status)
        return status;
    see_needs(c);
    return check_needs(c);
}

cohort_status set_change(cohort_set *set, const char *call, enum set_change_kind kind, const cohort_sets *by)
{
    struct changing c;
    struct sets_rooms rooms = sets_rooms_begin(set->context);
    struct set_piece *room = NULL;
    void *copy = NULL;
    memset(&c, 0, sizeof c);
    c.context = set->context;
    c.call = call;
    c.state = &set->state;
    c.by = by;
    c.kind = kind == SET_ASSIGN ? SET_ADD : kind;
    c.empty = kind == SET_ASSIGN;
    cohort_status status = sets_host_directory(by, &c.view, &copy);
    if (!status)
        status = prepare(&c, &rooms, &room);
    if (!status && c.empty)
        status = set_empty(set);
    if (!status && c.pieces) {
        set->copy_is_old = 1;
        hand_out(&c);
        status = work(&c, room);
        settle_all(&c);
    }
    sets_rooms_end(&rooms);
    free(c.place);
    free(c.piece);
    free(copy);
    return status;
}
