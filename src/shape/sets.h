/* shape/sets.h: collections of sets: how one lies in its memory, and the steps by which it is made. Plain C,
 * seen by the API, by both backends and by the kernels. cohort/device/set.h says what the parts are.
 *
 * Making a collection. Whatever it is made from gives *found* chunks: of each set, in ascending order, the
 * keys with their cardinality, kind and digest. Then, set by set and chunk by chunk, each step an independent
 * piece of work a lane can do:
 *
 *   CHOOSE     each set: is it a list, or do its chunks go into the directory? how many pairs of index has
 *   it?
 *   (sums)     where the sets' lists, chunks, records and pairs begin
 *   UNITS      each found chunk: how many units of the pool it takes
 *   (sums)     where they begin; now the collection's size is known, and its memory is taken
 *   DIRECTORY  each found chunk: its entry in the directory
 *   WORDS      each set: its word and its record
 *   INDEX      each pair of the index
 *   and the members themselves go into lists and pool, by what they come from. */
#ifndef COHORT_SHAPE_SETS_H
#define COHORT_SHAPE_SETS_H

#include "cohort/device/set.h"
#include "search.h"

/* ---- a collection's memory ----------------------------------------------------------------------------- */

struct sets_counts {
    co_u64 sets, large, pairs, chunks, listed, units;
    co_u32 wide, reserved;
};

/* The parts, in order, each aligned to 128 bytes. All before the lists are the directory, the others the
 * members. */
enum sets_part {
    SETS_PART_WORDS,
    SETS_PART_LARGE,
    SETS_PART_INDEX,
    SETS_PART_KEYS,
    SETS_PART_CARDS,
    SETS_PART_PLACES,
    SETS_PART_BEFORE,
    SETS_PART_DIGESTS,
    SETS_PART_LISTS,
    SETS_PART_POOL,
    SETS_PARTS
};

#define SETS_ALIGN 128u
#define SETS_MOST  (1ull << 48) /* sets, chunks, list members, units: more is an overflow */

CO_INLINE co_u64 sets_aligned(co_u64 bytes)
{
    return (bytes + SETS_ALIGN - 1) & ~(co_u64)(SETS_ALIGN - 1);
}

/* Where each part begins; offset[SETS_PARTS] is the size. No count may be above SETS_MOST. */
CO_INLINE void sets_layout(const struct sets_counts *n, co_u64 *offset)
{
    co_u64 size[SETS_PARTS], at = 0;
    size[SETS_PART_WORDS] = n->sets * 8;
    size[SETS_PART_LARGE] = n->large * sizeof(struct co_sets_large);
    size[SETS_PART_INDEX] = n->pairs * 16;
    size[SETS_PART_KEYS] = n->chunks * (n->wide ? 8 : 2);
    size[SETS_PART_CARDS] = n->chunks * 2;
    size[SETS_PART_PLACES] = n->chunks * 8;
    size[SETS_PART_BEFORE] = (n->chunks + 1) * 8;
    size[SETS_PART_DIGESTS] = n->chunks * 8;
    size[SETS_PART_LISTS] = n->listed * (n->wide ? 8 : 4);
    size[SETS_PART_POOL] = n->units * CO_PLACE_UNIT_BYTES;
    for (co_u32 i = 0; i < SETS_PARTS; i++) {
        offset[i] = at;
        at += sets_aligned(size[i]);
    }
    offset[SETS_PARTS] = at;
}

/* The view of a collection that lies at `memory`, its pool at `pool`. */
CO_INLINE void sets_view(const struct sets_counts *n, void *memory, void *pool, cohort_sets_view *v)
{
    co_u64 offset[SETS_PARTS + 1];
    char *at = (char *)memory;
    sets_layout(n, offset);
    v->version = CO_SETS_VIEW_VERSION;
    v->wide = n->wide;
    v->sets = n->sets;
    v->chunks = n->chunks;
    v->bytes = offset[SETS_PARTS];
    v->words = (const co_u64 *)(void *)(at + offset[SETS_PART_WORDS]);
    v->large = (const struct co_sets_large *)(void *)(at + offset[SETS_PART_LARGE]);
    v->index = (const co_u64 *)(void *)(at + offset[SETS_PART_INDEX]);
    v->keys = at + offset[SETS_PART_KEYS];
    v->cards = (const co_u16 *)(void *)(at + offset[SETS_PART_CARDS]);
    v->places = (const co_u64 *)(void *)(at + offset[SETS_PART_PLACES]);
    v->before = (const co_u64 *)(void *)(at + offset[SETS_PART_BEFORE]);
    v->digests = (const co_u64 *)(void *)(at + offset[SETS_PART_DIGESTS]);
    v->lists = at + offset[SETS_PART_LISTS];
    v->pool = pool ? (char *)pool : at + offset[SETS_PART_POOL];
}

