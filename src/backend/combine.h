/* backend/combine.h: what a backend does to make one entry of those of equal keys, before they go to a map. */
#ifndef COHORT_BACKEND_COMBINE_H
#define COHORT_BACKEND_COMBINE_H

#include "core/arena.h"
#include "backend/context.h"

/* A batch under way. What comes out are entries for a map, which combine by the same operation, or by ADD where that was COUNT: what the
 * tables held when they were emptied, and entries that found no room in one, as they were. */
struct combine {
    co_u32 width, op; /* a cohort_width with values; ADD to COUNT */
    co_u64 n;         /* the batch, in the context's own memory: */
    const void *keys;
    const void *values;  /* of COUNT: not looked at */
    const co_u32 *where; /* may be NULL */
    void *out_keys, *out_values;
    co_u64 out;  /* entries there */
    co_u64 room; /* and how many there may be; set by lay_out */
    void *state; /* the backend's */
};

struct combine_backend {
    /* Lays out the work, in pieces of the arena. */
    void (*lay_out)(cohort_context *, struct combine *, struct arena *);
    /* Whether it pays for the entries from `begin` on, as a sample of them tells. Then there are tables for them, empty. */
    int (*pays)(cohort_context *, struct combine *, co_u64 begin);
    /* Combines entries begin .. end - 1, no more than `room` - `out`; begin is a multiple of 32. */
    void (*entries)(cohort_context *, struct combine *, co_u64 begin, co_u64 end);
    /* Whether tables can be larger, which they are when all have been emptied. */
    int (*larger)(cohort_context *, struct combine *);
    /* Empties tables, as many as there is room for, of which there is half at least. 1: there are more. */
    int (*empty)(cohort_context *, struct combine *);
};

#endif
