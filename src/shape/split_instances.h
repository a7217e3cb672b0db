/* shape/split_instances.h: the kernels of a multisplit that put tiles in order, as they are compiled: four
 * axes, sizes, and one list of them, for GPUs and for the simulated one. The kernels (multisplit.cu,
 * split_once.cu) and the tuning (cuda/split_tuning.c) read it, and nobody writes an instance down a second
 * time. docs/multisplit-ways.md tells what each way is for, when it is taken and what it costs. Plain C. */
#ifndef COHORT_SHAPE_SPLIT_INSTANCES_H
#define COHORT_SHAPE_SPLIT_INSTANCES_H

/* Where a tile's entries of a bucket go. A block puts tiles in order, as many entries as it has shared memory
 * for.
 *
 *   BY_SPANS      a span is up to SPLIT_TILES_MOST tiles side by side. A first launch counts each span by
 *                 bucket; the counts, bucket by bucket and in each bucket span by span, are summed up in
 *                 place; then table[bucket][span] is where the span's entries of the bucket go. A tile
 *                 publishes its counts, and adds up what the tiles before it in its span have published: a
 *                 sum of few words, which waits for no other sum. Of spans of one tile nothing is published
 *   BY_LOOK_BACK  the table has one number a bucket, where its entries begin; a tile resolves how many there
 *                 were in all tiles before it by look-back (kernels/look_back.h)
 *   BY_RESERVING  the same table; a tile takes the next free places
 *   IN_TILES      half of two splits, by the low and by the high digit of the id, that read the keys twice
 *                 and not three times. It leaves each tile where it is, in order of the low digit, and says
 *                 where in it each bucket's run begins and how long it is; it counts the high digits. All
 *                 runs of one bucket after the other, tile by tile, are what a split would have written: the
 *                 second one, by look-back, gathers its tiles from them (struct split_runs). Of sorted keys
 *                 nearly all runs are empty: only the others are listed for it
 *   ALONE         there is one tile, so its own counts are all there are: one launch, no table
 *   TOGETHER      there are no more tiles than blocks that run at a time: each publishes its counts, and adds
 *                 up those of all (kernels/split_together.h). One launch, no table
 *   SPANS_TOGETHER  the same of spans of some tiles (kernels/split_spans.h) */
enum split_way {
    SPLIT_BY_SPANS,
    SPLIT_BY_LOOK_BACK,
    SPLIT_BY_RESERVING,
    SPLIT_BY_TABLE, /* of an instance: one of the three above, as its step says */
    SPLIT_IN_TILES,
    SPLIT_ALONE,
    SPLIT_TOGETHER,
    SPLIT_SPANS_TOGETHER
};

/* What goes through a tile. */
enum split_payload {
    SPLIT_KEYS,      /* keys of 4 bytes alone */
    SPLIT_PAIRS,     /* they and one column of 4 */
    SPLIT_COLUMNS_4, /* any columns of up to 4 bytes, one after the other */
    SPLIT_COLUMNS_8  /* and of up to 8, and keys of 8 */
};

/* How it gets there. */
enum split_loading {
    SPLIT_LOADED, /* into registers, row by row; pairs packed, as words of 8 bytes */
    /* pairs in two phases: keys are scattered, then the payload by the same places (kernels/split_pairs.h) */
    SPLIT_TWO_PHASE,
    SPLIT_FETCHED, /* by the copy engine, to blocks that go on from tile to tile (kernels/split_fetched.h) */
    SPLIT_GATHERED /* from the runs that a split IN_TILES has left; pairs packed (kernels/split_gather.h) */
};

/* How the place kernel finds the number of an entry's bucket, without a branch. With number = id >> shift &
 * mask throughout:
 *   FIELD     id = entry, a bit field of the key or an id, all of which are good
 *   LOOSE     id = entry >> from & field, with ids from `ids` on bad
 *   RANGED    id = clamp(key, low, high) - low over a divisor, of 4-byte keys: ranges
 *   REMAINDER id = key less its quotient's multiple of the divisor, of 4-byte keys
 *   TEST      id = (key & keep) - low <= high
 *   PAGED     id = the page of a key in a table of `high` pages with the seed `low`, of 4-byte keys with a
 *             column of 4 bytes that are fetched
 *   SEARCHED  id = how many of `ids` splitters are <= key, of 4-byte keys; only of splits in one launch, up
 *             to 64 buckets
 * All other functions leave ids behind when entries are counted:
 *   LEFT      id = such a byte, of what is fetched; elsewhere ids are a column, and the number a FIELD of
 *             it */
enum split_form {
    SPLIT_FIELD,
    SPLIT_LOOSE,
    SPLIT_RANGED,
    SPLIT_REMAINDER,
    SPLIT_TEST,
    SPLIT_SEARCHED,
    SPLIT_LEFT,
    SPLIT_PAGED
};

/* ---- the words of the list ----------------------------------------------------------------------------- */

