/* cpu/sets_step.c: the steps by which collections are made (shape/sets.h). */
#include <string.h>

#include "sets.h"

#define ITEM_GRAIN  4096 /* items of a light step that a thread takes at a time, a multiple of 32 */
#define CHUNK_GRAIN 16   /* chunks */

/* ---- entries ------------------------------------------------------------------------------------------- */

static void owners_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    co_u64 greatest = 0;
    for (co_u64 i = begin; i < end; i++) {
        co_u64 owner = sets_own(s, i);
        greatest = owner > greatest ? owner : greatest;
    }
    co_max64(s->greatest, greatest);
}

/* All at once, in one thread. */
static void reach_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++) {
        co_u64 last = s->lasts[i];
        if (i && sets_entry_owner(s, i) == sets_entry_owner(s, i - 1) && s->reach[i - 1] > last)
            last = s->reach[i - 1];
        s->reach[i] = last;
    }
}

static void unite_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 base = begin; base < end; base += 32) {
        co_u32 word = 0;
        for (co_u64 i = base; i < end && i < base + 32; i++)
            word |= (co_u32)sets_is_apart(s, i) << (i - base);
        s->starts[base / 32] = word;
        s->start_sums[base / 32] = co_ones32(word);
    }
}

static void united_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++) {
        co_u32 below = s->starts[i / 32] & ((2u << i % 32) - 1); /* up to i: there is one */
        co_u64 k = s->start_sums[i / 32] + co_ones32(below) - 1;
        int apart = (int)(s->starts[i / 32] >> i % 32 & 1);
        int ends = i + 1 == s->n || (s->starts[(i + 1) / 32] >> (i + 1) % 32 & 1);
        sets_unite(s, i, k, apart, ends);
    }
}

static void pieces_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++)
        sets_count_pieces(s, i);
}

/* ---- flags --------------------------------------------------------------------------------------------- */

/* Whether a bitmap's piece has a bit. */
static co_u32 bits_flag(const struct sets_step *s, co_u64 piece)
{
    const co_u32 *at = sets_piece_bits(s, piece);
    co_u32 mask, words = sets_piece_words(s, piece, &mask);
    for (co_u32 i = 0; i + 1 < words; i++)
        if (at[i])
            return 3;
    return at[words - 1] & mask ? 3 : 1;
}

static co_u32 item_flag(const struct sets_step *s, co_u64 i)
{
    return s->item == SETS_BITS     ? bits_flag(s, i)
           : s->item == SETS_RANGES ? sets_piece_flag(s, i)
                                    : sets_flag(s, i);
}

static void put_flags(const struct sets_step *s, co_u64 word, co_u32 unique, co_u32 starts)
{
    s->unique[word] = unique;
    s->starts[word] = starts;
    s->unique_sums[word] = co_ones32(unique);
    s->start_sums[word] = co_ones32(starts);
}

/* Nobody goes on once somebody has found that items are not in order. */
static void flags_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    if (co_load32(s->disorder))
        return;
    for (co_u64 base = begin; base < end; base += 32) {
        co_u32 unique = 0, starts = 0, below = 0;
        for (co_u64 i = base; i < end && i < base + 32; i++) {
            co_u32 flag = item_flag(s, i);
            unique |= (flag & 1) << (i - base);
            starts |= (flag >> 1 & 1) << (i - base);
            below |= flag & 4;
        }
        put_flags(s, base / 32, unique, starts);
        if (below) {
            co_store32(s->disorder, 1);
            return;
        }
    }
}

static void unique_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 base = begin; base < end; base += 32) {
        co_u64 k = s->unique_sums[base / 32];
        for (co_u32 word = s->unique[base / 32]; word; word &= word - 1, k++) {
            co_u64 i = base + (co_u32)__builtin_ctz(word);
            if (s->item == SETS_NARROW)
                ((co_u32 *)s->entries_out)[k] = ((const co_u32 *)s->entries)[i];
            else
                ((co_u64 *)s->entries_out)[k] = ((const co_u64 *)s->entries)[i];
            if (s->owners)
                s->owners_out[k] = s->owners[i];
        }
    }
}

