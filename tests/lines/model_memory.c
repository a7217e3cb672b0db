/* model_memory.c: places with their messages, threads with their views, and a state of all that as bytes, the
 * same for states in which the same can happen: messages that nobody can read any more are forgotten, and
 * times are counted from the oldest that is kept. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* ---- what ACT_SNAP answered, by number ----------------------------------------------------------------- */

enum { SNAPS = 4096, SNAP_PLACES = 8 };
static struct {
    uint32_t value[SNAP_PLACES];
    unsigned first, count;
} snaps[SNAPS];
static uint32_t snap_count;

static uint32_t snap_number(const struct model_state *s, unsigned first, unsigned count)
{
    uint32_t value[SNAP_PLACES] = {0};
    for (unsigned i = 0; i < count; i++)
        value[i] = memory_newest(s, first + i);
    for (uint32_t n = 0; n < snap_count; n++)
        if (snaps[n].first == first && snaps[n].count == count &&
            !memcmp(snaps[n].value, value, sizeof value))
            return n;
    if (snap_count == SNAPS || count > SNAP_PLACES)
        abort();
    memcpy(snaps[snap_count].value, value, sizeof value);
    snaps[snap_count].first = first;
    snaps[snap_count].count = count;
    return snap_count++;
}

uint32_t model_snapped(uint32_t number, unsigned place)
{
    return snaps[number].value[place - snaps[number].first];
}

/* ---- views --------------------------------------------------------------------------------------------- */

