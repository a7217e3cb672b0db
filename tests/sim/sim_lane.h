/* sim_lane.h: the words of cohort/device/lane.h on the simulated GPU. Kernels are compiled by the host's C
 * compiler with -x c -std=gnu11 -DCOHORT_SIM. A lane is a coroutine; each word below ends in a function of
 * the simulator, which lets its scheduler decide who runs next and then does the word on its weak memory.
 * docs/simulator.md has the table. */
#ifndef COHORT_SIM_LANE_H
#define COHORT_SIM_LANE_H

#define CO_INLINE    static inline __attribute__((always_inline, unused))
#define CO_APART     static __attribute__((noinline, unused))
#define CO_HAS_WARPS 1

/* ---- what the simulator offers to words ---------------------------------------------------------------- */

/* Programs that are compiled at run time find these in the test program (jit.c). */
#pragma GCC visibility push(default)

struct sim_who {
    co_u32 lane, warp, thread, threads, block, blocks;
};
extern struct sim_who *sim_who; /* of the lane that runs */

enum sim_atomic_op {
    SIM_CAS,
    SIM_ADD,
    SIM_MIN,
    SIM_MAX,
    SIM_OR,
    SIM_AND,
    SIM_XOR,
    SIM_EXCHANGE,
    SIM_ADD_REAL
};
enum sim_vote { SIM_BALLOT, SIM_VOTE_ANY, SIM_VOTE_ALL, SIM_SHUFFLE, SIM_MATCH, SIM_UNITE, SIM_WARP_SYNC };

co_u64 sim_clock(void);
void sim_pause(void);
co_u64 sim_collective(enum sim_vote kind, co_u32 mask, co_u64 value, co_u32 from);
void sim_block_sync(void);
void sim_recast(void *shared, co_u32 bytes, int warp);
co_u64 sim_read(const void *p, co_u32 bytes);
co_u128 sim_read128(const void *p);
void sim_write(void *p, co_u32 bytes, co_u64 v);
void sim_write128(void *p, co_u128 v);
co_u64 sim_load(const void *p, co_u32 bytes, int acquire);
co_u128 sim_load128(const void *p);
void sim_load_sector(const void *p, void *sector, co_u32 bytes);
void sim_glance_sector(const void *p, void *sector, co_u32 bytes);
void sim_load_half(const void *p, void *half, co_u32 bytes);
void sim_store(void *p, co_u32 bytes, co_u64 v, int release);
void sim_store128(void *p, co_u128 v);
void sim_fence(int sc);
co_u64 sim_atomic(enum sim_atomic_op op, void *p, co_u32 bytes, co_u64 operand, co_u64 expected);
co_u128 sim_cas128(void *p, co_u128 expected, co_u128 desired);
int sim_has_cas128(void); /* as of the architecture of the schedule */
void *sim_shared(const void *site, co_u64 bytes);
void *sim_shared_dynamic(void);
void sim_bulk_copy(void *shared, const void *from, co_u32 bytes);
void sim_bulk_begin(co_u64 *arrived);
void sim_bulk_ask(co_u64 *arrived, void *shared, const void *from, co_u32 bytes);
void sim_bulk_wait(co_u64 *arrived, co_u32 turn);

/* A kernel as the compiler left it; a constructor puts it on the simulator's list. */
struct sim_kernel {
    const char *name;
    void (*run)(const void *args);
    co_u64 bytes; /* of the argument struct */
    struct sim_kernel *next;
};
void sim_kernel_register(struct sim_kernel *kernel);

#pragma GCC visibility pop

/* ---- who, together ------------------------------------------------------------------------------------- */

CO_INLINE co_u32 co_lane(void)
{
    return sim_who->lane;
}
CO_INLINE co_u32 co_warp(void)
{
    return sim_who->warp;
}
CO_INLINE co_u32 co_thread(void)
{
    return sim_who->thread;
}
CO_INLINE co_u32 co_threads(void)
{
    return sim_who->threads;
}
CO_INLINE co_u32 co_block(void)
{
    return sim_who->block;
}
CO_INLINE co_u32 co_blocks(void)
{
    return sim_who->blocks;
}
CO_INLINE co_u64 co_clock(void)
{
    return sim_clock();
}
CO_INLINE void co_pause(void)
{
    sim_pause();
}

