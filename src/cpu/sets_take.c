/* cpu/sets_take.c: sets written out by the host's threads: members, ranges, bitmaps (shape/sets_ask.h). */
#include <string.h>

#include "sets.h"

#define SET_GRAIN 1024
#define JOB_GRAIN 8

/* A job's chunk; of a list its members are `listed`, else NULL. */
struct part {
    struct sets_job job;
    const void *listed;
    co_u64 key;
    struct sets_chunk chunk;
};

static struct part part_of(const struct sets_take *t, co_u64 job)
{
    struct part p;
    memset(&p, 0, sizeof p);
    p.job = sets_job_of(t, job);
    if (p.job.set.large) {
        p.key = co_sets_key(&t->view, p.job.chunk);
        p.chunk = sets_chunk_of(&t->view, p.job.chunk);
    } else {
        p.listed = (const char *)t->view.lists + p.job.set.first * (t->view.wide ? 8 : 4);
    }
    return p;
}

static void put(void *to, co_u64 i, co_u64 v, int wide)
{
    if (wide)
        ((co_u64 *)to)[i] = v;
    else
        ((co_u32 *)to)[i] = (co_u32)v;
}

/* How many entries the job may write: what is told of it, whatever its bytes say. */
static co_u64 job_room(const struct sets_take *t, const struct part *p)
{
    return p->job.set.large ? t->view.before[p->job.chunk + 1] - t->view.before[p->job.chunk] : p->job.set.n;
}

/* ---- members ------------------------------------------------------------------------------------------- */

static void put_members(const struct sets_take *t, const struct part *p, co_u16 *low)
{
    int wide = (int)t->view.wide;
    co_u64 at = p->job.entry, room = job_room(t, p);
    if (t->members && p->listed)
        memcpy((char *)t->members + at * (wide ? 8 : 4), p->listed, p->job.set.n * (wide ? 8 : 4));
    if (t->members && !p->listed) {
        co_u64 n = sets_chunk_members(&p->chunk, low), key = p->key << CO_CHUNK_BITS;
        n = n < room ? n : room;
        for (co_u64 i = 0; i < n; i++)
            put(t->members, at + i, key | low[i], wide);
    }
    for (co_u64 i = 0; t->groups && i < room; i++)
        put(t->groups, at + i, p->job.asked, t->group_bytes == 8);
}

