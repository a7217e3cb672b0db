/* cpu/multisplit.c: multisplit and histogram on the host's threads.
 *
 * Up to 2,048 buckets one pass of split_pass.c does it. More buckets are split twice, by the low and then by
 * the high half of the id: both passes are stable, so the second leaves each bucket in input order. The ids
 * are then made once: their low halves are kept beside the keys, their high halves are moved along by the
 * first pass as one more array, and the offsets come from counting whole ids meanwhile. Functions that cost
 * much keep their ids too when one pass is enough.
 *
 * Bad ids have a bucket of their own behind the last, which is counted and moved nowhere. All methods are
 * this one. */
#include "backend/multisplit.h"
#include "split.h"

#include <string.h>

#define GRAIN 16384u /* entries whose ids a thread makes at a time, a multiple of CPU_IDS */
#define LANED 512u   /* buckets up to which ids are counted in four lanes */
#define LANES 4u

/* What the caller's progress function is told. */
static const char what[] = "multisplit";

/* Making of ids: counted, kept, or both. */
struct making {
    const char *what;
    struct cpu_ids ids;
    co_u32 buckets, low_bits; /* low_bits 0: kept whole */
    co_u16 *low, *high;       /* NULL: not kept */
    co_u64 *tables;           /* LANES rows or one a worker, of `stride`; NULL: not counted */
    co_u64 stride;
    co_u32 lanes, threads;
    co_u64 *firsts; /* a worker's first bad entry */
};

static void making_arena(cohort_context *context, struct making *m, const struct split *s,
                         struct arena *arena)
{
    m->ids = (struct cpu_ids){&s->fn, &s->source, s->keys, s->key_bytes, cpu_device(context)->level};
    m->buckets = s->fn.buckets;
    m->threads = cpu_device(context)->threads;
    m->lanes = m->buckets <= LANED ? LANES : 1;
    m->stride = (m->buckets + 1 + 7) / 8 * 8;
    m->tables = arena_take(arena, 8ull * m->threads * m->lanes * m->stride);
    m->firsts = arena_take(arena, 64ull * m->threads);
}

static void count_ids(const struct making *m, const co_u32 *restrict ids, co_u32 n, co_u64 *restrict table)
{
    co_u64 *t1 = table + (m->lanes > 1 ? m->stride : 0), *t2 = t1 + (t1 - table), *t3 = t2 + (t1 - table);
    co_u32 i = 0, most = m->buckets;
    for (; i + 4 <= n; i += 4) {
        table[ids[i] < most ? ids[i] : most]++;
        t1[ids[i + 1] < most ? ids[i + 1] : most]++;
        t2[ids[i + 2] < most ? ids[i + 2] : most]++;
        t3[ids[i + 3] < most ? ids[i + 3] : most]++;
    }
    for (; i < n; i++)
        table[ids[i] < most ? ids[i] : most]++;
}

static void keep_ids(const struct making *m, const co_u32 *restrict ids, co_u32 n, co_u64 first)
{
    co_u16 *restrict low = m->low + first, *restrict high = m->high;
    co_u32 most = m->buckets, bits = m->low_bits, mask = (1u << bits) - 1;
    if (!high) {
        for (co_u32 i = 0; i < n; i++)
            low[i] = (co_u16)(ids[i] < most ? ids[i] : most);
        return;
    }
    high += first;
    for (co_u32 i = 0; i < n; i++) {
        low[i] = (co_u16)(ids[i] < most ? ids[i] & mask : mask + 1);
        high[i] = (co_u16)(ids[i] >> bits);
    }
}

static co_u64 first_bad(const struct making *m, const co_u32 *ids, co_u32 n, co_u64 first)
{
    co_u32 bad = 0;
    for (co_u32 i = 0; i < n; i++)
        bad |= ids[i] >= m->buckets;
    if (!bad)
        return ~0ull;
    for (co_u32 i = 0;; i++)
        if (ids[i] >= m->buckets)
            return first + i;
}

static void make_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct making *m = arg;
    co_u32 ids[CPU_IDS], n;
    for (co_u64 i = begin; i < end; i += n) {
        n = end - i < CPU_IDS ? (co_u32)(end - i) : CPU_IDS;
        cpu_ids(&m->ids, i, n, ids);
        if (m->low)
            keep_ids(m, ids, n, i);
        if (!m->tables)
            continue;
        count_ids(m, ids, n, m->tables + worker * m->lanes * m->stride);
        co_u64 bad = first_bad(m, ids, n, i);
        if (bad < m->firsts[worker * 8])
            m->firsts[worker * 8] = bad;
    }
}

/* Makes the ids of n keys; bins, where not NULL, gets how many have each, and *first the first bad one's
 * index. */