/* ---- choices ------------------------------------------------------------------------------------------- */

#define SETS_ARRAY_MOST 4096u /* entries of an array; Roaring's number */
#define SETS_RUNS_MOST  2047u /* as follows from sets_kind */
#define SETS_LIST_SURE  16u   /* a set of so many members is a list, */
#define SETS_LIST_MOST  1024u /* of more than so many it is none; */
#define SETS_LIST_EACH  4u    /* between them, if its chunks hold no more than so many on average */
#define SETS_INDEX_EACH 64u   /* an index may have so many keys a chunk */

/* Of what kind a chunk is, by its members and runs: whichever takes least, by Roaring's rule. */
CO_INLINE co_u32 sets_kind(co_u32 card, co_u32 runs)
{
    co_u32 other = card <= SETS_ARRAY_MOST ? 2 * card : CO_CHUNK_BYTES;
    if (card == CO_CHUNK_IDS)
        return CO_CHUNK_FULL;
    if (2 + 4 * runs < other)
        return CO_CHUNK_RUNS;
    return card <= SETS_ARRAY_MOST ? CO_CHUNK_ARRAY : CO_CHUNK_BITMAP;
}

CO_INLINE co_u64 sets_place(co_u32 card, co_u32 runs)
{
    co_u32 kind = sets_kind(card, runs);
    return co_place_make(kind, kind == CO_CHUNK_ARRAY ? card : kind == CO_CHUNK_RUNS ? runs : 0, 0);
}

CO_INLINE int sets_is_list(co_u64 members, co_u64 chunks)
{
    return members <= SETS_LIST_SURE || (members <= SETS_LIST_MOST && members <= SETS_LIST_EACH * chunks);
}

/* Pairs of index of a set with chunks, by its first and last key; 0: it gets none. */
CO_INLINE co_u64 sets_pairs(co_u64 chunks, co_u64 first, co_u64 last)
{
    co_u64 pairs = (last >> 6) - (first >> 6) + 1;
    return pairs <= chunks * (SETS_INDEX_EACH / 64) ? pairs : 0;
}

/* ---- the steps ----------------------------------------------------------------------------------------- */

#define SETS_REACH_TILE 1024u      /* ranges that a warp takes at a time */
#define SETS_FAR        (1u << 24) /* chunks of a range */

enum sets_step_kind {
    SETS_OWNERS, /* an entry: which set it belongs to, and the two put together */
    SETS_REACH,  /* all ranges, in order: how far those of a set have come so far */
    SETS_UNITE,  /* a word of 32 ranges: which do not touch what is before them */
    SETS_UNITED, /* a word of 32 ranges: the united ones, one after the other */
    SETS_PIECES, /* a range: in how many chunks it is */
    /* a word of 32 items: which differ from the one before, which begin a chunk; are they in order? */
    SETS_FLAGS,
    SETS_UNIQUE,  /* a word of 32 members: those that differ, one after the other */
    SETS_STARTS,  /* a word of 32 items: where chunks begin */
    SETS_FIRSTS,  /* a set: its first found chunk */
    SETS_MEASURE, /* a found chunk: key, cardinality, kind, digest */
    SETS_CHOOSE,  /* and so on as above */
    SETS_UNITS,
    SETS_DIRECTORY,
    SETS_WORDS,
    SETS_INDEX,
    SETS_MEMBERS, /* a found chunk: its members to their place */
    SETS_STEPS
};

/* What a collection is made from: items, sorted by set and member. A found chunk is those from one item to
 * that of the next chunk. */
