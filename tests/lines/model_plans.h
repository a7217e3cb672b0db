/* model_plans.h: all plans of a size on one table, by number. */
#ifndef LINES_MODEL_PLANS_H
#define LINES_MODEL_PLANS_H

#include "model_lines.h"

/* Tables of the model: as few slots as show what there is to be shown. */
enum lines_shape {
    SHAPE_NEAR,    /* four homes of one slot, each with two near ones and no partner place */
    SHAPE_PARTNER, /* the same with one near and one partner place */
    SHAPE_BOTH,    /* two near, one partner place */
    SHAPE_SLOTS,   /* two homes of two slots, each the other's partner */
    SHAPE_ONE,     /* one home of two slots */
    SHAPES
};
extern const char *const lines_shape_names[SHAPES];

/* Settings without bugs. */
struct lines_settings lines_settings_of(enum lines_shape, int one_word, int values);

/* Operations of each thread; 0 from the first thread on that there is not. */
struct plan_size {
    uint8_t each[MODEL_THREADS];
};

/* All operations on two keys (of one home, then of two), from every table that the shape can have with all
 * five keys in or out. Each operation has a value of its own; or, if it says so in the settings, the plans
 * are those in which some change changes nothing, from a table or behind an insert: an add of 0, or an
 * assign of the key's first value. */
uint64_t plans_count(const struct lines_settings *, struct plan_size);

/* The plan of a number below that; 0: it is the same as another, with threads exchanged, or its table is
 * none. After lines_model. */
int plans_get(const struct lines_settings *, struct plan_size, uint64_t number, struct model_plan *);

/* ---- named plans (model_cases.c) ----------------------------------------------------------------------- */

/* Plans of the first exploration of the protocol, on the shape near: what each is for, by number; NULL: there
 * is none. After lines_model. */
const char *cases_get(const struct lines_settings *, unsigned number, struct model_plan *);

#endif
