/* schedules_batch.c: batches. The map's own kernels do up to two warps of entries on one small table,
 * under schedules in which warps fall apart: mixed streams, batches of one operation, cooperative groups,
 * the two passes of the winner rule. The entries of a launch come in no order, so a key's history is legal
 * if any order of its entries explains it. */
#include "schedules.h"

#include "shape/map.h"

enum {
    BATCH = 64,
    TURNS = 2, /* of a warp in a batch of hot keys */
    BATCH_TABLE = PLAN_TABLE,
    TIMES = 10 /* that a key is in a batch, at most */,
    LEDGER = 1 /* entries */
};

/* The memory of the simulated device. */
struct batch_stage {
    struct stage table;
    unsigned char *keys, *values, *results, *ops;
    uint32_t *where, *hit, *failed, *winners;
    co_u64 *ledger;
    struct map_claims claims;
    struct batch_counts *counts;
    struct batch_deferred *deferred;
};

static struct batch_stage batch_stage_new(void)
{
    struct batch_stage s = {.table = stage_new(),
                            .keys = sim_alloc(TURNS * BATCH * 8),
                            .values = sim_alloc(TURNS * BATCH * 8),
                            .results = sim_alloc(TURNS * BATCH * 8),
                            .ops = sim_alloc(TURNS * BATCH),
                            .where = sim_alloc(TURNS * BATCH / 8),
                            .hit = sim_alloc(TURNS * BATCH / 8),
                            .failed = sim_alloc(TURNS * BATCH / 8),
                            .winners = sim_alloc((PLAN_SLOTS + SIDE_SLOTS) * 4),
                            .ledger = sim_alloc(LEDGER * 16),
                            .claims = {sim_alloc(8), sim_alloc(BATCH / 8), sim_alloc(BATCH / 8)},
                            .counts = sim_alloc(sizeof(struct batch_counts)),
                            .deferred = sim_alloc(sizeof(struct batch_deferred))};
    return s;
}

static void batch_stage_free(struct batch_stage *s)
{
    void *const all[] = {s->keys,         s->values,      s->results, s->ops,     s->where,
                         s->hit,          s->failed,      s->winners, s->ledger,  s->claims.contested,
                         s->claims.first, s->claims.full, s->counts,  s->deferred};
    stage_free(&s->table);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sim_free(all[i]);
}

/* A batch, as drawn. */
struct draw {
    struct plan plan; /* shape, keys, table; its operations are not used */
    unsigned n, step, op, group, blocks;
    int has_results, has_fallback, has_where, has_ledger;
    unsigned hot; /* places of a block's table of hot keys */
    unsigned char key[TURNS * BATCH], kind[TURNS * BATCH], takes_part[TURNS * BATCH];
    uint64_t operand[TURNS * BATCH], result_before[TURNS * BATCH];
};

