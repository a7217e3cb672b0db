/* pages.h: what pages.c and pages_tables.c share: a block of a page, its options and its rows. */
#ifndef COHORT_BENCH_PAGES_H
#define COHORT_BENCH_PAGES_H

#include "bench.h"

enum { BENCH_BLOCK_WORDS = 64 };

/* One block of a page. */
typedef struct bench_block {
    char text[2048]; /* of the comment, cut into words */
    char *words[BENCH_BLOCK_WORDS];
    int count;
    const char *experiment, *name, *width, *keys, *variant, *n, *threads, *columns, *plot;
    arg_texts against;
    bench_rows rows, peers;
    int limits;
    char under[256]; /* the drawing's second line */
    size_t files;    /* words that are files of ours */
} bench_block;

/* An error names the page that has the block. */
int bench_block_known(const bench_block *b, const char *path, fault *fault); /* its --columns */

void bench_block_print(FILE *out, const bench_block *b);

#endif