/* Of members the first ones are counted without duplicates. */
static void starts_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    int members = s->item < SETS_RANGES;
    for (co_u64 base = begin; base < end; base += 32) {
        co_u64 k = s->start_sums[base / 32];
        for (co_u32 word = s->starts[base / 32]; word; word &= word - 1, k++) {
            co_u32 bit = (co_u32)__builtin_ctz(word), below = s->unique[base / 32] & ((1u << bit) - 1);
            s->at[k] = members ? s->unique_sums[base / 32] + co_ones32(below) : base + bit;
        }
    }
}

/* ---- found chunks -------------------------------------------------------------------------------------- */

static void put_found(const struct sets_step *s, co_u64 c, co_u64 key, const struct sets_measure *m)
{
    s->keys[c] = key;
    s->found_places[c] = sets_place(m->card, m->runs);
    s->found_digests[c] = m->digest;
    if (s->sums != s->at)
        s->sums[c] = m->card;
}

static void measure_members(const struct sets_step *s, co_u64 c)
{
    co_u64 first = s->at[c], end = s->at[c + 1];
    struct sets_measure m = {(co_u32)(end - first), 1, 0};
    co_u64 last = sets_member(s, first);
    m.digest = 1ull << (last >> 10 & 63);
    for (co_u64 i = first + 1; i < end; i++) {
        co_u64 member = sets_member(s, i);
        m.runs += member != last + 1;
        m.digest |= 1ull << (member >> 10 & 63);
        last = member;
    }
    put_found(s, c, last >> CO_CHUNK_BITS, &m);
}

static void measure_pieces(const struct sets_step *s, co_u64 c)
{
    struct sets_measure m = {0, 0, 0};
    co_u64 r = sets_piece_range(s, s->at[c]), key = 0;
    for (co_u64 i = s->at[c]; i < s->at[c + 1]; i++) {
        while (s->pieces[r + 1] <= i)
            r++;
        struct sets_piece p = sets_piece_of(s, r, i);
        key = p.key;
        m.card += p.last - p.first + 1;
        m.runs++;
        m.digest |= sets_digest_between(p.first, p.last);
    }
    put_found(s, c, key, &m);
}

/* A piece of a bitmap as a whole one. */
static void load_bits(const struct sets_step *s, co_u64 piece, co_u64 *words)
{
    co_u32 mask, n = sets_piece_words(s, piece, &mask);
    co_u32 last;
    memcpy(words, sets_piece_bits(s, piece), n * 4);
    memset((char *)words + n * 4, 0, CO_CHUNK_BYTES - n * 4);
    memcpy(&last, (char *)words + (n - 1) * 4, 4);
    last &= mask;
    memcpy((char *)words + (n - 1) * 4, &last, 4);
}

static void measure_bits(const struct sets_step *s, co_u64 c)
{
    co_u64 words[SETS_CHUNK_WORDS], piece = s->at[c];
    load_bits(s, piece, words);
    struct sets_measure m = sets_bitmap_measure(words);
    put_found(s, c, piece % s->row_chunks, &m);
}

static void measure_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 c = begin; c < end; c++) {
        if (s->item == SETS_BITS)
            measure_bits(s, c);
        else if (s->item == SETS_RANGES)
            measure_pieces(s, c);
        else
            measure_members(s, c);
    }
}

/* ---- members ------------------------------------------------------------------------------------------- */

static void put_listed(const struct sets_step *s, co_u64 k, co_u64 id)
{
    if (s->wide)
        ((co_u64 *)s->view.lists)[k] = id;
    else
        ((co_u32 *)s->view.lists)[k] = (co_u32)id;
}

static struct sets_chunk placed_chunk(const struct sets_step *s, co_u64 c)
{
    struct sets_chunk chunk = {NULL, 0, 0, 0, 0};
    co_u64 place = s->found_places[c];
    chunk.at = (const char *)s->placed + co_place_unit(place) * CO_PLACE_UNIT_BYTES;
    chunk.kind = co_place_kind(place);
    chunk.entries = co_place_entries(place);
    return chunk;
}

