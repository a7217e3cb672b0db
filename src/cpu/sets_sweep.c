/* cpu/sets_sweep.c: two chunks of arrays or runs, from run to run; a number of an array is a run of one.
 *
 * Runs of both are gone through in order. Those of the answer that touch are put together. Whether two runs
 * overlap is branched on: where one chunk's runs lie close together the processor foresees it. */
#include "sets_sweep.h"

#define END 0x20000u /* above all numbers */

/* One chunk's run that is next, or what is left of it. */
struct side {
    const struct sets_chunk *chunk;
    int runs; /* the chunk has runs */
    co_u32 at, first, end;
};

CO_INLINE void to_run(struct side *s, co_u32 at)
{
    const co_u16 *numbers = s->chunk->at;
    s->at = at;
    if (at >= s->chunk->entries) {
        s->first = END;
        s->end = END + 1;
    } else if (s->runs) {
        s->first = numbers[2 * at];
        s->end = co_chunk_run_last(numbers, at) + 1;
    } else {
        s->first = sets_chunk_entry(s->chunk, at);
        s->end = s->first + 1;
    }
}

CO_INLINE void next(struct side *s)
{
    to_run(s, s->at + 1);
}

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

/* ---- the operations ------------------------------------------------------------------------------------ */

CO_INLINE void and_runs(struct side a, struct side b, struct open_run *o)
{
    while (a.first < END && b.first < END) {
        if (a.end <= b.first) {
            next(&a);
        } else if (b.end <= a.first) {
            next(&b);
        } else {
            co_u32 first = a.first > b.first ? a.first : b.first;
            if (a.end < b.end) {
                add_run(o, first, a.end);
                next(&a);
            } else {
                add_run(o, first, b.end);
                next(&b);
            }
        }
    }
}

CO_INLINE void or_runs(struct side a, struct side b, struct open_run *o)
{
    while (a.first < END || b.first < END) {
        if (a.first < b.first) {
            add_run(o, a.first, a.end);
            next(&a);
        } else {
            add_run(o, b.first, b.end);
            next(&b);
        }
    }
}

CO_INLINE void andnot_runs(struct side a, struct side b, struct open_run *o)
{
    while (a.first < END) {
        if (a.end <= b.first) {
            add_run(o, a.first, a.end);
            next(&a);
        } else if (b.end <= a.first) {
            next(&b);
        } else {
            if (a.first < b.first)
                add_run(o, a.first, b.first);
            if (a.end <= b.end)
                next(&a);
            else
                a.first = b.end;
        }
    }
}

/* Of two that overlap what comes before goes to the answer, and what both have goes away. */
CO_INLINE void xor_runs(struct side a, struct side b, struct open_run *o)
{
    while (a.first < END || b.first < END) {
        if (a.end <= b.first) {
            add_run(o, a.first, a.end);
            next(&a);
        } else if (b.end <= a.first) {
            add_run(o, b.first, b.end);
            next(&b);
        } else {
            co_u32 end = a.end < b.end ? a.end : b.end;
            if (a.first != b.first)
                add_run(o, a.first < b.first ? a.first : b.first, a.first < b.first ? b.first : a.first);
            a.first = b.first = end;
            if (a.end == end)
                next(&a);
            if (b.end == end)
                next(&b);
        }
    }
}

CO_INLINE void any_runs(co_u32 op, struct side a, struct side b, struct open_run *o)
{
    if (op == SETS_AND)
        and_runs(a, b, o);
    else if (op == SETS_OR)
        or_runs(a, b, o);
    else if (op == SETS_ANDNOT)
        andnot_runs(a, b, o);
    else
        xor_runs(a, b, o);
}

struct sets_measure sets_sweep_plain(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b,
                                     co_u16 *to)
{
    struct open_run o = {to, 0, 0, 0, 0};
    struct side x = {a, a->kind == CO_CHUNK_RUNS, 0, 0, 0}, y = {b, b->kind == CO_CHUNK_RUNS, 0, 0, 0};
    to_run(&x, 0);
    to_run(&y, 0);
    if (x.runs && y.runs) {
        x.runs = y.runs = 1; /* known where this is compiled */
        any_runs(op, x, y, &o);
    } else {
        any_runs(op, x, y, &o);
    }
    close_run(&o);
    struct sets_measure m = {o.card, o.runs, sets_runs_digest(to, o.runs)};
    return m;
}
