/* sets_query.c: queries: their checks, the one call of the backend, and the collection that may come of it.
 * */
#include "api/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct querying {
    cohort_sets_query_desc desc;
    struct batch batch;
    struct sets_rooms rooms;
    struct sets_query query;
    struct sets_found found; /* of a collection for an answer */
    struct batch_deferred *bad;
    co_u64 sets;          /* operands there are */
    cohort_sets *working; /* the working sets, as a collection */
};

static cohort_status enter(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->sets->query(context, step, arena);
}

/* ---- checks -------------------------------------------------------------------------------------------- */

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
    return COHORT_OK;
}

/* A working set of the query. Of `into` the number is -1. */
static cohort_status check_set(const struct querying *k, int i, const cohort_set *set)
{
    const struct batch *b = &k->batch;
    char name[32] = "desc.into";
    if (i >= 0)
        snprintf(name, sizeof name, "desc.working[%d]", i);
    if (!set)
        return batch_fail(b, COHORT_NULL, "%s is NULL", name);
    if (set->context != b->context)
        return batch_fail(b, COHORT_OTHER_CONTEXT, "%s is of another context", name);
    if (set->state.view.wide != k->query.wide)
        return batch_fail(b, COHORT_RANGE, "%s has members of %u bits, and other sets of %u", name,
                          set->state.view.wide ? 64u : 32u, k->query.wide ? 64u : 32u);
    return COHORT_OK;
}

/* Working sets are numbered behind the collections. Their view comes later. */
static cohort_status check_working(struct querying *k)
{
    const cohort_sets_query_desc *d = &k->desc;
    const struct batch *b = &k->batch;
    struct sets_query *q = &k->query;
    cohort_status status = COHORT_OK;
    if (d->working_count && !d->working)
        return batch_fail(b, COHORT_NULL, "desc.working is NULL with desc.working_count = %u",
                          d->working_count);
    for (uint32_t i = 0; i < d->working_count && !status; i++) {
        if (!i && !d->collections_count && d->working[0])
            q->wide = d->working[0]->state.view.wide;
        status = check_set(k, (int)i, d->working[i]);
    }
    if (!status && d->into)
        status = check_set(k, -1, d->into);
    q->first[q->collections] = k->sets;
    q->collections += d->working_count > 0;
    k->sets += d->working_count;
    for (uint32_t i = q->collections; i <= SETS_OPERANDS_MOST; i++)
        q->first[i] = k->sets;
    return status;
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
    batch_bitmap(b, "desc.any", out, d->any, d->any_offset, d->rows, &q->any)->bits_flags |= BITS_WHOLE;
    batch_array(b, "desc.first", out | BATCH_IN, d->first, d->rows * d->first_most, q->wide ? 8 : 4,
                &q->first_out);
    batch_array(b, "desc.first_counts", out, d->first_counts, d->rows, 8, &q->first_counts);
    return COHORT_OK;
}

/* ---- a collection for an answer ------------------------------------------------------------------------ */

/* The backend's entry, with all of the workspace. */
static cohort_status again(struct querying *k)
{
    k->batch.arena.used = 0;
    return k->batch.enter(k->batch.context, &k->query, &k->batch.arena);
}

static cohort_status run_found(struct querying *k, cohort_sets **out)
{
    cohort_sets *room = NULL;
    const struct sets_query *q = &k->query;
    cohort_status status = again(k); /* what room there must be */
    if (!status)
        status = sets_found_rooms(&k->rooms, &k->found, q->rows, q->wide, &room);
    if (!status)
        status = again(k);
    return sets_found_end(&k->rooms, status, &k->found, q->rows, q->wide, room, out);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static cohort_status query_of(struct querying *k)
{
    cohort_sets_query_desc *d = &k->desc;
    struct sets_query *q = &k->query;
    struct batch *b = &k->batch;
    memset(q, 0, sizeof *q);
    k->sets = 0;
    k->working = NULL;
    b->enter = enter;
    b->step = q;
    b->step_bad = &k->bad;
    k->rooms = sets_rooms_begin(b->context);
    cohort_status status = check_numbers(b, d);
    if (!status)
        status = check_collections(k);
    if (!status)
        status = check_working(k);
    if (!status)
        status = check_rows(k);
    if (status)
        return status;
    if (d->result || d->into) {
        memset(&k->found, 0, sizeof k->found);
        q->found = &k->found;
    }
    q->op = (co_u32)d->op;
    q->each = d->each;
    q->least = d->least;
    q->rows = d->rows;
    q->arity = d->arity;
    q->first_most = d->first_most;
    return list_arrays(k);
}

/* Is one of these no set's number? Sets are fewer than 2^63, so the sign of a difference tells. */
static int is_beyond(const uint64_t *members, uint64_t count, uint64_t sets)
{
    uint64_t signs = sets ? 0 : ~0ull;
    for (uint64_t i = 0; i < count; i++)
        signs |= members[i] | (sets - 1 - members[i]);
    return (int)(signs >> 63);
}

/* On the host the members are looked at here. */
static cohort_status check_members(const struct querying *k)
{
    uint64_t count = k->batch.array[0].entries;
    if (!count || k->batch.array[0].kind != MEMORY_HOST || !is_beyond(k->desc.members, count, k->sets))
        return COHORT_OK;
    for (uint64_t i = 0; i < count; i++)
        if (k->desc.members[i] >= k->sets)
            return batch_fail(&k->batch, COHORT_RANGE, "desc.members[%llu] is %llu; the query has %llu %s",
                              (unsigned long long)i, (unsigned long long)k->desc.members[i],
                              COUNTED(k->sets, "set", "sets"));
    return COHORT_OK;
}

/* The working sets, which become the last of the collections. */
static cohort_status take_working(struct querying *k)
{
    const cohort_sets_query_desc *d = &k->desc;
    if (!d->working_count)
        return COHORT_OK;
    cohort_status status =
        set_collection(k->batch.context, d->working, d->working_count, k->query.wide, &k->working);
    if (!status)
        k->query.view[k->query.collections - 1] = k->working->view;
    return status;
}

static cohort_status query_run(struct querying *k)
{
    cohort_sets *out = NULL;
    struct batch *b = &k->batch;
    int done = 0;
    cohort_status status =
        set_in_place(b->context, b->call, &k->desc, k->sets - k->desc.working_count, &done);
    if (status || done)
        return status;
    status = take_working(k);
    if (!status)
        status = batch_begin(b);
    if (!status) {
        k->query.first_bad = &k->bad->first_bad;
        status = k->desc.result || k->desc.into ? run_found(k, &out) : again(k);
    }
    sets_rooms_end(&k->rooms);
    cohort_sets_destroy(k->working);
    if (!status && k->desc.into)
        status = set_change(k->desc.into, b->call, SET_ASSIGN, 1, out, 0);
    status = batch_end(b, status, NULL);
    if (status || !k->desc.result)
        cohort_sets_destroy(out);
    else
        *k->desc.result = out;
    return status;
}

cohort_status cohort_sets_query(cohort_context *context, const cohort_sets_query_desc *desc)
{
    CALL(context);
    struct querying k;
    if (set_at_once(context, desc))
        return COHORT_OK;
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
