/* merge.c: a search that goes on from each state once (sim_search.merge).
 *
 * A state is told by a number, the sum of one of each lane and one of each location. A lane's is made of all
 * that its words have answered: it decides what the lane does next, and what it has seen. A location's is in
 * strong memory its value; in weak memory it is made of all its messages, each of which is told by what its
 * lane had done before. A launch's clocks are read before and after operations: in strong memory it counts
 * which of them had ended when another began.
 *
 * At each point at which lanes may take turns the search looks whether it was in this state before. If so,
 * all that can come of it was seen, and the launch is given up. Two states that differ have the same number
 * once in 2^64 times.
 *
 * Three things make states fewer, and hide nothing:
 *
 *   - What a lane has read in an operation does not matter once the operation is over: its number is as it
 *     was at the beginning, with what came of the operation (sim_outcome). In strong memory alone, since in
 *     weak memory the lane has seen more than before.
 *   - An operation's beginning and its first word are one step. If it began sooner and waited, the words
 *     would be the same, and fewer operations would have ended before it: what explains the answers of the
 *     later beginning explains these.
 *   - Its last word and its end are one step, too, for the same reason.
 *
 * A lane that pauses, but for the first time in an operation, sleeps until another one has written: what it
 * reads would be what it has read. So loops that wait come to an end, and so does the search. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

void merge_begin(void)
{
    struct sim_search *s = sim.launch.schedule.search;
    sim.merge = sim.kind == SIM_SEARCH && s->merge;
    sim.state = sim.sc_trace = sim.ended = 0;
    if (s && sim.kind == SIM_SEARCH)
        s->given_up = 0;
}

/* Words there tell nothing, and come in any order. */
static int is_aside(const void *p)
{
    const struct sim_search *s = sim.launch.schedule.search;
    return (uintptr_t)p - (uintptr_t)s->aside < s->aside_bytes;
}

int merge_matters(const struct lane *lane)
{
    return lane->address ? !is_aside(lane->address) : strcmp(lane->word, "co_fence");
}

void merge_lane(struct lane *lane, uint64_t what)
{
    sim.state -= mix(lane->trace);
    lane->trace = mix(lane->trace * 0x9e3779b97f4a7c15u + what + lane->serial);
    sim.state += mix(lane->trace);
}

void merge_read(const struct location *l, const struct message *m, co_u128 value)
{
    if (is_aside(l->address))
        return;
    const uint64_t what = sim.strong ? mix(value.lo + mix(value.hi)) : m->trace;
    merge_lane(sim.lane, mix((uintptr_t)l->address) + what);
}

void merge_write(struct location *l, struct message *m, co_u128 value, uint32_t place)
{
    if (is_aside(l->address))
        return;
    const uint64_t at = mix((uintptr_t)l->address);
    m->trace = mix(sim.lane->trace + at);
    sim.state -= mix(l->trace + at);
    l->trace = sim.strong ? mix(value.lo + mix(value.hi)) : mix(mix(l->trace) + m->trace + place);
    sim.state += mix(l->trace + at);
    merge_lane(sim.lane, 1);
    schedule_wake();
}

void merge_fence(int sc)
{
    merge_lane(sim.lane, 2 + (uint64_t)sc + sim.sc_trace * (uint64_t)sc);
    if (sc)
        sim.sc_trace = sim.lane->trace;
}

/* Before and after an operation, in turn. In strong memory it counts which operations had ended when one
 * begins. */
void merge_clock(struct lane *lane)
{
    lane->in_operation ^= 1;
    lane->pauses = lane->words = 0;
    merge_lane(lane, 5 + (lane->in_operation && sim.strong ? sim.ended : 0));
    lane->begun = lane->trace;
    if (!lane->in_operation)
        sim.ended += mix(lane->serial);
}

/* What came of an operation, just before its end. */
void sim_outcome(co_u64 result, co_u64 old)
{
    struct lane *lane = sim.lane;
    if (!sim.merge || !sim.strong)
        return;
    sim.state -= mix(lane->trace);
    lane->trace = lane->begun;
    sim.state += mix(lane->trace);
    merge_lane(lane, mix(result + mix(old)));
}

/* ---- states that were met ------------------------------------------------------------------------------ */

static void grow(struct sim_search *s)
{
    const size_t capacity = s->state_capacity ? 2 * s->state_capacity : 1024;
    uint64_t *to = calloc(capacity, sizeof *to);
    if (!to)
        sim_host_error("out of memory");
    for (size_t i = 0; i < s->state_capacity; i++) {
        size_t at = s->met[i] & (capacity - 1);
        while (s->met[i] && to[at])
            at = (at + 1) & (capacity - 1);
        if (s->met[i])
            to[at] = s->met[i];
    }
    free(s->met);
    s->met = to;
    s->state_capacity = capacity;
}

/* Notes a state: 1 if it was met before. */
static int meet(struct sim_search *s, uint64_t state)
{
    state += !state;
    if (2 * s->states >= s->state_capacity)
        grow(s);
    size_t at = state & (s->state_capacity - 1);
    for (; s->met[at]; at = (at + 1) & (s->state_capacity - 1))
        if (s->met[at] == state)
            return 1;
    s->met[at] = state;
    s->states++;
    return 0;
}

int merge_meets(void)
{
    struct sim_search *s = sim.launch.schedule.search;
    uint64_t state = sim.state;
    for (uint32_t i = 0; i < sim.stalled_count; i++)
        state += mix(~(uint64_t)sim.stalled[i]->serial);
    if (s->preemptions != SIM_UNBOUNDED)
        state = mix(state + s->preemptions_left) + sim.lane->serial;
    if (s->stale != SIM_UNBOUNDED)
        state = mix(state) + s->stale_left;
    s->given_up = meet(s, mix(state));
    return s->given_up;
}
