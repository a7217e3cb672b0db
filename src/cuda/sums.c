/* sums.c: prefix sums and reductions: tiles, workspace, launches; and the memory of a look-back, which others
 * have too. */
#include "shape/sums.h"

#include "backend/sums.h"
#include "device.h"

/* Entries of `bytes` in the 16 bytes that `array` lies in, and before it. */
static co_u64 lead_of(const void *array, unsigned bytes)
{
    return (uintptr_t)array % 16 / bytes;
}

static uint64_t tiles_of(cohort_context *context, co_u64 places, unsigned bytes)
{
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    uint64_t tile = (uint64_t)tuning->block * tuning->chunks * (16 / bytes);
    return places / tile + (places % tile != 0);
}

/* ---- the memory of a look-back: words, then tickets ---------------------------------------------------- */

cohort_status gpu_look_back(cohort_context *context, struct arena *arena, uint64_t bytes, void **words,
                            co_u32 **tickets)
{
    uint64_t begin = arena->used;
    *words = arena_take(arena, bytes);
    *tickets = arena_take(arena, sizeof **tickets);
    return arena->asks ? COHORT_OK : context_fill(context, *words, 0, arena->used - begin);
}

unsigned gpu_look_back_blocks(cohort_context *context, uint64_t tiles)
{
    const struct gpu *g = gpu_of(context);
    uint64_t most = (uint64_t)g->multiprocessors * g->tuning->tile_blocks;
    return (unsigned)(tiles < most ? tiles : most);
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* Asked, it does not know where the array begins. */
static cohort_status scan(cohort_context *context, const struct scan *p, struct arena *arena, int cleared)
{
    struct prefix_step s = {p->in, p->out, p->n, 0, lead_of(p->in, p->bytes), p->inclusive, 0, NULL, NULL};
    uint64_t word = p->bytes == 8 ? 16 : 8;
    s.tiles = tiles_of(context, p->n + (arena->asks ? 16 / p->bytes - 1 : s.lead), p->bytes);
    s.vectors = lead_of(p->out, p->bytes) == s.lead;
    cohort_status status = COHORT_OK;
    if (s.tiles > 1 && cleared) {
        s.words = arena_take(arena, s.tiles * word);
        s.tickets = arena_take(arena, sizeof *s.tickets);
    } else if (s.tiles > 1)
        status = gpu_look_back(context, arena, s.tiles * word, &s.words, &s.tickets);
    if (status || arena->asks || !p->n)
        return status;
    return gpu_launch_grid(context, p->bytes == 8 ? "sums_prefix_64" : "sums_prefix_32",
                           gpu_look_back_blocks(context, s.tiles), gpu_of(context)->tuning->block, 0, &s);
}

static cohort_status cuda_sums_scan(cohort_context *context, const struct scan *p, struct arena *arena)
{
    return scan(context, p, arena, 0);
}

/* ---- the sums that other operations need: exclusive, of 64-bit words, in place ------------------------- */

static struct scan scan_of(co_u64 *a, uint64_t n)
{
    struct scan p = {n, sizeof *a, 0, a, a};
    return p;
}

uint64_t gpu_scan_bytes(cohort_context *context, uint64_t n)
{
    struct scan p = scan_of(NULL, n);
    struct arena arena = {.asks = 1};
    scan(context, &p, &arena, 1);
    return arena.used;
}

cohort_status gpu_scan(cohort_context *context, co_u64 *a, uint64_t n, co_u64 *workspace)
{
    struct scan p = scan_of(a, n);
    struct arena arena = {.memory = (char *)workspace};
    return scan(context, &p, &arena, 0);
}

cohort_status gpu_scan_cleared(cohort_context *context, co_u64 *a, uint64_t n, co_u64 *workspace)
{
    struct scan p = scan_of(a, n);
    struct arena arena = {.memory = (char *)workspace};
    return scan(context, &p, &arena, 1);
}

static cohort_status cuda_sums_reduce(cohort_context *context, const struct reduce *r, struct arena *arena)
{
    struct reduce_step s = {r->in, r->n,  lead_of(r->in, r->bytes), REDUCE_ADD, r->kind, r->bytes == 8,
                            0,     r->out};
    if (arena->asks)
        return COHORT_OK;
    s.op = r->op == COHORT_OP_MIN ? REDUCE_MIN : r->op == COHORT_OP_MAX ? REDUCE_MAX : REDUCE_ADD;
    cohort_status status = context_fill(context, r->out, s.op == REDUCE_MIN ? 0xff : 0, sizeof *r->out);
    if (status)
        return status;
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    uint64_t turn = (uint64_t)tuning->block * tuning->reduce_chunks * (16 / r->bytes);
    uint64_t turns = r->n ? (r->n + s.lead) / turn + 1 : 0;
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * tuning->reduce_blocks;
    if (turns)
        status = gpu_launch_grid(context, r->bytes == 8 ? "sums_reduce_64" : "sums_reduce_32",
                                 (unsigned)(turns < most ? turns : most), tuning->block, 0, &s);
    if (status || s.op == REDUCE_ADD || s.kind == REDUCE_UNSIGNED)
        return status;
    return gpu_launch_grid(context, "sums_reduce_result", 1, 1, 0, &s);
}

const struct sums_backend cuda_sums_backend = {
    .scan = cuda_sums_scan,
    .reduce = cuda_sums_reduce,
};
