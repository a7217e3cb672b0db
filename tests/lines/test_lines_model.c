/* test_lines_model.c: the protocol of docs/hopscotch-protocol.md, explored before it is built, and with what
 * is known to be wrong put in.
 *
 * `plans` goes through plans of all sizes on all shapes, strong and weak, header by header: of each kind as
 * many as make up so many states, others for each seed; with --ci all of 1 + 1 on the
 * shapes near, partner and one. COHORT_MODEL=K/N in the environment asks for the Kth of N parts of all plans
 * of these shapes instead, `all` for the whole; those of 2 + 1 + 1 and 2 + 2 + 1 are never gone through all,
 * and those with changes that change nothing up to 2 + 1. A case may take ten minutes with --ci, two else: so
 * all come in 64 parts (scripts/nightly.sh). `named` has the named plans whole. */
#include <time.h>

#include "model_plans.h"
#include "test.h"

/* States of one plan, of a share and of all plans. */
enum { MOST_STATES = 200000, MOST_OF_ALL = 20000000 };

/* The last two are too many to go through all of them. */
static const struct plan_size sizes[] = {{{1, 1, 0}}, {{2, 1, 0}}, {{1, 1, 1}},
                                         {{2, 2, 0}}, {{2, 1, 1}}, {{2, 2, 1}}};
enum { ALL_SIZES = sizeof sizes / sizeof *sizes, SIZES = ALL_SIZES - 2 };
static const uint64_t plans_to_catch[] = {1500, 1500, 10000, 3000};
static const char *const size_names[] = {"1 + 1", "2 + 1", "1 + 1 + 1", "2 + 2", "2 + 1 + 1", "2 + 2 + 1"};

struct tally {
    uint64_t plans, states, large;
};

