/* cohort/set.h: sets of 32- and 64-bit integers as bitmaps.
 *
 * Two types. `cohort_sets` is an immutable collection of any number of sets in one piece of memory, which is
 * also its file. `cohort_set` is one set that changes, with one writer. A set is cut into chunks of 2^16
 * integers. A chunk is stored as a sorted array, as a bitmap of 8 KiB, or as runs, whichever is smallest; a
 * chunk that is absent or full takes no room. Small sets of a collection are plain sorted lists
 * (docs/set.md).
 *
 * Members are arrays of COHORT_U32 or COHORT_U64, in any order, duplicates allowed. Every value is legal,
 * 2^64 - 1 too. What the library writes is in ascending order and without duplicates.
 *
 * Pointers. Arrays are aligned to their entries, in host or in device memory. All arrays of one call are
 * in the same kind of memory, unless a field says otherwise. What a call writes must not overlap another
 * of its arrays. Bitmaps of answers (`any`, `hit`) are as in cohort/map.h: a map's `hit` and a
 * compaction's `where` are such bitmaps. So are bitmaps that are sets (COHORT_FORM_BITMAPS): bytes, the least
 * significant bit first, which begin at any bit of any address. Nothing beyond the byte of the last bit is
 * read or written. What lies between the bitmaps of several sets is not read, and written as zeros.
 *
 * Waiting. Calls that make a collection wait: their size depends on the data. So do cohort_set_copy,
 * cohort_set_export, cohort_set_get_info, queries with a cohort_set, and cohort_set_update but by members
 * in device memory. cohort_set_clear and cohort_set_get_view do not wait, nor does cohort_set_contains with
 * device pointers. Queries of collections whose answers are counts, `any` or `first`, and looks have fixed
 * room. With device pointers they do not wait, copy nothing from or to the host, and can be captured in a
 * CUDA graph once one like it has run; each launch of the graph then answers what is in the arrays. A graph
 * is of use until the context's memory is trimmed or a collection it reads is destroyed.
 *
 * Threads. One context, with its sets, is used by one thread at a time. */
#ifndef COHORT_SET_H
#define COHORT_SET_H

#include "context.h"
#include "type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_set cohort_set;
typedef struct cohort_sets cohort_sets;
/* Cohort/device/set.h: what kernels of the user's own work on. */
struct cohort_sets_view;
struct cohort_set_view;

/* ---- making collections, and taking them apart
 * ------------------------------------------------------------------- */

/* How sets lie in arrays. */
typedef enum cohort_form {
    /* integers */
    COHORT_FORM_MEMBERS = 1,
    /* ranges of integers, the first and the last of each */
    COHORT_FORM_RANGES = 2,
    /* a bitmap a set: bit i says whether i is a member */
    COHORT_FORM_BITMAPS = 3,
    /* Roaring's portable format, a blob of bytes a set */
    COHORT_FORM_ROARING = 4,
    /* working sets; to build from alone. The other way, a set of a collection goes into a cohort_set by
     * cohort_sets_query: one row, OR, of that set alone, with `into` */
    COHORT_FORM_WORKING = 5
} cohort_form;

/* What a collection is built from.
 *
 * MEMBERS and RANGES have n entries. With `groups`, entry i belongs to set groups[i]: pairs in any order.
 * With `offsets`, set s has the entries offsets[s] to offsets[s + 1]: rows. With neither they are one set.
 * BITMAPS has n bitmaps of `bits` bits, the first from bit `bits_offset` of `members` on, each `stride` bytes
 * after the one before: one bitmap a set.
 * ROARING has n blobs: blob b is the bytes offsets[b] to offsets[b + 1] of `members`, and goes to set
 * groups[b] (NULL: to set b). Blobs of one group unite. bases[b] is added to every member of blob b.
 * WORKING has n working sets, each of which gives a set: `members` is an array of cohort_set pointers in host
 * memory. */
