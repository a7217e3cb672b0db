/* schedule.c: every decision of a launch: who runs next, which value a load returns, in which order a sector
 * is read.
 *
 * Random schedules draw from a generator that the seed starts. A lane keeps its turn for a random number of
 * words, the mean of which is itself drawn for the launch: short turns find races between single words, long
 * ones find operations that fall between two halves of another, and are fast.
 *
 * PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of
 * Finding Bugs", ASPLOS 2010): the ready lane of the highest priority runs; at d random steps the runner
 * becomes the lowest. A lane that pauses, or runs for 4,096 words on end, becomes the lowest as well, so that
 * loops that wait come to an end.
 *
 * Search walks the tree of decisions depth first. A run follows the path of decisions that it is given and
 * then takes the first choice everywhere, noting how many there were; the next path raises the last decision
 * that can be raised. Plain words are no point to switch at: they commute with all that other lanes may do,
 * or are races and reported. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

uint64_t sim_random(void)
{
    uint64_t z = sim.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- search -------------------------------------------------------------------------------------------- */

struct sim_choice {
    uint16_t pick, of;
};

static uint32_t decide(uint32_t n)
{
    struct sim_search *s = sim.launch.schedule.search;
    if (n <= 1)
        return 0;
    if (s->position == s->length) {
        if (s->length == s->capacity) {
            s->capacity = s->capacity ? 2 * s->capacity : 64;
            s->path = realloc(s->path, s->capacity * sizeof *s->path);
            if (!s->path)
                sim_host_error("out of memory");
        }
        s->path[s->length++] = (struct sim_choice){0, (uint16_t)n};
    }
    struct sim_choice *c = &s->path[s->position++];
    if (c->of != n)
        sim_host_error("a search did not repeat itself: was memory reset the same way before each run?");
    return c->pick;
}

int sim_search_next(struct sim_search *s)
{
    s->runs++;
    s->length = s->position; /* a failed run may have left the path early */
    while (s->length && s->path[s->length - 1].pick + 1 == s->path[s->length - 1].of)
        s->length--;
    if (!s->length)
        return 0;
    s->path[s->length - 1].pick++;
    s->cut = s->runs == s->most;
    return !s->cut;
}

void sim_search_end(struct sim_search *s)
{
    free(s->path);
    free(s->met);
    s->path = NULL;
    s->met = NULL;
    s->state_capacity = s->states = 0;
    s->length = s->capacity = s->position = 0;
}

const char *sim_search_path(const struct sim_search *s)
{
    static char text[1024];
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < s->position && n + 8 < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", i ? " " : "", s->path[i].pick);
    return text;
}

/* ---- which value, which order -------------------------------------------------------------------------- */

uint32_t choose_message(uint32_t n)
{
    if (n <= 1)
        return 0;
    if (sim.kind == SIM_SEARCH) {
        struct sim_search *s = sim.launch.schedule.search;
        uint32_t pick = s->stale_left ? decide(n) : 0;
        s->stale_left -= pick != 0 && s->stale != SIM_UNBOUNDED;
        return pick;
    }
    if ((sim_random() & 255) >= sim.staleness)
        return 0;
    return 1 + random_below(n - 1);
}

/* The next of n words of a sector. In a search, weak memory has the orders already: a word read late is a
 * word that was read early, stale. */
uint32_t choose_order(uint32_t n)
{
    if (sim.kind == SIM_SEARCH)
        return sim.strong ? decide(n) : 0;
    return random_below(n);
}

/* ---- the list of ready lanes --------------------------------------------------------------------------- */

/* For PCT the list is a heap with the highest priority at its top; else it has no order. */
static void place(struct lane *lane, uint32_t at)
{
    lane->ready_at = at;
    sim.ready[at] = lane;
}

static void sift_up(struct lane *lane)
{
    uint32_t at = lane->ready_at;
    for (; at > 0 && sim.ready[(at - 1) / 2]->priority < lane->priority; at = (at - 1) / 2)
        place(sim.ready[(at - 1) / 2], at);
    place(lane, at);
}

static void sift_down(struct lane *lane)
{
    uint32_t at = lane->ready_at;
    for (uint32_t child; (child = 2 * at + 1) < sim.ready_count; at = child) {
        if (child + 1 < sim.ready_count && sim.ready[child + 1]->priority > sim.ready[child]->priority)
            child++;
        if (sim.ready[child]->priority <= lane->priority)
            break;
        place(sim.ready[child], at);
    }
    place(lane, at);
}

static void list_add(struct lane *lane)
{
    place(lane, sim.ready_count++);
    if (sim.kind == SIM_PCT)
        sift_up(lane);
}

static void list_remove(struct lane *lane)
{
    struct lane *last = sim.ready[--sim.ready_count];
    if (last == lane)
        return;
    place(last, lane->ready_at);
    if (sim.kind == SIM_PCT) {
        sift_up(last);
        sift_down(last);
    }
}

