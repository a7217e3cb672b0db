/* cpu/lines_width.h: the loops of maps of LINES for one width. Included by lines_batch.c once per
 * instance.
 *
 * Memory decides. A range goes by groups of 32 entries, and each entry is met three times: two groups
 * ahead its home's line is asked for; one group ahead its home is looked at, and if the key is in none of
 * the home's own slots, the lines that the other names lead to are asked for, or, where none do and the
 * own slots are taken, the next line; then it is done. */
#include "shape/lines_entry.h"

/* A group of entries on their way: where it begins, and the homes. */
struct LINES(group) {
    co_u64 base;
    co_u32 part; /* entries that take part */
    co_u64 home[CPU_GROUP];
};

#define LINES_NAMES ((CO_LINES_NEAR + CO_LINES_FAR) * CO_LINES_SLOTS)
#define LINES_OWN   ((1u << CO_LINES_SLOTS) - 1)             /* names of a home's own slots, */
#define LINES_REST  (((1u << LINES_NAMES) - 1) & ~LINES_OWN) /* and of the others */

#define LINES_NEXT 2 /* homes that are asked for beforehand */

/* Asks for the lines of a home's window that names lead to. */
CO_INLINE void LINES(ask_lines)(const cohort_map_view *m, co_u64 home, co_u32 names)
{
    while (names) {
        const co_u32 line = co_first32(names) / CO_LINES_SLOTS;
        __builtin_prefetch(LINES(word)(m, LINES(line)(m, home, line)));
        names &= ~(LINES_OWN << line * CO_LINES_SLOTS);
    }
}

/* Asks for the homes behind one whose slots are taken: where an insert looks for a slot. */
CO_INLINE void LINES(ask_next)(const cohort_map_view *m, co_u64 home)
{
    for (co_u32 line = 1; line <= LINES_NEXT; line++)
        __builtin_prefetch(LINES(word)(m, LINES(line)(m, home, LINES(window)(m) > line ? line : 0)));
}

/* Asks for the homes of the group that begins at entry `base`. */
CO_INLINE void LINES(ask)(const struct map_batch *b, struct LINES(group) * g, co_u64 base, co_u64 end)
{
    const co_u32 count = end - base < CPU_GROUP ? (co_u32)(end - base) : CPU_GROUP;
    g->base = base;
    g->part = (b->where ? b->where[base / 32] : ~0u) & (count < CPU_GROUP ? (1u << count) - 1 : ~0u);
    for (co_u32 i = 0; i < count; i++) {
        g->home[i] = LINES(home)(&b->view, LINES(key_at)(b->keys, base + i));
        __builtin_prefetch(LINES(word)(&b->view, g->home[i]));
    }
}

/* Asks for what the group's entries will look at besides their homes. */
CO_INLINE void LINES(ask_more)(const struct map_batch *b, const struct LINES(group) * g, int alone)
{
    const cohort_map_view *m = &b->view;
    for (co_u32 part = g->part; part; part &= part - 1) {
        const co_u32 i = co_first32(part);
        const co_u64 home = g->home[i], w = co_load64(LINES(word)(m, home));
        const co_u32 own = (co_u32)w & LINES_OWN, rest = (co_u32)w & LINES_REST;
        if (LINES(match)(m, home, own, LINES(key_at)(b->keys, g->base + i), alone))
            continue;
        if (!rest && (~w >> LINES_NAMES & LINES_OWN) == 0)
            LINES(ask_next)(m, home);
        LINES(ask_lines)(m, home, rest);
    }
}

/* Tells what has become of an entry. */
CO_INLINE void LINES(settled)(const struct map_batch *b, struct cpu_report *report, co_u64 i, int r,
                              VALUE value)
{
    if (LINES(has_result)(b, b->step, r))
        LINES(put_value)(b->results, i, value);
    report->hits += r == CO_MAP_HIT;
    report->added += r == CO_MAP_NEW;
    if (b->hit)
        b->hit[i / 32] |= (co_u32)(r == CO_MAP_HIT) << (i % 32);
    if (r < CO_MAP_FULL)
        return;
    co_u64 *first = r == CO_MAP_BAD ? &report->first_bad : &report->first_full;
    *first = b->first_index + i < *first ? b->first_index + i : *first;
    report->failed++;
    if (b->failed)
        b->failed[i / 32] |= 1u << (i % 32);
}

