/* lane_cuda.h: the words of lane.h on a GPU. Relaxed words have .gpu scope and are coherent in L2; a plain
 * word may be served by L1. Addresses are generic, so each word works on global and on shared memory
 * alike. */
#ifndef COHORT_DEVICE_LANE_CUDA_H
#define COHORT_DEVICE_LANE_CUDA_H

#define CO_INLINE    static __device__ __forceinline__
#define CO_APART     static __device__ __noinline__
#define CO_HAS_WARPS 1

/* ---- who ----------------------------------------------------------------------------------------------- */

CO_INLINE co_u32 co_lane(void)
{
    return threadIdx.x & 31u;
}
CO_INLINE co_u32 co_warp(void)
{
    return threadIdx.x >> 5;
}
CO_INLINE co_u32 co_thread(void)
{
    return threadIdx.x;
}
CO_INLINE co_u32 co_threads(void)
{
    return blockDim.x;
}
CO_INLINE co_u32 co_block(void)
{
    return blockIdx.x;
}
CO_INLINE co_u32 co_blocks(void)
{
    return gridDim.x;
}
CO_INLINE void co_pause(void)
{
    __nanosleep(20);
}

CO_INLINE co_u64 co_clock(void)
{
    co_u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

/* ---- together ------------------------------------------------------------------------------------------ */

CO_INLINE co_u32 co_ballot(co_u32 mask, int p)
{
    return __ballot_sync(mask, p);
}
CO_INLINE int co_any(co_u32 mask, int p)
{
    return __any_sync(mask, p);
}
CO_INLINE int co_all(co_u32 mask, int p)
{
    return __all_sync(mask, p);
}
CO_INLINE co_u32 co_shuffle32(co_u32 mask, co_u32 v, co_u32 from)
{
    return __shfl_sync(mask, v, (int)from);
}
CO_INLINE co_u64 co_shuffle64(co_u32 mask, co_u64 v, co_u32 from)
{
    return __shfl_sync(mask, v, (int)from);
}
CO_INLINE co_u32 co_match32(co_u32 mask, co_u32 v)
{
    return __match_any_sync(mask, v);
}
CO_INLINE co_u32 co_match64(co_u32 mask, co_u64 v)
{
    return __match_any_sync(mask, v);
}
CO_INLINE co_u32 co_unite32(co_u32 v)
{
    return __reduce_or_sync(0xffffffffu, v);
}
CO_INLINE void co_warp_sync(co_u32 mask)
{
    __syncwarp(mask);
}
CO_INLINE void co_block_sync(void)
{
    __syncthreads();
}
CO_INLINE void co_warp_recast(void *shared, co_u32 bytes)
{
    (void)shared, (void)bytes;
    __syncwarp();
}
CO_INLINE void co_block_recast(void *shared, co_u32 bytes)
{
    (void)shared, (void)bytes;
    __syncthreads();
}
/* All ones, though the compiler does not know: a multiplication by it stays one. */
CO_INLINE co_u32 co_hidden_ones(void)
{
    co_u32 before, others;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(others));
    return before + others;
}
/* Votes bit by bit, faster than match.any for few bits; the predicates of all bits are set at once. What
 * has to be complemented is, as x * -1 + -1, by the multiplier, since the unit that does logic has the
 * votes to do. */
CO_INLINE co_u32 co_same_bit(co_u32 v, co_u32 bit, co_u32 ones)
{
    co_u32 same;
    asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %1, %2; setp.ne.u32 p, t, 0;"
                 " vote.sync.ballot.b32 %0, p, 0xffffffff; @!p mad.lo.s32 %0, %0, %3, %3; }"
                 : "=&r"(same)
                 : "r"(v), "r"(bit), "r"(ones));
    return same;
}
CO_INLINE co_u32 co_match_bits(co_u32 v, co_u32 bits)
{
    co_u32 same = 0xffffffffu, ones = co_hidden_ones();
#pragma unroll
    for (co_u32 b = 0; b < 16; b += 2)
        if (b < bits) {
            co_u32 low = co_same_bit(v, 1u << b, ones),
                   high = b + 1 < bits ? co_same_bit(v, 2u << b, ones) : 0xffffffffu;
            asm("lop3.b32 %0, %0, %1, %2, 0x80;" : "+r"(same) : "r"(low), "r"(high));
        }
    return same;
}
CO_INLINE co_u32 co_ones32(co_u32 v)
{
    return (co_u32)__popc(v);
}
CO_INLINE co_u32 co_ones64(co_u64 v)
{
    return (co_u32)__popcll(v);
}
CO_INLINE co_u32 co_first32(co_u32 v)
{
    return (co_u32)__ffs((int)v) - 1;
}
CO_INLINE co_u32 co_anew32(co_u32 v)
{
    asm volatile("" : "+r"(v));
    return v;
}

