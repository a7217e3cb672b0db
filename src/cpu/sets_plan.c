/* cpu/sets_plan.c: pieces of a query's rows.
 *
 * Many rows are cut into pieces of as many rows each. Where they are few one may be most of the work: then
 * rows are weighed by the chunks of the operand whose keys they go through, and one that weighs more than a
 * piece should is cut between keys of that operand. What a piece may find at most is known before. */
#include "sets_plan.h"

#include <string.h>

#define ROW_GRAIN   16u   /* rows that a piece has a multiple of, where rows are many */
#define ROWS_MANY   1024u /* so many are not weighed */
#define PART_CHUNKS 64u   /* less is not worth a piece of its own */

int sets_row_meets(const struct sets_query *q, co_u64 row)
{
    return q->counts && !q->any && !q->first_most && !q->found && q->op <= SETS_XOR &&
           sets_row_arity(q, row) == 2;
}

struct co_sets_set sets_part_of(const cohort_sets_view *v, struct co_sets_set set, co_u64 from, co_u64 limit)
{
    co_u32 present;
    if (!from && limit == SETS_NO_KEY)
        return set;
    co_u64 low = set.large ? co_sets_lower(v, &set, from, &present)
                           : co_sets_list_lower(v, &set, from << CO_CHUNK_BITS);
    co_u64 high = limit == SETS_NO_KEY ? set.n
                  : set.large          ? co_sets_lower(v, &set, limit, &present)
                                       : co_sets_list_lower(v, &set, limit << CO_CHUNK_BITS);
    set.first += low;
    set.n = high - low;
    set.words = 0;
    return set;
}

/* ---- room ---------------------------------------------------------------------------------------------- */

/* What a row comes to, at most. */
static struct sets_bound row_bound(const struct sets_query *q, co_u64 row)
{
    struct sets_bound b = {0, 0, 0, 0};
    struct sets_two_lists l;
    if ((q->op != SETS_AND && q->op != SETS_ANDNOT) || !sets_are_two_lists(q, row, &l))
        return sets_row_bound(q, row);
    b.members = b.chunks = q->op == SETS_AND && l.n[1] < l.n[0] ? l.n[1] : l.n[0];
    return b;
}

/* What a part of a row comes to, at most. */
static struct sets_bound part_bound(const struct sets_query *q, const struct sets_piece_of_rows *p)
{
    struct sets_bound sum = {0, 0, 0, 0};
    for (co_u64 k = 0, n = sets_row_arity(q, p->row); k < n; k++) {
        const cohort_sets_view *view;
        struct co_sets_set set = sets_of_row(q, sets_row_member(q, p->row, k), &view);
        set = sets_part_of(view, set, p->from, p->limit);
        co_u64 members = co_sets_size(view, &set);
        int less = !k || (q->op == SETS_AND && set.n < sum.chunks);
        sum.chunks = q->op != SETS_AND ? sum.chunks + set.n : less ? set.n : sum.chunks;
        less = !k || (q->op == SETS_AND && members < sum.members);
        sum.members = q->op != SETS_AND ? sum.members + members : less ? members : sum.members;
        if (q->op == SETS_ANDNOT)
            break;
    }
    sum.chunks = sum.chunks < p->limit - p->from ? sum.chunks : p->limit - p->from;
    return sum;
}

/* What begins behind `last`, or first of all. */
static void begin_piece(struct sets_piece_of_rows *piece, const struct sets_piece_of_rows *last)
{
    memset(piece, 0, sizeof *piece);
    piece->limit = SETS_NO_KEY;
    if (!last)
        return;
    piece->row = piece->row_end = last->row_end;
    piece->chunk = last->chunk;
    piece->unit = last->unit;
}

