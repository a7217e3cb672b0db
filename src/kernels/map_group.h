/* kernels/map_group.h: find and insert by cooperative groups, for 32/32 with linear probing: the design of
 * cuCollections and of the articles about it, here to be compared. 1, 2, 4, .. 32 lanes work on one key; each
 * looks at one slot, so a group looks at as many slots in a row at once, beginning at the first slot of the
 * key's home bucket, in a stretch of the walk after the other. That is the order in which single lanes look,
 * so both kinds of access may be mixed on one map.
 *
 * Lane k of a group owns entry k; the group takes its entries in turn. */

/* The slot that lies `from` slots behind where the walk stands, round in its page. */
CO_INLINE co_u64 map_group_slot(const cohort_map_view *m, const struct co_walk *w, co_u32 from)
{
    co_u64 page = ((co_u64)m->mask + 1) * 4;
    return w->page * page + (((co_u64)w->bucket * 4 + from) & (page - 1));
}

/* To the walk's next stretch; 0 if there is none. */
CO_INLINE int map_group_next(const cohort_map_view *m, struct co_walk *w)
{
    co_u32 stretch = co_walk_stretch(m->mask, 4);
    w->bucket = (w->bucket + stretch) & m->mask;
    w->seen += stretch;
    return co_walk_turn(w, m->pages, m->mask, m->reach, 4);
}

/* All lanes of `group` (a mask of `size` lanes) seek one key: a CO_MAP_..., the same in all of them. *value
 * is the one found. */
CO_INLINE int map_group_seek(const cohort_map_view *m, co_u32 key, int insert, co_u32 *value, co_u32 group,
                             co_u32 size, co_map_tally *tally)
{
    co_u32 rank = co_lane() & (size - 1);
    co_u32 slots = co_walk_stretch(m->mask, 4) * 4; /* of a stretch */
    struct co_walk w = co_map32_32_walk(m, key);
    do {
        for (co_u32 from = 0; from < slots; from += size) {
            co_u64 slot = map_group_slot(m, &w, from + rank);
            int inside = from + rank < slots;
            for (;;) {
                co_u64 word = inside ? co_load64(co_map32_32_slot(m, slot)) : 0xfffffffeull;
                co_u32 match = co_ballot(group, inside && (co_u32)word == key) & group;
                co_u32 empty = co_ballot(group, inside && (co_u32)word == ~0u) & group;
                co_u32 before =
                    empty ? (empty & (0u - empty)) - 1 : ~0u; /* the lanes before the first empty slot */
                if (match & before) {
                    co_u32 owner = map_bits(((match & before) & (0u - (match & before))) - 1);
                    *value = (co_u32)(co_shuffle64(group, word, owner) >> 32);
                    return CO_MAP_HIT;
                }
                if (!empty)
                    break;
                if (!insert)
                    return CO_MAP_MISS;
                co_u32 owner = map_bits(before);
                int took = 0;
                if (co_lane() == owner) {
                    took = co_cas64(co_map32_32_slot(m, slot), ~0ull, key | (co_u64)*value << 32) == ~0ull;
                    tally->taken += took ? 1 : 0;
                }
                if (co_ballot(group, took) & group)
                    return CO_MAP_NEW;
            }
        }
    } while (map_group_next(m, &w));
    return insert ? CO_MAP_FULL : CO_MAP_MISS;
}

CO_INLINE void map_group_batch(const struct map_batch *b, int insert)
{
    struct map_report report = map_report_begin();
    co_map_tally tally = {0, 0};
    co_u32 size = b->group, first_lane = co_lane() & ~(size - 1);
    co_u32 group = (size == 32 ? CO_FULL_WARP : (1u << size) - 1) << first_lane;
    CO_EACH_WARP (base, b->n) {
        co_u64 i = base + co_lane();
        int active = map_takes_part(b, base, i), r = CO_MAP_MISS;
        co_u32 key = active ? co_map32_32_key_at(b->keys, i) : 0;
        co_u32 value = active && insert ? co_map32_32_value_at(b->values, i) : 0, mine = value;
        for (co_u32 turn = 0; turn < size; turn++) {
            co_u32 k = co_shuffle32(group, key, first_lane + turn),
                   v = co_shuffle32(group, value, first_lane + turn);
            int marker = k >= 0xfffffffeu;
            if (!co_shuffle32(group, (co_u32)active, first_lane + turn) || marker)
                continue;
            int outcome = map_group_seek(&b->view, k, insert, &v, group, size, &tally);
            if (co_lane() == first_lane + turn) {
                r = outcome;
                mine = outcome == CO_MAP_HIT ? v : mine;
            }
        }
        if (active && key >= 0xfffffffeu) /* side entries are one slot: no group needed */
            r = co_map32_32_apply(&b->view, insert ? CO_OP_INSERT : CO_OP_FIND, key, value, &mine, &tally);
        if (active && (insert ? r <= CO_MAP_NEW : r == CO_MAP_HIT))
            co_map32_32_put_value(b->results, i, mine);
        else if (active && !insert && b->has_fallback)
            co_map32_32_put_value(b->results, i, (co_u32)b->fallback);
        map_report_warp(b, MAP_STEP_APPLY, base, active, r, &report);
    }
    map_report_end(b, &report);
    map_flush_warp(&b->view, &tally);
}

CO_KERNEL(map_find_group_32_32, struct map_batch)
{
    map_group_batch(args, 0);
}
CO_KERNEL(map_insert_group_32_32, struct map_batch)
{
    map_group_batch(args, 1);
}
