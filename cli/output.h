/* Files that are whole or not there.
 *
 * An output is written under another name in the same directory and renamed once it is complete; an error or
 * a signal removes it. What exists and is no regular file (a pipe, /dev/null) is written directly, as is
 * standard output. */
#ifndef COHORT_CLI_OUTPUT_H
#define COHORT_CLI_OUTPUT_H

#include "cli.h"

typedef struct output output;

/* Opens `path` ("-": standard output) for writing; `argument` is what error messages call it. One file cannot
 * be open twice, by whatever paths. */
int output_open(output **out, const char *path, const char *argument, fault *fault);

/* From now on no more than about so much is held back before it is written. */
void output_bound(output *output, uint64_t bytes);

int output_write(output *output, const void *bytes, size_t n, fault *fault);
int output_print(output *output, fault *fault, const char *format, ...) CLI_PRINTF(3, 4);

/* At least `n` (at most OUTPUT_ROOM) bytes to write into; output_advance tells how many were. NULL on a
 * fault. */
#define OUTPUT_ROOM 65536
char *output_room(output *output, size_t n, fault *fault);
void output_advance(output *output, size_t n);

/* Completes the file under its own name and frees `output`, also on failure. */
int output_close(output *output, fault *fault);

/* Removes and frees every output that has not been closed. */
void outputs_discard(void);

/* From now on interrupt, quit, hang-up, termination and a pipe that nobody reads remove unfinished outputs
 * and end with status 128 + signal. */
void outputs_guard_signals(void);

/* From now on they do nothing: what is left to do is short, and would be half done. */
void outputs_ignore_signals(void);

/* What else is to be removed then; it may call only what a signal handler may. */
void outputs_also_remove(void (*remove)(void));

#endif
