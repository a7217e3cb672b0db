/* sets.cu: the steps by which collections of sets are made (shape/sets.h): most are a lane's work, an item
 * each; what goes over members or bits is a warp's, a chunk each. */
#include "sets_warp.h"

/* ---- entries ------------------------------------------------------------------------------------------- */

CO_KERNEL(sets_owners, struct sets_step)
{
    co_u64 greatest = 0;
    SETS_EACH_LANE(i, args->items)
    {
        co_u64 owner = sets_own(args, i);
        greatest = owner > greatest ? owner : greatest;
    }
    greatest = co_warp_max(greatest);
    if (co_lane() == 0)
        co_max64(args->greatest, greatest);
}

/* Ranges in order: how far those of a set have come. A warp takes a tile of ranges, sums it up, waits for
 * what the tile before it tells, and tells the next. Tiles go by ticket, so a tile waits for a warp that is
 * at work. */
CO_INLINE void sets_reach_lane(const struct sets_step *s, co_u64 *owner, co_u64 *reach, co_u64 i, int in)
{
    *owner = in ? sets_entry_owner(s, i) : ~0ull;
    *reach = in ? co_read64(s->lasts + i) : 0;
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u64 before = co_shuffle64(CO_FULL_WARP, *owner, co_lane() - d);
        co_u64 far = co_shuffle64(CO_FULL_WARP, *reach, co_lane() - d);
        if (co_lane() >= d && before == *owner && far > *reach)
            *reach = far;
    }
}

CO_INLINE void sets_reach_tile(const struct sets_step *s, co_u64 tile)
{
    co_u64 first = tile * SETS_REACH_TILE, end = first + SETS_REACH_TILE;
    co_u64 *told = s->chain + 1 + 3 * tile, owner = ~0ull, reach = 0; /* so far */
    end = end < s->n ? end : s->n;
    if (tile) {
        if (co_lane() == 0)
            while (!co_load_acquire64(told - 3))
                co_pause();
        co_warp_sync(CO_FULL_WARP);
        owner = co_read64(told - 2);
        reach = co_read64(told - 1);
    }
    for (co_u64 base = first; base < end; base += 32) {
        co_u64 i = base + co_lane(), own, far;
        sets_reach_lane(s, &own, &far, i, i < end);
        if (own == owner && reach > far)
            far = reach;
        if (i < end)
            co_write64(s->reach + i, far);
        co_u32 last = end - base < 32 ? (co_u32)(end - base) - 1 : 31;
        owner = co_shuffle64(CO_FULL_WARP, own, last);
        reach = co_shuffle64(CO_FULL_WARP, far, last);
    }
    if (co_lane() == 0) {
        co_write64(told + 1, owner);
        co_write64(told + 2, reach);
        co_store_release64(told, 1);
    }
}

CO_KERNEL(sets_reach, struct sets_step)
{
    co_u64 tiles = args->n / SETS_REACH_TILE + (args->n % SETS_REACH_TILE != 0), tile = 0;
    while (tile < tiles) {
        if (co_lane() == 0)
            tile = co_add64(args->chain, 1);
        tile = co_shuffle64(CO_FULL_WARP, tile, 0);
        if (tile < tiles)
            sets_reach_tile(args, tile);
    }
}

CO_KERNEL(sets_unite_flags, struct sets_step)
{
    CO_EACH_WARP (base, args->items) {
        co_u64 i = base + co_lane();
        co_u32 word = co_ballot(CO_FULL_WARP, i < args->items && sets_is_apart(args, i));
        if (co_lane() == 0) {
            co_write32(args->starts + base / 32, word);
            co_write64(args->start_sums + base / 32, co_ones32(word));
        }
    }
}

CO_KERNEL(sets_united, struct sets_step)
{
    SETS_EACH_LANE(i, args->items)
    {
        co_u32 word = co_read32(args->starts + i / 32), bit = (co_u32)i % 32;
        co_u64 k = co_read64(args->start_sums + i / 32) + co_ones32(word & ((2u << bit) - 1)) - 1;
        int ends = i + 1 == args->n || (co_read32(args->starts + (i + 1) / 32) >> (i + 1) % 32 & 1);
        sets_unite(args, i, k, (int)(word >> bit & 1), ends);
    }
}

CO_KERNEL(sets_pieces, struct sets_step)
{
    SETS_EACH_LANE(i, args->items)
    sets_count_pieces(args, i);
}

/* ---- flags --------------------------------------------------------------------------------------------- */

