/* shared.c: a block's shared memory: its arrays, copies into it, bytes that change their width. */
#include "inside.h"

#include <string.h>

void *sim_shared(const void *site, co_u64 bytes)
{
    struct block *block = sim.lane->block;
    for (uint32_t i = 0; i < block->sites; i++)
        if (block->site[i] == site)
            return block->site_memory[i];
    uint32_t at = (block->shared_used + 127) / 128 * 128;
    if (block->sites)
        at += 128; /* a gap, so that running over an array's end is noticed */
    if (block->sites == MAX_SITES || bytes > SHARED_BYTES - at)
        sim_fail("shared memory: %u bytes used, %llu more do not fit", block->shared_used,
                 (unsigned long long)bytes);
    char *memory = shared_begin(block) + at;
    arena_mark(memory, bytes, STATE_UNWRITTEN);
    block->site[block->sites] = site;
    block->site_memory[block->sites++] = memory;
    block->shared_used = at + (uint32_t)bytes;
    return memory;
}

void *sim_shared_dynamic(void)
{
    if (!sim.launch.dynamic_shared)
        sim_fail("CO_SHARED_DYNAMIC in a launch without shared bytes");
    return shared_begin(sim.lane->block);
}

void sim_bulk_copy(void *shared, const void *from, co_u32 bytes)
{
    schedule_step("co_bulk_copy", shared, bytes, 0);
    struct block *block = sim.lane->block;
    if (((uintptr_t)shared | (uintptr_t)from | bytes) & 15)
        sim_fail("co_bulk_copy: addresses and bytes must be multiples of 16");
    if (block->arrived &&
        (block->copy_to != shared || block->copy_from != from || block->copy_bytes != bytes))
        sim_fail("lanes of a block copy different things");
    block->copy_to = shared;
    block->copy_from = from;
    block->copy_bytes = bytes;
    meet_block(BLOCK_COPY);
}

/* Barriers before and after: what was there is in memory, and nobody is at it. */
void sim_recast(void *shared, co_u32 bytes, int warp)
{
    char *begin = shared_begin(sim.lane->block), *p = shared;
    if (p < begin || p + bytes > begin + SHARED_BYTES)
        sim_fail("a recast outside of the block's shared memory");
    if (warp)
        co_warp_sync(CO_FULL_WARP);
    else
        co_block_sync();
    if (warp ? sim.lane->who.lane == 0 : sim.lane->who.thread == 0)
        memset(&arena.shadow[p - arena.memory], 0, bytes * sizeof *arena.shadow);
    if (warp)
        co_warp_sync(CO_FULL_WARP);
    else
        co_block_sync();
}

/* All lanes of the block have come, and what they knew is the block's. */
void memory_copy_in(struct block *block)
{
    char *to = block->copy_to;
    const char *from = block->copy_from;
    uint32_t bytes = block->copy_bytes;
    size_t t = (size_t)(to - arena.memory), f = (size_t)(from - arena.memory);
    char *begin = shared_begin(block);
    if (to < begin || to + bytes > begin + SHARED_BYTES)
        sim_fail("co_bulk_copy: does not go to the block's shared memory");
    if (f >= arena.bytes || arena.bytes - f < bytes)
        sim_fail("co_bulk_copy: does not come from the device's memory");
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t a = arena.shadow[f + i], b = arena.shadow[t + i];
        if (arena.state[f + i] != STATE_WRITTEN || arena.state[t + i] == STATE_NONE)
            sim_fail("co_bulk_copy: byte %u was never written, or is outside of any allocation", i);
        if (a && sim.locations[a].last.time > view_time(&block->view, a))
            sim_fail("race: co_bulk_copy reads byte %u, and a write of another lane does not come before it",
                     i);
        if (b && sim.locations[b].last.time > view_time(&block->view, b))
            sim_fail("race: co_bulk_copy writes byte %u, and a write of another lane does not come before it",
                     i);
    }
    memcpy(to, from, bytes);
    arena_mark(to, bytes, STATE_WRITTEN);
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t number = arena.shadow[t + i];
        struct location *l = &sim.locations[number];
        if (!number || l->address != to + i)
            continue;
        l->last = (struct message){l->last.time + TIME_STEP, 0, 0, 0, 0, NULL};
        l->plain = l->last.time;
        l->old_count = 0;
        view_raise(&block->view, number, l->last.time);
    }
}
