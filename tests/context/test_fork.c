/* test_fork.c: contexts in a process that got them by a fork. On a CPU they go on, with workers of the
 * child's own; on a GPU they can be destroyed, without a call of the driver's, and that is all. A context
 * with a call under way is lost to the child. */
#include <pthread.h>
#include <unistd.h>

#include "subject.h"
#include "cuda/device.h"

/* What a program has when it forks. */
struct things {
    cohort_context *context;
    cohort_map *map;
    cohort_multimap *multimap;
    cohort_timer *timer;
    void *memory;
    struct ledger ledger;
    uint64_t n, *keys, *values;
};

/* The thread sanitizer does not let forked processes start threads. */
#if defined(__SANITIZE_THREAD__)
#    define CHILD_THREADS 1
#else
#    define CHILD_THREADS 3
#endif

#define KEY(i) ((i)*0x9e3779b97f4a7c15u)

static void make(struct test *t, struct things *x, uint64_t threads, uint64_t n, int counted)
{
    cohort_context_options options = test_context_options(t);
    cohort_map_options map = COHORT_MAP_OPTIONS_INIT;
    cohort_multimap_options multimap = COHORT_MULTIMAP_OPTIONS_INIT;
    memset(x, 0, sizeof *x);
    options.threads = threads;
    if (counted)
        options.alloc = test_allocator(t, &x->ledger);
    OK(t, cohort_context_create(&options, &x->context));
    map.capacity = 1;
    x->n = n;
    x->keys = malloc(n * 8);
    x->values = malloc(n * 8);
    REQUIRE(t, x->keys && x->values);
    for (uint64_t i = 0; i < n; i++) {
        x->keys[i] = KEY(i);
        x->values[i] = i;
    }
    OK(t, cohort_map_create(x->context, &map, &x->map));
    OK(t, cohort_map_insert(x->map, n, x->keys, x->values, NULL));
    OK(t, cohort_multimap_build(x->context, &multimap, n, x->keys, x->values, NULL, &x->multimap));
    OK(t, cohort_timer_create(x->context, &x->timer));
    OK(t, cohort_alloc(x->context, 1000, &x->memory));
}

static void unmake(struct things *x)
{
    free(x->keys);
    free(x->values);
    cohort_timer_destroy(x->timer);
    cohort_multimap_destroy(x->multimap);
    cohort_map_destroy(x->map);
    cohort_context_destroy(x->context); /* and x->memory */
}

static void end(struct test *t, struct things *x)
{
    unmake(x);
    if (x->ledger.test)
        test_ledger_check(t, &x->ledger);
}

/* It holds what it held, and takes as much again. */
static void use(struct test *t, struct things *x)
{
    cohort_sort_desc sort = COHORT_SORT_INIT;
    uint64_t size, n = x->n, *found = malloc(n * 8), *keys = malloc(n * 8);
    REQUIRE(t, found && keys);
    OK(t, cohort_map_find(x->map, n, x->keys, found, NULL, NULL));
    for (uint64_t i = 0; i < n; i++)
        REQUIRE(t, found[i] == i);
    OK(t, cohort_multimap_count(x->multimap, n, x->keys, found));
    for (uint64_t i = 0; i < n; i++) {
        REQUIRE(t, found[i] == 1);
        keys[i] = KEY(n + i);
    }
    OK(t, cohort_map_insert(x->map, n, keys, x->values, NULL));
    OK(t, cohort_map_size(x->map, &size));
    EQUAL(t, size, 2 * n);
    sort.type = COHORT_U64;
    sort.n = n;
    sort.keys = keys;
    sort.keys_out = found;
    OK(t, cohort_sort(x->context, &sort));
    for (uint64_t i = 1; i < n; i++)
        REQUIRE(t, found[i - 1] < found[i]);
    OK(t, cohort_map_erase(x->map, n, keys, NULL));
    OK(t, cohort_wait(x->context));
    free(found);
    free(keys);
}

/* The same in a child. */
static void use_in_child(struct test *t, struct things *x)
{
    if (CHILD_THREADS > 1)
        use(t, x);
    else
        cohort_wait(x->context);
}

/* ---- every call ---------------------------------------------------------------------------------------- */

/* Each call that a context or an object takes, in the order of the headers, with arguments that it would
 * refuse. */
