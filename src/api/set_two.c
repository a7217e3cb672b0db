/* set_two.c: a working set becomes what comes of two others, chunk by chunk, where the backend does not do
 * it at once (set_in_place.c). On the host one may be of a collection. No collection is made: where both have
 * a chunk its piece has the one, and what it is changed by next is the other. What comes of them may be
 * empty, so there may be less to hand out than is asked for: where the pool is too small for that, or members
 * might be beyond the limit, nothing is done here. */
#include <stdlib.h>

#include "api/set_change.h"
#include "shape/sets_chunk.h"

struct both {
    cohort_sets_op op;
    struct set_pieces side[2];
    struct changing *c;
};

static cohort_status list(const struct changing *c, const struct set_operand *o, struct set_pieces *p)
{
    return o->working ? set_pieces_by(o->working, c->call, p)
                      : set_pieces_of(c->context, c->call, &o->sets->view, &o->sets->view, o->number, p);
}

/* ---- limits -------------------------------------------------------------------------------------------- */

/* Are all members of the operand below the set's limit? */
static int is_below(const struct changing *c, const struct set_operand *o, const struct set_pieces *p)
{
    const co_u64 limit = c->set->state.view.limit, key = p->n ? p->piece[p->n - 1].key : 0;
    const co_u64 other = o->working ? o->working->state.view.limit : 0;
    if (!p->n || key < set_last_key(c) || (key == set_last_key(c) && limit % CO_CHUNK_IDS == 0))
        return 1;
    /* what it may have at most; 0: nobody knows */
    return other && other <= limit;
}

static int stays_below(const struct both *b, const struct set_operand *first,
                       const struct set_operand *second)
{
    const int x = is_below(b->c, first, &b->side[0]), y = is_below(b->c, second, &b->side[1]);
    return b->op == COHORT_SETS_AND ? x || y : b->op == COHORT_SETS_ANDNOT ? x : x && y;
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* Of a chunk of one of the two. NULL: not known. */
static const struct set_lines *lines_of(const struct both *b, int side, const struct set_piece *p)
{
    const struct set_form *forms = b->side[side].forms;
    return forms && p->kind == CO_CHUNK_BITMAP ? &forms[p->entries].lines : NULL;
}

/* A piece of the chunk of one of the two, which is then changed by that of the other; by: NULL: by none. */
static void put(const struct both *b, int side, const struct set_piece *p, const struct set_piece *by,
                enum set_change_kind kind)
{
    struct changing *c = b->c;
    struct set_second *next = &c->second[c->by.n];
    *next = (struct set_second){.first = lines_of(b, side, p)};
    next->sure = (b->side[side].forms != NULL) | (co_u32)(b->side[!side].forms != NULL) << 1;
    if (by) {
        next->at = by->at;
        next->lines = lines_of(b, !side, by);
        next->kind = by->kind;
        next->entries = by->entries;
        next->change = kind;
    }
    c->by.piece[c->by.n++] = *p;
}

/* A chunk that only the one of them has. */
static void put_one(const struct both *b, int side, const struct set_piece *p)
{
    if (b->op == COHORT_SETS_OR || b->op == COHORT_SETS_XOR || (b->op == COHORT_SETS_ANDNOT && !side))
        put(b, side, p, NULL, SET_ADD);
}

/* One that both have. A full one decides what comes of the other, or turns it round. */
static void put_both(const struct both *b, const struct set_piece *x, const struct set_piece *y)
{
    const int full_x = x->kind == CO_CHUNK_FULL, full_y = y->kind == CO_CHUNK_FULL;
    const struct set_piece *full = full_x ? x : y, *other = full_x ? y : x;
    if (!full_x && !full_y)
        put(b, 0, x, y,
            b->op == COHORT_SETS_AND      ? SET_KEEP
            : b->op == COHORT_SETS_OR     ? SET_ADD
            : b->op == COHORT_SETS_ANDNOT ? SET_REMOVE
                                          : SET_FLIP);
    else if (b->op == COHORT_SETS_AND || b->op == COHORT_SETS_OR)
        put(b, (b->op == COHORT_SETS_AND) == full_x, b->op == COHORT_SETS_AND ? other : full, NULL, SET_ADD);
    else if (full_x ? !full_y : b->op == COHORT_SETS_XOR)
        put(b, full_x, other, full, SET_FLIP);
}

static void put_all(const struct both *b)
{
    const struct set_pieces *x = &b->side[0], *y = &b->side[1];
    uint64_t i = 0, j = 0;
    while (i < x->n || j < y->n) {
        const int has_x = i < x->n && (j == y->n || x->piece[i].key <= y->piece[j].key);
        const int has_y = j < y->n && (i == x->n || y->piece[j].key <= x->piece[i].key);
        if (has_x && has_y)
            put_both(b, &x->piece[i], &y->piece[j]);
        else if (has_x)
            put_one(b, 0, &x->piece[i]);
        else
            put_one(b, 1, &y->piece[j]);
        i += (uint64_t)has_x;
        j += (uint64_t)has_y;
    }
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static cohort_status room_for(struct changing *c, uint64_t n)
{
    cohort_status status = set_pieces_room(c->context, c->call, n, &c->by);
    c->by.n = 0;
    if (!status && !(c->second = malloc((n + 1) * sizeof *c->second)))
        status = context_fail(c->context, COHORT_NO_MEMORY, "%s: no memory for a list of %llu chunks",
                              c->call, (unsigned long long)n);
    return status;
}

cohort_status set_two(cohort_set *set, const char *call, cohort_sets_op op, const struct set_operand *first,
                      const struct set_operand *second, int *done)
{
    struct changing c = {.context = set->context,
                         .call = call,
                         .set = set,
                         .kind = SET_ASSIGN,
                         .rooms = sets_rooms_begin(set->context),
                         .answers = 1};
    struct both b = {.op = op, .c = &c};
    cohort_status status = list(&c, first, &b.side[0]);
    *done = 0;
    if (!status)
        status = list(&c, second, &b.side[1]);
    const int may = !status && set_pieces_ascend(&b.side[0]) && set_pieces_ascend(&b.side[1]) &&
                    stays_below(&b, first, second);
    if (may)
        status = room_for(&c, b.side[0].n + b.side[1].n);
    if (may && !status) {
        put_all(&b);
        status = set_change_listed(&c);
        *done = status != COHORT_FULL;
    }
    free(b.side[0].piece);
    free(b.side[1].piece);
    free(c.by.piece);
    free(c.second);
    sets_rooms_end(&c.rooms);
    return status == COHORT_FULL ? COHORT_OK : status;
}
