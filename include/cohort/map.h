/* cohort/map.h: the bulk-parallel hash map. What is said here of costs, building and erased slots is true of
 * the layout PAGES, the default; of LINES see `cohort_layout`.
 *
 * Open addressing in pages of 32-byte buckets, double hashing inside a page (docs/map.md). Every operation
 * takes a batch of n entries; entry i has the key keys[i] and, where the operation has one, the value
 * values[i]. Keys and values are arrays of 4- or 8-byte unsigned integers as the map's width says, aligned to
 * their size, in host or in device memory, all arrays of one call in the same kind. Keys of 16 bytes are two
 * words of 8 bytes each, the low one first (so that an array of a 128-bit integer type is one), aligned to 8.
 * Every key is legal. n may be 0, and may exceed 2^32. What a call writes must not overlap another of its
 * arrays, which is not checked.
 *
 * Bitmaps are Arrow's: bytes, the least significant bit first, at any address. Where a struct has an
 * offset beside a bitmap, of any number of bits, entry i has bit offset + i, else bit i. Nothing is read
 * or written before the byte that has the first entry's bit and behind the one that has the last entry's.
 * Of a bitmap that is written the bits before the first entry's stay as they are, and those behind the
 * last entry's, in the same byte, become 0: what goes into one bitmap by several calls goes in ascending
 * order. A bitmap at a multiple of 4 bytes with an offset of a multiple of 32 bits is fastest: of another
 * one a copy is made, and on a CPU if n is no multiple of 32, which takes workspace of n / 8 bytes.
 *
 * Waiting. With device pointers, calls on a map of fixed capacity do not wait: outcomes are in `counts` and
 * `failed` (device memory) once the stream has got there, and cohort_wait returns COHORT_FULL if an entry
 * found no slot. Calls that may grow the map wait, as do calls with host pointers on a GPU. Calls that only
 * read (find, contains) never grow. Calls that do not wait can be captured in a CUDA graph once one like it
 * (size and options) has run.
 *
 * Threads. One context, with its maps, is used by one thread at a time.
 *
 * Cost. An operation touches 1.05 buckets of 32 bytes a key on average at load 0.5, 1.2 at 0.8, 1.4 at 0.9
 * for keys that are there; 1.2, 2.3, 4.1 for keys that are not. A fixed map, and one with max_load above 0.9,
 * has a filter of 1/32 of its slots' bytes that ends what goes in vain: up to load 1 a key that is not there
 * costs 16 buckets and a word at most, but for one in some thousands, and so does an insert that is refused,
 * once another from the same page has been. What is put into the last slots looks long for them. (With linear
 * probing there is no filter.)
 *
 * Churn. Slots of erased keys stay taken until the table is made anew, which growing maps do by themselves
 * and fixed ones do not: there each key that comes anew takes a slot for good, and when none is left it is
 * refused, however few pairs are live. Lookups and refusals stay cheap by the filter, inserts become dear as
 * the last slots go. Whoever lets keys come and go in a fixed map calls cohort_map_rehash in time (`erased`
 * of the statistics tells), or takes the layout LINES.
 *
 * Workspace. Large batches take workspace from the context's pool, about as much as their arrays: to go by
 * whole pages of the table, by ranges of pages a thread, or to make one entry of those of equal keys. When
 * that happens docs/map.md tells ("Large batches"). Without workspace, and where `one_by_one` is set, the
 * entries go one by one. The answers are the same.
 *
 * Order. Entries of one batch are processed in no order; see `winner` for duplicates. Batches on one context
 * happen one after the other. */
#ifndef COHORT_MAP_H
#define COHORT_MAP_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_map cohort_map;
/* Cohort/device/map.h: what a kernel of the user's own works on. */
struct cohort_map_view;

/* Bits of a key and of a value, as the caller's arrays hold them. With the layout PAGES they are stored in
 * 4, 8, 8, 16 and 16 bytes a slot: 64/32 is stored as 64/64, and computes on its values modulo 2^32.
 * 128/64 is of the layout LINES alone. */
