/* hopscotch_rivals.c: a pair is one word, so that a slot changes hands by one compare-and-swap, or
 * exchange. The number of slots is a power of two.
 *
 * - linear: slot h, h + 1, h + 2, ...: the first that is empty.
 * - quadratic: slot h, h + 1, h + 3, h + 6, ... (triangular numbers, which go through all slots).
 * - cuckoo: four hash functions. A pair is exchanged with what is in its slot, and what was there goes to the
 *   slot of its next function, and so on, 16 times the logarithm of the slots at most (Alcantara and others,
 *   2009). A slot that was taken never becomes empty again: a lookup ends at the first empty one.
 *
 * Memory decides here, too, so all go by groups, as our own batches do: the line of each entry's first
 * slot is asked for, then those slots are looked at, and for entries that are not done the next line is
 * asked for, then all is done. */
#include "hopscotch_rivals.h"

#include <stdlib.h>
#include <string.h>

#include "../cli/parallel.h"
#include "keys.h"

const char *const rival_names[RIVALS] = {"linear", "quadratic", "cuckoo"};

enum { GROUP = 32, FUNCTIONS = 4, LINE_WORDS = 8 };

int rival_make(rival *r, rival_kind kind, unsigned log, unsigned threads)
{
    const size_t bytes = sizeof(uint64_t) << log;
    *r = (rival){kind, log, threads, 0, aligned_alloc(64, bytes < 64 ? 64 : bytes)};
    if (r->slot)
        rival_clear(r);
    return r->slot != NULL;
}

void rival_free(rival *r)
{
    free(r->slot);
    r->slot = NULL;
}

void rival_clear(rival *r)
{
    memset(r->slot, 0, sizeof(uint64_t) << r->log);
}

/* The slot of a key's probe i. */
static inline uint64_t place(const rival *r, uint32_t key, uint32_t i)
{
    const uint64_t mask = (UINT64_C(1) << r->log) - 1;
    if (r->kind == RIVAL_CUCKOO) {
        const uint64_t h = bench_mix_64(key + r->seed + ((uint64_t)(i / 2) << 40));
        return (i & 1 ? h >> 32 : h) & mask;
    }
    const uint64_t h = bench_mix_64(key + r->seed);
    return (h + (r->kind == RIVAL_LINEAR ? i : (uint64_t)i * (i + 1) / 2)) & mask;
}

static inline uint64_t pair_of(uint32_t key, uint32_t value)
{
    return (uint64_t)key << 32 | value;
}

/* ---- building ------------------------------------------------------------------------------------------ */

static int probe_in(const rival *r, uint32_t key, uint32_t value)
{
    for (uint32_t i = 0; i >> r->log == 0; i++) {
        uint64_t *slot = &r->slot[place(r, key, i)], empty = 0;
        if (!__atomic_load_n(slot, __ATOMIC_RELAXED) &&
            __atomic_compare_exchange_n(slot, &empty, pair_of(key, value), 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

/* Which of a key's functions names the slot; the next one is where it goes. */
static uint32_t next_function(const rival *r, uint32_t key, uint64_t at)
{
    uint32_t i = 0;
    while (i < FUNCTIONS - 1 && place(r, key, i) != at)
        i++;
    return (i + 1) % FUNCTIONS;
}

static int cuckoo_in(const rival *r, uint32_t key, uint32_t value)
{
    uint64_t pair = pair_of(key, value), at = place(r, key, 0);
    for (unsigned i = 0; i < 16 * (r->log + 1); i++) {
        pair = __atomic_exchange_n(&r->slot[at], pair, __ATOMIC_RELAXED);
        if (!pair)
            return 1;
        at = place(r, (uint32_t)(pair >> 32), next_function(r, (uint32_t)(pair >> 32), at));
    }
    return 0;
}

typedef struct job {
    const rival *r;
    uint64_t n;
    const uint32_t *keys, *values;
    uint32_t *results;
    int failed;
} job;

static void build_share(void *arg, unsigned share, unsigned shares)
{
    job *j = arg;
    const rival *r = j->r;
    uint64_t first = parallel_first(j->n, share, shares), end = parallel_first(j->n, share + 1, shares);
    for (uint64_t i = first; i < end && i < first + GROUP; i++)
        __builtin_prefetch(&r->slot[place(r, j->keys[i], 0)], 1);
    for (uint64_t i = first; i < end; i++) {
        if (i + GROUP < end)
            __builtin_prefetch(&r->slot[place(r, j->keys[i + GROUP], 0)], 1);
        if (!(r->kind == RIVAL_CUCKOO ? cuckoo_in : probe_in)(r, j->keys[i], j->values[i]))
            __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
    }
}

int rival_build(rival *r, uint64_t n, const uint32_t *keys, const uint32_t *values)
{
    job j = {r, n, keys, values, NULL, 0};
    parallel_run(r->threads, build_share, &j);
    if (j.failed)
        r->seed += UINT64_C(0x9e3779b97f4a7c15);
    return !j.failed;
}

/* ---- retrieving ---------------------------------------------------------------------------------------- */

/* Goes on with a key's probes from *i on: 1: it is known what its value is. One line only: 0 if the next
 * probe is in another line, which is asked for. */
static inline int probe_on(const rival *r, uint32_t key, uint32_t *i, int one_line, uint32_t *value)
{
    const uint32_t most = r->kind == RIVAL_CUCKOO ? FUNCTIONS : UINT32_MAX;
    uint64_t at = place(r, key, *i);
    for (;;) {
        const uint64_t pair = r->slot[at], line = at / LINE_WORDS;
        if (pair >> 32 == key && pair) {
            *value = (uint32_t)pair;
            return 1;
        }
        if (!pair || ++*i == most || *i >> r->log) {
            *value = 0;
            return 1;
        }
        at = place(r, key, *i);
        if (one_line && at / LINE_WORDS != line) {
            __builtin_prefetch(&r->slot[at]);
            return 0;
        }
    }
}

/* Three groups are on their way. */
static void retrieve_share(void *arg, unsigned share, unsigned shares)
{
    job *j = arg;
    const rival *r = j->r;
    const uint64_t first = parallel_first(j->n, share, shares), end = parallel_first(j->n, share + 1, shares);
    uint32_t probes[2][GROUP], later[2] = {0, 0};
    for (uint64_t base = first; base < end + 2 * GROUP; base += GROUP) {
        for (uint64_t i = base; i < base + GROUP && i < end; i++)
            __builtin_prefetch(&r->slot[place(r, j->keys[i], 0)]);
        const unsigned now = (base - first) / GROUP & 1, before = !now;
        if (base >= first + 2 * GROUP)
            for (uint32_t left = later[now]; left; left &= left - 1) {
                const unsigned k = (unsigned)__builtin_ctz(left);
                const uint64_t i = base - 2 * GROUP + k;
                probe_on(r, j->keys[i], &probes[now][k], 0, &j->results[i]);
            }
        later[before] = 0;
        if (base >= first + GROUP)
            for (uint64_t i = base - GROUP, k = 0; k < GROUP && i < end; i++, k++) {
                probes[before][k] = 0;
                later[before] |= (uint32_t)!probe_on(r, j->keys[i], &probes[before][k], 1, &j->results[i])
                                 << k;
            }
    }
}

void rival_retrieve(const rival *r, uint64_t n, const uint32_t *keys, uint32_t *results)
{
    job j = {r, n, keys, NULL, results, 0};
    parallel_run(r->threads, retrieve_share, &j);
}
