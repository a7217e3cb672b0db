/* split_direct.cu: the direct and the warp-level multisplit (Ashkiani, Davidson, Meyer, Owens: "GPU Multisplit", PPoPP 2016).
 *
 * Each warp by itself has a span of the input, and goes through it by rows of 32 entries. No block ever meets.
 *
 * Pre-scan: a lane is in charge of every 32nd bucket. One vote for each bit of the bucket's number, complemented where the lane's own
 * number has a 0, leaves the lanes whose entry is in a bucket of this lane's: it counts them in a register. A span's counts
 * are a column of the table, which a scan turns into places.
 *
 * Post-scan: some rows at a time. The same votes tell a lane which lanes have an entry of its bucket; the warp's counter of the bucket, in
 * shared memory, how many there were in the rows before. So each entry knows its rank in its bucket, and
 *
 *   direct   each lane stores its entries where they belong;
 *   warp     the entries go to their places among those in hand, in shared memory, and from there out: side by side go what
 *            belongs side by side, so that stores are fewer and longer.
 *
 * Literals where these functions are used: bits of a bucket's number (5: one bucket a lane, 8: eight), items (rows in hand), widest (bytes
 * of an entry at most) and loose (1: something may have to be left out). */
#include "kernels/split_outcome.h"
#include "kernels/split_tile.h"
#include "shape/split_direct.h"

#define DIRECT_ITEMS_MOST 16
#define DIRECT_KEPT_MOST  8 /* buckets that a lane is in charge of */

struct direct_shape {
    co_u32 items, widest, bits;
    int ordered; /* WARP */
};

CO_INLINE co_u32 direct_kept(co_u32 bits)
{
    return 1u << (bits - 5);
}

/* The span's warps, side by side. */
CO_INLINE co_u64 direct_warp(void)
{
    return (co_u64)co_block() * (co_threads() / 32) + co_warp();
}

CO_INLINE co_u64 direct_warps(void)
{
    return (co_u64)co_blocks() * (co_threads() / 32);
}

CO_INLINE co_u64 direct_end(const struct split_step *s, co_u64 span)
{
    return (span + 1) * s->span < s->n ? (span + 1) * s->span : s->n;
}

/* ---- pre-scan ---------------------------------------------------------------------------------------------------------- */

/* Counts a row: counts[k] is of the bucket 32 * k + lane. */
CO_INLINE void direct_count(co_u32 *counts, co_u32 id, int good, co_u32 bits)
{
    co_u32 mine = co_ballot(CO_FULL_WARP, good), high[3] = {0, 0, 0};
    CO_EACH_ITEM (b, 5) {
        co_u32 ones = co_ballot(CO_FULL_WARP, id >> b & 1);
        mine &= co_lane() >> b & 1 ? ones : ~ones;
    }
    CO_EACH_ITEM (b, bits - 5)
        high[b] = co_ballot(CO_FULL_WARP, id >> (5 + b) & 1);
    CO_EACH_ITEM (k, direct_kept(bits)) {
        co_u32 those = mine;
        CO_EACH_ITEM (b, bits - 5)
            those &= k >> b & 1 ? high[b] : ~high[b];
        counts[k] += co_ones32(those);
    }
}

CO_INLINE void direct_leave(const struct split_step *s, co_u64 i, co_u32 id)
{
    if (s->ids_bytes == 1)
        co_write8((co_u8 *)s->ids_out + i, (co_u8)id);
    else
        co_write16((co_u16 *)s->ids_out + i, (co_u16)id);
}

/* The rows from `first` on. What is bad becomes the number of buckets; *bad is this lane's first. */
CO_INLINE void direct_tally_rows(const struct split_step *s, co_u32 *counts, co_u64 *bad, co_u64 first,
                                 co_u64 end, co_u32 width, int loose, struct direct_shape shape)
{
    co_u64 keys[DIRECT_ITEMS_MOST], at = first + co_lane();
    co_u32 ids[DIRECT_ITEMS_MOST];
    const co_u8 *in = (const co_u8 *)s->part[0].in;
    CO_EACH_ITEM (j, shape.items)
        keys[j] = !loose || at + j * 32 < end ? split_read(in + (at + j * 32) * width, width) : 0;
    if (width < 4)
        CO_EACH_ITEM (j, shape.items)
            ids[j] = (co_u32)keys[j];
    else
        split_ids(s, keys, ids, shape.items, width == 8);
    CO_EACH_ITEM (j, shape.items) {
        co_u64 i = at + j * 32;
        int there = !loose || i < end, good = there && ids[j] < s->fn.buckets;
        if (there && !good && *bad == ~0ull)
            *bad = i;
        if (there && width >= 4 && s->ids_out)
            direct_leave(s, i, good ? ids[j] : s->fn.buckets);
        direct_count(counts, ids[j], good, shape.bits);
    }
}