/* The lane that runs falls to the lowest priority. */
static void fall(void)
{
    sim.lane->priority = sim.lowest_priority--;
    sift_down(sim.lane);
}

static int is_victim(const struct lane *lane)
{
    if (sim.kind == SIM_STALL_LANE)
        return lane->serial == sim.stall_serial;
    return sim.kind == SIM_STALL_WARP &&
           (lane->serial - 1) / sim.launch.threads == (sim.stall_serial - 1) / sim.launch.threads &&
           lane->who.warp == (sim.stall_serial - 1) % sim.launch.threads / 32;
}

void schedule_add(struct lane *lane)
{
    lane->state = LANE_READY;
    if (sim.stall_begun && is_victim(lane)) {
        lane->stalled = 1;
        sim.stalled[sim.stalled_count++] = lane;
        return;
    }
    list_add(lane);
    if (sim.kind == SIM_PCT)
        sim.burst_left = 1;
}

void schedule_remove(struct lane *lane)
{
    list_remove(lane);
}

void schedule_wake(void)
{
    sim.stall_until = 0;
    sim.stall_begun = 0;
    while (sim.stalled_count) {
        struct lane *lane = sim.stalled[--sim.stalled_count];
        lane->stalled = 0;
        list_add(lane);
    }
}

/* Takes ready victims off the list when their time has come; puts them back when it is over. */
static void mind_stall(void)
{
    if (sim.steps >= sim.stall_until) {
        schedule_wake();
        return;
    }
    if (sim.stall_begun || sim.steps < sim.stall_from)
        return;
    sim.stall_begun = 1;
    for (uint32_t i = 0; i < sim.ready_count;) {
        struct lane *lane = sim.ready[i];
        if (!is_victim(lane)) {
            i++;
            continue;
        }
        list_remove(lane);
        lane->stalled = 1;
        sim.stalled[sim.stalled_count++] = lane;
    }
}

/* ---- who runs next ------------------------------------------------------------------------------------- */

static uint32_t draw_burst(void)
{
    return sim.burst <= 1 ? 1 : 1 + random_below(2 * sim.burst - 1);
}

struct lane *schedule_pick(void)
{
    if (sim.stall_until)
        mind_stall();
    if (!sim.ready_count && sim.stalled_count)
        schedule_wake();
    if (!sim.ready_count)
        return NULL;
    if (sim.kind == SIM_SEARCH)
        return sim.ready[decide(sim.ready_count)];
    if (sim.kind == SIM_PCT)
        return sim.ready[0];
    sim.burst_left = draw_burst();
    return sim.ready[random_below(sim.ready_count)];
}

static void go_on_with(struct lane *next)
{
    struct lane *lane = sim.lane;
    if (next == lane)
        return;
    sim.lane = next;
    sim_who = &next->who;
    sim.same_lane_steps = 0;
    sim.counts.switches++;
    coroutine_switch(&lane->coroutine, &next->coroutine);
}

/* The lane that runs sleeps until another one has written; that one goes on. */
static void sleep_until_written(void)
{
    sim.lane->stalled = 1;
    list_remove(sim.lane);
    sim.stalled[sim.stalled_count++] = sim.lane;
    struct lane *lane = sim.lane;
    go_on_with(sim.ready[decide(sim.ready_count)]);
    merge_lane(lane, 4);
}

void schedule_give_way(void)
{
    struct lane *next = schedule_pick();
    if (next) {
        go_on_with(next);
        return;
    }
    coroutine_switch(&sim.lane->coroutine, &sim.thread); /* a deadlock: the thread says so */
    abort();
}

/* One of the other ready lanes, by number. */
static struct lane *other(uint32_t i)
{
    return sim.ready[i < sim.lane->ready_at ? i : i + 1];
}

static void take_turns(void)
{
    struct sim_search *s = sim.launch.schedule.search;
    if (sim.merge && s->position == s->length && merge_meets())
        launch_give_up();
    if (!s->preemptions_left || sim.ready_count <= 1)
        return;
    uint32_t pick = decide(sim.ready_count);
    if (!pick)
        return;
    s->preemptions_left -= s->preemptions != SIM_UNBOUNDED;
    go_on_with(other(pick - 1));
}

/* With sim.merge an operation's beginning and its first word are one step. */
static void step_search(void)
{
    if (!sim.merge || (merge_matters(sim.lane) && (!sim.lane->in_operation || sim.lane->words++)))
        take_turns();
}

void schedule_begin_operation(void)
{
    take_turns();
}

static void step_pct(void)
{
    for (uint32_t i = 0; i < sim.changes; i++) {
        if (sim.steps < sim.change[i])
            continue;
        sim.change[i] = sim.change[--sim.changes];
        fall();
        break;
    }
    if (++sim.same_lane_steps >= 4096)
        fall();
    go_on_with(sim.ready[0]);
}