static void list_members(const struct sets_step *s, co_u64 c, co_u64 k)
{
    co_u64 words[SETS_CHUNK_WORDS], key = s->keys[c] << CO_CHUNK_BITS;
    co_u16 low[CO_CHUNK_IDS];
    if (s->item == SETS_PLACED) {
        struct sets_chunk chunk = placed_chunk(s, c);
        int array = chunk.kind == CO_CHUNK_ARRAY;
        co_u32 n = array ? chunk.entries : sets_chunk_members(&chunk, low);
        const co_u16 *at = array ? chunk.at : low;
        for (co_u32 i = 0; i < n; i++)
            put_listed(s, k++, key | at[i]);
        return;
    }
    if (s->item == SETS_BITS) {
        load_bits(s, s->at[c], words);
        co_u32 n = sets_bitmap_array(words, low, SETS_LIST_MOST);
        for (co_u32 i = 0; i < n; i++)
            put_listed(s, k++, key | low[i]);
        return;
    }
    co_u64 r = s->item == SETS_RANGES ? sets_piece_range(s, s->at[c]) : 0;
    for (co_u64 i = s->at[c]; i < s->at[c + 1]; i++) {
        if (s->item != SETS_RANGES) {
            put_listed(s, k++, sets_member(s, i));
            continue;
        }
        while (s->pieces[r + 1] <= i)
            r++;
        struct sets_piece p = sets_piece_of(s, r, i);
        for (co_u32 v = p.first; v <= p.last; v++)
            put_listed(s, k++, key | v);
    }
}

static void put_members(const struct sets_step *s, co_u64 c, co_u32 kind, co_u16 *to)
{
    co_u64 first = s->at[c], n = s->at[c + 1] - first;
    co_u32 runs = 0;
    if (kind == CO_CHUNK_ARRAY) {
        for (co_u64 i = 0; i < n; i++)
            to[i] = (co_u16)sets_member(s, first + i);
        sets_pad(to, (co_u32)n);
    } else if (kind == CO_CHUNK_BITMAP) {
        co_u64 *words = (co_u64 *)(void *)to;
        memset(words, 0, CO_CHUNK_BYTES);
        for (co_u64 i = 0; i < n; i++) {
            co_u64 member = sets_member(s, first + i);
            words[member >> 6 & (SETS_CHUNK_WORDS - 1)] |= 1ull << (member & 63);
        }
    } else {
        for (co_u64 i = 0, last = 0; i < n; i++) {
            co_u64 member = sets_member(s, first + i);
            if (i && member == last + 1) {
                to[2 * runs - 1]++;
            } else {
                to[2 * runs] = (co_u16)member;
                to[2 * runs + 1] = 0;
                runs++;
            }
            last = member;
        }
        sets_pad(to, 2 * runs);
    }
}

static void put_pieces(const struct sets_step *s, co_u64 c, co_u32 kind, co_u16 *to)
{
    co_u64 r = sets_piece_range(s, s->at[c]);
    co_u32 n = 0;
    if (kind == CO_CHUNK_BITMAP)
        memset(to, 0, CO_CHUNK_BYTES);
    for (co_u64 i = s->at[c]; i < s->at[c + 1]; i++) {
        while (s->pieces[r + 1] <= i)
            r++;
        struct sets_piece p = sets_piece_of(s, r, i);
        if (kind == CO_CHUNK_RUNS) {
            to[n++] = (co_u16)p.first;
            to[n++] = (co_u16)(p.last - p.first);
        } else if (kind == CO_CHUNK_BITMAP) {
            sets_bitmap_set((co_u64 *)(void *)to, p.first, p.last);
        } else {
            for (co_u32 v = p.first; v <= p.last; v++)
                to[n++] = (co_u16)v;
        }
    }
    if (kind != CO_CHUNK_BITMAP)
        sets_pad(to, n);
}