static void join(uint8_t *to, const uint8_t *from)
{
    for (unsigned i = 0; i < MODEL_PLACES; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

static int holds(const struct model_request *q, uint32_t value)
{
    return (value & q->mask) == q->expect;
}

uint32_t memory_newest(const struct model_state *s, unsigned place)
{
    return s->message[place][s->count[place] - 1].value;
}

void memory_at_first(const struct model *m, const struct model_plan *p, struct model_state *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < m->places; i++) {
        s->count[i] = 1;
        s->message[i][0].value = p->memory[i];
    }
    s->history = history_first(p);
}

unsigned memory_choices(const struct model *m, const struct model_state *s, unsigned thread,
                        const struct model_request *q)
{
    const struct model_thread *t = &s->thread[thread];
    if (q->act == ACT_WAIT)
        return (unsigned)holds(q, memory_newest(s, q->place));
    if (q->act == ACT_GLANCE)
        return s->count[q->place];
    if (q->act == ACT_LOAD && m->weak) {
        /* An operation that begins with it comes after those that have ended. */
        uint8_t sees = t->view[q->place], ended = t->begun ? 0 : s->ended[q->place];
        return s->count[q->place] - (unsigned)(ended > sees ? ended : sees);
    }
    return 1;
}

/* The thread has read message `x`. */
static void see(struct model_state *s, struct model_thread *t, const struct model_request *q, unsigned x)
{
    const struct model_message *seen = &s->message[q->place][x];
    t->view[q->place] = (uint8_t)x > t->view[q->place] ? (uint8_t)x : t->view[q->place];
    if (q->order & ORDER_ACQUIRE)
        join(t->view, seen->view);
    join(t->acquired, seen->view);
}

/* A new message behind the others; of an update it carries on what the one before carried. */
static int append(const struct model *m, struct model_state *s, struct model_thread *t,
                  const struct model_request *q, uint32_t value)
{
    unsigned n = s->count[q->place];
    struct model_message *made;
    if (!m->weak && !m->glances) {
        s->message[q->place][0].value = value;
        return 1;
    }
    if (n == MODEL_MESSAGES)
        return 0;
    made = &s->message[q->place][n];
    t->view[q->place] = (uint8_t)n;
    made->value = value;
    memcpy(made->view, q->order & ORDER_RELEASE ? t->view : t->released, sizeof made->view);
    if (q->act == ACT_UPDATE)
        join(made->view, s->message[q->place][n - 1].view);
    made->view[q->place] = (uint8_t)n;
    s->count[q->place]++;
    return 1;
}

uint32_t memory_do(const struct model *m, struct model_state *s, unsigned thread,
                   const struct model_request *q, unsigned choice, int *fits)
{
    struct model_thread *t = &s->thread[thread];
    const unsigned newest = q->act == ACT_FENCE ? 0 : s->count[q->place] - 1u;
    uint32_t value = q->act == ACT_FENCE ? 0 : s->message[q->place][newest].value;
    *fits = 1;
    switch (q->act) {
    case ACT_LOAD:
        see(s, t, q, newest - choice);
        return s->message[q->place][newest - choice].value;
    case ACT_GLANCE:
        return s->message[q->place][newest - choice].value;
    case ACT_SNAP:
        return snap_number(s, q->place, q->value);
    case ACT_STORE:
        *fits = append(m, s, t, q, q->value);
        return 0;
    case ACT_FENCE:
        if (q->order & ORDER_ACQUIRE)
            join(t->view, t->acquired);
        if (q->order & ORDER_RELEASE)
            memcpy(t->released, t->view, sizeof t->released);
        return 0;
    case ACT_WAIT:
        see(s, t, q, newest);
        return value;
    default: /* ACT_UPDATE; one that changes nothing has no order */
        if (!holds(q, value)) {
            struct model_request look = *q;
            look.order = ORDER_RELAXED;
            see(s, t, &look, newest);
            return value;
        }
        see(s, t, q, newest);
        *fits = append(m, s, t, q, value + q->value);
        return value;
    }
}

/* ---- states that are the same -------------------------------------------------------------------------- */

static int is_done(const struct model_plan *p, const struct model_thread *t, unsigned thread)
{
    return t->at == p->each[thread];
}

/* Times of the place count from `base` on. */
static void rebase(const struct model *m, struct model_state *s, unsigned place, uint8_t base)
{
#define LOWER(time) ((time) = (uint8_t)((time) > base ? (time)-base : 0))
    for (unsigned t = 0; t < MODEL_THREADS; t++) {
        LOWER(s->thread[t].view[place]);
        LOWER(s->thread[t].acquired[place]);
        LOWER(s->thread[t].released[place]);
    }
    LOWER(s->ended[place]);
    for (unsigned i = 0; i < m->places; i++)
        for (unsigned k = 0; k < s->count[i]; k++)
            LOWER(s->message[i][k].view[place]);
#undef LOWER
}

void memory_tidy(const struct model *m, const struct model_plan *p, struct model_state *s)
{
    for (unsigned t = 0; t < p->threads; t++)
        if (is_done(p, &s->thread[t], t)) {
            uint8_t at = s->thread[t].at;
            memset(&s->thread[t], 0, sizeof s->thread[t]);
            s->thread[t].at = at;
        }
    if (m->glances || !m->weak)
        return;
    for (unsigned i = 0; i < m->places; i++) {
        uint8_t base = (uint8_t)(s->count[i] - 1);
        for (unsigned t = 0; t < p->threads; t++) {
            const struct model_thread *thread = &s->thread[t];
            uint8_t sees = thread->view[i];
            if (!thread->begun && s->ended[i] > sees)
                sees = s->ended[i]; /* it will, when its next operation begins */
            if (!is_done(p, thread, t) && sees < base)
                base = sees;
        }
        if (!base)
            continue;
        s->count[i] = (uint8_t)(s->count[i] - base);
        memmove(s->message[i], s->message[i] + base, s->count[i] * sizeof s->message[i][0]);
        rebase(m, s, i, base);
    }
}

/* ---- as bytes ------------------------------------------------------------------------------------------ */

#define WRITE(field, size) (memcpy(to, (field), (size)), to += (size))
#define READ(field, size)  (memcpy((field), from, (size)), from += (size))

size_t state_write(const struct model *m, const struct model_plan *p, const struct model_state *s,
                   uint8_t *bytes)
{
    uint8_t *to = bytes;
    const size_t view = m->weak ? m->places : 0;
    for (unsigned t = 0; t < p->threads; t++) {
        const struct model_thread *thread = &s->thread[t];
        WRITE(&thread->node, sizeof thread->node);
        WRITE(&thread->at, 1);
        WRITE(&thread->begun, 1);
        if (is_done(p, thread, t))
            continue;
        WRITE(thread->view, view);
        WRITE(thread->acquired, view);
        WRITE(thread->released, view);
    }
    WRITE(&s->history, sizeof s->history);
    WRITE(s->ended, view);
    WRITE(s->count, m->places);
    for (unsigned i = 0; i < m->places; i++)
        for (unsigned k = 0; k < s->count[i]; k++) {
            WRITE(&s->message[i][k].value, sizeof(uint32_t));
            WRITE(s->message[i][k].view, view);
        }
    return (size_t)(to - bytes);
}

void state_read(const struct model *m, const struct model_plan *p, struct model_state *s,
                const uint8_t *bytes)
{
    const uint8_t *from = bytes;
    const size_t view = m->weak ? m->places : 0;
    memset(s, 0, offsetof(struct model_state, message));
    for (unsigned t = 0; t < p->threads; t++) {
        struct model_thread *thread = &s->thread[t];
        READ(&thread->node, sizeof thread->node);
        READ(&thread->at, 1);
        READ(&thread->begun, 1);
        if (is_done(p, thread, t))
            continue;
        READ(thread->view, view);
        READ(thread->acquired, view);
        READ(thread->released, view);
    }
    READ(&s->history, sizeof s->history);
    READ(s->ended, view);
    READ(s->count, m->places);
    for (unsigned i = 0; i < m->places; i++)
        for (unsigned k = 0; k < s->count[i]; k++) {
            memset(s->message[i][k].view, 0, sizeof s->message[i][k].view);
            READ(&s->message[i][k].value, sizeof(uint32_t));
            READ(s->message[i][k].view, view);
        }
}