/* The address in a register: the compiler would make it anew at each use, which takes a special register
 * and its time. */
CO_INLINE void *co_kept(void *shared)
{
    co_u32 at = (co_u32)__cvta_generic_to_shared(shared);
    asm volatile("" : "+r"(at));
    return __cvta_shared_to_generic(at);
}

/* ---- plain --------------------------------------------------------------------------------------------- */

CO_INLINE co_u8 co_read8(const co_u8 *p)
{
    return *p;
}
CO_INLINE co_u16 co_read16(const co_u16 *p)
{
    return *p;
}
CO_INLINE co_u32 co_read32(const co_u32 *p)
{
    return *p;
}
CO_INLINE co_u64 co_read64(const co_u64 *p)
{
    return *p;
}
CO_INLINE co_u128 co_read128(const co_u128 *p)
{
    ulonglong2 v = *(const ulonglong2 *)p;
    co_u128 r;
    r.lo = v.x;
    r.hi = v.y;
    return r;
}
CO_INLINE void co_write8(co_u8 *p, co_u8 v)
{
    *p = v;
}
CO_INLINE void co_write16(co_u16 *p, co_u16 v)
{
    *p = v;
}
CO_INLINE void co_write32(co_u32 *p, co_u32 v)
{
    *p = v;
}
CO_INLINE void co_write64(co_u64 *p, co_u64 v)
{
    *p = v;
}
CO_INLINE void co_write128(co_u128 *p, co_u128 v)
{
    *(ulonglong2 *)p = make_ulonglong2(v.lo, v.hi);
}

CO_INLINE co_u8 co_read_stream8(const co_u8 *p)
{
    return __ldcs(p);
}
CO_INLINE co_u16 co_read_stream16(const co_u16 *p)
{
    return __ldcs(p);
}
CO_INLINE co_u32 co_read_stream32(const co_u32 *p)
{
    return __ldcs(p);
}
CO_INLINE co_u64 co_read_stream64(const co_u64 *p)
{
    return __ldcs(p);
}
CO_INLINE co_u128 co_read_stream128(const co_u128 *p)
{
    ulonglong2 v = __ldcs((const ulonglong2 *)p);
    co_u128 r;
    r.lo = v.x;
    r.hi = v.y;
    return r;
}
CO_INLINE void co_prefetch(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
}
CO_INLINE void co_write_stream32(co_u32 *p, co_u32 v)
{
    __stcs(p, v);
}
CO_INLINE void co_write_stream64(co_u64 *p, co_u64 v)
{
    __stcs(p, v);
}
CO_INLINE void co_write_stream128(co_u128 *p, co_u128 v)
{
    __stcs((ulonglong2 *)p, make_ulonglong2(v.lo, v.hi));
}

/* ---- relaxed and ordered ------------------------------------------------------------------------------- */

