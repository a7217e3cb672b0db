/* schedules_small.c: LINES, up to three operations in all, by two lanes or three, on two keys of one home,
 * through all their schedules (sim_search.merge: what follows a state is gone through once).
 *
 *   operations   preemptions   old values, in weak memory
 *   1 + 1        any number    two
 *   2 + 1        any number    one
 *   1 + 1 + 1    any number    none
 *   1 + 1 + 1    three         one
 *
 * A plan of the fourth row that is not through after so many schedules has four preemptions instead; what is
 * done whole tells how many had to.
 *
 * Plans are all combinations of operations, from each of four tables: neither key is in, the first, both, or
 * neither and one slot is left. Of plans that differ by the names of lanes or keys alone there is one.
 * COHORT_SCHEDULES=K/N in the environment asks for the Kth of N parts of all plans; else those of two
 * operations are done whole, and of the others a share that the seed draws. */
#include "schedules.h"

static const unsigned char kinds[] = {CO_OP_FIND,   CO_OP_INSERT, CO_OP_ERASE,
                                      CO_OP_ASSIGN, CO_OP_ADD,    CO_OP_MIN};
enum { START_NEITHER, START_FIRST, START_BOTH, START_CROWDED, STARTS };

/* Operations of each lane. */
static const unsigned char sizes[][3] = {{1, 1, 0}, {2, 1, 0}, {1, 1, 1}};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct space {
    cohort_width width;
    unsigned size, choices; /* of one operation: kinds times keys */
    uint64_t count;         /* plans, those that are the same as others too */
};

static struct space space_of(cohort_width width, unsigned size)
{
    struct space s = {.width = width, .size = size, .choices = value_bytes(width) ? 12 : 6, .count = STARTS};
    for (int i = sizes[size][0] + sizes[size][1] + sizes[size][2]; i; i--)
        s.count *= s.choices;
    return s;
}

static void draw_start(struct plan *p, unsigned start)
{
    if (start == START_FIRST || start == START_BOTH)
        table_put(&p->shape, p->table, p->keys[0], 10);
    if (start == START_BOTH)
        table_put(&p->shape, p->table, p->keys[1], 20);
    for (uint64_t k = 100; start == START_CROWDED && p->counters.taken + 1 < table_slots(&p->shape); k++) {
        table_put(&p->shape, p->table, k, k);
        p->counters = table_count(&p->shape, p->table);
    }
    p->counters = table_count(&p->shape, p->table);
}

/* Plan `number`: 0 if it is the same as another one. */
static int small_plan(struct plan *p, const struct space *s, uint64_t number)
{
    const struct shape shape = {.width = s->width, .pages = 1, .lines = 1};
    const unsigned char *size = sizes[s->size];
    const unsigned start = (unsigned)(number % STARTS);
    unsigned last = 0, op = 0;
    plan_shape(p, shape);
    p->lanes = size[2] ? 3 : 2;
    p->each = size[0];
    p->key_count = 2;
    p->operand_count = 4;
    p->keys[0] = 7;
    p->keys[1] = 11;
    number /= STARTS;
    for (unsigned lane = 0; lane < p->lanes; lane++)
        for (unsigned i = 0; i < p->each; i++) {
            const unsigned at = lane * p->each + i, choice = (unsigned)(number % s->choices);
            p->ops[at] = LIST_END;
            if (i >= size[lane])
                continue;
            number /= s->choices;
            if (op == 0 && start != START_FIRST && choice & 1)
                return 0; /* the other key is there as well */
            if (lane && size[lane - 1] == size[lane] && size[0] == 1 && choice < last)
                return 0;
            last = choice;
            p->operands[op] = 3 + op;
            p->ops[at] = LIST_OP(kinds[choice / 2], choice & 1, op);
            op++;
        }
    draw_start(p, start);
    return 1;
}

/* All schedules of a plan: 0 if one is illegal. */
int search_all(struct test *t, struct stage *stage, const struct plan *p, struct sim_search *search,
               enum sim_memory memory, uint64_t number, struct search_told *told)
{
    struct sim_schedule schedule = SIM_SCHEDULE_INIT;
    char text[4000], story[5200];
    int legal;
    search->merge = 1;
    search->aside = stage->counters;
    search->aside_bytes = sizeof *stage->counters;
    schedule.kind = SIM_SEARCH;
    schedule.memory = memory;
    schedule.search = search;
    schedule.operation_steps = 4000;
    schedule.clocks = memory == SIM_WEAK;
    schedule.quiet = 1;
    do {
        legal = stage_run(stage, p, &schedule, p->lanes, text, sizeof text) || search->given_up;
        if (!legal)
            snprintf(story, sizeof story, "%s\n  memory %s, decisions %.1000s", text,
                     memory == SIM_WEAK ? "weak" : "strong", sim_search_path(search));
        if (legal && told && !search->given_up) {
            told->ended++;
            told->moved += stage->counters->displaced + stage->counters->pulled != 0;
        }
    } while (legal && sim_search_next(search));
    tally_schedules(search->runs + !legal);
    if (!legal)
        report(t, number, p, story);
    return legal;
}