CO_INLINE void LINES(do_group)(const struct map_batch *b, const struct LINES(group) * g, int back, int alone,
                               struct cpu_report *report, co_lines_tally *tally)
{
    if (b->hit && !b->join)
        b->hit[g->base / 32] = 0;
    if (b->failed)
        b->failed[g->base / 32] = 0;
    report->taken += (co_u32)__builtin_popcount(g->part);
    for (co_u32 k = 0; k < CPU_GROUP; k++) {
        const co_u32 i = back ? CPU_GROUP - 1 - k : k;
        VALUE value;
        if (!(g->part >> i & 1))
            continue;
        const int r = LINES(entry)(b, b->step, b->op, g->base + i, g->home[i], &value, tally, alone);
        LINES(settled)(b, report, g->base + i, r, value);
    }
}

CO_INLINE void LINES(groups)(const struct map_batch *b, co_u64 begin, co_u64 end, int alone,
                             struct cpu_report *report, co_lines_tally *tally)
{
    const int back = map_goes_backward(b->rank, b->op);
    const co_u64 count = (end - begin + CPU_GROUP - 1) / CPU_GROUP;
    struct LINES(group) group[3];
    for (co_u64 k = 0; k < count + 2; k++) {
        if (k < count)
            LINES(ask)(b, &group[k % 3], begin + (back ? count - 1 - k : k) * CPU_GROUP, end);
        if (k >= 1 && k <= count)
            LINES(ask_more)(b, &group[(k - 1) % 3], alone);
        if (k >= 2)
            LINES(do_group)(b, &group[(k - 2) % 3], back, alone, report, tally);
    }
}

/* ---- finds --------------------------------------------------------------------------------------------- */

/* A batch of FIND has no writer beside it, so what an entry has seen of its home stays true: those that
 * find their key there, or no name that leads further, are done one group ahead; only the others are met a
 * third time. */
struct LINES(finds) {
    struct LINES(group) group;
    co_u32 hit, later; /* entries */
    co_u64 word[CPU_GROUP];
};

CO_INLINE void LINES(found)(const struct map_batch *b, struct LINES(finds) * f, co_u32 i,
                            struct LINES(slot) s)
{
    f->hit |= 1u << i;
    LINES(put_value)(b->results, f->group.base + i, LINES(get_value)(&b->view, s, 1));
}

CO_INLINE void LINES(find_at_home)(const struct map_batch *b, struct LINES(finds) * f)
{
    const cohort_map_view *m = &b->view;
    f->hit = f->later = 0;
    for (co_u32 part = f->group.part; part; part &= part - 1) {
        const co_u32 i = co_first32(part);
        struct LINES(slot) s = {f->group.home[i], 0};
        const co_u64 w = co_read64(LINES(word)(m, s.home));
        const co_u32 same =
            LINES(match)(m, s.home, (co_u32)w & LINES_OWN, LINES(key_at)(b->keys, f->group.base + i), 1);
        if (same) {
            s.at = co_first32(same);
            LINES(found)(b, f, i, s);
        } else if ((co_u32)w & LINES_REST) {
            f->later |= 1u << i;
            f->word[i] = w & LINES_REST;
            LINES(ask_lines)(m, s.home, (co_u32)w & LINES_REST);
        }
    }
}

CO_INLINE void LINES(find_further)(const struct map_batch *b, struct LINES(finds) * f,
                                   struct cpu_report *report)
{
    const struct LINES(group) *g = &f->group;
    for (co_u32 later = f->later; later; later &= later - 1) {
        const co_u32 i = co_first32(later);
        struct LINES(slot) s;
        if (LINES(scan)(&b->view, g->home[i], f->word[i], LINES(key_at)(b->keys, g->base + i), &s, 1))
            LINES(found)(b, f, i, s);
    }
    for (co_u32 absent = b->has_fallback ? g->part & ~f->hit : 0; absent; absent &= absent - 1)
        LINES(put_value)(b->results, g->base + co_first32(absent), (VALUE)b->fallback);
    if (b->hit)
        b->hit[g->base / 32] = b->join ? b->hit[g->base / 32] | f->hit : f->hit;
    if (b->failed)
        b->failed[g->base / 32] = 0;
    report->taken += (co_u32)__builtin_popcount(g->part);
    report->hits += (co_u32)__builtin_popcount(f->hit);
}

static __attribute__((noinline)) void LINES(find_groups)(const struct map_batch *b, co_u64 begin, co_u64 end,
                                                         struct cpu_report *report)
{
    const co_u64 count = (end - begin + CPU_GROUP - 1) / CPU_GROUP;
    struct LINES(finds) finds[3];
    for (co_u64 k = 0; k < count + 2; k++) {
        if (k < count)
            LINES(ask)(b, &finds[k % 3].group, begin + k * CPU_GROUP, end);
        if (k >= 1 && k <= count)
            LINES(find_at_home)(b, &finds[(k - 1) % 3]);
        if (k >= 2)
            LINES(find_further)(b, &finds[(k - 2) % 3], report);
    }
}