typedef enum cohort_width {
    COHORT_WIDTH_32_0 = 1,
    COHORT_WIDTH_32_32 = 2,
    COHORT_WIDTH_64_0 = 3,
    COHORT_WIDTH_64_32 = 4,
    COHORT_WIDTH_64_64 = 5,
    /* layout LINES only */
    COHORT_WIDTH_128_64 = 6
} cohort_width;

/* How buckets follow each other inside a page. Linear probing is there to be compared, and for groups. */
typedef enum cohort_probe { COHORT_PROBE_DOUBLE = 0, COHORT_PROBE_LINEAR = 1 } cohort_probe;

/* How the table lies in memory. PAGES: see the head of this file. LINES: hopscotch by lines of 64 or 32 bytes
 * (docs/map.md, docs/hopscotch-protocol.md): the slot of an erased key is free again at once, so a map whose
 * keys come and go does not grow or fill up; a slot takes more memory (21.3, 16, 10.7, 10.7 and 5.3 bytes for
 * 64/64, 64/32, 32/32, 64/0 and 32/0; 32 bytes for 128/64, which PAGES does not have). On a GPU from sm_80
 * on.
 *
 * Of LINES: a line is a home, of 6 slots (32/0), 4 (64/32), 2 (128/64) or 3 (the others). A key lies in its
 * home's window, which is 5 to 15 homes, and which has 30 slots (64/32: 28). So there are at most 30 keys
 * (28) of one home.
 *
 * Cost of an operation. find and contains: O(1), the homes of the window that have the home's keys. On
 * average these are, with 64/64 and 32/32, for keys that are there 1.03 at load 0.5 and 1.2 at 0.8, for keys
 * that are not 1.1 and 1.4. assign and apply of a key that is there: as find, and a lock and an unlock of its
 * home, unless the value stays as it is. erase: as find, and one other key may move. insert of a new key: as
 * find, and the first free slot of the window. Where there is none up to four keys move to make one, which is
 * O(1) too: each slot of the window is tried, then 256 ways at random. While others hold slots that they may
 * give back, it tries up to 64 times. There are no erased slots to look through.
 *
 * Progress. find and contains never write, lock or wait. They look again only if an insert, an erase or a
 * move took effect in their home meanwhile. insert and erase are lock-free, but for changes of values and for
 * moves in the same home: these hold its lock for one value or one pair. assign and apply of a key that is
 * there take that lock. Maps without values have no locks: there everything is lock-free.
 *
 * Growth. Above max_load, between parts of a batch, as PAGES. A key that finds no slot before that: a table
 * that is at least half full gets twice the slots. One that is less than half full gets a random seed, once a
 * call, and as many slots as it had. If keys are refused then, too, the call answers COHORT_FULL, so keys of
 * one home do not make a table grow for ever. What went in stays in, `failed` and `counts` name the rest.
 *
 * FULL changes nothing of its key. It may be spurious: others hold slots at that time which they give
 * back. */
typedef enum cohort_layout { COHORT_LAYOUT_PAGES = 0, COHORT_LAYOUT_LINES = 1 } cohort_layout;

/* Which of several entries with one key in one batch decides the value. ANY is fastest. FIRST and LAST go by
 * input order and give the same map every time; on a GPU they take 4 bytes a slot of workspace and further
 * passes, on a CPU a batch that is not split (docs/map.md, "Large batches") is one thread's; with LINES none
 * is split. */
typedef enum cohort_winner {
    COHORT_WINNER_ANY = 0,
    COHORT_WINNER_FIRST = 1,
    COHORT_WINNER_LAST = 2
} cohort_winner;

