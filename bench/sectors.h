/* sectors.h: sectors of the table, 32 bytes each, that an operation of `bench hopscotch --experiment static`
 * touches on a GPU, at memory use 0.8, as the simulated GPU counts them. tests/lines/test_lines_rivals.c
 * holds it to them; docs/hopscotch-protocol.md has the same table. */
#ifndef COHORT_BENCH_SECTORS_H
#define COHORT_BENCH_SECTORS_H

enum { SECTORS_BUILD, SECTORS_RETRIEVE, SECTORS_ABSENT, SECTORS_KINDS };

static const struct sectors_told {
    const char *variant;
    double an_operation[SECTORS_KINDS]; /* build: of all inserts, from an empty table on */
} sectors_told[] = {{"lines", {1.83, 1.26, 1.40}},
                    {"pages", {1.32, 1.30, 2.66}},
                    {"linear", {1.50, 1.50, 3.96}},
                    {"quadratic", {1.75, 1.75, 4.83}},
                    {"cuckoo", {2.06, 1.92, 2.95}}};

#endif