/* ---- mixed streams ------------------------------------------------------------------------------------- */

/* The entries of a stream come in no order, so those of a group are done by kind, which the processor
 * foresees: finds when their homes are looked at (those whose key is not there once more, one group later),
 * then erases, then what puts in. */
struct LINES(stream) {
    struct LINES(group) group;
    co_u32 finds, erases; /* entries */
    co_u32 hit, later;    /* finds: done, and to be done */
};

/* Asks for the part of a column that has entries from `i` on: so many columns and random lines are too
 * much for the processor to foresee. */
CO_INLINE void LINES(ask_column)(const void *column, co_u64 i, co_u32 bytes)
{
    for (co_u32 at = 0; column && at < CPU_GROUP * bytes; at += 64)
        __builtin_prefetch((const char *)column + i * bytes + at);
}

CO_INLINE void LINES(ask_stream)(const struct map_batch *b, struct LINES(stream) * s, co_u64 base, co_u64 end)
{
    s->finds = s->erases = 0;
    LINES(ask)(b, &s->group, base, end);
    LINES(ask_column)(b->keys, base + CPU_GROUP, sizeof(KEY));
    LINES(ask_column)(CO_LINES_VALUE_BITS ? b->values : NULL, base, sizeof(VALUE));
    LINES(ask_column)(CO_LINES_VALUE_BITS ? b->results : NULL, base, sizeof(VALUE));
    for (co_u32 i = 0; i < CPU_GROUP && base + i < end; i++) {
        const co_u32 op = co_read8(b->ops + base + i);
        s->finds |= (co_u32)(op == CO_OP_FIND) << i;
        s->erases |= (co_u32)(op == CO_OP_ERASE) << i;
    }
    s->finds &= s->group.part;
    s->erases &= s->group.part;
}

/* Which of a home's own slots have the key, named or not: bits. */
CO_INLINE co_u32 LINES(equal)(const cohort_map_view *m, co_u64 home, KEY key, int alone)
{
    struct LINES(slot) s = {home, 0};
    co_u32 same = 0;
    for (s.at = 0; s.at < CO_LINES_SLOTS; s.at++)
        same |= (co_u32)LINES(same_key)(LINES(get_key)(m, s, alone), key) << s.at;
    return same;
}

/* Finds at their homes, without a branch on what is there. */
CO_INLINE void LINES(stream_finds)(const struct map_batch *b, struct LINES(stream) * s, int alone)
{
    const cohort_map_view *m = &b->view;
    s->hit = s->later = 0;
    for (co_u32 part = s->finds; part; part &= part - 1) {
        const co_u32 i = co_first32(part);
        const co_u64 home = s->group.home[i], at = s->group.base + i, w = LINES(load)(m, home, alone);
        const co_u32 same = LINES(equal)(m, home, LINES(key_at)(b->keys, at), alone) & (co_u32)w & LINES_OWN;
        const struct LINES(slot) slot = {home, co_first32(same + !same)};
        const VALUE value = LINES(get_value)(m, slot, alone);
        const co_u32 still = (co_u32)LINES(still)(m, home, w, alone), hit = still & (same != 0);
        LINES(put_value)(b->results, at, hit ? value : LINES(value_at)(b->results, at));
        s->hit |= hit << i;
        s->later |= (~hit & ((((co_u32)w & LINES_REST) != 0) | !still)) << i;
    }
    for (co_u32 later = s->later; later; later &= later - 1) {
        const co_u64 home = s->group.home[co_first32(later)];
        LINES(ask_lines)(m, home, (co_u32)co_load64(LINES(word)(m, home)) & LINES_REST);
    }
}

/* Asks for what the changes will look at besides their homes: the lines that names lead to, of an erase whose
 * key is at home that of the key which will be pulled there, and the next line where all slots are taken. */
