/* loans.c: buffers of results. What is lacking is taken by take.c. Requests are rounded up so that results of
 * much the same size share them; the smallest idle buffer that holds a request and is not a quarter larger is
 * taken. What is idle beyond what was ever lent at a time goes back to the system when something is asked for
 * the next time. */
#include "core/loans.h"

#include <stdlib.h>
#include <string.h>

#include "backend/context.h"

#define LEAST 256ull

void loans_open(cohort_context *context)
{
    pthread_mutex_init(&context->loans.mutex, NULL);
}

void loans_inherit(cohort_context *context)
{
    pthread_mutex_init(&context->loans.mutex, NULL);
}

uint64_t loans_size(uint64_t bytes)
{
    uint64_t step = LEAST;
    while (step < bytes / 32 && step < 1ull << 58)
        step *= 2;
    return bytes > UINT64_MAX - step ? bytes : (bytes + step - 1) / step * step + (bytes ? 0 : step);
}

static void forget(cohort_context *context, struct buffer *b)
{
    context_release(context, b->memory, b->room);
    free(b);
}

/* Takes out of the list what serves, or NULL. Under the mutex. */
static struct buffer *find_idle(struct loans *loans, uint64_t room)
{
    struct buffer **best = NULL;
    for (struct buffer **at = &loans->idle; *at && !(best && (*best)->room == room); at = &(*at)->next)
        if ((*at)->room >= room && (*at)->room - room <= room / 4 && (!best || (*at)->room < (*best)->room))
            best = at;
    if (!best)
        return NULL;
    struct buffer *b = *best;
    *best = b->next;
    loans->idle_bytes -= b->room;
    return b;
}

/* All that is idle, or what is over `most` bytes, oldest first. */
static struct buffer *take_idle(struct loans *loans, uint64_t most)
{
    struct buffer **at = &loans->idle;
    uint64_t kept = 0;
    while (*at && kept + (*at)->room <= most) {
        kept += (*at)->room;
        at = &(*at)->next;
    }
    struct buffer *rest = *at;
    *at = NULL;
    loans->idle_bytes = kept;
    return rest;
}

static uint64_t forget_all(cohort_context *context, struct buffer *list)
{
    uint64_t bytes = 0;
    while (list) {
        struct buffer *next = list->next;
        bytes += list->room;
        forget(context, list);
        list = next;
    }
    return bytes;
}

/* The backend goes, and the context with it. */
static void end_context(cohort_context *context)
{
    context->backend->context->close(context);
    pthread_mutex_destroy(&context->loans.mutex);
    free(context->log);
    free(context);
}

static void end_buffer(struct holder *holder)
{
    struct buffer *b = (struct buffer *)(void *)holder;
    cohort_context *context = b->context;
    struct loans *loans = &context->loans;
    if (context->origin != CONTEXT_OURS)
        return; /* a copy that a fork made, and that nobody has used since: the memory may be a device's */
    pthread_mutex_lock(&loans->mutex);
    loans->out--;
    loans->out_bytes -= b->room;
    int closed = loans->closed, last = closed && !loans->out;
    if (closed) {
        forget(context, b);
    } else {
        b->next = loans->idle;
        loans->idle = b;
        loans->idle_bytes += b->room;
    }
    pthread_mutex_unlock(&loans->mutex);
    if (last)
        end_context(context);
}

static void lend(struct loans *loans, struct buffer *b)
{
    loans->out++;
    loans->out_bytes += b->room;
    loans->most_bytes = loans->out_bytes > loans->most_bytes ? loans->out_bytes : loans->most_bytes;
}

struct buffer *loans_find(cohort_context *context, uint64_t room)
{
    struct loans *loans = &context->loans;
    pthread_mutex_lock(&loans->mutex);
    struct buffer *b = find_idle(loans, room);
    struct buffer *surplus = b ? NULL : take_idle(loans, loans->most_bytes);
    if (b)
        lend(loans, b);
    pthread_mutex_unlock(&loans->mutex);
    forget_all(context, surplus);
    return b;
}

void loans_put(cohort_context *context, struct buffer *b)
{
    b->context = context;
    b->holder.end = end_buffer;
    pthread_mutex_lock(&context->loans.mutex);
    lend(&context->loans, b);
    pthread_mutex_unlock(&context->loans.mutex);
}

uint64_t loans_trim(cohort_context *context)
{
    struct loans *loans = &context->loans;
    pthread_mutex_lock(&loans->mutex);
    struct buffer *all = take_idle(loans, 0);
    pthread_mutex_unlock(&loans->mutex);
    return forget_all(context, all);
}

uint64_t loans_idle_bytes(cohort_context *context)
{
    pthread_mutex_lock(&context->loans.mutex);
    uint64_t bytes = context->loans.idle_bytes;
    pthread_mutex_unlock(&context->loans.mutex);
    return bytes;
}

int loans_lends(cohort_context *context)
{
    pthread_mutex_lock(&context->loans.mutex);
    int lends = context->loans.out != 0;
    pthread_mutex_unlock(&context->loans.mutex);
    return lends;
}

/* Takes what is idle; if nothing is, the loans are closed under the same lock, and the last one to come back
 * ends the context. */
static struct buffer *drain(struct loans *loans, int *lends)
{
    pthread_mutex_lock(&loans->mutex);
    struct buffer *idle = take_idle(loans, 0);
    loans->closed = !idle;
    *lends = loans->out != 0;
    pthread_mutex_unlock(&loans->mutex);
    return idle;
}

void loans_close(cohort_context *context)
{
    struct buffer *idle;
    int lends;
    while ((idle = drain(&context->loans, &lends)))
        forget_all(context, idle);
    if (!lends)
        end_context(context);
}