#define CO_LOAD(name, bits, reg, order)                                                         \
    CO_INLINE co_u##bits name(const co_u##bits *p)                                              \
    {                                                                                           \
        co_u##bits v;                                                                           \
        asm volatile("ld." order ".gpu.u" #bits " %0, [%1];" : "=" reg(v) : "l"(p) : "memory"); \
        return v;                                                                               \
    }
#define CO_STORE(name, bits, reg, order)                                                   \
    CO_INLINE void name(co_u##bits *p, co_u##bits v)                                       \
    {                                                                                      \
        asm volatile("st." order ".gpu.u" #bits " [%0], %1;" ::"l"(p), reg(v) : "memory"); \
    }

/* Of a block's own shared memory, as a rule: where the compiler sees that, it says so. */
CO_INLINE co_u8 co_load8(const co_u8 *p)
{
    return *(const volatile co_u8 *)p;
}
CO_INLINE void co_store8(co_u8 *p, co_u8 v)
{
    *(volatile co_u8 *)p = v;
}

CO_INLINE co_u32 co_load_shared32(const co_u32 *p)
{
    return *(const volatile co_u32 *)p;
}
CO_INLINE co_u64 co_load_shared64(const co_u64 *p)
{
    return *(const volatile co_u64 *)p;
}
CO_INLINE void co_store_shared32(co_u32 *p, co_u32 v)
{
    *(volatile co_u32 *)p = v;
}
CO_INLINE void co_store_shared64(co_u64 *p, co_u64 v)
{
    *(volatile co_u64 *)p = v;
}

CO_LOAD(co_load32, 32, "r", "relaxed")
CO_LOAD(co_load64, 64, "l", "relaxed")
CO_LOAD(co_load_acquire32, 32, "r", "acquire")
CO_LOAD(co_load_acquire64, 64, "l", "acquire")
CO_STORE(co_store32, 32, "r", "relaxed")
CO_STORE(co_store64, 64, "l", "relaxed")
CO_STORE(co_store_release32, 32, "r", "release")
CO_STORE(co_store_release64, 64, "l", "release")

#undef CO_LOAD
#undef CO_STORE

CO_INLINE co_u128 co_load128(const co_u128 *p)
{
    co_u128 v;
    asm volatile("{ .reg .b128 t; ld.relaxed.gpu.b128 t, [%2]; mov.b128 {%0, %1}, t; }"
                 : "=l"(v.lo), "=l"(v.hi)
                 : "l"(p)
                 : "memory");
    return v;
}

CO_INLINE void co_store128(co_u128 *p, co_u128 v)
{
    asm volatile("{ .reg .b128 t; mov.b128 t, {%1, %2}; st.relaxed.gpu.b128 [%0], t; }" ::"l"(p), "l"(v.lo),
                 "l"(v.hi)
                 : "memory");
}

/* 16 bytes of global memory by way of L1, which makes one fetch of two such loads of a sector. */
CO_INLINE co_u128 co_glance128(const void *p)
{
    co_u128 v;
    asm volatile("ld.weak.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(v.lo), "=l"(v.hi)
                 : "l"(__cvta_generic_to_global(p)));
    return v;
}
CO_INLINE co_sector128 co_glance_sector128(const void *p)
{
    co_sector128 s;
    s.w[0] = co_glance128(p);
    s.w[1] = co_glance128((const char *)p + 16);
    return s;
}
CO_INLINE co_sector64 co_glance_sector64(const void *p)
{
    co_sector128 v = co_glance_sector128(p);
    co_sector64 s;
    for (int i = 0; i < 4; i++)
        s.w[i] = i % 2 ? v.w[i / 2].hi : v.w[i / 2].lo;
    return s;
}
CO_INLINE co_sector32 co_glance_sector32(const void *p)
{
    co_sector64 v = co_glance_sector64(p);
    co_sector32 s;
    for (int i = 0; i < 8; i++)
        s.w[i] = (co_u32)(v.w[i / 2] >> (i % 2 * 32));
    return s;
}

CO_INLINE co_half32 co_load_half32(const void *p)
{
    co_half32 h;
    asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(h.w[0]), "=r"(h.w[1]), "=r"(h.w[2]), "=r"(h.w[3])
                 : "l"(p)
                 : "memory");
    return h;
}

CO_INLINE co_half64 co_load_half64(const void *p)
{
    co_half64 h;
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(h.w[0]), "=l"(h.w[1]) : "l"(p) : "memory");
    return h;
}

CO_INLINE co_sector32 co_load_sector32(const void *p)
{
    co_sector32 s;
    asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(s.w[0]), "=r"(s.w[1]), "=r"(s.w[2]), "=r"(s.w[3])
                 : "l"(p)
                 : "memory");
    asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4 + 16];"
                 : "=r"(s.w[4]), "=r"(s.w[5]), "=r"(s.w[6]), "=r"(s.w[7])
                 : "l"(p)
                 : "memory");
    return s;
}

