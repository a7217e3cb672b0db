/* cpu/set_block.c: changes of one block of a working set.
 *
 * A block has 128 lines of 512 bits, and a bit of each says whether there may be members. So of blocks
 * with few members, which most sparse sets have, little is read and written: bitmaps are put together in
 * the lines that matter, and what was left in a block by the chunk that had it before is cleared where
 * there was something. Dense ones are put together whole, which spares the steps from line to line.
 *
 * A block that came of an array of few members is one itself, until it has more, or somebody asks for a
 * view of the set, in which all blocks are bitmaps. Sparse sets are then met as their arrays are. */
#include "set_block.h"

#include <string.h>

#include "sets_change.h"

#define LINE_WORDS 8u
#define SCATTERED  40u  /* lines from which on a block is cleared whole */
#define DENSE      80u  /* lines from which on all are put together */
#define SINGLES    4u   /* numbers that go one by one into an array that has more, or out of it */
#define MANY       256u /* members of an array for which it becomes a bitmap, or the block is counted anew */

/* A block, a chunk of a collection, or a part of a list. */
struct side {
    struct sets_chunk chunk;
    struct set_lines lines; /* of a bitmap */
    int sure; /* it is a working set's: an array ascends. Those of a file need not that was mapped */
};

struct changed {
    const struct sets_vectors *vectors;
    co_u64 *words;
    co_u16 *near;           /* for an array of few entries */
    struct set_lines lines; /* of the block as it is */
    co_u32 entries;         /* it is an array of so many members; 0: a bitmap, or empty */
    co_u32 card;
    int flat;   /* the block stays if it is empty, and so must be zeros */
    int arrays; /* it may become one */
};

static const struct set_lines all_lines = {{~0ull, ~0ull}}, no_lines = {{0, 0}};

/* ---- lines --------------------------------------------------------------------------------------------- */

static co_u32 count_lines(const struct set_lines *l)
{
    return (co_u32)(__builtin_popcountll(l->of[0]) + __builtin_popcountll(l->of[1]));
}

static struct set_lines lines_both(const struct set_lines *a, const struct set_lines *b)
{
    return (struct set_lines){{a->of[0] & b->of[0], a->of[1] & b->of[1]}};
}

static struct set_lines lines_either(const struct set_lines *a, const struct set_lines *b)
{
    return (struct set_lines){{a->of[0] | b->of[0], a->of[1] | b->of[1]}};
}

static struct set_lines lines_without(const struct set_lines *a, const struct set_lines *b)
{
    return (struct set_lines){{a->of[0] & ~b->of[0], a->of[1] & ~b->of[1]}};
}

static void lines_add(struct set_lines *l, co_u32 member)
{
    l->of[member >> 15] |= 1ull << (member >> 9 & 63);
}

static int lines_have(const struct set_lines *l, co_u32 member)
{
    return (int)(l->of[member >> 15] >> (member >> 9 & 63) & 1);
}

/* Each bit twice: a digest's bit tells of 1,024 members. */
static co_u64 twice(co_u64 v)
{
    v = (v | v << 16) & 0x0000ffff0000ffffull;
    v = (v | v << 8) & 0x00ff00ff00ff00ffull;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0full;
    v = (v | v << 2) & 0x3333333333333333ull;
    v = (v | v << 1) & 0x5555555555555555ull;
    return v | v << 1;
}

static struct set_lines lines_of_digest(co_u64 digest)
{
    return (struct set_lines){{twice(digest & 0xffffffffu), twice(digest >> 32)}};
}

/* In these lines alone. */
static void clear_lines(co_u64 *words, const struct set_lines *l)
{
    for (co_u32 half = 0; half < 2; half++, words += 64 * LINE_WORDS) {
        if (l->of[half] == ~0ull)
            memset(words, 0, 64 * LINE_WORDS * sizeof *words);
        for (co_u64 left = l->of[half] + 1 ? l->of[half] : 0; left; left &= left - 1)
            memset(words + (co_u32)__builtin_ctzll(left) * LINE_WORDS, 0, LINE_WORDS * sizeof *words);
    }
}

