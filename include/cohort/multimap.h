/* cohort/multimap.h: many values a key. Built in bulk, and inserted into in bulk.
 *
 * A map from each distinct key to a run of values, the runs one after the other (compressed sparse rows),
 * so that a key with ten thousand values costs no more a value than one with a single value. Widths 32/32,
 * 64/32 and 64/64. Pointers, bitmaps and threads as in map.h. The values of one key are in no particular
 * order.
 *
 * All calls here wait unless they say otherwise. */
#ifndef COHORT_MULTIMAP_H
#define COHORT_MULTIMAP_H

#include "map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_multimap cohort_multimap;
/* Cohort/device/multimap.h: what a kernel of the user's own looks up in. */
struct cohort_multimap_view;

typedef struct cohort_multimap_options {
    /* sizeof(cohort_multimap_options) */
    size_t size;
    /* 32/32, 64/32 or 64/64 */
    cohort_width width;
    /* 0 */
    uint32_t reserved;
    /* as in cohort_map_options */
    uint64_t seed;
    /* of the table of keys; 0: 0.8; else 0.1 to 0.95 */
    double max_load;
} cohort_multimap_options;

#define COHORT_MULTIMAP_OPTIONS_INIT                                 \
    {                                                                \
        sizeof(cohort_multimap_options), COHORT_WIDTH_64_64, 0, 0, 0 \
    }

/* A multimap of n pairs (n may be 0), of which those with a 1 in `where` (NULL: all) take part. O(n). The
 * workspace is 4 bytes a pair, 8 bytes a distinct key's slot, the pairs once more where there are many keys
 * (without memory for the first and the last the call does without them) and, with host pointers on a GPU,
 * the input's size. */
COHORT_API cohort_status cohort_multimap_build(cohort_context *context,
                                               const cohort_multimap_options *options, uint64_t n,
                                               const void *keys, const void *values, const uint8_t *where,
                                               cohort_multimap **out);
/* NULL is allowed. */
COHORT_API void cohort_multimap_destroy(cohort_multimap *multimap);

/* Adds n pairs, of which those with a 1 in `where` (NULL: all) take part. They become a level of their
 * own, together with levels that have less than twice as many values: there are at most 16, lookups go
 * through all of them, and each pair is built anew at most a logarithm of times. The first insert into a
 * multimap whose keys are all distinct may build it anew once. The workspace is that of a build, and 8 to
 * 16 bytes a pair of the levels taken in. A call that fails leaves the pairs as they were. Not while
 * another call works on the multimap.
 *
 * Up to 256 pairs in host memory are only put aside, in 16 KiB of the host's. The level is built when more
 * than 1,024 would lie there, when more come at once, or by the first other call on the multimap (but for
 * the options and destroying). That call waits for it. It may be COHORT_NO_MEMORY, and all pairs are as
 * before. */
COHORT_API cohort_status cohort_multimap_insert(cohort_multimap *multimap, uint64_t n, const void *keys,
                                                const void *values, const uint8_t *where);

/* A view for kernels of the user's own, void once the multimap is inserted into, exported or saved after an
 * insert, or destroyed. The first one of a multimap whose keys are all distinct may build it anew, and waits
 * then. */
COHORT_API cohort_status cohort_multimap_get_view(cohort_multimap *multimap,
                                                  struct cohort_multimap_view *view);

/* Distinct keys, and values in all. Either may be NULL. Does not wait but for pairs that were put aside. */
COHORT_API cohort_status cohort_multimap_size(cohort_multimap *multimap, uint64_t *keys, uint64_t *values);

/* The width, seed and load it was built with. */
COHORT_API cohort_status cohort_multimap_get_options(cohort_multimap *multimap,
                                                     cohort_multimap_options *options);

/* One value of each key (any), *fallback (host memory) or untouched for absent ones; as cohort_map_find.
 * batch.winner must be ANY: others are COHORT_UNSUPPORTED. Waits. O(n) a level, expected, whatever the
 * number of values. */
COHORT_API cohort_status cohort_multimap_find(cohort_multimap *multimap, uint64_t n, const void *keys,
                                              void *values, const void *fallback, const cohort_batch *batch);

/* counts[i] = how many values keys[i] has, 0 if it is absent. Both arrays lie in one memory, the host's or
 * the context's: COHORT_BAD_POINTER if not. O(n) a level, expected. */
COHORT_API cohort_status cohort_multimap_count(cohort_multimap *multimap, uint64_t n, const void *keys,
                                               uint64_t *counts);