typedef struct cohort_sets_source {
    /* sizeof(cohort_sets_source) */
    size_t size;
    cohort_form form;
    /* of the collection's members: COHORT_U32 or COHORT_U64 */
    cohort_type type;
    uint64_t n;
    /* of the collection. 0, but with `offsets` of rows: with `groups` the greatest of them and one more;
     * else one, or n bitmaps or blobs */
    uint64_t sets;
    /* of `type`; BITMAPS: the bitmaps; ROARING: the bytes, aligned to nothing */
    const void *members;
    /* RANGES: the last member of each, not below the first */
    const void *lasts;
    /* in any memory */
    const uint64_t *offsets;
    const void *groups;
    /* of groups: COHORT_U32 or COHORT_U64; 0: COHORT_U32 */
    cohort_type group_type;
    cohort_type
        /* ROARING: which of the two formats the blobs have, 32-bit or 64-bit; 0: that of `type` */
        blob_type;
    /* ROARING; NULL: 0 */
    const uint64_t *bases;
    /* BITMAPS; a stride of 0: the least, (bits + 31) / 32 * 4; else a multiple of 4 */
    uint64_t bits, stride;
    /* BITMAPS: the bit of `members` that is the first, any */
    uint64_t bits_offset;
} cohort_sets_source;

#define COHORT_SETS_SOURCE_INIT                                                                    \
    {                                                                                              \
        sizeof(cohort_sets_source), COHORT_FORM_MEMBERS, COHORT_U32, 0, 0, NULL, NULL, NULL, NULL, \
            (cohort_type)0, (cohort_type)0, NULL, 0, 0, 0                                          \
    }

/* Builds a collection. Waits. O(n) but for the sorting of what is not sorted yet: integers by radix sort
 * (cohort_sort), which takes workspace of about the input's size twice. COHORT_RANGE: a group that is not
 * below `sets`, a range whose last is below its first, offsets that fall or go beyond n, a blob's member +
 * base beyond the type. COHORT_TRUNCATED, COHORT_CORRUPT: a blob that is not what it should be; the message
 * tells which blob and which byte. COHORT_OVERFLOW: more sets or chunks than a collection has, 2^48. *out is
 * NULL then. */
COHORT_API cohort_status cohort_sets_build(cohort_context *context, const cohort_sets_source *source,
                                           cohort_sets **out);
/* NULL is allowed. Does not wait. */
COHORT_API void cohort_sets_destroy(cohort_sets *sets);

/* Where the sets of a collection are to go.
 *
 * Sets which[0 .. n) are written one after the other; NULL: all sets. Arrays that are NULL are not written.
 * offsets[i] is the first entry (ROARING: byte) of the i-th of them, offsets[n] the total; groups[e] is the i
 * that entry e belongs to. BITMAPS: set 0 begins at bit `bits_offset` of `members`, set i `stride` bytes
 * after the one before, and members from `bits` on are left out. Bits before the first stay as they are. */
typedef struct cohort_sets_target {
    /* sizeof(cohort_sets_target) */
    size_t size;
    cohort_form form;
    /* as in cohort_sets_source */
    cohort_type group_type;
    cohort_type blob_type;
    /* 0 */
    uint32_t reserved;
    /* sets; not read if `which` is NULL */
    uint64_t n;
    /* in any memory */
    const uint64_t *which;
    /* entries (ROARING: bytes; BITMAPS: not read) that the arrays hold */
    uint64_t capacity;
    /* of the collection's type */
    void *members;
    void *lasts;
    /* n + 1; in any memory */
    uint64_t *offsets;
    void *groups;
    uint64_t bits, stride, bits_offset;
    /* out: entries (bytes) in all */
    uint64_t total;
} cohort_sets_target;

#define COHORT_SETS_TARGET_INIT                                                                         \
    {                                                                                                   \
        sizeof(cohort_sets_target), COHORT_FORM_MEMBERS, (cohort_type)0, (cohort_type)0, 0, 0, NULL, 0, \
            NULL, NULL, NULL, NULL, 0, 0, 0, 0                                                          \
    }