#define SPLIT_WAY_table         SPLIT_BY_TABLE
#define SPLIT_WAY_tiles         SPLIT_IN_TILES
#define SPLIT_WAY_alone         SPLIT_ALONE
#define SPLIT_WAY_together      SPLIT_TOGETHER
#define SPLIT_WAY_spans         SPLIT_SPANS_TOGETHER
#define SPLIT_PAYLOAD_keys      SPLIT_KEYS
#define SPLIT_PAYLOAD_pairs     SPLIT_PAIRS
#define SPLIT_PAYLOAD_columns_4 SPLIT_COLUMNS_4
#define SPLIT_PAYLOAD_columns_8 SPLIT_COLUMNS_8
#define SPLIT_LOADING_loaded    SPLIT_LOADED
#define SPLIT_LOADING_two_phase SPLIT_TWO_PHASE
#define SPLIT_LOADING_fetched   SPLIT_FETCHED
#define SPLIT_LOADING_gathered  SPLIT_GATHERED
#define SPLIT_FORM_field        SPLIT_FIELD
#define SPLIT_FORM_loose        SPLIT_LOOSE
#define SPLIT_FORM_ranged       SPLIT_RANGED
#define SPLIT_FORM_remainder    SPLIT_REMAINDER
#define SPLIT_FORM_test         SPLIT_TEST
#define SPLIT_FORM_searched     SPLIT_SEARCHED
#define SPLIT_FORM_left         SPLIT_LEFT
#define SPLIT_FORM_paged        SPLIT_PAGED

/* Sets of forms: F(form, what else is given) for each. `number` are those that tell a number from any 4-byte
 * key. */
#define SPLIT_FORMS_field(F, ...) F(field, __VA_ARGS__)
#define SPLIT_FORMS_field_test(F, ...) \
    F(field, __VA_ARGS__)              \
    F(test, __VA_ARGS__)
#define SPLIT_FORMS_loose(F, ...) \
    F(field, __VA_ARGS__)         \
    F(loose, __VA_ARGS__)
#define SPLIT_FORMS_loose_test(F, ...) SPLIT_FORMS_loose(F, __VA_ARGS__) F(test, __VA_ARGS__)
#define SPLIT_FORMS_number(F, ...) \
    F(field, __VA_ARGS__)          \
    F(ranged, __VA_ARGS__)         \
    F(remainder, __VA_ARGS__)
#define SPLIT_FORMS_number_test(F, ...)     SPLIT_FORMS_number(F, __VA_ARGS__) F(test, __VA_ARGS__)
#define SPLIT_FORMS_number_searched(F, ...) SPLIT_FORMS_number_test(F, __VA_ARGS__) F(searched, __VA_ARGS__)
#define SPLIT_FORMS_number_left(F, ...)     SPLIT_FORMS_number(F, __VA_ARGS__) F(left, __VA_ARGS__)
#define SPLIT_FORMS_number_paged(F, ...) \
    SPLIT_FORMS_number_test(F, __VA_ARGS__) F(left, __VA_ARGS__) F(paged, __VA_ARGS__)

/* ---- the list ------------------------------------------------------------------------------------------ */

/* X(way, payload, loading, bits of a bucket's number, items a lane, threads of a block, blocks a
 * multiprocessor for which registers are left, forms, architecture from which on it is taken). An instance's
 * kernels are called FILE_way_payload_loading_bits_ITEMSxTHREADS_form.
 *
 * No block's shared memory is above 99 KiB, the most that some GPUs give, but of those that are fetched and
 * of spans. */
#define SPLIT_TABLE_GPU(X)                                      \
    X(table, keys, loaded, 2, 32, 384, 3, number_test, 80)      \
    X(table, keys, loaded, 6, 32, 384, 3, number, 80)           \
    X(tiles, keys, loaded, 6, 32, 384, 3, number, 80)           \
    X(table, keys, gathered, 6, 32, 384, 3, number, 80)         \
    X(table, keys, loaded, 8, 32, 384, 3, number, 80)           \
    X(table, keys, loaded, 11, 28, 256, 2, field, 80)           \
    X(table, pairs, loaded, 6, 16, 384, 3, number_test, 80)     \
    X(table, pairs, loaded, 6, 20, 512, 2, number, 80)          \
    X(tiles, pairs, loaded, 6, 20, 512, 2, number, 80)          \
    X(table, pairs, gathered, 6, 20, 512, 2, number, 80)        \
    X(table, pairs, loaded, 8, 27, 384, 2, number, 80)          \
    X(table, pairs, two_phase, 8, 24, 512, 2, number, 80)       \
    X(table, pairs, two_phase, 8, 26, 512, 2, number, 80)       \
    X(table, pairs, fetched, 8, 32, 768, 1, number_paged, 90)   \
    X(table, keys, fetched, 6, 32, 768, 1, number, 90)          \
    X(table, keys, fetched, 8, 32, 768, 1, number_left, 90)     \
    X(table, columns_4, loaded, 8, 18, 320, 2, number_test, 80) \
    X(table, columns_4, loaded, 11, 17, 320, 2, field, 80)      \
    X(table, columns_8, loaded, 8, 14, 320, 2, loose_test, 80)  \
    X(table, columns_8, loaded, 11, 14, 256, 2, loose, 80)

