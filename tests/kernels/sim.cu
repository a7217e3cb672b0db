/* sim.cu: kernels that the simulator is tested with: right ones that use every word, and wrong ones that it
 * must notice. */
#include "cohort/device/lane.h"

struct sim_args {
    co_u32 *a; /* zero at the start, unless the case says otherwise */
    co_u64 *b;
    co_u64 *out; /* results, an entry or more a lane */
    co_u32 what, n;
};

/* ---- right --------------------------------------------------------------------------------------------- */

CO_KERNEL(sim_words, struct sim_args)
{
    co_u64 *o = args->out;
    co_u32 *a = args->a;
    co_u64 *b = args->b;
    co_u128 *c = (co_u128 *)(void *)(b + 8);
    co_write64(o++, co_add32(a, 5));               /* 0 */
    co_write64(o++, co_min32(a, 3));               /* 5 */
    co_write64(o++, co_max32(a, 9));               /* 3 */
    co_write64(o++, co_or32(a, 6));                /* 9 */
    co_write64(o++, co_and32(a, 7));               /* 15 */
    co_write64(o++, co_xor32(a, 2));               /* 7 */
    co_write64(o++, co_exchange32(a, 1));          /* 5 */
    co_write64(o++, co_cas32(a, 2, 100));          /* 1 */
    co_write64(o++, co_cas32(a, 1, 100));          /* 1 */
    co_write64(o++, co_load32(a));                 /* 100 */
    co_write64(o++, co_add64(b, ~(co_u64)0));      /* 0 */
    co_write64(o++, co_add64(b, 2));               /* 2^64 - 1 */
    co_write64(o++, co_min64(b, 0));               /* 1 */
    co_write64(o++, co_max64(b, (co_u64)1 << 40)); /* 0 */
    co_write64(o++, co_or64(b, 1));                /* 2^40 */
    co_write64(o++, co_and64(b, 1));               /* 2^40 + 1 */
    co_write64(o++, co_xor64(b, 2));               /* 1 */
    co_write64(o++, co_exchange64(b, 8));          /* 3 */
    co_write64(o++, co_cas64(b, 8, 9));            /* 8 */
    co_write64(o++, co_load_acquire64(b));         /* 9 */
    co_store128(c, co_make128(1, 2));
    co_u128 v = co_cas128(c, co_make128(1, 3), co_make128(7, 7));
    co_write64(o++, v.hi); /* 2 */
    v = co_cas128(c, co_make128(1, 2), co_make128(3, 4));
    co_write64(o++, v.lo); /* 1 */
    v = co_load128(c);
    co_write64(o++, v.lo); /* 3 */
    co_write64(o++, v.hi); /* 4 */
    co_store_release32(a + 1, 11);
    co_write64(o++, co_load_acquire32(a + 1)); /* 11 */
    co_write8((co_u8 *)(a + 2), 200);
    co_write64(o++, co_read8((const co_u8 *)(a + 2))); /* 200 */
    co_store8((co_u8 *)(a + 2) + 1, 201);
    co_write64(o++, co_load8((const co_u8 *)(a + 2) + 1)); /* 201 */
}

/* What each lane gets from each collective: 8 entries a lane. */
CO_KERNEL(sim_together, struct sim_args)
{
    co_u32 lane = co_lane(), odd = lane & 1 ? 0xaaaaaaaau : 0x55555555u;
    co_u64 *o = args->out + (co_u64)(co_block() * co_threads() + co_thread()) * 8;
    co_write64(o, co_ballot(CO_FULL_WARP, lane % 3 == 0));
    co_write64(o + 1, co_ballot(odd, lane < 8));
    co_write64(o + 2, (co_u64)(co_any(odd, lane == 5) * 2 + co_all(CO_FULL_WARP, lane < 32)));
    co_write64(o + 3, co_shuffle64(CO_FULL_WARP, (co_u64)lane << 40, lane + 1));
    co_write64(o + 4,
               (co_u64)co_unite32(lane % 5 ? 0 : 1u << lane) << 32 | co_match32(CO_FULL_WARP, lane / 4));
    co_write64(o + 5, co_warp_sum(lane));
    co_write64(o + 6, co_warp_before(lane));
    co_write64(o + 7, co_warp_max(lane ^ co_warp()));
}

