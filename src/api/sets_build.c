/* sets_build.c: collections from arrays: members, ranges, bitmaps. What the caller gives comes by way of
 * sets_source.c.
 *
 * Members. Each gets its set put before it; if they are not in order they are sorted; duplicates go. Then
 * chunks begin where the bits from 16 on or the set change. Ranges are put in order in the same way and
 * united; what of a range is in one chunk is a piece, and chunks are made of pieces as they are of members.
 * Of bitmaps a piece is what lies in one chunk. The rest is the same for all: shape/sets.h. */
#include "api/sets.h"

#include <stdlib.h>
#include <string.h>

struct build {
    cohort_sets_source source;
    struct batch batch;
    struct sets_rooms rooms;
    struct sets_step step;
    int rows;       /* there are groups or offsets */
    unsigned bytes; /* of a member */
};

/* Outcomes of steps, in the context's memory. */
struct findings {
    co_u64 greatest, bad, far;
    co_u32 disorder, reserved;
};

/* Fewer ranges are never in 2^64 chunks. */
#define FAR_RANGES (1u << 15)

/* ---- checks -------------------------------------------------------------------------------------------- */

static cohort_status check_bitmaps(const struct batch *b, cohort_sets_source *d)
{
    uint64_t most = d->type == COHORT_U32 ? 1ull << 32 : UINT64_MAX / 16;
    if (d->bits > most)
        return batch_fail(b, COHORT_RANGE, "source.bits is %llu; of source.type they are at most %llu",
                          (unsigned long long)d->bits, (unsigned long long)most);
    uint64_t least = (d->bits + 31) / 32 * 4;
    if (!d->stride)
        d->stride = least;
    if (d->stride % 4 || d->stride < least)
        return batch_fail(
            b, COHORT_RANGE,
            "source.stride is %llu; with source.bits = %llu it must be a multiple of 4 from %llu on",
            (unsigned long long)d->stride, (unsigned long long)d->bits, (unsigned long long)least);
    if (d->sets && d->sets != d->n)
        return batch_fail(b, COHORT_RANGE, "source.sets is %llu with source.n = %llu bitmaps",
                          (unsigned long long)d->sets, (unsigned long long)d->n);
    if (d->stride && d->n > UINT64_MAX / 16 / d->stride)
        return batch_fail(b, COHORT_OVERFLOW,
                          "source.n is %llu; so many bitmaps do not fit in 64 bits of bytes",
                          (unsigned long long)d->n);
    return COHORT_OK;
}

/* Lists the arrays. */
static cohort_status list_arrays(struct build *k)
{
    cohort_sets_source *d = &k->source;
    struct sets_step *s = &k->step;
    struct batch *b = &k->batch;
    cohort_status status = COHORT_OK;
    if (d->form == COHORT_FORM_BITMAPS) {
        status = check_bitmaps(b, d);
        if (!status && d->n) /* of the last row no more than its bits */
            batch_bitmap(b, "source.members", BATCH_IN, d->members, d->bits_offset,
                         (d->n - 1) * d->stride * 8 + d->bits, &s->bitmaps_in)
                ->bits_flags |= BITS_WHOLE;
        return status;
    }
    batch_array(b, "source.members", BATCH_IN, d->members, d->n, k->bytes, &s->members);
    if (d->form == COHORT_FORM_RANGES)
        batch_array(b, "source.lasts", BATCH_IN, d->lasts, d->n, k->bytes, &s->given_lasts);
    if (d->groups)
        batch_array(b, "source.groups", BATCH_IN, d->groups, d->n, sets_member_bytes(d->group_type),
                    &s->groups);
    if (d->offsets && !d->sets && d->n)
        return batch_fail(b, COHORT_RANGE, "source.sets is 0; with source.offsets it must be told");
    if (d->offsets)
        batch_array(b, "source.offsets", BATCH_IN | BATCH_EITHER, d->offsets, d->sets + 1, 8, &s->offsets);
    return COHORT_OK;
}