/* What is done to one entry. FIND to ERASE are calls of their own, ADD to COUNT are cohort_map_apply; `run`
 * mixes them all. ADD to COUNT make an absent key with the operand (COUNT: with 1); ADD and COUNT wrap
 * around; MIN and MAX are unsigned. Widths without values offer FIND, INSERT, ASSIGN (the same as INSERT) and
 * ERASE. */
typedef enum cohort_op {
    COHORT_OP_FIND = 0,
    /* keep: a key that is there keeps its value */
    COHORT_OP_INSERT = 1,
    /* replace */
    COHORT_OP_ASSIGN = 2,
    COHORT_OP_ERASE = 3,
    COHORT_OP_ADD = 4,
    COHORT_OP_MIN = 5,
    COHORT_OP_MAX = 6,
    COHORT_OP_OR = 7,
    COHORT_OP_AND = 8,
    /* as ASSIGN; in `run` the result is the old value, as for all of these */
    COHORT_OP_EXCHANGE = 9,
    /* add 1; takes no operand */
    COHORT_OP_COUNT = 10
} cohort_op;

#define COHORT_SEED_RANDOM UINT64_MAX

typedef struct cohort_map_options {
    /* sizeof(cohort_map_options) */
    size_t size;
    cohort_width width;
    cohort_probe probe;
    /* pairs that fit without growing, at least 1; the map gets capacity / max_load slots, rounded up to whole
     * pages of 64 KiB, or to a power of two below one page; on a CPU, with layout PAGES and max_load 0,
     * capacity / 0.5 slots if there is memory for those: a walk at load 0.8 costs twice one at 0.5 there. Who
     * wants it dense says max_load = 0.8. LINES: capacity / max_load slots, rounded up to whole homes, on any
     * device. So many fit of keys that spread, with max_load up to 0.9 and from 2^16 slots on. In smaller
     * tables, or above 0.9, a key may be refused before: a growing map grows then, a fixed one is full */
    uint64_t capacity;
    /* of the hash; 0: the same at every run; COHORT_SEED_RANDOM: drawn now, for whoever faces hostile keys. A
     * growing map that refuses keys though it has many free slots takes another seed. With PAGES that one
     * follows from the old one. With LINES it is random, so the table is not the same at every run.
     * cohort_map_get_options tells which is in use */
    uint64_t seed;
    /* taken slots / slots above which a growing map grows; 0: 0.8; from 0.01 to 1. At 1 the last keys of a
     * fixed map may find no slot within reach (8 pages; of LINES the window and four moves) */
    double max_load;
    /* 1: never grow, answer COHORT_FULL */
    uint32_t fixed;
    /* lanes of a GPU that work on one key in find, contains and insert: 0 or 1, 2, 4, 8, 16, 32. Above 1:
     * only width 32/32, linear probing, on a GPU */
    uint32_t group;
    /* LINES: `probe` and `group` must be 0 */
    cohort_layout layout;
    /* 0 */
    uint32_t reserved;
} cohort_map_options;

#define COHORT_MAP_OPTIONS_INIT                                                             \
    {                                                                                       \
        sizeof(cohort_map_options), COHORT_WIDTH_64_64, COHORT_PROBE_DOUBLE, 0, 0, 0, 0, 0, \
            COHORT_LAYOUT_PAGES, 0                                                          \
    }

/* What became of the entries of a batch. In the same kind of memory as the keys. */
typedef struct cohort_counts {
    /* entries that took part (all, or those whose bit of `where` is 1) */
    uint64_t taken;
    /* whose key was in the map before their own operation */
    uint64_t hits;
    /* that put their key in */
    uint64_t added;
    /* that found no slot, or had an op code that is none */
    uint64_t failed;
    /* the least index of those, UINT64_MAX if there is none */
    uint64_t first_failed;
    /* not written: room for what later versions count */
    uint64_t reserved[3];
} cohort_counts;

#define COHORT_COUNTS_INIT \
    {                      \
        0, 0, 0, 0, 0,     \
        {                  \
            0, 0, 0        \
        }                  \
    }

