/* cuda/map_pages.c: a large batch by whole pages: a multisplit puts the entries in order of their page
 * (with many pages, by digits of the page's number), and each page goes through a block's shared memory.
 * Of INSERT and ASSIGN a kernel builds the pages (kernels/map_build.cu), and the ordinary kernel goes over
 * the batch again if something was left out; of FIND a kernel looks keys up in them (kernels/map_seek.cu).
 * Or the ordinary kernel does the batch alone, as a sample of it tells (kernels/map_sample.h). Sums by key
 * are map_sums.c. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/multisplit.h"
#include "backend/table.h"
#include "map.h"

#define CAP_FILL   4 /* entries of one page that are put in at most, in slots of a page; */
#define BATCH_FILL 3 /* and of a batch, in slots of the table: of 4 half of the pages have too many */
#define SEEK_FILL \
    2 /* keys of a page that are looked up at most, in slots of a page and keys of an average one */

/* Blocks that take page after page of `view`. */
cohort_status map_launch_pages(cohort_context *context, const char *kind, const cohort_map_view *view,
                               uint64_t shared, const void *args)
{
    const struct gpu *g = gpu_of(context);
    uint64_t most = (uint64_t)g->multiprocessors * g->tuning->build_blocks;
    char name[MAP_NAME_BYTES];
    return gpu_launch_grid(context, map_kernel_name(name, kind, view),
                           (unsigned)(view->pages < most ? view->pages : most), g->tuning->build_threads,
                           (unsigned)shared, args);
}

/* More pages than the caches hold, and a share of their slots in one batch, without anything asked of
 * single entries that pages cannot tell. */
static int pays(cohort_context *context, const struct map_batch *b)
{
    const struct gpu_tuning *t = gpu_of(context)->tuning;
    int looks = b->op == CO_OP_FIND && !b->view.linear && b->crowded,
        puts = b->op == CO_OP_INSERT || b->op == CO_OP_ASSIGN;
    if (b->step != MAP_STEP_APPLY || b->group > 1 || b->where || b->view.pages < 2 ||
        b->view.pages < t->build_pages || b->n < map_slots(&b->view) / 4)
        return 0;
    return looks || (puts && !b->rank && !b->hit && !b->results && b->n <= map_slots(&b->view) * BATCH_FILL);
}

/* ---- workspace ----------------------------------------------------------------------------------------- */

/* The steps, laid out: where entries in order of pages and the pages' offsets are, and the split. */
struct plan {
    struct map_sample sample;
    struct map_build build; /* of puts */
    struct map_seek seek;   /* of lookups */
    struct split split;
    struct arena of_split; /* its workspace, and what follows */
    struct batch_deferred *nobody;
    co_u64 *offsets;
    void *keys, *values; /* values of puts; of lookups where each was in the batch */
    co_u32 *hit; /* of lookups, which set bits in words, if not all words are whole in the batch; NULL */
};

/* Where workspace is only counted, there is some array for each that will be. */
static struct split split_of(const struct map_batch *b, const struct plan *p)
{
    void *some = (void *)(uintptr_t)b->keys;
    struct split s = split_by_pages(b->n, map_key_bytes(b->view.width), b->view.seed, b->view.pages, 0);
    s.n_at = p->sample.share ? p->sample.share : &b->n;
    s.offsets = p->offsets;
    s.keys = b->keys;
    s.keys_out = p->keys ? p->keys : some;
    s.deferred = p->nobody;
    if (b->op == CO_OP_FIND) {
        s.permutation = p->values ? p->values : some;
        s.permutation_bytes = b->n >> 32 ? 8 : 4;
    } else if (b->values) {
        split_carry(&s, b->values, p->values ? p->values : some, map_value_bytes(b->view.width));
    }
    return s;
}

static struct map_sample sample_of(const struct gpu_tuning *t, const struct map_batch *b, int fresh)
{
    struct map_sample s;
    memset(&s, 0, sizeof s);
    s.view = b->view;
    s.keys = b->keys;
    s.n = b->n;
    s.looks = b->op == CO_OP_FIND;
    s.fresh = (co_u32)fresh;
    s.repeats = t->build_repeats;
    s.dear = t->seek_dear[map_slot_bytes(b->view.width) > 8];
    s.found = b->results ? t->seek_found : t->seek_found / 2;
    return s;
}

static cohort_status launch_sample(cohort_context *context, const struct map_sample *s)
{
    char name[MAP_NAME_BYTES];
    return gpu_launch_grid(context, map_kernel_name(name, "sample", &s->view), 1,
                           gpu_of(context)->tuning->build_threads, 0, s);
}

