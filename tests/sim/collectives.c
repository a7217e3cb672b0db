/* collectives.c: lanes that meet. A warp has a list of the collectives that lanes of it wait at: what is
 * called, for which mask, who has come. The one who comes last works out everybody's result and wakes them.
 * Lanes that have returned are not waited for. Only the barriers order memory; votes and shuffles do not.
 *
 * Views at barriers: what all lanes of a block know lies in one view of the block, what all lanes of a warp
 * know in one of the warp; a lane's own view has what it saw since. A barrier of all moves the lanes' entries
 * up and empties their views, so its cost is what has happened since the last one, not what has happened
 * ever. */
#include "inside.h"

const char *const sim_vote_names[] = {
    [SIM_BALLOT] = "co_ballot",      [SIM_VOTE_ANY] = "co_any", [SIM_VOTE_ALL] = "co_all",
    [SIM_SHUFFLE] = "co_shuffle",    [SIM_MATCH] = "co_match",  [SIM_UNITE] = "co_unite",
    [SIM_WARP_SYNC] = "co_warp_sync"};

static void wake(struct lane *lane)
{
    if (lane != sim.lane || lane->state != LANE_READY)
        schedule_add(lane);
}

static void work_out(struct warp *warp, const struct meeting *m)
{
    uint32_t ballot = 0;
    for (uint32_t i = 0; i < 32; i++)
        if (m->arrived >> i & 1)
            ballot |= (uint32_t)(warp->value[i] != 0) << i;
    for (uint32_t i = 0; i < 32; i++) {
        if (!(m->arrived >> i & 1))
            continue;
        uint64_t r = 0;
        switch (m->kind) {
        case SIM_BALLOT:
            r = ballot;
            break;
        case SIM_VOTE_ANY:
            r = ballot != 0;
            break;
        case SIM_VOTE_ALL:
            r = ballot == m->arrived;
            break;
        case SIM_SHUFFLE: /* what a lane gives that is not there is not defined */
            r = m->arrived >> (warp->from[i] & 31) & 1 ? warp->value[warp->from[i] & 31] : sim_random();
            break;
        case SIM_MATCH:
            for (uint32_t j = 0; j < 32; j++)
                r |= (uint64_t)(m->arrived >> j & 1 && warp->value[j] == warp->value[i]) << j;
            break;
        case SIM_UNITE:
            for (uint32_t j = 0; j < 32; j++)
                r |= m->arrived >> j & 1 ? warp->value[j] : 0;
            break;
        case SIM_WARP_SYNC:
            break;
        }
        warp->lanes[i].result = r;
    }
}

static void join_views(struct warp *warp, uint32_t lanes)
{
    struct view *all = &warp->view;
    if (lanes != warp->live)
        all = view_new();
    for (uint32_t i = 0; i < 32; i++)
        if (lanes >> i & 1)
            view_join(all, &warp->lanes[i].current);
    for (uint32_t i = 0; i < 32; i++) {
        if (!(lanes >> i & 1))
            continue;
        if (all == &warp->view)
            view_clear(&warp->lanes[i].current);
        else
            view_join(&warp->lanes[i].current, all);
    }
}

static int complete(struct warp *warp, const struct meeting *m)
{
    return (m->mask & warp->live & ~m->arrived) == 0;
}

static void end_meeting(struct warp *warp, uint32_t at)
{
    struct meeting m = warp->meeting[at];
    warp->meeting[at] = warp->meeting[--warp->meetings];
    work_out(warp, &m);
    if (m.kind == SIM_WARP_SYNC)
        join_views(warp, m.arrived);
    for (uint32_t i = 0; i < 32; i++)
        if (m.arrived >> i & 1)
            wake(&warp->lanes[i]);
}

/* Two meetings that wait for each other. One alone may wait for the other: its lanes come when that one is
 * over. Longer circles are found when nobody can go on. */
