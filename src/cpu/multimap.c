/* cpu/multimap.c: multimaps on the host's threads. shape/multimap.h says how a multimap lies in memory.
 *
 * A thread takes its entries 32 at a time, a word of every bitmap: it asks the memory for the home buckets of
 * the next 32, seeks these 32 and asks for what comes next (the runs' ends, the values), then does the work.
 * So the memory's latency is paid once for 32 entries. */
#include "backend/multimap.h"
#include "cpu.h"
#include "multimap.h"

#include <string.h>

#define GROUP       32
#define ENTRY_GRAIN 4096  /* entries that a thread takes at a time, a multiple of 32 */
#define ROW_GRAIN   16384 /* rows, likewise */
#define SLOT_GRAIN  4096
#define RUNS_AHEAD  24 /* queries */

struct group {
    co_u64 base;
    co_u32 count, active;    /* entries; a bit for each that takes part */
    co_u64 slots[GROUP];     /* MULTIMAP_ABSENT where there is none, or no part is taken */
    const void *home[GROUP]; /* of the next group's keys: their buckets, which have been asked for */
};

/* Asks for the home buckets of the entries from `base` on. */
CO_INLINE void ask_homes(const struct multimap_step *s, co_u64 base, co_u64 end, const void **home, int wide)
{
    const co_u64 count = end - base < GROUP ? end - base : GROUP;
    for (co_u64 k = 0; k < count; k++) {
        co_u64 key = multimap_get(s->keys, base + k, wide);
        home[k] = wide ? co_map64_0_home(&s->index, key) : co_map32_0_home(&s->index, (co_u32)key);
        __builtin_prefetch(home[k]);
    }
}

/* The slot of a key by a look at its home and that bucket's partner, which come in one line of memory: nobody
 * changes the index, so a match or an empty slot there settles it. What they do not settle, and the keys that
 * look like marks, go by the whole walk. */
CO_INLINE co_u64 slot_near(const struct multimap_step *s, co_u64 i, const void *home, int wide)
{
    const co_u32 slots = wide ? 8 : 16;
    const char *pair = (const char *)((uintptr_t)home & ~(uintptr_t)63);
    const co_u64 key = multimap_get(s->keys, i, wide);
    co_u32 seen = 0;
    for (co_u32 k = 0; k < slots; k++)
        seen |= (co_u32)(multimap_get(pair, k, wide) == key) << k;
    const co_u64 none = wide ? ~0ull : ~0u;
    if (key >= none - 1)
        return multimap_slot(s, i, wide);
    if (seen)
        return (co_u64)(pair - (const char *)s->index.slots) / (64 / slots) + (co_u64)__builtin_ctz(seen);
    if (multimap_get(pair, slots / 2 - 1, wide) == none || multimap_get(pair, slots - 1, wide) == none)
        return MULTIMAP_ABSENT;
    return multimap_slot(s, i, wide);
}

/* Seeks the keys of a group, whose home buckets, but for the first group's, were asked for while the one
 * before was worked on. Asks for its words of `ends`. */
CO_INLINE void seek_group(const struct multimap_step *s, co_u64 base, co_u64 end, struct group *g, int first,
                          int wide)
{
    const void *home[GROUP];
    g->base = base;
    g->count = end - base < GROUP ? (co_u32)(end - base) : GROUP;
    g->active = g->count < GROUP ? (1u << g->count) - 1 : ~0u;
    if (s->where)
        g->active &= s->where[base / 32];
    if (s->level && s->hit)
        g->active &= ~s->hit[base / 32];
    if (first)
        ask_homes(s, base, end, g->home, wide);
    for (co_u32 k = 0; k < g->count; k++)
        home[k] = g->home[k];
    if (g->count == GROUP)
        ask_homes(s, base + GROUP, end, g->home, wide);
    for (co_u32 k = 0; k < g->count; k++) {
        g->slots[k] = g->active >> k & 1 ? slot_near(s, base + k, home[k], wide) : MULTIMAP_ABSENT;
        if (g->slots[k] != MULTIMAP_ABSENT)
            __builtin_prefetch(s->ends + g->slots[k], 1);
    }
}

static void seek(const struct multimap_step *s, co_u64 base, co_u64 end, struct group *g, int first)
{
    if (map_key_bytes(s->index.width) == 8)
        seek_group(s, base, end, g, first, 1);
    else
        seek_group(s, base, end, g, first, 0);
}

/* ---- building ------------------------------------------------------------------------------------------ */

