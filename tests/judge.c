/* judge.c: whether a batch's answers can be. Its entries are put in order of their keys' ranks, and each
 * key's group is compared with what its kind of operation allows. Groups of `run` are searched: depth first
 * through the orders of their entries, leaving out states (entries done, value) that have been seen, for the
 * orders in which each entry's answer is the right one. */
#include "oracle.h"

#define MOST_RUN_GROUP 16 /* entries with one key in one batch of `run` */
#define MOST_ENDS      64 /* states that one such group can end in */

static int wrong(char message[300], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(char message[300], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, 300, format, arguments);
    va_end(arguments);
    return 0;
}

/* ---- groups: the entries of one key -------------------------------------------------------------------- */

struct group {
    uint64_t key, count;
    const struct test_pair *entries; /* in the order of input */
    uint64_t hits, added, full, bad; /* due */
};

static uint64_t operand_of(const struct trial *t, uint64_t i)
{
    return t->values ? column_get(t->values, i) : 0;
}
static int failed_at(const struct trial *t, uint64_t i)
{
    return t->failed ? bitmap_get(t->failed, i) : 0;
}

/* Bit i of `hit`, or `otherwise` where it was not asked for. */
static int hit_at(const struct trial *t, uint64_t i, int otherwise)
{
    return t->hit ? bitmap_get(t->hit, i) : otherwise;
}

static int judge_result(const struct trial *t, uint64_t i, uint64_t due, char message[300])
{
    uint64_t got = t->results ? column_get(t->results, i) : due;
    return got == due ? 1
                      : wrong(message, "result %llu, of key 0x%llx, is 0x%llx, due is 0x%llx",
                              (unsigned long long)i, (unsigned long long)column_get(t->keys, i),
                              (unsigned long long)got, (unsigned long long)due);
}

static int judge_untouched(const struct trial *t, uint64_t i, char message[300])
{
    return !t->results || judge_result(t, i, column_get(t->before, i), message);
}

static int judge_hit(const struct trial *t, uint64_t i, int due, char message[300])
{
    return hit_at(t, i, due) == due
               ? 1
               : wrong(message, "the hit bit of entry %llu, key 0x%llx, is %d", (unsigned long long)i,
                       (unsigned long long)column_get(t->keys, i), !due);
}

static int judge_readers(struct oracle *o, const struct trial *t, struct group *g, char message[300])
{
    uint64_t value = 0;
    int in = oracle_get(o, g->key, &value);
    for (uint64_t e = 0; e < g->count; e++) {
        uint64_t i = g->entries[e].index;
        if (!judge_hit(t, i, in, message))
            return 0;
        if (in                ? !judge_result(t, i, value, message)
            : t->has_fallback ? !judge_result(t, i, t->fallback & value_mask(oracle_width(o)), message)
                              : !judge_untouched(t, i, message))
            return 0;
    }
    g->hits = in ? g->count : 0;
    return 1;
}

static int judge_erase(struct oracle *o, const struct trial *t, struct group *g, char message[300])
{
    uint64_t hits = 0;
    g->hits = (uint64_t)oracle_remove(o, g->key);
    for (uint64_t e = 0; t->hit && e < g->count; e++)
        hits += (uint64_t)bitmap_get(t->hit, g->entries[e].index);
    if (t->hit && hits != g->hits)
        return wrong(message, "key 0x%llx was erased by %llu entries, due is %llu",
                     (unsigned long long)g->key, (unsigned long long)hits, (unsigned long long)g->hits);
    return 1;
}

/* Which entry of the group decides, by the winner rule; -1: any may. */
static long long decider(const struct trial *t, const struct group *g)
{
    if (t->winner == COHORT_WINNER_FIRST)
        return (long long)g->entries[0].index;
    return t->winner == COHORT_WINNER_LAST ? (long long)g->entries[g->count - 1].index : -1;
}

/* The entry with hit bit 0 of a key that was absent: exactly one, and of those that insert the winner, if the
 * rule says who that is. */
static int judge_newcomer(const struct trial *t, const struct group *g, long long winner, long long *newcomer,
                          char message[300])
{
    *newcomer = winner;
    if (!t->hit)
        return 1;
    *newcomer = -1;
    for (uint64_t e = 0; e < g->count; e++) {
        uint64_t i = g->entries[e].index;
        if (bitmap_get(t->hit, i))
            continue;
        if (*newcomer >= 0)
            return wrong(message, "entries %lld and %llu both put in key 0x%llx", *newcomer,
                         (unsigned long long)i, (unsigned long long)g->key);
        *newcomer = (long long)i;
    }
    if (*newcomer < 0)
        return wrong(message, "no entry put in key 0x%llx, which was absent", (unsigned long long)g->key);
    if (winner >= 0 && *newcomer != winner)
        return wrong(message, "key 0x%llx was won by entry %lld, not %lld", (unsigned long long)g->key,
                     *newcomer, winner);
    return 1;
}

