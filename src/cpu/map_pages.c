/* cpu/map_pages.c: a large batch of one operation, by ranges of pages of which each is one thread's.
 *
 * 1. A stable multisplit (split_pass.c) puts keys and values in order of the range of pages in which their
 *    walks begin.
 * 2. Each range is a batch that one thread does: by plain stores, since nobody else is in these pages, and in
 *    its cache: the table's memory of a range is asked for, line after line, while the thread does the one
 *    before. An entry that has seen the first stretch of its walk without an outcome is left out, and its bit
 *    set: its walk goes on in a page that may be another's.
 * 3. Bitmaps and results, so far in order of the ranges, are brought back into the batch's: each part of the
 *    batch goes once more through its entries' ranges, and counts on in each, as when it moved them. This is
 *    left out where nobody asked and nothing was left.
 * 4. What was left out is done one by one among threads, by the protocol, as a batch with a `where`.
 *
 * Equal keys are in one range and in the batch's order, or backward where the last is to decide an insert,
 * the first an assign; and of those of one key all are left out or none, to be done by one thread if the
 * order counts. Between 2 and 4 there is a barrier, and in 2 nobody reads what another changes: so the table
 * is at the end of 2 as some order of the entries done one after the other would have left it.
 *
 * Batches are done in slices, which bounds the workspace. */
#include "map.h"
#include "split.h"

#include <string.h>

#define RANGE_BYTES (1ull << 18) /* of the table: two are in a core's second cache, and the entries; */
#define RANGES_MANY 1024u        /* twice that, if those are more: to split into them is dear */
#define RANGE_LEAST 2048u        /* entries of a range, on average, */
#define EACH_LEAST  8u           /* but so many ranges a thread, where there are pages for them */
#define LEAST       (1ull << 15) /* entries a thread of a batch that pays */
#define SLICE_LEAST (1ull << 20) /* entries of a slice; more for tables of more slots: */
#define SLICE_SHARE 2            /* one entry for so many slots */
#define FIND_CACHES 2u           /* a table for lookups has so many times the bytes of the last cache, */
#define FIND_BYTES  64u          /* and at most so many for each entry */

struct plan {
    struct map_batch batch; /* a slice */
    const struct cpu_map_loops *loops;
    struct cpu_pass pass;
    unsigned shift; /* a range is 1 << shift pages */
    co_u64 left;    /* entries left out; atomic */
    co_u16 *range;  /* of each entry */
    co_u64 *offsets;
    char *keys, *values;
    co_u32 *hit, *out; /* a range's bits begin in a word of its own */
    co_u32 *again;     /* in the batch's order: left out */
};

static int has_values(const struct map_batch *b)
{
    return map_value_bytes(b->view.width) && (b->values || b->results);
}

static int is_find(const struct map_batch *b)
{
    return b->op == CO_OP_FIND;
}

/* Lookups one by one cost a line of memory each: in order of the pages a large batch reads the table once.
 * So it pays where the lines of a table that is far larger than the caches are not many more than entries. */
static int find_pays(cohort_context *context, const struct map_batch *b)
{
    const co_u64 bytes = b->view.pages * MAP_PAGE_BYTES, cache = cpu_device(context)->cache_bytes;
    return cache && bytes >= FIND_CACHES * cache && b->n >= bytes / FIND_BYTES; /* 0: it is not known */
}

/* Threads that share nothing want pages for each, and entries that are worth the way. */
static int pays(cohort_context *context, const struct map_batch *b)
{
    const co_u64 threads = cpu_device(context)->threads;
    if (b->step != MAP_STEP_APPLY || b->n < LEAST * threads || b->view.pages < 2 * threads)
        return 0;
    return is_find(b) ? find_pays(context, b) : threads > 1;
}

/* The most entries of a slice. */
static co_u64 slice_most(cohort_context *context, const struct map_batch *b)
{
    co_u64 most = map_slots(&b->view) / SLICE_SHARE & ~31ull, all = 2 * LEAST * cpu_device(context)->threads;
    most = most > SLICE_LEAST ? most : SLICE_LEAST;
    most = most > all ? most : all;
    return b->n < most ? b->n : most;
}

