/* cpu/split.h: what the CPU's multisplit, sort, compaction and sums share: ids of blocks of keys, the stable
 * pass that moves arrays into buckets. */
#ifndef COHORT_CPU_SPLIT_H
#define COHORT_CPU_SPLIT_H

#include "core/arena.h"
#include "cpu.h"
#include "shape/multisplit.h"

/* ---- split_ids.c: the ids of keys ---------------------------------------------------------------------- */

#define CPU_IDS 1024u /* keys whose ids are made at a time */

/* A function and the keys that it is of. */
struct cpu_ids {
    const struct split_fn *fn;
    const struct split_source *source; /* of USER and MEMBER */
    const void *keys;
    co_u32 key_bytes;
    enum cpu_level level;
};

/* ids[i] = the id of key first + i, for count <= CPU_IDS of them; m or more for those that have none. */
void cpu_ids(const struct cpu_ids *f, co_u64 first, co_u32 count, co_u32 *ids);

/* Whether a function costs so much that its ids are better kept than made twice; so are USER's, which must be
 * the same both times. */
int cpu_ids_are_dear(const struct split_fn *fn);

/* Sortable digits: (key, as `order` maps it to an unsigned number, >> shift) & mask. */
struct cpu_digit {
    co_u32 order, descending, shift, mask;
};

co_u32 cpu_order_bytes(co_u32 order);

/* The numbers that keys are sorted by, and back. */
void cpu_order_keys(const struct cpu_digit *digit, const void *keys, co_u64 first, co_u32 count, co_u64 *to);
void cpu_order_back(const struct cpu_digit *digit, const co_u64 *numbers, co_u32 count, void *to);

struct cpu_pass;

/* Buckets that are bits of the keys: (key >> shift) & mask. */
struct cpu_bits {
    const char *keys; /* NULL: they are not */
    co_u32 bytes, shift, mask;
};

struct cpu_bits cpu_pass_bits(const struct cpu_pass *p);

CO_INLINE co_u32 cpu_bits_at(const char *keys, co_u64 i, co_u32 bytes, co_u32 shift, co_u32 mask)
{
    return bytes == 4 ? ((const co_u32 *)(const void *)keys)[i] >> (shift & 31) & mask
                      : (co_u32)(((const co_u64 *)(const void *)keys)[i] >> (shift & 63)) & mask;
}

/* The buckets of entries first .. first + count of a pass, p->buckets for those that have none. */
void cpu_pass_digits(const struct cpu_pass *p, co_u64 first, co_u32 count, co_u16 *to);

/* ---- split_pass.c: one stable pass --------------------------------------------------------------------- */

#define CPU_PASS_BUCKETS 2048u                    /* at most */
#define CPU_CHUNK        2048u                    /* entries whose buckets are made at a time */
#define CPU_ARRAYS_MOST  (BATCH_COLUMNS_MOST + 3) /* keys, columns, permutation, ids */

/* One array that is moved. */
struct cpu_array {
    const void *in; /* NULL: entry i is the pass's `first` + i, of 4 or 8 bytes */
    void *out;
    co_u32 bytes;
};

/* Where a pass takes the bucket of an entry from. */
enum cpu_source { CPU_FROM_FN, CPU_FROM_KEPT, CPU_FROM_DIGIT };

struct cpu_pass {
    const char *what; /* what the caller's progress function is told of it; NULL: nothing */
    co_u64 n, first;
    co_u32 buckets; /* ids from here on: entries that are dropped */
    enum cpu_source source;
    struct cpu_ids ids; /* FN; of DIGIT the keys */
    const co_u16 *kept; /* KEPT */
    /* Writes those of begin .. end - 1 before they are counted; may be NULL. */
    void (*make)(const void *arg, co_u64 begin, co_u64 end);
    const void *arg;
    struct cpu_digit digit;
    co_u32 arrays;
    struct cpu_array array[CPU_ARRAYS_MOST];
    co_u64 *offsets;       /* out: buckets + 1 */
    co_u64 bad, first_bad; /* out: entries dropped, the least of them (~0: none) */
    /* Set by cpu_pass_arena and _move. */
    enum cpu_level level;
    co_u32 stride, parts, streaming, tiles, planes;
    co_u64 *starts; /* a row a part: first its counts, then where its entries go */
    co_u64 *firsts; /* a part's first bad entry */
    char *scratch;  /* a piece a worker */
    co_u64 each;    /* bytes of a piece */
};

/* Divides the memory for `pass`, of which n, buckets and the arrays' widths must be set, or only tells how
 * much it takes. */
void cpu_pass_arena(cohort_context *context, struct cpu_pass *pass, struct arena *arena);

/* Counts: offsets, bad, first_bad. COHORT_CANCELLED if pass->what is told, and was ended. */
cohort_status cpu_pass_count(cohort_context *context, struct cpu_pass *pass);

/* Moves the arrays, after cpu_pass_count. */
cohort_status cpu_pass_move(cohort_context *context, struct cpu_pass *pass);

/* A worker's piece of the scratch. */
static inline char *cpu_pass_scratch(const struct cpu_pass *p, unsigned worker)
{
    return p->scratch + (p->parts > 1 ? worker : 0) * p->each;
}

/* ---- split_part.c: parts and chunks -------------------------------------------------------------------- */

/* Where a part begins; the part behind the last one begins at the end. */
co_u64 cpu_part_begin(const struct cpu_pass *p, co_u64 part);

/* The buckets of a chunk, in `own` or elsewhere. */
const co_u16 *cpu_chunk_digits(const struct cpu_pass *p, co_u64 i, co_u32 count, co_u16 *own);

/* Entries i to i + count of an array, in place, or as made in `numbers`. */
const char *cpu_chunk_of(const struct cpu_pass *p, const struct cpu_array *array, co_u64 i, co_u32 count,
                         co_u64 *numbers);

/* ---- split_move.c: its second half --------------------------------------------------------------------- */

/* Bytes that a worker needs to move the arrays. */
co_u64 cpu_move_bytes(const struct cpu_pass *p);

/* ---- split_tiles.c: the same for few buckets ----------------------------------------------------------- */

/* Bytes that a worker needs; 0: this is never for the pass. */
co_u64 cpu_tiles_bytes(const struct cpu_pass *p);

/* Whether it can be done so, after counting. */
int cpu_tiles_fit(const struct cpu_pass *p);

/* Moves the arrays of a part. */
void cpu_tiles_move(const struct cpu_pass *p, co_u64 part, char *scratch);

/* ---- split_planes.c: counting for few buckets ---------------------------------------------------------- */

#define CPU_PLANES_MOST 128u /* buckets */

int cpu_planes_fit(const struct cpu_pass *p);

/* Adds the entries of each bucket among these, CPU_CHUNK at most, to sums, of which there are
 * CPU_PLANES_MOST. `ahead`: what is asked for meanwhile, `bytes` an entry. */
void cpu_planes_count(const struct cpu_pass *p, const co_u16 *digits, co_u32 entries, const char *ahead,
                      co_u32 bytes, co_u64 *sums);

/* ---- split_pass.c: arrays ------------------------------------------------------------------------------ */

/* Keys (where keys_out is not NULL), columns and permutation (where it is not) as the arrays of a pass. */
void cpu_pass_arrays(struct cpu_pass *pass, const void *keys, void *keys_out, co_u32 key_bytes,
                     const struct batch_column *column, co_u32 columns, void *permutation,
                     co_u32 permutation_bytes);

/* Moves the arrays of a pass as they are, all entries. */
void cpu_pass_copy(cohort_context *context, const struct cpu_pass *pass);

#endif
