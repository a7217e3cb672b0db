/* threads.c: the workers of a CPU context.
 *
 * One job at a time. The caller posts it, works on it as worker 0, closes it when no piece is left unclaimed,
 * and waits for the workers that are still inside. A worker that wakes up after that finds the job closed and
 * goes back to sleep, so a short job never waits for sleepers. Pieces are claimed by one atomic addition
 * each; there are about sixteen a worker, so that a slow core does not hold up the rest.
 *
 * Joining and leaving take the pool's mutex, which orders memory between the caller and the workers: what the
 * caller wrote before is seen inside, what a worker wrote is seen by the caller after it left. A worker spins
 * for a moment on the job's number before it sleeps, since jobs often follow each other closely; not where
 * workers outnumber cores. */
#include "cpu.h"
#include "system.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define PIECES_A_WORKER 16
#define SPINS           2000

struct worker {
    struct cpu_pool *pool;
    pthread_t thread;
    unsigned number;
};

struct job {
    void (*work)(void *, uint64_t, uint64_t, unsigned);
    void *arg;
    uint64_t n, piece, pieces;
    uint64_t next; /* atomic: the first unclaimed piece */
    /* Of work that is told: the caller alone looks at these. */
    cohort_context *context; /* NULL: nobody is told */
    const char *what;
    cohort_status status;
};

struct cpu_pool {
    pthread_mutex_t mutex;
    pthread_cond_t posted, left;
    unsigned threads, spins;
    unsigned started; /* workers, the caller not counted; below threads - 1 if the system gave no more */
    int tried;        /* to start them, at the first job */
    /* Under the mutex; `number`, `inside` and `stop` are read without it by those who spin. */
    struct job job;
    uint64_t number; /* of jobs posted */
    unsigned inside; /* workers in the job, the caller not counted */
    unsigned asleep;
    int open, stop, caller_asleep;
    struct worker workers[];
};

/* The caller, who is worker 0, has done a piece. If the work is to be ended, no piece is given out any
 * more. */
static void tell(struct job *job)
{
    uint64_t next = __atomic_load_n(&job->next, __ATOMIC_RELAXED);
    if (next >= job->pieces || job->status)
        return;
    job->status = context_progress(job->context, job->what, next * job->piece, job->n);
    if (job->status)
        __atomic_store_n(&job->next, job->pieces, __ATOMIC_RELAXED);
}

static void do_pieces(struct job *job, unsigned worker)
{
    for (;;) {
        uint64_t i = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (i >= job->pieces)
            return;
        uint64_t begin = i * job->piece;
        uint64_t end = i + 1 == job->pieces ? job->n : begin + job->piece;
        job->work(job->arg, begin, end, worker);
        if (!worker && job->context)
            tell(job);
    }
}

static void await_job(struct cpu_pool *pool, uint64_t last)
{
    for (unsigned i = 0; i < pool->spins; i++) {
        if (__atomic_load_n(&pool->number, __ATOMIC_RELAXED) != last ||
            __atomic_load_n(&pool->stop, __ATOMIC_RELAXED))
            return;
        co_pause();
    }
}