static uint64_t masked(const struct draw *d, uint64_t value)
{
    return value & value_mask(d->plan.shape.width);
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

/* More keys than a plan has: batches are long. */
static void draw_more_keys(struct plan *p, struct dice *dice, unsigned count)
{
    while (p->key_count < count) {
        uint64_t key = dice_next(dice) & table_empty_key(&p->shape);
        int known = 0;
        for (unsigned i = 0; i < p->key_count; i++)
            known |= p->keys[i] == key;
        if (!known)
            p->keys[p->key_count++] = key;
    }
}

static void draw_entries(struct draw *d, struct dice *dice, unsigned most_kind)
{
    unsigned times[LIST_KEYS] = {0}, most = d->plan.key_count * TIMES,
             want = 1 + (unsigned)dice_below(dice, BATCH);
    d->n = want < most ? want : most;
    d->has_where = dice_below(dice, 3) == 0;
    d->has_results = value_bytes(d->plan.shape.width) && dice_below(dice, 4);
    for (unsigned i = 0; i < d->n; i++) {
        do
            d->key[i] = (unsigned char)dice_below(dice, d->plan.key_count);
        while (times[d->key[i]] == TIMES);
        d->takes_part[i] = !d->has_where || dice_below(dice, 3);
        times[d->key[i]] += d->takes_part[i];
        d->kind[i] =
            d->step == MAP_STEP_RUN ? (unsigned char)dice_below(dice, most_kind) : (unsigned char)d->op;
        d->operand[i] = masked(d, dice_below(dice, 2) ? i + 1 : dice_next(dice));
        d->result_before[i] = masked(d, ~(uint64_t)i);
    }
}

static void draw_table(struct draw *d, cohort_width width, struct dice *dice)
{
    plan_draw(&d->plan, width, COHORT_LAYOUT_PAGES, (enum family)dice_below(dice, FAMILIES), dice);
    draw_more_keys(&d->plan, dice, 4 + (unsigned)dice_below(dice, LIST_KEYS - 3));
    d->blocks = 1 + (unsigned)dice_below(dice, 2);
}

/* ---- a launch ------------------------------------------------------------------------------------------ */

static void put(void *to, unsigned i, uint64_t value, uint64_t bytes)
{
    memcpy((char *)to + i * bytes, &value, bytes);
}

static uint64_t get(const void *from, unsigned i, uint64_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)from + i * bytes, bytes);
    return value;
}

static struct map_batch set_up(struct batch_stage *s, const struct draw *d)
{
    static const struct batch_counts none = {0, 0, 0, 0, ~0ull};
    cohort_width width = d->plan.shape.width;
    struct map_batch b = {.n = d->n,
                          .step = d->step,
                          .op = d->op,
                          .group = d->group,
                          .has_fallback = (co_u32)d->has_fallback,
                          .fallback = 77,
                          .keys = s->keys,
                          .values = value_bytes(width) ? s->values : NULL,
                          .results = d->has_results ? s->results : NULL,
                          .ops = s->ops,
                          .where = d->has_where ? s->where : NULL,
                          .hit = s->hit,
                          .failed = s->failed,
                          .hot = d->hot,
                          .winners = s->winners,
                          .counts = s->counts,
                          .deferred = s->deferred};
    stage_set(&s->table, &d->plan);
    b.view = table_view(&d->plan.shape, s->table.table, s->table.counters);
    *s->counts = none;
    memset(s->deferred, 0xff, sizeof *s->deferred);
    memset(s->where, 0, TURNS * BATCH / 8);
    if (d->has_ledger) {
        b.ledger = memset(s->ledger, 0, LEDGER * 16);
        b.ledger_mask = LEDGER - 1;
    }
    for (unsigned i = 0; i < d->n; i++) {
        key_write((char *)s->keys + i * key_bytes(width), d->plan.keys[d->key[i]], width);
        put(s->values, i, d->operand[i], value_bytes(width));
        put(s->results, i, d->result_before[i], value_bytes(width));
        s->ops[i] = d->kind[i];
        s->where[i / 32] |= (uint32_t)d->takes_part[i] << i % 32;
    }
    return b;
}

static const char *kernel_name(const char *kind, cohort_width width)
{
    static const char *const suffixes[] = {NULL, "32_0", "32_32", "64_0", "64_32", "64_64"};
    static char name[40];
    snprintf(name, sizeof name, "map_%s_%s", kind, suffixes[width]);
    return name;
}

static int launch(const char *kind, const struct draw *d, const void *args, struct sim_schedule *schedule,
                  char *text, size_t bytes)
{
    schedule->seed = test_mix(schedule->seed + 1);
    if (!sim_run(kernel_name(kind, d->plan.shape.width), args, d->blocks, d->blocks == 1 ? BATCH : BATCH / 2,
                 0, schedule))
        return 1;
    snprintf(text, bytes, "%s", sim_message());
    return 0;
}

/* ---- verdicts ------------------------------------------------------------------------------------------ */

struct counted {
    uint64_t taken, hits, added, failed, first_failed;
};

