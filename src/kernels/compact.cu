/* compact.cu: the entries that are to be kept, in order, in one pass; and, where wanted, the others.
 *
 * A block takes tile after tile. Its lanes read keys, 16 bytes a chunk, and decide. Bits counted, warps
 * summed up, each entry knows its place among the kept ones of the tile or among the others, and goes there
 * in shared memory; the first warp resolves how many are kept before the tile (look_back.h), a tile later
 * where there are keys alone. An entry's number among the rejected ones needs no look-back: it is its index
 * less the kept ones before it. Then each part is written side by side.
 *
 * Columns. `order` remembers which entry came to each place. As kept entries stay in order, what a warp reads
 * of a column by it lies side by side but for the gaps, so columns go from memory to memory without shared
 * memory; rejected entries the same.
 *
 * Segments. The kept entries before a segment's begin are those before the tile and those whose place in the
 * tile is less: a binary search in `order`. */
#include "look_back.h"
#include "shape/bits.h"
#include "shape/compact.h"

#ifdef COHORT_SIM
#    define COMPACT_CHUNKS         COMPACT_CHUNKS_SIM
#    define COMPACT_BLOCKS         COMPACT_BLOCKS_SIM
#    define COMPACT_BLOCKS_ORDERED COMPACT_BLOCKS_ORDERED_SIM
#else
#    define COMPACT_CHUNKS         COMPACT_CHUNKS_GPU
#    define COMPACT_BLOCKS         COMPACT_BLOCKS_GPU
#    define COMPACT_BLOCKS_ORDERED COMPACT_BLOCKS_ORDERED_GPU
#endif

/* Where a tile lies. Places are counted from `lead` before the array; in the tile from its begin. */
struct compact_tile {
    co_u64 index;   /* of its first entry */
    co_u32 skip;    /* places before that entry */
    co_u32 entries; /* that it has */
    int whole;      /* all places are entries */
    int first, last;
};

CO_INLINE struct compact_tile compact_tile_of(const struct compact_step *s, co_u32 tile, co_u32 places)
{
    struct compact_tile t;
    co_u64 begin = (co_u64)tile * places, end = s->lead + s->n;
    t.first = tile == 0;
    t.last = end - begin <= places;
    t.skip = t.first ? (co_u32)s->lead : 0;
    t.index = begin + t.skip - s->lead;
    t.entries = (t.last ? (co_u32)(end - begin) : places) - t.skip;
    t.whole = t.entries == places;
    return t;
}

/* What a lane knows of a tile that it has looked at. */
struct compact_part {
    co_u32 tile;        /* its number */
    co_u32 valid, bits; /* the lane's entries, and those of them that are kept */
    co_u64 lanes, all;  /* kept ones of the lanes before, and of all lanes of the warp: a byte a chunk */
    co_u32 warp, kept;  /* kept ones of the warps before, and of all warps */
};

CO_INLINE int split_has_table(const struct split_fn *f)
{
    return f->kind == SPLIT_TABLE8 || f->kind == SPLIT_TABLE16;
}

/* The number of a tile that nobody else has. By one lane. */
CO_INLINE co_u32 compact_ticket(const struct compact_step *s, co_u32 single)
{
    return s->tickets ? look_back_ticket(s->tickets) : single;
}

/* The warp's kept entries, for the block to see. */
CO_INLINE void compact_share(const struct compact_part *p, co_u32 *warps)
{
    const co_u64 even = 0x00ff00ff00ff00ffull;
    co_u64 pairs = (p->all & even) + (p->all >> 8 & even);
    if (co_lane() == 0)
        co_write32(warps + co_warp(), (co_u32)(pairs * 0x0001000100010001ull >> 48));
}

/* The block's; it is published. */
CO_INLINE void compact_publish(const struct compact_step *s, struct compact_part *p, const co_u32 *warps)
{
    p->warp = p->kept = 0;
    for (co_u32 w = 0; w < co_threads() / 32; w++) {
        co_u32 sum = co_read32(warps + w);
        p->warp += w < co_warp() ? sum : 0;
        p->kept += sum;
    }
    if (s->tickets && co_thread() == 0)
        look_back_publish(s->words, p->tile, p->tile, p->kept, 0, 0);
}

/* The first warp resolves how many are kept before the tile. */
CO_INLINE void compact_resolve(const struct compact_step *s, const struct compact_part *p, co_u64 *shared)
{
    if (co_warp())
        return;
    co_u64 before = s->tickets ? look_back_warp(s->words, p->tile, p->kept, 0, 0) : 0;
    if (co_lane() == 0) {
        co_write64(shared, before);
        if (s->total && p->tile + 1 == s->tiles)
            co_write64(s->total, before + p->kept);
    }
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Entries of column `in`, which begins with the tile, by the places [from, to) of `order`: some of a lane's
 * are on their way at once. */
#define COMPACT_EACH 4
#define COMPACT_GATHER(bits, type, zero)                                                              \
    CO_INLINE void compact_gather_##bits(const type *in, type *out, const co_u16 *order, co_u32 from, \
                                         co_u32 to)                                                   \
    {                                                                                                 \
        for (co_u32 p = from + co_thread(); p < to; p += COMPACT_EACH * co_threads()) {               \
            type v[COMPACT_EACH];                                                                     \
            CO_EACH_ITEM (k, COMPACT_EACH) {                                                          \
                v[k] = zero;                                                                          \
                if (p + k * co_threads() < to)                                                        \
                    v[k] = co_read##bits(in + co_read16(order + p + k * co_threads()));               \
            }                                                                                         \
            CO_EACH_ITEM (k, COMPACT_EACH) {                                                          \
                if (p + k * co_threads() < to)                                                        \
                    co_write##bits(out + (p + k * co_threads() - from), v[k]);                        \
            }                                                                                         \
        }                                                                                             \
    }