/* Writes sets into arrays. Waits. `total` is told in any case. COHORT_FULL if `capacity` is less and an array
 * is there to be written; nothing but `total` and `offsets` is written then. So a first call without arrays
 * sizes the second. ROARING: byte for byte what CRoaring 5.2 writes for the same members, run-optimised;
 * COHORT_RANGE if blob_type is COHORT_U32 and a member is above 32 bits.
 *
 * O(sets asked for + members and ranges written + chunks * log sets): each chunk is a piece of work, and
 * searches for its set. RANGES goes through the chunks twice. BITMAPS clears first what it writes. Workspace
 * is 16 bytes a set, and for RANGES 8 a chunk. ROARING is done on the host by one thread, in O(sets + chunks
 * + bytes written), with 8 bytes of the host's memory a set. On a device with memory of its own the whole
 * collection and the blobs pass through the host's memory, which must have room for both. COHORT_RANGE:
 * which[i] is no set. COHORT_NULL, COHORT_BAD_STRUCT, COHORT_BAD_POINTER, COHORT_OVERFLOW,
 * COHORT_NO_MEMORY. */
COHORT_API cohort_status cohort_sets_export(const cohort_sets *sets, cohort_sets_target *target);

/* The collection read by way of another context of the same device, as cohort_map_reader: *out has the same
 * sets, in the same memory, and belongs to `context`. So several threads, each with a context of its own, can
 * read one collection at once. It offers all that a collection does; the index that cohort_sets_containing
 * makes is the reader's own. `sets` must not be destroyed while a call on a reader is under way; once it was,
 * its readers can be destroyed and no more. Waits for the work on the context of `sets`. To be called by the
 * thread that uses that context or while no thread does. O(1). COHORT_UNSUPPORTED: another device. End it by
 * cohort_sets_destroy. */
COHORT_API cohort_status cohort_sets_reader(const cohort_sets *sets, cohort_context *context,
                                            cohort_sets **out);

typedef struct cohort_sets_info {
    /* in: sizeof(cohort_sets_info) */
    size_t size;
    cohort_type type;
    uint32_t reserved;
    uint64_t sets;
    /* of all sets */
    uint64_t members;
    /* sets that are plain lists, */
    uint64_t lists;
    /* and their members */
    uint64_t listed;
    /* of the other sets; of them: */
    uint64_t chunks;
    uint64_t arrays, bitmaps, runs, full;
    /* of memory, the index of cohort_sets_containing too once it is made */
    uint64_t bytes;
} cohort_sets_info;