/* The options of one batch; NULL means none of them. Bitmaps have one bit an entry (see "Bitmaps" above); one
 * that is written has zeros for entries that did not take part. */
typedef struct cohort_batch {
    /* sizeof(cohort_batch) */
    size_t size;
    /* entries that take part; NULL: all */
    const uint8_t *where;
    /* the bit of entry 0 */
    uint64_t where_offset;
    /* out: the key was in the map before this entry's own operation. Of several entries that put in one new
     * key exactly one gets 0; of an insert it is the winner */
    uint8_t *hit;
    uint64_t hit_offset;
    /* out: the entry found no slot (fixed maps, and growing ones of LINES that a random seed did not help,
     * see cohort_layout), or was not done for want of memory: with COHORT_NO_MEMORY `counts` and `failed`
     * tell which entries those are (by winner FIRST or LAST some of their keys may be in nevertheless) */
    uint8_t *failed;
    uint64_t failed_offset;
    /* out */
    cohort_counts *counts;
    /* for insert, assign and insert_and_find; of other calls COHORT_UNSUPPORTED unless ANY */
    cohort_winner winner;
    /* 1: never by whole pages (see "Workspace" above): no workspace is taken for it */
    uint32_t one_by_one;
} cohort_batch;

#define COHORT_BATCH_INIT                                                           \
    {                                                                               \
        sizeof(cohort_batch), NULL, 0, NULL, 0, NULL, 0, NULL, COHORT_WINNER_ANY, 0 \
    }

/* ---- making, sizing, ending ---------------------------------------------------------------------------- */

/* An empty map on `context`. COHORT_RANGE: capacity 0, max_load outside 0.01 to 1, a probe that is none, a
 * group that is not a power of two, a layout that is none. COHORT_UNSUPPORTED: a width that is none, or a
 * width or a group that the device does not offer, or not with this layout; LINES with a `probe` or `group`
 * that is not 0. COHORT_OVERFLOW: a capacity beyond the largest table, 2^32 - 1 pages, of LINES 2^32 - 1
 * homes. COHORT_NO_MEMORY: one beyond the memory. Enqueues one fill of the table; O(slots). */
COHORT_API cohort_status cohort_map_create(cohort_context *context, const cohort_map_options *options,
                                           cohort_map **out);
/* Waits; NULL is allowed. */
COHORT_API void cohort_map_destroy(cohort_map *map);

/* How many pairs are in: one counter, read from the device. Waits. */
COHORT_API cohort_status cohort_map_size(cohort_map *map, uint64_t *size);

/* Forgets all pairs, keeps the slots. Does not wait. O(slots). After COHORT_DEVICE_ERROR do it again before
 * anything else. */
COHORT_API cohort_status cohort_map_clear(cohort_map *map);

/* Makes room for `capacity` pairs in all without growing later; never shrinks. Waits. COHORT_UNSUPPORTED on a
 * fixed map that is too small. */
COHORT_API cohort_status cohort_map_reserve(cohort_map *map, uint64_t capacity);

/* Builds the table anew for the larger of `capacity` and the pairs in it, dropping erased slots: 0 shrinks to
 * fit. Allowed on fixed maps; a view taken before is invalid after. Waits. Needs memory for both tables. */
COHORT_API cohort_status cohort_map_rehash(cohort_map *map, uint64_t capacity);

/* A new map with the same options, seed and pairs, on the same context. */
COHORT_API cohort_status cohort_map_clone(cohort_map *map, cohort_map **out);

/* A map that is read by way of another context of the same device: *out has the pairs of `map`, in the same
 * memory, and belongs to `context`. So several threads, each with a context of its own, can look up in one
 * map at once, while none changes it. `map` must not be changed or destroyed while a call on a reader is
 * under way; once it was, its readers can be destroyed and no more. A reader offers find, contains, size,
 * export, clone (which makes a map of its context's own), the options, statistics, views to look up by, and
 * saving; what would change it is COHORT_UNSUPPORTED. Waits for the work on `map`. To be called by the thread
 * that uses `map` or while no thread does. O(1). COHORT_UNSUPPORTED: another device. End it by
 * cohort_map_destroy. */
