/* map_combine.c: an apply of which equal keys come often: their entries become one before they go to the
 * map.
 *
 * The backend has tables in which entries are combined (backend/map.h). What comes out of it, entries that
 * found no room in a table and, at the end, what the tables hold, goes to the map as a batch of the same
 * operation, or of ADD where that was COUNT.
 *
 * Entries are combined for as long as that pays: while most of a stretch go on uncombined, the tables are
 * emptied, some entries go to the map as they are, and then a sample of those that are left tells again.
 *
 * What became of an entry. A slot never becomes free while entries are put in, and a map that could not
 * grow once does not grow later in the same call. So once a key has found no slot it finds none, and all
 * entries of one key share its fate, combined or not: those failed whose keys are not in the map when all
 * is done, and these are found by looking for them. One of the entries of a key that was put in has added
 * it, all others that did not fail are hits; which of them is not told, since nobody asks: a batch with a
 * bitmap of hits is not combined. Nor are keys of 16 bytes, for which there are no tables. */
#include <string.h>

#include "api/map_call.h"

#define LEAST (1ull << 14) /* entries of a batch */
#define STRETCH_FIRST \
    (1ull << 17) /* entries that are combined at a time, after which it is seen whether that pays, */
#define STRETCH     (1ull << 20) /* the longer it does the more, */
#define AS_THEY_ARE (1ull << 22) /* or that go to the map where it does not */

/* Of n entries these may go on uncombined: above the first, tables should be larger, above the second
 * there should be none. */
#define FEW(n)  ((n) / 64)
#define MOST(n) ((n) / 4 * 3)

