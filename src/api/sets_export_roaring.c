/* sets_export_roaring.c: collections into Roaring blobs, put together on the host.
 *
 * Of each set its chunks are told to io/roaring.h as containers, whichever kind takes least; a list's members
 * are cut at the chunks' borders. First the sizes of all blobs, then, where there is room for them, the
 * bytes. */
#include "api/sets.h"

#include <stdlib.h>
#include <string.h>

#include "io/roaring.h"
#include "shape/sets_chunk.h"

static const char call[] = "cohort_sets_export";

struct writing {
    cohort_context *context;
    cohort_sets_target *target;
    cohort_sets_view view; /* in host memory */
    void *copy;
    int wide; /* blobs of the 64-bit format */
    struct roaring_container *containers;
    struct sets_chunk *chunks; /* where each is from */
    uint64_t count, room;
};

static cohort_status make_room(struct writing *w, uint64_t room)
{
    if (room <= w->room)
        return COHORT_OK;
    void *containers = room < SIZE_MAX / 64 ? realloc(w->containers, room * sizeof *w->containers) : NULL;
    if (containers)
        w->containers = containers;
    void *chunks = containers ? realloc(w->chunks, room * sizeof *w->chunks) : NULL;
    if (!chunks)
        return context_fail(w->context, COHORT_NO_MEMORY, "%s: no memory of the host for %llu containers",
                            call, (unsigned long long)room);
    w->chunks = chunks;
    w->room = room;
    return COHORT_OK;
}

static void add(struct writing *w, co_u64 key, const struct sets_chunk *chunk)
{
    static const co_u32 kinds[] = {ROARING_ARRAY, ROARING_BITMAP, ROARING_RUNS};
    struct roaring_container *c = &w->containers[w->count];
    co_u32 runs = sets_chunk_count_runs(chunk);
    c->key = key;
    c->card = chunk->card;
    c->kind = kinds[roaring_choose(c->card, runs)];
    c->entries = c->kind == ROARING_RUNS ? runs : c->card;
    c->at = NULL;
    w->chunks[w->count++] = *chunk;
}

/* The containers of a set. */
static cohort_status describe(struct writing *w, co_u64 set)
{
    const cohort_sets_view *v = &w->view;
    struct co_sets_set s = co_sets_open(v, set);
    cohort_status status = make_room(w, s.n);
    w->count = 0;
    if (status || s.large) {
        for (co_u64 c = s.first; !status && c < s.first + s.n; c++) {
            struct sets_chunk chunk = sets_chunk_of(v, c);
            add(w, co_sets_key(v, c), &chunk);
        }
        return status;
    }
    for (co_u64 i = s.first, end; i < s.first + s.n; i = end) {
        co_u64 key = co_sets_listed(v, i) >> CO_CHUNK_BITS;
        for (end = i + 1; end < s.first + s.n && co_sets_listed(v, end) >> CO_CHUNK_BITS == key;)
            end++;
        struct sets_chunk chunk = {(const char *)v->lists + i * (v->wide ? 8 : 4),
                                   v->wide ? SETS_CHUNK_LIST64 : SETS_CHUNK_LIST32, (co_u32)(end - i),
                                   (co_u32)(end - i), 0};
        add(w, key, &chunk);
    }
    return COHORT_OK;
}

static cohort_status check_width(const struct writing *w, uint64_t i)
{
    if (w->wide || !w->count || w->containers[w->count - 1].key < CO_CHUNK_IDS)
        return COHORT_OK;
    return context_fail(
        w->context, COHORT_RANGE,
        "%s: set %llu of those asked for has members above 32 bits, and target.blob_type is %d", call,
        (unsigned long long)i, (int)COHORT_U32);
}

/* ---- entries ------------------------------------------------------------------------------------------- */

static void put16(unsigned char *to, co_u32 i, co_u32 v)
{
    to[2 * i] = (unsigned char)v;
    to[2 * i + 1] = (unsigned char)(v >> 8);
}

static void fill_runs(const struct sets_chunk *c, unsigned char *at)
{
    co_u16 *low = NULL;
    co_u64 words[SETS_CHUNK_WORDS];
    co_u16 runs[2 * SETS_RUNS_MOST];
    co_u32 n = c->entries;
    low = runs;
    if (c->kind == CO_CHUNK_RUNS) {
        for (co_u32 i = 0; i < 2 * n; i++)
            put16(at, i, ((const co_u16 *)c->at)[i]);
        return;
    }
    sets_chunk_bitmap(c, words);
    n = sets_bitmap_runs(words, low, SETS_RUNS_MOST);
    for (co_u32 i = 0; i < 2 * n; i++)
        put16(at, i, low[i]);
}