/* Offsets begin at 0, do not fall, and end at n. In host memory they are looked at where they are. */
static cohort_status check_offsets(const struct build *k)
{
    const cohort_sets_source *d = &k->source;
    cohort_context *context = k->batch.context;
    uint64_t count = d->sets + 1;
    uint64_t *copy = NULL;
    const uint64_t *offsets = d->offsets;
    if (!offsets)
        return COHORT_OK;
    if (context_memory_kind(context, offsets) != MEMORY_HOST) {
        offsets = copy = malloc(count * sizeof *copy);
        if (!copy)
            return batch_fail(&k->batch, COHORT_NO_MEMORY, "no memory of the host for source.offsets");
        cohort_status status = context_copy(context, copy, d->offsets, count * sizeof *copy);
        if (status) {
            free(copy);
            return status;
        }
    }
    uint64_t bad = offsets[0] ? 0 : UINT64_MAX;
    for (uint64_t i = 1; i < count && bad == UINT64_MAX; i++)
        if (offsets[i] < offsets[i - 1] || offsets[i] > d->n)
            bad = i;
    if (bad == UINT64_MAX && offsets[count - 1] != d->n)
        bad = count - 1;
    cohort_status status = COHORT_OK;
    if (bad != UINT64_MAX)
        status = batch_fail(
            &k->batch, COHORT_RANGE,
            "source.offsets[%llu] is %llu; they must begin at 0, not fall, and end at source.n, %llu",
            (unsigned long long)bad, (unsigned long long)offsets[bad], (unsigned long long)d->n);
    free(copy);
    return status;
}

/* ---- entries: each with its set ---- */

static cohort_status read_findings(const struct build *k, const struct findings *at, struct findings *f)
{
    return context_copy(k->batch.context, f, at, sizeof *f);
}

/* Of which kind the items are, and how many sets there are at most. */
static void choose_item(struct build *k)
{
    const cohort_sets_source *d = &k->source;
    struct sets_step *s = &k->step;
    if (d->form == COHORT_FORM_RANGES)
        s->item = SETS_RANGES;
    else if (d->form == COHORT_FORM_BITMAPS)
        s->item = SETS_BITS;
    else if (!k->rows)
        s->item = s->wide ? SETS_WIDE : SETS_NARROW;
    else
        s->item = s->wide || (d->sets ? d->sets > 1ull << 32 : d->group_type == COHORT_U64) ? SETS_WIDE
                                                                                            : SETS_PACKED;
}

/* Entry i of an array of members, of whose bytes the lower ones come first. */
static cohort_status read_member(const struct build *k, const void *members, uint64_t i, uint64_t *out)
{
    const size_t bytes = k->step.wide ? 8 : 4;
    *out = 0;
    return context_copy(k->batch.context, out, (const char *)members + i * bytes, bytes);
}

static cohort_status fail_range(const struct build *k, uint64_t i)
{
    uint64_t first = 0, last = 0;
    cohort_status status = read_member(k, k->step.members, i, &first);
    if (!status)
        status = read_member(k, k->step.given_lasts, i, &last);
    return status ? status
                  : batch_fail(&k->batch, COHORT_RANGE,
                               "source.lasts[%llu] is %llu, below source.members[%llu], %llu",
                               (unsigned long long)i, (unsigned long long)last, (unsigned long long)i,
                               (unsigned long long)first);
}

static cohort_status check_groups(struct build *k, const struct findings *f)
{
    cohort_sets_source *d = &k->source;
    if (f->bad != ~0ull)
        return fail_range(k, f->bad);
    if (!d->groups)
        return COHORT_OK;
    if (d->n && !d->sets && f->greatest >= SETS_MOST)
        return batch_fail(&k->batch, COHORT_RANGE,
                          "source.groups has %llu; a collection has at most %llu sets",
                          (unsigned long long)f->greatest, (unsigned long long)SETS_MOST);
    if (d->n && d->sets && f->greatest >= d->sets)
        return batch_fail(&k->batch, COHORT_RANGE,
                          "source.groups has %llu; it must be below source.sets, %llu",
                          (unsigned long long)f->greatest, (unsigned long long)d->sets);
    if (!d->sets)
        k->step.sets = d->n ? f->greatest + 1 : 0;
    return COHORT_OK;
}

/* Sets and members, together. Members of one set, in a form that can be sorted as it is, stay where they are.
 * */
static cohort_status own(struct build *k, struct findings *at)
{
    struct sets_step *s = &k->step;
    struct sets_rooms *rooms = &k->rooms;
    struct findings f = {0, ~0ull, 0, 0, 0};
    cohort_status status = COHORT_OK;
    int copies = s->item == SETS_PACKED || s->item == SETS_RANGES || (s->item == SETS_WIDE && !s->wide);
    s->entries = (void *)(uintptr_t)s->members;
    if (!k->rows && !copies)
        return COHORT_OK;
    if (copies)
        status = sets_room(rooms, s->n, 8, &s->entries);
    if (!status && s->item == SETS_RANGES)
        status = sets_room(rooms, s->n, 8, &s->lasts);
    if (!status && k->rows && s->item != SETS_PACKED)
        status = sets_room(rooms, s->n, 8, &s->owners);
    if (!status)
        status = context_copy(rooms->context, at, &f, sizeof f);
    if (status)
        return status;
    struct sets_step step = *s;
    if (!copies)
        step.entries = NULL;
    step.greatest = &at->greatest;
    step.bad = &at->bad;
    status = sets_do(rooms->context, &step, SETS_OWNERS, s->n);
    if (!status)
        status = read_findings(k, at, &f);
    return status ? status : check_groups(k, &f);
}

