/* shape/set_pool.h: how a change goes through a working set's directory and pool: each step for one piece, by
 * a lane of a kernel or by a thread of the host. Plain C, seen by both backends and by the kernels.
 *
 * The directory is a tree over the keys of chunks, 64 children a node. Blocks and nodes are taken from two
 * rings (shape/set.h). First all pieces say what they need (SEE). The sum is compared with what there is
 * (JUDGE), and that is the last step at which a change can fail: nothing has been touched so far. Then there
 * is enough for everybody, and to take is to draw a number, to give is to draw one and to write. A ring that
 * is given to meanwhile would have to say when a slot is written; so taking and giving are steps of their
 * own, and what one step writes the next one reads.
 *
 * Who makes a node, and who gives it back: keys ascend, so of the pieces below a node the first one differs
 * from the piece before it in what is above the node's digits, and the last one from the piece behind it. The
 * first makes the node, the last gives it back. A level at a time: parents are there before their children,
 * and go after them. So no two lanes do the same, and nobody waits.
 *
 * Lanes of one step meet in planes of a node, by atomics on bits of their own, and in sums. */
#ifndef COHORT_SHAPE_SET_POOL_H
#define COHORT_SHAPE_SET_POOL_H

#include "set.h"

/* What a piece adds to the sums of its step. */
struct set_sums {
    co_u64 v[3];
};

/* ---- the tree ------------------------------------------------------------------------------------------ */

CO_INLINE co_u32 set_digit(co_u64 key, co_u32 level)
{
    return (co_u32)(key >> CO_SET_DIGIT_BITS * (level - 1)) & 63;
}

/* The key without what is below a node of that level. */
CO_INLINE co_u64 set_prefix(co_u64 key, co_u32 level)
{
    return CO_SET_DIGIT_BITS * level < 64 ? key >> CO_SET_DIGIT_BITS * level : 0;
}

/* The lowest node on the way to the leaf of a key, no lower than `level`; *reached: its level. */
CO_INLINE co_u32 set_walk(const struct set_work *w, co_u64 key, co_u32 level, co_u32 *reached)
{
    co_u32 node = 0, at = w->levels;
    for (; at > level; at--) {
        co_u32 digit = set_digit(key, at);
        if (!(co_load64(&w->nodes[node].some) >> digit & 1))
            break;
        node = co_load32(&w->nodes[node].child[digit]);
    }
    *reached = at;
    return node;
}

CO_INLINE co_u32 set_node(const struct set_work *w, co_u64 key, co_u32 level)
{
    co_u32 reached, node = set_walk(w, key, level, &reached);
    return reached == level ? node : SET_NONE;
}

CO_INLINE co_u64 set_key(const struct set_work *w, co_u64 i)
{
    return co_read64(&w->piece[i].key);
}

/* How many nodes the piece is the one to make. */
CO_INLINE co_u32 set_missing(const struct set_work *w, co_u64 i, co_u64 key)
{
    co_u32 level = w->levels;
    if (!w->empty)
        set_walk(w, key, 1, &level);
    if (i) {
        co_u64 before = set_key(w, i - 1);
        while (level > 1 && set_prefix(key, level - 1) == set_prefix(before, level - 1))
            level--;
    }
    return level - 1;
}

/* ---- rings --------------------------------------------------------------------------------------------- */

CO_INLINE co_u64 set_ring_free(const struct set_ring *ring)
{
    return co_load64(&ring->given) - co_load64(&ring->taken);
}

/* There is one (JUDGE). */
CO_INLINE co_u32 set_ring_take(struct set_ring *ring, const co_u32 *slots, co_u64 room)
{
    co_u64 at = co_add64(&ring->taken, 1) % room;
    return co_read32(slots + at) ^ (co_u32)at;
}

