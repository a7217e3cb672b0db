/* cpu/map_share.c: a batch of one operation that is too small for the way by ranges (map_pages.c), by threads
 * of which each has pages of its own.
 *
 * Every thread goes through the whole batch, tells by the hashes which entries' walks begin in its pages, and
 * puts these side by side in a room in its first caches; whenever there are some thousands, it does them as
 * one thread alone does, by plain stores. Nothing is moved through memory, and there are no atomics; but
 * every thread looks at all entries, which costs a tenth of doing one. So it pays for batches that are the
 * smaller, the more threads there are.
 *
 * Equal keys are one thread's and in the batch's order, or backward, as there. Entries that would leave their
 * page are left out, too, and done one by one among threads, by the protocol, when all the others are. What
 * an entry met goes back to its place in the batch at once; a bitmap's word is several threads', so they add
 * to it. */
#include "map.h"
#include "split.h"

#include <string.h>

#define LEAST  8192u                       /* entries of a batch; fewer are one thread's */
#define EACH   4096u                       /* of them a thread, at least */
#define STEP   1024u                       /* entries that are looked at at a time */
#define ENOUGH 2048u                       /* own entries that are done at a time */
#define ROOM   (ENOUGH + STEP + CPU_GROUP) /* a group behind them may be written */

struct plan {
    struct map_batch batch;
    const struct cpu_map_loops *loops;
    co_u64 shares;
    co_u64 left;   /* entries left out; atomic */
    co_u32 *again; /* they */
    char *own;     /* a room a worker, */
    co_u64 each;   /* of so many bytes */
};

/* A worker's room, and its pages. */
struct own {
    struct cpu_share share;
    co_u32 *hit, *out; /* entries of it that hit, and that are left out */
    co_u32 count;
};

static co_u64 least(co_u64 a, co_u64 b)
{
    return a < b ? a : b;
}

static co_u64 shares_of(cohort_context *context, const struct map_batch *b)
{
    return least(least(cpu_device(context)->threads, b->n / EACH), b->view.pages / 2);
}

int cpu_map_share_pays(cohort_context *context, const struct map_batch *b)
{
    const co_u64 shares = shares_of(context, b);
    return b->step == MAP_STEP_APPLY && b->op != CO_OP_FIND && b->n > LEAST && shares > 1 &&
           b->n <= cpu_device(context)->most_looks / shares;
}

static void own_room(const struct map_batch *b, struct arena *arena, struct own *own)
{
    memset(own, 0, sizeof *own);
    own->share.keys = arena_take(arena, (co_u64)ROOM * map_key_bytes(b->view.width));
    own->share.values =
        arena_take(arena, b->values || b->results ? (co_u64)ROOM * map_value_bytes(b->view.width) : 0);
    own->share.index = arena_take(arena, 4ull * ROOM);
    own->hit = arena_take(arena, 4 * batch_bitmap_words(ROOM));
    own->out = arena_take(arena, 4 * batch_bitmap_words(ROOM));
}

static void lay_out(cohort_context *context, struct plan *p, const struct map_batch *b, struct arena *arena)
{
    struct arena piece = {.memory = NULL};
    struct own own;
    memset(p, 0, sizeof *p);
    p->batch = *b;
    p->loops = cpu_map_loops(context);
    p->shares = shares_of(context, b);
    own_room(b, &piece, &own);
    p->each = piece.used;
    p->own = arena_take(arena, p->each * cpu_device(context)->threads);
    p->again = arena_take(arena, 4 * batch_bitmap_words(b->n));
}

/* ---- a share ------------------------------------------------------------------------------------------- */

/* Adds those whose bit is set to a bitmap of the batch, a word at a time. */
static void add_bits(co_u32 *to, const co_u32 *bits, const struct own *own)
{
    co_u64 word = own->share.base / 32;
    co_u32 sum = 0;
    for (co_u32 k = 0; k < own->count; k++) {
        const co_u64 i = own->share.base + own->share.index[k];
        if (i / 32 != word && sum) {
            co_or32(to + word, sum);
            sum = 0;
        }
        word = i / 32;
        sum |= (bits[k / 32] >> k % 32 & 1) << i % 32;
    }
    if (sum)
        co_or32(to + word, sum);
}