COHORT_API cohort_status cohort_map_reader(cohort_map *map, cohort_context *context, cohort_map **out);

/* Puts every pair of `from` into `into` by INSERT, ASSIGN, or ADD to EXCHANGE (not FIND, ERASE, COUNT). Same
 * context, same width. Waits. On COHORT_FULL some are in; which is not told. */
COHORT_API cohort_status cohort_map_merge(cohort_map *into, cohort_map *from, cohort_op rule);

/* ---- batches ------------------------------------------------------------------------------------------- */

/* Insert: puts in entries whose key is absent. Assign: also replaces the values of those present. Widths
 * without values take values = NULL. */
COHORT_API cohort_status cohort_map_insert(cohort_map *map, uint64_t n, const void *keys, const void *values,
                                           const cohort_batch *batch);
COHORT_API cohort_status cohort_map_assign(cohort_map *map, uint64_t n, const void *keys, const void *values,
                                           const cohort_batch *batch);

/* Value = op(value, operand) for ADD to COUNT, atomically entry by entry. operands may be NULL for COUNT. A
 * winner other than ANY is COHORT_UNSUPPORTED, as for erase and run. */
COHORT_API cohort_status cohort_map_apply(cohort_map *map, cohort_op op, uint64_t n, const void *keys,
                                          const void *operands, const cohort_batch *batch);

/* values[i] = the value of keys[i]; of an absent key: *fallback (one value, in host memory), or left as it
 * was if fallback is NULL. Never changes the map. */
COHORT_API cohort_status cohort_map_find(cohort_map *map, uint64_t n, const void *keys, void *values,
                                         const void *fallback, const cohort_batch *batch);

/* Which keys are in: bit batch->hit_offset + i of `hit`. A `hit` in the batch must be NULL or the same. */
COHORT_API cohort_status cohort_map_contains(cohort_map *map, uint64_t n, const void *keys, uint8_t *hit,
                                             const cohort_batch *batch);

/* Insert, and values[i] = the value that the map holds after the batch. Entries that failed keep theirs. */
COHORT_API cohort_status cohort_map_insert_and_find(cohort_map *map, uint64_t n, const void *keys,
                                                    void *values, const cohort_batch *batch);

/* Takes the keys out. PAGES: their slots are not reused before the next rehash; growing maps see to that by
 * themselves. LINES: their slots are free again at once. */
COHORT_API cohort_status cohort_map_erase(cohort_map *map, uint64_t n, const void *keys,
                                          const cohort_batch *batch);

/* A mixed stream: entry i does ops[i] (a cohort_op as a byte) to keys[i] with values[i]. results[i] = the
 * value that the key had just before (not written where it had none; may be NULL; may not be `values`). On a
 * fixed map of PAGES each erase leaves a slot that no other key gets before a rehash (see "Churn" above). The
 * history of each key is linearizable; entries are unordered otherwise. An op code that is none fails its
 * entry (COHORT_RANGE) and does nothing. values may be NULL if no operation needs one (missing operands are
 * taken as 0). COHORT_UNSUPPORTED: 64-bit keys with values and PAGES on a GPU before sm_90; LINES offer it
 * there. */
COHORT_API cohort_status cohort_map_run(cohort_map *map, uint64_t n, const uint8_t *ops, const void *keys,
                                        const void *values, void *results, const cohort_batch *batch);

/* All pairs, in no order: keys[0 .. *count), values likewise (NULL: keys only). COHORT_FULL, with *count the
 * number of pairs and nothing written, if `capacity` entries do not hold them. Waits. */
COHORT_API cohort_status cohort_map_export(cohort_map *map, uint64_t capacity, void *keys, void *values,
                                           uint64_t *count);

