/* cpu/sort.c: radix sort on the host's threads.
 *
 * All threads together split a large array by its most significant digit, of up to 11 bits, and then each
 * sorts buckets by itself, which fit in its cache. A bucket that does not, since some values are frequent, is
 * sorted by all threads from the least significant digit up, by passes of 8 bits; and so is the whole array
 * if that is true of much of it. Both are the stable pass of split_pass.c. Segments are shared out as buckets
 * are, by the place of their first entry, so that many small ones and a few large ones go alike.
 *
 * What one thread sorts becomes 64-bit items, whose order is that of the keys: the keys themselves where
 * nothing else is moved, and else 32 bits of the key and the entry's index, along which the arrays are
 * gathered; 64-bit keys take a round for either half. Few items are sorted by insertion and merging, many by
 * digits. Bits that are the same in all keys are found first and left out.
 *
 * Where the topmost two digits have many more values than there are items, hardly any two items agree in
 * them: these are sorted by, and by insertion the few neighbours that are still in the wrong order; if that
 * takes many moves, by all digits. Many keys of which few are distinct are counted instead (sort_few.c). */
#include "sort_few.h"
#include "split.h"

#include <string.h>

#define DIGIT_BITS    8u
#define FIRST_BITS    11u
#define FIRST_BUCKET  16384u  /* entries that a bucket of the first digit should have */
#define LOCAL_LEAST   16384u  /* entries that one thread sorts by itself, from */
#define LOCAL_MOST    262144u /* to, as there are many */
#define RUN           16u     /* items sorted by insertion, and */
#define MERGED        64u     /* by merging */
#define WIDE_DIGIT    4096u   /* from so many on digits of 11 bits, else of 8 */
#define SPARSE_BITS   4u      /* bits of the topmost digits beyond those that number the items, at least */
#define REPEATS_OF    256u    /* keys of which it is looked whether they repeat, */
#define REPEATS_MARKS 4096u   /* by so many marks: do so many find themselves marked? */
#define REPEATS_MANY  64u
#define RANGE_GRAIN   4096u
#define TOLD          (1u << 18) /* fewer entries are sorted to the end */
#define VARYING_GRAIN 65536u
#define KEYS          256u /* keys put in order's numbers at a time */

struct wide {
    co_u64 lo, hi;
};

struct range {
    co_u64 begin, end;
};

struct sorter {
    const struct sort *s;
    struct cpu_digit digit;
    struct cpu_pass pass;              /* its arrays are the caller's */
    void *other[CPU_ARRAYS_MOST];      /* as large as the outputs */
    const void *from[CPU_ARRAYS_MOST]; /* what is sorted into the outputs; NULL: indices */
    co_u64 *offsets;                   /* of a pass */
    co_u64 *varying;                   /* a worker's: the bits in which keys differ from the first */
    co_u64 *items;                     /* 2 * local a worker */
    co_u64 local;                      /* entries that one thread sorts by itself */
    struct range at;                   /* what all sort together */
    /* What is sorted piece by piece: piece k is [bounds[k], bounds[k + 1]). */
    const co_u64 *bounds;
    co_u64 pieces;
    struct range *large;  /* those that are too large for one thread */
    co_u64 larges;        /* atomic */
    cohort_status status; /* COHORT_CANCELLED: the caller wants an end; what is left to do is left */
};

static co_u64 clamp(co_u64 x, co_u64 least, co_u64 most)
{
    return x < least ? least : x < most ? x : most;
}

/* Room for a pass of any number of buckets; fewer entries take less. */
static void passes_arena(cohort_context *context, struct cpu_pass *p, struct arena *arena)
{
    co_u64 most = arena->used;
    for (co_u32 bits = 1; bits <= FIRST_BITS; bits++) {
        struct arena again = *arena;
        p->buckets = 1u << bits;
        cpu_pass_arena(context, p, &again);
        most = again.used > most ? again.used : most;
    }
    arena->used = most;
}

