/* shape/map_entry.h: what a batch does to one entry, for one width. The kernels and the CPU's loops are both
 * built around it. Included once per instance after shape/map.h.
 *
 * Parameters: CO_MAP_SUFFIX, CO_MAP_KEY, CO_MAP_VALUE, CO_MAP_VALUE_BITS (as in device/map_width.h). They
 * stay defined; the including file undefines them (shape/map_end.h). MAP(name), KEY and VALUE are words of
 * the including file too. */

#define CO_PASTE3_(a, b, c) a##b##c
#define CO_PASTE3(a, b, c)  CO_PASTE3_(a, b, c)
#define MAP(name)           CO_PASTE3(co_map, CO_MAP_SUFFIX, _##name)
#define KEY                 CO_MAP_KEY
#define VALUE               CO_MAP_VALUE

CO_INLINE KEY MAP(key_at)(const void *keys, co_u64 i)
{
    return sizeof(KEY) == 4 ? (KEY)co_read32((const co_u32 *)keys + i)
                            : (KEY)co_read64((const co_u64 *)keys + i);
}

CO_INLINE VALUE MAP(value_at)(const void *values, co_u64 i)
{
    if (!CO_MAP_VALUE_BITS || !values)
        return 0;
    return sizeof(VALUE) == 4 ? (VALUE)co_read32((const co_u32 *)values + i)
                              : (VALUE)co_read64((const co_u64 *)values + i);
}

CO_INLINE void MAP(put_value)(void *values, co_u64 i, VALUE v)
{
    if (!CO_MAP_VALUE_BITS || !values)
        return;
    if (sizeof(VALUE) == 4)
        co_write32((co_u32 *)values + i, (co_u32)v);
    else
        co_write64((co_u64 *)values + i, v);
}

/* The rank of entry i among all that are ranked together: the greatest decides. */
CO_INLINE co_u32 MAP(rank)(const struct map_batch *b, co_u64 i)
{
    return (co_u32)(b->rank == MAP_RANK_FIRST ? b->n - i + b->rank_after : b->rank_before + i + 1);
}

/* A slot hears of an entry. 0: it is old and keeps its value when inserting, so it need not. */
CO_INLINE int MAP(tell)(const struct map_batch *b, co_u64 slot, co_u32 rank)
{
    co_u32 word = co_load32(&b->winners[slot]), old = word & MAP_WINNER_OLD;
    if (old && b->op == CO_OP_INSERT)
        return 0;
    if (word < (old | rank))
        co_max32(&b->winners[slot], old | rank);
    return 1;
}

/* Last pass of the winner rule: the entry that won writes its value. */
CO_INLINE int MAP(settle)(const struct map_batch *b, KEY key, VALUE operand, co_u64 i)
{
    struct MAP(place) at;
    if (MAP(seek)(&b->view, key, CO_SEEK, 0, &at) != CO_MAP_HIT)
        return CO_MAP_FULL;
    co_u32 word = co_load32(&b->winners[at.slot]);
    if ((word & ~MAP_WINNER_OLD) != MAP(rank)(b, i))
        return CO_MAP_HIT;
    VALUE old;
    MAP(change)(&b->view, &at, CO_OP_ASSIGN, operand, &old);
    return word & MAP_WINNER_OLD ? CO_MAP_HIT : CO_MAP_NEW;
}

#if CO_MAP_SLOT_BITS == 128
/* Leaves an addition in the ledger, where many to one slot cost no more than each alone. 0: there is no room
 * for the slot. */
CO_INLINE int MAP(note)(const struct map_batch *b, co_u64 slot, VALUE operand)
{
    co_u64 at = co_hash(slot, 0);
    for (co_u32 k = 0; b->ledger && k < MAP_LEDGER_REACH; k++) {
        co_u64 *entry = b->ledger + 2 * ((at + k) & b->ledger_mask), owner = co_load64(entry);
        if (!owner)
            owner = co_cas64(entry, 0, slot + 1);
        if (owner && owner != slot + 1)
            continue;
        co_add64(entry + 1, operand);
        return 1;
    }
    return 0;
}

