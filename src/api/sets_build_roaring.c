/* sets_build_roaring.c: collections from Roaring blobs.
 *
 * Blobs are read on the host (io/roaring.h), and all their bytes judged: what says where things are first,
 * so that memory can be taken, and then the entries of each container, while they are copied. If every blob
 * is a set of its own and its base moves whole chunks, the collection is put together here, blob by blob:
 * once to measure it, and once to write lists, directory and entries straight to their places. Otherwise that
 * gives a collection with a set a blob first. Blobs whose base is no multiple of 2^16 go on from there as
 * ranges; blobs of one group unite by a query. */
#include "api/sets.h"

#include <stdlib.h>
#include <string.h>

#include "api/sets_entries.h"

static const char call[] = "cohort_sets_build", blob_name[] = "cohort_sets_build: blob";

/* Blobs, all of it on the host. */
struct blobs {
    cohort_context *context;
    const cohort_sets_source *source;
    uint64_t n, sets;
    int wide, blob_wide;
    const unsigned char *bytes;
    const uint64_t *offsets, *bases; /* bases: or NULL */
    uint64_t *groups;                /* or NULL: blob b is set b */
    int apart;                       /* each set is one blob at most */
    struct roaring_list list;
    uint64_t *ends;    /* n + 1: of blob b the containers ends[b] to ends[b + 1] */
    uint64_t *members; /* n: how many, once the blobs are read */
    void *copies[16];
    int count;
    struct sets_rooms rooms; /* workspace of the pool, where that is the host's memory */
};

