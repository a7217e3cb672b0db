/* call.c: calls that are under way, and what fork does to contexts.
 *
 * A fork copies contexts into the child, but not the threads that work for them. So the library keeps a list
 * of all contexts and has handlers for fork (pthread_atfork). Before the fork each context's number of calls
 * under way is put down. The child looks at these numbers. A context without calls is in order: the next call
 * asks the backend whether it goes on here. A context with a call may be half changed, by a thread that the
 * child does not have: it is lost.
 *
 * For that no call may begin between the count and the fork. A call first counts itself and then looks
 * whether a fork has begun; a fork first says that it has begun and then reads the counts. All four are
 * sequentially consistent, so one of the two sees the other. A call that sees the fork takes its count back,
 * waits for the list's mutex, which the fork holds, and counts itself again under it. The thread that forks
 * does not wait for itself: other handlers of its fork may call the library. */
#include "api/call.h"

#include <pthread.h>
#include <unistd.h>

#include "backend/context.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static cohort_context *contexts; /* under the mutex */
static int handled;              /* the handlers are in place */
static int forking;              /* atomic */
static pid_t forker;             /* the process that forks */
static int settled;              /* this process, a child, has looked at its contexts */
static _Thread_local int forks_here;

/* ---- the handlers -------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
    forks_here = 1;
    forker = getpid();
    settled = 0;
    __atomic_store_n(&forking, 1, __ATOMIC_SEQ_CST);
    for (cohort_context *c = contexts; c; c = c->next)
        c->forked = __atomic_load_n(&c->calls, __ATOMIC_SEQ_CST) % (CONTEXT_CALL - 1);
}

static void after_fork(void)
{
    __atomic_store_n(&forking, 0, __ATOMIC_SEQ_CST);
    forks_here = 0;
    pthread_mutex_unlock(&mutex);
}

static void settle(void)
{
    for (cohort_context *c = contexts; c && !settled; c = c->next) {
        if (c->forked)
            c->origin = CONTEXT_LOST;
        else if (c->origin == CONTEXT_OURS)
            c->origin = CONTEXT_INHERITED;
    }
    settled = 1;
}

static void after_fork_in_child(void)
{
    settle();
    after_fork();
}

cohort_status call_register(cohort_context *context)
{
    pthread_mutex_lock(&mutex);
    if (!handled)
        handled = !pthread_atfork(before_fork, after_fork, after_fork_in_child);
    if (handled) {
        context->next = contexts;
        if (contexts)
            contexts->previous = context;
        contexts = context;
    }
    int done = handled;
    pthread_mutex_unlock(&mutex);
    return done ? COHORT_OK : context_fail(NULL, COHORT_NO_MEMORY, "no memory to watch for forks");
}

void call_unregister(cohort_context *context)
{
    pthread_mutex_lock(&mutex);
    if (context->next)
        context->next->previous = context->previous;
    if (context->previous)
        context->previous->next = context->next;
    else
        contexts = context->next;
    pthread_mutex_unlock(&mutex);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* A fork has begun, or had when the call looked. */
static void meet_fork(cohort_context *context)
{
    if (!forks_here) {
        __atomic_fetch_sub(&context->calls, 1, __ATOMIC_SEQ_CST);
        pthread_mutex_lock(&mutex);
        __atomic_fetch_add(&context->calls, 1, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&mutex);
    } else if (getpid() != forker) {
        settle(); /* a handler of the child's that comes before ours */
    }
}

static cohort_status take_over(cohort_context *context)
{
    if (context->origin == CONTEXT_LOST)
        return context_fail(
            context, COHORT_UNSUPPORTED,
            "this process was forked while a call on this context was under way: the copy of the "
            "context in this process cannot be used");
    loans_inherit(context);
    cohort_status status = context->backend->context->inherit(context);
    context->origin = status ? CONTEXT_BARRED : CONTEXT_OURS;
    return status;
}

cohort_status call_begin(cohort_context *context)
{
    if (!context)
        return COHORT_OK;
    __atomic_fetch_add(&context->calls, CONTEXT_CALL, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&forking, __ATOMIC_SEQ_CST))
        meet_fork(context);
    return context->origin == CONTEXT_OURS ? COHORT_OK : take_over(context);
}

int call_begin_to_end(cohort_context *context)
{
    call_begin(context);
    return context->origin != CONTEXT_LOST;
}

void call_end(cohort_context *context)
{
    if (context)
        __atomic_fetch_sub(&context->calls, 1, __ATOMIC_RELEASE);
}
