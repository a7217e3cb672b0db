/* cpu/sets_look.c: questions to collections, by the host's threads.
 *
 * Whether something is a member is asked most, and mostly at random, so that each question would wait for
 * memory four times in a row: for the set's word, its record, the chunk's place, its entries. So 32 questions
 * go through these steps together, and each step asks for the memory of the next one. In an array the search
 * begins where the number would be if members lay evenly: 32 entries there are compared at once; those beside
 * them, where drawn members often lie, are asked for as well. Lists are searched by halves, all questions one
 * step at a time. */
#include "sets.h"
#include "shape/bits.h"

#define GRAIN    4096 /* questions that a thread takes at a time, a multiple of TOGETHER */
#define TOGETHER 32u  /* as many as a word of `hit` has bits */
#define WINDOW   32u  /* entries of an array that are compared at once: a line of the cache */
#define WINDOWS  4u   /* that a search goes through before it halves what is left */

/* ---- membership ---------------------------------------------------------------------------------------- */

/* The first of the entries that are compared at once; there are as many. Where it can, it begins a line. */
static co_u32 window_of(const co_u16 *at, co_u32 entries, co_u32 low16)
{
    co_u32 guess = (co_u32)((co_u64)entries * low16 >> CO_CHUNK_BITS);
    co_u32 over = (co_u32)((uintptr_t)(at + guess) / sizeof *at % WINDOW);
    co_u32 from = guess > over ? guess - over : 0;
    return from < entries - WINDOW ? from : entries - WINDOW;
}

/* By halves, without a branch that depends on what is read. */
static int halves_have(const co_u16 *at, co_u32 entries, co_u32 low16)
{
    while (entries > 1) {
        co_u32 half = entries / 2;
        at += at[half] <= low16 ? half : 0;
        entries -= half;
    }
    return entries && *at == low16;
}

static int window_has(const co_u16 *at, co_u32 low16)
{
    co_u16 some = 0;
    for (co_u32 i = 0; i < WINDOW; i++)
        some |= (co_u16)(at[i] == (co_u16)low16);
    return some;
}

static int array_has(const co_u16 *at, co_u32 entries, co_u32 low16)
{
    if (entries <= WINDOW)
        return halves_have(at, entries, low16);
    co_u32 from = window_of(at, entries, low16), to = from + WINDOW;
    for (co_u32 i = 0; i < WINDOWS; i++) {
        if (from && low16 < at[from]) { /* before this window */
            to = from;
            from = from > WINDOW ? from - WINDOW : 0;
        } else if (to < entries && low16 > at[to - 1]) { /* behind it */
            from = to < entries - WINDOW ? to : entries - WINDOW;
            to = from + WINDOW;
        } else {
            return window_has(at + from, low16);
        }
    }
    return halves_have(at, entries, low16);
}

/* In line: a compiler takes a function that only asks for memory for one that does nothing, and leaves calls
 * out. */
CO_INLINE void chunk_ask(const cohort_sets_view *v, co_u64 place, co_u32 low16)
{
    const co_u16 *at = co_place_at(v, place);
    co_u32 entries = co_place_entries(place);
    if (co_place_kind(place) == CO_CHUNK_BITMAP) {
        __builtin_prefetch(at + low16 / 16);
    } else if (co_place_kind(place) == CO_CHUNK_ARRAY && entries > WINDOW) {
        const co_u16 *window = at + window_of(at, entries, low16);
        __builtin_prefetch(window - WINDOW);
        __builtin_prefetch(window);
        __builtin_prefetch(window + WINDOW);
    } else {
        __builtin_prefetch(at);
    }
}

void cpu_sets_chunk_ask(const cohort_sets_view *v, co_u64 place, co_u32 low16)
{
    chunk_ask(v, place, low16);
}

int cpu_sets_chunk_has(const cohort_sets_view *v, co_u64 place, co_u32 low16)
{
    if (co_place_kind(place) == CO_CHUNK_ARRAY)
        return array_has(co_place_at(v, place), co_place_entries(place), low16);
    return co_chunk_contains(v, place, low16);
}

/* A question under way. */
struct question {
    struct co_sets_set set;
    co_u64 id, place; /* place: of large sets; first the chunk's number in the directory */
    co_u64 at, left;  /* of lists: the entries among which the search goes on */
};

static const void *entry_at(const cohort_sets_view *v, co_u64 i)
{
    return (const char *)v->lists + i * (v->wide ? 8 : 4);
}

/* The set, and of a large one the chunk's number. */
static void find_chunk(const cohort_sets_view *v, struct question *k)
{
    if (!k->set.large) {
        k->at = k->set.first;
        k->left = k->set.n;
        __builtin_prefetch(entry_at(v, k->at + k->left / 2));
        return;
    }
    k->place = co_sets_chunk(v, &k->set, k->id >> CO_CHUNK_BITS);
    if (k->place != CO_SETS_NONE)
        __builtin_prefetch(v->places + k->place);
}

/* The chunk's place; its entries are asked for. */
static void find_entries(const cohort_sets_view *v, struct question *k)
{
    if (!k->set.large || k->place == CO_SETS_NONE)
        return;
    k->place = v->places[k->place];
    chunk_ask(v, k->place, (co_u32)k->id & (CO_CHUNK_IDS - 1));
}

/* The last entry of each list that is not above its id, or the first entry. Each step asks for what the next
 * one reads. */
