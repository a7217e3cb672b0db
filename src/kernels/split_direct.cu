/* split_direct.cu: the direct and the warp-level multisplit (Ashkiani, Davidson, Meyer, Owens: "GPU
 * Multisplit", PPoPP 2016).
 *
 * Each warp by itself has a span of the input, and goes through it by rows of 32 entries. No block ever
 * meets.
 *
 * Pre-scan: a lane is in charge of every 32nd bucket. One vote for each bit of the bucket's number,
 * complemented where the lane's own number has a 0, leaves the lanes whose entry is in a bucket of this
 * lane's: it counts them in a register. A span's counts are a column of the table, which a scan turns into
 * places.
 *
 * Post-scan: some rows at a time. The same votes tell a lane which lanes have an entry of its bucket; the
 * warp's counter of the bucket, in shared memory, how many there were in the rows before. So each entry knows
 * its rank in its bucket, and
 *
 *   direct   each lane stores its entries where they belong;
 *   warp     the entries go to their places among those in hand, in shared memory, and from there out: side
 *            by side go what belongs side by side, so that stores are fewer and longer.
 *
 * Literals where these functions are used: bits of a bucket's number (5: one bucket a lane, 8: eight), items
 * (rows in hand), widest (bytes of an entry at most) and loose (1: something may have to be left out). All
 * instances are of widest 8 and loose 1: a kernel for each case would be faster by a few instructions an
 * entry, and take four times as long to compile. */
#include "kernels/split_outcome.h"
#include "kernels/split_tile.h"
#include "shape/split_direct.h"

#define DIRECT_ITEMS_MOST 16
#define DIRECT_KEPT_MOST  8 /* buckets that a lane is in charge of */
#define DIRECT_NOWHERE    (~0ull)

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

/* ---- pre-scan ------------------------------------------------------------------------------------------ */

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
CO_INLINE void direct_histogram_rows(const struct split_step *s, co_u32 *counts, co_u64 *bad, co_u64 first,
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

CO_INLINE void direct_histograms(const struct split_step *s, co_u32 width, struct direct_shape shape)
{
    for (co_u64 span = direct_warp(); span < s->spans; span += direct_warps()) {
        co_u32 counts[DIRECT_KEPT_MOST];
        co_u64 bad = ~0ull, first = span * s->span, end = direct_end(s, span);
        CO_EACH_ITEM (k, direct_kept(shape.bits))
            counts[k] = 0;
        for (; first + shape.items * 32 <= end; first += shape.items * 32)
            direct_histogram_rows(s, counts, &bad, first, end, width, 0, shape);
        if (first < end)
            direct_histogram_rows(s, counts, &bad, first, end, width, 1, shape);
        CO_EACH_ITEM (k, direct_kept(shape.bits))
            if (k * 32 + co_lane() < s->fn.buckets)
                co_write64(s->table + (k * 32 + co_lane()) * s->spans + span, counts[k]);
        if (bad != ~0ull)
            co_min64(s->first_bad, bad);
    }
}

/* ---- post-scan ----------------------------------------------------------------------------------------- */

/* A warp's memory, and what its lanes keep of the buckets that they are in charge of. */
struct direct_tile {
    void *slots;    /* of WARP: the rows' values of one column, in order, */
    co_u16 *owners; /* and whose they are */
    co_u32
        *mine; /* of the rows' entries, as they came: id | rank in the bucket or place in the slots << 16 */
    co_u64 *next;     /* [bucket]: where the next entry goes; each lane those of every 32nd bucket */
    co_u64 *bases;    /* [bucket]: where the entry of rank 0 goes; of WARP less its place in the slots */
    co_u32 *counters; /* [bucket]: entries so far; of WARP then the first place */
    co_u32 slot_bytes;
};

CO_INLINE struct direct_tile direct_tile_of(const struct split_step *s, co_u8 *memory,
                                            struct direct_shape shape)
{
    struct split_warp_layout l =
        split_warp_layout(s->fn.buckets, shape.items * 32, shape.ordered ? shape.widest : 0);
    struct direct_tile r;
    memory += co_warp() * l.end;
    r.slots = memory;
    r.mine = (co_u32 *)(memory + l.mine);
    r.owners = (co_u16 *)(memory + l.owners);
    r.next = (co_u64 *)(memory + l.next);
    r.bases = (co_u64 *)(memory + l.bases);
    r.counters = (co_u32 *)(memory + l.counters);
    r.slot_bytes = l.next;
    return r;
}

/* The lanes with the same id. */
CO_INLINE co_u32 direct_same(co_u32 id, co_u32 bits)
{
    co_u32 same = CO_FULL_WARP;
    CO_EACH_ITEM (b, bits) {
        co_u32 ones = co_ballot(CO_FULL_WARP, id >> b & 1);
        same &= id >> b & 1 ? ones : ~ones;
    }
    return same;
}

/* ids[j] becomes id | rank among the rows' entries of its bucket << 16. */
CO_INLINE void direct_rank(const struct split_step *s, const struct direct_tile *r, co_u32 *ids, int loose,
                           struct direct_shape shape)
{
    co_u32 after = 0xfffffffeu << co_lane(), before = (1u << co_lane()) - 1;
    for (co_u32 b = co_lane(); b <= s->fn.buckets; b += 32)
        co_write32(r->counters + b, 0);
    co_warp_sync(CO_FULL_WARP);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 same = direct_same(ids[j], shape.bits + (loose ? 1 : 0));
        co_u32 rank = co_read32(r->counters + ids[j]) + co_ones32(same & before);
        co_warp_sync(CO_FULL_WARP);
        if (!(same & after))
            co_write32(r->counters + ids[j], rank + 1);
        co_warp_sync(CO_FULL_WARP);
        ids[j] |= rank << 16;
    }
}