static void sorter_arena(cohort_context *context, struct sorter *r, const struct sort *s, struct arena *arena)
{
    co_u32 bytes = cpu_order_bytes(s->order);
    co_u64 threads = cpu_device(context)->threads;
    memset(r, 0, sizeof *r);
    r->s = s;
    r->digit = (struct cpu_digit){s->order, s->descending, 0, 0};
    cpu_pass_arrays(&r->pass, s->keys, s->keys_out ? s->keys_out : r, bytes, s->column, s->columns,
                    s->permutation, s->permutation_bytes);
    if (!s->keys_out)
        r->pass.array[0].out = arena_take(arena, s->n * bytes); /* passes put them there */
    for (co_u32 a = 0; a < r->pass.arrays; a++)
        r->from[a] = r->pass.array[a].in;
    r->local = clamp(s->n / (4 * threads), LOCAL_LEAST, LOCAL_MOST);
    r->items = arena_take(arena, 16 * clamp(s->n, 1, r->local) * threads);
    if (s->n <= r->local)
        return;
    for (co_u32 a = 0; a < r->pass.arrays; a++)
        r->other[a] = arena_take(arena, s->n * r->pass.array[a].bytes);
    r->offsets = arena_take(arena, 8 * ((1u << FIRST_BITS) + 1));
    r->varying = arena_take(arena, 64 * threads);
    r->large = arena_take(arena, s->n / r->local * sizeof *r->large);
    r->pass.n = s->n;
    r->pass.source = CPU_FROM_DIGIT;
    r->pass.ids.key_bytes = bytes;
    r->pass.offsets = r->offsets;
    passes_arena(context, &r->pass, arena);
}

static co_u64 order_mask(const struct sort *s)
{
    co_u64 below = s->high_bit < 64 ? (1ull << s->high_bit) - 1 : ~0ull;
    return below & ~((1ull << s->low_bit) - 1);
}

static co_u32 top_bit(co_u64 x)
{
    return 63 - (co_u32)__builtin_clzll(x);
}

/* ---- items: stable by the bits of `mask` --------------------------------------------------------------- */

static void by_insertion(co_u64 *items, co_u32 n, co_u64 mask)
{
    for (co_u32 i = 1; i < n; i++) {
        co_u64 item = items[i];
        co_u32 j = i;
        for (; j && (items[j - 1] & mask) > (item & mask); j--)
            items[j] = items[j - 1];
        items[j] = item;
    }
}

static void merge(const co_u64 *a, co_u32 an, const co_u64 *b, co_u32 bn, co_u64 *restrict to, co_u64 mask)
{
    const co_u64 *a_end = a + an, *b_end = b + bn;
    while (a < a_end && b < b_end) {
        int second = (*b & mask) < (*a & mask);
        *to++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    memcpy(to, a, (size_t)(a_end - a) * 8);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * 8);
}