/* The places of a group's entries: those of one key in a row take theirs together. */
CO_INLINE void take_places(const struct multimap_step *s, const struct group *g, co_u64 *places)
{
    for (co_u32 k = 0, same; k < g->count; k += same) {
        same = 1;
        while (k + same < g->count && g->slots[k + same] == g->slots[k])
            same++;
        if (g->slots[k] == MULTIMAP_ABSENT)
            continue;
        co_u64 *next = s->ends + g->slots[k] + 1, at = s->alone ? *next : co_add64(next, same);
        if (s->alone)
            *next += same;
        for (co_u32 j = 0; places && j < same; j++) {
            places[k + j] = at + j;
            __builtin_prefetch((char *)s->runs + (at + j) * s->value_bytes, 1);
        }
    }
}

CO_INLINE void put_values(const struct multimap_step *s, const struct group *g, const co_u64 *places,
                          int wide)
{
    for (co_u32 k = 0; k < g->count; k++)
        if (g->slots[k] != MULTIMAP_ABSENT)
            multimap_put(s->runs, places[k], multimap_get(s->values, g->base + k, wide), wide);
}

static void sketch_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    int wide = map_key_bytes(s->index.width) == 8;
    for (co_u64 i = begin; i < end; i++)
        if (!s->where || s->where[i / 32] >> i % 32 & 1)
            multimap_sketch(s, s->sketch, i, wide);
}

static void count_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    struct group g;
    for (co_u64 base = begin; base < end; base += GROUP) {
        seek(s, base, end, &g, base == begin);
        take_places(s, &g, NULL);
        for (co_u32 k = 0; k < g.count; k++)
            multimap_keep(s, base + k, g.slots[k]);
    }
}

/* A group's slots as COUNT has kept them. Asks for the words of `ends` of the group after it. */
static void recall(const struct multimap_step *s, co_u64 base, co_u64 end, struct group *g)
{
    g->base = base;
    g->count = end - base < GROUP ? (co_u32)(end - base) : GROUP;
    for (co_u32 k = 0; k < g->count; k++)
        g->slots[k] = multimap_kept(s, base + k);
    for (co_u64 i = base + GROUP; i < base + 2 * GROUP && i < end; i++)
        if (s->kept[i] != MULTIMAP_NOT_KEPT)
            __builtin_prefetch(s->ends + s->kept[i] + 1, 1);
}

/* First all places of a group, then all values: an atomic addition waits for the stores before it. */
static void place_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    struct group g;
    co_u64 places[GROUP];
    for (co_u64 base = begin; base < end; base += GROUP) {
        if (s->kept)
            recall(s, base, end, &g);
        else
            seek(s, base, end, &g, base == begin);
        take_places(s, &g, places);
        if (s->value_bytes == 8)
            put_values(s, &g, places, 1);
        else
            put_values(s, &g, places, 0);
    }
}

/* ---- queries ------------------------------------------------------------------------------------------- */

static void put_found(const struct multimap_step *s, co_u64 i, co_u64 start, int wide)
{
    if (start != MULTIMAP_ABSENT)
        multimap_put(s->results, i, multimap_get(s->runs, start, wide), wide);
    else if (s->has_fallback)
        multimap_put(s->results, i, s->fallback, wide);
}

static void find_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    struct group g;
    co_u64 taken = 0, hits = 0, starts[GROUP];
    int wide = s->value_bytes == 8;
    for (co_u64 base = begin; base < end; base += GROUP) {
        co_u32 hit = 0;
        seek(s, base, end, &g, base == begin);
        for (co_u32 k = 0; k < g.count; k++) {
            starts[k] = g.slots[k] == MULTIMAP_ABSENT ? MULTIMAP_ABSENT : s->ends[g.slots[k]];
            if (starts[k] == MULTIMAP_ABSENT)
                continue;
            __builtin_prefetch((const char *)s->runs + starts[k] * s->value_bytes);
            hit |= 1u << k;
        }
        for (co_u32 k = 0; k < g.count; k++)
            if (g.active >> k & 1)
                put_found(s, base + k, starts[k], wide);
        if (s->hit)
            s->hit[base / 32] = s->level ? s->hit[base / 32] | hit : hit;
        taken += s->level ? 0 : (co_u64)__builtin_popcount(g.active);
        hits += (co_u64)__builtin_popcount(hit);
    }
    if (s->counts) {
        co_add64(&s->counts->taken, taken);
        co_add64(&s->counts->hits, hits);
    }
}

static void sizes_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    struct group g;
    for (co_u64 base = begin; base < end; base += GROUP) {
        seek(s, base, end, &g, base == begin);
        for (co_u32 k = 0; k < g.count; k++)
            multimap_size(s, base + k, g.slots[k]);
    }
}

