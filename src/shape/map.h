/* shape/map.h: the map's sizes, and what one batch hands to the code that does it. Plain C, seen by the
 * API, by both backends and by the kernels.
 *
 * Shape. A table is `pages` pages of (mask + 1) buckets of 32 bytes, then the two side slots, then padding to
 * 128 bytes, then the counters, then, where there is a filter (device/map_far.h), its words. Tables of one
 * page and more are made of whole pages of 64 KiB; smaller ones are a single page of a power of two of
 * buckets, 8 at least. */
#ifndef COHORT_SHAPE_MAP_H
#define COHORT_SHAPE_MAP_H

#include "cohort/device/map.h"
#include "shape/batch.h"

#define MAP_BUCKET_BYTES 32ull
#define MAP_PAGE_BYTES   65536ull
#define MAP_BUILD_BYTES  76800ull /* of shared memory, to build a page in */
#define MAP_LEAST_MASK   7u       /* buckets - 1 of the smallest table */
#define MAP_REACH        8u       /* pages in which a key may lie */
#define MAP_EXPORT_BYTES 64u      /* of slots that a lane looks at at once, when all pairs are taken out */
#define MAP_SIDE_SLOTS   2u
#define MAP_SAMPLE       4096u  /* entries of a batch by which it is judged, */
#define MAP_SAMPLE_WORDS 8192u  /* words of shared memory for their keys, a power of two, */
#define MAP_SAMPLE_STEPS 65536u /* and steps of a part of the batch at which its entry may be */

/* The ledger of a batch that adds to pairs of 16 bytes: entries of two words, a slot + 1 and what is to be
 * added to it. */
#define MAP_LEDGER_REACH 4u /* entries that one slot may have */

#define MAP_HOT_MOST 512u /* keys that a block has in its table of keys that come again and again, at most */

/* How the winner rule ranks entries; a winner word holds the old bit and the greatest rank so far, from 1. */
enum { MAP_RANK_NONE = 0, MAP_RANK_FIRST = 1, MAP_RANK_LAST = 2 };
#define MAP_WINNER_OLD   0x80000000u   /* the slot was taken before the batch */
#define MAP_WINNER_BATCH 0x7fffffffull /* entries that can be ranked in one go */

/* An insert keeps what came before it, an assign replaces it: so who does entries one after the other,
 * from the first on or, where this is 1, from the last on, lets the right one decide. */
static inline int map_goes_backward(co_u32 rank, co_u32 op)
{
    return rank == (op == CO_OP_INSERT ? MAP_RANK_LAST : MAP_RANK_FIRST);
}

/* The steps that a batch can be. CLAIM, RANK and SETTLE are the passes of insert and assign under a winner
 * rule, and GET brings the results, where a backend keeps no order. */
enum map_step {
    MAP_STEP_APPLY = 0,
    MAP_STEP_RUN = 1,
    MAP_STEP_CLAIM = 2,
    MAP_STEP_SETTLE = 3,
    MAP_STEP_GET = 4,
    MAP_STEP_RANK = 5,
    MAP_STEP_RELAXED = 6 /* of a kernel alone: FIND by relaxed loads */
};

/* What the passes of the winner rule tell each other of a batch's entries, besides the slots' words. */
struct map_claims {
    co_u64 *contested; /* 0 at first; 1: some slot's word has been raised */
    co_u32 *first;     /* a bit an entry that is ranked: it put its key in, and wins as far as is known */
    co_u32 *full;      /* there is no slot for it */
};

/* One batch, or a part of one that starts at entry `first_index` of the caller's. Bitmaps are whole words
 * from entry 0. */
