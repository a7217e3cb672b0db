/* cpu/sort_few.c: sorting keys of which few are distinct: they are counted, and written as often.
 *
 * Some keys tell whether it is worth a try. All threads put keys into one table of slots, by linear probing
 * and one compare-and-swap; each counts in a table of its own. The distinct keys are sorted, and the outputs
 * filled: keys are read once and written once, however many bytes they have. Keys of the same bits cannot be
 * told from each other, so that nobody sees that they were not moved. */
#include "sort_few.h"

#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "split.h"

#define EMPTY  (~0ull)
#define LEAST  (1u << 20) /* keys, for this to pay */
#define TRIED  4096u      /* of which some tell: */
#define FEW    1536u      /* so many distinct ones at most, and */
#define BEYOND 2u         /* there is room for so many times as many */
#define SLOTS  8192u /* two and more a distinct key, and one more, of the key that looks like an empty slot */
#define FILL   (1u << 15) /* places that a thread fills at a time */

struct few {
    co_u64 number, word, count; /* number: by its order */
};

struct counting {
    const struct sort *s;
    const struct keys_seed *seed;
    co_u32 bytes, room, distinct;
    co_u32 is_full;
    co_u64 *slot;
    co_u64 *count; /* a worker's: SLOTS + 1 */
    struct few *few;
    co_u64 *begins; /* where the places of each begin, and the end */
};

_Static_assert((SLOTS & (SLOTS - 1)) == 0 && BEYOND * FEW * 2 <= SLOTS, "slots");

static inline co_u64 word_at(const struct counting *c, co_u64 i)
{
    return c->bytes == 8 ? ((const co_u64 *)c->s->keys)[i] : ((const co_u32 *)c->s->keys)[i];
}

/* ---- counts -------------------------------------------------------------------------------------------- */

