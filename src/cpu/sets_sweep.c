/* cpu/sets_sweep.c: two chunks of arrays or runs, by their borders.
 *
 * A run has two borders, its first number and the one after its last; a number of an array is a run of
 * one. Both chunks' borders are gone through in order; where the operation's truth changes, a run of the
 * answer begins or ends. Nothing branches on the data but the end. AND and OR need less: they go from run to
 * run, and put together those of the answer that touch. */
#include "sets_sweep.h"

#define END 0x20000u

/* Border k of a chunk, END behind the last. */
CO_INLINE co_u32 border(const struct sets_chunk *c, co_u32 k)
{
    if (k >= 2 * c->entries)
        return END;
    if (c->kind != CO_CHUNK_RUNS)
        return sets_chunk_entry(c, k / 2) + (k & 1);
    return k & 1 ? co_chunk_run_last(c->at, k / 2) + 1 : ((const co_u16 *)c->at)[k];
}

/* Which of (in neither, in b alone, in a alone, in both) are in the answer: a bit each. */
static co_u32 truth(co_u32 op)
{
    return op == SETS_AND ? 8 : op == SETS_OR ? 14 : op == SETS_ANDNOT ? 4 : 6;
}

/* ---- from run to run ----------------------------------------------------------------------------------- */

/* The runs of an answer so far: the last of them is still open. */
struct open_run {
    co_u16 *to;
    co_u32 runs, card, first, end; /* end: one behind its last; 0: there is none yet */
};

CO_INLINE void close_run(struct open_run *o)
{
    if (!o->end)
        return;
    o->to[2 * o->runs] = (co_u16)o->first;
    o->to[2 * o->runs + 1] = (co_u16)(o->end - 1 - o->first);
    o->runs++;
    o->card += o->end - o->first;
}

/* Firsts come in ascending order. */
CO_INLINE void add_run(struct open_run *o, co_u32 first, co_u32 end)
{
    if (o->end && first <= o->end) {
        o->end = end > o->end ? end : o->end;
        return;
    }
    close_run(o);
    o->first = first;
    o->end = end;
}

CO_INLINE co_u32 first_of(const struct sets_chunk *c, int runs, co_u32 i)
{
    return runs ? ((const co_u16 *)c->at)[2 * i] : sets_chunk_entry(c, i);
}
CO_INLINE co_u32 end_of(const struct sets_chunk *c, int runs, co_u32 i)
{
    return runs ? co_chunk_run_last(c->at, i) + 1 : sets_chunk_entry(c, i) + 1u;
}

CO_INLINE void and_runs(const struct sets_chunk *a, int a_runs, const struct sets_chunk *b, int b_runs,
                        struct open_run *o)
{
    for (co_u32 i = 0, j = 0; i < a->entries && j < b->entries;) {
        co_u32 x = first_of(a, a_runs, i), y = first_of(b, b_runs, j), first = x > y ? x : y;
        co_u32 x_end = end_of(a, a_runs, i), y_end = end_of(b, b_runs, j);
        co_u32 end = x_end < y_end ? x_end : y_end;
        if (first < end)
            add_run(o, first, end);
        i += x_end <= y_end;
        j += y_end <= x_end;
    }
}

CO_INLINE void or_runs(const struct sets_chunk *a, int a_runs, const struct sets_chunk *b, int b_runs,
                       struct open_run *o)
{
    co_u32 i = 0, j = 0;
    while (i < a->entries && j < b->entries) {
        co_u32 x = first_of(a, a_runs, i), y = first_of(b, b_runs, j);
        if (x < y) {
            add_run(o, x, end_of(a, a_runs, i));
            i++;
        } else {
            add_run(o, y, end_of(b, b_runs, j));
            j++;
        }
    }
    for (; i < a->entries; i++)
        add_run(o, first_of(a, a_runs, i), end_of(a, a_runs, i));
    for (; j < b->entries; j++)
        add_run(o, first_of(b, b_runs, j), end_of(b, b_runs, j));
}

static co_u32 by_runs(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b, co_u16 *to,
                      co_u32 *card)
{
    struct open_run o = {to, 0, 0, 0, 0};
    int x = a->kind == CO_CHUNK_RUNS, y = b->kind == CO_CHUNK_RUNS;
    if (op == SETS_AND && x && y)
        and_runs(a, 1, b, 1, &o);
    else if (op == SETS_AND)
        and_runs(a, x, b, y, &o);
    else if (x && y)
        or_runs(a, 1, b, 1, &o);
    else
        or_runs(a, x, b, y, &o);
    close_run(&o);
    *card = o.card;
    return o.runs;
}

co_u32 sets_sweep(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b, co_u16 *to, co_u32 *card)
{
    co_u32 edges[4 * SETS_SWEEP_MOST + 4], count = 0, i = 0, j = 0, in = 0, runs = 0, law = truth(op);
    co_u32 x = border(a, 0), y = border(b, 0);
    if (op == SETS_AND || op == SETS_OR)
        return by_runs(op, a, b, to, card);
    *card = 0;
    while (x < END || y < END) {
        co_u32 at = x < y ? x : y, now;
        i += x == at;
        j += y == at;
        x = border(a, i);
        y = border(b, j);
        now = law >> ((i & 1) << 1 | (j & 1)) & 1; /* inside after an odd number of borders */
        edges[count] = at;
        count += now ^ in;
        in = now;
    }
    for (co_u32 e = 0; e + 1 < count; e += 2) {
        if (edges[e + 1] <= edges[e])
            continue;
        *card += edges[e + 1] - edges[e];
        if (runs && (co_u32)to[2 * runs - 2] + to[2 * runs - 1] + 1 == edges[e])
            runs--; /* goes on where the last one ended */
        else
            to[2 * runs] = (co_u16)edges[e];
        to[2 * runs + 1] = (co_u16)(edges[e + 1] - 1 - to[2 * runs]);
        runs++;
    }
    return runs;
}