CO_INLINE void direct_tally(const struct split_step *s, co_u32 width, struct direct_shape shape)
{
    for (co_u64 span = direct_warp(); span < s->spans; span += direct_warps()) {
        co_u32 counts[DIRECT_KEPT_MOST];
        co_u64 bad = ~0ull, first = span * s->span, end = direct_end(s, span);
        CO_EACH_ITEM (k, direct_kept(shape.bits))
            counts[k] = 0;
        for (; first + shape.items * 32 <= end; first += shape.items * 32)
            direct_tally_rows(s, counts, &bad, first, end, width, 0, shape);
        if (first < end)
            direct_tally_rows(s, counts, &bad, first, end, width, 1, shape);
        CO_EACH_ITEM (k, direct_kept(shape.bits))
            if (k * 32 + co_lane() < s->fn.buckets)
                co_write64(s->table + (k * 32 + co_lane()) * s->spans + span, counts[k]);
        if (bad != ~0ull)
            co_min64(s->first_bad, bad);
    }
}

/* ---- post-scan --------------------------------------------------------------------------------------------------------- */

/* A warp's memory, and what its lanes keep of the buckets that they are in charge of. */
struct direct_room {
    void *slots;      /* of WARP: the rows' values of one column, in order, */
    co_u8 *owners;    /* and whose they are */
    co_u64 *bases;    /* [bucket]: where the entry of rank 0 goes; of WARP less its place in the slots */
    co_u32 *counters; /* [bucket]: entries so far; of WARP then the first place */
    co_u32 slot_bytes;
};

CO_INLINE struct direct_room direct_room_of(const struct split_step *s, co_u8 *memory, struct direct_shape shape)
{
    co_u32 slots = shape.ordered ? shape.items * 32 : 0;
    struct split_warp_layout l = split_warp_layout(s->fn.buckets, slots, shape.widest);
    struct direct_room r;
    memory += co_warp() * l.end;
    r.slots = memory;
    r.owners = memory + l.owners;
    r.bases = (co_u64 *)(memory + l.bases);
    r.counters = (co_u32 *)(memory + l.counters);
    r.slot_bytes = slots * shape.widest;
    return r;
}

/* ranks[j] of ids[j] among the rows' entries of its bucket. */
CO_INLINE void direct_rank(const struct split_step *s, const struct direct_room *r, const co_u32 *ids,
                           co_u32 *ranks, int loose, struct direct_shape shape)
{
    co_u32 after = 0xfffffffeu << co_lane(), before = (1u << co_lane()) - 1;
    for (co_u32 b = co_lane(); b <= s->fn.buckets; b += 32)
        co_write32(r->counters + b, 0);
    co_warp_sync(CO_FULL_WARP);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 same = co_match_bits(ids[j], shape.bits + (loose ? 1 : 0));
        ranks[j] = co_read32(r->counters + ids[j]) + co_ones32(same & before);
        co_warp_sync(CO_FULL_WARP);
        if (!(same & after))
            co_write32(r->counters + ids[j], ranks[j] + 1);
        co_warp_sync(CO_FULL_WARP);
    }
}

/* Bases for these rows, and `next`, where the next entry of each of the lane's buckets goes, for the rows after. How many there are
 * that are not left out. */
CO_INLINE co_u32 direct_advance(const struct split_step *s, const struct direct_room *r, co_u64 *next,
                                struct direct_shape shape)
{
    co_u32 kept = 0;
    CO_EACH_ITEM (k, direct_kept(shape.bits)) {
        co_u32 b = k * 32 + co_lane(), entries = b < s->fn.buckets ? co_read32(r->counters + b) : 0;
        co_u32 place = 0;
        if (shape.ordered) {
            co_u32 upto = split_warp_sum_to(entries);
            place = kept + upto - entries;
            kept += co_shuffle32(CO_FULL_WARP, upto, 31);
        }
        if (b < s->fn.buckets) {
            co_write64(r->bases + b, next[k] - place);
            if (shape.ordered)
                co_write32(r->counters + b, place);
            next[k] += entries;
        }
    }
    co_warp_sync(CO_FULL_WARP);
    return kept;
}

