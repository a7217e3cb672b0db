/* history.c: see history.h. The table of what led nowhere is open addressing; it is emptied for each key by
 * counting up the mark that its entries must carry. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cohort/map.h"
#include "sim.h"

enum { MAX_OPS = 64 };

struct state {
    uint64_t done; /* operations that have happened, by number */
    uint64_t value;
    int present;
};

struct memory {
    struct slot {
        struct state state;
        uint32_t mark;
    } * slots;
    size_t mask, count;
    uint32_t mark;
};

struct search {
    const struct history_op *ops;
    size_t n;
    const struct history_rules *rules;
    uint64_t before[MAX_OPS]; /* the operations that must have happened */
    struct memory *memory;
    uint64_t states, limit;
};

int history_in_time(const void *user, const struct history_op *a, const struct history_op *b)
{
    (void)user;
    return a->response < b->invoke;
}

int history_in_sim(const void *user, const struct history_op *a, const struct history_op *b)
{
    (void)user;
    return sim_happened_before(a->response, b->invoke);
}

/* ---- what has been tried ------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct state *s)
{
    uint64_t h = s->done * 0x9e3779b97f4a7c15u ^ (s->value + (uint64_t)s->present) * 0xc2b2ae3d27d4eb4fu;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* The entry of `s`, or the free one where it belongs. */
static struct slot *place_of(const struct memory *m, const struct state *s)
{
    size_t i = hash_of(s) & m->mask;
    for (; m->slots[i].mark == m->mark; i = (i + 1) & m->mask) {
        const struct state *t = &m->slots[i].state;
        if (t->done == s->done && t->present == s->present && t->value == s->value)
            break;
    }
    return &m->slots[i];
}

static int grow(struct memory *m)
{
    struct memory bigger = {NULL, m->slots ? 2 * m->mask + 1 : 1023, m->count, 1};
    bigger.slots = calloc(bigger.mask + 1, sizeof *bigger.slots);
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; m->slots && i <= m->mask; i++) {
        if (m->slots[i].mark != m->mark)
            continue;
        struct slot *at = place_of(&bigger, &m->slots[i].state);
        at->state = m->slots[i].state;
        at->mark = 1;
    }
    free(m->slots);
    *m = bigger;
    return 0;
}

/* 1 if the state is new, 0 if it was there, -1 if there is no memory. */
static int remember(struct memory *m, const struct state *s)
{
    if ((!m->slots || 2 * m->count > m->mask) && grow(m))
        return -1;
    struct slot *at = place_of(m, s);
    if (at->mark == m->mark)
        return 0;
    at->state = *s;
    at->mark = m->mark;
    m->count++;
    return 1;
}

/* ---- one operation ------------------------------------------------------------------------------------- */

static uint64_t value_after(const struct history_op *o, int present, uint64_t old)
{
    uint64_t v = o->op == COHORT_OP_COUNT ? 1 : o->operand;
    if (!present)
        return v;
    switch (o->op) {
    case COHORT_OP_FIND:
    case COHORT_OP_INSERT:
        return old;
    case COHORT_OP_ADD:
    case COHORT_OP_COUNT:
        return old + v;
    case COHORT_OP_MIN:
        return v < old ? v : old;
    case COHORT_OP_MAX:
        return v > old ? v : old;
    case COHORT_OP_OR:
        return old | v;
    case COHORT_OP_AND:
        return old & v;
    default:
        return v;
    }
}

/* Does the operation if it fits. */
static int apply(const struct search *s, const struct history_op *o, const struct state *from,
                 struct state *to)
{
    uint64_t mask = s->rules->value_mask;
    int adds = o->op != COHORT_OP_FIND && o->op != COHORT_OP_ERASE;
    if ((o->hit != 0) != from->present || (o->full && (!adds || from->present)))
        return 0;
    if (o->hit && !o->blind && (o->result & mask) != from->value)
        return 0;
    if (o->op == COHORT_OP_INSERT && s->rules->insert_result && !o->hit && !o->full &&
        ((o->result ^ o->operand) & mask))
        return 0;
    to->present = o->op == COHORT_OP_ERASE ? 0 : from->present || (adds && !o->full);
    struct history_op in_width = *o;
    in_width.operand &= mask;
    to->value = to->present ? value_after(&in_width, from->present, from->value) & mask : 0;
    return 1;
}

/* Whether it may fit where it changes something as well as where it does not. */
static int may_change(const struct history_op *o)
{
    return o->blind && o->hit && o->op != COHORT_OP_FIND && o->op != COHORT_OP_INSERT;
}

/* ---- one key ------------------------------------------------------------------------------------------- */