CO_INLINE void set_ring_give(struct set_ring *ring, co_u32 *slots, co_u64 room, co_u32 number)
{
    co_u64 at = co_add64(&ring->given, 1) % room;
    co_write32(slots + at, number ^ (co_u32)at);
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* Pieces there are. There are more chunks than items only if some are beyond the limit (JUDGE). */
CO_INLINE co_u64 set_pieces(const struct set_work *w)
{
    co_u64 count = w->count ? co_read64(w->count) : w->items;
    return count < w->items ? count : w->items;
}

CO_INLINE void set_list_piece(const struct set_work *w, co_u64 i)
{
    struct set_piece *p = &w->piece[i];
    co_u64 first = co_read64(w->starts + i);
    co_u64 end = i + 1 < co_read64(w->count) ? co_read64(w->starts + i + 1) : co_read64(w->members_count);
    const char *at = (const char *)w->members + first * (w->wide ? 8 : 4);
    co_write64((co_u64 *)(void *)&p->at, (co_u64)at);
    co_write64(&p->key, sets_number(w->members, first, (int)w->wide) >> CO_CHUNK_BITS);
    co_write32(&p->kind, SET_CHUNK_LIST + w->wide);
    co_write32(&p->entries, (co_u32)(end - first));
}

/* ---- what is needed ------------------------------------------------------------------------------------ */

/* Does a chunk that has no block need one? */
CO_INLINE int set_needs_block(const struct set_work *w, co_u32 kind, co_u32 before)
{
    if (w->flat || kind == CO_CHUNK_FULL || kind == SET_CHUNK_NOTHING)
        return 0;
    return w->kind == SET_ADD    ? before == 0
           : w->kind == SET_FLIP ? before == 0 || before == CO_CHUNK_IDS
                                 : before == CO_CHUNK_IDS;
}

/* Members of a chunk. */
CO_INLINE co_u32 set_card(const struct set_work *w, co_u32 leaf, co_u64 key)
{
    co_u32 i = (co_u32)key & 63;
    if (leaf == SET_NONE || !(co_read64(&w->nodes[leaf].some) >> i & 1))
        return 0;
    return co_read64(&w->nodes[leaf].full) >> i & 1 ? CO_CHUNK_IDS : co_read32(&w->nodes[leaf].card[i]);
}

/* Does this kind of change make chunks? */
CO_INLINE int set_makes(const struct set_work *w)
{
    return w->kind == SET_ADD || w->kind == SET_FLIP;
}

CO_INLINE struct set_sums set_see(const struct set_work *w, co_u64 i)
{
    struct set_piece *p = &w->piece[i];
    struct set_sums sums = {{0, 0, 0}};
    co_u64 key = set_key(w, i);
    co_u32 leaf = w->empty ? SET_NONE : set_node(w, key, 1), before = set_card(w, leaf, key), nodes = 0;
    if (leaf == SET_NONE && set_makes(w))
        nodes = set_missing(w, i, key);
    co_write32(&p->leaf, leaf);
    co_write32(&p->before, before);
    co_write32(&p->after, before);
    co_write32(&p->nodes, nodes);
    sums.v[0] = (co_u64)set_needs_block(w, co_read32(&p->kind), before);
    sums.v[1] = nodes;
    return sums;
}

/* Is a member not below the limit? */
CO_INLINE int set_is_beyond(const struct set_work *w)
{
    co_u64 n = w->members ? co_read64(w->members_count) : 0;
    return n && w->limit && sets_number(w->members, n - 1, (int)w->wide) >= w->limit;
}

CO_INLINE void set_judge(const struct set_work *w)
{
    struct set_words *s = w->words;
    co_u64 blocks = co_load64(&s->need[0]), nodes = co_load64(&s->need[1]);
    co_u64 free_blocks = w->empty ? w->block_room : set_ring_free(&s->blocks);
    co_u64 free_nodes = w->empty ? w->node_room - 1 : set_ring_free(&s->nodes);
    co_u64 verdict = blocks > free_blocks ? SET_NO_BLOCKS : nodes > free_nodes ? SET_NO_NODES : SET_ENOUGH;
    if (set_is_beyond(w))
        verdict = SET_BEYOND;
    if (w->told && verdict != SET_ENOUGH)
        co_min64(w->told, verdict);
    co_store64(&s->asked[0], blocks);
    co_store64(&s->asked[1], nodes);
    co_store64(&s->need[0], 0);
    co_store64(&s->need[1], 0);
    co_store64(&s->verdict, verdict);
}

/* ---- handing out --------------------------------------------------------------------------------------- */

/* A new node has no children; planes of its parent are shared with the makers of its brothers. */
CO_INLINE void set_make(const struct set_work *w, co_u64 i)
{
    struct set_piece *p = &w->piece[i];
    co_u64 key = set_key(w, i);
    if (co_read32(&p->nodes) < w->level)
        return;
    co_u32 parent = set_node(w, key, w->level + 1), digit = set_digit(key, w->level + 1);
    co_u32 number = set_ring_take(&w->words->nodes, w->node_slots, w->node_room);
    struct co_set_node *node = &w->nodes[number];
    co_write64(&node->some, 0);
    co_write64(&node->full, 0);
    for (co_u32 k = 0; k < 64; k++) {
        co_write32(&node->child[k], 0);
        co_write32(&node->card[k], 0);
    }
    co_write32(&w->nodes[parent].child[digit], number);
    co_or64(&w->nodes[parent].some, 1ull << digit);
}

/* A full chunk of the change, or none, on a chunk that has no block and needs none. */
CO_INLINE co_u32 set_change_whole(const struct set_work *w, co_u32 kind, co_u32 before)
{
    if (w->kind == SET_KEEP)
        return kind == SET_CHUNK_NOTHING ? 0 : before;
    return w->kind == SET_ADD ? CO_CHUNK_IDS : w->kind == SET_REMOVE ? 0 : CO_CHUNK_IDS - before;
}

CO_INLINE void set_hand(const struct set_work *w, co_u64 i)
{
    struct set_piece *p = &w->piece[i];
    co_u64 key = set_key(w, i);
    co_u32 leaf = co_read32(&p->leaf), before = co_read32(&p->before), kind = co_read32(&p->kind);
    co_u32 block = SET_NONE, fill = SET_AS_IS, after = before;
    if (leaf == SET_NONE && set_makes(w))
        leaf = set_node(w, key, 1);
    if (leaf == SET_NONE) {
        after = 0;
    } else if (w->flat) {
        block = (co_u32)key;
    } else if (before && before < CO_CHUNK_IDS) {
        block = co_read32(&w->nodes[leaf].child[key & 63]);
    } else if (set_needs_block(w, kind, before)) {
        block = set_ring_take(&w->words->blocks, w->block_slots, w->block_room);
        fill = before ? SET_ONES : SET_ZEROS;
    } else if (kind == CO_CHUNK_FULL || kind == SET_CHUNK_NOTHING) {
        after = set_change_whole(w, kind, before);
    }
    co_write32(&p->leaf, leaf);
    co_write32(&p->block, block);
    co_write32(&p->fill, fill);
    co_write32(&p->after, after);
}

/* ---- the directory again ------------------------------------------------------------------------------- */

/* Nobody else changes this bit; where it is right already, to look is cheaper than an atomic. */
CO_INLINE void set_plane(co_u64 *plane, co_u64 bit, int on)
{
    if (((co_load64(plane) & bit) != 0) == on)
        return;
    if (on)
        co_or64(plane, bit);
    else
        co_and64(plane, ~bit);
}

CO_INLINE struct set_sums set_settle(const struct set_work *w, co_u64 i)
{
    struct set_sums sums = {{0, 0, 0}};
    const struct set_piece *p = &w->piece[i];
    co_u32 leaf = co_read32(&p->leaf), digit = (co_u32)set_key(w, i) & 63, block = co_read32(&p->block);
    co_u32 before = co_read32(&p->before), after = co_read32(&p->after);
    if (leaf == SET_NONE)
        return sums;
    struct co_set_node *node = &w->nodes[leaf];
    int partly = after && after < CO_CHUNK_IDS;
    if (!w->flat && block != SET_NONE && !partly)
        set_ring_give(&w->words->blocks, w->block_slots, w->block_room, block);
    set_plane(&node->some, 1ull << digit, after != 0);
    set_plane(&node->full, 1ull << digit, after == CO_CHUNK_IDS);
    co_write32(&node->card[digit], after);
    co_write32(&node->child[digit], block);
    sums.v[0] = (co_u64)after - before;
    sums.v[1] = (co_u64)(after != 0) - (before != 0);
    sums.v[2] = (co_u64)(after == CO_CHUNK_IDS) - (before == CO_CHUNK_IDS);
    return sums;
}

CO_INLINE void set_prune(const struct set_work *w, co_u64 i)
{
    co_u64 key = set_key(w, i);
    if (i + 1 < set_pieces(w) && set_prefix(set_key(w, i + 1), w->level) == set_prefix(key, w->level))
        return;
    co_u32 node = set_node(w, key, w->level);
    if (node == SET_NONE || co_load64(&w->nodes[node].some))
        return;
    co_u32 parent = set_node(w, key, w->level + 1), digit = set_digit(key, w->level + 1);
    co_and64(&w->nodes[parent].some, ~(1ull << digit));
    set_ring_give(&w->words->nodes, w->node_slots, w->node_room, node);
}

/* ---- no members ---------------------------------------------------------------------------------------- */

/* Is the block of a flat set to be cleared? */
CO_INLINE int set_wipes(const struct set_work *w, co_u64 block)
{
    co_u32 leaf = set_node(w, block, 1);
    return leaf != SET_NONE && (co_load64(&w->nodes[leaf].some) >> (block & 63) & 1);
}

CO_INLINE void set_clear(const struct set_work *w)
{
    struct set_words *s = w->words;
    struct co_set_node *root = w->nodes;
    for (co_u32 k = 0; k < 3; k++) {
        co_store64(&s->has[k], 0);
        co_store64(&s->need[k], 0);
    }
    co_store64(&s->asked[0], 0);
    co_store64(&s->asked[1], 0);
    co_store64(&s->verdict, SET_ENOUGH);
    co_store64(&s->blocks.taken, 0);
    co_store64(&s->blocks.given, w->block_room);
    co_store64(&s->nodes.taken, 1);
    co_store64(&s->nodes.given, w->node_room);
    co_store64(&root->some, 0);
    co_store64(&root->full, 0);
    for (co_u32 k = 0; k < 64; k++) {
        co_store32(&root->child[k], 0);
        co_store32(&root->card[k], 0);
    }
}

/* ---- a step, for one piece ----------------------------------------------------------------------------- */

/* Is nothing to be done, since there was not enough? */
CO_INLINE int set_refused(const struct set_work *w)
{
    return w->phase > SET_JUDGE && w->phase < SET_WIPE && co_load64(&w->words->verdict) != SET_ENOUGH;
}

CO_INLINE struct set_sums set_piece_step(const struct set_work *w, co_u64 i)
{
    struct set_sums none = {{0, 0, 0}};
    switch (w->phase) {
    case SET_LIST:
        set_list_piece(w, i);
        break;
    case SET_SEE:
        return set_see(w, i);
    case SET_SETTLE:
        return set_settle(w, i);
    case SET_JUDGE:
        set_judge(w);
        break;
    case SET_MAKE:
        set_make(w, i);
        break;
    case SET_HAND:
        set_hand(w, i);
        break;
    case SET_PRUNE:
        set_prune(w, i);
        break;
    default:
        set_clear(w);
        break;
    }
    return none;
}

/* Where the sums of a step go; 0: it has none. */
CO_INLINE co_u64 *set_sums_of(const struct set_work *w)
{
    return w->phase == SET_SEE ? w->words->need : w->phase == SET_SETTLE ? w->words->has : 0;
}

#endif