/* A step through `count` numbers that meets each of them. */
static uint64_t step_through(uint64_t count)
{
    uint64_t step = (uint64_t)((double)count * 0.6180339887) | 1;
    for (;; step += 2) {
        uint64_t a = count, b = step;
        while (b) {
            const uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

/* Plans of a size under these settings, in an order without a pattern that the seed begins, until one is
 * wrong (1), or so many plans or states have been; 0: no such bound. */
struct bounds {
    uint64_t plans, states;
    uint64_t part, parts; /* without bounds: numbers that leave `part`, divided by so many parts */
};
static int explore(const struct lines_settings *s, int weak, struct plan_size size, uint64_t seed,
                   struct bounds most, struct tally *tally, FILE *story)
{
    const struct model m = lines_model(s, weak);
    struct tally here = {0, 0, 0};
    int wrong = 0;
    model_begin(&m);
    const uint64_t count = plans_count(s, size), step = step_through(count);
    const uint64_t each = most.plans || most.states ? 1 : most.parts;
    uint64_t number = test_mix(seed) % count;
    for (uint64_t i = most.part; i < count && !wrong; i += each) {
        struct model_plan plan;
        if ((most.plans && here.plans == most.plans) || (most.states && here.states >= most.states))
            break;
        number = most.plans || most.states ? (number + step) % count : i;
        if (!plans_get(s, size, number, &plan))
            continue;
        const struct model_outcome o =
            model_explore(&m, &plan, most.plans || most.states ? MOST_STATES : MOST_OF_ALL, story);
        wrong = o.verdict == MODEL_WRONG;
        here.plans++;
        here.states += o.states;
        here.large += o.verdict == MODEL_TOO_LARGE;
    }
    model_end();
    tally->plans += here.plans;
    tally->states += here.states;
    tally->large += here.large;
    return wrong;
}

/* Sizes one after the other, the small ones first, on the shapes that can show it, until a plan is wrong: at
 * most so many plans of each. */
static int is_caught_by(struct test *t, struct lines_settings s, int weak, const char *what, uint64_t most)
{
    static const enum lines_shape tried[] = {SHAPE_PARTNER, SHAPE_NEAR};
    for (unsigned size = 0; size < SIZES; size++)
        for (unsigned i = 0; i < 2; i++) {
            const uint64_t count = most < plans_to_catch[size] ? most : plans_to_catch[size];
            const struct lines_settings shape = lines_settings_of(tried[i], s.one_word, s.values);
            struct tally tally = {0, 0, 0};
            s.homes = shape.homes, s.slots = shape.slots, s.near = shape.near, s.far = shape.far;
            memcpy(s.partner, shape.partner, sizeof s.partner);
            memcpy(s.home_of, shape.home_of, sizeof s.home_of);
            if (!explore(&s, weak, sizes[size], t->seed, (struct bounds){count, 0, 0, 1}, &tally, NULL))
                continue;
            printf("model: %-16s %s word%s caught by plan %llu of %s operations, shape %s\n", what,
                   s.one_word ? "one" : "two", s.one_word ? ", " : "s,", (unsigned long long)tally.plans,
                   size_names[size], lines_shape_names[tried[i]]);
            return 1;
        }
    return 0;
}

/* A few of each size first: what three threads show soon need not wait for all plans of two. */
static int is_caught(struct test *t, struct lines_settings s, int weak, const char *what)
{
    return is_caught_by(t, s, weak, what, 400) || is_caught_by(t, s, weak, what, UINT64_MAX);
}

static void bugs(struct test *t)
{
    for (int one_word = 0; one_word < 2; one_word++)
        for (enum lines_bug bug = BUG_NONE + 1; bug < BUGS; bug++) {
            struct lines_settings s = lines_settings_of(SHAPE_NEAR, one_word, 1);
            s.bug = bug;
            s.same = bug == BUG_SAME_UNVALIDATED;
            if (bug == BUG_UNLOCK_STORES && !one_word)
                continue; /* the word has nothing else in it */
            if (!test_drawn(t, (uint64_t)bug + (unsigned)one_word, 3))
                continue;
            CHECKF(t, is_caught(t, s, 0, lines_bug_names[bug]), "%s is not noticed (one_word %d)",
                   lines_bug_names[bug], one_word);
        }
    /* Sets lock nothing: what an erase or a move of theirs gives away too early. */
    for (unsigned i = 0; i < 2; i++) {
        struct lines_settings s = lines_settings_of(SHAPE_NEAR, 1, 0);
        s.bug = i ? BUG_RETIRE_FIRST : BUG_SLOT_FIRST;
        CHECKF(t, is_caught(t, s, 0, lines_bug_names[s.bug]), "%s of a set is not noticed",
               lines_bug_names[s.bug]);
    }
}

static void orders(struct test *t)
{
    for (int one_word = 0; one_word < 2; one_word++)
        for (enum lines_word word = 0; word < LINES_WORDS; word++) {
            struct lines_settings s = lines_settings_of(SHAPE_NEAR, one_word, 1);
            if (!test_drawn(t, (uint64_t)word + (unsigned)one_word, 3))
                continue;
            s.relaxed[word] = 1;
            CHECKF(t, is_caught(t, s, 1, lines_word_names[word]),
                   "the word '%s' is relaxed, and nobody notices (one_word %d)", lines_word_names[word],
                   one_word);
        }
}

/* None of these is wrong. */
static void must_hold(struct test *t, const struct lines_settings *s, int weak, const char *what)
{
    const struct bounds most = {0, test_scale(t, 30000, 150000, 1000000), 0, 1};
    struct tally tally = {0, 0, 0};
    for (unsigned size = 0; size < SIZES; size++)
        if (!CHECKF(t, !explore(s, weak, sizes[size], t->seed, most, &tally, stdout), "%s: see above", what))
            return;
}

/* A version of b bits comes round after 2^b commits of one home inside one operation: two of them are enough
 * for one bit. */
static void wrap(struct test *t)
{
    struct lines_settings s = lines_settings_of(SHAPE_PARTNER, 1, 1);
    s.version_bits = 1;
    CHECK(t, is_caught(t, s, 0, "version of 1 bit"));
    s.version_bits = 2;
    must_hold(t, &s, 0, "versions of two bits");
}

/* What a find may read of its own home without minding the order: a glance no; words of one moment keys
 * alone, and values if a change of them counts as a commit does. */
static void looks(struct test *t)
{
    struct lines_settings s = lines_settings_of(SHAPE_PARTNER, 1, 0);
    s.look = LOOK_GLANCE;
    CHECK(t, is_caught(t, s, 1, "glance"));
    s.look = LOOK_SNAP;
    must_hold(t, &s, 0, "a set's home of one moment");
    s = lines_settings_of(SHAPE_PARTNER, 1, 1);
    s.look = LOOK_SNAP;
    CHECK(t, is_caught(t, s, 0, "one moment"));
    s.counted_changes = 1;
    must_hold(t, &s, 0, "a home of one moment, and changes counted");
}

/* The forms that the words have on one device or another. */
static void forms(struct test *t)
{
    for (int form = 0; form < 8; form++) {
        struct lines_settings s = lines_settings_of(form & 4 ? SHAPE_PARTNER : SHAPE_NEAR, 1, 1);
        if (!test_drawn(t, (uint64_t)form, 4))
            continue;
        s.joined = form & 1;
        s.exchange = (form & 1) == 0;
        s.acquiring_slots = form >> 1 & 1;
        must_hold(t, &s, 1, "a form");
    }
}

/* Keys of two words: no more is needed than for keys of one; and what finds a key of one word of each of two
 * others, without the second look. */
static void two_words(struct test *t)
{
    static const enum lines_shape tried[] = {SHAPE_ONE, SHAPE_NEAR, SHAPE_PARTNER};
    for (unsigned i = 0; i < 3; i++)
        for (int weak = 0; weak < 2; weak++) {
            struct lines_settings s = lines_settings_of(tried[i], 1, 1);
            if (!test_drawn(t, i + (unsigned)weak, 3))
                continue;
            s.split = 1;
            must_hold(t, &s, weak, "keys of two words");
        }
    for (int weak = 0; weak < 2; weak++) {
        struct lines_settings s = lines_settings_of(SHAPE_ONE, 1, 0);
        struct tally tally = {0, 0, 0};
        int caught = 0;
        s.split = 1;
        must_hold(t, &s, weak, "a set's keys of two words");
        s.bug = BUG_HIT_UNVALIDATED;
        for (unsigned size = 0; size < SIZES && !caught; size++)
            caught = explore(&s, weak, sizes[size], t->seed, (struct bounds){plans_to_catch[size], 0, 0, 1},
                             &tally, NULL);
        CHECKF(t, caught, "a torn key is not noticed (weak %d)", weak);
        printf("model: a torn key, weak %d, caught by plan %llu\n", weak, (unsigned long long)tally.plans);
    }
}

/* Changes that change nothing: they are lookups, and lock nothing. */
static void unchanged(struct test *t)
{
    for (int form = 0; form < 4; form++) {
        struct lines_settings s = lines_settings_of(form & 2 ? SHAPE_PARTNER : SHAPE_NEAR, 1, 1);
        s.same = 1;
        must_hold(t, &s, form & 1, "changes that change nothing");
    }
}

/* Is one of the named plans wrong under these settings? */
static int is_seen_by_named(const struct lines_settings *s, int weak)
{
    const struct model m = lines_model(s, weak);
    struct model_plan plan;
    int wrong = 0;
    model_begin(&m);
    for (unsigned i = 0; !wrong && cases_get(s, i, &plan); i++)
        wrong = model_explore(&m, &plan, MOST_OF_ALL, NULL).verdict == MODEL_WRONG;
    model_end();
    return wrong;
}

/* The named plans show each bug but the two for which there is no plan among them, and each relaxed word but
 * the one that needs a change of a slot that was used again. */
static void named_bugs(struct test *t)
{
    for (enum lines_bug bug = BUG_NONE + 1; bug < BUGS; bug++) {
        struct lines_settings s = lines_settings_of(SHAPE_NEAR, 1, 1);
        s.bug = bug;
        if (bug != BUG_SAME_UNVALIDATED && bug != BUG_FULL_UNVALIDATED)
            CHECKF(t, is_seen_by_named(&s, 0), "no named plan notices %s", lines_bug_names[bug]);
    }
    for (enum lines_word word = 0; word < LINES_WORDS; word++) {
        struct lines_settings s = lines_settings_of(SHAPE_NEAR, 0, 1);
        s.relaxed[word] = 1;
        if (word != WORD_CHANGE_FENCE)
            CHECKF(t, is_seen_by_named(&s, 1), "the word '%s' is relaxed, and no named plan notices",
                   lines_word_names[word]);
    }
}

/* The named plans, whole, with each header, on strong and on weak memory. */
static void named(struct test *t)
{
    unsigned count = 0;
    uint64_t states = 0;
    for (int header = 0; header < 3; header++)
        for (int weak = 0; weak < 2; weak++) {
            const struct lines_settings s = lines_settings_of(SHAPE_NEAR, header > 0, header < 2);
            const struct model m = lines_model(&s, weak);
            struct model_plan plan;
            const char *name;
            model_begin(&m);
            for (unsigned i = 0; (name = cases_get(&s, i, &plan)) != NULL; i++, count++) {
                const struct model_outcome o = model_explore(&m, &plan, MOST_OF_ALL, stdout);
                CHECKF(t, o.verdict == MODEL_RIGHT, "%s: header %d, weak %d: %s", name, header, weak,
                       o.verdict == MODEL_WRONG ? "see above" : "too many states");
                states += o.states;
            }
            model_end();
        }
    printf("model: named: %u plans, %llu states\n", count, (unsigned long long)states);
    CHECK(t, count == 6 * 15);
}

/* COHORT_MODEL: all, or K/N. */
static int whole(struct bounds *most)
{
    const char *text = getenv("COHORT_MODEL");
    unsigned long long part = 1, parts = 1;
    if (!text ||
        (strcmp(text, "all") && (sscanf(text, "%llu/%llu", &part, &parts) != 2 || !part || part > parts)))
        return 0;
    *most = (struct bounds){0, 0, part - 1, parts};
    return 1;
}

/* Headers: two words, one, and one of a set; behind those two words and one again, for changes that change
 * nothing. */
enum { HEADERS = 3, HEADERS_OF_ALL = 5, SIZES_OF_SAME = 2 };
static struct lines_settings settings_of(enum lines_shape shape, int header)
{
    struct lines_settings s =
        lines_settings_of(shape, header >= HEADERS ? header - HEADERS : header > 0, header != 2);
    s.same = header >= HEADERS;
    return s;
}

/* Plans of one size on all shapes: 0 if one is wrong. */
static int plans_of(struct test *t, unsigned size, struct bounds most, int all)
{
    const struct bounds every = {0, 0, 0, 1};
    const clock_t start = clock();
    const int headers = all && size < SIZES_OF_SAME ? HEADERS_OF_ALL : HEADERS;
    struct tally tally = {0, 0, 0};
    for (int header = 0; header < headers; header++)
        for (int weak = 0; weak < 2; weak++)
            for (enum lines_shape shape = 0; shape < SHAPES; shape++) {
                const struct lines_settings s = settings_of(shape, header);
                const int large = shape == SHAPE_BOTH || shape == SHAPE_SLOTS,
                          small = t->ci && !size && !large;
                if (all && large)
                    continue;
                if (!all && !test_drawn(t, (uint64_t)shape + (unsigned)(header + weak) + size, 3))
                    continue;
                if (explore(&s, weak, sizes[size], t->seed, small && !all ? every : most, &tally, stdout))
                    return test_fail(t, __FILE__, __LINE__, "shape %s, header %d, weak %d: see above",
                                     lines_shape_names[shape], header, weak);
            }
    printf("model: %s: %llu plans, %llu states, %llu plans too large, %.0f s\n", size_names[size],
           (unsigned long long)tally.plans, (unsigned long long)tally.states, (unsigned long long)tally.large,
           (double)(clock() - start) / CLOCKS_PER_SEC);
    return CHECK(t, !all || !tally.large);
}

static void plans(struct test *t)
{
    struct bounds most = {0, test_scale(t, 20000, 200000, 1000000), 0, 1};
    const int all = whole(&most);
    const unsigned last = all ? SIZES : t->quick ? ALL_SIZES - 1 : ALL_SIZES;
    for (unsigned size = 0; size < last; size++) {
        if (size == SIZES)
            most.states /= 2;
        if (!plans_of(t, size, most, all))
            return;
    }
}

enum { HOST = TEST_ON_CPU | TEST_NO_CONTEXT };

const struct test_case test_cases[] = {
    {"bugs", bugs, HOST},           {"orders", orders, HOST}, {"wrap", wrap, HOST},
    {"looks", looks, HOST},         {"forms", forms, HOST},   {"two_words", two_words, HOST},
    {"unchanged", unchanged, HOST}, {"named", named, HOST},   {"named_bugs", named_bugs, HOST},
    {"plans", plans, HOST},         {NULL, NULL, 0}};