/* ---- order --------------------------------------------------------------------------------------------- */

static unsigned bits_of(uint64_t below)
{
    unsigned bits = 0;
    while (bits < 64 && below > 1 && (below - 1) >> bits)
        bits++;
    return bits;
}

/* Sorts `keys` of 4 or 8 bytes by bits below high_bit, and columns of 8 bytes with them, into new rooms,
 * which take the places of the old ones. */
static cohort_status sort_by(struct build *k, void **keys, unsigned key_bytes, unsigned high_bit, int columns,
                             co_u64 ***column)
{
    struct sets_rooms *rooms = &k->rooms;
    void *old[3] = {*keys, NULL, NULL};
    struct sort sort = sets_sort_of(k->step.n, key_bytes == 8, high_bit ? high_bit : 1, *keys, NULL);
    cohort_status status = sets_room(rooms, sort.n, key_bytes, &sort.keys_out);
    for (int i = 0; i < columns && !status; i++) {
        old[1 + i] = *column[i];
        sort.column[i].in = *column[i];
        sort.column[i].bytes = 8;
        status = sets_room(rooms, sort.n, 8, &sort.column[i].out);
    }
    sort.columns = (co_u32)columns;
    if (!status)
        status = sets_sort(rooms, &sort);
    if (status)
        return status;
    *keys = sort.keys_out;
    for (int i = 0; i < columns; i++)
        *column[i] = sort.column[i].out;
    for (int i = 0; i <= columns; i++)
        sets_room_back(rooms, old[i]); /* the caller's are none of them, and stay */
    return COHORT_OK;
}

/* By set, and by member. */
static cohort_status sort_entries(struct build *k)
{
    struct sets_step *s = &k->step;
    co_u64 **columns[3];
    int count = 0;
    unsigned member_bits = s->wide ? 64 : 32;
    if (s->item == SETS_NARROW)
        return sort_by(k, &s->entries, 4, 32, 0, NULL);
    if (s->item == SETS_PACKED)
        return sort_by(k, &s->entries, 8, 32 + bits_of(s->sets), 0, NULL);
    if (s->lasts)
        columns[count++] = &s->lasts;
    if (s->owners)
        columns[count++] = &s->owners;
    cohort_status status = sort_by(k, &s->entries, 8, member_bits, count, columns);
    if (status || !s->owners)
        return status;
    co_u64 *entries = s->entries;
    void *owners = s->owners;
    columns[count - 1] = &entries;
    status = sort_by(k, &owners, 8, bits_of(s->sets), count, columns);
    s->owners = owners;
    s->entries = entries;
    return status;
}

/* ---- flags, and what they come to ---- */

static void flag_rooms_back(struct build *k)
{
    struct sets_step *s = &k->step;
    sets_room_back(&k->rooms, s->unique);
    sets_room_back(&k->rooms, s->starts);
    sets_room_back(&k->rooms, s->unique_sums);
    sets_room_back(&k->rooms, s->start_sums);
}

/* Flags all items; *unordered: they are not in order. */
static cohort_status flag(struct build *k, uint64_t items, struct findings *at, int *unordered)
{
    struct sets_step *s = &k->step;
    struct findings f;
    s->disorder = &at->disorder;
    cohort_status status = context_fill(k->rooms.context, &at->disorder, 0, sizeof at->disorder);
    if (!status)
        status = sets_do(k->rooms.context, s, SETS_FLAGS, items);
    if (!status)
        status = read_findings(k, at, &f);
    *unordered = !status && f.disorder;
    return status;
}

/* Members in order and without duplicates, flagged. */
static cohort_status put_in_order(struct build *k, struct findings *at)
{
    struct sets_step *s = &k->step;
    int unordered = 0;
    cohort_status status = sets_flag_rooms(&k->rooms, s, s->n);
    if (!status)
        status = flag(k, s->n, at, &unordered);
    if (!status && unordered) {
        status = sort_entries(k);
        if (!status)
            status = flag(k, s->n, at, &unordered);
    }
    return status;
}