enum sets_item {
    SETS_NARROW = 0, /* members of 32 bits, all of set 0 */
    SETS_PACKED = 1, /* words of 64 bits: the set in the high half, the member in the low one */
    SETS_WIDE = 2,   /* members of 64 bits, and `owners`, unless all are of set 0 */
    SETS_RANGES = 3, /* pieces of ranges: what of a range is in one chunk. Ranges as WIDE, with `lasts` */
    SETS_BITS = 4,   /* pieces of bitmaps, of a chunk each */
    SETS_PLACED = 5  /* chunks whose members lie in a pool already: those of lists alone are to be written */
};

struct sets_step {
    co_u64 items;      /* that the step is done for */
    co_u64 sets, n;    /* n: entries */
    co_u32 item, wide; /* wide: members of 64 bits */
    /* OWNERS: members (RANGES: and their lasts); groups, or offsets, or neither -> entries, lasts, owners */
    const void *members, *given_lasts, *groups;
    const co_u64 *offsets;
    co_u32 group_bytes, reserved;
    void *entries;
    co_u64 *lasts, *owners;
    co_u64 *greatest; /* group */
    co_u64 *bad;      /* the least entry whose last is below its first, ~0 */
    /* ranges */
    co_u64 *reach, *pieces; /* pieces: n + 1, then summed up */
    co_u64 *chain;          /* of REACH on a GPU: 1 + 3 a tile, cleared: what tiles tell each other */
    /* PIECES: of ranges in SETS_FAR chunks or more, how many times so many, in all; NULL: the sum fits */
    co_u64 *far;
    /* FLAGS */
    co_u32 *unique, *starts;
    co_u64 *unique_sums, *start_sums;
    co_u32 *disorder;
    void *entries_out; /* UNIQUE, UNITED */
    co_u64 *lasts_out, *owners_out;
    /* bitmaps */
    const co_u32 *bitmaps_in;
    co_u64 bits, row_words, row_chunks;
    const void *placed; /* PLACED: the pool */
    /* found chunks: `found` of them */
    co_u64 found;
    co_u64 *at;   /* found + 1: the first item of each */
    co_u64 *sums; /* found + 1: members before each. Of members without duplicates it is `at` */
    co_u64 *keys;
    co_u64 *found_places; /* without the unit */
    co_u64 *found_digests;
    co_u64 *set_first; /* sets + 1: the first found chunk of each */
    /* of sets, sets + 1 each: first as they are, then summed up */
    co_u64 *listed, *kept, *large, *pairs;
    co_u64 *units, *bitmaps; /* of found chunks, found + 1 each, likewise */
    struct sets_counts counts;
    cohort_sets_view view; /* of the collection that is made */
    co_u64 bitmap_unit;    /* where bitmaps begin in the pool */
};

CO_INLINE co_u64 sets_number(const void *array, co_u64 i, int wide)
{
    return wide ? co_read64((const co_u64 *)array + i) : co_read32((const co_u32 *)array + i);
}

CO_INLINE co_u64 sets_member(const struct sets_step *s, co_u64 i)
{
    return s->item == SETS_NARROW   ? co_read32((const co_u32 *)s->entries + i)
           : s->item == SETS_PACKED ? (co_u32)co_read64((const co_u64 *)s->entries + i)
                                    : co_read64((const co_u64 *)s->entries + i);
}

/* The set of entry i. */
CO_INLINE co_u64 sets_entry_owner(const struct sets_step *s, co_u64 i)
{
    return s->item == SETS_NARROW   ? 0
           : s->item == SETS_PACKED ? co_read64((const co_u64 *)s->entries + i) >> 32
           : s->owners              ? co_read64(s->owners + i)
                                    : 0;
}

/* The range that a piece is of. */
CO_INLINE co_u64 sets_piece_range(const struct sets_step *s, co_u64 piece)
{
    return run_at(s->pieces, 0, s->n, piece);
}

/* The set of item i. */
CO_INLINE co_u64 sets_owner(const struct sets_step *s, co_u64 i)
{
    if (s->item == SETS_BITS)
        return i / s->row_chunks;
    return sets_entry_owner(s, s->item == SETS_RANGES ? sets_piece_range(s, i) : i);
}

