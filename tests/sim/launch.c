/* launch.c: a launch from its first lane to its last, and how it fails.
 *
 * Lanes live in a table of fixed places; a block takes a run of them and gives them to the next block when
 * all its lanes have returned. The thread that launches picks the first lane and sleeps; lanes switch to one
 * another directly and come back to it only when a lane returns, or when something is wrong. A failed launch
 * abandons its lanes where they stand: their stacks are begun anew by the next. */
#include "inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 4096, MAX_SLOTS = 64, CHUNK = 1 << 20 };

struct sim sim;
struct sim_who *sim_who;

/* ---- memory that lives as long as a launch ------------------------------------------------------------- */

struct chunk {
    struct chunk *next;
    size_t bytes;
    char memory[];
};
static struct chunk *chunks, *chunk;
static size_t chunk_used;

void *launch_alloc(size_t bytes)
{
    bytes = (bytes + 15) / 16 * 16;
    while (!chunk || chunk->bytes - chunk_used < bytes) {
        struct chunk *next = chunk ? chunk->next : chunks;
        if (!next || next->bytes < bytes) {
            size_t size = bytes > CHUNK ? bytes : CHUNK;
            struct chunk *new = malloc(sizeof *new + size);
            if (!new)
                sim_host_error("out of memory");
            new->bytes = size;
            new->next = next;
            *(chunk ? &chunk->next : &chunks) = new;
            next = new;
        }
        chunk = next;
        chunk_used = 0;
    }
    void *p = chunk->memory + chunk_used;
    chunk_used += bytes;
    return p;
}

/* Keeps 64 chunks for the next launch. */
static void launch_alloc_reset(void)
{
    struct chunk **at = &chunks;
    for (int kept = 0; *at; kept++) {
        if (kept < 64) {
            at = &(*at)->next;
            continue;
        }
        struct chunk *gone = *at;
        *at = gone->next;
        free(gone);
    }
    chunk = NULL;
    chunk_used = 0;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static struct sim_kernel *kernels;

void sim_kernel_register(struct sim_kernel *kernel)
{
    kernel->next = kernels;
    kernels = kernel;
}

const struct sim_kernel *sim_kernel_find(const char *name)
{
    for (const struct sim_kernel *k = kernels; k; k = k->next)
        if (!strcmp(k->name, name))
            return k;
    return NULL;
}

/* ---- failures ------------------------------------------------------------------------------------------ */

void sim_host_error(const char *what)
{
    fprintf(stderr, "simulated GPU: %s\n", what);
    abort();
}

const char *lane_name(const struct lane *lane)
{
    static char text[2][80];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "block %u thread %u (warp %u lane %u)", lane->who.block,
             lane->who.thread, lane->who.warp, lane->who.lane);
    return text[turn];
}

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    size_t n = strlen(sim.message);
    va_list list;
    va_start(list, format);
    vsnprintf(sim.message + n, sizeof sim.message - n, format, list);
    va_end(list);
}

static void add_address(const struct lane *lane)
{
    const struct allocation *a = arena_find(lane->address);
    add(", %s", lane->word);
    if (!lane->bytes)
        return;
    add(" at %p", lane->address);
    if (a)
        add(" (byte %zu of allocation %" PRIu64 " of %zu bytes)",
            (size_t)((const char *)lane->address - arena.memory) - a->at, a->number, a->bytes);
    else if (arena_has(lane->address))
        add(" (%s)", (size_t)((const char *)lane->address - arena.memory) >= arena.shared_at
                         ? "shared memory"
                         : "no allocation");
}

static void begin_message(void)
{
    sim.message[0] = 0;
    add("simulated GPU: kernel %s<<<%u, %u>>>", sim.launch.kernel->name, sim.launch.blocks,
        sim.launch.threads);
}

static void end_message(void)
{
    static const char *const kinds[] = {"random", "pct", "lane", "warp", "search", "any"};
    add("\n  at step %" PRIu64 ", %s memory, schedule %s; replay with ", sim.steps,
        sim.strong ? "strong" : "weak", kinds[sim.kind]);
    if (sim.launch.device)
        add("--device sim:%s (launch %" PRIu64 ")", sim.launch.device, sim.launch.number);
    else
        add("seed %" PRIu64, sim.launch.schedule.seed);
    if (sim.launch.schedule.search)
        add("\n  decisions: %s", sim_search_path(sim.launch.schedule.search));
    sim.failed = 1;
    sim.failures++;
    if (!sim.launch.schedule.quiet)
        fprintf(stderr, "%s\n", sim.message);
}