/* How many pages a range has: those that fit in a cache; more if entries are few or ranges too many; fewer
 * again for many threads. */
static unsigned range_shift(cohort_context *context, const struct map_batch *b, co_u64 n)
{
    const co_u64 pages = b->view.pages, enough = EACH_LEAST * (co_u64)cpu_device(context)->threads;
    unsigned shift = 0;
    while ((MAP_PAGE_BYTES << shift) < RANGE_BYTES || n < RANGE_LEAST * (pages >> shift))
        shift++;
    if (MAP_PAGE_BYTES << shift == RANGE_BYTES && pages >> shift > RANGES_MANY)
        shift++;
    while (shift && pages >> shift < enough)
        shift--;
    while ((pages - 1) >> shift >= CPU_PASS_BUCKETS)
        shift++;
    return shift;
}

/* Where a range's bits begin. */
static co_u64 word_of(const struct plan *p, co_u64 range)
{
    return p->offsets[range] / 32 + range;
}

/* Lays out the work on a slice of n entries in `room`, or only tells how much it takes. */
static void lay_out(cohort_context *context, struct plan *p, const struct map_batch *b, co_u64 n,
                    struct arena *arena)
{
    const co_u32 key = map_key_bytes(b->view.width), value = map_value_bytes(b->view.width);
    struct cpu_pass *pass = &p->pass;
    memset(p, 0, sizeof *p);
    p->batch = *b;
    p->loops = cpu_map_loops(context);
    p->shift = range_shift(context, b, n);
    pass->n = n;
    pass->buckets = ((b->view.pages - 1) >> p->shift) + 1;
    pass->source = CPU_FROM_KEPT;
    p->range = arena_take(arena, 2 * n);
    p->offsets = arena_take(arena, 8ull * (pass->buckets + 1));
    p->keys = arena_take(arena, key * n);
    p->values =
        arena_take(arena, has_values(b) ? value * (n + (is_find(b) ? 32 * (pass->buckets + 1) : 0)) : 0);
    p->hit = arena_take(arena, b->hit || is_find(b) ? 4 * (n / 32 + pass->buckets + 1) : 0);
    p->out = arena_take(arena, 4 * (n / 32 + pass->buckets + 1));
    p->again = arena_take(arena, 4 * batch_bitmap_words(n));
    pass->kept = p->range;
    pass->offsets = p->offsets;
    pass->array[pass->arrays++] = (struct cpu_array){b->keys, p->keys, key};
    if (has_values(b) && b->values)
        pass->array[pass->arrays++] = (struct cpu_array){b->values, p->values, value};
    cpu_pass_arena(context, pass, arena);
}

/* ---- the ranges ---------------------------------------------------------------------------------------- */

/* A range as a batch of its own: 0 if it is empty. */
static int range_batch(const struct plan *p, co_u64 range, struct map_batch *b)
{
    const co_u64 begin = p->offsets[range], first = is_find(b) ? 32 * word_of(p, range) : begin;
    char *values = has_values(b) ? p->values + first * map_value_bytes(b->view.width) : NULL;
    b->n = p->offsets[range + 1] - begin;
    b->keys = p->keys + begin * map_key_bytes(b->view.width);
    b->values = b->values ? values : NULL;
    b->results = b->results ? values : NULL;
    b->where = NULL;
    b->join = 0;
    b->hit = b->hit || is_find(b) ? p->hit + word_of(p, range) : NULL;
    b->failed = p->out + word_of(p, range);
    return b->n != 0;
}

/* The table's memory of a range, to be asked for in so many steps; none of it if its lines are more than the
 * range's entries. */
static struct cpu_soon soon_of(const struct plan *p, co_u64 range, co_u64 steps)
{
    const cohort_map_view *view = &p->batch.view;
    const char *slots = view->slots, *end = slots + view->pages * MAP_PAGE_BYTES,
               *at = slots + (range << p->shift) * MAP_PAGE_BYTES;
    const co_u64 most = MAP_PAGE_BYTES << p->shift,
                 bytes = (co_u64)(end - at) < most ? (co_u64)(end - at) : most;
    if (bytes > CPU_LINE * (p->offsets[range + 1] - p->offsets[range]))
        return (struct cpu_soon){end, end, 0};
    return (struct cpu_soon){at, at + bytes, bytes / CPU_LINE / steps + 1};
}

