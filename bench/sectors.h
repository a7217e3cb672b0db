/* sectors.h: sectors of the table, 32 bytes each, that an operation of `bench hopscotch --experiment static`
 * touches on a GPU, at memory use 0.8, as the simulated GPU counts them. tests/lines/test_lines_rivals.c
 * holds it to them; docs/hopscotch-protocol.md has the same table. Then those of the streams of `--experiment
 * ranges`, which tests/lines/test_lines_sectors.c holds to what the simulated GPU counts. */
#ifndef COHORT_BENCH_SECTORS_H
#define COHORT_BENCH_SECTORS_H

#include <cohort.h>

enum { SECTORS_BUILD, SECTORS_RETRIEVE, SECTORS_ABSENT, SECTORS_KINDS };

static const struct sectors_told {
    const char *variant;
    double an_operation[SECTORS_KINDS]; /* build: of all inserts, from an empty table on */
} sectors_told[] = {{"lines", {1.83, 1.26, 1.40}},
                    {"pages", {1.32, 1.30, 2.66}},
                    {"linear", {1.50, 1.50, 3.96}},
                    {"quadratic", {1.75, 1.75, 4.83}},
                    {"cuckoo", {2.06, 1.92, 2.95}}};

/* A stream of `inserts` and as many erases in a hundred operations, the rest finds; two operations a key of
 * the range. */
static const struct sectors_mixed {
    const char *variant;
    cohort_width width;
    unsigned inserts;
    double an_operation;
} sectors_mixed[] = {{"lines", COHORT_WIDTH_32_32, 20, 1.17},  {"lines", COHORT_WIDTH_32_32, 40, 1.24},
                     {"lines", COHORT_WIDTH_64_64, 20, 2.36},  {"lines", COHORT_WIDTH_64_64, 40, 2.64},
                     {"lines", COHORT_WIDTH_128_64, 20, 3.19}, {"lines", COHORT_WIDTH_128_64, 40, 3.68},
                     {"pages", COHORT_WIDTH_32_32, 20, 1.07},  {"pages", COHORT_WIDTH_32_32, 40, 1.12},
                     {"pages", COHORT_WIDTH_64_64, 20, 1.32},  {"pages", COHORT_WIDTH_64_64, 40, 1.54}};

#endif
