/* The same work on several threads at once, each with its share. */
#ifndef COHORT_CLI_PARALLEL_H
#define COHORT_CLI_PARALLEL_H

#include <stddef.h>

/* Calls work(user, share, shares) for each share from 0, each on a thread of its own as far as threads can be
 * had, and returns when all are done. */
void parallel_run(unsigned shares, void (*work)(void *user, unsigned share, unsigned shares), void *user);

/* Where the share of n things begins; that of `share` + 1 is where it ends. */
size_t parallel_first(size_t n, unsigned share, unsigned shares);

#endif