/* The first items of chunks. */
static cohort_status find_starts(struct build *k, uint64_t items)
{
    struct sets_step *s = &k->step;
    uint64_t words = sets_flag_words(items), found = 0;
    cohort_status status = sets_sum(k->rooms.context, s->start_sums, words, &found);
    s->found = found;
    if (!status)
        status = sets_room(&k->rooms, s->found + 1, 8, &s->at);
    if (!status)
        status = sets_do(k->rooms.context, s, SETS_STARTS, items);
    return status;
}

static cohort_status drop_duplicates(struct build *k)
{
    struct sets_step *s = &k->step;
    uint64_t words = sets_flag_words(s->n), unique = 0;
    cohort_status status = sets_sum(k->rooms.context, s->unique_sums, words, &unique);
    if (!status)
        status = find_starts(k, s->n);
    if (!status && unique < s->n) {
        void *entries = s->entries, *owners = s->owners;
        status = sets_room(&k->rooms, unique, s->item == SETS_NARROW ? 4 : 8, &s->entries_out);
        if (!status && s->owners)
            status = sets_room(&k->rooms, unique, 8, &s->owners_out);
        if (!status)
            status = sets_do(k->rooms.context, s, SETS_UNIQUE, s->n);
        s->entries = s->entries_out;
        s->owners = s->owners ? s->owners_out : NULL;
        sets_room_back(&k->rooms, entries);
        sets_room_back(&k->rooms, owners);
    }
    if (!status) { /* where the last chunk ends */
        s->n = unique;
        status = context_copy(k->rooms.context, s->at + s->found, &s->n, 8);
    }
    s->sums = s->at;
    flag_rooms_back(k);
    return status;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* In order, and those of one set that meet or overlap united. */
static cohort_status unite(struct build *k)
{
    struct sets_step *s = &k->step;
    uint64_t words = sets_flag_words(s->n), united = 0;
    cohort_status status = sort_entries(k);
    if (!status)
        status = sets_flag_rooms(&k->rooms, s, s->n);
    if (!status)
        status = sets_room(&k->rooms, s->n, 8, &s->reach);
    uint64_t told = 1 + 3 * (s->n / SETS_REACH_TILE + 1);
    if (!status)
        status = sets_room(&k->rooms, told, 8, &s->chain);
    if (!status)
        status = context_fill(k->rooms.context, s->chain, 0, told * 8);
    if (!status)
        status = sets_do(k->rooms.context, s, SETS_REACH, s->n);
    if (!status)
        status = sets_do(k->rooms.context, s, SETS_UNITE, s->n);
    if (!status)
        status = sets_sum(k->rooms.context, s->start_sums, words, &united);
    if (!status)
        status = sets_room(&k->rooms, united, 8, &s->entries_out);
    if (!status)
        status = sets_room(&k->rooms, united, 8, &s->lasts_out);
    if (!status && s->owners)
        status = sets_room(&k->rooms, united, 8, &s->owners_out);
    if (!status)
        status = sets_do(k->rooms.context, s, SETS_UNITED, s->n);
    sets_room_back(&k->rooms, s->entries);
    sets_room_back(&k->rooms, s->lasts);
    sets_room_back(&k->rooms, s->owners);
    sets_room_back(&k->rooms, s->reach);
    sets_room_back(&k->rooms, s->chain);
    flag_rooms_back(k);
    s->entries = s->entries_out;
    s->lasts = s->lasts_out;
    s->owners = s->owners ? s->owners_out : NULL;
    s->n = united;
    return status;
}

/* Ranges of many sets can be in more chunks than 64 bits count: sums would be those of fewer. */
static cohort_status check_far(const struct build *k, const struct findings *at)
{
    struct findings f = {0, 0, 0, 0, 0};
    cohort_status status = k->step.far ? read_findings(k, at, &f) : COHORT_OK;
    if (status || f.far <= SETS_MOST / SETS_FAR)
        return status;
    return batch_fail(&k->batch, COHORT_OVERFLOW,
                      "the ranges of source.n = %llu are in more than %llu chunks of 2^16; a collection has "
                      "at most so many",
                      (unsigned long long)k->source.n, (unsigned long long)SETS_MOST);
}

/* The pieces of ranges, as items. */
static cohort_status cut(struct build *k, struct findings *at, uint64_t *items)
{
    struct sets_step *s = &k->step;
    cohort_status status = sets_room(&k->rooms, s->n + 1, 8, &s->pieces);
    s->far = s->wide && s->n >= FAR_RANGES ? &at->far : NULL;
    if (!status)
        status = sets_do(k->rooms.context, s, SETS_PIECES, s->n);
    if (!status)
        status = check_far(k, at);
    return status ? status : sets_sum(k->rooms.context, s->pieces, s->n, items);
}

/* ---- found chunks -------------------------------------------------------------------------------------- */

/* Items that are pieces, flagged; and their chunks. */
static cohort_status find_pieces(struct build *k, uint64_t items, struct findings *at)
{
    struct sets_step *s = &k->step;
    int unordered;
    cohort_status status = sets_flag_rooms(&k->rooms, s, items);
    if (!status)
        status = flag(k, items, at, &unordered);
    if (!status)
        status = find_starts(k, items);
    if (!status)
        status = context_copy(k->rooms.context, s->at + s->found, &items, 8);
    if (!status)
        status = sets_room(&k->rooms, s->found + 1, 8, &s->sums);
    flag_rooms_back(k);
    return status;
}

static cohort_status find(struct build *k, struct findings *at)
{
    struct sets_step *s = &k->step;
    uint64_t items = s->n * s->row_chunks; /* of bitmaps */
    cohort_status status = COHORT_OK;
    if (s->item != SETS_BITS)
        status = own(k, at);
    if (!status && s->item == SETS_RANGES) {
        status = unite(k);
        if (!status)
            status = cut(k, at, &items);
    }
    if (status)
        return status;
    if (s->item == SETS_RANGES || s->item == SETS_BITS)
        return find_pieces(k, items, at);
    status = put_in_order(k, at);
    return status ? status : drop_duplicates(k);
}

static cohort_status measure(struct build *k)
{
    struct sets_step *s = &k->step;
    cohort_context *context = k->rooms.context;
    cohort_status status = sets_room(&k->rooms, s->found, 8, &s->keys);
    if (!status)
        status = sets_room(&k->rooms, s->found, 8, &s->found_places);
    if (!status)
        status = sets_room(&k->rooms, s->found, 8, &s->found_digests);
    if (!status)
        status = sets_room(&k->rooms, s->sets + 1, 8, &s->set_first);
    if (!status)
        status = sets_do(context, s, SETS_FIRSTS, s->sets + 1);
    if (!status)
        status = sets_do(context, s, SETS_MEASURE, s->found);
    if (!status && s->sums != s->at) /* cardinalities so far */
        status = sets_sum(context, s->sums, s->found, NULL);
    return status;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static cohort_status build(struct build *k, cohort_sets **out)
{
    struct findings *at = NULL;
    cohort_status status = sets_room(&k->rooms, 1, sizeof *at, &at);
    choose_item(k);
    if (!status)
        status = find(k, at);
    if (!status)
        status = measure(k);
    if (!status)
        status = sets_assemble(&k->rooms, &k->step, NULL, out);
    if (!status)
        status = sets_do(k->rooms.context, &k->step, SETS_MEMBERS, k->step.found);
    return status;
}

/* Reads the source, whose numbers are checked: the arrays listed. */
static cohort_status build_of(struct build *k, cohort_context *context)
{
    cohort_sets_source *d = &k->source;
    struct sets_step *s = &k->step;
    struct batch *b = &k->batch;
    memset(s, 0, sizeof *s);
    b->step = s;
    k->rooms = sets_rooms_begin(context);
    k->bytes = sets_member_bytes(d->type);
    k->rows = d->groups || d->offsets;
    s->wide = d->type == COHORT_U64;
    s->n = d->n;
    s->group_bytes = sets_member_bytes(d->group_type);
    cohort_status status = list_arrays(k);
    s->sets = d->form == COHORT_FORM_BITMAPS ? d->n : d->sets ? d->sets : !d->offsets;
    if (d->sets > 1 && !k->rows && d->form != COHORT_FORM_BITMAPS && !status)
        status = batch_fail(b, COHORT_RANGE, "source.sets is %llu with neither groups nor offsets",
                            (unsigned long long)d->sets);
    s->bits = d->bits;
    s->row_words = d->stride / 4;
    s->row_chunks = d->bits / CO_CHUNK_IDS + (d->bits % CO_CHUNK_IDS != 0);
    return status;
}

cohort_status sets_build_arrays(cohort_context *context, const cohort_sets_source *source, cohort_sets **out)
{
    struct build k;
    k.source = *source;
    batch_open(&k.batch, context, "cohort_sets_build");
    cohort_status status = build_of(&k, context);
    if (!status)
        status = batch_check(&k.batch);
    if (!status)
        status = check_offsets(&k);
    if (status)
        return status;
    status = batch_begin(&k.batch);
    if (!status)
        status = build(&k, out);
    sets_rooms_end(&k.rooms);
    cohort_status waited = context_wait(context);
    status = batch_end(&k.batch, status ? status : waited, NULL);
    if (status) {
        cohort_sets_destroy(*out);
        *out = NULL;
    }
    return status;
}