/* Splits in one launch. Of tiles that are all at work large blocks, one a multiprocessor: the fewer tiles
 * there are, the less they publish to each other. Few items where few will do, because a lane goes through
 * all of its own. Of pairs into up to 32 buckets spans take less than 196 KiB: where a multiprocessor must
 * give all of it, the launch behind has little of the first cache. */
#define SPLIT_ONCE_GPU(X)                                           \
    X(alone, keys, loaded, 8, 8, 1024, 1, number_searched, 80)      \
    X(alone, pairs, loaded, 6, 4, 1024, 1, number_searched, 80)     \
    X(alone, columns_4, loaded, 8, 8, 1024, 1, number_searched, 80) \
    X(alone, columns_8, loaded, 8, 4, 1024, 1, field_test, 80)      \
    X(together, keys, loaded, 8, 4, 1024, 1, number_searched, 80)   \
    X(together, keys, loaded, 8, 16, 1024, 1, number_searched, 80)  \
    X(together, pairs, loaded, 6, 4, 1024, 1, number_searched, 80)  \
    X(together, pairs, loaded, 6, 8, 1024, 1, number_searched, 80)  \
    X(together, pairs, loaded, 6, 16, 1024, 1, number_searched, 80) \
    X(together, pairs, loaded, 8, 4, 1024, 1, number_test, 80)      \
    X(together, pairs, loaded, 8, 16, 1024, 1, number_test, 80)     \
    X(spans, keys, loaded, 6, 36, 896, 1, number_searched, 90)      \
    X(spans, keys, loaded, 8, 36, 896, 1, number, 90)               \
    X(spans, pairs, two_phase, 5, 36, 896, 1, number_searched, 90)  \
    X(spans, pairs, two_phase, 6, 36, 896, 1, number_searched, 90)  \
    X(spans, pairs, two_phase, 8, 36, 896, 1, number, 90)

/* The simulated GPU: small tiles, so that small cases have several. */
#define SPLIT_TABLE_SIM(X)                                   \
    X(table, keys, loaded, 2, 4, 64, 1, number_test, 0)      \
    X(table, keys, loaded, 5, 4, 64, 1, number_test, 0)      \
    X(table, pairs, loaded, 8, 3, 64, 1, number_test, 0)     \
    X(table, pairs, loaded, 11, 3, 64, 1, field, 0)          \
    X(table, pairs, two_phase, 8, 5, 64, 1, number, 0)       \
    X(table, pairs, fetched, 8, 5, 64, 1, number_paged, 90)  \
    X(table, keys, fetched, 6, 5, 64, 1, number, 90)         \
    X(table, keys, fetched, 8, 5, 64, 1, number_left, 90)    \
    X(table, columns_4, loaded, 8, 3, 64, 1, number_test, 0) \
    X(table, columns_4, loaded, 11, 3, 64, 1, field, 0)      \
    X(table, columns_8, loaded, 8, 3, 64, 1, loose_test, 0)  \
    X(table, columns_8, loaded, 11, 3, 64, 1, loose, 0)      \
    X(tiles, keys, loaded, 5, 4, 64, 1, number, 0)           \
    X(table, keys, gathered, 5, 4, 64, 1, number, 0)         \
    X(tiles, pairs, loaded, 8, 3, 64, 1, number, 0)          \
    X(table, pairs, gathered, 8, 3, 64, 1, number, 0)

#define SPLIT_ONCE_SIM(X)                                        \
    X(alone, keys, loaded, 8, 3, 64, 1, number_searched, 0)      \
    X(alone, pairs, loaded, 6, 1, 64, 1, number_searched, 0)     \
    X(alone, columns_4, loaded, 8, 3, 64, 1, number_searched, 0) \
    X(alone, columns_8, loaded, 8, 3, 64, 1, field_test, 0)      \
    X(together, keys, loaded, 8, 3, 64, 1, number_searched, 0)   \
    X(together, pairs, loaded, 6, 1, 64, 1, number_searched, 0)  \
    X(together, pairs, loaded, 8, 3, 64, 1, number_searched, 0)  \
    X(spans, keys, loaded, 6, 6, 64, 1, number_searched, 0)      \
    X(spans, keys, loaded, 8, 6, 64, 1, number, 0)               \
    X(spans, pairs, two_phase, 6, 6, 64, 1, number_searched, 0)  \
    X(spans, pairs, two_phase, 8, 6, 64, 1, number, 0)

#ifdef COHORT_SIM
#    define SPLIT_TABLE_INSTANCES SPLIT_TABLE_SIM
#    define SPLIT_ONCE_INSTANCES  SPLIT_ONCE_SIM
#else
#    define SPLIT_TABLE_INSTANCES SPLIT_TABLE_GPU
#    define SPLIT_ONCE_INSTANCES  SPLIT_ONCE_GPU
#endif

/* Bytes of an entry in a tile, at most. */
#define SPLIT_WIDEST(payload, loading)                                                                \
    ((payload) == SPLIT_COLUMNS_8 ||                                                                  \
             ((payload) == SPLIT_PAIRS && ((loading) == SPLIT_LOADED || (loading) == SPLIT_GATHERED)) \
         ? 8u                                                                                         \
         : 4u)

#endif