/* CALL(bytes) with the bytes of a part as a literal. */
#define DIRECT_EACH_WIDTH(bytes, CALL) \
    if ((bytes) == 4)                  \
        CALL(4);                       \
    else if ((bytes) == 1)             \
        CALL(1);                       \
    else if ((bytes) == 2)             \
        CALL(2);                       \
    else if (shape.widest == 8)        \
        CALL(8);

CO_INLINE void direct_load_as(const struct split_part *part, co_u64 *v, co_u64 first, co_u64 end,
                              co_u32 bytes, int loose, struct direct_shape shape)
{
    co_u64 at = first + co_lane();
    const co_u8 *in = (const co_u8 *)part->in + at * (bytes == 8 ? part->stride : bytes);
    co_u32 row = bytes == 8 ? 32 * part->stride : 32 * bytes;
    CO_EACH_ITEM (j, shape.items)
        v[j] = !loose || at + j * 32 < end ? split_read(in + j * row, bytes) : 0;
}

CO_INLINE void direct_load(const struct split_part *part, co_u64 *v, co_u64 first, co_u64 end, int loose,
                           struct direct_shape shape)
{
#define DIRECT_LOAD(bytes) direct_load_as(part, v, first, end, bytes, loose, shape)
    if (!part->in)
        CO_EACH_ITEM (j, shape.items)
            v[j] = first + j * 32 + co_lane();
    else
        DIRECT_EACH_WIDTH(part->bytes, DIRECT_LOAD)
#undef DIRECT_LOAD
}

/* Each lane stores its own. */
CO_INLINE void direct_store_as(const struct split_step *s, const struct direct_room *r,
                               const struct split_part *part, const co_u64 *v, const co_u32 *ids,
                               const co_u32 *ranks, co_u32 bytes, int loose, struct direct_shape shape)
{
    CO_EACH_ITEM (j, shape.items)
        if (!loose || ids[j] < s->fn.buckets)
            split_store(part, co_read64(r->bases + ids[j]) + ranks[j], v[j], bytes);
}

/* Values to their places; the lanes meet before and after. */
CO_INLINE void direct_arrange(const struct split_step *s, const struct direct_room *r, co_u32 bytes,
                              const co_u64 *v, const co_u32 *ids, const co_u32 *places, int loose,
                              struct direct_shape shape)
{
    co_warp_recast(r->slots, r->slot_bytes);
    CO_EACH_ITEM (j, shape.items)
        if (!loose || ids[j] < s->fn.buckets) {
            if (shape.widest == 8 && bytes == 8)
                co_write64((co_u64 *)r->slots + places[j], v[j]);
            else
                co_write32((co_u32 *)r->slots + places[j], (co_u32)v[j]);
        }
    co_warp_sync(CO_FULL_WARP);
}

/* Place by place. */
CO_INLINE void direct_write_as(const struct direct_room *r, const struct split_part *part, co_u32 kept,
                               co_u32 bytes, int loose, struct direct_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * 32 + co_lane();
        if (!loose || place < kept) {
            co_u64 to = co_read64(r->bases + co_read8(r->owners + place)) + place;
            co_u64 v = bytes == 8 ? co_read64((const co_u64 *)r->slots + place)
                                  : co_read32((const co_u32 *)r->slots + place);
            split_store(part, to, v, bytes);
        }
    }
}