CO_INLINE co_u32 co_ballot(co_u32 mask, int p)
{
    return (co_u32)sim_collective(SIM_BALLOT, mask, p != 0, 0);
}
CO_INLINE int co_any(co_u32 mask, int p)
{
    return (int)sim_collective(SIM_VOTE_ANY, mask, p != 0, 0);
}
CO_INLINE int co_all(co_u32 mask, int p)
{
    return (int)sim_collective(SIM_VOTE_ALL, mask, p != 0, 0);
}
CO_INLINE co_u32 co_shuffle32(co_u32 mask, co_u32 v, co_u32 from)
{
    return (co_u32)sim_collective(SIM_SHUFFLE, mask, v, from);
}
CO_INLINE co_u64 co_shuffle64(co_u32 mask, co_u64 v, co_u32 from)
{
    return sim_collective(SIM_SHUFFLE, mask, v, from);
}
CO_INLINE co_u32 co_match32(co_u32 mask, co_u32 v)
{
    return (co_u32)sim_collective(SIM_MATCH, mask, v, 0);
}
CO_INLINE co_u32 co_match64(co_u32 mask, co_u64 v)
{
    return (co_u32)sim_collective(SIM_MATCH, mask, v, 0);
}
CO_INLINE co_u32 co_unite32(co_u32 v)
{
    return (co_u32)sim_collective(SIM_UNITE, CO_FULL_WARP, v, 0);
}
CO_INLINE void co_warp_sync(co_u32 mask)
{
    (void)sim_collective(SIM_WARP_SYNC, mask, 0, 0);
}
CO_INLINE void co_block_sync(void)
{
    sim_block_sync();
}
CO_INLINE void co_warp_recast(void *shared, co_u32 bytes)
{
    sim_recast(shared, bytes, 1);
}
CO_INLINE void co_block_recast(void *shared, co_u32 bytes)
{
    sim_recast(shared, bytes, 0);
}
CO_INLINE co_u32 co_match_bits(co_u32 v, co_u32 bits)
{
    return (co_u32)sim_collective(SIM_MATCH, CO_FULL_WARP, v & ((1u << bits) - 1), 0);
}
CO_INLINE co_u32 co_ones32(co_u32 v)
{
    return (co_u32)__builtin_popcount(v);
}
CO_INLINE co_u32 co_ones64(co_u64 v)
{
    return (co_u32)__builtin_popcountll(v);
}
CO_INLINE co_u32 co_first32(co_u32 v)
{
    return (co_u32)__builtin_ctz(v);
}
CO_INLINE void *co_kept(void *shared)
{
    return shared;
}
CO_INLINE co_u32 co_anew32(co_u32 v)
{
    return v;
}

/* ---- plain --------------------------------------------------------------------------------------------- */

CO_INLINE co_u8 co_read8(const co_u8 *p)
{
    return (co_u8)sim_read(p, 1);
}
CO_INLINE co_u16 co_read16(const co_u16 *p)
{
    return (co_u16)sim_read(p, 2);
}
CO_INLINE co_u32 co_read32(const co_u32 *p)
{
    return (co_u32)sim_read(p, 4);
}
CO_INLINE co_u64 co_read64(const co_u64 *p)
{
    return sim_read(p, 8);
}
CO_INLINE co_u128 co_read128(const co_u128 *p)
{
    return sim_read128(p);
}
CO_INLINE void co_write8(co_u8 *p, co_u8 v)
{
    sim_write(p, 1, v);
}
CO_INLINE void co_write16(co_u16 *p, co_u16 v)
{
    sim_write(p, 2, v);
}
CO_INLINE void co_write32(co_u32 *p, co_u32 v)
{
    sim_write(p, 4, v);
}
CO_INLINE void co_write64(co_u64 *p, co_u64 v)
{
    sim_write(p, 8, v);
}
CO_INLINE void co_write128(co_u128 *p, co_u128 v)
{
    sim_write128(p, v);
}
CO_INLINE co_u8 co_read_stream8(const co_u8 *p)
{
    return (co_u8)sim_read(p, 1);
}
CO_INLINE co_u16 co_read_stream16(const co_u16 *p)
{
    return (co_u16)sim_read(p, 2);
}
CO_INLINE void co_prefetch(const void *p)
{
    (void)p;
}
CO_INLINE co_u32 co_read_stream32(const co_u32 *p)
{
    return (co_u32)sim_read(p, 4);
}
CO_INLINE co_u64 co_read_stream64(const co_u64 *p)
{
    return sim_read(p, 8);
}
CO_INLINE co_u128 co_read_stream128(const co_u128 *p)
{
    return sim_read128(p);
}
CO_INLINE void co_write_stream32(co_u32 *p, co_u32 v)
{
    sim_write(p, 4, v);
}
CO_INLINE void co_write_stream64(co_u64 *p, co_u64 v)
{
    sim_write(p, 8, v);
}
CO_INLINE void co_write_stream128(co_u128 *p, co_u128 v)
{
    sim_write128(p, v);
}

