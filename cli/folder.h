/* Directories of numbered files that are whole or not there.
 *
 * The files are written in a directory of another name beside the one that is wanted, which takes its name
 * once all are complete; an error or a signal removes it. A directory that exists stays what it is: the other
 * is made in it, and the complete files move up. It must be empty, or, with `force`, files of the same names
 * are replaced and others stay. */
#ifndef COHORT_CLI_FOLDER_H
#define COHORT_CLI_FOLDER_H

#include "numbers.h"

typedef struct folder folder;

/* `files` files, named by their numbers in as many digits as the last one has. None of them may be `in`,
 * which is being read. */
int folder_open(folder **out, const char *path, const char *argument, uint64_t files, int force,
                const numbers *in, fault *fault);

/* Appends to a file. */
int folder_write(folder *folder, uint64_t file, const void *bytes, size_t n, fault *fault);

/* Makes the directory appear and frees `folder`, also on failure. */
int folder_close(folder *folder, fault *fault);

/* Removes and frees a folder that has not been closed; NULL is allowed. */
void folder_discard(folder *folder);

#endif