static cohort_status no_memory(const struct blobs *b)
{
    return context_fail(b->context, COHORT_NO_MEMORY, "%s: no memory of the host for source.n = %llu blobs",
                        call, (unsigned long long)b->n);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static cohort_status host_room(struct blobs *b, uint64_t entries, uint64_t unit, void *out)
{
    void *room = entries < SIZE_MAX / unit ? malloc(entries * unit + 1) : NULL;
    memcpy(out, &room, sizeof room);
    if (!room)
        return no_memory(b);
    b->copies[b->count++] = room;
    return COHORT_OK;
}

/* The same for work that is over with the call: memory that was touched before is taken again. */
static cohort_status work_room(struct blobs *b, uint64_t entries, uint64_t unit, void *out)
{
    if (b->context->backend->own_memory == MEMORY_HOST)
        return sets_room(&b->rooms, entries, unit, out);
    return host_room(b, entries, unit, out);
}

/* The array in host memory, as it is or a copy. */
static cohort_status to_host(struct blobs *b, const void *array, uint64_t entries, uint64_t unit, void *out)
{
    cohort_context *context = b->context;
    void *copy;
    memcpy(out, &array, sizeof array);
    if (!entries || !array || context_memory_kind(context, array) == MEMORY_HOST)
        return COHORT_OK;
    cohort_status status = host_room(b, entries, unit, out);
    memcpy(&copy, out, sizeof copy);
    return status ? status : context_copy(context, copy, array, entries * unit);
}

static cohort_status check_array(const struct blobs *b, const char *name, const void *array, unsigned align,
                                 int optional)
{
    const struct backend *backend = b->context->backend;
    if (!array && (optional || !b->n))
        return COHORT_OK;
    if (!array)
        return context_fail(b->context, COHORT_NULL, "%s: source.%s is NULL with source.n = %llu", call, name,
                            (unsigned long long)b->n);
    if ((uintptr_t)array % align)
        return context_fail(b->context, COHORT_BAD_POINTER,
                            "%s: source.%s is %p, which is not aligned to %u bytes", call, name, array,
                            align);
    enum memory_kind kind = context_memory_kind(b->context, array);
    if (kind == MEMORY_BAD || (kind == MEMORY_DEVICE && backend->own_memory == MEMORY_HOST))
        return context_fail(b->context, COHORT_BAD_POINTER,
                            "%s: source.%s is %p, which is memory of another device", call, name, array);
    return COHORT_OK;
}

static cohort_status check_offsets(const struct blobs *b)
{
    for (uint64_t i = 0; b->n && i <= b->n; i++)
        if (i ? b->offsets[i] < b->offsets[i - 1] : b->offsets[0] != 0)
            return context_fail(b->context, COHORT_RANGE,
                                "%s: source.offsets[%llu] is %llu; they must begin at 0, and not fall", call,
                                (unsigned long long)i, (unsigned long long)b->offsets[i]);
    return COHORT_OK;
}

static cohort_status read_groups(struct blobs *b)
{
    const cohort_sets_source *d = b->source;
    const void *groups;
    uint64_t greatest = 0;
    unsigned bytes = sets_member_bytes(d->group_type);
    cohort_status status = to_host(b, d->groups, b->n, bytes, &groups);
    if (!status)
        status = host_room(b, b->n, 8, &b->groups);
    for (uint64_t i = 0; i < b->n && !status; i++) {
        uint64_t g = b->groups[i] = sets_number(groups, i, bytes == 8);
        greatest = g > greatest ? g : greatest;
    }
    if (status || !b->n)
        return status;
    if (greatest >= (d->sets ? d->sets : SETS_MOST))
        return context_fail(b->context, COHORT_RANGE, "%s: source.groups has %llu; it must be below %llu",
                            call, (unsigned long long)greatest,
                            (unsigned long long)(d->sets ? d->sets : SETS_MOST));
    b->sets = d->sets ? d->sets : greatest + 1;
    return COHORT_OK;
}

/* Do groups rise, so that blobs are sets in their order? */
static int are_apart(const struct blobs *b)
{
    for (uint64_t i = 1; b->groups && i < b->n; i++)
        if (b->groups[i] <= b->groups[i - 1])
            return 0;
    for (uint64_t i = 0; b->bases && i < b->n; i++)
        if (b->bases[i] % CO_CHUNK_IDS)
            return 0;
    return 1;
}

static cohort_status open_blobs(struct blobs *b)
{
    const cohort_sets_source *d = b->source;
    b->n = d->n;
    b->wide = d->type == COHORT_U64;
    cohort_status status =
        d->blob_type ? sets_check_type(b->context, call, "source.blob_type", d->blob_type) : COHORT_OK;
    b->blob_wide = (d->blob_type ? d->blob_type : d->type) == COHORT_U64;
    if (!status)
        status = check_array(b, "offsets", d->offsets, 8, 0);
    if (!status)
        status = check_array(b, "groups", d->groups, sets_member_bytes(d->group_type), 1);
    if (!status)
        status = check_array(b, "bases", d->bases, 8, 1);
    if (!status)
        status = to_host(b, d->offsets, b->n ? b->n + 1 : 0, 8, &b->offsets);
    if (!status)
        status = check_offsets(b);
    uint64_t bytes = b->n && !status ? b->offsets[b->n] : 0;
    if (!status && bytes)
        status = check_array(b, "members", d->members, 1, 0);
    if (!status)
        status = to_host(b, d->members, bytes, 1, &b->bytes);
    if (!status)
        status = to_host(b, d->bases, b->n, 8, &b->bases);
    b->sets = d->sets ? d->sets : b->n;
    if (!status && d->groups)
        status = read_groups(b);
    if (!status && !d->groups && b->sets < b->n)
        status = context_fail(b->context, COHORT_RANGE, "%s: source.sets is %llu with source.n = %llu blobs",
                              call, (unsigned long long)b->sets, (unsigned long long)b->n);
    b->apart = !status && are_apart(b);
    return status;
}

static void close_blobs(struct blobs *b)
{
    while (b->count)
        free(b->copies[--b->count]);
    sets_rooms_end(&b->rooms);
    if (b->blob_wide)
        free(b->list.at);
}

/* ---- containers ---------------------------------------------------------------------------------------- */

/* The greatest member of a container. */
static uint64_t last_of(const struct roaring_container *c)
{
    uint32_t low = 0;
    if (c->kind == ROARING_BITMAP) {
        for (uint32_t i = CO_CHUNK_BYTES; i-- && !low;)
            if (c->at[i])
                low = i * 8 + 31 - (uint32_t)__builtin_clz(c->at[i]);
    } else {
        const unsigned char *p = c->at + (c->kind == ROARING_ARRAY ? 2 : 4) * (c->entries - 1);
        low = p[0] | (uint32_t)p[1] << 8;
        low += c->kind == ROARING_RUNS ? p[2] | (uint32_t)p[3] << 8 : 0;
    }
    return c->key << CO_CHUNK_BITS | low;
}

static cohort_status check_base(const struct blobs *b, uint64_t blob)
{
    uint64_t most = b->wide ? UINT64_MAX : UINT32_MAX, base = b->bases ? b->bases[blob] : 0;
    if (b->ends[blob] == b->ends[blob + 1])
        return COHORT_OK;
    uint64_t last = last_of(&b->list.at[b->ends[blob + 1] - 1]);
    if (last <= most && base <= most - last)
        return COHORT_OK;
    return context_fail(b->context, COHORT_RANGE,
                        "%s: blob %llu has the member %llu, and its base is %llu: the sum is above %llu",
                        call, (unsigned long long)blob, (unsigned long long)last, (unsigned long long)base,
                        (unsigned long long)most);
}

static cohort_status read_blobs(struct blobs *b)
{
    cohort_status status = work_room(b, b->n + 1, sizeof *b->ends, &b->ends);
    if (!status)
        status = work_room(b, b->n, sizeof *b->members, &b->members);
    b->list.vectors = roaring_vectors();
    for (uint64_t i = 0; i < b->n && !b->blob_wide; i++)
        b->list.room += roaring_containers(b->bytes + b->offsets[i], b->offsets[i + 1] - b->offsets[i]);
    b->list.fixed = !b->blob_wide; /* else the list grows: blobs do not tell before they are read */
    if (!status && b->list.fixed)
        status = work_room(b, b->list.room, sizeof *b->list.at, &b->list.at);
    if (!status)
        b->ends[0] = 0;
    for (uint64_t i = 0; i < b->n && !status; i++) {
        status = roaring_read(b->context, blob_name, i, b->bytes + b->offsets[i],
                              b->offsets[i + 1] - b->offsets[i], b->blob_wide, &b->list);
        b->ends[i + 1] = b->list.count;
        if (!status)
            status = check_base(b, i);
    }
    return status;
}

/* ---- a collection of them, on the host ----------------------------------------------------------------- */

/* What sets have taken so far of each part, of the pool apart what bitmaps have, and members in chunks. */
struct making {
    struct blobs *blobs;
    cohort_sets_view view;
    struct sets_counts taken;
    co_u64 bitmaps, before;
    co_u64 bitmap_unit; /* where bitmaps begin in the pool */
};

/* Of which kind the chunk is to be: as it is, but for runs that do not pay, and what is full. */
static co_u64 place_of(const struct roaring_container *c)
{
    if (c->kind == ROARING_RUNS || c->card == CO_CHUNK_IDS)
        return sets_place(c->card, c->kind == ROARING_RUNS ? c->entries : 1);
    return c->kind == ROARING_ARRAY ? co_place_make(CO_CHUNK_ARRAY, c->card, 0)
                                    : co_place_make(CO_CHUNK_BITMAP, 0, 0);
}

/* Where chunks go that are no bitmaps, which come behind all others. */
static co_u64 units_of(co_u64 place)
{
    return co_place_kind(place) == CO_CHUNK_BITMAP
               ? 0
               : co_place_units(co_place_kind(place), co_place_entries(place));
}

static co_u64 key_of(const struct blobs *b, uint64_t blob, co_u64 c)
{
    return b->list.at[c].key + ((b->bases ? b->bases[blob] : 0) >> CO_CHUNK_BITS);
}

static co_u64 pairs_of(const struct blobs *b, uint64_t blob)
{
    co_u64 first = b->ends[blob], end = b->ends[blob + 1];
    return sets_pairs(end - first, key_of(b, blob, first), key_of(b, blob, end - 1));
}

/* Adds what a blob's set takes. */
static void measure(struct making *m, uint64_t blob)
{
    struct blobs *b = m->blobs;
    co_u64 members = 0, units = 0, bitmaps = 0, first = b->ends[blob], end = b->ends[blob + 1];
    for (co_u64 c = first; c < end; c++) {
        co_u64 place = place_of(&b->list.at[c]);
        members += b->list.at[c].card;
        units += units_of(place);
        if (co_place_kind(place) == CO_CHUNK_BITMAP)
            bitmaps += sets_bitmap_blocks(end - first, c + 1 == end);
    }
    b->members[blob] = members;
    if (sets_is_list(members, end - first)) {
        m->taken.listed += members;
        return;
    }
    m->taken.large++;
    m->taken.chunks += end - first;
    m->taken.pairs += pairs_of(b, blob);
    m->taken.units += units;
    m->bitmaps += bitmaps;
}

static co_u32 get16(const unsigned char *p)
{
    return p[0] | (co_u32)p[1] << 8;
}

static void put_id(const struct making *m, co_u64 at, co_u64 id)
{
    if (m->view.wide)
        ((co_u64 *)(uintptr_t)m->view.lists)[at] = id;
    else
        ((co_u32 *)(uintptr_t)m->view.lists)[at] = (co_u32)id;
}

/* To their list. Of a bitmap that is none of so few members there is no list. */
static void put_listed(struct making *m, const struct roaring_container *c, co_u64 key)
{
    co_u64 at = m->taken.listed;
    const unsigned char *p = c->at;
    key <<= CO_CHUNK_BITS;
    for (co_u32 i = 0; i < c->entries; i++)
        if (c->kind == ROARING_ARRAY)
            put_id(m, at++, key | get16(p + 2 * i));
        else
            for (co_u32 v = get16(p + 4 * i), last = v + get16(p + 4 * i + 2); v <= last; v++)
                put_id(m, at++, key | v);
    m->taken.listed = at;
}

static cohort_status judge(const struct blobs *b, uint64_t blob, const struct roaring_container *c)
{
    return roaring_judge(b->context, blob_name, blob, b->bytes + b->offsets[blob], c);
}

/* A chunk's entries and its directory. `blocks`: of the pool, if the chunk is a bitmap. */
static cohort_status put_chunk(struct making *m, uint64_t blob, const struct roaring_container *c, co_u64 key,
                               co_u64 blocks)
{
    static const co_u32 kinds[] = {CO_CHUNK_ARRAY, CO_CHUNK_BITMAP, CO_CHUNK_RUNS};
    co_u64 place = place_of(c), d = m->taken.chunks++;
    co_u32 kind = co_place_kind(place);
    co_u64 unit = kind == CO_CHUNK_BITMAP
                      ? m->bitmap_unit + m->bitmaps * (CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES)
                      : m->taken.units;
    co_u16 *to = (co_u16 *)(uintptr_t)m->view.pool + unit * (CO_PLACE_UNIT_BYTES / 2);
    struct sets_chunk chunk = {to, kind, co_place_entries(place), c->card, 0};
    m->taken.units += units_of(place);
    m->bitmaps += kind == CO_CHUNK_BITMAP ? blocks : 0;
    if (!m->blobs->list.vectors || kinds[c->kind] != kind || !sets_entries_take(c, to, &chunk.digest)) {
        cohort_status status = judge(m->blobs, blob, c);
        if (status)
            return status;
        if (kind != CO_CHUNK_FULL)
            sets_entries_put(c, kind, to);
        chunk.digest = sets_chunk_digest(&chunk);
    }
    if (m->view.wide)
        ((co_u64 *)(uintptr_t)m->view.keys)[d] = key;
    else
        ((co_u16 *)(uintptr_t)m->view.keys)[d] = (co_u16)key;
    ((co_u16 *)(uintptr_t)m->view.cards)[d] = (co_u16)(c->card - 1);
    ((co_u64 *)(uintptr_t)m->view.places)[d] = place | unit << CO_PLACE_UNIT;
    ((co_u64 *)(uintptr_t)m->view.before)[d] = m->before;
    ((co_u64 *)(uintptr_t)m->view.digests)[d] = chunk.digest;
    m->before += c->card;
    return COHORT_OK;
}

/* The index of a blob's set: of each 64 keys the presence bits, and the set's chunks before them. */
static void put_index(struct making *m, uint64_t blob, co_u64 pairs)
{
    const struct blobs *b = m->blobs;
    co_u64 *pair = (co_u64 *)(uintptr_t)m->view.index + 2 * m->taken.pairs, p = 0;
    co_u64 first = b->ends[blob], base = key_of(b, blob, first) >> 6;
    m->taken.pairs += pairs;
    if (!pairs)
        return;
    pair[0] = pair[1] = 0;
    for (co_u64 c = first; c < b->ends[blob + 1]; c++) {
        co_u64 key = key_of(b, blob, c);
        while (p < (key >> 6) - base) {
            p++;
            pair[2 * p] = 0;
            pair[2 * p + 1] = c - first;
        }
        pair[2 * p] |= 1ull << (key & 63);
    }
}

static cohort_status put_set(struct making *m, uint64_t blob, co_u64 *word)
{
    const struct blobs *b = m->blobs;
    co_u64 first = b->ends[blob], end = b->ends[blob + 1], listed = m->taken.listed;
    cohort_status status = COHORT_OK;
    if (sets_is_list(b->members[blob], end - first)) {
        for (co_u64 c = first; c < end && !status; c++) {
            status = judge(b, blob, &b->list.at[c]);
            if (!status)
                put_listed(m, &b->list.at[c], key_of(b, blob, c));
        }
        *word = b->members[blob] ? b->members[blob] << CO_SETS_LIST_COUNT | listed : 0;
        return status;
    }
    struct co_sets_large *r = (struct co_sets_large *)(uintptr_t)m->view.large + m->taken.large;
    *word = CO_SETS_LARGE | m->taken.large++;
    r->first = m->taken.chunks;
    r->chunks = end - first;
    r->index = m->taken.pairs;
    r->words = pairs_of(b, blob);
    r->base = key_of(b, blob, first) >> 6;
    put_index(m, blob, r->words);
    for (co_u64 c = first; c < end && !status; c++)
        status = put_chunk(m, blob, &b->list.at[c], key_of(b, blob, c),
                           sets_bitmap_blocks(end - first, c + 1 == end));
    return status;
}

/* All parts of the collection that lies at `image`. */
static cohort_status put_parts(struct making *m, const struct sets_counts *counts, void *image)
{
    const struct blobs *b = m->blobs;
    co_u64 set = 0, *words;
    cohort_status status = COHORT_OK;
    memset(&m->taken, 0, sizeof m->taken);
    m->bitmaps = 0;
    sets_view(counts, image, NULL, &m->view);
    words = (co_u64 *)(uintptr_t)m->view.words;
    for (uint64_t i = 0; i < b->n && !status; i++) {
        for (uint64_t own = b->groups ? b->groups[i] : i; set < own; set++)
            words[set] = 0;
        status = put_set(m, i, &words[set++]);
    }
    while (!status && set < b->sets)
        words[set++] = 0;
    ((co_u64 *)(uintptr_t)m->view.before)[m->view.chunks] = m->before;
    return status;
}

static cohort_status put_together(struct blobs *b, cohort_sets **out)
{
    struct making m;
    const struct backend *backend = b->context->backend;
    memset(&m, 0, sizeof m);
    m.blobs = b;
    for (uint64_t i = 0; i < b->n; i++)
        measure(&m, i);
    struct sets_counts counts = m.taken;
    counts.sets = b->sets;
    counts.wide = (co_u32)b->wide;
    m.bitmap_unit = sets_aligned(counts.units * CO_PLACE_UNIT_BYTES) / CO_PLACE_UNIT_BYTES;
    if (m.bitmaps)
        counts.units = m.bitmap_unit + m.bitmaps * (CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES);
    cohort_status status = sets_new(b->context, &counts, out);
    void *image = status ? NULL : (*out)->memory;
    if (!status && backend->own_memory != MEMORY_HOST)
        status = host_room(b, (*out)->taken, 1, &image);
    if (!status)
        status = put_parts(&m, &counts, image);
    if (!status && image != (*out)->memory)
        status = context_copy(b->context, (*out)->memory, image, (*out)->taken);
    return status;
}

/* ---- what is more than that ---------------------------------------------------------------------------- */

/* The same blobs, each a set of its own, and as they are. */
static cohort_status put_apart(struct blobs *b, int bases, cohort_sets **out)
{
    const struct blobs given = *b;
    b->groups = NULL;
    b->sets = b->n;
    if (!bases)
        b->bases = NULL;
    cohort_status status = put_together(b, out);
    b->groups = given.groups;
    b->sets = given.sets;
    b->bases = given.bases;
    return status;
}

/* Sets that are unions of others: a query, of rows by group. */
static cohort_status unite(const struct blobs *b, cohort_sets *apart, cohort_sets **out)
{
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    uint64_t *rooms =
        b->sets < SIZE_MAX / 16 && b->n < SIZE_MAX / 16 ? calloc(b->sets + 2 + b->n, sizeof *rooms) : NULL;
    if (!rooms)
        return no_memory(b);
    uint64_t *offsets = rooms, *members = rooms + b->sets + 2;
    for (uint64_t i = 0; i < b->n; i++)
        offsets[(b->groups ? b->groups[i] : i) + 2]++;
    for (uint64_t i = 2; i < b->sets + 2; i++)
        offsets[i] += offsets[i - 1];
    for (uint64_t i = 0; i < b->n; i++)
        members[offsets[(b->groups ? b->groups[i] : i) + 1]++] = i;
    d.op = COHORT_SETS_OR;
    d.collections = &apart;
    d.collections_count = 1;
    d.rows = b->sets;
    d.members = members;
    d.offsets = offsets;
    d.result = out;
    cohort_status status = cohort_sets_query(b->context, &d);
    free(rooms);
    return status;
}

/* Whose bases move members from chunk to chunk: their ranges, moved. */
static cohort_status move_ranges(struct blobs *b, cohort_sets *apart, cohort_sets **out)
{
    cohort_sets_target to = COHORT_SETS_TARGET_INIT;
    cohort_sets_source from = COHORT_SETS_SOURCE_INIT;
    unsigned bytes = b->wide ? 8 : 4;
    void *firsts, *lasts;
    uint64_t *groups, *offsets;
    to.form = COHORT_FORM_RANGES;
    cohort_status status = cohort_sets_export(apart, &to);
    uint64_t n = to.total;
    if (!status)
        status = host_room(b, n, bytes, &firsts);
    if (!status)
        status = host_room(b, n, bytes, &lasts);
    if (!status)
        status = host_room(b, n, 8, &groups);
    if (!status)
        status = host_room(b, b->n + 1, 8, &offsets);
    if (status)
        return status;
    to.members = firsts;
    to.lasts = lasts;
    to.offsets = offsets;
    to.capacity = n;
    status = cohort_sets_export(apart, &to);
    for (uint64_t i = 0; i < b->n && !status; i++)
        for (uint64_t e = offsets[i]; e < offsets[i + 1]; e++) {
            uint64_t base = b->bases ? b->bases[i] : 0;
            groups[e] = b->groups ? b->groups[i] : i;
            if (b->wide) {
                ((uint64_t *)firsts)[e] += base;
                ((uint64_t *)lasts)[e] += base;
            } else {
                ((uint32_t *)firsts)[e] += (uint32_t)base;
                ((uint32_t *)lasts)[e] += (uint32_t)base;
            }
        }
    from.form = COHORT_FORM_RANGES;
    from.type = b->source->type;
    from.n = n;
    from.sets = b->sets;
    from.members = firsts;
    from.lasts = lasts;
    from.groups = groups;
    from.group_type = COHORT_U64;
    if (!status && !b->sets)
        return context_fail(b->context, COHORT_RANGE, "%s: source.sets is 0", call);
    return status ? status : sets_build_arrays(b->context, &from, out);
}

static cohort_status build(struct blobs *b, cohort_sets **out)
{
    cohort_sets *apart = NULL;
    int shifts = 0;
    cohort_status status = open_blobs(b);
    if (!status)
        status = read_blobs(b);
    if (status || b->apart)
        return status ? status : put_together(b, out);
    for (uint64_t i = 0; b->bases && i < b->n; i++)
        shifts |= b->bases[i] % CO_CHUNK_IDS != 0;
    status = put_apart(b, !shifts, &apart);
    if (!status)
        status = shifts ? move_ranges(b, apart, out) : unite(b, apart, out);
    cohort_sets_destroy(apart);
    return status;
}

cohort_status sets_build_roaring(cohort_context *context, const cohort_sets_source *source, cohort_sets **out)
{
    struct blobs b;
    memset(&b, 0, sizeof b);
    b.rooms = sets_rooms_begin(context);
    b.context = context;
    b.source = source;
    cohort_status status = build(&b, out);
    close_blobs(&b);
    if (status) {
        cohort_sets_destroy(*out);
        *out = NULL;
    }
    return status;
}