#define COHORT_SETS_INFO_INIT                                                     \
    {                                                                             \
        sizeof(cohort_sets_info), (cohort_type)0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/* Counts what a collection is made of. Waits. O(chunks): the kinds are counted on the host, so from a device
 * with memory of its own all places are copied, 8 bytes a chunk, in pieces of 32 KiB. It is no call for an
 * inner loop. COHORT_NULL, COHORT_BAD_STRUCT: nothing is written then. */
COHORT_API cohort_status cohort_sets_get_info(const cohort_sets *sets, cohort_sets_info *info);

/* A view for code of the user's own (cohort/device/set.h), valid as long as the collection. Its pointers are
 * to the collection's own memory: on a device with memory of its own they are for kernels. O(1), does not
 * wait, copies nothing; a collection is whole when the call that makes it returns. COHORT_NULL: nothing is
 * written then. */
COHORT_API cohort_status cohort_sets_get_view(const cohort_sets *sets, struct cohort_sets_view *view);

/* ---- collections in files
 * ----------------------------------------------------------------------------------------------- */

/* Writes a collection to a file (docs/file-format.md), under another name until it is whole. Waits. O(bytes
 * of the collection): a copy, the checksums, the file. Takes memory of the host as large as the collection
 * while it works, twice that with a device's. COHORT_IO, COHORT_NO_MEMORY: a file that was there under the
 * name stays. */
COHORT_API cohort_status cohort_sets_save(const cohort_sets *sets, const char *path);

/* Reads such a file. Waits. The file may be anybody's: checksums, directory and every member are judged.
 * COHORT_BAD_VERSION, COHORT_TRUNCATED, COHORT_CORRUPT, COHORT_IO, COHORT_NO_MEMORY; *out is NULL then. */
COHORT_API cohort_status cohort_sets_load(cohort_context *context, const char *path, cohort_sets **out);

/* The same by functions of the caller's (context.h), of the same bytes. Wait. COHORT_IO: one has failed. */
COHORT_API cohort_status cohort_sets_save_to(const cohort_sets *sets, const cohort_output *output);
COHORT_API cohort_status cohort_sets_load_from(cohort_context *context, const cohort_input *input,
                                               cohort_sets **out);

/* The same without a copy: the collection is the file, mapped to be read. Header and directory are judged,
 * which costs what the directory is long; the members too if `validate` is 1, as cohort_sets_load does.
 * With 0, members that are damaged give wrong answers and never an access outside the collection. The file
 * must stay as it is until the collection is destroyed: one that is cut short meanwhile ends the process
 * by SIGBUS where what is gone is read. (A new file under the same name, as cohort_sets_save makes it,
 * does no harm.) On a device with memory of its own this is cohort_sets_load. COHORT_IO also if it is no
 * regular file. */
COHORT_API cohort_status cohort_sets_map(cohort_context *context, const char *path, uint32_t validate,
                                         cohort_sets **out);

/* ---- set operations
 * ---------------------------------------------------------------------------------------------- */

/* What a row's answer is made of its members, which are sets. A row without sets is empty. A set may be in a
 * row twice. */
typedef enum cohort_sets_op {
    /* in all of them */
    COHORT_SETS_AND = 1,
    /* in one of them */
    COHORT_SETS_OR = 2,
    /* in the first and in none of the others */
    COHORT_SETS_ANDNOT = 3,
    /* in an odd number of them */
    COHORT_SETS_XOR = 4,
    /* in `least` of them or more */
    COHORT_SETS_AT_LEAST = 5
} cohort_sets_op;

#define COHORT_QUERY_SETS_MOST 8u /* collections, and working sets, of one query */

/* A batch of operations, one a row. Sets are numbered through: those of collections[0], of collections[1] and
 * so on, then the working sets. All are of one type and one context.
 *
 * Row r has the sets members[offsets[r]] to members[offsets[r + 1]]; with offsets = NULL every row has
 * `arity` of them, row after row. With `each` there is one such list of `arity` sets, and as many rows as
 * collections[0] has sets: set r is put behind the list (1) or before it (2). So one set is asked against a
 * whole collection.
 *
 * What is wanted is not NULL. Of `into` there is at most one, and one row: the working set becomes the
 * answer. It may be one of the operands; of two it is changed in place, where it has the blocks that are
 * needed. */
typedef struct cohort_sets_query_desc {
    /* sizeof(cohort_sets_query_desc) */
    size_t size;
    cohort_sets_op op;
    uint32_t each;
    /* of AT_LEAST: 1 or more */
    uint64_t least;
    /* an array of pointers, in host memory, as the next one */
    cohort_sets *const *collections;
    cohort_set *const *working;
    uint32_t collections_count, working_count;
    uint64_t rows;
    const uint64_t *members;
    const uint64_t *offsets;
    uint64_t arity;
    /* out: members of each row's answer */
    uint64_t *counts;
    /* out: a bitmap of rows: is there a member? An answer is left at the first */
    uint8_t *any;
    /* the bit of row 0 */
    uint64_t any_offset;
    /* the first so many members */
    uint64_t first_most;
    /* out: of the type; row r's begin at first_most * r; what is behind them is not written */
    void *first;
    /* out: how many they are */
    uint64_t *first_counts;
    /* out */
    cohort_set *into;
    /* out, in host memory: a collection with a set a row. Such a call waits */
    cohort_sets **result;
} cohort_sets_query_desc;

#define COHORT_SETS_QUERY_INIT                                                                           \
    {                                                                                                    \
        sizeof(cohort_sets_query_desc), COHORT_SETS_AND, 0, 0, NULL, NULL, 0, 0, 0, NULL, NULL, 0, NULL, \
            NULL, 0, 0, NULL, NULL, NULL, NULL                                                           \
    }

/* Answers all rows; on a GPU in one launch, whatever their sizes. COHORT_RANGE: a member that is no set;
 * in device memory it counts as empty, and cohort_wait tells of it. Costs what the chunks cost that the
 * operands share (AND), or have (OR): chunks that are absent or full cost nothing. Working sets are
 * copied into a collection first, which waits. `into` becomes the answer when it is known, or stays as it
 * was where the call fails: COHORT_FULL, its pool is too small for the answer; COHORT_RANGE, a member is
 * not below its limit. After COHORT_DEVICE_ERROR it is only to be destroyed. AND, OR, XOR, and ANDNOT with
 * `into` first, of two operands alone, take no second set. No collection is made of two working sets either
 * whose answer goes into a third one, unless its pool may be too small, or a member beyond its limit; nor,
 * on a CPU context, of one and a set of a collection, or where `into` is the second of ANDNOT, in chunks, and
 * all limits are one. */
COHORT_API cohort_status cohort_sets_query(cohort_context *context, const cohort_sets_query_desc *desc);

/* ---- looking into sets
 * ------------------------------------------------------------------------------------------- */

typedef enum cohort_look {
    /* hit: is values[i] a member? */
    COHORT_LOOK_CONTAINS = 1,
    /* results (uint64_t): members below values[i] */
    COHORT_LOOK_RANK = 2,
    /* results (members): the member whose rank is values[i] (uint64_t); hit: there is one */
    COHORT_LOOK_SELECT = 3,
    /* results (members): the least that is not below values[i]; hit: there is one */
    COHORT_LOOK_NEXT = 4,
    /* results (uint64_t): members from values[i] to lasts[i]; without values: all */
    COHORT_LOOK_COUNT = 5,
    /* results (members): the least; hit: there is one */
    COHORT_LOOK_MIN = 6,
    /* the greatest */
    COHORT_LOOK_MAX = 7,
    /* hit: are sets which[i] and others[i] the same? */
    COHORT_LOOK_EQUAL = 8,
    /* hit: is which[i] a part of others[i]? */
    COHORT_LOOK_SUBSET = 9,
    /* hit: have they a member in common? */
    COHORT_LOOK_INTERSECTS = 10
} cohort_look;

/* n questions: question i asks set which[i] (NULL: set `set`). Fields that the kind does not name are NULL.
 * Where `hit` is 0, a result that is a member is not written. */
typedef struct cohort_sets_look_desc {
    /* sizeof(cohort_sets_look_desc) */
    size_t size;
    cohort_look kind;
    /* 0 */
    uint32_t reserved;
    uint64_t n;
    uint64_t set;
    const uint64_t *which;
    const uint64_t *others;
    /* of the collection's type; SELECT: uint64_t */
    const void *values;
    const void *lasts;
    /* may be NULL where there is `hit` */
    void *results;
    /* may be NULL where there are results */
    uint8_t *hit;
    /* the bit of question 0 */
    uint64_t hit_offset;
} cohort_sets_look_desc;

#define COHORT_SETS_LOOK_INIT                                                                               \
    {                                                                                                       \
        sizeof(cohort_sets_look_desc), COHORT_LOOK_CONTAINS, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0 \
    }

/* Answers n questions. A set that the collection has not is COHORT_RANGE; in device memory cohort_wait tells,
 * and it is taken for an empty set. CONTAINS is O(1), the others O(log chunks + log entries) at most. */
COHORT_API cohort_status cohort_sets_look(const cohort_sets *sets, const cohort_sets_look_desc *desc);

/* Which sets contain each of n values. The answer is a sequence of set numbers, ascending for each value,
 * those of values[0] first: rows, as they are in other libraries' compressed sparse rows. What is NULL is
 * not wanted. Entries [first, first + capacity) of the sequence are written to `sets` as far as they exist.
 * So a call with `counts`, or with `offsets` and `total`, sizes the answer; a second one fetches it; an
 * answer too large for memory is fetched page by page. Values may be in any order and come more than once. */
typedef struct cohort_sets_containing_desc {
    /* sizeof(cohort_sets_containing_desc) */
    size_t size;
    uint64_t n;
    /* n, of the collection's type */
    const void *values;
    /* the entry that is the first in `sets`, */
    uint64_t first;
    /* and the entries that it holds */
    uint64_t capacity;
    /* out: n; in how many sets each value is */
    uint64_t *counts;
    /* out: n + 1; entry offsets[i] is the first of value i, offsets[n] the end of the last */
    uint64_t *offsets;
    /* out: 1, in any memory; all entries that there are */
    uint64_t *total;
    /* out: `capacity` of them, or as many as there are from `first` on */
    uint64_t *sets;
} cohort_sets_containing_desc;

#define COHORT_SETS_CONTAINING_INIT                                                \
    {                                                                              \
        sizeof(cohort_sets_containing_desc), 0, NULL, 0, 0, NULL, NULL, NULL, NULL \
    }

/* Answers n values. The first call makes the collection's index, which waits: O(chunks + members of lists)
 * but for a radix sort of both. The index is memory of the context, some 32 bytes for each chunk and 10 for
 * each member of a list (with 64-bit members 36 and 14), is counted in cohort_sets_info's `bytes`, and goes
 * with the collection. Making it takes workspace of up to about twice its size; where there is no memory,
 * COHORT_NO_MEMORY, the collection is as it was. A call with n = 0 makes the index and answers nothing.
 *
 * Once the index is there, a call with device pointers alone has fixed room, whatever it asks for: it waits
 * for nothing, copies nothing from or to the host, and can be captured in a CUDA graph. Workspace: 8 bytes a
 * value, and on a GPU up to 100 KiB more; none on one CPU thread. Finding a value's chunks and lists is
 * O(1) where keys lie evenly, else O(log); then 8 bytes of digest are read for each chunk that has its key,
 * each of these whose digest has the value's bit is looked into (as CONTAINS does), and each list that
 * contains it is an answer at once. `sets` costs twice what counts cost, but on one CPU thread. COHORT_NULL,
 * COHORT_BAD_POINTER, COHORT_OVERFLOW, COHORT_RANGE (arrays overlap): nothing is written then. */
COHORT_API cohort_status cohort_sets_containing(cohort_sets *sets, const cohort_sets_containing_desc *desc);

/* ---- working sets
 * --------------------------------------------------------------------------------------------- */

/* One set that changes. Its directory has two bits for each chunk of 2^16 integers: there are members; all
 * are. Chunks in between have a block of 8 KiB from the set's own pool and a cardinality; absent and full
 * ones take no block. A *flat* set is one plain bitmap of its universe, and has no pool.
 *
 * Directory, pool and blocks, or the bitmap, lie in the context's memory, on a GPU context the device's, and
 * its kernels work on them: they take blocks from the pool and give them back, by a queue of the blocks that
 * are free. On a CPU context a block of few members holds them as an array until somebody asks for a view of
 * the set. An update copies 48 bytes for each chunk that it touches from the host to the device, and no
 * members; the host waits once, for the word that there is enough. */
typedef enum cohort_set_layout {
    /* flat with a `limit` of up to 2^24, else chunks */
    COHORT_SET_CHOSEN = 0,
    /* with a limit of up to 2^32: limit / 8 bytes */
    COHORT_SET_FLAT = 1,
    COHORT_SET_CHUNKS = 2
} cohort_set_layout;

typedef struct cohort_set_options {
    /* sizeof(cohort_set_options) */
    size_t size;
    /* of members: COHORT_U32 or COHORT_U64 */
    cohort_type type;
    cohort_set_layout layout;
    /* members are below; 0: all of the type */
    uint64_t limit;
    /* of the pool, 8 KiB each; 0: one for each chunk below the limit, but no more than 65,536, or, if that is
     * more, than 8 for each chunk that the device can work on at once: one a thread of a CPU, 64 a
     * multiprocessor of a GPU */
    uint64_t blocks;
} cohort_set_options;

#define COHORT_SET_OPTIONS_INIT                                         \
    {                                                                   \
        sizeof(cohort_set_options), COHORT_U32, COHORT_SET_CHOSEN, 0, 0 \
    }

/* Makes an empty set. The pool's memory is taken at once, on a GPU context the device's (where the system
 * gives memory when it is first touched, it costs nothing until then). COHORT_RANGE, COHORT_NO_MEMORY; *out
 * is NULL then. */
COHORT_API cohort_status cohort_set_create(cohort_context *context, const cohort_set_options *options,
                                           cohort_set **out);
/* NULL is allowed. */
COHORT_API void cohort_set_destroy(cohort_set *set);

typedef struct cohort_set_info {
    /* in: sizeof(cohort_set_info) */
    size_t size;
    cohort_type type;
    /* FLAT or CHUNKS */
    cohort_set_layout layout;
    /* 0: 2^64 */
    uint64_t limit;
    uint64_t members;
    /* with members; with all */
    uint64_t chunks, full;
    /* of the pool */
    uint64_t blocks, blocks_used;
    /* of memory: all blocks, 4 bytes more for each, on a CPU context 132, or 128 of each chunk of a flat
     * set, 256, and the directory's nodes of 532 bytes: all that there can be, or at first 1,024 and one
     * for 16 blocks, and twice as many when they do not suffice */
    uint64_t bytes;
} cohort_set_info;

#define COHORT_SET_INFO_INIT                                                            \
    {                                                                                   \
        sizeof(cohort_set_info), (cohort_type)0, COHORT_SET_CHOSEN, 0, 0, 0, 0, 0, 0, 0 \
    }

/* Waits for what the context has under way, and on a GPU copies some 100 bytes. O(1). */
COHORT_API cohort_status cohort_set_get_info(const cohort_set *set, cohort_set_info *info);

typedef enum cohort_set_op {
    COHORT_SET_ADD = 1,
    COHORT_SET_REMOVE = 2,
    /* what is in goes out, what is not comes in; once, however often the source has it */
    COHORT_SET_FLIP = 3
} cohort_set_op;

/* Changes the set by a source of its type and of one set at most, as cohort_sets_build takes them: integers
 * in any order and more than once, ranges, bitmaps, Roaring, working sets. O(n) but for sorting, and
 * O(chunks changed). COHORT_RANGE: a member is not below the limit. COHORT_FULL: fewer blocks are left than
 * chunks need that come to be partly filled; what the call gives back does not count. COHORT_NO_MEMORY. The
 * set is as it was then. COHORT_DEVICE_ERROR: it is only to be destroyed. Waits. But FORM_MEMBERS in device
 * memory, without groups and offsets, does not: cohort_wait tells of RANGE and FULL, which it also is if
 * the directory lacks nodes, for which an update that waits makes room. That takes some 30 bytes of
 * workspace a member, of 64-bit ones up to 100. */
COHORT_API cohort_status cohort_set_update(cohort_set *set, cohort_set_op op,
                                           const cohort_sets_source *source);

/* The set becomes empty. All blocks go back to the pool, no memory to the system. Does not wait. 4 bytes
 * a block are written, on a CPU context for each one that came back since the set was empty; of a flat
 * set the chunks with members are cleared. COHORT_NULL. COHORT_DEVICE_ERROR: the set is only to be
 * destroyed then. */
COHORT_API cohort_status cohort_set_clear(cohort_set *set);

/* `to` becomes what `from` is. Same context and type; limits, layouts and pools may differ. COHORT_RANGE: a
 * member is not below the limit of `to`; COHORT_FULL: its pool is too small; COHORT_NO_MEMORY. It is as it
 * was then. */
COHORT_API cohort_status cohort_set_copy(cohort_set *to, const cohort_set *from);

/* Writes the set into arrays, as cohort_sets_export does with a collection of one set: members, ranges, a
 * bitmap or Roaring's bytes. Waits. */
COHORT_API cohort_status cohort_set_export(const cohort_set *set, cohort_sets_target *target);

/* hit: a bitmap of n bits: is values[i], of the set's type, a member? With device pointers it does not
 * wait. O(1) each. */
COHORT_API cohort_status cohort_set_contains(const cohort_set *set, uint64_t n, const void *values,
                                             uint8_t *hit);

/* A view for code of the user's own (cohort/device/set.h): the directory itself, on a GPU context for
 * kernels. Whatever is enqueued behind a change sees the set as it is then. Valid until the set is destroyed,
 * or until an update makes room for more nodes of the directory, which those of sets with a limit of up to
 * 2^32 never do. Does not wait. O(1); the first view on a CPU context makes bitmaps of all blocks that are
 * arrays, and from then on there are none. */
COHORT_API cohort_status cohort_set_get_view(const cohort_set *set, struct cohort_set_view *view);

#ifdef __cplusplus
}
#endif
#endif
