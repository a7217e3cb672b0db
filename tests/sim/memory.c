/* memory.c: the words on memory. Each location (an address and a width) that a launch touches has a history
 * of messages, in the order that all lanes agree on (coherence), each with a time; each lane has a view: for
 * every location the time before which it can read nothing any more. This is the view-based reading of PTX's
 * memory model, as in Kang, Hur, Lahav, Vafeiadis, Dreyer, "A Promising Semantics for Relaxed-Memory
 * Concurrency", POPL 2017, without promises.
 *
 *   load      any message that is not older than the view; the view rises to it
 *   glance    any message that is kept, older than the view too, of 128 bits each half by itself; the view
 *             rises to it
 *   acquire   and the view takes in the view that the message carries
 *   store     a new message, at the end or before messages that the lane has not seen; carries the view of
 *             the lane's last fence
 *   release   carries all that the lane has seen
 *   atomic    reads the newest message and puts its own right after it for ever; carries on what that one
 *             carried
 *   fence     takes in what was loaded, and is what later stores carry; sc: exchanges views with all other
 *             such fences
 *   plain     must find one message only, and one that it has seen; else the program has a race, and the
 *             launch fails
 *
 * The newest message's value is in the memory itself; up to eight older ones are kept in weak memory, none in
 * strong. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- views of lanes ------------------------------------------------------------------------------------ */

static inline uint32_t seen(const struct lane *lane, uint32_t location)
{
    uint32_t a = view_time(&lane->current, location), b = view_time(&lane->warp->view, location);
    uint32_t c = view_time(&lane->block->view, location);
    a = a > b ? a : b;
    return a > c ? a : c;
}

struct view *lane_view(const struct lane *lane)
{
    if (!lane->current.count && !lane->warp->view.count && !lane->block->view.count)
        return NULL;
    struct view *v = view_new();
    view_join(v, &lane->block->view);
    view_join(v, &lane->warp->view);
    view_join(v, &lane->current);
    return v;
}

static struct view *joined(struct view *a, struct view *b)
{
    if (!a || !b || a == b)
        return a ? a : b;
    struct view *v = view_new();
    view_join(v, a);
    view_join(v, b);
    return v;
}

/* ---- locations ----------------------------------------------------------------------------------------- */

static void check_address(const char *p, uint32_t bytes)
{
    size_t at = (size_t)(p - arena.memory);
    if (at >= arena.bytes)
        sim_fail("not an address of the device: memory of the host, or a stray pointer");
    if (at & (bytes - 1))
        sim_fail("misaligned: %u bytes", bytes);
    if (at >= arena.shared_at && (at - arena.shared_at) / SLOT_BYTES != sim.lane->block->slot)
        sim_fail("shared memory of another block");
}

uint32_t location_number(void)
{
    if (sim.location_count == sim.location_capacity) {
        sim.location_capacity = sim.location_capacity ? 2 * sim.location_capacity : 1024;
        sim.locations = realloc(sim.locations, sim.location_capacity * sizeof *sim.locations);
        if (!sim.locations)
            sim_host_error("out of memory");
    }
    memset(&sim.locations[sim.location_count], 0, sizeof *sim.locations);
    return sim.location_count++;
}

/* A location that has met nothing but plain reads is forgotten where another width comes. */
static void forget(uint32_t number)
{
    struct location *l = &sim.locations[number];
    if (l->last.time || l->strong)
        sim_fail("overlaps %u bytes at %p, used before in this launch: one location, two widths", l->bytes,
                 (void *)l->address);
    memset(&arena.shadow[l->address - arena.memory], 0, l->bytes * sizeof *arena.shadow);
}

static uint32_t new_location(char *p, uint32_t bytes)
{
    size_t at = (size_t)(p - arena.memory);
    int unwritten = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        if (arena.shadow[at + i])
            forget(arena.shadow[at + i]);
        if (arena.state[at + i] == STATE_NONE)
            sim_fail("outside of any allocation");
        unwritten |= arena.state[at + i] == STATE_UNWRITTEN;
    }
    uint32_t number = location_number();
    struct location *l = &sim.locations[number];
    l->address = p;
    l->bytes = bytes;
    l->last.unwritten = (unsigned char)unwritten;
    for (uint32_t i = 0; i < bytes; i++)
        arena.shadow[at + i] = number;
    if (at >= arena.shared_at) {
        l->next = sim.lane->block->first_location;
        sim.lane->block->first_location = number;
    }
    return number;
}

