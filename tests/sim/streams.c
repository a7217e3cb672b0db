/* streams.c: the queues of the simulated device.
 *
 * Nothing that is enqueued runs before somebody waits, asks, or drops the context: then heads of queues run
 * in an order that the seed draws, until what was waited for is done. So work that the host forgot to wait
 * for, or to order between streams, has not happened when its results are used. Each time it is drawn anew
 * whether other streams run ahead, fall behind, or keep pace. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

static cuda_stream streams;
static cuda_event events;
static struct cuda_stream_s legacy;

struct op *op_new(enum op_kind kind, size_t data_bytes)
{
    struct op *op = calloc(1, sizeof *op + data_bytes);
    if (!op)
        sim_host_error("out of memory");
    op->kind = kind;
    return op;
}

/* ---- events -------------------------------------------------------------------------------------------- */

int event_known(cuda_event e)
{
    for (cuda_event i = events; i; i = i->next)
        if (i == e && !i->destroyed)
            return 1;
    return 0;
}

int event_is_done(cuda_event e)
{
    return e->done >= e->recorded;
}

static void event_drop(cuda_event e)
{
    if (!e->destroyed || e->users)
        return;
    for (cuda_event *at = &events; *at; at = &(*at)->next) {
        if (*at != e)
            continue;
        *at = e->next;
        free(e);
        return;
    }
}

cuda_result sim_event_create(cuda_event *out, unsigned flags)
{
    (void)flags;
    cuda_event e = calloc(1, sizeof *e);
    if (!e)
        return CUDA_OUT_OF_MEMORY;
    e->next = events;
    events = e;
    *out = e;
    return CUDA_OK;
}

cuda_result sim_event_destroy(cuda_event e)
{
    if (!event_known(e))
        return CUDA_INVALID_VALUE;
    e->destroyed = 1;
    event_drop(e);
    return CUDA_OK;
}

/* ---- doing what was enqueued --------------------------------------------------------------------------- */

static void queue_error(const char *what, const void *p, size_t bytes)
{
    snprintf(sim.message, sizeof sim.message,
             "simulated GPU: %s at %p, %zu bytes; replay with --device sim:%s", what, p, bytes, device.text);
    fprintf(stderr, "%s\n", sim.message);
    sim.failures++;
    device.error = CUDA_LAUNCH_FAILED;
}

/* Memory of the arena must be allocated still. */
static int gone(const char *p, size_t bytes)
{
    if (!arena_has(p))
        return 0;
    size_t at = (size_t)(p - arena.memory);
    return arena.state[at] == STATE_NONE || arena.state[at + bytes - 1] == STATE_NONE;
}

static void do_copy(const struct op *op)
{
    const char *from = op->from ? op->from : op->data;
    if (gone(op->to, op->bytes) || gone(from, op->bytes)) {
        queue_error("a copy to or from freed memory", gone(from, op->bytes) ? from : op->to, op->bytes);
        return;
    }
    memmove(op->to, from, op->bytes);
    device.nanoseconds += 100 + (double)op->bytes / 16;
    const struct allocation *to = arena_find(op->to);
    if (!to || to->kind == ARENA_PINNED || to->kind == ARENA_MANAGED)
        return;
    if (arena_has(from))
        memmove(arena.state + (op->to - arena.memory), arena.state + (from - arena.memory), op->bytes);
    else
        arena_mark(op->to, op->bytes, STATE_WRITTEN);
}

static void do_set(const struct op *op)
{
    if (gone(op->to, op->bytes)) {
        queue_error("a memset of freed memory", op->to, op->bytes);
        return;
    }
    memset(op->to, op->value, op->bytes);
    device.nanoseconds += 100 + (double)op->bytes / 32;
    if (arena_has(op->to))
        arena_mark(op->to, op->bytes, STATE_WRITTEN);
}

static void do_launch(struct op *op)
{
    op->launch.args = op->data;
    if (launch_run(&op->launch))
        device.error = CUDA_LAUNCH_FAILED;
    device.nanoseconds += 1000 + (double)sim.counts.steps;
}

static int can_go(const cuda_stream s)
{
    return s->first && (s->first->kind != OP_WAIT || s->first->event->done >= s->first->version);
}

static void stream_drop(cuda_stream s)
{
    if (!s->destroyed || s->first)
        return;
    for (cuda_stream *at = &streams; *at; at = &(*at)->next) {
        if (*at != s)
            continue;
        *at = s->next;
        free(s);
        return;
    }
}

static void op_end(struct op *op)
{
    if (op->event) {
        op->event->users--;
        event_drop(op->event);
    }
    free(op);
}