static int check_counts(const struct batch_counts *c, const struct counted *due, char *text, size_t bytes)
{
    if (c->taken == due->taken && c->hits == due->hits && c->added == due->added &&
        c->failed == due->failed && c->first_failed == due->first_failed)
        return 1;
    snprintf(text, bytes,
             "counts: taken %llu, hits %llu, added %llu, failed %llu, first %lld; by the entries %llu, %llu, "
             "%llu, %llu, %lld",
             c->taken, c->hits, c->added, c->failed, (long long)c->first_failed,
             (unsigned long long)due->taken, (unsigned long long)due->hits, (unsigned long long)due->added,
             (unsigned long long)due->failed, (long long)due->first_failed);
    return 0;
}

/* What an entry's result must be where that does not depend on the others: 0 if it is not so. */
static int result_is_plausible(const struct draw *d, unsigned i, int hit, int failed, uint64_t result)
{
    if (d->kind[i] == CO_OP_FIND && !hit && d->takes_part[i] && d->has_fallback)
        return result == 77;
    if (!d->takes_part[i] || failed || (!hit && d->step == MAP_STEP_RUN))
        return result == d->result_before[i];
    if (!hit && d->kind[i] != CO_OP_FIND && d->kind[i] != CO_OP_ERASE)
        return result == (d->kind[i] == CO_OP_COUNT ? result : d->operand[i]);
    return hit || result == d->result_before[i];
}

/* The entries as operations on keys; what does not fit together in itself is told. */
static int read_entries(const struct batch_stage *s, const struct draw *d, struct history_op *ops, size_t *n,
                        struct counted *counted, char *text, size_t bytes)
{
    for (unsigned i = 0; i < d->n; i++) {
        int hit = s->hit[i / 32] >> i % 32 & 1, failed = s->failed[i / 32] >> i % 32 & 1;
        uint64_t result = get(s->results, i, value_bytes(d->plan.shape.width));
        int adds = d->kind[i] != CO_OP_FIND && d->kind[i] != CO_OP_ERASE;
        if ((hit && failed) || (!d->takes_part[i] && (hit || failed)) || (failed && !adds) ||
            (d->has_results && !result_is_plausible(d, i, hit, failed, result))) {
            snprintf(text, bytes,
                     "entry %u: hit %d, failed %d, result %#llx do not go together (op %u, operand %#llx)", i,
                     hit, failed, (unsigned long long)result, d->kind[i], (unsigned long long)d->operand[i]);
            return 0;
        }
        if (!d->takes_part[i])
            continue;
        ops[(*n)++] = (struct history_op){.key = d->plan.keys[d->key[i]],
                                          .operand = d->operand[i],
                                          .result = result,
                                          .lane = i,
                                          .op = d->kind[i],
                                          .hit = (uint8_t)hit,
                                          .full = (uint8_t)failed,
                                          .blind = (uint8_t)!d->has_results};
        counted->taken++;
        counted->hits += (uint64_t)hit;
        counted->added += adds && !hit && !failed;
        counted->failed += (uint64_t)failed;
        if (failed && counted->first_failed == ~(uint64_t)0)
            counted->first_failed = i;
    }
    return 1;
}

static int judge_batch(const struct batch_stage *s, const struct draw *d, char *text, size_t bytes)
{
    struct history_op ops[TURNS * BATCH + JUDGE_MORE];
    struct counted counted = {0, 0, 0, 0, ~(uint64_t)0};
    size_t n = 0;
    struct aftermath o = {.table = s->table.table, .counters = s->table.counters};
    if (!read_entries(s, d, ops, &n, &counted, text, bytes) ||
        !check_counts(s->counts, &counted, text, bytes))
        return 0;
    if (s->deferred->first_full != counted.first_failed || s->deferred->first_bad != ~0ull) {
        snprintf(text, bytes, "deferred: first full %lld, first bad %lld; the first that failed is %lld",
                 (long long)s->deferred->first_full, (long long)s->deferred->first_bad,
                 (long long)counted.first_failed);
        return 0;
    }
    return judge_ops(&d->plan, &o, ops, n, text, bytes);
}

