/* What the arguments of cohort count say, checked, and what its files promise. */
#ifndef COHORT_CLI_COUNT_OPTIONS_H
#define COHORT_CLI_COUNT_OPTIONS_H

#include "cli.h"

typedef struct count_options {
    uint64_t k, top, min, threads, size_hint;
    int kmers, canonical, u32, u64, stats;
    const char *device, *out;
    arg_texts spectra;
    char **files;
    size_t files_n;
    uint64_t input_bytes; /* of all files together */
    int input_known;      /* every file's size is */
    uint64_t distinct;    /* a guess at how many distinct keys there will be */
} count_options;

/* Faults are CLI_BAD_INPUT. The files are opened and closed again, so that the last one's fault does not show
 * up after hours; pipes are left alone. */
int count_options_read(count_options *options, int argc, char **argv, fault *fault);

#endif