/* The group found no slot: all of it or none. */
static int judge_full(struct oracle *o, const struct trial *t, struct group *g, char message[300])
{
    for (uint64_t e = 0; e < g->count; e++) {
        uint64_t i = g->entries[e].index;
        if (!failed_at(t, i))
            return wrong(message, "of the entries with key 0x%llx some found a slot",
                         (unsigned long long)g->key);
        if (!judge_hit(t, i, 0, message) || !judge_untouched(t, i, message))
            return 0;
    }
    if (!t->may_fail || oracle_get(o, g->key, NULL))
        return wrong(message, "entry %llu, key 0x%llx, failed", (unsigned long long)g->entries[0].index,
                     (unsigned long long)g->key);
    g->full = g->count;
    return 1;
}

/* The value after commuting operations (or one): by applying them in any order. */
static uint64_t fold(struct oracle *o, const struct trial *t, const struct group *g, int in, uint64_t value)
{
    for (uint64_t e = 0; e < g->count; e++) {
        uint64_t operand = operand_of(t, g->entries[e].index);
        value = in ? oracle_combine(oracle_width(o), t->op, value, operand)
                   : oracle_first(oracle_width(o), t->op, operand);
        in = 1;
    }
    return value;
}

/* Any of the group's operands may be the value. */
static void keep_choices(struct oracle *o, const struct trial *t, const struct group *g)
{
    uint64_t *values = malloc(g->count * sizeof *values);
    for (uint64_t e = 0; e < g->count; e++)
        values[e] = operand_of(t, g->entries[e].index);
    oracle_choices(o, g->key, g->count, values, 0);
    free(values);
}

/* insert_and_find tells the value: the same to all, and one that the rule allows. */
static int judge_found(struct oracle *o, const struct trial *t, const struct group *g, char message[300])
{
    uint64_t value = column_get(t->results, g->entries[0].index);
    if (!oracle_allows(o, g->key, value))
        return wrong(message, "value 0x%llx found for key 0x%llx is none of those that may be",
                     (unsigned long long)value, (unsigned long long)g->key);
    oracle_put(o, g->key, value);
    for (uint64_t e = 0; e < g->count; e++)
        if (!judge_result(t, g->entries[e].index, value, message))
            return 0;
    return 1;
}

/* INSERT, ASSIGN, APPLY, INSERT_AND_FIND. */
static int judge_writers(struct oracle *o, const struct trial *t, struct group *g, char message[300])
{
    uint64_t value = 0;
    int in = oracle_get(o, g->key, &value);
    int keeps = t->kind == TRIAL_INSERT || t->kind == TRIAL_INSERT_AND_FIND;
    int replaces = t->kind == TRIAL_ASSIGN || (t->kind == TRIAL_APPLY && t->op == COHORT_OP_EXCHANGE);
    long long newcomer = -1, winner = t->kind == TRIAL_APPLY ? -1 : decider(t, g);
    for (uint64_t e = 0; e < g->count; e++)
        if (failed_at(t, g->entries[e].index))
            return judge_full(o, t, g, message);
    for (uint64_t e = 0; in && e < g->count; e++)
        if (!judge_hit(t, g->entries[e].index, 1, message))
            return 0;
    if (!in && !judge_newcomer(t, g, keeps ? winner : -1, &newcomer, message))
        return 0;
    g->hits = in ? g->count : g->count - 1;
    g->added = !in;
    if (keeps ? !in : replaces) {
        long long decides = winner >= 0 ? winner : keeps ? newcomer : -1;
        if (decides >= 0)
            oracle_put(o, g->key, operand_of(t, (uint64_t)decides));
        else
            keep_choices(o, t, g);
    } else if (!keeps) {
        oracle_put(o, g->key, fold(o, t, g, in, value));
    }
    return t->kind != TRIAL_INSERT_AND_FIND || !t->results || judge_found(o, t, g, message);
}

/* ---- run: the orders of a group ------------------------------------------------------------------------ */

struct state {
    uint64_t value;
    int in;
};

struct search {
    struct oracle *oracle;
    const struct trial *trial;
    const struct group *group;
    struct visited {
        unsigned done; /* a bit an entry; 0: this place is free */
        struct state state;
    } * visited;
    uint64_t visited_count, visited_room; /* a power of two */
    uint64_t ends[MOST_ENDS];
    unsigned end_count;
    int end_absent, end_in;
};