/* Of each of the 32 bitmaps' pieces from `base` on whether it has a bit: 3 or 1. */
CO_INLINE co_u32 sets_bits_flags(const struct sets_step *s, co_u64 base)
{
    co_u32 mine = 0;
    for (co_u32 k = 0; k < 32 && base + k < s->items; k++) {
        struct sets_words w;
        co_u32 any = 0;
        w.at = sets_piece_bits(s, base + k);
        w.words = sets_piece_words(s, base + k, &w.mask);
        for (co_u32 j = 0; j < w.words && !any; j += 32)
            any = co_unite32(sets_word_of(&w, j + co_lane()));
        mine = co_lane() == k ? any ? 3 : 1 : mine;
    }
    return mine;
}

CO_KERNEL(sets_flags, struct sets_step)
{
    CO_EACH_WARP (base, args->items) {
        co_u64 i = base + co_lane();
        co_u32 flag = 0;
        if (args->item == SETS_BITS)
            flag = sets_bits_flags(args, base);
        else if (i < args->items)
            flag = args->item == SETS_RANGES ? sets_piece_flag(args, i) : sets_flag(args, i);
        co_u32 unique = co_ballot(CO_FULL_WARP, flag & 1), starts = co_ballot(CO_FULL_WARP, flag >> 1 & 1);
        if (flag & 4)
            co_store32(args->disorder, 1);
        if (co_lane() == 0) {
            co_write32(args->unique + base / 32, unique);
            co_write32(args->starts + base / 32, starts);
            co_write64(args->unique_sums + base / 32, co_ones32(unique));
            co_write64(args->start_sums + base / 32, co_ones32(starts));
        }
    }
}

CO_KERNEL(sets_unique, struct sets_step)
{
    CO_EACH_WARP (base, args->items) {
        co_u64 i = base + co_lane();
        co_u32 word = co_read32(args->unique + base / 32);
        co_u64 k = co_read64(args->unique_sums + base / 32) + co_ones32(word & sets_lanes_before());
        if (!(word >> co_lane() & 1))
            continue;
        if (args->item == SETS_NARROW)
            co_write32((co_u32 *)args->entries_out + k, co_read32((const co_u32 *)args->entries + i));
        else
            co_write64((co_u64 *)args->entries_out + k, co_read64((const co_u64 *)args->entries + i));
        if (args->owners)
            co_write64(args->owners_out + k, co_read64(args->owners + i));
    }
}

CO_KERNEL(sets_starts, struct sets_step)
{
    CO_EACH_WARP (base, args->items) {
        co_u32 word = co_read32(args->starts + base / 32), before = sets_lanes_before();
        co_u64 k = co_read64(args->start_sums + base / 32) + co_ones32(word & before), at = base + co_lane();
        if (args->item < SETS_RANGES) /* counted without duplicates */
            at = co_read64(args->unique_sums + base / 32) +
                 co_ones32(co_read32(args->unique + base / 32) & before);
        if (word >> co_lane() & 1)
            co_write64(args->at + k, at);
    }
}

/* ---- found chunks -------------------------------------------------------------------------------------- */

CO_INLINE void sets_put_found(const struct sets_step *s, co_u64 c, co_u64 key, co_u32 card, co_u32 runs,
                              co_u64 digest)
{
    if (co_lane())
        return;
    co_write64(s->keys + c, key);
    co_write64(s->found_places + c, sets_place(card, runs));
    co_write64(s->found_digests + c, digest);
    if (s->sums != s->at)
        co_write64(s->sums + c, card);
}

CO_INLINE void sets_measure_members(const struct sets_step *s, co_u64 c)
{
    co_u64 first = co_read64(s->at + c), end = co_read64(s->at + c + 1), digest = 0;
    co_u32 runs = 0;
    for (co_u64 i = first + co_lane(); i < end; i += 32) {
        co_u64 member = sets_member(s, i);
        runs += i == first || sets_member(s, i - 1) + 1 != member ? 1 : 0;
        digest |= 1ull << (member >> 10 & 63);
    }
    runs = (co_u32)co_warp_sum(runs);
    digest = sets_warp_unite64(digest);
    sets_put_found(s, c, sets_member(s, first) >> CO_CHUNK_BITS, (co_u32)(end - first), runs, digest);
}

CO_INLINE co_u64 sets_digest_range(co_u32 first, co_u32 last)
{
    return (~0ull << (first >> 10)) & (~0ull >> (63 - (last >> 10)));
}

