/* rivals_kernels.h: tables that are built by one launch and then read by others: linear and quadratic
 * probing, and cuckoo hashing, which the paper on GLHT compares with. Plain C, for GPUs (peer_rivals.cu) and
 * for the simulated one (tests/lines/rivals.cu).
 *
 * Keys and values have 32 bits, and a pair is one word: so a slot changes hands by one compare-and-swap or
 * one exchange. Pairs of two words would need these on 16 bytes, which before sm_90 no GPU has. Keys are
 * distinct, values are never 0. The number of slots is a power of two, 4 or more; a table is aligned to 32
 * bytes. An empty slot is 0.
 *
 * linear     slot h, h + 1, h + 2, ...: the first that is empty
 * quadratic  slot h, h + 1, h + 3, h + 6, ...: triangular numbers, which go through all slots
 * cuckoo     four functions. A pair is exchanged with what is in the slot of its first function. What was
 *            there goes to the slot of its next function in the same way, and so on, `chain` times at most
 *            (Alcantara and others, 2009). A slot that was taken never becomes empty again: so a lookup ends
 *            at the first empty one, as that of their library does.
 *
 * A lane has one pair, as their authors have it. Both ways of probing read a sector at a time, which holds
 * four slots, and an insert tries no slot that it has seen taken: what it sees may be old, but a slot only
 * goes from empty to taken, and the compare-and-swap tells the truth. */
#ifndef COHORT_BENCH_RIVALS_KERNELS_H
#define COHORT_BENCH_RIVALS_KERNELS_H

#include "../../include/cohort/device/hash.h"

/* Of a launch, for n entries. */
struct rivals_args {
    co_u64 *slots; /* key in the upper half, value in the lower */
    const co_u32 *keys, *values;
    co_u32 *results; /* the value of each key, 0 if it is absent */
    co_u32 *failed;  /* 1: some pair found no place. The table is cleared, and built with another seed */
    co_u64 n, seed;
    co_u32 log;   /* of the number of slots */
    co_u32 chain; /* exchanges that one pair may set off */
};

/* How many that is: 16 times the logarithm of the slots. */
#define RIVALS_CHAIN(log) (16 * ((log) + 1))

CO_INLINE co_u64 rivals_mask(const struct rivals_args *args)
{
    return ((co_u64)1 << args->log) - 1;
}

CO_INLINE co_u64 rivals_pair(const struct rivals_args *args, co_u64 i)
{
    return (co_u64)co_read_stream32(args->keys + i) << 32 | co_read_stream32(args->values + i);
}

/* ---- probing ------------------------------------------------------------------------------------------- */

CO_INLINE co_u64 rivals_home(const struct rivals_args *args, co_u32 key)
{
    return co_hash(key, args->seed) & rivals_mask(args);
}

/* The slot after `at`, which is a key's probe number i, from 0. */
CO_INLINE co_u64 rivals_next(const struct rivals_args *args, co_u64 at, co_u64 i, int quadratic)
{
    return (at + (quadratic ? i + 1 : 1)) & rivals_mask(args);
}

/* By choices: what has an address does not stay in registers. */
CO_INLINE co_u64 rivals_slot(const co_sector64 *s, co_u64 at)
{
    const co_u64 low = at & 1 ? s->w[1] : s->w[0], high = at & 1 ? s->w[3] : s->w[2];
    return at & 2 ? high : low;
}

CO_INLINE int rivals_probe_in(const struct rivals_args *args, co_u64 pair, int quadratic)
{
    co_u64 at = rivals_home(args, (co_u32)(pair >> 32)), seen = at / 4;
    co_sector64 s = co_glance_sector64(args->slots + seen * 4);
    for (co_u64 i = 0; i <= rivals_mask(args); i++) {
        if (at / 4 != seen) {
            seen = at / 4;
            s = co_glance_sector64(args->slots + seen * 4);
        }
        if (!rivals_slot(&s, at) && !co_cas64(args->slots + at, 0, pair))
            return 1;
        at = rivals_next(args, at, i, quadratic);
    }
    return 0;
}