/* 1: this is the first time here. */
static int visit(struct search *s, unsigned done, struct state state)
{
    if (s->visited_count * 2 >= s->visited_room) {
        struct visited *old = s->visited;
        uint64_t room = s->visited_room;
        s->visited_room = room ? room * 4 : 64;
        s->visited = calloc(s->visited_room, sizeof *s->visited);
        s->visited_count = 0;
        for (uint64_t i = 0; i < room; i++)
            if (old[i].done)
                visit(s, old[i].done, old[i].state);
        free(old);
    }
    uint64_t at = test_mix(done ^ test_mix(state.value + (uint64_t)state.in));
    for (;; at++) {
        struct visited *v = &s->visited[at & (s->visited_room - 1)];
        if (!v->done) {
            *v = (struct visited){done, state};
            s->visited_count++;
            return 1;
        }
        if (v->done == done && v->state.value == state.value && v->state.in == state.in)
            return 0;
    }
}

static int is_put(cohort_width width, uint64_t op)
{
    return op == COHORT_OP_INSERT || op == COHORT_OP_ASSIGN ||
           (value_bytes(width) && op >= COHORT_OP_ADD && op <= COHORT_OP_COUNT);
}

static int is_bad(cohort_width width, uint64_t op)
{
    return op > COHORT_OP_ERASE && !is_put(width, op);
}

/* Could entry i have given its answers in this state? Then *state is the next. */
static int step(const struct search *s, uint64_t i, struct state *state)
{
    const struct trial *t = s->trial;
    cohort_width width = oracle_width(s->oracle);
    uint64_t op = column_get(t->ops, i), operand = operand_of(t, i);
    uint64_t result = t->results ? column_get(t->results, i) : 0;
    if (hit_at(t, i, state->in) != state->in)
        return 0;
    if (t->results && result != (state->in ? state->value : column_get(t->before, i)))
        return 0;
    if (failed_at(t, i))
        return t->may_fail && is_put(width, op) && !state->in;
    if (op == COHORT_OP_ERASE) {
        *state = (struct state){0, 0};
    } else if (op != COHORT_OP_FIND) {
        state->value = state->in ? oracle_combine(width, (cohort_op)op, state->value, operand)
                                 : oracle_first(width, (cohort_op)op, operand);
        state->in = 1;
    }
    return 1;
}

static void note_end(struct search *s, struct state state)
{
    if (!state.in) {
        s->end_absent = 1;
        return;
    }
    s->end_in = 1;
    for (unsigned i = 0; i < s->end_count; i++)
        if (s->ends[i] == state.value)
            return;
    if (s->end_count < MOST_ENDS)
        s->ends[s->end_count++] = state.value;
}

static void explore(struct search *s, unsigned done, struct state state)
{
    if (done == (1u << s->group->count) - 1) {
        note_end(s, state);
        return;
    }
    for (unsigned e = 0; e < s->group->count; e++) {
        struct state next = state;
        if (done >> e & 1 || !step(s, s->group->entries[e].index, &next))
            continue;
        if (visit(s, done | 1u << e, next))
            explore(s, done | 1u << e, next);
    }
}

/* What the group's answers add up to; hits are taken as told, they have been judged. */
static void count_run(const struct trial *t, struct group *g, cohort_width width)
{
    for (uint64_t e = 0; e < g->count; e++) {
        uint64_t i = g->entries[e].index;
        int hit = hit_at(t, i, 0);
        g->hits += (uint64_t)hit;
        g->full += (uint64_t)failed_at(t, i);
        g->added += is_put(width, column_get(t->ops, i)) && !hit && !failed_at(t, i);
    }
}

static int judge_run(struct oracle *o, const struct trial *t, struct group *g, char message[300])
{
    struct search s = {.oracle = o, .trial = t, .group = g};
    struct state start = {0, 0};
    if (g->count > MOST_RUN_GROUP)
        return wrong(message, "the case has %llu entries with key 0x%llx", (unsigned long long)g->count,
                     (unsigned long long)g->key);
    start.in = oracle_get(o, g->key, &start.value);
    explore(&s, 0, start);
    free(s.visited);
    if (!s.end_in && !s.end_absent)
        return wrong(
            message,
            "no order explains the answers of the %llu entries with key 0x%llx, the first of them %llu",
            (unsigned long long)g->count, (unsigned long long)g->key,
            (unsigned long long)g->entries[0].index);
    count_run(t, g, oracle_width(o));
    if (s.end_in)
        oracle_choices(o, g->key, s.end_count, s.ends, s.end_absent);
    else
        oracle_remove(o, g->key);
    return 1;
}

