/* sets_build_roaring.c: collections from Roaring blobs.
 *
 * Blobs are read on the host (io/roaring.h), and all their bytes judged: what says where things are first,
 * so that memory can be taken, and then the entries of each container right before they are copied. If every
 * blob is a set of its own and its base moves whole chunks, their containers are the found chunks of
 * shape/sets.h: the collection is put together here, by the steps that backends do in parallel, and the
 * entries go from the blob to their places. Otherwise that gives a collection with a set a blob first. Blobs
 * whose base is no multiple of 2^16 go on from there as ranges; blobs of one group unite by a query. */
#include "api/sets.h"

#include <stdlib.h>
#include <string.h>

#include "io/roaring.h"
#include "shape/sets_chunk.h"

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
    uint64_t *ends; /* n + 1: of blob b the containers ends[b] to ends[b + 1] */
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

/* ---- a collection of them, on the host ---- */

/* What the steps work on, in one piece. */
static cohort_status step_rooms(struct blobs *b, struct sets_step *s)
{
    uint64_t found = b->list.count + 1, sets = b->sets + 1;
    co_u64 *at = NULL;
    memset(s, 0, sizeof *s);
    cohort_status status = found < 1ull << 40 && sets <= SETS_MOST + 1
                               ? work_room(b, 6 * found + 5 * sets, 8, &at)
                               : no_memory(b);
    if (status)
        return status;
    co_u64 **const of_found[] = {&s->sums,          &s->keys,  &s->found_places,
                                 &s->found_digests, &s->units, &s->bitmaps};
    co_u64 **const of_sets[] = {&s->set_first, &s->listed, &s->kept, &s->large, &s->pairs};
    for (int i = 0; i < 6; i++, at += found)
        *of_found[i] = at;
    for (int i = 0; i < 5; i++, at += sets)
        *of_sets[i] = at;
    s->sets = b->sets;
    s->wide = (co_u32)b->wide;
    s->found = b->list.count;
    return COHORT_OK;
}

static void sum_up(co_u64 *a, uint64_t n)
{
    co_u64 sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        co_u64 v = a[i];
        a[i] = sum;
        sum += v;
    }
}

/* Of which kind the chunk is to be: as it is, but for runs that do not pay, and what is full. */
static co_u64 place_of(const struct roaring_container *c)
{
    if (c->kind == ROARING_RUNS || c->card == CO_CHUNK_IDS)
        return sets_place(c->card, c->kind == ROARING_RUNS ? c->entries : 1);
    return c->kind == ROARING_ARRAY ? co_place_make(CO_CHUNK_ARRAY, c->card, 0)
                                    : co_place_make(CO_CHUNK_BITMAP, 0, 0);
}

/* The found chunks, and which are of which set. */
static void find(const struct blobs *b, struct sets_step *s)
{
    uint64_t set = 0;
    for (uint64_t i = 0; i < b->n; i++) {
        uint64_t own = b->groups ? b->groups[i] : i, shift = (b->bases ? b->bases[i] : 0) >> CO_CHUNK_BITS;
        while (set <= own)
            s->set_first[set++] = b->ends[i];
        for (uint64_t c = b->ends[i]; c < b->ends[i + 1]; c++) {
            s->keys[c] = b->list.at[c].key + shift;
            s->sums[c] = b->list.at[c].card;
            s->found_places[c] = place_of(&b->list.at[c]);
            s->found_digests[c] = 0; /* once the entries are where they can be read */
        }
    }
    while (set <= b->sets)
        s->set_first[set++] = b->list.count;
    s->sums[s->found] = 0;
    sum_up(s->sums, s->found + 1);
}

/* Lists or chunks, and the sizes of all. */
static void choose(struct sets_step *s)
{
    co_u64 *const sums[] = {s->listed, s->kept, s->large, s->pairs};
    for (co_u64 i = 0; i < s->sets; i++)
        sets_choose(s, i);
    for (int i = 0; i < 4; i++) {
        sums[i][s->sets] = 0;
        sum_up(sums[i], s->sets + 1);
    }
    for (co_u64 i = 0; i < s->sets; i++)
        for (co_u64 c = s->set_first[i]; c < s->set_first[i + 1]; c++)
            sets_found_units(s, sets_is_kept(s, i), c);
    s->units[s->found] = s->bitmaps[s->found] = 0;
    sum_up(s->units, s->found + 1);
    sum_up(s->bitmaps, s->found + 1);
    s->bitmap_unit = sets_aligned(s->units[s->found] * CO_PLACE_UNIT_BYTES) / CO_PLACE_UNIT_BYTES;
    memset(&s->counts, 0, sizeof s->counts);
    s->counts.sets = s->sets;
    s->counts.wide = s->wide;
    s->counts.listed = s->listed[s->sets];
    s->counts.chunks = s->kept[s->sets];
    s->counts.large = s->large[s->sets];
    s->counts.pairs = s->pairs[s->sets];
    s->counts.units = s->units[s->found];
    if (s->bitmaps[s->found])
        s->counts.units = s->bitmap_unit + s->bitmaps[s->found] * (CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES);
}

