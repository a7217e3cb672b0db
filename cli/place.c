/* place.c: what exists is told by its device and number; what does not, by its directory's and its name. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "place.h"

static void take(place *place, const struct stat *about)
{
    mode_t kind = about->st_mode;
    place->kind = S_ISREG(kind) || S_ISFIFO(kind) || S_ISBLK(kind) ? PLACE_FILE : PLACE_NONE;
    place->dev = (uint64_t)about->st_dev;
    place->ino = (uint64_t)about->st_ino;
}

void place_of_open(place *place, int fd)
{
    struct stat about;
    memset(place, 0, sizeof *place);
    if (!fstat(fd, &about))
        take(place, &about);
}

/* A path without a file: a link that leads nowhere is replaced itself, so it counts by its own name, too. */
static void take_name(place *place, const char *path)
{
    char folder[PATH_MAX];
    struct stat about;
    const char *last = strrchr(path, '/'), *name = last ? last + 1 : path;
    size_t length = last ? (size_t)(name - path) : 1;
    if (!*name || strlen(name) > NAME_MAX || length >= sizeof folder)
        return;
    memcpy(folder, last ? path : ".", length);
    folder[length] = 0;
    if (stat(folder, &about))
        return;
    take(place, &about);
    place->kind = PLACE_NEW;
    strcpy(place->name, name);
}

void place_of(place *place, const char *path, int standard)
{
    struct stat about;
    memset(place, 0, sizeof *place);
    if (!strcmp(path, "-"))
        place_of_open(place, standard);
    else if (!stat(path, &about))
        take(place, &about);
    else if (errno == ENOENT)
        take_name(place, path);
}

int place_same(const place *a, const place *b)
{
    return a->kind && a->kind == b->kind && a->dev == b->dev && a->ino == b->ino && !strcmp(a->name, b->name);
}
