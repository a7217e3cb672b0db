/* cpu/sort.c: radix sort on the host's threads.
 *
 * What is larger than a thread's cache is sorted from the least significant digit by the passes of split_pass.c, with all threads
 * together. What is smaller is one thread's: it makes numbers that are in order as the keys are, sorts these with their
 * indices, by insertion where they are few and by digits else, and gathers the arrays along the indices. Segments
 * are taken by the place of their first entry, so that many small ones and a few large ones are shared out alike.
 *
 * Bits that are the same in all keys are found first, and their digits left out. */
#include "split.h"

#include <string.h>

#define DIGIT_BITS  8u
#define LOCAL       16384u /* entries that one thread sorts by itself */
#define INSERTION   24u
#define RANGE_GRAIN 4096u

struct item {
    co_u64 key;
    co_u64 index;
};

struct wide {
    co_u64 lo, hi;
};

struct sorter {
    const struct sort *s;
    struct cpu_digit digit;
    struct cpu_pass pass; /* its arrays are the caller's */
    void *other[CPU_ARRAYS_MOST];
    co_u64 *offsets;    /* of a pass */
    co_u64 *varying;    /* a worker's: the bits in which keys differ from the first */
    struct item *items; /* 2 * LOCAL a worker */
    co_u64 *large;      /* segments that are too large for one thread */
    co_u64 larges;      /* atomic */
    co_u64 begin, end;  /* of the large one at hand */
};

static void sorter_room(cohort_context *context, struct sorter *r, const struct sort *s,
                        struct cpu_room *room)
{
    co_u32 bytes = cpu_order_bytes(s->order);
    co_u64 threads = cpu_device(context)->threads;
    memset(r, 0, sizeof *r);
    r->s = s;
    r->digit = (struct cpu_digit){s->order, s->descending, 0, 0};
    cpu_pass_arrays(&r->pass, s->keys, s->keys_out, bytes, s->column, s->columns, s->permutation,
                    s->permutation_bytes);
    r->items = cpu_room_take(room, 2ull * LOCAL * sizeof(struct item) * threads);
    if (s->n <= LOCAL)
        return;
    for (co_u32 a = 0; a < r->pass.arrays; a++)
        r->other[a] = cpu_room_take(room, s->n * r->pass.array[a].bytes);
    r->offsets = cpu_room_take(room, 8 * ((1u << DIGIT_BITS) + 1));
    r->varying = cpu_room_take(room, 64 * threads);
    if (s->segments)
        r->large = cpu_room_take(room, s->n / LOCAL * 8);
    r->pass.n = s->n;
    r->pass.buckets = 1u << DIGIT_BITS;
    r->pass.source = CPU_FROM_DIGIT;
    r->pass.ids.key_bytes = bytes;
    r->pass.offsets = r->offsets;
    cpu_pass_room(context, &r->pass, room);
}

static co_u64 order_mask(const struct sort *s)
{
    co_u64 below = s->high_bit < 64 ? (1ull << s->high_bit) - 1 : ~0ull;
    return below & ~((1ull << s->low_bit) - 1);
}

/* ---- by one thread -------------------------------------------------------------------------------------------------- */

static void insertion(struct item *items, co_u32 n)
{
    for (co_u32 i = 1; i < n; i++) {
        struct item item = items[i];
        co_u32 j = i;
        for (; j && items[j - 1].key > item.key; j--)
            items[j] = items[j - 1];
        items[j] = item;
    }
}

/* Sorts by the digits that vary; the result is where the return value says. */
static struct item *by_digits(struct item *items, struct item *other, co_u32 n, co_u64 varying)
{
    for (co_u32 shift = 0; varying >> shift; shift += DIGIT_BITS) {
        co_u32 places[1u << DIGIT_BITS] = {0}, mask = (1u << DIGIT_BITS) - 1, sum = 0;
        if (!(varying >> shift & mask))
            continue;
        for (co_u32 i = 0; i < n; i++)
            places[items[i].key >> shift & mask]++;
        for (co_u32 b = 0; b <= mask; b++) {
            co_u32 count = places[b];
            places[b] = sum;
            sum += count;
        }
        for (co_u32 i = 0; i < n; i++)
            other[places[items[i].key >> shift & mask]++] = items[i];
        struct item *swap = items;
        items = other;
        other = swap;
        if (shift + DIGIT_BITS >= 64)
            break;
    }
    return items;
}

#define GATHER(T)                  \
    for (co_u32 i = 0; i < n; i++) \
    ((T *)array->out)[begin + i] = ((const T *)array->in)[items[i].index]

static void gather(const struct cpu_array *array, co_u64 begin, const struct item *items, co_u32 n)
{
    if (!array->in)
        for (co_u32 i = 0; i < n; i++)
            if (array->bytes == 4)
                ((co_u32 *)array->out)[begin + i] = (co_u32)items[i].index;
            else
                ((co_u64 *)array->out)[begin + i] = items[i].index;
    else if (array->bytes == 1)
        GATHER(co_u8);
    else if (array->bytes == 2)
        GATHER(co_u16);
    else if (array->bytes == 4)
        GATHER(co_u32);
    else if (array->bytes == 8)
        GATHER(co_u64);
    else
        GATHER(struct wide);
}

