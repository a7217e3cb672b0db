/* sets_query.c: queries: their checks, the one call of the backend, and the collection that may come of it.
 * */
#include "api/sets.h"

#include <stdlib.h>
#include <string.h>

struct querying {
    cohort_sets_query_desc desc;
    struct batch batch;
    struct sets_rooms rooms;
    struct sets_query query;
    struct batch_deferred *bad;
    co_u64 sets; /* operands there are */
};

static cohort_status enter(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->sets->query(context, step, arena);
}

/* ---- checks
 * -------------------------------------------------------------------------------------------------------------- */

static cohort_status check_numbers(const struct batch *b, const cohort_sets_query_desc *d)
{
    if ((int)d->op < COHORT_SETS_AND || (int)d->op > COHORT_SETS_AT_LEAST)
        return batch_fail(b, COHORT_RANGE, "desc.op is %d; there are %d to %d", (int)d->op, COHORT_SETS_AND,
                          COHORT_SETS_AT_LEAST);
    if (d->op == COHORT_SETS_AT_LEAST ? !d->least : d->least != 0)
        return batch_fail(b, COHORT_RANGE, "desc.least is %llu; it must be %s", (unsigned long long)d->least,
                          d->least ? "0 but with COHORT_SETS_AT_LEAST" : "1 or more");
    if (d->each > 2)
        return batch_fail(b, COHORT_RANGE, "desc.each is %u; it must be 0, 1 or 2", d->each);
    if (d->collections_count > COHORT_QUERY_SETS_MOST || d->working_count > COHORT_QUERY_SETS_MOST)
        return batch_fail(b, COHORT_RANGE, "desc.%s_count is %u; there are at most %u",
                          d->working_count > COHORT_QUERY_SETS_MOST ? "working" : "collections",
                          d->working_count > COHORT_QUERY_SETS_MOST ? d->working_count : d->collections_count,
                          COHORT_QUERY_SETS_MOST);
    if (!d->collections_count && !d->working_count)
        return batch_fail(b, COHORT_RANGE, "desc.collections_count is 0, and so is desc.working_count");
    if (d->each && !d->collections_count)
        return batch_fail(b, COHORT_RANGE, "desc.each is %u with desc.collections_count = 0", d->each);
    if (d->each && d->offsets)
        return batch_fail(b, COHORT_RANGE, "desc.each is %u, which has no use for desc.offsets", d->each);
    if (d->first_most && !d->first && !d->first_counts)
        return batch_fail(b, COHORT_NULL, "desc.first is NULL with desc.first_most = %llu",
                          (unsigned long long)d->first_most);
    if (!d->first_most && (d->first || d->first_counts))
        return batch_fail(b, COHORT_RANGE, "desc.first_most is 0 with desc.first given");
    return batch_check_n(b, d->rows);
}

static cohort_status check_collections(struct querying *k)
{
    const cohort_sets_query_desc *d = &k->desc;
    const struct batch *b = &k->batch;
    struct sets_query *q = &k->query;
    if (d->collections_count && !d->collections)
        return batch_fail(b, COHORT_NULL, "desc.collections is NULL with desc.collections_count = %u",
                          d->collections_count);
    q->collections = d->collections_count;
    for (uint32_t i = 0; i < d->collections_count; i++) {
        const cohort_sets *sets = d->collections[i];
        if (!sets)
            return batch_fail(b, COHORT_NULL, "desc.collections[%u] is NULL", i);
        if (sets->context != b->context)
            return batch_fail(b, COHORT_OTHER_CONTEXT, "desc.collections[%u] is of another context", i);
        if (i && sets->view.wide != q->wide)
            return batch_fail(b, COHORT_RANGE,
                              "desc.collections[%u] has members of %u bits, and those before it of %u", i,
                              sets->view.wide ? 64u : 32u, q->wide ? 64u : 32u);
        q->wide = sets->view.wide;
        q->view[i] = sets->view;
        q->first[i] = k->sets;
        k->sets += sets->view.sets;
    }
    for (uint32_t i = d->collections_count; i <= SETS_OPERANDS_MOST; i++)
        q->first[i] = k->sets;
    return COHORT_OK;
}