static inline uint32_t locate(const void *address, uint32_t bytes)
{
    char *p = (char *)(uintptr_t)address;
    check_address(p, bytes);
    uint32_t number = arena.shadow[p - arena.memory];
    if (SIM_LIKELY(number)) {
        const struct location *l = &sim.locations[number];
        if (SIM_LIKELY(l->address == p && l->bytes == bytes))
            return number;
    }
    return new_location(p, bytes);
}

static inline co_u128 get(const struct location *l)
{
    co_u128 v = {0, 0};
    switch (l->bytes) {
    case 4: {
        co_u32 w;
        memcpy(&w, l->address, 4);
        v.lo = w;
        break;
    }
    case 8:
        memcpy(&v.lo, l->address, 8);
        break;
    default:
        memcpy(&v, l->address, l->bytes);
    }
    return v;
}

static inline void put(struct location *l, co_u128 v)
{
    memcpy(l->address, &v, l->bytes);
    if (l->last.unwritten || l->last.time == 0)
        arena_mark(l->address, l->bytes, STATE_WRITTEN);
}

/* A strong word must not meet a plain write that it does not come after. */
static inline void check_strong(struct location *l, uint32_t number)
{
    l->strong = 1;
    if (SIM_UNLIKELY(l->plain) && l->plain > seen(sim.lane, number))
        sim_fail("race: a plain write of another lane does not come before this word");
}

static inline void check_written(const struct message *m)
{
    if (SIM_UNLIKELY(m->unwritten))
        sim_fail("reads memory that was never written (or not so that this lane must see it)");
}

/* ---- plain --------------------------------------------------------------------------------------------- */

static inline co_u128 plain_read(const void *p, uint32_t bytes)
{
    uint32_t number = locate(p, bytes);
    struct location *l = &sim.locations[number];
    check_written(&l->last);
    if (l->last.time && l->last.writer != sim.lane->serial && l->last.time > seen(sim.lane, number))
        sim_fail("race: a plain read, and the newest write (by another lane) does not come before it");
    return get(l);
}

static inline void plain_write(void *p, uint32_t bytes, co_u128 v)
{
    uint32_t number = locate(p, bytes);
    struct location *l = &sim.locations[number];
    if (l->last.time && l->last.writer != sim.lane->serial && l->last.time > seen(sim.lane, number))
        sim_fail("race: a plain write, and the newest write (by another lane) does not come before it");
    put(l, v);
    l->last = (struct message){l->last.time + TIME_STEP, sim.lane->serial, 0, 0, 0, NULL, 0};
    l->plain = l->last.time;
    l->old_count = 0;
    view_raise(&sim.lane->current, number, l->last.time);
}

void memory_take(char *p)
{
    uint32_t number = locate(p, 4);
    struct location *l = &sim.locations[number];
    if (l->last.time && l->last.writer != sim.lane->serial && l->last.time > seen(sim.lane, number))
        sim_fail("race: a copy to %p is asked for, and a write of another lane does not come before it",
                 (void *)p);
    l->last = (struct message){l->last.time + TIME_STEP, 0, 0, 0, 0, NULL, 0};
    l->plain = l->last.time;
    l->old_count = 0;
}

void memory_learn(char *p)
{
    uint32_t number = locate(p, 4);
    view_raise(&sim.lane->current, number, sim.locations[number].last.time);
}

/* ---- strong -------------------------------------------------------------------------------------------- */

static inline void learn(struct lane *lane, const struct message *m, uint32_t number, int acquire)
{
    check_written(m);
    if (m->time)
        view_raise(&lane->current, number, m->time);
    if (m->view)
        view_join(acquire ? &lane->current : &lane->acquired, m->view);
}

static inline co_u128 strong_load(const void *p, uint32_t bytes, int acquire)
{
    struct lane *lane = sim.lane;
    uint32_t number = locate(p, bytes);
    struct location *l = &sim.locations[number];
    check_strong(l, number);
    if (l->old_count) {
        uint32_t from = seen(lane, number), n = 1;
        if (from < l->last.time)
            for (uint32_t i = l->old_count; i > 0 && l->old[i - 1].m.time >= from; i--)
                n++;
        uint32_t pick = choose_message(n);
        if (pick) {
            const struct old_message *old = &l->old[l->old_count - pick];
            sim.counts.stale_loads++;
            learn(lane, &old->m, number, acquire);
            if (sim.merge)
                merge_read(l, &old->m, old->value);
            return old->value;
        }
    }
    learn(lane, &l->last, number, acquire);
    if (SIM_UNLIKELY(sim.merge))
        merge_read(l, &l->last, get(l));
    return get(l);
}