/* next: the range that this thread will do then, or `range`. */
static void do_range(struct plan *p, co_u64 range, co_u64 next)
{
    struct map_batch b = p->batch;
    if (!range_batch(p, range, &b))
        return;
    struct cpu_soon soon = soon_of(p, next, b.n / CPU_GROUP + 1);
    struct cpu_piece piece = {0, 0};
    while (cpu_map_piece(&b, 0, b.n, &piece)) {
        struct cpu_report report = {.first_full = ~0ull, .first_bad = ~0ull};
        p->loops->batch[b.view.width](&b, piece.begin, piece.end, is_find(&b) ? CPU_ALONE : CPU_OWNER,
                                      next > range ? &soon : NULL, &report);
        if (report.failed)
            co_add64(&p->left, report.failed);
        report.taken -= report.failed; /* what is left out is counted when it is done */
        report.failed = 0;
        report.first_full = ~0ull;
        cpu_map_report(&b, &report);
    }
}

static void do_ranges(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    (void)worker;
    for (co_u64 range = begin; range < end; range++)
        do_range(arg, range, range + 1 < end ? range + 1 : range);
}

/* ---- back into the batch's order ----------------------------------------------------------------------- */

/* The range's next line is asked for: it is one of some hundred that are read in turn. */
CO_INLINE void copy_value(const struct plan *p, co_u64 to, co_u64 from)
{
    const co_u32 bytes = map_value_bytes(p->batch.view.width);
    const char *value = p->values + from * bytes;
    __builtin_prefetch(value + CPU_LINE);
    if (bytes == 4)
        ((co_u32 *)p->batch.results)[to] = *(const co_u32 *)(const void *)value;
    else
        ((co_u64 *)p->batch.results)[to] = *(const co_u64 *)(const void *)value;
}

/* A word of the bitmaps, and the results of its entries. next: the bit of the next entry of each range. */
static void bring_word(const struct plan *p, co_u64 i, co_u32 count, co_u64 *next)
{
    const struct map_batch *b = &p->batch;
    co_u32 hit = 0, out = 0;
    for (co_u32 k = 0; k < count; k++) {
        co_u64 range = p->range[i + k], bit;
        if (range == p->pass.buckets)
            continue;
        bit = next[range]++;
        out |= (p->out[bit / 32] >> bit % 32 & 1) << k;
        if (b->hit)
            hit |= (p->hit[bit / 32] >> bit % 32 & 1) << k;
        if (b->results && !(out >> k & 1))
            copy_value(p, i + k, bit - 32 * word_of(p, range) + p->offsets[range]);
    }
    if (b->hit)
        b->hit[i / 32] = b->join ? b->hit[i / 32] | hit : hit;
    if (b->failed)
        b->failed[i / 32] = 0;
    p->again[i / 32] = out;
}

/* Of lookups: which entries of a word hit; their values, and the fallback, go to their places. A range's
 * values lie where its bits do, so that one number tells both. */
#define FOUND(T)                                                    \
    do {                                                            \
        const T *values = (const T *)(const void *)p->values;       \
        T *to = (T *)b->results + i;                                \
        for (co_u32 k = 0; k < count; k++) {                        \
            if (b->where && range[k] == p->pass.buckets)            \
                continue;                                           \
            const co_u64 at = next[range[k]]++;                     \
            const co_u32 is = p->hit[at / 32] >> at % 32 & 1;       \
            __builtin_prefetch(values + at + CPU_LINE / sizeof(T)); \
            hit |= is << k;                                         \
            to[k] = is || b->has_fallback ? values[at] : to[k];     \
        }                                                           \
    } while (0)

static co_u32 found_word(const struct plan *p, co_u64 i, co_u32 count, co_u64 *next)
{
    const struct map_batch *b = &p->batch;
    const co_u16 *range = p->range + i;
    co_u32 hit = 0;
    if (has_values(b) && map_value_bytes(b->view.width) == 8) {
        FOUND(co_u64);
    } else if (has_values(b)) {
        FOUND(co_u32);
    } else {
        for (co_u32 k = 0; k < count; k++)
            if (!b->where || range[k] != p->pass.buckets) {
                const co_u64 at = next[range[k]]++;
                hit |= (p->hit[at / 32] >> at % 32 & 1) << k;
            }
    }
    return hit;
}