void sim_fail(const char *format, ...)
{
    char what[512];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    begin_message();
    add(": %s", lane_name(sim.lane));
    add_address(sim.lane);
    add(": %s", what);
    end_message();
    coroutine_switch(&sim.lane->coroutine, &sim.thread);
    abort(); /* an abandoned lane does not run again */
}

void launch_give_up(void)
{
    sim.failed = 1;
    coroutine_switch(&sim.lane->coroutine, &sim.thread);
    abort();
}

static void fail_deadlock(void)
{
    uint32_t told = 0, waiting = 0;
    begin_message();
    add(": deadlock: no lane can go on");
    for (uint32_t i = 0; i < sim.slot_count * sim.launch.threads; i++) {
        struct lane *lane = &sim.lanes[i];
        if (lane->state != LANE_WAITS_WARP && lane->state != LANE_WAITS_BLOCK)
            continue;
        waiting++;
        if (told++ >= 8)
            continue;
        if (lane->state == LANE_WAITS_BLOCK) {
            add("\n  %s waits in co_block_sync", lane_name(lane));
            continue;
        }
        for (uint32_t m = 0; m < lane->warp->meetings; m++) {
            struct meeting *at = &lane->warp->meeting[m];
            if (at->arrived >> lane->bit & 1)
                add("\n  %s waits in %s for lanes %08x of mask %08x", lane_name(lane),
                    sim_vote_names[at->kind], at->mask & lane->warp->live & ~at->arrived, at->mask);
        }
    }
    if (waiting > 8)
        add("\n  and %u more", waiting - 8);
    end_message();
}

const char *sim_message(void)
{
    return sim.message;
}
uint64_t sim_failures(void)
{
    return sim.failures;
}
struct sim_counts sim_counts(void)
{
    return sim.counts;
}
uint64_t sim_sectors(void)
{
    return sim.sectors;
}
void sim_watch(const void *memory, size_t bytes)
{
    sim.watch_from = (uintptr_t)memory;
    sim.watch_bytes = bytes;
    sim.watched = 0;
}
uint64_t sim_watched(void)
{
    return sim.watched;
}

/* ---- lanes and blocks ---------------------------------------------------------------------------------- */

static void lane_run(void)
{
    coroutine_entered(&sim.thread);
    if (sim.merge)
        merge_lane(sim.lane, 0);
    sim.launch.kernel->run(sim.launch.args);
    struct lane *lane = sim.lane;
    lane->state = LANE_ENDED;
    lane->word = "return";
    lane->bytes = 0;
    schedule_remove(lane);
    lane->block->live--;
    collectives_exit(lane);
    coroutine_switch(&lane->coroutine, &sim.thread);
    abort(); /* it has ended */
}

static void lane_begin(struct block *block, uint32_t thread)
{
    struct lane *lane = &block->lanes[thread];
    if (!lane->coroutine.stack && coroutine_stack(&lane->coroutine))
        sim_host_error("no memory for the stacks of lanes");
    lane->who = (struct sim_who){thread & 31,        thread >> 5,  thread,
                                 sim.launch.threads, block->index, sim.launch.blocks};
    lane->bit = thread & 31;
    lane->serial = ++sim.next_serial;
    lane->stalled = 0;
    lane->priority = ((uint64_t)1 << 40) + (sim_random() >> 32);
    lane->steps = lane->operation_began = 0;
    lane->word = "begin";
    lane->bytes = 0;
    lane->warp = &block->warps[thread >> 5];
    lane->block = block;
    view_begin(&lane->current);
    view_begin(&lane->acquired);
    lane->released = NULL;
    lane->clock_location = lane->clock_time = 0;
    lane->trace = lane->serial;
    lane->in_operation = lane->pauses = lane->words = 0;
    coroutine_begin(&lane->coroutine, lane_run, (size_t)(lane - sim.lanes));
    schedule_add(lane);
}