/* The slot of a key that is not in its first one; SLOTS: there is no room left, or it is EMPTY. */
static co_u64 slot_of(struct counting *c, co_u64 word, co_u64 at)
{
    while (word != EMPTY) {
        co_u64 there = __atomic_load_n(&c->slot[at], __ATOMIC_RELAXED);
        if (there == word)
            return at;
        if (there != EMPTY) {
            at = (at + 1) % SLOTS;
            continue;
        }
        if (__atomic_fetch_add(&c->distinct, 1, __ATOMIC_RELAXED) >= c->room) {
            __atomic_store_n(&c->is_full, 1, __ATOMIC_RELAXED);
            return SLOTS;
        }
        if (!__atomic_compare_exchange_n(&c->slot[at], &there, word, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            __atomic_fetch_sub(&c->distinct, 1, __ATOMIC_RELAXED);
    }
    return SLOTS;
}

static void count_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct counting *c = arg;
    co_u64 *count = c->count + worker * (SLOTS + 1ull), at[KEYS_BLOCK], word[KEYS_BLOCK];
    const unsigned shift = 64 - (unsigned)__builtin_ctz(SLOTS);
    for (co_u64 from = begin; from < end && !__atomic_load_n(&c->is_full, __ATOMIC_RELAXED);
         from += KEYS_BLOCK) {
        const co_u32 n = end - from < KEYS_BLOCK ? (co_u32)(end - from) : KEYS_BLOCK;
        for (co_u32 i = 0; i < n; i++) {
            word[i] = word_at(c, from + i);
            at[i] = keys_hash(c->seed, word[i]) >> shift;
        }
        for (co_u32 i = 0; i < n; i++) {
            if (word[i] == EMPTY || __atomic_load_n(&c->slot[at[i]], __ATOMIC_RELAXED) != word[i])
                at[i] = slot_of(c, word[i], at[i]);
            count[at[i]]++;
        }
    }
}

static void table_clear(struct counting *c, co_u32 room, unsigned workers)
{
    c->room = room;
    c->distinct = c->is_full = 0;
    memset(c->slot, 0xff, SLOTS * 8ull);
    memset(c->count, 0, (SLOTS + 1ull) * 8 * workers);
}

/* Whether keys from all over tell that few are distinct. */
static int are_few(struct counting *c)
{
    const co_u64 pieces = TRIED / KEYS_BLOCK;
    table_clear(c, FEW, 1);
    for (co_u64 i = 0; i < pieces; i++) {
        const co_u64 begin = c->s->n / pieces * i;
        count_part(c, begin, begin + KEYS_BLOCK, 0);
    }
    return !c->is_full;
}

/* ---- outputs ------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct few *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Each distinct key with its count, in order: how many there are. */
static co_u32 put_in_order(struct counting *c, unsigned workers)
{
    const struct cpu_digit order = {c->s->order, c->s->descending, 0, 0};
    co_u32 n = 0;
    co_u64 sum = 0;
    for (co_u64 at = 0; at <= SLOTS; at++) {
        struct few f = {.word = at < SLOTS ? c->slot[at] : EMPTY};
        for (unsigned w = 0; w < workers; w++)
            f.count += c->count[w * (SLOTS + 1ull) + at];
        if (f.count)
            c->few[n++] = f;
    }
    for (co_u32 i = 0; i < n; i++) {
        co_u32 narrow = (co_u32)c->few[i].word;
        cpu_order_keys(&order, c->bytes == 8 ? (const void *)&c->few[i].word : &narrow, 0, 1,
                       &c->few[i].number);
    }
    qsort(c->few, n, sizeof *c->few, by_number);
    for (co_u32 i = 0; i < n; i++) {
        c->begins[i] = sum;
        sum += c->few[i].count;
    }
    c->begins[n] = sum;
    return n;
}

static void fill_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct counting *c = arg;
    co_u32 low = 0, high = c->distinct; /* begins[low] <= begin < begins[high] */
    (void)worker;
    while (high - low > 1) {
        const co_u32 middle = (low + high) / 2;
        if (c->begins[middle] <= begin)
            low = middle;
        else
            high = middle;
    }
    for (co_u64 i = begin; i < end; low++) {
        const co_u64 stop = c->begins[low + 1] < end ? c->begins[low + 1] : end, word = c->few[low].word;
        if (c->bytes == 8)
            for (co_u64 *out = c->s->keys_out; i < stop; i++)
                out[i] = word;
        else
            for (co_u32 *out = c->s->keys_out; i < stop; i++)
                out[i] = (co_u32)word;
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* Divides the room: 0 if it is not enough. */
static int lay_out(struct counting *c, void *room, unsigned workers)
{
    struct arena arena = {.memory = room};
    c->slot = arena_take(&arena, SLOTS * 8ull);
    c->few = arena_take(&arena, (SLOTS + 1ull) * sizeof *c->few);
    c->begins = arena_take(&arena, (SLOTS + 2ull) * 8);
    c->count = arena_take(&arena, (SLOTS + 1ull) * 8 * workers);
    return arena.used <= c->s->n * c->bytes;
}

int cpu_sort_few(cohort_context *context, const struct sort *s, void *room, cohort_status *status)
{
    const unsigned workers = cpu_device(context)->threads;
    struct counting c = {.s = s, .seed = keys_seed(), .bytes = cpu_order_bytes(s->order)};
    if (s->n < LEAST || s->segments || s->columns || s->permutation || s->low_bit ||
        s->high_bit != 8 * c.bytes || !lay_out(&c, room, workers) || !are_few(&c))
        return 0;
    table_clear(&c, BEYOND * (c.distinct + 1), workers);
    cohort_status counted = cpu_parallel_told(context, "sort", s->n, FILL, count_part, &c);
    if (!counted && c.is_full)
        return 0;
    if (!counted) {
        c.distinct = put_in_order(&c, workers);
        cpu_parallel(context, s->n, FILL, fill_part, &c);
    }
    *status = counted;
    return 1;
}