/* ---- relaxed and ordered ------------------------------------------------------------------------------- */

CO_INLINE co_u8 co_load8(const co_u8 *p)
{
    return (co_u8)sim_load(p, 1, 0);
}
CO_INLINE co_u32 co_load32(const co_u32 *p)
{
    return (co_u32)sim_load(p, 4, 0);
}
CO_INLINE co_u64 co_load64(const co_u64 *p)
{
    return sim_load(p, 8, 0);
}
CO_INLINE co_u32 co_load_shared32(const co_u32 *p)
{
    return (co_u32)sim_load(p, 4, 0);
}
CO_INLINE co_u64 co_load_shared64(const co_u64 *p)
{
    return sim_load(p, 8, 0);
}
CO_INLINE void co_store_shared32(co_u32 *p, co_u32 v)
{
    sim_store(p, 4, v, 0);
}
CO_INLINE void co_store_shared64(co_u64 *p, co_u64 v)
{
    sim_store(p, 8, v, 0);
}
CO_INLINE co_u128 co_load128(const co_u128 *p)
{
    return sim_load128(p);
}
CO_INLINE co_u32 co_load_acquire32(const co_u32 *p)
{
    return (co_u32)sim_load(p, 4, 1);
}
CO_INLINE co_u64 co_load_acquire64(const co_u64 *p)
{
    return sim_load(p, 8, 1);
}
CO_INLINE void co_store8(co_u8 *p, co_u8 v)
{
    sim_store(p, 1, v, 0);
}
CO_INLINE void co_store32(co_u32 *p, co_u32 v)
{
    sim_store(p, 4, v, 0);
}
CO_INLINE void co_store64(co_u64 *p, co_u64 v)
{
    sim_store(p, 8, v, 0);
}
CO_INLINE void co_store128(co_u128 *p, co_u128 v)
{
    sim_store128(p, v);
}
CO_INLINE void co_store_release32(co_u32 *p, co_u32 v)
{
    sim_store(p, 4, v, 1);
}
CO_INLINE void co_store_release64(co_u64 *p, co_u64 v)
{
    sim_store(p, 8, v, 1);
}
CO_INLINE void co_fence(void)
{
    sim_fence(0);
}
CO_INLINE void co_fence_sc(void)
{
    sim_fence(1);
}

CO_INLINE co_half32 co_load_half32(const void *p)
{
    co_half32 h;
    sim_load_half(p, &h, 4);
    return h;
}
CO_INLINE co_half64 co_load_half64(const void *p)
{
    co_half64 h;
    sim_load_half(p, &h, 8);
    return h;
}
CO_INLINE co_sector32 co_load_sector32(const void *p)
{
    co_sector32 s;
    sim_load_sector(p, &s, 4);
    return s;
}
CO_INLINE co_sector64 co_load_sector64(const void *p)
{
    co_sector64 s;
    sim_load_sector(p, &s, 8);
    return s;
}
CO_INLINE co_sector128 co_load_sector128(const void *p)
{
    co_sector128 s;
    sim_load_sector(p, &s, 16);
    return s;
}
CO_INLINE co_sector32 co_glance_sector32(const void *p)
{
    co_sector32 s;
    sim_glance_sector(p, &s, 4);
    return s;
}
CO_INLINE co_sector64 co_glance_sector64(const void *p)
{
    co_sector64 s;
    sim_glance_sector(p, &s, 8);
    return s;
}
CO_INLINE co_sector128 co_glance_sector128(const void *p)
{
    co_sector128 s;
    sim_glance_sector(p, &s, 16);
    return s;
}

/* ---- atomics ------------------------------------------------------------------------------------------- */