/* A cache that nobody keeps up to date answers; what it holds came from memory, which is as new from then
 * on. */
static co_u128 glance(const void *p, uint32_t bytes)
{
    uint32_t number = locate(p, bytes);
    struct location *l = &sim.locations[number];
    check_strong(l, number);
    uint32_t pick = l->old_count ? choose_message(1 + l->old_count) : 0;
    const struct old_message *old = pick ? &l->old[l->old_count - pick] : NULL;
    const struct message *m = old ? &old->m : &l->last;
    check_written(m);
    sim.counts.stale_loads += old != NULL;
    if (sim.merge)
        merge_read(l, m, old ? old->value : get(l));
    if (m->time)
        view_raise(&sim.lane->current, number, m->time);
    return old ? old->value : get(l);
}

static co_u128 glance_word(const void *p, uint32_t bytes)
{
    co_u128 v = glance(p, bytes);
    if (bytes == 16)
        v.hi = glance(p, bytes).hi;
    return v;
}

static void insert_old(struct location *l, uint32_t at, const struct message *m, co_u128 value)
{
    if (l->old_count == HISTORY) { /* the oldest is forgotten: everyone has seen the next one */
        if (at == 0)
            return;
        memmove(l->old, l->old + 1, (HISTORY - 1) * sizeof *l->old);
        l->old_count--;
        at--;
    }
    if (l->old_count == l->old_capacity) {
        uint32_t capacity = l->old_capacity ? HISTORY : 2;
        struct old_message *old = launch_alloc(capacity * sizeof *old);
        if (l->old_count)
            memcpy(old, l->old, l->old_count * sizeof *old);
        l->old = old;
        l->old_capacity = capacity;
    }
    memmove(l->old + at + 1, l->old + at, (l->old_count - at) * sizeof *l->old);
    l->old[at].m = *m;
    l->old[at].value = value;
    l->old_count++;
}

/* Puts a message at the end. */
static void append(struct location *l, uint32_t number, co_u128 v, int glued, int released, struct view *view)
{
    if (!sim.strong)
        insert_old(l, l->old_count, &l->last, get(l));
    if (SIM_UNLIKELY(l->last.time > UINT32_MAX - 2 * TIME_STEP))
        sim_fail("watchdog: 60 million writes to one location");
    put(l, v);
    l->last = (struct message){l->last.time + TIME_STEP,
                               sim.lane->serial,
                               (unsigned char)glued,
                               (unsigned char)released,
                               0,
                               view,
                               0};
    if (SIM_UNLIKELY(sim.merge))
        merge_write(l, &l->last, v, 0);
    view_raise(&sim.lane->current, number, l->last.time);
}

/* In how many places, besides the end, a new message of this lane may go: before the last, before the one
 * before.. */
static uint32_t late_places(const struct location *l, uint32_t from)
{
    uint32_t n = 0;
    const struct message *next = &l->last;
    while (n < l->old_count) {
        const struct message *before = &l->old[l->old_count - 1 - n].m;
        if (next->time <= from || next->glued || before->time < from || next->time - before->time < 2)
            break;
        next = before;
        n++;
    }
    return n;
}

/* What PTX calls the second release pattern: a release, then a relaxed store by the same lane to the same
 * location. */
static struct view *own_release(const struct location *l)
{
    uint32_t me = sim.lane->serial;
    if (l->last.released && l->last.writer == me)
        return l->last.view;
    for (uint32_t i = l->old_count; i > 0; i--)
        if (l->old[i - 1].m.released && l->old[i - 1].m.writer == me)
            return l->old[i - 1].m.view;
    return NULL;
}