static void check_meetings(const struct warp *warp, uint32_t mine)
{
    const struct meeting *a = &warp->meeting[mine];
    for (uint32_t i = 0; i < warp->meetings; i++) {
        const struct meeting *b = &warp->meeting[i];
        if (i == mine || !(a->mask & b->arrived) || !(b->mask & a->arrived))
            continue;
        if (a->mask == b->mask)
            sim_fail("lanes %08x wait in %s, with the same mask %08x", b->arrived, sim_vote_names[b->kind],
                     b->mask);
        sim_fail("masks disagree: %08x here, %08x in %s, where lanes %08x wait", a->mask, b->mask,
                 sim_vote_names[b->kind], b->arrived);
    }
}

/* The meeting that the lane comes to; a new one if nobody is there yet. */
static struct meeting *come_to_meeting(struct lane *lane, enum sim_vote kind, uint32_t mask)
{
    struct warp *warp = lane->warp;
    uint32_t i = 0;
    if (!(mask >> lane->bit & 1))
        sim_fail("its mask %08x does not have the lane itself", mask);
    if (mask & warp->at_block)
        sim_fail("waits for lanes %08x, which wait at the block's barrier", mask & warp->at_block);
    while (i < warp->meetings && (warp->meeting[i].mask != mask || warp->meeting[i].kind != kind))
        i++;
    if (i == warp->meetings)
        warp->meeting[warp->meetings++] = (struct meeting){mask, 0, kind};
    warp->meeting[i].arrived |= 1u << lane->bit;
    if (warp->meetings > 1)
        check_meetings(warp, i);
    return &warp->meeting[i];
}

co_u64 sim_collective(enum sim_vote kind, co_u32 mask, co_u64 value, co_u32 from)
{
    schedule_step(sim_vote_names[kind], NULL, 0, 0);
    struct lane *lane = sim.lane;
    struct warp *warp = lane->warp;
    warp->value[lane->bit] = value;
    warp->from[lane->bit] = from;
    struct meeting *m = come_to_meeting(lane, kind, mask);
    if (complete(warp, m)) {
        end_meeting(warp, (uint32_t)(m - warp->meeting));
        return lane->result;
    }
    lane->state = LANE_WAITS_WARP;
    schedule_remove(lane);
    schedule_give_way();
    return lane->result;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static void end_block_meeting(struct block *block)
{
    uint32_t n = sim.launch.threads;
    for (uint32_t w = 0; w * 32 < n; w++) {
        view_join(&block->view, &block->warps[w].view);
        view_clear(&block->warps[w].view);
        block->warps[w].at_block = 0;
    }
    for (uint32_t t = 0; t < n; t++) {
        struct lane *lane = &block->lanes[t];
        if (lane->state == LANE_ENDED)
            continue;
        view_join(&block->view, &lane->current);
        view_clear(&lane->current);
    }
    block->arrived = 0;
    if (block->kind == BLOCK_COPY)
        memory_copy_in(block);
    for (uint32_t t = 0; t < n; t++)
        if (block->lanes[t].state == LANE_WAITS_BLOCK)
            wake(&block->lanes[t]);
}

void meet_block(enum block_meeting kind)
{
    struct lane *lane = sim.lane;
    struct block *block = lane->block;
    for (uint32_t i = 0; i < lane->warp->meetings; i++) {
        struct meeting *m = &lane->warp->meeting[i];
        if (m->mask >> lane->bit & 1)
            sim_fail("lanes %08x wait for this one in %s", m->arrived, sim_vote_names[m->kind]);
    }
    if (block->arrived && block->kind != kind)
        sim_fail("other lanes of the block are at another collective");
    block->kind = kind;
    if (++block->arrived == block->live) {
        end_block_meeting(block);
        return;
    }
    lane->state = LANE_WAITS_BLOCK;
    lane->warp->at_block |= 1u << lane->bit;
    schedule_remove(lane);
    schedule_give_way();
}

void sim_block_sync(void)
{
    schedule_step("co_block_sync", NULL, 0, 0);
    meet_block(BLOCK_SYNC);
}

void collectives_exit(struct lane *lane)
{
    struct warp *warp = lane->warp;
    warp->live &= ~(1u << lane->bit);
    for (uint32_t i = 0; i < warp->meetings;) {
        if (complete(warp, &warp->meeting[i]))
            end_meeting(warp, i);
        else
            i++;
    }
    if (lane->block->arrived && lane->block->arrived == lane->block->live)
        end_block_meeting(lane->block);
}