static void draw_batch_schedule(struct sim_schedule *schedule, struct dice *dice)
{
    draw_schedule(schedule, dice, 64, 4);
    schedule->operation_steps = 0;
    schedule->steps = 200000;
    schedule->clocks = 0;
}

static void print_draw(const struct draw *d, FILE *out)
{
    plan_print(&d->plan, out);
    fprintf(out, "  step %u, op %u, group %u, %u blocks; entries (op key operand):", d->step, d->op, d->group,
            d->blocks);
    for (unsigned i = 0; i < d->n; i++)
        if (d->takes_part[i])
            fprintf(out, " %u(%#llx, %#llx)", d->kind[i], (unsigned long long)d->plan.keys[d->key[i]],
                    (unsigned long long)d->operand[i]);
    fprintf(out, "\n");
}

/* ---- streams and batches of one operation -------------------------------------------------------------- */

static const char *kind_of(const struct draw *d)
{
    static const char *const names[] = {"find", "insert", "assign", "erase", "apply"};
    if (d->step == MAP_STEP_RUN)
        return "run";
    if (d->group > 1)
        return d->op == CO_OP_FIND ? "find_group" : "insert_group";
    if (d->op == CO_OP_FIND && d->n % 2)
        return "find_relaxed";
    return names[d->op < CO_OP_ADD ? d->op : CO_OP_ADD];
}

static int has_ledger(const struct draw *d)
{
    return d->step == MAP_STEP_APPLY && (d->op == CO_OP_ADD || d->op == CO_OP_COUNT) &&
           table_slot_bytes(&d->plan.shape) == 16;
}

static void draw_batch(struct draw *d, cohort_width width, struct dice *dice)
{
    unsigned most_kind = value_bytes(width) ? CO_OPS : CO_OP_ADD;
    memset(d, 0, sizeof *d);
    draw_table(d, width, dice);
    d->step = dice_below(dice, 2) ? MAP_STEP_RUN : MAP_STEP_APPLY;
    d->op = (unsigned)dice_below(dice, most_kind);
    d->has_fallback = d->step == MAP_STEP_APPLY && d->op == CO_OP_FIND && dice_below(dice, 2);
    draw_entries(d, dice, most_kind);
    if (d->step == MAP_STEP_APPLY && d->op >= CO_OP_ASSIGN && d->op != CO_OP_ERASE)
        d->has_results = 0;
    d->has_ledger = has_ledger(d) && dice_below(dice, 4);
}

/* One operation by both warps on very few keys: compare-and-swaps that fail, entries that are folded,
 * additions that are noted. */
static void draw_crowd(struct draw *d, cohort_width width, struct dice *dice)
{
    unsigned times[LIST_KEYS] = {0}, few = 1 + (dice_below(dice, 4) != 0);
    int has_values = value_bytes(width) != 0;
    memset(d, 0, sizeof *d);
    draw_table(d, width, dice);
    d->op = CO_OP_ADD + (unsigned)dice_below(dice, CO_OPS - CO_OP_ADD);
    d->op = !has_values || dice_below(dice, 4) == 0 ? CO_OP_ASSIGN : dice_below(dice, 2) ? CO_OP_ADD : d->op;
    d->has_ledger = has_ledger(d) && dice_below(dice, 8);
    if (table_slot_bytes(&d->plan.shape) == 16 && dice_below(dice, 4)) {
        d->op = CO_OP_ADD;
        d->has_ledger = 1;
        few = 2;
    }
    d->n = BATCH;
    d->has_where = 1;
    for (unsigned i = 0; i < d->n; i++) {
        d->key[i] = (unsigned char)dice_below(dice, few);
        d->takes_part[i] = times[d->key[i]] < TIMES && dice_below(dice, 3) == 0;
        times[d->key[i]] += d->takes_part[i];
        d->kind[i] = (unsigned char)d->op;
        d->operand[i] = masked(d, 1ull << i % 31);
    }
}

/* The same with a table of hot keys in each block: of its warps, several turns each, which the keys that
 * they have twice enter. */