static void fill(void *user, uint64_t i, unsigned char *at)
{
    const struct writing *w = user;
    const struct sets_chunk *c = &w->chunks[i];
    co_u64 words[SETS_CHUNK_WORDS];
    if (w->containers[i].kind == ROARING_RUNS) {
        fill_runs(c, at);
    } else if (w->containers[i].kind == ROARING_BITMAP) {
        sets_chunk_bitmap(c, words);
        memcpy(at, words, sizeof words);
    } else {
        co_u16 low[CO_CHUNK_IDS];
        co_u32 n = sets_chunk_members(c, low);
        for (co_u32 j = 0; j < n && j < w->containers[i].card; j++)
            put16(at, j, low[j]);
    }
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static cohort_status write_all(struct writing *w, const uint64_t *which, uint64_t *offsets)
{
    cohort_sets_target *d = w->target;
    unsigned char *bytes = NULL;
    cohort_status status = COHORT_OK;
    offsets[0] = 0;
    for (uint64_t i = 0; i < d->n && !status; i++) {
        co_u64 set = which ? which[i] : i;
        if (set >= w->view.sets)
            return context_fail(
                w->context, COHORT_RANGE, "%s: target.which[%llu] is %llu; the collection has %llu %s", call,
                (unsigned long long)i, (unsigned long long)set, COUNTED(w->view.sets, "set", "sets"));
        status = describe(w, set);
        if (!status)
            status = check_width(w, i);
        if (!status)
            offsets[i + 1] = offsets[i] + roaring_bytes(w->containers, w->count, w->wide);
    }
    if (status)
        return status;
    d->total = offsets[d->n];
    if (d->members && d->total > d->capacity)
        return context_fail(w->context, COHORT_FULL, "%s: target.capacity is %llu; there are %llu bytes",
                            call, (unsigned long long)d->capacity, (unsigned long long)d->total);
    if (!d->members || !d->total)
        return COHORT_OK;
    int own = context_memory_kind(w->context, d->members) == MEMORY_HOST;
    bytes = own ? d->members : malloc(d->total);
    if (!bytes)
        return context_fail(w->context, COHORT_NO_MEMORY, "%s: no memory of the host for %llu bytes", call,
                            (unsigned long long)d->total);
    for (uint64_t i = 0; i < d->n && !status; i++) {
        status = describe(w, which ? which[i] : i);
        if (!status)
            roaring_write(w->containers, w->count, w->wide, bytes + offsets[i], fill, w);
    }
    if (!own) {
        if (!status)
            status = context_copy(w->context, d->members, bytes, d->total);
        free(bytes);
    }
    return status;
}

/* The array in host memory; *copy: what is to be freed. */
static cohort_status to_host(struct writing *w, const uint64_t *array, uint64_t n, const uint64_t **out,
                             void **copy)
{
    *out = array;
    *copy = NULL;
    if (!n || !array || context_memory_kind(w->context, array) == MEMORY_HOST)
        return COHORT_OK;
    *copy = malloc(n * sizeof *array);
    if (!*copy)
        return context_fail(w->context, COHORT_NO_MEMORY, "%s: no memory of the host for target.which", call);
    *out = *copy;
    return context_copy(w->context, *copy, array, n * sizeof *array);
}

static cohort_status export_with(struct writing *w)
{
    cohort_sets_target *d = w->target;
    const uint64_t *which = NULL;
    void *copy = NULL;
    uint64_t *offsets = d->n < SIZE_MAX / 8 - 1 ? malloc((d->n + 1) * sizeof *offsets) : NULL;
    if (!offsets)
        return context_fail(w->context, COHORT_NO_MEMORY, "%s: no memory of the host for %llu offsets", call,
                            (unsigned long long)d->n);
    cohort_status status = to_host(w, d->which, d->n, &which, &copy);
    if (!status)
        status = write_all(w, which, offsets);
    if (d->offsets && (!status || status == COHORT_FULL)) {
        cohort_status told = context_copy(w->context, d->offsets, offsets, (d->n + 1) * 8);
        status = status ? status : told;
    }
    free(copy);
    free(offsets);
    return status;
}

cohort_status sets_export_roaring(const cohort_sets *sets, cohort_sets_target *target)
{
    struct writing w;
    memset(&w, 0, sizeof w);
    w.context = sets->context;
    w.target = target;
    cohort_status status = target->blob_type
                               ? sets_check_type(w.context, call, "target.blob_type", target->blob_type)
                               : COHORT_OK;
    w.wide = target->blob_type ? target->blob_type == COHORT_U64 : (int)sets->view.wide;
    if (!status)
        status = sets_host_view(sets, &w.view, &w.copy);
    if (!status)
        status = export_with(&w);
    free(w.containers);
    free(w.chunks);
    free(w.copy);
    return status;
}