static struct map_build build_of(const struct map_batch *b, const struct plan *p)
{
    struct map_build m;
    memset(&m, 0, sizeof m);
    m.view = b->view;
    m.replace = b->op == CO_OP_ASSIGN;
    m.fresh = p->sample.fresh;
    m.most = (co_u32)(MAP_PAGE_BYTES / map_slot_bytes(b->view.width)) * CAP_FILL;
    m.keys = p->keys;
    m.values = p->values;
    m.offsets = p->offsets;
    m.n = b->n;
    m.gate = p->sample.gate;
    m.into = b->counts;
    return m;
}

static struct map_seek seek_of(const struct map_batch *b, const struct plan *p)
{
    struct map_seek m;
    memset(&m, 0, sizeof m);
    m.batch = *b;
    m.batch.hit = p->hit ? p->hit : b->hit;
    m.keys = p->keys;
    m.indices = p->values;
    m.index_bytes = p->split.permutation_bytes;
    m.most = (b->n / b->view.pages + MAP_PAGE_BYTES / map_slot_bytes(b->view.width)) * SEEK_FILL;
    m.offsets = p->offsets;
    m.gate = p->sample.gate;
    return m;
}

static cohort_status split(cohort_context *context, const struct split *s, struct arena *arena)
{
    return context->backend->multisplit->split(context, s, arena);
}

/* Asked, how much the split takes is added up last. */
static cohort_status lay_out(cohort_context *context, const struct map_batch *b, int fresh, struct plan *p,
                             struct arena *arena)
{
    uint64_t value = b->op == CO_OP_FIND ? (b->n >> 32 ? 8 : 4)
                     : b->values         ? map_value_bytes(b->view.width)
                                         : 0;
    memset(p, 0, sizeof *p);
    p->sample = sample_of(gpu_of(context)->tuning, b, fresh);
    p->nobody = arena_take(arena, sizeof *p->nobody);
    p->sample.gate = arena_take(arena, sizeof *p->sample.gate);
    p->sample.share = arena_take(arena, sizeof *p->sample.share);
    struct batch_counts *counts = arena_take(arena, sizeof *counts);
    p->offsets = arena_take(arena, (b->view.pages + 1ull) * sizeof *p->offsets);
    p->keys = arena_take(arena, b->n * map_key_bytes(b->view.width));
    p->values = value ? arena_take(arena, b->n * value) : NULL;
    p->hit = b->hit && b->n % 32 ? arena_take(arena, batch_bitmap_words(b->n) * 4) : NULL;
    p->split = split_of(b, p);
    p->of_split = *arena;
    p->build = build_of(b, p);
    p->build.counts = counts;
    p->seek = seek_of(b, p);
    return arena->asks ? split(context, &p->split, arena) : COHORT_OK;
}

/* ---- advice -------------------------------------------------------------------------------------------- */

/* What the last sample of lookups in a table came to, which the host learns some time later. Where that
 * sent them one by one, the next lookups go so at once, without a split that gets no keys, and every other
 * one leaves word of a sample of its own. It is a hint: tables may share words. */
enum { ADVICE_WORDS = 64 };

struct gpu_advice {
    volatile co_u64 *alone;      /* pinned: the gates */
    co_u64 *gates, *shares;      /* of samples for which there is no workspace */
    unsigned turn[ADVICE_WORDS]; /* of the lookups that went without a sample */
};

static unsigned advice_word(const cohort_map_view *view)
{
    return (unsigned)(co_hash((uintptr_t)view->slots, 0) % ADVICE_WORDS);
}

static cohort_status advice_make(cohort_context *context)
{
    struct gpu *g = gpu_of(context);
    struct gpu_advice *made = calloc(1, sizeof *made);
    const size_t bytes = ADVICE_WORDS * sizeof *made->alone;
    void *words = NULL;
    if (!made)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for what samples of lookups come to");
    made->gates = context->backend->context->alloc(context, 2 * bytes);
    cuda_result r = made->gates ? g->driver->mem_host_alloc(&words, bytes, 1) : CUDA_OUT_OF_MEMORY;
    if (r != CUDA_OK) {
        if (made->gates)
            context->backend->context->free(context, made->gates, 2 * bytes);
        free(made);
        return gpu_check(context, r, "memory for what samples of lookups come to");
    }
    made->shares = made->gates + ADVICE_WORDS;
    made->alone = memset(words, 0, bytes);
    g->advice = made;
    return COHORT_OK;
}

int map_is_advised(const struct gpu *g, const cohort_map_view *view)
{
    return g->advice && g->advice->alone[advice_word(view)];
}

void map_forget(struct gpu *g)
{
    if (g->advice) {
        g->driver->mem_free_host((void *)(uintptr_t)g->advice->alone);
        g->driver->mem_free((uintptr_t)g->advice->gates);
    }
    free(g->advice);
    g->advice = NULL;
}

