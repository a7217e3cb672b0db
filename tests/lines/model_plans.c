/* model_plans.c: see model_plans.h. A number has a digit for each key's place at first, one for the two keys
 * that the operations are on, and one for each operation. */
#include "model_plans.h"

#include <string.h>

const char *const lines_shape_names[SHAPES] = {"near", "partner", "both", "slots", "one"};

static const struct {
    uint8_t homes, slots, near, far, partner[LINES_HOMES], home_of[MODEL_KEYS + 1];
} shapes[SHAPES] = {
    {4, 1, 2, 0, {0, 0, 0, 0}, {0, 0, 0, 1, 1, 2}}, {4, 1, 1, 1, {2, 1, 1, 3}, {0, 0, 0, 1, 2, 3}},
    {4, 1, 2, 1, {2, 3, 2, 2}, {0, 0, 0, 1, 1, 3}}, {2, 2, 1, 1, {1, 1, 0, 0}, {0, 0, 0, 1, 1, 0}},
    {1, 2, 1, 0, {0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}},
};

/* Keys of one home; keys of two. */
static const uint8_t pairs[2][2] = {{1, 2}, {1, 3}};
enum { STARTING_VALUE = 20 };

struct lines_settings lines_settings_of(enum lines_shape shape, int one_word, int values)
{
    struct lines_settings s = {.homes = shapes[shape].homes,
                               .slots = shapes[shape].slots,
                               .near = shapes[shape].near,
                               .far = shapes[shape].far,
                               .one_word = one_word,
                               .values = values,
                               .pull = 1,
                               .moves = shape == SHAPE_BOTH || shape == SHAPE_SLOTS ? 1 : 2,
                               .waits = 1,
                               .version_bits = 16};
    memcpy(s.partner, shapes[shape].partner, sizeof s.partner);
    for (unsigned key = 0; key <= MODEL_KEYS; key++)
        s.home_of[key] = shapes[shape].home_of[key];
    return s;
}

/* What an operation can be: a kind; behind those come changes that change nothing. */
static unsigned kinds_of(const struct lines_settings *s)
{
    return s->values ? KINDS + (s->same ? KINDS - KIND_ASSIGN : 0) : KIND_ASSIGN;
}

static unsigned operations(struct plan_size size)
{
    unsigned sum = 0;
    for (unsigned t = 0; t < MODEL_THREADS; t++)
        sum += size.each[t];
    return sum;
}

uint64_t plans_count(const struct lines_settings *s, struct plan_size size)
{
    uint64_t count = 2;
    for (unsigned key = 0; key < MODEL_KEYS; key++)
        count *= lines_window() + 1;
    for (unsigned i = 0; i < operations(size); i++)
        count *= 2 * kinds_of(s);
    return count;
}

/* Threads are alike: of plans that differ in their order alone one will do. */
static int is_first_of_alike(const struct model_plan *p, const uint8_t *digits)
{
    unsigned at = 0;
    for (unsigned t = 0; t + 1 < p->threads; at += p->each[t], t++)
        if (p->each[t] == p->each[t + 1] && memcmp(digits + at, digits + at + p->each[t], p->each[t]) > 0)
            return 0;
    return 1;
}

/* The operation of a digit, number i of the plan. *same: it is a change that changes nothing. */
static struct model_op op_of(const struct lines_settings *s, unsigned digit, unsigned i, const uint8_t *keys,
                             int torn, int *same)
{
    struct model_op op = {
        .kind = (uint8_t)(digit / 2), .key = keys[digit % 2], .operand = (uint8_t)(s->values ? i + 1 : 0)};
    if (op.kind >= KINDS) {
        op.kind = (uint8_t)(op.kind - KINDS + KIND_ASSIGN);
        op.operand = op.kind == KIND_ADD ? 0 : (uint8_t)(STARTING_VALUE + op.key);
        *same = 1;
    } else if (op.kind == KIND_INSERT && s->same) {
        op.operand = (uint8_t)(STARTING_VALUE + op.key);
    }
    if (torn && op.kind == KIND_FIND)
        op.key = keys[0] | keys[1];
    return op;
}

int plans_get(const struct lines_settings *s, struct plan_size size, uint64_t number, struct model_plan *p)
{
    uint8_t digits[MODEL_THREADS * MODEL_EACH], keys[2], values[MODEL_KEYS + 1];
    int8_t names[MODEL_KEYS + 1] = {-1};
    unsigned i = 0;
    int same = !s->same;
    memset(p, 0, sizeof *p);
    for (unsigned t = 0; t < MODEL_THREADS && size.each[t]; t++)
        p->each[p->threads++] = size.each[t];
    for (unsigned k = 0; k < operations(size); k++, number /= 2 * kinds_of(s))
        digits[k] = (uint8_t)(number % (2 * kinds_of(s)));
    const int torn = s->split && number % 2; /* who looks, looks for a key of a word of each */
    memcpy(keys, pairs[s->split ? 0 : number % 2], sizeof keys);
    number /= 2;
    for (unsigned key = 1; key <= MODEL_KEYS; key++, number /= lines_window() + 1)
        names[key] = (int8_t)(number % (lines_window() + 1)) - 1,
        values[key] = (uint8_t)(STARTING_VALUE + key);
    if (!is_first_of_alike(p, digits) || !lines_table(names, values, p))
        return 0;
    for (unsigned t = 0; t < p->threads; t++)
        for (unsigned k = 0; k < p->each[t]; k++, i++)
            p->op[t][k] = op_of(s, digits[i], i, keys, torn, &same);
    return same;
}
