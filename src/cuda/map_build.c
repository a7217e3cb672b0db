/* map_build.c: a large batch of INSERT or ASSIGN by whole pages: a multisplit puts the pairs in order of their page (with many
 * pages, by digits of the page's number), a kernel builds each page in shared memory (kernels/map_build.cu), and the ordinary
 * kernel goes over the batch again if something was left out; or does it alone, if a sample of the batch finds nearly all keys there, or
 * some again and again. And growth, page by page from the old table. */
#include "device.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CAP_FILL   4 /* entries of one page that are taken at most, in slots of a page; */
#define BATCH_FILL 3 /* and of a batch, in slots of the table: of 4 half of the pages have too many */

static const char *const suffixes[] = {NULL, "32_0", "32_32", "64_0", "64_32", "64_64"};

static cohort_status launch_pages(cohort_context *context, const char *kind, const struct map_build *b)
{
    const struct gpu *g = gpu_of(context);
    uint64_t most = (uint64_t)g->multiprocessors * g->tuning->build_blocks;
    char name[48];
    snprintf(name, sizeof name, "map_%s_%s", kind, suffixes[b->view.width]);
    return gpu_launch_grid(context, name, (unsigned)(b->view.pages < most ? b->view.pages : most),
                           g->tuning->build_threads, (unsigned)MAP_BUILD_BYTES, b);
}

/* Whole pages, more of them than the caches hold, and a share of their slots in one batch, without anything asked of single entries that
 * a build cannot tell. */
static int pays(cohort_context *context, const struct map_batch *b)
{
    const struct gpu_tuning *t = gpu_of(context)->tuning;
    int puts = b->step == MAP_STEP_APPLY && (b->op == CO_OP_INSERT || b->op == CO_OP_ASSIGN);
    return puts && !b->rank && b->group <= 1 && !b->where && !b->hit && !b->results && b->view.pages > 1 &&
           b->view.pages >= t->build_pages && b->n >= map_slots(&b->view) / 4 &&
           b->n <= map_slots(&b->view) * BATCH_FILL;
}

/* ---- workspace ----------------------------------------------------------------------------------------------------------- */

struct room {
    char *base;
    uint64_t used;
};

static void *take(struct room *r, uint64_t bytes)
{
    void *at = r->base ? r->base + r->used : NULL;
    r->used += (bytes + 255) & ~255ull;
    return at;
}

/* The build's steps, laid out: where pairs and offsets are, and the split. */
struct plan {
    struct map_build build;
    struct split split;
    struct map_deferred *nobody;
};

/* Where workspace is only counted, there is some array for each that will be. */
static struct split split_of(const struct map_batch *b, const struct plan *p, void *keys_out,
                             void *values_out)
{
    unsigned value = b->values ? map_value_bytes(b->view.width) : 0;
    struct split s;
    memset(&s, 0, sizeof s);
    s.n = b->n;
    s.key_bytes = map_key_bytes(b->view.width);
    s.fn.kind = SPLIT_PAGE;
    s.fn.a = b->view.seed;
    s.fn.count = b->view.pages;
    s.fn.by.divisor = 1;
    s.fn.b = ~0u;
    s.fn.buckets = (co_u32)b->view.pages;
    s.unordered = 1;
    s.n_at = p->build.share ? p->build.share : &p->build.n;
    s.offsets = p->build.offsets;
    s.keys = b->keys;
    s.keys_out = keys_out ? keys_out : (void *)(uintptr_t)b->keys;
    s.columns = value ? 1 : 0;
    s.column[0].in = b->values;
    s.column[0].out = values_out ? values_out : (void *)(uintptr_t)b->values;
    s.column[0].bytes = value;
    s.deferred = p->nobody;
    return s;
}

