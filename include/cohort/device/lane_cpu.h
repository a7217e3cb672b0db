/* lane_cpu.h: the words of lane.h for threads of the host, by the compiler's built-in atomics. There are
 * no warps here: code that runs on the host's threads uses the words on memory only.
 *
 * co_load128 is two loads, low half first with acquire. That is enough for pairs whose low half changes
 * only from an empty mark to a key and from there to an erased mark (device/map.h): a high half read after
 * the key is a value that the key had between the two loads. It is the one word that is not whole here. */
#ifndef COHORT_DEVICE_LANE_CPU_H
#define COHORT_DEVICE_LANE_CPU_H

#define CO_INLINE static inline __attribute__((always_inline, unused))
#define CO_APART  static __attribute__((noinline, unused))

CO_INLINE void co_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}
CO_INLINE co_u32 co_anew32(co_u32 v)
{
    return v;
}
CO_INLINE co_u32 co_ones32(co_u32 v)
{
    return (co_u32)__builtin_popcount(v);
}
/* By sums of 2, 4 and 8 bits: without an instruction for it the compiler would call a function. */
CO_INLINE co_u32 co_ones64(co_u64 v)
{
#ifdef __POPCNT__
    return (co_u32)__builtin_popcountll(v);
#else
    v -= v >> 1 & 0x5555555555555555ull;
    v = (v & 0x3333333333333333ull) + (v >> 2 & 0x3333333333333333ull);
    return (co_u32)(((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56);
#endif
}
CO_INLINE co_u32 co_first32(co_u32 v)
{
    return (co_u32)__builtin_ctz(v);
}

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

CO_INLINE co_u8 co_load8(const co_u8 *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
CO_INLINE void co_store8(co_u8 *p, co_u8 v)
{
    __atomic_store_n(p, v, __ATOMIC_RELAXED);
}

#define CO_WORDS(bits)                                                                             \
    CO_INLINE co_u##bits co_load##bits(const co_u##bits *p)                                        \
    {                                                                                              \
        return __atomic_load_n(p, __ATOMIC_RELAXED);                                               \
    }                                                                                              \
    CO_INLINE co_u##bits co_load_acquire##bits(const co_u##bits *p)                                \
    {                                                                                              \
        return __atomic_load_n(p, __ATOMIC_ACQUIRE);                                               \
    }                                                                                              \
    CO_INLINE void co_store##bits(co_u##bits *p, co_u##bits v)                                     \
    {                                                                                              \
        __atomic_store_n(p, v, __ATOMIC_RELAXED);                                                  \
    }                                                                                              \
    CO_INLINE void co_store_release##bits(co_u##bits *p, co_u##bits v)                             \
    {                                                                                              \
        __atomic_store_n(p, v, __ATOMIC_RELEASE);                                                  \
    }                                                                                              \
    CO_INLINE co_u##bits co_cas##bits(co_u##bits *p, co_u##bits expected, co_u##bits desired)      \
    {                                                                                              \
        __atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
        return expected;                                                                           \
    }                                                                                              \
    CO_INLINE co_u##bits co_add##bits(co_u##bits *p, co_u##bits v)                                 \
    {                                                                                              \
        return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    CO_INLINE co_u##bits co_or##bits(co_u##bits *p, co_u##bits v)                                  \
    {                                                                                              \
        return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);                                          \
    }                                                                                              \
    CO_INLINE co_u##bits co_and##bits(co_u##bits *p, co_u##bits v)                                 \
    {                                                                                              \
        return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    CO_INLINE co_u##bits co_xor##bits(co_u##bits *p, co_u##bits v)                                 \
    {                                                                                              \
        return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    CO_INLINE co_u##bits co_exchange##bits(co_u##bits *p, co_u##bits v)                            \
    {                                                                                              \
        return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);                                        \
    }                                                                                              \
    CO_INLINE co_u##bits co_min##bits(co_u##bits *p, co_u##bits v)                                 \
    {                                                                                              \
        co_u##bits old = co_load##bits(p);                                                         \
        while (v < old) {                                                                          \
            co_u##bits seen = co_cas##bits(p, old, v);                                             \
            if (seen == old)                                                                       \
                break;                                                                             \
            old = seen;                                                                            \
        }                                                                                          \
        return old;                                                                                \
    }                                                                                              \
    CO_INLINE co_u##bits co_max##bits(co_u##bits *p, co_u##bits v)                                 \
    {                                                                                              \
        co_u##bits old = co_load##bits(p);                                                         \
        while (v > old) {                                                                          \
            co_u##bits seen = co_cas##bits(p, old, v);                                             \
            if (seen == old)                                                                       \
                break;                                                                             \
            old = seen;                                                                            \
        }                                                                                          \
        return old;                                                                                \
    }

CO_WORDS(32)
CO_WORDS(64)
#undef CO_WORDS

CO_INLINE co_u128 co_load128(const co_u128 *p)
{
    co_u128 v;
    v.lo = __atomic_load_n(&p->lo, __ATOMIC_ACQUIRE);
    v.hi = __atomic_load_n(&p->hi, __ATOMIC_RELAXED);
    return v;
}

/* cmpxchg16b on x86-64 (-mcx16), inline; the __atomic form would call libatomic. */
CO_INLINE int co_has_cas128(void)
{
    return 1;
}
CO_INLINE co_u128 co_cas128(co_u128 *p, co_u128 expected, co_u128 desired)
{
    union {
        co_u128 v;
        __extension__ unsigned __int128 i;
    } e, d;
    e.v = expected;
    d.v = desired;
    e.i = __sync_val_compare_and_swap((__typeof__(e.i) *)(void *)p, e.i, d.i);
    return e.v;
}

CO_INLINE co_half32 co_load_half32(const void *p)
{
    co_half32 h;
    for (int i = 0; i < 4; i++)
        h.w[i] = co_load32((const co_u32 *)p + i);
    return h;
}

CO_INLINE co_half64 co_load_half64(const void *p)
{
    co_half64 h;
    for (int i = 0; i < 2; i++)
        h.w[i] = co_load64((const co_u64 *)p + i);
    return h;
}

CO_INLINE co_sector32 co_load_sector32(const void *p)
{
    co_sector32 s;
    for (int i = 0; i < 8; i++)
        s.w[i] = co_load32((const co_u32 *)p + i);
    return s;
}

CO_INLINE co_sector64 co_load_sector64(const void *p)
{
    co_sector64 s;
    for (int i = 0; i < 4; i++)
        s.w[i] = co_load64((const co_u64 *)p + i);
    return s;
}

CO_INLINE co_sector128 co_load_sector128(const void *p)
{
    co_sector128 s;
    for (int i = 0; i < 2; i++)
        s.w[i] = co_load128((const co_u128 *)p + i);
    return s;
}

CO_INLINE co_sector32 co_glance_sector32(const void *p)
{
    return co_load_sector32(p);
}
CO_INLINE co_sector64 co_glance_sector64(const void *p)
{
    return co_load_sector64(p);
}
CO_INLINE co_sector128 co_glance_sector128(const void *p)
{
    return co_load_sector128(p);
}

CO_INLINE co_sector32 co_read_sector32(const void *p)
{
    return co_load_sector32(p);
}
CO_INLINE co_sector64 co_read_sector64(const void *p)
{
    return co_load_sector64(p);
}
CO_INLINE co_sector128 co_read_sector128(const void *p)
{
    return co_load_sector128(p);
}

CO_INLINE void co_fence(void)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
CO_INLINE void co_fence_sc(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
