/* refuse.h: operations whose k-th request is refused, for k = 1, 2, .. until they get all that they ask for.
 *
 * A request is an allocation of the caller's allocator, one of the library from libc (these programs link a
 * copy of the library whose malloc, pthread_create, write and so on are the refusable_* of refuse.c), or a
 * call of the simulated driver. Of a `deed` the frame makes a new context and the objects (begin), lets it do
 * its call with the k-th request refused (act), and has it look at what is there then (check): results that
 * are right where it succeeded, objects as the header promises where not. Then the call is done again with
 * nothing refused, and must succeed. At last all must have been given back, the host's memory too. */
#ifndef TEST_REFUSE_H
#define TEST_REFUSE_H

#include "test.h"

enum refusal {
    REFUSE_NOTHING,
    REFUSE_ALLOCATOR, /* the caller's allocator */
    REFUSE_HOST,      /* malloc, calloc, realloc, aligned_alloc, strdup of the library */
    REFUSE_THREAD,    /* pthread_create */
    REFUSE_FILE,      /* open, write, fsync, rename */
    REFUSE_DEVICE,    /* cuMemAlloc; on the simulator alone, as what follows */
    REFUSE_PINNED,    /* cuMemHostAlloc */
    REFUSE_LAUNCH,    /* cuLaunchKernel, cuLaunchKernelEx, cuFuncSetAttribute, cuModuleGetFunction */
    REFUSE_COPY,      /* cuMemcpyAsync, cuMemsetD8Async */
    REFUSE_STREAM,    /* streams and events made, recorded, waited for */
    REFUSALS
};

#define SCENE_COLUMNS 12

/* What one deed works on. */
struct scene {
    cohort_map *map, *other, *made;
    cohort_multimap *multimap, *second, *third;
    cohort_sets *sets, *sets_made;
    cohort_frame *frame, *frame_made;
    cohort_timer *timer;
    struct column *c[SCENE_COLUMNS];
    void *at[SCENE_COLUMNS]; /* where they are sent to before each call */
    uint64_t n, count;
    void *own;
    char path[64];
    enum refusal refusal;
};

struct deed {
    const char *name;
    void (*begin)(struct test *, struct scene *);
    cohort_status (*act)(struct test *, struct scene *);
    void (*check)(struct test *, struct scene *, cohort_status);
    void (*end)(struct test *, struct scene *); /* before objects and columns go; may be NULL */
    int what;                                   /* the deed's own */
};

/* Whether deed i of a case's is done. Where parts are drawn (test_drawn) a GPU has half of them, the
 * simulator one of `of_sim`. */
int refuse_takes(struct test *, uint64_t i, uint64_t of_sim);

/* Does it with every kind of request refused. In t->memory. */
void refuse_each(struct test *, const struct deed *);

/* Fills in `at`; for who needs it in `begin` already. */
void scene_send(struct scene *);

/* The deed under way. */
extern const struct deed *refuse_deed;

#endif