static cohort_status check_rows(struct querying *k)
{
    cohort_sets_query_desc *d = &k->desc;
    const struct batch *b = &k->batch;
    uint64_t all = k->query.view[0].sets;
    if (d->each) {
        if (d->rows && d->rows != all)
            return batch_fail(
                b, COHORT_RANGE,
                "desc.rows is %llu; with desc.each it must be 0, or the sets of desc.collections[0], %llu",
                (unsigned long long)d->rows, (unsigned long long)all);
        d->rows = all;
    }
    if (d->into && d->rows != 1)
        return batch_fail(b, COHORT_RANGE, "desc.rows is %llu; with desc.into it must be 1",
                          (unsigned long long)d->rows);
    if (!d->offsets && d->arity && !d->each && d->rows > UINT64_MAX / 16 / d->arity)
        return batch_fail(
            b, COHORT_OVERFLOW,
            "desc.rows is %llu and desc.arity %llu: so many members do not fit in 64 bits of bytes",
            (unsigned long long)d->rows, (unsigned long long)d->arity);
    if (d->first && d->first_most > UINT64_MAX / 16 / (d->rows ? d->rows : 1))
        return batch_fail(
            b, COHORT_OVERFLOW,
            "desc.first_most is %llu and desc.rows %llu: so many members do not fit in 64 bits of bytes",
            (unsigned long long)d->first_most, (unsigned long long)d->rows);
    return COHORT_OK;
}

/* The members' array is as long as the last of the offsets says. */
static cohort_status count_members(struct querying *k, uint64_t *count)
{
    const cohort_sets_query_desc *d = &k->desc;
    cohort_context *context = k->batch.context;
    enum memory_kind kind;
    *count = d->each ? d->arity : d->rows * d->arity;
    if (!d->offsets)
        return COHORT_OK;
    if (d->arity)
        return batch_fail(&k->batch, COHORT_RANGE, "desc.arity is %llu with desc.offsets",
                          (unsigned long long)d->arity);
    kind = context_memory_kind(context, d->offsets);
    *count = 0;
    if (kind != MEMORY_HOST || (uintptr_t)d->offsets % 8)
        return COHORT_OK; /* a GPU's own, which nobody waits for here; or batch_check tells */
    const uint64_t *offsets = d->offsets;
    if (offsets[0])
        return batch_fail(&k->batch, COHORT_RANGE, "desc.offsets[0] is %llu; it must be 0",
                          (unsigned long long)offsets[0]);
    for (uint64_t r = 0; r < d->rows; r++)
        if (offsets[r + 1] < offsets[r] || offsets[r + 1] > UINT64_MAX / 16)
            return batch_fail(&k->batch, COHORT_RANGE,
                              "desc.offsets[%llu] is %llu, and the one before is %llu",
                              (unsigned long long)r + 1, (unsigned long long)offsets[r + 1],
                              (unsigned long long)offsets[r]);
    *count = offsets[d->rows];
    return COHORT_OK;
}

static cohort_status list_arrays(struct querying *k)
{
    const cohort_sets_query_desc *d = &k->desc;
    struct sets_query *q = &k->query;
    struct batch *b = &k->batch;
    const unsigned out = BATCH_OUT | BATCH_OPTIONAL;
    uint64_t members = 0;
    cohort_status status = count_members(k, &members);
    if (status)
        return status;
    batch_array(b, "desc.members", BATCH_IN, d->members, members, 8, &q->members);
    if (d->offsets && d->rows)
        batch_array(b, "desc.offsets", BATCH_IN, d->offsets, d->rows + 1, 8, &q->offsets);
    batch_array(b, "desc.counts", out, d->counts, d->rows, 8, &q->counts);
    batch_array(b, "desc.any", out, d->any, batch_bitmap_words(d->rows), 4, &q->any);
    batch_array(b, "desc.first", out | BATCH_IN, d->first, d->rows * d->first_most, q->wide ? 8 : 4,
                &q->first_out);
    batch_array(b, "desc.first_counts", out, d->first_counts, d->rows, 8, &q->first_counts);
    return COHORT_OK;
}

/* ---- a collection for an answer
 * ---------------------------------------------------------------------------------------------- */

/* The backend's entry, with all of the workspace. */
static cohort_status again(struct querying *k)
{
    k->batch.arena.used = 0;
    return k->batch.enter(k->batch.context, &k->query, &k->batch.arena);
}

static cohort_status ask_rooms(struct querying *k, struct sets_found *f)
{
    memset(f, 0, sizeof *f);
    k->query.found = f;
    return again(k);
}

/* What a collection of so much at most would be. */
static struct sets_counts most_of(const struct querying *k, const struct sets_found *f)
{
    struct sets_counts n;
    memset(&n, 0, sizeof n);
    n.wide = k->query.wide;
    n.sets = n.large = k->query.rows;
    n.chunks = n.pairs = f->chunks;
    n.listed = f->listed;
    n.units = f->units;
    return n;
}