/* Values to where they are wanted, but for what is left out. */
static void give_values(const struct map_batch *b, const struct own *own)
{
    const co_u32 *four = own->share.values;
    const co_u64 *eight = own->share.values;
    for (co_u32 k = 0; k < own->count; k++) {
        const co_u64 i = own->share.base + own->share.index[k];
        if (own->out[k / 32] >> k % 32 & 1)
            continue;
        if (map_value_bytes(b->view.width) == 4)
            ((co_u32 *)b->results)[i] = four[k];
        else
            ((co_u64 *)b->results)[i] = eight[k];
    }
}

/* Those in the room are done. */
static void do_own(struct plan *p, struct own *own, struct cpu_report *report)
{
    struct map_batch b = p->batch;
    const co_u64 failed = report->failed, hits = report->hits;
    b.n = own->count;
    b.keys = own->share.keys;
    b.values = b.values ? own->share.values : NULL;
    b.results = b.results ? own->share.values : NULL;
    b.where = NULL;
    b.join = 0;
    b.hit = b.hit ? own->hit : NULL;
    b.failed = own->out;
    p->loops->batch[b.view.width](&b, 0, b.n, CPU_OWNER, NULL, report);
    if (b.hit && report->hits != hits)
        add_bits(p->batch.hit, own->hit, own);
    if (report->failed != failed)
        add_bits(p->again, own->out, own);
    if (b.results && map_value_bytes(b.view.width))
        give_values(&p->batch, own);
    own->count = 0;
}

/* What is left out is counted when it is done. */
static void tell(struct plan *p, struct cpu_report *report)
{
    if (report->failed)
        co_add64(&p->left, report->failed);
    report->taken -= report->failed;
    report->failed = 0;
    report->first_full = ~0ull;
    cpu_map_report(&p->batch, report);
}

/* A stretch of the batch; backward what is put side by side is done at once, so that nothing that comes later
 * lies behind it. */
static void do_piece(struct plan *p, struct own *own, const struct cpu_piece *piece,
                     struct cpu_report *report)
{
    const struct map_batch *b = &p->batch;
    const int back = map_goes_backward(b->rank, b->op);
    const co_u64 steps = (piece->end - piece->begin + STEP - 1) / STEP;
    own->share.base = piece->begin;
    for (co_u64 k = 0; k < steps; k++) {
        const co_u64 begin = piece->begin + (back ? steps - 1 - k : k) * STEP,
                     end = least(begin + STEP, piece->end);
        own->count = p->loops->share[b->view.width](b, begin, end, &own->share, own->count);
        if (back || own->count >= ENOUGH)
            do_own(p, own, report);
    }
    do_own(p, own, report);
}

static void do_shares(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct plan *p = arg;
    const co_u64 pages = p->batch.view.pages;
    struct arena arena = {.memory = p->own + worker * p->each};
    struct own own;
    own_room(&p->batch, &arena, &own);
    for (co_u64 share = begin; share < end; share++) {
        struct cpu_piece piece = {0, 0};
        own.share.first = pages * share / p->shares;
        own.share.pages = pages * (share + 1) / p->shares - own.share.first;
        while (cpu_map_piece(&p->batch, 0, p->batch.n, &piece)) {
            struct cpu_report report = {.first_full = ~0ull, .first_bad = ~0ull};
            do_piece(p, &own, &piece, &report);
            tell(p, &report);
        }
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

cohort_status cpu_map_share(cohort_context *context, const struct map_batch *batch, struct arena *arena)
{
    struct plan plan;
    struct map_batch *b = &plan.batch;
    lay_out(context, &plan, batch, arena);
    if (arena->asks)
        return COHORT_OK;
    memset(plan.again, 0, 4 * batch_bitmap_words(b->n));
    if (b->failed)
        memset(b->failed, 0, 4 * batch_bitmap_words(b->n));
    if (b->hit && !b->join)
        memset(b->hit, 0, 4 * batch_bitmap_words(b->n));
    cpu_parallel(context, plan.shares, 1, do_shares, &plan);
    if (!plan.left)
        return COHORT_OK;
    b->where = plan.again;
    b->join = 1;
    return cpu_map_batch(context, b, MEMORY_HOST);
}