static void refused(struct test *t, struct things *x)
{
    cohort_context *c = x->context;
    cohort_map *m = x->map;
    cohort_multimap *mm = x->multimap;
    const cohort_status due = COHORT_UNSUPPORTED;
    void *out = x;
    FAILS(t, c, cohort_set_stream(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_wait(c), due, "forked", NULL);
    FAILS(t, c, cohort_context_get_info(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_alloc(c, 1, &out), due, "forked", NULL);
    CHECK(t, !out);
    FAILS(t, c, cohort_free(c, x->memory), due, "forked", NULL);
    FAILS(t, c, cohort_copy(c, NULL, NULL, 0), due, "forked", NULL);
    FAILS(t, c, cohort_fill(c, NULL, 0, 0), due, "forked", NULL);
    FAILS(t, c, cohort_trim(c), due, "forked", NULL);
    FAILS(t, c, cohort_timer_create(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_timer_start(x->timer), due, "forked", NULL);
    FAILS(t, c, cohort_timer_stop(x->timer, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_limits_measure(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_create(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_size(m, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_clear(m), due, "forked", NULL);
    FAILS(t, c, cohort_map_reserve(m, 0), due, "forked", NULL);
    FAILS(t, c, cohort_map_rehash(m, 0), due, "forked", NULL);
    FAILS(t, c, cohort_map_clone(m, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_merge(m, NULL, COHORT_OP_FIND), due, "forked", NULL);
    FAILS(t, c, cohort_map_insert(m, 0, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_assign(m, 0, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_apply(m, COHORT_OP_ADD, 0, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_find(m, 0, NULL, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_contains(m, 0, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_insert_and_find(m, 0, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_erase(m, 0, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_run(m, 0, NULL, NULL, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_export(m, 0, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_get_stats(m, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_get_options(m, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_get_view(m, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_save(m, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_load(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_map_load_from(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_build(c, NULL, 0, NULL, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_size(mm, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_get_options(mm, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_find(mm, 0, NULL, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_count(mm, 0, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_retrieve(mm, 0, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_export(mm, NULL, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_union(mm, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_save(mm, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_load(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multimap_load_from(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multisplit(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_multisplit_workspace(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_histogram(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_histogram_workspace(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_compact(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_compact_workspace(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_sort(c, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_sort_workspace(c, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_scan(c, 0, COHORT_U32, 0, NULL, NULL), due, "forked", NULL);
    FAILS(t, c, cohort_reduce(c, COHORT_OP_ADD, 0, COHORT_U32, NULL, NULL), due, "forked", NULL);
}

/* ---- one thread ---------------------------------------------------------------------------------------- */

static cuda_result dies(void)
{
    abort();
}

/* A driver all of whose functions end the process. */
static void poison(struct things *x)
{
    static struct cuda_driver driver;
    typedef cuda_result (*any)(void);
    const any end = dies;
    driver = *gpu_of(x->context)->driver;
    for (size_t at = sizeof(char *); at + sizeof end <= sizeof driver; at += sizeof end)
        memcpy((char *)&driver + at, &end, sizeof end);
    gpu_of(x->context)->driver = &driver;
}

static void goes_on_body(struct test *t, void *arg)
{
    struct things *x = arg;
    if (t->kind == TEST_CPU) {
        use_in_child(t, x);
        use_in_child(t, x);
    } else {
        poison(x);
        refused(t, x);
        refused(t, x);
    }
    unmake(x);
    if (t->kind == TEST_CPU)
        test_ledger_check(t, &x->ledger);
    else
        CHECKF(t, x->ledger.blocks && !x->ledger.complaint, "memory of the device was given back");
}

static void only_ends_body(struct test *t, void *arg)
{
    struct things *x = arg;
    if (t->kind != TEST_CPU)
        poison(x);
    unmake(x);
    if (t->kind == TEST_CPU)
        test_ledger_check(t, &x->ledger);
}

static void grandchild(struct test *t, void *arg)
{
    struct things *x = arg;
    if (t->kind == TEST_CPU)
        use_in_child(t, x);
    else
        poison(x);
    test_in_child(t, goes_on_body, arg);
    goes_on_body(t, arg);
}

static void one_thread(struct test *t)
{
    static void (*const bodies[])(struct test *, void *) = {goes_on_body, only_ends_body, grandchild};
    for (uint64_t threads = 1; threads <= 5; threads += threads < 3 ? 1 : 2)
        for (size_t i = 0; i < 3; i++) {
            struct things x;
            make(t, &x, threads, test_size(t, 100000, 300), 1);
            test_in_child(t, bodies[i], &x);
            use(t, &x);
            end(t, &x);
        }
}

/* A child may make contexts, whatever it has inherited. */
static void news_body(struct test *t, void *arg)
{
    struct things x;
    (void)arg;
    t->device = "cpu";
    t->kind = TEST_CPU;
    make(t, &x, CHILD_THREADS, 100000, 0);
    use_in_child(t, &x);
    unmake(&x);
}

static void makes_new_ones(struct test *t)
{
    struct things x;
    make(t, &x, 3, 300, 1);
    test_in_child(t, news_body, NULL);
    end(t, &x);
}

/* ---- calls under way ----------------------------------------------------------------------------------- */

struct forking_allocator {
    cohort_allocator allocator;
    struct test *test;
    struct things *things;
    int armed, children;
};

static void lost_body(struct test *t, void *arg)
{
    struct things *x = arg;
    if (t->kind != TEST_CPU)
        poison(x);
    refused(t, x);
    FAILS(t, x->context, cohort_wait(x->context), COHORT_UNSUPPORTED, "under way", NULL);
    uint64_t bytes = x->ledger.bytes;
    unmake(x); /* leaves all as it is */
    CHECK(t, x->ledger.bytes == bytes);
}

/* Called in the middle of a call. */
static void *fork_and_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    struct forking_allocator *f = user;
    if (f->armed) {
        f->armed = 0;
        f->children++;
        test_in_child(f->test, lost_body, f->things);
    }
    return f->allocator.alloc(f->allocator.user, bytes, alignment, stream);
}

static void free_as_ever(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    struct forking_allocator *f = user;
    f->allocator.free(f->allocator.user, memory, bytes, alignment, stream);
}

static void in_the_middle_of_a_call(struct test *t)
{
    struct things x;
    struct forking_allocator f = {.test = t, .things = &x};
    make(t, &x, 2, 300, 1);
    f.allocator = x.context->allocator;
    x.context->allocator = (cohort_allocator){fork_and_alloc, free_as_ever, &f};
    f.armed = 1;
    OK(t, cohort_map_rehash(x.map, 100000));
    EQUAL(t, f.children, 1);
    x.context->allocator = f.allocator;
    use(t, &x);
    end(t, &x);
}

/* A result that goes back while the process forks, by another thread: no call is under way, but the list of
 * what is lent is locked, and in the child nobody will unlock it. */
static void while_a_result_goes_back(struct test *t)
{
#if defined(__SANITIZE_THREAD__)
    test_skip(t, "to the thread sanitizer a lock that is made anew in a child stays locked");
#endif
    struct things x;
    make(t, &x, 2, 300, 1);
    REQUIRE(t, !pthread_mutex_lock(&x.context->loans.mutex));
    test_in_child(t, goes_on_body, &x);
    test_in_child(t, only_ends_body, &x);
    REQUIRE(t, !pthread_mutex_unlock(&x.context->loans.mutex));
    use(t, &x);
    end(t, &x);
}

/* ---- under load ---------------------------------------------------------------------------------------- */

#define BUSY 3

struct busy {
    struct things things;
    struct test test; /* a copy: what happens here is told afterwards */
    pthread_t thread;
    int stop; /* atomic */
    const char *complaint;
};

static void *keep_busy(void *arg)
{
    struct busy *b = arg;
    struct things *x = &b->things;
    uint64_t *found = malloc(x->n * 8);
    for (uint64_t round = 0; found && !__atomic_load_n(&b->stop, __ATOMIC_RELAXED); round++) {
        void *memory;
        if (cohort_map_find(x->map, x->n, x->keys, found, NULL, NULL) || found[x->n - 1] != x->n - 1 ||
            (round % 8 == 0 && cohort_map_rehash(x->map, round % 16 ? 0 : 4 * x->n)) ||
            cohort_alloc(x->context, 100 + round % 1000, &memory) || cohort_free(x->context, memory))
            b->complaint = "a call failed beside forks";
    }
    free(found);
    return NULL;
}

struct load {
    struct things idle;
    struct busy busy[BUSY];
    int used[2]; /* a pipe: a byte for each busy context that the child could use */
};

/* A busy thread may be between two calls; then its context goes on. */
static void under_load_body(struct test *t, void *arg)
{
    struct load *l = arg;
    if (t->kind == TEST_CPU)
        use_in_child(t, &l->idle);
    for (int i = 0; i < BUSY; i++) {
        struct things *x = &l->busy[i].things;
        cohort_status status = cohort_wait(x->context);
        CHECK(t, status == COHORT_UNSUPPORTED || (t->kind == TEST_CPU && status == COHORT_OK));
        if (status == COHORT_OK)
            use_in_child(t, x);
        else
            refused(t, x);
        char byte = (char)status;
        REQUIRE(t, write(l->used[1], &byte, 1) == 1);
        unmake(x);
    }
    unmake(&l->idle);
}

static void under_load(struct test *t)
{
#if defined(__SANITIZE_THREAD__)
    test_skip(
        t, "the thread sanitizer does not free its own locks in a child that was forked beside busy threads");
#endif
    struct load *l = calloc(1, sizeof *l);
    uint64_t rounds = test_scale(t, 10, 40, 200), usable = 0;
    unsigned char byte;
    REQUIRE(t, l && !pipe(l->used));
    make(t, &l->idle, 3, test_size(t, 20000, 100), 0);
    for (int i = 0; i < BUSY; i++) {
        make(t, &l->busy[i].things, (uint64_t)(1 + i), test_size(t, 20000, 100), 0);
        REQUIRE(t, !pthread_create(&l->busy[i].thread, NULL, keep_busy, &l->busy[i]));
    }
    for (uint64_t i = 0; i < rounds && !t->failures; i++) {
        use(t, &l->idle); /* its workers are still awake */
        if (!test_in_child(t, under_load_body, l))
            break;
        for (int j = 0; j < BUSY; j++)
            usable += read(l->used[0], &byte, 1) == 1 && byte == COHORT_OK;
    }
    CHECKF(t, t->failures || usable < rounds * BUSY, "no fork met a call under way");
    for (int i = 0; i < BUSY; i++)
        __atomic_store_n(&l->busy[i].stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < BUSY; i++) {
        pthread_join(l->busy[i].thread, NULL);
        CHECKF(t, !l->busy[i].complaint, "%s", l->busy[i].complaint);
        unmake(&l->busy[i].things);
    }
    unmake(&l->idle);
    close(l->used[0]);
    close(l->used[1]);
    free(l);
}

/* ---- other handlers of forks --------------------------------------------------------------------------- */

/* Registered before the library registers its own: called after it before a fork, and before it in the
 * child. */
static struct things *handled;
static cohort_status before_status, child_status;

static void handler_before(void)
{
    before_status = handled ? cohort_map_insert(handled->map, 1000, handled->keys, handled->values, NULL) : 0;
}

static void handler_in_child(void)
{
    struct things *x = handled;
    child_status = !x                  ? COHORT_OK
                   : CHILD_THREADS > 1 ? cohort_map_insert(x->map, x->n, x->keys, x->values, NULL)
                                       : cohort_wait(x->context);
}

__attribute__((constructor)) static void register_early(void)
{
    pthread_atfork(handler_before, NULL, handler_in_child);
}

static void handlers_body(struct test *t, void *arg)
{
    handled = NULL;
    EQUAL(t, child_status, t->kind == TEST_CPU ? COHORT_OK : COHORT_UNSUPPORTED);
    goes_on_body(t, arg);
}

static void other_handlers(struct test *t)
{
    struct things x;
    make(t, &x, 3, test_size(t, 100000, 1000), 1);
    handled = &x;
    test_in_child(t, handlers_body, &x);
    handled = NULL;
    EQUAL(t, before_status, COHORT_OK);
    use(t, &x);
    end(t, &x);
}

const struct test_case test_cases[] = {
    {"one thread", one_thread, TEST_NO_CONTEXT},
    {"makes new ones", makes_new_ones, TEST_NO_CONTEXT},
    {"in the middle of a call", in_the_middle_of_a_call, TEST_NO_CONTEXT},
    {"while a result goes back", while_a_result_goes_back, TEST_NO_CONTEXT},
    {"under load", under_load, TEST_NO_CONTEXT},
    {"other handlers", other_handlers, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