/* ---- what it looks like inside ------------------------------------------------------------------------- */

#define COHORT_PROBE_BINS 32

typedef struct cohort_map_stats {
    /* in: sizeof(cohort_map_stats) */
    size_t size;
    /* all */
    uint64_t slots;
    /* live */
    uint64_t pairs;
    /* slots that a rehash would win back */
    uint64_t erased;
    uint64_t table_bytes;
    uint64_t page_bytes;
    uint64_t pages;
    uint64_t seed;
    /* taken slots (live or erased) / slots */
    double load;
    /* probe length: buckets read to find a key that is in, 1 at best */
    double probe_mean;
    uint64_t probe_max;
    /* [i]: keys with probe length i + 1; the last bin also holds all longer */
    uint64_t probe_histogram[COHORT_PROBE_BINS];
    /* SimpleGPUHashTable's measure, for linear probing: slots between a key's first slot and the slot that it
     * is in */
    double slot_mean;
    uint64_t slot_max;

    /* Of LINES, since the table was made, cleared or rebuilt. Its `pages` are homes, `page_bytes` a home's, a
     * probe is a home that is read. */
    /* keys that were moved to make room for others */
    uint64_t displaced;
    /* keys that were moved into their own home, when a slot there became free */
    uint64_t pulled_home;
    /* looks at a home that were repeated, because another thread changed it meanwhile */
    uint64_t retries;
} cohort_map_stats;