static cohort_status make_ids(cohort_context *context, struct making *m, co_u64 n, co_u64 *bins, co_u64 *bad,
                              co_u64 *first)
{
    if (!bins)
        m->tables = NULL;
    else
        memset(m->tables, 0, 8ull * m->threads * m->lanes * m->stride);
    memset(m->firsts, 0xff, 64ull * m->threads);
    cohort_status s = cpu_parallel_told(context, m->what, n, GRAIN, make_range, m);
    if (s || !bins)
        return s;
    *bad = 0;
    *first = ~0ull;
    for (co_u32 b = 0; b <= m->buckets; b++) {
        co_u64 sum = 0;
        for (co_u32 row = 0; row < m->threads * m->lanes; row++)
            sum += m->tables[row * m->stride + b];
        *(b < m->buckets ? &bins[b] : bad) = sum;
    }
    for (co_u32 t = 0; t < m->threads; t++)
        *first = m->firsts[t * 8] < *first ? m->firsts[t * 8] : *first;
    return COHORT_OK;
}

static void report(const struct split *s, co_u64 bad, co_u64 first)
{
    if (s->counts)
        *s->counts = (struct batch_counts){s->n, 0, s->n - bad, bad, first};
    if (bad)
        co_min64(&s->deferred->first_bad, first);
}

/* ---- histogram ----------------------------------------------------------------------------------------- */

static cohort_status cpu_multisplit_histogram(cohort_context *context, const struct split *s,
                                              struct arena *arena)
{
    struct making m = {.what = "histogram"};
    co_u64 bad, first;
    making_arena(context, &m, s, arena);
    if (arena->asks)
        return COHORT_OK;
    cohort_status status = make_ids(context, &m, s->n, s->offsets, &bad, &first);
    if (!status)
        report(s, bad, first);
    return status;
}

/* ---- segments and ranks -------------------------------------------------------------------------------- */

struct numbering {
    struct cpu_ids ids; /* of the caller's function */
    co_u64 segments;
    const co_u64 *offsets;
    co_u32 buckets;
    co_u32 *out;
};

/* Ids that have the segment's number in them: segment * m + the function's id. */
static void number_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct numbering *m = arg;
    co_u64 low = 0, high = m->segments;
    (void)worker;
    while (high - low > 1) { /* the last segment that begins at `begin` or before */
        co_u64 middle = low + (high - low) / 2;
        if (m->offsets[middle] <= begin)
            low = middle;
        else
            high = middle;
    }
    for (co_u64 i = begin, n; i < end; i += n) {
        n = end - i < CPU_IDS ? end - i : CPU_IDS;
        co_u32 *ids = m->out + i;
        cpu_ids(&m->ids, i, (co_u32)n, ids);
        for (co_u64 k = 0; k < n; k++) {
            while (m->offsets[low + 1] <= i + k)
                low++;
            ids[k] = ids[k] < m->buckets ? (co_u32)low * m->buckets + ids[k] : ~0u;
        }
    }
}

/* From here on there are no segments. */
static cohort_status segment_ids(cohort_context *context, struct split *s, struct arena *arena)
{
    cohort_status status = COHORT_OK;
    if (!s->segments)
        return status;
    struct split_fn own = s->fn;
    struct numbering m = {.ids = {&own, &s->source, s->keys, s->key_bytes, cpu_device(context)->level},
                          .segments = s->segments,
                          .offsets = s->segment_offsets,
                          .buckets = own.buckets,
                          .out = arena_take(arena, 4 * s->n)};
    if (!arena->asks)
        status = cpu_parallel_told(context, what, s->n, GRAIN, number_range, &m);
    s->fn = (struct split_fn){
        .kind = SPLIT_IDS32, .buckets = (co_u32)s->segments * own.buckets, .by.divisor = 1, .data = m.out};
    s->segments = 0;
    return status;
}

/* Places [begin, end) of the output give their entries their ranks. */
static void rank_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct split *s = arg;
    (void)worker;
    for (co_u64 j = begin; j < end; j++) {
        co_u64 i = s->permutation_bytes == 8 ? ((const co_u64 *)s->permutation)[j]
                                             : ((const co_u32 *)s->permutation)[j];
        if (s->rank_bytes == 8)
            ((co_u64 *)s->rank)[i] = j;
        else
            ((co_u32 *)s->rank)[i] = (co_u32)j;
    }
}

static cohort_status ranks(cohort_context *context, struct split *s, co_u64 bad)
{
    if (bad)
        memset(s->rank, 0xff, s->n * s->rank_bytes);
    return cpu_parallel_told(context, what, s->n - bad, GRAIN, rank_range, s);
}

/* ---- split --------------------------------------------------------------------------------------------- */

struct plan {
    struct making making;
    struct cpu_pass pass, second;
    co_u64 *offsets;            /* of the passes */
    co_u16 *moved;              /* the high halves after the first of two passes */
    co_u32 made, two, low_bits; /* ids are made beforehand; two passes; bits of the low half */
};

static void one_pass_arena(cohort_context *context, struct plan *plan, const struct split *s,
                           struct arena *arena)
{
    struct cpu_pass *p = &plan->pass;
    plan->offsets = arena_take(arena, 8ull * (s->fn.buckets + 1));
    if (plan->made) {
        plan->making.low = arena_take(arena, 2 * s->n);
        plan->making.high = NULL;
    }
    p->buckets = s->fn.buckets;
    p->source = plan->made ? CPU_FROM_KEPT : CPU_FROM_FN;
    p->ids = plan->making.ids;
    p->kept = plan->making.low;
    p->offsets = s->offsets ? s->offsets : plan->offsets;
    cpu_pass_arena(context, p, arena);
}

