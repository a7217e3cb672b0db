/* cpu/set_leaves.c: an operation on two working sets whose answer goes into a third one, or into one of them.
 *
 * The directories of both are gone through side by side, down to the leaves. The planes of two leaves tell,
 * for 64 chunks at a time, which chunks of the answer are full, which are those of one set alone or all that
 * is not in one, and which come of two blocks. So they also tell how many blocks and nodes there must be,
 * before anything is changed. Then nodes are made, each leaf changes its blocks, which threads share, and at
 * last planes and counts are put down and what is not needed goes back. A chunk that stays as it is costs
 * nothing.
 *
 * Takes read the ring's slots from `taken` on, gives write them from `given` on, behind all takes. */
#include "set_leaves.h"

#include <stdlib.h>
#include <string.h>

#include "set_block.h"

#define LEAVES_FEW  64u /* that need no memory */
#define LEVELS_MOST 9u  /* of a directory, and one more */
#define PARTS       4u  /* of a leaf, that threads share */
#define SHARED      32u /* blocks from which on they do */
#define AHEAD       4u  /* blocks that are asked for before their turn */

/* Of blocks that were changed: chunks that there are now, full ones, and how many members more. */
struct sums {
    co_u64 some, full, members;
};

/* Which chunks of the answer are what. */
struct plan {
    co_u64 full, both;         /* full ones; those that come of two blocks */
    co_u64 copy[2], others[2]; /* the chunk of one set alone; all that is not in it */
    co_u64 had, had_full;      /* where the answer goes: chunks there are now, and full ones */
    co_u64 take, change;       /* blocks that are taken, and that are changed */
};

/* 64 chunks. */
struct leaf {
    co_u64 prefix; /* their key, without the lowest digit */
    const struct co_set_node *a, *b;
    struct co_set_node *to; /* NULL: it is not there yet */
    co_u64 first;           /* of the blocks that are taken, where it begins */
    struct plan plan;
    struct sums sums;
};

struct two {
    cohort_context *context;
    const struct set_two *of;
    const struct sets_vectors *vectors;
    struct leaf *leaf;
    co_u64 n, room;
    co_u64 blocks, nodes, changes; /* to be taken at most; blocks to be changed */
    co_u64 start;                  /* the slot of the first block that is taken */
    int failed;                    /* no memory */
    struct leaf few[LEAVES_FEW];
};

static co_u32 lowest(co_u64 mask)
{
    return (co_u32)__builtin_ctzll(mask);
}

/* Most masks are 0. */
static co_u64 ones(co_u64 mask)
{
    return mask ? co_ones64(mask) : 0;
}

/* ---- planes -------------------------------------------------------------------------------------------- */

static void plan_chunks(struct leaf *l, co_u32 op)
{
    struct plan *p = &l->plan;
    const co_u64 a = l->a ? l->a->some : 0, b = l->b ? l->b->some : 0;
    const co_u64 full_a = l->a ? l->a->full : 0, full_b = l->b ? l->b->full : 0;
    const co_u64 part_a = a & ~full_a, part_b = b & ~full_b;
    p->both = part_a & part_b;
    p->copy[0] = part_a & (op == SETS_AND ? full_b : ~b);
    p->copy[1] = op == SETS_AND ? full_a & part_b : op == SETS_ANDNOT ? 0 : part_b & ~a;
    p->others[0] = op == SETS_XOR ? part_a & full_b : 0;
    p->others[1] = op == SETS_XOR || op == SETS_ANDNOT ? full_a & part_b : 0;
    p->full = op == SETS_AND      ? full_a & full_b
              : op == SETS_OR     ? full_a | full_b
              : op == SETS_ANDNOT ? full_a & ~b
                                  : (full_a & ~b) | (full_b & ~a);
}

static co_u64 partly(const struct plan *p)
{
    return p->both | p->copy[0] | p->copy[1] | p->others[0] | p->others[1];
}

/* Chunks of the set that the answer goes into that stay as they are. */
static co_u64 stay(const struct set_two *of, const struct plan *p)
{
    return of->held == SET_HELD_FIRST ? p->copy[0] : of->held == SET_HELD_SECOND ? p->copy[1] : 0;
}

static void make_plan(const struct set_two *of, struct leaf *l)
{
    const struct co_set_node *to = l->to;
    struct plan *p = &l->plan;
    plan_chunks(l, of->op);
    p->had = to ? to->some : 0;
    p->had_full = to ? to->full : 0;
    p->take = partly(p) & ~(p->had & ~p->had_full);
    p->change = partly(p) & ~stay(of, p);
}

/* ---- leaves -------------------------------------------------------------------------------------------- */

