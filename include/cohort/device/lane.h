/* cohort/device/lane.h: the words that kernels are written in. The whole platform is here and nowhere else.
 *
 * A kernel is plain C in the common subset of C11 and C++ (nvcc and NVRTC read it as C++, the simulator's
 * compiler as C): no <stdint.h>, no designated initialisers, explicit casts from void *. Every access to
 * memory that another lane may touch is one of the words below; what a word means (PTX, scope, order, effect
 * in the simulator) is the table in docs/simulator.md. No word mixes sizes on one address: a location is used
 * with one width for a whole launch.
 *
 * Three platforms define the words:
 *   lane_cuda.h  a GPU. On CUDA a word costs nothing: each is one instruction or one built-in.
 *   lane_cpu.h   threads of the host. A lane is a thread; there are only the words on memory, no collectives.
 *   sim_lane.h   the simulated GPU of tests/sim: a lane is a coroutine, memory is weak, a scheduler decides
 *                at every word.
 *
 * Types      co_u8 co_u16 co_u32 co_u64, co_u128 {lo, hi}; a sector is 32 aligned bytes: co_sector32 {w[8]},
 *            co_sector64 {w[4]}, co_sector128 {w[2]}; a half of one is 16: co_half32 {w[4]}, co_half64 {w[2]}
 * Who        co_lane() 0..31; co_warp() of the block; co_thread() of the block; co_threads() in a block;
 *            co_block(); co_blocks(); co_clock() nanoseconds; co_pause() in a loop that waits for another
 *            lane
 * Together   co_ballot(mask, p); co_any; co_all; co_shuffle32/64(mask, v, from); co_match32/64(mask, v);
 *            co_match_bits(v, bits): the lanes of the full warp with the same low bits, 1 to 16, best a
 *            literal; co_unite32(v): the bits that are 1 in any lane of the full warp; co_warp_sync(mask);
 *            co_block_sync(); all lanes in mask must come, those that have returned excepted
 * Plain      co_read8/16/32/64/128(p), co_write8/16/32/64/128(p, v): memory that no other lane writes (reads)
 *            meanwhile; co_read_stream.., co_write_stream..: the same, not to be kept in caches;
 *            co_read_sector32/64/128(p); co_prefetch(p): the sector of global memory that p is in will be
 *            read by some lane soon
 * Relaxed    co_load8/32/64/128(p), co_store8/32/64/128(p, v): whole, coherent at each address, unordered
 *            across addresses; co_load_sector32/64/128(p), co_load_half32/64(p): the words of a sector or of
 *            half of one, each whole, read in no order; co_glance_sector32/64/128(p): the words of a sector
 *            as they were at some time since the launch began, of 128 bits each half for itself: for lanes
 *            that go on from a compare-and-swap, which tells the truth; co_load_shared32/64(p),
 *            co_store_shared32/64(p, v): the same of the block's own shared memory, which the compiler must
 *            see
 * Ordered    co_load_acquire32/64, co_store_release32/64; co_fence() (acquire and release), co_fence_sc()
 * Atomics    co_cas32/64/128(p, expected, desired) and co_add, co_min, co_max, co_or, co_and, co_xor,
 *            co_exchange 32/64(p, v): relaxed, all return the old value; co_add_real64(p, v): the sum of the
 *            doubles whose bits *p and v are, in kernels; co_cas128 needs sm_90; co_has_cas128(): 1 where it
 *            is there, known when code is compiled
 * Shared     CO_SHARED(T, name, n): an array of the block's; CO_SHARED_DYNAMIC(T, name): the launch's; plain
 *            and relaxed words and atomics work on it; co_kept(p): p, to be kept in a register;
 *            co_bulk_copy(shared, from, bytes): the whole block copies, and meets; co_bulk_begin(arrived),
 *            co_bulk_ask(arrived, shared, from, bytes) of words of 32 bits: by one lane; the block meets
 *            between them; co_bulk_wait(arrived, turn): the copy that was asked for as number `turn`, from 0,
 *            has come: by each lane that reads it, and before the next is asked for; co_bulk_leave(): by each
 *            lane that has used those bytes, before the block meets and another copy to them is asked for.
 *            sm_90 and later; co_bulk_prefetch(p, bytes): these bytes of global memory will be read soon; by
 *            one lane. Before sm_90 nothing; co_warp_recast(p, bytes), co_block_recast: warp or block meets,
 *            and then uses these bytes with other widths
 * Numbers    co_ones32(v), co_ones64(v): how many bits are 1; co_first32(v): the number of the lowest of
 *            them, v not 0; co_anew32(v): v, of which the compiler knows nothing: so what depends on it is
 *            computed anew and not kept in registers from before
 * Kernels    CO_KERNEL(name, struct type) { ... args->field ... }; CO_KERNEL_BOUND(.., threads, blocks): at
 *            most so many threads a block, so many blocks at a time; CO_INLINE for functions, CO_APART for
 *            those that are called seldom, and large; CO_EACH_WARP(base, n); CO_EACH_ITEM(j, n): n known to
 *            the compiler, all turns spelled out; CO_ROLLED: before a loop of which none is */