CO_INLINE void sets_measure_pieces(const struct sets_step *s, co_u64 c)
{
    co_u64 first = co_read64(s->at + c), end = co_read64(s->at + c + 1), digest = 0;
    co_u32 card = 0;
    for (co_u64 i = first + co_lane(); i < end; i += 32) {
        struct sets_piece p = sets_piece_of(s, sets_piece_range(s, i), i);
        card += p.last - p.first + 1;
        digest |= sets_digest_range(p.first, p.last);
    }
    card = (co_u32)co_warp_sum(card);
    digest = sets_warp_unite64(digest);
    sets_put_found(s, c, sets_piece_of(s, sets_piece_range(s, first), first).key, card, (co_u32)(end - first),
                   digest);
}

CO_INLINE struct sets_words sets_words_of_piece(const struct sets_step *s, co_u64 piece)
{
    struct sets_words w;
    w.at = sets_piece_bits(s, piece);
    w.words = sets_piece_words(s, piece, &w.mask);
    return w;
}

CO_INLINE void sets_measure_bits(const struct sets_step *s, co_u64 c)
{
    co_u64 piece = co_read64(s->at + c), digest;
    struct sets_words w = sets_words_of_piece(s, piece);
    co_u32 runs, card = sets_warp_words_measure(&w, &runs, &digest);
    sets_put_found(s, c, piece % s->row_chunks, card, runs, digest);
}

CO_KERNEL(sets_measure, struct sets_step)
{
    SETS_EACH_WARP(c, args->items)
    {
        if (args->item == SETS_BITS)
            sets_measure_bits(args, c);
        else if (args->item == SETS_RANGES)
            sets_measure_pieces(args, c);
        else
            sets_measure_members(args, c);
    }
}

/* ---- sets and the directory ---------------------------------------------------------------------------- */

#define SETS_STEP(name, one)           \
    CO_KERNEL(name, struct sets_step)  \
    {                                  \
        SETS_EACH_LANE(i, args->items) \
        one(args, i);                  \
    }
SETS_STEP(sets_firsts, sets_first)
SETS_STEP(sets_chooses, sets_choose)
SETS_STEP(sets_sizes, sets_units)
SETS_STEP(sets_directory, sets_entry)
SETS_STEP(sets_words, sets_word)
SETS_STEP(sets_index, sets_pair)

/* ---- members ------------------------------------------------------------------------------------------- */

/* The numbers of a piece of a range, `at` numbers having been written. */
CO_INLINE co_u32 sets_put_piece(const struct sets_out *o, co_u32 at, const struct sets_piece *p)
{
    co_u32 n = p->last - p->first + 1;
    for (co_u32 i = co_lane(); i < n; i += 32)
        sets_out_put(o, at + i, p->first + i);
    return at + n;
}

/* All members of the found chunk as numbers; how many. */
CO_INLINE co_u32 sets_put_numbers(const struct sets_step *s, co_u64 c, const struct sets_out *o)
{
    co_u64 first = s->item == SETS_PLACED ? 0 : co_read64(s->at + c);
    co_u64 end = s->item == SETS_PLACED ? 0 : co_read64(s->at + c + 1);
    co_u32 n = 0;
    if (s->item == SETS_PLACED) {
        struct sets_warp_chunk chunk = sets_warp_chunk_of(s->placed, co_read64(s->found_places + c));
        return sets_warp_members(&chunk, o);
    }
    if (s->item == SETS_BITS) {
        struct sets_words w = sets_words_of_piece(s, first);
        return sets_warp_words_members(&w, o);
    }
    if (s->item == SETS_RANGES) {
        for (co_u64 i = first; i < end; i++) {
            struct sets_piece p = sets_piece_of(s, sets_piece_range(s, i), i);
            n = sets_put_piece(o, n, &p);
        }
        return n;
    }
    for (co_u64 i = first + co_lane(); i < end; i += 32)
        sets_out_put(o, (co_u32)(i - first), (co_u32)sets_member(s, i) & (CO_CHUNK_IDS - 1));
    return (co_u32)(end - first);
}

/* Sets bits of a bitmap in shared memory, by one lane. */
CO_INLINE void sets_shared_range(co_u32 *bits, co_u32 first, co_u32 last)
{
    co_u32 low = ~0u << first % 32, high = ~0u >> (31 - last % 32);
    if (first / 32 == last / 32) {
        co_or32(bits + first / 32, low & high);
        return;
    }
    co_or32(bits + first / 32, low);
    for (co_u32 i = first / 32 + 1; i < last / 32; i++)
        co_or32(bits + i, ~0u);
    co_or32(bits + last / 32, high);
}