static void make_room(struct two *w)
{
    struct leaf *more = malloc(2 * w->room * sizeof *more);
    w->failed |= !more;
    if (!more)
        return;
    memcpy(more, w->leaf, w->n * sizeof *more);
    if (w->leaf != w->few)
        free(w->leaf);
    w->leaf = more;
    w->room *= 2;
}

/* Two leaves, if they change the answer's. */
static void put_leaf(struct two *w, const struct co_set_node *a, const struct co_set_node *b, co_u64 prefix)
{
    const struct set_two *of = w->of;
    if (!of->held && of->op == SETS_AND && !(a->some & b->some))
        return;
    if (w->n == w->room)
        make_room(w);
    if (w->failed)
        return;
    struct leaf *l = &w->leaf[w->n];
    const struct plan *p = &l->plan;
    l->prefix = prefix;
    l->a = a;
    l->b = b;
    l->to = (struct co_set_node *)(uintptr_t)(of->held == SET_HELD_FIRST    ? a
                                              : of->held == SET_HELD_SECOND ? b
                                                                            : NULL);
    l->first = w->blocks;
    l->sums = (struct sums){0, 0, 0};
    make_plan(of, l);
    if (!(p->change | (p->had & ~(partly(p) | p->full)) | (p->full & ~p->had_full)))
        return;
    w->n++;
    w->blocks += ones(p->take);
    w->changes += ones(p->change);
}

/* Children that can change the answer. */
static co_u64 visited(const struct set_two *of, co_u64 a, co_u64 b)
{
    if (of->held == SET_HELD_FIRST && of->op != SETS_ANDNOT)
        return of->op == SETS_AND ? a : b;
    if (of->held == SET_HELD_FIRST || (!of->held && of->op == SETS_AND))
        return a & b;
    return !of->held && of->op == SETS_ANDNOT ? a : a | b;
}

static const struct co_set_node *child_of(const struct set_work *s, const struct co_set_node *node, co_u32 i)
{
    return node && (node->some >> i & 1) ? s->nodes + node->child[i] : NULL;
}