/* The first pass into memory of the workspace, the second out of it. Both use the same part, one after the
 * other. */
static void two_pass_arena(cohort_context *context, struct plan *plan, const struct split *s,
                           struct arena *arena)
{
    struct cpu_pass *p = &plan->pass, *q = &plan->second;
    plan->making.low = arena_take(arena, 2 * s->n);
    plan->making.high = arena_take(arena, 2 * s->n);
    plan->making.low_bits = plan->low_bits;
    plan->moved = arena_take(arena, 2 * s->n);
    plan->offsets = arena_take(arena, 8ull * (CPU_PASS_BUCKETS + 1));
    *q = *p;
    for (co_u32 a = 0; a < p->arrays; a++)
        q->array[a].in = p->array[a].out = arena_take(arena, s->n * p->array[a].bytes);
    p->array[p->arrays++] = (struct cpu_array){plan->making.high, plan->moved, 2};
    p->buckets = 1u << plan->low_bits;
    q->buckets = ((s->fn.buckets - 1) >> plan->low_bits) + 1;
    p->kept = plan->making.low;
    q->kept = plan->moved;
    p->source = q->source = CPU_FROM_KEPT;
    p->offsets = q->offsets = plan->offsets;
    struct arena again = *arena;
    cpu_pass_arena(context, p, arena);
    cpu_pass_arena(context, q, &again);
    arena->used = again.used > arena->used ? again.used : arena->used;
}

static void plan_arena(cohort_context *context, struct plan *plan, const struct split *s, struct arena *arena)
{
    struct cpu_pass *p = &plan->pass;
    memset(plan, 0, sizeof *plan);
    p->what = plan->making.what = what;
    cpu_pass_arrays(p, s->keys, s->keys_out, s->key_bytes, s->column, s->columns, s->permutation,
                    s->permutation_bytes);
    p->n = s->n;
    making_arena(context, &plan->making, s, arena);
    plan->two = s->fn.buckets > CPU_PASS_BUCKETS;
    plan->made = plan->two || cpu_ids_are_dear(&s->fn);
    while (plan->two && s->fn.buckets > 1ull << 2 * plan->low_bits)
        plan->low_bits++;
    if (plan->two)
        two_pass_arena(context, plan, s, arena);
    else
        one_pass_arena(context, plan, s, arena);
}

/* Bins to where each begins. */
static void scan_offsets(co_u64 *offsets, co_u32 buckets)
{
    co_u64 sum = 0;
    for (co_u32 b = 0; b < buckets; b++) {
        co_u64 count = offsets[b];
        offsets[b] = sum;
        sum += count;
    }
    offsets[buckets] = sum;
}

static cohort_status pass_whole(cohort_context *context, struct cpu_pass *p)
{
    cohort_status status = cpu_pass_count(context, p);
    return status ? status : cpu_pass_move(context, p);
}

static cohort_status split_twice(cohort_context *context, struct plan *plan, const struct split *s)
{
    struct cpu_pass *p = &plan->pass, *q = &plan->second;
    co_u64 bad, first;
    cohort_status status = make_ids(context, &plan->making, s->n, s->offsets, &bad, &first);
    if (!status && s->offsets)
        scan_offsets(s->offsets, s->fn.buckets);
    if (!status)
        status = pass_whole(context, p);
    if (status)
        return status;
    report(s, p->bad, p->first_bad);
    q->n = s->n - p->bad;
    struct arena arena = {.memory = (char *)p->starts};
    cpu_pass_arena(context, q, &arena);
    return pass_whole(context, q);
}

static cohort_status split_once(cohort_context *context, struct plan *plan, const struct split *s)
{
    cohort_status status = plan->made ? make_ids(context, &plan->making, s->n, NULL, NULL, NULL) : COHORT_OK;
    if (!status)
        status = pass_whole(context, &plan->pass);
    if (!status)
        report(s, plan->pass.bad, plan->pass.first_bad);
    return status;
}

static cohort_status cpu_multisplit_split(cohort_context *context, const struct split *given,
                                          struct arena *arena)
{
    struct split s = *given;
    struct plan plan;
    cohort_status status = segment_ids(context, &s, arena);
    if (s.rank && !s.permutation) {
        s.permutation_bytes = s.n >> 32 ? 8 : 4;
        void *own = arena_take(arena, s.n * s.permutation_bytes);
        s.permutation = arena->asks ? s.rank : own; /* there is one, wherever it will be */
    }
    plan_arena(context, &plan, &s, arena);
    if (arena->asks)
        return COHORT_OK;
    if (!status)
        status = plan.two ? split_twice(context, &plan, &s) : split_once(context, &plan, &s);
    return status || !s.rank ? status : ranks(context, &s, plan.pass.bad);
}

const struct multisplit_backend cpu_multisplit_backend = {
    .split = cpu_multisplit_split,
    .histogram = cpu_multisplit_histogram,
};
