/* sets_containing.c: which sets contain values: the checks, the one call of the backend, and the index of a
 * collection, which is made when it is first needed (shape/sets_index.h).
 *
 * Making it. Each chunk of the directory and each member of a list gets its set put beside it. Both are then
 * sorted, chunks by key and members by value; sorts are stable, and so sets stay in order among equals. The
 * least and greatest of each are read, which says how the table is cut into spans. What the sorts write is
 * the index; nothing of the collection is changed. */
#include "api/sets.h"

#include <string.h>

/* ---- the index ----------------------------------------------------------------------------------------- */

/* The parts of an index, in one piece of memory. */
struct parts {
    void *chunk_keys, *chunk_owners, *digests, *places, *chunk_firsts;
    void *listed_keys, *listed_owners, *listed_firsts;
};

static void parts_take(struct arena *arena, const struct sets_counts *n, uint64_t owner, struct parts *p)
{
    const uint64_t chunk_spans = sets_spans_most(n->chunks, 1) + 1;
    const uint64_t listed_spans = sets_spans_most(n->listed, SETS_SPAN_OF_LISTS) + 1;
    const uint64_t key = n->wide ? 8 : 4;
    p->chunk_keys = arena_take(arena, n->chunks * key);
    p->chunk_owners = arena_take(arena, n->chunks * owner);
    p->digests = arena_take(arena, n->chunks * 8);
    p->places = arena_take(arena, n->chunks * 8);
    p->chunk_firsts = arena_take(arena, chunk_spans * 8);
    p->listed_keys = arena_take(arena, n->listed * key);
    p->listed_owners = arena_take(arena, n->listed * owner);
    p->listed_firsts = arena_take(arena, listed_spans * 8);
}

static void add_column(struct sort *sort, const void *in, void *out, uint64_t bytes)
{
    struct batch_column *c = &sort->column[sort->columns++];
    c->in = in;
    c->out = out;
    c->bytes = (co_u32)bytes;
}

static cohort_status sort_chunks(struct sets_rooms *rooms, const cohort_sets *sets,
                                 const struct sets_index_step *s, const struct parts *p)
{
    const co_u32 bits = (sets->view.wide ? 64u : 32u) - CO_CHUNK_BITS;
    struct sort sort =
        sets_sort_of(sets->counts.chunks, (int)sets->view.wide, bits, s->chunk_keys, p->chunk_keys);
    add_column(&sort, sets->view.digests, p->digests, 8);
    add_column(&sort, sets->view.places, p->places, 8);
    add_column(&sort, s->chunk_owners, p->chunk_owners, s->owner_bytes);
    return sets_sort(rooms, &sort);
}

static cohort_status sort_listed(struct sets_rooms *rooms, const cohort_sets *sets,
                                 const struct sets_index_step *s, const struct parts *p)
{
    struct sort sort = sets_sort_of(sets->counts.listed, (int)sets->view.wide, sets->view.wide ? 64 : 32,
                                    sets->view.lists, p->listed_keys);
    add_column(&sort, s->listed_owners, p->listed_owners, s->owner_bytes);
    return sets_sort(rooms, &sort);
}

/* Chunks and members in order, with their sets. */
static cohort_status sort_all(struct sets_rooms *rooms, const cohort_sets *sets, struct sets_index_step *s,
                              const struct parts *p)
{
    const struct sets_counts *n = &sets->counts;
    cohort_status status = sets_room(rooms, n->chunks, n->wide ? 8 : 4, &s->chunk_keys);
    if (!status)
        status = sets_room(rooms, n->chunks, s->owner_bytes, &s->chunk_owners);
    if (!status)
        status = sets_room(rooms, n->listed, s->owner_bytes, &s->listed_owners);
    s->items = n->sets;
    if (!status)
        status = rooms->context->backend->sets->index(rooms->context, s, SETS_INDEX_OWNERS);
    if (!status)
        status = sort_chunks(rooms, sets, s, p);
    return status ? status : sort_listed(rooms, sets, s, p);
}

static cohort_status read_key(cohort_context *context, const struct sets_table *t, co_u64 i, co_u64 *key)
{
    *key = 0; /* of 4 bytes the lower half is read: the host's least byte comes first */
    return context_copy(context, key, (const char *)t->keys + i * (t->wide ? 8 : 4), t->wide ? 8 : 4);
}

/* A sorted table is cut into spans. */
static cohort_status cut(cohort_context *context, struct sets_index_step *s, struct sets_table *t,
                         uint64_t each)
{
    co_u64 least, greatest;
    if (!t->n)
        return COHORT_OK;
    cohort_status status = read_key(context, t, 0, &least);
    if (!status)
        status = read_key(context, t, t->n - 1, &greatest);
    if (status)
        return status;
    sets_table_cut(t, least, greatest, sets_spans_most(t->n, each));
    s->table = *t;
    s->items = t->spans + 1;
    return context->backend->sets->index(context, s, SETS_INDEX_SPANS);
}

static struct sets_table table_of(co_u64 n, co_u32 wide, const void *keys, const void *owners, void *firsts)
{
    struct sets_table t;
    memset(&t, 0, sizeof t);
    t.n = n;
    t.wide = wide;
    t.keys = keys;
    t.owners = owners;
    t.firsts = firsts;
    return t;
}

