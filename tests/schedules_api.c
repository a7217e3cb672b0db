/* schedules_api.c: batches through the host API on a simulated device of its own each: growth, parts,
 * streams and winner passes of the host code on top of kernels under schedules. The oracle of the other
 * tests judges the answers. */
#include <setjmp.h>

#include "schedules.h"

#include "subject.h"

static void seed_case(struct test *t, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        t->random[i] = test_mix(seed * 4 + (uint64_t)i + 1);
}

static void few_batches(struct test *t)
{
    cohort_map_options options = subject_options(t);
    options.fixed = test_below(t, 3) == 0;
    options.capacity = options.fixed ? 64 : 1;
    options.probe = subject_probe(t, test_below(t, 3) ? COHORT_PROBE_DOUBLE : COHORT_PROBE_LINEAR);
    if (t->width == COHORT_WIDTH_32_32 && options.probe == COHORT_PROBE_LINEAR && test_below(t, 2))
        options.group = 4;
    struct subject s = subject_new(t, &options);
    for (int i = 0; i < 3; i++) {
        int runs = test_below(t, 2) && subject_runs(t);
        enum trial_kind kind = runs ? TRIAL_RUN : (enum trial_kind)test_below(t, TRIAL_RUN);
        cohort_op op = (cohort_op)(COHORT_OP_ADD + test_below(t, COHORT_OP_COUNT - COHORT_OP_ADD + 1));
        cohort_winner winner = COHORT_WINNER_ANY;
        if (kind == TRIAL_INSERT || kind == TRIAL_ASSIGN || kind == TRIAL_INSERT_AND_FIND)
            winner = (cohort_winner)test_below(t, 3);
        if (kind == TRIAL_APPLY && !value_bytes(t->width))
            kind = TRIAL_INSERT;
        subject_step(&s, kind, op, winner, 1 + test_below(t, 40), test_below(t, 2) ? FEW : RANDOM, 30);
    }
    subject_free(&s);
}

/* Many entries of few keys, none of which was in before: what a key's first value is, and what comes to it,
 * meet. */
static void crowded_batches(struct test *t)
{
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.capacity = 64;
    struct subject s = subject_new(t, &options);
    for (int i = 0; i < 2; i++) {
        static const enum trial_kind kinds[] = {TRIAL_APPLY,  TRIAL_APPLY, TRIAL_APPLY,          TRIAL_INSERT,
                                                TRIAL_ASSIGN, TRIAL_ERASE, TRIAL_INSERT_AND_FIND};
        enum trial_kind kind = kinds[test_below(t, sizeof kinds / sizeof *kinds)];
        cohort_op op = (cohort_op)(COHORT_OP_ADD + test_below(t, COHORT_OP_COUNT - COHORT_OP_ADD + 1));
        int ranked = kind == TRIAL_INSERT || kind == TRIAL_ASSIGN || kind == TRIAL_INSERT_AND_FIND;
        cohort_winner winner = ranked ? (cohort_winner)test_below(t, 3) : COHORT_WINNER_ANY;
        subject_step(&s, kind, op, winner, 64 + test_below(t, 200), FEW, 5);
    }
    subject_free(&s);
}

/* One context from its beginning to its end. */
static void one_context(struct test *t, void (*batches)(struct test *))
{
    cohort_context_options options = test_context_options(t);
    cohort_status status = cohort_context_create(&options, &t->context);
    REQUIREF(t, !status, "cohort_context_create: %s", cohort_message(NULL));
    batches(t);
    column_drop(t, NULL);
    cohort_context_destroy(t->context);
    t->context = NULL;
}

/* ",arch=80" of a device that has it, else nothing. */
static const char *arch_of(const struct test *t)
{
    const char *arch = strstr(t->device, ",arch=");
    return arch ? arch : "";
}

/* What fails leaves by longjmp; it is caught here to tell the seed. */
static void caught(struct test *t, void (*batches)(struct test *), uint64_t seed)
{
    jmp_buf leave;
    void *outer = t->exit;
    t->exit = &leave;
    if (!setjmp(leave))
        one_context(t, batches);
    t->exit = outer;
    if (t->failures)
        printf("  replay: --device sim:1%.8s --filter %s --seed %llu\n", arch_of(t), t->name,
               (unsigned long long)seed);
}

static void run_contexts(struct test *t, void (*batches)(struct test *), uint64_t schedules)
{
    const char *device = t->device, *arch = arch_of(t);
    for (uint64_t i = 0; i < schedules && !t->failures; i++) {
        char text[64];
        seed_case(t, t->seed + i);
        snprintf(text, sizeof text, "sim:%llu,schedule=any%.8s",
                 (unsigned long long)(test_random(t) % 1000000007), arch);
        t->device = text;
        caught(t, batches, t->seed + i);
        tally_schedules(1);
        tally_plan(test_mix((t->seed + i) * 8 + (uint64_t)t->width));
    }
    t->device = device;
}

void run_api(struct test *t, uint64_t schedules)
{
    run_contexts(t, few_batches, schedules);
}

void run_halves(struct test *t, uint64_t schedules)
{
    run_contexts(t, crowded_batches, schedules);
}

/* A map that grows only when its last slot is taken: the keys that have found no room within their reach
 * by then are tried again in a bigger table, they alone. Each is added to once. */
void run_retries(struct test *t)
{
    cohort_map_options options = subject_options(t);
    uint64_t slots = 9 * 65536 / (2 * key_bytes(t->width)); /* one page more than a reach */
    options.max_load = 1;
    options.capacity = slots;
    struct subject s = subject_new(t, &options);
    struct trial r = subject_trial(&s, TRIAL_APPLY, slots);
    r.op = COHORT_OP_ADD;
    fill_values(t, r.values);
    for (uint64_t i = 0; i < slots; i++)
        column_put(r.keys, i, test_mix(t->seed * slots + i) >> 32 << 17 | i);
    subject_do(&s, &r);
    OK(t, cohort_map_get_options(s.map, &options));
    CHECKF(t, options.capacity > slots, "the map has not grown: no key was out of reach");
    subject_free(&s);
}
