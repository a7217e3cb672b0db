/* sets.c: collections of sets: their memory, what is known of them; and what the other files of the API that
 * make or read them share. */
#include "api/sets.h"

#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "backend/sums.h"
#include "core/zeroed.h"
#include "io/memory_file.h"

/* Rooms of so few bytes share one of these. */
#define SMALL  512u
#define SHARED 8192u

/* ---- workspace ----------------------------------------------------------------------------------------- */

struct sets_rooms sets_rooms_begin(cohort_context *context)
{
    struct sets_rooms rooms;
    rooms.context = context;
    rooms.count = 0;
    rooms.shared = NULL;
    rooms.left = 0;
    return rooms;
}

void sets_rooms_end(struct sets_rooms *rooms)
{
    while (rooms->count)
        pool_give(rooms->context, rooms->taken[--rooms->count]);
}

void sets_room_back(struct sets_rooms *rooms, void *room)
{
    for (int i = 0; i < rooms->count; i++)
        if (rooms->taken[i] == room) {
            pool_give(rooms->context, room);
            rooms->taken[i] = rooms->taken[--rooms->count];
            return;
        }
}

static cohort_status take_room(struct sets_rooms *rooms, uint64_t bytes, void **room)
{
    cohort_status status = pool_take(rooms->context, bytes, room);
    if (!status)
        rooms->taken[rooms->count++] = *room;
    return status;
}

/* What is given back of these before its time is not used again. None begins where the block does, which
 * would go back with it. */