static cohort_status index_fill(struct sets_rooms *rooms, const cohort_sets *sets, const struct parts *p,
                                struct sets_index *x)
{
    const struct sets_counts *n = &sets->counts;
    struct sets_index_step s;
    memset(&s, 0, sizeof s);
    s.view = sets->view;
    s.owner_bytes = x->owner_bytes;
    cohort_status status = sort_all(rooms, sets, &s, p);
    x->digests = p->digests;
    x->places = p->places;
    x->chunks = table_of(n->chunks, n->wide, p->chunk_keys, p->chunk_owners, p->chunk_firsts);
    x->listed = table_of(n->listed, n->wide, p->listed_keys, p->listed_owners, p->listed_firsts);
    if (!status)
        status = cut(rooms->context, &s, &x->chunks, 1);
    return status ? status : cut(rooms->context, &s, &x->listed, SETS_SPAN_OF_LISTS);
}

/* The collection has its index. Waits where it is made. */
static cohort_status index_make(cohort_sets *sets)
{
    cohort_context *context = sets->context;
    struct sets_rooms rooms = sets_rooms_begin(context);
    struct sets_index x;
    struct arena asked = {.asks = 1}, given = {NULL, 0, 0};
    struct parts parts;
    void *memory = NULL;
    if (sets->index_memory)
        return COHORT_OK;
    memset(&x, 0, sizeof x);
    x.owner_bytes = sets->counts.sets >> 32 ? 8 : 4;
    parts_take(&asked, &sets->counts, x.owner_bytes, &parts);
    cohort_status status = pool_take(context, asked.used, &memory);
    given.memory = memory;
    parts_take(&given, &sets->counts, x.owner_bytes, &parts);
    if (!status)
        status = index_fill(&rooms, sets, &parts, &x);
    sets_rooms_end(&rooms);
    if (!status)
        status = context_wait(context);
    if (status) {
        pool_give(context, memory);
        return status;
    }
    sets->index = x;
    sets->index_memory = memory;
    sets->index_bytes = asked.used;
    return COHORT_OK;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

struct question {
    cohort_sets_containing_desc desc;
    struct batch batch;
    struct sets_containing q;
};

static cohort_status enter(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->sets->containing(context, step, arena);
}

static void list_arrays(struct question *k)
{
    const cohort_sets_containing_desc *d = &k->desc;
    struct sets_containing *q = &k->q;
    struct batch *b = &k->batch;
    const unsigned flags = BATCH_OUT | BATCH_OPTIONAL;
    batch_array(b, "desc.values", BATCH_IN, d->values, d->n, q->view.wide ? 8 : 4, &q->values);
    batch_array(b, "desc.counts", flags, d->counts, d->n, 8, &q->counts);
    batch_array(b, "desc.offsets", flags, d->offsets, d->n + 1, 8, &q->offsets);
    batch_array(b, "desc.total", flags | BATCH_EITHER, d->total, 1, 8, &q->total);
    batch_array(b, "desc.sets", flags | BATCH_PARTLY, d->sets, d->capacity, 8, &q->sets)->written =
        BATCH_SOME;
}

/* Of what comes back from workspace it must be known how much it is. */
static cohort_status ask(struct question *k)
{
    struct batch *b = &k->batch;
    struct sets_containing *q = &k->q;
    uint64_t written[BATCH_WRITTEN_KINDS] = {0, 0, 0}, total = 0;
    cohort_status status = batch_begin(b);
    if (b->waits && !q->total)
        q->total = &b->context->outcome->cursor;
    if (!status)
        status = b->enter(b->context, q, &b->arena);
    if (!status && b->waits) {
        status = context_copy(b->context, &total, q->total, sizeof *q->total);
        written[BATCH_SOME] = total > q->first ? total - q->first : 0;
        if (written[BATCH_SOME] > q->capacity)
            written[BATCH_SOME] = q->capacity;
    }
    return batch_end(b, status, written);
}

cohort_status cohort_sets_containing(cohort_sets *sets, const cohort_sets_containing_desc *desc)
{
    CALL_ON(sets);
    static const char call[] = "cohort_sets_containing";
    struct question k;
    if (!sets)
        return context_fail(NULL, COHORT_NULL, "%s: sets is NULL", call);
    cohort_status status = batch_desc(&k.batch, sets->context, call, desc, sizeof k.desc, &k.desc);
    if (!status)
        status = batch_check_n(&k.batch, k.desc.n);
    if (!status && k.desc.capacity > UINT64_MAX / 16)
        status = batch_fail(&k.batch, COHORT_OVERFLOW,
                            "desc.capacity is %llu; so many entries do not fit in "
                            "64 bits of bytes",
                            (unsigned long long)k.desc.capacity);
    if (status)
        return status;
    memset(&k.q, 0, sizeof k.q);
    k.q.view = sets->view;
    k.q.n = k.desc.n;
    k.q.first = k.desc.first;
    k.q.capacity = k.desc.sets ? k.desc.capacity : 0;
    k.batch.enter = enter;
    k.batch.step = &k.q;
    list_arrays(&k);
    status = batch_check(&k.batch);
    if (!status)
        status = index_make(sets);
    k.q.index = sets->index;
    return status ? status : ask(&k);
}