static void *worker_main(void *arg)
{
    struct worker *self = arg;
    struct cpu_pool *pool = self->pool;
    uint64_t last = 0;
    for (;;) {
        await_job(pool, last);
        pthread_mutex_lock(&pool->mutex);
        pool->asleep++;
        while (pool->number == last && !pool->stop)
            pthread_cond_wait(&pool->posted, &pool->mutex);
        pool->asleep--;
        last = pool->number;
        if (pool->stop)
            break;
        if (pool->open) {
            __atomic_add_fetch(&pool->inside, 1, __ATOMIC_RELAXED);
            pthread_mutex_unlock(&pool->mutex);
            do_pieces(&pool->job, self->number);
            pthread_mutex_lock(&pool->mutex);
            if (__atomic_sub_fetch(&pool->inside, 1, __ATOMIC_RELAXED) == 0 && pool->caller_asleep)
                pthread_cond_signal(&pool->left);
        }
        pthread_mutex_unlock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

struct cpu_pool *cpu_pool_create(unsigned threads)
{
    struct cpu_pool *pool = calloc(1, sizeof *pool + (threads - 1) * sizeof pool->workers[0]);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->left, NULL);
    pool->threads = threads;
    pool->spins = threads <= system_cores() ? SPINS : 0;
    return pool;
}

/* Starts the workers, with all signals blocked: those are for the program's own threads. A system that gives
 * fewer threads than asked for makes things slower, not wrong. */
static void start_workers(struct cpu_pool *pool)
{
    sigset_t all, old;
    pool->tried = 1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool->started + 1 < pool->threads) {
        struct worker *worker = &pool->workers[pool->started];
        worker->pool = pool;
        worker->number = pool->started + 1;
        if (pthread_create(&worker->thread, NULL, worker_main, worker))
            break;
        pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void cpu_pool_destroy(struct cpu_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    __atomic_store_n(&pool->stop, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

void cpu_pool_forget(struct cpu_pool *pool)
{
    free(pool);
}

static void post(struct cpu_pool *pool, const struct job *job)
{
    pthread_mutex_lock(&pool->mutex);
    pool->job = *job;
    pool->open = 1;
    __atomic_store_n(&pool->number, pool->number + 1, __ATOMIC_RELAXED);
    uint64_t helpers = job->pieces - 1;
    if (pool->asleep > helpers)
        while (helpers--)
            pthread_cond_signal(&pool->posted);
    else if (pool->asleep)
        pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->mutex);
}

static void close_job(struct cpu_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->open = 0;
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->spins && __atomic_load_n(&pool->inside, __ATOMIC_RELAXED); i++)
        co_pause();
    pthread_mutex_lock(&pool->mutex);
    pool->caller_asleep = 1;
    while (pool->inside)
        pthread_cond_wait(&pool->left, &pool->mutex);
    pool->caller_asleep = 0;
    pthread_mutex_unlock(&pool->mutex);
}

static void run_job(struct cpu_pool *pool, const struct job *job)
{
    if (!pool->tried)
        start_workers(pool);
    post(pool, job);
    do_pieces(&pool->job, 0);
    close_job(pool);
}

static struct job job_of(cohort_context *context, uint64_t n, uint64_t grain,
                         void (*work)(void *, uint64_t, uint64_t, unsigned), void *arg)
{
    uint64_t grains = n / grain + (n % grain != 0);
    uint64_t each = grains / ((uint64_t)cpu_device(context)->threads * PIECES_A_WORKER);
    struct job job = {.work = work, .arg = arg, .n = n, .piece = grain * (each ? each : 1)};
    job.pieces = n / job.piece + (n % job.piece != 0);
    return job;
}

void cpu_parallel(cohort_context *context, uint64_t n, uint64_t grain,
                  void (*work)(void *arg, uint64_t begin, uint64_t end, unsigned worker), void *arg)
{
    struct cpu_device *device = cpu_device(context);
    if (!n)
        return;
    if (!device->pool || n <= grain) {
        work(arg, 0, n, 0);
        return;
    }
    struct job job = job_of(context, n, grain, work, arg);
    run_job(device->pool, &job);
}

cohort_status cpu_parallel_told(cohort_context *context, const char *what, uint64_t n, uint64_t grain,
                                void (*work)(void *arg, uint64_t begin, uint64_t end, unsigned worker),
                                void *arg)
{
    struct cpu_pool *pool = cpu_device(context)->pool;
    if (n <= grain || !what || !context->progress.call) {
        cpu_parallel(context, n, grain, work, arg);
        return COHORT_OK;
    }
    struct job own = job_of(context, n, grain, work, arg), *job = &own;
    own.context = context;
    own.what = what;
    if (pool) {
        run_job(pool, job);
        job = &pool->job;
    } else {
        do_pieces(job, 0);
    }
    return job->status ? job->status : context_progress(context, what, n, n);
}
