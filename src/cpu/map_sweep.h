/* cpu/map_sweep.h: what goes over a table's slots, for one width. Included by map_width.h.
 *
 * A sweep takes a grain of slots at a time: their live pairs are appended to an export, or are a batch for
 * another table, or are looked for to tell how long their walks are. (Marks are for the winner rule's passes,
 * which nobody needs who keeps a batch's order.)
 *
 * Parameters: those of shape/map_entry.h. */

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

/* Slots that follow each other go to pages that do, so the other table is changed in one place after
 * another. */
static void MAP(absorb_range)(const struct map_sweep *s, co_u64 begin, co_u64 end, int alone)
{
    KEY keys[CPU_SWEEP_GRAIN];
    VALUE values[CPU_SWEEP_GRAIN];
    struct cpu_report report = {.first_full = ~0ull, .first_bad = ~0ull};
    struct map_batch b = {.view = s->into, .op = s->op, .keys = keys, .values = values};
    for (co_u64 slot = begin; slot < end; slot++)
        b.n += (co_u64)MAP(pair)(&s->view, slot, &keys[b.n], &values[b.n]);
    MAP(batch)(&b, 0, b.n, alone, NULL, &report);
    co_map_flush(&s->into, &report.tally);
    if (report.first_full != ~0ull)
        co_min64(&s->deferred->first_full, begin + report.first_full);
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

static void MAP(sweep)(const struct map_sweep *s, enum map_sweep_kind kind, co_u64 begin, co_u64 end,
                       int alone)
{
    if (kind == MAP_SWEEP_EXPORT)
        MAP(export)(s, begin, end);
    else if (kind == MAP_SWEEP_ABSORB)
        MAP(absorb_range)(s, begin, end, alone);
    else
        MAP(stats)(s, begin, end);
}
