/* api/bits.h: a caller's bitmap as words.
 *
 * A caller's bitmap begins at any bit of any address. The layers below work on aligned words of 32 bits;
 * the first word has entries 0 to 31. A bitmap of that form goes down as it is. Of another one a copy goes
 * down: it is made before the work, and copied back after it if the work writes to it. Copies are in stream
 * order, and are made as shape/bits.h says. */
#ifndef COHORT_API_BITS_H
#define COHORT_API_BITS_H

#include "backend/context.h"
#include "shape/bits.h"

enum {
    BITS_OUT = 1,
    BITS_WHOLE = 2, /* what works on it reads and writes whole words, also the last one */
    BITS_FEW = 256
};

struct bits {
    cohort_context *context;
    enum memory_kind memory; /* of the caller's */
    co_u8 *at;               /* from bit `bit`, 0 to 7, of this byte on */
    unsigned bit;
    uint64_t n;
    unsigned flags;
    co_u32 *words; /* what to work on, in memory of the same kind; NULL: there is no bitmap */
    void *pooled, *own;
    co_u32 few[BITS_FEW / 32]; /* the copy of so few in host memory: a call on ten entries takes nothing */
};

/* What the code below maps and multimaps asks for: a CPU's loops take whole words. */
unsigned bits_of_maps(const cohort_context *context);

/* The bytes of the copy that goes down in its place; 0: it goes as it is. */
uint64_t bits_room(const void *at, uint64_t offset, uint64_t n, unsigned flags);

/* Begins. `room`: for the copy, in the context's memory; NULL: the pool has some, or malloc for host memory
 * on a GPU, or the struct, which stays where it is until bits_close. After a failure bits_close is due all
 * the same. */
cohort_status bits_open(struct bits *, cohort_context *context, enum memory_kind memory, const void *at,
                        uint64_t offset, uint64_t n, unsigned flags, void *room);

/* Ends: what was written is copied back, if it was: all of it or nothing. Returns the first failure. What was
 * never opened, all zeros, needs nothing. */
cohort_status bits_close(struct bits *, cohort_status status, int written);

/* n zeros. */
cohort_status bits_clear(cohort_context *context, enum memory_kind memory, void *at, uint64_t offset,
                         uint64_t n);

#endif