/* An op code that is none: the entry fails and does nothing. */
static int judge_bad(const struct trial *t, uint64_t i, char message[300])
{
    if (t->failed && !bitmap_get(t->failed, i))
        return wrong(message, "entry %llu with op code %llu has not failed", (unsigned long long)i,
                     (unsigned long long)column_get(t->ops, i));
    return judge_hit(t, i, 0, message) && judge_untouched(t, i, message);
}

/* ---- the whole batch ----------------------------------------------------------------------------------- */

/* Entries that do not take part have no answer. */
static int judge_absentees(const struct trial *t, char message[300])
{
    for (uint64_t i = 0; i < t->n; i++) {
        if (!t->where || bitmap_get(t->where, i))
            continue;
        if ((t->hit && bitmap_get(t->hit, i)) || (t->failed && bitmap_get(t->failed, i)))
            return wrong(message, "entry %llu of %llu, which does not take part, has a bit in hit or failed",
                         (unsigned long long)i, (unsigned long long)t->n);
        if (!judge_untouched(t, i, message))
            return 0;
    }
    return 1;
}

static int judge_counts(const struct trial *t, const struct group *sum, uint64_t taken, char message[300])
{
    uint64_t first = UINT64_MAX, failed = sum->full + sum->bad;
    for (uint64_t i = t->n; t->failed && i-- > 0;)
        first = bitmap_get(t->failed, i) ? i : first;
    const uint64_t due[5] = {taken, sum->hits, sum->added, failed, first};
    const char *const names[5] = {"taken", "hits", "added", "failed", "first_failed"};
    int hits_known = t->hit || t->kind != TRIAL_RUN;
    for (uint64_t i = 0; i < 5; i++)
        if (((i != 1 && i != 2) || hits_known) && column_get(t->counts, i) != due[i] &&
            (i < 4 || t->failed || !failed))
            return wrong(message, "counts.%s is %llu, due is %llu", names[i],
                         (unsigned long long)column_get(t->counts, i), (unsigned long long)due[i]);
    return 1;
}

static int judge_group(struct oracle *o, const struct trial *t, struct group *g, char message[300])
{
    switch (t->kind) {
    case TRIAL_FIND:
    case TRIAL_CONTAINS:
        return judge_readers(o, t, g, message);
    case TRIAL_ERASE:
        return judge_erase(o, t, g, message);
    case TRIAL_RUN:
        return judge_run(o, t, g, message);
    default:
        return judge_writers(o, t, g, message);
    }
}

/* Puts the entries that take part in order; bad ones are judged at once, and left out. */
static struct test_pair *sorted_entries(struct oracle *o, const struct trial *t, struct group *sum,
                                        uint64_t *count, uint64_t *taken, char message[300])
{
    struct test_pair *pairs = malloc((t->n + 1) * sizeof *pairs);
    *count = *taken = 0;
    for (uint64_t i = 0; i < t->n; i++) {
        if (t->where && !bitmap_get(t->where, i))
            continue;
        ++*taken;
        if (t->kind == TRIAL_RUN && is_bad(oracle_width(o), column_get(t->ops, i))) {
            sum->bad++;
            if (!judge_bad(t, i, message)) {
                free(pairs);
                return NULL;
            }
            continue;
        }
        pairs[(*count)++] = (struct test_pair){oracle_rank(column_get(t->keys, i)), i};
    }
    test_order(pairs, *count);
    return pairs;
}

int oracle_judge(struct oracle *o, struct trial *t, char message[300])
{
    struct group sum = {0};
    uint64_t count, taken;
    struct test_pair *pairs = sorted_entries(o, t, &sum, &count, &taken, message);
    int right = pairs && judge_absentees(t, message);
    oracle_reserve(o, oracle_size(o) + (right ? count : 0));
    for (uint64_t i = 0, end; right && i < count; i = end) {
        for (end = i + 1; end < count && pairs[end].rank == pairs[i].rank;)
            end++;
        struct group g = {.key = column_get(t->keys, pairs[i].index), .count = end - i, .entries = pairs + i};
        right = judge_group(o, t, &g, message);
        sum.hits += g.hits;
        sum.added += g.added;
        sum.full += g.full;
    }
    free(pairs);
    t->full = sum.full;
    t->bad = sum.bad;
    return right && (!t->counts || judge_counts(t, &sum, taken, message));
}
