/* litmus.cu: the smallest programs that tell one memory model from another. The words of docs/simulator.md
 * mean what it says of them exactly if each of these shows, on a GPU, no outcome that the simulator cannot
 * show.
 *
 * A launch runs many instances of one program. Each has words of its own and some lanes, its roles; lanes of
 * one instance are far apart (in other blocks, if there are several), and may wait at the start until all
 * lanes are there. What a role loaded goes to the instance's outcome, four registers. */
#include "cohort/device/lane.h"

struct litmus_args {
    co_u32 *words;     /* `stride` an instance, zero */
    co_u32 *registers; /* 4 an instance */
    co_u32 *arrived;   /* zero; NULL: nobody waits for the others */
    co_u32 instances, roles, stride;
    co_u32 shift; /* role r of instance i is lane r * instances + (i + r * shift) % instances */
};

struct litmus_role {
    co_u32 role;
    co_u32 *x, *y;
    co_u32 *r;
};

/* Role `roles` has nothing to do. */
CO_INLINE struct litmus_role litmus_begin(const struct litmus_args *args)
{
    struct litmus_role me;
    co_u32 at = co_block() * co_threads() + co_thread();
    me.role = at / args->instances;
    me.x = me.y = me.r = 0;
    if (me.role >= args->roles)
        return me;
    co_u32 i =
        (at % args->instances + args->instances - me.role * args->shift % args->instances) % args->instances;
    me.x = args->words + (co_u64)i * args->stride;
    me.y = me.x + args->stride / 2;
    me.r = args->registers + (co_u64)i * 4;
    if (args->arrived) {
        co_add32(args->arrived, 1);
        while (co_load32(args->arrived) < args->instances * args->roles)
            co_pause();
    }
    return me;
}

/* Message passing: two stores, and two loads the other way round. */
#define LITMUS_MP(name, store_y, between_stores, load_y, between_loads) \
    CO_KERNEL(name, struct litmus_args)                                 \
    {                                                                   \
        struct litmus_role me = litmus_begin(args);                     \
        if (me.role == 0) {                                             \
            co_store32(me.x, 1);                                        \
            between_stores;                                             \
            store_y(me.y, 1);                                           \
        } else if (me.role == 1) {                                      \
            co_u32 a = load_y(me.y);                                    \
            between_loads;                                              \
            co_u32 b = co_load32(me.x);                                 \
            co_write32(me.r, a);                                        \
            co_write32(me.r + 1, b);                                    \
        }                                                               \
    }

LITMUS_MP(litmus_mp, co_store32, (void)0, co_load32, (void)0)
LITMUS_MP(litmus_mp_release, co_store_release32, (void)0, co_load32, (void)0)
LITMUS_MP(litmus_mp_acquire, co_store32, (void)0, co_load_acquire32, (void)0)
LITMUS_MP(litmus_mp_both, co_store_release32, (void)0, co_load_acquire32, (void)0)
LITMUS_MP(litmus_mp_fences, co_store32, co_fence(), co_load32, co_fence())
LITMUS_MP(litmus_mp_fence_acquire, co_store32, co_fence(), co_load_acquire32, (void)0)
LITMUS_MP(litmus_mp_release_fence, co_store_release32, (void)0, co_load32, co_fence())

/* The same, and the data is plain: read only once the flag was seen. */
CO_KERNEL(litmus_mp_plain, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_write32(me.x, 1);
        co_store_release32(me.y, 1);
    } else if (me.role == 1) {
        co_u32 a = co_load_acquire32(me.y);
        co_write32(me.r, a);
        co_write32(me.r + 1, a ? co_read32(me.x) : 0);
    }
}

/* Store buffering: each stores to its own and loads the other's. */
#define LITMUS_SB(name, store, between, load)       \
    CO_KERNEL(name, struct litmus_args)             \
    {                                               \
        struct litmus_role me = litmus_begin(args); \
        if (me.role < 2) {                          \
            store(me.role ? me.y : me.x, 1);        \
            between;                                \
            co_u32 a = load(me.role ? me.x : me.y); \
            co_write32(me.r + me.role, a);          \
        }                                           \
    }