/* What of range r is in the chunk of its piece `piece`. */
struct sets_piece {
    co_u64 key;
    co_u32 first, last;
};

CO_INLINE struct sets_piece sets_piece_of(const struct sets_step *s, co_u64 r, co_u64 piece)
{
    struct sets_piece p;
    co_u64 first = sets_member(s, r), last = co_read64(s->lasts + r);
    p.key = (first >> CO_CHUNK_BITS) + piece - co_read64(s->pieces + r);
    p.first = p.key == first >> CO_CHUNK_BITS ? (co_u32)first & (CO_CHUNK_IDS - 1) : 0;
    p.last = p.key == last >> CO_CHUNK_BITS ? (co_u32)last & (CO_CHUNK_IDS - 1) : CO_CHUNK_IDS - 1;
    return p;
}

/* The set that a found chunk belongs to. */
CO_INLINE co_u64 sets_found_owner(const struct sets_step *s, co_u64 chunk)
{
    return run_at(s->set_first, 0, s->sets, chunk);
}

/* Which set an entry belongs to. */
CO_INLINE co_u64 sets_group(const struct sets_step *s, co_u64 i)
{
    if (s->groups)
        return sets_number(s->groups, i, s->group_bytes == 8);
    return s->offsets ? run_at(s->offsets, 0, s->sets, i) : 0;
}

/* OWNERS, for entry i: the set's number. Members of 32 bits and their set become one word. */
CO_INLINE co_u64 sets_own(const struct sets_step *s, co_u64 i)
{
    co_u64 owner = sets_group(s, i);
    if (s->item == SETS_PACKED) {
        co_write64((co_u64 *)s->entries + i, owner << 32 | co_read32((const co_u32 *)s->members + i));
        return owner;
    }
    if (s->owners)
        co_write64(s->owners + i, owner);
    if (s->entries)
        co_write64((co_u64 *)s->entries + i, sets_number(s->members, i, (int)s->wide));
    if (s->lasts) {
        co_u64 last = sets_number(s->given_lasts, i, (int)s->wide);
        co_write64(s->lasts + i, last);
        if (last < sets_number(s->members, i, (int)s->wide))
            co_min64(s->bad, i);
    }
    return owner;
}

/* UNITE, for range i: it does not touch those before it. */
CO_INLINE int sets_is_apart(const struct sets_step *s, co_u64 i)
{
    if (!i || sets_entry_owner(s, i) != sets_entry_owner(s, i - 1))
        return 1;
    co_u64 reach = co_read64(s->reach + i - 1);
    return reach != ~0ull && sets_member(s, i) > reach + 1;
}

/* UNITED, for range i: to place k, of the united ones. Its end is told by the last that was united. */
CO_INLINE void sets_unite(const struct sets_step *s, co_u64 i, co_u64 k, int apart, int ends)
{
    if (apart) {
        co_write64((co_u64 *)s->entries_out + k, sets_member(s, i));
        if (s->owners_out)
            co_write64(s->owners_out + k, sets_entry_owner(s, i));
    }
    if (ends)
        co_write64(s->lasts_out + k, co_read64(s->reach + i));
}

/* PIECES, for range i. */
CO_INLINE void sets_count_pieces(const struct sets_step *s, co_u64 i)
{
    co_u64 n = (co_read64(s->lasts + i) >> CO_CHUNK_BITS) - (sets_member(s, i) >> CO_CHUNK_BITS) + 1;
    co_write64(s->pieces + i, n);
    if (s->far && n >= SETS_FAR)
        co_add64(s->far, n / SETS_FAR);
}

/* FLAGS, for item i of members: bit 0: it differs from the one before; bit 1: it begins a chunk; bit 2: it is
 * below. */
CO_INLINE co_u32 sets_flag(const struct sets_step *s, co_u64 i)
{
    if (!i)
        return 3;
    co_u64 member = sets_member(s, i), owner = sets_entry_owner(s, i);
    co_u64 last = sets_member(s, i - 1), last_owner = sets_entry_owner(s, i - 1);
    if (owner != last_owner)
        return owner > last_owner ? 3 : 4;
    if (member <= last)
        return member < last ? 4 : 0;
    return 1 | (member >> CO_CHUNK_BITS != last >> CO_CHUNK_BITS ? 2 : 0);
}

