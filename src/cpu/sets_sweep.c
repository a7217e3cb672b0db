/* cpu/sets_sweep.c: two chunks of arrays or runs, by their borders.
 *
 * A run has two borders, its first number and the one after its last; a number of an array is a run of
 * one. Both chunks' borders are gone through in order; where the operation's truth changes, a run of the
 * answer begins or ends. Nothing branches on the data but the end. */
#include "sets_sweep.h"

#define END 0x20000u

co_u32 sets_merge(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b, co_u16 *to)
{
    co_u32 i = 0, j = 0, k = 0, both = op == SETS_OR;
    while (i < a->entries && j < b->entries) {
        co_u16 x = sets_chunk_entry(a, i), y = sets_chunk_entry(b, j);
        to[k] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
        k += both | (x != y);
    }
    while (i < a->entries)
        to[k++] = sets_chunk_entry(a, i++);
    while (j < b->entries)
        to[k++] = sets_chunk_entry(b, j++);
    return k;
}

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

co_u32 sets_sweep(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b, co_u16 *to, co_u32 *card)
{
    co_u32 edges[4 * SETS_SWEEP_MOST + 4], count = 0, i = 0, j = 0, in = 0, runs = 0, law = truth(op);
    co_u32 x = border(a, 0), y = border(b, 0);
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
