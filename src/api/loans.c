/* loans.c: buffers of results. Requests are rounded up so that results of much the same size share them; the smallest idle buffer
 * that holds a request and is not a quarter larger is taken. What is idle beyond what was ever lent at a time goes back to the
 * system when something is asked for the next time. */
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

static uint64_t room_for(uint64_t bytes)
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
    for (struct buffer **at = &loans->idle; *at; at = &(*at)->next)
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
        context_end(context);
}

static void lend(struct loans *loans, struct buffer *b)
{
    loans->out++;
    loans->out_bytes += b->room;
    loans->most_bytes = loans->out_bytes > loans->most_bytes ? loans->out_bytes : loans->most_bytes;
}

static cohort_status make(cohort_context *context, uint64_t room, struct buffer **out)
{
    struct buffer *b = calloc(1, sizeof *b);
    if (!b)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for a buffer's record");
    cohort_status status = system_take(context, room, &b->memory);
    if (status) {
        free(b);
        return status;
    }
    b->room = room;
    b->context = context;
    b->holder.end = end_buffer;
    *out = b;
    return COHORT_OK;
}

cohort_status loan_take(cohort_context *context, uint64_t bytes, struct buffer **out)
{
    struct loans *loans = &context->loans;
    uint64_t room = room_for(bytes);
    *out = NULL;
    pthread_mutex_lock(&loans->mutex);
    struct buffer *b = find_idle(loans, room);
    struct buffer *surplus = b ? NULL : take_idle(loans, loans->most_bytes);
    if (b)
        lend(loans, b);
    pthread_mutex_unlock(&loans->mutex);
    forget_all(context, surplus);
    if (!b) {
        cohort_status status = make(context, room, &b);
        if (status)
            return status;
        pthread_mutex_lock(&loans->mutex);
        lend(loans, b);
        pthread_mutex_unlock(&loans->mutex);
    }
    b->bytes = bytes;
    b->holder.count = 1;
    *out = b;
    return COHORT_OK;
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

int loans_close(cohort_context *context)
{
    struct loans *loans = &context->loans;
    loans_trim(context);
    pthread_mutex_lock(&loans->mutex);
    loans->closed = 1;
    int left = loans->out != 0;
    pthread_mutex_unlock(&loans->mutex);
    return left;
}