/* The same of pieces of ranges. */
CO_INLINE co_u32 sets_piece_flag(const struct sets_step *s, co_u64 piece)
{
    co_u64 r = sets_piece_range(s, piece);
    if (!r || piece != co_read64(s->pieces + r) || sets_entry_owner(s, r) != sets_entry_owner(s, r - 1))
        return 3;
    return sets_member(s, r) >> CO_CHUNK_BITS != co_read64(s->lasts + r - 1) >> CO_CHUNK_BITS ? 3 : 1;
}

/* The words of a bitmap's piece; *last: the bits of the last of them that count. */
CO_INLINE co_u32 sets_piece_words(const struct sets_step *s, co_u64 piece, co_u32 *last)
{
    co_u64 first = piece % s->row_chunks * CO_CHUNK_IDS, left = s->bits - first;
    co_u32 bits = left < CO_CHUNK_IDS ? (co_u32)left : CO_CHUNK_IDS;
    *last = bits % 32 ? (1u << bits % 32) - 1 : ~0u;
    return (bits + 31) / 32;
}

CO_INLINE const co_u32 *sets_piece_bits(const struct sets_step *s, co_u64 piece)
{
    return s->bitmaps_in + piece / s->row_chunks * s->row_words + piece % s->row_chunks * CO_CHUNK_WORDS;
}

/* FIRSTS, for set i from 0 to sets: the first found chunk whose set is i or above. */
CO_INLINE void sets_first(const struct sets_step *s, co_u64 i)
{
    co_u64 low = 0, high = s->found;
    while (low < high) {
        co_u64 middle = low + (high - low) / 2;
        if (sets_owner(s, co_read64(s->at + middle)) < i)
            low = middle + 1;
        else
            high = middle;
    }
    co_write64(s->set_first + i, low);
}

/* CHOOSE, for a set. */
CO_INLINE void sets_choose(const struct sets_step *s, co_u64 i)
{
    co_u64 first = co_read64(s->set_first + i), end = co_read64(s->set_first + i + 1);
    co_u64 members = co_read64(s->sums + end) - co_read64(s->sums + first);
    int list = sets_is_list(members, end - first);
    co_write64(s->listed + i, list ? members : 0);
    co_write64(s->kept + i, list ? 0 : end - first);
    co_write64(s->large + i, list ? 0 : 1);
    co_write64(s->pairs + i,
               list ? 0 : sets_pairs(end - first, co_read64(s->keys + first), co_read64(s->keys + end - 1)));
}

/* Is this set, by the sums, one whose chunks are kept? */
CO_INLINE int sets_is_kept(const struct sets_step *s, co_u64 i)
{
    return co_read64(s->large + i + 1) != co_read64(s->large + i);
}

/* Blocks of 8 KiB that a bitmap takes in the pool: one. Behind the last chunk of a set of many chunks a few
 * blocks are left free. Else two dense sets of 2^32 would lie exactly 512 MiB apart: their streams would meet
 * in the same banks of memory, and a query that reads both would get two thirds of the memory's rate. */
#define SETS_APART_CHUNKS 4096u
#define SETS_APART_BLOCKS 5u

CO_INLINE co_u64 sets_bitmap_blocks(co_u64 chunks, int is_last)
{
    return is_last && chunks >= SETS_APART_CHUNKS ? 1 + SETS_APART_BLOCKS : 1;
}

/* UNITS, for a found chunk. */
CO_INLINE void sets_units(const struct sets_step *s, co_u64 c)
{
    co_u64 place = co_read64(s->found_places + c), owner = sets_found_owner(s, c);
    co_u64 first = co_read64(s->set_first + owner), end = co_read64(s->set_first + owner + 1);
    int kept = sets_is_kept(s, owner), bitmap = co_place_kind(place) == CO_CHUNK_BITMAP;
    co_write64(s->units + c,
               kept && !bitmap ? co_place_units(co_place_kind(place), co_place_entries(place)) : 0);
    co_write64(s->bitmaps + c, kept && bitmap ? sets_bitmap_blocks(end - first, c + 1 == end) : 0);
}