static void draw_hot(struct draw *d, cohort_width width, struct dice *dice)
{
    unsigned times[LIST_KEYS] = {0}, few = 1 + (unsigned)dice_below(dice, 4), most = TURNS * BATCH;
    memset(d, 0, sizeof *d);
    draw_table(d, width, dice);
    d->op = CO_OP_ADD + (unsigned)dice_below(dice, CO_OPS - CO_OP_ADD);
    d->op = !value_bytes(width) || dice_below(dice, 4) == 0 ? CO_OP_ASSIGN : d->op;
    d->has_ledger = has_ledger(d) && dice_below(dice, 2);
    d->hot = 2u << dice_below(dice, 2);
    d->n = most - (unsigned)dice_below(dice, BATCH);
    d->has_where = 1;
    for (unsigned i = 0; i < d->n; i++) {
        d->key[i] = (unsigned char)dice_below(dice, few);
        d->takes_part[i] = times[d->key[i]] < TIMES && dice_below(dice, few > 1 ? 3 : 8) == 0;
        times[d->key[i]] += d->takes_part[i];
        d->kind[i] = (unsigned char)d->op;
        d->operand[i] = masked(d, 1ull << i % 31);
    }
}

static void draw_group(struct draw *d, cohort_width width, struct dice *dice)
{
    memset(d, 0, sizeof *d);
    draw_table(d, width, dice);
    if (!d->plan.shape.linear) { /* what lies in the table lies where double hashing put it */
        d->plan.shape.linear = 1;
        d->plan.shape.far = 0;
        table_clear(&d->plan.shape, d->plan.table);
        for (unsigned i = 0; i < 2; i++)
            table_put(&d->plan.shape, d->plan.table, dice_next(dice) & 0x7fffffff, 5);
        d->plan.counters = table_count(&d->plan.shape, d->plan.table);
    }
    d->op = dice_below(dice, 4) ? CO_OP_INSERT : CO_OP_FIND;
    d->group = 2u << dice_below(dice, 5);
    d->has_fallback = d->op == CO_OP_FIND && dice_below(dice, 2);
    draw_entries(d, dice, 0);
}

static void run_drawn(struct test *t, cohort_width width, uint64_t schedules,
                      void (*draw)(struct draw *, cohort_width, struct dice *))
{
    struct batch_stage stage = batch_stage_new();
    struct draw d;
    char text[4000];
    for (uint64_t i = 0; i < schedules; i++) {
        uint64_t seed = t->seed + i;
        struct dice dice = {test_mix(seed / 8 * 16 + (uint64_t)width + 1)}, turn = {test_mix(seed * 2)};
        struct sim_schedule schedule;
        if (i == 0 || seed % 8 == 0) {
            draw(&d, width, &dice);
            tally_plan(plan_hash(&d.plan) ^ dice.state);
        }
        draw_batch_schedule(&schedule, &turn);
        struct map_batch b = set_up(&stage, &d);
        tally_schedules(1);
        if (launch(kind_of(&d), &d, &b, &schedule, text, sizeof text) &&
            (!b.ledger || launch("ledger", &d, &b, &schedule, text, sizeof text)) &&
            judge_batch(&stage, &d, text, sizeof text))
            continue;
        print_draw(&d, stdout);
        report(t, seed, NULL, text);
        break;
    }
    batch_stage_free(&stage);
}

void run_batches(struct test *t, cohort_width width, uint64_t schedules)
{
    run_drawn(t, width, schedules, draw_batch);
}

void run_crowds(struct test *t, cohort_width width, uint64_t schedules)
{
    run_drawn(t, width, schedules, draw_crowd);
}

void run_hot(struct test *t, cohort_width width, uint64_t schedules)
{
    run_drawn(t, width, schedules, draw_hot);
}

void run_groups(struct test *t, uint64_t schedules)
{
    run_drawn(t, COHORT_WIDTH_32_32, schedules, draw_group);
}

/* ---- the winner rule ----------------------------------------------------------------------------------- */

