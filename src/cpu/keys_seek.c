/* cpu/keys_seek.c: words looked up among slots.
 *
 * All rows of a block are looked at together. Their homes are computed and asked for first. With AVX-512 a
 * line of memory, which is four slots, is compared at once: the first slot from the home on that has the
 * word, or is empty, has the answer, since the id of an empty slot is that of no key. Rows whose line has
 * neither are listed, without a branch, and the next line is looked at for all of them; so how far a search
 * goes is never foretold. */
#include "keys_vector.h"

#define LINE 4u /* slots */

static uint32_t seek_from(const struct keys_table *t, uint64_t at, uint64_t word)
{
    while (t->slot[at].id != KEYS_NO_ID && t->slot[at].key != word)
        at = keys_after(t, at);
    return t->slot[at].id;
}

static void homes_plain(const struct keys_table *t, uint32_t count, const uint64_t *words, uint64_t *home)
{
    const struct keys_homes homes = keys_homes_of(t);
    for (uint32_t i = 0; i < count; i++)
        home[i] = keys_home_in(homes, words[i]);
}

static void seek_plain(const struct keys_table *t, uint32_t count, const uint64_t *words, uint32_t *ids)
{
    uint64_t home[KEYS_BLOCK];
    homes_plain(t, count, words, home);
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(&t->slot[home[i]]);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = seek_from(t, home[i], words[i]);
}

#if CPU_VECTORS
/* keys_home of eight words, of a table of less than 2^32 slots: the upper half of hash x capacity. */
AVX512 static inline __m512i home_8(const struct keys_table *t, __m512i words)
{
    const __m512i hash = keys_hash_8(t->seed, words), capacity = _mm512_set1_epi64((long long)t->capacity);
    const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(hash, capacity), 32);
    const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(hash, 32), capacity);
    return _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
}

AVX512 static void homes_512(const struct keys_table *t, uint32_t count, const uint64_t *words,
                             uint64_t *home)
{
    for (uint32_t i = 0; i < count; i += 8) {
        const __mmask8 some = count - i < 8 ? (__mmask8)((1u << (count - i)) - 1) : (__mmask8)~0u;
        _mm512_storeu_si512(home + i, home_8(t, _mm512_maskz_loadu_epi64(some, words + i)));
    }
}

/* Whether the word is in the line, or an empty slot: a bit each, slot k's at 2 k. */
AVX512 static inline uint32_t stops(const struct keys_slot *line, uint64_t word)
{
    const __m512i slots = _mm512_loadu_si512(line), none = _mm512_set1_epi64(KEYS_NO_ID);
    const uint32_t same = _mm512_mask_cmpeq_epi64_mask(0x55, slots, _mm512_set1_epi64((long long)word));
    const uint32_t empty = _mm512_mask_cmpeq_epi64_mask(0xaa, _mm512_and_si512(slots, none), none);
    return same | empty >> 1;
}

/* The rows listed, from their lines on: list[k] is in line at[k]. */
AVX512 static void seek_on(const struct keys_table *t, uint32_t left, const uint64_t *words, uint16_t *list,
                           uint64_t *at, uint32_t *ids)
{
    const uint64_t whole = t->capacity / LINE * LINE; /* where lines end */
    while (left) {
        uint32_t more = 0;
        for (uint32_t k = 0; k < left; k++) {
            const uint32_t i = list[k];
            const struct keys_slot *line = &t->slot[at[k]];
            if (at[k] == whole) {
                ids[i] = seek_from(t, whole < t->capacity ? whole : 0, words[i]);
                continue;
            }
            const uint32_t found = stops(line, words[i]);
            ids[i] = line[(unsigned)__builtin_ctz(found | 0x40) / 2].id;
            list[more] = (uint16_t)i;
            at[more] = at[k] + LINE;
            more += !found;
        }
        left = more;
    }
}

AVX512 static void seek_512(const struct keys_table *t, uint32_t count, const uint64_t *words, uint32_t *ids)
{
    const struct keys_slot *slot = t->slot;
    const uint64_t whole = t->capacity / LINE * LINE;
    uint64_t home[KEYS_BLOCK], at[KEYS_BLOCK];
    uint16_t list[KEYS_BLOCK];
    uint32_t left = 0;
    homes_512(t, count, words, home);
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(&slot[home[i]]);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t begin = home[i] & ~(uint64_t)(LINE - 1);
        if (begin == whole) {
            ids[i] = seek_from(t, home[i], words[i]);
            continue;
        }
        const uint32_t found = stops(slot + begin, words[i]) & 0xffu << 2 * (home[i] & (LINE - 1));
        ids[i] = slot[begin + (unsigned)__builtin_ctz(found | 0x40) / 2].id;
        list[left] = (uint16_t)i;
        at[left] = begin + LINE;
        __builtin_prefetch(&slot[begin + LINE]);
        left += !found;
    }
    seek_on(t, left, words, list, at, ids);
}
#endif

/* Homes are computed by vectors where a table has less than 2^32 slots. */
static int has_vectors(const struct keys_table *t, enum cpu_level level)
{
    return CPU_VECTORS && level >= CPU_AVX512 && t->capacity < 1ull << 32;
}

void keys_homes_all(const struct keys_table *t, enum cpu_level level, uint32_t count, const uint64_t *words,
                    uint64_t *homes)
{
#if CPU_VECTORS
    if (has_vectors(t, level)) {
        homes_512(t, count, words, homes);
        return;
    }
#endif
    (void)level;
    homes_plain(t, count, words, homes);
}

void keys_seek(const struct keys_table *t, enum cpu_level level, uint32_t count, const uint64_t *words,
               uint32_t *ids)
{
#if CPU_VECTORS
    if (has_vectors(t, level)) {
        seek_512(t, count, words, ids);
        return;
    }
#endif
    (void)level;
    seek_plain(t, count, words, ids);
}
