/* schedules_moves.c: LINES, keys that are moved while others are at work on them, through all schedules.
 *
 *   displace   K is put in where the window of its home is full. The first key of another home there that has
 *              a free slot in its own window, M, must go to that slot.
 *   return     The same with M in its own home, and K is erased after that: M is pulled home, to where it
 *              was.
 *   pull       M lies outside of its home, in which all slots are taken. A key that lies there is erased, so
 *              M is pulled home.
 *
 *   reuse      As pull; and a third lane puts in a key, Y, which the slot that M leaves is the first free one
 *              for. The other one looks for M: who reads Y there must see that M is not named there any more.
 *              That takes one old value, a look that begins between the erase and the move, and M's slot
 *              retired with what came before it.
 *
 * The other lane's operations are on M. There may be any number of preemptions, beside erase + insert,
 * and in `return` beside all but a find, two; and in weak memory one old value. The quick form has strong
 * memory alone, and so has the ordinary one where plans are long. The counters say whether a key was moved:
 * in each schedule if the other one only looks, in at least one if it changes M's value or takes M out, since
 * M may be locked or gone then. */
#include "schedules_lines.h"

enum { K, M, KEYS, Y = KEYS, REUSE_KEYS }; /* K: what the first lane is about */
enum move { DISPLACE, RETURN, PULL, MOVES };

/* The other lane's. */
static const unsigned char others[][2] = {{CO_OP_FIND, LIST_END},
                                          {CO_OP_ADD, LIST_END},
                                          {CO_OP_ASSIGN, LIST_END},
                                          {CO_OP_ERASE, LIST_END},
                                          {CO_OP_ERASE, CO_OP_INSERT}};
enum { OTHERS = sizeof others / sizeof *others, ERASES = 3 };

static int is_free(const struct plan *p, uint64_t slot)
{
    uint64_t key, value;
    return table_get(&p->shape, p->table, slot, &key, &value) != SLOT_LIVE;
}

static int has_free_slot(const struct plan *p, uint64_t key)
{
    uint64_t slots[PLAN_SLOTS], n = table_walk(&p->shape, key, slots), free = 0;
    for (uint64_t i = 0; i < n; i++)
        free += (uint64_t)is_free(p, slots[i]);
    return free != 0;
}

static uint64_t draw_key(const struct plan *p, struct dice *d)
{
    return dice_next(d) & (table_empty_key(&p->shape) >> 1);
}

/* Fills the window of K's home, none of whose slots the home itself has. */
static int fill_window(struct plan *p, struct dice *d)
{
    for (int tries = 0; tries < 4000 && has_free_slot(p, p->keys[K]); tries++) {
        const uint64_t key = draw_key(p, d);
        if (table_home_bucket(&p->shape, key) != table_home_bucket(&p->shape, p->keys[K]))
            table_put(&p->shape, p->table, key, dice_below(d, 100));
    }
    return !has_free_slot(p, p->keys[K]);
}

/* M and all other keys of its home lie there: then M is the one that is pulled home. */
static int is_home_whole(const struct plan *p)
{
    const uint64_t n = table_slots(&p->shape), each = n / p->shape.pages,
                   home = table_home_bucket(&p->shape, p->keys[M]);
    uint64_t key, value;
    for (uint64_t i = 0; i < n; i++)
        if (table_get(&p->shape, p->table, i, &key, &value) == SLOT_LIVE && i / each != home &&
            table_home_bucket(&p->shape, key) == home)
            return 0;
    return 1;
}

/* 0: with these dice there is no such table. */
static int displace_table(struct plan *p, enum move move, struct dice *d)
{
    uint64_t slots[PLAN_SLOTS], value;
    p->keys[K] = draw_key(p, d);
    if (!fill_window(p, d))
        return 0;
    table_walk(&p->shape, p->keys[K], slots);
    const uint64_t each = table_slots(&p->shape) / p->shape.pages;
    for (uint64_t i = 0; i < 2 * each; i++) { /* one of the first: the search for it is short */
        table_get(&p->shape, p->table, slots[i], &p->keys[M], &value);
        if (has_free_slot(p, p->keys[M]))
            return move == DISPLACE || is_home_whole(p);
    }
    return 0;
}

static int pull_table(struct plan *p, struct dice *d)
{
    uint64_t slots[PLAN_SLOTS], value;
    p->keys[M] = draw_key(p, d);
    table_walk(&p->shape, p->keys[M], slots);
    const uint64_t each = table_slots(&p->shape) / p->shape.pages;
    for (int tries = 0; tries < 4000 && !table_find(&p->shape, p->table, p->keys[M], &value); tries++) {
        int taken = 1;
        for (uint64_t i = 0; i < each; i++)
            taken &= !is_free(p, slots[i]);
        if (taken && !table_put(&p->shape, p->table, p->keys[M], dice_below(d, 100)))
            return 0;
        if (!taken)
            table_put(&p->shape, p->table, draw_key(p, d), dice_below(d, 100));
    }
    table_get(&p->shape, p->table, slots[dice_below(d, each)], &p->keys[K], &value);
    return table_find(&p->shape, p->table, p->keys[M], &value);
}