static void members_range(const struct sets_take *t, co_u64 begin, co_u64 end)
{
    co_u16 low[CO_CHUNK_IDS];
    for (co_u64 job = begin; job < end; job++) {
        struct part p = part_of(t, job);
        put_members(t, &p, low);
    }
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* Ranges of a job: begun(k, first) and ended(k, last) for those that begin or end in it; how many begin.
 * Whether a range goes on beyond the chunk is for the chunks on either side to say. */
struct ranges {
    const struct sets_take *take; /* NULL: count alone */
    co_u64 at, room;              /* the next range that begins, and what there is room for */
    co_u64 asked;
    co_u64 begun;
};

static void range_begins(struct ranges *r, co_u64 first)
{
    co_u64 k = r->at + r->begun++;
    if (!r->take || k >= r->room)
        return;
    if (r->take->members)
        put(r->take->members, k, first, (int)r->take->view.wide);
    if (r->take->groups)
        put(r->take->groups, k, r->asked, r->take->group_bytes == 8);
}

static void range_ends(const struct ranges *r, co_u64 last)
{
    co_u64 k = r->at + r->begun - 1;
    if (r->take && r->take->lasts && k < r->room)
        put(r->take->lasts, k, last, (int)r->take->view.wide);
}

static void list_ranges(const struct sets_take *t, const struct part *p, struct ranges *r)
{
    for (co_u64 i = 0; i < p->job.set.n; i++) {
        co_u64 id = sets_number(p->listed, i, (int)t->view.wide);
        if (!i || sets_number(p->listed, i - 1, (int)t->view.wide) + 1 != id)
            range_begins(r, id);
        if (i + 1 == p->job.set.n || sets_number(p->listed, i + 1, (int)t->view.wide) != id + 1)
            range_ends(r, id);
    }
}

static void chunk_ranges(const struct sets_take *t, const struct part *p, struct ranges *r, co_u16 *low)
{
    co_u64 key = p->key << CO_CHUNK_BITS, first = p->job.set.first, c = p->job.chunk;
    int from = c > first && sets_chunk_goes_on(&t->view, c - 1),
        on = c + 1 < first + p->job.set.n && sets_chunk_goes_on(&t->view, c);
    co_u32 n = 0, runs = 0;
    if (p->chunk.kind == CO_CHUNK_FULL || p->chunk.kind == CO_CHUNK_RUNS) {
        runs = p->chunk.kind == CO_CHUNK_FULL ? 1 : p->chunk.entries;
        for (co_u32 i = 0; i < runs; i++) {
            int full = p->chunk.kind == CO_CHUNK_FULL;
            if (i || !from)
                range_begins(r, key | (full ? 0 : ((const co_u16 *)p->chunk.at)[2 * i]));
            if (i + 1 < runs || !on)
                range_ends(r, key | (full ? CO_CHUNK_IDS - 1 : co_chunk_run_last(p->chunk.at, i)));
        }
        return;
    }
    n = sets_chunk_members(&p->chunk, low);
    for (co_u32 i = 0; i < n; i++) {
        if (i ? low[i - 1] + 1 != low[i] : !from)
            range_begins(r, key | low[i]);
        if (i + 1 < n ? low[i] + 1 != low[i + 1] : !on)
            range_ends(r, key | low[i]);
    }
}

static co_u64 part_ranges(const struct sets_take *t, co_u64 job, const struct sets_take *write, co_u16 *low)
{
    struct part p = part_of(t, job);
    struct ranges r = {write, 0, 0, p.job.asked, 0};
    if (write) {
        r.at = t->ranges[job];
        r.room = t->ranges[job + 1];
    }
    if (p.listed)
        list_ranges(t, &p, &r);
    else
        chunk_ranges(t, &p, &r, low);
    return r.begun;
}

static void count_range(const struct sets_take *t, co_u64 begin, co_u64 end)
{
    co_u16 low[CO_CHUNK_IDS];
    for (co_u64 job = begin; job < end; job++)
        t->ranges[job] = part_ranges(t, job, NULL, low);
}

static void ranges_range(const struct sets_take *t, co_u64 begin, co_u64 end)
{
    co_u16 low[CO_CHUNK_IDS];
    for (co_u64 job = begin; job < end; job++)
        part_ranges(t, job, t, low);
}

/* ---- bitmaps ------------------------------------------------------------------------------------------- */

static void bits_range(const struct sets_take *t, co_u64 begin, co_u64 end)
{
    co_u64 words[SETS_CHUNK_WORDS];
    for (co_u64 job = begin; job < end; job++) {
        struct part p = part_of(t, job);
        char *row = (char *)t->bitmaps + p.job.asked * t->stride;
        for (co_u64 i = 0; p.listed && i < p.job.set.n; i++) {
            co_u64 id = sets_number(p.listed, i, (int)t->view.wide);
            if (id < t->bits)
                ((co_u32 *)(void *)row)[id / 32] |= 1u << id % 32;
        }
        co_u64 first = p.key << CO_CHUNK_BITS;
        if (p.listed || first >= t->bits)
            continue;
        co_u64 left = t->bits - first, bits = left < CO_CHUNK_IDS ? left : CO_CHUNK_IDS;
        sets_chunk_bitmap(&p.chunk, words);
        if (bits < CO_CHUNK_IDS)
            words[bits / 64] &= (1ull << bits % 64) - 1;
        memcpy(row + first / 8, words, (bits + 31) / 32 * 4);
    }
}

/* ---- the entry of the table ---------------------------------------------------------------------------- */

static void sizes_range(const struct sets_take *t, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++)
        sets_take_size(t, i);
}

static void offsets_range(const struct sets_take *t, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++)
        sets_take_offset(t, i);
}

struct job {
    const struct sets_take *take;
    void (*range)(const struct sets_take *, co_u64 begin, co_u64 end);
};

static void do_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *job = arg;
    (void)worker;
    job->range(job->take, begin, end);
}

cohort_status cpu_sets_take(cohort_context *context, const struct sets_take *take, enum sets_take_kind kind)
{
    static void (*const ranges[SETS_TAKES])(const struct sets_take *, co_u64, co_u64) = {
        sizes_range, count_range, offsets_range, members_range, ranges_range, bits_range};
    struct job job = {take, ranges[kind]};
    return cpu_parallel_told(context, "sets", take->items,
                             kind == SETS_TAKE_SIZES || kind == SETS_TAKE_OFFSETS ? SET_GRAIN : JOB_GRAIN,
                             do_range, &job);
}