/* Sums a block's numbers through shared memory, static, dynamic, and copied in: out[block]. */
CO_KERNEL(sim_shared_sum, struct sim_args)
{
    CO_SHARED(co_u64, sums, 32);
    CO_SHARED(co_u64, total, 1);
    CO_SHARED_DYNAMIC(co_u64, numbers);
    co_u32 t = co_thread();
    co_bulk_copy(numbers, args->b + (co_u64)co_block() * co_threads(), co_threads() * 8);
    co_u64 sum = co_warp_sum(co_read64(numbers + t));
    if (co_lane() == 0)
        co_write64(sums + co_warp(), sum);
    if (t == 0)
        co_write64(total, 0);
    co_block_sync();
    if (t < co_threads() / 32)
        co_add64(total, co_read64(sums + t));
    co_block_sync();
    if (t == 0)
        co_write64(args->out + co_block(), co_load64(total));
}

/* Lanes come in an order that the schedule makes: out[i] = the i-th. */
CO_KERNEL(sim_order, struct sim_args)
{
    for (co_u32 i = 0; i < args->n; i++) {
        co_u32 at = co_add32(args->a, 1);
        co_write64(args->out + at, ((co_u64)co_block() << 32) | co_thread());
    }
}

/* A lock around plain memory: what & 1: without the acquire, what & 2: without the release. */
CO_KERNEL(sim_lock, struct sim_args)
{
    for (co_u32 i = 0; i < args->n; i++) {
        while (co_cas32(args->a, 0, 1) != 0)
            co_pause();
        if (!(args->what & 1))
            co_fence();
        co_write64(args->b, co_read64(args->b) + 1);
        if (args->what & 2)
            co_store32(args->a, 0);
        else
            co_store_release32(args->a, 0);
    }
}

/* One word that is a map of one key: 0 absent, else value + 1. Lane t does operation codes[t] = b[2 t] with
 * operand b[2 t + 1]; out[4 t] = invocation, hit, result, response. what 1: it reads and writes apart. */
CO_KERNEL(sim_register, struct sim_args)
{
    co_u32 t = co_block() * co_threads() + co_thread();
    co_u64 op = co_read64(args->b + 2 * t), v = co_read64(args->b + 2 * t + 1), *word = args->b + args->n,
           *o = args->out + 4 * t;
    co_write64(o, co_clock());
    co_u64 old = co_load64(word);
    for (;;) {
        co_u64 to = op == 0 ? old : op == 1 ? (old ? old : v + 1) : op == 3 ? 0 : v + 1;
        if (to == old && op < 2)
            break;
        if (args->what) {
            co_store64(word, to);
            break;
        }
        co_u64 seen = co_cas64(word, old, to);
        if (seen == old)
            break;
        old = seen;
    }
    co_write64(o + 3, co_clock());
    co_write64(o + 1, old != 0);
    co_write64(o + 2, old ? old - 1 : 0);
}

/* n stores each: for counting schedules. */
CO_KERNEL(sim_stores, struct sim_args)
{
    for (co_u32 i = 0; i < args->n; i++)
        co_store32(args->a + co_thread(), i);
}

/* ---- wrong --------------------------------------------------------------------------------------------- */

enum sim_wrong_kind {
    WRONG_RACE_WRITE,
    WRONG_RACE_READ,
    WRONG_MIXED,
    WRONG_UNWRITTEN,
    WRONG_OUTSIDE,
    WRONG_HOST,
    WRONG_MISALIGNED,
    WRONG_WIDTHS,
    WRONG_MASK,
    WRONG_MASKS,
    WRONG_KINDS,
    WRONG_NOT_IN_MASK,
    WRONG_BARRIERS,
    WRONG_DEADLOCK,
    WRONG_LIVELOCK,
    WRONG_OPERATION,
    WRONG_SHARED_OVERRUN,
    WRONG_SHARED_UNWRITTEN,
    WRONG_SHARED_FOREIGN,
    WRONG_SECTOR,
    WRONG_CAS128,
    WRONG_VOTE_ORDER,
    WRONG_COPY_READ,
    WRONG_COPY_OVER
};

/* `early`: the lanes do not wait for the copy; else they do, but one lane writes there when it is asked
 * for. */