CO_INLINE co_u32 rivals_probe_for(const struct rivals_args *args, co_u32 key, int quadratic)
{
    co_u64 at = rivals_home(args, key), seen = at / 4;
    co_sector64 s = co_read_sector64(args->slots + seen * 4);
    for (co_u64 i = 0; i <= rivals_mask(args); i++) {
        if (at / 4 != seen) {
            seen = at / 4;
            s = co_read_sector64(args->slots + seen * 4);
        }
        const co_u64 pair = rivals_slot(&s, at);
        if (!pair || pair >> 32 == key)
            return (co_u32)pair;
        at = rivals_next(args, at, i, quadratic);
    }
    return 0;
}

/* ---- cuckoo -------------------------------------------------------------------------------------------- */

enum { RIVALS_FUNCTIONS = 4 };

/* Two functions are the halves of one hash. */
CO_INLINE co_u64 rivals_place(const struct rivals_args *args, co_u32 key, co_u32 function)
{
    const co_u64 h = co_hash(key, args->seed + ((co_u64)(function / 2) << 40));
    return (function & 1 ? h >> 32 : h) & rivals_mask(args);
}

/* Where a pair goes that is driven out of slot `at`: the slot of the function after the one that names it. */
CO_INLINE co_u64 rivals_other(const struct rivals_args *args, co_u32 key, co_u64 at)
{
    const co_u64 first = rivals_place(args, key, 0), second = rivals_place(args, key, 1),
                 third = rivals_place(args, key, 2), fourth = rivals_place(args, key, 3);
    return at == first ? second : at == second ? third : at == third ? fourth : first;
}

CO_INLINE int rivals_cuckoo_in(const struct rivals_args *args, co_u64 pair)
{
    co_u64 at = rivals_place(args, (co_u32)(pair >> 32), 0);
    for (co_u32 i = 0; i < args->chain; i++) {
        pair = co_exchange64(args->slots + at, pair);
        if (!pair)
            return 1;
        at = rivals_other(args, (co_u32)(pair >> 32), at);
    }
    return 0;
}

CO_INLINE co_u32 rivals_cuckoo_for(const struct rivals_args *args, co_u32 key)
{
    for (co_u32 function = 0; function < RIVALS_FUNCTIONS; function++) {
        const co_u64 pair = co_read64(args->slots + rivals_place(args, key, function));
        if (!pair || pair >> 32 == key)
            return (co_u32)pair;
    }
    return 0;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

#define RIVALS_BUILD(in)                                            \
    CO_EACH_WARP (base, args->n) {                                  \
        const co_u64 i = base + co_lane();                          \
        const co_u64 pair = i < args->n ? rivals_pair(args, i) : 0; \
        if (pair && !(in))                                          \
            co_store32(args->failed, 1);                            \
    }

#define RIVALS_RETRIEVE(found)                                   \
    CO_EACH_WARP (base, args->n) {                               \
        const co_u64 i = base + co_lane();                       \
        if (i < args->n) {                                       \
            const co_u32 key = co_read_stream32(args->keys + i); \
            co_write_stream32(args->results + i, found);         \
        }                                                        \
    }

CO_KERNEL(rivals_linear_build, struct rivals_args)
{RIVALS_BUILD(rivals_probe_in(args, pair, 0))}

CO_KERNEL(rivals_linear_retrieve, struct rivals_args)
{RIVALS_RETRIEVE(rivals_probe_for(args, key, 0))}

CO_KERNEL(rivals_quadratic_build, struct rivals_args)
{RIVALS_BUILD(rivals_probe_in(args, pair, 1))}

CO_KERNEL(rivals_quadratic_retrieve, struct rivals_args)
{RIVALS_RETRIEVE(rivals_probe_for(args, key, 1))}

CO_KERNEL(rivals_cuckoo_build, struct rivals_args)
{RIVALS_BUILD(rivals_cuckoo_in(args, pair))}

CO_KERNEL(rivals_cuckoo_retrieve, struct rivals_args)
{
    RIVALS_RETRIEVE(rivals_cuckoo_for(args, key))
}

#endif