static int moves_plan(struct plan *p, cohort_width width, enum move move, unsigned other, struct dice *d)
{
    struct shape shape = {.width = width, .lines = 1, .pages = 2, .seed = dice_next(d)};
    if (move != PULL || dice_below(d, 2))
        shape.pages = (uint32_t)homes_window(width) + 1 + (uint32_t)dice_below(d, 2);
    plan_shape(p, shape);
    p->lanes = p->each = 2;
    p->key_count = KEYS;
    p->operand_count = 3;
    for (unsigned i = 0; i < p->operand_count; i++)
        p->operands[i] = 200 + 10 * i;
    p->ops[0] = LIST_OP(move == PULL ? CO_OP_ERASE : CO_OP_INSERT, K, 0);
    p->ops[1] = move == RETURN ? LIST_OP(CO_OP_ERASE, K, 0) : LIST_END;
    p->ops[2] = LIST_OP(others[other][0], M, 1);
    p->ops[3] = others[other][1] == LIST_END ? LIST_END : LIST_OP(others[other][1], M, 2);
    if (!(move == PULL ? pull_table(p, d) : displace_table(p, move, d)))
        return 0;
    p->counters = table_count(&p->shape, p->table);
    return 1;
}

/* A plan in strong memory, and perhaps in weak. */
static int search_moves(struct test *t, struct stage *stage, const struct plan *p, unsigned most,
                        int may_fail, int weak_too, uint64_t number)
{
    for (int weak = 0; weak <= weak_too; weak++) {
        struct sim_search search = {.preemptions = most, .stale = (unsigned)weak};
        struct search_told told = {0, 0};
        const int legal = search_all(t, stage, p, &search, weak ? SIM_WEAK : SIM_STRONG, number, &told);
        sim_search_end(&search);
        if (!legal)
            return 0;
        if (may_fail ? told.moved != 0 : told.moved == told.ended)
            continue;
        char text[200];
        snprintf(text, sizeof text, "a key was to be moved, and was so in %llu of %llu schedules",
                 (unsigned long long)told.moved, (unsigned long long)told.ended);
        report(t, number, p, text);
        return 0;
    }
    return 1;
}

/* A key of a home that is not in; it is put in if asked for. */
static uint64_t put_one_of(struct plan *p, uint64_t home, int in, struct dice *d)
{
    for (;;) {
        uint64_t value;
        const uint64_t key = draw_key(p, d);
        if (table_home_bucket(&p->shape, key) != home || table_find(&p->shape, p->table, key, &value))
            continue;
        if (in)
            table_put(&p->shape, p->table, key, dice_below(d, 100));
        return key;
    }
}

/* Three homes, which are a window. Two are full; in the second one M lies, which is the first one's. */
static void reuse_plan(struct plan *p, cohort_width width, struct dice *d)
{
    const struct shape shape = {.width = width, .lines = 1, .pages = 3, .seed = dice_next(d)};
    const uint64_t home = dice_below(d, 3), next = (home + 1) % 3;
    uint64_t value;
    plan_shape(p, shape);
    const uint64_t each = table_slots(&p->shape) / p->shape.pages;
    p->lanes = 3;
    p->each = 1;
    p->key_count = REUSE_KEYS;
    p->operand_count = 3;
    for (unsigned i = 0; i < p->operand_count; i++)
        p->operands[i] = 200 + 10 * i;
    for (uint64_t i = 0; i < each; i++)
        put_one_of(p, home, 1, d);
    p->keys[M] = put_one_of(p, home, 1, d);
    for (uint64_t i = 1; i < each; i++)
        put_one_of(p, next, 1, d);
    p->keys[Y] = put_one_of(p, next, 0, d);
    table_get(&p->shape, p->table, home * each + dice_below(d, each), &p->keys[K], &value);
    p->ops[0] = LIST_OP(CO_OP_ERASE, K, 0);
    p->ops[1] = LIST_OP(CO_OP_INSERT, Y, 1);
    p->ops[2] = LIST_OP(CO_OP_FIND, M, 2);
    p->counters = table_count(&p->shape, p->table);
}

/* 0: some schedule is illegal, or does not pull M home. */
static int search_reuse(struct test *t, struct stage *stage, cohort_width width, uint64_t number)
{
    struct dice dice = {test_mix((t->seed + number) * 16 + 8 + (uint64_t)width)};
    struct sim_search search = {.preemptions = 2, .stale = 1};
    struct search_told told = {0, 0};
    struct plan plan;
    reuse_plan(&plan, width, &dice);
    tally_plan(plan_hash(&plan));
    const int legal = search_all(t, stage, &plan, &search, SIM_WEAK, t->seed + number, &told);
    sim_search_end(&search);
    if (legal && (!told.ended || told.moved != told.ended))
        report(t, t->seed + number, &plan, "a key was to be moved in each schedule, and was not");
    return legal && told.ended && told.moved == told.ended;
}

void run_moves(struct test *t, cohort_width width, uint64_t tables)
{
    struct stage stage = stage_new();
    int legal = 1;
    for (uint64_t i = 0; i < tables && legal; i++)
        legal = search_reuse(t, &stage, width, i);
    for (uint64_t i = 0; i < tables && legal; i++)
        for (unsigned at = 0; at < MOVES * OTHERS && legal; at++) {
            const enum move move = (enum move)(at % MOVES);
            const unsigned other = at / MOVES;
            struct dice dice = {test_mix((t->seed + i) * 16 + (uint64_t)width)};
            struct plan plan;
            if (!value_bytes(width) && (others[other][0] == CO_OP_ADD || others[other][0] == CO_OP_ASSIGN))
                continue;
            if (t->quick && (move == RETURN ? other > 1 : other > ERASES)) /* the long ones */
                continue;
            while (!moves_plan(&plan, width, move, other, &dice))
                ;
            tally_plan(plan_hash(&plan));
            const int lengthy = other > ERASES || (move == RETURN && other);
            const unsigned most = lengthy ? 2 : SIM_UNBOUNDED;
            legal = search_moves(t, &stage, &plan, most, other != 0, t->ci || (!t->quick && !lengthy),
                                 t->seed + i);
        }
    stage_free(&stage);
}
