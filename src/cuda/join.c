/* cuda/join.c: joins on a GPU: rows by groups, which a sort makes, pairs, and rows that were not met
 * (kernels/join.cu). What the host must know, numbers of pairs and of rows, is fetched. */
#include "backend/join.h"

#include "backend/sort.h"
#include "device.h"
#include "keys.h"
#include "table.h"

/* ---- right rows by groups ------------------------------------------------------------------------------ */

static cohort_status cuda_join_dense(cohort_context *context, const struct keys_column *column, uint64_t n,
                                     const struct join_range *range, uint32_t *groups)
{
    struct join_dense_step step = {gpu_keys_look(column), n, range->low, range->span, range->null, 0, groups};
    return gpu_launch(context, "join_dense", n, &step);
}

static cohort_status cuda_join_single(cohort_context *context, const uint32_t *groups, struct join_index *x)
{
    struct join_single_step step = {groups, x->row, x->rows, NULL};
    struct table_found seen = {0, 0};
    cohort_status s = gpu_found_begin(context, &step.found);
    if (!s)
        s = context_fill(context, x->row, 0xff, x->groups * sizeof *x->row);
    if (!s)
        s = gpu_launch(context, "join_single", x->rows, &step);
    s = gpu_found_end(context, step.found, s, &seen);
    x->unique = !seen.count;
    return s;
}

/* As many low bits as tell all groups, and tell them from NONE, which comes behind them. */
static co_u32 bits_of(uint64_t groups)
{
    return 64 - (co_u32)__builtin_clzll(groups);
}

/* Rows in the order of their groups, those of one group in their own. */
static cohort_status order(cohort_context *context, const uint32_t *groups, const struct join_index *x,
                           uint32_t *sorted)
{
    struct sort sort = {.n = x->rows,
                        .order = SORT_U32,
                        .high_bit = bits_of(x->groups),
                        .keys = groups,
                        .keys_out = sorted,
                        .permutation_bytes = 4,
                        .permutation = x->row};
    struct arena arena = {.asks = 1};
    void *memory = NULL;
    cohort_status s = context->backend->sort->run(context, &sort, &arena);
    if (!s)
        s = pool_take(context, arena.used, &memory);
    arena = (struct arena){.memory = memory};
    if (!s)
        s = context->backend->sort->run(context, &sort, &arena);
    pool_give(context, memory);
    return s;
}

/* The first row that came again, and the first of its group. */
static cohort_status name_repeated(cohort_context *context, const uint32_t *groups, struct join_index *x)
{
    uint32_t group = 0, start = 0, first = 0;
    cohort_status s = context_copy(context, &group, groups + x->repeated[1], sizeof group);
    if (!s)
        s = context_copy(context, &start, x->start + group, sizeof start);
    if (!s)
        s = context_copy(context, &first, x->row + start, sizeof first);
    x->repeated[0] = first;
    return s;
}

static cohort_status cuda_join_group(cohort_context *context, const uint32_t *groups, struct join_index *x)
{
    struct join_group_step step = {NULL, x->row, x->rows, x->groups, x->start, NULL};
    struct table_found seen = {0, 0};
    void *sorted;
    cohort_status s = pool_take(context, x->rows * sizeof *groups, &sorted);
    if (s)
        return s;
    step.sorted = sorted;
    s = order(context, groups, x, sorted);
    if (!s)
        s = gpu_launch(context, "join_starts", x->groups + 1, &step);
    if (!s)
        s = gpu_found_begin(context, &step.found);
    if (!s)
        s = gpu_launch(context, "join_again", x->rows, &step);
    s = gpu_found_end(context, step.found, s, &seen);
    pool_give(context, sorted);
    x->repeated[1] = seen.first;
    return s ? s : name_repeated(context, groups, x);
}

static cohort_status cuda_join_repeated(cohort_context *context, const uint32_t *groups, uint64_t n,
                                        const uint64_t *first, uint64_t out[2])
{
    struct join_repeated_step step = {groups, (const co_u64 *)(const void *)first, n, NULL};
    struct table_found seen = {0, 0};
    uint32_t group = 0;
    out[0] = out[1] = ~0ull;
    cohort_status s = gpu_found_begin(context, &step.found);
    if (!s)
        s = gpu_launch(context, "join_repeated", n, &step);
    s = gpu_found_end(context, step.found, s, &seen);
    if (s || !~seen.first)
        return s;
    s = context_copy(context, &group, groups + seen.first, sizeof group);
    if (!s)
        s = context_copy(context, &out[0], first + group, sizeof *out);
    out[1] = seen.first;
    return s;
}

/* ---- sums of blocks ------------------------------------------------------------------------------------ */