struct combined {
    struct call *c;
    struct call rest; /* what goes to the map */
    struct combine work;
    const struct combine_ways *by;
    uint32_t *bits; /* a bit for each entry of the batch, or of what comes out of the tables */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void lay_out(struct combined *x, struct call *c, struct arena *arena)
{
    const struct map_batch *b = &c->batch;
    memset(x, 0, sizeof *x);
    x->c = c;
    x->by = map_backend_of(c->map)->combine;
    x->work.width = b->view.width;
    x->work.op = b->op;
    x->work.n = b->n;
    x->work.keys = b->keys;
    x->work.values = b->values;
    x->work.where = b->where;
    x->by->lay_out(c->map->context, &x->work, arena);
    x->bits = arena_take(arena, 4 * batch_bitmap_words(b->n > x->work.room ? b->n : x->work.room));
    x->rest = *c;
    x->rest.quiet = 1;
    x->rest.options.counts = NULL;
}

/* ---- to the map ---------------------------------------------------------------------------------------- */

/* The bitmap is there so that none has to be found on the way, for want of which entries would not be
 * tried. */
static cohort_status put(struct combined *x, co_u32 op, uint64_t n, const void *keys, const void *values,
                         const uint32_t *where)
{
    struct map_batch *b = &x->rest.batch;
    b->op = op;
    b->n = n;
    b->keys = keys;
    b->values = values;
    b->where = where;
    b->failed = x->bits;
    return n ? map_do_parts(&x->rest) : COHORT_OK;
}

static cohort_status put_out(struct combined *x)
{
    struct combine *w = &x->work;
    const uint64_t n = w->out;
    w->out = 0;
    return put(x, w->op == CO_OP_COUNT ? CO_OP_ADD : w->op, n, w->out_keys, w->out_values, NULL);
}

static cohort_status put_tables(struct combined *x)
{
    cohort_status s = COHORT_OK;
    for (int more = 1; more && !s;) {
        more = x->by->empty(x->c->map->context, &x->work);
        s = put_out(x);
    }
    return s;
}

static cohort_status put_as_they_are(struct combined *x, uint64_t begin, uint64_t n)
{
    const struct map_batch *b = &x->c->batch;
    const uint64_t key = map_key_bytes(b->view.width), value = map_value_bytes(b->view.width);
    return put(x, b->op, n, (const char *)b->keys + begin * key,
               b->values ? (const char *)b->values + begin * value : NULL,
               b->where ? b->where + begin / 32 : NULL);
}

/* ---- the batch ----------------------------------------------------------------------------------------- */

/* The first of two outcomes that is a failure. */
static cohort_status more_wrong(cohort_status a, cohort_status b)
{
    return a ? a : b;
}

/* Combines the entries from *begin on for as long as it pays. */
static cohort_status combine_on(struct combined *x, uint64_t *begin)
{
    struct combine *w = &x->work;
    cohort_context *context = x->c->map->context;
    uint64_t stretch = STRETCH_FIRST;
    cohort_status s = COHORT_OK;
    for (int worth = 1; worth && *begin < w->n && !s; stretch = least(2 * stretch, STRETCH)) {
        const uint64_t before = w->out, n = least(w->n - *begin, least(stretch, (w->room - before) & ~31ull));
        x->by->entries(context, w, *begin, *begin + n);
        *begin += n;
        if (w->out - before > FEW(n) && x->by->larger(context, w))
            s = put_tables(x);
        else
            worth = w->out - before < MOST(n);
        if (!s && w->room - w->out < w->room / 4 + 32)
            s = put_out(x);
        if (!s)
            s = context_progress(context, x->c->name, *begin, w->n);
    }
    return s && s != COHORT_CANCELLED ? s : more_wrong(s, put_tables(x));
}

static cohort_status do_all(struct combined *x)
{
    const uint64_t n = x->work.n;
    cohort_context *context = x->c->map->context;
    cohort_status s = COHORT_OK;
    for (uint64_t begin = 0; begin < n && !s;) {
        s = combine_on(x, &begin);
        for (int pays = 0; begin < n && !s && !pays;) {
            const uint64_t some = least(n - begin, AS_THEY_ARE);
            s = put_as_they_are(x, begin, some);
            begin += some;
            pays = begin < n && x->by->pays(context, &x->work, begin);
            if (!s)
                s = context_progress(context, x->c->name, begin, n);
        }
    }
    return s;
}

/* ---- what became of the entries ------------------------------------------------------------------------ */

static uint32_t word_of(const uint32_t *bits, uint64_t word, uint64_t n)
{
    uint32_t all = n - 32 * word < 32 ? (1u << (n - 32 * word)) - 1 : ~0u;
    return bits ? bits[word] & all : all;
}

/* Looks for all keys. Those that are not there failed. */
static cohort_status find_failed(struct combined *x)
{
    struct map_batch b = x->c->batch;
    struct call *c = x->c;
    b.view = c->map->view;
    b.op = CO_OP_FIND;
    b.has_fallback = 0;
    b.values = NULL;
    b.failed = NULL;
    b.hit = x->bits;
    b.counts = NULL;
    b.deferred = &c->map->context->outcome->now;
    cohort_status s = map_backend_of(c->map)->batch(c->map->context, &b, c->memory);
    for (uint64_t w = 0; w < batch_bitmap_words(b.n) && !s; w++) {
        uint32_t failed = word_of(b.where, w, b.n) & ~x->bits[w];
        c->counts.failed += (unsigned)__builtin_popcount(failed);
        if (failed && c->counts.first_failed == ~0ull)
            c->counts.first_failed = 32 * w + (unsigned)__builtin_ctz(failed);
        if (c->batch.failed)
            c->batch.failed[w] = failed;
    }
    return s;
}

static cohort_status tell(struct combined *x)
{
    struct call *c = x->c;
    const uint64_t words = batch_bitmap_words(c->batch.n);
    cohort_status s = COHORT_OK;
    for (uint64_t w = 0; w < words; w++)
        c->counts.taken += (unsigned)__builtin_popcount(word_of(c->batch.where, w, c->batch.n));
    c->counts.added = x->rest.counts.added;
    if (x->rest.counts.failed)
        s = find_failed(x);
    else if (c->batch.failed)
        memset(c->batch.failed, 0, 4 * words);
    c->counts.hits = c->counts.taken - c->counts.added - c->counts.failed;
    c->denied = x->rest.denied;
    c->refused = x->rest.refused;
    return s;
}

cohort_status map_combine(struct call *c, int *done)
{
    cohort_context *context = c->map->context;
    struct combined x;
    struct arena arena = {.asks = 1};
    void *memory;
    *done = 0;
    if (!map_backend_of(c->map)->combine || c->map->options.width == COHORT_WIDTH_128_64 ||
        c->batch.n < LEAST || c->batch.hit || c->options.one_by_one ||
        c->memory != context->backend->own_memory)
        return COHORT_OK;
    lay_out(&x, c, &arena);
    if (pool_take(context, arena.used, &memory))
        return COHORT_OK;
    arena = (struct arena){.memory = memory};
    lay_out(&x, c, &arena);
    cohort_status s = COHORT_OK;
    if (x.by->pays(context, &x.work, 0)) {
        *done = 1;
        s = do_all(&x);
        if (!s)
            s = tell(&x);
    }
    pool_give(context, memory);
    return s;
}
