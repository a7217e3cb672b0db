/* cpu/set_change.c: changes of a working set on the host's threads.
 *
 * The change is a set of a collection. Each of its chunks is a piece of work. First it is seen what the
 * pieces need: a block for each chunk that is absent or full and becomes partly filled, nodes of the
 * directory. If there is not enough the call fails, and nothing has been touched. Then blocks and nodes
 * are handed out, threads work on the pieces, each on a block of its own, and at last the planes and
 * counts are brought up to date and blocks that are not needed any more go back. Cardinalities are counted
 * from what is in the block, never taken from the collection. */
#include <stdlib.h>
#include <string.h>

#include "set.h"

#define PIECE_GRAIN 4

struct piece {
    co_u64 key;
    struct sets_chunk chunk;
    co_u32 leaf, block; /* SET_NONE: none */
    co_u32 before, after;
};

struct changing {
    cohort_context *context;
    const struct set_change *change;
    struct set_state *state;
    enum set_change_kind kind; /* ADD for ASSIGN */
    struct piece *piece;
    co_u64 pieces, blocks, nodes; /* the last two: needed */
};

/* ---- pieces
 * ------------------------------------------------------------------------------------------------------------ */

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

static void put_piece(struct piece *p, co_u64 key, struct sets_chunk chunk)
{
    memset(p, 0, sizeof *p);
    p->key = key;
    p->chunk = chunk;
    p->leaf = p->block = SET_NONE;
}

static void list_pieces(struct changing *c, const struct co_sets_set *s)
{
    const cohort_sets_view *v = &c->change->view;
    unsigned bytes = v->wide ? 8 : 4;
    if (s->large) {
        for (co_u64 i = 0; i < s->n; i++)
            put_piece(&c->piece[i], co_sets_key(v, s->first + i), sets_chunk_of(v, s->first + i));
        return;
    }
    struct piece *p = c->piece;
    for (co_u64 at = s->first, end; at < s->first + s->n; at = end, p++) {
        struct sets_chunk chunk;
        end = list_end(v, s, at);
        memset(&chunk, 0, sizeof chunk);
        chunk.at = (const char *)v->lists + at * bytes;
        chunk.kind = v->wide ? SETS_CHUNK_LIST64 : SETS_CHUNK_LIST32;
        chunk.entries = chunk.card = (co_u32)(end - at);
        put_piece(p, co_sets_listed(v, at) >> CO_CHUNK_BITS, chunk);
    }
}

/* Members are below the limit; keys ascend, which those of a file need not that was mapped unseen. */
static cohort_status check_pieces(const struct changing *c)
{
    co_u64 limit = c->state->view.limit, greatest = 0;
    if (!c->pieces)
        return COHORT_OK;
    for (co_u64 i = 1; i < c->pieces; i++)
        if (c->piece[i].key <= c->piece[i - 1].key)
            return context_fail(c->context, COHORT_CORRUPT,
                                "%s: the members of a mapped collection are not in order", c->change->call);
    struct co_sets_set s = co_sets_open(&c->change->view, 0);
    co_sets_select(&c->change->view, 0, co_sets_size(&c->change->view, &s) - 1, &greatest);
    co_u64 key = c->piece[c->pieces - 1].key;
    if (limit && (greatest >= limit || key > (limit - 1) >> CO_CHUNK_BITS))
        return context_fail(c->context, COHORT_RANGE,
                            "%s: the member %llu is not below the set's limit, %llu", c->change->call,
                            (unsigned long long)greatest, (unsigned long long)limit);
    return COHORT_OK;
}

/* ---- what is needed
 * ---------------------------------------------------------------------------------------------------- */

static co_u32 card_of(const struct set_state *s, co_u32 leaf, co_u64 key)
{
    const struct co_set_node *node = &s->nodes[leaf];
    co_u32 i = (co_u32)key & 63;
    if (leaf == SET_NONE || !(node->some >> i & 1))
        return 0;
    return node->full >> i & 1 ? CO_CHUNK_IDS : node->card[i];
}

/* Does a chunk that has no block need one? */
static int needs_block(const struct changing *c, const struct piece *p)
{
    if (c->state->view.flat || p->chunk.kind == CO_CHUNK_FULL)
        return 0;
    return c->kind == SET_ADD      ? p->before == 0
           : c->kind == SET_REMOVE ? p->before == CO_CHUNK_IDS
                                   : p->before == 0 || p->before == CO_CHUNK_IDS;
}

static void see_needs(struct changing *c)
{
    int empty = c->change->kind == SET_ASSIGN;
    const struct piece *last = NULL;
    for (co_u64 i = 0; i < c->pieces; i++) {
        struct piece *p = &c->piece[i];
        p->leaf = empty ? SET_NONE : set_leaf(c->state, p->key);
        p->before = card_of(c->state, p->leaf, p->key);
        c->blocks += (co_u64)needs_block(c, p);
        if (p->leaf == SET_NONE && c->kind != SET_REMOVE) {
            c->nodes += set_nodes_missing(c->state, p->key, last != NULL, last ? last->key : 0, empty);
            last = p;
        }
    }
}

static cohort_status check_needs(const struct changing *c)
{
    struct set_state *s = c->state;
    int empty = c->change->kind == SET_ASSIGN;
    co_u64 free = empty ? s->room : s->spares + s->room - s->fresh;
    if (c->blocks > free)
        return context_fail(c->context, COHORT_FULL,
                            "%s: the set needs %llu blocks more, and has %llu of its %llu left",
                            c->change->call, (unsigned long long)c->blocks, (unsigned long long)free,
                            (unsigned long long)s->room);
    return set_reserve(c->context, s, c->nodes, empty);
}

