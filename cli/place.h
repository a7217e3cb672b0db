/* Which file a path leads to: two paths are compared as files, not as strings. */
#ifndef COHORT_CLI_PLACE_H
#define COHORT_CLI_PLACE_H

#include <limits.h>
#include <stdint.h>

typedef enum place_kind {
    PLACE_NONE, /* a device such as /dev/null, a socket, a directory, or nowhere: the same as nothing else */
    PLACE_FILE, /* what is there, a pipe with a name too */
    PLACE_NEW   /* a name in a directory, under which there is nothing yet */
} place_kind;

typedef struct place {
    place_kind kind;
    uint64_t dev, ino; /* of the file, or of the directory */
    char name[NAME_MAX + 1];
} place;

/* "-" is what `standard`, a file descriptor, leads to. */
void place_of(place *place, const char *path, int standard);
void place_of_open(place *place, int fd);

int place_same(const place *a, const place *b);

#endif
