/* test_draws.c: the parts of a case that the short form draws (test_drawn): each number has its share of
 * them, so many in a row have all, and a part does the same whichever others are done. */
#include "test.h"

#define PARTS 50u

/* What a case with so many parts does in a run whose number is `draw`: the first random number of each part
 * that is done; 0: it is not done. Returns how many are not. */
static unsigned run_parts(int drawn, uint64_t draw, uint64_t of, uint64_t first[PARTS])
{
    struct test other = {.drawn = drawn, .draw = draw, .first = 77, .random = {1, 2, 3, 4}};
    for (uint64_t part = 0; part < PARTS; part++)
        first[part] = test_drawn(&other, part, of) ? test_random(&other) | 1 : 0;
    return other.not_drawn;
}

static void shares(struct test *t)
{
    uint64_t all[PARTS], some[PARTS];
    EQUAL(t, run_parts(0, 0, 1, all), 0);
    for (uint64_t of = 1; of <= 7; of++)
        for (uint64_t from = 0; from < 9; from++) {
            unsigned times[PARTS] = {0};
            for (uint64_t draw = from; draw < from + of; draw++) {
                unsigned left = run_parts(1, draw, of, some), done = 0;
                for (unsigned part = 0; part < PARTS; part++) {
                    REQUIRE(t, !some[part] || some[part] == all[part]);
                    times[part] += some[part] != 0;
                    done += some[part] != 0;
                }
                EQUAL(t, done + left, PARTS);
                CHECK(t, done == PARTS / of || done == PARTS / of + 1);
            }
            for (unsigned part = 0; part < PARTS; part++)
                EQUAL(t, times[part], 1);
        }
    for (unsigned part = 1; part < PARTS; part++)
        CHECK(t, all[part] != all[part - 1]);
}

/* A part of several steps, each of which asks, has other numbers at each step, and the same whichever parts
 * are done. */
static void steps(struct test *t)
{
    enum { STEPS = 4 };
    uint64_t all[PARTS][STEPS];
    for (uint64_t draw = 0; draw < 6; draw++) {
        struct test other = {.drawn = draw > 0, .draw = draw, .first = 78, .random = {1, 2, 3, 4}};
        for (uint64_t part = 0; part < PARTS; part++)
            for (uint64_t step = 0; step < STEPS; step++) {
                if (!test_drawn(&other, part, 5))
                    continue;
                const uint64_t number = test_random(&other);
                if (!draw)
                    all[part][step] = number;
                CHECK(t, number == all[part][step] && (!step || number != all[part][step - 1]));
            }
    }
}

/* A run that draws nothing does all. */
static void all(struct test *t)
{
    uint64_t first[PARTS];
    for (uint64_t draw = 0; draw < 9; draw++)
        EQUAL(t, run_parts(0, draw, 5, first), 0);
}

/* Tells which parts of which combinations are done: tests/structure counts them over many runs. */
static void told(struct test *t)
{
    for (uint64_t part = 0; part < 3; part++)
        if (test_drawn(t, part, 3))
            printf("part %llu of %s\n", (unsigned long long)part, t->name);
}

const struct test_case test_cases[] = {
    {"shares", shares, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"steps", steps, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"all", all, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"told", told, TEST_NO_CONTEXT | TEST_ON_SIM | TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