static inline void strong_store(void *p, uint32_t bytes, co_u128 v, int release)
{
    struct lane *lane = sim.lane;
    uint32_t number = locate(p, bytes);
    struct location *l = &sim.locations[number];
    check_strong(l, number);
    struct view *view = release ? lane_view(lane) : joined(lane->released, own_release(l));
    uint32_t places = l->old_count ? late_places(l, seen(lane, number)) : 0,
             pick = choose_message(1 + places);
    if (!pick) {
        append(l, number, v, 0, release, view);
        return;
    }
    uint32_t at = l->old_count - pick + 1; /* goes before the pick-th message from the end */
    uint32_t next = pick == 1 ? l->last.time : l->old[at].m.time, before = l->old[at - 1].m.time;
    struct message m = {before + (next - before) / 2, lane->serial, 0, (unsigned char)release, 0, view, 0};
    if (sim.merge)
        merge_write(l, &m, v, pick);
    sim.counts.late_stores++;
    insert_old(l, at, &m, v);
    view_raise(&lane->current, number, m.time);
}

static co_u64 add_reals(co_u64 a, co_u64 b)
{
    double x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof x);
    return a;
}

static inline co_u64 result_of(enum sim_atomic_op op, co_u64 old, co_u64 v)
{
    switch (op) {
    case SIM_ADD:
        return old + v;
    case SIM_MIN:
        return v < old ? v : old;
    case SIM_MAX:
        return v > old ? v : old;
    case SIM_OR:
        return old | v;
    case SIM_AND:
        return old & v;
    case SIM_XOR:
        return old ^ v;
    case SIM_ADD_REAL:
        return add_reals(old, v);
    default:
        return v;
    }
}

/* Begins an atomic: the newest message is read. */
static struct location *atomic_read(void *p, uint32_t bytes, uint32_t *number)
{
    *number = locate(p, bytes);
    struct location *l = &sim.locations[*number];
    check_strong(l, *number);
    learn(sim.lane, &l->last, *number, 0);
    if (SIM_UNLIKELY(sim.merge))
        merge_read(l, &l->last, get(l));
    return l;
}

static void atomic_write(struct location *l, uint32_t number, co_u128 v)
{
    struct view *view = joined(l->last.view, joined(sim.lane->released, own_release(l)));
    append(l, number, v, 1, 0, view);
}

/* ---- the words ----------------------------------------------------------------------------------------- */

/* names[log2 of bytes] */
static inline const char *sized(const char *const *names, uint32_t bytes)
{
    return names[__builtin_ctz(bytes)];
}

co_u64 sim_read(const void *p, co_u32 bytes)
{
    static const char *const names[] = {"co_read8", "co_read16", "co_read32", "co_read64", "co_read128"};
    schedule_step(sized(names, bytes), p, bytes, 0);
    return plain_read(p, bytes).lo;
}

co_u128 sim_read128(const void *p)
{
    schedule_step("co_read128", p, 16, 0);
    return plain_read(p, 16);
}

void sim_write(void *p, co_u32 bytes, co_u64 v)
{
    static const char *const names[] = {"co_write8", "co_write16", "co_write32", "co_write64", "co_write128"};
    co_u128 value = {v, 0};
    schedule_step(sized(names, bytes), p, bytes, 0);
    plain_write(p, bytes, value);
}

void sim_write128(void *p, co_u128 v)
{
    schedule_step("co_write128", p, 16, 0);
    plain_write(p, 16, v);
}

co_u64 sim_load(const void *p, co_u32 bytes, int acquire)
{
    static const char *const names[] = {"co_load8", "", "co_load32", "co_load64"};
    static const char *const acquires[] = {"", "", "co_load_acquire32", "co_load_acquire64"};
    schedule_step(sized(acquire ? acquires : names, bytes), p, bytes, 1);
    return strong_load(p, bytes, acquire).lo;
}

co_u128 sim_load128(const void *p)
{
    schedule_step("co_load128", p, 16, 1);
    return strong_load(p, 16, 0);
}

