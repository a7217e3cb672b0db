/* sets_check.c: judges the contents of a collection's file, whose bytes may be anybody's.
 *
 * There is one way to write each part of the directory, given keys, cardinalities and places: sets take
 * lists, records, chunks and pairs of the index in their order, and leave nothing over. So every word is
 * computed from those before it and compared. */
#include "api/sets_check.h"

#include <string.h>

#include "shape/sets_chunk.h"

enum { SETS, LARGE, PAIRS, CHUNKS, LISTED, UNITS, WIDE, OFFSETS };

static cohort_status corrupt(cohort_context *context, const struct file_stream *from, const char *what,
                             co_u64 i)
{
    return file_fail(context, COHORT_CORRUPT, from, "%s %llu is not what it must be", what,
                     (unsigned long long)i);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

void sets_file_numbers(const struct sets_counts *n, uint64_t numbers[MEMORY_FILE_NUMBERS])
{
    co_u64 offset[SETS_PARTS + 1];
    const uint64_t counts[OFFSETS] = {n->sets, n->large, n->pairs, n->chunks, n->listed, n->units, n->wide};
    sets_layout(n, offset);
    memset(numbers, 0, MEMORY_FILE_NUMBERS * sizeof *numbers);
    memcpy(numbers, counts, sizeof counts);
    for (int i = 0; i <= SETS_PARTS; i++)
        numbers[OFFSETS + i] = offset[i];
}

cohort_status sets_check_numbers(cohort_context *context, const struct file_stream *from,
                                 const struct memory_file *file, struct sets_counts *out)
{
    const uint64_t *n = file->numbers;
    uint64_t due[MEMORY_FILE_NUMBERS];
    memset(out, 0, sizeof *out);
    for (int i = 0; i < OFFSETS; i++)
        if (n[i] > (i == WIDE ? 1 : SETS_MOST))
            return corrupt(context, from, "number", (co_u64)i);
    out->sets = n[SETS];
    out->large = n[LARGE];
    out->pairs = n[PAIRS];
    out->chunks = n[CHUNKS];
    out->listed = n[LISTED];
    out->units = n[UNITS];
    out->wide = (co_u32)n[WIDE];
    sets_file_numbers(out, due);
    for (co_u64 i = OFFSETS; i < MEMORY_FILE_NUMBERS; i++)
        if (n[i] != due[i])
            return corrupt(context, from, "number", i);
    uint64_t lists = due[OFFSETS + SETS_PART_LISTS], end = due[OFFSETS + SETS_PARTS];
    if (file->bytes[0] == lists && file->bytes[1] == end - lists)
        return COHORT_OK;
    return file_fail(context, COHORT_CORRUPT, from,
                     "%llu and %llu bytes of directory and members, not %llu and %llu",
                     (unsigned long long)file->bytes[0], (unsigned long long)file->bytes[1],
                     (unsigned long long)lists, (unsigned long long)(end - lists));
}

/* ---- the directory ------------------------------------------------------------------------------------- */

/* What the sets so far have taken. */
struct taken {
    co_u64 large, pairs, chunks, listed;
};

/* The pairs of a record's index: presence bits, and chunks before. */
static int index_is_right(const cohort_sets_view *v, const struct co_sets_large *r)
{
    co_u64 at = r->first, end = r->first + r->chunks;
    for (co_u64 p = 0; p < r->words; p++) {
        const co_u64 *pair = v->index + 2 * (r->index + p);
        co_u64 bits = 0, before = at - r->first;
        for (; at < end && co_sets_key(v, at) >> 6 == r->base + p; at++)
            bits |= 1ull << (co_sets_key(v, at) & 63);
        if (pair[0] != bits || pair[1] != before)
            return 0;
    }
    return 1;
}

static int record_is_right(const cohort_sets_view *v, const struct sets_counts *n, co_u64 record,
                           struct taken *t)
{
    const struct co_sets_large *r = &v->large[record];
    co_u64 greatest = v->wide ? (1ull << 48) - 1 : 0xffff;
    if (r->first != t->chunks || !r->chunks || r->chunks > n->chunks - t->chunks || r->index != t->pairs)
        return 0;
    for (co_u64 c = r->first; c < r->first + r->chunks; c++)
        if (co_sets_key(v, c) > greatest || (c > r->first && co_sets_key(v, c) <= co_sets_key(v, c - 1)))
            return 0;
    co_u64 first = co_sets_key(v, r->first), last = co_sets_key(v, r->first + r->chunks - 1);
    if (r->base != first >> 6 || r->words != sets_pairs(r->chunks, first, last) ||
        r->words > n->pairs - t->pairs || !index_is_right(v, r))
        return 0;
    t->chunks += r->chunks;
    t->pairs += r->words;
    return 1;
}

static int word_is_right(const cohort_sets_view *v, const struct sets_counts *n, co_u64 set, struct taken *t)
{
    co_u64 word = v->words[set], entries = word >> CO_SETS_LIST_COUNT;
    if (word & CO_SETS_LARGE)
        return t->large < n->large && word == (CO_SETS_LARGE | t->large) &&
               record_is_right(v, n, t->large++, t);
    if (word && (word != (entries << CO_SETS_LIST_COUNT | t->listed) || !entries ||
                 entries > SETS_LIST_MOST || entries > n->listed - t->listed))
        return 0;
    t->listed += entries;
    return 1;
}

/* Runs that take more than an array or a bitmap would are none that anybody writes: what a query makes room
 * for does not hold them. */
static int chunk_is_right(const cohort_sets_view *v, const struct sets_counts *n, co_u64 c)
{
    co_u64 place = v->places[c], unit = co_place_unit(place);
    co_u32 kind = co_place_kind(place), entries = co_place_entries(place), card = v->cards[c] + 1u;
    int fits = kind == CO_CHUNK_ARRAY    ? entries == card && card <= SETS_ARRAY_MOST
               : kind == CO_CHUNK_BITMAP ? !entries && card > SETS_ARRAY_MOST && card < CO_CHUNK_IDS
               : kind == CO_CHUNK_RUNS   ? entries && sets_kind(card, entries) == CO_CHUNK_RUNS
                                         : !entries && card == CO_CHUNK_IDS;
    return fits && v->before[c + 1] - v->before[c] == card && unit <= n->units &&
           co_place_units(kind, entries) <= n->units - unit;
}

cohort_status sets_check_directory(cohort_context *context, const struct file_stream *from,
                                   const cohort_sets_view *v, const struct sets_counts *n)
{
    struct taken t = {0, 0, 0, 0};
    for (co_u64 s = 0; s < n->sets; s++)
        if (!word_is_right(v, n, s, &t))
            return corrupt(context, from, "the directory's entry of set", s);
    if (t.large != n->large || t.pairs != n->pairs || t.chunks != n->chunks || t.listed != n->listed)
        return file_fail(context, COHORT_CORRUPT, from, "the directory has more than its sets");
    if (v->before[0])
        return corrupt(context, from, "the count before chunk", 0);
    for (co_u64 c = 0; c < n->chunks; c++)
        if (!chunk_is_right(v, n, c))
            return corrupt(context, from, "the directory's entry of chunk", c);
    return COHORT_OK;
}

/* ---- members ------------------------------------------------------------------------------------------- */

static int list_is_right(const cohort_sets_view *v, const struct co_sets_set *s)
{
    for (co_u64 i = 1; i < s->n; i++)
        if (co_sets_listed(v, s->first + i - 1) >= co_sets_listed(v, s->first + i))
            return 0;
    return 1;
}

/* Behind an array and runs the last number stands again, up to a whole unit. */
static int pad_is_right(const co_u16 *at, co_u32 numbers)
{
    for (co_u32 i = numbers; i % 8; i++)
        if (at[i] != at[numbers - 1])
            return 0;
    return 1;
}

/* Ascending runs that do not touch; how many members. 0: they are something else. */
static co_u32 runs_members(const co_u16 *at, co_u32 runs)
{
    co_u32 members = 0, next = 0;
    for (co_u32 i = 0; i < runs; i++) {
        co_u32 first = at[2 * i], last = first + at[2 * i + 1];
        if (last >= CO_CHUNK_IDS || (i && first < next))
            return 0;
        members += last - first + 1;
        next = last + 2;
    }
    return members;
}

static int members_are_right(const struct sets_chunk *c)
{
    const co_u16 *at = c->at;
    int fits = 1;
    if (c->kind == CO_CHUNK_ARRAY) {
        for (co_u32 i = 1; i < c->entries; i++)
            fits = fits && at[i - 1] < at[i];
        fits = fits && pad_is_right(at, c->entries);
    } else if (c->kind == CO_CHUNK_RUNS) {
        fits = runs_members(at, c->entries) == c->card && pad_is_right(at, 2 * c->entries);
    } else if (c->kind == CO_CHUNK_BITMAP) {
        fits = sets_bitmap_measure((const co_u64 *)c->at).card == c->card;
    }
    return fits && sets_chunk_digest(c) == c->digest;
}

cohort_status sets_check_members(cohort_context *context, const struct file_stream *from,
                                 const cohort_sets_view *v)
{
    for (co_u64 s = 0; s < v->sets; s++) {
        const struct co_sets_set set = co_sets_open(v, s);
        if (!set.large && !list_is_right(v, &set))
            return corrupt(context, from, "the list of set", s);
    }
    for (co_u64 c = 0; c < v->chunks; c++) {
        const struct sets_chunk chunk = sets_chunk_of(v, c);
        if (!members_are_right(&chunk))
            return corrupt(context, from, "the members of chunk", c);
    }
    return COHORT_OK;
}
