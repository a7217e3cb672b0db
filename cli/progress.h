/* One line on standard error that says how far the work is; only where that is a terminal. */
#ifndef COHORT_CLI_PROGRESS_H
#define COHORT_CLI_PROGRESS_H

#include <stdint.h>

#include <cohort.h>

/* Draws `done` of `total` bytes (total 0: not known) of `what`, at most ten times a second. `what` starts
 * anew when it changes. Does nothing where standard error is no terminal. */
void progress_bytes(const char *what, uint64_t done, uint64_t total);

/* The same for things that are counted rather than weighed. */
void progress_items(const char *what, uint64_t done, uint64_t total);

/* Takes the line away. Safe in a signal handler. */
void progress_clear(void);

/* What the library tells while it works. */
extern const cohort_progress progress_library;

#endif
