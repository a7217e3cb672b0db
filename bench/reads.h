/* reads.h: sequencing reads of a genome, made up. */
#ifndef COHORT_BENCH_READS_H
#define COHORT_BENCH_READS_H

#include "bench.h"

enum { READ_LETTERS = 150, READ_BYTES = 2 * READ_LETTERS + 16 };

/* Reads of 150 letters from random places and both strands of a genome of random letters. */
typedef struct reads_plan {
    uint64_t reads;
    uint64_t genome; /* its length */
    uint64_t seed;
    double error; /* the probability that a letter is another */
} reads_plan;

/* As many reads as `bytes` of FASTQ hold; the genome is as long as covers it `depth` times. */
reads_plan reads_plan_make(uint64_t bytes, double depth, double error, uint64_t seed);
int reads_write(const reads_plan *plan, const char *path, fault *fault);

#endif