/* Ends the piece: its room, and the most operands. */
static void end_piece(struct sets_plan *p, int rooms)
{
    const struct sets_query *q = p->q;
    struct sets_piece_of_rows *piece = &p->piece[p->pieces++];
    begin_piece(piece + 1, piece);
    for (co_u64 r = piece->row; r < piece->row_end && q->offsets; r++) {
        co_u64 arity = sets_row_arity(q, r);
        p->arity = arity > p->arity ? arity : p->arity;
    }
    for (co_u64 r = piece->row; r < piece->row_end && rooms; r++) {
        struct sets_bound b = sets_piece_is_whole(piece) ? row_bound(q, r) : part_bound(q, piece);
        piece[1].chunk += b.chunks;
        piece[1].unit += sets_units_most(&b);
        if (!piece->from) /* of a row that is cut once */
            p->listed +=
                sets_piece_is_whole(piece) && b.members < SETS_LIST_MOST ? b.members : SETS_LIST_MOST;
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* The operand whose keys a row goes through, as far as it has chunks: of AND that of the fewest, of ANDNOT
 * the first, else that of the most. Their number. */
static co_u64 leader(const struct sets_query *q, co_u64 row, const cohort_sets_view **view,
                     struct co_sets_set *set)
{
    co_u64 n = sets_row_arity(q, row), most = 0;
    for (co_u64 k = 0; k < (q->op == SETS_ANDNOT && n ? 1 : n); k++) {
        const cohort_sets_view *v;
        struct co_sets_set s = sets_of_row(q, sets_row_member(q, row, k), &v);
        co_u64 chunks = s.large ? s.n : 0;
        if (k && (q->op == SETS_AND ? chunks >= most : chunks <= most))
            continue;
        most = chunks;
        *view = v;
        *set = s;
    }
    return most;
}

static void cut_row(struct sets_plan *p, co_u64 row, const cohort_sets_view *view,
                    const struct co_sets_set *set, co_u64 parts, int rooms)
{
    co_u64 from = 0;
    if (p->q->counts)
        p->q->counts[row] = 0;
    for (co_u64 i = 0; i < parts; i++) {
        struct sets_piece_of_rows *piece = &p->piece[p->pieces];
        piece->row = row;
        piece->row_end = row + 1;
        piece->from = from;
        piece->limit =
            i + 1 == parts ? SETS_NO_KEY : co_sets_key(view, set->first + set->n * (i + 1) / parts);
        from = piece->limit;
        end_piece(p, rooms);
    }
}

static void weigh_rows(struct sets_plan *p, int rooms)
{
    const struct sets_query *q = p->q;
    const cohort_sets_view *view = NULL;
    struct co_sets_set set = {0, 0, 0, 0, 0, 0};
    co_u64 total = 0, so_far = 0;
    for (co_u64 row = 0; row < q->rows; row++)
        total += 1 + leader(q, row, &view, &set);
    co_u64 each = total / SETS_PIECES + 1 < PART_CHUNKS ? PART_CHUNKS : total / SETS_PIECES + 1;
    for (co_u64 row = 0; row < q->rows; row++) {
        co_u64 chunks = leader(q, row, &view, &set);
        int cut = chunks >= 2 * each;
        if (cut && p->piece[p->pieces].row < row)
            end_piece(p, rooms);
        if (cut) {
            cut_row(p, row, view, &set, chunks / each, rooms);
            so_far = 0;
            continue;
        }
        p->piece[p->pieces].row_end = row + 1;
        so_far += 1 + chunks;
        if (so_far < each && row + 1 < q->rows)
            continue;
        end_piece(p, rooms);
        so_far = 0;
    }
}

static void count_rows(struct sets_plan *p, co_u64 each, int rooms)
{
    const struct sets_query *q = p->q;
    for (co_u64 row = 0; row < q->rows; row += each) {
        p->piece[p->pieces].row_end = q->rows - row < each ? q->rows : row + each;
        end_piece(p, rooms);
    }
}

/* The room of a single piece is told once: when it is worked on, it is all there is. One thread too has
 * pieces where no room is needed, or where there are many rows and somebody is told of them: its work can be
 * ended between them. */
void sets_plan_make(struct sets_plan *p, const struct sets_query *q, unsigned threads, int told)
{
    const int whole = q->found && threads == 1 && !(told && q->rows >= ROWS_MANY),
              given = whole && q->found->pool;
    const int rooms = q->found && !given;
    p->q = q;
    p->arity = q->rows && !q->offsets ? sets_row_arity(q, 0) : 0;
    p->listed = 0;
    p->pieces = 0;
    begin_piece(&p->piece[0], NULL);
    if (threads > 1 && q->rows < ROWS_MANY && !q->any && !q->first_most)
        weigh_rows(p, rooms);
    else
        count_rows(p, whole ? q->rows + 1 : (q->rows / SETS_PIECES / ROW_GRAIN + 1) * ROW_GRAIN, rooms);
    if (given) {
        p->piece[p->pieces].chunk = q->found->chunks;
        p->piece[p->pieces].unit = q->found->units;
    }
}