static cohort_status take_rooms(struct querying *k, struct sets_found *f)
{
    struct sets_rooms *rooms = &k->rooms;
    cohort_status status = sets_room(rooms, k->query.rows + 1, 8, &f->row_first);
    if (!status)
        status = sets_room(rooms, f->chunks + 1, 8, &f->cards);
    if (!status)
        status = sets_room(rooms, f->chunks, 8, &f->keys);
    if (!status)
        status = sets_room(rooms, f->chunks, 8, &f->places);
    return status ? status : sets_room(rooms, f->chunks, 8, &f->digests);
}

/* From what was found, whose members lie in the pool of `sets`, to the collection. */
static cohort_status collect(struct querying *k, struct sets_found *f, cohort_sets *room, cohort_sets **out)
{
    struct sets_step s;
    cohort_context *context = k->batch.context;
    memset(&s, 0, sizeof s);
    s.sets = k->query.rows;
    s.wide = k->query.wide;
    s.item = SETS_PLACED;
    s.found = f->chunks;
    s.sums = f->cards;
    s.keys = f->keys;
    s.found_places = f->places;
    s.found_digests = f->digests;
    s.set_first = f->row_first;
    s.placed = f->pool;
    s.counts.units = f->units;
    cohort_status status = sets_sum(context, s.sums, s.found, NULL);
    if (!status)
        status = sets_assemble(&k->rooms, &s, room, out);
    return status ? status : sets_do(context, &s, SETS_MEMBERS, s.found);
}

static cohort_status run_found(struct querying *k, cohort_sets **out)
{
    struct sets_found f;
    cohort_sets *room = NULL;
    cohort_status status = ask_rooms(k, &f);
    if (!status)
        status = take_rooms(k, &f);
    if (!status) {
        struct sets_counts most = most_of(k, &f);
        status = sets_new(k->batch.context, &most, &room);
    }
    if (!status) {
        f.pool = (void *)(uintptr_t)room->view.pool;
        status = again(k);
    }
    if (!status)
        status = collect(k, &f, room, out);
    if (*out != room)
        cohort_sets_destroy(room);
    return status;
}

/* ---- the call
 * ------------------------------------------------------------------------------------------------------------------ */

static cohort_status query_of(struct querying *k)
{
    cohort_sets_query_desc *d = &k->desc;
    struct sets_query *q = &k->query;
    struct batch *b = &k->batch;
    memset(q, 0, sizeof *q);
    k->sets = 0;
    b->enter = enter;
    b->step = q;
    b->step_bad = &k->bad;
    k->rooms = sets_rooms_begin(b->context);
    cohort_status status = check_numbers(b, d);
    if (!status)
        status = check_collections(k);
    if (!status)
        status = check_rows(k);
    if (status)
        return status;
    q->op = (co_u32)d->op;
    q->each = d->each;
    q->least = d->least;
    q->rows = d->rows;
    q->arity = d->arity;
    q->first_most = d->first_most;
    return list_arrays(k);
}

/* On the host the members are looked at here. */
static cohort_status check_members(const struct querying *k)
{
    const struct sets_query *q = &k->query;
    uint64_t count = k->batch.array[0].entries;
    if (!count || k->batch.array[0].kind != MEMORY_HOST)
        return COHORT_OK;
    for (uint64_t i = 0; i < count; i++)
        if (k->desc.members[i] >= k->sets)
            return batch_fail(&k->batch, COHORT_RANGE, "desc.members[%llu] is %llu; there are %llu sets",
                              (unsigned long long)i, (unsigned long long)k->desc.members[i],
                              (unsigned long long)k->sets);
    (void)q;
    return COHORT_OK;
}

static cohort_status query_run(struct querying *k)
{
    cohort_sets *out = NULL;
    struct batch *b = &k->batch;
    cohort_status status = batch_begin(b);
    if (!status) {
        k->query.first_bad = &k->bad->first_bad;
        status = k->desc.result ? run_found(k, &out) : again(k);
    }
    sets_rooms_end(&k->rooms);
    status = batch_end(b, status, NULL);
    if (status)
        cohort_sets_destroy(out);
    else if (k->desc.result)
        *k->desc.result = out;
    return status;
}

cohort_status cohort_sets_query(cohort_context *context, const cohort_sets_query_desc *desc)
{
    CALL(context);
    struct querying k;
    cohort_status status = batch_desc(&k.batch, context, "cohort_sets_query", desc, sizeof k.desc, &k.desc);
    if (status)
        return status;
    if (k.desc.result)
        *k.desc.result = NULL;
    status = query_of(&k);
    if (!status)
        status = batch_check(&k.batch);
    if (!status)
        status = check_members(&k);
    return status ? status : query_run(&k);
}