static cohort_status share_room(struct sets_rooms *rooms, uint64_t bytes, void **room)
{
    cohort_status status = COHORT_OK;
    bytes = (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
    if (bytes > rooms->left) {
        void *shared = NULL;
        status = take_room(rooms, SHARED, &shared);
        rooms->shared = status ? NULL : (char *)shared + MEMORY_ALIGNMENT;
        rooms->left = status ? 0 : SHARED - MEMORY_ALIGNMENT;
    }
    *room = status ? NULL : rooms->shared;
    if (!status) {
        rooms->shared += bytes;
        rooms->left -= bytes;
    }
    return status;
}

cohort_status sets_room(struct sets_rooms *rooms, uint64_t entries, uint64_t unit, void *out)
{
    void *room = NULL;
    if (entries > ARENA_MOST / unit)
        return context_fail(rooms->context, COHORT_NO_MEMORY, "no memory for %llu entries of %llu bytes",
                            (unsigned long long)entries, (unsigned long long)unit);
    const uint64_t bytes = entries ? entries * unit : unit;
    cohort_status status = (bytes <= SMALL ? share_room : take_room)(rooms, bytes, &room);
    memcpy(out, &room, sizeof room);
    return status;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

cohort_status sets_check_type(cohort_context *context, const char *call, const char *name, cohort_type type)
{
    if (type == COHORT_U32 || type == COHORT_U64)
        return COHORT_OK;
    return context_fail(context, COHORT_RANGE, "%s: %s is %d; it must be %d (COHORT_U32) or %d (COHORT_U64)",
                        call, name, (int)type, (int)COHORT_U32, (int)COHORT_U64);
}

cohort_status sets_do(cohort_context *context, struct sets_step *step, enum sets_step_kind kind,
                      uint64_t items)
{
    step->items = items;
    return context->backend->sets->step(context, step, kind);
}

cohort_status sets_read(cohort_context *context, uint64_t *to, const co_u64 *from)
{
    return context_copy(context, to, from, sizeof *to);
}

cohort_status sets_sum(cohort_context *context, co_u64 *a, uint64_t n, uint64_t *total)
{
    const struct scan scan = {n + 1, sizeof *a, 0, a, a};
    struct arena arena = {.asks = 1};
    void *room = NULL;
    cohort_status status = context_fill(context, a + n, 0, sizeof *a);
    if (!status)
        status = context->backend->sums->scan(context, &scan, &arena);
    if (!status && arena.used)
        status = pool_take(context, arena.used, &room);
    struct arena given = {.memory = room};
    if (!status)
        status = context->backend->sums->scan(context, &scan, &given);
    pool_give(context, room);
    return status || !total ? status : sets_read(context, total, a + n);
}

struct sort sets_sort_of(uint64_t n, int wide, unsigned bits, const void *keys, void *keys_out)
{
    struct sort sort;
    memset(&sort, 0, sizeof sort);
    sort.n = n;
    sort.order = wide ? SORT_U64 : SORT_U32;
    sort.high_bit = bits;
    sort.keys = keys;
    sort.keys_out = keys_out;
    return sort;
}

cohort_status sets_sort(struct sets_rooms *rooms, const struct sort *sort)
{
    cohort_context *context = rooms->context;
    struct arena asked = {.asks = 1}, given = {NULL, 0, 0};
    void *room = NULL;
    if (!sort->n)
        return COHORT_OK;
    cohort_status status = context->backend->sort->run(context, sort, &asked);
    if (!status)
        status = sets_room(rooms, asked.used, 1, &room);
    given.memory = room;
    if (!status)
        status = context->backend->sort->run(context, sort, &given);
    sets_room_back(rooms, room);
    return status;
}

cohort_status sets_flag_rooms(struct sets_rooms *rooms, struct sets_step *s, uint64_t items)
{
    const uint64_t words = sets_flag_words(items);
    cohort_status status = sets_room(rooms, words, 4, &s->unique);
    if (!status)
        status = sets_room(rooms, words, 4, &s->starts);
    if (!status)
        status = sets_room(rooms, words + 1, 8, &s->unique_sums);
    if (!status)
        status = sets_room(rooms, words + 1, 8, &s->start_sums);
    return status;
}

/* ---- collections --------------------------------------------------------------------------------------- */

static cohort_status too_large(cohort_context *context, const struct sets_counts *n)
{
    const co_u64 counts[] = {n->sets, n->large, n->pairs, n->chunks, n->listed, n->units};
    static const char *const names[] = {"sets", "large sets", "words of index", "chunks", "members", "units"};
    for (int i = 0; i < 6; i++)
        if (counts[i] > SETS_MOST)
            return context_fail(context, COHORT_OVERFLOW, "%llu %s; a collection has at most %llu",
                                (unsigned long long)counts[i], names[i], (unsigned long long)SETS_MOST);
    return COHORT_OK;
}

cohort_status sets_new(cohort_context *context, const struct sets_counts *counts, cohort_sets **out)
{
    co_u64 offset[SETS_PARTS + 1];
    *out = NULL;
    cohort_status status = too_large(context, counts);
    cohort_sets *sets = status ? NULL : zeroed(1, sizeof *sets);
    if (!status && !sets)
        status = context_fail(context, COHORT_NO_MEMORY, "no memory for a collection's description");
    if (status)
        return status;
    sets->context = context;
    sets->counts = *counts;
    sets_layout(counts, offset);
    sets->taken = offset[SETS_PARTS];
    status = pool_take(context, sets->taken ? sets->taken : 1, &sets->memory);
    if (status) {
        free(sets);
        return status;
    }
    sets->pool = (char *)sets->memory + offset[SETS_PART_POOL];
    sets_view(counts, sets->memory, sets->pool, &sets->view);
    *out = sets;
    return COHORT_OK;
}

void cohort_sets_destroy(cohort_sets *sets)
{
    if (!sets)
        return;
    CALL_TO_END(sets->context);
    if (sets->memory)
        pool_give(sets->context, sets->memory);
    pool_give(sets->context, sets->index_memory);
    if (sets->mapped)
        memory_file_unmap(sets->mapped, sets->mapped_bytes);
    free(sets);
}

/* ---- putting together ---------------------------------------------------------------------------------- */

#define CHOICES 4u
#define FEW     63u

/* The sums of few sets, by the host: less is waited than for a device's. */
static cohort_status sum_few(cohort_context *context, co_u64 *sums, co_u64 sets, co_u64 totals[CHOICES])
{
    co_u64 own[CHOICES * (FEW + 1)];
    co_u64 bytes = CHOICES * (sets + 1) * sizeof *own;
    cohort_status status = context_copy(context, own, sums, bytes);
    for (unsigned i = 0; i < CHOICES && !status; i++) {
        co_u64 *at = own + i * (sets + 1), sum = 0;
        for (co_u64 k = 0; k <= sets; k++) {
            co_u64 one = k < sets ? at[k] : 0;
            at[k] = sum;
            sum += one;
        }
        totals[i] = sum;
    }
    return status ? status : context_copy(context, sums, own, bytes);
}

/* The sums over sets, and what they come to. */
static cohort_status choose(struct sets_rooms *rooms, struct sets_step *s)
{
    cohort_context *context = rooms->context;
    struct sets_counts *n = &s->counts;
    co_u64 **const sums[CHOICES] = {&s->listed, &s->kept, &s->large, &s->pairs};
    co_u64 *all = NULL, totals[CHOICES] = {0, 0, 0, 0};
    cohort_status status = sets_room(rooms, s->sets + 1, CHOICES * sizeof *all, &all);
    for (unsigned i = 0; i < CHOICES && !status; i++)
        *sums[i] = all + i * (s->sets + 1);
    if (!status)
        status = sets_do(context, s, SETS_CHOOSE, s->sets);
    if (!status && s->sets <= FEW)
        status = sum_few(context, all, s->sets, totals);
    for (unsigned i = 0; s->sets > FEW && i < CHOICES && !status; i++) {
        uint64_t total = 0;
        status = sets_sum(context, *sums[i], s->sets, &total);
        totals[i] = total;
    }
    n->listed = totals[0];
    n->chunks = totals[1];
    n->large = totals[2];
    n->pairs = totals[3];
    return status;
}

/* The places of chunks in the pool: arrays and runs first, bitmaps behind them. */
static cohort_status place(struct sets_rooms *rooms, struct sets_step *s)
{
    cohort_context *context = rooms->context;
    uint64_t units = 0, bitmaps = 0;
    cohort_status status = sets_room(rooms, s->found + 1, sizeof(co_u64), &s->units);
    if (!status)
        status = sets_room(rooms, s->found + 1, sizeof(co_u64), &s->bitmaps);
    if (!status)
        status = sets_do(context, s, SETS_UNITS, s->found);
    if (!status)
        status = sets_sum(context, s->units, s->found, &units);
    if (!status)
        status = sets_sum(context, s->bitmaps, s->found, &bitmaps);
    s->bitmap_unit = sets_aligned(units * CO_PLACE_UNIT_BYTES) / CO_PLACE_UNIT_BYTES;
    s->counts.units = bitmaps ? s->bitmap_unit + bitmaps * (CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES) : units;
    return status;
}

/* Another collection in the memory of `room`, which is large enough, with its pool. */
static void move_in(cohort_sets *room, const struct sets_counts *counts)
{
    room->counts = *counts;
    sets_view(counts, room->memory, room->pool, &room->view);
}

/* Where the members lie already: as they lie, unless that would hold much memory that is not used. */
static cohort_status settle(cohort_context *context, struct sets_step *s, cohort_sets *room,
                            cohort_sets **out)
{
    co_u64 offset[SETS_PARTS + 1];
    sets_layout(&s->counts, offset);
    if (offset[SETS_PARTS] >= room->taken / 2) {
        move_in(room, &s->counts);
        *out = room;
        return COHORT_OK;
    }
    cohort_status status = sets_new(context, &s->counts, out);
    if (status || !s->counts.units)
        return status;
    return context_copy(context, (*out)->pool, room->pool, s->counts.units * CO_PLACE_UNIT_BYTES);
}

cohort_status sets_assemble(struct sets_rooms *rooms, struct sets_step *s, cohort_sets *room,
                            cohort_sets **out)
{
    cohort_context *context = rooms->context;
    s->counts.sets = s->sets;
    s->counts.wide = s->wide;
    s->counts.reserved = 0;
    s->units = s->bitmaps = NULL;
    cohort_status status = choose(rooms, s);
    if (!status && !room)
        status = place(rooms, s);
    if (!status)
        status = room ? settle(context, s, room, out) : sets_new(context, &s->counts, out);
    if (status)
        return status;
    s->view = (*out)->view;
    status = sets_do(context, s, SETS_DIRECTORY, s->found);
    if (!status)
        status = sets_do(context, s, SETS_WORDS, s->sets + 1);
    if (!status)
        status = sets_do(context, s, SETS_INDEX, s->counts.pairs);
    return status;
}

/* ---- found chunks -------------------------------------------------------------------------------------- */

cohort_status sets_found_rooms(struct sets_rooms *rooms, struct sets_found *f, uint64_t rows, uint32_t wide,
                               cohort_sets **room)
{
    struct sets_counts most;
    memset(&most, 0, sizeof most);
    most.wide = wide;
    most.sets = most.large = rows;
    most.chunks = most.pairs = f->chunks;
    most.listed = f->listed;
    most.units = f->units;
    cohort_status status = sets_room(rooms, rows + 1, 8, &f->row_first);
    if (!status)
        status = sets_room(rooms, f->chunks + 1, 8, &f->cards);
    if (!status)
        status = sets_room(rooms, f->chunks, 8, &f->keys);
    if (!status)
        status = sets_room(rooms, f->chunks, 8, &f->places);
    if (!status)
        status = sets_room(rooms, f->chunks, 8, &f->digests);
    if (!status)
        status = sets_new(rooms->context, &most, room);
    if (!status)
        f->pool = (void *)(uintptr_t)(*room)->view.pool;
    return status;
}

cohort_status sets_found_end(struct sets_rooms *rooms, cohort_status status, struct sets_found *f,
                             uint64_t rows, uint32_t wide, cohort_sets *room, cohort_sets **out)
{
    struct sets_step s;
    memset(&s, 0, sizeof s);
    s.sets = rows;
    s.wide = wide;
    s.item = SETS_PLACED;
    s.found = f->chunks;
    s.sums = f->cards;
    s.keys = f->keys;
    s.found_places = f->places;
    s.found_digests = f->digests;
    s.set_first = f->row_first;
    s.placed = f->pool;
    s.counts.units = f->units;
    if (!status)
        status = sets_sum(rooms->context, s.sums, s.found, NULL);
    if (!status)
        status = sets_assemble(rooms, &s, room, out);
    if (!status && s.counts.listed) /* chunks lie there already */
        status = sets_do(rooms->context, &s, SETS_MEMBERS, s.found);
    if (*out != room)
        cohort_sets_destroy(room);
    return status;
}

/* ---- what is known ------------------------------------------------------------------------------------- */

static cohort_status host_view(const cohort_sets *sets, int members, cohort_sets_view *view, void **copy)
{
    const struct backend *backend = sets->context->backend;
    co_u64 offset[SETS_PARTS + 1];
    sets_layout(&sets->counts, offset);
    co_u64 bytes = members ? sets->view.bytes : offset[SETS_PART_POOL];
    *copy = NULL;
    *view = sets->view;
    if (backend->own_memory == MEMORY_HOST)
        return COHORT_OK;
    *copy = bytes <= SIZE_MAX ? malloc(bytes ? bytes : 1) : NULL;
    if (!*copy)
        return context_fail(sets->context, COHORT_NO_MEMORY, "no memory of the host for %llu bytes of sets",
                            (unsigned long long)bytes);
    sets_view(&sets->counts, *copy, NULL, view);
    cohort_status status = context_copy(sets->context, *copy, sets->view.words, offset[SETS_PART_POOL]);
    if (!status && members)
        status = context_copy(sets->context, (char *)*copy + offset[SETS_PART_POOL], sets->view.pool,
                              bytes - offset[SETS_PART_POOL]);
    if (status) {
        free(*copy);
        *copy = NULL;
    }
    return status;
}

cohort_status sets_host_view(const cohort_sets *sets, cohort_sets_view *view, void **copy)
{
    return host_view(sets, 1, view, copy);
}

cohort_status sets_host_directory(const cohort_sets *sets, cohort_sets_view *view, void **copy)
{
    return host_view(sets, 0, view, copy);
}

#define PLACES_AT_ONCE 4096u

static cohort_status count_kinds(const cohort_sets *sets, cohort_sets_info *info)
{
    co_u64 places[PLACES_AT_ONCE], kinds[4] = {0, 0, 0, 0};
    cohort_status status = COHORT_OK;
    for (co_u64 at = 0; at < sets->view.chunks && !status; at += PLACES_AT_ONCE) {
        co_u64 left = sets->view.chunks - at, n = left < PLACES_AT_ONCE ? left : PLACES_AT_ONCE;
        status = context_copy(sets->context, places, sets->view.places + at, n * 8);
        for (co_u64 i = 0; i < n && !status; i++)
            kinds[co_place_kind(places[i])]++;
    }
    info->arrays = kinds[CO_CHUNK_ARRAY];
    info->bitmaps = kinds[CO_CHUNK_BITMAP];
    info->runs = kinds[CO_CHUNK_RUNS];
    info->full = kinds[CO_CHUNK_FULL];
    return status;
}

cohort_status cohort_sets_get_info(const cohort_sets *sets, cohort_sets_info *info)
{
    CALL_ON(sets);
    cohort_sets_info i;
    uint64_t chunked = 0;
    if (!sets || !info)
        return context_fail(sets ? sets->context : NULL, COHORT_NULL, "cohort_sets_get_info: %s is NULL",
                            sets ? "info" : "sets");
    cohort_status status = options_check(sets->context, "info", info, info->size, sizeof i, sizeof i, &i);
    if (status)
        return status;
    i.type = sets->view.wide ? COHORT_U64 : COHORT_U32;
    i.sets = sets->counts.sets;
    i.lists = sets->counts.sets - sets->counts.large;
    i.listed = sets->counts.listed;
    i.chunks = sets->counts.chunks;
    i.bytes = sets->view.bytes + sets->index_bytes;
    status = sets_read(sets->context, &chunked, sets->view.before + sets->view.chunks);
    i.members = chunked + i.listed;
    if (!status)
        status = count_kinds(sets, &i);
    if (!status)
        options_return(info, info->size, sizeof i, &i);
    return status;
}

cohort_status cohort_sets_get_view(const cohort_sets *sets, struct cohort_sets_view *view)
{
    CALL_ON(sets);
    if (!sets || !view)
        return context_fail(sets ? sets->context : NULL, COHORT_NULL, "cohort_sets_get_view: %s is NULL",
                            sets ? "view" : "sets");
    *view = sets->view;
    return COHORT_OK;
}
