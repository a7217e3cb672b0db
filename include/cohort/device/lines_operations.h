/* cohort/device/lines_operations.h: the operations of LINES for one width: how a key is looked for, put
 * in, changed and taken out. The second half of lines_width.h, which includes it, and whose words it uses. */

/* ---- looking ------------------------------------------------------------------------------------------- */

/* Which of the slots of a home that are told by bits have the key: bits. All are looked at side by side,
 * for that costs least. */
CO_INLINE co_u32 LINES(match)(const cohort_map_view *m, co_u64 home, co_u32 bits, KEY key, int alone)
{
    struct LINES(slot) s = {home, 0};
    co_u32 same = 0;
    for (s.at = 0; s.at < CO_LINES_SLOTS; s.at++)
        same |= (co_u32)LINES(same_key)(LINES(get_key)(m, s, alone), key) << s.at;
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

/* ---- changing ------------------------------------------------------------------------------------------ */

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
    VALUE before = *old;
    if (!LINES(lock)(m, home, w, alone)) {
        LINES(give_way)(w);
        return 0;
    }
    if (!alone)
        before = LINES(get_value)(m, s, 0);
    *old = before; /* the store carries what filled the slot, by the lock's fence */
    LINES(set_value)(m, s, LINES(combine)(op, before, operand), alone);
    if (!alone)
        LINES(unlock)(m, home, 0, 0);
    return 1;
}

/* A slot of the home's window for a key that is not in: its name + 1. 0: there is none. *again: one may
 * come free. Where the home's own keys have all slots there is nothing to move. Others who put in the same
 * key may hold all slots for a moment: so a lane looks again before it moves what is there; and while it
 * waits, it goes the ways at random once in a while only. */
CO_INLINE co_u32 LINES(obtain)(const cohort_map_view *m, co_u64 home, co_u64 w, co_u32 waits, int *again,
                               co_lines_tally *tally, int alone)
{
    const co_u32 slots = LINES(window)(m) * CO_LINES_SLOTS;
    *again = 0;
    if (((co_u32)w & NAMES) == (1u << slots) - 1)
        return 0;
    const co_u32 got = LINES(claim)(m, home, w, alone);
    if (got)
        return got;
    *again = 1;
    return !alone && !waits ? 0 : LINES(make_room)(m, home, w, alone || waits % 16 == 1, again, tally, alone);
}

/* Puts in a key that a scan of w has not found: NEW or FULL; AGAIN: look again, and what was claimed is
 * kept. */
CO_INLINE int LINES(enter)(const cohort_map_view *m, co_u64 home, co_u64 w, KEY key, VALUE value,
                           co_u32 *mine, co_u32 *waits, co_lines_tally *tally, int alone)
{
    if (!*mine) {
        int held;
        *mine = LINES(obtain)(m, home, w, *waits, &held, tally, alone);
        if (!*mine) {
            if (!LINES(still)(m, home, w, alone))
                return AGAIN;
            if (alone || !held || (*waits)++ == CO_LINES_WAITS)
                return CO_MAP_FULL;
            co_pause();
            return AGAIN;
        }
        LINES(fill)(m, LINES(slot_of)(m, home, *mine - 1), key, value, alone);
        if (!alone)
            co_fence();
    }
    if (LINES(commit)(m, home, w, (1ull << (*mine - 1)) + VERSION, alone)) {
        tally->added++;
        return CO_MAP_NEW;
    }
    LINES(give_way)(w);
    return AGAIN;
}

/* Takes out the key that a scan of w has found in `s`, under this name: HIT, and *old is its value; AGAIN:
 * look again. */
CO_INLINE int LINES(leave)(const cohort_map_view *m, co_u64 home, co_u64 w, co_u32 name, struct LINES(slot) s,
                           VALUE *old, co_lines_tally *tally, int alone)
{
    if (!LINES(commit)(m, home, w, VERSION - (1ull << (name - 1)), alone)) {
        LINES(give_way)(w);
        return AGAIN;
    }
    if (!alone)
        co_fence();
    *old = LINES(get_value)(m, s, alone);
    tally->erased++;
    LINES(pull_home)(m, s, tally, alone);
    return CO_MAP_HIT;
}