/* By way of the warp's bitmap in shared memory. */
CO_INLINE void sets_put_bitmap(const struct sets_step *s, co_u64 c, co_u32 *to, co_u32 *bits)
{
    co_u64 first = co_read64(s->at + c), end = co_read64(s->at + c + 1);
    if (s->item == SETS_BITS) {
        struct sets_words w = sets_words_of_piece(s, first);
        SETS_EACH_TURN(j)
        co_write32(to + j * 32 + co_lane(), sets_word_of(&w, j * 32 + co_lane()));
        return;
    }
    SETS_EACH_TURN(j)
    co_store32(bits + j * 32 + co_lane(), 0);
    co_warp_sync(CO_FULL_WARP);
    for (co_u64 i = first + co_lane(); i < end; i += 32) {
        if (s->item == SETS_RANGES) {
            struct sets_piece p = sets_piece_of(s, sets_piece_range(s, i), i);
            sets_shared_range(bits, p.first, p.last);
        } else {
            co_u64 member = sets_member(s, i);
            co_or32(bits + (member >> 5 & (CO_CHUNK_WORDS - 1)), 1u << (member & 31));
        }
    }
    co_warp_sync(CO_FULL_WARP);
    SETS_EACH_TURN(j)
    co_write32(to + j * 32 + co_lane(), co_load32(bits + j * 32 + co_lane()));
    co_warp_sync(CO_FULL_WARP);
}

/* Runs as pairs: a start and, until the end of the work, the last number. */
CO_INLINE void sets_put_runs(const struct sets_step *s, co_u64 c, co_u16 *to, co_u32 runs)
{
    co_u64 first = co_read64(s->at + c), end = co_read64(s->at + c + 1);
    co_u32 begun = 0;
    if (s->item == SETS_RANGES) {
        for (co_u32 r = co_lane(); r < runs; r += 32) {
            struct sets_piece p = sets_piece_of(s, sets_piece_range(s, first + r), first + r);
            co_write16(to + 2 * r, (co_u16)p.first);
            co_write16(to + 2 * r + 1, (co_u16)(p.last - p.first));
        }
        return;
    }
    if (s->item == SETS_BITS) {
        struct sets_words w = sets_words_of_piece(s, first);
        sets_warp_words_runs(&w, to, runs);
        return;
    }
    for (co_u64 base = first; base < end; base += 32) {
        co_u64 i = base + co_lane(), member = i < end ? sets_member(s, i) : 0;
        int begins = i < end && (i == first || sets_member(s, i - 1) + 1 != member);
        int stops = i < end && (i + 1 == end || member + 1 != sets_member(s, i + 1));
        co_u32 all = co_ballot(CO_FULL_WARP, begins), k = begun + co_ones32(all & sets_lanes_before());
        if (begins)
            co_write16(to + 2 * k, (co_u16)member);
        if (stops)
            co_write16(to + 2 * (begins ? k : k - 1) + 1, (co_u16)member);
        begun += co_ones32(all);
    }
    sets_warp_runs_end(to, runs);
}

CO_INLINE void sets_put_chunk(const struct sets_step *s, co_u64 c, co_u32 *bits)
{
    co_u64 owner = sets_found_owner(s, c), place = co_read64(s->found_places + c);
    struct sets_out o;
    o.key = co_read64(s->keys + c);
    o.room = ~0ull;
    if (!sets_is_kept(s, owner)) {
        o.to = (void *)s->view.lists;
        o.bytes = s->wide ? 8 : 4;
        o.at = co_read64(s->listed + owner) + co_read64(s->sums + c) -
               co_read64(s->sums + co_read64(s->set_first + owner));
        sets_put_numbers(s, c, &o);
        return;
    }
    co_u32 kind = co_place_kind(place), entries = co_place_entries(place);
    if (s->item == SETS_PLACED || kind == CO_CHUNK_FULL)
        return;
    o.to = (char *)s->view.pool + sets_unit(s, c, place) * CO_PLACE_UNIT_BYTES;
    o.at = o.key = 0;
    o.bytes = 2;
    if (kind == CO_CHUNK_ARRAY)
        sets_put_numbers(s, c, &o);
    else if (kind == CO_CHUNK_BITMAP)
        sets_put_bitmap(s, c, (co_u32 *)o.to, bits);
    else
        sets_put_runs(s, c, (co_u16 *)o.to, entries);
    if (kind != CO_CHUNK_BITMAP)
        sets_warp_pad((co_u16 *)o.to, kind == CO_CHUNK_ARRAY ? entries : 2 * entries);
}

CO_KERNEL(sets_members, struct sets_step)
{
    CO_SHARED_DYNAMIC(co_u32, bits);
    SETS_EACH_WARP(c, args->items)
    sets_put_chunk(args, c, bits + co_warp() * CO_CHUNK_WORDS);
}