/* Makes the additions of one entry of the ledger, in a launch after the batch's. */
CO_INLINE void MAP(post)(const struct map_batch *b, co_u64 entry)
{
    struct MAP(place) at;
    at.slot = co_read64(b->ledger + 2 * entry);
    if (!at.slot--)
        return;
    at.word = co_load128(MAP(slot)(&b->view, at.slot));
    at.key = (KEY)at.word.lo;
    while (!MAP(change_alone)(&b->view, &at, CO_OP_ADD, (VALUE)co_read64(b->ledger + 2 * entry + 1))) {
    }
}
#else
CO_INLINE int MAP(note)(const struct map_batch *b, co_u64 slot, VALUE operand)
{
    return (void)b, (void)slot, (void)operand, 0;
}
#endif

/* An entry of a batch of ASSIGN, or of ADD to EXCHANGE: a launch of its own, so nobody erases. */
CO_INLINE int MAP(alone)(const struct map_batch *b, co_u32 op, KEY key, VALUE operand, co_map_tally *tally)
{
    struct MAP(place) at;
    int r = MAP(seek)(&b->view, key, CO_SEEK_PUT, operand, &at);
    if (r == CO_MAP_NEW)
        MAP(tally)(&at, tally);
    if (r == CO_MAP_HIT)
        while (!MAP(change_alone)(&b->view, &at, op, operand) &&
               !(op == CO_OP_ADD && MAP(note)(b, at.slot, operand))) {
        }
    return r;
}

/* Entry i of the batch, at `step` and `op` (constants where the caller knows them): its outcome, a
 * CO_MAP_..., and the value that its result would be. */
CO_INLINE int MAP(entry)(const struct map_batch *b, co_u32 step, co_u32 op, co_u64 i, VALUE *value,
                         co_map_tally *tally)
{
    KEY key = MAP(key_at)(b->keys, i);
    if (step == MAP_STEP_RELAXED) {
        *value = (VALUE)b->fallback;
        return MAP(find)(&b->view, key, value);
    }
    if (step == MAP_STEP_GET || (step == MAP_STEP_APPLY && op == CO_OP_FIND)) {
        *value = (VALUE)b->fallback;
        return MAP(find_quiet)(&b->view, key, value);
    }
    VALUE operand = MAP(value_at)(b->values, i);
    *value = operand;
    if (step == MAP_STEP_APPLY && op == CO_OP_INSERT)
        return MAP(put)(&b->view, key, value, tally);
    if (step == MAP_STEP_APPLY && op == CO_OP_COUNT)
        return MAP(alone)(b, CO_OP_ADD, key, 1, tally);
    if (step == MAP_STEP_APPLY && op != CO_OP_ERASE)
        return MAP(alone)(b, op, key, operand, tally);
    return MAP(perform)(&b->view, step == MAP_STEP_RUN ? co_read8(b->ops + i) : op, key, operand, value,
                        tally);
}

/* Whether an entry with this outcome has a result to write: what was found, or the fallback; of an insert
 * what the map holds now; of others what was there before. */
CO_INLINE int MAP(has_result)(const struct map_batch *b, co_u32 step, int outcome)
{
    if (!CO_MAP_VALUE_BITS || !b->results)
        return 0;
    return outcome == CO_MAP_HIT || (outcome == CO_MAP_MISS && b->has_fallback) ||
           (outcome == CO_MAP_NEW && step == MAP_STEP_APPLY);
}

/* Puts the pair of a slot, if there is one, into the other table: a CO_MAP_..., MISS if there is none. */
CO_INLINE int MAP(absorb)(const struct map_sweep *s, co_u64 slot, co_map_tally *tally)
{
    KEY key;
    VALUE value, old;
    if (!MAP(pair)(&s->view, slot, &key, &value))
        return CO_MAP_MISS;
    return MAP(perform)(&s->into, s->op, key, value, &old, tally);
}

/* Buckets that a search reads to find the key in `slot` (a live one), and the slots that it passes on the
 * way. */
CO_INLINE co_u64 MAP(probe_length)(const cohort_map_view *m, KEY key, co_u64 slot, co_u64 *passed)
{
    co_u64 words = MAP_BUCKET_BYTES / map_slot_bytes(m->width), bucket = slot / words, length = 1;
    *passed = 0;
    if (bucket >= co_map_buckets(m))
        return 1;
    struct co_walk w = MAP(walk)(m, key);
    while (co_map_walk_bucket(m, &w) != bucket &&
           co_walk_next(&w, m->pages, m->mask, m->reach, (co_u32)words))
        length++;
    *passed = (length - 1) * words + slot % words;
    return length;
}
