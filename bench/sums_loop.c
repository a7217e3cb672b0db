/* sums_loop.c: sums by key as one would write them in an hour: one thread, one table at half load at most,
 * Fibonacci hashing, linear probing, an entry after the other. */
#include "sums_loop.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SLOTS 16u

int sums_loop_make(sums_loop *l, uint64_t keys, unsigned bytes)
{
    *l = (sums_loop){.slots = LEAST_SLOTS, .shift = 60, .bytes = bytes};
    while (l->slots < 2 * keys) {
        l->slots *= 2;
        l->shift--;
    }
    l->slot = aligned_alloc(64, l->slots * 2 * bytes);
    return l->slot != NULL;
}

void sums_loop_free(sums_loop *l)
{
    free(l->slot);
    l->slot = NULL;
}

void sums_loop_clear(sums_loop *l)
{
    memset(l->slot, 0xff, l->slots * 2 * l->bytes);
    l->pairs = l->odd = 0;
    l->is_odd_there = 0;
}

#define LOOP(T)                                                                   \
    static void add_##T(sums_loop *l, uint64_t n, const T *keys, const T *values) \
    {                                                                             \
        struct pair {                                                             \
            T key, sum;                                                           \
        } *slot = l->slot;                                                        \
        const uint64_t last = l->slots - 1;                                       \
        for (uint64_t i = 0; i < n; i++) {                                        \
            const T key = keys[i], value = values ? values[i] : 1;                \
            if (key == (T)~0ull) {                                                \
                l->odd += value;                                                  \
                l->is_odd_there = 1;                                              \
                continue;                                                         \
            }                                                                     \
            uint64_t at = (uint64_t)key * 0x9e3779b97f4a7c15ull >> l->shift;      \
            while (slot[at].key != key && slot[at].key != (T)~0ull)               \
                at = (at + 1) & last;                                             \
            if (slot[at].key == key) {                                            \
                slot[at].sum += value;                                            \
            } else {                                                              \
                slot[at] = (struct pair){key, value};                             \
                l->pairs++;                                                       \
            }                                                                     \
        }                                                                         \
    }
LOOP(uint32_t)
LOOP(uint64_t)

void sums_loop_add(sums_loop *l, uint64_t n, const void *keys, const void *values)
{
    if (l->bytes == 4)
        add_uint32_t(l, n, keys, values);
    else
        add_uint64_t(l, n, keys, values);
}
