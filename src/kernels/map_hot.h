/* kernels/map_hot.h: keys that a batch of ASSIGN or of ADD to COUNT has again and again, for one width.
 * Included by map_width.h.
 *
 * Accesses to one slot wait for each other, however many lanes there are. So a block keeps a small table in
 * shared memory: keys that it knows to be in the map, and for each an operand: those of its entries with the
 * key, folded. Such an entry is a hit, since nobody erases in this launch, and has no more to do; when the
 * block has been through its entries it does the folded operation once a key. The entries take place there,
 * in the order in which they were folded.
 *
 * A key gets a place when a lane of the block has put it in or found it there, and had reason to: other lanes
 * of its warp had the same key. So batches of different keys touch nothing but one word of shared memory a
 * warp and turn. A place is the key's alone for good; keys that want a place that is taken go on as if there
 * were no table.
 *
 * Parameters: those of shape/map_entry.h. */

struct MAP(hot) {
    KEY *keys;     /* MAP(hot_none) of the place: not taken */
    VALUE *values; /* folded operands */
    co_u32 *used;  /* a bit a place: there are operands; */
    co_u32 *any;   /* 1: a place has been taken */
    co_u32 slots;  /* a power of two; 0: no table */
};

CO_INLINE co_u32 MAP(hot_place)(const struct MAP(hot) * h, KEY key)
{
    co_u32 mixed =
        sizeof(KEY) == 4 ? (co_u32)key * 0x9e3779b1u : (co_u32)((key * 0x9e3779b97f4a7c15ull) >> 32);
    return mixed >> 23 & (h->slots - 1); /* MAP_HOT_MOST is 2^9 */
}

/* A key that has another place, and so is never in this one: 0 has the first, all ones never has. */
CO_INLINE KEY MAP(hot_none)(const struct MAP(hot) * h, co_u32 place)
{
    KEY ones = (KEY) ~(KEY)0;
    return MAP(hot_place)(h, ones) == place ? 0 : ones;
}

CO_INLINE KEY MAP(hot_key)(const struct MAP(hot) * h, co_u32 place)
{
    return sizeof(KEY) == 4 ? (KEY)co_load32((const co_u32 *)h->keys + place)
                            : (KEY)co_load64((const co_u64 *)h->keys + place);
}

CO_INLINE VALUE MAP(hot_cas)(VALUE *at, VALUE expected, VALUE desired)
{
    return sizeof(VALUE) == 4 ? (VALUE)co_cas32((co_u32 *)at, (co_u32)expected, (co_u32)desired)
                              : (VALUE)co_cas64((co_u64 *)at, expected, desired);
}

/* The block together. What an operand is before any has been folded does not change the ones that are. */
CO_INLINE void MAP(hot_begin)(const struct MAP(hot) * h, co_u32 op)
{
    VALUE nothing = op == CO_OP_MIN || op == CO_OP_AND ? (VALUE) ~(VALUE)0 : 0;
    for (co_u32 p = co_thread(); p < h->slots; p += co_threads()) {
        if (sizeof(KEY) == 4)
            co_write32((co_u32 *)h->keys + p, (co_u32)MAP(hot_none)(h, p));
        else
            co_write64((co_u64 *)h->keys + p, (co_u64)MAP(hot_none)(h, p));
        MAP(put_value)(h->values, p, nothing);
        if (p % 32 == 0)
            co_write32(&h->used[p / 32], 0);
    }
    if (co_thread() == 0)
        co_write32(h->any, 0);
    co_block_sync();
}

/* Folds an operand into the others of its key. 0: the key has no place. */
CO_INLINE int MAP(hot_fold)(const struct MAP(hot) * h, co_u32 op, KEY key, VALUE operand)
{
    co_u32 place = MAP(hot_place)(h, key);
    VALUE *at = h->values + place;
    if (MAP(hot_key)(h, place) != key)
        return 0;
    if (!CO_MAP_VALUE_BITS)
        return 1;
    if (!(co_load32(&h->used[place / 32]) >> place % 32 & 1))
        co_or32(&h->used[place / 32], 1u << place % 32);
    if (op == CO_OP_ADD) {
        if (sizeof(VALUE) == 4)
            co_add32((co_u32 *)at, (co_u32)operand);
        else
            co_add64((co_u64 *)at, operand);
        return 1;
    }
    VALUE old =
        sizeof(VALUE) == 4 ? (VALUE)co_load32((const co_u32 *)at) : (VALUE)co_load64((const co_u64 *)at);
    for (;;) {
        VALUE next = MAP(combine)(op, old, operand), seen = next == old ? old : MAP(hot_cas)(at, old, next);
        if (seen == old || op == CO_OP_ASSIGN || op == CO_OP_EXCHANGE)
            return 1; /* an assign that fails came just before the one that was quicker */
        old = seen;
    }
}

/* The key is in the map, and is to have a place if that is free. */
CO_INLINE void MAP(hot_take)(const struct MAP(hot) * h, KEY key)
{
    co_u32 place = MAP(hot_place)(h, key);
    KEY none = MAP(hot_none)(h, place);
    if (MAP(hot_key)(h, place) != none)
        return;
    if (sizeof(KEY) == 4)
        co_cas32((co_u32 *)h->keys + place, (co_u32)none, (co_u32)key);
    else
        co_cas64((co_u64 *)h->keys + place, (co_u64)none, (co_u64)key);
    co_or32(h->any, 1);
}

/* The block together: what has been folded becomes one operation a key. */
CO_INLINE void MAP(hot_end)(const struct MAP(hot) * h, const struct map_batch *b, co_u32 op,
                            co_map_tally *tally)
{
    co_block_sync();
    for (co_u32 p = co_thread(); p < h->slots; p += co_threads())
        if (co_read32(&h->used[p / 32]) >> p % 32 & 1)
            MAP(alone)(b, op, MAP(key_at)(h->keys, p), MAP(value_at)(h->values, p), tally);
}
