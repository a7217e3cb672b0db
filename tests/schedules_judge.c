/* schedules_judge.c: is what came of a plan legal? Each key's operations must have an order that explains
 * their results, what was in the table at first, and what is in it at the end (sim/history.h); the table
 * must be as the protocol says. */
#include "schedules_lines.h"

static int only_reads(unsigned kind)
{
    return kind == CO_OP_FIND || kind == LIST_FIND || kind == LIST_CONTAINS;
}

/* The cohort_op that a kind stands for. */
static unsigned op_of(unsigned kind)
{
    static const unsigned char calls[] = {CO_OP_FIND, CO_OP_FIND, CO_OP_INSERT, CO_OP_ASSIGN, CO_OP_ERASE};
    return kind < CO_OPS ? kind : calls[kind - LIST_FIND];
}

/* Times by a coarse clock are told with the operation's turn in its lane in the low bits. */
enum { TURNS = 2 * PLAN_EACH };

static int before_by_turns(const void *user, const struct history_op *a, const struct history_op *b)
{
    (void)user;
    if (a->lane == b->lane)
        return a->invoke < b->invoke;
    return a->response / TURNS < b->invoke / TURNS;
}

/* What an operation may answer at all. */
static int check_answer(const struct plan *p, const struct aftermath *o, unsigned i, char *text, size_t bytes)
{
    const co_u64 *r = o->records + (size_t)LIST_RECORD_WORDS * i;
    unsigned kind = p->ops[i] & 255, op = op_of(kind);
    uint64_t key = p->keys[p->ops[i] >> 8 & 255], result = r[LIST_RESULT];
    const char *wrong = NULL;
    if (only_reads(kind) || op == CO_OP_ERASE)
        wrong = result > CO_MAP_HIT ? "is none of MISS, HIT" : NULL;
    else
        wrong = result < CO_MAP_HIT || result > CO_MAP_FULL ? "is none of HIT, NEW, FULL" : NULL;
    if (!wrong && result != CO_MAP_HIT && r[LIST_OLD])
        wrong = "comes with an old value";
    if (!wrong && result == CO_MAP_FULL && !table_is_full_for(&p->shape, o->table, key))
        wrong = "says FULL, and there is an empty slot within reach";
    if (wrong)
        snprintf(text, bytes, "lane %u, operation %u: the answer %llu %s", i / p->each, i % p->each,
                 (unsigned long long)result, wrong);
    return !wrong;
}

static struct history_op history_of(const struct plan *p, const struct aftermath *o, unsigned i)
{
    const co_u64 *r = o->records + (size_t)LIST_RECORD_WORDS * i;
    unsigned kind = p->ops[i] & 255, turn = o->clock == CLOCK_TIME ? 2 * (i % p->each) : 0;
    unsigned scale = o->clock == CLOCK_TIME ? TURNS : 1;
    struct history_op h = {.key = p->keys[p->ops[i] >> 8 & 255],
                           .operand = p->operands[p->ops[i] >> 16 & 255],
                           .result = r[LIST_OLD],
                           .invoke = r[LIST_INVOKE] * scale + turn,
                           .response = r[LIST_RESPONSE] * scale + turn,
                           .lane = i / p->each,
                           .op = (uint8_t)op_of(kind),
                           .hit = r[LIST_RESULT] == CO_MAP_HIT,
                           .full = r[LIST_RESULT] == CO_MAP_FULL,
                           .blind = kind >= LIST_CONTAINS};
    return h;
}

/* What is in a table, as inserts before all operations or finds after all. */
static size_t add_contents(const struct plan *p, const void *table, int phase, struct history_op *ops,
                           size_t n)
{
    for (unsigned i = 0; i < p->key_count; i++) {
        uint64_t value = 0;
        int there = table_find(&p->shape, table, p->keys[i], &value);
        if (phase == HISTORY_START && !there)
            continue;
        ops[n++] = (struct history_op){.key = p->keys[i],
                                       .operand = value,
                                       .result = value,
                                       .op = phase == HISTORY_START ? CO_OP_INSERT : CO_OP_FIND,
                                       .hit = (uint8_t)(phase == HISTORY_END && there),
                                       .phase = (int8_t)phase};
    }
    return n;
}

/* A slot once taken stays taken, so a key that had no room has none later. */
static int check_full_is_final(const struct history_op *ops, size_t n, history_before before, char *text,
                               size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        if (!ops[i].full)
            continue;
        for (size_t j = 0; j < n; j++) {
            const struct history_op *b = &ops[j];
            int adds = b->op != CO_OP_FIND && b->op != CO_OP_ERASE && !b->hit && !b->full && !b->phase;
            if (!adds || b->key != ops[i].key || !before(NULL, &ops[i], b))
                continue;
            snprintf(text, bytes,
                     "key %#llx found no slot for lane %u at %llu, and one for lane %u later, at %llu",
                     (unsigned long long)b->key, ops[i].lane, (unsigned long long)ops[i].response, b->lane,
                     (unsigned long long)b->invoke);
            return 0;
        }
    }
    return 1;
}

/* Slots that no operation was about are as they were. */
static int check_bystanders(const struct plan *p, const struct aftermath *o, char *text, size_t bytes)
{
    uint64_t width = table_slot_bytes(&p->shape), key, value;
    if (p->shape.lines)
        return homes_check_bystanders(p, o->table, text, bytes);
    for (uint64_t i = 0; i < table_slots(&p->shape); i++) {
        enum slot_state state = table_get(&p->shape, p->table, i, &key, &value);
        int ours = state == SLOT_EMPTY;
        for (unsigned k = 0; k < p->key_count; k++)
            ours |= state == SLOT_LIVE && key == p->keys[k];
        uint64_t part =
            state == SLOT_ERASED ? key_bytes(p->shape.width) : width; /* an erased slot's value is nobody's */
        if (ours || !memcmp(p->table + i * width, (const char *)o->table + i * width, part))
            continue;
        snprintf(text, bytes, "slot %llu, with key %#llx, was changed, and no operation has that key",
                 (unsigned long long)i, (unsigned long long)key);
        return 0;
    }
    return 1;
}

int judge_ops(const struct plan *p, const struct aftermath *o, struct history_op *ops, size_t n, char *text,
              size_t bytes)
{
    static const history_before befores[] = {history_in_time, history_in_sim, before_by_turns};
    history_before before = befores[o->clock];
    struct history_rules rules = {.value_mask = value_mask(p->shape.width), .before = before};
    if (!table_check(&p->shape, o->table, o->counters, text, bytes) || !check_bystanders(p, o, text, bytes) ||
        (!p->shape.lines && !check_full_is_final(ops, n, before, text, bytes)))
        return 0;
    n = add_contents(p, p->table, HISTORY_START, ops, n);
    n = add_contents(p, o->table, HISTORY_END, ops, n);
    return history_check(ops, n, &rules, text, bytes) == HISTORY_LEGAL;
}

int plan_judge(const struct plan *p, const struct aftermath *o, char *text, size_t bytes)
{
    struct history_op ops[PLAN_LANES * PLAN_EACH + JUDGE_MORE];
    size_t n = 0;
    for (unsigned i = 0; i < p->lanes * p->each; i++) {
        if ((p->ops[i] & 255) == LIST_END)
            continue;
        if (!check_answer(p, o, i, text, bytes))
            return 0;
        ops[n++] = history_of(p, o, i);
    }
    return judge_ops(p, o, ops, n, text, bytes);
}