CO_INLINE co_sector64 co_load_sector64(const void *p)
{
    co_sector64 s;
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(s.w[0]), "=l"(s.w[1]) : "l"(p) : "memory");
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2 + 16];"
                 : "=l"(s.w[2]), "=l"(s.w[3])
                 : "l"(p)
                 : "memory");
    return s;
}

CO_INLINE co_sector128 co_load_sector128(const void *p)
{
    co_sector128 s;
    s.w[0] = co_load128((const co_u128 *)p);
    s.w[1] = co_load128((const co_u128 *)p + 1);
    return s;
}

CO_INLINE void co_fence(void)
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
CO_INLINE void co_fence_sc(void)
{
    asm volatile("fence.sc.gpu;" ::: "memory");
}

/* ---- atomics ------------------------------------------------------------------------------------------- */

CO_INLINE co_u32 co_cas32(co_u32 *p, co_u32 expected, co_u32 desired)
{
    return atomicCAS(p, expected, desired);
}
CO_INLINE co_u64 co_cas64(co_u64 *p, co_u64 expected, co_u64 desired)
{
    return atomicCAS(p, expected, desired);
}

CO_INLINE int co_has_cas128(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return 1;
#else
    return 0;
#endif
}

/* sm_90 and later. Code for older machines contains a trap in its place; the host never launches it there. */
CO_INLINE co_u128 co_cas128(co_u128 *p, co_u128 expected, co_u128 desired)
{
    co_u128 old;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .b128 e, d, o; mov.b128 e, {%3, %4}; mov.b128 d, {%5, %6};"
                 " atom.relaxed.gpu.cas.b128 o, [%2], e, d; mov.b128 {%0, %1}, o; }"
                 : "=l"(old.lo), "=l"(old.hi)
                 : "l"(p), "l"(expected.lo), "l"(expected.hi), "l"(desired.lo), "l"(desired.hi)
                 : "memory");
#else
    old = expected;
    (void)p, (void)desired;
    asm volatile("trap;");
#endif
    return old;
}

CO_INLINE co_u32 co_add32(co_u32 *p, co_u32 v)
{
    return atomicAdd(p, v);
}
CO_INLINE co_u64 co_add64(co_u64 *p, co_u64 v)
{
    return atomicAdd(p, v);
}
CO_INLINE co_u64 co_add_real64(co_u64 *p, co_u64 v)
{
    return (co_u64)__double_as_longlong(atomicAdd((double *)p, __longlong_as_double((long long)v)));
}
CO_INLINE co_u32 co_min32(co_u32 *p, co_u32 v)
{
    return atomicMin(p, v);
}
CO_INLINE co_u64 co_min64(co_u64 *p, co_u64 v)
{
    return atomicMin(p, v);
}
CO_INLINE co_u32 co_max32(co_u32 *p, co_u32 v)
{
    return atomicMax(p, v);
}
CO_INLINE co_u64 co_max64(co_u64 *p, co_u64 v)
{
    return atomicMax(p, v);
}
CO_INLINE co_u32 co_or32(co_u32 *p, co_u32 v)
{
    return atomicOr(p, v);
}
CO_INLINE co_u64 co_or64(co_u64 *p, co_u64 v)
{
    return atomicOr(p, v);
}
CO_INLINE co_u32 co_and32(co_u32 *p, co_u32 v)
{
    return atomicAnd(p, v);
}
CO_INLINE co_u64 co_and64(co_u64 *p, co_u64 v)
{
    return atomicAnd(p, v);
}
CO_INLINE co_u32 co_xor32(co_u32 *p, co_u32 v)
{
    return atomicXor(p, v);
}
CO_INLINE co_u64 co_xor64(co_u64 *p, co_u64 v)
{
    return atomicXor(p, v);
}
CO_INLINE co_u32 co_exchange32(co_u32 *p, co_u32 v)
{
    return atomicExch(p, v);
}
CO_INLINE co_u64 co_exchange64(co_u64 *p, co_u64 v)
{
    return atomicExch(p, v);
}

/* ---- shared memory and kernels ------------------------------------------------------------------------- */

#define CO_SHARED(T, name, n)      __shared__ T name[n]
#define CO_SHARED_DYNAMIC(T, name) extern __shared__ __align__(128) T name[]

