/* core/arena.h: workspace, handed out in pieces that are aligned to 256 bytes.
 *
 * Work that needs workspace takes all of it from one arena, in a first step that plans and does nothing else.
 * An arena that `asks` has no memory: the plan is made, its pieces are added up, and the work stops there. So
 * one function says how large the workspace has to be and divides it, and the two cannot differ. */
#ifndef COHORT_ARENA_H
#define COHORT_ARENA_H

#include <stdint.h>

struct arena {
    char *memory; /* NULL: pieces are only added up */
    uint64_t used;
    int asks; /* how much it would be is all that is wanted */
};

/* More than there can be stays more than there can be, lest sums of large sizes begin at 0 again. */
#define ARENA_MOST (1ull << 62)

/* What is taken with a piece of `bytes` more. */
static inline uint64_t arena_with(uint64_t used, uint64_t bytes)
{
    return bytes < ARENA_MOST - used ? used + ((bytes + 255) & ~255ull) : ARENA_MOST;
}

static inline void *arena_take(struct arena *arena, uint64_t bytes)
{
    void *piece = arena->memory ? arena->memory + arena->used : 0;
    arena->used = arena_with(arena->used, bytes);
    return piece;
}

#endif
