/* cuda/sets.c: collections of sets on a GPU: the table of entries, and which kernel does a step of making,
 * writing out or looking. */
#include "sets.h"

/* What a kernel has for each item: a lane or a warp, which may have a bitmap. */
enum lanes { LANE, WARP, WARP_BITMAP, ONE_WARP };

struct step {
    const char *kernel;
    enum lanes lanes;
};

static cohort_status launch(cohort_context *context, const struct step *step, uint64_t items,
                            const void *args)
{
    switch (step->lanes) {
    case LANE:
        return gpu_launch(context, step->kernel, items, args);
    case ONE_WARP: /* for so many items */
        return gpu_launch_warps(context, step->kernel,
                                items / SETS_REACH_TILE + (items % SETS_REACH_TILE != 0), 0, args);
    default:
        return gpu_launch_warps(context, step->kernel, items, step->lanes == WARP_BITMAP ? CO_CHUNK_BYTES : 0,
                                args);
    }
}

cohort_status cuda_sets_step(cohort_context *context, const struct sets_step *s, enum sets_step_kind kind)
{
    static const struct step steps[SETS_STEPS] = {
        [SETS_OWNERS] = {"sets_owners", LANE},       [SETS_REACH] = {"sets_reach", ONE_WARP},
        [SETS_UNITE] = {"sets_unite_flags", LANE},   [SETS_UNITED] = {"sets_united", LANE},
        [SETS_PIECES] = {"sets_pieces", LANE},       [SETS_FLAGS] = {"sets_flags", LANE},
        [SETS_UNIQUE] = {"sets_unique", LANE},       [SETS_STARTS] = {"sets_starts", LANE},
        [SETS_FIRSTS] = {"sets_firsts", LANE},       [SETS_MEASURE] = {"sets_measure", WARP},
        [SETS_CHOOSE] = {"sets_chooses", LANE},      [SETS_UNITS] = {"sets_sizes", LANE},
        [SETS_DIRECTORY] = {"sets_directory", LANE}, [SETS_WORDS] = {"sets_words", LANE},
        [SETS_INDEX] = {"sets_index", LANE},         [SETS_MEMBERS] = {"sets_members", WARP_BITMAP},
    };
    return launch(context, &steps[kind], s->items, s);
}

cohort_status cuda_sets_take(cohort_context *context, const struct sets_take *t, enum sets_take_kind kind)
{
    static const struct step steps[SETS_TAKES] = {
        [SETS_TAKE_SIZES] = {"sets_take_sizes", LANE},     [SETS_TAKE_COUNT] = {"sets_take_count", WARP},
        [SETS_TAKE_OFFSETS] = {"sets_take_offsets", LANE}, [SETS_TAKE_MEMBERS] = {"sets_take_members", WARP},
        [SETS_TAKE_RANGES] = {"sets_take_ranges", WARP},   [SETS_TAKE_BITS] = {"sets_take_bits", WARP},
    };
    return launch(context, &steps[kind], t->items, t);
}

const struct sets_backend cuda_sets_backend = {
    .step = cuda_sets_step,
    .take = cuda_sets_take,
    .look = cuda_sets_look,
    .query = cuda_sets_query,
    .index = cuda_sets_index,
    .containing = cuda_sets_containing,
};