LITMUS_SB(litmus_sb, co_store32, (void)0, co_load32)
LITMUS_SB(litmus_sb_ordered, co_store_release32, (void)0, co_load_acquire32)
LITMUS_SB(litmus_sb_fence, co_store32, co_fence(), co_load32)
LITMUS_SB(litmus_sb_fence_sc, co_store32, co_fence_sc(), co_load32)

/* Coherence: loads of one location go forward only. */
CO_KERNEL(litmus_corr, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store32(me.x, 1);
    } else if (me.role == 1) {
        co_u32 a = co_load32(me.x), b = co_load32(me.x);
        co_write32(me.r, a);
        co_write32(me.r + 1, b);
    }
}

/* And two stores of one lane to one location stay in order. */
CO_KERNEL(litmus_coww, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store32(me.x, 1);
        co_store32(me.x, 2);
    } else if (me.role == 1) {
        co_u32 a = co_load32(me.x), b = co_load32(me.x);
        co_write32(me.r, a);
        co_write32(me.r + 1, b);
    }
}

/* And all lanes see the stores to one location in one order. */
CO_KERNEL(litmus_co_order, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role < 2) {
        co_store32(me.x, 1 + me.role);
    } else if (me.role < 4) {
        co_u32 a = co_load32(me.x), b = co_load32(me.x);
        co_write32(me.r + 2 * me.role - 4, a);
        co_write32(me.r + 2 * me.role - 3, b);
    }
}

/* Independent reads of independent writes: do two readers agree on which of two stores came first? */
#define LITMUS_IRIW(name, load, between)                 \
    CO_KERNEL(name, struct litmus_args)                  \
    {                                                    \
        struct litmus_role me = litmus_begin(args);      \
        if (me.role < 2) {                               \
            co_store32(me.role ? me.y : me.x, 1);        \
        } else if (me.role < 4) {                        \
            co_u32 a = load(me.role == 2 ? me.x : me.y); \
            between;                                     \
            co_u32 b = load(me.role == 2 ? me.y : me.x); \
            co_write32(me.r + 2 * me.role - 4, a);       \
            co_write32(me.r + 2 * me.role - 3, b);       \
        }                                                \
    }

LITMUS_IRIW(litmus_iriw, co_load_acquire32, (void)0)
LITMUS_IRIW(litmus_iriw_fence_sc, co_load32, co_fence_sc())

/* Two locations, two lanes that store to both in opposite order; the host reads what is left. */
#define LITMUS_2W(name, between)                    \
    CO_KERNEL(name, struct litmus_args)             \
    {                                               \
        struct litmus_role me = litmus_begin(args); \
        if (me.role < 2) {                          \
            co_store32(me.role ? me.y : me.x, 1);   \
            between;                                \
            co_store32(me.role ? me.x : me.y, 2);   \
        }                                           \
    }

LITMUS_2W(litmus_2w, (void)0)
LITMUS_2W(litmus_2w_fence_sc, co_fence_sc())

/* Atomics are: of two additions one comes first. */
CO_KERNEL(litmus_add, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role < 2)
        co_write32(me.r + me.role, co_add32(me.x, 1));
}

/* A store between the two halves of a compare-and-swap. */
CO_KERNEL(litmus_cas, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0)
        co_write32(me.r, co_cas32(me.x, 0, 1));
    else if (me.role == 1)
        co_store32(me.x, 2);
}

/* A release goes on through the atomics that follow it. */
CO_KERNEL(litmus_sequence, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store32(me.x, 1);
        co_store_release32(me.y, 1);
    } else if (me.role == 1) {
        co_add32(me.y, 1);
    } else if (me.role == 2) {
        co_u32 a = co_load_acquire32(me.y), b = co_load32(me.x);
        co_write32(me.r, a);
        co_write32(me.r + 1, b);
    }
}

/* What is released can be passed on: by whoever acquired it. */
CO_KERNEL(litmus_wrc, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store32(me.x, 1);
    } else if (me.role == 1) {
        co_u32 a = co_load32(me.x);
        co_store_release32(me.y, 1);
        co_write32(me.r, a);
    } else if (me.role == 2) {
        co_u32 a = co_load_acquire32(me.y), b = co_load32(me.x);
        co_write32(me.r + 1, a);
        co_write32(me.r + 2, b);
    }
}