/* Where a found chunk's members go. */
CO_INLINE co_u64 sets_unit(const struct sets_step *s, co_u64 c, co_u64 place)
{
    return co_place_kind(place) == CO_CHUNK_BITMAP
               ? s->bitmap_unit + co_read64(s->bitmaps + c) * (CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES)
               : co_read64(s->units + c);
}

/* DIRECTORY, for a found chunk of this set, whose chunks are kept. With `units` the unit of its place is
 * given by the sums, else it is in the place already. */
CO_INLINE void sets_found_entry(const struct sets_step *s, co_u64 owner, co_u64 c)
{
    co_u64 sum = co_read64(s->sums + c);
    co_u64 d = co_read64(s->kept + owner) + c - co_read64(s->set_first + owner);
    co_u64 place = co_read64(s->found_places + c), key = co_read64(s->keys + c);
    if (s->units)
        place |= sets_unit(s, c, place) << CO_PLACE_UNIT;
    if (s->wide)
        co_write64((co_u64 *)s->view.keys + d, key);
    else
        co_write16((co_u16 *)s->view.keys + d, (co_u16)key);
    co_write16((co_u16 *)s->view.cards + d, (co_u16)(co_read64(s->sums + c + 1) - sum - 1));
    co_write64((co_u64 *)s->view.places + d, place);
    co_write64((co_u64 *)s->view.before + d, sum - co_read64(s->listed + owner));
    co_write64((co_u64 *)s->view.digests + d, co_read64(s->found_digests + c));
}

CO_INLINE void sets_entry(const struct sets_step *s, co_u64 c)
{
    co_u64 owner = sets_found_owner(s, c);
    if (sets_is_kept(s, owner))
        sets_found_entry(s, owner, c);
}

/* WORDS, for a set; and for i = sets the last word of `before`. */
CO_INLINE void sets_word(const struct sets_step *s, co_u64 i)
{
    co_u64 listed = co_read64(s->listed + i), kept = co_read64(s->kept + i), large = co_read64(s->large + i);
    if (i == s->sets) {
        co_write64((co_u64 *)s->view.before + s->view.chunks, co_read64(s->sums + s->found) - listed);
        return;
    }
    if (!sets_is_kept(s, i)) {
        co_u64 n = co_read64(s->listed + i + 1) - listed;
        co_write64((co_u64 *)s->view.words + i, n ? n << CO_SETS_LIST_COUNT | listed : 0);
        return;
    }
    struct co_sets_large *r = (struct co_sets_large *)s->view.large + large;
    co_u64 pairs = co_read64(s->pairs + i);
    co_write64((co_u64 *)s->view.words + i, CO_SETS_LARGE | large);
    co_write64(&r->first, kept);
    co_write64(&r->chunks, co_read64(s->kept + i + 1) - kept);
    co_write64(&r->index, pairs);
    co_write64(&r->words, co_read64(s->pairs + i + 1) - pairs);
    co_write64(&r->base, co_read64(s->keys + co_read64(s->set_first + i)) >> 6);
}

/* INDEX, for a pair: the presence bits of its 64 keys, and the set's chunks before them. */
CO_INLINE void sets_pair(const struct sets_step *s, co_u64 p)
{
    co_u64 owner = run_at(s->pairs, 0, s->sets, p), first = co_read64(s->set_first + owner);
    co_u64 end = co_read64(s->set_first + owner + 1), bits = 0;
    co_u64 word = (co_read64(s->keys + first) >> 6) + p - co_read64(s->pairs + owner);
    co_u64 low = first, high = end;
    while (low < high) {
        co_u64 middle = low + (high - low) / 2;
        if (co_read64(s->keys + middle) >> 6 < word)
            low = middle + 1;
        else
            high = middle;
    }
    for (co_u64 c = low, more = 1; c < end && more; c += 8) /* eight reads wait together */
        for (co_u64 j = 0; j < 8; j++) {
            co_u64 key = c + j < end ? co_read64(s->keys + c + j) : ~0ull;
            more = key >> 6 == word;
            bits |= more << (key & 63);
        }
    co_write64((co_u64 *)s->view.index + 2 * p, bits);
    co_write64((co_u64 *)s->view.index + 2 * p + 1, low - first);
}

#endif