/* The rows begin .. end of entry q, in which those of the range `s` begin with row `s->first`. */
CO_INLINE void put_rows(const struct multimap_step *s, co_u64 q, co_u64 begin, co_u64 end, int wide)
{
    const co_u64 start = s->starts[q], from = start + (s->first + begin - s->sizes[q]);
    const int matched = start != MULTIMAP_ABSENT;
    const co_u64 query = multimap_query(s, q);
    const void *runs = multimap_runs(s, q);
    for (co_u64 i = begin; s->row_queries && i < end; i++)
        s->row_queries[i] = query;
    for (co_u64 i = begin; s->row_values && i < end; i++)
        multimap_put(s->row_values, i, matched ? multimap_get(runs, from + i - begin, wide) : s->fallback,
                     wide);
    for (co_u64 i = begin, to; s->row_matched && matched && i < end; i = to) {
        to = (i / 32 + 1) * 32 < end ? (i / 32 + 1) * 32 : end;
        s->row_matched[i / 32] |= ~0u >> (32 - (to - i)) << i % 32;
    }
}

/* The entry of the first row by search; from there on by going along. The runs of entries that come later are
 * asked for. */
static void rows_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    co_u64 q = run_at(s->sizes, 0, s->n, s->first + begin);
    if (s->row_matched)
        memset(s->row_matched + begin / 32, 0, ((end + 31) / 32 - begin / 32) * 4);
    for (co_u64 i = begin; i < end; q++) {
        const co_u64 last = s->sizes[q + 1] - s->first, to = last < end ? last : end,
                     later = q + RUNS_AHEAD < s->n ? s->starts[q + RUNS_AHEAD] : MULTIMAP_ABSENT;
        if (later != MULTIMAP_ABSENT && s->row_values)
            __builtin_prefetch((const char *)multimap_runs(s, q + RUNS_AHEAD) + later * s->value_bytes);
        if (s->value_bytes == 8)
            put_rows(s, q, i, to, 1);
        else
            put_rows(s, q, i, to, 0);
        i = to;
    }
}

static void offsets_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++)
        s->offsets[i] = s->sizes[i * s->levels];
}

/* ---- slots --------------------------------------------------------------------------------------------- */

static void flags_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    int wide = map_key_bytes(s->index.width) == 8;
    co_u64 key;
    for (co_u64 slot = begin; slot < end; slot++)
        s->flags[slot] = multimap_key(s, slot, &key, wide) ? 1 : 0;
}

static void keys_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    int wide = map_key_bytes(s->index.width) == 8;
    for (co_u64 slot = begin; slot < end; slot++)
        multimap_export(s, slot, wide);
}

static void expand_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    int wide = map_key_bytes(s->index.width) == 8;
    co_u64 slot = run_at(s->ends, 0, s->n, begin);
    for (co_u64 i = begin, key = 0, seen = MULTIMAP_ABSENT; i < end; i++) {
        while (s->ends[slot + 1] <= i)
            slot++;
        if (slot != seen)
            multimap_key(s, slot, &key, wide);
        seen = slot;
        multimap_put(s->export_keys, i, key, wide);
    }
}

/* ---- the entries of the backend's table ---------------------------------------------------------------- */

struct job {
    const struct multimap_step *step;
    void (*range)(const struct multimap_step *, co_u64 begin, co_u64 end);
};

static void do_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *job = arg;
    (void)worker;
    job->range(job->step, begin, end);
}

static cohort_status cpu_multimap_step(cohort_context *context, const struct multimap_step *step,
                                       enum multimap_step_kind kind, enum memory_kind memory)
{
    static void (*const ranges[MULTIMAP_STEPS])(const struct multimap_step *, co_u64, co_u64) = {
        count_range, place_range, find_range,   sizes_range,  rows_range,
        flags_range, keys_range,  expand_range, sketch_range, offsets_range};
    struct multimap_step s = *step;
    const int single = multimap_is_single(&s) && cpu_multimap_single[kind];
    struct job job = {&s, single ? cpu_multimap_single[kind] : ranges[kind]};
    const int by_row = kind == MULTIMAP_ROWS || kind == MULTIMAP_EXPAND,
              by_slot = kind == MULTIMAP_FLAGS || kind == MULTIMAP_KEYS;
    const uint64_t grain = by_row ? ROW_GRAIN : by_slot ? SLOT_GRAIN : ENTRY_GRAIN;
    const uint64_t n = by_row ? step->rows : step->n;
    (void)memory;
    s.alone = cpu_device(context)->threads == 1 || n <= grain;
    return cpu_parallel_told(context, "multimap", n, grain, do_range, &job);
}

const struct multimap_backend cpu_multimap_backend = {
    .step = cpu_multimap_step,
};