struct map_batch {
    cohort_map_view view;
    co_u64 n;
    co_u64 first_index; /* added to the indices that are reported; a multiple of 32 */
    co_u32 step;        /* an enum map_step */
    co_u32 op;          /* of APPLY, CLAIM, SETTLE; GET is FIND with results for all that failed not */
    co_u32 rank;        /* MAP_RANK_... */
    co_u32 group;       /* lanes a key; 0 or 1: one */
    co_u32 join;        /* 1: a second try: hits are added to the bitmap, not set */
    co_u32 has_fallback;
    co_u64 fallback;    /* what FIND writes for absent keys */
    co_u64 rank_before; /* entries of the same ranked batch before this part, */
    co_u64 rank_after;  /* and after it */
    const void *keys;
    const void *values; /* operands; NULL: 0 */
    void *results;      /* FIND and GET: values; RUN: values before; INSERT: values after; NULL: none, as of
                           all others */
    const co_u8 *ops;   /* of RUN */
    const co_u32 *where;
    co_u32 *hit;
    co_u32 *failed;
    co_u32 *winners;          /* a word a slot, side slots included */
    struct map_claims claims; /* of CLAIM, RANK and SETTLE on a GPU */
    co_u64 *ledger;           /* of ADD and COUNT; zeros at first; NULL: none */
    co_u64 ledger_mask;       /* its entries - 1 */
    co_u32 hot;     /* of ASSIGN and ADD to COUNT: places of a block's table of hot keys, a power of two from
                                      2 on, or 0 */
    co_u32 crowded; /* of FIND: walks may be long, as far as is known */
    const co_u64 *gate;              /* not NULL: nothing is done if it points to 0 */
    struct batch_counts *counts;     /* added to; may be NULL */
    struct batch_deferred *deferred; /* never NULL */
};

/* A walk over a table's slots: export, absorption into another table, statistics, marking of winners. */
struct map_sweep {
    cohort_map_view view;
    co_u64 slots;         /* of `view`, side slots included */
    cohort_map_view into; /* ABSORB: where the pairs go */
    co_u32 op;            /* ABSORB: by which operation */
    co_u32 reserved;
    void *keys; /* EXPORT; values may be NULL */
    void *values;
    co_u64 *cursor;                  /* EXPORT: pairs written so far; starts at 0 */
    co_u32 *winners;                 /* MARK */
    struct map_probes *probes;       /* STATS */
    struct batch_deferred *deferred; /* ABSORB */
    co_u32 fresh;                    /* ABSORB: `into` is empty, with the seed and the probing of `view` */
    co_u32 reserved2;
    const co_u64 *gate; /* not NULL: nothing is done if it points to 0 */
};

enum map_sweep_kind { MAP_SWEEP_EXPORT = 0, MAP_SWEEP_ABSORB = 1, MAP_SWEEP_STATS = 2, MAP_SWEEP_MARK = 3 };

/* By which way a large batch goes, as a sample of it tells (kernels/map_sample.h). */
struct map_sample {
    cohort_map_view view;
    const void *keys;
    co_u64 n;
    co_u32 looks;   /* 1: of FIND, 0: of INSERT or ASSIGN */
    co_u32 fresh;   /* 1: the table is known to be empty */
    co_u32 repeats; /* entries whose key came before it, from which on none goes by pages */
    co_u32 dear,
        found; /* of FIND, what a key and one that is found costs by pages, in eighths of a bucket's read */
    co_u32 reserved;
    co_u64 *share; /* written: n, or 0 if no entry goes by pages */
    co_u64 *gate;  /* written: 1 then */
};

/* Building pages in a block's shared memory, each written out whole (kernels/map_build.cu). BUILD: from
 * pairs in order of their page; SPLIT: from a table of other size. What finds no place in its page, and
 * what lies outside its page in the old table, is left out and `gate` is set to 1: the ordinary kernels
 * then go over everything again. */
struct map_build {
    cohort_map_view view;
    cohort_map_view from; /* SPLIT: the old table */
    co_u32 replace;       /* BUILD: 1: assign, 0: insert */
    co_u32 fresh;         /* 1: the pages are known to be empty, and are not read */
    co_u32
        most; /* BUILD: entries of one page that are taken at most, lest one page keep the others waiting */
    co_u32 reserved;
    const void *keys;
    const void *values;
    const co_u64 *offsets; /* BUILD: pages + 1: where each page's pairs begin */
    co_u64 n;
    co_u64 *gate;                /* never NULL */
    struct batch_counts *counts; /* of the build: `added` is added to. Never NULL for BUILD */
    struct batch_counts *into;   /* CONCLUDE: the batch's; may be NULL */
};

/* Finding keys page by page in a block's shared memory (kernels/map_seek.cu). */
struct map_seek {
    struct map_batch batch; /* as it was given */
    const void *keys;       /* in order of their page, */
    const void *indices;    /* and where each is in the batch: 4 bytes or 8 */
    co_u32 index_bytes;
    co_u32 reserved;
    co_u64 most;           /* keys of one page: if there are more in one, the batch goes one by one */
    const co_u64 *offsets; /* pages + 1: where each page's keys begin */
    co_u64 *gate;          /* 1: no more is done by pages */
};