/* bytes a multiple of 16, both addresses aligned to 16. The copy engine fetches on Hopper and later. */
CO_INLINE void co_bulk_copy(void *shared, const void *from, co_u32 bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __shared__ co_u64 barrier;
    co_u32 b = (co_u32)__cvta_generic_to_shared(&barrier), to = (co_u32)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes)
                     : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                to),
            "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(b)
            : "memory");
    }
    asm volatile(
        "{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra WAIT; }" ::"r"(b)
        : "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b) : "memory");
    __syncthreads();
#else
    for (co_u32 i = threadIdx.x * 16; i < bytes; i += blockDim.x * 16)
        *(ulonglong2 *)((char *)shared + i) = *(const ulonglong2 *)((const char *)from + i);
    __syncthreads();
#endif
}

/* Copies under way: `arrived` is an mbarrier, of which each copy is a phase. They come through the async
 * proxy, before which the fence puts what the lane has done to shared memory. Kernels that ask for them
 * are launched on Hopper and later. */
CO_INLINE void co_bulk_begin(co_u64 *arrived)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.proxy.async.shared::cta;" ::"r"(
                     (co_u32)__cvta_generic_to_shared(arrived))
                 : "memory");
#else
    __trap();
#endif
}
CO_INLINE void co_bulk_ask(co_u64 *arrived, void *shared, const void *from, co_u32 bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %3;"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], %3, [%0];" ::"r"(
            (co_u32)__cvta_generic_to_shared(arrived)),
        "r"((co_u32)__cvta_generic_to_shared(shared)), "l"(__cvta_generic_to_global(from)), "r"(bytes)
        : "memory");
#else
    __trap();
#endif
}
CO_INLINE void co_bulk_wait(co_u64 *arrived, co_u32 turn)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra WAIT; }" ::"r"(
            (co_u32)__cvta_generic_to_shared(arrived)),
        "r"(turn & 1)
        : "memory");
#else
    __trap();
#endif
}
CO_INLINE void co_bulk_leave(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Units of 16 bytes, which are all that can be asked for; what is less than one at either end is left out. */
CO_INLINE void co_bulk_prefetch(const void *p, co_u32 bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    co_u64 at = __cvta_generic_to_global(p), first = (at + 15) & ~15ull, end = (at + bytes) & ~15ull;
    if (first < end)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first), "r"((co_u32)(end - first)));
#else
    (void)p, (void)bytes;
#endif
}

/* A loop over a number of turns that the compiler knows, all of them spelled out: its arrays are
 * registers. */
#define CO_EACH_ITEM(j, n) _Pragma("unroll") for (co_u32 j = 0; j < (n); j++)

/* Before a loop of few turns, which would be spelled out for many. */
#define CO_ROLLED _Pragma("unroll 1")

/* Lanes that a multiprocessor holds at most; bounds that ask for more would be ignored. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 800 && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)
#    define CO_LANES_MOST 1536
#else
#    define CO_LANES_MOST 2048
#endif

/* A kernel may be launched while the one before it in its stream ends (src/cuda/device.c): the next one's
 * blocks may come as soon as all of its own are there, and it touches nothing before the kernel before it
 * is done and seen. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#    define CO_AFTER() asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait;" ::: "memory")
#else
#    define CO_AFTER()
#endif

#define CO_KERNEL(name, type)                        CO_KERNEL_BOUND(name, type, 256, 1)
#define CO_KERNEL_BOUND(name, type, threads, blocks) CO_KERNEL_NAMED(name, type, threads, blocks)
#define CO_KERNEL_NAMED(name, type, threads, blocks)                                          \
    CO_INLINE void name##_body(const type *args);                                             \
    extern "C" __global__ void __launch_bounds__(                                             \
        threads, (blocks) * (threads) > CO_LANES_MOST ? CO_LANES_MOST / (threads) : (blocks)) \
        name(const __grid_constant__ type parameters)                                         \
    {                                                                                         \
        CO_AFTER();                                                                           \
        name##_body(&parameters);                                                             \
    }                                                                                         \
    CO_INLINE void name##_body(const type *args)

#endif