CO_INLINE void LINES(ask_changes)(const struct map_batch *b, const struct LINES(stream) * s, int alone)
{
    const cohort_map_view *m = &b->view;
    for (co_u32 part = s->group.part & ~s->finds; part; part &= part - 1) {
        const co_u32 i = co_first32(part);
        const co_u64 home = s->group.home[i], w = co_load64(LINES(word)(m, home));
        const co_u32 rest = (co_u32)w & LINES_REST, erases = s->erases >> i & 1,
                     same = LINES(equal)(m, home, LINES(key_at)(b->keys, s->group.base + i), alone) &
                            (co_u32)w & LINES_OWN,
                     last = rest ? 1u << (31 - __builtin_clz(rest)) : 0;
        LINES(ask_lines)(m, home, !same ? rest : erases ? last : 0);
        if (!same && !erases && (~w >> LINES_NAMES & LINES_OWN) == 0)
            LINES(ask_next)(m, home);
    }
}

/* Entries of a group by one op, or each by its own (CO_OPS). */
CO_INLINE void LINES(do_some)(const struct map_batch *b, const struct LINES(group) * g, co_u32 part,
                              co_u32 op, int alone, struct cpu_report *report, co_lines_tally *tally)
{
    for (; part; part &= part - 1) {
        const co_u32 i = co_first32(part);
        const co_u64 at = g->base + i;
        VALUE value = 0;
        const int r = LINES(do)(&b->view, g->home[i], op == CO_OPS ? co_read8(b->ops + at) : op,
                                LINES(key_at)(b->keys, at), op == CO_OPS ? LINES(value_at)(b->values, at) : 0,
                                &value, tally, alone);
        LINES(settled)(b, report, at, r, value);
    }
}

CO_INLINE void LINES(do_stream)(const struct map_batch *b, const struct LINES(stream) * s, int alone,
                                struct cpu_report *report, co_lines_tally *tally)
{
    const struct LINES(group) *g = &s->group;
    if (b->hit)
        b->hit[g->base / 32] = b->join ? b->hit[g->base / 32] | s->hit : s->hit;
    if (b->failed)
        b->failed[g->base / 32] = 0;
    report->taken += (co_u32)__builtin_popcount(g->part);
    report->hits += (co_u32)__builtin_popcount(s->hit);
    LINES(do_some)(b, g, s->later, CO_OP_FIND, alone, report, tally);
    LINES(do_some)(b, g, s->erases, CO_OP_ERASE, alone, report, tally);
    LINES(do_some)(b, g, g->part & ~(s->finds | s->erases), CO_OPS, alone, report, tally);
}

CO_INLINE void LINES(streams)(const struct map_batch *b, co_u64 begin, co_u64 end, int alone,
                              struct cpu_report *report, co_lines_tally *tally)
{
    const co_u64 count = (end - begin + CPU_GROUP - 1) / CPU_GROUP;
    struct LINES(stream) stream[3];
    for (co_u64 k = 0; k < count + 2; k++) {
        if (k < count)
            LINES(ask_stream)(b, &stream[k % 3], begin + k * CPU_GROUP, end);
        if (k >= 1 && k <= count) {
            LINES(stream_finds)(b, &stream[(k - 1) % 3], alone);
            LINES(ask_changes)(b, &stream[(k - 1) % 3], alone);
        }
        if (k >= 2)
            LINES(do_stream)(b, &stream[(k - 2) % 3], alone, report, tally);
    }
}

/* ---- the batch ----------------------------------------------------------------------------------------- */

/* An own function each: so the compiler makes them for what is known of `alone`. */
static __attribute__((noinline)) void LINES(groups_alone)(const struct map_batch *b, co_u64 begin, co_u64 end,
                                                          struct cpu_report *report, co_lines_tally *tally)
{
    LINES(groups)(b, begin, end, 1, report, tally);
}

static __attribute__((noinline)) void LINES(groups_together)(const struct map_batch *b, co_u64 begin,
                                                             co_u64 end, struct cpu_report *report,
                                                             co_lines_tally *tally)
{
    LINES(groups)(b, begin, end, 0, report, tally);
}

static __attribute__((noinline)) void LINES(streams_alone)(const struct map_batch *b, co_u64 begin,
                                                           co_u64 end, struct cpu_report *report,
                                                           co_lines_tally *tally)
{
    LINES(streams)(b, begin, end, 1, report, tally);
}

static __attribute__((noinline)) void LINES(streams_together)(const struct map_batch *b, co_u64 begin,
                                                              co_u64 end, struct cpu_report *report,
                                                              co_lines_tally *tally)
{
    LINES(streams)(b, begin, end, 0, report, tally);
}