/* The words of a sector, or of half of one, in random order, others in between. */
static void load_words(const char *const *names, const void *p, void *sector, co_u32 bytes, co_u32 total,
                       int glances)
{
    unsigned char left[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (uint32_t n = total / bytes; n > 0; n--) {
        uint32_t pick = choose_order(n), i = left[pick];
        memmove(left + pick, left + pick + 1, 7 - pick);
        const char *at = (const char *)p + i * bytes;
        schedule_step(sized(names, bytes), at, bytes, 1);
        if (n == total / bytes && ((uintptr_t)p & (total - 1)))
            sim_fail("misaligned: this reads %u bytes", total);
        co_u128 v = glances ? glance_word(at, bytes) : strong_load(at, bytes, 0);
        memcpy((char *)sector + i * bytes, &v, bytes);
    }
}

void sim_load_sector(const void *p, void *sector, co_u32 bytes)
{
    static const char *const names[] = {"", "", "co_load_sector32", "co_load_sector64", "co_load_sector128"};
    load_words(names, p, sector, bytes, 32, 0);
}

void sim_glance_sector(const void *p, void *sector, co_u32 bytes)
{
    static const char *const names[] = {"", "", "co_glance_sector32", "co_glance_sector64",
                                        "co_glance_sector128"};
    load_words(names, p, sector, bytes, 32, 1);
}

void sim_load_half(const void *p, void *half, co_u32 bytes)
{
    static const char *const names[] = {"", "", "co_load_half32", "co_load_half64", ""};
    load_words(names, p, half, bytes, 16, 0);
}

void sim_store(void *p, co_u32 bytes, co_u64 v, int release)
{
    static const char *const names[] = {"co_store8", "", "co_store32", "co_store64"};
    static const char *const releases[] = {"", "", "co_store_release32", "co_store_release64"};
    co_u128 value = {v, 0};
    schedule_step(sized(release ? releases : names, bytes), p, bytes, 1);
    strong_store(p, bytes, value, release);
}

void sim_store128(void *p, co_u128 v)
{
    schedule_step("co_store128", p, 16, 1);
    strong_store(p, 16, v, 0);
}

void sim_fence(int sc)
{
    schedule_step(sc ? "co_fence_sc" : "co_fence", NULL, 0, 1);
    struct lane *lane = sim.lane;
    view_join(&lane->current, &lane->acquired);
    if (sc) {
        view_join(&lane->current, &sim.sc);
        view_join(&sim.sc, &lane->block->view);
        view_join(&sim.sc, &lane->warp->view);
        view_join(&sim.sc, &lane->current);
    }
    lane->released = lane_view(lane);
    if (SIM_UNLIKELY(sim.merge))
        merge_fence(sc);
}

co_u64 sim_atomic(enum sim_atomic_op op, void *p, co_u32 bytes, co_u64 operand, co_u64 expected)
{
    static const char *const names[2][9] = {{"co_cas32", "co_add32", "co_min32", "co_max32", "co_or32",
                                             "co_and32", "co_xor32", "co_exchange32", ""},
                                            {"co_cas64", "co_add64", "co_min64", "co_max64", "co_or64",
                                             "co_and64", "co_xor64", "co_exchange64", "co_add_real64"}};
    uint32_t number;
    schedule_step(names[bytes == 8][op], p, bytes, 1);
    struct location *l = atomic_read(p, bytes, &number);
    co_u64 old = get(l).lo;
    co_u128 v = {result_of(op, old, operand), 0};
    if (op != SIM_CAS || old == expected)
        atomic_write(l, number, v);
    return old;
}

int sim_has_cas128(void)
{
    return !sim.launch.schedule.architecture || sim.launch.schedule.architecture >= 90;
}

co_u128 sim_cas128(void *p, co_u128 expected, co_u128 desired)
{
    uint32_t number;
    schedule_step("co_cas128", p, 16, 1);
    if (!sim_has_cas128())
        sim_fail("needs sm_90, the device is sm_%u", sim.launch.schedule.architecture);
    struct location *l = atomic_read(p, 16, &number);
    co_u128 old = get(l);
    if (old.lo == expected.lo && old.hi == expected.hi)
        atomic_write(l, number, desired);
    return old;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

void memory_begin(void)
{
    sim.location_count = 0;
    location_number(); /* number 0 is none */
    view_begin(&sim.sc);
}

void memory_end_block(struct block *block)
{
    for (uint32_t i = block->first_location; i; i = sim.locations[i].next) {
        struct location *l = &sim.locations[i];
        memset(&arena.shadow[l->address - arena.memory], 0, l->bytes * sizeof *arena.shadow);
        l->address = NULL;
    }
    block->first_location = 0;
    if (block->shared_used)
        arena_mark(shared_begin(block), block->shared_used, STATE_NONE);
    block->shared_used = 0;
}

void memory_end(void)
{
    sim.counts.locations = sim.location_count - 1;
    for (uint32_t i = 1; i < sim.location_count; i++) {
        struct location *l = &sim.locations[i];
        if (l->address)
            memset(&arena.shadow[l->address - arena.memory], 0, l->bytes * sizeof *arena.shadow);
    }
}