/* The lane that runs has used up its turn. */
static void turn(int strong)
{
    if (sim.kind == SIM_SEARCH) {
        sim.burst_left = 1;
        if (strong)
            step_search();
        return;
    }
    if (sim.kind == SIM_PCT) {
        sim.burst_left = 1;
        step_pct();
        return;
    }
    struct lane *next = schedule_pick();
    go_on_with(next ? next : sim.lane);
}

void schedule_step(const char *word, const void *address, uint32_t bytes, int strong)
{
    struct lane *lane = sim.lane;
    if (SIM_UNLIKELY(!lane))
        sim_host_error("a word outside of any launch");
    if (address && lane->sector != (uintptr_t)address / 32) {
        lane->sector = (uintptr_t)address / 32;
        sim.sectors++;
        sim.watched += (uintptr_t)address - sim.watch_from < sim.watch_bytes;
    }
    lane->word = word;
    lane->address = address;
    lane->bytes = bytes;
    lane->steps++;
    if (SIM_UNLIKELY(++sim.steps > sim.step_limit))
        sim_fail("watchdog: %llu words in this launch: is there a loop without end?",
                 (unsigned long long)sim.step_limit);
    if (SIM_UNLIKELY(sim.launch.schedule.operation_steps &&
                     lane->steps - lane->operation_began > sim.launch.schedule.operation_steps))
        sim_fail("watchdog: %llu words since the lane's last co_clock",
                 (unsigned long long)sim.launch.schedule.operation_steps);
    if (--sim.burst_left == 0)
        turn(strong);
}

/* Others go first. */
void sim_pause(void)
{
    sim.burst_left = 2;
    schedule_step("co_pause", NULL, 0, 0);
    if (sim.ready_count <= 1) {
        if (sim.stalled_count)
            schedule_wake();
        return;
    }
    if (sim.kind == SIM_PCT) {
        fall();
        go_on_with(sim.ready[0]);
    } else if (sim.merge) {
        if (sim.lane->pauses++)
            sleep_until_written();
    } else if (sim.kind == SIM_SEARCH) {
        go_on_with(other(decide(sim.ready_count - 1)));
    } else {
        sim.burst_left = draw_burst();
        go_on_with(other(random_below(sim.ready_count - 1)));
    }
}

/* ---- the beginning ------------------------------------------------------------------------------------- */

static void begin_pct(uint32_t lanes)
{
    const struct sim_schedule *s = &sim.launch.schedule;
    uint32_t length = s->length ? s->length : 16 * lanes;
    sim.changes = s->depth ? s->depth : 3;
    if (sim.changes > sizeof sim.change / sizeof sim.change[0])
        sim.changes = sizeof sim.change / sizeof sim.change[0];
    for (uint32_t i = 0; i < sim.changes; i++)
        sim.change[i] = 1 + random_below(length);
    sim.lowest_priority = (uint64_t)1 << 39;
}

void schedule_begin(uint32_t lanes)
{
    static const unsigned char bursts[] = {1, 1, 2, 3, 5, 8, 16, 32},
                               staleness[] = {0, 32, 96, 128, 128, 160, 192, 224};
    const struct sim_schedule *s = &sim.launch.schedule;
    sim.random = s->seed * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du;
    sim.kind = s->kind;
    if (sim.kind == SIM_ANY) {
        uint32_t r = random_below(8);
        sim.kind = r < 4 ? SIM_RANDOM : r < 6 ? SIM_PCT : r < 7 ? SIM_STALL_LANE : SIM_STALL_WARP;
    }
    if (sim.kind == SIM_SEARCH) {
        if (!s->search)
            sim_host_error("SIM_SEARCH without a search");
        s->search->position = 0;
        s->search->preemptions_left = s->search->preemptions;
        s->search->stale_left = s->search->stale;
    }
    merge_begin();
    uint64_t r = sim_random();
    sim.burst = s->burst ? s->burst : bursts[r & 7];
    sim.staleness = staleness[r >> 3 & 7];
    sim.block_backwards = sim.kind != SIM_SEARCH && (r >> 6 & 1);
    sim.block_offset = sim.kind != SIM_SEARCH && (r >> 7 & 1) ? random_below(sim.launch.blocks) : 0;
    sim.burst_left = 1;
    sim.ready_count = sim.stalled_count = 0;
    sim.same_lane_steps = 0;
    sim.stall_from = sim.stall_until = 0;
    sim.stall_begun = 0;
    if (sim.kind == SIM_PCT)
        begin_pct(lanes);
    if (sim.kind == SIM_STALL_LANE || sim.kind == SIM_STALL_WARP) {
        sim.stall_serial = 1 + random_below(lanes);
        sim.stall_from = random_below(16 * lanes);
        sim.stall_until = sim.stall_from + 2000 + 200 * (uint64_t)lanes;
    }
}
