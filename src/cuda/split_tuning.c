/* split_tuning.c: the tuning of multisplit, as data: of the instances that are compiled which one is taken,
 * and when. */
#include "split_tuning.h"

#include <string.h>

#include "shape/split_direct.h"

/* ---- instances ----------------------------------------------------------------------------------------- */

#define PLACE_OF(machine, way, payload, loading, bits, items, threads) \
    machine##_##way##_##payload##_##loading##_##bits##_##items##x##threads
#define FORM_BIT(form, ...) | 1u << SPLIT_FORM_##form
#define INSTANCE(machine, file, way, payload, loading, bits, items, threads, forms, architecture) \
    [PLACE_OF(machine, way, payload, loading, bits, items, threads)] = {                          \
        #file "_" #way "_" #payload "_" #loading "_" #bits "_" #items "x" #threads,               \
        SPLIT_WAY_##way,                                                                          \
        SPLIT_PAYLOAD_##payload,                                                                  \
        SPLIT_LOADING_##loading,                                                                  \
        bits,                                                                                     \
        items,                                                                                    \
        threads,                                                                                  \
        SPLIT_WIDEST(SPLIT_PAYLOAD_##payload, SPLIT_LOADING_##loading),                           \
        0u SPLIT_FORMS_##forms(FORM_BIT, 0),                                                      \
        architecture},

#define PLACE_GPU(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    PLACE_OF(gpu, way, payload, loading, bits, items, threads),
#define PLACE_SIM(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    PLACE_OF(sim, way, payload, loading, bits, items, threads),
#define TABLE_GPU(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    INSTANCE(gpu, multisplit, way, payload, loading, bits, items, threads, forms, architecture)
#define ONCE_GPU(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    INSTANCE(gpu, split_once, way, payload, loading, bits, items, threads, forms, architecture)
#define TABLE_SIM(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    INSTANCE(sim, multisplit, way, payload, loading, bits, items, threads, forms, architecture)
#define ONCE_SIM(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    INSTANCE(sim, split_once, way, payload, loading, bits, items, threads, forms, architecture)

/* clang-format off */
enum { SPLIT_TABLE_GPU(PLACE_GPU) SPLIT_ONCE_GPU(PLACE_GPU) SPLIT_TABLE_SIM(PLACE_SIM) SPLIT_ONCE_SIM(PLACE_SIM) };

static const struct split_instance instances[] = {
    SPLIT_TABLE_GPU(TABLE_GPU) SPLIT_ONCE_GPU(ONCE_GPU) SPLIT_TABLE_SIM(TABLE_SIM) SPLIT_ONCE_SIM(ONCE_SIM)
};
/* clang-format on */

/* A row begins with its driver and its instance, which is on the list or does not compile. */
#define GPU(way, payload, loading, bits, items, threads) \
    .driver = "cuda", .instance = &instances[PLACE_OF(gpu, way, payload, loading, bits, items, threads)]
#define SIM(way, payload, loading, bits, items, threads) \
    .driver = "sim", .instance = &instances[PLACE_OF(sim, way, payload, loading, bits, items, threads)]

/* ---- the table ----------------------------------------------------------------------------------------- */

/* By rising buckets, and of splits in one launch the fewer entries the sooner: the first row that holds what
 * is asked is taken, of the newest architecture. A row with another loading than it was asked for, or with
 * columns in place of keys and pairs, is better than none. */
static const struct split_tuning rows[] = {
    {GPU(table, keys, loaded, 2, 32, 384), .buckets = 4, .spans = 24},
    {GPU(table, keys, loaded, 6, 32, 384), .buckets = 64, .spans = 24},
    {GPU(table, keys, loaded, 8, 32, 384), .buckets = 256, .spans = 24},
    {GPU(table, keys, loaded, 11, 28, 256), .buckets = 2048, .spans = 8},
    {GPU(table, pairs, loaded, 6, 16, 384), .buckets = 32, .spans = 24},
    {GPU(table, pairs, loaded, 6, 20, 512), .buckets = 64, .spans = 16},
    {GPU(table, pairs, two_phase, 8, 24, 512), .buckets = 192, .spans = 16},
    {GPU(table, pairs, two_phase, 8, 26, 512), .buckets = 256},
    {GPU(table, pairs, two_phase, 8, 24, 512), .buckets = 256, .spans = 16},
    {GPU(table, pairs, loaded, 8, 27, 384), .buckets = 256, .spans = 24},
    {GPU(table, pairs, fetched, 8, 32, 768), .buckets = 256, .spans = 48, .least_tiles = 4},
    {GPU(table, keys, fetched, 6, 32, 768), .buckets = 64, .spans = 48, .least_tiles = 16},
    {GPU(table, keys, fetched, 8, 32, 768), .buckets = 256, .spans = 48, .least_tiles = 4},
    {GPU(table, columns_4, loaded, 8, 18, 320), .buckets = 256, .spans = 24},
    {GPU(table, columns_8, loaded, 8, 14, 320), .buckets = 256, .spans = 24},
    {GPU(table, columns_4, loaded, 11, 17, 320), .buckets = 2048, .spans = 8},
    {GPU(table, columns_8, loaded, 11, 14, 256), .buckets = 2048, .spans = 8},

    {GPU(tiles, keys, loaded, 6, 32, 384), .buckets = 64},
    {GPU(table, keys, gathered, 6, 32, 384), .buckets = 64},
    {GPU(tiles, pairs, loaded, 6, 20, 512), .buckets = 64},
    {GPU(table, pairs, gathered, 6, 20, 512), .buckets = 64},

    {GPU(alone, keys, loaded, 8, 8, 1024), .buckets = 256},
    {GPU(alone, pairs, loaded, 6, 4, 1024), .buckets = 64},
    {GPU(alone, columns_4, loaded, 8, 8, 1024), .buckets = 256},
    {GPU(alone, columns_8, loaded, 8, 4, 1024), .buckets = 256},

    {GPU(together, keys, loaded, 8, 4, 1024), .buckets = 256, .spans = 1},
    {GPU(together, keys, loaded, 8, 16, 1024), .buckets = 256, .spans = 1},
    {GPU(together, pairs, loaded, 6, 4, 1024), .buckets = 64, .spans = 1},
    {GPU(together, pairs, loaded, 6, 8, 1024), .buckets = 64, .spans = 1},
    {GPU(together, pairs, loaded, 6, 16, 1024), .buckets = 64, .spans = 1},
    {GPU(together, pairs, loaded, 8, 4, 1024), .buckets = 256, .spans = 1},
    {GPU(together, pairs, loaded, 8, 16, 1024), .buckets = 256, .spans = 1},

    {GPU(spans, keys, loaded, 6, 36, 896), .buckets = 64, .spans = 1, .span_tiles = 3},
    {GPU(spans, keys, loaded, 8, 36, 896), .buckets = 256, .spans = 1, .span_tiles = 1},
    {GPU(spans, pairs, two_phase, 5, 36, 896), .buckets = 32, .spans = 1, .span_tiles = 3},
    {GPU(spans, pairs, two_phase, 6, 36, 896), .buckets = 64, .spans = 1, .span_tiles = 3},
    {GPU(spans, pairs, two_phase, 8, 36, 896), .buckets = 256, .spans = 1, .span_tiles = 1},

    {SIM(table, keys, loaded, 2, 4, 64), .buckets = 4, .spans = 2},
    {SIM(table, keys, loaded, 5, 4, 64), .buckets = 32, .spans = 2},
    {SIM(table, pairs, loaded, 8, 3, 64), .buckets = 32, .spans = 2},
    {SIM(table, pairs, two_phase, 8, 5, 64), .buckets = 256, .spans = 2},
    {SIM(table, pairs, fetched, 8, 5, 64), .buckets = 256, .spans = 2, .least_tiles = 4},
    {SIM(table, keys, fetched, 6, 5, 64), .buckets = 64, .spans = 2, .least_tiles = 4},
    {SIM(table, keys, fetched, 8, 5, 64), .buckets = 256, .spans = 2, .least_tiles = 4},
    {SIM(table, pairs, loaded, 8, 3, 64), .buckets = 256, .spans = 2},
    {SIM(table, pairs, loaded, 11, 3, 64), .buckets = 2048, .spans = 2},
    {SIM(table, columns_4, loaded, 8, 3, 64), .buckets = 256, .spans = 2},
    {SIM(table, columns_8, loaded, 8, 3, 64), .buckets = 256, .spans = 2},
    {SIM(table, columns_4, loaded, 11, 3, 64), .buckets = 2048, .spans = 2},
    {SIM(table, columns_8, loaded, 11, 3, 64), .buckets = 2048, .spans = 2},

    {SIM(tiles, keys, loaded, 5, 4, 64), .buckets = 32},
    {SIM(table, keys, gathered, 5, 4, 64), .buckets = 32},
    {SIM(tiles, pairs, loaded, 8, 3, 64), .buckets = 32},
    {SIM(tiles, pairs, loaded, 8, 3, 64), .buckets = 256},
    {SIM(table, pairs, gathered, 8, 3, 64), .buckets = 256},

    {SIM(alone, keys, loaded, 8, 3, 64), .buckets = 256},
    {SIM(alone, pairs, loaded, 6, 1, 64), .buckets = 64},
    {SIM(alone, columns_4, loaded, 8, 3, 64), .buckets = 256},
    {SIM(alone, columns_8, loaded, 8, 3, 64), .buckets = 256},

    {SIM(together, keys, loaded, 8, 3, 64), .buckets = 256, .spans = 4},
    {SIM(together, pairs, loaded, 6, 1, 64), .buckets = 64, .spans = 4},
    {SIM(together, pairs, loaded, 8, 3, 64), .buckets = 256, .spans = 4},

    {SIM(spans, keys, loaded, 6, 6, 64), .buckets = 64, .spans = 2, .span_tiles = 3},
    {SIM(spans, keys, loaded, 8, 6, 64), .buckets = 256, .spans = 2, .span_tiles = 3},
    {SIM(spans, pairs, two_phase, 6, 6, 64), .buckets = 64, .spans = 2, .span_tiles = 3},
    {SIM(spans, pairs, two_phase, 8, 6, 64), .buckets = 256, .spans = 2, .span_tiles = 3},
};

/* ---- the choice ---------------------------------------------------------------------------------------- */

/* Does the loading of a row do for the one that is asked for? */
static int loads_for(enum split_loading own, enum split_loading asked)
{
    switch (asked) {
    case SPLIT_FETCHED:
        return own != SPLIT_GATHERED;
    case SPLIT_TWO_PHASE:
        return own == SPLIT_TWO_PHASE || own == SPLIT_LOADED;
    default:
        return own == asked;
    }
}

static int carries(enum split_payload own, enum split_payload asked)
{
    return own == asked || own == SPLIT_COLUMNS_8 || (own == SPLIT_COLUMNS_4 && asked != SPLIT_COLUMNS_8);
}

/* Entries that are in tiles at a time, where all must be. */
static uint64_t entries_at_once(const struct gpu *g, const struct split_tuning *t)
{
    uint64_t tile = (uint64_t)t->instance->items * t->instance->threads;
    switch (t->instance->way) {
    case SPLIT_ALONE:
        return tile;
    case SPLIT_TOGETHER:
        return (uint64_t)g->multiprocessors * t->spans * tile;
    case SPLIT_SPANS_TOGETHER:
        return (uint64_t)g->multiprocessors * t->spans * t->span_tiles * tile;
    default:
        return UINT64_MAX;
    }
}

unsigned split_instance_shared(const struct split_instance *i)
{
    unsigned end = split_layout(i->bits, i->items, i->threads, i->widest, 0).end;
    if (i->way == SPLIT_SPANS_TOGETHER)
        return split_span_end(i->bits, i->items, i->threads, i->payload == SPLIT_PAIRS);
    if (i->loading == SPLIT_FETCHED)
        return split_fetched_end(i->bits, i->items, i->threads);
    return i->loading == SPLIT_TWO_PHASE ? end + split_place_words(i->items) * i->threads * 4 : end;
}

/* Of splits in one launch the block's shared memory must be there; of others split_tile.c asks where it may
 * not be. */
static int serves(const struct gpu *g, const struct split_tuning *t, const struct split_request *q)
{
    const struct split_instance *i = t->instance;
    return strcmp(t->driver, g->driver->name) == 0 && i->architecture <= g->architecture &&
           i->way == q->way && carries(i->payload, q->payload) && loads_for(i->loading, q->loading) &&
           t->buckets >= q->buckets && (i->forms & q->forms) == q->forms && (t->spans || !q->needs_spans) &&
           q->entries <= entries_at_once(g, t) &&
           (q->way == SPLIT_BY_TABLE || q->way == SPLIT_IN_TILES ||
            split_instance_shared(i) <= g->shared_most);
}

const struct split_tuning *split_tuning_for(const struct gpu *g, const struct split_request *request)
{
    const struct split_tuning *best = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct split_tuning *t = &rows[i];
        if (serves(g, t, request) && (!best || t->instance->architecture > best->instance->architecture))
            best = t;
    }
    return best;
}

