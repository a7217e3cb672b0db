/* cohort/device/lines_operations.h: the operations of LINES for one width: how a key is looked for, put
 * in, changed and taken out. The second half of lines_width.h, which includes it, and whose words it uses. */

/* ---- looking ------------------------------------------------------------------------------------------------------------ */

/* Which of the slots of a home that are told by bits have the key: bits. Alone, all are looked at side by
 * side, for that costs least. */
CO_INLINE co_u32 LINES(match)(const cohort_map_view *m, co_u64 home, co_u32 bits, KEY key, int alone)
{
    struct LINES(slot) s = {home, 0};
    co_u32 same = 0;
    for (s.at = 0; s.at < CO_LINES_SLOTS; s.at++)
        if (alone || bits >> s.at & 1)
            same |= (co_u32)(LINES(get_key)(m, s, alone) == key) << s.at;
    return same & bits;
}

/* The name, + 1, under which the key is in, of those in w; 0: it is not. Home by home, its own first. */
CO_INLINE co_u32 LINES(scan)(const cohort_map_view *m, co_u64 home, co_u64 w, KEY key, struct LINES(slot) * s,
                             int alone)
{
    co_u32 names = (co_u32)w & NAMES, line = 0;
    s->home = home;
    while (names) {
        const co_u32 bits = names >> line * CO_LINES_SLOTS & OWN_NAMES,
                     same = bits ? LINES(match)(m, s->home, bits, key, alone) : 0;
        if (same) {
            s->at = co_first32(same);
            return line * CO_LINES_SLOTS + s->at + 1;
        }
        names &= ~(bits << line * CO_LINES_SLOTS);
        if (!names)
            return 0;
        line = co_first32(names) / CO_LINES_SLOTS;
        s->home = LINES(line)(m, home, line);
    }
    return 0;
}

/* `home`, here and below, is the key's. HIT: *value is the key's; else it is left as it was. quiet: nobody changes the map meanwhile. */
CO_INLINE int LINES(look)(const cohort_map_view *m, co_u64 home, KEY key, VALUE *value, co_lines_tally *tally,
                          int quiet)
{
    for (;; tally->retried++) {
        const co_u64 w = LINES(load)(m, home, quiet);
        struct LINES(slot) s;
        VALUE seen = 0;
        if (!(w & NAMES))
            return CO_MAP_MISS;
        const co_u32 name = LINES(scan)(m, home, w, key, &s, quiet);
        if (name)
            seen = LINES(get_value)(m, s, quiet);
        if (!LINES(still)(m, home, w, quiet))
            continue;
        if (name)
            *value = seen;
        return name ? CO_MAP_HIT : CO_MAP_MISS;
    }
}

/* ---- changing ------------------------------------------------------------------------------------------------------------ */

CO_INLINE VALUE LINES(combine)(co_u32 op, VALUE old, VALUE operand)
{
    switch (op) {
    case CO_OP_INSERT:
        return old;
    case CO_OP_ADD:
        return (VALUE)(old + operand);
    case CO_OP_COUNT:
        return (VALUE)(old + 1);
    case CO_OP_MIN:
        return operand < old ? operand : old;
    case CO_OP_MAX:
        return operand > old ? operand : old;
    case CO_OP_OR:
        return old | operand;
    case CO_OP_AND:
        return old & operand;
    default: /* ASSIGN, EXCHANGE */
        return operand;
    }
}

/* Before another turn: whoever has the lock gets time to give it back. */
CO_INLINE void LINES(give_way)(co_u64 w)
{
    if (w & LOCK)
        co_pause();
}

/* Gives the key that a scan of w found in `s` its new value: 1, and *old is the one before. 0: look again. */
CO_INLINE int LINES(change)(const cohort_map_view *m, co_u64 home, co_u64 w, struct LINES(slot) s, co_u32 op,
                            VALUE operand, VALUE *old, int alone)
{
    VALUE before = LINES(get_value)(m, s, alone);
    if (!CO_LINES_VALUE_BITS || op == CO_OP_INSERT || LINES(combine)(op, before, operand) == before) {
        if (!LINES(still)(m, home, w, alone))
            return 0;
        *old = before;
        return 1;
    }
    if (!LINES(lock)(m, home, w, alone))
        return 0;
    if (!alone)
        before = LINES(get_value)(m, s, 0);
    *old = before; /* the store carries what filled the slot, by the lock's fence */
    LINES(set_value)(m, s, LINES(combine)(op, before, operand), alone);
    if (!alone)
        LINES(unlock)(m, home, 0, 0);
    return 1;
}

/* A slot of the home's window for a key that is not in: its name + 1. 0: there is none. *again: one may
 * come free. Where the home's own keys have all slots there is nothing to move. While a lane waits, it
 * goes the ways at random once in a while only. */
CO_INLINE co_u32 LINES(obtain)(const cohort_map_view *m, co_u64 home, co_u64 w, co_u32 waits, int *again,
                               co_lines_tally *tally, int alone)
{
    const co_u32 slots = LINES(window)(m) * CO_LINES_SLOTS;
    *again = 0;
    if (((co_u32)w & NAMES) == (1u << slots) - 1)
        return 0;
    const co_u32 got = LINES(claim)(m, home, alone);
    return got ? got : LINES(make_room)(m, home, waits % 16 == 0, again, tally, alone);
}

