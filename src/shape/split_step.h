/* shape/split_step.h: what one launch of a multisplit hands to its kernels, and how a block's shared memory
 * is laid out. Plain C, seen by the CUDA backend and by the kernels. The ways of a split are told in
 * shape/split_instances.h. */
#ifndef COHORT_SHAPE_SPLIT_STEP_H
#define COHORT_SHAPE_SPLIT_STEP_H

#include "shape/map.h"
#include "shape/multisplit.h"
#include "shape/split_instances.h"

#define SPLIT_TILE_BITS     11u
#define SPLIT_TILE_BUCKETS  (1u << SPLIT_TILE_BITS) /* that one split can do */
#define SPLIT_WORD_BITS     8u /* of a bucket's number, up to which a warp's counter of a bucket is a word */
#define SPLIT_TILES_MOST    8u /* of a span */
#define SPLIT_COUNT_AT_ONCE 4  /* pieces of 16 bytes that a lane of the count has under way */

struct split_number {
    co_u64 low, high, keep;
    struct split_reciprocal
        by; /* of RANGED `more` takes low away too, modulo 2^64, and `after` has the shift in it */
    co_u32 divisor, from, field, ids;
    co_u32 shift, mask;
    const co_u32 *splitters;
    co_u32 step; /* the greatest power of two up to their number, or 0 */
};

#define SPLIT_HALVES_THREADS 1024 /* of a block that counts in halves of words, at most */

/* A column, or one half of a column of 16 bytes an entry. */
struct split_part {
    const void *in; /* NULL: the entries' numbers */
    void *out;      /* NULL: it is not written */
    co_u32 bytes;   /* 1, 2, 4, 8 */
    co_u32 stride;  /* of 8: bytes from one entry to the next, 8 or 16 */
};

#define SPLIT_PARTS_MOST (2 * BATCH_COLUMNS_MOST + 4)

/* Digits of ids, the lowest first. */
#define SPLIT_DIGIT_BITS     8u
#define SPLIT_DIGIT_BINS     (1u << SPLIT_DIGIT_BITS)
#define SPLIT_DIGITS_MOST    3u
#define SPLIT_DIGITS_BUCKETS (1u << SPLIT_DIGITS_MOST * SPLIT_DIGIT_BITS) /* that splits by digits can do */
#define SPLIT_WHOLE_BUCKETS  2048u /* up to which whole ids are counted, and not their digits */

struct split_digits {
    co_u32 many;
    co_u32 shift[SPLIT_DIGITS_MOST], mask[SPLIT_DIGITS_MOST];
};

#define SPLIT_RUN ((co_u64)1 << 32) /* a run, where runs and their entries are summed up in one word */

/* Run b * tiles + t is what tile t has of bucket b. There are fewer than 2^32 entries. */
struct split_runs {
    co_u64 *
        /* [run]: how long it is, and SPLIT_RUN if it is not empty. Summed up: where it would begin if all lay
         * one after the other, and SPLIT_RUN times those before it that are not empty. And one more */
        sums;
    co_u32 *left; /* [run]: where it is */
    co_u32
        *begins; /* [run on the list]: of those that are not empty, where it would begin. And one more, n */
    co_u32 *at;  /* [run on the list]: where it is */
    co_u32 *
        /* [tile of the second split]: the run on the list that it begins in; and one more, that the last one
         * ends in */
        first;
    co_u64 *next;               /* [number of the high digit] entries. Cleared */
    co_u64 *bases;              /* the same summed up: where the second split's buckets begin. And one more */
    co_u64 runs;                /* how many */
    co_u32 tiles;               /* of the first split */
    co_u32 size;                /* of a tile of the second */
    co_u32 buckets;             /* of the second */
    struct split_number number; /* how the first finds numbers of the second */
};

struct split_runs_step {
    co_u64 n;
    struct split_runs runs;
};