CO_INLINE co_u32 co_cas32(co_u32 *p, co_u32 expected, co_u32 desired)
{
    return (co_u32)sim_atomic(SIM_CAS, p, 4, desired, expected);
}
CO_INLINE co_u64 co_cas64(co_u64 *p, co_u64 expected, co_u64 desired)
{
    return sim_atomic(SIM_CAS, p, 8, desired, expected);
}
CO_INLINE int co_has_cas128(void)
{
    return sim_has_cas128();
}
CO_INLINE co_u128 co_cas128(co_u128 *p, co_u128 expected, co_u128 desired)
{
    return sim_cas128(p, expected, desired);
}
CO_INLINE co_u32 co_add32(co_u32 *p, co_u32 v)
{
    return (co_u32)sim_atomic(SIM_ADD, p, 4, v, 0);
}
CO_INLINE co_u64 co_add64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_ADD, p, 8, v, 0);
}
CO_INLINE co_u64 co_add_real64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_ADD_REAL, p, 8, v, 0);
}
CO_INLINE co_u32 co_min32(co_u32 *p, co_u32 v)
{
    return (co_u32)sim_atomic(SIM_MIN, p, 4, v, 0);
}
CO_INLINE co_u64 co_min64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_MIN, p, 8, v, 0);
}
CO_INLINE co_u32 co_max32(co_u32 *p, co_u32 v)
{
    return (co_u32)sim_atomic(SIM_MAX, p, 4, v, 0);
}
CO_INLINE co_u64 co_max64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_MAX, p, 8, v, 0);
}
CO_INLINE co_u32 co_or32(co_u32 *p, co_u32 v)
{
    return (co_u32)sim_atomic(SIM_OR, p, 4, v, 0);
}
CO_INLINE co_u64 co_or64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_OR, p, 8, v, 0);
}
CO_INLINE co_u32 co_and32(co_u32 *p, co_u32 v)
{
    return (co_u32)sim_atomic(SIM_AND, p, 4, v, 0);
}
CO_INLINE co_u64 co_and64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_AND, p, 8, v, 0);
}
CO_INLINE co_u32 co_xor32(co_u32 *p, co_u32 v)
{
    return (co_u32)sim_atomic(SIM_XOR, p, 4, v, 0);
}
CO_INLINE co_u64 co_xor64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_XOR, p, 8, v, 0);
}
CO_INLINE co_u32 co_exchange32(co_u32 *p, co_u32 v)
{
    return (co_u32)sim_atomic(SIM_EXCHANGE, p, 4, v, 0);
}
CO_INLINE co_u64 co_exchange64(co_u64 *p, co_u64 v)
{
    return sim_atomic(SIM_EXCHANGE, p, 8, v, 0);
}

/* ---- shared memory and kernels ------------------------------------------------------------------------- */

/* The array belongs to the place in the program, one for each block that is alive: `site` stands for the
 * place. */
#define CO_SHARED(T, name, n)      \
    static const char name##_site; \
    T *const name = (T *)sim_shared(&name##_site, sizeof(T) * (n))
#define CO_SHARED_DYNAMIC(T, name) T *const name = (T *)sim_shared_dynamic()

CO_INLINE void co_bulk_copy(void *shared, const void *from, co_u32 bytes)
{
    sim_bulk_copy(shared, from, bytes);
}
CO_INLINE void co_bulk_begin(co_u64 *arrived)
{
    sim_bulk_begin(arrived);
}
CO_INLINE void co_bulk_ask(co_u64 *arrived, void *shared, const void *from, co_u32 bytes)
{
    sim_bulk_ask(arrived, shared, from, bytes);
}
CO_INLINE void co_bulk_wait(co_u64 *arrived, co_u32 turn)
{
    sim_bulk_wait(arrived, turn);
}
CO_INLINE void co_bulk_leave(void) {}
CO_INLINE void co_bulk_prefetch(const void *p, co_u32 bytes)
{
    (void)p, (void)bytes;
}

#define CO_EACH_ITEM(j, n) for (co_u32 j = 0; j < (n); j++)
#define CO_ROLLED

#define CO_KERNEL(name, type)                        CO_KERNEL_NAMED(name, type)
#define CO_KERNEL_BOUND(name, type, threads, blocks) CO_KERNEL_NAMED(name, type)
#define CO_KERNEL_NAMED(name, type)                                                \
    static void name##_body(const type *args);                                     \
    static void name##_run(const void *args)                                       \
    {                                                                              \
        name##_body((const type *)args);                                           \
    }                                                                              \
    static struct sim_kernel name##_kernel = {#name, name##_run, sizeof(type), 0}; \
    __attribute__((constructor)) static void name##_register(void)                 \
    {                                                                              \
        sim_kernel_register(&name##_kernel);                                       \
    }                                                                              \
    static void name##_body(const type *args)

#endif
