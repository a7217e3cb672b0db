/* clock.c: co_clock, and what happened before what.
 *
 * Each lane that reads the clock has a location of its own that nobody can address. Reading the clock writes
 * it: the lane's view rises there, and wherever views go (barriers, release and acquire, fences) that goes
 * along. Whoever has it in view comes after what the lane had done by then. */
#include "inside.h"

#include <stdlib.h>

struct clock_record {
    uint32_t location, time;
    const struct view *view; /* all that the lane knew */
};

void clock_begin(void)
{
    sim.clock = 0;
    sim.clock_count = 0;
}

static void record(struct lane *lane)
{
    if (!lane->clock_location)
        lane->clock_location = location_number();
    view_raise(&lane->current, lane->clock_location, ++lane->clock_time);
    if (sim.clock_count == sim.clock_capacity) {
        sim.clock_capacity = sim.clock_capacity ? 2 * sim.clock_capacity : 256;
        sim.clocks = realloc(sim.clocks, sim.clock_capacity * sizeof *sim.clocks);
        if (!sim.clocks)
            sim_host_error("out of memory");
    }
    sim.clocks[sim.clock_count++] =
        (struct clock_record){lane->clock_location, lane->clock_time, lane_view(lane)};
}

co_u64 sim_clock(void)
{
    struct lane *lane = sim.lane;
    if (!lane)
        sim_host_error("co_clock outside of any launch");
    if (sim.merge && !lane->in_operation && lane->operation_began)
        schedule_begin_operation();
    lane->operation_began = lane->steps;
    if (sim.launch.schedule.clocks)
        record(lane);
    ++sim.clock;
    if (sim.merge)
        merge_clock(lane);
    return sim.clock;
}

int sim_happened_before(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0 || a > sim.clock_count || b > sim.clock_count)
        sim_host_error(
            "sim_happened_before: not a co_clock of the last launch, or schedule.clocks was not set");
    const struct clock_record *ra = &sim.clocks[a - 1], *rb = &sim.clocks[b - 1];
    return ra != rb && view_time(rb->view, ra->location) >= ra->time;
}