#ifndef COHORT_DEVICE_LANE_H
#define COHORT_DEVICE_LANE_H

typedef unsigned char co_u8;
typedef unsigned short co_u16;
typedef unsigned int co_u32;
typedef unsigned long long co_u64;

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#    define CO_ALIGN(n) __align__(n)
#else
#    define CO_ALIGN(n) __attribute__((aligned(n)))
#endif

typedef struct CO_ALIGN(16) co_u128 {
    co_u64 lo, hi;
} co_u128;
typedef struct CO_ALIGN(16) co_half32 {
    co_u32 w[4];
} co_half32;
typedef struct CO_ALIGN(16) co_half64 {
    co_u64 w[2];
} co_half64;
typedef struct CO_ALIGN(16) co_half128 {
    co_u128 w[1];
} co_half128;
typedef struct CO_ALIGN(32) co_sector32 {
    co_u32 w[8];
} co_sector32;
typedef struct CO_ALIGN(32) co_sector64 {
    co_u64 w[4];
} co_sector64;
typedef struct CO_ALIGN(32) co_sector128 {
    co_u128 w[2];
} co_sector128;

#define CO_FULL_WARP 0xffffffffu

#if defined(COHORT_SIM)
#    include "sim_lane.h"
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#    include "lane_cuda.h"
#else
#    include "lane_cpu.h"
#endif

CO_INLINE co_u128 co_make128(co_u64 lo, co_u64 hi)
{
    co_u128 v;
    v.lo = lo;
    v.hi = hi;
    return v;
}

CO_INLINE co_half128 co_load_half128(const void *p)
{
    co_half128 h;
    h.w[0] = co_load128((const co_u128 *)p);
    return h;
}

CO_INLINE int co_same128(co_u128 a, co_u128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

#if defined(CO_HAS_WARPS)

/* A sector by two plain loads that L1 makes one fetch of; relaxed ones would go to L2 twice. */
CO_INLINE co_sector128 co_read_sector128(const void *p)
{
    co_sector128 s;
    s.w[0] = co_read128((const co_u128 *)p);
    s.w[1] = co_read128((const co_u128 *)p + 1);
    return s;
}

CO_INLINE co_sector64 co_read_sector64(const void *p)
{
    co_sector128 v = co_read_sector128(p);
    co_sector64 s;
    s.w[0] = v.w[0].lo;
    s.w[1] = v.w[0].hi;
    s.w[2] = v.w[1].lo;
    s.w[3] = v.w[1].hi;
    return s;
}

CO_INLINE co_sector32 co_read_sector32(const void *p)
{
    co_sector64 v = co_read_sector64(p);
    co_sector32 s;
    for (int i = 0; i < 8; i++)
        s.w[i] = (co_u32)(v.w[i / 2] >> (i % 2 * 32));
    return s;
}

/* Walks [0, n) a warp's width at a time, warps of the grid side by side: base is the entry of lane 0, a
 * multiple of 32. All lanes of a warp make the same turns, so collectives with CO_FULL_WARP are allowed
 * inside. */
#    define CO_EACH_WARP(base, n)                                                                  \
        for (co_u64 base = ((co_u64)co_block() * co_threads() + (co_thread() & ~31u)); base < (n); \
             base += (co_u64)co_blocks() * co_threads())

/* The sum over the lanes of a full warp, in every lane. */
CO_INLINE co_u64 co_warp_sum(co_u64 v)
{
    for (co_u32 d = 16; d; d >>= 1)
        v += co_shuffle64(CO_FULL_WARP, v, co_lane() ^ d);
    return v;
}

/* The least (greatest) over the lanes of a full warp, in every lane. */
CO_INLINE co_u64 co_warp_min(co_u64 v)
{
    for (co_u32 d = 16; d; d >>= 1) {
        co_u64 other = co_shuffle64(CO_FULL_WARP, v, co_lane() ^ d);
        v = other < v ? other : v;
    }
    return v;
}

CO_INLINE co_u64 co_warp_max(co_u64 v)
{
    return ~co_warp_min(~v);
}

/* The sum over the lanes before this one in a full warp. */
CO_INLINE co_u64 co_warp_before(co_u64 v)
{
    co_u64 sum = v;
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u64 other = co_shuffle64(CO_FULL_WARP, sum, co_lane() - d);
        sum += co_lane() >= d ? other : 0;
    }
    return sum - v;
}

#endif
#endif