/* Bases for these rows, and in `next` for the rows after. What is left out has places in the slots behind all
 * others, and no base. */
CO_INLINE void direct_advance(const struct split_step *s, const struct direct_tile *r,
                              struct direct_shape shape)
{
    co_u32 place = 0;
    for (co_u32 first = 0; first <= s->fn.buckets; first += 32) {
        co_u32 b = first + co_lane(), entries = b <= s->fn.buckets ? co_read32(r->counters + b) : 0,
               start = 0;
        if (shape.ordered) {
            co_u32 upto = split_warp_sum_to(entries);
            start = place + upto - entries;
            place += co_shuffle32(CO_FULL_WARP, upto, 31);
            if (b <= s->fn.buckets)
                co_write32(r->counters + b, start);
        }
        if (b < s->fn.buckets) {
            co_u64 next = co_read64(r->next + b);
            co_write64(r->bases + b, next - start);
            co_write64(r->next + b, next + entries);
        }
    }
    co_warp_sync(CO_FULL_WARP);
}

/* Behind the end the last entry is read again. */
CO_INLINE void direct_load(const struct split_part *part, co_u64 *v, co_u64 first, co_u64 end, co_u32 bytes,
                           int loose, struct direct_shape shape)
{
    co_u32 stride = bytes == 8 ? part->stride : bytes, last = loose ? (co_u32)(end - first) - 1 : 0;
    const co_u8 *in = (const co_u8 *)part->in + first * stride;
    CO_EACH_ITEM (j, shape.items) {
        co_u32 at = j * 32 + co_lane();
        at = loose && at > last ? last : at;
        v[j] = part->in ? split_read(in + at * stride, bytes) : first + at;
    }
}

CO_INLINE void direct_put(const struct direct_tile *r, const struct split_part *part, co_u32 bucket,
                          co_u32 place, co_u64 v, co_u32 bytes, int loose)
{
    co_u64 base = co_read64(r->bases + bucket);
    if (!loose || base != DIRECT_NOWHERE)
        split_store(part, base + place, v, bytes);
}

/* Each lane stores its own. */
CO_INLINE void direct_store(const struct direct_tile *r, const struct split_part *part, const co_u64 *v,
                            co_u32 bytes, int loose, struct direct_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 id = co_read32(r->mine + j * 32 + co_lane());
        direct_put(r, part, id & 0xffff, id >> 16, v[j], bytes, loose);
    }
}

/* Puts id | rank down; of WARP id | place, and each place keeps whose it is. */
CO_INLINE void direct_put_down(const struct direct_tile *r, const co_u32 *ids, struct direct_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 id = ids[j];
        if (shape.ordered) {
            id += co_read32(r->counters + (id & 0xffff)) << 16;
            co_write16(r->owners + (id >> 16), (co_u16)id);
        }
        co_write32(r->mine + j * 32 + co_lane(), id);
    }
}

/* Values to their places; the lanes meet before and after. */
CO_INLINE void direct_arrange(const struct direct_tile *r, co_u32 bytes, const co_u64 *v,
                              struct direct_shape shape)
{
    co_warp_recast(r->slots, r->slot_bytes);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = co_read32(r->mine + j * 32 + co_lane()) >> 16;
        if (shape.widest == 8 && bytes == 8)
            co_write64((co_u64 *)r->slots + place, v[j]);
        else
            co_write32((co_u32 *)r->slots + place, (co_u32)v[j]);
    }
    co_warp_sync(CO_FULL_WARP);
}

/* Place by place. */
CO_INLINE void direct_write(const struct direct_tile *r, const struct split_part *part, co_u32 bytes,
                            int loose, struct direct_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * 32 + co_lane();
        co_u64 v = bytes == 8 ? co_read64((const co_u64 *)r->slots + place)
                              : co_read32((const co_u32 *)r->slots + place);
        direct_put(r, part, co_read16(r->owners + place), place, v, bytes, loose);
    }
}