/* A large batch that folds operands into the values of keys that come again and again
 * (kernels/map_sums.cu). */
struct map_sums {
    struct map_batch batch;      /* as it was given, with its ledger */
    const void *keys, *values;   /* of the batch in order of their parts, if there are parts */
    const co_u64 *offsets;       /* parts + 1: where each part's entries begin */
    co_u64 chunk;                /* entries in a row that a block takes */
    co_u32 parts;                /* 0: none */
    co_u32 places;               /* of a block's table */
    co_u32 sample;               /* entries of the sample, and */
    co_u32 singles;              /* how many keys come once in it, at most, if they are few */
    co_u64 *share;               /* how many entries go by parts: all or none. Written by the sample, */
    co_u64 *alone;               /* as is a gate: 1 if entries go one by one */
    co_u64 *full;                /* a gate: 1 if some key found no slot */
    struct batch_counts *counts; /* of this batch: added, failed and first_failed are added to */
};

#define MAP_PROBE_BINS 32
struct map_probes {
    co_u64 keys, buckets, most_buckets, slots, most_slots;
    co_u64 histogram[MAP_PROBE_BINS];
};

/* ---- sizes, by width (a cohort_width) ------------------------------------------------------------------ */

CO_INLINE co_u32 map_key_bytes(co_u32 width)
{
    return width <= 2 ? 4u : width <= 5 ? 8u : 16u;
}
CO_INLINE co_u32 map_value_bytes(co_u32 width)
{
    return width == 1 || width == 3 ? 0u : width >= 5 ? 8u : 4u;
}
CO_INLINE co_u32 map_slot_bytes(co_u32 width)
{
    return width == 1 ? 4u : width <= 3 ? 8u : 16u;
}

CO_INLINE co_u64 map_slots(const cohort_map_view *m)
{
    return co_map_buckets(m) * (MAP_BUCKET_BYTES / map_slot_bytes(m->width));
}

CO_INLINE co_u64 map_counters_offset(const cohort_map_view *m)
{
    co_u64 end = co_map_buckets(m) * MAP_BUCKET_BYTES + MAP_SIDE_SLOTS * map_slot_bytes(m->width);
    return (end + 127) & ~127ull;
}

CO_INLINE co_u64 map_filter_offset(const cohort_map_view *m)
{
    return map_counters_offset(m) + co_map_spread(m) * sizeof(struct co_map_counters);
}

/* All of a table's memory: slots, side slots, counters, filter. */
CO_INLINE co_u64 map_table_bytes(const cohort_map_view *m)
{
    return map_filter_offset(m) +
           (m->far ? (co_u64)m->pages * co_map_far_words(m->mask) * sizeof(co_u64) : 0);
}

/* A block's table of sums: the keys, then, from here on, the operands; and all of it. One place more than
 * `places`. */
CO_INLINE co_u32 map_sums_values_at(co_u32 places, co_u32 key_bytes)
{
    return ((places + 1) * key_bytes + 15) & ~15u;
}
CO_INLINE co_u32 map_sums_bytes(co_u32 places, co_u32 width)
{
    return map_sums_values_at(places, map_key_bytes(width)) + (places + 1) * map_value_bytes(width);
}

/* The slots of the largest table: pages are numbered by 32 bits. */
CO_INLINE co_u64 map_slots_most(co_u32 width)
{
    return MAP_PAGE_BYTES / map_slot_bytes(width) * 0xffffffffull;
}

/* Sets pages, mask and reach for at least `slots` slots. 0 if no table can have that many. */
CO_INLINE int map_shape(cohort_map_view *m, co_u64 slots)
{
    co_u64 slot = map_slot_bytes(m->width), page = MAP_PAGE_BYTES / slot;
    if (slots > map_slots_most(m->width))
        return 0;
    m->pages = slots > page ? (co_u32)((slots + page - 1) / page) : 1;
    m->mask = m->pages > 1 ? (co_u32)(MAP_PAGE_BYTES / MAP_BUCKET_BYTES) - 1 : MAP_LEAST_MASK;
    while (m->pages == 1 && (m->mask + 1) * (MAP_BUCKET_BYTES / slot) < slots)
        m->mask = m->mask * 2 + 1;
    m->reach = m->pages < MAP_REACH ? m->pages : MAP_REACH;
    return 1;
}

#endif