/* Sums of n blocks become what is before each, and in all, which the host gets. */
static cohort_status add_up(cohort_context *context, uint64_t *before, uint64_t n, uint64_t *total)
{
    void *scan;
    cohort_status s = pool_take(context, gpu_scan_bytes(context, n + 1), &scan);
    if (s)
        return s;
    s = context_fill(context, before + n, 0, sizeof *before);
    if (!s)
        s = gpu_scan(context, (co_u64 *)(void *)before, n + 1, scan);
    if (!s)
        s = context_copy(context, total, before + n, sizeof *total);
    pool_give(context, scan);
    return s;
}

static struct join_look look_of(const struct join_index *x)
{
    return (struct join_look){x->start, x->row, x->met, (co_u32)x->unique, 0};
}

/* ---- left rows ----------------------------------------------------------------------------------------- */

/* Marks last, so they are made when nothing else can fail. Left rows have their right rows by then; sums of
 * blocks go to `before`, and are of no use. */
static cohort_status mark(cohort_context *context, const struct join_count_step *counted, co_u64 *before)
{
    struct join_count_step step = *counted;
    step.index.row = step.index.unique ? NULL : step.index.row;
    step.marks = 1;
    step.before = before;
    return gpu_launch_warps(context, "join_count", join_blocks(step.n), 0, &step);
}

static cohort_status cuda_join_count(cohort_context *context, struct join_probe *p)
{
    struct join_count_step step = {look_of(p->index), p->rule, 0, p->n, p->at, (co_u64 *)(void *)p->before};
    const uint64_t blocks = join_blocks(p->n);
    void *before = NULL;
    cohort_status s = p->marks ? pool_take(context, blocks * sizeof step.before[0], &before) : COHORT_OK;
    if (!s)
        s = gpu_launch_warps(context, "join_count", blocks, 0, &step);
    if (!s)
        s = add_up(context, p->before, blocks, &p->total);
    if (!s && p->marks)
        s = mark(context, &step, before);
    pool_give(context, before);
    return s;
}

static cohort_status cuda_join_pairs(cohort_context *context, const struct join_page *page)
{
    const struct join_probe *p = page->probe;
    struct join_pairs_step step = {.index = look_of(p->index),
                                   .rule = p->rule,
                                   .bytes = page->bytes,
                                   .n = p->n,
                                   .at = p->at,
                                   .before = (const co_u64 *)(const void *)p->before,
                                   .first = page->first,
                                   .count = page->count,
                                   .left = page->left,
                                   .right = page->right};
    return gpu_launch_warps(context, "join_pairs", (page->count + JOIN_CHUNK - 1) / JOIN_CHUNK, 0, &step);
}

/* ---- right rows that were not met ---------------------------------------------------------------------- */

static struct join_rest_step rest_of(const struct join_rest *r)
{
    return (struct join_rest_step){.index = look_of(r->index),
                                   .rows = r->index->rows,
                                   .groups = r->index->groups,
                                   .met = (co_u32 *)(void *)r->met,
                                   .before = (co_u64 *)(void *)r->before};
}

static cohort_status cuda_join_rest(cohort_context *context, struct join_rest *r)
{
    struct join_rest_step step = rest_of(r);
    uint64_t spans = join_spans(r->index->rows);
    cohort_status s = context_fill(context, r->met, 0, spans * (JOIN_SPAN / 8));
    if (!s && r->index->unique)
        s = context_copy(context, r->met, r->index->met, (r->index->rows + 31) / 32 * 4);
    else if (!s)
        s = gpu_launch(context, "join_rest_met", r->index->rows, &step);
    if (!s)
        s = gpu_launch_warps(context, "join_rest_spans", spans, 0, &step);
    return s ? s : add_up(context, r->before, spans, &r->total);
}

static cohort_status cuda_join_rest_rows(cohort_context *context, const struct join_rest *r, uint64_t first,
                                         uint64_t count, uint32_t bytes, void *rows)
{
    struct join_rest_step step = rest_of(r);
    step.first = first;
    step.count = count;
    step.bytes = bytes;
    step.to = rows;
    return gpu_launch_warps(context, "join_rest_rows", (count + JOIN_CHUNK - 1) / JOIN_CHUNK, 0, &step);
}

const struct join_backend cuda_join_backend = {
    .dense = cuda_join_dense,
    .single = cuda_join_single,
    .group = cuda_join_group,
    .repeated = cuda_join_repeated,
    .count = cuda_join_count,
    .pairs = cuda_join_pairs,
    .rest = cuda_join_rest,
    .rest_rows = cuda_join_rest_rows,
};
