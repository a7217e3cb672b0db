/* child.h: other programs run from the bench: peers, counters of k-mers, ourselves. */
#ifndef COHORT_BENCH_CHILD_H
#define COHORT_BENCH_CHILD_H

#include "../cli/cli.h"

typedef struct child {
    double seconds; /* from start to end */
    uint64_t
        /* greatest resident memory, no less than that of this program when it started the child */
        peak_bytes;
    char *out, *err; /* what it printed, with a zero at the end; child_free frees both */
    size_t out_bytes;
} child;

/* Runs argv[0] (looked up in PATH if it holds no '/') to its end. CLI_FAILED if it cannot be run, fails or is
 * killed; the fault then carries its first line of standard error. */
int child_run(child *c, const char *const *argv, fault *fault);
void child_free(child *c);

/* The path of a program in PATH; 0 if there is none. */
int child_find(char *path, size_t room, const char *name);

/* The folder that this program lies in, without a '/' at its end. */
int child_own_folder(char *path, size_t room);

#endif