/* One part of the rows, from where it comes to where it goes. */
CO_INLINE void direct_move(const struct split_step *s, const struct direct_tile *r, co_u32 p, co_u64 first,
                           co_u64 end, co_u32 bytes, int loose, struct direct_shape shape)
{
    const struct split_part *part = s->part + p;
    co_u64 v[DIRECT_ITEMS_MOST];
    direct_load(part, v, first, end, bytes, loose, shape);
    if (shape.ordered) {
        direct_arrange(r, bytes, v, shape);
        direct_write(r, part, bytes, loose, shape);
    } else {
        co_warp_sync(CO_FULL_WARP);
        direct_store(r, part, v, bytes, loose, shape);
    }
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

CO_INLINE void direct_find_ids(const struct split_step *s, co_u32 *ids, co_u64 first, co_u64 end, int loose,
                               struct direct_shape shape)
{
#define DIRECT_LOAD(bytes) direct_load(s->part, keys, first, end, bytes, loose, shape)
    co_u64 keys[DIRECT_ITEMS_MOST];
    CO_EACH_ITEM (j, shape.items)
        keys[j] = 0;
    DIRECT_EACH_WIDTH(s->part[0].bytes, DIRECT_LOAD)
    split_easy_ids(s, keys, ids, shape.items, shape.widest == 8 && s->part[0].bytes == 8);
    if (loose)
        CO_EACH_ITEM (j, shape.items)
            ids[j] = first + j * 32 + co_lane() < end && ids[j] < s->fn.buckets ? ids[j] : s->fn.buckets;
#undef DIRECT_LOAD
}

CO_INLINE void direct_rows(const struct split_step *s, const struct direct_tile *r, co_u64 first, co_u64 end,
                           int loose, struct direct_shape shape)
{
#define DIRECT_MOVE(bytes) direct_move(s, r, p, first, end, bytes, loose, shape)
    co_u32 ids[DIRECT_ITEMS_MOST];
    direct_find_ids(s, ids, first, end, loose, shape);
    direct_rank(s, r, ids, loose, shape);
    direct_advance(s, r, shape);
    direct_put_down(r, ids, shape);
    for (co_u32 p = 0; p < s->parts; p++)
        if (s->part[p].out) {
            DIRECT_EACH_WIDTH(s->part[p].bytes, DIRECT_MOVE)
        }
    co_warp_sync(CO_FULL_WARP); /* the next rows have the memory anew */
#undef DIRECT_MOVE
}

CO_INLINE void direct_place(const struct split_step *s, co_u8 *memory, struct direct_shape shape)
{
    struct direct_tile r = direct_tile_of(s, memory, shape);
    if (co_block() == 0)
        split_outcome(s);
    if (co_lane() == 0)
        co_write64(r.bases + s->fn.buckets, DIRECT_NOWHERE);
    for (co_u64 span = direct_warp(); span < s->spans; span += direct_warps()) {
        co_u64 first = span * s->span, end = direct_end(s, span);
        for (co_u32 b = co_lane(); b < s->fn.buckets; b += 32)
            co_write64(r.next + b, co_read64(s->table + b * s->spans + span));
        for (; first < end; first += shape.items * 32)
            direct_rows(s, &r, first, end, 1, shape);
    }
}

/* ---- instances ----------------------------------------------------------------------------------------- */

#if defined(COHORT_SIM)
#    define DIRECT_ITEMS         SPLIT_DIRECT_ITEMS_SIM
#    define DIRECT_ORDERED_ITEMS SPLIT_WARP_ITEMS_SIM
#else
#    define DIRECT_ITEMS         SPLIT_DIRECT_ITEMS_GPU
#    define DIRECT_ORDERED_ITEMS SPLIT_WARP_ITEMS_GPU
#endif

#define DIRECT_HISTOGRAMS(width, bits)                                     \
    CO_KERNEL(split_direct_histograms_##width##_##bits, struct split_step) \
    {                                                                      \
        struct direct_shape shape = {DIRECT_ITEMS, 8, bits, 0};            \
        direct_histograms(args, width / 8, shape);                         \
    }
#define DIRECT_PLACE(name, ordered, items, bits, blocks)                          \
    CO_KERNEL_BOUND(split_direct_##name##_##bits, struct split_step, 256, blocks) \
    {                                                                             \
        struct direct_shape shape = {items, 8, bits, ordered};                    \
        CO_SHARED_DYNAMIC(co_u8, memory);                                         \
        direct_place(args, memory, shape);                                        \
    }
#define DIRECT_BITS(bits)                          \
    DIRECT_HISTOGRAMS(8, bits)                     \
    DIRECT_HISTOGRAMS(16, bits)                    \
    DIRECT_HISTOGRAMS(32, bits)                    \
    DIRECT_HISTOGRAMS(64, bits)                    \
    DIRECT_PLACE(direct, 0, DIRECT_ITEMS, bits, 3) \
    DIRECT_PLACE(warp, 1, DIRECT_ORDERED_ITEMS, bits, 2)

DIRECT_BITS(5)
DIRECT_BITS(8)
