/* cpu/sums.c: prefix sums and reductions on the host's threads: every part's sum, then, for prefix sums, the parts' sums
 * scanned and every part once more. */
#include "core/arena.h"
#include "backend/sums.h"
#include "cpu.h"

#define PARTS_EACH 8u
#define LEAST      16384u /* entries below which a part does not pay */

struct job {
    const void *in;
    void *out;
    co_u64 n, part; /* entries of a part, the last one excepted */
    co_u64 *sums;   /* a part's */
    co_u32 bytes, op, inclusive;
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

/* Sums are modulo 2^64, and so right modulo 2^32 too. */
CO_INLINE co_u64 reduce_part(const void *in, co_u64 begin, co_u64 end, co_u32 op, int wide)
{
    const co_u32 *restrict a32 = in;
    const co_u64 *restrict a64 = in;
    co_u64 sum = 0, least = ~0ull, most = 0;
    co_u32 least32 = ~0u, most32 = 0;
    for (co_u64 i = begin; i < end; i++) {
        if (op == COHORT_OP_ADD)
            sum += wide ? a64[i] : a32[i];
        else if (op == COHORT_OP_MIN && wide)
            least = a64[i] < least ? a64[i] : least;
        else if (op == COHORT_OP_MIN)
            least32 = a32[i] < least32 ? a32[i] : least32;
        else if (wide)
            most = a64[i] > most ? a64[i] : most;
        else
            most32 = a32[i] > most32 ? a32[i] : most32;
    }
    return op == COHORT_OP_ADD ? sum : op == COHORT_OP_MIN ? (wide ? least : least32) : wide ? most : most32;
}

CO_INLINE co_u64 reduce_op(const struct job *j, co_u64 begin, co_u64 end, co_u32 op)
{
    return j->bytes == 8 ? reduce_part(j->in, begin, end, op, 1) : reduce_part(j->in, begin, end, op, 0);
}

static void reduce_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    (void)worker;
    for (co_u64 from = begin, to; from < end; from = to) {
        to = end - from < j->part ? end : from + j->part;
        j->sums[from / j->part] = j->op == COHORT_OP_ADD   ? reduce_op(j, from, to, COHORT_OP_ADD)
                                  : j->op == COHORT_OP_MIN ? reduce_op(j, from, to, COHORT_OP_MIN)
                                                           : reduce_op(j, from, to, COHORT_OP_MAX);
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
                    .op = COHORT_OP_ADD};
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
    struct job j = {.in = r->in, .n = r->n, .bytes = r->bytes, .op = r->op};
    job_arena(context, &j, arena);
    if (arena->asks)
        return COHORT_OK;
    cpu_parallel(context, j.n, j.part, reduce_range, &j);
    co_u64 all = r->op == COHORT_OP_MIN ? ~0ull : 0;
    for (co_u64 i = 0; i < parts_of(&j); i++)
        all = r->op == COHORT_OP_ADD   ? all + j.sums[i]
              : r->op == COHORT_OP_MIN ? (j.sums[i] < all ? j.sums[i] : all)
                                       : (j.sums[i] > all ? j.sums[i] : all);
    *r->out = all;
    return COHORT_OK;
}

const struct sums_backend cpu_sums_backend = {
    .scan = cpu_sums_scan,
    .reduce = cpu_sums_reduce,
};