/* INSERT, ASSIGN, ADD to COUNT. HIT: the key was in, *old is the value that it had just before; NEW; FULL. */
CO_INLINE int LINES(put)(const cohort_map_view *m, co_u64 home, co_u32 op, KEY key, VALUE operand, VALUE *old,
                         co_lines_tally *tally, int alone)
{
    co_u32 mine = 0, waits = 0;
    for (;; tally->retried++) {
        const co_u64 w = LINES(load)(m, home, alone);
        struct LINES(slot) s;
        if (LINES(scan)(m, home, w, key, &s, alone)) {
            if (!LINES(change)(m, home, w, s, op, operand, old, alone)) {
                LINES(give_way)(w);
                continue;
            }
            if (mine)
                LINES(retire)(m, LINES(slot_of)(m, home, mine - 1), alone);
            return CO_MAP_HIT;
        }
        if (!mine) {
            int again;
            mine = LINES(obtain)(m, home, w, waits, &again, tally, alone);
            if (!mine) {
                if (!LINES(still)(m, home, w, alone))
                    continue;
                if (alone || !again || waits++ == CO_LINES_WAITS)
                    return CO_MAP_FULL;
                co_pause();
                continue;
            }
            LINES(fill)
            (m, LINES(slot_of)(m, home, mine - 1), key, op == CO_OP_COUNT ? (VALUE)1 : operand, alone);
            if (!alone)
                co_fence();
        }
        if (LINES(commit)(m, home, w, (1ull << (mine - 1)) + VERSION, alone)) {
            tally->added++;
            return CO_MAP_NEW;
        }
        LINES(give_way)(w);
    }
}

/* HIT: the key was in, *old is the value that it had, and it is no more; MISS. */
CO_INLINE int LINES(take)(const cohort_map_view *m, co_u64 home, KEY key, VALUE *old, co_lines_tally *tally,
                          int alone)
{
    for (;; tally->retried++) {
        const co_u64 w = LINES(load)(m, home, alone);
        struct LINES(slot) s;
        if (!(w & NAMES))
            return CO_MAP_MISS;
        const co_u32 name = LINES(scan)(m, home, w, key, &s, alone);
        if (!name) {
            if (LINES(still)(m, home, w, alone))
                return CO_MAP_MISS;
            continue;
        }
        if (!LINES(commit)(m, home, w, VERSION - (1ull << (name - 1)), alone)) {
            LINES(give_way)(w);
            continue;
        }
        if (!alone)
            co_fence();
        *old = LINES(get_value)(m, s, alone);
        tally->erased++;
        LINES(pull_home)(m, s, tally, alone);
        return CO_MAP_HIT;
    }
}

/* ---- the operations ------------------------------------------------------------------------------------------------------ */

/* Any cohort_op, by one lane among others or, `alone`, with the table to itself. HIT: the key was in, *old
 * is the value it had just before; else *old is left as it was. */
CO_INLINE int LINES(do)(const cohort_map_view *m, co_u64 home, co_u32 op, KEY key, VALUE operand, VALUE *old,
                        co_lines_tally *tally, int alone)
{
    if (op == CO_OP_FIND)
        return LINES(look)(m, home, key, old, tally, alone);
    if (op == CO_OP_ERASE)
        return LINES(take)(m, home, key, old, tally, alone);
    if (op >= (CO_LINES_VALUE_BITS ? CO_OPS : CO_OP_ERASE))
        return CO_MAP_BAD;
    return LINES(put)(m, home, op, key, operand, old, tally, alone);
}

CO_INLINE int LINES(apply)(const cohort_map_view *m, co_u32 op, KEY key, VALUE operand, VALUE *old,
                           co_lines_tally *tally)
{
    return LINES(do)(m, LINES(home)(m, key), op, key, operand, old, tally, 0);
}

/* HIT: *value is the key's; else it is left as it was. */
CO_INLINE int LINES(find)(const cohort_map_view *m, KEY key, VALUE *value)
{
    co_lines_tally none = {0, 0, 0, 0, 0};
    return LINES(look)(m, LINES(home)(m, key), key, value, &none, 0);
}

/* find in a launch in which no lane changes the map. */
CO_INLINE int LINES(find_quiet)(const cohort_map_view *m, KEY key, VALUE *value)
{
    co_lines_tally none = {0, 0, 0, 0, 0};
    return LINES(look)(m, LINES(home)(m, key), key, value, &none, 1);
}

CO_INLINE int LINES(contains)(const cohort_map_view *m, KEY key)
{
    VALUE value;
    return LINES(find)(m, key, &value);
}

/* HIT: it was in and keeps its value; NEW; FULL. */
CO_INLINE int LINES(insert)(const cohort_map_view *m, KEY key, VALUE value, co_lines_tally *tally)
{
    VALUE old;
    return LINES(put)(m, LINES(home)(m, key), CO_OP_INSERT, key, value, &old, tally, 0);
}

/* HIT: its value was replaced; NEW; FULL. */
CO_INLINE int LINES(assign)(const cohort_map_view *m, KEY key, VALUE value, co_lines_tally *tally)
{
    VALUE old;
    return LINES(put)(m, LINES(home)(m, key), CO_OP_ASSIGN, key, value, &old, tally, 0);
}

/* HIT: it was in, and is no more; MISS. */
CO_INLINE int LINES(erase)(const cohort_map_view *m, KEY key, co_lines_tally *tally)
{
    VALUE old;
    return LINES(take)(m, LINES(home)(m, key), key, &old, tally, 0);
}

/* The names of a home, and the pair under one of them, in a launch in which no lane changes the map. */
CO_INLINE co_u32 LINES(names)(const cohort_map_view *m, co_u64 home)
{
    return (co_u32)co_read64(LINES(word)(m, home)) & NAMES;
}
CO_INLINE void LINES(pair)(const cohort_map_view *m, co_u64 home, co_u32 name, KEY *key, VALUE *value)
{
    const struct LINES(slot) s = LINES(slot_of)(m, home, name);
    *key = LINES(get_key)(m, s, 1);
    *value = LINES(get_value)(m, s, 1);
}
