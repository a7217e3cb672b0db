/* cuda/group.c: groups on a GPU: which kernels fold rows and states into states, and tell them
 * (kernels/group.cu, kernels/group_merge.cu). */
#include "backend/group.h"

#include "keys.h"
#include "shape/group_step.h"
#include "table.h"

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* A word a group, 0. */
static cohort_status take_best(cohort_context *context, uint64_t groups, void **best)
{
    cohort_status s = pool_take(context, groups * 8, best);
    return s ? s : context_fill(context, *best, 0, groups * 8);
}

static int is_end(uint32_t state)
{
    return state == GROUP_FIRST || state == GROUP_LAST;
}

static int has_best(uint32_t state)
{
    return is_end(state) || state == GROUP_EXACT || state == GROUP_MOMENTS;
}

/* Bytes of a block's table with one place a group. */
static uint64_t few_bytes(const struct group_fold_step *step)
{
    return step->groups *
           (8ull * group_few_words(step->state) + 4ull * group_few_halves(&step->column, step->state));
}

static cohort_status fold_rows(cohort_context *context, struct group_fold_step *step)
{
    const struct gpu *g = gpu_of(context);
    unsigned blocks = gpu_few_blocks(g, step->n, step->groups);
    uint64_t bytes = few_bytes(step);
    if (!blocks || step->state == GROUP_TRUTH || bytes > g->tuning->group_bytes)
        return gpu_launch(context, "group_fold", step->n, step);
    step->places = gpu_few_places(g, bytes);
    return gpu_launch_grid(context, "group_fold_few", blocks, g->tuning->block,
                           (unsigned)bytes * step->places, step);
}

/* What is to be known of all rows before the first is folded: of EXACT the highest digits; of MOMENTS the
 * first values. */
static cohort_status fold_before(cohort_context *context, struct group_fold_step *step)
{
    struct group_fold_step first = *step;
    cohort_status s = COHORT_OK;
    if (step->state == GROUP_EXACT) {
        s = gpu_launch(context, "group_tops", step->n, step);
        return s ? s : gpu_launch(context, "group_lift", step->groups, step);
    }
    if (step->state != GROUP_MOMENTS)
        return COHORT_OK;
    first.state = GROUP_FIRST;
    s = fold_rows(context, &first);
    return s ? s : gpu_launch(context, "group_shift", step->groups, step);
}

static cohort_status fold_one(cohort_context *context, const struct group_batch *b,
                              const struct group_fold *f)
{
    struct group_fold_step step = {.column = gpu_keys_look(&f->column),
                                   .ids = b->ids,
                                   .n = b->n,
                                   .groups = b->groups,
                                   .state = f->state,
                                   .rows = f->rows != 0,
                                   .states = f->states,
                                   .decimal = f->decimal != 0,
                                   .scale = f->scale};
    void *best = NULL;
    cohort_status s = COHORT_OK;
    if (has_best(f->state))
        s = take_best(context, b->groups, &best);
    step.best = best;
    if (!s)
        s = fold_before(context, &step);
    if (!s)
        s = fold_rows(context, &step);
    if (!s && is_end(f->state))
        s = gpu_launch(context, "group_ends", b->groups, &step);
    pool_give(context, best);
    return s;
}

/* The states of an earlier fold that is alike, which has seen the same rows in all calls; NULL: there is
 * none. */
static const void *states_alike(const struct group_batch *b, uint32_t k)
{
    for (uint32_t i = 0; i < k && i < GROUP_MOST_ALIKE; i++)
        if (group_folds_alike(&b->fold[i], &b->fold[k]))
            return b->fold[i].states;
    return NULL;
}

static cohort_status cuda_group_fold(cohort_context *context, const struct group_batch *b)
{
    cohort_status s = COHORT_OK;
    for (uint32_t k = 0; !s && b->n && k < b->folds; k++) {
        const struct group_fold *f = &b->fold[k];
        const void *from = states_alike(b, k);
        s = from ? context_copy(context, f->states, from, b->groups * group_state_bytes(f->state))
                 : fold_one(context, b, f);
    }
    return s;
}

/* ---- states -------------------------------------------------------------------------------------------- */