static co_u32 get16(const unsigned char *p)
{
    return p[0] | (co_u32)p[1] << 8;
}

/* The members of an array or of runs; their number. */
static co_u32 members_of(const struct roaring_container *c, co_u16 *to)
{
    co_u32 n = 0;
    if (c->kind == ROARING_ARRAY) {
        memcpy(to, c->at, 2 * c->entries);
        return c->entries;
    }
    for (co_u32 i = 0; i < c->entries; i++)
        for (co_u32 v = get16(c->at + 4 * i), last = v + get16(c->at + 4 * i + 2); v <= last; v++)
            to[n++] = (co_u16)v;
    return n;
}

/* A container's entries as the chunk is to have them. */
static void put_entries(const struct roaring_container *c, co_u32 kind, co_u16 *to)
{
    co_u64 *words = (co_u64 *)(void *)to;
    if (kind == CO_CHUNK_ARRAY) {
        sets_pad(to, members_of(c, to));
    } else if (kind == CO_CHUNK_RUNS) {
        memcpy(to, c->at, 4 * c->entries);
        sets_pad(to, 2 * c->entries);
    } else if (c->kind == ROARING_BITMAP) {
        memcpy(words, c->at, CO_CHUNK_BYTES);
    } else {
        memset(words, 0, CO_CHUNK_BYTES);
        for (co_u32 i = 0; i < c->entries; i++)
            sets_bitmap_set(words, get16(c->at + 4 * i), get16(c->at + 4 * i) + get16(c->at + 4 * i + 2));
    }
}

static void put_id(const struct sets_step *s, co_u64 at, co_u64 id)
{
    if (s->wide)
        ((co_u64 *)(uintptr_t)s->view.lists)[at] = id;
    else
        ((co_u32 *)(uintptr_t)s->view.lists)[at] = (co_u32)id;
}

/* To their list. Of a bitmap that is none of so few members there is no list. */
static void put_listed(const struct sets_step *s, co_u64 c, const struct roaring_container *container,
                       co_u64 at)
{
    const co_u64 key = s->keys[c] << CO_CHUNK_BITS;
    const unsigned char *p = container->at;
    for (co_u32 i = 0; i < container->entries; i++)
        if (container->kind == ROARING_ARRAY)
            put_id(s, at++, key | get16(p + 2 * i));
        else
            for (co_u32 v = get16(p + 4 * i), last = v + get16(p + 4 * i + 2); v <= last; v++)
                put_id(s, at++, key | v);
}

/* The entries of all chunks, judged, and with them the digests and the directory. */
static cohort_status put_members(const struct blobs *b, struct sets_step *s)
{
    uint64_t blob = 0;
    for (co_u64 set = 0; set < s->sets; set++)
        for (co_u64 c = s->set_first[set]; c < s->set_first[set + 1]; c++) {
            struct roaring_container *container = &b->list.at[c];
            while (c >= b->ends[blob + 1])
                blob++;
            cohort_status status =
                roaring_judge(b->context, blob_name, blob, b->bytes + b->offsets[blob], container);
            if (status)
                return status;
            co_u64 place = s->found_places[c], unit = sets_unit(s, c, place);
            char *to = (char *)(uintptr_t)s->view.pool + unit * CO_PLACE_UNIT_BYTES;
            if (!sets_is_kept(s, set)) {
                put_listed(s, c, container, s->listed[set] + s->sums[c] - s->sums[s->set_first[set]]);
                continue;
            }
            struct sets_chunk chunk = {to, co_place_kind(place), co_place_entries(place), container->card, 0};
            if (chunk.kind != CO_CHUNK_FULL)
                put_entries(container, chunk.kind, (co_u16 *)(void *)to);
            s->found_digests[c] =
                container->kind == ROARING_RUNS ? container->digest : sets_chunk_digest(&chunk);
            sets_found_entry(s, set, c);
        }
    return COHORT_OK;
}

static cohort_status put_together(struct blobs *b, cohort_sets **out)
{
    struct sets_step step, *s = &step;
    const struct backend *backend = b->context->backend;
    cohort_status status = step_rooms(b, s);
    if (status)
        return status;
    find(b, s);
    choose(s);
    status = sets_new(b->context, &s->counts, out);
    if (status)
        return status;
    cohort_sets *sets = *out;
    void *image = sets->memory;
    if (backend->own_memory != MEMORY_HOST)
        status = host_room(b, sets->taken, 1, &image);
    if (status)
        return status;
    sets_view(&s->counts, image, NULL, &s->view);
    status = put_members(b, s);
    for (co_u64 i = 0; i <= s->sets && !status; i++)
        sets_word(s, i);
    for (co_u64 i = 0; i < s->counts.pairs && !status; i++)
        sets_pair(s, i);
    if (!status && image != sets->memory)
        status = context_copy(b->context, sets->memory, image, sets->taken);
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