/* What is searched of one size. */
struct part {
    unsigned preemptions, stale;
    unsigned share; /* of plans in the ordinary form, where maps have values; of sets there are few */
    uint64_t most;  /* schedules, in the ordinary form; 0: all */
};
enum { WHOLE = 2, FEWER = 4 }; /* times `most` where all plans are asked for; preemptions after it */
static const struct part parts[SIZES][2] = {{{SIM_UNBOUNDED, 0, 1, 0}, {SIM_UNBOUNDED, 2, 1, 0}},
                                            {{SIM_UNBOUNDED, 0, 16, 0}, {SIM_UNBOUNDED, 1, 64, 0}},
                                            {{SIM_UNBOUNDED, 0, 96, 100000}, {3, 1, 128, 0}}};

/* Which numbers: one of each `share` of those that leave `part`, divided by `parts`. */
struct some {
    uint64_t share, part, parts;
};

/* COHORT_SCHEDULES: K/N. */
static struct some some_of(const struct test *t, cohort_width width, const struct part *part)
{
    const char *text = getenv("COHORT_SCHEDULES");
    unsigned long long k = 1, n = 1;
    if (text && sscanf(text, "%llu/%llu", &k, &n) == 2 && k && k <= n)
        return (struct some){1, k - 1, n};
    const uint64_t sets = part->most ? part->share / 6 : 1 + part->share / 64;
    const uint64_t ordinary = !value_bytes(width)            ? sets
                              : width == COHORT_WIDTH_128_64 ? part->share * 3 - 2
                                                             : part->share;
    return (struct some){test_scale(t, ordinary * 64 + 1, ordinary, (ordinary + 3) / 4), 0, 1};
}

/* One plan, as its part says. *runs grows, and *cut where it has FEWER preemptions. */
static int search_bounded(struct test *t, struct stage *stage, const struct plan *plan,
                          const struct part *part, enum sim_memory memory, uint64_t most, uint64_t number,
                          uint64_t *runs, uint64_t *cut)
{
    struct sim_search search = {.preemptions = part->preemptions, .stale = part->stale, .most = most};
    int legal = search_all(t, stage, plan, &search, memory, number, NULL);
    *runs += search.runs;
    if (legal && search.cut) {
        sim_search_end(&search);
        search = (struct sim_search){.preemptions = FEWER, .stale = part->stale};
        legal = search_all(t, stage, plan, &search, memory, number, NULL);
        *runs += search.runs;
        ++*cut;
    }
    sim_search_end(&search);
    return legal;
}

/* Plans of a size, in strong memory or weak. */
static int search_part(struct test *t, struct stage *stage, cohort_width width, unsigned size, int weak)
{
    const struct part *part = &parts[size][weak];
    const struct space s = space_of(width, size);
    const struct some some = some_of(t, width, part);
    const uint64_t share = some.share, blocks = (s.count + share - 1) / share;
    const uint64_t most = part->most * (share == 1 ? WHOLE : 1);
    uint64_t plans = 0, runs = 0, cut = 0;
    int legal = 1;
    for (uint64_t i = some.part; i < blocks && legal; i += some.parts) {
        /* one of each `share` numbers, so that all digits of a number vary */
        const uint64_t number = i * share + test_mix(t->seed * 64 + i) % share;
        struct plan plan;
        if (number >= s.count || !small_plan(&plan, &s, number))
            continue;
        tally_plan(plan_hash(&plan));
        legal =
            search_bounded(t, stage, &plan, part, weak ? SIM_WEAK : SIM_STRONG, most, number, &runs, &cut);
        plans++;
    }
    if (share == 1 && legal) /* of this part */
        printf(
            "small: width %s, size %u, %s memory: all %llu plans, %llu with fewer preemptions, %llu runs\n",
            width_name(width), size, weak ? "weak" : "strong", (unsigned long long)plans,
            (unsigned long long)cut, (unsigned long long)runs);
    return legal;
}

void run_small(struct test *t, cohort_width width)
{
    struct stage stage = stage_new();
    int legal = 1;
    for (unsigned part = 0; part < 2 * SIZES && legal; part++)
        legal = search_part(t, &stage, width, part / 2, part & 1);
    stage_free(&stage);
}
