/* sums.c: prefix sums and reductions: tiles, workspace, launches; and the memory of a look-back, which others have too. */
#include "shape/sums.h"

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

#define ALIGN 256ull

uint64_t gpu_look_back_bytes(uint64_t bytes, uint64_t launches)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN + (launches * sizeof(co_u32) + ALIGN - 1) / ALIGN * ALIGN;
}

static void lay_out(void *memory, uint64_t bytes, void **words, co_u32 **tickets)
{
    *words = memory;
    *tickets = (co_u32 *)((char *)memory + (bytes + ALIGN - 1) / ALIGN * ALIGN);
}

cohort_status gpu_look_back(cohort_context *context, void *memory, uint64_t bytes, uint64_t launches,
                            void **words, co_u32 **tickets)
{
    lay_out(memory, bytes, words, tickets);
    return context->backend->fill(context, memory, 0, gpu_look_back_bytes(bytes, launches));
}

unsigned gpu_look_back_blocks(cohort_context *context, uint64_t tiles)
{
    const struct gpu *g = gpu_of(context);
    uint64_t most = (uint64_t)g->multiprocessors * g->tuning->tile_blocks;
    return (unsigned)(tiles < most ? tiles : most);
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static cohort_status prefix(cohort_context *context, const struct prefix *p, uint64_t *need, int cleared)
{
    struct prefix_step s = {p->in, p->out, p->n, 0, lead_of(p->in, p->bytes), p->inclusive, 0, NULL, NULL};
    uint64_t word = p->bytes == 8 ? 16 : 8, tiles = tiles_of(context, p->n + 16 / p->bytes - 1, p->bytes);
    if (need) {
        *need = tiles > 1 ? gpu_look_back_bytes(tiles * word, 1) : 0;
        return COHORT_OK;
    }
    if (!p->n)
        return COHORT_OK;
    tiles = s.tiles = tiles_of(context, p->n + s.lead, p->bytes);
    s.vectors = lead_of(p->out, p->bytes) == s.lead;
    cohort_status status = COHORT_OK;
    if (tiles > 1 && cleared)
        lay_out(p->workspace, tiles * word, &s.words, &s.tickets);
    else if (tiles > 1)
        status = gpu_look_back(context, p->workspace, tiles * word, 1, &s.words, &s.tickets);
    if (status)
        return status;
    return gpu_launch_grid(context, p->bytes == 8 ? "sums_prefix_64" : "sums_prefix_32",
                           gpu_look_back_blocks(context, tiles), gpu_of(context)->tuning->block, 0, &s);
}

cohort_status cuda_prefix(cohort_context *context, const struct prefix *p, uint64_t *need)
{
    return prefix(context, p, need, 0);
}

/* ---- the sums that other operations need: exclusive, of 64-bit words, in place ------------------------- */

static struct prefix scan_of(co_u64 *a, uint64_t n, void *workspace)
{
    struct prefix p = {n, sizeof *a, 0, a, a, workspace};
    return p;
}

uint64_t gpu_scan_bytes(cohort_context *context, uint64_t n)
{
    struct prefix p = scan_of(NULL, n, NULL);
    uint64_t bytes = 0;
    cuda_prefix(context, &p, &bytes);
    return bytes;
}

cohort_status gpu_scan(cohort_context *context, co_u64 *a, uint64_t n, co_u64 *workspace)
{
    struct prefix p = scan_of(a, n, workspace);
    return cuda_prefix(context, &p, NULL);
}

cohort_status gpu_scan_cleared(cohort_context *context, co_u64 *a, uint64_t n, co_u64 *workspace)
{
    struct prefix p = scan_of(a, n, workspace);
    return prefix(context, &p, NULL, 1);
}

cohort_status cuda_reduce(cohort_context *context, const struct reduce *r, uint64_t *need)
{
    struct reduce_step s = {r->in, r->n, lead_of(r->in, r->bytes), REDUCE_ADD, 0, r->out};
    if (need) {
        *need = 0;
        return COHORT_OK;
    }
    if (r->op != COHORT_OP_ADD)
        s.op = r->op == COHORT_OP_MIN ? REDUCE_MIN : REDUCE_MAX;
    cohort_status status =
        context->backend->fill(context, r->out, s.op == REDUCE_MIN ? 0xff : 0, sizeof *r->out);
    if (status)
        return status;
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    uint64_t turn = (uint64_t)tuning->block * tuning->reduce_chunks * (16 / r->bytes);
    uint64_t turns = r->n ? (r->n + s.lead) / turn + 1 : 0;
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * tuning->reduce_blocks;
    if (!turns)
        return COHORT_OK;
    return gpu_launch_grid(context, r->bytes == 8 ? "sums_reduce_64" : "sums_reduce_32",
                           (unsigned)(turns < most ? turns : most), tuning->block, 0, &s);
}