static void sort_local(const struct sorter *r, co_u64 begin, co_u32 n, unsigned worker)
{
    struct item *items = r->items + 2ull * LOCAL * worker, *other = items + LOCAL;
    co_u64 mask = order_mask(r->s), varying = 0, keys[256];
    for (co_u32 i = 0, part; i < n; i += part) {
        part = n - i < 256 ? n - i : 256;
        cpu_order_keys(&r->digit, r->s->keys, begin + i, part, keys);
        for (co_u32 k = 0; k < part; k++)
            items[i + k] = (struct item){keys[k] & mask, begin + i + k};
    }
    for (co_u32 i = 0; i < n; i++)
        varying |= items[i].key ^ items[0].key;
    if (n <= INSERTION)
        insertion(items, n);
    else
        items = by_digits(items, other, n, varying);
    for (co_u32 a = 0; a < r->pass.arrays; a++)
        gather(&r->pass.array[a], begin, items, n);
}

/* ---- by all threads ------------------------------------------------------------------------------------------------- */

static void find_varying(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sorter *r = arg;
    co_u64 keys[256], first, varying = 0;
    cpu_order_keys(&r->digit, r->s->keys, r->begin, 1, &first);
    for (co_u64 i = begin; i < end; i += 256) {
        co_u32 n = end - i < 256 ? (co_u32)(end - i) : 256;
        cpu_order_keys(&r->digit, r->s->keys, r->begin + i, n, keys);
        for (co_u32 k = 0; k < n; k++)
            varying |= keys[k] ^ first;
    }
    r->varying[worker * 8] |= varying;
}

static co_u64 varying_bits(cohort_context *context, struct sorter *r)
{
    co_u64 varying = 0, threads = cpu_device(context)->threads;
    memset(r->varying, 0, 64 * threads);
    cpu_parallel(context, r->end - r->begin, 65536, find_varying, r);
    for (co_u64 t = 0; t < threads; t++)
        varying |= r->varying[t * 8];
    return varying & order_mask(r->s);
}

/* The digit that begins at or above `from` and has bits that vary; 0 if there is none. */
static int next_digit(co_u64 varying, co_u32 from, struct cpu_digit *digit)
{
    varying = from < 64 ? varying >> from : 0;
    if (!varying)
        return 0;
    digit->shift = from + (co_u32)__builtin_ctzll(varying);
    varying >>= __builtin_ctzll(varying);
    digit->mask = (co_u32)(varying & ((1u << DIGIT_BITS) - 1));
    digit->mask = (2u << (31 - __builtin_clz(digit->mask))) - 1;
    return 1;
}

static void *at(const void *array, co_u64 i, co_u32 bytes)
{
    return (char *)(uintptr_t)array + i * bytes;
}

/* Sorts entries r->begin to r->end by their digits, each pass from one set of arrays to the other, so that the last one ends in
 * the output. */
static void sort_large(cohort_context *context, struct sorter *r)
{
    const co_u64 varying = varying_bits(context, r), begin = r->begin;
    struct cpu_pass p = r->pass;
    co_u32 left = 0;
    p.n = r->end - r->begin;
    p.first = begin;
    p.digit = r->digit;
    for (co_u32 from = 0; next_digit(varying, from, &p.digit); from = p.digit.shift + DIGIT_BITS)
        left++;
    for (co_u32 a = 0; a < p.arrays; a++)
        if (p.array[a].in)
            p.array[a].in = at(p.array[a].in, begin, p.array[a].bytes);
    struct cpu_room room = {(char *)p.starts, 0};
    cpu_pass_room(context, &p, &room);
    for (co_u32 from = 0; next_digit(varying, from, &p.digit); from = p.digit.shift + DIGIT_BITS) {
        left--;
        for (co_u32 a = 0; a < p.arrays; a++)
            p.array[a].out = at(left % 2 ? r->other[a] : r->pass.array[a].out, begin, p.array[a].bytes);
        p.ids.keys = p.array[0].in;
        cpu_pass_count(context, &p);
        cpu_pass_move(context, &p);
        for (co_u32 a = 0; a < p.arrays; a++)
            p.array[a].in = p.array[a].out;
    }
    if (!varying) {
        for (co_u32 a = 0; a < p.arrays; a++)
            p.array[a].out = at(p.array[a].out, begin, p.array[a].bytes);
        cpu_pass_copy(context, &p);
    }
}

/* ---- segments ------------------------------------------------------------------------------------------------------- */

/* The first segment that begins at i or after. */
static co_u64 segment_from(const struct sort *s, co_u64 i)
{
    co_u64 low = 0, high = s->segments;
    while (low < high) {
        co_u64 middle = low + (high - low) / 2;
        if (s->segment_offsets[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sort_segments(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct sorter *r = arg;
    const co_u64 *offsets = r->s->segment_offsets;
    for (co_u64 k = segment_from(r->s, begin); k < r->s->segments && offsets[k] < end; k++) {
        co_u64 n = offsets[k + 1] - offsets[k];
        if (n > LOCAL)
            r->large[co_add64(&r->larges, 1)] = k;
        else if (n)
            sort_local(r, offsets[k], (co_u32)n, worker);
    }
}

cohort_status cpu_sort(cohort_context *context, const struct sort *s, uint64_t *need)
{
    struct cpu_room room = {need ? NULL : s->workspace, 0};
    struct sorter r;
    sorter_room(context, &r, s, &room);
    if (need) {
        *need = room.bytes;
    } else if (s->segments) {
        cpu_parallel(context, s->n, RANGE_GRAIN, sort_segments, &r);
        for (co_u64 i = 0; i < r.larges; i++) {
            r.begin = s->segment_offsets[r.large[i]];
            r.end = s->segment_offsets[r.large[i] + 1];
            sort_large(context, &r);
        }
    } else if (s->n > LOCAL) {
        r.end = s->n;
        sort_large(context, &r);
    } else if (s->n) {
        sort_local(&r, 0, (co_u32)s->n, 0);
    }
    return COHORT_OK;
}
