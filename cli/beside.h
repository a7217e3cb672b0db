/* Names for what is not complete yet: BASE-0.tmp, BASE-1.tmp and so on, each locked (flock) by the process
 * that writes it for as long as it lives. So a later run that finds such a name unlocked knows that its
 * writer was killed, and removes it. */
#ifndef COHORT_CLI_BESIDE_H
#define COHORT_CLI_BESIDE_H

#include <stddef.h>

typedef enum beside_kind { BESIDE_FILE, BESIDE_FOLDER } beside_kind;

/* What was left under names of this base goes; a folder with all that is in it. */
void beside_sweep(const char *base, beside_kind kind);

/* Sweeps, and makes a new file, or folder, under the first free name, which is put into `name`. Returns its
 * descriptor: the lock goes when that and its copies are closed. -1 with errno: there is none, and no name;
 * ENAMETOOLONG: it does not fit in `room` bytes. */
int beside_open(char *name, size_t room, const char *base, beside_kind kind);

/* The same for a file that is to be `path` one day. */
int beside_open_for(char *name, size_t room, const char *path);

#endif