/* Returns where the items are in the end. */
static co_u64 *by_merging(co_u64 *items, co_u64 *other, co_u32 n, co_u64 mask)
{
    for (co_u32 i = 0; i < n; i += RUN)
        by_insertion(items + i, n - i < RUN ? n - i : RUN, mask);
    for (co_u32 run = RUN; run < n; run *= 2) {
        for (co_u32 i = 0; i < n; i += 2 * run) {
            co_u32 first = n - i < run ? n - i : run, rest = n - i - first;
            merge(items + i, first, items + i + first, rest < run ? rest : run, other + i, mask);
        }
        co_u64 *swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* How many digits of at most `most` bits the bits of a mask are. */
static co_u32 digits_of(co_u32 bits, co_u32 most)
{
    return (bits + most - 1) / most;
}

/* Bits of a digit, at most. */
static co_u32 digit_bits(co_u32 n)
{
    return n < WIDE_DIGIT ? DIGIT_BITS : FIRST_BITS;
}

static co_u64 *by_digits(co_u64 *items, co_u64 *other, co_u32 n, co_u64 mask)
{
    co_u32 places[1u << FIRST_BITS], most = digit_bits(n);
    while (mask) {
        co_u32 shift = (co_u32)__builtin_ctzll(mask), left = top_bit(mask) - shift + 1, sum = 0;
        co_u32 digits = digits_of(left, most), last = (1u << (left + digits - 1) / digits) - 1;
        memset(places, 0, (last + 1) * sizeof places[0]);
        for (co_u32 i = 0; i < n; i++)
            places[items[i] >> shift & last]++;
        for (co_u32 b = 0; b <= last; b++) {
            co_u32 count = places[b];
            places[b] = sum;
            sum += count;
        }
        for (co_u32 i = 0; i < n; i++)
            other[places[items[i] >> shift & last]++] = items[i];
        co_u64 *swap = items;
        items = other;
        other = swap;
        mask &= ~((co_u64)last << shift);
    }
    return items;
}

/* The bits of the topmost two digits, if it is likely that they tell nearly all items apart; else the whole
 * mask. */
static co_u64 topmost(co_u32 n, co_u64 mask)
{
    co_u32 bits = 2 * digit_bits(n);
    if (!mask || top_bit(mask) - (co_u32)__builtin_ctzll(mask) < bits)
        return mask;
    co_u64 top = mask >> (top_bit(mask) + 1 - bits) << (top_bit(mask) + 1 - bits);
    return (co_u32)__builtin_popcountll(top) >= top_bit(n) + 1 + SPARSE_BITS ? top : mask;
}

/* By insertion, if that takes no more moves than there are items, and a last one's. 0: it takes more, and
 * some are done. */
static int by_few_moves(co_u64 *items, co_u32 n, co_u64 mask)
{
    co_u32 moves = 0;
    for (co_u32 i = 1; i < n && moves <= n; i++) {
        co_u64 item = items[i];
        co_u32 j = i;
        for (; j && (items[j - 1] & mask) > (item & mask); j--)
            items[j] = items[j - 1];
        items[j] = item;
        moves += i - j;
    }
    return moves <= n;
}

/* What is done in vain leaves equal items in their order, and so the items may be sorted from there. */
static co_u64 *sort_items(co_u64 *items, co_u64 *other, co_u32 n, co_u64 mask)
{
    if (n <= MERGED)
        return by_merging(items, other, n, mask);
    co_u64 top = topmost(n, mask);
    if (top == mask)
        return by_digits(items, other, n, mask);
    co_u64 *a = by_digits(items, other, n, top);
    return by_few_moves(a, n, mask) ? a : by_digits(a, a == items ? other : items, n, mask);
}

/* ---- by one thread ------------------------------------------------------------------------------------- */

/* Of no array: NULL for element 0, and else nothing that is read. */
static const void *at(const void *array, co_u64 i, co_u32 bytes)
{
    return (const void *)((uintptr_t)array + i * bytes);
}

#define GATHER(T)                  \
    for (co_u32 i = 0; i < n; i++) \
    ((T *)to)[i] = ((const T *)from)[items[i] & 0xffffffffu]

static void gather(const void *array, const struct cpu_array *out, co_u64 begin, const co_u64 *items,
                   co_u32 n)
{
    const void *from = at(array, begin, out->bytes);
    void *to = (char *)out->out + begin * out->bytes;
    if (!array && out->bytes == 4)
        for (co_u32 i = 0; i < n; i++)
            ((co_u32 *)to)[i] = (co_u32)(begin + (items[i] & 0xffffffffu));
    else if (!array)
        for (co_u32 i = 0; i < n; i++)
            ((co_u64 *)to)[i] = begin + (items[i] & 0xffffffffu);
    else if (out->bytes == 1)
        GATHER(co_u8);
    else if (out->bytes == 2)
        GATHER(co_u16);
    else if (out->bytes == 4)
        GATHER(co_u32);
    else if (out->bytes == 8)
        GATHER(co_u64);
    else
        GATHER(struct wide);
}

/* Keys as numbers in order; returns the bits in which they differ and that count. */
static co_u64 make_numbers(const struct sorter *r, co_u64 begin, co_u32 n, co_u64 *items)
{
    co_u64 varying = 0;
    cpu_order_keys(&r->digit, r->from[0], begin, n, items);
    for (co_u32 i = 0; i < n; i++)
        varying |= items[i] ^ items[0];
    return varying & order_mask(r->s);
}

/* 32 bits of each key, from `shift` on, beside the index of its entry. */
static void pair_numbers(const struct sorter *r, co_u64 begin, co_u32 n, co_u64 *items, co_u32 shift)
{
    co_u64 numbers[KEYS];
    for (co_u32 i = 0, part; i < n; i += part) {
        part = n - i < KEYS ? n - i : KEYS;
        cpu_order_keys(&r->digit, r->from[0], begin + i, part, numbers);
        for (co_u32 k = 0; k < part; k++)
            items[i + k] = numbers[k] >> shift << 32 | (i + k);
    }
}

/* The second round of 64-bit keys: other bits, in the order of the first. */
static void pair_again(const struct sorter *r, co_u64 begin, co_u32 n, co_u64 *items, co_u32 shift)
{
    co_u64 number;
    for (co_u32 i = 0; i < n; i++) {
        co_u64 index = items[i] & 0xffffffffu;
        cpu_order_keys(&r->digit, r->from[0], begin + index, 1, &number);
        items[i] = number >> shift << 32 | index;
    }
}

/* Whether many of some first keys are there several times. */
static int are_repeated(const co_u64 *numbers, co_u32 n)
{
    co_u64 marks[REPEATS_MARKS / 64] = {0};
    co_u32 repeats = 0;
    for (co_u32 i = 0; i < REPEATS_OF && i < n; i++) {
        co_u32 mark = (co_u32)(numbers[i] * 0x9e3779b97f4a7c15ull >> 52) % REPEATS_MARKS;
        repeats += marks[mark / 64] >> mark % 64 & 1;
        marks[mark / 64] |= 1ull << mark % 64;
    }
    return repeats > REPEATS_MANY;
}

/* by_few_moves of pairs that have the topmost 32 bits of longer keys: where these agree the keys decide. */
static int pairs_by_few_moves(const struct sorter *r, co_u64 begin, co_u64 *items, co_u32 n, co_u64 mask)
{
    co_u32 moves = 0;
    co_u64 key, before;
    for (co_u32 i = 1; i < n && moves <= n; i++) {
        co_u64 item = items[i];
        co_u32 j = i;
        if (items[i - 1] >> 32 < item >> 32)
            continue;
        cpu_order_keys(&r->digit, r->from[0], begin + (item & 0xffffffffu), 1, &key);
        for (; j && items[j - 1] >> 32 >= item >> 32; j--) {
            cpu_order_keys(&r->digit, r->from[0], begin + (items[j - 1] & 0xffffffffu), 1, &before);
            if (items[j - 1] >> 32 == item >> 32 && (before & mask) <= (key & mask))
                break;
            items[j] = items[j - 1];
        }
        items[j] = item;
        moves += i - j;
    }
    return moves <= n;
}

/* Keys and indices in one round, by the topmost digits of keys of more than 32 bits. NULL: that is not the
 * way for them. */
static co_u64 *sort_sparse(const struct sorter *r, co_u64 begin, co_u64 *items, co_u64 *other, co_u32 n,
                           co_u64 varying)
{
    co_u32 shift = top_bit(varying) - 31;
    co_u64 mask = varying >> shift << 32, top = topmost(n, mask);
    if (n <= MERGED || top == mask || are_repeated(items, n))
        return NULL;
    pair_numbers(r, begin, n, items, shift);
    items = by_digits(items, other, n, top);
    return pairs_by_few_moves(r, begin, items, n, varying) ? items : NULL;
}

/* Keys and indices, of the keys' numbers, which `items` has. */
static co_u64 *sort_pairs(const struct sorter *r, co_u64 begin, co_u64 *items, co_u64 *other, co_u32 n,
                          co_u64 varying)
{
    co_u32 shift = varying ? (co_u32)__builtin_ctzll(varying) : 0;
    const int two = varying >> shift >> 32 != 0;
    co_u64 *a = two ? sort_sparse(r, begin, items, other, n, varying) : NULL;
    if (a)
        return a;
    pair_numbers(r, begin, n, items, shift);
    a = sort_items(items, other, n, varying >> shift << 32);
    if (!two)
        return a;
    pair_again(r, begin, n, a, shift + 32);
    return sort_items(a, a == items ? other : items, n, varying >> shift & ~0xffffffffull);
}

static void sort_local(const struct sorter *r, co_u64 begin, co_u32 n, unsigned worker)
{
    co_u64 *items = r->items + 2 * clamp(r->s->n, 1, r->local) * worker,
           *other = items + clamp(r->s->n, 1, r->local);
    co_u64 varying = make_numbers(r, begin, n, items);
    if (r->pass.arrays == 1) {
        items = sort_items(items, other, n, varying);
        cpu_order_back(&r->digit, items, n, (char *)r->pass.array[0].out + begin * r->pass.array[0].bytes);
        return;
    }
    items = sort_pairs(r, begin, items, other, n, varying);
    for (co_u32 k = r->s->keys_out ? 0 : 1; k < r->pass.arrays; k++)
        gather(r->from[k], &r->pass.array[k], begin, items, n);
}

/* ---- by all threads: from the least significant digit -------------------------------------------------- */

static void find_varying(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sorter *r = arg;
    co_u64 keys[KEYS], first, varying = 0;
    cpu_order_keys(&r->digit, r->from[0], r->at.begin, 1, &first);
    for (co_u64 i = begin; i < end; i += KEYS) {
        co_u32 n = end - i < KEYS ? (co_u32)(end - i) : KEYS;
        cpu_order_keys(&r->digit, r->from[0], r->at.begin + i, n, keys);
        for (co_u32 k = 0; k < n; k++)
            varying |= keys[k] ^ first;
    }
    r->varying[worker * 8] |= varying;
}

static co_u64 varying_bits(cohort_context *context, struct sorter *r)
{
    co_u64 varying = 0, threads = cpu_device(context)->threads;
    memset(r->varying, 0, 64 * threads);
    cpu_parallel(context, r->at.end - r->at.begin, VARYING_GRAIN, find_varying, r);
    for (co_u64 t = 0; t < threads; t++)
        varying |= r->varying[t * 8];
    return varying & order_mask(r->s);
}

/* Takes the lowest digit of 8 bits out of *varying; 0 if there is none. */
static int next_digit(co_u64 *varying, struct cpu_digit *digit)
{
    if (!*varying)
        return 0;
    digit->shift = (co_u32)__builtin_ctzll(*varying);
    digit->mask = (co_u32)(*varying >> digit->shift & ((1u << DIGIT_BITS) - 1));
    digit->mask = (2u << top_bit(digit->mask)) - 1;
    *varying &= ~((co_u64)digit->mask << digit->shift);
    return 1;
}

/* Before a pass over many entries: whether the caller wants an end. */
static int is_ended(cohort_context *context, struct sorter *r)
{
    if (!r->status && r->at.end - r->at.begin > TOLD)
        r->status = context_progress(context, "sort", r->at.begin, r->s->n);
    return r->status != COHORT_OK;
}

/* A pass over entries r->at.begin to r->at.end, from one set of arrays to another. */
static struct cpu_pass pass_of(cohort_context *context, const struct sorter *r, co_u32 buckets)
{
    struct cpu_pass p = r->pass;
    struct arena arena = {.memory = (char *)p.starts};
    p.n = r->at.end - r->at.begin;
    p.first = r->at.begin;
    p.digit = r->digit;
    p.buckets = buckets;
    for (co_u32 a = 0; a < p.arrays; a++)
        p.array[a].in = r->from[a] ? at(r->from[a], r->at.begin, p.array[a].bytes) : NULL;
    cpu_pass_arena(context, &p, &arena);
    return p;
}

static void pass_into(const struct sorter *r, struct cpu_pass *p, int other)
{
    for (co_u32 a = 0; a < p->arrays; a++)
        p->array[a].out =
            (char *)(other ? r->other[a] : r->pass.array[a].out) + r->at.begin * p->array[a].bytes;
    p->ids.keys = p->array[0].in;
}

static void pass_done(struct cpu_pass *p)
{
    for (co_u32 a = 0; a < p->arrays; a++)
        p->array[a].in = p->array[a].out;
}

/* The passes go to and fro between `other` and the output and end there; so what comes from `other` may have
 * to be copied first. */
static void sort_together(cohort_context *context, struct sorter *r, co_u64 varying)
{
    struct cpu_pass p = pass_of(context, r, 1u << DIGIT_BITS);
    co_u32 left = 0;
    for (co_u64 bits = varying; next_digit(&bits, &p.digit);)
        left++;
    if (!left || (left % 2 == 0 && r->from[0] == r->other[0])) {
        pass_into(r, &p, 0);
        cpu_pass_copy(context, &p);
        pass_done(&p);
    }
    while (!is_ended(context, r) && next_digit(&varying, &p.digit)) {
        pass_into(r, &p, --left % 2);
        cpu_pass_count(context, &p);
        cpu_pass_move(context, &p);
        pass_done(&p);
    }
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* The first piece that begins at i or after. */
static co_u64 piece_from(const struct sorter *r, co_u64 i)
{
    co_u64 low = 0, high = r->pieces;
    while (low < high) {
        co_u64 middle = low + (high - low) / 2;
        if (r->bounds[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sort_small(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct sorter *r = arg;
    for (co_u64 k = piece_from(r, begin); k < r->pieces && r->bounds[k] < end; k++) {
        co_u64 first = r->bounds[k], n = r->bounds[k + 1] - first;
        if (n > r->local) {
            struct range *range = &r->large[co_add64(&r->larges, 1)];
            *range = (struct range){first, first + n};
        } else if (n) {
            sort_local(r, first, (co_u32)n, worker);
        }
    }
}

/* Every piece by itself, from r->from into the outputs. */
static void sort_pieces(cohort_context *context, struct sorter *r, const co_u64 *bounds, co_u64 pieces)
{
    r->bounds = bounds;
    r->pieces = pieces;
    r->status = cpu_parallel_told(context, "sort", r->s->n, RANGE_GRAIN, sort_small, r);
    for (co_u64 i = 0; !r->status && i < r->larges; i++) {
        r->at = r->large[i];
        sort_together(context, r, varying_bits(context, r));
    }
}

/* ---- by all threads: the most significant digit first -------------------------------------------------- */

/* Whether buckets that are too large for one thread have no more than an eighth of all entries. */
static int mostly_small(const struct sorter *r, co_u32 buckets)
{
    co_u64 sum = 0;
    for (co_u32 b = 0; b < buckets; b++) {
        co_u64 n = r->offsets[b + 1] - r->offsets[b];
        sum += n > r->local ? n : 0;
    }
    return sum <= r->s->n / 8;
}

/* Bits of the first digit of `width`: as buckets of the right size need, and more if that saves a digit of
 * what is left. */
static co_u32 first_bits(co_u64 n, co_u32 width)
{
    co_u32 bits = (co_u32)clamp(top_bit(n / FIRST_BUCKET | 1) + 1, 1, FIRST_BITS);
    if (width <= FIRST_BITS)
        return width;
    while (digits_of(width - bits, FIRST_BITS) > digits_of(width - FIRST_BITS, FIRST_BITS))
        bits++;
    return bits;
}

static void sort_all(cohort_context *context, struct sorter *r)
{
    r->at = (struct range){0, r->s->n};
    co_u64 varying = varying_bits(context, r);
    if (!varying) {
        sort_together(context, r, 0);
        return;
    }
    co_u32 lowest = (co_u32)__builtin_ctzll(varying), top = top_bit(varying) + 1;
    co_u32 bits = first_bits(r->s->n, top - lowest);
    struct cpu_pass p = pass_of(context, r, 1u << bits);
    p.digit.shift = top - bits;
    p.digit.mask = (1u << bits) - 1;
    pass_into(r, &p, top - bits > lowest);
    cpu_pass_count(context, &p);
    if (top - bits > lowest && !mostly_small(r, p.buckets)) {
        sort_together(context, r, varying);
        return;
    }
    if (is_ended(context, r))
        return;
    cpu_pass_move(context, &p);
    if (top - bits == lowest || is_ended(context, r))
        return;
    for (co_u32 a = 0; a < p.arrays; a++)
        r->from[a] = r->other[a];
    sort_pieces(context, r, r->offsets, p.buckets);
}

static cohort_status cpu_sort_run(cohort_context *context, const struct sort *s, struct arena *arena)
{
    struct sorter r;
    sorter_arena(context, &r, s, arena);
    if (arena->asks)
        return COHORT_OK;
    if (s->segments)
        sort_pieces(context, &r, s->segment_offsets, s->segments);
    else if (s->n && s->n <= r.local)
        sort_local(&r, 0, (co_u32)s->n, 0);
    else if (s->n && !cpu_sort_few(context, s, r.other[0], &r.status))
        sort_all(context, &r);
    return r.status;
}

const struct sort_backend cpu_sort_backend = {
    .run = cpu_sort_run,
};