/* A glance may be older than what was loaded before it; a load after it is not older than the glance. */
CO_KERNEL(litmus_glance, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store32(me.x, 1);
    } else if (me.role == 1) {
        co_sector32 before = co_glance_sector32(me.x);
        co_u32 a = co_load32(me.x);
        co_sector32 after = co_glance_sector32(me.x);
        co_write32(me.r, before.w[0] | a);
        co_write32(me.r + 1, after.w[0]);
    }
}

CO_KERNEL(litmus_glance_load, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store32(me.x, 1);
    } else if (me.role == 1) {
        co_sector32 a = co_glance_sector32(me.x);
        co_u32 b = co_load32(me.x);
        co_write32(me.r, a.w[0]);
        co_write32(me.r + 1, b);
    }
}

/* The words of a sector come in no order. */
CO_KERNEL(litmus_sector, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store64((co_u64 *)(void *)me.x, 1);
        co_store64((co_u64 *)(void *)me.x + 1, 1);
    } else if (me.role == 1) {
        co_sector64 s = co_load_sector64(me.x);
        co_write32(me.r, (co_u32)s.w[0]);
        co_write32(me.r + 1, (co_u32)s.w[1]);
    }
}

/* Nor those of a half. */
CO_KERNEL(litmus_half, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store32(me.x, 1);
        co_store32(me.x + 3, 1);
    } else if (me.role == 1) {
        co_half32 h = co_load_half32(me.x);
        co_write32(me.r, h.w[0]);
        co_write32(me.r + 1, h.w[3]);
    }
}

/* 128 bits are whole. */
CO_KERNEL(litmus_whole, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role == 0) {
        co_store128((co_u128 *)(void *)me.x, co_make128(1, 1));
    } else if (me.role == 1) {
        co_u128 v = co_load128((const co_u128 *)(const void *)me.x);
        co_write32(me.r, (co_u32)v.lo);
        co_write32(me.r + 1, (co_u32)v.hi);
    }
}

/* And compared and swapped so. */
CO_KERNEL(litmus_whole_cas, struct litmus_args)
{
    struct litmus_role me = litmus_begin(args);
    if (me.role < 2) {
        co_u128 v =
            co_cas128((co_u128 *)(void *)me.x, co_make128(0, 0), co_make128(1 + me.role, 1 + me.role));
        co_write32(me.r + 2 * me.role, (co_u32)v.lo);
        co_write32(me.r + 2 * me.role + 1, (co_u32)v.hi);
    }
}

/* A block's barrier orders memory: one instance a pair of lanes of the block, all in the same block. */
CO_KERNEL(litmus_block_sync, struct litmus_args)
{
    co_u32 pair = co_thread() / 2, first = pair * 2 == co_thread();
    co_u32 *x = args->words + (co_u64)pair * args->stride;
    if (first)
        co_store32(x, 1);
    co_block_sync();
    if (!first)
        co_write32(args->registers + (co_u64)pair * 4, co_load32(x));
}

/* A warp's barrier does; a vote does not. */
CO_KERNEL(litmus_warp_sync, struct litmus_args)
{
    co_u32 pair = co_thread() / 2, first = pair * 2 == co_thread();
    co_u32 *x = args->words + (co_u64)pair * args->stride;
    if (first)
        co_store32(x, 1);
    co_warp_sync(CO_FULL_WARP);
    if (!first)
        co_write32(args->registers + (co_u64)pair * 4, co_load32(x));
}

CO_KERNEL(litmus_vote, struct litmus_args)
{
    co_u32 pair = co_thread() / 2, first = pair * 2 == co_thread();
    co_u32 *x = args->words + (co_u64)pair * args->stride;
    if (first)
        co_store32(x, 1);
    (void)co_ballot(CO_FULL_WARP, 1);
    if (!first)
        co_write32(args->registers + (co_u64)pair * 4, co_load32(x));
}