static void put_bits(const struct sets_step *s, co_u64 c, co_u32 kind, co_u16 *to)
{
    co_u64 words[SETS_CHUNK_WORDS];
    if (kind == CO_CHUNK_BITMAP) {
        load_bits(s, s->at[c], (co_u64 *)(void *)to);
        return;
    }
    load_bits(s, s->at[c], words);
    if (kind == CO_CHUNK_ARRAY)
        sets_pad(to, sets_bitmap_array(words, to, SETS_ARRAY_MOST));
    else
        sets_pad(to, 2 * sets_bitmap_runs(words, to, SETS_RUNS_MOST));
}

/* The set that found chunk c belongs to: `owner` or one behind it. */
CO_INLINE co_u64 owner_from(const struct sets_step *s, co_u64 owner, co_u64 c)
{
    while (c >= s->set_first[owner + 1])
        owner++;
    return owner;
}

static void members_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    co_u64 owner = sets_found_owner(s, begin);
    for (co_u64 c = begin; c < end; c++) {
        co_u64 place = s->found_places[c];
        co_u32 kind = co_place_kind(place);
        owner = owner_from(s, owner, c);
        if (!sets_is_kept(s, owner)) {
            list_members(s, c, s->listed[owner] + s->sums[c] - s->sums[s->set_first[owner]]);
            continue;
        }
        if (kind == CO_CHUNK_FULL || s->item == SETS_PLACED)
            continue;
        co_u16 *to = (co_u16 *)(void *)((char *)(uintptr_t)s->view.pool +
                                        sets_unit(s, c, place) * CO_PLACE_UNIT_BYTES);
        if (s->item == SETS_BITS)
            put_bits(s, c, kind, to);
        else if (s->item == SETS_RANGES)
            put_pieces(s, c, kind, to);
        else
            put_members(s, c, kind, to);
    }
}

/* ---- sets and the directory ---------------------------------------------------------------------------- */

#define EACH(name, one)                                                   \
    static void name(const struct sets_step *s, co_u64 begin, co_u64 end) \
    {                                                                     \
        for (co_u64 i = begin; i < end; i++)                              \
            one(s, i);                                                    \
    }
EACH(firsts_range, sets_first)
EACH(choose_range, sets_choose)
EACH(units_range, sets_units)
EACH(words_range, sets_word)
EACH(index_range, sets_pair)

static void directory_range(const struct sets_step *s, co_u64 begin, co_u64 end)
{
    co_u64 owner = sets_found_owner(s, begin);
    for (co_u64 c = begin; c < end; c++) {
        owner = owner_from(s, owner, c);
        if (sets_is_kept(s, owner))
            sets_found_entry(s, owner, c);
    }
}

/* ---- the entry of the table ---------------------------------------------------------------------------- */

struct job {
    const struct sets_step *step;
    void (*range)(const struct sets_step *, co_u64 begin, co_u64 end);
};

static void do_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *job = arg;
    (void)worker;
    job->range(job->step, begin, end);
}

cohort_status cpu_sets_step(cohort_context *context, const struct sets_step *step, enum sets_step_kind kind)
{
    static void (*const ranges[SETS_STEPS])(const struct sets_step *, co_u64, co_u64) = {
        owners_range,    reach_range,  unite_range,  united_range,  pieces_range, flags_range,
        unique_range,    starts_range, firsts_range, measure_range, choose_range, units_range,
        directory_range, words_range,  index_range,  members_range};
    struct job job = {step, ranges[kind]};
    uint64_t grain = kind == SETS_REACH                             ? step->items
                     : kind == SETS_MEASURE || kind == SETS_MEMBERS ? CHUNK_GRAIN
                                                                    : ITEM_GRAIN;
    if (kind == SETS_FLAGS && step->item == SETS_BITS)
        grain = 32;
    return cpu_parallel_told(context, "sets", step->items, grain ? grain : 1, do_range, &job);
}