struct split_step {
    co_u64 n;
    const co_u64 *
        /* where n is, if only the device knows; `n` is then the most that it can be. NULL: n is known */
        n_at;
    struct split_fn fn;
    struct split_reciprocal by; /* of the divisor, for 4-byte keys */
    co_u32 shift, mask; /* the number of a bucket: id >> shift & mask, where that is not the id itself */
    co_u32 buckets;     /* how many there are */
    co_u32 can_fail;
    struct split_number number;
    co_u64 last_key; /* one whose number none is above */
    co_u32 way;
    co_u32 parts;
    struct split_part
        part[SPLIT_PARTS_MOST]; /* the first is what numbers come from: keys, or ids already computed */
    co_u64 spans, span;         /* how many, and entries of each; a multiple of the tile */
    co_u32 tiles;               /* of a span */
    co_u64 *table; /* [bucket][span], of ways without spans [bucket]; and one more for the sum of all */
    co_u64 *
        /* BY_LOOK_BACK: [tile][bucket] words of look_back.h, of 32 bits if TWO_PHASE; BY_RESERVING: [bucket]
         * places taken. Cleared; IN_TILES clears those of the split that follows */
        before;
    co_u32 *
        /* BY_SPANS: [tile][word of counters] entries, and SPLIT_PUBLISHED; cleared by the count. TOGETHER:
         * [span][bucket] entries, and the serial; those of no launch before are the same */
        published;
    co_u32 published_words; /* BY_SPANS: of a tile */
    co_u32 serial;          /* TOGETHER: of the launch, from 1 on, below SPLIT_SERIALS */
    co_u32 rows;            /* TOGETHER, by spans: of a warp, in a tile */
    co_u32 *tickets;        /* BY_LOOK_BACK, cleared */
    co_u32 *
        /* of a count whose last block sums the table up: blocks that are through, cleared. NULL: none does */
        done;
    co_u64 *first_bad; /* ~0, or the least index of an entry with a bad id */
    void *ids_out;     /* of a count: ids for the launches after it; NULL: none are kept */
    co_u32 ids_bytes;
    struct split_digits digits; /* of a count by digits: table is [digit][SPLIT_DIGIT_BINS] */
    struct split_runs runs;     /* IN_TILES, and of the split that follows */
    co_u64 *offsets;
    struct batch_counts *counts;
    struct batch_deferred *deferred;
};

/* Ids of entries in segments: segment * m + the function's id; all ones where that id is bad. */
struct split_segments_step {
    co_u64 n, segments;
    const co_u64 *offsets; /* segments + 1 */
    struct split_fn fn;
    const void *keys;
    co_u32 *ids; /* out */
};

/* rank[permutation[j]] = j for the first *written places, or for all n. */
struct split_rank_step {
    co_u64 n;
    const co_u64 *written; /* NULL: n */
    const void *permutation;
    void *rank;
    co_u32 permutation_bytes, rank_bytes;
};

/* From counts to where each digit's entries begin. */
struct split_bases_step {
    struct split_digits digits;
    co_u32 whole, reserved;           /* ids, if those were counted, else 0: digits were */
    const co_u64 *bins;               /* [id], or [digit][SPLIT_DIGIT_BINS] */
    co_u64 *sums;                     /* of the bins before, and one more of all; of ids these are offsets */
    co_u64 *bases[SPLIT_DIGITS_MOST]; /* [bucket of the digit], and one more */
    co_u32 buckets[SPLIT_DIGITS_MOST];
};

CO_INLINE co_u64 split_entries(const struct split_step *s)
{
    return s->n_at ? co_read64(s->n_at) : s->n;
}

/* Columns of the table. */
CO_INLINE co_u64 split_columns_of(const struct split_step *s)
{
    return s->way == SPLIT_BY_SPANS || s->way == SPLIT_IN_TILES ? s->spans : 1;
}

/* Lanes that search one bucket's offset: where buckets are few there are lanes enough. */
CO_INLINE co_u32 split_search_lanes(co_u32 buckets)
{
    return buckets <= 4096 ? 32 : 1;
}

/* Do blocks take tile by tile, in the order of the input? */
CO_INLINE int split_is_ticketed(const struct split_step *s)
{
    return s->way == SPLIT_BY_LOOK_BACK || (s->way == SPLIT_BY_SPANS && s->tiles > 1);
}

