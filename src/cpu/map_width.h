/* cpu/map_width.h: a batch on the host's threads, for one width. Included by map.c once per instance.
 *
 * A thread takes its range 32 entries at a time, a word of every bitmap. The home buckets of the next 32 are prefetched
 * before the current 32 are worked on, so that the memory's latency is paid once a group and not once an entry.
 *
 * Parameters: those of shape/map_entry.h. */

#include "shape/map_entry.h"

CO_INLINE void MAP(prefetch)(const struct map_batch *b, co_u64 from, co_u64 end, int write)
{
    co_u64 to = from + 32 < end ? from + 32 : end;
    for (co_u64 i = from; i < to; i++) {
        const void *home = MAP(home)(&b->view, MAP(key_at)(b->keys, i));
        if (write)
            __builtin_prefetch(home, 1);
        else
            __builtin_prefetch(home, 0);
    }
}

CO_INLINE void MAP(range)(const struct map_batch *b, co_u64 begin, co_u64 end, co_u32 step, co_u32 op,
                          struct cpu_report *report)
{
    int write = !(step == MAP_STEP_GET || (step == MAP_STEP_APPLY && op == CO_OP_FIND));
    co_map_tally *tally = &report->tally;
    MAP(prefetch)(b, begin, end, write);
    for (co_u64 base = begin; base < end; base += 32) {
        co_u64 count = end - base < 32 ? end - base : 32;
        co_u32 part = b->where ? b->where[base / 32] : ~0u, hit = 0, failed = 0;
        MAP(prefetch)(b, base + 32, end, write);
        for (co_u32 k = 0; k < count; k++) {
            if (!(part >> k & 1))
                continue;
            VALUE value;
            int r = MAP(entry)(b, step, op, base + k, &value, tally);
            if (MAP(has_result)(b, step, r))
                MAP(put_value)(b->results, base + k, value);
            hit |= (co_u32)(r == CO_MAP_HIT) << k;
            failed |= (co_u32)(r >= CO_MAP_FULL) << k;
            report->taken++;
            report->added += r == CO_MAP_NEW;
            if (__builtin_expect(r >= CO_MAP_FULL, 0))
                cpu_report_failure(report, b->first_index + base + k, r);
        }
        report->hits += (co_u64)__builtin_popcount(hit);
        cpu_report_words(b, step, base, hit, failed);
    }
}

static void MAP(batch)(const struct map_batch *b, co_u64 begin, co_u64 end, struct cpu_report *report)
{
    if (b->step == MAP_STEP_RUN)
        MAP(range)(b, begin, end, MAP_STEP_RUN, 0, report);
    else if (b->step == MAP_STEP_CLAIM)
        MAP(range)(b, begin, end, MAP_STEP_CLAIM, b->op, report);
    else if (b->step == MAP_STEP_SETTLE)
        MAP(range)(b, begin, end, MAP_STEP_SETTLE, b->op, report);
    else if (b->step == MAP_STEP_GET)
        MAP(range)(b, begin, end, MAP_STEP_GET, CO_OP_FIND, report);
    else if (b->op == CO_OP_FIND)
        MAP(range)(b, begin, end, MAP_STEP_APPLY, CO_OP_FIND, report);
    else if (b->op == CO_OP_INSERT)
        MAP(range)(b, begin, end, MAP_STEP_APPLY, CO_OP_INSERT, report);
    else if (b->op == CO_OP_ASSIGN)
        MAP(range)(b, begin, end, MAP_STEP_APPLY, CO_OP_ASSIGN, report);
    else if (b->op == CO_OP_ERASE)
        MAP(range)(b, begin, end, MAP_STEP_APPLY, CO_OP_ERASE, report);
    else if (b->op == CO_OP_COUNT)
        MAP(range)(b, begin, end, MAP_STEP_APPLY, CO_OP_COUNT, report);
    else
        MAP(range)(b, begin, end, MAP_STEP_APPLY, b->op, report);
}

/* Live pairs of a range of slots, appended from *at on. */
static void MAP(export)(const struct map_sweep *s, co_u64 begin, co_u64 end)
{
    KEY keys[CPU_SWEEP_GRAIN];
    VALUE values[CPU_SWEEP_GRAIN];
    co_u64 count = 0;
    for (co_u64 slot = begin; slot < end; slot++)
        count += (co_u64)MAP(pair)(&s->view, slot, &keys[count], &values[count]);
    co_u64 at = co_add64(s->cursor, count);
    memcpy((KEY *)s->keys + at, keys, count * sizeof *keys);
    if (s->values)
        memcpy((VALUE *)s->values + at, values, count * sizeof *values);
}

static void MAP(absorb_range)(const struct map_sweep *s, co_u64 begin, co_u64 end)
{
    KEY key;
    VALUE value;
    co_map_tally tally = {0, 0};
    for (co_u64 base = begin; base < end; base += 32) {
        co_u64 to = end - base < 32 ? end : base + 32;
        for (co_u64 slot = base; slot < to; slot++)
            if (MAP(pair)(&s->view, slot, &key, &value))
                __builtin_prefetch(MAP(home)(&s->into, key), 1);
        for (co_u64 slot = base; slot < to; slot++)
            if (MAP(absorb)(s, slot, &tally) == CO_MAP_FULL)
                co_min64(&s->deferred->first_full, slot);
    }
    co_map_flush(&s->into, &tally);
}

static void MAP(stats)(const struct map_sweep *s, co_u64 begin, co_u64 end)
{
    struct map_probes p;
    KEY key;
    VALUE value;
    memset(&p, 0, sizeof p);
    for (co_u64 slot = begin; slot < end; slot++) {
        if (!MAP(pair)(&s->view, slot, &key, &value))
            continue;
        co_u64 passed, length = MAP(probe_length)(&s->view, key, slot, &passed);
        p.keys++;
        p.buckets += length;
        p.slots += passed;
        p.most_buckets = length > p.most_buckets ? length : p.most_buckets;
        p.most_slots = passed > p.most_slots ? passed : p.most_slots;
        p.histogram[length < MAP_PROBE_BINS ? length - 1 : MAP_PROBE_BINS - 1]++;
    }
    cpu_add_probes(s->probes, &p);
}

static void MAP(mark)(const struct map_sweep *s, co_u64 begin, co_u64 end)
{
    KEY key;
    VALUE value;
    for (co_u64 slot = begin; slot < end; slot++)
        s->winners[slot] = MAP(pair)(&s->view, slot, &key, &value) ? MAP_WINNER_OLD : 0;
}

static void MAP(sweep)(const struct map_sweep *s, enum map_sweep_kind kind, co_u64 begin, co_u64 end)
{
    if (kind == MAP_SWEEP_EXPORT)
        MAP(export)(s, begin, end);
    else if (kind == MAP_SWEEP_ABSORB)
        MAP(absorb_range)(s, begin, end);
    else if (kind == MAP_SWEEP_STATS)
        MAP(stats)(s, begin, end);
    else
        MAP(mark)(s, begin, end);
}

#include "shape/map_end.h"