static void LINES(batch)(const struct map_batch *b, co_u64 begin, co_u64 end, int alone,
                         struct cpu_report *report, co_lines_tally *tally)
{
    if (b->step == MAP_STEP_APPLY && b->op == CO_OP_FIND)
        LINES(find_groups)(b, begin, end, report);
    else if (b->step == MAP_STEP_RUN && alone)
        LINES(streams_alone)(b, begin, end, report, tally);
    else if (b->step == MAP_STEP_RUN)
        LINES(streams_together)(b, begin, end, report, tally);
    else if (alone)
        LINES(groups_alone)(b, begin, end, report, tally);
    else
        LINES(groups_together)(b, begin, end, report, tally);
}

/* ---- sweeps -------------------------------------------------------------------------------------------- */

static void LINES(export)(const struct map_sweep *s, co_u64 begin, co_u64 end)
{
    co_u64 pairs = 0, to;
    for (co_u64 home = begin; home < end; home++)
        pairs += (co_u32)__builtin_popcount(LINES(names)(&s->view, home));
    if (!pairs)
        return;
    to = co_add64(s->cursor, pairs);
    for (co_u64 home = begin; home < end; home++)
        for (co_u32 names = LINES(names)(&s->view, home); names; names &= names - 1, to++) {
            KEY key;
            VALUE value;
            LINES(pair)(&s->view, home, co_first32(names), &key, &value);
            LINES(put_key)(s->keys, to, key);
            LINES(put_value)(s->values, to, value);
        }
}

/* Into another table, with the lines of the home after the next asked for. */
CO_INLINE void LINES(absorb)(const struct map_sweep *s, co_u64 begin, co_u64 end, co_lines_tally *tally,
                             int alone)
{
    struct map_batch b = {.view = s->into, .step = MAP_STEP_APPLY, .op = s->op};
    KEY keys[CPU_GROUP];
    VALUE values[CPU_GROUP];
    co_u64 home = begin;
    co_u32 names = begin < end ? LINES(names)(&s->view, begin) : 0;
    b.keys = keys;
    b.values = CO_LINES_VALUE_BITS ? values : NULL;
    while (home < end) {
        struct LINES(group) g;
        b.n = 0;
        while (home < end && b.n < CPU_GROUP) {
            if (!names) {
                names = ++home < end ? LINES(names)(&s->view, home) : 0;
                continue;
            }
            LINES(pair)(&s->view, home, co_first32(names), &keys[b.n], &values[b.n]);
            names &= names - 1;
            b.n++;
        }
        if (!b.n)
            break;
        LINES(ask)(&b, &g, 0, b.n);
        for (co_u64 i = 0; i < b.n; i++) {
            VALUE value;
            if (LINES(entry)(&b, MAP_STEP_APPLY, b.op, i, g.home[i], &value, tally, alone) == CO_MAP_FULL)
                co_min64(&s->deferred->first_full, 0);
        }
    }
}

static void LINES(stats)(const struct map_sweep *s, co_u64 begin, co_u64 end)
{
    struct map_probes p = {0};
    for (co_u64 home = begin; home < end; home++) {
        const co_u32 all = LINES(names)(&s->view, home);
        for (co_u32 names = all; names; names &= names - 1) {
            const co_u64 length = LINES(probe_length)(all, co_first32(names));
            p.keys++;
            p.buckets += length;
            p.most_buckets = length > p.most_buckets ? length : p.most_buckets;
            p.histogram[length < MAP_PROBE_BINS ? length - 1 : MAP_PROBE_BINS - 1]++;
        }
    }
    co_add64(&s->probes->keys, p.keys);
    co_add64(&s->probes->buckets, p.buckets);
    co_max64(&s->probes->most_buckets, p.most_buckets);
    for (int i = 0; i < MAP_PROBE_BINS; i++)
        co_add64(&s->probes->histogram[i], p.histogram[i]);
}

/* MARK is of backends that keep no order. */
static void LINES(sweep)(const struct map_sweep *s, enum map_sweep_kind kind, co_u64 begin, co_u64 end,
                         int alone)
{
    co_lines_tally tally = {0, 0, 0, 0, 0};
    if (kind == MAP_SWEEP_EXPORT)
        LINES(export)(s, begin, end);
    else if (kind == MAP_SWEEP_STATS)
        LINES(stats)(s, begin, end);
    else if (kind == MAP_SWEEP_ABSORB && alone)
        LINES(absorb)(s, begin, end, &tally, 1);
    else if (kind == MAP_SWEEP_ABSORB)
        LINES(absorb)(s, begin, end, &tally, 0);
    if (kind == MAP_SWEEP_ABSORB)
        co_lines_flush(&s->into, &tally);
}

#undef LINES_NAMES
#undef LINES_OWN
#undef LINES_REST
#undef LINES_NEXT
#include "shape/lines_end.h"