/* ---- handing out
 * -------------------------------------------------------------------------------------------------------- */

static co_u32 take_block(struct set_state *s)
{
    return s->spares ? s->spare[--s->spares] : (co_u32)s->fresh++;
}

static void hand_out(struct changing *c)
{
    for (co_u64 i = 0; i < c->pieces; i++) {
        struct piece *p = &c->piece[i];
        if (p->leaf == SET_NONE && c->kind != SET_REMOVE)
            p->leaf = set_leaf_make(c->state, p->key);
        if (p->leaf == SET_NONE)
            continue;
        if (c->state->view.flat)
            p->block = (co_u32)p->key;
        else if (p->before && p->before < CO_CHUNK_IDS)
            p->block = c->state->nodes[p->leaf].child[p->key & 63];
        else if (needs_block(c, p))
            p->block = take_block(c->state);
    }
}

/* ---- work
 * ------------------------------------------------------------------------------------------------------------------- */

/* An array's members one by one. */
static co_u32 change_each(co_u64 *words, enum set_change_kind kind, const struct sets_chunk *c, co_u32 card)
{
    for (co_u32 i = 0; i < c->entries; i++) {
        co_u16 v = sets_chunk_entry(c, i);
        co_u64 bit = 1ull << v % 64, old = words[v / 64];
        co_u64 word = kind == SET_ADD ? old | bit : kind == SET_REMOVE ? old & ~bit : old ^ bit;
        words[v / 64] = word;
        card += (co_u32)((word & bit) != 0) - (co_u32)((old & bit) != 0);
    }
    return card;
}

static co_u32 change_all(co_u64 *words, enum set_change_kind kind, const struct sets_chunk *c)
{
    co_u64 room[SETS_CHUNK_WORDS];
    const co_u64 *other = c->kind == CO_CHUNK_BITMAP ? c->at : room;
    co_u32 card = 0;
    if (other == room)
        sets_chunk_bitmap(c, room);
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        words[i] = kind == SET_ADD      ? words[i] | other[i]
                   : kind == SET_REMOVE ? words[i] & ~other[i]
                                        : words[i] ^ other[i];
        card += (co_u32)__builtin_popcountll(words[i]);
    }
    return card;
}

/* A full chunk of the change, on a chunk that has no block and needs none. */
static co_u32 change_whole(enum set_change_kind kind, co_u32 before)
{
    return kind == SET_ADD ? CO_CHUNK_IDS : kind == SET_REMOVE ? 0 : CO_CHUNK_IDS - before;
}

static void work(const struct changing *c, struct piece *p)
{
    if (p->block == SET_NONE) {
        p->after = p->chunk.kind == CO_CHUNK_FULL ? change_whole(c->kind, p->before) : p->before;
        return;
    }
    co_u64 *words = c->state->blocks + (co_u64)p->block * SETS_CHUNK_WORDS;
    if (!c->state->view.flat && (p->before == 0 || p->before == CO_CHUNK_IDS))
        memset(words, p->before ? 0xff : 0, CO_CHUNK_BYTES);
    p->after = sets_chunk_is_array(&p->chunk) ? change_each(words, c->kind, &p->chunk, p->before)
                                              : change_all(words, c->kind, &p->chunk);
}

static void work_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct changing *c = arg;
    (void)worker;
    for (uint64_t i = begin; i < end; i++)
        work(c, &c->piece[i]);
}

/* ---- the directory again
 * -------------------------------------------------------------------------------------------------- */

static void settle(struct set_state *s, const struct piece *p)
{
    struct co_set_node *node = &s->nodes[p->leaf];
    co_u32 i = (co_u32)p->key & 63;
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

static void settle_all(struct changing *c)
{
    for (co_u64 i = 0; i < c->pieces; i++)
        if (c->piece[i].leaf != SET_NONE)
            settle(c->state, &c->piece[i]);
    for (co_u64 i = 0; i < c->pieces;
         i++) /* a leaf once, at its last piece; before that others may be in it */
        if (c->piece[i].leaf != SET_NONE &&
            (i + 1 == c->pieces ||
             c->piece[i + 1].key >> CO_SET_DIGIT_BITS != c->piece[i].key >> CO_SET_DIGIT_BITS) &&
            !c->state->nodes[c->piece[i].leaf].some)
            set_prune(c->state, c->piece[i].key);
}

/* ---- entries
 * ---------------------------------------------------------------------------------------------------------------- */

cohort_status cpu_set_change(cohort_context *context, const struct set_change *change)
{
    struct changing c;
    memset(&c, 0, sizeof c);
    c.context = context;
    c.change = change;
    c.state = change->state;
    c.kind = change->kind == SET_ASSIGN ? SET_ADD : change->kind;
    struct co_sets_set s = co_sets_open(&change->view, 0);
    c.pieces = count_pieces(&change->view, &s);
    c.piece = malloc((c.pieces + 1) * sizeof *c.piece);
    if (!c.piece)
        return context_fail(context, COHORT_NO_MEMORY, "%s: no memory for a list of %llu chunks",
                            change->call, (unsigned long long)c.pieces);
    list_pieces(&c, &s);
    cohort_status status = check_pieces(&c);
    if (!status) {
        see_needs(&c);
        status = check_needs(&c);
    }
    if (!status) {
        if (change->kind == SET_ASSIGN)
            set_empty(c.state);
        hand_out(&c);
        cpu_parallel(context, c.pieces, PIECE_GRAIN, work_range, &c);
        settle_all(&c);
    }
    free(c.piece);
    return status;
}