/* A warp's counters of up to 256 buckets are words; of more, halves of words. */
CO_INLINE co_u32 split_words_of(co_u32 buckets, co_u32 bits)
{
    return bits > SPLIT_WORD_BITS ? (buckets + 1) / 2 : buckets;
}

/* What a tile publishes of a word of counters: their sum, in which no bit is in the way, since tiles have
 * fewer than 2^15 entries. */
#define SPLIT_PUBLISHED 0x80000000u

/* TOGETHER: how many entries of a bucket a span has, in the low bits, and from there on the launch's
 * serial. */
#define SPLIT_SERIAL_SHIFT 20u
#define SPLIT_SERIALS      (1u << (32 - SPLIT_SERIAL_SHIFT))

/* The parts of a block's shared memory, in bytes from its beginning, where a tile's entries of one column are
 * staged. */
struct split_layout {
    co_u32 counters, begins, groups, ticket, starts,
        end;       /* of one that leaves runs, counters of the next number follow; TWO_PHASE, places */
    co_u32 stride; /* words of a warp's counters */
};

/* FETCHED: bytes that pads of runs (kernels/runs_write.h) take behind the entries of a stage, a multiple of
 * 128. */
CO_INLINE co_u32 split_pads(co_u32 bits)
{
    return ((1u << bits) + (1u << bits) / 16 + 31) / 32 * 128;
}

/* pads: bytes behind the stage. */
CO_INLINE struct split_layout split_layout(co_u32 bits, co_u32 items, co_u32 threads, co_u32 widest,
                                           co_u32 pads)
{
    struct split_layout l;
    l.stride = bits > SPLIT_WORD_BITS ? 1u << (bits - 1) : 1u << bits;
    l.counters = items * threads * widest + pads;
    l.begins = l.counters + threads / 32 * l.stride * 4;
    l.groups = l.begins + l.stride * 4;
    l.ticket = l.groups + 32 * 4;
    l.starts = l.ticket + 8;
    l.end = l.starts + (8u << bits);
    return l;
}

/* TWO_PHASE: words of a lane for the places of its entries, which follow. */
CO_INLINE co_u32 split_place_words(co_u32 items)
{
    return (items + 1) / 2;
}

/* TOGETHER, by spans: the rows of a tile are a multiple of so many. */
#ifdef COHORT_SIM
#    define SPLIT_ROWS_STEP 2u
#else
#    define SPLIT_ROWS_STEP 4u
#endif

/* TOGETHER, by spans: behind a tile's layout words of 16 bytes of runs, one for each number that the bits can
 * tell; then, of pairs, places. */
CO_INLINE co_u32 split_span_runs(co_u32 bits, co_u32 items, co_u32 threads)
{
    return (split_layout(bits, items, threads, 4, 0).end + 15) / 16 * 16;
}

CO_INLINE co_u32 split_span_places(co_u32 bits, co_u32 items, co_u32 threads)
{
    return split_span_runs(bits, items, threads) + (16u << bits);
}

CO_INLINE co_u32 split_span_end(co_u32 bits, co_u32 items, co_u32 threads, int pairs)
{
    return split_span_places(bits, items, threads) + (pairs ? split_place_words(items) * threads * 4 : 0);
}

/* FETCHED: where words of 16 bytes of runs are, in place of starts; then the second column's entries, or
 * where those of one alone come to; and behind them what says that a column has come, three words: of keys,
 * payload, and numbers that were left behind. */
CO_INLINE co_u32 split_runs_begin(struct split_layout l)
{
    return (l.starts + 15) / 16 * 16;
}

CO_INLINE co_u32 split_second(struct split_layout l)
{
    return (split_runs_begin(l) + 2 * (l.end - l.starts) + 127) / 128 * 128;
}

CO_INLINE co_u32 split_fetched_end(co_u32 bits, co_u32 items, co_u32 threads)
{
    co_u32 pads = split_pads(bits);
    return split_second(split_layout(bits, items, threads, 4, pads)) + items * threads * 4 + pads + 24;
}

#endif
