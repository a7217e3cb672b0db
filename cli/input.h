/* The bytes of a file or of standard input, gzip undone.
 *
 * A file that begins as gzip does is inflated: every member of it, checksums checked. It is a fault
 * (CLI_BAD_INPUT, with the file's name and the offset) if the file ends inside a member, if its contents
 * contradict themselves, and if something else than zeros follows the last member. */
#ifndef COHORT_CLI_INPUT_H
#define COHORT_CLI_INPUT_H

#include "cli.h"

typedef struct input input;

/* `path` "-" is standard input. With `raw` nothing is inflated. */
int input_open(input **out, const char *path, int raw, fault *fault);

/* Puts up to `room` bytes into `to`; *got is 0 at the end only. */
int input_read(input *input, void *to, size_t room, size_t *got, fault *fault);

/* Bytes of the file itself that were read so far. */
uint64_t input_consumed(const input *input);

/* What messages call it: the path, or "standard input". */
const char *input_name(const input *input);

void input_close(input *input); /* NULL is allowed */

/* Whether its bytes are being inflated. */
int input_is_gzip(const input *input);

#endif