/* Insert or assign by FIRST or LAST: the outcome is one, whatever the schedule. */
static int check_winners(const struct batch_stage *s, const struct draw *d, int first, char *text,
                         size_t bytes)
{
    for (unsigned k = 0; k < d->plan.key_count; k++) {
        uint64_t key = d->plan.keys[k], value = 0, got = 0;
        int there = table_find(&d->plan.shape, d->plan.table, key, &value), was = there, winner = -1,
            full = 0;
        for (unsigned i = 0; i < d->n; i++) {
            if (d->key[i] != k || !d->takes_part[i])
                continue;
            full |= s->failed[i / 32] >> i % 32 & 1;
            winner = winner < 0 || !first ? (int)i : winner;
        }
        if (winner >= 0 && !full && !(was && d->op == CO_OP_INSERT)) {
            value = d->operand[winner];
            there = 1;
        }
        int is = table_find(&d->plan.shape, s->table.table, key, &got);
        if (is != there || (is && value_bytes(d->plan.shape.width) && got != value)) {
            snprintf(text, bytes, "key %#llx: %s with %#llx, not %s with %#llx (winner: entry %d)",
                     (unsigned long long)key, is ? "in" : "out", (unsigned long long)got,
                     there ? "in" : "out", (unsigned long long)value, winner);
            return 0;
        }
        for (unsigned i = 0; i < d->n && winner >= 0 && !full; i++) {
            int hit = s->hit[i / 32] >> i % 32 & 1;
            if (d->key[i] == k && d->takes_part[i] && hit != (was || (int)i != winner)) {
                snprintf(text, bytes, "entry %u, winner %d, the key was %s before: hit is %d", i, winner,
                         was ? "in" : "out", hit);
                return 0;
            }
        }
    }
    return table_check(&d->plan.shape, s->table.table, s->table.counters, text, bytes);
}

static int run_winner(struct batch_stage *s, const struct draw *d, int first, struct sim_schedule *schedule,
                      char *text, size_t bytes)
{
    struct map_batch b = set_up(s, d);
    struct map_sweep mark = {
        .view = b.view, .slots = table_slots(&d->plan.shape) + SIDE_SLOTS, .winners = s->winners};
    b.rank = first ? MAP_RANK_FIRST : MAP_RANK_LAST;
    b.results = NULL;
    b.claims = s->claims;
    *s->claims.contested = 0;
    memset(s->claims.first, 0xaa, BATCH / 8);
    memset(s->claims.full, 0x55, BATCH / 8);
    if (!launch("mark", d, &mark, schedule, text, bytes))
        return 0;
    b.step = MAP_STEP_CLAIM;
    if (!launch("claim", d, &b, schedule, text, bytes))
        return 0;
    b.step = MAP_STEP_RANK;
    if (!launch("rank", d, &b, schedule, text, bytes))
        return 0;
    b.step = MAP_STEP_SETTLE;
    return launch("settle", d, &b, schedule, text, bytes) && check_winners(s, d, first, text, bytes);
}

void run_winners(struct test *t, cohort_width width, uint64_t schedules)
{
    struct batch_stage stage = batch_stage_new();
    char text[4000];
    for (uint64_t i = 0; i < schedules; i++) {
        uint64_t seed = t->seed + i;
        struct dice dice = {test_mix(seed * 16 + (uint64_t)width + 9)};
        struct sim_schedule schedule;
        struct draw d;
        memset(&d, 0, sizeof d);
        draw_table(&d, width, &dice);
        d.step = MAP_STEP_CLAIM;
        d.op = dice_below(&dice, 2) ? CO_OP_INSERT : CO_OP_ASSIGN;
        draw_entries(&d, &dice, 0);
        tally_plan(plan_hash(&d.plan) ^ dice.state);
        draw_batch_schedule(&schedule, &dice);
        tally_schedules(1);
        if (run_winner(&stage, &d, (int)dice_below(&dice, 2), &schedule, text, sizeof text))
            continue;
        print_draw(&d, stdout);
        report(t, seed, NULL, text);
        break;
    }
    batch_stage_free(&stage);
}
