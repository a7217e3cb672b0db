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
        l->last = (struct message){l->last.time + TIME_STEP, 0, 0, 0, 0, NULL, 0};
        l->plain = l->last.time;
        l->old_count = 0;
        view_raise(&block->view, number, l->last.time);
    }
}

/* ---- copies under way ---------------------------------------------------------------------------------- */

enum { POISON = 0xc5 };

void sim_bulk_begin(co_u64 *arrived)
{
    schedule_step("co_bulk_begin", arrived, 8, 0);
    struct block *block = sim.lane->block;
    if (block->bulks == MAX_BULKS)
        sim_fail("co_bulk_begin: more than %u for a block", MAX_BULKS);
    block->bulk[block->bulks++] = (struct bulk){.arrived = arrived};
}

static struct bulk *bulk_of(const co_u64 *arrived, const char *word)
{
    struct block *block = sim.lane->block;
    for (uint32_t i = 0; i < block->bulks; i++)
        if (block->bulk[i].arrived == arrived)
            return &block->bulk[i];
    sim_fail("%s: co_bulk_begin has not made this", word);
}

/* The bytes are somebody else's until a lane has waited: whoever touches them before has a race. They come as
 * late as they can, at the first wait. */
void sim_bulk_ask(co_u64 *arrived, void *shared, const void *from, co_u32 bytes)
{
    schedule_step("co_bulk_ask", shared, bytes, 0);
    struct bulk *b = bulk_of(arrived, "co_bulk_ask");
    char *begin = shared_begin(sim.lane->block), *to = shared;
    if (((uintptr_t)shared | (uintptr_t)from | bytes) & 15)
        sim_fail("co_bulk_ask: addresses and bytes must be multiples of 16");
    if (to < begin || to + bytes > begin + SHARED_BYTES)
        sim_fail("co_bulk_ask: does not go to the block's shared memory");
    if (b->under_way)
        sim_fail("co_bulk_ask: nobody has waited for the copy before");
    for (uint32_t i = 0; i < bytes; i += 4)
        memory_take(to + i);
    memset(to, POISON, bytes);
    *b = (struct bulk){arrived, to, from, bytes, b->turns + 1, 1};
}

static void bulk_arrives(struct bulk *b)
{
    size_t f = (size_t)(b->from - arena.memory);
    if (f >= arena.shared_at || arena.shared_at - f < b->bytes)
        sim_fail("co_bulk_wait: what was asked for is not in the device's memory");
    for (uint32_t i = 0; i < b->bytes; i++)
        if (arena.state[f + i] != STATE_WRITTEN)
            sim_fail("co_bulk_wait: byte %u was never written, or is outside of any allocation", i);
    memcpy(b->to, b->from, b->bytes);
    arena_mark(b->to, b->bytes, STATE_WRITTEN);
    b->under_way = 0;
}

void sim_bulk_wait(co_u64 *arrived, co_u32 turn)
{
    schedule_step("co_bulk_wait", arrived, 8, 0);
    struct bulk *b = bulk_of(arrived, "co_bulk_wait");
    if (b->turns != turn + 1)
        sim_fail("co_bulk_wait: waits for copy %u, %u were asked for", turn, b->turns);
    if (b->under_way)
        bulk_arrives(b);
    for (uint32_t i = 0; i < b->bytes; i += 4)
        memory_learn(b->to + i);
}