unsigned split_together_spans_most(const struct cuda_driver *driver)
{
    unsigned most = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum split_way way = rows[i].instance->way;
        if ((way == SPLIT_TOGETHER || way == SPLIT_SPANS_TOGETHER) && rows[i].spans > most &&
            strcmp(rows[i].driver, driver->name) == 0)
            most = rows[i].spans;
    }
    return most;
}

/* ---- DIRECT and WARP ----------------------------------------------------------------------------------- */

static const struct split_warp_tuning warps[] = {
    {.driver = "cuda",
     .architecture = 80,
     .direct_items = SPLIT_DIRECT_ITEMS_GPU,
     .warp_items = SPLIT_WARP_ITEMS_GPU,
     .warps = 64,
     .pieces = 16,
     .blocks = 8},
    {.driver = "sim",
     .architecture = 0,
     .direct_items = SPLIT_DIRECT_ITEMS_SIM,
     .warp_items = SPLIT_WARP_ITEMS_SIM,
     .warps = 2,
     .pieces = 4,
     .blocks = 2},
};

const struct split_warp_tuning *split_warp_tuning_for(const struct gpu *g)
{
    const struct split_warp_tuning *best = NULL;
    for (size_t i = 0; i < sizeof warps / sizeof *warps; i++)
        if (strcmp(warps[i].driver, g->driver->name) == 0 && warps[i].architecture <= g->architecture)
            best = &warps[i];
    return best;
}
