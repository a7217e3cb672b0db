/* cohort/device/map_far.h: what a map of fixed capacity knows of keys that lie far from home.
 *
 * In a table with few empty slots a walk that no slot settles is long, and looks for what mostly is not
 * there. So such a table has a filter: words of 64 bits, a byte a bucket, in which a key that lies `far`
 * buckets or more from where its walk begins has four bits (a Bloom filter of blocks of one word). The word
 * belongs to the key's own page, wherever the key lies. The bits are set before the key can be seen, and
 * stay.
 *
 * A search that has seen `far` buckets reads the word: if a bit is missing the key is nowhere further on. And
 * one bit of the word is kept for its page: somebody whose walk began there has seen all slots within reach
 * taken. Whoever would put a key in and finds that bit set, and one of the key's missing, is refused at once.
 *
 * Why no answer is wrong by this is said in docs/map-protocol.md, "Far from home". */
#ifndef COHORT_DEVICE_MAP_FAR_H
#define COHORT_DEVICE_MAP_FAR_H

#include "hash.h"

#define CO_MAP_FAR    16u          /* buckets; less in tables of less than 64 */
#define CO_MAP_FILLED (1ull << 63) /* all slots within reach of the page are taken, for good */

/* From how many buckets on a key of a table with such pages is far from home: even, so that both buckets of a
 * pair are. */
CO_INLINE co_u32 co_map_far_from(co_u32 mask)
{
    return mask / 4 + 1 < CO_MAP_FAR ? mask / 4 + 1 : CO_MAP_FAR;
}

/* Words of a page. */
CO_INLINE co_u32 co_map_far_words(co_u32 mask)
{
    return mask / 8 + 1;
}

/* A key's word, by its hash. */
CO_INLINE co_u64 *co_map_far_word(co_u64 *filter, co_u32 pages, co_u32 mask, co_u64 hash)
{
    const co_u64 page = ((hash >> 32) * pages) >> 32, mixed = hash * 0x9e3779b97f4a7c15ull;
    return filter + page * co_map_far_words(mask) + ((co_u32)(mixed >> 32) & mask / 8);
}

/* And its bits. */
CO_INLINE co_u64 co_map_far_bits(co_u64 hash)
{
    const co_u64 mixed = hash * 0x9e3779b97f4a7c15ull;
    const co_u64 bits = 1ull << (mixed >> 58) | 1ull << (mixed >> 52 & 63) | 1ull << (mixed >> 46 & 63) |
                        1ull << (mixed >> 40 & 63);
    return bits & ~CO_MAP_FILLED;
}

/* What follows is called seldom, and apart: the registers that it needs are not taken from the walk. `key` is
 * the key ^ the seed. */

/* Is it known that the key is not far from home; and, if it is to be put in, that there is no slot for it?
 * Both are told by one word, read once. */
CO_APART int co_map_far_settles(co_u64 *filter, co_u32 pages, co_u32 mask, co_u64 key, int puts)
{
    const co_u64 hash = co_hash(key, 0), word = co_load64(co_map_far_word(filter, pages, mask, hash));
    return (co_map_far_bits(hash) & ~word) && (!puts || word >> 63);
}

/* The key is far from home, or about to be: its bits are set. Mostly they are already, and are looked for
 * first. */
CO_APART void co_map_far_note(co_u64 *filter, co_u32 pages, co_u32 mask, co_u64 key)
{
    const co_u64 hash = co_hash(key, 0), bits = co_map_far_bits(hash);
    co_u64 *word = co_map_far_word(filter, pages, mask, hash);
    if (bits & ~co_load64(word))
        co_or64(word, bits);
}

/* A walk has come far from home: 1 if it ends here. Who goes on to put the key in has set its bits before it
 * can be seen. */
CO_APART int co_map_far_ends(co_u64 *filter, co_u32 pages, co_u32 mask, co_u64 key, int puts)
{
    if (co_map_far_settles(filter, pages, mask, key, puts))
        return 1;
    if (puts) {
        co_map_far_note(filter, pages, mask, key);
        co_fence();
    }
    return 0;
}

/* The key's walk has ended, and each slot that it saw was taken. */
CO_APART void co_map_far_fill(co_u64 *filter, co_u32 pages, co_u32 mask, co_u64 key)
{
    const co_u64 page = ((co_hash(key, 0) >> 32) * pages) >> 32;
    const co_u32 words = co_map_far_words(mask);
    filter += page * words;
    co_fence();
    for (co_u32 i = 0; i < words; i++)
        if (!(co_load64(filter + i) & CO_MAP_FILLED))
            co_or64(filter + i, CO_MAP_FILLED);
}

#endif