static void search_lists(const cohort_sets_view *v, struct question *k, co_u32 n)
{
    co_u64 most = 0;
    for (co_u32 i = 0; i < n; i++)
        if (!k[i].set.large && k[i].left > most)
            most = k[i].left;
    for (; most > 1; most -= most / 2)
        for (co_u32 i = 0; i < n; i++) {
            co_u64 half = k[i].set.large ? 0 : k[i].left / 2;
            if (!half)
                continue;
            k[i].at += co_sets_listed(v, k[i].at + half) <= k[i].id ? half : 0;
            k[i].left -= half;
            __builtin_prefetch(entry_at(v, k[i].at + k[i].left / 2));
        }
}

static int answer(const cohort_sets_view *v, const struct question *k)
{
    co_u32 low16 = (co_u32)k->id & (CO_CHUNK_IDS - 1);
    if (!k->set.large)
        return k->left && co_sets_listed(v, k->at) == k->id;
    return k->place != CO_SETS_NONE && cpu_sets_chunk_has(v, k->place, low16);
}

/* Sets of `n` questions from `base` on, opened. */
static void open_sets(const struct sets_look *q, struct question *k, co_u64 base, co_u32 n)
{
    const cohort_sets_view *v = &q->view;
    for (co_u32 i = 0; i < n; i++) {
        co_u64 set = q->which[base + i];
        if (set >= v->sets)
            co_min64(q->first_bad, base + i);
        else
            __builtin_prefetch(v->words + set);
    }
    for (co_u32 i = 0; i < n; i++) {
        co_u64 set = q->which[base + i], word = set < v->sets ? v->words[set] : 0;
        if (word & CO_SETS_LARGE)
            __builtin_prefetch(v->large + (word & ~CO_SETS_LARGE));
    }
    for (co_u32 i = 0; i < n; i++)
        k[i].set = co_sets_open(v, q->which[base + i]);
}

/* Where the answers of n questions, whose sets and ids are known, will be read. */
static void find(const cohort_sets_view *v, struct question *k, co_u32 n)
{
    for (co_u32 i = 0; i < n; i++)
        find_chunk(v, &k[i]);
    for (co_u32 i = 0; i < n; i++)
        find_entries(v, &k[i]);
}

/* Asks for what questions from `base` on need, as many as go together; gives back how many there are. */
static co_u32 ask(const struct sets_look *q, struct question *k, co_u64 base, co_u64 end)
{
    co_u32 n = base >= end ? 0 : end - base < TOGETHER ? (co_u32)(end - base) : TOGETHER;
    if (q->which && n)
        open_sets(q, k, base, n);
    for (co_u32 i = 0; i < n; i++)
        k[i].id = sets_value(q, q->values, base + i);
    find(&q->view, k, n);
    return n;
}

/* The next questions are asked before those at hand are answered, so that memory is never without work. */
static void contains_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sets_look *q = arg;
    const cohort_sets_view *v = &q->view;
    struct question k[2][TOGETHER];
    (void)worker;
    if (!q->which)
        for (co_u32 i = 0; i < 2 * TOGETHER; i++)
            k[i / TOGETHER][i % TOGETHER].set = co_sets_open(v, q->set);
    co_u32 n = ask(q, k[0], begin, end), turn = 0;
    for (co_u64 base = begin; base < end; base += TOGETHER) {
        co_u32 next = ask(q, k[turn ^ 1], base + TOGETHER, end), word = 0;
        search_lists(v, k[turn], n);
        for (co_u32 i = 0; i < n; i++)
            word |= (co_u32)answer(v, &k[turn][i]) << i;
        bits_put_word(q->hit, base, q->n, word);
        n = next;
        turn ^= 1;
    }
}

void cpu_sets_member_ids(const cohort_sets_view *view, co_u64 set, co_u32 count, const void *keys,
                         co_u32 key_bytes, co_u32 *ids)
{
    const struct sets_member_ids m = {.keys = keys, .key_bytes = key_bytes};
    struct question k[TOGETHER];
    for (co_u32 i = 0; i < TOGETHER; i++)
        k[i].set = co_sets_open(view, set);
    for (co_u32 base = 0; base < count; base += TOGETHER) {
        co_u32 n = count - base < TOGETHER ? count - base : TOGETHER;
        for (co_u32 i = 0; i < n; i++)
            k[i].id = sets_member_key(&m, base + i);
        find(view, k, n);
        search_lists(view, k, n);
        for (co_u32 i = 0; i < n; i++)
            ids[base + i] = (co_u32)answer(view, &k[i]);
    }
}

/* ---- all others ---------------------------------------------------------------------------------------- */

static void look_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sets_look *q = arg;
    (void)worker;
    for (co_u64 base = begin; base < end; base += 32) {
        co_u32 word = 0;
        for (co_u64 i = base; i < end && i < base + 32; i++)
            word |= (co_u32)sets_look_one(q, i) << (i - base);
        if (q->hit)
            bits_put_word(q->hit, base, q->n, word);
    }
}

cohort_status cpu_sets_look(cohort_context *context, const struct sets_look *look)
{
    struct sets_look q = *look;
    return cpu_parallel_told(context, "sets", q.n, GRAIN,
                             q.kind == SETS_LOOK_CONTAINS ? contains_range : look_range, &q);
}