static void bring_found(const struct plan *p, co_u64 i, co_u32 count, co_u64 *next)
{
    const struct map_batch *b = &p->batch;
    const co_u32 hit = found_word(p, i, count, next);
    if (b->hit)
        b->hit[i / 32] = b->join ? b->hit[i / 32] | hit : hit;
    if (b->failed)
        b->failed[i / 32] = 0;
}

static void bring_back(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct plan *p = arg;
    co_u64 *next = (co_u64 *)(void *)cpu_pass_scratch(&p->pass, worker);
    for (co_u64 part = begin; part < end; part++) {
        const co_u64 *starts = p->pass.starts + part * p->pass.stride,
                     last = cpu_part_begin(&p->pass, part + 1);
        for (co_u64 range = 0; range < p->pass.buckets; range++)
            next[range] = starts[range] - p->offsets[range] + 32 * word_of(p, range);
        for (co_u64 i = cpu_part_begin(&p->pass, part); i < last; i += 32)
            (is_find(&p->batch) ? bring_found : bring_word)(p, i, last - i < 32 ? (co_u32)(last - i) : 32,
                                                            next);
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static void do_slice(cohort_context *context, struct plan *p)
{
    struct map_batch *b = &p->batch;
    const struct cpu_ranges ranges = {b, p->loops, p->shift, (co_u16)p->pass.buckets, p->range};
    p->pass.make = cpu_map_ranges;
    p->pass.arg = &ranges;
    cpu_pass_count(context, &p->pass);
    cpu_pass_move(context, &p->pass);
    cpu_parallel(context, p->pass.buckets, 1, do_ranges, p);
    if (b->hit || b->results || p->left)
        cpu_parallel(context, p->pass.parts, 1, bring_back, p);
    else if (b->failed)
        memset(b->failed, 0, 4 * batch_bitmap_words(b->n));
    if (!p->left)
        return;
    b->where = p->again;
    b->join = 1;
    cpu_map_batch(context, b, MEMORY_HOST);
}

/* Entries begin .. begin + n - 1 of a batch; begin is a multiple of 32. */
static struct map_batch slice_of(const struct map_batch *all, co_u64 begin, co_u64 n)
{
    const co_u64 key = map_key_bytes(all->view.width), value = map_value_bytes(all->view.width);
    struct map_batch b = *all;
    b.n = n;
    b.first_index += begin;
    b.keys = (const char *)b.keys + begin * key;
    b.values = b.values ? (const char *)b.values + begin * value : NULL;
    b.results = b.results ? (char *)b.results + begin * value : NULL;
    b.where = b.where ? b.where + begin / 32 : NULL;
    b.hit = b.hit ? b.hit + begin / 32 : NULL;
    b.failed = b.failed ? b.failed + begin / 32 : NULL;
    return b;
}

cohort_status cpu_map_pages(cohort_context *context, const struct map_batch *batch, int fresh,
                            struct arena *arena)
{
    struct plan plan;
    const co_u64 most = slice_most(context, batch);
    (void)fresh;
    if (cpu_map_share_pays(context, batch))
        return cpu_map_share(context, batch, arena);
    if (arena->asks) {
        if (pays(context, batch))
            lay_out(context, &plan, batch, most, arena);
        return COHORT_OK;
    }
    const co_u64 slices = batch->n / most + (batch->n % most != 0);
    for (co_u64 i = 0; i < slices; i++) {
        struct arena again = *arena; /* one slice after the other has the same */
        const co_u64 begin = most * (map_goes_backward(batch->rank, batch->op) ? slices - 1 - i : i),
                     n = batch->n - begin < most ? batch->n - begin : most;
        struct map_batch slice = slice_of(batch, begin, n);
        lay_out(context, &plan, &slice, n, &again);
        do_slice(context, &plan);
    }
    return COHORT_OK;
}