/* ---- the operations ------------------------------------------------------------------------------------ */

/* Is an operation done when its key was looked for, and was there with the value `seen`, or was not? */
CO_INLINE int LINES(only_looks)(co_u32 op, int there, VALUE seen, VALUE operand)
{
    if (op == CO_OP_FIND || op == CO_OP_ERASE)
        return op == CO_OP_FIND || !there;
    return there && (!CO_LINES_VALUE_BITS || op == CO_OP_INSERT || LINES(combine)(op, seen, operand) == seen);
}

/* Any cohort_op, by one lane among others or, `alone`, with the table to itself. `home` is the key's. HIT:
 * the key was in, *old is the value it had just before; else *old is left as it was.
 *
 * All kinds of operations look first, and that in the same steps: lanes of a warp go through them
 * together. */
CO_INLINE int LINES(do)(const cohort_map_view *m, co_u64 home, co_u32 op, KEY key, VALUE operand, VALUE *old,
                        co_lines_tally *tally, int alone)
{
    co_u32 mine = 0, waits = 0;
    if (op != CO_OP_ERASE && op >= (CO_LINES_VALUE_BITS ? CO_OPS : CO_OP_ERASE))
        return CO_MAP_BAD;
    for (;; tally->retried++) {
        const co_u64 w = LINES(load)(m, home, alone);
        struct LINES(slot) s;
        const co_u32 name = LINES(scan)(m, home, w, key, &s, alone);
        VALUE seen = 0;
        int r;
        if (name && op != CO_OP_ERASE)
            seen = LINES(get_value)(m, s, alone);
        if (LINES(only_looks)(op, name != 0, seen, operand))
            r = !(w & NAMES) || LINES(still)(m, home, w, alone) ? name ? CO_MAP_HIT : CO_MAP_MISS : AGAIN;
        else if (op == CO_OP_ERASE)
            r = LINES(leave)(m, home, w, name, s, &seen, tally, alone);
        else if (name)
            r = LINES(change)(m, home, w, s, op, operand, &seen, alone) ? CO_MAP_HIT : AGAIN;
        else
            r = LINES(enter)(m, home, w, key, op == CO_OP_COUNT ? (VALUE)1 : operand, &mine, &waits, tally,
                             alone);
        if (r == AGAIN)
            continue;
        if (mine && r == CO_MAP_HIT)
            LINES(retire)(m, LINES(slot_of)(m, home, mine - 1), alone);
        if (r == CO_MAP_HIT)
            *old = seen;
        return r;
    }
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
    return LINES(do)(m, LINES(home)(m, key), CO_OP_FIND, key, 0, value, &none, 0);
}

/* find in a launch in which no lane changes the map. */
CO_INLINE int LINES(find_quiet)(const cohort_map_view *m, KEY key, VALUE *value)
{
    co_lines_tally none = {0, 0, 0, 0, 0};
    return LINES(do)(m, LINES(home)(m, key), CO_OP_FIND, key, 0, value, &none, 1);
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
    return LINES(do)(m, LINES(home)(m, key), CO_OP_INSERT, key, value, &old, tally, 0);
}

/* HIT: its value was replaced; NEW; FULL. */
CO_INLINE int LINES(assign)(const cohort_map_view *m, KEY key, VALUE value, co_lines_tally *tally)
{
    VALUE old;
    return LINES(do)(m, LINES(home)(m, key), CO_OP_ASSIGN, key, value, &old, tally, 0);
}

/* HIT: it was in, and is no more; MISS. */
CO_INLINE int LINES(erase)(const cohort_map_view *m, KEY key, co_lines_tally *tally)
{
    VALUE old;
    return LINES(do)(m, LINES(home)(m, key), CO_OP_ERASE, key, 0, &old, tally, 0);
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