static cohort_status lay_out(cohort_context *context, const struct map_batch *b, void *workspace,
                             struct plan *p, uint64_t *need)
{
    struct room r = {workspace, 0};
    uint64_t value = b->values ? map_value_bytes(b->view.width) : 0;
    memset(p, 0, sizeof *p);
    p->nobody = take(&r, sizeof *p->nobody);
    p->build.gate = take(&r, sizeof *p->build.gate);
    p->build.counts = take(&r, sizeof *p->build.counts);
    p->build.share = take(&r, sizeof *p->build.share);
    p->build.offsets = take(&r, (b->view.pages + 1ull) * sizeof(co_u64));
    void *keys = take(&r, b->n * map_key_bytes(b->view.width)),
         *values = value ? take(&r, b->n * value) : NULL;
    p->split = split_of(b, p, keys, values);
    cohort_status s = cuda_split(context, &p->split, need);
    p->split.workspace = take(&r, *need);
    *need = r.used;
    p->build.view = b->view;
    p->build.replace = b->op == CO_OP_ASSIGN;
    p->build.most = (co_u32)(MAP_PAGE_BYTES / map_slot_bytes(b->view.width)) * CAP_FILL;
    p->build.keys = keys;
    p->build.values = values;
    p->build.n = b->n;
    p->build.into = b->counts;
    return s;
}

/* ---- the steps --------------------------------------------------------------------------------------------------------------- */

/* How many pairs go by pages, all or none: a sample of the batch tells. */
static cohort_status choose(cohort_context *context, const struct map_batch *b, struct plan *p)
{
    struct map_build sample = p->build;
    char name[48];
    sample.keys = b->keys;
    sample.repeats = gpu_of(context)->tuning->build_repeats;
    snprintf(name, sizeof name, "map_sample_%s", suffixes[b->view.width]);
    return gpu_launch_grid(context, name, 1, gpu_of(context)->tuning->build_threads, 0, &sample);
}

/* The batch once more by the ordinary kernel, behind the gate; it counts what it adds and what fails. */
static cohort_status second_pass(cohort_context *context, const struct map_batch *batch, const struct plan *p)
{
    struct map_batch b = *batch;
    b.gate = p->build.gate;
    b.counts = p->build.counts;
    return cuda_map_batch(context, &b, MEMORY_DEVICE);
}

static cohort_status build(cohort_context *context, const struct map_batch *b, struct plan *p)
{
    const struct backend *backend = context->backend;
    cohort_status s = backend->fill(context, p->build.gate, 0, sizeof *p->build.gate);
    if (!s)
        s = backend->fill(context, p->build.counts, 0, offsetof(struct map_counts, first_failed));
    if (!s)
        s = backend->fill(context, &p->build.counts->first_failed, 0xff, sizeof(co_u64));
    if (!s && b->failed)
        s = backend->fill(context, b->failed, 0, map_bitmap_words(b->n) * 4);
    if (!s)
        s = choose(context, b, p);
    if (!s)
        s = cuda_split(context, &p->split, NULL);
    if (!s)
        s = launch_pages(context, "build", &p->build);
    if (!s)
        s = second_pass(context, b, p);
    if (!s)
        s = gpu_launch_grid(context, "map_build_conclude", 1, 32, 0, &p->build);
    return s;
}

cohort_status cuda_map_build(cohort_context *context, const struct map_batch *b, int fresh, void *workspace,
                             uint64_t *need)
{
    struct plan plan;
    uint64_t bytes = 0;
    if (need)
        *need = 0;
    if (!pays(context, b))
        return COHORT_OK;
    cohort_status s = lay_out(context, b, workspace, &plan, &bytes);
    if (s || need) {
        if (need)
            *need = s ? 0 : bytes;
        return s == COHORT_UNSUPPORTED ? COHORT_OK : s; /* no split has so many buckets: one by one */
    }
    plan.build.fresh = fresh && !gpu_capturing(context);
    return build(context, b, &plan);
}

/* ---- growth ------------------------------------------------------------------------------------------------------------------ */

int cuda_map_splits(cohort_context *context, const struct map_sweep *s)
{
    return s->fresh && s->op == CO_OP_INSERT && s->view.pages > 1 &&
           s->into.pages >= gpu_of(context)->tuning->build_pages;
}

/* Builds every page of `into` from the old ones; opens the gate for what is left out. */
cohort_status cuda_map_split(cohort_context *context, const struct map_sweep *s, co_u64 *gate)
{
    struct map_build b;
    memset(&b, 0, sizeof b);
    b.view = s->into;
    b.from = s->view;
    b.fresh = 1;
    b.gate = gate;
    cohort_status status = context->backend->fill(context, gate, 0, sizeof *gate);
    return status ? status : launch_pages(context, "split", &b);
}