void set_block_clear(co_u64 *words, const struct set_lines *l)
{
    if (count_lines(l) < SCATTERED)
        clear_lines(words, l);
    else
        memset(words, 0, CO_CHUNK_BYTES);
}

static void clear(struct changed *c)
{
    set_block_clear(c->words, &c->lines);
    c->lines = no_lines;
    c->entries = 0;
    c->card = 0;
}

/* ---- bitmaps ------------------------------------------------------------------------------------------- */

/* The block becomes a op b. */
static void put_together(struct changed *c, const co_u64 *a, const struct set_lines *in_a, const co_u64 *b,
                         const struct set_lines *in_b, co_u32 op)
{
    const int own = a == c->words;
    const co_u32 before = c->card;
    struct set_lines work = op == SETS_AND      ? lines_both(in_a, in_b)
                            : op == SETS_ANDNOT ? own ? lines_both(in_a, in_b) : *in_a
                            : own               ? *in_b
                                                : lines_either(in_a, in_b);
    if (count_lines(&work) >= DENSE) {
        struct sets_measure m = c->vectors->words(c->words, a, b, op);
        c->lines = lines_of_digest(m.digest);
        c->card = m.card;
        return;
    }
    if (!own || op == SETS_AND) { /* what else there is goes */
        struct set_lines rest = lines_without(&c->lines, &work);
        clear_lines(c->words, &rest);
        c->lines = no_lines;
        c->card = 0;
    }
    struct set_line_sums sums = c->vectors->lines(c->words, a, b, op, &work);
    c->lines = lines_without(&c->lines, &work);
    c->lines = lines_either(&c->lines, &sums.some);
    c->card = own && op != SETS_AND ? before - sums.before + sums.after : sums.after;
}

static co_u32 op_of(enum set_change_kind kind)
{
    return kind == SET_ADD      ? SETS_OR
           : kind == SET_REMOVE ? SETS_ANDNOT
           : kind == SET_KEEP   ? SETS_AND
                                : SETS_XOR;
}

/* By a bitmap, or by a chunk that becomes one. */
static void change_by_bitmap(struct changed *c, enum set_change_kind kind, const struct side *s)
{
    co_u64 room[SETS_CHUNK_WORDS];
    struct set_lines lines = s->lines, mine = c->lines;
    const co_u64 *other = s->chunk.at;
    if (s->chunk.kind == CO_CHUNK_ARRAY) {
        memset(room, 0, sizeof room);
        c->vectors->change(room, SETS_OR, s->chunk.at, s->chunk.entries);
    } else if (s->chunk.kind != CO_CHUNK_BITMAP) {
        sets_chunk_bitmap(&s->chunk, room);
    }
    if (s->chunk.kind != CO_CHUNK_BITMAP) {
        other = room;
        lines = all_lines;
    }
    put_together(c, c->words, &mine, other, &lines, op_of(kind));
}