CO_INLINE void direct_rows(const struct split_step *s, const struct direct_room *r, co_u64 *next, co_u64 first,
                           co_u64 end, int loose, struct direct_shape shape)
{
#define DIRECT_STORE(bytes) direct_store_as(s, r, part, v, ids, ranks, bytes, loose, shape)
#define DIRECT_WRITE(bytes) direct_write_as(r, part, kept, bytes, loose, shape)
    co_u64 v[DIRECT_ITEMS_MOST];
    co_u32 ids[DIRECT_ITEMS_MOST], ranks[DIRECT_ITEMS_MOST];
    direct_load(s->part, v, first, end, loose, shape);
    split_easy_ids(s, v, ids, shape.items, shape.widest == 8 && s->part[0].bytes == 8);
    if (loose)
        CO_EACH_ITEM (j, shape.items)
            ids[j] = first + j * 32 + co_lane() < end && ids[j] < s->fn.buckets ? ids[j] : s->fn.buckets;
    direct_rank(s, r, ids, ranks, loose, shape);
    co_u32 kept = direct_advance(s, r, next, shape);
    if (shape.ordered)
        CO_EACH_ITEM (j, shape.items)
            if (!loose || ids[j] < s->fn.buckets) {
                ranks[j] += co_read32(r->counters + ids[j]);
                co_write8(r->owners + ranks[j], (co_u8)ids[j]);
            }
    for (co_u32 p = 0; p < s->parts; p++) {
        const struct split_part *part = s->part + p;
        if (!part->out)
            continue;
        if (p)
            direct_load(part, v, first, end, loose, shape);
        if (shape.ordered) {
            direct_arrange(s, r, part->bytes, v, ids, ranks, loose, shape);
            DIRECT_EACH_WIDTH(part->bytes, DIRECT_WRITE)
        } else {
            DIRECT_EACH_WIDTH(part->bytes, DIRECT_STORE)
        }
    }
    co_warp_sync(CO_FULL_WARP); /* the next rows have the memory anew */
#undef DIRECT_STORE
#undef DIRECT_WRITE
}

CO_INLINE void direct_place(const struct split_step *s, co_u8 *memory, struct direct_shape shape)
{
    struct direct_room r = direct_room_of(s, memory, shape);
    if (co_block() == 0)
        split_outcome(s);
    for (co_u64 span = direct_warp(); span < s->spans; span += direct_warps()) {
        co_u64 next[DIRECT_KEPT_MOST], first = span * s->span, end = direct_end(s, span);
        CO_EACH_ITEM (k, direct_kept(shape.bits)) {
            co_u32 b = k * 32 + co_lane();
            next[k] = b < s->fn.buckets ? co_read64(s->table + b * s->spans + span) : 0;
        }
        for (; first < end; first += shape.items * 32)
            if (first + shape.items * 32 <= end && !s->can_fail)
                direct_rows(s, &r, next, first, end, 0, shape);
            else
                direct_rows(s, &r, next, first, end, 1, shape);
    }
}

/* ---- instances --------------------------------------------------------------------------------------------------------- */

#if defined(COHORT_SIM)
#    define DIRECT_ITEMS SPLIT_DIRECT_ITEMS_SIM
#    define DIRECT_ORDERED_ITEMS SPLIT_WARP_ITEMS_SIM
#else
#    define DIRECT_ITEMS SPLIT_DIRECT_ITEMS_GPU
#    define DIRECT_ORDERED_ITEMS SPLIT_WARP_ITEMS_GPU
#endif

#define DIRECT_TALLY(width, bits)                                     \
    CO_KERNEL(split_direct_tally_##width##_##bits, struct split_step) \
    {                                                                 \
        struct direct_shape shape = {DIRECT_ITEMS, 8, bits, 0};       \
        direct_tally(args, width / 8, shape);                         \
    }
#define DIRECT_PLACE(name, ordered, items, widest, bits)                \
    CO_KERNEL(split_direct_##name##_##widest##_##bits, struct split_step) \
    {                                                                   \
        struct direct_shape shape = {items, widest, bits, ordered};     \
        CO_SHARED_DYNAMIC(co_u8, memory);                               \
        direct_place(args, memory, shape);                              \
    }
#define DIRECT_BITS(bits)                                   \
    DIRECT_TALLY(8, bits)                                   \
    DIRECT_TALLY(16, bits)                                  \
    DIRECT_TALLY(32, bits)                                  \
    DIRECT_TALLY(64, bits)                                  \
    DIRECT_PLACE(direct, 0, DIRECT_ITEMS, 4, bits)          \
    DIRECT_PLACE(direct, 0, DIRECT_ITEMS, 8, bits)          \
    DIRECT_PLACE(warp, 1, DIRECT_ORDERED_ITEMS, 4, bits)    \
    DIRECT_PLACE(warp, 1, DIRECT_ORDERED_ITEMS, 8, bits)

DIRECT_BITS(5)
DIRECT_BITS(8)