/* All values of each key, query by query: the result is a sequence of rows (query index, value), those of
 * query 0 first. With `outer` a query whose key is absent gives one row, whose value is *fallback (host
 * memory; NULL: all bits one) and whose bit in `matched` is 0. The call writes rows [first, first +
 * capacity) of the sequence as far as they exist, and sets total to the length of the sequence and written
 * to the rows written. So: capacity 0 sizes the result; a second call fetches it; a result too large for
 * memory is fetched by raising `first` by `written` until it is total. */
typedef struct cohort_retrieve {
    /* sizeof(cohort_retrieve) */
    size_t size;
    /* 1: absent keys give a row */
    uint32_t outer;
    /* 0 */
    uint32_t reserved;
    const void *fallback;
    uint64_t first;
    uint64_t capacity;
    /* out, `capacity` entries; may be NULL. Memory as the keys', like the next three */
    uint64_t *queries;
    /* out, `capacity` entries; may be NULL */
    void *values;
    /* out, one bit a row written; may be NULL */
    uint8_t *matched;
    /* the bit of the first of them */
    uint64_t matched_offset;
    /* out, n + 1 entries: row offsets[i] is the first of query i, offsets[n] the total; may be NULL */
    uint64_t *offsets;
    /* out */
    uint64_t total;
    /* out */
    uint64_t written;
} cohort_retrieve;

#define COHORT_RETRIEVE_INIT                                                       \
    {                                                                              \
        sizeof(cohort_retrieve), 0, 0, NULL, 0, 0, NULL, NULL, NULL, 0, NULL, 0, 0 \
    }

/* O(n) a level and O(written), expected; all keys are looked up by each call. Workspace 16 bytes a query and
 * level, and with host pointers on a GPU the keys. COHORT_RANGE: `outer` is neither 0 nor 1. On failure the
 * arrays may have been written to. */
COHORT_API cohort_status cohort_multimap_retrieve(cohort_multimap *multimap, uint64_t n, const void *keys,
                                                  cohort_retrieve *retrieve);

/* Everything: the distinct keys (in no order), offsets[0 .. keys] and the values, those of key i at
 * offsets[i] .. offsets[i + 1]. The arrays hold what cohort_multimap_size tells. Any may be NULL. What
 * several calls give fits together, as long as nothing is inserted. The first export or save after inserts
 * puts all levels together, as cohort_multimap_union does, and views are void: that may be COHORT_NO_MEMORY,
 * and all is as before. O(keys + values). */
COHORT_API cohort_status cohort_multimap_export(cohort_multimap *multimap, void *keys, uint64_t *offsets,
                                                void *values);

/* A new multimap that holds the pairs of both, which stay. Same context, same width; the options of `a`. */
COHORT_API cohort_status cohort_multimap_union(cohort_multimap *a, cohort_multimap *b, cohort_multimap **out);

/* As cohort_map_reader: the multimap looked up by way of another context of the same device, by several
 * threads at once. Exporting and saving `multimap` itself count as changes of it, as does a view. */
COHORT_API cohort_status cohort_multimap_reader(cohort_multimap *multimap, cohort_context *context,
                                                cohort_multimap **out);

/* As cohort_map_save, cohort_map_load, cohort_map_save_to and cohort_map_load_from. */
COHORT_API cohort_status cohort_multimap_save(cohort_multimap *multimap, const char *path);
COHORT_API cohort_status cohort_multimap_load(cohort_context *context, const char *path,
                                              cohort_multimap **out);

/* Writes the multimap as it lies in memory, the table of its keys and their runs of values, to a file that
 * cohort_multimap_map maps. As cohort_map_save_table. One that has several levels, or whose keys are all
 * distinct, is built anew for the file, in memory of as many bytes, and stays as it was. Waits.
 * O(slots + values). */
COHORT_API cohort_status cohort_multimap_save_table(cohort_multimap *multimap, const char *path);

/* Opens a file to be read alone, as cohort_map_map does: one of cohort_multimap_save_table on a CPU where it
 * is mapped, on a GPU as a copy in its memory; one of cohort_multimap_save by loading it. Everything is
 * checked at once: the table as a map's, and that each key's run of values lies where it must. What is opened
 * offers find, count, retrieve, size, export, the options, views, readers, saving, and being part of a union,
 * which can be changed; an insert is COHORT_UNSUPPORTED. The same errors, and the same about the file, which
 * must not be changed or cut. O(bytes). */
COHORT_API cohort_status cohort_multimap_map(cohort_context *context, const char *path,
                                             cohort_multimap **out);

COHORT_API cohort_status cohort_multimap_save_to(cohort_multimap *multimap, const cohort_output *output);
COHORT_API cohort_status cohort_multimap_load_from(cohort_context *context, const cohort_input *input,
                                                   cohort_multimap **out);

#ifdef __cplusplus
}
#endif
#endif
