/* shape/lines_entry.h: what a batch does to one entry of a map of LINES, for one width. Included once per
 * instance after shape/lines.h.
 *
 * Parameters: those of device/lines_width.h. They stay defined; the including file undefines them
 * (shape/lines_end.h). LINES(name), KEY and VALUE are words of the including file too. */

#define CO_PASTE3_(a, b, c) a##b##c
#define CO_PASTE3(a, b, c)  CO_PASTE3_(a, b, c)
#define LINES(name)         CO_PASTE3(co_lines, CO_LINES_SUFFIX, _##name)
#define KEY                 CO_LINES_KEY
#define VALUE               CO_LINES_VALUE

/* Keys of 16 bytes are two words in the caller's arrays, and aligned to one. */
#if CO_LINES_KEY_BITS == 128
CO_INLINE KEY LINES(key_at)(const void *keys, co_u64 i)
{
    const co_u64 *p = (const co_u64 *)keys + 2 * i;
    return co_make128(co_read64(p), co_read64(p + 1));
}

CO_INLINE void LINES(put_key)(void *keys, co_u64 i, KEY key)
{
    co_write64((co_u64 *)keys + 2 * i, key.lo);
    co_write64((co_u64 *)keys + 2 * i + 1, key.hi);
}
#else
CO_INLINE KEY LINES(key_at)(const void *keys, co_u64 i)
{
    return sizeof(KEY) == 4 ? (KEY)co_read32((const co_u32 *)keys + i)
                            : (KEY)co_read64((const co_u64 *)keys + i);
}

CO_INLINE void LINES(put_key)(void *keys, co_u64 i, KEY key)
{
    if (sizeof(KEY) == 4)
        co_write32((co_u32 *)keys + i, (co_u32)key);
    else
        co_write64((co_u64 *)keys + i, key);
}
#endif

CO_INLINE VALUE LINES(value_at)(const void *values, co_u64 i)
{
    if (!CO_LINES_VALUE_BITS || !values)
        return 0;
    return sizeof(VALUE) == 4 ? (VALUE)co_read32((const co_u32 *)values + i)
                              : (VALUE)co_read64((const co_u64 *)values + i);
}

CO_INLINE void LINES(put_value)(void *values, co_u64 i, VALUE v)
{
    if (!CO_LINES_VALUE_BITS || !values)
        return;
    if (sizeof(VALUE) == 4)
        co_write32((co_u32 *)values + i, (co_u32)v);
    else
        co_write64((co_u64 *)values + i, v);
}

/* Entry i of the batch, whose key has this home, at `step` and `op` (constants where the caller knows
 * them): its outcome, a CO_MAP_..., and the value that its result would be. A find of a batch of its own
 * has no writer beside it. */
CO_INLINE int LINES(entry)(const struct map_batch *b, co_u32 step, co_u32 op, co_u64 i, co_u64 home,
                           VALUE *value, co_lines_tally *tally, int alone)
{
    const KEY key = LINES(key_at)(b->keys, i);
    if (step == MAP_STEP_GET || (step == MAP_STEP_APPLY && op == CO_OP_FIND)) {
        *value = (VALUE)b->fallback;
        return LINES(do)(&b->view, home, CO_OP_FIND, key, 0, value, tally, 1);
    }
    const VALUE operand = LINES(value_at)(b->values, i);
    *value = operand;
    return LINES(do)(&b->view, home, step == MAP_STEP_RUN ? co_read8(b->ops + i) : op, key, operand, value,
                     tally, alone);
}

/* Whether an entry with this outcome has a result to write: what was found, or the fallback; of an insert
 * what the map holds now; of others what was there before. */
CO_INLINE int LINES(has_result)(const struct map_batch *b, co_u32 step, int outcome)
{
    if (!CO_LINES_VALUE_BITS || !b->results)
        return 0;
    return outcome == CO_MAP_HIT || (outcome == CO_MAP_MISS && b->has_fallback) ||
           (outcome == CO_MAP_NEW && step == MAP_STEP_APPLY);
}

/* Homes that a search reads to find the key of a home's slot of this name: those of its window that names
 * lead to, up to this one. */
CO_INLINE co_u64 LINES(probe_length)(co_u32 names, co_u32 name)
{
    const co_u32 before = names & ((2u << name) - 1);
    co_u64 length = 1; /* its own, for the word */
    for (co_u32 line = 1; line <= name / CO_LINES_SLOTS; line++)
        length += (before >> line * CO_LINES_SLOTS & ((1u << CO_LINES_SLOTS) - 1)) != 0;
    return length;
}