static void do_head(cuda_stream s)
{
    struct op *op = s->first;
    s->first = op->next;
    if (!s->first)
        s->last = NULL;
    if (!device.error || op->kind == OP_RECORD) {
        switch (op->kind) {
        case OP_COPY:
            do_copy(op);
            break;
        case OP_SET:
            do_set(op);
            break;
        case OP_LAUNCH:
            do_launch(op);
            break;
        case OP_RECORD:
            op->event->done = op->version;
            op->event->nanoseconds = device.nanoseconds;
            break;
        case OP_WAIT:
            break;
        }
    }
    op_end(op);
    stream_drop(s);
}

/* ---- which queue --------------------------------------------------------------------------------------- */

static cuda_stream pick(cuda_stream preferred, int pace)
{
    unsigned n = can_go(&legacy);
    for (cuda_stream s = streams; s; s = s->next)
        n += can_go(s);
    if (!n)
        return NULL;
    if (preferred && can_go(preferred) && (pace == 0 || n == 1))
        return preferred;
    for (;;) {
        unsigned at = (unsigned)(device_random() >> 33) % n;
        cuda_stream s = NULL;
        if (can_go(&legacy) && at-- == 0)
            s = &legacy;
        for (cuda_stream i = streams; i && !s; i = i->next)
            if (can_go(i) && at-- == 0)
                s = i;
        if (s != preferred || pace != 2 || n == 1)
            return s;
    }
}

/* Works until done(what): keeps to one stream, in any order, or others first. */
static int work_until(int (*done)(const void *), const void *what, cuda_stream preferred)
{
    int pace = (int)((device_random() >> 33) % 3);
    while (!done(what)) {
        cuda_stream s = pick(preferred, pace);
        if (!s) {
            queue_error("streams wait for each other for ever", what, 0);
            return device.error;
        }
        do_head(s);
    }
    return device.error;
}

static int stream_is_empty(const void *s)
{
    return !((const struct cuda_stream_s *)s)->first;
}
static int event_done(const void *e)
{
    return event_is_done((cuda_event)(uintptr_t)e);
}

int streams_finish(cuda_stream s)
{
    return work_until(stream_is_empty, s, s);
}
int streams_finish_event(cuda_event e)
{
    return work_until(event_done, e, NULL);
}

void streams_work(void)
{
    unsigned n = 1 + (unsigned)(device_random() >> 33) % 3;
    cuda_stream s;
    while (n-- && (s = pick(NULL, 1)))
        do_head(s);
}

/* ---- streams ------------------------------------------------------------------------------------------- */

static int stream_known(cuda_stream s)
{
    for (cuda_stream i = streams; i; i = i->next)
        if (i == s && !i->destroyed)
            return 1;
    return 0;
}

/* The legacy stream and the streams that block wait for each other; here at once, when the work is
 * enqueued. */
cuda_stream streams_resolve(cuda_stream s)
{
    if (!s) {
        for (cuda_stream i = streams, next; i; i = next) {
            next = i->next;
            if (!(i->flags & CUDA_STREAM_NON_BLOCKING))
                streams_finish(i);
        }
        return &legacy;
    }
    if (!stream_known(s))
        return NULL;
    if (!(s->flags & CUDA_STREAM_NON_BLOCKING))
        streams_finish(&legacy);
    return s;
}

int streams_add(cuda_stream s, struct op *op)
{
    if (device.error) {
        free(op);
        return device.error;
    }
    if (op->event)
        op->event->users++;
    *(s->last ? &s->last->next : &s->first) = op;
    s->last = op;
    return CUDA_OK;
}

cuda_result sim_stream_create(cuda_stream *out, unsigned flags)
{
    cuda_stream s = calloc(1, sizeof *s);
    if (!s)
        return CUDA_OUT_OF_MEMORY;
    s->flags = flags;
    s->next = streams;
    streams = s;
    *out = s;
    return CUDA_OK;
}

cuda_result sim_stream_destroy(cuda_stream s)
{
    if (!stream_known(s))
        return CUDA_INVALID_VALUE;
    s->destroyed = 1;
    stream_drop(s);
    return CUDA_OK;
}

static void drop_queue(cuda_stream s)
{
    while (s->first) {
        struct op *op = s->first;
        s->first = op->next;
        op_end(op);
    }
    s->last = NULL;
}

unsigned streams_end(FILE *out)
{
    unsigned left = 0;
    drop_queue(&legacy);
    while (streams) {
        cuda_stream s = streams;
        drop_queue(s);
        if (!s->destroyed) {
            left++;
            if (out)
                fprintf(out, "simulated GPU: a stream was not destroyed\n");
        }
        streams = s->next;
        free(s);
    }
    while (events) {
        cuda_event e = events;
        if (!e->destroyed) {
            left++;
            if (out)
                fprintf(out, "simulated GPU: an event was not destroyed\n");
        }
        events = e->next;
        free(e);
    }
    return left;
}
