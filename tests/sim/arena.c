/* arena.c: the simulated device's memory, one range of addresses apart from everything the host has.
 *
 * Beside each byte lies its state (not allocated, never written, written) and, during a launch, the number of
 * the location that it belongs to. The range is reserved whole; the system gives pages when they are touched.
 * Allocations are kept in the order of their addresses with a gap between them. A search for room begins
 * where the last one ended, so that freed memory stays free for as long as possible and a late access to it
 * is noticed. */
#define _GNU_SOURCE
#include "inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 256, SLOTS = 64, POISON = 0xc5 };

struct arena arena;
static struct allocation *list;
static size_t count, capacity, cursor;
static uint64_t numbers;

static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int arena_open(void)
{
    if (arena.memory)
        return 0;
    size_t heap = (size_t)4 << 30, all = heap + (size_t)SLOTS * SLOT_BYTES;
    arena.memory = reserve(all);
    arena.state = reserve(all);
    arena.shadow = reserve(all * sizeof *arena.shadow);
    if (!arena.memory || !arena.state || !arena.shadow)
        return -1;
    arena.bytes = all;
    arena.shared_at = heap;
    if (!arena.limit)
        arena.limit = (size_t)1 << 30;
    return 0;
}

size_t arena_count(void)
{
    return count;
}
const struct allocation *arena_at(size_t i)
{
    return &list[i];
}

/* The first allocation that begins after `at`. */
static size_t position(size_t at)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list[middle].at > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Room for `bytes` and a gap at or after `from`: *at and the place in the list. */
static int room(size_t from, size_t bytes, size_t *at, size_t *place)
{
    for (size_t i = position(from);; i++) {
        size_t begin = from;
        if (i > 0) {
            size_t end = list[i - 1].at + list[i - 1].bytes + ALIGNMENT;
            begin = end > from ? end : from;
        }
        begin = (begin + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        size_t end = i < count ? list[i].at : arena.shared_at;
        if (begin <= end && end - begin >= bytes + ALIGNMENT) {
            *at = begin;
            *place = i;
            return 1;
        }
        if (i >= count)
            return 0;
    }
}

void arena_mark(const void *p, size_t bytes, int state)
{
    memset(arena.state + ((const char *)p - arena.memory), state, bytes);
}

void *arena_alloc(size_t bytes, enum arena_kind kind)
{
    size_t at, place;
    if (arena_open() || bytes == 0 || bytes > arena.shared_at)
        return NULL;
    if (kind != ARENA_PINNED && (bytes > arena.limit || arena.used > arena.limit - bytes))
        return NULL;
    if (!room(cursor, bytes, &at, &place) && !room(ALIGNMENT, bytes, &at, &place))
        return NULL;
    if (count == capacity) {
        size_t more = capacity ? 2 * capacity : 64;
        struct allocation *grown = realloc(list, more * sizeof *list);
        if (!grown)
            return NULL;
        list = grown;
        capacity = more;
    }
    memmove(list + place + 1, list + place, (count - place) * sizeof *list);
    list[place] = (struct allocation){at, bytes, kind, ++numbers};
    count++;
    cursor = at + bytes;
    if (kind != ARENA_PINNED)
        arena.used += bytes;
    memset(arena.memory + at, POISON, bytes);
    arena_mark(arena.memory + at, bytes, kind == ARENA_DEVICE ? STATE_UNWRITTEN : STATE_WRITTEN);
    return arena.memory + at;
}

const struct allocation *arena_find(const void *p)
{
    if (!arena.memory || !arena_has(p))
        return NULL;
    size_t at = (size_t)((const char *)p - arena.memory), i = position(at);
    if (i == 0 || at - list[i - 1].at >= list[i - 1].bytes)
        return NULL;
    return &list[i - 1];
}

int arena_free(void *p)
{
    const struct allocation *a = arena_find(p);
    if (!a || arena.memory + a->at != (char *)p)
        return -1;
    size_t i = (size_t)(a - list);
    memset(p, POISON, a->bytes);
    arena_mark(p, a->bytes, STATE_NONE);
    if (a->kind != ARENA_PINNED)
        arena.used -= a->bytes;
    memmove(list + i, list + i + 1, (count - i - 1) * sizeof *list);
    count--;
    return 0;
}

void *sim_alloc(size_t bytes)
{
    void *p = arena_alloc(bytes, ARENA_OWN);
    if (p) {
        memset(p, 0, bytes);
        arena_mark(p, bytes, STATE_WRITTEN);
    }
    return p;
}

void sim_free(void *memory)
{
    if (memory && arena_free(memory))
        sim_host_error("sim_free: not what sim_alloc gave");
}

void sim_forget(void *memory, size_t bytes)
{
    const struct allocation *a = arena_find(memory);
    if (!a || (size_t)((char *)memory - arena.memory) - a->at + bytes > a->bytes)
        sim_host_error("sim_forget: outside of any allocation");
    memset(memory, POISON, bytes);
    arena_mark(memory, bytes, STATE_UNWRITTEN);
}
