/* split.h: what the methods of a multisplit on a GPU share: workspace, and the parts of a pass, which is one
 * split from what comes in to what goes out. */
#ifndef COHORT_CUDA_SPLIT_H
#define COHORT_CUDA_SPLIT_H

#include "backend/multisplit.h"
#include "device.h"
#include "shape/split_step.h"
#include "split_tuning.h"

static inline uint64_t at_least_one(uint64_t n)
{
    return n ? n : 1;
}

/* A pass: what comes in and goes out, and what the launches need. */
struct pass {
    const struct split_tuning *tuning;
    struct split_step step;
    struct split_part source; /* of the first launch, where ids come from in truth */
    co_u64 *scan;
    void *cleared; /* before the launches */
    uint64_t cleared_bytes;
    enum split_form form; /* how the place kernel finds numbers */
    int gathers;          /* its tiles are gathered from what a split IN_TILES has left */
};

/* ---- split_pass.c -------------------------------------------------------------------------------------- */

/* The function, and where its keys or its ids are; these are the first part, and are written nowhere unless
 * `out` says so. */
void pass_begin(struct pass *p, const struct split_fn *fn, uint64_t n, const void *keys, unsigned key_bytes,
                void *out, struct arena *arena);

/* The same for all that a split names. */
void pass_begin_split(struct pass *p, const struct split *s, struct arena *arena);

/* One more column; nothing if it is written nowhere. Entries of 16 bytes go in two halves. */
void pass_add_column(struct split_step *step, const void *in, void *out, unsigned bytes);
void pass_add_part(struct split_step *step, const void *in, void *out, unsigned bytes, unsigned stride);

/* Bytes of the widest part, at least 4. */
unsigned pass_widest(const struct split_step *step);

/* Bytes of an id that is already there, 0 for other kinds. */
unsigned pass_ids_width(co_u32 kind);

/* Are ids computed anew by the launch after the count? Else the count leaves them behind. */
int pass_is_cheap(co_u32 kind, unsigned key_bytes);

/* Keys of 4 bytes, and one column or the permutation of 4. */
int pass_is_pair(const struct split *s);

/* ---- split_tile.c -------------------------------------------------------------------------------------- */

/* A pass by tiles, begun, with its way and its digit of the id: what it needs; and its launches. */
cohort_status tile_plan(cohort_context *context, struct pass *p, struct arena *arena);
cohort_status tile_run(cohort_context *context, const struct pass *p);

/* How its kernel finds numbers: the form of its instance. LOOSE may leave ids behind, in workspace. */
enum split_form tile_numbers(struct split_step *step, struct arena *arena);

/* What goes through a tile. */
enum split_payload tile_payload(const struct pass *p);

/* Do keys of 4 bytes, or pairs of 4 + 4, go by blocks that go on from tile to tile? Not where they look back,
 * if numbers are not those of pages. */
int tile_is_fetched(const struct gpu *g, enum split_payload payload, unsigned buckets, uint64_t n);

/* So many blocks of the pass's kernel. */
cohort_status tile_launch(cohort_context *context, const struct pass *p, uint64_t blocks);

/* Its last launch, where table and what tiles publish are ready. */
cohort_status tile_place(cohort_context *context, const struct pass *p);

/* ---- split_count.c ------------------------------------------------------------------------------------- */

/* bins[b] = the entries in bucket b, or [digit][b] if the pass has digits; ids are left behind if it says
 * so. */
cohort_status split_count_all(cohort_context *context, const struct pass *p, co_u64 *bins);

/* The same where the bins are cleared already. */
cohort_status split_count_into(cohort_context *context, const struct pass *p, co_u64 *bins);

/* ---- the methods --------------------------------------------------------------------------------------- */

/* split_direct.c: DIRECT and WARP */
cohort_status split_by_warps(cohort_context *context, const struct split *s, struct arena *arena);

/* split_once.c: a split of few entries, in one launch; 0: they are too many, or of another kind */
int split_at_once(cohort_context *context, const struct split *s, struct arena *arena, cohort_status *status);

/* split_tile.c: BLOCK, LOOK_BACK, RESERVED; split_digits.c: DIGITS */
cohort_status split_by_blocks(cohort_context *context, const struct split *s, struct arena *arena);
cohort_status split_by_look_back(cohort_context *context, const struct split *s, struct arena *arena);
cohort_status split_by_reserving(cohort_context *context, const struct split *s, struct arena *arena);
cohort_status split_by_digits(cohort_context *context, const struct split *s, struct arena *arena);

#endif