/* A gate on its way to the host. */
static cohort_status advise(cohort_context *context, const cohort_map_view *view, const co_u64 *gate)
{
    struct gpu *g = gpu_of(context);
    cohort_status s = gpu_enter(context);
    if (s)
        return s;
    if (!g->advice)
        s = advice_make(context);
    if (!s)
        s = gpu_check(context,
                      g->driver->memcpy_async((uintptr_t)(g->advice->alone + advice_word(view)),
                                              (uintptr_t)gate, sizeof *gate, g->stream),
                      "what a sample of lookups came to");
    return gpu_leave(context, s);
}

/* Lookups that need no sample; and those that are captured, for which the call before need not have taken
 * workspace. */
static cohort_status goes_alone(cohort_context *context, const struct map_batch *b, int *alone)
{
    struct gpu_advice *a = gpu_of(context)->advice;
    unsigned w = advice_word(&b->view);
    int captured = b->op == CO_OP_FIND && gpu_capturing(context);
    *alone = b->op == CO_OP_FIND && (captured || map_is_advised(gpu_of(context), &b->view));
    if (!*alone || captured || a->turn[w]++ % 2)
        return COHORT_OK;
    struct map_sample sample = sample_of(gpu_of(context)->tuning, b, 0);
    sample.gate = a->gates + w;
    sample.share = a->shares + w;
    cohort_status s = launch_sample(context, &sample);
    return s ? s : advise(context, &b->view, sample.gate);
}

/* ---- the steps ----------------------------------------------------------------------------------------- */

/* How many entries go by pages, all or none; and those in order of their pages. */
static cohort_status put_in_order(cohort_context *context, const struct map_batch *b, struct plan *p)
{
    cohort_status s =
        b->failed ? context->backend->table->clear_bits(context, b->failed, 0, b->n) : COHORT_OK;
    if (!s)
        s = launch_sample(context, &p->sample);
    return s ? s : split(context, &p->split, &p->of_split);
}

/* The batch by the ordinary kernel, behind the gate. */
static cohort_status behind_gate(cohort_context *context, const struct map_batch *batch, const struct plan *p,
                                 struct batch_counts *counts)
{
    struct map_batch b = *batch;
    b.gate = p->sample.gate;
    b.counts = counts;
    return cuda_map_batch(context, &b, MEMORY_DEVICE);
}

/* What is added and what fails is counted apart. */
static cohort_status build(cohort_context *context, const struct map_batch *b, struct plan *p)
{
    struct batch_counts *counts = p->build.counts;
    cohort_status s = context_fill(context, counts, 0, offsetof(struct batch_counts, first_failed));
    if (!s)
        s = context_fill(context, &counts->first_failed, 0xff, sizeof(co_u64));
    if (!s)
        s = put_in_order(context, b, p);
    if (!s)
        s = map_launch_pages(context, "build", &b->view, MAP_BUILD_BYTES, &p->build);
    if (!s)
        s = behind_gate(context, b, p, counts);
    if (!s)
        s = gpu_launch_grid(context, "map_build_conclude", 1, 32, 0, &p->build);
    return s;
}

static cohort_status seek(cohort_context *context, const struct map_batch *b, struct plan *p)
{
    char name[MAP_NAME_BYTES];
    cohort_status s = put_in_order(context, b, p);
    if (!s)
        s = gpu_launch(context, "map_seek_judge", b->view.pages, &p->seek);
    if (!s && (b->has_fallback || b->hit))
        s = gpu_launch(context, map_kernel_name(name, "seek_begin", &b->view), b->n, &p->seek);
    if (!s)
        s = advise(context, &b->view, p->sample.gate);
    if (!s)
        s = map_launch_pages(context, "seek_pages", &b->view, 0, &p->seek);
    if (!s)
        s = behind_gate(context, &p->seek.batch, p, b->counts);
    return s || !p->hit ? s : context->backend->table->copy_bits(context, b->hit, 0, p->hit, 0, b->n);
}

cohort_status cuda_map_pages(cohort_context *context, const struct map_batch *b, int fresh,
                             struct arena *arena)
{
    struct plan plan;
    if (map_is_sums(context, b))
        return cuda_map_sums(context, b, arena);
    int alone = !pays(context, b);
    cohort_status s = COHORT_OK;
    if (arena->asks && !alone)
        s = goes_alone(context, b, &alone);
    if (s || alone)
        return s;
    const uint64_t before = arena->used;
    s = lay_out(context, b, fresh && !gpu_capturing(context), &plan, arena);
    if (s)
        arena->used = before;
    if (s || arena->asks)
        return s == COHORT_UNSUPPORTED ? COHORT_OK : s; /* no split has so many buckets: one by one */
    return b->op == CO_OP_FIND ? seek(context, b, &plan) : build(context, b, &plan);
}