/* An empty block becomes the bitmap. */
static void copy_bitmap(struct changed *c, const struct side *s)
{
    put_together(c, s->chunk.at, &s->lines, s->chunk.at, &s->lines, SETS_OR);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* An array's members one by one. */
CO_INLINE void change_each(struct changed *c, enum set_change_kind kind, const struct sets_chunk *s)
{
    co_u64 *words = c->words;
    co_u32 card = c->card;
    for (co_u32 i = 0; i < s->entries; i++) {
        co_u16 v = sets_chunk_entry(s, i);
        co_u64 bit = 1ull << v % 64, old = words[v / 64];
        co_u64 word = kind == SET_ADD ? old | bit : kind == SET_REMOVE ? old & ~bit : old ^ bit;
        words[v / 64] = word;
        card += (co_u32)((word & bit) != 0) - (co_u32)((old & bit) != 0);
        if (kind != SET_REMOVE)
            lines_add(&c->lines, v);
    }
    c->card = card;
}

static void add_each(struct changed *c, const struct sets_chunk *s)
{
    change_each(c, SET_ADD, s);
}

/* What the array has not goes out. */
static void keep_each(struct changed *c, const struct side *s)
{
    co_u16 room[SETS_ARRAY_MOST];
    const struct sets_chunk kept = {room, CO_CHUNK_ARRAY, 0, 0, 0};
    struct sets_chunk k = kept;
    if (s->chunk.entries > SETS_ARRAY_MOST) {
        change_by_bitmap(c, SET_KEEP, s);
        return;
    }
    for (co_u32 i = 0; i < s->chunk.entries; i++) {
        const co_u16 v = sets_chunk_entry(&s->chunk, i);
        room[k.entries] = v;
        k.entries += lines_have(&c->lines, v) && (c->words[v / 64] >> v % 64 & 1);
    }
    if (!k.entries && !c->flat) { /* the block goes back as it is */
        c->card = 0;
        return;
    }
    clear(c);
    add_each(c, &k);
}

/* ---- blocks that are arrays ---------------------------------------------------------------------------- */

/* Where an array of n entries lies. */
static co_u16 *array_at(const struct changed *c, co_u32 n)
{
    return n <= SET_NEAR_MOST ? c->near : (co_u16 *)(void *)c->words;
}

/* The block becomes the array, of n members, n up to SET_FEW_MOST; what else lies in it stays. */
static void put_array(struct changed *c, const co_u16 *from, co_u32 n)
{
    memmove(array_at(c, n), from, n * sizeof *from);
    if (n > SET_NEAR_MOST)
        c->lines.of[0] |= (1ull << (n + 31) / 32) - 1;
    c->entries = c->card = n;
}

/* The block becomes the bitmap of an array that is elsewhere. */
static void put_bits(struct changed *c, const co_u16 *from, co_u32 n)
{
    clear(c);
    c->vectors->change(c->words, SETS_OR, from, n);
    c->lines = lines_of_digest(c->vectors->digest(from, n));
    c->card = n;
}

static void spread(struct changed *c)
{
    co_u16 room[SET_FEW_MOST];
    const co_u32 n = c->entries;
    memcpy(room, array_at(c, n), n * sizeof *room);
    put_bits(c, room, n);
}

static struct changed changed_of(const struct sets_vectors *vectors, const struct set_work *s, co_u64 block)
{
    return (struct changed){.vectors = vectors,
                            .words = set_block_words(s, block),
                            .near = s->forms[block].near,
                            .lines = s->forms[block].lines,
                            .flat = (int)s->flat,
                            .arrays = !s->flat && !s->plain};
}

void set_block_spread(const struct sets_vectors *vectors, const struct set_work *s, co_u64 block)
{
    struct set_form *form = &s->forms[block];
    struct changed c = changed_of(vectors, s, block);
    if (!form->entries)
        return;
    c.entries = form->entries;
    spread(&c);
    form->lines = c.lines;
    form->entries = 0;
}

/* The members of an array, or of a part of a list, as an array; of a list in the room. */
static const co_u16 *array_of(const struct sets_chunk *s, co_u16 *room)
{
    if (s->kind == CO_CHUNK_ARRAY)
        return s->at;
    for (co_u32 i = 0; i < s->entries; i++)
        room[i] = sets_chunk_entry(s, i);
    return room;
}

static int ascends(const struct sets_chunk *s)
{
    co_u32 falls = 0;
    for (co_u32 i = 1; i < s->entries; i++)
        falls |= sets_chunk_entry(s, i) <= sets_chunk_entry(s, i - 1);
    return !falls;
}

/* Is the chunk an array of few members, as a block may be one? */
static int is_few(const struct side *s)
{
    return sets_chunk_is_array(&s->chunk) && s->chunk.entries <= SET_FEW_MOST &&
           (s->sure || ascends(&s->chunk));
}

/* What comes of two arrays of few members. a may be the block. */
static void put_merged(struct changed *c, enum set_change_kind kind, const co_u16 *a, co_u32 n,
                       const co_u16 *b, co_u32 m)
{
    co_u16 room[2 * SET_FEW_MOST + SETS_VECTOR_ROOM];
    n = kind == SET_ADD || kind == SET_FLIP ? c->vectors->merge(op_of(kind), a, n, b, m, room)
                                            : c->vectors->filter(a, n, b, m, kind == SET_KEEP, room);
    if (n <= SET_FEW_MOST)
        put_array(c, room, n);
    else
        put_bits(c, room, n);
}

/* One number into the block, which is an array, or out of it. */
static void change_single(struct changed *c, enum set_change_kind kind, co_u16 v)
{
    const co_u32 n = c->entries;
    co_u16 *at = array_at(c, n);
    const co_u32 i = co_chunk_array_lower(at, n, v);
    const int has = i < n && at[i] == v;
    if (has && kind != SET_ADD) {
        memmove(at + i, at + i + 1, (n - i - 1) * sizeof *at);
        c->entries = c->card = n - 1;
    } else if (!has && kind != SET_REMOVE) {
        memmove(at + i + 1, at + i, (n - i) * sizeof *at);
        at[i] = v;
        if (n >= SET_NEAR_MOST)
            c->lines.of[0] |= 1ull << n / 32;
        c->entries = c->card = n + 1;
    }
}

/* Does the array stay where it is, whatever comes of so many numbers? */
static int stays_there(const struct changed *c, co_u32 n)
{
    return c->entries <= SET_NEAR_MOST ? c->entries + n <= SET_NEAR_MOST
                                       : c->entries - n > SET_NEAR_MOST && c->entries + n <= SET_FEW_MOST;
}

/* The block, which is an array, by one of few members. */
static void change_few(struct changed *c, enum set_change_kind kind, const struct sets_chunk *s)
{
    co_u16 room[SET_FEW_MOST];
    const co_u16 *b = array_of(s, room);
    if (kind != SET_KEEP && s->entries <= SINGLES && c->entries > s->entries && stays_there(c, s->entries)) {
        for (co_u32 i = 0; i < s->entries; i++)
            change_single(c, kind, b[i]);
        return;
    }
    put_merged(c, kind, array_at(c, c->entries), c->entries, b, s->entries);
}

/* By a bitmap: what of the array it has goes out, or what it has not. */
static void change_few_by_bits(struct changed *c, enum set_change_kind kind, const co_u64 *bits)
{
    co_u16 *at = array_at(c, c->entries);
    co_u32 n = 0;
    for (co_u32 i = 0; i < c->entries; i++) {
        const co_u16 v = at[i];
        at[n] = v;
        n += (bits[v / 64] >> v % 64 & 1) == (kind == SET_KEEP);
    }
    put_array(c, at, n);
}

/* Is the block an array, and stays one? Then it is changed. */
static int changes_few(struct changed *c, enum set_change_kind kind, const struct side *s)
{
    const int goes = kind == SET_KEEP || kind == SET_REMOVE;
    if (!c->entries)
        return 0;
    if (is_few(s))
        change_few(c, kind, &s->chunk);
    else if (goes && s->chunk.kind == CO_CHUNK_BITMAP)
        change_few_by_bits(c, kind, s->chunk.at);
    else if (kind != SET_KEEP || s->chunk.kind != CO_CHUNK_FULL)
        return 0;
    return 1;
}

/* ---- a chunk ------------------------------------------------------------------------------------------- */

/* By an array of many members, after which all members are counted. */
static void change_by_many(struct changed *c, enum set_change_kind kind, const struct sets_chunk *s)
{
    c->vectors->change(c->words, op_of(kind), s->at, s->entries);
    put_together(c, c->words, &all_lines, c->words, &all_lines, SETS_OR);
}

static void change_by(struct changed *c, enum set_change_kind kind, const struct side *s)
{
    const int many = s->chunk.kind == CO_CHUNK_ARRAY && s->chunk.entries >= MANY;
    if (changes_few(c, kind, s))
        return;
    if (c->entries)
        spread(c);
    if (!sets_chunk_is_array(&s->chunk) || (many && kind == SET_KEEP))
        change_by_bitmap(c, kind, s);
    else if (many)
        change_by_many(c, kind, &s->chunk);
    else if (kind == SET_KEEP)
        keep_each(c, s);
    else if (kind == SET_ADD)
        add_each(c, &s->chunk);
    else if (kind == SET_REMOVE)
        change_each(c, SET_REMOVE, &s->chunk);
    else
        change_each(c, SET_FLIP, &s->chunk);
}

/* lines: of the bitmap, where they are known. */
static struct side side_of(const void *at, co_u32 kind, co_u32 entries, const struct set_lines *lines,
                           int sure)
{
    return (struct side){{at, kind, entries, 0, 0}, lines ? *lines : all_lines, sure};
}

static const struct set_lines *first_lines(const struct set_work *s, const struct set_piece *p,
                                           const struct set_second *next)
{
    if (p->kind != CO_CHUNK_BITMAP)
        return NULL;
    return next ? next->first : s->by_forms ? &s->by_forms[p->entries].lines : NULL;
}

/* The block that is empty becomes the first chunk, or what comes of both. */
static void change_empty(struct changed *c, const struct side *first, const struct side *second,
                         enum set_change_kind next)
{
    const int bitmaps = first->chunk.kind == CO_CHUNK_BITMAP;
    if (bitmaps && next && second->chunk.kind == CO_CHUNK_BITMAP) {
        put_together(c, first->chunk.at, &first->lines, second->chunk.at, &second->lines, op_of(next));
        return;
    }
    if (c->arrays && is_few(first)) {
        co_u16 room[2][SET_FEW_MOST];
        const co_u16 *a = array_of(&first->chunk, room[0]);
        if (next && is_few(second)) {
            put_merged(c, next, a, first->chunk.entries, array_of(&second->chunk, room[1]),
                       second->chunk.entries);
            return;
        }
        put_array(c, a, first->chunk.entries);
    } else if (bitmaps) {
        copy_bitmap(c, first);
    } else {
        clear(c);
        change_by(c, SET_ADD, first);
    }
    if (next)
        change_by(c, next, second);
}

void set_block_know(const struct set_work *s)
{
    co_u64 *known = &s->words->known, taken = s->words->blocks.taken;
    const co_u64 to = taken < s->block_room ? taken : s->block_room;
    if (s->flat || to <= *known)
        return;
    for (co_u64 k = *known; k < to; k++) {
        s->forms[k].lines = all_lines;
        s->forms[k].entries = 0;
    }
    *known = to;
}

/* What is in a block that its piece has just taken, or in one that stays. */
static void begin(struct changed *c, const struct set_piece *p)
{
    if (p->fill == SET_ONES) {
        memset(c->words, 0xff, CO_CHUNK_BYTES);
        c->lines = all_lines;
        c->card = CO_CHUNK_IDS;
    }
}

co_u32 set_block_change(const struct sets_vectors *vectors, const struct set_work *s, co_u64 i)
{
    const struct set_piece *p = &s->piece[i];
    const struct set_second *next = s->second ? &s->second[i] : NULL;
    struct set_form *form = &s->forms[p->block];
    struct changed c = changed_of(vectors, s, p->block);
    enum set_change_kind kind = (enum set_change_kind)s->kind;
    struct side first = side_of(p->at, p->kind, p->entries, first_lines(s, p, next),
                                next ? (int)(next->sure & 1) : s->by_forms != NULL),
                second = first;
    c.entries = p->fill == SET_AS_IS ? form->entries : 0;
    c.card = p->before;
    begin(&c, p);
    if (next && next->change)
        second = side_of(next->at, next->kind, next->entries, next->lines, (int)(next->sure >> 1));
    if (p->kind == SET_CHUNK_NOTHING) { /* the block of a flat set stays where it is, others go back */
        if (s->flat)
            clear(&c);
        c.card = 0;
    } else if (!p->before && kind != SET_REMOVE && kind != SET_KEEP) {
        change_empty(&c, &first, &second,
                     next ? (enum set_change_kind)next->change : (enum set_change_kind)0);
    } else {
        change_by(&c, kind, &first);
    }
    form->lines = c.lines;
    form->entries = c.card ? c.entries : 0;
    return c.card;
}

/* ---- two blocks ---------------------------------------------------------------------------------------- */

static struct side side_of_block(const struct set_block_of *b)
{
    const struct set_form *form = &b->set->forms[b->block];
    struct side s = {{set_block_words(b->set, b->block), CO_CHUNK_BITMAP, 0, 0, 0}, form->lines, 1};
    if (form->entries) {
        s.chunk.at = set_block_array(b->set->forms, b->set->blocks, b->block);
        s.chunk.kind = CO_CHUNK_ARRAY;
        s.chunk.entries = form->entries;
    }
    return s;
}

/* Members of the array that are not in the bitmap, in place of it. */
static void put_rest(struct changed *c, const struct sets_chunk *s)
{
    co_u16 room[SET_FEW_MOST];
    const co_u16 *at = s->at;
    co_u32 n = 0;
    for (co_u32 i = 0; i < s->entries; i++) {
        room[n] = at[i];
        n += !(c->words[at[i] / 64] >> at[i] % 64 & 1);
    }
    if (c->arrays)
        put_array(c, room, n);
    else
        put_bits(c, room, n);
}

/* The block becomes what of the other one it has not; they are not both arrays. */
static void change_from(struct changed *c, const struct side *s)
{
    const co_u32 n = c->entries;
    if (s->chunk.entries && !n) {
        put_rest(c, &s->chunk);
    } else if (n) {
        co_u16 room[SET_FEW_MOST];
        const struct side own = {{room, CO_CHUNK_ARRAY, n, 0, 0}, all_lines, 1};
        memcpy(room, array_at(c, n), n * sizeof *room);
        c->entries = 0;
        copy_bitmap(c, s);
        change_by(c, SET_REMOVE, &own);
    } else {
        const struct set_lines mine = c->lines;
        put_together(c, s->chunk.at, &s->lines, c->words, &mine, SETS_ANDNOT);
    }
}

static enum set_change_kind change_of(co_u32 op)
{
    return op == SETS_AND      ? SET_KEEP
           : op == SETS_OR     ? SET_ADD
           : op == SETS_ANDNOT ? SET_REMOVE
           : op                ? SET_FLIP
                               : (enum set_change_kind)0;
}

/* Is the block that of two arrays? Most of sparse sets are. */
static int is_of_few(struct changed *c, const struct set_block_turn *t, enum set_change_kind kind)
{
    if (!kind || !c->arrays || (t->held == SET_HELD_FIRST && kind != SET_KEEP))
        return 0;
    const struct set_work *x = t->first.set, *y = t->second.set;
    const co_u32 n = x->forms[t->first.block].entries, m = y->forms[t->second.block].entries;
    if (!n || !m)
        return 0;
    put_merged(c, kind, set_block_array(x->forms, x->blocks, t->first.block), n,
               set_block_array(y->forms, y->blocks, t->second.block), m);
    return 1;
}

/* The block of the answer, whatever the two are. */
static void become(struct changed *c, const struct set_block_turn *t, enum set_change_kind kind)
{
    static const struct side full = {{NULL, CO_CHUNK_FULL, 0, 0, 0}, {{~0ull, ~0ull}}, 1};
    const struct side first = side_of_block(&t->first), second = kind ? side_of_block(&t->second) : first;
    if (t->held == SET_HELD_SECOND && kind)
        change_from(c, &first);
    else if (t->held && kind)
        change_by(c, kind, &second);
    else if (!t->held)
        change_empty(c, &first, &second, kind);
    if (t->others)
        change_by(c, SET_FLIP, &full);
}

co_u32 set_block_of_two(const struct set_work *s, const struct set_block_turn *t)
{
    struct set_form *form = &s->forms[t->block];
    const enum set_change_kind kind = change_of(t->op);
    struct changed c = changed_of(t->vectors, s, t->block);
    c.entries = t->held ? form->entries : 0;
    c.card = t->card;
    if (!is_of_few(&c, t, kind))
        become(&c, t, kind);
    form->lines = c.lines;
    form->entries = c.card ? c.entries : 0;
    return c.card;
}