CO_INLINE void wrong_copy(const struct sim_args *args, int early)
{
    CO_SHARED(co_u64, arrived, 1);
    CO_SHARED(co_u32, room, 32);
    if (co_thread() == 0)
        co_bulk_begin(arrived);
    if (!early)
        co_write32(room + co_thread(), 0);
    else
        co_block_sync();
    if (co_thread() == 0)
        co_bulk_ask(arrived, room, args->b, 128);
    co_warp_sync(CO_FULL_WARP);
    if (!early)
        co_bulk_wait(arrived, 0);
    co_write64(args->out + co_thread(), co_read32(room + co_thread()));
}

CO_KERNEL(sim_wrong, struct sim_args)
{
    CO_SHARED(co_u32, shared, 4);
    co_u32 t = co_thread(), lane = co_lane();
    co_u32 *a = args->a;
    co_u64 *out = args->out + t;
    switch (args->what) {
    case WRONG_RACE_WRITE:
        co_write32(a, t);
        break;
    case WRONG_RACE_READ:
        if (t == 0)
            co_write32(a, 1);
        else
            co_write64(out, co_read32(a));
        break;
    case WRONG_MIXED:
        if (t == 0)
            co_write32(a, 1);
        else
            co_write64(out, co_load32(a));
        break;
    case WRONG_UNWRITTEN:
        co_write64(out, co_read32(a));
        break;
    case WRONG_OUTSIDE:
        co_write32(a + args->n, 1);
        break;
    case WRONG_HOST:
        co_write64(out, co_load32(a));
        break;
    case WRONG_MISALIGNED:
        co_write64(out, co_load64((const co_u64 *)(const void *)(a + 1)));
        break;
    case WRONG_WIDTHS:
        co_write64(out, co_load32(a));
        co_write64(out, co_load64((const co_u64 *)(const void *)a));
        break;
    case WRONG_MASK: /* lane 1 is named and never comes */
        if (lane != 1)
            co_ballot(CO_FULL_WARP, 1);
        else
            while (co_load32(a) == 0)
                co_pause();
        break;
    case WRONG_MASKS:
        co_ballot(lane < 16 ? CO_FULL_WARP : 0xffff0001u, 1);
        break;
    case WRONG_KINDS:
        if (lane < 16)
            co_ballot(CO_FULL_WARP, 1);
        else
            co_any(CO_FULL_WARP, 1);
        break;
    case WRONG_NOT_IN_MASK:
        co_ballot(1, 1);
        break;
    case WRONG_BARRIERS:
        if (lane < 16)
            co_block_sync();
        else
            co_warp_sync(CO_FULL_WARP);
        break;
    case WRONG_DEADLOCK: /* lane 0 waits for 1, which waits for 2, which waits for 0 */
        if (lane < 3)
            co_warp_sync(lane == 0 ? 3 : lane == 1 ? 6 : 5);
        break;
    case WRONG_LIVELOCK:
        while (co_load32(a) == 0)
            co_pause();
        break;
    case WRONG_OPERATION:
        co_clock();
        for (co_u32 i = 0; i < 1000; i++)
            co_add32(a, 1);
        break;
    case WRONG_SHARED_OVERRUN:
        co_write32(shared + 4, 1);
        break;
    case WRONG_SHARED_UNWRITTEN:
        co_write64(out, co_read32(shared));
        break;
    case WRONG_SHARED_FOREIGN:
        if (t == 0) {
            co_store64(args->b + co_block(), (co_u64)shared);
            co_u64 other;
            while (!(other = co_load64(args->b + (co_block() ^ 1))))
                co_pause();
            co_write32((co_u32 *)other, 1);
        }
        break;
    case WRONG_SECTOR:
        (void)co_load_sector32(a + 1);
        break;
    case WRONG_CAS128:
        co_cas128((co_u128 *)(void *)a, co_make128(0, 0), co_make128(1, 1));
        break;
    case WRONG_COPY_READ:
        wrong_copy(args, 1);
        break;
    case WRONG_COPY_OVER:
        wrong_copy(args, 0);
        break;
    case WRONG_VOTE_ORDER: /* a vote is no barrier for memory */
        if (lane == 0)
            co_write32(a, 1);
        co_ballot(CO_FULL_WARP, 1);
        if (lane == 1)
            co_write64(out, co_read32(a));
        break;
    default:
        break;
    }
}