static void list_leaves(struct two *w, const struct co_set_node *a, const struct co_set_node *b, co_u32 level,
                        co_u64 prefix)
{
    const struct set_two *of = w->of;
    if (level == 1) {
        put_leaf(w, a, b, prefix);
        return;
    }
    for (co_u64 left = visited(of, a ? a->some : 0, b ? b->some : 0); left; left &= left - 1) {
        const co_u32 i = lowest(left);
        const struct co_set_node *x = child_of(of->first, a, i), *y = child_of(of->second, b, i);
        w->nodes += of->held == SET_HELD_FIRST ? !x : of->held == SET_HELD_SECOND ? !y : 1;
        list_leaves(w, x, y, level - 1, prefix << CO_SET_DIGIT_BITS | i);
    }
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

/* Where number k of a ring is. */
static co_u64 slot_of(co_u64 k, co_u64 room)
{
    return k < room ? k : k < 2 * room ? k - room : k % room;
}

static co_u32 take_node(const struct set_work *s)
{
    const co_u32 number = set_ring_take(&s->words->nodes, s->node_slots, s->node_room);
    s->nodes[number].some = s->nodes[number].full = 0;
    return number;
}

/* The leaf of the answer. */
static struct co_set_node *make_leaf(const struct set_work *s, co_u64 prefix)
{
    struct co_set_node *node = s->nodes;
    for (co_u32 level = s->levels; level > 1; level--) {
        const co_u32 digit = set_digit(prefix, level - 1);
        if (!(node->some >> digit & 1)) {
            node->child[digit] = take_node(s);
            node->some |= 1ull << digit;
        }
        node = s->nodes + node->child[digit];
    }
    return node;
}

static void make_leaves(struct two *w)
{
    for (co_u64 k = 0; k < w->n; k++) {
        struct leaf *l = &w->leaf[k];
        if (!l->to)
            l->to = make_leaf(w->of->into, l->prefix);
    }
}

/* An empty leaf goes back, and the nodes above it that have no other. */
static void prune(const struct set_work *s, co_u64 prefix)
{
    struct co_set_node *way[LEVELS_MOST];
    struct set_ring *ring = &s->words->nodes;
    way[s->levels] = s->nodes;
    for (co_u32 level = s->levels - 1; level; level--)
        way[level] = s->nodes + way[level + 1]->child[set_digit(prefix, level)];
    for (co_u32 level = 1; level < s->levels && !way[level]->some; level++) {
        const co_u64 slot = slot_of(ring->given++, s->node_room);
        s->node_slots[slot] = (co_u32)(way[level] - s->nodes) ^ (co_u32)slot;
        way[level + 1]->some &= ~(1ull << set_digit(prefix, level));
    }
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* So many numbers are taken. */
static void take_blocks(struct two *w)
{
    const struct set_work *s = w->of->into;
    w->start = slot_of(s->words->blocks.taken, s->block_room);
    s->words->blocks.taken += w->blocks;
    set_block_know(s);
}

static co_u32 taken_block(const struct two *w, co_u64 k)
{
    const struct set_work *s = w->of->into;
    const co_u64 slot = slot_of(w->start + k, s->block_room);
    return s->block_slots[slot] ^ (co_u32)slot;
}

static void give_blocks(const struct set_work *s, const struct co_set_node *node, co_u64 which)
{
    co_u64 at = slot_of(s->words->blocks.given, s->block_room);
    s->words->blocks.given += ones(which);
    for (; which; which &= which - 1) {
        s->block_slots[at] = node->child[lowest(which)] ^ (co_u32)at;
        at = at + 1 < s->block_room ? at + 1 : 0;
    }
}

/* Chunks of a leaf whose blocks are changed: their digits, and the blocks, of each set or SET_NONE. */
struct changes {
    co_u32 n;
    co_u32 digit[64], first[64], second[64], to[64];
};

static void list_changes(const struct two *w, const struct leaf *l, co_u64 mask, struct changes *c)
{
    const struct plan *p = &l->plan;
    const co_u64 in_first = p->both | p->copy[0] | p->others[0], left = p->change & mask;
    const co_u64 in_second = p->both | p->copy[1] | p->others[1];
    co_u64 taken = l->first + ones(p->take & ((left & (0 - left)) - 1));
    c->n = 0;
    for (co_u64 rest = left; rest; rest &= rest - 1) {
        const co_u32 i = lowest(rest), k = c->n++;
        c->digit[k] = i;
        c->first[k] = in_first >> i & 1 ? l->a->child[i] : SET_NONE;
        c->second[k] = in_second >> i & 1 ? l->b->child[i] : SET_NONE;
        c->to[k] = p->take >> i & 1 ? taken_block(w, taken++) : l->to->child[i];
    }
}

/* What comes after change k. */
static void ask_ahead(const struct two *w, const struct changes *c, co_u32 k)
{
    const struct set_two *of = w->of;
    const co_u32 far = k + 2 * AHEAD, near = k + AHEAD;
    if (far < c->n) {
        set_block_ask_form(of->into, c->to[far]);
        if (c->first[far] != SET_NONE)
            set_block_ask_form(of->first, c->first[far]);
        if (c->second[far] != SET_NONE)
            set_block_ask_form(of->second, c->second[far]);
    }
    if (near < c->n && c->first[near] != SET_NONE)
        set_block_ask(of->first, c->first[near]);
    if (near < c->n && c->second[near] != SET_NONE)
        set_block_ask(of->second, c->second[near]);
}

/* Chunk k of those whose blocks are changed. */
static void change_chunk(const struct two *w, const struct leaf *l, const struct changes *c, co_u32 k,
                         struct sums *sums)
{
    const struct set_two *of = w->of;
    const struct plan *p = &l->plan;
    const co_u32 i = c->digit[k], taken = (co_u32)(p->take >> i & 1);
    const struct set_block_of first = {of->first, c->first[k]}, second = {of->second, c->second[k]};
    const struct set_block_turn turn = {.vectors = w->vectors,
                                        .first = first.block == SET_NONE ? second : first,
                                        .second = second,
                                        .op = p->both >> i & 1 ? of->op : 0,
                                        .others = (co_u32)((p->others[0] | p->others[1]) >> i & 1),
                                        .held = taken ? SET_HELD_NONE : of->held,
                                        .block = c->to[k],
                                        .card = taken ? 0 : l->to->card[i]};
    const co_u32 before = p->had_full >> i & 1 ? CO_CHUNK_IDS : turn.card;
    const co_u32 after = set_block_of_two(of->into, &turn);
    l->to->child[i] = turn.block;
    l->to->card[i] = after;
    sums->members += (co_u64)after - before;
    sums->some |= (co_u64)(after != 0) << i;
    sums->full |= (co_u64)(after == CO_CHUNK_IDS) << i;
}

/* The chunks of a leaf that the mask has. */
static void change_leaf(const struct two *w, struct leaf *l, co_u64 mask)
{
    struct sums sums = {0, 0, 0};
    struct changes c;
    if (!(l->plan.change & mask))
        return;
    list_changes(w, l, mask, &c);
    for (co_u32 k = 0; k < 2 * AHEAD; k++)
        ask_ahead(w, &c, k - 2 * AHEAD);
    for (co_u32 k = 0; k < c.n; k++) {
        ask_ahead(w, &c, k);
        change_chunk(w, l, &c, k, &sums);
    }
    co_or64(&l->sums.some, sums.some);
    co_or64(&l->sums.full, sums.full);
    co_add64(&l->sums.members, sums.members);
}

static void change_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct two *w = arg;
    const co_u32 digits = 64 / PARTS;
    (void)worker;
    for (uint64_t i = begin; i < end; i++)
        change_leaf(w, &w->leaf[i / PARTS], ((1ull << digits) - 1) << i % PARTS * digits);
}

static void change_all(struct two *w)
{
    if (w->changes >= SHARED && !cpu_is_alone(w->context, w->n * PARTS, 1)) {
        cpu_parallel(w->context, w->n * PARTS, 1, change_range, w);
        return;
    }
    for (co_u64 k = 0; k < w->n; k++)
        change_leaf(w, &w->leaf[k], ~0ull);
}

/* ---- the directory again ------------------------------------------------------------------------------- */

/* Members of chunks that become full, or are not there any more: how many more there are. */
static co_u64 settle_whole(struct co_set_node *to, const struct plan *p)
{
    co_u64 members = CO_CHUNK_IDS * ones(p->full & ~p->had_full);
    co_u64 left = p->had & ~partly(p) & ~(p->full & p->had_full);
    members -= CO_CHUNK_IDS * ones(left & p->had_full);
    for (left &= ~p->had_full; left; left &= left - 1)
        members -= to->card[lowest(left)];
    for (left = p->full & ~p->had_full; left; left &= left - 1)
        to->card[lowest(left)] = CO_CHUNK_IDS;
    return members;
}

static void settle_leaf(const struct two *w, const struct leaf *l)
{
    const struct set_work *s = w->of->into;
    const struct plan *p = &l->plan;
    const co_u64 full = p->full | l->sums.full, some = stay(w->of, p) | p->full | l->sums.some;
    struct set_words *words = s->words;
    words->has[0] += l->sums.members + settle_whole(l->to, p);
    words->has[1] += ones(some & ~p->had) - ones(p->had & ~some);
    words->has[2] += ones(full & ~p->had_full) - ones(p->had_full & ~full);
    give_blocks(s, l->to, ((p->had & ~p->had_full) | p->take) & ~(some & ~full));
    l->to->some = some;
    l->to->full = full;
}

static void settle_all(const struct two *w)
{
    for (co_u64 k = 0; k < w->n; k++)
        settle_leaf(w, &w->leaf[k]);
    for (co_u64 k = 0; k < w->n; k++)
        if (!w->leaf[k].to->some)
            prune(w->of->into, w->leaf[k].prefix);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* The set that the answer goes into has no members any more. Of blocks a slot has been written for each
 * number that was given back. */
static void empty(const struct set_work *s)
{
    struct set_words *words = s->words;
    const co_u64 written = words->blocks.given - s->block_room;
    memset(s->block_slots, 0, (written < s->block_room ? written : s->block_room) * sizeof *s->block_slots);
    memset(s->node_slots, 0, s->node_room * sizeof *s->node_slots);
    memset(words->has, 0, sizeof words->has);
    words->blocks = (struct set_ring){0, s->block_room};
    words->nodes = (struct set_ring){1, s->node_room};
    s->nodes->some = s->nodes->full = 0;
}

static int is_enough(const struct two *w)
{
    const struct set_work *s = w->of->into;
    const struct set_words *words = s->words;
    if (w->failed)
        return 0;
    if (!w->of->held)
        return w->blocks <= s->block_room && w->nodes < s->node_room;
    return w->blocks <= set_ring_free(&words->blocks) && w->nodes <= set_ring_free(&words->nodes);
}

int set_leaves(cohort_context *context, const struct set_two *of)
{
    struct two w;
    w.context = context;
    w.of = of;
    w.vectors = sets_vectors_of(cpu_device(context)->level);
    w.leaf = w.few;
    w.room = LEAVES_FEW;
    w.n = w.blocks = w.nodes = w.changes = 0;
    w.failed = 0;
    list_leaves(&w, of->first->nodes, of->second->nodes, of->into->levels, 0);
    const int enough = is_enough(&w);
    if (enough) {
        if (!of->held)
            empty(of->into);
        make_leaves(&w);
        take_blocks(&w);
        change_all(&w);
        settle_all(&w);
    }
    if (w.leaf != w.few)
        free(w.leaf);
    return enough;
}