#define COHORT_MAP_STATS_INIT                                                      \
    {                                                                              \
        sizeof(cohort_map_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0, 0, 0, 0 \
    }

/* Walks the table. Waits. */
COHORT_API cohort_status cohort_map_get_stats(cohort_map *map, cohort_map_stats *stats);

/* The options that the map has now: capacity is what fits without growing. */
COHORT_API cohort_status cohort_map_get_options(cohort_map *map, cohort_map_options *options);

/* A view for kernels of the user's own (cohort/device/map.h; of LINES cohort/device/lines.h). On GPUs before
 * sm_90 those only look up in maps of 64-bit keys with values and PAGES; in LINES they change as well. It
 * stays valid until a call that rehashes: reserve, rehash, and on growing maps every call that inserts.
 * Inside a kernel the capacity is fixed. Does not wait. */
COHORT_API cohort_status cohort_map_get_view(cohort_map *map, struct cohort_map_view *view);

/* ---- files --------------------------------------------------------------------------------------------- */

/* Writes options and pairs to a file, under another name first: `path` is the old file or the whole new one.
 * The other name is that of the file with ".cohort-N.tmp" behind it. A process that is killed leaves it, and
 * the next save to the same path removes it. Waits. COHORT_IO: it cannot be written; COHORT_NO_MEMORY: there
 * is no host memory for the pairs. */
COHORT_API cohort_status cohort_map_save(cohort_map *map, const char *path);

/* Reads what save wrote, from any backend; every byte is checked. A growing map starts with what its pairs
 * need. A fixed one gets its capacity back, as the file says: a short file can ask for a large table. Who
 * loads files of strangers bounds that by the context's allocator, or takes COHORT_NO_MEMORY for an answer. A
 * fixed map that was nearly full may get a larger table and another seed: pairs that come in another order do
 * not always find a slot within reach. A device that has no groups of lanes drops `group`. COHORT_IO,
 * COHORT_TRUNCATED, COHORT_BAD_VERSION, COHORT_CORRUPT, COHORT_NO_MEMORY, COHORT_UNSUPPORTED (a width that
 * the device does not offer): *out is NULL. */
COHORT_API cohort_status cohort_map_load(cohort_context *context, const char *path, cohort_map **out);

/* Writes the table itself to a file that cohort_map_map maps: `table_bytes` of the statistics and 256 bytes
 * more, erased slots among them (cohort_map_rehash takes them out before). Written under another name first,
 * as by cohort_map_save. Waits. On a GPU the host needs memory for all of it. COHORT_IO, COHORT_NO_MEMORY.
 * O(slots). */
COHORT_API cohort_status cohort_map_save_table(cohort_map *map, const char *path);

/* Opens a file to be read alone. On a CPU a file of a table is mapped: nothing is built, its memory is the
 * system's cache of the file, which all processes that map it share, and belongs to the map until
 * cohort_map_destroy. On a GPU the table is copied there. A file of pairs, which cohort_map_save wrote, is
 * loaded. What is opened offers what a reader does (cohort_map_reader): find, contains, size, export, copy
 * (which makes a map that can be changed), the options, statistics, views to look up by, readers, and saving;
 * what would change it is COHORT_UNSUPPORTED, and the message names the call. Every byte is checked at once,
 * and that each pair lies where a search finds it, so a file of strangers is safe to open. It must not be
 * changed or cut afterwards, which is for its owner to prevent: to save to the same path is no such change,
 * since that gives the name to a new file. Waits. COHORT_IO (also: no regular file), COHORT_TRUNCATED,
 * COHORT_BAD_VERSION (also: of another version of tables), COHORT_CORRUPT, COHORT_NO_MEMORY,
 * COHORT_UNSUPPORTED (a width that the device does not offer): *out is NULL. O(bytes). */
COHORT_API cohort_status cohort_map_map(cohort_context *context, const char *path, cohort_map **out);

/* Pairs by functions of the caller's, of the same bytes as in a file of pairs. Wait. COHORT_IO: a function
 * failed. */
COHORT_API cohort_status cohort_map_save_to(cohort_map *map, const cohort_output *output);
COHORT_API cohort_status cohort_map_load_from(cohort_context *context, const cohort_input *input,
                                              cohort_map **out);

/* ---- typed calls --------------------------------------------------------------------------------------- */

/* cohort_map_insert_64_64(map, n, keys, values, batch) and so on: the same calls with the arrays' types
 * spelled out. */
#define COHORT_MAP_TYPED(width, key, value)                                                               \
    static inline cohort_status cohort_map_insert_##width(cohort_map *map, uint64_t n, const key *keys,   \
                                                          const value *values, const cohort_batch *batch) \
    {                                                                                                     \
        return cohort_map_insert(map, n, keys, values, batch);                                            \
    }                                                                                                     \
    static inline cohort_status cohort_map_assign_##width(cohort_map *map, uint64_t n, const key *keys,   \
                                                          const value *values, const cohort_batch *batch) \
    {                                                                                                     \
        return cohort_map_assign(map, n, keys, values, batch);                                            \
    }                                                                                                     \
    static inline cohort_status cohort_map_apply_##width(cohort_map *map, cohort_op op, uint64_t n,       \
                                                         const key *keys, const value *operands,          \
                                                         const cohort_batch *batch)                       \
    {                                                                                                     \
        return cohort_map_apply(map, op, n, keys, operands, batch);                                       \
    }                                                                                                     \
    static inline cohort_status cohort_map_find_##width(cohort_map *map, uint64_t n, const key *keys,     \
                                                        value *values, const value *fallback,             \
                                                        const cohort_batch *batch)                        \
    {                                                                                                     \
        return cohort_map_find(map, n, keys, values, fallback, batch);                                    \
    }                                                                                                     \
    static inline cohort_status cohort_map_insert_and_find_##width(                                       \
        cohort_map *map, uint64_t n, const key *keys, value *values, const cohort_batch *batch)           \
    {                                                                                                     \
        return cohort_map_insert_and_find(map, n, keys, values, batch);                                   \
    }

COHORT_MAP_TYPED(32_32, uint32_t, uint32_t)
COHORT_MAP_TYPED(64_32, uint64_t, uint32_t)
COHORT_MAP_TYPED(64_64, uint64_t, uint64_t)

#ifdef __cplusplus
}
#endif
#endif