static void block_begin(struct block *block)
{
    uint32_t n = sim.launch.threads, at = sim.blocks_begun++;
    if (sim.block_backwards)
        at = sim.launch.blocks - 1 - at;
    block->index = (uint32_t)(((uint64_t)at + sim.block_offset) % sim.launch.blocks);
    block->lanes = sim.lanes + (size_t)block->slot * n;
    block->live = n;
    block->arrived = 0;
    block->sites = block->bulks = 0;
    block->first_location = 0;
    view_begin(&block->view);
    for (uint32_t w = 0; w * 32 < n; w++) {
        struct warp *warp = &block->warps[w];
        warp->lanes = block->lanes + w * 32;
        warp->live = n - w * 32 >= 32 ? ~0u : (1u << (n - w * 32)) - 1;
        warp->at_block = warp->meetings = 0;
        view_begin(&warp->view);
    }
    block->shared_used = sim.launch.dynamic_shared;
    if (block->shared_used)
        arena_mark(shared_begin(block), block->shared_used, STATE_UNWRITTEN);
    for (uint32_t t = 0; t < n; t++)
        lane_begin(block, t);
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static void prepare(const struct launch *launch)
{
    uint64_t lanes = (uint64_t)launch->blocks * launch->threads;
    sim.launch = *launch;
    struct sim_schedule *s = &sim.launch.schedule;
    sim.failed = 0;
    sim.running = 1;
    sim.message[0] = 0;
    sim.steps = 0;
    sim.counts = (struct sim_counts){0};
    sim.step_limit = s->steps ? s->steps : 2000000 + 100000 * lanes;
    sim.strong = s->memory == SIM_STRONG || (s->memory == SIM_AUTO && lanes > 1024);
    sim.next_serial = sim.blocks_begun = sim.blocks_ended = 0;
    sim.thread.stack = NULL;
    launch_alloc_reset();
    uint32_t live = s->live ? s->live : 512, slots = live / launch->threads;
    slots = slots < 2 ? 2 : slots > MAX_SLOTS ? MAX_SLOTS : slots;
    sim.slot_count = slots > launch->blocks ? launch->blocks : slots;
    while (sim.slot_count > 1 && sim.slot_count * launch->threads > MAX_LANES)
        sim.slot_count--;
    schedule_begin((uint32_t)(lanes > MAX_LANES ? MAX_LANES : lanes));
    memory_begin();
    clock_begin();
}

static int tables(void)
{
    if (sim.lanes)
        return 0;
    sim.lanes = calloc(MAX_LANES, sizeof *sim.lanes);
    sim.ready = calloc(MAX_LANES, sizeof *sim.ready);
    sim.stalled = calloc(MAX_LANES, sizeof *sim.stalled);
    sim.slots = calloc(MAX_SLOTS, sizeof *sim.slots);
    return sim.lanes && sim.ready && sim.stalled && sim.slots && !arena_open() ? 0 : -1;
}

int launch_run(const struct launch *launch)
{
    if (tables())
        sim_host_error("no memory for the tables of the simulator");
    if (sim.running)
        sim_host_error("a launch inside of a launch");
    prepare(launch);
    for (uint32_t i = 0; i < sim.slot_count; i++) {
        sim.slots[i].slot = i;
        block_begin(&sim.slots[i]);
    }
    while (sim.blocks_ended < launch->blocks) {
        struct lane *lane = schedule_pick();
        if (!lane) {
            fail_deadlock();
            break;
        }
        sim.lane = lane;
        sim_who = &lane->who;
        coroutine_switch(&sim.thread, &lane->coroutine);
        if (sim.failed)
            break;
        struct block *block = sim.lane->block;
        if (block->live == 0) {
            sim.blocks_ended++;
            memory_end_block(block);
            if (sim.blocks_begun < launch->blocks)
                block_begin(block);
        }
    }
    sim.counts.steps = sim.steps;
    if (sim.failed)
        for (uint32_t i = 0; i < sim.slot_count; i++)
            memory_end_block(&sim.slots[i]);
    memory_end();
    sim.running = 0;
    sim.lane = NULL;
    sim_who = NULL;
    return sim.failed ? -1 : 0;
}

int sim_run(const char *name, const void *args, unsigned blocks, unsigned threads, unsigned shared_bytes,
            const struct sim_schedule *schedule)
{
    static const struct sim_schedule plain = SIM_SCHEDULE_INIT;
    const struct sim_kernel *kernel = sim_kernel_find(name);
    if (!kernel)
        sim_host_error("sim_run: no kernel of this name");
    if (blocks == 0 || threads == 0 || threads > 1024 || shared_bytes > SHARED_BYTES)
        sim_host_error("sim_run: blocks, threads or shared_bytes out of range");
    struct launch launch = {kernel,       args, blocks, threads,
                            shared_bytes, 0,    NULL,   schedule ? *schedule : plain};
    return launch_run(&launch);
}