/* States that came by Arrow may lie anywhere: `own` is memory of the pool if they had to be moved. */
static cohort_status aligned(cohort_context *context, const void **from, uint64_t bytes, void **own)
{
    *own = NULL;
    if ((uintptr_t)*from % 8 == 0)
        return COHORT_OK;
    cohort_status s = pool_take(context, bytes, own);
    if (!s)
        s = context_copy(context, *own, *from, bytes);
    *from = *own;
    return s;
}

static cohort_status merge_states(cohort_context *context, struct group_merge_step *step)
{
    struct group_fold_step lift = {
        .groups = step->groups, .state = step->state, .states = step->to, .best = step->best};
    cohort_status s = COHORT_OK;
    if (step->state == GROUP_EXACT || step->state == GROUP_MOMENTS)
        s = gpu_launch(context, "group_merge_tops", step->n, step);
    if (!s && step->state == GROUP_EXACT)
        s = gpu_launch(context, "group_lift", step->groups, &lift);
    if (!s && step->state == GROUP_MOMENTS)
        s = gpu_launch(context, "group_merge_shift", step->groups, step);
    if (!s)
        s = gpu_launch(context, "group_merge", step->n, step);
    if (!s && is_end(step->state))
        s = gpu_launch(context, "group_merge_ends", step->groups, step);
    return s;
}

static cohort_status cuda_group_merge(cohort_context *context, uint32_t state, void *to, const void *from,
                                      const uint32_t *ids, uint64_t n, uint64_t groups)
{
    struct group_merge_step step = {.ids = ids, .n = n, .groups = groups, .state = state, .to = to};
    void *own = NULL, *best = NULL;
    cohort_status s = n ? aligned(context, &from, n * group_state_bytes(state), &own) : COHORT_OK;
    if (!s && has_best(state))
        s = take_best(context, groups, &best);
    step.from = from;
    step.best = best;
    if (!s)
        s = merge_states(context, &step);
    pool_give(context, own);
    pool_give(context, best);
    return s;
}

static cohort_status cuda_group_out(cohort_context *context, uint32_t state, void *to, const void *from,
                                    uint64_t n)
{
    struct group_out_step step = {.from = from, .to = to, .n = n, .state = state};
    if (state == GROUP_MIN)
        return gpu_launch(context, "group_out", n, &step);
    return n ? context_copy(context, to, from, n * group_state_bytes(state)) : COHORT_OK;
}

static cohort_status cuda_group_check(cohort_context *context, uint32_t state, const void *from, uint64_t n,
                                      int *good)
{
    struct group_out_step step = {.n = n, .state = state};
    struct table_found seen = {0, ~0ull};
    void *own = NULL;
    *good = 1;
    if (state != GROUP_EXACT || !n)
        return COHORT_OK;
    cohort_status s = aligned(context, &from, n * group_state_bytes(state), &own);
    step.from = from;
    if (!s)
        s = gpu_found_begin(context, &step.found);
    if (!s)
        s = gpu_launch(context, "group_check", n, &step);
    if (step.found)
        s = gpu_found_end(context, step.found, s, &seen);
    pool_give(context, own);
    *good = seen.first == ~0ull;
    return s;
}

static cohort_status cuda_group_values(cohort_context *context, struct group_values *v)
{
    struct group_values_step step = {.told = v->told,
                                     .states = v->states,
                                     .n = v->n,
                                     .width = v->width,
                                     .to = v->data,
                                     .validity = (co_u32 *)(void *)v->validity};
    struct table_found seen = {0, ~0ull};
    const int wide = v->told.state == GROUP_WIDE && v->told.form != GROUP_AS_MEAN;
    cohort_status s = gpu_found_begin(context, &step.found);
    if (!s)
        s = gpu_launch(context, wide ? "group_values_wide" : "group_values", v->n, &step);
    if (step.found)
        s = gpu_found_end(context, step.found, s, &seen);
    v->nulls = seen.count;
    v->overflow = seen.first;
    return s;
}

const struct group_backend cuda_group_backend = {
    .may_fail = 1,
    .fold = cuda_group_fold,
    .merge = cuda_group_merge,
    .out = cuda_group_out,
    .check = cuda_group_check,
    .values = cuda_group_values,
};