COMPACT_GATHER(8, co_u8, 0)
COMPACT_GATHER(16, co_u16, 0)
COMPACT_GATHER(32, co_u32, 0)
COMPACT_GATHER(64, co_u64, 0)
COMPACT_GATHER(128, co_u128, co_make128(0, 0))

CO_INLINE void compact_gather(const void *in, void *out, co_u32 bytes, const co_u16 *order, co_u32 from,
                              co_u32 to)
{
    switch (bytes) {
    case 1:
        compact_gather_8((const co_u8 *)in, (co_u8 *)out, order, from, to);
        break;
    case 2:
        compact_gather_16((const co_u16 *)in, (co_u16 *)out, order, from, to);
        break;
    case 4:
        compact_gather_32((const co_u32 *)in, (co_u32 *)out, order, from, to);
        break;
    case 8:
        compact_gather_64((const co_u64 *)in, (co_u64 *)out, order, from, to);
        break;
    default:
        compact_gather_128((const co_u128 *)in, (co_u128 *)out, order, from, to);
    }
}

/* The indices of entries, of which that at the tile's begin is `first`. */
CO_INLINE void compact_indices(co_u64 first, co_u64 *out, const co_u16 *order, co_u32 n)
{
    for (co_u32 p = co_thread(); p < n; p += co_threads())
        co_write64(out + p, first + co_read16(order + p));
}

CO_INLINE void compact_column(const struct compact_step *s, const struct compact_tile *t, co_u32 kept,
                              co_u64 before, co_u32 c, const co_u16 *order)
{
    const struct batch_column *column = &s->column[c];
    if (!column->in) {
        compact_indices(t->index - t->skip, (co_u64 *)column->out + before, order, kept);
        return;
    }
    const char *in = (const char *)column->in + (t->index - t->skip) * column->bytes;
    char *out = (char *)column->out, *rejected = (char *)s->column_rejected[c];
    if (out)
        compact_gather(in, out + before * column->bytes, column->bytes, order, 0, kept);
    if (rejected)
        compact_gather(in, rejected + (t->index - before) * column->bytes, column->bytes, order, kept,
                       t->entries);
}

/* ---- segments ------------------------------------------------------------------------------------------ */

/* How many of n rising numbers are less than v. */
CO_INLINE co_u64 compact_less64(const co_u64 *a, co_u64 n, co_u64 v)
{
    co_u64 low = 0;
    while (n) {
        co_u64 half = n / 2;
        if (co_read64(a + low + half) < v) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

CO_INLINE co_u32 compact_less16(const co_u16 *a, co_u32 n, co_u32 v)
{
    co_u32 low = 0;
    while (n) {
        co_u32 half = n / 2;
        if (co_read16(a + low + half) < v) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

/* Where the kept entries begin of those segments that begin in the tile; of the last tile, or at its end. */
CO_INLINE void compact_segments(const struct compact_step *s, const struct compact_tile *t, co_u32 kept,
                                co_u64 before, const co_u16 *order)
{
    const co_u64 *offsets = s->segment_offsets;
    co_u64 many = s->segments + 1, begin = t->first ? 0 : compact_less64(offsets, many, t->index);
    co_u64 end = t->last ? many : compact_less64(offsets, many, t->index + t->entries);
    for (co_u64 g = begin + co_thread(); g < end; g += co_threads()) {
        co_u32 place = (co_u32)(co_read64(offsets + g) - t->index) + t->skip;
        co_write64(s->segment_kept + g, before + compact_less16(order, kept, place));
    }
}

/* What is left to write of a tile that has `kept` kept entries, and `before` before it. */
CO_INLINE void compact_rest(const struct compact_step *s, const struct compact_tile *t, co_u32 kept,
                            co_u64 before, const co_u16 *order)
{
    for (co_u32 c = 0; c < s->columns; c++)
        compact_column(s, t, kept, before, c, order);
    if (s->segment_kept)
        compact_segments(s, t, kept, before, order);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

CO_KERNEL(compact_lengths, struct compact_lengths)
{
    const co_u64 total = co_read64(args->total), step = (co_u64)co_blocks() * co_threads();
    for (co_u64 i = (co_u64)co_block() * co_threads() + co_thread(); i < total; i += step)
        co_write64(args->lengths + i, compact_length(args, total, i));
}

#define WIDE 0
#include "compact_width.h"
#define WIDE 1
#include "compact_width.h"
