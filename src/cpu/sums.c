/* cpu/sums.c: prefix sums and reductions on the host's threads: every part's sum, then, for prefix sums, the
 * parts' sums scanned and every part once more. */
#include "core/arena.h"
#include "backend/sums.h"
#include "cpu.h"

#define PARTS_EACH 8u
#define LEAST      16384u /* entries below which a part does not pay */

struct job {
    const void *in;
    void *out;
    co_u64 n, part;                    /* entries of a part, the last one excepted */
    co_u64 *sums;                      /* a part's */
    co_u32 bytes, op, kind, inclusive; /* op, kind: a REDUCE_.. */
};

static co_u64 parts_of(const struct job *j)
{
    return j->n / j->part + (j->n % j->part != 0);
}

static void job_arena(cohort_context *context, struct job *j, struct arena *arena)
{
    co_u64 most = (co_u64)cpu_device(context)->threads * PARTS_EACH;
    j->part = most > PARTS_EACH ? j->n / most + 1 : j->n + 1;
    j->part = j->part < LEAST ? LEAST : j->part;
    j->sums = arena_take(arena, 8 * (parts_of(j) + 1));
}

/* Sums are modulo 2^64, and so right modulo 2^32 too. `op` and `kind` are known where this is called, so that
 * each has a loop of its own. */
CO_INLINE co_u64 reduce_wide(const co_u64 *restrict a, co_u64 begin, co_u64 end, co_u32 op, co_u32 kind)
{
    co_u64 all = op == REDUCE_MIN ? ~0ull : 0;
    for (co_u64 i = begin; i < end; i++) {
        co_u64 v = reduce_entry64(op, kind, a[i]);
        all = op == REDUCE_ADD ? all + v : (op == REDUCE_MIN) == (v < all) ? v : all;
    }
    return all;
}

CO_INLINE co_u64 reduce_narrow(const co_u32 *restrict a, co_u64 begin, co_u64 end, co_u32 op, co_u32 kind)
{
    co_u64 sum = 0;
    co_u32 all = op == REDUCE_MIN ? ~0u : 0;
    for (co_u64 i = begin; i < end; i++) {
        co_u32 v = reduce_key32(kind, a[i]);
        if (op == REDUCE_ADD)
            sum += reduce_entry32(op, kind, a[i]);
        else
            all = (op == REDUCE_MIN) == (v < all) ? v : all;
    }
    return op == REDUCE_ADD ? sum : all;
}

CO_INLINE co_u64 reduce_kind(const struct job *j, co_u64 begin, co_u64 end, co_u32 op, co_u32 kind)
{
    return j->bytes == 8 ? reduce_wide(j->in, begin, end, op, kind)
                         : reduce_narrow(j->in, begin, end, op, kind);
}

CO_INLINE co_u64 reduce_op(const struct job *j, co_u64 begin, co_u64 end, co_u32 op)
{
    return j->kind == REDUCE_UNSIGNED ? reduce_kind(j, begin, end, op, REDUCE_UNSIGNED)
           : j->kind == REDUCE_SIGNED ? reduce_kind(j, begin, end, op, REDUCE_SIGNED)
                                      : reduce_kind(j, begin, end, op, REDUCE_FLOAT);
}

static void reduce_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    (void)worker;
    for (co_u64 from = begin, to; from < end; from = to) {
        to = end - from < j->part ? end : from + j->part;
        j->sums[from / j->part] = j->op == REDUCE_ADD   ? reduce_op(j, from, to, REDUCE_ADD)
                                  : j->op == REDUCE_MIN ? reduce_op(j, from, to, REDUCE_MIN)
                                                        : reduce_op(j, from, to, REDUCE_MAX);
    }
}

#define SCAN(T)                                          \
    do {                                                 \
        const T *a = j->in;                              \
        T *b = j->out, sum = (T)j->sums[from / j->part]; \
        for (co_u64 i = from; i < to; i++) {             \
            T v = a[i];                                  \
            b[i] = j->inclusive ? (T)(sum + v) : sum;    \
            sum = (T)(sum + v);                          \
        }                                                \
    } while (0)

static void scan_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    (void)worker;
    for (co_u64 from = begin, to; from < end; from = to) {
        to = end - from < j->part ? end : from + j->part;
        if (j->bytes == 8)
            SCAN(co_u64);
        else
            SCAN(co_u32);
    }
}

static cohort_status cpu_sums_scan(cohort_context *context, const struct scan *p, struct arena *arena)
{
    struct job j = {.in = p->in,
                    .out = p->out,
                    .n = p->n,
                    .bytes = p->bytes,
                    .inclusive = p->inclusive,
                    .op = REDUCE_ADD};
    job_arena(context, &j, arena);
    if (arena->asks)
        return COHORT_OK;
    co_u64 parts = parts_of(&j), before = 0;
    if (parts > 1)
        cpu_parallel(context, j.n, j.part, reduce_range, &j);
    else
        j.sums[0] = 0;
    for (co_u64 i = 0; i < parts; i++) {
        co_u64 sum = j.sums[i];
        j.sums[i] = before;
        before += sum;
    }
    cpu_parallel(context, j.n, j.part, scan_range, &j);
    return COHORT_OK;
}

static cohort_status cpu_sums_reduce(cohort_context *context, const struct reduce *r, struct arena *arena)
{
    co_u32 op = r->op == COHORT_OP_MIN ? REDUCE_MIN : r->op == COHORT_OP_MAX ? REDUCE_MAX : REDUCE_ADD;
    struct job j = {.in = r->in, .n = r->n, .bytes = r->bytes, .op = op, .kind = r->kind};
    job_arena(context, &j, arena);
    if (arena->asks)
        return COHORT_OK;
    cpu_parallel(context, j.n, j.part, reduce_range, &j);
    co_u64 all = reduce_wide(j.sums, 0, parts_of(&j), op, REDUCE_UNSIGNED);
    *r->out = op == REDUCE_ADD ? all : reduce_result(r->kind, r->bytes == 8, all);
    return COHORT_OK;
}

const struct sums_backend cpu_sums_backend = {
    .scan = cpu_sums_scan,
    .reduce = cpu_sums_reduce,
};