static enum history_verdict walk(struct search *s, struct state at)
{
    uint64_t all = s->n == 64 ? UINT64_MAX : ((uint64_t)1 << s->n) - 1;
    struct state to;
    for (size_t i = 0; i < s->n; i++) { /* what changes nothing goes first, as often as there is any */
        uint64_t bit = (uint64_t)1 << i;
        if (at.done & bit || s->before[i] & ~at.done || !apply(s, &s->ops[i], &at, &to))
            continue;
        if (to.present != at.present || to.value != at.value || may_change(&s->ops[i]))
            continue;
        at.done |= bit;
        i = (size_t)-1;
    }
    if (at.done == all)
        return HISTORY_LEGAL;
    int new = remember(s->memory, &at);
    if (new <= 0)
        return new ? HISTORY_UNDECIDED : HISTORY_ILLEGAL;
    if (++s->states > s->limit)
        return HISTORY_UNDECIDED;
    for (size_t i = 0; i < s->n; i++) {
        uint64_t bit = (uint64_t)1 << i;
        if (at.done & bit || s->before[i] & ~at.done || !apply(s, &s->ops[i], &at, &to))
            continue;
        to.done = at.done | bit;
        enum history_verdict v = walk(s, to);
        if (v != HISTORY_ILLEGAL)
            return v;
    }
    return HISTORY_ILLEGAL;
}

static int comes_before(const struct history_rules *rules, const struct history_op *a,
                        const struct history_op *b)
{
    if (a->phase != b->phase)
        return a->phase < b->phase;
    if (a->phase != HISTORY_RUN)
        return 0;
    return (rules->before ? rules->before : history_in_time)(rules->user, a, b);
}

static void tell(const struct search *s, enum history_verdict v, char *text, size_t bytes)
{
    static const char *const names[] = {"find", "insert", "assign", "erase",    "add",  "min",
                                        "max",  "or",     "and",    "exchange", "count"};
    if (!text || !bytes)
        return;
    int n = snprintf(text, bytes, "key %llu: %s", (unsigned long long)s->ops[0].key,
                     v == HISTORY_ILLEGAL ? "no order of its operations explains their results"
                                          : "too many states to decide");
    for (size_t i = 0; i < s->n && n > 0 && (size_t)n < bytes; i++) {
        const struct history_op *o = &s->ops[i];
        n += snprintf(text + n, bytes - (size_t)n, "\n  %2zu lane %u [%llu, %llu]%s %s(%llu) -> %s", i,
                      o->lane, (unsigned long long)o->invoke, (unsigned long long)o->response,
                      o->phase < 0   ? " start"
                      : o->phase > 0 ? " end"
                                     : "",
                      o->op < 11 ? names[o->op] : "?", (unsigned long long)o->operand,
                      o->full  ? "full"
                      : o->hit ? "hit "
                               : "miss");
        if (o->hit && !o->blind && (size_t)n < bytes)
            n += snprintf(text + n, bytes - (size_t)n, "%llu", (unsigned long long)o->result);
        for (size_t j = 0; j < s->n && (size_t)n < bytes; j++)
            if (s->before[i] >> j & 1)
                n += snprintf(text + n, bytes - (size_t)n, " >%zu", j);
    }
}

static enum history_verdict check_key(const struct history_op *ops, size_t n,
                                      const struct history_rules *rules, struct memory *memory, char *text,
                                      size_t bytes)
{
    struct search s = {.ops = ops, .n = n, .rules = rules, .memory = memory};
    struct state nothing = {0, 0, 0};
    if (n > MAX_OPS) {
        if (text)
            snprintf(text, bytes, "key %llu: %zu operations; 64 are the most", (unsigned long long)ops[0].key,
                     n);
        return HISTORY_UNDECIDED;
    }
    s.limit = rules->states ? rules->states : 4000000;
    memory->mark++;
    memory->count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j && comes_before(rules, &ops[j], &ops[i]))
                s.before[i] |= (uint64_t)1 << j;
    enum history_verdict v = walk(&s, nothing);
    if (v != HISTORY_LEGAL)
        tell(&s, v, text, bytes);
    return v;
}

static int by_key(const void *a, const void *b)
{
    const struct history_op *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    return x->invoke < y->invoke ? -1 : x->invoke > y->invoke;
}

/* Few operations, as most histories have, are sorted where they are. */
static void sort(struct history_op *ops, size_t n)
{
    if (n > 32) {
        qsort(ops, n, sizeof *ops, by_key);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct history_op o = ops[i];
        size_t at = i;
        for (; at > 0 && by_key(&ops[at - 1], &o) > 0; at--)
            ops[at] = ops[at - 1];
        ops[at] = o;
    }
}

enum history_verdict history_check(struct history_op *ops, size_t n, const struct history_rules *rules,
                                   char *text, size_t bytes)
{
    static _Thread_local struct memory memory; /* kept from call to call */
    enum history_verdict v = HISTORY_LEGAL;
    if (text && bytes)
        text[0] = 0;
    sort(ops, n);
    for (size_t i = 0, end; i < n && v == HISTORY_LEGAL; i = end) {
        for (end = i + 1; end < n && ops[end].key == ops[i].key;)
            end++;
        v = check_key(ops + i, end - i, rules, &memory, text, bytes);
    }
    return v;
}
